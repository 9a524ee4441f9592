// SPDX-License-Identifier: GPL-2.0-only
/*
 * bpf_ring [-b BYTES] [-n PID | -p PID] [-r | -o FILE] EVENT: a BPF program on a tracepoint that
 * sends time, process, thread and the event's fields through a BPF ring buffer,
 * read with libbpf. What there is to compare with: typed pointers, loads in
 * place of helper calls wherever BPF allows them, one reservation, no copy.
 *
 *	-b BYTES	size of the ring buffer (262144)
 *	-n PID		no hits of this thread
 *	-p PID		no others
 *	-r		read and count
 *	-o FILE		read into FILE
 *
 * Without -r and -o, nothing is read until the end. Prints "ready", waits for
 * SIGTERM, and prints the records and bytes that came, headers of 8 included.
 */
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <asm/ptrace.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#define INSN(c, d, s, o, i) \
	((struct bpf_insn){ .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) })
#define MOV(dst, src)		INSN(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0)
#define MOV_IMM(dst, imm)	INSN(BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, imm)
#define LOAD(size, dst, src, off) INSN(BPF_LDX | BPF_MEM | (size), dst, src, off, 0)
#define STORE(size, dst, off, src) INSN(BPF_STX | BPF_MEM | (size), dst, src, off, 0)
#define CALL(func)		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, func)
#define JUMP_NOT_ZERO(reg, off)	INSN(BPF_JMP | BPF_JNE | BPF_K, reg, 0, off, 0)
#define EXIT()			INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

struct program {
	struct bpf_insn insns[64];
	unsigned int nr;
	unsigned int size;	/* bytes of the record so far */
	struct btf *btf;	/* the kernel's types */
};

static const char *not_of, *only_of; /* threads */
static volatile sig_atomic_t ended;
static unsigned long long records, bytes;
static FILE *file;

static void end(int sig)
{
	(void)sig;
	ended = 1;
}

static void emit(struct program *p, struct bpf_insn insn)
{
	if (p->nr == sizeof(p->insns) / sizeof(*p->insns))
		errx(1, "the program is too long");
	p->insns[p->nr++] = insn;
}

/* Append to the record, R7, what stands at an offset from a register. */
static void take(struct program *p, int size, int from, int off)
{
	static const int width[] = { [BPF_W >> 3] = 4, [BPF_DW >> 3] = 8 };

	emit(p, LOAD(size, BPF_REG_2, from, off));
	emit(p, STORE(size, BPF_REG_7, p->size, BPF_REG_2));
	p->size += width[size >> 3];
}

static int task_offset(struct program *p, const char *name)
{
	int id = btf__find_by_name_kind(p->btf, "task_struct", BTF_KIND_STRUCT);
	const struct btf_type *type = id < 0 ? NULL : btf__type_by_id(p->btf, id);

	for (int i = 0; type && i < btf_vlen(type); i++)
		if (!strcmp(btf__name_by_offset(p->btf, btf_members(type)[i].name_off), name))
			return btf_member_bit_offset(type, i) / 8;
	errx(1, "no task_struct.%s in this kernel", name);
}

/* The fields of each event; the arguments stand in R6, 8 bytes each. */

static void take_sys_enter(struct program *p)
{
	static const int args[] = {
		offsetof(struct pt_regs, rdi), offsetof(struct pt_regs, rsi),
		offsetof(struct pt_regs, rdx), offsetof(struct pt_regs, r10),
		offsetof(struct pt_regs, r8), offsetof(struct pt_regs, r9),
	};

	take(p, BPF_DW, BPF_REG_6, 8);
	emit(p, LOAD(BPF_DW, BPF_REG_1, BPF_REG_6, 0));
	for (int i = 0; i < 6; i++)
		take(p, BPF_DW, BPF_REG_1, args[i]);
}

static void take_cpu_frequency(struct program *p)
{
	take(p, BPF_W, BPF_REG_6, 0);
	take(p, BPF_W, BPF_REG_6, 8);
}

static void take_sched_switch(struct program *p)
{
	int comm = task_offset(p, "comm");

	for (int task = 8; task <= 16; task += 8) {
		emit(p, LOAD(BPF_DW, BPF_REG_1, BPF_REG_6, task));
		take(p, BPF_DW, BPF_REG_1, comm);
		take(p, BPF_DW, BPF_REG_1, comm + 8);
		take(p, BPF_W, BPF_REG_1, task_offset(p, "pid"));
		take(p, BPF_W, BPF_REG_1, task_offset(p, "prio"));
		if (task == 8) {
			take(p, BPF_W, BPF_REG_1, task_offset(p, "__state"));
			p->size += 4;
		}
	}
}

/* A text, of which it takes as much as makes 56 bytes with its length. */
static void take_console(struct program *p)
{
	const int bytes = 52;

	take(p, BPF_W, BPF_REG_6, 8);
	emit(p, MOV(BPF_REG_1, BPF_REG_7));
	emit(p, INSN(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_1, 0, 0, p->size));
	emit(p, MOV_IMM(BPF_REG_2, bytes));
	emit(p, LOAD(BPF_DW, BPF_REG_3, BPF_REG_6, 0));
	emit(p, CALL(BPF_FUNC_probe_read_kernel));
	p->size += bytes;
}

static const struct event {
	const char *name;
	void (*take)(struct program *p);
} events[] = {
	{ "raw_syscalls:sys_enter", take_sys_enter },
	{ "power:cpu_frequency", take_cpu_frequency },
	{ "sched:sched_switch", take_sched_switch },
	{ "printk:console", take_console },
};

static void assemble(struct program *p, const struct event *event, int map)
{
	unsigned int size;

	emit(p, MOV(BPF_REG_6, BPF_REG_1));
	if (not_of || only_of) {
		emit(p, CALL(BPF_FUNC_get_current_pid_tgid));
		emit(p, INSN(BPF_JMP32 | (not_of ? BPF_JNE : BPF_JEQ) | BPF_K, BPF_REG_0, 0, 2,
			     atoi(not_of ? not_of : only_of)));
		emit(p, MOV_IMM(BPF_REG_0, 0));
		emit(p, EXIT());
	}
	emit(p, INSN(BPF_LD | BPF_DW | BPF_IMM, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, map));
	emit(p, INSN(0, 0, 0, 0, 0));
	size = p->nr;
	emit(p, MOV_IMM(BPF_REG_2, 0));
	emit(p, MOV_IMM(BPF_REG_3, 0));
	emit(p, CALL(BPF_FUNC_ringbuf_reserve));
	emit(p, JUMP_NOT_ZERO(BPF_REG_0, 2));
	emit(p, MOV_IMM(BPF_REG_0, 0));
	emit(p, EXIT());
	emit(p, MOV(BPF_REG_7, BPF_REG_0));
	emit(p, CALL(BPF_FUNC_ktime_get_ns));
	emit(p, STORE(BPF_DW, BPF_REG_7, 0, BPF_REG_0));
	emit(p, CALL(BPF_FUNC_get_current_pid_tgid));
	emit(p, STORE(BPF_DW, BPF_REG_7, 8, BPF_REG_0));
	p->size = 16;
	event->take(p);
	p->insns[size].imm = p->size;
	emit(p, MOV(BPF_REG_1, BPF_REG_7));
	emit(p, MOV_IMM(BPF_REG_2, 0));
	emit(p, CALL(BPF_FUNC_ringbuf_submit));
	emit(p, MOV_IMM(BPF_REG_0, 0));
	emit(p, EXIT());
}

static void attach(const struct event *event, int map)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_RAW_TP);
	struct program p = { .btf = btf__load_vmlinux_btf() };
	int id = libbpf_find_vmlinux_btf_id(strchr(event->name, ':') + 1, BPF_TRACE_RAW_TP);
	int prog;

	if (!p.btf || id < 0)
		errx(1, "the kernel does not describe %s", event->name);
	opts.attach_btf_id = id;
	assemble(&p, event, map);
	prog = bpf_prog_load(BPF_PROG_TYPE_TRACING, "ktb_bench", "GPL", p.insns, p.nr, &opts);
	if (prog < 0)
		err(1, "the kernel refused the program");
	if (bpf_raw_tracepoint_open(NULL, prog) < 0)
		err(1, "%s", event->name);
}

static int take_record(void *context, void *data, size_t size)
{
	(void)context;
	records++;
	bytes += size + 8;
	if (file && fwrite(data, size, 1, file) != 1)
		err(1, "cannot write");
	return 0;
}

static void run(const char *name, unsigned int size, bool reads)
{
	const struct event *event = NULL;
	struct ring_buffer *ring;
	int map;

	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++)
		if (!strcmp(name, events[i].name))
			event = &events[i];
	if (!event)
		errx(2, "'%s' is none of the events that this can trace", name);

	map = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "ktb_bench", 0, 0, size, NULL);
	ring = map < 0 ? NULL : ring_buffer__new(map, take_record, NULL, NULL);
	if (!ring)
		err(1, "no ring buffer of %u bytes", size);
	attach(event, map);
	puts("ready");
	fflush(stdout);

	while (!ended) {
		if (!reads)
			pause();
		else if (ring_buffer__poll(ring, -1) < 0 && errno != EINTR)
			err(1, "cannot read");
	}
	ring_buffer__consume(ring);
	if (file && fclose(file))
		err(1, "cannot write");
	printf("%llu %llu\n", records, bytes);
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = end };
	unsigned int size = 262144;
	bool reads = false;
	int option;

	while ((option = getopt(argc, argv, "b:n:p:ro:")) != -1) {
		if (option == 'b') {
			size = strtoul(optarg, NULL, 0);
		} else if (option == 'n') {
			not_of = optarg;
		} else if (option == 'p') {
			only_of = optarg;
		} else if (option == 'r' || option == 'o') {
			reads = true;
			file = option == 'o' ? fopen(optarg, "w") : NULL;
			if (option == 'o' && !file)
				err(1, "%s", optarg);
		} else {
			return 2;
		}
	}
	if (optind != argc - 1)
		errx(2, "usage: bpf_ring [-b BYTES] [-n PID | -p PID] [-r | -o FILE] EVENT");
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	run(argv[optind], size, reads);
	return 0;
}
