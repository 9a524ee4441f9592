/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A process that plays a scene while it is traced. Each thread that takes part
 * in it says so in shared memory: which thread it is, how often it is going to
 * call getppid(2), and whether a tracer of the scene is to see that.
 */
#ifndef KTB_CAST_H
#define KTB_CAST_H

#include <stdbool.h>
#include <sys/types.h>

#define KTB_MAX_ACTORS	32

struct ktb_actor {
	pid_t tid;
	int calls;
	bool seen;	/* by the tracer, if all is well */
	int got;	/* calls in the records */
};

struct ktb_cast {
	int n;
	int ready;	/* threads that wait for the gate */
	int gate[2];	/* a pipe: a byte lets one thread pass */
	int fd;		/* of this memory, for a program that is executed */
	struct ktb_actor actor[KTB_MAX_ACTORS];
};

/* Shared with all children. NULL if that fails. */
struct ktb_cast *ktb_cast_new(void);
void ktb_cast_free(struct ktb_cast *cast);
/* Fork a child that plays the scene and exits. */
pid_t ktb_cast_play(struct ktb_cast *cast, void (*scene)(struct ktb_cast *cast));

/* In a scene: wait for the gate to open. */
void ktb_cast_wait(struct ktb_cast *cast);
/* Take part: call getppid(2) so often. */
void ktb_cast_act(struct ktb_cast *cast, int calls, bool seen);
/* A thread's main(). */
struct ktb_role {
	struct ktb_cast *cast;
	int calls;
	bool seen;
	bool waits;	/* for the gate, before */
};

void *ktb_cast_thread(void *role);

/* Execute this program; its main() hands the rest to ktb_cast_main(). */
#define KTB_CAST_ARG	"--act"
void ktb_cast_exec(struct ktb_cast *cast, int calls, bool seen);
int ktb_cast_main(char **argv);

/* In the test: wait until @n threads wait for the gate. False after 20 s. */
bool ktb_cast_is_ready(struct ktb_cast *cast, int n);
/* Let @n threads pass. */
void ktb_cast_go(struct ktb_cast *cast, int n);
/* The thread of that number, the last one if it was used again. NULL if none. */
struct ktb_actor *ktb_cast_find(struct ktb_cast *cast, pid_t tid);

#endif
