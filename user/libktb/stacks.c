// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Call chains of samples as they come, of this machine: names from its kernel, and
 * from what its processes have mapped now.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "recording.h"

/* Processes, and files, remembered before starting over. */
#define TASKS_MAX 10000
#define DSOS_MAX 2000
#define NSEC_PER_MSEC 1000000
#define AGE_MAX_MS 1000 /* of mappings: an exec, or another process of the number */

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

/* ---- what a process has mapped ---- */

/*
 * "start-end prot offset major:minor inode      path". The first one that counts takes
 * the place of all that was: a process that ends has none, and keeps what it had.
 */
static bool take_line(struct ktb_stacks *stacks, uint32_t pid, char *line, bool first)
{
	unsigned long long start, end, offset, inode;
	unsigned int dev[2];
	struct ktb_map map;
	char prot[8];
	int at = 0;

	if (sscanf(line, "%llx-%llx %7s %llx %x:%x %llu %n", &start, &end, prot, &offset, &dev[0],
		   &dev[1], &inode, &at) != 7 ||
	    !at || prot[2] != 'x')
		return false;
	line[strcspn(line, "\n")] = 0;
	map = (struct ktb_map){ start, end, offset, NULL };
	map.dso = ktb_symbols_file(stacks->symbols, line[at] ? line + at : "//anon",
				   makedev(dev[0], dev[1]), inode);
	if (!map.dso)
		return false;
	if (first)
		ktb_tasks_unmap(stacks->tasks, pid);
	ktb_tasks_map(stacks->tasks, pid, &map);
	return true;
}

static void read_maps(struct ktb_stacks *stacks, uint32_t pid)
{
	char path[32], line[4096];
	bool first = true;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (take_line(stacks, pid, line, first))
			first = false;
	if (file)
		fclose(file);
}

/*
 * Whether /proc may tell more: it has been looked at before the sample was taken, and an
 * address is in nothing known, or what is known is old. At most once a sample.
 */
static bool is_worth_a_look(const struct ktb_stacks *stacks, const struct ktb_sample *sample,
			    uint64_t looked, bool known)
{
	if (stacks->looked_pid == sample->pid && stacks->looked_time == sample->time)
		return false;
	if (looked * NSEC_PER_MSEC >= sample->time)
		return false;
	return !known || ktb_now_ms() - looked > AGE_MAX_MS;
}

static const struct ktb_map *find_map(struct ktb_stacks *stacks, const struct ktb_sample *sample,
				      uint64_t addr)
{
	const struct ktb_map *map = ktb_tasks_find(stacks->tasks, sample->pid, addr);
	uint64_t *looked = ktb_tasks_looked(stacks->tasks, sample->pid);

	if (!looked || !is_worth_a_look(stacks, sample, *looked, map))
		return map;
	*looked = ktb_now_ms();
	stacks->looked_pid = sample->pid;
	stacks->looked_time = sample->time;
	read_maps(stacks, sample->pid);
	return ktb_tasks_find(stacks->tasks, sample->pid, addr);
}

/* ---- the files ---- */

static bool is_regular(const char *path, uint64_t inode)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && (!inode || st.st_ino == inode);
}

/*
 * Where the file is that a process has mapped, whatever there is by that name here: it may
 * be in a container, or be replaced. With map_files, which takes CAP_CHECKPOINT_RESTORE,
 * it is that one for sure. Otherwise it has the inode's number; the device is none to go
 * by, overlayfs and btrfs tell different ones.
 */
static bool find_file(uint32_t pid, const struct ktb_map *map, char *path, size_t len)
{
	const struct ktb_dso *dso = map->dso;

	snprintf(path, len, "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, pid, map->start, map->end);
	if (is_regular(path, 0) && !access(path, R_OK))
		return true;
	snprintf(path, len, "/proc/%u/root%s", pid, dso->path);
	if (is_regular(path, dso->inode))
		return true;
	/* The process is gone, or in a root of its own. */
	snprintf(path, len, "%s", dso->path);
	return is_regular(path, dso->inode);
}

static void load(uint32_t pid, const struct ktb_map *map)
{
	struct ktb_dso *dso = map->dso;
	char path[PATH_MAX + 32];

	if (dso->loaded || !dso->inode || dso->path[0] != '/' || dso->missed_pid == pid)
		return;
	if (find_file(pid, map, path, sizeof(path)))
		ktb_dso_load_file(dso, path);
	else
		dso->missed_pid = pid;
}

/* ---- call chains ---- */

/* What is remembered is for ever but for this. */
static void start_over(struct ktb_stacks *stacks)
{
	struct ktb_tasks *tasks;

	if (ktb_tasks_nr(stacks->tasks) < TASKS_MAX &&
	    ktb_symbols_nr_dsos(stacks->symbols) < DSOS_MAX)
		return;
	tasks = ktb_tasks_new();
	if (!tasks)
		return;
	ktb_tasks_free(stacks->tasks);
	stacks->tasks = tasks;
	ktb_symbols_forget_dsos(stacks->symbols);
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

	start_over(stacks);
	refresh_kernel(stacks, sample);
	ktb_walk_begin(&walk, sample, true);
	while (nr < max && ktb_walk_next(&walk, &frames[nr])) {
		map = frames[nr].kernel ? NULL : find_map(stacks, sample, frames[nr].addr);
		if (map)
			load(sample->pid, map);
		ktb_symbols_resolve(stacks->symbols, map, &frames[nr++]);
	}
	return nr;
}
