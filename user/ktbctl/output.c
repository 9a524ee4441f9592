// SPDX-License-Identifier: GPL-2.0-only
/* What goes to stdout. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ktbctl.h"

/* Returns an exit status. */
int output_flush(void)
{
	if (!fflush(stdout) && !ferror(stdout))
		return EXIT_DONE;
	/* Who closed the pipe has seen enough. */
	if (errno == EPIPE)
		return EXIT_DONE;
	return fail("cannot write the output: %s", strerror(errno));
}

/* Print a document and free it. Returns an exit status. */
int output_json(struct json_object *object)
{
	puts(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PRETTY |
							    JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(object);
	return output_flush();
}

/* Bytes of the UTF-8 character at @text, 0 if there is none. */
static size_t utf8_len(const unsigned char *text, size_t left)
{
	static const unsigned int lowest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned int len, code;

	if (text[0] < 0x80)
		return 1;
	len = text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : 2;
	if (text[0] < 0xc2 || text[0] > 0xf4 || len > left)
		return 0;
	code = text[0] & (0x7f >> len);
	for (unsigned int i = 1; i < len; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (text[i] & 0x3f);
	}
	if (code < lowest[len] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	return len;
}

/* Of C0 or C1, at which a terminal's escape sequences begin. */
static bool is_control(const unsigned char *text, size_t len)
{
	return len == 1 ? text[0] < ' ' || text[0] == 0x7f : text[0] == 0xc2 && text[1] < 0xa0;
}

/*
 * Names of threads and strings in records are anybody's: no control characters
 * reach the terminal, nor bytes that are no UTF-8 and may be such.
 */
const char *clean_text(const char *text, size_t len, char *clean, size_t room)
{
	const unsigned char *at = (const unsigned char *)text;
	const unsigned char *end = at + strnlen(text, len);
	size_t step, nr = 0;

	for (; at < end; at += step ? step : 1) {
		step = utf8_len(at, end - at);
		if (nr + (step ? step : 1) >= room)
			break;
		if (!step || is_control(at, step)) {
			clean[nr++] = '?';
		} else {
			memcpy(clean + nr, at, step);
			nr += step;
		}
	}
	clean[nr] = 0;
	return clean;
}

/* A JSON string; JSON is UTF-8, what is not comes out as question marks. */
struct json_object *json_text(const char *text, size_t len)
{
	struct json_object *object;
	char *copy = malloc(len + 1);
	size_t at = 0, step;

	if (!copy)
		return NULL;
	memcpy(copy, text, len);
	while (at < len) {
		step = utf8_len((unsigned char *)copy + at, len - at);
		if (!step) {
			copy[at] = '?';
			step = 1;
		}
		at += step;
	}
	object = json_object_new_string_len(copy, (int)len);
	free(copy);
	return object;
}
