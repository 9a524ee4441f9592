/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KTB_EVENT_H
#define _KTB_EVENT_H

#include <linux/cpumask.h>
#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/types.h>
#include <uapi/linux/ktrace_bridge.h>
#include <asm/local.h>

struct bpf_prog;
struct cgroup;
struct ktb_event;
struct ktb_function;
struct ktb_graph;
struct ktb_native;
struct ktb_perf;
struct ktb_ring;
struct ktb_session;
struct ktb_target;
struct netlink_ext_ack;
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
 * @extra: perf's event count of the hits not filtered, beyond 1 each
 * @since: hits since the last sample
 * @throttled: how often perf throttled it
 * @is_throttled: it is now
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
	local_t throttled;
	bool is_throttled;
};

/* What a hit has to pass before a record is begun; 0 is the direct path. */
enum ktb_event_mode {
	KTB_EVENT_DISABLED	= 1 << 0,
	KTB_EVENT_TARGETED	= 1 << 1,
	KTB_EVENT_ON_CPUS	= 1 << 2,
	KTB_EVENT_COUNT_ONLY	= 1 << 3,
	KTB_EVENT_SAMPLED	= 1 << 4,
	KTB_EVENT_IN_CGROUP	= 1 << 5,
	KTB_EVENT_PROGRAM	= 1 << 6,
};

/**
 * struct ktb_source - a kind of event source
 * @path: what to call it
 * @attach: make it fire; hits may come before this returns. 0 or an error
 * @detach: let it fire no more; the last hit may last until ktb_tracepoint_sync()
 * @missed: calls that it could not follow, lost hits; optional
 * @destroy: after that, free what it has in @event; optional
 *
 * Process context, under ktb_lock.
 */
struct ktb_source {
	enum ktb_path path;
	int (*attach)(struct ktb_event *event, struct netlink_ext_ack *extack);
	void (*detach)(struct ktb_event *event);
	unsigned long (*missed)(const struct ktb_event *event);
	void (*destroy)(struct ktb_event *event);
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
 * @type: tracepoint id, the common_type of its records; 0 for another source
 * @max_stack: most frames of a callchain, 0 for none
 * @excluded_tgid: process whose hits are not taken, the reader's; or -1
 * @period: each period-th hit makes a record
 * @target: the threads whose hits are taken, NULL for all
 * @cgroup: the control group whose tasks' hits are taken, NULL for all
 * @program: says of each hit whether it is taken, NULL if all are
 * @program_reach: bytes of a record that it may read
 * @program_pure: it does nothing but look at the record
 * @program_blocks: it may take a lock that an NMI must not
 * @session: where it is attached; it holds the event
 * @node: in @session->events, which says what guards it
 * @source: what fires
 * @native: the probe of a native tracepoint
 * @tp: the tracepoint it hangs on
 * @perf: the counters of a perf event
 * @function: the hook on functions
 * @graph: the hooks on their returns
 * @program_text: what to show of @program, or NULL
 * @missed: hits that @source could not follow while the event was enabled; ktb_lock
 * @missed_before: what @source had missed when it was last asked; ktb_lock
 * @cpus: where hits are taken, with KTB_EVENT_ON_CPUS
 * @on_cpus: whether @cpus counts
 * @enabled: as asked for; the session may be disabled nevertheless
 * @chosen: one of those that a command is about; ktb_lock
 * @name: "system:event"
 */
struct ktb_event {
	struct ktb_event_cpu __percpu *cpu;
	u64 id;
	unsigned int mode;
	u16 type;
	u16 max_stack;
	pid_t excluded_tgid;
	u64 period;
	struct ktb_target *target;
	struct cgroup *cgroup;
	struct bpf_prog *program;
	unsigned int program_reach;
	bool program_pure;
	bool program_blocks;

	struct ktb_session *session;
	struct list_head node;
	const struct ktb_source *source;
	const struct ktb_native *native;
	struct tracepoint *tp;
	struct ktb_perf *perf;
	struct ktb_function *function;
	struct ktb_graph *graph;
	char *program_text;
	unsigned long missed;
	unsigned long missed_before;
	cpumask_t cpus;
	bool on_cpus;
	bool enabled;
	bool chosen;
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
 * @count: perf's event count, over all hits that were not filtered
 * @throttled: how often perf throttled it
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
	u64 throttled;
};

void ktb_ledger_add(struct ktb_ledger *ledger, const struct ktb_event_cpu *cpu);
void ktb_event_update_mode(struct ktb_event *event);

#endif /* _KTB_EVENT_H */
