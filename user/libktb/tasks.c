// SPDX-License-Identifier: LGPL-2.1-only
/* Threads of a recording: their names, and what their processes have mapped. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recording.h"

#define NAME_LEN 64

struct task {
	bool used;
	uint32_t tid;
	char name[NAME_LEN];
	struct ktb_map *maps; /* of a process: by address, none overlap */
	unsigned int nr_maps;
	uint64_t looked; /* ktb_tasks_looked() */
};

struct ktb_tasks {
	struct task *table; /* open addressing */
	unsigned int nr;
	unsigned int size; /* a power of two, or 0 */
	char unknown[16];
};

struct ktb_tasks *ktb_tasks_new(void)
{
	return calloc(1, sizeof(struct ktb_tasks));
}

void ktb_tasks_free(struct ktb_tasks *tasks)
{
	for (unsigned int i = 0; tasks && i < tasks->size; i++)
		free(tasks->table[i].maps);
	if (tasks)
		free(tasks->table);
	free(tasks);
}

/* The thread's place, or the free one where it would be. */
static struct task *place_of(const struct ktb_tasks *tasks, uint32_t tid)
{
	unsigned int at = tid * 2654435761U;

	for (;; at++) {
		struct task *task = &tasks->table[at & (tasks->size - 1)];

		if (!task->used || task->tid == tid)
			return task;
	}
}

static struct task *find(const struct ktb_tasks *tasks, uint32_t tid)
{
	struct task *task = tasks->size ? place_of(tasks, tid) : NULL;

	return task && task->used ? task : NULL;
}

/* Keep the table at most half full. */
static bool make_room(struct ktb_tasks *tasks)
{
	struct ktb_tasks more = { .size = tasks->size ? 2 * tasks->size : 256 };

	if (2 * tasks->nr < tasks->size)
		return true;
	more.table = calloc(more.size, sizeof(*more.table));
	if (!more.table)
		return false;
	for (unsigned int i = 0; i < tasks->size; i++)
		if (tasks->table[i].used)
			*place_of(&more, tasks->table[i].tid) = tasks->table[i];
	free(tasks->table);
	tasks->table = more.table;
	tasks->size = more.size;
	return true;
}

/* The thread, made if it is new; NULL when out of memory. */
static struct task *get(struct ktb_tasks *tasks, uint32_t tid)
{
	struct task *task = find(tasks, tid);

	if (task)
		return task;
	if (!make_room(tasks))
		return NULL;
	task = place_of(tasks, tid);
	*task = (struct task){ .used = true, .tid = tid };
	tasks->nr++;
	return task;
}

static void forget_maps(struct task *task)
{
	free(task->maps);
	task->maps = NULL;
	task->nr_maps = 0;
}

/*
 * Also at an exec: until the new mappings are there the stack is the old program's,
 * and they take the place of the old ones.
 */
void ktb_tasks_comm(struct ktb_tasks *tasks, uint32_t tid, const char *name, size_t len)
{
	struct task *task = get(tasks, tid);

	if (!task)
		return;
	if (len >= NAME_LEN)
		len = NAME_LEN - 1;
	memcpy(task->name, name, len);
	task->name[len] = 0;
}

/* A new thread has its parent's name, a new process its mappings too, if it @inherits. */
void ktb_tasks_fork(struct ktb_tasks *tasks, const uint32_t ids[4], bool inherits)
{
	const uint32_t pid = ids[0], parent_pid = ids[1], tid = ids[2], parent_tid = ids[3];
	const struct task *parent;
	struct task *task = get(tasks, tid);

	if (!task || tid == parent_tid)
		return;
	parent = find(tasks, parent_tid);
	memcpy(task->name, parent ? parent->name : "", parent ? NAME_LEN : 1);
	if (pid == parent_pid || pid != tid)
		return;
	forget_maps(task);
	parent = find(tasks, parent_pid);
	if (!inherits || !parent || !parent->nr_maps)
		return;
	task->maps = reallocarray(NULL, parent->nr_maps, sizeof(*task->maps));
	if (!task->maps)
		return;
	memcpy(task->maps, parent->maps, parent->nr_maps * sizeof(*task->maps));
	task->nr_maps = parent->nr_maps;
}

const char *ktb_tasks_name(struct ktb_tasks *tasks, uint32_t tid)
{
	const struct task *task = find(tasks, tid);

	if (task && task->name[0])
		return task->name;
	if (!tid)
		return "swapper";
	snprintf(tasks->unknown, sizeof(tasks->unknown), ":%d", (int)tid);
	return tasks->unknown;
}

/* ---- mappings ---- */

/* Index of the first mapping that ends behind @addr. */
static unsigned int first_behind(const struct task *task, uint64_t addr)
{
	unsigned int low = 0, high = task->nr_maps, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (task->maps[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Add a mapping to @all behind @nr others, if it has a size. */
static unsigned int put(struct ktb_map *all, unsigned int nr, struct ktb_map map)
{
	if (map.start < map.end)
		all[nr++] = map;
	return nr;
}

void ktb_tasks_unmap(struct ktb_tasks *tasks, uint32_t pid)
{
	struct task *task = find(tasks, pid);

	if (task)
		forget_maps(task);
}

/* When the mappings of a process that runs were looked at last; NULL if out of memory. */
uint64_t *ktb_tasks_looked(struct ktb_tasks *tasks, uint32_t pid)
{
	struct task *task = get(tasks, pid);

	return task ? &task->looked : NULL;
}

unsigned int ktb_tasks_nr(const struct ktb_tasks *tasks)
{
	return tasks->nr;
}

/* A new mapping takes the place of what was there: all, or a part, or the middle. */
void ktb_tasks_map(struct ktb_tasks *tasks, uint32_t pid, const struct ktb_map *map)
{
	struct task *task = get(tasks, pid);
	unsigned int nr = 0, i;
	struct ktb_map *all, part;

	all = task ? reallocarray(NULL, task->nr_maps + 2, sizeof(*all)) : NULL;
	if (!all)
		return;
	for (i = 0; i < task->nr_maps && task->maps[i].start < map->start; i++) {
		part = task->maps[i];
		if (part.end > map->start)
			part.end = map->start;
		nr = put(all, nr, part);
	}
	nr = put(all, nr, *map);
	for (i = first_behind(task, map->end); i < task->nr_maps; i++) {
		part = task->maps[i];
		if (part.start < map->end) {
			part.offset += map->end - part.start;
			part.start = map->end;
		}
		nr = put(all, nr, part);
	}
	free(task->maps);
	task->maps = all;
	task->nr_maps = nr;
}

const struct ktb_map *ktb_tasks_find(struct ktb_tasks *tasks, uint32_t pid, uint64_t addr)
{
	const struct task *task = find(tasks, pid);
	unsigned int at;

	if (!task)
		return NULL;
	at = first_behind(task, addr);
	if (at == task->nr_maps || task->maps[at].start > addr)
		return NULL;
	return &task->maps[at];
}
