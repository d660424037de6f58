/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes of where control goes: jumps that lead nowhere, loops without an end, lines that nothing
 * leads to. */
#include <string.h>

#include "repair.h"

enum { ROUNDS = 64 };

static bool is_jump(const struct asm_insn *line)
{
	const uint8_t class = BPF_CLASS(line->insn.code), op = BPF_OP(line->insn.code);

	return (line->kind == ASM_JUMP || line->kind == ASM_INSN) &&
	       (class == BPF_JMP || class == BPF_JMP32) && op != BPF_CALL && op != BPF_EXIT;
}

static bool is_always(const struct asm_insn *line)
{
	return is_jump(line) && BPF_OP(line->insn.code) == BPF_JA;
}

/* Does it jump to a label at or before that line? */
static bool is_back(const struct candidates *c, size_t at)
{
	const struct asm_insn *line = &c->a->lines[at];

	if (line->kind != ASM_JUMP)
		return false;
	for (size_t i = 0; i < at; i++)
		if (c->a->lines[i].kind == ASM_LABEL && !strcmp(c->a->lines[i].sym, line->sym))
			return true;
	return false;
}

static struct asm_insn count_one(struct candidates *c, int reg)
{
	return repair_line(BPF_ALU64 | BPF_ADD | BPF_K, reg, 0, 0, 1,
			   repair_text(c->r, "ADD(R%d, 1)", reg));
}

/* The jump back is counted, and taken no more than so often. */
static void add_rounds(struct candidates *c, size_t at)
{
	const int count = repair_unused_reg(c);
	const struct asm_insn *back = &c->a->lines[at];
	struct edit *edit;

	if (count == NOWHERE)
		return;
	edit = repair_add(c, at, "the loop ends after %d rounds at the latest", ROUNDS);
	edit->also.is = true;
	edit->also.at = repair_begin_of(c, at);
	edit->also.line = repair_mov(c->r, count, 0);
	edit->removed = 1;
	edit->added[edit->nadded++] = count_one(c, count);
	if (is_always(back)) {
		edit->added[edit->nadded++] =
			repair_jump(c->r, BPF_JLT, "JLT", count, ROUNDS, back->sym);
		return;
	}
	edit->added[edit->nadded++] = repair_jump(c->r, BPF_JGE, "JGE", count, ROUNDS, "loop_ends");
	edit->added[edit->nadded++] = *back;
	edit->added[edit->nadded++] = repair_label(c->r, "loop_ends");
}

void repair_loop(struct candidates *c)
{
	for (size_t i = 0; i < c->a->code.nlines; i++)
		if (is_back(c, i) && repair_begin_of(c, i) == repair_begin_of(c, c->at))
			add_rounds(c, i);
}

void repair_removal(struct candidates *c, size_t at, const char *means)
{
	repair_add(c, at, "%s", means)->removed = 1;
}

/* A jump that leads out of the program, or into the middle of an instruction. */
void repair_jump_away(struct candidates *c)
{
	if (is_jump(&c->a->lines[c->at]))
		repair_removal(c, c->at,
			       "it goes on with the next line, where it would have gone "
			       "nowhere");
}

/* What nothing leads to: the jump that keeps control away goes, or the line itself. */
void repair_unreachable(struct candidates *c)
{
	const size_t before = c->at ? c->at - 1 : 0;

	if (c->at && is_back(c, before) && is_always(&c->a->lines[before]))
		add_rounds(c, before);
	else if (c->at && is_always(&c->a->lines[before]))
		repair_removal(c, before, "it goes on with the next line, rather than over it");
	repair_removal(c, c->at, "nothing: no path led there");
}

/* A function that calls itself: once is enough. */
void repair_recursion(struct candidates *c)
{
	const size_t begin = repair_begin_of(c, c->at);
	struct edit *edit;

	for (size_t i = begin; begin && i < c->a->code.nlines && c->a->lines[i].kind != ASM_FUNC;
	     i++) {
		const struct asm_insn *line = &c->a->lines[i];

		if (line->kind != ASM_CALL_FUNC || strcmp(line->sym, c->a->lines[begin - 1].sym))
			continue;
		edit = repair_add(c, i,
				  "%s does not call itself, and goes on as if that had given "
				  "0",
				  line->sym);
		edit->removed = 1;
		edit->added[edit->nadded++] = repair_mov(c->r, 0, 0);
	}
}

/* Control that would run off the end. */
void repair_end(struct candidates *c)
{
	const size_t at = c->a->refusal.insn >= 0 ? c->at + 1 : c->a->code.nlines;
	struct edit *edit;

	/* INSN() of a constant that takes two slots makes one. */
	if (c->insn.code == (BPF_LD | BPF_IMM | BPF_DW) && c->a->lines[c->at].kind == ASM_INSN) {
		edit = repair_add(c, c->at, "the constant has its other half, and it ends there");
		edit->removed = 1;
		edit->added[edit->nadded++] = (struct asm_insn){
			.kind = ASM_LD_IMM64,
			.insn = { .code = c->insn.code, .dst_reg = c->insn.dst_reg },
			.line = 1,
			.text = repair_text(c->r, "LD_IMM64(R%d, %d)", c->insn.dst_reg,
					    c->insn.imm),
			.value = (uint32_t)c->insn.imm,
		};
		edit->added[edit->nadded++] = repair_leave();
	}
	edit = repair_add(c, at, "it ends there, rather than going on");
	edit->added[edit->nadded++] = repair_leave();
	edit = repair_add(c, at, "it ends there with 0, rather than going on");
	edit->added[edit->nadded++] = repair_mov(c->r, 0, 0);
	edit->added[edit->nadded++] = repair_leave();
}
