// SPDX-License-Identifier: GPL-2.0-only
/* ignoring CHLD|HUP COMMAND [ARGUMENT...]: run COMMAND so that it inherits an ignored signal. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 3 || (strcmp(argv[1], "CHLD") && strcmp(argv[1], "HUP"))) {
		fprintf(stderr, "usage: ignoring CHLD|HUP COMMAND [ARGUMENT...]\n");
		return 2;
	}
	signal(strcmp(argv[1], "HUP") ? SIGCHLD : SIGHUP, SIG_IGN);
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
