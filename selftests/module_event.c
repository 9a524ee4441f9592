// SPDX-License-Identifier: GPL-2.0-only
/*
 * A tracepoint of another module, through the perf core: attached like any
 * other, with perf's own records, and its module stays while it is attached.
 */
#include "ktb_test.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#define EVENT		"ktb_test:ktb_test_hit"
#define MODULE		"ktb_test_events"
#define FIRE		"/sys/module/" MODULE "/parameters/fire"
#define PERF_PAGES	64	/* a power of two */
#define HITS		200

static int load(void)
{
	int fd = open("/ktb/modules/" MODULE ".ko", O_RDONLY | O_CLOEXEC), error;

	error = syscall(SYS_finit_module, fd, "", 0) ? -errno : 0;
	close(fd);
	return error;
}

static int unload(void)
{
	return syscall(SYS_delete_module, MODULE, O_NONBLOCK) ? -errno : 0;
}

/* Perf lets go of a tracepoint's module a grace period later. */
static int unload_soon(void)
{
	int error = 0;

	ktb_wait_for((error = unload()) != -EWOULDBLOCK && error != -EBUSY, 10);
	return error;
}

static int fire(int hits)
{
	char text[16];
	int fd = open(FIRE, O_WRONLY | O_CLOEXEC), len, error;

	if (fd < 0)
		return -errno;
	len = snprintf(text, sizeof(text), "%d", hits);
	error = write(fd, text, len) == len ? 0 : -errno;
	close(fd);
	return error;
}

struct hits {
	struct ktb_format format;
	int count;
	int wrong;	/* not in order, or not as many as should be */
	__u32 size;
	char raw[HITS][64];
};

static void add(struct hits *hits, const char *raw, __u32 size)
{
	if (hits->count == HITS || size > sizeof(hits->raw[0])) {
		hits->wrong++;
		return;
	}
	hits->wrong += ktb_field_uint(&hits->format, "nr", raw) != (__u64)hits->count ||
		       ktb_field_uint(&hits->format, "of", raw) != HITS;
	hits->size = size;
	memcpy(hits->raw[hits->count++], raw, size);
}

static void take(const struct ktb_sample *s, void *arg)
{
	add(arg, s->raw, s->raw_size);
}

FIXTURE(module_event)
{
	struct ktb_nl nl;
	struct ktb_session s;
	struct ktb_event e;
	struct hits *hits;
};

FIXTURE_SETUP(module_event)
{
	ASSERT_CONTROL(&self->nl);
	ASSERT_EQ(0, load());
	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_module", 0, 1 << 20, &self->s));
	self->hits = calloc(2, sizeof(*self->hits));
	ASSERT_EQ(0, ktb_format_read(EVENT, &self->hits[0].format));
	self->hits[1].format = self->hits[0].format;
	ASSERT_EQ(0, ktb_pin(0));
}

FIXTURE_TEARDOWN(module_event)
{
	free(self->hits);
	ktb_session_del(&self->nl, self->s.id);
	unload_soon();
	ktb_nl_close(&self->nl);
}

static int open_perf(const struct hits *hits, struct perf_event_mmap_page **page)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = hits->format.id,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_RAW,
	};
	int fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -errno;
	*page = mmap(NULL, (1 + PERF_PAGES) * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return *page == MAP_FAILED ? -errno : fd;
}

/* What there is fits in, and does not wrap. */
static void read_perf(struct hits *hits, const struct perf_event_mmap_page *page)
{
	__u64 head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	const char *data = (const char *)page + 4096;
	const struct perf_event_header *h;
	__u32 size;

	for (__u64 at = 0; at < head; at += h->size) {
		h = (const void *)(data + at);
		memcpy(&size, h + 1, sizeof(size));
		if (h->type == PERF_RECORD_SAMPLE)
			add(hits, (const char *)(h + 1) + sizeof(size), size);
		else
			hits->wrong++;
	}
}

TEST_F(module_event, records_as_perfs)
{
	struct perf_event_mmap_page *page;
	struct ktb_walk walk = {};
	struct ktb_ring ring;
	int fd, perf;

	ASSERT_EQ(0, ktb_event_attach(&self->nl, self->s.id, EVENT, 0, &self->e))
		TH_LOG("%s", self->nl.text);
	EXPECT_EQ(KTB_PATH_PERF, self->e.path);
	EXPECT_EQ(self->hits[0].format.id, self->e.type);
	fd = ktb_dev_open_bind(self->s.id, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ktb_ring_map(&ring, fd, 0));
	perf = open_perf(&self->hits[1], &page);
	ASSERT_LE(0, perf);

	ASSERT_EQ(0, fire(HITS));
	ASSERT_EQ(0, ktb_event_detach(&self->nl, self->s.id, self->e.id, &self->e));
	EXPECT_LEDGER(&self->e.sum);
	EXPECT_EQ(HITS, self->e.sum.hits);
	EXPECT_EQ(HITS, self->e.sum.written);

	ktb_ring_walk(&ring, &walk, take, &self->hits[0]);
	read_perf(&self->hits[1], page);
	EXPECT_EQ(0, walk.malformed);
	EXPECT_EQ(HITS, self->hits[0].count);
	EXPECT_EQ(HITS, self->hits[1].count);
	EXPECT_EQ(0, self->hits[0].wrong);
	EXPECT_EQ(0, self->hits[1].wrong);
	EXPECT_EQ(self->hits[1].size, self->hits[0].size);
	for (int i = 0; i < HITS; i++) {
		ASSERT_EQ(0, memcmp(self->hits[0].raw[i], self->hits[1].raw[i],
				    ktb_format_end(&self->hits[0].format)))
			TH_LOG("hit %d", i);
	}
	munmap(page, (1 + PERF_PAGES) * 4096);
	close(perf);
	ktb_ring_unmap(&ring);
	close(fd);
}

/* Attached, or attached and disabled, it keeps its module. */
TEST_F(module_event, its_module_stays)
{
	ASSERT_EQ(0, ktb_event_attach(&self->nl, self->s.id, EVENT, 0, &self->e));
	EXPECT_EQ(-EWOULDBLOCK, unload());
	ASSERT_EQ(0, ktb_event_enable(&self->nl, self->s.id, self->e.id, false));
	EXPECT_EQ(-EWOULDBLOCK, unload());
	ASSERT_EQ(0, fire(HITS));
	ASSERT_EQ(0, ktb_event_detach(&self->nl, self->s.id, self->e.id, &self->e));
	EXPECT_EQ(0, self->e.sum.hits);
	EXPECT_EQ(0, unload_soon());
	/* Now it is not there any more, and comes again with it. */
	EXPECT_REFUSED(&self->nl, ENOENT, "event",
		       ktb_event_attach(&self->nl, self->s.id, EVENT, 0, NULL));
	ASSERT_EQ(0, load());
	EXPECT_EQ(0, ktb_event_attach(&self->nl, self->s.id, EVENT, 0, NULL));
}

/* The end of the session is the end of it, too. */
TEST_F(module_event, it_goes_with_the_session)
{
	ASSERT_EQ(0, ktb_event_attach(&self->nl, self->s.id, EVENT, 0, NULL));
	EXPECT_EQ(-EWOULDBLOCK, unload());
	ASSERT_EQ(0, ktb_session_del(&self->nl, self->s.id));
	EXPECT_EQ(0, unload_soon());
}

/* Each of two sessions has all of it. */
TEST_F(module_event, two_sessions)
{
	struct ktb_session other;
	struct ktb_event theirs;

	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_other", 0, 1 << 16, &other));
	ASSERT_EQ(0, ktb_event_attach(&self->nl, self->s.id, EVENT, 0, &self->e));
	ASSERT_EQ(0, fire(HITS));
	ASSERT_EQ(0, ktb_event_attach(&self->nl, other.id, EVENT, 0, &theirs));
	ASSERT_EQ(0, fire(HITS));
	ASSERT_EQ(0, ktb_event_detach(&self->nl, self->s.id, self->e.id, &self->e));
	ASSERT_EQ(0, fire(HITS));
	ASSERT_EQ(0, ktb_event_detach(&self->nl, other.id, theirs.id, &theirs));
	EXPECT_EQ(2 * HITS, self->e.sum.hits);
	EXPECT_EQ(2 * HITS, theirs.sum.hits);
	EXPECT_LEDGER(&self->e.sum);
	EXPECT_LEDGER(&theirs.sum);
}

TEST_HARNESS_MAIN
