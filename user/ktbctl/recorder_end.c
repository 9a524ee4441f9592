// SPDX-License-Identifier: GPL-2.0-only
/* The end of a recording: the file is finished, and what is in it is told. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder.h"

static struct ktb_event_info *find(struct recorder *recorder, uint64_t id)
{
	for (unsigned int i = 0; i < recorder->nr_events; i++)
		if (recorder->events[i].id == id)
			return &recorder->events[i];
	return NULL;
}

/* The ledger of the CPU that is recorded, where that is not all of them. */
static struct ktb_ledger ledger_of(const struct recorder *recorder,
				   const struct ktb_event_info *event)
{
	if (recorder->cpu < 0)
		return event->ledger;
	for (unsigned int i = 0; i < event->nr_cpu_ledgers; i++)
		if (event->cpu_ledgers[i].cpu == recorder->cpu)
			return event->cpu_ledgers[i];
	return (struct ktb_ledger){ .cpu = recorder->cpu }; /* it had no hit there */
}

static bool take_event(struct recorder *recorder, const struct ktb_event_info *event)
{
	struct ktb_event_info *known = find(recorder, event->id), *all;
	uint64_t *stated;

	if (!known) {
		stated = reallocarray(recorder->stated, recorder->nr_events + 1, sizeof(*stated));
		if (!stated)
			return false;
		recorder->stated = stated;
		all = reallocarray(recorder->events, recorder->nr_events + 1, sizeof(*all));
		if (!all)
			return false;
		recorder->events = all;
		stated[recorder->nr_events] = 0;
		known = &all[recorder->nr_events++];
	}
	ktb_event_info_copy(known, event);
	known->ledger = ledger_of(recorder, event);
	return true;
}

static bool is_listed(const struct ktb_event_info *list, int nr, uint64_t id)
{
	for (int i = 0; i < nr; i++)
		if (list[i].id == id)
			return true;
	return false;
}

/*
 * Learn of events and their ledgers; those detached meanwhile are kept, and the
 * file is told of those that came. Returns an exit status, the reason told.
 */
int recorder_list_events(struct recorder *recorder)
{
	unsigned int before = recorder->nr_events;
	struct ktb_event_info *list;
	bool taken = true;
	int nr;

	recorder->gone = true; /* as far as we know, if that fails */
	nr = ktb_event_list(recorder->conn, recorder->session.id, true, &list);
	if (nr < 0)
		return fail("%s", ktb_conn_error(recorder->conn));
	recorder->gone = false;
	for (int i = 0; i < nr && taken; i++)
		taken = take_event(recorder, &list[i]);
	for (unsigned int i = 0; i < recorder->nr_events; i++)
		recorder->gone |= !is_listed(list, nr, recorder->events[i].id);
	ktb_event_list_free(list, nr);
	if (taken && recorder->file && recorder->nr_events != before)
		taken = !ktb_perfdata_set_events(recorder->file, recorder->events,
						 recorder->nr_events);
	return taken ? EXIT_DONE : fail("out of memory");
}

/* ---- how much ---- */

static uint64_t lost_of(const struct ktb_ledger *ledger)
{
	return ledger->lost_full + ledger->lost_big + ledger->lost_recursion;
}

static uint64_t unread_samples(struct recorder *recorder)
{
	const struct perf_event_header *record;
	struct ktb_ring *ring;
	uint64_t nr = 0;

	for (unsigned int i = 0; (ring = recorder_ring(recorder, i)); i++) {
		if (ktb_ring_begin(ring) < 0)
			continue;
		while (ktb_ring_next(ring, &record) == 1)
			nr += record->type == PERF_RECORD_SAMPLE;
	}
	return nr;
}

/* What is told in the end. */
struct outcome {
	bool known; /* all but @file is */
	struct ktb_perfdata_stats file;
	uint64_t samples; /* in the file */
	uint64_t missing; /* written to a ring, not to the file */
	uint64_t lost;
};

/*
 * Of an own session the ledger knows how many samples there were, without anybody
 * having to count them, unless somebody took the ledger away; those that did not
 * reach a file that failed are either still in a ring, or were cut off.
 */
static void sum_up(struct recorder *recorder, struct outcome *outcome)
{
	uint64_t written = 0;

	memset(outcome, 0, sizeof(*outcome));
	recorder_get_stats(recorder, &outcome->file);
	outcome->known = !recorder->own || !(recorder->removed || recorder->gone);
	outcome->missing = outcome->file.dropped;
	outcome->samples = outcome->file.samples;
	outcome->lost = recorder_lost(recorder) - recorder->lost_before;
	if (!recorder->own || !outcome->known)
		return;
	outcome->lost = 0;
	for (unsigned int i = 0; i < recorder->nr_events; i++) {
		written += recorder->events[i].ledger.written;
		outcome->lost += lost_of(&recorder->events[i].ledger);
	}
	outcome->missing += unread_samples(recorder);
	outcome->samples = written - outcome->missing;
}

/* ---- telling ---- */

static void tell_event(const struct ktb_event_info *event)
{
	const struct ktb_ledger *ledger = &event->ledger;

	note("  %s: %" PRIu64 " hits, %" PRIu64 " written, %" PRIu64 " filtered, %" PRIu64
	     " not sampled, %" PRIu64 " lost",
	     event->name, ledger->hits, ledger->written, ledger->filtered, ledger->not_sampled,
	     lost_of(ledger));
	if (lost_of(ledger))
		note("    lost: %" PRIu64 " ring full, %" PRIu64 " too large, %" PRIu64
		     " recursion",
		     ledger->lost_full, ledger->lost_big, ledger->lost_recursion);
}

static void tell(const struct recorder *recorder, const struct outcome *outcome)
{
	if (recorder->removed)
		note("session '%s' was removed", recorder->session.name);
	if (!outcome->known)
		note("events were detached, their ledgers with them: there is no count of samples");
	for (unsigned int i = 0; i < recorder->nr_events && recorder->own && outcome->known; i++)
		tell_event(&recorder->events[i]);
	if (outcome->missing && recorder->own && outcome->known)
		note("%" PRIu64 " samples did not reach the file", outcome->missing);
	if (outcome->file.lost_sideband)
		note("%" PRIu64 " records of names and mappings were lost",
		     outcome->file.lost_sideband);
	if (recorder->full)
		note("stopped: the file has reached --max-size");
	for (unsigned int i = 0; i < recorder->nr_files; i++)
		note("  %s", recorder->files[i]);
	if (!outcome->known)
		note("%s: %" PRIu64 " bytes of records", recorder->path, outcome->file.bytes);
	else
		note("%s: %" PRIu64 " samples, %" PRIu64 " bytes of records, %" PRIu64 " lost%s",
		     recorder->path, outcome->samples, outcome->file.bytes, outcome->lost,
		     recorder->own || !outcome->lost ? "" : " meanwhile");
}

/* null, where it is not known. */
static struct json_object *json_count(const struct outcome *outcome, uint64_t count)
{
	return outcome->known ? json_object_new_uint64(count) : NULL;
}

static void tell_json(const struct recorder *recorder, const struct outcome *outcome)
{
	const int flags = JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE;
	struct json_object *object = json_object_new_object(), *event, *ledger;
	struct json_object *events = json_object_new_array(), *files;

	for (unsigned int i = 0; i < recorder->nr_events; i++) {
		ledger = outcome->known ? json_ledger(&recorder->events[i].ledger) : NULL;
		event = json_event(&recorder->events[i]);
		json_object_object_add(event, "ledger", ledger);
		json_object_array_add(events, event);
	}
	json_object_object_add(object, "type", json_object_new_string("end"));
	json_object_object_add(object, "file", json_text(recorder->path, strlen(recorder->path)));
	if (recorder_has_files(recorder)) {
		files = json_object_new_array();
		for (unsigned int i = 0; i < recorder->nr_files; i++)
			json_object_array_add(files, json_text(recorder->files[i],
							       strlen(recorder->files[i])));
		json_object_object_add(object, "files", files);
	}
	json_object_object_add(object, "samples", json_count(outcome, outcome->samples));
	json_object_object_add(object, "bytes", json_object_new_uint64(outcome->file.bytes));
	json_object_object_add(object, "missing", json_count(outcome, outcome->missing));
	json_object_object_add(object, "lost", json_count(outcome, outcome->lost));
	json_object_object_add(object, "lost_sideband",
			       json_object_new_uint64(outcome->file.lost_sideband));
	json_object_object_add(object, "removed", json_object_new_boolean(recorder->removed));
	json_object_object_add(object, "events", events);
	fprintf(stderr, "%s\n", json_object_to_json_string_ext(object, flags));
	json_object_put(object);
}

/*
 * What an own session lost since the file before, event by event: the last of it is in
 * no record. Of several files each has a sum, be it 0: what the stream tells of may be
 * the file's before. Of another's session the ledgers began before. Returns 0 or a
 * negative errno, of which the file has the text.
 */
int recorder_state_losses(struct recorder *recorder, struct ktb_perfdata *file)
{
	uint64_t lost;
	int err = 0;

	for (unsigned int i = 0; i < recorder->nr_events && recorder->own && !err; i++) {
		lost = lost_of(&recorder->events[i].ledger) - recorder->stated[i];
		recorder->stated[i] += lost;
		if (lost || (!i && recorder_has_files(recorder)))
			err = ktb_perfdata_write_lost(file, recorder->events[i].id, lost);
	}
	return err;
}

/* Behind that comes nothing: whether all of it reaches the file is seen now. */
static int write_last(struct recorder *recorder)
{
	int err;

	if (recorder->closed)
		return EXIT_DONE;
	err = recorder_state_losses(recorder, recorder->file);
	if (!err)
		err = ktb_perfdata_flush(recorder->file);
	if (!err || recorder->failed)
		return EXIT_DONE;
	recorder->failed = true;
	return fail("%s", ktb_perfdata_error(recorder->file));
}

/* Returns an exit status, the reason told. */
int recorder_finish(struct recorder *recorder)
{
	struct outcome outcome;
	int err = EXIT_DONE;

	if (!recorder->removed)
		err = recorder_list_events(recorder);
	err |= write_last(recorder);
	if (recorder_close_file(recorder))
		err = EXIT_FAILED;
	else if (recorder->failed)
		note("what is in '%s' can be read",
		     recorder->nr_files ? recorder->files[recorder->nr_files - 1] : recorder->path);
	sum_up(recorder, &outcome);
	if (recorder->json)
		tell_json(recorder, &outcome);
	else
		tell(recorder, &outcome);
	return err;
}
