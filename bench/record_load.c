// SPDX-License-Identifier: GPL-2.0-only
/*
 * record_load CALLS: so many getppid(2), for recorders to record. Prints what they
 * took of this process's own time, in ns: under QEMU's instruction counting,
 * instructions.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static unsigned long long own_time(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (unsigned long long)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int main(int argc, char **argv)
{
	unsigned long calls = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	unsigned long long start = own_time();

	for (unsigned long i = 0; i < calls; i++)
		syscall(SYS_getppid);
	printf("%llu\n", own_time() - start);
	return 0;
}
