// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Symbols of one program or library, by offsets in its file. libdwfl finds them,
 * also in separate debug files, which it looks for by build id.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recording.h"

#ifdef HAVE_LIBDW
#include <elfutils/libdwfl.h>

struct symbol {
	uint64_t start;
	uint64_t end;
	char *name;
	uint8_t binding;
};

/* A part of the file that is loaded. */
struct segment {
	uint64_t offset;
	uint64_t size;
	uint64_t addr;
};

struct ktb_dso_table {
	struct symbol *symbols;
	unsigned int nr_symbols;
	struct segment *segments;
	unsigned int nr_segments;
};

static void free_table(struct ktb_dso_table *table)
{
	if (!table)
		return;
	for (unsigned int i = 0; i < table->nr_symbols; i++)
		free(table->symbols[i].name);
	free(table->symbols);
	free(table->segments);
	free(table);
}

static int rank(const struct symbol *symbol)
{
	return (symbol->end == symbol->start ? 4 : 0) + (symbol->binding == STB_WEAK ? 2 : 0) +
	       (symbol->binding == STB_LOCAL ? 1 : 0);
}

static int compare(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	/* Of several at one place: one with a size, one for others to call, the longest. */
	if (rank(x) != rank(y))
		return rank(x) - rank(y);
	if (strspn(x->name, "_") != strspn(y->name, "_"))
		return strspn(x->name, "_") < strspn(y->name, "_") ? -1 : 1;
	if (strlen(x->name) != strlen(y->name))
		return strlen(x->name) > strlen(y->name) ? -1 : 1;
	return strcmp(x->name, y->name);
}

static bool add_symbol(struct ktb_dso_table *table, Dwfl_Module *module, int index, uint64_t bias)
{
	struct symbol *all;
	GElf_Sym sym;
	GElf_Addr addr;
	const char *name;

	name = dwfl_module_getsym_info(module, index, &sym, &addr, NULL, NULL, NULL);
	if (!name || !*name || sym.st_shndx == SHN_UNDEF)
		return true;
	if (GELF_ST_TYPE(sym.st_info) != STT_FUNC && GELF_ST_TYPE(sym.st_info) != STT_GNU_IFUNC)
		return true;
	all = ktb_array_more(table->symbols, table->nr_symbols, sizeof(*all));
	if (!all)
		return false;
	table->symbols = all;
	all += table->nr_symbols;
	all->start = addr - bias;
	all->end = all->start + sym.st_size;
	/* Without the version of a versioned one. */
	all->name = strndup(name, strcspn(name, "@"));
	if (!all->name)
		return false;
	table->nr_symbols++;
	all->binding = GELF_ST_BIND(sym.st_info);
	return true;
}

static bool add_segments(struct ktb_dso_table *table, Elf *elf)
{
	struct segment *all;
	GElf_Phdr phdr;
	size_t nr = 0;

	elf_getphdrnum(elf, &nr);
	for (size_t i = 0; i < nr; i++) {
		if (!gelf_getphdr(elf, (int)i, &phdr) || phdr.p_type != PT_LOAD)
			continue;
		all = ktb_array_more(table->segments, table->nr_segments, sizeof(*all));
		if (!all)
			return false;
		table->segments = all;
		all[table->nr_segments++] =
			(struct segment){ phdr.p_offset, phdr.p_filesz, phdr.p_vaddr };
	}
	return true;
}

static bool is_same(struct ktb_dso *dso, Dwfl_Module *module)
{
	const unsigned char *id;
	GElf_Addr where;
	int len = dwfl_module_build_id(module, &id, &where);

	/* Of several files by that path it may be the id of another one. */
	if (!dso->build_id_len || dso->shared || len <= 0)
		return true;
	/* A list of them may have room for the first 20 bytes only. */
	dso->mismatch = (size_t)len < dso->build_id_len ||
			memcmp(id, dso->build_id, dso->build_id_len);
	return !dso->mismatch;
}

static void add_module(struct ktb_dso *dso, struct ktb_dso_table *table, Dwfl_Module *module)
{
	GElf_Addr bias;
	Elf *elf;
	int nr;

	if (!is_same(dso, module))
		return;
	elf = dwfl_module_getelf(module, &bias);
	if (!elf || !add_segments(table, elf))
		return;
	nr = dwfl_module_getsymtab(module);
	for (int i = 1; i < nr; i++)
		if (!add_symbol(table, module, i, bias))
			return;
}

/* Returns NULL if there is nothing to be had. */
static struct ktb_dso_table *make_table(struct ktb_dso *dso, const char *path)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.section_address = dwfl_offline_section_address,
	};
	struct ktb_dso_table *table = calloc(1, sizeof(*table));
	Dwfl *dwfl = dwfl_begin(&callbacks);
	Dwfl_Module *module = NULL;

	if (dwfl)
		module = dwfl_report_offline(dwfl, dso->path, path, -1);
	if (dwfl)
		dwfl_report_end(dwfl, NULL, NULL);
	if (table && module)
		add_module(dso, table, module);
	if (dwfl)
		dwfl_end(dwfl);
	if (table && table->nr_symbols) {
		qsort(table->symbols, table->nr_symbols, sizeof(*table->symbols), compare);
		return table;
	}
	free_table(table);
	return NULL;
}

/* The kernel's own library, out of our memory. Returns a descriptor, or -1. */
static int copy_vdso(void)
{
	const uint8_t *start = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	const long len = 2 * sysconf(_SC_PAGESIZE);
	int fd = start ? memfd_create("vdso", MFD_CLOEXEC) : -1;

	/* By its headers alone its size is not known: as much as can be read. */
	if (fd >= 0 && write(fd, start, len) != len && write(fd, start, len / 2) != len / 2) {
		close(fd);
		return -1;
	}
	return fd;
}

static void load_vdso(struct ktb_dso *dso)
{
	int fd = copy_vdso();
	char path[32];

	if (fd < 0)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	dso->table = make_table(dso, path);
	close(fd);
}

/*
 * Whether the file by that path can be what was recorded: it is that inode, or has the
 * build id, which is seen when it is read. A container may have another one there.
 */
static bool may_be_same(const struct ktb_dso *dso, const char *path)
{
	struct stat st;

	if (!dso->mapped || (dso->build_id_len && !dso->shared))
		return true;
	return !stat(path, &st) && st.st_ino == dso->mapped;
}

void ktb_dso_load(struct ktb_dso *dso, const char *symfs, bool this_kernel)
{
	char *path;

	dso->loaded = true;
	if (!strcmp(dso->path, "[vdso]") && this_kernel)
		load_vdso(dso);
	/* "[stack]" and "//anon" are no files. */
	if (dso->path[0] != '/' || dso->path[1] == '/' ||
	    asprintf(&path, "%s%s", symfs ? symfs : "", dso->path) < 0)
		return;
	if (!access(path, R_OK)) {
		dso->mismatch = !may_be_same(dso, path);
		if (!dso->mismatch)
			dso->table = make_table(dso, path);
	}
	free(path);
}

/* It is what @file has, wherever that is. */
void ktb_dso_load_file(struct ktb_dso *dso, const char *file)
{
	dso->loaded = true;
	dso->table = make_table(dso, file);
}

static bool address_of(const struct ktb_dso_table *table, uint64_t offset, uint64_t *addr)
{
	for (unsigned int i = 0; i < table->nr_segments; i++) {
		const struct segment *segment = &table->segments[i];

		if (offset < segment->offset || offset - segment->offset >= segment->size)
			continue;
		*addr = segment->addr + (offset - segment->offset);
		return true;
	}
	return false;
}

/* Name of the function at @offset in the file, and how far in it is; or NULL. */
const char *ktb_dso_symbol(const struct ktb_dso *dso, uint64_t offset, uint64_t *into)
{
	const struct ktb_dso_table *table = dso->table;
	unsigned int low = 0, high, mid;
	const struct symbol *found;
	uint64_t addr;

	if (!table || !address_of(table, offset, &addr) || addr < table->symbols[0].start)
		return NULL;
	for (high = table->nr_symbols; high - low > 1;) {
		mid = low + (high - low) / 2;
		if (table->symbols[mid].start <= addr)
			low = mid;
		else
			high = mid;
	}
	while (low && table->symbols[low - 1].start == table->symbols[low].start)
		low--;
	found = &table->symbols[low];
	/* Hand-written functions may have no size: up to the next one. */
	if (found->end > found->start && addr >= found->end)
		return NULL;
	*into = addr - found->start;
	return found->name;
}

#else /* HAVE_LIBDW */

void ktb_dso_load(struct ktb_dso *dso, const char *symfs, bool this_kernel)
{
	(void)symfs;
	(void)this_kernel;
	dso->loaded = true;
}

void ktb_dso_load_file(struct ktb_dso *dso, const char *file)
{
	(void)file;
	dso->loaded = true;
}

static void free_table(struct ktb_dso_table *table)
{
	(void)table;
}

const char *ktb_dso_symbol(const struct ktb_dso *dso, uint64_t offset, uint64_t *into)
{
	(void)dso;
	(void)offset;
	(void)into;
	return NULL;
}

#endif /* HAVE_LIBDW */

void ktb_dso_free(struct ktb_dso *dso)
{
	free_table(dso->table);
	free(dso->path);
	free(dso);
}
