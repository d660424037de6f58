/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A flame graph as SVG: the root at the bottom, a row for each depth, widths by weight,
 * siblings by name. It is complete without its script, which adds zoom, search and a width that
 * follows the window.
 *
 * Each frame is a group with the attributes the script lays out by: data-x and data-w, where it
 * begins and how wide it is in units of weight, and data-d, its depth. Groups are in preorder.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "flame.h"
#include "texts.h"

enum { PAD = 12, HEAD = 76, FOOT = 34, ROW = 18, BUTTON = 110 };

/* Width of a character of the 12 px monospace fonts that the style asks for; the script measures
 * it. */
#define CHARACTER 7.22

struct flame {
	struct out *out;
	const struct report *r;
	struct report_options options;
	struct frame_names names;
	struct tree tree;
	uint64_t *begin;	    /* of each node of the tree, in units of weight */
	unsigned int rows;	    /* that are visible */
	bool kinds[KINDS];	    /* that occur */
	struct flame_labels labels; /* if it is coloured by one */
	double scale;		    /* pixels of a unit of weight */
	unsigned int height;
	bool fixed; /* the width was asked for, so it does not follow the window */
	int shift;  /* weights are shifted by this for the script, whose numbers have 53 bits */
	struct buf scratch;
	struct flame_texts texts;
};

static bool visible(const struct flame *f, uint32_t node)
{
	return (double)f->tree.links[node].total * f->scale >= f->options.min_width;
}

/* The next visible node in preorder, 0 after the last: what is below an invisible one is narrower
 * still. */
static uint32_t next_visible(const struct flame *f, uint32_t at, unsigned int *depth)
{
	const struct tree_link *links = f->tree.links;
	uint32_t next = links[at].child;

	++*depth;
	for (;;) {
		while (next != NONE && !visible(f, next))
			next = links[next].next;
		if (next != NONE)
			return next;
		if (!at)
			return 0;
		next = links[at].next;
		at = f->tree.nodes[at].parent;
		--*depth;
	}
}

static int measure(struct flame *f)
{
	const struct tree_link *links = f->tree.links;
	unsigned int depth = 0;

	f->begin = calloc(f->tree.count, sizeof(*f->begin));
	if (!f->begin)
		return -ENOMEM;
	/* A parent comes before its children, so its own begin is known when it places them. */
	for (uint32_t i = 0; i < f->tree.count; i++) {
		uint64_t at = f->begin[i];

		for (uint32_t child = links[i].child; child != NONE; child = links[child].next) {
			f->begin[child] = at;
			at = add_saturating(at, links[child].total);
		}
	}
	f->scale = (f->options.image_width - 2.0 * PAD) / (double)links[0].total;
	while (links[0].total >> f->shift >= 1ull << 52)
		f->shift++;
	f->rows = 1;
	for (uint32_t at = 0; (at = next_visible(f, at, &depth));) {
		if (depth + 1 > f->rows)
			f->rows = depth + 1;
		f->kinds[name_get(&f->names, f->tree.nodes[at].key)->kind] = true;
	}
	f->height = HEAD + f->rows * ROW + FOOT;
	return 0;
}

/* The name as far as it fits into `width` pixels; nothing if less than three characters do. */
static void put_cut(struct flame *f, const char *name, double width)
{
	size_t capacity = width > 6 ? (size_t)((width - 6) / CHARACTER) : 0;
	bool whole = report_text_columns(name) <= capacity;

	if (capacity < 3)
		return;
	report_buf_reset(&f->scratch);
	for (size_t n = whole ? capacity : capacity - 1; n && *name; n--) {
		char unit[RP_TEXT_UNIT];

		report_buf_add(&f->scratch, unit, rp_text_unit(&name, unit, NULL));
	}
	if (!whole)
		report_buf_puts(&f->scratch, "…");
	if (f->scratch.err)
		f->out->err = f->scratch.err;
	else
		report_out_xml(f->out, f->scratch.s);
}

/* "1,234 samples, 5.67%" */
static void put_weight(struct flame *f, uint64_t weight)
{
	const struct report_options *o = &f->options;
	const char *unit =
		strcmp(o->unit, "count") ? o->unit : text(f->r, f->r->types[o->weight].type);
	char s[NUMBER_SIZE];

	if (o->divisor == 1 && (!strcmp(unit, "nanoseconds") || !strcmp(unit, "bytes"))) {
		report_out_puts(f->out, report_text_weight(weight, unit, s));
	} else {
		report_out_puts(f->out, report_text_number(divide_rounded(weight, o->divisor), s));
		report_out_putc(f->out, ' ');
		report_out_xml(f->out, unit);
	}
	report_out_puts(f->out, ", ");
	report_out_hundredths(f->out, report_text_percent(weight, f->tree.links[0].total));
	report_out_putc(f->out, '%');
}

static void put_integer(struct flame *f, const char *before, uint64_t v)
{
	report_out_puts(f->out, before);
	report_out_u64(f->out, v);
}

static void put_pixels(struct flame *f, const char *before, double v)
{
	report_out_puts(f->out, before);
	report_out_hundredths(f->out, v);
}

static void put_frame(struct flame *f, uint32_t node, unsigned int depth)
{
	const struct tree_node *n = &f->tree.nodes[node];
	uint64_t total = f->tree.links[node].total;
	const char *name = node ? name_text(&f->names, n->key) : "all";
	uint64_t begin = f->begin[node], end = add_saturating(begin, total);
	double x = PAD + (double)begin * f->scale, width = (double)total * f->scale;
	unsigned int row = f->options.inverted ? depth : f->rows - 1 - depth;
	unsigned int y = HEAD + row * ROW;
	char color[8] = "#d9dce1";

	if (node && f->labels.place)
		report_flame_color_of_label(name, f->labels.place[node], color);
	else if (node)
		report_flame_color(name, name_get(&f->names, n->key)->kind, color);
	put_integer(f, "<g class=\"f\" data-x=\"", begin >> f->shift);
	put_integer(f, "\" data-w=\"", (end >> f->shift) - (begin >> f->shift));
	put_integer(f, "\" data-d=\"", depth);
	report_out_puts(f->out, "\"><title>");
	report_out_xml(f->out, name);
	report_out_puts(f->out, " (");
	put_weight(f, total);
	put_pixels(f, ")</title><rect x=\"", x);
	put_integer(f, "\" y=\"", y);
	put_pixels(f, "\" width=\"", width);
	put_integer(f, "\" height=\"", ROW - 1);
	report_out_puts(f->out, "\" rx=\"2\" fill=\"");
	report_out_puts(f->out, color);
	put_pixels(f, "\"/><text x=\"", x + 3);
	put_integer(f, "\" y=\"", y + ROW - 5);
	report_out_puts(f->out, "\">");
	put_cut(f, name, width);
	report_out_puts(f->out, "</text></g>\n");
}

/* Returns where the next one begins. */
static unsigned int put_legend_entry(struct flame *f, unsigned int x, const char *color,
				     const char *name)
{
	report_out_printf(
		f->out,
		"<rect x=\"%u\" y=\"54\" width=\"11\" height=\"11\" rx=\"2\" fill=\"%s\"/>"
		"<text class=\"dim\" x=\"%u\" y=\"64\">",
		x, color, x + 16);
	report_out_xml(f->out, name);
	report_out_puts(f->out, "</text>\n");
	return x + 16 + 14 + (unsigned int)(report_text_columns(name) * CHARACTER);
}

static unsigned int put_kinds(struct flame *f)
{
	static const struct {
		uint32_t kind;
		const char *name, *color;
	} entries[] = {
		{ REPORT_USER, "user", "#f2a25c" },	{ REPORT_KERNEL, "kernel", "#77b5dd" },
		{ REPORT_JIT, "JIT", "#87c777" },	{ REPORT_INLINED, "inlined", "#eca0ae" },
		{ REPORT_PYTHON, "Python", "#b7a3e3" }, { REPORT_JS, "JavaScript", "#d8cf69" },
		{ REPORT_JVM, "Java", "#70c7a9" },	{ REPORT_PHP, "PHP", "#9a9fdc" },
		{ REPORT_RUBY, "Ruby", "#d9707c" },	{ REPORT_PERL, "Perl", "#61c2c9" },
		{ KIND_COMM, "process", "#c5cbd5" },
	};
	unsigned int x = PAD;

	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++)
		if (f->kinds[entries[i].kind])
			x = put_legend_entry(f, x, entries[i].color, entries[i].name);
	return x;
}

/* As many values as there is room for beside the button. */
static unsigned int put_values(struct flame *f)
{
	unsigned int x = PAD, end = f->options.image_width - 2 * PAD;
	char color[8];

	for (uint32_t i = 0; i < f->labels.nvalues; i++) {
		const char *name = name_text(&f->names, f->labels.values[i]);

		if (x + BUTTON + report_text_columns(name) * CHARACTER > end)
			break;
		report_flame_color_of_label(name, i, color);
		x = put_legend_entry(f, x, color, name);
	}
	return x;
}

void report_flame_title(const struct report *r, const struct report_options *options, struct buf *b)
{
	if (options->title)
		report_buf_clean(b, options->title, 0, 0);
	else
		report_add_title(b, &r->meta.info);
}

static void put_head(struct flame *f)
{
	struct buf *b = &f->scratch;

	report_out_printf(f->out,
			  "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"rawprof\" "
			  "width=\"%u\" height=\"%u\" "
			  "viewBox=\"0 0 %u %u\"%s>\n<style><![CDATA[\n%s]]></style>\n",
			  f->options.image_width, f->height, f->options.image_width, f->height,
			  f->fixed ? " data-fixed=\"1\"" : "", f->texts.style);
	report_out_printf(f->out, "<rect class=\"back\" width=\"100%%\" height=\"100%%\"/>\n");
	report_buf_reset(b);
	report_flame_title(f->r, &f->options, b);
	report_out_printf(f->out, "<text class=\"title\" x=\"%d\" y=\"26\">", PAD);
	report_out_xml(f->out, b->err ? "" : b->s);
	report_buf_reset(b);
	if (f->options.subtitle)
		report_buf_clean(b, f->options.subtitle, 0, 0);
	else
		report_add_profile_circumstances(b, f->r);
	report_out_printf(f->out, "</text>\n<text class=\"dim\" x=\"%d\" y=\"44\">", PAD);
	report_out_xml(f->out, b->err ? "" : b->s);
	report_out_puts(f->out, "</text>\n");
}

static void put_graph(struct flame *f)
{
	unsigned int depth = 0, end;

	end = f->labels.place ? put_values(f) : put_kinds(f);
	report_out_printf(
		f->out, "<text id=\"reset\" class=\"button\" x=\"%u\" y=\"64\">Reset Zoom</text>\n",
		end);
	report_out_printf(f->out, "<text id=\"details\" x=\"%d\" y=\"%u\"></text>\n", PAD,
			  f->height - 13);
	report_out_printf(f->out,
			  "<text id=\"matched\" text-anchor=\"end\" x=\"%u\" y=\"%u\"></text>\n",
			  f->options.image_width - PAD, f->height - 13);
	put_frame(f, 0, 0);
	for (uint32_t at = 0; (at = next_visible(f, at, &depth));)
		put_frame(f, at, depth);
	report_out_printf(f->out, "<script><![CDATA[\n%s]]></script>\n", f->texts.script);
}

int report_flame_write(const struct report *r, struct out *o, const struct report_options *given)
{
	struct flame f = {
		.out = o, .r = r, .height = HEAD + FOOT, .fixed = given && given->image_width
	};
	int err = report_options_resolve(r, given, &f.options);

	if (err)
		return err;
	if (f.options.image_width < 200)
		f.options.image_width = 200;
	err = report_flame_texts(&f.texts);
	if (!err)
		err = report_names_make(r, &f.options, false, &f.names);
	if (!err)
		err = report_tree_by_name(r, &f.names, &f.options, &f.tree);
	if (!err && f.tree.links[0].total)
		err = measure(&f);
	if (!err && f.options.color_by_label)
		err = report_flame_labels_make(&f.names, &f.tree, f.options.label_order, &f.labels);
	if (!err) {
		put_head(&f);
		if (f.tree.links[0].total)
			put_graph(&f);
		else
			report_out_printf(o,
					  "<text x=\"%d\" y=\"%d\">Nothing was recorded.</text>\n",
					  PAD, HEAD);
		report_out_puts(o, "</svg>\n");
		err = f.scratch.err;
	}
	free(f.begin);
	free(f.texts.style);
	report_flame_labels_free(&f.labels);
	report_buf_free(&f.scratch);
	report_tree_free(&f.tree);
	report_names_free(&f.names);
	return err ? err : o->err;
}
