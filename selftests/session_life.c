// SPDX-License-Identifier: GPL-2.0-only
/* Sessions: made, seen, changed, gone, and who hears of it. */
#include "ktb_test.h"

#include <sys/socket.h>

#define EVENT		"sched:sched_switch"
#define MAX_SESSIONS	64

FIXTURE(life)
{
	struct ktb_nl nl;	/* looks on */
	struct ktb_nl owner;	/* makes the sessions */
};

FIXTURE_SETUP(life)
{
	ASSERT_CONTROL(&self->nl);
	ASSERT_EQ(0, ktb_nl_open(&self->owner));
	ASSERT_EQ(0, ktb_session_count(&self->nl));
}

FIXTURE_TEARDOWN(life)
{
	ktb_nl_close(&self->owner);
	ktb_session_sweep(&self->nl);
	ktb_nl_close(&self->nl);
}

TEST_F(life, new_and_get)
{
	struct ktb_session made, s;

	ASSERT_EQ(0, ktb_session_new(&self->owner, "t_a", 0, 65536, &made));
	EXPECT_NE(0, made.id);
	EXPECT_STREQ("t_a", made.name);
	EXPECT_EQ(0, made.flags);
	EXPECT_EQ(65536, made.ring_size);
	EXPECT_EQ(KTB_SAMPLE_TYPE, made.sample_type);

	ASSERT_EQ(0, ktb_session_get(&self->nl, made.id, &s));
	EXPECT_EQ(made.id, s.id);
	EXPECT_STREQ("t_a", s.name);
	EXPECT_EQ(0, s.flags);
	EXPECT_EQ(65536, s.ring_size);
	EXPECT_EQ(KTB_SAMPLE_TYPE, s.sample_type);
	EXPECT_EQ(1, s.enabled);
	EXPECT_EQ(0, s.events);
	EXPECT_EQ(getpid(), s.owner);
	EXPECT_EQ(0, s.nreaders);
	ASSERT_EQ(ktb_cpus(), s.nrings);
	for (int i = 0; i < s.nrings; i++) {
		EXPECT_EQ(i, s.ring[i].cpu);
		EXPECT_EQ(65536, s.ring[i].size);
		EXPECT_EQ(0, s.ring[i].head);
		EXPECT_EQ(0, s.ring[i].tail);
		EXPECT_EQ(0, s.ring[i].lost);
		EXPECT_EQ(1, s.ring[i].online);
	}

	ASSERT_EQ(0, ktb_session_find(&self->nl, "t_a", &s));
	EXPECT_EQ(made.id, s.id);
}

TEST_F(life, ids_are_not_reused)
{
	struct ktb_session a, b;

	ASSERT_EQ(0, ktb_session_new(&self->owner, "t_a", 0, 4096, &a));
	ASSERT_EQ(0, ktb_session_del(&self->owner, a.id));
	ASSERT_EQ(0, ktb_session_new(&self->owner, "t_a", 0, 4096, &b));
	EXPECT_NE(a.id, b.id);
	EXPECT_EQ(-ENOENT, ktb_session_get(&self->nl, a.id, &a));
}

TEST_F(life, default_ring_size)
{
	struct ktb_session s;

	ASSERT_EQ(0, ktb_session_new(&self->owner, "t_a", 0, 0, &s));
	EXPECT_LE(4096, s.ring_size);
	EXPECT_EQ(0, s.ring_size & (s.ring_size - 1));
}

TEST_F(life, ring_size_is_rounded_up)
{
	struct ktb_session s;

	ASSERT_EQ(0, ktb_session_new(&self->owner, "t_a", 0, 1, &s));
	EXPECT_EQ(4096, s.ring_size);
	ASSERT_EQ(0, ktb_session_new(&self->owner, "t_b", 0, 4097, &s));
	EXPECT_EQ(8192, s.ring_size);
	ASSERT_EQ(0, ktb_session_new(&self->owner, "t_c", 0, 3 * 4096, &s));
	EXPECT_EQ(4 * 4096, s.ring_size);
}

TEST_F(life, set)
{
	struct ktb_session s;
	struct ktb_msg m;

	ASSERT_EQ(0, ktb_session_new(&self->owner, "t_a", 0, 8192, &s));
	ASSERT_EQ(0, ktb_session_enable(&self->nl, s.id, false));
	ASSERT_EQ(0, ktb_session_get(&self->nl, s.id, &s));
	EXPECT_EQ(0, s.enabled);
	ASSERT_EQ(0, ktb_session_enable(&self->nl, s.id, true));

	ktb_msg_init(&self->nl, &m, KTB_CMD_SESSION_SET, 0);
	ktb_put_u32(&m, KTB_A_SESSION_ID, s.id);
	ktb_put_u32(&m, KTB_A_SESSION_WATERMARK, 2048);
	ASSERT_EQ(0, ktb_nl_do(&self->nl, &m, NULL, NULL));
	ASSERT_EQ(0, ktb_session_get(&self->nl, s.id, &s));
	EXPECT_EQ(1, s.enabled);
	EXPECT_EQ(2048, s.watermark);
}

/* Until session-set enables it, a session that starts disabled has no hits. */
TEST_F(life, starts_disabled)
{
	struct ktb_worker w = {
		.cpu = 0, .work = ktb_work_syscalls, .count = 10,
	};
	struct ktb_session s;
	struct ktb_event e;

	ASSERT_EQ(0, ktb_session_new(&self->owner, "t_a", KTB_SESSION_DISABLED, 65536, &s));
	ASSERT_EQ(0, ktb_session_get(&self->nl, s.id, &s));
	EXPECT_EQ(0, s.enabled);
	ASSERT_EQ(0, ktb_worker_start(&w));
	ASSERT_EQ(0, ktb_event_attach(&self->nl, s.id, "raw_syscalls:sys_enter", w.tid, &e));
	ktb_worker_go(&w);
	ASSERT_TRUE(ktb_worker_wait(&w));
	ASSERT_EQ(0, ktb_event_get(&self->nl, s.id, e.id, &e));
	EXPECT_EQ(0, e.sum.hits);

	ASSERT_EQ(0, ktb_session_enable(&self->nl, s.id, true));
	ktb_worker_go(&w);
	ASSERT_TRUE(ktb_worker_wait(&w));
	ASSERT_EQ(0, ktb_event_get(&self->nl, s.id, e.id, &e));
	EXPECT_EQ(10, ktb_ledger_own(&e.sum));
	EXPECT_EQ(10, e.sum.written);
	ktb_worker_finish(&w);
}

TEST_F(life, persistent_outlives_its_socket)
{
	struct ktb_session s;

	ASSERT_EQ(0, ktb_session_new(&self->owner, "t_a", KTB_SESSION_PERSISTENT, 4096, &s));
	ASSERT_EQ(0, ktb_event_attach(&self->owner, s.id, EVENT, 0, NULL));
	ktb_nl_close(&self->owner);
	ASSERT_EQ(0, ktb_session_get(&self->nl, s.id, &s));
	EXPECT_EQ(1, s.events);
	EXPECT_EQ(KTB_SESSION_PERSISTENT, s.flags);
	EXPECT_EQ(0, s.owner);
	EXPECT_EQ(0, ktb_session_del(&self->nl, s.id));
	EXPECT_EQ(0, ktb_session_count(&self->nl));
	EXPECT_EQ(0, ktb_event_count(&self->nl));
}

TEST_F(life, goes_with_its_socket)
{
	struct ktb_session s;

	ASSERT_EQ(0, ktb_session_new(&self->owner, "t_a", 0, 4096, &s));
	ASSERT_EQ(0, ktb_session_new(&self->owner, "t_b", 0, 4096, NULL));
	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_mine", 0, 4096, NULL));
	ASSERT_EQ(0, ktb_event_attach(&self->owner, s.id, EVENT, 0, NULL));
	ktb_nl_close(&self->owner);
	EXPECT_TRUE(ktb_wait_for(ktb_session_count(&self->nl) == 1, 10));
	EXPECT_EQ(0, ktb_event_count(&self->nl));
	EXPECT_EQ(0, ktb_session_find(&self->nl, "t_mine", &s));
}

/* A closed descriptor is not a closed socket while a child has it too. */
TEST_F(life, inherited_socket_keeps_it)
{
	struct ktb_session s;
	pid_t pid;

	ASSERT_EQ(0, ktb_session_new(&self->owner, "t_a", 0, 4096, &s));
	pid = fork();
	if (!pid) {
		pause();
		_exit(0);
	}
	ktb_nl_close(&self->owner);
	EXPECT_EQ(0, ktb_session_get(&self->nl, s.id, &s));
	kill(pid, SIGKILL);
	EXPECT_EQ(128 + SIGKILL, ktb_reap(pid));
	EXPECT_TRUE(ktb_wait_for(ktb_session_count(&self->nl) == 0, 10));
}

#define ROUNDS	300

static __u64 made[KTB_MAX_CPUS];

/* Opens a socket, whose port is the process's number if nobody has that. */
static void own_for_a_moment(struct ktb_worker *w)
{
	for (__u64 i = 0; i < w->count; i++) {
		struct ktb_session s;
		struct ktb_nl nl;

		if (ktb_nl_open(&nl))
			continue;
		if (!ktb_session_new(&nl, w->arg, KTB_SESSION_COUNT_ONLY, 0, &s)) {
			made[w->cpu]++;
			w->magic += ktb_session_get(&nl, s.id, &s) != 0;
		}
		ktb_nl_close(&nl);
	}
}

/* Who has the port of one that closes keeps what is his. */
TEST_F_TIMEOUT(life, port_of_another, 60)
{
	struct ktb_worker w[2] = {};

	ktb_nl_close(&self->nl);
	ktb_nl_close(&self->owner);
	for (int i = 0; i < 2; i++) {
		w[i] = (struct ktb_worker) {
			.work = own_for_a_moment, .count = ROUNDS, .cpu = i % ktb_cpus(),
			.arg = i ? "t_one" : "t_another",
		};
		ASSERT_EQ(0, ktb_worker_start(&w[i]));
	}
	for (int i = 0; i < 2; i++)
		ktb_worker_go(&w[i]);
	for (int i = 0; i < 2; i++) {
		EXPECT_TRUE(ktb_wait_for(ktb_worker_done(&w[i]), 60));
		ktb_worker_finish(&w[i]);
		EXPECT_EQ(0, w[i].magic);
	}
	/* Now and then the one finds the other's session of the last round. */
	EXPECT_LT(ROUNDS, made[0] + made[1]);
	ASSERT_EQ(0, ktb_nl_open(&self->nl));
	ASSERT_EQ(0, ktb_nl_open(&self->owner));
}

TEST_F(life, goes_with_its_killed_owner)
{
	struct ktb_nl nl;
	struct ktb_session s;
	int ready[2];
	char c;
	pid_t pid;

	ASSERT_EQ(0, pipe(ready));
	pid = fork();
	if (!pid) {
		if (ktb_nl_open(&nl) || ktb_session_new(&nl, "t_killed", 0, 65536, &s) ||
		    ktb_event_attach(&nl, s.id, EVENT, 0, NULL) ||
		    ktb_event_attach(&nl, s.id, "raw_syscalls:sys_enter", 0, NULL) ||
		    write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			getppid();
	}
	close(ready[1]);
	ASSERT_EQ(1, read(ready[0], &c, 1));
	ASSERT_EQ(0, ktb_session_find(&self->nl, "t_killed", &s));
	EXPECT_EQ(pid, s.owner);
	EXPECT_EQ(2, s.events);
	kill(pid, SIGKILL);
	EXPECT_EQ(128 + SIGKILL, ktb_reap(pid));
	EXPECT_TRUE(ktb_wait_for(ktb_session_count(&self->nl) == 0, 10));
	EXPECT_EQ(0, ktb_event_count(&self->nl));
}

TEST_F(life, count_only)
{
	struct ktb_worker w = {
		.cpu = 0, .work = ktb_work_syscalls, .count = 10,
	};
	struct ktb_session s;
	struct ktb_event e;
	int error = ktb_session_new(&self->owner, "t_a", KTB_SESSION_COUNT_ONLY, 0, &s);

	if (error == -EOPNOTSUPP)
		SKIP(return, "the module says: %s", self->owner.text);
	ASSERT_EQ(0, error);
	ASSERT_EQ(0, ktb_session_get(&self->nl, s.id, &s));
	EXPECT_EQ(0, s.nrings);
	EXPECT_EQ(-ENODATA, ktb_dev_open_bind(s.id, -1));
	EXPECT_EQ(-ENODATA, ktb_dev_open_bind(s.id, 0));
	ASSERT_EQ(0, ktb_worker_start(&w));
	ASSERT_EQ(0, ktb_event_attach(&self->owner, s.id, "raw_syscalls:sys_enter", w.tid, &e));
	ktb_worker_go(&w);
	ASSERT_TRUE(ktb_worker_wait(&w));
	ASSERT_EQ(0, ktb_event_detach(&self->owner, s.id, e.id, &e));
	EXPECT_EQ(10, ktb_ledger_own(&e.sum));
	EXPECT_EQ(0, e.sum.written);
	EXPECT_LEDGER(&e.sum);
	ktb_worker_finish(&w);
}

/* Up to the limit, then a refusal that names it, and room again after one went. */
TEST_F(life, many)
{
	struct ktb_session s, last;
	char name[16];

	for (int i = 0; i < MAX_SESSIONS; i++) {
		sprintf(name, "t_%d", i);
		ASSERT_EQ(0, ktb_session_new(&self->owner, name, 0, 4096, &last))
			TH_LOG("session %d: %s", i, self->owner.text);
	}
	EXPECT_EQ(MAX_SESSIONS, ktb_session_count(&self->nl));
	EXPECT_GT(0, ktb_session_new(&self->owner, "t_one_more", 0, 4096, &s));
	EXPECT_TRUE(!!strstr(self->owner.text, "64"))
		TH_LOG("the limit is not in '%s'", self->owner.text);
	EXPECT_EQ(MAX_SESSIONS, ktb_session_count(&self->nl));
	ASSERT_EQ(0, ktb_session_del(&self->nl, last.id));
	EXPECT_EQ(0, ktb_session_new(&self->owner, "t_one_more", 0, 4096, &s));
	ktb_nl_close(&self->owner);
	EXPECT_TRUE(ktb_wait_for(ktb_session_count(&self->nl) == 0, 10));
}

TEST_F(life, notices)
{
	struct ktb_nl ear;
	struct ktb_session s;
	struct ktb_event e;
	struct ktb_notice n;

	ASSERT_EQ(0, ktb_listen(&ear));
	ASSERT_EQ(0, ktb_session_new(&self->owner, "t_heard", 0, 4096, &s));
	ASSERT_EQ(0, ktb_hear(&ear, KTB_CMD_SESSION_NEW_NTF, &n));
	EXPECT_EQ(s.id, n.session);
	EXPECT_STREQ("t_heard", n.name);

	ASSERT_EQ(0, ktb_event_attach(&self->owner, s.id, EVENT, 0, &e));
	ASSERT_EQ(0, ktb_hear(&ear, KTB_CMD_EVENT_ATTACH_NTF, &n));
	EXPECT_EQ(s.id, n.session);
	EXPECT_EQ(e.id, n.event);
	EXPECT_STREQ(EVENT, n.name);

	ASSERT_EQ(0, ktb_event_detach(&self->owner, s.id, e.id, NULL));
	ASSERT_EQ(0, ktb_hear(&ear, KTB_CMD_EVENT_DETACH_NTF, &n));
	EXPECT_EQ(s.id, n.session);
	EXPECT_EQ(e.id, n.event);

	ASSERT_EQ(0, ktb_session_del(&self->owner, s.id));
	ASSERT_EQ(0, ktb_hear(&ear, KTB_CMD_SESSION_DEL_NTF, &n));
	EXPECT_EQ(s.id, n.session);
	EXPECT_STREQ("t_heard", n.name);

	/* One that goes with its socket is heard of too. */
	ASSERT_EQ(0, ktb_session_new(&self->owner, "t_owned", 0, 4096, &s));
	ktb_nl_close(&self->owner);
	ASSERT_EQ(0, ktb_hear(&ear, KTB_CMD_SESSION_DEL_NTF, &n));
	EXPECT_EQ(s.id, n.session);
	ktb_nl_close(&ear);
}

/* The first record that a ring loses, and only that, makes a notice. */
TEST_F(life, notice_of_loss)
{
	struct ktb_worker w = {
		.cpu = ktb_cpus() - 1, .work = ktb_work_syscalls, .count = 200,
	};
	struct ktb_nl ear;
	struct ktb_session s;
	struct ktb_event e;
	struct ktb_notice n;

	ASSERT_EQ(0, ktb_listen(&ear));
	ASSERT_EQ(0, ktb_session_new(&self->owner, "t_a", 0, 4096, &s));
	ASSERT_EQ(0, ktb_worker_start(&w));
	ASSERT_EQ(0, ktb_event_attach(&self->owner, s.id, "raw_syscalls:sys_enter", w.tid, &e));
	ktb_worker_go(&w);
	ASSERT_TRUE(ktb_worker_wait(&w));
	ASSERT_EQ(0, ktb_hear(&ear, KTB_CMD_LOST_NTF, &n));
	EXPECT_EQ(s.id, n.session);
	EXPECT_EQ(w.cpu, n.cpu);
	ASSERT_EQ(0, ktb_event_detach(&self->owner, s.id, e.id, &e));
	EXPECT_LT(1, e.sum.lost_full);
	ASSERT_EQ(0, ktb_hear(&ear, KTB_CMD_EVENT_DETACH_NTF, &n));
	ASSERT_EQ(0, ktb_session_del(&self->owner, s.id));
	ASSERT_EQ(0, ktb_hear(&ear, 0, &n));
	EXPECT_EQ(KTB_CMD_SESSION_DEL_NTF, n.cmd);
	ktb_worker_finish(&w);
}

TEST_HARNESS_MAIN
