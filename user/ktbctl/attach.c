// SPDX-License-Identifier: GPL-2.0-only
/* Attaching the events that were chosen, and telling which were and which not. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracing.h"

#define SHOWN_ATTACHED 10
#define SHOWN_SKIPPED 3

static const char over_limit[] = "over the limit for patterns (--max-events)";

/* What goes for any event just as well: it is not that this one cannot be attached. */
static bool is_general(const struct ktb_conn *conn, int err)
{
	static const char *const own[] = { "name", "perf-attr", "function", "program" };
	const char *attr = ktb_conn_error_attr(conn);

	if (err == -ESRCH || err == -ENOMEM || err == -E2BIG)
		return true;
	for (unsigned int i = 0; i < ARRAY_SIZE(own); i++)
		if (attr && !strcmp(attr, own[i]))
			return false;
	return attr;
}

/*
 * A module's text with the event's name cut out of it, quotes included: events
 * are told of by reason.
 */
static char *reason_of(const char *text, const char *name)
{
	const char *at = strstr(text, name), *rest = at ? at + strlen(name) : text;
	char *reason;
	int before;

	if (!at)
		return strdup(text);
	before = (int)(at - text);
	if (before && *rest == '\'' && at[-1] == '\'') {
		before--;
		rest++;
	}
	if (!before)
		rest += strspn(rest, ": ");
	if (asprintf(&reason, "%.*s%s%s", before, text, before ? "it" : "", rest) < 0)
		return NULL;
	return reason;
}

/* What came of it, @err. */
static int attached_item(struct ktb_conn *conn, const struct ktb_session_info *session, int err,
			 struct choice_item *item)
{
	const char *reason = counter_reason(ktb_conn_error(conn));

	if (!err) {
		item->attached = true;
		return EXIT_DONE;
	}
	if (is_general(conn, err))
		return fail("%s", reason);
	if (item->named && err == -EEXIST)
		return fail("%s is attached to session '%s' already", item->name, session->name);
	if (item->named)
		return fail("cannot attach %s: %s", item->name, reason);
	item->reason = err == -EEXIST ? strdup("attached already") : reason_of(reason, item->name);
	return item->reason ? EXIT_DONE : fail("out of memory");
}

static int attach_item(struct ktb_conn *conn, const struct ktb_session_info *session,
		       const struct ktb_event_options *options, struct choice_item *item)
{
	int err = ktb_event_attach(conn, session->id, item->name, options, &item->event);

	return attached_item(conn, session, err, item);
}

static int attach_functions(struct ktb_conn *conn, const struct ktb_session_info *session,
			    const struct ktb_event_options *options, struct choice_item *item)
{
	struct ktb_event_options functions = *options;
	const char *missing;
	int err;

	functions.functions = item->functions->names;
	functions.nr_functions = item->functions->nr;
	functions.graph = item->functions->graph;
	err = ktb_event_attach(conn, session->id, item->name, &functions, &item->event);
	missing = err == -ENOENT || err == -EINVAL ? ktb_functions_missing(item->functions) : NULL;
	if (missing)
		return fail("cannot attach %s: no function '%s' can be traced", item->name,
			    missing);
	return attached_item(conn, session, err, item);
}

/* Of a counter, period and frequency are perf's. */
static int attach_any(struct ktb_conn *conn, const struct ktb_session_info *session,
		      const struct ktb_event_options *options, const struct tracing *tracing,
		      struct choice_item *item)
{
	struct ktb_event_options own = *options;

	if (item->count_only)
		own.period = UINT64_MAX; /* the first record never comes */
	if (item->functions)
		return attach_functions(conn, session, &own, item);
	if (!item->counter)
		return attach_item(conn, session, &own, item);
	counter_set_rate(&item->counter->attr, tracing);
	own.attr = &item->counter->attr;
	own.period = 0;
	return attach_item(conn, session, &own, item);
}

/* A filter is made for each event: it need not fit all of a pattern. */
static int attach_with_program(struct ktb_conn *conn, const struct ktb_session_info *session,
			       const struct ktb_event_options *options,
			       const struct tracing *tracing, struct choice_item *item)
{
	struct event_program *program = programs_find(tracing, item->group);
	struct ktb_event_options with = *options;
	char error[512];
	int err;

	if (!program)
		return attach_any(conn, session, options, tracing, item);
	if (program_open(program, item, &with, error, sizeof(error))) {
		if (item->named)
			return fail("cannot attach %s: %s", item->name, error);
		item->reason = reason_of(error, item->name);
		return item->reason ? EXIT_DONE : fail("out of memory");
	}
	err = attach_any(conn, session, &with, tracing, item);
	program_close(program, &with);
	return err;
}

static int fail_none(const struct choice *choice)
{
	choice_note_skipped(choice, false);
	return fail("none of these events can be attached");
}

static bool has_counter(const struct choice *choice)
{
	for (unsigned int i = 0; i < choice->nr; i++)
		if (choice->items[i].counter && !choice->items[i].excluded)
			return true;
	return false;
}

/* The module takes all hits, or every N-th; a frequency is perf's. */
static int check_freq(const struct choice *choice, const struct tracing *tracing)
{
	if (!tracing->freq || has_counter(choice))
		return EXIT_DONE;
	return fail("-F is of counters, and none is asked for: -c N takes every N-th hit");
}

/*
 * Attach what was chosen: all that was named in full, and of patterns what can
 * be, at least one in all. Returns an exit status, the reason told.
 */
int choice_attach(struct choice *choice, struct ktb_conn *conn,
		  const struct ktb_session_info *session, const struct tracing *tracing)
{
	unsigned int nr = 0, max = tracing->max_events ? tracing->max_events : MAX_EVENTS, room;
	struct ktb_event_options options;
	int err = check_freq(choice, tracing);

	tracing_event_options(tracing, &options);
	room = max > choice->nr_named ? max - choice->nr_named : 0;
	for (unsigned int i = 0; i < choice->nr && !err; i++) {
		struct choice_item *item = &choice->items[i];

		if (item->excluded)
			continue;
		if (!item->named && !room) {
			item->reason = strdup(over_limit);
			err = item->reason ? EXIT_DONE : fail("out of memory");
			continue;
		}
		err = attach_with_program(conn, session, &options, tracing, item);
		nr += item->attached;
		room -= item->attached && !item->named;
	}
	return err || nr ? err : fail_none(choice);
}

/* ---- telling ---- */

static void count_paths(const struct choice *choice, unsigned int *nr, unsigned int *native)
{
	*nr = 0;
	*native = 0;
	for (unsigned int i = 0; i < choice->nr; i++) {
		*nr += choice->items[i].attached;
		*native += choice->items[i].attached &&
			   choice->items[i].event.path == KTB_PATH_NATIVE;
	}
}

void choice_tell_attached(const struct choice *choice, bool verbose)
{
	unsigned int nr, native;

	count_paths(choice, &nr, &native);
	if (nr > SHOWN_ATTACHED && !verbose) {
		printf("attached %u events: %u native, %u other\n", nr, native, nr - native);
		return;
	}
	for (unsigned int i = 0; i < choice->nr; i++)
		if (choice->items[i].attached)
			printf("attached %s (%s)\n", choice->items[i].event.name,
			       path_text(choice->items[i].event.path));
}

/* All events from @first on that were skipped for its reason, in one line. */
static void note_reason(const struct choice *choice, unsigned int first, bool *told)
{
	const char *reason = choice->items[first].reason;
	unsigned int nr = 0;
	char names[512] = "";
	size_t len = 0;

	for (unsigned int i = first; i < choice->nr; i++) {
		if (!choice->items[i].reason || strcmp(choice->items[i].reason, reason))
			continue;
		told[i] = true;
		if (nr++ < SHOWN_SKIPPED && len < sizeof(names))
			len += snprintf(names + len, sizeof(names) - len, "%s%s",
					nr > 1 ? ", " : "", choice->items[i].name);
	}
	note("skipped %u event%s: %s (%s%s)", nr, nr == 1 ? "" : "s", reason, names,
	     nr > SHOWN_SKIPPED ? ", ...; -v names all" : "");
}

/* Tell of a pattern's events that could not be attached, by reason, or each of them. */
void choice_note_skipped(const struct choice *choice, bool verbose)
{
	bool *told = verbose ? NULL : calloc(choice->nr + 1, sizeof(*told));

	for (unsigned int i = 0; i < choice->nr; i++) {
		if (!choice->items[i].reason)
			continue;
		if (!told)
			note("skipped %s: %s", choice->items[i].name, choice->items[i].reason);
		else if (!told[i])
			note_reason(choice, i, told);
	}
	free(told);
}

/* Those that were attached, or those that were skipped. */
struct json_object *choice_json(const struct choice *choice, bool attached)
{
	struct json_object *list = json_object_new_array(), *one;

	for (unsigned int i = 0; i < choice->nr; i++) {
		const struct choice_item *item = &choice->items[i];

		if (item->attached != attached || item->excluded)
			continue;
		if (attached) {
			json_object_array_add(list, json_event(&item->event));
			continue;
		}
		one = json_object_new_object();
		json_object_object_add(one, "name", json_text(item->name, strlen(item->name)));
		json_object_object_add(one, "reason",
				       json_text(item->reason, strlen(item->reason)));
		json_object_array_add(list, one);
	}
	return list;
}
