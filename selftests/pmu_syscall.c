// SPDX-License-Identifier: GPL-2.0-only
/*
 * Our PMU through perf_event_open(2), read(2), ioctl(2), mmap(2), poll(2) and
 * exec: the kernel's tracepoint PMU beside it sees the same hits and has to give
 * the same results.
 */
#include "ktb_test.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#define ENTER	"raw_syscalls:sys_enter"
#define HITS	500
#define PAGES	64
#define MAX	2048

enum { OURS, KERNELS, BOTH };

FIXTURE(pmu)
{
	int type[BOTH];
	int id;
	int fd[BOTH];
	struct ktb_perf_ring ring[BOTH];
	struct ktb_worker w;
};

FIXTURE_SETUP(pmu)
{
	self->type[OURS] = ktb_pmu_type();
	ASSERT_LT(0, self->type[OURS])
		TH_LOG("no PMU ktrace_bridge: is the module loaded?");
	self->type[KERNELS] = PERF_TYPE_TRACEPOINT;
	self->id = ktb_tracepoint_id(ENTER);
	ASSERT_LT(0, self->id);
	self->fd[OURS] = -1;
	self->fd[KERNELS] = -1;
	self->w.work = ktb_work_syscalls;
	self->w.count = HITS;
	ASSERT_EQ(0, ktb_worker_start(&self->w));
}

FIXTURE_TEARDOWN(pmu)
{
	ktb_worker_finish(&self->w);
	for (int i = 0; i < BOTH; i++) {
		if (self->ring[i].page)
			ktb_perf_unmap(&self->ring[i]);
		close(self->fd[i]);
	}
}

#define for_both(i)	for (int i = 0; i < BOTH; i++)

/* Open the same on both PMUs, for the worker on any CPU. */
#define ASSERT_OPEN_BOTH(attr)							\
	for_both(i) {								\
		(attr)->type = self->type[i];					\
		self->fd[i] = ktb_perf_open(attr, self->w.tid, -1, -1, 0);	\
		ASSERT_LE(0, self->fd[i]);					\
	}

#define ASSERT_MAP_BOTH()							\
	for_both(i) {							\
		ASSERT_EQ(0, ktb_perf_map(&self->ring[i], self->fd[i], PAGES));		\
	}

#define ASSERT_WORK()								\
	do {									\
		ktb_worker_go(&self->w);					\
		ASSERT_TRUE(ktb_worker_wait(&self->w));				\
	} while (0)

/* An ioctl of both: the same result, and error if it is one. */
#define EXPECT_SAME_IOCTL(wanted, request, arg)					\
	for_both(i) {								\
		int got = ioctl(self->fd[i], request, arg) ? -errno : 0;	\
										\
		EXPECT_EQ(wanted, got)						\
			TH_LOG("%s", i == OURS ? "ours" : "the kernel's");	\
	}

TEST_F(pmu, counts)
{
	struct perf_event_attr attr = ktb_perf_attr(0, self->id);

	ASSERT_OPEN_BOTH(&attr);
	ASSERT_WORK();
	for_both(i) {
		EXPECT_EQ(0, ktb_perf_count(self->fd[i]));
	}
	EXPECT_SAME_IOCTL(0, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_WORK();
	for_both(i) {
		EXPECT_EQ(HITS, ktb_perf_count(self->fd[i]));
	}
	EXPECT_SAME_IOCTL(0, PERF_EVENT_IOC_DISABLE, 0);
	ASSERT_WORK();
	for_both(i) {
		EXPECT_EQ(HITS, ktb_perf_count(self->fd[i]));
	}
	EXPECT_SAME_IOCTL(0, PERF_EVENT_IOC_RESET, 0);
	for_both(i) {
		EXPECT_EQ(0, ktb_perf_count(self->fd[i]));
	}
	EXPECT_SAME_IOCTL(0, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_WORK();
	for_both(i) {
		EXPECT_EQ(HITS, ktb_perf_count(self->fd[i]));
	}
}

/* System-wide on the worker's CPU: what else runs there hits as well. */
TEST_F(pmu, counts_a_cpu)
{
	struct perf_event_attr attr = ktb_perf_attr(0, self->id);
	__u64 count[1 + BOTH];

	attr.read_format = PERF_FORMAT_GROUP;
	for_both(i) {
		attr.type = self->type[i];
		attr.disabled = i == 0;
		self->fd[i] = ktb_perf_open(&attr, -1, self->w.cpu, i ? self->fd[0] : -1, 0);
		ASSERT_LE(0, self->fd[i]);
	}
	EXPECT_EQ(0, ioctl(self->fd[0], PERF_EVENT_IOC_ENABLE, 0));
	ASSERT_WORK();
	EXPECT_EQ(0, ioctl(self->fd[0], PERF_EVENT_IOC_DISABLE, 0));
	ASSERT_EQ(sizeof(count), read(self->fd[0], count, sizeof(count)));
	EXPECT_EQ(BOTH, count[0]);
	EXPECT_LE(HITS, count[1]);
	EXPECT_EQ(count[1 + KERNELS], count[1 + OURS]);
}

/* Leader and member in either order; all that read_format can ask for. */
TEST_F(pmu, read_formats)
{
	struct perf_event_attr attr = ktb_perf_attr(0, self->id);
	struct { __u64 value, enabled, running, id, lost; } one;
	struct { __u64 nr, enabled, running; struct { __u64 value, id, lost; } of[2]; } group;

	for_both(leader) {
		int fd[2];
		__u64 id;

		for_both(i) {
			attr.type = self->type[i ? !leader : leader];
			attr.disabled = !i;
			attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
					   PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID |
					   PERF_FORMAT_LOST | (i ? 0 : PERF_FORMAT_GROUP);
			fd[i] = ktb_perf_open(&attr, self->w.tid, -1, i ? fd[0] : -1, 0);
			ASSERT_LE(0, fd[i]);
		}
		EXPECT_EQ(0, ioctl(fd[0], PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP));
		ASSERT_WORK();
		EXPECT_EQ(0, ioctl(fd[0], PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP));

		ASSERT_EQ(sizeof(group), read(fd[0], &group, sizeof(group)));
		ASSERT_EQ(sizeof(one), read(fd[1], &one, sizeof(one)));
		EXPECT_EQ(-1, read(fd[0], &group, sizeof(group) - 1));
		EXPECT_EQ(ENOSPC, errno);
		EXPECT_EQ(2, group.nr);
		EXPECT_EQ(HITS, group.of[0].value);
		EXPECT_EQ(HITS, group.of[1].value);
		EXPECT_EQ(HITS, one.value);
		EXPECT_LT(0, group.running);
		EXPECT_EQ(group.enabled, group.running);
		EXPECT_EQ(one.enabled, one.running);
		EXPECT_EQ(0, group.of[0].lost + group.of[1].lost + one.lost);
		EXPECT_EQ(one.id, group.of[1].id);
		EXPECT_EQ(0, ioctl(fd[0], PERF_EVENT_IOC_ID, &id));
		EXPECT_EQ(id, group.of[0].id);
		close(fd[0]);
		close(fd[1]);
	}
}

/* What a record holds with this sample_type, after the header. */
struct sample {
	__u64 id;
	__u64 ip;
	__u32 pid, tid;
	__u64 time;
	__u32 cpu, reserved;
	__u64 period;
	__u32 raw_size;
	char raw[];
} __packed;

#define SAMPLE_TYPE	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | \
			 PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |   \
			 PERF_SAMPLE_RAW)

struct stream {
	int count;
	int others;
	struct {
		__u32 size;
		struct sample head;
		char raw[128];
	} record[MAX];
};

static struct stream stream[BOTH];

static void keep(const struct perf_event_header *h, void *arg)
{
	const struct sample *s = (const void *)(h + 1);
	struct stream *to = arg;

	if (h->type != PERF_RECORD_SAMPLE || to->count == MAX ||
	    s->raw_size > sizeof(to->record->raw)) {
		to->others++;
		return;
	}
	to->record[to->count].size = h->size;
	to->record[to->count].head = *s;
	memcpy(to->record[to->count].raw, s->raw, s->raw_size);
	to->count++;
}

/*
 * Two probes are not called at one moment: what may come true in between is that
 * the thread is to be preempted.
 */
#define RESCHED_FLAGS	(0x02 | 0x04 | 0x20)
#define FLAGS_AT	2	/* common_flags */

static bool same_raw(const char *a, const char *b, __u32 size)
{
	for (__u32 i = 0; i < size; i++)
		if ((a[i] ^ b[i]) & (i == FLAGS_AT ? (char)~RESCHED_FLAGS : (char)0xff))
			return false;
	return true;
}

#define EXPECT_SAME_SAMPLES(wanted)						\
	do {									\
		EXPECT_EQ(wanted, stream[OURS].count);				\
		EXPECT_EQ(wanted, stream[KERNELS].count);			\
		EXPECT_EQ(0, stream[OURS].others + stream[KERNELS].others);	\
		for (int n = 0; n < stream[OURS].count && n < stream[KERNELS].count; n++) \
			expect_same_sample(_metadata, n);			\
	} while (0)

static void expect_same_sample(struct __test_metadata *_metadata, int n)
{
	const struct sample *a = &stream[OURS].record[n].head;
	const struct sample *b = &stream[KERNELS].record[n].head;

	ASSERT_EQ(stream[KERNELS].record[n].size, stream[OURS].record[n].size);
	ASSERT_EQ(b->raw_size, a->raw_size);
	EXPECT_EQ(b->pid, a->pid);
	EXPECT_EQ(b->tid, a->tid);
	EXPECT_EQ(b->cpu, a->cpu);
	EXPECT_EQ(b->period, a->period);
	EXPECT_TRUE(same_raw(stream[OURS].record[n].raw, stream[KERNELS].record[n].raw,
			     a->raw_size))
		TH_LOG("the raw data of sample %d differ", n);
}

#define TAKE_BOTH()								\
	for_both(i) {								\
		stream[i].count = 0;						\
		stream[i].others = 0;						\
		ktb_perf_take(&self->ring[i], keep, &stream[i]);		\
	}

TEST_F(pmu, samples)
{
	struct perf_event_attr attr = ktb_perf_attr(0, self->id);

	attr.sample_type = SAMPLE_TYPE;
	attr.sample_period = 1;
	self->w.magic = 0x1234567890;
	ASSERT_OPEN_BOTH(&attr);
	ASSERT_MAP_BOTH();
	EXPECT_SAME_IOCTL(0, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_WORK();
	EXPECT_SAME_IOCTL(0, PERF_EVENT_IOC_DISABLE, 0);
	TAKE_BOTH();
	EXPECT_SAME_SAMPLES(HITS);
	EXPECT_EQ(self->w.tid, (pid_t)stream[OURS].record[0].head.tid);
	for_both(i) {
		EXPECT_EQ(HITS, ktb_perf_count(self->fd[i]));
	}
}

/* Every seventh hit, and when PERIOD says so every fifth. */
TEST_F(pmu, period)
{
	struct perf_event_attr attr = ktb_perf_attr(0, self->id);
	__u64 period = 5, zero = 0, negative = 1ULL << 63;
	int samples[BOTH];

	/* No PERF_SAMPLE_PERIOD: with it each hit of a tracepoint is sampled. */
	attr.sample_type = SAMPLE_TYPE & ~(PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW);
	attr.sample_period = 7;
	ASSERT_OPEN_BOTH(&attr);
	ASSERT_MAP_BOTH();
	EXPECT_SAME_IOCTL(0, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_WORK();
	for_both(i) {
		EXPECT_EQ(HITS / 7, ktb_perf_take(&self->ring[i], NULL, NULL));
	}
	EXPECT_SAME_IOCTL(-EINVAL, PERF_EVENT_IOC_PERIOD, &zero);
	EXPECT_SAME_IOCTL(-EINVAL, PERF_EVENT_IOC_PERIOD, &negative);
	EXPECT_SAME_IOCTL(-EFAULT, PERF_EVENT_IOC_PERIOD, 8);
	EXPECT_SAME_IOCTL(0, PERF_EVENT_IOC_PERIOD, &period);
	ASSERT_WORK();
	for_both(i) {
		samples[i] = ktb_perf_take(&self->ring[i], NULL, NULL);
	}
	EXPECT_EQ(samples[KERNELS], samples[OURS]);
	/* A new period may begin with a sample. */
	EXPECT_TRUE(samples[OURS] == HITS / 5 || samples[OURS] == HITS / 5 + 1)
		TH_LOG("%d samples", samples[OURS]);
}

/* With the period in the sample, each hit is one and says what it counts for. */
TEST_F(pmu, period_in_the_sample)
{
	struct perf_event_attr attr = ktb_perf_attr(0, self->id);

	attr.sample_type = SAMPLE_TYPE;
	attr.sample_period = 7;
	ASSERT_OPEN_BOTH(&attr);
	ASSERT_MAP_BOTH();
	EXPECT_SAME_IOCTL(0, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_WORK();
	TAKE_BOTH();
	EXPECT_SAME_SAMPLES(HITS);
}

TEST_F(pmu, frequency)
{
	struct perf_event_attr attr = ktb_perf_attr(0, self->id);

	attr.sample_type = SAMPLE_TYPE;
	attr.freq = 1;
	attr.sample_freq = 1000;
	ASSERT_OPEN_BOTH(&attr);
	ASSERT_MAP_BOTH();
	EXPECT_SAME_IOCTL(0, PERF_EVENT_IOC_ENABLE, 0);
	self->w.count = 20 * HITS;
	ASSERT_WORK();
	/* How many depends on time. Not all of them, and not none. */
	for_both(i) {
		int samples = ktb_perf_take(&self->ring[i], NULL, NULL);

		EXPECT_LT(0, samples);
		EXPECT_GT(20 * HITS, samples);
		EXPECT_EQ(20 * HITS, ktb_perf_count(self->fd[i]));
	}
}

TEST_F(pmu, poll_and_wakeup)
{
	struct perf_event_attr attr = ktb_perf_attr(0, self->id);

	attr.sample_type = PERF_SAMPLE_TID;
	attr.sample_period = 1;
	attr.wakeup_events = HITS / 2;
	ASSERT_OPEN_BOTH(&attr);
	ASSERT_MAP_BOTH();
	for_both(i) {
		struct pollfd p = { .fd = self->fd[i], .events = POLLIN };

		EXPECT_EQ(0, poll(&p, 1, 0));
	}
	EXPECT_SAME_IOCTL(0, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_WORK();
	for_both(i) {
		struct pollfd p = { .fd = self->fd[i], .events = POLLIN };

		EXPECT_EQ(1, poll(&p, 1, 10000));
		EXPECT_EQ(POLLIN, p.revents);
		EXPECT_EQ(HITS, ktb_perf_take(&self->ring[i], NULL, NULL));
	}
}

/* Three overflows, and it is off. */
TEST_F(pmu, refresh)
{
	struct perf_event_attr attr = ktb_perf_attr(0, self->id);

	attr.sample_type = PERF_SAMPLE_TID;
	attr.sample_period = 1;
	ASSERT_OPEN_BOTH(&attr);
	ASSERT_MAP_BOTH();
	EXPECT_SAME_IOCTL(0, PERF_EVENT_IOC_REFRESH, 3);
	ASSERT_WORK();
	for_both(i) {
		int samples = ktb_perf_take(&self->ring[i], NULL, NULL);

		/* The interrupt that switches it off may come a little late. */
		EXPECT_LE(3, samples);
		EXPECT_GT(HITS, samples);
		EXPECT_GT(HITS, ktb_perf_count(self->fd[i]));
	}
}

TEST_F(pmu, refresh_of_a_counter)
{
	struct perf_event_attr attr = ktb_perf_attr(0, self->id);

	ASSERT_OPEN_BOTH(&attr);
	EXPECT_SAME_IOCTL(-EINVAL, PERF_EVENT_IOC_REFRESH, 3);
	EXPECT_SAME_IOCTL(-EINVAL, PERF_EVENT_IOC_PERIOD, &attr.config);
	EXPECT_SAME_IOCTL(-ENOTTY, _IO('$', 99), 0);
	/* No ring either. */
	for_both(i) {
		struct pollfd p = { .fd = self->fd[i], .events = POLLIN };

		EXPECT_EQ(1, poll(&p, 1, 0));
		EXPECT_EQ(POLLHUP, p.revents);
	}
}

/* Both into one ring, ours redirected and the kernel's. */
TEST_F(pmu, set_output)
{
	struct perf_event_attr attr = ktb_perf_attr(0, self->id);

	attr.sample_type = SAMPLE_TYPE;
	attr.sample_period = 1;
	for_both(to) {
		struct ktb_perf_ring ring;
		int count[BOTH] = {};
		__u64 id[BOTH];

		ASSERT_OPEN_BOTH(&attr);
		ASSERT_EQ(0, ktb_perf_map(&ring, self->fd[to], PAGES));
		for_both(i) {
			ASSERT_EQ(0, ioctl(self->fd[i], PERF_EVENT_IOC_ID, &id[i]));
		}
		ASSERT_EQ(0, ioctl(self->fd[!to], PERF_EVENT_IOC_SET_OUTPUT, self->fd[to]));
		EXPECT_EQ(-1, ioctl(self->fd[to], PERF_EVENT_IOC_SET_OUTPUT, self->fd[to]));
		EXPECT_EQ(EINVAL, errno);
		EXPECT_SAME_IOCTL(0, PERF_EVENT_IOC_ENABLE, 0);
		ASSERT_WORK();
		EXPECT_SAME_IOCTL(0, PERF_EVENT_IOC_DISABLE, 0);
		stream[0].count = 0;
		stream[0].others = 0;
		EXPECT_EQ(2 * HITS, ktb_perf_take(&ring, keep, &stream[0]));
		for (int n = 0; n < stream[0].count; n++)
			for_both(i) {
				count[i] += stream[0].record[n].head.id == id[i];
			}
		EXPECT_EQ(HITS, count[OURS]);
		EXPECT_EQ(HITS, count[KERNELS]);
		ktb_perf_unmap(&ring);
		for_both(i) {
			close(self->fd[i]);
			self->fd[i] = -1;
		}
	}
}

/* Flight recorder: a small ring holds the newest, from data_head on. */
TEST_F(pmu, overwrite)
{
	struct perf_event_attr attr = ktb_perf_attr(0, self->id);
	struct ktb_format format;
	unsigned int number;
	__u64 last[BOTH];

	/* ktb_work_syscalls() numbers its calls in the second argument. */
	ASSERT_EQ(0, ktb_format_read(ENTER, &format));
	number = ktb_format_field(&format, "args")->offset + 8;
	attr.sample_type = SAMPLE_TYPE;
	attr.sample_period = 1;
	attr.write_backward = 1;
	ASSERT_OPEN_BOTH(&attr);
	for_both(i) {
		void *page = mmap(NULL, 2 * 4096, PROT_READ, MAP_SHARED, self->fd[i], 0);

		ASSERT_NE(MAP_FAILED, page);
		self->ring[i].page = page;
		self->ring[i].size = 4096;
	}
	EXPECT_SAME_IOCTL(0, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_WORK();
	EXPECT_SAME_IOCTL(0, PERF_EVENT_IOC_PAUSE_OUTPUT, 1);
	for_both(i) {
		const char *data = (const char *)self->ring[i].page + 4096;
		__u64 head = self->ring[i].page->data_head;
		char record[512] = {};
		const struct sample *s;
		const struct perf_event_header *h = (const void *)record;

		for (int n = 0; n < 256; n++)
			record[n] = data[(head + n) % 4096];
		s = (const void *)(h + 1);
		EXPECT_EQ(PERF_RECORD_SAMPLE, h->type);
		EXPECT_EQ(self->w.tid, (pid_t)s->tid);
		memcpy(&last[i], s->raw + number, sizeof(last[i]));
		ASSERT_LE(4096, -head);
	}
	EXPECT_EQ(last[KERNELS], last[OURS]);
}

/* The child runs its program between exec and exit: as many calls on both. */
TEST_F(pmu, enable_on_exec)
{
	struct perf_event_attr attr = ktb_perf_attr(0, self->id);
	int go[2];
	pid_t pid;
	char c;

	ASSERT_EQ(0, pipe(go));
	pid = fork();
	if (!pid) {
		close(go[1]);
		if (read(go[0], &c, 1) == 0)
			execl("/proc/self/exe", "pmu_syscall", "--exit", NULL);
		_exit(1);
	}
	close(go[0]);
	attr.enable_on_exec = 1;
	for_both(i) {
		attr.type = self->type[i];
		self->fd[i] = ktb_perf_open(&attr, pid, -1, -1, 0);
		ASSERT_LE(0, self->fd[i]);
		EXPECT_EQ(0, ktb_perf_count(self->fd[i]));
	}
	close(go[1]);
	EXPECT_EQ(7, ktb_reap(pid));
	EXPECT_LT(10, ktb_perf_count(self->fd[OURS]));
	EXPECT_EQ(ktb_perf_count(self->fd[KERNELS]), ktb_perf_count(self->fd[OURS]));
}

/* Children of children, living and gone, count for the event they inherit. */
TEST_F(pmu, inherit)
{
	struct perf_event_attr attr = ktb_perf_attr(0, self->id);
	pid_t pid;

	/* A group: switched on and off by its leader, at once. */
	attr.inherit = 1;
	for_both(i) {
		attr.type = self->type[i];
		attr.disabled = !i;
		self->fd[i] = ktb_perf_open(&attr, 0, -1, i ? self->fd[0] : -1, 0);
		ASSERT_LE(0, self->fd[i]);
	}
	EXPECT_EQ(0, ioctl(self->fd[0], PERF_EVENT_IOC_ENABLE, 0));
	pid = fork();
	if (!pid) {
		pid = fork();
		if (!pid) {
			for (int n = 0; n < HITS; n++)
				syscall(SYS_getppid);
			_exit(0);
		}
		_exit(ktb_reap(pid));
	}
	EXPECT_EQ(0, ktb_reap(pid));
	EXPECT_EQ(0, ioctl(self->fd[0], PERF_EVENT_IOC_DISABLE, 0));
	EXPECT_LE(HITS, ktb_perf_count(self->fd[OURS]));
	EXPECT_EQ(ktb_perf_count(self->fd[KERNELS]), ktb_perf_count(self->fd[OURS]));
}

/* An event that is closed takes those that inherited it along. */
TEST_F(pmu, close_before_the_child)
{
	struct perf_event_attr attr = ktb_perf_attr(0, self->id);
	int go[2];
	pid_t pid;
	char c;

	attr.inherit = 1;
	attr.disabled = 0;
	ASSERT_EQ(0, pipe(go));
	for_both(i) {
		attr.type = self->type[i];
		self->fd[i] = ktb_perf_open(&attr, 0, -1, -1, 0);
		ASSERT_LE(0, self->fd[i]);
	}
	pid = fork();
	if (!pid) {
		close(go[1]);
		for_both(i) {
			close(self->fd[i]);
		}
		_exit(read(go[0], &c, 1) == 0 ? 0 : 1);
	}
	for_both(i) {
		close(self->fd[i]);
		self->fd[i] = -1;
	}
	close(go[0]);
	close(go[1]);
	EXPECT_EQ(0, ktb_reap(pid));
}

static int exit_at_once(void)
{
	for (int n = 0; n < 20; n++)
		syscall(SYS_getppid);
	return 7;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--exit"))
		return exit_at_once();
	ktb_scale_timeouts();
	return test_harness_run(argc, argv);
}
