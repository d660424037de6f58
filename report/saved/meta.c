/* SPDX-License-Identifier: BSD-2-Clause */
/* What stands beside the figures of a saved result, and how they are shown. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "saved.h"

enum { HAS_LEDGER = 1, HAS_COST = 2, HAS_EVENTS = 4, IS_ESTIMATED = 8, META_FLAGS = 16 };

static void put_info(struct buf *b, const struct report_info *info)
{
	struct report_info i = *info;
	const char **text;

	for (size_t n = 0; (text = report_info_text(&i, n)); n++)
		report_put_text(b, *text);
	report_proto_add_varint(b, i.period);
	report_proto_add_varint(b, i.start_ns);
	report_proto_add_varint(b, i.duration_ns);
	report_put_double(b, i.rate_asked);
	report_put_double(b, i.rate_achieved);
	report_proto_add_varint(b, i.cpus);
	report_proto_add_varint(b, i.events);
}

static void put_ledger(struct buf *b, const struct report_ledger *l)
{
	report_proto_add_varint(b, l->fired);
	report_proto_add_varint(b, l->kept);
	report_put_text(b, l->events);
	report_proto_add_varint(b, l->nlines);
	for (size_t i = 0; i < l->nlines; i++) {
		report_put_text(b, l->lines[i].name);
		report_proto_add_varint(b, l->lines[i].count);
		report_proto_add_varint(b, (uint64_t)l->lines[i].fate);
	}
}

static void put_cost(struct buf *b, const struct report_cost *c)
{
	report_proto_add_varint(b, c->bpf_ns);
	report_proto_add_varint(b, c->bpf_runs);
	report_proto_add_varint(b, c->user_cpu_ns);
	report_proto_add_varint(b, c->system_cpu_ns);
	report_proto_add_varint(b, c->peak_rss_bytes);
}

void report_saved_put_meta(struct saved_document *d, const struct report_meta *meta)
{
	struct buf *b = report_saved_section(d, SAVED_META);
	const bool estimated = meta->has_cost && meta->cost.bpf_estimated;

	report_proto_add_varint(b, (meta->has_ledger ? HAS_LEDGER : 0) |
					   (meta->has_cost ? HAS_COST : 0) |
					   (meta->info.has_events ? HAS_EVENTS : 0) |
					   (estimated ? IS_ESTIMATED : 0));
	put_info(b, &meta->info);
	if (meta->has_ledger)
		put_ledger(b, &meta->ledger);
	if (meta->has_cost)
		put_cost(b, &meta->cost);
}

static int get_info(struct saved_input *in, bool has_events, struct report_meta *meta)
{
	struct report_info i = { .has_events = has_events };
	const char **text;

	for (size_t n = 0; (text = report_info_text(&i, n)); n++)
		*text = report_get_text(in);
	i.period = report_get_number(in);
	i.start_ns = report_get_number(in);
	i.duration_ns = report_get_number(in);
	i.rate_asked = report_get_double(in);
	i.rate_achieved = report_get_double(in);
	i.cpus = report_get_below(in, 1ull << 32);
	i.events = report_get_number(in);
	return in->bad ? -EINVAL : report_meta_set_info(meta, &i);
}

static int get_ledger(struct saved_input *in, struct report_meta *meta)
{
	struct report_ledger l = { 0 };
	struct report_ledger_line *lines;
	int err;

	l.fired = report_get_number(in);
	l.kept = report_get_number(in);
	l.events = report_get_text(in);
	/* A line has three bytes at least. */
	l.nlines = report_get_below(in, (uint64_t)(in->end - in->at) / 3 + 1);
	lines = calloc(l.nlines + 1, sizeof(*lines));
	if (!lines)
		return -ENOMEM;
	l.lines = lines;
	for (size_t i = 0; i < l.nlines; i++) {
		lines[i].name = report_get_text(in);
		lines[i].count = report_get_number(in);
		lines[i].fate = (enum report_fate)report_get_below(in, REPORT_LOST + 1);
		in->bad = in->bad || !lines[i].name;
	}
	err = in->bad ? -EINVAL : report_meta_set_ledger(meta, &l);
	free(lines);
	return err;
}

static void get_cost(struct saved_input *in, bool estimated, struct report_meta *meta)
{
	struct report_cost c = { .bpf_estimated = estimated };

	c.bpf_ns = report_get_number(in);
	c.bpf_runs = report_get_number(in);
	c.user_cpu_ns = report_get_number(in);
	c.system_cpu_ns = report_get_number(in);
	c.peak_rss_bytes = report_get_number(in);
	report_meta_set_cost(meta, &c);
}

int report_saved_get_meta(struct saved_input *in, struct report_meta *meta)
{
	uint32_t flags = report_get_below(in, META_FLAGS);
	int err = get_info(in, flags & HAS_EVENTS, meta);

	if (!err && flags & HAS_LEDGER)
		err = get_ledger(in, meta);
	if (!err && flags & HAS_COST)
		get_cost(in, flags & IS_ESTIMATED, meta);
	return err ? err : in->bad || in->at != in->end ? -EINVAL : 0;
}

/* ---- how it is shown */

/* The flags of struct report_options, in the order of their bits. */
static bool *show_flag(struct report_options *o, size_t n)
{
	bool *const flags[] = { &o->part,  &o->annotate, &o->delimiter, &o->addresses,
				&o->lines, &o->reverse,	 &o->inverted };

	return n < sizeof(flags) / sizeof(*flags) ? flags[n] : NULL;
}
enum { SHOW_FLAGS = 1 << 7, MAX_WIDTH = 1 << 20 /* pixels */ };

static const char **show_text(struct report_options *o, size_t n)
{
	const char **const texts[] = { &o->unit, &o->color_by_label, &o->title, &o->subtitle };

	return n < sizeof(texts) / sizeof(*texts) ? texts[n] : NULL;
}

/* What belongs to the terminal (width, utf8, color) is not kept. */
void report_saved_put_show(struct saved_document *d, const struct report_options *options)
{
	struct report_options o = options ? *options : (struct report_options){ 0 };
	struct buf *b = report_saved_section(d, SAVED_SHOW);
	uint64_t flags = 0, order = 0;
	const char **text;
	bool *flag;

	for (size_t n = 0; (flag = show_flag(&o, n)); n++)
		flags |= (uint64_t)*flag << n;
	report_proto_add_varint(b, flags);
	for (size_t n = 0; (text = show_text(&o, n)); n++)
		report_put_text(b, *text);
	report_proto_add_varint(b, o.weight);
	report_proto_add_varint(b, o.divisor);
	report_proto_add_varint(b, o.top_functions);
	report_proto_add_varint(b, o.top_stacks);
	report_proto_add_varint(b, (uint64_t)o.sort);
	report_proto_add_varint(b, o.image_width);
	report_put_double(b, o.min_width);
	while (o.label_order && o.label_order[order])
		order++;
	report_proto_add_varint(b, o.label_order ? order + 1 : 0);
	for (uint64_t i = 0; i < order; i++)
		report_put_text(b, o.label_order[i]);
}

/* The texts live in *out, in one piece with the bytes of the section. */
int report_saved_get_show(struct saved_input *in, struct report_file *out)
{
	const size_t size = (size_t)(in->end - in->at);
	struct report_options *o = &out->show;
	/* At worst each byte begins another text. */
	const char **order = malloc((size + 1) * sizeof(*order) + size);
	struct saved_input own = { 0 };
	const char **text;
	uint32_t flags, n;
	bool *flag;

	if (!order)
		return -ENOMEM;
	out->texts = order;
	memcpy(order + size + 1, in->at, size);
	own.at = (unsigned char *)(order + size + 1);
	own.end = own.at + size;
	flags = report_get_below(&own, SHOW_FLAGS);
	for (size_t i = 0; (flag = show_flag(o, i)); i++)
		*flag = flags >> i & 1;
	for (size_t i = 0; (text = show_text(o, i)); i++)
		*text = report_get_text(&own);
	o->weight = report_get_below(&own, REPORT_MAX_VALUES);
	o->divisor = report_get_number(&own);
	o->top_functions = report_get_below(&own, 1ull << 32);
	o->top_stacks = report_get_below(&own, 1ull << 32);
	o->sort = (enum report_sort)report_get_below(&own, REPORT_BY_TOTAL + 1);
	o->image_width = report_get_below(&own, MAX_WIDTH);
	o->min_width = report_get_double(&own);
	n = report_get_below(&own, size + 1);
	for (uint32_t i = 0; i + 1 < n; i++) {
		order[i] = report_get_text(&own);
		own.bad = own.bad || !order[i];
	}
	order[n ? n - 1 : 0] = NULL;
	o->label_order = n ? order : NULL;
	return own.bad || own.at != own.end ? -EINVAL : 0;
}
