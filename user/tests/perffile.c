// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "perffile.h"

#define FEATURE_TRACING_DATA 1

struct perffile perffile;

static void load(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	free(perffile.data);
	perffile.data = NULL;
	perffile.len = 0;
	if (fd < 0 || fstat(fd, &st))
		return;
	perffile.data = calloc(1, st.st_size + sizeof(struct perffile_header));
	perffile.len = read(fd, perffile.data, st.st_size);
	close(fd);
}

const struct perffile_header *perffile_header(void)
{
	return (const void *)perffile.data;
}

static bool within(const struct ktb_section *section)
{
	return section->offset <= perffile.len && section->size <= perffile.len - section->offset;
}

/* The place of a feature; NULL if the file does not have it. */
const struct ktb_section *perffile_feature(unsigned int number)
{
	const struct ktb_section *table;
	uint64_t before = perffile_header()->features[0] & ((1ULL << number) - 1);

	table = (const void *)(perffile.data + perffile_header()->data.offset +
			       perffile_header()->data.size);
	if (!(perffile_header()->features[0] & 1ULL << number))
		return NULL;
	return table + __builtin_popcountll(before);
}

/* Number of records of a type; -1 if the data are not whole records. */
int perffile_records(uint32_t type)
{
	const struct perf_event_header *record;
	uint64_t at = perffile_header()->data.offset, end = at + perffile_header()->data.size;
	int nr = 0;

	while (at < end) {
		record = (const void *)(perffile.data + at);
		if (record->size < sizeof(*record) || record->size > end - at)
			return -1;
		nr += record->type == type;
		at += record->size;
	}
	return nr;
}

bool perffile_is_valid(const char *path)
{
	const struct ktb_section *section;

	load(path);
	if (perffile.len < sizeof(struct perffile_header) || memcmp(perffile.data, "PERFILE2", 8) ||
	    !within(&perffile_header()->attrs) || !within(&perffile_header()->data) ||
	    perffile_records(0) < 0)
		return false;
	for (unsigned int i = 1; i < 64; i++) {
		section = perffile_feature(i);
		if (section && (!within(section) || !section->size))
			return false;
	}
	return perffile_feature(FEATURE_TRACING_DATA);
}

/* Lines that perf script prints of the file; -1 if it fails. */
int perffile_perf_lines(const char *path)
{
	char command[128];
	int nr = -1;
	FILE *pipe;

	snprintf(command, sizeof(command), "perf script -i %s 2>/dev/null | wc -l", path);
	pipe = popen(command, "re");
	if (!pipe || fscanf(pipe, "%d", &nr) != 1)
		nr = -1;
	return pipe && pclose(pipe) == 0 ? nr : -1;
}
