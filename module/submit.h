/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KTB_SUBMIT_H
#define _KTB_SUBMIT_H

#include <linux/perf_event.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/trace_events.h>

#include "callchain.h"
#include "clock.h"
#include "event.h"
#include "ring.h"
#include "target.h"

/*
 * What the records of a session without further options carry, in this order. A
 * callchain, PERF_SAMPLE_CALLCHAIN, stands before the raw data.
 */
#define KTB_SAMPLE_TYPE							\
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |	\
	 PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |	\
	 PERF_SAMPLE_RAW)

/* The same with a callchain, if there is to be one. */
static inline u64 ktb_sample_type(unsigned int max_stack)
{
	return KTB_SAMPLE_TYPE | (max_stack ? PERF_SAMPLE_CALLCHAIN : 0);
}

/*
 * A PERF_RECORD_SAMPLE for KTB_SAMPLE_TYPE, as perf_event_open(2) lays it out;
 * the raw data begins at 4 modulo 8 and ends at a multiple of 8.
 */
struct ktb_sample {
	struct perf_event_header header;
	u64 id;
	u64 ip;
	u32 pid;
	u32 tid;
	u64 time;
	u64 cpu;	/* u32, and a u32 that is reserved: little endian */
	u64 period;
	u32 raw_size;
	char raw[];
} __packed __aligned(4);

static_assert(sizeof(struct ktb_sample) == 60);

/**
 * struct ktb_hit - a hit between its beginning and its end
 * @ec: ring and ledger of this CPU
 * @ring: @ec's
 * @sample: the record, NULL when there is none
 * @entry: its raw data
 * @context: what hit, KTB_CONTEXT_*; 0 if it was begun by ktb_event_begin(); or
 *	KTB_HIT_ASIDE
 *
 * Lives in registers: returned by value, used by inline functions only.
 */
struct ktb_hit {
	struct ktb_event_cpu *ec;
	struct ktb_ring *ring;
	struct ktb_sample *sample;
	void *entry;
	u8 context;
};

/* Of an event with a program: the record is not made in the ring, but aside. */
#define KTB_HIT_ASIDE		BIT(7)

/**
 * struct ktb_aside - where the record of a hit is made before its program has
 * spoken; one per CPU and context
 *
 * Private to the kernel: while the program runs, the record begins with an
 * address, as such programs expect.
 *
 * @busy: in use by its context
 * @size: bytes of the record
 * @place: where it happened
 * @sample: stands in for that of the record
 * @regs: what a tracepoint has for registers, of which there is little
 * @raw: the record
 */
struct ktb_aside {
	bool busy;
	unsigned int size;
	struct ktb_place place;
	struct ktb_sample sample;
	struct pt_regs regs;
	char raw[PERF_MAX_TRACE_SIZE] __aligned(8);
};

bool ktb_event_admit(struct ktb_event *event, u64 count);
struct ktb_hit ktb_event_begin_slow(const struct ktb_event *event,
				    unsigned int size, unsigned long ip,
				    const unsigned long *frame);
void ktb_event_end_slow(struct ktb_ring *ring, u8 context);
void ktb_event_recursed(struct ktb_event *event);
void ktb_event_throttle(struct ktb_event *event, bool throttle);
void ktb_event_submit(struct ktb_event *event, const void *raw, unsigned int size,
		      u64 count, struct pt_regs *regs, const void *context);
void ktb_event_end_program(struct ktb_event *event, struct ktb_sample *sample, u8 context,
			   u64 count);

/* Bits of preempt_count() that are not set where most events happen. */
#define KTB_CONTEXT_UNUSUAL	(NMI_MASK | HARDIRQ_MASK | SOFTIRQ_MASK | \
				 (PREEMPT_MASK & ~0xf))

/* preempt_count(), softirq's part too where PREEMPT_RT keeps it in the task. */
static __always_inline unsigned int ktb_preempt_count(void)
{
	unsigned int pc = preempt_count();

	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		pc |= softirq_count();
	return pc;
}

/* A task, no interrupt, and nothing to say of it in the trace flags. */
static __always_inline bool ktb_context_usual(unsigned int pc)
{
	return likely(!(pc & KTB_CONTEXT_UNUSUAL) && !tif_need_resched() &&
		      !test_preempt_need_resched() && !ktb_need_resched_lazy() &&
		      !current->migration_disabled && !ktb_lazy_count());
}

/* Whether it is the reader's own doing. */
static __always_inline bool ktb_event_excluded(const struct ktb_event *event)
{
	return unlikely(current->tgid == READ_ONCE(event->excluded_tgid));
}

/* What tracing_gen_ctx() says, which is not exported. */
struct ktb_trace_ctx {
	u8 flags;
	u8 counts;
	u8 lazy_count;
};

/* All of a record but where it was and what its event says: @size bytes at @raw. */
static __always_inline void
ktb_sample_fill(struct ktb_sample *sample, void *raw, unsigned int size,
		const struct ktb_event *event, u64 time)
{
	const unsigned int full = ALIGN(raw + size - (void *)sample, sizeof(u64));

	/* The up to seven bytes behind the data. */
	if (!__builtin_constant_p(size) || (void *)sample + full != raw + size)
		*(u64 *)((void *)sample + full - sizeof(u64)) = 0;

	sample->header = (struct perf_event_header) {
		.type = PERF_RECORD_SAMPLE,
		.misc = PERF_RECORD_MISC_KERNEL,
		.size = full,
	};
	sample->id = event->id;
	sample->pid = current->tgid;
	sample->tid = current->pid;
	sample->time = time;
	sample->cpu = (u32)raw_smp_processor_id();
	sample->period = event->period;
	((u32 *)raw)[-1] = (void *)sample + full - raw;
}

/* The common fields, as tracing_generic_entry_update() fills them. */
static __always_inline void
ktb_entry_fill(struct trace_entry *entry, const struct ktb_event *event,
	       struct ktb_trace_ctx ctx)
{
	entry->type = event->type;
	entry->flags = ctx.flags;
	entry->preempt_count = ctx.counts;
	entry->pid = current->pid;
	ktb_entry_set_lazy_count(entry, ctx.lazy_count);
}

/* What a hit has to pass: 0 for none but the usual. It changes at any time. */
static __always_inline unsigned int ktb_event_mode(const struct ktb_event *event)
{
	return READ_ONCE(event->mode);
}

static __always_inline void ktb_event_filter(const struct ktb_event *event)
{
	struct ktb_event_cpu *ec = this_cpu_ptr(event->cpu);

	local_inc(&ec->hits);
	local_inc(&ec->filtered);
}

/**
 * ktb_event_turn_away - a hit of an event with a mode: is it one of another's task
 * @event: the event
 * @mode: its mode
 *
 * Inline in the probe, as it is all that most hits of an event with a target take.
 * Any context, preemption disabled.
 *
 * Return: whether it is, or the event is disabled: then the hit is accounted for.
 */
static __always_inline bool ktb_event_turn_away(const struct ktb_event *event,
						unsigned int mode)
{
	if (mode & KTB_EVENT_DISABLED)
		return true;
	if (!(mode & KTB_EVENT_TARGETED) || ktb_target_hit(event->target))
		return false;
	ktb_event_filter(event);
	return true;
}

/**
 * ktb_record_begin_usual - begin the record of a hit, in the usual case
 * @event: the event
 * @size: bytes of the raw data, common fields included
 * @time: when
 * @hit: set, the record filled but for its ip and the event's own fields
 *
 * A task hits, nothing else writes to the ring, and it has room. An ip is left to
 * the caller: loaded before, it takes a register all the way.
 *
 * Return: whether it is the usual case. If not, nothing was done.
 */
static __always_inline bool
ktb_record_begin_usual(const struct ktb_event *event, unsigned int size, u64 time,
		       struct ktb_hit *hit)
{
	const unsigned int full = ALIGN(sizeof(struct ktb_sample) + size, sizeof(u64));
	struct ktb_event_cpu *ec = this_cpu_ptr(event->cpu);
	struct ktb_ring *ring = ec->ring;
	struct ktb_sample *sample;
	void *record;

	/* What interrupts us may change the limit: that was before us, or after. */
	if (unlikely(!ktb_context_usual(ktb_preempt_count()) ||
		     ktb_event_excluded(event) || ktb_ring_busy(ring) ||
		     full > data_race(ring->limit) ||
		     !ktb_ring_reserve_first(ring, full, KTB_CONTEXT_TASK, &record)))
		return false;

	sample = record;
	ktb_sample_fill(sample, sample->raw, size, event, time);
	ktb_entry_fill((void *)sample->raw, event,
		       (struct ktb_trace_ctx) {
			       .flags = irqs_disabled() * TRACE_FLAG_IRQS_OFF,
			       .counts = ktb_preempt_count(),
		       });
	*hit = (struct ktb_hit) { ec, ring, sample, sample->raw, 0 };
	return true;
}

/**
 * ktb_event_begin - a hit happened: begin its record, in the usual case
 * @event: the event
 * @mode: its mode, from ktb_event_mode() in this probe: who disables an event waits
 *	for the last one
 * @size: bytes of the raw data, common fields included
 * @hit: set, with the raw data filled but for the event's own fields
 *
 * Inline in the probe, in the tracepoint's context, any, preemption disabled
 * until ktb_event_end(). Here is what happens nearly always: the event has no
 * options, a task hits, nothing else writes to the ring, and it has room. It
 * calls nothing, so that a probe that calls nothing either needs no stack.
 * Counterpart of perf_trace_buf_alloc() and perf_trace_buf_update().
 *
 * Return: whether it is the usual case. If not, nothing was done: the caller
 * goes the long way, ktb_event_admit() and ktb_event_begin_slow().
 */
static __always_inline bool
ktb_event_begin(const struct ktb_event *event, unsigned int mode, unsigned int size,
		struct ktb_hit *hit)
{
	u64 time;

	if (unlikely(mode))
		return false;
	/* First, while few registers are in use. */
	if (unlikely(!ktb_clock_read(&time)) ||
	    unlikely(!ktb_record_begin_usual(event, size, time, hit)))
		return false;
	hit->sample->ip = _RET_IP_;
	local_inc(&hit->ec->hits);
	return true;
}

/**
 * ktb_event_count - the hit counts for more than one
 * @hit: the hit, with a record or without
 * @count: perf's event count, __perf_count() of the event
 */
static __always_inline void ktb_event_count(struct ktb_hit hit, u64 count)
{
	if (hit.sample)
		hit.sample->period *= count;
	/* Without a ring it was filtered, or is to be, perhaps. */
	if (likely(hit.ring))
		local_add(count - 1, &hit.ec->extra);
}

/**
 * ktb_event_end - the record is complete
 * @hit: the hit, with a record
 *
 * Counterpart of perf_trace_buf_submit().
 */
static __always_inline void ktb_event_end(struct ktb_hit hit)
{
	local_inc(&hit.ec->written);
	if (!hit.context)
		ktb_ring_commit_first(hit.ring, KTB_CONTEXT_TASK);
	else
		ktb_event_end_slow(hit.ring, hit.context);
}

#endif /* _KTB_SUBMIT_H */
