// SPDX-License-Identifier: GPL-2.0-only
/* What events and targets a command line asks for. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tap.h"
#include "tracing.h"

static const char *const names[] = {
	"irq:irq_handler_entry", "irq:softirq_entry",  "sched:sched_stat_runtime",
	"sched:sched_switch",	 "sched:sched_wakeup",
};

/* Sorted, as a catalog is. */
static void make(struct choice *choice)
{
	struct catalog *catalog = &choice->catalog;

	memset(choice, 0, sizeof(*choice));
	catalog->events = calloc(ARRAY_SIZE(names), sizeof(*catalog->events));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		catalog->events[i].name = strdup(names[i]);
	catalog->nr = ARRAY_SIZE(names);
}

/* Arguments up to a NULL; what is left of them, as "sched_switch,softirq_entry". */
static int choose(const char *const *arguments, char *text, size_t len)
{
	struct choice choice;
	int err = EXIT_DONE;

	make(&choice);
	*text = 0;
	for (; *arguments && !err; arguments++)
		err = choice_add(&choice, *arguments);
	if (!err)
		err = choice_end(&choice);
	for (unsigned int i = 0; i < choice.nr && !err; i++) {
		if (choice.items[i].excluded)
			continue;
		snprintf(text + strlen(text), len - strlen(text), "%s%s%s", *text ? "," : "",
			 strchr(choice.items[i].name, ':') + 1, choice.items[i].named ? "!" : "");
	}
	choice_free(&choice);
	return err;
}

#define CHOOSE(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void chosen(const char *const *arguments, const char *expected)
{
	char text[256];

	ok(!choose(arguments, text, sizeof(text)) && !strcmp(text, expected), "'%s'%s: %s",
	   arguments[0], arguments[1] ? " and more" : "", expected);
}

static void not_chosen(const char *const *arguments)
{
	char text[256];

	ok(choose(arguments, text, sizeof(text)) == EXIT_FAILED, "'%s'%s is refused", arguments[0],
	   arguments[1] ? " and more" : "");
}

/* "!" marks what was named in full. */
static void test_choice(void)
{
	chosen(CHOOSE("sched:sched_switch"), "sched_switch!");
	chosen(CHOOSE("sched:*"), "sched_stat_runtime,sched_switch,sched_wakeup");
	chosen(CHOOSE("sched:sched_w*", "*:softirq*"), "sched_wakeup,softirq_entry");
	chosen(CHOOSE("sched:sched_switch", "sched:*"),
	       "sched_switch!,sched_stat_runtime,sched_wakeup");
	chosen(CHOOSE("sched:*", "sched:sched_switch"),
	       "sched_stat_runtime,sched_switch!,sched_wakeup");
	chosen(CHOOSE("sched:*", "!sched:sched_stat_*"), "sched_switch,sched_wakeup");
	chosen(CHOOSE("!sched:sched_switch", "sched:*"), "sched_stat_runtime,sched_wakeup");
	chosen(CHOOSE("sched:*", "!sched:sched_s*", "!sched:sched_switch"), "sched_wakeup");
	chosen(CHOOSE("function:vfs_[rw]*", "irq:soft*", "!function:vfs_[rw]*"), "softirq_entry");
	not_chosen(CHOOSE("sched:sched_swich"));
	not_chosen(CHOOSE("sched"));
	not_chosen(CHOOSE("sched:"));
	not_chosen(CHOOSE("net:*"));
	not_chosen(CHOOSE("!sched:*"));
	not_chosen(CHOOSE("sched:*", "!irq:*"));
	not_chosen(CHOOSE("sched:*", "!*"));
	not_chosen(CHOOSE("sched:sched_switch", "!sched:sched_switch"));
	not_chosen(CHOOSE(""));
}

static void test_counters(void)
{
	struct choice choice;

	make(&choice);
	choice_add(&choice, "cpu-clock/name=a/");
	ok(choice_add(&choice, "cpu-clock/name=a/") == EXIT_DONE && choice.nr == 1,
	   "a counter twice is one");
	ok(choice_add(&choice, "task-clock/name=a/") == EXIT_FAILED,
	   "another one of its name is refused");
	ok(choice_add(&choice, "task-clock/name=b/") == EXIT_DONE && choice.nr == 2,
	   "but not of a name of its own");
	choice_free(&choice);
}

/* The event's group, when these are the -e; "F" behind one is a filter for it. */
static int group_of(const char *const *arguments, const char *name, bool *all_used)
{
	struct tracing tracing = { .is_grouped = true };
	struct choice choice;
	int group = -1, err = EXIT_DONE;

	make(&choice);
	for (; *arguments && !err; arguments++) {
		if (!strcmp(*arguments, "F")) {
			err = !!tracing_set(&tracing, OPTION_FILTER, "x == 1");
			continue;
		}
		choice.group = ++tracing.group;
		err = choice_add(&choice, *arguments);
	}
	if (!err)
		err = choice_end(&choice);
	for (unsigned int i = 0; i < choice.nr && !err; i++)
		if (!strcmp(choice.items[i].name, name))
			group = (int)choice.items[i].group;
	*all_used = programs_check(&tracing, &choice) == EXIT_DONE;
	choice_free(&choice);
	tracing_free(&tracing);
	return group;
}

static void test_groups(void)
{
	static const char name[] = "sched:sched_switch";
	bool used;

	ok(group_of(CHOOSE("sched:*", "F", "irq:*"), name, &used) == 1 && used,
	   "a pattern's filter");
	ok(group_of(CHOOSE("sched:*", name, "F"), name, &used) == 2 && used,
	   "a later full name has a filter of its own");
	ok(group_of(CHOOSE(name, "F", "sched:*"), name, &used) == 1 && used,
	   "a later pattern takes nothing away");
	ok(group_of(CHOOSE(name, "F", name), name, &used) == 2 && !used,
	   "a filter whose event another -e has is refused");
	ok(group_of(CHOOSE("sched:*", "sched:sched_s*", "F"), name, &used) == 1 && !used,
	   "as is that of a pattern that comes too late");
	ok(group_of(CHOOSE(name, "irq:*", "F", "!irq:*"), name, &used) == 1 && !used,
	   "and one whose events are excluded");
	ok(group_of(CHOOSE("cpu-clock", "irq:*", "cpu-clock", "F"), "cpu-clock", &used) == 3,
	   "a counter that is named again");
	ok(group_of(CHOOSE("function:a", "irq:*", "function:a", "F"), "function:a", &used) == 3,
	   "functions, too");
}

static void test_cpus(void)
{
	static const char *const right[] = { "0", "0-3", "0-3,8", "8,0-3", "5-5" };
	static const char *const wrong[] = {
		"", ",", "1,", ",1", "1,,2", "-1", "1-", "3-1", "a", "1 ", " 1", "1-2-3", "0x1",
	};

	for (size_t i = 0; i < ARRAY_SIZE(right); i++)
		ok(!check_cpu_list(right[i]), "CPUs '%s' are understood", right[i]);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		ok(check_cpu_list(wrong[i]), "CPUs '%s' are refused", wrong[i]);
	ok(check_cpus("0", "") == EXIT_DONE, "CPU 0 is there");
	ok(check_cpus("0-1000000", "") == EXIT_FAILED, "a million are not");
}

static void test_values(void)
{
	struct tracing tracing = { 0 };
	struct ktb_event_options options;

	ok(!tracing_set(&tracing, 'p', "3,1,3") && tracing.pids.nr == 2, "processes, each once");
	ok(tracing_set(&tracing, 'p', "1,,2"), "an empty one is refused");
	ok(tracing_set(&tracing, 'p', "0"), "process 0 is refused");
	ok(tracing_set(&tracing, 't', "99999999999"), "a thread beyond all numbers is refused");
	ok(tracing_set(&tracing, 'c', "0"), "period 0 is refused");
	ok(!tracing_set(&tracing, 'c', "7") && tracing.period == 7, "a period");
	ok(tracing_set(&tracing, OPTION_MAX_STACK, "0"), "no frames are refused");
	ok(tracing_set(&tracing, OPTION_MAX_STACK, "513"), "more than 512 are refused");
	ok(tracing_set(&tracing, OPTION_MAX_STACK, "4294967297"), "far more, too");
	ok(tracing_set(&tracing, OPTION_MAX_EVENTS, "1025"), "more than 1024 events are refused");
	tracing.max_stack = 0;
	ok(!tracing_set(&tracing, 'g', NULL) && tracing.max_stack == 127, "-g is 127 frames");
	ok(!tracing_set(&tracing, OPTION_MAX_STACK, "5"), "a number of frames");
	ok(!tracing_set(&tracing, 'g', NULL) && tracing.max_stack == 5, "-g leaves it as it is");
	tracing_event_options(&tracing, &options);
	ok(options.inherit && options.nr_pids == 2 && options.period == 7,
	   "processes are followed");
	tracing.no_inherit = true;
	tracing_event_options(&tracing, &options);
	ok(!options.inherit, "unless not wanted");
	tracing_free(&tracing);
}

int main(void)
{
	/* What is refused is told; here that is noise. */
	if (!freopen("/dev/null", "w", stderr))
		return 1;
	test_choice();
	test_counters();
	test_groups();
	test_cpus();
	test_values();
	return tap_end();
}
