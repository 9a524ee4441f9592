// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program to be probed: it calls a function, so often as its argument says,
 * with arguments and results that are known.
 */
#include <stdio.h>
#include <stdlib.h>

int probe_target(int n, const char *text, unsigned long big);

__attribute__((noinline, noclone)) int probe_target(int n, const char *text, unsigned long big)
{
	__asm__ volatile("" : : "r"(text), "r"(big) : "memory");
	return n * 3 + 1;
}

int main(int argc, char **argv)
{
	int times = argc > 1 ? atoi(argv[1]) : 0, sum = 0;
	char text[32];

	for (int n = 0; n < times; n++) {
		snprintf(text, sizeof(text), "number %d", n);
		sum += probe_target(n, text, 0x100000000UL + n);
	}
	printf("%d\n", sum);
	return 0;
}
