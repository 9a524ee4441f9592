/* SPDX-License-Identifier: GPL-2.0-only */
/* What ktbctl stat has counted, as text and as JSON. */
#ifndef KTBCTL_STAT_PRINT_H
#define KTBCTL_STAT_PRINT_H

#include <stdbool.h>

#include "histogram.h"
#include "stat_counter.h"

/* One event: in the session, or a counter. */
struct counted {
	const char *name;
	bool is_counter;
	uint64_t id; /* in the session */
	bool is_time; /* it counts nanoseconds */
	struct stat_counter counter;
	uint64_t count, lost; /* of the ledger, when it was told last */
	struct histogram *histogram; /* or NULL */
};

struct stat_print {
	const struct counted *all;
	const struct stat_value *values; /* one for each */
	unsigned int nr;
	double seconds; /* from the beginning */
	bool interval; /* one of several */
	bool json;
};

int stat_print(const struct stat_print *print);

#endif /* KTBCTL_STAT_PRINT_H */
