// SPDX-License-Identifier: GPL-2.0-only
/* Scheduling, and what keeps other CPUs busy. */

#include <linux/mm_types.h>
#include <linux/sched.h>

#define KTB_HEADER <trace/events/csd.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/ipi.h>
#include "native_probe.h"

/*
 * Mirrors the function of this name, which the header keeps for the one file
 * that defines the tracepoints.
 */
static inline long __trace_sched_switch_state(bool preempt, unsigned int prev_state,
					      struct task_struct *p)
{
	unsigned int index;

	if (preempt)
		return TASK_REPORT_MAX;
	index = __task_state_index(prev_state, p->exit_state);
	return index ? 1L << (index - 1) : 0;
}

#define KTB_OMIT_sched_move_numa 1
#define KTB_OMIT_sched_stick_numa 1
#define KTB_OMIT_sched_swap_numa 1
#define KTB_OMIT_sched_skip_cpuset_numa 1
/* Its classes that say __perf_task(). */
#define KTB_TASK_PROBES
#define KTB_TASK_CLASS_sched_wakeup_template 1
#define KTB_TASK_CLASS_sched_stat_template 1
#define KTB_HEADER <trace/events/sched.h>
#include "native_probe.h"

#define KTB_OMIT_sched_ext_exit 1
#define KTB_HEADER <trace/events/sched_ext.h>
#include "native_probe.h"

#define KTB_OMIT_workqueue_queue_work 1
#define KTB_HEADER <trace/events/workqueue.h>
#include "native_probe.h"
