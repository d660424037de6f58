/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The profile as a tree for a person: processes, below them frames, the heaviest first. What has
 * one child of the same weight is not indented, so that deep stacks stay on the screen; what is
 * lighter than the least share is said in one line.
 */
#include <errno.h>
#include <stdlib.h>

#include "report/write.h"
#include "table.h"

enum { INDENT_STEP = 2, MOST_INDENT = 60, PIPE_WIDTH = 100, LEAST_NAME = 30 };
/* Lighter branches are not shown: in percent of the whole. */
#define LEAST_SHARE 0.5

struct tree_text {
	struct out out;
	struct report_options options;
	const char *unit, *dots;
	struct frame_names names;
	struct tree tree;
	uint64_t whole;
	unsigned int width, weights; /* columns */
	struct buf scratch;
};

static int by_total(const void *a, const void *b, void *arg)
{
	const struct tree_text *x = arg;
	const uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct tree_link *links = x->tree.links;

	if (links[i].total != links[k].total)
		return links[i].total > links[k].total ? -1 : 1;
	return x->names.rank[x->tree.nodes[i].key] < x->names.rank[x->tree.nodes[k].key] ? -1 : 1;
}

/* The children of a node, the heaviest first; to be freed. NULL if memory ran out. */
static uint32_t *children_of(struct tree_text *x, uint32_t node, uint32_t *n)
{
	const struct tree_link *links = x->tree.links;
	uint32_t *children, i = 0;

	*n = 0;
	for (uint32_t c = links[node].child; c != NONE; c = links[c].next)
		++*n;
	children = malloc(((size_t)*n + 1) * sizeof(*children));
	for (uint32_t c = links[node].child; children && c != NONE; c = links[c].next)
		children[i++] = c;
	if (children)
		qsort_r(children, *n, sizeof(*children), by_total, x);
	return children;
}

static const char *color_of(const struct tree_text *x, uint32_t kind)
{
	return color_code(&x->options, kind == KIND_COMM			   ? TABLE_BOLD
				       : kind == REPORT_KERNEL			   ? "\033[36m"
				       : kind == REPORT_MARK || kind == KIND_LABEL ? TABLE_DIM
										   : "");
}

static void put_shares(struct tree_text *x, uint64_t total, uint64_t self)
{
	char s[NUMBER_SIZE], own[NUMBER_SIZE];

	report_out_printf(&x->out, " %5.1f%% %*s  %*s  ", report_text_percent(total, x->whole),
			  (int)x->weights, report_text_weight(total, x->unit, s), (int)x->weights,
			  self ? report_text_weight(self, x->unit, own) : "");
}

static void put_node(struct tree_text *x, uint32_t node, unsigned int indent)
{
	const struct name *name = name_get(&x->names, x->tree.nodes[node].key);
	unsigned int used = 8 + 2 * x->weights + 4 + indent, left;

	left = x->width > used + LEAST_NAME ? x->width - used : LEAST_NAME;
	put_shares(x, x->tree.links[node].total, x->tree.nodes[node].self);
	report_out_fill(&x->out, ' ', indent);
	report_buf_reset(&x->scratch);
	report_buf_shorten(&x->scratch, name_text(&x->names, x->tree.nodes[node].key), left,
			   x->dots);
	report_out_puts(&x->out, color_of(x, name->kind));
	report_out_buf(&x->out, &x->scratch);
	report_out_printf(&x->out, "%s\n",
			  *color_of(x, name->kind) ? color_code(&x->options, TABLE_RESET) : "");
}

static void put_rest(struct tree_text *x, uint64_t rest, uint32_t n, unsigned int indent)
{
	report_out_puts(&x->out, color_code(&x->options, TABLE_DIM));
	put_shares(x, rest, 0);
	report_out_fill(&x->out, ' ', indent);
	report_out_printf(&x->out, "in %u lighter branch%s%s\n", n, n == 1 ? "" : "es",
			  color_code(&x->options, TABLE_RESET));
}

/* As deep as stacks are, which REPORT_MAX_STACK bounds. */
static int put_below(struct tree_text *x, uint32_t node, unsigned int indent)
{
	const struct tree_link *links = x->tree.links;
	uint32_t n, shown, *children = children_of(x, node, &n);
	uint64_t rest = 0;
	int err = children ? 0 : -ENOMEM;

	for (shown = 0; !err && shown < n; shown++) {
		const uint32_t child = children[shown];
		unsigned int below = indent;

		if (report_text_percent(links[child].total, x->whole) < LEAST_SHARE)
			break;
		put_node(x, child, indent);
		/* A single child that has all of it stays in the column. */
		if (links[child].child != NONE &&
		    links[links[child].child].total != links[child].total)
			below += below < MOST_INDENT ? INDENT_STEP : 0;
		err = x->out.err ? x->out.err : put_below(x, child, below);
	}
	for (uint32_t i = shown; !err && i < n; i++)
		rest = add_saturating(rest, links[children[i]].total);
	if (!err && shown < n)
		put_rest(x, rest, n - shown, indent);
	free(children);
	return err;
}

/* The widest weight is the whole; of times and sizes one with three digits and a unit may be wider.
 */
static unsigned int widest(const struct tree_text *x)
{
	unsigned int widest = 5; /* "TOTAL" */
	char s[NUMBER_SIZE];

	for (uint32_t i = 0; i < x->tree.count; i++) {
		unsigned int n =
			report_text_columns(report_text_weight(x->tree.links[i].total, x->unit, s));

		widest = n > widest ? n : widest;
	}
	return widest;
}

static int make(struct tree_text *x, const struct report *r)
{
	int err = report_names_make(r, &x->options, false, &x->names);

	if (!err)
		err = report_tree_by_name(r, &x->names, &x->options, &x->tree);
	return err;
}

int report_write_tree(const struct report *r, FILE *file, const struct report_options *options)
{
	struct tree_text x = { .out = { .file = file } };
	const char *events = text(r, r->types[0].type);
	int err = report_options_resolve(r, options, &x.options);

	if (err)
		return err;
	x.unit = text(r, r->types[x.options.weight].unit);
	x.dots = x.options.utf8 ? "…" : "...";
	x.width = x.options.width ? x.options.width : PIPE_WIDTH;
	x.whole = report_total(r, x.options.weight);
	err = make(&x, r);
	report_table_head(&x.out, &x.options, &r->meta, NULL, report_total(r, 0), events);
	if (!err && x.whole) {
		x.weights = widest(&x);
		report_out_printf(&x.out, "\n%s %*s  %*s  %s%s\n",
				  color_code(&x.options, TABLE_BOLD), (int)x.weights + 7, "TOTAL",
				  (int)x.weights, "SELF", x.options.reverse ? "CALLED BY" : "CALLS",
				  color_code(&x.options, TABLE_RESET));
		err = put_below(&x, 0, 0);
	} else if (!err) {
		report_table_nothing(&x.out, text(r, r->types[x.options.weight].type));
	}
	if (!err)
		err = x.scratch.err;
	report_meta_print(&x.out, &r->meta, events);
	report_tree_free(&x.tree);
	report_names_free(&x.names);
	report_buf_free(&x.scratch);
	return err ? err : report_out_end(&x.out);
}
