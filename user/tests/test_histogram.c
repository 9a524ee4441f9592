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

static void json_has(const struct histogram *histogram, const char *part)
{
	struct json_object *object = histogram_json(histogram, "ns");
	const char *text = json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN);

	if (!ok(strstr(text, part), "as JSON: %s", part))
		printf("# '%s'\n", text);
	json_object_put(object);
}

#define STARS "@@@@@@@@@@@@@@@@@@@@@@@@@@"
#define BLANKS "                          "
#define FIRST(range, nr) range "                  " nr " |" STARS STARS "|\n"
#define HALF(range, nr) range "                  " nr " |" STARS BLANKS "|\n"
#define NONE(range) range "                  0 |" BLANKS BLANKS "|\n"

int main(void)
{
	struct histogram histogram = { 0 };

	text_is(&histogram, "", "nothing is nothing");
	json_has(&histogram, "{\"unit\":\"ns\",\"count\":0,\"buckets\":[]}");

	histogram_add(&histogram, 512);
	histogram_add(&histogram, 1023);
	histogram_add(&histogram, 1024);
	text_is(&histogram, FIRST("[512, 1K) ", "2") HALF("[1K, 2K)  ", "1"), "borders");
	json_has(&histogram, "\"count\":3,\"min\":512,\"max\":1024,\"sum\":2559,");
	json_has(&histogram, "[{\"from\":512,\"to\":1024,\"count\":2},{\"from\":1024,");

	histogram = (struct histogram){ 0 };
	histogram_add(&histogram, 0);
	histogram_add(&histogram, 2);
	text_is(&histogram, FIRST("[0, 1)    ", "1") NONE("[1, 2)    ") FIRST("[2, 4)    ", "1"),
		"empty ones between, none around");

	histogram = (struct histogram){ 0 };
	histogram_add(&histogram, 1 << 20);
	text_is(&histogram, FIRST("[1M, 2M)  ", "1"), "of milliseconds");
	histogram = (struct histogram){ 0 };
	histogram_add(&histogram, UINT64_MAX);
	ok(histogram.buckets[64] == 1, "the largest value there is");
	json_has(&histogram, "\"max\":18446744073709551615,");
	json_has(&histogram, "[{\"from\":9223372036854775808,\"count\":1}]");
	return tap_end();
}
