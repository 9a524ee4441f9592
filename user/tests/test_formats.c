// SPDX-License-Identifier: GPL-2.0-only
/* Formats of events, and what they make of records, such as are cut off too. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fake.h"
#include "tap.h"
#include "tempdir.h"

#define PAGE 4096

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

static const char *text_of(struct ktb_formats *formats, const void *raw, uint32_t size)
{
	const struct ktb_sample sample = { .raw = raw, .raw_size = size };
	const char *text = ktb_formats_text(formats, &sample);

	return text ? text : "(null)";
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

/* ---- events made anew ---- */

static bool loads_as(struct ktb_formats *formats, const char *name, const uint32_t raw[3],
		     const char *text)
{
	return !ktb_formats_load(formats, name) &&
	       !strcmp(text_of(formats, raw, 3 * sizeof(*raw)), text);
}

static void test_anew(struct ktb_formats *formats)
{
	const uint32_t first[] = { 60, 0, 1 }, second[] = { 61, 0, 2 };

	put_event("probe", 60, "\tfield:u32 a;\toffset:8;\tsize:4;\tsigned:0;\n",
		  "\"a=%u\", REC->a");
	ok(loads_as(formats, "fake:probe", first, "a=1"), "an event");
	put_event("probe", 61, "\tfield:u32 b;\toffset:8;\tsize:4;\tsigned:0;\n",
		  "\"b=%u\", REC->b");
	ok(loads_as(formats, "fake:probe", second, "b=2"), "made anew, with another number");
	ok(!strcmp(text_of(formats, first, sizeof(first)), "a=1"), "old records are as before");
	put_event("probe", 61, "\tfield:u32 c;\toffset:8;\tsize:4;\tsigned:0;\n",
		  "\"c=%u\", REC->c");
	ok(loads_as(formats, "fake:probe", second, "c=2"), "made anew, with the same number");
	put_event("other", 61, "\tfield:u32 d;\toffset:8;\tsize:4;\tsigned:0;\n",
		  "\"d=%u\", REC->d");
	ok(loads_as(formats, "fake:other", second, "d=2"), "the number is another event's now");
	ok(!strcmp(text_of(formats, first, sizeof(first)), "a=1"), "and others stay");
}

/* ---- records that end too soon ---- */

/* A record's data where there is nothing behind them. */
static const void *at_end(const void *raw, size_t size)
{
	uint8_t *pages =
		mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED || mprotect(pages + PAGE, PAGE, PROT_NONE)) {
		perror("mmap");
		exit(1);
	}
	return memcpy(pages + PAGE - size, raw, size);
}

static void test_ends(struct ktb_formats *formats)
{
	const uint32_t inside[] = { 70, 0, 4 << 16 | 12, 0x21212121 };
	const uint32_t beyond[] = { 70, 0, 4 << 16 | 0xfff0, 0x21212121 };

	put_event("string", 70, "\tfield:__data_loc char[] s;\toffset:8;\tsize:4;\tsigned:0;\n",
		  "\"s=%s\", __get_str(s)");
	ok(!ktb_formats_load(formats, "fake:string"), "an event with a string");
	ok(!strcmp(text_of(formats, at_end(inside, sizeof(inside)), sizeof(inside)), "s=!!!!"),
	   "a string without an end ends with its record");
	ok(!strcmp(text_of(formats, at_end(beyond, sizeof(beyond)), sizeof(beyond)), "s="),
	   "behind the record there is nothing");
	ok(!strcmp(text_of(formats, at_end(inside, 8), 8), "(truncated record)"),
	   "a record that is too short for its fields");
	put_event("far", 71, "\tfield:u32 a;\toffset:2147483647;\tsize:4;\tsigned:0;\n",
		  "\"a=%u\", REC->a");
	ok(ktb_formats_load(formats, "fake:far") == -EINVAL, "a field where none can be: %s",
	   ktb_formats_error(formats));
	put_event("big", 72, "\tfield:u8 a[70000];\toffset:8;\tsize:70000;\tsigned:0;\n", "\"\"");
	ok(ktb_formats_load(formats, "fake:big") == -EINVAL, "one that is too large");
}

int main(void)
{
	struct ktb_formats *formats;

	tempdir_make();
	fake_tracefs(dir);
	formats = ktb_formats_new();
	test_kinds(formats);
	test_anew(formats);
	test_ends(formats);
	ktb_formats_free(formats);
	return tap_end();
}
