// SPDX-License-Identifier: LGPL-2.1-only
/*
 * What ran before the recording began, as records: names of threads, executable
 * mappings, and where the kernel and its modules are. They carry no time and no
 * id, which readers take for "before everything".
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "perfdata.h"

#define FLUSH (64 << 10)
#define TEXT_LEN 4096

struct synth {
	struct ktb_perfdata *file;
	struct ktb_blob blob;
	int err;
};

struct mmap_body {
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
};

struct mmap2_body {
	struct mmap_body at;
	uint32_t major, minor;
	uint64_t inode, generation;
	uint32_t prot, flags;
};

static void flush(struct synth *synth)
{
	if (synth->blob.failed)
		synth->err = ktb_perfdata_fail(synth->file, -ENOMEM, "out of memory");
	else if (!synth->err)
		synth->err = ktb_perfdata_append(synth->file, synth->blob.data, synth->blob.len);
	synth->blob.len = 0;
}

/* A record of @body, then text, then an empty sample_id. */
static void put(struct synth *synth, uint32_t type, uint16_t misc, const void *body, size_t len,
		const char *text)
{
	const size_t id_len = ktb_sample_id_size(synth->file->sample_type);
	size_t text_len = strlen(text), padded = (text_len + 8) & ~(size_t)7;
	struct perf_event_header header = { .type = type, .misc = misc };

	header.size = (uint16_t)(sizeof(header) + len + padded + id_len);
	ktb_blob_put(&synth->blob, &header, sizeof(header));
	ktb_blob_put(&synth->blob, body, len);
	ktb_blob_put(&synth->blob, text, text_len);
	ktb_blob_put(&synth->blob, NULL, padded - text_len + id_len);
	if (synth->blob.len > FLUSH)
		flush(synth);
}

/* ---- the kernel ---- */

static void put_kernel_part(struct synth *synth, uint64_t start, uint64_t end, uint64_t symbol,
			    const char *name)
{
	const struct mmap_body body = { UINT32_MAX, 0, start, end - start, symbol };

	put(synth, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL, &body, sizeof(body), name);
}

/* Hidden addresses are zeros: then nothing is said of the kernel. */
static void put_kernel(struct synth *synth)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	uint64_t start = 0, end = 0;
	const char *name;
	char line[512];

	/* There are tens of thousands. */
	while (!end && file && fgets(line, sizeof(line), file)) {
		name = strrchr(line, ' ');
		if (name && !strcmp(name, " _text\n"))
			start = strtoull(line, NULL, 16);
		else if (name && !strcmp(name, " _etext\n"))
			end = strtoull(line, NULL, 16);
	}
	if (file)
		fclose(file);
	if (start && end > start)
		put_kernel_part(synth, start, end, start, "[kernel.kallsyms]_text");
	else
		synth->file->stats.kernel_hidden = true;
}

static void put_modules(struct synth *synth)
{
	FILE *file = fopen("/proc/modules", "re");
	char line[TEXT_LEN], name[64], bracketed[72];
	unsigned long long addr, size;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%63s %llu %*s %*s %*s %llx", name, &size, &addr) != 3)
			continue;
		snprintf(bracketed, sizeof(bracketed), "[%s]", name);
		if (addr)
			put_kernel_part(synth, addr, addr + size, 0, bracketed);
	}
	if (file)
		fclose(file);
}

/* ---- tasks ---- */

static uint32_t prot_of(const char *text)
{
	return (text[0] == 'r' ? PROT_READ : 0) | (text[1] == 'w' ? PROT_WRITE : 0) |
	       (text[2] == 'x' ? PROT_EXEC : 0);
}

/* "start-end prot offset major:minor inode      path", executable ones only. */
static void put_mapping(struct synth *synth, uint32_t pid, char *line)
{
	unsigned long long start, end, offset, inode;
	struct mmap2_body body = { .at = { .pid = pid, .tid = pid } };
	char prot[8];
	int at = 0;

	if (sscanf(line, "%llx-%llx %7s %llx %x:%x %llu %n", &start, &end, prot, &offset,
		   &body.major, &body.minor, &inode, &at) != 7)
		return;
	if (!at || prot[2] != 'x')
		return;
	line[strcspn(line, "\n")] = 0;
	body.at.addr = start;
	body.at.len = end - start;
	body.at.pgoff = offset;
	body.inode = inode;
	body.prot = prot_of(prot);
	body.flags = prot[3] == 's' ? MAP_SHARED : MAP_PRIVATE;
	if (line[at] == '/')
		ktb_paths_add(&synth->file->programs, line + at, pid, start, end, inode);
	put(synth, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, &body, sizeof(body),
	    line[at] ? line + at : "//anon");
}

static void put_mappings(struct synth *synth, const char *pid)
{
	char path[64], line[TEXT_LEN];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%.20s/maps", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		put_mapping(synth, strtoul(pid, NULL, 10), line);
	if (file)
		fclose(file);
}

static void put_comm(struct synth *synth, const char *pid, const char *tid)
{
	const uint32_t ids[] = { strtoul(pid, NULL, 10), strtoul(tid, NULL, 10) };
	char path[96], comm[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%.20s/task/%.20s/comm", pid, tid);
	file = fopen(path, "re");
	if (!file)
		return;
	if (fgets(comm, sizeof(comm), file)) {
		comm[strcspn(comm, "\n")] = 0;
		put(synth, PERF_RECORD_COMM, 0, ids, sizeof(ids), comm);
	}
	fclose(file);
}

/* Call @each for the numbers in a directory. */
static void each_number(struct synth *synth, const char *path, const char *pid,
			void (*each)(struct synth *synth, const char *pid, const char *number))
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]))
			each(synth, pid, entry->d_name);
	if (dir)
		closedir(dir);
}

static void put_process(struct synth *synth, const char *unused, const char *pid)
{
	char path[64];

	(void)unused;
	snprintf(path, sizeof(path), "/proc/%.20s/task", pid);
	each_number(synth, path, pid, put_comm);
	put_mappings(synth, pid);
}

int ktb_perfdata_synthesize(struct ktb_perfdata *file)
{
	struct synth synth = { .file = file };

	put_kernel(&synth);
	put_modules(&synth);
	each_number(&synth, "/proc", NULL, put_process);
	flush(&synth);
	ktb_blob_free(&synth.blob);
	return synth.err;
}
