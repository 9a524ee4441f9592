// SPDX-License-Identifier: GPL-2.0-only
/*
 * cputime FILE COMMAND...: run it and write into FILE the nanoseconds of CPU time
 * that it and all it waited for took, which under instruction counting are
 * instructions. Its signals are passed on.
 */
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t child;

static void pass_on(int sig)
{
	if (child > 0)
		kill(child, sig);
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = pass_on };
	struct rusage usage;
	FILE *file;
	int status;

	if (argc < 3)
		errx(2, "usage: cputime FILE COMMAND...");
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	child = fork();
	if (!child) {
		execvp(argv[2], argv + 2);
		err(127, "%s", argv[2]);
	}
	while (wait4(child, &status, 0, &usage) < 0)
		if (errno != EINTR)
			err(1, "%s", argv[2]);
	file = fopen(argv[1], "w");
	if (!file || fprintf(file, "%lld\n",
			     (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000LL +
			     (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000LL) < 0 ||
	    fclose(file))
		err(1, "%s", argv[1]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
