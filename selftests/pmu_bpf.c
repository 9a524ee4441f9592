// SPDX-License-Identifier: GPL-2.0-only
/*
 * BPF programs on events of our PMU, by ioctl and by link: they count, drop
 * samples, and send to a ring buffer. And a program on the kernel's tracepoint is
 * not disturbed. The programs are put together by hand.
 */
#include "ktb_test.h"

#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <linux/bpf.h>

#define ENTER	"raw_syscalls:sys_enter"
#define HITS	501
#define PAGES	64
#define RINGBUF	(16 * 4096)

static long bpf(int cmd, union bpf_attr *attr)
{
	long ret = syscall(SYS_bpf, cmd, attr, sizeof(*attr));

	return ret < 0 ? -errno : ret;
}

static int map_create(__u32 type, __u32 key, __u32 value, __u32 entries)
{
	union bpf_attr attr = {
		.map_type = type,
		.key_size = key,
		.value_size = value,
		.max_entries = entries,
	};

	return bpf(BPF_MAP_CREATE, &attr);
}

static __u64 map_value(int map)
{
	__u32 key = 0;
	__u64 value = ~0ULL;
	union bpf_attr attr = {
		.map_fd = map,
		.key = (__u64)(unsigned long)&key,
		.value = (__u64)(unsigned long)&value,
	};

	return bpf(BPF_MAP_LOOKUP_ELEM, &attr) ? ~0ULL : value;
}

/* A program under construction; jumps lead to its end, which returns 0. */
struct prog {
	struct bpf_insn insn[64];
	int count;
	int jump[8];
	int jumps;
};

static void emit(struct prog *p, __u8 code, __u8 dst, __u8 src, __s16 off, __s32 imm)
{
	p->insn[p->count++] = (struct bpf_insn) {
		.code = code, .dst_reg = dst, .src_reg = src, .off = off, .imm = imm,
	};
}

static void mov_reg(struct prog *p, int dst, int src)
{
	emit(p, BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0);
}

static void mov_imm(struct prog *p, int dst, __s32 imm)
{
	emit(p, BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, imm);
}

static void call(struct prog *p, __s32 helper)
{
	emit(p, BPF_JMP | BPF_CALL, 0, 0, 0, helper);
}

static void load_map(struct prog *p, int dst, int map)
{
	emit(p, BPF_LD | BPF_DW | BPF_IMM, dst, BPF_PSEUDO_MAP_FD, 0, map);
	emit(p, 0, 0, 0, 0, 0);
}

static void end_if(struct prog *p, __u8 code, int dst, __s32 imm)
{
	p->jump[p->jumps++] = p->count;
	emit(p, code | BPF_K, dst, 0, 0, imm);
}

/* dst = address of the word on the stack */
static void stack_address(struct prog *p, int dst)
{
	mov_reg(p, dst, 10);
	emit(p, BPF_ALU64 | BPF_ADD | BPF_K, dst, 0, 0, -8);
}

static void end(struct prog *p, int result)
{
	mov_reg(p, 0, result);
	emit(p, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	for (int i = 0; i < p->jumps; i++)
		p->insn[p->jump[i]].off = p->count - p->jump[i] - 1;
	mov_imm(p, 0, 0);
	emit(p, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

static char verifier[16384];

static int prog_load(__u32 type, const struct prog *p)
{
	union bpf_attr attr = {
		.prog_type = type,
		.insns = (__u64)(unsigned long)p->insn,
		.insn_cnt = p->count,
		.license = (__u64)(unsigned long)"GPL",
		.log_buf = (__u64)(unsigned long)verifier,
		.log_size = sizeof(verifier),
		.log_level = 1,
	};

	return bpf(BPF_PROG_LOAD, &attr);
}

/*
 * Counts hits in the map, those of thread @tid alone if it is not 0; returns
 * whether the count is odd, and sends an odd one to the ring buffer, if @ringbuf
 * is not -1.
 */
static int load_counter(__u32 type, int map, int ringbuf, pid_t tid)
{
	struct prog p = {};

	if (tid) {
		call(&p, BPF_FUNC_get_current_pid_tgid);
		end_if(&p, BPF_JMP32 | BPF_JNE, 0, tid);
	}
	emit(&p, BPF_ST | BPF_MEM | BPF_DW, 10, 0, -8, 0);
	stack_address(&p, 2);
	load_map(&p, 1, map);
	call(&p, BPF_FUNC_map_lookup_elem);
	end_if(&p, BPF_JMP | BPF_JEQ, 0, 0);
	emit(&p, BPF_LDX | BPF_MEM | BPF_DW, 7, 0, 0, 0);
	emit(&p, BPF_ALU64 | BPF_ADD | BPF_K, 7, 0, 0, 1);
	emit(&p, BPF_STX | BPF_MEM | BPF_DW, 0, 7, 0, 0);
	mov_reg(&p, 8, 7);
	emit(&p, BPF_ALU64 | BPF_AND | BPF_K, 8, 0, 0, 1);
	end_if(&p, BPF_JMP | BPF_JEQ, 8, 0);
	if (ringbuf != -1) {
		emit(&p, BPF_STX | BPF_MEM | BPF_DW, 10, 7, -8, 0);
		load_map(&p, 1, ringbuf);
		stack_address(&p, 2);
		mov_imm(&p, 3, 8);
		mov_imm(&p, 4, 0);
		call(&p, BPF_FUNC_ringbuf_output);
	}
	end(&p, 8);
	return prog_load(type, &p);
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
	self->map = map_create(BPF_MAP_TYPE_ARRAY, 4, 8, 1);
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
			TH_LOG("%s", verifier);					\
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
	EXPECT_EQ(HITS, map_value(self->map));
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
	link = bpf(BPF_LINK_CREATE, &attr);
	ASSERT_LE(0, link);
	ASSERT_WORK();
	EXPECT_EQ(HITS, map_value(self->map));
	EXPECT_EQ((HITS + 1) / 2, ktb_perf_take(&self->ring, NULL, NULL));
	close(link);
	ASSERT_WORK();
	EXPECT_EQ(HITS, map_value(self->map));
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
	EXPECT_LE(HITS, map_value(self->map));
	EXPECT_EQ(ktb_perf_count(fd), map_value(self->map));
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
	int ringbuf = map_create(BPF_MAP_TYPE_RINGBUF, 0, 0, RINGBUF);
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
	EXPECT_EQ(HITS, map_value(self->map));
	/* The program drops every other hit for the kernel's events, not for ours. */
	EXPECT_EQ((HITS + 1) / 2, ktb_perf_count(kernels));
	EXPECT_EQ(HITS, ktb_perf_count(self->fd));
	EXPECT_EQ(HITS, ktb_perf_take(&self->ring, NULL, NULL));
	ASSERT_EQ(0, ioctl(self->fd, PERF_EVENT_IOC_DISABLE, 0));
	ASSERT_WORK();
	EXPECT_EQ(2 * HITS, map_value(self->map));
	close(self->fd);
	ASSERT_WORK();
	EXPECT_EQ(3 * HITS, map_value(self->map));
	close(kernels);
	ASSERT_WORK();
	EXPECT_EQ(3 * HITS, map_value(self->map));
}

TEST_HARNESS_MAIN
