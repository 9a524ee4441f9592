// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tree as a picture: one file, SVG or HTML around it, that needs nothing else.
 * It is drawn here, so that it can be looked at without scripts as well; flame.js,
 * which is in the file too, makes it move.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "flame.h"

#define WIDTH 1200
#define MARGIN 10
#define ROW 16
#define TOP 48 /* for title and search */
#define BOTTOM 28 /* for what the mouse points at */
#define CHAR_WIDTH 7
#define SMALLEST 0.05 /* pixels; what is smaller is left out */

struct canvas {
	const struct flame *flame;
	const struct flame_picture *picture;
	FILE *file;
	double scale; /* pixels per count */
	unsigned int left_out;
};

/* U+FFFE or U+FFFF, which UTF-8 has and XML has not. */
static bool is_forbidden(const char *at)
{
	return !strncmp(at, "\xef\xbf\xbe", 3) || !strncmp(at, "\xef\xbf\xbf", 3);
}

static void put_character(FILE *file, char c)
{
	if (c == '<')
		fputs("&lt;", file);
	else if (c == '>')
		fputs("&gt;", file);
	else if (c == '&')
		fputs("&amp;", file);
	else if (c == '"')
		fputs("&quot;", file);
	else
		putc((unsigned char)c < ' ' || c == 0x7f ? '?' : c, file);
}

/* Text in XML: no markup, nothing that XML forbids, and UTF-8. */
static void put_text(FILE *file, const char *text, size_t max)
{
	struct json_object *utf8 = json_text(text, strlen(text));
	const char *at = utf8 ? json_object_get_string(utf8) : "";

	for (; *at && max; at++, max--) {
		/* Not within a character. */
		while (((unsigned char)*at & 0xc0) == 0x80)
			putc(*at++, file);
		if (!*at)
			break;
		if (is_forbidden(at)) {
			putc('?', file);
			at += 2;
		} else {
			put_character(file, *at);
		}
	}
	while (max == 0 && ((unsigned char)*at & 0xc0) == 0x80)
		putc(*at++, file);
	json_object_put(utf8);
}

/* A colour of the kind's own range, the same for a name wherever it is. */
static void put_colour(FILE *file, const struct flame_node *node)
{
	static const struct {
		unsigned int hue, range;
	} colours[] = {
		[FLAME_ALL] = { 210, 1 },
		[FLAME_THREAD] = { 190, 30 },
		[FLAME_USER] = { 40, 20 },
		[FLAME_KERNEL] = { 8, 24 },
	};
	unsigned int hash = 5381;

	for (const char *at = node->name; *at; at++)
		hash = hash * 33 + (unsigned char)*at;
	fprintf(file, "hsl(%u,%u%%,%u%%)",
		colours[node->kind].hue + hash % colours[node->kind].range, 60 + hash / 64 % 25,
		62 + hash / 2048 % 12);
}

static unsigned int depth_of(const struct flame_node *node)
{
	unsigned int depth = 0;

	for (node = node->parent; node; node = node->parent)
		depth++;
	return depth;
}

static unsigned int y_of(const struct canvas *canvas, unsigned int depth)
{
	if (!canvas->picture->inverted)
		depth = canvas->flame->depth - depth;
	return TOP + depth * ROW;
}

static const char *kind_text(enum flame_kind kind)
{
	return kind == FLAME_KERNEL ? ", kernel" : kind == FLAME_THREAD ? ", thread" : "";
}

static void draw_node(struct canvas *canvas, const struct flame_node *node, uint64_t before)
{
	const struct flame_picture *picture = canvas->picture;
	unsigned int depth = depth_of(node), y = y_of(canvas, depth);
	double x = MARGIN + (double)before * canvas->scale;
	double width = (double)node->total * canvas->scale;
	size_t room = width > 2 * CHAR_WIDTH ? (size_t)((width - 4) / CHAR_WIDTH) : 0;
	FILE *file = canvas->file;

	fprintf(file, "<g class=\"f\" data-x=\"%" PRIu64 "\" data-w=\"%" PRIu64 "\" data-d=\"%u\">",
		before, node->total, depth);
	fputs("<title>", file);
	put_text(file, node->name, SIZE_MAX);
	fprintf(file, " (%" PRIu64 " %s, %.2f%%%s)</title>", node->total / picture->unit,
		picture->what, 100.0 * (double)node->total / (double)canvas->flame->root.total,
		kind_text(node->kind));
	fprintf(file, "<rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%u\" fill=\"", x, y, width,
		ROW - 1);
	put_colour(file, node);
	fprintf(file, "\"/><text x=\"%.2f\" y=\"%u\">", x + 3, y + ROW - 5);
	if (room && strlen(node->name) <= room) {
		put_text(file, node->name, room);
	} else if (room > 3) {
		put_text(file, node->name, room - 2);
		fputs("..", file);
	}
	fputs("</text></g>\n", file);
}

/* Returns false if the node, and with it all above it, is too small to be seen. */
static bool is_seen(struct canvas *canvas, const struct flame_node *node)
{
	if (node->total && (double)node->total * canvas->scale >= SMALLEST)
		return true;
	canvas->left_out++;
	return false;
}

static void draw_tree(struct canvas *canvas)
{
	const struct flame_node *node = &canvas->flame->root;
	uint64_t before = 0;
	bool deeper;

	while (node) {
		deeper = is_seen(canvas, node);
		if (deeper)
			draw_node(canvas, node, before);
		if (deeper && node->child) {
			node = node->child;
			continue;
		}
		/* On to what comes to the right, and for that up. */
		before += node->total;
		while (node && !node->next) {
			node = node->parent;
			/* Its own part is behind its children's. */
			if (node && node->parent)
				before += node->self;
		}
		node = node ? node->next : NULL;
	}
}

static void put_head(const struct canvas *canvas, unsigned int height)
{
	FILE *file = canvas->file;

	fprintf(file,
		"<svg id=\"flame\" xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" viewBox=\"0 0 %u %u\" font-family=\"monospace\" font-size=\"12\" data-margin=\"%u\" data-char=\"%u\" data-total=\"%" PRIu64
		"\">\n",
		WIDTH, height, WIDTH, height, MARGIN, CHAR_WIDTH, canvas->flame->root.total);
	fputs("<style>\n"
	      ".f { cursor: pointer } .f text { pointer-events: none }\n"
	      ".f:hover rect { stroke: #000; stroke-width: 0.5 }\n"
	      ".f.parent rect { opacity: 0.5 } .f.hidden { display: none }\n"
	      ".f.match rect { fill: #d040e0 }\n"
	      "#search { font: inherit; width: 100%; box-sizing: border-box }\n"
	      "#reset { cursor: pointer; visibility: hidden }\n"
	      "</style>\n",
	      file);
	fprintf(file, "<rect x=\"0\" y=\"0\" width=\"%u\" height=\"%u\" fill=\"#fcfcf4\"/>\n",
		WIDTH, height);
	fprintf(file, "<text x=\"%u\" y=\"22\" text-anchor=\"middle\" font-size=\"16\">",
		WIDTH / 2);
	put_text(file, canvas->picture->title, 120);
	fprintf(file,
		"</text>\n<text id=\"reset\" x=\"%u\" y=\"22\">reset zoom</text>\n"
		"<foreignObject x=\"%u\" y=\"6\" width=\"220\" height=\"26\"><input xmlns=\"http://www.w3.org/1999/xhtml\" id=\"search\" type=\"search\" placeholder=\"search (regular expression)\"/></foreignObject>\n",
		MARGIN, WIDTH - MARGIN - 220);
	fprintf(file,
		"<text id=\"details\" x=\"%u\" y=\"%u\"> </text>\n"
		"<text id=\"matched\" x=\"%u\" y=\"%u\" text-anchor=\"end\"> </text>\n",
		MARGIN, height - 10, WIDTH - MARGIN, height - 10);
}

/* Returns how many nodes were left out, being too small. */
static void draw_svg(struct canvas *canvas)
{
	unsigned int height = TOP + (canvas->flame->depth + 1) * ROW + BOTTOM;

	put_head(canvas, height);
	draw_tree(canvas);
	/* Also where HTML is around it this is XML to the browser. */
	fprintf(canvas->file, "<script><![CDATA[\n%s]]></script>\n</svg>\n", flame_script);
}

/* The file's errors are the caller's to look for. */
void flame_draw(const struct flame *flame, const struct flame_picture *picture, FILE *file)
{
	struct canvas canvas = { .flame = flame, .picture = picture, .file = file };

	if (flame->root.total)
		canvas.scale = (double)(WIDTH - 2 * MARGIN) / (double)flame->root.total;
	if (picture->html) {
		fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>",
		      file);
		put_text(file, picture->title, SIZE_MAX);
		fputs("</title></head>\n<body style=\"margin: 0\">\n", file);
	} else {
		fputs("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n", file);
	}
	draw_svg(&canvas);
	if (picture->html)
		fputs("</body>\n</html>\n", file);
	if (canvas.left_out)
		fprintf(file, "<!-- %u frames too small to be seen were left out -->\n",
			canvas.left_out);
}
