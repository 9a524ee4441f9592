// SPDX-License-Identifier: GPL-2.0-only
/*
 * Overwrite sessions: the newest records stay, a snapshot is consistent, and
 * the number of overwritten records is known.
 */
#include "ktb_test.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>

#define ENTER		"raw_syscalls:sys_enter"
#define RING_SIZE	(4 * 4096UL)
#define MAGIC		0x0e110e11UL

struct snapshot {
	unsigned int args;	/* offset of sys_enter's arguments */
	__u64 records;
	__u64 lost_records;
	__u64 lost;
	__u64 newest;		/* sequence number of the newest record */
	__u64 next;		/* what the next older one has to be */
	__u64 gaps;		/* where it was not */
	__u64 torn;		/* bytes that make no record */
	__u64 bytes;		/* in whole records */
};

FIXTURE(overwrite)
{
	struct ktb_nl nl;
	struct ktb_session s;
	struct ktb_event e;
	struct ktb_worker w;
	struct ktb_ring ring;
	struct snapshot snap;
	int fd;
};

FIXTURE_SETUP(overwrite)
{
	struct ktb_format f;

	ASSERT_CONTROL(&self->nl);
	ASSERT_EQ(0, ktb_format_read(ENTER, &f));
	self->snap.args = ktb_format_field(&f, "args")->offset;
	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_over", KTB_SESSION_OVERWRITE, RING_SIZE,
				     &self->s));
	self->w = (struct ktb_worker) {
		.cpu = ktb_cpus() - 1, .work = ktb_work_syscalls, .magic = MAGIC,
	};
	ASSERT_EQ(0, ktb_worker_start(&self->w));
	ASSERT_EQ(0, ktb_event_attach(&self->nl, self->s.id, ENTER, self->w.tid, &self->e));
	self->fd = ktb_dev_open_bind(self->s.id, self->w.cpu);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, ktb_ring_map(&self->ring, self->fd, self->w.cpu));
}

FIXTURE_TEARDOWN(overwrite)
{
	ktb_worker_finish(&self->w);
	ktb_ring_unmap(&self->ring);
	close(self->fd);
	ktb_nl_close(&self->nl);
}

static void look_at(struct snapshot *snap, const struct ktb_sample *s)
{
	__u64 args[2];

	if (s->type == PERF_RECORD_LOST) {
		snap->lost_records++;
		snap->lost += s->lost;
		return;
	}
	memcpy(args, s->raw + snap->args, sizeof(args));
	if (args[0] != MAGIC) {	/* the thread's own way to sleep and back */
		snap->records++;
		return;
	}
	if (snap->next != -1ULL && args[1] != snap->next)
		snap->gaps++;
	if (snap->next == -1ULL)
		snap->newest = args[1];
	snap->next = args[1] - 1;
	snap->records++;
}

/* From the newest to the oldest record that is whole. */
static void walk_back(struct ktb_ring *ring, struct snapshot *snap)
{
	__u64 head = ring->page->data_head;
	__u64 used = 0 - head < ring->size ? 0 - head : ring->size;
	__u64 at = 0;

	*snap = (struct snapshot) { .args = snap->args, .next = -1ULL };
	while (at < used) {
		const struct perf_event_header *h =
			(const void *)(ring->data + ((head + at) & (ring->size - 1)));
		struct ktb_sample s;

		if (h->size > used - at)
			break;
		if (!h->size || !ktb_record_parse(h, &s)) {
			snap->torn = used - at;
			break;
		}
		look_at(snap, &s);
		at += h->size;
	}
	snap->bytes = at;
}

static int freeze(int fd)
{
	return ioctl(fd, KTB_IOC_FREEZE) ? -errno : 0;
}

static int thaw(int fd)
{
	return ioctl(fd, KTB_IOC_THAW) ? -errno : 0;
}

static bool run(struct ktb_worker *w, __u64 count)
{
	w->count = count;
	ktb_worker_go(w);
	return ktb_worker_wait(w);
}

/* Fewer records than fit: all are there. */
TEST_F(overwrite, keeps_all_that_fit)
{
	ASSERT_TRUE(run(&self->w, 50));
	ASSERT_EQ(0, freeze(self->fd));
	walk_back(&self->ring, &self->snap);
	ASSERT_EQ(0, ktb_event_get(&self->nl, self->s.id, self->e.id, &self->e));
	EXPECT_EQ(self->e.sum.written, self->snap.records);
	EXPECT_EQ(49, self->snap.newest);
	EXPECT_EQ(-1ULL, self->snap.next);	/* down to 0 */
	EXPECT_EQ(0, self->snap.gaps);
	EXPECT_EQ(0, self->snap.torn);
	EXPECT_EQ(0, thaw(self->fd));
}

/* Many more: the newest are there, without a gap, and the ring is full of them. */
TEST_F(overwrite, keeps_the_newest)
{
	ASSERT_TRUE(run(&self->w, 5000));
	ASSERT_EQ(0, freeze(self->fd));
	walk_back(&self->ring, &self->snap);
	ASSERT_EQ(0, ktb_event_get(&self->nl, self->s.id, self->e.id, &self->e));
	EXPECT_EQ(0, ktb_ledger_lost(&self->e.sum));
	EXPECT_LE(5000, self->e.sum.written);
	EXPECT_EQ(4999, self->snap.newest);
	EXPECT_EQ(0, self->snap.gaps);
	EXPECT_EQ(0, self->snap.torn);
	/* What is left is less than a record. */
	EXPECT_GT(144, RING_SIZE - self->snap.bytes);
	EXPECT_GT(self->e.sum.written, self->snap.records);
	EXPECT_EQ(0, thaw(self->fd));
}

/* What hits a frozen ring is lost, counted, and stated when it goes on. */
TEST_F(overwrite, frozen_ring_stands_still)
{
	struct ktb_event before;
	__u64 head;

	ASSERT_TRUE(run(&self->w, 1000));
	ASSERT_EQ(0, freeze(self->fd));
	head = self->ring.page->data_head;
	ASSERT_EQ(0, ktb_event_get(&self->nl, self->s.id, self->e.id, &before));
	ASSERT_TRUE(run(&self->w, 100));
	EXPECT_EQ(head, self->ring.page->data_head);
	ASSERT_EQ(0, ktb_event_get(&self->nl, self->s.id, self->e.id, &self->e));
	EXPECT_EQ(before.sum.written, self->e.sum.written);
	EXPECT_LE(100, self->e.sum.lost_full);
	EXPECT_EQ(self->e.sum.hits, ktb_ledger_sum(&self->e.sum));

	EXPECT_EQ(0, thaw(self->fd));
	ASSERT_TRUE(run(&self->w, 10));
	ASSERT_EQ(0, freeze(self->fd));
	walk_back(&self->ring, &self->snap);
	ASSERT_EQ(0, ktb_event_get(&self->nl, self->s.id, self->e.id, &self->e));
	EXPECT_EQ(1, self->snap.lost_records);
	EXPECT_EQ(self->e.sum.lost_full, self->snap.lost);
	EXPECT_EQ(0, thaw(self->fd));
}

/* Snapshot after snapshot under load: each one whole. */
TEST_F_TIMEOUT(overwrite, snapshots_under_load, 60)
{
	int rounds;

	self->w.count = 20000;
	ktb_worker_go(&self->w);
	for (rounds = 0; rounds < 20 || !ktb_worker_done(&self->w); rounds++) {
		ASSERT_EQ(0, freeze(self->fd));
		walk_back(&self->ring, &self->snap);
		EXPECT_EQ(0, self->snap.torn);
		/* A gap there may be where the ring stood still: it is stated. */
		EXPECT_LE(self->snap.gaps, self->snap.lost_records);
		ASSERT_EQ(0, thaw(self->fd));
	}
	ASSERT_EQ(0, ktb_event_get(&self->nl, self->s.id, self->e.id, &self->e));
	EXPECT_EQ(self->e.sum.hits, ktb_ledger_sum(&self->e.sum));
	EXPECT_LE(20000, ktb_ledger_own(&self->e.sum));
}

/* A reader that goes away does not leave the rings frozen. */
TEST_F(overwrite, goes_on_without_its_reader)
{
	ASSERT_EQ(0, freeze(self->fd));
	ktb_ring_unmap(&self->ring);
	close(self->fd);
	ASSERT_TRUE(run(&self->w, 100));
	ASSERT_EQ(0, ktb_event_get(&self->nl, self->s.id, self->e.id, &self->e));
	EXPECT_LE(100, self->e.sum.written);
	self->fd = ktb_dev_open_bind(self->s.id, self->w.cpu);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, ktb_ring_map(&self->ring, self->fd, self->w.cpu));
}

/* poll says when there is a snapshot to read; read is refused. */
TEST_F(overwrite, poll_and_read)
{
	struct pollfd p = { .fd = self->fd, .events = POLLIN };
	char buf[4096];

	ASSERT_TRUE(run(&self->w, 100));
	EXPECT_EQ(0, poll(&p, 1, 0));
	EXPECT_EQ(-1, read(self->fd, buf, sizeof(buf)));
	EXPECT_EQ(EOPNOTSUPP, errno);
	ASSERT_EQ(0, freeze(self->fd));
	EXPECT_EQ(1, poll(&p, 1, 0));
	EXPECT_EQ(0, thaw(self->fd));
}

/* An ordinary session has no snapshots. */
TEST_F(overwrite, refused_elsewhere)
{
	struct ktb_session s;
	int fd = ktb_dev_open();

	EXPECT_EQ(-ENOTCONN, freeze(fd));
	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_plain", 0, RING_SIZE, &s));
	ASSERT_EQ(0, ktb_dev_bind(fd, s.id, -1));
	EXPECT_EQ(-EOPNOTSUPP, freeze(fd));
	EXPECT_EQ(-EOPNOTSUPP, thaw(fd));
	close(fd);
}

TEST_HARNESS_MAIN
