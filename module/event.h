/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KTB_EVENT_H
#define _KTB_EVENT_H

#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/types.h>
#include <uapi/linux/ktrace_bridge.h>
#include <asm/local.h>

struct ktb_native;
struct ktb_ring;
struct ktb_session;
struct pid;
struct tracepoint;

/**
 * struct ktb_event_cpu - ring and ledger of one event on one CPU
 *
 * Written by that CPU only, in any context with preemption disabled. What each
 * counter means stands in Documentation/netlink/specs/ktrace_bridge.yaml.
 *
 * @ring: the session's ring of this CPU, or ktb_ring_none
 * @hits: times the event fired
 * @written: records that reached the ring
 * @filtered: hits dropped by target or program
 * @not_sampled: hits between two samples
 * @lost_full: hits that found the ring full
 * @lost_big: hits whose record was too long for the ring
 * @lost_recursion: hits inside our own work on another hit of the same context
 * @extra: perf's event count of the hits, beyond 1 each
 * @since: hits since the last sample
 */
struct ktb_event_cpu {
	struct ktb_ring *ring;
	local_t hits;
	local_t written;
	local_t filtered;
	local_t not_sampled;
	local_t lost_full;
	local_t lost_big;
	local_t lost_recursion;
	local_t extra;
	local_t since;
};

/* What a hit has to pass before a record is begun; 0 is the direct path. */
enum ktb_event_mode {
	KTB_EVENT_DISABLED	= 1 << 0,
	KTB_EVENT_TARGETED	= 1 << 1,
	KTB_EVENT_COUNT_ONLY	= 1 << 2,
	KTB_EVENT_SAMPLED	= 1 << 3,
};

/**
 * struct ktb_event - one source attached to one session
 *
 * Made by ktb_event_attach(), freed by ktb_event_detach() after the last probe
 * that may use it has returned. The first part is what probes read.
 *
 * @cpu: rings and ledgers
 * @id: sample id
 * @mode: enum ktb_event_mode
 * @type: tracepoint id, the common_type of its records
 * @period: each period-th hit makes a record
 * @target: the only thread whose hits are taken, a reference; its number, so
 *	that an exec by another thread of the group keeps it
 * @session: where it is attached; it holds the event
 * @node: in @session->events, which says what guards it
 * @native: the probe
 * @tp: the tracepoint it hangs on
 * @target_pid: @target as the caller numbered it
 * @enabled: as asked for; the session may be disabled nevertheless
 * @name: "system:event"
 */
struct ktb_event {
	struct ktb_event_cpu __percpu *cpu;
	u64 id;
	unsigned int mode;
	u16 type;

	u64 period;
	struct pid *target;

	struct ktb_session *session;
	struct list_head node;
	const struct ktb_native *native;
	struct tracepoint *tp;
	u32 target_pid;
	bool enabled;
	char name[KTRACE_BRIDGE_EVENT_NAME_LEN + 1];
};

/**
 * struct ktb_ledger - sum over CPUs of what became of an event's hits
 *
 * @hits: as in struct ktb_event_cpu
 * @written: likewise
 * @filtered: likewise
 * @not_sampled: likewise
 * @lost_full: likewise
 * @lost_big: likewise
 * @lost_recursion: likewise
 * @count: perf's event count, over all hits
 */
struct ktb_ledger {
	u64 hits;
	u64 written;
	u64 filtered;
	u64 not_sampled;
	u64 lost_full;
	u64 lost_big;
	u64 lost_recursion;
	u64 count;
};

void ktb_ledger_add(struct ktb_ledger *ledger, const struct ktb_event_cpu *cpu);
void ktb_event_update_mode(struct ktb_event *event);

#endif /* _KTB_EVENT_H */
