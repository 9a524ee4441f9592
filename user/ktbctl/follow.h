/* SPDX-License-Identifier: GPL-2.0-only */
/* Following a session: wait, print what came, wait. */
#ifndef KTBCTL_FOLLOW_H
#define KTBCTL_FOLLOW_H

#include "ktbctl.h"

/* When to end, and how often to look. */
struct follow_limits {
	uint64_t samples; /* 0: no limit */
	uint64_t time_ns;
	bool has_time;
	uint64_t interval_ns;
};

struct follow {
	const char *session;
	struct ktb_conn *conn;
	struct ktb_reader *reader;
	struct ktb_merge *merge;
	struct ktb_notify *notify; /* or NULL */
	struct printer printer;
	struct follow_limits limits;

	uint64_t start;
	uint64_t lost_before;
	uint64_t samples; /* read */
	uint64_t records; /* losses included */
	size_t unflushed;
	bool removed; /* the session */
	bool closed; /* our output, by who reads it */
	bool stale; /* there may be more rings */
};

int follow_run(struct follow *follow);

#endif /* KTBCTL_FOLLOW_H */
