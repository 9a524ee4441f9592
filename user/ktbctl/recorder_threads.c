// SPDX-License-Identifier: GPL-2.0-only
/*
 * A thread per ring, on the ring's CPU. They write when they like; but readers of
 * the file want rounds, between whose ends every ring was looked at. So now and
 * then the main thread begins a round, and waits until each has looked.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "recorder.h"

#define REST_MS 20

/* Rest for a moment. Returns whether a kick ended it, which is not to be waited for again. */
static bool rest(struct recorder_reader *reader)
{
	struct pollfd kick = { .fd = reader->kick, .events = POLLIN };
	uint64_t count;

	return poll(&kick, 1, REST_MS) > 0 &&
	       read(reader->kick, &count, sizeof(count)) == sizeof(count);
}

/* Wait for a kick, and for records if @records. Returns false once there come none. */
static bool wait_for(struct recorder_reader *reader, bool records)
{
	struct pollfd fds[] = {
		{ .fd = reader->kick, .events = POLLIN },
		{ .fd = records ? ktb_reader_fd(reader->reader) : -1, .events = POLLIN },
	};
	uint64_t count;

	if (poll(fds, 2, -1) <= 0)
		return true;
	if (fds[0].revents && read(reader->kick, &count, sizeof(count)) < 0 && errno != EAGAIN)
		return false;
	return !(fds[1].revents & (POLLHUP | POLLERR));
}

static void tell_done(struct recorder_reader *reader, unsigned int round)
{
	struct recorder *recorder = reader->recorder;

	pthread_mutex_lock(&recorder->lock);
	reader->round = round;
	pthread_cond_signal(&recorder->done);
	pthread_mutex_unlock(&recorder->lock);
}

static bool begin_look(struct recorder *recorder, unsigned int *round)
{
	bool stop;

	pthread_mutex_lock(&recorder->lock);
	*round = recorder->round;
	stop = recorder->stop || recorder->failed;
	pthread_mutex_unlock(&recorder->lock);
	return !stop;
}

static void fail_thread(struct recorder *recorder)
{
	pthread_mutex_lock(&recorder->lock);
	recorder->failed = true;
	pthread_cond_signal(&recorder->done);
	pthread_mutex_unlock(&recorder->lock);
}

static void stay_on_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	/* A CPU that goes offline, or is not ours to use: then anywhere. */
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

static void *read_ring(void *arg)
{
	struct recorder_reader *reader = arg;
	struct recorder *recorder = reader->recorder;
	bool records = true;
	unsigned int round;
	int64_t came;

	if (reader->cpu >= 0 && reader->cpu < CPU_SETSIZE)
		stay_on_cpu(reader->cpu);
	while (begin_look(recorder, &round)) {
		pthread_rwlock_rdlock(&recorder->file_lock);
		came = recorder_write_rings(reader);
		pthread_rwlock_unlock(&recorder->file_lock);
		if (came < 0) {
			fail_thread(recorder);
			break;
		}
		tell_done(reader, round);
		/* Little came: what writing does itself may be what is recorded. */
		if ((uint64_t)came < recorder->session.ring_size / 8 && rest(reader))
			continue;
		records = wait_for(reader, records) && records;
	}
	return NULL;
}

/* Those that do not run yet. Returns an exit status, the reason told. */
int recorder_start_threads(struct recorder *recorder)
{
	struct recorder_reader *reader;
	int err;

	for (unsigned int i = 0; i < recorder->nr_readers; i++) {
		reader = recorder->readers[i];
		if (reader->started)
			continue;
		err = pthread_create(&reader->thread, NULL, read_ring, reader);
		if (err)
			return fail("cannot start a thread: %s", strerror(err));
		reader->started = true;
	}
	return EXIT_DONE;
}

static void kick(struct recorder *recorder)
{
	const uint64_t one = 1;

	for (unsigned int i = 0; i < recorder->nr_readers; i++)
		if (write(recorder->readers[i]->kick, &one, sizeof(one)) < 0)
			return; /* the counter is full: it is being kicked */
}

static bool all_done(const struct recorder *recorder)
{
	for (unsigned int i = 0; i < recorder->nr_readers; i++)
		if (recorder->readers[i]->started && recorder->readers[i]->round != recorder->round)
			return false;
	return true;
}

/* Each ring is looked at once more, or one has failed. */
void recorder_thread_round(struct recorder *recorder)
{
	pthread_mutex_lock(&recorder->lock);
	recorder->round++;
	kick(recorder);
	while (!recorder->failed && !all_done(recorder))
		pthread_cond_wait(&recorder->done, &recorder->lock);
	pthread_mutex_unlock(&recorder->lock);
}

void recorder_stop_threads(struct recorder *recorder)
{
	pthread_mutex_lock(&recorder->lock);
	recorder->stop = true;
	pthread_mutex_unlock(&recorder->lock);
	kick(recorder);
	for (unsigned int i = 0; i < recorder->nr_readers; i++) {
		if (recorder->readers[i]->started)
			pthread_join(recorder->readers[i]->thread, NULL);
		recorder->readers[i]->started = false;
	}
}
