/* SPDX-License-Identifier: GPL-2.0-only */
/* Test results as TAP. */
#ifndef TESTS_TAP_H
#define TESTS_TAP_H

#include <stdbool.h>
#include <stdio.h>

static unsigned int tap_nr, tap_failed;

/* One test's result; of a failure the line is told. */
#define ok(is_ok, ...) tap_ok((is_ok), __LINE__, __VA_ARGS__)

__attribute__((format(printf, 3, 4))) static inline bool tap_ok(bool is_ok, int line,
								const char *format, ...)
{
	__builtin_va_list ap;

	printf("%sok %u - ", is_ok ? "" : "not ", ++tap_nr);
	__builtin_va_start(ap, format);
	vprintf(format, ap);
	__builtin_va_end(ap);
	putchar('\n');
	if (!is_ok) {
		printf("# failed at line %d\n", line);
		tap_failed++;
	}
	return is_ok;
}

static inline int tap_end(void)
{
	printf("1..%u\n", tap_nr);
	return tap_failed ? 1 : 0;
}

#endif /* TESTS_TAP_H */
