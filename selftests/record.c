// SPDX-License-Identifier: GPL-2.0-only
/* What records say, against what the test did, tracefs and /proc. */
#include "ktb_test.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/resource.h>

#define ENTER		"raw_syscalls:sys_enter"
#define EXIT		"raw_syscalls:sys_exit"
#define SWITCH		"sched:sched_switch"
#define MAX_SAMPLES	4096

/*
 * ktime_get_mono_fast_ns() may be off by a little while the clock is being
 * adjusted: that is what it costs to be readable in NMI.
 */
#define CLOCK_SLACK	100000ULL

/* Samples of one ring, raw data copied out of it. */
struct samples {
	int count;
	struct ktb_sample list[MAX_SAMPLES];
	char raw[MAX_SAMPLES][512];
};

static struct samples samples;

static void take_sample(const struct ktb_sample *s, void *arg)
{
	struct samples *all = arg;
	int i = all->count;

	if (i == MAX_SAMPLES || s->raw_size > sizeof(all->raw[i]))
		return;
	all->list[i] = *s;
	all->list[i].raw = all->raw[i];
	memcpy(all->raw[i], s->raw, s->raw_size);
	all->count++;
}

FIXTURE(record)
{
	struct ktb_nl nl;
	struct ktb_session s;
	int fd;
	int cpu;
	__u64 before;
};

FIXTURE_SETUP(record)
{
	ASSERT_CONTROL(&self->nl);
	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_record", 0, 1 << 20, &self->s));
	self->fd = ktb_dev_open_bind(self->s.id, -1);
	ASSERT_LE(0, self->fd);
	self->cpu = ktb_cpus() - 1;
	self->before = ktb_now();
}

FIXTURE_TEARDOWN(record)
{
	close(self->fd);
	ktb_nl_close(&self->nl);
}

/* Read a CPU's ring into samples; everything in it has to be well-formed. */
static int read_samples(int fd, int cpu)
{
	struct ktb_walk walk = {};
	struct ktb_ring ring;
	int error = ktb_ring_map(&ring, fd, cpu);

	if (error)
		return error;
	samples.count = 0;
	ktb_ring_walk(&ring, &walk, take_sample, &samples);
	ktb_ring_unmap(&ring);
	if (walk.malformed || walk.lost || walk.samples != (__u64)samples.count)
		return -EBADMSG;
	return 0;
}

/* Let a worker work with an event on it, then read what the event recorded. */
static int trace_worker(struct __test_metadata *_metadata, FIXTURE_DATA(record) *self,
			const char *event, struct ktb_worker *w, struct ktb_event *e)
{
	w->cpu = self->cpu;
	ASSERT_EQ(0, ktb_worker_start(w));
	ASSERT_EQ(0, ktb_event_attach(&self->nl, self->s.id, event, w->tid, e))
		TH_LOG("%s: %s", event, self->nl.text);
	ktb_worker_go(w);
	ASSERT_TRUE(ktb_worker_wait(w));
	ASSERT_EQ(0, ktb_event_detach(&self->nl, self->s.id, e->id, e));
	ktb_worker_finish(w);
	ASSERT_EQ(0, read_samples(self->fd, self->cpu));
	EXPECT_EQ(e->sum.written, samples.count);
	return samples.count;
}

/* What every sample of one thread's event has in common. */
static void check_samples(struct __test_metadata *_metadata, FIXTURE_DATA(record) *self,
			  const struct ktb_format *f, const struct ktb_event *e, pid_t tid)
{
	__u64 last = self->before - CLOCK_SLACK, after = ktb_now() + CLOCK_SLACK;

	for (int i = 0; i < samples.count; i++) {
		const struct ktb_sample *s = &samples.list[i];
		unsigned int end = ktb_format_end(f);

		EXPECT_EQ(PERF_RECORD_MISC_KERNEL, s->misc);
		EXPECT_EQ(e->id, s->id);
		EXPECT_GT(0, (__s64)s->ip);	/* a kernel address */
		EXPECT_EQ(getpid(), s->pid);
		EXPECT_EQ(tid, s->tid);
		EXPECT_LE(last, s->time);
		EXPECT_GE(after, s->time);
		last = s->time;
		EXPECT_EQ(self->cpu, s->cpu);
		EXPECT_EQ(1, s->period);
		ASSERT_LE(end, s->raw_size);
		EXPECT_EQ(f->id, ktb_field_uint(f, "common_type", s->raw));
		EXPECT_EQ(tid, ktb_field_uint(f, "common_pid", s->raw));
		/* Unless strings follow, up to 7 bytes of padding do. */
		for (int n = 0; n < f->nfields; n++)
			if (f->field[n].data_loc)
				end = s->raw_size;
		EXPECT_GT(end + 8, s->raw_size);
		for (; end < s->raw_size; end++)
			EXPECT_EQ(0, s->raw[end]);
	}
}

TEST_F(record, sys_enter)
{
	struct ktb_worker w = { .work = ktb_work_syscalls, .count = 20, .magic = 0xabcdef123456 };
	const struct ktb_field *args;
	struct ktb_format f;
	struct ktb_event e;

	ASSERT_EQ(0, ktb_format_read(ENTER, &f));
	args = ktb_format_field(&f, "args");
	ASSERT_NE(NULL, args);
	ASSERT_EQ(6 * sizeof(long), args->size);
	ASSERT_EQ(20, trace_worker(_metadata, self, ENTER, &w, &e));
	check_samples(_metadata, self, &f, &e, w.tid);
	for (int i = 0; i < samples.count; i++) {
		const long *arg = (const void *)(samples.raw[i] + args->offset);
		const long expected[6] = { w.magic, i, 0x22, 0x33, 0x44, 0x55 };

		EXPECT_EQ(SYS_getppid, ktb_field_uint(&f, "id", samples.raw[i]));
		EXPECT_EQ(0, memcmp(arg, expected, sizeof(expected)));
	}
}

TEST_F(record, sys_exit)
{
	struct ktb_worker w = { .work = ktb_work_syscalls, .count = 20 };
	struct ktb_format f;
	struct ktb_event e;

	ASSERT_EQ(0, ktb_format_read(EXIT, &f));
	ASSERT_EQ(20, trace_worker(_metadata, self, EXIT, &w, &e));
	check_samples(_metadata, self, &f, &e, w.tid);
	for (int i = 0; i < samples.count; i++) {
		EXPECT_EQ(SYS_getppid, ktb_field_uint(&f, "id", samples.raw[i]));
		EXPECT_EQ(getppid(), ktb_field_uint(&f, "ret", samples.raw[i]));
	}
}

static long voluntary_switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

/* What the scheduler and /proc say of the naps under that name. */
struct naps {
	char comm[16];
	long switches;
};

static void work_naps(struct ktb_worker *w)
{
	struct naps *naps = w->arg;
	char path[64];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/comm", w->tid);
	fd = open(path, O_RDONLY);
	prctl(PR_SET_NAME, "ktb \"naps\"");
	naps->switches = -voluntary_switches();
	for (int i = 0; i < 20; i++)
		usleep(2000);
	naps->switches += voluntary_switches();
	len = read(fd, naps->comm, sizeof(naps->comm));
	prctl(PR_SET_NAME, "ktb done");
	close(fd);
	if (len > 0)
		naps->comm[len - 1] = '\0';	/* the newline */
}

TEST_F(record, sched_switch)
{
	struct naps naps = {};
	struct ktb_worker w = { .work = work_naps, .arg = &naps };
	const struct ktb_field *prev_comm;
	struct ktb_format f;
	struct ktb_event e;
	long slept = 0;

	ASSERT_EQ(0, ktb_format_read(SWITCH, &f));
	prev_comm = ktb_format_field(&f, "prev_comm");
	ASSERT_NE(NULL, prev_comm);
	ASSERT_EQ(16, prev_comm->size);
	trace_worker(_metadata, self, SWITCH, &w, &e);
	EXPECT_LT(0, naps.switches);
	EXPECT_STREQ("ktb \"naps\"", naps.comm);
	check_samples(_metadata, self, &f, &e, w.tid);
	for (int i = 0; i < samples.count; i++) {
		const char *raw = samples.raw[i];

		EXPECT_EQ(w.tid, ktb_field_uint(&f, "prev_pid", raw));
		EXPECT_NE(w.tid, ktb_field_uint(&f, "next_pid", raw));
		EXPECT_EQ(120, ktb_field_uint(&f, "prev_prio", raw));
		/* 1 is asleep, interruptibly; else it was preempted. */
		if (ktb_field_uint(&f, "prev_state", raw) == 1 &&
		    !strcmp(naps.comm, raw + prev_comm->offset))
			slept++;
	}
	EXPECT_EQ(naps.switches, slept);
}

static void work_rename(struct ktb_worker *w)
{
	(void)w;
	prctl(PR_SET_NAME, "first");
	prctl(PR_SET_NAME, "fifteen letters");
}

TEST_F(record, task_rename)
{
	struct ktb_worker w = { .work = work_rename };
	const struct ktb_field *newcomm, *oldcomm;
	struct ktb_format f;
	struct ktb_event e;

	ASSERT_EQ(0, ktb_format_read("task:task_rename", &f));
	ASSERT_EQ(2, trace_worker(_metadata, self, "task:task_rename", &w, &e));
	check_samples(_metadata, self, &f, &e, w.tid);
	newcomm = ktb_format_field(&f, "newcomm");
	oldcomm = ktb_format_field(&f, "oldcomm");
	ASSERT_NE(NULL, newcomm);
	ASSERT_NE(NULL, oldcomm);
	EXPECT_STREQ("first", samples.raw[0] + newcomm->offset);
	EXPECT_STREQ("first", samples.raw[1] + oldcomm->offset);
	EXPECT_STREQ("fifteen letters", samples.raw[1] + newcomm->offset);
}

static void work_signal(struct ktb_worker *w)
{
	syscall(SYS_tgkill, getpid(), w->tid, SIGURG);	/* ignored by default */
}

TEST_F(record, signal_generate)
{
	struct ktb_worker w = { .work = work_signal };
	struct ktb_format f;
	struct ktb_event e;

	ASSERT_EQ(0, ktb_format_read("signal:signal_generate", &f));
	ASSERT_EQ(1, trace_worker(_metadata, self, "signal:signal_generate", &w, &e));
	check_samples(_metadata, self, &f, &e, w.tid);
	EXPECT_EQ(SIGURG, ktb_field_uint(&f, "sig", samples.raw[0]));
	EXPECT_EQ(w.tid, ktb_field_uint(&f, "pid", samples.raw[0]));
}

/* A string in the record, of any length, where __data_loc says. */
TEST_F(record, exec_with_string)
{
	static const char * const paths[] = {
		"/bin/busybox", "/bin/./busybox", "/bin/.//busybox", "/bin/././busybox",
		"/bin/././/busybox", "/bin/./././busybox", "/bin/./././/busybox",
		"/bin/././././busybox",
	};
	struct ktb_format f;
	struct ktb_event e;

	if (access("/bin/busybox", X_OK))
		SKIP(return, "no /bin/busybox to execute");
	ASSERT_EQ(0, ktb_format_read("sched:sched_process_exec", &f));
	ktb_pin(self->cpu);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		int go[2];
		char c;
		pid_t pid;
		__u32 loc;

		ASSERT_EQ(0, pipe(go));
		pid = fork();
		if (!pid) {
			if (read(go[0], &c, 1) == 1)
				execl(paths[i], "true", NULL);
			_exit(1);
		}
		ASSERT_EQ(0, ktb_event_attach(&self->nl, self->s.id, "sched:sched_process_exec",
					      pid, &e));
		ASSERT_EQ(1, write(go[1], "", 1));
		EXPECT_EQ(0, ktb_reap(pid));
		close(go[0]);
		close(go[1]);
		ASSERT_EQ(0, ktb_event_detach(&self->nl, self->s.id, e.id, &e));
		ASSERT_EQ(0, read_samples(self->fd, self->cpu));
		ASSERT_EQ(1, samples.count);
		EXPECT_EQ(pid, samples.list[0].tid);
		EXPECT_EQ(f.id, ktb_field_uint(&f, "common_type", samples.raw[0]));
		loc = ktb_field_uint(&f, "filename", samples.raw[0]);
		ASSERT_LE((loc & 0xffff) + (loc >> 16), samples.list[0].raw_size);
		EXPECT_EQ(strlen(paths[i]) + 1, loc >> 16);
		EXPECT_STREQ(paths[i], samples.raw[0] + (loc & 0xffff));
	}
}

/*
 * Every switch on a CPU is there, in order: the thread switched to is the one
 * that is switched from next.
 */
TEST_F(record, switches_are_a_chain)
{
	int there[2], back[2];
	struct ktb_format f;
	struct ktb_event e;

	ASSERT_EQ(0, ktb_format_read(SWITCH, &f));
	ASSERT_EQ(0, pipe(there));
	ASSERT_EQ(0, pipe(back));
	struct ktb_ball ping_ball = { .in = back[0], .out = there[1], .end = -1, .serves = true };
	struct ktb_ball pong_ball = { .in = there[0], .out = back[1], .end = -1 };
	struct ktb_worker ping = {
		.cpu = self->cpu, .work = ktb_work_ping_pong, .count = 200, .arg = &ping_ball,
	};
	struct ktb_worker pong = {
		.cpu = self->cpu, .work = ktb_work_ping_pong, .count = 200, .arg = &pong_ball,
	};

	ASSERT_EQ(0, ktb_worker_start(&ping));
	ASSERT_EQ(0, ktb_worker_start(&pong));
	ASSERT_EQ(0, ktb_event_attach(&self->nl, self->s.id, SWITCH, 0, &e));
	ktb_worker_go(&pong);
	ktb_worker_go(&ping);
	ASSERT_TRUE(ktb_worker_wait(&ping));
	ASSERT_TRUE(ktb_worker_wait(&pong));
	ASSERT_EQ(0, ktb_event_detach(&self->nl, self->s.id, e.id, &e));
	ktb_worker_finish(&ping);
	ktb_worker_finish(&pong);
	ASSERT_EQ(0, ktb_ledger_lost(&e.sum));
	ASSERT_EQ(0, read_samples(self->fd, self->cpu));
	EXPECT_LE(390, samples.count);
	for (int i = 1; i < samples.count; i++) {
		EXPECT_EQ(ktb_field_uint(&f, "next_pid", samples.raw[i - 1]),
			  ktb_field_uint(&f, "prev_pid", samples.raw[i]));
		EXPECT_LE(samples.list[i - 1].time, samples.list[i].time);
	}
}

TEST_HARNESS_MAIN
