// SPDX-License-Identifier: GPL-2.0-only
/* ktbctl report: how often what happened where, a quick look. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "text_set.h"

static const char help_report[] =
	"usage: ktbctl report [-i] [FILE] [-s KEYS] [-e EVENT] [-C CPU] [-n N] [--json]\n"
	"\n"
	"Sum up the samples of a perf.data file: for each event, which thread and which\n"
	"function it happened in, most frequent first.\n"
	"\n" INPUT_HELP
	"  -s, --sort KEYS      what makes a line of its own, of comm, dso and symbol, with\n"
	"                       commas between (comm,dso,symbol)\n"
	"  -n, --lines N        at most N lines per event\n"
	"      --json           print JSON\n"
	"\n"
	"Percentages are of the event's count, in which a sample weighs its period.\n";

enum { KEY_COMM, KEY_DSO, KEY_SYMBOL, NR_KEYS };

static const char *const key_names[NR_KEYS] = { "comm", "dso", "symbol" };
static const char *const key_titles[NR_KEYS] = { "COMMAND", "SHARED-OBJECT", "SYMBOL" };

/* What is summed up; keys that do not count are NULL. */
struct line {
	const struct ktb_recording_event *event;
	const char *keys[NR_KEYS];
	bool kernel;
	uint64_t samples;
	uint64_t count;
};

struct report {
	struct input input;
	bool json;
	bool sort[NR_KEYS];
	uint64_t max; /* lines per event, 0 for all */
	struct text_set texts;
	struct line *lines; /* open addressing; no samples: a free place */
	unsigned int nr;
	unsigned int size; /* a power of two, or 0 */
};

/* ---- summing up ---- */

static bool is_same(const struct line *a, const struct line *b)
{
	return a->event == b->event && !memcmp(a->keys, b->keys, sizeof(a->keys));
}

/* Keys are strings kept once: their addresses will do. */
static struct line *place_of(const struct report *report, const struct line *line)
{
	uint64_t hash = (uintptr_t)line->event;
	unsigned int at;

	for (unsigned int i = 0; i < NR_KEYS; i++)
		hash = (hash ^ (uintptr_t)line->keys[i]) * 0x9e3779b97f4a7c15ULL;
	for (at = (unsigned int)(hash >> 32);; at++) {
		struct line *place = &report->lines[at & (report->size - 1)];

		if (!place->samples || is_same(place, line))
			return place;
	}
}

static bool make_room(struct report *report)
{
	struct report more = { .size = report->size ? 2 * report->size : 256 };

	if (2 * report->nr < report->size)
		return true;
	more.lines = calloc(more.size, sizeof(*more.lines));
	if (!more.lines)
		return false;
	for (unsigned int i = 0; i < report->size; i++)
		if (report->lines[i].samples)
			*place_of(&more, &report->lines[i]) = report->lines[i];
	free(report->lines);
	report->lines = more.lines;
	report->size = more.size;
	return true;
}

/* Returns false when out of memory. */
static bool add_sample(struct report *report, const struct ktb_record *record)
{
	const char *texts[NR_KEYS] = { ktb_recording_comm(report->input.recording,
							  record->sample.tid) };
	struct line line = { .event = record->event }, *place;
	struct ktb_frame *frame = &report->input.frames[0];

	if (!input_frames(&report->input, record))
		*frame = (struct ktb_frame){ 0 };
	texts[KEY_DSO] = frame_dso(frame);
	texts[KEY_SYMBOL] = frame_symbol(frame);
	line.kernel = frame->kernel;
	for (unsigned int i = 0; i < NR_KEYS; i++) {
		if (!report->sort[i])
			continue;
		line.keys[i] = text_set_get(&report->texts, texts[i]);
		if (!line.keys[i])
			return false;
	}
	if (!make_room(report))
		return false;
	place = place_of(report, &line);
	if (!place->samples) {
		*place = line;
		report->nr++;
	}
	place->samples++;
	place->count += record->sample.period ? record->sample.period : 1;
	return true;
}

static int compare(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	int order = 0;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	for (unsigned int i = 0; i < NR_KEYS && !order; i++)
		if (x->keys[i] && y->keys[i])
			order = strcmp(x->keys[i], y->keys[i]);
	return order;
}

/* Free places go behind the lines, which come to be an array, and sorted. */
static void sort_lines(struct report *report)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < report->size; i++)
		if (report->lines[i].samples)
			report->lines[nr++] = report->lines[i];
	if (nr)
		qsort(report->lines, nr, sizeof(*report->lines), compare);
}

/* ---- telling ---- */

static struct line total_of(const struct report *report, const struct ktb_recording_event *event)
{
	struct line total = { .event = event };

	for (unsigned int i = 0; i < report->nr; i++) {
		if (report->lines[i].event != event)
			continue;
		total.samples += report->lines[i].samples;
		total.count += report->lines[i].count;
	}
	return total;
}

static int width_of(const struct report *report, const struct ktb_recording_event *event,
		    unsigned int key)
{
	int width = (int)strlen(key_titles[key]), len;

	for (unsigned int i = 0; i < report->nr; i++) {
		if (report->lines[i].event != event)
			continue;
		len = (int)strlen(report->lines[i].keys[key]);
		if (len > width)
			width = len;
	}
	return width < 40 ? width : 40;
}

static void print_line(const struct report *report, const struct line *line, uint64_t total,
		       const int *widths)
{
	char text[512];

	printf("%7.2f%% %10" PRIu64 " ", 100.0 * (double)line->count / (double)total,
	       line->samples);
	for (unsigned int i = 0; i < NR_KEYS; i++) {
		if (!report->sort[i])
			continue;
		clean_text(line->keys[i], strlen(line->keys[i]), text, sizeof(text));
		/* As perf marks them: the kernel's, or the user's. */
		if (i == KEY_SYMBOL)
			printf(" [%c] %s", line->kernel ? 'k' : '.', text);
		else
			printf(" %-*s", widths[i], text);
	}
	putchar('\n');
}

static void print_event(const struct report *report, const struct ktb_recording_event *event)
{
	const struct line total = total_of(report, event);
	int widths[NR_KEYS] = { 0 };
	uint64_t shown = 0;
	char name[256];

	if (!total.samples)
		return;
	printf("%" PRIu64 " samples of %s, count %" PRIu64 "\n  SHARE     SAMPLES ", total.samples,
	       clean_text(event->name, strlen(event->name), name, sizeof(name)), total.count);
	for (unsigned int i = 0; i < NR_KEYS; i++) {
		if (!report->sort[i])
			continue;
		widths[i] = width_of(report, event, i);
		/* The last one needs no blanks behind it. */
		printf(" %-*s", i == KEY_SYMBOL ? 0 : widths[i], key_titles[i]);
	}
	putchar('\n');
	for (unsigned int i = 0; i < report->nr; i++) {
		if (report->lines[i].event != event)
			continue;
		if (report->max && shown++ == report->max)
			break;
		print_line(report, &report->lines[i], total.count, widths);
	}
	putchar('\n');
}

static void add_u64(struct json_object *object, const char *name, uint64_t value)
{
	json_object_object_add(object, name, json_object_new_uint64(value));
}

static struct json_object *json_line(const struct report *report, const struct line *line)
{
	struct json_object *object = json_object_new_object();

	for (unsigned int i = 0; i < NR_KEYS; i++)
		if (report->sort[i])
			json_object_object_add(object, key_names[i],
					       json_text(line->keys[i], strlen(line->keys[i])));
	if (report->sort[KEY_SYMBOL])
		json_object_object_add(object, "kernel", json_object_new_boolean(line->kernel));
	add_u64(object, "samples", line->samples);
	add_u64(object, "count", line->count);
	return object;
}

static struct json_object *json_of(const struct report *report,
				   const struct ktb_recording_event *event)
{
	struct json_object *object = json_object_new_object();
	struct json_object *lines = json_object_new_array();
	const struct line total = total_of(report, event);

	for (unsigned int i = 0; i < report->nr; i++) {
		if (report->lines[i].event != event)
			continue;
		if (report->max && json_object_array_length(lines) == report->max)
			break;
		json_object_array_add(lines, json_line(report, &report->lines[i]));
	}
	json_object_object_add(object, "event", json_text(event->name, strlen(event->name)));
	add_u64(object, "samples", total.samples);
	add_u64(object, "count", total.count);
	json_object_object_add(object, "lines", lines);
	return object;
}

static int tell(struct report *report)
{
	struct json_object *object, *events = json_object_new_array();
	const struct ktb_recording_event *event;
	struct ktb_recording_stats stats;

	ktb_recording_get_stats(report->input.recording, &stats);
	for (unsigned int i = 0; (event = ktb_recording_event(report->input.recording, i)); i++) {
		if (report->json)
			json_object_array_add(events, json_of(report, event));
		else
			print_event(report, event);
	}
	if (!report->json) {
		json_object_put(events);
		return output_flush();
	}
	object = json_object_new_object();
	json_object_object_add(object, "events", events);
	add_u64(object, "lost_sideband", stats.lost_sideband);
	add_u64(object, "lost", stats.lost);
	return output_json(object);
}

/* ---- the command ---- */

static int sum_up(struct report *report)
{
	struct ktb_record record;
	int ret, err;

	while ((ret = input_next(&report->input, &record)) == 1)
		if (record.header->type == PERF_RECORD_SAMPLE && record.event &&
		    !add_sample(report, &record))
			return fail("out of memory");
	sort_lines(report);
	err = tell(report);
	return input_end(&report->input, ret) || err ? EXIT_FAILED : EXIT_DONE;
}

static const char *set_keys(struct report *report, char *text)
{
	char *name, *rest;
	unsigned int i;

	memset(report->sort, 0, sizeof(report->sort));
	for (name = strtok_r(text, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
		for (i = 0; i < NR_KEYS && strcmp(name, key_names[i]); i++)
			;
		if (i == NR_KEYS && strcmp(name, "sym"))
			return "not a list of comm, dso and symbol";
		report->sort[i < NR_KEYS ? i : KEY_SYMBOL] = true;
	}
	return NULL;
}

static const char *set_option(struct report *report, int c, char *text)
{
	const char *wrong;

	switch (c) {
	case 's':
		return set_keys(report, text);
	case 'n':
		wrong = parse_number(text, UINT64_MAX, &report->max);
		return wrong || report->max ? wrong : "must be at least 1";
	}
	return input_set_option(&report->input, c, text);
}

static int parse_options(const struct context *context, struct report *report, int argc,
			 char **argv)
{
	static const struct option known[] = {
		INPUT_OPTIONS,
		{ "sort", required_argument, NULL, 's' },
		{ "lines", required_argument, NULL, 'n' },
		{ 0 },
	};
	const char *wrong;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":i:e:C:s:n:", known, NULL)) != -1) {
		if (c == '?' || c == ':')
			return fail_option(context, c, argv);
		wrong = set_option(report, c, optarg);
		if (wrong)
			return fail_usage(context, "%s: %s", optarg, wrong);
	}
	return input_take_path(context, &report->input, argc, argv);
}

static int run_report(struct context *context, int argc, char **argv)
{
	struct report report = {
		.input = INPUT_DEFAULTS,
		.json = context->json,
		.sort = { true, true, true },
	};
	int err = parse_options(context, &report, argc, argv);

	if (err)
		return err;
	err = input_open(&report.input);
	if (!err)
		err = sum_up(&report);
	input_close(&report.input);
	text_set_free(&report.texts);
	free(report.lines);
	return err;
}

const struct command cmd_report = {
	.name = "report",
	.summary = "sum up the samples of a perf.data file",
	.help = help_report,
	.run = run_report,
};
