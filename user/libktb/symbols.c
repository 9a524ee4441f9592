// SPDX-License-Identifier: LGPL-2.1-only
/* Names of addresses: the kernel's from kallsyms, others' from their files. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recording.h"

#define KERNEL "[kernel.kallsyms]"

/* What came and went in the kernel while recording: BPF programs, trampolines. */
struct area {
	uint64_t start;
	uint64_t end;
	char *name;
};

struct ktb_symbols {
	char *kallsyms_path; /* or NULL: the running kernel's */
	char *symfs;

	bool loaded; /* or tried */
	struct ktb_kallsyms *kallsyms;
	uint8_t build_id[20]; /* of the kernel that was recorded */
	size_t build_id_len;
	uint64_t kernel_start; /* _text there, or 0 */
	uint64_t moved; /* from there to here */
	uint64_t text_start; /* here, if it has moved */
	uint64_t text_end;
	bool kernel_missed;

	char problem[512];

	struct area *areas;
	unsigned int nr_areas;
	struct ktb_dso **dsos;
	unsigned int nr_dsos;
};

static char *copy_of(const char *text)
{
	return text ? strdup(text) : NULL;
}

struct ktb_symbols *ktb_symbols_new(const char *kallsyms, const char *symfs)
{
	struct ktb_symbols *symbols = calloc(1, sizeof(*symbols));

	if (!symbols)
		return NULL;
	symbols->kallsyms_path = copy_of(kallsyms);
	symbols->symfs = copy_of(symfs);
	return symbols;
}

void ktb_symbols_free(struct ktb_symbols *symbols)
{
	if (!symbols)
		return;
	ktb_symbols_forget_dsos(symbols);
	for (unsigned int i = 0; i < symbols->nr_areas; i++)
		free(symbols->areas[i].name);
	ktb_kallsyms_free(symbols->kallsyms);
	free(symbols->kallsyms_path);
	free(symbols->symfs);
	free(symbols->areas);
	free(symbols->dsos);
	free(symbols);
}

/* ---- the kernel ---- */

void ktb_symbols_kernel_start(struct ktb_symbols *symbols, uint64_t start)
{
	symbols->kernel_start = start;
}

void ktb_symbols_kernel_area(struct ktb_symbols *symbols, uint64_t start, uint64_t len,
			     const char *name, bool gone)
{
	struct area *all = symbols->areas;

	/* Its samples may come out later than its end: it stays known. */
	if (gone)
		return;
	all = ktb_array_more(all, symbols->nr_areas, sizeof(*all));
	if (!all)
		return;
	symbols->areas = all;
	all[symbols->nr_areas++] = (struct area){ start, start + len, strdup(name) };
}

/* Whether this machine's kernel is the one that was recorded, as far as is known. */
static bool is_this_kernel(const struct ktb_symbols *symbols)
{
	uint8_t notes[4096];
	const uint8_t *id;
	ssize_t len;
	int fd;

	if (symbols->kallsyms_path || !symbols->build_id_len)
		return true;
	fd = open("/sys/kernel/notes", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return true;
	len = read(fd, notes, sizeof(notes));
	close(fd);
	return len > 0 && ktb_find_build_id(notes, len, &id) == symbols->build_id_len &&
	       !memcmp(id, symbols->build_id, symbols->build_id_len);
}

static void load_kernel(struct ktb_symbols *symbols)
{
	uint64_t text;

	symbols->loaded = true;
	if (!is_this_kernel(symbols))
		return;
	symbols->kallsyms = symbols->kallsyms_path ? ktb_kallsyms_load(symbols->kallsyms_path) :
						     ktb_kallsyms_load_live("/proc");
	if (!symbols->kallsyms || !symbols->kernel_start)
		return;
	text = ktb_kallsyms_address(symbols->kallsyms, "_text");
	if (!text || text == symbols->kernel_start)
		return;
	symbols->moved = text - symbols->kernel_start;
	symbols->text_start = text;
	symbols->text_end = ktb_kallsyms_address(symbols->kallsyms, "_etext");
}

static bool find_area(const struct ktb_symbols *symbols, uint64_t addr, struct ktb_frame *frame)
{
	/* The newest that was there. */
	for (unsigned int i = symbols->nr_areas; i--;) {
		const struct area *area = &symbols->areas[i];

		if (addr < area->start || addr >= area->end)
			continue;
		frame->symbol = area->name;
		frame->offset = addr - area->start;
		return true;
	}
	return false;
}

static const char *bracketed(struct ktb_symbols *symbols, const char *module)
{
	const struct ktb_dso *dso;
	char name[80];

	snprintf(name, sizeof(name), "[%s]", module);
	/* A place for the name that lasts. */
	dso = ktb_symbols_dso(symbols, name);
	return dso ? dso->path : KERNEL;
}

/*
 * Before addresses of now are looked up: what is at @addr may have come since the last
 * look. Names of before are gone then.
 */
void ktb_symbols_refresh(struct ktb_symbols *symbols, uint64_t addr)
{
	ktb_kallsyms_refresh(symbols->kallsyms, addr);
}

/* Returns false if the address has no name. */
bool ktb_symbols_kernel(struct ktb_symbols *symbols, uint64_t addr, struct ktb_frame *frame)
{
	unsigned long long start;
	char *name, *module = NULL;

	if (!symbols->loaded)
		load_kernel(symbols);
	if (find_area(symbols, addr, frame))
		return true;
	start = addr + symbols->moved;
	if (symbols->moved && (start < symbols->text_start || start >= symbols->text_end))
		return false; /* modules have moved in a way of their own */
	name = ktb_kallsyms_find(symbols->kallsyms, &start, &module);
	symbols->kernel_missed |= !name;
	if (!name)
		return false;
	frame->symbol = name;
	frame->offset = addr + symbols->moved - start;
	if (module)
		frame->dso = bracketed(symbols, module);
	return true;
}

/* For print formats: in the form libtraceevent wants. */
char *ktb_symbols_function(void *arg, unsigned long long *addr, char **module)
{
	struct ktb_frame frame = { 0 };

	if (!ktb_symbols_kernel(arg, *addr, &frame))
		return NULL;
	*addr -= frame.offset;
	*module = NULL;
	return (char *)frame.symbol;
}

/* ---- programs and libraries ---- */

static bool is_file(const struct ktb_dso *dso, const char *path, uint64_t dev, uint64_t inode)
{
	return dso->inode == inode && dso->dev == dev && !strcmp(dso->path, path);
}

/* Of one path there may be several: in containers, or one after the other. */
struct ktb_dso *ktb_symbols_file(struct ktb_symbols *symbols, const char *path, uint64_t dev,
				 uint64_t inode)
{
	struct ktb_dso **all, *dso;

	for (unsigned int i = symbols->nr_dsos; i--;)
		if (is_file(symbols->dsos[i], path, dev, inode))
			return symbols->dsos[i];
	all = ktb_array_more(symbols->dsos, symbols->nr_dsos, sizeof(struct ktb_dso *));
	if (!all)
		return NULL;
	symbols->dsos = all;
	dso = calloc(1, sizeof(*dso));
	if (dso)
		dso->path = strdup(path);
	if (!dso || !dso->path) {
		free(dso);
		return NULL;
	}
	dso->dev = dev;
	dso->inode = inode;
	all[symbols->nr_dsos++] = dso;
	return dso;
}

struct ktb_dso *ktb_symbols_dso(struct ktb_symbols *symbols, const char *path)
{
	return ktb_symbols_file(symbols, path, 0, 0);
}

static struct ktb_dso *find_mapped(const struct ktb_symbols *symbols, const char *path,
				   uint64_t inode)
{
	for (unsigned int i = symbols->nr_dsos; i--;)
		if (symbols->dsos[i]->mapped == inode && !strcmp(symbols->dsos[i]->path, path))
			return symbols->dsos[i];
	return NULL;
}

/*
 * What was recorded by a path, of an inode that may be 0. In a container another file
 * has the same path: whose build id the one that is known is, nobody knows then.
 */
struct ktb_dso *ktb_symbols_mapped(struct ktb_symbols *symbols, const char *path, uint64_t inode)
{
	struct ktb_dso *dso, *first;

	/* With --symfs it is said where the files are. */
	if (!inode || symbols->symfs)
		return ktb_symbols_dso(symbols, path);
	dso = find_mapped(symbols, path, inode);
	if (dso)
		return dso;
	first = ktb_symbols_dso(symbols, path);
	if (!first || !first->mapped) {
		if (first)
			first->mapped = inode;
		return first;
	}
	first->shared = true;
	/* No device has that number. */
	dso = ktb_symbols_file(symbols, path, UINT64_MAX, inode);
	if (dso) {
		dso->inode = 0;
		dso->mapped = inode;
		dso->shared = true;
	}
	return dso;
}

unsigned int ktb_symbols_nr_dsos(const struct ktb_symbols *symbols)
{
	return symbols->nr_dsos;
}

/* Names of before are gone then, and mappings must not refer to them. */
void ktb_symbols_forget_dsos(struct ktb_symbols *symbols)
{
	for (unsigned int i = 0; i < symbols->nr_dsos; i++)
		ktb_dso_free(symbols->dsos[i]);
	symbols->nr_dsos = 0;
}

void ktb_symbols_build_id(struct ktb_symbols *symbols, const char *path, const uint8_t *id,
			  size_t len)
{
	const bool kernel = !strcmp(path, KERNEL);
	struct ktb_dso *dso = kernel ? NULL : ktb_symbols_dso(symbols, path);

	if (kernel) {
		memcpy(symbols->build_id, id, len);
		symbols->build_id_len = len;
	} else if (dso) {
		memcpy(dso->build_id, id, len);
		dso->build_id_len = len;
	}
}

/* ---- call chains ---- */

/* @kernel: whether the sample was taken in the kernel. */
void ktb_walk_begin(struct ktb_walk *walk, const struct ktb_sample *sample, bool kernel)
{
	walk->next = sample->nr_chain ? sample->chain : &sample->ip;
	walk->end = walk->next + (sample->nr_chain ? sample->nr_chain : 1);
	walk->kernel = kernel;
}

/* Returns false at the end; names are ktb_symbols_resolve()'s to find. */
bool ktb_walk_next(struct ktb_walk *walk, struct ktb_frame *frame)
{
	uint64_t addr;

	while (walk->next < walk->end) {
		addr = *walk->next++;
		if (addr >= PERF_CONTEXT_MAX) {
			walk->kernel = addr == (uint64_t)PERF_CONTEXT_KERNEL;
			continue;
		}
		*frame = (struct ktb_frame){ .addr = addr, .place = addr, .kernel = walk->kernel };
		return true;
	}
	return false;
}

/* @map is where a user's address is, or NULL. */
void ktb_symbols_resolve(struct ktb_symbols *symbols, const struct ktb_map *map,
			 struct ktb_frame *frame)
{
	if (frame->kernel) {
		frame->dso = KERNEL;
		ktb_symbols_kernel(symbols, frame->addr, frame);
		return;
	}
	if (!map)
		return;
	if (!map->dso->loaded && !map->dso->inode)
		ktb_dso_load(map->dso, symbols->symfs, !symbols->symfs && is_this_kernel(symbols));
	frame->dso = map->dso->path;
	frame->place = frame->addr - map->start + map->offset;
	frame->symbol = ktb_dso_symbol(map->dso, frame->place, &frame->offset);
}

/* ---- what is wrong ---- */

static const char *kernel_problem(const struct ktb_symbols *symbols)
{
	if (!symbols->kernel_missed || symbols->kallsyms)
		return NULL;
	if (symbols->kallsyms_path)
		return "the kernel's functions have no names: --kallsyms has none";
	if (!is_this_kernel(symbols))
		return "the kernel's functions have no names: it was another one (see --kallsyms)";
	return "the kernel's functions have no names: it hides them (see kernel.kptr_restrict)";
}

/* Why addresses have no names; NULL if there is nothing to be said. */
const char *ktb_symbols_problem(struct ktb_symbols *symbols)
{
	const char *problem = kernel_problem(symbols);

	if (problem)
		return problem;
#ifndef HAVE_LIBDW
	for (unsigned int i = 0; i < symbols->nr_dsos; i++)
		if (symbols->dsos[i]->loaded)
			return "functions of programs have no names: libdw was not built in";
#endif
	for (unsigned int i = 0; i < symbols->nr_dsos; i++)
		if (symbols->dsos[i]->mismatch && symbols->dsos[i]->path[0] == '/') {
			snprintf(symbols->problem, sizeof(symbols->problem),
				 "functions of '%s' have no names: it is not what was recorded",
				 symbols->dsos[i]->path);
			return symbols->problem;
		}
	return NULL;
}
