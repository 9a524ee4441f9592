// SPDX-License-Identifier: GPL-2.0-only
/*
 * The clock of the records: CLOCK_MONOTONIC, to the nanosecond what
 * ktime_get_mono_fast_ns() says. That is a third of the cost of a hit: a call,
 * another one by pointer, and a fence. Where the clock source is a counter that
 * any code may read, the kernel's factors are all it takes; the kernel hands them
 * out whenever it changes them, at each tick, for pvclock's sake.
 *
 * Readers, in any context up to NMI and on all CPUs, use one copy of the factors
 * while the other is changed. Two orderings keep them from mixing:
 *
 *	writer					reader
 *
 *	seq moves readers to the other copy	seq is loaded
 *	smp_wmb()			(E)	address dependency	(E)
 *	this copy is stored			the copy is loaded
 *	smp_wmb()			(F)	smp_rmb()		(F)
 *	seq moves readers back			seq is loaded, and is the same
 */

#include <linux/clocksource.h>
#include <linux/notifier.h>
#include <linux/pvclock_gtod.h>
#include <linux/spinlock.h>
#include <linux/suspend.h>
#include <linux/timekeeper_internal.h>

#include "clock.h"

/* No counter is ever at that distance: before the first update, all ask the kernel. */
#define KTB_CLOCK_NONE { .cycle_last = U64_MAX }

struct ktb_clock_base ktb_clock_bases[2] = { KTB_CLOCK_NONE, KTB_CLOCK_NONE };

/* Writers: the timekeeper, with interrupts off, and suspend. Never held by readers. */
static DEFINE_RAW_SPINLOCK(ktb_clock_lock);
static bool ktb_clock_suspended;

/* Whether get_cycles() is what a clock source reads. */
static bool ktb_clock_is_cycles(const struct clocksource *source)
{
#ifdef CONFIG_X86
	return source->vdso_clock_mode == VDSO_CLOCKMODE_TSC;
#else
	return false;
#endif
}

static void ktb_clock_copy(unsigned int nr, const struct ktb_clock_base *from)
{
	struct ktb_clock_base *to = &ktb_clock_bases[nr];

	WRITE_ONCE(to->cycle_last, from->cycle_last);
	WRITE_ONCE(to->limit, from->limit);
	WRITE_ONCE(to->mult, from->mult);
	WRITE_ONCE(to->shift, from->shift);
	WRITE_ONCE(to->xtime_nsec, from->xtime_nsec);
	WRITE_ONCE(to->base, from->base);
}

static void ktb_clock_step(void)
{
	unsigned long seq = ktb_clock_bases->seq;

	smp_wmb(); /* F: what was stored is complete ... */
	WRITE_ONCE(ktb_clock_bases->seq, (seq + 0x100) ^ sizeof(*ktb_clock_bases));
	smp_wmb(); /* E: ... and what is stored next is not seen before */
}

static void ktb_clock_publish(const struct ktb_clock_base *base)
{
	lockdep_assert_held(&ktb_clock_lock);

	ktb_clock_step();
	ktb_clock_copy(0, base);
	ktb_clock_step();
	ktb_clock_copy(1, base);
}

/* Under the timekeeper's lock, its sequence count odd: nothing here asks it for the time. */
static int ktb_clock_update(struct notifier_block *nb, unsigned long was_set, void *data)
{
	const struct timekeeper *tk = data;
	const struct tk_read_base *tkr = &tk->tkr_mono;
	struct ktb_clock_base base = KTB_CLOCK_NONE;

	if (ktb_clock_is_cycles(tkr->clock)) {
		base = (struct ktb_clock_base) {
			.cycle_last = tkr->cycle_last,
			.limit = tkr->clock->max_cycles,
			.mult = tkr->mult,
			.shift = tkr->shift,
			.xtime_nsec = tkr->xtime_nsec,
			.base = ktime_to_ns(tkr->base),
		};
	}

	raw_spin_lock(&ktb_clock_lock);
	if (!ktb_clock_suspended)
		ktb_clock_publish(&base);
	raw_spin_unlock(&ktb_clock_lock);
	return NOTIFY_OK;
}

/* CLOCK_MONOTONIC stands still while the machine is suspended, the counter may not. */
static int ktb_clock_pm(struct notifier_block *nb, unsigned long action, void *data)
{
	static const struct ktb_clock_base none = KTB_CLOCK_NONE;
	bool suspend = action == PM_SUSPEND_PREPARE || action == PM_HIBERNATION_PREPARE ||
		       action == PM_RESTORE_PREPARE;
	unsigned long flags;

	raw_spin_lock_irqsave(&ktb_clock_lock, flags);
	ktb_clock_suspended = suspend;
	if (suspend)
		ktb_clock_publish(&none);
	raw_spin_unlock_irqrestore(&ktb_clock_lock, flags);
	return NOTIFY_OK;
}

static struct notifier_block ktb_clock_update_nb = {
	.notifier_call = ktb_clock_update,
};

static struct notifier_block ktb_clock_pm_nb = {
	.notifier_call = ktb_clock_pm,
};

/**
 * ktb_clock_init - follow the kernel's clock
 *
 * Process context.
 *
 * Return: 0, or an error of register_pm_notifier().
 */
int __init ktb_clock_init(void)
{
	int err = register_pm_notifier(&ktb_clock_pm_nb);

	if (err)
		return err;
	err = pvclock_gtod_register_notifier(&ktb_clock_update_nb);
	if (err)
		unregister_pm_notifier(&ktb_clock_pm_nb);
	return err;
}

/**
 * ktb_clock_exit - follow it no more
 *
 * Process context; nobody reads the clock any more.
 */
void ktb_clock_exit(void)
{
	pvclock_gtod_unregister_notifier(&ktb_clock_update_nb);
	unregister_pm_notifier(&ktb_clock_pm_nb);
}
