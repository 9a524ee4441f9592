// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Records in the order of time. In the file they are in the order in which rings
 * were emptied, which is another one whenever a thread changes its CPU. Now and
 * then the file has an end of a round: what is older than all that was seen until
 * the end of the round before cannot come any more. So that much is sorted and
 * handed out; of a file without rounds, all of it at its end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "recording.h"

#define RECORD_FINISHED_ROUND 68
#define RECORD_AUXTRACE 71
#define RECORD_COMPRESSED 81
#define RECORD_COMPRESSED2 83
#define RECORD_USER_TYPE_START 64

/* ---- chunks ---- */

static void unuse(struct ktb_chunk *chunk)
{
	if (chunk && !--chunk->users)
		free(chunk);
}

static struct ktb_chunk *new_chunk(size_t len)
{
	struct ktb_chunk *chunk = malloc(sizeof(*chunk) + len);

	if (!chunk)
		return NULL;
	*chunk = (struct ktb_chunk){ .len = len, .users = 1 };
	return chunk;
}

void ktb_order_exit(struct ktb_order *order)
{
	for (size_t i = order->out; i < order->nr; i++)
		unuse(order->queue[i].chunk);
	unuse(order->current);
	unuse(order->rest);
	ktb_zstd_free(order->zstd);
	free(order->queue);
}

/* ---- the queue ---- */

static int enqueue(struct ktb_recording *recording, const struct perf_event_header *record,
		   struct ktb_chunk *chunk)
{
	const struct ktb_source_event *event = ktb_recording_source(recording, record);
	struct ktb_order *order = &recording->order;
	size_t room = order->room ? 2 * order->room : 4096;
	struct ktb_queued *queue;
	uint64_t time = 0;

	if (order->nr == order->room) {
		queue = reallocarray(order->queue, room, sizeof(*queue));
		if (!queue)
			return ktb_recording_fail(recording, -ENOMEM, "out of memory");
		order->queue = queue;
		order->room = room;
	}
	if (event && (record->type == PERF_RECORD_SAMPLE || event->sample_id_all))
		time = ktb_record_time(&recording->time_place, record);
	if (time == UINT64_MAX)
		time = 0;
	if (time > order->newest)
		order->newest = time;
	if (chunk)
		chunk->users++;
	order->queue[order->nr++] = (struct ktb_queued){ time, record, chunk };
	return 0;
}

/* Merge two sorted halves: equal times stay in the file's order. */
static void merge(struct ktb_queued *all, size_t half, size_t nr, struct ktb_queued *spare)
{
	size_t a = 0, b = half, to = 0;

	memcpy(spare, all, half * sizeof(*all));
	while (a < half && b < nr)
		all[to++] = all[b].time < spare[a].time ? all[b++] : spare[a++];
	while (a < half)
		all[to++] = spare[a++];
}

static void sort(struct ktb_queued *all, size_t nr, struct ktb_queued *spare)
{
	size_t half = nr / 2;

	if (nr < 2)
		return;
	sort(all, half, spare);
	sort(all + half, nr - half, spare);
	/* Mostly it is in order already. */
	if (all[half].time < all[half - 1].time)
		merge(all, half, nr, spare);
}

/* Make ready what is not younger than @limit. */
static int make_ready(struct ktb_recording *recording, uint64_t limit)
{
	struct ktb_order *order = &recording->order;
	struct ktb_queued *spare;

	if (order->out == order->nr)
		return 0;
	spare = reallocarray(NULL, order->nr - order->out, sizeof(*spare));
	if (!spare)
		return ktb_recording_fail(recording, -ENOMEM, "out of memory");
	sort(order->queue + order->out, order->nr - order->out, spare);
	free(spare);
	while (order->ready < order->nr && order->queue[order->ready].time <= limit)
		order->ready++;
	return 0;
}

/* Forget what was handed out. */
static void drop_handed_out(struct ktb_order *order)
{
	if (!order->out)
		return;
	memmove(order->queue, order->queue + order->out,
		(order->nr - order->out) * sizeof(*order->queue));
	order->nr -= order->out;
	order->ready -= order->out;
	order->out = 0;
}

/* ---- reading ---- */

static int fail_damaged(struct ktb_recording *recording, const char *what)
{
	return ktb_recording_fail(recording, -EIO, "'%s' is damaged: %s at byte %llu",
				  recording->path, what, (unsigned long long)recording->order.pos);
}

static int take_record(struct ktb_recording *recording, const struct perf_event_header *record,
		       struct ktb_chunk *chunk);

/* The whole records of a chunk; what is left is kept for the next one. */
static int take_chunk(struct ktb_recording *recording, struct ktb_chunk *chunk)
{
	const struct perf_event_header *record;
	size_t at = 0;
	int err = 0;

	while (!err && chunk->len - at >= sizeof(*record)) {
		record = (const void *)(chunk->data + at);
		if (record->size < sizeof(*record))
			return fail_damaged(recording, "a compressed record is none");
		if (record->size > chunk->len - at)
			break;
		err = take_record(recording, record, chunk);
		at += record->size;
	}
	if (err || at == chunk->len)
		return err;
	recording->order.rest = new_chunk(chunk->len - at);
	if (!recording->order.rest)
		return ktb_recording_fail(recording, -ENOMEM, "out of memory");
	memcpy(recording->order.rest->data, chunk->data + at, chunk->len - at);
	return 0;
}

/* Some of a compressed record's contents, behind what was left of those before. */
static int unpack(struct ktb_recording *recording, struct ktb_cursor *from, bool *more)
{
	const size_t room = 1 << 20;
	struct ktb_order *order = &recording->order;
	size_t before = order->rest ? order->rest->len : 0, len = room;
	struct ktb_chunk *chunk = new_chunk(before + room);
	int err;

	if (!chunk)
		return ktb_recording_fail(recording, -ENOMEM, "out of memory");
	if (before)
		memcpy(chunk->data, order->rest->data, before);
	unuse(order->rest);
	order->rest = NULL;
	err = ktb_zstd_expand(order->zstd, from, chunk->data + before, &len);
	if (err) {
		err = fail_damaged(recording, "compressed records make no sense");
	} else {
		chunk->len = before + len;
		*more = ktb_left(from) || len == room;
		order->expanding = true;
		err = take_chunk(recording, chunk);
		order->expanding = false;
	}
	unuse(chunk);
	return err;
}

static int take_compressed(struct ktb_recording *recording, const struct perf_event_header *record)
{
	struct ktb_cursor from = { (const uint8_t *)(record + 1),
				   (const uint8_t *)record + record->size, false };
	struct ktb_order *order = &recording->order;
	bool more = true;
	int err = 0;

	if (record->type == RECORD_COMPRESSED2) {
		uint64_t len = ktb_take_u64(&from);

		if (len > ktb_left(&from))
			return fail_damaged(recording, "a compressed record");
		from.end = from.at + len;
	}
	if (!order->zstd)
		order->zstd = ktb_zstd_new_reader();
	if (!order->zstd)
		return ktb_recording_refuse(recording, -EOPNOTSUPP,
					    "is compressed, and zstd was not built in");
	while (more && !err)
		err = unpack(recording, &from, &more);
	return err;
}

/* Where records are compressed, those beside them need not be aligned. */
static int take_unaligned(struct ktb_recording *recording, const struct perf_event_header *record)
{
	uint16_t size;
	struct ktb_chunk *chunk;
	int err;

	memcpy(&size, (const uint8_t *)record + offsetof(struct perf_event_header, size),
	       sizeof(size));
	chunk = new_chunk(size);
	if (!chunk)
		return ktb_recording_fail(recording, -ENOMEM, "out of memory");
	memcpy(chunk->data, record, size);
	err = take_record(recording, (const void *)chunk->data, chunk);
	unuse(chunk);
	return err;
}

static int take_record(struct ktb_recording *recording, const struct perf_event_header *record,
		       struct ktb_chunk *chunk)
{
	struct ktb_order *order = &recording->order;
	int err;

	switch (record->type) {
	case RECORD_COMPRESSED:
	case RECORD_COMPRESSED2:
		if (order->expanding)
			return fail_damaged(recording, "a compressed record within another");
		return take_compressed(recording, record);
	case RECORD_FINISHED_ROUND:
		err = make_ready(recording, order->before);
		order->before = order->newest;
		return err;
	}
	/* What perf says of itself is nothing that happened. */
	if (record->type >= RECORD_USER_TYPE_START)
		return 0;
	return enqueue(recording, record, chunk);
}

/* Bytes that follow a whole record, which its header does not count: a trace's own. */
static int behind_record(struct ktb_recording *recording, const struct perf_event_header *record,
			 const struct perf_event_header *header, uint64_t *len)
{
	const struct ktb_order *order = &recording->order;

	*len = 0;
	if (header->type != RECORD_AUXTRACE)
		return 0;
	if (header->size >= sizeof(*header) + sizeof(*len))
		memcpy(len, (const uint8_t *)record + sizeof(*header), sizeof(*len));
	if (*len > order->end - order->pos - header->size)
		return fail_damaged(recording, "half a trace");
	return 0;
}

/* Read on until something is ready, or all is. */
static int read_on(struct ktb_recording *recording)
{
	struct ktb_order *order = &recording->order;
	const struct perf_event_header *record;
	struct perf_event_header header;
	uint64_t behind;
	int err = 0;

	drop_handed_out(order);
	while (!err && order->out == order->ready && order->pos < order->end) {
		if (order->end - order->pos < sizeof(header))
			return fail_damaged(recording, "half a record");
		record = (const void *)(recording->map + order->pos);
		memcpy(&header, record, sizeof(header));
		if (header.size < sizeof(header) || header.size > order->end - order->pos)
			return fail_damaged(recording, "a record that is none");
		err = behind_record(recording, record, &header, &behind);
		if (err)
			return err;
		err = (uintptr_t)record % 8 ? take_unaligned(recording, record) :
					      take_record(recording, record, NULL);
		order->pos += header.size + behind;
	}
	if (!err && order->pos == order->end && order->out == order->ready)
		err = make_ready(recording, UINT64_MAX);
	return err;
}

/* Returns 1, 0 at the end, or a negative errno with the text set. */
int ktb_order_next(struct ktb_recording *recording, const struct perf_event_header **record)
{
	struct ktb_order *order = &recording->order;
	const struct ktb_queued *next;
	int err;

	unuse(order->current);
	order->current = NULL;
	if (order->out == order->ready) {
		err = read_on(recording);
		if (err || order->out == order->ready)
			return err;
	}
	next = &order->queue[order->out++];
	if (next->time && next->time < order->handed_out)
		recording->stats.late++;
	else if (next->time)
		order->handed_out = next->time;
	order->current = next->chunk;
	*record = next->record;
	return 1;
}
