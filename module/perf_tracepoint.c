// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tracepoints without a native probe, those of modules included, by perf's probe.
 *
 * A tracepoint needs nothing of what perf does to have counters run in turn, and
 * that is what goes when a CPU goes. So it has one counter, which stays disabled
 * and keeps perf's probe on the tracepoint; and for each CPU a stand-in, which perf
 * has not made, and which we hang where perf has the counters that run: on the list
 * of the event and the CPU that its probe serves. There it stays while the CPU goes
 * and comes, and takes each hit from the first one on. perf changes a CPU's list on
 * that CPU with interrupts disabled, and so do we, or while the CPU does not run.
 *
 * All of process context is under ktb_lock.
 */

#include <linux/cpu.h>
#include <linux/list.h>
#include <linux/netlink.h>
#include <linux/perf_event.h>
#include <linux/rculist.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/trace_events.h>
#include <linux/workqueue.h>

#include "perf_source.h"

static DEFINE_SPINLOCK(ktb_perf_leaving_lock);
static LIST_HEAD(ktb_perfs_leaving);	/* ktb_perf_leaving_lock */

/* On that CPU with interrupts disabled, or while it does not run. */
static void ktb_perf_hang(struct ktb_perf *perf, unsigned int cpu, bool hang)
{
	struct trace_event_call *call = perf->counter[0].event->tp_event;
	struct perf_event *stand_in = &perf->stand_ins[cpu];

	if (!ktb_perf_is_on_cpu(perf, cpu))
		return;
	if (hang)
		hlist_add_head_rcu(&stand_in->hlist_entry,
				   per_cpu_ptr(call->perf_events, cpu));
	else
		hlist_del_rcu(&stand_in->hlist_entry);
}

static void ktb_perf_hang_here(void *perf)
{
	ktb_perf_hang(perf, smp_processor_id(), true);
}

static void ktb_perf_unhang_here(void *perf)
{
	ktb_perf_hang(perf, smp_processor_id(), false);
}

static void ktb_perf_hang_all(struct ktb_perf *perf, bool hang)
{
	unsigned int cpu;

	cpus_read_lock();
	on_each_cpu(hang ? ktb_perf_hang_here : ktb_perf_unhang_here, perf, 1);
	for_each_possible_cpu(cpu)
		if (!cpu_online(cpu))
			ktb_perf_hang(perf, cpu, hang);
	cpus_read_unlock();
}

/*
 * What perf_tp_event() and what it calls look at in a counter with PERF_SAMPLE_PERIOD,
 * each hit of which overflows; all else of it is zero.
 */
static void ktb_perf_make_stand_ins(struct ktb_perf *perf)
{
	struct perf_event *stand_in;
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		stand_in = &perf->stand_ins[cpu];
		stand_in->attr = perf->attr;
		stand_in->state = PERF_EVENT_STATE_ACTIVE;
		stand_in->overflow_handler = ktb_perf_overflow;
		stand_in->overflow_handler_context = perf->event;
	}
}

/* A counter that never runs may be on this CPU, which must not go away just now. */
static int ktb_perf_tracepoint_attach(struct ktb_event *event, struct netlink_ext_ack *extack)
{
	struct ktb_perf *perf = event->perf;
	unsigned int tries = KTB_PERF_TRIES;
	int err;

	do {
		err = ktb_perf_counter_create(perf, &perf->counter[0],
					      raw_smp_processor_id(), NULL);
	} while (ktb_perf_cpu_went(err, &tries));
	if (err == -ENODEV) {
		NL_SET_ERR_MSG(extack,
			       "name: a synthetic event, of which perf cannot have the hits: attach those it is made of");
		return -EOPNOTSUPP;
	}
	if (err)
		return ktb_perf_fail(perf, err, extack);
	ktb_perf_make_stand_ins(perf);
	ktb_perf_hang_all(perf, true);
	return 0;
}

static void ktb_perf_tracepoint_detach(struct ktb_event *event)
{
	ktb_perf_hang_all(event->perf, false);
}

/*
 * perf waits for grace periods at each tracepoint that it has no more use for, one
 * after the other: on a realtime kernel, which does not expedite, a thousand of
 * them take half a minute, and nobody else has to wait for that.
 */
static void ktb_perf_free_leaving(struct work_struct *work)
{
	struct ktb_perf *perf, *next;
	LIST_HEAD(leaving);

	spin_lock(&ktb_perf_leaving_lock);
	list_splice_init(&ktb_perfs_leaving, &leaving);
	spin_unlock(&ktb_perf_leaving_lock);
	list_for_each_entry_safe(perf, next, &leaving, node)
		ktb_perf_free(perf);
}

static DECLARE_WORK(ktb_perf_leaving_work, ktb_perf_free_leaving);

static void ktb_perf_free_later(struct ktb_perf *perf)
{
	spin_lock(&ktb_perf_leaving_lock);
	list_add_tail(&perf->node, &ktb_perfs_leaving);
	spin_unlock(&ktb_perf_leaving_lock);
	queue_work(system_long_wq, &ktb_perf_leaving_work);
}

/* Whether the counter keeps someone from taking the tracepoint away. */
static bool ktb_perf_holds_source(const struct ktb_perf *perf)
{
	const struct perf_event *counter = perf->counter[0].event;

	return counter && (counter->tp_event->flags & TRACE_EVENT_FL_DYNAMIC ||
			   counter->tp_event->module);
}

/* At once if somebody may wait for it: to unload a module, to remove a probe. */
static void ktb_perf_tracepoint_destroy(struct ktb_event *event)
{
	struct ktb_perf *perf = event->perf;

	if (ktb_perf_holds_source(perf))
		ktb_perf_free(perf);
	else
		ktb_perf_free_later(perf);
}

const struct ktb_source ktb_perf_tracepoint_source = {
	.path		= KTB_PATH_PERF,
	.attach		= ktb_perf_tracepoint_attach,
	.detach		= ktb_perf_tracepoint_detach,
	.destroy	= ktb_perf_tracepoint_destroy,
};

/** ktb_perf_tracepoint_exit - wait until the last is released; no session is there */
void ktb_perf_tracepoint_exit(void)
{
	flush_work(&ktb_perf_leaving_work);
}
