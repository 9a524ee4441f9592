// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Side-band: names, forks, exits and mappings of tasks while recording, from one
 * of perf's own events per CPU that counts nothing. Its records are few. Each CPU
 * has an event with an id of its own; in the file they have one in common, so that
 * what stands in front of the records does not depend on the number of CPUs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "perfdata.h"

#define RING_PAGES 64

/* perf's ring of one CPU. */
struct source {
	int cpu;
	int fd;
	struct perf_event_mmap_page *page;
	uint64_t size; /* of the data */
};

struct ktb_sideband {
	int epoll;
	size_t page_size;
	unsigned int nr;
	struct source *sources;
	struct ktb_blob blob;
};

static int map_source(struct ktb_sideband *sideband, struct source *source)
{
	struct epoll_event event = { .events = EPOLLIN };
	void *map;

	source->size = RING_PAGES * sideband->page_size;
	map = mmap(NULL, source->size + sideband->page_size, PROT_READ | PROT_WRITE, MAP_SHARED,
		   source->fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	source->page = map;
	return epoll_ctl(sideband->epoll, EPOLL_CTL_ADD, source->fd, &event) ? -errno : 0;
}

static void close_source(const struct ktb_sideband *sideband, const struct source *source)
{
	if (source->page)
		munmap(source->page, source->size + sideband->page_size);
	close(source->fd);
}

/* A CPU that is offline or does not exist has none: no error. */
static int open_source(struct ktb_sideband *sideband, int cpu)
{
	struct source source = { .cpu = cpu }, *all;
	struct perf_event_attr attr;
	int err;

	all = ktb_array_more(sideband->sources, sideband->nr, sizeof(*all));
	if (!all)
		return -ENOMEM;
	sideband->sources = all;
	ktb_perfdata_sideband_attr(&attr);
	attr.watermark = 1;
	attr.wakeup_watermark = RING_PAGES * sideband->page_size / 4;
	source.fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (source.fd < 0)
		return errno == ENODEV ? 0 : -errno;
	err = map_source(sideband, &source);
	if (err)
		close_source(sideband, &source);
	else
		all[sideband->nr++] = source;
	return err;
}

int ktb_sideband_open(struct ktb_perfdata *file)
{
	struct ktb_sideband *sideband = calloc(1, sizeof(*sideband));
	long nr_cpus = sysconf(_SC_NPROCESSORS_CONF);
	int err = 0;

	if (!sideband)
		return ktb_perfdata_fail(file, -ENOMEM, "out of memory");
	file->sideband = sideband;
	sideband->page_size = sysconf(_SC_PAGESIZE);
	sideband->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (sideband->epoll < 0)
		err = -errno;
	for (int cpu = 0; cpu < nr_cpus && !err; cpu++)
		err = open_source(sideband, cpu);
	if (!err)
		return 0;
	ktb_sideband_close(file);
	return ktb_perfdata_fail(file, err, "cannot watch for new tasks with perf: %s",
				 strerror(-err));
}

void ktb_sideband_close(struct ktb_perfdata *file)
{
	struct ktb_sideband *sideband = file->sideband;

	if (!sideband)
		return;
	for (unsigned int i = 0; i < sideband->nr; i++)
		close_source(sideband, &sideband->sources[i]);
	if (sideband->epoll >= 0)
		close(sideband->epoll);
	ktb_blob_free(&sideband->blob);
	free(sideband->sources);
	free(sideband);
	file->sideband = NULL;
}

static bool has_source(const struct ktb_sideband *sideband, int cpu)
{
	for (unsigned int i = 0; i < sideband->nr; i++)
		if (sideband->sources[i].cpu == cpu)
			return true;
	return false;
}

/* The one from before the CPU went offline is dead, but what is in its ring is not. */
static int add_cpus(struct ktb_sideband *sideband, int cpu)
{
	long nr_cpus = sysconf(_SC_NPROCESSORS_CONF);
	int err = 0;

	if (cpu >= 0)
		return open_source(sideband, cpu);
	for (cpu = 0; cpu < nr_cpus && !err; cpu++)
		if (!has_source(sideband, cpu))
			err = open_source(sideband, cpu);
	return err;
}

int ktb_perfdata_add_cpu(struct ktb_perfdata *file, int cpu)
{
	int err = 0;

	pthread_mutex_lock(&file->lock);
	if (file->sideband)
		err = add_cpus(file->sideband, cpu);
	if (err)
		ktb_perfdata_fail(file, err, "cannot watch for new tasks on another CPU: %s",
				  strerror(-err));
	pthread_mutex_unlock(&file->lock);
	return err;
}

int ktb_perfdata_fd(const struct ktb_perfdata *file)
{
	return file->sideband ? file->sideband->epoll : -1;
}

/*
 * Everything unread, also what wraps around the ring's end, as one block. Returns 0
 * or -ENOMEM, and it is still unread.
 */
static int take(struct ktb_sideband *sideband, struct source *source)
{
	const uint8_t *data = (const uint8_t *)source->page + sideband->page_size;
	uint64_t head, tail, first;

	head = __atomic_load_n(&source->page->data_head, __ATOMIC_ACQUIRE);
	tail = source->page->data_tail;
	first = source->size - (tail & (source->size - 1));
	if (first > head - tail)
		first = head - tail;
	ktb_blob_put(&sideband->blob, data + (tail & (source->size - 1)), first);
	ktb_blob_put(&sideband->blob, data, head - tail - first);
	if (sideband->blob.failed)
		return -ENOMEM;
	__atomic_store_n(&source->page->data_tail, head, __ATOMIC_RELEASE);
	return 0;
}

/* Programs and libraries have build ids, which the end of the file will have. */
static void see_mapping(struct ktb_perfdata *file, const struct perf_event_header *record)
{
	const struct {
		uint32_t pid, tid;
		uint64_t addr, len, pgoff;
		uint32_t major, minor;
		uint64_t inode, generation;
		uint32_t prot, flags;
	} *body = (const void *)(record + 1);
	const char *path = (const char *)(body + 1);
	const size_t before = sizeof(*record) + sizeof(*body);

	if (record->type == PERF_RECORD_MMAP2 && record->size > before && path[0] == '/' &&
	    path[1] != '/' && memchr(path, 0, record->size - before))
		ktb_paths_add(&file->programs, path, body->pid, body->addr, body->addr + body->len,
			      body->inode);
}

/* The id, and how many. */
static void take_lost(struct ktb_perfdata *file, struct perf_event_header *record)
{
	uint64_t body[2] = { 0 };

	if (record->size < sizeof(*record) + sizeof(body))
		return;
	memcpy(body, record + 1, sizeof(body));
	file->stats.lost_sideband += body[1];
	body[0] = KTB_SIDEBAND_ID;
	memcpy(record + 1, body, sizeof(body));
}

/* The id is the last of every record but a sample; of a loss also the first. */
static void renumber(struct ktb_perfdata *file, struct ktb_blob *blob)
{
	const uint64_t id = KTB_SIDEBAND_ID;
	struct perf_event_header *record;
	size_t at = 0;

	while (blob->len - at >= sizeof(*record)) {
		record = (void *)(blob->data + at);
		if (record->size < sizeof(*record) + sizeof(id) || record->size > blob->len - at)
			break;
		if (record->type == PERF_RECORD_LOST)
			take_lost(file, record);
		see_mapping(file, record);
		at += record->size;
		memcpy(blob->data + at - sizeof(id), &id, sizeof(id));
	}
}

/* Returns 0, or a negative errno of writing. */
int ktb_sideband_drain(struct ktb_perfdata *file)
{
	struct ktb_sideband *sideband = file->sideband;
	int err = 0;

	for (unsigned int i = 0; sideband && i < sideband->nr && !err; i++) {
		if (take(sideband, &sideband->sources[i]))
			return ktb_perfdata_fail(file, -ENOMEM, "out of memory");
		renumber(file, &sideband->blob);
		if (sideband->blob.len)
			err = ktb_perfdata_append(file, sideband->blob.data, sideband->blob.len);
		sideband->blob.len = 0;
	}
	return err;
}
