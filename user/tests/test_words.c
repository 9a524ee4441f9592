// SPDX-License-Identifier: GPL-2.0-only
/* Sizes, numbers, near names and clean text. */
#include <string.h>

#include "ktbctl.h"
#include "tap.h"

static void size_is(const char *text, uint64_t expected)
{
	uint64_t size = 1;
	const char *wrong = parse_size(text, &size);

	ok(!wrong && size == expected, "size '%s' is understood", text);
}

static void size_is_wrong(const char *text)
{
	uint64_t size;

	ok(!!parse_size(text, &size), "size '%s' is refused", text);
}

static void test_sizes(void)
{
	static const char *const wrong[] = {
		"",
		"0",
		"0K",
		"K",
		"-1",
		"+1",
		" 1",
		"1.5M",
		"1X",
		"1KX",
		"1MM",
		"0x10",
		"18446744073709551616",
		"18446744073709551615K",
		"20000000000G",
	};
	char text[32];

	size_is("1", 1);
	size_is("4096", 4096);
	size_is("4096B", 4096);
	size_is("64K", 65536);
	size_is("64kB", 65536);
	size_is("1m", 1048576);
	size_is("1MiB", 1048576);
	size_is("2G", 2147483648);
	size_is("18446744073709551615", UINT64_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		size_is_wrong(wrong[i]);
	ok(!strcmp(size_text(1048576, text, sizeof(text)), "1M"), "a size is told short");
	ok(!strcmp(size_text(4097, text, sizeof(text)), "4097"), "and exactly");
}

static void test_numbers(void)
{
	uint64_t number;

	ok(!parse_number("12", 100, &number) && number == 12, "a number");
	ok(parse_number("101", 100, &number), "too large a number is refused");
	ok(parse_number("12x", 100, &number), "letters after a number are refused");
	ok(parse_number("", 100, &number), "nothing is no number");
	ok(!parse_seconds("0.5", &number) && number == 500000000, "half a second");
	ok(parse_seconds("-1", &number), "negative seconds are refused");
	ok(parse_seconds("nan", &number), "no number of seconds is refused");
	ok(parse_seconds("1s", &number), "letters after seconds are refused");
}

static struct catalog_event events[] = {
	{ "irq:irq_handler_entry", 1, 1, 0 },  { "irq:softirq_entry", 1, 2, 0 },
	{ "sched:sched_switch", 1, 3, 0 },     { "sched:sched_wakeup", 1, 4, 0 },
	{ "sched:sched_wakeup_new", 1, 5, 0 }, { "sched:sched_waking", 1, 6, 0 },
};

static const struct catalog catalog = { events, ARRAY_SIZE(events) };

static bool first_is(const char *name, const char *expected)
{
	const char *near[3];

	return suggest(&catalog, name, near, 3) && !strcmp(near[0], expected);
}

static void test_suggest(void)
{
	const char *near[3];

	ok(edit_distance("kitten", "sitting") == 3, "edit distance");
	ok(edit_distance("", "abc") == 3 && edit_distance("abc", "abc") == 0, "its ends");
	ok(first_is("sched:sched_swich", "sched:sched_switch"), "a letter left out");
	ok(first_is("sched_switch", "sched:sched_switch"), "the system left out");
	ok(first_is("shed:sched_wakeup", "sched:sched_wakeup"), "a wrong system");
	ok(suggest(&catalog, "sched:sched_wakeu", near, 3) == 3, "at most as many as asked for");
	ok(!strcmp(near[0], "sched:sched_wakeup"), "the nearest first");
	ok(suggest(&catalog, "net:nothing_like_it", near, 3) == 0, "none that is far off");
}

static void test_text(void)
{
	struct json_object *object;
	char clean[8];

	ok(!strcmp(clean_text("a\033[b\n", 5, clean, sizeof(clean)), "a?[b?"),
	   "no control characters");
	ok(!strcmp(clean_text("abcdefghij", 10, clean, sizeof(clean)), "abcdefg"),
	   "no more than there is room for");
	ok(!strcmp(clean_text("\xc2\x9b[\xc2\xa0\xc3\xa9", 7, clean, sizeof(clean)),
		   "?[\xc2\xa0\xc3\xa9"),
	   "nor those of C1, and letters stay");
	ok(!strcmp(clean_text("\x9b[\xe2\x82", 4, clean, sizeof(clean)), "?[??"),
	   "what is no UTF-8 does not");
	ok(!strcmp(clean_text("abcdef\xc3\xa9", 8, clean, sizeof(clean)), "abcdef"),
	   "and no letter in half");
	object = json_text("a\xff\xc3\xa9\xc0\xaf", 6);
	ok(!strcmp(json_object_get_string(object), "a?\xc3\xa9??"), "JSON is UTF-8");
	json_object_put(object);
}

int main(void)
{
	test_sizes();
	test_numbers();
	test_suggest();
	test_text();
	return tap_end();
}
