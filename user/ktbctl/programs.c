// SPDX-License-Identifier: GPL-2.0-only
/* --filter and --bpf: BPF programs that say which hits of an event are taken. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracing.h"

/* Take in a --filter or --bpf. Returns NULL, or what is wrong with it. */
const char *programs_add(struct tracing *tracing, int c, const char *text)
{
	struct event_program *programs;

	if (tracing->is_grouped && !tracing->group)
		return "stands before -e: it goes behind the -e that it is for";
	for (unsigned int i = 0; i < tracing->nr_programs; i++)
		if (tracing->programs[i].group == tracing->group)
			return "is the second one for these events: tie filters together with &&";
	programs = reallocarray(tracing->programs, tracing->nr_programs + 1, sizeof(*programs));
	if (!programs)
		return "out of memory";
	tracing->programs = programs;
	programs[tracing->nr_programs++] = (struct event_program){
		.filter = c == OPTION_FILTER ? text : NULL,
		.object = c == OPTION_BPF ? text : NULL,
		.group = tracing->group,
		.fd = -1,
	};
	return NULL;
}

/* The program for the events of a group, or NULL. */
struct event_program *programs_find(const struct tracing *tracing, unsigned int group)
{
	for (unsigned int i = 0; i < tracing->nr_programs; i++)
		if (tracing->programs[i].group == group)
			return &tracing->programs[i];
	return NULL;
}

static bool has_events(const struct choice *choice, unsigned int group)
{
	for (unsigned int i = 0; i < choice->nr; i++)
		if (choice->items[i].group == group && !choice->items[i].excluded)
			return true;
	return false;
}

/*
 * A program whose events are all another -e's, or excluded, would let them by unseen.
 * Returns an exit status, the reason told.
 */
int programs_check(const struct tracing *tracing, const struct choice *choice)
{
	for (unsigned int i = 0; i < tracing->nr_programs; i++) {
		const struct event_program *program = &tracing->programs[i];

		if (!has_events(choice, program->group))
			return fail("%s %s: no event is left for it: another -e has them, or '!'",
				    program->filter ? "--filter" : "--bpf",
				    program->filter ? program->filter : program->object);
	}
	return EXIT_DONE;
}

/* "FILE" or "FILE:NAME" */
static int open_object(const char *text, bool counter, char *error, size_t len)
{
	char *path = strdup(text), *name = NULL, *why;
	int fd;

	if (!path) {
		snprintf(error, len, "out of memory");
		return -1;
	}
	name = access(path, F_OK) ? strrchr(path, ':') : NULL;
	if (name)
		*name++ = 0;
	fd = ktb_program_load(path, name, counter, error, len);
	if (fd < 0 && asprintf(&why, "%s: %s", path, error) >= 0) {
		snprintf(error, len, "%s", why);
		free(why);
	}
	free(path);
	return fd;
}

/*
 * Have the program loaded, and name it in an event's @options. Returns 0, or -1 with
 * the reason in @error.
 */
int program_open(struct event_program *program, const struct choice_item *item,
		 struct ktb_event_options *options, char *error, size_t len)
{
	if (item->functions) {
		snprintf(error, len, "calls of functions take neither a filter nor a program");
		return -1;
	}
	if (item->counter && program->filter) {
		snprintf(error, len, "a counter has no fields for a filter: --bpf takes a program");
		return -1;
	}
	if (program->filter)
		options->program = ktb_filter_load(item->name, program->filter, error, len);
	else if (program->fd < 0)
		program->fd = open_object(program->object, item->counter, error, len);
	if (program->object)
		options->program = program->fd;
	options->has_program = options->program >= 0;
	options->program_text = program->filter ? program->filter : program->object;
	return options->has_program ? 0 : -1;
}

/* An event that was attached has its program by itself. */
void program_close(const struct event_program *program, const struct ktb_event_options *options)
{
	if (program->filter && options->has_program)
		close(options->program);
}

void programs_free(struct tracing *tracing)
{
	for (unsigned int i = 0; i < tracing->nr_programs; i++)
		if (tracing->programs[i].fd >= 0)
			close(tracing->programs[i].fd);
	free(tracing->programs);
}
