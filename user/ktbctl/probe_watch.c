// SPDX-License-Identifier: GPL-2.0-only
/*
 * Temporary probes. A process of their own stays, so that they go however the
 * sessions end: by detaching, with an owner that was killed, or with the module.
 * It listens to the module's notices, and removes a probe that is attached no more
 * but was once; when none is left, it ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ktbctl.h"
#include "probe_watch.h"

#define LOOK_MS 2000 /* for what no notice tells: the module gone or another, the probe removed */
#define MODULE "/sys/module/ktrace_bridge"

struct watched {
	const struct ktb_probe *probe;
	char name[KTRACE_BRIDGE_EVENT_NAME_LEN + 2];
	bool attached; /* was once */
	bool gone;
};

struct watch {
	struct ktb_conn *conn;
	struct ktb_notify *notify;
	struct ktb_probe *made; /* as tracefs had them when they were made */
	int nr_made;
	struct watched *all;
	unsigned int nr;
};

static void take(const struct ktb_notice *notice, void *arg)
{
	struct watch *watch = arg;

	for (unsigned int i = 0; i < watch->nr; i++)
		if (notice->cmd == KTB_CMD_EVENT_ATTACH_NTF &&
		    !strcmp(notice->name, watch->all[i].name))
			watch->all[i].attached = true;
}

static bool is_attached(const struct ktb_event_info *events, int nr, const char *name)
{
	for (int i = 0; i < nr; i++)
		if (!strcmp(events[i].name, name))
			return true;
	return false;
}

static const struct ktb_probe *find(const struct ktb_probe *probes, int nr,
				    const struct ktb_probe *probe)
{
	for (int i = 0; i < nr; i++)
		if (!strcmp(probes[i].system, probe->system) &&
		    !strcmp(probes[i].event, probe->event))
			return &probes[i];
	return NULL;
}

/* One of the same name may be another one by now, which is not ours to remove. */
static bool exists(const struct ktb_probe *probes, int nr, const struct ktb_probe *probe)
{
	const struct ktb_probe *now = find(probes, nr, probe);

	return now && now->kind == probe->kind && !strcmp(now->place, probe->place) &&
	       !strcmp(now->args, probe->args);
}

/* One that something else still uses stays, and is tried again. */
static void look_at(struct watched *watched, bool is_there, bool is_in_use)
{
	struct ktb_probe_error error;

	if (!is_there) {
		watched->gone = true;
		return;
	}
	watched->attached |= is_in_use;
	if (watched->attached && !is_in_use)
		watched->gone =
			!ktb_probe_remove(watched->probe->system, watched->probe->event, &error);
}

static void disconnect(struct watch *watch)
{
	ktb_notify_close(watch->notify);
	ktb_conn_free(watch->conn);
	watch->notify = NULL;
	watch->conn = NULL;
}

/* Without a word: there is nobody to hear it, and it is tried again. */
static bool reconnect(struct watch *watch)
{
	disconnect(watch);
	watch->conn = ktb_conn_new();
	if (watch->conn && !ktb_conn_connect(watch->conn) &&
	    !ktb_notify_open(watch->conn, &watch->notify))
		return true;
	disconnect(watch);
	return false;
}

/*
 * What the module has attached: nothing if it is gone, as its sessions and its notices
 * are. One that was loaded again meanwhile does not know the connection to the one
 * before: it has another family. Returns how many, or less than 0.
 */
static int list_attached(struct watch *watch, struct ktb_event_info **events)
{
	int nr;

	if (access(MODULE, F_OK))
		return 0;
	nr = watch->conn ? ktb_event_list(watch->conn, 0, false, events) : -ENOTCONN;
	if (nr < 0 && reconnect(watch))
		nr = ktb_event_list(watch->conn, 0, false, events);
	return nr;
}

/* Returns whether there is still something to wait for. */
static bool look(struct watch *watch)
{
	struct ktb_event_info *events = NULL;
	struct ktb_probe *probes;
	int nr_events = list_attached(watch, &events);
	int nr_probes = ktb_probe_list(&probes);
	unsigned int left = 0;

	for (unsigned int i = 0; i < watch->nr && nr_events >= 0 && nr_probes >= 0; i++) {
		struct watched *watched = &watch->all[i];

		if (!watched->gone)
			look_at(watched, exists(probes, nr_probes, watched->probe),
				is_attached(events, nr_events, watched->name));
		left += !watched->gone;
	}
	if (nr_probes >= 0)
		ktb_probe_list_free(probes, nr_probes);
	if (nr_events > 0)
		ktb_event_list_free(events, nr_events);
	return left || nr_events < 0 || nr_probes < 0;
}

static void watch_on(struct watch *watch)
{
	while (look(watch)) {
		struct pollfd fd = {
			.fd = watch->notify ? ktb_notify_fd(watch->notify) : -1,
			.events = POLLIN,
		};

		poll(&fd, 1, LOOK_MS);
		if (watch->notify)
			ktb_notify_read(watch->notify, take, watch);
	}
}

static int open_watch(struct watch *watch, const struct ktb_probe *probes, unsigned int nr)
{
	watch->conn = connect_module();
	if (!watch->conn)
		return EXIT_FAILED;
	if (ktb_notify_open(watch->conn, &watch->notify))
		return fail("%s", ktb_conn_error(watch->conn));
	watch->nr_made = ktb_probe_list(&watch->made);
	watch->all = calloc(nr, sizeof(*watch->all));
	if (watch->nr_made < 0 || !watch->all)
		return fail("cannot watch the probes: %s",
			    strerror(watch->nr_made < 0 ? -watch->nr_made : ENOMEM));
	for (watch->nr = 0; watch->nr < nr; watch->nr++) {
		struct watched *watched = &watch->all[watch->nr];

		watched->probe = find(watch->made, watch->nr_made, &probes[watch->nr]);
		/* Somebody was quick. */
		watched->gone = !watched->probe;
		if (watched->gone)
			continue;
		snprintf(watched->name, sizeof(watched->name), "%s:%s", watched->probe->system,
			 watched->probe->event);
	}
	return EXIT_DONE;
}

static void close_watch(struct watch *watch)
{
	if (watch->nr_made > 0)
		ktb_probe_list_free(watch->made, watch->nr_made);
	free(watch->all);
	disconnect(watch);
}

/* Nobody is to wait for it: neither a shell nor a pipe. */
static void become_daemon(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	if (chdir("/") || null < 0)
		return;
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
}

/*
 * Let a process of its own remove @probes in time. It listens before this returns,
 * so that no attaching is missed. What was handed down to ktbctl, locks and pipes that
 * somebody may wait for, is closed first: it is not for who stays. Returns an exit
 * status, the reason told.
 */
int probe_watch(const struct ktb_probe *probes, unsigned int nr)
{
	struct watch watch = { 0 };
	pid_t pid;
	int err;

	close_range(STDERR_FILENO + 1, ~0U, 0);
	err = open_watch(&watch, probes, nr);
	pid = err ? -1 : fork();
	if (!pid) {
		become_daemon();
		watch_on(&watch);
		_exit(EXIT_DONE);
	}
	if (!err && pid < 0)
		err = fail("cannot start a process: %s", strerror(errno));
	close_watch(&watch);
	return err;
}
