// SPDX-License-Identifier: GPL-2.0-only
/* ktbctl enable, disable: let a session or some of its events write records, or not. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ktbctl.h"

static const char help_enable[] =
	"usage: ktbctl enable [EVENT...] [-s SESSION] [--json]\n"
	"\n"
	"Let events that were disabled write records and count again. Without EVENT: let\n"
	"the session; its events that are disabled by themselves stay so.\n"
	"\n"
	"  EVENT             'system:event', or a pattern such as 'sched:*' (quote it)\n"
	"  -s, --session S   the session ('default')\n"
	"      --json        print JSON\n";

static const char help_disable[] =
	"usage: ktbctl disable [EVENT...] [-s SESSION] [--json]\n"
	"\n"
	"Let events write no records and count no hits, without detaching them; what is\n"
	"in the rings stays there. Without EVENT: the session with all of its events.\n"
	"When it returns, the last record is written.\n"
	"\n"
	"  EVENT             'system:event', or a pattern such as 'sched:*' (quote it)\n"
	"  -s, --session S   the session ('default')\n"
	"      --json        print JSON\n";

struct enable {
	const struct context *context;
	struct ktb_conn *conn;
	const char *name; /* of the session */
	bool on;
	struct selection selection;
};

static int set_session(const struct enable *enable)
{
	if (ktb_session_set_enabled(enable->conn, enable->selection.session.id, enable->on))
		return fail("%s", ktb_conn_error(enable->conn));
	if (!enable->context->json)
		printf("session '%s' %sd\n", enable->name, enable->context->command->name);
	return EXIT_DONE;
}

static int set_events(const struct enable *enable, struct json_object *names)
{
	const struct selection *selection = &enable->selection;
	unsigned int nr;
	uint64_t *ids = selection_ids(selection, &nr);
	int err;

	if (!ids)
		return EXIT_FAILED;
	err = ktb_events_set_enabled(enable->conn, selection->session.id, ids, nr, enable->on);
	free(ids);
	if (err)
		return fail("%s", ktb_conn_error(enable->conn));
	for (int i = 0; i < selection->nr; i++) {
		const struct ktb_event_info *event = &selection->events[i];

		if (!selection->chosen[i])
			continue;
		if (enable->context->json)
			json_object_array_add(names, json_text(event->name, strlen(event->name)));
		else
			printf("%s %sd\n", event->name, enable->context->command->name);
	}
	return EXIT_DONE;
}

/* Disabled sessions and events that are enabled by themselves are easily forgotten. */
static void note_session(const struct enable *enable)
{
	if (enable->on && !enable->selection.session.enabled)
		note_disabled(enable->name);
}

static int set(const struct enable *enable, bool events)
{
	struct json_object *object, *names;
	int err;

	if (!enable->context->json) {
		err = events ? set_events(enable, NULL) : set_session(enable);
		return err ? err : output_flush();
	}
	object = json_object_new_object();
	names = json_object_new_array();
	err = events ? set_events(enable, names) : set_session(enable);
	json_object_object_add(object, "session", json_text(enable->name, strlen(enable->name)));
	json_object_object_add(object, "enabled", json_object_new_boolean(enable->on));
	json_object_object_add(object, "events", names);
	return err | output_json(object);
}

static int run_connected(struct enable *enable, char **patterns)
{
	int err = selection_make(&enable->selection, enable->conn, enable->name, patterns);

	if (!err)
		err = set(enable, *patterns);
	if (!err && *patterns)
		note_session(enable);
	selection_free(&enable->selection);
	return err;
}

static int parse_options(struct enable *enable, int argc, char **argv)
{
	static const struct option options[] = {
		{ "session", required_argument, NULL, 's' },
		{ 0 },
	};
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":s:", options, NULL)) != -1) {
		if (c != 's')
			return fail_option(enable->context, c, argv);
		enable->name = optarg;
	}
	return EXIT_DONE;
}

static int run(struct context *context, bool on, int argc, char **argv)
{
	struct enable enable = { .context = context, .name = DEFAULT_SESSION, .on = on };
	int err = parse_options(&enable, argc, argv);

	if (err)
		return err;
	enable.conn = connect_module();
	if (!enable.conn)
		return EXIT_FAILED;
	err = run_connected(&enable, argv + optind);
	ktb_conn_free(enable.conn);
	return err;
}

static int run_enable(struct context *context, int argc, char **argv)
{
	return run(context, true, argc, argv);
}

static int run_disable(struct context *context, int argc, char **argv)
{
	return run(context, false, argc, argv);
}

const struct command cmd_enable = {
	.name = "enable",
	.summary = "let a session or some of its events write records",
	.help = help_enable,
	.run = run_enable,
};

const struct command cmd_disable = {
	.name = "disable",
	.summary = "let them write none, without detaching",
	.help = help_disable,
	.run = run_disable,
};
