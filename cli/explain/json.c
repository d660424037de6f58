/* SPDX-License-Identifier: BSD-2-Clause */
/* The listing for programs: one JSON object. What is not known is left out. */
#include <inttypes.h>
#include <string.h>

#include "explain.h"
#include "json_write.h"

/* ---- parts */

static void put_values(struct json *j, const char *key, const struct asm_vlog_value *values,
		       uint32_t n)
{
	struct json object;

	json_open(j, key, &object, '{');
	for (uint32_t i = 0; i < n; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%s%d", values[i].where < 0 ? "fp" : "R",
			 values[i].where);
		json_string(&object, name, values[i].text);
	}
	fputc('}', j->out);
}

static void put_layout(struct json *j, const char *key, const struct asm_layout *layout)
{
	struct explain_field members[EXPLAIN_MAX_FIELDS];
	struct json object, fields, field;
	uint32_t n;

	if (!layout)
		return;
	n = explain_fields(layout, members);
	json_open(j, key, &object, '{');
	json_string(&object, "type", layout->name);
	json_number(&object, "size", layout->size);
	json_open(&object, "fields", &fields, '[');
	for (uint32_t i = 0; i < n; i++) {
		json_open(&fields, NULL, &field, '{');
		json_string(&field, "name", members[i].name);
		json_number(&field, "offset", members[i].offset);
		json_number(&field, "size", members[i].size);
		fputc('}', j->out);
	}
	fputs("]}", j->out);
}

static void put_maps(struct json *j, const struct explained *e)
{
	struct json maps, map;

	json_open(j, "maps", &maps, '[');
	for (size_t i = 0; e->entry && i < e->entry->nmaps; i++) {
		const struct asm_map *m = &e->entry->maps[i];

		json_open(&maps, NULL, &map, '{');
		json_string(&map, "name", m->name);
		json_string(&map, "type", rp_map_type_name(m->type));
		json_number(&map, "key_size", m->key_size);
		json_number(&map, "value_size", m->value_size);
		json_number(&map, "max_entries", m->max_entries);
		put_layout(&map, "key", m->key);
		put_layout(&map, "value", m->value);
		fputc('}', j->out);
	}
	fputc(']', j->out);
}

/* Offsets from R10 of the bytes of the frame that no path writes. */
static void put_frame(struct json *j, const struct explained *e)
{
	const struct asm_layout *frame = e->entry ? e->entry->code.frame : NULL;
	struct json bytes;

	put_layout(j, "frame", frame);
	if (!frame || !e->has_log)
		return;
	json_open(j, "never_written", &bytes, '[');
	for (int byte = -(int)frame->size; byte < 0; byte++)
		if (!e->log.written[-byte - 1])
			json_number(&bytes, NULL, byte);
	fputc(']', j->out);
}

static void put_totals(struct json *j, const struct explained *e)
{
	struct json log, kernel;

	if (e->has_log) {
		json_open(j, "verifier", &log, '{');
		json_number(&log, "processed", (int64_t)e->log.processed);
		json_number(&log, "total_states", (int64_t)e->log.total_states);
		json_number(&log, "peak_states", (int64_t)e->log.peak_states);
		json_number(&log, "max_states_per_insn", (int64_t)e->log.max_states_per_insn);
		json_number(&log, "usec", (int64_t)e->log.usec);
		json_string(&log, "stack_depth", e->log.stack_depth);
		fputc('}', j->out);
	}
	if (e->loaded >= 0 && e->stats.id) {
		json_open(j, "kernel", &kernel, '{');
		json_number(&kernel, "load_ns", (int64_t)e->load_ns);
		json_number(&kernel, "xlated_bytes", e->stats.xlated_bytes);
		json_number(&kernel, "jited_bytes", e->stats.jited_bytes);
		fputc('}', j->out);
	}
}

static void put_refusal(struct json *j, const struct explained *e)
{
	struct asm_refusal refusal;
	struct json object;

	if ((e->asked && e->loaded >= 0) || explained_refusal(e, &refusal))
		return;
	json_open(j, "refusal", &object, '{');
	if (refusal.insn >= 0)
		json_number(&object, "insn", refusal.insn);
	json_string(&object, "at", refusal.at);
	json_string(&object, "message", refusal.message);
	json_string(&object, "history", refusal.history);
	json_string(&object, "why", refusal.why);
	json_string(&object, "advice", refusal.advice);
	fputc('}', j->out);
	asm_refusal_free(&refusal);
}

static void put_broken(struct json *j, const struct explained *e)
{
	struct json object;
	char name[600];

	if (e->broken_slot < 0)
		return;
	explained_name(e, (uint32_t)e->broken_slot, name, sizeof(name));
	json_open(j, "broken", &object, '{');
	json_number(&object, "insn", e->broken_slot);
	json_string(&object, "line", name);
	json_truth(&object, "flipped", e->opt->flip);
	json_truth(&object, "accepted", e->loaded >= 0);
	fputc('}', j->out);
}

/* ---- instructions */

static void put_source(struct json *j, const struct explained *e, uint32_t slot)
{
	struct explained_line line;
	char macro[400];

	if (!explained_line(e, slot, &line))
		return;
	json_string(j, "file", line.file);
	json_number(j, "line", line.line);
	json_string(j, "source", line.text);
	if (!line.macro)
		return;
	snprintf(macro, sizeof(macro), "%.*s", (int)line.macro_len, line.macro);
	json_string(j, "macro", macro);
}

static void put_symbols(struct json *j, const char *key, const struct asm_symbol *symbols,
			uint32_t n, uint32_t slot)
{
	struct json names;

	json_open(j, key, &names, '[');
	for (uint32_t i = 0; i < n; i++)
		if (symbols[i].insn == slot)
			json_string(&names, NULL, symbols[i].name);
	fputc(']', j->out);
}

static void put_bytes(struct json *j, const struct explained *e, uint32_t slot)
{
	const unsigned char *bytes = (const unsigned char *)&e->image.insns[slot];
	char text[33] = "";

	for (uint32_t i = 0; i < 8 * explained_slots(e, slot); i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	json_string(j, "bytes", text);
}

static void put_met(struct json *j, const struct asm_vlog_insn *met)
{
	struct json from;

	json_number(j, "visits", met ? met->visits : 0);
	if (!met)
		return;
	json_number(j, "pruned", met->pruned);
	json_string(j, "live", met->live);
	json_open(j, "from", &from, '[');
	for (uint32_t i = 0; i < met->nfrom; i++)
		json_number(&from, NULL, met->from[i]);
	fputc(']', j->out);
	put_values(j, "before", met->before, met->nbefore);
	put_values(j, "after", met->after, met->nafter);
}

static void put_xlated(struct json *j, const struct explained *e, uint32_t slot,
		       struct xlated_names *names)
{
	const struct explained_insn *became = &e->insns[slot];
	char text[ASM_DISASM_SIZE];
	struct json list;

	json_open(j, "xlated", &list, '[');
	for (uint32_t i = 0; i < became->nxlated; i++) {
		const uint32_t at = became->xlated + i;

		if (at && e->xlated[at - 1].code == (BPF_LD | BPF_IMM | BPF_DW))
			continue;
		xlated_disasm(names, at, text);
		json_string(&list, NULL, text);
	}
	fputc(']', j->out);
}

static void put_insn(struct json *j, const struct explained *e, uint32_t slot,
		     struct xlated_names *names)
{
	char text[ASM_DISASM_SIZE];
	struct json object;

	json_next(j, NULL);
	fputs("\n  {", j->out);
	object = (struct json){ .out = j->out };
	json_number(&object, "insn", slot);
	explained_disasm(e, slot, text);
	json_string(&object, "text", text);
	if (e->has_image) {
		put_bytes(&object, e, slot);
		put_symbols(&object, "labels", e->image.labels, e->image.nlabels, slot);
		put_symbols(&object, "functions", e->image.funcs, e->image.nfuncs, slot);
	}
	put_source(&object, e, slot);
	if (e->has_log)
		put_met(&object, explained_met(e, slot));
	if (names)
		put_xlated(&object, e, slot, names);
	fputc('}', j->out);
}

int explain_json(FILE *out, const struct explained *e)
{
	struct json all = { .out = out }, insns;
	struct xlated_names *names = NULL;
	int err = 0;

	if (e->xlated && e->insns)
		err = xlated_names_open(e, &names);
	if (err)
		return err;
	fputc('{', out);
	if (e->entry) {
		json_string(&all, "program", e->entry->code.name);
		json_string(&all, "type", rp_prog_type_name(e->entry->code.type));
		json_string(&all, "target", e->entry->code.target);
		json_string(&all, "summary", e->entry->summary);
	}
	put_totals(&all, e);
	put_broken(&all, e);
	put_refusal(&all, e);
	put_maps(&all, e);
	put_frame(&all, e);
	json_open(&all, "instructions", &insns, '[');
	for (uint32_t slot = 0; slot < explained_count(e); slot++)
		if (explained_slots(e, slot))
			put_insn(&insns, e, slot, names);
	fputs("]}\n", out);
	xlated_names_close(names);
	return 0;
}
