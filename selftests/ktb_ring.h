/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A raw reader of the rings of /dev/ktrace_bridge, as the uapi header tells
 * readers to do it.
 */
#ifndef KTB_RING_H
#define KTB_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/perf_event.h>
#include <linux/types.h>
#include <linux/ktrace_bridge_ring.h>

#define KTB_DEVICE	"/dev/ktrace_bridge"

/* The sample_type of a session without options. */
#define KTB_SAMPLE_TYPE	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |	\
			 PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |	\
			 PERF_SAMPLE_RAW)

/**
 * struct ktb_ring - one mapped ring
 * @page: the control page, mapped for reading and writing
 * @data: the data, mapped twice in a row
 * @size: bytes of data
 * @head: data_head as last loaded
 * @tail: bytes consumed; published by ktb_ring_release()
 */
struct ktb_ring {
	struct ktb_ring_page *page;
	const char *data;
	size_t size;
	__u64 head;
	__u64 tail;
};

/* A record taken apart. chain and raw point into the ring. */
struct ktb_sample {
	__u32 type;
	__u16 misc;
	__u64 id;
	__u64 ip;
	__u32 pid;
	__u32 tid;
	__u64 time;
	__u32 cpu;
	__u64 period;
	__u64 nr_chain;
	const __u64 *chain;
	__u32 raw_size;
	const char *raw;
	__u64 lost;
};

/* What is in a ring, counted by ktb_ring_walk(). */
struct ktb_walk {
	__u64 bytes;
	__u64 samples;
	__u64 lost_records;
	__u64 lost;
	__u64 lost_late;	/* statements of loss younger than the record behind them */
	__u64 malformed;
	__u64 throttles;
	__u64 unthrottles;
};

/* Offset of a CPU's ring for mmap(2). */
static inline __s64 ktb_ring_offset(int cpu)
{
	return cpu * KTB_RING_STRIDE;
}

/* Open the device. Returns a descriptor or a negative error number. */
int ktb_dev_open(void);
/* Bind a descriptor. Returns 0 or a negative error number. */
int ktb_dev_bind(int fd, __u32 session, int cpu);
/* Both. Returns a bound descriptor or a negative error number. */
int ktb_dev_open_bind(__u32 session, int cpu);

/* Map the ring of a CPU. Returns 0 or a negative error number. */
int ktb_ring_map(struct ktb_ring *ring, int fd, int cpu);
void ktb_ring_unmap(struct ktb_ring *ring);

/* The next unread record, NULL if there is none. */
const struct perf_event_header *ktb_ring_next(struct ktb_ring *ring);
/* Give everything that was read back to the kernel. */
void ktb_ring_release(struct ktb_ring *ring);

/*
 * Take a record apart, which has to be well-formed to the last byte: a known
 * type, and of exactly the length that its fields take. False if it is not.
 */
bool ktb_record_parse(const struct perf_event_header *h, struct ktb_sample *s);
/* The same of a session with callchains. */
bool ktb_record_parse_chain(const struct perf_event_header *h, struct ktb_sample *s);

typedef void (*ktb_sample_fn)(const struct ktb_sample *s, void *arg);

/*
 * Read all that is unread, give it back, and add it up. @fn, if given, sees
 * each sample.
 */
void ktb_ring_walk(struct ktb_ring *ring, struct ktb_walk *walk, ktb_sample_fn fn, void *arg);

#endif
