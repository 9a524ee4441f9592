// SPDX-License-Identifier: GPL-2.0-only
/*
 * BPF programs on events: they see each hit once, with its record, and what they
 * drop is filtered, exactly. And which are refused, and when they go.
 */
#include "ktb_test.h"

#include <fcntl.h>
#include <linux/bpf_perf_event.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/ioctl.h>

#include "ktb_bpf.h"

#define ENTER	"raw_syscalls:sys_enter"
#define GETPPID	"syscalls:sys_enter_getppid"
#define HITS	501
#define MAGIC	0x6b74625f70726f67ULL
#define KPROBE	"p:ktb_program/getppid __x64_sys_getppid magic=+112(%di):u64 n=+104(%di):u64"

FIXTURE(program)
{
	struct ktb_nl nl;
	struct ktb_session s;
	struct ktb_event e;
	struct ktb_worker w;
	int map;
	int prog;
	int arg1;	/* offset of the second argument in a record of ENTER */
};

FIXTURE_SETUP(program)
{
	struct ktb_format f;

	ASSERT_EQ(0, ktb_format_read(ENTER, &f));
	self->arg1 = ktb_format_field(&f, "args")->offset + 8;
	ASSERT_CONTROL(&self->nl);
	self->map = ktb_map_create(BPF_MAP_TYPE_ARRAY, 4, 8, 1);
	ASSERT_LE(0, self->map);
	self->prog = -1;
	self->w = (struct ktb_worker) {
		.work = ktb_work_syscalls, .count = HITS, .magic = MAGIC,
	};
	ASSERT_EQ(0, ktb_worker_start(&self->w));
}

/* For a program that prints, the kernel turns on ftrace's event of it, and never off. */
static void end_printing(void)
{
	int fd = open(KTB_TRACEFS "/events/bpf_trace/bpf_trace_printk/enable", O_WRONLY);

	if (fd < 0 || write(fd, "0", 1) != 1)
		perror("bpf_trace_printk/enable");
	close(fd);
}

FIXTURE_TEARDOWN(program)
{
	end_printing();
	ktb_worker_finish(&self->w);
	ktb_session_sweep(&self->nl);
	ktb_nl_close(&self->nl);
	close(self->prog);
	close(self->map);
}

/* Counts each hit in the map, and keeps the odd ones. */
static int load_odd(int map, __u32 type)
{
	struct ktb_prog p = {};

	ktb_emit_count(&p, map);
	ktb_emit(&p, BPF_ALU64 | BPF_AND | BPF_K, 7, 0, 0, 1);
	ktb_emit_end(&p, 7);
	return ktb_prog_load(type, &p);
}

/* Keeps each hit, and might look into the map. */
static int load_with(int map, __u32 type)
{
	struct ktb_prog p = {};

	ktb_emit_map(&p, 7, map);
	ktb_emit_mov_imm(&p, 7, 1);
	ktb_emit_end(&p, 7);
	return ktb_prog_load(type, &p);
}

/* Keeps a hit whose number at @offset of the context has no bit of @mask. */
static int load_without(int offset, int mask)
{
	struct ktb_prog p = {};

	ktb_emit_load(&p, 7, 1, offset);
	ktb_emit_end_if(&p, BPF_JMP | BPF_JSET, 7, mask);
	ktb_emit_mov_imm(&p, 7, 1);
	ktb_emit_end(&p, 7);
	return ktb_prog_load(BPF_PROG_TYPE_TRACEPOINT, &p);
}

#define ASSERT_LOADED(call)							\
	do {									\
		self->prog = (call);						\
		ASSERT_LE(0, self->prog)					\
			TH_LOG("%s", ktb_bpf_log);				\
	} while (0)

static int attach(FIXTURE_DATA(program) *self, const char *name, __u64 period)
{
	const __u32 tid = self->w.tid;
	const struct ktb_attach how = {
		.name = name, .tids = &tid, .ntids = 1, .period = period,
		.program = &self->prog, .program_text = "a test's",
	};

	return ktb_event_attach_as(&self->nl, self->s.id, &how, &self->e);
}

static void work(struct __test_metadata *_metadata, FIXTURE_DATA(program) *self)
{
	ktb_worker_go(&self->w);
	ASSERT_TRUE(ktb_worker_wait(&self->w));
	ASSERT_EQ(0, ktb_event_get(&self->nl, self->s.id, self->e.id, &self->e));
	EXPECT_LEDGER(&self->e.sum);
	EXPECT_EQ(0, ktb_ledger_lost(&self->e.sum));
}

/* In a session of these options, the worker hits an event that has the program. */
static void trace(struct __test_metadata *_metadata, FIXTURE_DATA(program) *self,
		  __u32 flags, __u64 size, const char *name, __u64 period)
{
	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_program", flags, size, &self->s));
	ASSERT_EQ(0, attach(self, name, period))
		TH_LOG("%s", self->nl.text);
	work(_metadata, self);
}

/* What of the worker's hits became a record. */
struct kept {
	struct ktb_format format;
	pid_t tid;
	__u64 samples;
	__u64 wrong;
	__u64 mask;	/* these bits of the second argument are to be 0 */
	__u64 periods;
	__u64 ip;	/* where all of them were, unless 0 */
	int arg1;
};

static void look(const struct ktb_sample *s, void *arg)
{
	struct kept *kept = arg;
	const struct ktb_format *f = &kept->format;
	__u64 n;

	memcpy(&n, s->raw + kept->arg1, sizeof(n));
	kept->samples++;
	kept->periods += s->period;
	/* The record begins as every record does, not with what the program had there. */
	if (ktb_field_uint(f, "common_type", s->raw) != f->id ||
	    ktb_field_uint(f, "common_pid", s->raw) != (__u64)kept->tid ||
	    ktb_field_uint(f, "common_flags", s->raw) & ~0x3fULL ||
	    s->tid != (__u32)kept->tid || n & kept->mask ||
	    (kept->ip && s->ip != kept->ip))
		kept->wrong++;
}

static void read_kept(struct __test_metadata *_metadata, FIXTURE_DATA(program) *self,
		      struct kept *kept, const char *name)
{
	struct ktb_walk walk = {};
	struct ktb_ring ring;
	int fd = ktb_dev_open_bind(self->s.id, self->w.cpu);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ktb_format_read(name, &kept->format));
	kept->arg1 = self->arg1;
	kept->tid = self->w.tid;
	ASSERT_EQ(0, ktb_ring_map(&ring, fd, self->w.cpu));
	ktb_ring_walk(&ring, &walk, look, kept);
	EXPECT_EQ(0, walk.malformed);
	EXPECT_EQ(0, walk.lost);
	EXPECT_EQ(self->e.sum.written, kept->samples);
	EXPECT_EQ(0, kept->wrong);
	ktb_ring_unmap(&ring);
	close(fd);
}

/* ---- tracepoints ---- */

static const char *const tracepoints[] = { ENTER, GETPPID };

/* Every hit is counted, every other one dropped: native and through the perf core. */
TEST_F(program, counts_and_drops)
{
	for (int i = 0; i < 2; i++) {
		__u64 before = ktb_map_value(self->map);

		ASSERT_LOADED(load_odd(self->map, BPF_PROG_TYPE_TRACEPOINT));
		ASSERT_EQ(0, ktb_session_new(&self->nl, "t_program", 0, 1 << 20, &self->s));
		ASSERT_EQ(0, attach(self, tracepoints[i], 0))
			TH_LOG("%s", self->nl.text);
		EXPECT_EQ(i ? KTB_PATH_PERF : KTB_PATH_NATIVE, self->e.path);
		work(_metadata, self);
		EXPECT_EQ(HITS, ktb_map_value(self->map) - before);
		/* 501 hits, then 501 that begin with an even one. */
		EXPECT_EQ(HITS / 2 + !i, self->e.sum.written);
		EXPECT_LE(HITS - HITS / 2 - !i, self->e.sum.filtered);
		EXPECT_EQ(self->e.sum.written, ktb_ledger_own(&self->e.sum));
		EXPECT_EQ(self->e.sum.written, self->e.sum.count);
		ASSERT_EQ(0, ktb_session_del(&self->nl, self->s.id));
		close(self->prog);
	}
}

/* The context is the record, and the record in the ring is whole. */
TEST_F(program, sees_the_record)
{
	struct kept kept = { .mask = 3 };

	ASSERT_LOADED(load_without(self->arg1, 3));
	trace(_metadata, self, 0, 1 << 20, ENTER, 0);
	EXPECT_EQ((HITS + 3) / 4, self->e.sum.written);
	read_kept(_metadata, self, &kept, ENTER);
	EXPECT_EQ((HITS + 3) / 4, kept.periods);
}

struct chain {
	__u64 nr;
	__u64 ip[64];
	__u64 others;	/* records with another one than the first */
};

static void take_chain(const struct ktb_sample *s, void *arg)
{
	struct chain *chain = arg;

	if (!chain->nr && s->nr_chain <= 64) {
		chain->nr = s->nr_chain;
		memcpy(chain->ip, s->chain, chain->nr * sizeof(*chain->ip));
	}
	if (s->nr_chain != chain->nr ||
	    memcmp(s->chain, chain->ip, chain->nr * sizeof(*chain->ip)))
		chain->others++;
}

static void read_chains(struct __test_metadata *_metadata, FIXTURE_DATA(program) *self,
			__u32 session, struct chain *chain)
{
	struct ktb_walk walk = {};
	struct ktb_ring ring;
	int fd = ktb_dev_open_bind(session, self->w.cpu);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ktb_ring_map(&ring, fd, self->w.cpu));
	ktb_ring_walk(&ring, &walk, take_chain, chain);
	EXPECT_EQ(0, walk.malformed);
	ktb_ring_unmap(&ring);
	close(fd);
}

/* A session with callchains writes its records the long way; they are those without a program. */
TEST_F(program, callchains)
{
	struct chain with = {}, without = {};
	struct ktb_session plain;
	struct ktb_event e;

	ASSERT_LOADED(load_without(self->arg1, 3));
	ASSERT_EQ(0, ktb_session_new_stack(&self->nl, "t_program", 1 << 20, 32, &self->s));
	ASSERT_EQ(0, ktb_session_new_stack(&self->nl, "t_program2", 1 << 20, 32, &plain));
	ASSERT_EQ(0, ktb_event_attach(&self->nl, plain.id, ENTER, self->w.tid, &e));
	ASSERT_EQ(0, attach(self, ENTER, 0));
	work(_metadata, self);
	EXPECT_EQ((HITS + 3) / 4, self->e.sum.written);
	read_chains(_metadata, self, self->s.id, &with);
	read_chains(_metadata, self, plain.id, &without);
	EXPECT_LT(4, with.nr);
	EXPECT_EQ(0, with.others);
	EXPECT_EQ(0, without.others);
	ASSERT_EQ(without.nr, with.nr);
	EXPECT_EQ(0, memcmp(without.ip, with.ip, with.nr * sizeof(*with.ip)));
}

/* Overwriting, too: the newest one that was kept is there. */
TEST_F(program, overwriting)
{
	const struct perf_event_header *newest;
	struct ktb_sample s;
	struct ktb_ring ring;
	__u64 n;
	int fd;

	ASSERT_LOADED(load_without(self->arg1, 3));
	trace(_metadata, self, KTB_SESSION_OVERWRITE, 4096, ENTER, 0);
	EXPECT_EQ((HITS + 3) / 4, self->e.sum.written);
	fd = ktb_dev_open_bind(self->s.id, self->w.cpu);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ioctl(fd, KTB_IOC_FREEZE));
	ASSERT_EQ(0, ktb_ring_map(&ring, fd, self->w.cpu));
	newest = (const void *)(ring.data + (ring.page->data_head & (ring.size - 1)));
	ASSERT_TRUE(ktb_record_parse(newest, &s));
	memcpy(&n, s.raw + self->arg1, sizeof(n));
	EXPECT_EQ((HITS - 1) / 4 * 4, n);
	ktb_ring_unmap(&ring);
	close(fd);
}

/* The period is one of what the program keeps. */
TEST_F(program, before_the_period)
{
	struct kept kept = { .mask = 3 };

	ASSERT_LOADED(load_without(self->arg1, 3));
	trace(_metadata, self, 0, 1 << 20, ENTER, 7);
	EXPECT_EQ((HITS + 3) / 4 / 7, self->e.sum.written);
	EXPECT_EQ((HITS + 3) / 4 - (HITS + 3) / 4 / 7, self->e.sum.not_sampled);
	read_kept(_metadata, self, &kept, ENTER);
	EXPECT_EQ(kept.samples * 7, kept.periods);
}

TEST_F(program, counting_only)
{
	ASSERT_LOADED(load_without(self->arg1, 3));
	trace(_metadata, self, KTB_SESSION_COUNT_ONLY, 0, ENTER, 0);
	EXPECT_EQ((HITS + 3) / 4, self->e.sum.not_sampled);
	EXPECT_EQ((HITS + 3) / 4, self->e.sum.count);
	EXPECT_EQ(0, self->e.sum.written);
}

/* What a helper looks for that the kernel's own programs have: none of ours has a cookie. */
TEST_F(program, attach_cookie)
{
	struct ktb_prog p = {};

	ktb_emit_call(&p, BPF_FUNC_get_attach_cookie);
	ktb_emit_end_if(&p, BPF_JMP | BPF_JNE, 0, 0);
	ktb_emit_mov_imm(&p, 7, 1);
	ktb_emit_end(&p, 7);
	ASSERT_LOADED(ktb_prog_load(BPF_PROG_TYPE_TRACEPOINT, &p));
	trace(_metadata, self, 0, 1 << 20, ENTER, 0);
	EXPECT_EQ(HITS, self->e.sum.written);
}

/* Keeps each hit, and the last one's innermost function in the map. */
static int load_stack(int map)
{
	struct ktb_prog p = {};

	ktb_emit_mov_reg(&p, 2, 10);
	ktb_emit(&p, BPF_ALU64 | BPF_ADD | BPF_K, 2, 0, 0, -16);
	ktb_emit_mov_imm(&p, 3, 8);
	ktb_emit_mov_imm(&p, 4, 0);
	ktb_emit_call(&p, BPF_FUNC_get_stack);
	ktb_emit_end_if(&p, BPF_JMP | BPF_JNE, 0, 8);
	ktb_emit_load(&p, 8, 10, -16);
	ktb_emit_count(&p, map);
	ktb_emit(&p, BPF_STX | BPF_MEM | BPF_DW, 0, 8, 0, 0);
	ktb_emit_mov_imm(&p, 7, 1);
	ktb_emit_end(&p, 7);
	return ktb_prog_load(BPF_PROG_TYPE_TRACEPOINT, &p);
}

/* The callchain that a program gets begins where the event is, as the record says. */
TEST_F(program, stack)
{
	struct kept kept = {};

	ASSERT_LOADED(load_stack(self->map));
	trace(_metadata, self, 0, 1 << 20, ENTER, 0);
	EXPECT_EQ(HITS, self->e.sum.written);
	kept.ip = ktb_map_value(self->map);
	EXPECT_NE(0, kept.ip);
	read_kept(_metadata, self, &kept, ENTER);
}

static void work_signals(struct ktb_worker *w)
{
	for (__u64 i = 0; i < w->count; i++)
		syscall(SYS_tgkill, getpid(), w->tid, SIGURG);	/* ignored by default */
}

/* That of an event with so many arguments that its probe is two functions deep. */
TEST_F(program, stack_of_many_arguments)
{
	const char *name = "signal:signal_generate";
	struct kept kept = {};

	ktb_worker_finish(&self->w);
	self->w = (struct ktb_worker) { .work = work_signals, .count = HITS };
	ASSERT_EQ(0, ktb_worker_start(&self->w));
	ASSERT_LOADED(load_stack(self->map));
	trace(_metadata, self, 0, 1 << 20, name, 0);
	EXPECT_EQ(HITS, self->e.sum.written);
	EXPECT_EQ(KTB_PATH_NATIVE, self->e.path);
	kept.ip = ktb_map_value(self->map);
	EXPECT_NE(0, kept.ip);
	read_kept(_metadata, self, &kept, name);
}

/*
 * A program that hits an event: that one is recorded as at any other place, but
 * not where it has a program itself.
 */
TEST_F(program, hits_inside)
{
	const char *name = "bpf_trace:bpf_trace_printk";
	struct ktb_event inner, same;
	struct ktb_prog p = {};
	struct ktb_session s2;

	ktb_emit(&p, BPF_ST | BPF_MEM | BPF_DW, 10, 0, -8, 0x6974); /* "hi" less */
	ktb_emit_stack(&p, 1);
	ktb_emit_mov_imm(&p, 2, 8);
	ktb_emit_call(&p, BPF_FUNC_trace_printk);
	ktb_emit_mov_imm(&p, 7, 1);
	ktb_emit_end(&p, 7);
	ASSERT_LOADED(ktb_prog_load(BPF_PROG_TYPE_TRACEPOINT, &p));
	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_program", 0, 1 << 20, &self->s));
	ASSERT_EQ(0, ktb_event_attach(&self->nl, self->s.id, name, self->w.tid, &inner))
		TH_LOG("%s", self->nl.text);
	ASSERT_EQ(0, attach(self, ENTER, 0));
	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_program2", 0, 1 << 20, &s2));
	{
		const __u32 tid = self->w.tid;
		const struct ktb_attach how = {
			.name = name, .tids = &tid, .ntids = 1, .program = &self->prog,
		};

		ASSERT_EQ(0, ktb_event_attach_as(&self->nl, s2.id, &how, &same))
			TH_LOG("%s", self->nl.text);
	}
	work(_metadata, self);
	EXPECT_EQ(HITS, self->e.sum.written);
	ASSERT_EQ(0, ktb_event_get(&self->nl, self->s.id, inner.id, &inner));
	ASSERT_EQ(0, ktb_event_get(&self->nl, s2.id, same.id, &same));
	EXPECT_LEDGER(&inner.sum);
	EXPECT_LEDGER(&same.sum);
	EXPECT_EQ(HITS, inner.sum.written);
	EXPECT_EQ(HITS, same.sum.lost_recursion);
	EXPECT_EQ(0, same.sum.written);
}

/* ---- dynamic events: what the module does not know the length of ---- */

static int write_kprobe(const char *text)
{
	int fd = open(KTB_TRACEFS "/kprobe_events", O_WRONLY | O_APPEND);
	ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));

	if (fd >= 0)
		close(fd);
	return n == (ssize_t)strlen(text) ? 0 : -errno;
}

TEST_F(program, kprobe)
{
	const char *name = "ktb_program:getppid";
	struct ktb_format format;
	int n;

	ASSERT_EQ(0, write_kprobe(KPROBE));
	ASSERT_EQ(0, ktb_format_read(name, &format));
	n = ktb_format_field(&format, "n")->offset;
	ASSERT_LOADED(load_without(n, 3));
	trace(_metadata, self, 0, 1 << 20, name, 0);
	EXPECT_EQ((HITS + 3) / 4, self->e.sum.written);
	ASSERT_EQ(0, ktb_session_del(&self->nl, self->s.id));
	close(self->prog);

	/* Beyond its end there is nothing but zeroes, whatever was there before. */
	ASSERT_LOADED(load_without(n + 8, -1));
	trace(_metadata, self, 0, 1 << 20, name, 0);
	EXPECT_EQ(HITS, self->e.sum.written);
	ASSERT_EQ(0, ktb_session_del(&self->nl, self->s.id));
	EXPECT_EQ(0, write_kprobe("-:ktb_program/getppid"));
}

/* ---- counters ---- */

#define PERIOD	1000000

static const struct perf_event_attr clock_attr = {
	.type = PERF_TYPE_SOFTWARE,
	.size = sizeof(clock_attr),
	.config = PERF_COUNT_SW_CPU_CLOCK,
	.sample_period = PERIOD,
};

/* Run until the program has seen w->count overflows; time goes as it likes here. */
static void burn(struct ktb_worker *w)
{
	const int *map = w->arg;

	while (ktb_map_value(*map) < w->count)
		for (volatile int i = 0; i < 100000; i++)
			;
}

/* Counts and drops every other overflow of a timer, if the period is the right one. */
TEST_F(program, counter)
{
	const __u32 tid = self->w.tid;
	const struct ktb_attach how = {
		.name = "cpu-clock", .attr = &clock_attr, .tids = &tid, .ntids = 1,
		.program = &self->prog,
	};
	struct ktb_prog p = {};
	__u64 hits;

	ktb_emit_load(&p, 6, 1, offsetof(struct bpf_perf_event_data, sample_period));
	ktb_emit_count(&p, self->map);
	ktb_emit_end_if(&p, BPF_JMP | BPF_JNE, 6, PERIOD);
	ktb_emit(&p, BPF_ALU64 | BPF_AND | BPF_K, 7, 0, 0, 1);
	ktb_emit_end(&p, 7);
	ASSERT_LOADED(ktb_prog_load(BPF_PROG_TYPE_PERF_EVENT, &p));
	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_program", 0, 1 << 20, &self->s));
	ASSERT_EQ(0, ktb_event_attach_as(&self->nl, self->s.id, &how, &self->e))
		TH_LOG("%s", self->nl.text);
	self->w.work = burn;
	self->w.count = 21;
	self->w.arg = &self->map;
	ktb_worker_go(&self->w);
	ASSERT_TRUE(ktb_worker_wait(&self->w));
	ASSERT_EQ(0, ktb_event_detach(&self->nl, self->s.id, self->e.id, &self->e));
	hits = ktb_map_value(self->map);
	EXPECT_LE(21, hits);
	EXPECT_EQ(hits, self->e.sum.hits);
	EXPECT_EQ((hits + 1) / 2, self->e.sum.written);
	EXPECT_EQ(hits / 2, self->e.sum.filtered);
	EXPECT_LEDGER(&self->e.sum);
}

/* ---- refusals ---- */

TEST_F(program, refused)
{
	struct ktb_attach how = {
		.name = "cpu-clock", .attr = &clock_attr, .program = &self->prog,
	};
	struct ktb_prog p = {};
	int good;

	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_program", 0, 4096, &self->s));
	EXPECT_REFUSED(&self->nl, EBADF, "program: not an open descriptor",
		       attach(self, ENTER, 0));
	self->prog = dup(self->map);
	EXPECT_REFUSED(&self->nl, EINVAL, "not a BPF program of type tracepoint",
		       attach(self, ENTER, 0));
	EXPECT_REFUSED(&self->nl, EINVAL, "not a BPF program of type perf_event",
		       ktb_event_attach_as(&self->nl, self->s.id, &how, NULL));
	close(self->prog);

	ASSERT_LOADED(load_odd(self->map, BPF_PROG_TYPE_PERF_EVENT));
	EXPECT_REFUSED(&self->nl, EINVAL, "takes a BPF program of type tracepoint",
		       attach(self, ENTER, 0));
	EXPECT_REFUSED(&self->nl, EINVAL, "takes a BPF program of type tracepoint",
		       attach(self, GETPPID, 0));
	close(self->prog);

	ASSERT_LOADED(load_odd(self->map, BPF_PROG_TYPE_TRACEPOINT));
	EXPECT_REFUSED(&self->nl, EINVAL, "takes a BPF program of type perf_event",
		       ktb_event_attach_as(&self->nl, self->s.id, &how, NULL));
	how = (struct ktb_attach) {
		.name = "function:vfs_read", .function = "vfs_read", .program = &self->prog,
	};
	EXPECT_REFUSED(&self->nl, EOPNOTSUPP, "functions",
		       ktb_event_attach_as(&self->nl, self->s.id, &how, NULL));
	how = (struct ktb_attach) { .name = ENTER, .program_text = "nothing" };
	EXPECT_REFUSED(&self->nl, EINVAL, "program-text",
		       ktb_event_attach_as(&self->nl, self->s.id, &how, NULL));
	close(self->prog);

	/* Its locks do not ask who holds them: not in an NMI. */
	close(self->map);
	self->map = ktb_map_create(BPF_MAP_TYPE_LRU_HASH, 4, 8, 16);
	ASSERT_LE(0, self->map);
	ASSERT_LOADED(load_odd(self->map, BPF_PROG_TYPE_PERF_EVENT));
	how = (struct ktb_attach) {
		.name = "cpu-clock", .attr = &clock_attr, .program = &self->prog,
	};
	EXPECT_REFUSED(&self->nl, EINVAL, "LRU hashes",
		       ktb_event_attach_as(&self->nl, self->s.id, &how, NULL));
	close(self->prog);

	/* Tail calls lead to programs with who knows what maps. */
	close(self->map);
	self->map = ktb_map_create(BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 1);
	ASSERT_LE(0, self->map);
	ASSERT_LOADED(load_with(self->map, BPF_PROG_TYPE_PERF_EVENT));
	EXPECT_REFUSED(&self->nl, EINVAL, "tail calls",
		       ktb_event_attach_as(&self->nl, self->s.id, &how, NULL));
	close(self->prog);

	/* Allocates under its lock, and kmem:kmalloc comes back to it. */
	close(self->map);
	self->map = ktb_map_create(BPF_MAP_TYPE_LPM_TRIE, 8, 8, 16);
	ASSERT_LE(0, self->map);
	ASSERT_LOADED(load_with(self->map, BPF_PROG_TYPE_TRACEPOINT));
	EXPECT_REFUSED(&self->nl, EINVAL, "LPM tries", attach(self, ENTER, 0));
	close(self->prog);

	/* The last bytes of a record are for everybody, the next for nobody. */
	ktb_emit_load(&p, 7, 1, self->arg1 + 32);
	ktb_emit_end(&p, 7);
	good = ktb_prog_load(BPF_PROG_TYPE_TRACEPOINT, &p);
	ASSERT_LOADED(load_without(self->arg1 + 40, 1));
	EXPECT_REFUSED(&self->nl, EACCES, "reads beyond", attach(self, ENTER, 0));
	EXPECT_EQ(0, ktb_event_count(&self->nl));
	close(self->prog);
	self->prog = good;
	EXPECT_EQ(0, attach(self, ENTER, 0))
		TH_LOG("%s", self->nl.text);
}

static void take_text(__u8 cmd, const struct nlattr *attrs, size_t len, void *arg)
{
	const struct nlattr *a;
	int *texts = arg;
	size_t left;

	(void)cmd;
	ktb_attr_for_each(a, attrs, len, left)
		*texts += (a->nla_type & NLA_TYPE_MASK) == KTB_A_EVENT_PROGRAM_TEXT;
}

/* More than a message holds: none goes without its text for that. */
TEST_F(program, texts_in_a_dump)
{
	static char text[KTRACE_BRIDGE_PROGRAM_TEXT_LEN + 1];
	const struct ktb_attach how = { .program = &self->prog, .program_text = text };
	static const char * const names[] = {
		"sched:sched_switch", "sched:sched_wakeup", "sched:sched_waking",
		"sched:sched_process_fork", "sched:sched_process_exit", "sched:sched_process_free",
		"signal:signal_generate", "signal:signal_deliver", "timer:timer_start",
		"timer:timer_init", "timer:timer_cancel", "timer:hrtimer_init",
		"timer:hrtimer_start", "timer:hrtimer_cancel", "irq:softirq_entry",
		"irq:softirq_exit", "irq:softirq_raise", "task:task_newtask", "task:task_rename",
		"workqueue:workqueue_execute_start", "workqueue:workqueue_execute_end",
		"workqueue:workqueue_queue_work", "power:cpu_idle", "power:cpu_frequency",
		"printk:console", "oom:oom_score_adj_update", "kmem:kfree", "net:net_dev_queue",
		"net:netif_rx", "skb:kfree_skb", "block:block_rq_issue", "block:block_rq_insert",
		"writeback:writeback_start", "writeback:writeback_written", "module:module_load",
		"module:module_free", "raw_syscalls:sys_exit", "regmap:regmap_reg_read",
	};
	int attached = 0, texts = 0;
	struct ktb_prog p = {};
	struct ktb_msg m;

	memset(text, 'x', sizeof(text) - 1);
	ktb_emit_mov_imm(&p, 7, 1);
	ktb_emit_end(&p, 7);
	ASSERT_LOADED(ktb_prog_load(BPF_PROG_TYPE_TRACEPOINT, &p));
	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_program", KTB_SESSION_DISABLED, 4096, &self->s));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct ktb_attach one = how;

		one.name = names[i];
		attached += !ktb_event_attach_as(&self->nl, self->s.id, &one, NULL);
	}
	/* Some are not in each kernel; a message of a dump has 32 KiB at most. */
	ASSERT_LT(32, attached);
	ktb_msg_init(&self->nl, &m, KTB_CMD_EVENT_GET, NLM_F_DUMP);
	ASSERT_EQ(0, ktb_nl_do(&self->nl, &m, take_text, &texts));
	EXPECT_EQ(attached, texts);
}

/* ---- life ---- */

/* The event holds its program; it goes with the event. */
TEST_F(program, goes_with_the_event)
{
	__u32 id;

	for (int i = 0; i < 3; i++) {
		ASSERT_LOADED(load_odd(self->map, BPF_PROG_TYPE_TRACEPOINT));
		id = ktb_prog_id(self->prog);
		ASSERT_LT(0, id);
		ASSERT_EQ(0, ktb_session_new(&self->nl, "t_program", 0, 4096, &self->s));
		ASSERT_EQ(0, attach(self, tracepoints[i % 2], 0));
		close(self->prog);
		self->prog = -1;
		EXPECT_TRUE(ktb_prog_exists(id));
		ASSERT_EQ(0, ktb_event_get(&self->nl, self->s.id, self->e.id, &self->e));
		EXPECT_EQ(id, self->e.program);
		EXPECT_STREQ("a test's", self->e.program_text);
		if (i < 2)
			ASSERT_EQ(0, ktb_event_detach(&self->nl, self->s.id, self->e.id, NULL));
		ASSERT_EQ(0, ktb_session_del(&self->nl, self->s.id));
		/* The kernel may put off the last of it. */
		EXPECT_TRUE(ktb_wait_for(!ktb_prog_exists(id), 10));
	}
}

TEST_HARNESS_MAIN
