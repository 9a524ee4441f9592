// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ring buffer: one per session and CPU, one producer CPU, nested contexts,
 * one reader, mapped by it. The producer's side is inline, in ring.h. Mirrors
 * kernel/events/ring_buffer.c.
 *
 * Orderings, letters as in include/uapi/linux/ktrace_bridge_ring.h:
 *
 *   producer (its CPU, any context)        reader (any CPU)
 *   ------------------------------------   ------------------------------------
 *   load data_tail                         load_acquire data_head           (C)
 *     control dependency             (A)     load records
 *   store records                          store_release data_tail          (D)
 *   store_release data_head          (B)
 *
 *   B pairs with C, A pairs with D.
 *
 *   store data_head                        store waiting
 *     (no barrier)                         smp_mb                           (E)
 *   load waiting                           load data_head
 *
 * The second table is a store buffering pattern whose left side would need a
 * full barrier for every record. It has none: the producer may miss a reader
 * that goes to sleep within the few nanoseconds in which its store of data_head
 * is on the way. Hence the owner looks at the ring once more, KTB_RING_LINGER
 * after a reader went to sleep (ktb_ring_ripen()): by then the store has long
 * arrived, and any later producer sees the reader waiting.
 */

#include <linux/kcsan-checks.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/time.h>
#include <linux/topology.h>
#include <linux/uaccess.h>
#include <uapi/linux/ktrace_bridge.h>

#include "ring.h"

static_assert(sizeof(long) == sizeof(u64));
static_assert(offsetof(struct ktb_ring_page, data_head) == 128);
static_assert(offsetof(struct ktb_ring_page, lost) == 136);
static_assert(offsetof(struct ktb_ring_page, data_tail) == 256);
static_assert(sizeof(struct ktb_ring_page) == 384);

struct ktb_ring ktb_ring_none;

/*
 * Bytes published and not consumed, in the view of a reader that says the truth
 * about its position; else any number.
 */
static u64 ktb_ring_unread(const struct ktb_ring *ring)
{
	return READ_ONCE(ring->published) - READ_ONCE(ring->page->data_tail);
}

static bool ktb_ring_readable(const struct ktb_ring *ring)
{
	u64 tail = READ_ONCE(ring->page->data_tail);
	u64 unread = READ_ONCE(ring->published) - tail;

	if (ring->overwrite)
		return READ_ONCE(ring->frozen);
	return unread && (unread >= READ_ONCE(ring->watermark) ||
			  (s64)(READ_ONCE(ring->ripe) - tail) > 0);
}

/*
 * A reader may sleep; tell the producer when to call. Whether there is
 * something to read after all: E, what was published before the producer could
 * see us is seen here.
 */
static bool ktb_ring_wait(struct ktb_ring *ring, enum ktb_ring_waiting waiting)
{
	WRITE_ONCE(ring->waiting, waiting);
	smp_mb(); /* E */
	return ktb_ring_readable(ring);
}

/* Those who asked for records: others wait for the end of the session only. */
static void ktb_ring_wake(struct ktb_ring *ring)
{
	atomic_long_inc(&ring->wakeups);
	wake_up_poll(&ring->wait, EPOLLIN | EPOLLRDNORM);
	ring->ops->wake(ring);
}

static void ktb_ring_tell_loss(struct ktb_ring *ring)
{
	if (local_read(&ring->lost) && !READ_ONCE(ring->loss_told)) {
		WRITE_ONCE(ring->loss_told, true);
		ring->ops->lost(ring);
	}
}

/*
 * Runs in irq context, on PREEMPT_RT in a thread: the first place after a
 * record was written where locks may be taken.
 */
static void ktb_ring_work(struct irq_work *work)
{
	struct ktb_ring *ring = container_of(work, struct ktb_ring, work);
	u64 unread = ktb_ring_unread(ring);

	ktb_ring_tell_loss(ring);
	if (ring->overwrite)
		return;

	if (ktb_ring_readable(ring) ||
	    ktb_ring_wait(ring, unread ? KTB_RING_WATERMARK : KTB_RING_ANY)) {
		WRITE_ONCE(ring->waiting, KTB_RING_NOBODY);
		ktb_ring_wake(ring);
	} else if (ktb_ring_unread(ring)) { /* what came meanwhile, too */
		ring->ops->linger(ring);
	}
}

/**
 * ktb_ring_notify - a record was committed and a reader waits
 * @ring: the ring of this CPU
 *
 * The slow half of ktb_ring_commit(); any context. At most one wake-up is on
 * its way, and the next record starts another only after a reader slept again.
 * A quiet ring is looked at by ktb_ring_speak(), or when its CPU is gone.
 */
void ktb_ring_notify(struct ktb_ring *ring)
{
	if (READ_ONCE(ring->waiting) == KTB_RING_WATERMARK &&
	    ktb_ring_unread(ring) < READ_ONCE(ring->watermark))
		return;
	if (READ_ONCE(ring->quiet))
		return;
	WRITE_ONCE(ring->waiting, KTB_RING_NOBODY);
	irq_work_queue(&ring->work);
}

/**
 * ktb_ring_make_room - look how far the reader is
 * @ring: the ring of this CPU
 * @size: bytes wanted
 *
 * Any context, preemption disabled. The position comes from a page that its
 * reader may scribble on. One that is behind by more than the ring, or ahead of
 * what was published, is not taken: records that are being written lie beyond
 * that, and nobody is to overwrite those under their writers. Nor is one between
 * two words, where no record begins.
 *
 * Return: whether there is room.
 */
bool ktb_ring_make_room(struct ktb_ring *ring, unsigned int size)
{
	unsigned long head = local_read(&ring->head);
	unsigned long tail = READ_ONCE(ring->page->data_tail); /* A */

	if (READ_ONCE(ring->published) - tail > ring->size || tail % sizeof(u64))
		return false;
	WRITE_ONCE(ring->tail, tail);
	return head + size - tail <= ring->size;
}

/*
 * Tell the reader. What a context that nests here told meanwhile is newer, and
 * must not be taken back.
 */
static void ktb_ring_show_lost(struct ktb_ring *ring)
{
	long lost;

	do {
		lost = local_read(&ring->lost);
		WRITE_ONCE(ring->page->lost, lost);
		barrier();
	} while (lost != local_read(&ring->lost));
}

/**
 * ktb_ring_look - wake who waits, if there is something to read
 * @ring: the ring of this CPU
 *
 * Where ktb_ring_reserve_first() failed and nothing is written in its place: what
 * nested may have been published by it, which tells nobody. Any context; inside of a
 * record that is being written, there is nothing to tell yet.
 */
void ktb_ring_look(struct ktb_ring *ring)
{
	if (READ_ONCE(ring->waiting) && !ktb_ring_busy(ring) && ktb_ring_unread(ring))
		ktb_ring_notify(ring);
}

/**
 * ktb_ring_cancel_first - the record of ktb_ring_reserve_first() is not to be
 * @ring: the ring it was reserved from
 * @context: as given there
 * @size: as given there
 *
 * Takes it back. What nested meanwhile is complete, lies behind it and left the
 * publishing to us: it moves up. In place of ktb_ring_commit_first().
 */
void ktb_ring_cancel_first(struct ktb_ring *ring, u8 context, unsigned int size)
{
	/* All before it was published when it was reserved. */
	unsigned long to = data_race(ring->published), from = to + size, head;
	void *data;

	do {
		head = local_read(&ring->head);
		/* The data are mapped twice in a row: what follows does not wrap. */
		data = ring->data + (to & ring->mask);
		if (unlikely(head != from))
			memmove(data, data + (from - to), head - from);
		to += head - from;
		from = head;
	} while (unlikely(!local_try_cmpxchg(&ring->head, &head, to)));
	ktb_ring_publish_outermost(ring, context);
	/* Nobody is woken for what is not there. */
	if (unlikely(data_race(ring->waiting)))
		ktb_ring_look(ring);
}

/**
 * ktb_ring_lose - count one hit that does not reach the ring
 * @ring: the ring of this CPU, or ktb_ring_none
 *
 * Any context, preemption disabled.
 */
void ktb_ring_lose(struct ktb_ring *ring)
{
	if (ring == &ktb_ring_none)
		return;
	local_inc(&ring->lost);
	WRITE_ONCE(ring->limit, 0);
	ktb_ring_show_lost(ring);
	/* Once: where the end of an irq_work is a hit that is lost, each would ask for another. */
	if (READ_ONCE(ring->loss_told))
		ktb_ring_look(ring);
	else if (!READ_ONCE(ring->quiet))
		irq_work_queue(&ring->work);
}

/**
 * ktb_ring_lift_limit - let the fast path take records again
 * @ring: the ring of this CPU
 *
 * Unless there is a loss to be stated. The limit goes up before the look: what is
 * lost later brings it down itself. Any context, preemption disabled.
 */
void ktb_ring_lift_limit(struct ktb_ring *ring)
{
	if (!ring->direct)
		return;
	WRITE_ONCE(ring->limit, ring->max_record);
	barrier();
	if (local_read(&ring->lost) != local_read(&ring->stated))
		WRITE_ONCE(ring->limit, 0);
}

/**
 * ktb_ring_lost_take - how many hits were lost that are not stated
 * @ring: the ring of this CPU
 * @lost: from ktb_ring_lost_any()
 *
 * The caller states them. What was lost after it asked is not among them: others
 * may have written in between. Any context, preemption disabled.
 *
 * Return: the number; 0 if a context that nested meanwhile took them.
 */
unsigned long ktb_ring_lost_take(struct ktb_ring *ring, unsigned long lost)
{
	unsigned long stated = local_read(&ring->stated);

	do {
		if ((long)(lost - stated) <= 0) {
			stated = lost;
			break;
		}
	} while (!local_try_cmpxchg(&ring->stated, &stated, lost));
	ktb_ring_lift_limit(ring);
	return lost - stated;
}

/**
 * ktb_ring_freeze - stop an overwrite ring for a snapshot, or let it go on
 * @ring: the ring
 * @freeze: which
 *
 * Writers that had begun before may still be writing: the caller waits for
 * them. Hits that come while the ring is frozen are lost, and counted. Process
 * context.
 */
void ktb_ring_freeze(struct ktb_ring *ring, bool freeze)
{
	WRITE_ONCE(ring->frozen, freeze);
	if (freeze)
		ktb_ring_wake(ring);
}

/**
 * ktb_ring_poll - whether there is something to read, and wake us when there is
 * @ring: the ring
 *
 * Called from poll(2), after poll_wait(). It asks for a wake-up in any case: an
 * edge-triggered epoll does not come back before the next one.
 *
 * Return: whether there is.
 */
bool ktb_ring_poll(struct ktb_ring *ring)
{
	if (ring->overwrite)
		return ktb_ring_readable(ring);
	return ktb_ring_wait(ring, KTB_RING_ANY);
}

/**
 * ktb_ring_ripen - what is unread is to be read now, whatever the watermark
 * @ring: the ring
 *
 * Process context.
 */
void ktb_ring_ripen(struct ktb_ring *ring)
{
	const u8 waiting = READ_ONCE(ring->waiting);

	ktb_ring_tell_loss(ring); /* of while it was quiet */
	if (ring->overwrite)
		return;
	/* Empty now, it may fill below the watermark: that is to be told again. */
	if (!ktb_ring_unread(ring) && !ktb_ring_wait(ring, KTB_RING_ANY)) {
		/* The second table, here too: once more, when a missed record has arrived. */
		if (waiting != KTB_RING_ANY)
			ring->ops->linger(ring);
		return;
	}
	WRITE_ONCE(ring->ripe, READ_ONCE(ring->published));
	ktb_ring_wake(ring);
}

/**
 * ktb_ring_set_watermark - at how many unread bytes a sleeping reader is woken
 * @ring: the ring
 * @watermark: bytes; half the ring at most, it might never come to more
 */
void ktb_ring_set_watermark(struct ktb_ring *ring, unsigned int watermark)
{
	WRITE_ONCE(ring->watermark, min_t(unsigned long, watermark, ring->size / 2));
}

/*
 * Bytes of whole records, from @tail on, that fit into @len. The positions come
 * from a page that the reader may have scribbled on; the caller made sure that
 * they enclose at most one ring's worth of data. Process context, as it may be long.
 */
static ssize_t ktb_ring_fit(const struct ktb_ring *ring, u64 tail, u64 head,
			    size_t len)
{
	unsigned int records = 0;
	size_t fit = 0;

	while (tail + fit != head) {
		const struct perf_event_header *header =
			ring->data + ((tail + fit) & ring->mask);
		u16 size = READ_ONCE(header->size);

		if (size < sizeof(*header) || size % sizeof(u64) ||
		    size > head - tail - fit)
			return -EIO;
		if (size > len - fit)
			return fit ? fit : -EMSGSIZE;
		fit += size;
		if (!(++records % 65536))
			cond_resched();
	}
	return fit;
}

/**
 * ktb_ring_read - copy whole records out and consume them
 * @ring: the ring
 * @buf: where to
 * @len: bytes there
 *
 * Process context.
 *
 * Return: bytes copied, 0 when there is nothing to read, or
 * * -EOPNOTSUPP - an overwrite ring, which is read by mapping it
 * * -EMSGSIZE - the next record is longer than @len
 * * -EIO - the control page's positions are not those of the ring
 * * -EFAULT - @buf is not writable
 * * -ERESTARTSYS - a signal came while another read was under way
 */
ssize_t ktb_ring_read(struct ktb_ring *ring, char __user *buf, size_t len)
{
	u64 head, tail;
	ssize_t fit;

	if (ring->overwrite)
		return -EOPNOTSUPP;
	if (mutex_lock_interruptible(&ring->read_lock))
		return -ERESTARTSYS;

	tail = READ_ONCE(ring->page->data_tail);
	head = smp_load_acquire(&ring->published); /* C */
	if (head - tail > ring->size || tail % sizeof(u64)) {
		fit = -EIO;
		goto out;
	}

	/*
	 * A position that somebody made up may lead to where records are being written.
	 * What is read there is of no use, but of this ring: no race to be told of.
	 */
	kcsan_disable_current();
	fit = ktb_ring_fit(ring, tail, head, len);
	if (fit > 0 && copy_to_user(buf, ring->data + (tail & ring->mask), fit))
		fit = -EFAULT;
	kcsan_enable_current();
	if (fit > 0)
		smp_store_release(&ring->page->data_tail, tail + fit); /* D */
out:
	mutex_unlock(&ring->read_lock);
	return fit;
}

/**
 * ktb_ring_renew - make the control page right for a new reader
 * @ring: the ring; no reader is bound to it
 *
 * Whoever mapped it before may have left anything there. A tail that cannot be
 * is set back to the last one that could: nothing after that is overwritten. From
 * one inside of a record there is no way to the next: all up to here is given up.
 */
void ktb_ring_renew(struct ktb_ring *ring)
{
	struct ktb_ring_page *page = ring->page;
	unsigned long head, tail, known;
	long lost;

	page->magic = KTB_RING_MAGIC;
	page->version = KTB_RING_VERSION;
	page->size = sizeof(*page);
	page->session = ring->session;
	page->cpu = ring->cpu;
	page->data_offset = PAGE_SIZE;
	page->data_size = ring->size;
	page->sample_type = ring->sample_type;
	page->clockid = CLOCK_MONOTONIC;
	page->flags = ring->flags;
	/* The producer may publish and lose meanwhile: what it says last stays. */
	do {
		head = READ_ONCE(ring->published);
		lost = local_read(&ring->lost);
		smp_store_release(&page->data_head, head); /* B */
		WRITE_ONCE(page->lost, lost);
		smp_mb(); /* our stores before the look whether they are the last */
	} while (head != READ_ONCE(ring->published) ||
		 lost != local_read(&ring->lost));
	if (ring->overwrite)
		return;
	known = READ_ONCE(ring->tail);
	tail = READ_ONCE(page->data_tail);
	if (tail - known > head - known || tail % sizeof(u64))
		tail = known;
	if (ktb_ring_fit(ring, tail, head, SIZE_MAX) < 0)
		tail = head;
	if (tail != READ_ONCE(page->data_tail))
		WRITE_ONCE(page->data_tail, tail);
}

/**
 * ktb_ring_create - make the ring of one CPU
 * @cpu: the CPU that will write it; its node gives the memory
 * @config: what for
 *
 * Fails fast when memory is short, without calling on the OOM killer. Process
 * context. Counterpart of rb_alloc().
 *
 * Return: the ring, or ERR_PTR(-ENOMEM), also when the caller is being killed.
 */
struct ktb_ring *ktb_ring_create(int cpu, const struct ktb_ring_config *config)
{
	struct ktb_ring *ring;
	int err;

	ring = kzalloc_node(sizeof(*ring), KTB_RING_GFP, cpu_to_node(cpu));
	if (!ring)
		return ERR_PTR(-ENOMEM);

	ring->cpu = cpu;
	ring->size = config->size;
	ring->mask = config->size - 1;
	ring->max_record = min_t(unsigned long, KTB_RECORD_MAX, config->size / 2);
	ring->overwrite = config->flags & KTB_SESSION_OVERWRITE;
	ring->frozen = config->frozen;
	ring->direct = config->direct && !ring->overwrite;
	ring->limit = ring->direct ? ring->max_record : 0;
	ring->quiet = config->quiet;
	ring->session = config->session;
	ring->flags = config->flags;
	ring->sample_type = config->sample_type;
	if (!ring->overwrite)
		ring->waiting = KTB_RING_ANY; /* readers of all rings may sleep by now */
	ktb_ring_set_watermark(ring, config->watermark);
	ring->ops = config->ops;
	ring->owner = config->owner;
	init_irq_work(&ring->work, ktb_ring_work);
	init_waitqueue_head(&ring->wait);
	mutex_init(&ring->read_lock);

	err = ktb_ring_alloc_pages(ring);
	if (err) {
		kfree(ring);
		return ERR_PTR(err);
	}
	ring->page = ring->base;
	ring->data = ring->base + PAGE_SIZE;
	ktb_ring_renew(ring);
	return ring;
}

/**
 * ktb_ring_quiesce - wait until the ring calls its owner no more
 * @ring: the ring, without producers
 *
 * Process context; one caller at a time, irq_work has room for one.
 */
void ktb_ring_quiesce(struct ktb_ring *ring)
{
	irq_work_sync(&ring->work);
}

/**
 * ktb_ring_hush - send no more wake-ups, the CPU is about to go
 * @ring: the ring of this CPU
 *
 * On PREEMPT_RT the thread that runs irq_work is parked before the CPU stops
 * tracing: a wake-up sent after that would stay behind until the CPU is back, and
 * whoever waits for it, to free the ring, with it. Called by a task on the ring's
 * CPU: no probe is between its look at @ring->quiet and the queueing. One caller
 * at a time, as ktb_ring_quiesce().
 */
void ktb_ring_hush(struct ktb_ring *ring)
{
	WRITE_ONCE(ring->quiet, true);
	ktb_ring_quiesce(ring);
}

/**
 * ktb_ring_speak - send wake-ups again, the CPU is there
 * @ring: the ring
 *
 * Process context.
 */
void ktb_ring_speak(struct ktb_ring *ring)
{
	WRITE_ONCE(ring->quiet, false);
	ktb_ring_ripen(ring); /* what came while it was quiet */
}

/**
 * ktb_ring_destroy - free a ring
 * @ring: the ring, quiesced and without readers
 *
 * Mappings may still be there: they hold references on the pages. Process
 * context.
 */
void ktb_ring_destroy(struct ktb_ring *ring)
{
	ktb_ring_free_pages(ring);
	kfree(ring);
}
