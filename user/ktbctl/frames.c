// SPDX-License-Identifier: GPL-2.0-only
/* Frames of call chains, as text and as JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ktbctl.h"

const char *frame_symbol(const struct ktb_frame *frame)
{
	return frame->symbol ? frame->symbol : "[unknown]";
}

const char *frame_dso(const struct ktb_frame *frame)
{
	return frame->dso ? frame->dso : "[unknown]";
}

/* As perf script prints them. */
void print_frame(const struct ktb_frame *frame, const char *before)
{
	char symbol[512], dso[512];

	clean_text(frame_symbol(frame), strlen(frame_symbol(frame)), symbol, sizeof(symbol));
	clean_text(frame_dso(frame), strlen(frame_dso(frame)), dso, sizeof(dso));
	printf("%s%16" PRIx64 " %s", before, frame->place, symbol);
	if (frame->symbol)
		printf("+0x%" PRIx64, frame->offset);
	printf(" (%s)\n", dso);
}

static struct json_object *json_frame(const struct ktb_frame *frame)
{
	struct json_object *object = json_object_new_object();
	const char *symbol = frame_symbol(frame), *dso = frame_dso(frame);

	json_object_object_add(object, "addr", json_object_new_uint64(frame->addr));
	json_object_object_add(object, "kernel", json_object_new_boolean(frame->kernel));
	json_object_object_add(object, "symbol",
			       frame->symbol ? json_text(symbol, strlen(symbol)) : NULL);
	json_object_object_add(object, "offset", json_object_new_uint64(frame->offset));
	json_object_object_add(object, "dso", frame->dso ? json_text(dso, strlen(dso)) : NULL);
	return object;
}

struct json_object *json_frames(const struct ktb_frame *frames, unsigned int nr)
{
	struct json_object *chain = json_object_new_array();

	for (unsigned int i = 0; i < nr; i++)
		json_object_array_add(chain, json_frame(&frames[i]));
	return chain;
}
