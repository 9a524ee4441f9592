// SPDX-License-Identifier: GPL-2.0-only
/* ktbctl script: the samples of a perf.data file, a line each. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "input.h"

#define NSEC_PER_SEC 1000000000
#define NSEC_PER_USEC 1000

static const char help_script[] =
	"usage: ktbctl script [-i] [FILE] [-e EVENT] [-C CPU] [-n N] [--json]\n"
	"\n"
	"Print the samples of a perf.data file, in the order of time across CPUs, as\n"
	"'perf script' does: name and number of the thread, [CPU], time, event, and the\n"
	"event's own text; below that, the call chain, if there is one.\n"
	"\n" INPUT_HELP "  -n, --count N        end after N samples\n"
	"      --json           print a JSON object per line\n";

struct script {
	struct input input;
	bool json;
	uint64_t max; /* samples, 0 for all */
	int width; /* of the longest event's name */
};

/* ---- text ---- */

static bool has_chain(const struct ktb_record *record)
{
	return record->event && record->event->sample_type & PERF_SAMPLE_CALLCHAIN;
}

/* Up to the event's name. */
static void print_head(struct script *script, const struct ktb_record *record, const char *event)
{
	const struct ktb_sample *sample = &record->sample;
	const char *name = ktb_recording_comm(script->input.recording, sample->tid);
	char comm[64], clean[256];

	clean_text(name, strlen(name), comm, sizeof(comm));
	printf(has_chain(record) ? "%s " : "%16s ", comm);
	/* A task on its way out has none any more, and perf says -1. */
	printf("%5d [%03u] %5" PRIu64 ".%06" PRIu64 ": ", (int)sample->tid, sample->cpu,
	       sample->time / NSEC_PER_SEC, sample->time % NSEC_PER_SEC / NSEC_PER_USEC);
	if (!record->event || record->event->type != PERF_TYPE_TRACEPOINT)
		printf("%10" PRIu64 " ", sample->period);
	printf("%*s: ", script->width, clean_text(event, strlen(event), clean, sizeof(clean)));
}

static int print_text(struct script *script, const struct ktb_record *record, const char *event,
		      const char *text)
{
	struct input *input = &script->input;
	char clean[4096];
	unsigned int nr;

	print_head(script, record, event);
	if (text)
		fputs(clean_text(text, strlen(text), clean, sizeof(clean)), stdout);
	if (has_chain(record)) {
		putchar('\n');
		nr = input_frames(input, record);
		for (unsigned int i = 0; i < nr; i++)
			print_frame(&input->frames[i], "\t");
		putchar('\n');
	} else if (text) {
		putchar('\n');
	} else if (input_frames(input, record)) {
		print_frame(&input->frames[0], " ");
	}
	return ferror(stdout) ? -errno : 0;
}

/* ---- JSON ---- */

static int print_json(struct script *script, const struct ktb_record *record, const char *event,
		      const char *text)
{
	struct ktb_recording *recording = script->input.recording;
	const char *comm = ktb_recording_comm(recording, record->sample.tid);
	struct json_object *object;
	unsigned int nr;

	object = json_sample(ktb_recording_formats(recording), &record->sample, comm, event, text);
	if (has_chain(record) || !text) {
		nr = input_frames(&script->input, record);
		json_object_object_add(object, "callchain", json_frames(script->input.frames, nr));
	}
	return put_json(object);
}

/* ---- the command ---- */

static int print_sample(struct script *script, const struct ktb_record *record)
{
	const char *event = record->event ? record->event->name : "unknown", *text = NULL;
	char raw[64];

	if (record->event && record->event->type == PERF_TYPE_TRACEPOINT) {
		text = ktb_formats_text(ktb_recording_formats(script->input.recording),
					&record->sample);
		snprintf(raw, sizeof(raw), "(%u bytes of unknown format)", record->sample.raw_size);
		text = text ? text : raw;
	}
	return script->json ? print_json(script, record, event, text) :
			      print_text(script, record, event, text);
}

static int print_lost(struct script *script, const struct ktb_record *record)
{
	if (!script->json)
		return 0;
	return put_json(json_lost(&record->sample,
				  ktb_recording_comm(script->input.recording, record->sample.tid)));
}

static void measure_names(struct script *script)
{
	const struct ktb_recording_event *event;

	for (unsigned int i = 0; (event = ktb_recording_event(script->input.recording, i)); i++)
		if ((int)strlen(event->name) > script->width)
			script->width = (int)strlen(event->name);
}

static int print_all(struct script *script)
{
	struct ktb_record record;
	uint64_t nr = 0;
	int ret, err = 0;

	measure_names(script);
	while (!err && (ret = input_next(&script->input, &record)) == 1) {
		if (record.header->type == PERF_RECORD_LOST)
			err = print_lost(script, &record);
		if (record.header->type != PERF_RECORD_SAMPLE)
			continue;
		err = print_sample(script, &record);
		if (++nr == script->max)
			break;
	}
	/* Who closed the pipe has seen enough. */
	if (err == -EPIPE)
		return EXIT_DONE;
	ret = input_end(&script->input, ret);
	return output_flush() || ret ? EXIT_FAILED : EXIT_DONE;
}

static const char *set_option(struct script *script, int c, const char *text)
{
	const char *wrong;

	if (c != 'n')
		return input_set_option(&script->input, c, text);
	wrong = parse_number(text, UINT64_MAX, &script->max);
	return wrong || script->max ? wrong : "must be at least 1";
}

static int parse_options(const struct context *context, struct script *script, int argc,
			 char **argv)
{
	static const struct option known[] = {
		INPUT_OPTIONS,
		{ "count", required_argument, NULL, 'n' },
		{ 0 },
	};
	const char *wrong;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":i:e:C:n:", known, NULL)) != -1) {
		if (c == '?' || c == ':')
			return fail_option(context, c, argv);
		wrong = set_option(script, c, optarg);
		if (wrong)
			return fail_usage(context, "%s: %s", optarg, wrong);
	}
	return input_take_path(context, &script->input, argc, argv);
}

static int run_script(struct context *context, int argc, char **argv)
{
	struct script script = { .input = INPUT_DEFAULTS, .json = context->json };
	int err = parse_options(context, &script, argc, argv);

	if (err)
		return err;
	err = input_open(&script.input);
	if (!err)
		err = print_all(&script);
	input_close(&script.input);
	return err;
}

const struct command cmd_script = {
	.name = "script",
	.summary = "print the samples of a perf.data file",
	.help = help_script,
	.run = run_script,
};
