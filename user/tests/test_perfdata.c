// SPDX-License-Identifier: GPL-2.0-only
/*
 * A perf.data file from rings without a module: its structure, what it becomes
 * when nothing more can be written, and what perf, if there is one, says of it.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fake.h"
#include "perfdata.h"
#include "perffile.h"
#include "tap.h"

#define RECORD_FINISHED_ROUND 68
#define FEATURE_SAMPLE_TIME 21

static char dir[32];
static char path[64];
static struct fake_reader fake;

static const struct ktb_event_info events[] = {
	{ .id = 1, .name = "fake:one", .type = FAKE_EVENT_TYPE, .period = 1 },
	{ .id = 2, .name = "fake:two", .type = FAKE_EVENT_TYPE + 1, .period = 10 },
	{ .id = 3, .name = "other:three", .type = FAKE_EVENT_TYPE + 2, .period = 1 },
};

static char *words[] = { "ktbctl", "record", NULL };

static struct ktb_perfdata *begin(unsigned int nr_events, bool sideband)
{
	const struct ktb_perfdata_options options = {
		.sample_type = FAKE_SAMPLE_TYPE,
		.events = events,
		.nr_events = nr_events,
		.argc = 2,
		.argv = words,
		.count = true,
		.sideband = sideband,
	};
	struct ktb_perfdata *file = ktb_perfdata_new();
	int err = ktb_perfdata_open(file, path, &options);

	if (err) {
		printf("Bail out! %s\n", ktb_perfdata_error(file));
		exit(1);
	}
	return file;
}

static uint64_t nr_attrs(void)
{
	return perffile_header()->attrs.size / perffile_header()->attr_size;
}

static void check_perf(int expected)
{
	if (system("perf --version >/dev/null 2>&1")) {
		ok(true, "perf script # SKIP no perf here");
		return;
	}
	ok(perffile_perf_lines(path) == expected, "perf script prints %d samples", expected);
}

/* ---- tests ---- */

static void test_structure(void)
{
	struct ktb_perfdata *file;
	struct ktb_perfdata_stats stats;
	const uint64_t *times;

	fake_reader_init(&fake, 2, 4096);
	file = begin(2, false);
	for (unsigned int i = 0; i < 10; i++) {
		fake_write(&fake.rings[i % 2], 1000 + i, 1 + i % 2);
		fake_publish(&fake.rings[i % 2]);
	}
	fake_write_lost(&fake.rings[0], 2000, 5);
	fake_publish(&fake.rings[0]);
	ok(ktb_perfdata_write_ring(file, &fake.rings[0].ring) == 5 * 80 + 56, "a ring is written");
	ok(ktb_perfdata_write_ring(file, &fake.rings[1].ring) == 5 * 80, "and another");
	ok(ktb_perfdata_write_ring(file, &fake.rings[1].ring) == 0, "once");
	ok(fake.rings[1].page->data_tail == 400, "and given back");
	ok(!ktb_perfdata_end_round(file), "a round ends");
	ok(!ktb_perfdata_end_round(file), "and another without anything");
	ok(!ktb_perfdata_finish(file), "the file is finished");
	ktb_perfdata_get_stats(file, &stats);
	ok(stats.samples == 10 && !stats.dropped && stats.bytes == 10 * 80 + 56 + 8,
	   "what went into it is known");
	ktb_perfdata_free(file);

	ok(perffile_is_valid(path), "the file is valid");
	ok(nr_attrs() == 3, "an attribute per event, and one for the loss of an unknown one");
	ok(perffile_records(PERF_RECORD_SAMPLE) == 10 && perffile_records(PERF_RECORD_LOST) == 1,
	   "all samples, and the loss");
	ok(perffile_records(RECORD_FINISHED_ROUND) == 1, "one end of a round");
	ok(!memcmp(perffile.data + perffile_header()->data.offset, fake.rings[0].data, 5 * 80),
	   "bytes are the ring's");
	times = (const void *)(perffile.data + perffile_feature(FEATURE_SAMPLE_TIME)->offset);
	ok(times[0] == 1000 && times[1] == 1009, "times of the first and the last sample");
	check_perf(10);
	fake_reader_exit(&fake);
}

static void test_empty(void)
{
	struct ktb_perfdata *file = begin(1, false);

	ktb_perfdata_free(file);
	ok(access(path, F_OK), "a file that is not finished is removed");
	file = begin(1, false);
	ok(!ktb_perfdata_finish(file), "a file without records is finished");
	ktb_perfdata_free(file);
	ok(perffile_is_valid(path) && !perffile_header()->data.size, "and valid");
	check_perf(0);
}

static void test_tasks(void)
{
	struct ktb_perfdata *file = begin(1, false);

	ok(!ktb_perfdata_synthesize(file), "what runs is written");
	ktb_perfdata_finish(file);
	ktb_perfdata_free(file);
	ok(perffile_is_valid(path), "the file is valid");
	ok(perffile_records(PERF_RECORD_COMM) > 0, "it has names");
	ok(perffile_records(PERF_RECORD_MMAP2) > 0, "and mappings");
	check_perf(0);
}

static void test_late_event(void)
{
	struct ktb_perfdata *file = begin(1, false);

	fake_reader_init(&fake, 1, 4096);
	fake_write(&fake.rings[0], 10, 3);
	fake_publish(&fake.rings[0]);
	ktb_perfdata_write_ring(file, &fake.rings[0].ring);
	ok(!ktb_perfdata_set_events(file, events, 3), "events that come late are taken");
	ok(!ktb_perfdata_finish(file), "the file is finished");
	ktb_perfdata_free(file);
	ok(perffile_is_valid(path), "and valid");
	ok(nr_attrs() == 3, "and has them all");
	check_perf(1);
	fake_reader_exit(&fake);
}

static void test_errors(void)
{
	const struct ktb_event_info unknown = { .id = 1, .name = "fake:none", .type = 9 };
	struct ktb_perfdata_options options = { FAKE_SAMPLE_TYPE, &unknown, 1, 0, NULL, 0, 0 };
	struct ktb_perfdata *file = ktb_perfdata_new();
	char old[80];

	unlink(path);
	ok(ktb_perfdata_open(file, path, &options) == -ENOENT, "an unknown event is refused");
	ok(strstr(ktb_perfdata_error(file), "fake:none"), "by name: %s", ktb_perfdata_error(file));
	ok(access(path, F_OK), "and nothing is made");
	ktb_perfdata_free(file);

	file = ktb_perfdata_new();
	options.events = events;
	ok(ktb_perfdata_open(file, "/nowhere/perf.data", &options) == -ENOENT,
	   "no such directory: %s", ktb_perfdata_error(file));
	ktb_perfdata_free(file);

	fake_file(dir, "perf.data", "earlier");
	file = begin(1, false);
	ktb_perfdata_finish(file);
	ktb_perfdata_free(file);
	snprintf(old, sizeof(old), "%s.old", path);
	ok(!access(old, F_OK) && perffile_is_valid(path), "an earlier file is kept");
	unlink(old);
}

/*
 * The file may not grow beyond @limit. Returns what is wrong with what came of
 * it, NULL if nothing is.
 */
static const char *record_up_to(rlim_t limit, unsigned int per_block)
{
	const struct rlimit none = { RLIM_INFINITY, RLIM_INFINITY };
	const struct rlimit some = { limit, RLIM_INFINITY };
	struct ktb_perfdata *file = begin(2, false);
	struct fake_ring *ring = &fake.rings[0];
	uint64_t given = 0, left;
	struct ktb_perfdata_stats stats;
	int64_t len = 0;
	int err;

	fake_reader_init(&fake, 1, 4096);
	setrlimit(RLIMIT_FSIZE, &some);
	while (len >= 0) {
		for (unsigned int i = 0; i < per_block && fake_write(ring, 1 + given, 1); i++)
			given++;
		fake_publish(ring);
		len = ktb_perfdata_write_ring(file, &ring->ring);
	}
	err = ktb_perfdata_finish(file);
	setrlimit(RLIMIT_FSIZE, &none);
	left = (ring->head - ring->page->data_tail) / 80;
	ktb_perfdata_get_stats(file, &stats);
	ktb_perfdata_free(file);
	fake_reader_exit(&fake);
	if (len != -EFBIG || err)
		return "wrong errors";
	if (!perffile_is_valid(path) || perffile.len > limit)
		return "not valid";
	if (perffile_records(PERF_RECORD_SAMPLE) != (int)stats.samples)
		return "not as many samples as counted";
	if (given != stats.samples + stats.dropped + left)
		return "samples unaccounted for";
	return NULL;
}

/* At every place within a record, and for blocks smaller than the table. */
static void test_full(void)
{
	const char *wrong = NULL;
	struct ktb_perfdata *file = begin(2, false);
	uint64_t start = file->written;

	ktb_perfdata_finish(file);
	ktb_perfdata_free(file);
	for (unsigned int per_block = 1; per_block <= 20 && !wrong; per_block += 3)
		for (unsigned int more = 0; more < 1000 && !wrong; more += 8)
			wrong = record_up_to(start + more, per_block);
	ok(!wrong, "a file that cannot grow ends well, wherever that is%s%s", wrong ? ": " : "",
	   wrong ? wrong : "");
	check_perf(perffile_records(PERF_RECORD_SAMPLE));
}

static void test_sideband(void)
{
	const struct ktb_perfdata_options options = { FAKE_SAMPLE_TYPE, events, 1, 0, NULL, 0, 1 };
	struct ktb_perfdata *file = ktb_perfdata_new();
	int err = ktb_perfdata_open(file, path, &options);

	if (err == -EACCES || err == -EPERM) {
		ok(true, "side-band # SKIP %s", ktb_perfdata_error(file));
		ktb_perfdata_free(file);
		return;
	}
	ok(!err && !system("true"), "side-band is there");
	ok(!ktb_perfdata_end_round(file) && !ktb_perfdata_finish(file), "and is written");
	ktb_perfdata_free(file);
	ok(perffile_is_valid(path), "the file is valid");
	ok(nr_attrs() == 2, "side-band has an attribute");
	ok(perffile_records(PERF_RECORD_FORK) > 0, "there are forks");
	ok(perffile_records(PERF_RECORD_EXIT) > 0, "exits");
	ok(perffile_records(PERF_RECORD_COMM) > 0, "and names");
	check_perf(0);
}

static void clean_up(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	if (system(command))
		perror(command);
}

int main(void)
{
	signal(SIGXFSZ, SIG_IGN);
	snprintf(dir, sizeof(dir), "/tmp/test_perfdata.XXXXXX");
	if (!mkdtemp(dir)) {
		perror(dir);
		return 1;
	}
	atexit(clean_up);
	snprintf(path, sizeof(path), "%s/perf.data", dir);
	fake_tracefs(dir);
	test_structure();
	test_empty();
	test_tasks();
	test_late_event();
	test_errors();
	test_full();
	test_sideband();
	free(perffile.data);
	return tap_end();
}
