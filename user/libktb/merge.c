// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Records of all CPUs in the order of time, without copying them.
 *
 * Within a ring records are nearly in order. An interrupt writes its records
 * between the reservation of the record it interrupted and that record's time
 * stamp, or the other way round, so a record may be followed by older ones. But
 * only the outermost writer publishes: a head we see never lies between a record
 * and those it is out of order with. So each ring's newly published records are
 * sorted by themselves, and the rings are then merged.
 *
 * When is a record safe to hand out: when no ring can still publish an older
 * one? We read the clock, now, and then all heads.
 *
 * - A ring's records that are not published yet belong to a writer that started
 *   after the last published one was done, on the same CPU, so they are younger
 *   than every published one: the ring is safe up to its latest time. (But for one
 *   that an interrupt came in between its look at the clock and its reservation, a
 *   few instructions: that is late, below. To wait for the slack instead would cost
 *   the busiest ring ten milliseconds of room.)
 * - A record that was not published when we read its ring's head, but has a time
 *   before now, was being written at that moment. Writers run with preemption
 *   off; only interrupts (and a hypervisor) hold them up. With the slack for an
 *   upper limit of that, every ring is safe up to now - slack, also an idle one.
 *
 * So a ring is safe up to the later of the two, and a record may be handed out if
 * all rings are safe up to its time. With one CPU, or with all of them busy, that
 * is everything but the last few; otherwise a record waits for the slack. A
 * writer held up for longer than that costs the order, not the record, and is
 * counted: ktb_merge_late().
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "internal.h"

#define SLACK_NS 10000000 /* 10 ms: not noticed by who watches */
#define SCAN_MAX 65536 /* records of a ring to sort at a time, or the slack's worth */

/* A record that is published and not handed out. */
struct entry {
	uint64_t time;
	uint64_t pos;
	uint64_t low; /* lowest pos from here on: the ring is free up to it */
};

struct source {
	struct ktb_ring *ring;
	struct entry *entries; /* by time, from first to nr */
	size_t first;
	size_t nr;
	size_t room;
	uint64_t latest; /* time of a published record */
	uint64_t released; /* as data_tail */
	bool all_seen; /* up to the head, not SCAN_MAX */
};

struct ktb_merge {
	struct ktb_reader *reader;
	struct source *sources;
	unsigned int nr_sources;
	unsigned int *heap; /* sources with records, the oldest record on top */
	unsigned int nr_heap;
	struct ktb_time_place time_place;
	uint64_t slack;
	uint64_t until;
	uint64_t bound; /* hand out what is not younger */
	uint64_t last_time;
	uint64_t late;
};

struct ktb_merge *ktb_merge_new(struct ktb_reader *reader)
{
	struct ktb_merge *merge = calloc(1, sizeof(*merge));

	if (!merge)
		return NULL;
	merge->reader = reader;
	merge->slack = SLACK_NS;
	merge->until = UINT64_MAX;
	ktb_time_place(ktb_reader_sample_type(reader), &merge->time_place);
	return merge;
}

void ktb_merge_free(struct ktb_merge *merge)
{
	if (!merge)
		return;
	ktb_merge_release(merge);
	for (unsigned int i = 0; i < merge->nr_sources; i++)
		free(merge->sources[i].entries);
	free(merge->sources);
	free(merge->heap);
	free(merge);
}

void ktb_merge_set_slack(struct ktb_merge *merge, uint64_t ns)
{
	merge->slack = ns;
}

void ktb_merge_set_until(struct ktb_merge *merge, uint64_t time)
{
	merge->until = time;
}

uint64_t ktb_merge_late(const struct ktb_merge *merge)
{
	return merge->late;
}

/* ---- one ring's records, sorted ---- */

static void source_release(struct source *source)
{
	uint64_t pos = source->ring->pos;

	if (source->first < source->nr)
		pos = source->entries[source->first].low;
	if (pos == source->released)
		return;
	ktb_ring_release_to(source->ring, pos);
	source->released = pos;
}

static int source_room(struct source *source)
{
	size_t room = source->room ? 2 * source->room : 256;
	struct entry *entries;

	if (source->nr < source->room)
		return 0;
	entries = reallocarray(source->entries, room, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	source->entries = entries;
	source->room = room;
	return 0;
}

/* From the end: records are nearly in order. Equal times stay as they are. */
static void source_insert(struct source *source, uint64_t time, uint64_t pos)
{
	struct entry *entries = source->entries;
	size_t at = source->nr++;

	for (; at > source->first && entries[at - 1].time > time; at--)
		entries[at] = entries[at - 1];
	entries[at] = (struct entry){ .time = time, .pos = pos };
	if (time > source->latest)
		source->latest = time;
}

static void source_set_low(struct source *source)
{
	uint64_t low = source->ring->pos;

	for (size_t i = source->nr; i-- > source->first;) {
		if (source->entries[i].pos < low)
			low = source->entries[i].pos;
		source->entries[i].low = low;
	}
}

static void source_compact(struct source *source)
{
	source->nr -= source->first;
	memmove(source->entries, source->entries + source->first,
		source->nr * sizeof(*source->entries));
	source->first = 0;
}

/*
 * Enough for one time? Not before the oldest record is older than the latest by
 * the slack, which is what it takes to hand it out: see source_safe().
 */
static bool source_enough(const struct source *source, uint64_t slack)
{
	return source->nr >= SCAN_MAX && source->latest - source->entries[0].time >= slack;
}

static int source_scan(struct source *source, const struct ktb_time_place *place, uint64_t slack)
{
	const struct perf_event_header *record;
	int64_t unread = ktb_ring_begin(source->ring);
	uint64_t pos;
	int err = 0;

	if (unread < 0)
		return unread;
	if (source->first)
		source_compact(source);
	while (!source_enough(source, slack)) {
		err = source_room(source);
		if (err)
			break;
		pos = source->ring->pos;
		err = ktb_ring_next(source->ring, &record);
		if (err <= 0)
			break;
		source_insert(source, ktb_record_time(place, record), pos);
	}
	source->all_seen = source->ring->pos == source->ring->head;
	source_set_low(source);
	return err < 0 ? err : 0;
}

/* Up to when nothing unseen can come out of this ring. */
static uint64_t source_safe(const struct source *source, uint64_t now, uint64_t slack)
{
	uint64_t by_clock = now > slack ? now - slack : 0;

	if (!source->all_seen)
		return source->latest > slack ? source->latest - slack : 0;
	return source->latest > by_clock ? source->latest : by_clock;
}

/* ---- all rings ---- */

static uint64_t head_time(const struct ktb_merge *merge, unsigned int i)
{
	const struct source *source = &merge->sources[merge->heap[i]];

	return source->entries[source->first].time;
}

static void heap_down(struct ktb_merge *merge, unsigned int i)
{
	unsigned int child, other, *heap = merge->heap;

	for (; (child = 2 * i + 1) < merge->nr_heap; i = child) {
		if (child + 1 < merge->nr_heap &&
		    head_time(merge, child + 1) < head_time(merge, child))
			child++;
		if (head_time(merge, i) <= head_time(merge, child))
			break;
		other = heap[i];
		heap[i] = heap[child];
		heap[child] = other;
	}
}

static void heap_build(struct ktb_merge *merge)
{
	const struct source *source;

	merge->nr_heap = 0;
	for (unsigned int i = 0; i < merge->nr_sources; i++) {
		source = &merge->sources[i];
		if (source->first < source->nr)
			merge->heap[merge->nr_heap++] = i;
	}
	for (unsigned int i = merge->nr_heap / 2; i-- > 0;)
		heap_down(merge, i);
}

/* Rings of CPUs that came online since are taken in. */
static int add_sources(struct ktb_merge *merge)
{
	unsigned int nr = ktb_reader_nr_rings(merge->reader), *heap;
	struct source *sources;

	if (nr == merge->nr_sources)
		return 0;
	heap = reallocarray(merge->heap, nr, sizeof(*heap));
	if (!heap)
		return -ENOMEM;
	merge->heap = heap;
	sources = reallocarray(merge->sources, nr, sizeof(*sources));
	if (!sources)
		return -ENOMEM;
	merge->sources = sources;
	for (; merge->nr_sources < nr; merge->nr_sources++) {
		sources = &merge->sources[merge->nr_sources];
		memset(sources, 0, sizeof(*sources));
		sources->ring = ktb_reader_ring(merge->reader, merge->nr_sources);
		sources->released = sources->ring->pos;
	}
	return 0;
}

static uint64_t clock_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int ktb_merge_fill(struct ktb_merge *merge, bool last)
{
	uint64_t now, safe, bound = merge->until;
	int err;

	ktb_merge_release(merge);
	err = add_sources(merge);
	if (err)
		return err;
	now = clock_now(); /* before any head is read */
	for (unsigned int i = 0; i < merge->nr_sources; i++) {
		err = source_scan(&merge->sources[i], &merge->time_place, merge->slack);
		if (err)
			return err;
		safe = source_safe(&merge->sources[i], now, merge->slack);
		if (safe < bound && !(last && merge->sources[i].all_seen))
			bound = safe;
	}
	merge->bound = bound;
	heap_build(merge);
	return 0;
}

/* Give room back before the ring is full, and not for each record. */
static void release_sometimes(struct source *source)
{
	uint64_t free_to = source->first < source->nr ? source->entries[source->first].low :
							source->ring->pos;

	if (free_to - source->released > source->ring->size / 4)
		source_release(source);
}

int ktb_merge_next(struct ktb_merge *merge, const struct perf_event_header **record)
{
	struct source *source;
	struct entry *entry;

	if (!merge->nr_heap || head_time(merge, 0) > merge->bound)
		return 0;
	source = &merge->sources[merge->heap[0]];
	/* Before this record is taken, so that it is not given back with them. */
	release_sometimes(source);
	entry = &source->entries[source->first++];
	*record = ktb_ring_record(source->ring, entry->pos);
	if (source->first == source->nr)
		merge->heap[0] = merge->heap[--merge->nr_heap];
	heap_down(merge, 0);

	if (entry->time < merge->last_time)
		merge->late++;
	else
		merge->last_time = entry->time;
	return 1;
}

void ktb_merge_release(struct ktb_merge *merge)
{
	for (unsigned int i = 0; i < merge->nr_sources; i++)
		source_release(&merge->sources[i]);
}

bool ktb_merge_pending(const struct ktb_merge *merge)
{
	for (unsigned int i = 0; i < merge->nr_sources; i++) {
		const struct source *source = &merge->sources[i];

		if (source->first < source->nr || !source->all_seen)
			return true;
	}
	return false;
}
