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
	sigset_t waiting; /* what is blocked while waiting */
	bool (*is_stopped)(void);
	bool is_file; /* there is always room */
	bool gave_up;
} outlet;

static bool wait_for_room(void)
{
	const struct timespec second = { .tv_sec = 1 };
	struct pollfd fd = { .fd = STDOUT_FILENO, .events = POLLOUT };
	int nr;

	if (outlet.is_file)
		return true;
	do {
		nr = ppoll(&fd, 1, outlet.is_stopped() ? &second : NULL, &outlet.waiting);
	} while (nr < 0 && errno == EINTR);
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

/*
 * Let what is printed go through it. @waiting is what stays blocked while it waits, and
 * @is_stopped() is to say whether a signal has come. Returns an exit status, the reason
 * told.
 */
int outlet_open(const sigset_t *waiting, bool (*is_stopped)(void))
{
	static char buffer[BUFFER];
	struct stat stat;
	FILE *file = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = put });

	if (!file)
		return fail("out of memory");
	setvbuf(file, buffer, _IOFBF, sizeof(buffer));
	outlet.waiting = *waiting;
	outlet.is_stopped = is_stopped;
	outlet.is_file = !fstat(STDOUT_FILENO, &stat) && S_ISREG(stat.st_mode);
	stdout = file;
	return EXIT_DONE;
}

/* Not all was written, because nobody took it. */
bool outlet_gave_up(void)
{
	return outlet.gave_up;
}
