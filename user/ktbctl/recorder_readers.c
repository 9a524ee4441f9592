// SPDX-License-Identifier: GPL-2.0-only
/* A recording's readers: one of all rings, or, for threads, one per ring. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "recorder.h"

#define ENOUGH (64 << 10) /* bytes that are worth a wake-up */

static int open_reader(struct recorder *recorder, int cpu)
{
	struct recorder_reader *reader = calloc(1, sizeof(*reader)), **all;
	int err;

	all = reallocarray(recorder->readers, recorder->nr_readers + 1,
			   sizeof(struct recorder_reader *));
	if (all)
		recorder->readers = all;
	if (!reader || !all) {
		free(reader);
		return fail("out of memory");
	}
	*reader = (struct recorder_reader){ .recorder = recorder, .cpu = cpu };
	reader->reader = ktb_reader_new();
	reader->kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	all[recorder->nr_readers++] = reader;
	if (!reader->reader || reader->kick < 0)
		return fail("cannot make a reader: %s", strerror(errno));
	if (!recorder->self)
		ktb_reader_exclude_self(reader->reader);
	err = ktb_reader_open(reader->reader, recorder->session.id, cpu);
	if (err == -EBUSY)
		return fail_busy(recorder->conn, recorder->session.name);
	return err ? fail("%s", ktb_reader_error(reader->reader)) : EXIT_DONE;
}

static bool is_open(const struct recorder *recorder, int cpu)
{
	for (unsigned int i = 0; i < recorder->nr_readers; i++)
		if (recorder->readers[i]->cpu == cpu)
			return true;
	return false;
}

/* Rings that are there and are not read yet. */
static int open_each(struct recorder *recorder)
{
	struct ktb_session_info session;
	int err = ktb_session_get(recorder->conn, recorder->session.name, &session);

	if (err == -ENOENT && recorder->nr_readers) {
		recorder->removed = true;
		return EXIT_DONE;
	}
	if (err)
		return fail("%s", ktb_conn_error(recorder->conn));
	for (unsigned int i = 0; i < session.nr_rings && !err; i++)
		if (!is_open(recorder, (int)session.rings[i].cpu))
			err = open_reader(recorder, (int)session.rings[i].cpu);
	ktb_session_info_clear(&session);
	if (!err && !recorder->nr_readers)
		err = fail("session '%s' has no rings", recorder->session.name);
	return err;
}

/*
 * Open what is there, or, the second time, what came since. Returns an exit status,
 * the reason told.
 */
int recorder_open_readers(struct recorder *recorder)
{
	if (recorder->use_threads && recorder->cpu < 0)
		return open_each(recorder);
	if (!recorder->nr_readers)
		return open_reader(recorder, recorder->cpu);
	if (ktb_reader_refresh(recorder->readers[0]->reader) < 0)
		return fail("%s", ktb_reader_error(recorder->readers[0]->reader));
	return EXIT_DONE;
}

void recorder_close_readers(struct recorder *recorder)
{
	for (unsigned int i = 0; i < recorder->nr_readers; i++) {
		ktb_reader_free(recorder->readers[i]->reader);
		if (recorder->readers[i]->kick >= 0)
			close(recorder->readers[i]->kick);
		free(recorder->readers[i]);
	}
	free(recorder->readers);
	recorder->readers = NULL;
	recorder->nr_readers = 0;
}

/* One of all rings, by a number from 0; NULL beyond the last. */
struct ktb_ring *recorder_ring(const struct recorder *recorder, unsigned int index)
{
	unsigned int nr;

	for (unsigned int i = 0; i < recorder->nr_readers; i++) {
		nr = ktb_reader_nr_rings(recorder->readers[i]->reader);
		if (index < nr)
			return ktb_reader_ring(recorder->readers[i]->reader, index);
		index -= nr;
	}
	return NULL;
}

uint64_t recorder_lost(const struct recorder *recorder)
{
	uint64_t lost = 0;

	for (unsigned int i = 0; i < recorder->nr_readers; i++)
		lost += ktb_reader_lost(recorder->readers[i]->reader);
	return lost;
}

/*
 * A session without a watermark wakes its reader for every record, and the reader's
 * own doings may be what it records. So where little came, more is waited for, and
 * nothing but the time ends that. With a watermark the module does the waiting, and
 * ends it before the ring is full. What is enough does not grow with the ring: a
 * large one is there for bursts, and to rest while one comes is to lose it.
 */
bool recorder_may_rest(const struct recorder *recorder, int64_t came)
{
	const uint64_t share = recorder->session.ring_size / 8;
	const uint64_t enough = share < ENOUGH ? share : ENOUGH;

	return recorder->session.watermark < enough && (uint64_t)came < enough;
}

/*
 * All that is unread, into the file, whatever the number of records. Returns bytes,
 * or a negative errno, of which the file has the text.
 */
int64_t recorder_write_rings(struct recorder_reader *reader)
{
	const unsigned int nr = ktb_reader_nr_rings(reader->reader);
	int64_t sum = 0, len;

	for (unsigned int i = 0; i < nr; i++) {
		len = ktb_perfdata_write_ring(reader->recorder->file,
					      ktb_reader_ring(reader->reader, i));
		if (len < 0)
			return len;
		sum += len;
	}
	return sum;
}
