// SPDX-License-Identifier: GPL-2.0-only
/*
 * How many sessions and events there can be, and what enabling and disabling
 * either does.
 */
#include "ktb_test.h"

#include <stdio.h>

#define SESSIONS	64
#define EVENTS		1024

FIXTURE(life)
{
	struct ktb_nl nl;
};

FIXTURE_SETUP(life)
{
	ASSERT_CONTROL(&self->nl);
}

FIXTURE_TEARDOWN(life)
{
	ktb_nl_close(&self->nl);
}

/* ---- limits ---- */

TEST_F(life, sessions)
{
	struct ktb_session s;
	char name[16];

	for (int i = 0; i < SESSIONS; i++) {
		snprintf(name, sizeof(name), "t_%d", i);
		ASSERT_EQ(0, ktb_session_new(&self->nl, name, 0, 4096, &s))
			TH_LOG("session %d: %s", i, self->nl.text);
	}
	EXPECT_REFUSED(&self->nl, ENOSPC, "64",
		       ktb_session_new(&self->nl, "t_more", 0, 4096, &s));
	ASSERT_EQ(0, ktb_session_find(&self->nl, "t_17", &s));
	ASSERT_EQ(0, ktb_session_del(&self->nl, s.id));
	EXPECT_EQ(0, ktb_session_new(&self->nl, "t_again", 0, 4096, &s));
}

/*
 * As many events as a session takes; the next is refused, and there is room again
 * for it when one has gone. All of them go in one go: in 2 s, as bench/guest-detach
 * measures it, but here other machines may run.
 */
TEST_F_TIMEOUT(life, events, 120)
{
	FILE *names = fopen(KTB_TRACEFS "/available_events", "r");
	struct ktb_session s;
	struct ktb_event e;
	static __u64 ids[EVENTS];
	int attached = 0, error = 0;
	char name[128];
	__u64 begin;

	ASSERT_NE(NULL, names);
	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_events", KTB_SESSION_COUNT_ONLY, 0, &s));
	while (!error && fgets(name, sizeof(name), names)) {
		name[strcspn(name, "\n")] = 0;
		error = ktb_event_attach(&self->nl, s.id, name, 0, &e);
		if (!error)
			ids[attached++] = e.id;
		/* Some events perf lets nobody sample. */
		if (error == -EPERM)
			error = 0;
		ASSERT_TRUE(!error || error == -ENOSPC)
			TH_LOG("%s: %s", name, self->nl.text);
	}
	fclose(names);
	EXPECT_EQ(EVENTS, attached);
	EXPECT_REFUSED(&self->nl, ENOSPC, "1024",
		       ktb_event_attach(&self->nl, s.id, name, 0, NULL));
	ASSERT_EQ(0, ktb_event_detach(&self->nl, s.id, e.id, NULL));
	EXPECT_EQ(0, ktb_event_attach(&self->nl, s.id, name, 0, &e));
	EXPECT_EQ(EVENTS, ktb_event_count(&self->nl));
	ids[attached - 1] = e.id;
	begin = ktb_now();
	ASSERT_EQ(0, ktb_events_detach(&self->nl, s.id, ids, attached));
	EXPECT_GT(10000000000ULL * ktb_timeout_scale(), ktb_now() - begin);
	EXPECT_EQ(0, ktb_event_count(&self->nl));
}

/* Several in one request, all of them or none. */
TEST_F(life, several_events_at_once)
{
	static const char *const names[] = {
		"sched:sched_switch", "syscalls:sys_enter_getppid", "raw_syscalls:sys_enter",
	};
	struct ktb_event e[3], now;
	struct ktb_session s;
	__u64 ids[4];

	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_several", 0, 1 << 20, &s));
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(0, ktb_event_attach(&self->nl, s.id, names[i], 0, &e[i]));
		ids[i] = e[i].id;
	}
	ids[3] = e[2].id + 1;
	EXPECT_REFUSED(&self->nl, ENOENT, "no such event",
		       ktb_events_detach(&self->nl, s.id, ids, 4));
	EXPECT_REFUSED(&self->nl, ENOENT, "no such event",
		       ktb_events_enable(&self->nl, s.id, ids, 4, false));
	EXPECT_EQ(3, ktb_event_count(&self->nl));

	/* One of them is named twice. */
	ids[3] = ids[2];
	ASSERT_EQ(0, ktb_events_enable(&self->nl, s.id, ids + 1, 3, false));
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(0, ktb_event_get(&self->nl, s.id, ids[i], &now));
		EXPECT_EQ(i == 0, now.enabled);
	}
	/* Their ledgers stand still. */
	ASSERT_EQ(0, ktb_event_get(&self->nl, s.id, ids[2], &e[2]));
	for (int i = 0; i < 100; i++)
		syscall(SYS_getppid);
	ASSERT_EQ(0, ktb_event_get(&self->nl, s.id, ids[2], &now));
	EXPECT_EQ(e[2].sum.hits, now.sum.hits);
	EXPECT_LEDGER(&now.sum);

	ASSERT_EQ(0, ktb_events_detach(&self->nl, s.id, ids + 1, 3));
	EXPECT_EQ(1, ktb_event_count(&self->nl));
	EXPECT_EQ(0, ktb_event_get(&self->nl, s.id, ids[0], &now));
}

/* ---- enabled, disabled ---- */

FIXTURE(switches)
{
	struct ktb_nl nl;
	struct ktb_session s;
	struct ktb_event e;
	struct ktb_worker w;
};

FIXTURE_VARIANT(switches)
{
	const char *event;
};

FIXTURE_VARIANT_ADD(switches, native)
{
	.event = "raw_syscalls:sys_enter",
};

FIXTURE_VARIANT_ADD(switches, perf)
{
	.event = "syscalls:sys_enter_getppid",
};

FIXTURE_SETUP(switches)
{
	ASSERT_CONTROL(&self->nl);
	self->w = (struct ktb_worker){ .cpu = 0, .work = ktb_work_syscalls };
	ASSERT_EQ(0, ktb_worker_start(&self->w));
	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_switches", 0, 1 << 20, &self->s));
}

FIXTURE_TEARDOWN(switches)
{
	ktb_worker_finish(&self->w);
	ktb_nl_close(&self->nl);
}

static void work(struct __test_metadata *_metadata, FIXTURE_DATA(switches) *self, __u64 count)
{
	self->w.count = count;
	ktb_worker_go(&self->w);
	ASSERT_TRUE(ktb_worker_wait(&self->w));
}

/* A hit counts where both are enabled; else not even the ledger moves. */
TEST_F(switches, of_session_and_event)
{
	__u64 expected = 0;

	ASSERT_EQ(0, ktb_event_attach(&self->nl, self->s.id, variant->event, self->w.tid,
				      &self->e));
	for (int state = 0; state < 12; state++) {
		bool session = state & 1, event = state & 2;
		__u64 count = 10 + state;

		ASSERT_EQ(0, ktb_session_enable(&self->nl, self->s.id, session));
		ASSERT_EQ(0, ktb_event_enable(&self->nl, self->s.id, self->e.id, event));
		work(_metadata, self, count);
		expected += session && event ? count : 0;
		ASSERT_EQ(0, ktb_event_get(&self->nl, self->s.id, self->e.id, &self->e));
		EXPECT_EQ(event, self->e.enabled);
		EXPECT_EQ(expected, ktb_ledger_own(&self->e.sum));
		EXPECT_EQ(expected, self->e.sum.written);
		EXPECT_LEDGER(&self->e.sum);
	}
}

/* Attached while the session runs, it counts from then on. */
TEST_F(switches, attached_to_a_running_session)
{
	struct ktb_event other;

	ASSERT_EQ(0, ktb_event_attach(&self->nl, self->s.id, "sched:sched_switch", 0, &other));
	work(_metadata, self, 10);
	ASSERT_EQ(0, ktb_event_attach(&self->nl, self->s.id, variant->event, self->w.tid,
				      &self->e));
	work(_metadata, self, 20);
	ASSERT_EQ(0, ktb_event_detach(&self->nl, self->s.id, self->e.id, &self->e));
	work(_metadata, self, 30);
	EXPECT_EQ(20, self->e.sum.written);
	EXPECT_LEDGER(&self->e.sum);
	/* The other goes on. */
	ASSERT_EQ(0, ktb_event_get(&self->nl, self->s.id, other.id, &other));
	EXPECT_EQ(1, other.enabled);
}

/* What one session does with an event does not show in another. */
TEST_F(switches, of_another_session)
{
	struct ktb_session other;
	struct ktb_event theirs;

	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_other", 0, 1 << 16, &other));
	ASSERT_EQ(0, ktb_event_attach(&self->nl, self->s.id, variant->event, self->w.tid,
				      &self->e));
	work(_metadata, self, 1);
	ASSERT_EQ(0, ktb_event_attach(&self->nl, other.id, variant->event, self->w.tid, &theirs));
	work(_metadata, self, 20);
	ASSERT_EQ(0, ktb_event_enable(&self->nl, other.id, theirs.id, false));
	work(_metadata, self, 300);
	ASSERT_EQ(0, ktb_session_enable(&self->nl, other.id, false));
	ASSERT_EQ(0, ktb_event_detach(&self->nl, other.id, theirs.id, &theirs));
	work(_metadata, self, 4000);
	ASSERT_EQ(0, ktb_event_get(&self->nl, self->s.id, self->e.id, &self->e));
	EXPECT_EQ(4321, self->e.sum.written);
	EXPECT_EQ(20, theirs.sum.written);
	EXPECT_LEDGER(&self->e.sum);
	EXPECT_LEDGER(&theirs.sum);
}

TEST_HARNESS_MAIN
