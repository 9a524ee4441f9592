// SPDX-License-Identifier: GPL-2.0-only
/*
 * The reader of the model: that of the selftests, over memory that is no mapping
 * of the device, and one for snapshots. It judges what it reads.
 */
#include "ktb_ring.h"
#include "model.h"

static struct ktb_ring ring;

void reader_init(void *page, void *data, size_t size)
{
	ring = (struct ktb_ring) { .page = page, .data = data, .size = size };
	ring.head = ring.page->data_tail;
	ring.tail = ring.page->data_tail;
	memset(&reader, 0, sizeof(reader));
}

/* Hits of a context, up to number @seq, that are not to be found. */
static unsigned int gap(unsigned int level, __u16 seq)
{
	int n = (__s16)(seq - reader.next[level]) - reader.spared[level];

	return n > 0 ? n : 0;
}

/* Hits that were over when this one was fired, and are not to be found before it. */
static __u64 lost_before(const struct payload *p)
{
	__u64 lost = reader.missing;

	for (unsigned int i = 0; i < LEVELS; i++)
		lost += gap(i, p->done[i]);
	return lost;
}

/* Hits that are not to be found at all, with so many fired by each context. */
__u64 reader_missing(const unsigned int *begun)
{
	__u64 missing = reader.missing;

	for (unsigned int i = 0; i < LEVELS; i++)
		missing += gap(i, begun[i]);
	return missing;
}

/* As selftests/nest.c, which does it to the kernel. */
static void check_sample(const struct ktb_sample *s, void *arg)
{
	struct payload p;

	(void)arg;
	if (s->raw_size < sizeof(p)) {
		reader.broken++;
		return;
	}
	memcpy(&p, s->raw, sizeof(p));
	if (!payload_ok(s->raw, s->raw_size) || p.begun[p.level] != (__u16)(p.seq + 1) ||
	    p.done[p.level] != (__u16)p.seq) {
		reader.broken++;
		return;
	}
	if (p.seq < reader.next[p.level] || (__s16)(p.seq - reader.floor[p.level]) < 0)
		reader.late++;
	reader.unstated += lost_before(&p) > reader.lost;
	reader.missing += gap(p.level, p.seq);
	reader.spared[p.level] = 0;
	reader.next[p.level] = p.seq + 1;
	for (unsigned int i = 0; i < LEVELS; i++) {
		if (i < p.level && (__s16)(reader.next[i] - p.begun[i]) > 0)
			reader.early++;
		if ((__s16)(p.done[i] - reader.floor[i]) > 0)
			reader.floor[i] = p.done[i];
	}
}

/* Read on, at most so many records. */
void reader_look(unsigned int records)
{
	const struct perf_event_header *h;
	struct ktb_sample s;

	while (records-- && (h = ktb_ring_next(&ring))) {
		reader.bytes += h->size;
		if (!ktb_record_parse(h, &s)) {
			reader.broken++;
		} else if (s.type == PERF_RECORD_LOST) {
			reader.lost += s.lost;
		} else {
			reader.samples++;
			check_sample(&s, NULL);
		}
		if ((__s64)(ring.tail - ring.head) > 0)
			reader.broken++;
		if (reader.broken)
			return;
	}
	ktb_ring_release(&ring);
}

/*
 * What comes before the oldest sample was overwritten, and is not missed: what was
 * over when it was fired, perhaps the hit that it interrupted, and whatever
 * interrupted it before it had room.
 */
static void begin_with(const struct ktb_sample *s)
{
	struct payload p;

	memcpy(&p, s->raw, sizeof(p));
	for (unsigned int i = 0; i < LEVELS; i++) {
		reader.next[i] = p.done[i];
		reader.spared[i] = i > p.level ? 0x7fff : i < p.level && p.begun[i] != p.done[i];
	}
}

/*
 * All that a ring which stands still has kept, oldest first. The positions count
 * down: the newest record is at data_head, each older one behind it.
 */
void reader_snapshot(void)
{
	static const struct perf_event_header *records[4 * 4096 / 8];
	__u64 head = __atomic_load_n(&ring.page->data_head, __ATOMIC_ACQUIRE), at = 0;
	__u64 used = 0 - head < ring.size ? 0 - head : ring.size;
	unsigned int nr = 0;
	bool begun = false;

	memset(&reader, 0, sizeof(reader));
	while (at < used) {
		records[nr] = (const void *)(ring.data + ((head + at) & (ring.size - 1)));
		if (records[nr]->size > used - at)
			break;	/* the rest of one that was overwritten */
		if (!records[nr]->size) {
			reader.broken++;
			return;
		}
		at += records[nr++]->size;
	}
	reader.bytes = at;
	while (nr--) {
		struct ktb_sample s;

		if (!ktb_record_parse(records[nr], &s)) {
			reader.broken++;
		} else if (s.type == PERF_RECORD_LOST) {
			reader.lost += s.lost;
		} else {
			if (!begun && used == ring.size)
				begin_with(&s);
			begun = true;
			reader.samples++;
			check_sample(&s, NULL);
		}
	}
}
