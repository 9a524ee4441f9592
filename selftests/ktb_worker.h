/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A thread, pinned to a CPU, that makes a known number of hits.
 *
 * Around its work the thread spins on memory: between ktb_worker_start() and
 * ktb_worker_finish() it makes no system call but those of its work, so that
 * an event attached to it after the start has counted exactly the work when
 * ktb_worker_wait() returns.
 */
#ifndef KTB_WORKER_H
#define KTB_WORKER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/types.h>
#include <linux/types.h>

struct ktb_worker {
	int cpu;
	void (*work)(struct ktb_worker *w);
	__u64 count;		/* for work: how often */
	__u64 magic;		/* for work: what to say */
	void *arg;

	pthread_t thread;
	pid_t tid;
	int stage;
};

/* Start the thread; it is pinned and spinning when this returns. 0 or error. */
int ktb_worker_start(struct ktb_worker *w);
/* Let it work, once more if it did before. */
void ktb_worker_go(struct ktb_worker *w);
/* Whether the work is done. */
bool ktb_worker_done(const struct ktb_worker *w);
/* Wait for that; false after 20 s. */
bool ktb_worker_wait(struct ktb_worker *w);
/* Let it end, and join it. */
void ktb_worker_finish(struct ktb_worker *w);

/*
 * Work: getppid(2), w->count times. The kernel ignores its arguments, the
 * tracepoint shows them: magic, number of the call, 0x22 to 0x55.
 */
void ktb_work_syscalls(struct ktb_worker *w);

/* Descriptors of ktb_work_ping_pong(). */
struct ktb_ball {
	int in;
	int out;
	int end;	/* read at the end, to sleep there; -1: not */
	bool serves;
	bool over;	/* the game is; what follows is the sleep at the end */
};

/* Work: catch a byte and throw it back, w->count times; w->arg is the ball. */
void ktb_work_ping_pong(struct ktb_worker *w);

/* Pin the calling thread. */
int ktb_pin(int cpu);
/* CLOCK_MONOTONIC in nanoseconds. */
__u64 ktb_now(void);
/* The state letter and the context switches so far of a thread. */
char ktb_thread_state(pid_t tid, __u64 *switches);
bool ktb_is_asleep(pid_t tid);

/* Limits of time are made for a stock kernel: this one is so much slower. */
static inline unsigned int ktb_timeout_scale(void)
{
	const char *scale = getenv("KTB_TIMEOUT_SCALE");

	return scale ? atoi(scale) : 1;
}

/* Wait for a condition, at most that long. False if it never came true. */
#define ktb_wait_for(condition, seconds) ({					\
	__u64 ktb_end = ktb_now() + (seconds) * ktb_timeout_scale() * 1000000000ULL; \
	bool ktb_ok;								\
										\
	while (!(ktb_ok = (condition)) && ktb_now() < ktb_end)			\
		sched_yield();							\
	ktb_ok;									\
})

#endif
