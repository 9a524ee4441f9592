// SPDX-License-Identifier: GPL-2.0-only
/* ktbctl flame: the call chains of a perf.data file as a flame graph. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "flame.h"
#include "input.h"
#include "off_cpu.h"
#include "signals.h"

static const char help_flame[] =
	"usage: ktbctl flame [-i] [FILE] [-o OUT] [--off-cpu] [--inverted] [--folded]\n"
	"                    [-e EVENT] [-C CPU] [--title TEXT]\n"
	"\n"
	"Draw the call chains of a perf.data file as a flame graph: one file for a\n"
	"browser, in which a click zooms, and names can be searched.\n"
	"\n" INPUT_HELP
	"  -o, --output OUT     where to: OUT.svg, or OUT.html (flame.svg); text goes to\n"
	"                       stdout unless this is given\n"
	"      --off-cpu        how long threads were not running, and where they waited:\n"
	"                       from samples of sched:sched_switch, in microseconds\n"
	"      --inverted       callers on top\n"
	"      --folded         a line of text per call chain, for other tools\n"
	"      --title TEXT     title of the picture\n"
	"\n"
	"The width of a frame is the count of its samples, each of which weighs its\n"
	"period.\n";

struct drawing {
	struct input input;
	struct flame flame;
	struct off_cpu off;
	const char *output; /* NULL: not given */
	const char *title;
	bool off_cpu;
	int off_cpu_cpu; /* only waits that began there, or -1 */
	bool inverted;
	bool folded;
	bool chains; /* there were some */
	const struct ktb_recording_event *first; /* event of the first sample */
	bool mixed; /* there were others */
};

/* ---- the tree ---- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static struct flame_node *add_frame(struct drawing *drawing, struct flame_node *node,
				    const struct ktb_frame *frame)
{
	enum flame_kind kind = frame->kernel ? FLAME_KERNEL : FLAME_USER;
	char name[160];

	if (frame->symbol)
		return flame_child(&drawing->flame, node, frame->symbol, kind);
	/* Where it is, if not what. */
	snprintf(name, sizeof(name), frame->dso && frame->dso[0] == '[' ? "%s" : "[%s]",
		 frame->dso ? base_name(frame->dso) : "unknown");
	return flame_child(&drawing->flame, node, name, kind);
}

/* The node of a sample: its thread's name, then its chain from the outermost in. */
static struct flame_node *add_sample(struct drawing *drawing, const struct ktb_record *record)
{
	struct input *input = &drawing->input;
	const char *comm = ktb_recording_comm(input->recording, record->sample.tid);
	unsigned int nr = input_frames(input, record);
	struct flame_node *node;

	drawing->chains |= record->sample.nr_chain > 0;
	node = flame_child(&drawing->flame, &drawing->flame.root, comm, FLAME_THREAD);
	while (node && nr--)
		node = add_frame(drawing, node, &input->frames[nr]);
	return node;
}

/* A thread may run on any CPU when its time is over: all switches count for that. */
static bool is_counted(const struct drawing *drawing, const struct ktb_record *record)
{
	return drawing->off_cpu_cpu < 0 || record->sample.cpu == (uint32_t)drawing->off_cpu_cpu;
}

static int take_switch(struct drawing *drawing, const struct ktb_record *record)
{
	struct flame_node *node = NULL;

	if (is_counted(drawing, record)) {
		node = add_sample(drawing, record);
		if (!node)
			return fail("out of memory");
	}
	if (off_cpu_switch(&drawing->off, ktb_recording_formats(drawing->input.recording),
			   &record->sample, node))
		return fail("out of memory");
	return EXIT_DONE;
}

/* The event that brings names and mappings, and of which a loss is no switch's. */
static bool is_dummy(const struct ktb_recording_event *event)
{
	return event && event->type == PERF_TYPE_SOFTWARE && event->config == PERF_COUNT_SW_DUMMY;
}

/* Returns an exit status, the reason told. */
static int take_record(struct drawing *drawing, const struct ktb_record *record)
{
	struct flame_node *node;

	if (record->header->type == PERF_RECORD_LOST && !is_dummy(record->event))
		off_cpu_forget(&drawing->off);
	if (record->header->type != PERF_RECORD_SAMPLE || !record->event)
		return EXIT_DONE;
	if (drawing->off_cpu && strcmp(record->event->name, OFF_CPU_EVENT))
		return EXIT_DONE;
	if (!drawing->first)
		drawing->first = record->event;
	drawing->mixed |= record->event != drawing->first;
	if (drawing->off_cpu)
		return take_switch(drawing, record);
	node = add_sample(drawing, record);
	if (node)
		node->self += record->sample.period ? record->sample.period : 1;
	return node ? EXIT_DONE : fail("out of memory");
}

static int check_events(const struct drawing *drawing)
{
	const struct ktb_recording_event *event;

	for (unsigned int i = 0; (event = ktb_recording_event(drawing->input.recording, i)); i++)
		if (!strcmp(event->name, OFF_CPU_EVENT))
			return EXIT_DONE;
	return fail("'%s' has no samples of " OFF_CPU_EVENT
		    ", of which --off-cpu is made: record them with -g",
		    drawing->input.path);
}

static int make_tree(struct drawing *drawing)
{
	struct ktb_record record;
	int ret, err = drawing->off_cpu ? check_events(drawing) : EXIT_DONE;

	if (err)
		return err;
	while (!err && (ret = input_next(&drawing->input, &record)) == 1)
		err = take_record(drawing, &record);
	if (err)
		return err;
	err = input_end(&drawing->input, ret);
	flame_sum_up(&drawing->flame);
	if (!err && !drawing->flame.root.total)
		return fail("'%s' has nothing to be drawn", drawing->input.path);
	if (!drawing->chains)
		note("'%s' has no call chains: record them with -g", drawing->input.path);
	if (drawing->mixed)
		note("samples of several events are in one picture; -e chooses one");
	return err;
}

/* ---- what becomes of it ---- */

static bool is_html(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot && (!strcmp(dot, ".html") || !strcmp(dot, ".htm"));
}

static void draw(const struct drawing *drawing, FILE *file)
{
	const struct flame_picture picture = {
		.title = drawing->title	  ? drawing->title :
			 drawing->off_cpu ? "Off-CPU time" :
					    "Flame graph",
		.what = drawing->off_cpu ? "us" : "counted",
		.unit = drawing->off_cpu ? 1000 : 1,
		.inverted = drawing->inverted,
		.html = is_html(drawing->output),
	};

	flame_draw(&drawing->flame, &picture, file);
}

static void put(const struct drawing *drawing, FILE *file)
{
	if (drawing->folded)
		flame_print_folded(&drawing->flame, drawing->off_cpu ? 1000 : 1, file);
	else
		draw(drawing, file);
}

static int fail_make(const struct drawing *drawing)
{
	return fail("cannot make '%s': %s", drawing->output, strerror(errno));
}

static int write_to(const struct drawing *drawing, FILE *file)
{
	int err = 0;

	put(drawing, file);
	if (fflush(file) || ferror(file))
		err = errno;
	if (fclose(file) && !err)
		err = errno;
	return err ? fail("cannot write '%s': %s", drawing->output, strerror(err)) : EXIT_DONE;
}

/* Make it at @beside, in the place of @path once it is complete. */
static int replace(const struct drawing *drawing, const char *path, const char *beside)
{
	FILE *file = fopen(beside, "wxe");
	int err;

	if (!file)
		return fail_make(drawing);
	err = write_to(drawing, file);
	if (!err && rename(beside, path))
		err = fail_make(drawing);
	if (err)
		unlink(beside);
	return err;
}

/* Neither ^C nor a full disk is to leave half of it. */
static int replace_held(const struct drawing *drawing, const char *path)
{
	sigset_t block, before;
	char *beside;
	int err;

	if (asprintf(&beside, "%s.%d", path, getpid()) < 0)
		return fail("out of memory");
	/* A file too large is an error like a full disk. */
	signal(SIGXFSZ, SIG_IGN);
	sigemptyset(&block);
	hold_signals(&block, &before);
	err = replace(drawing, path, beside);
	sigprocmask(SIG_SETMASK, &before, NULL);
	free(beside);
	return err;
}

/* What is no file is written where it is, and a symbolic link stays one. */
static int write_file(const struct drawing *drawing)
{
	struct stat stat_buf;
	FILE *file;
	char *path;
	int err;

	if (!stat(drawing->output, &stat_buf) && !S_ISREG(stat_buf.st_mode)) {
		file = fopen(drawing->output, "we");
		return file ? write_to(drawing, file) : fail_make(drawing);
	}
	path = realpath(drawing->output, NULL);
	err = replace_held(drawing, path ? path : drawing->output);
	free(path);
	return err;
}

static int put_out(struct drawing *drawing)
{
	if (!drawing->output)
		drawing->output = drawing->folded ? "-" : "flame.svg";
	if (!strcmp(drawing->output, "-")) {
		put(drawing, stdout);
		return output_flush();
	}
	if (write_file(drawing))
		return EXIT_FAILED;
	if (!drawing->folded)
		printf("%s\n", drawing->output);
	return output_flush();
}

/* ---- the command ---- */

enum { OPTION_OFF_CPU = 1, OPTION_INVERTED, OPTION_FOLDED, OPTION_TITLE };

static const char *set_option(struct drawing *drawing, int c, const char *text)
{
	switch (c) {
	case 'o':
		drawing->output = text;
		break;
	case OPTION_OFF_CPU:
		drawing->off_cpu = true;
		break;
	case OPTION_INVERTED:
		drawing->inverted = true;
		break;
	case OPTION_FOLDED:
		drawing->folded = true;
		break;
	case OPTION_TITLE:
		drawing->title = text;
		break;
	default:
		return input_set_option(&drawing->input, c, text);
	}
	return NULL;
}

static int parse_options(const struct context *context, struct drawing *drawing, int argc,
			 char **argv)
{
	static const struct option known[] = {
		INPUT_OPTIONS,
		{ "output", required_argument, NULL, 'o' },
		{ "off-cpu", no_argument, NULL, OPTION_OFF_CPU },
		{ "inverted", no_argument, NULL, OPTION_INVERTED },
		{ "folded", no_argument, NULL, OPTION_FOLDED },
		{ "title", required_argument, NULL, OPTION_TITLE },
		{ 0 },
	};
	const char *wrong;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":i:e:C:o:", known, NULL)) != -1) {
		if (c == '?' || c == ':')
			return fail_option(context, c, argv);
		wrong = set_option(drawing, c, optarg);
		if (wrong)
			return fail_usage(context, "%s: %s", optarg, wrong);
	}
	if (context->json)
		return fail_usage(context,
				  "a picture is no JSON; 'script' has call chains as JSON");
	return input_take_path(context, &drawing->input, argc, argv);
}

static int run_flame(struct context *context, int argc, char **argv)
{
	struct drawing drawing = { .input = INPUT_DEFAULTS };
	int err = parse_options(context, &drawing, argc, argv);

	if (err)
		return err;
	flame_init(&drawing.flame);
	drawing.off_cpu_cpu = drawing.off_cpu ? drawing.input.cpu : -1;
	if (drawing.off_cpu)
		drawing.input.cpu = -1;
	err = input_open(&drawing.input);
	if (!err)
		err = make_tree(&drawing);
	if (!err)
		err = put_out(&drawing);
	off_cpu_free(&drawing.off);
	flame_free(&drawing.flame);
	input_close(&drawing.input);
	return err;
}

const struct command cmd_flame = {
	.name = "flame",
	.summary = "draw a perf.data file as a flame graph",
	.help = help_flame,
	.run = run_flame,
};
