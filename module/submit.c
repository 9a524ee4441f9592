// SPDX-License-Identifier: GPL-2.0-only
/*
 * From a hit to a record: what every probe calls. Everything here runs in the
 * context of the tracepoint, up to NMI and under any lock, with preemption
 * disabled; it takes no lock, allocates nothing, and calls nothing that is
 * traced. Mirrors perf_trace_buf_alloc() and perf_trace_buf_submit() of the
 * kernel's trace_event_perf.c.
 */

#include "callchain.h"
#include "cgroup.h"
#include "program.h"
#include "submit.h"

/* The sample_id at the end of other records that KTB_SAMPLE_TYPE asks for. */
struct ktb_sample_id {
	u32 pid;
	u32 tid;
	u64 time;
	u32 cpu;
	u32 reserved;
	u64 identifier;
};

/* A PERF_RECORD_LOST. */
struct ktb_lost {
	struct perf_event_header header;
	u64 id;
	u64 lost;
	struct ktb_sample_id sample_id;
};

/* A PERF_RECORD_THROTTLE or PERF_RECORD_UNTHROTTLE. */
struct ktb_throttle {
	struct perf_event_header header;
	u64 time;
	u64 id;
	u64 stream_id;
	struct ktb_sample_id sample_id;
};

static struct ktb_sample_id ktb_sample_id(u64 id, const struct ktb_ring *ring, u64 time)
{
	return (struct ktb_sample_id) {
		.pid		= current->tgid,
		.tid		= current->pid,
		.time		= time,
		.cpu		= ring->cpu,
		.identifier	= id,
	};
}

/*
 * What runs, KTB_CONTEXT_*, or 0 where that writes to the ring already: a hit of
 * our own doing. On PREEMPT_RT softirqs run in threads, which do not nest in a task
 * that has preemption disabled; there, both are one context.
 *
 * The end of an interrupt looks like what was interrupted, and so does a hit of our
 * own doing where interrupts are off: that is found out when it hits once more.
 */
static u8 ktb_context(const struct ktb_ring *ring)
{
	u8 busy = ktb_ring_busy(ring), context = BIT(interrupt_context_level());

	if (likely(!(busy & context)))
		return context;
	return irqs_disabled() ? KTB_CONTEXT_IRQ_EXIT & ~busy : 0;
}

/* Mirrors tracing_gen_ctx(), which is not exported. */
static __always_inline struct ktb_trace_ctx ktb_trace_ctx(void)
{
	unsigned int pc = ktb_preempt_count();
	u8 flags = irqs_disabled() * TRACE_FLAG_IRQS_OFF;

	/* A task whose ring overwrites, for one. */
	if (ktb_context_usual(pc))
		return (struct ktb_trace_ctx) { .flags = flags, .counts = pc };

	if (pc & NMI_MASK)
		flags |= TRACE_FLAG_NMI;
	if (pc & HARDIRQ_MASK)
		flags |= TRACE_FLAG_HARDIRQ;
	if (pc & SOFTIRQ_OFFSET)
		flags |= TRACE_FLAG_SOFTIRQ;
	if ((pc & SOFTIRQ_MASK) >> (SOFTIRQ_SHIFT + 1))
		flags |= TRACE_FLAG_BH_OFF;
	if (tif_need_resched())
		flags |= TRACE_FLAG_NEED_RESCHED;
	if (ktb_need_resched_lazy())
		flags |= KTB_TRACE_FLAG_LAZY;
	if (test_preempt_need_resched())
		flags |= TRACE_FLAG_PREEMPT_RESCHED;

	return (struct ktb_trace_ctx) {
		.flags = flags,
		.counts = min_t(u32, current->migration_disabled, 0xf) << 4 |
			  min_t(u32, pc & PREEMPT_MASK, 0xf),
		.lazy_count = ktb_lazy_count(),
	};
}

/* Whether the period, or a session without rings, lets a hit make a record. */
static __always_inline bool ktb_event_samples(const struct ktb_event *event,
					      struct ktb_event_cpu *ec, unsigned int mode)
{
	return !(mode & KTB_EVENT_COUNT_ONLY) &&
	       !(mode & KTB_EVENT_SAMPLED && local_inc_return(&ec->since) % event->period);
}

/* Whether the task, the CPU, the group of who hits is one that the event is to take. */
static __always_inline bool ktb_event_is_for(const struct ktb_event *event, unsigned int mode)
{
	return !((mode & KTB_EVENT_TARGETED && !ktb_target_hit(event->target)) ||
		 (mode & KTB_EVENT_ON_CPUS &&
		  !cpumask_test_cpu(raw_smp_processor_id(), &event->cpus)) ||
		 (mode & KTB_EVENT_IN_CGROUP && !ktb_cgroup_hit(event->cgroup)) ||
		 ktb_event_excluded(event));
}

/**
 * ktb_event_admit - whether a hit of an event with a mode makes a record
 * @event: the event
 * @count: perf's event count of the hit
 *
 * A hit that is turned away is accounted for here.
 *
 * Return: whether it does.
 */
bool ktb_event_admit(struct ktb_event *event, u64 count)
{
	struct ktb_event_cpu *ec = this_cpu_ptr(event->cpu);
	unsigned int mode = READ_ONCE(event->mode);
	local_t *ledger;

	if (mode & KTB_EVENT_DISABLED)
		return false;
	if (!ktb_event_is_for(event, mode))
		ledger = &ec->filtered;
	/* Its program comes before the period. */
	else if (!(mode & KTB_EVENT_PROGRAM) && !ktb_event_samples(event, ec, mode))
		ledger = &ec->not_sampled;
	else
		return true;

	local_inc(&ec->hits);
	if (ledger != &ec->filtered)
		local_add(count - 1, &ec->extra);
	local_inc(ledger);
	return false;
}

/* Room for a record, whatever the ring and wherever its reader is. */
static __always_inline bool ktb_ring_begin(struct ktb_ring *ring, unsigned int size,
					   u8 context, void **record)
{
	if (ring->overwrite)
		return ktb_ring_overwrite(ring, size, context, record);
	do {
		if (ktb_ring_reserve(ring, size, context, record))
			return true;
	} while (ktb_ring_make_room(ring, size));
	return false;
}

/*
 * State in the stream that hits were lost before what comes next. The room for it
 * comes first: a context that nests here writes behind that, and if it states the
 * loss itself, 0 is left to us. @time is that of what comes next, so that who sorts by
 * it has both in this order.
 */
static bool ktb_lost_write(struct ktb_ring *ring, u64 id, u64 time, u8 context)
{
	struct ktb_lost *record;
	unsigned long lost;
	void *room;

	if (!ktb_ring_lost_any(ring, &lost))
		return true;
	if (!ktb_ring_begin(ring, sizeof(*record), context, &room))
		return false;
	record = room;
	*record = (struct ktb_lost) {
		.header.type	= PERF_RECORD_LOST,
		.header.size	= sizeof(*record),
		.id		= id,
		.lost		= ktb_ring_lost_take(ring, lost),
		.sample_id	= ktb_sample_id(id, ring, time),
	};
	ktb_ring_commit(ring, context);
	return true;
}

static bool ktb_event_lose(struct ktb_event_cpu *ec, local_t *ledger)
{
	local_inc(ledger);
	ktb_ring_lose(ec->ring);
	return false;
}

/*
 * Room for a record of a hit. There is none inside our own work on this ring,
 * without a ring, for a record that is too long, and where hits were lost
 * before and there is no room even to say so: then the hit is accounted for.
 */
static bool ktb_event_reserve(const struct ktb_event *event,
			      struct ktb_event_cpu *ec, unsigned int size,
			      u64 time, u8 context, void **record)
{
	struct ktb_ring *ring = ec->ring;

	if (ring == &ktb_ring_none)
		return ktb_event_lose(ec, &ec->lost_full);
	if (!context)
		return ktb_event_lose(ec, &ec->lost_recursion);
	if (size > ring->max_record)
		return ktb_event_lose(ec, &ec->lost_big);
	if (!ktb_lost_write(ring, event->id, time, context) ||
	    !ktb_ring_begin(ring, size, context, record))
		return ktb_event_lose(ec, &ec->lost_full);
	return true;
}

/*
 * Begin the record of a hit, whatever it takes; it is one already in the
 * ledger's hits.
 */
static struct ktb_hit ktb_sample_begin(const struct ktb_event *event,
				       struct ktb_event_cpu *ec, unsigned int size,
				       const struct ktb_place *place)
{
	unsigned int raw = offsetof(struct ktb_sample, raw), full;
	struct ktb_hit hit = {
		.ec = ec, .ring = ec->ring, .context = ktb_context(ec->ring),
	};
	const struct ktb_callchain *chain = NULL;
	struct ktb_sample *sample;
	void *record;
	u64 time;

	if (event->max_stack) {
		chain = ktb_callchain_begin(event->max_stack, place);
		raw += ktb_callchain_size(chain);
	}
	/* A callchain took long: what nested in that is earlier than this hit's record. */
	time = ktb_clock();
	full = ALIGN(raw + size, sizeof(u64));
	if (ktb_event_reserve(event, ec, full, time, hit.context, &record)) {
		sample = record;
		ktb_sample_fill(sample, record + raw, size, event, time);
		sample->ip = place->ip;
		if (chain)
			memcpy(record + offsetof(struct ktb_sample, raw_size), chain,
			       ktb_callchain_size(chain));
		hit.sample = sample;
		hit.entry = record + raw;
	}
	if (chain)
		ktb_callchain_end(chain);
	return hit;
}

/*
 * What the program says of a hit, and then the period. One that makes no record is
 * accounted for. @context is what the program expects.
 */
static __always_inline bool
ktb_program_admit(const struct ktb_event *event, struct ktb_event_cpu *ec,
		  const void *context, u64 count)
{
	int keep = ktb_program_run(event, context);

	if (!keep) {
		local_inc(&ec->filtered);
		return false;
	}
	local_add(count - 1, &ec->extra);
	if (keep < 0)
		return ktb_event_lose(ec, &ec->lost_recursion);
	if (ktb_event_samples(event, ec, READ_ONCE(event->mode)))
		return true;
	local_inc(&ec->not_sampled);
	return false;
}

/* Where the record of a hit can be made for its program to see; else it is lost. */
static __always_inline struct ktb_aside *
ktb_aside_begin(struct ktb_event_cpu *ec, unsigned int size, const struct ktb_place *place)
{
	struct ktb_aside *aside;
	local_t *ledger = &ec->lost_big;

	if (likely(size <= sizeof(aside->raw))) {
		aside = ktb_aside_get();
		if (likely(aside)) {
			aside->size = size;
			aside->place = *place;
			return aside;
		}
		ledger = &ec->lost_recursion;
	}
	ktb_event_lose(ec, ledger);
	return NULL;
}

/*
 * The record of a hit that a program is to see: in the ring, in the usual case and for
 * a program that does not mind, else aside. The hit has no ring: whether it counts is
 * not known.
 */
static noinline struct ktb_hit
ktb_program_begin(const struct ktb_event *event, struct ktb_event_cpu *ec,
		  unsigned int size, const struct ktb_place *place)
{
	struct ktb_aside *aside;
	struct ktb_hit hit;

	if (event->program_pure) {
		if (likely(ktb_record_begin_usual(event, size, ktb_clock(), &hit))) {
			hit.sample->ip = place->ip;
			hit.ring = NULL;
			return hit;
		}
		ktb_ring_look(ec->ring);
	}
	aside = ktb_aside_begin(ec, size, place);
	if (!aside)
		return (struct ktb_hit) { .ec = ec, .ring = ec->ring };
	ktb_entry_set_lazy_count((void *)aside->raw, ktb_lazy_count());
	return (struct ktb_hit) {
		.ec = ec, .sample = &aside->sample, .entry = aside->raw,
		.context = KTB_HIT_ASIDE,
	};
}

/* Most records are short: no call, and no string instruction to start. */
static __always_inline void ktb_copy(void *to, const void *from, unsigned int size)
{
	if (unlikely(size > 256)) {
		memcpy(to, from, size);
		return;
	}
	for (; size >= sizeof(u64); size -= sizeof(u64)) {
		*(u64 *)to = *(const u64 *)from;
		to += sizeof(u64);
		from += sizeof(u64);
	}
	while (size--)
		*(u8 *)to++ = *(const u8 *)from++;
}

/*
 * Write what was made aside. The address it begins with, seen by the program, stays
 * there: readers see the ring at any time.
 */
static void ktb_aside_write(const struct ktb_event *event, struct ktb_event_cpu *ec,
			    const struct ktb_aside *aside, u64 count)
{
	const unsigned int skip = sizeof(struct pt_regs *);
	struct ktb_hit hit;
	u64 time;

	static_assert(sizeof(struct pt_regs *) <= sizeof(struct trace_entry));
	if (likely(ktb_clock_read(&time) &&
		   ktb_record_begin_usual(event, aside->size, time, &hit))) {
		hit.sample->ip = aside->place.ip;
	} else {
		hit = ktb_sample_begin(event, ec, aside->size, &aside->place);
		if (!hit.sample)
			return;
		ktb_entry_fill(hit.entry, event, ktb_trace_ctx());
	}
	hit.sample->period *= count;
	ktb_copy(hit.entry + skip, aside->raw + skip, aside->size - skip);
	ktb_event_end(hit);
}

static void ktb_aside_end(const struct ktb_event *event, struct ktb_event_cpu *ec,
			  struct ktb_aside *aside, u64 count)
{
	struct pt_regs *regs = &aside->regs;

	perf_arch_fetch_caller_regs(regs, aside->place.ip);
	ktb_place_set_regs(&aside->place, regs);
	*(struct pt_regs **)aside->raw = regs;
	if (ktb_program_admit(event, ec, aside->raw, count))
		ktb_aside_write(event, ec, aside, count);
	ktb_aside_put(aside);
}

/**
 * ktb_event_end_program - a record begun by ktb_event_begin_slow() is complete
 * @event: the event, with a program
 * @sample: the hit's
 * @context: the hit's
 * @count: perf's event count of the hit
 *
 * In place of ktb_event_end(): lets the program see it.
 */
void ktb_event_end_program(struct ktb_event *event, struct ktb_sample *sample, u8 context,
			   u64 count)
{
	struct ktb_event_cpu *ec = this_cpu_ptr(event->cpu);

	if (context == KTB_HIT_ASIDE) {
		ktb_aside_end(event, ec, container_of(sample, struct ktb_aside, sample), count);
		return;
	}
	if (ktb_program_admit(event, ec, sample->raw, count)) {
		local_inc(&ec->written);
		ktb_ring_commit_first(ec->ring, KTB_CONTEXT_TASK);
	} else {
		ktb_ring_cancel_first(ec->ring, KTB_CONTEXT_TASK, sample->header.size);
	}
}

/**
 * ktb_event_begin_slow - a hit happened: begin its record, whatever it takes
 * @event: the event
 * @size: bytes of the raw data, common fields included
 * @ip: where the tracepoint stands
 * @frame: as in struct ktb_place
 *
 * Any context, with preemption disabled until ktb_event_end().
 *
 * Return: with the record, its raw data filled but for the event's own fields,
 * or with NULL: then the hit is accounted for.
 */
struct ktb_hit ktb_event_begin_slow(const struct ktb_event *event,
				    unsigned int size, unsigned long ip,
				    const unsigned long *frame)
{
	const struct ktb_place place = { .ip = ip, .frame = frame };
	struct ktb_event_cpu *ec = this_cpu_ptr(event->cpu);
	struct ktb_hit hit;

	local_inc(&ec->hits);
	if (ktb_event_excluded(event)) {
		local_inc(&ec->filtered);
		return (struct ktb_hit) { .ec = ec };
	}
	if (event->program)
		return ktb_program_begin(event, ec, size, &place);
	hit = ktb_sample_begin(event, ec, size, &place);
	if (hit.sample)
		ktb_entry_fill(hit.entry, event, ktb_trace_ctx());
	return hit;
}

/**
 * ktb_event_end_slow - a record is complete, and others may not be
 * @ring: the ring of this CPU
 * @context: as it was begun in
 *
 * What ktb_event_end() does to the ring after ktb_event_begin_slow(): any context.
 */
void ktb_event_end_slow(struct ktb_ring *ring, u8 context)
{
	ktb_ring_commit(ring, context);
}

/**
 * ktb_event_recursed - a hit inside the work on another, of the same context
 * @event: the event
 *
 * Any context. What is traced here comes back to it, and has to end: there is nothing
 * but what the irq_work of a first loss calls, and that is queued once.
 */
void ktb_event_recursed(struct ktb_event *event)
{
	unsigned int mode = READ_ONCE(event->mode);
	struct ktb_event_cpu *ec;

	if (mode & KTB_EVENT_DISABLED)
		return;
	preempt_disable_notrace();
	if (ktb_event_is_for(event, mode)) {
		ec = this_cpu_ptr(event->cpu);
		local_inc(&ec->hits);
		ktb_event_lose(ec, &ec->lost_recursion);
	} else {
		ktb_event_filter(event);
	}
	preempt_enable_notrace();
}

/**
 * ktb_event_throttle - perf throttles the event, or does so no more
 * @event: the event
 * @throttle: which
 *
 * States it in the stream, as perf does, where there is room. Any context,
 * preemption disabled.
 */
void ktb_event_throttle(struct ktb_event *event, bool throttle)
{
	struct ktb_event_cpu *ec = this_cpu_ptr(event->cpu);
	u8 context = ktb_context(ec->ring);
	struct ktb_throttle *record;
	u64 time = ktb_clock();
	void *room;

	/* Disabled, it says nothing, and has nothing to take back. */
	if (READ_ONCE(event->mode) & KTB_EVENT_DISABLED) {
		ec->is_throttled = false;
		return;
	}
	ec->is_throttled = throttle;
	if (throttle)
		local_inc(&ec->throttled);
	if (ec->ring == &ktb_ring_none || !context ||
	    !ktb_ring_begin(ec->ring, sizeof(*record), context, &room))
		return;
	record = room;
	*record = (struct ktb_throttle) {
		.header.type	= throttle ? PERF_RECORD_THROTTLE : PERF_RECORD_UNTHROTTLE,
		.header.size	= sizeof(*record),
		.time		= time,
		.id		= event->id,
		.stream_id	= event->id,
		.sample_id	= ktb_sample_id(event->id, ec->ring, time),
	};
	ktb_ring_commit(ec->ring, context);
}

/*
 * The program of a tracepoint sees a copy, which begins with an address, and has
 * zeroes where it reads on beyond a short one.
 */
static noinline bool
ktb_program_admit_copy(const struct ktb_event *event, const void *raw, unsigned int size,
		       u64 count, struct pt_regs *regs)
{
	const struct ktb_place place = { .ip = instruction_pointer(regs) };
	struct ktb_event_cpu *ec = this_cpu_ptr(event->cpu);
	struct ktb_aside *aside = ktb_aside_begin(ec, size, &place);
	bool keep;

	if (!aside) {
		local_add(count - 1, &ec->extra);
		return false;
	}
	memcpy(aside->raw, raw, size);
	if (size < event->program_reach)
		memset(aside->raw + size, 0, event->program_reach - size);
	*(struct pt_regs **)aside->raw = regs;
	keep = ktb_program_admit(event, ec, aside->raw, count);
	ktb_aside_put(aside);
	return keep;
}

/**
 * ktb_event_submit - a hit whose raw data is there already
 * @event: the event
 * @raw: raw data, common fields included
 * @size: its bytes; 0 for a hit without, which reads as four bytes of zero
 * @count: perf's event count of the hit
 * @regs: of what was interrupted there
 * @context: what a program gets to see of it, NULL for the raw data
 *
 * Any context, preemption disabled. Counterpart of perf_event_output(), and of
 * perf_trace_run_bpf_submit().
 */
void ktb_event_submit(struct ktb_event *event, const void *raw, unsigned int size,
		      u64 count, struct pt_regs *regs, const void *context)
{
	const struct ktb_place place = { .ip = instruction_pointer(regs), .regs = regs };
	struct ktb_event_cpu *ec = this_cpu_ptr(event->cpu);
	struct ktb_hit hit;

	if (!ktb_event_admit(event, count))
		return;
	local_inc(&ec->hits);
	if (!event->program)
		local_add(count - 1, &ec->extra);
	else if (context ? !ktb_program_admit(event, ec, context, count) :
			   !ktb_program_admit_copy(event, raw, size, count, regs))
		return;
	hit = ktb_sample_begin(event, ec, size ?: sizeof(u32), &place);
	if (!hit.sample)
		return;
	if (user_mode(regs))
		hit.sample->header.misc = PERF_RECORD_MISC_USER;
	hit.sample->period *= count;
	if (size)
		memcpy(hit.entry, raw, size);
	ktb_event_end(hit);
}
