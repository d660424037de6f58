/* SPDX-License-Identifier: BSD-2-Clause */
/* The control-flow graph for graphviz(1): a box for what always runs in one go, an arrow for each
 * way out of it, green where the condition holds. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "explain.h"

struct graph {
	FILE *out;
	const struct explained *e;
	bool *begins; /* a box, at this slot */
};

static bool is_jump(const struct bpf_insn *insn)
{
	const uint8_t class = BPF_CLASS(insn->code);

	return (class == BPF_JMP || class == BPF_JMP32) && BPF_OP(insn->code) != BPF_CALL;
}

static bool is_conditional(const struct bpf_insn *insn)
{
	return is_jump(insn) && BPF_OP(insn->code) != BPF_JA && BPF_OP(insn->code) != BPF_EXIT;
}

/* Where a jump leads; the number of slots if nowhere. */
static uint32_t target_of(const struct graph *g, uint32_t slot)
{
	const struct bpf_insn *insn = &g->e->image.insns[slot];
	const int64_t distance =
		insn->code == (BPF_JMP32 | BPF_JA) ? insn->imm : (int64_t)insn->off;
	const int64_t target = (int64_t)slot + 1 + distance;

	if (!is_jump(insn) || BPF_OP(insn->code) == BPF_EXIT || target < 0 ||
	    target >= g->e->image.ninsns)
		return g->e->image.ninsns;
	return (uint32_t)target;
}

static void find_boxes(struct graph *g)
{
	const struct asm_image *image = &g->e->image;

	for (uint32_t i = 0; i < image->nfuncs; i++)
		g->begins[image->funcs[i].insn] = true;
	for (uint32_t slot = 0; slot < image->ninsns; slot++) {
		if (!explained_slots(g->e, slot) || !is_jump(&image->insns[slot]))
			continue;
		g->begins[target_of(g, slot)] = true;
		g->begins[slot + 1] = true;
	}
}

static void put_escaped(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', out);
		fputc(*text, out);
	}
}

static void put_title(struct graph *g, uint32_t slot)
{
	const struct asm_image *image = &g->e->image;
	const struct asm_vlog_insn *met = explained_met(g->e, slot);

	for (uint32_t i = 0; i < image->nfuncs; i++)
		if (image->funcs[i].insn == slot)
			fprintf(g->out, "%s:\\l", image->funcs[i].name);
	for (uint32_t i = 0; i < image->nlabels; i++)
		if (image->labels[i].insn == slot)
			fprintf(g->out, "%s:\\l", image->labels[i].name);
	if (met && met->visits != 1)
		fprintf(g->out, "visited %" PRIu32 " times\\l", met->visits);
}

/* Returns the slot behind the box. */
static uint32_t put_box(struct graph *g, uint32_t slot)
{
	const bool reached = !g->e->has_log || explained_met(g->e, slot);
	char text[ASM_DISASM_SIZE];
	uint32_t end = slot, last = slot;

	fprintf(g->out, "\tn%" PRIu32 " [%slabel=\"", slot,
		reached ? "" : "style=dashed, color=gray, fontcolor=gray, ");
	put_title(g, slot);
	do {
		last = end;
		explained_disasm(g->e, end, text);
		fprintf(g->out, "%" PRIu32 ": ", end);
		put_escaped(g->out, text);
		fputs("\\l", g->out);
		end += explained_slots(g->e, end);
	} while (end < g->e->image.ninsns && !g->begins[end]);
	fputs("\"]\n", g->out);

	if (target_of(g, last) < g->e->image.ninsns)
		fprintf(g->out, "\tn%" PRIu32 " -> n%" PRIu32 "%s\n", slot, target_of(g, last),
			is_conditional(&g->e->image.insns[last]) ? " [color=darkgreen]" : "");
	if (end < g->e->image.ninsns &&
	    (!is_jump(&g->e->image.insns[last]) || is_conditional(&g->e->image.insns[last])))
		fprintf(g->out, "\tn%" PRIu32 " -> n%" PRIu32 "%s\n", slot, end,
			is_conditional(&g->e->image.insns[last]) ? " [color=firebrick]" : "");
	return end;
}

int explain_dot(FILE *out, const struct explained *e)
{
	struct graph g = { .out = out, .e = e };

	if (!e->has_image)
		return rp_fail(-EINVAL, "a log alone does not tell where all jumps lead: name the "
					"program that it is of");
	g.begins = calloc(e->image.ninsns + 1, sizeof(*g.begins));
	if (!g.begins)
		return -ENOMEM;
	find_boxes(&g);
	fprintf(out, "digraph \"%s\" {\n\tnode [shape=box, fontname=monospace]\n",
		e->image.program->name);
	for (uint32_t slot = 0; slot < e->image.ninsns;)
		slot = put_box(&g, slot);
	fprintf(out, "}\n");
	free(g.begins);
	return 0;
}
