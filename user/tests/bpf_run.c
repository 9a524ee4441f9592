// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs the BPF programs that filters are made into, without a kernel: what they use
 * of instructions and helpers, with each access checked. Of pointers, addresses are
 * shown to the program: the record at RECORD, the stack below STACK.
 */
#include <stdio.h>
#include <string.h>

#include "bpf_run.h"

#define RECORD 0x10000000ULL
#define STACK 0x20000000ULL
#define STACK_SIZE 512
#define MOST_STEPS 100000

struct machine {
	const struct bpf_run *run;
	uint64_t reg[11];
	uint8_t stack[STACK_SIZE];
	bool set[STACK_SIZE]; /* bytes that were written */
};

/* Memory that a program may read, or with @store write; NULL for other. */
static uint8_t *memory(struct machine *machine, uint64_t address, unsigned int size, bool store)
{
	uint64_t at = address - (STACK - STACK_SIZE);

	if (at < STACK_SIZE && size <= STACK_SIZE - at) {
		for (unsigned int i = 0; i < size; i++) {
			if (!store && !machine->set[at + i])
				return NULL;
			machine->set[at + i] = true;
		}
		return machine->stack + at;
	}
	at = address - RECORD;
	if (store || at < 8 || at >= machine->run->size || size > machine->run->size - at ||
	    at % size)
		return NULL;
	return (uint8_t *)machine->run->record + at;
}

static bool read_string(struct machine *machine)
{
	uint8_t *to = memory(machine, machine->reg[1], (unsigned int)machine->reg[2], true);
	uint64_t at = machine->reg[3] - RECORD;
	const char *from = (const char *)machine->run->record + at;
	size_t len;

	if (!to || !machine->reg[2] || at >= machine->run->size)
		return false;
	len = strnlen(from, machine->run->size - at);
	if (len >= machine->reg[2])
		len = machine->reg[2] - 1;
	memcpy(to, from, len);
	to[len] = 0;
	machine->reg[0] = len + 1;
	return true;
}

static bool call(struct machine *machine, int32_t helper)
{
	uint8_t *to;

	switch (helper) {
	case BPF_FUNC_get_current_pid_tgid:
		machine->reg[0] = machine->run->pid_tgid;
		return true;
	case BPF_FUNC_get_smp_processor_id:
		machine->reg[0] = machine->run->cpu;
		return true;
	case BPF_FUNC_get_current_comm:
		to = memory(machine, machine->reg[1], (unsigned int)machine->reg[2], true);
		if (!to)
			return false;
		memset(to, 0, machine->reg[2]);
		snprintf((char *)to, machine->reg[2], "%s", machine->run->comm);
		machine->reg[0] = 0;
		return true;
	case BPF_FUNC_probe_read_kernel_str:
		return read_string(machine);
	default:
		return false;
	}
}

static bool alu(uint64_t *dst, uint8_t op, uint64_t src)
{
	switch (op) {
	case BPF_MOV:
		*dst = src;
		return true;
	case BPF_ADD:
		*dst += src;
		return true;
	case BPF_SUB:
		*dst -= src;
		return true;
	case BPF_MUL:
		*dst *= src;
		return true;
	case BPF_XOR:
		*dst ^= src;
		return true;
	case BPF_AND:
		*dst &= src;
		return true;
	case BPF_OR:
		*dst |= src;
		return true;
	case BPF_LSH:
		*dst <<= src;
		return true;
	case BPF_RSH:
		*dst >>= src;
		return true;
	case BPF_ARSH:
		*dst = (uint64_t)((int64_t)*dst >> src);
		return true;
	default:
		return false;
	}
}

static bool holds(uint8_t op, uint64_t a, uint64_t b)
{
	switch (op) {
	case BPF_JA:
		return true;
	case BPF_JEQ:
		return a == b;
	case BPF_JNE:
		return a != b;
	case BPF_JLT:
		return a < b;
	case BPF_JLE:
		return a <= b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	case BPF_JSLT:
		return (int64_t)a < (int64_t)b;
	case BPF_JSLE:
		return (int64_t)a <= (int64_t)b;
	case BPF_JSGT:
		return (int64_t)a > (int64_t)b;
	case BPF_JSGE:
		return (int64_t)a >= (int64_t)b;
	default:
		return a & b; /* BPF_JSET */
	}
}

static unsigned int width(uint8_t code)
{
	switch (BPF_SIZE(code)) {
	case BPF_B:
		return 1;
	case BPF_H:
		return 2;
	case BPF_W:
		return 4;
	default:
		return 8;
	}
}

/* A load or store. */
static bool move(struct machine *machine, const struct bpf_insn *insn)
{
	bool store = BPF_CLASS(insn->code) == BPF_STX;
	uint64_t base = machine->reg[store ? insn->dst_reg : insn->src_reg];
	unsigned int size = width(insn->code);
	uint8_t *at = memory(machine, base + insn->off, size, store);

	if (!at)
		return false;
	if (store) {
		memcpy(at, &machine->reg[insn->src_reg], size);
	} else {
		machine->reg[insn->dst_reg] = 0;
		memcpy(&machine->reg[insn->dst_reg], at, size);
	}
	return true;
}

/* One instruction; *@at is moved. */
static bool step(struct machine *machine, const struct bpf_insn *insns, unsigned int *at)
{
	const struct bpf_insn *insn = &insns[(*at)++];
	uint64_t *dst = &machine->reg[insn->dst_reg];
	uint64_t src = BPF_SRC(insn->code) == BPF_X ? machine->reg[insn->src_reg] :
						      (uint64_t)(int64_t)insn->imm;

	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU64:
		return alu(dst, BPF_OP(insn->code), src);
	case BPF_LD: /* a number of 64 bits */
		*dst = (uint32_t)insn->imm | (uint64_t)(uint32_t)insns[(*at)++].imm << 32;
		return true;
	case BPF_LDX:
	case BPF_STX:
		return move(machine, insn);
	case BPF_JMP:
		if (BPF_OP(insn->code) == BPF_CALL)
			return call(machine, insn->imm);
		if (holds(BPF_OP(insn->code), *dst, src))
			*at += insn->off;
		return true;
	default:
		return false;
	}
}

uint64_t bpf_run(const struct bpf_run *run, const struct bpf_insn *insns, unsigned int nr)
{
	struct machine machine = { .run = run, .reg = { [1] = RECORD, [10] = STACK } };
	unsigned int at = 0;

	for (unsigned int steps = 0; steps < MOST_STEPS; steps++) {
		if (at >= nr)
			return BPF_RUN_FAULT;
		if (insns[at].code == (BPF_JMP | BPF_EXIT))
			return machine.reg[0];
		if (!step(&machine, insns, &at))
			return BPF_RUN_FAULT;
	}
	return BPF_RUN_FAULT;
}
