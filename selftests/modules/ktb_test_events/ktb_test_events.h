/* SPDX-License-Identifier: GPL-2.0-only */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM ktb_test

#if !defined(_KTB_TEST_EVENTS_H) || defined(TRACE_HEADER_MULTI_READ)
#define _KTB_TEST_EVENTS_H

#include <linux/tracepoint.h>

TRACE_EVENT(ktb_test_hit,
	    TP_PROTO(unsigned int nr, unsigned int of),
	    TP_ARGS(nr, of),
	    TP_STRUCT__entry(__field(unsigned int, nr)
			     __field(unsigned int, of)),
	    TP_fast_assign(__entry->nr = nr;
			   __entry->of = of;),
	    TP_printk("%u of %u", __entry->nr, __entry->of)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE ktb_test_events
#include <trace/define_trace.h>
