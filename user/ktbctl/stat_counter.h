/* SPDX-License-Identifier: GPL-2.0-only */
/* A counter of perf's that only counts. */
#ifndef KTBCTL_STAT_COUNTER_H
#define KTBCTL_STAT_COUNTER_H

#include <sys/types.h>

#include "ktb.h"
#include "tracing.h"

/* As the kernel puts them. */
struct stat_reading {
	uint64_t value;
	uint64_t enabled; /* ns */
	uint64_t running;
};

struct stat_fd {
	int fd;
	struct stat_reading last;
};

struct stat_counter {
	struct perf_event_attr attr;
	struct stat_fd *fds;
	unsigned int nr;
};

/*
 * What came since the last time. Count is scaled up, if the counter had to share a
 * register of the PMU's.
 */
struct stat_value {
	uint64_t count;
	uint64_t enabled; /* ns */
	uint64_t running;
	uint64_t lost; /* of a session's event: counted, with no record */
	bool unknown; /* of a session's event: it is gone, its ledger with it */
};

int stat_counter_open(struct stat_counter *counter, const struct ktb_perf_event *event,
		      const struct tracing *tracing, pid_t command);
int stat_counter_enable(struct stat_counter *counter);
void stat_value_add(struct stat_value *value, const struct stat_reading *last,
		    const struct stat_reading *now);
int stat_counter_read(struct stat_counter *counter, struct stat_value *value);
void stat_counter_close(struct stat_counter *counter);

#endif /* KTBCTL_STAT_COUNTER_H */
