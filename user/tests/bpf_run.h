/* SPDX-License-Identifier: GPL-2.0-only */
/* Runs the BPF programs that filters are made into, without a kernel. */
#ifndef TESTS_BPF_RUN_H
#define TESTS_BPF_RUN_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>

#define BPF_RUN_FAULT (~0ULL)

/* What the program is told beside its record. */
struct bpf_run {
	const void *record;
	unsigned int size;
	uint64_t pid_tgid;
	uint32_t cpu;
	const char *comm;
};

/* What it returns, or BPF_RUN_FAULT if it does what it may not do. */
uint64_t bpf_run(const struct bpf_run *run, const struct bpf_insn *insns, unsigned int nr);

#endif /* TESTS_BPF_RUN_H */
