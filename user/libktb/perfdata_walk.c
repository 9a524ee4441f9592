// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Looking at records that are in the file already. Where a block of them ends
 * is known without, and so is all else until a disk is full: then, and for the
 * times of the first and the last sample, some of the file is read back.
 */
#include <stdlib.h>
#include <string.h>

#include "perfdata.h"

#define WINDOW (256 << 10) /* more than a record's largest size */

/* A part of the file; @each returns false to end it. */
struct walk {
	struct ktb_perfdata *file;
	uint64_t pos;
	uint64_t end;
	bool (*each)(struct walk *walk, const struct perf_event_header *record);

	uint64_t limit; /* cut: the data have to end at or before this */
	uint64_t samples;
};

static bool is_sound(const struct perf_event_header *record, uint64_t left)
{
	return record->size >= sizeof(*record) && !(record->size % 8) && record->size <= left;
}

/* Hand out the whole records of a window. Returns false at the end of it all. */
static bool walk_window(struct walk *walk, const uint8_t *window, size_t len)
{
	const struct perf_event_header *record;
	size_t at = 0;

	while (len - at >= sizeof(*record)) {
		record = (const void *)(window + at);
		if (!is_sound(record, len - at))
			break;
		if (!walk->each(walk, record))
			return false;
		at += record->size;
		walk->pos += record->size;
	}
	return at;
}

static void walk(struct walk *walk)
{
	uint8_t *window = malloc(WINDOW);
	ssize_t len = WINDOW;

	while (window && walk->pos < walk->end) {
		len = WINDOW;
		if (walk->end - walk->pos < WINDOW)
			len = (ssize_t)(walk->end - walk->pos);
		len = ktb_direct_read(walk->file, window, len, walk->pos);
		if (len <= 0 || !walk_window(walk, window, len))
			break;
	}
	free(window);
}

/* The sample id: first in a sample, last in all else, if records have it at all. */
static uint64_t id_of(const struct perf_event_header *record)
{
	const uint8_t *at = (const uint8_t *)record;
	uint64_t id = 0;

	if (record->size < sizeof(*record) + sizeof(id))
		return 0;
	at += record->type == PERF_RECORD_SAMPLE ? sizeof(*record) : record->size - sizeof(id);
	memcpy(&id, at, sizeof(id));
	return id;
}

static bool is_event(const struct ktb_perfdata *file, uint64_t id)
{
	for (unsigned int i = 0; i < file->nr_events; i++)
		if (file->events[i].id == id)
			return true;
	return false;
}

static bool is_stray(const struct ktb_perfdata *file, uint64_t id)
{
	for (unsigned int i = 0; i < file->nr_strays; i++)
		if (file->strays[i] == id)
			return true;
	return false;
}

/* Of ids that were strays, some are an event's now. */
void ktb_perfdata_forget_known(struct ktb_perfdata *file)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < file->nr_strays; i++)
		if (!is_event(file, file->strays[i]))
			file->strays[kept++] = file->strays[i];
	file->nr_strays = kept;
}

/* An event nobody told us of: detached before, its records still in the ring. */
static void learn_id(struct ktb_perfdata *file, uint64_t id)
{
	uint64_t *all;

	if (is_event(file, id) || is_stray(file, id))
		return;
	all = ktb_array_more(file->strays, file->nr_strays, sizeof(*all));
	if (!all)
		return;
	file->strays = all;
	all[file->nr_strays++] = id;
	file->stale = true;
}

/* Count the samples among records that are written, and see what they are of. */
void ktb_perfdata_look(struct ktb_perfdata *file, const void *data, size_t len)
{
	const struct perf_event_header *record;
	uint64_t id, last = 0;
	size_t at = 0;

	while (len - at >= sizeof(*record)) {
		record = (const void *)((const uint8_t *)data + at);
		if (!is_sound(record, len - at))
			break;
		file->stats.samples += record->type == PERF_RECORD_SAMPLE;
		id = id_of(record);
		if (id != last)
			learn_id(file, id);
		last = id;
		at += record->size;
	}
}

static bool before_limit(struct walk *walk, const struct perf_event_header *record)
{
	return walk->pos + record->size <= walk->limit;
}

static bool count_sample(struct walk *walk, const struct perf_event_header *record)
{
	walk->samples += record->type == PERF_RECORD_SAMPLE;
	return true;
}

/* End the data where @room bytes still have it; count the samples given up. */
void ktb_perfdata_cut(struct ktb_perfdata *file, uint64_t room)
{
	struct walk keep = { file, file->mark, file->written, before_limit, .limit = 0 };
	struct walk drop = { file, 0, file->data_end, count_sample, .limit = 0 };

	keep.limit = file->data_offset;
	if (file->written > file->data_offset + room)
		keep.limit = file->written - room;
	/* Only of the table it is known that it is behind the mark. */
	if (keep.pos > keep.limit)
		keep.pos = file->far <= keep.limit ? file->far : file->data_offset;
	walk(&keep);
	drop.pos = keep.pos;
	walk(&drop);
	file->data_end = keep.pos;
	file->stats.dropped += drop.samples;
	if (file->count)
		file->stats.samples -= drop.samples;
}

static void take_time(struct ktb_perfdata *file, const struct perf_event_header *record)
{
	uint64_t time = ktb_record_time(&file->time_place, record);

	if (record->type != PERF_RECORD_SAMPLE || !time)
		return;
	if (!file->first_time || time < file->first_time)
		file->first_time = time;
	if (time > file->last_time)
		file->last_time = time;
}

/* The same of records that are not in the file as they are: all of them. */
void ktb_perfdata_look_for_times(struct ktb_perfdata *file, const void *data, size_t len)
{
	const struct perf_event_header *record;

	for (size_t at = 0; len - at >= sizeof(*record); at += record->size) {
		record = (const void *)((const uint8_t *)data + at);
		if (!is_sound(record, len - at))
			break;
		take_time(file, record);
	}
}

static bool see_time(struct walk *walk, const struct perf_event_header *record)
{
	take_time(walk->file, record);
	return true;
}

static void see_section(struct ktb_perfdata *file, const struct ktb_section *section)
{
	struct walk see = { file, section->offset, section->offset + section->size, see_time,
			    .limit = 0 };

	/* The end may have been cut off since. */
	if (see.end > file->data_end)
		see.end = file->data_end;
	walk(&see);
}

/* Each CPU's records are nearly in order: its first and its last block will do. */
void ktb_perfdata_find_times(struct ktb_perfdata *file)
{
	for (unsigned int i = 0; i < file->nr_streams; i++) {
		see_section(file, &file->streams[i]->first);
		see_section(file, &file->streams[i]->last);
	}
}
