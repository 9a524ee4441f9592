// SPDX-License-Identifier: LGPL-2.1-only
/* Whether the kernel has a function to be probed, and why it does not let it be. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tracefs.h>

#include "probe.h"

#define BLACKLIST "/sys/kernel/debug/kprobes/blacklist"

/* The function in "module:function+offset". */
static void symbol_of(const char *place, char *symbol, size_t len)
{
	const char *colon = strchr(place, ':');

	if (colon)
		place = colon + 1;
	snprintf(symbol, len, "%.*s", (int)strcspn(place, "+"), place);
}

static bool is_number(const char *symbol)
{
	return *symbol >= '0' && *symbol <= '9';
}

/*
 * Told before the kernel is asked: some take a name that does not exist, for a
 * module that may bring it. @place may name such a module.
 */
int ktb_probe_check_kernel(const char *place, const char *kallsyms, struct ktb_probe_error *error)
{
	char symbol[KTB_NEAR_LEN], line[512], name[KTB_NEAR_LEN], near_text[512];
	struct ktb_near near = { .wanted = symbol };
	bool found = false;
	FILE *file;

	symbol_of(place, symbol, sizeof(symbol));
	if (is_number(symbol))
		return 0;
	file = fopen(kallsyms, "re");
	if (!file)
		return 0; /* the kernel has the last word */
	while (!found && fgets(line, sizeof(line), file)) {
		char type;

		if (sscanf(line, "%*x %c %127s", &type, name) != 2 || !strchr("tTwW", type))
			continue;
		found = !strcmp(name, symbol);
		if (!found)
			ktb_near_add(&near, name);
	}
	fclose(file);
	if (found)
		return 0;
	ktb_near_text(&near, near_text, sizeof(near_text));
	return ktb_probe_fail(error, -ENOENT, "the kernel has no function '%s': %s%s", symbol,
			      "it is misspelt, inlined, or of a module that is not loaded",
			      near_text);
}

/* Lines "0xSTART-0xEND\tfunction", for free(); NULL without debugfs. */
char *ktb_kprobes_blacklist(void)
{
	FILE *file = fopen(BLACKLIST, "re");
	char *text = NULL;
	size_t room = 0;

	if (!file)
		return NULL;
	if (getdelim(&text, &room, 0, file) < 0) {
		free(text);
		text = NULL;
	}
	fclose(file);
	return text;
}

bool ktb_kprobes_is_listed(const char *blacklist, const char *name)
{
	const size_t len = strlen(name);
	const char *at = blacklist;

	while (at && (at = strchr(at, '\t')))
		if (!strncmp(++at, name, len) && at[len] == '\n')
			return true;
	return false;
}

static bool is_blacklisted(const char *symbol)
{
	char *blacklist = ktb_kprobes_blacklist();
	bool found = ktb_kprobes_is_listed(blacklist, symbol);

	free(blacklist);
	return found;
}

/* Lines "function" or "function [module]". */
static bool is_traceable(const char *symbol)
{
	char *all = tracefs_instance_file_read(NULL, "available_filter_functions", NULL);
	const char *at = all;
	size_t len = strlen(symbol);
	bool found;

	while (at && *at && (strncmp(at, symbol, len) || (at[len] != ' ' && at[len] != '\n'))) {
		at = strchr(at, '\n');
		at += !!at;
	}
	found = !all || (at && *at);
	free(all);
	return found;
}

/* A reason that the kernel itself does not give, or NULL. */
const char *ktb_probe_why_not(const char *place)
{
	char symbol[KTB_NEAR_LEN];

	symbol_of(place, symbol, sizeof(symbol));
	if (is_number(symbol))
		return NULL;
	if (is_blacklisted(symbol))
		return "this function must not be probed (kprobes/blacklist in debugfs)";
	if (!is_traceable(symbol))
		return "this function is not to be traced (notrace)";
	return NULL;
}
