// SPDX-License-Identifier: LGPL-2.1-only
/*
 * What a perf.data file says of where it comes from. Each function adds one
 * feature's contents and returns whether there are any: readers do without.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "perfdata.h"

static bool put_uname(struct ktb_blob *blob, size_t offset)
{
	struct utsname names;

	if (uname(&names))
		return false;
	ktb_blob_put_string(blob, (const char *)&names + offset);
	return true;
}

bool ktb_feature_hostname(struct ktb_perfdata *file, struct ktb_blob *blob)
{
	(void)file;
	return put_uname(blob, offsetof(struct utsname, nodename));
}

bool ktb_feature_osrelease(struct ktb_perfdata *file, struct ktb_blob *blob)
{
	(void)file;
	return put_uname(blob, offsetof(struct utsname, release));
}

bool ktb_feature_arch(struct ktb_perfdata *file, struct ktb_blob *blob)
{
	(void)file;
	return put_uname(blob, offsetof(struct utsname, machine));
}

bool ktb_feature_version(struct ktb_perfdata *file, struct ktb_blob *blob)
{
	(void)file;
	ktb_blob_put_string(blob, "ktrace_bridge " KTB_VERSION);
	return true;
}

bool ktb_feature_nrcpus(struct ktb_perfdata *file, struct ktb_blob *blob)
{
	(void)file;
	ktb_blob_put_u32(blob, sysconf(_SC_NPROCESSORS_CONF));
	ktb_blob_put_u32(blob, sysconf(_SC_NPROCESSORS_ONLN));
	return true;
}

/* Text behind "@key<blanks>:<blanks>" on a line of its own. */
static bool find_line(const char *path, const char *key, char *text, int len)
{
	FILE *file = fopen(path, "re");
	size_t key_len = strlen(key);
	char line[512], *at;
	bool found = false;

	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file)) {
		at = line + key_len;
		if (strncmp(line, key, key_len) || !strchr(" \t:", *at))
			continue;
		at += strspn(at, " \t:");
		snprintf(text, len, "%.*s", (int)strcspn(at, "\n"), at);
		found = true;
	}
	fclose(file);
	return found;
}

bool ktb_feature_cpudesc(struct ktb_perfdata *file, struct ktb_blob *blob)
{
	char text[256];

	(void)file;
	/* x86, then what others call it */
	if (!find_line("/proc/cpuinfo", "model name", text, sizeof(text)) &&
	    !find_line("/proc/cpuinfo", "Processor", text, sizeof(text)))
		return false;
	ktb_blob_put_string(blob, text);
	return true;
}

bool ktb_feature_total_mem(struct ktb_perfdata *file, struct ktb_blob *blob)
{
	char text[64];

	(void)file;
	if (!find_line("/proc/meminfo", "MemTotal", text, sizeof(text)))
		return false;
	ktb_blob_put_u64(blob, strtoull(text, NULL, 10));
	return true;
}

bool ktb_feature_cmdline(struct ktb_perfdata *file, struct ktb_blob *blob)
{
	if (!file->argc)
		return false;
	ktb_blob_put_u32(blob, file->argc);
	for (int i = 0; i < file->argc; i++)
		ktb_blob_put_string(blob, file->argv[i]);
	return true;
}

static uint64_t ns_of(const struct timespec *ts)
{
	return (uint64_t)ts->tv_sec * 1000000000 + ts->tv_nsec;
}

bool ktb_feature_clockid(struct ktb_perfdata *file, struct ktb_blob *blob)
{
	struct timespec resolution;

	(void)file;
	if (clock_getres(CLOCK_MONOTONIC, &resolution))
		return false;
	ktb_blob_put_u64(blob, ns_of(&resolution));
	return true;
}

/* The same moment on the samples' clock and on the wall's. */
bool ktb_feature_clock_data(struct ktb_perfdata *file, struct ktb_blob *blob)
{
	struct timespec before, wall, after;

	(void)file;
	clock_gettime(CLOCK_MONOTONIC, &before);
	clock_gettime(CLOCK_REALTIME, &wall);
	clock_gettime(CLOCK_MONOTONIC, &after);
	ktb_blob_put_u32(blob, 1); /* version */
	ktb_blob_put_u32(blob, CLOCK_MONOTONIC);
	ktb_blob_put_u64(blob, ns_of(&wall));
	ktb_blob_put_u64(blob, ns_of(&before) + (ns_of(&after) - ns_of(&before)) / 2);
	return true;
}
