// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whose hits an event takes: processes, threads, what they make, and CPUs. Each
 * scene is played once for an event with a native probe and once for one of the
 * perf core; what each thread did is compared with the records, call by call.
 */
#include "ktb_test.h"

#include <pthread.h>
#include <sched.h>
#include <linux/io_uring.h>
#include <linux/sched.h>

#include "ktb_cast.h"

#define CALLS	100

FIXTURE(targets)
{
	struct ktb_nl nl;
	struct ktb_session s;
	struct ktb_event e;
	struct ktb_cast *cast;
	int fd;
};

FIXTURE_VARIANT(targets)
{
	const char *event;
	__u32 path;
};

FIXTURE_VARIANT_ADD(targets, native)
{
	.event = "raw_syscalls:sys_enter",
	.path = KTB_PATH_NATIVE,
};

FIXTURE_VARIANT_ADD(targets, perf)
{
	.event = "syscalls:sys_enter_getppid",
	.path = KTB_PATH_PERF,
};

FIXTURE_SETUP(targets)
{
	ASSERT_CONTROL(&self->nl);
	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_targets", 0, 1 << 20, &self->s));
	self->fd = ktb_dev_open_bind(self->s.id, -1);
	ASSERT_LE(0, self->fd);
	self->cast = ktb_cast_new();
	ASSERT_NE(NULL, self->cast);
}

FIXTURE_TEARDOWN(targets)
{
	ktb_cast_free(self->cast);
	close(self->fd);
	ktb_nl_close(&self->nl);
}

/* ---- a performance ---- */

static void attach(struct __test_metadata *_metadata, FIXTURE_DATA(targets) *self,
		   const FIXTURE_VARIANT(targets) *variant, struct ktb_attach how)
{
	how.name = variant->event;
	ASSERT_EQ(0, ktb_event_attach_as(&self->nl, self->s.id, &how, &self->e))
		TH_LOG("%s: %s", how.name, self->nl.text);
	EXPECT_EQ(variant->path, self->e.path);
}

/* Let @nr threads go that wait, see the process out, and check all. */
static void perform(struct __test_metadata *_metadata, FIXTURE_DATA(targets) *self,
		    pid_t pid, int nr)
{
	ktb_cast_go(self->cast, nr);
	/* Not one of them, at the same time. */
	for (int i = 0; i < CALLS; i++)
		syscall(SYS_getppid);
	EXPECT_EQ(0, ktb_reap(pid));
	ASSERT_EQ(0, ktb_event_detach(&self->nl, self->s.id, self->e.id, &self->e));
	EXPECT_CAST(self->cast, self->fd, &self->e.sum);
	EXPECT_LT(0, self->cast->n);
}

static void make_thread(pthread_t *thread, struct ktb_role *role)
{
	if (pthread_create(thread, NULL, ktb_cast_thread, role))
		_exit(5);
}

/* ---- threads that are there ---- */

static void scene_threads(struct ktb_cast *cast)
{
	struct ktb_role role = { cast, CALLS, .seen = true, .waits = true };
	pthread_t thread[3];

	for (int i = 0; i < 3; i++)
		make_thread(&thread[i], &role);
	ktb_cast_wait(cast);
	ktb_cast_act(cast, CALLS / 2, true);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
}

TEST_F(targets, all_threads_of_a_process)
{
	pid_t pid = ktb_cast_play(self->cast, scene_threads);
	const __u32 pids[] = { pid };

	ASSERT_TRUE(ktb_cast_is_ready(self->cast, 4));
	attach(_metadata, self, variant, (struct ktb_attach){ .pids = pids, .npids = 1 });
	perform(_metadata, self, pid, 4);
	EXPECT_EQ(4, self->cast->n);
	if (variant->path == KTB_PATH_PERF) {
		EXPECT_EQ(3 * CALLS + CALLS / 2, self->e.sum.written);
		EXPECT_EQ(CALLS, self->e.sum.filtered);
	}
}

/* ---- what they make ---- */

static void family(struct ktb_cast *cast, bool seen)
{
	struct ktb_role role = { cast, CALLS, .seen = seen };
	pthread_t thread[2];
	pid_t child;

	for (int i = 0; i < 2; i++)
		make_thread(&thread[i], &role);
	child = fork();
	if (!child) {
		pid_t grandchild = fork();

		if (!grandchild) {
			ktb_cast_act(cast, CALLS, seen);
			_exit(0);
		}
		ktb_cast_act(cast, CALLS, seen);
		ktb_reap(grandchild);
		_exit(0);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	ktb_reap(child);
}

static void scene_family(struct ktb_cast *cast)
{
	ktb_cast_wait(cast);
	ktb_cast_act(cast, CALLS / 2, true);
	family(cast, true);
}

TEST_F(targets, threads_and_children_to_come)
{
	pid_t pid = ktb_cast_play(self->cast, scene_family);
	const __u32 pids[] = { pid };

	ASSERT_TRUE(ktb_cast_is_ready(self->cast, 1));
	attach(_metadata, self, variant,
	       (struct ktb_attach){ .pids = pids, .npids = 1, .inherit = true });
	perform(_metadata, self, pid, 1);
	EXPECT_EQ(5, self->cast->n);
}

static void scene_no_family(struct ktb_cast *cast)
{
	ktb_cast_wait(cast);
	ktb_cast_act(cast, CALLS / 2, true);
	family(cast, false);
}

/* Threads that the kernel makes for a process are the process's: one of io_uring's ends. */
TEST_F(targets, the_kernels_threads_of_a_process)
{
	struct io_uring_params params = { .flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 1 };
	const __u32 pid = getpid();
	struct ktb_attach how = {
		.name = "sched:sched_process_exit", .pids = &pid, .npids = 1, .inherit = true,
	};
	int fd;

	ASSERT_EQ(0, ktb_event_attach_as(&self->nl, self->s.id, &how, &self->e));
	fd = syscall(SYS_io_uring_setup, 1, &params);
	ASSERT_LE(0, fd)
		TH_LOG("%s", strerror(errno));
	close(fd);
	EXPECT_TRUE(ktb_wait_for(!ktb_event_get(&self->nl, self->s.id, self->e.id, &self->e) &&
				 ktb_ledger_own(&self->e.sum), 20));
	EXPECT_EQ(1, ktb_ledger_own(&self->e.sum));
}

TEST_F(targets, without_inherit_none_of_them)
{
	pid_t pid = ktb_cast_play(self->cast, scene_no_family);
	const __u32 pids[] = { pid };

	ASSERT_TRUE(ktb_cast_is_ready(self->cast, 1));
	attach(_metadata, self, variant, (struct ktb_attach){ .pids = pids, .npids = 1 });
	perform(_metadata, self, pid, 1);
	EXPECT_EQ(5, self->cast->n);
}

/* The leader goes; what a thread that stays makes is followed all the same. */
static void *stay(void *arg)
{
	struct ktb_cast *cast = arg;
	struct ktb_role role = { cast, CALLS, .seen = true };
	pthread_t thread;

	ktb_cast_wait(cast);
	ktb_cast_act(cast, CALLS, true);
	make_thread(&thread, &role);
	pthread_join(thread, NULL);
	_exit(0);
}

static void scene_leader_leaves(struct ktb_cast *cast)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, stay, cast))
		_exit(5);
	ktb_cast_wait(cast);
	ktb_cast_act(cast, 1, true);
	syscall(SYS_exit, 0);
}

TEST_F(targets, the_leader_leaves)
{
	pid_t pid = ktb_cast_play(self->cast, scene_leader_leaves);
	const __u32 pids[] = { pid };

	ASSERT_TRUE(ktb_cast_is_ready(self->cast, 2));
	attach(_metadata, self, variant,
	       (struct ktb_attach){ .pids = pids, .npids = 1, .inherit = true });
	perform(_metadata, self, pid, 2);
	EXPECT_EQ(3, self->cast->n);
}

/* ---- single threads ---- */

struct pair {
	struct ktb_cast *cast;
	bool seen;
	bool family;
};

/* Says which thread it is before it waits. */
static void *wait_named(void *arg)
{
	const struct pair *pair = arg;

	ktb_cast_act(pair->cast, 0, pair->seen);
	ktb_cast_wait(pair->cast);
	ktb_cast_act(pair->cast, CALLS, pair->seen);
	if (pair->family)
		family(pair->cast, pair->seen);
	return NULL;
}

static void play_pair(struct ktb_cast *cast, bool inherits)
{
	struct pair one = { cast, .seen = true, .family = inherits };
	struct pair other = { cast, .seen = false };
	pthread_t thread[2];

	if (pthread_create(&thread[0], NULL, wait_named, &one) ||
	    pthread_create(&thread[1], NULL, wait_named, &other))
		_exit(5);
	pthread_join(thread[0], NULL);
	pthread_join(thread[1], NULL);
}

static void scene_pair(struct ktb_cast *cast)
{
	play_pair(cast, false);
}

static void scene_pair_family(struct ktb_cast *cast)
{
	play_pair(cast, true);
}

static __u32 the_seen(const struct ktb_cast *cast)
{
	for (int i = 0; i < cast->n; i++)
		if (cast->actor[i].seen)
			return cast->actor[i].tid;
	return 0;
}

TEST_F(targets, one_thread)
{
	pid_t pid = ktb_cast_play(self->cast, scene_pair);
	__u32 tids[1];

	ASSERT_TRUE(ktb_cast_is_ready(self->cast, 2));
	tids[0] = the_seen(self->cast);
	attach(_metadata, self, variant, (struct ktb_attach){ .tids = tids, .ntids = 1 });
	perform(_metadata, self, pid, 2);
	/* Each of the two is there twice, once before it was traced. */
	EXPECT_EQ(4, self->cast->n);
}

TEST_F(targets, one_thread_and_what_it_makes)
{
	pid_t pid = ktb_cast_play(self->cast, scene_pair_family);
	__u32 tids[1];

	ASSERT_TRUE(ktb_cast_is_ready(self->cast, 2));
	tids[0] = the_seen(self->cast);
	attach(_metadata, self, variant,
	       (struct ktb_attach){ .tids = tids, .ntids = 1, .inherit = true });
	perform(_metadata, self, pid, 2);
	EXPECT_EQ(8, self->cast->n);
}

static void scene_alone(struct ktb_cast *cast)
{
	ktb_cast_wait(cast);
	ktb_cast_act(cast, CALLS, true);
}

TEST_F(targets, several_processes)
{
	pid_t a = ktb_cast_play(self->cast, scene_alone);
	pid_t b = ktb_cast_play(self->cast, scene_alone);
	const __u32 pids[] = { a, b };

	ASSERT_TRUE(ktb_cast_is_ready(self->cast, 2));
	attach(_metadata, self, variant, (struct ktb_attach){ .pids = pids, .npids = 2 });
	ktb_cast_go(self->cast, 2);
	EXPECT_EQ(0, ktb_reap(a));
	EXPECT_EQ(0, ktb_reap(b));
	ASSERT_EQ(0, ktb_event_detach(&self->nl, self->s.id, self->e.id, &self->e));
	EXPECT_CAST(self->cast, self->fd, &self->e.sum);
	EXPECT_EQ(2, self->cast->n);
}

/* ---- exec ---- */

static void scene_exec(struct ktb_cast *cast)
{
	ktb_cast_wait(cast);
	ktb_cast_act(cast, CALLS / 2, true);
	ktb_cast_exec(cast, CALLS, true);
}

TEST_F(targets, exec)
{
	pid_t pid = ktb_cast_play(self->cast, scene_exec);
	const __u32 pids[] = { pid };

	ASSERT_TRUE(ktb_cast_is_ready(self->cast, 1));
	attach(_metadata, self, variant, (struct ktb_attach){ .pids = pids, .npids = 1 });
	ktb_cast_go(self->cast, 1);
	EXPECT_EQ(0, ktb_reap(pid));
	ASSERT_EQ(0, ktb_event_detach(&self->nl, self->s.id, self->e.id, &self->e));
	/* One thread before and after. */
	ASSERT_EQ(2, self->cast->n);
	EXPECT_EQ(self->cast->actor[0].tid, self->cast->actor[1].tid);
	self->cast->actor[1].calls += CALLS / 2;
	self->cast->actor[0].calls = 0;
	EXPECT_CAST(self->cast, self->fd, &self->e.sum);
}

/* A thread that is not the leader executes: it becomes the leader, and only it. */
static void *exec_in_thread(void *arg)
{
	struct ktb_cast *cast = arg;

	ktb_cast_act(cast, 0, true);
	ktb_cast_wait(cast);
	ktb_cast_exec(cast, CALLS, true);
	return NULL;
}

static void scene_exec_of_a_thread(struct ktb_cast *cast)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, exec_in_thread, cast))
		_exit(5);
	/* The leader never comes back from here. */
	pthread_join(thread, NULL);
}

TEST_F(targets, exec_of_a_thread_of_the_process)
{
	pid_t pid = ktb_cast_play(self->cast, scene_exec_of_a_thread);
	const __u32 pids[] = { pid };

	ASSERT_TRUE(ktb_cast_is_ready(self->cast, 1));
	attach(_metadata, self, variant, (struct ktb_attach){ .pids = pids, .npids = 1 });
	perform(_metadata, self, pid, 1);
	ASSERT_EQ(2, self->cast->n);
	EXPECT_NE(pid, self->cast->actor[0].tid);
	EXPECT_EQ(pid, self->cast->actor[1].tid);
}

TEST_F(targets, exec_of_the_thread)
{
	pid_t pid = ktb_cast_play(self->cast, scene_exec_of_a_thread);
	__u32 tids[1];

	ASSERT_TRUE(ktb_cast_is_ready(self->cast, 1));
	tids[0] = the_seen(self->cast);
	EXPECT_NE(pid, tids[0]);
	attach(_metadata, self, variant, (struct ktb_attach){ .tids = tids, .ntids = 1 });
	perform(_metadata, self, pid, 1);
	ASSERT_EQ(2, self->cast->n);
	EXPECT_EQ(pid, self->cast->actor[1].tid);
}

/* ---- the end ---- */

static pid_t fork_as(pid_t pid)
{
	struct clone_args args = {
		.exit_signal = SIGCHLD,
		.set_tid = (__u64)(unsigned long)&pid,
		.set_tid_size = 1,
	};

	return syscall(SYS_clone3, &args, sizeof(args));
}

/* A number that comes again is another process, which nobody asked for. */
TEST_F(targets, exit_and_the_number_again)
{
	pid_t pid = ktb_cast_play(self->cast, scene_alone), again;
	const __u32 pids[] = { pid };
	struct ktb_event before;

	ASSERT_TRUE(ktb_cast_is_ready(self->cast, 1));
	attach(_metadata, self, variant,
	       (struct ktb_attach){ .pids = pids, .npids = 1, .inherit = true });
	ktb_cast_go(self->cast, 1);
	EXPECT_EQ(0, ktb_reap(pid));
	ASSERT_EQ(0, ktb_event_get(&self->nl, self->s.id, self->e.id, &before));
	EXPECT_LE(CALLS, before.sum.written);

	again = fork_as(pid);
	if (!again) {
		for (int i = 0; i < CALLS; i++)
			syscall(SYS_getppid);
		_exit(0);
	}
	ASSERT_EQ(pid, again);
	EXPECT_EQ(0, ktb_reap(again));
	ASSERT_EQ(0, ktb_event_detach(&self->nl, self->s.id, self->e.id, &self->e));
	EXPECT_EQ(before.sum.written, self->e.sum.written);
	EXPECT_CAST(self->cast, self->fd, &self->e.sum);
}

/* ---- a pid namespace ---- */

/*
 * The first process of a new one: attaches to process 2 of it. Returns 0, or
 * where it went wrong.
 */
static int in_namespace(const FIXTURE_VARIANT(targets) *variant, pid_t outer)
{
	struct ktb_cast *cast = ktb_cast_new();
	pid_t pid = cast ? ktb_cast_play(cast, scene_alone) : -1;
	const __u32 inside[] = { 2 }, outside[] = { outer };
	struct ktb_attach how = { .name = variant->event, .pids = inside, .npids = 1 };
	struct ktb_attach not = { .name = variant->event, .pids = outside, .npids = 1 };
	struct ktb_session s;
	struct ktb_event e;
	struct ktb_nl nl;

	if (getpid() != 1 || pid != 2 || !ktb_cast_is_ready(cast, 1))
		return 10;
	if (ktb_nl_open(&nl) || ktb_session_new(&nl, "t_namespace", 0, 65536, &s))
		return 11;
	/* What it cannot see is not there. */
	if (ktb_event_attach_as(&nl, s.id, &not, NULL) != -ESRCH)
		return 12;
	if (ktb_event_attach_as(&nl, s.id, &how, &e))
		return 13;
	ktb_cast_go(cast, 1);
	if (ktb_reap(pid))
		return 14;
	if (ktb_event_detach(&nl, s.id, e.id, &e))
		return 15;
	if (e.sum.hits != ktb_ledger_sum(&e.sum) || ktb_ledger_lost(&e.sum))
		return 16;
	if (variant->path == KTB_PATH_PERF ? e.sum.written != CALLS : e.sum.written <= CALLS)
		return 17;
	return 0;
}

TEST_F(targets, numbers_of_a_pid_namespace)
{
	pid_t outer = getpid(), pid = fork();

	ASSERT_LE(0, pid);
	if (!pid) {
		if (unshare(CLONE_NEWPID))
			_exit(20);
		pid = fork();
		if (!pid)
			_exit(in_namespace(variant, outer));
		_exit(ktb_reap(pid));
	}
	EXPECT_EQ(0, ktb_reap(pid));
}

/* ---- CPUs ---- */

struct on_cpu {
	int cpu;
	__u64 calls;
	__u64 elsewhere;
	pid_t tid;
};

static void take_cpu(const struct ktb_sample *s, void *arg)
{
	struct on_cpu *on = arg;

	on->elsewhere += (int)s->cpu != on->cpu;
	on->calls += ktb_syscall_nr(s->raw) == SYS_getppid && (pid_t)s->tid == on->tid;
}

TEST_F(targets, cpus)
{
	struct ktb_worker a = { .cpu = 0, .work = ktb_work_syscalls, .count = CALLS };
	struct ktb_worker b = { .cpu = 1, .work = ktb_work_syscalls, .count = CALLS };
	struct on_cpu on = { .cpu = 1 };
	struct ktb_walk walk = {};
	struct ktb_ring ring;

	if (ktb_cpus() < 2)
		SKIP(return, "one CPU only");
	ASSERT_EQ(0, ktb_worker_start(&a));
	ASSERT_EQ(0, ktb_worker_start(&b));
	attach(_metadata, self, variant, (struct ktb_attach){ .cpus = "1" });
	ktb_worker_go(&a);
	ktb_worker_go(&b);
	ASSERT_TRUE(ktb_worker_wait(&a));
	ASSERT_TRUE(ktb_worker_wait(&b));
	ASSERT_EQ(0, ktb_event_detach(&self->nl, self->s.id, self->e.id, &self->e));
	on.tid = b.tid;
	for (int cpu = 0; cpu < 2; cpu++) {
		ASSERT_EQ(0, ktb_ring_map(&ring, self->fd, cpu));
		ktb_ring_walk(&ring, &walk, take_cpu, &on);
		ktb_ring_unmap(&ring);
	}
	EXPECT_EQ(CALLS, on.calls);
	EXPECT_EQ(0, on.elsewhere);
	EXPECT_EQ(self->e.sum.written, walk.samples);
	EXPECT_LEDGER(&self->e.sum);
	ktb_worker_finish(&a);
	ktb_worker_finish(&b);
}

/* ---- refusals ---- */

static int refuse(FIXTURE_DATA(targets) *self, const FIXTURE_VARIANT(targets) *variant,
		  struct ktb_attach how)
{
	how.name = variant->event;
	return ktb_event_attach_as(&self->nl, self->s.id, &how, NULL);
}

TEST_F(targets, refusals)
{
	__u32 many[65], gone, none = 0, me = getpid();
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	ktb_reap(pid);
	gone = pid;
	for (int i = 0; i < 65; i++)
		many[i] = me;
	EXPECT_REFUSED(&self->nl, ESRCH, "no such process",
		       refuse(self, variant, (struct ktb_attach){ .pids = &gone, .npids = 1 }));
	EXPECT_REFUSED(&self->nl, ESRCH, "no such thread",
		       refuse(self, variant, (struct ktb_attach){ .tids = &gone, .ntids = 1 }));
	EXPECT_REFUSED(&self->nl, EINVAL, "0",
		       refuse(self, variant, (struct ktb_attach){ .pids = &none, .npids = 1 }));
	EXPECT_REFUSED(&self->nl, EINVAL, "64",
		       refuse(self, variant, (struct ktb_attach){ .pids = many, .npids = 65 }));
	EXPECT_REFUSED(&self->nl, EINVAL, "inherit",
		       refuse(self, variant, (struct ktb_attach){ .inherit = true }));
	EXPECT_REFUSED(&self->nl, EINVAL, "no such CPU",
		       refuse(self, variant, (struct ktb_attach){ .cpus = "0,4000" }));
	EXPECT_REFUSED(&self->nl, EINVAL, "list of CPUs",
		       refuse(self, variant, (struct ktb_attach){ .cpus = "one" }));
	EXPECT_REFUSED(&self->nl, EINVAL, "list of CPUs",
		       refuse(self, variant, (struct ktb_attach){ .cpus = "" }));
	EXPECT_EQ(0, ktb_event_count(&self->nl));
}

int main(int argc, char **argv)
{
	if (argc == 5 && !strcmp(argv[1], KTB_CAST_ARG))
		return ktb_cast_main(argv);
	ktb_scale_timeouts();
	return test_harness_run(argc, argv);
}
