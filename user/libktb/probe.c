// SPDX-License-Identifier: LGPL-2.1-only
/* Dynamic probes: events that tracefs makes at a place in the kernel or a program. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tracefs.h>

#include "probe.h"

#define KALLSYMS "/proc/kallsyms"
#define ALL_KINDS                                                                         \
	(TRACEFS_DYNEVENT_KPROBE | TRACEFS_DYNEVENT_KRETPROBE | TRACEFS_DYNEVENT_UPROBE | \
	 TRACEFS_DYNEVENT_URETPROBE)

int ktb_probe_fail(struct ktb_probe_error *error, int err, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(error->text, sizeof(error->text), format, ap);
	va_end(ap);
	return err;
}

/* ---- what tracefs says ---- */

/*
 * The last entry of its error_log:
 *
 *	[  12.345678] trace_kprobe: error: Invalid register name
 *	  Command: p:ktb/name do_exit x=%zz
 *	                                  ^
 */
static bool take_log(struct ktb_probe_error *error, const char *event)
{
	static const char command[] = "\n  Command: ";
	char *log = tracefs_error_last(NULL), *text, *at, *end;
	bool ours = false;

	text = log ? strstr(log, "error: ") : NULL;
	at = text ? strstr(text, command) : NULL;
	if (at) {
		*at = 0;
		at += strlen(command);
		end = at + strcspn(at, "\n");
		error->column = *end ? (int)(strcspn(end + 1, "^") - strlen(command) + 1) : -1;
		*end = 0;
		ours = strstr(at, event);
	}
	if (ours) {
		snprintf(error->text, sizeof(error->text), "%s", text + strlen("error: "));
		snprintf(error->command, sizeof(error->command), "%s", at);
	} else {
		error->column = -1;
	}
	free(log);
	return ours;
}

static bool is_user(enum ktb_probe_kind kind)
{
	return kind == KTB_PROBE_USER || kind == KTB_PROBE_USER_RETURN;
}

static bool is_there(const struct ktb_probe *probe)
{
	char file[2 * KTRACE_BRIDGE_EVENT_NAME_LEN];

	snprintf(file, sizeof(file), "events/%s/%s/id", probe->system, probe->event);
	return tracefs_file_exists(NULL, file);
}

static int fail_create(const struct ktb_probe *probe, int err, struct ktb_probe_error *error)
{
	char event[KTRACE_BRIDGE_EVENT_NAME_LEN + 2];
	const char *why = NULL;

	snprintf(event, sizeof(event), ":%s/%s ", probe->system, probe->event);
	if (!take_log(error, event))
		snprintf(error->text, sizeof(error->text), "%s", strerror(-err));
	if (!is_user(probe->kind))
		why = ktb_probe_why_not(probe->place);
	if (why) {
		snprintf(error->text, sizeof(error->text), "%s", why);
		error->column = -1;
	}
	return err;
}

/* ---- making ---- */

static struct tracefs_dynevent *alloc_user(const struct ktb_probe *probe, const char *args)
{
	char *path = strdup(probe->place), *colon = path ? strrchr(path, ':') : NULL;
	struct tracefs_dynevent *event = NULL;
	unsigned long long offset;

	if (colon) {
		*colon = 0;
		offset = strtoull(colon + 1, NULL, 0);
		if (probe->kind == KTB_PROBE_USER)
			event = tracefs_uprobe_alloc(probe->system, probe->event, path, offset,
						     args);
		else
			event = tracefs_uretprobe_alloc(probe->system, probe->event, path, offset,
							args);
	}
	free(path);
	return event;
}

static struct tracefs_dynevent *alloc_event(const struct ktb_probe *probe)
{
	const char *args = probe->args[0] ? probe->args : NULL;

	if (probe->kind == KTB_PROBE_KERNEL)
		return tracefs_kprobe_alloc(probe->system, probe->event, probe->place, args);
	if (probe->kind == KTB_PROBE_KERNEL_RETURN)
		return tracefs_kretprobe_alloc(probe->system, probe->event, probe->place, args, 0);
	return alloc_user(probe, args);
}

int ktb_probe_create(const struct ktb_probe *probe, struct ktb_probe_error *error)
{
	struct tracefs_dynevent *event;
	int err = 0;

	*error = (struct ktb_probe_error){ .column = -1 };
	if (!is_user(probe->kind))
		err = ktb_probe_check_kernel(probe->place, KALLSYMS, error);
	if (err)
		return err;
	/* tracefs would let it fire at both places, if the arguments are the same. */
	if (is_there(probe))
		return ktb_probe_fail(error, -EEXIST, "there is an event of this name");
	event = alloc_event(probe);
	if (!event)
		return ktb_probe_fail(error, -ENOMEM, "out of memory, or there is no tracefs");
	errno = EIO;
	if (tracefs_dynevent_create(event))
		err = fail_create(probe, -errno, error);
	tracefs_dynevent_free(event);
	return err;
}

/* ---- what there is ---- */

static enum ktb_probe_kind kind_of(enum tracefs_dynevent_type type)
{
	switch (type) {
	case TRACEFS_DYNEVENT_KRETPROBE:
		return KTB_PROBE_KERNEL_RETURN;
	case TRACEFS_DYNEVENT_UPROBE:
		return KTB_PROBE_USER;
	case TRACEFS_DYNEVENT_URETPROBE:
		return KTB_PROBE_USER_RETURN;
	default:
		return KTB_PROBE_KERNEL;
	}
}

static bool describe(struct tracefs_dynevent *event, struct ktb_probe *probe)
{
	enum tracefs_dynevent_type type;

	type = tracefs_dynevent_info(event, &probe->system, &probe->event, NULL, &probe->place,
				     &probe->args);

	probe->kind = kind_of(type);
	if (!probe->args)
		probe->args = strdup("");
	return probe->system && probe->event && probe->place && probe->args;
}

/*
 * Where tracefs has one file for all kinds, libtracefs takes a probe of a program
 * for one of the kernel too: no kernel function has a slash in its name.
 */
static bool is_mistaken(const struct ktb_probe *probe)
{
	return !is_user(probe->kind) && strchr(probe->place, '/');
}

/* libtracefs says of what it cannot read that there is none. */
static int check_readable(void)
{
	static const char *const names[] = {
		"dynamic_events",
		"kprobe_events",
		"uprobe_events",
		NULL,
	};
	int fd;

	if (!tracefs_tracing_dir())
		return -ENODEV;
	for (size_t i = 0; names[i]; i++) {
		fd = tracefs_instance_file_open(NULL, names[i], O_RDONLY);
		if (fd >= 0) {
			close(fd);
			return 0;
		}
		if (errno != ENOENT)
			return -errno;
	}
	return 0;
}

int ktb_probe_list(struct ktb_probe **list)
{
	struct tracefs_dynevent **events = tracefs_dynevent_get_all(ALL_KINDS, NULL);
	struct ktb_probe *all = NULL, *more;
	int nr = events ? 0 : check_readable();

	if (nr)
		return nr;
	for (unsigned int i = 0; events && events[i]; i++) {
		more = ktb_array_more(all, nr, sizeof(*all));
		if (more)
			all = more;
		if (!more || !describe(events[i], &all[nr++])) {
			ktb_probe_list_free(all, nr);
			tracefs_dynevent_list_free(events);
			return -ENOMEM;
		}
		if (is_mistaken(&all[nr - 1]))
			ktb_probe_clear(&all[--nr]);
	}
	tracefs_dynevent_list_free(events);
	*list = all;
	return nr;
}

void ktb_probe_list_free(struct ktb_probe *list, int nr)
{
	for (int i = 0; i < nr; i++)
		ktb_probe_clear(&list[i]);
	free(list);
}

void ktb_probe_clear(struct ktb_probe *probe)
{
	free(probe->system);
	free(probe->event);
	free(probe->place);
	free(probe->args);
	*probe = (struct ktb_probe){ 0 };
}

int ktb_probe_remove(const char *system, const char *name, struct ktb_probe_error *error)
{
	struct tracefs_dynevent **events = tracefs_dynevent_get_all(ALL_KINDS, system);
	char *event = NULL;
	bool found = false;
	int err = 0;

	*error = (struct ktb_probe_error){ .column = -1 };
	if (!events)
		err = check_readable();
	if (err)
		return ktb_probe_fail(error, err, "cannot see what probes there are: %s",
				      strerror(-err));
	for (unsigned int i = 0; events && events[i] && !found; i++) {
		tracefs_dynevent_info(events[i], NULL, &event, NULL, NULL, NULL);
		found = event && !strcmp(event, name);
		free(event);
		event = NULL;
		errno = EIO;
		if (found && tracefs_dynevent_destroy(events[i], false))
			err = -errno;
	}
	tracefs_dynevent_list_free(events);
	if (!found)
		return ktb_probe_fail(error, -ENOENT, "there is no probe '%s:%s'", system, name);
	if (err == -EBUSY)
		return ktb_probe_fail(error, err, "'%s:%s' is in use: end what traces it first",
				      system, name);
	return err ? ktb_probe_fail(error, err, "cannot remove '%s:%s': %s", system, name,
				    strerror(-err)) :
		     0;
}
