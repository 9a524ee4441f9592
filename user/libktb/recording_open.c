// SPDX-License-Identifier: LGPL-2.1-only
/* The beginning of a perf.data file: header, attributes, ids. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recording.h"

#define MAGIC "PERFILE2"
#define MAGIC_OTHER_ENDIAN "2ELIFREP"
#define PIPE_HEADER_SIZE 16

/* What of a sample is behind all that we decode, and does not get in the way. */
#define SAMPLE_BEHIND                                                                           \
	(PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER |            \
	 PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION |                  \
	 PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_AUX | PERF_SAMPLE_CGROUP | \
	 PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE | PERF_SAMPLE_WEIGHT_STRUCT)

static bool within(const struct ktb_recording *recording, const struct ktb_section *section)
{
	return section->offset <= recording->size &&
	       section->size <= recording->size - section->offset;
}

static struct ktb_section take_section(struct ktb_cursor *cursor)
{
	struct ktb_section section;

	section.offset = ktb_take_u64(cursor);
	section.size = ktb_take_u64(cursor);
	return section;
}

static int parse_header(struct ktb_recording *recording)
{
	struct ktb_cursor cursor = { recording->map, recording->map + recording->size, false };
	const char *magic = ktb_take(&cursor, sizeof(MAGIC) - 1);
	uint64_t size = ktb_take_u64(&cursor);

	if (!magic)
		return ktb_recording_refuse(recording, -EIO, "is too short for a perf.data");
	if (!memcmp(magic, MAGIC_OTHER_ENDIAN, sizeof(MAGIC) - 1))
		return ktb_recording_refuse(recording, -EOPNOTSUPP,
					    "is of a machine with the other byte order");
	if (memcmp(magic, MAGIC, sizeof(MAGIC) - 1))
		return ktb_recording_refuse(recording, -EINVAL, "is not a perf.data file");
	if (size == PIPE_HEADER_SIZE)
		return ktb_recording_refuse(recording, -EOPNOTSUPP,
					    "is of a pipe: 'perf inject -i' makes a file of it");
	recording->attr_size = ktb_take_u64(&cursor);
	recording->attrs = take_section(&cursor);
	recording->data = take_section(&cursor);
	take_section(&cursor);
	recording->features = ktb_take_u64(&cursor);
	return cursor.bad ? ktb_recording_refuse(recording, -EIO, "is cut off") : 0;
}

static int check_header(struct ktb_recording *recording)
{
	if (!recording->data.size && !recording->features)
		return ktb_recording_refuse(recording, -EIO,
					    "was not finished: its recorder was killed, or runs");
	if (!within(recording, &recording->data) || !within(recording, &recording->attrs))
		return ktb_recording_refuse(recording, -EIO,
					    "is cut off: it is shorter than its records");
	if (recording->attr_size < PERF_ATTR_SIZE_VER0 + sizeof(struct ktb_section) ||
	    !recording->attrs.size || recording->attrs.size % recording->attr_size)
		return ktb_recording_refuse(recording, -EIO, "is damaged: its attributes are");
	return 0;
}

static int refuse_directory(struct ktb_recording *recording, int fd)
{
	close(fd);
	return ktb_recording_refuse(recording, -EISDIR,
				    "is a directory, as 'perf record --threads' makes");
}

/* Returns 0, or a negative errno with the text set. */
int ktb_recording_map(struct ktb_recording *recording)
{
	const char *path = recording->path;
	struct stat st;
	void *map = MAP_FAILED;
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = fd < 0 || fstat(fd, &st) ? -errno : 0;

	if (!err && S_ISDIR(st.st_mode))
		return refuse_directory(recording, fd);
	if (!err && (uint64_t)st.st_size > SIZE_MAX)
		err = -EFBIG;
	if (!err && st.st_size) {
		map = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		err = map == MAP_FAILED ? -errno : 0;
	}
	if (fd >= 0)
		close(fd);
	if (err)
		return ktb_recording_fail(recording, err, "cannot read '%s': %s", path,
					  strerror(-err));
	if (map != MAP_FAILED) {
		recording->map = map;
		recording->size = st.st_size;
	}
	err = parse_header(recording);
	return err ? err : check_header(recording);
}

/* ---- attributes ---- */

static int add_ids(struct ktb_recording *recording, const struct ktb_section *section,
		   unsigned int event)
{
	const uint8_t *at = recording->map + section->offset;
	struct ktb_event_id *all;

	if (!within(recording, section))
		return ktb_recording_refuse(recording, -EIO, "is damaged: an event's ids are");
	for (uint64_t i = 0; i < section->size / sizeof(uint64_t); i++) {
		all = ktb_array_more(recording->ids, recording->nr_ids, sizeof(*all));
		if (!all)
			return ktb_recording_fail(recording, -ENOMEM, "out of memory");
		recording->ids = all;
		all += recording->nr_ids++;
		memcpy(&all->id, at + i * sizeof(uint64_t), sizeof(all->id));
		all->event = event;
	}
	return 0;
}

static int add_attr(struct ktb_recording *recording, const uint8_t *at)
{
	const size_t size = recording->attr_size - sizeof(struct ktb_section);
	struct perf_event_attr attr = { 0 };
	struct ktb_source_event *event;
	struct ktb_section ids;

	event = ktb_array_more(recording->events, recording->nr_events, sizeof(*event));
	if (!event)
		return ktb_recording_fail(recording, -ENOMEM, "out of memory");
	recording->events = event;
	event += recording->nr_events++;
	memcpy(&attr, at, size < sizeof(attr) ? size : sizeof(attr));
	memcpy(&ids, at + size, sizeof(ids));
	event->shown.type = attr.type;
	event->shown.config = attr.config;
	event->shown.sample_type = attr.sample_type;
	event->sample_type = attr.sample_type & ~(uint64_t)SAMPLE_BEHIND;
	event->sample_id_all = attr.sample_id_all;
	event->sideband = attr.type == PERF_TYPE_SOFTWARE && attr.config == PERF_COUNT_SW_DUMMY &&
			  (attr.task || attr.comm || attr.mmap || attr.mmap2);
	return add_ids(recording, &ids, recording->nr_events - 1);
}

static int compare_ids(const void *a, const void *b)
{
	const struct ktb_event_id *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* Where an id is, in a sample and in all else; the same for all events of a file. */
static void place_ids(struct ktb_recording *recording)
{
	const uint64_t type = recording->events[0].sample_type;
	const uint64_t before = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
				PERF_SAMPLE_ADDR;
	const uint64_t after = PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU;

	if (type & PERF_SAMPLE_IDENTIFIER) {
		recording->id_in_sample = sizeof(struct perf_event_header);
		recording->id_from_end = 8;
	} else if (type & PERF_SAMPLE_ID) {
		recording->id_in_sample = sizeof(struct perf_event_header) +
					  8 * (unsigned int)__builtin_popcountll(type & before);
		recording->id_from_end = 8 * (unsigned int)__builtin_popcountll(type & after);
	}
}

/* Take in all attributes. Returns 0, or a negative errno with the text set. */
int ktb_recording_attrs(struct ktb_recording *recording)
{
	const uint8_t *at = recording->map + recording->attrs.offset;
	uint64_t nr = recording->attrs.size / recording->attr_size;
	int err = 0;

	for (uint64_t i = 0; i < nr && !err; i++)
		err = add_attr(recording, at + i * recording->attr_size);
	if (err)
		return err;
	if (recording->nr_ids)
		qsort(recording->ids, recording->nr_ids, sizeof(*recording->ids), compare_ids);
	if (recording->features & 1ULL << KTB_FEATURE_DIRECTORY)
		return ktb_recording_refuse(recording, -EOPNOTSUPP,
					    "is a part of what 'perf record --threads' wrote");
	place_ids(recording);
	ktb_time_place(recording->events[0].sample_type, &recording->time_place);
	return 0;
}
