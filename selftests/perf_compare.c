// SPDX-License-Identifier: GPL-2.0-only
/*
 * The same thread, the same tracepoint, the same run: perf's own record beside
 * ours. As many hits, and the same raw data byte for byte.
 */
#include "ktb_test.h"

#include <sys/ioctl.h>
#include <sys/mman.h>

#define MAX_RECORDS	4096
#define MAX_RAW		512
#define PERF_PAGES	256	/* a power of two */
#define MARK		"ktb marked"

struct stream {
	int count;
	struct {
		__u64 time;
		__u32 size;
		char raw[MAX_RAW];
	} record[MAX_RECORDS];
};

static struct stream ours, perfs;

static void add(struct stream *to, __u64 time, const char *raw, __u32 size)
{
	if (to->count == MAX_RECORDS || size > MAX_RAW)
		return;
	to->record[to->count].time = time;
	to->record[to->count].size = size;
	memcpy(to->record[to->count].raw, raw, size);
	to->count++;
}

static void add_ours(const struct ktb_sample *s, void *arg)
{
	add(arg, s->time, s->raw, s->raw_size);
}

FIXTURE(perf)
{
	struct ktb_nl nl;
	struct ktb_session s;
	int fd;
	int perf;
	struct perf_event_mmap_page *page;
	__u64 perf_lost;
};

FIXTURE_SETUP(perf)
{
	ASSERT_CONTROL(&self->nl);
	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_perf", 0, 1 << 20, &self->s));
	self->fd = ktb_dev_open_bind(self->s.id, -1);
	ASSERT_LE(0, self->fd);
	self->perf = -1;
}

FIXTURE_TEARDOWN(perf)
{
	close(self->perf);
	close(self->fd);
	ktb_nl_close(&self->nl);
}

static int open_perf(FIXTURE_DATA(perf) *self, __u32 id, pid_t tid)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = id,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_RAW,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.disabled = 1,
	};

	self->perf = syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (self->perf < 0)
		return -errno;
	self->page = mmap(NULL, (1 + PERF_PAGES) * 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
			  self->perf, 0);
	return self->page == MAP_FAILED ? -errno : 0;
}

/* One of perf's records, copied out of where it may wrap. */
static void take_perf(FIXTURE_DATA(perf) *self, const char *record)
{
	const struct perf_event_header *h = (const void *)record;
	__u64 time;
	__u32 size;

	if (h->type != PERF_RECORD_SAMPLE) {
		self->perf_lost++;
		return;
	}
	memcpy(&time, record + sizeof(*h), sizeof(time));
	memcpy(&size, record + sizeof(*h) + sizeof(time), sizeof(size));
	add(&perfs, time, record + sizeof(*h) + sizeof(time) + sizeof(size), size);
}

static void read_perf(FIXTURE_DATA(perf) *self)
{
	__u64 head = __atomic_load_n(&self->page->data_head, __ATOMIC_ACQUIRE);
	const char *data = (const char *)self->page + 4096;
	const size_t mask = PERF_PAGES * 4096 - 1;
	__u64 tail = 0;

	while (tail != head) {
		char record[1024];
		struct perf_event_header h;

		/* Records are multiples of 8: a header never wraps. */
		memcpy(&h, data + (tail & mask), sizeof(h));
		for (size_t i = 0; i < h.size && i < sizeof(record); i++)
			record[i] = data[(tail + i) & mask];
		take_perf(self, record);
		tail += h.size;
	}
}

static int read_ours(FIXTURE_DATA(perf) *self, int cpu)
{
	struct ktb_walk walk = {};
	struct ktb_ring ring;
	int error = ktb_ring_map(&ring, self->fd, cpu);

	if (error)
		return error;
	ktb_ring_walk(&ring, &walk, add_ours, &ours);
	ktb_ring_unmap(&ring);
	return walk.malformed || walk.lost ? -EBADMSG : 0;
}

/* Run a worker under both. Ours is attached first and detached last. */
static void run_both(struct __test_metadata *_metadata, FIXTURE_DATA(perf) *self,
		     const char *event, struct ktb_worker *w, struct ktb_format *f)
{
	struct ktb_event e;

	w->cpu = ktb_cpus() - 1;
	ours.count = 0;
	perfs.count = 0;
	ASSERT_EQ(0, ktb_format_read(event, f));
	ASSERT_EQ(0, ktb_worker_start(w));
	ASSERT_EQ(0, open_perf(self, f->id, w->tid));
	ASSERT_EQ(0, ktb_event_attach(&self->nl, self->s.id, event, w->tid, &e))
		TH_LOG("%s: %s", event, self->nl.text);
	ASSERT_EQ(0, ioctl(self->perf, PERF_EVENT_IOC_ENABLE, 0));
	ktb_worker_go(w);
	ASSERT_TRUE(ktb_worker_wait(w));
	ASSERT_EQ(0, ioctl(self->perf, PERF_EVENT_IOC_DISABLE, 0));
	ASSERT_EQ(0, ktb_event_detach(&self->nl, self->s.id, e.id, &e));
	ktb_worker_finish(w);
	read_perf(self);
	ASSERT_EQ(0, read_ours(self, w->cpu));
	EXPECT_EQ(0, self->perf_lost);
	EXPECT_EQ(e.sum.written, ours.count);
}

/*
 * Two probes are not called at one moment. What may come true in between is
 * that the thread is to be preempted: the tick says so, in common_flags.
 */
#define RESCHED_FLAGS	(0x02 | 0x04 | 0x20)	/* lazy, TIF, preempt count */

static bool same_byte(const struct ktb_format *f, __u32 n, char a, char b)
{
	const struct ktb_field *flags = ktb_format_field(f, "common_flags");

	if (n == flags->offset)
		return ((a ^ b) & ~RESCHED_FLAGS) == 0;
	return a == b;
}

/*
 * Which bytes a format covers. The others are holes between fields: perf has
 * there what its buffer held before, so they cannot be compared.
 */
static void cover(const struct ktb_format *f, const char *raw, __u32 size, char *covered)
{
	memset(covered, 0, size);
	for (int i = 0; i < f->nfields; i++) {
		const struct ktb_field *field = &f->field[i];

		for (unsigned int n = 0; n < field->size && field->offset + n < size; n++)
			covered[field->offset + n] = 1;
		if (field->data_loc && field->size == 4) {
			__u32 loc, n, end;

			memcpy(&loc, raw + field->offset, sizeof(loc));
			n = loc & 0xffff;
			end = n + (loc >> 16);
			for (; n < end && n < size; n++)
				covered[n] = 1;
		}
	}
	/* The padding at the end is zero on both sides. */
	for (__u32 n = ktb_format_end(f); n < size; n++)
		covered[n] = 1;
}

static void compare(struct __test_metadata *_metadata, const struct ktb_format *f)
{
	int count = ours.count < perfs.count ? ours.count : perfs.count;

	EXPECT_EQ(perfs.count, ours.count);
	for (int i = 0; i < count; i++) {
		const char *a = perfs.record[i].raw, *b = ours.record[i].raw;
		char covered[MAX_RAW];
		__u32 n;

		ASSERT_EQ(perfs.record[i].size, ours.record[i].size);
		cover(f, a, ours.record[i].size, covered);
		for (n = 0; n < ours.record[i].size; n++)
			if (covered[n] && !same_byte(f, n, a[n], b[n]))
				break;
		ASSERT_EQ(ours.record[i].size, n)
			TH_LOG("record %d, byte %u: perf %02hhx, ours %02hhx", i, n, a[n], b[n]);
	}
}

TEST_F(perf, sys_enter)
{
	struct ktb_worker w = { .work = ktb_work_syscalls, .count = 500, .magic = 0x777 };
	struct ktb_format f;

	run_both(_metadata, self, "raw_syscalls:sys_enter", &w, &f);
	EXPECT_EQ(500, ours.count);
	compare(_metadata, &f);
}

TEST_F(perf, sys_exit)
{
	struct ktb_worker w = { .work = ktb_work_syscalls, .count = 500 };
	struct ktb_format f;

	run_both(_metadata, self, "raw_syscalls:sys_exit", &w, &f);
	EXPECT_EQ(500, ours.count);
	compare(_metadata, &f);
}

static void work_rename(struct ktb_worker *w)
{
	char name[16];

	for (__u64 i = 0; i < w->count; i++) {
		snprintf(name, sizeof(name), "name %u", (unsigned int)i);
		prctl(PR_SET_NAME, name);
	}
}

TEST_F(perf, task_rename)
{
	struct ktb_worker w = { .work = work_rename, .count = 20 };
	struct ktb_format f;

	run_both(_metadata, self, "task:task_rename", &w, &f);
	EXPECT_EQ(20, ours.count);
	compare(_metadata, &f);
}

static void work_signal(struct ktb_worker *w)
{
	for (__u64 i = 0; i < w->count; i++)
		syscall(SYS_tgkill, getpid(), w->tid, SIGURG);
}

TEST_F(perf, signal_generate)
{
	struct ktb_worker w = { .work = work_signal, .count = 20 };
	struct ktb_format f;

	run_both(_metadata, self, "signal:signal_generate", &w, &f);
	EXPECT_EQ(20, ours.count);
	compare(_metadata, &f);
}

static void work_fork(struct ktb_worker *w)
{
	for (__u64 i = 0; i < w->count; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
}

/* Strings of which 6.12 makes dynamic fields. */
TEST_F(perf, sched_process_fork)
{
	struct ktb_worker w = { .work = work_fork, .count = 5 };
	struct ktb_format f;

	run_both(_metadata, self, "sched:sched_process_fork", &w, &f);
	EXPECT_EQ(5, ours.count);
	compare(_metadata, &f);
}

static void work_nap(struct ktb_worker *w)
{
	for (__u64 i = 0; i < w->count; i++)
		usleep(1000);
}

#define IRQ_FLAGS	(0x08 | 0x10)	/* hardirq, softirq */

static void keep_task_context(struct stream *s, const struct ktb_field *flags)
{
	int kept = 0;

	for (int i = 0; i < s->count; i++)
		if (!(s->record[i].raw[flags->offset] & IRQ_FLAGS))
			s->record[kept++] = s->record[i];
	s->count = kept;
}

/*
 * The tick starts its timer on the account of the thread that it interrupts,
 * which it may do between attaching ours and enabling perf's: only what the
 * thread started itself is compared, or the scheduler on its way to sleep.
 */
TEST_F(perf, hrtimer_start)
{
	struct ktb_worker w = { .work = work_nap, .count = 10 };
	const struct ktb_field *flags;
	struct ktb_format f;

	run_both(_metadata, self, "timer:hrtimer_start", &w, &f);
	flags = ktb_format_field(&f, "common_flags");
	ASSERT_NE(NULL, flags);
	keep_task_context(&ours, flags);
	keep_task_context(&perfs, flags);
	EXPECT_LE(10, ours.count);
	compare(_metadata, &f);
}

static void work_marked_naps(struct ktb_worker *w)
{
	prctl(PR_SET_NAME, MARK);
	work_nap(w);
	prctl(PR_SET_NAME, "ktb unmarked");
}

static void keep_marked(struct stream *s, const struct ktb_field *comm)
{
	int kept = 0;

	for (int i = 0; i < s->count; i++)
		if (!strncmp(s->record[i].raw + comm->offset, MARK, 16))
			s->record[kept++] = s->record[i];
	s->count = kept;
}

/*
 * The thread may also be preempted between attaching ours and enabling perf's,
 * so only what it did under its mark is compared.
 */
TEST_F(perf, sched_switch)
{
	struct ktb_worker w = { .work = work_marked_naps, .count = 50 };
	const struct ktb_field *comm;
	struct ktb_format f;

	run_both(_metadata, self, "sched:sched_switch", &w, &f);
	comm = ktb_format_field(&f, "prev_comm");
	ASSERT_NE(NULL, comm);
	keep_marked(&ours, comm);
	keep_marked(&perfs, comm);
	/* Not 50: a nap's timer may be faster than the thread falls asleep. */
	EXPECT_LE(10, ours.count);
	compare(_metadata, &f);
}

/* The time of a record is that of the hit, on perf's clock. */
TEST_F(perf, time)
{
	struct ktb_worker w = { .work = ktb_work_syscalls, .count = 100 };
	struct ktb_format f;

	run_both(_metadata, self, "raw_syscalls:sys_enter", &w, &f);
	ASSERT_EQ(100, ours.count);
	ASSERT_EQ(100, perfs.count);
	/* Both see a hit before either sees the next: their times interleave. */
	for (int i = 1; i < 100; i++) {
		EXPECT_LE(ours.record[i - 1].time, perfs.record[i].time);
		EXPECT_LE(perfs.record[i - 1].time, ours.record[i].time);
	}
}

TEST_HARNESS_MAIN
