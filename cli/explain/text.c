/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The listing: each line of the DSL, below it its instructions, beside them what the verifier knows
 * behind each. Where labels stand, what it knows on all the ways that lead there.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "explain.h"

enum { INSN_COLUMN = 46 };

struct listing {
	FILE *out;
	const struct explained *e;
	const struct explain_colors *c;
	struct explained_line last; /* the line whose heading was printed */
	struct xlated_names *names;
	struct machine_code code;
};

/* ---- states */

/* After a jump or call to it, R10 is what it always is. */
static bool tells_nothing(const struct asm_vlog_value *v)
{
	return v->where == 10 && !strcmp(v->text, "fp0");
}

static void put_value(struct listing *l, const struct asm_vlog_value *v)
{
	fprintf(l->out, " %s%d=%s", v->where < 0 ? "fp" : "R", v->where, v->text);
}

static void put_values(struct listing *l, const struct asm_vlog_value *values, uint32_t n)
{
	fputs(l->c->state, l->out);
	for (uint32_t i = 0; i < n; i++)
		if (!tells_nothing(&values[i]))
			put_value(l, &values[i]);
	fputs(l->c->off, l->out);
}

/* Registers that are still needed, where the kernel says which; all that there are, otherwise. */
static bool is_live(const struct asm_vlog_insn *met, int where)
{
	return !met->live || where < 0 || where > 9 || met->live[where] != '.';
}

static void put_before(struct listing *l, const struct asm_vlog_insn *met, bool live_only)
{
	bool any = false;

	fputs(l->c->state, l->out);
	for (uint32_t i = 0; i < met->nbefore; i++) {
		const struct asm_vlog_value *v = &met->before[i];

		/* A path that was cut short there may not have written the slot at all. */
		if (tells_nothing(v) || (live_only && !is_live(met, v->where)) ||
		    (live_only && v->where < 0 && met->pruned))
			continue;
		put_value(l, v);
		any = true;
	}
	if (!any)
		fprintf(l->out, " nothing that is needed later");
	fprintf(l->out, "%s\n", l->c->off);
}

/* What an instruction leaves behind. Where the kernel printed nothing, nothing changed. */
static void put_state(struct listing *l, const struct asm_vlog_insn *met)
{
	const char *r0;

	if (!met) {
		if (l->e->has_log)
			fprintf(l->out, " %snever reached%s", l->c->warn, l->c->off);
		return;
	}
	if (met->nafter) {
		put_values(l, met->after, met->nafter);
		return;
	}
	r0 = explained_value(met->before, met->nbefore, 0);
	if (met->text && strstr(met->text, ") exit") && r0)
		fprintf(l->out, " %sreturns R0=%s%s", l->c->state, r0, l->c->off);
	else if (!met->visits)
		fprintf(l->out, " %sonly in states seen before%s", l->c->dim, l->c->off);
	else
		fprintf(l->out, " %s-%s", l->c->dim, l->c->off);
}

/* ---- labels */

static void put_joined(struct listing *l, uint32_t slot)
{
	const struct asm_vlog_insn *met = explained_met(l->e, slot);

	if (!met) {
		fputc('\n', l->out);
		return;
	}
	if (met->nfrom)
		fprintf(l->out, "  %sjoined at %" PRIu32 " from", l->c->dim, slot);
	else
		fprintf(l->out, "  %sbegins with", l->c->dim);
	for (uint32_t i = 0; i < met->nfrom; i++)
		fprintf(l->out, " %" PRIu32, met->from[i]);
	if (met->pruned)
		fprintf(l->out, "; visited %" PRIu32 " %s, %" PRIu32 " more in a state seen before",
			met->visits, met->visits == 1 ? "time" : "times", met->pruned);
	fprintf(l->out, "%s\n     ", l->c->off);
	put_before(l, met, true);
}

static void put_symbols(struct listing *l, const struct asm_symbol *symbols, uint32_t n,
			uint32_t slot)
{
	for (uint32_t i = 0; i < n; i++)
		if (symbols[i].insn == slot) {
			fprintf(l->out, "%s%s:%s", l->c->label, symbols[i].name, l->c->off);
			put_joined(l, slot);
		}
}

static void put_labels(struct listing *l, uint32_t slot)
{
	const struct asm_vlog_insn *met = explained_met(l->e, slot);

	if (l->e->has_image) {
		put_symbols(l, l->e->image.funcs, l->e->image.nfuncs, slot);
		put_symbols(l, l->e->image.labels, l->e->image.nlabels, slot);
	} else if (met && met->nfrom > 1) {
		fprintf(l->out, "%s(%" PRIu32 "):%s", l->c->label, slot, l->c->off);
		put_joined(l, slot);
	}
}

/* ---- what became of an instruction */

/* Is it the instruction that was loaded, but for the name of the label? */
static bool is_unchanged(struct listing *l, uint32_t slot, const char *theirs)
{
	char ours[ASM_DISASM_SIZE], *name;

	/* "if r0 < 0x3f goto pc-4 <next>": the name is the last word. */
	explained_disasm(l->e, slot, ours);
	name = strrchr(ours, ' ');
	if (name && name[1] == '<' && strchr(name, '>'))
		*name = '\0';
	return l->e->insns[slot].nxlated == explained_slots(l->e, slot) && !strcmp(ours, theirs);
}

static void put_xlated(struct listing *l, uint32_t slot)
{
	const struct explained_insn *became = &l->e->insns[slot];
	char text[ASM_DISASM_SIZE];

	for (uint32_t i = 0; i < became->nxlated; i++) {
		const uint32_t at = became->xlated + i;

		if (at && l->e->xlated[at - 1].code == (BPF_LD | BPF_IMM | BPF_DW))
			continue;
		xlated_disasm(l->names, at, text);
		if (!i && is_unchanged(l, slot, text))
			return;
		fprintf(l->out, "%s        %5" PRIu32 "' %s%s\n", l->c->dim, at, text, l->c->off);
	}
	if (!became->nxlated)
		fprintf(l->out, "%s            ' taken out%s\n", l->c->dim, l->c->off);
}

static void put_machine_code(struct listing *l, uint32_t slot)
{
	const struct explained_insn *became = &l->e->insns[slot];

	for (size_t i = 0; i < l->code.n; i++) {
		const struct machine_line *line = &l->code.lines[i];

		if (line->offset >= became->jited && line->offset - became->jited < became->njited)
			fprintf(l->out, "%s          %5" PRIx32 ": %s%s\n", l->c->dim, line->offset,
				line->text, l->c->off);
	}
}

/* ---- instructions */

static bool same_heading(const struct explained_line *a, const struct explained_line *b)
{
	if (!a->file || !b->file || a->line != b->line || strcmp(a->file, b->file) != 0)
		return false;
	if (!a->macro && !b->macro)
		return !strcmp(a->text, b->text);
	return a->macro && b->macro && a->macro_len == b->macro_len &&
	       !memcmp(a->macro, b->macro, a->macro_len);
}

/* Leaves the text to print beside the instruction: the inner line of a macro. */
static const char *put_heading(struct listing *l, uint32_t slot)
{
	struct explained_line line;

	if (!explained_line(l->e, slot, &line))
		return NULL;
	if (!same_heading(&line, &l->last)) {
		fputs(l->c->source, l->out);
		if (line.file)
			fprintf(l->out, "%s:%" PRIu32 ": ", line.file, line.line);
		if (line.macro)
			fprintf(l->out, "%.*s", (int)line.macro_len, line.macro);
		else
			fputs(line.text, l->out);
		fprintf(l->out, "%s\n", l->c->off);
	}
	l->last = line;
	return line.macro ? line.text : NULL;
}

static void put_raw(struct listing *l, const struct bpf_insn *insn)
{
	const unsigned char *byte = (const unsigned char *)insn;

	fprintf(l->out, "%s%02x %02x %02x%02x %02x%02x%02x%02x%s  ", l->c->dim, byte[0], byte[1],
		byte[2], byte[3], byte[4], byte[5], byte[6], byte[7], l->c->off);
}

static void put_visits(struct listing *l, const struct asm_vlog_insn *met)
{
	char text[16] = "";

	if (met && met->visits != 1)
		snprintf(text, sizeof(text), "x%" PRIu32, met->visits);
	fprintf(l->out, "%s%6s%s  ", l->c->dim, text, l->c->off);
}

static void put_insn(struct listing *l, uint32_t slot)
{
	const struct asm_vlog_insn *met = explained_met(l->e, slot);
	const char *inner = put_heading(l, slot);
	char text[ASM_DISASM_SIZE];

	if (l->e->opt->state && met) {
		fprintf(l->out, "%22s", "");
		put_before(l, met, false);
	}
	explained_disasm(l->e, slot, text);
	fprintf(l->out, "  %5" PRIu32 " ", slot);
	put_visits(l, met);
	if (l->e->has_image)
		put_raw(l, &l->e->image.insns[slot]);
	fprintf(l->out, "%-*s", INSN_COLUMN, text);
	put_state(l, met);
	if (inner)
		fprintf(l->out, "   %s; %s%s", l->c->dim, inner, l->c->off);
	fputc('\n', l->out);
	if (l->e->has_image && explained_slots(l->e, slot) == 2) {
		fprintf(l->out, "%16s", "");
		put_raw(l, &l->e->image.insns[slot + 1]);
		fputc('\n', l->out);
	}
	if (l->e->opt->bytes && l->e->has_image)
		explain_bytes(l->out, &l->e->image.insns[slot], "                ");
	if (l->e->insns && l->e->opt->xlated)
		put_xlated(l, slot);
	if (l->e->insns && l->e->opt->jit)
		put_machine_code(l, slot);
}

int explain_text(FILE *out, const struct explained *e)
{
	struct listing l = { .out = out, .e = e, .c = explain_colors(e) };
	int err = 0;

	if (e->xlated)
		err = xlated_names_open(e, &l.names);
	if (!err && e->jited)
		err = machine_code_read(e, &l.code);
	if (err == -ENOENT) {
		rp_log(RP_WARN, "machine code is shown by objdump, which is not installed");
		err = 0;
	}
	if (!err) {
		fprintf(out, "\n%sinstructions%s\n", l.c->label, l.c->off);
		for (uint32_t slot = 0; slot < explained_count(e); slot++)
			if (explained_slots(e, slot)) {
				put_labels(&l, slot);
				put_insn(&l, slot);
			}
	}
	xlated_names_close(l.names);
	machine_code_free(&l.code);
	return err;
}
