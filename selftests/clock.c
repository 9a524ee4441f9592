// SPDX-License-Identifier: GPL-2.0-only
/*
 * The clock of the records against clock_gettime(CLOCK_MONOTONIC), which the
 * test reads before and after each hit: also while the clock is sped up and slowed
 * down, is set, and gets another source.
 */
#include "ktb_test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/timex.h>
#include <time.h>

#define ENTER	"raw_syscalls:sys_enter"
#define HITS	2000
#define SOURCES	"/sys/devices/system/clocksource/clocksource0/"
/* What a clock that is readable in NMI may be off by while it is adjusted. */
#define SLACK	100000

struct span {
	__u64 before;
	__u64 after;
};

static struct span spans[HITS];
static int matched, outside;
static __u64 last;
static unsigned int id_at;	/* in a record; the arguments follow */

FIXTURE(clock)
{
	struct ktb_nl nl;
	struct ktb_session s;
	struct ktb_event e;
	char source[64];
	int fd;
};

static int file_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY);
	ssize_t len = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	if (len < 0)
		return -errno;
	text[len] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return 0;
}

static int set_source(const char *name)
{
	int fd = open(SOURCES "current_clocksource", O_WRONLY);
	ssize_t len = fd < 0 ? -1 : write(fd, name, strlen(name));

	if (fd >= 0)
		close(fd);
	return len < 0 ? -errno : 0;
}

FIXTURE_SETUP(clock)
{
	struct ktb_format f;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(set), &set));
	ASSERT_EQ(0, file_text(SOURCES "current_clocksource", self->source, sizeof(self->source)));
	ASSERT_EQ(0, ktb_format_read(ENTER, &f));
	id_at = ktb_format_field(&f, "id")->offset;
	ASSERT_CONTROL(&self->nl);
	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_clock", 0, 4 << 20, &self->s));
	self->fd = ktb_dev_open_bind(self->s.id, -1);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(clock)
{
	struct timex tx = { .modes = ADJ_FREQUENCY };

	adjtimex(&tx);
	set_source(self->source);
	close(self->fd);
	ktb_nl_close(&self->nl);
}

/* The n-th getppid() with our mark has to lie within the n-th span. */
static void take_sample(const struct ktb_sample *s, void *arg)
{
	const long *args = (const long *)(s->raw + id_at);

	(void)arg;
	outside += s->time < last;
	last = s->time;
	if (args[0] != SYS_getppid || args[1] != 0x6b7462 || matched == HITS)
		return;
	outside += s->time + SLACK < spans[matched].before ||
		   s->time > spans[matched].after + SLACK;
	matched++;
}

static void compare(struct __test_metadata *_metadata, FIXTURE_DATA(clock) *self,
		    void (*meddle)(int nr))
{
	struct ktb_walk walk = {};
	struct ktb_ring ring;

	ASSERT_EQ(0, ktb_event_attach(&self->nl, self->s.id, ENTER, getpid(), &self->e));
	for (int i = 0; i < HITS; i++) {
		if (meddle)
			meddle(i);
		spans[i].before = ktb_now();
		syscall(SYS_getppid, 0x6b7462);
		spans[i].after = ktb_now();
	}
	ASSERT_EQ(0, ktb_event_detach(&self->nl, self->s.id, self->e.id, NULL));

	matched = 0;
	outside = 0;
	last = 0;
	ASSERT_EQ(0, ktb_ring_map(&ring, self->fd, 0));
	ktb_ring_walk(&ring, &walk, take_sample, NULL);
	ktb_ring_unmap(&ring);
	EXPECT_EQ(0, walk.malformed);
	EXPECT_EQ(HITS, matched);
	EXPECT_EQ(0, outside);
}

TEST_F(clock, as_it_is)
{
	compare(_metadata, self, NULL);
}

/* Full speed forward, full speed back. */
static void adjust(int nr)
{
	struct timex tx = {
		.modes = ADJ_FREQUENCY, .freq = nr / 100 % 2 ? 500L << 16 : -(500L << 16),
	};

	if (nr % 100 == 0)
		adjtimex(&tx);
}

TEST_F(clock, adjusted)
{
	compare(_metadata, self, adjust);
}

/* CLOCK_MONOTONIC does not follow. */
static void set(int nr)
{
	struct timespec now;

	if (nr % 100 || clock_gettime(CLOCK_REALTIME, &now))
		return;
	now.tv_sec += nr / 100 % 2 ? 3600 : -3600;
	clock_settime(CLOCK_REALTIME, &now);
}

TEST_F(clock, set)
{
	compare(_metadata, self, set);
}

TEST_F(clock, every_source)
{
	char names[256], *name, *rest = names;

	ASSERT_EQ(0, file_text(SOURCES "available_clocksource", names, sizeof(names)));
	while ((name = strsep(&rest, " "))) {
		if (!*name)
			continue;
		ASSERT_EQ(0, set_source(name)) TH_LOG("%s", name);
		TH_LOG("%s", name);
		compare(_metadata, self, NULL);
	}
}

TEST_HARNESS_MAIN
