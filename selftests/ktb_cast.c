// SPDX-License-Identifier: GPL-2.0-only
/* A process that plays a scene while it is traced. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "ktb_cast.h"
#include "ktb_ring.h"
#include "ktb_tracefs.h"
#include "ktb_worker.h"

static struct ktb_cast *map(int fd)
{
	struct ktb_cast *cast;

	cast = mmap(NULL, sizeof(*cast), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return cast == MAP_FAILED ? NULL : cast;
}

struct ktb_cast *ktb_cast_new(void)
{
	/* Not closed on exec: the program that is executed maps it again. */
	int fd = memfd_create("cast", 0);
	struct ktb_cast *cast;

	if (fd < 0 || ftruncate(fd, sizeof(*cast)))
		return NULL;
	cast = map(fd);
	if (!cast || pipe(cast->gate))
		return NULL;
	cast->fd = fd;
	return cast;
}

void ktb_cast_free(struct ktb_cast *cast)
{
	close(cast->gate[0]);
	close(cast->gate[1]);
	close(cast->fd);
	munmap(cast, sizeof(*cast));
}

pid_t ktb_cast_play(struct ktb_cast *cast, void (*scene)(struct ktb_cast *cast))
{
	pid_t pid = fork();

	if (pid)
		return pid;
	scene(cast);
	_exit(0);
}

void ktb_cast_wait(struct ktb_cast *cast)
{
	char byte;

	__atomic_add_fetch(&cast->ready, 1, __ATOMIC_RELEASE);
	if (read(cast->gate[0], &byte, 1) != 1)
		_exit(2);
}

void ktb_cast_act(struct ktb_cast *cast, int calls, bool seen)
{
	struct ktb_actor *actor = &cast->actor[__atomic_fetch_add(&cast->n, 1, __ATOMIC_RELAXED)];

	actor->calls = calls;
	actor->seen = seen;
	actor->tid = syscall(SYS_gettid);
	for (int i = 0; i < calls; i++)
		syscall(SYS_getppid);
}

void *ktb_cast_thread(void *arg)
{
	const struct ktb_role *role = arg;

	if (role->waits)
		ktb_cast_wait(role->cast);
	ktb_cast_act(role->cast, role->calls, role->seen);
	return NULL;
}

void ktb_cast_exec(struct ktb_cast *cast, int calls, bool seen)
{
	char fd[16], how_often[16];

	snprintf(fd, sizeof(fd), "%d", cast->fd);
	snprintf(how_often, sizeof(how_often), "%d", calls);
	execl("/proc/self/exe", "actor", KTB_CAST_ARG, fd, how_often, seen ? "1" : "0", NULL);
	_exit(3);
}

int ktb_cast_main(char **argv)
{
	struct ktb_cast *cast = map(atoi(argv[2]));

	if (!cast)
		return 4;
	ktb_cast_act(cast, atoi(argv[3]), atoi(argv[4]));
	return 0;
}

bool ktb_cast_is_ready(struct ktb_cast *cast, int n)
{
	return ktb_wait_for(__atomic_load_n(&cast->ready, __ATOMIC_ACQUIRE) >= n, 20);
}

void ktb_cast_go(struct ktb_cast *cast, int n)
{
	const char bytes[KTB_MAX_ACTORS] = {};

	if (write(cast->gate[1], bytes, n) != n)
		abort();
}

struct ktb_actor *ktb_cast_find(struct ktb_cast *cast, pid_t tid)
{
	for (int i = cast->n - 1; i >= 0; i--)
		if (cast->actor[i].tid == tid)
			return &cast->actor[i];
	return NULL;
}

static void take(const struct ktb_sample *s, void *arg)
{
	struct ktb_cast *cast = arg;
	struct ktb_actor *actor = ktb_cast_find(cast, s->tid);

	cast->samples++;
	if (!actor || !actor->seen)
		cast->strangers++;
	else if (ktb_syscall_nr(s->raw) == SYS_getppid)
		actor->got++;
}

int ktb_cast_read(struct ktb_cast *cast, int fd, struct ktb_walk *walk)
{
	struct ktb_ring ring;
	int error = 0;

	for (int cpu = 0; cpu < get_nprocs() && !error; cpu++) {
		error = ktb_ring_map(&ring, fd, cpu);
		if (error)
			break;
		ktb_ring_walk(&ring, walk, take, cast);
		ktb_ring_unmap(&ring);
	}
	return error;
}
