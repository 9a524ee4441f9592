// SPDX-License-Identifier: GPL-2.0-only
/*
 * Flame graphs, on and off the CPU, of call chains made here: kernel addresses are
 * named by a kallsyms of our own, user addresses are this program's.
 *
 *	test_flame [DIR]	leave the pictures in DIR, for selftests/host/flame
 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tracefs.h>

#include "fake.h"
#include "flame.h"
#include "perfdata.h"
#include "tap.h"

#define CHAIN_TYPE (FAKE_SAMPLE_TYPE | PERF_SAMPLE_CALLCHAIN)
#define SWITCH_TYPE 0x55
#define KERNEL 0xffffffff81000000ULL
#define EVIL "<b>\"&;]]>\xff\x01\xef\xbf\xbf"

static char made[32];
static const char *dir;
static char data[96];
static char kallsyms[96];
static char out[96];
static char text[16384];

/* A function of this program's to be found in a call chain. */
static __attribute__((noinline)) int flame_me(int value)
{
	__asm__ volatile("" : "+r"(value));
	return value;
}

static const struct ktb_event_info events[] = {
	{ .id = 1, .name = "fake:one", .type = FAKE_EVENT_TYPE, .period = 1 },
	{ .id = 2, .name = "sched:sched_switch", .type = SWITCH_TYPE, .period = 1 },
	{ .id = 3,
	  .name = "dummy",
	  .attr = { .size = sizeof(struct perf_event_attr),
		    .type = PERF_TYPE_SOFTWARE,
		    .config = PERF_COUNT_SW_DUMMY } },
};

/* ---- a recording ---- */

static void put_comm(struct ktb_perfdata *file, uint32_t tid, const char *name)
{
	struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		char name[16];
		uint64_t id[4];
	} record = { .header = { PERF_RECORD_COMM, 0, sizeof(record) }, .pid = tid, .tid = tid };

	memcpy(record.name, name, strlen(name));
	ktb_perfdata_append(file, &record, sizeof(record));
}

static uint32_t cpu; /* of samples */

static void put_sample(struct ktb_perfdata *file, uint64_t id, uint32_t tid, uint64_t time,
		       const uint32_t raw[6], const uint64_t *chain, uint64_t nr)
{
	struct {
		struct perf_event_header header;
		uint64_t id, ip;
		uint32_t pid, tid;
		uint64_t time;
		uint32_t cpu, reserved;
		uint64_t period, nr;
	} head = { { PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL, 0 },
		   .id = id,
		   .ip = chain[1],
		   .pid = tid,
		   .tid = tid,
		   .time = time,
		   .cpu = cpu,
		   .period = 1,
		   .nr = nr };
	const uint32_t raw_size = 20;
	uint8_t record[512];
	size_t len = sizeof(head);

	memcpy(record + len, chain, nr * 8);
	len += nr * 8;
	memcpy(record + len, &raw_size, 4);
	memcpy(record + len + 4, raw, raw_size);
	len += 4 + raw_size;
	head.header.size = (uint16_t)len;
	memcpy(record, &head, sizeof(head));
	ktb_perfdata_append(file, record, len);
}

/* Three samples in schedule() and one in flame_me(), and some of a thread of another name. */
static void put_samples(struct ktb_perfdata *file)
{
	const uint64_t in_kernel[] = { PERF_CONTEXT_KERNEL, KERNEL + 0x1010, KERNEL + 0x2010,
				       PERF_CONTEXT_USER, (uintptr_t)flame_me + 1 };
	const uint64_t in_user[] = { PERF_CONTEXT_USER, (uintptr_t)flame_me + 1 };
	const uint64_t nowhere[] = { PERF_CONTEXT_USER, 0x10 };
	const uint32_t raw[6] = { FAKE_EVENT_TYPE };
	const uint32_t pid = getpid();

	for (unsigned int i = 0; i < 3; i++)
		put_sample(file, 1, pid, 1000 + i, raw, in_kernel, 5);
	put_sample(file, 1, pid, 1010, raw, in_user, 2);
	for (unsigned int i = 0; i < 4; i++)
		put_sample(file, 1, 77, 1020 + i, raw, nowhere, 2);
}

/*
 * Our thread does not run for 5 ms, whatever is lost of names meanwhile, and thread 77 not
 * until its time is lost. Thread 88 dies, and another one has its number.
 */
static void put_switches(struct ktb_perfdata *file)
{
	const uint64_t chain[] = { PERF_CONTEXT_KERNEL, KERNEL + 0x1010 };
	const uint32_t pid = getpid();
	const uint32_t away[6] = { SWITCH_TYPE, 0, pid, 77 }, back[6] = { SWITCH_TYPE, 0, 77, pid };
	const uint32_t dead[6] = { SWITCH_TYPE, 0, 88, 0, 0x20 };
	const uint32_t again[6] = { SWITCH_TYPE, 0, 0, 88 };
	struct lost_record {
		struct perf_event_header header;
		uint64_t id, lost;
		uint64_t pid_tid, time, cpu, identifier;
	} lost = { .header = { PERF_RECORD_LOST, 0, sizeof(lost) },
		   .id = 2,
		   .lost = 3,
		   .time = 9000000,
		   .identifier = 2 };

	struct lost_record names = lost;

	names.id = 3;
	names.identifier = 3;
	names.time = 2000000;
	put_sample(file, 2, pid, 1000000, away, chain, 2);
	ktb_perfdata_append(file, &names, sizeof(names));
	cpu = 1;
	put_sample(file, 2, 77, 6000000, back, chain, 2);
	cpu = 0;
	put_sample(file, 2, 88, 7000000, dead, chain, 2);
	put_sample(file, 2, 0, 8000000, again, chain, 2);
	ktb_perfdata_append(file, &lost, sizeof(lost));
	put_sample(file, 2, pid, 10000000, away, chain, 2);
}

static void put_format(void)
{
	char name[96];

	snprintf(name, sizeof(name), "%s/events/sched", dir);
	mkdir(name, 0700);
	snprintf(name, sizeof(name), "%s/events/sched/sched_switch", dir);
	mkdir(name, 0700);
	fake_file(dir, "events/sched/sched_switch/format",
		  "name: sched_switch\nID: 85\nformat:\n"
		  "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		  "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
		  "\tfield:pid_t prev_pid;\toffset:8;\tsize:4;\tsigned:1;\n"
		  "\tfield:pid_t next_pid;\toffset:12;\tsize:4;\tsigned:1;\n"
		  "\tfield:int prev_state;\toffset:16;\tsize:4;\tsigned:1;\n\n"
		  "print fmt: \"%d ==> %d\", REC->prev_pid, REC->next_pid\n");
}

static void make_recording(void)
{
	const struct ktb_perfdata_options options = {
		.sample_type = CHAIN_TYPE,
		.events = events,
		.nr_events = 3,
	};
	struct ktb_perfdata *file = ktb_perfdata_new();

	put_format();
	fake_file(dir, "kallsyms",
		  "ffffffff81000000 T _text\nffffffff81001000 T schedule\n"
		  "ffffffff81002000 t do_syscall\nffffffff81003000 T _etext\n");
	if (ktb_perfdata_open(file, data, &options)) {
		printf("Bail out! %s\n", ktb_perfdata_error(file));
		exit(1);
	}
	ktb_perfdata_synthesize(file);
	put_comm(file, 77, EVIL);
	put_comm(file, getpid(), "flamer");
	put_samples(file);
	put_switches(file);
	ktb_perfdata_finish(file);
	ktb_perfdata_free(file);
}

/* ---- the command ---- */

/* Its exit status; what it wrote is in @text. */
static int flame(const char *name, char *const more[3])
{
	const char *const argv[] = { "flame", "--kallsyms", kallsyms, "-i",    data,	"-o",
				     out,     "-e",	    more[0],  more[1], more[2], NULL };
	struct context context = { .command = &cmd_flame };
	FILE *file;
	int argc = 0, err;

	snprintf(out, sizeof(out), "%s/%s", dir, name);
	while (argv[argc])
		argc++;
	optind = 0;
	fflush(stdout);
	err = cmd_flame.run(&context, argc, (char **)argv);
	file = fopen(out, "re");
	text[file ? fread(text, 1, sizeof(text) - 1, file) : 0] = 0;
	if (file)
		fclose(file);
	return err;
}

static bool says(const char *what)
{
	return strstr(text, what);
}

static void test_folded(void)
{
	char *const words[] = { "fake:one", "--folded", NULL };

	ok(!flame("folded", words), "folded text");
	/* Without libdw it has its program's name. */
#ifdef HAVE_LIBDW
	ok(says("flamer;flame_me;do_syscall_[k];schedule_[k] 3\n"), "kernel and user functions");
	ok(says("flamer;flame_me 1\n"), "what a function did itself");
#endif
	ok(says("[unknown] 4\n"), "an address without a mapping");
	ok(!says("&;"), "a semicolon in a name does not end it");
}

static void test_off_cpu(void)
{
	char *const words[] = { "sched:sched_switch", "--folded", "--off-cpu" };
	char *const of_cpu[] = { "sched:sched_switch", "--off-cpu", "-C0" };
	char *const of_other[] = { "sched:sched_switch", "--off-cpu", "-C1" };
	char *const picture[] = { "sched:sched_switch", "--off-cpu", NULL };

	ok(!flame("folded", words), "off-CPU");
	ok(says("flamer;schedule_[k] 5000\n"), "microseconds, where it waited");
	ok(strchr(text, '\n') && !strchr(text, '\n')[1],
	   "and nothing across a loss, nor after death: %s", text);
	ok(!flame("off.svg", of_cpu) && says("5000 us, 100.00%"),
	   "waits that began on a CPU, wherever they ended");
	ok(flame("none.svg", of_other) == EXIT_FAILED, "and no others");
	ok(!flame("off.svg", picture) && says("5000 us, 100.00%"), "as a picture");
}

static void test_pictures(void)
{
	char *const words[] = { "fake:one", NULL, NULL };
	char *const inverted[] = { "fake:one", "--inverted", NULL };
	char *const none[] = { "fake:no", NULL, NULL };

	ok(!flame("flame.svg", words) && !strncmp(text, "<?xml", 5), "an SVG");
	ok(says("<title>schedule (3 counted, 37.50%, kernel)</title>"), "with a frame's share");
	ok(says(";]]&gt;???") && !says("<b>"),
	   "and names that are no markup, nor what XML has not");
	ok(!flame("flame.html", words) && !strncmp(text, "<!DOCTYPE html>", 15), "an HTML");
	ok(!flame("inverted.svg", inverted), "inverted");
	ok(flame("none.svg", none) == EXIT_FAILED && access(out, F_OK),
	   "an event that is not there");
}

/* What cannot be written leaves what was there, and nothing beside it. */
static void test_old_picture(void)
{
	char *const words[] = { "fake:one", NULL, NULL };
	const struct rlimit little = { 100, RLIM_INFINITY }, all = { RLIM_INFINITY, RLIM_INFINITY };
	char command[128];
	int err;

	fake_file(dir, "old.svg", "old");
	fflush(stdout); /* may be a file itself */
	setrlimit(RLIMIT_FSIZE, &little);
	err = flame("old.svg", words);
	setrlimit(RLIMIT_FSIZE, &all);
	ok(err == EXIT_FAILED && !strcmp(text, "old"), "an old one stays");
	snprintf(command, sizeof(command), "test \"$(echo %s/old*)\" = %s/old.svg", dir, dir);
	ok(!system(command), "and no part of the new one");
	ok(!flame("old.svg", words) && !strncmp(text, "<?xml", 5), "until the new one is there");
}

/* A chain that is not out of a file: this program's own. */
static void test_stacks(void)
{
	const uint64_t chain[] = { PERF_CONTEXT_USER, (uintptr_t)flame_me + 1, 0x10 };
	const struct ktb_sample sample = {
		.pid = getpid(), .time = 1, .nr_chain = 3, .chain = chain
	};
	struct ktb_stacks *stacks = ktb_stacks_new();
	struct ktb_frame frames[4];
	char self[128] = "";

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		perror("/proc/self/exe");
	ok(ktb_stacks_frames(stacks, &sample, frames, 4) == 2,
	   "a chain has its addresses, without markers");
#ifdef HAVE_LIBDW
	ok(frames[0].symbol && !strcmp(frames[0].symbol, "flame_me") && frames[0].offset == 1,
	   "a function has its name");
#endif
	ok(!strcmp(frames[0].dso, self) && !frames[0].kernel, "and its program's");
	ok(!frames[1].symbol && !frames[1].dso, "an address in nothing has none");
	ok(ktb_stacks_frames(stacks, &sample, frames, 1) == 1, "no more than there is room for");
	ktb_stacks_free(stacks);
}

int main(int argc, char **argv)
{
	char command[64];

	snprintf(made, sizeof(made), "/tmp/test_flame.XXXXXX");
	dir = argc > 1 ? argv[1] : mkdtemp(made);
	if (!dir) {
		perror(made);
		return 1;
	}
	snprintf(data, sizeof(data), "%s/perf.data", dir);
	snprintf(kallsyms, sizeof(kallsyms), "%s/kallsyms", dir);
	fake_tracefs((char *)dir);
	make_recording();
	test_folded();
	test_off_cpu();
	test_pictures();
	test_old_picture();
	test_stacks();
	snprintf(command, sizeof(command), "rm -rf %s", made);
	if (argc < 2 && system(command))
		perror(command);
	return tap_end() + flame_me(0);
}
