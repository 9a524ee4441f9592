// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Globs: '*', '?', '[abc]', '[a-z]', '[!a-z]', and '\' before one that is meant
 * itself. Code that goes over a string once.
 *
 * A glob is a row of elements, each of which accepts a character or not, with or
 * without a star before it. Bit n of a state says that the string so far is what the
 * first n elements match. Of each character the program works out the elements that
 * accept it, and moves their bits; a bit with a star stays besides.
 */
#include <string.h>

#include "filter.h"

#define MAX_ELEMENTS 62 /* and a bit for the end */

#define CHARACTER 2
#define STATE 7
#define INDEX 9
#define FRAME 10

struct element {
	bool any;
	bool negated;
	unsigned int nr;
	struct {
		unsigned char from, to;
	} ranges[16];
};

struct glob {
	struct element elements[MAX_ELEMENTS];
	unsigned int nr;
	uint64_t stars; /* bit n: one before element n */
};

static bool parse_class(struct element *element, const char **at, const char *end)
{
	const char *from = *at + 1;

	if (from < end && (*from == '!' || *from == '^')) {
		element->negated = true;
		from++;
	}
	do {
		if (from >= end || element->nr == ARRAY_SIZE(element->ranges))
			return false;
		element->ranges[element->nr].from = *from;
		if (from + 2 < end && from[1] == '-' && from[2] != ']')
			from += 2;
		element->ranges[element->nr++].to = *from++;
	} while (from >= end || *from != ']');
	*at = from + 1;
	return true;
}

static int parse(struct ktb_filter *filter, const struct ktb_filter_node *node, struct glob *glob)
{
	const char *at = node->text, *end = at + node->len;
	unsigned int column;

	while (at < end) {
		struct element *element = &glob->elements[glob->nr];

		column = node->column + (unsigned int)(at - node->text);
		if (*at == '*') {
			glob->stars |= 1ULL << glob->nr;
			at++;
			continue;
		}
		if (glob->nr == MAX_ELEMENTS)
			return ktb_filter_fail(filter, column,
					       "a glob with more than %d characters and classes",
					       MAX_ELEMENTS);
		glob->nr++;
		if (*at == '[') {
			if (!parse_class(element, &at, end))
				return ktb_filter_fail(filter, column,
						       "expected a class such as [a-z] or [!0-9]");
			continue;
		}
		element->any = *at == '?';
		at += *at == '\\' && at + 1 < end;
		element->nr = 1;
		element->ranges[0].from = *at;
		element->ranges[0].to = *at++;
	}
	return 0;
}

/* The elements from @first on that are just this one, as bits; they are done. */
static uint64_t take_same(const struct glob *glob, unsigned int first, uint64_t *done)
{
	const struct element *element = &glob->elements[first];
	uint64_t same = 0;

	for (unsigned int i = first; i < glob->nr; i++)
		if (!memcmp(element, &glob->elements[i], sizeof(*element)))
			same |= 1ULL << i;
	*done |= same;
	return same;
}

/*
 * r0 = 1 if the character is in the range, else 0: the differences to both ends are
 * not negative then. No jumps here, nor masks: the verifier would go both ways, for
 * each character.
 */
static void in_range(struct ktb_filter_code *code, unsigned char from, unsigned char to)
{
	ktb_filter_emit(code, BPF_ALU64 | BPF_MOV | BPF_X, 0, CHARACTER, 0, 0);
	ktb_filter_emit(code, BPF_ALU64 | BPF_SUB | BPF_K, 0, 0, 0, from);
	ktb_filter_emit(code, BPF_ALU64 | BPF_MOV | BPF_K, 1, 0, 0, to);
	ktb_filter_emit(code, BPF_ALU64 | BPF_SUB | BPF_X, 1, CHARACTER, 0, 0);
	ktb_filter_emit(code, BPF_ALU64 | BPF_OR | BPF_X, 0, 1, 0, 0);
	ktb_filter_emit(code, BPF_ALU64 | BPF_RSH | BPF_K, 0, 0, 0, 63);
	ktb_filter_emit(code, BPF_ALU64 | BPF_XOR | BPF_K, 0, 0, 0, 1);
}

/* r4 = 1 if the element accepts the character, else 0 */
static void accepts(struct ktb_filter_code *code, const struct element *element)
{
	for (unsigned int i = 0; i < element->nr; i++) {
		in_range(code, element->ranges[i].from, element->ranges[i].to);
		ktb_filter_emit(code, BPF_ALU64 | (i ? BPF_OR : BPF_MOV) | BPF_X, 4, 0, 0, 0);
	}
	if (element->negated)
		ktb_filter_emit(code, BPF_ALU64 | BPF_XOR | BPF_K, 4, 0, 0, 1);
}

/* r3 = the elements that accept the character */
static void accepting(struct ktb_filter_code *code, const struct glob *glob)
{
	uint64_t done = 0, any = 0;

	for (unsigned int i = 0; i < glob->nr; i++)
		if (glob->elements[i].any)
			any |= 1ULL << i;
	ktb_filter_emit(code, BPF_ALU64 | BPF_MOV | BPF_K, 3, 0, 0, 0);
	if (any)
		ktb_filter_alu(code, BPF_OR, 3, any);
	for (unsigned int i = 0; i < glob->nr; i++) {
		if (glob->elements[i].any || done & 1ULL << i)
			continue;
		accepts(code, &glob->elements[i]);
		ktb_filter_alu(code, BPF_MUL, 4, take_same(glob, i, &done));
		ktb_filter_emit(code, BPF_ALU64 | BPF_OR | BPF_X, 3, 4, 0, 0);
	}
}

int ktb_filter_glob(struct ktb_filter_code *code, const struct ktb_filter_node *node, int where,
		    unsigned int len, unsigned int yes, unsigned int no)
{
	unsigned int next = ktb_filter_label(code), end = ktb_filter_label(code);
	struct glob glob = { 0 };
	uint64_t whole;
	int err = parse(code->filter, node, &glob);

	if (err)
		return err;
	whole = 1ULL << glob.nr;
	ktb_filter_emit(code, BPF_ALU64 | BPF_MOV | BPF_K, STATE, 0, 0, 1);
	ktb_filter_emit(code, BPF_ALU64 | BPF_MOV | BPF_K, INDEX, 0, 0, 0);
	ktb_filter_place(code, next);
	ktb_filter_emit(code, BPF_ALU64 | BPF_MOV | BPF_X, 1, FRAME, 0, 0);
	ktb_filter_emit(code, BPF_ALU64 | BPF_ADD | BPF_X, 1, INDEX, 0, 0);
	ktb_filter_emit(code, BPF_LDX | BPF_MEM | BPF_B, CHARACTER, 1, where, 0);
	ktb_filter_jump(code, BPF_JEQ, CHARACTER, 0, end);
	accepting(code, &glob);
	ktb_filter_emit(code, BPF_ALU64 | BPF_AND | BPF_X, 3, STATE, 0, 0);
	ktb_filter_emit(code, BPF_ALU64 | BPF_LSH | BPF_K, 3, 0, 0, 1);
	ktb_filter_alu(code, BPF_AND, STATE, glob.stars);
	ktb_filter_emit(code, BPF_ALU64 | BPF_OR | BPF_X, STATE, 3, 0, 0);
	ktb_filter_jump(code, BPF_JEQ, STATE, 0, no);
	/* A star at the end takes all the rest. */
	if (glob.stars & whole)
		ktb_filter_jump(code, BPF_JSET, STATE, whole, yes);
	ktb_filter_emit(code, BPF_ALU64 | BPF_ADD | BPF_K, INDEX, 0, 0, 1);
	ktb_filter_jump(code, BPF_JLT, INDEX, len, next);
	ktb_filter_place(code, end);
	ktb_filter_jump(code, BPF_JSET, STATE, whole, yes);
	ktb_filter_jump(code, BPF_JA, 0, 0, no);
	return 0;
}
