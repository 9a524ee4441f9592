/* SPDX-License-Identifier: GPL-2.0-only */
/* What the two halves of the model, kernel and reader, share. */
#ifndef MODEL_H
#define MODEL_H

#include <stdbool.h>
#include <string.h>
#include <linux/types.h>

/* Task, softirq, hardirq, NMI. */
#define LEVELS	4

/**
 * struct payload - what a record carries, behind the common fields
 * @entry: the common fields
 * @level: context that wrote it
 * @seq: number within its context
 * @begun: records that each context had begun by then
 * @done: records that each context was done with by then
 */
struct payload {
	__u64 entry;
	__u32 level;
	__u32 seq;
	__u16 begun[LEVELS];
	__u16 done[LEVELS];
};

static inline unsigned char payload_byte(const struct payload *p, unsigned int at)
{
	return p->level * 67 + p->seq * 11 + at;
}

/* The bytes behind struct payload, and up to seven more that are zero. */
static inline bool payload_ok(const char *raw, unsigned int size)
{
	struct payload p;
	unsigned int at = sizeof(p);

	memcpy(&p, raw, sizeof(p));
	if (p.level >= LEVELS)
		return false;
	while (at < size && (unsigned char)raw[at] == payload_byte(&p, at))
		at++;
	if (size - at > 7)
		return false;
	for (; at < size; at++)
		if (raw[at])
			return false;
	return true;
}

/* What the reader has seen. */
struct reader {
	__u64 bytes;
	__u64 samples;
	__u64 lost;		/* as stated in the stream */
	__u64 unstated;		/* samples before which a loss should have been stated */
	__u64 missing;		/* numbers left out, last ones excepted */
	__u64 broken;
	__u64 late;
	__u64 early;
	__u32 next[LEVELS];
	__u16 floor[LEVELS];
	__u16 spared[LEVELS];	/* so many may have been overwritten before the first seen */
};

extern struct reader reader;

void reader_init(void *page, void *data, size_t size);
void reader_look(unsigned int records);
void reader_snapshot(void);
__u64 reader_missing(const unsigned int *begun);

#endif
