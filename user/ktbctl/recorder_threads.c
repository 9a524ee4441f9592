// SPDX-License-Identifier: GPL-2.0-only
/*
 * A thread per ring, on the ring's CPU: there it takes the time away from who fills
 * the ring. They write when they like; but readers of the file want rounds, between
 * whose ends every ring was looked at. So now and then the main thread begins a
 * round, and waits until each has looked whose ring is not empty.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/eventfd.h>
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
	/* Unless a later round did without us. */
	if ((int)(round - reader->round) > 0)
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
	eventfd_write(recorder->call, 1);
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
		came = recorder->closed ? -1 : recorder_write_rings(reader);
		if (came > 0 && recorder_is_large(recorder))
			eventfd_write(recorder->call, 1);
		pthread_rwlock_unlock(&recorder->file_lock);
		if (came < 0) {
			fail_thread(recorder);
			break;
		}
		tell_done(reader, round);
		if (recorder_may_rest(recorder, came) && rest(reader))
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

static bool is_empty(const struct ktb_reader *reader)
{
	for (unsigned int i = 0; i < ktb_reader_nr_rings(reader); i++)
		if (ktb_ring_pending(ktb_reader_ring(reader, i)))
			return false;
	return true;
}

static bool all_done(const struct recorder *recorder)
{
	for (unsigned int i = 0; i < recorder->nr_readers; i++)
		if (recorder->readers[i]->started && recorder->readers[i]->round != recorder->round)
			return false;
	return true;
}

/*
 * Each ring is looked at once more, or one has failed. An empty one is looked at
 * herewith: nobody is woken for it.
 */
void recorder_thread_round(struct recorder *recorder)
{
	struct recorder_reader *reader;

	pthread_mutex_lock(&recorder->lock);
	recorder->round++;
	for (unsigned int i = 0; i < recorder->nr_readers; i++) {
		reader = recorder->readers[i];
		if (is_empty(reader->reader))
			reader->round = recorder->round;
		else
			eventfd_write(reader->kick, 1);
	}
	while (!recorder->failed && !all_done(recorder))
		pthread_cond_wait(&recorder->done, &recorder->lock);
	pthread_mutex_unlock(&recorder->lock);
}

void recorder_stop_threads(struct recorder *recorder)
{
	pthread_mutex_lock(&recorder->lock);
	recorder->stop = true;
	pthread_mutex_unlock(&recorder->lock);
	for (unsigned int i = 0; i < recorder->nr_readers; i++)
		eventfd_write(recorder->readers[i]->kick, 1);
	for (unsigned int i = 0; i < recorder->nr_readers; i++) {
		if (recorder->readers[i]->started)
			pthread_join(recorder->readers[i]->thread, NULL);
		recorder->readers[i]->started = false;
	}
}
