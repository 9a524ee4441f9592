// SPDX-License-Identifier: GPL-2.0-only
/* Decoding records, whole and cut short. */
#include <errno.h>
#include <string.h>

#include "internal.h"
#include "tap.h"

#define TYPE                                                                            \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW)

struct record {
	struct perf_event_header header;
	uint64_t id, ip;
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
	uint64_t period, nr_chain, chain[2];
	uint32_t raw_size;
	uint8_t raw[12];
};

static const struct record whole = {
	.header = { PERF_RECORD_SAMPLE, 0, sizeof(whole) },
	.id = 1,
	.ip = 2,
	.pid = 3,
	.tid = 4,
	.time = 5,
	.cpu = 6,
	.period = 7,
	.nr_chain = 2,
	.chain = { 8, 9 },
	.raw_size = 12,
	.raw = "hello world",
};

static void test_whole(void)
{
	struct ktb_time_place place;
	struct ktb_sample s;

	ok(ktb_sample_parse(TYPE, &whole.header, &s) == 0, "a sample is decoded");
	ok(s.id == 1 && s.ip == 2 && s.pid == 3 && s.tid == 4, "each field is in its place");
	ok(s.time == 5 && s.cpu == 6 && s.period == 7, "to the last");
	ok(s.nr_chain == 2 && s.chain[0] == 8 && s.chain[1] == 9, "so is the call chain");
	ok(s.raw_size == 12 && !strcmp(s.raw, "hello world"), "and the raw data");
	ktb_time_place(TYPE, &place);
	ok(ktb_record_time(&place, &whole.header) == 5, "the time is found without decoding");
}

static void test_lost(void)
{
	const struct {
		struct perf_event_header header;
		uint64_t id, lost;
		uint32_t pid, tid;
		uint64_t time;
		uint32_t cpu, reserved;
		uint64_t identifier;
	} lost = {
		.header = { PERF_RECORD_LOST, 0, sizeof(lost) },
		.id = 1,
		.lost = 2,
		.pid = 3,
		.tid = 4,
		.time = 5,
		.cpu = 6,
		.identifier = 1,
	};
	struct ktb_time_place place;
	struct ktb_sample s;

	ok(ktb_sample_parse(TYPE, &lost.header, &s) == 0, "a loss is decoded");
	ok(s.lost == 2 && s.pid == 3 && s.tid == 4 && s.time == 5 && s.cpu == 6 && s.id == 1,
	   "with its sample id");
	ktb_time_place(TYPE, &place);
	ok(ktb_record_time(&place, &lost.header) == 5, "its time is found without decoding");
}

/* No length and no count in a record makes us read beyond it. */
static void test_hostile(void)
{
	struct ktb_time_place place;
	struct ktb_sample s;
	struct record r;
	unsigned int size;

	ktb_time_place(TYPE, &place);
	for (size = 8; size < sizeof(whole); size += 8) {
		r = whole;
		r.header.size = size;
		if (ktb_sample_parse(TYPE, &r.header, &s) != -EIO)
			break;
		ktb_record_time(&place, &r.header);
	}
	ok(size == sizeof(whole), "a sample cut short anywhere is refused");
	r = whole;
	r.raw_size = 13;
	ok(ktb_sample_parse(TYPE, &r.header, &s) == -EIO, "too much raw data is refused");
	r.raw_size = UINT32_MAX;
	ok(ktb_sample_parse(TYPE, &r.header, &s) == -EIO, "so is 4 GiB of it");
	r = whole;
	r.nr_chain = UINT64_MAX / 8 + 2;
	ok(ktb_sample_parse(TYPE, &r.header, &s) == -EIO, "a chain whose size wraps is refused");
	r = whole;
	r.header.type = PERF_RECORD_LOST;
	r.header.size = 16;
	ok(ktb_sample_parse(TYPE, &r.header, &s) == -EIO, "a loss without its id is refused");
	ok(ktb_record_time(&place, &r.header) == 0, "and has no time");
	ok(ktb_sample_parse(TYPE | PERF_SAMPLE_BRANCH_STACK, &whole.header, &s) == -EOPNOTSUPP,
	   "a field we do not know is refused");
}

int main(void)
{
	test_whole();
	test_lost();
	test_hostile();
	return tap_end();
}
