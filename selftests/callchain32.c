// SPDX-License-Identifier: GPL-2.0-only
/*
 * A 32-bit program with frame pointers, for the test of callchains: ten levels
 * down it makes ten system calls. It writes a byte when it is there, and waits
 * for one.
 */
#include <sys/syscall.h>
#include <unistd.h>

static __attribute__((noinline, noclone)) int bottom(void)
{
	int result;

	asm volatile("int $0x80" : "=a" (result) : "0" (SYS_getppid) : "memory");
	return result;
}

/* What it does after the call keeps the call a call. */
static __attribute__((noinline, noclone)) int level(int n)
{
	int result = n ? level(n - 1) : bottom();

	asm volatile("" : : : "memory");
	return result + 1;
}

static __attribute__((noinline, noclone)) void finish(void)
{
	int result;

	asm volatile("int $0x80" : "=a" (result) : "0" (SYS_exit_group), "b" (0) : "memory");
}

static __attribute__((noinline, noclone)) int last(int n)
{
	if (n)
		last(n - 1);
	else
		finish();
	asm volatile("" : : : "memory");
	return n;
}

int main(void)
{
	char c = 0;

	if (write(1, &c, 1) != 1 || read(0, &c, 1) != 1)
		return 1;
	for (int i = 0; i < 10; i++)
		level(10);
	return last(10);
}
