// SPDX-License-Identifier: GPL-2.0-only
/* BPF programs put together by hand, and maps, by nothing but bpf(2). */
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ktb_bpf.h"

char ktb_bpf_log[KTB_BPF_LOG];

long ktb_bpf(int cmd, union bpf_attr *attr)
{
	long ret = syscall(SYS_bpf, cmd, attr, sizeof(*attr));

	return ret < 0 ? -errno : ret;
}

int ktb_map_create(__u32 type, __u32 key, __u32 value, __u32 entries)
{
	union bpf_attr attr = {
		.map_type = type,
		.key_size = key,
		.value_size = value,
		.max_entries = entries,
		.map_flags = type == BPF_MAP_TYPE_LPM_TRIE ? BPF_F_NO_PREALLOC : 0,
	};

	return ktb_bpf(BPF_MAP_CREATE, &attr);
}

__u64 ktb_map_value(int map)
{
	__u32 key = 0;
	__u64 value = ~0ULL;
	union bpf_attr attr = {
		.map_fd = map,
		.key = (__u64)(unsigned long)&key,
		.value = (__u64)(unsigned long)&value,
	};

	return ktb_bpf(BPF_MAP_LOOKUP_ELEM, &attr) ? ~0ULL : value;
}

__u32 ktb_prog_id(int prog)
{
	struct bpf_prog_info info = {};
	union bpf_attr attr = { .info = {
		.bpf_fd = prog,
		.info_len = sizeof(info),
		.info = (__u64)(unsigned long)&info,
	} };

	return ktb_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr) ? 0 : info.id;
}

int ktb_prog_exists(__u32 id)
{
	union bpf_attr attr = { .prog_id = id };
	int fd = ktb_bpf(BPF_PROG_GET_FD_BY_ID, &attr);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

void ktb_emit(struct ktb_prog *p, __u8 code, __u8 dst, __u8 src, __s16 off, __s32 imm)
{
	p->insn[p->count++] = (struct bpf_insn) {
		.code = code, .dst_reg = dst, .src_reg = src, .off = off, .imm = imm,
	};
}

void ktb_emit_mov_reg(struct ktb_prog *p, int dst, int src)
{
	ktb_emit(p, BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0);
}

void ktb_emit_mov_imm(struct ktb_prog *p, int dst, __s32 imm)
{
	ktb_emit(p, BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, imm);
}

void ktb_emit_call(struct ktb_prog *p, __s32 helper)
{
	ktb_emit(p, BPF_JMP | BPF_CALL, 0, 0, 0, helper);
}

void ktb_emit_map(struct ktb_prog *p, int dst, int map)
{
	ktb_emit(p, BPF_LD | BPF_DW | BPF_IMM, dst, BPF_PSEUDO_MAP_FD, 0, map);
	ktb_emit(p, 0, 0, 0, 0, 0);
}

void ktb_emit_load(struct ktb_prog *p, int dst, int src, int offset)
{
	ktb_emit(p, BPF_LDX | BPF_MEM | BPF_DW, dst, src, offset, 0);
}

void ktb_emit_end_if(struct ktb_prog *p, __u8 code, int dst, __s32 imm)
{
	p->jump[p->jumps++] = p->count;
	ktb_emit(p, code | BPF_K, dst, 0, 0, imm);
}

void ktb_emit_stack(struct ktb_prog *p, int dst)
{
	ktb_emit_mov_reg(p, dst, 10);
	ktb_emit(p, BPF_ALU64 | BPF_ADD | BPF_K, dst, 0, 0, -8);
}

void ktb_emit_count(struct ktb_prog *p, int map)
{
	ktb_emit(p, BPF_ST | BPF_MEM | BPF_DW, 10, 0, -8, 0);
	ktb_emit_stack(p, 2);
	ktb_emit_map(p, 1, map);
	ktb_emit_call(p, BPF_FUNC_map_lookup_elem);
	ktb_emit_end_if(p, BPF_JMP | BPF_JEQ, 0, 0);
	ktb_emit_load(p, 7, 0, 0);
	ktb_emit(p, BPF_ALU64 | BPF_ADD | BPF_K, 7, 0, 0, 1);
	ktb_emit(p, BPF_STX | BPF_MEM | BPF_DW, 0, 7, 0, 0);
}

void ktb_emit_end(struct ktb_prog *p, int result)
{
	ktb_emit_mov_reg(p, 0, result);
	ktb_emit(p, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	/* The verifier takes no code that nothing leads to. */
	if (!p->jumps)
		return;
	for (int i = 0; i < p->jumps; i++)
		p->insn[p->jump[i]].off = p->count - p->jump[i] - 1;
	ktb_emit_mov_imm(p, 0, 0);
	ktb_emit(p, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

int ktb_prog_load(__u32 type, const struct ktb_prog *p)
{
	union bpf_attr attr = {
		.prog_type = type,
		.insns = (__u64)(unsigned long)p->insn,
		.insn_cnt = p->count,
		.license = (__u64)(unsigned long)"GPL",
		.log_buf = (__u64)(unsigned long)ktb_bpf_log,
		.log_size = sizeof(ktb_bpf_log),
		.log_level = 1,
	};

	return ktb_bpf(BPF_PROG_LOAD, &attr);
}
