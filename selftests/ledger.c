// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exactness: every hit is accounted for once, in the ledger, in the ring and in
 * the stream.
 *
 *	hits = written + filtered + not_sampled + lost_*	per event and CPU
 *	written = read + left in the ring			per event and CPU
 *	lost_* = stated in the stream + not stated yet		per ring
 */
#include "ktb_test.h"

#define ENTER		"raw_syscalls:sys_enter"
#define SWITCH		"sched:sched_switch"
#define EXEC		"sched:sched_process_exec"
#define MAX_EVENTS	16
#define MAX_WORKERS	(2 * KTB_MAX_CPUS)

/* One CPU's ring, its reader, and what that has seen so far. */
struct cpu_reader {
	struct ktb_ring ring;
	struct ktb_walk walk;
	int nevents;
	__u64 event[MAX_EVENTS];
	__u64 samples[MAX_EVENTS];
	__u64 by_magic[MAX_WORKERS];
	unsigned int args;	/* offset of sys_enter's arguments */
};

#define MAGIC	0x6b74620000ULL

static void count_sample(const struct ktb_sample *s, void *arg)
{
	struct cpu_reader *r = arg;
	__u64 magic;

	for (int i = 0; i < r->nevents; i++)
		if (r->event[i] == s->id)
			r->samples[i]++;
	if (!r->args || s->raw_size < r->args + sizeof(magic))
		return;
	memcpy(&magic, s->raw + r->args, sizeof(magic));
	if (magic >= MAGIC && magic < MAGIC + MAX_WORKERS)
		r->by_magic[magic - MAGIC]++;
}

FIXTURE(ledger)
{
	struct ktb_nl nl;
	int ncpus;
	struct cpu_reader cpu[KTB_MAX_CPUS];
};

FIXTURE_SETUP(ledger)
{
	struct ktb_format f;

	ASSERT_CONTROL(&self->nl);
	self->ncpus = ktb_cpus();
	ASSERT_GE(KTB_MAX_CPUS, self->ncpus);
	ASSERT_EQ(0, ktb_format_read(ENTER, &f));
	for (int i = 0; i < self->ncpus; i++)
		self->cpu[i].args = ktb_format_field(&f, "args")->offset;
}

FIXTURE_TEARDOWN(ledger)
{
	ktb_nl_close(&self->nl);
}

static int map_all(FIXTURE_DATA(ledger) *self, int fd)
{
	int error = 0;

	for (int i = 0; i < self->ncpus && !error; i++)
		error = ktb_ring_map(&self->cpu[i].ring, fd, i);
	return error;
}

static void expect_event(FIXTURE_DATA(ledger) *self, __u64 id)
{
	for (int i = 0; i < self->ncpus; i++)
		self->cpu[i].event[self->cpu[i].nevents++] = id;
}

static void read_all(FIXTURE_DATA(ledger) *self)
{
	for (int i = 0; i < self->ncpus; i++)
		ktb_ring_walk(&self->cpu[i].ring, &self->cpu[i].walk, count_sample,
			      &self->cpu[i]);
}

static const struct ktb_ledger *cpu_ledger(const struct ktb_event *e, int cpu)
{
	static const struct ktb_ledger none;

	for (int i = 0; i < e->ncpus; i++)
		if (e->cpu[i].cpu == (__u32)cpu)
			return &e->cpu[i];
	return &none;
}

/*
 * The three equations, for a quiet session whose rings have been read empty,
 * and that the module says the same in its three ways of saying it.
 */
static void check_books(struct __test_metadata *_metadata, FIXTURE_DATA(ledger) *self,
			__u32 session, struct ktb_event *events, int nevents)
{
	__u64 lost[KTB_MAX_CPUS] = {};
	struct ktb_session s;

	for (int n = 0; n < nevents; n++) {
		__u64 hits = 0, written = 0;

		EXPECT_LEDGER(&events[n].sum);
		for (int i = 0; i < self->ncpus; i++) {
			const struct ktb_ledger *l = cpu_ledger(&events[n], i);

			EXPECT_LEDGER(l);
			EXPECT_EQ(l->written, self->cpu[i].samples[n])
				TH_LOG("%s on CPU %d", events[n].name, i);
			lost[i] += ktb_ledger_lost(l);
			hits += l->hits;
			written += l->written;
		}
		EXPECT_EQ(events[n].sum.hits, hits);
		EXPECT_EQ(events[n].sum.written, written);
	}
	ASSERT_EQ(0, ktb_session_get(&self->nl, session, &s));
	ASSERT_EQ(self->ncpus, s.nrings);
	for (int i = 0; i < self->ncpus; i++) {
		const struct ktb_ring_page *page = self->cpu[i].ring.page;
		__u64 pending = page->lost - self->cpu[i].walk.lost;

		EXPECT_EQ(0, self->cpu[i].walk.malformed);
		EXPECT_EQ(lost[i], page->lost);
		EXPECT_EQ(lost[i], self->cpu[i].walk.lost + pending);
		EXPECT_LE(self->cpu[i].walk.lost, page->lost);
		EXPECT_EQ(page->lost, s.ring[i].lost);
		EXPECT_EQ(page->data_head, s.ring[i].head);
		EXPECT_EQ(page->data_head, s.ring[i].tail);
		EXPECT_EQ(page->data_head, self->cpu[i].walk.bytes);
	}
}

/* One thread, a reader that gets everything: more than the ring holds, no loss. */
TEST_F_TIMEOUT(ledger, reader_keeps_up, 60)
{
	struct ktb_worker w = {
		.cpu = self->ncpus - 1, .work = ktb_work_syscalls, .magic = MAGIC, .count = 60,
	};
	struct ktb_session s;
	struct ktb_event e;
	int fd;

	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_keeps_up", 0, 4 * 4096, &s));
	fd = ktb_dev_open_bind(s.id, -1);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, map_all(self, fd));
	ASSERT_EQ(0, ktb_worker_start(&w));
	ASSERT_EQ(0, ktb_event_attach(&self->nl, s.id, ENTER, w.tid, &e));
	expect_event(self, e.id);
	for (int burst = 0; burst < 50; burst++) {
		ktb_worker_go(&w);
		/* Read while it writes, not only after. */
		while (!ktb_worker_done(&w))
			read_all(self);
	}
	ASSERT_EQ(0, ktb_event_get(&self->nl, s.id, e.id, &e));
	read_all(self);
	EXPECT_EQ(3000, ktb_ledger_own(&e.sum));
	EXPECT_EQ(3000, e.sum.written);
	EXPECT_EQ(0, ktb_ledger_lost(&e.sum));
	EXPECT_EQ(e.sum.hits - e.sum.filtered, e.sum.count);
	EXPECT_EQ(3000, self->cpu[w.cpu].by_magic[0]);
	EXPECT_LT(4 * 4 * 4096, self->cpu[w.cpu].ring.page->data_head);
	check_books(_metadata, self, s.id, &e, 1);
	ktb_worker_finish(&w);
}

/* The reader reads as fast as it can, the writer does not wait for it. */
TEST_F_TIMEOUT(ledger, reader_may_lag, 60)
{
	struct ktb_worker w = {
		.cpu = self->ncpus - 1, .work = ktb_work_syscalls, .magic = MAGIC, .count = 20000,
	};
	struct ktb_session s;
	struct ktb_event e;
	int fd;

	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_may_lag", 0, 4096, &s));
	fd = ktb_dev_open_bind(s.id, -1);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, map_all(self, fd));
	ASSERT_EQ(0, ktb_worker_start(&w));
	ASSERT_EQ(0, ktb_event_attach(&self->nl, s.id, ENTER, w.tid, &e));
	expect_event(self, e.id);
	ktb_worker_go(&w);
	while (!ktb_worker_done(&w))
		read_all(self);
	ASSERT_EQ(0, ktb_event_get(&self->nl, s.id, e.id, &e));
	read_all(self);
	EXPECT_EQ(20000, ktb_ledger_own(&e.sum));
	EXPECT_EQ(20000, e.sum.written + ktb_ledger_lost(&e.sum));
	EXPECT_EQ(e.sum.written, self->cpu[w.cpu].by_magic[0]);
	check_books(_metadata, self, s.id, &e, 1);
	ktb_worker_finish(&w);
}

/* A ring of one page, nobody reads: the oldest stay, the rest is counted. */
TEST_F_TIMEOUT(ledger, one_page_no_reader, 60)
{
	struct ktb_worker w = {
		.cpu = self->ncpus - 1, .work = ktb_work_syscalls, .magic = MAGIC, .count = 500,
	};
	struct ktb_session s;
	struct ktb_event e;
	int fd;

	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_one_page", 0, 4096, &s));
	ASSERT_EQ(0, ktb_worker_start(&w));
	ASSERT_EQ(0, ktb_event_attach(&self->nl, s.id, ENTER, w.tid, &e));
	expect_event(self, e.id);
	ktb_worker_go(&w);
	ASSERT_TRUE(ktb_worker_wait(&w));
	ASSERT_EQ(0, ktb_event_get(&self->nl, s.id, e.id, &e));
	EXPECT_EQ(500, ktb_ledger_own(&e.sum));
	EXPECT_LT(0, e.sum.written);
	EXPECT_LT(0, e.sum.lost_full);
	EXPECT_EQ(500, e.sum.written + e.sum.lost_full);
	EXPECT_EQ(0, e.sum.lost_big);
	EXPECT_EQ(0, e.sum.lost_recursion);

	fd = ktb_dev_open_bind(s.id, -1);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, map_all(self, fd));
	read_all(self);
	/* Nothing came after the loss: it is in the control page, not stated yet. */
	EXPECT_EQ(0, self->cpu[w.cpu].walk.lost_records);
	EXPECT_EQ(e.sum.lost_full, self->cpu[w.cpu].ring.page->lost);
	EXPECT_LT(4096 - 512, self->cpu[w.cpu].walk.bytes);
	check_books(_metadata, self, s.id, &e, 1);

	/* What comes next is preceded by how much was lost. */
	w.count = 10;
	ktb_worker_go(&w);
	ASSERT_TRUE(ktb_worker_wait(&w));
	ASSERT_EQ(0, ktb_event_get(&self->nl, s.id, e.id, &e));
	read_all(self);
	EXPECT_EQ(1, self->cpu[w.cpu].walk.lost_records);
	EXPECT_EQ(e.sum.lost_full, self->cpu[w.cpu].walk.lost);
	EXPECT_EQ(510, ktb_ledger_own(&e.sum));
	check_books(_metadata, self, s.id, &e, 1);
	ktb_worker_finish(&w);
}

/*
 * Two threads on each CPU, all system calls of the machine traced, a reader on
 * all rings at once.
 */
static void threads_on_every_cpu(struct __test_metadata *_metadata,
				 FIXTURE_DATA(ledger) *self, __u64 ring_size, bool read_along,
				 bool lossless)
{
	struct ktb_worker w[MAX_WORKERS] = {};
	int nworkers = 2 * self->ncpus, done, fd;
	struct ktb_session s;
	struct ktb_event e;

	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_threads", 0, ring_size, &s));
	fd = ktb_dev_open_bind(s.id, -1);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, map_all(self, fd));
	for (int i = 0; i < nworkers; i++) {
		w[i].cpu = i % self->ncpus;
		w[i].work = ktb_work_syscalls;
		w[i].magic = MAGIC + i;
		w[i].count = 1000 + i;
		ASSERT_EQ(0, ktb_worker_start(&w[i]));
	}
	ASSERT_EQ(0, ktb_event_attach(&self->nl, s.id, ENTER, 0, &e));
	expect_event(self, e.id);
	for (int i = 0; i < nworkers; i++)
		ktb_worker_go(&w[i]);
	do {
		done = 0;
		for (int i = 0; i < nworkers; i++)
			done += ktb_worker_done(&w[i]);
		if (read_along)
			read_all(self);
	} while (done < nworkers);
	ASSERT_EQ(0, ktb_event_enable(&self->nl, s.id, e.id, false));
	ASSERT_EQ(0, ktb_event_get(&self->nl, s.id, e.id, &e));
	read_all(self);
	check_books(_metadata, self, s.id, &e, 1);
	EXPECT_EQ(0, e.sum.filtered);
	for (int i = 0; i < nworkers; i++) {
		if (lossless) {
			EXPECT_EQ(w[i].count, self->cpu[w[i].cpu].by_magic[i]);
		} else {
			EXPECT_GE(w[i].count, self->cpu[w[i].cpu].by_magic[i]);
		}
	}
	if (lossless) {
		EXPECT_EQ(0, ktb_ledger_lost(&e.sum));
	} else {
		EXPECT_LT(0, e.sum.lost_full);
	}
	for (int i = 0; i < nworkers; i++)
		ktb_worker_finish(&w[i]);
}

TEST_F_TIMEOUT(ledger, threads_on_every_cpu, 60)
{
	threads_on_every_cpu(_metadata, self, 1 << 20, true, true);
}

TEST_F_TIMEOUT(ledger, threads_on_every_cpu_one_page, 60)
{
	threads_on_every_cpu(_metadata, self, 4096, false, false);
}

/*
 * A thread for each CPU, a session for each thread: each session's books have
 * that thread's hits, on its CPU, and no other.
 */
TEST_F_TIMEOUT(ledger, session_for_each_thread, 60)
{
	struct ktb_worker w[KTB_MAX_CPUS] = {};
	struct ktb_session s[KTB_MAX_CPUS];
	struct ktb_event e[KTB_MAX_CPUS];
	char name[16];

	for (int i = 0; i < self->ncpus; i++) {
		snprintf(name, sizeof(name), "t_cpu%d", i);
		ASSERT_EQ(0, ktb_session_new(&self->nl, name, 0, 4096, &s[i]));
		w[i].cpu = i;
		w[i].work = ktb_work_syscalls;
		w[i].count = 300 + i;
		ASSERT_EQ(0, ktb_worker_start(&w[i]));
		ASSERT_EQ(0, ktb_event_attach(&self->nl, s[i].id, ENTER, w[i].tid, &e[i]));
	}
	for (int i = 0; i < self->ncpus; i++)
		ktb_worker_go(&w[i]);
	for (int i = 0; i < self->ncpus; i++) {
		ASSERT_TRUE(ktb_worker_wait(&w[i]));
	}
	for (int i = 0; i < self->ncpus; i++) {
		const struct ktb_ledger *l;

		ASSERT_EQ(0, ktb_event_enable(&self->nl, s[i].id, e[i].id, false));
		ASSERT_EQ(0, ktb_event_get(&self->nl, s[i].id, e[i].id, &e[i]));
		EXPECT_EQ(w[i].count, ktb_ledger_own(&e[i].sum));
		EXPECT_LEDGER(&e[i].sum);
		l = cpu_ledger(&e[i], i);
		EXPECT_EQ(w[i].count, l->written + l->lost_full);
		EXPECT_EQ(e[i].sum.written, l->written);
		ktb_worker_finish(&w[i]);
	}
}

static bool is_over(const struct ktb_ball *ball)
{
	return __atomic_load_n(&ball->over, __ATOMIC_ACQUIRE);
}

/*
 * The switches of a thread, as the scheduler itself counts them, from a moment
 * when it sleeps to another: its event's hits, no more and no less.
 */
static void count_switches(struct __test_metadata *_metadata, FIXTURE_DATA(ledger) *self,
			   __u64 ring_size)
{
	int there[2], back[2], end[2], fd;
	__u64 before, after = 0, again;
	struct ktb_session s;
	struct ktb_event e;

	ASSERT_EQ(0, pipe(there));
	ASSERT_EQ(0, pipe(back));
	ASSERT_EQ(0, pipe(end));
	struct ktb_ball ping_ball = {
		.in = back[0], .out = there[1], .end = end[0], .serves = true,
	};
	struct ktb_ball pong_ball = { .in = there[0], .out = back[1], .end = end[0] };
	struct ktb_worker ping = {
		.cpu = self->ncpus - 1, .work = ktb_work_ping_pong, .count = 300,
		.arg = &ping_ball,
	};
	struct ktb_worker pong = {
		.cpu = self->ncpus - 1, .work = ktb_work_ping_pong, .count = 300,
		.arg = &pong_ball,
	};

	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_switches", 0, ring_size, &s));
	ASSERT_EQ(0, ktb_worker_start(&ping));
	ASSERT_EQ(0, ktb_worker_start(&pong));
	ktb_worker_go(&pong);
	/* On its CPU too, so that a thread that sleeps has left it. */
	ASSERT_EQ(0, ktb_pin(pong.cpu));
	ASSERT_TRUE(ktb_wait_for(ktb_thread_state(pong.tid, &before) == 'S', 10));
	ASSERT_EQ(0, ktb_event_attach(&self->nl, s.id, SWITCH, pong.tid, &e));
	ASSERT_EQ('S', ktb_thread_state(pong.tid, &again));
	ASSERT_EQ(before, again);
	expect_event(self, e.id);
	ktb_worker_go(&ping);
	/* Until both sleep at their end: in the game they sleep too. */
	ASSERT_TRUE(ktb_wait_for(is_over(&ping_ball) && is_over(&pong_ball) &&
				 ktb_thread_state(ping.tid, &again) == 'S' &&
				 ktb_thread_state(pong.tid, &after) == 'S' &&
				 after >= before + 200 &&
				 ktb_thread_state(pong.tid, &again) == 'S' &&
				 again == after &&
				 !ktb_event_get(&self->nl, s.id, e.id, &e) &&
				 ktb_ledger_own(&e.sum) == after - before, 15))
		TH_LOG("%llu switches, %llu hits", after - before, ktb_ledger_own(&e.sum));
	ASSERT_EQ(0, ktb_event_enable(&self->nl, s.id, e.id, false));
	ASSERT_EQ(0, ktb_event_get(&self->nl, s.id, e.id, &e));
	EXPECT_EQ(after - before, ktb_ledger_own(&e.sum));
	fd = ktb_dev_open_bind(s.id, -1);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, map_all(self, fd));
	read_all(self);
	check_books(_metadata, self, s.id, &e, 1);
	close(end[1]);
	ASSERT_TRUE(ktb_worker_wait(&ping));
	ASSERT_TRUE(ktb_worker_wait(&pong));
	ktb_worker_finish(&ping);
	ktb_worker_finish(&pong);
}

TEST_F_TIMEOUT(ledger, switches, 60)
{
	count_switches(_metadata, self, 1 << 20);
}

TEST_F_TIMEOUT(ledger, switches_one_page, 60)
{
	count_switches(_metadata, self, 4096);
}

/*
 * Events that nest in each other, task, softirq and hardirq, in one ring per
 * CPU: that of one page overflows, the other wraps under its reader.
 */
static const char * const nesting[] = {
	ENTER, "raw_syscalls:sys_exit", SWITCH, "sched:sched_wakeup", "sched:sched_waking",
	"irq:softirq_entry", "irq:softirq_exit", "irq:softirq_raise",
	"timer:hrtimer_expire_entry", "timer:hrtimer_expire_exit",
};

static void nested_events(struct __test_metadata *_metadata, FIXTURE_DATA(ledger) *self,
			  __u64 ring_size, bool read_along)
{
	struct ktb_worker w[KTB_MAX_CPUS] = {};
	struct ktb_event e[ARRAY_SIZE(nesting)];
	struct ktb_session s;
	int fd, done;

	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_nesting", 0, ring_size, &s));
	fd = ktb_dev_open_bind(s.id, -1);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, map_all(self, fd));
	for (size_t i = 0; i < ARRAY_SIZE(nesting); i++) {
		ASSERT_EQ(0, ktb_event_attach(&self->nl, s.id, nesting[i], 0, &e[i]))
			TH_LOG("%s: %s", nesting[i], self->nl.text);
		expect_event(self, e[i].id);
	}
	for (int i = 0; i < self->ncpus; i++) {
		w[i].cpu = i;
		w[i].work = ktb_work_syscalls;
		w[i].magic = MAGIC + i;
		w[i].count = 5000;
		ASSERT_EQ(0, ktb_worker_start(&w[i]));
		ktb_worker_go(&w[i]);
	}
	do {
		done = 0;
		for (int i = 0; i < self->ncpus; i++)
			done += ktb_worker_done(&w[i]);
		if (read_along)
			read_all(self);
	} while (done < self->ncpus);
	for (int i = 0; i < self->ncpus; i++)
		ktb_worker_finish(&w[i]);
	/* All at once: what one event loses, the next one's record states. */
	ASSERT_EQ(0, ktb_session_enable(&self->nl, s.id, false));
	for (size_t i = 0; i < ARRAY_SIZE(nesting); i++) {
		ASSERT_EQ(0, ktb_event_get(&self->nl, s.id, e[i].id, &e[i]));
	}
	read_all(self);
	check_books(_metadata, self, s.id, e, ARRAY_SIZE(nesting));
	EXPECT_LE(5000 * self->ncpus, e[0].sum.hits);
	EXPECT_LT(0, e[2].sum.hits);
}

TEST_F_TIMEOUT(ledger, nested_events, 60)
{
	nested_events(_metadata, self, 16 * 4096, true);
}

TEST_F_TIMEOUT(ledger, nested_events_one_page, 60)
{
	nested_events(_metadata, self, 4096, false);
}

/* All switches of the machine: the ledger that detaching returns is final. */
TEST_F_TIMEOUT(ledger, last_ledger, 60)
{
	struct ktb_worker w = {
		.cpu = 0, .work = ktb_work_syscalls, .count = 2000, .magic = MAGIC,
	};
	struct ktb_session s;
	struct ktb_event e;
	__u64 samples = 0, lost = 0;
	int fd;

	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_last", 0, 8192, &s));
	fd = ktb_dev_open_bind(s.id, -1);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, map_all(self, fd));
	ASSERT_EQ(0, ktb_worker_start(&w));
	ktb_worker_go(&w);
	/* While it is being hit, attached and detached again. */
	for (int round = 0; round < 10; round++) {
		struct ktb_event last;

		ASSERT_EQ(0, ktb_event_attach(&self->nl, s.id, ENTER, 0, &e));
		expect_event(self, e.id);
		ASSERT_EQ(0, ktb_event_detach(&self->nl, s.id, e.id, &last));
		EXPECT_EQ(e.id, last.id);
		EXPECT_LEDGER(&last.sum);
		read_all(self);
		samples = 0;
		for (int i = 0; i < self->ncpus; i++)
			samples += self->cpu[i].samples[round];
		EXPECT_EQ(last.sum.written, samples);
		lost += ktb_ledger_lost(&last.sum);
	}
	samples = 0;
	for (int i = 0; i < self->ncpus; i++) {
		EXPECT_EQ(0, self->cpu[i].walk.malformed);
		samples += self->cpu[i].ring.page->lost;
	}
	EXPECT_EQ(lost, samples);
	ASSERT_TRUE(ktb_worker_wait(&w));
	ktb_worker_finish(&w);
}

/* A record longer than half a ring is lost, counted as such, and stated. */
TEST_F(ledger, too_big)
{
	char path[2600] = "/bin/";
	struct ktb_session s;
	struct ktb_event e;
	int fd, go[2];
	char c;

	if (access("/bin/busybox", X_OK))
		SKIP(return, "no /bin/busybox to execute");
	while (strlen(path) + 10 < sizeof(path))
		strcat(path, "./");
	strcat(path, "busybox");
	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_big", 0, 4096, &s));
	ASSERT_EQ(0, ktb_pin(0));
	ASSERT_EQ(0, ktb_event_attach(&self->nl, s.id, EXEC, 0, &e));
	expect_event(self, e.id);
	for (int i = 0; i < 2; i++) {
		pid_t pid;

		ASSERT_EQ(0, pipe(go));
		pid = fork();
		if (!pid) {
			if (read(go[0], &c, 1) == 1)
				execl(i ? "/bin/busybox" : path, "true", NULL);
			_exit(1);
		}
		ASSERT_EQ(1, write(go[1], "", 1));
		EXPECT_EQ(0, ktb_reap(pid));
	}
	ASSERT_EQ(0, ktb_event_enable(&self->nl, s.id, e.id, false));
	ASSERT_EQ(0, ktb_event_get(&self->nl, s.id, e.id, &e));
	EXPECT_EQ(1, e.sum.lost_big);
	EXPECT_EQ(0, e.sum.lost_full);
	EXPECT_LE(1, e.sum.written);
	fd = ktb_dev_open_bind(s.id, -1);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, map_all(self, fd));
	read_all(self);
	EXPECT_EQ(1, self->cpu[0].walk.lost);
	EXPECT_EQ(1, self->cpu[0].walk.lost_records);
	check_books(_metadata, self, s.id, &e, 1);
}

TEST_HARNESS_MAIN
