/* SPDX-License-Identifier: GPL-2.0-only */
/* How events are to be traced: the options that attaching commands share. */
#ifndef KTBCTL_TRACING_H
#define KTBCTL_TRACING_H

#include <getopt.h>

#include "ktbctl.h"

#define DEFAULT_MAX_STACK 127 /* perf's */
#define MAX_STACK 512
#define MAX_EVENTS 1024 /* of a session */

/* Long options without a letter. */
enum {
	OPTION_MAX_STACK = 256,
	OPTION_NO_INHERIT,
	OPTION_MAX_EVENTS,
	OPTION_FILTER,
	OPTION_BPF,
	OPTION_OWN, /* the first one that is a command's own */
};

#define TRACING_LETTERS "ac:C:F:gG:p:t:v"
/* clang-format off */
#define TRACING_OPTIONS							\
	{ "all-cpus", no_argument, NULL, 'a' },				\
	{ "count", required_argument, NULL, 'c' },			\
	{ "cpu", required_argument, NULL, 'C' },			\
	{ "cgroup", required_argument, NULL, 'G' },			\
	{ "freq", required_argument, NULL, 'F' },			\
	{ "pid", required_argument, NULL, 'p' },			\
	{ "tid", required_argument, NULL, 't' },			\
	{ "verbose", no_argument, NULL, 'v' },				\
	{ "max-stack", required_argument, NULL, OPTION_MAX_STACK },	\
	{ "no-inherit", no_argument, NULL, OPTION_NO_INHERIT },		\
	{ "max-events", required_argument, NULL, OPTION_MAX_EVENTS },	\
	{ "filter", required_argument, NULL, OPTION_FILTER },		\
	{ "bpf", required_argument, NULL, OPTION_BPF }
/* clang-format on */

#define TRACING_HELP                                                                        \
	"  -c, --count N     a record of every N-th hit only\n"                             \
	"  -F, --freq N      of counters, about N records a second and CPU (4000), 'max'\n" \
	"                    for as many as perf allows\n"                                  \
	"  -g                records with callchains, kernel and user frames\n"             \
	"      --max-stack N callchains of at most N frames (127); implies -g\n"            \
	"  -p, --pid PID     only hits of process PID, several with commas between: its\n"  \
	"                    threads, and the threads and children they make later\n"       \
	"  -t, --tid TID     only hits of thread TID, several with commas between\n"        \
	"      --no-inherit  with -p and -t: not of threads and children made later\n"      \
	"  -C, --cpu CPUS    only hits on these CPUs, such as 0-3,8\n"                      \
	"  -G, --cgroup PATH only hits of tasks in this control group or below it\n"        \
	"  -a, --all-cpus    hits of all processes on all CPUs, as without -p, -t, -C\n"    \
	"      --filter EXPR only hits whose fields are so, 'pid != 0 && comm ~ sh*', as\n" \
	"                    ktbctl(1) says; behind -e, of its events alone\n"              \
	"      --bpf FILE[:NAME]\n"                                                         \
	"                    only hits for which a BPF program, that object file's, does\n" \
	"                    not return 0\n"                                                \
	"      --max-events N\n"                                                            \
	"                    of patterns only the first events, for N in all (1024)\n"      \
	"  -v, --verbose     name each event that is attached or skipped\n"

struct id_list {
	uint32_t *ids;
	unsigned int nr;
};

/* What says of each hit of some events whether it is taken: either of the first two. */
struct event_program {
	const char *filter;
	const char *object;
	unsigned int group; /* of the events it is for, as in struct choice_item */
	int fd; /* of the object's, -1: not loaded yet */
};

struct tracing {
	uint64_t period; /* 0: not given */
	uint64_t freq; /* 0: not given */
	uint32_t max_stack; /* 0: no callchains */
	struct id_list pids;
	struct id_list tids;
	bool no_inherit;
	bool all;
	const char *cpus; /* NULL: all */
	const char *cgroup; /* NULL: all */
	unsigned int max_events;
	bool verbose;
	bool is_grouped; /* events are given by -e */
	unsigned int group; /* the last of them, 0: none so far */
	struct event_program *programs;
	unsigned int nr_programs;
};

const char *tracing_set(struct tracing *tracing, int c, const char *text);
int tracing_check(const struct context *context, const struct tracing *tracing);
void tracing_event_options(const struct tracing *tracing, struct ktb_event_options *options);

/* programs.c */
const char *programs_add(struct tracing *tracing, int c, const char *text);
int programs_check(const struct tracing *tracing, const struct choice *choice);
struct event_program *programs_find(const struct tracing *tracing, unsigned int group);
int program_open(struct event_program *program, const struct choice_item *item,
		 struct ktb_event_options *options, char *error, size_t len);
void program_close(const struct event_program *program, const struct ktb_event_options *options);
void programs_free(struct tracing *tracing);

/* counters.c */
const char *parse_freq(const char *text, uint64_t *freq);
void counter_set_rate(struct perf_event_attr *attr, const struct tracing *tracing);

bool tracing_targets_gone(const struct tracing *tracing);
void tracing_free(struct tracing *tracing);

#endif /* KTBCTL_TRACING_H */
