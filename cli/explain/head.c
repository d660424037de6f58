/* SPDX-License-Identifier: BSD-2-Clause */
/* What stands above the listing: totals, the maps and the stack frame drawn, a refusal. */
#include <inttypes.h>
#include <string.h>

#include "explain.h"
#include "base/text.h"

/* ---- totals */

static uint64_t pruned(const struct asm_vlog *log)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < log->ninsns; i++)
		n += log->insns[i].pruned;
	return n;
}

static void put_verified(FILE *out, const struct explained *e)
{
	const struct asm_vlog *log = &e->log;

	fprintf(out, "  verified    %" PRIu64 " steps", log->processed);
	if (pruned(log))
		fprintf(out, ", %" PRIu64 " of them into a state seen before", pruned(log));
	fprintf(out, "; %" PRIu64 " %s kept", log->total_states,
		log->total_states == 1 ? "state" : "states");
	if (log->max_states_per_insn)
		fprintf(out, ", up to %" PRIu64 " at one instruction", log->max_states_per_insn);
	fputc('\n', out);
	if (log->stack_depth)
		fprintf(out, "  stack       %s bytes of %d\n", log->stack_depth, ASM_STACK_SIZE);
}

static void put_loaded(FILE *out, const struct explained *e)
{
	const struct rp_prog_stats *s = &e->stats;

	fprintf(out, "  loaded      in %.2f ms", (double)e->load_ns / 1e6);
	if (e->log.usec)
		fprintf(out, " (verified in %.2f ms, while writing the log)",
			(double)e->log.usec / 1e3);
	fprintf(out, "\n  in kernel   %zu instructions after the rewriting, ",
		s->xlated_bytes / sizeof(struct bpf_insn));
	if (s->jited_bytes)
		fprintf(out, "%" PRIu32 " bytes of machine code\n", s->jited_bytes);
	else
		fprintf(out, "interpreted\n");
}

static void put_totals(FILE *out, const struct explained *e)
{
	const struct explain_colors *c = explain_colors(e);
	uint32_t n = 0, slots = explained_count(e);

	for (uint32_t i = 0; i < slots; i++)
		n += explained_slots(e, i) != 0;
	if (e->entry) {
		const struct asm_program *p = &e->entry->code;

		fprintf(out, "%s%s%s   %s program", c->label, p->name, c->off,
			rp_prog_type_name(p->type));
		if (p->target)
			fprintf(out, " at %s", p->target);
		fprintf(out, ": %s\n", e->entry->summary);
	} else {
		fputs(c->label, out);
		rp_text_print(out, "%s", e->opt->kernel_log);
		fprintf(out, "%s\n", c->off);
	}
	fprintf(out, "  written     %" PRIu32 " instructions in %" PRIu32 " slots of 8 bytes%s\n",
		n, slots, e->has_image ? "" : ", as far as the log tells");
	if (e->has_log)
		put_verified(out, e);
	if (e->loaded >= 0)
		put_loaded(out, e);
}

/* ---- memory by the names of its members */

static uint32_t add_fields(const struct asm_layout *layout, const char *of, uint32_t at,
			   struct explain_field *fields, uint32_t n)
{
	for (uint32_t i = 0; i < layout->nfields && n < EXPLAIN_MAX_FIELDS; i++) {
		const struct asm_field *f = &layout->fields[i];
		struct explain_field *to = &fields[n];

		snprintf(to->name, sizeof(to->name), "%s%s", of, f->name);
		to->offset = at + f->offset;
		to->size = f->size;
		if (f->layout) {
			char name[sizeof(to->name) + 1];

			snprintf(name, sizeof(name), "%s.", to->name);
			n = add_fields(f->layout, name, to->offset, fields, n);
		} else {
			n++;
		}
	}
	return n;
}

uint32_t explain_fields(const struct asm_layout *layout,
			struct explain_field fields[EXPLAIN_MAX_FIELDS])
{
	return add_fields(layout, "", 0, fields, 0);
}

static void put_layout(FILE *out, const char *what, uint32_t size, const struct asm_layout *layout)
{
	struct explain_field fields[EXPLAIN_MAX_FIELDS];
	uint32_t at = 0, n;

	fprintf(out, "    %-6s %5" PRIu32 " %s", what, size, size == 1 ? "byte" : "bytes");
	if (!layout) {
		fputc('\n', out);
		return;
	}
	fprintf(out, "  %s\n", layout->name);
	n = explain_fields(layout, fields);
	for (uint32_t i = 0; i < n; i++) {
		const struct explain_field *f = &fields[i];

		if (f->offset > at)
			fprintf(out, "           %5" PRIu32 "  %-5" PRIu32 " (padding)\n", at,
				f->offset - at);
		fprintf(out, "           %5" PRIu32 "  %-5" PRIu32 " %s\n", f->offset, f->size,
			f->name);
		at = f->offset + f->size;
	}
	if (size > at)
		fprintf(out, "           %5" PRIu32 "  %-5" PRIu32 " %s\n", at, size - at,
			at < layout->size ? "(padding)" : "(behind the struct)");
}

/* Only maps that this program names; others of its file are none of its business. */
static bool uses_map(const struct explained *e, const struct asm_map *map)
{
	for (uint32_t slot = 0; slot < e->image.ninsns; slot++) {
		const struct asm_insn *line = &e->image.program->lines[e->image.line_of[slot]];

		if ((line->kind == ASM_LD_MAP || line->kind == ASM_LD_MAP_VALUE) &&
		    !strcmp(line->sym, map->name))
			return true;
	}
	return false;
}

static void put_maps(FILE *out, const struct explained *e)
{
	const struct explain_colors *c = explain_colors(e);
	bool any = false;

	for (size_t i = 0; e->has_image && i < e->entry->nmaps; i++) {
		const struct asm_map *map = &e->entry->maps[i];

		if (!uses_map(e, map))
			continue;
		if (!any)
			fprintf(out, "\n%smaps%s\n", c->label, c->off);
		any = true;
		fprintf(out, "  %-15s %s, ", map->name, rp_map_type_name(map->type));
		if (map->type == BPF_MAP_TYPE_RINGBUF) {
			fprintf(out, "%" PRIu32 " bytes\n", map->max_entries);
			continue;
		}
		fprintf(out, "%" PRIu32 " %s\n", map->max_entries,
			map->max_entries == 1 ? "entry" : "entries");
		put_layout(out, "key", map->key_size, map->key);
		put_layout(out, "value", map->value_size, map->value);
	}
}

/* ---- the stack frame */

/* "never written", "bytes -6 to -5 never written", "written". The log counts down from R10. */
static void put_written(FILE *out, const struct explained *e, int from, uint32_t size)
{
	const struct explain_colors *c = explain_colors(e);
	const int end = from + (int)size;
	uint32_t written = 0;

	for (int byte = from; byte < end; byte++)
		written += e->log.written[-byte - 1];
	if (written == size) {
		fprintf(out, "written\n");
	} else if (!written) {
		fprintf(out, "%snever written%s\n", c->warn, c->off);
	} else {
		fprintf(out, "%sin part: never", c->warn);
		for (int byte = from; byte < end; byte++)
			if (!e->log.written[-byte - 1])
				fprintf(out, " %d", byte);
		fprintf(out, "%s\n", c->off);
	}
}

static void put_bytes(FILE *out, const struct explained *e, int from, uint32_t size,
		      const char *name)
{
	char range[40];

	if (!size)
		return;
	snprintf(range, sizeof(range), "%d..%d", from, from + (int)size - 1);
	fprintf(out, "  R10%-12s %4" PRIu32 "  %-20s ", range, size, name);
	if (e->has_log)
		put_written(out, e, from, size);
	else
		fputc('\n', out);
}

static void put_named_frame(FILE *out, const struct explained *e, const struct asm_layout *frame)
{
	struct explain_field fields[EXPLAIN_MAX_FIELDS];
	const uint32_t n = explain_fields(frame, fields);
	const int begin = -(int)frame->size;
	uint32_t at = 0;

	fprintf(out, "  %s, %" PRIu32 " bytes that end at R10\n", frame->name, frame->size);
	for (uint32_t i = 0; i < n; i++) {
		const struct explain_field *f = &fields[i];

		if (f->offset > at)
			put_bytes(out, e, begin + (int)at, f->offset - at, "(padding)");
		put_bytes(out, e, begin + (int)f->offset, f->size, f->name);
		at = f->offset + f->size;
	}
	if (at < frame->size)
		put_bytes(out, e, begin + (int)at, frame->size - at, "(padding)");
}

/* Without names: the slots that were written. */
static void put_slots(FILE *out, const struct explained *e)
{
	for (int slot = ASM_STACK_SIZE / 8; slot-- > 0;)
		if (memchr(e->log.written + 8 * slot, 1, 8))
			put_bytes(out, e, -8 * (slot + 1), 8, "");
}

static void put_part_frame(FILE *out, const struct asm_func_frame *of)
{
	struct explain_field fields[EXPLAIN_MAX_FIELDS];
	const uint32_t n = explain_fields(of->layout, fields);

	fprintf(out, "  %s: %s, %" PRIu32 " bytes that end at R10\n", of->func, of->layout->name,
		of->layout->size);
	for (uint32_t i = 0; i < n; i++) {
		int from = (int)fields[i].offset - (int)of->layout->size;
		char range[40];

		snprintf(range, sizeof(range), "%d..%d", from, from + (int)fields[i].size - 1);
		fprintf(out, "  R10%-12s %4" PRIu32 "  %s\n", range, fields[i].size,
			fields[i].name);
	}
}

/* The frames of the functions of parts; what was written the log says of the program's alone. */
static void put_part_frames(FILE *out, const struct asm_insn *lines, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct asm_part *part = lines[i].part;

		if (lines[i].kind != ASM_INCLUDE)
			continue;
		for (size_t f = 0; f < part->nframes; f++)
			put_part_frame(out, &part->frames[f]);
		put_part_frames(out, part->lines, part->nlines);
	}
}

static bool has_parts(const struct explained *e)
{
	for (size_t i = 0; e->entry && i < e->entry->code.nlines; i++)
		if (e->entry->code.lines[i].kind == ASM_INCLUDE)
			return true;
	return false;
}

static void put_frame(FILE *out, const struct explained *e)
{
	const struct asm_layout *frame = e->entry ? e->entry->code.frame : NULL;
	const struct explain_colors *c = explain_colors(e);
	bool written = e->has_log && memchr(e->log.written, 1, ASM_STACK_SIZE);

	if (!frame && !written && !has_parts(e))
		return;
	fprintf(out, "\n%sstack%s\n", c->label, c->off);
	if (frame)
		put_named_frame(out, e, frame);
	else if (written)
		put_slots(out, e);
	if (e->entry)
		put_part_frames(out, e->entry->code.lines, e->entry->code.nlines);
}

void explain_head(FILE *out, const struct explained *e)
{
	put_totals(out, e);
	put_maps(out, e);
	put_frame(out, e);
}

/* ---- a refusal */

static void put_lines(FILE *out, const char *first, const char *others, const char *text)
{
	for (const char *begin = first; text && *text; begin = others) {
		const size_t len = strcspn(text, "\n");

		fprintf(out, "%s%.*s\n", begin, (int)len, text);
		text += len + (text[len] == '\n');
	}
}

void explain_refusal(FILE *out, const struct explained *e)
{
	const struct explain_colors *c = explain_colors(e);
	struct asm_refusal refusal;

	if (explained_refusal(e, &refusal))
		return;
	fprintf(out, "\n%srefused%s by the verifier\n", c->warn, c->off);
	put_lines(out, "  at   ", "       ", refusal.at);
	put_lines(out, "  says ", "       ", refusal.message);
	put_lines(out, "  why  ", "       ", refusal.why);
	put_lines(out, "       ", "       ", refusal.why ? refusal.history : NULL);
	put_lines(out, "  try  ", "       ", refusal.advice);
	asm_refusal_free(&refusal);
}
