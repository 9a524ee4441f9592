// SPDX-License-Identifier: GPL-2.0-only
/* Allocations that fail on request: failslab and fail_page_alloc. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "ktb_faults.h"
#include "ktb_file.h"

struct setting {
	const char *file;
	const char *text;
};

/* Up to one without a file. */
static int apply(const struct setting *setting)
{
	int error = 0;

	for (; setting->file && !error; setting++)
		error = ktb_write_file(setting->file, setting->text);
	return error;
}

/* Where a function begins and where the next one does, in hex; "" if there is none. */
static int find_function(const char *function, char begin[32], char end[32])
{
	FILE *symbols = fopen("/proc/kallsyms", "re");
	char line[512], name[256];
	bool found = false;

	if (!symbols)
		return -errno;
	*begin = *end = 0;
	while (!*end && fgets(line, sizeof(line), symbols)) {
		if (sscanf(line, "%16s %*c %255s", found ? end : begin, name) == 2)
			found |= !strcmp(name, function);
	}
	fclose(symbols);
	return 0;
}

/*
 * kmemleak notes areas for what tasks allocate, and says with its lock held when it
 * could not, which lockdep takes ill: that allocation is not to fail.
 */
static int spare_kmemleak(void)
{
	char begin[32], end[32], from[40], to[40];
	const struct setting spare[] = {
		{ KTB_FAILSLAB "reject-start", from }, { KTB_FAILSLAB "reject-end", to },
		{ KTB_FAILPAGE "reject-start", from }, { KTB_FAILPAGE "reject-end", to },
		{ NULL }
	};
	int error = find_function("kmemleak_scan_area", begin, end);

	/* A kernel without kmemleak has nothing to spare. */
	if (error || !*end)
		return error;
	snprintf(from, sizeof(from), "0x%s", begin);
	snprintf(to, sizeof(to), "0x%s", end);
	return apply(spare);
}

int ktb_faults_init(void)
{
	static const struct setting settings[] = {
		{ KTB_FAILSLAB "ignore-gfp-wait", "N" },
		{ KTB_FAILSLAB "verbose", "0" },
		{ KTB_FAILPAGE "ignore-gfp-wait", "N" },
		{ KTB_FAILPAGE "ignore-gfp-highmem", "N" },
		{ KTB_FAILPAGE "min-order", "0" },
		{ KTB_FAILPAGE "verbose", "0" },
		{ NULL }
	};
	int error = apply(settings);

	return error ? error : spare_kmemleak();
}
