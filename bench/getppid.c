// SPDX-License-Identifier: GPL-2.0-only
/*
 * getppid: the cost of one getppid(2), in TSC ticks: the median over batches of
 * 1,000 calls, so that timer interrupts fall out. Under QEMU's instruction
 * counting a tick is one instruction.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

#define BATCHES	41
#define CALLS	1000

static int compare(const void *a, const void *b)
{
	unsigned long long x = *(const unsigned long long *)a;
	unsigned long long y = *(const unsigned long long *)b;

	return (x > y) - (x < y);
}

int main(void)
{
	unsigned long long ticks[BATCHES];
	struct rusage usage;
	int batch, call;

	for (batch = 0; batch < BATCHES; batch++) {
		unsigned long long start = __rdtsc();

		for (call = 0; call < CALLS; call++)
			syscall(SYS_getppid);
		ticks[batch] = __rdtsc() - start;
	}
	qsort(ticks, BATCHES, sizeof(*ticks), compare);
	getrusage(RUSAGE_SELF, &usage);
	printf("%.1f %ld\n", (double)ticks[BATCHES / 2] / CALLS,
	       usage.ru_nvcsw + usage.ru_nivcsw);
	return 0;
}
