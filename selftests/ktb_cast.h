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
#include <linux/types.h>

struct ktb_walk;

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
	__u64 samples;	/* records */
	__u64 strangers;	/* of them, of none who is to be seen */
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
/*
 * Read all rings of a reader, of an event that ktb_syscall_nr() knows: what was
 * recorded of whom. 0 or error.
 */
int ktb_cast_read(struct ktb_cast *cast, int fd, struct ktb_walk *walk);

/* Each call of each thread is where it belongs; the event is detached. */
#define EXPECT_CAST(cast, reader, ledger) do {					\
	struct ktb_walk ktb_walk = {};						\
										\
	ASSERT_EQ(0, ktb_cast_read(cast, reader, &ktb_walk));			\
	EXPECT_EQ(0, ktb_walk.malformed);					\
	EXPECT_EQ(0, ktb_walk.lost);						\
	EXPECT_LEDGER(ledger);							\
	EXPECT_EQ((ledger)->written, (cast)->samples);				\
	EXPECT_EQ(0, (cast)->strangers);					\
	for (int ktb_i = 0; ktb_i < (cast)->n; ktb_i++) {			\
		const struct ktb_actor *actor = &(cast)->actor[ktb_i];		\
										\
		EXPECT_EQ(actor->seen ? actor->calls : 0, actor->got)		\
			TH_LOG("actor %d, thread %d", ktb_i, actor->tid);	\
	}									\
} while (0)

#endif
