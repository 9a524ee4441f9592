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
/*
 * A ring with so large a part of it unread fills up faster than it is emptied. What
 * is left has to last until all rings' parts are on the disk.
 */
#define BEHIND 8
#define FAR (16 << 20) /* more than metadata have */
#define FLUSH_NS 1000000000 /* what a recorder that is killed may take along */
#define ROUND_NS 10000000 /* longer than a writer takes to publish a record */

struct ktb_perfdata *ktb_perfdata_new(void)
{
	struct ktb_perfdata *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	pthread_mutex_init(&file->lock, NULL);
	file->fd = -1;
	return file;
}

void ktb_perfdata_free(struct ktb_perfdata *file)
{
	if (!file)
		return;
	ktb_sideband_close(file);
	ktb_direct_close(file);
	if (file->fd >= 0)
		ktb_perfdata_remove(file);
	for (unsigned int i = 0; i < file->nr_streams; i++) {
		ktb_zstd_free_writer(file->streams[i]->zstd);
		ktb_blob_free(&file->streams[i]->packed);
		free(file->streams[i]);
	}
	free(file->streams);
	ktb_paths_free(&file->programs);
	pthread_mutex_destroy(&file->lock);
	ktb_formats_forget(file);
	free(file->strays);
	free(file->events);
	free(file->path);
	free(file);
}

const char *ktb_perfdata_error(const struct ktb_perfdata *file)
{
	return file->error;
}

void ktb_perfdata_get_stats(struct ktb_perfdata *file, struct ktb_perfdata_stats *stats)
{
	pthread_mutex_lock(&file->lock);
	*stats = file->stats;
	pthread_mutex_unlock(&file->lock);
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

/* Write records, and keep in mind how far the file goes. */
int ktb_perfdata_put(struct ktb_perfdata *file, const void *data, size_t len, uint64_t offset)
{
	size_t done;
	int err = ktb_perfdata_write_at(file->fd, data, len, offset, &done);

	if (offset + done > file->written)
		file->written = offset + done;
	return err;
}

uint64_t ktb_perfdata_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* ---- records ---- */

static void advance_mark(struct ktb_perfdata *file)
{
	if (file->data_end - file->next_far >= FAR) {
		file->far = file->next_far;
		file->next_far = file->data_end;
	}
	if (file->next_mark + KTB_TABLE_SIZE > file->written)
		return;
	file->mark = file->next_mark;
	file->next_mark = file->data_end;
}

/* No more is written; the file ends with those of its records that have reached it. */
static int fail_records(struct ktb_perfdata *file, int err)
{
	file->err = ktb_perfdata_fail_write(file, err);
	ktb_perfdata_cut(file, KTB_TABLE_SIZE);
	file->stats.bytes = file->data_end - file->data_offset;
	return err;
}

static int append_plain(struct ktb_perfdata *file, const void *data, size_t len)
{
	int err;

	advance_mark(file);
	if (file->direct)
		err = ktb_direct_append(file, data, len);
	else
		err = ktb_perfdata_put(file, data, len, file->data_end);
	if (err)
		return fail_records(file, err);
	file->data_end += len;
	return 0;
}

/* What is not in the file yet, unless the last of it went there less than @age_ns ago. */
static int flush(struct ktb_perfdata *file, uint64_t age_ns)
{
	int err;

	if (file->err || !file->direct)
		return file->err;
	err = ktb_direct_flush(file, age_ns);
	return err ? fail_records(file, err) : 0;
}

/*
 * Of compressed records none can be taken back without expanding them. So with
 * each write goes room for the table, and one that fails has written nothing.
 */
static int append_with_room(struct ktb_perfdata *file, const void *data, size_t len)
{
	const uint8_t zeros[KTB_TABLE_SIZE] = { 0 };
	size_t done;
	int err =
		ktb_perfdata_write_at(file->fd, zeros, sizeof(zeros), file->data_end + len, &done);

	if (!err)
		err = ktb_perfdata_write_at(file->fd, data, len, file->data_end, &done);
	if (err)
		file->err = ktb_perfdata_fail_write(file, err);
	else
		file->data_end += len;
	return err;
}

/*
 * Add whole records. If that fails, the file ends with a whole record, and there
 * is room for the table behind it. The caller has the lock, if there are threads.
 */
int ktb_perfdata_append(struct ktb_perfdata *file, const void *data, size_t len)
{
	int err;

	if (file->err)
		return file->err;
	err = file->level ? append_with_room(file, data, len) : append_plain(file, data, len);
	file->stats.bytes = file->data_end - file->data_offset;
	return err;
}

static struct ktb_stream *new_stream(struct ktb_perfdata *file, unsigned int cpu)
{
	struct ktb_stream *stream = calloc(1, sizeof(*stream)), **all;

	all = ktb_array_more(file->streams, file->nr_streams, sizeof(struct ktb_stream *));
	if (all)
		file->streams = all;
	if (stream && file->level)
		stream->zstd = ktb_zstd_new_writer(file->level);
	if (!all || !stream || (file->level && !stream->zstd)) {
		free(stream);
		return NULL;
	}
	stream->cpu = cpu;
	return all[file->nr_streams++] = stream;
}

/* NULL when out of memory. */
static struct ktb_stream *find_stream(struct ktb_perfdata *file, unsigned int cpu)
{
	struct ktb_stream *stream = NULL;

	pthread_mutex_lock(&file->lock);
	for (unsigned int i = 0; i < file->nr_streams && !stream; i++)
		if (file->streams[i]->cpu == cpu)
			stream = file->streams[i];
	if (!stream)
		stream = new_stream(file, cpu);
	pthread_mutex_unlock(&file->lock);
	return stream;
}

/* Returns what of @len has reached the file, or a negative errno if nothing has. */
static int64_t write_plain(struct ktb_perfdata *file, struct ktb_stream *stream, const void *data,
			   size_t len)
{
	uint64_t start = file->data_end;
	int err = ktb_perfdata_append(file, data, len);

	if (file->data_end <= start)
		return err;
	len = file->data_end - start;
	stream->last = (struct ktb_section){ start, len };
	if (!stream->first.size)
		stream->first = stream->last;
	if (file->count)
		ktb_perfdata_look(file, data, len);
	return (int64_t)len;
}

/* All, or a negative errno. */
static int64_t write_packed(struct ktb_perfdata *file, struct ktb_stream *stream, const void *data,
			    size_t len)
{
	int err = ktb_perfdata_append(file, stream->packed.data, stream->packed.len);

	if (err)
		return err;
	file->plain += len;
	ktb_perfdata_look_for_times(file, data, len);
	if (file->count)
		ktb_perfdata_look(file, data, len);
	return (int64_t)len;
}

int64_t ktb_perfdata_write(struct ktb_perfdata *file, unsigned int cpu, const void *data,
			   size_t len)
{
	struct ktb_stream *stream = len ? find_stream(file, cpu) : NULL;
	int64_t ret;

	if (!len)
		return 0;
	if (!stream)
		return ktb_perfdata_fail(file, -ENOMEM, "out of memory");
	/* What takes long is done without the lock. */
	if (stream->zstd) {
		stream->packed.len = 0;
		if (ktb_zstd_pack(stream->zstd, data, len, &stream->packed))
			return ktb_perfdata_fail(file, -ENOMEM, "zstd cannot compress");
	}
	pthread_mutex_lock(&file->lock);
	if (stream->zstd)
		ret = write_packed(file, stream, data, len);
	else
		ret = write_plain(file, stream, data, len);
	pthread_mutex_unlock(&file->lock);
	return ret;
}

static void pause_direct(struct ktb_perfdata *file)
{
	pthread_mutex_lock(&file->lock);
	if (file->direct)
		ktb_direct_pause(file->direct);
	pthread_mutex_unlock(&file->lock);
}

int64_t ktb_perfdata_write_ring(struct ktb_perfdata *file, struct ktb_ring *ring)
{
	const void *data;
	int64_t len = ktb_ring_unread(ring, &data);

	if (len < 0)
		return ktb_perfdata_fail(file, len, "a ring makes no sense: who wrote to it?");
	if ((uint64_t)len >= ktb_ring_size(ring) / BEHIND)
		pause_direct(file);
	len = ktb_perfdata_write(file, ktb_ring_cpu(ring), data, len);
	if (len > 0)
		ktb_ring_consume(ring, len);
	return len;
}

/*
 * Readers may sort up to the end of the round before: nothing older comes, if
 * rounds are farther apart than the time a writer takes to publish a record.
 */
static int end_round(struct ktb_perfdata *file)
{
	const struct perf_event_header round = { RECORD_FINISHED_ROUND, 0, sizeof(round) };
	uint64_t now;
	int err = ktb_sideband_drain(file);

	if (file->err)
		return file->err;
	if (err || file->data_end == file->round_end)
		return err;
	now = ktb_perfdata_now();
	if (now - file->round_time < ROUND_NS)
		return 0;
	err = ktb_perfdata_append(file, &round, sizeof(round));
	file->round_time = now;
	file->round_end = file->data_end;
	return err;
}

int ktb_perfdata_end_round(struct ktb_perfdata *file)
{
	int err;

	pthread_mutex_lock(&file->lock);
	err = end_round(file);
	if (!err)
		err = flush(file, FLUSH_NS);
	pthread_mutex_unlock(&file->lock);
	return err;
}

int ktb_perfdata_flush(struct ktb_perfdata *file)
{
	int err;

	pthread_mutex_lock(&file->lock);
	err = flush(file, 0);
	pthread_mutex_unlock(&file->lock);
	return err;
}

/* LOST_SAMPLES, with the fields of a sample id that the events have. */
int ktb_perfdata_write_lost(struct ktb_perfdata *file, uint64_t id, uint64_t lost)
{
	const size_t id_len = ktb_sample_id_size(file->sample_type);
	struct {
		struct perf_event_header header;
		uint64_t lost;
		uint64_t id[6];
	} record = { { PERF_RECORD_LOST_SAMPLES, 0, 0 }, lost, { 0 } };
	unsigned int at = !!(file->sample_type & PERF_SAMPLE_TID);
	int err;

	record.header.size = (uint16_t)(sizeof(record.header) + sizeof(record.lost) + id_len);
	if (file->sample_type & PERF_SAMPLE_TIME)
		record.id[at] = ktb_perfdata_now();
	if (file->sample_type & PERF_SAMPLE_IDENTIFIER)
		record.id[id_len / 8 - 1] = id;
	pthread_mutex_lock(&file->lock);
	err = ktb_perfdata_append(file, &record, record.header.size);
	pthread_mutex_unlock(&file->lock);
	return err;
}
