/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * perf_event_open(2) by hand, on the kernel's tracepoint PMU and on ours, which
 * are to give the same.
 */
#ifndef KTB_PERF_H
#define KTB_PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <linux/perf_event.h>
#include <linux/types.h>

#define KTB_PMU		"/sys/bus/event_source/devices/ktrace_bridge"

/* The type of our PMU, or a negative error number. */
int ktb_pmu_type(void);
/* The id of "system:event" as tracefs has it, or a negative error number. */
int ktb_tracepoint_id(const char *event);

/* A disabled counter of a PMU on a tracepoint, to be changed at will. */
struct perf_event_attr ktb_perf_attr(int type, int id);
/* Returns a descriptor, or the negative error number. */
int ktb_perf_open(const struct perf_event_attr *attr, pid_t pid, int cpu, int group,
		  unsigned long flags);
/* The count of a descriptor whose read_format is 0; ~0 if it cannot be read. */
__u64 ktb_perf_count(int fd);

/* A mapped ring of perf's. */
struct ktb_perf_ring {
	struct perf_event_mmap_page *page;
	const char *data;
	size_t size;
};

/* @pages: of data, a power of two. 0 or a negative error number. */
int ktb_perf_map(struct ktb_perf_ring *ring, int fd, int pages);
void ktb_perf_unmap(struct ktb_perf_ring *ring);

/*
 * Take all records, oldest first, and give each, made whole, to @take, unless
 * that is NULL or the record longer than 2048 bytes. Returns how many there were.
 */
int ktb_perf_take(struct ktb_perf_ring *ring,
		  void (*take)(const struct perf_event_header *h, void *arg), void *arg);

#endif
