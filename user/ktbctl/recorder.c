// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recording: all rings into the file, wait, and again. Of what is written
 * nothing is looked at.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "priority.h"
#include "recorder.h"
#include "signals.h"
#include "tracing.h"

#define NSEC_PER_SEC 1000000000ULL
#define PROGRESS_MS 1000
#define IDLE_MS 1000 /* what is in no file yet, nor worth a wake-up, is to get there */
#define REST_MS 20
#define ROUND_MS 200 /* of threads */

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

/* ---- beginning and end ---- */

/* From here on signals come out of a descriptor, and none ends us in the middle. */
static int catch_signals(struct recorder *recorder)
{
	/* A file too large is an error like a full disk. */
	signal(SIGXFSZ, SIG_IGN);
	recorder->signals = open_signals(recorder->switch_output.on_signal ? SIGUSR2 : 0);
	return recorder->signals < 0 ? EXIT_FAILED : EXIT_DONE;
}

static int make_timer(struct recorder *recorder)
{
	const uint64_t ns = recorder->switch_output.time_ns;
	const struct timespec time = { (time_t)(ns / NSEC_PER_SEC), (long)(ns % NSEC_PER_SEC) };
	const struct itimerspec every = { time, time };

	if (!ns)
		return EXIT_DONE;
	recorder->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (recorder->timer < 0 || timerfd_settime(recorder->timer, 0, &every, NULL))
		return fail("cannot make a timer: %s", strerror(errno));
	return EXIT_DONE;
}

/* Threads that write all the time are not to keep the next file waiting. */
static void make_file_lock(pthread_rwlock_t *lock)
{
	pthread_rwlockattr_t attr;

	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(lock, &attr);
	pthread_rwlockattr_destroy(&attr);
}

/* Returns an exit status, the reason told; recorder_exit() is to follow. */
int recorder_init(struct recorder *recorder)
{
	int err;

	recorder->signals = -1;
	recorder->timer = -1;
	recorder->call = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (recorder->call < 0)
		return fail("cannot make an event descriptor: %s", strerror(errno));
	make_file_lock(&recorder->file_lock);
	pthread_mutex_init(&recorder->lock, NULL);
	pthread_cond_init(&recorder->done, NULL);
	err = catch_signals(recorder);
	return err ? err : make_timer(recorder);
}

void recorder_exit(struct recorder *recorder)
{
	ktb_perfdata_free(recorder->file);
	ktb_notify_close(recorder->notify);
	recorder_close_readers(recorder);
	ktb_conn_free(recorder->conn);
	for (unsigned int i = 0; i < recorder->nr_files; i++)
		free(recorder->files[i]);
	free(recorder->files);
	free(recorder->events);
	free(recorder->stated);
	if (recorder->signals >= 0)
		close(recorder->signals);
	if (recorder->timer >= 0)
		close(recorder->timer);
	if (recorder->call >= 0)
		close(recorder->call);
}

static void take_signals(struct recorder *recorder)
{
	struct signalfd_siginfo info;

	while (read(recorder->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			workload_poll(&recorder->workload);
		else if (info.ssi_signo == SIGUSR2)
			recorder->switch_now = true;
		else
			recorder->stopped = true;
	}
}

/* ---- progress ---- */

/* A terminal that ^S has stopped would stop us too, and records would be lost. */
static bool is_ready(void)
{
	struct pollfd fd = { .fd = STDERR_FILENO, .events = POLLOUT };

	return poll(&fd, 1, 0) > 0;
}

static void show_progress(struct recorder *recorder)
{
	struct ktb_perfdata_stats stats;
	uint64_t now = now_ns();
	double seconds = (double)(now - recorder->shown) / NSEC_PER_SEC;

	if (!recorder->progress || now - recorder->shown < PROGRESS_MS * NSEC_PER_SEC / 1000)
		return;
	if (!is_ready())
		return;
	recorder_get_stats(recorder, &stats);
	fprintf(stderr, "\r%.1f MB, %.1f MB/s, %" PRIu64 " lost\033[K", (double)stats.bytes / 1e6,
		(double)(stats.bytes - recorder->shown_bytes) / 1e6 / seconds,
		recorder_lost(recorder) - recorder->lost_before);
	recorder->line = true;
	recorder->shown = now;
	recorder->shown_bytes = stats.bytes;
}

void recorder_clear_progress(struct recorder *recorder)
{
	if (!recorder->line || !is_ready())
		return;
	fputs("\r\033[K", stderr);
	recorder->line = false;
}

/* ---- rounds ---- */

static int fail_file(struct recorder *recorder)
{
	recorder_clear_progress(recorder);
	recorder->failed = true;
	return fail("%s", ktb_perfdata_error(recorder->file));
}

/* All rings once. Returns bytes written, or -1 with the reason told. */
static int64_t do_round(struct recorder *recorder)
{
	int64_t sum = 0, len = 0;

	for (unsigned int i = 0; i < recorder->nr_readers && len >= 0; i++) {
		len = recorder_write_rings(recorder->readers[i]);
		sum += len;
	}
	if (len < 0 || ktb_perfdata_end_round(recorder->file) < 0) {
		fail_file(recorder);
		return -1;
	}
	return sum;
}

static void on_notice(const struct ktb_notice *notice, void *arg)
{
	struct recorder *recorder = arg;

	/* Each session with a ring there announces it. */
	if (!notice->cmd ||
	    (notice->cmd == KTB_CMD_CPU_ONLINE_NTF && notice->session == recorder->session.id)) {
		recorder->more_rings = true;
		/* Without its tasks' names, rather than no more at all. */
		if (ktb_perfdata_add_cpu(recorder->file, notice->cpu))
			note("%s", ktb_perfdata_error(recorder->file));
	}
	if (!notice->cmd ||
	    (notice->cmd == KTB_CMD_EVENT_ATTACH_NTF && notice->session == recorder->session.id))
		recorder->more_events = true;
}

static int take_notice(struct recorder *recorder)
{
	int err = EXIT_DONE;

	if (recorder->more_rings)
		err = recorder_open_readers(recorder);
	if (!err && recorder->more_rings && recorder->use_threads)
		err = recorder_start_threads(recorder);
	recorder->more_rings = false;
	if (recorder->more_events && !recorder->own)
		recorder_list_events(recorder);
	recorder->more_events = false;
	return err;
}

static bool has_size(const struct recorder *recorder, uint64_t bytes)
{
	return recorder->max_size && bytes + recorder->before.bytes >= recorder->max_size;
}

static bool is_to_switch(const struct recorder *recorder, uint64_t bytes)
{
	return recorder->switch_output.size &&
	       bytes - recorder->first_bytes >= recorder->switch_output.size;
}

/* Whether there is something to be done about the file's size. */
bool recorder_is_large(const struct recorder *recorder)
{
	struct ktb_perfdata_stats stats;

	ktb_perfdata_get_stats(recorder->file, &stats);
	return has_size(recorder, stats.bytes) || is_to_switch(recorder, stats.bytes);
}

/* Is the file large enough, or is it time for another one? */
static int look_at_size(struct recorder *recorder)
{
	struct ktb_perfdata_stats stats;

	ktb_perfdata_get_stats(recorder->file, &stats);
	if (has_size(recorder, stats.bytes))
		recorder->full = true;
	if (is_to_switch(recorder, stats.bytes))
		recorder->switch_now = true;
	if (!recorder->switch_now)
		return EXIT_DONE;
	recorder->switch_now = false;
	recorder_clear_progress(recorder);
	return recorder_switch_file(recorder);
}

static void take_timer(struct recorder *recorder)
{
	uint64_t count;

	if (read(recorder->timer, &count, sizeof(count)) == sizeof(count))
		recorder->switch_now = true;
}

/* Wait for records if @records, and in any case for all else, for @ms at most. */
static void wait_for(struct recorder *recorder, bool records, int ms)
{
	/* Without POLLIN it still tells that the session was removed. */
	struct pollfd fds[] = {
		{ .fd = recorder->signals, .events = POLLIN },
		{ .fd = ktb_reader_fd(recorder->readers[0]->reader),
		  .events = records ? POLLIN : 0 },
		{ .fd = recorder->notify ? ktb_notify_fd(recorder->notify) : -1, .events = POLLIN },
		{ .fd = ktb_perfdata_fd(recorder->file), .events = POLLIN },
		{ .fd = recorder->timer, .events = POLLIN },
		{ .fd = recorder->call, .events = POLLIN },
	};
	uint64_t calls;

	if (poll(fds, ARRAY_SIZE(fds), ms) <= 0)
		return;
	if (fds[0].revents)
		take_signals(recorder);
	if (fds[1].revents & (POLLHUP | POLLERR))
		recorder->removed = true;
	if (fds[2].revents)
		ktb_notify_read(recorder->notify, on_notice, recorder);
	if (fds[4].revents)
		take_timer(recorder);
	if (fds[5].revents && read(recorder->call, &calls, sizeof(calls)) < 0)
		return; /* taken already */
}

/* Of their children nobody knows who is left, and perf does not wait for them either. */
static void look_for_targets(struct recorder *recorder)
{
	const uint64_t now = now_ns();

	if (!recorder->targets || now - recorder->looked < IDLE_MS * NSEC_PER_SEC / 1000)
		return;
	recorder->looked = now;
	recorder->stopped |= tracing_targets_gone(recorder->targets);
}

static bool is_over(const struct recorder *recorder)
{
	return recorder->stopped || recorder->removed || recorder->full || recorder->workload.ended;
}

static void rest(struct recorder *recorder, int64_t came)
{
	if (!is_over(recorder) && recorder_may_rest(recorder, came))
		wait_for(recorder, false, REST_MS);
	if (!is_over(recorder))
		wait_for(recorder, true, IDLE_MS);
}

static int loop(struct recorder *recorder)
{
	int64_t came;

	while (!is_over(recorder)) {
		if (take_notice(recorder))
			return EXIT_FAILED;
		came = do_round(recorder);
		if (came < 0 || look_at_size(recorder))
			return EXIT_FAILED;
		show_progress(recorder);
		look_for_targets(recorder);
		rest(recorder, came);
	}
	return EXIT_DONE;
}

/* The threads write; here is everything else. */
static int loop_beside_threads(struct recorder *recorder)
{
	int err = EXIT_DONE;

	while (!err && !is_over(recorder)) {
		err = take_notice(recorder);
		if (err)
			break;
		recorder_thread_round(recorder);
		if (recorder->failed || ktb_perfdata_end_round(recorder->file))
			err = fail_file(recorder);
		if (!err)
			err = look_at_size(recorder);
		show_progress(recorder);
		look_for_targets(recorder);
		if (!err && !is_over(recorder))
			wait_for(recorder, false, ROUND_MS);
	}
	return err;
}

/* An own session is quiet then; of another one, what was there when we looked. */
static int last_round(struct recorder *recorder)
{
	if (recorder->own)
		ktb_session_set_enabled(recorder->conn, recorder->session.id, false);
	if (recorder->failed || (recorder->more_rings && recorder_open_readers(recorder)))
		return EXIT_FAILED;
	return do_round(recorder) < 0 ? EXIT_FAILED : EXIT_DONE;
}

/* Returns an exit status, the reason told. */
int recorder_run(struct recorder *recorder)
{
	int err = EXIT_DONE, status;

	note_hidden_kernel(recorder->file, recorder->path);
	/* Not the command: its process is there already. */
	take_priority();
	if (recorder->use_threads)
		err = recorder_start_threads(recorder);
	recorder->progress = isatty(STDERR_FILENO) && !recorder->json;
	recorder->shown = now_ns();
	recorder->lost_before = recorder_lost(recorder);
	if (!err && recorder->own &&
	    ktb_session_set_enabled(recorder->conn, recorder->session.id, true))
		err = fail("%s", ktb_conn_error(recorder->conn));
	if (!err)
		err = workload_start(&recorder->workload);
	if (!err)
		err = recorder->use_threads ? loop_beside_threads(recorder) : loop(recorder);
	recorder_stop_threads(recorder);
	/* A thread may have failed after the last look, or while it was told to stop. */
	if (!err && recorder->failed)
		err = fail_file(recorder);
	err |= last_round(recorder);
	recorder_clear_progress(recorder);
	/* First the file: whoever does not want to end keeps only us. */
	err |= recorder_finish(recorder);
	status = workload_end(&recorder->workload);
	return err ? err : status;
}
