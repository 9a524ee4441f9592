// SPDX-License-Identifier: LGPL-2.1-only
/* Names of threads: from events that tell them, else from /proc. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event-parse.h>

#include "internal.h"

#define COMM_LEN 16
#define COMMS_MAX 1000000 /* threads remembered before starting over */
#define AGE_MAX_MS 100 /* of a name: an exec, or another thread of the number */
#define UNKNOWN "<...>"

struct comm {
	uint32_t tid; /* 0: a free place */
	uint32_t time; /* ktb_now_ms() when it was told */
	char name[COMM_LEN];
};

struct ktb_comms {
	struct comm *table; /* open addressing */
	unsigned int nr;
	unsigned int size; /* a power of two, or 0 */
	char name[COMM_LEN];
};

/* Events that tell the name of a thread, and in which fields. */
static const struct {
	const char *event;
	const char *tid;
	const char *comm;
} comm_events[] = {
	{ "sched_switch", "prev_pid", "prev_comm" },
	{ "sched_switch", "next_pid", "next_comm" },
	{ "sched_waking", "pid", "comm" },
	{ "sched_wakeup", "pid", "comm" },
	{ "sched_wakeup_new", "pid", "comm" },
	{ "sched_migrate_task", "pid", "comm" },
	{ "sched_stat_runtime", "pid", "comm" },
	{ "sched_process_fork", "parent_pid", "parent_comm" },
	{ "sched_process_fork", "child_pid", "child_comm" },
	{ "sched_process_exec", "pid", "filename" },
	{ "sched_process_exit", "pid", "comm" },
	{ "sched_process_free", "pid", "comm" },
	{ "task_newtask", "pid", "comm" },
	{ "task_rename", "pid", "newcomm" },
};

struct ktb_comms *ktb_comms_new(void)
{
	return calloc(1, sizeof(struct ktb_comms));
}

void ktb_comms_free(struct ktb_comms *comms)
{
	if (!comms)
		return;
	free(comms->table);
	free(comms);
}

/* The thread's place, or the free place where it would be. */
static struct comm *place_of(const struct ktb_comms *comms, uint32_t tid)
{
	unsigned int at = tid * 2654435761U;

	for (;; at++) {
		struct comm *comm = &comms->table[at & (comms->size - 1)];

		if (comm->tid == tid || !comm->tid)
			return comm;
	}
}

/* Keep the table at most half full. */
static bool make_room(struct ktb_comms *comms)
{
	struct ktb_comms more = { .size = comms->size ? 2 * comms->size : 256 };

	if (2 * comms->nr < comms->size)
		return true;
	if (comms->nr >= COMMS_MAX) {
		memset(comms->table, 0, comms->size * sizeof(*comms->table));
		comms->nr = 0;
		return true;
	}
	more.table = calloc(more.size, sizeof(*more.table));
	if (!more.table)
		return false;
	for (unsigned int i = 0; i < comms->size; i++)
		if (comms->table[i].tid)
			*place_of(&more, comms->table[i].tid) = comms->table[i];
	free(comms->table);
	comms->table = more.table;
	comms->size = more.size;
	return true;
}

static void set(struct ktb_comms *comms, uint32_t tid, const char *name, size_t len)
{
	struct comm *comm;

	if (!tid || !make_room(comms))
		return;
	comm = place_of(comms, tid);
	comms->nr += !comm->tid;
	comm->tid = tid;
	comm->time = (uint32_t)ktb_now_ms();
	if (len >= COMM_LEN)
		len = COMM_LEN - 1;
	memcpy(comm->name, name, len);
	comm->name[len] = 0;
}

/* Returns the length, without the newline. */
static size_t ask_proc(uint32_t tid, char *name, size_t size)
{
	char path[32];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/comm", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	len = read(fd, name, size);
	close(fd);
	return len > 0 ? len - 1 : 0;
}

/* Have a name that is not known, or not for sure any more, looked up. */
static void refresh(struct ktb_comms *comms, uint32_t tid)
{
	struct comm *comm = comms->size ? place_of(comms, tid) : NULL;
	char name[64];
	size_t len;

	if (comm && !comm->tid)
		comm = NULL;
	if (comm && (uint32_t)ktb_now_ms() - comm->time <= AGE_MAX_MS)
		return;
	len = ask_proc(tid, name, sizeof(name));
	if (len)
		set(comms, tid, name, len);
	else if (comm)
		comm->time = (uint32_t)ktb_now_ms(); /* it is gone: that was its name */
	else
		set(comms, tid, UNKNOWN, strlen(UNKNOWN));
}

const char *ktb_comms_get(struct ktb_comms *comms, uint32_t tid)
{
	if (!tid)
		return "<idle>";
	refresh(comms, tid);
	if (!comms->size)
		return UNKNOWN;
	snprintf(comms->name, sizeof(comms->name), "%s", place_of(comms, tid)->name);
	return comms->name;
}

/* Remember which fields of a loaded event tell names. */
void ktb_comms_add_source(struct ktb_formats *formats, struct tep_event *event)
{
	struct ktb_comm_source source;

	if (strcmp(event->system, "sched") && strcmp(event->system, "task"))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(comm_events); i++) {
		if (strcmp(event->name, comm_events[i].event))
			continue;
		source.type = event->id;
		source.tid = tep_find_field(event, comm_events[i].tid);
		source.comm = tep_find_field(event, comm_events[i].comm);
		if (source.tid && source.comm &&
		    formats->nr_comm_sources < ARRAY_SIZE(formats->comm_sources))
			formats->comm_sources[formats->nr_comm_sources++] = source;
	}
}

/* exec tells a path: a thread is called by its last part. */
static void learn(struct ktb_comms *comms, const struct ktb_comm_source *source,
		  const struct ktb_sample *sample)
{
	struct ktb_field tid, comm;
	const char *slash;

	if (!ktb_field_read(source->tid, sample, &tid) ||
	    !ktb_field_read(source->comm, sample, &comm))
		return;
	if (source->comm->flags & TEP_FIELD_IS_DYNAMIC && !strcmp(source->comm->name, "filename")) {
		slash = memrchr(comm.data, '/', comm.len);
		if (slash) {
			slash++;
			comm.len -= slash - (const char *)comm.data;
			comm.data = slash;
		}
	}
	set(comms, tid.number, comm.data, comm.len);
}

void ktb_comms_learn(struct ktb_comms *comms, struct ktb_formats *formats,
		     const struct ktb_sample *sample)
{
	const struct ktb_comm_source *source;
	uint16_t type;

	if (!sample->raw || sample->raw_size < sizeof(type))
		return;
	memcpy(&type, sample->raw, sizeof(type));
	for (unsigned int i = 0; i < formats->nr_comm_sources; i++) {
		source = &formats->comm_sources[i];
		if (source->type == type)
			learn(comms, source, sample);
	}
}
