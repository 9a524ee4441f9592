// SPDX-License-Identifier: GPL-2.0-only
/*
 * Load that hits the events, on all CPUs, in bursts: a CPU that never rests keeps
 * the others waiting, where one thread of the host plays all of them.
 */
#include "torture.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILE_NAME	"/tmp/torture.load"
#define BURST		5000000ULL	/* nanoseconds, about */

static __u64 burst_end;

/* So many turns, or as many as there is time for. */
static bool go_on(int *turns)
{
	return (*turns)-- > 0 && ktb_now() < burst_end;
}

static void load_syscalls(struct worker *w)
{
	int turns = draw(&w->rng, 1000);

	while (go_on(&turns))
		syscall(SYS_getppid);
}

static void load_pipe(struct worker *w)
{
	int there[2], back[2], turns = draw(&w->rng, 100);
	char c = 0;
	pid_t child;

	if (pipe2(there, O_CLOEXEC) || pipe2(back, O_CLOEXEC))
		return;
	child = fork();
	if (child == 0) {
		close(there[1]);
		while (read(there[0], &c, 1) == 1)
			if (write(back[1], &c, 1) != 1)
				break;
		_exit(0);
	}
	while (child > 0 && go_on(&turns))
		if (write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1)
			break;
	close(there[0]);
	close(there[1]);
	close(back[0]);
	close(back[1]);
	if (child > 0)
		waitpid(child, NULL, 0);
}

static void load_exec(struct worker *w)
{
	int turns = 1 + draw(&w->rng, 3);

	while (go_on(&turns)) {
		pid_t child = fork();

		if (child == 0) {
			execl("/bin/true", "true", NULL);
			_exit(1);
		}
		__atomic_store_n(&shared->victim, child, __ATOMIC_RELAXED);
		if (child > 0)
			waitpid(child, NULL, 0);
	}
}

static void load_pages(struct worker *w)
{
	size_t size = 4096UL << draw(&w->rng, 7);
	char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = open(FILE_NAME, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (at != MAP_FAILED && fd >= 0) {
		memset(at, 1, size);
		if (write(fd, at, size) > 0 && ftruncate(fd, 0))
			complain(w, "no page cache");
	}
	if (at != MAP_FAILED)
		munmap(at, size);
	close(fd);
}

static void load_timers(struct worker *w)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	struct itimerspec t = {
		.it_value.tv_nsec = 100000 + draw(&w->rng, 1000000),
		.it_interval.tv_nsec = 500000,
	};
	int turns = draw(&w->rng, 20);
	__u64 ticks;

	if (fd < 0 || timerfd_settime(fd, 0, &t, NULL))
		complain(w, "no timer: %s", strerror(errno));
	while (fd >= 0 && go_on(&turns))
		if (read(fd, &ticks, sizeof(ticks)) < 0)
			break;
	close(fd);
}

static void on_signal(int sig)
{
	(void)sig;
}

static void load_signals(struct worker *w)
{
	int turns = draw(&w->rng, 200);

	signal(SIGUSR1, on_signal);
	while (go_on(&turns))
		raise(SIGUSR1);
}

static void load_step(struct worker *w)
{
	static const struct {
		enum action action;
		void (*run)(struct worker *w);
	} menu[] = {
		{ A_LOAD_SYSCALLS, load_syscalls }, { A_LOAD_PIPE, load_pipe },
		{ A_LOAD_EXEC, load_exec }, { A_LOAD_PAGES, load_pages },
		{ A_LOAD_TIMERS, load_timers }, { A_LOAD_SIGNALS, load_signals },
	};
	int i = draw(&w->rng, ARRAY_SIZE(menu)), cpu = draw(&w->rng, CPUS);

	begin(w, menu[i].action);
	/* Fails when it is off: then anywhere. */
	ktb_pin(cpu);
	burst_end = ktb_now() + BURST;
	menu[i].run(w);
	end(w, menu[i].action, 0);
}

const struct kind load_kind = {
	.name = "load", .step = load_step, .pause = 100, .modest = true,
};
