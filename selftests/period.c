// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every n-th hit, hits that count for more than one, and counting without
 * records, each for an event with a native probe and for one of the perf core.
 */
#include "ktb_test.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>

FIXTURE(period)
{
	struct ktb_nl nl;
	struct ktb_session s;
	struct ktb_event e;
	struct ktb_worker w;
};

FIXTURE_VARIANT(period)
{
	const char *event;
	__u32 path;
};

FIXTURE_VARIANT_ADD(period, native)
{
	.event = "raw_syscalls:sys_enter",
	.path = KTB_PATH_NATIVE,
};

FIXTURE_VARIANT_ADD(period, perf)
{
	.event = "syscalls:sys_enter_getppid",
	.path = KTB_PATH_PERF,
};

FIXTURE_SETUP(period)
{
	ASSERT_CONTROL(&self->nl);
	self->w = (struct ktb_worker){ .cpu = 0, .work = ktb_work_syscalls };
	ASSERT_EQ(0, ktb_worker_start(&self->w));
}

FIXTURE_TEARDOWN(period)
{
	ktb_worker_finish(&self->w);
	ktb_nl_close(&self->nl);
}

static void attach(struct __test_metadata *_metadata, FIXTURE_DATA(period) *self,
		   const FIXTURE_VARIANT(period) *variant, __u32 flags, __u64 period)
{
	const __u32 tid = self->w.tid;
	const struct ktb_attach how = {
		.name = variant->event, .tids = &tid, .ntids = 1, .period = period,
	};

	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_period", flags, flags ? 0 : 1 << 20, &self->s));
	ASSERT_EQ(0, ktb_event_attach_as(&self->nl, self->s.id, &how, &self->e))
		TH_LOG("%s: %s", how.name, self->nl.text);
	EXPECT_EQ(variant->path, self->e.path);
}

static void work(struct __test_metadata *_metadata, FIXTURE_DATA(period) *self, __u64 count)
{
	self->w.count = count;
	ktb_worker_go(&self->w);
	ASSERT_TRUE(ktb_worker_wait(&self->w));
	ASSERT_EQ(0, ktb_event_get(&self->nl, self->s.id, self->e.id, &self->e));
	EXPECT_LEDGER(&self->e.sum);
}

struct periods {
	__u64 samples;
	__u64 sum;
};

static void take_period(const struct ktb_sample *s, void *arg)
{
	struct periods *p = arg;

	p->samples++;
	p->sum += s->period;
}

/* What is left of one period goes on into the next. */
TEST_F(period, every_seventh)
{
	struct periods periods = {};
	struct ktb_walk walk = {};
	struct ktb_ring ring;
	int fd;

	attach(_metadata, self, variant, 0, 7);
	fd = ktb_dev_open_bind(self->s.id, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ktb_ring_map(&ring, fd, 0));
	work(_metadata, self, 100);
	EXPECT_EQ(7, self->e.period);
	EXPECT_EQ(100, ktb_ledger_own(&self->e.sum));
	EXPECT_EQ(14, self->e.sum.written);
	EXPECT_EQ(86, self->e.sum.not_sampled);
	work(_metadata, self, 5);
	EXPECT_EQ(15, self->e.sum.written);
	ktb_ring_walk(&ring, &walk, take_period, &periods);
	EXPECT_EQ(0, walk.malformed);
	EXPECT_EQ(15, periods.samples);
	/* Each stands for the hits of its period. */
	EXPECT_EQ(15 * 7, periods.sum);
	ktb_ring_unmap(&ring);
	close(fd);
}

TEST_F(period, longer_than_there_are_hits)
{
	attach(_metadata, self, variant, 0, 1ULL << 62);
	work(_metadata, self, 100);
	EXPECT_EQ(0, self->e.sum.written);
	EXPECT_EQ(100, self->e.sum.not_sampled);
}

TEST_F(period, none_is_refused)
{
	struct ktb_msg m;

	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_period", 0, 4096, &self->s));
	ktb_msg_init(&self->nl, &m, KTB_CMD_EVENT_ATTACH, 0);
	ktb_put_u32(&m, KTB_A_EVENT_SESSION_ID, self->s.id);
	ktb_put_str(&m, KTB_A_EVENT_NAME, variant->event);
	ktb_put_u64(&m, KTB_A_EVENT_PERIOD, 0);
	EXPECT_REFUSED(&self->nl, EINVAL, "period", ktb_nl_do(&self->nl, &m, NULL, NULL));
	EXPECT_EQ(0, ktb_event_count(&self->nl));
}

TEST_F(period, counting_only)
{
	struct ktb_session s;

	attach(_metadata, self, variant, KTB_SESSION_COUNT_ONLY, 0);
	work(_metadata, self, 1000);
	EXPECT_EQ(1000, ktb_ledger_own(&self->e.sum));
	EXPECT_EQ(1000, self->e.sum.not_sampled);
	EXPECT_EQ(0, self->e.sum.written);
	EXPECT_EQ(0, ktb_ledger_lost(&self->e.sum));
	ASSERT_EQ(0, ktb_session_get(&self->nl, self->s.id, &s));
	EXPECT_EQ(0, s.nrings);
	EXPECT_EQ(-ENODATA, ktb_dev_open_bind(self->s.id, -1));
}

/* ---- an event that counts nanoseconds ---- */

struct runtime {
	struct ktb_format format;
	__u64 samples;
	__u64 runtime;
	__u64 periods;
};

static void take_runtime(const struct ktb_sample *s, void *arg)
{
	struct runtime *r = arg;

	r->samples++;
	r->runtime += ktb_field_uint(&r->format, "runtime", s->raw);
	r->periods += s->period;
}

/*
 * sched_stat_runtime adds its runtime to perf's count: so it does in the ledger,
 * and in the period of each record.
 */
TEST(runtime_counts)
{
	const char *event = "sched:sched_stat_runtime";
	struct ktb_ring ring[KTB_MAX_CPUS];
	struct ktb_walk walk = {};
	struct runtime r = {};
	struct ktb_session s;
	struct ktb_event e;
	struct ktb_nl nl;
	int fd;

	ASSERT_CONTROL(&nl);
	ASSERT_EQ(0, ktb_format_read(event, &r.format));
	ASSERT_EQ(0, ktb_session_new(&nl, "t_runtime", 0, 1 << 20, &s));
	fd = ktb_dev_open_bind(s.id, -1);
	ASSERT_LE(0, fd);
	for (int cpu = 0; cpu < ktb_cpus(); cpu++) {
		ASSERT_EQ(0, ktb_ring_map(&ring[cpu], fd, cpu));
	}
	ASSERT_EQ(0, ktb_event_attach(&nl, s.id, event, 0, &e))
		TH_LOG("%s", nl.text);
	for (int i = 0; i < 200; i++)
		usleep(500);
	ASSERT_EQ(0, ktb_event_detach(&nl, s.id, e.id, &e));
	for (int cpu = 0; cpu < ktb_cpus(); cpu++)
		ktb_ring_walk(&ring[cpu], &walk, take_runtime, &r);
	EXPECT_EQ(0, walk.malformed);
	EXPECT_EQ(0, walk.lost);
	EXPECT_LEDGER(&e.sum);
	EXPECT_LE(200, e.sum.written);
	EXPECT_EQ(e.sum.written, r.samples);
	EXPECT_LT(r.samples, r.runtime);
	EXPECT_EQ(r.runtime, r.periods);
	EXPECT_EQ(r.runtime, e.sum.count);
	for (int cpu = 0; cpu < ktb_cpus(); cpu++)
		ktb_ring_unmap(&ring[cpu]);
	close(fd);
	ktb_nl_close(&nl);
}

TEST_HARNESS_MAIN
