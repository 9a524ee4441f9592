// SPDX-License-Identifier: GPL-2.0-only
/* A perf.data file that a command reads: its options, samples, and warnings. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "input.h"

/* Returns NULL, or what is wrong with the option's value. */
const char *input_set_option(struct input *input, int c, const char *text)
{
	const char *wrong = NULL;
	uint64_t number = 0;

	switch (c) {
	case 'i':
		input->path = text;
		break;
	case 'e':
		input->event = text;
		break;
	case 'C':
		wrong = parse_number(text, INT_MAX, &number);
		input->cpu = (int)number;
		break;
	case INPUT_KALLSYMS:
		input->options.kallsyms = text;
		break;
	case INPUT_SYMFS:
		input->options.symfs = text;
		break;
	}
	return wrong;
}

/* What follows the options: a file, or nothing. */
int input_take_path(const struct context *context, struct input *input, int argc, char **argv)
{
	if (optind < argc)
		input->path = argv[optind++];
	if (optind < argc)
		return fail_usage(context, "'%s' is one too many: one file at a time",
				  argv[optind]);
	return EXIT_DONE;
}

static bool has_event(const struct input *input)
{
	const struct ktb_recording_event *event;

	for (unsigned int i = 0; (event = ktb_recording_event(input->recording, i)); i++)
		if (name_matches(input->event, event->name))
			return true;
	return false;
}

/* Returns an exit status, the reason told. */
int input_open(struct input *input)
{
	input->recording = ktb_recording_new();
	if (!input->recording)
		return fail("out of memory");
	if (ktb_recording_open(input->recording, input->path, &input->options))
		return fail("%s", ktb_recording_error(input->recording));
	if (input->event && !has_event(input))
		return fail("'%s' has no event '%s'", input->path, input->event);
	return EXIT_DONE;
}

void input_close(struct input *input)
{
	ktb_recording_free(input->recording);
}

static bool is_wanted(const struct input *input, const struct ktb_record *record)
{
	if (record->header->type != PERF_RECORD_SAMPLE)
		return true;
	if (input->cpu >= 0 && record->sample.cpu != (unsigned int)input->cpu)
		return false;
	return !input->event || (record->event && name_matches(input->event, record->event->name));
}

/* The next record that is wanted: 1, 0 at the end, or a negative errno. */
int input_next(struct input *input, struct ktb_record *record)
{
	int ret;

	do {
		ret = ktb_recording_next(input->recording, record);
	} while (ret == 1 && !is_wanted(input, record));
	return ret;
}

/*
 * Tell of what @err, the last of input_next(), says, and of what is to be known of
 * the file. Returns an exit status.
 */
int input_end(struct input *input, int err)
{
	const char *problem = ktb_recording_problem(input->recording);
	struct ktb_recording_stats stats;

	ktb_recording_get_stats(input->recording, &stats);
	if (problem)
		note("%s", problem);
	if (stats.lost)
		note("%" PRIu64 " samples were lost when '%s' was recorded", stats.lost,
		     input->path);
	if (stats.lost_sideband)
		note("%" PRIu64 " records of names and mappings were lost when '%s' was recorded",
		     stats.lost_sideband, input->path);
	if (stats.late)
		note("%" PRIu64 " records are not in the order of time", stats.late);
	return err < 0 ? fail("%s", ktb_recording_error(input->recording)) : EXIT_DONE;
}

/* Fill @input->frames. Returns how many there are. */
unsigned int input_frames(struct input *input, const struct ktb_record *record)
{
	return ktb_recording_frames(input->recording, record, input->frames, FRAMES_MAX);
}
