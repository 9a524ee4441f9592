// SPDX-License-Identifier: GPL-2.0-only
/*
 * A perf.data file from rings without a module: its structure, what it becomes
 * when nothing more can be written, and what perf, if there is one, says of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "fake.h"
#include "perfdata.h"
#include "perffile.h"
#include "tap.h"
#include "tempdir.h"

#define RECORD_FINISHED_ROUND 68
#define FEATURE_SAMPLE_TIME 21

#define BUFFER_SIZE (512 << 10) /* of what is collected */
#define MORE 4096 /* than metadata need is kept free for them */

static char path[64];
static struct fake_reader fake;

static const struct ktb_event_info events[] = {
	{ .id = 1, .name = "fake:one", .type = FAKE_EVENT_TYPE, .period = 1 },
	{ .id = 2, .name = "fake:two", .type = FAKE_EVENT_TYPE + 1, .period = 10 },
	{ .id = 3, .name = "other:three", .type = FAKE_EVENT_TYPE + 2, .period = 1 },
};

static char *words[] = { "ktbctl", "record", NULL };

static int level; /* of compression */
static bool late; /* an event comes when the file is open */

/* How records get into the file; in tests that do not care, as the library likes. */
static enum way {
	AS_IT_COMES,
	AT_ONCE,
	COLLECTED,
	DIRECT, /* like the first, which was seen to be this */
	NR_WAYS,
} way;
static bool has_direct;

static const char *const way_names[] = { "as it comes", "at once", "collected", "direct" };

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
		.compress = level,
	};
	struct ktb_perfdata *file = ktb_perfdata_new();
	int err = ktb_perfdata_open(file, path, &options);

	if (err) {
		printf("Bail out! %s\n", ktb_perfdata_error(file));
		exit(1);
	}
	if (way == AT_ONCE || way == COLLECTED)
		ktb_direct_close(file);
	if (way == COLLECTED)
		ktb_direct_begin(file, -1);
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

/* Take an event out of tracefs, or put it back. */
static void move_event(const char *from, const char *to)
{
	char old[128], new[128];

	snprintf(old, sizeof(old), "%s/events/%s", dir, from);
	snprintf(new, sizeof(new), "%s/events/%s", dir, to);
	rename(old, new);
}

/* What is detached while it is recorded, and its probe removed. */
static void test_gone_events(void)
{
	struct ktb_perfdata_options options = {
		.sample_type = FAKE_SAMPLE_TYPE, .events = events, .nr_events = 2, .count = true
	};
	struct ktb_perfdata *file = begin(2, false), *next = ktb_perfdata_new();
	char second[80];

	fake_reader_init(&fake, 1, 4096);
	snprintf(second, sizeof(second), "%s/second.data", dir);
	move_event("fake/two", "gone");
	options.earlier = file;
	ok(!ktb_perfdata_open(next, second, &options),
	   "a format that is gone is known from before");
	move_event("other/three", "lost");
	ok(!ktb_perfdata_set_events(next, events, 3), "one that is gone already is taken");
	for (unsigned int id = 1; id <= 3; id++)
		fake_write(&fake.rings[0], 10 + id, id);
	fake_publish(&fake.rings[0]);
	ok(ktb_perfdata_write_ring(next, &fake.rings[0].ring) == 3 * 80, "with records of all");
	ok(!ktb_perfdata_finish(next), "and the file is finished: %s", ktb_perfdata_error(next));
	ktb_perfdata_free(next);
	ok(perffile_is_valid(second) && nr_attrs() == 3, "valid, and has them all");
	if (!system("perf --version >/dev/null 2>&1"))
		ok(perffile_perf_lines(second) == 3, "perf prints all three");
	else
		ok(true, "perf prints all three # SKIP no perf here");
	ktb_perfdata_free(file);
	unlink(second);
	move_event("gone", "fake/two");
	move_event("lost", "other/three");
	fake_reader_exit(&fake);
}

static void test_errors(void)
{
	const struct ktb_event_info unknown = { .id = 1, .name = "fake:none", .type = 9 };
	struct ktb_perfdata_options options = {
		FAKE_SAMPLE_TYPE, &unknown, 1, 0, NULL, 0, 0, 0, NULL
	};
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

static void find_direct(void)
{
	struct ktb_perfdata *file = begin(1, false);

	has_direct = file->direct;
	ktb_perfdata_free(file);
}

/* As the library reads them; -1 if it cannot. */
static int recorded_samples(void)
{
	struct ktb_recording *recording = ktb_recording_new();
	int ret = ktb_recording_open(recording, path, NULL), nr = 0;
	struct ktb_record record;

	for (ret = ret ? ret : 1; ret == 1;) {
		ret = ktb_recording_next(recording, &record);
		nr += ret == 1 && record.header->type == PERF_RECORD_SAMPLE;
	}
	ktb_recording_free(recording);
	return ret ? -1 : nr;
}

/*
 * The file may not grow beyond @limit, and is to have @nr attributes then. Returns
 * what is wrong with what came of it, NULL if nothing is.
 */
static const char *record_up_to(rlim_t limit, unsigned int per_block, unsigned int nr)
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
	if (late)
		ktb_perfdata_set_events(file, events, 3);
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
	if (level ? recorded_samples() != (int)stats.samples :
		    perffile_records(PERF_RECORD_SAMPLE) != (int)stats.samples)
		return "not as many samples as counted";
	if (given != stats.samples + stats.dropped + left)
		return "samples unaccounted for";
	if (nr_attrs() != nr)
		return "not as many events as there is room for";
	if (late && !stats.samples)
		return "all was given up";
	return NULL;
}

static uint64_t file_size(void)
{
	struct stat st;

	return stat(path, &st) ? 0 : st.st_size;
}

/* The least that a file has room for. */
static uint64_t least_size(void)
{
	struct ktb_perfdata *file = begin(2, false);
	uint64_t size = file->written;

	ktb_perfdata_finish(file);
	ktb_perfdata_free(file);
	return size;
}

/* What metadata of events that come late need on top of that. */
static uint64_t late_size(void)
{
	struct ktb_perfdata *file = begin(2, false);
	uint64_t end = file->written;

	ktb_perfdata_set_events(file, events, 3);
	ktb_perfdata_finish(file);
	ktb_perfdata_free(file);
	return file_size() - end;
}

/* At every place within a record, and for blocks smaller than the table. */
static const char *fill_up(uint64_t start, unsigned int step, unsigned int nr)
{
	const char *wrong = NULL;

	for (unsigned int per_block = 1; per_block <= 20 && !wrong; per_block += 3)
		for (unsigned int more = 0; more < 1000 && !wrong; more += step)
			wrong = record_up_to(start + more, per_block, nr);
	return wrong;
}

/* All is taken; that the file has no room for it comes out in the end. */
static const char *finish_beyond(rlim_t limit)
{
	const struct rlimit none = { RLIM_INFINITY, RLIM_INFINITY };
	const struct rlimit some = { limit, RLIM_INFINITY };
	struct ktb_perfdata *file = begin(2, false);
	struct ktb_perfdata_stats stats;
	int err;

	fake_reader_init(&fake, 1, 4096);
	for (unsigned int i = 0; i < 40; i++)
		fake_write(&fake.rings[0], 1 + i, 1);
	fake_publish(&fake.rings[0]);
	setrlimit(RLIMIT_FSIZE, &some);
	err = ktb_perfdata_write_ring(file, &fake.rings[0].ring) == 40 * 80 ? 0 : 1;
	err = err ? err : ktb_perfdata_finish(file);
	setrlimit(RLIMIT_FSIZE, &none);
	ktb_perfdata_get_stats(file, &stats);
	ktb_perfdata_free(file);
	fake_reader_exit(&fake);
	if (err != -EFBIG)
		return "wrong errors";
	if (!perffile_is_valid(path) || perffile.len > limit)
		return "not valid";
	if (perffile_records(PERF_RECORD_SAMPLE) != (int)stats.samples ||
	    stats.samples + stats.dropped != 40 || stats.bytes != stats.samples * 80)
		return "not as many samples as counted";
	return NULL;
}

static void skip_way(const char *name)
{
	ok(true, "%s, %s # SKIP no direct I/O in %s", name, way_names[way], dir);
}

static void test_full(void)
{
	const char *wrong;
	uint64_t start;

	if (way == DIRECT && !has_direct) {
		skip_way("a full disk");
		return;
	}
	start = least_size();
	wrong = fill_up(start, way == DIRECT ? 40 : 8, 2);
	/* With a buffer before, whose end is in the middle of a record. */
	if (!wrong && way != AT_ONCE)
		wrong = fill_up(start + BUFFER_SIZE, 200, 2);
	for (unsigned int more = 0; more < 500 && !wrong && way != AT_ONCE; more += 8)
		wrong = finish_beyond(start + more);
	ok(!wrong, "a file that cannot grow ends well, wherever that is, %s%s%s", way_names[way],
	   wrong ? ": " : "", wrong ? wrong : "");
	check_perf(perffile_records(PERF_RECORD_SAMPLE));
	late = true;
	wrong = fill_up(start + late_size() + MORE + 200, 120, 3);
	if (!wrong && way != AT_ONCE)
		wrong = fill_up(start + late_size() + MORE + BUFFER_SIZE, 360, 3);
	if (!wrong)
		wrong = fill_up(start + late_size() / 2, 120, 2);
	late = false;
	ok(!wrong, "and has the events that came late, %s%s%s", way_names[way], wrong ? ": " : "",
	   wrong ? wrong : "");
	check_perf(perffile_records(PERF_RECORD_SAMPLE));
}

/* Of a part of the file, what of it is in the page cache. */
static size_t cached_pages(uint64_t offset, size_t len)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	unsigned char in[BUFFER_SIZE / 4096];
	int fd = open(path, O_RDONLY);
	void *map = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, (off_t)offset);
	size_t nr = 0;

	if (map == MAP_FAILED || mincore(map, len, in))
		nr = SIZE_MAX;
	for (size_t i = 0; i < len / page && nr != SIZE_MAX; i++)
		nr += in[i] & 1;
	munmap(map, len);
	close(fd);
	return nr;
}

/* Write so many records from a ring. Returns whether all were taken. */
static bool write_samples(struct ktb_perfdata *file, unsigned int nr)
{
	unsigned int left = nr, now;
	bool taken = true;

	for (; left && taken; left -= now) {
		now = left < 40 ? left : 40;
		for (unsigned int i = 0; i < now; i++)
			fake_write(&fake.rings[0], 1000 + nr - left + i, 1);
		fake_publish(&fake.rings[0]);
		taken = ktb_perfdata_write_ring(file, &fake.rings[0].ring) == now * 80;
	}
	return taken;
}

/* Two buffers and a half. */
#define MANY (5 * BUFFER_SIZE / 2 / 80)

static void test_collected(void)
{
	struct ktb_perfdata *file;
	uint64_t offset;

	if (way == DIRECT && !has_direct) {
		skip_way("many records");
		return;
	}
	fake_reader_init(&fake, 1, 1 << 20);
	file = begin(2, false);
	offset = file->data_offset;
	ok(write_samples(file, MANY), "many records, %s", way_names[way]);
	ok(file_size() == offset + 2 * BUFFER_SIZE, "two buffers full of them are in the file");
	/*
	 * A write that takes long is the last for a while, but the first is made; in its
	 * first page room was made for the table.
	 */
	if (way == DIRECT)
		ok(!cached_pages(offset + 4096, BUFFER_SIZE - 4096), "not in the page cache");
	else
		ok(cached_pages(offset + 4096, BUFFER_SIZE - 4096), "and in the page cache");
	ok(!ktb_perfdata_flush(file) && file_size() == offset + MANY * 80, "the rest can be had");
	ok(write_samples(file, MANY), "and so on");
	ok(!ktb_perfdata_finish(file), "to the end");
	ktb_perfdata_free(file);
	ok(perffile_is_valid(path) && perffile_records(PERF_RECORD_SAMPLE) == 2 * MANY,
	   "all of them are in the file");
	check_perf(2 * MANY);
	fake_reader_exit(&fake);
}

#ifdef HAVE_ZSTD
static void test_full_compressed(void)
{
	const char *wrong = NULL;
	struct ktb_perfdata *file;
	uint64_t start;

	level = 1;
	file = begin(2, false);
	start = file->written;
	ktb_perfdata_finish(file);
	ktb_perfdata_free(file);
	for (unsigned int more = 0; more < 600 && !wrong; more += 5)
		wrong = record_up_to(start + more, 7, 2);
	ok(!wrong, "so does one that is compressed%s%s", wrong ? ": " : "", wrong ? wrong : "");
	check_perf(recorded_samples());
	level = 0;
}
#else
static void test_full_compressed(void)
{
	const struct ktb_perfdata_options options = { .compress = 1 };
	struct ktb_perfdata *file = ktb_perfdata_new();

	ok(ktb_perfdata_open(file, path, &options) == -EOPNOTSUPP, "no compression: %s",
	   ktb_perfdata_error(file));
	ktb_perfdata_free(file);
}
#endif

static void test_lost(void)
{
	struct ktb_recording *recording = ktb_recording_new();
	struct ktb_perfdata *file = begin(2, false);
	struct ktb_recording_stats stats;
	struct ktb_record record;

	fake_reader_init(&fake, 1, 4096);
	fake_write(&fake.rings[0], 1000, 1);
	fake_write_lost(&fake.rings[0], 2000, 5);
	fake_publish(&fake.rings[0]);
	ktb_perfdata_write_ring(file, &fake.rings[0].ring);
	fake_reader_exit(&fake);
	ok(!ktb_perfdata_write_lost(file, 1, 6), "what was lost in all is said");
	ok(!ktb_perfdata_write_lost(file, 2, 3), "also of another event");
	ktb_perfdata_finish(file);
	ktb_perfdata_free(file);
	ok(perffile_is_valid(path) && perffile_records(PERF_RECORD_LOST_SAMPLES) == 2,
	   "of each event that lost some");
	ktb_recording_open(recording, path, NULL);
	while (ktb_recording_next(recording, &record) == 1)
		;
	ktb_recording_get_stats(recording, &stats);
	ok(stats.lost == 9, "and counts, not what the stream says besides: %d", (int)stats.lost);
	ktb_recording_free(recording);
	check_perf(1);
}

static void test_build_ids(void)
{
	struct ktb_perfdata *file = begin(1, false);
	char self[128] = "", command[256];
	ssize_t len;

	len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	ktb_perfdata_synthesize(file);
	ok(!ktb_perfdata_finish(file) && len > 0, "a file with what runs");
	ktb_perfdata_free(file);
	ok(perffile_is_valid(path), "is valid");
	if (system("perf --version >/dev/null 2>&1")) {
		ok(true, "build ids # SKIP no perf here");
		return;
	}
	fake_file(dir, "has_id",
		  "id=$(readelf -n $1 | sed -n 's/.*Build ID: //p')\n"
		  "[ \"$id\" ] && perf buildid-list -i $2 | grep -q \"^$id $1\"\n");
	snprintf(command, sizeof(command), "sh %s/has_id %.90s %s", dir, self, path);
	ok(!system(command), "and has this program's build id");
}

/* In a container there may be another file by the same path. */
static void test_mapped_paths(void)
{
	struct ktb_paths paths = { 0 };
	struct stat st;

	if (stat(dir, &st))
		return;
	ktb_paths_add(&paths, dir, 0, 0, 1, st.st_ino + 1);
	ok(!paths.nr, "another file of that path has not the build id of the one here");
	ktb_paths_add(&paths, "/no/such/file", 0, 0, 1, st.st_ino);
	ok(!paths.nr, "nor has one that is not here");
	ktb_paths_add(&paths, dir, 0, 0, 1, st.st_ino);
	ok(paths.nr == 1, "the same file has");
	ktb_paths_free(&paths);
}

static void write_page(const char *file)
{
	static const char page[4096];
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, page, sizeof(page)) != sizeof(page))
		perror(file);
	close(fd);
}

/* While the process lives, what it has mapped says more than a number. */
static void test_live_paths(void)
{
	char program[80], other[80], link[80];
	struct ktb_paths paths = { 0 };
	struct stat st;
	uint64_t start;
	void *map;
	int fd;

	snprintf(program, sizeof(program), "%s/program", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
	write_page(program);
	write_page(other);
	fd = open(program, O_RDONLY | O_CLOEXEC);
	map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	start = (uintptr_t)map;
	close(fd);
	snprintf(link, sizeof(link), "/proc/self/map_files/%lx-%lx", (long)start,
		 (long)start + 4096);
	if (stat(link, &st)) {
		ok(true, "what is mapped # SKIP %s: %s", link, strerror(errno));
	} else {
		ktb_paths_add(&paths, program, getpid(), start, start + 4096, st.st_ino + 1);
		ok(paths.nr == 1, "what is mapped is the same, whatever its number");
		ktb_paths_free(&paths);
		paths = (struct ktb_paths){ 0 };
		rename(other, program);
		stat(program, &st);
		ktb_paths_add(&paths, program, getpid(), start, start + 4096, st.st_ino);
		ok(!paths.nr, "what took its path is not");
		ktb_paths_free(&paths);
	}
	munmap(map, 4096);
	unlink(program);
	unlink(other);
}

/*
 * Records far behind 4 GiB. What is between is one record after the other of the
 * largest size, of which only the headers are written.
 */
static void test_large(void)
{
	const struct perf_event_header filler = { 82, 0, 65528 }; /* FINISHED_INIT */
	struct ktb_perfdata *file;
	struct statvfs fs;
	uint64_t end;
	size_t done;
	int err = statvfs(dir, &fs);

	way = AT_ONCE; /* or there was no end to put them to */
	file = begin(1, false);
	way = AS_IT_COMES;
	end = file->data_offset + (5ULL << 30);
	/* A program of 32 bits cannot map it; each header takes a block. */
	if (err || sizeof(size_t) < sizeof(uint64_t) || fs.f_bavail * fs.f_frsize < 1ULL << 30) {
		ok(true, "more than 4 GiB # SKIP 32 bits, or no room in %s", dir);
		ktb_perfdata_free(file);
		return;
	}
	fake_reader_init(&fake, 1, 4096);
	while (file->data_end < end && !err) {
		err = ktb_perfdata_write_at(file->fd, &filler, sizeof(filler), file->data_end,
					    &done);
		file->data_end += filler.size;
	}
	fake_write(&fake.rings[0], 10, 1);
	fake_publish(&fake.rings[0]);
	ok(!err && ktb_perfdata_write_ring(file, &fake.rings[0].ring) == 80,
	   "a sample behind 5 GiB");
	ok(!ktb_perfdata_finish(file), "and the file's end");
	ktb_perfdata_free(file);
	fake_reader_exit(&fake);
	ok(recorded_samples() == 1, "is read");
	check_perf(1);
	unlink(path);
}

static void test_sideband(void)
{
	const struct ktb_perfdata_options options = {
		FAKE_SAMPLE_TYPE, events, 1, 0, NULL, 0, 1, 0, NULL
	};
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

int main(void)
{
	signal(SIGXFSZ, SIG_IGN);
	tempdir_make();
	snprintf(path, sizeof(path), "%s/perf.data", dir);
	fake_tracefs(dir);
	test_structure();
	test_empty();
	test_tasks();
	test_late_event();
	test_gone_events();
	test_errors();
	find_direct();
	for (way = AT_ONCE; way < NR_WAYS; way++)
		test_full();
	for (way = COLLECTED; way < NR_WAYS; way++)
		test_collected();
	way = AS_IT_COMES;
	test_full_compressed();
	test_lost();
	test_build_ids();
	test_mapped_paths();
	test_live_paths();
	test_large();
	test_sideband();
	free(perffile.data);
	return tap_end();
}
