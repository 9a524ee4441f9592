/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KTB_RING_H
#define _KTB_RING_H

#include <linux/gfp.h>
#include <linux/irq_work.h>
#include <linux/kernel.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/wait.h>
#include <uapi/linux/ktrace_bridge_ring.h>

#include "compat.h"

struct ktb_ring;
struct vm_area_struct;

/* Memory that is short is told of at once, without calling on the OOM killer. */
#define KTB_RING_GFP	(GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN)

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

/*
 * The contexts that can nest in each other, a bit each. The last one is the end of
 * an interrupt, when preempt_count() is back to that of what was interrupted: there
 * softirqs that cannot run are left to ksoftirqd, nearly always on PREEMPT_RT, and
 * waking it is a hit of scheduler events. One will do, interrupts are off in it.
 */
#define KTB_CONTEXT_TASK	BIT(0)
#define KTB_CONTEXT_SOFTIRQ	BIT(1)
#define KTB_CONTEXT_HARDIRQ	BIT(2)
#define KTB_CONTEXT_NMI		BIT(3)
#define KTB_CONTEXT_IRQ_EXIT	BIT(4)

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
 * @published: bytes ever published, what the page's data_head is to say
 * @tail: data_tail as last looked at; the reader may be further
 * @size: bytes of data, a power of two
 * @mask: @size - 1
 * @data: the data, mapped twice in a row: a record never wraps
 * @page: control page, shared with the reader. The kernel stores to it, and
 *	loads nothing but data_tail from it, once, to compare.
 * @limit: bytes of the longest record taken without further ado: @max_record,
 *	or 0 while a loss is to be stated first, and always if not @direct
 * @busy: the contexts writing, one bit each, KTB_CONTEXT_*
 * @waiting: enum ktb_ring_waiting; set by a reader on any CPU
 * @lost: hits ever lost
 * @stated: of these, in a PERF_RECORD_LOST
 * @max_record: bytes of the longest record taken
 * @direct: records may be taken without further ado
 * @overwrite: flight recorder: positions count down from 0, and the newest
 *	records replace the oldest
 * @frozen: an overwrite ring takes nothing while it is being read
 * @quiet: its CPU comes or goes: a wake-up that it sent might stay behind
 * @cpu: the producer
 * @work: carries a wake-up out of any context
 * @wait: readers bound to this ring alone
 * @ops: called back
 * @owner: for @ops
 * @watermark: unread bytes at which a sleeping reader is woken
 * @ripe: what was published up to here is enough, whatever the watermark
 * @loss_told: @ops->lost was called
 * @wakeups: wake-ups sent
 * @session: for the control page, as are the next two
 * @flags: likewise
 * @sample_type: likewise
 * @read_lock: serialises read(2)
 * @base: the mapping that @page and @data are part of
 * @pages: control page and data pages, each once
 * @nr_pages: their number
 */
struct ktb_ring {
	local_t head;
	unsigned long published;
	unsigned long tail;
	unsigned long size;
	unsigned long mask;
	void *data;
	struct ktb_ring_page *page;
	unsigned int limit;
	u8 busy;
	u8 waiting;

	local_t lost ____cacheline_aligned;
	local_t stated;
	unsigned int max_record;
	bool direct;
	bool overwrite;
	bool frozen;
	bool quiet;
	int cpu;
	struct irq_work work;
	wait_queue_head_t wait;
	const struct ktb_ring_ops *ops;
	void *owner;
	unsigned int watermark;
	unsigned long ripe;
	bool loss_told;
	atomic_long_t wakeups;
	u32 session;
	u32 flags;
	u64 sample_type;
	struct mutex read_lock;	/* one read(2) at a time */
	void *base;
	struct page **pages;
	unsigned long nr_pages;
};

/**
 * struct ktb_ring_config - what a ring is made for
 * @size: bytes of data; a power of two, at least a page
 * @watermark: unread bytes at which a sleeping reader is woken
 * @session: number of the session, for the control page
 * @flags: KTB_SESSION_* for the control page; KTB_SESSION_OVERWRITE counts here
 * @sample_type: PERF_SAMPLE_* mask of the records, for the control page
 * @frozen: an overwrite ring begins frozen
 * @direct: records may be taken without further ado, but not by an overwrite ring
 * @quiet: it begins so, until ktb_ring_speak()
 * @ops: called back
 * @owner: @ring->owner for @ops
 */
struct ktb_ring_config {
	unsigned long size;
	unsigned int watermark;
	u32 session;
	u32 flags;
	u64 sample_type;
	bool frozen;
	bool direct;
	bool quiet;
	const struct ktb_ring_ops *ops;
	void *owner;
};

int ktb_ring_alloc_pages(struct ktb_ring *ring);
void ktb_ring_free_pages(struct ktb_ring *ring);
struct ktb_ring *ktb_ring_create(int cpu, const struct ktb_ring_config *config);
void ktb_ring_quiesce(struct ktb_ring *ring);
void ktb_ring_hush(struct ktb_ring *ring);
void ktb_ring_speak(struct ktb_ring *ring);
void ktb_ring_renew(struct ktb_ring *ring);
void ktb_ring_freeze(struct ktb_ring *ring, bool freeze);
void ktb_ring_destroy(struct ktb_ring *ring);
int ktb_ring_mmap(struct ktb_ring *ring, struct vm_area_struct *vma,
		  unsigned long pgoff);
ssize_t ktb_ring_read(struct ktb_ring *ring, char __user *buf, size_t len);
bool ktb_ring_poll(struct ktb_ring *ring);
void ktb_ring_set_watermark(struct ktb_ring *ring, unsigned int watermark);
void ktb_ring_ripen(struct ktb_ring *ring);
void ktb_ring_notify(struct ktb_ring *ring);
bool ktb_ring_make_room(struct ktb_ring *ring, unsigned int size);
void ktb_ring_lose(struct ktb_ring *ring);
void ktb_ring_lift_limit(struct ktb_ring *ring);
unsigned long ktb_ring_lost_take(struct ktb_ring *ring, unsigned long lost);
void ktb_ring_look(struct ktb_ring *ring);
void ktb_ring_cancel_first(struct ktb_ring *ring, u8 context, unsigned int size);

/* Stands in where a CPU has no ring: takes nothing. */
extern struct ktb_ring ktb_ring_none;

/*
 * data_race(), here and below: the producer's own words are changed by contexts
 * that nest in each other on one CPU, never by two CPUs. Whoever interrupts
 * leaves @busy as it was found, and moves @tail, @limit and @published to values
 * that hold as well. So plain accesses do, and are shorter.
 */
static __always_inline u8 ktb_ring_busy(const struct ktb_ring *ring)
{
	return data_race(ring->busy);
}

/*
 * Publish everything reserved so far, by the outermost writer.
 *
 * Our bit stays set while head is loaded, so that a context that nests here
 * leaves the publishing to us; only then may it be cleared. What nested between
 * the load and the clearing is seen by the second look at head, what nests
 * after the clearing publishes for itself.
 */
static __always_inline void ktb_ring_publish_outermost(struct ktb_ring *ring, u8 context)
{
	unsigned long head;

	for (;;) {
		barrier();
		head = local_read(&ring->head);
		/* B: pairs with the acquire of data_head, or of published, C. */
		smp_store_release(&ring->published, head); /* B, kernel's own readers */
		smp_store_release(&ring->page->data_head, head); /* B */
		barrier();
		WRITE_ONCE(ring->busy, 0);
		barrier();
		if (likely(head == local_read(&ring->head)))
			break;
		WRITE_ONCE(ring->busy, context);
	}
}

/**
 * ktb_ring_commit - the record is complete
 * @ring: the ring it was reserved from
 * @context: as given to ktb_ring_reserve()
 *
 * The outermost writer publishes what it and all that nested in it wrote, and has a
 * sleeping reader woken: by irq_work, so that this may run under any lock. What nests
 * does neither. It has nothing to tell of yet, and where the end of an irq_work is a
 * hit that asks for another one, the outermost would never run again.
 * Counterpart of perf_output_end().
 */
static __always_inline void ktb_ring_commit(struct ktb_ring *ring, u8 context)
{
	if (unlikely(ktb_ring_busy(ring) != context)) {
		WRITE_ONCE(ring->busy, ktb_ring_busy(ring) & ~context);
		return;
	}
	ktb_ring_publish_outermost(ring, context);
	/* A reader may set it at any time; ring.c says why that is enough. */
	if (unlikely(data_race(ring->waiting)))
		ktb_ring_notify(ring);
}

/**
 * ktb_ring_reserve - begin a record
 * @ring: the ring of this CPU
 * @size: bytes of the record, a multiple of 8, at most @ring->max_record
 * @context: what runs, KTB_CONTEXT_*; not writing to this ring yet
 * @record: set to the record
 *
 * On success the caller fills the record in place and calls ktb_ring_commit().
 * Any context, preemption disabled from here to the commit. Counterpart of
 * perf_output_begin().
 *
 * A: a load of data_tail, in ktb_ring_make_room(), decides whether anything is
 * stored at all, and stores are not speculated: nothing is overwritten before
 * the reader's release of data_tail, D.
 *
 * Return: whether there was room as far as is known: ktb_ring_make_room() may
 * know more.
 */
static __always_inline bool ktb_ring_reserve(struct ktb_ring *ring, unsigned int size,
					     u8 context, void **record)
{
	unsigned long offset;

	barrier();
	WRITE_ONCE(ring->busy, ktb_ring_busy(ring) | context);
	barrier();
	offset = local_read(&ring->head);
	do {
		if (unlikely(offset + size - data_race(ring->tail) > ring->size)) {
			ktb_ring_commit(ring, context);
			return false;
		}
	} while (unlikely(!local_try_cmpxchg(&ring->head, &offset, offset + size)));

	*record = ring->data + (offset & ring->mask);
	return true;
}

/**
 * ktb_ring_reserve_first - begin a record where no other is being written
 * @ring: the ring of this CPU, nobody writing to it
 * @size: bytes of the record, a multiple of 8, at most @ring->max_record
 * @context: what runs, KTB_CONTEXT_*, the lowest that can
 * @record: set to the record
 *
 * ktb_ring_reserve() for what happens nearly always: then nothing is to be
 * undone, and ktb_ring_commit_first() has nothing to find out.
 *
 * Return: false, having done nothing, where there seems to be no room, and where
 * another context nested right here.
 */
static __always_inline bool ktb_ring_reserve_first(struct ktb_ring *ring, unsigned int size,
						   u8 context, void **record)
{
	unsigned long offset = local_read(&ring->head);

	if (unlikely(offset + size - data_race(ring->tail) > ring->size))
		return false;
	barrier();
	WRITE_ONCE(ring->busy, context); /* what nests leaves publishing to us */
	barrier();
	if (unlikely(!local_try_cmpxchg(&ring->head, &offset, offset + size))) {
		/* It left the publishing to us. */
		ktb_ring_publish_outermost(ring, context);
		return false;
	}

	*record = ring->data + (offset & ring->mask);
	return true;
}

/**
 * ktb_ring_commit_first - the record of ktb_ring_reserve_first() is complete
 * @ring: the ring it was reserved from
 * @context: as given there
 */
static __always_inline void ktb_ring_commit_first(struct ktb_ring *ring, u8 context)
{
	ktb_ring_publish_outermost(ring, context);
	if (unlikely(data_race(ring->waiting)))
		ktb_ring_notify(ring);
}

/**
 * ktb_ring_overwrite - begin a record in an overwrite ring
 * @ring: the ring of this CPU
 * @size: bytes of the record, a multiple of 8, at most @ring->max_record
 * @context: what runs, KTB_CONTEXT_*; not writing to this ring yet
 * @record: set to the record
 *
 * As ktb_ring_reserve(), downwards: a reader that begins at data_head meets the
 * newest record first and each older one behind it. Counterpart of
 * perf_output_begin_backward().
 *
 * Return: false while the ring is frozen, and where contexts that nest in
 * each other would come round to a record that one of them is still writing.
 */
static __always_inline bool ktb_ring_overwrite(struct ktb_ring *ring, unsigned int size,
					       u8 context, void **record)
{
	unsigned long offset;

	if (READ_ONCE(ring->frozen))
		return false;
	WRITE_ONCE(ring->busy, ktb_ring_busy(ring) | context);
	barrier();
	offset = local_read(&ring->head);
	do {
		if (unlikely(data_race(ring->published) - offset + size > ring->size)) {
			ktb_ring_commit(ring, context);
			return false;
		}
	} while (unlikely(!local_try_cmpxchg(&ring->head, &offset, offset - size)));
	*record = ring->data + ((offset - size) & ring->mask);
	return true;
}

/**
 * ktb_ring_lost_any - whether hits were lost that are not stated
 * @ring: the ring of this CPU
 * @lost: set to the number of hits ever lost
 *
 * If so, the caller reserves room to state it in the stream, and only then takes
 * the number: contexts that nest meanwhile write behind that. Any context,
 * preemption disabled.
 *
 * Return: whether there are any.
 */
static __always_inline bool ktb_ring_lost_any(struct ktb_ring *ring, unsigned long *lost)
{
	*lost = local_read(&ring->lost);
	/* More than was lost by then may be stated by a context that nests here. */
	if (unlikely((long)(*lost - local_read(&ring->stated)) > 0))
		return true;
	if (unlikely(!ring->limit && !ring->overwrite))
		ktb_ring_lift_limit(ring);
	return false;
}

#endif /* _KTB_RING_H */
