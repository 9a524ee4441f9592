/* SPDX-License-Identifier: GPL-2.0-only */
/* A counter of perf's that only counts. */
#ifndef KTBCTL_STAT_COUNTER_H
#define KTBCTL_STAT_COUNTER_H

#include <sys/types.h>

#include "ktb.h"
#include "tracing.h"

struct stat_counter {
	struct perf_event_attr attr;
	int *fds;
	unsigned int nr;
};

/* Count is scaled up, if the counter had to share a register of the PMU's. */
struct stat_value {
	uint64_t count;
	uint64_t enabled; /* ns */
	uint64_t running;
	uint64_t lost; /* of a session's event: counted, with no record */
};

int stat_counter_open(struct stat_counter *counter, const struct ktb_perf_event *event,
		      const struct tracing *tracing, pid_t command);
int stat_counter_enable(struct stat_counter *counter);
int stat_counter_read(const struct stat_counter *counter, struct stat_value *value);
void stat_counter_close(struct stat_counter *counter);

#endif /* KTBCTL_STAT_COUNTER_H */
