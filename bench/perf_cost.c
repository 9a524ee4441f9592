// SPDX-License-Identifier: GPL-2.0-only
/*
 * perf_cost TYPE ID count|record: the cost of one getppid(2), in TSC ticks, with an
 * event of the PMU TYPE on the tracepoint ID: counting, or recorded with its raw
 * data. TYPE 0 is no event. The median over batches of 1,000 calls, as in
 * getppid.c; the ring is emptied between batches, and nothing may be lost.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/perf_event.h>
#include <x86intrin.h>

#define BATCHES	41
#define CALLS	1000
#define PAGES	256

static struct perf_event_mmap_page *ring;

static int open_event(int type, int id, int record)
{
	struct perf_event_attr attr = {
		.type = type,
		.size = sizeof(attr),
		.config = id,
		.sample_period = record,
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			       PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
			       PERF_SAMPLE_RAW,
		.use_clockid = 1,
		.clockid = 1,	/* CLOCK_MONOTONIC, as our own records have it */
	};
	int fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, 0);

	if (fd < 0 || !record)
		return fd;
	ring = mmap(NULL, (1 + PAGES) * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return ring == MAP_FAILED ? -1 : fd;
}

/* Whether at least one batch of samples is there, and none was lost. */
static int empty_ring(void)
{
	const char *data = (const char *)ring + 4096;
	unsigned long long head = ring->data_head, tail = ring->data_tail;
	int samples = 0, lost = 0;

	__sync_synchronize();
	while (tail < head) {
		struct perf_event_header h;

		memcpy(&h, data + tail % (PAGES * 4096), sizeof(h));
		samples += h.type == PERF_RECORD_SAMPLE;
		lost += h.type == PERF_RECORD_LOST || h.type == PERF_RECORD_THROTTLE;
		tail += h.size;
	}
	__sync_synchronize();
	ring->data_tail = tail;
	return samples >= CALLS && !lost;
}

static int compare(const void *a, const void *b)
{
	unsigned long long x = *(const unsigned long long *)a;
	unsigned long long y = *(const unsigned long long *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	unsigned long long ticks[BATCHES], count = 0;
	int batch, call, fd = -1, type;

	if (argc != 4)
		return 2;
	type = atoi(argv[1]);
	if (type) {
		fd = open_event(type, atoi(argv[2]), !strcmp(argv[3], "record"));
		if (fd < 0) {
			perror("perf_event_open");
			return 1;
		}
	}
	for (batch = 0; batch < BATCHES; batch++) {
		unsigned long long start = __rdtsc();

		for (call = 0; call < CALLS; call++)
			syscall(SYS_getppid);
		ticks[batch] = __rdtsc() - start;
		if (ring && !empty_ring()) {
			fprintf(stderr, "samples are missing\n");
			return 1;
		}
	}
	if (type && (read(fd, &count, sizeof(count)) != sizeof(count) || count < BATCHES * CALLS)) {
		fprintf(stderr, "counted %llu\n", count);
		return 1;
	}
	qsort(ticks, BATCHES, sizeof(*ticks), compare);
	printf("%.1f\n", (double)ticks[BATCHES / 2] / CALLS);
	return 0;
}
