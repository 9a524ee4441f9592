// SPDX-License-Identifier: GPL-2.0-only
/* ktbctl record: a session's records into a perf.data file. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorder.h"

#define DEFAULT_SIZE 1048576

static const char help_record[] =
	"usage: ktbctl record -e EVENT... [-m SIZE] [-c N] [-C CPU] [-o FILE] [--json]\n"
	"                     [-- COMMAND [ARGUMENT...]]\n"
	"       ktbctl record -s SESSION [-C CPU] [-o FILE] [--json] [-- COMMAND...]\n"
	"\n"
	"Record what is traced on all CPUs into a file that perf and all other readers of\n"
	"perf.data understand, while COMMAND runs, or until ^C. It ends with how many\n"
	"samples were recorded and lost.\n"
	"\n"
	"  -e, --event EVENT    'system:event' or a pattern such as 'sched:*' (quote it);\n"
	"                       several as further -e or with commas between; they are\n"
	"                       traced for the time of the recording\n"
	"  -s, --session S      record what session S traces, whose events stay attached\n"
	"  -m, --size SIZE      bytes of records per CPU, with K, M or G (1M)\n"
	"  -c, --count N        a sample of every N-th hit\n"
	"  -C, --cpu CPU        records of one CPU only\n"
	"  -o, --output FILE    the file (perf.data); an earlier one becomes FILE.old\n"
	"      --json           print the closing lines as a JSON object\n"
	"\n"
	"The exit status is COMMAND's, if recording did not fail.\n";

struct options {
	const char **events; /* of -e, not split yet */
	unsigned int nr_events;
	const char *session;
	uint64_t size;
	uint64_t period;
	int argc; /* the command line, for the file */
	char **argv;
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
		for (name = strtok_r(list, ",", &rest); name && !err;
		     name = strtok_r(NULL, ",", &rest))
			err = choice_add(choice, name);
		free(list);
	}
	return err || choice->nr ? err : fail("-e names no event");
}

static int make_session(struct recorder *recorder, const struct options *options)
{
	const uint64_t size = options->size ? options->size : DEFAULT_SIZE;
	const struct ktb_session_options make = {
		.ring_size = size,
		.flags = KTB_SESSION_DISABLED,
		.watermark = size / 4 > UINT32_MAX ? UINT32_MAX : (uint32_t)(size / 4),
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
	const struct ktb_event_options how = { .period = options->period };
	struct choice choice = { 0 };
	int err = catalog_load(recorder->conn, &choice.catalog);

	if (!err)
		err = choose_events(&choice, options);
	if (!err)
		err = make_session(recorder, options);
	if (!err)
		err = choice_attach(&choice, recorder->conn, &recorder->session, &how);
	if (!err)
		choice_note_skipped(&choice);
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
	return refuse_overwrite(&recorder->session);
}

static int open_reader(struct recorder *recorder)
{
	int err = ktb_reader_open(recorder->reader, recorder->session.id, recorder->cpu);

	if (err == -EBUSY)
		return fail_busy(recorder->conn, recorder->session.name);
	if (err)
		return fail("%s", ktb_reader_error(recorder->reader));
	/* Without notices only CPUs and events that come later go unseen. */
	if (ktb_notify_open(recorder->conn, &recorder->notify))
		recorder->notify = NULL;
	return EXIT_DONE;
}

/* ---- the file ---- */

static int open_file(struct recorder *recorder, const struct options *options)
{
	const struct ktb_perfdata_options what = {
		.sample_type = ktb_reader_sample_type(recorder->reader),
		.events = recorder->events,
		.nr_events = recorder->nr_events,
		.argc = options->argc,
		.argv = options->argv,
		.count = !recorder->own,
		.sideband = true,
	};

	if (!recorder->nr_events)
		return fail("session '%s' has no events", recorder->session.name);
	recorder->file = ktb_perfdata_new();
	if (!recorder->file)
		return fail("out of memory");
	if (ktb_perfdata_open(recorder->file, recorder->path, &what) ||
	    ktb_perfdata_synthesize(recorder->file))
		return fail("%s", ktb_perfdata_error(recorder->file));
	return EXIT_DONE;
}

/* ---- the command ---- */

static int run_connected(struct recorder *recorder, const struct options *options)
{
	int err = get_session(recorder, options);

	recorder->reader = ktb_reader_new();
	if (!err && !recorder->reader)
		err = fail("out of memory");
	if (!err)
		err = open_reader(recorder);
	if (!err)
		err = recorder_list_events(recorder);
	if (!err)
		err = open_file(recorder, options);
	return err ? err : recorder_run(recorder);
}

/* Before the first file is open: the command inherits none. */
static int prepare(struct recorder *recorder, const struct options *options)
{
	int err = recorder_catch_signals(recorder);

	if (!err && options->command)
		err = workload_prepare(&recorder->workload, options->command);
	if (err)
		return err;
	recorder->conn = connect_module();
	return recorder->conn ? EXIT_DONE : EXIT_FAILED;
}

static void release(struct recorder *recorder)
{
	ktb_perfdata_free(recorder->file);
	ktb_notify_close(recorder->notify);
	ktb_reader_free(recorder->reader);
	ktb_conn_free(recorder->conn);
	free(recorder->events);
	if (recorder->signals >= 0)
		close(recorder->signals);
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

static const char *set_option(struct recorder *recorder, struct options *options, int c,
			      const char *text)
{
	const char *wrong = NULL;
	uint64_t number = 0;

	switch (c) {
	case 's':
		options->session = text;
		break;
	case 'm':
		wrong = parse_size(text, &options->size);
		break;
	case 'c':
		wrong = parse_number(text, UINT64_MAX, &options->period);
		if (!wrong && !options->period)
			wrong = "must be at least 1";
		break;
	case 'C':
		wrong = parse_number(text, INT_MAX, &number);
		recorder->cpu = (int)number;
		break;
	case 'o':
		recorder->path = text;
		if (!strcmp(text, "-"))
			wrong = "a perf.data has to be a file";
		break;
	}
	return wrong;
}

static int check_options(const struct context *context, const struct options *options)
{
	if (!options->nr_events && !options->session)
		return fail_usage(context, "which events? name some with -e, or a session with -s");
	if (options->nr_events && options->session)
		return fail_usage(context, "either -e or -s");
	if (options->session && options->size)
		return fail_usage(context, "-m is for -e: the session has its rings");
	if (options->session && options->period)
		return fail_usage(context, "-c is for -e: the session has its events");
	return EXIT_DONE;
}

static int parse_options(const struct context *context, struct recorder *recorder,
			 struct options *options, int argc, char **argv)
{
	static const struct option known[] = {
		{ "event", required_argument, NULL, 'e' },
		{ "session", required_argument, NULL, 's' },
		{ "size", required_argument, NULL, 'm' },
		{ "count", required_argument, NULL, 'c' },
		{ "cpu", required_argument, NULL, 'C' },
		{ "output", required_argument, NULL, 'o' },
		{ 0 },
	};
	const char *wrong;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "+:e:s:m:c:C:o:", known, NULL)) != -1) {
		if (c == '?' || c == ':')
			return fail_option(context, c, argv);
		if (c == 'e' && add_event(options, optarg))
			return EXIT_FAILED;
		wrong = set_option(recorder, options, c, optarg);
		if (wrong)
			return fail_usage(context, "-%c %s: %s", c, optarg, wrong);
	}
	if (optind < argc)
		options->command = argv + optind;
	return check_options(context, options);
}

/* With the program's name in front. */
static int keep_command_line(struct options *options, int argc, char **argv)
{
	options->argv = calloc(argc + 1, sizeof(*options->argv));
	if (!options->argv)
		return fail("out of memory");
	options->argv[options->argc++] = program_invocation_name;
	while (options->argc <= argc)
		options->argv[options->argc++] = *argv++;
	return EXIT_DONE;
}

static int run_record(struct context *context, int argc, char **argv)
{
	struct recorder recorder = {
		.path = "perf.data", .cpu = -1, .signals = -1, .json = context->json
	};
	struct options options = { 0 };
	int err = parse_options(context, &recorder, &options, argc, argv);

	if (!err)
		err = keep_command_line(&options, argc, argv);
	if (!err)
		err = prepare(&recorder, &options);
	if (!err)
		err = run_connected(&recorder, &options);
	/* Told to go or not, the command's process ends with its pipe. */
	release(&recorder);
	free(options.events);
	free(options.argv);
	return err;
}

const struct command cmd_record = {
	.name = "record",
	.summary = "record into a perf.data file",
	.help = help_record,
	.run = run_record,
};
