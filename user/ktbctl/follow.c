// SPDX-License-Identifier: GPL-2.0-only
/*
 * Following a session. A reader of sched_switch or of system calls causes what
 * it reads: it is woken by a record, prints it, and so makes the next. Hence
 * after each look at the rings it rests for the interval, and output is flushed
 * once per look, not per line: what a look costs in events stays small against
 * what it can read.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "follow.h"
#include "outlet.h"

#define NSEC_PER_SEC 1000000000ULL
#define FLUSH_EVERY (32 << 10) /* bytes of records */
#define HOLD_NS NSEC_PER_SEC /* calls whose outermost one does not return */

static sig_atomic_t stopped_by_signal;

static void on_stop(int sig)
{
	/* The second one ends the program at once. */
	signal(sig, SIG_DFL);
	__atomic_store_n(&stopped_by_signal, 1, __ATOMIC_RELAXED);
}

static bool is_stopped(void *unused)
{
	(void)unused;
	return __atomic_load_n(&stopped_by_signal, __ATOMIC_RELAXED);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

static bool time_is_up(const struct follow *follow)
{
	return follow->limits.has_time && now_ns() - follow->start >= follow->limits.time_ns;
}

static bool has_enough(const struct follow *follow)
{
	return follow->limits.samples && follow->samples >= follow->limits.samples;
}

static bool is_over(const struct follow *follow)
{
	return is_stopped(NULL) || follow->removed || follow->closed || time_is_up(follow);
}

/* Catch signals only while waiting: none is missed between a look and a wait. */
static void catch_stop(sigset_t *waiting)
{
	const struct sigaction action = { .sa_handler = on_stop };
	sigset_t block;

	sigemptyset(&block);
	sigaddset(&block, SIGINT);
	sigaddset(&block, SIGTERM);
	sigprocmask(SIG_BLOCK, &block, waiting);
	sigdelset(waiting, SIGINT);
	sigdelset(waiting, SIGTERM);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

/* A pass over much may take a while: see whether someone wants it to end. */
static void look_for_stop(const sigset_t *waiting)
{
	const struct timespec none = { 0 };

	ppoll(NULL, 0, &none, waiting);
}

/* ---- printing ---- */

static int flush(struct follow *follow)
{
	follow->unflushed = 0;
	if (!fflush(stdout))
		return EXIT_DONE;
	if (errno != EPIPE)
		return fail("cannot write the output: %s", strerror(errno));
	follow->closed = true;
	return EXIT_DONE;
}

static int printed(struct follow *follow, int err)
{
	if (err == -EPIPE)
		follow->closed = true;
	else if (err)
		return fail("cannot write the output: %s", strerror(-err));
	return EXIT_DONE;
}

static int print_one(struct follow *follow, const struct perf_event_header *record)
{
	struct ktb_sample sample;
	int err;

	err = ktb_sample_parse(ktb_reader_sample_type(follow->reader), record, &sample);
	if (err)
		return fail("a record of the module's makes no sense: %s", strerror(-err));
	follow->records++;
	follow->samples += sample.type == PERF_RECORD_SAMPLE;
	err = printed(follow, print_record(&follow->printer, &sample));
	if (err)
		return err;
	/* Whole lines reach a pipe in one piece. */
	follow->unflushed += record->size;
	return follow->unflushed > FLUSH_EVERY ? flush(follow) : EXIT_DONE;
}

/* Print what can be told to be in order, or everything if it is the last time. */
static int look(struct follow *follow, const sigset_t *waiting, bool last)
{
	const struct perf_event_header *record;
	unsigned int nr = 0;
	int err;

	err = ktb_merge_fill(follow->merge, last);
	if (err == -EIO)
		return fail("a ring makes no sense: has another program written to it?");
	if (err)
		return fail("cannot read the rings: %s", strerror(-err));
	while (!has_enough(follow) && !follow->closed && ktb_merge_next(follow->merge, &record)) {
		err = print_one(follow, record);
		if (err)
			return err;
		if (!(++nr % 1024))
			look_for_stop(waiting);
		if (is_stopped(NULL) && !last)
			break;
	}
	ktb_merge_release(follow->merge);
	err = printed(follow, print_held(&follow->printer, now_ns() - HOLD_NS));
	return err ? err : flush(follow);
}

/*
 * What was written before the end, and no more: printing it may well cause more
 * records than it prints.
 */
static int look_last(struct follow *follow, const sigset_t *waiting)
{
	uint64_t before, end = now_ns();
	int err;

	if (time_is_up(follow))
		end = follow->start + follow->limits.time_ns;
	ktb_merge_set_until(follow->merge, end);
	do {
		before = follow->records;
		err = look(follow, waiting, true);
	} while (!err && follow->records != before && !has_enough(follow) && !follow->closed);
	return err;
}

/* ---- waiting ---- */

static void on_notice(const struct ktb_notice *notice, void *arg)
{
	struct follow *follow = arg;

	if (!notice->cmd || notice->cmd == KTB_CMD_CPU_ONLINE_NTF)
		follow->stale = true;
}

/* How long to wait at most; NULL for ever. */
static const struct timespec *wait_time(const struct follow *follow, uint64_t at_most,
					struct timespec *ts)
{
	uint64_t passed = now_ns() - follow->start, left = at_most;

	if (follow->limits.has_time) {
		left = passed < follow->limits.time_ns ? follow->limits.time_ns - passed : 0;
		if (left > at_most)
			left = at_most;
	}
	if (left == UINT64_MAX)
		return NULL;
	*ts = (struct timespec){ (time_t)(left / NSEC_PER_SEC), (long)(left % NSEC_PER_SEC) };
	return ts;
}

/*
 * Wait for records if @records, and in any case for the end of the output's
 * reader, for signals and for @at_most nanoseconds.
 */
static void wait_for(struct follow *follow, const sigset_t *waiting, bool records, uint64_t at_most)
{
	struct pollfd fds[] = {
		{ .fd = STDOUT_FILENO },
		{ .fd = records ? ktb_reader_fd(follow->reader) : -1, .events = POLLIN },
		{ .fd = records && follow->notify ? ktb_notify_fd(follow->notify) : -1,
		  .events = POLLIN },
	};
	struct timespec ts;

	if (ppoll(fds, 3, wait_time(follow, at_most, &ts), waiting) <= 0)
		return;
	if (fds[0].revents)
		follow->closed = true;
	if (fds[1].revents & (POLLHUP | POLLERR))
		follow->removed = true;
	if (fds[2].revents)
		ktb_notify_read(follow->notify, on_notice, follow);
}

static int take_new_rings(struct follow *follow)
{
	if (!follow->stale)
		return EXIT_DONE;
	follow->stale = false;
	if (ktb_reader_refresh(follow->reader) < 0)
		return fail("%s", ktb_reader_error(follow->reader));
	return EXIT_DONE;
}

static int follow_loop(struct follow *follow, const sigset_t *waiting)
{
	uint64_t before;
	int err;

	for (;;) {
		err = take_new_rings(follow);
		if (err)
			return err;
		before = follow->records;
		err = look(follow, waiting, false);
		if (err || has_enough(follow))
			return err;
		if (is_over(follow))
			return look_last(follow, waiting);
		if (follow->records != before || ktb_merge_pending(follow->merge))
			wait_for(follow, waiting, false, follow->limits.interval_ns);
		if (!is_over(follow) && !ktb_merge_pending(follow->merge))
			wait_for(follow, waiting, true,
				 calls_held(&follow->printer.calls) ? HOLD_NS : UINT64_MAX);
	}
}

/* ---- the end ---- */

static void tell_json(const struct follow *follow, uint64_t lost, uint64_t late)
{
	fprintf(stderr,
		"{\"type\":\"end\",\"read\":%" PRIu64 ",\"lost\":%" PRIu64
		",\"lost_in_all\":%" PRIu64 ",\"late\":%" PRIu64 ",\"removed\":%s}\n",
		follow->samples, lost - follow->lost_before, lost, late,
		follow->removed ? "true" : "false");
}

/* On stderr: stdout is for records. */
static void tell_ledger(const struct follow *follow)
{
	uint64_t lost = ktb_reader_lost(follow->reader);
	uint64_t late = ktb_merge_late(follow->merge);

	if (follow->printer.json) {
		tell_json(follow, lost, late);
		return;
	}
	if (late)
		note("%" PRIu64 " records came out later than a younger one", late);
	if (follow->removed)
		note("session '%s' was removed", follow->session);
	note("session '%s': %" PRIu64 " records read, %" PRIu64 " lost meanwhile, %" PRIu64
	     " lost in all",
	     follow->session, follow->samples, lost - follow->lost_before, lost);
}

/* Returns an exit status. */
int follow_run(struct follow *follow)
{
	struct outlet_signals signals = { .fd = -1, .is_stopped = is_stopped };
	const sigset_t *waiting = &signals.waiting;
	int err;

	catch_stop(&signals.waiting);
	err = outlet_open(&signals);
	if (err)
		return err;
	follow->start = now_ns();
	if (follow->limits.has_time)
		ktb_merge_set_until(follow->merge, follow->start + follow->limits.time_ns);
	follow->lost_before = ktb_reader_lost(follow->reader);
	err = follow_loop(follow, waiting);
	if (!err && !follow->closed)
		err = printed(follow, print_held(&follow->printer, UINT64_MAX));
	tell_ledger(follow);
	if (outlet_gave_up())
		note("who reads the output takes no more: what was left is not printed");
	/* Who closed the pipe has seen enough. */
	return err || follow->closed ? err : output_flush();
}
