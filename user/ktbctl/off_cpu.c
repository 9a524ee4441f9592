// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long threads do not run, from switches: one away from a thread has the chain
 * of where it stopped, the next one to it ends that time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "off_cpu.h"

#define DEAD 0x30 /* of prev_state: X and Z */

struct off_thread {
	uint32_t tid; /* 0: a free place; idle does not wait for anything */
	uint64_t since; /* 0: it runs, or nothing is known of it */
	struct flame_node *node;
};

static struct off_thread *place_of(const struct off_cpu *off, uint32_t tid)
{
	unsigned int at = tid * 2654435761U;

	for (;; at++) {
		struct off_thread *thread = &off->table[at & (off->size - 1)];

		if (thread->tid == tid || !thread->tid)
			return thread;
	}
}

/* Keep the table at most half full. */
static bool make_room(struct off_cpu *off)
{
	struct off_cpu more = { .size = off->size ? 2 * off->size : 256 };

	if (2 * off->nr < off->size)
		return true;
	more.table = calloc(more.size, sizeof(*more.table));
	if (!more.table)
		return false;
	for (unsigned int i = 0; i < off->size; i++)
		if (off->table[i].tid)
			*place_of(&more, off->table[i].tid) = off->table[i];
	free(off->table);
	off->table = more.table;
	off->size = more.size;
	return true;
}

struct switched {
	uint32_t from;
	uint32_t to;
	bool dead; /* who does not run again, and whose number may be another's */
};

static void see_field(const struct ktb_field *field, void *arg)
{
	struct switched *pids = arg;

	if (!strcmp(field->name, "prev_pid"))
		pids->from = (uint32_t)field->number;
	else if (!strcmp(field->name, "next_pid"))
		pids->to = (uint32_t)field->number;
	else if (!strcmp(field->name, "prev_state"))
		pids->dead = field->number & DEAD;
}

static void begin(struct off_cpu *off, uint32_t tid, uint64_t time, struct flame_node *node)
{
	struct off_thread *thread = place_of(off, tid);

	off->nr += !thread->tid;
	*thread = (struct off_thread){ tid, time, node };
}

static void end(struct off_cpu *off, uint32_t tid, uint64_t time)
{
	struct off_thread *thread = off->size ? place_of(off, tid) : NULL;

	if (!thread || !thread->since)
		return;
	if (thread->node && time > thread->since)
		thread->node->self += time - thread->since;
	thread->since = 0;
}

/*
 * @node is where the thread stopped; NULL: that time is not asked for. Returns 0 or a
 * negative errno.
 */
int off_cpu_switch(struct off_cpu *off, struct ktb_formats *formats,
		   const struct ktb_sample *sample, struct flame_node *node)
{
	struct switched pids = { 0 };

	ktb_formats_fields(formats, sample, see_field, &pids);
	if (!make_room(off))
		return -ENOMEM;
	if (pids.to)
		end(off, pids.to, sample->time);
	if (pids.from && !pids.dead)
		begin(off, pids.from, sample->time, node);
	return 0;
}

/* Records were lost: a thread may have run meanwhile. */
void off_cpu_forget(struct off_cpu *off)
{
	for (unsigned int i = 0; i < off->size; i++)
		off->table[i].since = 0;
}

void off_cpu_free(struct off_cpu *off)
{
	free(off->table);
}
