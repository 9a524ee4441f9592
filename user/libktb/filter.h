/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Filters on the fields of an event, from the text to a BPF program:
 * filter_parse.c makes a tree of tests, filter_code.c and filter_glob.c make a
 * program of the tree, filter.c finds the event's format and loads the program.
 */
#ifndef KTB_FILTER_H
#define KTB_FILTER_H

#include <linux/bpf.h>

#include "internal.h"

struct tep_event;

#define KTB_FILTER_NODES 128
#define KTB_FILTER_INSNS 4096
#define KTB_FILTER_LABELS 512
#define KTB_FILTER_TEXT 256 /* bytes of a string that are looked at */

/* Where a value comes from. */
enum ktb_filter_kind {
	KTB_FILTER_NUMBER, /* of 1, 2, 4 or 8 bytes at an offset */
	KTB_FILTER_CHARS, /* as many bytes, or up to a zero */
	KTB_FILTER_DYNAMIC, /* offset and length of a string */
	KTB_FILTER_RELATIVE, /* the same, the offset from the field's end */
	KTB_FILTER_PID, /* of the current thread */
	KTB_FILTER_CPU, /* the current one */
	KTB_FILTER_COMM, /* name of the current thread */
};

struct ktb_filter_field {
	enum ktb_filter_kind kind;
	unsigned int offset;
	unsigned int size;
	bool is_signed;
};

enum ktb_filter_op {
	KTB_FILTER_AND,
	KTB_FILTER_OR,
	KTB_FILTER_NOT, /* a */
	KTB_FILTER_EQ,
	KTB_FILTER_NE,
	KTB_FILTER_LT,
	KTB_FILTER_LE,
	KTB_FILTER_GT,
	KTB_FILTER_GE,
	KTB_FILTER_BITS, /* has one of them */
	KTB_FILTER_MATCH, /* a glob */
};

/* A test, or what ties two together. */
struct ktb_filter_node {
	enum ktb_filter_op op;
	const struct ktb_filter_node *a, *b;
	struct ktb_filter_field field;
	uint64_t number;
	const char *text; /* in the filter's own */
	unsigned int len;
	unsigned int column; /* of the value */
};

struct ktb_filter {
	const struct tep_event *event;
	const char *text;
	const char *at; /* the next character to be read */
	unsigned int depth;
	struct ktb_filter_node nodes[KTB_FILTER_NODES];
	unsigned int nr;
	char error[KTB_ERROR_LEN];
};

/* A program under construction. */
struct ktb_filter_code {
	struct ktb_filter *filter;
	struct bpf_insn insns[KTB_FILTER_INSNS];
	unsigned int nr; /* may pass the end, when it gets too long */
	struct {
		unsigned int insn;
		unsigned int label;
	} jumps[KTB_FILTER_INSNS];
	unsigned int nr_jumps;
	unsigned int labels[KTB_FILTER_LABELS]; /* where they are */
	unsigned int nr_labels;
};

/* filter_parse.c */
int ktb_filter_fail(struct ktb_filter *filter, unsigned int column, const char *format, ...)
	KTB_PRINTF(3, 4);
const struct ktb_filter_node *ktb_filter_parse(struct ktb_filter *filter);

/* filter_field.c */
int ktb_filter_field_find(struct ktb_filter *filter, const char *name, unsigned int len,
			  struct ktb_filter_field *field);
bool ktb_filter_is_text(const struct ktb_filter_field *field);

/* filter_code.c */
int ktb_filter_compile(struct ktb_filter *filter, struct ktb_filter_code *code);
void ktb_filter_emit(struct ktb_filter_code *code, uint8_t op, int dst, int src, int off,
		     int32_t imm);
void ktb_filter_jump(struct ktb_filter_code *code, uint8_t op, int dst, uint64_t number,
		     unsigned int label);
void ktb_filter_alu(struct ktb_filter_code *code, uint8_t op, int dst, uint64_t number);
unsigned int ktb_filter_label(struct ktb_filter_code *code);
void ktb_filter_place(struct ktb_filter_code *code, unsigned int label);

/* filter_glob.c: the string is on the stack, @len bytes from @where on */
int ktb_filter_glob(struct ktb_filter_code *code, const struct ktb_filter_node *node, int where,
		    unsigned int len, unsigned int yes, unsigned int no);

#endif /* KTB_FILTER_H */
