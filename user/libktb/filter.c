// SPDX-License-Identifier: LGPL-2.1-only
/* A filter on an event, as a BPF program in the kernel. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <event-parse.h>

#include "filter.h"

#define LOG_LEN (1 << 20)

static int load_insns(const struct ktb_filter_code *code, char *log, unsigned int log_len)
{
	static const char license[] = "GPL";
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_TRACEPOINT,
		.insns = (uintptr_t)code->insns,
		.insn_cnt = code->nr,
		.license = (uintptr_t)license,
		.log_buf = (uintptr_t)log,
		.log_size = log_len,
		.log_level = log ? 1 : 0,
		.prog_name = "ktb_filter",
	};
	long fd = syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));

	return fd < 0 ? -errno : (int)fd;
}

/* The verifier's reason stands in its last but one line; 7.3 explains it behind that. */
const char *ktb_verifier_reason(char *log)
{
	char *line, *reason = log;

	for (char *rest = log; (line = strsep(&rest, "\n"));) {
		if (!strncmp(line, "Verification failed:", 20))
			break;
		if (*line && strncmp(line, "processed ", 10) != 0)
			reason = line;
	}
	return reason;
}

static int fail_load(const struct ktb_filter_code *code, int err, char *error, size_t len)
{
	char *log;

	if (err == -EPERM) {
		snprintf(error, len, "the filter is a BPF program, and to load one needs %s",
			 "CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN");
		return -EPERM;
	}
	log = calloc(1, LOG_LEN);
	if (log)
		load_insns(code, log, LOG_LEN);
	snprintf(error, len, "the kernel did not load the filter's program: %s%s%s", strerror(-err),
		 log && *log ? ": " : "", log ? ktb_verifier_reason(log) : "");
	free(log);
	return err;
}

static int load_filter(const struct tep_event *event, const char *text, char *error, size_t len)
{
	struct ktb_filter_code *code = calloc(1, sizeof(*code));
	struct ktb_filter *filter = calloc(1, sizeof(*filter));
	int err = -ENOMEM;

	if (code && filter) {
		filter->event = event;
		filter->text = text;
		err = ktb_filter_compile(filter, code);
		if (err)
			snprintf(error, len, "%s", filter->error);
		else
			err = load_insns(code, NULL, 0);
		if (err < 0 && !*filter->error)
			err = fail_load(code, err, error, len);
	} else {
		snprintf(error, len, "out of memory");
	}
	free(code);
	free(filter);
	return err;
}

static struct tep_event *find_event(struct ktb_formats *formats, const char *name)
{
	char *system = strdup(ktb_format_name(name)), *event = system;
	struct tep_event *found = NULL;

	if (system && strsep(&event, ":") && event)
		found = tep_find_event_by_name(formats->tep, system, event);
	free(system);
	return found;
}

int ktb_filter_load(const char *name, const char *text, char *error, size_t len)
{
	struct ktb_formats *formats = ktb_formats_new();
	struct tep_event *event;
	int err;

	*error = 0;
	if (!formats) {
		snprintf(error, len, "out of memory");
		return -ENOMEM;
	}
	err = ktb_formats_load(formats, name);
	if (err) {
		snprintf(error, len, "%s", ktb_formats_error(formats));
	} else {
		event = find_event(formats, name);
		err = event ? load_filter(event, text, error, len) : -ENOENT;
	}
	if (err < 0 && !*error)
		snprintf(error, len, "%s has no fields to filter by", name);
	ktb_formats_free(formats);
	return err;
}
