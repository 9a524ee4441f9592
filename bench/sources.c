// SPDX-License-Identifier: GPL-2.0-only
/*
 * sources: what an event costs that comes through perf, in TSC ticks; under QEMU's
 * instruction counting a tick is an instruction. The median over batches.
 *
 *	sources call				one getppid(2)
 *	sources spin				a batch of a loop in user mode
 *	sources perf-call TYPE CONFIG		the first with perf recording an event
 *	sources perf-spin TYPE CONFIG PERIOD	the second with perf sampling, with
 *						callchains
 *
 * perf records as perf record would have it: on this CPU, every hit, into a mapped
 * buffer that holds all of it.
 */
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

#define BATCHES		41
#define CALLS		1000
#define LOOPS		1000000
#define RING_PAGES	8192

static int compare(const void *a, const void *b)
{
	unsigned long long x = *(const unsigned long long *)a;
	unsigned long long y = *(const unsigned long long *)b;

	return (x > y) - (x < y);
}

static void call(void)
{
	for (int i = 0; i < CALLS; i++)
		syscall(SYS_getppid);
}

static void spin(void)
{
	for (volatile int i = 0; i < LOOPS; i++)
		;
}

static double measure(void (*work)(void), int parts)
{
	unsigned long long ticks[BATCHES], start;

	work();
	for (int i = 0; i < BATCHES; i++) {
		start = __rdtsc();
		work();
		ticks[i] = __rdtsc() - start;
	}
	qsort(ticks, BATCHES, sizeof(*ticks), compare);
	return (double)ticks[BATCHES / 2] / parts;
}

static struct perf_event_mmap_page *record(char **argv, int argc, int *fd)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = atoi(argv[2]),
		.config = atoi(argv[3]),
		.sample_period = argc > 4 ? atoi(argv[4]) : 1,
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			       PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD,
		.sample_id_all = 1,
		.exclude_guest = 1,
		.disabled = 1,
		.watermark = 1,
		.wakeup_watermark = RING_PAGES / 2 * 4096,
	};
	void *page;

	attr.sample_type |= argc > 4 ? PERF_SAMPLE_CALLCHAIN : PERF_SAMPLE_RAW;
	*fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, 0);
	if (*fd < 0)
		return NULL;
	page = mmap(NULL, (RING_PAGES + 1) * 4096UL, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	return page == MAP_FAILED ? NULL : page;
}

int main(int argc, char **argv)
{
	struct perf_event_mmap_page *page = NULL;
	const char *what = argc > 1 ? argv[1] : "";
	double ticks;
	int fd = -1;

	if (!strncmp(what, "perf-", 5) && argc > 3) {
		page = record(argv, argc, &fd);
		if (!page || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0)) {
			perror("perf_event_open");
			return 1;
		}
		what += 5;
	}
	if (!strcmp(what, "call"))
		ticks = measure(call, CALLS);
	else if (!strcmp(what, "spin"))
		ticks = measure(spin, 1);
	else
		return 2;
	printf("%.1f %llu\n", ticks, page ? (unsigned long long)page->data_head : 0ULL);
	return 0;
}
