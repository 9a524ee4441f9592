// SPDX-License-Identifier: LGPL-2.1-only
/* Writing records into a perf.data file. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "perfdata.h"

#define RECORD_FINISHED_ROUND 68
#define ROUND_NS 10000000 /* longer than a writer takes to publish a record */

struct ktb_perfdata *ktb_perfdata_new(void)
{
	struct ktb_perfdata *file = calloc(1, sizeof(*file));

	if (file)
		file->fd = -1;
	return file;
}

void ktb_perfdata_free(struct ktb_perfdata *file)
{
	if (!file)
		return;
	ktb_sideband_close(file);
	if (file->fd >= 0)
		ktb_perfdata_remove(file);
	free(file->streams);
	free(file->strays);
	free(file->events);
	free(file->path);
	free(file);
}

const char *ktb_perfdata_error(const struct ktb_perfdata *file)
{
	return file->error;
}

void ktb_perfdata_get_stats(const struct ktb_perfdata *file, struct ktb_perfdata_stats *stats)
{
	*stats = file->stats;
}

/* Keep the text of a failure. Returns @err. */
int ktb_perfdata_fail(struct ktb_perfdata *file, int err, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(file->error, sizeof(file->error), format, ap);
	va_end(ap);
	return err;
}

int ktb_perfdata_fail_write(struct ktb_perfdata *file, int err)
{
	return ktb_perfdata_fail(file, err, "cannot write '%s': %s", file->path, strerror(-err));
}

/* Returns 0 or a negative errno; *@done is what was written in any case. */
int ktb_perfdata_write_at(int fd, const void *data, size_t len, uint64_t offset, size_t *done)
{
	ssize_t n;

	for (*done = 0; *done < len; *done += n) {
		n = pwrite(fd, (const char *)data + *done, len - *done, (off_t)(offset + *done));
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n <= 0)
			return n ? -errno : -EIO;
	}
	return 0;
}

/* ---- records ---- */

static void advance_mark(struct ktb_perfdata *file)
{
	if (file->next_mark + KTB_TABLE_SIZE > file->data_end)
		return;
	file->mark = file->next_mark;
	file->next_mark = file->data_end;
}

/*
 * Add whole records. If that fails, the file ends with a whole record, and there
 * is room for the table behind it.
 */
int ktb_perfdata_append(struct ktb_perfdata *file, const void *data, size_t len)
{
	size_t done;
	int err;

	if (file->err)
		return file->err;
	advance_mark(file);
	err = ktb_perfdata_write_at(file->fd, data, len, file->data_end, &done);
	if (file->data_end + done > file->written)
		file->written = file->data_end + done;
	if (!err) {
		file->data_end += len;
		file->stats.bytes = file->data_end - file->data_offset;
		return 0;
	}
	file->err = ktb_perfdata_fail_write(file, err);
	ktb_perfdata_cut(file);
	file->stats.bytes = file->data_end - file->data_offset;
	return file->err;
}

static struct ktb_stream *find_stream(struct ktb_perfdata *file, unsigned int cpu)
{
	struct ktb_stream *all = file->streams;

	for (unsigned int i = 0; i < file->nr_streams; i++)
		if (all[i].cpu == cpu)
			return &all[i];
	all = ktb_array_more(all, file->nr_streams, sizeof(*all));
	if (!all)
		return NULL;
	file->streams = all;
	all += file->nr_streams++;
	all->cpu = cpu;
	return all;
}

/* Returns what of @len has reached the file, or a negative errno if nothing has. */
int64_t ktb_perfdata_write(struct ktb_perfdata *file, unsigned int cpu, const void *data,
			   size_t len)
{
	struct ktb_stream *stream = find_stream(file, cpu);
	uint64_t start = file->data_end;
	int err;

	if (!len)
		return 0;
	err = ktb_perfdata_append(file, data, len);
	if (file->data_end <= start)
		return err;
	len = file->data_end - start;
	if (stream) {
		stream->last = (struct ktb_section){ start, len };
		if (!stream->first.size)
			stream->first = stream->last;
	}
	if (file->count)
		ktb_perfdata_look(file, data, len);
	return (int64_t)len;
}

int64_t ktb_perfdata_write_ring(struct ktb_perfdata *file, struct ktb_ring *ring)
{
	const void *data;
	int64_t len = ktb_ring_unread(ring, &data);

	if (len < 0)
		return ktb_perfdata_fail(file, len, "a ring makes no sense: who wrote to it?");
	len = ktb_perfdata_write(file, ktb_ring_cpu(ring), data, len);
	if (len > 0)
		ktb_ring_consume(ring, len);
	return len;
}

/*
 * Readers may sort up to the end of the round before: nothing older comes, if
 * rounds are farther apart than the time a writer takes to publish a record.
 */
int ktb_perfdata_end_round(struct ktb_perfdata *file)
{
	const struct perf_event_header round = { RECORD_FINISHED_ROUND, 0, sizeof(round) };
	struct timespec ts;
	uint64_t now;
	int err = ktb_sideband_drain(file);

	if (file->err)
		return file->err;
	if (err || file->data_end == file->round_end)
		return err;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
	if (now - file->round_time < ROUND_NS)
		return 0;
	err = ktb_perfdata_append(file, &round, sizeof(round));
	file->round_time = now;
	file->round_end = file->data_end;
	return err;
}
