// SPDX-License-Identifier: GPL-2.0-only
/* What ktbctl stat has counted, as text and as JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ktbctl.h"
#include "stat_print.h"

#define NSEC_PER_MSEC 1000000ULL

/* "1,234,567" */
static void group_digits(uint64_t number, char *text, size_t len)
{
	char digits[32];
	int nr = snprintf(digits, sizeof(digits), "%" PRIu64, number);
	size_t at = 0;

	for (int i = 0; i < nr && at + 2 < len; i++) {
		if (i && (nr - i) % 3 == 0)
			text[at++] = ',';
		text[at++] = digits[i];
	}
	text[at] = 0;
}

static double share(const struct stat_value *value)
{
	return value->enabled ? (double)value->running / (double)value->enabled : 1;
}

static void print_value(const struct counted *counted, const struct stat_value *value)
{
	char number[48];

	if (value->unknown)
		snprintf(number, sizeof(number), "not known");
	else if (counted->is_time)
		snprintf(number, sizeof(number), "%.2f ms", (double)value->count / NSEC_PER_MSEC);
	else
		group_digits(value->count, number, sizeof(number));
	printf("%20s  %s", number, counted->name);
	if (share(value) < 1)
		printf("  (counted %.1f%% of the time)", 100 * share(value));
	putchar('\n');
}

/* Below the count. */
static void print_latency(const struct counted *counted, const struct stat_value *value)
{
	const struct histogram *histogram = counted->histogram;

	if (value->lost)
		printf("%20s  of them %" PRIu64 " lost, in no bucket\n", "", value->lost);
	if (!histogram->nr)
		return;
	printf("%20s  %" PRIu64 " to %" PRIu64 " ns, %" PRIu64 " on average\n", "", histogram->min,
	       histogram->max, histogram->sum / histogram->nr);
	histogram_print(histogram);
}

/* null, where it is not known. */
static struct json_object *json_count(const struct stat_value *value, uint64_t count)
{
	return value->unknown ? NULL : json_object_new_uint64(count);
}

static struct json_object *json_latency(const struct counted *counted,
					const struct stat_value *value)
{
	struct json_object *object = histogram_json(counted->histogram, "ns");

	json_object_object_add(object, "lost", json_count(value, value->lost));
	return object;
}

static struct json_object *json_value(const struct counted *counted, const struct stat_value *value)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "name", json_text(counted->name, strlen(counted->name)));
	json_object_object_add(object, "count", json_count(value, value->count));
	if (counted->is_time)
		json_object_object_add(object, "unit", json_object_new_string("ns"));
	if (share(value) < 1)
		json_object_object_add(object, "share", json_object_new_double(share(value)));
	if (counted->histogram)
		json_object_object_add(object, "latency", json_latency(counted, value));
	return object;
}

static bool is_told(const struct counted *counted)
{
	return counted->is_counter || counted->id;
}

/* To the nanosecond, and no more. */
static struct json_object *json_seconds(double seconds)
{
	char text[32];

	snprintf(text, sizeof(text), "%.9f", seconds);
	return json_object_new_double_s(seconds, text);
}

static int stat_print_json(const struct stat_print *print)
{
	const int flags = JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE;
	struct json_object *object = json_object_new_object();
	struct json_object *list = json_object_new_array();

	json_object_object_add(object, "seconds", json_seconds(print->seconds));
	for (unsigned int i = 0; i < print->nr; i++)
		if (is_told(&print->all[i]))
			json_object_array_add(list, json_value(&print->all[i], &print->values[i]));
	json_object_object_add(object, "events", list);
	if (!print->interval)
		return output_json(object);
	puts(json_object_to_json_string_ext(object, flags));
	json_object_put(object);
	return output_flush();
}

/* Values by their event. */
int stat_print(const struct stat_print *print)
{
	if (print->json)
		return stat_print_json(print);
	for (unsigned int i = 0; i < print->nr; i++) {
		if (!is_told(&print->all[i]))
			continue;
		if (print->interval)
			printf("%12.6f ", print->seconds);
		print_value(&print->all[i], &print->values[i]);
		if (print->all[i].histogram)
			print_latency(&print->all[i], &print->values[i]);
	}
	if (!print->interval)
		printf("\n%20.6f  seconds\n", print->seconds);
	return output_flush();
}
