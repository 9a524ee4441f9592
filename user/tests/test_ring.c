// SPDX-License-Identifier: GPL-2.0-only
/* Walking one ring's records, right and wrong ones. */
#include <errno.h>
#include <pthread.h>

#include "fake.h"
#include "tap.h"

static struct fake_reader fake;
static struct fake_ring *const ring = &fake.rings[0];

static void test_walk(void)
{
	const struct perf_event_header *record;
	struct ktb_sample sample;

	fake_reader_init(&fake, 1, 4096);
	ok(ktb_ring_begin(&ring->ring) == 0, "an empty ring has nothing");
	ok(ktb_ring_next(&ring->ring, &record) == 0, "and no record");
	fake_write(ring, 100, 1);
	fake_write(ring, 200, 2);
	ok(ktb_ring_begin(&ring->ring) == 0, "what is not published is not seen");
	fake_publish(ring);
	ok(ktb_ring_next(&ring->ring, &record) == 0, "nor before another begin");
	ok(ktb_ring_begin(&ring->ring) == 160, "two records are seen");
	ok(ktb_ring_next(&ring->ring, &record) == 1, "the first");
	ktb_sample_parse(FAKE_SAMPLE_TYPE, record, &sample);
	ok(sample.id == 1 && sample.time == 100, "is the first");
	ok(ktb_ring_next(&ring->ring, &record) == 1, "the second");
	ok(ktb_ring_next(&ring->ring, &record) == 0, "and the end");
	ok(ring->page->data_tail == 0, "nothing is released yet");
	ktb_ring_release(&ring->ring);
	ok(ring->page->data_tail == 160, "now it is");
	fake_reader_exit(&fake);
}

/* 100 times around a ring of which a record is no divisor. */
static void test_wrap(void)
{
	const struct perf_event_header *record;
	uint64_t written = 0, seen = 0, wrong = 0;
	struct ktb_sample sample;

	fake_reader_init(&fake, 1, 4096);
	while (written < 5000) {
		while (fake_write(ring, written, written))
			written++;
		fake_publish(ring);
		ktb_ring_begin(&ring->ring);
		while (ktb_ring_next(&ring->ring, &record) == 1) {
			ktb_sample_parse(FAKE_SAMPLE_TYPE, record, &sample);
			wrong += sample.id != seen || sample.ip != 0x1000 + seen;
			seen++;
		}
		ktb_ring_release(&ring->ring);
	}
	ok(seen == written, "every record of a ring that wraps is seen");
	ok(!wrong, "whole and in order");
	fake_reader_exit(&fake);
}

static void test_block(void)
{
	const void *data;

	fake_reader_init(&fake, 1, 4096);
	fake_write(ring, 1, 1);
	fake_write(ring, 2, 2);
	fake_publish(ring);
	ok(ktb_ring_unread(&ring->ring, &data) == 160 && data == ring->data,
	   "everything unread is one block");
	ktb_ring_consume(&ring->ring, 80);
	ok(ring->page->data_tail == 80, "of which a part can be consumed");
	ok(ktb_ring_unread(&ring->ring, &data) == 80, "the rest stays");
	ok(ktb_ring_pending(&ring->ring) == 80, "and is pending, whoever asks");
	ktb_ring_consume(&ring->ring, 80);
	ok(ktb_ring_pending(&ring->ring) == 0, "until it is consumed");
	fake_reader_exit(&fake);
}

/* What becomes of a record of that size where there are 16 bytes. */
static int next_of_size(uint16_t size)
{
	const struct perf_event_header *record;
	int err;

	fake_reader_init(&fake, 1, 4096);
	fake_write_header(ring, size);
	fake_write_header(ring, 8);
	fake_publish(ring);
	ktb_ring_begin(&ring->ring);
	err = ktb_ring_next(&ring->ring, &record);
	fake_reader_exit(&fake);
	return err;
}

static void test_bad_records(void)
{
	ok(next_of_size(8) == 1, "a record can be a header only");
	ok(next_of_size(0) == -EIO, "a record of size 0 is refused");
	ok(next_of_size(4) == -EIO, "a record below a header is refused");
	ok(next_of_size(16) == 1, "or a little more");
	ok(next_of_size(24) == -EIO, "a record beyond the head is refused");
	ok(next_of_size(12) == -EIO, "a record of odd size is refused");
}

static void test_bad_pages(void)
{
	fake_reader_init(&fake, 1, 4096);
	ring->page->data_head = 5000;
	ok(ktb_ring_begin(&ring->ring) == -EIO, "a head farther than the ring is refused");
	ok(ktb_ring_check(&ring->ring) == -EIO, "also when mapping it");
	ring->page->data_head = 0;
	ring->page->data_tail = 8;
	ok(ktb_ring_check(&ring->ring) == -EIO, "a tail before the head is refused");
	ring->page->data_tail = 0;
	ok(ktb_ring_check(&ring->ring) == 0, "a sound page is not");
	ring->page->data_size = 4095;
	ok(ktb_ring_check(&ring->ring) == -EPROTO, "a size not a power of two is refused");
	ring->page->data_size = 4096;
	ring->page->magic++;
	ok(ktb_ring_check(&ring->ring) == -EPROTO, "a wrong magic is refused");
	ring->page->magic--;
	ring->page->version++;
	ok(ktb_ring_check(&ring->ring) == -EPROTO, "another version is refused");
	ring->page->version--;
	ring->page->flags = KTB_SESSION_OVERWRITE;
	ok(ktb_ring_check(&ring->ring) == -EOPNOTSUPP, "a flight recorder is not read so");
	fake_reader_exit(&fake);
}

static bool stop;

/* The ring is empty, and empty 4 GiB of bytes later, again and again. */
static void *step_over_4g(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		__atomic_store_n(&ring->page->data_head, 0xffffff00, __ATOMIC_RELEASE);
		__atomic_store_n(&ring->page->data_head, 0x100000000, __ATOMIC_RELEASE);
	}
	return NULL;
}

/*
 * A head of which half is old would be 4 GiB off: 10,000 times of seeing it change.
 * 32-bit programs are what is asked; for others it cannot be different.
 */
static void test_whole_positions(void)
{
	int64_t unread = 0, last = 0;
	unsigned int changes = 0;
	pthread_t thread;

	fake_reader_init(&fake, 1, 4096);
	ring->page->data_head = 0x100000000;
	ring->ring.pos = 0xffffff00;
	pthread_create(&thread, NULL, step_over_4g, NULL);
	while (changes < 10000 && (unread == 0 || unread == 256)) {
		unread = ktb_ring_begin(&ring->ring);
		changes += unread != last;
		last = unread;
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	ok(unread == 0 || unread == 256, "a position is loaded as a whole");
	fake_reader_exit(&fake);
}

int main(void)
{
	test_walk();
	test_wrap();
	test_block();
	test_bad_records();
	test_bad_pages();
	test_whole_positions();
	return tap_end();
}
