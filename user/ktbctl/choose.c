// SPDX-License-Identifier: GPL-2.0-only
/* Events named on a command line, in full or by patterns, and attaching them. */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ktbctl.h"

static int add_item(struct choice *choice, const char *name, bool named)
{
	struct choice_item *items;

	for (unsigned int i = 0; i < choice->nr; i++) {
		if (strcmp(choice->items[i].name, name))
			continue;
		choice->items[i].named |= named;
		return EXIT_DONE;
	}
	items = reallocarray(choice->items, choice->nr + 1, sizeof(*items));
	if (!items)
		return fail("out of memory");
	choice->items = items;
	items[choice->nr++] = (struct choice_item){ .name = name, .named = named };
	return EXIT_DONE;
}

static int fail_unknown(const struct choice *choice, const char *name)
{
	const char *near[3];
	char names[512] = "";
	unsigned int nr = suggest(&choice->catalog, name, near, 3);
	size_t len = 0;

	for (unsigned int i = 0; i < nr && len < sizeof(names); i++)
		len += snprintf(names + len, sizeof(names) - len, "%s%s", i ? ", " : "", near[i]);
	if (nr)
		return fail("there is no event '%s'; did you mean %s?", name, names);
	return fail("there is no event '%s'; 'ktbctl list' shows those there are", name);
}

static int add_glob(struct choice *choice, const char *glob)
{
	const struct catalog *catalog = &choice->catalog;
	unsigned int nr = 0;
	int err = EXIT_DONE;

	for (unsigned int i = 0; i < catalog->nr && !err; i++) {
		if (fnmatch(glob, catalog->events[i].name, 0))
			continue;
		err = add_item(choice, catalog->events[i].name, false);
		nr++;
	}
	return nr ? err : fail("no event matches '%s'; 'ktbctl list' shows those there are", glob);
}

/* Take in a name or a pattern. Returns an exit status, the reason told. */
int choice_add(struct choice *choice, const char *name)
{
	const struct catalog_event *event;

	if (is_glob(name))
		return add_glob(choice, name);
	event = catalog_find(&choice->catalog, name);
	return event ? add_item(choice, event->name, true) : fail_unknown(choice, name);
}

static int attach_item(struct ktb_conn *conn, const struct ktb_session_info *session,
		       const struct ktb_event_options *options, struct choice_item *item)
{
	int err = ktb_event_attach(conn, session->id, item->name, options, &item->event);
	const char *reason = ktb_conn_error(conn);

	if (!err) {
		item->attached = true;
		return EXIT_DONE;
	}
	if (item->named && err == -EEXIST)
		return fail("%s is attached to session '%s' already", item->name, session->name);
	if (item->named)
		return fail("cannot attach %s: %s", item->name, reason);
	item->reason = strdup(reason);
	return EXIT_DONE;
}

/*
 * Attach what was chosen: all that was named in full, and of patterns what can
 * be, at least one in all. Returns an exit status, the reason told.
 */
int choice_attach(struct choice *choice, struct ktb_conn *conn,
		  const struct ktb_session_info *session, const struct ktb_event_options *options)
{
	unsigned int nr = 0;
	int err = EXIT_DONE;

	for (unsigned int i = 0; i < choice->nr && !err; i++) {
		err = attach_item(conn, session, options, &choice->items[i]);
		nr += choice->items[i].attached;
	}
	if (err || nr)
		return err;
	return fail("none of the %u events could be attached; %s: %s", choice->nr,
		    choice->items[0].name, choice->items[0].reason);
}

/* Tell of the first few of a pattern's events that could not be attached. */
void choice_note_skipped(const struct choice *choice)
{
	const unsigned int shown = 5;
	unsigned int skipped = 0;

	for (unsigned int i = 0; i < choice->nr; i++) {
		const struct choice_item *item = &choice->items[i];

		if (!item->attached && skipped++ < shown)
			note("skipped %s: %s", item->name, item->reason);
	}
	if (skipped > shown)
		note("skipped %u more ('ktbctl list' shows which events can be attached)",
		     skipped - shown);
}

void choice_free(struct choice *choice)
{
	for (unsigned int i = 0; i < choice->nr; i++)
		free(choice->items[i].reason);
	free(choice->items);
	catalog_free(&choice->catalog);
	memset(choice, 0, sizeof(*choice));
}
