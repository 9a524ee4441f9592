/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The mirror of include/trace/perf.h: makes one probe, ktb_trace_<class>(), of
 * every event class in a kernel event header, and lists the events.
 *
 * A header takes two lines; a file of this directory is a row of them:
 *
 *	#define KTB_HEADER <trace/events/irq.h>
 *	#include "native_probe.h"
 *
 * What the header needs and does not include itself is included before. It is
 * read again and again, each time with other meanings for its macros; the
 * kernel's own trace/stages/ supply those that describe the record. Nothing
 * comes of a header that the kernel does not have.
 *
 * An event that cannot be native is named before, #define KTB_OMIT_<event> 1,
 * and so is its class if that does not even compile; the reason stands in
 * Documentation/native-events.md.
 */

#include <linux/trace_events.h>
#include <linux/tracepoint.h>

#include "../compat.h"
#include "../submit.h"
#include "native.h"

#if __has_include(KTB_HEADER)
#include KTB_HEADER

#define TRACE_HEADER_MULTI_READ

/*
 * A class, and an event of a class, that are not omitted: what they are is
 * defined anew for each reading, as KTB_CLASS() and KTB_EVENT().
 */

#define KTB_UNLESS_OMITTED(name, ...)					\
	__PASTE(__KTB_OMITTED_, __is_defined(KTB_OMIT_##name))(__VA_ARGS__)
#define __KTB_OMITTED_0(...)	__VA_ARGS__
#define __KTB_OMITTED_1(...)

#undef DECLARE_EVENT_CLASS
#define DECLARE_EVENT_CLASS(class, proto, args, tstruct, assign, print)	\
	KTB_UNLESS_OMITTED(class, KTB_CLASS(class, PARAMS(proto), PARAMS(args), \
					    PARAMS(tstruct), PARAMS(assign)))

#undef DEFINE_EVENT
#define DEFINE_EVENT(template, call, proto, args)			\
	KTB_UNLESS_OMITTED(call, KTB_EVENT(template, call))

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

/* The record: struct trace_event_raw_<class>. */

#include <trace/stages/stage1_struct_define.h>

#define KTB_CLASS(class, proto, args, tstruct, assign)			\
	struct trace_event_raw_##class {				\
		struct trace_entry ent;					\
		tstruct							\
		char __data[];						\
	};

#define KTB_EVENT(template, call)

#include KTB_HEADER

/* Where its strings and arrays begin: struct trace_event_data_offsets_<class>. */

#include <trace/stages/stage2_data_offsets.h>

#undef KTB_CLASS
#define KTB_CLASS(class, proto, args, tstruct, assign)			\
	struct trace_event_data_offsets_##class {			\
		tstruct;						\
	};

#include KTB_HEADER

/* How long they are: trace_event_get_offsets_<class>(). */

#include <trace/stages/stage5_get_offsets.h>

#undef KTB_CLASS
#define KTB_CLASS(class, proto, args, tstruct, assign)			\
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

#undef KTB_CLASS
#define KTB_CLASS(class, proto, args, tstruct, assign)			\
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

/*
 * The description: what the records look like, as lines of text in a section of
 * the object that is never loaded. selftests/native_table.c reads it out of the
 * module's file and compares it with what the running kernel says.
 *
 *	class sched_switch 64
 *	field prev_comm 8 16
 *	event sched:sched_switch sched_switch
 *
 * A class with its size, a field of it with offset and size, an event with its
 * class. The numbers are the compiler's, hence operands of an asm, as in the
 * kernel's asm-offsets.c. Of the sections that are not loaded, modpost lets a
 * module have those named .comment.
 */

#undef __ktb_describe
#define __ktb_describe(line, ...)					\
	asm volatile(".pushsection .comment.ktb_native\n\t"		\
		     ".ascii \"" line "\\n\"\n\t"			\
		     ".popsection" : : __VA_ARGS__)
#undef __ktb_member
#define __ktb_member(item)						\
	__ktb_describe("field " __stringify(item) " %c0 %c1",		\
		       "i"(offsetof(typeof(*entry), item)),		\
		       "i"(sizeof_field(typeof(*entry), item)));

#undef KTB_CLASS
#define KTB_CLASS(class, proto, args, tstruct, assign)			\
	{								\
		struct trace_event_raw_##class __maybe_unused *entry;	\
									\
		__ktb_describe("class " __stringify(class) " %c0",	\
			       "i"(sizeof(*entry)));			\
		tstruct							\
	}

#undef KTB_EVENT
#define KTB_EVENT(template, call)					\
	__ktb_describe("event " __stringify(TRACE_SYSTEM) ":"		\
		       __stringify(call) " " __stringify(template));

/* Never called; freed once the module is loaded. */
static void __init __used __UNIQUE_ID(ktb_native_describe)(void)
{
#include KTB_HEADER
}

#undef KTB_EVENT
#define KTB_EVENT(template, call)

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

/*
 * Each probe is there twice: in line, for the usual case, and out of line for
 * all others. Neither keeps anything over the call of the other: the usual case
 * saves no register on its way. The other one is jumped to, and then its frame tells
 * what a callchain begins with; but called if it has more arguments than registers
 * hold.
 */
#undef KTB_CLASS
#define KTB_CLASS(class, proto, args, tstruct, assign)			\
static __always_inline void						\
ktb_assign_##class(struct trace_event_raw_##class *entry, int __data_size, \
		   struct trace_event_data_offsets_##class __maybe_unused __data_offsets, \
		   proto)						\
{									\
	ktb_zero_holes_##class(entry, __data_size);			\
	tstruct								\
	{ assign; }							\
}									\
									\
static noinline notrace __maybe_unused void				\
ktb_trace_slow_##class(void *__data, proto, unsigned long __ip)		\
{									\
	struct trace_event_data_offsets_##class __maybe_unused __data_offsets; \
	struct ktb_event *__event = __data;				\
	struct ktb_hit __hit;						\
	u64 __count = 1;						\
	int __data_size;						\
									\
	/* Sets __count too. */						\
	__data_size = trace_event_get_offsets_##class(&__data_offsets, args); \
									\
	if (!ktb_event_admit(__event, __count))				\
		goto __out;						\
	__hit = ktb_event_begin_slow(__event, __data_size +		\
				     sizeof(struct trace_event_raw_##class), \
				     __ip, __builtin_frame_address(0));	\
	if (__count != 1)						\
		ktb_event_count(__hit, __count);			\
	if (!__hit.sample)						\
		goto __out;						\
	ktb_assign_##class(__hit.entry, __data_size, __data_offsets, args); \
	if (__event->program) {						\
		ktb_event_end_program(__event, __hit.sample, __hit.context, __count); \
		/* No jump, but a call: it begins callchains at our frame. */ \
		barrier();						\
	} else {							\
		ktb_event_end(__hit);					\
	}								\
__out:									\
	ktb_probe_end();						\
}									\
									\
static notrace __maybe_unused void					\
ktb_trace_##class(void *__data, proto)					\
{									\
	struct trace_event_data_offsets_##class __maybe_unused __data_offsets; \
	struct ktb_event *__event = __data;				\
	struct ktb_hit __hit;						\
	unsigned int __mode;						\
	u64 __count = 1;						\
	int __data_size;						\
									\
	ktb_probe_begin();						\
									\
	__mode = ktb_event_mode(__event);				\
	if (unlikely(__mode) && ktb_event_turn_away(__event, __mode))	\
		goto __out;						\
	__data_size = trace_event_get_offsets_##class(&__data_offsets, args); \
	if (!ktb_event_begin(__event, __mode, __data_size +		\
			     sizeof(struct trace_event_raw_##class), &__hit)) { \
		ktb_trace_slow_##class(__data, args, _RET_IP_);		\
		return;	/* that has ended the probe */			\
	}								\
	if (__count != 1)						\
		ktb_event_count(__hit, __count);			\
	ktb_assign_##class(__hit.entry, __data_size, __data_offsets, args); \
	ktb_event_end(__hit);						\
__out:									\
	ktb_probe_end();						\
}

#include KTB_HEADER

/*
 * The event. A tracepoint whose prototype is not that of its probe breaks the
 * build here.
 */

#undef KTB_CLASS
#define KTB_CLASS(class, proto, args, tstruct, assign)

#undef KTB_EVENT
#define KTB_EVENT(template, call)					\
static inline void ktb_native_check_##call(void)			\
{									\
	check_trace_callback_type_##call(ktb_trace_##template);		\
}									\
static const struct ktb_native ktb_native_##call KTB_NATIVE_ENTRY = {	\
	.name = __stringify(TRACE_SYSTEM) ":" __stringify(call),	\
	.probe = ktb_trace_##template,					\
	.size = sizeof(struct trace_event_raw_##template),		\
};

#include KTB_HEADER

#ifdef KTB_TASK_PROBES
#include "task_probe.h"
#endif

/* As if nothing had been defined here: the next header may follow. */

#undef KTB_CLASS
#undef KTB_EVENT
#undef TRACE_HEADER_MULTI_READ
#undef TRACE_EVENT
#undef TRACE_EVENT_FN
#undef TRACE_EVENT_FN_COND
#undef TRACE_EVENT_SYSCALL
#undef TRACE_EVENT_CONDITION
#undef TRACE_EVENT_NOP
#undef DECLARE_EVENT_CLASS
#undef DEFINE_EVENT
#undef DEFINE_EVENT_FN
#undef DEFINE_EVENT_PRINT
#undef DEFINE_EVENT_CONDITION
#undef DEFINE_EVENT_NOP
#undef DECLARE_TRACE
#undef DECLARE_TRACE_CONDITION

#endif /* __has_include(KTB_HEADER) */

#undef KTB_HEADER
