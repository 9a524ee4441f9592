// SPDX-License-Identifier: GPL-2.0-only
/* The file of a recording, or one after the other. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "recorder.h"

/* Returns an exit status, the reason told. */
int recorder_open_file(struct recorder *recorder)
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
	};

	if (!recorder->nr_events)
		return fail("session '%s' has no events", recorder->session.name);
	recorder->file = ktb_perfdata_new();
	if (!recorder->file)
		return fail("out of memory");
	if (ktb_perfdata_open(recorder->file, recorder->path, &what) ||
	    ktb_perfdata_synthesize(recorder->file))
		return fail("%s", ktb_perfdata_error(recorder->file));
	return EXIT_DONE;
}

/* What went into all files so far. */
void recorder_get_stats(struct recorder *recorder, struct ktb_perfdata_stats *stats)
{
	ktb_perfdata_get_stats(recorder->file, stats);
	stats->bytes += recorder->before.bytes;
	stats->samples += recorder->before.samples;
	stats->dropped += recorder->before.dropped;
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
	if (!err && recorder_has_files(recorder))
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
	if (len >= 0 && !ktb_perfdata_end_round(file))
		return EXIT_DONE;
	return fail("%s", ktb_perfdata_error(file));
}

/*
 * Go on in another file, as complete as the first. The new one's side-band is open
 * before the old one's is closed: what happens in between is in both. So the old
 * one gets what is in the rings: the new one may know nothing of a thread that
 * ended before.
 */
int recorder_switch_file(struct recorder *recorder)
{
	struct ktb_perfdata *old = recorder->file;
	struct ktb_perfdata_stats sum;
	int err = rename_file(recorder);

	if (err)
		return err;
	err = recorder_open_file(recorder);
	err |= empty_rings(recorder, old);
	if (ktb_perfdata_finish(old))
		err = fail("%s", ktb_perfdata_error(old));
	/* The end may have cost some records. */
	ktb_perfdata_get_stats(old, &sum);
	if (err) {
		ktb_perfdata_free(recorder->file);
		recorder->file = old;
		recorder->closed = true;
		recorder->failed = true;
		return EXIT_FAILED;
	}
	ktb_perfdata_free(old);
	recorder->before.bytes += sum.bytes;
	recorder->before.samples += sum.samples;
	recorder->before.dropped += sum.dropped;
	return EXIT_DONE;
}
