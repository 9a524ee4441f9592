// SPDX-License-Identifier: LGPL-2.1-only
/* Event formats from tracefs, through libtracefs and libtraceevent. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event-parse.h>
#include <trace-seq.h>
#include <tracefs.h>

#include "internal.h"

static int fail(struct ktb_formats *formats, int err, const char *format, ...) KTB_PRINTF(3, 4);

static int fail(struct ktb_formats *formats, int err, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(formats->error, sizeof(formats->error), format, ap);
	va_end(ap);
	return err;
}

/* For %pS and the like; most runs never need the symbols, so load them late. */
static char *resolve(void *arg, unsigned long long *addr, char **module)
{
	struct ktb_formats *formats = arg;

	if (!formats->syms_tried) {
		formats->syms_tried = true;
		formats->syms = ktb_kallsyms_load(NULL);
	}
	return ktb_kallsyms_find(formats->syms, addr, module);
}

static void load_printk_formats(struct ktb_formats *formats)
{
	char *text = tracefs_instance_file_read(NULL, "printk_formats", NULL);

	if (text)
		tep_parse_printk_formats(formats->tep, text);
	free(text);
}

static int formats_init(struct ktb_formats *formats, ktb_resolve_fn *function, void *arg)
{
	formats->tep = tep_alloc();
	formats->seq = malloc(sizeof(*formats->seq));
	if (!formats->tep || !formats->seq) {
		free(formats->seq);
		formats->seq = NULL;
		return -ENOMEM;
	}
	trace_seq_init(formats->seq);
	/* Callers show errors; the libraries are not to print them. */
	tep_set_loglevel(TEP_LOG_NONE);
	tep_set_long_size(formats->tep, KERNEL_LONG);
	tep_set_page_size(formats->tep, sysconf(_SC_PAGESIZE));
	tep_set_flag(formats->tep, TEP_NSEC_OUTPUT);
	return tep_set_function_resolver(formats->tep, function, arg ? arg : formats);
}

/* A set that knows nothing of the running kernel; @function names functions. */
struct ktb_formats *ktb_formats_new_empty(ktb_resolve_fn *function, void *arg)
{
	struct ktb_formats *formats = calloc(1, sizeof(*formats));

	if (!formats)
		return NULL;
	if (formats_init(formats, function, arg)) {
		ktb_formats_free(formats);
		return NULL;
	}
	return formats;
}

struct ktb_formats *ktb_formats_new(void)
{
	struct ktb_formats *formats = ktb_formats_new_empty(resolve, NULL);

	if (formats)
		load_printk_formats(formats);
	return formats;
}

void ktb_formats_free(struct ktb_formats *formats)
{
	if (!formats)
		return;
	if (formats->seq)
		trace_seq_destroy(formats->seq);
	free(formats->seq);
	tep_free(formats->tep);
	ktb_kallsyms_free(formats->syms);
	free(formats);
}

const char *ktb_formats_error(const struct ktb_formats *formats)
{
	return formats->error;
}

static int parse_format(struct ktb_formats *formats, const char *system, const char *event)
{
	enum tep_errno err;
	char *text;
	int size;

	text = tracefs_event_file_read(NULL, system, event, "format", &size);
	if (!text)
		return fail(formats, -ENOENT, "tracefs has no format of event '%s:%s'", system,
			    event);
	err = tep_parse_event(formats->tep, text, size, system);
	free(text);
	/* A print format that is beyond libtraceevent leaves the fields usable. */
	if (!tep_find_event_by_name(formats->tep, system, event))
		return fail(formats, -EINVAL, "cannot parse the format of event '%s:%s' (%d)",
			    system, event, err);
	return 0;
}

static int load(struct ktb_formats *formats, const char *system, const char *event)
{
	int err;

	if (tep_find_event_by_name(formats->tep, system, event))
		return 0;
	err = parse_format(formats, system, event);
	if (!err)
		ktb_comms_add_source(formats, tep_find_event_by_name(formats->tep, system, event));
	return err;
}

int ktb_formats_load(struct ktb_formats *formats, const char *name)
{
	char *system, *event;
	int err;

	formats->error[0] = 0;
	name = ktb_format_name(name);
	system = strdup(name);
	if (!system)
		return fail(formats, -ENOMEM, "out of memory");
	event = strchr(system, ':');
	if (event && !strchr(name, '/')) {
		*event++ = 0;
		err = load(formats, system, event);
	} else {
		err = fail(formats, -EINVAL, "'%s' is not an event's name (system:event)", name);
	}
	free(system);
	return err;
}

/* The event a sample is of, by its common_type. */
struct tep_event *ktb_formats_event(struct ktb_formats *formats, const struct ktb_sample *sample)
{
	uint16_t type;

	if (!sample->raw || sample->raw_size < sizeof(type))
		return NULL;
	memcpy(&type, sample->raw, sizeof(type));
	return tep_find_event(formats->tep, type);
}

int ktb_formats_name(struct ktb_formats *formats, const struct ktb_sample *sample, char *name,
		     size_t len)
{
	struct tep_event *event = ktb_formats_event(formats, sample);

	if (!event)
		return -ENOENT;
	snprintf(name, len, "%s:%s", event->system, event->name);
	return 0;
}

/* Where a record's fixed part ends: reading beyond a short one is not ours. */
static int fixed_size(const struct tep_event *event)
{
	const struct tep_format_field *field;
	int end, size = 0;

	for (field = event->format.fields; field; field = field->next) {
		end = field->offset + field->size;
		if (end > size)
			size = end;
	}
	return size;
}

const char *ktb_formats_text(struct ktb_formats *formats, const struct ktb_sample *sample)
{
	struct tep_event *event = ktb_formats_event(formats, sample);
	struct tep_record record = {
		.ts = sample->time,
		.cpu = sample->cpu,
		.size = sample->raw_size,
		.record_size = sample->raw_size,
		.data = (void *)sample->raw,
	};
	struct ktb_graph_call call;

	if (!event)
		return NULL;
	if (sample->raw_size < (uint32_t)fixed_size(event))
		return "(truncated record)";
	if (!ktb_graph_parse(formats, sample, &call))
		return ktb_graph_text(formats, &call, KTB_GRAPH_LEAF);
	trace_seq_reset(formats->seq);
	tep_print_event(formats->tep, formats->seq, &record, "%s", TEP_PRINT_INFO);
	trace_seq_terminate(formats->seq);
	return formats->seq->buffer;
}

int ktb_formats_fields(struct ktb_formats *formats, const struct ktb_sample *sample,
		       void (*each)(const struct ktb_field *field, void *arg), void *arg)
{
	struct tep_event *event = ktb_formats_event(formats, sample);
	struct tep_format_field *format;
	struct ktb_field field;

	if (!event)
		return -ENOENT;
	for (format = event->format.fields; format; format = format->next)
		if (ktb_field_read(format, sample, &field))
			each(&field, arg);
	return 0;
}
