/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KTB_SUBMIT_H
#define _KTB_SUBMIT_H

#include <linux/perf_event.h>

#include "event.h"

/* What the records of a session without further options carry, in this order. */
#define KTB_SAMPLE_TYPE							\
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |	\
	 PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |	\
	 PERF_SAMPLE_RAW)

/**
 * struct ktb_sample - a PERF_RECORD_SAMPLE for KTB_SAMPLE_TYPE
 *
 * As perf_event_open(2) lays it out; the raw data begins at 4 modulo 8 and
 * ends at a multiple of 8.
 */
struct ktb_sample {
	struct perf_event_header header;
	u64 id;
	u64 ip;
	u32 pid;
	u32 tid;
	u64 time;
	u32 cpu;
	u32 reserved;
	u64 period;
	u32 raw_size;
	char raw[];
} __packed __aligned(4);

static_assert(sizeof(struct ktb_sample) == 60);

/**
 * struct ktb_handle - a hit between ktb_event_begin() and ktb_event_end()
 * @ec: ring and ledger of this CPU
 * @busy: recursion mark of this CPU and context
 */
struct ktb_handle {
	struct ktb_event_cpu *ec;
	u8 *busy;
};

bool ktb_event_admit(struct ktb_event *event);
void *ktb_event_begin(struct ktb_event *event, struct ktb_handle *handle,
		      unsigned int size, unsigned long ip);
void ktb_event_end(struct ktb_handle *handle);
void ktb_event_count(struct ktb_handle *handle, void *entry, u64 count);

#endif /* _KTB_SUBMIT_H */
