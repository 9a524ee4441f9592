// SPDX-License-Identifier: GPL-2.0-only
/* ktbctl attach: attach events to a session, all or nothing. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ktbctl.h"

#define DEFAULT_SIZE 1048576

static const char help_attach[] =
	"usage: ktbctl attach EVENT... [-s SESSION] [-m SIZE] [--overwrite] [--json]\n"
	"\n"
	"Attach events to a session, which is made if it does not exist. It lives on\n"
	"until 'ktbctl detach' or the module's unloading; 'ktbctl read' shows what is\n"
	"traced.\n"
	"\n"
	"  EVENT             'system:event', or a pattern such as 'sched:*' (quote it);\n"
	"                    of a pattern's events those are attached that can be\n"
	"  -s, --session S   the session ('default')\n"
	"  -m, --size SIZE   bytes of records per CPU, with K, M or G (1M), rounded up to\n"
	"                    a power of two of pages; for a new session only\n"
	"      --overwrite   keep the newest records instead of the oldest, for 'ktbctl\n"
	"                    snapshot'; for a new session only\n"
	"      --json        print JSON\n"
	"\n"
	"If an event named in full cannot be attached, none is, and a session made for\n"
	"it is removed.\n";

struct attach {
	const struct context *context;
	struct ktb_conn *conn;
	struct choice choice;
	struct ktb_session_info session;
	bool made; /* the session, by us */
	const char *name; /* of the session */
	uint64_t size; /* 0: not given */
	bool overwrite;
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
		.flags = KTB_SESSION_PERSISTENT | (attach->overwrite ? KTB_SESSION_OVERWRITE : 0),
	};

	if (ktb_session_new(attach->conn, attach->name, &options, &attach->session))
		return fail("cannot make session '%s': %s", attach->name,
			    ktb_conn_error(attach->conn));
	attach->made = true;
	return EXIT_DONE;
}

/* A session that is there stays what it is. */
static int check_overwrite(const struct attach *attach)
{
	if (!attach->overwrite || attach->session.flags & KTB_SESSION_OVERWRITE)
		return EXIT_DONE;
	return fail("'%s' keeps the oldest records: detach it first, or leave out --overwrite",
		    attach->name);
}

static int get_session(struct attach *attach)
{
	uint64_t has;
	int err = ktb_session_get(attach->conn, attach->name, &attach->session);

	if (err == -ENOENT)
		return make_session(attach);
	if (err)
		return fail("%s", ktb_conn_error(attach->conn));
	ktb_session_info_clear(&attach->session);
	has = attach->session.ring_size;
	if (attach->size && rounded(attach->size) != has)
		return fail("'%s' has rings of %llu bytes: detach it first, or leave out -m",
			    attach->name, (unsigned long long)has);
	return check_overwrite(attach);
}

static void undo(struct attach *attach)
{
	const struct choice *choice = &attach->choice;

	for (unsigned int i = 0; i < choice->nr && !attach->made; i++)
		if (choice->items[i].attached)
			ktb_event_detach(attach->conn, attach->session.id,
					 choice->items[i].event.id, NULL);
	if (attach->made)
		ktb_session_del(attach->conn, attach->session.id);
}

/* ^C in the middle would leave half of it: it waits until all is done. */
static int attach_all(struct attach *attach)
{
	sigset_t block, before;
	int err;

	sigemptyset(&block);
	sigaddset(&block, SIGINT);
	sigaddset(&block, SIGTERM);
	sigaddset(&block, SIGHUP);
	sigprocmask(SIG_BLOCK, &block, &before);
	err = get_session(attach);
	if (!err) {
		err = choice_attach(&attach->choice, attach->conn, &attach->session, NULL);
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
	struct json_object *attached = json_object_new_array();
	struct json_object *skipped = json_object_new_array(), *one;

	for (unsigned int i = 0; i < attach->choice.nr; i++) {
		const struct choice_item *item = &attach->choice.items[i];

		if (item->attached) {
			json_object_array_add(attached, json_event(&item->event));
			continue;
		}
		one = json_object_new_object();
		json_object_object_add(one, "name", json_text(item->name, strlen(item->name)));
		json_object_object_add(one, "reason",
				       json_text(item->reason, strlen(item->reason)));
		json_object_array_add(skipped, one);
	}
	json_object_object_add(object, "session", json_text(attach->name, strlen(attach->name)));
	json_object_object_add(object, "id", json_object_new_uint64(attach->session.id));
	json_object_object_add(object, "new", json_object_new_boolean(attach->made));
	json_object_object_add(object, "ring_size",
			       json_object_new_uint64(attach->session.ring_size));
	json_object_object_add(object, "overwrite",
			       json_object_new_boolean(attach->session.flags &
						       KTB_SESSION_OVERWRITE));
	json_object_object_add(object, "attached", attached);
	json_object_object_add(object, "skipped", skipped);
	return output_json(object);
}

static int report_text(const struct attach *attach)
{
	const struct choice *choice = &attach->choice;
	char size[32];

	for (unsigned int i = 0; i < choice->nr; i++)
		if (choice->items[i].attached)
			printf("attached %s (%s)\n", choice->items[i].event.name,
			       path_text(choice->items[i].event.path));
	choice_note_skipped(choice);
	printf("session '%s', %s%s per CPU%s\n", attach->name,
	       attach->session.flags & KTB_SESSION_OVERWRITE ? "newest " : "",
	       size_text(attach->session.ring_size, size, sizeof(size)),
	       attach->made ? ", new" : "");
	return output_flush();
}

/* ---- the command ---- */

static int run_connected(struct attach *attach, int argc, char **argv)
{
	int err = catalog_load(attach->conn, &attach->choice.catalog);

	for (int i = optind; i < argc && !err; i++)
		err = choice_add(&attach->choice, argv[i]);
	if (!err)
		err = attach_all(attach);
	if (!err)
		err = attach->context->json ? report_json(attach) : report_text(attach);
	choice_free(&attach->choice);
	return err;
}

static int parse_options(struct attach *attach, int argc, char **argv)
{
	static const struct option options[] = {
		{ "session", required_argument, NULL, 's' },
		{ "size", required_argument, NULL, 'm' },
		{ "overwrite", no_argument, NULL, 'w' },
		{ 0 },
	};
	const char *wrong;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":s:m:", options, NULL)) != -1) {
		switch (c) {
		case 's':
			attach->name = optarg;
			break;
		case 'm':
			wrong = parse_size(optarg, &attach->size);
			if (wrong)
				return fail_usage(attach->context, "-m %s: %s", optarg, wrong);
			break;
		case 'w':
			attach->overwrite = true;
			break;
		default:
			return fail_option(attach->context, c, argv);
		}
	}
	if (optind == argc)
		return fail_usage(attach->context, "which events?");
	return EXIT_DONE;
}

static int run_attach(struct context *context, int argc, char **argv)
{
	struct attach attach = { .context = context, .name = DEFAULT_SESSION };
	int err = parse_options(&attach, argc, argv);

	if (err)
		return err;
	attach.conn = connect_module();
	if (!attach.conn)
		return EXIT_FAILED;
	err = run_connected(&attach, argc, argv);
	ktb_conn_free(attach.conn);
	return err;
}

const struct command cmd_attach = {
	.name = "attach",
	.summary = "attach events to a session",
	.help = help_attach,
	.run = run_attach,
};
