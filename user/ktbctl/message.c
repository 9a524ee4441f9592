// SPDX-License-Identifier: GPL-2.0-only
/* What goes to stderr. */
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ktbctl.h"

/* One line; there may be names in it that are anybody's. */
__attribute__((format(printf, 1, 0))) static void message(const char *format, va_list ap)
{
	char text[4096], clean[sizeof(text)];

	/* Lines on stdout that came before shall be seen before. */
	fflush(stdout);
	vsnprintf(text, sizeof(text), format, ap);
	fprintf(stderr, "ktbctl: %s\n", clean_text(text, sizeof(text), clean, sizeof(clean)));
}

int fail(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	message(format, ap);
	va_end(ap);
	return EXIT_FAILED;
}

void note(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	message(format, ap);
	va_end(ap);
}

/* Of a file that was begun at @path, if readers will miss the kernel's symbols. */
void note_hidden_kernel(struct ktb_perfdata *file, const char *path)
{
	struct ktb_perfdata_stats stats;

	ktb_perfdata_get_stats(file, &stats);
	if (stats.kernel_hidden)
		note("'%s' names no kernel functions: kernel.kptr_restrict hides them", path);
}

int fail_usage(const struct context *context, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	message(format, ap);
	va_end(ap);
	fprintf(stderr, "'ktbctl help %s' tells how it is used\n", context->command->name);
	return EXIT_USAGE;
}

/* A value that an option, of those @known, cannot take; @c is what it returned. */
int fail_value(const struct context *context, const struct option *known, int c, const char *value,
	       const char *wrong)
{
	if (c <= CHAR_MAX)
		return fail_usage(context, "-%c %s: %s", c, value, wrong);
	while (known->name && known->val != c)
		known++;
	return fail_usage(context, "--%s %s: %s", known->name, value, wrong);
}

/* Of "-xv" getopt_long() stays at 'x', and what it has behind it is another option. */
static bool is_among_letters(const char *arg, int letter)
{
	const char *at;

	if (!letter || letter > CHAR_MAX || !arg || arg[0] != '-' || arg[1] == '-')
		return false;
	at = strchr(arg + 1, letter);
	return at && at[1];
}

/*
 * What getopt_long() did not like; @c is what it returned, with opterr 0 and a ':'
 * before its options.
 */
int fail_option(const struct context *context, int c, char **argv)
{
	const char *last = argv[optind - 1];
	const char letter[3] = { '-', (char)optopt, 0 };
	bool is_letter = strncmp(last, "--", 2) || is_among_letters(argv[optind], optopt);
	const char *option = is_letter ? letter : last;

	if (c == ':')
		return fail_usage(context, "option %s needs a value", option);
	return fail_usage(context, "there is no option %s", option);
}
