/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The difference as a flame graph: what grew is red, what shrank is blue, deeper the more of it
 * did. A frame is as wide as its stacks on the side where each is larger, so that what is gone has
 * a place too. What chance explains has no colour, and a caller has the colour of all it calls.
 *
 * Elements and attributes are those that the script of report/flame/ lays out by.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "graph.h"
#include "report/flame/texts.h"

enum { WIDTH = 1200, PAD = 12, HEAD = 76, FOOT = 34, ROW = 18 };
#define CHARACTER 7.22
#define NARROWEST 0.1
#define TINTED 0.05 /* a chance above it has no colour */

static const struct legend {
	const char *name, *color;
} legend[] = {
	{ "grew", "#ff8080" }, { "new", "#d6409f" },	  { "shrank", "#8fb4ff" },
	{ "gone", "#4361d8" }, { "the same", "#e4e4e4" },
};
enum { GREW, NEW, SHRANK, GONE, SAME };

struct graph {
	struct out out;
	const struct report_diff *d;
	struct diff_link *links;
	uint64_t *begin; /* of each node, in units of weight */
	struct flame_texts texts;
	double scale; /* pixels of a unit of weight */
	unsigned int rows;
	int shift; /* weights for the script, whose numbers have 53 bits */
	struct buf scratch;
};

static double pixels(const struct graph *g, uint64_t weight)
{
	return (double)weight * g->scale;
}

static int measure(struct graph *g)
{
	unsigned int depth = 0;

	g->begin = calloc(g->d->nnodes, sizeof(*g->begin));
	if (!g->begin)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->d->nnodes; i++) {
		uint64_t at = g->begin[i];

		for (uint32_t child = g->links[i].child; child != NONE;
		     child = g->links[child].next) {
			g->begin[child] = at;
			at = add_saturating(at, g->links[child].width);
		}
	}
	g->scale = (WIDTH - 2.0 * PAD) / (double)g->links[0].width;
	while (g->links[0].width >> g->shift >= 1ull << 52)
		g->shift++;
	g->rows = 1;
	for (uint32_t at = 0; (at = report_diff_next(g->d, g->links, at, &depth));)
		if (depth + 1 > g->rows && pixels(g, g->links[at].width) >= NARROWEST)
			g->rows = depth + 1;
	return 0;
}

/* "#rrggbb": between white and the full colour by how much of it changed. */
static void choose_color(const struct graph *g, uint32_t node, char color[8])
{
	const struct diff_pair *p = &g->links[node].total;
	const double a = (double)p->of[SIDE_A].w, b = (double)p->of[SIDE_B].w / g->d->scale;
	const double change = sqrt((b > a ? b - a : a - b) / (a + b));
	const bool known = node && g->d->rows[g->d->nodes[node].name].verdict != DIFF_SAME;
	const unsigned int pale = 225 - (unsigned int)(145 * change);

	if (!known && report_diff_chance(report_diff_z(g->d, p)) >= TINTED)
		snprintf(color, 8, "%s", legend[SAME].color);
	else if (!p->of[SIDE_A].w || !p->of[SIDE_B].w)
		snprintf(color, 8, "%s", legend[p->of[SIDE_A].w ? GONE : NEW].color);
	else if (b > a)
		snprintf(color, 8, "#ff%02x%02x", pale & 0xff, pale & 0xff);
	else
		snprintf(color, 8, "#%02x%02xff", pale & 0xff, (pale + 20) & 0xff);
}

/* "+1.20 points, +20%; A 1,234, B 1,456" */
static void put_change(struct graph *g, const struct diff_pair *p)
{
	const double a = (double)p->of[SIDE_A].w, b = (double)p->of[SIDE_B].w / g->d->scale;

	report_out_printf(&g->out, "%+.2f points, ", diff_points(g->d, p));
	if (p->of[SIDE_A].w && p->of[SIDE_B].w)
		report_out_printf(&g->out, "%+.1f%%", 100 * (b / a - 1));
	else
		report_out_puts(&g->out, p->of[SIDE_A].w ? "gone" : "new");
	for (int side = 0; side < SIDES; side++) {
		const struct report *r = g->d->r[side];
		char s[NUMBER_SIZE];

		report_out_printf(&g->out, "%s %c %s", side ? "," : ";", 'A' + side,
				  report_text_weight(p->of[side].w,
						     text(r, r->types[g->d->weight[side]].unit),
						     s));
	}
}

/* As much of the name as fits. */
static void put_cut(struct graph *g, const char *name, double width)
{
	const unsigned int room = width > 6 ? (unsigned int)((width - 6) / CHARACTER) : 0;

	if (room < 3)
		return;
	report_buf_reset(&g->scratch);
	report_buf_elide(&g->scratch, name, room, "…");
	if (!g->scratch.err)
		report_out_xml(&g->out, g->scratch.s);
}

static void put_frame(struct graph *g, uint32_t node, unsigned int depth)
{
	const struct diff_link *l = &g->links[node];
	const char *name = node ? diff_text(g->d, g->d->nodes[node].name) : "all";
	const uint64_t begin = g->begin[node], end = add_saturating(begin, l->width);
	const double x = PAD + pixels(g, begin), width = pixels(g, l->width);
	const unsigned int y = HEAD + (g->rows - 1 - depth) * ROW;
	char color[8];

	choose_color(g, node, color);
	report_out_printf(&g->out,
			  "<g class=\"f\" data-x=\"%" PRIu64 "\" data-w=\"%" PRIu64
			  "\" data-d=\"%u\"><title>",
			  begin >> g->shift, (end >> g->shift) - (begin >> g->shift), depth);
	report_out_xml(&g->out, name);
	report_out_puts(&g->out, " (");
	put_change(g, &l->total);
	report_out_printf(&g->out,
			  ")</title><rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\" "
			  "rx=\"2\" fill=\"%s\"/><text x=\"%.2f\" y=\"%u\">",
			  x, y, width, ROW - 1, color, x + 3, y + ROW - 5);
	put_cut(g, name, width);
	report_out_puts(&g->out, "</text></g>\n");
}

static void put_title(struct graph *g)
{
	const struct report_diff_options *o = &g->d->options;

	if (o->show.title) {
		report_out_xml(&g->out, o->show.title);
		return;
	}
	report_out_puts(&g->out, "rawprof diff: ");
	report_out_xml(&g->out, o->name_a ? o->name_a : "A");
	report_out_puts(&g->out, " → ");
	report_out_xml(&g->out, o->name_b ? o->name_b : "B");
}

static void put_head(struct graph *g)
{
	const unsigned int height = HEAD + g->rows * ROW + FOOT;
	const uint32_t changed = g->d->verdicts[DIFF_SELF] + g->d->verdicts[DIFF_TOTAL];
	unsigned int x = PAD;

	report_out_printf(&g->out,
			  "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"rawprof\" "
			  "width=\"%d\" height=\"%u\" viewBox=\"0 0 %d %u\">\n"
			  "<style><![CDATA[\n%s]]></style>\n"
			  "<rect class=\"back\" width=\"100%%\" height=\"100%%\"/>\n"
			  "<text class=\"title\" x=\"%d\" y=\"26\">",
			  WIDTH, height, WIDTH, height, g->texts.style, PAD);
	put_title(g);
	report_out_printf(&g->out,
			  "</text>\n<text class=\"dim\" x=\"%d\" y=\"44\">%u function%s changed "
			  "beyond chance; points are percent of A's total</text>\n",
			  PAD, changed, changed == 1 ? "" : "s");
	for (size_t i = 0; i < sizeof(legend) / sizeof(*legend); i++) {
		report_out_printf(&g->out,
				  "<rect x=\"%u\" y=\"54\" width=\"11\" height=\"11\" rx=\"2\" "
				  "fill=\"%s\"/><text class=\"dim\" x=\"%u\" y=\"64\">%s</text>\n",
				  x, legend[i].color, x + 16, legend[i].name);
		x += 30 + (unsigned int)(strlen(legend[i].name) * CHARACTER);
	}
	report_out_printf(
		&g->out,
		"<text id=\"reset\" class=\"button\" x=\"%u\" y=\"64\">Reset Zoom</text>\n"
		"<text id=\"details\" x=\"%d\" y=\"%u\"></text>\n"
		"<text id=\"matched\" text-anchor=\"end\" x=\"%d\" y=\"%u\"></text>\n",
		x, PAD, height - 13, WIDTH - PAD, height - 13);
}

/* The <svg> element. */
static int write_graph(const struct report_diff *d, struct out *out)
{
	struct graph g = { .out = *out, .d = d, .links = report_diff_links(d) };
	unsigned int depth = 0;
	int err = g.links ? report_flame_texts(&g.texts) : -ENOMEM;

	if (!err)
		err = measure(&g);
	if (!err) {
		put_head(&g);
		put_frame(&g, 0, 0);
		for (uint32_t at = 0; (at = report_diff_next(d, g.links, at, &depth));)
			if (pixels(&g, g.links[at].width) >= NARROWEST)
				put_frame(&g, at, depth);
		report_out_printf(&g.out, "<script><![CDATA[\n%s]]></script>\n</svg>\n",
				  g.texts.script);
		err = g.scratch.err;
	}
	*out = g.out;
	free(g.texts.style);
	free(g.begin);
	free(g.links);
	report_buf_free(&g.scratch);
	return err;
}

int report_diff_write_svg(const struct report_diff *d, FILE *file)
{
	struct out o = { .file = file };
	int err;

	report_out_puts(&o, "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n");
	err = write_graph(d, &o);
	return err ? err : report_out_end(&o);
}

int report_diff_write_html(const struct report_diff *d, FILE *file)
{
	struct out o = { .file = file };
	int err;

	report_out_puts(&o,
			"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
			"<meta name=\"viewport\" content=\"width=device-width\">\n"
			"<title>rawprof diff</title>\n<style>body { margin: 0; } "
			"svg { display: block; }</style>\n</head>\n<body>\n");
	err = write_graph(d, &o);
	report_out_puts(&o, "</body>\n</html>\n");
	return err ? err : report_out_end(&o);
}
