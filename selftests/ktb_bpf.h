/* SPDX-License-Identifier: GPL-2.0-only */
/* BPF programs put together by hand, and maps, by nothing but bpf(2). */
#ifndef KTB_BPF_H
#define KTB_BPF_H

#include <linux/bpf.h>
#include <linux/types.h>

#define KTB_BPF_LOG	16384

/* What the verifier said of the last program. */
extern char ktb_bpf_log[KTB_BPF_LOG];

/* bpf(2). Returns a descriptor, 0, or a negative error number. */
long ktb_bpf(int cmd, union bpf_attr *attr);

int ktb_map_create(__u32 type, __u32 key, __u32 value, __u32 entries);
/* Value 0 of an array of 64 bit numbers, ~0 if there is none. */
__u64 ktb_map_value(int map);

/* Number of a program, 0 if @prog is none; and whether a program has it. */
__u32 ktb_prog_id(int prog);
int ktb_prog_exists(__u32 id);

/* A program under construction; jumps lead to its end, which returns 0. */
struct ktb_prog {
	struct bpf_insn insn[64];
	int count;
	int jump[8];
	int jumps;
};

void ktb_emit(struct ktb_prog *p, __u8 code, __u8 dst, __u8 src, __s16 off, __s32 imm);
void ktb_emit_mov_reg(struct ktb_prog *p, int dst, int src);
void ktb_emit_mov_imm(struct ktb_prog *p, int dst, __s32 imm);
void ktb_emit_call(struct ktb_prog *p, __s32 helper);
void ktb_emit_map(struct ktb_prog *p, int dst, int map);
/* dst = the 64 bit number at @offset of what src points to */
void ktb_emit_load(struct ktb_prog *p, int dst, int src, int offset);
/* Return 0 if the comparison @code (BPF_JMP | BPF_JEQ, ...) holds. */
void ktb_emit_end_if(struct ktb_prog *p, __u8 code, int dst, __s32 imm);
/* dst = address of the number on the stack */
void ktb_emit_stack(struct ktb_prog *p, int dst);
/* r7 = how often the program came here, kept in the map; changes r0 to r5. */
void ktb_emit_count(struct ktb_prog *p, int map);
/* Return register @result. */
void ktb_emit_end(struct ktb_prog *p, int result);

/* Returns a descriptor or a negative error number. */
int ktb_prog_load(__u32 type, const struct ktb_prog *p);

#endif
