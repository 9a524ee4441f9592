// SPDX-License-Identifier: GPL-2.0-only
/* ktbctl detach: detach events, or a session with all of them. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ktbctl.h"
#include "signals.h"

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
	struct selection selection;
	struct ktb_event_info *events; /* as they were in the end */
	int nr;
	bool removed; /* the session */
	int width; /* of the table */
	bool headed; /* the table has begun */
	struct json_object *done;
};

static void report(struct detach *detach, const struct ktb_event_info *event)
{
	struct json_object *object;

	if (detach->context->json) {
		object = json_event(event);
		json_object_object_add(object, "ledger", json_ledger(&event->ledger));
		json_object_array_add(detach->done, object);
		return;
	}
	if (!detach->headed)
		print_ledger_head(detach->width);
	detach->headed = true;
	print_ledger(detach->width, event->name, path_text(event->path), &event->ledger);
}

static bool is_chosen(const struct detach *detach, uint64_t id)
{
	const struct selection *selection = &detach->selection;

	for (int i = 0; i < selection->nr; i++)
		if (selection->events[i].id == id)
			return selection->chosen[i];
	return false;
}

static void report_all(struct detach *detach, bool chosen)
{
	for (int i = 0; i < detach->nr; i++)
		if (!chosen || is_chosen(detach, detach->events[i].id))
			report(detach, &detach->events[i]);
	if (detach->removed && !detach->context->json)
		printf("session '%s' removed\n", detach->name);
}

static int read_ledgers(struct detach *detach)
{
	int nr = ktb_event_list(detach->conn, detach->selection.session.id, false, &detach->events);

	if (nr < 0)
		return fail("%s", ktb_conn_error(detach->conn));
	detach->nr = nr;
	return EXIT_DONE;
}

/* It did not come to detaching: those that were enabled shall be so again. */
static void undo_chosen(struct detach *detach)
{
	const struct selection *selection = &detach->selection;

	for (int i = 0; i < selection->nr; i++)
		if (selection->chosen[i] && selection->events[i].enabled)
			ktb_event_set_enabled(detach->conn, selection->session.id,
					      selection->events[i].id, true);
}

/*
 * All of them with one wait for probes under way, not with one for each. Disabled
 * before, their ledgers stand still, and are read while they are there.
 */
static int detach_ids(struct detach *detach, const uint64_t *ids, unsigned int nr)
{
	uint32_t session = detach->selection.session.id;
	int err;

	if (ktb_events_set_enabled(detach->conn, session, ids, nr, false))
		err = fail("%s", ktb_conn_error(detach->conn));
	else
		err = read_ledgers(detach);
	if (!err && ktb_events_detach(detach->conn, session, ids, nr))
		err = fail("cannot detach: %s", ktb_conn_error(detach->conn));
	if (err)
		undo_chosen(detach);
	return err;
}

static int detach_chosen(struct detach *detach)
{
	unsigned int nr;
	uint64_t *ids = selection_ids(&detach->selection, &nr);
	int err = ids ? detach_ids(detach, ids, nr) : EXIT_FAILED;

	free(ids);
	return err;
}

/*
 * The session goes with all of its events, which is one wait for probes under
 * way, not one for each. Disabled before, its ledgers stand still.
 */
static int detach_session(struct detach *detach)
{
	const struct ktb_session_info *session = &detach->selection.session;
	int err;

	if (ktb_session_set_enabled(detach->conn, session->id, false))
		return fail("%s", ktb_conn_error(detach->conn));
	err = read_ledgers(detach);
	if (!err && ktb_session_del(detach->conn, session->id))
		err = fail("cannot remove session '%s': %s", detach->name,
			   ktb_conn_error(detach->conn));
	if (err && session->enabled)
		ktb_session_set_enabled(detach->conn, session->id, true);
	detach->removed = !err;
	return err;
}

/* ^C in the middle would leave them disabled: it waits until all is done. */
static int detach_all(struct detach *detach, bool chosen)
{
	sigset_t block, before;
	int err;

	sigemptyset(&block);
	hold_signals(&block, &before);
	err = chosen ? detach_chosen(detach) : detach_session(detach);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (!err)
		report_all(detach, chosen);
	return err;
}

static int finish(struct detach *detach, int err)
{
	struct json_object *object;

	if (!detach->context->json)
		return err ? err : output_flush();
	object = json_object_new_object();
	json_object_object_add(object, "session", json_text(detach->name, strlen(detach->name)));
	json_object_object_add(object, "removed", json_object_new_boolean(detach->removed));
	json_object_object_add(object, "detached", json_object_get(detach->done));
	return err | output_json(object);
}

static int run_connected(struct detach *detach, char **patterns)
{
	int err = selection_make(&detach->selection, detach->conn, detach->name, patterns);

	if (!err) {
		detach->done = json_object_new_array();
		detach->width = ledger_width(detach->selection.events, detach->selection.nr);
		err = detach_all(detach, *patterns);
		err = finish(detach, err);
		json_object_put(detach->done);
	}
	ktb_event_list_free(detach->events, detach->nr);
	selection_free(&detach->selection);
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
	err = run_connected(&detach, argv + optind);
	ktb_conn_free(detach.conn);
	return err;
}

const struct command cmd_detach = {
	.name = "detach",
	.summary = "detach events, or remove a session",
	.help = help_detach,
	.run = run_detach,
};
