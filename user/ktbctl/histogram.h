/* SPDX-License-Identifier: GPL-2.0-only */
/* How often values of each size came: a bucket for each power of two. */
#ifndef KTBCTL_HISTOGRAM_H
#define KTBCTL_HISTOGRAM_H

#include <json.h>
#include <stdint.h>

struct histogram {
	uint64_t nr;
	uint64_t sum;
	uint64_t min; /* these two if there is any */
	uint64_t max;
	uint64_t buckets[65]; /* of 0, and of values of so many bits */
};

void histogram_add(struct histogram *histogram, uint64_t value);
void histogram_print(const struct histogram *histogram);
struct json_object *histogram_json(const struct histogram *histogram, const char *unit);

#endif /* KTBCTL_HISTOGRAM_H */
