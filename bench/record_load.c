// SPDX-License-Identifier: GPL-2.0-only
/*
 * record_load loop|getppid HITS: an event is hit so often, for recorders to record.
 *
 *	loop	power:cpu_frequency, in a loop in the kernel (ktb_loop.ko), ten at a
 *		time; no recorder makes such an event itself. Not a thousand: what runs
 *		on until the kernel lets go of the CPU, after the recorder was woken, the
 *		scheduler puts down to the recorder (it spares itself a look at the clock)
 *	getppid	raw_syscalls:sys_enter, by the fastest system call
 *
 * Prints what that took of this process's own time, in ns: under QEMU's instruction
 * counting, instructions.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LOOP "/sys/module/ktb_loop/parameters/probe8"

static unsigned long long own_time(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (unsigned long long)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static int run_loop(unsigned long hits)
{
	int fd = open(LOOP, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	for (unsigned long i = 0; i < hits; i += 10)
		if (pwrite(fd, "10", 2, 0) != 2)
			return -1;
	return 0;
}

int main(int argc, char **argv)
{
	unsigned long hits = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	unsigned long long start = own_time();

	if (argc > 1 && !strcmp(argv[1], "getppid")) {
		for (unsigned long i = 0; i < hits; i++)
			syscall(SYS_getppid);
	} else if (run_loop(hits)) {
		perror(LOOP);
		return 1;
	}
	printf("%llu\n", own_time() - start);
	return 0;
}
