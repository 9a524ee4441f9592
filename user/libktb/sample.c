// SPDX-License-Identifier: LGPL-2.1-only
/* Records of perf's ABI: see perf_event_open(2) for the order of the fields. */
#include <errno.h>
#include <string.h>

#include "cursor.h"
#include "internal.h"

#define SAMPLE_KNOWN                                                                    \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | \
	 PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |  \
	 PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW)

static void take_tid(struct ktb_cursor *cursor, struct ktb_sample *sample)
{
	sample->pid = ktb_take_u32(cursor);
	sample->tid = ktb_take_u32(cursor);
}

static void take_cpu(struct ktb_cursor *cursor, struct ktb_sample *sample)
{
	sample->cpu = ktb_take_u32(cursor);
	ktb_take_u32(cursor); /* reserved */
}

static void take_chain(struct ktb_cursor *cursor, struct ktb_sample *sample)
{
	uint64_t nr = ktb_take_u64(cursor);

	if (nr > UINT16_MAX) {
		cursor->bad = true;
		return;
	}
	sample->nr_chain = nr;
	sample->chain = ktb_take(cursor, nr * sizeof(uint64_t));
}

static void take_raw(struct ktb_cursor *cursor, struct ktb_sample *sample)
{
	sample->raw_size = ktb_take_u32(cursor);
	sample->raw = ktb_take(cursor, sample->raw_size);
}

static void parse_sample(uint64_t type, struct ktb_cursor *cursor, struct ktb_sample *sample)
{
	if (type & PERF_SAMPLE_IDENTIFIER)
		sample->id = ktb_take_u64(cursor);
	if (type & PERF_SAMPLE_IP)
		sample->ip = ktb_take_u64(cursor);
	if (type & PERF_SAMPLE_TID)
		take_tid(cursor, sample);
	if (type & PERF_SAMPLE_TIME)
		sample->time = ktb_take_u64(cursor);
	if (type & PERF_SAMPLE_ADDR)
		ktb_take_u64(cursor);
	if (type & PERF_SAMPLE_ID)
		sample->id = ktb_take_u64(cursor);
	if (type & PERF_SAMPLE_STREAM_ID)
		ktb_take_u64(cursor);
	if (type & PERF_SAMPLE_CPU)
		take_cpu(cursor, sample);
	if (type & PERF_SAMPLE_PERIOD)
		sample->period = ktb_take_u64(cursor);
	if (type & PERF_SAMPLE_CALLCHAIN)
		take_chain(cursor, sample);
	if (type & PERF_SAMPLE_RAW)
		take_raw(cursor, sample);
}

/* struct sample_id, at the end of every record that is not a sample. */
static void parse_sample_id(uint64_t type, struct ktb_cursor *cursor, struct ktb_sample *sample)
{
	if (type & PERF_SAMPLE_TID)
		take_tid(cursor, sample);
	if (type & PERF_SAMPLE_TIME)
		sample->time = ktb_take_u64(cursor);
	if (type & PERF_SAMPLE_ID)
		sample->id = ktb_take_u64(cursor);
	if (type & PERF_SAMPLE_STREAM_ID)
		ktb_take_u64(cursor);
	if (type & PERF_SAMPLE_CPU)
		take_cpu(cursor, sample);
	if (type & PERF_SAMPLE_IDENTIFIER)
		sample->id = ktb_take_u64(cursor);
}

/* Bytes of struct sample_id. */
unsigned int ktb_sample_id_size(uint64_t type)
{
	type &= PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
		PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;
	return 8 * (unsigned int)__builtin_popcountll(type);
}

static void parse_other(uint64_t type, const struct perf_event_header *record,
			struct ktb_cursor *cursor, struct ktb_sample *sample)
{
	unsigned int trailer = ktb_sample_id_size(type);

	if (trailer > (size_t)(cursor->end - cursor->at)) {
		cursor->bad = true;
		return;
	}
	if (record->type == PERF_RECORD_LOST) {
		sample->id = ktb_take_u64(cursor);
		sample->lost = ktb_take_u64(cursor);
	}
	cursor->at = cursor->end - trailer;
	parse_sample_id(type, cursor, sample);
}

int ktb_sample_parse(uint64_t sample_type, const struct perf_event_header *record,
		     struct ktb_sample *sample)
{
	struct ktb_cursor cursor = {
		.at = (const uint8_t *)(record + 1),
		.end = (const uint8_t *)record + record->size,
	};

	memset(sample, 0, sizeof(*sample));
	if (sample_type & ~(uint64_t)SAMPLE_KNOWN)
		return -EOPNOTSUPP;
	if (record->size < sizeof(*record))
		return -EIO;
	sample->type = record->type;
	if (record->type == PERF_RECORD_SAMPLE)
		parse_sample(sample_type, &cursor, sample);
	else
		parse_other(sample_type, record, &cursor, sample);
	return cursor.bad ? -EIO : 0;
}

/* Work out once where records of @sample_type have their time. */
void ktb_time_place(uint64_t sample_type, struct ktb_time_place *place)
{
	const uint64_t before = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID;

	memset(place, 0, sizeof(*place));
	if (!(sample_type & PERF_SAMPLE_TIME))
		return;
	place->in_sample = sizeof(struct perf_event_header) +
			   8 * (unsigned int)__builtin_popcountll(sample_type & before);
	place->from_end = ktb_sample_id_size(sample_type & ~(uint64_t)PERF_SAMPLE_TID);
}

/* The time of a record, 0 if it has none. */
uint64_t ktb_record_time(const struct ktb_time_place *place, const struct perf_event_header *record)
{
	const uint8_t *at = (const uint8_t *)record;
	uint64_t time = 0;

	if (record->type == PERF_RECORD_SAMPLE)
		at += place->in_sample;
	else
		at += record->size - place->from_end;
	if (place->in_sample && at > (const uint8_t *)record &&
	    at + sizeof(time) <= (const uint8_t *)record + record->size)
		memcpy(&time, at, sizeof(time));
	return time;
}
