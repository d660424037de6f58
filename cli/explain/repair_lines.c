/* SPDX-License-Identifier: BSD-2-Clause */
/* The lines that repairs consist of, and where they go. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "repair.h"

/* ---- lines */

const char *repair_text(struct repairing *r, const char *fmt, ...)
{
	va_list args;
	char *text = NULL;

	va_start(args, fmt);
	if (r->ntexts == sizeof(r->texts) / sizeof(r->texts[0]) || vasprintf(&text, fmt, args) < 0)
		text = NULL;
	va_end(args);
	if (text)
		r->texts[r->ntexts++] = text;
	return text ? text : "";
}

struct asm_insn repair_line(uint8_t code, int dst, int src, int16_t off, int32_t imm,
			    const char *text)
{
	return (struct asm_insn){
		.kind = ASM_INSN,
		.insn = { .code = code,
			  .dst_reg = dst & 15,
			  .src_reg = src & 15,
			  .off = off,
			  .imm = imm },
		.line = 1,
		.text = text,
	};
}

struct asm_insn repair_mov(struct repairing *r, int dst, int32_t imm)
{
	return repair_line(BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, imm,
			   repair_text(r, "MOV(R%d, %" PRId32 ")", dst, imm));
}

struct asm_insn repair_mov_reg(struct repairing *r, int dst, int src)
{
	return repair_line(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0,
			   repair_text(r, "MOV_REG(R%d, R%d)", dst, src));
}

struct asm_insn repair_leave(void)
{
	return repair_line(BPF_JMP | BPF_EXIT, 0, 0, 0, 0, "EXIT()");
}

struct asm_insn repair_jump(struct repairing *r, uint8_t op, const char *name, int reg, int32_t imm,
			    const char *label)
{
	struct asm_insn line =
		repair_line(BPF_JMP | op | BPF_K, reg, 0, 0, imm,
			    repair_text(r, "%s(R%d, %" PRId32 ", %s)", name, reg, imm, label));

	line.kind = ASM_JUMP;
	line.sym = label;
	return line;
}

struct asm_insn repair_label(struct repairing *r, const char *name)
{
	return (struct asm_insn){
		.kind = ASM_LABEL, .line = 1, .text = repair_text(r, "LABEL(%s)", name), .sym = name
	};
}

/* ---- edits */

struct edit *repair_add(struct candidates *c, size_t at, const char *fmt, ...)
{
	static struct edit spare;
	struct edit *edit = c->n < MAX_CANDIDATES ? &c->all[c->n++] : &spare;
	va_list args;

	*edit = (struct edit){ .at = at };
	va_start(args, fmt);
	vsnprintf(edit->means, sizeof(edit->means), fmt, args);
	va_end(args);
	return edit;
}

/* Where the program, or the function that the line is in, begins. */
size_t repair_begin_of(const struct candidates *c, size_t at)
{
	while (at && c->a->lines[at - 1].kind != ASM_FUNC)
		at--;
	return at;
}

/* A label that is not there yet. */
static const char *free_label(struct candidates *c, const char *name)
{
	const char *text = name;

	for (size_t n = 2, i = 0; i < c->a->code.nlines; i++)
		if (c->a->lines[i].kind == ASM_LABEL && !strcmp(c->a->lines[i].sym, text)) {
			text = repair_text(c->r, "%s%zu", name, n++);
			i = 0;
		}
	return text;
}

void repair_guard(struct candidates *c, size_t at, uint8_t op, const char *name, uint8_t otherwise,
		  const char *other_name, int reg, int32_t imm, const char *when)
{
	const char *good = free_label(c, "is_good");
	struct edit *edit;

	for (size_t i = at; i < c->a->code.nlines; i++) {
		const struct asm_insn *line = &c->a->lines[i];

		if (line->kind == ASM_FUNC)
			break;
		if (line->kind != ASM_LABEL || strcmp(line->sym, "out"))
			continue;
		edit = repair_add(c, at, "where R%d is %s, it goes to %s", reg, when, line->sym);
		edit->added[edit->nadded++] = repair_jump(c->r, op, name, reg, imm, line->sym);
	}
	edit = repair_add(c, at, "where R%d is %s, it ends there with 0", reg, when);
	edit->added[edit->nadded++] = repair_jump(c->r, otherwise, other_name, reg, imm, good);
	edit->added[edit->nadded++] = repair_mov(c->r, 0, 0);
	edit->added[edit->nadded++] = repair_leave();
	edit->added[edit->nadded++] = repair_label(c->r, good);
}

/* A register that no line uses, from R6 on; NOWHERE. */
int repair_unused_reg(const struct candidates *c)
{
	for (int reg = 6; reg < 10; reg++) {
		bool used = false;

		for (uint32_t i = 0; i < c->a->image.ninsns; i++)
			used |= c->a->image.insns[i].dst_reg == reg ||
				c->a->image.insns[i].src_reg == reg;
		if (!used)
			return reg;
	}
	return NOWHERE;
}

bool repair_says(const char *message, const char *words)
{
	return strstr(message, words) != NULL;
}
