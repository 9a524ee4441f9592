// SPDX-License-Identifier: GPL-2.0-only
/* All events: those the module has a path for, and those tracefs knows. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tracefs.h>

#include "ktbctl.h"

static int compare(const void *a, const void *b)
{
	const struct catalog_event *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	/* Of two of a name the module's own comes first, and stays. */
	return order ? order : (int)x->path - (int)y->path;
}

static int add(struct catalog *catalog, char *name, uint32_t path, int type)
{
	struct catalog_event *events;

	if (!name)
		return -1;
	events = reallocarray(catalog->events, catalog->nr + 1, sizeof(*events));
	if (!events) {
		free(name);
		return -1;
	}
	catalog->events = events;
	events[catalog->nr++] = (struct catalog_event){
		.name = name,
		.path = path,
		.type = type,
	};
	return 0;
}

static int add_sources(struct ktb_conn *conn, struct catalog *catalog)
{
	struct ktb_source_info *sources;
	int nr, err = 0;

	nr = ktb_source_list(conn, &sources);
	if (nr < 0)
		return fail("%s", ktb_conn_error(conn));
	for (int i = 0; i < nr && !err; i++)
		err = add(catalog, strdup(sources[i].name), sources[i].path,
			  sources[i].type ? (int)sources[i].type : -1);
	ktb_source_list_free(sources);
	return err ? fail("out of memory") : 0;
}

/* "system:event" a line: what can be enabled in tracefs, perf can attach. */
static int add_available(struct catalog *catalog)
{
	char *text = tracefs_instance_file_read(NULL, "available_events", NULL);
	char *rest = text, *line;
	int err = 0;

	while (!err && (line = strsep(&rest, "\n")))
		if (*line)
			err = add(catalog, strdup(line), KTB_PATH_PERF, 0);
	free(text);
	return err;
}

/* ftrace's own records, which have formats and no tracepoint. */
static int add_ftrace(struct catalog *catalog)
{
	char **events = tracefs_system_events(NULL, "ftrace"), *name;
	int err = 0;

	for (char **event = events; event && *event && !err; event++)
		err = asprintf(&name, "ftrace:%s", *event) < 0 ? -1 : add(catalog, name, 0, 0);
	tracefs_list_free(events);
	return err;
}

/* Without tracefs the module's own events are all there is. */
static int add_tracefs(struct catalog *catalog)
{
	int err = add_available(catalog);

	if (!err)
		err = add_ftrace(catalog);
	return err ? fail("out of memory") : 0;
}

static void sort(struct catalog *catalog)
{
	struct catalog_event *events = catalog->events;
	unsigned int kept = 0;

	if (!catalog->nr)
		return;
	qsort(events, catalog->nr, sizeof(*events), compare);
	for (unsigned int i = 1; i < catalog->nr; i++) {
		if (!strcmp(events[i].name, events[kept].name))
			free(events[i].name);
		else
			events[++kept] = events[i];
	}
	catalog->nr = kept + 1;
}

/* Returns an exit status, the reason told. */
int catalog_load(struct ktb_conn *conn, struct catalog *catalog)
{
	int err;

	memset(catalog, 0, sizeof(*catalog));
	err = add_sources(conn, catalog);
	if (!err)
		err = add_tracefs(catalog);
	if (err) {
		catalog_free(catalog);
		return err;
	}
	sort(catalog);
	return EXIT_DONE;
}

void catalog_free(struct catalog *catalog)
{
	for (unsigned int i = 0; i < catalog->nr; i++)
		free(catalog->events[i].name);
	free(catalog->events);
	memset(catalog, 0, sizeof(*catalog));
}

static int compare_name(const void *key, const void *event)
{
	return strcmp(key, ((const struct catalog_event *)event)->name);
}

struct catalog_event *catalog_find(const struct catalog *catalog, const char *name)
{
	if (!catalog->nr)
		return NULL;
	return bsearch(name, catalog->events, catalog->nr, sizeof(*catalog->events), compare_name);
}

/* Tracepoint id, -1 if it has none; tracefs is asked once. */
int catalog_type(struct catalog_event *event)
{
	char *system, *name, *text = NULL;

	if (event->type)
		return event->type;
	event->type = -1;
	system = strdup(event->name);
	name = system ? strchr(system, ':') : NULL;
	if (name) {
		*name++ = 0;
		text = tracefs_event_file_read(NULL, system, name, "id", NULL);
	}
	if (text && atoi(text) > 0)
		event->type = atoi(text);
	/* What perf cannot attach either has no id. */
	if (event->type < 0 && event->path == KTB_PATH_PERF)
		event->path = 0;
	free(text);
	free(system);
	return event->type;
}

/* "function:vfs_[rw]*" is a name, which does not match itself. */
bool name_matches(const char *pattern, const char *name)
{
	return !strcmp(pattern, name) || !fnmatch(pattern, name, 0);
}

bool is_glob(const char *name)
{
	return strpbrk(name, "*?[");
}
