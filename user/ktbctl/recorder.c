// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recording: all rings into the file, wait, and again. Of what is written
 * nothing is looked at; one write(2) per ring and round.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "recorder.h"

#define NSEC_PER_SEC 1000000000ULL
#define PROGRESS_MS 1000
#define REST_MS 20

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

/*
 * From here on signals come out of a descriptor, and none ends us in the middle.
 * Returns an exit status, the reason told.
 */
int recorder_catch_signals(struct recorder *recorder)
{
	sigset_t block;

	sigemptyset(&block);
	sigaddset(&block, SIGINT);
	sigaddset(&block, SIGTERM);
	sigaddset(&block, SIGHUP);
	sigaddset(&block, SIGCHLD);
	sigprocmask(SIG_BLOCK, &block, NULL);
	/* A file too large is an error like a full disk. */
	signal(SIGXFSZ, SIG_IGN);
	recorder->signals = signalfd(-1, &block, SFD_CLOEXEC | SFD_NONBLOCK);
	if (recorder->signals < 0)
		return fail("cannot wait for signals: %s", strerror(errno));
	return EXIT_DONE;
}

static void take_signals(struct recorder *recorder)
{
	struct signalfd_siginfo info;

	while (read(recorder->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			workload_poll(&recorder->workload);
		else
			recorder->stopped = true;
	}
}

/* ---- progress ---- */

static void show_progress(struct recorder *recorder)
{
	struct ktb_perfdata_stats stats;
	uint64_t now = now_ns();
	double seconds = (double)(now - recorder->shown) / NSEC_PER_SEC;

	if (!recorder->progress || now - recorder->shown < PROGRESS_MS * NSEC_PER_SEC / 1000)
		return;
	ktb_perfdata_get_stats(recorder->file, &stats);
	fprintf(stderr, "\r%.1f MB, %.1f MB/s, %" PRIu64 " lost\033[K", (double)stats.bytes / 1e6,
		(double)(stats.bytes - recorder->shown_bytes) / 1e6 / seconds,
		ktb_reader_lost(recorder->reader) - recorder->lost_before);
	recorder->line = true;
	recorder->shown = now;
	recorder->shown_bytes = stats.bytes;
}

static void clear_progress(struct recorder *recorder)
{
	if (recorder->line)
		fputs("\r\033[K", stderr);
	recorder->line = false;
}

/* ---- rounds ---- */

static int fail_file(struct recorder *recorder)
{
	clear_progress(recorder);
	recorder->failed = true;
	return fail("%s", ktb_perfdata_error(recorder->file));
}

/* All rings once. Returns bytes written, or -1 with the reason told. */
static int64_t do_round(struct recorder *recorder)
{
	unsigned int nr = ktb_reader_nr_rings(recorder->reader);
	int64_t sum = 0, len;

	for (unsigned int i = 0; i < nr; i++) {
		len = ktb_perfdata_write_ring(recorder->file, ktb_reader_ring(recorder->reader, i));
		if (len < 0) {
			fail_file(recorder);
			return -1;
		}
		sum += len;
	}
	if (ktb_perfdata_end_round(recorder->file) < 0) {
		fail_file(recorder);
		return -1;
	}
	return sum;
}

static void on_notice(const struct ktb_notice *notice, void *arg)
{
	struct recorder *recorder = arg;

	if (!notice->cmd || notice->cmd == KTB_CMD_CPU_ONLINE_NTF)
		recorder->more_rings = true;
	if (!notice->cmd ||
	    (notice->cmd == KTB_CMD_EVENT_ATTACH_NTF && notice->session == recorder->session.id))
		recorder->more_events = true;
}

static int take_notice(struct recorder *recorder)
{
	if (recorder->more_rings && ktb_reader_refresh(recorder->reader) < 0)
		return fail("%s", ktb_reader_error(recorder->reader));
	recorder->more_rings = false;
	if (recorder->more_events && !recorder->own)
		recorder_list_events(recorder);
	recorder->more_events = false;
	return EXIT_DONE;
}

/* Wait for records if @records, and in any case for all else, for @ms at most. */
static void wait_for(struct recorder *recorder, bool records, int ms)
{
	struct pollfd fds[] = {
		{ .fd = recorder->signals, .events = POLLIN },
		{ .fd = records ? ktb_reader_fd(recorder->reader) : -1, .events = POLLIN },
		{ .fd = recorder->notify ? ktb_notify_fd(recorder->notify) : -1, .events = POLLIN },
		{ .fd = ktb_perfdata_fd(recorder->file), .events = POLLIN },
	};

	if (poll(fds, 4, ms) <= 0)
		return;
	if (fds[0].revents)
		take_signals(recorder);
	if (fds[1].revents & (POLLHUP | POLLERR))
		recorder->removed = true;
	if (fds[2].revents)
		ktb_notify_read(recorder->notify, on_notice, recorder);
}

static bool is_over(const struct recorder *recorder)
{
	return recorder->stopped || recorder->removed || recorder->workload.ended;
}

/*
 * A session may wake its reader for every record, and the reader's own doings may
 * be what it records: where little came, more is waited for.
 */
static void rest(struct recorder *recorder, int64_t came)
{
	if (!is_over(recorder) && (uint64_t)came < recorder->session.ring_size / 8)
		wait_for(recorder, false, REST_MS);
	if (!is_over(recorder))
		wait_for(recorder, true, recorder->progress ? PROGRESS_MS : -1);
}

static int loop(struct recorder *recorder)
{
	int64_t came;

	while (!is_over(recorder)) {
		if (take_notice(recorder))
			return EXIT_FAILED;
		came = do_round(recorder);
		if (came < 0)
			return EXIT_FAILED;
		show_progress(recorder);
		rest(recorder, came);
	}
	return EXIT_DONE;
}

/* An own session is quiet then; of another one, what was there when we looked. */
static int last_round(struct recorder *recorder)
{
	if (recorder->own)
		ktb_session_set_enabled(recorder->conn, recorder->session.id, false);
	if (recorder->failed)
		return EXIT_FAILED;
	return do_round(recorder) < 0 ? EXIT_FAILED : EXIT_DONE;
}

/* Returns an exit status, the reason told. */
int recorder_run(struct recorder *recorder)
{
	int err, status;

	recorder->progress = isatty(STDERR_FILENO) && !recorder->json;
	recorder->shown = now_ns();
	recorder->lost_before = ktb_reader_lost(recorder->reader);
	err = EXIT_DONE;
	if (recorder->own && ktb_session_set_enabled(recorder->conn, recorder->session.id, true))
		err = fail("%s", ktb_conn_error(recorder->conn));
	if (!err)
		err = workload_start(&recorder->workload);
	if (!err)
		err = loop(recorder);
	err |= last_round(recorder);
	clear_progress(recorder);
	status = workload_end(&recorder->workload);
	err |= recorder_finish(recorder);
	return err ? err : status;
}
