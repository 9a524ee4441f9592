// SPDX-License-Identifier: GPL-2.0-only
/*
 * The perf core as an event source: kernel counters with an overflow handler of
 * ours, for counters, timers, breakpoints, and what else perf has. For tracepoints
 * there is more in perf_tracepoint.c.
 *
 * What is to count everywhere has one counter per CPU; a counter for some threads
 * alone has one per thread, which perf hands on to what they fork. All of process
 * context is under ktb_lock.
 */

#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/cred.h>
#include <linux/netlink.h>
#include <linux/perf_event.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "perf_source.h"
#include "perfcore.h"
#include "pmu.h"
#include "session.h"
#include "submit.h"
#include "tracepoint.h"

/* perf's default for kernel.perf_event_max_sample_rate. */
#define KTB_PERF_FREQ_MAX	100000

static LIST_HEAD(ktb_perfs);	/* ktb_lock */

/* How often a CPU came and went: what was there before counts no more. */
static DEFINE_PER_CPU(unsigned int, ktb_incarnation);
static enum cpuhp_state ktb_perf_cpu_state;

/* perf's mark, in hw.interrupts, of an event it throttles after this overflow. */
#define KTB_PERF_THROTTLED	(~0ULL)

/* What a program sees of an overflow. The address is perf's only if it says so. */
static const void *ktb_perf_context(struct bpf_perf_event_data_kern *context,
				    struct perf_event *counter,
				    struct perf_sample_data *data, struct pt_regs *regs)
{
	if (!(data->sample_flags & PERF_SAMPLE_ADDR))
		data->addr = 0;
	*context = (struct bpf_perf_event_data_kern) {
		.regs	= perf_arch_bpf_user_pt_regs(regs),
		.data	= data,
		.event	= counter,
	};
	return context;
}

/**
 * ktb_perf_overflow - take an overflow as a hit
 * @counter: the counter, or a tracepoint's stand-in for one
 * @data: what perf has of it
 * @regs: where it was
 *
 * perf's overflow handler: any context up to NMI, with preemption disabled. A
 * tracepoint brings its record, and perf's event count as the period.
 */
void ktb_perf_overflow(struct perf_event *counter, struct perf_sample_data *data,
		       struct pt_regs *regs)
{
	struct ktb_event *event = counter->overflow_handler_context;
	const struct perf_raw_frag *frag = NULL;
	struct bpf_perf_event_data_kern context;
	const void *shown = NULL;

	if (this_cpu_ptr(event->cpu)->is_throttled)
		ktb_event_throttle(event, false);
	if (event->perf->attr.type == PERF_TYPE_TRACEPOINT)
		frag = &data->raw->frag;
	else if (event->program)
		shown = ktb_perf_context(&context, counter, data, regs);
	ktb_event_submit(event, frag ? frag->data : NULL, frag ? frag->size : 0,
			 data->period, regs, shown);
	if (counter->hw.interrupts == KTB_PERF_THROTTLED)
		ktb_event_throttle(event, true);
}

/**
 * ktb_perf_counter_create - have perf make a counter
 * @perf: the event's counters
 * @counter: the one to be
 * @cpu: where it counts, -1 for anywhere
 * @task: whom it counts, NULL for all
 *
 * Process context.
 *
 * Return: 0, or perf's error: -ENODEV if the CPU is not online.
 */
int ktb_perf_counter_create(struct ktb_perf *perf, struct ktb_perf_counter *counter,
			    int cpu, struct task_struct *task)
{
	/* From before: if the CPU goes and comes meanwhile, the counter is dead. */
	unsigned int incarnation = cpu < 0 ? 0 : per_cpu(ktb_incarnation, cpu);
	struct perf_event *event;

	event = perf_event_create_kernel_counter(&perf->attr, cpu, task,
						 ktb_perf_overflow, perf->event);
	if (IS_ERR(event))
		return PTR_ERR(event);
	/* kprobes and uprobes of their own: with a record, and a pointer to a name in config1. */
	if (event->tp_event && perf->attr.type != PERF_TYPE_TRACEPOINT) {
		perf_event_release_kernel(event);
		return -EOPNOTSUPP;
	}
	counter->event = event;
	counter->incarnation = incarnation;
	return 0;
}

static void ktb_perf_counter_release(struct ktb_perf_counter *counter)
{
	if (counter->event)
		perf_event_release_kernel(counter->event);
	counter->event = NULL;
}

/*
 * With the last counter of a tracepoint perf waits for its probes to return; of a
 * thousand events that is not to take a minute.
 */
static void ktb_perf_release(struct ktb_perf *perf)
{
	unsigned int i;

	rcu_expedite_gp();
	for (i = 0; i < perf->nr; i++)
		ktb_perf_counter_release(&perf->counter[i]);
	rcu_unexpedite_gp();
}

/**
 * ktb_perf_free - release an event's counters
 * @perf: the counters, all of whose hits are over
 *
 * Process context; waits for grace periods.
 */
void ktb_perf_free(struct ktb_perf *perf)
{
	ktb_perf_release(perf);
	put_cred(perf->cred);
	kvfree(perf->stand_ins);
	kvfree(perf);
}

/*
 * Give each online CPU its counter, and say what went wrong first. A CPU that goes
 * away meanwhile is no error: it may come back.
 */
static int ktb_perf_attach_cpus(struct ktb_perf *perf)
{
	int cpu, err, first = 0;

	for_each_online_cpu(cpu) {
		if (perf->counter[cpu].event || !ktb_perf_is_on_cpu(perf, cpu))
			continue;
		err = ktb_perf_counter_create(perf, &perf->counter[cpu], cpu, NULL);
		if (err && err != -ENODEV)
			first = first ?: err;
	}
	return first;
}

/*
 * Whether perf lets the caller have such a counter at all: asked for one that does not
 * count. None of the CPUs that are to have one may be online.
 */
static int ktb_perf_try(struct ktb_perf *perf)
{
	struct ktb_perf_counter counter = {};
	unsigned int tries = KTB_PERF_TRIES;
	int err;

	perf->attr.disabled = 1;
	do {
		err = ktb_perf_counter_create(perf, &counter, raw_smp_processor_id(), NULL);
	} while (ktb_perf_cpu_went(err, &tries));
	perf->attr.disabled = 0;
	ktb_perf_counter_release(&counter);
	return err;
}

static int ktb_perf_attach_thread(struct ktb_perf *perf,
				  struct ktb_perf_counter *counter)
{
	struct task_struct *task;
	struct pid *pid;
	int err = -ESRCH;

	rcu_read_lock();
	pid = get_pid(find_pid_ns(counter->thread, &init_pid_ns));
	rcu_read_unlock();
	task = get_pid_task(pid, PIDTYPE_PID);
	if (task) {
		err = ktb_perf_counter_create(perf, counter, -1, task);
		put_task_struct(task);
	}
	put_pid(pid);
	return err;
}

/*
 * Those there are: what they make gets a counter from theirs, once they have one; a
 * thread that is made before has none, as with perf -p.
 */
static void ktb_perf_choose_threads(struct ktb_perf *perf)
{
	unsigned int i = 0;
	unsigned long nr;

	for_each_set_bit(nr, perf->event->target->threads, PID_MAX_LIMIT) {
		if (i == perf->nr)
			break;
		perf->counter[i++].thread = nr;
	}
	perf->nr = i;
}

/* A thread that has gone meanwhile is no error. */
static int ktb_perf_attach_threads(struct ktb_perf *perf)
{
	unsigned int i;
	int err;

	for (i = 0; i < perf->nr; i++) {
		err = ktb_perf_attach_thread(perf, &perf->counter[i]);
		if (err && err != -ESRCH)
			return err;
	}
	return 0;
}

static bool ktb_perf_is_per_cpu(const struct ktb_event *event,
				const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_TRACEPOINT || !event->target;
}

static void ktb_perf_refuse(struct netlink_ext_ack *extack, int err)
{
	if (err == -ENOENT || err == -ENODEV)
		NL_SET_ERR_MSG(extack,
			       "perf-attr: this machine has no such event: without a hardware PMU take cpu-clock for cycles");
	else if (err == -EOPNOTSUPP)
		NL_SET_ERR_MSG(extack, "perf-attr: this event cannot be sampled");
	else if (err == -ENOSPC || err == -EBUSY)
		NL_SET_ERR_MSG(extack, "perf-attr: no counter or breakpoint is free");
	else if (err == -EPERM)
		NL_SET_ERR_MSG(extack, "perf lets nobody sample this event");
	else if (err == -ENOMEM)
		NL_SET_ERR_MSG(extack, "out of memory");
	else
		NL_SET_ERR_MSG(extack, "perf refused the event");
}

/**
 * ktb_perf_fail - give up counters that could not all be made
 * @perf: the counters; there may be hits
 * @err: why
 * @extack: takes the reason
 *
 * Process context.
 *
 * Return: @err.
 */
int ktb_perf_fail(struct ktb_perf *perf, int err, struct netlink_ext_ack *extack)
{
	ktb_perf_release(perf);
	ktb_tracepoint_sync();
	ktb_perf_refuse(extack, err);
	return err;
}

static int ktb_perf_attach(struct ktb_event *event, struct netlink_ext_ack *extack)
{
	struct ktb_perf *perf = event->perf;
	int err;

	if (ktb_perf_is_per_cpu(event, &perf->attr)) {
		err = ktb_perf_try(perf) ?: ktb_perf_attach_cpus(perf);
		if (!err)
			list_add_tail(&perf->node, &ktb_perfs);
	} else {
		err = ktb_perf_attach_threads(perf);
	}
	return err ? ktb_perf_fail(perf, err, extack) : 0;
}

static void ktb_perf_detach(struct ktb_event *event)
{
	struct ktb_perf *perf = event->perf;

	list_del_init(&perf->node);
	ktb_perf_release(perf);
}

static void ktb_perf_destroy(struct ktb_event *event)
{
	ktb_perf_free(event->perf);
}

static const struct ktb_source ktb_perf_source = {
	.path		= KTB_PATH_PERF,
	.attach		= ktb_perf_attach,
	.detach		= ktb_perf_detach,
	.destroy	= ktb_perf_destroy,
};

/*
 * CPUs went off or came up: make those of their counters anew that are perf's to
 * run. Not from within hotplug: perf takes its locks outside of that of hotplug. A
 * CPU that comes up counts from a moment later on; or, if memory or breakpoints are
 * short, when they are not.
 */
static void ktb_perf_follow_cpus(struct work_struct *work)
{
	struct ktb_perf_counter *counter;
	const struct cred *workers;
	struct ktb_perf *perf;
	bool all = true;
	int cpu;

	mutex_lock(&ktb_lock);
	list_for_each_entry(perf, &ktb_perfs, node) {
		workers = override_creds(perf->cred);
		for_each_possible_cpu(cpu) {
			counter = &perf->counter[cpu];
			if (counter->event && cpu_online(cpu) &&
			    counter->incarnation == per_cpu(ktb_incarnation, cpu))
				continue;
			ktb_perf_counter_release(counter);
		}
		all &= !ktb_perf_attach_cpus(perf);
		revert_creds(workers);
	}
	mutex_unlock(&ktb_lock);
	if (!all)
		schedule_delayed_work(to_delayed_work(work), HZ);
}

static DECLARE_DELAYED_WORK(ktb_perf_cpu_work, ktb_perf_follow_cpus);

/*
 * Counted here too: a counter that was made while the CPU was already on its way
 * out, but still online, is as dead as those before.
 */
static int ktb_perf_cpu_online(unsigned int cpu)
{
	per_cpu(ktb_incarnation, cpu)++;
	schedule_delayed_work(&ktb_perf_cpu_work, 0);
	return 0;
}

static int ktb_perf_cpu_offline(unsigned int cpu)
{
	per_cpu(ktb_incarnation, cpu)++;
	schedule_delayed_work(&ktb_perf_cpu_work, 0);
	return 0;
}

/* Only what is listed here counts; all else of an attr has to be zero. */
static struct perf_event_attr ktb_perf_attr(const struct perf_event_attr *from)
{
	struct perf_event_attr attr = {
		.type		= from->type,
		.size		= sizeof(attr),
		.config		= from->config,
		.config1	= from->config1,
		.config2	= from->config2,
		.sample_period	= from->sample_period,
		.freq		= from->freq,
		.exclude_user	= from->exclude_user,
		.exclude_kernel	= from->exclude_kernel,
		.exclude_hv	= from->exclude_hv,
		.exclude_idle	= from->exclude_idle,
		.exclude_host	= from->exclude_host,
		.exclude_guest	= from->exclude_guest,
		.precise_ip	= from->precise_ip,
		.bp_type	= from->bp_type,
	};

	return attr;
}

static int ktb_perf_check(const struct perf_event_attr *asked,
			  struct netlink_ext_ack *extack)
{
	struct perf_event_attr known = ktb_perf_attr(asked);

	if (memcmp(asked, &known, sizeof(known))) {
		NL_SET_ERR_MSG(extack,
			       "perf-attr: only type, config, period or frequency, breakpoint, exclusions and precision may be set");
		return -EINVAL;
	}
	/* Its events hold the module, and a session would hold them. */
	if (ktb_pmu_is(asked->type)) {
		NL_SET_ERR_MSG(extack,
			       "perf-attr: an event of this PMU is a tracepoint: attach it by name");
		return -EOPNOTSUPP;
	}
	if (!asked->sample_period || (!asked->freq && asked->sample_period >> 63)) {
		NL_SET_ERR_MSG(extack, "perf-attr: the period or frequency must be 1 or more");
		return -EINVAL;
	}
	if (asked->freq && asked->sample_freq > KTB_PERF_FREQ_MAX) {
		NL_SET_ERR_MSG(extack, "perf-attr: the limit is 100000 samples a second");
		return -EINVAL;
	}
	return 0;
}

/*
 * What perf has to bring along. Asked for the period, it lets each software event
 * overflow, with its count for a period: right for the hits of a tracepoint, and
 * wrong where a period is asked for.
 */
static u64 ktb_perf_sample_type(const struct perf_event_attr *attr)
{
	u64 type = 0;

	if (attr->type == PERF_TYPE_TRACEPOINT)
		type |= PERF_SAMPLE_RAW;
	if (!attr->freq && attr->sample_period == 1)
		type |= PERF_SAMPLE_PERIOD;
	return type;
}

static struct ktb_perf *ktb_perf_alloc(unsigned int nr, bool stand_ins)
{
	struct ktb_perf *perf = kvzalloc(struct_size(perf, counter, nr), GFP_KERNEL_ACCOUNT);

	if (!perf || !stand_ins)
		return perf;
	perf->stand_ins = kvcalloc(nr_cpu_ids, sizeof(*perf->stand_ins), GFP_KERNEL_ACCOUNT);
	if (perf->stand_ins)
		return perf;
	kvfree(perf);
	return NULL;
}

/**
 * ktb_perfcore_prepare - let an event's hits come from the perf core
 * @event: the event; target and CPUs are set
 * @attr: what fires, NULL for the tracepoint with the event's type
 * @extack: takes the reason of a refusal
 *
 * Sets the event's source; nothing fires yet.
 *
 * Return: 0, or
 * * -EINVAL - @attr asks for what cannot be had
 * * -EOPNOTSUPP - @attr is of our own PMU
 * * -ENOMEM - out of memory
 */
int ktb_perfcore_prepare(struct ktb_event *event, const struct perf_event_attr *attr,
			 struct netlink_ext_ack *extack)
{
	const struct perf_event_attr tracepoint = {
		.type		= PERF_TYPE_TRACEPOINT,
		.size		= sizeof(tracepoint),
		.config		= event->type,
		.sample_period	= 1,
	};
	const bool by_name = !attr;
	unsigned int nr = by_name ? 1 : nr_cpu_ids;
	int err = by_name ? 0 : ktb_perf_check(attr, extack);
	struct ktb_perf *perf;

	if (err)
		return err;
	attr = attr ?: &tracepoint;
	if (!ktb_perf_is_per_cpu(event, attr))
		nr = bitmap_weight(event->target->threads, PID_MAX_LIMIT);

	perf = ktb_perf_alloc(nr, by_name);
	if (!perf) {
		NL_SET_ERR_MSG(extack, "out of memory");
		return -ENOMEM;
	}
	INIT_LIST_HEAD(&perf->node);
	perf->event = event;
	perf->cred = get_current_cred();
	perf->nr = nr;
	perf->attr = *attr;
	perf->asked = *attr;
	perf->attr.sample_type = ktb_perf_sample_type(attr);
	perf->attr.disabled = by_name;
	if (!ktb_perf_is_per_cpu(event, attr)) {
		perf->attr.inherit = event->target->asked.inherit;
		ktb_perf_choose_threads(perf);
	}
	event->perf = perf;
	event->source = by_name ? &ktb_perf_tracepoint_source : &ktb_perf_source;
	return 0;
}

/**
 * ktb_perfcore_attr - the perf event that an event was attached with
 * @event: the event
 *
 * Return: as it was given, or NULL if the event is a tracepoint.
 */
const struct perf_event_attr *ktb_perfcore_attr(const struct ktb_event *event)
{
	return event->perf && !event->type ? &event->perf->asked : NULL;
}

/**
 * ktb_perfcore_init - follow CPU hotplug
 *
 * Return: 0 or an error of the hotplug core.
 */
int ktb_perfcore_init(void)
{
	int state = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "ktrace_bridge:perf",
					      ktb_perf_cpu_online,
					      ktb_perf_cpu_offline);

	if (state < 0)
		return state;
	ktb_perf_cpu_state = state;
	return 0;
}

/** ktb_perfcore_exit - end all that goes on by itself; no session is there */
void ktb_perfcore_exit(void)
{
	cpuhp_remove_state_nocalls(ktb_perf_cpu_state);
	cancel_delayed_work_sync(&ktb_perf_cpu_work);
	ktb_perf_tracepoint_exit();
}
