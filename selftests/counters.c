// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters, timers and breakpoints through the perf core: what they count is
 * what perf and the kernel's own statistics count of the same work, each
 * overflow is a record, and the ledger says so. A software event in NMI context
 * stands for the overflow of a hardware counter, which QEMU has none of.
 */
#include "ktb_test.h"

#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#define PAGES		200
#define MS		1000000ULL
#define RING_SIZE	(4 << 20)	/* for each storm of the nest module's */

#define SOFTWARE(what)	.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_##what

FIXTURE(counters)
{
	struct ktb_nl nl;
	struct ktb_session s;
	struct ktb_event e;
	struct ktb_ring ring[KTB_MAX_CPUS];
	struct ktb_walk walk;
	int ncpus;
	int fd;
};

FIXTURE_SETUP(counters)
{
	ASSERT_CONTROL(&self->nl);
	ASSERT_EQ(0, ktb_session_new_stack(&self->nl, "t_counters", RING_SIZE, 64, &self->s));
	self->fd = ktb_dev_open_bind(self->s.id, -1);
	ASSERT_LE(0, self->fd);
	self->ncpus = ktb_cpus();
	for (int i = 0; i < self->ncpus; i++)
		ASSERT_EQ(0, ktb_ring_map(&self->ring[i], self->fd, i));
}

FIXTURE_TEARDOWN(counters)
{
	for (int i = 0; i < self->ncpus; i++)
		ktb_ring_unmap(&self->ring[i]);
	close(self->fd);
	ktb_session_sweep(&self->nl);
	ktb_nl_close(&self->nl);
}

static void read_all(FIXTURE_DATA(counters) *self, ktb_sample_fn fn, void *arg)
{
	for (int i = 0; i < self->ncpus; i++)
		ktb_ring_walk(&self->ring[i], &self->walk, fn, arg);
}

static int attach(FIXTURE_DATA(counters) *self, const char *name,
		  const struct perf_event_attr *attr, pid_t tid)
{
	const __u32 target = tid;
	const struct ktb_attach how = {
		.name = name, .attr = attr, .tids = &target, .ntids = !!tid,
	};

	return ktb_event_attach_as(&self->nl, self->s.id, &how, &self->e);
}

/* The last ledger; everything written is in the rings. */
static void detach(struct __test_metadata *_metadata, FIXTURE_DATA(counters) *self,
		   ktb_sample_fn fn, void *arg)
{
	ASSERT_EQ(0, ktb_event_detach(&self->nl, self->s.id, self->e.id, &self->e));
	self->walk = (struct ktb_walk) {};
	read_all(self, fn, arg);
	EXPECT_LEDGER(&self->e.sum);
	EXPECT_EQ(0, ktb_ledger_lost(&self->e.sum));
	EXPECT_EQ(self->e.sum.written, self->walk.samples);
	EXPECT_EQ(0, self->walk.malformed);
}

/* perf's own counter of the same, that only counts. */
static int perf_count(const struct perf_event_attr *like, pid_t tid)
{
	struct perf_event_attr attr = *like;

	attr.size = sizeof(attr);
	attr.sample_period = 0;
	attr.freq = 0;
	return syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static __u64 perf_read(int fd)
{
	__u64 count = 0;

	return read(fd, &count, sizeof(count)) == sizeof(count) ? count : ~0ULL;
}

/* Time on the CPU of a thread. */
static __u64 cpu_time(pid_t tid)
{
	/* clockid of another thread's CPU time, see clock_getcpuclockid(3) */
	clockid_t clock = (~(clockid_t)tid << 3) | 4 | 2;
	struct timespec t;

	return clock_gettime(clock, &t) ? 0 : t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* Use up w->count nanoseconds of CPU time. */
static void work_burn(struct ktb_worker *w)
{
	__u64 end = cpu_time(0) + w->count;

	while (cpu_time(0) < end)
		for (volatile int i = 0; i < 1000; i++)
			;
}

/* What the records of one event say. */
struct seen {
	__u64 samples;
	__u64 periods;		/* their sum */
	__u64 period;		/* the only one there is to be, 0 for any */
	__u64 wrong;		/* another event, thread, period, or no callchain */
	__u64 id;
	pid_t tid;
	__u64 user;
	__u64 kernel;
};

static void look(const struct ktb_sample *s, void *arg)
{
	struct seen *seen = arg;

	seen->samples++;
	seen->periods += s->period;
	if (s->misc == PERF_RECORD_MISC_USER)
		seen->user++;
	else
		seen->kernel++;
	if (s->id != seen->id || (seen->tid && (pid_t)s->tid != seen->tid) || !s->ip ||
	    (seen->period && s->period != seen->period))
		seen->wrong++;
	/* Of a counter there are no raw data: four bytes of zero. */
	if (s->nr_chain < 2 || s->chain[1] != s->ip || s->raw_size != 4 || *(__u32 *)s->raw)
		seen->wrong++;
}

/* A timer with a period or a frequency, on a thread that uses up CPU time. */
static void check_clock(struct __test_metadata *_metadata, FIXTURE_DATA(counters) *self,
			const char *name, const struct perf_event_attr *attr, __u64 period)
{
	struct ktb_worker w = { .cpu = self->ncpus - 1, .work = work_burn, .count = 50 * MS };
	struct seen seen = { .period = period };
	__u64 before, used;

	ASSERT_EQ(0, ktb_worker_start(&w));
	before = cpu_time(w.tid);
	ASSERT_EQ(0, attach(self, name, attr, w.tid))
		TH_LOG("%s: %s", name, self->nl.text);
	EXPECT_EQ(KTB_PATH_PERF, self->e.path);
	EXPECT_EQ(0, self->e.type);
	seen.id = self->e.id;
	seen.tid = w.tid;
	do {
		ktb_worker_go(&w);
		ASSERT_TRUE(ktb_worker_wait(&w));
		ASSERT_EQ(0, ktb_event_get(&self->nl, self->s.id, self->e.id, &self->e));
	} while (ktb_ledger_own(&self->e.sum) < 30);
	detach(_metadata, self, look, &seen);
	used = cpu_time(w.tid) - before;
	EXPECT_EQ(0, seen.wrong);
	EXPECT_LT(0, seen.user);
	EXPECT_EQ(seen.periods, self->e.sum.count);
	/* A timer never runs ahead of the time that the thread has run. */
	EXPECT_LE(seen.periods, used + period);
	ktb_worker_finish(&w);
}

TEST_F_TIMEOUT(counters, task_clock_with_a_period, 60)
{
	const struct perf_event_attr attr = {
		.size = sizeof(attr), SOFTWARE(TASK_CLOCK), .sample_period = MS,
	};

	check_clock(_metadata, self, "task-clock", &attr, MS);
}

TEST_F_TIMEOUT(counters, cpu_clock_with_a_period, 60)
{
	const struct perf_event_attr attr = {
		.size = sizeof(attr), SOFTWARE(CPU_CLOCK), .sample_period = 2 * MS,
	};

	check_clock(_metadata, self, "cpu-clock", &attr, 2 * MS);
}

/* As perf does it: the period of a clock is that of the frequency. */
TEST_F_TIMEOUT(counters, cpu_clock_with_a_frequency, 60)
{
	const struct perf_event_attr attr = {
		.size = sizeof(attr), SOFTWARE(CPU_CLOCK), .freq = 1, .sample_freq = 999,
	};

	check_clock(_metadata, self, "cpu-clock", &attr, 1000000000 / 999);
}

/* On all CPUs, and on one. */
TEST_F_TIMEOUT(counters, clock_of_the_system, 60)
{
	const struct perf_event_attr attr = {
		.size = sizeof(attr), SOFTWARE(CPU_CLOCK), .sample_period = 5 * MS,
	};
	const struct ktb_attach one = { .name = "one", .attr = &attr, .cpus = "0" };
	struct ktb_event e;
	int hit = 0;

	ASSERT_EQ(0, attach(self, "all", &attr, 0));
	while (hit < self->ncpus) {
		usleep(20000);
		ASSERT_EQ(0, ktb_event_get(&self->nl, self->s.id, self->e.id, &self->e));
		hit = 0;
		for (int i = 0; i < self->e.ncpus; i++)
			hit += self->e.cpu[i].hits > 5;
	}
	detach(_metadata, self, NULL, NULL);
	EXPECT_EQ(0, self->e.sum.filtered);

	ASSERT_EQ(0, ktb_event_attach_as(&self->nl, self->s.id, &one, &e));
	do {
		usleep(20000);
		ASSERT_EQ(0, ktb_event_get(&self->nl, self->s.id, e.id, &e));
	} while (e.sum.hits < 10);
	ASSERT_EQ(1, e.ncpus);
	EXPECT_EQ(0, (int)e.cpu[0].cpu);
	EXPECT_LEDGER(&e.sum);
}

static __u64 own_faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_minflt + usage.ru_majflt;
}

/* Touch pages that are not there, and say how many faults the kernel saw. */
static void work_faults(struct ktb_worker *w)
{
	size_t len = PAGES * getpagesize();
	char *pages = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	__u64 before = own_faults();

	madvise(pages, len, MADV_NOHUGEPAGE);
	for (size_t at = 0; at < len; at += getpagesize())
		((volatile char *)pages)[at] = 1;
	w->magic = own_faults() - before;
	munmap(pages, len);
}

/* The kernel's statistics, perf's counter and our records: one number. */
TEST_F_TIMEOUT(counters, page_faults_are_exact, 60)
{
	const struct perf_event_attr attr = {
		.size = sizeof(attr), SOFTWARE(PAGE_FAULTS), .sample_period = 1,
	};
	struct ktb_worker w = { .cpu = self->ncpus - 1, .work = work_faults };
	struct seen seen = { .period = 1 };
	__u64 expected = 0;
	int fd;

	ASSERT_EQ(0, ktb_worker_start(&w));
	/* Once, so that the code and the stack are there. */
	ktb_worker_go(&w);
	ASSERT_TRUE(ktb_worker_wait(&w));
	fd = perf_count(&attr, w.tid);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, attach(self, "page-faults", &attr, w.tid));
	seen.id = self->e.id;
	seen.tid = w.tid;
	for (int i = 0; i < 3; i++) {
		ktb_worker_go(&w);
		ASSERT_TRUE(ktb_worker_wait(&w));
		EXPECT_EQ(PAGES, w.magic);
		expected += w.magic;
	}
	detach(_metadata, self, look, &seen);
	EXPECT_EQ(expected, perf_read(fd));
	EXPECT_EQ(expected, ktb_ledger_own(&self->e.sum));
	EXPECT_EQ(expected, self->e.sum.count);
	EXPECT_EQ(expected, seen.samples);
	EXPECT_EQ(expected, seen.user);
	EXPECT_EQ(0, seen.wrong);
	close(fd);
	ktb_worker_finish(&w);
}

/* Every 16th of them: the count is that of all, but for what is not complete. */
TEST_F_TIMEOUT(counters, page_faults_with_a_period, 60)
{
	const struct perf_event_attr attr = {
		.size = sizeof(attr), SOFTWARE(PAGE_FAULTS), .sample_period = 16,
	};
	struct ktb_worker w = { .cpu = self->ncpus - 1, .work = work_faults };
	struct seen seen = { .period = 16 };

	ASSERT_EQ(0, ktb_worker_start(&w));
	ktb_worker_go(&w);
	ASSERT_TRUE(ktb_worker_wait(&w));
	ASSERT_EQ(0, attach(self, "page-faults", &attr, w.tid));
	seen.id = self->e.id;
	seen.tid = w.tid;
	ktb_worker_go(&w);
	ASSERT_TRUE(ktb_worker_wait(&w));
	detach(_metadata, self, look, &seen);
	EXPECT_EQ(PAGES / 16, ktb_ledger_own(&self->e.sum));
	EXPECT_EQ(PAGES / 16 * 16, self->e.sum.count);
	EXPECT_EQ(0, seen.wrong);
	ktb_worker_finish(&w);
}

/* Go to sleep and be woken again: w->count times. */
static void work_sleep(struct ktb_worker *w)
{
	for (__u64 i = 0; i < w->count; i++)
		usleep(2000);
}

/*
 * A thread may lose its CPU at any time: perf counters that begin before ours
 * and end behind it, and the other way round, are its bounds.
 */
TEST_F_TIMEOUT(counters, context_switches_are_between_perfs, 60)
{
	const struct perf_event_attr attr = {
		.size = sizeof(attr), SOFTWARE(CONTEXT_SWITCHES), .sample_period = 1,
	};
	struct ktb_worker w = { .cpu = self->ncpus - 1, .work = work_sleep, .count = 100 };
	struct seen seen = { .period = 1 };
	int outer, inner;
	__u64 least;

	ASSERT_EQ(0, ktb_worker_start(&w));
	outer = perf_count(&attr, w.tid);
	ASSERT_EQ(0, attach(self, "context-switches", &attr, w.tid));
	inner = perf_count(&attr, w.tid);
	ASSERT_LE(0, inner);
	ASSERT_LE(0, outer);
	seen.id = self->e.id;
	seen.tid = w.tid;
	ktb_worker_go(&w);
	ASSERT_TRUE(ktb_worker_wait(&w));
	least = perf_read(inner);
	detach(_metadata, self, look, &seen);
	/* A timer that was due before the thread slept wakes nobody. */
	EXPECT_LE(50, least);
	EXPECT_LE(least, ktb_ledger_own(&self->e.sum));
	EXPECT_GE(perf_read(outer), ktb_ledger_own(&self->e.sum));
	EXPECT_EQ(self->e.sum.count, seen.samples);
	EXPECT_EQ(seen.samples, seen.kernel);
	EXPECT_EQ(0, seen.wrong);
	close(inner);
	close(outer);
	ktb_worker_finish(&w);
}

/* ---- over fork ---- */

#define CHILDREN	6

struct family {
	int go[2];
	pid_t child[CHILDREN];
};

/* A child that waits, has children that touch pages, and waits again. */
static void have_children(struct family *family)
{
	struct ktb_worker w = {};
	char byte;

	for (int round = 0; round < 2; round++) {
		if (read(family->go[0], &byte, 1) != 1)
			_exit(1);
		for (int i = 0; i < CHILDREN && !round; i++) {
			pid_t pid = fork();

			if (!pid) {
				/* Twice: at first the stack is still the parent's. */
				work_faults(&w);
				work_faults(&w);
				_exit(w.magic != PAGES);
			}
			family->child[i] = pid;
		}
		for (int i = 0; i < CHILDREN && !round; i++)
			if (ktb_reap(family->child[i]))
				_exit(2);
		/* Asleep in read() from here on: nothing of it is counted. */
		if (write(family->go[1], "", 1) != 1)
			_exit(3);
	}
	_exit(0);
}

struct by_child {
	const struct family *family;
	__u64 got[CHILDREN];
};

static void look_by_child(const struct ktb_sample *s, void *arg)
{
	struct by_child *by = arg;

	for (int i = 0; i < CHILDREN; i++)
		by->got[i] += (pid_t)s->tid == by->family->child[i];
}

TEST_F_TIMEOUT(counters, inherited_over_fork, 60)
{
	const struct perf_event_attr attr = {
		.size = sizeof(attr), SOFTWARE(PAGE_FAULTS), .sample_period = 1,
	};
	struct perf_event_attr inherited = attr;
	struct family *family = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct by_child by = { .family = family };
	struct ktb_attach how = {
		.name = "page-faults", .attr = &attr, .npids = 1, .inherit = true,
	};
	int to[2], from[2], fd;
	__u32 pid;
	char byte;

	ASSERT_EQ(0, pipe(to));
	ASSERT_EQ(0, pipe(from));
	family->go[0] = to[0];
	family->go[1] = from[1];
	pid = fork();
	if (!pid) {
		close(to[1]);
		have_children(family);
	}
	/* If it fails, the end of its pipe says so. */
	close(to[0]);
	close(from[1]);
	ASSERT_TRUE(ktb_wait_for(ktb_is_asleep(pid), 20));
	how.pids = &pid;
	inherited.inherit = 1;
	fd = perf_count(&inherited, pid);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ktb_event_attach_as(&self->nl, self->s.id, &how, &self->e))
		TH_LOG("%s", self->nl.text);
	ASSERT_EQ(1, write(to[1], "", 1));
	ASSERT_EQ(1, read(from[0], &byte, 1));
	ASSERT_TRUE(ktb_wait_for(ktb_is_asleep(pid), 20));
	detach(_metadata, self, look_by_child, &by);
	EXPECT_EQ(perf_read(fd), ktb_ledger_own(&self->e.sum));
	EXPECT_LE(CHILDREN * PAGES, ktb_ledger_own(&self->e.sum));
	for (int i = 0; i < CHILDREN; i++)
		EXPECT_LE(PAGES, by.got[i]);
	ASSERT_EQ(1, write(to[1], "", 1));
	EXPECT_EQ(0, ktb_reap(pid));
	close(fd);
	munmap(family, 4096);
}

/* ---- breakpoints ---- */

static volatile __u64 watched;

static void work_writes(struct ktb_worker *w)
{
	for (__u64 i = 0; i < w->count; i++)
		watched = i;
}

static void work_reads(struct ktb_worker *w)
{
	for (__u64 i = 0; i < w->count; i++)
		w->magic += watched;
}

static struct perf_event_attr breakpoint(const volatile void *at, int type)
{
	return (struct perf_event_attr) {
		.size = sizeof(struct perf_event_attr), .type = PERF_TYPE_BREAKPOINT,
		.bp_addr = (__u64)at, .bp_len = HW_BREAKPOINT_LEN_8, .bp_type = type,
		.sample_period = 1,
	};
}

static void access_it(struct __test_metadata *_metadata, struct ktb_worker *w)
{
	w->work = work_writes;
	ktb_worker_go(w);
	ASSERT_TRUE(ktb_worker_wait(w));
	w->work = work_reads;
	ktb_worker_go(w);
	ASSERT_TRUE(ktb_worker_wait(w));
	watched = 1; /* by another thread */
}

/*
 * Each access is a hit, of the thread that makes it. One after the other: QEMU
 * sees only one of two watchpoints that a single access meets.
 */
static void check_breakpoint(struct __test_metadata *_metadata, FIXTURE_DATA(counters) *self,
			     int type, __u64 hits)
{
	const struct perf_event_attr attr = breakpoint(&watched, type);
	struct ktb_worker w = { .cpu = self->ncpus - 1, .count = 123 };
	struct seen seen = { .period = 1 };

	ASSERT_EQ(0, ktb_worker_start(&w));
	ASSERT_EQ(0, attach(self, "watched", &attr, w.tid))
		TH_LOG("%s", self->nl.text);
	seen.id = self->e.id;
	seen.tid = w.tid;
	access_it(_metadata, &w);
	detach(_metadata, self, look, &seen);
	EXPECT_EQ(hits, ktb_ledger_own(&self->e.sum));
	EXPECT_EQ(hits, self->e.sum.count);
	EXPECT_EQ(hits, seen.samples);
	EXPECT_EQ(hits, seen.user);
	EXPECT_EQ(0, seen.wrong);
	ktb_worker_finish(&w);
}

TEST_F_TIMEOUT(counters, breakpoint_on_writes, 60)
{
	check_breakpoint(_metadata, self, HW_BREAKPOINT_W, 123);
}

TEST_F_TIMEOUT(counters, breakpoint_on_reads_and_writes, 60)
{
	check_breakpoint(_metadata, self, HW_BREAKPOINT_RW, 2 * 123);
}

TEST_F_TIMEOUT(counters, breakpoints_run_out, 60)
{
	struct ktb_worker w = { .cpu = self->ncpus - 1 };
	static __u64 variables[16];
	char name[16];
	int n, error = 0;

	ASSERT_EQ(0, ktb_worker_start(&w));
	for (n = 0; n < 16 && !error; n++) {
		const struct perf_event_attr attr = breakpoint(&variables[n], HW_BREAKPOINT_W);

		snprintf(name, sizeof(name), "b%d", n);
		error = attach(self, name, &attr, w.tid);
	}
	EXPECT_EQ(-ENOSPC, error);
	EXPECT_TRUE(!!strstr(self->nl.text, "no counter or breakpoint is free"))
		TH_LOG("%s", self->nl.text);
	EXPECT_LE(2, n);
	ktb_worker_finish(&w);
}

/* ---- refusals ---- */

TEST_F(counters, what_this_machine_lacks)
{
	const struct perf_event_attr cycles = {
		.size = sizeof(cycles), .type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_CPU_CYCLES, .freq = 1, .sample_freq = 1000,
	};
	const struct perf_event_attr unknown = {
		.size = sizeof(unknown), .type = 4711, .sample_period = 1,
	};

	if (!access("/sys/bus/event_source/devices/cpu", F_OK))
		SKIP(return, "there is a hardware PMU");
	EXPECT_REFUSED(&self->nl, ENOENT, "cpu-clock", attach(self, "cycles", &cycles, 0));
	EXPECT_REFUSED(&self->nl, ENOENT, "no such event", attach(self, "what", &unknown, 0));
	EXPECT_EQ(0, ktb_event_count(&self->nl));
}

TEST_F(counters, what_cannot_be_asked_for)
{
	const struct perf_event_attr good = {
		.size = sizeof(good), SOFTWARE(CPU_CLOCK), .sample_period = MS,
	};
	struct perf_event_attr bad = good;
	struct ktb_msg m;

	bad.type = ktb_pmu_type();
	EXPECT_REFUSED(&self->nl, EOPNOTSUPP, "by name", attach(self, "bad", &bad, 0));
	bad = good;
	bad.sample_type = PERF_SAMPLE_IP;
	EXPECT_REFUSED(&self->nl, EINVAL, "may be set", attach(self, "bad", &bad, 0));
	bad = good;
	bad.pinned = 1;
	EXPECT_REFUSED(&self->nl, EINVAL, "may be set", attach(self, "bad", &bad, 0));
	bad = good;
	bad.sample_period = 0;
	EXPECT_REFUSED(&self->nl, EINVAL, "1 or more", attach(self, "bad", &bad, 0));
	bad = good;
	bad.sample_period = 1ULL << 63;
	EXPECT_REFUSED(&self->nl, EINVAL, "period", attach(self, "bad", &bad, 0));
	bad.freq = 1;
	bad.sample_freq = 100001;
	EXPECT_REFUSED(&self->nl, EINVAL, "100000", attach(self, "bad", &bad, 0));

	ktb_msg_init(&self->nl, &m, KTB_CMD_EVENT_ATTACH, 0);
	ktb_put_u32(&m, KTB_A_EVENT_SESSION_ID, self->s.id);
	ktb_put_str(&m, KTB_A_EVENT_NAME, "short");
	ktb_put(&m, KTB_A_EVENT_PERF_ATTR, &good, 8);
	EXPECT_REFUSED(&self->nl, EINVAL, "perf_event_attr",
		       ktb_nl_do(&self->nl, &m, NULL, NULL));
	EXPECT_EQ(0, ktb_event_count(&self->nl));
	EXPECT_EQ(0, attach(self, "good", &good, 0));
}

/* ---- throttling ---- */

#define MAX_RATE	"/proc/sys/kernel/perf_event_max_sample_rate"

static int write_rate(int rate)
{
	FILE *f = fopen(MAX_RATE, "w");

	if (!f)
		return -errno;
	fprintf(f, "%d\n", rate);
	return fclose(f) ? -errno : 0;
}

static int read_rate(void)
{
	FILE *f = fopen(MAX_RATE, "r");
	int rate = -1;

	if (f) {
		if (fscanf(f, "%d", &rate) != 1)
			rate = -1;
		fclose(f);
	}
	return rate;
}

/* More overflows in a tick than perf lets be: it says when it stops and goes on. */
TEST_F_TIMEOUT(counters, throttled, 60)
{
	const struct perf_event_attr attr = {
		.size = sizeof(attr), SOFTWARE(CPU_CLOCK), .sample_period = MS / 10,
	};
	const int rate = read_rate();

	ASSERT_LT(0, rate);
	ASSERT_EQ(0, write_rate(200));
	EXPECT_EQ(0, attach(self, "cpu-clock", &attr, 0));
	do {
		usleep(20000);
		if (ktb_event_get(&self->nl, self->s.id, self->e.id, &self->e))
			break;
	} while (self->e.sum.throttled < 5);
	write_rate(rate);
	detach(_metadata, self, NULL, NULL);
	EXPECT_LE(5, self->e.sum.throttled);
	EXPECT_EQ(self->e.sum.throttled, self->walk.throttles);
	/* On each CPU one after the other, the last one maybe not. */
	EXPECT_LE(self->walk.unthrottles, self->walk.throttles);
	EXPECT_GE(self->walk.unthrottles + self->ncpus, self->walk.throttles);
}

/* ---- CPU hotplug ---- */

static int set_online(int cpu, bool on)
{
	char path[64];
	int fd, error;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	error = write(fd, on ? "1" : "0", 1) == 1 ? 0 : -errno;
	close(fd);
	return error;
}

static __u64 hits_on(FIXTURE_DATA(counters) *self, int cpu)
{
	if (ktb_event_get(&self->nl, self->s.id, self->e.id, &self->e))
		return 0;
	for (int i = 0; i < self->e.ncpus; i++)
		if ((int)self->e.cpu[i].cpu == cpu)
			return self->e.cpu[i].hits;
	return 0;
}

TEST_F_TIMEOUT(counters, cpus_go_and_come, 90)
{
	const struct perf_event_attr attr = {
		.size = sizeof(attr), SOFTWARE(CPU_CLOCK), .sample_period = 5 * MS,
	};
	const int cpu = self->ncpus - 1;
	__u64 before;

	if (!cpu)
		SKIP(return, "one CPU only");
	ASSERT_EQ(0, ktb_pin(0));
	ASSERT_EQ(0, attach(self, "cpu-clock", &attr, 0));
	for (int round = 0; round < 3; round++) {
		before = hits_on(self, cpu);
		EXPECT_TRUE(ktb_wait_for(hits_on(self, cpu) > before + 3, 20));
		ASSERT_EQ(0, set_online(cpu, false));
		before = hits_on(self, cpu);
		usleep(50000);
		EXPECT_EQ(before, hits_on(self, cpu));
		ASSERT_EQ(0, set_online(cpu, true));
	}
	before = hits_on(self, cpu);
	EXPECT_TRUE(ktb_wait_for(hits_on(self, cpu) > before + 3, 20));
	detach(_metadata, self, NULL, NULL);
}

/* ---- NMI ---- */

#define NEST_FILE	"/ktb/modules/ktb_test_nest.ko"
#define NEST_RUN	"/sys/module/ktb_test_nest/parameters/run"
#define NEST_EVENT	"power:wakeup_source_deactivate"

enum { TASK, SOFTIRQ, HARDIRQ, NMI, CONTEXTS };

struct nested {
	const struct ktb_format *format;
	__u64 got[CONTEXTS];
	__u64 wrong;
};

static void look_nested(const struct ktb_sample *s, void *arg)
{
	struct nested *n = arg;
	__u32 at = ktb_field_uint(n->format, "name", s->raw) & 0xffff;
	unsigned int context;

	if (at < s->raw_size && sscanf(s->raw + at, "nest %u", &context) == 1 &&
	    context < CONTEXTS)
		n->got[context]++;
	else
		n->wrong++;
}

static int write_run(const char *what)
{
	int fd = open(NEST_RUN, O_WRONLY | O_CLOEXEC), error = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, what, strlen(what)) < 0)
		error = -errno;
	close(fd);
	return error;
}

static int read_fired(__u64 *fired)
{
	FILE *f = fopen(NEST_RUN, "r");
	int n;

	if (!f)
		return -errno;
	n = fscanf(f, "%llu %llu %llu %llu", &fired[0], &fired[1], &fired[2], &fired[3]);
	fclose(f);
	return n == CONTEXTS ? 0 : -EINVAL;
}

/*
 * A tracepoint through perf's overflow handler, which NMIs fire in the middle of
 * what other contexts fire.
 */
TEST_F_TIMEOUT(counters, overflow_in_nmi, 90)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = PERF_TYPE_TRACEPOINT, .sample_period = 1,
	};
	struct ktb_format format;
	struct nested n = { .format = &format };
	__u64 fired[CONTEXTS], all = 0;
	int fd = open(NEST_FILE, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		SKIP(return, "no " NEST_FILE " to fire events");
	ASSERT_EQ(0, syscall(SYS_finit_module, fd, "", 0));
	close(fd);
	ASSERT_EQ(0, ktb_format_read(NEST_EVENT, &format));
	attr.config = format.id;
	ASSERT_EQ(0, attach(self, "nested", &attr, 0)) TH_LOG("%s", self->nl.text);
	ASSERT_EQ(0, ktb_pin(self->ncpus - 1));
	ASSERT_EQ(0, write_run("reset"));
	ASSERT_EQ(0, write_run("storm 30"));
	ASSERT_EQ(0, read_fired(fired));
	detach(_metadata, self, look_nested, &n);
	EXPECT_EQ(0, n.wrong);
	EXPECT_LT(0, fired[NMI]);
	for (int i = 0; i < CONTEXTS; i++) {
		EXPECT_EQ(fired[i], n.got[i]);
		all += fired[i];
	}
	EXPECT_EQ(all, self->e.sum.hits);
	EXPECT_EQ(0, syscall(SYS_delete_module, "ktb_test_nest", O_NONBLOCK));
}

TEST_HARNESS_MAIN
