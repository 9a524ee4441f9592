/* SPDX-License-Identifier: GPL-2.0-only */
/* From a session's rings into a perf.data file. */
#ifndef KTBCTL_RECORDER_H
#define KTBCTL_RECORDER_H

#include <pthread.h>

#include "ktbctl.h"
#include "workload.h"

/* When to go on in another file. */
struct switch_output {
	bool on_signal; /* SIGUSR2 */
	uint64_t size; /* bytes, or 0 */
	uint64_t time_ns; /* or 0 */
	unsigned int max_files; /* to keep, 0 for all */
};

/* One of the session's readers; with threads there is one per CPU. */
struct recorder_reader {
	struct recorder *recorder;
	struct ktb_reader *reader;
	int cpu; /* whose ring, or -1: all */
	pthread_t thread;
	bool started;
	int kick; /* descriptor: look at the ring now */
	unsigned int round; /* the last one its rings were looked at in */
};

struct tracing;

struct recorder {
	const char *path;
	int argc; /* the command line, for the file */
	char **argv;
	int level; /* of compression */
	uint64_t max_size; /* of the file, 0: none */
	struct switch_output switch_output;
	bool use_threads;

	struct ktb_conn *conn;
	struct ktb_session_info session;
	int cpu; /* the only one, or -1 */
	bool own; /* the session is ours, and what it does is ours to tell */
	bool json;
	bool self; /* our own hits too */
	const struct tracing *targets; /* it ends with the last of them; or NULL */
	uint64_t looked; /* for them, in ns */
	struct workload workload;

	struct recorder_reader **readers;
	unsigned int nr_readers;
	struct ktb_notify *notify; /* or NULL */
	struct ktb_event_info *events; /* every one seen, the last ledger in it */
	uint64_t *stated; /* of each event's lost hits, in files before */
	unsigned int nr_events;
	uint64_t lost_before;

	struct ktb_perfdata *file;
	uint64_t first_bytes; /* of it, before anything was recorded */
	char **files; /* finished, if there is more than one */
	unsigned int nr_files;
	struct ktb_perfdata_stats before; /* of finished files */

	/*
	 * Threads: @file_lock is held for reading by who writes into @file, and for
	 * writing by who changes it, or @first_bytes, @before or @closed.
	 */
	pthread_rwlock_t file_lock;
	pthread_mutex_t lock; /* of the readers' rounds */
	pthread_cond_t done;
	unsigned int round;
	bool stop;

	bool stopped; /* by a signal */
	bool removed; /* the session */
	bool full; /* the file is as large as it may be */
	bool more_rings; /* there may be */
	bool more_events;
	bool gone; /* an event we knew, and its ledger with it */
	bool switch_now;
	bool undated; /* the file could not be renamed, the reason told */
	bool closed; /* the file, and there is no other */
	bool failed; /* to write the file, the reason told */
	int signals; /* descriptor */
	int timer; /* descriptor, to go on in another file, or -1 */
	int call; /* descriptor: a thread has something for the main thread */
	bool progress; /* is to be shown */
	bool line; /* of progress stands there */
	uint64_t shown; /* when, in ns */
	uint64_t shown_bytes;
};

/* recorder.c */
int recorder_init(struct recorder *recorder);
void recorder_exit(struct recorder *recorder);
int recorder_run(struct recorder *recorder);
bool recorder_is_large(const struct recorder *recorder);
void recorder_clear_progress(struct recorder *recorder);

/* recorder_readers.c */
int recorder_open_readers(struct recorder *recorder);
void recorder_close_readers(struct recorder *recorder);
int64_t recorder_write_rings(struct recorder_reader *reader);
struct ktb_ring *recorder_ring(const struct recorder *recorder, unsigned int index);
uint64_t recorder_lost(const struct recorder *recorder);
bool recorder_may_rest(const struct recorder *recorder, int64_t came);

/* recorder_threads.c */
int recorder_start_threads(struct recorder *recorder);
void recorder_stop_threads(struct recorder *recorder);
void recorder_thread_round(struct recorder *recorder);

/* recorder_file.c */
int recorder_open_file(struct recorder *recorder);
int recorder_switch_file(struct recorder *recorder);
int recorder_close_file(struct recorder *recorder);
bool recorder_has_files(const struct recorder *recorder);
void recorder_get_stats(struct recorder *recorder, struct ktb_perfdata_stats *stats);

/* recorder_end.c */
int recorder_list_events(struct recorder *recorder);
int recorder_state_losses(struct recorder *recorder, struct ktb_perfdata *file);
int recorder_finish(struct recorder *recorder);

#endif /* KTBCTL_RECORDER_H */
