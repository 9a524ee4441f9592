// SPDX-License-Identifier: GPL-2.0-only
/*
 * stdout of a command that is not to hang on who reads it: where there is no room, a
 * signal is waited for as well. When one has come, a reader that takes nothing for a
 * second gets no more.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ktbctl.h"
#include "outlet.h"

#define BUFFER (256 << 10)

static struct outlet {
	struct outlet_signals signals;
	bool is_file; /* there is always room */
	bool gave_up;
} outlet;

static bool wait_for_room(void)
{
	const struct timespec second = { .tv_sec = 1 };
	const struct outlet_signals *signals = &outlet.signals;
	struct pollfd fds[] = {
		{ .fd = STDOUT_FILENO, .events = POLLOUT },
		{ .fd = signals->fd, .events = POLLIN },
	};
	bool stopped;
	int nr;

	if (outlet.is_file)
		return true;
	do {
		stopped = signals->is_stopped(signals->arg);
		if (stopped)
			fds[1].fd = -1;
		nr = ppoll(fds, ARRAY_SIZE(fds), stopped ? &second : NULL, &signals->waiting);
	} while (nr < 0 ? errno == EINTR : nr && !fds[0].revents);
	return nr;
}

/* What a pipe that has room takes at once, in whole lines if that can be. */
static size_t part_of(const char *text, size_t len)
{
	const char *end;

	if (outlet.is_file || len <= PIPE_BUF)
		return len;
	end = memrchr(text, '\n', PIPE_BUF);
	return end ? (size_t)(end + 1 - text) : PIPE_BUF;
}

/* Less than @len is an error, with errno. */
static ssize_t put(void *cookie, const char *text, size_t len)
{
	size_t done = 0;
	ssize_t nr;

	(void)cookie;
	while (done < len) {
		outlet.gave_up = outlet.gave_up || !wait_for_room();
		if (outlet.gave_up) {
			errno = EPIPE;
			break;
		}
		nr = write(STDOUT_FILENO, text + done, part_of(text + done, len - done));
		if (nr < 0)
			break;
		done += nr;
	}
	return (ssize_t)done;
}

/* Let what is printed go through it. Returns an exit status, the reason told. */
int outlet_open(const struct outlet_signals *signals)
{
	static char buffer[BUFFER];
	struct stat stat;
	FILE *file = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = put });

	if (!file)
		return fail("out of memory");
	setvbuf(file, buffer, _IOFBF, sizeof(buffer));
	outlet.signals = *signals;
	outlet.is_file = !fstat(STDOUT_FILENO, &stat) && S_ISREG(stat.st_mode);
	stdout = file;
	return EXIT_DONE;
}

/* Not all was written, because nobody took it. */
bool outlet_gave_up(void)
{
	return outlet.gave_up;
}
