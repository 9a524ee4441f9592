// SPDX-License-Identifier: LGPL-2.1-only
/* The kernel's symbols, as /proc/kallsyms lists them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define PAGE 4096
#define LOOK_MS 100 /* between two looks at the list of modules */
#define RELOAD_MS 10000 /* between two looks for what is in no list: BPF programs */

struct symbol {
	unsigned long long addr;
	char *name;
	char *module;
};

struct ktb_kallsyms {
	struct symbol *all;
	unsigned int nr;
	char *text; /* the file; names point into it */

	/* Of the running kernel: */
	const char *proc; /* where it is told; NULL: they are another's */
	uint64_t modules; /* which were there */
	uint64_t text_start; /* of what stays as it is */
	uint64_t text_end;
	uint64_t loaded_ms;
	uint64_t looked_ms;
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

/* NULL if there are none to be had; hidden addresses (kptr_restrict) count so. */
struct ktb_kallsyms *ktb_kallsyms_load(const char *path)
{
	struct ktb_kallsyms *syms = calloc(1, sizeof(*syms));
	char *line, *rest;

	if (!syms)
		return NULL;
	syms->text = read_all(path);
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

static bool is_of_one(const struct symbol *a, const struct symbol *b)
{
	return a->module && b->module ? !strcmp(a->module, b->module) : a->module == b->module;
}

/*
 * The last function of the kernel proper, or of a module, does not go on to where the
 * next one begins: that may be a module's which is not known. Like perf, up to the end
 * of the next page.
 */
static bool is_beyond(const struct ktb_kallsyms *syms, unsigned int at, uint64_t addr)
{
	const struct symbol *symbol = &syms->all[at];

	if (at + 1 < syms->nr && is_of_one(symbol, symbol + 1))
		return false;
	return addr >= (symbol->addr | (PAGE - 1)) + 1 + PAGE;
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
	if (is_beyond(syms, low, *addr))
		return NULL;
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

/* ---- the running kernel's, which change ---- */

static uint64_t hash_text(uint64_t hash, const char *text)
{
	while (*text)
		hash = (hash ^ (unsigned char)*text++) * 0x100000001b3ULL;
	return hash;
}

/* Which modules there are, and where: "name size users dependents state address". */
static uint64_t hash_modules(const char *proc)
{
	char path[256], line[4096], name[64], rest[64];
	uint64_t hash = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/modules", proc);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%63s %*s %*s %*s %63[^(\n]", name, rest) == 2)
			hash = hash_text(hash_text(hash, name), rest);
	if (file)
		fclose(file);
	return hash;
}

/* Those below @proc, which has to stay where it is, to be kept up to date. */
struct ktb_kallsyms *ktb_kallsyms_load_live(const char *proc)
{
	const uint64_t modules = hash_modules(proc);
	struct ktb_kallsyms *syms;
	char path[256];

	snprintf(path, sizeof(path), "%s/kallsyms", proc);
	syms = ktb_kallsyms_load(path);
	if (!syms)
		return NULL;
	syms->proc = proc;
	syms->modules = modules;
	syms->text_start = ktb_kallsyms_address(syms, "_text");
	syms->text_end = ktb_kallsyms_address(syms, "_etext");
	syms->loaded_ms = ktb_now_ms();
	syms->looked_ms = syms->loaded_ms;
	return syms;
}

static bool is_known(struct ktb_kallsyms *syms, unsigned long long addr)
{
	char *module;

	return ktb_kallsyms_find(syms, &addr, &module);
}

/*
 * Read them again if what is at @addr may have come, or another gone from there, since
 * they were read. Names that were found before are then gone. Cheap: nothing is looked
 * at for an address of the kernel proper, and the list of modules is short.
 */
bool ktb_kallsyms_refresh(struct ktb_kallsyms *syms, uint64_t addr)
{
	struct ktb_kallsyms *newer, old;
	uint64_t now;

	if (!syms || !syms->proc || (int64_t)addr >= 0 ||
	    (addr >= syms->text_start && addr < syms->text_end))
		return false;
	now = ktb_now_ms();
	if (now - syms->looked_ms < LOOK_MS)
		return false;
	syms->looked_ms = now;
	if (hash_modules(syms->proc) == syms->modules &&
	    (now - syms->loaded_ms < RELOAD_MS || is_known(syms, addr)))
		return false;
	newer = ktb_kallsyms_load_live(syms->proc);
	if (!newer)
		return false;
	old = *syms;
	*syms = *newer;
	*newer = old;
	ktb_kallsyms_free(newer);
	return true;
}
