// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hits of the tasks of a control group: of those in it and below it, from when
 * they come until they go, and of no others. Each scene is played once for an
 * event with a native probe and once for one of the perf core.
 */
#include "ktb_test.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "ktb_cast.h"

#define MOUNT	"/tmp/t_cgroup"
#define GROUP	"/t_group"
#define BELOW	GROUP "/below"
#define BESIDE	"/t_group_beside"
#define CALLS	100

/* Write a process into a group. */
static int put(const char *group, pid_t pid)
{
	char path[64], text[16];
	int fd, len, error = 0;

	snprintf(path, sizeof(path), MOUNT "%s/cgroup.procs", group);
	len = snprintf(text, sizeof(text), "%d", pid);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, len) != len)
		error = -errno;
	close(fd);
	return error;
}

static bool make_groups(void)
{
	mkdir(MOUNT, 0700);
	return !mount("none", MOUNT, "cgroup2", 0, NULL) && !mkdir(MOUNT GROUP, 0700) &&
	       !mkdir(MOUNT BELOW, 0700) && !mkdir(MOUNT BESIDE, 0700);
}

static void remove_groups(void)
{
	rmdir(MOUNT BESIDE);
	rmdir(MOUNT BELOW);
	rmdir(MOUNT GROUP);
	umount(MOUNT);
	rmdir(MOUNT);
}

FIXTURE(cgroup)
{
	struct ktb_nl nl;
	struct ktb_session s;
	struct ktb_event e;
	struct ktb_cast *cast;
	int fd;
};

FIXTURE_VARIANT(cgroup)
{
	const char *event;
	__u32 path;
};

FIXTURE_VARIANT_ADD(cgroup, native)
{
	.event = "raw_syscalls:sys_enter",
	.path = KTB_PATH_NATIVE,
};

FIXTURE_VARIANT_ADD(cgroup, perf)
{
	.event = "syscalls:sys_enter_getppid",
	.path = KTB_PATH_PERF,
};

FIXTURE_SETUP(cgroup)
{
	ASSERT_CONTROL(&self->nl);
	/* What a test that died has left. */
	remove_groups();
	ASSERT_TRUE(make_groups());
	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_cgroup", 0, 1 << 20, &self->s));
	self->fd = ktb_dev_open_bind(self->s.id, -1);
	ASSERT_LE(0, self->fd);
	self->cast = ktb_cast_new();
	ASSERT_NE(NULL, self->cast);
}

FIXTURE_TEARDOWN(cgroup)
{
	ktb_cast_free(self->cast);
	close(self->fd);
	ktb_nl_close(&self->nl);
	remove_groups();
}

static void attach(struct __test_metadata *_metadata, FIXTURE_DATA(cgroup) *self,
		   const FIXTURE_VARIANT(cgroup) *variant, struct ktb_attach how)
{
	how.name = variant->event;
	how.cgroup = GROUP;
	ASSERT_EQ(0, ktb_event_attach_as(&self->nl, self->s.id, &how, &self->e))
		TH_LOG("%s: %s", how.name, self->nl.text);
	EXPECT_EQ(variant->path, self->e.path);
}

/* Detach, and see that each call of each thread is where it belongs. */
static void detach_and_check(struct __test_metadata *_metadata, FIXTURE_DATA(cgroup) *self)
{
	ASSERT_EQ(0, ktb_event_detach(&self->nl, self->s.id, self->e.id, &self->e));
	EXPECT_CAST(self->cast, self->fd, &self->e.sum);
}

/* ---- where a process is ---- */

static void scene_seen(struct ktb_cast *cast)
{
	ktb_cast_wait(cast);
	ktb_cast_act(cast, CALLS, true);
}

static void scene_unseen(struct ktb_cast *cast)
{
	ktb_cast_wait(cast);
	ktb_cast_act(cast, CALLS, false);
}

TEST_F(cgroup, in_it_below_it_and_elsewhere)
{
	pid_t in = ktb_cast_play(self->cast, scene_seen);
	pid_t below = ktb_cast_play(self->cast, scene_seen);
	pid_t beside = ktb_cast_play(self->cast, scene_unseen);

	ASSERT_TRUE(ktb_cast_is_ready(self->cast, 3));
	ASSERT_EQ(0, put(GROUP, in));
	ASSERT_EQ(0, put(BELOW, below));
	ASSERT_EQ(0, put(BESIDE, beside));
	attach(_metadata, self, variant, (struct ktb_attach){ });
	ktb_cast_go(self->cast, 3);
	for (int i = 0; i < CALLS; i++)
		syscall(SYS_getppid);
	EXPECT_EQ(0, ktb_reap(in));
	EXPECT_EQ(0, ktb_reap(below));
	EXPECT_EQ(0, ktb_reap(beside));
	detach_and_check(_metadata, self);
	EXPECT_LE(2 * CALLS, self->e.sum.filtered);
	EXPECT_TRUE(variant->path != KTB_PATH_PERF || self->e.sum.filtered == 2 * CALLS);
}

/* What a process of the group makes is in it, too. */
static void scene_family(struct ktb_cast *cast)
{
	pid_t child;

	ktb_cast_wait(cast);
	child = fork();
	ktb_cast_act(cast, CALLS, true);
	if (!child)
		_exit(0);
	ktb_reap(child);
}

TEST_F(cgroup, children)
{
	pid_t pid = ktb_cast_play(self->cast, scene_family);

	ASSERT_TRUE(ktb_cast_is_ready(self->cast, 1));
	ASSERT_EQ(0, put(GROUP, pid));
	attach(_metadata, self, variant, (struct ktb_attach){ });
	ktb_cast_go(self->cast, 1);
	EXPECT_EQ(0, ktb_reap(pid));
	detach_and_check(_metadata, self);
	EXPECT_EQ(2, self->cast->n);
}

/* ---- moves ---- */

static void act_unseen(void)
{
	for (int i = 0; i < CALLS; i++)
		syscall(SYS_getppid);
}

/* Outside, inside, outside again. */
static void scene_moving(struct ktb_cast *cast)
{
	ktb_cast_wait(cast);
	act_unseen();
	ktb_cast_wait(cast);
	ktb_cast_act(cast, CALLS, true);
	ktb_cast_wait(cast);
	act_unseen();
}

TEST_F(cgroup, comes_and_goes)
{
	pid_t pid = ktb_cast_play(self->cast, scene_moving);

	ASSERT_TRUE(ktb_cast_is_ready(self->cast, 1));
	attach(_metadata, self, variant, (struct ktb_attach){ });
	ktb_cast_go(self->cast, 1);
	ASSERT_TRUE(ktb_cast_is_ready(self->cast, 2));
	ASSERT_EQ(0, put(BELOW, pid));
	ktb_cast_go(self->cast, 1);
	ASSERT_TRUE(ktb_cast_is_ready(self->cast, 3));
	ASSERT_EQ(0, put("", pid));
	ktb_cast_go(self->cast, 1);
	EXPECT_EQ(0, ktb_reap(pid));
	detach_and_check(_metadata, self);
}

/* ---- together with other limits ---- */

TEST_F(cgroup, and_of_that_process)
{
	pid_t one = ktb_cast_play(self->cast, scene_seen);
	pid_t other = ktb_cast_play(self->cast, scene_unseen);
	pid_t outside = ktb_cast_play(self->cast, scene_unseen);
	const __u32 pids[] = { one, outside };

	ASSERT_TRUE(ktb_cast_is_ready(self->cast, 3));
	ASSERT_EQ(0, put(GROUP, one));
	ASSERT_EQ(0, put(GROUP, other));
	attach(_metadata, self, variant, (struct ktb_attach){ .pids = pids, .npids = 2 });
	ktb_cast_go(self->cast, 3);
	EXPECT_EQ(0, ktb_reap(one));
	EXPECT_EQ(0, ktb_reap(other));
	EXPECT_EQ(0, ktb_reap(outside));
	detach_and_check(_metadata, self);
}

/* ---- the group goes ---- */

TEST_F(cgroup, is_removed_while_attached)
{
	struct ktb_event e;

	attach(_metadata, self, variant, (struct ktb_attach){ });
	ASSERT_EQ(0, ktb_event_get(&self->nl, self->s.id, self->e.id, &e));
	EXPECT_STREQ(GROUP, e.cgroup);
	ASSERT_EQ(0, rmdir(MOUNT BELOW));
	ASSERT_EQ(0, rmdir(MOUNT GROUP));
	act_unseen();
	/* One of the same name is another one. */
	ASSERT_EQ(0, mkdir(MOUNT GROUP, 0700));
	ASSERT_EQ(0, put(GROUP, getpid()));
	act_unseen();
	ASSERT_EQ(0, put("", getpid()));
	ASSERT_EQ(0, ktb_event_get(&self->nl, self->s.id, self->e.id, &e));
	detach_and_check(_metadata, self);
	EXPECT_EQ(0, self->e.sum.written);
}

/* ---- refusals ---- */

TEST_F(cgroup, refused)
{
	const struct perf_event_attr counter = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(counter),
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = 1,
	};
	struct ktb_attach how = { .name = variant->event, .cgroup = "/t_no_such_group" };
	char too_long[KTRACE_BRIDGE_CGROUP_LEN + 2];

	EXPECT_REFUSED(&self->nl, ESRCH, "cgroup: no such group",
		       ktb_event_attach_as(&self->nl, self->s.id, &how, NULL));
	/* A file of the hierarchy is no group. */
	how.cgroup = GROUP "/cgroup.procs";
	EXPECT_REFUSED(&self->nl, ESRCH, "cgroup: no such group",
		       ktb_event_attach_as(&self->nl, self->s.id, &how, NULL));
	memset(too_long, 'x', sizeof(too_long) - 1);
	too_long[sizeof(too_long) - 1] = 0;
	how.cgroup = too_long;
	EXPECT_EQ(-EINVAL, ktb_event_attach_as(&self->nl, self->s.id, &how, NULL));
	how.cgroup = GROUP;
	how.attr = &counter;
	EXPECT_REFUSED(&self->nl, EOPNOTSUPP, "cgroup: not for counters",
		       ktb_event_attach_as(&self->nl, self->s.id, &how, NULL));
	EXPECT_EQ(0, ktb_event_count(&self->nl));
}

TEST_HARNESS_MAIN
