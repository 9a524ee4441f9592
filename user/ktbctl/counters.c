// SPDX-License-Identifier: GPL-2.0-only
/* Counters named on the command line: how often they fire, and what was not liked. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracing.h"

#define DEFAULT_FREQ 4000 /* perf's */
#define MAX_RATE "/proc/sys/kernel/perf_event_max_sample_rate"

/* "999", or "max" for what perf allows now. Returns NULL, or what is wrong. */
const char *parse_freq(const char *text, uint64_t *freq)
{
	const char *wrong = "there is no maximum without perf";
	char line[32];
	FILE *file;

	if (strcmp(text, "max")) {
		wrong = parse_number(text, UINT64_MAX, freq);
		return wrong || *freq ? wrong : "must be at least 1 a second";
	}
	file = fopen(MAX_RATE, "re");
	if (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = 0;
		wrong = parse_number(line, UINT64_MAX, freq);
	}
	if (file)
		fclose(file);
	return wrong;
}

/*
 * perf's order: the terms of the event itself, then -c and -F, then 4000 a second,
 * but each hit of a breakpoint.
 */
void counter_set_rate(struct perf_event_attr *attr, const struct tracing *tracing)
{
	if (attr->sample_period)
		return;
	attr->sample_period = tracing->period;
	if (!tracing->freq && !attr->sample_period && attr->type == PERF_TYPE_BREAKPOINT)
		attr->sample_period = 1;
	if (attr->sample_period)
		return;
	attr->freq = 1;
	attr->sample_freq = tracing->freq ? tracing->freq : DEFAULT_FREQ;
}

/* A comma between slashes is a term's: cut off the first event of a list. */
char *next_event(char **list)
{
	char *event = *list, *at = event;
	bool terms = false, mem = event && !strncmp(event, "mem:", 4);

	if (!event)
		return NULL;
	for (; *at && (terms || *at != ','); at++)
		if (*at == '/' && !mem && at > event)
			terms = !terms;
	*list = *at ? at + 1 : NULL;
	*at = 0;
	return event;
}

/* The attribute's name is not the user's concern. */
const char *counter_reason(const char *text)
{
	static const char attribute[] = "perf-attr: ";

	return strncmp(text, attribute, strlen(attribute)) ? text : text + strlen(attribute);
}
