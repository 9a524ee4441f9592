// SPDX-License-Identifier: LGPL-2.1-only
/*
 * The tracing data of a perf.data file: tracefs files that say how the events'
 * own data are laid out, each behind its size.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tracefs.h>

#include "internal.h"
#include "perfdata.h"

#define MAGIC "\x17\x08\x44tracing" /* and no zero */
#define VERSION "0.6" /* and its zero */

/* A file of tracefs behind its 8-byte size; without the file that is 0. */
static void put_file(struct ktb_blob *blob, const char *name)
{
	int size = 0;
	char *text = tracefs_instance_file_read(NULL, name, &size);

	ktb_blob_put_u64(blob, text ? size : 0);
	if (text)
		ktb_blob_put(blob, text, size);
	free(text);
}

static void put_printk_formats(struct ktb_blob *blob)
{
	int size = 0;
	char *text = tracefs_instance_file_read(NULL, "printk_formats", &size);

	ktb_blob_put_u32(blob, text ? size : 0);
	if (text)
		ktb_blob_put(blob, text, size);
	free(text);
}

/* Bytes of the system's name, at the beginning of the event's. */
static size_t system_len(const struct ktb_event_info *event)
{
	return strcspn(ktb_format_name(event->name), ":");
}

static bool same_system(const struct ktb_event_info *a, const struct ktb_event_info *b)
{
	size_t len = system_len(a);

	return len == system_len(b) &&
	       !memcmp(ktb_format_name(a->name), ktb_format_name(b->name), len);
}

/* ---- what tracefs told of events ---- */

/* The event of that name may be another one by now, as a probe that was made anew. */
static bool is_format_of(const char *text, const struct ktb_event_info *event)
{
	const char *id = strstr(text, "\nID: ");

	return id && strtoul(id + strlen("\nID: "), NULL, 10) == event->type;
}

/* NULL if tracefs does not know the event. */
static char *read_format(const struct ktb_event_info *event, int *size)
{
	char *system = strdup(ktb_format_name(event->name)), *name, *text = NULL;

	name = system ? strchr(system, ':') : NULL;
	if (name) {
		*name++ = 0;
		text = tracefs_event_file_read(NULL, system, name, "format", size);
	}
	free(system);
	if (text && is_format_of(text, event))
		return text;
	free(text);
	return NULL;
}

/* @text becomes the file's. */
static int add_format(struct ktb_perfdata *file, uint32_t type, char *text, int size)
{
	struct ktb_format_text *all = ktb_array_more(file->formats, file->nr_formats, sizeof(*all));

	if (all)
		file->formats = all;
	if (!all || !text) {
		free(text);
		return -ENOMEM;
	}
	all[file->nr_formats++] = (struct ktb_format_text){ type, size, text };
	return 0;
}

/* NULL: a counter, which has no data of its own, or one that is gone. */
const struct ktb_format_text *ktb_format_of(const struct ktb_perfdata *file,
					    const struct ktb_event_info *event)
{
	for (unsigned int i = 0; i < file->nr_formats && !event->attr.size; i++)
		if (file->formats[i].type == event->type)
			return &file->formats[i];
	return NULL;
}

/* Take what an earlier file has. Returns 0 or -ENOMEM. */
int ktb_formats_copy(struct ktb_perfdata *file, const struct ktb_perfdata *earlier)
{
	int err = 0;

	for (unsigned int i = 0; i < earlier->nr_formats && !err; i++) {
		const struct ktb_format_text *format = &earlier->formats[i];

		err = add_format(file, format->type, strndup(format->text, format->size),
				 format->size);
	}
	return err;
}

/*
 * Keep the formats of events that are new: an event may be detached while it is
 * recorded, and a probe's format goes with it. Returns 0 or -ENOMEM.
 */
int ktb_formats_learn(struct ktb_perfdata *file)
{
	int size = 0, err = 0;
	char *text;

	for (unsigned int i = 0; i < file->nr_events && !err; i++) {
		const struct ktb_event_info *event = &file->events[i];

		if (event->attr.size || ktb_format_of(file, event))
			continue;
		text = read_format(event, &size);
		if (text)
			err = add_format(file, event->type, text, size);
	}
	return err;
}

void ktb_formats_forget(struct ktb_perfdata *file)
{
	for (unsigned int i = 0; i < file->nr_formats; i++)
		free(file->formats[i].text);
	free(file->formats);
	file->formats = NULL;
	file->nr_formats = 0;
}

/* ---- the feature ---- */

static void put_format(struct ktb_blob *blob, const struct ktb_format_text *format)
{
	ktb_blob_put_u64(blob, format->size);
	ktb_blob_put(blob, format->text, format->size);
}

/* Is there an event of the same system, or, if @twin, the same event before? */
static bool seen_before(const struct ktb_perfdata *file, unsigned int at, bool twin)
{
	const struct ktb_event_info *events = file->events;

	for (unsigned int i = 0; i < at; i++)
		if (ktb_format_of(file, &events[i]) &&
		    (twin ? events[i].type == events[at].type :
			    same_system(&events[i], &events[at])))
			return true;
	return false;
}

/* All events of the system that event @first is the first of. */
static void put_system(struct ktb_perfdata *file, struct ktb_blob *blob, unsigned int first)
{
	const struct ktb_event_info *events = file->events;
	size_t count = blob->len + system_len(&events[first]) + 1;
	uint32_t nr = 0;

	ktb_blob_put(blob, ktb_format_name(events[first].name), system_len(&events[first]));
	ktb_blob_put(blob, NULL, 1);
	ktb_blob_put_u32(blob, 0);
	for (unsigned int i = first; i < file->nr_events; i++) {
		const struct ktb_format_text *format = ktb_format_of(file, &events[i]);

		if (!format || !same_system(&events[first], &events[i]) ||
		    seen_before(file, i, true))
			continue;
		put_format(blob, format);
		nr++;
	}
	if (!blob->failed)
		memcpy(blob->data + count, &nr, sizeof(nr));
}

/* Whether a system's formats begin with those of event @at. */
static bool is_first(const struct ktb_perfdata *file, unsigned int at)
{
	return ktb_format_of(file, &file->events[at]) && !seen_before(file, at, false);
}

static void put_events(struct ktb_perfdata *file, struct ktb_blob *blob)
{
	uint32_t nr = 0;

	for (unsigned int i = 0; i < file->nr_events; i++)
		nr += is_first(file, i);
	ktb_blob_put_u32(blob, nr);
	for (unsigned int i = 0; i < file->nr_events; i++)
		if (is_first(file, i))
			put_system(file, blob, i);
}

static void put_head(struct ktb_blob *blob)
{
	const uint8_t big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	const uint8_t long_size = KERNEL_LONG;

	ktb_blob_put(blob, MAGIC, sizeof(MAGIC) - 1);
	ktb_blob_put(blob, VERSION, sizeof(VERSION));
	ktb_blob_put(blob, &big_endian, 1);
	ktb_blob_put(blob, &long_size, 1);
	ktb_blob_put_u32(blob, sysconf(_SC_PAGESIZE));
}

bool ktb_feature_tracing_data(struct ktb_perfdata *file, struct ktb_blob *blob)
{
	put_head(blob);
	ktb_blob_put(blob, "header_page", sizeof("header_page"));
	put_file(blob, "events/header_page");
	ktb_blob_put(blob, "header_event", sizeof("header_event"));
	put_file(blob, "events/header_event");
	ktb_blob_put_u32(blob, 0); /* no formats of ftrace's own events */
	put_events(file, blob);
	ktb_blob_put_u32(blob, 0); /* no kallsyms: readers have their own ways */
	put_printk_formats(blob);
	put_file(blob, "saved_cmdlines");
	return true;
}
