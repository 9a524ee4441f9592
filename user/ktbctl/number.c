// SPDX-License-Identifier: GPL-2.0-only
/* Numbers on the command line. Functions return NULL, or what is wrong. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ktbctl.h"

static const char *parse_digits(const char *text, uint64_t *number, char **end)
{
	unsigned long long value;

	if (!isdigit((unsigned char)*text))
		return "not a number";
	errno = 0;
	value = strtoull(text, end, 10);
	if (errno)
		return "too large a number";
	*number = value;
	return NULL;
}

static int shift_of(const char *suffix)
{
	if (!*suffix || !strcasecmp(suffix, "b"))
		return 0;
	if (suffix[1] && strcasecmp(suffix + 1, "b") && strcasecmp(suffix + 1, "ib"))
		return -1;
	switch (toupper((unsigned char)*suffix)) {
	case 'K':
		return 10;
	case 'M':
		return 20;
	case 'G':
		return 30;
	}
	return -1;
}

/* "4096", "64K", "1M", "2G": bytes. */
const char *parse_size(const char *text, uint64_t *size)
{
	const char *wrong;
	int shift;
	char *end;

	wrong = parse_digits(text, size, &end);
	if (wrong)
		return wrong;
	shift = shift_of(end);
	if (shift < 0)
		return "not a size (a number of bytes, or with K, M or G)";
	if (!*size)
		return "a size of 0 holds nothing";
	if (*size > UINT64_MAX >> shift)
		return "too large a number";
	*size <<= shift;
	return NULL;
}

const char *parse_number(const char *text, uint64_t max, uint64_t *number)
{
	const char *wrong;
	char *end;

	wrong = parse_digits(text, number, &end);
	if (wrong)
		return wrong;
	if (*end)
		return "not a number";
	return *number > max ? "too large a number" : NULL;
}

/* "5", "0.5": nanoseconds. */
const char *parse_seconds(const char *text, uint64_t *ns)
{
	double seconds;
	char *end;

	seconds = strtod(text, &end);
	if (end == text || *end || !isfinite(seconds) || seconds < 0)
		return "not a number of seconds";
	if (seconds > 1e9)
		return "too large a number";
	*ns = (uint64_t)(seconds * 1e9);
	return NULL;
}

/* The other way round, exactly: "1M", "4K", "100". */
const char *size_text(uint64_t size, char *text, size_t len)
{
	const char *suffix = "KMG", *last = "";

	while (size && !(size & 1023) && *suffix) {
		size >>= 10;
		last = suffix++;
	}
	snprintf(text, len, "%" PRIu64 "%.1s", size, last);
	return text;
}
