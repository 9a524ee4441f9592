// SPDX-License-Identifier: GPL-2.0-only
/* Counters in perf's notation, against a directory of PMUs of our own. */
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "perf_event.h"
#include "tap.h"

static char directory[64];
static char devices[96], kallsyms[96], error[256];
static struct ktb_perf_event event;

static void put_file(const char *path, const char *text)
{
	char full[256];
	FILE *file;

	snprintf(full, sizeof(full), "%s/%s", directory, path);
	file = fopen(full, "w");
	if (!file || fputs(text, file) < 0 || fclose(file))
		exit(1);
}

static void put_directory(const char *path)
{
	char full[256];

	snprintf(full, sizeof(full), "%s/%s", directory, path);
	if (mkdir(full, 0700))
		exit(1);
}

static void make_machine(void)
{
	snprintf(directory, sizeof(directory), "/tmp/ktb-perf-event.XXXXXX");
	if (!mkdtemp(directory))
		exit(1);
	snprintf(devices, sizeof(devices), "%s/devices", directory);
	snprintf(kallsyms, sizeof(kallsyms), "%s/kallsyms", directory);
	put_directory("devices");
	put_directory("devices/cpu");
	put_directory("devices/cpu/format");
	put_directory("devices/cpu/events");
	put_file("devices/cpu/type", "4\n");
	put_file("devices/cpu/format/event", "config:0-7,32-35\n");
	put_file("devices/cpu/format/umask", "config:8-15\n");
	put_file("devices/cpu/format/any", "config:21\n");
	put_file("devices/cpu/format/ldlat", "config1:0-15\n");
	put_file("devices/cpu/format/wide", "config2:0-63\n");
	put_file("devices/cpu/format/strange", "config7:0-63\n");
	put_file("devices/cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n");
	put_file("kallsyms", "ffffffff81000000 T _text\n"
			     "ffffffff82000010 D jiffies\n"
			     "0000000000000000 D hidden\n");
}

static int parse(const char *text)
{
	const struct ktb_perf_parse how = { devices, kallsyms, &event, error, sizeof(error) };

	memset(error, 'x', sizeof(error));
	return ktb_perf_parse(&how, text);
}

static bool is(const char *text, uint32_t type, uint64_t config)
{
	return !parse(text) && event.attr.type == type && event.attr.config == config &&
	       !strcmp(event.name, text) && event.attr.size == sizeof(event.attr);
}

static void wrong(const char *text, int err, const char *says)
{
	ok(parse(text) == err && strstr(error, says), "'%s' is refused (%s)", text, error);
}

static void test_names(void)
{
	static const char *const no_counters[] = {
		"",
		"nonsense",
		"sched:sched_switch",
		"/bin/sh:main",
		"function:vfs_*",
		"cpu-clok",
		"r",
		"rxyz",
		"r0x10",
		"L1-dcache",
		"r12345678901234567",
	};

	ok(is("cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES), "cycles");
	ok(is("cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES), "cpu-cycles");
	ok(is("branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS), "branches");
	ok(is("branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES), "branch-misses");
	ok(is("cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK), "cpu-clock");
	ok(is("cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES), "cs");
	ok(is("faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS), "faults");
	ok(is("L1-dcache-load-misses", PERF_TYPE_HW_CACHE, 0x10000), "L1-dcache-load-misses");
	ok(is("LLC-stores", PERF_TYPE_HW_CACHE, 0x102), "LLC-stores");
	ok(is("dTLB-misses", PERF_TYPE_HW_CACHE, 0x10003), "dTLB-misses");
	ok(is("r1A8", PERF_TYPE_RAW, 0x1a8), "a raw number");
	ok(is("rffffffffffffffff", PERF_TYPE_RAW, UINT64_MAX), "the largest raw number");
	for (size_t i = 0; i < ARRAY_SIZE(no_counters); i++)
		ok(parse(no_counters[i]) == -ENOENT && !*error, "'%s' is no counter",
		   no_counters[i]);
	wrong("dummy", -EINVAL, "never fires");
}

static void test_modifiers(void)
{
	bool good;
	const struct perf_event_attr *attr = &event.attr;

	parse("cycles");
	good = !attr->exclude_user && !attr->exclude_kernel && !attr->exclude_hv &&
	       attr->exclude_guest && !attr->exclude_host;
	ok(good, "without modifiers all levels of the host count");
	parse("cycles:u");
	ok(!attr->exclude_user && attr->exclude_kernel && attr->exclude_hv, ":u");
	parse("cycles:k");
	ok(attr->exclude_user && !attr->exclude_kernel && attr->exclude_hv, ":k");
	parse("cycles:ukh");
	ok(!attr->exclude_user && !attr->exclude_kernel && !attr->exclude_hv, ":ukh");
	parse("cycles:ppuI");
	ok(attr->precise_ip == 2 && attr->exclude_idle && attr->exclude_kernel, ":ppuI");
	parse("cycles:G");
	ok(!attr->exclude_guest && attr->exclude_host, ":G");
	good = !parse("cpu/event=1/u") && attr->exclude_kernel && !parse("cpu/event=1/:k") &&
	       attr->exclude_user;
	ok(good, "behind terms, with a colon or without");
	wrong("cycles:pppp", -EINVAL, "ppp");
	wrong("cycles:x", -EINVAL, "no modifier 'x'");
	wrong("cycles:uu", -EINVAL, "twice");
}

static void test_terms(void)
{
	bool good;
	const struct perf_event_attr *attr = &event.attr;

	ok(is("cpu/event=0x3c,umask=1/", 4, 0x13c), "terms of a PMU");
	ok(is("cpu/event=0xf3c,any/", 4, 0xf0020003cULL), "bits in two places, and a bare term");
	ok(is("cpu/mem-loads/", 4, 0x1cd) && attr->config1 == 3, "an event of a PMU");
	ok(is("cpu/mem-loads,ldlat=30/u", 4, 0x1cd) && attr->config1 == 30, "and a term over it");
	good = is("cpu/config=0x123,wide=0xffffffffffffffff/", 4, 0x123) &&
	       attr->config2 == UINT64_MAX;
	ok(good, "whole words");
	good = !parse("cpu/event=1,period=1000,name=mine/") && attr->sample_period == 1000 &&
	       !attr->freq && !strcmp(event.name, "mine");
	ok(good, "period= and name=");
	good = !parse("cpu-clock/freq=99/u") && attr->sample_freq == 99 && attr->freq &&
	       attr->exclude_kernel && attr->type == PERF_TYPE_SOFTWARE;
	ok(good, "terms of an event that has a name");
	wrong("cpu/event=0x1000/", -EINVAL, "more than fits");
	wrong("cpu/nothing/", -EINVAL, "no term or event 'nothing'");
	wrong("cpu/../type/", -EINVAL, "no term or event '..'");
	wrong("cpu/event=zz/", -EINVAL, "not a number");
	wrong("cpu/strange=1/", -EOPNOTSUPP, "unknown");
	wrong("cpu/event=1", -EINVAL, "missing");
	wrong("gpu/event=1/", -ENODEV, "no PMU 'gpu'");
	wrong("cpu-clock/umask=1/", -EINVAL, "no term 'umask'");
	wrong("cpu-clock/freq=0/", -EINVAL, "1 or more");
	wrong("cpu-clock/freq=9,period=9/", -EINVAL, "either");
	wrong("kprobe/config=1/", -EINVAL, "by their names");
}

static void test_breakpoints(void)
{
	bool good;
	const struct perf_event_attr *attr = &event.attr;

	good = is("mem:0x1000", PERF_TYPE_BREAKPOINT, 0) && attr->bp_addr == 0x1000 &&
	       attr->bp_len == 4 && attr->bp_type == HW_BREAKPOINT_RW;
	ok(good, "reads and writes of four bytes, if nothing is said");
	good = is("mem:4096/8:w", PERF_TYPE_BREAKPOINT, 0) && attr->bp_len == 8 &&
	       attr->bp_type == HW_BREAKPOINT_W;
	ok(good, "a length and writes");
	good = is("mem:0x1001:x:u", PERF_TYPE_BREAKPOINT, 0) && attr->bp_len == 8 &&
	       attr->bp_type == HW_BREAKPOINT_X && attr->exclude_kernel;
	ok(good, "execution, and a modifier");
	good = is("mem:0x1000:k", PERF_TYPE_BREAKPOINT, 0) && attr->exclude_user &&
	       attr->bp_type == HW_BREAKPOINT_RW;
	ok(good, "a modifier alone");
	good = is("mem:jiffies/8:w", PERF_TYPE_BREAKPOINT, 0) &&
	       attr->bp_addr == 0xffffffff82000010;
	ok(good, "a symbol of the kernel");
	wrong("mem:nowhere", -EINVAL, "no symbol 'nowhere'");
	wrong("mem:hidden", -EPERM, "hidden");
	wrong("mem:0x1000/3", -EINVAL, "1, 2, 4 or 8");
	wrong("mem:0x1002/4:w", -EINVAL, "multiple");
	wrong("mem:0x1000:ww", -EINVAL, "twice");
	wrong("mem:0x1000:wx", -EINVAL, "either x");
	wrong("mem:0x1000/4:x", -EINVAL, "execution");
	wrong("mem:0x1000:q", -EINVAL, "no modifier 'q'");
}

static void test_list(void)
{
	const char *name;
	unsigned int i;
	uint32_t type;
	bool all = true;

	for (i = 0; (name = ktb_perf_event_name(i, &type)); i++)
		all = all && !parse(name) && event.attr.type == type;
	ok(all && i > 15, "each of the %u names listed is understood", i);
}

int main(void)
{
	char command[128];

	make_machine();
	test_names();
	test_modifiers();
	test_terms();
	test_breakpoints();
	test_list();
	snprintf(command, sizeof(command), "rm -r %s", directory);
	if (system(command))
		return 1;
	return tap_end();
}
