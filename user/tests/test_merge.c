// SPDX-License-Identifier: GPL-2.0-only
/* Records of several rings in the order of time. */
#include <errno.h>
#include <stdlib.h>

#include "fake.h"
#include "tap.h"

#define MS 1000000ULL

static struct fake_reader fake;
static struct ktb_merge *merge;

static void begin(unsigned int nr, uint64_t size)
{
	fake_reader_init(&fake, nr, size);
	merge = ktb_merge_new(&fake.reader);
	if (!merge)
		exit(1);
}

static void end(void)
{
	ktb_merge_free(merge);
	fake_reader_exit(&fake);
}

static void write_one(unsigned int i, uint64_t time)
{
	fake_write(&fake.rings[i], time, time);
	fake_publish(&fake.rings[i]);
}

/* The time of the next record, 0 if there is none to be had. */
static uint64_t next(void)
{
	const struct perf_event_header *record;
	struct ktb_sample sample;

	if (ktb_merge_next(merge, &record) != 1)
		return 0;
	ktb_sample_parse(FAKE_SAMPLE_TYPE, record, &sample);
	return sample.time;
}

static void test_order(void)
{
	begin(3, 4096);
	write_one(0, 10);
	write_one(0, 40);
	write_one(1, 20);
	write_one(1, 50);
	write_one(2, 30);
	ok(ktb_merge_fill(merge, false) == 0, "three rings");
	ok(next() == 10 && next() == 20 && next() == 30 && next() == 40 && next() == 50,
	   "come out in the order of time");
	ok(!next() && !ktb_merge_pending(merge), "and then nothing");
	ok(fake.rings[0].page->data_tail == 0, "nothing is released meanwhile");
	ktb_merge_release(merge);
	ok(fake.rings[0].page->data_tail == fake.rings[0].head, "then everything is");
	ok(fake.rings[2].page->data_tail == fake.rings[2].head, "of each ring");
	ok(!ktb_merge_late(merge), "none was late");
	end();
}

/* An interrupted writer publishes its record together with younger ones before it. */
static void test_nested(void)
{
	struct fake_ring *ring;

	begin(2, 4096);
	ring = &fake.rings[0];
	fake_write(ring, 30, 1);
	fake_write(ring, 10, 2);
	fake_write(ring, 20, 3);
	fake_publish(ring);
	write_one(1, 15);
	ktb_merge_fill(merge, false);
	ok(next() == 10, "the oldest of a ring comes first, though second in it");
	ktb_merge_release(merge);
	ok(ring->page->data_tail == 0, "its room is not free: an unread one is before it");
	ok(next() == 15 && next() == 20 && next() == 30, "the others follow");
	ktb_merge_release(merge);
	ok(ring->page->data_tail == ring->head, "and all is free");
	end();
}

static void test_hold_back(void)
{
	uint64_t now;

	begin(2, 4096);
	ktb_merge_set_slack(merge, 60000 * MS);
	now = fake_now();
	write_one(0, now);
	ktb_merge_fill(merge, false);
	ok(!next(), "a young record is held back: the idle ring may still have an older one");
	ok(ktb_merge_pending(merge), "and that is told");
	write_one(1, now - 500 * MS);
	ktb_merge_fill(merge, false);
	ok(next() == now - 500 * MS, "indeed: it comes first");
	ok(!next(), "the young one waits on");
	write_one(1, now + 1);
	ktb_merge_fill(merge, false);
	ok(next() == now, "until the other ring is known to be past it");
	ok(!next(), "and so on");
	ktb_merge_fill(merge, true);
	ok(next() == now + 1 && !ktb_merge_pending(merge), "at the end nothing is held back");
	end();
}

static void test_slack_passes(void)
{
	uint64_t now;

	begin(2, 4096);
	ktb_merge_set_slack(merge, 20 * MS);
	now = fake_now();
	write_one(0, now);
	do
		ktb_merge_fill(merge, false);
	while (fake_now() < now + 20 * MS);
	ktb_merge_fill(merge, false);
	ok(next() == now, "an idle ring holds back for no longer than the slack");
	end();
}

static void test_alone(void)
{
	uint64_t now = fake_now();

	begin(1, 4096);
	ktb_merge_set_slack(merge, 60000 * MS);
	write_one(0, now);
	ktb_merge_fill(merge, false);
	ok(next() == now, "a single ring is not held back");
	end();
}

static void test_until(void)
{
	begin(2, 4096);
	write_one(0, 10);
	write_one(0, 30);
	write_one(1, 20);
	ktb_merge_set_until(merge, 20);
	ktb_merge_fill(merge, true);
	ok(next() == 10 && next() == 20 && !next(), "nothing younger than the limit comes out");
	ktb_merge_release(merge);
	ok(fake.rings[0].page->data_tail == fake.rings[0].head / 2, "it stays in its ring");
	ktb_merge_set_until(merge, UINT64_MAX);
	ktb_merge_fill(merge, true);
	ok(next() == 30, "until the limit is raised");
	end();
}

static void test_late(void)
{
	begin(2, 4096);
	write_one(0, 100);
	ktb_merge_fill(merge, false);
	ok(next() == 100, "a record whose ring was held up for longer than the slack");
	write_one(1, 50);
	ktb_merge_fill(merge, false);
	ok(next() == 50 && ktb_merge_late(merge) == 1, "comes late, and is counted");
	end();
}

static void test_lost(void)
{
	const struct perf_event_header *record;
	struct ktb_sample sample;

	begin(2, 4096);
	write_one(0, 10);
	fake_write_lost(&fake.rings[0], 20, 5);
	fake_publish(&fake.rings[0]);
	write_one(1, 30);
	ktb_merge_fill(merge, false);
	ok(next() == 10, "a record before a loss");
	ok(ktb_merge_next(merge, &record) == 1 && record->type == PERF_RECORD_LOST,
	   "the loss has its place");
	ktb_sample_parse(FAKE_SAMPLE_TYPE, record, &sample);
	ok(sample.lost == 5 && sample.time == 20, "and its number");
	ok(next() == 30, "before what is younger");
	end();
}

static void test_broken(void)
{
	begin(2, 4096);
	fake_write_header(&fake.rings[1], 0);
	fake_publish(&fake.rings[1]);
	ok(ktb_merge_fill(merge, false) == -EIO, "a broken ring is an error");
	end();
}

/*
 * Writers that fill small rings as fast as they are emptied: the order holds,
 * nothing is lost, and room is given back while reading on.
 */
static void test_stream(void)
{
	uint64_t written = 0, seen = 0, last = 0, wrong = 0, time = 1, got;
	unsigned int ring;

	begin(4, 4096);
	srandom(1);
	while (written < 200000) {
		for (int i = 0; i < 150; i++) {
			ring = random() % 4;
			if (fake_write(&fake.rings[ring], time, time)) {
				time++;
				written++;
			}
		}
		for (ring = 0; ring < 4; ring++)
			fake_publish(&fake.rings[ring]);
		ktb_merge_fill(merge, false);
		while ((got = next())) {
			wrong += got <= last;
			last = got;
			seen++;
		}
	}
	ok(seen == written, "200000 records go through four small rings");
	ok(!wrong && !ktb_merge_late(merge), "in order");
	end();
}

int main(void)
{
	test_order();
	test_nested();
	test_hold_back();
	test_slack_passes();
	test_alone();
	test_until();
	test_late();
	test_lost();
	test_broken();
	test_stream();
	return tap_end();
}
