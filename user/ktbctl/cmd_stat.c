// SPDX-License-Identifier: GPL-2.0-only
/*
 * ktbctl stat: how often events happen. Tracepoints are counted by the module, in a
 * session without records, counters by perf.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "limits.h"
#include "outlet.h"
#include "signals.h"
#include "stat_counter.h"
#include "stat_latency.h"
#include "stat_print.h"
#include "tracing.h"
#include "workload.h"

#define NSEC_PER_SEC 1000000000ULL
#define NSEC_PER_MSEC 1000000ULL
#define MIN_INTERVAL_MS 10
#define LOOK_MS 1000 /* for targets */

enum {
	OPTION_HIST = OPTION_OWN,
};

static const char help_stat[] =
	"usage: ktbctl stat -e EVENT... [-a | -p PID | -t TID] [-C CPUS] [-G CGROUP] [-I MS]\n"
	"                   [--hist] [--json] [-- COMMAND [ARGUMENT...]]\n"
	"\n"
	"Count events while COMMAND runs, until ^C, or until what -p or -t names has ended:\n"
	"those of COMMAND and of what it starts, or with -a, -C or -G, or without COMMAND,\n"
	"those of the whole system.\n"
	"\n"
	"  -e, --event EVENT 'system:event', a pattern such as 'sched:*' (quote it), or a\n"
	"                    counter such as 'page-faults' or 'cycles:u'; several as\n"
	"                    further -e or with commas between, '!' before one excludes\n"
	"  -I, --interval MS print what came every MS milliseconds, 10 or more\n"
	"  -p, --pid PID     only of process PID, several with commas between: its\n"
	"                    threads, and the threads and children they make later\n"
	"  -t, --tid TID     only of thread TID, several with commas between\n"
	"      --no-inherit  not of threads and children made later\n"
	"  -C, --cpu CPUS    only on these CPUs, such as 0-3,8; of all processes there,\n"
	"                    unless -p or -t are given\n"
	"  -G, --cgroup PATH tracepoints of tasks in this control group or below it, COMMAND\n"
	"                    or not\n"
	"  -a, --all-cpus    of all processes on all CPUs, COMMAND or not\n"
	"      --hist        of fgraph: events, how long the calls took: a histogram each\n"
	"      --filter EXPR of the -e before it, only hits with such fields:\n"
	"                    'prev_pid != 0 && next_comm ~ \"k*\"'\n"
	"      --bpf FILE[:NAME]\n"
	"                    of the -e before it, only hits for which a BPF program, that\n"
	"                    object file's, does not return 0\n"
	"      --json        print JSON, with -I a line for each interval\n"
	"\n"
	"The exit status is COMMAND's, if counting did not fail.\n";

struct stat {
	const struct context *context;
	struct ktb_conn *conn;
	struct ktb_session_info session; /* id 0: there is none */
	struct choice choice;
	struct tracing tracing;
	struct workload workload;
	const char **events;
	unsigned int nr_events;
	char **command;
	uint64_t interval; /* ns, 0: none */
	bool hist;
	struct stat_latency latency;
	struct counted *all;
	unsigned int nr;
	uint64_t begin; /* ns */
	uint64_t looked; /* for targets, ns */
	int signals;
	bool stopped;
	bool removed; /* the session */
	bool unknown; /* some counts are */
	bool closed; /* our output, by who reads it */
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

/* ---- what is counted ---- */

static int choose(struct stat *stat)
{
	char *list, *name, *rest;
	int err = catalog_load(stat->conn, &stat->choice.catalog);

	for (unsigned int i = 0; i < stat->nr_events && !err; i++) {
		list = strdup(stat->events[i]);
		if (!list)
			return fail("out of memory");
		stat->choice.group = i + 1;
		for (rest = list; !err && (name = next_event(&rest));)
			err = *name ? choice_add(&stat->choice, name) : EXIT_DONE;
		free(list);
	}
	if (!err)
		err = choice_end(&stat->choice);
	return err ? err : programs_check(&stat->tracing, &stat->choice);
}

static bool has_latency(const struct choice_item *item)
{
	return item->functions && item->functions->graph;
}

/* Those that make records, and those that are only counted. */
static int choose_latencies(struct stat *stat)
{
	bool any = false;

	for (unsigned int i = 0; i < stat->choice.nr; i++) {
		struct choice_item *item = &stat->choice.items[i];

		item->count_only = !has_latency(item);
		any |= !item->excluded && has_latency(item);
	}
	if (any)
		return EXIT_DONE;
	return fail("--hist is of returns of functions: name some, as -e fgraph:vfs_read");
}

static bool is_time(const struct ktb_perf_event *event)
{
	return event->attr.type == PERF_TYPE_SOFTWARE &&
	       (event->attr.config == PERF_COUNT_SW_CPU_CLOCK ||
		event->attr.config == PERF_COUNT_SW_TASK_CLOCK);
}

/* As in perf, -C and -G are for all processes. */
static pid_t only_command(const struct stat *stat)
{
	const struct tracing *tracing = &stat->tracing;

	return tracing->all || tracing->cpus || tracing->cgroup ? 0 : stat->workload.pid;
}

/* Of the session's events: those that are left are what it attaches. */
static int open_counters(struct stat *stat, unsigned int *left)
{
	int err = EXIT_DONE;

	stat->all = calloc(stat->choice.nr, sizeof(*stat->all));
	if (!stat->all)
		return fail("out of memory");
	*left = 0;
	for (unsigned int i = 0; i < stat->choice.nr && !err; i++) {
		struct choice_item *item = &stat->choice.items[i];
		struct counted *counted = &stat->all[i];

		counted->name = item->name;
		if (item->counter && !item->excluded && stat->tracing.cgroup)
			return fail("%s: counters of a control group are for perf stat -G",
				    item->name);
		if (item->counter && !item->excluded) {
			if (programs_find(&stat->tracing, item->group))
				return fail("%s is counted without hits that a program could see",
					    item->name);
			err = stat_counter_open(&counted->counter, item->counter, &stat->tracing,
						only_command(stat));
			counted->is_counter = true;
			counted->is_time = is_time(item->counter);
			item->excluded = true;
			stat->choice.nr_named--;
		}
		*left += !item->excluded;
	}
	stat->nr = stat->choice.nr;
	return err;
}

/* A histogram for each event that has durations. */
static int open_latencies(struct stat *stat)
{
	int err = stat_latency_open(&stat->latency, stat->session.id);

	for (unsigned int i = 0; i < stat->nr && !err; i++)
		if (stat->all[i].id && has_latency(&stat->choice.items[i]))
			err = stat_latency_add(&stat->latency, stat->all[i].id);
	for (unsigned int i = 0; i < stat->nr && !err; i++)
		stat->all[i].histogram = stat_latency_of(&stat->latency, stat->all[i].id);
	return err;
}

static int open_session(struct stat *stat)
{
	const struct ktb_session_options options = {
		.flags = KTB_SESSION_DISABLED | (stat->hist ? 0 : KTB_SESSION_COUNT_ONLY),
	};
	uint32_t command = (uint32_t)only_command(stat);
	struct tracing tracing = stat->tracing;
	char name[KTRACE_BRIDGE_NAME_LEN + 1];
	int err;

	snprintf(name, sizeof(name), "stat-%d", getpid());
	if (ktb_session_new(stat->conn, name, &options, &stat->session))
		return fail("cannot make a session: %s", ktb_conn_error(stat->conn));
	if (command)
		tracing.pids = (struct id_list){ &command, 1 };
	err = choice_attach(&stat->choice, stat->conn, &stat->session, &tracing);
	if (!err)
		choice_note_skipped(&stat->choice, tracing.verbose);
	for (unsigned int i = 0; i < stat->nr; i++)
		if (stat->choice.items[i].attached)
			stat->all[i].id = stat->choice.items[i].event.id;
	return err || !stat->hist ? err : open_latencies(stat);
}

static int open_all(struct stat *stat)
{
	unsigned int left = 0;
	int err = choose(stat);

	if (!err && stat->hist)
		err = choose_latencies(stat);
	if (!err)
		err = open_counters(stat, &left);
	return err || !left ? err : open_session(stat);
}

/* ---- counting ---- */

static int begin(struct stat *stat)
{
	int err = EXIT_DONE;

	stat->begin = now_ns();
	if (stat->session.id && ktb_session_set_enabled(stat->conn, stat->session.id, true))
		return fail("%s", ktb_conn_error(stat->conn));
	for (unsigned int i = 0; i < stat->nr && !err; i++)
		err = stat_counter_enable(&stat->all[i].counter);
	return err ? err : workload_start(&stat->workload);
}

/* Hits that a target left out are in the ledger, and not in the count. */
static struct stat_value ledger_value(const struct ktb_event_info *events, int nr,
				      struct counted *counted)
{
	struct stat_value value = { .enabled = 1, .running = 1, .unknown = counted->id != 0 };

	for (int i = 0; i < nr; i++) {
		const struct ktb_ledger *ledger = &events[i].ledger;
		uint64_t lost = ledger->lost_full + ledger->lost_big + ledger->lost_recursion;

		if (events[i].id != counted->id)
			continue;
		value.count = ledger->count - counted->count;
		value.lost = lost - counted->lost;
		value.unknown = false;
		counted->count = ledger->count;
		counted->lost = lost;
	}
	return value;
}

/* What came since the last time, all at nearly one time: values by their event. */
static int read_all(struct stat *stat, struct stat_value *values)
{
	struct ktb_event_info *events = NULL;
	int nr = 0, err = EXIT_DONE;

	if (stat->session.id)
		nr = ktb_event_list(stat->conn, stat->session.id, false, &events);
	if (nr < 0)
		return fail("%s", ktb_conn_error(stat->conn));
	for (unsigned int i = 0; i < stat->nr && !err; i++) {
		if (stat->all[i].is_counter)
			err = stat_counter_read(&stat->all[i].counter, &values[i]);
		else
			values[i] = ledger_value(events, nr, &stat->all[i]);
	}
	if (stat->session.id && !nr)
		stat->removed = true;
	if (events)
		ktb_event_list_free(events, nr);
	return err ? err : stat_latency_read(&stat->latency);
}

/* ---- telling ---- */

/* Somebody detached an event, or removed the session with all of them. */
static void note_unknown(struct stat *stat, const struct stat_value *values)
{
	bool told = stat->unknown;

	for (unsigned int i = 0; i < stat->nr; i++)
		stat->unknown |= values[i].unknown;
	if (stat->unknown && !told)
		note("events were detached, their ledgers with them: they are not counted");
}

/* What came since the last time; without intervals all. */
static int tell_new(struct stat *stat)
{
	struct stat_value *values = calloc(stat->nr, sizeof(*values));
	const struct stat_print print = {
		.all = stat->all,
		.values = values,
		.nr = stat->nr,
		.seconds = (double)(now_ns() - stat->begin) / NSEC_PER_SEC,
		.interval = stat->interval,
		.json = stat->context->json,
	};
	int err = values ? read_all(stat, values) : fail("out of memory");

	if (!err && !stat->closed)
		err = stat_print(&print);
	/* Or it had failed. */
	stat->closed |= ferror(stdout) != 0;
	if (!err)
		note_unknown(stat, values);
	for (unsigned int i = 0; i < stat->nr; i++)
		if (stat->all[i].histogram)
			*stat->all[i].histogram = (struct histogram){ 0 };
	free(values);
	return err;
}

/* ---- waiting ---- */

static void take_signals(struct stat *stat)
{
	struct signalfd_siginfo info;

	while (read(stat->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			workload_poll(&stat->workload);
		else
			stat->stopped = true;
	}
}

static bool is_stopped(void *arg)
{
	struct stat *stat = arg;

	take_signals(stat);
	return stat->stopped || stat->workload.ended;
}

/* Who reads our output may be slow. */
static int catch_signals(struct stat *stat)
{
	struct outlet_signals signals = { .is_stopped = is_stopped, .arg = stat };

	stat->signals = open_signals(0);
	if (stat->signals < 0)
		return EXIT_FAILED;
	signals.fd = stat->signals;
	sigprocmask(SIG_BLOCK, NULL, &signals.waiting);
	return outlet_open(&signals);
}

/* There is nothing more to tell, or nobody to tell it. */
static bool is_pointless(const struct stat *stat)
{
	/* A command is waited for in any case: its exit status is to be ours. */
	return !stat->command && (stat->removed || stat->closed);
}

static bool is_over(const struct stat *stat)
{
	return is_pointless(stat) || stat->stopped || stat->workload.ended;
}

static bool has_targets(const struct stat *stat)
{
	return stat->tracing.pids.nr || stat->tracing.tids.nr;
}

/* With the last of them there is nothing more to come; as perf, of children none knows. */
static void look_for_targets(struct stat *stat, uint64_t now)
{
	if (!has_targets(stat) || now - stat->looked < LOOK_MS * NSEC_PER_MSEC)
		return;
	stat->looked = now;
	stat->stopped |= tracing_targets_gone(&stat->tracing);
}

/* Until it is over, or @until, in ns; 0 for no such time. */
static int wait_until(struct stat *stat, uint64_t until)
{
	struct pollfd fds[] = {
		{ .fd = stat->signals, .events = POLLIN },
		{ .fd = stat->removed ? -1 : stat_latency_fd(&stat->latency), .events = POLLIN },
		{ .fd = stat->closed ? -1 : STDOUT_FILENO },
	};
	int ms, err = EXIT_DONE;

	while (!err) {
		uint64_t now = now_ns();

		/* However late it is. */
		take_signals(stat);
		look_for_targets(stat, now);
		if (is_over(stat) || (until && now >= until))
			break;
		ms = has_targets(stat) ? LOOK_MS : -1;
		if (until && (ms < 0 || until - now < ms * NSEC_PER_MSEC))
			ms = (int)((until - now + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC);
		if (poll(fds, ARRAY_SIZE(fds), ms) > 0 && fds[1].revents)
			err = stat_latency_read(&stat->latency);
		if (fds[1].revents & (POLLHUP | POLLERR)) {
			stat->removed = true;
			fds[1].fd = -1;
		}
		if (fds[2].revents) {
			stat->closed = true;
			fds[2].fd = -1;
		}
	}
	return err;
}

/* Measured from the beginning, none drifts; those that were missed are one. */
static uint64_t end_of_interval(const struct stat *stat)
{
	const uint64_t nr = (now_ns() - stat->begin) / stat->interval;

	return stat->begin + (nr + 1) * stat->interval;
}

static int count(struct stat *stat)
{
	bool over;
	int err;

	do {
		err = wait_until(stat, stat->interval ? end_of_interval(stat) : 0);
		over = is_over(stat);
		if (over && stat->session.id)
			ktb_session_set_enabled(stat->conn, stat->session.id, false);
		if (!err)
			err = tell_new(stat);
	} while (!err && !over && !is_pointless(stat));
	if (outlet_gave_up())
		note("who reads the output takes no more: what was left is not printed");
	return err || !stat->unknown ? err : EXIT_FAILED;
}

/* ---- the command ---- */

static int run_stat_on(struct stat *stat)
{
	int err = catch_signals(stat), status;

	if (!err && stat->command)
		err = workload_prepare(&stat->workload, stat->command);
	if (err)
		return err;
	raise_file_limit();
	stat->conn = connect_module();
	err = stat->conn ? open_all(stat) : EXIT_FAILED;
	if (!err)
		err = begin(stat);
	if (!err)
		err = count(stat);
	status = workload_end(&stat->workload);
	return err ? err : status;
}

static void release(struct stat *stat)
{
	for (unsigned int i = 0; i < stat->nr; i++)
		stat_counter_close(&stat->all[i].counter);
	stat_latency_close(&stat->latency);
	free(stat->all);
	choice_free(&stat->choice);
	ktb_conn_free(stat->conn); /* and the session is gone */
	tracing_free(&stat->tracing);
	free(stat->events);
	if (stat->signals >= 0)
		close(stat->signals);
}

static const char *parse_interval(const char *text, uint64_t *interval)
{
	uint64_t ms = 0;
	const char *wrong = parse_number(text, 86400000, &ms);

	if (!wrong && ms < MIN_INTERVAL_MS)
		wrong = "must be 10 milliseconds or more";
	*interval = ms * NSEC_PER_MSEC;
	return wrong;
}

static int add_event(struct stat *stat, const char *name)
{
	const char **events = reallocarray(stat->events, stat->nr_events + 1, sizeof(*events));

	if (!events)
		return fail("out of memory");
	stat->events = events;
	events[stat->nr_events++] = name;
	return EXIT_DONE;
}

static int check_options(const struct stat *stat)
{
	const struct tracing *tracing = &stat->tracing;

	if (!stat->nr_events)
		return fail_usage(stat->context, "which events? name some with -e");
	if (stat->command && (tracing->pids.nr || tracing->tids.nr))
		return fail_usage(stat->context, "either -p or -t, or a command");
	if (stat->command && tracing->no_inherit)
		return EXIT_DONE;
	return tracing_check(stat->context, tracing);
}

static const char letters[] = "+:e:I:aC:G:p:t:v";
static const struct option known[] = {
	{ "event", required_argument, NULL, 'e' },
	{ "interval", required_argument, NULL, 'I' },
	{ "all-cpus", no_argument, NULL, 'a' },
	{ "cgroup", required_argument, NULL, 'G' },
	{ "cpu", required_argument, NULL, 'C' },
	{ "pid", required_argument, NULL, 'p' },
	{ "tid", required_argument, NULL, 't' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "no-inherit", no_argument, NULL, OPTION_NO_INHERIT },
	{ "hist", no_argument, NULL, OPTION_HIST },
	{ "filter", required_argument, NULL, OPTION_FILTER },
	{ "bpf", required_argument, NULL, OPTION_BPF },
	{ 0 },
};

static int parse_options(struct stat *stat, int argc, char **argv)
{
	const char *wrong;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, letters, known, NULL)) != -1) {
		if (c == '?' || c == ':')
			return fail_option(stat->context, c, argv);
		if (c == 'e' && add_event(stat, optarg))
			return EXIT_FAILED;
		stat->tracing.group = stat->nr_events;
		stat->hist |= c == OPTION_HIST;
		if (c == 'e' || c == OPTION_HIST)
			continue;
		wrong = c == 'I' ? parse_interval(optarg, &stat->interval) :
				   tracing_set(&stat->tracing, c, optarg);
		if (wrong)
			return fail_value(stat->context, known, c, optarg, wrong);
	}
	if (optind < argc)
		stat->command = argv + optind;
	return check_options(stat);
}

static int run_stat(struct context *context, int argc, char **argv)
{
	struct stat stat = { .context = context, .signals = -1, .tracing.is_grouped = true };
	int err = parse_options(&stat, argc, argv);

	if (!err)
		err = run_stat_on(&stat);
	release(&stat);
	return err;
}

const struct command cmd_stat = {
	.name = "stat",
	.summary = "count events",
	.help = help_stat,
	.run = run_stat,
	.letters = letters,
	.options = known,
};
