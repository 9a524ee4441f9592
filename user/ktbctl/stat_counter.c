// SPDX-License-Identifier: GPL-2.0-only
/*
 * A counter of perf's that only counts: one descriptor for each CPU, or for each
 * thread, which the kernel hands on to what the thread makes. The module has no
 * part in it: overflows, which it would see, are no counts.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "stat_counter.h"

#define ONLINE "/sys/devices/system/cpu/online"

/* Returns 0 or a negative errno. */
static int open_one(struct stat_counter *counter, pid_t pid, int cpu)
{
	struct stat_fd *fds = reallocarray(counter->fds, counter->nr + 1, sizeof(*fds));
	int fd;

	if (!fds)
		return -ENOMEM;
	counter->fds = fds;
	fd = (int)syscall(SYS_perf_event_open, &counter->attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	fds[counter->nr++] = (struct stat_fd){ .fd = fd };
	return 0;
}

/* On each CPU of a list; one that is offline counts nothing. */
static int open_cpus(struct stat_counter *counter, pid_t pid, const char *cpus)
{
	unsigned long cpu = 0;
	int err;

	while (cpu_list_next(cpus, &cpu)) {
		err = open_one(counter, pid, (int)cpu++);
		if (err && err != -ENODEV)
			return err;
	}
	return counter->nr ? 0 : -ENODEV;
}

static int open_thread(struct stat_counter *counter, pid_t tid, const char *cpus)
{
	return cpus ? open_cpus(counter, tid, cpus) : open_one(counter, tid, -1);
}

/* The threads of a process; one that ends meanwhile is none. */
static int open_process(struct stat_counter *counter, pid_t pid, const char *cpus)
{
	unsigned int before = counter->nr;
	struct dirent *entry;
	char path[64];
	int err = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && (!err || err == -ESRCH) && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			err = open_thread(counter, atoi(entry->d_name), cpus);
	if (dir)
		closedir(dir);
	if (counter->nr > before && err == -ESRCH)
		return 0;
	return counter->nr > before || err ? err : -ESRCH;
}

static int open_system(struct stat_counter *counter, const char *cpus)
{
	char online[KTRACE_BRIDGE_CPUS_LEN + 2];
	FILE *file;
	bool good;

	if (cpus)
		return open_cpus(counter, -1, cpus);
	file = fopen(ONLINE, "re");
	good = file && fgets(online, sizeof(online), file);
	if (file)
		fclose(file);
	if (!good)
		return -ENOENT;
	online[strcspn(online, "\n")] = 0;
	return open_cpus(counter, -1, online);
}

static int open_all(struct stat_counter *counter, const struct tracing *tracing, pid_t command)
{
	int err = 0;

	if (command)
		return open_one(counter, command, -1);
	if (!tracing->pids.nr && !tracing->tids.nr)
		return open_system(counter, tracing->cpus);
	for (unsigned int i = 0; i < tracing->pids.nr && !err; i++)
		err = open_process(counter, (pid_t)tracing->pids.ids[i], tracing->cpus);
	for (unsigned int i = 0; i < tracing->tids.nr && !err; i++)
		err = open_thread(counter, (pid_t)tracing->tids.ids[i], tracing->cpus);
	return err;
}

static const char *reason(int err)
{
	switch (err) {
	case -ENOENT:
		return "this machine has no such event; without a hardware PMU take task-clock";
	case -ENODEV:
		return "no such CPU is online, or it has no such event";
	case -EOPNOTSUPP:
		return "the PMU cannot count this, or not so";
	case -ESRCH:
		return "no such process or thread";
	case -EACCES:
	case -EPERM:
		return "not permitted; see kernel.perf_event_paranoid, or be root";
	case -EMFILE:
		return "too many files are open; see ulimit -n";
	}
	return strerror(-err);
}

/*
 * Count for a command, a process that is to exec, or, if that is 0, for what is in
 * @tracing.
 * Returns an exit status, the reason told.
 */
int stat_counter_open(struct stat_counter *counter, const struct ktb_perf_event *event,
		      const struct tracing *tracing, pid_t command)
{
	int err;

	*counter = (struct stat_counter){ .attr = event->attr };
	counter->attr.sample_period = 0;
	counter->attr.freq = 0;
	counter->attr.disabled = 1;
	counter->attr.inherit = !tracing->no_inherit;
	counter->attr.enable_on_exec = !!command;
	counter->attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	err = open_all(counter, tracing, command);
	if (err) {
		stat_counter_close(counter);
		return fail("cannot count %s: %s", event->name, reason(err));
	}
	return EXIT_DONE;
}

/* A command's begin by themselves when it runs. */
int stat_counter_enable(struct stat_counter *counter)
{
	for (unsigned int i = 0; i < counter->nr && !counter->attr.enable_on_exec; i++)
		if (ioctl(counter->fds[i].fd, PERF_EVENT_IOC_ENABLE, 0))
			return fail("cannot count: %s", strerror(errno));
	return EXIT_DONE;
}

/* Each time by its own share: of two sums that are scaled the later can be the less. */
void stat_value_add(struct stat_value *value, const struct stat_reading *last,
		    const struct stat_reading *now)
{
	uint64_t count = now->value - last->value;
	uint64_t enabled = now->enabled - last->enabled, running = now->running - last->running;

	if (running && running < enabled)
		count = (uint64_t)((double)count * (double)enabled / (double)running);
	value->count += count;
	value->enabled += enabled;
	value->running += running;
}

/* What came since the last time. Returns an exit status, the reason told. */
int stat_counter_read(struct stat_counter *counter, struct stat_value *value)
{
	struct stat_reading now;

	*value = (struct stat_value){ 0 };
	for (unsigned int i = 0; i < counter->nr; i++) {
		if (read(counter->fds[i].fd, &now, sizeof(now)) != sizeof(now))
			return fail("cannot read a counter: %s", strerror(errno));
		stat_value_add(value, &counter->fds[i].last, &now);
		counter->fds[i].last = now;
	}
	return EXIT_DONE;
}

void stat_counter_close(struct stat_counter *counter)
{
	while (counter->nr)
		close(counter->fds[--counter->nr].fd);
	free(counter->fds);
	counter->fds = NULL;
}
