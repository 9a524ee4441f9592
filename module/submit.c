// SPDX-License-Identifier: GPL-2.0-only
/*
 * From a hit to a record: what every probe calls. Everything here runs in the
 * context of the tracepoint, up to NMI and under any lock, with preemption
 * disabled; it takes no lock, allocates nothing, and calls nothing that is
 * traced. Mirrors perf_trace_buf_alloc() and perf_trace_run_bpf_submit() of
 * kernel/trace/trace_event_perf.c.
 */

#include <linux/sched.h>
#include <linux/timekeeping.h>
#include <linux/trace_events.h>

#include "compat.h"
#include "ring.h"
#include "submit.h"

#define KTB_IRQ_CONTEXT		(NMI_MASK | HARDIRQ_MASK | SOFTIRQ_MASK)

/* A PERF_RECORD_LOST, with the sample_id that KTB_SAMPLE_TYPE asks for. */
struct ktb_lost {
	struct perf_event_header header;
	u64 id;
	u64 lost;
	u32 pid;
	u32 tid;
	u64 time;
	u32 cpu;
	u32 reserved;
	u64 identifier;
};

/* One mark per context that can nest: task, softirq, hardirq, NMI. */
static DEFINE_PER_CPU(u8[4], ktb_busy);

/* preempt_count(), softirq's part too where PREEMPT_RT keeps it in the task. */
static __always_inline unsigned int ktb_preempt_count(void)
{
	unsigned int pc = preempt_count();

	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		pc |= softirq_count();
	return pc;
}

/*
 * On PREEMPT_RT softirqs run in threads, which do not nest in a task that has
 * preemption disabled: there, both are one level.
 */
static __always_inline unsigned int ktb_context_level(unsigned int pc)
{
	if (likely(!(pc & KTB_IRQ_CONTEXT)))
		return 0;
	return interrupt_context_level();
}

/* Mirrors tracing_gen_ctx_irq_test(), which is not exported. */
static __always_inline unsigned int ktb_trace_ctx(unsigned int pc)
{
	unsigned int flags = 0;

	if (irqs_disabled())
		flags |= TRACE_FLAG_IRQS_OFF;
	if (unlikely(pc & KTB_IRQ_CONTEXT)) {
		if (pc & NMI_MASK)
			flags |= TRACE_FLAG_NMI;
		if (pc & HARDIRQ_MASK)
			flags |= TRACE_FLAG_HARDIRQ;
		if (pc & SOFTIRQ_OFFSET)
			flags |= TRACE_FLAG_SOFTIRQ;
		if ((pc & SOFTIRQ_MASK) >> (SOFTIRQ_SHIFT + 1))
			flags |= TRACE_FLAG_BH_OFF;
	}
	if (tif_need_resched())
		flags |= TRACE_FLAG_NEED_RESCHED;
	if (test_preempt_need_resched())
		flags |= TRACE_FLAG_PREEMPT_RESCHED;

	return flags << 16 | min(pc & PREEMPT_MASK, 0xfU) |
	       min_t(unsigned int, current->migration_disabled, 0xf) << 4;
}

/**
 * ktb_event_admit - whether a hit of an event with a mode makes a record
 * @event: the event
 *
 * A hit that is turned away is accounted for here.
 */
bool ktb_event_admit(struct ktb_event *event)
{
	struct ktb_event_cpu *ec = this_cpu_ptr(event->cpu);
	unsigned int mode = READ_ONCE(event->mode);

	if (mode & KTB_EVENT_DISABLED)
		return false;
	if (mode & KTB_EVENT_TARGETED && current != event->target) {
		local_inc(&ec->hits);
		local_inc(&ec->filtered);
		return false;
	}
	if (mode & KTB_EVENT_COUNT_ONLY ||
	    (mode & KTB_EVENT_SAMPLED &&
	     local_inc_return(&ec->since) % event->period)) {
		local_inc(&ec->hits);
		local_inc(&ec->not_sampled);
		return false;
	}
	return true;
}

/*
 * State in the stream that hits were lost before what comes next. False when
 * there is no room to say so: then there is none for the next record either.
 */
static noinline bool ktb_lost_write(struct ktb_ring *ring, u64 id)
{
	unsigned long lost = local_xchg(&ring->lost, 0);
	struct ktb_lost *record;

	if (!lost)
		return true;

	record = ktb_ring_reserve(ring, sizeof(*record));
	if (!record) {
		local_add(lost, &ring->lost);
		return false;
	}
	*record = (struct ktb_lost) {
		.header.type	= PERF_RECORD_LOST,
		.header.size	= sizeof(*record),
		.id		= id,
		.lost		= lost,
		.pid		= current->tgid,
		.tid		= current->pid,
		.time		= ktime_get_mono_fast_ns(),
		.cpu		= ring->cpu,
		.identifier	= id,
	};
	ktb_ring_commit(ring);
	return true;
}

/* Account for a hit that found no room; @size is that of the record. */
static noinline void ktb_event_lose(struct ktb_event_cpu *ec, unsigned int size)
{
	if (ec->ring && size > ec->ring->max_record)
		local_inc(&ec->lost_big);
	else
		local_inc(&ec->lost_full);
	if (ec->ring)
		ktb_ring_lose(ec->ring);
}

static __always_inline struct ktb_sample *
ktb_sample_reserve(struct ktb_event *event, struct ktb_event_cpu *ec,
		   unsigned int size)
{
	struct ktb_ring *ring = ec->ring;

	if (unlikely(!ring || size > ring->max_record))
		return NULL;
	if (unlikely(local_read(&ring->lost)) && !ktb_lost_write(ring, event->id))
		return NULL;
	return ktb_ring_reserve(ring, size);
}

static __always_inline void
ktb_sample_fill(struct ktb_sample *sample, unsigned int size,
		const struct ktb_event *event, unsigned long ip)
{
	/* The up to seven bytes behind the data. */
	*(u64 *)((void *)sample + size - sizeof(u64)) = 0;

	sample->header.type = PERF_RECORD_SAMPLE;
	sample->header.misc = PERF_RECORD_MISC_KERNEL;
	sample->header.size = size;
	sample->id = event->id;
	sample->ip = ip;
	sample->pid = current->tgid;
	sample->tid = current->pid;
	sample->time = ktime_get_mono_fast_ns();
	sample->cpu = raw_smp_processor_id();
	sample->reserved = 0;
	sample->period = event->period;
	sample->raw_size = size - sizeof(*sample);
}

/**
 * ktb_event_begin - a hit happened: begin its record
 * @event: the event
 * @handle: for ktb_event_end()
 * @size: bytes of the raw data, common fields included
 * @ip: where the tracepoint stands
 *
 * Counterpart of perf_trace_buf_alloc() and perf_trace_buf_update().
 *
 * Return: where the raw data goes, its common fields filled, or NULL when the
 * hit makes no record; then it is accounted for.
 */
void *ktb_event_begin(struct ktb_event *event, struct ktb_handle *handle,
		      unsigned int size, unsigned long ip)
{
	struct ktb_event_cpu *ec = this_cpu_ptr(event->cpu);
	unsigned int pc = ktb_preempt_count();
	u8 *busy = this_cpu_ptr(ktb_busy) + ktb_context_level(pc);
	struct ktb_sample *sample;

	local_inc(&ec->hits);
	if (unlikely(*busy)) {
		local_inc(&ec->lost_recursion);
		if (ec->ring)
			ktb_ring_lose(ec->ring);
		return NULL;
	}
	*busy = 1;
	barrier();

	size = ALIGN(sizeof(*sample) + size, sizeof(u64));
	sample = ktb_sample_reserve(event, ec, size);
	if (unlikely(!sample)) {
		ktb_event_lose(ec, size);
		barrier();
		*busy = 0;
		return NULL;
	}

	handle->ec = ec;
	handle->busy = busy;
	ktb_sample_fill(sample, size, event, ip);
	tracing_generic_entry_update((struct trace_entry *)sample->raw,
				     event->type, ktb_trace_ctx(pc));
	return sample->raw;
}

/**
 * ktb_event_end - the record is complete
 * @handle: from ktb_event_begin()
 *
 * Counterpart of perf_trace_buf_submit().
 */
void ktb_event_end(struct ktb_handle *handle)
{
	struct ktb_event_cpu *ec = handle->ec;

	local_inc(&ec->written);
	ktb_ring_commit(ec->ring);
	barrier();
	*handle->busy = 0;
}

/**
 * ktb_event_count - the hit counts for more than one
 * @handle: from ktb_event_begin()
 * @entry: what that returned
 * @count: perf's event count, __perf_count() of the event
 */
void ktb_event_count(struct ktb_handle *handle, void *entry, u64 count)
{
	struct ktb_sample *sample = container_of(entry, struct ktb_sample, raw);

	sample->period = count;
	local_add(count - 1, &handle->ec->extra);
}
