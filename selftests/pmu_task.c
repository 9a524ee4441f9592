// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events about a task that is not the one that hits them: who counts wake-ups of
 * a sleeper counts those by others. And the kernel's own events count them once,
 * whoever else is there.
 */
#include "ktb_file.h"
#include "ktb_test.h"

#include <stdio.h>
#include <sys/ioctl.h>

#define WAKEUPS	30
#define CPU	0

enum { OURS, KERNELS, BOTH };
#define for_both(i)	for (int i = 0; i < BOTH; i++)

FIXTURE(task)
{
	int type[BOTH];
	int fd[BOTH];
	int ball[2];
	pid_t sleeper;
	__u64 usual;	/* what the kernel alone counts of WAKEUPS */
};

FIXTURE_SETUP(task)
{
	self->type[OURS] = ktb_pmu_type();
	ASSERT_LT(0, self->type[OURS])
		TH_LOG("no PMU ktrace_bridge: is the module loaded?");
	self->type[KERNELS] = PERF_TYPE_TRACEPOINT;
	for_both(i) {
		self->fd[i] = -1;
	}
	ASSERT_EQ(0, ktb_pin(CPU));
	ASSERT_EQ(0, pipe(self->ball));
	self->sleeper = fork();
	if (!self->sleeper) {
		char c;

		close(self->ball[1]);
		while (read(self->ball[0], &c, 1) == 1)
			;
		_exit(0);
	}
	close(self->ball[0]);
}

FIXTURE_TEARDOWN(task)
{
	close(self->ball[1]);
	EXPECT_EQ(0, ktb_reap(self->sleeper));
	for_both(i) {
		close(self->fd[i]);
	}
}

/* Each wake-up finds it asleep, and is ours. */
#define ASSERT_WAKE(times)							\
	for (int n = 0; n < (times); n++) {					\
		ASSERT_TRUE(ktb_wait_for(ktb_is_asleep(self->sleeper), 20));	\
		ASSERT_EQ(1, write(self->ball[1], "", 1));			\
		ASSERT_TRUE(ktb_wait_for(ktb_is_asleep(self->sleeper), 20));	\
	}

/*
 * Once for each wake-up, and now and then for another thread that it wakes itself.
 * (On a realtime kernel a wake-up may come in two: to a lock that the waker holds.)
 */
#define EXPECT_ONCE(count)							\
	do {									\
		__u64 once = (count);						\
										\
		EXPECT_LE(WAKEUPS, once);					\
		EXPECT_GT(self->usual + WAKEUPS / 2, once);			\
	} while (0)

static int open_event(FIXTURE_DATA(task) *self, int i, const char *event, pid_t pid, int cpu)
{
	struct perf_event_attr attr = ktb_perf_attr(self->type[i], ktb_tracepoint_id(event));

	self->fd[i] = ktb_perf_open(&attr, pid, cpu, -1, 0);
	return self->fd[i] < 0 ? self->fd[i] : 0;
}

static void count_usual(struct __test_metadata *_metadata, FIXTURE_DATA(task) *self)
{
	ASSERT_EQ(0, open_event(self, KERNELS, "sched:sched_waking", self->sleeper, CPU));
	ASSERT_EQ(0, ioctl(self->fd[KERNELS], PERF_EVENT_IOC_ENABLE, 0));
	ASSERT_WAKE(WAKEUPS);
	self->usual = ktb_perf_count(self->fd[KERNELS]);
	close(self->fd[KERNELS]);
	self->fd[KERNELS] = -1;
}

static void count_wakeups(struct __test_metadata *_metadata, FIXTURE_DATA(task) *self,
			  const char *event)
{
	count_usual(_metadata, self);
	for_both(i) {
		ASSERT_EQ(0, open_event(self, i, event, self->sleeper, CPU));
		ASSERT_EQ(0, ioctl(self->fd[i], PERF_EVENT_IOC_ENABLE, 0));
	}
	ASSERT_WAKE(WAKEUPS);
	EXPECT_ONCE(ktb_perf_count(self->fd[OURS]));
	EXPECT_EQ(ktb_perf_count(self->fd[KERNELS]), ktb_perf_count(self->fd[OURS]));
}

TEST_F(task, wakeup)
{
	count_wakeups(_metadata, self, "sched:sched_wakeup");
}

TEST_F(task, waking)
{
	count_wakeups(_metadata, self, "sched:sched_waking");
}

/* On no certain CPU. (The kernel's PMU has counted these since 6.2.) */
TEST_F(task, any_cpu)
{
	ASSERT_TRUE(ktb_wait_for(ktb_is_asleep(self->sleeper), 20));
	ASSERT_EQ(0, open_event(self, OURS, "sched:sched_waking", self->sleeper, -1));
	ASSERT_EQ(0, open_event(self, KERNELS, "sched:sched_waking", self->sleeper, CPU));
	for_both(i) {
		ASSERT_EQ(0, ioctl(self->fd[i], PERF_EVENT_IOC_ENABLE, 0));
	}
	ASSERT_WAKE(WAKEUPS);
	EXPECT_LE(WAKEUPS, ktb_perf_count(self->fd[OURS]));
	EXPECT_EQ(ktb_perf_count(self->fd[KERNELS]), ktb_perf_count(self->fd[OURS]));
}

/* The kernel's own event of another task counts while it is disabled, too. */
TEST_F(task, not_while_disabled)
{
	count_usual(_metadata, self);
	ASSERT_EQ(0, open_event(self, OURS, "sched:sched_waking", self->sleeper, CPU));
	ASSERT_WAKE(WAKEUPS);
	EXPECT_EQ(0, ktb_perf_count(self->fd[OURS]));
	ASSERT_EQ(0, ioctl(self->fd[OURS], PERF_EVENT_IOC_ENABLE, 0));
	ASSERT_WAKE(WAKEUPS);
	ASSERT_EQ(0, ioctl(self->fd[OURS], PERF_EVENT_IOC_DISABLE, 0));
	ASSERT_WAKE(WAKEUPS);
	EXPECT_ONCE(ktb_perf_count(self->fd[OURS]));
}

/* The kernel's event of the sleeper, while ours watches all of the CPU. */
TEST_F(task, kernels_count_once)
{
	count_usual(_metadata, self);
	ASSERT_EQ(0, open_event(self, OURS, "sched:sched_waking", -1, CPU));
	ASSERT_EQ(0, open_event(self, KERNELS, "sched:sched_waking", self->sleeper, CPU));
	for_both(i) {
		ASSERT_EQ(0, ioctl(self->fd[i], PERF_EVENT_IOC_ENABLE, 0));
	}
	ASSERT_WAKE(WAKEUPS);
	EXPECT_ONCE(ktb_perf_count(self->fd[KERNELS]));
	EXPECT_LE(WAKEUPS, ktb_perf_count(self->fd[OURS]));
}

struct stream {
	int count;
	struct {
		__u32 size;
		char raw[64];
	} record[1024];
};

static struct stream stream[BOTH];

static void keep(const struct perf_event_header *h, void *arg)
{
	const char *raw = (const char *)(h + 1);
	struct stream *to = arg;
	__u32 size;

	memcpy(&size, raw, sizeof(size));
	if (h->type != PERF_RECORD_SAMPLE || to->count == 1024 || size > 64)
		return;
	to->record[to->count].size = size;
	memcpy(to->record[to->count++].raw, raw + sizeof(size), size);
}

/* Our own probe's records are those of the kernel's, byte for byte. */
TEST_F(task, records)
{
	struct perf_event_attr attr = ktb_perf_attr(0, ktb_tracepoint_id("sched:sched_waking"));
	struct ktb_perf_ring ring[BOTH];

	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_RAW;
	for_both(i) {
		attr.type = self->type[i];
		attr.disabled = !i;
		self->fd[i] = ktb_perf_open(&attr, -1, CPU, i ? self->fd[0] : -1, 0);
		ASSERT_LE(0, self->fd[i]);
		ASSERT_EQ(0, ktb_perf_map(&ring[i], self->fd[i], 64));
	}
	ASSERT_EQ(0, ioctl(self->fd[0], PERF_EVENT_IOC_ENABLE, 0));
	ASSERT_WAKE(WAKEUPS);
	ASSERT_EQ(0, ioctl(self->fd[0], PERF_EVENT_IOC_DISABLE, 0));
	for_both(i) {
		ktb_perf_take(&ring[i], keep, &stream[i]);
		ktb_perf_unmap(&ring[i]);
	}
	EXPECT_LE(WAKEUPS, stream[OURS].count);
	EXPECT_EQ(stream[KERNELS].count, stream[OURS].count);
	for (int n = 0; n < stream[OURS].count; n++) {
		/* Whether to be preempted may change between the two probes. */
		stream[OURS].record[n].raw[2] = stream[KERNELS].record[n].raw[2];
		ASSERT_EQ(stream[KERNELS].record[n].size, stream[OURS].record[n].size);
		ASSERT_EQ(0, memcmp(stream[OURS].record[n].raw, stream[KERNELS].record[n].raw,
				    stream[OURS].record[n].size));
	}
}

/* Hits that count for more than one: nanoseconds of sleep. */
TEST_F(task, delays)
{
	struct perf_event_attr attr = ktb_perf_attr(0, ktb_tracepoint_id("sched:sched_stat_sleep"));
	FILE *schedstats = fopen("/proc/sys/kernel/sched_schedstats", "w");

	if ((int)attr.config < 0 || !schedstats)
		SKIP(return, "no schedstats in this kernel");
	fputs("1", schedstats);
	fclose(schedstats);
	for_both(i) {
		attr.type = self->type[i];
		attr.disabled = !i;
		self->fd[i] = ktb_perf_open(&attr, -1, CPU, i ? self->fd[0] : -1, 0);
		ASSERT_LE(0, self->fd[i]);
	}
	ASSERT_EQ(0, ioctl(self->fd[0], PERF_EVENT_IOC_ENABLE, 0));
	ASSERT_WAKE(WAKEUPS);
	ASSERT_EQ(0, ioctl(self->fd[0], PERF_EVENT_IOC_DISABLE, 0));
	EXPECT_LT(WAKEUPS, ktb_perf_count(self->fd[OURS]));
	EXPECT_EQ(ktb_perf_count(self->fd[KERNELS]), ktb_perf_count(self->fd[OURS]));
	schedstats = fopen("/proc/sys/kernel/sched_schedstats", "w");
	if (schedstats) {
		fputs("0", schedstats);
		fclose(schedstats);
	}
}

/* ---- throttled ---- */

#define RATE		"/proc/sys/kernel/perf_event_max_sample_rate"
#define TURNS		100
#define TURN_TIME	1000000	/* ns, in which it is throttled */

static void nap(void)
{
	const struct timespec t = { .tv_nsec = 100000 };

	nanosleep(&t, NULL);
}

/* How often the task comes back, and system calls of it are counted then. */
static int turns_counted(int fd)
{
	__u64 before = ktb_perf_count(fd);
	int turns = 0;

	for (int i = 0; i < TURNS; i++) {
		__u64 end, after;

		nap();
		for (end = ktb_now() + TURN_TIME; ktb_now() < end;)
			getppid();
		after = ktb_perf_count(fd);
		turns += after > before;
		before = after;
	}
	return turns;
}

/*
 * 7.3 stops a whole group to throttle its leader, and may have taken it
 * off the CPU before it goes on: it counts again when it is back.
 */
TEST(group_throttled)
{
	struct perf_event_attr attr = ktb_perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	FILE *file = fopen(RATE, "re");
	int leader, fd, turns = 0;
	char rate[32];

	ASSERT_NE(NULL, file);
	ASSERT_NE(NULL, fgets(rate, sizeof(rate), file));
	fclose(file);
	ASSERT_EQ(0, ktb_write_file(RATE, "1000"));
	attr.sample_period = 50000;
	attr.disabled = 0;
	leader = ktb_perf_open(&attr, 0, -1, -1, 0);
	attr = ktb_perf_attr(ktb_pmu_type(), ktb_tracepoint_id("raw_syscalls:sys_enter"));
	attr.disabled = 0;
	fd = ktb_perf_open(&attr, 0, -1, leader, 0);
	if (fd >= 0)
		turns = turns_counted(fd);
	EXPECT_EQ(0, ktb_write_file(RATE, rate));
	ASSERT_LE(0, leader);
	ASSERT_LE(0, fd);
	/* Where the machine is slow a turn may be over before its first call. */
	EXPECT_LT(TURNS / 2, turns);
	close(fd);
	close(leader);
}

TEST_HARNESS_MAIN
