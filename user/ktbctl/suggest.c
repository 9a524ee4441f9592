// SPDX-License-Identifier: GPL-2.0-only
/* "Did you mean": names that are near to one that does not exist. */
#include <stdlib.h>
#include <string.h>

#include "ktbctl.h"

#define NAME_MAX_LEN 160

static unsigned int min3(unsigned int a, unsigned int b, unsigned int c)
{
	if (b < a)
		a = b;
	return c < a ? c : a;
}

/* Letters to add, drop or replace to get from one to the other. */
unsigned int edit_distance(const char *a, const char *b)
{
	unsigned int row[NAME_MAX_LEN + 1], diagonal, above;
	size_t la = strlen(a), lb = strlen(b);

	if (la > NAME_MAX_LEN || lb > NAME_MAX_LEN)
		return NAME_MAX_LEN;
	for (size_t j = 0; j <= lb; j++)
		row[j] = j;
	for (size_t i = 1; i <= la; i++) {
		diagonal = row[0];
		row[0] = i;
		for (size_t j = 1; j <= lb; j++) {
			above = row[j];
			row[j] = min3(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
			diagonal = above;
		}
	}
	return row[lb];
}

/* How far @event is from what was asked for; a name may lack its system. */
static unsigned int distance(const char *event, const char *name)
{
	const char *bare = strchr(event, ':');

	if (bare && !strchr(name, ':')) {
		if (!strcmp(bare + 1, name))
			return 0;
		event = bare + 1;
	} else if (bare && !strcmp(bare, strchr(name, ':'))) {
		return 1; /* the same event of another system */
	}
	return edit_distance(event, name);
}

/* The nearest names so far, nearest first. */
struct nearest {
	const char *name; /* what was asked for */
	const char **near;
	unsigned int far[8];
	unsigned int nr;
	unsigned int max;
	unsigned int limit;
};

static void consider(struct nearest *nearest, const char *event)
{
	unsigned int d = distance(event, nearest->name), at;

	if (d > nearest->limit ||
	    (nearest->nr == nearest->max && d >= nearest->far[nearest->nr - 1]))
		return;
	if (nearest->nr < nearest->max)
		nearest->nr++;
	for (at = nearest->nr - 1; at && nearest->far[at - 1] > d; at--) {
		nearest->far[at] = nearest->far[at - 1];
		nearest->near[at] = nearest->near[at - 1];
	}
	nearest->far[at] = d;
	nearest->near[at] = event;
}

/*
 * The at most @max nearest names of events and counters, nearest first, in @near,
 * none of which is farther than a third of the name's letters. Returns how many.
 */
unsigned int suggest(const struct catalog *catalog, const char *name, const char **near,
		     unsigned int max)
{
	struct nearest nearest = {
		.name = name, .near = near, .max = max, .limit = strlen(name) / 3 + 1
	};
	const char *counter;
	uint32_t type;

	if (nearest.max > ARRAY_SIZE(nearest.far))
		nearest.max = ARRAY_SIZE(nearest.far);
	for (unsigned int i = 0; i < catalog->nr; i++)
		consider(&nearest, catalog->events[i].name);
	for (unsigned int i = 0; (counter = ktb_perf_event_name(i, &type)); i++)
		consider(&nearest, counter);
	return nearest.nr;
}
