// SPDX-License-Identifier: GPL-2.0-only
/* Histograms: what goes into which bucket, in text and as JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "histogram.h"
#include "tap.h"

static char *text_of(const struct histogram *histogram)
{
	FILE *terminal = stdout;
	char *text = NULL;
	size_t len;

	stdout = open_memstream(&text, &len);
	histogram_print(histogram);
	fclose(stdout);
	stdout = terminal;
	return text;
}

static void text_is(const struct histogram *histogram, const char *expected, const char *name)
{
	char *text = text_of(histogram);

	if (!ok(!strcmp(text, expected), "%s", name))
		printf("# '%s'\n", text);
	free(text);
}

static void json_is(const struct histogram *histogram, const char *expected, const char *name)
{
	struct json_object *object = histogram_json(histogram, "ns");
	const char *text = json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN);

	if (!ok(!strcmp(text, expected), "%s", name))
		printf("# '%s'\n", text);
	json_object_put(object);
}

#define STARS "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@"
#define HALF "@@@@@@@@@@@@@@@@@@@@@@@@@@"
#define BLANKS "                                                    "

int main(void)
{
	struct histogram histogram = { 0 };

	text_is(&histogram, "", "nothing is nothing");
	json_is(&histogram, "{\"unit\":\"ns\",\"count\":0,\"buckets\":[]}", "as JSON");

	histogram_add(&histogram, 512);
	histogram_add(&histogram, 1023);
	histogram_add(&histogram, 1024);
	text_is(&histogram,
		"[512, 1K)                   2 |" STARS "|\n"
		"[1K, 2K)                    1 |" HALF "                          |\n",
		"the borders of a bucket");
	json_is(&histogram,
		"{\"unit\":\"ns\",\"count\":3,\"min\":512,\"max\":1024,\"sum\":2559,\"buckets\":["
		"{\"from\":512,\"to\":1024,\"count\":2},{\"from\":1024,\"to\":2048,\"count\":1}]}",
		"as JSON");

	histogram = (struct histogram){ 0 };
	histogram_add(&histogram, 0);
	histogram_add(&histogram, 2);
	text_is(&histogram,
		"[0, 1)                      1 |" STARS "|\n"
		"[1, 2)                      0 |" BLANKS "|\n"
		"[2, 4)                      1 |" STARS "|\n",
		"empty ones between, none around");

	histogram = (struct histogram){ 0 };
	histogram_add(&histogram, 1 << 20);
	histogram_add(&histogram, UINT64_MAX);
	text_is(&(struct histogram){ .nr = 1, .min = 1 << 20, .max = 1 << 20, .buckets[21] = 1 },
		"[1M, 2M)                    1 |" STARS "|\n", "of milliseconds");
	ok(histogram.buckets[64] == 1 && histogram.buckets[21] == 1, "the largest value there is");
	json_is(&(struct histogram){ .nr = 1,
				     .min = UINT64_MAX,
				     .max = UINT64_MAX,
				     .sum = UINT64_MAX,
				     .buckets[64] = 1 },
		"{\"unit\":\"ns\",\"count\":1,\"min\":18446744073709551615,"
		"\"max\":18446744073709551615,\"sum\":18446744073709551615,"
		"\"buckets\":[{\"from\":9223372036854775808,\"count\":1}]}",
		"its bucket has no end");
	return tap_end();
}
