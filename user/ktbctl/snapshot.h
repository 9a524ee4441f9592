/* SPDX-License-Identifier: GPL-2.0-only */
/* What an overwrite session has at one moment, in a perf.data file. */
#ifndef KTBCTL_SNAPSHOT_H
#define KTBCTL_SNAPSHOT_H

#include "ktbctl.h"

/* The records of one CPU, in the order of time. */
struct snapshot_block {
	unsigned int cpu;
	uint8_t *data;
	size_t len;
};

struct snapshot {
	const char *path;
	bool json;
	bool self; /* our own hits too */
	int argc; /* the command line, for the file */
	char **argv;
	struct ktb_conn *conn;
	struct ktb_session_info session;
	struct ktb_reader *reader;
	struct ktb_perfdata *file;

	struct ktb_event_info *events; /* with their ledgers when the rings stood still */
	int nr_events;
	uint64_t *kept; /* samples of each of them */
	uint64_t strays; /* samples of events that were detached */
	uint64_t samples; /* all of these */
	struct snapshot_block *blocks;
	unsigned int nr_blocks;
};

/* snapshot.c */
int snapshot_take(struct snapshot *snapshot);
void snapshot_free(struct snapshot *snapshot);

/* snapshot_file.c */
int snapshot_write(struct snapshot *snapshot);

#endif /* KTBCTL_SNAPSHOT_H */
