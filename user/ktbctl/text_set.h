/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KTBCTL_TEXT_SET_H
#define KTBCTL_TEXT_SET_H

#include <stdbool.h>

struct text_set {
	char **table; /* open addressing */
	unsigned int nr;
	unsigned int size; /* a power of two, or 0 */
};

const char *text_set_get(struct text_set *set, const char *text);
void text_set_free(struct text_set *set);

#endif /* KTBCTL_TEXT_SET_H */
