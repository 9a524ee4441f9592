// SPDX-License-Identifier: GPL-2.0-only
/* ktbctl detach: detach events, or a session with all of them. */
#include <fnmatch.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ktbctl.h"

static const char help_detach[] =
	"usage: ktbctl detach [EVENT...] [-s SESSION] [--json]\n"
	"\n"
	"Detach events from a session and print the last ledger of each. Without\n"
	"EVENT: detach all, and remove the session with what is unread in it.\n"
	"\n"
	"  EVENT             'system:event', or a pattern such as 'sched:*' (quote it)\n"
	"  -s, --session S   the session ('default')\n"
	"      --json        print JSON\n";

struct detach {
	const struct context *context;
	struct ktb_conn *conn;
	const char *name; /* of the session */
	struct ktb_session_info session;
	struct ktb_event_info *events; /* the session's */
	int nr;
	bool *chosen; /* which of them */
	bool all; /* and the session */
	struct json_object *done;
};

static int choose(struct detach *detach, const char *pattern)
{
	bool found = false;

	for (int i = 0; i < detach->nr; i++) {
		if (fnmatch(pattern, detach->events[i].name, 0))
			continue;
		detach->chosen[i] = true;
		found = true;
	}
	if (found)
		return EXIT_DONE;
	return fail("session '%s' has no event '%s'; 'ktbctl status' shows what it has",
		    detach->name, pattern);
}

static void report(struct detach *detach, const struct ktb_event_info *event)
{
	struct json_object *object;

	if (!detach->context->json) {
		print_ledger(ledger_width(detach->events, detach->nr), event->name,
			     path_text(event->path), &event->ledger);
		return;
	}
	object = json_event(event);
	json_object_object_add(object, "ledger", json_ledger(&event->ledger));
	json_object_array_add(detach->done, object);
}

static int detach_chosen(struct detach *detach)
{
	struct ktb_event_info last;
	bool head = !detach->context->json;

	for (int i = 0; i < detach->nr; i++) {
		if (!detach->chosen[i])
			continue;
		if (ktb_event_detach(detach->conn, detach->session.id, detach->events[i].id, &last))
			return fail("cannot detach %s: %s", detach->events[i].name,
				    ktb_conn_error(detach->conn));
		if (head)
			print_ledger_head(ledger_width(detach->events, detach->nr));
		head = false;
		report(detach, &last);
	}
	return EXIT_DONE;
}

static int remove_session(struct detach *detach)
{
	if (ktb_session_del(detach->conn, detach->session.id))
		return fail("cannot remove session '%s': %s", detach->name,
			    ktb_conn_error(detach->conn));
	if (!detach->context->json)
		printf("session '%s' removed\n", detach->name);
	return EXIT_DONE;
}

static int detach_all(struct detach *detach, int argc, char **argv)
{
	int err = EXIT_DONE;

	detach->all = optind == argc;
	for (int i = optind; i < argc && !err; i++)
		err = choose(detach, argv[i]);
	for (int i = 0; i < detach->nr && detach->all; i++)
		detach->chosen[i] = true;
	if (!err)
		err = detach_chosen(detach);
	if (!err && detach->all)
		err = remove_session(detach);
	return err;
}

static int finish(struct detach *detach, int err)
{
	struct json_object *object;

	if (!detach->context->json)
		return err ? err : output_flush();
	object = json_object_new_object();
	json_object_object_add(object, "session", json_text(detach->name, strlen(detach->name)));
	json_object_object_add(object, "removed", json_object_new_boolean(!err && detach->all));
	json_object_object_add(object, "detached", detach->done);
	detach->done = NULL;
	return err | output_json(object);
}

static int run_found(struct detach *detach, int argc, char **argv)
{
	int err;

	ktb_session_info_clear(&detach->session);
	detach->nr = ktb_event_list(detach->conn, detach->session.id, false, &detach->events);
	if (detach->nr < 0)
		return fail("%s", ktb_conn_error(detach->conn));
	detach->chosen = calloc(detach->nr + 1, sizeof(*detach->chosen));
	detach->done = json_object_new_array();
	if (detach->chosen && detach->done) {
		err = detach_all(detach, argc, argv);
		err = finish(detach, err);
	} else {
		err = fail("out of memory");
	}
	json_object_put(detach->done);
	free(detach->chosen);
	ktb_event_list_free(detach->events, detach->nr);
	return err;
}

static int parse_options(struct detach *detach, int argc, char **argv)
{
	static const struct option options[] = {
		{ "session", required_argument, NULL, 's' },
		{ 0 },
	};
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":s:", options, NULL)) != -1) {
		if (c != 's')
			return fail_option(detach->context, c, argv);
		detach->name = optarg;
	}
	return EXIT_DONE;
}

static int run_detach(struct context *context, int argc, char **argv)
{
	struct detach detach = { .context = context, .name = DEFAULT_SESSION };
	int err = parse_options(&detach, argc, argv);

	if (err)
		return err;
	detach.conn = connect_module();
	if (!detach.conn)
		return EXIT_FAILED;
	err = find_session(detach.conn, detach.name, &detach.session);
	if (!err)
		err = run_found(&detach, argc, argv);
	ktb_conn_free(detach.conn);
	return err;
}

const struct command cmd_detach = {
	.name = "detach",
	.summary = "detach events, or remove a session",
	.help = help_detach,
	.run = run_detach,
};
