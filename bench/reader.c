// SPDX-License-Identifier: GPL-2.0-only
/*
 * reader SESSION: what libktb spends to hand out the records that a session's rings
 * hold, in TSC ticks: under QEMU's instruction counting a tick is one instruction.
 * Prints ticks for each record and the number of records.
 */
#include <stdio.h>
#include <stdlib.h>
#include <x86intrin.h>

#include "ktb.h"

int main(int argc, char **argv)
{
	struct ktb_reader *reader = ktb_reader_new();
	unsigned long long ticks = 0, records = 0;
	const struct perf_event_header *record;

	if (argc != 2 || !reader)
		return 2;
	if (ktb_reader_open(reader, atoi(argv[1]), -1)) {
		fprintf(stderr, "reader: %s\n", ktb_reader_error(reader));
		return 1;
	}
	for (unsigned int i = 0; i < ktb_reader_nr_rings(reader); i++) {
		struct ktb_ring *ring = ktb_reader_ring(reader, i);
		unsigned long long start = __rdtsc();

		ktb_ring_begin(ring);
		while (ktb_ring_next(ring, &record) == 1)
			records++;
		ktb_ring_release(ring);
		ticks += __rdtsc() - start;
	}
	printf("%.1f %llu\n", records ? (double)ticks / records : 0, records);
	ktb_reader_free(reader);
	return 0;
}
