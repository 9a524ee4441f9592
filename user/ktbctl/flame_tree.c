// SPDX-License-Identifier: GPL-2.0-only
/* Call chains added up to a tree. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "flame.h"

void flame_init(struct flame *flame)
{
	*flame = (struct flame){ .root = { .name = "all", .kind = FLAME_ALL } };
}

/* The next node of a walk, @node's children before their siblings. */
static struct flame_node *next_of(const struct flame_node *node)
{
	if (node->child)
		return node->child;
	while (node && !node->next)
		node = node->parent;
	return node ? node->next : NULL;
}

/* Chains can be long: no recursion. */
void flame_free(struct flame *flame)
{
	struct flame_node *node = flame->root.child, *next;

	while (node && node != &flame->root) {
		if (node->child) {
			next = node->child;
			node->child = NULL; /* they are freed first */
			node = next;
			continue;
		}
		next = node->next ? node->next : node->parent;
		free(node);
		node = next;
	}
	text_set_free(&flame->texts);
}

/* The child of that name, made if it is new; NULL when out of memory. */
struct flame_node *flame_child(struct flame *flame, struct flame_node *parent, const char *name,
			       enum flame_kind kind)
{
	const char *kept = text_set_get(&flame->texts, name);
	struct flame_node *node, **at;

	if (!kept)
		return NULL;
	for (at = &parent->child; (node = *at); at = &node->next) {
		if (node->name != kept || node->kind != kind)
			continue;
		/* What was found will soon be looked for again. */
		*at = node->next;
		node->next = parent->child;
		parent->child = node;
		return node;
	}
	node = calloc(1, sizeof(*node));
	if (!node)
		return NULL;
	*node = (struct flame_node){
		.name = kept, .kind = kind, .parent = parent, .next = parent->child
	};
	parent->child = node;
	return node;
}

/* ---- the finished tree ---- */

static int compare(const void *a, const void *b)
{
	const struct flame_node *const *x = a, *const *y = b;
	int order = strcmp((*x)->name, (*y)->name);

	return order ? order : (int)(*x)->kind - (int)(*y)->kind;
}

static void sort_children(struct flame_node *parent)
{
	struct flame_node *node, **all;
	unsigned int nr = 0;

	for (node = parent->child; node; node = node->next)
		nr++;
	all = nr > 1 ? reallocarray(NULL, nr, sizeof(struct flame_node *)) : NULL;
	/* Without memory they stay in any order. */
	if (!all)
		return;
	nr = 0;
	for (node = parent->child; node; node = node->next)
		all[nr++] = node;
	qsort(all, nr, sizeof(struct flame_node *), compare);
	for (unsigned int i = 0; i < nr; i++)
		all[i]->next = i + 1 < nr ? all[i + 1] : NULL;
	parent->child = all[0];
	free(all);
}

static unsigned int depth_of(const struct flame_node *node)
{
	unsigned int depth = 0;

	for (node = node->parent; node; node = node->parent)
		depth++;
	return depth;
}

/* Nothing is added from here on. */
void flame_sum_up(struct flame *flame)
{
	unsigned int depth;

	for (struct flame_node *node = &flame->root; node; node = next_of(node)) {
		sort_children(node);
		for (struct flame_node *up = node; up && node->self; up = up->parent)
			up->total += node->self;
		depth = depth_of(node);
		if (depth > flame->depth)
			flame->depth = depth;
	}
}

/* From the root's child on, with semicolons between. */
static void print_path(const struct flame_node *node, FILE *file)
{
	const struct flame_node *path[2048];
	unsigned int nr = 0;

	for (; node->parent && nr < ARRAY_SIZE(path); node = node->parent)
		path[nr++] = node;
	while (nr--) {
		/* Semicolons and ends of lines have a meaning here. */
		for (const char *at = path[nr]->name; *at; at++)
			putc(*at == ';' || (unsigned char)*at < ' ' ? ':' : *at, file);
		if (path[nr]->kind == FLAME_KERNEL)
			fputs("_[k]", file);
		putc(nr ? ';' : ' ', file);
	}
}

/* A line per chain, as flamegraph.pl and other tools take it. */
void flame_print_folded(const struct flame *flame, uint64_t unit, FILE *file)
{
	const struct flame_node *node;

	for (node = flame->root.child; node; node = next_of(node)) {
		if (node->self < unit)
			continue;
		print_path(node, file);
		fprintf(file, "%" PRIu64 "\n", node->self / unit);
	}
}
