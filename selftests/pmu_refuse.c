// SPDX-License-Identifier: GPL-2.0-only
/*
 * What our PMU refuses, and with which error: the kernel's tracepoint PMU's, or
 * one that Documentation/pmu.md states. Privilege is that of the kernel's too, at
 * each level of perf_event_paranoid.
 */
#include "ktb_test.h"

#include <fcntl.h>
#include <sys/ioctl.h>

#define ENTER		"raw_syscalls:sys_enter"	/* raw data for anyone's own task */
#define SWITCH		"sched:sched_switch"		/* raw data for the privileged */
#define PARANOID	"/proc/sys/kernel/perf_event_paranoid"
#define KPROBES		KTB_TRACEFS "/kprobe_events"
#define TEST_MODULE	"/ktb/modules/ktb_test_events.ko"
#define HIT		"ktb_test:ktb_test_hit"

enum { OURS, KERNELS, BOTH };
#define for_both(i)	for (int i = 0; i < BOTH; i++)

static int write_to(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC), error = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		error = -errno;
	close(fd);
	return error;
}

static int read_int(const char *path)
{
	FILE *file = fopen(path, "r");
	int value = -1;

	if (file) {
		if (fscanf(file, "%d", &value) != 1)
			value = -1;
		fclose(file);
	}
	return value;
}

static void set_paranoid(int level)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", level);
	write_to(PARANOID, text);
}

FIXTURE(refuse)
{
	int type[BOTH];
	int paranoid;
};

FIXTURE_SETUP(refuse)
{
	self->type[OURS] = ktb_pmu_type();
	ASSERT_LT(0, self->type[OURS])
		TH_LOG("no PMU ktrace_bridge: is the module loaded?");
	self->type[KERNELS] = PERF_TYPE_TRACEPOINT;
	self->paranoid = read_int(PARANOID);
}

FIXTURE_TEARDOWN(refuse)
{
	set_paranoid(self->paranoid);
}

/* Open and close. 0, or the negative error number. */
static int try_open(struct perf_event_attr *attr, int type, pid_t pid, int cpu)
{
	int fd;

	attr->type = type;
	fd = ktb_perf_open(attr, pid, cpu, -1, 0);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

#define EXPECT_BOTH(error, attr, pid, cpu)					\
	for_both(i) {							\
		EXPECT_EQ(error, try_open(attr, self->type[i], pid, cpu))	\
			TH_LOG("%s", i == OURS ? "ours" : "the kernel's");		\
	}

TEST_F(refuse, ids)
{
	struct perf_event_attr attr = ktb_perf_attr(0, ktb_tracepoint_id(SWITCH));
	__u64 id = attr.config;

	EXPECT_BOTH(0, &attr, 0, -1);
	attr.config = 0;
	EXPECT_BOTH(-EINVAL, &attr, 0, -1);
	attr.config = 0xffff;
	EXPECT_BOTH(-EINVAL, &attr, 0, -1);
	attr.config = id | 1ULL << 32;
	EXPECT_BOTH(-EINVAL, &attr, 0, -1);
	attr.config = ~0ULL;
	EXPECT_BOTH(-EINVAL, &attr, 0, -1);
}

TEST_F(refuse, attributes)
{
	struct perf_event_attr good = ktb_perf_attr(0, ktb_tracepoint_id(SWITCH)), attr;

	attr = good;
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_BRANCH_STACK;
	attr.branch_sample_type = PERF_SAMPLE_BRANCH_ANY;
	EXPECT_BOTH(-EOPNOTSUPP, &attr, 0, -1);
	attr = good;
	attr.sample_period = 1ULL << 63;
	EXPECT_BOTH(-EINVAL, &attr, 0, -1);
	attr = good;
	attr.freq = 1;
	attr.sample_freq = 1 << 30;
	EXPECT_BOTH(-EINVAL, &attr, 0, -1);
	attr = good;
	attr.sample_type = 1ULL << 50;
	EXPECT_BOTH(-EINVAL, &attr, 0, -1);
	attr = good;
	attr.read_format = 1ULL << 50;
	EXPECT_BOTH(-EINVAL, &attr, 0, -1);
	attr = good;
	attr.sigtrap = 1;
	EXPECT_BOTH(-EINVAL, &attr, 0, -1);	/* without remove_on_exec */
	attr = good;
	EXPECT_BOTH(-EINVAL, &attr, -1, -1);
	EXPECT_BOTH(-EINVAL, &attr, -1, 4096);
	EXPECT_BOTH(-ESRCH, &attr, 1 << 22, -1);
}

/* Events of another make: the kernel's PMU has them, we say that we do not. */
TEST_F(refuse, events_without_a_tracepoint)
{
	struct perf_event_attr attr = ktb_perf_attr(0, 0);
	int id;

	id = ktb_tracepoint_id("ftrace:function");
	EXPECT_EQ(1, id);
	/* The kernel's takes it too, and patches every function: not tried here. */
	attr.config = id;
	EXPECT_EQ(-EOPNOTSUPP, try_open(&attr, self->type[OURS], 0, -1));

	id = ktb_tracepoint_id("syscalls:sys_enter_getppid");
	if (id < 0)
		id = ktb_tracepoint_id("syscalls:sys_enter_openat");
	if (id < 0) {
		TH_LOG("no events of single system calls here");
		return;
	}
	attr.config = id;
	EXPECT_EQ(0, try_open(&attr, self->type[KERNELS], 0, -1));
	EXPECT_EQ(-EOPNOTSUPP, try_open(&attr, self->type[OURS], 0, -1));
}

TEST_F(refuse, kprobe)
{
	struct perf_event_attr attr = ktb_perf_attr(0, 0);
	int id;

	if (access(KPROBES, W_OK))
		SKIP(return, "no kprobe events in this kernel");
	ASSERT_EQ(0, write_to(KPROBES, "p:ktb_refuse/probe do_exit\n"));
	id = ktb_tracepoint_id("ktb_refuse:probe");
	attr.config = id;
	EXPECT_LT(0, id);
	EXPECT_EQ(0, try_open(&attr, self->type[KERNELS], 0, -1));
	EXPECT_EQ(-EOPNOTSUPP, try_open(&attr, self->type[OURS], 0, -1));
	/* Nothing of ours is left on it. */
	EXPECT_EQ(0, write_to(KPROBES, "-:ktb_refuse/probe\n"));
}

/* The core knows its own PMU by its address: filters are refused with ours. */
TEST_F(refuse, filter)
{
	struct perf_event_attr attr = ktb_perf_attr(self->type[OURS], ktb_tracepoint_id(SWITCH));
	int fd = ktb_perf_open(&attr, 0, -1, -1, 0);

	ASSERT_LE(0, fd);
	EXPECT_EQ(-1, ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "prev_pid == 1"));
	EXPECT_EQ(EINVAL, errno);
	close(fd);
}

/* Run a function as another user, with these capabilities and no more. */
static void run_as_nobody(struct __test_metadata *_metadata, FIXTURE_DATA(refuse) *self,
			  __u64 caps,
			  void (*check)(struct __test_metadata *, FIXTURE_DATA(refuse) *))
{
	pid_t pid = fork();

	if (!pid) {
		_metadata->exit_code = KSFT_PASS;
		prctl(PR_SET_KEEPCAPS, 1);
		if (setgid(NOBODY) || setuid(NOBODY) || ktb_keep_caps(caps))
			_exit(100);
		check(_metadata, self);
		_exit(_metadata->exit_code);
	}
	EXPECT_EQ(KSFT_PASS, ktb_reap(pid))
		TH_LOG("perf_event_paranoid %d, capabilities %llx", read_int(PARANOID), caps);
}

static void expect_by_level(struct __test_metadata *_metadata, FIXTURE_DATA(refuse) *self,
			    int counts, int raw, int raw_of_anyone, int cpu)
{
	struct perf_event_attr attr = ktb_perf_attr(0, read_int("/tmp/pmu_refuse.switch"));

	attr.exclude_kernel = 1;
	EXPECT_BOTH(counts, &attr, 0, -1);
	EXPECT_BOTH(cpu, &attr, -1, 0);
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_RAW;
	EXPECT_BOTH(raw, &attr, 0, -1);
	attr.config = read_int("/tmp/pmu_refuse.enter");
	EXPECT_BOTH(raw_of_anyone, &attr, 0, -1);
}

static void unprivileged_by_level(struct __test_metadata *_metadata,
				  FIXTURE_DATA(refuse) *self)
{
	switch (read_int(PARANOID)) {
	case -1:
		return expect_by_level(_metadata, self, 0, 0, 0, 0);
	case 0:
		return expect_by_level(_metadata, self, 0, -EPERM, 0, 0);
	case 2:
		return expect_by_level(_metadata, self, 0, -EPERM, 0, -EACCES);
	default:	/* Debian's: nothing at all */
		return expect_by_level(_metadata, self, -EACCES, -EACCES, -EACCES, -EACCES);
	}
}

static void privileged(struct __test_metadata *_metadata, FIXTURE_DATA(refuse) *self)
{
	expect_by_level(_metadata, self, 0, 0, 0, 0);
}

/* Ids are for root to read: kept where the unprivileged can. */
static void publish_id(const char *path, const char *event)
{
	FILE *file = fopen(path, "w");

	if (file) {
		fprintf(file, "%d\n", ktb_tracepoint_id(event));
		fclose(file);
	}
}

TEST_F(refuse, privilege)
{
	static const int levels[] = { -1, 0, 2, 3 };

	publish_id("/tmp/pmu_refuse.switch", SWITCH);
	publish_id("/tmp/pmu_refuse.enter", ENTER);
	for (size_t n = 0; n < sizeof(levels) / sizeof(*levels); n++) {
		set_paranoid(levels[n]);
		run_as_nobody(_metadata, self, 0, unprivileged_by_level);
		run_as_nobody(_metadata, self, 1ULL << CAP_SYS_ADMIN, privileged);
		if (levels[n] < 3)
			run_as_nobody(_metadata, self, 1ULL << CAP_PERFMON, privileged);
	}
	unlink("/tmp/pmu_refuse.switch");
	unlink("/tmp/pmu_refuse.enter");
}

static int load(void)
{
	int fd = open(TEST_MODULE, O_RDONLY | O_CLOEXEC), error = 0;

	if (fd < 0)
		return -errno;
	if (syscall(SYS_finit_module, fd, "", 0))
		error = -errno;
	close(fd);
	return error;
}

static int unload(void)
{
	return syscall(SYS_delete_module, "ktb_test_events", O_NONBLOCK) ? -errno : 0;
}

/* The tracepoint of a module: an event of ours keeps it, and then no longer. */
TEST_F(refuse, module_in_use)
{
	struct perf_event_attr attr;
	int fd;

	if (access(TEST_MODULE, R_OK))
		SKIP(return, "no " TEST_MODULE);
	unload();
	ASSERT_EQ(0, load());
	attr = ktb_perf_attr(self->type[OURS], ktb_tracepoint_id(HIT));
	attr.disabled = 0;
	fd = ktb_perf_open(&attr, 0, -1, -1, 0);
	EXPECT_LE(0, fd);
	EXPECT_EQ(-EWOULDBLOCK, unload());
	EXPECT_EQ(0, write_to("/sys/module/ktb_test_events/parameters/fire", "123"));
	EXPECT_EQ(123, ktb_perf_count(fd));
	close(fd);
	EXPECT_EQ(0, unload());
	EXPECT_BOTH(-EINVAL, &attr, 0, -1);
}

static void open_again_and_again(struct ktb_worker *w)
{
	struct perf_event_attr *attr = w->arg;

	while (w->count) {
		int error = try_open(attr, attr->type, 0, -1);

		if (error && error != -EINVAL)
			w->magic = -error;
		__atomic_fetch_sub(&w->count, 1, __ATOMIC_RELAXED);
	}
}

/* A module that comes and goes meanwhile: the event is there, or it is not. */
TEST_F_TIMEOUT(refuse, module_being_unloaded, 60)
{
	struct ktb_worker w = { .work = open_again_and_again, .count = 100 };
	struct perf_event_attr attr;
	int unloaded = 0, busy = 0;

	if (access(TEST_MODULE, R_OK))
		SKIP(return, "no " TEST_MODULE);
	unload();
	ASSERT_EQ(0, load());
	attr = ktb_perf_attr(self->type[OURS], ktb_tracepoint_id(HIT));
	w.arg = &attr;
	w.cpu = ktb_cpus() - 1;
	ASSERT_EQ(0, ktb_worker_start(&w));
	ktb_worker_go(&w);
	while (!ktb_worker_done(&w)) {
		int error = unload();

		if (!error) {
			unloaded++;
			EXPECT_EQ(0, load());
		} else {
			EXPECT_EQ(-EWOULDBLOCK, error);
			busy++;
			usleep(500);
		}
	}
	ktb_worker_finish(&w);
	EXPECT_EQ(0, w.magic)
		TH_LOG("refused: %s", strerror(w.magic));
	EXPECT_LT(0, unloaded);
	unload();
}

TEST_HARNESS_MAIN
