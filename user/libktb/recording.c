// SPDX-License-Identifier: LGPL-2.1-only
/* A perf.data file read: records one by one, and what is known at their time. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "recording.h"

#define KSYMBOL_UNREGISTER 1
#define LOST_TO_PROGRAM (1 << 15) /* misc: what a BPF program filtered out */
#define MMAP2_BUILD_ID (1 << 14) /* misc: an id in place of the inode */

struct ktb_recording *ktb_recording_new(void)
{
	return calloc(1, sizeof(struct ktb_recording));
}

/* What an open handle has, but for the text of an error. */
static void release(struct ktb_recording *recording)
{
	ktb_order_exit(&recording->order);
	ktb_tasks_free(recording->tasks);
	ktb_formats_free(recording->formats);
	ktb_symbols_free(recording->symbols);
	for (unsigned int i = 0; i < recording->nr_events; i++)
		free(recording->events[i].name);
	free(recording->events);
	free(recording->ids);
	if (recording->map)
		munmap((void *)recording->map, recording->size);
	free(recording->path);
}

void ktb_recording_free(struct ktb_recording *recording)
{
	if (!recording)
		return;
	release(recording);
	free(recording);
}

const char *ktb_recording_error(const struct ktb_recording *recording)
{
	return recording->error;
}

/* Keep the text of a failure. Returns @err. */
int ktb_recording_fail(struct ktb_recording *recording, int err, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(recording->error, sizeof(recording->error), format, ap);
	va_end(ap);
	return err;
}

/* The same of the file: "'path' @text". */
int ktb_recording_refuse(struct ktb_recording *recording, int err, const char *text)
{
	return ktb_recording_fail(recording, err, "'%s' %s", recording->path, text);
}

static int open_path(struct ktb_recording *recording, const char *path,
		     const struct ktb_recording_options *options)
{
	const struct ktb_recording_options none = { 0 };
	int err;

	options = options ? options : &none;
	recording->path = strdup(path);
	recording->tasks = ktb_tasks_new();
	recording->symbols = ktb_symbols_new(options->kallsyms, options->symfs);
	if (!recording->path || !recording->tasks || !recording->symbols)
		return ktb_recording_fail(recording, -ENOMEM, "out of memory");
	recording->formats = ktb_formats_new_empty(ktb_symbols_function, recording->symbols);
	if (!recording->formats)
		return ktb_recording_fail(recording, -ENOMEM, "out of memory");
	err = ktb_recording_map(recording);
	if (!err)
		err = ktb_recording_attrs(recording);
	if (!err)
		err = ktb_recording_features(recording);
	recording->order.pos = recording->data.offset;
	recording->order.end = recording->data.offset + recording->data.size;
	return err;
}

int ktb_recording_open(struct ktb_recording *recording, const char *path,
		       const struct ktb_recording_options *options)
{
	char error[KTB_ERROR_LEN];
	int err;

	if (recording->path)
		return ktb_recording_fail(recording, -EALREADY, "the recording is open");
	err = open_path(recording, path, options);
	if (!err)
		return 0;
	/* As new, to be opened again. */
	memcpy(error, recording->error, sizeof(error));
	release(recording);
	memset(recording, 0, sizeof(*recording));
	memcpy(recording->error, error, sizeof(error));
	return err;
}

unsigned int ktb_recording_nr_events(const struct ktb_recording *recording)
{
	return recording->nr_events;
}

const struct ktb_recording_event *ktb_recording_event(const struct ktb_recording *recording,
						      unsigned int index)
{
	return index < recording->nr_events ? &recording->events[index].shown : NULL;
}

struct ktb_formats *ktb_recording_formats(struct ktb_recording *recording)
{
	return recording->formats;
}

void ktb_recording_get_stats(const struct ktb_recording *recording,
			     struct ktb_recording_stats *stats)
{
	*stats = recording->stats;
}

/* ---- which event ---- */

static bool find_id(struct ktb_recording *recording, uint64_t id)
{
	unsigned int low = 0, high = recording->nr_ids, mid;

	if (recording->last_id < high && recording->ids[recording->last_id].id == id)
		return true;
	while (low < high) {
		mid = low + (high - low) / 2;
		if (recording->ids[mid].id < id)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == recording->nr_ids || recording->ids[low].id != id)
		return false;
	recording->last_id = low;
	return true;
}

/*
 * The event a record is of. Records that were made up for what was there before
 * have no id; all events have their fields in the same places. NULL if a sample is
 * of none.
 */
struct ktb_source_event *ktb_recording_source(struct ktb_recording *recording,
					      const struct perf_event_header *record)
{
	const bool sample = record->type == PERF_RECORD_SAMPLE;
	unsigned int at = sample ? recording->id_in_sample : record->size - recording->id_from_end;
	uint64_t id;

	if (recording->nr_events == 1)
		return recording->events;
	if (recording->id_in_sample && at + sizeof(id) <= record->size) {
		memcpy(&id, (const uint8_t *)record + at, sizeof(id));
		if (find_id(recording, id))
			return &recording->events[recording->ids[recording->last_id].event];
	}
	return sample && recording->id_in_sample ? NULL : recording->events;
}

/* ---- side-band ---- */

/* pid and tid, then the name, then the sample id. */
static void take_comm(struct ktb_recording *recording, struct ktb_cursor *cursor)
{
	const char *name;
	uint32_t tid;

	ktb_take_u32(cursor);
	tid = ktb_take_u32(cursor);
	name = ktb_take_text(cursor);
	if (name)
		ktb_tasks_comm(recording->tasks, tid, name, strlen(name));
}

static void take_fork(struct ktb_recording *recording, struct ktb_cursor *cursor,
		      const struct perf_event_header *record)
{
	/* Else it was made up for one that ran already, and whose mappings follow. */
	const bool inherits = !(record->misc & PERF_RECORD_MISC_FORK_EXEC);
	uint32_t ids[4]; /* pid, the parent's, tid, the parent's */

	for (unsigned int i = 0; i < 4; i++)
		ids[i] = ktb_take_u32(cursor);
	if (!cursor->bad)
		ktb_tasks_fork(recording->tasks, ids, inherits);
}

static void take_kernel_map(struct ktb_recording *recording, const struct ktb_map *map,
			    const char *path)
{
	if (!strncmp(path, "[kernel.kallsyms]", 17) || !strncmp(path, "[guest.kernel", 13))
		ktb_symbols_kernel_start(recording->symbols, map->offset);
}

static void take_mmap(struct ktb_recording *recording, struct ktb_cursor *cursor,
		      const struct perf_event_header *record)
{
	const uint8_t *id = NULL;
	uint64_t inode = 0;
	struct ktb_map map;
	const char *path;
	uint32_t pid;

	pid = ktb_take_u32(cursor);
	ktb_take_u32(cursor); /* tid */
	map.start = ktb_take_u64(cursor);
	map.end = map.start + ktb_take_u64(cursor);
	map.offset = ktb_take_u64(cursor);
	if (record->type == PERF_RECORD_MMAP2) {
		id = ktb_take(cursor, 24);
		ktb_take_u64(cursor); /* protection and flags */
	}
	path = ktb_take_text(cursor);
	if (!path || map.end <= map.start)
		return;
	if ((record->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL) {
		take_kernel_map(recording, &map, path);
		return;
	}
	if (id && record->misc & MMAP2_BUILD_ID && id[0] <= 20)
		ktb_symbols_build_id(recording->symbols, path, id + 4, id[0]);
	/* Behind the device's two numbers. */
	if (id && !(record->misc & MMAP2_BUILD_ID))
		memcpy(&inode, id + 8, sizeof(inode));
	map.dso = ktb_symbols_mapped(recording->symbols, path, inode);
	if (map.dso)
		ktb_tasks_map(recording->tasks, pid, &map);
}

static void take_ksymbol(struct ktb_recording *recording, struct ktb_cursor *cursor)
{
	uint64_t addr = ktb_take_u64(cursor);
	uint32_t len = ktb_take_u32(cursor);
	uint32_t what = ktb_take_u32(cursor); /* kind, then flags in the upper half */
	const char *name = ktb_take_text(cursor);

	if (name)
		ktb_symbols_kernel_area(recording->symbols, addr, len, name,
					what >> 16 & KSYMBOL_UNREGISTER);
}

static void take_sideband(struct ktb_recording *recording, const struct perf_event_header *record)
{
	struct ktb_cursor cursor = { (const uint8_t *)(record + 1),
				     (const uint8_t *)record + record->size, false };

	switch (record->type) {
	case PERF_RECORD_COMM:
		take_comm(recording, &cursor);
		break;
	case PERF_RECORD_FORK:
		take_fork(recording, &cursor, record);
		break;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		take_mmap(recording, &cursor, record);
		break;
	case PERF_RECORD_KSYMBOL:
		take_ksymbol(recording, &cursor);
		break;
	}
}

/* ---- records ---- */

static int decode(struct ktb_recording *recording, const struct perf_event_header *header,
		  struct ktb_record *record)
{
	const struct ktb_source_event *event = ktb_recording_source(recording, header);
	uint64_t type = event ? event->sample_type : 0;
	int err;

	record->header = header;
	record->event = event ? &event->shown : NULL;
	if (header->type != PERF_RECORD_SAMPLE && event && !event->sample_id_all)
		type = 0;
	err = ktb_sample_parse(type, header, &record->sample);
	if (err == -EOPNOTSUPP)
		return ktb_recording_fail(recording, err,
					  "samples of '%s' have counters in them: not supported",
					  event->name);
	/* Made-up records may be without the ids that others end with. */
	if (err && header->type != PERF_RECORD_SAMPLE)
		err = ktb_sample_parse(0, header, &record->sample);
	if (err)
		return ktb_recording_refuse(recording, err,
					    "is damaged: a sample is shorter than its contents");
	return 0;
}

/* Sums, where there are some, have in them what the stream told. */
static void take_lost(struct ktb_recording *recording, const struct ktb_record *record)
{
	const bool sum = record->header->type == PERF_RECORD_LOST_SAMPLES;
	const struct ktb_source_event *event = ktb_recording_source(recording, record->header);
	uint64_t lost = record->sample.lost;

	if (sum && record->header->misc & LOST_TO_PROGRAM)
		return;
	if (event && event->sideband) {
		recording->stats.lost_sideband += sum ? 0 : lost;
		return;
	}
	if (sum && record->header->size >= sizeof(*record->header) + sizeof(lost))
		memcpy(&lost, record->header + 1, sizeof(lost));
	if (sum && !recording->lost_summed) {
		recording->lost_summed = true;
		recording->stats.lost = 0;
	}
	if (sum || !recording->lost_summed)
		recording->stats.lost += lost;
}

int ktb_recording_next(struct ktb_recording *recording, struct ktb_record *record)
{
	const struct perf_event_header *header;
	int ret = ktb_order_next(recording, &header), err;

	if (ret != 1)
		return ret;
	err = decode(recording, header, record);
	if (err)
		return err;
	if (header->type == PERF_RECORD_SAMPLE)
		recording->stats.samples++;
	else if (header->type == PERF_RECORD_LOST || header->type == PERF_RECORD_LOST_SAMPLES)
		take_lost(recording, record);
	else
		take_sideband(recording, header);
	return 1;
}

const char *ktb_recording_comm(struct ktb_recording *recording, uint32_t tid)
{
	return ktb_tasks_name(recording->tasks, tid);
}

/* ---- frames ---- */

static bool is_kernel(const struct ktb_record *record)
{
	return (record->header->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
}

unsigned int ktb_recording_frames(struct ktb_recording *recording, const struct ktb_record *record,
				  struct ktb_frame *frames, unsigned int max)
{
	const struct ktb_map *map;
	struct ktb_walk walk;
	unsigned int nr = 0;

	ktb_walk_begin(&walk, &record->sample, is_kernel(record));
	while (nr < max && ktb_walk_next(&walk, &frames[nr])) {
		map = ktb_tasks_find(recording->tasks, record->sample.pid, frames[nr].addr);
		ktb_symbols_resolve(recording->symbols, map, &frames[nr++]);
	}
	return nr;
}

const char *ktb_recording_problem(const struct ktb_recording *recording)
{
	return ktb_symbols_problem(recording->symbols);
}
