// SPDX-License-Identifier: LGPL-2.1-only
/* The kernel's symbols, as /proc/kallsyms lists them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

struct symbol {
	unsigned long long addr;
	char *name;
	char *module;
};

struct ktb_kallsyms {
	struct symbol *all;
	unsigned int nr;
	char *text; /* the file; names point into it */
};

static char *read_all(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t len = 0;

	if (!file)
		return NULL;
	/* No NUL in it: one "line". */
	if (getdelim(&text, &len, 0, file) < 0) {
		free(text);
		text = NULL;
	}
	fclose(file);
	return text;
}

/* "ffffffff81000000 T _text" or, of a module, "... t name\t[module]". */
static int parse_line(struct ktb_kallsyms *syms, char *line)
{
	struct symbol *all;
	char *name, *module, *end;
	unsigned long long addr;

	addr = strtoull(line, &end, 16);
	if (!addr || strlen(end) < 4 || !strchr("tTwW", end[1]))
		return 0;
	name = end + 3;
	module = strchr(name, '\t');
	if (module) {
		*module++ = 0;
		module++;
		module[strcspn(module, "]")] = 0;
	}
	all = ktb_array_more(syms->all, syms->nr, sizeof(*all));
	if (!all)
		return -1;
	syms->all = all;
	all[syms->nr++] = (struct symbol){ .addr = addr, .name = name, .module = module };
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	/* Names point into one text: in the order of the file. */
	return x->name < y->name ? -1 : x->name > y->name;
}

/*
 * NULL if there are none to be had; hidden addresses (kptr_restrict) count so.
 * Without a @path those of the running kernel.
 */
struct ktb_kallsyms *ktb_kallsyms_load(const char *path)
{
	struct ktb_kallsyms *syms = calloc(1, sizeof(*syms));
	char *line, *rest;

	if (!syms)
		return NULL;
	syms->text = read_all(path ? path : "/proc/kallsyms");
	for (line = rest = syms->text; rest && *rest; line = rest) {
		rest += strcspn(rest, "\n");
		if (*rest)
			*rest++ = 0;
		if (parse_line(syms, line))
			break;
	}
	if (!syms->nr) {
		ktb_kallsyms_free(syms);
		return NULL;
	}
	qsort(syms->all, syms->nr, sizeof(*syms->all), compare);
	return syms;
}

void ktb_kallsyms_free(struct ktb_kallsyms *syms)
{
	if (!syms)
		return;
	free(syms->all);
	free(syms->text);
	free(syms);
}

/*
 * Name of the function at *@addr, which becomes the function's beginning; of
 * several names the last, as perf has it. In the form tep_set_function_resolver()
 * wants.
 */
char *ktb_kallsyms_find(struct ktb_kallsyms *syms, unsigned long long *addr, char **module)
{
	unsigned int low = 0, high, mid;

	if (!syms || *addr < syms->all[0].addr)
		return NULL;
	for (high = syms->nr; high - low > 1;) {
		mid = low + (high - low) / 2;
		if (syms->all[mid].addr <= *addr)
			low = mid;
		else
			high = mid;
	}
	*addr = syms->all[low].addr;
	*module = syms->all[low].module;
	return syms->all[low].name;
}

/* The address of a symbol of the kernel proper, 0 if there is none. */
uint64_t ktb_kallsyms_address(const struct ktb_kallsyms *syms, const char *name)
{
	for (unsigned int i = 0; i < syms->nr; i++)
		if (!syms->all[i].module && !strcmp(syms->all[i].name, name))
			return syms->all[i].addr;
	return 0;
}
