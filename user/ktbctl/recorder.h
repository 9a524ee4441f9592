/* SPDX-License-Identifier: GPL-2.0-only */
/* From a session's rings into a perf.data file. */
#ifndef KTBCTL_RECORDER_H
#define KTBCTL_RECORDER_H

#include "ktbctl.h"
#include "workload.h"

struct recorder {
	const char *path;
	struct ktb_conn *conn;
	struct ktb_session_info session;
	int cpu; /* the only one, or -1 */
	bool own; /* the session is ours, and what it does is ours to tell */
	bool json;
	struct workload workload;

	struct ktb_reader *reader;
	struct ktb_perfdata *file;
	struct ktb_notify *notify; /* or NULL */
	struct ktb_event_info *events; /* every one seen, the last ledger in it */
	unsigned int nr_events;
	uint64_t lost_before;

	bool stopped; /* by a signal */
	bool removed; /* the session */
	bool more_rings; /* there may be */
	bool more_events;
	bool failed; /* to write the file, the reason told */
	int signals; /* descriptor */
	bool progress; /* is to be shown */
	bool line; /* of progress stands there */
	uint64_t shown; /* when, in ns */
	uint64_t shown_bytes;
};

/* recorder.c */
int recorder_catch_signals(struct recorder *recorder);
int recorder_run(struct recorder *recorder);

/* recorder_end.c */
int recorder_list_events(struct recorder *recorder);
int recorder_finish(struct recorder *recorder);

#endif /* KTBCTL_RECORDER_H */
