// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "fake.h"

static void *map(int fd, size_t len, off_t offset, void *at)
{
	void *got = mmap(at, len, PROT_READ | PROT_WRITE, MAP_SHARED | (at ? MAP_FIXED : 0), fd,
			 offset);

	if (got == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	return got;
}

static void fake_ring_init(struct fake_ring *ring, unsigned int cpu, uint64_t size)
{
	const long page = sysconf(_SC_PAGESIZE);
	int fd = memfd_create("ring", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, page + (off_t)size)) {
		perror("memfd");
		exit(1);
	}
	ring->page = map(fd, page, 0, NULL);
	/* A memfd, unlike the device, has the data once: map it twice in a row. */
	ring->data = map(fd, size, page,
			 mmap(NULL, 2 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	map(fd, size, page, ring->data + size);
	close(fd);
	*ring->page = (struct ktb_ring_page){
		.magic = KTB_RING_MAGIC,
		.version = KTB_RING_VERSION,
		.size = sizeof(*ring->page),
		.cpu = cpu,
		.data_offset = page,
		.data_size = size,
		.sample_type = FAKE_SAMPLE_TYPE,
	};
	ring->ring.page = ring->page;
	ring->ring.page_len = page;
	ring->ring.data = ring->data;
	ring->ring.data_len = 2 * size;
	if (ktb_ring_check(&ring->ring)) {
		fprintf(stderr, "the fake ring is none\n");
		exit(1);
	}
}

void fake_reader_init(struct fake_reader *fake, unsigned int nr, uint64_t data_size)
{
	memset(fake, 0, sizeof(*fake));
	for (unsigned int i = 0; i < nr; i++) {
		fake_ring_init(&fake->rings[i], i, data_size);
		fake->pointers[i] = &fake->rings[i].ring;
	}
	fake->reader.fd = -1;
	fake->reader.rings = fake->pointers;
	fake->reader.nr_rings = nr;
}

void fake_reader_exit(struct fake_reader *fake)
{
	for (unsigned int i = 0; i < fake->reader.nr_rings; i++)
		ktb_ring_unmap(&fake->rings[i].ring);
}

static bool put(struct fake_ring *ring, const void *record, size_t size)
{
	uint64_t tail = __atomic_load_n(&ring->page->data_tail, __ATOMIC_ACQUIRE);

	if (ring->head + size - tail > ring->page->data_size)
		return false;
	memcpy(ring->data + (ring->head & (ring->page->data_size - 1)), record, size);
	ring->head += size;
	return true;
}

/* A sample of 80 bytes, so that a ring's end falls into the middle of one. */
bool fake_write(struct fake_ring *ring, uint64_t time, uint64_t id)
{
	struct {
		struct perf_event_header header;
		uint64_t id, ip;
		uint32_t pid, tid;
		uint64_t time;
		uint32_t cpu, reserved;
		uint64_t period;
		uint32_t raw_size;
		uint8_t raw[20];
	} sample = {
		.header = { PERF_RECORD_SAMPLE, 0, sizeof(sample) },
		.id = id,
		.ip = 0x1000 + id,
		.pid = 10,
		.tid = 11,
		.time = time,
		.cpu = ring->page->cpu,
		.period = 1,
		.raw_size = sizeof(sample.raw),
		.raw = { 0x34, 0x12 },
	};

	return put(ring, &sample, sizeof(sample));
}

void fake_write_lost(struct fake_ring *ring, uint64_t time, uint64_t lost)
{
	struct {
		struct perf_event_header header;
		uint64_t id, lost;
		uint32_t pid, tid;
		uint64_t time;
		uint32_t cpu, reserved;
		uint64_t identifier;
	} record = {
		.header = { PERF_RECORD_LOST, 0, sizeof(record) },
		.id = 7,
		.lost = lost,
		.pid = 10,
		.tid = 11,
		.time = time,
		.cpu = ring->page->cpu,
		.identifier = 7,
	};

	put(ring, &record, sizeof(record));
}

/* A record that is nothing but its size, right or wrong. */
void fake_write_header(struct fake_ring *ring, uint16_t size)
{
	struct perf_event_header header = { PERF_RECORD_SAMPLE, 0, size };

	put(ring, &header, sizeof(header));
}

void fake_publish(struct fake_ring *ring)
{
	__atomic_store_n(&ring->page->data_head, ring->head, __ATOMIC_RELEASE);
}

uint64_t fake_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}
