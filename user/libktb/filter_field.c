// SPDX-License-Identifier: LGPL-2.1-only
/* Fields that a filter names: the event's own, and those that ftrace makes up. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event-parse.h>

#include "filter.h"

#define RECORD_HEAD 8 /* a program has something else there */

static bool is_word(const char *name, unsigned int len, const char *word)
{
	return strlen(word) == len && !strncmp(name, word, len);
}

bool ktb_filter_is_text(const struct ktb_filter_field *field)
{
	switch (field->kind) {
	case KTB_FILTER_CHARS:
	case KTB_FILTER_DYNAMIC:
	case KTB_FILTER_RELATIVE:
	case KTB_FILTER_COMM:
		return true;
	default:
		return false;
	}
}

/* What the program is told by the kernel; of the same name, the event's own wins. */
static bool find_made_up(const char *name, unsigned int len, struct ktb_filter_field *field)
{
	static const struct {
		const char *name;
		struct ktb_filter_field field;
	} made_up[] = {
		{ "common_pid", { KTB_FILTER_PID, 0, 4, true } },
		{ "cpu", { KTB_FILTER_CPU, 0, 4, false } },
		{ "CPU", { KTB_FILTER_CPU, 0, 4, false } },
		{ "comm", { KTB_FILTER_COMM, 0, 16, false } },
		{ "COMM", { KTB_FILTER_COMM, 0, 16, false } },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(made_up); i++) {
		if (!is_word(name, len, made_up[i].name))
			continue;
		*field = made_up[i].field;
		return true;
	}
	return false;
}

static const struct tep_format_field *find(const struct tep_format_field *list, const char *name,
					   unsigned int len)
{
	while (list && !is_word(name, len, list->name))
		list = list->next;
	return list;
}

static int fail_unknown(struct ktb_filter *filter, unsigned int column, const char *name,
			unsigned int len)
{
	const struct tep_event *event = filter->event;
	const struct tep_format_field *field;
	char names[256] = "";
	size_t end = 0;

	if (find(event->format.common_fields, name, len))
		return ktb_filter_fail(filter, column, "no filter sees %.*s", (int)len, name);
	for (field = event->format.fields; field && end < sizeof(names); field = field->next)
		end += snprintf(names + end, sizeof(names) - end, "%s%s", end ? ", " : "",
				field->name);
	return ktb_filter_fail(filter, column,
			       "%s has no field '%.*s'; it has %s, besides common_pid, cpu, comm",
			       event->name, (int)len, name, *names ? names : "none");
}

static bool is_number_size(unsigned int size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

static int set_string(struct ktb_filter *filter, unsigned int column,
		      const struct tep_format_field *from, struct ktb_filter_field *field)
{
	field->kind = KTB_FILTER_CHARS;
	if (!(from->flags & TEP_FIELD_IS_DYNAMIC))
		return 0;
	field->kind = from->flags & TEP_FIELD_IS_RELATIVE ? KTB_FILTER_RELATIVE :
							    KTB_FILTER_DYNAMIC;
	if (field->size == 4 && !(field->offset % 4))
		return 0;
	return ktb_filter_fail(filter, column, "no filter sees a string of this kind");
}

/* A number, or the element @index of an array of numbers, @index -1 for none. */
static int set_number(struct ktb_filter *filter, unsigned int column,
		      const struct tep_format_field *from, long index,
		      struct ktb_filter_field *field)
{
	bool is_array = from->flags & (TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_DYNAMIC);

	if (from->flags & TEP_FIELD_IS_DYNAMIC || (is_array && !is_number_size(from->elementsize)))
		return ktb_filter_fail(filter, column, "%s is neither a number nor a string",
				       from->name);
	if (is_array && index < 0)
		return ktb_filter_fail(filter, column, "%s is an array: name an element, %s[0]",
				       from->name, from->name);
	if (!is_array && index >= 0)
		return ktb_filter_fail(filter, column, "%s is no array", from->name);
	if (is_array) {
		if (index >= (long)(from->size / from->elementsize))
			return ktb_filter_fail(filter, column, "%s has %u elements, from 0 on",
					       from->name, from->size / from->elementsize);
		field->size = from->elementsize;
		field->offset += (unsigned int)index * field->size;
	}
	if (!is_number_size(field->size) || field->offset % field->size)
		return ktb_filter_fail(filter, column, "%s is neither a number nor a string",
				       from->name);
	return 0;
}

/* The field of that name, "name" or "name[index]". */
int ktb_filter_field_find(struct ktb_filter *filter, const char *name, unsigned int len,
			  struct ktb_filter_field *field)
{
	unsigned int column = (unsigned int)(name - filter->text) + 1;
	const char *bracket = memchr(name, '[', len);
	unsigned int name_len = bracket ? (unsigned int)(bracket - name) : len;
	const struct tep_format_field *from = find(filter->event->format.fields, name, name_len);
	long index = -1;

	if (bracket) {
		if (name[len - 1] != ']' || len - name_len < 3 || len - name_len > 8)
			return ktb_filter_fail(filter, column, "expected a number in brackets, %s",
					       "such as args[0]");
		index = strtol(bracket + 1, NULL, 10);
	}
	if (!from && !bracket && find_made_up(name, len, field))
		return 0;
	if (!from)
		return fail_unknown(filter, column, name, name_len);
	*field = (struct ktb_filter_field){
		.kind = KTB_FILTER_NUMBER,
		.offset = from->offset,
		.size = from->size,
		.is_signed = from->flags & TEP_FIELD_IS_SIGNED,
	};
	if (field->offset < RECORD_HEAD)
		return ktb_filter_fail(filter, column, "no filter sees %s", from->name);
	if (from->flags & TEP_FIELD_IS_STRING && !bracket && !(from->flags & TEP_FIELD_IS_POINTER))
		return set_string(filter, column, from, field);
	return set_number(filter, column, from, index, field);
}
