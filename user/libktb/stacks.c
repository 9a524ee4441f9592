// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Call chains of samples as they come, of this machine: names from its kernel, and
 * from what its processes have mapped now.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recording.h"

struct ktb_stacks {
	struct ktb_symbols *symbols;
	struct ktb_tasks *tasks;
	uint32_t looked_pid; /* whose mappings were read last, */
	uint64_t looked_time; /* and for a sample of which time */
};

struct ktb_stacks *ktb_stacks_new(void)
{
	struct ktb_stacks *stacks = calloc(1, sizeof(*stacks));

	if (!stacks)
		return NULL;
	stacks->symbols = ktb_symbols_new(NULL, NULL);
	stacks->tasks = ktb_tasks_new();
	if (!stacks->symbols || !stacks->tasks) {
		ktb_stacks_free(stacks);
		return NULL;
	}
	return stacks;
}

void ktb_stacks_free(struct ktb_stacks *stacks)
{
	if (!stacks)
		return;
	ktb_tasks_free(stacks->tasks);
	ktb_symbols_free(stacks->symbols);
	free(stacks);
}

const char *ktb_stacks_problem(const struct ktb_stacks *stacks)
{
	return ktb_symbols_problem(stacks->symbols);
}

/* "start-end prot offset major:minor inode      path" */
static void take_line(struct ktb_stacks *stacks, uint32_t pid, char *line)
{
	unsigned long long start, end, offset;
	struct ktb_map map;
	char prot[8];
	int at = 0;

	if (sscanf(line, "%llx-%llx %7s %llx %*s %*s %n", &start, &end, prot, &offset, &at) != 4 ||
	    !at || prot[2] != 'x')
		return;
	line[strcspn(line, "\n")] = 0;
	map = (struct ktb_map){ start, end, offset, NULL };
	map.dso = ktb_symbols_dso(stacks->symbols, line[at] ? line + at : "//anon");
	if (map.dso)
		ktb_tasks_map(stacks->tasks, pid, &map);
}

static void read_maps(struct ktb_stacks *stacks, uint32_t pid)
{
	char path[32], line[4096];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		take_line(stacks, pid, line);
	if (file)
		fclose(file);
}

/* Looks at /proc at most once a sample, where an address is in nothing known. */
static const struct ktb_map *find_map(struct ktb_stacks *stacks, const struct ktb_sample *sample,
				      uint64_t addr)
{
	const struct ktb_map *map = ktb_tasks_find(stacks->tasks, sample->pid, addr);

	if (map || (stacks->looked_pid == sample->pid && stacks->looked_time == sample->time))
		return map;
	stacks->looked_pid = sample->pid;
	stacks->looked_time = sample->time;
	read_maps(stacks, sample->pid);
	return ktb_tasks_find(stacks->tasks, sample->pid, addr);
}

static void refresh_kernel(struct ktb_stacks *stacks, const struct ktb_sample *sample)
{
	struct ktb_frame frame;
	struct ktb_walk walk;

	ktb_walk_begin(&walk, sample, true);
	while (ktb_walk_next(&walk, &frame))
		if (frame.kernel)
			ktb_symbols_refresh(stacks->symbols, frame.addr);
}

unsigned int ktb_stacks_frames(struct ktb_stacks *stacks, const struct ktb_sample *sample,
			       struct ktb_frame *frames, unsigned int max)
{
	const struct ktb_map *map;
	struct ktb_walk walk;
	unsigned int nr = 0;

	refresh_kernel(stacks, sample);
	ktb_walk_begin(&walk, sample, true);
	while (nr < max && ktb_walk_next(&walk, &frames[nr])) {
		map = frames[nr].kernel ? NULL : find_map(stacks, sample, frames[nr].addr);
		ktb_symbols_resolve(stacks->symbols, map, &frames[nr++]);
	}
	return nr;
}
