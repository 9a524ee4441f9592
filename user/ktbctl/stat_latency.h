/* SPDX-License-Identifier: GPL-2.0-only */
/* How long calls of functions take: histograms of what a session records of them. */
#ifndef KTBCTL_STAT_LATENCY_H
#define KTBCTL_STAT_LATENCY_H

#include "histogram.h"
#include "ktb.h"

struct latency {
	uint64_t event; /* its id */
	struct histogram histogram;
};

struct stat_latency {
	struct ktb_reader *reader; /* NULL: none are asked for */
	struct ktb_formats *formats;
	struct latency *all;
	unsigned int nr;
};

int stat_latency_open(struct stat_latency *latency, uint32_t session);
int stat_latency_add(struct stat_latency *latency, uint64_t event);
int stat_latency_fd(const struct stat_latency *latency);
int stat_latency_read(struct stat_latency *latency);
struct histogram *stat_latency_of(const struct stat_latency *latency, uint64_t event);
void stat_latency_close(struct stat_latency *latency);

#endif /* KTBCTL_STAT_LATENCY_H */
