// SPDX-License-Identifier: GPL-2.0-only
/* ktbctl read: a session's records as they come. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "follow.h"
#include "ktbctl.h"

#define DEFAULT_INTERVAL_MS 50

static const char help_read[] =
	"usage: ktbctl read [-s SESSION] [-n N] [-t SECONDS] [-C CPU] [-i MS] [--self]\n"
	"                   [--json]\n"
	"\n"
	"Print a session's records, decoded, in the order of time across CPUs, as they\n"
	"come; first those already there. What has been read is gone from the ring. It\n"
	"ends after N records, after SECONDS, at ^C, or when the session is removed,\n"
	"and then tells on stderr how many records were read and lost.\n"
	"\n"
	"  -s, --session S      the session ('default')\n"
	"  -n, --count N        end after N samples; the others stay in the ring\n"
	"  -t, --time SECONDS   end after that long\n"
	"  -C, --cpu CPU        records of one CPU only\n"
	"  -i, --interval MS    look at the rings at most once in that time (50), since\n"
	"                       waking up and printing can itself be what is traced\n"
	"      --self           hits of this command itself too\n"
	"      --json           print a JSON object per line\n"
	"\n"
	"A line is: name and number of the thread, [CPU], seconds since boot, event, and\n"
	"the event's own text; below it, the call chain, if the session has them.\n";

struct options {
	const char *session;
	struct follow_limits limits;
	int cpu;
	bool self;
};

enum {
	OPTION_SELF = 256,
};

static int open_reader(struct follow *follow, const struct options *options)
{
	struct ktb_session_info session;
	int err = find_session(follow->conn, options->session, &session);

	if (err)
		return err;
	ktb_session_info_clear(&session);
	err = refuse_unreadable(&session);
	if (err)
		return err;
	if (!options->self)
		ktb_reader_exclude_self(follow->reader);
	err = ktb_reader_open(follow->reader, session.id, options->cpu);
	if (err == -EBUSY)
		return fail_busy(follow->conn, options->session);
	if (err)
		return fail("%s", ktb_reader_error(follow->reader));
	names_init(&follow->printer.names, follow->conn, follow->printer.formats, session.id);
	follow->merge = ktb_merge_new(follow->reader);
	if (!follow->merge)
		return fail("out of memory");
	/* Without notices only CPUs that come online later go unseen. */
	if (ktb_notify_open(follow->conn, &follow->notify))
		follow->notify = NULL;
	return EXIT_DONE;
}

/* Why frames have no names, if there were any. */
static void note_problem(const struct ktb_stacks *stacks)
{
	const char *problem = stacks ? ktb_stacks_problem(stacks) : NULL;

	if (problem)
		note("%s", problem);
}

static int run_connected(const struct context *context, const struct options *options,
			 struct follow *follow)
{
	int err;

	follow->printer.json = context->json;
	follow->printer.formats = ktb_formats_new();
	follow->printer.comms = ktb_comms_new();
	follow->reader = ktb_reader_new();
	if (!follow->printer.formats || !follow->printer.comms || !follow->reader)
		return fail("out of memory");
	err = open_reader(follow, options);
	if (err)
		return err;
	follow->session = options->session;
	follow->limits = options->limits;
	err = follow_run(follow);
	note_problem(follow->printer.stacks);
	return err;
}

static void release(struct follow *follow)
{
	ktb_notify_close(follow->notify);
	ktb_merge_free(follow->merge);
	ktb_reader_free(follow->reader);
	names_free(&follow->printer.names);
	calls_free(&follow->printer.calls);
	ktb_stacks_free(follow->printer.stacks);
	ktb_comms_free(follow->printer.comms);
	ktb_formats_free(follow->printer.formats);
	ktb_conn_free(follow->conn);
}

static const char *set_option(struct options *options, int c, const char *text)
{
	const char *wrong = NULL;
	uint64_t number = 0;

	switch (c) {
	case 's':
		options->session = text;
		break;
	case 'n':
		wrong = parse_number(text, UINT64_MAX, &options->limits.samples);
		if (!wrong && !options->limits.samples)
			wrong = "must be at least 1";
		break;
	case 't':
		wrong = parse_seconds(text, &options->limits.time_ns);
		options->limits.has_time = true;
		break;
	case 'C':
		wrong = parse_number(text, INT_MAX, &number);
		options->cpu = (int)number;
		break;
	case OPTION_SELF:
		options->self = true;
		break;
	case 'i':
		wrong = parse_number(text, 60000, &number);
		options->limits.interval_ns = number * 1000000;
		break;
	}
	return wrong;
}

static int parse_options(const struct context *context, struct options *options, int argc,
			 char **argv)
{
	static const struct option known[] = {
		{ "session", required_argument, NULL, 's' },
		{ "count", required_argument, NULL, 'n' },
		{ "time", required_argument, NULL, 't' },
		{ "cpu", required_argument, NULL, 'C' },
		{ "interval", required_argument, NULL, 'i' },
		{ "self", no_argument, NULL, OPTION_SELF },
		{ 0 },
	};
	const char *wrong;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":s:n:t:C:i:", known, NULL)) != -1) {
		if (c == '?' || c == ':')
			return fail_option(context, c, argv);
		wrong = set_option(options, c, optarg);
		if (wrong)
			return fail_usage(context, "-%c %s: %s", c, optarg, wrong);
	}
	if (optind != argc)
		return fail_usage(context, "'%s' is one too many; a session is named by -s",
				  argv[optind]);
	return EXIT_DONE;
}

static int run_read(struct context *context, int argc, char **argv)
{
	struct options options = {
		.session = DEFAULT_SESSION,
		.cpu = -1,
		.limits.interval_ns = DEFAULT_INTERVAL_MS * 1000000,
	};
	struct follow follow = { 0 };
	int err = parse_options(context, &options, argc, argv);

	if (err)
		return err;
	follow.conn = connect_module();
	if (!follow.conn)
		return EXIT_FAILED;
	err = run_connected(context, &options, &follow);
	release(&follow);
	return err;
}

const struct command cmd_read = {
	.name = "read",
	.summary = "print a session's records as they come",
	.help = help_read,
	.run = run_read,
};
