// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sizes of rings: rounding, one page to as large as the machine allows, the
 * module's limit. oom.c has what happens when memory runs out.
 */
#include "ktb_test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define LIMIT_FILE	"/sys/module/ktrace_bridge/parameters/ring_limit"
#define ENTER		"raw_syscalls:sys_enter"
#define PAGE		4096ULL
#define GIB		(1ULL << 30)

FIXTURE(sizes)
{
	struct ktb_nl nl;
	char limit[32];
};

static __u64 read_limit(char *text, size_t size)
{
	int fd = open(LIMIT_FILE, O_RDONLY | O_CLOEXEC);
	ssize_t len = read(fd, text, size - 1);

	close(fd);
	text[len > 0 ? len : 0] = '\0';
	return strtoull(text, NULL, 10);
}

static int write_limit(const char *text)
{
	int fd = open(LIMIT_FILE, O_WRONLY | O_CLOEXEC);
	ssize_t len = write(fd, text, strlen(text));

	close(fd);
	return len > 0 ? 0 : -1;
}

FIXTURE_SETUP(sizes)
{
	ASSERT_CONTROL(&self->nl);
	ASSERT_LT(0, read_limit(self->limit, sizeof(self->limit)));
}

FIXTURE_TEARDOWN(sizes)
{
	write_limit(self->limit);
	ktb_session_sweep(&self->nl);
	ktb_nl_close(&self->nl);
}

/* Make hits, and read them, in a ring of the last CPU that has this size. */
static void use(struct __test_metadata *_metadata, FIXTURE_DATA(sizes) *self,
		const struct ktb_session *s)
{
	struct ktb_worker w = {
		.cpu = ktb_cpus() - 1, .work = ktb_work_syscalls, .count = 10, .magic = 1,
	};
	struct ktb_walk walk = {};
	struct ktb_ring ring;
	struct ktb_event e;
	int fd = ktb_dev_open_bind(s->id, w.cpu);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ktb_ring_map(&ring, fd, w.cpu));
	EXPECT_EQ(s->ring_size, ring.page->data_size);
	/* All of it is there, and empty. */
	EXPECT_EQ(0, ring.data[0]);
	EXPECT_EQ(0, ring.data[ring.size - 1]);
	EXPECT_EQ(0, ring.data[2 * ring.size - 1]);
	ASSERT_EQ(0, ktb_worker_start(&w));
	ASSERT_EQ(0, ktb_event_attach(&self->nl, s->id, ENTER, w.tid, &e));
	ktb_worker_go(&w);
	ASSERT_TRUE(ktb_worker_wait(&w));
	ktb_worker_finish(&w);
	ktb_ring_walk(&ring, &walk, NULL, NULL);
	EXPECT_LE(10, walk.samples);
	EXPECT_EQ(0, walk.malformed);
	EXPECT_EQ(0, walk.lost);
	ktb_ring_unmap(&ring);
	close(fd);
}

TEST_F(sizes, rounding)
{
	static const struct {
		__u64 asked;
		__u64 given;
	} sizes[] = {
		{ 1, PAGE }, { PAGE - 1, PAGE }, { PAGE, PAGE }, { PAGE + 1, 2 * PAGE },
		{ 2 * PAGE + 1, 4 * PAGE }, { 3 * PAGE, 4 * PAGE }, { 5 * PAGE, 8 * PAGE },
		{ 100000, 131072 }, { 1 << 20, 1 << 20 }, { (1 << 20) + 1, 1 << 21 },
	};
	struct ktb_session s, again;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		ASSERT_EQ(0, ktb_session_new(&self->nl, "t_size", 0, sizes[i].asked, &s));
		EXPECT_EQ(sizes[i].given, s.ring_size);
		ASSERT_EQ(0, ktb_session_get(&self->nl, s.id, &again));
		EXPECT_EQ(sizes[i].given, again.ring_size);
		ASSERT_EQ(ktb_cpus(), again.nrings);
		for (int j = 0; j < again.nrings; j++) {
			EXPECT_EQ(sizes[i].given, again.ring[j].size);
		}
		use(_metadata, self, &s);
		ASSERT_EQ(0, ktb_session_del(&self->nl, s.id));
	}
}

TEST_F(sizes, beyond_the_ends)
{
	static const __u64 sizes[] = { GIB + 1, 2 * GIB, 1ULL << 40, 1ULL << 63, ~0ULL };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		EXPECT_REFUSED(&self->nl, EINVAL, "ring-size",
			       ktb_session_new(&self->nl, "t_size", 0, sizes[i], NULL));
		EXPECT_TRUE(!!strstr(self->nl.text, "1 GiB"));
	}
	EXPECT_EQ(0, ktb_session_count(&self->nl));
}

/* Each power of two, until the limit or the memory says no, by name. */
TEST_F_TIMEOUT(sizes, page_to_gigabyte, 60)
{
	__u64 limit = strtoull(self->limit, NULL, 10), size, largest = 0;
	struct ktb_session s;
	int error;

	for (size = PAGE; size <= GIB; size *= 4) {
		__u64 begin = ktb_now();

		error = ktb_session_new(&self->nl, "t_size", 0, size, &s);
		EXPECT_GT(20000000000ULL * ktb_timeout_scale(), ktb_now() - begin);
		if (error)
			break;
		EXPECT_GE(limit, size * ktb_cpus());
		EXPECT_EQ(size, s.ring_size);
		use(_metadata, self, &s);
		ASSERT_EQ(0, ktb_session_del(&self->nl, s.id));
		largest = size;
	}
	EXPECT_LE(1 << 20, largest);
	if (size <= GIB) {
		EXPECT_EQ(-ENOMEM, error);
		EXPECT_TRUE(!!strcasestr(self->nl.text, "ring-size"));
	}
	EXPECT_EQ(0, ktb_session_count(&self->nl));
	/* A refusal took nothing: what went before goes again. */
	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_size", 0, largest, &s));
	EXPECT_EQ(largest, s.ring_size);
}

/* As large as the limit allows, to the byte, and what is given back is had again. */
TEST_F(sizes, limit_is_exact)
{
	struct ktb_session s;
	char text[32];

	snprintf(text, sizeof(text), "%llu", 6 * PAGE * ktb_cpus());
	ASSERT_EQ(0, write_limit(text));
	for (int round = 0; round < 3; round++) {
		ASSERT_EQ(0, ktb_session_new(&self->nl, "t_four", 0, 4 * PAGE, NULL));
		EXPECT_REFUSED(&self->nl, ENOMEM, "ring_limit",
			       ktb_session_new(&self->nl, "t_more", 0, 4 * PAGE, NULL));
		ASSERT_EQ(0, ktb_session_new(&self->nl, "t_two", 0, 2 * PAGE, &s));
		EXPECT_REFUSED(&self->nl, ENOMEM, "ring_limit",
			       ktb_session_new(&self->nl, "t_more", 0, 1, NULL));
		/* Without rings there is nothing to limit. */
		EXPECT_EQ(0, ktb_session_new(&self->nl, "t_count", KTB_SESSION_COUNT_ONLY, 0,
					     NULL));
		ASSERT_EQ(0, ktb_session_del(&self->nl, s.id));
		EXPECT_EQ(0, ktb_session_new(&self->nl, "t_one", 0, PAGE, NULL));
		ASSERT_EQ(0, ktb_session_sweep(&self->nl));
	}
	/* A limit below what is taken already takes nothing away. */
	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_four", 0, 4 * PAGE, &s));
	ASSERT_EQ(0, write_limit("1"));
	use(_metadata, self, &s);
	EXPECT_REFUSED(&self->nl, ENOMEM, "ring_limit",
		       ktb_session_new(&self->nl, "t_more", 0, 1, NULL));
	EXPECT_NE(0, write_limit("many"));
}

/* A ring lives as long as its reader, and counts as long. */
TEST_F(sizes, limit_counts_removed_sessions)
{
	struct ktb_session s;
	char text[32];
	int fd;

	snprintf(text, sizeof(text), "%llu", 4 * PAGE * ktb_cpus());
	ASSERT_EQ(0, write_limit(text));
	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_read", 0, 4 * PAGE, &s));
	fd = ktb_dev_open_bind(s.id, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ktb_session_del(&self->nl, s.id));
	EXPECT_REFUSED(&self->nl, ENOMEM, "ring_limit",
		       ktb_session_new(&self->nl, "t_more", 0, PAGE, NULL));
	close(fd);
	EXPECT_EQ(0, ktb_session_new(&self->nl, "t_more", 0, 4 * PAGE, NULL));
}

TEST_HARNESS_MAIN
