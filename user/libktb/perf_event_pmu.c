// SPDX-License-Identifier: LGPL-2.1-only
/*
 * "pmu/term=value,term/": a PMU's type, the events it has names for, and which
 * bits of its configuration a term fills stand in its directory in sysfs.
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf_event.h"

#define LINE_LEN 1024

/* The first line of a file below a PMU's directory. */
static int read_line(const struct ktb_perf_parse *parse, const char *pmu, const char *directory,
		     const char *name, char *line)
{
	char path[PATH_MAX];
	FILE *file;
	bool done;

	if (strchr(name, '/') || *name == '.')
		return -ENOENT;
	snprintf(path, sizeof(path), "%s/%s/%s%s", parse->devices, pmu, directory, name);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	done = fgets(line, LINE_LEN, file);
	fclose(file);
	if (!done)
		return -EIO;
	line[strcspn(line, "\n")] = 0;
	return 0;
}

/* ---- terms ---- */

struct term {
	const char *name;
	const char *value; /* NULL: none */
	uint64_t number; /* 1 without a value */
};

static uint64_t *config_of(struct perf_event_attr *attr, const char **text)
{
	if (strncmp(*text, "config", 6))
		return NULL;
	*text += 6;
	if (**text == '1') {
		++*text;
		return (uint64_t *)&attr->config1;
	}
	if (**text == '2') {
		++*text;
		return (uint64_t *)&attr->config2;
	}
	return (uint64_t *)&attr->config;
}

/* Put the low bits of *@value into bits @first to @last, and move it down. */
static void put_bits(uint64_t *config, unsigned int first, unsigned int last, uint64_t *value)
{
	unsigned int len = last - first + 1;
	uint64_t mask = len == 64 ? UINT64_MAX : (1ULL << len) - 1;

	*config &= ~(mask << first);
	*config |= (*value & mask) << first;
	*value = len == 64 ? 0 : *value >> len;
}

/* @format such as "config:0-7,32-35" */
static int put_term(const struct ktb_perf_parse *parse, const struct term *term, const char *format)
{
	struct perf_event_attr *attr = &parse->event->attr;
	const char *at = format;
	uint64_t *config = config_of(attr, &at), value = term->number;
	unsigned int first, last;
	int len;

	if (!config || *at++ != ':')
		return ktb_perf_fail(parse, -EOPNOTSUPP,
				     "the term '%s' fills '%s', which is unknown", term->name,
				     format);
	while (sscanf(at, "%u%n", &first, &len) == 1) {
		at += len;
		last = first;
		if (sscanf(at, "-%u%n", &last, &len) == 1)
			at += len;
		if (last > 63 || first > last)
			break;
		put_bits(config, first, last, &value);
		if (*at++ != ',')
			break;
	}
	if (value)
		return ktb_perf_fail(parse, -EINVAL, "%s=%s is more than fits into '%s'",
				     term->name, term->value ? term->value : "1", format);
	return 0;
}

static int set_rate(const struct ktb_perf_parse *parse, const struct term *term)
{
	struct perf_event_attr *attr = &parse->event->attr;
	const bool freq = !strcmp(term->name, "freq");

	if (attr->sample_period)
		return ktb_perf_fail(parse, -EINVAL, "either one period or one freq");
	if (!term->number || !term->value)
		return ktb_perf_fail(parse, -EINVAL, "%s= needs a number, 1 or more", term->name);
	attr->freq = freq;
	attr->sample_period = term->number;
	return 0;
}

static int set_name(const struct ktb_perf_parse *parse, const struct term *term)
{
	if (!term->value || !*term->value || strlen(term->value) >= sizeof(parse->event->name) ||
	    strchr(term->value, ':'))
		return ktb_perf_fail(parse, -EINVAL,
				     "name= needs a name of at most %zu bytes, without ':'",
				     sizeof(parse->event->name) - 1);
	memcpy(parse->event->name, term->value, strlen(term->value) + 1);
	return 0;
}

/* Terms that every event has. Returns 1 if it is none of them. */
static int common_term(const struct ktb_perf_parse *parse, const struct term *term)
{
	const char *at = term->name;
	uint64_t *config;

	if (!strcmp(term->name, "period") || !strcmp(term->name, "freq"))
		return set_rate(parse, term);
	if (!strcmp(term->name, "name"))
		return set_name(parse, term);
	config = config_of(&parse->event->attr, &at);
	if (!config || *at)
		return 1;
	*config = term->number;
	return 0;
}

static int set_terms(const struct ktb_perf_parse *parse, const char *pmu, const char *terms,
		     bool is_alias);

static int set_term(const struct ktb_perf_parse *parse, const char *pmu, const struct term *term,
		    bool is_alias)
{
	char line[LINE_LEN];
	int err = common_term(parse, term);

	if (err != 1)
		return err;
	if (pmu && !read_line(parse, pmu, "format/", term->name, line))
		return put_term(parse, term, line);
	if (pmu && !is_alias && !term->value && !read_line(parse, pmu, "events/", term->name, line))
		return set_terms(parse, pmu, line, true);
	if (!pmu)
		return ktb_perf_fail(parse, -EINVAL,
				     "there is no term '%s' here; there are period, freq and name",
				     term->name);
	return ktb_perf_fail(parse, -EINVAL,
			     "%s has no term or event '%s'; see %s/%s/format, events", pmu,
			     term->name, parse->devices, pmu);
}

static int set_terms(const struct ktb_perf_parse *parse, const char *pmu, const char *terms,
		     bool is_alias)
{
	char *copy = strdup(terms), *rest = copy, *one;
	int err = 0;

	if (!copy)
		return ktb_perf_fail(parse, -ENOMEM, "out of memory");
	while (!err && (one = strsep(&rest, ","))) {
		struct term term = { .name = one, .number = 1 };
		char *value = strchr(one, '=');

		if (!*one)
			continue;
		if (value) {
			*value++ = 0;
			term.value = value;
		}
		if (value && strcmp(one, "name") && ktb_perf_number(value, &term.number))
			err = ktb_perf_fail(parse, -EINVAL, "%s=%s: not a number", one, value);
		else
			err = set_term(parse, pmu, &term, is_alias);
	}
	free(copy);
	return err;
}

/* What stands between the slashes; @pmu NULL for an event that has a name of its own. */
int ktb_perf_terms(const struct ktb_perf_parse *parse, const char *pmu, const char *terms)
{
	return set_terms(parse, pmu, terms, false);
}

/* Set the type. */
int ktb_perf_pmu(const struct ktb_perf_parse *parse, const char *name)
{
	static const char *const others[] = { "tracepoint", "kprobe", "uprobe", "ktrace_bridge" };
	char line[LINE_LEN];
	uint64_t type;

	for (unsigned int i = 0; i < ARRAY_SIZE(others); i++)
		if (!strcmp(name, others[i]))
			return ktb_perf_fail(parse, -EINVAL,
					     "its events are attached by their names, %s",
					     "'system:event'");
	if (!strcmp(name, ".") || read_line(parse, name, "", "type", line) ||
	    ktb_perf_number(line, &type) || type > UINT32_MAX)
		return ktb_perf_fail(parse, -ENODEV, "this machine has no PMU '%s'; see %s", name,
				     parse->devices);
	parse->event->attr.type = (uint32_t)type;
	return 0;
}
