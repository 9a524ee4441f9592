/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KTB_CLOCK_H
#define _KTB_CLOCK_H

#include <linux/compiler.h>
#include <linux/timekeeping.h>
#include <linux/timex.h>
#include <linux/types.h>

/**
 * struct ktb_clock_base - how to make CLOCK_MONOTONIC of the cycle counter
 *
 * Nanoseconds are @base + (((cycles - @cycle_last) * @mult + @xtime_nsec) >> @shift),
 * as the kernel's own struct tk_read_base says.
 *
 * @seq: of the first of the two only: offset of the one to read in the lowest
 *	byte, number of the change above it
 * @cycle_last: the counter at the last update
 * @limit: most cycles since then for which the product does not overflow
 * @mult: likewise
 * @shift: likewise
 * @xtime_nsec: likewise
 * @base: likewise
 */
struct ktb_clock_base {
	unsigned long seq;
	u64 cycle_last;
	u64 limit;
	u64 mult;
	u64 shift;
	u64 xtime_nsec;
	u64 base;
} __aligned(64);

static_assert(sizeof(struct ktb_clock_base) == 64);

extern struct ktb_clock_base ktb_clock_bases[2];

/**
 * ktb_clock_read - CLOCK_MONOTONIC, if it can be had at once
 * @ns: set to it
 *
 * The same value as ktime_get_mono_fast_ns(), with the formula in place and no
 * fence before the counter. Any context, NMI included: while one of the bases is
 * changed, the other is read, as in a seqcount latch.
 *
 * Return: false when the clock is no mere cycle counter, in the middle of a
 * change, and longer after the last one than is normal: then the caller asks
 * ktime_get_mono_fast_ns().
 */
static __always_inline bool ktb_clock_read(u64 *ns)
{
	unsigned long seq = READ_ONCE(ktb_clock_bases->seq);
	const struct ktb_clock_base *b;
	u64 delta, time;

	/* E: the bases are loaded after seq, by address dependency ... */
	b = (void *)ktb_clock_bases + (u8)seq;
	delta = get_cycles() - data_race(b->cycle_last);
	if (unlikely(delta > data_race(b->limit)))
		return false;
	time = data_race(b->base + ((delta * b->mult + b->xtime_nsec) >> b->shift));
	/* One register for the result, not five for what it is made of. */
	barrier_data(time);
	/* F: ... and before it is looked at again; partner of E and F in clock.c. */
	smp_rmb();
	*ns = time;
	return likely(seq == READ_ONCE(ktb_clock_bases->seq));
}

/**
 * ktb_clock - CLOCK_MONOTONIC
 *
 * Any context, NMI included.
 *
 * Return: nanoseconds.
 */
static __always_inline u64 ktb_clock(void)
{
	u64 ns;

	return ktb_clock_read(&ns) ? ns : ktime_get_mono_fast_ns();
}

int ktb_clock_init(void);
void ktb_clock_exit(void);

#endif /* _KTB_CLOCK_H */
