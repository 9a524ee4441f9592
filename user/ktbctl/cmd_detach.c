// SPDX-License-Identifier: GPL-2.0-only
/* ktbctl detach: detach events, or a session with all of them. */
#include <errno.h>
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
	struct selection selection;
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

static bool is_among(const uint64_t *ids, unsigned int nr, uint64_t id)
{
	while (nr--)
		if (ids[nr] == id)
			return true;
	return false;
}

/*
 * All of them with one wait for probes under way, not with one for each. Disabled
 * before, their ledgers stand still, and are read while they are there.
 */
static int detach_ids(struct detach *detach, const uint64_t *ids, unsigned int nr)
{
	uint32_t session = detach->selection.session.id;
	struct ktb_event_info *events;
	int all = -1;

	if (!ktb_events_set_enabled(detach->conn, session, ids, nr, false))
		all = ktb_event_list(detach->conn, session, false, &events);
	if (all < 0)
		return fail("%s", ktb_conn_error(detach->conn));
	if (ktb_events_detach(detach->conn, session, ids, nr)) {
		ktb_event_list_free(events, all);
		return fail("cannot detach: %s", ktb_conn_error(detach->conn));
	}
	for (int i = 0; i < all; i++)
		if (is_among(ids, nr, events[i].id))
			report(detach, &events[i]);
	ktb_event_list_free(events, all);
	return EXIT_DONE;
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
	uint32_t id = detach->selection.session.id;
	struct ktb_event_info *events;
	int nr;

	if (ktb_session_set_enabled(detach->conn, id, false))
		return fail("%s", ktb_conn_error(detach->conn));
	nr = ktb_event_list(detach->conn, id, false, &events);
	if (nr < 0)
		return fail("%s", ktb_conn_error(detach->conn));
	detach->width = ledger_width(events, nr);
	for (int i = 0; i < nr; i++)
		report(detach, &events[i]);
	ktb_event_list_free(events, nr);
	if (ktb_session_del(detach->conn, id))
		return fail("cannot remove session '%s': %s", detach->name,
			    ktb_conn_error(detach->conn));
	detach->removed = true;
	if (!detach->context->json)
		printf("session '%s' removed\n", detach->name);
	return EXIT_DONE;
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
		err = *patterns ? detach_chosen(detach) : detach_session(detach);
		err = finish(detach, err);
		json_object_put(detach->done);
	}
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
