// SPDX-License-Identifier: GPL-2.0-only
#include <linux/mm_types.h>
#include <linux/sched.h>
#include <trace/events/sched.h>

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

/* Their assignments call task_numa_group_id(), which is not exported. */
#define KTB_NATIVE_OMIT_sched_move_numa 1
#define KTB_NATIVE_OMIT_sched_stick_numa 1
#define KTB_NATIVE_OMIT_sched_swap_numa 1
#define KTB_NATIVE_OMIT_sched_skip_cpuset_numa 1

#define KTB_HEADER <trace/events/sched.h>
#define KTB_LIST ktb_native_list_sched
#include "native_probe.h"
