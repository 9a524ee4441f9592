// SPDX-License-Identifier: GPL-2.0-only
/* ktbctl attach: attach events to a session, all or nothing. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "signals.h"
#include "tracing.h"

#define DEFAULT_SIZE 1048576

static const char help_attach[] =
	"usage: ktbctl attach EVENT... [-s SESSION] [-m SIZE] [--overwrite | --count-only]\n"
	"                     [-c N] [-g] [-p PID | -t TID] [-C CPUS] [-G CGROUP]\n"
	"                     [--json]\n"
	"\n"
	"Attach events to a session, which is made if it does not exist. It lives on\n"
	"until 'ktbctl detach' or the module's unloading; 'ktbctl read' shows what is\n"
	"traced.\n"
	"\n"
	"  EVENT             'system:event', or a pattern such as 'sched:*' (quote it);\n"
	"                    of a pattern's events those are attached that can be; '!'\n"
	"                    before either excludes: 'sched:*' '!sched:sched_stat_*';\n"
	"                    a counter such as 'cycles:u', 'cpu-clock', 'mem:jiffies:w';\n"
	"                    calls of functions, 'function:vfs_* !vfs_read', or their\n"
	"                    returns, 'fgraph:vfs_read'\n"
	"  -s, --session S   the session ('default')\n"
	"  -m, --size SIZE   bytes of records per CPU, with K, M or G (1M), rounded up to\n"
	"                    a power of two of pages; for a new session only\n"
	"      --overwrite   keep the newest records instead of the oldest, for 'ktbctl\n"
	"                    snapshot'; for a new session only\n"
	"      --count-only  count hits without records; for a new session only\n" TRACING_HELP
	"      --json        print JSON\n"
	"\n"
	"If an event named in full cannot be attached, none is, and a session made for\n"
	"it is removed.\n";

enum {
	OPTION_OVERWRITE = OPTION_OWN,
	OPTION_COUNT_ONLY,
};

struct attach {
	const struct context *context;
	struct ktb_conn *conn;
	struct choice choice;
	struct tracing tracing;
	struct ktb_session_info session;
	bool made; /* the session, by us */
	const char *name; /* of the session */
	uint64_t size; /* 0: not given */
	uint32_t flags; /* KTB_SESSION_OVERWRITE, KTB_SESSION_COUNT_ONLY: asked for */
};

/* ---- attaching ---- */

static uint64_t rounded(uint64_t size)
{
	uint64_t pages = sysconf(_SC_PAGESIZE);

	while (pages < size && pages << 1)
		pages <<= 1;
	return pages;
}

static int make_session(struct attach *attach)
{
	const struct ktb_session_options options = {
		.ring_size = attach->size ? attach->size : DEFAULT_SIZE,
		.flags = KTB_SESSION_PERSISTENT | attach->flags,
		.max_stack = attach->tracing.max_stack,
	};

	if (ktb_session_new(attach->conn, attach->name, &options, &attach->session))
		return fail("cannot make session '%s': %s", attach->name,
			    ktb_conn_error(attach->conn));
	attach->made = true;
	return EXIT_DONE;
}

/* A session that is there stays what it is. */
static int check_session(const struct attach *attach)
{
	const struct ktb_session_info *session = &attach->session;
	uint32_t stack = attach->tracing.max_stack, lacks = attach->flags & ~session->flags;
	const char *is = NULL, *option = "-g";

	if (attach->size && rounded(attach->size) != session->ring_size)
		return fail("'%s' has rings of %llu bytes: detach it first, or leave out -m",
			    attach->name, (unsigned long long)session->ring_size);
	if (stack && session->max_stack && stack != session->max_stack)
		return fail("'%s' has callchains of %u frames: detach it first, or leave out %s",
			    attach->name, session->max_stack, "--max-stack");
	if (lacks & KTB_SESSION_OVERWRITE) {
		is = "keeps the oldest records";
		option = "--overwrite";
	} else if (lacks & KTB_SESSION_COUNT_ONLY) {
		is = "has records";
		option = "--count-only";
	} else if (stack && !session->max_stack) {
		is = "has no callchains";
	}
	if (!is)
		return EXIT_DONE;
	return fail("'%s' %s: detach it first, or leave out %s", attach->name, is, option);
}

static int get_session(struct attach *attach)
{
	int err = ktb_session_get(attach->conn, attach->name, &attach->session);

	if (err == -ENOENT)
		return make_session(attach);
	if (err)
		return fail("%s", ktb_conn_error(attach->conn));
	ktb_session_info_clear(&attach->session);
	return check_session(attach);
}

static void undo_events(struct attach *attach)
{
	const struct choice *choice = &attach->choice;
	uint64_t *ids = calloc(choice->nr + 1, sizeof(*ids));
	unsigned int nr = 0;

	for (unsigned int i = 0; i < choice->nr && ids; i++)
		if (choice->items[i].attached)
			ids[nr++] = choice->items[i].event.id;
	if (nr)
		ktb_events_detach(attach->conn, attach->session.id, ids, nr);
	free(ids);
}

static void undo(struct attach *attach)
{
	if (attach->made)
		ktb_session_del(attach->conn, attach->session.id);
	else
		undo_events(attach);
}

/* ^C in the middle would leave half of it: it waits until all is done. */
static int attach_all(struct attach *attach)
{
	sigset_t block, before;
	int err;

	sigemptyset(&block);
	hold_signals(&block, &before);
	err = get_session(attach);
	if (!err) {
		err = choice_attach(&attach->choice, attach->conn, &attach->session,
				    &attach->tracing);
		if (err)
			undo(attach);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return err;
}

/* ---- telling ---- */

static int report_json(const struct attach *attach)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "session", json_text(attach->name, strlen(attach->name)));
	json_object_object_add(object, "id", json_object_new_uint64(attach->session.id));
	json_object_object_add(object, "new", json_object_new_boolean(attach->made));
	json_object_object_add(object, "ring_size",
			       json_object_new_uint64(attach->session.ring_size));
	json_object_object_add(object, "overwrite",
			       json_object_new_boolean(attach->session.flags &
						       KTB_SESSION_OVERWRITE));
	json_object_object_add(object, "count_only",
			       json_object_new_boolean(attach->session.flags &
						       KTB_SESSION_COUNT_ONLY));
	json_object_object_add(object, "max_stack",
			       json_object_new_uint64(attach->session.max_stack));
	json_object_object_add(object, "attached", choice_json(&attach->choice, true));
	json_object_object_add(object, "skipped", choice_json(&attach->choice, false));
	return output_json(object);
}

static int report_text(const struct attach *attach)
{
	const struct ktb_session_info *session = &attach->session;
	char size[32], rings[64] = "counting only";

	choice_tell_attached(&attach->choice, attach->tracing.verbose);
	choice_note_skipped(&attach->choice, attach->tracing.verbose);
	if (!(session->flags & KTB_SESSION_COUNT_ONLY))
		snprintf(rings, sizeof(rings), "%s%s per CPU",
			 session->flags & KTB_SESSION_OVERWRITE ? "newest " : "",
			 size_text(session->ring_size, size, sizeof(size)));
	printf("session '%s', %s%s%s\n", attach->name, rings,
	       session->max_stack ? ", callchains" : "", attach->made ? ", new" : "");
	return output_flush();
}

/* ---- the command ---- */

static int run_connected(struct attach *attach, int argc, char **argv)
{
	int err = catalog_load(attach->conn, &attach->choice.catalog);

	for (int i = optind; i < argc && !err; i++)
		err = choice_add(&attach->choice, argv[i]);
	if (!err)
		err = choice_end(&attach->choice);
	if (!err)
		err = attach_all(attach);
	if (!err)
		err = attach->context->json ? report_json(attach) : report_text(attach);
	if (!err && !attach->made && !attach->session.enabled)
		note_disabled(attach->name);
	choice_free(&attach->choice);
	return err;
}

static const char *set_option(struct attach *attach, int c, const char *text)
{
	switch (c) {
	case 's':
		attach->name = text;
		return NULL;
	case 'm':
		return parse_size(text, &attach->size);
	case OPTION_OVERWRITE:
		attach->flags |= KTB_SESSION_OVERWRITE;
		return NULL;
	case OPTION_COUNT_ONLY:
		attach->flags |= KTB_SESSION_COUNT_ONLY;
		return NULL;
	}
	return tracing_set(&attach->tracing, c, text);
}

static int check_options(const struct attach *attach)
{
	const struct context *context = attach->context;

	if (attach->flags & KTB_SESSION_COUNT_ONLY) {
		if (attach->flags & KTB_SESSION_OVERWRITE || attach->size)
			return fail_usage(context,
					  "--count-only has no rings: leave out -m, --overwrite");
		if (attach->tracing.max_stack || attach->tracing.period)
			return fail_usage(context,
					  "--count-only has no records: leave out -g and -c");
	}
	return tracing_check(context, &attach->tracing);
}

static int parse_options(struct attach *attach, int argc, char **argv)
{
	static const struct option options[] = {
		TRACING_OPTIONS,
		{ "session", required_argument, NULL, 's' },
		{ "size", required_argument, NULL, 'm' },
		{ "overwrite", no_argument, NULL, OPTION_OVERWRITE },
		{ "count-only", no_argument, NULL, OPTION_COUNT_ONLY },
		{ 0 },
	};
	const char *wrong;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":s:m:" TRACING_LETTERS, options, NULL)) != -1) {
		if (c == '?' || c == ':')
			return fail_option(attach->context, c, argv);
		wrong = set_option(attach, c, optarg);
		if (wrong)
			return fail_value(attach->context, options, c, optarg, wrong);
	}
	if (optind == argc)
		return fail_usage(attach->context, "which events?");
	return check_options(attach);
}

static int run_attach(struct context *context, int argc, char **argv)
{
	struct attach attach = { .context = context, .name = DEFAULT_SESSION };
	int err = parse_options(&attach, argc, argv);

	if (!err) {
		attach.conn = connect_module();
		err = attach.conn ? run_connected(&attach, argc, argv) : EXIT_FAILED;
	}
	ktb_conn_free(attach.conn);
	tracing_free(&attach.tracing);
	return err;
}

const struct command cmd_attach = {
	.name = "attach",
	.summary = "attach events to a session",
	.help = help_attach,
	.run = run_attach,
};
