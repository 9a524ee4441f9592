/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KTB_SESSION_H
#define _KTB_SESSION_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/sched.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <uapi/linux/ktrace_bridge.h>

#include "event.h"
#include "function.h"
#include "ring.h"
#include "target.h"

struct netlink_ext_ack;
struct perf_event_attr;
struct sock;

#define KTB_SESSIONS_MAX	64
#define KTB_EVENTS_MAX		1024
#define KTB_RING_SIZE_DEFAULT	SZ_1M
#define KTB_RING_SIZE_MAX	SZ_1G

/**
 * struct ktb_session - a set of events and one ring per CPU
 *
 * On the list from ktb_session_create() to ktb_session_destroy(), in memory
 * until the last reader is gone too.
 *
 * @ref: the list's, and one for each reader
 * @node: in ktb_sessions; ktb_lock and ktb_rings_lock to change, either to read
 * @id: number, never zero
 * @flags: KTB_SESSION_*, KTB_SESSION_DISABLED as given at first
 * @name: unique among the sessions on the list
 * @owner: netlink socket whose end ends the session, held; NULL when persistent
 * @owner_pid: process that made it
 * @enabled: whether its events write; ktb_lock
 * @dead: taken off the list; never reset
 * @frozen: a reader of all rings of an overwrite session takes a snapshot; its
 *	rings begin frozen; ktb_rings_lock
 * @ring_size: bytes of data per ring, 0 when it only counts
 * @watermark: unread bytes at which a sleeping reader is woken; ktb_lock
 * @max_stack: most frames of a callchain, 0 for records without
 * @excluded_tgid: process whose hits are not taken, a reader's, or -1; ktb_lock
 * @charged: bytes that count against the module's limit; ktb_rings_lock
 * @events: attached; ktb_lock and ktb_rings_lock to change, either to read
 * @nr_events: their number; ktb_lock
 * @readers: bound descriptors; ktb_lock
 * @wait: readers bound to all rings
 * @linger: looks at the rings once more after a reader went to sleep
 * @slept: when one did last, in jiffies
 * @loss: tells of the first loss on a ring
 * @lossy: rings of which that is to be told
 * @ring: by CPU; NULL where the CPU was never online. Set once, released to
 *	lockless readers.
 */
struct ktb_session {
	struct kref ref;
	struct list_head node;
	u32 id;
	u32 flags;
	char name[KTRACE_BRIDGE_NAME_LEN + 1];
	struct sock *owner;
	pid_t owner_pid;
	bool enabled;
	bool dead;
	bool frozen;
	unsigned long ring_size;
	unsigned int watermark;
	unsigned int max_stack;
	pid_t excluded_tgid;
	unsigned long charged;
	struct list_head events;
	unsigned int nr_events;
	struct list_head readers;
	wait_queue_head_t wait;
	struct delayed_work linger;
	unsigned long slept;
	struct work_struct loss;
	cpumask_t lossy;
	struct ktb_ring *ring[];
};

/**
 * struct ktb_reader - an open descriptor of /dev/ktrace_bridge
 * @node: in @session->readers, once bound; ktb_lock
 * @session: what it reads, NULL until bound; set once, a reference
 * @cpu: whose ring, -1 for all
 * @first_cpu: whose ring read(2) begins with
 * @frozen: it has frozen its rings; ktb_lock
 * @excludes: it asked for its own process to be left out; ktb_lock
 * @pid: process that bound it
 * @comm: that process's name
 */
struct ktb_reader {
	struct list_head node;
	struct ktb_session *session;
	int cpu;
	unsigned int first_cpu;
	bool frozen;
	bool excludes;
	pid_t pid;
	char comm[TASK_COMM_LEN];
};

/**
 * struct ktb_session_options - what a session is made with
 * @name: unique
 * @flags: KTB_SESSION_*
 * @ring_size: bytes of data per CPU, rounded up to a power of two of pages
 * @watermark: unread bytes at which a sleeping reader is woken
 * @max_stack: most frames of a callchain, 0 for records without
 * @owner: netlink socket of who asks for it
 */
struct ktb_session_options {
	const char *name;
	u32 flags;
	u64 ring_size;
	u32 watermark;
	u32 max_stack;
	struct sock *owner;
};

/**
 * struct ktb_program_options - the program of an event
 * @fd: descriptor of the calling process, if @given
 * @given: whether there is to be one
 * @text: what to show of it, or NULL
 */
struct ktb_program_options {
	int fd;
	bool given;
	const char *text;
};

/**
 * struct ktb_event_options - what an event is attached with
 * @name: "system:event"
 * @disabled: attach, but write nothing until enabled
 * @period: every period-th hit makes a record, at least 1
 * @target: only hits of these threads, if it names any
 * @cpus: only hits on these CPUs, NULL for all
 * @cgroup: only hits of tasks in this control group, a path, NULL for all
 * @attr: the perf event that fires, NULL for the tracepoint of @name
 * @function: the functions that fire, if it names any
 * @program: what says of each hit whether it is taken
 */
struct ktb_event_options {
	const char *name;
	bool disabled;
	u64 period;
	struct ktb_target_options target;
	const char *cpus;
	const char *cgroup;
	const struct perf_event_attr *attr;
	struct ktb_function_options function;
	struct ktb_program_options program;
};

/* What happens to sessions, for whom it concerns. */
enum ktb_notice_kind {
	KTB_NOTICE_SESSION_NEW,
	KTB_NOTICE_SESSION_DEL,
	KTB_NOTICE_EVENT_ATTACH,
	KTB_NOTICE_EVENT_DETACH,
	KTB_NOTICE_LOST,
	KTB_NOTICE_CPU_ONLINE,
	KTB_NOTICE_CPU_OFFLINE,
};

/**
 * struct ktb_notice - argument of a ktb_notices call; its action is the kind
 * @session: the session
 * @event: the event, for KTB_NOTICE_EVENT_*
 * @cpu: the CPU, for KTB_NOTICE_LOST and KTB_NOTICE_CPU_*
 */
struct ktb_notice {
	const struct ktb_session *session;
	const struct ktb_event *event;
	int cpu;
};

extern struct blocking_notifier_head ktb_notices;
extern struct mutex ktb_lock;
extern struct list_head ktb_sessions;

void ktb_sessions_exit(void);

struct ktb_session *ktb_session_create(const struct ktb_session_options *options,
				       struct netlink_ext_ack *extack);
void ktb_session_destroy(struct ktb_session *session);
void ktb_sessions_destroy_owned(void);
void ktb_session_put(struct ktb_session *session);
struct ktb_session *ktb_session_find(u32 id, const char *name);
void ktb_session_enable(struct ktb_session *session, bool enable);
void ktb_session_set_watermark(struct ktb_session *session, u32 watermark);
void ktb_session_flush(struct ktb_session *session);
void ktb_session_look_again(struct ktb_session *session);
void ktb_session_settle(struct ktb_session *session);

int ktb_reader_bind(struct ktb_reader *reader, const struct ktb_bind *bind);
void ktb_reader_unbind(struct ktb_reader *reader);
int ktb_reader_freeze(struct ktb_reader *reader, bool freeze);

struct ktb_event *ktb_event_attach(struct ktb_session *session,
				   const struct ktb_event_options *options,
				   struct netlink_ext_ack *extack);
void ktb_event_detach(struct ktb_event *event, struct ktb_ledger *last);
void ktb_events_choose(struct ktb_session *session, bool chosen);
void ktb_events_detach(struct ktb_session *session);
void ktb_events_enable(struct ktb_session *session, bool enable);
struct ktb_event *ktb_event_find(struct ktb_session *session, u64 id,
				 const char *name);
void ktb_event_ledger(struct ktb_event *event, struct ktb_ledger *ledger);

#endif /* _KTB_SESSION_H */
