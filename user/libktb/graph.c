// SPDX-License-Identifier: LGPL-2.1-only
/* Calls of kernel functions, as the records of their returns tell of them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <event-parse.h>
#include <trace-seq.h>

#include "internal.h"

#define MAX_DEPTH 50 /* of a call, to be shown */

static bool is_return(const struct tep_event *event)
{
	return !strcmp(event->system, "ftrace") && !strcmp(event->name, "funcgraph_exit");
}

static bool read_number(struct tep_event *event, const struct ktb_sample *sample, const char *name,
			uint64_t *number)
{
	const struct tep_format_field *format = tep_find_field(event, name);
	struct ktb_field field;

	if (!format || !ktb_field_read(format, sample, &field))
		return false;
	*number = field.number;
	return true;
}

int ktb_graph_parse(struct ktb_formats *formats, const struct ktb_sample *sample,
		    struct ktb_graph_call *call)
{
	struct tep_event *event = ktb_formats_event(formats, sample);
	uint64_t depth;

	if (!event || !is_return(event))
		return -ENOENT;
	if (!read_number(event, sample, "func", &call->func) ||
	    !read_number(event, sample, "depth", &depth) ||
	    !read_number(event, sample, "calltime", &call->start) ||
	    !read_number(event, sample, "rettime", &call->end))
		return -EIO;
	call->depth = (unsigned int)depth;
	return 0;
}

/* ftrace's column of times is empty where a call begins. */
static void put_time(struct trace_seq *seq, const struct ktb_graph_call *call,
		     enum ktb_graph_part part)
{
	const uint64_t ns = call->end - call->start;

	if (part == KTB_GRAPH_BEGIN)
		trace_seq_printf(seq, "%12s | ", "");
	else
		trace_seq_printf(seq, "%5llu.%03llu us | ", (unsigned long long)ns / 1000,
				 (unsigned long long)ns % 1000);
}

const char *ktb_graph_text(struct ktb_formats *formats, const struct ktb_graph_call *call,
			   enum ktb_graph_part part)
{
	static const char *const before[] = { "", "", "} /* " };
	static const char *const behind[] = { "();", "() {", " */" };
	const unsigned int depth = call->depth > MAX_DEPTH ? MAX_DEPTH : call->depth;
	const char *name = tep_find_function(formats->tep, call->func);
	struct trace_seq *seq = formats->seq;

	trace_seq_reset(seq);
	put_time(seq, call, part);
	trace_seq_printf(seq, "%*s%s", 2 * (int)depth, "", before[part]);
	if (name)
		trace_seq_puts(seq, name);
	else
		trace_seq_printf(seq, "%llx", (unsigned long long)call->func);
	trace_seq_puts(seq, behind[part]);
	trace_seq_terminate(seq);
	return seq->buffer;
}
