// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Counters in perf's notation:
 *
 *	cycles, cpu-clock:u, L1-dcache-load-misses, r1a8	by name or number
 *	cpu-clock/freq=99/					with terms
 *	cpu/event=0x3c,umask=1/u				of a PMU in sysfs
 *	mem:0x1000/8:rw:k					breakpoints
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf_event.h"

#define DEVICES "/sys/bus/event_source/devices"
#define KALLSYMS "/proc/kallsyms"
#define MAX_PRECISE 3

int ktb_perf_fail(const struct ktb_perf_parse *parse, int err, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(parse->error, parse->error_len, format, ap);
	va_end(ap);
	return err;
}

/* "16" or "0x10". Returns 0 or a negative errno. */
int ktb_perf_number(const char *text, uint64_t *number)
{
	const bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	const char *digits = hex ? text + 2 : text;
	char *end;

	if (!(hex ? isxdigit((unsigned char)*digits) : isdigit((unsigned char)*digits)))
		return -EINVAL;
	errno = 0;
	*number = strtoull(digits, &end, hex ? 16 : 10);
	return *end ? -EINVAL : -errno;
}

/* ---- modifiers ---- */

/* Of user, kernel and hypervisor those count that are named, if one is. */
static void set_level(struct perf_event_attr *attr, const char *modifiers)
{
	if (!strpbrk(modifiers, "ukh"))
		return;
	attr->exclude_user = !strchr(modifiers, 'u');
	attr->exclude_kernel = !strchr(modifiers, 'k');
	attr->exclude_hv = !strchr(modifiers, 'h');
}

static void set_guest(struct perf_event_attr *attr, const char *modifiers)
{
	if (!strpbrk(modifiers, "GH"))
		return;
	attr->exclude_guest = !strchr(modifiers, 'G');
	attr->exclude_host = !strchr(modifiers, 'H');
}

static int set_modifiers(const struct ktb_perf_parse *parse, const char *modifiers)
{
	struct perf_event_attr *attr = &parse->event->attr;
	unsigned int precise = 0;

	for (const char *at = modifiers; *at; at++) {
		if (!strchr("ukhGHIp", *at))
			return ktb_perf_fail(parse, -EINVAL,
					     "there is no modifier '%c'; there are %s", *at,
					     "u, k, h, G, H, I and p");
		if (*at != 'p' && strchr(at + 1, *at))
			return ktb_perf_fail(parse, -EINVAL, "the modifier '%c' stands there twice",
					     *at);
		precise += *at == 'p';
	}
	if (precise > MAX_PRECISE)
		return ktb_perf_fail(parse, -EINVAL, "there is no precision above ppp");
	set_level(attr, modifiers);
	set_guest(attr, modifiers);
	attr->exclude_idle = !!strchr(modifiers, 'I');
	attr->precise_ip = precise;
	return 0;
}

/* ---- the kinds of counters ---- */

/* The modifiers at the end of a breakpoint are not r, w and x. */
static int parse_mem(const struct ktb_perf_parse *parse, char *text)
{
	char *modifiers = strrchr(text, ':');
	int err;

	if (modifiers && strspn(modifiers + 1, "rwx") == strlen(modifiers + 1))
		modifiers = NULL;
	if (modifiers)
		*modifiers++ = 0;
	err = ktb_perf_breakpoint(parse, text);
	return err || !modifiers ? err : set_modifiers(parse, modifiers);
}

/* "base/terms/modifiers": @terms is behind the first slash. */
static int parse_terms(const struct ktb_perf_parse *parse, const char *base, char *terms)
{
	char *end = strchr(terms, '/');
	bool named = ktb_perf_symbol(base, &parse->event->attr);
	int err;

	if (!end)
		return ktb_perf_fail(parse, -EINVAL, "the '/' that ends the terms is missing");
	*end++ = 0;
	end += *end == ':';
	err = named ? 0 : ktb_perf_pmu(parse, base);
	err = err ? err : ktb_perf_terms(parse, named ? NULL : base, terms);
	return err ? err : set_modifiers(parse, end);
}

/* "name:modifiers" */
static int parse_symbol(const struct ktb_perf_parse *parse, char *text)
{
	char *modifiers = strchr(text, ':');

	if (modifiers)
		*modifiers++ = 0;
	if (!strcmp(text, "bpf-output") || !strcmp(text, "dummy"))
		return ktb_perf_fail(parse, -EINVAL, "'%s' never fires by itself", text);
	if (!ktb_perf_symbol(text, &parse->event->attr))
		return -ENOENT;
	return modifiers ? set_modifiers(parse, modifiers) : 0;
}

static int parse_copy(const struct ktb_perf_parse *parse, char *text)
{
	char *slash;

	if (!strncmp(text, "mem:", 4))
		return parse_mem(parse, text + 4);
	slash = strchr(text, '/');
	if (!slash)
		return parse_symbol(parse, text);
	if (slash == text || memchr(text, ':', slash - text))
		return -ENOENT; /* a path, or what is another kind's */
	*slash = 0;
	return parse_terms(parse, text, slash + 1);
}

int ktb_perf_parse(const struct ktb_perf_parse *parse, const char *text)
{
	struct ktb_perf_event *event = parse->event;
	char *copy;
	int err;

	*event = (struct ktb_perf_event){
		/* As perf: what runs in a virtual machine is not ours. */
		.attr = { .size = sizeof(event->attr), .exclude_guest = 1 },
	};
	parse->error[0] = 0;
	copy = strdup(text);
	if (!copy)
		return ktb_perf_fail(parse, -ENOMEM, "out of memory");
	err = parse_copy(parse, copy);
	free(copy);
	if (err || event->name[0])
		return err;
	if (strlen(text) >= sizeof(event->name))
		return ktb_perf_fail(parse, -EINVAL,
				     "longer than %zu bytes: give it a short one with name=",
				     sizeof(event->name) - 1);
	memcpy(event->name, text, strlen(text) + 1);
	return 0;
}

int ktb_perf_event_parse(const char *text, struct ktb_perf_event *event, char *error, size_t len)
{
	const struct ktb_perf_parse parse = { DEVICES, KALLSYMS, event, error, len };

	return ktb_perf_parse(&parse, text);
}
