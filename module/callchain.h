/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KTB_CALLCHAIN_H
#define _KTB_CALLCHAIN_H

#include <linux/ptrace.h>
#include <linux/types.h>

/* Most frames of a callchain, kernel and user together. */
#define KTB_STACK_MAX	512

/**
 * struct ktb_callchain - as a record holds it
 * @nr: entries, the markers PERF_CONTEXT_KERNEL and PERF_CONTEXT_USER included
 * @ip: entries, innermost first
 */
struct ktb_callchain {
	u64 nr;
	u64 ip[];
};

/**
 * struct ktb_place - where an event hit
 * @ip: the innermost frame in the kernel
 * @regs: of the context that was interrupted, NULL for a call from @ip
 * @frame: of a function with a frame pointer, where it saved that of its caller, and
 *	behind that the address it returns to: is that @ip, the walk begins there; or
 *	NULL
 */
struct ktb_place {
	unsigned long ip;
	struct pt_regs *regs;
	const unsigned long *frame;
};

/*
 * Let @regs, of a function that was called from @place, be those of the call: what
 * walks from there begins with the event, and not inside of us.
 */
static inline void ktb_place_set_regs(const struct ktb_place *place, struct pt_regs *regs)
{
#ifdef CONFIG_X86
	const unsigned long *frame = place->frame;

	/* It was called from there, or by who was: then that one's frame is to be skipped too. */
	if (frame)
		regs->sp = (unsigned long)(frame[1] == place->ip ? frame : frame + 2);
#endif
}

/* Bytes of a callchain in a record. */
static inline unsigned int ktb_callchain_size(const struct ktb_callchain *chain)
{
	return (1 + chain->nr) * sizeof(u64);
}

int ktb_callchain_get_buffers(void);
void ktb_callchain_put_buffers(void);
const struct ktb_callchain *ktb_callchain_begin(unsigned int max_stack,
						const struct ktb_place *place);
void ktb_callchain_end(const struct ktb_callchain *chain);

#endif /* _KTB_CALLCHAIN_H */
