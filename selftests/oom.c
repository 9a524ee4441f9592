// SPDX-License-Identifier: GPL-2.0-only
/* Out of memory while sessions and events are made: an error, nothing left. */
#include "ktb_test.h"
#include "ktb_faults.h"
#include "ktb_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>

#define LIMIT_FILE	"/sys/module/ktrace_bridge/parameters/ring_limit"
#define EVENT		"sched:sched_switch"
#define RING_MAX	(1ULL << 30)

/* A line of /proc/meminfo, in KiB; of /proc/vmstat, a number. */
static long long proc_value(const char *file, const char *key)
{
	long long value = -1;
	char line[256];
	FILE *f = fopen(file, "r");

	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)) &&
		    sscanf(line + strlen(key), "%*[: ]%lld", &value) == 1)
			break;
	fclose(f);
	return value;
}

static long long mem_kib(const char *key)
{
	return proc_value("/proc/meminfo", key);
}

FIXTURE(oom)
{
	struct ktb_nl nl;
	char limit[32];
};

FIXTURE_SETUP(oom)
{
	int fd;

	ASSERT_CONTROL(&self->nl);
	fd = open(LIMIT_FILE, O_RDONLY);
	ASSERT_LE(0, fd);
	ASSERT_LT(0, read(fd, self->limit, sizeof(self->limit) - 1));
	close(fd);
}

FIXTURE_TEARDOWN(oom)
{
	ktb_write_file(LIMIT_FILE, self->limit);
	ktb_nl_close(&self->nl);
}

/* Over what the module may take altogether: refused at once, by name. */
TEST_F(oom, over_the_module_limit)
{
	struct ktb_session s;

	ASSERT_EQ(0, ktb_write_file(LIMIT_FILE, "1048576"));
	EXPECT_REFUSED(&self->nl, ENOMEM, "ring_limit",
		       ktb_session_new(&self->nl, "t_limit", 0, 1 << 20, &s));
	EXPECT_EQ(0, ktb_session_count(&self->nl));
	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_limit", 0, (1 << 20) / ktb_cpus(), &s));
	EXPECT_REFUSED(&self->nl, ENOMEM, "ring_limit",
		       ktb_session_new(&self->nl, "t_more", 0, 4096, NULL));
	/* What a session took comes back with its end. */
	ASSERT_EQ(0, ktb_session_del(&self->nl, s.id));
	EXPECT_EQ(0, ktb_session_new(&self->nl, "t_more", 0, 4096, NULL));
}

/* What a failure that leaves something behind would change. */
struct memory {
	long long available;
	long long vmalloc;
	long long kills;
};

static struct memory memory(void)
{
	return (struct memory) {
		.available = mem_kib("MemAvailable"),
		.vmalloc = mem_kib("VmallocUsed"),
		.kills = proc_value("/proc/vmstat", "oom_kill"),
	};
}

/* All is given back, some of it lazily: a ring that is not would be far more. */
static void check_memory(struct __test_metadata *_metadata, const struct memory *before)
{
	struct memory now;

	EXPECT_TRUE(ktb_wait_for(({
		now = memory();
		now.available > before->available - 32 * 1024 &&
			now.vmalloc < before->vmalloc + 1024;
	}), 10))
		TH_LOG("available %lld KiB, was %lld; vmalloc %lld, was %lld", now.available,
		       before->available, now.vmalloc, before->vmalloc);
	EXPECT_EQ(before->kills, now.kills);
}

/*
 * With the module's own limit out of the way, more than the machine has: an
 * error before long, and nobody is killed.
 */
TEST_F_TIMEOUT(oom, more_than_there_is, 60)
{
	struct memory before;
	__u64 begin;

	if (mem_kib("MemTotal") * 1024 > (long long)(RING_MAX * ktb_cpus()))
		SKIP(return, "rings of 1 GiB fit into this machine's memory");
	ASSERT_EQ(0, ktb_write_file(LIMIT_FILE, "18446744073709551615"));
	before = memory();
	begin = ktb_now();
	EXPECT_REFUSED(&self->nl, ENOMEM, "ring-size",
		       ktb_session_new(&self->nl, "t_huge", 0, RING_MAX, NULL));
	EXPECT_GT(40000000000ULL * ktb_timeout_scale(), ktb_now() - begin);
	EXPECT_EQ(0, ktb_session_count(&self->nl));
	check_memory(_metadata, &before);
	EXPECT_EQ(0, ktb_session_new(&self->nl, "t_small", 0, 4096, NULL));
}

#define CGROUP		"/tmp/ktb_cgroup"
#define CGROUP_LIMIT	"33554432"

/* Put the calling process into a control group that has no more than that. */
static int limit_own_memory(void)
{
	mkdir(CGROUP, 0700);
	if (mount("none", CGROUP, "cgroup2", 0, NULL) && errno != EBUSY)
		return -1;
	ktb_write_file(CGROUP "/cgroup.subtree_control", "+memory");
	if (mkdir(CGROUP "/ktb", 0700) && errno != EEXIST)
		return -1;
	return ktb_write_file(CGROUP "/ktb/memory.max", CGROUP_LIMIT) ?:
	       ktb_write_file(CGROUP "/ktb/cgroup.procs", "0");
}

static void unlimit_own_memory(void)
{
	ktb_write_file(CGROUP "/cgroup.procs", "0");
	rmdir(CGROUP "/ktb");
	umount(CGROUP);
	rmdir(CGROUP);
}

/* Rings are charged to the control group of who makes them, and end with it. */
TEST_F_TIMEOUT(oom, more_than_the_group_may, 60)
{
	struct memory before;

	if (limit_own_memory()) {
		unlimit_own_memory();
		SKIP(return, "no memory control group here");
	}
	before = memory();
	for (int round = 0; round < 5; round++) {
		/* The first ring fits, the second does not. */
		EXPECT_REFUSED(&self->nl, ENOMEM, "ring-size",
			       ktb_session_new(&self->nl, "t_group", 0,
					       ktb_cpus() > 1 ? 20 << 20 : 64 << 20, NULL));
	}
	EXPECT_EQ(0, ktb_session_count(&self->nl));
	EXPECT_EQ(0, ktb_session_new(&self->nl, "t_small", 0, 65536, NULL));
	check_memory(_metadata, &before);
	EXPECT_EQ(0, proc_value(CGROUP "/ktb/memory.events", "oom_kill"));
	ktb_session_sweep(&self->nl);
	unlimit_own_memory();
}

/* Sessions and events that come and go leave no memory behind. */
TEST_F_TIMEOUT(oom, nothing_leaks, 60)
{
	static const struct {
		const char *name;
		long long slack;	/* KiB */
	} what[] = {
		{ "VmallocUsed", 512 }, { "Percpu", 512 }, { "SUnreclaim", 4096 },
		{ "Unevictable", 512 },
	};
	long long before[4], after[4];
	struct ktb_session s;

	for (int round = 0; round < 2; round++) {
		for (int i = 0; round && i < 4; i++)
			before[i] = mem_kib(what[i].name);
		for (int i = 0; i < 30; i++) {
			ASSERT_EQ(0, ktb_session_new(&self->nl, "t_leak", 0, 1 << 18, &s));
			ASSERT_EQ(0, ktb_event_attach(&self->nl, s.id, EVENT, 0, NULL));
			ASSERT_EQ(0, ktb_session_del(&self->nl, s.id));
		}
	}
	for (int i = 0; i < 4; i++) {
		EXPECT_TRUE(ktb_wait_for((after[i] = mem_kib(what[i].name)) <=
					 before[i] + what[i].slack, 10))
			TH_LOG("%s: %lld KiB, was %lld", what[i].name, after[i], before[i]);
	}
}

/*
 * Make a session with an event, the nth allocation of it failing. Returns
 * whether there were that many allocations.
 */
static bool one_fault(struct __test_metadata *_metadata, int nth)
{
	int fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	struct ktb_session s;
	struct ktb_nl nl;
	char text[16];
	ssize_t len;
	int made, error = 0;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ktb_nl_open(&nl));
	snprintf(text, sizeof(text), "%d", nth);
	ASSERT_LT(0, write(fd, text, strlen(text)));
	made = ktb_session_new(&nl, "t_fault", 0, 8192, &s);
	if (!made)
		error = ktb_event_attach(&nl, s.id, EVENT, 0, NULL);
	/* What is left of the count; 0 when the fault was had. */
	len = pread(fd, text, sizeof(text) - 1, 0);
	/* Where copies to user space fail too, this one was the nth. */
	if (len < 0 && errno == EFAULT)
		len = snprintf(text, sizeof(text), "1");
	ASSERT_LT(0, len);
	text[len] = '\0';
	ASSERT_LT(0, pwrite(fd, "0", 1, 0));
	close(fd);
	/* The request or its answer may be what there was no memory for. */
	EXPECT_TRUE(made == 0 || made == -ENOMEM || made == -ENOBUFS || made == -EFAULT)
		TH_LOG("fault %d: session-new says %d, %s", nth, made, nl.text);
	EXPECT_TRUE(error == 0 || error == -ENOMEM || error == -ENOBUFS || error == -EFAULT)
		TH_LOG("fault %d: event-attach says %d, %s", nth, error, nl.text);
	ktb_nl_close(&nl);
	return atoi(text) == 0;
}

TEST_F_TIMEOUT(oom, every_allocation_fails_once, 100)
{
	int nth = 1;

	if (ktb_faults_init() || access("/proc/thread-self/fail-nth", W_OK))
		SKIP(return, "this kernel has no fault injection (failslab)");
	while (nth < 1000 && one_fault(_metadata, nth)) {
		EXPECT_TRUE(ktb_wait_for(ktb_session_count(&self->nl) == 0, 10))
			TH_LOG("fault %d left a session", nth);
		EXPECT_EQ(0, ktb_event_count(&self->nl));
		nth++;
	}
	EXPECT_LT(3, nth);
	EXPECT_GT(1000, nth);
}

TEST_HARNESS_MAIN
