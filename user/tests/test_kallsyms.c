// SPDX-License-Identifier: GPL-2.0-only
/* The kernel's symbols, and those of modules that come and go. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake.h"
#include "tap.h"
#include "tempdir.h"

#define KERNEL                                                    \
	"ffffffff81000000 T _text\nffffffff81001000 t schedule\n" \
	"ffffffff81008000 T _etext\n"
#define FIRST "ffffffffa0000000 t first_a\t[first]\nffffffffa0003000 t first_b\t[first]\n"
#define THIRD "ffffffffa0020000 t third_a\t[third]\n"
#define MODULE_FIRST(users) "first 16384 " users " - Live 0xffffffffa0000000 (OE)\n"
#define MODULE_THIRD "third 16384 0 - Live 0xffffffffa0020000 (OE)\n"

/* The function at an address, "name+0x10 [module]"; "none". */
static bool is_at(struct ktb_kallsyms *syms, unsigned long long addr, const char *expected)
{
	unsigned long long start = addr;
	char *module = NULL, *name = ktb_kallsyms_find(syms, &start, &module);
	char text[64] = "none";

	if (name)
		snprintf(text, sizeof(text), "%s+0x%llx%s%s", name, addr - start, module ? " " : "",
			 module ? module : "");
	if (strcmp(text, expected))
		printf("# %llx: %s\n", addr, text);
	return !strcmp(text, expected);
}

/* Until it is looked again. */
static void wait_a_little(void)
{
	usleep(200000);
}

static void test_ends(struct ktb_kallsyms *syms)
{
	ok(is_at(syms, 0xffffffff81001010, "schedule+0x10"), "a function");
	ok(is_at(syms, 0xffffffff81007fff, "schedule+0x6fff"), "up to the next one");
	ok(is_at(syms, 0xffffffff80ffffff, "none"), "nothing before the first one");
	ok(is_at(syms, 0xffffffff90000000, "none"), "nor behind the kernel");
	ok(is_at(syms, 0xffffffffa0002ff0, "first_a+0x2ff0 first"), "one of a module");
	ok(is_at(syms, 0xffffffffa0003010, "first_b+0x10 first"), "its last one");
	ok(is_at(syms, 0xffffffffa0010000, "none"), "not what is between modules");
	ok(is_at(syms, 0xffffffffa0100000, "none"), "nor behind the last one");
}

static void test_modules(struct ktb_kallsyms *syms)
{
	const uint64_t second = 0xffffffffa0010010, first = 0xffffffffa0000010;

	fake_file(dir, "modules", MODULE_FIRST("7") MODULE_THIRD);
	wait_a_little();
	ok(!ktb_kallsyms_refresh(syms, second), "users of a module are no news");
	fake_file(dir, "kallsyms", KERNEL FIRST "ffffffffa0010000 t second_a\t[second]\n" THIRD);
	fake_file(dir, "modules",
		  MODULE_FIRST("7") "second 16384 7 - Live 0xffffffffa0010000 (OE)\n" MODULE_THIRD);
	wait_a_little();
	ok(!ktb_kallsyms_refresh(syms, 0xffffffff81001010), "nor is the kernel itself");
	ok(ktb_kallsyms_refresh(syms, second) && is_at(syms, second, "second_a+0x10 second"),
	   "a module that came");
	fake_file(dir, "kallsyms", KERNEL "ffffffffa0000000 t fourth_a\t[fourth]\n" THIRD);
	fake_file(dir, "modules", "fourth 16384 7 - Live 0xffffffffa0000000 (OE)\n" MODULE_THIRD);
	wait_a_little();
	ok(ktb_kallsyms_refresh(syms, first) && is_at(syms, first, "fourth_a+0x10 fourth"),
	   "another one in the place of one that went");
	ok(is_at(syms, second, "none"), "and what went is gone");
}

int main(void)
{
	struct ktb_kallsyms *syms;

	tempdir_make();
	fake_file(dir, "kallsyms", KERNEL FIRST THIRD);
	fake_file(dir, "modules", MODULE_FIRST("0") MODULE_THIRD);
	syms = ktb_kallsyms_load_live(dir);
	test_ends(syms);
	test_modules(syms);
	ktb_kallsyms_free(syms);
	return tap_end();
}
