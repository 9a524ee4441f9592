// SPDX-License-Identifier: GPL-2.0-only
/* Calls of functions in ktbctl's notation. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake.h"
#include "internal.h"
#include "tap.h"

static char error[256];
static struct ktb_functions functions;

static bool has(unsigned int i, const char *name)
{
	return i < functions.nr && !strcmp(functions.names[i], name);
}

static void test_lists(void)
{
	int err =
		ktb_functions_parse("function:vfs_*  !vfs_read*", &functions, error, sizeof(error));

	ok(!err && functions.nr == 2 && has(0, "vfs_*") && has(1, "!vfs_read*"),
	   "globs, and one to leave out");
	ok(!functions.graph && !strcmp(functions.name, "function:vfs_*  !vfs_read*"),
	   "named as it was written");
	ktb_functions_clear(&functions);
	ok(!functions.names && !functions.nr, "nothing is left");
}

static void wrong(const char *text, int err, const char *says)
{
	int got = ktb_functions_parse(text, &functions, error, sizeof(error));

	ok(got == err && strstr(error, says) && !functions.nr, "'%s' is refused (%s)", text, error);
}

/* Those of a pattern are looked up, as returns are told of by name. */
static void graph_is(const char *text, const char *first, const char *last, unsigned int nr)
{
	int err = ktb_functions_parse(text, &functions, error, sizeof(error));

	ok(!err && functions.nr == nr && has(0, first) && has(nr - 1, last), "'%s'", text);
	ktb_functions_clear(&functions);
}

static void test_missing(const char *text, const char *name)
{
	int err = ktb_functions_parse(text, &functions, error, sizeof(error));
	const char *missing = ktb_functions_missing(&functions);

	ok(!err && (name ? missing && !strcmp(missing, name) : !missing), "missing of '%s': %s",
	   text, missing ? missing : "none");
	ktb_functions_clear(&functions);
}

static void test_lookup(void)
{
	static const char traceable[] = "copy_from_user_nofault\n"
					"copy_page\n"
					"do_exit\n"
					"do_fork\n"
					"do_mmap [ext4]\n"
					"vfs_read\n";
	char dir[] = "/tmp/test_function.XXXXXX", command[64];

	if (!mkdtemp(dir))
		return;
	fake_tracefs(dir);
	fake_file(dir, "available_filter_functions", traceable);
	graph_is("fgraph:vfs_* do_mmap", "do_mmap", "vfs_read", 2);
	graph_is("fgraph:do_*:mod:ext4", "do_mmap", "do_mmap", 1);
	graph_is("function:*:mod:ext4 vfs_read", "do_mmap", "vfs_read", 2);
	graph_is("fgraph:* !do_* !vfs_*", "copy_page", "copy_page", 1);
	graph_is("fgraph:do_*", "do_fork", "do_mmap", 2);
	graph_is("fgraph:do_* do_exit", "do_exit", "do_mmap", 3);
	graph_is("fgraph:vfs_read do_exit vfs_read", "vfs_read", "do_exit", 2);
	test_missing("fgraph:vfs_read do_mmap", NULL);
	test_missing("fgraph:vfs_read vfs_rea", "vfs_rea");
	test_missing("function:vfs_rea* vfs_reader", "vfs_reader");
	wrong("fgraph:do_exi?", -EINVAL, "no such function that can be traced");
	wrong("fgraph:*:mod:no_such", -EINVAL, "no such function");
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	ok(!system(command), "nothing is left");
}

static void test_formats(void)
{
	ok(!strcmp(ktb_format_name("function:vfs_*"), "ftrace:function"), "format of an entry");
	ok(!strcmp(ktb_format_name("fgraph:vfs_read"), "ftrace:funcgraph_exit"), "of a return");
	ok(!strcmp(ktb_format_name("sched:sched_switch"), "sched:sched_switch"), "of all else");
}

int main(void)
{
	char many[32 * 1024] = "function:";

	test_lists();
	wrong("sched:sched_switch", -ENOENT, "");
	wrong("function:", -EINVAL, "which functions");
	wrong("function:!vfs_read", -EINVAL, "which functions");
	wrong("function:!", -EINVAL, "names no function");
	for (int i = 0; i < 1025; i++)
		sprintf(many + strlen(many), "f%d ", i);
	wrong(many, -E2BIG, "1024");
	memset(many + 9, 'a', 300);
	many[309] = 0;
	wrong(many, -EINVAL, "too long");
	test_lookup();
	test_formats();
	return tap_end();
}
