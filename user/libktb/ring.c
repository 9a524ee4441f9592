// SPDX-License-Identifier: LGPL-2.1-only
/*
 * One ring as its reader sees it.
 *
 *   kernel, on the ring's CPU              here
 *   ------------------------------------   ------------------------------------
 *   load data_tail                         load_head: acquire data_head    (C)
 *     control dependency            (A)      the caller reads records in place
 *   store records                          ktb_ring_release_to: release
 *   store_release data_head         (B)      data_tail                     (D)
 *
 * (B) pairs with (C), (A) with (D); include/uapi/linux/ktrace_bridge_ring.h says
 * why. Our own position is private: data_tail is written, and read only when the
 * ring is mapped, to go on where the last reader stopped.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"

static_assert(offsetof(struct ktb_ring_page, data_head) == 128, "ring page layout");
static_assert(offsetof(struct ktb_ring_page, lost) == 136, "ring page layout");
static_assert(offsetof(struct ktb_ring_page, data_tail) == 256, "ring page layout");
static_assert(sizeof(struct ktb_ring_page) == 384, "ring page layout");
static_assert(sizeof(off_t) == 8, "mmap offsets need 64 bits");

/* One access each, 32-bit programs included: half a position would be a wrong one. */
static_assert(__atomic_always_lock_free(sizeof(uint64_t), 0), "64-bit loads and stores");

static uint64_t load_head(const struct ktb_ring *ring)
{
	return __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE); /* (C) */
}

/* Let the kernel reuse everything before @pos. */
void ktb_ring_release_to(struct ktb_ring *ring, uint64_t pos)
{
	__atomic_store_n(&ring->page->data_tail, pos, __ATOMIC_RELEASE); /* (D) */
}

/* Does the mapped page describe a ring we can read? */
int ktb_ring_check(struct ktb_ring *ring)
{
	const struct ktb_ring_page *page = ring->page;

	if (page->magic != KTB_RING_MAGIC || page->version != KTB_RING_VERSION ||
	    page->size < offsetof(struct ktb_ring_page, __reserved2))
		return -EPROTO;
	/* Nobody is to take the one kind of ring for the other. */
	if (!(page->flags & KTB_SESSION_OVERWRITE) != !ring->overwrite)
		return -EOPNOTSUPP;
	ring->cpu = page->cpu;
	ring->size = page->data_size;
	ring->sample_type = page->sample_type;
	if (!ring->size || ring->size & (ring->size - 1) || ring->size > SIZE_MAX / 2)
		return -EPROTO;
	if (ring->overwrite)
		return 0;
	ring->pos = page->data_tail;
	ring->head = load_head(ring);
	return ring->head - ring->pos > ring->size ? -EIO : 0;
}

/* Map the control page, then what it says the data are, twice in a row. */
int ktb_ring_map(struct ktb_ring *ring, int fd, unsigned int cpu)
{
	off_t offset = (off_t)(cpu * KTB_RING_STRIDE);
	size_t page_len = sysconf(_SC_PAGESIZE);
	void *map;
	int err;

	map = mmap(NULL, page_len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
	if (map == MAP_FAILED)
		return -errno;
	ring->page = map;
	ring->page_len = page_len;
	err = ktb_ring_check(ring);
	if (err)
		goto err_unmap;

	map = mmap(NULL, 2 * ring->size, PROT_READ, MAP_SHARED, fd,
		   offset + (off_t)ring->page->data_offset);
	if (map == MAP_FAILED) {
		err = -errno;
		goto err_unmap;
	}
	ring->data = map;
	ring->data_len = 2 * ring->size;
	return 0;

err_unmap:
	ktb_ring_unmap(ring);
	return err;
}

void ktb_ring_unmap(struct ktb_ring *ring)
{
	if (ring->data_len)
		munmap((void *)ring->data, ring->data_len);
	if (ring->page_len)
		munmap(ring->page, ring->page_len);
	free(ring->records);
	memset(ring, 0, sizeof(*ring));
}

unsigned int ktb_ring_cpu(const struct ktb_ring *ring)
{
	return ring->cpu;
}

uint64_t ktb_ring_size(const struct ktb_ring *ring)
{
	return ring->size;
}

uint64_t ktb_ring_lost(const struct ktb_ring *ring)
{
	return __atomic_load_n(&ring->page->lost, __ATOMIC_RELAXED);
}

uint64_t ktb_ring_pending(const struct ktb_ring *ring)
{
	const uint64_t head = load_head(ring);

	/* Ours alone writes it: what comes after the head was loaded is not asked for. */
	return head - __atomic_load_n(&ring->page->data_tail, __ATOMIC_ACQUIRE);
}

int64_t ktb_ring_begin(struct ktb_ring *ring)
{
	uint64_t head = load_head(ring);

	if (ring->overwrite)
		return -EOPNOTSUPP;
	if (head - ring->pos > ring->size)
		return -EIO;
	ring->head = head;
	return head - ring->pos;
}

int ktb_ring_next(struct ktb_ring *ring, const struct perf_event_header **record)
{
	uint64_t left = ring->head - ring->pos;
	const struct perf_event_header *header;
	uint16_t size;

	if (!left)
		return 0;
	if (ring->overwrite)
		return -EOPNOTSUPP;
	header = ktb_ring_record(ring, ring->pos);
	size = header->size;
	if (size < sizeof(*header) || size % 8 || size > left)
		return -EIO;
	ring->pos += size;
	*record = header;
	return 1;
}

void ktb_ring_release(struct ktb_ring *ring)
{
	ktb_ring_release_to(ring, ring->pos);
}

int64_t ktb_ring_unread(struct ktb_ring *ring, const void **data)
{
	int64_t len = ktb_ring_begin(ring);

	if (len >= 0)
		*data = ktb_ring_record(ring, ring->pos);
	return len;
}

void ktb_ring_consume(struct ktb_ring *ring, uint64_t len)
{
	ring->pos += len;
	ktb_ring_release_to(ring, ring->pos);
}
