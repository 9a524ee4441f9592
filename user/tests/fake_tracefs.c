// SPDX-License-Identifier: GPL-2.0-only
/* A directory in place of tracefs, with the formats of three events. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <tracefs.h>

#include "fake.h"

void fake_file(const char *dir, const char *name, const char *text)
{
	char full[128];
	FILE *file;

	snprintf(full, sizeof(full), "%s/%s", dir, name);
	file = fopen(full, "we");
	if (!file || fputs(text, file) < 0 || fclose(file)) {
		perror(full);
		exit(1);
	}
}

static void put_dir(const char *dir, const char *name)
{
	char full[128];

	snprintf(full, sizeof(full), "%s/%s", dir, name);
	mkdir(full, 0700);
}

static void put_format(const char *dir, const char *event, unsigned int id)
{
	const char *name = strchr(event, '/') + 1;
	char file[64], text[512];

	snprintf(text, sizeof(text),
		 "name: %s\nID: %u\nformat:\n"
		 "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		 "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		 "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		 "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
		 "\tfield:unsigned int value;\toffset:8;\tsize:4;\tsigned:0;\n\n"
		 "print fmt: \"value=%%u\", REC->value\n",
		 name, id);
	snprintf(file, sizeof(file), "events/%s", event);
	put_dir(dir, file);
	snprintf(file, sizeof(file), "events/%s/format", event);
	fake_file(dir, file, text);
}

void fake_tracefs(char *dir)
{
	put_dir(dir, "events");
	put_dir(dir, "events/fake");
	put_dir(dir, "events/other");
	fake_file(dir, "events/header_page",
		  "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n");
	fake_file(dir, "events/header_event", "# compressed entry header\n");
	fake_file(dir, "printk_formats", "");
	fake_file(dir, "saved_cmdlines", "11 fake\n");
	put_format(dir, "fake/one", FAKE_EVENT_TYPE);
	put_format(dir, "fake/two", FAKE_EVENT_TYPE + 1);
	put_format(dir, "other/three", FAKE_EVENT_TYPE + 2);
	tracefs_set_tracing_dir(dir);
}
