// SPDX-License-Identifier: GPL-2.0-only
/*
 * loop WHAT [BATCHES [TURNS]]: what one turn of a loop costs, in TSC ticks; under
 * QEMU's instruction counting a tick is one instruction. Prints the median over
 * batches so short that timer interrupts fall out, and the context switches meanwhile.
 * The loops:
 *
 *	getppid		a system call that does next to nothing
 *	probe56		the probes of raw_syscalls:sys_enter, called in the kernel
 *	probe8		the tracepoint power:cpu_frequency, hit in the kernel
 *	text		the probes of printk:console, called in the kernel
 *	switch		two threads that hand each other a byte: one context switch
 *
 * probe56 and probe8, named for the bytes of payload, and text need ktb_loop.ko.
 */
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

#define MAX_BATCHES 1000

static int fire = -1;
static int there[2], back[2];

static void getppid_turns(int turns)
{
	for (int i = 0; i < turns; i++)
		syscall(SYS_getppid);
}

static void open_fire(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/module/ktb_loop/parameters/%s", name);
	fire = open(path, O_WRONLY);
	if (fire < 0)
		err(1, "%s", path);
}

static void fire_turns(int turns)
{
	if (dprintf(fire, "%d", turns) < 0)
		err(1, "ktb_loop");
}

static void pass(int from, int to)
{
	char byte;

	if (read(from, &byte, 1) != 1 || write(to, &byte, 1) != 1)
		exit(1);
}

static void *echo(void *unused)
{
	for (;;)
		pass(there[0], back[1]);
	return unused;
}

static void open_switch(const char *name)
{
	pthread_t thread;

	if (pipe(there) || pipe(back) || write(back[1], name, 1) != 1)
		err(1, "pipe");
	if (pthread_create(&thread, NULL, echo, NULL))
		errx(1, "no thread");
}

/* There and back are two switches. */
static void switch_turns(int turns)
{
	for (int i = 0; i < turns / 2; i++)
		pass(back[0], there[1]);
}

static const struct loop {
	const char *name;
	void (*open)(const char *name);
	void (*turns)(int turns);
	int batch;	/* turns */
} loops[] = {
	{ "getppid", NULL, getppid_turns, 1000 },
	{ "probe56", open_fire, fire_turns, 1000 },
	{ "probe8", open_fire, fire_turns, 1000 },
	{ "text", open_fire, fire_turns, 100 },
	{ "switch", open_switch, switch_turns, 100 },
};

static int compare(const void *a, const void *b)
{
	unsigned long long x = *(const unsigned long long *)a;
	unsigned long long y = *(const unsigned long long *)b;

	return (x > y) - (x < y);
}

static void run(const struct loop *loop, int batches, int turns)
{
	unsigned long long ticks[MAX_BATCHES];
	struct rusage before, after;

	if (loop->open)
		loop->open(loop->name);
	loop->turns(turns);
	getrusage(RUSAGE_SELF, &before);
	for (int i = 0; i < batches; i++) {
		unsigned long long start = __rdtsc();

		loop->turns(turns);
		ticks[i] = __rdtsc() - start;
	}
	getrusage(RUSAGE_SELF, &after);
	qsort(ticks, batches, sizeof(*ticks), compare);
	printf("%.1f %ld\n", (double)ticks[batches / 2] / turns,
	       after.ru_nvcsw + after.ru_nivcsw - before.ru_nvcsw - before.ru_nivcsw);
}

int main(int argc, char **argv)
{
	int batches = argc > 2 ? atoi(argv[2]) : 41;

	for (size_t i = 0; i < sizeof(loops) / sizeof(*loops); i++) {
		if (argc < 2 || strcmp(argv[1], loops[i].name) || batches < 1 ||
		    batches > MAX_BATCHES)
			continue;
		run(&loops[i], batches, argc > 3 ? atoi(argv[3]) : loops[i].batch);
		return 0;
	}
	fprintf(stderr, "usage: loop getppid|probe56|probe8|text|switch [BATCHES [TURNS]]\n");
	return 2;
}
