// SPDX-License-Identifier: GPL-2.0-only
/* on_socket COMMAND [ARGUMENT...]: run COMMAND with stdout a socket that nobody reads any more. */
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int sockets[2];

	if (argc < 2) {
		fprintf(stderr, "usage: on_socket COMMAND [ARGUMENT...]\n");
		return 2;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) ||
	    dup2(sockets[0], STDOUT_FILENO) < 0) {
		perror("socketpair");
		return 1;
	}
	close(sockets[1]);
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}
