// SPDX-License-Identifier: GPL-2.0-only
/* Call chains as they come: whose file an address is in, and what is forgotten. */
#include <fcntl.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake.h"
#include "tap.h"
#include "tempdir.h"

#define MAP_LEN (1 << 22)

static char self[128];

#ifdef HAVE_LIBDW
/* A function of this program's to be found in a call chain. */
static __attribute__((noinline)) int find_me(int value)
{
	__asm__ volatile("" : "+r"(value));
	return value;
}

/* Where in our file find_me is; 0 if that cannot be told. */
static uint64_t place_of_me(void)
{
	FILE *file = fopen("/proc/self/maps", "re");
	const uint64_t addr = (uintptr_t)find_me;
	unsigned long long start, end, offset;
	uint64_t place = 0;
	char line[512];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%llx-%llx %*s %llx", &start, &end, &offset) == 3 &&
		    addr >= start && addr < end)
			place = addr - start + offset;
	if (file)
		fclose(file);
	return place;
}

static bool copy(const char *from, const char *to)
{
	char command[512];

	snprintf(command, sizeof(command), "cp %s %s", from, to);
	return !system(command);
}

static void *map_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *at = mmap(NULL, MAP_LEN, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	close(fd);
	return at;
}

/*
 * As in a container: for a child, our program is where there is another one for all else.
 * Returns the child, or -1, and where it has mapped it.
 */
static pid_t run_contained(const char *path, const char *ours, void **at)
{
	int fds[2];
	pid_t pid;

	if (pipe(fds))
		return -1;
	*at = MAP_FAILED;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		if (!unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
		    !mount(ours, path, NULL, MS_BIND, NULL))
			*at = map_file(path);
		if (write(fds[1], at, sizeof(*at)) == sizeof(*at))
			pause();
		_exit(0);
	}
	close(fds[1]);
	if (read(fds[0], at, sizeof(*at)) != sizeof(*at))
		*at = MAP_FAILED;
	close(fds[0]);
	return pid;
}

static void test_container(void)
{
	uint64_t chain[] = { PERF_CONTEXT_USER, 0 };
	struct ktb_sample sample = { .time = 1, .nr_chain = 2, .chain = chain };
	struct ktb_stacks *stacks = ktb_stacks_new();
	char path[64], ours[64];
	struct ktb_frame frame;
	void *at = MAP_FAILED;
	pid_t pid = -1;

	snprintf(path, sizeof(path), "%s/prog", dir);
	snprintf(ours, sizeof(ours), "%s/ours", dir);
	if (copy("/bin/sh", path) && copy(self, ours))
		pid = run_contained(path, ours, &at);
	if (at == MAP_FAILED) {
		ok(true, "a file in a container # SKIP no right to mount");
	} else {
		chain[1] = (uintptr_t)at + place_of_me();
		sample.pid = (uint32_t)pid;
		ktb_stacks_frames(stacks, &sample, &frame, 1);
		ok(frame.symbol && !strcmp(frame.symbol, "find_me") && !strcmp(frame.dso, path),
		   "a file in a container, not the one that is here: %s", frame.symbol);
	}
	if (pid > 0 && !kill(pid, SIGKILL))
		waitpid(pid, NULL, 0);
	ktb_stacks_free(stacks);
}

/* Mappings that are gone, at the latest a second after that. */
static void test_unmapped(void)
{
	uint64_t chain[] = { PERF_CONTEXT_USER, 0 };
	struct ktb_sample sample = { .pid = getpid(), .time = 1, .nr_chain = 2, .chain = chain };
	struct ktb_stacks *stacks = ktb_stacks_new();
	void *at = map_file(self);
	struct ktb_frame frame;

	chain[1] = (uintptr_t)at + place_of_me();
	ktb_stacks_frames(stacks, &sample, &frame, 1);
	ok(frame.symbol && !strcmp(frame.symbol, "find_me"), "a mapping");
	munmap(at, MAP_LEN);
	usleep(1200000);
	ktb_stacks_frames(stacks, &sample, &frame, 1);
	ok(!!frame.symbol, "is there for samples of before");
	sample.time = UINT64_MAX;
	ktb_stacks_frames(stacks, &sample, &frame, 1);
	ok(!frame.symbol && !frame.dso, "and not for others");
	ktb_stacks_free(stacks);
}
#endif

/* Who reads for long sees many processes. */
static void test_many(void)
{
	const uint64_t chain[] = { PERF_CONTEXT_USER, 0x1000 };
	struct ktb_sample sample = { .time = 1, .nr_chain = 2, .chain = chain };
	struct ktb_stacks *stacks = ktb_stacks_new();
	const size_t before = mallinfo2().uordblks;
	struct ktb_frame frame;

	for (sample.pid = 1 << 30; sample.pid < (1 << 30) + 50000; sample.pid++)
		ktb_stacks_frames(stacks, &sample, &frame, 1);
	ok(mallinfo2().uordblks < before + (8 << 20), "not all of them are remembered");
	ktb_stacks_free(stacks);
}

int main(void)
{
	tempdir_make();
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0) {
		perror("/proc/self/exe");
		return 1;
	}
#ifdef HAVE_LIBDW
	test_container();
	test_unmapped();
	find_me(0);
#endif
	test_many();
	return tap_end();
}
