// SPDX-License-Identifier: GPL-2.0-only
/* Who goes first; apart, as <sched.h> and the kernel's header clash. */
#include <linux/sched.h>
#include <linux/sched/types.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "priority.h"

#define HIGHEST_NICE (-20)
#define SLICE_NS 100000 /* the shortest there is */

static bool set(struct sched_attr *attr, int nice)
{
	attr->sched_nice = nice;
	return !syscall(SYS_sched_setattr, 0, attr, 0);
}

/*
 * The calling thread, and those it starts from now on, go before who fills the rings.
 * As equals they would get half of a CPU each, and that in turns as long as a ring
 * takes to be filled; and who is put aside while it writes has all other readers wait
 * for the file. What comes first takes no more time than it needs: with the ring empty
 * it sleeps.
 *
 * This needs CAP_SYS_NICE. Without it, a short slice makes turns shorter, from Linux
 * 6.12 on. Who was started with another priority keeps it: somebody wanted that.
 */
void take_priority(void)
{
	struct sched_attr attr = { 0 };

	if (syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0) ||
	    attr.sched_policy != SCHED_NORMAL || attr.sched_nice)
		return;
	attr.sched_runtime = SLICE_NS;
	if (!set(&attr, HIGHEST_NICE))
		set(&attr, 0);
}
