// SPDX-License-Identifier: GPL-2.0-only
/*
 * A call is told of when it returns, and so the inner ones come first. To be shown as
 * ftrace shows them, calls with others around them are held until the outermost one
 * returns; then all of them are put out, in the order in which they began.
 */
#include <errno.h>
#include <stdlib.h>

#include "calls.h"

#define HELD_MAX 4096 /* calls of a thread */

struct held_call {
	struct ktb_graph_call call;
	uint32_t cpu;
};

/* Those of one event in one thread; the idle threads all have the number 0. */
struct held_calls {
	uint64_t event;
	uint32_t pid;
	uint32_t tid;
	uint32_t cpu; /* of an idle thread */
	struct held_call *calls;
	unsigned int nr;
};

static bool is_of(const struct held_calls *held, const struct ktb_sample *sample)
{
	return held->event == sample->id && held->tid == sample->tid &&
	       (held->tid || held->cpu == sample->cpu);
}

static struct held_calls *find(const struct calls *calls, const struct ktb_sample *sample)
{
	for (unsigned int i = 0; i < calls->nr; i++)
		if (is_of(&calls->threads[i], sample))
			return &calls->threads[i];
	return NULL;
}

static struct held_calls *add_thread(struct calls *calls, const struct ktb_sample *sample)
{
	struct held_calls *threads = reallocarray(calls->threads, calls->nr + 1, sizeof(*threads));

	if (!threads)
		return NULL;
	calls->threads = threads;
	threads[calls->nr] = (struct held_calls){
		.event = sample->id,
		.pid = sample->pid,
		.tid = sample->tid,
		.cpu = sample->cpu,
	};
	return &threads[calls->nr++];
}

/* Those around others before these. */
static int by_begin(const void *a, const void *b)
{
	const struct ktb_graph_call *x = &((const struct held_call *)a)->call;
	const struct ktb_graph_call *y = &((const struct held_call *)b)->call;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->depth < y->depth ? -1 : x->depth > y->depth;
}

static bool is_inside(const struct held_call *inner, const struct held_call *outer)
{
	return inner->call.depth > outer->call.depth && inner->call.start <= outer->call.end;
}

static int put(const struct calls *calls, const struct held_calls *held,
	       const struct held_call *call, enum ktb_graph_part part)
{
	const struct ktb_sample sample = {
		.type = PERF_RECORD_SAMPLE,
		.id = held->event,
		.pid = held->pid,
		.tid = held->tid,
		.cpu = call->cpu,
		.time = part == KTB_GRAPH_BEGIN ? call->call.start : call->call.end,
	};

	return calls->put(calls->arg, &sample, &call->call, part);
}

/* Put out a thread's calls; @open has room for all of them: those not ended yet. */
static int put_all(const struct calls *calls, const struct held_calls *held,
		   const struct held_call **open)
{
	unsigned int nr_open = 0;
	bool leaf;
	int err = 0;

	for (unsigned int i = 0; i <= held->nr && !err; i++) {
		const struct held_call *call = &held->calls[i];

		while (nr_open && !err && (i == held->nr || !is_inside(call, open[nr_open - 1])))
			err = put(calls, held, open[--nr_open], KTB_GRAPH_END);
		if (err || i == held->nr)
			break;
		leaf = i + 1 == held->nr || !is_inside(call + 1, call);
		err = put(calls, held, call, leaf ? KTB_GRAPH_LEAF : KTB_GRAPH_BEGIN);
		if (!leaf)
			open[nr_open++] = call;
	}
	return err;
}

/* Put out a thread's calls, and forget them. */
static int flush(struct calls *calls, struct held_calls *held)
{
	const struct held_call **open = calloc(held->nr, sizeof(*open));
	int err = -ENOMEM;

	if (open) {
		qsort(held->calls, held->nr, sizeof(*held->calls), by_begin);
		err = put_all(calls, held, open);
	}
	free(open);
	free(held->calls);
	*held = calls->threads[--calls->nr];
	return err;
}

/* A call has returned. Returns 0 or a negative errno, put()'s too. */
int calls_add(struct calls *calls, const struct ktb_sample *sample,
	      const struct ktb_graph_call *call)
{
	struct held_calls *held = find(calls, sample);
	struct held_call *more;

	if (!held && !call->depth)
		return calls->put(calls->arg, sample, call, KTB_GRAPH_LEAF);
	if (!held)
		held = add_thread(calls, sample);
	if (!held)
		return -ENOMEM;
	/* Room is made for twice as many at each power of two. */
	if (!(held->nr & (held->nr - 1))) {
		more = reallocarray(held->calls, held->nr ? 2 * held->nr : 1, sizeof(*more));
		if (!more)
			return -ENOMEM;
		held->calls = more;
	}
	held->calls[held->nr++] = (struct held_call){ *call, sample->cpu };
	return call->depth && held->nr < HELD_MAX ? 0 : flush(calls, held);
}

/* Put out the calls of the threads of which nothing came since @before, in ns. */
int calls_flush(struct calls *calls, uint64_t before)
{
	int err = 0;

	for (unsigned int i = calls->nr; i-- && !err;) {
		struct held_calls *held = &calls->threads[i];

		if (held->nr && held->calls[held->nr - 1].call.end < before)
			err = flush(calls, held);
	}
	return err;
}

bool calls_held(const struct calls *calls)
{
	return calls->nr;
}

void calls_free(struct calls *calls)
{
	for (unsigned int i = 0; i < calls->nr; i++)
		free(calls->threads[i].calls);
	free(calls->threads);
	calls->threads = NULL;
	calls->nr = 0;
}
