/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KTB_PMU_H
#define _KTB_PMU_H

#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/trace_events.h>
#include <linux/types.h>

struct attribute_group;
struct perf_event;
struct task_struct;

/**
 * struct ktb_call - a tracepoint as our PMU has it
 *
 * Made with the first of our events on the tracepoint, freed after the last.
 *
 * @call: the shadow: what a probe of include/trace/perf.h wants to know of its
 *	struct trace_event_call, with a list of events that is ours alone and
 *	no BPF programs of the kernel's tracepoint PMU
 * @probe: hangs on the tracepoint, with @call as its argument
 * @ref: one for each of our events
 * @node: in the list of all
 */
struct ktb_call {
	struct trace_event_call call;
	void *probe;
	refcount_t ref;
	struct list_head node;
};

bool ktb_pmu_is(u32 type);
int ktb_pmu_init(void);
void ktb_pmu_exit(void);

/* pmu_call.c: the shadows */
struct ktb_call *ktb_call_get(u64 id);
void ktb_call_put(struct ktb_call *call);

/* pmu_counter.c: what only the kernel's own tracepoint PMU can do for us */
struct perf_event *ktb_counter_create(u64 id, u64 sample_type);
int ktb_counter_allow_raw(void);
int ktb_counter_make_context(struct task_struct *task);
int ktb_counter_buffers_get(void);
void ktb_counter_buffers_put(void);
int ktb_counter_init(void);
void ktb_counter_exit(void);

/* pmu_task.c, native/task_probe.h: events that name the task they are about */
void *ktb_task_probe_find(const char *name);
void ktb_task_count(const struct trace_event_call *call, struct task_struct *task,
		    u64 count);

/* pmu_sysfs.c */
extern const struct attribute_group *ktb_pmu_groups[];
int ktb_pmu_sysfs_init(void);
void ktb_pmu_sysfs_exit(void);

#endif /* _KTB_PMU_H */
