// SPDX-License-Identifier: GPL-2.0-only
/* Signals that end a command: they wait until it looks for them. */
#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>

#include "ktbctl.h"
#include "signals.h"

/*
 * Block them and what is in @set already; *@before, if not NULL, is what was blocked.
 * A blocked signal is kept although it is ignored, and nohup(1) ignores SIGHUP.
 */
void hold_signals(sigset_t *set, sigset_t *before)
{
	struct sigaction hup;

	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	if (sigaction(SIGHUP, NULL, &hup) || hup.sa_handler != SIG_IGN)
		sigaddset(set, SIGHUP);
	sigprocmask(SIG_BLOCK, set, before);
}

/*
 * Let them, a child's end and @more, if not 0, come out of a descriptor. Returns it, or
 * -1 with the reason told.
 */
int open_signals(int more)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	if (more)
		sigaddset(&set, more);
	/* Where our parent ignores it, so do we, and the kernel tells no child's end. */
	signal(SIGCHLD, SIG_DFL);
	hold_signals(&set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		fail("cannot wait for signals: %s", strerror(errno));
	return fd;
}
