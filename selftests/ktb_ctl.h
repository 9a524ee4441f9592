/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The commands of the control channel as functions. Each returns 0 or the
 * negative error number of the refusal, whose text is then in nl->text.
 */
#ifndef KTB_CTL_H
#define KTB_CTL_H

#include <stdbool.h>
#include <linux/perf_event.h>
#include "ktb_nl.h"

#define KTB_MAX_CPUS	8

struct ktb_ledger {
	__u32 cpu;
	__u64 hits;
	__u64 written;
	__u64 filtered;
	__u64 not_sampled;
	__u64 lost_full;
	__u64 lost_big;
	__u64 lost_recursion;
	__u64 count;
	__u64 throttled;
};

struct ktb_event {
	__u32 session;
	__u64 id;
	char name[KTRACE_BRIDGE_EVENT_NAME_LEN + 1];
	__u32 type;
	__u32 path;
	__u8 enabled;
	__u64 period;
	__u32 tid;
	char cgroup[64];
	__u32 program;	/* number, 0: none */
	char program_text[KTRACE_BRIDGE_PROGRAM_TEXT_LEN + 1];
	struct ktb_ledger sum;
	int ncpus;
	struct ktb_ledger cpu[KTB_MAX_CPUS];
};

struct ktb_reader {
	__s32 cpu;
	__u32 pid;
	char comm[16];
};

struct ktb_ring_info {
	__u32 cpu;
	__u64 size;
	__u64 head;
	__u64 tail;
	__u64 lost;
	__u64 wakeups;
	__u8 online;
};

struct ktb_session {
	__u32 id;
	char name[KTRACE_BRIDGE_NAME_LEN + 1];
	__u32 flags;
	__u64 ring_size;
	__u32 watermark;
	__u8 enabled;
	__u64 sample_type;
	__u32 max_stack;
	__u32 events;
	__u32 owner;	/* 0: none */
	int nreaders;
	struct ktb_reader reader[KTB_MAX_CPUS];
	int nrings;
	struct ktb_ring_info ring[KTB_MAX_CPUS];
};

struct ktb_source {
	char name[KTRACE_BRIDGE_EVENT_NAME_LEN + 1];
	__u32 type;	/* 0: the running kernel has no such event */
	__u32 path;
	__u32 size;
};

#define KTB_MAX_SOURCES	4096

struct ktb_sources {
	int count;
	struct ktb_source list[KTB_MAX_SOURCES];
};

/* All hits that the ledger says what became of. */
static inline __u64 ktb_ledger_lost(const struct ktb_ledger *l)
{
	return l->lost_full + l->lost_big + l->lost_recursion;
}

static inline __u64 ktb_ledger_sum(const struct ktb_ledger *l)
{
	return l->written + l->filtered + l->not_sampled + ktb_ledger_lost(l);
}

/*
 * The hits of the thread that an event is for. Without a program, nothing is
 * filtered but other threads' hits.
 */
static inline __u64 ktb_ledger_own(const struct ktb_ledger *l)
{
	return l->hits - l->filtered;
}

/* @ring_size 0: not given. @s may be NULL. */
int ktb_session_new(struct ktb_nl *nl, const char *name, __u32 flags, __u64 ring_size,
		    struct ktb_session *s);
/* The same with callchains. */
int ktb_session_new_stack(struct ktb_nl *nl, const char *name, __u64 ring_size, __u32 max_stack,
			  struct ktb_session *s);
int ktb_session_del(struct ktb_nl *nl, __u32 id);
int ktb_session_enable(struct ktb_nl *nl, __u32 id, bool on);
int ktb_session_get(struct ktb_nl *nl, __u32 id, struct ktb_session *s);
int ktb_session_find(struct ktb_nl *nl, const char *name, struct ktb_session *s);
/* Number of living sessions, or a negative error number. */
int ktb_session_count(struct ktb_nl *nl);
/* Remove the sessions that tests left, those named "t_...". */
int ktb_session_sweep(struct ktb_nl *nl);

/* How to attach an event: what is 0 or NULL is not given. */
struct ktb_attach {
	const char *name;
	const __u32 *pids;
	unsigned int npids;
	const __u32 *tids;
	unsigned int ntids;
	bool inherit;
	const char *cpus;
	const char *cgroup;
	__u64 period;
	const struct perf_event_attr *attr;
	const char *function;
	const int *program;	/* descriptor */
	const char *program_text;
};

/* @ev may be NULL. */
int ktb_event_attach_as(struct ktb_nl *nl, __u32 session, const struct ktb_attach *how,
			struct ktb_event *ev);
/* @tid 0: all threads. @ev may be NULL. */
int ktb_event_attach(struct ktb_nl *nl, __u32 session, const char *name, __u32 tid,
		     struct ktb_event *ev);
/* @ev may be NULL; else it gets what the reply says, the last ledger included. */
int ktb_event_detach(struct ktb_nl *nl, __u32 session, __u64 id, struct ktb_event *ev);
int ktb_event_enable(struct ktb_nl *nl, __u32 session, __u64 id, bool on);
/* Several at once, all or none. */
int ktb_events_detach(struct ktb_nl *nl, __u32 session, const __u64 *ids, int n);
int ktb_events_enable(struct ktb_nl *nl, __u32 session, const __u64 *ids, int n, bool on);
int ktb_event_get(struct ktb_nl *nl, __u32 session, __u64 id, struct ktb_event *ev);
int ktb_event_find(struct ktb_nl *nl, __u32 session, const char *name, struct ktb_event *ev);
/* Number of attached events in all sessions, or a negative error number. */
int ktb_event_count(struct ktb_nl *nl);

/* Everything that can be attached. */
int ktb_sources_get(struct ktb_nl *nl, struct ktb_sources *all);
/* One of them, NULL if there is none of that name. */
const struct ktb_source *ktb_source_find(const struct ktb_sources *all, const char *name);

/* What a listener on the group "notify" heard last. */
struct ktb_notice {
	__u8 cmd;
	__u32 session;
	char name[KTRACE_BRIDGE_EVENT_NAME_LEN + 1];
	__u64 event;
	__s64 cpu;	/* -1: it is of none */
};

/* Open a socket that hears the group's notices. */
int ktb_listen(struct ktb_nl *nl);
/* The next notice of that kind, those before it skipped; the next of all if @cmd is 0. */
int ktb_hear(struct ktb_nl *nl, __u8 cmd, struct ktb_notice *n);

#endif
