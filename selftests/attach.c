// SPDX-License-Identifier: GPL-2.0-only
/* Events: attached, counted, enabled, detached, and what there is to attach. */
#include "ktb_file.h"
#include "ktb_test.h"

#include <sys/stat.h>

#define ENTER	"raw_syscalls:sys_enter"
#define EXIT	"raw_syscalls:sys_exit"
#define SWITCH	"sched:sched_switch"

FIXTURE(attach)
{
	struct ktb_nl nl;
	struct ktb_session s;
};

FIXTURE_SETUP(attach)
{
	ASSERT_CONTROL(&self->nl);
	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_attach", 0, 65536, &self->s));
}

FIXTURE_TEARDOWN(attach)
{
	ktb_nl_close(&self->nl);
}

TEST_F(attach, attach_and_detach)
{
	struct ktb_format f;
	struct ktb_event e, got;
	struct ktb_session s;

	ASSERT_EQ(0, ktb_format_read(SWITCH, &f));
	ASSERT_EQ(0, ktb_event_attach(&self->nl, self->s.id, SWITCH, 0, &e));
	EXPECT_EQ(self->s.id, e.session);
	EXPECT_NE(0, e.id);
	EXPECT_STREQ(SWITCH, e.name);
	EXPECT_EQ(f.id, e.type);
	EXPECT_EQ(KTB_PATH_NATIVE, e.path);

	ASSERT_EQ(0, ktb_event_get(&self->nl, self->s.id, e.id, &got));
	EXPECT_EQ(e.id, got.id);
	EXPECT_STREQ(SWITCH, got.name);
	EXPECT_EQ(1, got.enabled);
	EXPECT_EQ(1, got.period);
	EXPECT_EQ(0, got.tid);

	ASSERT_EQ(0, ktb_session_get(&self->nl, self->s.id, &s));
	EXPECT_EQ(1, s.events);
	ASSERT_EQ(0, ktb_event_detach(&self->nl, self->s.id, e.id, &got));
	EXPECT_EQ(e.id, got.id);
	EXPECT_EQ(e.type, got.type);
	ASSERT_EQ(0, ktb_session_get(&self->nl, self->s.id, &s));
	EXPECT_EQ(0, s.events);
	EXPECT_REFUSED(&self->nl, ENOENT, "event",
		       ktb_event_detach(&self->nl, self->s.id, e.id, &got));
	EXPECT_EQ(0, ktb_event_count(&self->nl));
}

TEST_F(attach, unknown_event)
{
	EXPECT_REFUSED(&self->nl, ENOENT, "event",
		       ktb_event_attach(&self->nl, self->s.id, "sched:no_such_event", 0, NULL));
	EXPECT_REFUSED(&self->nl, ENOENT, "event",
		       ktb_event_attach(&self->nl, self->s.id, "no_such:sched_switch", 0, NULL));
	EXPECT_REFUSED(&self->nl, ENOENT, "event",
		       ktb_event_attach(&self->nl, self->s.id, "sched:sched_switc", 0, NULL));
	EXPECT_EQ(0, ktb_event_count(&self->nl));
}

/* Until perf got a probe for them, its error was the one of a CPU that is away. */
TEST_F(attach, synthetic_event)
{
	static const char event[] = "synthetic:ktb_made", file[] = KTB_TRACEFS "/synthetic_events";
	struct perf_event_attr attr;
	struct ktb_event e;
	int fd;

	if (access(file, W_OK))
		SKIP(return, "no synthetic events in this kernel");
	ASSERT_EQ(0, ktb_write_file(file, "ktb_made u64 x"));
	attr = ktb_perf_attr(PERF_TYPE_TRACEPOINT, ktb_tracepoint_id(event));
	fd = ktb_perf_open(&attr, -1, 0, -1, 0);
	if (fd < 0) {
		EXPECT_REFUSED(&self->nl, EOPNOTSUPP, "synthetic",
			       ktb_event_attach(&self->nl, self->s.id, event, 0, NULL));
	} else {
		close(fd);
		EXPECT_EQ(0, ktb_event_attach(&self->nl, self->s.id, event, 0, &e));
		EXPECT_EQ(KTB_PATH_PERF, e.path);
		EXPECT_EQ(0, ktb_event_detach(&self->nl, self->s.id, e.id, NULL));
	}
	attr.type = ktb_pmu_type();
	EXPECT_EQ(-EOPNOTSUPP, ktb_perf_open(&attr, -1, 0, -1, 0));
	EXPECT_EQ(-EOPNOTSUPP, ktb_perf_open(&attr, 0, -1, -1, 0));
	EXPECT_EQ(0, ktb_event_count(&self->nl));
	EXPECT_EQ(0, ktb_write_file(file, "!ktb_made u64 x"));
}

TEST_F(attach, already_attached)
{
	struct ktb_event e, again;

	ASSERT_EQ(0, ktb_event_attach(&self->nl, self->s.id, SWITCH, 0, &e));
	EXPECT_REFUSED(&self->nl, EEXIST, "attached",
		       ktb_event_attach(&self->nl, self->s.id, SWITCH, 0, &again));
	EXPECT_EQ(1, ktb_event_count(&self->nl));
	ASSERT_EQ(0, ktb_event_detach(&self->nl, self->s.id, e.id, NULL));
	ASSERT_EQ(0, ktb_event_attach(&self->nl, self->s.id, SWITCH, 0, &again));
	EXPECT_NE(e.id, again.id);
}

/* An event of one session is not to be had through another. */
TEST_F(attach, event_of_another_session)
{
	struct ktb_session other;
	struct ktb_event e;

	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_other", 0, 4096, &other));
	ASSERT_EQ(0, ktb_event_attach(&self->nl, self->s.id, SWITCH, 0, &e));
	EXPECT_REFUSED(&self->nl, ENOENT, "event",
		       ktb_event_detach(&self->nl, other.id, e.id, NULL));
	EXPECT_REFUSED(&self->nl, ENOENT, "event",
		       ktb_event_enable(&self->nl, other.id, e.id, false));
}

TEST_F(attach, session_del_detaches)
{
	ASSERT_EQ(0, ktb_event_attach(&self->nl, self->s.id, SWITCH, 0, NULL));
	ASSERT_EQ(0, ktb_event_attach(&self->nl, self->s.id, ENTER, 0, NULL));
	ASSERT_EQ(0, ktb_session_del(&self->nl, self->s.id));
	EXPECT_EQ(0, ktb_event_count(&self->nl));
}

/* Work between enabling and disabling is counted, and nothing else is. */
TEST_F(attach, enable_counts)
{
	struct ktb_worker w = { .cpu = 0, .work = ktb_work_syscalls };
	struct ktb_event e;
	__u64 expected = 0;

	ASSERT_EQ(0, ktb_worker_start(&w));
	ASSERT_EQ(0, ktb_event_attach(&self->nl, self->s.id, ENTER, w.tid, &e));
	for (int round = 0; round < 6; round++) {
		bool on = round % 2;
		__u64 before;

		ASSERT_EQ(0, ktb_event_enable(&self->nl, self->s.id, e.id, on));
		ASSERT_EQ(0, ktb_event_get(&self->nl, self->s.id, e.id, &e));
		before = e.sum.hits;
		EXPECT_EQ(on, e.enabled);
		w.count = 10 + round;
		ktb_worker_go(&w);
		ASSERT_TRUE(ktb_worker_wait(&w));
		expected += on ? w.count : 0;
		ASSERT_EQ(0, ktb_event_get(&self->nl, self->s.id, e.id, &e));
		EXPECT_EQ(expected, ktb_ledger_own(&e.sum));
		EXPECT_EQ(expected, e.sum.written);
		EXPECT_LEDGER(&e.sum);
		/* Disabled, the ledger stands still. */
		if (!on) {
			EXPECT_EQ(before, e.sum.hits);
		}
	}
	ktb_worker_finish(&w);
}

/* Attached disabled, it starts to count when event-set says so. */
TEST_F(attach, attached_disabled)
{
	struct ktb_worker w = { .cpu = 0, .work = ktb_work_syscalls, .count = 5 };
	struct ktb_event e;
	struct ktb_msg m;

	ASSERT_EQ(0, ktb_worker_start(&w));
	ktb_msg_init(&self->nl, &m, KTB_CMD_EVENT_ATTACH, 0);
	ktb_put_u32(&m, KTB_A_EVENT_SESSION_ID, self->s.id);
	ktb_put_str(&m, KTB_A_EVENT_NAME, ENTER);
	ktb_put_u32(&m, KTB_A_EVENT_TID, w.tid);
	ktb_put_u8(&m, KTB_A_EVENT_ENABLED, 0);
	ASSERT_EQ(0, ktb_nl_do(&self->nl, &m, NULL, NULL));
	ktb_worker_go(&w);
	ASSERT_TRUE(ktb_worker_wait(&w));

	ktb_msg_init(&self->nl, &m, KTB_CMD_EVENT_SET, 0);
	ktb_put_u32(&m, KTB_A_EVENT_SESSION_ID, self->s.id);
	ktb_put_str(&m, KTB_A_EVENT_NAME, ENTER);
	ktb_put_u8(&m, KTB_A_EVENT_ENABLED, 1);
	ASSERT_EQ(0, ktb_nl_do(&self->nl, &m, NULL, NULL));
	ktb_worker_go(&w);
	ASSERT_TRUE(ktb_worker_wait(&w));
	ASSERT_EQ(0, ktb_event_find(&self->nl, self->s.id, ENTER, &e));
	ASSERT_EQ(0, ktb_event_detach(&self->nl, self->s.id, e.id, &e));
	EXPECT_EQ(5, ktb_ledger_own(&e.sum));
	EXPECT_EQ(5, e.sum.written);
	ktb_worker_finish(&w);
}

/* Every 4th hit makes a record, which says so. */
TEST_F(attach, period)
{
	struct ktb_worker w = { .cpu = 0, .work = ktb_work_syscalls, .count = 100 };
	struct ktb_event e;
	struct ktb_msg m;
	int error;

	ASSERT_EQ(0, ktb_worker_start(&w));
	ktb_msg_init(&self->nl, &m, KTB_CMD_EVENT_ATTACH, 0);
	ktb_put_u32(&m, KTB_A_EVENT_SESSION_ID, self->s.id);
	ktb_put_str(&m, KTB_A_EVENT_NAME, ENTER);
	ktb_put_u32(&m, KTB_A_EVENT_TID, w.tid);
	ktb_put_u64(&m, KTB_A_EVENT_PERIOD, 4);
	error = ktb_nl_do(&self->nl, &m, NULL, NULL);
	ASSERT_EQ(0, error);
	ktb_worker_go(&w);
	ASSERT_TRUE(ktb_worker_wait(&w));
	ASSERT_EQ(0, ktb_event_find(&self->nl, self->s.id, ENTER, &e));
	EXPECT_EQ(4, e.period);
	EXPECT_EQ(100, ktb_ledger_own(&e.sum));
	EXPECT_EQ(25, e.sum.written);
	EXPECT_EQ(75, e.sum.not_sampled);
	EXPECT_LEDGER(&e.sum);
	ktb_worker_finish(&w);
}

/*
 * Three sessions on one tracepoint: what one attaches, disables or detaches
 * does not show in the others' counts.
 */
TEST_F(attach, sessions_are_independent)
{
	struct ktb_worker w = { .cpu = 0, .work = ktb_work_syscalls, .count = 100 };
	struct ktb_session other, off;
	struct ktb_event mine, theirs, none;

	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_other", 0, 65536, &other));
	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_off", 0, 65536, &off));
	ASSERT_EQ(0, ktb_worker_start(&w));
	ASSERT_EQ(0, ktb_event_attach(&self->nl, self->s.id, ENTER, w.tid, &mine));
	ASSERT_EQ(0, ktb_event_attach(&self->nl, other.id, ENTER, w.tid, &theirs));
	ASSERT_EQ(0, ktb_event_attach(&self->nl, off.id, ENTER, w.tid, &none));
	EXPECT_NE(mine.id, theirs.id);
	EXPECT_EQ(mine.type, theirs.type);
	ASSERT_EQ(0, ktb_session_enable(&self->nl, off.id, false));
	ktb_worker_go(&w);
	ASSERT_TRUE(ktb_worker_wait(&w));

	ASSERT_EQ(0, ktb_event_detach(&self->nl, self->s.id, mine.id, &mine));
	EXPECT_EQ(100, ktb_ledger_own(&mine.sum));
	EXPECT_EQ(100, mine.sum.written);
	EXPECT_LEDGER(&mine.sum);
	ASSERT_EQ(0, ktb_event_get(&self->nl, other.id, theirs.id, &theirs));
	EXPECT_EQ(100, ktb_ledger_own(&theirs.sum));
	EXPECT_EQ(100, theirs.sum.written);
	EXPECT_LEDGER(&theirs.sum);
	ASSERT_EQ(0, ktb_event_get(&self->nl, off.id, none.id, &none));
	EXPECT_EQ(0, none.sum.written);
	ktb_worker_finish(&w);
}

TEST_F(attach, only_the_given_thread)
{
	struct ktb_worker a = { .cpu = 0, .work = ktb_work_syscalls, .count = 30 };
	struct ktb_worker b = { .cpu = 0, .work = ktb_work_syscalls, .count = 50 };
	struct ktb_event e;

	ASSERT_EQ(0, ktb_worker_start(&a));
	ASSERT_EQ(0, ktb_worker_start(&b));
	ASSERT_EQ(0, ktb_event_attach(&self->nl, self->s.id, ENTER, a.tid, &e));
	ktb_worker_go(&b);
	ASSERT_TRUE(ktb_worker_wait(&b));
	ASSERT_EQ(0, ktb_event_get(&self->nl, self->s.id, e.id, &e));
	EXPECT_EQ(a.tid, e.tid);
	EXPECT_EQ(0, ktb_ledger_own(&e.sum));
	ktb_worker_go(&a);
	ASSERT_TRUE(ktb_worker_wait(&a));
	ASSERT_EQ(0, ktb_event_detach(&self->nl, self->s.id, e.id, &e));
	EXPECT_EQ(30, ktb_ledger_own(&e.sum));
	EXPECT_EQ(30, e.sum.written);
	ktb_worker_finish(&a);
	ktb_worker_finish(&b);
}

/* Threads may end while traced, and their numbers come again. */
TEST_F(attach, thread_that_ends)
{
	struct ktb_event e;
	pid_t pid = fork();

	if (!pid) {
		pause();
		_exit(0);
	}
	ASSERT_EQ(0, ktb_event_attach(&self->nl, self->s.id, ENTER, pid, &e));
	kill(pid, SIGKILL);
	ktb_reap(pid);
	EXPECT_EQ(0, ktb_event_get(&self->nl, self->s.id, e.id, &e));
	EXPECT_LEDGER(&e.sum);
	EXPECT_EQ(0, ktb_event_detach(&self->nl, self->s.id, e.id, &e));
}

static struct ktb_sources sources;

static bool has_system(const char *system)
{
	size_t len = strlen(system);

	for (int i = 0; i < sources.count; i++)
		if (!strncmp(sources.list[i].name, system, len) &&
		    sources.list[i].name[len] == ':')
			return true;
	return false;
}

/* Systems that every kernel has, and that have native probes. */
static const char * const systems[] = {
	"block", "cgroup", "cpuhp", "filemap", "io_uring", "irq", "kmem", "module", "napi",
	"net", "oom", "power", "raw_syscalls", "rcu", "sched", "signal", "skb", "sock",
	"task", "tcp", "timer", "udp", "vmscan", "workqueue", "writeback",
};

TEST_F(attach, source_dump)
{
	const struct ktb_source *s;

	ASSERT_EQ(0, ktb_sources_get(&self->nl, &sources));
	EXPECT_LT(300, sources.count);
	for (size_t i = 0; i < ARRAY_SIZE(systems); i++) {
		EXPECT_TRUE(has_system(systems[i]))
			TH_LOG("no source of %s", systems[i]);
	}
	s = ktb_source_find(&sources, SWITCH);
	ASSERT_NE(NULL, s);
	EXPECT_EQ(KTB_PATH_NATIVE, s->path);
}

TEST_HARNESS_MAIN
