// SPDX-License-Identifier: GPL-2.0-only
/* ktbctl list: which events there are, and how the module would trace them. */
#include <fnmatch.h>
#include <getopt.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "ktbctl.h"

static const char help_list[] =
	"usage: ktbctl list [GLOB] [--json]\n"
	"\n"
	"List events: name, tracepoint id, and the path on which their hits reach a\n"
	"ring. Path 'native' is the module's own probe, 'perf' a counter of the kernel's\n"
	"perf with the module behind it; 'none' means that the event cannot be attached.\n"
	"An id of '-' means that there is none. Counters that every machine of the kind\n"
	"has come first; others are named as in ktbctl-attach(1).\n"
	"\n"
	"  GLOB    events to list, such as 'sched:*'; all if not given\n"
	"  --json  print JSON\n";

static void print_event(struct catalog_event *event)
{
	int type = catalog_type(event);

	if (type > 0)
		printf("%-44s %5d  %s\n", event->name, type, path_text(event->path));
	else
		printf("%-44s %5s  %s\n", event->name, "-", path_text(event->path));
}

static void add_json(struct json_object *list, struct catalog_event *event)
{
	struct json_object *object = json_object_new_object();
	int type = catalog_type(event);

	json_object_object_add(object, "name", json_text(event->name, strlen(event->name)));
	json_object_object_add(object, "type", type > 0 ? json_object_new_int(type) : NULL);
	json_object_object_add(object, "path", json_object_new_string(path_text(event->path)));
	json_object_array_add(list, object);
}

/* Hardware counters need a PMU of the processor's, of whatever name. */
static bool has_cpu_pmu(void)
{
	glob_t found = { 0 };
	bool has = !glob("/sys/bus/event_source/devices/{cpu,cpu_*,armv*}/type", GLOB_BRACE, NULL,
			 &found);

	globfree(&found);
	return has;
}

/* Returns how many match. */
static unsigned int show_counters(const struct context *context, struct json_object *list,
				  const char *glob)
{
	const bool hardware = has_cpu_pmu();
	unsigned int nr = 0;
	const char *name;
	uint32_t type;

	for (unsigned int i = 0; (name = ktb_perf_event_name(i, &type)); i++) {
		struct catalog_event event = { .name = (char *)name,
					       .path = KTB_PATH_PERF,
					       .type = -1 };

		if (fnmatch(glob, name, 0) || (type == PERF_TYPE_HARDWARE && !hardware))
			continue;
		nr++;
		if (context->json)
			add_json(list, &event);
		else
			print_event(&event);
	}
	return nr;
}

static int show(const struct context *context, const struct catalog *catalog, const char *glob)
{
	struct json_object *list = json_object_new_array(), *object;
	unsigned int nr = show_counters(context, list, glob);

	for (unsigned int i = 0; i < catalog->nr; i++) {
		if (fnmatch(glob, catalog->events[i].name, 0))
			continue;
		nr++;
		if (context->json)
			add_json(list, &catalog->events[i]);
		else
			print_event(&catalog->events[i]);
	}
	if (!nr) {
		json_object_put(list);
		return fail("no event matches '%s'", glob);
	}
	if (!context->json) {
		json_object_put(list);
		return output_flush();
	}
	object = json_object_new_object();
	json_object_object_add(object, "events", list);
	return output_json(object);
}

static int run_list(struct context *context, int argc, char **argv)
{
	static const struct option options[] = { { 0 } };
	struct catalog catalog;
	struct ktb_conn *conn;
	int err, c;

	opterr = 0;
	c = getopt_long(argc, argv, ":", options, NULL);
	if (c != -1)
		return fail_option(context, c, argv);
	if (argc - optind > 1)
		return fail_usage(context, "one pattern at a time; quote it");
	conn = connect_module();
	if (!conn)
		return EXIT_FAILED;
	err = catalog_load(conn, &catalog);
	if (!err) {
		err = show(context, &catalog, argc > optind ? argv[optind] : "*");
		catalog_free(&catalog);
	}
	ktb_conn_free(conn);
	return err;
}

const struct command cmd_list = {
	.name = "list",
	.summary = "list the events there are",
	.help = help_list,
	.run = run_list,
};
