// SPDX-License-Identifier: GPL-2.0-only
/* A snapshot that was taken goes into a file, and what is in it is told. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "snapshot.h"

static int fail_file(const struct snapshot *snapshot)
{
	return fail("%s", ktb_perfdata_error(snapshot->file));
}

static int open_file(struct snapshot *snapshot)
{
	const struct ktb_perfdata_options options = {
		.sample_type = snapshot->session.sample_type,
		.events = snapshot->events,
		.nr_events = snapshot->nr_events,
		.argc = snapshot->argc,
		.argv = snapshot->argv,
		.count = true,
	};

	snapshot->file = ktb_perfdata_new();
	if (!snapshot->file)
		return fail("out of memory");
	if (ktb_perfdata_open(snapshot->file, snapshot->path, &options) ||
	    ktb_perfdata_synthesize(snapshot->file))
		return fail_file(snapshot);
	note_hidden_kernel(snapshot->file, snapshot->path);
	return EXIT_DONE;
}

static bool is_stopped(void)
{
	sigset_t pending;

	sigpending(&pending);
	return sigismember(&pending, SIGINT) || sigismember(&pending, SIGTERM) ||
	       sigismember(&pending, SIGHUP);
}

/* What fits onto a full disk is kept. */
static int write_blocks(struct snapshot *snapshot)
{
	const struct snapshot_block *block;
	int64_t len;

	for (unsigned int i = 0; i < snapshot->nr_blocks; i++) {
		block = &snapshot->blocks[i];
		len = ktb_perfdata_write(snapshot->file, block->cpu, block->data, block->len);
		if (len < 0 || (size_t)len < block->len)
			return fail_file(snapshot);
		if (is_stopped())
			return fail("stopped by a signal");
	}
	if (ktb_perfdata_end_round(snapshot->file) || ktb_perfdata_flush(snapshot->file))
		return fail_file(snapshot);
	return EXIT_DONE;
}

/* ---- telling ---- */

static uint64_t lost_of(const struct ktb_ledger *ledger)
{
	return ledger->lost_full + ledger->lost_big + ledger->lost_recursion;
}

/* Written and not there any more. */
static uint64_t overwritten(const struct snapshot *snapshot, int event)
{
	uint64_t written = snapshot->events[event].ledger.written;

	return written > snapshot->kept[event] ? written - snapshot->kept[event] : 0;
}

/* What is told in the end. */
struct totals {
	struct ktb_perfdata_stats file;
	uint64_t missing; /* taken, and not in the file */
	uint64_t overwritten;
	uint64_t lost;
};

static void sum_up(const struct snapshot *snapshot, struct totals *totals)
{
	memset(totals, 0, sizeof(*totals));
	ktb_perfdata_get_stats(snapshot->file, &totals->file);
	totals->missing = snapshot->samples - totals->file.samples;
	for (int i = 0; i < snapshot->nr_events; i++) {
		totals->overwritten += overwritten(snapshot, i);
		totals->lost += lost_of(&snapshot->events[i].ledger);
	}
}

static void tell(const struct snapshot *snapshot, const struct totals *totals)
{
	for (int i = 0; i < snapshot->nr_events; i++)
		note("  %s: %" PRIu64 " samples, %" PRIu64 " overwritten, %" PRIu64 " lost",
		     snapshot->events[i].name, snapshot->kept[i], overwritten(snapshot, i),
		     lost_of(&snapshot->events[i].ledger));
	if (snapshot->strays)
		note("  of detached events: %" PRIu64 " samples", snapshot->strays);
	if (totals->missing)
		note("%" PRIu64 " samples did not reach the file", totals->missing);
	note("%s: %" PRIu64 " samples, %" PRIu64 " bytes of records, %" PRIu64
	     " overwritten, %" PRIu64 " lost",
	     snapshot->path, totals->file.samples, totals->file.bytes, totals->overwritten,
	     totals->lost);
}

static void add_u64(struct json_object *object, const char *name, uint64_t value)
{
	json_object_object_add(object, name, json_object_new_uint64(value));
}

static struct json_object *json_events(const struct snapshot *snapshot)
{
	struct json_object *events = json_object_new_array(), *event;

	for (int i = 0; i < snapshot->nr_events; i++) {
		event = json_event(&snapshot->events[i]);
		add_u64(event, "samples", snapshot->kept[i]);
		add_u64(event, "overwritten", overwritten(snapshot, i));
		json_object_object_add(event, "ledger", json_ledger(&snapshot->events[i].ledger));
		json_object_array_add(events, event);
	}
	return events;
}

static void tell_json(const struct snapshot *snapshot, const struct totals *totals)
{
	const int flags = JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE;
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "type", json_object_new_string("end"));
	json_object_object_add(object, "file", json_text(snapshot->path, strlen(snapshot->path)));
	add_u64(object, "samples", totals->file.samples);
	add_u64(object, "bytes", totals->file.bytes);
	add_u64(object, "missing", totals->missing);
	add_u64(object, "overwritten", totals->overwritten);
	add_u64(object, "lost", totals->lost);
	add_u64(object, "detached", snapshot->strays);
	json_object_object_add(object, "events", json_events(snapshot));
	fprintf(stderr, "%s\n", json_object_to_json_string_ext(object, flags));
	json_object_put(object);
}

/* Returns an exit status, the reason told. */
int snapshot_write(struct snapshot *snapshot)
{
	struct totals totals;
	int err = open_file(snapshot);

	if (err)
		return err;
	err = write_blocks(snapshot);
	if (ktb_perfdata_finish(snapshot->file))
		err = fail_file(snapshot);
	else if (err)
		note("what is in '%s' can be read", snapshot->path);
	sum_up(snapshot, &totals);
	if (snapshot->json)
		tell_json(snapshot, &totals);
	else
		tell(snapshot, &totals);
	return err;
}
