// SPDX-License-Identifier: GPL-2.0-only
/*
 * json_check: whether standard input is JSON, one value or one a line. Exit
 * status 0 if so, and it is not empty; else 1, and where it is not.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *at;

static bool value(int depth);

static void space(void)
{
	while (*at && strchr(" \t\r\n", *at))
		at++;
}

static bool take(char c)
{
	space();
	if (*at != c)
		return false;
	at++;
	return true;
}

static bool string(void)
{
	if (!take('"'))
		return false;
	for (; *at != '"'; at++) {
		if ((unsigned char)*at < 0x20)
			return false;
		if (*at != '\\')
			continue;
		at++;
		if (*at == 'u') {
			for (int i = 0; i < 4; i++)
				if (!isxdigit((unsigned char)*++at))
					return false;
		} else if (!*at || !strchr("\"\\/bfnrt", *at)) {
			return false;
		}
	}
	at++;
	return true;
}

static bool digits(void)
{
	if (!isdigit((unsigned char)*at))
		return false;
	while (isdigit((unsigned char)*at))
		at++;
	return true;
}

static bool number(void)
{
	if (*at == '-')
		at++;
	if (*at == '0')
		at++;
	else if (!digits())
		return false;
	if (*at == '.' && (at++, !digits()))
		return false;
	if (*at == 'e' || *at == 'E') {
		at++;
		if (*at == '+' || *at == '-')
			at++;
		return digits();
	}
	return true;
}

static bool members(char end, bool named, int depth)
{
	if (take(end))
		return true;
	do {
		if (named && !(string() && take(':')))
			return false;
		if (!value(depth + 1))
			return false;
	} while (take(','));
	return take(end);
}

static bool word(const char *w)
{
	if (strncmp(at, w, strlen(w)))
		return false;
	at += strlen(w);
	return true;
}

static bool value(int depth)
{
	space();
	if (depth > 100)
		return false;
	switch (*at) {
	case '{':
		at++;
		return members('}', true, depth);
	case '[':
		at++;
		return members(']', false, depth);
	case '"':
		return string();
	case 't':
		return word("true");
	case 'f':
		return word("false");
	case 'n':
		return word("null");
	default:
		return number();
	}
}

int main(void)
{
	size_t size = 16 << 20, len;
	char *text = malloc(size);
	int values = 0;

	if (!text)
		return 1;
	len = fread(text, 1, size - 1, stdin);
	text[len] = '\0';
	if (strlen(text) != len) {
		fprintf(stderr, "json_check: a NUL byte\n");
		return 1;
	}
	for (at = text, space(); *at; space(), values++) {
		if (!value(0)) {
			fprintf(stderr, "json_check: not JSON at byte %td: '%.40s'\n",
				at - text, at);
			return 1;
		}
	}
	if (!values)
		fprintf(stderr, "json_check: nothing there\n");
	return values == 0;
}
