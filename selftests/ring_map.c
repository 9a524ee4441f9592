// SPDX-License-Identifier: GPL-2.0-only
/*
 * The device: binding, what may be mapped how, the life of mappings, poll and
 * read. The table of errors in the uapi header, row by row.
 */
#include "ktb_test.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#define ENTER		"raw_syscalls:sys_enter"
#define RING_SIZE	(16 * 4096UL)
#define PAGE		4096UL

FIXTURE(ring)
{
	struct ktb_nl nl;
	struct ktb_session s;
	int fd;			/* bound to all CPUs */
};

FIXTURE_SETUP(ring)
{
	ASSERT_CONTROL(&self->nl);
	ASSERT_EQ((long)PAGE, sysconf(_SC_PAGESIZE));
	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_ring", 0, RING_SIZE, &self->s));
	self->fd = ktb_dev_open_bind(self->s.id, -1);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(ring)
{
	close(self->fd);
	ktb_nl_close(&self->nl);
}

/* Make @count hits on @cpu, which the session's rings get, and detach. */
static int make_hits(struct ktb_nl *nl, __u32 session, int cpu, int count)
{
	struct ktb_worker w = {
		.cpu = cpu, .work = ktb_work_syscalls, .count = count, .magic = 0x1234,
	};
	struct ktb_event e;
	int error = ktb_worker_start(&w);

	if (error)
		return error;
	error = ktb_event_attach(nl, session, ENTER, w.tid, &e);
	if (!error) {
		ktb_worker_go(&w);
		if (!ktb_worker_wait(&w))
			error = -ETIMEDOUT;
		ktb_event_detach(nl, session, e.id, &e);
		if (!error && e.sum.written + ktb_ledger_lost(&e.sum) != (__u64)count)
			error = -EBADE;
	}
	ktb_worker_finish(&w);
	return error;
}

/* The error of an mmap(2), 0 if it worked. */
static int try_map(int fd, size_t len, int prot, int flags, long offset)
{
	void *at = mmap(NULL, len, prot, flags, fd, offset);

	if (at == MAP_FAILED)
		return errno;
	munmap(at, len);
	return 0;
}

TEST_F(ring, open_needs_privilege)
{
	pid_t pid = fork();

	if (!pid)
		_exit(ktb_keep_caps(1ULL << CAP_DAC_OVERRIDE | 1ULL << CAP_NET_ADMIN) ||
		      ktb_dev_open() != -EPERM);
	EXPECT_EQ(0, ktb_reap(pid));
	pid = fork();
	if (!pid)
		_exit(setresuid(NOBODY, NOBODY, NOBODY) || ktb_dev_open() != -EACCES);
	EXPECT_EQ(0, ktb_reap(pid));
	pid = fork();
	if (!pid)
		_exit(ktb_keep_caps(1ULL << CAP_PERFMON) || ktb_dev_open() < 0);
	EXPECT_EQ(0, ktb_reap(pid));
}

TEST_F(ring, bind)
{
	const struct ktb_bind unknown = {
		.session = self->s.id, .cpu = -1, .flags = KTB_BIND_EXCLUDE_SELF << 1,
	};
	const struct ktb_bind reserved = { .session = self->s.id, .cpu = -1, .reserved = 1 };
	int fd = ktb_dev_open();

	ASSERT_LE(0, fd);
	EXPECT_EQ(-ENOENT, ktb_dev_bind(fd, self->s.id + 100, -1));
	EXPECT_EQ(-ENOENT, ktb_dev_bind(fd, 0, -1));
	EXPECT_EQ(-ENXIO, ktb_dev_bind(fd, self->s.id, 4095));
	EXPECT_EQ(-ENXIO, ktb_dev_bind(fd, self->s.id, -2));
	EXPECT_EQ(-ENXIO, ktb_dev_bind(fd, self->s.id, 1 << 30));
	EXPECT_EQ(-EALREADY, ktb_dev_bind(self->fd, self->s.id, 0));
	EXPECT_EQ(-1, ioctl(fd, KTB_IOC_BIND, NULL));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(-1, ioctl(fd, KTB_IOC_BIND, &unknown));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, ioctl(fd, KTB_IOC_BIND, &reserved));
	EXPECT_EQ(EINVAL, errno);
	close(fd);
}

TEST_F(ring, second_reader)
{
	struct ktb_session s;
	int a, b;

	EXPECT_EQ(-EBUSY, ktb_dev_open_bind(self->s.id, -1));
	EXPECT_EQ(-EBUSY, ktb_dev_open_bind(self->s.id, 0));
	close(self->fd);
	a = ktb_dev_open_bind(self->s.id, 0);
	EXPECT_LE(0, a);
	EXPECT_EQ(-EBUSY, ktb_dev_open_bind(self->s.id, 0));
	EXPECT_EQ(-EBUSY, ktb_dev_open_bind(self->s.id, -1));
	if (ktb_cpus() > 1) {
		b = ktb_dev_open_bind(self->s.id, 1);
		EXPECT_LE(0, b);
		ASSERT_EQ(0, ktb_session_get(&self->nl, self->s.id, &s));
		EXPECT_EQ(2, s.nreaders);
		close(b);
	}
	ASSERT_EQ(0, ktb_session_get(&self->nl, self->s.id, &s));
	ASSERT_EQ(1, s.nreaders);
	EXPECT_EQ(0, s.reader[0].cpu);
	EXPECT_EQ(getpid(), s.reader[0].pid);
	EXPECT_STREQ("ring_map", s.reader[0].comm);
	close(a);
	self->fd = ktb_dev_open_bind(self->s.id, -1);
	EXPECT_LE(0, self->fd);
}

TEST_F(ring, ioctls)
{
	struct ktb_session s;
	int fd = ktb_dev_open();

	EXPECT_EQ(-1, ioctl(fd, KTB_IOC_ENABLE));
	EXPECT_EQ(ENOTCONN, errno);
	EXPECT_EQ(-1, ioctl(fd, KTB_IOC_DISABLE));
	EXPECT_EQ(ENOTCONN, errno);
	EXPECT_EQ(-1, ioctl(fd, KTB_IOC_FLUSH));
	EXPECT_EQ(ENOTCONN, errno);
	EXPECT_EQ(-1, ioctl(fd, _IO('k', 0xff)));
	EXPECT_EQ(ENOTTY, errno);
	/* The size is part of a number: another struct is another ioctl. */
	EXPECT_EQ(-1, ioctl(fd, _IOW('k', 0xb0, __u32), NULL));
	EXPECT_EQ(ENOTTY, errno);
	close(fd);

	ASSERT_EQ(0, ioctl(self->fd, KTB_IOC_DISABLE));
	ASSERT_EQ(0, ktb_session_get(&self->nl, self->s.id, &s));
	EXPECT_EQ(0, s.enabled);
	ASSERT_EQ(0, ioctl(self->fd, KTB_IOC_ENABLE));
	ASSERT_EQ(0, ktb_session_get(&self->nl, self->s.id, &s));
	EXPECT_EQ(1, s.enabled);
	EXPECT_EQ(0, ioctl(self->fd, KTB_IOC_FLUSH));
}

TEST_F(ring, unbound)
{
	int fd = ktb_dev_open();
	char buf[64];

	ASSERT_LE(0, fd);
	EXPECT_EQ(ENOTCONN, try_map(fd, PAGE, PROT_READ, MAP_SHARED, 0));
	EXPECT_EQ(-1, read(fd, buf, sizeof(buf)));
	EXPECT_EQ(ENOTCONN, errno);
	close(fd);
}

TEST_F(ring, control_page)
{
	struct ktb_ring_page *page;

	for (int cpu = 0; cpu < ktb_cpus(); cpu++) {
		page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd,
			    ktb_ring_offset(cpu));
		ASSERT_NE(MAP_FAILED, page);
		EXPECT_EQ(KTB_RING_MAGIC, page->magic);
		EXPECT_EQ(KTB_RING_VERSION, page->version);
		EXPECT_EQ(sizeof(*page), page->size);
		EXPECT_EQ(self->s.id, page->session);
		EXPECT_EQ(cpu, page->cpu);
		EXPECT_EQ(PAGE, page->data_offset);
		EXPECT_EQ(RING_SIZE, page->data_size);
		EXPECT_EQ(KTB_SAMPLE_TYPE, page->sample_type);
		EXPECT_EQ(CLOCK_MONOTONIC, page->clockid);
		EXPECT_EQ(self->s.flags, page->flags);
		EXPECT_EQ(0, page->data_head);
		EXPECT_EQ(0, page->data_tail);
		EXPECT_EQ(0, page->lost);
		munmap(page, PAGE);
	}
}

TEST_F(ring, permissions)
{
	const int rw = PROT_READ | PROT_WRITE;

	/* The control page */
	EXPECT_EQ(0, try_map(self->fd, PAGE, rw, MAP_SHARED, 0));
	EXPECT_EQ(0, try_map(self->fd, PAGE, PROT_READ, MAP_SHARED, 0));
	EXPECT_EQ(EACCES, try_map(self->fd, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, 0));
	EXPECT_EQ(EINVAL, try_map(self->fd, PAGE, rw, MAP_PRIVATE, 0));
	EXPECT_EQ(EINVAL, try_map(self->fd, PAGE, PROT_READ, MAP_PRIVATE, 0));
	/* The data, once and twice */
	for (int times = 1; times <= 2; times++) {
		size_t len = times * RING_SIZE;

		EXPECT_EQ(0, try_map(self->fd, len, PROT_READ, MAP_SHARED, PAGE));
		EXPECT_EQ(EACCES, try_map(self->fd, len, rw, MAP_SHARED, PAGE));
		EXPECT_EQ(EACCES, try_map(self->fd, len, PROT_READ | PROT_EXEC, MAP_SHARED, PAGE));
		EXPECT_EQ(EINVAL, try_map(self->fd, len, PROT_READ, MAP_PRIVATE, PAGE));
		/* Both in one */
		EXPECT_EQ(0, try_map(self->fd, PAGE + len, PROT_READ, MAP_SHARED, 0));
		EXPECT_EQ(EACCES, try_map(self->fd, PAGE + len, rw, MAP_SHARED, 0));
		EXPECT_EQ(EINVAL, try_map(self->fd, PAGE + len, PROT_READ, MAP_PRIVATE, 0));
	}
}

TEST_F(ring, mprotect)
{
	char *data = mmap(NULL, RING_SIZE, PROT_READ, MAP_SHARED, self->fd, PAGE);
	char *both = mmap(NULL, PAGE + RING_SIZE, PROT_READ, MAP_SHARED, self->fd, 0);
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd, 0);

	ASSERT_NE(MAP_FAILED, data);
	ASSERT_NE(MAP_FAILED, both);
	ASSERT_NE(MAP_FAILED, page);
	EXPECT_EQ(-1, mprotect(data, RING_SIZE, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-1, mprotect(data, PAGE, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-1, mprotect(data, RING_SIZE, PROT_READ | PROT_EXEC));
	EXPECT_EQ(EACCES, errno);
	/* Nor by way of the page that may be written when mapped alone. */
	EXPECT_EQ(-1, mprotect(both, PAGE, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-1, mprotect(both, PAGE + RING_SIZE, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-1, mprotect(page, PAGE, PROT_READ | PROT_EXEC));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(0, mprotect(page, PAGE, PROT_READ));
	EXPECT_EQ(0, mprotect(page, PAGE, PROT_READ | PROT_WRITE));
}

TEST_F(ring, offsets_and_lengths)
{
	static const struct {
		size_t len;
		long offset;
	} bad[] = {
		{ 2 * PAGE, 0 },			/* a part of the data */
		{ RING_SIZE, 0 },
		{ RING_SIZE + 2 * PAGE, 0 },
		{ 2 * RING_SIZE + 2 * PAGE, 0 },	/* more than twice */
		{ 3 * RING_SIZE + PAGE, 0 },
		{ PAGE, PAGE },
		{ RING_SIZE - PAGE, PAGE },
		{ RING_SIZE + PAGE, PAGE },
		{ 3 * RING_SIZE, PAGE },
		{ RING_SIZE, 2 * PAGE },		/* not from the beginning */
		{ RING_SIZE - PAGE, 2 * PAGE },
		{ PAGE, RING_SIZE },
		{ PAGE, KTB_RING_STRIDE - PAGE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(EINVAL, try_map(self->fd, bad[i].len, PROT_READ, MAP_SHARED,
					  bad[i].offset))
			TH_LOG("length %zu offset %ld", bad[i].len, bad[i].offset);
	}
	EXPECT_EQ(ENXIO, try_map(self->fd, PAGE, PROT_READ, MAP_SHARED, ktb_ring_offset(4095)));
	EXPECT_EQ(ENXIO, try_map(self->fd, PAGE, PROT_READ, MAP_SHARED,
				 ktb_ring_offset(ktb_cpus() + 64)));
}

TEST_F(ring, bound_to_one_cpu)
{
	if (ktb_cpus() < 2)
		SKIP(return, "needs two CPUs");
	close(self->fd);
	self->fd = ktb_dev_open_bind(self->s.id, 1);
	ASSERT_LE(0, self->fd);
	EXPECT_EQ(0, try_map(self->fd, PAGE, PROT_READ, MAP_SHARED, ktb_ring_offset(1)));
	EXPECT_EQ(ENXIO, try_map(self->fd, PAGE, PROT_READ, MAP_SHARED, ktb_ring_offset(0)));
}

TEST_F(ring, double_map)
{
	const struct ktb_ring_page *both;
	struct ktb_ring ring;
	struct ktb_walk walk = {};

	ASSERT_EQ(0, make_hits(&self->nl, self->s.id, 0, 50));
	ASSERT_EQ(0, ktb_ring_map(&ring, self->fd, 0));
	EXPECT_EQ(0, memcmp(ring.data, ring.data + RING_SIZE, RING_SIZE));
	both = mmap(NULL, PAGE + 2 * RING_SIZE, PROT_READ, MAP_SHARED, self->fd, 0);
	ASSERT_NE(MAP_FAILED, both);
	EXPECT_EQ(0, memcmp(ring.page, both, PAGE));
	EXPECT_EQ(0, memcmp(ring.data, (const char *)both + PAGE, 2 * RING_SIZE));
	ktb_ring_walk(&ring, &walk, NULL, NULL);
	EXPECT_EQ(50, walk.samples);
	EXPECT_EQ(0, walk.malformed);
	EXPECT_EQ(ring.page->data_head, both->data_tail);
}

/* A record that wraps around the end is read in one piece. */
TEST_F(ring, wraps)
{
	struct ktb_ring ring;
	__u64 samples = 0;

	ASSERT_EQ(0, ktb_ring_map(&ring, self->fd, 0));
	for (int round = 0; round < 6; round++) {
		struct ktb_walk walk = {};

		ASSERT_EQ(0, make_hits(&self->nl, self->s.id, 0, 171));
		ktb_ring_walk(&ring, &walk, NULL, NULL);
		EXPECT_EQ(171, walk.samples);
		EXPECT_EQ(0, walk.malformed);
		EXPECT_EQ(0, walk.lost);
		samples += walk.bytes;
	}
	EXPECT_LT(RING_SIZE, samples);
	EXPECT_EQ(samples, ring.page->data_head);
}

static void expect_readable(struct __test_metadata *_metadata, struct ktb_ring *ring, int count)
{
	struct ktb_walk walk = {};

	ktb_ring_walk(ring, &walk, NULL, NULL);
	EXPECT_EQ(count, walk.samples);
	EXPECT_EQ(0, walk.malformed);
}

TEST_F(ring, survives_session_del)
{
	struct ktb_ring ring;

	ASSERT_EQ(0, ktb_ring_map(&ring, self->fd, 0));
	ASSERT_EQ(0, make_hits(&self->nl, self->s.id, 0, 20));
	ASSERT_EQ(0, ktb_session_del(&self->nl, self->s.id));
	expect_readable(_metadata, &ring, 20);
	close(self->fd);
	EXPECT_EQ(KTB_RING_MAGIC, ring.page->magic);
	ktb_ring_unmap(&ring);
}

/* The mapping keeps the binding when the descriptor is closed. */
TEST_F(ring, survives_close)
{
	struct ktb_session s;
	struct ktb_ring ring;

	ASSERT_EQ(0, ktb_ring_map(&ring, self->fd, 0));
	close(self->fd);
	ASSERT_EQ(0, make_hits(&self->nl, self->s.id, 0, 20));
	expect_readable(_metadata, &ring, 20);
	EXPECT_EQ(-EBUSY, ktb_dev_open_bind(self->s.id, 0));
	ASSERT_EQ(0, ktb_session_get(&self->nl, self->s.id, &s));
	EXPECT_EQ(1, s.nreaders);
	ktb_ring_unmap(&ring);
	self->fd = ktb_dev_open_bind(self->s.id, -1);
	EXPECT_LE(0, self->fd);
}

TEST_F(ring, fork)
{
	struct ktb_ring ring;
	pid_t pid;

	ASSERT_EQ(0, ktb_ring_map(&ring, self->fd, 0));
	ASSERT_EQ(0, make_hits(&self->nl, self->s.id, 0, 20));
	pid = fork();
	if (!pid) {
		struct ktb_walk walk = {};

		/* The child's mapping is as good as the parent's, and its own. */
		ktb_ring_walk(&ring, &walk, NULL, NULL);
		ktb_ring_unmap(&ring);
		_exit(walk.samples != 20 || walk.malformed);
	}
	EXPECT_EQ(0, ktb_reap(pid));
	EXPECT_EQ(ring.page->data_head, ring.page->data_tail);
	ring.tail = ring.page->data_tail;
	ASSERT_EQ(0, make_hits(&self->nl, self->s.id, 0, 5));
	expect_readable(_metadata, &ring, 5);

	/* The session and its maker gone, the child's mapping is all there is. */
	pid = fork();
	if (!pid) {
		while (__atomic_load_n(&ring.page->data_tail, __ATOMIC_ACQUIRE) != 8)
			sched_yield();
		_exit(ring.page->magic != KTB_RING_MAGIC ||
		      memcmp(ring.data, ring.data + RING_SIZE, RING_SIZE));
	}
	ASSERT_EQ(0, ktb_session_del(&self->nl, self->s.id));
	munmap((void *)ring.data, 2 * RING_SIZE);
	close(self->fd);
	__atomic_store_n(&ring.page->data_tail, 8, __ATOMIC_RELEASE);
	munmap(ring.page, PAGE);
	EXPECT_EQ(0, ktb_reap(pid));
}

TEST_F(ring, partial_munmap)
{
	struct ktb_ring ring;

	ASSERT_EQ(0, ktb_ring_map(&ring, self->fd, 0));
	ASSERT_EQ(0, make_hits(&self->nl, self->s.id, 0, 300));
	/* A hole in the middle, then the beginning, then the end. */
	EXPECT_EQ(0, munmap((char *)ring.data + 4 * PAGE, 2 * PAGE));
	EXPECT_EQ(0, memcmp(ring.data, ring.data + RING_SIZE, 4 * PAGE));
	EXPECT_EQ(0, munmap((char *)ring.data, PAGE));
	EXPECT_EQ(0, munmap((char *)ring.data + 2 * RING_SIZE - PAGE, PAGE));
	EXPECT_EQ(0, memcmp(ring.data + PAGE, ring.data + RING_SIZE + PAGE, 3 * PAGE));
	EXPECT_EQ(0, munmap((char *)ring.data, 2 * RING_SIZE));
	EXPECT_EQ(0, munmap(ring.page, PAGE));
	/* Whole again */
	EXPECT_EQ(0, try_map(self->fd, 2 * RING_SIZE, PROT_READ, MAP_SHARED, PAGE));
}

TEST_F(ring, mremap)
{
	char *data = mmap(NULL, RING_SIZE, PROT_READ, MAP_SHARED, self->fd, PAGE);
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd, 0);
	char *moved;

	ASSERT_NE(MAP_FAILED, data);
	ASSERT_NE(MAP_FAILED, page);
	EXPECT_EQ(MAP_FAILED, mremap(data, RING_SIZE, 2 * RING_SIZE, MREMAP_MAYMOVE));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(MAP_FAILED, mremap(page, PAGE, 2 * PAGE, MREMAP_MAYMOVE));
	EXPECT_EQ(EFAULT, errno);
	/* To move it, or to give a part up, is the reader's own business. */
	moved = mremap(data, RING_SIZE, RING_SIZE, MREMAP_MAYMOVE | MREMAP_FIXED,
		       data + 16 * RING_SIZE);
	ASSERT_NE(MAP_FAILED, moved);
	EXPECT_EQ(0, moved[0]);
	EXPECT_EQ(moved, mremap(moved, RING_SIZE, PAGE, 0));
}

static int poll_fd(int fd, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int n = poll(&p, 1, timeout_ms);

	return n < 0 ? -errno : n ? p.revents : 0;
}

TEST_F(ring, poll_in)
{
	struct ktb_ring ring;

	EXPECT_EQ(0, poll_fd(self->fd, 0));
	ASSERT_EQ(0, make_hits(&self->nl, self->s.id, 0, 1));
	EXPECT_EQ(POLLIN, poll_fd(self->fd, 5000));
	ASSERT_EQ(0, ktb_ring_map(&ring, self->fd, 0));
	expect_readable(_metadata, &ring, 1);
	EXPECT_EQ(0, poll_fd(self->fd, 0));
}

/* A poll that sleeps is woken by a hit on any CPU. */
TEST_F(ring, poll_wakes)
{
	struct ktb_worker w = { .work = ktb_work_syscalls, .count = 1 };
	struct ktb_event e;
	struct ktb_ring ring;

	for (w.cpu = 0; w.cpu < ktb_cpus(); w.cpu++) {
		pid_t pid;

		ASSERT_EQ(0, ktb_worker_start(&w));
		ASSERT_EQ(0, ktb_event_attach(&self->nl, self->s.id, ENTER, w.tid, &e));
		pid = fork();
		if (!pid)
			_exit(poll_fd(self->fd, 10000) != POLLIN);
		/* Asleep, or about to be: either has to be woken. */
		ktb_wait_for(ktb_is_asleep(pid), 5);
		ktb_worker_go(&w);
		ASSERT_TRUE(ktb_worker_wait(&w));
		EXPECT_EQ(0, ktb_reap(pid));
		ASSERT_EQ(0, ktb_event_detach(&self->nl, self->s.id, e.id, NULL));
		ktb_worker_finish(&w);
		ASSERT_EQ(0, ktb_ring_map(&ring, self->fd, w.cpu));
		expect_readable(_metadata, &ring, 1);
		ktb_ring_unmap(&ring);
	}
}

/*
 * Below the watermark a reader sleeps on, but not for ever: a lone record, and
 * one that the watermark could never be reached with, arrives all the same.
 */
TEST_F(ring, watermark)
{
	static const __u32 watermark[] = { RING_SIZE / 2, RING_SIZE, ~0U };
	struct ktb_worker w = { .work = ktb_work_syscalls, .count = 1 };
	struct ktb_event e;
	struct ktb_ring ring;
	struct ktb_msg m;

	ASSERT_EQ(0, ktb_ring_map(&ring, self->fd, 0));
	ASSERT_EQ(0, ktb_worker_start(&w));
	ASSERT_EQ(0, ktb_event_attach(&self->nl, self->s.id, ENTER, w.tid, &e));
	for (size_t i = 0; i < ARRAY_SIZE(watermark); i++) {
		ktb_msg_init(&self->nl, &m, KTB_CMD_SESSION_SET, 0);
		ktb_put_u32(&m, KTB_A_SESSION_ID, self->s.id);
		ktb_put_u32(&m, KTB_A_SESSION_WATERMARK, watermark[i]);
		if (ktb_nl_do(&self->nl, &m, NULL, NULL)) {
			EXPECT_LT(0, i); /* half a ring can be reached */
			EXPECT_TRUE(!!strstr(self->nl.text, "watermark"));
			continue;
		}
		ktb_worker_go(&w);
		ASSERT_TRUE(ktb_worker_wait(&w));
		EXPECT_EQ(POLLIN, poll_fd(self->fd, 5000));
		expect_readable(_metadata, &ring, 1);
		/* Flushed, it is there at once, without the second look at a ring. */
		usleep(150000);
		ktb_worker_go(&w);
		ASSERT_TRUE(ktb_worker_wait(&w));
		ASSERT_EQ(0, ioctl(self->fd, KTB_IOC_FLUSH));
		EXPECT_EQ(POLLIN, poll_fd(self->fd, 0));
		expect_readable(_metadata, &ring, 1);
		EXPECT_EQ(0, poll_fd(self->fd, 0));
	}
	ktb_worker_finish(&w);
}

TEST_F(ring, poll_hup)
{
	pid_t pid = fork();

	if (!pid)
		_exit(!(poll_fd(self->fd, 10000) & POLLHUP));
	ktb_wait_for(ktb_is_asleep(pid), 5);
	ASSERT_EQ(0, ktb_session_del(&self->nl, self->s.id));
	EXPECT_EQ(0, ktb_reap(pid));
	EXPECT_TRUE(poll_fd(self->fd, 0) & POLLHUP);
}

TEST_F(ring, read_whole_records)
{
	char buf[1024];
	ssize_t len, total = 0;
	int records = 0, flags = fcntl(self->fd, F_GETFL);

	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, flags | O_NONBLOCK));
	EXPECT_EQ(-1, read(self->fd, buf, sizeof(buf)));
	EXPECT_EQ(EAGAIN, errno);

	ASSERT_EQ(0, make_hits(&self->nl, self->s.id, 0, 50));
	EXPECT_EQ(-1, read(self->fd, buf, 16));
	EXPECT_EQ(EMSGSIZE, errno);
	while ((len = read(self->fd, buf, sizeof(buf))) > 0) {
		for (ssize_t at = 0; at < len;) {
			const struct perf_event_header *h = (const void *)(buf + at);
			struct ktb_sample s;

			ASSERT_LE(at + h->size, len);
			ASSERT_TRUE(ktb_record_parse(h, &s));
			EXPECT_EQ(PERF_RECORD_SAMPLE, s.type);
			at += h->size;
			records++;
		}
		total += len;
	}
	EXPECT_EQ(EAGAIN, errno);
	EXPECT_EQ(50, records);
	EXPECT_LT((ssize_t)sizeof(buf), total);
}

/* read(2) and the mapping share one position. */
TEST_F(ring, read_and_mapping)
{
	struct ktb_ring ring;
	char buf[144];	/* one record, of 128 bytes, or 136 where common fields are more */

	ASSERT_EQ(0, make_hits(&self->nl, self->s.id, 0, 10));
	ASSERT_EQ(0, ktb_ring_map(&ring, self->fd, 0));
	EXPECT_LT(0, read(self->fd, buf, sizeof(buf)));
	EXPECT_NE(0, ring.page->data_tail);
	ring.tail = ring.page->data_tail;
	expect_readable(_metadata, &ring, 9);
}

TEST_F(ring, read_blocks)
{
	struct ktb_worker w = { .cpu = 0, .work = ktb_work_syscalls, .count = 1 };
	struct ktb_event e;
	pid_t pid;

	ASSERT_EQ(0, ktb_worker_start(&w));
	ASSERT_EQ(0, ktb_event_attach(&self->nl, self->s.id, ENTER, w.tid, &e));
	pid = fork();
	if (!pid) {
		char buf[4096];

		alarm(10 * ktb_timeout_scale());
		_exit(read(self->fd, buf, sizeof(buf)) <= 0);
	}
	ktb_wait_for(ktb_is_asleep(pid), 5);
	ktb_worker_go(&w);
	ASSERT_TRUE(ktb_worker_wait(&w));
	EXPECT_EQ(0, ktb_reap(pid));
	ASSERT_EQ(0, ktb_event_detach(&self->nl, self->s.id, e.id, NULL));
	ktb_worker_finish(&w);
}

/* After the session's end: the rest, then end of file. */
TEST_F(ring, read_after_del)
{
	char buf[4096];

	ASSERT_EQ(0, make_hits(&self->nl, self->s.id, 0, 3));
	ASSERT_EQ(0, ktb_session_del(&self->nl, self->s.id));
	EXPECT_LT(0, read(self->fd, buf, sizeof(buf)));
	EXPECT_EQ(0, read(self->fd, buf, sizeof(buf)));
}

TEST_F(ring, read_with_wrong_tail)
{
	struct ktb_ring ring;
	char buf[4096];

	ASSERT_EQ(0, make_hits(&self->nl, self->s.id, 0, 10));
	ASSERT_EQ(0, ktb_ring_map(&ring, self->fd, 0));
	ring.page->data_tail = 4;
	EXPECT_EQ(-1, read(self->fd, buf, sizeof(buf)));
	EXPECT_EQ(EIO, errno);
	ring.page->data_tail = ring.page->data_head + 8;
	EXPECT_EQ(-1, read(self->fd, buf, sizeof(buf)));
	EXPECT_EQ(EIO, errno);
	ring.page->data_tail = 0;
	EXPECT_LT(0, read(self->fd, buf, sizeof(buf)));
}

/*
 * What a reader writes over the control page spoils its own view only: the
 * ledger goes on, and with the page put right so does reading.
 */
TEST_F(ring, scribbled_control_page)
{
	static const __u64 bad[] = { 1, 7, RING_SIZE, ~0ULL, 1ULL << 63 };
	struct ktb_worker w = { .cpu = 0, .work = ktb_work_syscalls, .count = 100 };
	struct ktb_event e;
	struct ktb_ring ring;
	__u64 head;

	ASSERT_EQ(0, ktb_ring_map(&ring, self->fd, 0));
	ASSERT_EQ(0, ktb_worker_start(&w));
	ASSERT_EQ(0, ktb_event_attach(&self->nl, self->s.id, ENTER, w.tid, &e));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		head = ring.page->data_head;
		ring.page->data_head = bad[i];
		ring.page->data_size = bad[i];
		ring.page->data_offset = bad[i];
		ring.page->data_tail = head + bad[i];
		ktb_worker_go(&w);
		ASSERT_TRUE(ktb_worker_wait(&w));
		ASSERT_EQ(0, ktb_event_get(&self->nl, self->s.id, e.id, &e));
		EXPECT_LEDGER(&e.sum);
		EXPECT_EQ(100 * (i + 1), ktb_ledger_own(&e.sum));
		/* A hit that is lost publishes nothing: the head comes back with
		 * the next that is not.
		 */
		ring.page->data_tail = head;
	}
	ASSERT_EQ(0, ktb_event_detach(&self->nl, self->s.id, e.id, &e));
	EXPECT_LEDGER(&e.sum);
	ktb_worker_finish(&w);
}

/* A position that can be no record's is not handed on to the next reader. */
TEST_F(ring, tail_left_between_words)
{
	struct ktb_walk walk = {};
	struct ktb_ring ring;

	ASSERT_EQ(0, make_hits(&self->nl, self->s.id, 0, 10));
	ASSERT_EQ(0, ktb_ring_map(&ring, self->fd, 0));
	ring.page->data_tail = 4;
	ktb_ring_unmap(&ring);
	close(self->fd);
	self->fd = ktb_dev_open_bind(self->s.id, 0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, ktb_ring_map(&ring, self->fd, 0));
	EXPECT_EQ(0, ring.page->data_tail);
	ktb_ring_walk(&ring, &walk, NULL, NULL);
	EXPECT_EQ(10, walk.samples);
	EXPECT_EQ(0, walk.malformed);
	ktb_ring_unmap(&ring);
}

/* What a killed reader had not given back is there for the next, exactly. */
TEST_F(ring, killed_reader)
{
	struct ktb_walk walk = {};
	struct ktb_ring ring;
	int ready[2], fd = -1;
	char c;
	pid_t pid;

	close(self->fd);
	ASSERT_EQ(0, make_hits(&self->nl, self->s.id, 0, 100));
	ASSERT_EQ(0, pipe(ready));
	pid = fork();
	if (!pid) {
		fd = ktb_dev_open_bind(self->s.id, -1);
		if (fd < 0 || ktb_ring_map(&ring, fd, 0))
			_exit(1);
		for (int i = 0; i < 30; i++)
			ktb_ring_next(&ring);
		ktb_ring_release(&ring);
		for (int i = 0; i < 30; i++)
			ktb_ring_next(&ring);
		if (write(ready[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	ASSERT_EQ(1, read(ready[0], &c, 1));
	EXPECT_EQ(-EBUSY, ktb_dev_open_bind(self->s.id, 0));
	kill(pid, SIGKILL);
	EXPECT_EQ(128 + SIGKILL, ktb_reap(pid));
	/* The last reference to the file may be dropped a moment later. */
	EXPECT_TRUE(ktb_wait_for((fd = ktb_dev_open_bind(self->s.id, 0)) != -EBUSY, 10));
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ktb_ring_map(&ring, fd, 0));
	ktb_ring_walk(&ring, &walk, NULL, NULL);
	EXPECT_EQ(70, walk.samples);
	EXPECT_EQ(0, walk.malformed);
	self->fd = fd;
}

TEST_HARNESS_MAIN
