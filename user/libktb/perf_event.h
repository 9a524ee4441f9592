/* SPDX-License-Identifier: LGPL-2.1-only */
/* Counters in perf's notation, while they are parsed. */
#ifndef KTB_PERF_EVENT_H
#define KTB_PERF_EVENT_H

#include "internal.h"

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* What parsing is about, and where it looks things up. */
struct ktb_perf_parse {
	const char *devices; /* directory of PMUs */
	const char *kallsyms;
	struct ktb_perf_event *event;
	char *error;
	size_t error_len;
};

int ktb_perf_parse(const struct ktb_perf_parse *parse, const char *text);
int ktb_perf_fail(const struct ktb_perf_parse *parse, int err, const char *format, ...)
	KTB_PRINTF(3, 4);
int ktb_perf_number(const char *text, uint64_t *number);

/* perf_event_names.c */
bool ktb_perf_symbol(const char *name, struct perf_event_attr *attr);

/* perf_event_pmu.c */
int ktb_perf_pmu(const struct ktb_perf_parse *parse, const char *name);
int ktb_perf_terms(const struct ktb_perf_parse *parse, const char *pmu, const char *terms);

/* perf_event_mem.c */
int ktb_perf_breakpoint(const struct ktb_perf_parse *parse, const char *text);

#endif /* KTB_PERF_EVENT_H */
