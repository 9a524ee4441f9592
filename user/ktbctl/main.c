// SPDX-License-Identifier: GPL-2.0-only
/* ktbctl: the table of commands. */
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ktbctl.h"

static const struct command *const commands[] = {
	&cmd_attach,   &cmd_detach, &cmd_enable, &cmd_disable, &cmd_status, &cmd_read,	&cmd_record,
	&cmd_snapshot, &cmd_script, &cmd_report, &cmd_flame,   &cmd_stat,   &cmd_probe, &cmd_list,
};

static const struct command *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

static void print_commands(FILE *file)
{
	fputs("usage: ktbctl [--json] COMMAND [ARGUMENT...]\n"
	      "       ktbctl help COMMAND | --help | --version\n"
	      "\n"
	      "Control the ktrace_bridge kernel module and read what it traces.\n"
	      "\n",
	      file);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(file, "  %-8s %s\n", commands[i]->name, commands[i]->summary);
	fputs("\nExit status: 0 done, 1 failed, 2 usage.\n", file);
}

static int unknown(const char *name)
{
	const char *near = NULL;
	unsigned int distance, best = 3;

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		distance = edit_distance(name, commands[i]->name);
		if (distance >= best)
			continue;
		best = distance;
		near = commands[i]->name;
	}
	fprintf(stderr, "ktbctl: there is no command '%s'", name);
	if (near)
		fprintf(stderr, "; did you mean '%s'?\n", near);
	else
		fprintf(stderr, "; 'ktbctl --help' lists them\n");
	return EXIT_USAGE;
}

static int help(int argc, char **argv)
{
	const struct command *command;

	if (argc < 1) {
		print_commands(stdout);
		return output_flush();
	}
	command = find(argv[0]);
	if (!command)
		return unknown(argv[0]);
	fputs(command->help, stdout);
	return output_flush();
}

static bool is_help(const char *arg)
{
	return !strcmp(arg, "--help") || !strcmp(arg, "-h");
}

/* Where a command of the user's begins: what follows is its own. */
static int own_arguments(const struct command *command, int argc, char **argv)
{
	int end;

	if (!command->options)
		return argc;
	opterr = 0;
	while (getopt_long(argc, argv, command->letters, command->options, NULL) != -1)
		;
	end = optind;
	optind = 0; /* once more, from the beginning */
	return end;
}

/* Options every command knows are taken out of its arguments, up to "--". */
static int take_common(struct context *context, int argc, char **argv, bool *wants_help)
{
	int kept = 0, i, own = own_arguments(context->command, argc, argv);

	for (i = 0; i < own && strcmp(argv[i], "--"); i++) {
		if (!strcmp(argv[i], "--json"))
			context->json = true;
		else if (is_help(argv[i]))
			*wants_help = true;
		else
			argv[kept++] = argv[i];
	}
	for (; i < argc; i++)
		argv[kept++] = argv[i];
	argv[kept] = NULL;
	return kept;
}

static int run(struct context *context, int argc, char **argv)
{
	bool wants_help = false;

	context->command = find(argv[0]);
	if (!context->command)
		return unknown(argv[0]);
	argc = take_common(context, argc, argv, &wants_help);
	if (wants_help)
		return help(1, argv);
	return context->command->run(context, argc, argv);
}

/*
 * One that is closed would be the number of the next socket, and what is printed would
 * go there. Writing fails as it did.
 */
static void open_closed_files(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDONLY);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	struct context context = { 0 };

	open_closed_files();
	/* A closed pipe is seen when writing, and is no reason to die silently. */
	signal(SIGPIPE, SIG_IGN);
	for (argc--, argv++; argc; argc--, argv++) {
		if (is_help(*argv))
			return help(0, NULL);
		if (!strcmp(*argv, "help"))
			return help(argc - 1, argv + 1);
		if (!strcmp(*argv, "--version")) {
			printf("ktbctl %s\n", ktb_version());
			return output_flush();
		}
		if (strcmp(*argv, "--json"))
			return run(&context, argc, argv);
		context.json = true;
	}
	print_commands(stderr);
	return EXIT_USAGE;
}
