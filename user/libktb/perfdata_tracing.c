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

static bool put_format(struct ktb_perfdata *file, struct ktb_blob *blob,
		       const struct ktb_event_info *event)
{
	char *system = strdup(ktb_format_name(event->name)), *name, *text = NULL;
	int size = 0;

	name = system ? strchr(system, ':') : NULL;
	if (name) {
		*name++ = 0;
		text = tracefs_event_file_read(NULL, system, name, "format", &size);
	}
	free(system);
	if (!text) {
		ktb_perfdata_fail(file, -ENOENT, "tracefs has no format of event '%s'",
				  event->name);
		return false;
	}
	ktb_blob_put_u64(blob, size);
	ktb_blob_put(blob, text, size);
	free(text);
	return true;
}

/* A counter has no data of its own, and no format. */
static bool has_format(const struct ktb_event_info *event)
{
	return !event->attr.size;
}

/* Is there an event of the same system, or, if @twin, the same event before? */
static bool seen_before(const struct ktb_perfdata *file, unsigned int at, bool twin)
{
	const struct ktb_event_info *events = file->events;

	for (unsigned int i = 0; i < at; i++)
		if (has_format(&events[i]) && (twin ? !strcmp(events[i].name, events[at].name) :
						      same_system(&events[i], &events[at])))
			return true;
	return false;
}

/* All events of the system that event @first is the first of. */
static bool put_system(struct ktb_perfdata *file, struct ktb_blob *blob, unsigned int first)
{
	const struct ktb_event_info *events = file->events;
	size_t count = blob->len + system_len(&events[first]) + 1;
	uint32_t nr = 0;

	ktb_blob_put(blob, ktb_format_name(events[first].name), system_len(&events[first]));
	ktb_blob_put(blob, NULL, 1);
	ktb_blob_put_u32(blob, 0);
	for (unsigned int i = first; i < file->nr_events; i++) {
		if (!has_format(&events[i]) || !same_system(&events[first], &events[i]) ||
		    seen_before(file, i, true))
			continue;
		if (!put_format(file, blob, &events[i]))
			return false;
		nr++;
	}
	if (!blob->failed)
		memcpy(blob->data + count, &nr, sizeof(nr));
	return true;
}

/* Whether a system's formats begin with those of event @at. */
static bool is_first(const struct ktb_perfdata *file, unsigned int at)
{
	return has_format(&file->events[at]) && !seen_before(file, at, false);
}

static bool put_events(struct ktb_perfdata *file, struct ktb_blob *blob)
{
	uint32_t nr = 0;

	for (unsigned int i = 0; i < file->nr_events; i++)
		nr += is_first(file, i);
	ktb_blob_put_u32(blob, nr);
	for (unsigned int i = 0; i < file->nr_events; i++)
		if (is_first(file, i) && !put_system(file, blob, i))
			return false;
	return true;
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
	if (!put_events(file, blob))
		return false;
	ktb_blob_put_u32(blob, 0); /* no kallsyms: readers have their own ways */
	put_printk_formats(blob);
	put_file(blob, "saved_cmdlines");
	return true;
}
