// SPDX-License-Identifier: LGPL-2.1-only
/* Breakpoints: "mem:ADDRESS[/LENGTH][:rwx]", the address a number or a kernel symbol. */
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "perf_event.h"

#define SYMBOL_LEN 256

/* x86 watches writes, or reads and writes. */
#ifdef __x86_64__
static const bool has_read_watch;
#else
static const bool has_read_watch = true;
#endif

/* Data too, unlike for functions' names; the first one of a name. */
static int find_symbol(const struct ktb_perf_parse *parse, const char *name, uint64_t *addr)
{
	char line[2 * SYMBOL_LEN], found[SYMBOL_LEN];
	FILE *file = fopen(parse->kallsyms, "re");
	unsigned long long at = 0;
	bool is_there = false;

	while (file && !is_there && fgets(line, sizeof(line), file))
		is_there = sscanf(line, "%llx %*c %255s", &at, found) == 2 && !strcmp(found, name);
	if (file)
		fclose(file);
	if (!is_there)
		return ktb_perf_fail(parse, -EINVAL, "the kernel has no symbol '%s'", name);
	if (!at)
		return ktb_perf_fail(parse, -EPERM,
				     "the address of '%s' is hidden (kernel.kptr_restrict)", name);
	*addr = at;
	return 0;
}

static int set_access(const struct ktb_perf_parse *parse, const char *access)
{
	struct perf_event_attr *attr = &parse->event->attr;

	attr->bp_type = 0;
	for (; *access; access++) {
		uint32_t bit = *access == 'r' ? HW_BREAKPOINT_R :
			       *access == 'w' ? HW_BREAKPOINT_W :
						HW_BREAKPOINT_X;

		if (attr->bp_type & bit)
			return ktb_perf_fail(parse, -EINVAL, "'%c' stands there twice", *access);
		attr->bp_type |= bit;
	}
	return 0;
}

static int set_length(const struct ktb_perf_parse *parse, const char *text)
{
	struct perf_event_attr *attr = &parse->event->attr;
	uint64_t len = attr->bp_type & HW_BREAKPOINT_X ? KERNEL_LONG : HW_BREAKPOINT_LEN_4;

	if (text && (ktb_perf_number(text, &len) || len < 1 || len > 8 || len & (len - 1)))
		return ktb_perf_fail(parse, -EINVAL, "a length of %s: must be 1, 2, 4 or 8", text);
	attr->bp_len = len;
	return 0;
}

/* What the processor cannot do anyway, told better than by an error number. */
static int check(const struct ktb_perf_parse *parse)
{
	const struct perf_event_attr *attr = &parse->event->attr;

	if (attr->bp_type == HW_BREAKPOINT_X && attr->bp_len != KERNEL_LONG)
		return ktb_perf_fail(parse, -EINVAL, "a breakpoint on execution has a length of %d",
				     KERNEL_LONG);
	if (attr->bp_type != HW_BREAKPOINT_X && attr->bp_type & HW_BREAKPOINT_X)
		return ktb_perf_fail(parse, -EINVAL, "either x, or r and w");
	if (attr->bp_type == HW_BREAKPOINT_R && !has_read_watch)
		return ktb_perf_fail(parse, -EINVAL,
				     "this processor cannot watch reads alone: take rw");
	if (attr->bp_type != HW_BREAKPOINT_X && attr->bp_addr & (attr->bp_len - 1))
		return ktb_perf_fail(parse, -EINVAL,
				     "the address is not a multiple of the length, %llu",
				     (unsigned long long)attr->bp_len);
	return 0;
}

static int set_address(const struct ktb_perf_parse *parse, const char *text)
{
	uint64_t addr = 0;
	int err = 0;

	if (ktb_perf_number(text, &addr))
		err = find_symbol(parse, text, &addr);
	parse->event->attr.bp_addr = addr;
	return err;
}

/* What stands behind "mem:", modifiers taken off: it is the caller's and is cut up. */
int ktb_perf_breakpoint(const struct ktb_perf_parse *parse, const char *text)
{
	char *address = strdup(text), *access, *len;
	int err;

	if (!address)
		return ktb_perf_fail(parse, -ENOMEM, "out of memory");
	access = strchr(address, ':');
	if (access)
		*access++ = 0;
	len = strchr(address, '/');
	if (len)
		*len++ = 0;
	parse->event->attr.type = PERF_TYPE_BREAKPOINT;
	err = set_access(parse, access ? access : "rw");
	err = err ? err : set_length(parse, len);
	err = err ? err : set_address(parse, address);
	free(address);
	return err ? err : check(parse);
}
