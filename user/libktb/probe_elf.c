// SPDX-License-Identifier: LGPL-2.1-only
/* Where in a file a function begins, by the file's own symbols. */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <string.h>
#include <unistd.h>

#include "probe.h"

struct search {
	const char *symbol;
	uint64_t address;
	bool found;
	unsigned int nr; /* functions seen */
	struct ktb_near near;
};

static void search_table(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, struct search *search)
{
	Elf_Data *data = elf_getdata(section, NULL);
	const char *name;
	GElf_Sym symbol;

	for (int i = 0; data && gelf_getsym(data, i, &symbol) && !search->found; i++) {
		if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF)
			continue;
		name = elf_strptr(elf, header->sh_link, symbol.st_name);
		if (!name)
			continue;
		search->nr++;
		search->address = symbol.st_value;
		search->found = !strcmp(name, search->symbol);
		if (!search->found)
			ktb_near_add(&search->near, name);
	}
}

static void search_tables(Elf *elf, struct search *search)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while (!search->found && (section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) &&
		    (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM))
			search_table(elf, section, &header, search);
}

/* From where it is to be in memory to where it is in the file. */
static int to_offset(Elf *elf, uint64_t address, uint64_t *offset)
{
	GElf_Phdr header;
	size_t nr;

	if (elf_getphdrnum(elf, &nr))
		return -ENOEXEC;
	for (size_t i = 0; i < nr; i++) {
		if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_LOAD)
			continue;
		if (address < header.p_vaddr || address - header.p_vaddr >= header.p_filesz)
			continue;
		*offset = address - header.p_vaddr + header.p_offset;
		return 0;
	}
	return -ENOEXEC;
}

static int find(Elf *elf, const char *path, const char *symbol, uint64_t *offset,
		struct ktb_probe_error *error)
{
	struct search search = { .symbol = symbol, .near = { .wanted = symbol } };
	char near[512];

	if (elf_kind(elf) != ELF_K_ELF)
		return ktb_probe_fail(error, -ENOEXEC, "%s is not a program or library", path);
	search_tables(elf, &search);
	if (!search.nr)
		return ktb_probe_fail(error, -ENOENT,
				      "%s has no symbols: name the place by its offset, %s:0x...",
				      path, path);
	ktb_near_text(&search.near, near, sizeof(near));
	if (!search.found)
		return ktb_probe_fail(error, -ENOENT, "%s has no function '%s'%s", path, symbol,
				      near);
	if (to_offset(elf, search.address, offset))
		return ktb_probe_fail(error, -ENOEXEC, "'%s' is not in what is loaded of %s",
				      symbol, path);
	return 0;
}

int ktb_elf_offset(const char *path, const char *symbol, uint64_t *offset,
		   struct ktb_probe_error *error)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;
	Elf *elf;

	if (fd < 0)
		return ktb_probe_fail(error, -errno, "cannot open %s: %s", path, strerror(errno));
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (elf)
		err = find(elf, path, symbol, offset, error);
	else
		err = ktb_probe_fail(error, -ENOEXEC, "cannot read %s: %s", path, elf_errmsg(-1));
	elf_end(elf);
	close(fd);
	return err;
}
