// SPDX-License-Identifier: GPL-2.0-only
/*
 * CPUs that go and come while they are traced: every hit before and after is in
 * the rings, or in the ledger.
 */
#include "ktb_test.h"

#include <fcntl.h>
#include <stdio.h>
#include <linux/hw_breakpoint.h>

#define NATIVE	"raw_syscalls:sys_enter"
#define PERF	"syscalls:sys_enter_getppid"
#define CALLS	100
#define LOAD	8000
#define CYCLES	4

/* The CPU that goes and comes. */
#define CPU	1

static int set_online(bool on)
{
	char path[64];
	int fd, error;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", CPU);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	error = write(fd, on ? "1" : "0", 1) == 1 ? 0 : -errno;
	close(fd);
	return error;
}

FIXTURE(hotplug)
{
	struct ktb_nl nl;
	struct ktb_session s;
	struct ktb_event e;
	int fd;
};

FIXTURE_VARIANT(hotplug)
{
	const char *event;
	const char *cpus;
	bool counter;	/* perf runs it, and makes it anew when a CPU comes */
};

FIXTURE_VARIANT_ADD(hotplug, native)
{
	.event = NATIVE,
};

FIXTURE_VARIANT_ADD(hotplug, native_on_that_cpu)
{
	.event = NATIVE,
	.cpus = "1",
};

FIXTURE_VARIANT_ADD(hotplug, perf)
{
	.event = PERF,
};

FIXTURE_VARIANT_ADD(hotplug, perf_on_that_cpu)
{
	.event = PERF,
	.cpus = "1",
};

FIXTURE_VARIANT_ADD(hotplug, perf_counter)
{
	.event = PERF,
	.counter = true,
};

FIXTURE_SETUP(hotplug)
{
	ASSERT_CONTROL(&self->nl);
	if (sysconf(_SC_NPROCESSORS_CONF) <= CPU)
		SKIP(return, "one CPU only");
	ASSERT_EQ(0, set_online(true));
	self->fd = -1;
}

FIXTURE_TEARDOWN(hotplug)
{
	set_online(true);
	close(self->fd);
	ktb_nl_close(&self->nl);
}

static void attach(struct __test_metadata *_metadata, FIXTURE_DATA(hotplug) *self,
		   const FIXTURE_VARIANT(hotplug) *variant, const __u32 *tids,
		   unsigned int ntids)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.sample_period = 1,
	};
	struct ktb_format format;
	const struct ktb_attach how = {
		.name = variant->event, .tids = tids, .ntids = ntids, .cpus = variant->cpus,
		.attr = variant->counter ? &attr : NULL,
	};

	ASSERT_EQ(0, ktb_format_read(variant->event, &format));
	attr.config = format.id;
	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_hotplug", 0, 4 << 20, &self->s));
	ASSERT_EQ(0, ktb_event_attach_as(&self->nl, self->s.id, &how, &self->e))
		TH_LOG("%s: %s", how.name, self->nl.text);
	self->fd = ktb_dev_open_bind(self->s.id, -1);
	ASSERT_LE(0, self->fd);
}

static __u64 written(FIXTURE_DATA(hotplug) *self)
{
	ktb_event_get(&self->nl, self->s.id, self->e.id, &self->e);
	return self->e.sum.written;
}

static void work(struct __test_metadata *_metadata, struct ktb_worker *w, __u64 count)
{
	w->count = count;
	ktb_worker_go(w);
	ASSERT_TRUE(ktb_worker_wait(w));
}

static bool is_traced(FIXTURE_DATA(hotplug) *self, struct ktb_worker *w)
{
	__u64 before = written(self);

	w->count = 1;
	ktb_worker_go(w);
	return ktb_worker_wait(w) && written(self) > before;
}

/* The first call is traced, but for what perf runs: that is a moment later. */
static void see_first_call(struct __test_metadata *_metadata, FIXTURE_DATA(hotplug) *self,
			   const FIXTURE_VARIANT(hotplug) *variant, struct ktb_worker *w)
{
	ASSERT_EQ(0, ktb_worker_start(w));
	ASSERT_TRUE(variant->counter ? ktb_wait_for(is_traced(self, w), 20) :
				       is_traced(self, w));
}

struct on_cpu {
	pid_t tid;
	__u64 calls;
};

static void take(const struct ktb_sample *s, void *arg)
{
	struct on_cpu *on = arg;

	on->calls += (pid_t)s->tid == on->tid && s->cpu == CPU;
}

/* The records of a thread on that CPU. */
static __u64 read_cpu(struct __test_metadata *_metadata, FIXTURE_DATA(hotplug) *self, pid_t tid)
{
	struct on_cpu on = { .tid = tid };
	struct ktb_walk walk = {};
	struct ktb_ring ring;

	ASSERT_EQ(0, ktb_ring_map(&ring, self->fd, CPU));
	ktb_ring_walk(&ring, &walk, take, &on);
	ktb_ring_unmap(&ring);
	EXPECT_EQ(0, walk.malformed);
	EXPECT_EQ(0, walk.lost);
	return on.calls;
}

/* Offline when the event is attached; it comes up while it is traced. */
TEST_F(hotplug, comes_up_while_tracing)
{
	struct ktb_worker w = { .cpu = CPU, .work = ktb_work_syscalls };
	__u64 before;

	ASSERT_EQ(0, set_online(false));
	attach(_metadata, self, variant, NULL, 0);
	ASSERT_EQ(0, set_online(true));
	see_first_call(_metadata, self, variant, &w);
	before = read_cpu(_metadata, self, w.tid);
	EXPECT_LT(0, before);
	work(_metadata, &w, CALLS);
	EXPECT_EQ(CALLS, read_cpu(_metadata, self, w.tid));
	ASSERT_EQ(0, ktb_event_detach(&self->nl, self->s.id, self->e.id, &self->e));
	EXPECT_LEDGER(&self->e.sum);
	ktb_worker_finish(&w);
}

/* What a CPU wrote before it went stays to be read, and it goes on afterwards. */
TEST_F(hotplug, goes_and_comes)
{
	struct ktb_worker w = { .cpu = CPU, .work = ktb_work_syscalls };
	pid_t tid;

	ASSERT_EQ(0, ktb_worker_start(&w));
	attach(_metadata, self, variant, NULL, 0);
	work(_metadata, &w, CALLS);
	tid = w.tid;
	/* Its CPU is taken from under it. */
	ASSERT_EQ(0, set_online(false));
	ktb_worker_finish(&w);
	EXPECT_LE(CALLS, read_cpu(_metadata, self, tid));

	ASSERT_EQ(0, set_online(true));
	see_first_call(_metadata, self, variant, &w);
	read_cpu(_metadata, self, w.tid);
	work(_metadata, &w, CALLS);
	EXPECT_EQ(CALLS, read_cpu(_metadata, self, w.tid));
	ASSERT_EQ(0, ktb_event_detach(&self->nl, self->s.id, self->e.id, &self->e));
	EXPECT_LEDGER(&self->e.sum);
	ktb_worker_finish(&w);
}

/* ---- whose counter it is ---- */

/* Of CAP_PERFMON alone: perf lets nobody else but root have it. 0 or the error number. */
static int attach_to_the_kernel(void)
{
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.sample_period = 1,
		.bp_type = HW_BREAKPOINT_RW,
		.bp_addr = 0xffffffff81000000,
		.bp_len = HW_BREAKPOINT_LEN_8,
	};
	const struct ktb_attach how = { .name = "mem", .attr = &attr, .cpus = "1" };
	struct ktb_session s;
	struct ktb_nl nl;

	if (ktb_keep_caps(1ULL << CAP_PERFMON) || ktb_nl_open(&nl) ||
	    ktb_session_new(&nl, "t_nobodys", 0, 4096, &s))
		return 100;
	return -ktb_event_attach_as(&nl, s.id, &how, NULL);
}

/* Made when the CPU comes, by a worker of the kernel: in the name of who asked for it. */
TEST(counter_of_a_cpu_to_come)
{
	pid_t pid;

	if (sysconf(_SC_NPROCESSORS_CONF) <= CPU)
		SKIP(return, "one CPU only");
	ASSERT_EQ(0, set_online(false));
	pid = fork();
	if (!pid)
		_exit(attach_to_the_kernel());
	EXPECT_EQ(EPERM, ktb_reap(pid));
	EXPECT_EQ(0, set_online(true));
}

#define BREAKPOINTS	4	/* that a CPU has */

static long watched;

static void touch(void)
{
	__atomic_fetch_add(&watched, 1, __ATOMIC_RELAXED);
}

static struct perf_event_attr breakpoint(void)
{
	return (struct perf_event_attr) {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(struct perf_event_attr),
		.sample_period = 1,
		.bp_type = HW_BREAKPOINT_W,
		.bp_addr = (unsigned long)&watched,
		.bp_len = HW_BREAKPOINT_LEN_8,
	};
}

/* There is none for it when its CPU comes; later on there is. */
TEST(counter_when_there_is_one)
{
	const struct perf_event_attr attr = breakpoint();
	const struct ktb_attach how = { .name = "mem", .attr = &attr, .cpus = "1" };
	int others[BREAKPOINTS];
	struct ktb_session s;
	struct ktb_event e;
	struct ktb_nl nl;

	if (sysconf(_SC_NPROCESSORS_CONF) <= CPU)
		SKIP(return, "one CPU only");
	ASSERT_CONTROL(&nl);
	ASSERT_EQ(0, ktb_session_new(&nl, "t_short", 0, 4096, &s));
	ASSERT_EQ(0, set_online(false));
	ASSERT_EQ(0, ktb_event_attach_as(&nl, s.id, &how, &e))
		TH_LOG("%s", nl.text);
	/* A thread's are counted for any CPU. */
	for (int i = 0; i < BREAKPOINTS; i++) {
		others[i] = ktb_perf_open(&attr, 0, -1, -1, 0);
		ASSERT_LE(0, others[i]);
	}
	ASSERT_EQ(0, set_online(true));
	ASSERT_EQ(0, ktb_pin(CPU));
	sleep(1);
	touch();
	ASSERT_EQ(0, ktb_event_get(&nl, s.id, e.id, &e));
	EXPECT_EQ(0, e.sum.hits);
	for (int i = 0; i < BREAKPOINTS; i++)
		close(others[i]);
	EXPECT_TRUE(ktb_wait_for((touch(), !ktb_event_get(&nl, s.id, e.id, &e) && e.sum.hits),
				 20));
	ktb_nl_close(&nl);
}

/* ---- under load ---- */

/* On whatever CPU there is: one more system call, then its own. */
static void work_anywhere(struct ktb_worker *w)
{
	cpu_set_t all;

	memset(&all, 0xff, sizeof(all));
	sched_setaffinity(0, sizeof(all), &all);
	for (__u64 i = 0; i < w->count; i++) {
		syscall(SYS_getppid);
		for (int pause = 0; pause < 2000; pause++)
			asm volatile("" : : : "memory");
	}
}

static __u64 read_all(struct __test_metadata *_metadata, FIXTURE_DATA(hotplug) *self)
{
	struct ktb_walk walk = {};
	struct ktb_ring ring;

	for (int cpu = 0; cpu <= CPU; cpu++) {
		ASSERT_EQ(0, ktb_ring_map(&ring, self->fd, cpu));
		ktb_ring_walk(&ring, &walk, NULL, NULL);
		ktb_ring_unmap(&ring);
	}
	EXPECT_EQ(0, walk.malformed);
	EXPECT_EQ(0, walk.lost);
	return walk.samples;
}

/* Two threads, wherever they run: no call is missing, and none is there twice. */
TEST_F_TIMEOUT(hotplug, under_load, 90)
{
	struct ktb_worker w[2] = {
		{ .cpu = 0, .work = work_anywhere, .count = LOAD },
		{ .cpu = CPU, .work = work_anywhere, .count = LOAD },
	};
	/* Each thread's first one is no getppid(). */
	const __u64 calls = 2 * (LOAD + !strcmp(variant->event, NATIVE));
	__u32 tids[2];
	int cycles = 0;

	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, ktb_worker_start(&w[i]));
		tids[i] = w[i].tid;
	}
	attach(_metadata, self, variant, tids, 2);
	for (int i = 0; i < 2; i++)
		ktb_worker_go(&w[i]);
	while (cycles < CYCLES || !ktb_worker_done(&w[0]) || !ktb_worker_done(&w[1])) {
		ASSERT_EQ(0, set_online(false));
		ASSERT_EQ(0, set_online(true));
		cycles++;
	}
	ASSERT_EQ(0, ktb_event_detach(&self->nl, self->s.id, self->e.id, &self->e));
	EXPECT_LEDGER(&self->e.sum);
	EXPECT_EQ(self->e.sum.written, read_all(_metadata, self));
	EXPECT_LT(0, self->e.sum.written);
	EXPECT_GE(calls, self->e.sum.written);
	if (!variant->cpus && !variant->counter) {
		EXPECT_EQ(calls, ktb_ledger_own(&self->e.sum));
		EXPECT_EQ(calls, self->e.sum.written);
	}
	for (int i = 0; i < 2; i++)
		ktb_worker_finish(&w[i]);
}

TEST_HARNESS_MAIN
