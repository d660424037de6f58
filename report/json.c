/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json.c: the whole profile as one JSON document (RFC 8259). Counts are numbers; addresses, which may
 * not fit into a double, are strings "0x...". Members that are not known are left out. Version 1:
 *
 *   schema: "rawprof-profile", version: 1
 *   info: command, target, event, host, kernel, main_module, kernel_build_id, note, start_ns, duration_ns,
 *         rate_asked, rate_achieved, cpus, period: { type, unit, value }
 *   value_types: [{ type, unit }], totals: [a number for each value type]
 *   frames: [{ name, module, build_id, kind, address, symbol_offset, module_address,
 *              map: { start, end, offset }, file, line, return }]
 *   stacks: [[index of a frame, leaf first]]
 *   samples: [{ comm, pid, tid, labels: { key: text or number }, stack: index of a stack,
 *               values: [a number for each value type] }]
 *   ledger: { fired, kept, closes, gap, lines: [{ name, count, fate }] }
 *   cost: { bpf_ns, bpf_runs, user_cpu_ns, system_cpu_ns, peak_rss_bytes }
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "write.h"

/* Frames and stacks are numbered in the order of their first use by the sorted samples. */
struct json {
	struct out out;
	const struct report *r;
	struct order order;
	uint32_t *frame_number, *frames, nframes; /* NONE: not used; frames[number] is the frame */
	uint32_t *stack_number, *stacks, nstacks; /* of a node; likewise */
	bool first; /* no member of the innermost object written yet */
};

static void key(struct json *j, const char *name)
{
	if (!j->first)
		out_putc(&j->out, ',');
	j->first = false;
	out_json(&j->out, name);
	out_putc(&j->out, ':');
}

static void open_object(struct json *j)
{
	out_putc(&j->out, '{');
	j->first = true;
}

static void close_object(struct json *j)
{
	out_putc(&j->out, '}');
	j->first = false;
}

static void put_text(struct json *j, const char *name, const char *s)
{
	if (!s)
		return;
	key(j, name);
	out_json(&j->out, s);
}

static void put_number(struct json *j, const char *name, uint64_t v)
{
	key(j, name);
	out_u64(&j->out, v);
}

static void put_known(struct json *j, const char *name, uint64_t v)
{
	if (v)
		put_number(j, name, v);
}

static void put_double(struct json *j, const char *name, double v)
{
	if (!(v > 0) || isinf(v))
		return;
	key(j, name);
	out_printf(&j->out, "%.9g", v);
}

static void put_address(struct json *j, const char *name, uint64_t v)
{
	key(j, name);
	out_printf(&j->out, "\"0x%" PRIx64 "\"", v);
}

static void put_info(struct json *j)
{
	const struct report_info *i = &j->r->info;

	key(j, "info");
	open_object(j);
	put_text(j, "command", i->command);
	put_text(j, "target", i->target);
	put_text(j, "event", i->event);
	put_text(j, "host", i->host);
	put_text(j, "kernel", i->kernel);
	put_text(j, "main_module", i->main_module);
	put_text(j, "kernel_build_id", i->kernel_build_id);
	put_text(j, "note", i->note);
	put_known(j, "start_ns", i->start_ns);
	put_known(j, "duration_ns", i->duration_ns);
	put_double(j, "rate_asked", i->rate_asked);
	put_double(j, "rate_achieved", i->rate_achieved);
	put_known(j, "cpus", i->cpus);
	if (i->period) {
		key(j, "period");
		open_object(j);
		put_text(j, "type", i->period_type.type);
		put_text(j, "unit", i->period_type.unit);
		put_number(j, "value", i->period);
		close_object(j);
	}
	close_object(j);
}

static void put_types(struct json *j)
{
	key(j, "value_types");
	out_putc(&j->out, '[');
	for (size_t i = 0; i < j->r->ntypes; i++) {
		out_puts(&j->out, i ? "," : "");
		open_object(j);
		put_text(j, "type", text(j->r, j->r->types[i].type));
		put_text(j, "unit", text(j->r, j->r->types[i].unit));
		close_object(j);
	}
	out_putc(&j->out, ']');
	key(j, "totals");
	for (unsigned int i = 0; i < j->r->ntypes; i++) {
		out_putc(&j->out, i ? ',' : '[');
		out_u64(&j->out, report_total(j->r, i));
	}
	out_putc(&j->out, ']');
}

static void put_frame(struct json *j, uint32_t frame)
{
	static const char *const kinds[] = { [REPORT_USER] = "user",
					     [REPORT_KERNEL] = "kernel",
					     [REPORT_JIT] = "jit",
					     [REPORT_INLINED] = "inlined",
					     [REPORT_MARK] = "mark" };
	struct report_frame f = frame_public(j->r, frame);

	open_object(j);
	put_text(j, "name", f.name);
	put_text(j, "module", f.module);
	put_text(j, "build_id", f.build_id);
	put_text(j, "kind", kinds[f.kind]);
	put_address(j, "address", f.address);
	put_number(j, "symbol_offset", f.symbol_offset);
	if (f.module_addr)
		put_address(j, "module_address", f.module_addr);
	if (f.map_start || f.map_end) {
		key(j, "map");
		open_object(j);
		put_address(j, "start", f.map_start);
		put_address(j, "end", f.map_end);
		put_number(j, "offset", f.map_offset);
		close_object(j);
	}
	put_text(j, "file", f.file);
	put_known(j, "line", f.line);
	key(j, "return");
	out_puts(&j->out, f.is_return ? "true" : "false");
	close_object(j);
}

static void put_frames(struct json *j)
{
	key(j, "frames");
	out_putc(&j->out, '[');
	for (uint32_t i = 0; i < j->nframes; i++) {
		out_puts(&j->out, i ? ",\n" : "\n");
		put_frame(j, j->frames[i]);
	}
	out_puts(&j->out, "]");
}

static void put_stacks(struct json *j)
{
	const struct node *nodes = j->r->nodes;

	key(j, "stacks");
	out_putc(&j->out, '[');
	for (uint32_t i = 0; i < j->nstacks; i++) {
		out_puts(&j->out, i ? ",\n[" : "\n[");
		for (uint32_t node = j->stacks[i]; node; node = nodes[node].parent) {
			out_puts(&j->out, node == j->stacks[i] ? "" : ",");
			out_u64(&j->out, j->frame_number[nodes[node].frame]);
		}
		out_putc(&j->out, ']');
	}
	out_putc(&j->out, ']');
}

static void put_labels(struct json *j, const struct label_set *set)
{
	key(j, "labels");
	open_object(j);
	for (uint64_t i = 0; i < set->count; i++) {
		const struct label *l = &set->labels[i];

		key(j, text(j->r, l->key));
		if (l->str)
			out_json(&j->out, text(j->r, l->str));
		else
			out_printf(&j->out, "%" PRId64, l->num);
	}
	close_object(j);
}

static void put_samples(struct json *j)
{
	key(j, "samples");
	out_putc(&j->out, '[');
	for (uint32_t i = 0; i < j->r->samples.count; i++) {
		uint32_t sample = j->order.samples[i];
		const struct sample *s = sample_of(j->r, sample);

		out_puts(&j->out, i ? ",\n" : "\n");
		open_object(j);
		put_text(j, "comm", text(j->r, s->comm));
		key(j, "pid");
		out_printf(&j->out, "%" PRId32, s->pid);
		key(j, "tid");
		out_printf(&j->out, "%" PRId32, s->tid);
		if (s->label_set)
			put_labels(j, labels_of(j->r, s->label_set));
		put_number(j, "stack", j->stack_number[s->node]);
		key(j, "values");
		for (size_t k = 0; k < j->r->ntypes; k++) {
			out_putc(&j->out, k ? ',' : '[');
			out_u64(&j->out, value_of(j->r, sample, k));
		}
		out_putc(&j->out, ']');
		close_object(j);
	}
	out_putc(&j->out, ']');
}

static void put_ledger(struct json *j)
{
	const struct report_ledger *ledger = &j->r->ledger;
	int64_t gap;
	bool closes = report_ledger_closes(ledger, &gap);

	key(j, "ledger");
	open_object(j);
	put_number(j, "fired", ledger->fired);
	put_number(j, "kept", ledger->kept);
	key(j, "closes");
	out_puts(&j->out, closes ? "true" : "false");
	key(j, "gap");
	out_printf(&j->out, "%" PRId64, gap);
	key(j, "lines");
	out_putc(&j->out, '[');
	for (size_t i = 0; i < ledger->nlines; i++) {
		out_puts(&j->out, i ? "," : "");
		open_object(j);
		put_text(j, "name", ledger->lines[i].name);
		put_number(j, "count", ledger->lines[i].count);
		put_text(j, "fate", ledger->lines[i].fate == REPORT_LOST ? "lost" : "filtered");
		close_object(j);
	}
	out_putc(&j->out, ']');
	close_object(j);
}

static void put_cost(struct json *j)
{
	const struct report_cost *c = &j->r->cost;

	key(j, "cost");
	open_object(j);
	put_number(j, "bpf_ns", c->bpf_ns);
	put_number(j, "bpf_runs", c->bpf_runs);
	put_number(j, "user_cpu_ns", c->user_cpu_ns);
	put_number(j, "system_cpu_ns", c->system_cpu_ns);
	put_number(j, "peak_rss_bytes", c->peak_rss_bytes);
	close_object(j);
}

static int number(struct json *j)
{
	const struct report *r = j->r;
	size_t frames = (size_t)r->frames.count + 1, stacks = r->nnodes;

	j->frame_number = malloc(frames * sizeof(uint32_t));
	j->frames = malloc(frames * sizeof(uint32_t));
	j->stack_number = malloc(stacks * sizeof(uint32_t));
	j->stacks = malloc(stacks * sizeof(uint32_t));
	if (!j->frame_number || !j->frames || !j->stack_number || !j->stacks)
		return -ENOMEM;
	memset(j->frame_number, 0xff, frames * sizeof(uint32_t));
	memset(j->stack_number, 0xff, stacks * sizeof(uint32_t));
	for (uint32_t i = 0; i < r->samples.count; i++) {
		uint32_t stack = sample_of(r, j->order.samples[i])->node;

		if (j->stack_number[stack] != NONE)
			continue;
		j->stack_number[stack] = j->nstacks;
		j->stacks[j->nstacks++] = stack;
		for (uint32_t node = stack; node; node = r->nodes[node].parent) {
			uint32_t frame = r->nodes[node].frame;

			if (j->frame_number[frame] != NONE)
				continue;
			j->frame_number[frame] = j->nframes;
			j->frames[j->nframes++] = frame;
		}
	}
	return 0;
}

int report_write_json(const struct report *r, FILE *file, const struct report_options *given)
{
	struct json j = { .out = { .file = file }, .r = r };
	struct report_options options;
	int err = options_resolve(r, given, &options);

	if (!err)
		err = order_make(r, true, &j.order);
	if (!err)
		err = number(&j);
	if (!err) {
		open_object(&j);
		put_text(&j, "schema", "rawprof-profile");
		put_number(&j, "version", 1);
		put_info(&j);
		put_types(&j);
		put_frames(&j);
		put_stacks(&j);
		put_samples(&j);
		if (r->has_ledger)
			put_ledger(&j);
		if (r->has_cost)
			put_cost(&j);
		close_object(&j);
		out_putc(&j.out, '\n');
		err = out_end(&j.out);
	}
	order_free(&j.order);
	free(j.frame_number);
	free(j.frames);
	free(j.stack_number);
	free(j.stacks);
	return err;
}
