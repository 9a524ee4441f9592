/* SPDX-License-Identifier: GPL-2.0-only */
/* Call chains as a tree, and the tree as text and as a picture. */
#ifndef KTBCTL_FLAME_H
#define KTBCTL_FLAME_H

#include <stdio.h>

#include "ktbctl.h"
#include "text_set.h"

enum flame_kind {
	FLAME_ALL, /* the root */
	FLAME_THREAD,
	FLAME_USER,
	FLAME_KERNEL,
};

/* Children are in the order of their names once the tree is sorted. */
struct flame_node {
	const char *name; /* of the tree's texts */
	enum flame_kind kind;
	uint64_t self;
	uint64_t total; /* once the tree is summed up */
	struct flame_node *parent;
	struct flame_node *child; /* the first one */
	struct flame_node *next; /* of the same parent */
};

struct flame {
	struct flame_node root;
	struct text_set texts;
	unsigned int depth; /* of the deepest node; 0 of the root */
};

/* flame_tree.c */
void flame_init(struct flame *flame);
void flame_free(struct flame *flame);
struct flame_node *flame_child(struct flame *flame, struct flame_node *parent, const char *name,
			       enum flame_kind kind);
void flame_sum_up(struct flame *flame);
void flame_print_folded(const struct flame *flame, uint64_t unit, FILE *file);

/* flame_picture.c */
struct flame_picture {
	const char *title;
	const char *what; /* is counted: "samples" */
	uint64_t unit; /* how many of the tree's make one of them */
	bool inverted;
	bool html; /* and not SVG alone */
};

void flame_draw(const struct flame *flame, const struct flame_picture *picture, FILE *file);

/* flame_script.c: flame.js */
extern const char flame_script[];

#endif /* KTBCTL_FLAME_H */
