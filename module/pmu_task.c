// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events that are about a certain task, which is rarely the one that hits them:
 * who counts wake-ups of a task means those by others too.
 */

#include <linux/perf_event.h>
#include <linux/rculist.h>
#include <linux/sched.h>

#include "compat.h"
#include "pmu.h"

static bool ktb_task_event_counts(const struct perf_event *event,
				  const struct trace_event_call *call)
{
	return event->tp_event == call &&
	       READ_ONCE(event->state) >= PERF_EVENT_STATE_INACTIVE &&
	       (event->cpu == -1 || event->cpu == smp_processor_id()) &&
	       !(event->hw.state & PERF_HES_STOPPED) &&
	       !event->attr.exclude_kernel && !event->attr.sigtrap;
}

/**
 * ktb_task_count - count a hit for the events of the task that it is about
 * @call: our shadow of the event
 * @task: the task, not the current one
 * @count: perf's event count of the hit
 *
 * In a probe, any context, preemption disabled. Events of the task leave the list,
 * and are freed, under RCU. Counts only: as in the kernel, an event gives samples
 * while its task runs, and this one does not run here.
 *
 * The task may run elsewhere, when its event is not for one CPU: a count can be
 * lost then, if it adds to it at the same time. As in the kernel again.
 *
 * Counterpart of perf_tp_event_target_task().
 */
void ktb_task_count(const struct trace_event_call *call, struct task_struct *task,
		    u64 count)
{
	struct perf_event_context *ctx;
	struct perf_event *event;

	rcu_read_lock();
	/* An RCU pointer, but not declared to be one. */
	ctx = READ_ONCE(ktb_task_perf_context(task));
	if (ctx)
		list_for_each_entry_rcu(event, &ctx->event_list, event_entry)
			if (ktb_task_event_counts(event, call))
				local64_add(count, &event->count);
	rcu_read_unlock();
}
