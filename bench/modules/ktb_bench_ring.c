// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the ring costs, in ticks of the time stamp counter: made of the module's
 * own ring.c, by itself. Reading the parameter "result" measures: for each ring
 * size the cost of a record of 64 bytes, reserved, filled and committed, less that
 * of filling 64 bytes of memory; upwards, as most sessions write, and downwards, as
 * those that overwrite do. A reader that keeps up is had by moving its position.
 */
#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/sort.h>
#include <linux/timex.h>
#include <linux/vmalloc.h>
#include <module/ring.c>
#include <module/ring_pages.c>

#define RECORD	64
#define BATCH	500	/* records; half of the smallest ring */
#define BATCHES	41

static void bench_ignore(struct ktb_ring *ring)
{
}

static const struct ktb_ring_ops bench_ops = {
	.wake	= bench_ignore,
	.linger	= bench_ignore,
	.lost	= bench_ignore,
};

/* The payload's own stores: in memory, as the compiler must not merge them. */
static __always_inline void bench_fill(void *record)
{
	for (unsigned int i = 0; i < RECORD / sizeof(u64); i++)
		WRITE_ONCE(((u64 *)record)[i], i);
}

static noinline void bench_memory(void *memory)
{
	for (unsigned int i = 0; i < BATCH; i++) {
		bench_fill(memory);
		barrier();
	}
}

static noinline void bench_discard(struct ktb_ring *ring)
{
	void *record;

	for (unsigned int i = 0; i < BATCH; i++) {
		while (!ktb_ring_reserve(ring, RECORD, KTB_CONTEXT_TASK, &record))
			if (!ktb_ring_make_room(ring, RECORD))
				return;
		bench_fill(record);
		ktb_ring_commit(ring, KTB_CONTEXT_TASK);
	}
}

static noinline void bench_overwrite(struct ktb_ring *ring)
{
	void *record;

	for (unsigned int i = 0; i < BATCH; i++) {
		if (!ktb_ring_overwrite(ring, RECORD, KTB_CONTEXT_TASK, &record))
			return;
		bench_fill(record);
		ktb_ring_commit(ring, KTB_CONTEXT_TASK);
	}
}

/* Ticks of one batch. */
static u64 bench_batch(struct ktb_ring *ring, void *memory)
{
	u64 start;

	preempt_disable();
	local_irq_disable();
	start = get_cycles();
	if (!ring)
		bench_memory(memory);
	else if (ring->overwrite)
		bench_overwrite(ring);
	else
		bench_discard(ring);
	start = get_cycles() - start;
	local_irq_enable();
	preempt_enable();
	if (ring)
		WRITE_ONCE(ring->page->data_tail, ring->page->data_head);
	return start;
}

static int bench_compare(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Hundredths of a tick for each record, the median of batches all over the ring. */
static u64 bench_ticks(struct ktb_ring *ring, void *memory)
{
	unsigned long between = ring ? ring->size / RECORD / BATCH / BATCHES : 0;
	u64 ticks[BATCHES];

	for (unsigned int i = 0; i < BATCHES; i++) {
		for (unsigned long n = 0; n < between; n++)
			bench_batch(ring, memory);
		ticks[i] = bench_batch(ring, memory);
		cond_resched();
	}
	sort(ticks, BATCHES, sizeof(*ticks), bench_compare, NULL);
	return ticks[BATCHES / 2] * 100 / BATCH;
}

static int bench_line(char *buffer, int at, void *memory, unsigned long size, u32 flags)
{
	struct ktb_ring_config config = {
		.size = size,
		.watermark = size / 2,
		.flags = flags,
		.ops = &bench_ops,
	};
	struct ktb_ring *ring = ktb_ring_create(raw_smp_processor_id(), &config);
	u64 ticks, written;

	if (IS_ERR(ring))
		return PTR_ERR(ring);
	ring->waiting = KTB_RING_NOBODY;
	ticks = bench_ticks(ring, NULL) - bench_ticks(NULL, memory);
	written = ring->overwrite ? -ring->page->data_head : ring->page->data_head;
	at += sysfs_emit_at(buffer, at, "%s %lu %llu.%02llu %llu\n",
			    ring->overwrite ? "overwrite" : "discard", size >> 10,
			    ticks / 100, ticks % 100, written / RECORD);
	ktb_ring_quiesce(ring);
	ktb_ring_destroy(ring);
	return at;
}

static int bench_result_get(char *buffer, const struct kernel_param *kp)
{
	static const unsigned long sizes[] = { SZ_64K, SZ_1M, SZ_16M, SZ_256M };
	u64 memory[RECORD / sizeof(u64)];
	int at = 0;

	for (unsigned int i = 0; i < 2 * ARRAY_SIZE(sizes) && at >= 0; i++)
		at = bench_line(buffer, at, memory, sizes[i / 2],
				i % 2 ? KTB_SESSION_OVERWRITE : 0);
	return at;
}

static const struct kernel_param_ops bench_result_ops = {
	.get = bench_result_get,
};

module_param_cb(result, &bench_result_ops, NULL, 0400);
MODULE_PARM_DESC(result, "mode, KiB of ring, ticks beyond the stores of 64 bytes, records written");
MODULE_DESCRIPTION("what a record costs in the ring of ktrace_bridge");
MODULE_LICENSE("GPL");
