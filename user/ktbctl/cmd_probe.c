// SPDX-License-Identifier: GPL-2.0-only
/* ktbctl probe: make events at places in the kernel and in programs. */
#include <fnmatch.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ktbctl.h"
#include "probe_watch.h"
#include "signals.h"

static const char help_probe[] =
	"usage: ktbctl probe -a DEFINITION... [--temporary] [--json]\n"
	"       ktbctl probe -d NAME... [--json]\n"
	"       ktbctl probe -l [--json]\n"
	"\n"
	"Make events at places in the kernel and in programs, for 'ktbctl attach' and\n"
	"'record', perf and ftrace; remove and list them.\n"
	"\n"
	"  -a, --add DEF     make an event, '[NAME ]PLACE[ ARGUMENT...]'. NAME is 'event'\n"
	"                    or 'system:event' (ktb, the function's name); PLACE is one of\n"
	"                      FUNCTION[+OFFSET]          of the kernel\n"
	"                      PATH:FUNCTION[+OFFSET]     of a program or library\n"
	"                      PATH:OFFSET                of a file\n"
	"                    with '%return' behind it for where the function returns.\n"
	"                    The arguments are recorded with it: 'dfd=%di', 'ret=$retval',\n"
	"                    'name=+0(%si):ustring'; see ktbctl-probe(1)\n"
	"      --temporary   remove it when the last session that it was attached to lets\n"
	"                    go of it\n"
	"  -d, --del NAME    remove an event, or those of a pattern such as '*' (quote it),\n"
	"                    of system ktb if none is given\n"
	"  -l, --list        list all such events, whoever made them\n"
	"      --json        print JSON\n"
	"\n"
	"If one of several definitions is refused, no event is made.\n";

enum {
	OPTION_TEMPORARY = 256,
};

enum action {
	ACTION_NONE,
	ACTION_ADD = 'a',
	ACTION_DEL = 'd',
	ACTION_LIST = 'l',
};

struct probe_options {
	enum action action;
	bool temporary;
	const char **values; /* of -a or -d */
	unsigned int nr;
};

static const char *kind_text(enum ktb_probe_kind kind)
{
	static const char *const texts[] = { "kprobe", "kretprobe", "uprobe", "uretprobe" };

	return texts[kind];
}

static struct json_object *json_probe(const struct ktb_probe *probe)
{
	struct json_object *object = json_object_new_object();
	char name[KTRACE_BRIDGE_EVENT_NAME_LEN + 2];

	snprintf(name, sizeof(name), "%s:%s", probe->system, probe->event);
	json_object_object_add(object, "name", json_text(name, strlen(name)));
	json_object_object_add(object, "kind", json_object_new_string(kind_text(probe->kind)));
	json_object_object_add(object, "place", json_text(probe->place, strlen(probe->place)));
	json_object_object_add(object, "args", json_text(probe->args, strlen(probe->args)));
	return object;
}

static int print_json(const struct ktb_probe *probes, int nr)
{
	struct json_object *object = json_object_new_object();
	struct json_object *list = json_object_new_array();

	for (int i = 0; i < nr; i++)
		json_object_array_add(list, json_probe(&probes[i]));
	json_object_object_add(object, "probes", list);
	return output_json(object);
}

/* ---- add ---- */

/* With what tracefs was told, and a mark below what it did not like. */
static int fail_probe(const char *what, const struct ktb_probe_error *error)
{
	fail("%s: %s", what, error->text);
	if (error->command[0] && error->column >= 0)
		fprintf(stderr, "  %s\n  %*s^\n", error->command, error->column, "");
	return EXIT_FAILED;
}

static void undo(const struct ktb_probe *probes, unsigned int nr)
{
	struct ktb_probe_error error;

	while (nr--)
		ktb_probe_remove(probes[nr].system, probes[nr].event, &error);
}

static int create_each(const struct probe_options *options, const struct ktb_probe *probes)
{
	struct ktb_probe_error error;

	for (unsigned int i = 0; i < options->nr; i++) {
		if (!ktb_probe_create(&probes[i], &error))
			continue;
		undo(probes, i);
		return fail_probe(options->values[i], &error);
	}
	if (options->temporary && probe_watch(probes, options->nr)) {
		undo(probes, options->nr);
		return EXIT_FAILED;
	}
	return EXIT_DONE;
}

/* ^C in the middle would leave some of them: it waits until all are made. */
static int create_all(const struct probe_options *options, const struct ktb_probe *probes)
{
	sigset_t block, before;
	int err;

	sigemptyset(&block);
	hold_signals(&block, &before);
	err = create_each(options, probes);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return err;
}

static int report_added(const struct context *context, const struct ktb_probe *probes,
			unsigned int nr)
{
	if (context->json)
		return print_json(probes, (int)nr);
	for (unsigned int i = 0; i < nr; i++)
		printf("added %s:%s (%s at %s)\n", probes[i].system, probes[i].event,
		       kind_text(probes[i].kind), probes[i].place);
	return output_flush();
}

static int add(const struct context *context, const struct probe_options *options)
{
	struct ktb_probe *probes = calloc(options->nr, sizeof(*probes));
	struct ktb_probe_error error;
	int err = EXIT_DONE;

	if (!probes)
		return fail("out of memory");
	for (unsigned int i = 0; i < options->nr && !err; i++)
		if (ktb_probe_parse(options->values[i], &probes[i], &error))
			err = fail_probe(options->values[i], &error);
	if (!err)
		err = create_all(options, probes);
	if (!err)
		err = report_added(context, probes, options->nr);
	ktb_probe_list_free(probes, (int)options->nr);
	return err;
}

static int list_probes(struct ktb_probe **probes, int *nr)
{
	*nr = ktb_probe_list(probes);
	if (*nr < 0)
		return fail("cannot see what probes there are: %s", strerror(-*nr));
	return EXIT_DONE;
}

/* ---- del ---- */

static bool is_meant(const struct ktb_probe *probe, const char *pattern)
{
	char name[KTRACE_BRIDGE_EVENT_NAME_LEN + 2];

	/* Without a system, of those made here: '*' is not everybody's. */
	if (!strchr(pattern, ':'))
		return !strcmp(probe->system, "ktb") && !fnmatch(pattern, probe->event, 0);
	snprintf(name, sizeof(name), "%s:%s", probe->system, probe->event);
	return !fnmatch(pattern, name, 0);
}

static int del_one(const struct context *context, const struct ktb_probe *probe,
		   struct json_object *removed)
{
	struct ktb_probe_error error;

	if (ktb_probe_remove(probe->system, probe->event, &error))
		return fail("%s", error.text);
	json_object_array_add(removed, json_probe(probe));
	if (!context->json)
		printf("removed %s:%s\n", probe->system, probe->event);
	return EXIT_DONE;
}

/* All that can be, whatever else is in use. */
static int del(const struct context *context, const struct probe_options *options)
{
	struct json_object *object, *removed;
	struct ktb_probe *probes;
	int nr, err = list_probes(&probes, &nr);

	if (err)
		return err;
	object = json_object_new_object();
	removed = json_object_new_array();
	for (unsigned int v = 0; v < options->nr; v++) {
		bool found = false;

		for (int i = 0; i < nr; i++) {
			if (!probes[i].system || !is_meant(&probes[i], options->values[v]))
				continue;
			found = true;
			err |= del_one(context, &probes[i], removed);
			ktb_probe_clear(&probes[i]); /* not twice */
		}
		if (!found)
			err |= fail("there is no probe '%s'; 'ktbctl probe -l' shows all",
				    options->values[v]);
	}
	ktb_probe_list_free(probes, nr);
	json_object_object_add(object, "removed", removed);
	if (context->json)
		return err | output_json(object);
	json_object_put(object);
	return err | output_flush();
}

/* ---- list ---- */

static int list(const struct context *context)
{
	struct ktb_probe *probes;
	char name[KTRACE_BRIDGE_EVENT_NAME_LEN + 2];
	int nr, err = list_probes(&probes, &nr);

	if (err)
		return err;
	for (int i = 0; i < nr && !context->json; i++) {
		snprintf(name, sizeof(name), "%s:%s", probes[i].system, probes[i].event);
		printf("%-32s %-9s %s %s\n", name, kind_text(probes[i].kind), probes[i].place,
		       probes[i].args);
	}
	err = context->json ? print_json(probes, nr) : output_flush();
	ktb_probe_list_free(probes, nr);
	return err;
}

/* ---- the command ---- */

static int set_action(const struct context *context, struct probe_options *options, int c)
{
	if (options->action && options->action != (enum action)c)
		return fail_usage(context, "one of -a, -d and -l");
	options->action = (enum action)c;
	return EXIT_DONE;
}

static int add_value(struct probe_options *options, const char *value)
{
	const char **values = reallocarray(options->values, options->nr + 1, sizeof(*values));

	if (!values)
		return fail("out of memory");
	options->values = values;
	values[options->nr++] = value;
	return EXIT_DONE;
}

static int parse_options(const struct context *context, struct probe_options *options, int argc,
			 char **argv)
{
	static const struct option known[] = {
		{ "add", required_argument, NULL, 'a' },
		{ "del", required_argument, NULL, 'd' },
		{ "list", no_argument, NULL, 'l' },
		{ "temporary", no_argument, NULL, OPTION_TEMPORARY },
		{ 0 },
	};
	int c, err = EXIT_DONE;

	opterr = 0;
	while (!err && (c = getopt_long(argc, argv, ":a:d:l", known, NULL)) != -1) {
		if (c == '?' || c == ':')
			return fail_option(context, c, argv);
		if (c == OPTION_TEMPORARY)
			options->temporary = true;
		else
			err = set_action(context, options, c);
		if (!err && (c == 'a' || c == 'd'))
			err = add_value(options, optarg);
	}
	/* Further definitions or names need no further -a or -d. */
	while (!err && optind < argc && options->nr)
		err = add_value(options, argv[optind++]);
	if (err)
		return err;
	if (!options->action || optind < argc)
		return fail_usage(context, "-a, -d or -l?");
	if (options->temporary && options->action != ACTION_ADD)
		return fail_usage(context, "--temporary is for -a");
	return EXIT_DONE;
}

static int run_probe(struct context *context, int argc, char **argv)
{
	struct probe_options options = { 0 };
	int err = parse_options(context, &options, argc, argv);

	if (!err && options.action == ACTION_ADD)
		err = add(context, &options);
	else if (!err && options.action == ACTION_DEL)
		err = del(context, &options);
	else if (!err)
		err = list(context);
	free(options.values);
	return err;
}

const struct command cmd_probe = {
	.name = "probe",
	.summary = "make events at places in the kernel and programs",
	.help = help_probe,
	.run = run_probe,
};
