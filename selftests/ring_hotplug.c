// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rings of CPUs that come and go: what a CPU wrote stays readable and is
 * announced, the ledger stays exact, and a session ends while its CPU is away.
 */
#include "ktb_bpf.h"
#include "ktb_test.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#define SWITCH		"sched:sched_switch"
#define WAKING		"sched:sched_waking"
#define ENTER		"cpuhp:cpuhp_enter"
#define RING_SIZE	(256 * 1024UL)
#define ROUNDS		12

FIXTURE(hotplug)
{
	struct ktb_nl nl;
	struct ktb_session s;
	struct ktb_event e[2];
	int cpu;		/* that comes and goes */
	int fd;
};

static bool set_online(int cpu, bool online)
{
	char path[64];
	bool done;
	int fd;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return false;
	done = write(fd, online ? "1" : "0", 1) == 1;
	close(fd);
	return done;
}

FIXTURE_SETUP(hotplug)
{
	static const char * const names[] = { SWITCH, WAKING };

	ASSERT_CONTROL(&self->nl);
	self->cpu = ktb_cpus() - 1;
	if (!self->cpu || !set_online(self->cpu, true))
		SKIP(return, "no CPU that could go");
	ASSERT_EQ(0, ktb_pin(0));
	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_hotplug", 0, RING_SIZE, &self->s));
	for (int i = 0; i < 2; i++)
		ASSERT_EQ(0, ktb_event_attach(&self->nl, self->s.id, names[i], 0, &self->e[i]));
	self->fd = ktb_dev_open_bind(self->s.id, -1);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, O_NONBLOCK));
}

FIXTURE_TEARDOWN(hotplug)
{
	set_online(self->cpu, true);
	close(self->fd);
	ktb_session_sweep(&self->nl);
	ktb_nl_close(&self->nl);
}

/* A child that polls and reads as fast as it can: each record asks to be told. */
static pid_t start_reader(int fd)
{
	pid_t pid = fork();

	if (!pid) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		static char buf[65536];

		for (;;) {
			poll(&p, 1, 1000);
			while (read(fd, buf, sizeof(buf)) > 0)
				;
		}
	}
	return pid;
}

/*
 * A session that ends while the CPU is away, and was read while that went: a
 * wake-up left behind on it would be waited for until it is back.
 */
TEST_F_TIMEOUT(hotplug, session_ends_while_cpu_is_away, 90)
{
	for (int round = 0; round < ROUNDS; round++) {
		pid_t pid = start_reader(self->fd);

		usleep(20000);
		ASSERT_TRUE(set_online(self->cpu, false));
		kill(pid, SIGKILL);
		EXPECT_EQ(128 + SIGKILL, ktb_reap(pid));
		close(self->fd);
		/* Nobody else could wait for it: within the test's time, or never. */
		ASSERT_EQ(0, ktb_session_del(&self->nl, self->s.id));
		ASSERT_TRUE(set_online(self->cpu, true));
		ASSERT_EQ(0, ktb_session_new(&self->nl, "t_hotplug", 0, RING_SIZE, &self->s));
		ASSERT_EQ(0, ktb_event_attach(&self->nl, self->s.id, SWITCH, 0, &self->e[0]));
		self->fd = ktb_dev_open_bind(self->s.id, -1);
		ASSERT_LE(0, self->fd);
	}
}

static void count_from(const struct ktb_sample *s, void *arg)
{
	__u64 *count = arg;

	(void)s;
	(*count)++;
}

/* A CPU that is away: its records stay, all of them, the last ones too. */
TEST_F_TIMEOUT(hotplug, records_of_a_cpu_that_is_away, 60)
{
	struct pollfd p = { .fd = self->fd, .events = POLLIN };
	__u64 written = 0, seen = 0;
	struct ktb_walk walk = {};
	struct ktb_ring ring;

	ASSERT_TRUE(set_online(self->cpu, false));
	EXPECT_EQ(1, poll(&p, 1, 5000));
	ASSERT_EQ(0, ktb_session_enable(&self->nl, self->s.id, false));
	ASSERT_EQ(0, ktb_session_get(&self->nl, self->s.id, &self->s));
	for (int i = 0; i < self->s.nrings; i++)
		EXPECT_EQ(self->s.ring[i].cpu != (__u32)self->cpu, self->s.ring[i].online);
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, ktb_event_get(&self->nl, self->s.id, self->e[i].id, &self->e[i]));
		EXPECT_LEDGER(&self->e[i].sum);
		for (int c = 0; c < self->e[i].ncpus; c++)
			if (self->e[i].cpu[c].cpu == (__u32)self->cpu)
				written += self->e[i].cpu[c].written;
	}
	ASSERT_EQ(0, ktb_ring_map(&ring, self->fd, self->cpu));
	ktb_ring_walk(&ring, &walk, count_from, &seen);
	EXPECT_LT(0, written);
	EXPECT_EQ(written, seen);
	EXPECT_EQ(0, walk.malformed);
	ktb_ring_unmap(&ring);
}

static bool is_over(pid_t pid)
{
	siginfo_t info = {};

	return !waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid;
}

/* What comes between the last look and the end of a CPU is announced, too. */
TEST_F_TIMEOUT(hotplug, last_records_are_announced, 60)
{
	struct pollfd p = { .events = POLLIN };
	char buf[65536];

	close(self->fd);
	self->fd = ktb_dev_open_bind(self->s.id, self->cpu);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, O_NONBLOCK));
	p.fd = self->fd;
	for (int round = 0; round < 3; round++) {
		pid_t pid = fork();
		bool gone;

		if (!pid) {
			usleep(50000);
			_exit(!set_online(self->cpu, false));
		}
		/* To the end of the CPU, and all that it wrote. */
		do {
			gone = is_over(pid);
			while (poll(&p, 1, 500) == 1) {
				EXPECT_EQ(POLLIN, p.revents);
				while (read(self->fd, buf, sizeof(buf)) > 0)
					;
			}
		} while (!gone);
		EXPECT_EQ(0, ktb_reap(pid));
		EXPECT_EQ(-1, read(self->fd, buf, sizeof(buf)));
		EXPECT_EQ(EAGAIN, errno);
		ASSERT_TRUE(set_online(self->cpu, true));
		/* And when it is back, it wakes its readers as before. */
		EXPECT_EQ(1, poll(&p, 1, 5000));
	}
}

/* Again and again, with a session whose ring was never there at first. */
TEST_F_TIMEOUT(hotplug, session_made_without_the_cpu, 60)
{
	struct ktb_session s;
	int fd;

	ASSERT_TRUE(set_online(self->cpu, false));
	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_later", 0, RING_SIZE, &s));
	ASSERT_EQ(0, ktb_event_attach(&self->nl, s.id, SWITCH, 0, NULL));
	EXPECT_EQ(-ENXIO, ktb_dev_open_bind(s.id, self->cpu));
	ASSERT_TRUE(set_online(self->cpu, true));
	fd = ktb_dev_open_bind(s.id, self->cpu);
	ASSERT_LE(0, fd);
	{
		struct pollfd p = { .fd = fd, .events = POLLIN };

		EXPECT_EQ(1, poll(&p, 1, 5000));
	}
	close(fd);
}

/* Number of the step of CPU hotplug at which our rings go quiet, 0 if there is none. */
static int quiet_from(void)
{
	FILE *states = fopen("/sys/devices/system/cpu/hotplug/states", "re");
	char line[128];
	int step = 0;

	while (states && !step && fgets(line, sizeof(line), states))
		if (strstr(line, "ktrace_bridge:online"))
			step = atoi(line);
	if (states)
		fclose(states);
	return step;
}

/* Takes the steps below @step of cpuhp_enter. */
static int program_below(int step)
{
	const struct ktb_field *idx;
	struct ktb_prog p = {};
	struct ktb_format f;

	if (ktb_format_read(ENTER, &f))
		return -ENOENT;
	idx = ktb_format_field(&f, "idx");
	if (!idx)
		return -ENOENT;
	ktb_emit(&p, BPF_LDX | BPF_MEM | BPF_W, 7, 1, idx->offset, 0);
	ktb_emit_end_if(&p, BPF_JMP | BPF_JGE, 7, step);
	ktb_emit_mov_imm(&p, 7, 1);
	ktb_emit_end(&p, 7);
	return ktb_prog_load(BPF_PROG_TYPE_TRACEPOINT, &p);
}

/* A first loss while nobody is woken: that is told when the CPU is gone. */
TEST_F_TIMEOUT(hotplug, first_loss_of_a_cpu_that_goes, 60)
{
	struct ktb_nl ear;
	struct ktb_ring ring;
	struct ktb_notice n;
	struct ktb_session s;
	struct ktb_event e;
	int program, fd, step = quiet_from();
	char cpus[16];
	const struct ktb_attach how = {
		.name = ENTER, .cpus = cpus, .program = &program,
	};

	ASSERT_LT(0, step);
	program = program_below(step);
	ASSERT_LE(0, program) TH_LOG("%s", ktb_bpf_log);
	snprintf(cpus, sizeof(cpus), "%d", self->cpu);
	ASSERT_EQ(0, ktb_session_new(&self->nl, "t_loss", 0, 4096, &s));
	fd = ktb_dev_open_bind(s.id, self->cpu);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ktb_ring_map(&ring, fd, self->cpu));

	/* All but full. */
	ASSERT_EQ(0, ktb_pin(self->cpu));
	ASSERT_EQ(0, ktb_event_attach(&self->nl, s.id, "raw_syscalls:sys_enter", gettid(), &e));
	while (ring.page->data_head < 3500)
		getppid();
	ASSERT_EQ(0, ktb_event_detach(&self->nl, s.id, e.id, &e));
	ASSERT_EQ(0, ktb_pin(0));
	ASSERT_EQ(0, ktb_ledger_lost(&e.sum));

	ASSERT_EQ(0, ktb_listen(&ear));
	ASSERT_EQ(0, ktb_event_attach_as(&self->nl, s.id, &how, &e)) TH_LOG("%s", self->nl.text);
	ASSERT_TRUE(set_online(self->cpu, false));
	ASSERT_EQ(0, ktb_event_detach(&self->nl, s.id, e.id, &e));
	EXPECT_LT(0, e.sum.lost_full);
	do {
		ASSERT_EQ(0, ktb_hear(&ear, KTB_CMD_LOST_NTF, &n));
	} while (n.session != s.id);
	EXPECT_EQ(self->cpu, n.cpu);
	close(program);
	ktb_ring_unmap(&ring);
	close(fd);
	ktb_nl_close(&ear);
}

TEST_HARNESS_MAIN
