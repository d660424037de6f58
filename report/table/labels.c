/* SPDX-License-Identifier: BSD-2-Clause */
/* The weight of each value of a label, such as the state of a thread. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

enum { MAX_VALUES = 20 };

struct value {
	uint32_t str; /* a string; 0: a number, or, if none, no such label */
	int64_t num;
	bool none;
	uint64_t weight;
};

static int by_value(const void *a, const void *b, void *arg)
{
	const struct table *t = arg;
	const struct value *x = a, *y = b;

	if (x->none != y->none)
		return x->none ? 1 : -1;
	if (x->str != y->str)
		return t->order.strings[x->str] < t->order.strings[y->str] ? -1 : 1;
	return x->num < y->num ? -1 : x->num > y->num;
}

static int by_weight(const void *a, const void *b, void *arg)
{
	const struct value *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return by_value(a, b, arg);
}

/* One for each value that has weight, the heaviest first; to be freed. NULL if memory ran out. */
static struct value *find_values(struct table *t, uint32_t *count)
{
	const struct report *r = t->r;
	uint32_t sets = r->label_sets.count, n = 0;
	struct value *values = calloc((size_t)sets + 1, sizeof(*values));

	if (!values)
		return NULL;
	for (uint32_t i = 0; i < sets; i++) {
		const struct label *label = label_by_key(r, i, t->options.color_by_label);

		values[i].none = !label;
		values[i].str = label ? label->str : 0;
		values[i].num = label ? label->num : 0;
	}
	for (uint32_t i = 0; i < r->samples.count; i++) {
		struct value *v = &values[sample_of(r, i)->label_set];

		v->weight = add_saturating(v->weight, value_of(r, i, t->options.weight));
	}
	qsort_r(values, sets, sizeof(*values), by_value, t);
	for (uint32_t i = 0; i < sets; i++) {
		if (n && !by_value(&values[n - 1], &values[i], t))
			values[n - 1].weight =
				add_saturating(values[n - 1].weight, values[i].weight);
		else if (values[i].weight)
			values[n++] = values[i];
	}
	qsort_r(values, n, sizeof(*values), by_weight, t);
	*count = n;
	return values;
}

static void put_value(struct table *t, const struct value *v, unsigned int weights)
{
	struct label label = { .str = v->str, .num = v->num };

	report_buf_reset(&t->scratch);
	if (v->none)
		report_buf_puts(&t->scratch, "[unknown]");
	else
		report_add_label_value(&t->scratch, t->r, &label, 0);
	report_out_putc(&t->out, ' ');
	report_table_put_share(t, v->weight, weights);
	report_out_puts(&t->out, "  ");
	report_out_buf(&t->out, &t->scratch);
	report_out_putc(&t->out, '\n');
}

static void put_title(struct table *t, unsigned int weights)
{
	report_buf_reset(&t->scratch);
	report_buf_clean(&t->scratch, t->options.color_by_label, 0, 0);
	for (size_t i = 0; i < t->scratch.len && !t->scratch.err; i++)
		if (t->scratch.s[i] >= 'a' && t->scratch.s[i] <= 'z')
			t->scratch.s[i] -= 'a' - 'A';
	report_out_printf(&t->out, "\n%s %*s  ", table_color(t, TABLE_BOLD), (int)weights + 7,
			  "WEIGHT");
	report_out_buf(&t->out, &t->scratch);
	report_out_printf(&t->out, "%s\n", table_color(t, TABLE_RESET));
}

int report_table_put_labels(struct table *t)
{
	unsigned int weights = 0;
	char s[NUMBER_SIZE];
	struct value *values;
	uint32_t n, shown;
	uint64_t rest = 0;

	if (!t->options.color_by_label)
		return 0;
	values = find_values(t, &n);
	if (!values)
		return -ENOMEM;
	shown = n < MAX_VALUES ? n : MAX_VALUES;
	for (uint32_t i = 0; i < shown; i++) {
		unsigned int width =
			(unsigned int)strlen(report_text_weight(values[i].weight, t->unit, s));

		weights = width > weights ? width : weights;
	}
	put_title(t, weights);
	for (uint32_t i = 0; i < shown; i++)
		put_value(t, &values[i], weights);
	for (uint32_t i = shown; i < n; i++)
		rest = add_saturating(rest, values[i].weight);
	if (shown < n) {
		report_out_printf(&t->out, "%s ", table_color(t, TABLE_DIM));
		report_table_put_share(t, rest, weights);
		report_out_printf(&t->out, "  in %u more%s\n", n - shown,
				  table_color(t, TABLE_RESET));
	}
	free(values);
	return 0;
}
