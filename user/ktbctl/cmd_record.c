// SPDX-License-Identifier: GPL-2.0-only
/* ktbctl record: a session's records into a perf.data file. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "limits.h"
#include "recorder.h"
#include "tracing.h"

#define DEFAULT_SIZE (8ULL << 20)
#define DEFAULT_SIZE_LEAST (1ULL << 20)
#define DEFAULT_SHARE 64 /* of memory, a part of so many for all rings together */
/* Still in the cache when it is written, and far from a full ring. */
#define WATERMARK (256 << 10)

static const char help_record[] =
	"usage: ktbctl record -e EVENT... [-m SIZE] [-c N] [-g] [-p PID | -t TID] [-C CPUS]\n"
	"                     [-o FILE] [-z] [--no-threads] [--max-size SIZE]\n"
	"                     [--switch-output[=WHEN]] [--self] [--json]\n"
	"                     [-- COMMAND [ARGUMENT...]]\n"
	"       ktbctl record -s SESSION [-C CPU] [-o FILE] [--self] [--json]\n"
	"                     [-- COMMAND [ARGUMENT...]]\n"
	"\n"
	"Record what is traced on all CPUs into a file that perf and all other readers of\n"
	"perf.data understand, while COMMAND runs, until ^C, or until what -p or -t names\n"
	"has ended. It ends with how many samples were recorded and lost.\n"
	"\n"
	"  -e, --event EVENT 'system:event' or a pattern such as 'sched:*' (quote it);\n"
	"                    several as further -e or with commas between, '!' before\n"
	"                    one excludes; they are traced for the time of the recording\n"
	"  -s, --session S   record what session S traces, whose events stay attached\n"
	"  -m, --size SIZE   bytes of records per CPU, with K, M or G (8M)\n" TRACING_HELP
	"      --self        hits of ktbctl itself too\n"
	"  -o, --output FILE the file (perf.data); an earlier one becomes FILE.old\n"
	"  -z[LEVEL]         compress records with zstd (level 1)\n"
	"      --threads     a thread per CPU to read the rings, as is usual with several\n"
	"      --no-threads  one for all of them\n"
	"      --max-size SIZE\n"
	"                    end when there are so many bytes of records\n"
	"      --switch-output[=WHEN]\n"
	"                    go on in another file at SIGUSR2 ('signal'), after so many\n"
	"                    bytes (100M), or every so often (30s, 5m, 1h); each gets its\n"
	"                    date for a suffix\n"
	"      --switch-max-files N\n"
	"                    keep the last N of them\n"
	"      --clockid CLOCK\n"
	"                    monotonic, which is the only one\n"
	"      --json        print the closing lines as a JSON object\n"
	"\n"
	"The exit status is COMMAND's, if recording did not fail.\n";

struct options {
	const char **events; /* of -e, not split yet */
	unsigned int nr_events;
	const char *session;
	uint64_t size;
	struct tracing tracing;
	char **command; /* NULL: none */
};

/* ---- the session ---- */

static int choose_events(struct choice *choice, const struct options *options)
{
	int err = EXIT_DONE;
	char *list, *name, *rest;

	for (unsigned int i = 0; i < options->nr_events && !err; i++) {
		list = strdup(options->events[i]);
		if (!list)
			return fail("out of memory");
		choice->group = i + 1;
		for (rest = list; !err && (name = next_event(&rest));)
			err = *name ? choice_add(choice, name) : EXIT_DONE;
		free(list);
	}
	if (!err)
		err = choice_end(choice);
	return err ? err : programs_check(&options->tracing, choice);
}

/* What a CPU may fill while its reader waits its turn to write; less if memory is short. */
static uint64_t default_size(void)
{
	const uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	const uint64_t share = memory / DEFAULT_SHARE / (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t size = DEFAULT_SIZE;

	while (size > DEFAULT_SIZE_LEAST && size > share)
		size /= 2;
	return size;
}

static int make_session(struct recorder *recorder, const struct options *options)
{
	const uint64_t size = options->size ? options->size : default_size();
	const struct ktb_session_options make = {
		.ring_size = size,
		.flags = KTB_SESSION_DISABLED,
		.max_stack = options->tracing.max_stack,
		.watermark = size / 4 < WATERMARK ? (uint32_t)(size / 4) : WATERMARK,
	};
	char name[KTRACE_BRIDGE_NAME_LEN + 1];

	snprintf(name, sizeof(name), "record-%d", getpid());
	if (ktb_session_new(recorder->conn, name, &make, &recorder->session))
		return fail("cannot make a session: %s", ktb_conn_error(recorder->conn));
	recorder->own = true;
	return EXIT_DONE;
}

static int attach_own(struct recorder *recorder, const struct options *options)
{
	struct choice choice = { 0 };
	int err = catalog_load(recorder->conn, &choice.catalog);

	if (!err)
		err = choose_events(&choice, options);
	if (!err)
		err = make_session(recorder, options);
	if (!err)
		err = choice_attach(&choice, recorder->conn, &recorder->session, &options->tracing);
	if (!err)
		choice_note_skipped(&choice, options->tracing.verbose);
	choice_free(&choice);
	return err;
}

static int get_session(struct recorder *recorder, const struct options *options)
{
	int err;

	if (!options->session)
		return attach_own(recorder, options);
	err = find_session(recorder->conn, options->session, &recorder->session);
	if (err)
		return err;
	ktb_session_info_clear(&recorder->session);
	return refuse_unreadable(&recorder->session);
}

static int open_readers(struct recorder *recorder)
{
	int err = recorder_open_readers(recorder);

	/* Without notices only CPUs and events that come later go unseen. */
	if (!err && ktb_notify_open(recorder->conn, &recorder->notify))
		recorder->notify = NULL;
	return err;
}

/* ---- the command ---- */

static int run_connected(struct recorder *recorder, const struct options *options)
{
	int err = get_session(recorder, options);

	if (!err)
		err = open_readers(recorder);
	if (!err)
		err = recorder_list_events(recorder);
	if (!err)
		err = recorder_open_file(recorder);
	return err ? err : recorder_run(recorder);
}

/* Before the first file is open: the command inherits none. */
static int prepare(struct recorder *recorder, const struct options *options)
{
	int err = recorder_init(recorder);

	if (!err && options->command)
		err = workload_prepare(&recorder->workload, options->command);
	if (err)
		return err;
	raise_file_limit();
	recorder->conn = connect_module();
	return recorder->conn ? EXIT_DONE : EXIT_FAILED;
}

static int add_event(struct options *options, const char *name)
{
	const char **events =
		reallocarray(options->events, options->nr_events + 1, sizeof(*events));

	if (!events)
		return fail("out of memory");
	options->events = events;
	events[options->nr_events++] = name;
	return EXIT_DONE;
}

/* For getopt, of options that are words only. */
enum {
	OPTION_SELF = OPTION_OWN,
	OPTION_THREADS,
	OPTION_NO_THREADS,
	OPTION_MAX_SIZE,
	OPTION_SWITCH,
	OPTION_MAX_FILES,
	OPTION_CLOCKID,
};

static const char *set_level(struct recorder *recorder, const char *text)
{
	uint64_t level = 1;
	const char *wrong = text ? parse_number(text, 22, &level) : NULL;

	recorder->level = (int)level;
	return wrong || level ? wrong : "must be at least 1";
}

/* "30s", "5m", "1h", "1d": nothing that could be a size. */
static bool parse_interval(const char *text, uint64_t *ns)
{
	static const struct {
		char unit;
		uint64_t seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	if (end == text || !number || number > 1000000 || !*end || end[1])
		return false;
	for (unsigned int i = 0; i < ARRAY_SIZE(units); i++) {
		if (*end != units[i].unit)
			continue;
		*ns = number * units[i].seconds * 1000000000;
		return true;
	}
	return false;
}

static const char *set_switch(struct switch_output *when, const char *text)
{
	if (!text || !strcmp(text, "signal")) {
		when->on_signal = true;
		return NULL;
	}
	if (parse_interval(text, &when->time_ns))
		return NULL;
	/* Of a number alone nobody knows which of the two is meant. */
	if (strspn(text, "0123456789") == strlen(text) || parse_size(text, &when->size))
		return "neither 'signal' (SIGUSR2), nor a size (100M), nor a time (30s, 5m, 1h)";
	return NULL;
}

/* The clock is the module's, and a record's time is what it is. */
static const char *check_clock(const char *text)
{
	static const char *const names[] = { "monotonic", "mono", "CLOCK_MONOTONIC", "1" };

	for (unsigned int i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(text, names[i]))
			return NULL;
	return "CLOCK_MONOTONIC and no other is the records' clock (see perf script -F +tod)";
}

static const char *set_option(struct recorder *recorder, struct options *options, int c,
			      const char *text)
{
	const char *wrong = NULL;
	uint64_t number = 0;

	switch (c) {
	case 'e':
		break; /* is taken in already */
	case 's':
		options->session = text;
		break;
	case 'm':
		wrong = parse_size(text, &options->size);
		break;
	case OPTION_SELF:
		recorder->self = true;
		break;
	case 'o':
		recorder->path = text;
		if (!strcmp(text, "-"))
			wrong = "a perf.data has to be a file";
		break;
	case 'z':
		return set_level(recorder, text);
	case OPTION_THREADS:
	case OPTION_NO_THREADS:
		recorder->use_threads = c == OPTION_THREADS;
		break;
	case OPTION_MAX_SIZE:
		return parse_size(text, &recorder->max_size);
	case OPTION_SWITCH:
		return set_switch(&recorder->switch_output, text);
	case OPTION_MAX_FILES:
		wrong = parse_number(text, UINT_MAX, &number);
		recorder->switch_output.max_files = (unsigned int)number;
		break;
	case OPTION_CLOCKID:
		return check_clock(text);
	default:
		return tracing_set(&options->tracing, c, text);
	}
	return wrong;
}

/* A session has its events as they are: of CPUs one ring or all can be read. */
static int check_session_options(const struct context *context, struct recorder *recorder,
				 const struct options *options)
{
	const struct tracing *tracing = &options->tracing;
	uint64_t cpu = 0;

	if (options->size)
		return fail_usage(context, "-m is for -e: the session has its rings");
	if (tracing->period || tracing->freq)
		return fail_usage(context, "-c and -F are for -e: the session has its events");
	if (tracing->max_stack || tracing->pids.nr || tracing->tids.nr || tracing->max_events ||
	    tracing->cgroup)
		return fail_usage(context, "-g, -G, -p, -t and --max-events are for -e");
	if (tracing->nr_programs)
		return fail_usage(context, "--filter and --bpf are for -e");
	if (!tracing->cpus)
		return EXIT_DONE;
	if (parse_number(tracing->cpus, INT_MAX, &cpu))
		return fail_usage(context, "-C %s: with -s either one CPU or all", tracing->cpus);
	recorder->cpu = (int)cpu;
	return EXIT_DONE;
}

static int check_options(const struct context *context, struct recorder *recorder,
			 const struct options *options)
{
	if (!options->nr_events && !options->session)
		return fail_usage(context, "which events? name some with -e, or a session with -s");
	if (options->nr_events && options->session)
		return fail_usage(context, "either -e or -s");
	if (recorder->switch_output.max_files && !recorder_has_files(recorder))
		return fail_usage(context, "--switch-max-files is for --switch-output");
	if (options->session)
		return check_session_options(context, recorder, options);
	return tracing_check(context, &options->tracing);
}

static const char letters[] = "+:e:s:m:o:z::" TRACING_LETTERS;
static const struct option known[] = {
	TRACING_OPTIONS,
	{ "event", required_argument, NULL, 'e' },
	{ "session", required_argument, NULL, 's' },
	{ "size", required_argument, NULL, 'm' },
	{ "self", no_argument, NULL, OPTION_SELF },
	{ "output", required_argument, NULL, 'o' },
	{ "compression-level", optional_argument, NULL, 'z' },
	{ "threads", no_argument, NULL, OPTION_THREADS },
	{ "no-threads", no_argument, NULL, OPTION_NO_THREADS },
	{ "max-size", required_argument, NULL, OPTION_MAX_SIZE },
	{ "switch-output", optional_argument, NULL, OPTION_SWITCH },
	{ "switch-max-files", required_argument, NULL, OPTION_MAX_FILES },
	{ "clockid", required_argument, NULL, OPTION_CLOCKID },
	{ 0 },
};

static int parse_options(const struct context *context, struct recorder *recorder,
			 struct options *options, int argc, char **argv)
{
	const char *wrong;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, letters, known, NULL)) != -1) {
		if (c == '?' || c == ':')
			return fail_option(context, c, argv);
		if (c == 'e' && add_event(options, optarg))
			return EXIT_FAILED;
		options->tracing.group = options->nr_events;
		wrong = set_option(recorder, options, c, optarg);
		if (wrong)
			return fail_value(context, known, c, optarg ? optarg : "", wrong);
	}
	if (optind < argc)
		options->command = argv + optind;
	return check_options(context, recorder, options);
}

/* With the program's name in front. */
static int keep_command_line(struct recorder *recorder, int argc, char **argv)
{
	recorder->argv = calloc(argc + 1, sizeof(*recorder->argv));
	if (!recorder->argv)
		return fail("out of memory");
	recorder->argv[recorder->argc++] = program_invocation_name;
	while (recorder->argc <= argc)
		recorder->argv[recorder->argc++] = *argv++;
	return EXIT_DONE;
}

static int run_record(struct context *context, int argc, char **argv)
{
	struct recorder recorder = {
		.path = "perf.data",
		.cpu = -1,
		.json = context->json,
		.use_threads = sysconf(_SC_NPROCESSORS_ONLN) > 1,
	};
	struct options options = { .tracing.is_grouped = true };
	int err = parse_options(context, &recorder, &options, argc, argv);

	if (!options.command && (options.tracing.pids.nr || options.tracing.tids.nr))
		recorder.targets = &options.tracing;
	if (!err)
		err = keep_command_line(&recorder, argc, argv);
	if (!err) {
		err = prepare(&recorder, &options);
		if (!err)
			err = run_connected(&recorder, &options);
		/* Told to go or not, the command's process ends with its pipe. */
		recorder_exit(&recorder);
	}
	tracing_free(&options.tracing);
	free(options.events);
	free(recorder.argv);
	return err;
}

const struct command cmd_record = {
	.name = "record",
	.summary = "record into a perf.data file",
	.help = help_record,
	.run = run_record,
	.letters = letters,
	.options = known,
};
