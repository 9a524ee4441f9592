// SPDX-License-Identifier: GPL-2.0-only
/*
 * The reader of stat --hist: it takes the records of calls out of a session's rings and
 * keeps of each how long the call took. In what order they come is all the same: the
 * rings are read one after the other, and nothing is merged.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ktbctl.h"
#include "stat_latency.h"

#define RELEASE_EVERY 512 /* records: let the writer go on meanwhile */

/* Become the reader of a session. Returns an exit status, the reason told. */
int stat_latency_open(struct stat_latency *latency, uint32_t session)
{
	latency->formats = ktb_formats_new();
	latency->reader = ktb_reader_new();
	if (!latency->formats || !latency->reader)
		return fail("out of memory");
	if (ktb_formats_load(latency->formats, "ftrace:funcgraph_exit"))
		return fail("%s", ktb_formats_error(latency->formats));
	/* Its own calls would wake it, and so make more of them. */
	ktb_reader_exclude_self(latency->reader);
	if (ktb_reader_open(latency->reader, session, -1))
		return fail("%s", ktb_reader_error(latency->reader));
	return EXIT_DONE;
}

/* Make a histogram of an event. Returns an exit status, the reason told. */
int stat_latency_add(struct stat_latency *latency, uint64_t event)
{
	struct latency *all = reallocarray(latency->all, latency->nr + 1, sizeof(*all));

	if (!all)
		return fail("out of memory");
	latency->all = all;
	all[latency->nr++] = (struct latency){ .event = event };
	return EXIT_DONE;
}

/* The histogram of an event, or NULL. */
struct histogram *stat_latency_of(const struct stat_latency *latency, uint64_t event)
{
	for (unsigned int i = 0; i < latency->nr; i++)
		if (latency->all[i].event == event)
			return &latency->all[i].histogram;
	return NULL;
}

/* Readable when there are records; -1 if none are asked for. */
int stat_latency_fd(const struct stat_latency *latency)
{
	return latency->reader ? ktb_reader_fd(latency->reader) : -1;
}

static int take(struct stat_latency *latency, const struct perf_event_header *record)
{
	struct histogram *histogram;
	struct ktb_graph_call call;
	struct ktb_sample sample;
	int err = ktb_sample_parse(ktb_reader_sample_type(latency->reader), record, &sample);

	if (err)
		return fail("a record of the module's makes no sense: %s", strerror(-err));
	if (sample.type != PERF_RECORD_SAMPLE)
		return EXIT_DONE;
	histogram = stat_latency_of(latency, sample.id);
	if (histogram && !ktb_graph_parse(latency->formats, &sample, &call))
		histogram_add(histogram, call.end - call.start);
	return EXIT_DONE;
}

static int read_ring(struct stat_latency *latency, struct ktb_ring *ring)
{
	const struct perf_event_header *record;
	unsigned int nr = 0;
	int more, err = EXIT_DONE;

	if (ktb_ring_begin(ring) < 0)
		return fail("a ring makes no sense: has another program written to it?");
	while (!err && (more = ktb_ring_next(ring, &record))) {
		if (more < 0)
			return fail("a ring makes no sense: has another program written to it?");
		err = take(latency, record);
		if (!(++nr % RELEASE_EVERY))
			ktb_ring_release(ring);
	}
	ktb_ring_release(ring);
	return err;
}

/* Take in what the rings have now. Returns an exit status, the reason told. */
int stat_latency_read(struct stat_latency *latency)
{
	int err = EXIT_DONE;

	if (!latency->reader)
		return EXIT_DONE;
	/* A CPU may have come up. */
	if (ktb_reader_refresh(latency->reader) < 0)
		return fail("%s", ktb_reader_error(latency->reader));
	for (unsigned int i = 0; i < ktb_reader_nr_rings(latency->reader) && !err; i++)
		err = read_ring(latency, ktb_reader_ring(latency->reader, i));
	return err;
}

void stat_latency_close(struct stat_latency *latency)
{
	ktb_reader_free(latency->reader);
	ktb_formats_free(latency->formats);
	free(latency->all);
}
