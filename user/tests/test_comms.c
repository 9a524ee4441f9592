// SPDX-License-Identifier: GPL-2.0-only
/* Names of threads, which change, and whose numbers are used again. */
#include <linux/sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake.h"
#include "tap.h"
#include "tempdir.h"

#define NOBODY 0x7ffffffe /* more than there can be */

static struct ktb_comms *comms;

static bool is_called(uint32_t tid, const char *name)
{
	return !strcmp(ktb_comms_get(comms, tid), name);
}

/* Until what is known is looked up again. */
static void wait_a_little(void)
{
	usleep(200000);
}

static void test_rename(void)
{
	const uint32_t tid = (uint32_t)syscall(SYS_gettid);

	prctl(PR_SET_NAME, "before");
	ok(is_called(tid, "before"), "a name");
	prctl(PR_SET_NAME, "after");
	wait_a_little();
	ok(is_called(tid, "after"), "a new one");
	ok(is_called(0, "<idle>") && is_called(NOBODY, "<...>"), "idle, and nobody");
}

static int clone_as(uint32_t tid)
{
	const pid_t wanted = (pid_t)tid;
	struct clone_args args = {
		.exit_signal = SIGCHLD,
		.set_tid = (uintptr_t)&wanted,
		.set_tid_size = 1,
	};
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (!pid) {
		pause();
		_exit(0);
	}
	return (int)pid;
}

/* A thread that was not there when its number was asked for. */
static void test_reuse(void)
{
	uint32_t tid = 20000;
	char path[32];
	int pid;

	do
		snprintf(path, sizeof(path), "/proc/%u", ++tid);
	while (!access(path, F_OK));
	ok(is_called(tid, "<...>"), "a thread that is not there");
	pid = clone_as(tid);
	if (pid < 0) {
		ok(true, "and is then # SKIP only root makes one of a number");
		return;
	}
	wait_a_little();
	ok(is_called(tid, "after"), "and is then");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	wait_a_little();
	ok(is_called(tid, "after"), "one that is gone keeps its name");
}

/* A record that tells a name. */
static void test_learned(void)
{
	struct {
		uint32_t type, common_pid, pid;
		char name[16];
	} raw = { 90, 0, NOBODY, "told" };
	const struct ktb_sample sample = { .raw = &raw, .raw_size = sizeof(raw) };
	struct ktb_formats *formats = ktb_formats_new();
	bool told = false;
	char path[64];

	snprintf(path, sizeof(path), "%s/events/task", dir);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/events/task/task_rename", dir);
	mkdir(path, 0700);
	fake_file(dir, "events/task/task_rename/format",
		  "name: task_rename\nID: 90\nformat:\n"
		  "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		  "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
		  "\tfield:pid_t pid;\toffset:8;\tsize:4;\tsigned:1;\n"
		  "\tfield:char newcomm[16];\toffset:12;\tsize:16;\tsigned:0;\n\n"
		  "print fmt: \"%d\", REC->pid\n");
	ktb_formats_load(formats, "task:task_rename");
	ktb_comms_learn(comms, formats, &sample);
	ok(is_called(NOBODY, "told"), "a record tells a name");
	raw.pid = (uint32_t)getpid();
	/* We may be held up for as long as it is believed. */
	for (unsigned int i = 0; i < 10 && !told; i++) {
		ktb_comms_learn(comms, formats, &sample);
		told = is_called(raw.pid, "told");
	}
	ok(told, "also of a thread whose name was known");
	wait_a_little();
	ok(is_called(NOBODY, "told") && is_called(raw.pid, "after"),
	   "which counts until something newer is known");
	ktb_formats_free(formats);
}

int main(void)
{
	tempdir_make();
	fake_tracefs(dir);
	comms = ktb_comms_new();
	test_rename();
	test_reuse();
	test_learned();
	ktb_comms_free(comms);
	return tap_end();
}
