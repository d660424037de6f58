/* SPDX-License-Identifier: BSD-2-Clause */
/* The listing for programs: one JSON object. What is not known is left out. */
#include <inttypes.h>
#include <string.h>

#include "explain.h"

/* Members of the object or array that is being written; the first needs no comma. */
struct json {
	FILE *out;
	bool begun;
};

/* Any bytes: what is no ASCII is taken for Latin-1, so that the text is always valid. */
static void put_string(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		const unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c < 32 || c > 126)
			fprintf(out, "\\u%04x", c);
		else
			fputc(c, out);
	}
	fputc('"', out);
}

static void next(struct json *j, const char *key)
{
	fputs(j->begun ? ", " : "", j->out);
	j->begun = true;
	if (key) {
		put_string(j->out, key);
		fputs(": ", j->out);
	}
}

static void open_in(struct json *parent, const char *key, struct json *child, char bracket)
{
	next(parent, key);
	*child = (struct json){ .out = parent->out };
	fputc(bracket, child->out);
}

static void string(struct json *j, const char *key, const char *text)
{
	if (!text)
		return;
	next(j, key);
	put_string(j->out, text);
}

static void number(struct json *j, const char *key, int64_t n)
{
	next(j, key);
	fprintf(j->out, "%" PRId64, n);
}

static void truth(struct json *j, const char *key, bool is)
{
	next(j, key);
	fputs(is ? "true" : "false", j->out);
}

/* ---- parts */

static void put_values(struct json *j, const char *key, const struct asm_vlog_value *values,
		       uint32_t n)
{
	struct json object;

	open_in(j, key, &object, '{');
	for (uint32_t i = 0; i < n; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%s%d", values[i].where < 0 ? "fp" : "R",
			 values[i].where);
		string(&object, name, values[i].text);
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
	open_in(j, key, &object, '{');
	string(&object, "type", layout->name);
	number(&object, "size", layout->size);
	open_in(&object, "fields", &fields, '[');
	for (uint32_t i = 0; i < n; i++) {
		open_in(&fields, NULL, &field, '{');
		string(&field, "name", members[i].name);
		number(&field, "offset", members[i].offset);
		number(&field, "size", members[i].size);
		fputc('}', j->out);
	}
	fputs("]}", j->out);
}

static void put_maps(struct json *j, const struct explained *e)
{
	struct json maps, map;

	open_in(j, "maps", &maps, '[');
	for (size_t i = 0; e->entry && i < e->entry->nmaps; i++) {
		const struct asm_map *m = &e->entry->maps[i];

		open_in(&maps, NULL, &map, '{');
		string(&map, "name", m->name);
		string(&map, "type", rp_map_type_name(m->type));
		number(&map, "key_size", m->key_size);
		number(&map, "value_size", m->value_size);
		number(&map, "max_entries", m->max_entries);
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
	open_in(j, "never_written", &bytes, '[');
	for (int byte = -(int)frame->size; byte < 0; byte++)
		if (!e->log.written[-byte - 1])
			number(&bytes, NULL, byte);
	fputc(']', j->out);
}

static void put_totals(struct json *j, const struct explained *e)
{
	struct json log, kernel;

	if (e->has_log) {
		open_in(j, "verifier", &log, '{');
		number(&log, "processed", (int64_t)e->log.processed);
		number(&log, "total_states", (int64_t)e->log.total_states);
		number(&log, "peak_states", (int64_t)e->log.peak_states);
		number(&log, "max_states_per_insn", (int64_t)e->log.max_states_per_insn);
		number(&log, "usec", (int64_t)e->log.usec);
		string(&log, "stack_depth", e->log.stack_depth);
		fputc('}', j->out);
	}
	if (e->loaded >= 0 && e->stats.id) {
		open_in(j, "kernel", &kernel, '{');
		number(&kernel, "load_ns", (int64_t)e->load_ns);
		number(&kernel, "xlated_bytes", e->stats.xlated_bytes);
		number(&kernel, "jited_bytes", e->stats.jited_bytes);
		fputc('}', j->out);
	}
}

static void put_refusal(struct json *j, const struct explained *e)
{
	struct asm_refusal refusal;
	struct json object;

	if ((e->asked && e->loaded >= 0) || explained_refusal(e, &refusal))
		return;
	open_in(j, "refusal", &object, '{');
	if (refusal.insn >= 0)
		number(&object, "insn", refusal.insn);
	string(&object, "at", refusal.at);
	string(&object, "message", refusal.message);
	string(&object, "history", refusal.history);
	string(&object, "why", refusal.why);
	string(&object, "advice", refusal.advice);
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
	open_in(j, "broken", &object, '{');
	number(&object, "insn", e->broken_slot);
	string(&object, "line", name);
	truth(&object, "flipped", e->opt->flip);
	truth(&object, "accepted", e->loaded >= 0);
	fputc('}', j->out);
}

/* ---- instructions */

static void put_source(struct json *j, const struct explained *e, uint32_t slot)
{
	struct explained_line line;
	char macro[400];

	if (!explained_line(e, slot, &line))
		return;
	string(j, "file", line.file);
	number(j, "line", line.line);
	string(j, "source", line.text);
	if (!line.macro)
		return;
	snprintf(macro, sizeof(macro), "%.*s", (int)line.macro_len, line.macro);
	string(j, "macro", macro);
}

static void put_symbols(struct json *j, const char *key, const struct asm_symbol *symbols,
			uint32_t n, uint32_t slot)
{
	struct json names;

	open_in(j, key, &names, '[');
	for (uint32_t i = 0; i < n; i++)
		if (symbols[i].insn == slot)
			string(&names, NULL, symbols[i].name);
	fputc(']', j->out);
}

static void put_bytes(struct json *j, const struct explained *e, uint32_t slot)
{
	const unsigned char *bytes = (const unsigned char *)&e->image.insns[slot];
	char text[33] = "";

	for (uint32_t i = 0; i < 8 * explained_slots(e, slot); i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	string(j, "bytes", text);
}

static void put_met(struct json *j, const struct asm_vlog_insn *met)
{
	struct json from;

	number(j, "visits", met ? met->visits : 0);
	if (!met)
		return;
	number(j, "pruned", met->pruned);
	string(j, "live", met->live);
	open_in(j, "from", &from, '[');
	for (uint32_t i = 0; i < met->nfrom; i++)
		number(&from, NULL, met->from[i]);
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

	open_in(j, "xlated", &list, '[');
	for (uint32_t i = 0; i < became->nxlated; i++) {
		const uint32_t at = became->xlated + i;

		if (at && e->xlated[at - 1].code == (BPF_LD | BPF_IMM | BPF_DW))
			continue;
		xlated_disasm(names, at, text);
		string(&list, NULL, text);
	}
	fputc(']', j->out);
}

static void put_insn(struct json *j, const struct explained *e, uint32_t slot,
		     struct xlated_names *names)
{
	char text[ASM_DISASM_SIZE];
	struct json object;

	next(j, NULL);
	fputs("\n  {", j->out);
	object = (struct json){ .out = j->out };
	number(&object, "insn", slot);
	explained_disasm(e, slot, text);
	string(&object, "text", text);
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
		string(&all, "program", e->entry->code.name);
		string(&all, "type", rp_prog_type_name(e->entry->code.type));
		string(&all, "target", e->entry->code.target);
		string(&all, "summary", e->entry->summary);
	}
	put_totals(&all, e);
	put_broken(&all, e);
	put_refusal(&all, e);
	put_maps(&all, e);
	put_frame(&all, e);
	open_in(&all, "instructions", &insns, '[');
	for (uint32_t slot = 0; slot < explained_count(e); slot++)
		if (explained_slots(e, slot))
			put_insn(&insns, e, slot, names);
	fputs("]}\n", out);
	xlated_names_close(names);
	return 0;
}
