// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Calls of kernel functions as events: "function:LIST" at their entry,
 * "fgraph:LIST" at their return. LIST is globs with blanks between, as in
 * set_ftrace_filter: "vfs_*", "!vfs_read*", "*:mod:ext4".
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tracefs.h>

#include "../../include/ktb_denied.h"
#include "internal.h"
#include "probe.h"

#define ENTRY "function:"
#define GRAPH "fgraph:"
#define MODULE ":mod:"
#define AVAILABLE "available_filter_functions"
#define MAX_FUNCTIONS 1024 /* the module's, of an event */

struct word {
	char *glob;
	char *module; /* NULL: any, the kernel proper too */
	bool out; /* what it matches is left out */
};

struct list {
	struct word *words;
	unsigned int nr;
	bool modules; /* one is named */
	bool plain; /* nothing but names, none of them to be left out */
	char *blacklist; /* of kprobes; with it, returns are meant */
};

#define NAME(function) #function,
#define NR(array) (sizeof(array) / sizeof((array)[0]))

static const char *const never_return[] = { KTB_NEVER_RETURNS(NAME) };
static const char *const record_hits[] = { KTB_RECORDS_HITS(NAME) };

struct wanted {
	struct ktb_functions *functions;
	char *error;
	size_t len;
};

static int fail(const struct wanted *wanted, int err, const char *format, ...) KTB_PRINTF(3, 4);

static int fail(const struct wanted *wanted, int err, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(wanted->error, wanted->len, format, ap);
	va_end(ap);
	return err;
}

static int add_name(const struct wanted *wanted, const char *name)
{
	struct ktb_functions *functions = wanted->functions;
	char **names;

	if (functions->nr == MAX_FUNCTIONS)
		return fail(wanted, -E2BIG, "more than %d functions: narrow it down",
			    MAX_FUNCTIONS);
	names = ktb_array_more(functions->names, functions->nr, sizeof(*names));
	if (!names)
		return fail(wanted, -ENOMEM, "out of memory");
	functions->names = names;
	names[functions->nr] = strdup(name);
	return names[functions->nr++] ? 0 : fail(wanted, -ENOMEM, "out of memory");
}

/* ---- the list ---- */

static int take_word(const struct wanted *wanted, struct list *list, char *text)
{
	struct word *words = ktb_array_more(list->words, list->nr, sizeof(*words)), *word;

	if (!words)
		return fail(wanted, -ENOMEM, "out of memory");
	list->words = words;
	word = &words[list->nr++];
	list->plain &= !strpbrk(text, "!*?[");
	word->out = *text == '!';
	word->glob = text + word->out;
	word->module = strstr(word->glob, MODULE);
	if (word->module) {
		*word->module = 0;
		word->module += strlen(MODULE);
		list->modules = true;
	}
	if (!*word->glob)
		return fail(wanted, -EINVAL, "'%s' names no function", text);
	return 0;
}

static bool matches(const struct word *word, const char *name, const char *module)
{
	return (!word->module || (module && !strcmp(module, word->module))) &&
	       !fnmatch(word->glob, name, 0);
}

static bool is_in(const char *const *names, unsigned int nr, const char *name)
{
	while (nr--)
		if (!strcmp(names[nr], name))
			return true;
	return false;
}

/* Patterns pass over these; by its name, the module says why not. */
static bool is_denied(const struct list *list, const char *name)
{
	return ktb_kprobes_is_listed(list->blacklist, name) ||
	       is_in(never_return, NR(never_return), name) ||
	       is_in(record_hits, NR(record_hits), name);
}

/* What a word takes in and none leaves out, wherever it stands. */
static bool is_meant(const struct list *list, const char *name, const char *module)
{
	bool in = false;

	for (unsigned int i = 0; i < list->nr; i++) {
		if (!matches(&list->words[i], name, module))
			continue;
		if (list->words[i].out)
			return false;
		in |= !strpbrk(list->words[i].glob, "*?[") || !is_denied(list, name);
	}
	return in;
}

/* Of tracefs's lines "function" or "function [module]" those that are meant. */
static int expand(const struct wanted *wanted, struct list *list)
{
	char *all = tracefs_instance_file_read(NULL, AVAILABLE, NULL);
	char *rest = all, *name, *module;
	const char *last = "";
	int err = 0;

	if (!all)
		return fail(wanted, -ENOENT, "tracefs has no " AVAILABLE);
	if (wanted->functions->graph)
		list->blacklist = ktb_kprobes_blacklist();
	while (!err && (name = strsep(&rest, "\n"))) {
		module = strstr(name, " [");
		if (module) {
			*module = 0;
			module += 2;
			module[strcspn(module, "]")] = 0;
		}
		if (!*name || !strcmp(name, last) || !is_meant(list, name, module))
			continue;
		err = add_name(wanted, name);
		last = name;
	}
	free(list->blacklist);
	free(all);
	if (!err && !wanted->functions->nr)
		return fail(wanted, -ENOENT, "there is no such function that can be traced");
	return err;
}

static bool has_name(const struct ktb_functions *functions, const char *name)
{
	for (unsigned int i = 0; i < functions->nr; i++)
		if (!strcmp(functions->names[i], name))
			return true;
	return false;
}

/* ftrace does globs itself, but for modules and for returns. */
static int pass_on(const struct wanted *wanted, const struct list *list)
{
	char name[KTRACE_BRIDGE_FUNCTION_LEN + 1];
	int err = 0;

	for (unsigned int i = 0; i < list->nr && !err; i++) {
		if (snprintf(name, sizeof(name), "%s%s", list->words[i].out ? "!" : "",
			     list->words[i].glob) >= (int)sizeof(name))
			return fail(wanted, -EINVAL, "'%.32s...' is too long", name);
		if (!has_name(wanted->functions, name))
			err = add_name(wanted, name);
	}
	return err;
}

static int take_list(const struct wanted *wanted, char *text)
{
	struct list list = { .plain = true };
	char *word, *rest = text;
	bool in = false;
	int err = 0;

	while (!err && (word = strsep(&rest, " ")))
		if (*word)
			err = take_word(wanted, &list, word);
	for (unsigned int i = 0; i < list.nr; i++)
		in |= !list.words[i].out;
	if (!err && !in)
		err = fail(wanted, -EINVAL, "which functions?");
	if (!err && (list.modules || (wanted->functions->graph && !list.plain)))
		err = expand(wanted, &list);
	else if (!err)
		err = pass_on(wanted, &list);
	free(list.words);
	return err;
}

int ktb_functions_parse(const char *text, struct ktb_functions *functions, char *error, size_t len)
{
	const struct wanted wanted = { functions, error, len };
	const bool graph = !strncmp(text, GRAPH, strlen(GRAPH));
	char *copy;
	int err;

	*functions = (struct ktb_functions){ .graph = graph };
	*error = 0;
	if (!graph && strncmp(text, ENTRY, strlen(ENTRY)))
		return -ENOENT;
	snprintf(functions->name, sizeof(functions->name), "%s", text);
	copy = strdup(text + strlen(graph ? GRAPH : ENTRY));
	if (!copy)
		return fail(&wanted, -ENOMEM, "out of memory");
	err = take_list(&wanted, copy);
	free(copy);
	if (err)
		ktb_functions_clear(functions);
	/* Only a notation that is not ours is -ENOENT. */
	return err == -ENOENT ? -EINVAL : err;
}

const char *ktb_functions_missing(const struct ktb_functions *functions)
{
	char *all = tracefs_instance_file_read(NULL, AVAILABLE, NULL);
	const char *missing = NULL;

	for (unsigned int i = 0; all && i < functions->nr && !missing; i++) {
		const char *name = functions->names[i], *at = all;
		const size_t len = strlen(name);

		while (at && (strncmp(at, name, len) || (at[len] != '\n' && at[len] != ' '))) {
			at = strchr(at, '\n');
			at += !!at;
		}
		if (!at && !strpbrk(name, "!*?["))
			missing = name;
	}
	free(all);
	return missing;
}

void ktb_functions_clear(struct ktb_functions *functions)
{
	for (unsigned int i = 0; i < functions->nr; i++)
		free(functions->names[i]);
	free(functions->names);
	functions->names = NULL;
	functions->nr = 0;
}

/* The event whose format the records of an event named so have. */
const char *ktb_format_name(const char *name)
{
	if (!strncmp(name, ENTRY, strlen(ENTRY)))
		return "ftrace:function";
	if (!strncmp(name, GRAPH, strlen(GRAPH)))
		return "ftrace:funcgraph_exit";
	return name;
}
