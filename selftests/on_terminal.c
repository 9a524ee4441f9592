// SPDX-License-Identifier: GPL-2.0-only
/*
 * on_terminal COMMAND [ARGUMENT...]: run COMMAND on a terminal of its own, and copy
 * what it writes there to stdout. Ends with its exit status.
 */
#include <pty.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int terminal, status;
	char text[4096];
	ssize_t len;
	pid_t pid;

	if (argc < 2) {
		fprintf(stderr, "usage: on_terminal COMMAND [ARGUMENT...]\n");
		return 2;
	}
	pid = forkpty(&terminal, NULL, NULL, NULL);
	if (!pid) {
		execvp(argv[1], argv + 1);
		perror(argv[1]);
		_exit(127);
	}
	if (pid < 0) {
		perror("forkpty");
		return 1;
	}
	/* When the last of its writers is gone, reading fails. */
	while ((len = read(terminal, text, sizeof(text))) > 0)
		fwrite(text, 1, len, stdout);
	if (waitpid(pid, &status, 0) < 0 || !WIFEXITED(status))
		return 1;
	return WEXITSTATUS(status);
}
