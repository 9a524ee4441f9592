// SPDX-License-Identifier: GPL-2.0-only
/* A raw reader of the rings of /dev/ktrace_bridge. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ktb_ring.h"

int ktb_dev_open(void)
{
	int fd = open(KTB_DEVICE, O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int ktb_dev_bind(int fd, __u32 session, int cpu)
{
	struct ktb_bind bind = { .session = session, .cpu = cpu };

	return ioctl(fd, KTB_IOC_BIND, &bind) ? -errno : 0;
}

int ktb_dev_open_bind(__u32 session, int cpu)
{
	int fd = ktb_dev_open(), error;

	if (fd < 0)
		return fd;
	error = ktb_dev_bind(fd, session, cpu);
	if (error) {
		close(fd);
		return error;
	}
	return fd;
}

int ktb_ring_map(struct ktb_ring *ring, int fd, int cpu)
{
	long page = sysconf(_SC_PAGESIZE);

	memset(ring, 0, sizeof(*ring));
	ring->page = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			  ktb_ring_offset(cpu));
	if (ring->page == MAP_FAILED)
		return -errno;
	ring->size = ring->page->data_size;
	ring->data = mmap(NULL, 2 * ring->size, PROT_READ, MAP_SHARED, fd,
			  ktb_ring_offset(cpu) + ring->page->data_offset);
	if (ring->data == MAP_FAILED) {
		int error = -errno;

		munmap(ring->page, page);
		return error;
	}
	ring->tail = ring->page->data_tail;
	ring->head = ring->tail;
	return 0;
}

void ktb_ring_unmap(struct ktb_ring *ring)
{
	munmap(ring->page, sysconf(_SC_PAGESIZE));
	munmap((void *)ring->data, 2 * ring->size);
}

const struct perf_event_header *ktb_ring_next(struct ktb_ring *ring)
{
	const struct perf_event_header *h;

	/* Not ==: a malformed record may have led beyond the head. */
	if ((__s64)(ring->head - ring->tail) <= 0) {
		/* (C) in the uapi header: sees every record before the head. */
		ring->head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
		if ((__s64)(ring->head - ring->tail) <= 0)
			return NULL;
	}
	h = (const void *)(ring->data + (ring->tail & (ring->size - 1)));
	/* A record that leads nowhere would keep the reader here for ever. */
	ring->tail += h->size ?: 8;
	return h;
}

void ktb_ring_release(struct ktb_ring *ring)
{
	/* (D) in the uapi header: after the last load from the records. */
	__atomic_store_n(&ring->page->data_tail, ring->tail, __ATOMIC_RELEASE);
}

static __u64 take64(const char **at)
{
	__u64 value;

	memcpy(&value, *at, sizeof(value));
	*at += sizeof(value);
	return value;
}

static __u32 take32(const char **at)
{
	__u32 value;

	memcpy(&value, *at, sizeof(value));
	*at += sizeof(value);
	return value;
}

static bool parse_chain(const char **at, const char *end, struct ktb_sample *s)
{
	if ((size_t)(end - *at) < sizeof(__u64))
		return false;
	s->nr_chain = take64(at);
	if (s->nr_chain > (size_t)(end - *at) / sizeof(__u64))
		return false;
	s->chain = (const __u64 *)*at;
	*at += s->nr_chain * sizeof(__u64);
	return (size_t)(end - *at) >= sizeof(__u32);
}

static bool parse_sample(const char *at, const char *end, bool chain, struct ktb_sample *s)
{
	if (end - at < 6 * 8 + 4)
		return false;
	s->id = take64(&at);
	s->ip = take64(&at);
	s->pid = take32(&at);
	s->tid = take32(&at);
	s->time = take64(&at);
	s->cpu = take32(&at);
	if (take32(&at))	/* reserved */
		return false;
	s->period = take64(&at);
	if (chain && !parse_chain(&at, end, s))
		return false;
	s->raw_size = take32(&at);
	s->raw = at;
	return s->raw_size == (size_t)(end - at);
}

/* LOST carries the id, the count, and the sample_id of sample_id_all. */
static bool parse_lost(const char *at, const char *end, struct ktb_sample *s)
{
	if (end - at != 6 * 8)
		return false;
	s->id = take64(&at);
	s->lost = take64(&at);
	s->pid = take32(&at);
	s->tid = take32(&at);
	s->time = take64(&at);
	s->cpu = take32(&at);
	if (take32(&at))	/* reserved */
		return false;
	return take64(&at) == s->id;
}

static bool parse(const struct perf_event_header *h, bool chain, struct ktb_sample *s)
{
	const char *at = (const char *)(h + 1), *end = (const char *)h + h->size;

	memset(s, 0, sizeof(*s));
	s->type = h->type;
	s->misc = h->misc;
	if (h->size < sizeof(*h) || h->size % 8)
		return false;
	if (h->type == PERF_RECORD_SAMPLE)
		return parse_sample(at, end, chain, s);
	if (h->type == PERF_RECORD_LOST)
		return parse_lost(at, end, s);
	return false;
}

bool ktb_record_parse(const struct perf_event_header *h, struct ktb_sample *s)
{
	return parse(h, false, s);
}

bool ktb_record_parse_chain(const struct perf_event_header *h, struct ktb_sample *s)
{
	return parse(h, true, s);
}

/* time, id, stream_id, then what all records but samples end with. */
static bool throttle_ok(const struct perf_event_header *h)
{
	const char *at = (const char *)(h + 1);
	__u64 time, id;

	if (h->size != sizeof(*h) + 3 * 8 + 4 * 8)
		return false;
	time = take64(&at);
	id = take64(&at);
	if (take64(&at) != id)
		return false;
	take64(&at);	/* pid and tid */
	if (take64(&at) != time)
		return false;
	take64(&at);	/* CPU */
	return take64(&at) == id;
}

void ktb_ring_walk(struct ktb_ring *ring, struct ktb_walk *walk, ktb_sample_fn fn, void *arg)
{
	bool chain = ring->page->sample_type & PERF_SAMPLE_CALLCHAIN;
	const struct perf_event_header *h;
	struct ktb_sample s;
	__u64 stated = 0;

	while ((h = ktb_ring_next(ring))) {
		walk->bytes += h->size;
		if (h->type == PERF_RECORD_THROTTLE && throttle_ok(h)) {
			walk->throttles++;
		} else if (h->type == PERF_RECORD_UNTHROTTLE && throttle_ok(h)) {
			walk->unthrottles++;
		} else if (!parse(h, chain, &s)) {
			walk->malformed++;
		} else if (s.type == PERF_RECORD_LOST) {
			walk->lost_records++;
			walk->lost += s.lost;
			stated = s.time;
		} else {
			walk->samples++;
			walk->lost_late += s.time < stated;
			stated = 0;
			if (fn)
				fn(&s, arg);
		}
	}
	if (ring->tail != ring->head)
		walk->malformed++;
	ktb_ring_release(ring);
}
