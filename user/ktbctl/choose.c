// SPDX-License-Identifier: GPL-2.0-only
/* Events named on a command line, in full or by patterns, less those of '!' patterns. */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ktbctl.h"

/* A name in full takes an event from the -e before, with what that one has for it. */
static void name_item(struct choice *choice, struct choice_item *item)
{
	item->group = choice->group;
	choice->nr_named += !item->named;
	item->named = true;
}

static int add_item(struct choice *choice, struct catalog_event *event, bool named)
{
	struct choice_item *items;

	if (!event->chosen) {
		items = reallocarray(choice->items, choice->nr + 1, sizeof(*items));
		if (!items)
			return fail("out of memory");
		choice->items = items;
		items[choice->nr] = (struct choice_item){
			.name = event->name,
			.group = choice->group,
		};
		event->chosen = ++choice->nr;
	}
	if (named)
		name_item(choice, &choice->items[event->chosen - 1]);
	return EXIT_DONE;
}

static bool has_system(const struct catalog *catalog, const char *system, size_t len)
{
	for (unsigned int i = 0; i < catalog->nr; i++)
		if (!strncmp(catalog->events[i].name, system, len) &&
		    catalog->events[i].name[len] == ':')
			return true;
	return false;
}

static int fail_unknown(const struct choice *choice, const char *name)
{
	const char *near[3];
	char names[512] = "";
	size_t len = 0, system = strcspn(name, ":");
	unsigned int nr;

	/* "sched" or "sched:" */
	if (system && strlen(name) <= system + 1 && has_system(&choice->catalog, name, system))
		return fail("'%s' names no event; '%.*s:*' is all events of %.*s", name,
			    (int)system, name, (int)system, name);
	nr = suggest(&choice->catalog, name, near, 3);
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
		err = add_item(choice, &catalog->events[i], false);
		nr++;
	}
	return nr ? err : fail("no event matches '%s'; 'ktbctl list' shows those there are", glob);
}

static int add_exclude(struct choice *choice, const char *pattern)
{
	char **excludes =
		reallocarray(choice->excludes, choice->nr_excludes + 1, sizeof(*excludes));
	char *copy = strdup(pattern);

	if (excludes)
		choice->excludes = excludes;
	if (!excludes || !copy) {
		free(copy);
		return fail("out of memory");
	}
	excludes[choice->nr_excludes++] = copy;
	return EXIT_DONE;
}

/* One that was added already, named once more. */
static bool is_named_again(struct choice *choice, const char *name)
{
	for (unsigned int i = 0; i < choice->nr; i++) {
		if (strcmp(choice->items[i].name, name))
			continue;
		name_item(choice, &choice->items[i]);
		return true;
	}
	return false;
}

/* A counter takes its name from a command line: another one may have it. */
static const struct ktb_perf_event *counter_called(const struct choice *choice, const char *name)
{
	for (unsigned int i = 0; i < choice->nr; i++)
		if (choice->items[i].counter && !strcmp(choice->items[i].name, name))
			return choice->items[i].counter;
	return NULL;
}

static bool is_other(const struct ktb_perf_event *a, const struct ktb_perf_event *b)
{
	return a && memcmp(&a->attr, &b->attr, sizeof(a->attr));
}

/* One that is in no catalog; what it owns becomes the choice's. */
static int add_own_item(struct choice *choice, const struct choice_item *item)
{
	struct choice_item *items = reallocarray(choice->items, choice->nr + 1, sizeof(*items));

	if (!items)
		return fail("out of memory");
	choice->items = items;
	items[choice->nr] = *item;
	name_item(choice, &items[choice->nr++]);
	return EXIT_DONE;
}

/* Take in a counter. Returns -1 if @name is none, else an exit status. */
static int add_counter(struct choice *choice, const char *name)
{
	struct ktb_perf_event *counter = malloc(sizeof(*counter));
	char error[256];
	int err;

	if (!counter)
		return fail("out of memory");
	err = ktb_perf_event_parse(name, counter, error, sizeof(error));
	if (!err && is_other(counter_called(choice, counter->name), counter))
		err = fail("two counters are called '%s': give one another name", counter->name);
	if (!err && !is_named_again(choice, counter->name)) {
		const struct choice_item item = { .name = counter->name, .counter = counter };

		err = add_own_item(choice, &item);
		if (!err)
			return EXIT_DONE;
	}
	free(counter);
	if (err == -ENOENT)
		return -1;
	return err < 0 ? fail("%s: %s", name, error) : err;
}

/* Take in calls of functions. Returns -1 if @name is none, else an exit status. */
static int add_functions(struct choice *choice, const char *name)
{
	struct ktb_functions *functions = malloc(sizeof(*functions));
	char error[256];
	int err;

	if (!functions)
		return fail("out of memory");
	err = ktb_functions_parse(name, functions, error, sizeof(error));
	if (!err && !is_named_again(choice, functions->name)) {
		const struct choice_item item = { .name = functions->name, .functions = functions };

		err = add_own_item(choice, &item);
		if (!err)
			return EXIT_DONE;
	}
	if (err >= 0)
		ktb_functions_clear(functions);
	free(functions);
	if (err == -ENOENT)
		return -1;
	return err < 0 ? fail("%s: %s", name, error) : err;
}

/* Take in a name, a pattern, or "!" and either. Returns an exit status, the reason told. */
int choice_add(struct choice *choice, const char *name)
{
	struct catalog_event *event;
	int err;

	if (*name == '!')
		return add_exclude(choice, name + 1);
	err = add_counter(choice, name);
	if (err < 0)
		err = add_functions(choice, name);
	if (err >= 0)
		return err;
	if (is_glob(name))
		return add_glob(choice, name);
	event = catalog_find(&choice->catalog, name);
	return event ? add_item(choice, event, true) : fail_unknown(choice, name);
}

/* An event that is asked for and excluded is excluded. */
static int exclude(struct choice *choice, const char *pattern)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < choice->nr; i++) {
		struct choice_item *item = &choice->items[i];

		if (!name_matches(pattern, item->name))
			continue;
		choice->nr_named -= item->named && !item->excluded;
		item->excluded = true;
		nr++;
	}
	return nr ? EXIT_DONE : fail("'!%s' excludes nothing that is asked for", pattern);
}

/* No more names follow. Returns an exit status, the reason told. */
int choice_end(struct choice *choice)
{
	unsigned int left = 0;
	int err = EXIT_DONE;

	if (!choice->nr)
		return fail("'!' excludes from the events that other names and patterns ask for");
	for (unsigned int i = 0; i < choice->nr_excludes && !err; i++)
		err = exclude(choice, choice->excludes[i]);
	for (unsigned int i = 0; i < choice->nr && !err; i++)
		left += !choice->items[i].excluded;
	return err || left ? err : fail("of the events asked for all are excluded");
}

static void choice_item_free(struct choice_item *item)
{
	free(item->reason);
	free(item->counter);
	if (item->functions)
		ktb_functions_clear(item->functions);
	free(item->functions);
}

void choice_free(struct choice *choice)
{
	for (unsigned int i = 0; i < choice->nr; i++)
		choice_item_free(&choice->items[i]);
	for (unsigned int i = 0; i < choice->nr_excludes; i++)
		free(choice->excludes[i]);
	free(choice->items);
	free(choice->excludes);
	catalog_free(&choice->catalog);
	memset(choice, 0, sizeof(*choice));
}
