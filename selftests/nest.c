// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writers that nest in each other in one ring: task, softirq, hardirq, NMI, each
 * between any two instructions of the other. modules/ktb_test_nest fires them.
 * Every record is whole, in order of reservation, and every hit in the ledger.
 */
#include "ktb_bpf.h"
#include "ktb_test.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>

#define MODULE_FILE	"/ktb/modules/ktb_test_nest.ko"
#define RUN_FILE	"/sys/module/ktb_test_nest/parameters/run"
#define EVENT		"power:wakeup_source_deactivate"
#define ROOM		(16UL << 20)

enum { TASK, SOFTIRQ, HARDIRQ, NMI, CONTEXTS };

/* What the ring has shown so far. */
struct order {
	const struct ktb_format *format;
	unsigned int next[CONTEXTS];	/* number after the last one seen */
	unsigned int floor[CONTEXTS];	/* smaller numbers have to be before this */
	__u64 count[CONTEXTS];
	__u64 nested;			/* inside of a lower context's hit */
	__u64 broken;			/* payload is not what was fired */
	__u64 late;			/* behind one that was begun after it */
	__u64 early;			/* before one that was done by then */
	__u64 missing;
};

static unsigned int sum_of(const char *name)
{
	unsigned int sum = 2166136261U;

	while (*name)
		sum = (sum ^ (unsigned char)*name++) * 16777619U;
	return sum;
}

/* The name of a record, NULL if it is not a string within the record. */
static const char *name_of(const struct order *o, const struct ktb_sample *s)
{
	__u32 loc = ktb_field_uint(o->format, "name", s->raw);
	unsigned int at = loc & 0xffff, len = loc >> 16;

	if (at < ktb_format_end(o->format) || !len || at + len > s->raw_size ||
	    strnlen(s->raw + at, len) != len - 1)
		return NULL;
	return s->raw + at;
}

/* Letters go on from the numbers to the end, see ktb_test_nest. */
static bool letters_ok(const char *name, int at, unsigned int seq)
{
	for (; name[at]; at++)
		if (name[at] != 'a' + (int)((seq + at) % 26))
			return false;
	return true;
}

/*
 * A record says what each context had begun and done when it was fired. What was
 * done is before it in the ring, what a context that it interrupted had not
 * begun is not.
 */
static void check_order(struct order *o, unsigned int context, unsigned int seq,
			const unsigned int *begun, const unsigned int *done)
{
	if (seq < o->next[context] || seq < o->floor[context])
		o->late++;
	o->missing += seq - o->next[context];
	o->next[context] = seq + 1;
	for (int i = 0; i < CONTEXTS; i++) {
		if (i < (int)context && o->next[i] > begun[i])
			o->early++;
		if (i < (int)context && begun[i] != done[i])
			o->nested++;
		if (o->floor[i] < done[i])
			o->floor[i] = done[i];
	}
}

static void check_sample(const struct ktb_sample *s, void *arg)
{
	unsigned int context, seq, begun[CONTEXTS], done[CONTEXTS];
	struct order *o = arg;
	const char *name = name_of(o, s);
	int at = 0;

	if (!name || ktb_field_uint(o->format, "state", s->raw) != sum_of(name) ||
	    sscanf(name, "nest %u %u b %u %u %u %u d %u %u %u %u %n", &context, &seq,
		   &begun[0], &begun[1], &begun[2], &begun[3],
		   &done[0], &done[1], &done[2], &done[3], &at) != 10 ||
	    context >= CONTEXTS || begun[context] != seq + 1 || done[context] != seq ||
	    !letters_ok(name, at, seq)) {
		o->broken++;
		return;
	}
	o->count[context]++;
	check_order(o, context, seq, begun, done);
}

static int write_run(const char *what)
{
	int fd = open(RUN_FILE, O_WRONLY | O_CLOEXEC), error = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, what, strlen(what)) < 0)
		error = -errno;
	close(fd);
	return error;
}

/* What was fired in each context, and the traps of the last run. */
static int read_fired(__u64 *fired, int *traps)
{
	FILE *f = fopen(RUN_FILE, "r");
	int n;

	if (!f)
		return -errno;
	n = fscanf(f, "%llu %llu %llu %llu %d", &fired[0], &fired[1], &fired[2], &fired[3],
		   traps);
	fclose(f);
	return n == CONTEXTS + 1 ? 0 : -EINVAL;
}

static void work_run(struct ktb_worker *w)
{
	w->magic = write_run(w->arg);
}

FIXTURE(nest)
{
	struct ktb_nl nl;
	struct ktb_session s;
	struct ktb_event e;
	struct ktb_format format;
	struct ktb_ring ring;
	struct ktb_walk walk;
	struct order order;
	struct ktb_worker w;
	int fd;
};

FIXTURE_SETUP(nest)
{
	int fd;

	fd = open(MODULE_FILE, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		SKIP(return, "no " MODULE_FILE " to fire events");
	ASSERT_EQ(0, syscall(SYS_finit_module, fd, "", 0))
		TH_LOG("%s", strerror(errno));
	close(fd);
	ASSERT_CONTROL(&self->nl);
	ASSERT_EQ(0, ktb_format_read(EVENT, &self->format));
	self->w.work = work_run;
	self->w.cpu = ktb_cpus() - 1;
}

FIXTURE_TEARDOWN(nest)
{
	ktb_session_sweep(&self->nl);
	ktb_nl_close(&self->nl);
	EXPECT_EQ(0, syscall(SYS_delete_module, "ktb_test_nest", O_NONBLOCK));
}

static void begin(struct __test_metadata *_metadata, FIXTURE_DATA(nest) *self, __u64 size)
{
	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_nest", 0, size, &self->s));
	self->fd = ktb_dev_open_bind(self->s.id, self->w.cpu);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, ktb_ring_map(&self->ring, self->fd, self->w.cpu));
	ASSERT_EQ(0, ktb_event_attach(&self->nl, self->s.id, EVENT, 0, &self->e))
		TH_LOG("%s", self->nl.text);
	ASSERT_EQ(0, write_run("reset"));
	self->walk = (struct ktb_walk) {};
	self->order = (struct order) { .format = &self->format };
}

static void end(struct __test_metadata *_metadata, FIXTURE_DATA(nest) *self)
{
	ktb_ring_unmap(&self->ring);
	close(self->fd);
	ASSERT_EQ(0, ktb_session_del(&self->nl, self->s.id));
}

static void look(FIXTURE_DATA(nest) *self)
{
	ktb_ring_walk(&self->ring, &self->walk, check_sample, &self->order);
}

/* A thread on the one CPU fires, the reader is on the other. */
static void run(struct __test_metadata *_metadata, FIXTURE_DATA(nest) *self, const char *what,
		bool read_along)
{
	self->w.arg = (void *)what;
	ASSERT_EQ(0, ktb_pin(0));
	ASSERT_EQ(0, ktb_worker_start(&self->w));
	ktb_worker_go(&self->w);
	while (read_along && !ktb_worker_done(&self->w))
		look(self);
	/* A kernel that watches itself takes its time; the test's own limit stands. */
	ASSERT_TRUE(ktb_wait_for(ktb_worker_done(&self->w), 300));
	ktb_worker_finish(&self->w);
	ASSERT_EQ(0, (int)self->w.magic);
	look(self);
}

/* What was fired, the ledger, the ring and its stream of losses say the same. */
static void check_books(struct __test_metadata *_metadata, FIXTURE_DATA(nest) *self,
			const char *what)
{
	const struct ktb_ledger *cpu = NULL, *sum = &self->e.sum;
	__u64 fired[CONTEXTS], all = 0, missing = self->order.missing;
	int traps;

	ASSERT_EQ(0, read_fired(fired, &traps));
	ASSERT_EQ(0, ktb_event_get(&self->nl, self->s.id, self->e.id, &self->e));
	for (int i = 0; i < CONTEXTS; i++) {
		all += fired[i];
		missing += fired[i] - self->order.next[i];
	}
	for (int i = 0; i < self->e.ncpus; i++)
		if ((int)self->e.cpu[i].cpu == self->w.cpu)
			cpu = &self->e.cpu[i];
	ASSERT_TRUE(cpu);
	EXPECT_LEDGER(sum);
	EXPECT_LEDGER(cpu);
	EXPECT_EQ(all, sum->hits);
	EXPECT_EQ(all, cpu->hits);
	EXPECT_EQ(cpu->written, self->walk.samples);
	EXPECT_EQ(ktb_ledger_lost(cpu), self->ring.page->lost);
	EXPECT_EQ(ktb_ledger_lost(cpu), missing);
	EXPECT_LE(self->walk.lost, self->ring.page->lost);
	/* Who sorts by time finds it before what came after. It was another's, if at all. */
	EXPECT_GE(self->walk.lost_records / 10 + 1, self->walk.lost_late);
	EXPECT_EQ(0, cpu->lost_recursion);
	EXPECT_EQ(0, cpu->lost_big);
	EXPECT_EQ(0, self->walk.malformed);
	EXPECT_EQ(0, self->order.broken);
	EXPECT_EQ(0, self->order.late);
	EXPECT_EQ(0, self->order.early);
	EXPECT_EQ(self->ring.page->data_head, self->walk.bytes);
	TH_LOG("%s: fired %llu %llu %llu %llu, %llu seen inside of another, %llu lost", what,
	       fired[TASK], fired[SOFTIRQ], fired[HARDIRQ], fired[NMI], self->order.nested,
	       sum->lost_full);
}

static const char * const long_runs[] = {
	"storm 600", "step 4", "stepexit 4", "stepsoft 4", "stepirq 4",
};
static const char * const short_runs[] = {
	"storm 40", "step 1", "stepexit 1", "stepsoft 1", "stepirq 1",
};
#define RUNS	ARRAY_SIZE(long_runs)

/*
 * How many of them. A realtime kernel, or one that checks itself, takes too long to
 * fire from hundreds of traps: there it is timers and NMIs alone, at places that
 * nobody chooses, and every_instruction() steps as far as the time goes.
 */
static size_t runs_here(void)
{
	static const char * const slow[] = {
		KTB_LOCKDEP, KTB_KCSAN, "/sys/kernel/realtime",
	};

	for (size_t i = 0; i < ARRAY_SIZE(slow); i++)
		if (!access(slow[i], F_OK))
			return 1;
	return RUNS;
}

TEST_F_TIMEOUT(nest, room, 60)
{
	for (size_t i = 0; i < runs_here(); i++) {
		begin(_metadata, self, ROOM);
		run(_metadata, self, long_runs[i], false);
		check_books(_metadata, self, long_runs[i]);
		EXPECT_EQ(0, self->e.sum.lost_full);
		EXPECT_EQ(0, self->order.missing);
		/* Behind all of it, the outermost published everything. */
		EXPECT_EQ(self->e.sum.hits, self->walk.samples);
		EXPECT_LT(0, self->order.nested);
		EXPECT_LT(0, self->order.count[NMI]);
		end(_metadata, self);
	}
}

/* It wraps under a reader: what is lost is lost whole, and stated. */
TEST_F_TIMEOUT(nest, wraps, 60)
{
	for (size_t i = 0; i < runs_here(); i++) {
		begin(_metadata, self, 16 * 4096);
		for (int round = 0; round < 8; round++)
			run(_metadata, self, short_runs[i], true);
		check_books(_metadata, self, short_runs[i]);
		EXPECT_LT(16 * 4096, self->ring.page->data_head);
		end(_metadata, self);
	}
}

/* Full before a run ends: making room, and stating a loss, nest too. */
TEST_F_TIMEOUT(nest, one_page, 60)
{
	for (size_t i = 0; i < runs_here(); i++) {
		begin(_metadata, self, 4096);
		for (int round = 0; round < 8; round++) {
			__u64 lost = self->ring.page->lost;

			run(_metadata, self, short_runs[i], round % 2);
			/* Before the first record of this run. */
			EXPECT_LE(lost, self->walk.lost);
		}
		check_books(_metadata, self, short_runs[i]);
		EXPECT_LT(0, self->e.sum.lost_full);
		end(_metadata, self);
	}
}

/*
 * One interruption, behind each instruction in turn, of a probe that finds the
 * ring in a certain state: empty, or @fill is fired before, and read or not. In
 * softirq and hardirq the code is the same: every @stride'th will do there. Where
 * that would take more than STEP_TIME, because the kernel or the machine is slow,
 * fewer are had, all over the code, but STEPS_LEAST in any case.
 */
#define STEP_TIME	(ktb_long() ? 7500000000ULL : 1500000000ULL)
#define STEPS_LEAST	12

/* How far to go on, so that the rest goes into the rest of the time. */
static int next_step(int left, int traps, int turns, __u64 spent)
{
	__u64 most = traps / STEPS_LEAST, step = most;

	if (spent < STEP_TIME && left > 0)
		step = left * (spent / turns) / (STEP_TIME - spent);
	return step < most ? step : most;
}

static void every_instruction(struct __test_metadata *_metadata, FIXTURE_DATA(nest) *self,
			      const char *fill, bool drained, int stride)
{
	static const char * const steps[] = { "step", "stepexit", "stepsoft", "stepirq" };

	ASSERT_EQ(0, ktb_pin(self->w.cpu));
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		__u64 fired[CONTEXTS], hits, left = 0, start = ktb_now();
		int at = 0, traps, turns = 0;
		char what[32];

		begin(_metadata, self, 4096);
		do {
			if (fill && (drained || !at)) {
				ASSERT_EQ(0, write_run(fill));
			}
			if (drained)
				look(self);
			snprintf(what, sizeof(what), "%s 1 %d", steps[i], at);
			ASSERT_EQ(0, write_run(what));
			ASSERT_EQ(0, read_fired(fired, &traps));
			ASSERT_LT(0, traps);
			hits = fired[TASK] + fired[SOFTIRQ] + fired[HARDIRQ] + fired[NMI];
			if (drained)
				look(self);
			else if (fill && at)
				/* Full for good: the reader is told of each hit at once. */
				EXPECT_EQ(left, hits - self->ring.page->lost);
			left = hits - self->ring.page->lost;
			turns += at < traps;
			at += next_step(traps - at, traps, turns ?: 1, ktb_now() - start);
			at += i ? stride : 1;
		} while (at <= traps);
		look(self);
		check_books(_metadata, self, what);
		EXPECT_EQ(turns, (int)fired[NMI]);
		EXPECT_LT(STEPS_LEAST / 2, turns);
		TH_LOG("%d of %d instructions", turns, traps);
		end(_metadata, self);
	}
}

/* KCSAN waits inside of the probe, and it is there that the traps would go. */
#define REQUIRE_STEPS() \
	do { \
		if (!access(KTB_KCSAN, F_OK)) \
			SKIP(return, "KCSAN is in every instruction's way"); \
	} while (0)

TEST_F_TIMEOUT(nest, every_instruction_with_room, 90)
{
	REQUIRE_STEPS();
	every_instruction(_metadata, self, NULL, true, 1);
	EXPECT_EQ(0, self->e.sum.lost_full);
	EXPECT_EQ(0, self->order.missing);
}

TEST_F_TIMEOUT(nest, every_instruction_when_full, 90)
{
	REQUIRE_STEPS();
	every_instruction(_metadata, self, "burst 40", false, 1);
	EXPECT_LT(0, self->e.sum.lost_full);
}

TEST_F_TIMEOUT(nest, every_instruction_after_a_loss, 90)
{
	REQUIRE_STEPS();
	every_instruction(_metadata, self, "burst 40", true, 7);
	EXPECT_LT(0, self->walk.lost_records);
}

/*
 * A reader sleeps while an interrupt comes within a record, and the end of the
 * interrupt that would wake it is a hit too: one that must not ask for another.
 */
TEST_F_TIMEOUT(nest, the_outermost_wakes, 60)
{
	struct pollfd reader = { .events = POLLIN };
	struct ktb_event end_of_work;
	__u64 fired[CONTEXTS];
	int at = 0, traps;
	char what[32];

	REQUIRE_STEPS();
	ASSERT_EQ(0, ktb_pin(self->w.cpu));
	begin(_metadata, self, ROOM);
	ASSERT_EQ(0, ktb_event_attach(&self->nl, self->s.id, "irq_vectors:irq_work_exit", 0,
				      &end_of_work))
		TH_LOG("%s", self->nl.text);
	reader.fd = self->fd;
	do {
		ASSERT_LE(0, poll(&reader, 1, 0));
		snprintf(what, sizeof(what), "step 1 %d", at);
		ASSERT_EQ(0, write_run(what));
		ASSERT_EQ(0, read_fired(fired, &traps));
		at += traps / STEPS_LEAST + 1;
	} while (at < traps);
	ASSERT_EQ(0, ktb_event_get(&self->nl, self->s.id, end_of_work.id, &end_of_work));
	EXPECT_LEDGER(&end_of_work.sum);
	EXPECT_LE(STEPS_LEAST / 2, end_of_work.sum.written);
	ASSERT_EQ(0, ktb_event_get(&self->nl, self->s.id, self->e.id, &self->e));
	EXPECT_LEDGER(&self->e.sum);
	EXPECT_EQ(fired[TASK] + fired[SOFTIRQ] + fired[HARDIRQ] + fired[NMI], self->e.sum.hits);
	end(_metadata, self);
}

/*
 * The same with programs, which look at records made aside: nobody writes to the ring
 * while one runs, and who hits then is lost.
 */
TEST_F_TIMEOUT(nest, the_lost_wake_once, 60)
{
	int map = ktb_map_create(BPF_MAP_TYPE_ARRAY, 4, 8, 1), at = 0, traps, prog;
	static const char * const names[] = { EVENT, "irq_vectors:irq_work_exit" };
	struct pollfd reader = { .events = POLLIN };
	struct ktb_event e[ARRAY_SIZE(names)];
	struct ktb_prog p = {};
	char what[32];

	REQUIRE_STEPS();
	ktb_emit_count(&p, map);
	ktb_emit_mov_imm(&p, 7, 0);
	ktb_emit_end(&p, 7);
	prog = ktb_prog_load(BPF_PROG_TYPE_TRACEPOINT, &p);
	ASSERT_LE(0, prog)
		TH_LOG("%s", ktb_bpf_log);
	ASSERT_EQ(0, ktb_pin(self->w.cpu));
	begin(_metadata, self, ROOM);
	ASSERT_EQ(0, ktb_event_detach(&self->nl, self->s.id, self->e.id, NULL));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct ktb_attach how = { .name = names[i], .program = &prog };

		ASSERT_EQ(0, ktb_event_attach_as(&self->nl, self->s.id, &how, &e[i]))
			TH_LOG("%s: %s", names[i], self->nl.text);
	}
	reader.fd = self->fd;
	/* The program comes behind the making of the record, and is short. */
	do {
		__u64 fired[CONTEXTS];

		ASSERT_LE(0, poll(&reader, 1, 0));
		snprintf(what, sizeof(what), "step 1 %d", at);
		ASSERT_EQ(0, write_run(what));
		ASSERT_EQ(0, read_fired(fired, &traps));
		ASSERT_EQ(0, ktb_event_get(&self->nl, self->s.id, e[0].id, &e[0]));
		at = at ? at + traps / 60 + 1 : traps / 3;
	} while (at < traps && !e[0].sum.lost_recursion);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		ASSERT_EQ(0, ktb_event_get(&self->nl, self->s.id, e[i].id, &e[i]));
		EXPECT_LEDGER(&e[i].sum);
		EXPECT_LT(0, e[i].sum.filtered);
		EXPECT_EQ(0, e[i].sum.written);
	}
	/* What was fired from within a program. */
	EXPECT_LT(0, e[0].sum.lost_recursion);
	end(_metadata, self);
	close(prog);
	close(map);
}

TEST_HARNESS_MAIN
