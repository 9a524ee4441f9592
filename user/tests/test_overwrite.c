// SPDX-License-Identifier: GPL-2.0-only
/* Snapshots of a ring that overwrites: what is there, from either end. */
#include <errno.h>
#include <string.h>

#include "fake.h"
#include "tap.h"

#define SIZE 4096
#define RECORD_SIZE 80 /* no divisor of SIZE */

static struct fake_reader fake;
static struct fake_ring *const ring = &fake.rings[0];

static void setup(void)
{
	fake_reader_init(&fake, 1, SIZE);
	ring->page->flags = KTB_SESSION_OVERWRITE;
	ring->ring.overwrite = true;
}

/* As the module does it: downwards, and over what is there. */
static void put(uint16_t size, uint64_t id)
{
	uint64_t record[64] = { 0 };
	const struct perf_event_header header = { PERF_RECORD_SAMPLE, 0, size };

	memcpy(record, &header, sizeof(header));
	record[1] = id;
	ring->head -= size < sizeof(header) ? sizeof(header) : size;
	memcpy(ring->data + (ring->head & (SIZE - 1)), record,
	       size < sizeof(header) ? sizeof(header) : size);
	fake_publish(ring);
}

static void put_many(uint64_t nr)
{
	for (uint64_t id = 0; id < nr; id++)
		put(RECORD_SIZE, id);
}

static uint64_t id_of(const struct perf_event_header *record)
{
	return ((const uint64_t *)record)[1];
}

/* From @newest downwards: how many are there, or a negative errno. */
static int64_t walk(uint64_t newest, uint64_t *wrong)
{
	const struct perf_event_header *record;
	int64_t nr = 0;
	int err;

	*wrong = 0;
	while ((err = ktb_ring_older(&ring->ring, &record)) == 1)
		*wrong += id_of(record) != newest - (uint64_t)nr++;
	return err ? err : nr;
}

static void test_refusals(void)
{
	const struct perf_event_header *const *records;
	const struct perf_event_header *record;
	const void *data;

	setup();
	ok(ktb_ring_check(&ring->ring) == 0, "an overwrite ring is one");
	ring->page->flags = 0;
	ok(ktb_ring_check(&ring->ring) == -EOPNOTSUPP, "an ordinary one is not");
	put_many(2);
	ok(ktb_ring_begin(&ring->ring) == -EOPNOTSUPP, "it is not read along");
	ok(ktb_ring_unread(&ring->ring, &data) == -EOPNOTSUPP, "nor as one block");
	ok(ktb_ring_newest(&ring->ring) == -EBUSY, "before it is frozen there is no newest");
	ok(ktb_ring_older(&ring->ring, &record) == -EBUSY, "and no older");
	ok(ktb_ring_records(&ring->ring, &records) == -EBUSY, "and there are no records");
	ktb_ring_hold(&ring->ring);
	ok(ktb_ring_next(&ring->ring, &record) == -EOPNOTSUPP, "nor is a frozen one read along");
	fake_reader_exit(&fake);
}

static void test_empty(void)
{
	const struct perf_event_header *const *records;
	const struct perf_event_header *record;

	setup();
	ktb_ring_hold(&ring->ring);
	ok(ktb_ring_newest(&ring->ring) == 0, "an empty ring has nothing");
	ok(ktb_ring_older(&ring->ring, &record) == 0, "no record");
	ok(ktb_ring_records(&ring->ring, &records) == 0, "from neither end");
	fake_reader_exit(&fake);
}

static void test_few(void)
{
	const struct perf_event_header *const *records;
	uint64_t wrong;

	setup();
	put_many(3);
	ktb_ring_hold(&ring->ring);
	ok(walk(2, &wrong) == 3 && !wrong, "all that fit are there, newest first");
	ok(ktb_ring_newest(&ring->ring) == 3L * RECORD_SIZE && walk(2, &wrong) == 3 && !wrong,
	   "and anew");
	ok(ktb_ring_records(&ring->ring, &records) == 3, "or all at once");
	ok(id_of(records[0]) == 0 && id_of(records[1]) == 1 && id_of(records[2]) == 2,
	   "oldest first");
	ok((const uint8_t *)records[2] == ring->data + SIZE - 3L * RECORD_SIZE, "in place");
	fake_reader_exit(&fake);
}

/* Every place where the ring's end can fall, and every rest of a torn record. */
static void test_wrap(void)
{
	const struct perf_event_header *const *records;
	uint64_t wrong, all = 0, torn = 0;
	const int64_t fit = SIZE / RECORD_SIZE;

	setup();
	put_many(fit);
	for (uint64_t id = fit; id < 3 * SIZE / 8; id++) {
		put(RECORD_SIZE, id);
		ktb_ring_hold(&ring->ring);
		torn += ktb_ring_newest(&ring->ring) != fit * RECORD_SIZE;
		all += walk(id, &wrong) != fit || wrong;
		all += ktb_ring_records(&ring->ring, &records) != fit;
		for (int64_t i = 0; i < fit; i++)
			all += id_of(records[i]) != id + 1 - fit + i;
	}
	ok(torn, "the oldest record is torn");
	ok(!all, "the whole ones are there, however the ring wraps");
	fake_reader_exit(&fake);
}

/* A record that fills the ring to the last byte is whole. */
static void test_full(void)
{
	uint64_t wrong;

	setup();
	for (uint64_t id = 0; id < 3 * SIZE / 64; id++)
		put(64, id);
	ktb_ring_hold(&ring->ring);
	ok(walk(3 * SIZE / 64 - 1, &wrong) == SIZE / 64 && !wrong,
	   "nothing is torn in a full ring");
	fake_reader_exit(&fake);
}

static int64_t walk_over(uint16_t size)
{
	uint64_t wrong;
	int64_t nr;

	setup();
	put(RECORD_SIZE, 1);
	put(size, 2);
	ktb_ring_hold(&ring->ring);
	nr = walk(2, &wrong);
	fake_reader_exit(&fake);
	return nr;
}

static void test_bad_records(void)
{
	const struct perf_event_header *const *records;

	ok(walk_over(0) == -EIO, "a record of size 0 is refused");
	ok(walk_over(4) == -EIO, "a record below a header is refused");
	ok(walk_over(12) == -EIO, "a record of odd size is refused");
	ok(walk_over(16) == 2, "a small one is not");
	setup();
	put(0, 1);
	ktb_ring_hold(&ring->ring);
	ok(ktb_ring_records(&ring->ring, &records) == -EIO, "all at once the same");
	ring->page->data_head = 4;
	ktb_ring_hold(&ring->ring);
	ok(ktb_ring_records(&ring->ring, &records) == -EIO, "an odd position is refused");
	fake_reader_exit(&fake);
}

int main(void)
{
	test_refusals();
	test_empty();
	test_few();
	test_wrap();
	test_full();
	test_bad_records();
	return tap_end();
}
