// SPDX-License-Identifier: GPL-2.0-only
/*
 * Callchains: beside perf's own of the same hits, entry by entry; of a program
 * whose frames are known; and of one whose frame pointer leads anywhere. Built
 * with frame pointers.
 */
#include "ktb_test.h"

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#define MAX_RECORDS	1024
#define MAX_RAW		64	/* of it, to tell hits apart */
#define MAX_STACK	512	/* of the module */
#define PERF_STACK	127	/* of perf, by default */
#define PERF_PAGES	512	/* a power of two */
#define RING_SIZE	(2 << 20)
#define CALLS		20

struct record {
	__u64 time;
	__u32 raw_size;
	char raw[MAX_RAW];
	__u64 nr;
	__u64 ip[MAX_STACK + 2];
};

struct stream {
	int count;
	struct record record[MAX_RECORDS];
};

static struct stream ours, perfs;

static void add(struct stream *to, __u64 time, const char *raw, __u32 size, __u64 nr,
		const __u64 *ip)
{
	struct record *r = &to->record[to->count];

	if (to->count == MAX_RECORDS || nr > ARRAY_SIZE(r->ip))
		return;
	to->count++;
	r->time = time;
	r->raw_size = size;
	memset(r->raw, 0, MAX_RAW);
	memcpy(r->raw, raw, size < MAX_RAW ? size : MAX_RAW);
	r->nr = nr;
	memcpy(r->ip, ip, nr * sizeof(*ip));
}

static void add_ours(const struct ktb_sample *s, void *arg)
{
	add(arg, s->time, s->raw, s->raw_size, s->nr_chain, s->chain);
}

FIXTURE(callchain)
{
	struct ktb_nl nl;
	struct ktb_session s;
	struct ktb_event e;
	int fd;
	int perf;
	struct perf_event_mmap_page *page;
	__u64 perf_lost;
};

FIXTURE_SETUP(callchain)
{
	ASSERT_CONTROL(&self->nl);
	ours.count = 0;
	perfs.count = 0;
	self->perf = -1;
	self->fd = -1;
}

FIXTURE_TEARDOWN(callchain)
{
	close(self->perf);
	close(self->fd);
	ktb_nl_close(&self->nl);
}

/* ---- a session, and perf ---- */

static void open_session(struct __test_metadata *_metadata, FIXTURE_DATA(callchain) *self,
			 __u32 max_stack)
{
	ASSERT_EQ(0, ktb_session_new_stack(&self->nl, "t_callchain", RING_SIZE, max_stack,
					   &self->s));
	EXPECT_EQ(max_stack, self->s.max_stack);
	EXPECT_EQ(KTB_SAMPLE_TYPE | PERF_SAMPLE_CALLCHAIN, self->s.sample_type);
	self->fd = ktb_dev_open_bind(self->s.id, -1);
	ASSERT_LE(0, self->fd);
}

static void open_perf(struct __test_metadata *_metadata, FIXTURE_DATA(callchain) *self,
		      const char *event, int tid, int cpu, __u32 max_stack)
{
	struct ktb_format f;
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW,
		.sample_max_stack = max_stack,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.disabled = 1,
	};

	ASSERT_EQ(0, ktb_format_read(event, &f));
	attr.config = f.id;
	self->perf = syscall(SYS_perf_event_open, &attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	ASSERT_LE(0, self->perf);
	self->page = mmap(NULL, (1 + PERF_PAGES) * 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
			  self->perf, 0);
	ASSERT_NE(MAP_FAILED, (void *)self->page);
}

static void take_perf(FIXTURE_DATA(callchain) *self, const char *record)
{
	const struct perf_event_header *h = (const void *)record;
	const char *at = record + sizeof(*h);
	__u64 time, nr;
	__u32 size;

	if (h->type != PERF_RECORD_SAMPLE) {
		self->perf_lost++;
		return;
	}
	memcpy(&time, at, sizeof(time));
	memcpy(&nr, at + 8, sizeof(nr));
	memcpy(&size, at + 16 + nr * 8, sizeof(size));
	add(&perfs, time, at + 16 + nr * 8 + 4, size, nr, (const __u64 *)(at + 16));
}

static void read_perf(FIXTURE_DATA(callchain) *self)
{
	__u64 head = __atomic_load_n(&self->page->data_head, __ATOMIC_ACQUIRE);
	const char *data = (const char *)self->page + 4096;
	const size_t mask = PERF_PAGES * 4096 - 1;
	static char record[65536];
	__u64 tail = 0;

	while (tail != head) {
		struct perf_event_header h;

		/* Records are multiples of 8: a header never wraps. */
		memcpy(&h, data + (tail & mask), sizeof(h));
		for (size_t i = 0; i < h.size; i++)
			record[i] = data[(tail + i) & mask];
		take_perf(self, record);
		tail += h.size;
	}
}

static void read_ours(struct __test_metadata *_metadata, FIXTURE_DATA(callchain) *self, int cpu)
{
	struct ktb_walk walk = {};
	struct ktb_ring ring;

	ASSERT_EQ(0, ktb_ring_map(&ring, self->fd, cpu));
	ktb_ring_walk(&ring, &walk, add_ours, &ours);
	ktb_ring_unmap(&ring);
	EXPECT_EQ(0, walk.malformed);
	EXPECT_EQ(0, walk.lost);
}

/* ---- one chain beside the other ---- */

static bool is_marker(__u64 ip)
{
	return ip >= (__u64)PERF_CONTEXT_MAX;
}

static unsigned int frames(const struct record *r)
{
	unsigned int n = 0;

	for (__u64 i = 0; i < r->nr; i++)
		n += !is_marker(r->ip[i]);
	return n;
}

/* Where the frames behind a marker begin, 0 if it is not there. */
static unsigned int behind(const struct record *r, __u64 marker)
{
	for (__u64 i = 0; i < r->nr; i++)
		if (r->ip[i] == marker)
			return i + 1;
	return 0;
}

static bool same_chain(const struct record *a, const struct record *b)
{
	return a->nr == b->nr && !memcmp(a->ip, b->ip, a->nr * sizeof(a->ip[0]));
}

static void show(const char *whose, const struct record *r)
{
	printf("# %s, %llu entries:", whose, r->nr);
	for (__u64 i = 0; i < r->nr && i < 40; i++)
		printf(" %llx", r->ip[i]);
	printf("\n");
}

static bool compare(const struct record *a, const struct record *b)
{
	if (same_chain(a, b))
		return true;
	show("ours", a);
	show("perf", b);
	return false;
}

/* Kernel frames first, then the program's, either may be missing; no other marker. */
static bool well_formed(const struct record *r)
{
	unsigned int kernel = behind(r, PERF_CONTEXT_KERNEL);
	unsigned int user = behind(r, PERF_CONTEXT_USER), markers = 0;

	for (__u64 i = 0; i < r->nr; i++)
		markers += is_marker(r->ip[i]);
	if (markers != (unsigned int)(!!kernel + !!user) || !r->nr || !is_marker(r->ip[0]))
		return false;
	return !kernel || !user || kernel < user;
}

/* ---- a thread's hits ---- */

static void run_thread(struct __test_metadata *_metadata, FIXTURE_DATA(callchain) *self,
		       const char *event, struct ktb_worker *w, __u32 max_stack)
{
	w->cpu = ktb_cpus() - 1;
	open_session(_metadata, self, max_stack);
	ASSERT_EQ(0, ktb_worker_start(w));
	open_perf(_metadata, self, event, w->tid, -1, max_stack < PERF_STACK ? max_stack : 0);
	ASSERT_EQ(0, ktb_event_attach(&self->nl, self->s.id, event, w->tid, &self->e))
		TH_LOG("%s: %s", event, self->nl.text);
	ASSERT_EQ(0, ioctl(self->perf, PERF_EVENT_IOC_ENABLE, 0));
	ktb_worker_go(w);
	ASSERT_TRUE(ktb_worker_wait(w));
	ASSERT_EQ(0, ioctl(self->perf, PERF_EVENT_IOC_DISABLE, 0));
	ASSERT_EQ(0, ktb_event_detach(&self->nl, self->s.id, self->e.id, &self->e));
	ktb_worker_finish(w);
	read_perf(self);
	read_ours(_metadata, self, w->cpu);
	EXPECT_LEDGER(&self->e.sum);
	EXPECT_EQ(self->e.sum.written, ours.count);
	EXPECT_EQ(0, self->perf_lost);
}

/*
 * Our event is attached before perf's is enabled, and until after it: what a thread
 * does that waits to be let go is in ours alone, as when it is preempted.
 */
static void drop_ours_around_perfs(void)
{
	int first = 0, more = ours.count - perfs.count;

	for (int i = 0; i < perfs.count && first < more; i++) {
		if (same_chain(&ours.record[first + i], &perfs.record[i]))
			continue;
		first++;
		i = -1;
	}
	if (more <= 0)
		return;
	ours.count = perfs.count;
	memmove(ours.record, ours.record + first, ours.count * sizeof(ours.record[0]));
}

/* The same number of hits, each with the same chain. */
static void expect_as_perf(struct __test_metadata *_metadata, __u32 max_stack)
{
	ASSERT_EQ(perfs.count, ours.count);
	for (int i = 0; i < ours.count; i++) {
		EXPECT_TRUE(compare(&ours.record[i], &perfs.record[i]))
			TH_LOG("hit %d of %d", i, ours.count);
		EXPECT_TRUE(well_formed(&ours.record[i]));
		EXPECT_LE(frames(&ours.record[i]), max_stack);
	}
}

/* Of a system call the first frame is where it is traced in the kernel. */
TEST_F(callchain, of_a_system_call)
{
	struct ktb_worker w = { .work = ktb_work_syscalls, .count = CALLS };

	run_thread(_metadata, self, "raw_syscalls:sys_enter", &w, PERF_STACK);
	EXPECT_EQ(CALLS, ours.count);
	EXPECT_EQ(KTB_PATH_NATIVE, self->e.path);
	expect_as_perf(_metadata, PERF_STACK);
	EXPECT_EQ(1, behind(&ours.record[0], PERF_CONTEXT_KERNEL));
	EXPECT_LT(1, behind(&ours.record[0], PERF_CONTEXT_USER));
}

/* The perf core hands over the program's registers: no frames in the kernel. */
TEST_F(callchain, through_the_perf_core)
{
	struct ktb_worker w = { .work = ktb_work_syscalls, .count = CALLS };

	run_thread(_metadata, self, "syscalls:sys_enter_getppid", &w, PERF_STACK);
	EXPECT_EQ(CALLS, ours.count);
	EXPECT_EQ(KTB_PATH_PERF, self->e.path);
	expect_as_perf(_metadata, PERF_STACK);
}

static void *return_ball(void *arg)
{
	const struct ktb_ball *ball = arg;
	char c;

	ktb_pin(0);
	while (read(ball->in, &c, 1) == 1)
		if (write(ball->out, &c, 1) != 1)
			break;
	return NULL;
}

/* Deep in the scheduler, with its lock held. */
TEST_F(callchain, of_a_switch)
{
	struct ktb_ball mine = { .end = -1, .serves = true }, other = {};
	struct ktb_worker w = { .work = ktb_work_ping_pong, .count = CALLS, .arg = &mine };
	pthread_t thread;
	int to[2], from[2];

	ASSERT_EQ(0, pipe(to));
	ASSERT_EQ(0, pipe(from));
	mine.out = to[1];
	mine.in = from[0];
	other.in = to[0];
	other.out = from[1];
	ASSERT_EQ(0, pthread_create(&thread, NULL, return_ball, &other));
	run_thread(_metadata, self, "sched:sched_switch", &w, PERF_STACK);
	close(to[1]);
	pthread_join(thread, NULL);
	EXPECT_LT(0, perfs.count);
	drop_ours_around_perfs();
	expect_as_perf(_metadata, PERF_STACK);
}

/* ---- a program's frames, by address ---- */

#define MAX_DEPTH	600

struct depth {
	int levels;
	__u64 ip;			/* behind the system call */
	__u64 ret[MAX_DEPTH + 1];	/* from the innermost on */
};

static __attribute__((noinline, noclone)) long bottom(struct depth *d)
{
	long result;

	d->ret[0] = (__u64)__builtin_return_address(0);
	asm volatile("syscall\n1:	lea 1b(%%rip), %%rdx"
		     : "=a" (result), "=d" (d->ip)
		     : "0" ((long)SYS_getppid)
		     : "rcx", "r11", "memory");
	return result;
}

/* What it does after the call keeps the call a call. */
static __attribute__((noinline, noclone)) long level(struct depth *d, int n)
{
	long result = n ? level(d, n - 1) : bottom(d);

	d->ret[n + 1] = (__u64)__builtin_return_address(0);
	asm volatile("" : : : "memory");
	return result + 1;
}

static void work_depth(struct ktb_worker *w)
{
	struct depth *d = w->arg;

	for (__u64 i = 0; i < w->count; i++)
		level(d, d->levels - 1);
}

/* How many of the program's frames are there, from the innermost on. */
static int known_frames(const struct record *r, const struct depth *d)
{
	unsigned int at = behind(r, PERF_CONTEXT_USER);
	int n = 0;

	if (!at || r->ip[at] != d->ip)
		return 0;
	while (n <= d->levels && ++at < r->nr && r->ip[at] == d->ret[n])
		n++;
	return n;
}

TEST_F(callchain, frames_of_a_program)
{
	struct depth d = { .levels = 40 };
	struct ktb_worker w = { .work = work_depth, .count = CALLS, .arg = &d };

	run_thread(_metadata, self, "raw_syscalls:sys_enter", &w, PERF_STACK);
	EXPECT_EQ(CALLS, ours.count);
	expect_as_perf(_metadata, PERF_STACK);
	for (int i = 0; i < ours.count; i++) {
		EXPECT_EQ(d.levels + 1, known_frames(&ours.record[i], &d));
	}
}

/* As many frames as asked for, from the innermost on. */
static void cut_at(struct __test_metadata *_metadata, FIXTURE_DATA(callchain) *self,
		   __u32 max_stack)
{
	struct depth d = { .levels = 40 };
	struct ktb_worker w = { .work = work_depth, .count = CALLS, .arg = &d };

	run_thread(_metadata, self, "raw_syscalls:sys_enter", &w, max_stack);
	EXPECT_EQ(CALLS, ours.count);
	expect_as_perf(_metadata, max_stack);
	EXPECT_EQ(max_stack, frames(&ours.record[0]));
}

TEST_F(callchain, one_frame)
{
	cut_at(_metadata, self, 1);
}

TEST_F(callchain, few_frames)
{
	cut_at(_metadata, self, 8);
}

/* More than perf's limit allows. */
TEST_F(callchain, most_frames)
{
	struct depth d = { .levels = MAX_DEPTH };
	struct ktb_worker w = { .work = work_depth, .count = CALLS, .arg = &d };
	unsigned int user;

	run_thread(_metadata, self, "raw_syscalls:sys_enter", &w, MAX_STACK);
	EXPECT_EQ(CALLS, ours.count);
	for (int i = 0; i < ours.count; i++) {
		EXPECT_EQ(MAX_STACK, frames(&ours.record[i]));
		user = behind(&ours.record[i], PERF_CONTEXT_USER);
		EXPECT_EQ((int)(ours.record[i].nr - user - 1), known_frames(&ours.record[i], &d));
	}
}

TEST_F(callchain, limits)
{
	struct ktb_session s;

	EXPECT_REFUSED(&self->nl, EINVAL, "max-stack",
		       ktb_session_new_stack(&self->nl, "t_none", 4096, 0, &s));
	EXPECT_REFUSED(&self->nl, EINVAL, "512",
		       ktb_session_new_stack(&self->nl, "t_more", 4096, MAX_STACK + 1, &s));
	EXPECT_EQ(0, ktb_session_count(&self->nl));
}

/* ---- frame pointers that lead anywhere ---- */

struct frame {
	__u64 next;
	__u64 ret;
};

#define MAX_HOSTILE	24

struct hostile {
	int n;
	__u64 bp[MAX_HOSTILE];
	struct frame loop, ping, pong;
};

static void work_hostile(struct ktb_worker *w)
{
	const struct hostile *h = w->arg;
	long result;

	for (int i = 0; i < h->n; i++)
		asm volatile("mov %%rbp, %%rbx\n"
			     "	mov %[bp], %%rbp\n"
			     "	syscall\n"
			     "	mov %%rbx, %%rbp"
			     : "=a" (result)
			     : "0" ((long)SYS_getppid), [bp] "r" (h->bp[i])
			     : "rbx", "rcx", "r11", "memory");
}

static char *map_page(int protection)
{
	char *at = mmap(NULL, 2 * 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

static void lead_to(struct hostile *h, __u64 bp)
{
	if (h->n < MAX_HOSTILE)
		h->bp[h->n++] = bp;
}

static void fill_hostile(struct hostile *h, char *pages)
{
	lead_to(h, 0);
	lead_to(h, 1);
	lead_to(h, 8);
	/* the end of what a program can have, and beyond */
	lead_to(h, 0x00007ffffffff000ULL);
	lead_to(h, 0x00007fffffffeff8ULL);
	lead_to(h, 0x0000800000000000ULL);
	lead_to(h, 0x8000000000000000ULL);
	lead_to(h, ~0ULL);
	lead_to(h, ~0ULL - 7);
	lead_to(h, ~0ULL - 15);
	/* the kernel: its code, and all memory */
	lead_to(h, 0xffffffff81000000ULL);
	lead_to(h, 0xffff888000001000ULL);
	/* circles */
	h->loop = (struct frame){ (__u64)&h->loop, 0x1234 };
	h->ping = (struct frame){ (__u64)&h->pong, 0x1235 };
	h->pong = (struct frame){ (__u64)&h->ping, 0xffffffff81000000ULL };
	lead_to(h, (__u64)&h->loop);
	lead_to(h, (__u64)&h->ping);
	lead_to(h, (__u64)&h->loop + 3);
	/* half a frame before a page that is not to be read, and that page */
	lead_to(h, (__u64)pages + 4096 - 8);
	lead_to(h, (__u64)pages + 4096 - 15);
	lead_to(h, (__u64)pages + 4096);
	/* a page that is not there yet */
	lead_to(h, (__u64)map_page(PROT_READ | PROT_WRITE));
}

TEST_F(callchain, hostile_frame_pointers)
{
	struct hostile h = {};
	struct ktb_worker w = { .work = work_hostile, .arg = &h };
	char *pages = map_page(PROT_READ | PROT_WRITE);
	int circles = 0;

	ASSERT_NE(NULL, pages);
	memset(pages, 0x55, 4096);
	ASSERT_EQ(0, mprotect(pages + 4096, 4096, PROT_NONE));
	fill_hostile(&h, pages);
	run_thread(_metadata, self, "raw_syscalls:sys_enter", &w, PERF_STACK);
	EXPECT_EQ(h.n, ours.count);
	expect_as_perf(_metadata, PERF_STACK);
	for (int i = 0; i < ours.count; i++)
		circles += frames(&ours.record[i]) == PERF_STACK;
	EXPECT_EQ(2, circles);
}

/* ---- a 32-bit program ---- */

/* Wait for its first byte, so that it is there and reads; it goes on with ours. */
static pid_t start32(int *go)
{
	char path[PATH_MAX] = "", program[PATH_MAX + 16], c;
	int in[2], out[2];
	pid_t pid;

	if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0 || pipe(in) || pipe(out))
		return -1;
	snprintf(program, sizeof(program), "%s/callchain32", dirname(path));
	pid = fork();
	if (!pid) {
		ktb_pin(ktb_cpus() - 1);
		dup2(in[0], 0);
		dup2(out[1], 1);
		close(in[1]);
		execl(program, "callchain32", NULL);
		_exit(9);
	}
	close(out[1]);
	*go = in[1];
	return read(out[0], &c, 1) == 1 ? pid : -1;
}

TEST_F(callchain, of_a_32_bit_program)
{
	const char *event = "raw_syscalls:sys_enter";
	unsigned int user;
	pid_t pid;
	int go;

	pid = start32(&go);
	ASSERT_LT(0, pid);
	open_session(_metadata, self, PERF_STACK);
	open_perf(_metadata, self, event, pid, -1, 0);
	ASSERT_EQ(0, ktb_event_attach(&self->nl, self->s.id, event, pid, &self->e));
	ASSERT_EQ(0, ioctl(self->perf, PERF_EVENT_IOC_ENABLE, 0));
	ASSERT_EQ(1, write(go, "", 1));
	EXPECT_EQ(0, ktb_reap(pid));
	ASSERT_EQ(0, ktb_event_detach(&self->nl, self->s.id, self->e.id, &self->e));
	read_perf(self);
	read_ours(_metadata, self, ktb_cpus() - 1);
	EXPECT_LE(10, ours.count);
	expect_as_perf(_metadata, PERF_STACK);
	for (int i = 0; i < ours.count; i++) {
		user = behind(&ours.record[i], PERF_CONTEXT_USER);
		ASSERT_LT(0, user);
		/* Its frames, ten levels of them, are below 4 GiB. */
		EXPECT_LE(10, ours.record[i].nr - user);
		for (; user < ours.record[i].nr; user++) {
			EXPECT_EQ(0, ours.record[i].ip[user] >> 32);
		}
	}
}

/* ---- all that happens on a CPU: interrupts, kernel threads, idling ---- */

static void make_load(int cpu)
{
	ktb_pin(cpu);
	for (;;) {
		for (int i = 0; i < 200; i++)
			syscall(SYS_getppid);
		usleep(500);
	}
}

/* As many contexts as can interrupt each other. */
#define NESTED	4

/*
 * Of the same hit. Ours is called first; interrupts may hit between the two, and
 * then both of theirs are.
 */
static const struct record *ours_of(const struct record *perf)
{
	int at = 0;

	while (at < ours.count && ours.record[at].time <= perf->time)
		at++;
	for (int back = 1; back <= NESTED && back <= at; back++)
		if (same_chain(&ours.record[at - back], perf))
			return &ours.record[at - back];
	return at ? &ours.record[at - 1] : NULL;
}

static void compare_cpu(struct __test_metadata *_metadata, FIXTURE_DATA(callchain) *self,
			const char *event)
{
	const struct ktb_attach how = { .name = event, .cpus = "1" };
	int with_user = 0, without_user = 0;
	pid_t load;

	if (ktb_cpus() < 2)
		SKIP(return, "one CPU only");
	/* Waiting is done elsewhere: that CPU is to be idle now and then. */
	ASSERT_EQ(0, ktb_pin(0));
	load = fork();
	if (!load)
		make_load(1);
	open_session(_metadata, self, PERF_STACK);
	ASSERT_EQ(0, ktb_event_attach_as(&self->nl, self->s.id, &how, &self->e))
		TH_LOG("%s: %s", event, self->nl.text);
	ASSERT_EQ(KTB_PATH_NATIVE, self->e.path);
	open_perf(_metadata, self, event, -1, 1, 0);
	ASSERT_EQ(0, ioctl(self->perf, PERF_EVENT_IOC_ENABLE, 0));
	EXPECT_TRUE(ktb_wait_for(self->page->data_head > 50000, 20));
	ASSERT_EQ(0, ioctl(self->perf, PERF_EVENT_IOC_DISABLE, 0));
	ASSERT_EQ(0, ktb_event_detach(&self->nl, self->s.id, self->e.id, &self->e));
	kill(load, SIGKILL);
	ktb_reap(load);
	read_perf(self);
	read_ours(_metadata, self, 1);
	EXPECT_LEDGER(&self->e.sum);
	EXPECT_LT(50, perfs.count);
	for (int i = 0; i < perfs.count; i++) {
		const struct record *perf = &perfs.record[i], *our = ours_of(perf);

		/* Beyond what there is room for here. */
		if (perf->time > ours.record[ours.count - 1].time)
			break;
		ASSERT_NE(NULL, our);
		EXPECT_TRUE(compare(our, perf))
			TH_LOG("hit %d of %d", i, perfs.count);
		EXPECT_TRUE(well_formed(our));
		if (behind(our, PERF_CONTEXT_USER))
			with_user++;
		else
			without_user++;
	}
	/* A realtime kernel may leave all soft interrupts to threads of its own. */
	if (strcmp(event, "irq:softirq_entry") || access("/sys/kernel/realtime", F_OK))
		EXPECT_LT(0, with_user);
	EXPECT_LT(0, without_user);
}

TEST_F_TIMEOUT(callchain, of_all_switches, 60)
{
	compare_cpu(_metadata, self, "sched:sched_switch");
}

TEST_F_TIMEOUT(callchain, of_soft_interrupts, 60)
{
	compare_cpu(_metadata, self, "irq:softirq_entry");
}

TEST_F_TIMEOUT(callchain, of_hard_interrupts, 60)
{
	compare_cpu(_metadata, self, "timer:hrtimer_expire_entry");
}

TEST_HARNESS_MAIN
