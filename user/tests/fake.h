/* SPDX-License-Identifier: GPL-2.0-only */
/* Rings without a module: a memfd in place of the device, and a writer; a tracefs. */
#ifndef TESTS_FAKE_H
#define TESTS_FAKE_H

#include "internal.h"

#define FAKE_SAMPLE_TYPE                                                                \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW)

#define FAKE_EVENT_TYPE 0x1234 /* the common_type of samples */

struct fake_ring {
	struct ktb_ring ring; /* the reader's view */
	struct ktb_ring_page *page; /* the writer's */
	uint8_t *data;
	uint64_t head; /* written, not published */
};

struct fake_reader {
	struct ktb_reader reader;
	struct ktb_ring *pointers[8];
	struct fake_ring rings[8];
};

void fake_reader_init(struct fake_reader *fake, unsigned int nr, uint64_t data_size);
void fake_reader_exit(struct fake_reader *fake);
bool fake_write(struct fake_ring *ring, uint64_t time, uint64_t id);
void fake_write_lost(struct fake_ring *ring, uint64_t time, uint64_t lost);
void fake_write_header(struct fake_ring *ring, uint16_t size);
void fake_publish(struct fake_ring *ring);
uint64_t fake_now(void);

void fake_file(const char *dir, const char *name, const char *text);
void fake_tracefs(char *dir);

#endif /* TESTS_FAKE_H */
