// SPDX-License-Identifier: GPL-2.0-only
/* Taking the module out: while it is in use, while it works, and in again. */
#include "ktb_test.h"

#include <fcntl.h>
#include <sys/mman.h>

#define MODULE_FILE	"/ktb/ktrace_bridge.ko"
#define ENTER		"raw_syscalls:sys_enter"
#define SWITCH		"sched:sched_switch"

static int load(void)
{
	int fd = open(MODULE_FILE, O_RDONLY | O_CLOEXEC), error = 0;

	if (fd < 0)
		return -errno;
	if (syscall(SYS_finit_module, fd, "", 0))
		error = -errno;
	close(fd);
	return error;
}

/* rmmod(8) does it this way: at once or not at all. */
static int unload(void)
{
	return syscall(SYS_delete_module, "ktrace_bridge", O_NONBLOCK) ? -errno : 0;
}

static bool loaded(void)
{
	return access("/sys/module/ktrace_bridge", F_OK) == 0;
}

FIXTURE(unload)
{
	struct ktb_nl nl;
};

FIXTURE_SETUP(unload)
{
	if (access(MODULE_FILE, R_OK))
		SKIP(return, "no " MODULE_FILE " to load again");
	if (!loaded()) {
		ASSERT_EQ(0, load());
	}
	ASSERT_CONTROL(&self->nl);
}

FIXTURE_TEARDOWN(unload)
{
	ktb_nl_close(&self->nl);
	/* Whatever happened, the next test finds it loaded. */
	if (!loaded())
		load();
}

TEST_F(unload, unused)
{
	struct ktb_nl nl;

	ASSERT_EQ(0, unload());
	EXPECT_FALSE(loaded());
	EXPECT_EQ(-1, access(KTB_DEVICE, F_OK));
	EXPECT_EQ(-ENOENT, ktb_nl_open(&nl));
	EXPECT_EQ(-ENOENT, unload());
	ASSERT_EQ(0, load());
	EXPECT_EQ(-EEXIST, load());
	EXPECT_EQ(0, access(KTB_DEVICE, F_OK));
	EXPECT_EQ(0, ktb_nl_open(&nl));
}

/* In use: refused, and the session says by whom. */
TEST_F(unload, reader_open)
{
	struct ktb_session s;
	int fd;

	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_read", KTB_SESSION_PERSISTENT, 4096, &s));
	fd = ktb_dev_open_bind(s.id, -1);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EWOULDBLOCK, unload());
	ASSERT_EQ(0, ktb_session_get(&self->nl, s.id, &s));
	ASSERT_EQ(1, s.nreaders);
	EXPECT_EQ(getpid(), s.reader[0].pid);
	EXPECT_EQ(-1, s.reader[0].cpu);
	EXPECT_STREQ("unload", s.reader[0].comm);
	close(fd);
	ASSERT_EQ(0, ktb_session_get(&self->nl, s.id, &s));
	EXPECT_EQ(0, s.nreaders);
	EXPECT_EQ(0, unload());
}

TEST_F(unload, unbound_descriptor_open)
{
	int fd = ktb_dev_open();

	ASSERT_LE(0, fd);
	EXPECT_EQ(-EWOULDBLOCK, unload());
	close(fd);
	EXPECT_EQ(0, unload());
}

TEST_F(unload, mapping_left)
{
	struct ktb_session s;
	struct ktb_ring ring;
	int fd;

	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_map", 0, 4096, &s));
	fd = ktb_dev_open_bind(s.id, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ktb_ring_map(&ring, fd, 0));
	close(fd);
	ASSERT_EQ(0, ktb_session_del(&self->nl, s.id));
	EXPECT_EQ(-EWOULDBLOCK, unload());
	munmap(ring.page, 4096);
	EXPECT_EQ(-EWOULDBLOCK, unload());
	munmap((void *)ring.data, 2 * ring.size);
	EXPECT_EQ(0, unload());
}

/*
 * A thread on every CPU that hits both events until it is stopped. It gives way,
 * or the modules would take minutes to come and go in an emulated guest.
 */
static void work_until_told(struct ktb_worker *w)
{
	const bool *stop = w->arg;

	while (!__atomic_load_n(stop, __ATOMIC_RELAXED)) {
		for (int i = 0; i < 20; i++)
			syscall(SYS_getppid);
		usleep(100);
	}
}

struct load {
	bool stop;
	int count;
	struct ktb_worker w[KTB_MAX_CPUS];
};

static int load_begin(struct load *l)
{
	l->stop = false;
	for (l->count = 0; l->count < ktb_cpus(); l->count++) {
		struct ktb_worker *w = &l->w[l->count];

		*w = (struct ktb_worker) {
			.cpu = l->count, .work = work_until_told, .arg = &l->stop,
		};
		if (ktb_worker_start(w))
			return -1;
		ktb_worker_go(w);
	}
	return 0;
}

static void load_end(struct load *l)
{
	__atomic_store_n(&l->stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < l->count; i++) {
		ktb_worker_wait(&l->w[i]);
		ktb_worker_finish(&l->w[i]);
	}
}

/* Persistent sessions end with the module, their events are detached. */
TEST_F(unload, attached_sessions)
{
	struct load l;
	struct ktb_session s;

	ASSERT_EQ(0, load_begin(&l));
	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_a", KTB_SESSION_PERSISTENT, 4096, &s));
	ASSERT_EQ(0, ktb_event_attach(&self->nl, s.id, ENTER, 0, NULL));
	ASSERT_EQ(0, ktb_event_attach(&self->nl, s.id, SWITCH, 0, NULL));
	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_b", 0, 65536, &s));
	ASSERT_EQ(0, ktb_event_attach(&self->nl, s.id, ENTER, 0, NULL));
	EXPECT_EQ(0, unload());
	EXPECT_FALSE(loaded());
	/* Probes left behind would now run code that is gone. */
	for (int i = 0; i < 1000; i++)
		syscall(SYS_getppid);
	load_end(&l);
}

TEST_F(unload, numbers_start_fresh)
{
	struct ktb_session first, again;
	struct ktb_event e, e_again;

	ASSERT_EQ(0, unload());
	ASSERT_EQ(0, load());
	ktb_nl_close(&self->nl);
	ASSERT_EQ(0, ktb_nl_open(&self->nl));
	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_a", KTB_SESSION_PERSISTENT, 4096, &first));
	ASSERT_EQ(0, ktb_event_attach(&self->nl, first.id, SWITCH, 0, &e));
	ASSERT_EQ(0, unload());
	ASSERT_EQ(0, load());
	ktb_nl_close(&self->nl);
	ASSERT_EQ(0, ktb_nl_open(&self->nl));
	EXPECT_EQ(0, ktb_session_count(&self->nl));
	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_a", 0, 4096, &again));
	ASSERT_EQ(0, ktb_event_attach(&self->nl, again.id, SWITCH, 0, &e_again));
	EXPECT_EQ(first.id, again.id);
	EXPECT_EQ(e.id, e_again.id);
}

/* A socket of before the unload owns nothing of after it. */
TEST_F(unload, old_socket)
{
	struct ktb_session s;
	struct ktb_nl nl;

	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_a", 0, 4096, NULL));
	ASSERT_EQ(0, unload());
	ASSERT_EQ(0, load());
	ASSERT_EQ(0, ktb_nl_open(&nl));
	ASSERT_EQ(0, ktb_session_new(&nl, "t_a", 0, 4096, &s));
	ktb_nl_close(&self->nl);
	EXPECT_EQ(0, ktb_session_get(&nl, s.id, &s));
	self->nl = nl;
}

TEST_F_TIMEOUT(unload, rounds_under_load, 100)
{
	const int rounds = ktb_long() ? 50 : 12;
	struct ktb_session s;
	struct ktb_event e;
	struct load l;

	ASSERT_EQ(0, load_begin(&l));
	for (int round = 0; round < rounds; round++) {
		ktb_nl_close(&self->nl);
		ASSERT_EQ(0, ktb_nl_open(&self->nl));
		ASSERT_EQ(0, ktb_session_new(&self->nl, "t_round", KTB_SESSION_PERSISTENT,
					     4096, &s));
		ASSERT_EQ(0, ktb_event_attach(&self->nl, s.id, ENTER, 0, &e));
		ASSERT_EQ(0, ktb_event_attach(&self->nl, s.id, SWITCH, 0, NULL));
		/* Detached before by one, by the session's end, by the module's. */
		if (round % 3 == 0) {
			ASSERT_EQ(0, ktb_event_detach(&self->nl, s.id, e.id, &e));
			EXPECT_LEDGER(&e.sum);
		} else if (round % 3 == 1) {
			ASSERT_EQ(0, ktb_session_del(&self->nl, s.id));
		}
		ASSERT_EQ(0, unload())
			TH_LOG("round %d", round);
		ASSERT_EQ(0, load());
	}
	load_end(&l);
}

TEST_HARNESS_MAIN
