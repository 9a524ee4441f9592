// SPDX-License-Identifier: LGPL-2.1-only
/*
 * From the tree of a filter to a BPF program, which returns 1 for a record that
 * passes. Each part is code that jumps to a label if its value is what was asked
 * for, and else goes on behind itself, so that && and || end as early as they can.
 *
 * r6 is the context, a record whose first 8 bytes are something else; strings that
 * cannot be looked at in place are brought to the stack.
 */
#include <errno.h>
#include <string.h>

#include "filter.h"

#define CONTEXT 6
#define FRAME 10
#define STACK (-(KTB_FILTER_TEXT + 8)) /* where on it */
#define OFFSET_MASK 0xffff /* of a dynamic field: length << 16 | offset */

/* ---- instructions ---- */

void ktb_filter_emit(struct ktb_filter_code *code, uint8_t op, int dst, int src, int off,
		     int32_t imm)
{
	if (code->nr < KTB_FILTER_INSNS)
		code->insns[code->nr] = (struct bpf_insn){
			.code = op,
			.dst_reg = dst,
			.src_reg = src,
			.off = (int16_t)off,
			.imm = imm,
		};
	code->nr++;
}

static void move(struct ktb_filter_code *code, int dst, int src)
{
	ktb_filter_emit(code, BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0);
}

static void set(struct ktb_filter_code *code, int dst, int32_t number)
{
	ktb_filter_emit(code, BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, number);
}

static void alu(struct ktb_filter_code *code, uint8_t op, int dst, int32_t number)
{
	ktb_filter_emit(code, BPF_ALU64 | op | BPF_K, dst, 0, 0, number);
}

static void call(struct ktb_filter_code *code, int32_t helper)
{
	ktb_filter_emit(code, BPF_JMP | BPF_CALL, 0, 0, 0, helper);
}

static uint8_t width(unsigned int size)
{
	return size == 1 ? BPF_B : size == 2 ? BPF_H : size == 4 ? BPF_W : BPF_DW;
}

static void load(struct ktb_filter_code *code, unsigned int size, int dst, int src, int off)
{
	ktb_filter_emit(code, BPF_LDX | BPF_MEM | width(size), dst, src, off, 0);
}

/* Immediates have 32 bits and are extended by their sign. */
static bool is_immediate(uint64_t number)
{
	return number == (uint64_t)(int64_t)(int32_t)number;
}

static void set64(struct ktb_filter_code *code, int dst, uint64_t number)
{
	ktb_filter_emit(code, BPF_LD | BPF_DW | BPF_IMM, dst, 0, 0, (int32_t)number);
	ktb_filter_emit(code, 0, 0, 0, 0, (int32_t)(number >> 32));
}

/* Of a number of any size. Changes r5. */
void ktb_filter_alu(struct ktb_filter_code *code, uint8_t op, int dst, uint64_t number)
{
	if (is_immediate(number)) {
		alu(code, op, dst, (int32_t)number);
		return;
	}
	set64(code, 5, number);
	ktb_filter_emit(code, BPF_ALU64 | op | BPF_X, dst, 5, 0, 0);
}

unsigned int ktb_filter_label(struct ktb_filter_code *code)
{
	return code->nr_labels++;
}

void ktb_filter_place(struct ktb_filter_code *code, unsigned int label)
{
	if (label < KTB_FILTER_LABELS)
		code->labels[label] = code->nr;
}

/* Jump to @label if the register compares so; BPF_JA jumps always. Changes r5. */
void ktb_filter_jump(struct ktb_filter_code *code, uint8_t op, int dst, uint64_t number,
		     unsigned int label)
{
	bool immediate = op == BPF_JA || is_immediate(number);

	if (!immediate)
		set64(code, 5, number);
	if (code->nr < KTB_FILTER_INSNS) {
		code->jumps[code->nr_jumps].insn = code->nr;
		code->jumps[code->nr_jumps++].label = label;
	}
	ktb_filter_emit(code, BPF_JMP | op | (immediate ? BPF_K : BPF_X), dst, immediate ? 0 : 5, 0,
			op == BPF_JA || !immediate ? 0 : (int32_t)number);
}

static void jump(struct ktb_filter_code *code, unsigned int label)
{
	ktb_filter_jump(code, BPF_JA, 0, 0, label);
}

/* ---- numbers ---- */

/* Into r0. */
static void load_number(struct ktb_filter_code *code, const struct ktb_filter_field *field)
{
	unsigned int shift = 64 - 8 * field->size;

	switch (field->kind) {
	case KTB_FILTER_PID:
		call(code, BPF_FUNC_get_current_pid_tgid);
		break;
	case KTB_FILTER_CPU:
		call(code, BPF_FUNC_get_smp_processor_id);
		break;
	default:
		load(code, field->size, 0, CONTEXT, (int)field->offset);
	}
	if (!shift || (!field->is_signed && field->kind == KTB_FILTER_NUMBER))
		return;
	alu(code, BPF_LSH, 0, (int32_t)shift);
	alu(code, field->is_signed ? BPF_ARSH : BPF_RSH, 0, (int32_t)shift);
}

static uint8_t comparison(const struct ktb_filter_node *node)
{
	bool is_signed = node->field.is_signed;

	switch (node->op) {
	case KTB_FILTER_NE:
		return BPF_JNE;
	case KTB_FILTER_LT:
		return is_signed ? BPF_JSLT : BPF_JLT;
	case KTB_FILTER_LE:
		return is_signed ? BPF_JSLE : BPF_JLE;
	case KTB_FILTER_GT:
		return is_signed ? BPF_JSGT : BPF_JGT;
	case KTB_FILTER_GE:
		return is_signed ? BPF_JSGE : BPF_JGE;
	case KTB_FILTER_BITS:
		return BPF_JSET;
	default:
		return BPF_JEQ;
	}
}

/* 0 for BPF_JSET, which has none. */
static uint8_t opposite(uint8_t op)
{
	static const uint8_t pairs[][2] = {
		{ BPF_JEQ, BPF_JNE },	{ BPF_JLT, BPF_JGE },	{ BPF_JLE, BPF_JGT },
		{ BPF_JSLT, BPF_JSGE }, { BPF_JSLE, BPF_JSGT },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(pairs); i++)
		for (unsigned int j = 0; j < 2; j++)
			if (pairs[i][j] == op)
				return pairs[i][!j];
	return 0;
}

static void test_number(struct ktb_filter_code *code, const struct ktb_filter_node *node, bool when,
			unsigned int label)
{
	uint8_t op = comparison(node);
	unsigned int past;

	load_number(code, &node->field);
	if (!when && op == BPF_JSET) {
		past = ktb_filter_label(code);
		ktb_filter_jump(code, op, 0, node->number, past);
		jump(code, label);
		ktb_filter_place(code, past);
		return;
	}
	ktb_filter_jump(code, when ? op : opposite(op), 0, node->number, label);
}

/* ---- strings ---- */

/* The greatest step that @offset and @left allow: loads are aligned. */
static unsigned int step(int offset, unsigned int left)
{
	unsigned int size = 8;

	while (size > left || offset % (int)size)
		size /= 2;
	return size;
}

/* Jump to @no unless the @len bytes there are these. */
static void compare(struct ktb_filter_code *code, const char *text, unsigned int len, int base,
		    int offset, unsigned int no)
{
	for (unsigned int at = 0, size; at < len; at += size) {
		uint64_t number = 0;

		size = step(offset + (int)at, len - at);
		memcpy(&number, text + at, size);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
		number >>= 64 - 8 * size;
#endif
		load(code, size, 0, base, offset + (int)at);
		ktb_filter_jump(code, BPF_JNE, 0, number, no);
	}
}

/* Copy @len bytes of a record to the stack, as aligned as they are. */
static int copy(struct ktb_filter_code *code, int offset, unsigned int len)
{
	int where = STACK + offset % 8;

	for (unsigned int at = 0, size; at < len; at += size) {
		size = step(offset + (int)at, len - at);
		load(code, size, 0, CONTEXT, offset + (int)at);
		ktb_filter_emit(code, BPF_STX | BPF_MEM | width(size), FRAME, 0, where + (int)at,
				0);
	}
	return where;
}

/*
 * Bring at most @len bytes of the string, its end included, to the stack. Returns
 * where to. Jumps to @no if there is none.
 */
static int fetch(struct ktb_filter_code *code, const struct ktb_filter_field *field,
		 unsigned int len, unsigned int no)
{
	int offset = (int)field->offset;

	if (field->kind == KTB_FILTER_CHARS)
		return copy(code, offset, len);
	move(code, 1, FRAME);
	alu(code, BPF_ADD, 1, STACK);
	set(code, 2, (int32_t)len);
	if (field->kind == KTB_FILTER_COMM) {
		call(code, BPF_FUNC_get_current_comm);
		return STACK;
	}
	load(code, 4, 3, CONTEXT, offset);
	alu(code, BPF_AND, 3, OFFSET_MASK);
	if (field->kind == KTB_FILTER_RELATIVE)
		alu(code, BPF_ADD, 3, offset + 4);
	ktb_filter_emit(code, BPF_ALU64 | BPF_ADD | BPF_X, 3, CONTEXT, 0, 0);
	call(code, BPF_FUNC_probe_read_kernel_str);
	ktb_filter_jump(code, BPF_JSLE, 0, 0, no);
	return STACK;
}

/* Bytes of the field that matter, at most. */
static unsigned int most(const struct ktb_filter_field *field)
{
	bool is_fixed = field->kind == KTB_FILTER_CHARS || field->kind == KTB_FILTER_COMM;

	return is_fixed && field->size < KTB_FILTER_TEXT ? field->size : KTB_FILTER_TEXT;
}

/* Whether a glob is but a beginning: "abc*". */
static bool is_beginning(const struct ktb_filter_node *node)
{
	return node->op == KTB_FILTER_MATCH && node->len &&
	       strcspn(node->text, "*?[\\") == node->len - 1 && node->text[node->len - 1] == '*';
}

static bool is_plain(const struct ktb_filter_node *node)
{
	return node->op != KTB_FILTER_MATCH || strcspn(node->text, "*?[\\") >= node->len;
}

/* Jump to @no unless the string is, or begins with, these bytes. */
static int test_bytes(struct ktb_filter_code *code, const struct ktb_filter_node *node,
		      unsigned int no)
{
	const struct ktb_filter_field *field = &node->field;
	unsigned int len = node->len - is_beginning(node), room = most(field);
	char text[KTB_FILTER_TEXT];

	/* All of them do; but the verifier wants each place to be come to. */
	if (!len && is_beginning(node)) {
		set(code, 0, 0);
		ktb_filter_jump(code, BPF_JNE, 0, 0, no);
		return 0;
	}
	memcpy(text, node->text, len);
	/* With its end, if that is asked for and there is room for it. */
	if (!is_beginning(node) && len < room)
		text[len++] = 0;
	if (len > room)
		return ktb_filter_fail(code->filter, node->column,
				       "longer than the field, which has %u bytes", room);
	if (field->kind == KTB_FILTER_CHARS) {
		compare(code, text, len, CONTEXT, (int)field->offset, no);
		return 0;
	}
	/* One byte more: what is longer is not cut where the text ends. */
	fetch(code, field, field->kind == KTB_FILTER_COMM ? field->size : len + 1, no);
	compare(code, text, len, FRAME, STACK, no);
	return 0;
}

static int test_string(struct ktb_filter_code *code, const struct ktb_filter_node *node, bool when,
		       unsigned int label)
{
	unsigned int behind = ktb_filter_label(code);
	bool positive = node->op != KTB_FILTER_NE;
	unsigned int yes = when == positive ? label : behind,
		     no = when == positive ? behind : label;
	int err, where;

	if (is_plain(node) || is_beginning(node)) {
		err = test_bytes(code, node, no);
		if (yes != behind)
			jump(code, yes);
	} else {
		where = fetch(code, &node->field, most(&node->field), no);
		err = ktb_filter_glob(code, node, where, most(&node->field), yes, no);
	}
	ktb_filter_place(code, behind);
	return err;
}

/* ---- the tree ---- */

static int generate(struct ktb_filter_code *code, const struct ktb_filter_node *node, bool when,
		    unsigned int label)
{
	const bool is_or = node->op == KTB_FILTER_OR;
	unsigned int behind;
	int err;

	if (node->op == KTB_FILTER_NOT)
		return generate(code, node->a, !when, label);
	if (node->op != KTB_FILTER_AND && !is_or) {
		if (ktb_filter_is_text(&node->field))
			return test_string(code, node, when, label);
		test_number(code, node, when, label);
		return 0;
	}
	/* Either of them decides ... */
	if (when == is_or) {
		err = generate(code, node->a, when, label);
		return err ? err : generate(code, node->b, when, label);
	}
	/* ... or both are needed. */
	behind = ktb_filter_label(code);
	err = generate(code, node->a, !when, behind);
	if (!err)
		err = generate(code, node->b, when, label);
	ktb_filter_place(code, behind);
	return err;
}

static int resolve(struct ktb_filter_code *code)
{
	if (code->nr > KTB_FILTER_INSNS || code->nr_labels > KTB_FILTER_LABELS)
		return ktb_filter_fail(code->filter, 1, "too long: its program would have %u %s",
				       code->nr, "instructions");
	for (unsigned int i = 0; i < code->nr_jumps; i++)
		code->insns[code->jumps[i].insn].off =
			(int16_t)(code->labels[code->jumps[i].label] - code->jumps[i].insn - 1);
	return 0;
}

/* Returns 0, or -EINVAL with the reason in the filter's error. */
int ktb_filter_compile(struct ktb_filter *filter, struct ktb_filter_code *code)
{
	const struct ktb_filter_node *tree = ktb_filter_parse(filter);
	unsigned int drop;
	int err;

	if (!tree)
		return -EINVAL;
	code->filter = filter;
	drop = ktb_filter_label(code);
	move(code, CONTEXT, 1);
	err = generate(code, tree, false, drop);
	if (err)
		return err;
	set(code, 0, 1);
	ktb_filter_emit(code, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	ktb_filter_place(code, drop);
	set(code, 0, 0);
	ktb_filter_emit(code, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	return resolve(code);
}
