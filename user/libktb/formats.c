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

#define RAW_MAX 65536 /* of a record, whose size is 16 bits */
/* Behind it zeros, as far as an offset, a relative one, and a length of 16 bits go. */
#define RAW_ROOM (4 * RAW_MAX)

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
		formats->syms = ktb_kallsyms_load_live("/proc");
	}
	ktb_kallsyms_refresh(formats->syms, *addr);
	return ktb_kallsyms_find(formats->syms, addr, module);
}

static void load_printk_formats(struct ktb_formats *formats)
{
	char *text = tracefs_instance_file_read(NULL, "printk_formats", NULL);

	if (text)
		tep_parse_printk_formats(formats->tep, text);
	free(text);
}

static struct tep_handle *new_tep(struct ktb_formats *formats)
{
	struct tep_handle *tep = tep_alloc();

	if (!tep)
		return NULL;
	/* Callers show errors; the libraries are not to print them. */
	tep_set_loglevel(TEP_LOG_NONE);
	tep_set_long_size(tep, KERNEL_LONG);
	tep_set_page_size(tep, sysconf(_SC_PAGESIZE));
	tep_set_flag(tep, TEP_NSEC_OUTPUT);
	if (!tep_set_function_resolver(tep, formats->resolve, formats->resolve_arg))
		return tep;
	tep_free(tep);
	return NULL;
}

static int formats_init(struct ktb_formats *formats, ktb_resolve_fn *function, void *arg)
{
	formats->resolve = function;
	formats->resolve_arg = arg ? arg : formats;
	formats->tep = new_tep(formats);
	formats->seq = malloc(sizeof(*formats->seq));
	formats->raw = calloc(1, RAW_ROOM);
	if (formats->seq)
		trace_seq_init(formats->seq);
	return formats->tep && formats->seq && formats->raw ? 0 : -ENOMEM;
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

static void free_loaded(struct ktb_loaded_format *loaded)
{
	free(loaded->system);
	free(loaded->text);
}

void ktb_formats_free(struct ktb_formats *formats)
{
	if (!formats)
		return;
	if (formats->seq)
		trace_seq_destroy(formats->seq);
	free(formats->seq);
	free(formats->raw);
	for (unsigned int i = 0; i < formats->nr_loaded; i++)
		free_loaded(&formats->loaded[i]);
	free(formats->loaded);
	tep_free(formats->tep);
	ktb_kallsyms_free(formats->syms);
	free(formats);
}

const char *ktb_formats_error(const struct ktb_formats *formats)
{
	return formats->error;
}

/* ---- loading ---- */

static bool is_sane_field(const struct tep_format_field *field)
{
	return field->offset >= 0 && field->offset <= RAW_MAX && field->size >= 0 &&
	       field->size <= RAW_MAX - field->offset;
}

/*
 * libtraceevent believes what a format says: fields are to be where a record can have
 * them, and its type where it is looked for.
 */
static bool is_sane(struct tep_event *event)
{
	const struct tep_format_field *type = tep_find_common_field(event, "common_type"), *field;

	for (field = event->format.common_fields; field; field = field->next)
		if (!is_sane_field(field))
			return false;
	for (field = event->format.fields; field; field = field->next)
		if (!is_sane_field(field))
			return false;
	return type && !type->offset && type->size == sizeof(uint16_t);
}

bool ktb_formats_are_sane(const struct ktb_formats *formats)
{
	for (int i = 0; i < tep_get_events_count(formats->tep); i++)
		if (!is_sane(tep_get_event(formats->tep, i)))
			return false;
	return true;
}

/* Returns false if it cannot be parsed; its print format may be beyond libtraceevent. */
static bool parse(struct ktb_formats *formats, const struct ktb_loaded_format *loaded)
{
	struct tep_event *event;

	tep_parse_event(formats->tep, loaded->text, strlen(loaded->text), loaded->system);
	event = tep_find_event(formats->tep, loaded->id);
	if (!event || !is_sane(event))
		return false;
	ktb_comms_add_source(formats, event);
	return true;
}

/* libtraceevent forgets no event: all that are still there, once more. */
static int parse_again(struct ktb_formats *formats)
{
	struct tep_handle *tep = new_tep(formats);

	if (!tep)
		return -ENOMEM;
	tep_free(formats->tep);
	formats->tep = tep;
	formats->nr_comm_sources = 0;
	load_printk_formats(formats);
	for (unsigned int i = 0; i < formats->nr_loaded; i++)
		parse(formats, &formats->loaded[i]);
	return 0;
}

static struct ktb_loaded_format *find_loaded(const struct ktb_formats *formats, int id)
{
	for (unsigned int i = 0; i < formats->nr_loaded; i++)
		if (formats->loaded[i].id == id)
			return &formats->loaded[i];
	return NULL;
}

/*
 * Take in a format. A probe that was made anew has another number, or, on later
 * kernels, the one of a probe that is gone.
 */
static int take(struct ktb_formats *formats, const struct ktb_loaded_format *loaded,
		const char *event)
{
	struct ktb_loaded_format *all, *old = find_loaded(formats, loaded->id);
	int err = 0;

	if (old) {
		free_loaded(old);
		*old = formats->loaded[--formats->nr_loaded];
		err = parse_again(formats);
	}
	all = err ? NULL : ktb_array_more(formats->loaded, formats->nr_loaded, sizeof(*all));
	if (!all)
		return fail(formats, -ENOMEM, "out of memory");
	formats->loaded = all;
	if (!parse(formats, loaded))
		return fail(formats, -EINVAL, "cannot parse the format of event '%s:%s'",
			    loaded->system, event);
	all[formats->nr_loaded++] = *loaded;
	return 0;
}

/* "name: ...\nID: 123\nformat: ..." */
static int id_in(const char *text)
{
	const char *line = strstr(text, "\nID: ");

	return line ? atoi(line + 5) : 0;
}

static bool is_known(const struct ktb_formats *formats, const struct ktb_loaded_format *loaded)
{
	const struct ktb_loaded_format *old = find_loaded(formats, loaded->id);

	return old && !strcmp(old->system, loaded->system) && !strcmp(old->text, loaded->text);
}

static int load(struct ktb_formats *formats, const char *system, const char *event)
{
	struct ktb_loaded_format loaded = { 0 };
	int err;

	loaded.text = tracefs_event_file_read(NULL, system, event, "format", NULL);
	/* One that is gone may have records that are not printed yet. */
	if (!loaded.text && tep_find_event_by_name(formats->tep, system, event))
		return 0;
	if (!loaded.text)
		return fail(formats, -ENOENT, "tracefs has no format of event '%s:%s'", system,
			    event);
	loaded.id = id_in(loaded.text);
	loaded.system = strdup(system);
	if (loaded.system && is_known(formats, &loaded)) {
		free_loaded(&loaded);
		return 0;
	}
	err = loaded.system ? take(formats, &loaded, event) :
			      fail(formats, -ENOMEM, "out of memory");
	if (err)
		free_loaded(&loaded);
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

/* ---- decoding ---- */

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
static bool is_whole(const struct tep_event *event, const struct ktb_sample *sample)
{
	const struct tep_format_field *lists[] = { event->format.common_fields,
						   event->format.fields };

	for (unsigned int i = 0; i < ARRAY_SIZE(lists); i++)
		for (const struct tep_format_field *field = lists[i]; field; field = field->next)
			if (!is_sane_field(field) ||
			    (uint32_t)(field->offset + field->size) > sample->raw_size)
				return false;
	return sample->raw_size <= RAW_MAX;
}

/*
 * libtraceevent follows offsets, and reads strings up to a zero, without looking for the
 * record's end: a copy, with zeros behind it.
 */
static void *copy_raw(struct ktb_formats *formats, const struct ktb_sample *sample)
{
	memcpy(formats->raw, sample->raw, sample->raw_size);
	if (sample->raw_size < formats->raw_size)
		memset(formats->raw + sample->raw_size, 0, formats->raw_size - sample->raw_size);
	formats->raw_size = sample->raw_size;
	return formats->raw;
}

const char *ktb_formats_text(struct ktb_formats *formats, const struct ktb_sample *sample)
{
	struct tep_event *event = ktb_formats_event(formats, sample);
	struct tep_record record = {
		.ts = sample->time,
		.cpu = sample->cpu,
		.size = sample->raw_size,
		.record_size = sample->raw_size,
	};
	struct ktb_graph_call call;

	if (!event)
		return NULL;
	if (!is_whole(event, sample))
		return "(truncated record)";
	if (!ktb_graph_parse(formats, sample, &call))
		return ktb_graph_text(formats, &call, KTB_GRAPH_LEAF);
	record.data = copy_raw(formats, sample);
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
