// SPDX-License-Identifier: GPL-2.0-only
/* A thread, pinned to a CPU, that makes a known number of hits. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ktb_worker.h"

enum { STARTING, READY, GO, DONE, END, FAILED };

static int stage(const struct ktb_worker *w)
{
	return __atomic_load_n(&w->stage, __ATOMIC_ACQUIRE);
}

static void set_stage(struct ktb_worker *w, int to)
{
	__atomic_store_n(&w->stage, to, __ATOMIC_RELEASE);
}

int ktb_pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
}

__u64 ktb_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static void *run(void *arg)
{
	struct ktb_worker *w = arg;

	w->tid = syscall(SYS_gettid);
	if (ktb_pin(w->cpu)) {
		set_stage(w, FAILED);
		return NULL;
	}
	set_stage(w, READY);
	while (stage(w) != END) {
		if (stage(w) == GO) {
			w->work(w);
			set_stage(w, DONE);
		}
	}
	return NULL;
}

int ktb_worker_start(struct ktb_worker *w)
{
	int error;

	w->stage = STARTING;
	error = pthread_create(&w->thread, NULL, run, w);
	if (error)
		return -error;
	while (stage(w) == STARTING)
		sched_yield();
	if (stage(w) == FAILED) {
		pthread_join(w->thread, NULL);
		return -EINVAL;
	}
	return 0;
}

void ktb_worker_go(struct ktb_worker *w)
{
	set_stage(w, GO);
}

bool ktb_worker_done(const struct ktb_worker *w)
{
	return stage(w) == DONE;
}

bool ktb_worker_wait(struct ktb_worker *w)
{
	return ktb_wait_for(ktb_worker_done(w), 20);
}

void ktb_worker_finish(struct ktb_worker *w)
{
	set_stage(w, END);
	pthread_join(w->thread, NULL);
}

void ktb_work_syscalls(struct ktb_worker *w)
{
	for (__u64 i = 0; i < w->count; i++)
		syscall(SYS_getppid, w->magic, i, 0x22, 0x33, 0x44, 0x55);
}

void ktb_work_ping_pong(struct ktb_worker *w)
{
	struct ktb_ball *ball = w->arg;
	char c = 0;

	if (ball->serves && write(ball->out, &c, 1) != 1)
		return;
	for (__u64 i = 0; i < w->count; i++) {
		if (read(ball->in, &c, 1) != 1)
			return;
		/* The last one stays with who served. */
		if (ball->serves && i == w->count - 1)
			break;
		if (write(ball->out, &c, 1) != 1)
			return;
	}
	__atomic_store_n(&ball->over, true, __ATOMIC_RELEASE);
	if (ball->end >= 0 && read(ball->end, &c, 1) != 0)
		w->magic = ~0ULL;
}

char ktb_thread_state(pid_t tid, __u64 *switches)
{
	char path[64], line[256], state = '?';
	unsigned long long n;
	FILE *file;

	*switches = 0;
	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	file = fopen(path, "r");
	if (!file)
		return state;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "State: %c", &state) == 1)
			continue;
		if (sscanf(line, "voluntary_ctxt_switches: %llu", &n) == 1 ||
		    sscanf(line, "nonvoluntary_ctxt_switches: %llu", &n) == 1)
			*switches += n;
	}
	fclose(file);
	return state;
}

bool ktb_is_asleep(pid_t tid)
{
	__u64 switches;

	return ktb_thread_state(tid, &switches) == 'S';
}
