/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The page's data, one JSON object, in columns: a column is an array of numbers, or the one number
 * that all of them are. References are numbers of rows; missing ones are -1.
 *
 *   title, subtitle: texts
 *   info, ledger, cost: as in report/json.c
 *   types: [{ type, unit, total: text of the exact sum, shift: values are shifted right by it }]
 *   weight: the type shown first;  reverse: merge from the leaf
 *   label: key of the label that colours, if any;  order: values of it that come first
 *   ranges: { kinds, labels, mixed }: [hue, hues, saturation, lightness, lightnesses] of colours
 *   names: [text], kinds: column, by name: enum report_frame_kind, then process, label
 *   strings: [text]: modules, files
 *   places: { name, module, file, line }
 *   nodes: { up: how much smaller the number of the parent is, place }; row 0 is the root
 *   threads: { pid, tid, comm: a name }
 *   samples: { node, thread, label: a name, values: [a column for each type] }
 *   stream: { value: type of the weights, missed, time: us since the moment before, kind: enum
 *             report_moment_kind, cpu, weight, count, sample }
 *   code: [{ name, module: texts, self, total, lines: [[text, self, total]] }], of the weight that
 *         is shown first; a line where nothing was is [text]
 */
#include <inttypes.h>

#include "html.h"
#include "report/flame/flame.h"

typedef int64_t cell(const struct html *h, size_t row, unsigned int arg);

static void put_number(struct html *h, int64_t v)
{
	if (v < 0)
		report_out_putc(&h->json.out, '-');
	report_out_u64(&h->json.out, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

/* The value of a key; without its name in an array of columns. */
static void put_column(struct html *h, const char *name, size_t rows, cell *get, unsigned int arg)
{
	size_t same = 1;

	if (name) {
		report_out_putc(&h->json.out, '\n');
		report_json_key(&h->json, name);
	}
	while (same < rows && get(h, same, arg) == get(h, 0, arg))
		same++;
	if (rows && same >= rows) {
		put_number(h, get(h, 0, arg));
		return;
	}
	for (size_t i = 0; i < rows; i++) {
		report_out_putc(&h->json.out, i ? ',' : '[');
		put_number(h, get(h, i, arg));
	}
	report_out_puts(&h->json.out, rows ? "]" : "[]");
}

static void begin_table(struct html *h, const char *name)
{
	report_out_putc(&h->json.out, '\n');
	report_json_key(&h->json, name);
	report_json_open(&h->json);
}

static void end_table(struct html *h)
{
	report_json_close(&h->json);
}

static int64_t reference(const uint32_t *numbers, uint32_t id)
{
	return id == NONE || numbers[id] == NONE ? -1 : (int64_t)numbers[id];
}

static int64_t name_kind(const struct html *h, size_t i, unsigned int arg)
{
	(void)arg;
	return name_get(&h->names, h->name[i])->kind;
}

static void put_names(struct html *h)
{
	report_out_putc(&h->json.out, '\n');
	report_json_key(&h->json, "names");
	for (uint32_t i = 0; i < h->nnames; i++) {
		report_out_putc(&h->json.out, i ? ',' : '[');
		report_out_json(&h->json.out, name_text(&h->names, h->name[i]));
	}
	report_out_puts(&h->json.out, h->nnames ? "]" : "[]");
	put_column(h, "kinds", h->nnames, name_kind, 0);
}

void report_html_clean(struct html *h, const char *s)
{
	struct buf b = { 0 };

	report_buf_clean(&b, s, 0, 0);
	if (b.err)
		h->json.out.err = b.err;
	else
		report_out_json(&h->json.out, b.len ? b.s : "");
	report_buf_free(&b);
}

static void put_strings(struct html *h)
{
	report_out_putc(&h->json.out, '\n');
	report_json_key(&h->json, "strings");
	for (uint32_t i = 0; i < h->nstrings; i++) {
		report_out_putc(&h->json.out, i ? ',' : '[');
		report_html_clean(h, text(h->r, h->string[i]));
	}
	report_out_puts(&h->json.out, h->nstrings ? "]" : "[]");
}

enum { PLACE_NAME, PLACE_MODULE, PLACE_FILE, PLACE_LINE };
static int64_t place_cell(const struct html *h, size_t i, unsigned int arg)
{
	const struct html_place *p = html_place_of(h, (uint32_t)i);

	switch (arg) {
	case PLACE_NAME:
		return reference(h->name_number, p->name);
	case PLACE_MODULE:
		return p->module ? reference(h->string_number, p->module) : -1;
	case PLACE_FILE:
		return p->file ? reference(h->string_number, p->file) : -1;
	default:
		return p->line;
	}
}

static int64_t node_up(const struct html *h, size_t i, unsigned int arg)
{
	(void)arg;
	return i ? (int64_t)i - html_node_of(h, (uint32_t)i)->parent : 0;
}

static int64_t node_place(const struct html *h, size_t i, unsigned int arg)
{
	(void)arg;
	return i ? (int64_t)html_node_of(h, (uint32_t)i)->place : -1;
}

static void put_stacks(struct html *h)
{
	begin_table(h, "places");
	put_column(h, "name", h->places.count, place_cell, PLACE_NAME);
	put_column(h, "module", h->places.count, place_cell, PLACE_MODULE);
	put_column(h, "file", h->places.count, place_cell, PLACE_FILE);
	put_column(h, "line", h->places.count, place_cell, PLACE_LINE);
	report_json_known(&h->json, "n", h->places.count);
	end_table(h);
	begin_table(h, "nodes");
	put_column(h, "up", h->nodes.count, node_up, 0);
	put_column(h, "place", h->nodes.count, node_place, 0);
	report_json_known(&h->json, "n", h->nodes.count);
	end_table(h);
}

enum { THREAD_PID, THREAD_TID, THREAD_COMM };
static int64_t thread_cell(const struct html *h, size_t i, unsigned int arg)
{
	const struct html_thread *t = html_thread_of(h, (uint32_t)i);

	return arg == THREAD_PID   ? t->pid
	       : arg == THREAD_TID ? t->tid
				   : reference(h->name_number, t->comm);
}

enum { SAMPLE_NODE, SAMPLE_THREAD, SAMPLE_LABEL };
static int64_t sample_cell(const struct html *h, size_t i, unsigned int arg)
{
	const struct html_sample *s = html_sample_of(h, (uint32_t)i);

	return arg == SAMPLE_NODE     ? s->node
	       : arg == SAMPLE_THREAD ? s->thread
				      : reference(h->name_number, s->label);
}

static int64_t sample_value(const struct html *h, size_t i, unsigned int type)
{
	return (int64_t)(h->values[i * h->r->ntypes + type] >> h->shift[type]);
}

static void put_samples(struct html *h)
{
	begin_table(h, "threads");
	put_column(h, "pid", h->threads.count, thread_cell, THREAD_PID);
	put_column(h, "tid", h->threads.count, thread_cell, THREAD_TID);
	put_column(h, "comm", h->threads.count, thread_cell, THREAD_COMM);
	report_json_known(&h->json, "n", h->threads.count);
	end_table(h);
	begin_table(h, "samples");
	put_column(h, "node", h->samples.count, sample_cell, SAMPLE_NODE);
	put_column(h, "thread", h->samples.count, sample_cell, SAMPLE_THREAD);
	put_column(h, "label", h->samples.count, sample_cell, SAMPLE_LABEL);
	report_json_known(&h->json, "n", h->samples.count);
	report_json_key(&h->json, "values");
	for (unsigned int i = 0; i < h->r->ntypes; i++) {
		report_out_puts(&h->json.out, i ? ",\n" : "[\n");
		put_column(h, NULL, h->samples.count, sample_value, i);
	}
	report_out_putc(&h->json.out, ']');
	end_table(h);
}

enum { MOMENT_TIME, MOMENT_KIND, MOMENT_CPU, MOMENT_WEIGHT, MOMENT_COUNT, MOMENT_SAMPLE };
static int64_t moment_cell(const struct html *h, size_t i, unsigned int arg)
{
	const struct report_moment *m = &h->moments[i];

	switch (arg) {
	case MOMENT_TIME:
		return (int64_t)(m->time_ns / 1000 - (i ? h->moments[i - 1].time_ns / 1000 : 0));
	case MOMENT_KIND:
		return m->kind;
	case MOMENT_CPU:
		return m->cpu == REPORT_NO_CPU ? -1 : m->cpu;
	case MOMENT_WEIGHT:
		return (int64_t)(m->kind == REPORT_AT ? m->weight >> h->shift[h->r->stream->value]
						      : m->weight & INT64_MAX);
	case MOMENT_COUNT:
		return m->count;
	default:
		return m->sample;
	}
}

static void put_stream(struct html *h)
{
	static const char *const names[] = { "time", "kind", "cpu", "weight", "count", "sample" };

	if (!h->r->stream->present)
		return;
	begin_table(h, "stream");
	report_json_number(&h->json, "value", h->r->stream->value);
	report_json_number(&h->json, "missed", h->r->stream->missed);
	for (unsigned int i = MOMENT_TIME; i <= MOMENT_SAMPLE; i++)
		put_column(h, names[i], h->nmoments, moment_cell, i);
	report_json_known(&h->json, "n", h->nmoments);
	end_table(h);
}

static void put_types(struct html *h)
{
	struct json_out *j = &h->json;

	report_json_key(j, "types");
	for (unsigned int i = 0; i < h->r->ntypes; i++) {
		report_out_putc(&j->out, i ? ',' : '[');
		report_json_open(j);
		report_json_text(j, "type", text(h->r, h->r->types[i].type));
		report_json_text(j, "unit", text(h->r, h->r->types[i].unit));
		report_json_key(j, "total");
		report_out_printf(&j->out, "\"%" PRIu64 "\"", report_total(h->r, i));
		report_json_number(j, "shift", h->shift[i]);
		report_json_close(j);
	}
	report_out_putc(&j->out, ']');
}

static void put_head(struct html *h)
{
	struct json_out *j = &h->json;
	const struct report_options *o = &h->options;
	struct buf b = { 0 };

	report_flame_title(h->r, o, &b);
	report_json_text(j, "title", b.err ? "" : b.s);
	report_buf_reset(&b);
	if (o->subtitle)
		report_buf_clean(&b, o->subtitle, 0, 0);
	else
		report_add_profile_circumstances(&b, h->r);
	report_json_text(j, "subtitle", b.err ? "" : b.s);
	report_buf_free(&b);
	report_json_info(j, &h->r->meta.info);
	report_json_meta(j, &h->r->meta);
	put_types(h);
	report_json_number(j, "weight", o->weight);
	report_json_known(j, "reverse", o->reverse);
	report_json_text(j, "label", o->color_by_label);
	report_json_key(j, "order");
	report_out_putc(&j->out, '[');
	for (size_t i = 0; o->label_order && o->label_order[i]; i++) {
		report_out_puts(&j->out, i ? "," : "");
		report_html_clean(h, o->label_order[i]);
	}
	report_out_putc(&j->out, ']');
	report_json_key(j, "ranges");
	report_flame_ranges(&j->out);
}

void report_html_data(struct html *h)
{
	h->json.out.in_script = true;
	report_json_open(&h->json);
	put_head(h);
	put_names(h);
	put_strings(h);
	put_stacks(h);
	put_samples(h);
	put_stream(h);
	report_html_code(h);
	report_json_close(&h->json);
	h->json.out.in_script = false;
}
