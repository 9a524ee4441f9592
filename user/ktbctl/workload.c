// SPDX-License-Identifier: GPL-2.0-only
/*
 * A command that is run while something is recorded. Its process is there from
 * the beginning, so that it holds none of our descriptors, and waits for the
 * word to go until all is ready.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ktbctl.h"
#include "workload.h"

/* In the child. */
static void run_command(int go, int failed, char **argv)
{
	sigset_t none;
	char byte;
	int err;

	/* Nothing comes, but an end: we are not to go. */
	if (read(go, &byte, 1) != 1)
		_exit(0);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execvp(argv[0], argv);
	err = errno;
	if (write(failed, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(127);
}

/* Returns an exit status, the reason told. */
int workload_prepare(struct workload *workload, char **argv)
{
	int go[2], failed[2];

	if (pipe2(go, O_CLOEXEC))
		return fail("cannot run '%s': %s", argv[0], strerror(errno));
	if (pipe2(failed, O_CLOEXEC)) {
		close(go[0]);
		close(go[1]);
		return fail("cannot run '%s': %s", argv[0], strerror(errno));
	}
	workload->name = argv[0];
	workload->pid = fork();
	if (!workload->pid) {
		close(go[1]);
		close(failed[0]);
		run_command(go[0], failed[1], argv);
	}
	close(go[0]);
	close(failed[1]);
	workload->go = go[1];
	workload->failed = failed[0];
	if (workload->pid > 0)
		return EXIT_DONE;
	workload->pid = 0;
	close(go[1]);
	close(failed[0]);
	return fail("cannot run '%s': %s", argv[0], strerror(errno));
}

/* Returns once the command runs, or an exit status, the reason told. */
int workload_start(struct workload *workload)
{
	int err = 0;

	if (!workload->pid)
		return EXIT_DONE;
	if (write(workload->go, "", 1) == 1 &&
	    read(workload->failed, &err, sizeof(err)) != sizeof(err))
		return EXIT_DONE;
	err = err ? err : errno;
	waitpid(workload->pid, &workload->status, 0);
	workload->pid = 0;
	return fail("cannot run '%s': %s", workload->name, strerror(err));
}

/* See whether it has ended. */
void workload_poll(struct workload *workload)
{
	if (workload->pid && !workload->ended &&
	    waitpid(workload->pid, &workload->status, WNOHANG) == workload->pid)
		workload->ended = true;
}

/*
 * End what has not ended, which a signal may keep us from waiting for. Returns an exit
 * status: the command's own.
 */
int workload_end(struct workload *workload)
{
	sigset_t none;

	if (!workload->pid)
		return EXIT_DONE;
	close(workload->go);
	close(workload->failed);
	workload_poll(workload);
	if (!workload->ended) {
		kill(workload->pid, SIGTERM);
		/* It may take its time, or not listen. */
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		waitpid(workload->pid, &workload->status, 0);
		return EXIT_DONE;
	}
	if (WIFSIGNALED(workload->status)) {
		note("'%s' was killed by signal %d (%s)", workload->name,
		     WTERMSIG(workload->status), strsignal(WTERMSIG(workload->status)));
		return 128 + WTERMSIG(workload->status);
	}
	if (WEXITSTATUS(workload->status))
		note("'%s' ended with status %d", workload->name, WEXITSTATUS(workload->status));
	return WEXITSTATUS(workload->status);
}
