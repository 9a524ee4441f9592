// SPDX-License-Identifier: GPL-2.0-only
/* Formats of events, and what they make of records. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fake.h"
#include "tap.h"

static char dir[32];
static char said[256];

/* An event of system "fake" in tracefs, or another format for it. */
static void put_event(const char *name, unsigned int id, const char *fields, const char *print)
{
	char path[96], text[1024];

	snprintf(path, sizeof(path), "%s/events/fake/%s", dir, name);
	mkdir(path, 0700);
	snprintf(text, sizeof(text),
		 "name: %s\nID: %u\nformat:\n"
		 "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		 "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n%s\nprint fmt: %s\n",
		 name, id, fields, print);
	snprintf(path, sizeof(path), "events/fake/%s/format", name);
	fake_file(dir, path, text);
}

/* ---- kinds of fields ---- */

static void see_field(const struct ktb_field *field, void *arg)
{
	size_t len = strlen(said);

	(void)arg;
	if (field->kind == KTB_FIELD_STRING)
		snprintf(said + len, sizeof(said) - len, " %s=\"%.*s\"", field->name,
			 (int)field->len, (const char *)field->data);
	else if (field->kind == KTB_FIELD_ARRAY)
		snprintf(said + len, sizeof(said) - len, " %s=%zux%u", field->name,
			 field->len / field->element, field->element);
	else
		snprintf(said + len, sizeof(said) - len, " %s=%d", field->name, (int)field->number);
}

static void test_kinds(struct ktb_formats *formats)
{
	static const uint8_t raw[] = { 50, 0,  0, 0,   0, 0,   0,   0,	 'h', 'i', 0, 0,  10,
				       0,  65, 1, 200, 0, 255, 255, 32,	 0,   3,   0, 35, 0,
				       3,  0,  0, 0,   0, 0,   'o', 'k', 0,   127, 0, 1 };
	const struct ktb_sample sample = { .raw = raw, .raw_size = sizeof(raw) };

	put_event("kinds", 50,
		  "\tfield:char name[4];\toffset:8;\tsize:4;\tsigned:0;\n"
		  "\tfield:__u8 addr[4];\toffset:12;\tsize:4;\tsigned:0;\n"
		  "\tfield:unsigned char key[2];\toffset:16;\tsize:2;\tsigned:0;\n"
		  "\tfield:s16 number;\toffset:18;\tsize:2;\tsigned:1;\n"
		  "\tfield:__data_loc char[] text;\toffset:20;\tsize:4;\tsigned:0;\n"
		  "\tfield:__data_loc u8[] bytes;\toffset:24;\tsize:4;\tsigned:0;\n",
		  "\"%s\", REC->name");
	ok(!ktb_formats_load(formats, "fake:kinds"), "an event of all kinds of fields");
	said[0] = 0;
	ktb_formats_fields(formats, &sample, see_field, NULL);
	ok(!strcmp(said, " name=\"hi\" addr=4x1 key=2x1 number=-1 text=\"ok\" bytes=3x1"),
	   "text is what is of char:%s", said);
}

static void clean_up(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	if (system(command))
		perror(command);
}

int main(void)
{
	struct ktb_formats *formats;

	snprintf(dir, sizeof(dir), "/tmp/test_formats.XXXXXX");
	if (!mkdtemp(dir)) {
		perror(dir);
		return 1;
	}
	atexit(clean_up);
	fake_tracefs(dir);
	formats = ktb_formats_new();
	test_kinds(formats);
	ktb_formats_free(formats);
	return tap_end();
}
