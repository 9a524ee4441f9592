// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading a perf.data file: what was written by several CPUs comes out in the
 * order of time, with the names of that time; files that are cut off or damaged
 * give an error and nothing worse.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fake.h"
#include "perfdata.h"
#include "perffile.h"
#include "recording.h"
#include "tap.h"
#include "tempdir.h"

static char path[64];
static struct fake_reader fake;

static const struct ktb_event_info events[] = {
	{ .id = 1, .name = "fake:one", .type = FAKE_EVENT_TYPE, .period = 1 },
	{ .id = 2, .name = "fake:two", .type = FAKE_EVENT_TYPE + 1, .period = 10 },
};

static struct ktb_perfdata *begin(int level)
{
	const struct ktb_perfdata_options options = {
		.sample_type = FAKE_SAMPLE_TYPE,
		.events = events,
		.nr_events = 2,
		.compress = level,
	};
	struct ktb_perfdata *file = ktb_perfdata_new();

	if (ktb_perfdata_open(file, path, &options)) {
		printf("Bail out! %s\n", ktb_perfdata_error(file));
		exit(1);
	}
	return file;
}

static struct ktb_recording *open_it(void)
{
	struct ktb_recording *recording = ktb_recording_new();

	if (ktb_recording_open(recording, path, NULL)) {
		printf("Bail out! %s\n", ktb_recording_error(recording));
		exit(1);
	}
	return recording;
}

/* What ends a record that is no sample. */
struct sample_id {
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
	uint64_t identifier;
};

/* A COMM record of thread 11, as the side-band would have it. */
static void write_comm(struct ktb_perfdata *file, uint64_t time, const char *name)
{
	struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		char name[8];
		struct sample_id id;
	} record = {
		.header = { PERF_RECORD_COMM, 0, sizeof(record) },
		.pid = 10,
		.tid = 11,
		.id = { .time = time, .identifier = 1 },
	};

	snprintf(record.name, sizeof(record.name), "%s", name);
	ktb_perfdata_append(file, &record, sizeof(record));
}

/* Four CPUs that take turns, in blocks: in the file, times go back and forth. */
static unsigned int write_rounds(struct ktb_perfdata *file, bool rounds)
{
	unsigned int given = 0;

	fake_reader_init(&fake, 4, 4096);
	for (unsigned int round = 0; round < 5; round++) {
		for (unsigned int i = 0; i < 40; i++, given++)
			fake_write(&fake.rings[(i * 7) % 4], 1000 + given, 1 + i % 2);
		write_comm(file, 1000 + 40 * round, round % 2 ? "odd" : "even");
		for (unsigned int i = 0; i < 4; i++) {
			fake_publish(&fake.rings[i]);
			ktb_perfdata_write_ring(file, &fake.rings[i].ring);
		}
		if (rounds) {
			file->round_time = 0;
			ktb_perfdata_end_round(file);
		}
	}
	fake_reader_exit(&fake);
	return given;
}

/* ---- tests ---- */

static void test_order(const char *how, bool rounds, int level)
{
	struct ktb_perfdata *file = begin(level);
	unsigned int given = write_rounds(file, rounds), nr = 0;
	struct ktb_recording *recording;
	bool in_order = true, named = true, events_known = true;
	struct ktb_recording_stats stats;
	struct ktb_record record;
	uint64_t last = 0;
	int ret;

	ktb_perfdata_finish(file);
	ktb_perfdata_free(file);
	recording = open_it();
	while ((ret = ktb_recording_next(recording, &record)) == 1) {
		if (record.header->type != PERF_RECORD_SAMPLE)
			continue;
		in_order &= record.sample.time == last + 1 || !last;
		last = record.sample.time;
		named &= !strcmp(ktb_recording_comm(recording, 11), nr / 40 % 2 ? "odd" : "even");
		events_known &= record.event && record.sample.id == 1 + nr % 2 &&
				!strcmp(record.event->name, nr % 2 ? "fake:two" : "fake:one");
		nr++;
	}
	ktb_recording_get_stats(recording, &stats);
	ok(!ret && nr == given && stats.samples == given, "%s: all %u samples", how, given);
	ok(in_order && !stats.late, "%s: in the order of time", how);
	ok(named, "%s: a thread has the name of the time", how);
	ok(events_known, "%s: samples are of the right event", how);
	ktb_recording_free(recording);
}

#ifdef HAVE_ZSTD
#define THREADS 4
#define PER_THREAD 20000

/* One CPU's writer and reader in one. */
static void *write_cpu(void *arg)
{
	struct fake_ring *ring = arg;
	struct ktb_perfdata *file = (struct ktb_perfdata *)(uintptr_t)ring->page->__reserved2[0];
	const unsigned int cpu = ring->page->cpu;

	for (unsigned int i = 0; i < PER_THREAD;) {
		while (i < PER_THREAD && fake_write(ring, 1 + THREADS * i + cpu, 1 + cpu % 2))
			i++;
		fake_publish(ring);
		if (ktb_perfdata_write_ring(file, &ring->ring) < 0)
			return ring;
	}
	return NULL;
}

/* Every sample once, in order, whatever the threads' blocks are next to. */
static void test_threads(void)
{
	struct ktb_perfdata *file = begin(1);
	struct ktb_recording *recording;
	pthread_t threads[THREADS];
	struct ktb_record record;
	bool failed = false, in_order = true;
	uint64_t last = 0;
	void *wrong;

	fake_reader_init(&fake, THREADS, 1 << 18);
	for (unsigned int i = 0; i < THREADS; i++) {
		fake.rings[i].page->__reserved2[0] = (uintptr_t)file;
		pthread_create(&threads[i], NULL, write_cpu, &fake.rings[i]);
	}
	for (unsigned int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &wrong);
		failed |= !!wrong;
	}
	ok(!failed && !ktb_perfdata_finish(file), "threads write a compressed file");
	ktb_perfdata_free(file);
	fake_reader_exit(&fake);
	recording = open_it();
	while (ktb_recording_next(recording, &record) == 1)
		if (record.header->type == PERF_RECORD_SAMPLE)
			in_order &= record.sample.time == ++last;
	ok(last == THREADS * PER_THREAD && in_order, "all their samples come out, in order");
	ktb_recording_free(recording);
	ok(system("perf --version >/dev/null 2>&1") || perffile_perf_lines(path) == (int)last,
	   "perf's too");
}

#endif /* HAVE_ZSTD */

static void test_formats(void)
{
	struct ktb_recording *recording = open_it();
	struct ktb_record record;
	const char *text = NULL;

	while (ktb_recording_next(recording, &record) == 1)
		if (record.header->type == PERF_RECORD_SAMPLE)
			break;
	text = ktb_formats_text(ktb_recording_formats(recording), &record.sample);
	ok(text && !strcmp(text, "value=0"), "the file's own formats print a sample: %s",
	   text ? text : "(null)");
	ok(ktb_recording_nr_events(recording) == 2 && !ktb_recording_event(recording, 2),
	   "it has the events");
	ok(!strcmp(ktb_recording_event(recording, 1)->name, "fake:two"), "with their names");
	ktb_recording_free(recording);
}

/* Read a file that is what @data say. Returns the first error, 0 if there is none. */
static int read_bytes(const uint8_t *data, size_t len)
{
	struct ktb_recording *recording = ktb_recording_new();
	struct ktb_frame frames[16];
	struct ktb_record record;
	FILE *file = fopen(path, "we");
	int ret;

	if (len)
		fwrite(data, 1, len, file);
	fclose(file);
	ret = ktb_recording_open(recording, path, NULL);
	for (ret = ret ? ret : 1; ret == 1;) {
		ret = ktb_recording_next(recording, &record);
		if (ret == 1 && record.header->type == PERF_RECORD_SAMPLE) {
			ktb_formats_text(ktb_recording_formats(recording), &record.sample);
			ktb_recording_frames(recording, &record, frames, 16);
		}
	}
	if (ret && !*ktb_recording_error(recording))
		ret = 1;
	ktb_recording_free(recording);
	return ret;
}

#define FIELD "\toffset:8;\tsize:4;\tsigned:0;"
#define FAR_FIELD "\toffset:2147483647;\tsize:4; " /* as long */

static void test_damage(void)
{
	uint8_t *data, *field;
	size_t len, end;
	unsigned int quiet = 0, mute = 0, seed = 1;
	int err;

	perffile_is_valid(path);
	len = perffile.len;
	data = malloc(len);
	memcpy(data, perffile.data, len);
	ok(!read_bytes(data, len), "the whole file is read");
	/* Behind the table of features there is room for those this file lacks. */
	end = perffile_header()->data.offset + perffile_header()->data.size +
	      16 * (size_t)__builtin_popcountll(perffile_header()->features[0]);
	for (size_t cut = 0; cut < end; cut += cut < 200 ? 1 : 61) {
		err = read_bytes(data, cut);
		quiet += !err;
		mute += err == 1;
	}
	ok(!quiet, "wherever it is cut off, that is an error");
	for (unsigned int i = 0; i < 600; i++) {
		size_t at = (seed = seed * 1103515245 + 12345) % len;
		uint8_t was = data[at];

		data[at] = (uint8_t)(seed >> 16);
		mute += read_bytes(data, len) == 1;
		data[at] = was;
	}
	ok(!mute, "an error has a text, and bytes that are wrong do no worse");
	field = memmem(data, len, FIELD, strlen(FIELD));
	memcpy(field, FAR_FIELD, strlen(FIELD));
	ok(read_bytes(data, len) == -EIO, "a field where no record can have one");
	memcpy(field, FIELD, strlen(FIELD));
	ok(!read_bytes(data, len), "and as it was");
	free(data);
}

static void test_errors(void)
{
	struct ktb_recording *recording = ktb_recording_new();

	ok(ktb_recording_open(recording, "/nowhere/perf.data", NULL) == -ENOENT, "no file: %s",
	   ktb_recording_error(recording));
	ok(!ktb_recording_open(recording, path, NULL), "the handle is for another file then");
	ok(ktb_recording_open(recording, path, NULL) == -EALREADY, "but for one only");
	ktb_recording_free(recording);
	ok(read_bytes((const uint8_t *)"hello, world, this is text", 26) == -EINVAL,
	   "some other file");
	ok(read_bytes(NULL, 0) == -EIO, "an empty file");
	recording = ktb_recording_new();
	ok(ktb_recording_open(recording, dir, NULL) == -EISDIR, "a directory: %s",
	   ktb_recording_error(recording));
	ktb_recording_free(recording);
}

static void test_maps(void)
{
	struct ktb_tasks *tasks = ktb_tasks_new();
	struct ktb_dso a = { .path = "a" }, b = { .path = "b" };
	const struct ktb_map whole = { 0x1000, 0x5000, 0, &a }, hole = { 0x2000, 0x3000, 0, &b };
	const uint32_t fork[4] = { 20, 10, 20, 10 }, thread[4] = { 10, 10, 12, 10 };
	const struct ktb_map *map;

	ktb_tasks_comm(tasks, 10, "parent", 6);
	ktb_tasks_map(tasks, 10, &whole);
	ktb_tasks_fork(tasks, fork, true);
	ktb_tasks_fork(tasks, thread, true);
	ktb_tasks_map(tasks, 10, &hole);
	ok(ktb_tasks_find(tasks, 10, 0x2000)->dso == &b,
	   "a mapping takes the place of another's middle");
	ok(ktb_tasks_find(tasks, 10, 0x1fff)->dso == &a, "what is before stays");
	map = ktb_tasks_find(tasks, 10, 0x3000);
	ok(map && map->dso == &a && map->offset == 0x2000, "what is behind stays where it was");
	ok(!ktb_tasks_find(tasks, 10, 0x5000) && !ktb_tasks_find(tasks, 10, 0xfff),
	   "beside it there is nothing");
	ok(ktb_tasks_find(tasks, 20, 0x2000)->dso == &a, "a child has what its parent had");
	ok(!strcmp(ktb_tasks_name(tasks, 20), "parent"), "and its name");
	ok(!strcmp(ktb_tasks_name(tasks, 12), "parent"), "a thread too");
	ok(!strcmp(ktb_tasks_name(tasks, 0), "swapper") && !strcmp(ktb_tasks_name(tasks, 9), ":9"),
	   "idle, and unknown");
	ktb_tasks_free(tasks);
}

/* A process of 10's, which has "a" mapped; perf marks what ran before it began. */
static void write_fork(struct ktb_perfdata *file, uint32_t pid, uint16_t misc)
{
	struct {
		struct perf_event_header header;
		uint32_t pid, parent, tid, parent_tid;
		uint64_t time;
		struct sample_id id;
	} record = {
		.header = { PERF_RECORD_FORK, misc, sizeof(record) },
		.pid = pid,
		.parent = 10,
		.tid = pid,
		.parent_tid = 10,
		.id.identifier = 1,
	};

	ktb_perfdata_append(file, &record, sizeof(record));
}

static void write_map(struct ktb_perfdata *file)
{
	struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		uint64_t addr, len, offset;
		char name[8];
		struct sample_id id;
	} record = {
		.header = { PERF_RECORD_MMAP, PERF_RECORD_MISC_USER, sizeof(record) },
		.pid = 10,
		.tid = 10,
		.addr = 0x1000,
		.len = 0x1000,
		.name = "a",
		.id.identifier = 1,
	};

	ktb_perfdata_append(file, &record, sizeof(record));
}

static void test_forks(void)
{
	struct ktb_perfdata *file = begin(0);
	struct ktb_recording *recording;
	struct ktb_record record;

	write_map(file);
	write_fork(file, 20, 0);
	write_fork(file, 30, PERF_RECORD_MISC_FORK_EXEC);
	ktb_perfdata_finish(file);
	ktb_perfdata_free(file);
	recording = open_it();
	while (ktb_recording_next(recording, &record) == 1)
		;
	ok(ktb_tasks_find(recording->tasks, 10, 0x1800), "a mapping");
	ok(ktb_tasks_find(recording->tasks, 20, 0x1800), "a child has it");
	ok(!ktb_tasks_find(recording->tasks, 30, 0x1800), "not one that had its own before");
	ktb_recording_free(recording);
}

/* An id that no sample has, and what follows it. */
static void write_lost(struct ktb_perfdata *file, uint32_t type, uint16_t misc, uint64_t id,
		       uint64_t lost)
{
	struct {
		struct perf_event_header header;
		uint64_t body[2];
		struct sample_id id;
	} record = {
		.header = { type, misc, sizeof(record) },
		.body = { id, lost },
		.id.identifier = id,
	};

	if (type == PERF_RECORD_LOST_SAMPLES) {
		record.body[0] = lost;
		record.body[1] = 0;
	}
	ktb_perfdata_append(file, &record, sizeof(record));
}

/* Of what is lost, not all are samples, nor is all of it lost. */
static void test_lost(void)
{
	struct ktb_perfdata *file = begin(0);
	struct ktb_recording *recording;
	struct ktb_recording_stats stats;
	struct ktb_record record;

	write_lost(file, PERF_RECORD_LOST, 0, 1, 3);
	write_lost(file, PERF_RECORD_LOST, 0, 2, 40);
	write_lost(file, PERF_RECORD_LOST_SAMPLES, 1 << 15, 1, 500);
	ktb_perfdata_finish(file);
	ktb_perfdata_free(file);
	recording = open_it();
	recording->events[1].sideband = true;
	while (ktb_recording_next(recording, &record) == 1)
		;
	ktb_recording_get_stats(recording, &stats);
	ok(stats.lost == 3, "samples that were lost, not those that a program left out: %d",
	   (int)stats.lost);
	ok(stats.lost_sideband == 40, "and names and mappings: %d", (int)stats.lost_sideband);
	ktb_recording_free(recording);
}

/* A trace, whose bytes follow the record that tells of them. */
static void test_trace(void)
{
	struct {
		struct perf_event_header header;
		uint64_t size, offset, reference;
		uint32_t idx, tid, cpu, reserved;
		uint64_t trace[5];
	} record = {
		.header = { 71, 0, sizeof(record) - sizeof(record.trace) },
		.size = sizeof(record.trace),
		.trace = { UINT64_MAX, 0, 1, 2, 3 },
	};
	struct ktb_perfdata *file = begin(0);
	struct ktb_recording *recording;
	struct ktb_recording_stats stats;
	struct ktb_record got;

	ktb_perfdata_append(file, &record, sizeof(record));
	write_lost(file, PERF_RECORD_LOST, 0, 1, 3);
	record.size = 1 << 20;
	ktb_perfdata_append(file, &record, sizeof(record));
	ktb_perfdata_finish(file);
	ktb_perfdata_free(file);
	recording = open_it();
	while (ktb_recording_next(recording, &got) == 1)
		;
	ktb_recording_get_stats(recording, &stats);
	ok(strstr(ktb_recording_error(recording), "half a trace"), "a trace that is cut off: %s",
	   ktb_recording_error(recording));
	ktb_recording_free(recording);

	file = begin(0);
	record.size = sizeof(record.trace);
	ktb_perfdata_append(file, &record, sizeof(record));
	write_lost(file, PERF_RECORD_LOST, 0, 1, 3);
	ktb_perfdata_finish(file);
	ktb_perfdata_free(file);
	recording = open_it();
	while (ktb_recording_next(recording, &got) == 1)
		;
	ktb_recording_get_stats(recording, &stats);
	ok(stats.lost == 3 && !*ktb_recording_error(recording), "what is behind a trace is read");
	ktb_recording_free(recording);
}

#ifdef HAVE_LIBDW
static bool has_symbols(struct ktb_symbols *symbols, struct ktb_dso *dso)
{
	const struct ktb_map map = { 0x1000, 0x2000, 0, dso };
	struct ktb_frame frame = { .addr = 0x1800 };

	ktb_symbols_resolve(symbols, &map, &frame);
	return dso->table;
}

/* What was recorded in a container may be another file than is here by that path. */
static void test_files(void)
{
	struct ktb_symbols *symbols = ktb_symbols_new(NULL, NULL), *more;
	struct ktb_dso *ours, *other;
	const uint8_t id[20] = { 1 };
	char self[128] = "";
	struct stat st;

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0 || stat(self, &st))
		return;
	ours = ktb_symbols_mapped(symbols, self, st.st_ino);
	ok(has_symbols(symbols, ours), "a file that is here has symbols");
	ktb_symbols_free(symbols);

	symbols = ktb_symbols_new(NULL, NULL);
	other = ktb_symbols_mapped(symbols, self, st.st_ino + 1);
	ok(!has_symbols(symbols, other), "another one has none of this one's");
	ok(strstr(ktb_symbols_problem(symbols), "not what was recorded"), "which is told: %s",
	   ktb_symbols_problem(symbols));
	ktb_symbols_free(symbols);

	symbols = ktb_symbols_new(NULL, NULL);
	ktb_symbols_build_id(symbols, self, id, sizeof(id));
	other = ktb_symbols_mapped(symbols, self, st.st_ino + 1);
	ours = ktb_symbols_mapped(symbols, self, st.st_ino);
	ok(ours != other && ours == ktb_symbols_mapped(symbols, self, st.st_ino),
	   "two files of one path are two");
	ok(has_symbols(symbols, ours) && !has_symbols(symbols, other),
	   "and the one that is here has symbols, whose ever the build id is");
	ktb_symbols_free(symbols);

	symbols = ktb_symbols_new(NULL, NULL);
	ktb_symbols_build_id(symbols, self, id, sizeof(id));
	ours = ktb_symbols_mapped(symbols, self, st.st_ino);
	other = ktb_symbols_mapped(symbols, self, st.st_ino + 1);
	ok(has_symbols(symbols, ours) && !has_symbols(symbols, other),
	   "and if it was recorded first, too");
	ktb_symbols_free(symbols);

	more = ktb_symbols_new(NULL, "/");
	ok(has_symbols(more, ktb_symbols_mapped(more, self, st.st_ino + 1)),
	   "with --symfs files are where it says");
	ktb_symbols_free(more);
}
#else
static void test_files(void)
{
	ok(true, "files of containers # SKIP libdw was not built in");
}
#endif

int main(void)
{
	tempdir_make();
	snprintf(path, sizeof(path), "%s/perf.data", dir);
	fake_tracefs(dir);
#ifdef HAVE_ZSTD
	test_order("compressed", true, 3);
	test_threads();
#endif
	test_order("without rounds", false, 0);
	test_order("in rounds", true, 0);
	test_formats();
	test_damage();
	test_errors();
	test_maps();
	test_forks();
	test_files();
	test_lost();
	test_trace();
	free(perffile.data);
	return tap_end();
}
