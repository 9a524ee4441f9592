// SPDX-License-Identifier: LGPL-2.1-only
/* The counters that perf has names for. */
#include <stdlib.h>
#include <string.h>

#include "perf_event.h"

struct symbol {
	const char *name;
	const char *alias; /* or NULL */
	uint32_t type;
	uint64_t config;
};

#define HARDWARE(name, alias, config)                                   \
	{                                                               \
		name, alias, PERF_TYPE_HARDWARE, PERF_COUNT_HW_##config \
	}
#define SOFTWARE(name, alias, config)                                   \
	{                                                               \
		name, alias, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##config \
	}

/* Without "bpf-output" and "dummy": those never fire by themselves. */
static const struct symbol symbols[] = {
	HARDWARE("cpu-cycles", "cycles", CPU_CYCLES),
	HARDWARE("instructions", NULL, INSTRUCTIONS),
	HARDWARE("cache-references", NULL, CACHE_REFERENCES),
	HARDWARE("cache-misses", NULL, CACHE_MISSES),
	HARDWARE("branch-instructions", "branches", BRANCH_INSTRUCTIONS),
	HARDWARE("branch-misses", NULL, BRANCH_MISSES),
	HARDWARE("bus-cycles", NULL, BUS_CYCLES),
	HARDWARE("stalled-cycles-frontend", "idle-cycles-frontend", STALLED_CYCLES_FRONTEND),
	HARDWARE("stalled-cycles-backend", "idle-cycles-backend", STALLED_CYCLES_BACKEND),
	HARDWARE("ref-cycles", NULL, REF_CPU_CYCLES),
	SOFTWARE("cpu-clock", NULL, CPU_CLOCK),
	SOFTWARE("task-clock", NULL, TASK_CLOCK),
	SOFTWARE("page-faults", "faults", PAGE_FAULTS),
	SOFTWARE("context-switches", "cs", CONTEXT_SWITCHES),
	SOFTWARE("cpu-migrations", "migrations", CPU_MIGRATIONS),
	SOFTWARE("minor-faults", NULL, PAGE_FAULTS_MIN),
	SOFTWARE("major-faults", NULL, PAGE_FAULTS_MAJ),
	SOFTWARE("alignment-faults", NULL, ALIGNMENT_FAULTS),
	SOFTWARE("emulation-faults", NULL, EMULATION_FAULTS),
	SOFTWARE("cgroup-switches", NULL, CGROUP_SWITCHES),
};

/* A word of a cache event's name, and what it stands for. */
struct word {
	const char *text;
	unsigned int value;
};

static const struct word caches[] = {
	{ "L1-dcache", PERF_COUNT_HW_CACHE_L1D }, { "l1d", PERF_COUNT_HW_CACHE_L1D },
	{ "L1-icache", PERF_COUNT_HW_CACHE_L1I }, { "l1i", PERF_COUNT_HW_CACHE_L1I },
	{ "LLC", PERF_COUNT_HW_CACHE_LL },	  { "L2", PERF_COUNT_HW_CACHE_LL },
	{ "dTLB", PERF_COUNT_HW_CACHE_DTLB },	  { "iTLB", PERF_COUNT_HW_CACHE_ITLB },
	{ "branch", PERF_COUNT_HW_CACHE_BPU },	  { "bpu", PERF_COUNT_HW_CACHE_BPU },
	{ "node", PERF_COUNT_HW_CACHE_NODE },	  { NULL, 0 },
};

static const struct word ops[] = {
	{ "loads", PERF_COUNT_HW_CACHE_OP_READ },
	{ "load", PERF_COUNT_HW_CACHE_OP_READ },
	{ "read", PERF_COUNT_HW_CACHE_OP_READ },
	{ "stores", PERF_COUNT_HW_CACHE_OP_WRITE },
	{ "store", PERF_COUNT_HW_CACHE_OP_WRITE },
	{ "write", PERF_COUNT_HW_CACHE_OP_WRITE },
	{ "prefetches", PERF_COUNT_HW_CACHE_OP_PREFETCH },
	{ "prefetch", PERF_COUNT_HW_CACHE_OP_PREFETCH },
	{ NULL, 0 },
};

static const struct word results[] = {
	{ "refs", PERF_COUNT_HW_CACHE_RESULT_ACCESS },
	{ "access", PERF_COUNT_HW_CACHE_RESULT_ACCESS },
	{ "misses", PERF_COUNT_HW_CACHE_RESULT_MISS },
	{ "miss", PERF_COUNT_HW_CACHE_RESULT_MISS },
	{ NULL, 0 },
};

/* Take a word off the beginning of *@name, and the dash behind it. */
static bool take_word(const char **name, const struct word *words, unsigned int *value)
{
	for (; words->text; words++) {
		size_t len = strlen(words->text);

		if (strncasecmp(*name, words->text, len) || !memchr("-", (*name)[len], 2))
			continue;
		*name += len + ((*name)[len] == '-');
		*value = words->value;
		return true;
	}
	return false;
}

/* "L1-dcache-load-misses", "LLC-loads", "dTLB-misses" */
static bool cache_symbol(const char *name, struct perf_event_attr *attr)
{
	unsigned int cache, op = PERF_COUNT_HW_CACHE_OP_READ,
			    result = PERF_COUNT_HW_CACHE_RESULT_ACCESS;
	bool has_op, has_result;

	if (!take_word(&name, caches, &cache))
		return false;
	has_op = take_word(&name, ops, &op);
	has_result = take_word(&name, results, &result);
	if (*name || !(has_op || has_result))
		return false;
	attr->type = PERF_TYPE_HW_CACHE;
	attr->config = cache | op << 8 | result << 16;
	return true;
}

/* "r1a8": the CPU's own number of an event. */
static bool raw_symbol(const char *name, struct perf_event_attr *attr)
{
	char *end;

	if (*name != 'r' || !name[1] || strspn(name + 1, "0123456789abcdefABCDEF") > 16)
		return false;
	attr->config = strtoull(name + 1, &end, 16);
	if (*end || end == name + 1 || strpbrk(name + 1, "xX+- "))
		return false;
	attr->type = PERF_TYPE_RAW;
	return true;
}

/* Set type and config of what @name stands for, if it stands for anything. */
bool ktb_perf_symbol(const char *name, struct perf_event_attr *attr)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(symbols); i++) {
		if (strcmp(symbols[i].name, name) &&
		    (!symbols[i].alias || strcmp(symbols[i].alias, name)))
			continue;
		attr->type = symbols[i].type;
		attr->config = symbols[i].config;
		return true;
	}
	return cache_symbol(name, attr) || raw_symbol(name, attr);
}

const char *ktb_perf_event_name(unsigned int index, uint32_t *type)
{
	if (index >= ARRAY_SIZE(symbols))
		return NULL;
	*type = symbols[index].type;
	return symbols[index].name;
}
