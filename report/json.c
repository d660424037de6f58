/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The whole profile as one JSON document (RFC 8259). Counts are numbers; addresses, which may
 * not fit into a double, are strings "0x...". Members that are not known are left out. Version 1:
 *
 *   schema: "rawprof-profile", version: 1
 *   info: command, target, event, host, kernel, main_module, kernel_build_id, note, start_ns,
 *         duration_ns, rate_asked, rate_achieved, cpus, period: { type, unit, value }
 *   value_types: [{ type, unit }], totals: [a number for each value type]
 *   frames: [{ name, module, build_id, kind, address, symbol_offset, module_address,
 *              map: { start, end, offset }, file, line, return }]
 *   stacks: [[index of a frame, leaf first]]
 *   samples: [{ comm, pid, tid, labels: { key: text or number }, stack: index of a stack,
 *               values: [a number for each value type] }]
 *   ledger: { fired, kept, closes, gap, lines: [{ name, count, fate }] }
 *   cost: { bpf_ns, bpf_runs, bpf_estimated: true or not there, user_cpu_ns, system_cpu_ns,
 *           peak_rss_bytes }
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "json_out.h"
#include "write.h"

/* Frames and stacks are numbered in the order of their first use by the sorted samples. */
struct json {
	struct json_out json;
	const struct report *r;
	struct order order;
	uint32_t *frame_number, *frames, nframes; /* NONE: not used; frames[number] is the frame */
	uint32_t *stack_number, *stacks, nstacks; /* of a node; likewise */
};

static void put_types(struct json *j)
{
	report_json_key(&j->json, "value_types");
	report_out_putc(&j->json.out, '[');
	for (size_t i = 0; i < j->r->ntypes; i++) {
		report_out_puts(&j->json.out, i ? "," : "");
		report_json_open(&j->json);
		report_json_text(&j->json, "type", text(j->r, j->r->types[i].type));
		report_json_text(&j->json, "unit", text(j->r, j->r->types[i].unit));
		report_json_close(&j->json);
	}
	report_out_putc(&j->json.out, ']');
	report_json_key(&j->json, "totals");
	for (unsigned int i = 0; i < j->r->ntypes; i++) {
		report_out_putc(&j->json.out, i ? ',' : '[');
		report_out_u64(&j->json.out, report_total(j->r, i));
	}
	report_out_putc(&j->json.out, ']');
}

static void put_frame(struct json *j, uint32_t frame)
{
	static const char *const kinds[] = { [REPORT_USER] = "user", [REPORT_KERNEL] = "kernel",
					     [REPORT_JIT] = "jit",   [REPORT_INLINED] = "inlined",
					     [REPORT_MARK] = "mark", [REPORT_PYTHON] = "python",
					     [REPORT_JS] = "js",     [REPORT_JVM] = "jvm",
					     [REPORT_PHP] = "php",   [REPORT_RUBY] = "ruby",
					     [REPORT_PERL] = "perl" };
	struct report_frame f = report_frame_public(j->r, frame);

	report_json_open(&j->json);
	report_json_text(&j->json, "name", f.name);
	report_json_text(&j->json, "module", f.module);
	report_json_text(&j->json, "build_id", f.build_id);
	report_json_text(&j->json, "kind", kinds[f.kind]);
	report_json_address(&j->json, "address", f.address);
	report_json_number(&j->json, "symbol_offset", f.symbol_offset);
	if (f.module_addr)
		report_json_address(&j->json, "module_address", f.module_addr);
	if (f.map_start || f.map_end) {
		report_json_key(&j->json, "map");
		report_json_open(&j->json);
		report_json_address(&j->json, "start", f.map_start);
		report_json_address(&j->json, "end", f.map_end);
		report_json_number(&j->json, "offset", f.map_offset);
		report_json_close(&j->json);
	}
	report_json_text(&j->json, "file", f.file);
	report_json_known(&j->json, "line", f.line);
	report_json_key(&j->json, "return");
	report_out_puts(&j->json.out, f.is_return ? "true" : "false");
	report_json_close(&j->json);
}

static void put_frames(struct json *j)
{
	report_json_key(&j->json, "frames");
	report_out_putc(&j->json.out, '[');
	for (uint32_t i = 0; i < j->nframes; i++) {
		report_out_puts(&j->json.out, i ? ",\n" : "\n");
		put_frame(j, j->frames[i]);
	}
	report_out_puts(&j->json.out, "]");
}

static void put_stacks(struct json *j)
{
	const struct node *nodes = j->r->nodes;

	report_json_key(&j->json, "stacks");
	report_out_putc(&j->json.out, '[');
	for (uint32_t i = 0; i < j->nstacks; i++) {
		report_out_puts(&j->json.out, i ? ",\n[" : "\n[");
		for (uint32_t node = j->stacks[i]; node; node = nodes[node].parent) {
			report_out_puts(&j->json.out, node == j->stacks[i] ? "" : ",");
			report_out_u64(&j->json.out, j->frame_number[nodes[node].frame]);
		}
		report_out_putc(&j->json.out, ']');
	}
	report_out_putc(&j->json.out, ']');
}

static void put_labels(struct json *j, const struct label_set *set)
{
	report_json_key(&j->json, "labels");
	report_json_open(&j->json);
	for (uint64_t i = 0; i < set->count; i++) {
		const struct label *l = &set->labels[i];

		report_json_key(&j->json, text(j->r, l->key));
		if (l->str)
			report_out_json(&j->json.out, text(j->r, l->str));
		else
			report_out_printf(&j->json.out, "%" PRId64, l->num);
	}
	report_json_close(&j->json);
}

static void put_samples(struct json *j)
{
	report_json_key(&j->json, "samples");
	report_out_putc(&j->json.out, '[');
	for (uint32_t i = 0; i < j->r->samples.count; i++) {
		uint32_t sample = j->order.samples[i];
		const struct sample *s = sample_of(j->r, sample);

		report_out_puts(&j->json.out, i ? ",\n" : "\n");
		report_json_open(&j->json);
		report_json_text(&j->json, "comm", text(j->r, s->comm));
		report_json_key(&j->json, "pid");
		report_out_printf(&j->json.out, "%" PRId32, s->pid);
		report_json_key(&j->json, "tid");
		report_out_printf(&j->json.out, "%" PRId32, s->tid);
		if (s->label_set)
			put_labels(j, labels_of(j->r, s->label_set));
		report_json_number(&j->json, "stack", j->stack_number[s->node]);
		report_json_key(&j->json, "values");
		for (size_t k = 0; k < j->r->ntypes; k++) {
			report_out_putc(&j->json.out, k ? ',' : '[');
			report_out_u64(&j->json.out, value_of(j->r, sample, k));
		}
		report_out_putc(&j->json.out, ']');
		report_json_close(&j->json);
	}
	report_out_putc(&j->json.out, ']');
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
	struct json j = { .json = { .out = { .file = file } }, .r = r };
	struct report_options options;
	int err = report_options_resolve(r, given, &options);

	if (!err)
		err = report_order_make(r, true, &j.order);
	if (!err)
		err = number(&j);
	if (!err) {
		report_json_open(&j.json);
		report_json_text(&j.json, "schema", "rawprof-profile");
		report_json_number(&j.json, "version", 1);
		report_json_info(&j.json, &r->meta.info);
		put_types(&j);
		put_frames(&j);
		put_stacks(&j);
		put_samples(&j);
		report_json_meta(&j.json, &r->meta);
		report_json_close(&j.json);
		report_out_putc(&j.json.out, '\n');
		err = report_out_end(&j.json.out);
	}
	report_order_free(&j.order);
	free(j.frame_number);
	free(j.frames);
	free(j.stack_number);
	free(j.stacks);
	return err;
}
