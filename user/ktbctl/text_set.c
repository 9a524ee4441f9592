// SPDX-License-Identifier: GPL-2.0-only
/* Texts kept once: equal ones have one address, and last as long as the set. */
#include <stdlib.h>
#include <string.h>

#include "text_set.h"

static unsigned int hash_of(const char *text)
{
	unsigned int hash = 2166136261U;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 16777619U;
	return hash;
}

/* The text's place, or the free one where it would be. */
static char **place_of(const struct text_set *set, const char *text)
{
	unsigned int at = hash_of(text);

	for (;; at++) {
		char **place = &set->table[at & (set->size - 1)];

		if (!*place || !strcmp(*place, text))
			return place;
	}
}

/* Keep the table at most half full. */
static bool make_room(struct text_set *set)
{
	struct text_set more = { .size = set->size ? 2 * set->size : 256 };

	if (2 * set->nr < set->size)
		return true;
	more.table = calloc(more.size, sizeof(*more.table));
	if (!more.table)
		return false;
	for (unsigned int i = 0; i < set->size; i++)
		if (set->table[i])
			*place_of(&more, set->table[i]) = set->table[i];
	free(set->table);
	set->table = more.table;
	set->size = more.size;
	return true;
}

/* The one copy of @text; NULL when out of memory. */
const char *text_set_get(struct text_set *set, const char *text)
{
	char **place;

	if (!make_room(set))
		return NULL;
	place = place_of(set, text);
	if (!*place) {
		*place = strdup(text);
		set->nr += !!*place;
	}
	return *place;
}

void text_set_free(struct text_set *set)
{
	for (unsigned int i = 0; i < set->size; i++)
		free(set->table[i]);
	free(set->table);
	memset(set, 0, sizeof(*set));
}
