/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The heaviest stacks of the table. Stacks of the same functions are one, whatever
 * the addresses; each is a chain from the function that ran to its outermost caller, wrapped like a
 * text.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

enum { INDENT = 8, NAME_MAX_COLUMNS = 44 };

struct heaviest {
	const struct table *table;
	const struct tree *tree;
};

/* The key of a stack without frames is NONE, and is last. */
static uint32_t rank_function(const struct heaviest *by, uint32_t key)
{
	return key == NONE ? NONE : by->table->order.functions[key];
}

/* By weight, then by functions from the leaf, then by process: ties have one order. */
static int by_weight(const void *x, const void *y, void *arg)
{
	const struct heaviest *by = arg;
	const struct tree_node *nodes = by->tree->nodes;
	const struct order *order = &by->table->order;
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;

	if (nodes[a].self != nodes[b].self)
		return nodes[a].self > nodes[b].self ? -1 : 1;
	while (a != b && nodes[a].key == nodes[b].key && nodes[a].parent && nodes[b].parent) {
		a = nodes[a].parent;
		b = nodes[b].parent;
	}
	if (a == b)
		return 0;
	if (!nodes[a].parent != !nodes[b].parent)
		return nodes[a].parent ? 1 : -1;
	if (!nodes[a].parent)
		return order->strings[nodes[a].key] < order->strings[nodes[b].key] ? -1 : 1;
	return rank_function(by, nodes[a].key) < rank_function(by, nodes[b].key) ? -1 : 1;
}

/* The ends of all stacks, the heaviest first; to be freed. NULL if memory ran out. */
static uint32_t *sort_stacks(const struct table *t, const struct tree *tree, uint32_t *n)
{
	uint32_t *ends = malloc(tree->count * sizeof(*ends));
	struct heaviest by = { t, tree };

	*n = 0;
	for (uint32_t i = 1; ends && i < tree->count; i++)
		if (tree->nodes[i].self)
			ends[(*n)++] = i;
	if (ends)
		qsort_r(ends, *n, sizeof(*ends), by_weight, &by);
	return ends;
}

/* Appends a word to the chain; a new line is begun when it would not fit. */
static void put_link(struct table *t, const char *arrow, const struct buf *name, uint32_t kind,
		     unsigned int *column)
{
	unsigned int wide = report_text_columns(name->s) + report_text_columns(arrow);

	if (*column > INDENT && *column + wide > t->width) {
		report_out_putc(&t->out, '\n');
		report_out_fill(&t->out, ' ', INDENT);
		*column = INDENT;
	}
	report_out_printf(&t->out, "%s%s%s", table_color(t, TABLE_DIM), arrow,
			  table_color(t, TABLE_RESET));
	report_out_printf(&t->out, "%s%s%s", report_table_kind_color(t, kind), name->s,
			  table_color(t, TABLE_RESET));
	*column += wide;
}

/* A function's name, or what stands for one where a stack has no frames; (x3) if it called itself.
 */
static void add_link(struct buf *b, const struct table *t, uint32_t key, unsigned int repeats)
{
	struct buf full = { 0 };

	if (key == NONE)
		report_buf_puts(&full, "[no stack]");
	else
		report_table_add_function(&full, t->r, key);
	if (full.err)
		b->err = full.err;
	else
		report_buf_shorten(b, full.s, NAME_MAX_COLUMNS, t->dots);
	if (repeats > 1)
		report_buf_printf(b, " (x%u)", repeats);
	report_buf_free(&full);
}

static void put_chain(struct table *t, const struct tree *tree, uint32_t leaf)
{
	const char *arrow = "";
	struct buf name = { 0 };
	unsigned int column = INDENT;

	report_out_fill(&t->out, ' ', INDENT);
	for (uint32_t at = leaf; tree->nodes[at].parent; at = tree->nodes[at].parent) {
		uint32_t key = tree->nodes[at].key;
		unsigned int repeats = 1;

		while (tree->nodes[tree->nodes[at].parent].parent &&
		       tree->nodes[tree->nodes[at].parent].key == key) {
			at = tree->nodes[at].parent;
			repeats++;
		}
		report_buf_reset(&name);
		add_link(&name, t, key, repeats);
		if (name.err)
			break;
		put_link(t, arrow, &name, key == NONE ? REPORT_MARK : function_of(t->r, key)->kind,
			 &column);
		arrow = t->options.utf8 ? " ← " : " < ";
	}
	report_out_putc(&t->out, '\n');
	if (!t->out.err)
		t->out.err = name.err;
	report_buf_free(&name);
}

static uint32_t comm_of(const struct tree *tree, uint32_t leaf)
{
	while (tree->nodes[leaf].parent)
		leaf = tree->nodes[leaf].parent;
	return tree->nodes[leaf].key;
}

static void put_stack(struct table *t, const struct tree *tree, uint32_t leaf, int weights)
{
	char s[NUMBER_SIZE];

	report_out_printf(&t->out, " %5.1f%% %*s  %s",
			  report_text_percent(tree->nodes[leaf].self, t->whole), weights,
			  report_text_weight(tree->nodes[leaf].self, t->unit, s),
			  table_color(t, TABLE_BOLD));
	report_out_clean(&t->out, text(t->r, comm_of(tree, leaf)));
	report_out_printf(&t->out, "%s\n", table_color(t, TABLE_RESET));
	put_chain(t, tree, leaf);
}

/* The keys of the tree are functions, and below the root the comms' strings. */
static int merge(const struct table *t, struct tree *tree)
{
	const struct report *r = t->r;
	struct tree_view view = { .empty_stack = NONE,
				  .delimiter = NONE,
				  .weight = t->options.weight };
	uint32_t *functions = malloc(((size_t)r->frames.count + 1) * sizeof(*functions));
	uint32_t *comms = malloc(r->strings.count * sizeof(*comms));
	int err = -ENOMEM;

	*tree = (struct tree){ 0 };
	if (functions && comms) {
		for (uint32_t i = 0; i < r->frames.count; i++)
			functions[i] = frame_of(r, i)->function;
		for (uint32_t i = 0; i < r->strings.count; i++)
			comms[i] = i;
		view.of_frame = functions;
		view.of_comm = comms;
		err = report_tree_build(r, &view, tree);
	}
	free(functions);
	free(comms);
	return err;
}

int report_table_put_stacks(struct table *t)
{
	struct tree tree;
	uint32_t *ends = NULL, all, n;
	char s[NUMBER_SIZE];
	int weights = 0, err = merge(t, &tree);

	if (!err && !(ends = sort_stacks(t, &tree, &all)))
		err = -ENOMEM;
	if (!err && all) {
		n = all < t->options.top_stacks ? all : t->options.top_stacks;
		for (uint32_t i = 0; i < n; i++) {
			int width = (int)strlen(
				report_text_weight(tree.nodes[ends[i]].self, t->unit, s));

			weights = width > weights ? width : weights;
		}
		report_out_printf(&t->out, "\n%sSTACKS%s, heaviest %u of %s, innermost first\n",
				  table_color(t, TABLE_BOLD), table_color(t, TABLE_RESET), n,
				  report_text_number(all, s));
		for (uint32_t i = 0; i < n; i++)
			put_stack(t, &tree, ends[i], weights);
	}
	report_tree_free(&tree);
	free(ends);
	return err;
}
