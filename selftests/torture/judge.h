/* SPDX-License-Identifier: GPL-2.0-only */
/* What is looked at while the workers wait, and what is said of it. */
#ifndef KTB_TORTURE_JUDGE_H
#define KTB_TORTURE_JUDGE_H

#include <stdbool.h>

/* What use leaves behind, in KiB. */
struct memory {
	long long slab;
	long long vmalloc;
	long long percpu;
	long long available;
};

/* A line of TAP. */
void result(bool ok, const char *format, ...) __attribute__((format(printf, 2, 3)));
void result_skip(const char *what, const char *why);
/* The plan, last. Returns whether all was well. */
bool results_end(void);

/* No control command runs: look at every event of every session. */
void judge_ledgers(void);
/* A session of before any hit: nothing is in its ledgers, nothing gets there. */
void judge_fresh_session(void);
/* No session is left, and no ring is charged for. */
void judge_no_sessions(void);
/* Nobody holds the module: it goes at once. */
void judge_unload(void);
/* The probes on the kernel's tracepoints are those of the start. */
void judge_probes_first(void);
void judge_probes(void);

struct memory memory_now(void);
void judge_memory(const struct memory *first, const struct memory *last);
/* How many actions never ran. */
int actions_missing(bool with_faults);
/* The table of actions, and whether one is missing. */
void judge_actions(bool with_faults);

#endif
