// SPDX-License-Identifier: GPL-2.0-only
/*
 * Wake-ups: when a sleeping reader is woken, and how often. poll and epoll, on all
 * CPUs and on one, several readers, many sessions, read(2).
 */
#include "ktb_test.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>

#define ENTER		"raw_syscalls:sys_enter"
#define RING_SIZE	(64 * 1024UL)
#define MS		1000000ULL
#define MANY		16

/* For what the host takes away from an emulated guest. */
static __u64 slack(void)
{
	return 400 * MS * ktb_timeout_scale();
}

/* A thread that hits one session's event; with hit_now(), the time of its last hit. */
struct source {
	struct ktb_worker w;
	struct ktb_event e;
	__u64 at;
};

static void hit_now(struct ktb_worker *w)
{
	struct source *s = w->arg;

	for (__u64 i = 0; i < w->count; i++) {
		__atomic_store_n(&s->at, ktb_now(), __ATOMIC_RELEASE);
		syscall(SYS_getppid, w->magic, i);
	}
}

FIXTURE(wake)
{
	struct ktb_nl nl;
	struct ktb_session s;
	int last;		/* CPU */
};

FIXTURE_SETUP(wake)
{
	ASSERT_CONTROL(&self->nl);
	self->last = ktb_cpus() - 1;
	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_wake", 0, RING_SIZE, &self->s));
}

FIXTURE_TEARDOWN(wake)
{
	ktb_session_sweep(&self->nl);
	ktb_nl_close(&self->nl);
}

static void source_start(struct __test_metadata *_metadata, struct ktb_nl *nl, __u32 session,
			 struct source *s, int cpu, void (*work)(struct ktb_worker *w))
{
	s->w = (struct ktb_worker) { .cpu = cpu, .work = work, .count = 1, .arg = s };
	ASSERT_EQ(0, ktb_worker_start(&s->w));
	ASSERT_EQ(0, ktb_event_attach(nl, session, ENTER, s->w.tid, &s->e))
		TH_LOG("%s", nl->text);
}

static void hit(struct __test_metadata *_metadata, struct source *s, __u64 count)
{
	s->w.count = count;
	ktb_worker_go(&s->w);
	ASSERT_TRUE(ktb_worker_wait(&s->w));
}

/* A child that sleeps until its descriptor is readable, and says when that was. */
struct sleeper {
	pid_t pid;
	int fd;
	int said;
};

static int sleeper_poll(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 15000) == 1 && p.revents == POLLIN ? 0 : -1;
}

static void sleeper_start(struct __test_metadata *_metadata, struct sleeper *s, int fd)
{
	int said[2];

	s->fd = fd;
	ASSERT_EQ(0, pipe(said));
	s->pid = fork();
	if (!s->pid) {
		__u64 now = sleeper_poll(fd) ? 0 : ktb_now();

		_exit(write(said[1], &now, sizeof(now)) != sizeof(now));
	}
	close(said[1]);
	s->said = said[0];
	ASSERT_TRUE(ktb_wait_for(ktb_is_asleep(s->pid), 10));
}

/* The time at which it was woken; 0 if it was not. */
static __u64 sleeper_woken(struct __test_metadata *_metadata, struct sleeper *s)
{
	__u64 now = 0;

	EXPECT_EQ((ssize_t)sizeof(now), read(s->said, &now, sizeof(now)));
	close(s->said);
	EXPECT_EQ(0, ktb_reap(s->pid));
	EXPECT_NE(0, now);
	return now;
}

static __u64 wakeups(struct __test_metadata *_metadata, struct ktb_nl *nl, __u32 session, int cpu)
{
	struct ktb_session s;

	ASSERT_EQ(0, ktb_session_get(nl, session, &s));
	for (int i = 0; i < s.nrings; i++)
		if (s.ring[i].cpu == (__u32)cpu)
			return s.ring[i].wakeups;
	return 0;
}

static void set_watermark(struct __test_metadata *_metadata, struct ktb_nl *nl, __u32 session,
			  __u32 watermark)
{
	struct ktb_msg m;

	ktb_msg_init(nl, &m, KTB_CMD_SESSION_SET, 0);
	ktb_put_u32(&m, KTB_A_SESSION_ID, session);
	ktb_put_u32(&m, KTB_A_SESSION_WATERMARK, watermark);
	ASSERT_EQ(0, ktb_nl_do(nl, &m, NULL, NULL));
}

static bool drained(int fd)
{
	char buf[65536];
	ssize_t n;

	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	do {
		n = read(fd, buf, sizeof(buf));
	} while (n > 0);
	return n == -1 && errno == EAGAIN;
}

/*
 * A lone hit, whatever the watermark: it is below it, and yet it arrives; the
 * module promises 100 ms.
 */
static void lone_hit(struct __test_metadata *_metadata, FIXTURE_DATA(wake) *self, int bound)
{
	struct source source;
	struct sleeper sleeper;
	__u64 best = ~0ULL, took;
	int fd = ktb_dev_open_bind(self->s.id, bound);

	ASSERT_LE(0, fd);
	set_watermark(_metadata, &self->nl, self->s.id, RING_SIZE / 2);
	source_start(_metadata, &self->nl, self->s.id, &source, self->last, hit_now);
	for (int round = 0; round < 5; round++) {
		sleeper_start(_metadata, &sleeper, fd);
		hit(_metadata, &source, 1);
		took = sleeper_woken(_metadata, &sleeper);
		/* Looking at the clock may be a system call, and hit, itself. */
		took = took > source.at ? took - source.at : 0;
		EXPECT_GT(100 * MS + slack(), took);
		if (took < best)
			best = took;
		ASSERT_TRUE(drained(fd));
	}
	/* The host may have taken its time once, but not each time. */
	EXPECT_GT(100 * MS, best);
	close(fd);
	ktb_worker_finish(&source.w);
}

TEST_F_TIMEOUT(wake, lone_hit_all_cpus, 60)
{
	lone_hit(_metadata, self, -1);
}

TEST_F_TIMEOUT(wake, lone_hit_one_cpu, 60)
{
	lone_hit(_metadata, self, self->last);
}

/* Bound to one CPU, a reader sleeps through hits on others. */
TEST_F_TIMEOUT(wake, other_cpus_hit, 60)
{
	struct pollfd p = { .events = POLLIN };
	struct source source;

	if (!self->last)
		SKIP(return, "needs two CPUs");
	p.fd = ktb_dev_open_bind(self->s.id, 0);
	ASSERT_LE(0, p.fd);
	source_start(_metadata, &self->nl, self->s.id, &source, self->last, ktb_work_syscalls);
	hit(_metadata, &source, 50);
	EXPECT_EQ(0, poll(&p, 1, 300));
	close(p.fd);
	p.fd = ktb_dev_open_bind(self->s.id, self->last);
	EXPECT_EQ(1, poll(&p, 1, 0));
	close(p.fd);
	ktb_worker_finish(&source.w);
}

/*
 * Thousands of hits, and a reader that sleeps now and then. poll(2) looks at the
 * ring before it sleeps and after, and each look asks to be told once; what is
 * unread is looked after every LINGER at most.
 */
#define LINGER	(50 * MS)

TEST_F_TIMEOUT(wake, no_storm, 60)
{
	struct pollfd p = { .events = POLLIN };
	struct source source;
	__u64 before, start, sleeps = 0, seen;

	p.fd = ktb_dev_open_bind(self->s.id, -1);
	ASSERT_LE(0, p.fd);
	source_start(_metadata, &self->nl, self->s.id, &source, self->last, ktb_work_syscalls);
	before = wakeups(_metadata, &self->nl, self->s.id, self->last);
	/*
	 * Nobody sleeps, but a ring begins as if somebody did: it tells once after a
	 * while, and once at the watermark.
	 */
	hit(_metadata, &source, 300);
	usleep(200000);
	seen = wakeups(_metadata, &self->nl, self->s.id, self->last) - before;
	EXPECT_GE(2, seen);
	ASSERT_TRUE(drained(p.fd));

	before = wakeups(_metadata, &self->nl, self->s.id, self->last);
	source.w.count = 3000;
	start = ktb_now();
	ktb_worker_go(&source.w);
	while (!ktb_worker_done(&source.w)) {
		sleeps++;
		poll(&p, 1, 1000);
		drained(p.fd);
	}
	seen = wakeups(_metadata, &self->nl, self->s.id, self->last) - before;
	EXPECT_GE(2 * sleeps + 1 + (ktb_now() - start) / LINGER, seen)
		TH_LOG("%llu wake-ups, %llu sleeps, 3000 hits", seen, sleeps);
	EXPECT_LT(0, seen);
	close(p.fd);
	ktb_worker_finish(&source.w);
}

TEST_F_TIMEOUT(wake, epoll, 60)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int level = epoll_create1(0), edge = epoll_create1(0), fd;
	struct source source;

	fd = ktb_dev_open_bind(self->s.id, -1);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, epoll_ctl(level, EPOLL_CTL_ADD, fd, &ev));
	ev.events = EPOLLIN | EPOLLET;
	ASSERT_EQ(0, epoll_ctl(edge, EPOLL_CTL_ADD, fd, &ev));
	source_start(_metadata, &self->nl, self->s.id, &source, self->last, ktb_work_syscalls);
	EXPECT_EQ(0, epoll_wait(level, &ev, 1, 0));
	EXPECT_EQ(0, epoll_wait(edge, &ev, 1, 0));
	for (int round = 0; round < 3; round++) {
		hit(_metadata, &source, 1);
		/* Level: as long as there is something. Edge: when it comes. */
		EXPECT_EQ(1, epoll_wait(level, &ev, 1, 5000));
		EXPECT_EQ(EPOLLIN, ev.events);
		EXPECT_EQ(1, epoll_wait(edge, &ev, 1, 5000));
		EXPECT_EQ(EPOLLIN, ev.events);
		EXPECT_EQ(1, epoll_wait(level, &ev, 1, 0));
		ASSERT_TRUE(drained(fd));
		EXPECT_EQ(0, epoll_wait(level, &ev, 1, 0));
		/* Wakes that were on their way already may come, but no more. */
		while (epoll_wait(edge, &ev, 1, 150) == 1)
			ASSERT_TRUE(drained(fd));
	}
	close(fd);
	ktb_worker_finish(&source.w);
}

/* A reader on each CPU's ring: each is woken by its own CPU, once. */
TEST_F_TIMEOUT(wake, reader_for_each_cpu, 60)
{
	struct source source;
	struct sleeper sleeper[KTB_MAX_CPUS];
	int fd[KTB_MAX_CPUS];

	for (int i = 0; i <= self->last; i++) {
		fd[i] = ktb_dev_open_bind(self->s.id, i);
		ASSERT_LE(0, fd[i]);
		EXPECT_EQ(-EBUSY, ktb_dev_open_bind(self->s.id, i));
		sleeper_start(_metadata, &sleeper[i], fd[i]);
	}
	EXPECT_EQ(-EBUSY, ktb_dev_open_bind(self->s.id, -1));
	for (int i = 0; i <= self->last; i++) {
		source_start(_metadata, &self->nl, self->s.id, &source, i, hit_now);
		hit(_metadata, &source, 1);
		ASSERT_EQ(0, ktb_event_detach(&self->nl, self->s.id, source.e.id, NULL));
		ktb_worker_finish(&source.w);
		EXPECT_LT(0, sleeper_woken(_metadata, &sleeper[i]));
		/* Those to come sleep on. */
		for (int j = i + 1; j <= self->last; j++) {
			struct pollfd p = { .fd = sleeper[j].said, .events = POLLIN };

			EXPECT_EQ(0, poll(&p, 1, 0));
		}
	}
	for (int i = 0; i <= self->last; i++)
		close(fd[i]);
}

/* Who asks for nothing is not woken for records, but at the end of the session. */
TEST_F_TIMEOUT(wake, asks_for_nothing, 60)
{
	struct pollfd p = { .events = 0 };
	struct source source;
	__u64 before, seen;
	pid_t pid;

	p.fd = ktb_dev_open_bind(self->s.id, -1);
	ASSERT_LE(0, p.fd);
	source_start(_metadata, &self->nl, self->s.id, &source, self->last, ktb_work_syscalls);
	before = wakeups(_metadata, &self->nl, self->s.id, self->last);
	source.w.count = 300;
	ktb_worker_go(&source.w);
	EXPECT_EQ(0, poll(&p, 1, 500));
	ASSERT_TRUE(ktb_worker_wait(&source.w));
	/* As in no_storm, a ring begins as if somebody slept. */
	seen = wakeups(_metadata, &self->nl, self->s.id, self->last) - before;
	EXPECT_GE(2, seen);

	pid = fork();
	if (!pid)
		_exit(poll(&p, 1, 15000) != 1 || p.revents != POLLHUP);
	EXPECT_TRUE(ktb_wait_for(ktb_is_asleep(pid), 10));
	EXPECT_EQ(0, ktb_session_del(&self->nl, self->s.id));
	EXPECT_EQ(0, ktb_reap(pid));
	close(p.fd);
	ktb_worker_finish(&source.w);
}

/* Many sessions, one source: each one's reader is woken. */
TEST_F_TIMEOUT(wake, many_sessions, 60)
{
	struct pollfd p[MANY];
	struct ktb_session s;
	struct source source;
	char name[16];

	source_start(_metadata, &self->nl, self->s.id, &source, self->last, ktb_work_syscalls);
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "t_many%d", i);
		ASSERT_EQ(0, ktb_session_new(&self->nl, name, 0, 4096, &s));
		ASSERT_EQ(0, ktb_event_attach(&self->nl, s.id, ENTER, source.w.tid, NULL));
		p[i] = (struct pollfd) { .fd = ktb_dev_open_bind(s.id, -1), .events = POLLIN };
		ASSERT_LE(0, p[i].fd);
	}
	EXPECT_EQ(0, poll(p, MANY, 0));
	hit(_metadata, &source, 1);
	EXPECT_TRUE(ktb_wait_for(poll(p, MANY, 100) == MANY, 10));
	for (int i = 0; i < MANY; i++) {
		EXPECT_TRUE(drained(p[i].fd));
	}
	EXPECT_EQ(0, poll(p, MANY, 0));
	for (int i = 0; i < MANY; i++)
		close(p[i].fd);
	ktb_worker_finish(&source.w);
}

/* read(2): nothing, too short a buffer, exactly one record, the rest. */
TEST_F(wake, read)
{
	char *nowhere = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct perf_event_header h;
	struct source source;
	char buf[4096];
	int fd;

	fd = ktb_dev_open_bind(self->s.id, self->last);
	ASSERT_LE(0, fd);
	ASSERT_TRUE(drained(fd));
	EXPECT_EQ(-1, read(fd, buf, sizeof(buf)));
	EXPECT_EQ(EAGAIN, errno);
	EXPECT_EQ(0, read(fd, buf, 0));
	source_start(_metadata, &self->nl, self->s.id, &source, self->last, ktb_work_syscalls);
	hit(_metadata, &source, 3);
	EXPECT_EQ(-1, read(fd, buf, sizeof(h)));
	EXPECT_EQ(EMSGSIZE, errno);
	EXPECT_EQ(-1, read(fd, nowhere, sizeof(buf)));
	EXPECT_EQ(EFAULT, errno);
	/* Neither took anything away. */
	for (int i = 0; i < 3; i++) {
		struct ktb_sample sample;
		ssize_t n = read(fd, buf, 200);

		ASSERT_LT(0, n);
		memcpy(&h, buf, sizeof(h));
		EXPECT_EQ(n, h.size);
		EXPECT_TRUE(ktb_record_parse((void *)buf, &sample));
		EXPECT_EQ(-1, read(fd, buf, h.size - (i < 2 ? 1 : 0)));
		EXPECT_EQ(i < 2 ? EMSGSIZE : EAGAIN, errno);
	}
	close(fd);
	ktb_worker_finish(&source.w);
}

TEST_HARNESS_MAIN
