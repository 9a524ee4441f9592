// SPDX-License-Identifier: GPL-2.0-only
/* What tracefs says of an event. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ktb_tracefs.h"

/* "field:char comm[16];	offset:8;	size:16;	signed:0;" */
static bool parse_field(char *line, struct ktb_field *field)
{
	char *decl = strstr(line, "field:"), *offset = strstr(line, "offset:");
	char *size = strstr(line, "size:"), *end, *name;

	if (!decl || !offset || !size)
		return false;
	field->offset = strtoul(offset + 7, NULL, 10);
	field->size = strtoul(size + 5, NULL, 10);
	field->data_loc = strstr(decl, "__data_loc") || strstr(decl, "__rel_loc");
	end = strchr(decl, ';');
	if (!end)
		return false;
	*end = '\0';
	/* The name is the last word; an array's length may follow it. */
	if (end[-1] == ']' && !field->data_loc)
		*strrchr(decl, '[') = '\0';
	name = strrchr(decl, ' ');
	if (!name)
		return false;
	snprintf(field->name, sizeof(field->name), "%s", name + 1);
	return true;
}

int ktb_format_read(const char *event, struct ktb_format *f)
{
	char path[256], line[512];
	FILE *file;

	memset(f, 0, sizeof(*f));
	snprintf(path, sizeof(path), KTB_TRACEFS "/events/%s/format", event);
	*strchrnul(path, ':') = '/';
	file = fopen(path, "r");
	if (!file)
		return -errno;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "ID: %u", &f->id) == 1)
			continue;
		if (f->nfields < KTB_MAX_FIELDS && parse_field(line, &f->field[f->nfields]))
			f->nfields++;
	}
	fclose(file);
	return f->id ? 0 : -EINVAL;
}

const struct ktb_field *ktb_format_field(const struct ktb_format *f, const char *name)
{
	for (int i = 0; i < f->nfields; i++)
		if (!strcmp(f->field[i].name, name))
			return &f->field[i];
	return NULL;
}

__u64 ktb_field_uint(const struct ktb_format *f, const char *name, const char *raw)
{
	const struct ktb_field *field = ktb_format_field(f, name);
	__u64 value = 0;

	if (!field || field->size > sizeof(value))
		return ~0ULL;
	memcpy(&value, raw + field->offset, field->size);
	return value;
}

__u64 ktb_syscall_nr(const char *raw)
{
	static struct ktb_format any, one;

	if (!one.id && (ktb_format_read("raw_syscalls:sys_enter", &any) ||
			ktb_format_read("syscalls:sys_enter_getppid", &one)))
		return ~0ULL;
	if (ktb_field_uint(&any, "common_type", raw) == any.id)
		return ktb_field_uint(&any, "id", raw);
	return ktb_field_uint(&one, "__syscall_nr", raw);
}

unsigned int ktb_format_end(const struct ktb_format *f)
{
	unsigned int end = 0;

	for (int i = 0; i < f->nfields; i++)
		if (f->field[i].offset + f->field[i].size > end)
			end = f->field[i].offset + f->field[i].size;
	return end;
}
