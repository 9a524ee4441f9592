// SPDX-License-Identifier: GPL-2.0-only
/*
 * BPF programs on events of our PMU, by ioctl and by link: they count, drop
 * samples, and send to a ring buffer. And a program on the kernel's tracepoint is
 * not disturbed.
 */
#include "ktb_test.h"

#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "ktb_bpf.h"

#define ENTER	"raw_syscalls:sys_enter"
#define HITS	501
#define PAGES	64
#define RINGBUF	(16 * 4096)

/*
 * Counts hits in the map, those of thread @tid alone if it is not 0; returns
 * whether the count is odd, and sends an odd one to the ring buffer, if @ringbuf
 * is not -1.
 */
static int load_counter(__u32 type, int map, int ringbuf, pid_t tid)
{
	struct ktb_prog p = {};

	if (tid) {
		ktb_emit_call(&p, BPF_FUNC_get_current_pid_tgid);
		ktb_emit_end_if(&p, BPF_JMP32 | BPF_JNE, 0, tid);
	}
	ktb_emit_count(&p, map);
	ktb_emit_mov_reg(&p, 8, 7);
	ktb_emit(&p, BPF_ALU64 | BPF_AND | BPF_K, 8, 0, 0, 1);
	ktb_emit_end_if(&p, BPF_JMP | BPF_JEQ, 8, 0);
	if (ringbuf != -1) {
		ktb_emit(&p, BPF_STX | BPF_MEM | BPF_DW, 10, 7, -8, 0);
		ktb_emit_map(&p, 1, ringbuf);
		ktb_emit_stack(&p, 2);
		ktb_emit_mov_imm(&p, 3, 8);
		ktb_emit_mov_imm(&p, 4, 0);
		ktb_emit_call(&p, BPF_FUNC_ringbuf_output);
	}
	ktb_emit_end(&p, 8);
	return ktb_prog_load(type, &p);
}

FIXTURE(bpf)
{
	int type;
	int id;
	int fd;
	int map;
	int prog;
	struct ktb_perf_ring ring;
	struct ktb_worker w;
};

FIXTURE_SETUP(bpf)
{
	struct perf_event_attr attr;

	self->type = ktb_pmu_type();
	ASSERT_LT(0, self->type)
		TH_LOG("no PMU ktrace_bridge: is the module loaded?");
	self->id = ktb_tracepoint_id(ENTER);
	self->w.work = ktb_work_syscalls;
	self->w.count = HITS;
	ASSERT_EQ(0, ktb_worker_start(&self->w));
	self->map = ktb_map_create(BPF_MAP_TYPE_ARRAY, 4, 8, 1);
	ASSERT_LE(0, self->map);
	self->prog = -1;

	attr = ktb_perf_attr(self->type, self->id);
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_RAW;
	self->fd = ktb_perf_open(&attr, self->w.tid, -1, -1, 0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, ktb_perf_map(&self->ring, self->fd, PAGES));
	ASSERT_EQ(0, ioctl(self->fd, PERF_EVENT_IOC_ENABLE, 0));
}

FIXTURE_TEARDOWN(bpf)
{
	ktb_worker_finish(&self->w);
	ktb_perf_unmap(&self->ring);
	close(self->fd);
	close(self->map);
	close(self->prog);
}

#define ASSERT_PROG(type, ringbuf, tid)						\
	do {									\
		self->prog = load_counter(type, self->map, ringbuf, tid);	\
		ASSERT_LE(0, self->prog)					\
			TH_LOG("%s", ktb_bpf_log);					\
	} while (0)

#define ASSERT_WORK()								\
	do {									\
		ktb_worker_go(&self->w);					\
		ASSERT_TRUE(ktb_worker_wait(&self->w));				\
	} while (0)

/* Every hit is counted, every other one dropped. */
TEST_F(bpf, counts_and_drops)
{
	ASSERT_PROG(BPF_PROG_TYPE_PERF_EVENT, -1, 0);
	ASSERT_EQ(0, ioctl(self->fd, PERF_EVENT_IOC_SET_BPF, self->prog));
	ASSERT_WORK();
	EXPECT_EQ(HITS, ktb_map_value(self->map));
	EXPECT_EQ(HITS, ktb_perf_count(self->fd));
	EXPECT_EQ((HITS + 1) / 2, ktb_perf_take(&self->ring, NULL, NULL));
	/* One program at a time. */
	EXPECT_EQ(-1, ioctl(self->fd, PERF_EVENT_IOC_SET_BPF, self->prog));
	EXPECT_EQ(EEXIST, errno);
}

/* A link does the same, and when it is gone all is sampled again. */
TEST_F(bpf, link)
{
	union bpf_attr attr = { .link_create = { .attach_type = BPF_PERF_EVENT } };
	int link;

	ASSERT_PROG(BPF_PROG_TYPE_PERF_EVENT, -1, 0);
	attr.link_create.prog_fd = self->prog;
	attr.link_create.target_fd = self->fd;
	link = ktb_bpf(BPF_LINK_CREATE, &attr);
	ASSERT_LE(0, link);
	ASSERT_WORK();
	EXPECT_EQ(HITS, ktb_map_value(self->map));
	EXPECT_EQ((HITS + 1) / 2, ktb_perf_take(&self->ring, NULL, NULL));
	close(link);
	ASSERT_WORK();
	EXPECT_EQ(HITS, ktb_map_value(self->map));
	EXPECT_EQ(HITS, ktb_perf_take(&self->ring, NULL, NULL));
	EXPECT_EQ(2 * HITS, ktb_perf_count(self->fd));
}

/* A child that inherits the event inherits the program. */
TEST_F(bpf, inherited)
{
	struct perf_event_attr attr = ktb_perf_attr(self->type, self->id);
	int fd, go[2];
	pid_t pid;
	char c;

	attr.sample_period = 1;
	attr.inherit = 1;
	ASSERT_PROG(BPF_PROG_TYPE_PERF_EVENT, -1, 0);
	ASSERT_EQ(0, pipe(go));
	ASSERT_EQ(0, ktb_pin(0));
	fd = ktb_perf_open(&attr, 0, -1, -1, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_SET_BPF, self->prog));
	pid = fork();
	if (!pid) {
		close(go[1]);
		if (read(go[0], &c, 1))
			_exit(1);
		for (int n = 0; n < HITS; n++)
			syscall(SYS_getppid);
		_exit(0);
	}
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
	close(go[0]);
	close(go[1]);
	EXPECT_EQ(0, ktb_reap(pid));
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_DISABLE, 0));
	EXPECT_LE(HITS, ktb_map_value(self->map));
	EXPECT_EQ(ktb_perf_count(fd), ktb_map_value(self->map));
	close(fd);
}

/* Records of a BPF ring buffer: 8 bytes of length, the data, in multiples of 8. */
static int take_ringbuf(const char *consumer, const char *data, __u64 *last)
{
	const __u64 *head = (const void *)(data - 4096);
	__u64 tail = *(const __u64 *)consumer;
	int records = 0;

	for (; tail < __atomic_load_n(head, __ATOMIC_ACQUIRE); tail += 16, records++)
		memcpy(last, data + tail % RINGBUF + 8, sizeof(*last));
	return records;
}

TEST_F(bpf, ring_buffer)
{
	int ringbuf = ktb_map_create(BPF_MAP_TYPE_RINGBUF, 0, 0, RINGBUF);
	const char *consumer, *producer;
	__u64 last = 0;

	ASSERT_LE(0, ringbuf);
	consumer = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ringbuf, 0);
	producer = mmap(NULL, 4096 + 2 * RINGBUF, PROT_READ, MAP_SHARED, ringbuf, 4096);
	ASSERT_NE(MAP_FAILED, consumer);
	ASSERT_NE(MAP_FAILED, producer);
	ASSERT_PROG(BPF_PROG_TYPE_PERF_EVENT, ringbuf, 0);
	ASSERT_EQ(0, ioctl(self->fd, PERF_EVENT_IOC_SET_BPF, self->prog));
	ASSERT_WORK();
	EXPECT_EQ((HITS + 1) / 2, take_ringbuf(consumer, producer + 4096, &last));
	EXPECT_EQ(HITS, last);
	close(ringbuf);
}

/* Programs of the kernel's tracepoints have another context: not on our events. */
TEST_F(bpf, refused)
{
	ASSERT_PROG(BPF_PROG_TYPE_TRACEPOINT, -1, 0);
	EXPECT_EQ(-1, ioctl(self->fd, PERF_EVENT_IOC_SET_BPF, self->prog));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, ioctl(self->fd, PERF_EVENT_IOC_SET_BPF, self->map));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, ioctl(self->fd, PERF_EVENT_IOC_SET_BPF, -1));
	EXPECT_EQ(EBADF, errno);
}

/* It runs once for each hit, whether there are events of ours or not. */
TEST_F(bpf, kernels_program_beside)
{
	struct perf_event_attr attr = ktb_perf_attr(PERF_TYPE_TRACEPOINT, self->id);
	int kernels;

	ASSERT_PROG(BPF_PROG_TYPE_TRACEPOINT, -1, self->w.tid);
	attr.sample_period = 1;
	kernels = ktb_perf_open(&attr, self->w.tid, -1, -1, 0);
	ASSERT_LE(0, kernels);
	ASSERT_EQ(0, ioctl(kernels, PERF_EVENT_IOC_SET_BPF, self->prog));
	ASSERT_EQ(0, ioctl(kernels, PERF_EVENT_IOC_ENABLE, 0));
	ASSERT_WORK();
	EXPECT_EQ(HITS, ktb_map_value(self->map));
	/* The program drops every other hit for the kernel's events, not for ours. */
	EXPECT_EQ((HITS + 1) / 2, ktb_perf_count(kernels));
	EXPECT_EQ(HITS, ktb_perf_count(self->fd));
	EXPECT_EQ(HITS, ktb_perf_take(&self->ring, NULL, NULL));
	ASSERT_EQ(0, ioctl(self->fd, PERF_EVENT_IOC_DISABLE, 0));
	ASSERT_WORK();
	EXPECT_EQ(2 * HITS, ktb_map_value(self->map));
	close(self->fd);
	ASSERT_WORK();
	EXPECT_EQ(3 * HITS, ktb_map_value(self->map));
	close(kernels);
	ASSERT_WORK();
	EXPECT_EQ(3 * HITS, ktb_map_value(self->map));
}

TEST_HARNESS_MAIN
