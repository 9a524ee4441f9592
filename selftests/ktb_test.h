/* SPDX-License-Identifier: GPL-2.0-only */
/* What every test program here has in common. */
#ifndef KTB_TEST_H
#define KTB_TEST_H

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/capability.h>

#include "kselftest_harness.h"
#include "ktb_ctl.h"
#include "ktb_perf.h"
#include "ktb_ring.h"
#include "ktb_tracefs.h"
#include "ktb_worker.h"

#define NOBODY	65534

/*
 * A refusal: the error number, and an extended-ack text that has the keyword
 * (an attribute, a limit, a capability) in it.
 */
#define EXPECT_REFUSED(nl, error, keyword, call)				\
	do {									\
		EXPECT_EQ(-(error), (call));					\
		EXPECT_TRUE(!!strcasestr((nl)->text, (keyword)))			\
			TH_LOG("no '%s' in the refusal's text '%s'",		\
			       (keyword), (nl)->text);				\
	} while (0)

/* The ledger's own promise. */
#define EXPECT_LEDGER(l)							\
	EXPECT_EQ((l)->hits, ktb_ledger_sum(l))					\
		TH_LOG("written %llu filtered %llu not_sampled %llu lost %llu %llu %llu", \
		       (l)->written, (l)->filtered, (l)->not_sampled,		\
		       (l)->lost_full, (l)->lost_big, (l)->lost_recursion)

/* Open a control socket in a fixture's set-up, and sweep what a test left. */
#define ASSERT_CONTROL(nl)							\
	do {									\
		ASSERT_EQ(0, ktb_nl_open(nl))					\
			TH_LOG("no family ktrace_bridge: is the module loaded?"); \
		ASSERT_EQ(0, ktb_session_sweep(nl));				\
	} while (0)

/* Keep these capabilities alone; the user id stays. */
static inline int ktb_keep_caps(__u64 caps)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2] = {
		{ .effective = caps, .permitted = caps },
		{ .effective = caps >> 32, .permitted = caps >> 32 },
	};

	return syscall(SYS_capset, &h, d) ? -errno : 0;
}

/* Wait for a child. Returns its exit status, or 128 and its signal. */
static inline int ktb_reap(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#define KTB_LOCKDEP	"/proc/lockdep"
#define KTB_KCSAN	"/sys/kernel/debug/kcsan"

/*
 * KTB_LONG=1, which scripts/check sets on one kernel of a run: take the time it
 * takes. A kernel that checks itself takes more than that.
 */
static inline bool ktb_long(void)
{
	const char *full = getenv("KTB_LONG");

	return full && atoi(full) && access(KTB_LOCKDEP, F_OK) && access(KTB_KCSAN, F_OK);
}

static inline void ktb_scale_timeouts(void)
{
	struct __fixture_metadata *f;
	struct __test_metadata *t;

	for (f = __fixture_list; f; f = f->next)
		for (t = f->tests; t; t = t->next)
			t->timeout *= ktb_timeout_scale();
}

#undef TEST_HARNESS_MAIN
#define TEST_HARNESS_MAIN						\
	int main(int argc, char **argv)					\
	{								\
		ktb_scale_timeouts();					\
		return test_harness_run(argc, argv);			\
	}

static inline int ktb_cpus(void)
{
	return sysconf(_SC_NPROCESSORS_ONLN);
}

#endif
