// SPDX-License-Identifier: LGPL-2.1-only
/*
 * The text of a filter, in ftrace's notation:
 *
 *	or:	and [ "||" and ]...
 *	and:	not [ "&&" not ]...
 *	not:	"!" not | "(" or ")" | FIELD OPERATOR VALUE
 *
 * FIELD is a field of the event, or an element of one, FIELD[NUMBER]. OPERATOR is
 * "==", "!=", "<", "<=", ">", ">=" or "&" for numbers, "==", "!=" or "~" for strings.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter.h"

#define MAX_DEPTH 32

int ktb_filter_fail(struct ktb_filter *filter, unsigned int column, const char *format, ...)
{
	char text[KTB_ERROR_LEN - 32];
	va_list ap;

	if (*filter->error)
		return -EINVAL;
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	snprintf(filter->error, sizeof(filter->error), "filter, column %u: %s", column, text);
	return -EINVAL;
}

/* ---- characters ---- */

static unsigned int column_of(const struct ktb_filter *filter, const char *at)
{
	return (unsigned int)(at - filter->text) + 1;
}

static void skip_blanks(struct ktb_filter *filter)
{
	filter->at += strspn(filter->at, " \t\n");
}

static bool take(struct ktb_filter *filter, const char *token)
{
	skip_blanks(filter);
	if (strncmp(filter->at, token, strlen(token)) != 0)
		return false;
	filter->at += strlen(token);
	return true;
}

/* What stands where something else was expected. */
static const struct ktb_filter_node *fail_expected(struct ktb_filter *filter, const char *what)
{
	unsigned int column;

	skip_blanks(filter);
	column = column_of(filter, filter->at);
	if (*filter->at)
		ktb_filter_fail(filter, column, "expected %s, not '%.16s'", what, filter->at);
	else
		ktb_filter_fail(filter, column, "expected %s, and it ends here", what);
	return NULL;
}

/* ---- a test ---- */

static unsigned int word_len(const char *at)
{
	unsigned int len = 0;

	while (isalnum((unsigned char)at[len]) || at[len] == '_' || at[len] == '.')
		len++;
	if (!len || at[len] != '[')
		return len;
	/* An element of an array. */
	len++;
	while (isdigit((unsigned char)at[len]))
		len++;
	return at[len] == ']' ? len + 1 : len;
}

static bool take_operator(struct ktb_filter *filter, enum ktb_filter_op *op)
{
	static const struct {
		const char *token;
		enum ktb_filter_op op;
	} operators[] = {
		{ "==", KTB_FILTER_EQ },  { "!=", KTB_FILTER_NE },   { "<=", KTB_FILTER_LE },
		{ ">=", KTB_FILTER_GE },  { "<", KTB_FILTER_LT },    { ">", KTB_FILTER_GT },
		{ "&", KTB_FILTER_BITS }, { "~", KTB_FILTER_MATCH },
	};

	skip_blanks(filter);
	if (!strncmp(filter->at, "&&", 2))
		return false;
	for (unsigned int i = 0; i < ARRAY_SIZE(operators); i++) {
		*op = operators[i].op;
		if (take(filter, operators[i].token))
			return true;
	}
	return false;
}

/* The value of a test: a word, or anything in quotes. */
static bool take_value(struct ktb_filter *filter, struct ktb_filter_node *node)
{
	const char *at, *end;
	char quote;

	skip_blanks(filter);
	at = filter->at;
	node->column = column_of(filter, at);
	quote = *at;
	if (quote == '"' || quote == '\'') {
		node->text = at + 1;
		end = strchr(at + 1, quote);
		if (!end) {
			ktb_filter_fail(filter, node->column, "the quote is not closed");
			return false;
		}
		node->len = (unsigned int)(end - node->text);
		filter->at = end + 1;
		return true;
	}
	node->text = at;
	node->len = (unsigned int)strcspn(at, " \t\n()&|");
	filter->at += node->len;
	return node->len;
}

/* Within what the field can hold; a number in hex may be its bits. */
static int check_range(struct ktb_filter *filter, const struct ktb_filter_node *node, bool negative,
		       bool hex)
{
	const struct ktb_filter_field *field = &node->field;
	unsigned int bits = 8 * field->size;
	uint64_t top = 1ULL << (bits - 1);
	bool fits;

	if (negative)
		fits = field->is_signed && node->number + top < top << 1;
	else if (field->is_signed && !hex)
		fits = node->number < top;
	else
		fits = bits == 64 || !(node->number >> bits);
	if (negative && field->is_signed && bits == 64)
		fits = true;
	if (fits)
		return 0;
	return ktb_filter_fail(filter, node->column, "%.*s does not fit into %s number of %u bits",
			       (int)node->len, node->text,
			       field->is_signed ? "a signed" : "an unsigned", bits);
}

static int set_number(struct ktb_filter *filter, struct ktb_filter_node *node)
{
	char text[32], *end;
	bool negative, hex;

	if (node->len >= sizeof(text))
		return ktb_filter_fail(filter, node->column, "expected a number");
	memcpy(text, node->text, node->len);
	text[node->len] = 0;
	negative = *text == '-';
	hex = !strncasecmp(text + negative, "0x", 2);
	errno = 0;
	node->number = strtoull(text, &end, 0);
	if (!isdigit((unsigned char)text[negative]) || *end)
		return ktb_filter_fail(filter, node->column, "expected a number, not '%s'", text);
	if (errno || (negative && (int64_t)node->number > 0))
		return ktb_filter_fail(filter, node->column, "'%s' has more than 64 bits", text);
	if (check_range(filter, node, negative, hex))
		return -EINVAL;
	/* The bits of a negative number. */
	if (node->field.is_signed && node->field.size < 8)
		node->number = (uint64_t)((int64_t)(node->number << (64 - 8 * node->field.size)) >>
					  (64 - 8 * node->field.size));
	return 0;
}

static int check_string(struct ktb_filter *filter, const struct ktb_filter_node *node)
{
	if (node->len > KTB_FILTER_TEXT - 2)
		return ktb_filter_fail(filter, node->column, "longer than %d bytes",
				       KTB_FILTER_TEXT - 2);
	return 0;
}

static bool is_for_text(enum ktb_filter_op op)
{
	return op == KTB_FILTER_EQ || op == KTB_FILTER_NE || op == KTB_FILTER_MATCH;
}

static struct ktb_filter_node *new_node(struct ktb_filter *filter, enum ktb_filter_op op)
{
	struct ktb_filter_node *node = &filter->nodes[filter->nr];

	if (filter->nr == KTB_FILTER_NODES) {
		ktb_filter_fail(filter, column_of(filter, filter->at),
				"more than %d tests and operators", KTB_FILTER_NODES);
		return NULL;
	}
	filter->nr++;
	*node = (struct ktb_filter_node){ .op = op };
	return node;
}

static const struct ktb_filter_node *parse_test(struct ktb_filter *filter)
{
	struct ktb_filter_node *node;
	unsigned int len, column;
	bool text;

	skip_blanks(filter);
	len = word_len(filter->at);
	if (!len)
		return fail_expected(filter, "a field");
	node = new_node(filter, KTB_FILTER_EQ);
	if (!node || ktb_filter_field_find(filter, filter->at, len, &node->field))
		return NULL;
	filter->at += len;
	skip_blanks(filter);
	column = column_of(filter, filter->at);
	text = ktb_filter_is_text(&node->field);
	if (!take_operator(filter, &node->op))
		return fail_expected(filter, text ? "==, != or ~" : "==, !=, <, <=, >, >= or &");
	if (text && !is_for_text(node->op)) {
		ktb_filter_fail(filter, column, "expected ==, != or ~: the field is a string");
		return NULL;
	}
	if (!text && node->op == KTB_FILTER_MATCH) {
		ktb_filter_fail(filter, column, "expected ==, !=, <, <=, >, >= or &: %s",
				"the field is a number");
		return NULL;
	}
	if (!take_value(filter, node))
		return fail_expected(filter, text ? "a string" : "a number");
	return (text ? check_string(filter, node) : set_number(filter, node)) ? NULL : node;
}

/* ---- what ties tests together ---- */

static const struct ktb_filter_node *parse_or(struct ktb_filter *filter);

static const struct ktb_filter_node *parse_not(struct ktb_filter *filter)
{
	const struct ktb_filter_node *inner;
	struct ktb_filter_node *node;

	if (++filter->depth > MAX_DEPTH) {
		ktb_filter_fail(filter, column_of(filter, filter->at),
				"parentheses and '!' more than %d deep", MAX_DEPTH);
		return NULL;
	}
	if (take(filter, "!")) {
		inner = parse_not(filter);
		node = inner ? new_node(filter, KTB_FILTER_NOT) : NULL;
		if (node)
			node->a = inner;
		inner = node;
	} else if (take(filter, "(")) {
		inner = parse_or(filter);
		if (inner && !take(filter, ")"))
			inner = fail_expected(filter, "&&, || or )");
	} else {
		inner = parse_test(filter);
	}
	filter->depth--;
	return inner;
}

static const struct ktb_filter_node *
parse_row(struct ktb_filter *filter, enum ktb_filter_op op, const char *token,
	  const struct ktb_filter_node *(*parse)(struct ktb_filter *filter))
{
	const struct ktb_filter_node *row = parse(filter), *next;
	struct ktb_filter_node *node;

	while (row && take(filter, token)) {
		next = parse(filter);
		node = next ? new_node(filter, op) : NULL;
		if (node) {
			node->a = row;
			node->b = next;
		}
		row = node;
	}
	return row;
}

static const struct ktb_filter_node *parse_and(struct ktb_filter *filter)
{
	return parse_row(filter, KTB_FILTER_AND, "&&", parse_not);
}

static const struct ktb_filter_node *parse_or(struct ktb_filter *filter)
{
	return parse_row(filter, KTB_FILTER_OR, "||", parse_and);
}

/* The tree, or NULL: then the filter's error says what is wrong. */
const struct ktb_filter_node *ktb_filter_parse(struct ktb_filter *filter)
{
	const struct ktb_filter_node *tree;

	filter->at = filter->text;
	tree = parse_or(filter);
	skip_blanks(filter);
	return tree && *filter->at ? fail_expected(filter, "&& or ||") : tree;
}
