// SPDX-License-Identifier: GPL-2.0-only
/*
 * Taking a snapshot. What hits frozen rings is lost, so they stand still only
 * until their records are copied; and they are frozen first of all, before what
 * the taking itself does overwrites what is looked for.
 */
#include <stdlib.h>
#include <string.h>

#include "snapshot.h"

static size_t length_of(const struct perf_event_header *const *records, int64_t nr)
{
	size_t len = 0;

	for (int64_t i = 0; i < nr; i++)
		len += records[i]->size;
	return len;
}

static int copy_ring(struct snapshot_block *block, struct ktb_ring *ring)
{
	const struct perf_event_header *const *records;
	int64_t nr = ktb_ring_records(ring, &records);
	uint8_t *to;

	if (nr < 0)
		return fail("cannot read the ring of CPU %u: %s", ktb_ring_cpu(ring),
			    strerror((int)-nr));
	block->cpu = ktb_ring_cpu(ring);
	block->len = length_of(records, nr);
	block->data = malloc(block->len + 1);
	if (!block->data)
		return fail("out of memory: the records of CPU %u have %zu bytes", block->cpu,
			    block->len);
	to = block->data;
	for (int64_t i = 0; i < nr; i++) {
		memcpy(to, records[i], records[i]->size);
		to += records[i]->size;
	}
	return EXIT_DONE;
}

/* The ledgers are exact: nothing is being written. */
static int copy_all(struct snapshot *snapshot)
{
	unsigned int nr = ktb_reader_nr_rings(snapshot->reader);
	int err = EXIT_DONE;

	snapshot->nr_events =
		ktb_event_list(snapshot->conn, snapshot->session.id, true, &snapshot->events);
	if (snapshot->nr_events < 0)
		return fail("%s", ktb_conn_error(snapshot->conn));
	snapshot->blocks = calloc(nr, sizeof(*snapshot->blocks));
	if (!snapshot->blocks)
		return fail("out of memory");
	snapshot->nr_blocks = nr;
	for (unsigned int i = 0; i < nr && !err; i++)
		err = copy_ring(&snapshot->blocks[i], ktb_reader_ring(snapshot->reader, i));
	return err;
}

/* ---- what there is ---- */

static void count_sample(struct snapshot *snapshot, uint64_t id)
{
	snapshot->samples++;
	for (int i = 0; i < snapshot->nr_events; i++) {
		if (snapshot->events[i].id == id) {
			snapshot->kept[i]++;
			return;
		}
	}
	snapshot->strays++;
}

static void count_block(struct snapshot *snapshot, const struct snapshot_block *block)
{
	const struct perf_event_header *record;
	struct ktb_sample sample;

	for (size_t at = 0; at < block->len; at += record->size) {
		record = (const void *)(block->data + at);
		if (record->type == PERF_RECORD_SAMPLE &&
		    !ktb_sample_parse(snapshot->session.sample_type, record, &sample))
			count_sample(snapshot, sample.id);
	}
}

static int count_all(struct snapshot *snapshot)
{
	snapshot->kept = calloc(snapshot->nr_events + 1, sizeof(*snapshot->kept));
	if (!snapshot->kept)
		return fail("out of memory");
	for (unsigned int i = 0; i < snapshot->nr_blocks; i++)
		count_block(snapshot, &snapshot->blocks[i]);
	return EXIT_DONE;
}

/* Returns an exit status, the reason told; the rings go on in any case. */
int snapshot_take(struct snapshot *snapshot)
{
	int err;

	if (ktb_reader_freeze(snapshot->reader))
		return fail("%s", ktb_reader_error(snapshot->reader));
	err = copy_all(snapshot);
	if (ktb_reader_thaw(snapshot->reader))
		err = fail("%s", ktb_reader_error(snapshot->reader));
	return err ? err : count_all(snapshot);
}

void snapshot_free(struct snapshot *snapshot)
{
	for (unsigned int i = 0; i < snapshot->nr_blocks; i++)
		free(snapshot->blocks[i].data);
	free(snapshot->blocks);
	free(snapshot->kept);
	if (snapshot->nr_events > 0)
		ktb_event_list_free(snapshot->events, snapshot->nr_events);
	ktb_perfdata_free(snapshot->file);
	ktb_reader_free(snapshot->reader);
	ktb_conn_free(snapshot->conn);
}
