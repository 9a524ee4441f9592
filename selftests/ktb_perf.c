// SPDX-License-Identifier: GPL-2.0-only
/* perf_event_open(2) by hand. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ktb_perf.h"
#include "ktb_tracefs.h"

#define PAGE	4096

int ktb_pmu_type(void)
{
	FILE *file = fopen(KTB_PMU "/type", "r");
	int type = -EINVAL;

	if (!file)
		return -errno;
	if (fscanf(file, "%d", &type) != 1)
		type = -EINVAL;
	fclose(file);
	return type;
}

int ktb_tracepoint_id(const char *event)
{
	struct ktb_format f;
	int error = ktb_format_read(event, &f);

	return error ?: (int)f.id;
}

struct perf_event_attr ktb_perf_attr(int type, int id)
{
	return (struct perf_event_attr) {
		.type = type,
		.size = sizeof(struct perf_event_attr),
		.config = id,
		.disabled = 1,
	};
}

int ktb_perf_open(const struct perf_event_attr *attr, pid_t pid, int cpu, int group,
		  unsigned long flags)
{
	int fd = syscall(SYS_perf_event_open, attr, pid, cpu, group,
			 flags | PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

__u64 ktb_perf_count(int fd)
{
	__u64 count;

	return read(fd, &count, sizeof(count)) == sizeof(count) ? count : ~0ULL;
}

int ktb_perf_map(struct ktb_perf_ring *ring, int fd, int pages)
{
	void *page = mmap(NULL, (1 + pages) * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (page == MAP_FAILED)
		return -errno;
	ring->page = page;
	ring->data = (const char *)page + PAGE;
	ring->size = pages * PAGE;
	return 0;
}

void ktb_perf_unmap(struct ktb_perf_ring *ring)
{
	munmap(ring->page, PAGE + ring->size);
}

int ktb_perf_take(struct ktb_perf_ring *ring,
		  void (*take)(const struct perf_event_header *h, void *arg), void *arg)
{
	__u64 head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	__u64 tail = ring->page->data_tail;
	int records = 0;

	while (tail != head) {
		__u64 record[256];
		const struct perf_event_header *h = (const void *)record;
		size_t size;

		/* Records are multiples of 8 and begin at such: half a header never wraps. */
		memcpy(record, ring->data + tail % ring->size, sizeof(*h));
		size = h->size;
		for (size_t i = 0; i < size && i < sizeof(record); i++)
			((char *)record)[i] = ring->data[(tail + i) % ring->size];
		records++;
		if (take && size <= sizeof(record))
			take(h, arg);
		if (!size)
			break;
		tail += size;
	}
	__atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
	return records;
}
