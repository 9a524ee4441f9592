/* SPDX-License-Identifier: GPL-2.0-only */
/* What the commands that read a perf.data share. */
#ifndef KTBCTL_INPUT_H
#define KTBCTL_INPUT_H

#include <getopt.h>

#include "ktbctl.h"

struct input {
	const char *path;
	struct ktb_recording_options options;
	const char *event; /* a pattern, or NULL: all of them */
	int cpu; /* the only one, or -1 */

	struct ktb_recording *recording;
	struct ktb_frame frames[FRAMES_MAX];
};

#define INPUT_DEFAULTS                         \
	{                                      \
		.path = "perf.data", .cpu = -1 \
	}

/* For getopt; each command adds its own behind them. */
enum {
	INPUT_KALLSYMS = 1000,
	INPUT_SYMFS,
};

#define INPUT_OPTIONS                                                                         \
	{ "input", required_argument, NULL, 'i' }, { "event", required_argument, NULL, 'e' }, \
		{ "cpu", required_argument, NULL, 'C' },                                      \
		{ "kallsyms", required_argument, NULL, INPUT_KALLSYMS },                      \
	{                                                                                     \
		"symfs", required_argument, NULL, INPUT_SYMFS                                 \
	}

#define INPUT_HELP                                                                         \
	"  -i, --input FILE     the file, instead of naming it last (perf.data)\n"         \
	"  -e, --event EVENT    samples of this event only, or of a pattern's\n"           \
	"  -C, --cpu CPU        samples of one CPU only\n"                                 \
	"      --kallsyms FILE  the recorded machine's /proc/kallsyms, if it is another\n" \
	"      --symfs DIR      look for its programs and libraries below DIR\n"

const char *input_set_option(struct input *input, int c, const char *text);
int input_take_path(const struct context *context, struct input *input, int argc, char **argv);
int input_open(struct input *input);
void input_close(struct input *input);
int input_next(struct input *input, struct ktb_record *record);
int input_end(struct input *input, int err);
unsigned int input_frames(struct input *input, const struct ktb_record *record);

#endif /* KTBCTL_INPUT_H */
