/* SPDX-License-Identifier: GPL-2.0-only */
/* Between perfcore.c and perf_tracepoint.c: what both make of perf's counters. */
#ifndef _KTB_PERF_SOURCE_H
#define _KTB_PERF_SOURCE_H

#include <linux/cpumask.h>
#include <linux/perf_event.h>
#include <linux/sched.h>

#include "event.h"

/**
 * struct ktb_perf - the counters of an event
 * @node: in the list of those that follow CPU hotplug, or of those to release
 * @event: whose
 * @attr: what they count
 * @asked: the same as it was asked for
 * @cred: of who attached the event: for counters that are made later on
 * @stand_ins: of a tracepoint, by CPU; the one counter is then disabled
 * @nr: number of counters
 * @counter: by CPU, NULL for one that is not online; or one for each thread
 */
struct ktb_perf {
	struct list_head node;
	struct ktb_event *event;
	struct perf_event_attr attr;
	struct perf_event_attr asked;
	const struct cred *cred;
	struct perf_event *stand_ins;
	unsigned int nr;
	struct ktb_perf_counter {
		struct perf_event *event;
		unsigned int incarnation;	/* of its CPU */
		pid_t thread;
	} counter[];
};

#define KTB_PERF_TRIES	10

/**
 * ktb_perf_cpu_went - whether to try again to make a counter on this CPU
 * @err: what the last try ended with
 * @tries: KTB_PERF_TRIES, counted down
 *
 * Without the CPU there is -ENODEV. Who runs on a CPU that is going is moved off it when
 * he sleeps. But perf has other reasons for that error too. Process context.
 *
 * Return: whether.
 */
static inline bool ktb_perf_cpu_went(int err, unsigned int *tries)
{
	if (err != -ENODEV || !--*tries)
		return false;
	schedule_timeout_uninterruptible(1);
	return true;
}

static inline bool ktb_perf_is_on_cpu(const struct ktb_perf *perf, unsigned int cpu)
{
	return !perf->event->on_cpus || cpumask_test_cpu(cpu, &perf->event->cpus);
}

void ktb_perf_overflow(struct perf_event *counter, struct perf_sample_data *data,
		       struct pt_regs *regs);
int ktb_perf_counter_create(struct ktb_perf *perf, struct ktb_perf_counter *counter,
			    int cpu, struct task_struct *task);
int ktb_perf_fail(struct ktb_perf *perf, int err, struct netlink_ext_ack *extack);
void ktb_perf_free(struct ktb_perf *perf);

extern const struct ktb_source ktb_perf_tracepoint_source;
void ktb_perf_tracepoint_exit(void);

#endif /* _KTB_PERF_SOURCE_H */
