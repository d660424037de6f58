/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is an instruction there for? Take it out, or turn its condition round, and see what the
 * kernel says. A jump to the next instruction stands where it stood, so that nothing else moves.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "explain.h"

/* ---- which one */

static bool is_meant(const struct explained *e, uint32_t slot, const char *what)
{
	const struct asm_insn *line = &e->image.program->lines[e->image.line_of[slot]];
	const char *text = e->image.text_of[slot];
	char place[300];

	snprintf(place, sizeof(place), "%s:%" PRIu32, e->image.file_of[slot], line->line);
	if (!strcmp(place, what) || (text && !strcmp(text, what)) || !strcmp(line->text, what))
		return true;
	/* without the directory */
	return strrchr(place, '/') && !strcmp(strrchr(place, '/') + 1, what);
}

static int64_t find_insn(const struct explained *e, const char *what)
{
	char *end;
	unsigned long n = strtoul(what, &end, 10);

	if (*what && !*end && n < e->image.ninsns && explained_slots(e, (uint32_t)n))
		return (int64_t)n;
	for (uint32_t slot = 0; slot < e->image.ninsns; slot++)
		if (explained_slots(e, slot) && is_meant(e, slot, what))
			return slot;
	return rp_fail(-ENOENT,
		       "%s has no instruction '%s': give its number (0 to %" PRIu32
		       "), FILE:LINE, or the line as it is written",
		       e->entry->code.name, what, e->image.ninsns - 1);
}

/* ---- the change */

static void take_out(struct bpf_insn *insn, uint32_t slots)
{
	for (uint32_t i = 0; i < slots; i++)
		insn[i] = (struct bpf_insn){ .code = BPF_JMP | BPF_JA };
}

static int turn_round(struct bpf_insn *insn)
{
	static const uint8_t pairs[][2] = {
		{ BPF_JEQ, BPF_JNE },	{ BPF_JGT, BPF_JLE },	{ BPF_JGE, BPF_JLT },
		{ BPF_JSGT, BPF_JSLE }, { BPF_JSGE, BPF_JSLT },
	};
	const uint8_t class = BPF_CLASS(insn->code), op = BPF_OP(insn->code);

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		for (int side = 0; side < 2; side++)
			if ((class == BPF_JMP || class == BPF_JMP32) && op == pairs[i][side]) {
				insn->code = (uint8_t)(insn->code ^ op ^ pairs[i][!side]);
				return 0;
			}
	return rp_fail(-EINVAL, "only a condition can be turned round");
}

/* ---- what came of it */

static int load_changed(struct explained *e)
{
	struct rp_prog prog;
	int err;

	rp_prog_of_image(&e->image, &prog);
	e->loaded = rp_prog_load_verbose(&prog, 2 | 4, &e->log_text);
	e->asked = true;
	if (!e->log_text || !*e->log_text)
		return e->loaded < 0 ? rp_prog_load(&prog) : -ENODATA;
	err = asm_vlog_parse(e->log_text, &e->log);
	e->has_log = !err;
	return err;
}

/* Did the original write the register that the message names? */
static int wrote_register(const struct explained *e, const char *message)
{
	const uint8_t class = BPF_CLASS(e->broken_insn.code);
	int reg;

	if (!message || message[0] != 'R' || message[1] < '0' || message[1] > '9')
		return -1;
	reg = atoi(message + 1);
	if (e->broken_insn.code == (BPF_JMP | BPF_CALL))
		return reg == 0 ? reg : -1;
	return (class == BPF_ALU || class == BPF_ALU64 || class == BPF_LD || class == BPF_LDX) &&
			       e->broken_insn.dst_reg == reg
		       ? reg
		       : -1;
}

static void put_change(FILE *out, const struct explained *e, const char *before)
{
	const struct explain_colors *c = explain_colors(e);
	char after[ASM_DISASM_SIZE], name[600];

	explained_disasm(e, (uint32_t)e->broken_slot, after);
	explained_name(e, (uint32_t)e->broken_slot, name, sizeof(name));
	fprintf(out, "%s%s%s\n", c->source, name, c->off);
	fprintf(out, "  %5" PRId64 "  %s\n", e->broken_slot, before);
	fprintf(out, "  %s %s\n", e->opt->flip ? "     now" : "  is now", after);
}

static void put_outcome(FILE *out, const struct explained *e)
{
	const struct explain_colors *c = explain_colors(e);
	struct asm_refusal refusal;
	char name[600];

	if (e->loaded >= 0) {
		fprintf(out,
			"\n%saccepted%s: to the verifier the program is as good %s (%" PRIu64
			" steps). What it computes is another matter.\n",
			c->label, c->off, e->opt->flip ? "this way round" : "without it",
			e->log.processed);
		return;
	}
	explain_refusal(out, e);
	if (explained_refusal(e, &refusal))
		return;
	explained_name(e, (uint32_t)e->broken_slot, name, sizeof(name));
	fprintf(out, "  cut  %s", name);
	if (!e->opt->flip && wrote_register(e, refusal.message) >= 0)
		fprintf(out, ": this is what wrote R%d", wrote_register(e, refusal.message));
	fputc('\n', out);
	asm_refusal_free(&refusal);
}

int explain_broken(FILE *out, struct explained *e)
{
	const int64_t slot = find_insn(e, e->opt->broken);
	char before[ASM_DISASM_SIZE];
	int err = 0;

	if (slot < 0)
		return (int)slot;
	e->broken_slot = slot;
	e->broken_insn = e->image.insns[slot];
	explained_disasm(e, (uint32_t)slot, before);
	if (e->opt->flip)
		err = turn_round(&e->image.insns[slot]);
	else
		take_out(&e->image.insns[slot], explained_slots(e, (uint32_t)slot));
	if (!err)
		err = load_changed(e);
	if (err)
		return err;
	if (e->opt->shape == EXPLAIN_JSON)
		return explain_json(out, e);
	if (e->opt->shape == EXPLAIN_LOG) {
		fputs(e->log_text, out);
		return 0;
	}
	put_change(out, e, before);
	put_outcome(out, e);
	return 0;
}
