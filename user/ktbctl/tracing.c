// SPDX-License-Identifier: GPL-2.0-only
/* How events are to be traced: the options that attaching commands share. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tracing.h"

/* ---- values: NULL, or what is wrong ---- */

static const char *add_id(struct id_list *list, uint32_t id)
{
	uint32_t *ids;

	for (unsigned int i = 0; i < list->nr; i++)
		if (list->ids[i] == id)
			return NULL;
	ids = reallocarray(list->ids, list->nr + 1, sizeof(*ids));
	if (!ids)
		return "out of memory";
	list->ids = ids;
	ids[list->nr++] = id;
	return NULL;
}

/* "1" or "1,2,3" */
static const char *parse_ids(const char *text, struct id_list *list)
{
	const char *wrong = NULL;
	char *copy = strdup(text), *rest = copy, *one;
	uint64_t id = 0;

	if (!copy)
		return "out of memory";
	while (!wrong && (one = strsep(&rest, ","))) {
		wrong = parse_number(one, INT_MAX, &id);
		if (!wrong && !id)
			wrong = "0 is the number of no process: they begin at 1";
		if (!wrong)
			wrong = add_id(list, (uint32_t)id);
	}
	free(copy);
	return wrong;
}

static const char *parse_max_stack(const char *text, uint32_t *max_stack)
{
	uint64_t number = 0;
	const char *wrong = parse_number(text, UINT64_MAX, &number);

	if (!wrong && (!number || number > MAX_STACK))
		wrong = "must be from 1 to 512 frames";
	*max_stack = (uint32_t)number;
	return wrong;
}

static const char *parse_max_events(const char *text, unsigned int *max_events)
{
	uint64_t number = 0;
	const char *wrong = parse_number(text, UINT64_MAX, &number);

	if (!wrong && (!number || number > MAX_EVENTS))
		wrong = "must be from 1 to 1024, which is what a session takes";
	*max_events = (unsigned int)number;
	return wrong;
}

static const char *parse_period(const char *text, uint64_t *period)
{
	const char *wrong = parse_number(text, UINT64_MAX, period);

	return wrong || *period ? wrong : "must be at least 1";
}

/* As perf takes it, from the root of the hierarchy, or as the shell completes it. */
static const char *parse_cgroup(const char *text, const char **cgroup)
{
	static const char mount[] = "/sys/fs/cgroup/";

	*cgroup = strncmp(text, mount, strlen(mount)) ? text : text + strlen(mount) - 1;
	if (!*text)
		return "must be a path, such as system.slice/cron.service";
	if (strlen(text) > KTRACE_BRIDGE_CGROUP_LEN)
		return "is too long";
	return NULL;
}

/* ---- options ---- */

/* Take in an option. Returns NULL, or what is wrong with its value. */
const char *tracing_set(struct tracing *tracing, int c, const char *text)
{
	switch (c) {
	case 'a':
		tracing->all = true;
		return NULL;
	case 'c':
		return parse_period(text, &tracing->period);
	case 'C':
		tracing->cpus = text;
		return check_cpu_list(text);
	case 'F':
		return parse_freq(text, &tracing->freq);
	case 'g':
		if (!tracing->max_stack)
			tracing->max_stack = DEFAULT_MAX_STACK;
		return NULL;
	case 'G':
		return parse_cgroup(text, &tracing->cgroup);
	case 'p':
		return parse_ids(text, &tracing->pids);
	case 't':
		return parse_ids(text, &tracing->tids);
	case 'v':
		tracing->verbose = true;
		return NULL;
	case OPTION_MAX_STACK:
		return parse_max_stack(text, &tracing->max_stack);
	case OPTION_NO_INHERIT:
		tracing->no_inherit = true;
		return NULL;
	case OPTION_MAX_EVENTS:
		return parse_max_events(text, &tracing->max_events);
	case OPTION_FILTER:
	case OPTION_BPF:
		return programs_add(tracing, c, text);
	}
	return "is of no use here";
}

/* Options that contradict each other, or the machine. Returns an exit status. */
int tracing_check(const struct context *context, const struct tracing *tracing)
{
	bool pids = tracing->pids.nr, tids = tracing->tids.nr;
	const char *then = context->command == &cmd_stat ? "all but counters count there" :
							   "it is traced";

	if (pids && tids)
		return fail_usage(context, "either -p, for processes, or -t, for threads");
	if (tracing->all && (pids || tids || tracing->cpus))
		return fail_usage(context, "-a is for everything: leave out -p, -t and -C");
	if (tracing->period && tracing->freq)
		return fail_usage(context, "either -c, for a period, or -F, for a frequency");
	if (tracing->no_inherit && !pids && !tids)
		return fail_usage(context, "--no-inherit is for -p and -t");
	return tracing->cpus ? check_cpus(tracing->cpus, then) : EXIT_DONE;
}

/* What it points to stays the options'. As in perf, threads' children count too. */
void tracing_event_options(const struct tracing *tracing, struct ktb_event_options *options)
{
	bool target = tracing->pids.nr || tracing->tids.nr;

	*options = (struct ktb_event_options){
		.period = tracing->period,
		.pids = tracing->pids.ids,
		.nr_pids = tracing->pids.nr,
		.tids = tracing->tids.ids,
		.nr_tids = tracing->tids.nr,
		.inherit = target && !tracing->no_inherit,
		.cpus = tracing->cpus,
		.cgroup = tracing->cgroup,
	};
}

/* A process that is not reaped yet has ended too, which kill(2) does not tell. */
static bool is_gone(pid_t id)
{
	struct pollfd fd = { .fd = (int)syscall(SYS_pidfd_open, id, 0), .events = POLLIN };
	bool gone;

	/* A thread has no such descriptor, but nobody reaps it. */
	if (fd.fd < 0)
		return errno == ESRCH || (kill(id, 0) && errno == ESRCH);
	gone = poll(&fd, 1, 0) > 0;
	close(fd.fd);
	return gone;
}

static bool are_gone(const struct id_list *list)
{
	for (unsigned int i = 0; i < list->nr; i++)
		if (!is_gone((pid_t)list->ids[i]))
			return false;
	return true;
}

/* Whether all of -p and -t have ended. */
bool tracing_targets_gone(const struct tracing *tracing)
{
	return are_gone(&tracing->pids) && are_gone(&tracing->tids);
}

void tracing_free(struct tracing *tracing)
{
	free(tracing->pids.ids);
	free(tracing->tids.ids);
	programs_free(tracing);
}
