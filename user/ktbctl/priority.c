// SPDX-License-Identifier: GPL-2.0-only
/* How soon a thread that was woken goes on; apart, as <sched.h> and the kernel's header clash. */
#include <linux/sched.h>
#include <linux/sched/types.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "turns.h"

#define SLICE_NS 100000 /* the shortest there is */

/*
 * Once there is something to read, the calling thread is to go before who made it,
 * and not when a tick finds that who has had its turn. From 6.12 on, a shorter slice
 * does that, of no more CPU time in all. Earlier kernels prefer who has slept, and
 * take no notice of it.
 */
void take_short_turns(void)
{
	struct sched_attr attr = { 0 };

	if (syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0) ||
	    attr.sched_policy != SCHED_NORMAL)
		return;
	attr.sched_runtime = SLICE_NS;
	syscall(SYS_sched_setattr, 0, &attr, 0);
}
