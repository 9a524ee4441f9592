// SPDX-License-Identifier: GPL-2.0-only
/* Lists of CPUs, such as "0-3,8". */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ktbctl.h"

#define SYSFS_CPU "/sys/devices/system/cpu/"

struct range {
	unsigned long first;
	unsigned long last;
};

static bool take_number(const char **at, unsigned long *number)
{
	char *end;

	if (!isdigit((unsigned char)**at))
		return false;
	*number = strtoul(*at, &end, 10);
	*at = end;
	return true;
}

/* The next CPU or range of *@at, which is NULL behind the last. NULL, or what is wrong. */
static const char *take_range(const char **at, struct range *range)
{
	const char *text = *at;
	bool good = take_number(&text, &range->first);

	range->last = range->first;
	if (good && *text == '-') {
		text++;
		good = take_number(&text, &range->last);
	}
	if (!good || (*text && *text != ',' && *text != '\n'))
		return "not a list of CPUs, such as 0-3,8";
	if (range->last < range->first)
		return "a range of CPUs goes from the lower to the higher";
	*at = *text == ',' ? text + 1 : NULL;
	return NULL;
}

/* Whether it is a list at all. NULL, or what is wrong. */
const char *check_cpu_list(const char *text)
{
	const char *wrong;
	struct range range;

	if (strlen(text) > KTRACE_BRIDGE_CPUS_LEN)
		return "too long a list";
	do {
		wrong = take_range(&text, &range);
	} while (!wrong && text);
	return wrong;
}

static bool has(const char *list, unsigned long cpu)
{
	struct range range;

	while (list && !take_range(&list, &range))
		if (range.first <= cpu && cpu <= range.last)
			return true;
	return false;
}

/* Move *@cpu on to the list's first CPU that is not before it, if there is one. */
bool cpu_list_next(const char *list, unsigned long *cpu)
{
	unsigned long next = ULONG_MAX;
	struct range range;

	while (list && !take_range(&list, &range)) {
		unsigned long first = range.first > *cpu ? range.first : *cpu;

		if (first <= range.last && first < next)
			next = first;
	}
	*cpu = next;
	return next != ULONG_MAX;
}

static bool read_list(const char *name, char *list, size_t len)
{
	char path[64];
	FILE *file;
	bool good;

	snprintf(path, sizeof(path), SYSFS_CPU "%s", name);
	file = fopen(path, "re");
	good = file && fgets(list, (int)len, file);
	if (good)
		list[strcspn(list, "\n")] = 0;
	if (file)
		fclose(file);
	return good;
}

/*
 * Whether a list's CPUs exist. One that is offline may come; it is told of, with what
 * happens @then. Returns an exit status.
 */
int check_cpus(const char *list, const char *then)
{
	char possible[KTRACE_BRIDGE_CPUS_LEN + 2], online[KTRACE_BRIDGE_CPUS_LEN + 2];
	struct range range;

	/* Without sysfs the module will tell. */
	if (!read_list("possible", possible, sizeof(possible)) ||
	    !read_list("online", online, sizeof(online)))
		return EXIT_DONE;
	while (list && !take_range(&list, &range)) {
		for (unsigned long cpu = range.first; cpu <= range.last; cpu++) {
			if (!has(possible, cpu))
				return fail("there is no CPU %lu; this machine can have CPUs %s",
					    cpu, possible);
			if (!has(online, cpu))
				note("CPU %lu is offline: once it comes online %s", cpu, then);
		}
	}
	return EXIT_DONE;
}
