/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Torture: many processes that do, at random and all at once, what may be done
 * with the module and what may happen to it.
 *
 * A worker is a process that does one step after the other. What a step draws
 * is a function of the seed, the worker's number and the step's number alone,
 * never of how an earlier step went: the same seed gives the same schedule. The
 * kernel's own timing is not part of it.
 */
#ifndef KTB_TORTURE_H
#define KTB_TORTURE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <linux/types.h>

#include "ktb_ctl.h"
#include "ktb_file.h"
#include "ktb_perf.h"
#include "ktb_ring.h"
#include "ktb_tracefs.h"
#include "ktb_worker.h"

#include "actions.h"

#define MODULE		"ktrace_bridge"
#define MODULE_FILE	"/ktb/ktrace_bridge.ko"
#define TEST_MODULE	"ktb_test_events"
#define TEST_FILE	"/ktb/modules/ktb_test_events.ko"
#define TEST_EVENT	"ktb_test:ktb_test_hit"
#define TEST_USERS	"/sys/module/ktb_test_events/parameters/users"
#define TEST_FIRE	"/sys/module/ktb_test_events/parameters/fire"

#define CPUS		3
#define SLOTS		4	/* sessions that everyone may use, "t_0" on */
#define MAX_WORKERS	40
#define MAX_COMPLAINTS	24
#define NR_EVENTS	14

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

enum phase {
	RUN,	/* workers do steps */
	PAUSE,	/* they wait, and keep what they have */
	REST,	/* they wait, and have given up what they had */
	STOP,	/* they end */
};

/* What the workers and the conductor share. */
struct shared {
	enum phase phase;
	bool may_unload;	/* the module may go at any time */
	bool keep_off;	/* somebody wants to unload: no new users of the device */
	__u32 generation;	/* times the module was loaded */
	__u64 ran[NR_ACTIONS];
	__u64 refused[NR_ACTIONS];
	__u64 ledgers;	/* checked */
	__u64 records;	/* read and accounted for */
	pid_t victim;	/* a thread that will not live long */
	__u32 complaints;
	char complaint[MAX_COMPLAINTS][200];
	struct {
		pid_t pid;
		enum phase at;
		enum action action;
		__u64 step;
		__u32 acts;	/* of its child */
	} worker[MAX_WORKERS];
};

extern struct shared *shared;
extern const char * const event_names[NR_EVENTS];

struct rng {
	__u64 state;
};

struct worker;

/**
 * struct kind - a kind of worker
 * @name: what it is called
 * @step: do one step; all draws from w->rng
 * @rest: give up everything that is held from one step to the next; may be NULL
 * @pause: longest pause between two steps, in milliseconds
 * @modest: a disturber: waits at least three times as long as its step took. Its
 *	steps keep locks that all want, for seconds on a slow machine
 */
struct kind {
	const char *name;
	void (*step)(struct worker *w);
	void (*rest)(struct worker *w);
	unsigned int pause;
	bool modest;
};

/**
 * struct worker - one of the processes, as it knows itself
 * @kind: what it does
 * @nr: its number
 * @step: number of the step
 * @rng: this step's draws
 * @nl: control socket, if @generation is the module's
 * @generation: of the module when @nl was opened, 0 without a socket
 */
struct worker {
	const struct kind *kind;
	int nr;
	__u64 step;
	struct rng rng;
	struct ktb_nl nl;
	__u32 generation;
};

extern const struct kind control_kind, owner_kind, fault_kind, reader_kind, audit_kind;
extern const struct kind hotplug_kind, unload_kind, foreign_kind;
extern const struct kind perf_kind, ftrace_kind, bpf_kind, load_kind;

const char *action_name(enum action what);

/* Draws. */
__u32 draw(struct rng *rng, __u32 n);
const char *draw_event(struct rng *rng);
/* "t_0" on; in a static buffer. */
const char *draw_session(struct rng *rng);
__u64 draw_ring_size(struct rng *rng);
__u32 draw_pid(struct rng *rng);

void sleep_ms(unsigned int ms);
/* Whether a step is to come to its end: it is being waited for. */
bool stopping(void);
/* Likewise, for those who use the device. */
bool hurry(void);
/* Returns the length of what was read, or a negative error number. */
ssize_t read_file(const char *path, char *text, size_t size);
int module_load(const char *file);
/* At once or not at all. */
int module_unload(const char *name);
bool module_loaded(const char *name);

int cpu_set_online(int cpu, bool online);

/* Note what a worker is about to do, for when it does not come back. */
void begin(const struct worker *w, enum action what);

/*
 * Note how an action ended: with 0, or with an error that is among those given,
 * or with another, which is a failure of the run.
 */
#define end(w, action, error, ...)							\
	end_action((w), (action), (error), (const int []) { __VA_ARGS__ __VA_OPT__(,) 0 })
void end_action(const struct worker *w, enum action what, int error, const int *expected);

/* Something is not as it has to be: the run fails. */
void complain(const struct worker *w, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The worker's control socket, NULL while the module is away. */
struct ktb_nl *control(struct worker *w);
void control_close(struct worker *w);
/* Whether the module may have gone since the socket was opened. */
bool module_moved(const struct worker *w);

/* A session of that name: 0, or a negative error number. */
int find_session(struct worker *w, const char *name, struct ktb_session *s);

/**
 * struct how - what to attach, and how
 * @name: of the event
 * @period: 0 and 1: each hit
 * @pid: of a process; 0: of all
 * @tid: of a thread; likewise
 * @inherit: their children too
 * @disabled: for a start
 * @cpus: a list; NULL: all
 * @function: a call of it is what fires
 * @graph: its return, too
 * @clock: perf's cpu-clock is what fires
 */
struct how {
	const char *name;
	__u64 period;
	__u32 pid;
	__u32 tid;
	bool inherit;
	bool disabled;
	const char *cpus;
	const char *function;
	bool graph;
	bool clock;
};

/* @e may be NULL. */
int attach(struct ktb_nl *nl, __u32 session, const struct how *how, struct ktb_event *e);
/* The same for one with a name and nothing else. */
int attach_plain(struct ktb_nl *nl, __u32 session, const char *name, struct ktb_event *e);
int session_new(struct ktb_nl *nl, const char *name, __u32 flags, __u64 ring_size,
		__u32 watermark, struct ktb_session *s);
/* The ids of a dump's replies, of attribute @attr; @session 0: of all. */
struct ids {
	__u16 attr;
	int nr;
	__u64 id[1024];
};

int dump_ids(struct ktb_nl *nl, __u8 cmd, __u16 attr, __u32 session, struct ids *ids);
/* Complain if the ledger's promise does not hold. */
void check_ledger(const struct worker *w, const struct ktb_event *e);

/* Let one in 200 allocations of this task fail from here on, or none any more. */
bool faults_init(void);
void faults(bool on);
long faults_had(void);

/* Kill a child and all it started, and wait for them. */
void kill_family(pid_t child);
/*
 * Fork a child that leads a process group of its own and runs @fn. Returns its
 * number or a negative error number.
 */
pid_t start_child(struct worker *w, void (*fn)(struct worker *w, void *arg), void *arg);
/* The child did one thing more. */
void child_acted(const struct worker *w);
/*
 * Wait until a child ended or did that many things, 5 s at most, in a hurry not at
 * all. False if it is still there.
 */
bool child_ended(const struct worker *w, pid_t child, unsigned int acts);

#endif
