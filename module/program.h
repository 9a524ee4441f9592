/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KTB_PROGRAM_H
#define _KTB_PROGRAM_H

#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/types.h>

#include "compat.h"
#include "event.h"
#include "submit.h"

struct ktb_program_options;
struct netlink_ext_ack;

/* The contexts that can nest in each other: task, softirq, hardirq, NMI, and its end. */
#define KTB_NR_ASIDES	5

extern struct ktb_aside __percpu *ktb_asides[KTB_NR_ASIDES];

int ktb_program_set(struct ktb_event *event, const struct ktb_program_options *options,
		    struct netlink_ext_ack *extack);
void ktb_program_clear(struct ktb_event *event);

/**
 * ktb_aside_get - take the place aside of this CPU and context
 *
 * Any context, preemption disabled until ktb_aside_put(). Some event has a program.
 *
 * Return: the place, NULL inside other work on it.
 */
static __always_inline struct ktb_aside *ktb_aside_get(void)
{
	struct ktb_aside *aside = this_cpu_ptr(ktb_asides[interrupt_context_level()]);

	/* The end of an interrupt looks like what it interrupted: as in submit.c. */
	if (unlikely(aside->busy && irqs_disabled()))
		aside = this_cpu_ptr(ktb_asides[KTB_NR_ASIDES - 1]);
	if (unlikely(aside->busy))
		return NULL;
	aside->busy = true;
	barrier();
	return aside;
}

/**
 * ktb_aside_put - it is free again
 * @aside: from ktb_aside_get(), in the same context
 */
static __always_inline void ktb_aside_put(struct ktb_aside *aside)
{
	barrier();
	aside->busy = false;
}

int ktb_program_run_alone(struct bpf_prog *prog, const void *context);

/**
 * ktb_program_run - ask the program of an event about a hit
 * @event: the event
 * @context: what the program expects
 *
 * Any context, preemption disabled, which is a read section of RCU. Counterpart of
 * trace_call_bpf().
 *
 * Return: 1 to keep the hit, 0 to drop it, -EBUSY if it hit while another program ran
 * on this CPU, unless it is pure; and in an NMI if it takes locks that this may have
 * found held.
 */
static __always_inline int ktb_program_run(const struct ktb_event *event, const void *context)
{
	if (event->program_pure)
		return !!bpf_prog_run(event->program, context);
	if (unlikely(event->program_blocks && in_nmi()))
		return -EBUSY;
	return ktb_program_run_alone(event->program, context);
}

#endif /* _KTB_PROGRAM_H */
