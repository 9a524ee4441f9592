/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Probes for our PMU, ktb_perf_trace_<class>(), of the event classes that say
 * __perf_task(): those are about a task, and the kernel's probe serves the
 * kernel's events of that task each time it runs, be it on our behalf. Included
 * by native_probe.h for a header that has such classes, which are named before:
 *
 *	#define KTB_TASK_PROBES
 *	#define KTB_TASK_CLASS_<class> 1
 *
 * The mirror of include/trace/perf.h but for the end, where our own events of the
 * task are served, and perf_tp_event() is told of no task.
 */

#include <linux/perf_event.h>

#include "../pmu.h"

#undef __perf_task
#define __perf_task(t)		(__task = (t))

#undef KTB_EVENT
#define KTB_EVENT(template, call)

#undef KTB_CLASS
#define KTB_CLASS(class, proto, args, tstruct, assign)			\
static notrace __maybe_unused void					\
ktb_perf_trace_##class(void *__data, proto)				\
{									\
	struct trace_event_call *__call = __data;			\
	struct trace_event_data_offsets_##class __maybe_unused __data_offsets; \
	struct trace_event_raw_##class *entry;				\
	struct task_struct *__task = NULL;				\
	struct hlist_head *__head;					\
	struct pt_regs *__regs;						\
	u64 __count = 1;						\
	int __size, __data_size, __context;				\
									\
	ktb_probe_begin();						\
									\
	/* Sets __task and __count too. */				\
	__data_size = trace_event_get_offsets_##class(&__data_offsets, args); \
									\
	if (__task && __task != current)				\
		ktb_task_count(__call, __task, __count);		\
	__head = this_cpu_ptr(__call->perf_events);			\
	if (hlist_empty(__head))					\
		goto __out;						\
									\
	/* The record and the u32 before it end at a multiple of 8. */	\
	__size = ALIGN(sizeof(*entry) + __data_size + sizeof(u32),	\
		       sizeof(u64)) - sizeof(u32);			\
	entry = perf_trace_buf_alloc(__size, &__regs, &__context);	\
	if (!entry)							\
		goto __out;						\
	perf_fetch_caller_regs(__regs);					\
									\
	tstruct								\
	{ assign; }							\
									\
	perf_tp_event(__call->event.type, __count, entry, __size, __regs, \
		      __head, __context, NULL);				\
__out:									\
	ktb_probe_end();						\
}

#include KTB_HEADER

#undef KTB_CLASS
#define KTB_CLASS(class, proto, args, tstruct, assign)

#undef KTB_EVENT
#define KTB_EVENT(template, call)					\
static inline void ktb_task_check_##call(void)				\
{									\
	check_trace_callback_type_##call(ktb_perf_trace_##template);	\
}

#include KTB_HEADER

#undef KTB_EVENT
#define KTB_EVENT(template, call)					\
	if (__is_defined(KTB_TASK_CLASS_##template) && !strcmp(name, #call)) \
		return ktb_perf_trace_##template;

/**
 * ktb_task_probe_find - the probe for our PMU of an event that is about a task
 * @name: name of the tracepoint
 *
 * Return: the probe, or NULL when the kernel's will do.
 */
void *ktb_task_probe_find(const char *name)
{
#include KTB_HEADER
	return NULL;
}

#undef KTB_TASK_PROBES
