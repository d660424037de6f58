/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The profile for a person: functions by their own weight and by that of all they call,
 * the heaviest stacks, the ledger. Percentages are of what was kept.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

enum { PIPE_WIDTH = 100, MIN_WIDTH = 60, BAR = 14, MODULE_MAX = 24 };

const char *report_table_kind_color(const struct table *t, uint32_t kind)
{
	static const char *const codes[] = {
		[REPORT_USER] = "",	    [REPORT_KERNEL] = "\033[36m",
		[REPORT_JIT] = "\033[32m",  [REPORT_INLINED] = "\033[35m",
		[REPORT_MARK] = TABLE_DIM,  [REPORT_PYTHON] = "\033[33m",
		[REPORT_JS] = "\033[33m",   [REPORT_JVM] = "\033[33m",
		[REPORT_PHP] = "\033[33m",  [REPORT_RUBY] = "\033[33m",
		[REPORT_PERL] = "\033[33m",
	};

	return table_color(t, codes[kind]);
}

/* Prints s in exactly `columns` columns, or in fewer if it may be ragged. */
static void put_cell(struct table *t, const char *s, unsigned int columns, bool ragged)
{
	report_buf_reset(&t->scratch);
	report_buf_shorten(&t->scratch, s, columns, t->dots);
	report_out_buf(&t->out, &t->scratch);
	if (!ragged && !t->scratch.err)
		report_out_fill(&t->out, ' ', columns - report_text_columns(t->scratch.s));
}

void report_table_add_function(struct buf *b, const struct report *r, uint32_t function)
{
	const struct function *fn = function_of(r, function);
	struct report_frame frame = { .name = text(r, fn->name),
				      .module = text(r, fn->path),
				      .kind = (enum report_frame_kind)fn->kind };
	static const struct report_options plain;

	report_name_frame(b, &frame, &plain, false);
	if (fn->kind == REPORT_INLINED)
		report_buf_puts(b, " (inlined)");
}

static const char *module_name(const struct report *r, uint32_t function)
{
	const struct function *fn = function_of(r, function);
	const char *path = text(r, fn->path);

	if (path && *path)
		return report_text_base(path);
	return fn->kind == REPORT_KERNEL ? "[kernel]" : fn->kind == REPORT_JIT ? "[jit]" : "";
}

/*
 * Self and total weight of each function. A stack's weight goes to the total of a function once,
 * however often the function occurs in it: seen[function] is the last stack that it was met in.
 */
static int weigh(struct table *t)
{
	const struct report *r = t->r;
	uint64_t *weight = calloc(r->nnodes, sizeof(*weight));
	uint32_t *seen = calloc((size_t)r->functions.count + 1, sizeof(*seen));

	t->self = calloc((size_t)r->functions.count + 1, sizeof(*t->self));
	t->total = calloc((size_t)r->functions.count + 1, sizeof(*t->total));
	if (!weight || !seen || !t->self || !t->total) {
		free(weight);
		free(seen);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < r->samples.count; i++) {
		uint64_t *w = &weight[sample_of(r, i)->node];

		*w = add_saturating(*w, value_of(r, i, t->options.weight));
	}
	for (uint32_t leaf = 1; leaf < r->nnodes; leaf++) {
		if (!weight[leaf])
			continue;
		for (uint32_t node = leaf; node; node = r->nodes[node].parent) {
			uint32_t fn = frame_of(r, r->nodes[node].frame)->function;

			if (node == leaf)
				t->self[fn] = add_saturating(t->self[fn], weight[leaf]);
			if (seen[fn] != leaf)
				t->total[fn] = add_saturating(t->total[fn], weight[leaf]);
			seen[fn] = leaf;
		}
	}
	t->stackless = weight[0];
	free(weight);
	free(seen);
	return 0;
}

static int by_weight(const void *a, const void *b, void *arg)
{
	const struct table *t = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	bool self = t->options.sort == REPORT_BY_SELF;
	const uint64_t *first = self ? t->self : t->total, *second = self ? t->total : t->self;

	if (first[x] != first[y])
		return first[x] > first[y] ? -1 : 1;
	if (second[x] != second[y])
		return second[x] > second[y] ? -1 : 1;
	return t->order.functions[x] < t->order.functions[y] ? -1 : 1;
}

static int sort_rows(struct table *t)
{
	t->rows = malloc(((size_t)t->r->functions.count + 1) * sizeof(*t->rows));
	if (!t->rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->r->functions.count; i++)
		if (t->total[i])
			t->rows[t->nrows++] = i;
	qsort_r(t->rows, t->nrows, sizeof(*t->rows), by_weight, t);
	return 0;
}

/* Heavy for the function's own weight, light for the rest of its total. */
static void put_bar(struct table *t, uint64_t self, uint64_t total)
{
	unsigned int heavy =
		(unsigned int)(report_text_percent(self, t->whole) * t->bar / 100 + 0.5);
	unsigned int all =
		(unsigned int)(report_text_percent(total, t->whole) * t->bar / 100 + 0.5);

	if (heavy > t->bar)
		heavy = t->bar;
	if (all > t->bar)
		all = t->bar;
	report_out_puts(&t->out, table_color(t, "\033[33m"));
	for (unsigned int i = 0; i < heavy; i++)
		report_out_puts(&t->out, "━");
	report_out_puts(&t->out, table_color(t, TABLE_DIM));
	for (unsigned int i = heavy; i < all; i++)
		report_out_puts(&t->out, "─");
	report_out_puts(&t->out, table_color(t, TABLE_RESET));
	report_out_fill(&t->out, ' ', t->bar - (all > heavy ? all : heavy) + 2);
}

static unsigned int shown_functions(const struct table *t)
{
	return t->nrows < t->options.top_functions ? t->nrows : t->options.top_functions;
}

/* How wide the weights and the modules that will be shown are. */
static void measure(const struct table *t, unsigned int *weights, unsigned int *modules)
{
	char s[NUMBER_SIZE];

	*weights = 4;
	*modules = 6;
	for (unsigned int i = 0; i < shown_functions(t); i++) {
		unsigned int w =
			(unsigned int)strlen(report_text_weight(t->total[t->rows[i]], t->unit, s));
		unsigned int s_w =
			(unsigned int)strlen(report_text_weight(t->self[t->rows[i]], t->unit, s));
		unsigned int m = report_text_columns(module_name(t->r, t->rows[i]));

		w = s_w > w ? s_w : w;
		*weights = w > *weights ? w : *weights;
		*modules = m > *modules ? m : *modules;
	}
	if (*modules > MODULE_MAX)
		*modules = MODULE_MAX;
}

void report_table_put_share(struct table *t, uint64_t weight, unsigned int weights)
{
	char s[NUMBER_SIZE];

	if (weight)
		report_out_printf(&t->out, "%5.1f%% %*s", report_text_percent(weight, t->whole),
				  (int)weights, report_text_weight(weight, t->unit, s));
	else
		report_out_fill(&t->out, ' ', weights + 7);
}

/* What is not in a row of its own. */
static void put_rest(struct table *t, uint64_t weight, unsigned int weights, const char *what)
{
	report_out_printf(&t->out, "%s ", table_color(t, TABLE_DIM));
	report_table_put_share(t, weight, weights);
	report_out_printf(&t->out, "  %s%s\n", what, table_color(t, TABLE_RESET));
}

static void put_function(struct table *t, uint32_t fn, unsigned int weights, unsigned int names,
			 unsigned int modules)
{
	struct buf name = { 0 };

	report_out_putc(&t->out, ' ');
	report_table_put_share(t, t->self[fn], weights);
	report_out_puts(&t->out, "  ");
	report_table_put_share(t, t->total[fn], weights);
	report_out_puts(&t->out, "  ");
	if (t->bar)
		put_bar(t, t->self[fn], t->total[fn]);
	report_table_add_function(&name, t->r, fn);
	report_out_puts(&t->out, report_table_kind_color(t, function_of(t->r, fn)->kind));
	put_cell(t, name.err ? "" : name.s, names, false);
	report_out_printf(&t->out, "%s  %s", table_color(t, TABLE_RESET),
			  table_color(t, TABLE_DIM));
	put_cell(t, module_name(t->r, fn), modules, true);
	report_out_printf(&t->out, "%s\n", table_color(t, TABLE_RESET));
	report_buf_free(&name);
}

static void put_functions(struct table *t)
{
	unsigned int weights, modules, fixed, names;
	char what[64];
	uint64_t rest = 0;

	measure(t, &weights, &modules);
	fixed = 2 * (weights + 7) + 5 + (t->bar ? t->bar + 2 : 0) + 2 + modules;
	names = t->width > fixed + 12 ? t->width - fixed : 12;

	report_out_printf(&t->out, "\n%s %*s  %*s  %*s%-*s  MODULE%s\n", table_color(t, TABLE_BOLD),
			  (int)weights + 7, "SELF", (int)weights + 7, "TOTAL",
			  t->bar ? (int)t->bar + 2 : 0, "", (int)names, "FUNCTION",
			  table_color(t, TABLE_RESET));
	for (unsigned int i = 0; i < shown_functions(t); i++)
		put_function(t, t->rows[i], weights, names, modules);
	for (uint32_t i = shown_functions(t); i < t->nrows; i++)
		rest = add_saturating(rest, t->self[t->rows[i]]);
	if (shown_functions(t) < t->nrows) {
		uint32_t more = t->nrows - shown_functions(t);

		snprintf(what, sizeof(what), "in %u more function%s", more, more == 1 ? "" : "s");
		put_rest(t, rest, weights, what);
	}
	if (t->stackless)
		put_rest(t, t->stackless, weights, "without a stack");
}

/* The weight, if it is not the usual one. */
static const char *shown_by(struct table *t)
{
	if (!t->options.weight)
		return NULL;
	report_buf_reset(&t->scratch);
	report_buf_puts(&t->scratch, "shown by ");
	report_buf_puts(&t->scratch, text(t->r, t->r->types[t->options.weight].type));
	return t->scratch.err ? NULL : t->scratch.s;
}

static int table_init(struct table *t, const struct report *r, FILE *file,
		      const struct report_options *given)
{
	int err = report_options_resolve(r, given, &t->options);

	if (err)
		return err;
	t->out.file = file;
	t->r = r;
	t->unit = text(r, r->types[t->options.weight].unit);
	t->width = t->options.width ? t->options.width : PIPE_WIDTH;
	if (t->width < MIN_WIDTH)
		t->width = MIN_WIDTH;
	t->bar = t->options.width >= 80 && t->options.utf8 ? BAR : 0;
	t->dots = t->options.utf8 ? "…" : "...";
	t->whole = report_total(r, t->options.weight);
	err = report_order_make(r, false, &t->order);
	if (!err)
		err = weigh(t);
	return err ? err : sort_rows(t);
}

int report_write_table(const struct report *r, FILE *file, const struct report_options *options)
{
	struct table t = { 0 };
	int err = table_init(&t, r, file, options);

	if (!err) {
		report_table_head(&t.out, &t.options, &r->meta, shown_by(&t), report_total(r, 0),
				  text(r, r->types[0].type));
		if (t.whole) {
			err = report_table_put_labels(&t);
			put_functions(&t);
			if (!err)
				err = report_table_put_stacks(&t);
		} else {
			report_table_nothing(&t.out, text(r, r->types[t.options.weight].type));
		}
		if (t.options.part)
			report_out_putc(&t.out, '\n');
		else
			report_meta_print(&t.out, &r->meta, text(r, r->types[0].type));
		if (!err)
			err = t.scratch.err;
	}
	report_order_free(&t.order);
	report_buf_free(&t.scratch);
	free(t.self);
	free(t.total);
	free(t.rows);
	return err ? err : report_out_end(&t.out);
}
