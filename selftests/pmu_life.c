// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events of our PMU come and go: with the module, with those who opened them,
 * killed or not, and between others that use the same tracepoint.
 *
 * The rounds of loading, counting, killing and unloading take half a second each
 * in an emulated guest: 4, or 12 with KTB_LONG=1, or as many as the environment
 * variable ktb_rounds says. (What is no parameter of the kernel on its command line is in
 * everyone's environment.)
 */
#include "ktb_test.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <pthread.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#define MODULE_FILE	"/ktb/ktrace_bridge.ko"
#define TEST_MODULE	"/ktb/modules/ktb_test_events.ko"
#define USERS		"/sys/module/ktb_test_events/parameters/users"
#define ENTER		"raw_syscalls:sys_enter"
#define HITS		100

enum { OURS, KERNELS, BOTH };

static int load(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), error = 0;

	if (fd < 0)
		return -errno;
	if (syscall(SYS_finit_module, fd, "", 0))
		error = -errno;
	close(fd);
	return error;
}

static int unload(const char *name)
{
	return syscall(SYS_delete_module, name, O_NONBLOCK) ? -errno : 0;
}

static bool loaded(void)
{
	return access("/sys/module/ktrace_bridge", F_OK) == 0;
}

static int open_event(int type, pid_t pid, int cpu)
{
	struct perf_event_attr attr = ktb_perf_attr(type, ktb_tracepoint_id(ENTER));

	attr.disabled = 0;
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_RAW;
	attr.inherit = pid == 0;
	return ktb_perf_open(&attr, pid, cpu, -1, 0);
}

FIXTURE(life)
{
	int type;
};

FIXTURE_SETUP(life)
{
	if (access(MODULE_FILE, R_OK))
		SKIP(return, "no " MODULE_FILE " to load again");
	if (!loaded()) {
		ASSERT_EQ(0, load(MODULE_FILE));
	}
	self->type = ktb_pmu_type();
	ASSERT_LT(0, self->type);
}

FIXTURE_TEARDOWN(life)
{
	/* Whatever happened, the next test finds it loaded. */
	if (!loaded())
		load(MODULE_FILE);
}

TEST_F(life, open_event)
{
	int fd = open_event(self->type, -1, 0);

	ASSERT_LE(0, fd);
	EXPECT_EQ(-EWOULDBLOCK, unload("ktrace_bridge"));
	close(fd);
	EXPECT_EQ(0, unload("ktrace_bridge"));
	EXPECT_EQ(-ENOENT, ktb_pmu_type());
	EXPECT_EQ(-ENOENT, open_event(self->type, -1, 0));
}

TEST_F(life, mapping_left)
{
	struct ktb_perf_ring ring;
	int fd = open_event(self->type, -1, 0);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ktb_perf_map(&ring, fd, 8));
	close(fd);
	EXPECT_EQ(-EWOULDBLOCK, unload("ktrace_bridge"));
	ktb_perf_unmap(&ring);
	EXPECT_EQ(0, unload("ktrace_bridge"));
}

/* The task is gone, its event is not: as long as somebody may read the count. */
TEST_F(life, task_gone)
{
	pid_t pid = fork();
	int fd;

	if (!pid) {
		pause();
		_exit(0);
	}
	fd = open_event(self->type, pid, -1);
	ASSERT_LE(0, fd);
	kill(pid, SIGKILL);
	EXPECT_EQ(128 + SIGKILL, ktb_reap(pid));
	EXPECT_EQ(-EWOULDBLOCK, unload("ktrace_bridge"));
	EXPECT_NE(~0ULL, ktb_perf_count(fd));
	close(fd);
	EXPECT_EQ(0, unload("ktrace_bridge"));
}

/* What perf made for the task stays with it, and must not be of a module that is gone. */
TEST_F(life, task_outlives_module)
{
	struct perf_event_attr attr = ktb_perf_attr(PERF_TYPE_SOFTWARE,
						    PERF_COUNT_SW_CONTEXT_SWITCHES);
	int go[2], fd;
	pid_t pid;
	char c;

	ASSERT_EQ(0, pipe(go));
	/* On one CPU, so that a task that sleeps has left it. */
	ASSERT_EQ(0, ktb_pin(0));
	pid = fork();
	if (!pid) {
		close(go[1]);
		for (int i = 0; i < 3; i++)
			if (read(go[0], &c, 1) != 1)
				_exit(1);
		_exit(0);
	}
	close(go[0]);
	ASSERT_TRUE(ktb_wait_for(ktb_is_asleep(pid), 20));
	/* It does not run until that is closed: perf makes the context, and no more. */
	fd = open_event(self->type, pid, -1);
	ASSERT_LE(0, fd);
	close(fd);
	ASSERT_EQ(0, unload("ktrace_bridge"));

	/* perf's turn, while it sleeps and while it runs; then it ends. */
	attr.disabled = 0;
	fd = ktb_perf_open(&attr, pid, -1, -1, 0);
	ASSERT_LE(0, fd);
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(1, write(go[1], "", 1));
		ASSERT_TRUE(ktb_wait_for(ktb_is_asleep(pid) &&
					 ktb_perf_count(fd) > (__u64)i, 20));
	}
	close(fd);
	ASSERT_EQ(1, write(go[1], "", 1));
	EXPECT_EQ(0, ktb_reap(pid));
	close(go[1]);
}

/* Memory whose duplication by a fork waits until who has the descriptor hears of it. */
static int watch_forks(void)
{
	struct uffdio_api api = { .api = UFFD_API, .features = UFFD_FEATURE_EVENT_FORK };
	struct uffdio_register watch = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	watch.range.len = 4096;
	watch.range.start = (unsigned long)mmap(NULL, watch.range.len, PROT_READ | PROT_WRITE,
						MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fd >= 0 && (ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &watch))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

struct forking {
	int type;
	int ours;
	int inherited;
	pid_t child;
};

/* Quickly: on 6.1, when it is switched to, its context is the kernel's. */
static void *open_and_fork(void *arg)
{
	struct perf_event_attr attr = ktb_perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	struct forking *f = arg;

	attr.inherit = 1;
	ktb_pin(0);
	f->ours = open_event(f->type, gettid(), -1);
	f->inherited = ktb_perf_open(&attr, 0, -1, -1, 0);
	/* Like fork(), without descriptors of its own. */
	f->child = syscall(SYS_clone, SIGCHLD | CLONE_FILES, 0, 0, 0, 0);
	if (!f->child)
		_exit(0);
	return NULL;
}

/* The same for what perf has made already for a child that is still being made. */
TEST_F(life, child_outlives_module)
{
	struct pollfd forks = { .events = POLLIN };
	struct forking f = { .type = self->type, .ours = -1 };
	struct uffd_msg told;
	pthread_t thread;
	int fd = watch_forks(), other;

	if (fd < 0)
		SKIP(return, "this kernel has no userfaultfd");
	/* With its probe there already, an event is opened at once. */
	other = open_event(self->type, -1, 0);
	ASSERT_LE(0, other);
	ASSERT_EQ(0, ktb_pin(ktb_cpus() - 1));
	ASSERT_EQ(0, pthread_create(&thread, NULL, open_and_fork, &f));
	forks.fd = fd;
	ASSERT_EQ(1, poll(&forks, 1, 20000));
	ASSERT_EQ(POLLIN, forks.revents);
	ASSERT_LE(0, f.ours);
	ASSERT_LE(0, f.inherited);
	close(f.ours);
	close(other);
	ASSERT_EQ(0, unload("ktrace_bridge"));
	ASSERT_EQ((ssize_t)sizeof(told), read(fd, &told, sizeof(told)));
	EXPECT_EQ(UFFD_EVENT_FORK, told.event);
	close(told.arg.fork.ufd);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(0, ktb_reap(f.child));
	close(f.inherited);
	close(fd);
}

/* Opened with ring and all, on every CPU and for itself; then killed. */
static pid_t start_recorder(int type)
{
	int ready[2];
	char c = 1;
	pid_t pid;

	if (pipe(ready))
		return -1;
	pid = fork();
	if (!pid) {
		struct ktb_perf_ring ring;
		int fd = open_event(type, 0, -1);

		c = fd >= 0;
		for (int cpu = 0; cpu < ktb_cpus(); cpu++) {
			fd = open_event(type, -1, cpu);
			c = c && fd >= 0 && !ktb_perf_map(&ring, fd, 64);
		}
		if (write(ready[1], &c, 1) != 1)
			_exit(1);
		for (;;)
			ktb_perf_take(&ring, NULL, NULL);
	}
	close(ready[1]);
	if (read(ready[0], &c, 1) != 1 || !c) {
		kill(pid, SIGKILL);
		ktb_reap(pid);
		pid = -1;
	}
	close(ready[0]);
	return pid;
}

TEST_F(life, killed)
{
	pid_t pid = start_recorder(self->type);

	ASSERT_LT(0, pid);
	EXPECT_EQ(-EWOULDBLOCK, unload("ktrace_bridge"));
	kill(pid, SIGKILL);
	EXPECT_EQ(128 + SIGKILL, ktb_reap(pid));
	EXPECT_EQ(0, unload("ktrace_bridge"));
}

/* Whoever opened it is killed; a child that inherited it lives on, without it. */
TEST_F(life, killed_before_the_child)
{
	int ready[2], go[2];
	pid_t pid;
	char c;

	ASSERT_EQ(0, pipe(ready));
	ASSERT_EQ(0, pipe(go));
	pid = fork();
	if (!pid) {
		if (open_event(self->type, 0, -1) < 0)
			_exit(1);
		if (!fork()) {
			close(go[1]);
			/* The descriptor is inherited too, and would be an owner. */
			closefrom(go[0] + 1 > ready[1] ? go[0] + 1 : ready[1] + 1);
			if (write(ready[1], "", 1) == 1 && read(go[0], &c, 1) == 0)
				_exit(0);
			_exit(1);
		}
		pause();
		_exit(0);
	}
	close(ready[1]);
	ASSERT_EQ(1, read(ready[0], &c, 1));
	EXPECT_EQ(-EWOULDBLOCK, unload("ktrace_bridge"));
	kill(pid, SIGKILL);
	EXPECT_EQ(128 + SIGKILL, ktb_reap(pid));
	EXPECT_EQ(0, unload("ktrace_bridge"));
	close(go[1]);
}

static void open_and_close(struct ktb_worker *w)
{
	const int *type = w->arg;

	for (__u64 n = 0; n < w->count; n++) {
		int fd = open_event(*type, -1, w->cpu);

		if (fd < 0)
			w->magic = -fd;
		close(fd);
	}
}

static bool has_probe(const char *tracepoint)
{
	char line[256];
	bool found = false;
	FILE *file = fopen(USERS, "r");

	while (file && fgets(line, sizeof(line), file))
		found = found || (!strncmp(line, tracepoint, strlen(tracepoint)) &&
				  line[strlen(tracepoint)] == ' ');
	if (file)
		fclose(file);
	return found;
}

/* The first event of an id, and the last, by several at a time. */
TEST_F_TIMEOUT(life, races, 60)
{
	struct ktb_worker w[4] = {};
	bool watched = !load(TEST_MODULE);
	int last;

	for (int i = 0; i < 4; i++) {
		w[i].work = open_and_close;
		w[i].count = 6;
		w[i].cpu = i % ktb_cpus();
		w[i].arg = &self->type;
		ASSERT_EQ(0, ktb_worker_start(&w[i]));
	}
	for (int i = 0; i < 4; i++)
		ktb_worker_go(&w[i]);
	for (int i = 0; i < 4; i++) {
		EXPECT_TRUE(ktb_worker_wait(&w[i]));
		ktb_worker_finish(&w[i]);
		EXPECT_EQ(0, w[i].magic)
			TH_LOG("refused: %s", strerror(w[i].magic));
	}
	if (watched) {
		EXPECT_FALSE(has_probe("sys_enter"));
		last = open_event(self->type, -1, 0);
		EXPECT_TRUE(has_probe("sys_enter"));
		/* What keeps perf's buffers, as long as an event is open. */
		EXPECT_TRUE(has_probe("initcall_level"));
		close(last);
		EXPECT_FALSE(has_probe("sys_enter"));
		EXPECT_TRUE(ktb_wait_for(!has_probe("initcall_level"), 20));
		EXPECT_EQ(0, unload("ktb_test_events"));
	}
	EXPECT_EQ(0, unload("ktrace_bridge"));
}

/* ---- others on the same tracepoint ---- */

#define FTRACE		2
#define ACTORS		3
#define ENABLE		KTB_TRACEFS "/events/raw_syscalls/sys_enter/enable"

static int write_to(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_TRUNC), error = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		error = -errno;
	close(fd);
	return error;
}

/* Entries that ftrace has of a CPU. */
static long ftrace_entries(int cpu)
{
	char path[128], line[128];
	long entries = -1;
	FILE *file;

	snprintf(path, sizeof(path), KTB_TRACEFS "/per_cpu/cpu%d/stats", cpu);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "entries: %ld", &entries);
	if (file)
		fclose(file);
	return entries;
}

struct actors {
	int type;
	struct ktb_worker w;
	int fd[BOTH];
	struct ktb_perf_ring ring[BOTH];
	bool on[ACTORS];
};

static int actor_begin(struct actors *a, int actor)
{
	a->on[actor] = true;
	if (actor == FTRACE)
		return write_to(ENABLE, "1");
	a->fd[actor] = open_event(actor == OURS ? a->type : PERF_TYPE_TRACEPOINT, a->w.tid, -1);
	if (a->fd[actor] < 0)
		return a->fd[actor];
	return ktb_perf_map(&a->ring[actor], a->fd[actor], 16);
}

static int actor_end(struct actors *a, int actor)
{
	a->on[actor] = false;
	if (actor == FTRACE)
		return write_to(ENABLE, "0");
	ktb_perf_unmap(&a->ring[actor]);
	close(a->fd[actor]);
	return 0;
}

/* Whoever is on sees every hit. */
static void work_and_look(struct __test_metadata *_metadata, struct actors *a)
{
	long entries = ftrace_entries(a->w.cpu);

	ktb_worker_go(&a->w);
	ASSERT_TRUE(ktb_worker_wait(&a->w));
	EXPECT_EQ(a->on[FTRACE] ? HITS : 0, ftrace_entries(a->w.cpu) - entries);
	for (int i = 0; i < BOTH; i++) {
		if (!a->on[i])
			continue;
		EXPECT_EQ(HITS, ktb_perf_take(&a->ring[i], NULL, NULL))
			TH_LOG("%s", i == OURS ? "ours" : "the kernel's");
	}
}

static const int orders[6][ACTORS] = {
	{ 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 },
};

/* In every order of coming and going. */
TEST_F_TIMEOUT(life, any_order, 120)
{
	struct actors a = {
		.type = self->type,
		.w = { .work = ktb_work_syscalls, .count = HITS, .cpu = ktb_cpus() - 1 },
	};
	char tid[16];

	ASSERT_EQ(0, ktb_worker_start(&a.w));
	snprintf(tid, sizeof(tid), "%d", a.w.tid);
	ASSERT_EQ(0, write_to(KTB_TRACEFS "/set_event_pid", tid));
	ASSERT_EQ(0, write_to(KTB_TRACEFS "/trace", ""));
	for (int begin = 0; begin < 6; begin++) {
		for (int end = 0; end < 6; end++) {
			for (int n = 0; n < ACTORS; n++) {
				ASSERT_EQ(0, actor_begin(&a, orders[begin][n]));
				work_and_look(_metadata, &a);
			}
			for (int n = 0; n < ACTORS; n++) {
				ASSERT_EQ(0, actor_end(&a, orders[end][n]));
				work_and_look(_metadata, &a);
			}
		}
	}
	ktb_worker_finish(&a.w);
	write_to(KTB_TRACEFS "/set_event_pid", "");
	write_to(KTB_TRACEFS "/trace", "");
}

/* ---- rounds ---- */

/* It gives way, or modules would take minutes to come and go in an emulated guest. */
static void work_until_told(struct ktb_worker *w)
{
	const bool *stop = w->arg;

	while (!__atomic_load_n(stop, __ATOMIC_RELAXED)) {
		for (int i = 0; i < 20; i++)
			syscall(SYS_getppid);
		usleep(100);
	}
}

/* perf stat, when there is one; and what it does when there is none, and quicker. */
static pid_t start_perf_stat(void)
{
	pid_t pid;

	if (access("/usr/bin/perf", X_OK))
		return -1;
	pid = fork();
	if (!pid) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, 1);
		dup2(null, 2);
		execl("/usr/bin/perf", "perf", "stat", "-a", "-I", "100", "-e",
		      "ktrace_bridge/raw_syscalls:sys_enter/,ktrace_bridge/sched:sched_wakeup/",
		      "sleep", "1000", NULL);
		_exit(127);
	}
	return pid;
}

static bool has_ended(pid_t pid)
{
	siginfo_t info = {};

	return !waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid == pid;
}

static int module_users(void)
{
	FILE *file = fopen("/sys/module/ktrace_bridge/refcnt", "r");
	int count = -1;

	if (file) {
		if (fscanf(file, "%d", &count) != 1)
			count = -1;
		fclose(file);
	}
	return count;
}

TEST_F_TIMEOUT(life, rounds_under_load, 1200)
{
	const char *wanted = getenv("ktb_rounds");
	int rounds = wanted ? atoi(wanted) : ktb_long() ? 12 : 4;
	struct ktb_worker w[KTB_MAX_CPUS] = {};
	bool stop = false;

	for (int i = 0; i < ktb_cpus(); i++) {
		w[i] = (struct ktb_worker) { .cpu = i, .work = work_until_told, .arg = &stop };
		ASSERT_EQ(0, ktb_worker_start(&w[i]));
		ktb_worker_go(&w[i]);
	}
	for (int round = 0; round < rounds; round++) {
		pid_t pid = round % 4 ? -1 : start_perf_stat();
		bool perf = pid > 0;

		if (perf) {
			/* Two events on each CPU: all open. */
			EXPECT_TRUE(ktb_wait_for(module_users() >= 2 * ktb_cpus() ||
						 has_ended(pid), 60));
			EXPECT_FALSE(has_ended(pid));
			usleep(round * 10000 % 150000);
		} else {
			pid = start_recorder(self->type);
		}
		ASSERT_LT(0, pid);
		EXPECT_EQ(-EWOULDBLOCK, unload("ktrace_bridge"));
		kill(pid, SIGKILL);
		EXPECT_EQ(128 + SIGKILL, ktb_reap(pid));
		ASSERT_EQ(0, unload("ktrace_bridge"))
			TH_LOG("round %d, %s", round, perf ? "perf stat" : "a recorder");
		ASSERT_EQ(0, load(MODULE_FILE));
		self->type = ktb_pmu_type();
	}
	TH_LOG("%d rounds", rounds);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < ktb_cpus(); i++) {
		ktb_worker_wait(&w[i]);
		ktb_worker_finish(&w[i]);
	}
}

TEST_HARNESS_MAIN
