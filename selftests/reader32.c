// SPDX-License-Identifier: GPL-2.0-only
/*
 * A 32-bit program as reader of a 64-bit kernel: the same commands, ioctls,
 * mappings (at offsets beyond 4 GiB) and records. Built with -m32.
 */
#include "ktb_test.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#define ENTER		"raw_syscalls:sys_enter"
#define RING_SIZE	(16 * 4096U)

_Static_assert(sizeof(long) == 4, "to be built with -m32");
_Static_assert(sizeof(off_t) == 8, "to be built with _FILE_OFFSET_BITS=64");
_Static_assert(sizeof(struct ktb_bind) == 16, "the same for 32-bit callers");
_Static_assert(sizeof(struct ktb_ring_page) == 384, "the same for 32-bit readers");

FIXTURE(reader32)
{
	struct ktb_nl nl;
	struct ktb_session s;
	int fd;
	int last;		/* CPU */
};

FIXTURE_SETUP(reader32)
{
	ASSERT_CONTROL(&self->nl);
	self->last = ktb_cpus() - 1;
	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_32", 0, RING_SIZE, &self->s));
	EXPECT_EQ(RING_SIZE, self->s.ring_size);
	self->fd = ktb_dev_open_bind(self->s.id, -1);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(reader32)
{
	close(self->fd);
	ktb_session_sweep(&self->nl);
	ktb_nl_close(&self->nl);
}

/*
 * 100 hits and what the ledger says of them. System calls of 32-bit programs have
 * the same tracepoint.
 */
static void hit(struct __test_metadata *_metadata, FIXTURE_DATA(reader32) *self, int cpu)
{
	struct ktb_worker w = { .cpu = cpu, .work = ktb_work_syscalls, .count = 100 };
	struct ktb_event e;

	ASSERT_EQ(0, ktb_worker_start(&w));
	ASSERT_EQ(0, ktb_event_attach(&self->nl, self->s.id, ENTER, w.tid, &e))
		TH_LOG("%s", self->nl.text);
	ktb_worker_go(&w);
	ASSERT_TRUE(ktb_worker_wait(&w));
	ASSERT_EQ(0, ktb_event_detach(&self->nl, self->s.id, e.id, &e));
	ktb_worker_finish(&w);
	EXPECT_LE(100, e.sum.written);
	EXPECT_LEDGER(&e.sum);
}

TEST_F(reader32, maps_and_reads)
{
	for (int cpu = 0; cpu <= self->last; cpu++) {
		struct ktb_walk walk = {};
		struct ktb_ring ring;

		hit(_metadata, self, cpu);
		ASSERT_EQ(0, ktb_ring_map(&ring, self->fd, cpu));
		EXPECT_EQ(KTB_RING_MAGIC, ring.page->magic);
		EXPECT_EQ((__u32)cpu, ring.page->cpu);
		EXPECT_EQ(RING_SIZE, ring.page->data_size);
		ktb_ring_walk(&ring, &walk, NULL, NULL);
		EXPECT_LE(100, walk.samples);
		EXPECT_EQ(0, walk.malformed);
		EXPECT_EQ(ring.page->data_head, ring.page->data_tail);
		ktb_ring_unmap(&ring);
	}
}

TEST_F(reader32, refusals)
{
	/* Offsets that only differ beyond 32 bits are not taken for one another. */
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 4096, PROT_READ, MAP_SHARED, self->fd,
				   4095 * KTB_RING_STRIDE));
	EXPECT_EQ(ENXIO, errno);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, RING_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd,
				   4096));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-EALREADY, ktb_dev_bind(self->fd, self->s.id, 0));
	EXPECT_EQ(-1, ioctl(self->fd, _IO('k', 0xbf)));
	EXPECT_EQ(ENOTTY, errno);
}

TEST_F(reader32, ioctls_poll_read)
{
	struct pollfd p = { .fd = self->fd, .events = POLLIN };
	char buf[4096];
	int records = 0;
	ssize_t len;

	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, O_NONBLOCK));
	EXPECT_EQ(0, poll(&p, 1, 0));
	EXPECT_EQ(0, ioctl(self->fd, KTB_IOC_DISABLE));
	ASSERT_EQ(0, ktb_session_get(&self->nl, self->s.id, &self->s));
	EXPECT_EQ(0, self->s.enabled);
	EXPECT_EQ(0, ioctl(self->fd, KTB_IOC_ENABLE));
	ASSERT_EQ(0, ktb_session_get(&self->nl, self->s.id, &self->s));
	EXPECT_EQ(1, self->s.enabled);
	hit(_metadata, self, self->last);
	EXPECT_EQ(0, ioctl(self->fd, KTB_IOC_FLUSH));
	EXPECT_EQ(1, poll(&p, 1, 5000));
	EXPECT_EQ(POLLIN, p.revents);
	while ((len = read(self->fd, buf, sizeof(buf))) > 0) {
		const struct perf_event_header *h;
		struct ktb_sample s;

		for (ssize_t at = 0; at < len; at += h->size, records++) {
			h = (const void *)(buf + at);
			ASSERT_TRUE(ktb_record_parse(h, &s));
		}
	}
	EXPECT_EQ(EAGAIN, errno);
	EXPECT_LE(100, records);
}

TEST_HARNESS_MAIN
