// SPDX-License-Identifier: GPL-2.0-only
/* Histograms, in text as bpftrace prints them. */
#include <inttypes.h>
#include <stdio.h>

#include "histogram.h"
#include "ktbctl.h"

#define BAR "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@"
#define WIDTH ((int)sizeof(BAR) - 1)

static unsigned int bucket_of(uint64_t value)
{
	return value ? 64 - __builtin_clzll(value) : 0;
}

static uint64_t bucket_begin(unsigned int bucket)
{
	return bucket ? 1ULL << (bucket - 1) : 0;
}

void histogram_add(struct histogram *histogram, uint64_t value)
{
	if (!histogram->nr || value < histogram->min)
		histogram->min = value;
	if (value > histogram->max)
		histogram->max = value;
	histogram->nr++;
	histogram->sum += value;
	histogram->buckets[bucket_of(value)]++;
}

/* "512", "1K", "64M": the powers of two that buckets begin at */
static const char *power_text(unsigned int bucket, char *text, size_t len)
{
	unsigned int unit = bucket ? (bucket - 1) / 10 : 0;

	snprintf(text, len, "%" PRIu64 "%.*s", bucket_begin(bucket) >> (10 * unit), unit ? 1 : 0,
		 &" KMGTPE"[unit]);
	return text;
}

static void print_bucket(const struct histogram *histogram, unsigned int bucket, uint64_t most)
{
	char from[24], to[24], range[56];
	double share = (double)histogram->buckets[bucket] / (double)most;

	if (bucket < 64)
		snprintf(range, sizeof(range), "[%s, %s)", power_text(bucket, from, sizeof(from)),
			 power_text(bucket + 1, to, sizeof(to)));
	else
		snprintf(range, sizeof(range), "[%s, ...)", power_text(bucket, from, sizeof(from)));
	printf("%-16s %12" PRIu64 " |%-*.*s|\n", range, histogram->buckets[bucket], WIDTH,
	       (int)(share * WIDTH + 0.5), BAR);
}

/* From the first bucket that has any to the last. */
void histogram_print(const struct histogram *histogram)
{
	uint64_t most = 0;

	if (!histogram->nr)
		return;
	for (unsigned int i = 0; i < ARRAY_SIZE(histogram->buckets); i++)
		if (histogram->buckets[i] > most)
			most = histogram->buckets[i];
	for (unsigned int i = bucket_of(histogram->min); i <= bucket_of(histogram->max); i++)
		print_bucket(histogram, i, most);
}

static struct json_object *json_bucket(const struct histogram *histogram, unsigned int bucket)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "from", json_object_new_uint64(bucket_begin(bucket)));
	if (bucket < 64)
		json_object_object_add(object, "to",
				       json_object_new_uint64(bucket_begin(bucket + 1)));
	json_object_object_add(object, "count", json_object_new_uint64(histogram->buckets[bucket]));
	return object;
}

/* The buckets that have any; "to" is no more in a bucket. */
struct json_object *histogram_json(const struct histogram *histogram, const char *unit)
{
	struct json_object *object = json_object_new_object();
	struct json_object *buckets = json_object_new_array();

	json_object_object_add(object, "unit", json_object_new_string(unit));
	json_object_object_add(object, "count", json_object_new_uint64(histogram->nr));
	if (histogram->nr) {
		json_object_object_add(object, "min", json_object_new_uint64(histogram->min));
		json_object_object_add(object, "max", json_object_new_uint64(histogram->max));
		json_object_object_add(object, "sum", json_object_new_uint64(histogram->sum));
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(histogram->buckets); i++)
		if (histogram->buckets[i])
			json_object_array_add(buckets, json_bucket(histogram, i));
	json_object_object_add(object, "buckets", buckets);
	return object;
}
