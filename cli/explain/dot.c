/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The control-flow graph for graphviz(1): a box for what always runs in one go, with its lines as
 * they were written and, where ways meet, what holds on all of them; an arrow for each way out of
 * it, green where the condition holds; a frame around each function, a dashed arrow for each call.
 * Where the program was refused the box is red. Of a log alone the jumps are read from its text.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "explain.h"

enum { MAX_LINE = 72, MAX_STATE = 8 };

struct graph {
	FILE *out;
	const struct explained *e;
	uint32_t n;
	bool *begins; /* a box, at this slot */
	bool *enters; /* a function */
	struct asm_refusal refusal;
	bool refused;
};

/* ---- instructions: of the image, or as the log has them: "(15) if r0 == 0x0 goto pc+2" */

static const char *text_of(const struct graph *g, uint32_t slot)
{
	const char *text = slot < g->e->log.ninsns ? g->e->log.insns[slot].text : NULL;

	return text && *text == '(' ? text : "";
}

static uint8_t code_of(const struct graph *g, uint32_t slot)
{
	const char *text;

	if (g->e->has_image)
		return g->e->image.insns[slot].code;
	text = text_of(g, slot);
	return *text ? (uint8_t)strtoul(text + 1, NULL, 16) : 0;
}

/* The distance behind the word, which the log writes as "pc+2"; false: there is none. */
static bool distance_of(const struct graph *g, uint32_t slot, const char *word, int64_t *distance)
{
	const char *at = strstr(text_of(g, slot), word);

	if (!at)
		return false;
	*distance = strtoll(at + strlen(word), NULL, 10);
	return *distance >= INT32_MIN && *distance <= INT32_MAX; /* or no kernel wrote it */
}

static uint32_t in_range(const struct graph *g, uint32_t slot, int64_t distance)
{
	const int64_t target = (int64_t)slot + 1 + distance;

	return target < 0 || target >= g->n ? g->n : (uint32_t)target;
}

static bool is_jump(const struct graph *g, uint32_t slot)
{
	const uint8_t code = code_of(g, slot), class = BPF_CLASS(code);

	return (class == BPF_JMP || class == BPF_JMP32) && BPF_OP(code) != BPF_CALL;
}

static bool is_conditional(const struct graph *g, uint32_t slot)
{
	const uint8_t op = BPF_OP(code_of(g, slot));

	return is_jump(g, slot) && op != BPF_JA && op != BPF_EXIT;
}

/* Where a jump leads; the number of slots if nowhere. */
static uint32_t target_of(const struct graph *g, uint32_t slot)
{
	const uint8_t code = code_of(g, slot);
	int64_t distance;

	if (!is_jump(g, slot) || BPF_OP(code) == BPF_EXIT)
		return g->n;
	if (g->e->has_image)
		return in_range(g, slot,
				code == (BPF_JMP32 | BPF_JA) ? g->e->image.insns[slot].imm
							     : g->e->image.insns[slot].off);
	return distance_of(g, slot, "goto pc", &distance) ? in_range(g, slot, distance) : g->n;
}

/* The function that is called there, or whose address is taken; the number of slots for none. */
static uint32_t callee_of(const struct graph *g, uint32_t slot)
{
	int64_t distance;

	if (g->e->has_image) {
		const struct bpf_insn *insn = &g->e->image.insns[slot];

		return (insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == BPF_PSEUDO_CALL) ||
				       (insn->code == (BPF_LD | BPF_IMM | BPF_DW) &&
					insn->src_reg == BPF_PSEUDO_FUNC)
			       ? in_range(g, slot, insn->imm)
			       : g->n;
	}
	return distance_of(g, slot, "call pc", &distance) ? in_range(g, slot, distance) : g->n;
}

static void find_boxes(struct graph *g)
{
	g->begins[0] = g->enters[0] = true;
	for (uint32_t slot = 0; slot < g->n; slot++) {
		if (!explained_slots(g->e, slot))
			continue;
		g->begins[callee_of(g, slot)] = g->enters[callee_of(g, slot)] = true;
		if (is_jump(g, slot)) {
			g->begins[target_of(g, slot)] = true;
			g->begins[slot + 1] = true;
		}
	}
}

/* ---- a box */

/* A line of a label, cut where it would make the box too wide. */
static void put_line(struct graph *g, const char *text)
{
	size_t column = 0;

	for (; *text && column < MAX_LINE; text++, column++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', g->out);
		fputc(*text, g->out);
	}
	fputs(*text ? "...\\l" : "\\l", g->out);
}

__attribute__((format(printf, 2, 3))) static void put(struct graph *g, const char *fmt, ...)
{
	char text[1000];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	put_line(g, text);
}

static const char *function_at(const struct graph *g, uint32_t slot)
{
	for (uint32_t i = 0; g->e->has_image && i < g->e->image.nfuncs; i++)
		if (g->e->image.funcs[i].insn == slot)
			return g->e->image.funcs[i].name;
	return NULL;
}

/* What holds on every way that meets there, as far as it is needed. */
static void put_state(struct graph *g, const struct asm_vlog_insn *met)
{
	uint32_t shown = 0;

	for (uint32_t i = 0; i < met->nbefore && shown < MAX_STATE; i++) {
		const struct asm_vlog_value *v = &met->before[i];

		if (v->where == 10 || (met->live && v->where >= 0 && met->live[v->where] == '.'))
			continue;
		put(g, "  %s%d=%s", v->where < 0 ? "fp" : "R", v->where, v->text);
		shown++;
	}
}

static void put_title(struct graph *g, uint32_t slot)
{
	const struct asm_vlog_insn *met = explained_met(g->e, slot);

	for (uint32_t i = 0; g->e->has_image && i < g->e->image.nlabels; i++)
		if (g->e->image.labels[i].insn == slot)
			put(g, "%s:", g->e->image.labels[i].name);
	if (met && met->pruned)
		put(g, "visited x%" PRIu32 ", and x%" PRIu32 " in a state seen before", met->visits,
		    met->pruned);
	else if (met && met->visits != 1)
		put(g, "visited x%" PRIu32, met->visits);
	if (met && met->nfrom > 1)
		put_state(g, met);
}

static bool is_new_line(const struct explained_line *line, const struct explained_line *last)
{
	return !last->text || line->line != last->line || !line->macro || !last->macro ||
	       line->macro_len != last->macro_len ||
	       memcmp(line->macro, last->macro, line->macro_len) != 0;
}

/* A macro is a line of its own; an instruction that no line is known of stands for itself. */
static void put_insn(struct graph *g, uint32_t slot, struct explained_line *last)
{
	struct explained_line line;
	char text[ASM_DISASM_SIZE];

	if (!explained_line(g->e, slot, &line)) {
		explained_disasm(g->e, slot, text);
		put(g, "%" PRIu32 ": %s", slot, text);
	} else if (is_new_line(&line, last)) {
		put(g, "%" PRIu32 ": %.*s", slot, line.macro ? (int)line.macro_len : 900,
		    line.macro ? line.macro : line.text);
	}
	*last = line;
	if (g->refused && g->refusal.insn == slot)
		put(g, "  refused: %.*s", (int)strcspn(g->refusal.message, "\n"),
		    g->refusal.message);
}

static bool has_refusal(const struct graph *g, uint32_t from, uint32_t end)
{
	return g->refused && g->refusal.insn >= from && g->refusal.insn < end;
}

static uint32_t end_of(const struct graph *g, uint32_t slot)
{
	do
		slot++;
	while (slot < g->n && !g->begins[slot]);
	return slot;
}

static void put_box(struct graph *g, uint32_t slot, uint32_t end)
{
	const bool reached = !g->e->has_log || explained_met(g->e, slot);
	struct explained_line last = { 0 };

	fprintf(g->out, "\tn%" PRIu32 " [%s%slabel=\"", slot,
		reached ? "" : "style=dashed, color=gray, fontcolor=gray, ",
		has_refusal(g, slot, end) ? "style=filled, fillcolor=mistyrose, color=red, " : "");
	put_title(g, slot);
	for (uint32_t i = slot; i < end; i++)
		if (explained_slots(g->e, i))
			put_insn(g, i, &last);
	fputs("\"]\n", g->out);
}

static void put_arrows(struct graph *g, uint32_t slot, uint32_t end)
{
	uint32_t last = slot;

	for (uint32_t i = slot; i < end; i++) {
		if (!explained_slots(g->e, i))
			continue;
		last = i;
		if (callee_of(g, i) < g->n)
			fprintf(g->out,
				"\tn%" PRIu32 " -> n%" PRIu32
				" [style=dashed, color=blue, label=\"%s\", constraint=false]\n",
				slot, callee_of(g, i),
				code_of(g, i) == (BPF_JMP | BPF_CALL) ? "calls" : "passes");
	}
	if (target_of(g, last) < g->n)
		fprintf(g->out, "\tn%" PRIu32 " -> n%" PRIu32 "%s\n", slot, target_of(g, last),
			is_conditional(g, last) ? " [color=darkgreen]" : "");
	if (end < g->n && !g->enters[end] && (!is_jump(g, last) || is_conditional(g, last)))
		fprintf(g->out, "\tn%" PRIu32 " -> n%" PRIu32 "%s\n", slot, end,
			is_conditional(g, last) ? " [color=firebrick]" : "");
}

/* ---- all of it */

static void put_functions(struct graph *g)
{
	for (uint32_t slot = 0, end; slot < g->n; slot = end) {
		end = end_of(g, slot);
		if (g->enters[slot]) {
			const char *name = function_at(g, slot);

			fprintf(g->out, "%s\tsubgraph cluster_%" PRIu32 " {\n\tcolor=gray\n",
				slot ? "\t}\n" : "", slot);
			if (name)
				fprintf(g->out, "\tlabel=\"%s\"\n", name);
			else
				fprintf(g->out, "\tlabel=\"function at %" PRIu32 "\"\n", slot);
		}
		put_box(g, slot, end);
	}
	fputs("\t}\n", g->out);
	for (uint32_t slot = 0; slot < g->n; slot = end_of(g, slot))
		put_arrows(g, slot, end_of(g, slot));
}

int explain_dot(FILE *out, const struct explained *e)
{
	struct graph g = { .out = out, .e = e, .n = explained_count(e) };

	g.begins = calloc(g.n + 2, sizeof(*g.begins));
	g.enters = calloc(g.n + 2, sizeof(*g.enters));
	if (!g.begins || !g.enters || !g.n) {
		free(g.begins);
		free(g.enters);
		return g.n ? -ENOMEM : rp_fail(-ENODATA, "there is no instruction to draw");
	}
	g.refused = !(e->asked && e->loaded >= 0) && !explained_refusal(e, &g.refusal);
	find_boxes(&g);
	fprintf(out,
		"digraph \"%s\" {\n\tnode [shape=box, fontname=monospace, fontsize=10]\n"
		"\tedge [fontname=monospace, fontsize=9]\n\tfontname=monospace\n",
		e->has_image ? e->image.program->name : "log");
	put_functions(&g);
	fprintf(out, "}\n");
	if (g.refused)
		asm_refusal_free(&g.refusal);
	free(g.begins);
	free(g.enters);
	return 0;
}
