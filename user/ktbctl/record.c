// SPDX-License-Identifier: GPL-2.0-only
/* One record as a line: as ftrace and perf script do it, or as JSON. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ktbctl.h"

#define NSEC_PER_SEC 1000000000
#define NSEC_PER_USEC 1000

/* Returns 0 or a negative errno. */
static int put_line(const char *line)
{
	return puts(line) < 0 ? -errno : 0;
}

static int print_text(struct printer *printer, const struct ktb_sample *sample, const char *event,
		      const char *text)
{
	char comm[32], clean[4096];
	const char *name = ktb_comms_get(printer->comms, sample->tid);

	clean_text(name, strlen(name), comm, sizeof(comm));
	clean_text(text, strlen(text), clean, sizeof(clean));
	if (printf("%16s-%-7u [%03u] %5" PRIu64 ".%06" PRIu64 ": %s: %s\n", comm, sample->tid,
		   sample->cpu, sample->time / NSEC_PER_SEC,
		   sample->time % NSEC_PER_SEC / NSEC_PER_USEC, event, clean) < 0)
		return -errno;
	return 0;
}

static struct json_object *json_element(const struct ktb_field *field, size_t at)
{
	const char *data = (const char *)field->data + at;
	int64_t value = 0;

	memcpy(&value, data, field->element);
	if (!field->is_signed)
		return json_object_new_uint64(value);
	/* Move the sign bit to the top and back. */
	value = (int64_t)((uint64_t)value << (64 - 8 * field->element)) >>
		(64 - 8 * field->element);
	return json_object_new_int64(value);
}

static void add_field(const struct ktb_field *field, void *arg)
{
	struct json_object *value = NULL;

	switch (field->kind) {
	case KTB_FIELD_SIGNED:
		value = json_object_new_int64((int64_t)field->number);
		break;
	case KTB_FIELD_UNSIGNED:
		value = json_object_new_uint64(field->number);
		break;
	case KTB_FIELD_STRING:
		value = json_text(field->data, field->len);
		break;
	case KTB_FIELD_ARRAY:
		value = json_object_new_array();
		for (size_t at = 0; at < field->len; at += field->element)
			json_object_array_add(value, json_element(field, at));
		break;
	}
	json_object_object_add(arg, field->name, value);
}

static struct json_object *json_record(const char *type, const struct ktb_sample *sample,
				       const char *comm)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "type", json_object_new_string(type));
	json_object_object_add(object, "time", json_object_new_uint64(sample->time));
	json_object_object_add(object, "cpu", json_object_new_uint64(sample->cpu));
	json_object_object_add(object, "pid", json_object_new_uint64(sample->pid));
	json_object_object_add(object, "tid", json_object_new_uint64(sample->tid));
	json_object_object_add(object, "comm", json_text(comm, strlen(comm)));
	return object;
}

/* Print an object as a line and free it. Returns 0, or a negative errno of writing. */
int put_json(struct json_object *object)
{
	const int flags = JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE;
	int err = put_line(json_object_to_json_string_ext(object, flags));

	json_object_put(object);
	return err;
}

struct json_object *json_sample(struct ktb_formats *formats, const struct ktb_sample *sample,
				const char *comm, const char *event, const char *text)
{
	struct json_object *object = json_record("sample", sample, comm);
	struct json_object *fields = json_object_new_object();

	json_object_object_add(object, "event", json_text(event, strlen(event)));
	json_object_object_add(object, "period", json_object_new_uint64(sample->period));
	if (text)
		json_object_object_add(object, "text", json_text(text, strlen(text)));
	ktb_formats_fields(formats, sample, add_field, fields);
	json_object_object_add(object, "fields", fields);
	return object;
}

struct json_object *json_lost(const struct ktb_sample *sample, const char *comm)
{
	struct json_object *object = json_record("lost", sample, comm);

	json_object_object_add(object, "lost", json_object_new_uint64(sample->lost));
	return object;
}

/* Fill @frames with a sample's call chain, if it has one. Returns how many. */
static unsigned int frames_of(struct printer *printer, const struct ktb_sample *sample,
			      struct ktb_frame *frames)
{
	if (!sample->nr_chain)
		return 0;
	if (!printer->stacks)
		printer->stacks = ktb_stacks_new();
	return printer->stacks ? ktb_stacks_frames(printer->stacks, sample, frames, FRAMES_MAX) : 0;
}

/* A counter has no data of its own: how much it counted, and where it was then. */
static void counter_text(struct printer *printer, const struct ktb_sample *sample, char *text,
			 size_t len)
{
	const bool kernel = (int64_t)sample->ip < 0;
	const uint64_t chain[] = { kernel ? PERF_CONTEXT_KERNEL : PERF_CONTEXT_USER, sample->ip };
	struct ktb_frame frames[FRAMES_MAX];
	struct ktb_sample here = *sample;

	here.chain = chain;
	here.nr_chain = ARRAY_SIZE(chain);
	if (frames_of(printer, &here, frames) && frames[0].symbol)
		snprintf(text, len, "%" PRIu64 " at %s+0x%" PRIx64 " (%s)", sample->period,
			 frames[0].symbol, frames[0].offset, frames[0].dso ? frames[0].dso : "?");
	else
		snprintf(text, len, "%" PRIu64 " at %" PRIx64, sample->period, sample->ip);
}

/* No event's data are of type 0. */
static bool is_counter(const struct ktb_sample *sample)
{
	uint32_t data;

	if (sample->raw_size != sizeof(data))
		return false;
	memcpy(&data, sample->raw, sizeof(data));
	return !data;
}

/* A part of a call, as calls.c puts it out. */
static int print_call(void *arg, const struct ktb_sample *sample, const struct ktb_graph_call *call,
		      enum ktb_graph_part part)
{
	struct printer *printer = arg;

	return print_text(printer, sample, names_of(&printer->names, sample),
			  ktb_graph_text(printer->formats, call, part));
}

/* What a printer holds back, but for threads of which something came since @before. */
int print_held(struct printer *printer, uint64_t before)
{
	return calls_flush(&printer->calls, before);
}

static int take_call(struct printer *printer, const struct ktb_sample *sample,
		     const struct ktb_graph_call *call)
{
	printer->calls.put = print_call;
	printer->calls.arg = printer;
	return calls_add(&printer->calls, sample, call);
}

static int print_sample(struct printer *printer, const struct ktb_sample *sample)
{
	const char *event = names_of(&printer->names, sample);
	const char *text = ktb_formats_text(printer->formats, sample);
	struct ktb_frame frames[FRAMES_MAX];
	struct ktb_graph_call call;
	struct json_object *object;
	unsigned int nr;
	char raw[256];
	int err;

	if (!text) {
		if (is_counter(sample))
			counter_text(printer, sample, raw, sizeof(raw));
		else
			snprintf(raw, sizeof(raw), "(%u bytes of unknown format)",
				 sample->raw_size);
		text = raw;
	}
	ktb_comms_learn(printer->comms, printer->formats, sample);
	if (!printer->json && !sample->nr_chain &&
	    !ktb_graph_parse(printer->formats, sample, &call))
		return take_call(printer, sample, &call);
	nr = frames_of(printer, sample, frames);
	if (printer->json) {
		object = json_sample(printer->formats, sample,
				     ktb_comms_get(printer->comms, sample->tid), event, text);
		if (sample->nr_chain)
			json_object_object_add(object, "callchain", json_frames(frames, nr));
		return put_json(object);
	}
	err = print_text(printer, sample, event, text);
	for (unsigned int i = 0; i < nr; i++)
		print_frame(&frames[i], "\t");
	return err || !ferror(stdout) ? err : -errno;
}

static int print_lost(struct printer *printer, const struct ktb_sample *sample)
{
	char text[64];

	snprintf(text, sizeof(text), "%" PRIu64 " record%s lost here", sample->lost,
		 sample->lost == 1 ? "" : "s");
	if (!printer->json)
		return print_text(printer, sample, "LOST", text);
	return put_json(json_lost(sample, ktb_comms_get(printer->comms, sample->tid)));
}

static int print_throttle(struct printer *printer, const struct ktb_sample *sample)
{
	const bool begins = sample->type == PERF_RECORD_THROTTLE;
	const char *event = names_of(&printer->names, sample);
	struct json_object *object;
	char text[256];

	if (!printer->json) {
		snprintf(text, sizeof(text), "%s %s", event,
			 begins ? "fires too often: perf stops it for a moment" : "fires again");
		return print_text(printer, sample, begins ? "THROTTLE" : "UNTHROTTLE", text);
	}
	object = json_record(begins ? "throttle" : "unthrottle", sample,
			     ktb_comms_get(printer->comms, sample->tid));
	json_object_object_add(object, "event", json_text(event, strlen(event)));
	return put_json(object);
}

/* Returns 0, or a negative errno of writing. */
int print_record(struct printer *printer, const struct ktb_sample *sample)
{
	if (sample->type == PERF_RECORD_SAMPLE)
		return print_sample(printer, sample);
	if (sample->type == PERF_RECORD_LOST)
		return print_lost(printer, sample);
	if (sample->type == PERF_RECORD_THROTTLE || sample->type == PERF_RECORD_UNTHROTTLE)
		return print_throttle(printer, sample);
	return 0;
}
