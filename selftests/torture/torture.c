// SPDX-License-Identifier: GPL-2.0-only
/*
 * torture SECONDS SEED: the conductor. The time is spent in rounds, each with
 *
 *   1. the module held: everything happens at once, unloading is refused;
 *   2. a halt: the ledgers of all sessions are looked at;
 *   3. the module free to go: it is unloaded and loaded meanwhile;
 *   4. a rest: everybody gives up what they have; nothing may be left then, and
 *      the module is unloaded and loaded in peace.
 *
 * The first round warms up; from its end to that of the last one, the memory in
 * use must not grow. On a slow machine there are more rounds, at most twice as
 * many, until each action ran.
 */
#include "torture.h"
#include "judge.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE	600	/* seconds that a step may take at most */

static const struct {
	const struct kind *kind;
	int nr;
} crew[] = {
	{ &control_kind, 4 }, { &owner_kind, 1 }, { &reader_kind, 4 }, { &audit_kind, 2 },
	{ &hotplug_kind, 1 }, { &unload_kind, 1 }, { &foreign_kind, 1 }, { &perf_kind, 1 },
	{ &ftrace_kind, 1 }, { &bpf_kind, 1 }, { &load_kind, 3 },
	/* last, so that the others' schedules are those of kernels without it */
	{ &fault_kind, 2 },
};

static __u64 seed;
static bool with_faults;
static int nr_workers;
static int held = -1;	/* a descriptor of the device: the module is in use */

static void wait_between(struct worker *w, __u64 took)
{
	unsigned int ms = draw(&w->rng, w->kind->pause + 1), part;

	if (w->kind->modest && ms < 3 * took / 1000000)
		ms = 3 * took / 1000000;
	for (; ms && !stopping(); ms -= part) {
		part = ms < 100 ? ms : 100;
		sleep_ms(part);
	}
}

static void worker_step(struct worker *w)
{
	__u64 begin = ktb_now();
	/* Neighbouring numbers are to give streams that have nothing in common. */
	struct rng mix = { .state = seed ^ (__u64)(w->nr + 1) << 32 ^ w->step << 40 ^ w->step };

	w->rng.state = (__u64)draw(&mix, ~0U) << 32 | draw(&mix, ~0U);
	shared->worker[w->nr].step = w->step;
	w->kind->step(w);
	wait_between(w, ktb_now() - begin);
	w->step++;
}

static void worker_run(const struct kind *kind, int nr)
{
	struct worker w = { .kind = kind, .nr = nr };
	enum phase phase, at = REST;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	while (at != STOP) {
		phase = __atomic_load_n(&shared->phase, __ATOMIC_ACQUIRE);
		if (phase != at) {
			if (phase >= REST && at < REST && kind->rest)
				kind->rest(&w);
			at = phase;
			__atomic_store_n(&shared->worker[nr].at, at, __ATOMIC_RELEASE);
		}
		if (at == RUN)
			worker_step(&w);
		else
			sleep_ms(20);
	}
	_exit(0);
}

static const struct kind *kind_of(int nr)
{
	for (size_t i = 0; i < ARRAY_SIZE(crew); i++) {
		if (nr < crew[i].nr)
			return crew[i].kind;
		nr -= crew[i].nr;
	}
	return NULL;
}

static void start_crew(void)
{
	const struct kind *kind;

	while ((kind = kind_of(nr_workers)) && (kind != &fault_kind || with_faults)) {
		int nr = nr_workers++;
		pid_t pid;

		shared->worker[nr].at = REST;
		pid = fork();
		if (pid == 0)
			worker_run(kind, nr);
		shared->worker[nr].pid = pid;
	}
}

/* Nobody ends before being told to. */
static void check_crew(void)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (int i = 0; i < nr_workers; i++) {
			if (shared->worker[i].pid != pid)
				continue;
			complain(NULL, "%s %d died of status %#x in %s, step %llu",
				 kind_of(i)->name, i, status,
				 action_name(shared->worker[i].action), shared->worker[i].step);
			shared->worker[i].pid = 0;
		}
	}
}

static void tell_of_stuck(int nr)
{
	char path[64], stack[2048] = "";

	snprintf(path, sizeof(path), "/proc/%d/stack", shared->worker[nr].pid);
	read_file(path, stack, sizeof(stack));
	complain(NULL, "%s %d is stuck in %s, step %llu", kind_of(nr)->name, nr,
		 action_name(shared->worker[nr].action), shared->worker[nr].step);
	printf("# stack of %s %d:\n%s", kind_of(nr)->name, nr, stack);
}

static bool arrived(int nr, enum phase phase)
{
	return !shared->worker[nr].pid ||
	       __atomic_load_n(&shared->worker[nr].at, __ATOMIC_ACQUIRE) == phase;
}

/* For who looks on, and for the kernel's log. */
static void say_phase(const char *what)
{
	char text[80];

	snprintf(text, sizeof(text), "torture: %s\n", what);
	ktb_write_file("/dev/kmsg", text);
	printf("# %llu s: %s\n", ktb_now() / 1000000000, what);
	fflush(stdout);
}

/* Tell everybody, and wait until they are there. False if somebody never is. */
static bool enter(enum phase phase)
{
	__u64 until = ktb_now() + PATIENCE * 1000000000ULL;
	bool all = true;

	__atomic_store_n(&shared->phase, phase, __ATOMIC_RELEASE);
	for (int i = 0; i < nr_workers && phase != STOP; i++) {
		while (!arrived(i, phase) && ktb_now() < until) {
			check_crew();
			sleep_ms(5);
		}
		if (!arrived(i, phase)) {
			tell_of_stuck(i);
			all = false;
		}
	}
	if (!all)
		ktb_write_file("/proc/sysrq-trigger", "w");
	return all;
}

static bool run(unsigned int ms)
{
	__u64 until = ktb_now() + ms * 1000000ULL;

	if (!enter(RUN))
		return false;
	while (ktb_now() < until) {
		check_crew();
		sleep_ms(50);
	}
	return true;
}

static bool hold_module(bool hold)
{
	if (hold) {
		held = ktb_dev_open();
		if (held < 0)
			complain(NULL, "the device cannot be opened: %s", strerror(-held));
	} else if (held >= 0) {
		close(held);
		held = -1;
	}
	__atomic_store_n(&shared->may_unload, !hold, __ATOMIC_RELEASE);
	return !hold || held >= 0;
}

static void load_module(void)
{
	int error = module_load(MODULE_FILE);

	if (error)
		complain(NULL, "load: %s", strerror(-error));
	else
		__atomic_fetch_add(&shared->ran[A_RELOAD], 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&shared->generation, 1, __ATOMIC_RELEASE);
}

/*
 * False if it makes no sense to go on. Memory is looked at with the module away,
 * if asked for.
 */
static bool round_of(unsigned int ms, struct memory *memory)
{
	say_phase("all at once, module held");
	if (!hold_module(true) || !run(ms / 3 * 2) || !enter(PAUSE))
		return false;
	say_phase("halt");
	judge_ledgers();
	hold_module(false);
	say_phase("all at once, module free");
	if (!run(ms / 3) || !enter(REST))
		return false;
	say_phase("rest");
	if (!module_loaded(MODULE)) {
		complain(NULL, "the module is away");
		return false;
	}
	judge_ledgers();
	judge_no_sessions();
	judge_fresh_session();
	judge_unload();
	judge_probes();
	if (memory)
		*memory = memory_now();
	load_module();
	return true;
}

static void say_complaints(void)
{
	int nr = shared->complaints;

	result(!nr, "nothing unexpected happened (%d complaints)", nr);
	for (int i = 0; i < nr && i < MAX_COMPLAINTS; i++)
		printf("# %s\n", shared->complaint[i]);
}

/* As many as planned, and twice as many if need be. */
static bool one_more(unsigned int round, unsigned int planned)
{
	return round < planned || (round < 2 * planned && actions_missing(with_faults));
}

static void final_judgement(bool complete, const struct memory *first, const struct memory *last)
{
	result(complete, "all workers came to every halt");
	say_complaints();
	judge_actions(with_faults);
	result(shared->ledgers > 0, "%llu ledgers were exact, unless said otherwise",
	       shared->ledgers);
	result(shared->records > 0, "%llu records were read, as many as were written",
	       shared->records);
	if (with_faults)
		result(faults_had() > 0, "%ld allocations failed on request", faults_had());
	else
		result_skip("allocations fail on request", "this kernel has no failslab");
	if (complete)
		judge_memory(first, last);
}

int main(int argc, char **argv)
{
	unsigned int seconds = argc > 1 ? atoi(argv[1]) : 60, rounds, i;
	struct memory first = { 0 }, last = { 0 };
	bool complete = true;

	seed = argc > 2 ? strtoull(argv[2], NULL, 0) : ktb_now();
	printf("TAP version 13\n# seed %llu, %u seconds\n", seed, seconds);
	fflush(stdout);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (shared == MAP_FAILED)
		return 1;
	shared->phase = REST;
	/* Whoever detaches waits for RCU, with locks held that others want. */
	if (ktb_write_file("/sys/kernel/rcu_expedited", "1"))
		printf("# RCU will not hurry\n");
	with_faults = faults_init();
	if (module_loaded(MODULE))
		module_unload(MODULE);
	judge_probes_first();
	load_module();
	start_crew();

	rounds = seconds / 60 > 2 ? seconds / 60 : 2;
	for (i = 0; complete && one_more(i, rounds); i++)
		complete = round_of(seconds * 1000 / rounds, i ? NULL : &first);
	hold_module(false);
	if (complete) {
		judge_unload();
		last = memory_now();
		enter(STOP);
	}
	final_judgement(complete, &first, &last);
	return results_end() ? 0 : 1;
}
