// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Reading overwrite sessions. Their positions count down: the newest record is at
 * data_head, and each older one stands behind it. While the rings are frozen
 *
 *	newest                                    newest + min(0 - newest, size)
 *	| record | record | ... | oldest record | rest of an overwritten one |
 *
 * and nothing in there changes. A freeze that has returned orders all that was
 * written before it; the acquire is for the look of an ordinary reader's.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "internal.h"

/* Take note of what a ring that stands still has. */
void ktb_ring_hold(struct ktb_ring *ring)
{
	uint64_t used;

	ring->newest = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	used = 0 - ring->newest;
	if (used > ring->size)
		used = ring->size;
	ring->pos = ring->newest;
	ring->head = ring->newest + used;
	ring->held = true;
}

static void ring_let_go(struct ktb_ring *ring)
{
	ring->held = false;
	ring->pos = 0;
	ring->head = 0;
}

int64_t ktb_ring_newest(struct ktb_ring *ring)
{
	if (!ring->held)
		return -EBUSY;
	ring->pos = ring->newest;
	return (int64_t)(ring->head - ring->pos);
}

int ktb_ring_older(struct ktb_ring *ring, const struct perf_event_header **record)
{
	uint64_t left = ring->head - ring->pos;
	const struct perf_event_header *header;
	uint16_t size;

	if (!ring->held)
		return -EBUSY;
	if (!left)
		return 0;
	if (left % 8)
		return -EIO;
	header = ktb_ring_record(ring, ring->pos);
	size = header->size;
	if (size < sizeof(*header) || size % 8)
		return -EIO;
	if (size > left) {
		/* Its end was overwritten by the beginning of the newest record. */
		ring->pos = ring->head;
		return 0;
	}
	ring->pos += size;
	*record = header;
	return 1;
}

static void reverse(const struct perf_event_header **records, unsigned int nr)
{
	const struct perf_event_header *record;

	for (unsigned int i = 0; i < nr / 2; i++) {
		record = records[i];
		records[i] = records[nr - 1 - i];
		records[nr - 1 - i] = record;
	}
}

static int keep_record(struct ktb_ring *ring, unsigned int nr,
		       const struct perf_event_header *record)
{
	const struct perf_event_header **all =
		ktb_array_more(ring->records, nr, sizeof(*ring->records));

	if (!all)
		return -ENOMEM;
	ring->records = all;
	all[nr] = record;
	return 0;
}

int64_t ktb_ring_records(struct ktb_ring *ring, const struct perf_event_header *const **records)
{
	const struct perf_event_header *record;
	int64_t err = ktb_ring_newest(ring);
	unsigned int nr = 0;

	if (err < 0)
		return err;
	while ((err = ktb_ring_older(ring, &record)) == 1) {
		err = keep_record(ring, nr, record);
		if (err)
			return err;
		nr++;
	}
	if (err < 0)
		return err;
	reverse(ring->records, nr);
	*records = ring->records;
	return nr;
}

/* ---- all rings of a reader ---- */

static int fail_ioctl(struct ktb_reader *reader, const char *what)
{
	int err = -errno;

	return ktb_reader_fail(reader, err, "cannot %s the rings: %s", what,
			       err == -EOPNOTSUPP ? "the session does not overwrite" :
						    strerror(-err));
}

/*
 * Rings that came up unseen are frozen as well, and mapped only then: all that the
 * ledgers count is there to be read.
 */
int ktb_reader_freeze(struct ktb_reader *reader)
{
	int err;

	reader->error[0] = 0;
	if (ioctl(reader->fd, KTB_IOC_FREEZE))
		return fail_ioctl(reader, "freeze");
	err = ktb_reader_refresh(reader);
	if (err < 0) {
		ioctl(reader->fd, KTB_IOC_THAW);
		return err;
	}
	for (unsigned int i = 0; i < reader->nr_rings; i++)
		ktb_ring_hold(reader->rings[i]);
	return 0;
}

int ktb_reader_thaw(struct ktb_reader *reader)
{
	reader->error[0] = 0;
	for (unsigned int i = 0; i < reader->nr_rings; i++)
		ring_let_go(reader->rings[i]);
	if (ioctl(reader->fd, KTB_IOC_THAW))
		return fail_ioctl(reader, "thaw");
	return 0;
}
