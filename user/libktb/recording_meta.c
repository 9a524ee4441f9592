// SPDX-License-Identifier: LGPL-2.1-only
/* The features of a perf.data file that matter to who reads its records. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event-parse.h>

#include "recording.h"

#define TRACING_MAGIC "\x17\x08\x44tracing"
#define BUILD_ID_SIZE_KNOWN 0x8000

#define NR_FEATURES 64

/* ---- formats ---- */

/* Text behind its size, 8 bytes long, or 4. */
static const char *take_sized(struct ktb_cursor *cursor, bool wide, uint64_t *len)
{
	*len = wide ? ktb_take_u64(cursor) : ktb_take_u32(cursor);
	return ktb_take(cursor, *len);
}

static void take_formats(struct ktb_cursor *cursor, struct tep_handle *tep, const char *system)
{
	uint32_t nr = ktb_take_u32(cursor);
	const char *text;
	uint64_t len;

	while (nr-- && !cursor->bad) {
		text = take_sized(cursor, true, &len);
		/* A print format that cannot be parsed leaves the fields usable. */
		if (text && system)
			tep_parse_event(tep, text, len, system);
	}
}

static void take_systems(struct ktb_cursor *cursor, struct tep_handle *tep)
{
	uint32_t nr = ktb_take_u32(cursor);
	const char *system;

	while (nr-- && !cursor->bad) {
		system = ktb_take_text(cursor);
		take_formats(cursor, tep, system);
	}
}

static void take_printk_formats(struct ktb_cursor *cursor, struct tep_handle *tep)
{
	uint64_t len;
	const char *text = take_sized(cursor, false, &len);
	char *copy = text ? strndup(text, len) : NULL;

	if (copy && len)
		tep_parse_printk_formats(tep, copy);
	free(copy);
}

static bool take_tracing_data(struct ktb_recording *recording, struct ktb_cursor *cursor)
{
	struct tep_handle *tep = recording->formats->tep;
	const char *magic = ktb_take(cursor, sizeof(TRACING_MAGIC) - 1);
	const uint8_t *sizes;
	uint64_t len;

	if (!magic || memcmp(magic, TRACING_MAGIC, sizeof(TRACING_MAGIC) - 1))
		return false;
	ktb_take_text(cursor); /* version */
	sizes = ktb_take(cursor, 2); /* byte order, size of a long */
	if (!sizes)
		return false;
	tep_set_long_size(tep, sizes[1]);
	tep_set_page_size(tep, (int)ktb_take_u32(cursor));
	ktb_take_text(cursor); /* "header_page" */
	take_sized(cursor, true, &len);
	ktb_take_text(cursor); /* "header_event" */
	take_sized(cursor, true, &len);
	take_formats(cursor, tep, "ftrace");
	take_systems(cursor, tep);
	take_sized(cursor, false, &len); /* kallsyms */
	take_printk_formats(cursor, tep);
	return !cursor->bad && ktb_formats_are_sane(recording->formats);
}

/* ---- build ids ---- */

static void take_build_ids(struct ktb_recording *recording, struct ktb_cursor *cursor)
{
	struct perf_event_header header;
	struct ktb_cursor record;
	const uint8_t *id;
	const void *at;
	const char *path;
	size_t len;

	while (ktb_left(cursor) > sizeof(header)) {
		memcpy(&header, cursor->at, sizeof(header));
		at = ktb_take(cursor, header.size);
		if (!at || header.size < sizeof(header))
			return;
		record = (struct ktb_cursor){ (const uint8_t *)at + sizeof(header), cursor->at,
					      false };
		ktb_take_u32(&record); /* pid */
		id = ktb_take(&record, 24);
		path = ktb_take_text(&record);
		len = id && header.misc & BUILD_ID_SIZE_KNOWN ? id[20] : 20;
		if (path && len <= 20)
			ktb_symbols_build_id(recording->symbols, path, id, len);
	}
}

/* ---- names of events ---- */

static void set_name(struct ktb_source_event *event, const char *name)
{
	char *copy = strdup(name);

	if (!copy)
		return;
	free(event->name);
	event->name = copy;
}

/* Attributes in the order of those we have, each with a name and ids. */
static void take_event_desc(struct ktb_recording *recording, struct ktb_cursor *cursor)
{
	uint32_t nr = ktb_take_u32(cursor), attr_size = ktb_take_u32(cursor), nr_ids;
	const char *name;

	for (uint32_t i = 0; i < nr && i < recording->nr_events; i++) {
		ktb_take(cursor, attr_size);
		nr_ids = ktb_take_u32(cursor);
		name = ktb_take_string(cursor);
		ktb_take(cursor, (uint64_t)nr_ids * sizeof(uint64_t));
		if (!name)
			return;
		set_name(&recording->events[i], name);
	}
}

static void name_event(struct ktb_recording *recording, struct ktb_source_event *event)
{
	struct tep_event *format = NULL;
	char name[160];

	if (event->shown.type == PERF_TYPE_TRACEPOINT)
		format = tep_find_event(recording->formats->tep, (int)event->shown.config);
	if (format)
		snprintf(name, sizeof(name), "%s:%s", format->system, format->name);
	else
		snprintf(name, sizeof(name), "event %" PRIu32 ":%" PRIu64, event->shown.type,
			 event->shown.config);
	set_name(event, name);
}

static int name_events(struct ktb_recording *recording)
{
	for (unsigned int i = 0; i < recording->nr_events; i++) {
		struct ktb_source_event *event = &recording->events[i];

		if (!event->name)
			name_event(recording, event);
		if (!event->name)
			return ktb_recording_fail(recording, -ENOMEM, "out of memory");
		event->shown.name = event->name;
	}
	return 0;
}

/* ---- all of them ---- */

static bool take_feature(struct ktb_recording *recording, unsigned int number,
			 struct ktb_cursor *cursor)
{
	switch (number) {
	case KTB_FEATURE_TRACING_DATA:
		return take_tracing_data(recording, cursor);
	case KTB_FEATURE_BUILD_ID:
		take_build_ids(recording, cursor);
		break;
	case KTB_FEATURE_EVENT_DESC:
		take_event_desc(recording, cursor);
		break;
	case KTB_FEATURE_COMPRESSED:
		recording->compressed = true;
		break;
	}
	return true;
}

/* Returns 0, or a negative errno with the text set. */
int ktb_recording_features(struct ktb_recording *recording)
{
	const uint8_t *table = recording->map + recording->data.offset + recording->data.size;
	struct ktb_cursor cursor = { table, recording->map + recording->size, false }, contents;
	uint64_t offset, size;

	for (unsigned int i = 0; i < NR_FEATURES; i++) {
		if (!(recording->features & 1ULL << i))
			continue;
		offset = ktb_take_u64(&cursor);
		size = ktb_take_u64(&cursor);
		if (cursor.bad || offset > recording->size || size > recording->size - offset)
			return ktb_recording_refuse(recording, -EIO,
						    "is cut off: its description is missing");
		contents.at = recording->map + offset;
		contents.end = contents.at + size;
		contents.bad = false;
		if (!take_feature(recording, i, &contents))
			return ktb_recording_refuse(recording, -EIO,
						    "is damaged: the formats of its events are");
	}
	return name_events(recording);
}
