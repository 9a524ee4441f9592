// SPDX-License-Identifier: GPL-2.0-only
/* The file of a recording, or one after the other. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "recorder.h"

/* A new one, or NULL, the reason told. */
static struct ktb_perfdata *open_file(struct recorder *recorder)
{
	const struct ktb_perfdata_options what = {
		.sample_type = ktb_reader_sample_type(recorder->readers[0]->reader),
		.events = recorder->events,
		.nr_events = recorder->nr_events,
		.argc = recorder->argc,
		.argv = recorder->argv,
		.count = !recorder->own,
		.sideband = true,
		.compress = recorder->level,
		.earlier = recorder->file,
	};
	struct ktb_perfdata *file = ktb_perfdata_new();

	if (!file) {
		fail("out of memory");
		return NULL;
	}
	if (ktb_perfdata_open(file, recorder->path, &what) || ktb_perfdata_synthesize(file)) {
		fail("%s", ktb_perfdata_error(file));
		ktb_perfdata_free(file);
		return NULL;
	}
	return file;
}

static void use_file(struct recorder *recorder, struct ktb_perfdata *file)
{
	struct ktb_perfdata_stats stats;

	ktb_perfdata_get_stats(file, &stats);
	recorder->first_bytes = stats.bytes;
	recorder->file = file;
}

/* Returns an exit status, the reason told. */
int recorder_open_file(struct recorder *recorder)
{
	struct ktb_perfdata *file;

	if (!recorder->nr_events)
		return fail("session '%s' has no events", recorder->session.name);
	file = open_file(recorder);
	if (!file)
		return EXIT_FAILED;
	use_file(recorder, file);
	return EXIT_DONE;
}

/* What went into all files so far. */
void recorder_get_stats(struct recorder *recorder, struct ktb_perfdata_stats *stats)
{
	ktb_perfdata_get_stats(recorder->file, stats);
	stats->bytes += recorder->before.bytes;
	stats->samples += recorder->before.samples;
	stats->dropped += recorder->before.dropped;
	stats->lost_sideband += recorder->before.lost_sideband;
}

/* "FILE.20241231235959" and hundredths, as perf names them; one that is not there. */
static char *dated_name(const char *path)
{
	struct timespec now;
	struct tm tm;
	char date[32], *name;
	unsigned int hundredths;

	clock_gettime(CLOCK_REALTIME, &now);
	localtime_r(&now.tv_sec, &tm);
	strftime(date, sizeof(date), "%Y%m%d%H%M%S", &tm);
	for (hundredths = (unsigned int)(now.tv_nsec / 10000000);; hundredths++) {
		if (asprintf(&name, "%s.%s%02u", path, date, hundredths) < 0)
			return NULL;
		if (access(name, F_OK))
			return name;
		free(name);
	}
}

static void remove_oldest(struct recorder *recorder)
{
	if (!recorder->switch_output.max_files ||
	    recorder->nr_files <= recorder->switch_output.max_files)
		return;
	if (unlink(recorder->files[0]))
		note("cannot remove '%s': %s", recorder->files[0], strerror(errno));
	free(recorder->files[0]);
	memmove(recorder->files, recorder->files + 1, --recorder->nr_files * sizeof(char *));
}

/* The file gets its date, and is one of several. */
static int rename_file(struct recorder *recorder)
{
	char **files = reallocarray(recorder->files, recorder->nr_files + 1, sizeof(char *));
	char *name = dated_name(recorder->path);

	if (files)
		recorder->files = files;
	if (!files || !name) {
		free(name);
		return fail("out of memory");
	}
	if (rename(recorder->path, name)) {
		recorder->undated = true;
		fail("cannot rename '%s' to '%s': %s", recorder->path, name, strerror(errno));
		free(name);
		return EXIT_FAILED;
	}
	files[recorder->nr_files++] = name;
	remove_oldest(recorder);
	return EXIT_DONE;
}

/* Whether there is to be more than one file. */
bool recorder_has_files(const struct recorder *recorder)
{
	const struct switch_output *when = &recorder->switch_output;

	return when->on_signal || when->size || when->time_ns;
}

/* Returns an exit status, the reason told. */
int recorder_close_file(struct recorder *recorder)
{
	int err;

	if (recorder->closed)
		return EXIT_FAILED;
	err = ktb_perfdata_finish(recorder->file) ? fail("%s", ktb_perfdata_error(recorder->file)) :
						    EXIT_DONE;
	if (!err && recorder_has_files(recorder) && !recorder->undated)
		err = rename_file(recorder);
	return err;
}

/* What is in the rings, into a file that is to be finished. */
static int empty_rings(struct recorder *recorder, struct ktb_perfdata *file)
{
	struct ktb_ring *ring;
	int64_t len = 0;

	for (unsigned int i = 0; len >= 0 && (ring = recorder_ring(recorder, i)); i++)
		len = ktb_perfdata_write_ring(file, ring);
	if (len >= 0 && !ktb_perfdata_end_round(file) && !recorder_state_losses(recorder, file))
		return EXIT_DONE;
	return fail("%s", ktb_perfdata_error(file));
}

/*
 * The old one gets what is in the rings: the new one may know nothing of a thread that
 * ended before.
 */
static int swap_files(struct recorder *recorder, struct ktb_perfdata *new)
{
	int err;

	pthread_rwlock_wrlock(&recorder->file_lock);
	err = empty_rings(recorder, recorder->file);
	if (new && !err)
		use_file(recorder, new);
	else
		recorder->closed = true;
	pthread_rwlock_unlock(&recorder->file_lock);
	return err;
}

static void add_up(struct recorder *recorder, struct ktb_perfdata *old)
{
	struct ktb_perfdata_stats stats;

	ktb_perfdata_get_stats(old, &stats);
	pthread_rwlock_wrlock(&recorder->file_lock);
	recorder->before.bytes += stats.bytes;
	recorder->before.samples += stats.samples;
	recorder->before.dropped += stats.dropped;
	recorder->before.lost_sideband += stats.lost_sideband;
	pthread_rwlock_unlock(&recorder->file_lock);
}

/*
 * Go on in another file, as complete as the first. The new one's side-band is open
 * before the old one's is closed: what happens in between is in both. Making the one
 * and finishing the other takes its time, in which threads go on.
 */
int recorder_switch_file(struct recorder *recorder)
{
	struct ktb_perfdata *old = recorder->file, *new = NULL;
	int err = rename_file(recorder);

	if (err)
		return err;
	if (recorder->own && !recorder->removed)
		err = recorder_list_events(recorder);
	if (!err)
		new = open_file(recorder);
	if (!new)
		err = EXIT_FAILED;
	err |= swap_files(recorder, new);
	if (ktb_perfdata_finish(old))
		err = fail("%s", ktb_perfdata_error(old));
	if (err)
		recorder->failed = true;
	if (recorder->closed) {
		ktb_perfdata_free(new);
		return EXIT_FAILED;
	}
	/* The end may have cost some records. */
	add_up(recorder, old);
	ktb_perfdata_free(old);
	return err;
}
