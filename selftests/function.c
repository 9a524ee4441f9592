// SPDX-License-Identifier: GPL-2.0-only
/* Calls of kernel functions, at entry and at return. */
#include "ktb_test.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>

#define CALLS	20

struct call {
	__u64 ip;
	__u32 type;
	__u64 func;	/* or ip, of the payload */
	__u64 parent;
	__s32 depth;
	__u64 start;
	__u64 end;
};

static struct {
	int count;
	struct call list[4 * CALLS];
} calls;

static struct ktb_format function_format, graph_format;

static void take_call(const struct ktb_sample *s, void *unused)
{
	struct call *call = &calls.list[calls.count];

	(void)unused;
	if (calls.count == 4 * CALLS)
		return;
	calls.count++;
	call->ip = s->ip;
	call->type = ktb_field_uint(&function_format, "common_type", s->raw);
	if (call->type == function_format.id) {
		call->func = ktb_field_uint(&function_format, "ip", s->raw);
		call->parent = ktb_field_uint(&function_format, "parent_ip", s->raw);
	} else if (call->type == graph_format.id) {
		call->func = ktb_field_uint(&graph_format, "func", s->raw);
		call->depth = ktb_field_uint(&graph_format, "depth", s->raw);
		call->start = ktb_field_uint(&graph_format, "calltime", s->raw);
		call->end = ktb_field_uint(&graph_format, "rettime", s->raw);
	}
}

/* The address of a kernel function, 0 if there is none of this name. */
static __u64 symbol(const char *name)
{
	FILE *file = fopen("/proc/kallsyms", "r");
	char line[512], found[256], type;
	__u64 address, result = 0;

	if (!file)
		return 0;
	while (!result && fgets(line, sizeof(line), file))
		if (sscanf(line, "%" SCNx64 " %c %255s", (uint64_t *)&address, &type, found) == 3 &&
		    !strcmp(found, name))
			result = address;
	fclose(file);
	return result;
}

static __u64 ksys_read, vfs_read;

/*
 * What ftrace calls a function's address is that of its call to the tracer, at
 * most 32 bytes into it: behind what the processor wants to see first.
 */
static bool is_function(__u64 ip, __u64 start)
{
	return start && ip >= start && ip < start + 32;
}

/* Work: read a byte from w->arg's descriptor, w->count times. */
static void work_read(struct ktb_worker *w)
{
	int fd = *(int *)w->arg;
	char byte;

	for (__u64 i = 0; i < w->count; i++)
		if (read(fd, &byte, 1) != 1)
			return;
}

FIXTURE(function)
{
	struct ktb_nl nl;
	struct ktb_session s;
	struct ktb_event e;
	int fd;
	int zero;
};

FIXTURE_SETUP(function)
{
	ASSERT_CONTROL(&self->nl);
	ASSERT_EQ(0, ktb_format_read("ftrace:function", &function_format));
	ASSERT_EQ(0, ktb_format_read("ftrace:funcgraph_exit", &graph_format));
	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_function", 0, 1 << 20, &self->s));
	self->fd = ktb_dev_open_bind(self->s.id, -1);
	ASSERT_LE(0, self->fd);
	if (!ksys_read)
		ksys_read = symbol("ksys_read");
	if (!vfs_read)
		vfs_read = symbol("vfs_read");
	self->zero = open("/dev/zero", O_RDONLY);
	ASSERT_LE(0, self->zero);
}

FIXTURE_TEARDOWN(function)
{
	close(self->zero);
	close(self->fd);
	ktb_nl_close(&self->nl);
}

/* Attach an event to functions, for one thread if @tid says which. */
static int attach(FIXTURE_DATA(function) *self, bool graph, __u32 tid,
		  const char *const *names)
{
	struct ktb_msg m;

	ktb_msg_init(&self->nl, &m, KTB_CMD_EVENT_ATTACH, 0);
	ktb_put_u32(&m, KTB_A_EVENT_SESSION_ID, self->s.id);
	ktb_put_str(&m, KTB_A_EVENT_NAME, graph ? "fgraph:test" : "function:test");
	if (tid)
		ktb_put_u32(&m, KTB_A_EVENT_TID, tid);
	if (graph)
		ktb_put(&m, KTB_A_EVENT_GRAPH, NULL, 0);
	for (; *names; names++)
		ktb_put_str(&m, KTB_A_EVENT_FUNCTION, *names);
	return ktb_nl_do(&self->nl, &m, NULL, NULL);
}

/* Let a worker read CALLS bytes, and take what its CPU recorded into calls. */
static void trace_reads(struct __test_metadata *_metadata, FIXTURE_DATA(function) *self,
			bool graph, const char *const *names)
{
	struct ktb_worker w = {
		.cpu = 0, .work = work_read, .count = CALLS, .arg = &self->zero,
	};
	struct ktb_walk walk = {};
	struct ktb_ring ring;

	ASSERT_EQ(0, ktb_worker_start(&w));
	ASSERT_EQ(0, attach(self, graph, w.tid, names))
		TH_LOG("%s", self->nl.text);
	ktb_worker_go(&w);
	ASSERT_TRUE(ktb_worker_wait(&w));
	ASSERT_EQ(0, ktb_event_find(&self->nl, self->s.id,
				    graph ? "fgraph:test" : "function:test", &self->e));
	ASSERT_EQ(0, ktb_event_detach(&self->nl, self->s.id, self->e.id, &self->e));
	ktb_worker_finish(&w);

	ASSERT_EQ(0, ktb_ring_map(&ring, self->fd, 0));
	calls.count = 0;
	ktb_ring_walk(&ring, &walk, take_call, NULL);
	ktb_ring_unmap(&ring);
	EXPECT_EQ(0, walk.malformed);
	EXPECT_EQ(KTB_PATH_FUNCTION, self->e.path);
	EXPECT_EQ(self->e.sum.hits, ktb_ledger_sum(&self->e.sum));
	EXPECT_EQ(self->e.sum.written, walk.samples);
}

TEST_F(function, entry)
{
	static const char *const names[] = { "ksys_read", NULL };

	trace_reads(_metadata, self, false, names);
	ASSERT_EQ(CALLS, calls.count);
	for (int i = 0; i < calls.count; i++) {
		EXPECT_EQ(function_format.id, calls.list[i].type);
		EXPECT_TRUE(is_function(calls.list[i].func, ksys_read));
		EXPECT_EQ(calls.list[i].func, calls.list[i].ip);
		EXPECT_GT(0, (__s64)calls.list[i].parent);
	}
}

TEST_F(function, glob_and_exclusion)
{
	static const char *const names[] = { "*s_read", "!vfs_read", NULL };
	int own = 0;

	trace_reads(_metadata, self, false, names);
	for (int i = 0; i < calls.count; i++) {
		own += is_function(calls.list[i].func, ksys_read);
		EXPECT_FALSE(is_function(calls.list[i].func, vfs_read));
	}
	EXPECT_EQ(CALLS, own);
}

TEST_F(function, graph)
{
	static const char *const names[] = { "ksys_read", "vfs_read", NULL };

	trace_reads(_metadata, self, true, names);
	ASSERT_EQ(2 * CALLS, calls.count);
	for (int i = 0; i < calls.count; i += 2) {
		const struct call *inner = &calls.list[i], *outer = inner + 1;

		EXPECT_EQ(graph_format.id, inner->type);
		EXPECT_TRUE(is_function(inner->func, vfs_read));
		EXPECT_TRUE(is_function(outer->func, ksys_read));
		EXPECT_EQ(1, inner->depth);
		EXPECT_EQ(0, outer->depth);
		EXPECT_LE(outer->start, inner->start);
		EXPECT_LE(inner->start, inner->end);
		EXPECT_LE(inner->end, outer->end);
	}
}

/* A child that reads a byte and is killed, with the number after @last if that can be had. */
static pid_t read_and_die(int zero, pid_t last)
{
	FILE *file = last ? fopen("/proc/sys/kernel/ns_last_pid", "w") : NULL;
	char byte;
	pid_t pid;

	if (file) {
		fprintf(file, "%d", last);
		fclose(file);
	}
	pid = fork();
	if (!pid) {
		if (read(zero, &byte, 1) == 1)
			kill(getpid(), SIGKILL);
		_exit(1);
	}
	return pid > 0 && waitpid(pid, NULL, 0) == pid ? pid : -1;
}

/* A call from which no return comes leaves the next thread of that number its depth. */
TEST_F(function, graph_of_exit)
{
	static const char *const names[] = { "get_signal", "ksys_read", "vfs_read", NULL };
	struct ktb_walk walk = {};
	struct ktb_ring ring;
	int outer = 0;
	pid_t pid = 0;

	ASSERT_EQ(0, ktb_pin(0));
	ASSERT_EQ(0, attach(self, true, 0, names))
		TH_LOG("%s", self->nl.text);
	for (int i = 0; i < 8; i++) {
		pid = read_and_die(self->zero, pid ? pid - 1 : 0);
		ASSERT_LT(0, pid);
	}
	ASSERT_EQ(0, ktb_event_find(&self->nl, self->s.id, "fgraph:test", &self->e));
	EXPECT_EQ(0, ktb_event_detach(&self->nl, self->s.id, self->e.id, &self->e));
	ASSERT_EQ(0, ktb_ring_map(&ring, self->fd, 0));
	calls.count = 0;
	ktb_ring_walk(&ring, &walk, take_call, NULL);
	ktb_ring_unmap(&ring);
	for (int i = 0; i < calls.count; i++) {
		if (!is_function(calls.list[i].func, ksys_read))
			continue;
		EXPECT_EQ(0, calls.list[i].depth);
		outer++;
	}
	EXPECT_LE(8, outer);
}

/* What an event's options turn away is not recorded, of calls as of tracepoints. */
static void turn_away(struct __test_metadata *_metadata, FIXTURE_DATA(function) *self,
		      bool graph)
{
	static const char *const names[] = { "ksys_read", NULL };
	struct ktb_worker w = {
		.cpu = 0, .work = work_read, .count = CALLS, .arg = &self->zero,
	};
	__u64 hits;
	char byte;

	ASSERT_EQ(0, ktb_worker_start(&w));
	ASSERT_EQ(0, attach(self, graph, getpid(), names))
		TH_LOG("%s", self->nl.text);
	ktb_worker_go(&w);
	ASSERT_TRUE(ktb_worker_wait(&w));
	ktb_worker_finish(&w);
	ASSERT_EQ(0, ktb_event_find(&self->nl, self->s.id,
				    graph ? "fgraph:test" : "function:test", &self->e));
	EXPECT_LE(CALLS, self->e.sum.filtered);
	EXPECT_EQ(0, self->e.sum.written);
	EXPECT_LEDGER(&self->e.sum);
	ASSERT_EQ(0, ktb_event_enable(&self->nl, self->s.id, self->e.id, false));
	ASSERT_EQ(0, ktb_event_get(&self->nl, self->s.id, self->e.id, &self->e));
	hits = self->e.sum.hits;
	for (int i = 0; i < CALLS; i++)
		ASSERT_EQ(1, read(self->zero, &byte, 1));
	ASSERT_EQ(0, ktb_event_detach(&self->nl, self->s.id, self->e.id, &self->e));
	EXPECT_EQ(hits, self->e.sum.hits);
}

TEST_F(function, entry_turned_away)
{
	turn_away(_metadata, self, false);
}

TEST_F(function, graph_turned_away)
{
	turn_away(_metadata, self, true);
}

#define SLEEPERS	600	/* more than there is room for calls of one function */
#define NAPS		10

static void nap(long ms)
{
	const struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

static void *sleep_long(void *unused)
{
	nap(1000000);
	return unused;
}

/* A process with that many threads which sleep in one function, once @go is written to. */
static pid_t start_sleepers(int go)
{
	pid_t pid = fork();
	pthread_t thread;
	int error;
	char c;

	if (pid)
		return pid;
	if (read(go, &c, 1) != 1)
		_exit(1);
	for (int i = 0; i < SLEEPERS; i++) {
		error = pthread_create(&thread, NULL, sleep_long, NULL);
		if (error)
			_exit(error);
	}
	pause();
	_exit(0);
}

/* Calls that an event does not take leave the room to those that it does. */
TEST_F_TIMEOUT(function, graph_among_many, 60)
{
	static const char *const names[] = { "hrtimer_nanosleep", NULL };
	int go[2];
	pid_t pid;

	ASSERT_EQ(0, pipe(go));
	pid = start_sleepers(go[0]);
	ASSERT_LT(0, pid);
	ASSERT_EQ(0, attach(self, true, getpid(), names))
		TH_LOG("%s", self->nl.text);
	ASSERT_EQ(1, write(go[1], "", 1));
	EXPECT_TRUE(ktb_wait_for(!ktb_event_find(&self->nl, self->s.id, "fgraph:test", &self->e) &&
				 self->e.sum.filtered >= SLEEPERS, 30));
	for (int i = 0; i < NAPS; i++)
		nap(1);
	ASSERT_EQ(0, ktb_event_find(&self->nl, self->s.id, "fgraph:test", &self->e));
	EXPECT_LE(NAPS, self->e.sum.written);
	EXPECT_EQ(0, ktb_ledger_lost(&self->e.sum));
	EXPECT_LEDGER(&self->e.sum);
	kill(pid, SIGKILL);
	EXPECT_EQ(128 + SIGKILL, ktb_reap(pid));
	close(go[0]);
	close(go[1]);
}

TEST_F(function, refusals)
{
	static const char *const none[] = { NULL };
	static const char *const unknown[] = { "there_is_no_such_function", NULL };
	static const char *const ours[] = { "ktb_event_submit", NULL };
	static const char *const exits[] = { "vfs_read", "do_exit", NULL };
	static const char *const works[] = { "vfs_*", "copy_from_user_nofault", NULL };
	const struct perf_event_attr clock = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(clock),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000,
	};
	struct ktb_msg m;

	ktb_msg_init(&self->nl, &m, KTB_CMD_EVENT_ATTACH, 0);
	ktb_put_u32(&m, KTB_A_EVENT_SESSION_ID, self->s.id);
	ktb_put_str(&m, KTB_A_EVENT_NAME, "function:test");
	ktb_put(&m, KTB_A_EVENT_FUNCTION, "ksys_read", 9);
	EXPECT_REFUSED(&self->nl, EINVAL, "must end in a NUL",
		       ktb_nl_do(&self->nl, &m, NULL, NULL));
	ktb_msg_init(&self->nl, &m, KTB_CMD_EVENT_ATTACH, 0);
	ktb_put_u32(&m, KTB_A_EVENT_SESSION_ID, self->s.id);
	ktb_put_str(&m, KTB_A_EVENT_NAME, "function:test");
	ktb_put_str(&m, KTB_A_EVENT_FUNCTION, "ksys_read");
	ktb_put(&m, KTB_A_EVENT_PERF_ATTR, &clock, sizeof(clock));
	EXPECT_REFUSED(&self->nl, EINVAL, "perf-attr: not for functions",
		       ktb_nl_do(&self->nl, &m, NULL, NULL));
	EXPECT_REFUSED(&self->nl, EINVAL, "graph: needs a function", attach(self, true, 0, none));
	EXPECT_REFUSED(&self->nl, EINVAL, "function:", attach(self, false, 0, unknown));
	EXPECT_REFUSED(&self->nl, ENOENT, "function:", attach(self, true, 0, unknown));
	EXPECT_REFUSED(&self->nl, EINVAL, "function:", attach(self, false, 0, ours));
	EXPECT_GT(0, attach(self, true, 0, ours));
	EXPECT_REFUSED(&self->nl, EINVAL, "do_exit never returns", attach(self, true, 0, exits));
	EXPECT_REFUSED(&self->nl, EINVAL, "copy_from_user_nofault is called while",
		       attach(self, true, 0, works));
	EXPECT_REFUSED(&self->nl, EINVAL, "copy_from_user_nofault is called while",
		       attach(self, false, 0, works));
	EXPECT_EQ(0, ktb_event_count(&self->nl));
}

TEST_HARNESS_MAIN
