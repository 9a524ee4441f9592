// SPDX-License-Identifier: GPL-2.0-only
/* Ledgers and events, as a table and as JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ktbctl.h"

/* Room for the longest name. */
int ledger_width(const struct ktb_event_info *events, int nr)
{
	int width = sizeof("EVENT"), len;

	for (int i = 0; i < nr; i++) {
		len = (int)strlen(events[i].name);
		if (len > width)
			width = len;
	}
	return width;
}

void print_ledger_head(int width)
{
	printf("  %-*s %-8s %11s %10s %10s %11s %10s %8s %14s %13s\n", width, "EVENT", "PATH",
	       "HITS", "WRITTEN", "FILTERED", "NOT-SAMPLED", "LOST-FULL", "LOST-BIG",
	       "LOST-RECURSION", "COUNT");
}

void print_ledger(int width, const char *name, const char *path, const struct ktb_ledger *ledger)
{
	printf("  %-*s %-8s %11" PRIu64 " %10" PRIu64 " %10" PRIu64 " %11" PRIu64 " %10" PRIu64
	       " %8" PRIu64 " %14" PRIu64 " %13" PRIu64 "\n",
	       width, name, path, ledger->hits, ledger->written, ledger->filtered,
	       ledger->not_sampled, ledger->lost_full, ledger->lost_big, ledger->lost_recursion,
	       ledger->count);
	if (ledger->throttled)
		printf("  %-*s (throttled %" PRIu64 " times by perf: it fired too often)\n", width,
		       "", ledger->throttled);
}

static void add_u64(struct json_object *object, const char *name, uint64_t value)
{
	json_object_object_add(object, name, json_object_new_uint64(value));
}

struct json_object *json_ledger(const struct ktb_ledger *ledger)
{
	struct json_object *object = json_object_new_object();

	if (ledger->cpu >= 0)
		add_u64(object, "cpu", ledger->cpu);
	add_u64(object, "hits", ledger->hits);
	add_u64(object, "written", ledger->written);
	add_u64(object, "filtered", ledger->filtered);
	add_u64(object, "not_sampled", ledger->not_sampled);
	add_u64(object, "lost_full", ledger->lost_full);
	add_u64(object, "lost_big", ledger->lost_big);
	add_u64(object, "lost_recursion", ledger->lost_recursion);
	add_u64(object, "count", ledger->count);
	add_u64(object, "throttled", ledger->throttled);
	return object;
}

/* What identifies an event; the ledger is the caller's to add. */
struct json_object *json_event(const struct ktb_event_info *event)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "name", json_text(event->name, strlen(event->name)));
	add_u64(object, "id", event->id);
	add_u64(object, "type", event->type);
	json_object_object_add(object, "path", json_object_new_string(path_text(event->path)));
	return object;
}
