// SPDX-License-Identifier: GPL-2.0-only
/*
 * The PMU "ktrace_bridge": tracepoints as perf events, as the kernel's own PMU
 * "tracepoint" has them, from outside the kernel. The mirror of
 * kernel/trace/trace_event_perf.c and of perf_tracepoint in kernel/events/core.c;
 * Documentation/pmu.md walks through both side by side.
 *
 * A probe that the kernel generated, perf_trace_<class>(), takes all it knows of
 * its event from a struct trace_event_call. Ours is a shadow of the kernel's,
 * with a list of events of its own: add and del hang our events on it, and the
 * probe hands them its record.
 *
 * Contexts:
 *
 *   ktb_trace_init      perf_event_open(2), or a fork that inherits an event,
 *                       under the mutex of the parent's context then
 *   ktb_trace_destroy   close(2), or the exit of a task, possibly under the
 *                       mutex of its context
 *   ktb_trace_add, _del, _start, _stop
 *                       the event's CPU, interrupts off, under context locks
 */

#include <linux/math64.h>
#include <linux/module.h>
#include <linux/perf_event.h>

#include "compat.h"
#include "pmu.h"

static struct ktb_call *ktb_event_call(const struct perf_event *event)
{
	return container_of(event->tp_event, struct ktb_call, call);
}

static void ktb_trace_destroy(struct perf_event *event)
{
	ktb_call_put(ktb_event_call(event));
}

/* The mirror of perf_trace_event_perm(), for tracepoints. */
static int ktb_trace_perm(struct trace_event_call *call, struct perf_event *event)
{
	if (call->perf_perm) {
		int err = call->perf_perm(call, event);

		if (err)
			return err;
	}

	/* Who was allowed the parent is allowed the child. */
	if (event->parent)
		return 0;

	/* A number tells little, the record may tell a secret. */
	if (!(event->attr.sample_type & PERF_SAMPLE_RAW))
		return 0;
	if (event->attach_state == PERF_ATTACH_TASK &&
	    (call->flags & TRACE_EVENT_FL_CAP_ANY))
		return 0;
	return ktb_counter_allow_raw();
}

/*
 * A child inherits the call of its parent, whose reference keeps it. It must not
 * look for one: that takes the mutex of another context than the one held.
 */
static struct ktb_call *ktb_trace_call(const struct perf_event *event)
{
	struct ktb_call *call;

	if (!event->parent)
		return ktb_call_get(event->attr.config);
	call = ktb_event_call(event->parent);
	refcount_inc(&call->ref);
	return call;
}

static int ktb_trace_init(struct perf_event *event)
{
	struct ktb_call *call;
	int err;

	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	/* a step of loading may still fail */
	if (THIS_MODULE->state != MODULE_STATE_LIVE)
		return -EBUSY;
	if (has_branch_stack(event))
		return -EOPNOTSUPP;

	call = ktb_trace_call(event);
	if (IS_ERR(call))
		return PTR_ERR(call);
	err = ktb_trace_perm(&call->call, event);
	if (!err && event->hw.target)
		err = ktb_counter_make_context(event->hw.target);
	if (err) {
		ktb_call_put(call);
		return err;
	}
	event->tp_event = &call->call;
	event->destroy = ktb_trace_destroy;
	return 0;
}

/* The mirror of perf_swevent_set_period(), which is not exported. */
static void ktb_trace_set_period(struct perf_event *event)
{
	struct hw_perf_event *hwc = &event->hw;
	u64 period = hwc->last_period;
	s64 old, left;

	hwc->last_period = hwc->sample_period;
	do {
		old = local64_read(&hwc->period_left);
		if (old < 0)
			return;
		left = old - div64_u64(period + old, period) * period;
	} while (local64_cmpxchg(&hwc->period_left, old, left) != old);
}

static int ktb_trace_add(struct perf_event *event, int flags)
{
	struct hw_perf_event *hwc = &event->hw;

	/* perf may have stopped it before it was taken off: 7.3 does, to throttle it. */
	hwc->state = flags & PERF_EF_START ? 0 : PERF_HES_STOPPED;
	if (is_sampling_event(event)) {
		hwc->last_period = hwc->sample_period;
		ktb_trace_set_period(event);
	}
	hlist_add_head_rcu(&event->hlist_entry,
			   this_cpu_ptr(event->tp_event->perf_events));
	return 0;
}

/* A probe may be at the event still: perf frees it after a grace period of RCU. */
static void ktb_trace_del(struct perf_event *event, int flags)
{
	hlist_del_rcu(&event->hlist_entry);
}

static void ktb_trace_start(struct perf_event *event, int flags)
{
	event->hw.state = 0;
}

static void ktb_trace_stop(struct perf_event *event, int flags)
{
	event->hw.state = PERF_HES_STOPPED;
}

/* The count is kept up to date by every hit. */
static void ktb_trace_read(struct perf_event *event)
{
}

static struct pmu ktb_pmu = {
	/* An open event keeps the module: perf takes the reference. */
	.module		= THIS_MODULE,
	.task_ctx_nr	= perf_sw_context,
	.attr_groups	= ktb_pmu_groups,

	.event_init	= ktb_trace_init,
	.add		= ktb_trace_add,
	.del		= ktb_trace_del,
	.start		= ktb_trace_start,
	.stop		= ktb_trace_stop,
	.read		= ktb_trace_read,
};

/**
 * ktb_pmu_is - whether a number is that of our PMU
 * @type: the number, perf_event_attr.type
 *
 * Return: whether.
 */
bool ktb_pmu_is(u32 type)
{
	return type == ktb_pmu.type;
}

/**
 * ktb_pmu_init - make the PMU known
 *
 * Events may be opened before this returns.
 *
 * Return: 0, or
 * * -ENOENT - the kernel lacks the event that keeps perf's buffers
 * * -EEXIST - a PMU of this name is there
 * * -ENOMEM - out of memory
 */
int __init ktb_pmu_init(void)
{
	int err;

	err = ktb_counter_init();
	if (err)
		return err;
	err = ktb_pmu_sysfs_init();
	if (err)
		goto err_exit_counter;
	err = perf_pmu_register(&ktb_pmu, KBUILD_MODNAME, -1);
	if (err)
		goto err_exit_sysfs;
	return 0;

err_exit_sysfs:
	ktb_pmu_sysfs_exit();
err_exit_counter:
	ktb_counter_exit();
	return err;
}

/**
 * ktb_pmu_exit - the PMU goes
 *
 * None of its events is left, or the module could not be unloaded.
 */
void ktb_pmu_exit(void)
{
	perf_pmu_unregister(&ktb_pmu);
	ktb_pmu_unregister_sync();
	ktb_pmu_sysfs_exit();
	ktb_counter_exit();
}
