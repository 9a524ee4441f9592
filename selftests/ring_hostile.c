// SPDX-License-Identifier: GPL-2.0-only
/*
 * A hostile reader: a process that writes random values over all it can map for
 * writing, while events are written at full speed, spoils its own view and
 * nothing else. For a minute in all with KTB_LONG=1.
 */
#include "ktb_test.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#define ENTER		"raw_syscalls:sys_enter"
#define EXIT		"raw_syscalls:sys_exit"
#define WAKING		"sched:sched_waking"
#define PAGE		4096UL
#define MAGIC		0x6b746200ULL

FIXTURE(hostile)
{
	struct ktb_nl nl;
	struct ktb_session s;
	int ncpus;
	bool stop;
	struct ktb_worker w[KTB_MAX_CPUS];
};

FIXTURE_SETUP(hostile)
{
	ASSERT_CONTROL(&self->nl);
	self->ncpus = ktb_cpus();
}

FIXTURE_TEARDOWN(hostile)
{
	ktb_session_sweep(&self->nl);
	ktb_nl_close(&self->nl);
}

static __u64 next_random(__u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* A value that may do harm: near a position, near an end, a power of two, any. */
static __u64 nasty(const struct ktb_ring_page *page, __u64 *state, __u64 size)
{
	__u64 n = next_random(state), near = (n >> 8) % 64 * 8 - 256;

	switch (n % 6) {
	case 0: return page->data_head + near;
	case 1: return page->data_head - size + near;
	case 2: return page->data_head + size + near;
	case 3: return 1ULL << (n >> 8) % 64;
	case 4: return near;
	default: return n;
	}
}

/* Write over all control pages until killed, the rest of the interface in between. */
static void scribble(__u32 session, int ncpus, __u64 size, __u64 seed)
{
	__u64 *words[KTB_MAX_CPUS];
	int fd = ktb_dev_open_bind(session, -1);
	char buf[512];

	if (fd < 0 || fcntl(fd, F_SETFL, O_NONBLOCK))
		_exit(1);
	for (int i = 0; i < ncpus; i++) {
		words[i] = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
				ktb_ring_offset(i));
		if (words[i] == MAP_FAILED)
			_exit(1);
	}
	for (__u64 turn = 0;; turn++) {
		__u64 *page = words[next_random(&seed) % ncpus];
		__u64 at = next_random(&seed) % (PAGE / 8);

		/* Half of them where it matters most. */
		if (turn % 2)
			at = offsetof(struct ktb_ring_page, data_tail) / 8;
		__atomic_store_n(&page[at], nasty((const void *)page, &seed, size),
				 __ATOMIC_RELAXED);
		if (turn % 64 == 0) {
			struct pollfd p = { .fd = fd, .events = POLLIN };

			poll(&p, 1, 0);
			(void)!read(fd, buf, sizeof(buf));
			ioctl(fd, KTB_IOC_FLUSH);
		}
	}
}

static void work_flood(struct ktb_worker *w)
{
	const bool *stop = w->arg;

	for (w->count = 0; !__atomic_load_n(stop, __ATOMIC_RELAXED); w->count++)
		syscall(SYS_getppid, w->magic, w->count);
}

static void count_magic(const struct ktb_sample *s, void *arg)
{
	(void)s;
	++*(__u64 *)arg;
}

/*
 * Some seconds of it with one ring size. Its hits are counted by those who make
 * them; afterwards the next reader gets sane records.
 */
static void attack(struct __test_metadata *_metadata, FIXTURE_DATA(hostile) *self, __u64 size,
		   int seconds)
{
	static const char * const names[] = { ENTER, EXIT, WAKING };
	struct ktb_event e[ARRAY_SIZE(names)];
	const struct ktb_worker *last = &self->w[self->ncpus - 1];
	__u64 lost = 0, ring_lost = 0, seen = 0;
	struct ktb_session s;
	static char left[65536];
	int fd, flags;
	pid_t pid;

	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_hostile", 0, size, &self->s));
	self->stop = false;
	for (int i = 0; i < self->ncpus; i++) {
		self->w[i] = (struct ktb_worker) {
			.cpu = i, .work = work_flood, .magic = MAGIC, .arg = &self->stop,
		};
		ASSERT_EQ(0, ktb_worker_start(&self->w[i]));
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		ASSERT_EQ(0, ktb_event_attach(&self->nl, self->s.id, names[i], i ? 0 : last->tid,
					      &e[i]))
			TH_LOG("%s", self->nl.text);
	}
	pid = fork();
	if (!pid)
		scribble(self->s.id, self->ncpus, size, 88172645463325252ULL + size);
	for (int i = 0; i < self->ncpus; i++)
		ktb_worker_go(&self->w[i]);
	sleep(seconds);
	__atomic_store_n(&self->stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < self->ncpus; i++) {
		ASSERT_TRUE(ktb_worker_wait(&self->w[i]));
	}
	kill(pid, SIGKILL);
	EXPECT_EQ(128 + SIGKILL, ktb_reap(pid));
	ASSERT_EQ(0, ktb_session_enable(&self->nl, self->s.id, false));

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		ASSERT_EQ(0, ktb_event_get(&self->nl, self->s.id, e[i].id, &e[i]));
		EXPECT_LEDGER(&e[i].sum);
		EXPECT_LT(0, e[i].sum.hits);
		lost += ktb_ledger_lost(&e[i].sum);
	}
	EXPECT_EQ(last->count, ktb_ledger_own(&e[0].sum));
	EXPECT_LT(100, last->count);
	ASSERT_EQ(0, ktb_session_get(&self->nl, self->s.id, &s));
	for (int i = 0; i < s.nrings; i++)
		ring_lost += s.ring[i].lost;
	EXPECT_EQ(lost, ring_lost);

	/* Whatever the pages say, binding puts them right: sane from there on. */
	ASSERT_TRUE(ktb_wait_for((fd = ktb_dev_open_bind(self->s.id, -1)) != -EBUSY, 10));
	ASSERT_LE(0, fd);
	for (int i = 0; i < self->ncpus; i++) {
		struct ktb_ring ring;

		ASSERT_EQ(0, ktb_ring_map(&ring, fd, i));
		EXPECT_EQ(KTB_RING_MAGIC, ring.page->magic);
		EXPECT_EQ(size, ring.page->data_size);
		EXPECT_EQ(PAGE, ring.page->data_offset);
		EXPECT_EQ((__u32)i, ring.page->cpu);
		EXPECT_EQ(self->s.id, ring.page->session);
		EXPECT_EQ(s.ring[i].head, ring.page->data_head);
		EXPECT_EQ(s.ring[i].lost, ring.page->lost);
		EXPECT_GE(size, s.ring[i].head - ring.page->data_tail)
			TH_LOG("tail %llu, head %llu", ring.page->data_tail, s.ring[i].head);
		ktb_ring_unmap(&ring);
	}
	/* Wherever in a record it left off, what is there now is records. */
	flags = fcntl(fd, F_GETFL);
	ASSERT_EQ(0, fcntl(fd, F_SETFL, flags | O_NONBLOCK));
	while (read(fd, left, sizeof(left)) > 0)
		continue;
	EXPECT_EQ(EAGAIN, errno);
	ASSERT_EQ(0, ktb_session_enable(&self->nl, self->s.id, true));
	for (int i = 0; i < self->ncpus; i++) {
		struct ktb_walk walk = {};
		struct ktb_ring ring;

		ASSERT_EQ(0, ktb_ring_map(&ring, fd, i));
		self->stop = false;
		self->w[i].count = 0;
		ktb_worker_go(&self->w[i]);
		ASSERT_TRUE(ktb_wait_for(__atomic_load_n(&self->w[i].count, __ATOMIC_RELAXED), 10));
		__atomic_store_n(&self->stop, true, __ATOMIC_RELAXED);
		ASSERT_TRUE(ktb_worker_wait(&self->w[i]));
		ktb_ring_walk(&ring, &walk, count_magic, &seen);
		EXPECT_LT(0, walk.samples);
		EXPECT_EQ(0, walk.malformed);
		ktb_ring_unmap(&ring);
		ktb_worker_finish(&self->w[i]);
	}
	EXPECT_LT(0, seen);
	close(fd);
	ASSERT_EQ(0, ktb_session_del(&self->nl, self->s.id));
}

static int seconds(void)
{
	return ktb_long() ? 20 : 3;
}

TEST_F_TIMEOUT(hostile, one_page, 90)
{
	attack(_metadata, self, PAGE, seconds());
}

TEST_F_TIMEOUT(hostile, sixteen_pages, 90)
{
	attack(_metadata, self, 16 * PAGE, seconds());
}

TEST_F_TIMEOUT(hostile, megabyte, 90)
{
	attack(_metadata, self, 1 << 20, seconds());
}

TEST_HARNESS_MAIN
