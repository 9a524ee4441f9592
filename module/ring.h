/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KTB_RING_H
#define _KTB_RING_H

#include <linux/irq_work.h>
#include <linux/kernel.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/wait.h>
#include <uapi/linux/ktrace_bridge_ring.h>

#include "compat.h"

struct ktb_ring;
struct vm_area_struct;

/* Whether, and at what, the producer has to wake a reader. */
enum ktb_ring_waiting {
	KTB_RING_NOBODY,	/* no reader sleeps */
	KTB_RING_ANY,		/* a reader sleeps: the next record says so */
	KTB_RING_WATERMARK,	/* a reader sleeps until the watermark */
};

/**
 * struct ktb_ring_ops - what a ring asks of its owner
 * @wake: a reader is to be woken; irq context (a thread on PREEMPT_RT)
 * @linger: there is something to read, below the watermark: see to it that
 *	ktb_ring_ripen() is called within KTB_RING_LINGER; context as @wake
 * @lost: the first hit was lost; context as @wake
 */
struct ktb_ring_ops {
	void (*wake)(struct ktb_ring *ring);
	void (*linger)(struct ktb_ring *ring);
	void (*lost)(struct ktb_ring *ring);
};

/* Longest time a record below the watermark stays unannounced. */
#define KTB_RING_LINGER		(HZ / 20)

/* A record's length has to fit perf_event_header.size, in steps of 8. */
#define KTB_RECORD_MAX		(U16_MAX + 1 - 8)

/**
 * struct ktb_ring - one CPU's ring
 *
 * The first part belongs to the producer: only its CPU, in any context from
 * task to NMI, with preemption disabled. Nested contexts finish before the one
 * they interrupted goes on, so plain and local_t operations are enough.
 *
 * @head: bytes ever reserved
 * @nest: writers inside ktb_ring_reserve() ... ktb_ring_commit()
 * @waiting: enum ktb_ring_waiting; set by a reader on any CPU
 * @max_record: bytes of the longest record taken
 * @size: bytes of data, a power of two
 * @data: the data, mapped twice in a row: a record never wraps
 * @page: control page, shared with the reader. The kernel stores to it, and
 *	loads nothing but data_tail from it, once, to compare.
 * @lost: hits lost since the last PERF_RECORD_LOST
 * @lost_total: hits ever lost
 * @cpu: the producer
 * @work: carries a wake-up out of any context
 * @wait: readers bound to this ring alone
 * @ops: called back
 * @owner: for @ops
 * @watermark: unread bytes at which a sleeping reader is woken
 * @ripe: what is unread counts as enough, whatever the watermark
 * @loss_told: @ops->lost was called
 * @wakeups: wake-ups sent
 * @read_lock: serialises read(2)
 * @base: the mapping that @page and @data are part of
 * @pages: control page and data pages, each once
 * @nr_pages: their number
 */
struct ktb_ring {
	local_t head;
	unsigned int nest;
	unsigned int waiting;
	unsigned int max_record;
	unsigned long size;
	void *data;
	struct ktb_ring_page *page;
	local_t lost;
	local_t lost_total;

	int cpu ____cacheline_aligned;
	struct irq_work work;
	wait_queue_head_t wait;
	const struct ktb_ring_ops *ops;
	void *owner;
	unsigned int watermark;
	bool ripe;
	bool loss_told;
	unsigned long wakeups;
	struct mutex read_lock;
	void *base;
	struct page **pages;
	unsigned long nr_pages;
};

/**
 * struct ktb_ring_config - what a ring is made for
 * @size: bytes of data; a power of two, at least a page
 * @watermark: unread bytes at which a sleeping reader is woken
 * @session: number of the session, for the control page
 * @flags: KTB_SESSION_* for the control page
 * @sample_type: PERF_SAMPLE_* mask of the records, for the control page
 * @ops: called back
 * @owner: @ring->owner for @ops
 */
struct ktb_ring_config {
	unsigned long size;
	unsigned int watermark;
	u32 session;
	u32 flags;
	u64 sample_type;
	const struct ktb_ring_ops *ops;
	void *owner;
};

struct ktb_ring *ktb_ring_create(int cpu, const struct ktb_ring_config *config);
void ktb_ring_quiesce(struct ktb_ring *ring);
void ktb_ring_destroy(struct ktb_ring *ring);
int ktb_ring_mmap(struct ktb_ring *ring, struct vm_area_struct *vma,
		  unsigned long pgoff);
ssize_t ktb_ring_read(struct ktb_ring *ring, char __user *buf, size_t len);
bool ktb_ring_poll(struct ktb_ring *ring);
void ktb_ring_ripen(struct ktb_ring *ring);
void ktb_ring_notify(struct ktb_ring *ring);

/**
 * ktb_ring_unread - bytes published and not yet consumed
 * @ring: the ring
 *
 * Both positions stand in the page that the reader may write to: the result
 * is the reader's own view. Any context.
 */
static inline u64 ktb_ring_unread(const struct ktb_ring *ring)
{
	return READ_ONCE(ring->page->data_head) - READ_ONCE(ring->page->data_tail);
}

/**
 * ktb_ring_lose - count one hit that does not reach the ring
 * @ring: the ring of this CPU
 *
 * Any context, preemption disabled.
 */
static __always_inline void ktb_ring_lose(struct ktb_ring *ring)
{
	local_inc(&ring->lost);
	local_inc(&ring->lost_total);
	WRITE_ONCE(ring->page->lost, local_read(&ring->lost_total));
	if (unlikely(!ring->loss_told))
		irq_work_queue(&ring->work);
}

/*
 * Publish everything reserved so far, if this is the outermost writer.
 *
 *  nest is 1 and stays 1 while head is loaded, so that a context that nests
 *  here leaves the publishing to us; only then may it drop to 0. What nested
 *  between the load and the drop is seen by the second look at head, what
 *  nests after the drop publishes for itself.
 */
static __always_inline void ktb_ring_publish(struct ktb_ring *ring)
{
	unsigned int nest = READ_ONCE(ring->nest);
	unsigned long head;

	if (unlikely(nest > 1)) {
		WRITE_ONCE(ring->nest, nest - 1);
		return;
	}

	for (;;) {
		barrier();
		head = local_read(&ring->head);
		/* B: pairs with the reader's acquire of data_head, C. */
		smp_store_release(&ring->page->data_head, head);
		barrier();
		WRITE_ONCE(ring->nest, 0);
		barrier();
		if (likely(head == local_read(&ring->head)))
			break;
		WRITE_ONCE(ring->nest, 1);
	}
}

/*
 * Take @size bytes off the ring. NULL when the reader left no room.
 *
 * A: the load of data_tail decides whether anything is stored at all, and
 * stores are not speculated: nothing is overwritten before the reader's
 * release of data_tail, D. A hostile data_tail makes the difference wrong, by
 * which the ring looks full, or holds records that its reader gave up.
 */
static __always_inline void *ktb_ring_take(struct ktb_ring *ring, unsigned int size)
{
	unsigned long offset = local_read(&ring->head);

	do {
		unsigned long tail = READ_ONCE(ring->page->data_tail);

		if (unlikely(offset + size - tail > ring->size))
			return NULL;
	} while (unlikely(!local_try_cmpxchg(&ring->head, &offset, offset + size)));

	return ring->data + (offset & (ring->size - 1));
}

/**
 * ktb_ring_reserve - begin a record
 * @ring: the ring of this CPU
 * @size: bytes of the record, a multiple of 8, at most KTB_RECORD_MAX
 *
 * On success the caller fills the record in place and calls ktb_ring_commit().
 * Any context, preemption disabled from here to the commit.
 * Counterpart of perf_output_begin().
 *
 * Return: the record, or NULL when the ring is full.
 */
static __always_inline void *ktb_ring_reserve(struct ktb_ring *ring, unsigned int size)
{
	void *record;

	WRITE_ONCE(ring->nest, READ_ONCE(ring->nest) + 1);
	barrier();
	record = ktb_ring_take(ring, size);
	if (unlikely(!record))
		ktb_ring_publish(ring);
	return record;
}

/**
 * ktb_ring_commit - the record is complete
 * @ring: the ring it was reserved from
 *
 * The outermost writer publishes what it and all that nested in it wrote. A
 * sleeping reader is woken by irq_work, so that this may run under any lock.
 * Counterpart of perf_output_end().
 */
static __always_inline void ktb_ring_commit(struct ktb_ring *ring)
{
	ktb_ring_publish(ring);
	if (unlikely(READ_ONCE(ring->waiting)))
		ktb_ring_notify(ring);
}

#endif /* _KTB_RING_H */
