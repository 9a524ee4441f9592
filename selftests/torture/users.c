// SPDX-License-Identifier: GPL-2.0-only
/* Others who use the same tracepoints: perf, ftrace, BPF. */
#include "torture.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>

#define HELD		4	/* users that stay from one step to the next */
#define PAGE		4096UL
#define INSTANCE	KTB_TRACEFS "/instances/torture"

static int tracepoint_id(const char *event)
{
	struct ktb_format f;
	int error = ktb_format_read(event, &f);

	return error ?: (int)f.id;
}

/* @type: of the kernel's PMU for tracepoints, or ours. */
static int perf_open(int type, const char *event, __u64 period, pid_t pid, int cpu)
{
	struct perf_event_attr attr = {
		.type = type,
		.size = sizeof(attr),
		.sample_period = period,
		.sample_type = KTB_SAMPLE_TYPE,
		.wakeup_events = 1,
	};
	int id = tracepoint_id(event), fd;

	if (id < 0)
		return id;
	attr.config = id;
	fd = syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static struct {
	int fd;
	char *ring;
	size_t len;
} perf[HELD];

static void perf_close(struct worker *w, int i)
{
	if (!perf[i].len)
		return;
	begin(w, A_PERF_CLOSE);
	if (perf[i].ring)
		munmap(perf[i].ring, perf[i].len);
	close(perf[i].fd);
	perf[i].len = 0;
	end(w, A_PERF_CLOSE, 0);
}

static void perf_start(struct worker *w, int i)
{
	const char *event = draw_event(&w->rng);
	__u64 period = 1 + draw(&w->rng, 50);
	bool everyone = draw(&w->rng, 2), thread = draw(&w->rng, 2), ours = draw(&w->rng, 2);
	enum action action = ours ? A_PMU_OPEN : A_PERF_OPEN;
	int type = ours ? ktb_pmu_type() : PERF_TYPE_TRACEPOINT;
	int cpu = draw(&w->rng, CPUS);
	pid_t pid = thread ? (pid_t)draw_pid(&w->rng) : 0;
	size_t len = PAGE * (1 + (1 << draw(&w->rng, 4)));
	int fd;

	/* Such an event holds the module. */
	if (ours && (type < 0 || __atomic_load_n(&shared->keep_off, __ATOMIC_RELAXED)))
		return;
	begin(w, action);
	fd = perf_open(type, event, period, everyone ? -1 : pid, everyone ? cpu : -1);
	/*
	 * A CPU may be off, a thread may be gone, or going: that is EACCES; the module
	 * with its PMU, too: ENOENT.
	 */
	end(w, action, fd < 0 ? fd : 0, ENODEV, ESRCH, EACCES, EINVAL, ours ? ENOENT : ESRCH);
	if (fd < 0)
		return;
	perf[i].fd = fd;
	perf[i].len = len;
	perf[i].ring = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (perf[i].ring == MAP_FAILED)
		perf[i].ring = NULL;
}

static void perf_read(struct worker *w, int i)
{
	struct perf_event_mmap_page *page = (void *)perf[i].ring;
	__u64 count[1];

	if (!perf[i].len)
		return;
	begin(w, A_PERF_READ);
	if (draw(&w->rng, 3) == 0) {
		ioctl(perf[i].fd, PERF_EVENT_IOC_DISABLE, 0);
		ioctl(perf[i].fd, PERF_EVENT_IOC_ENABLE, 0);
	}
	if (page)
		__atomic_store_n(&page->data_tail,
				 __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE),
				 __ATOMIC_RELEASE);
	end(w, A_PERF_READ, read(perf[i].fd, count, sizeof(count)) < 0 ? -errno : 0);
}

static void perf_rest(struct worker *w)
{
	for (int i = 0; i < HELD; i++)
		perf_close(w, i);
}

static void perf_step(struct worker *w)
{
	int i = draw(&w->rng, HELD);

	if (__atomic_load_n(&shared->keep_off, __ATOMIC_RELAXED)) {
		perf_rest(w);
		return;
	}
	if (draw(&w->rng, 2)) {
		perf_read(w, i);
		return;
	}
	perf_close(w, i);
	perf_start(w, i);
}

const struct kind perf_kind = {
	.name = "perf", .step = perf_step, .rest = perf_rest, .pause = 60, .modest = true,
};

static int ftrace_set(const char *top, const char *event, bool on)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/events/%s/enable", top, event);
	*strchr(path, ':') = '/';
	return ktb_write_file(path, on ? "1" : "0");
}

static void ftrace_read(struct worker *w, const char *top)
{
	char path[96], buf[4096];
	int fd, i, error = 0;

	begin(w, A_FTRACE_READ);
	snprintf(path, sizeof(path), "%s/trace_pipe", top);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		error = -errno;
	for (i = 0; fd >= 0 && i < 8 && read(fd, buf, sizeof(buf)) > 0; i++)
		continue;
	if (fd >= 0)
		close(fd);
	end(w, A_FTRACE_READ, error, EBUSY, ENOENT, ENODEV);
}

static void ftrace_step(struct worker *w)
{
	const char *top = draw(&w->rng, 2) ? KTB_TRACEFS : INSTANCE;
	const char *event = draw_event(&w->rng);

	switch (draw(&w->rng, 6)) {
	case 0 ... 1:
		begin(w, A_FTRACE_ON);
		end(w, A_FTRACE_ON, ftrace_set(top, event, true), ENOENT);
		break;
	case 2 ... 3:
		begin(w, A_FTRACE_OFF);
		end(w, A_FTRACE_OFF, ftrace_set(top, event, false), ENOENT);
		break;
	case 4:
		begin(w, A_FTRACE_INSTANCE);
		if (rmdir(INSTANCE) && errno == ENOENT)
			end(w, A_FTRACE_INSTANCE, mkdir(INSTANCE, 0700) ? -errno : 0);
		break;
	default:
		ftrace_read(w, top);
	}
}

static void ftrace_rest(struct worker *w)
{
	rmdir(INSTANCE);
	if (ktb_write_file(KTB_TRACEFS "/events/enable", "0") ||
	    ktb_write_file(KTB_TRACEFS "/trace", ""))
		complain(w, "ftrace cannot be switched off");
}

const struct kind ftrace_kind = {
	.name = "ftrace", .step = ftrace_step, .rest = ftrace_rest, .pause = 150, .modest = true,
};

static int sys_bpf(int cmd, union bpf_attr *attr)
{
	int fd = syscall(SYS_bpf, cmd, attr, sizeof(*attr));

	return fd < 0 ? -errno : fd;
}

/*
 * Looks at its event, and lets it pass: r0 = *(r1 + off); r0 = 1; exit. What it
 * looks at is there in every event: the first argument of a raw tracepoint, the
 * first field of a record.
 */
static int bpf_load(enum bpf_prog_type type)
{
	bool raw = type == BPF_PROG_TYPE_RAW_TRACEPOINT;
	const struct bpf_insn program[] = {
		{
			.code = BPF_LDX | BPF_MEM | (raw ? BPF_DW : BPF_W),
			.dst_reg = 0, .src_reg = 1, .off = raw ? 0 : 8,
		},
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 1 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = type;
	attr.insns = (unsigned long)program;
	attr.insn_cnt = ARRAY_SIZE(program);
	attr.license = (unsigned long)"GPL";
	return sys_bpf(BPF_PROG_LOAD, &attr);
}

/* A program runs where a perf event of the tracepoint is. */
static int bpf_tracepoint(const char *event, int cpu)
{
	int prog = bpf_load(BPF_PROG_TYPE_TRACEPOINT), fd, error = 0;

	if (prog < 0)
		return prog;
	fd = perf_open(PERF_TYPE_TRACEPOINT, event, 1, -1, cpu);
	if (fd >= 0 && ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog)) {
		error = -errno;
		close(fd);
	}
	close(prog);
	return error ?: fd;
}

static int bpf_raw(const char *event)
{
	int prog = bpf_load(BPF_PROG_TYPE_RAW_TRACEPOINT), fd;
	union bpf_attr attr;

	if (prog < 0)
		return prog;
	memset(&attr, 0, sizeof(attr));
	attr.raw_tracepoint.name = (unsigned long)(strchr(event, ':') + 1);
	attr.raw_tracepoint.prog_fd = prog;
	fd = sys_bpf(BPF_RAW_TRACEPOINT_OPEN, &attr);
	close(prog);
	return fd;
}

static int bpf_held[HELD];	/* 0: none */

static void bpf_close(struct worker *w, int i)
{
	if (bpf_held[i] <= 0)
		return;
	begin(w, A_BPF_CLOSE);
	close(bpf_held[i]);
	bpf_held[i] = 0;
	end(w, A_BPF_CLOSE, 0);
}

static void bpf_step(struct worker *w)
{
	bool raw = draw(&w->rng, 2);
	enum action action = raw ? A_BPF_RAW : A_BPF_TRACEPOINT;
	int i = draw(&w->rng, HELD), cpu = draw(&w->rng, CPUS), fd;
	const char *event = draw_event(&w->rng);

	bpf_close(w, i);
	begin(w, action);
	fd = raw ? bpf_raw(event) : bpf_tracepoint(event, cpu);
	/* The CPU may be off; a tracepoint has one program per event at most. */
	end(w, action, fd < 0 ? fd : 0, ENODEV, EEXIST);
	bpf_held[i] = fd;
}

static void bpf_rest(struct worker *w)
{
	for (int i = 0; i < HELD; i++)
		bpf_close(w, i);
}

const struct kind bpf_kind = {
	.name = "bpf", .step = bpf_step, .rest = bpf_rest, .pause = 120, .modest = true,
};
