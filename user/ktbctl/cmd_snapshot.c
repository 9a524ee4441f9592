// SPDX-License-Identifier: GPL-2.0-only
/* ktbctl snapshot: the newest records of an overwrite session into a perf.data. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "signals.h"
#include "snapshot.h"

static const char help_snapshot[] =
	"usage: ktbctl snapshot [-s SESSION] [-o FILE] [--self] [--json]\n"
	"\n"
	"Write the records that an overwrite session has now, its newest ones, into a\n"
	"file that perf and all other readers of perf.data understand. The session, made\n"
	"by 'ktbctl attach --overwrite', goes on, and its records stay: a snapshot can be\n"
	"taken at any time, and again. It tells how many samples are in the file, how many\n"
	"had been overwritten, and how many were lost.\n"
	"\n"
	"  -s, --session S      the session ('default')\n"
	"  -o, --output FILE    the file (perf.data); an earlier one becomes FILE.old\n"
	"      --self           hits of this command itself too\n"
	"      --json           print the closing lines as a JSON object\n"
	"\n"
	"What hits while the records are copied, milliseconds, is lost and counted.\n";

enum {
	OPTION_SELF = 256,
};

static int open_session(struct snapshot *snapshot, const char *name)
{
	int err = find_session(snapshot->conn, name, &snapshot->session);

	if (err)
		return err;
	ktb_session_info_clear(&snapshot->session);
	if (snapshot->session.flags & KTB_SESSION_COUNT_ONLY)
		return fail("session '%s' only counts: it has no records", name);
	if (!(snapshot->session.flags & KTB_SESSION_OVERWRITE)) {
		fail("session '%s' keeps the oldest records: use 'ktbctl read' or 'record'", name);
		note("'ktbctl attach --overwrite' makes one for snapshots");
		return EXIT_FAILED;
	}
	snapshot->reader = ktb_reader_new();
	if (!snapshot->reader)
		return fail("out of memory");
	if (!snapshot->self)
		ktb_reader_exclude_self(snapshot->reader);
	err = ktb_reader_open_overwrite(snapshot->reader, snapshot->session.id, -1);
	if (err == -EBUSY)
		return fail_busy(snapshot->conn, name);
	return err ? fail("%s", ktb_reader_error(snapshot->reader)) : EXIT_DONE;
}

/* A signal is to leave no half of a file. */
static void catch_signals(void)
{
	sigset_t block;

	sigemptyset(&block);
	hold_signals(&block, NULL);
	/* A file too large is an error like a full disk. */
	signal(SIGXFSZ, SIG_IGN);
}

static int run_connected(struct snapshot *snapshot, const char *name)
{
	int err = open_session(snapshot, name);

	if (err)
		return err;
	catch_signals();
	err = snapshot_take(snapshot);
	if (!err && !snapshot->nr_events)
		err = fail("session '%s' has no events", name);
	/* While it is written others may read the session. */
	ktb_reader_free(snapshot->reader);
	snapshot->reader = NULL;
	return err ? err : snapshot_write(snapshot);
}

static int parse_options(const struct context *context, struct snapshot *snapshot,
			 const char **name, int argc, char **argv)
{
	static const struct option known[] = {
		{ "session", required_argument, NULL, 's' },
		{ "output", required_argument, NULL, 'o' },
		{ "self", no_argument, NULL, OPTION_SELF },
		{ 0 },
	};
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":s:o:", known, NULL)) != -1) {
		if (c == 's')
			*name = optarg;
		else if (c == 'o')
			snapshot->path = optarg;
		else if (c == OPTION_SELF)
			snapshot->self = true;
		else
			return fail_option(context, c, argv);
	}
	if (!strcmp(snapshot->path, "-"))
		return fail_usage(context, "-o -: a perf.data has to be a file");
	if (optind != argc)
		return fail_usage(context, "'%s' is one too many; a session is named by -s",
				  argv[optind]);
	return EXIT_DONE;
}

/* With the program's name in front. */
static int keep_command_line(struct snapshot *snapshot, int argc, char **argv)
{
	snapshot->argv = calloc(argc + 1, sizeof(*snapshot->argv));
	if (!snapshot->argv)
		return fail("out of memory");
	snapshot->argv[snapshot->argc++] = program_invocation_name;
	while (snapshot->argc <= argc)
		snapshot->argv[snapshot->argc++] = *argv++;
	return EXIT_DONE;
}

static int run_snapshot(struct context *context, int argc, char **argv)
{
	struct snapshot snapshot = { .path = "perf.data", .json = context->json };
	const char *name = DEFAULT_SESSION;
	int err = parse_options(context, &snapshot, &name, argc, argv);

	if (!err)
		err = keep_command_line(&snapshot, argc, argv);
	if (!err) {
		snapshot.conn = connect_module();
		err = snapshot.conn ? run_connected(&snapshot, name) : EXIT_FAILED;
	}
	snapshot_free(&snapshot);
	free(snapshot.argv);
	return err;
}

const struct command cmd_snapshot = {
	.name = "snapshot",
	.summary = "write an overwrite session's records into a perf.data file",
	.help = help_snapshot,
	.run = run_snapshot,
};
