// SPDX-License-Identifier: LGPL-2.1-only
/*
 * A probe's definition: "[NAME ]PLACE[ ARGUMENT...]", or as perf probe has it,
 * "[NAME=]PLACE[ ARGUMENT...]". NAME is [SYSTEM:]EVENT, PLACE a kernel function or
 * a file and a function or offset in it, "%return" behind it for its returns. The
 * arguments are tracefs's.
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"

#define SYSTEM "ktb"
#define RETURN "%return"
#define NAME_MAX_LEN 63 /* tracefs's, of a system and of an event */

/* The first word, without the blanks around it. Returns its length; *@text moves. */
static size_t take_word(const char **text, const char **word)
{
	size_t len;

	*text += strspn(*text, " \t\n");
	*word = *text;
	len = strcspn(*text, " \t\n");
	*text += len;
	*text += strspn(*text, " \t\n");
	return len;
}

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Bytes of "NAME=" at the beginning of a word, 0 if it does not begin so. */
static size_t name_before_place(const char *word, size_t len)
{
	size_t i = 0;

	while (i < len && (is_name_char(word[i]) || word[i] == ':'))
		i++;
	return i && i < len && word[i] == '=' ? i : 0;
}

/* A word that is not an argument: "reg=%di", "%di", "$arg1", "+8(%si)", "@sym". */
static bool is_place(const char *word, size_t len)
{
	if (!len || memchr(word, '=', len))
		return false;
	return is_name_char(*word) || *word == '/' || *word == '.';
}

static int check_name(const char *name, struct ktb_probe_error *error)
{
	size_t i = 0;

	while (is_name_char(name[i]))
		i++;
	if (!*name || name[i] || isdigit((unsigned char)*name))
		return ktb_probe_fail(error, -EINVAL,
				      "'%s' is no name: letters, digits and '_', no digit in front",
				      name);
	if (i > NAME_MAX_LEN)
		return ktb_probe_fail(error, -EINVAL, "'%s' is longer than %d letters", name,
				      NAME_MAX_LEN);
	return 0;
}

/* "system:event" or "event" */
static int set_name(struct ktb_probe *probe, const char *name, size_t len,
		    struct ktb_probe_error *error)
{
	const char *colon = memchr(name, ':', len);
	int err;

	probe->system = colon ? strndup(name, colon - name) : strdup(SYSTEM);
	probe->event = colon ? strndup(colon + 1, len - (colon + 1 - name)) : strndup(name, len);
	if (!probe->system || !probe->event)
		return ktb_probe_fail(error, -ENOMEM, "out of memory");
	err = check_name(probe->system, error);
	return err ? err : check_name(probe->event, error);
}

/* A function's own name, with what is no letter of a name replaced. */
static int set_default_name(struct ktb_probe *probe, const char *symbol, bool returns,
			    struct ktb_probe_error *error)
{
	char name[NAME_MAX_LEN + 1];

	if (isdigit((unsigned char)*symbol))
		return ktb_probe_fail(error, -EINVAL,
				      "a place without a name: give the probe one, %s",
				      "'NAME PLACE'");
	snprintf(name, sizeof(name), "%s%s", symbol, returns ? "__return" : "");
	for (char *at = name; *at; at++)
		if (!is_name_char(*at))
			*at = '_';
	return set_name(probe, name, strlen(name), error);
}

/* "symbol+offset" or "offset" of a file, as its offset. */
static int file_offset(const char *path, const char *symbol, uint64_t *offset,
		       struct ktb_probe_error *error)
{
	char *name, *end;
	uint64_t more = 0;
	int err;

	if (isdigit((unsigned char)*symbol)) {
		*offset = strtoull(symbol, &end, 0);
		if (*end)
			return ktb_probe_fail(error, -EINVAL, "'%s' is not an offset", symbol);
		return 0;
	}
	name = strndup(symbol, strcspn(symbol, "+"));
	if (!name)
		return ktb_probe_fail(error, -ENOMEM, "out of memory");
	if (symbol[strlen(name)] == '+') {
		more = strtoull(symbol + strlen(name) + 1, &end, 0);
		if (*end || end == symbol + strlen(name) + 1) {
			free(name);
			return ktb_probe_fail(error, -EINVAL, "'%s' is not a function and offset",
					      symbol);
		}
	}
	err = ktb_elf_offset(path, name, offset, error);
	*offset += more;
	free(name);
	return err;
}

/* tracefs wants a full path and an offset. */
static int set_file_place(struct ktb_probe *probe, char *path, struct ktb_probe_error *error)
{
	char *symbol = strrchr(path, ':'), full[PATH_MAX];
	uint64_t offset = 0;
	int err;

	if (!symbol || !symbol[1])
		return ktb_probe_fail(error, -EINVAL, "where in %s? name a function, %s:FUNCTION",
				      path, path);
	*symbol++ = 0;
	if (!realpath(path, full))
		return ktb_probe_fail(error, -errno, "there is no file %s: %s", path,
				      strerror(errno));
	err = file_offset(full, symbol, &offset, error);
	if (err)
		return err;
	if (asprintf(&probe->place, "%s:0x%llx", full, (unsigned long long)offset) < 0) {
		probe->place = NULL;
		return ktb_probe_fail(error, -ENOMEM, "out of memory");
	}
	return 0;
}

static int set_kernel_place(struct ktb_probe *probe, const char *place,
			    struct ktb_probe_error *error)
{
	probe->place = strdup(place);
	return probe->place ? 0 : ktb_probe_fail(error, -ENOMEM, "out of memory");
}

static int set_place(struct ktb_probe *probe, const char *word, size_t len,
		     struct ktb_probe_error *error)
{
	const size_t suffix = strlen(RETURN);
	bool file = memchr(word, '/', len), returns;
	char *place, *symbol;
	int err = 0;

	returns = len > suffix && !memcmp(word + len - suffix, RETURN, suffix);
	place = strndup(word, returns ? len - suffix : len);
	if (!place)
		return ktb_probe_fail(error, -ENOMEM, "out of memory");
	symbol = strrchr(place, ':');
	symbol = symbol ? symbol + 1 : place;
	probe->kind = (file ? KTB_PROBE_USER : KTB_PROBE_KERNEL) + returns;
	if (!probe->event)
		err = set_default_name(probe, symbol, returns, error);
	if (!err)
		err = file ? set_file_place(probe, place, error) :
			     set_kernel_place(probe, place, error);
	free(place);
	return err;
}

static int parse(struct ktb_probe *probe, const char *text, struct ktb_probe_error *error)
{
	const char *word, *rest = text, *second, *after;
	size_t len = take_word(&rest, &word), name = name_before_place(word, len);
	size_t second_len;
	int err = 0;

	after = rest;
	second_len = take_word(&after, &second);
	if (name) {
		err = set_name(probe, word, name, error);
		word += name + 1;
		len -= name + 1;
	} else if (is_place(second, second_len)) {
		err = set_name(probe, word, len, error);
		word = second;
		len = second_len;
		rest = after;
	}
	if (err)
		return err;
	if (!is_place(word, len))
		return ktb_probe_fail(error, -EINVAL, "where? '[NAME ]FUNCTION[ ARGUMENT...]'");
	probe->args = strdup(rest);
	if (!probe->args)
		return ktb_probe_fail(error, -ENOMEM, "out of memory");
	return set_place(probe, word, len, error);
}

int ktb_probe_parse(const char *text, struct ktb_probe *probe, struct ktb_probe_error *error)
{
	int err;

	*error = (struct ktb_probe_error){ .column = -1 };
	*probe = (struct ktb_probe){ 0 };
	err = parse(probe, text, error);
	if (err)
		ktb_probe_clear(probe);
	return err;
}
