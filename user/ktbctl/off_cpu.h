/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KTBCTL_OFF_CPU_H
#define KTBCTL_OFF_CPU_H

#include "flame.h"

#define OFF_CPU_EVENT "sched:sched_switch"

/* Threads that do not run: since when, and where they stopped. */
struct off_cpu {
	struct off_thread *table; /* open addressing */
	unsigned int nr;
	unsigned int size; /* a power of two, or 0 */
};

int off_cpu_switch(struct off_cpu *off, struct ktb_formats *formats,
		   const struct ktb_sample *sample, struct flame_node *node);
void off_cpu_forget(struct off_cpu *off);
void off_cpu_free(struct off_cpu *off);

#endif /* KTBCTL_OFF_CPU_H */
