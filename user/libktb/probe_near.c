// SPDX-License-Identifier: LGPL-2.1-only
/* "Did you mean": the few names that are nearest to one that does not exist. */
#include <stdio.h>
#include <string.h>

#include "probe.h"

static unsigned int least(unsigned int a, unsigned int b, unsigned int c)
{
	unsigned int two = a < b ? a : b;

	return two < c ? two : c;
}

/* Letters to add, drop or replace, or more than @limit. */
static unsigned int distance(const char *a, const char *b, unsigned int limit)
{
	unsigned int row[KTB_NEAR_LEN], diagonal, above, best;
	size_t la = strlen(a), lb = strlen(b);

	if (lb >= KTB_NEAR_LEN || la > lb + limit || lb > la + limit)
		return limit + 1;
	for (size_t j = 0; j <= lb; j++)
		row[j] = j;
	for (size_t i = 1; i <= la; i++) {
		diagonal = row[0];
		row[0] = i;
		best = i;
		for (size_t j = 1; j <= lb; j++) {
			above = row[j];
			row[j] =
				least(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
			diagonal = above;
			best = row[j] < best ? row[j] : best;
		}
		if (best > limit)
			return limit + 1;
	}
	return row[lb];
}

/* "name.isra.0" and the like is what a compiler makes of a function. */
static bool is_part(const char *wanted, const char *name)
{
	size_t len = strlen(wanted);

	return !strncmp(wanted, name, len) && name[len] == '.';
}

void ktb_near_add(struct ktb_near *near, const char *name)
{
	unsigned int limit = strlen(near->wanted) / 4 + 1, far, at;

	if (near->nr == KTB_NEAR && near->far[KTB_NEAR - 1] < limit)
		limit = near->far[KTB_NEAR - 1];
	far = is_part(near->wanted, name) ? 0 : distance(near->wanted, name, limit);
	if (far > limit || strlen(name) >= KTB_NEAR_LEN ||
	    (near->nr == KTB_NEAR && far >= near->far[KTB_NEAR - 1]))
		return;
	for (at = 0; at < near->nr; at++)
		if (!strcmp(near->names[at], name))
			return;
	if (near->nr < KTB_NEAR)
		near->nr++;
	for (at = near->nr - 1; at && near->far[at - 1] > far; at--) {
		near->far[at] = near->far[at - 1];
		memcpy(near->names[at], near->names[at - 1], KTB_NEAR_LEN);
	}
	near->far[at] = far;
	memcpy(near->names[at], name, strlen(name) + 1);
}

/* "; did you mean a, b?", or nothing. */
void ktb_near_text(const struct ktb_near *near, char *text, size_t len)
{
	size_t used = 0;

	*text = 0;
	for (unsigned int i = 0; i < near->nr && used < len; i++)
		used += snprintf(text + used, len - used, "%s%s", i ? ", " : "; did you mean ",
				 near->names[i]);
	if (near->nr && used < len)
		snprintf(text + used, len - used, "?");
}
