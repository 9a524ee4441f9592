/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The mirror of include/trace/perf.h: makes one probe, ktb_trace_<class>(), of
 * every event class in a kernel event header, and lists the events.
 *
 * A file of this directory is one header:
 *
 *	#include <trace/events/irq.h>
 *	#define KTB_HEADER <trace/events/irq.h>
 *	#define KTB_LIST ktb_native_list_irq
 *	#include "native_probe.h"
 *
 * The header is read again and again, each time with other meanings for its
 * macros; the kernel's own trace/stages/ supply those that describe the record.
 * An event that cannot be native, because its assignment needs a symbol that is
 * not exported, is named before: #define KTB_NATIVE_OMIT_<event> 1.
 */

#include <linux/trace_events.h>
#include <linux/tracepoint.h>

#include "../compat.h"
#include "../submit.h"
#include "native.h"

#define TRACE_HEADER_MULTI_READ

/* Whatever variant an event is defined with, it is a class and an event. */

#undef TRACE_EVENT
#define TRACE_EVENT(name, proto, args, tstruct, assign, print)		\
	DECLARE_EVENT_CLASS(name, PARAMS(proto), PARAMS(args),		\
			    PARAMS(tstruct), PARAMS(assign), PARAMS(print)) \
	DEFINE_EVENT(name, name, PARAMS(proto), PARAMS(args))

#undef TRACE_EVENT_FN
#define TRACE_EVENT_FN(name, proto, args, tstruct, assign, print, reg, unreg) \
	TRACE_EVENT(name, PARAMS(proto), PARAMS(args), PARAMS(tstruct),	\
		    PARAMS(assign), PARAMS(print))

/* System calls, which have a class of their own since 6.13. */
#undef TRACE_EVENT_SYSCALL
#define TRACE_EVENT_SYSCALL(name, proto, args, tstruct, assign, print, reg, unreg) \
	TRACE_EVENT(name, PARAMS(proto), PARAMS(args), PARAMS(tstruct),	\
		    PARAMS(assign), PARAMS(print))

#undef TRACE_EVENT_CONDITION
#define TRACE_EVENT_CONDITION(name, proto, args, cond, tstruct, assign, print) \
	TRACE_EVENT(name, PARAMS(proto), PARAMS(args), PARAMS(tstruct),	\
		    PARAMS(assign), PARAMS(print))

#undef TRACE_EVENT_FN_COND
#define TRACE_EVENT_FN_COND(name, proto, args, cond, tstruct, assign, print, \
			    reg, unreg)					\
	TRACE_EVENT(name, PARAMS(proto), PARAMS(args), PARAMS(tstruct),	\
		    PARAMS(assign), PARAMS(print))

#undef DEFINE_EVENT_FN
#define DEFINE_EVENT_FN(template, name, proto, args, reg, unreg)	\
	DEFINE_EVENT(template, name, PARAMS(proto), PARAMS(args))

#undef DEFINE_EVENT_CONDITION
#define DEFINE_EVENT_CONDITION(template, name, proto, args, cond)	\
	DEFINE_EVENT(template, name, PARAMS(proto), PARAMS(args))

#undef DEFINE_EVENT_PRINT
#define DEFINE_EVENT_PRINT(template, name, proto, args, print)		\
	DEFINE_EVENT(template, name, PARAMS(proto), PARAMS(args))

#undef TRACE_EVENT_NOP
#define TRACE_EVENT_NOP(name, proto, args, tstruct, assign, print)
#undef DEFINE_EVENT_NOP
#define DEFINE_EVENT_NOP(template, name, proto, args)
#undef DECLARE_TRACE
#define DECLARE_TRACE(name, proto, args)
#undef DECLARE_TRACE_CONDITION
#define DECLARE_TRACE_CONDITION(name, proto, args, cond)
#undef TRACE_EVENT_FLAGS
#define TRACE_EVENT_FLAGS(event, flag)
#undef TRACE_EVENT_PERF_PERM
#define TRACE_EVENT_PERF_PERM(event, expr...)
#undef TRACE_DEFINE_ENUM
#define TRACE_DEFINE_ENUM(a)
#undef TRACE_DEFINE_SIZEOF
#define TRACE_DEFINE_SIZEOF(a)

/* The record: struct trace_event_raw_<class>. */

#include <trace/stages/stage1_struct_define.h>

#undef DECLARE_EVENT_CLASS
#define DECLARE_EVENT_CLASS(class, proto, args, tstruct, assign, print)	\
	struct trace_event_raw_##class {				\
		struct trace_entry ent;					\
		tstruct							\
		char __data[];						\
	};

#undef DEFINE_EVENT
#define DEFINE_EVENT(template, name, proto, args)

#include KTB_HEADER

/* Where its strings and arrays begin: struct trace_event_data_offsets_<class>. */

#include <trace/stages/stage2_data_offsets.h>

#undef DECLARE_EVENT_CLASS
#define DECLARE_EVENT_CLASS(class, proto, args, tstruct, assign, print)	\
	struct trace_event_data_offsets_##class {			\
		tstruct;						\
	};

#include KTB_HEADER

/* How long they are: trace_event_get_offsets_<class>(). */

#include <trace/stages/stage5_get_offsets.h>

#undef DECLARE_EVENT_CLASS
#define DECLARE_EVENT_CLASS(class, proto, args, tstruct, assign, print)	\
static __always_inline int trace_event_get_offsets_##class(		\
	struct trace_event_data_offsets_##class *__data_offsets, proto)	\
{									\
	int __data_size = 0;						\
	int __maybe_unused __item_length;				\
	struct trace_event_raw_##class __maybe_unused *entry;		\
									\
	tstruct;							\
									\
	return __data_size;						\
}

#include KTB_HEADER

/*
 * Zero what no assignment writes, the holes between the fields, and what a
 * string that shrank after it was measured leaves. The offsets are constants:
 * a record without holes costs nothing.
 */

#undef __ktb_member
#define __ktb_member(item)						\
	if (offsetof(typeof(*entry), item) > __end)			\
		memset((void *)entry + __end, 0,			\
		       offsetof(typeof(*entry), item) - __end);		\
	__end = offsetofend(typeof(*entry), item);
#undef __field
#define __field(type, item) __ktb_member(item)
#undef __field_ext
#define __field_ext(type, item, filter_type) __ktb_member(item)
#undef __field_struct
#define __field_struct(type, item) __ktb_member(item)
#undef __field_struct_ext
#define __field_struct_ext(type, item, filter_type) __ktb_member(item)
#undef __array
#define __array(type, item, len) __ktb_member(item)
#undef __dynamic_array
#define __dynamic_array(type, item, len) __ktb_member(__data_loc_##item)
#undef __string
#define __string(item, src) __ktb_member(__data_loc_##item)
#undef __string_len
#define __string_len(item, src, len) __ktb_member(__data_loc_##item)
#undef __vstring
#define __vstring(item, fmt, ap) __ktb_member(__data_loc_##item)
#undef __bitmask
#define __bitmask(item, nr_bits) __ktb_member(__data_loc_##item)
#undef __cpumask
#define __cpumask(item) __ktb_member(__data_loc_##item)
#undef __sockaddr
#define __sockaddr(item, len) __ktb_member(__data_loc_##item)
#undef __rel_dynamic_array
#define __rel_dynamic_array(type, item, len) __ktb_member(__rel_loc_##item)
#undef __rel_string
#define __rel_string(item, src) __ktb_member(__rel_loc_##item)
#undef __rel_string_len
#define __rel_string_len(item, src, len) __ktb_member(__rel_loc_##item)
#undef __rel_bitmask
#define __rel_bitmask(item, nr_bits) __ktb_member(__rel_loc_##item)
#undef __rel_cpumask
#define __rel_cpumask(item) __ktb_member(__rel_loc_##item)
#undef __rel_sockaddr
#define __rel_sockaddr(item, len) __ktb_member(__rel_loc_##item)

#undef DECLARE_EVENT_CLASS
#define DECLARE_EVENT_CLASS(class, proto, args, tstruct, assign, print)	\
static __always_inline void						\
ktb_zero_holes_##class(struct trace_event_raw_##class *entry, int data_size) \
{									\
	unsigned int __end = sizeof(entry->ent);			\
									\
	tstruct								\
									\
	memset((void *)entry + __end, 0,				\
	       sizeof(*entry) - __end + data_size);			\
}

#include KTB_HEADER

/* The probe. */

#include <trace/stages/stage3_trace_output.h>
#include <trace/stages/stage6_event_callback.h>

#ifdef KTB_ASSIGN_STR_TAKES_SOURCE
#undef __assign_str
#define __assign_str(dst, src)						\
	strscpy(__get_str(dst), (src) ? (const char *)(src) : "(null)",	\
		__get_dynamic_array_len(dst))
#undef __assign_rel_str
#define __assign_rel_str(dst, src)					\
	strscpy(__get_rel_str(dst), (src) ? (const char *)(src) : "(null)", \
		__get_rel_dynamic_array_len(dst))
#endif

#undef __perf_count
#define __perf_count(c)		(__count = (c))
#undef __perf_task
#define __perf_task(t)		(t)

#undef DECLARE_EVENT_CLASS
#define DECLARE_EVENT_CLASS(class, proto, args, tstruct, assign, print)	\
static notrace __maybe_unused void					\
ktb_trace_##class(void *__data, proto)					\
{									\
	struct ktb_event *__event = __data;				\
	struct trace_event_data_offsets_##class __maybe_unused __data_offsets; \
	struct trace_event_raw_##class *entry;				\
	struct ktb_hit __hit;						\
	u64 __count = 1;						\
	int __data_size;						\
									\
	ktb_probe_guard();						\
									\
	/* Sets __count too. */						\
	__data_size = trace_event_get_offsets_##class(&__data_offsets, args); \
									\
	/* Changes at any time; who disables waits for the last probe. */ \
	if (unlikely(data_race(__event->mode)) &&			\
	    !ktb_event_admit(__event, __count))				\
		return;							\
									\
	__hit = ktb_event_begin(__event, sizeof(*entry) + __data_size);	\
	if (__count != 1)						\
		ktb_event_count(__hit, __count);			\
	if (unlikely(!__hit.sample))					\
		return;							\
	entry = __hit.entry;						\
									\
	ktb_zero_holes_##class(entry, __data_size);			\
	tstruct								\
	{ assign; }							\
									\
	ktb_event_end(__hit);						\
}

#include KTB_HEADER

/*
 * A tracepoint whose prototype is not that of its probe breaks the build here.
 * An event that is omitted leaves no trace of its probe in the object.
 */

#undef DECLARE_EVENT_CLASS
#define DECLARE_EVENT_CLASS(class, proto, args, tstruct, assign, print)

#undef DEFINE_EVENT
#define DEFINE_EVENT(template, call, proto, args)			\
static inline void ktb_native_check_##call(void)			\
{									\
	check_trace_callback_type_##call(ktb_trace_##template);		\
}									\
static struct ktb_native __maybe_unused ktb_native_##call = {		\
	.name = __stringify(TRACE_SYSTEM) ":" __stringify(call),	\
	.probe = ktb_trace_##template,					\
	.size = sizeof(struct trace_event_raw_##template),		\
};

#include KTB_HEADER

/* The list. */

#undef DEFINE_EVENT
#define DEFINE_EVENT(template, call, proto, args)			\
	if (!__is_defined(KTB_NATIVE_OMIT_##call))			\
		ktb_native_add(&ktb_native_##call);

/**
 * KTB_LIST - make the events of this header known
 *
 * Called once, from ktb_native_init().
 */
void __init KTB_LIST(void)
{
#include KTB_HEADER
}

#undef TRACE_HEADER_MULTI_READ
