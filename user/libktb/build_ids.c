// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Build ids for a perf.data file: the kernel's, those of modules, and of programs
 * and libraries that were mapped. Readers tell by them whether a file is still the
 * one that was recorded.
 */
#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "perfdata.h"

#define RECORD_BUILD_ID 67
#define SIZE_KNOWN 0x8000 /* misc: the id's size follows the id */
#define ID_SIZE 20
#define NOTES_MAX 65536

/* Find the build id among ELF notes. Returns its size, 0 if there is none. */
size_t ktb_find_build_id(const uint8_t *notes, size_t len, const uint8_t **id)
{
	size_t at = 0, name, desc;
	struct {
		uint32_t name_size, desc_size, type;
	} note;

	while (len - at >= sizeof(note)) {
		memcpy(&note, notes + at, sizeof(note));
		name = at + sizeof(note);
		desc = name + ((note.name_size + 3ULL) & ~3ULL);
		at = desc + ((note.desc_size + 3ULL) & ~3ULL);
		if (at > len)
			break;
		if (note.type == NT_GNU_BUILD_ID && note.name_size == sizeof("GNU") &&
		    !memcmp(notes + name, "GNU", sizeof("GNU"))) {
			*id = notes + desc;
			return note.desc_size;
		}
	}
	return 0;
}

/* ---- paths ---- */

/* Whether it is there, and where it is or would be: they are sorted. */
static bool find_path(const struct ktb_paths *paths, const char *path, unsigned int *at)
{
	unsigned int high = paths->nr, mid;
	int order;

	*at = 0;
	while (*at < high) {
		mid = *at + (high - *at) / 2;
		order = strcmp(path, paths->all[mid]);
		if (!order)
			return true;
		if (order < 0)
			high = mid;
		else
			*at = mid + 1;
	}
	return false;
}

static void put_path(struct ktb_paths *paths, const char *path, unsigned int at)
{
	char **all, *copy;

	all = ktb_array_more(paths->all, paths->nr, sizeof(*all));
	if (!all)
		return;
	paths->all = all;
	copy = strdup(path);
	if (!copy)
		return;
	memmove(all + at + 1, all + at, (paths->nr++ - at) * sizeof(*all));
	all[at] = copy;
}

/*
 * Whether @path is here what a process has mapped by it, which may be in a container.
 * Where the process is gone, or we may not see, the inode's number has to do: the device
 * is none to go by, overlayfs and btrfs tell different ones.
 */
static bool is_mapped(const char *path, uint32_t pid, uint64_t start, uint64_t end, uint64_t inode)
{
	struct stat here, there;
	char link[80];

	if (stat(path, &here))
		return false;
	snprintf(link, sizeof(link), "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, pid, start, end);
	if (!stat(link, &there))
		return there.st_ino == here.st_ino && there.st_dev == here.st_dev;
	return here.st_ino == inode;
}

/* Take in a path, once, if its file is the one that a process has mapped. */
void ktb_paths_add(struct ktb_paths *paths, const char *path, uint32_t pid, uint64_t start,
		   uint64_t end, uint64_t inode)
{
	unsigned int at;

	if (!find_path(paths, path, &at) && is_mapped(path, pid, start, end, inode))
		put_path(paths, path, at);
}

void ktb_paths_free(struct ktb_paths *paths)
{
	for (unsigned int i = 0; i < paths->nr; i++)
		free(paths->all[i]);
	free(paths->all);
	memset(paths, 0, sizeof(*paths));
}

/* ---- ids ---- */

static void put_id(struct ktb_blob *blob, bool kernel, const uint8_t *id, size_t len,
		   const char *name)
{
	const uint16_t mode = kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
	struct {
		struct perf_event_header header;
		int32_t pid;
		uint8_t id[ID_SIZE];
		uint8_t size;
		uint8_t reserved[3];
	} event = { { RECORD_BUILD_ID, mode | SIZE_KNOWN, 0 }, .pid = -1 };
	size_t text = strlen(name), padded = (text + 8) & ~(size_t)7;

	if (!len || len > ID_SIZE || padded > PATH_MAX)
		return;
	event.header.size = (uint16_t)(sizeof(event) + padded);
	memcpy(event.id, id, len);
	event.size = (uint8_t)len;
	ktb_blob_put(blob, &event, sizeof(event));
	ktb_blob_put(blob, name, text);
	ktb_blob_put(blob, NULL, padded - text);
}

/* Of a file that is nothing but notes. */
static void put_notes_file(struct ktb_blob *blob, const char *path, const char *name)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint8_t notes[4096];
	const uint8_t *id = NULL;
	ssize_t len;

	if (fd < 0)
		return;
	len = read(fd, notes, sizeof(notes));
	close(fd);
	put_id(blob, true, id, len > 0 ? ktb_find_build_id(notes, len, &id) : 0, name);
}

static void put_modules(struct ktb_blob *blob)
{
	DIR *dir = opendir("/sys/module");
	struct dirent *entry;
	char path[PATH_MAX], name[80];

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/sys/module/%.64s/notes/.note.gnu.build-id",
			 entry->d_name);
		snprintf(name, sizeof(name), "[%.64s]", entry->d_name);
		put_notes_file(blob, path, name);
	}
	if (dir)
		closedir(dir);
}

/* The notes of an ELF file, wherever its program headers say; 64 bits or 32. */
static size_t read_notes(int fd, uint8_t *notes, unsigned int number)
{
	union {
		unsigned char ident[EI_NIDENT];
		Elf64_Ehdr wide;
		Elf32_Ehdr narrow;
	} head;
	union {
		Elf64_Phdr wide;
		Elf32_Phdr narrow;
	} part;
	bool wide;
	off_t at;
	size_t size;
	ssize_t len;

	if (pread(fd, &head, sizeof(head), 0) != sizeof(head) ||
	    memcmp(head.ident, ELFMAG, SELFMAG))
		return 0;
	wide = head.ident[EI_CLASS] == ELFCLASS64;
	if (number >= (wide ? head.wide.e_phnum : head.narrow.e_phnum))
		return SIZE_MAX;
	size = wide ? sizeof(part.wide) : sizeof(part.narrow);
	at = wide ? (off_t)head.wide.e_phoff : (off_t)head.narrow.e_phoff;
	if (pread(fd, &part, size, at + (off_t)(number * size)) != (ssize_t)size)
		return SIZE_MAX;
	if ((wide ? part.wide.p_type : part.narrow.p_type) != PT_NOTE)
		return 0;
	size = wide ? part.wide.p_filesz : part.narrow.p_filesz;
	at = wide ? (off_t)part.wide.p_offset : (off_t)part.narrow.p_offset;
	len = pread(fd, notes, size < NOTES_MAX ? size : NOTES_MAX, at);
	return len > 0 ? (size_t)len : 0;
}

static void put_program(struct ktb_blob *blob, const char *path, uint8_t *notes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const uint8_t *id = NULL;
	size_t len = 0, found = 0;

	if (fd < 0)
		return;
	for (unsigned int i = 0; !found && i < 64; i++) {
		len = read_notes(fd, notes, i);
		if (len == SIZE_MAX)
			break;
		found = ktb_find_build_id(notes, len, &id);
	}
	close(fd);
	put_id(blob, false, id, found, path);
}

bool ktb_feature_build_id(struct ktb_perfdata *file, struct ktb_blob *blob)
{
	uint8_t *notes = malloc(NOTES_MAX);
	size_t before = blob->len;

	put_notes_file(blob, "/sys/kernel/notes", "[kernel.kallsyms]");
	put_modules(blob);
	for (unsigned int i = 0; notes && i < file->programs.nr; i++)
		put_program(blob, file->programs.all[i], notes);
	free(notes);
	return blob->len > before;
}
