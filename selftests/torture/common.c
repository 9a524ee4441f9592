// SPDX-License-Identifier: GPL-2.0-only
/* What all workers use. */
#include "torture.h"
#include "ktb_faults.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MANY_FAULTS	1000000

struct shared *shared;

static const struct {
	enum action action;
	const char *name;
} actions[NR_ACTIONS] = {
#define X(id, name) { A_##id, name },
	ACTIONS(X)
#undef X
};

const char *action_name(enum action what)
{
	return actions[what].name;
}

/* All contexts: task, softirq, hardirq; often and seldom; fork, exec and exit. */
const char * const event_names[NR_EVENTS] = {
	"raw_syscalls:sys_enter", "raw_syscalls:sys_exit",
	"sched:sched_switch", "sched:sched_wakeup", "sched:sched_waking",
	"sched:sched_process_fork", "sched:sched_process_exit",
	"signal:signal_generate", "signal:signal_deliver",
	"irq:softirq_entry", "timer:hrtimer_expire_entry", "timer:timer_start",
	"workqueue:workqueue_execute_start", "task:task_newtask",
};

/* splitmix64 */
__u32 draw(struct rng *rng, __u32 n)
{
	__u64 z = rng->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return (z ^ (z >> 31)) % n;
}

const char *draw_event(struct rng *rng)
{
	return event_names[draw(rng, NR_EVENTS)];
}

const char *draw_session(struct rng *rng)
{
	static char name[8];

	snprintf(name, sizeof(name), "t_%u", draw(rng, SLOTS));
	return name;
}

/* A page to 256 KiB: small ones run over, which is wanted. */
__u64 draw_ring_size(struct rng *rng)
{
	return 4096ULL << draw(rng, 7);
}

/* A worker, somebody about to go, or somebody who may not be there at all. */
__u32 draw_pid(struct rng *rng)
{
	pid_t pid = 0;

	switch (draw(rng, 4)) {
	case 0:
		pid = __atomic_load_n(&shared->victim, __ATOMIC_RELAXED);
		break;
	case 1:
		pid = 2 + draw(rng, 30000);
		break;
	default:
		pid = shared->worker[draw(rng, MAX_WORKERS)].pid;
	}
	return pid > 0 ? pid : getpid();
}

void sleep_ms(unsigned int ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

bool stopping(void)
{
	return __atomic_load_n(&shared->phase, __ATOMIC_RELAXED) != RUN;
}

bool hurry(void)
{
	return stopping() || __atomic_load_n(&shared->keep_off, __ATOMIC_RELAXED);
}

ssize_t read_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len;

	if (fd < 0)
		return -errno;
	len = read(fd, text, size - 1);
	if (len < 0)
		len = -errno;
	close(fd);
	text[len < 0 ? 0 : len] = '\0';
	return len;
}

int module_load(const char *file)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC), error = 0;

	if (fd < 0)
		return -errno;
	if (syscall(SYS_finit_module, fd, "", 0))
		error = -errno;
	close(fd);
	return error;
}

int module_unload(const char *name)
{
	return syscall(SYS_delete_module, name, O_NONBLOCK) ? -errno : 0;
}

bool module_loaded(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/module/%s", name);
	return access(path, F_OK) == 0;
}

void begin(const struct worker *w, enum action what)
{
	__atomic_store_n(&shared->worker[w->nr].action, what, __ATOMIC_RELAXED);
}

void complain(const struct worker *w, const char *format, ...)
{
	__u32 nr = __atomic_fetch_add(&shared->complaints, 1, __ATOMIC_RELAXED);
	size_t size = sizeof(shared->complaint[0]);
	va_list args;
	int len = 0;

	if (nr >= MAX_COMPLAINTS)
		return;
	if (w)
		len = snprintf(shared->complaint[nr], size, "%s %d, step %llu: ",
			       w->kind->name, w->nr, w->step);
	va_start(args, format);
	vsnprintf(shared->complaint[nr] + len, size - len, format, args);
	va_end(args);
	/* When it happened is seen in the kernel's log. */
	ktb_write_file("/dev/kmsg", shared->complaint[nr]);
}

void end_action(const struct worker *w, enum action what, int error, const int *expected)
{
	if (!error) {
		__atomic_fetch_add(&shared->ran[what], 1, __ATOMIC_RELAXED);
		return;
	}
	__atomic_fetch_add(&shared->refused[what], 1, __ATOMIC_RELAXED);
	/* A module on its way out refuses in many ways. */
	if (module_moved(w) && (error == -ENOENT || error == -ENODEV || error == -ENXIO ||
				error == -EPROTONOSUPPORT || error == -ENOTCONN))
		return;
	while (*expected && -error != *expected)
		expected++;
	if (!*expected)
		complain(w, "%s: %s%s%s", action_name(what), strerror(-error),
			 w->nl.text[0] ? ": " : "", w->nl.text);
}

bool module_moved(const struct worker *w)
{
	return __atomic_load_n(&shared->may_unload, __ATOMIC_ACQUIRE) ||
	       w->generation != __atomic_load_n(&shared->generation, __ATOMIC_ACQUIRE);
}

void control_close(struct worker *w)
{
	if (w->generation)
		ktb_nl_close(&w->nl);
	w->generation = 0;
	w->nl.text[0] = '\0';
}

struct ktb_nl *control(struct worker *w)
{
	__u32 generation = __atomic_load_n(&shared->generation, __ATOMIC_ACQUIRE);
	int error;

	if (w->generation == generation)
		return &w->nl;
	control_close(w);
	error = ktb_nl_open(&w->nl);
	if (!error) {
		w->generation = generation;
		return &w->nl;
	}
	w->nl.text[0] = '\0';
	if (error != -ENOENT || !__atomic_load_n(&shared->may_unload, __ATOMIC_ACQUIRE))
		complain(w, "no socket: %s", strerror(-error));
	return NULL;
}

int find_session(struct worker *w, const char *name, struct ktb_session *s)
{
	struct ktb_nl *nl = control(w);

	return nl ? ktb_session_find(nl, name, s) : -ENOENT;
}

static void take_ids(__u8 cmd, const struct nlattr *attrs, size_t len, void *arg)
{
	__u64 *id = arg;
	const struct nlattr *a;
	size_t left;

	(void)cmd;
	ktb_attr_for_each(a, attrs, len, left)
		if (a->nla_type == KTB_A_EVENT_ID)
			*id = ktb_attr_uint(a);
}

static void put_source(struct ktb_msg *m, const struct how *how)
{
	struct perf_event_attr clock = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.size = sizeof(clock),
		.sample_period = 3000000,
	};

	if (how->clock)
		ktb_put(m, KTB_A_EVENT_PERF_ATTR, &clock, sizeof(clock));
	if (how->function)
		ktb_put_str(m, KTB_A_EVENT_FUNCTION, how->function);
	if (how->graph)
		ktb_put(m, KTB_A_EVENT_GRAPH, NULL, 0);
}

int attach(struct ktb_nl *nl, __u32 session, const struct how *how, struct ktb_event *e)
{
	struct ktb_msg m;
	__u64 id = 0;
	int error;

	ktb_msg_init(nl, &m, KTB_CMD_EVENT_ATTACH, 0);
	ktb_put_u32(&m, KTB_A_EVENT_SESSION_ID, session);
	ktb_put_str(&m, KTB_A_EVENT_NAME, how->name);
	put_source(&m, how);
	if (how->period > 1)
		ktb_put_u64(&m, KTB_A_EVENT_PERIOD, how->period);
	if (how->pid)
		ktb_put_u32(&m, KTB_A_EVENT_PID, how->pid);
	if (how->tid)
		ktb_put_u32(&m, KTB_A_EVENT_TID, how->tid);
	if (how->inherit)
		ktb_put(&m, KTB_A_EVENT_INHERIT, NULL, 0);
	if (how->cpus)
		ktb_put_str(&m, KTB_A_EVENT_CPUS, how->cpus);
	if (how->disabled)
		ktb_put_u8(&m, KTB_A_EVENT_ENABLED, 0);
	error = ktb_nl_do(nl, &m, take_ids, &id);
	if (e) {
		memset(e, 0, sizeof(*e));
		e->session = session;
		e->id = id;
		snprintf(e->name, sizeof(e->name), "%s", how->name);
	}
	return error;
}

int attach_plain(struct ktb_nl *nl, __u32 session, const char *name, struct ktb_event *e)
{
	return attach(nl, session, &(struct how) { .name = name }, e);
}

static void take_session_id(__u8 cmd, const struct nlattr *attrs, size_t len, void *arg)
{
	struct ktb_session *s = arg;
	const struct nlattr *a;
	size_t left;

	(void)cmd;
	ktb_attr_for_each(a, attrs, len, left)
		if (a->nla_type == KTB_A_SESSION_ID)
			s->id = ktb_attr_uint(a);
}

int session_new(struct ktb_nl *nl, const char *name, __u32 flags, __u64 ring_size,
		__u32 watermark, struct ktb_session *s)
{
	struct ktb_session unused;
	struct ktb_msg m;

	ktb_msg_init(nl, &m, KTB_CMD_SESSION_NEW, 0);
	ktb_put_str(&m, KTB_A_SESSION_NAME, name);
	if (flags)
		ktb_put_u32(&m, KTB_A_SESSION_FLAGS, flags);
	ktb_put_u64(&m, KTB_A_SESSION_RING_SIZE, ring_size);
	if (watermark)
		ktb_put_u32(&m, KTB_A_SESSION_WATERMARK, watermark);
	s = s ?: &unused;
	memset(s, 0, sizeof(*s));
	return ktb_nl_do(nl, &m, take_session_id, s);
}

static void take_id(__u8 cmd, const struct nlattr *attrs, size_t len, void *arg)
{
	struct ids *ids = arg;
	const struct nlattr *a;
	size_t left;

	(void)cmd;
	ktb_attr_for_each(a, attrs, len, left)
		if (a->nla_type == ids->attr && ids->nr < 1024)
			ids->id[ids->nr++] = ktb_attr_uint(a);
}

int dump_ids(struct ktb_nl *nl, __u8 cmd, __u16 attr, __u32 session, struct ids *ids)
{
	struct ktb_msg m;

	ids->attr = attr;
	ids->nr = 0;
	ktb_msg_init(nl, &m, cmd, NLM_F_DUMP);
	if (session)
		ktb_put_u32(&m, KTB_A_EVENT_SESSION_ID, session);
	return ktb_nl_do(nl, &m, take_id, ids);
}

void check_ledger(const struct worker *w, const struct ktb_event *e)
{
	const struct ktb_ledger *l = &e->sum;

	__atomic_fetch_add(&shared->ledgers, 1, __ATOMIC_RELAXED);
	if (l->hits != ktb_ledger_sum(l))
		complain(w, "%s of session %u: %llu hits, %llu + %llu + %llu + %llu + %llu + %llu",
			 e->name, e->session, l->hits, l->written, l->filtered,
			 l->not_sampled, l->lost_full, l->lost_big, l->lost_recursion);
}

/* Of tasks that ask for it alone. */
bool faults_init(void)
{
	static const char * const files[][2] = {
		{ KTB_FAILSLAB "task-filter", "Y" },
		/* one in 200 */
		{ KTB_FAILSLAB "interval", "2" },
		{ KTB_FAILSLAB "probability", "1" },
		{ KTB_FAILSLAB "times", "1000000" },
		{ KTB_FAILPAGE "task-filter", "Y" },
		/* one in 1000: a ring takes many pages */
		{ KTB_FAILPAGE "interval", "10" },
		{ KTB_FAILPAGE "probability", "1" },
		{ KTB_FAILPAGE "times", "1000000" },
	};

	if (ktb_faults_init())
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (ktb_write_file(files[i][0], files[i][1]))
			return false;
	return true;
}

void faults(bool on)
{
	ktb_write_file("/proc/thread-self/make-it-fail", on ? "1" : "0");
}

long faults_had(void)
{
	char slab[24], page[24];

	if (read_file(KTB_FAILSLAB "times", slab, sizeof(slab)) < 0 ||
	    read_file(KTB_FAILPAGE "times", page, sizeof(page)) < 0)
		return 0;
	return 2 * MANY_FAULTS - atol(slab) - atol(page);
}

void kill_family(pid_t child)
{
	kill(-child, SIGKILL);
	kill(child, SIGKILL);
	/* Its orphans are ours: the worker is their reaper. */
	while (waitpid(-child, NULL, 0) > 0 || errno == EINTR)
		continue;
}

pid_t start_child(struct worker *w, void (*fn)(struct worker *w, void *arg), void *arg)
{
	pid_t child;

	__atomic_store_n(&shared->worker[w->nr].acts, 0, __ATOMIC_RELAXED);
	child = fork();
	if (child < 0)
		return -errno;
	if (child == 0) {
		setpgid(0, 0);
		fn(w, arg);
		_exit(0);
	}
	/* Whoever comes first: the group is there before it is killed. */
	setpgid(child, child);
	return child;
}

void child_acted(const struct worker *w)
{
	__atomic_fetch_add(&shared->worker[w->nr].acts, 1, __ATOMIC_RELAXED);
}

bool child_ended(const struct worker *w, pid_t child, unsigned int acts)
{
	__u32 *done = &shared->worker[w->nr].acts;
	__u64 until = ktb_now() + 5000000000ULL;
	siginfo_t info = { .si_pid = 0 };

	for (;;) {
		if (waitid(P_PID, child, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid)
			return true;
		if (__atomic_load_n(done, __ATOMIC_RELAXED) >= acts || ktb_now() >= until ||
		    hurry())
			return false;
		sleep_ms(5);
	}
}
