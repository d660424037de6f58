/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes that may repair a program, by what the verifier says of it. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "repair.h"

/* ---- lines */

__attribute__((format(printf, 2, 3))) static const char *text_of(struct repairing *r,
								 const char *fmt, ...)
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

static struct asm_insn line_of(uint8_t code, int dst, int src, int16_t off, int32_t imm,
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

static struct asm_insn mov(struct repairing *r, int dst, int32_t imm)
{
	return line_of(BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, imm,
		       text_of(r, "MOV(R%d, %" PRId32 ")", dst, imm));
}

static struct asm_insn mov_reg(struct repairing *r, int dst, int src)
{
	return line_of(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0,
		       text_of(r, "MOV_REG(R%d, R%d)", dst, src));
}

static struct asm_insn call(int32_t helper, const char *text)
{
	return line_of(BPF_JMP | BPF_CALL, 0, 0, 0, helper, text);
}

static struct asm_insn leave(void)
{
	return line_of(BPF_JMP | BPF_EXIT, 0, 0, 0, 0, "EXIT()");
}

static struct asm_insn jump(struct repairing *r, uint8_t op, const char *name, int reg, int32_t imm,
			    const char *label)
{
	struct asm_insn line =
		line_of(BPF_JMP | op | BPF_K, reg, 0, 0, imm,
			text_of(r, "%s(R%d, %" PRId32 ", %s)", name, reg, imm, label));

	line.kind = ASM_JUMP;
	line.sym = label;
	return line;
}

static struct asm_insn label(struct repairing *r, const char *name)
{
	return (struct asm_insn){
		.kind = ASM_LABEL, .line = 1, .text = text_of(r, "LABEL(%s)", name), .sym = name
	};
}

/* ---- which changes there are */

__attribute__((format(printf, 3, 4))) static struct edit *add(struct candidates *c, size_t at,
							      const char *fmt, ...)
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
static size_t begin_of(const struct candidates *c, size_t at)
{
	while (at && c->a->lines[at - 1].kind != ASM_FUNC)
		at--;
	return at;
}

/* A condition that leaves: to a label that is there, or at once. */
static void add_guard(struct candidates *c, uint8_t op, const char *name, uint8_t otherwise,
		      const char *other_name, int reg, int32_t imm, const char *when)
{
	struct edit *edit;

	for (size_t i = c->at; i < c->a->code.nlines; i++) {
		const struct asm_insn *line = &c->a->lines[i];

		if (line->kind == ASM_FUNC)
			break;
		if (line->kind != ASM_LABEL || strcmp(line->sym, "out"))
			continue;
		edit = add(c, c->at, "where R%d is %s, it goes to %s", reg, when, line->sym);
		edit->added[edit->nadded++] = jump(c->r, op, name, reg, imm, line->sym);
	}
	edit = add(c, c->at, "where R%d is %s, it ends there with 0", reg, when);
	edit->added[edit->nadded++] = jump(c->r, otherwise, other_name, reg, imm, "is_good");
	edit->added[edit->nadded++] = mov(c->r, 0, 0);
	edit->added[edit->nadded++] = leave();
	edit->added[edit->nadded++] = label(c->r, "is_good");
}

static void add_bounds(struct candidates *c, int reg)
{
	static const int32_t limits[] = { 4096, 1024, 512, 256, 128, 64, 63, 32, 16, 8, 4, 1 };

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		char when[40];

		snprintf(when, sizeof(when), "above %" PRId32, limits[i]);
		add_guard(c, BPF_JGT, "JGT", BPF_JLE, "JLE", reg, limits[i], when);
	}
}

/* A register that no line uses, from R6 on; NOWHERE. */
static int unused_reg(const struct candidates *c)
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

/* The context, which comes in R1, kept and put back. */
static void add_context(struct candidates *c)
{
	const int keep = unused_reg(c);
	struct edit *edit;

	if (keep == NOWHERE)
		return;
	edit = add(c, c->at,
		   "the context is kept in R%d from the beginning, and R1 is it again here", keep);
	edit->added[edit->nadded++] = mov_reg(c->r, 1, keep);
	edit->also.is = true;
	edit->also.at = 0;
	edit->also.line = mov_reg(c->r, keep, 1);
}

/* Lines that load R1 and R2 for the call: each the other's. */
static void add_swap(struct candidates *c)
{
	size_t one = c->at, two = c->at;
	struct edit *edit;

	for (size_t i = c->at; i-- > 0 && c->at - i < 12;) {
		const struct asm_insn *line = &c->a->lines[i];

		if (line->kind == ASM_INSN && line->insn.code == (BPF_JMP | BPF_CALL))
			break;
		if (line->kind == ASM_LABEL || line->kind == ASM_JUMP)
			break;
		if (line->insn.dst_reg == 1 && one == c->at)
			one = i;
		if (line->insn.dst_reg == 2 && two == c->at)
			two = i;
	}
	if (one == c->at || two == c->at || (one > two ? one - two : two - one) != 1)
		return;
	edit = add(c, one < two ? one : two, "argument 1 and argument 2 change places");
	edit->removed = 2;
	for (size_t i = 0; i < 2; i++) {
		struct asm_insn line = c->a->lines[edit->at + i];
		const int was = line.insn.dst_reg;
		const char *reg = line.text ? strstr(line.text, was == 1 ? "(R1" : "(R2") : NULL;

		line.insn.dst_reg = was == 1 ? 2 : 1;
		/* What copies a register onto itself is left out. */
		if (line.insn.code == (BPF_ALU64 | BPF_MOV | BPF_X) &&
		    line.insn.dst_reg == line.insn.src_reg)
			continue;
		if (reg)
			line.text = text_of(c->r, "%.*s(R%d%s", (int)(reg - line.text), line.text,
					    was == 1 ? 2 : 1, reg + 3);
		edit->added[edit->nadded++] = line;
	}
	/* What reads R1 comes before what writes it. */
	if (edit->nadded == 2 && edit->added[1].insn.src_reg == 1) {
		const struct asm_insn first = edit->added[0];

		edit->added[0] = edit->added[1];
		edit->added[1] = first;
	}
}

static void add_map(struct candidates *c)
{
	size_t at = c->at;
	const size_t begin = begin_of(c, c->at);

	while (at > begin && (c->a->lines[at - 1].kind != ASM_INSN ||
			      c->a->lines[at - 1].insn.dst_reg != c->reg ||
			      BPF_CLASS(c->a->lines[at - 1].insn.code) != BPF_ALU64))
		at--;
	for (size_t i = 0; at > begin && i < c->r->e->entry->nmaps; i++) {
		const char *name = c->r->e->entry->maps[i].name;
		struct edit *edit = add(c, at - 1, "R%d is the map %s, no number", c->reg, name);

		edit->removed = 1;
		edit->added[edit->nadded++] = (struct asm_insn){
			.kind = ASM_LD_MAP,
			.insn = { .code = BPF_LD | BPF_IMM | BPF_DW,
				  .dst_reg = (uint8_t)c->reg & 15,
				  .src_reg = BPF_PSEUDO_MAP_FD },
			.line = 1,
			.text = text_of(c->r, "LD_MAP(R%d, %s)", c->reg, name),
			.sym = name,
		};
	}
}

enum { RINGBUF_SUBMIT = 132, RINGBUF_DISCARD = 133 };

static void add_discard(struct candidates *c)
{
	static const int holders[] = { 6, 7, 8, 9, 0 };

	for (size_t back = 0; back < 4 && back <= c->at; back++)
		for (size_t i = 0; i < sizeof(holders) / sizeof(holders[0]); i++) {
			struct edit *edit =
				add(c, c->at - back, "the record in R%d is given back, unseen",
				    holders[i]);

			edit->added[edit->nadded++] = mov_reg(c->r, 1, holders[i]);
			edit->added[edit->nadded++] = mov(c->r, 2, 0);
			edit->added[edit->nadded++] =
				call(RINGBUF_DISCARD, "CALL(ringbuf_discard)");
			if (!back)
				edit->added[edit->nadded++] = mov(c->r, 0, 0);
		}
}

static void add_removal(struct candidates *c, size_t at, const char *means)
{
	add(c, at, "%s", means)->removed = 1;
}

/* "invalid read from stack R2 off -16+8 size 16", "off=-8": the slot that holds nothing. */
static void add_clearing(struct candidates *c, const char *message)
{
	const char *off = strstr(message, " off");
	struct edit *edit;
	char *end;
	long at;

	if (!off)
		return;
	at = strtol(off + 5, &end, 10);
	at += *end == '+' ? strtol(end + 1, NULL, 10) : 0;
	if (at >= 0 || at < -512)
		return;
	at = -((-at + 7) / 8 * 8);
	edit = add(c, begin_of(c, c->at), "bytes %ld to %ld from R10 are 0 where nothing else is",
		   at, at + 7);
	edit->added[edit->nadded++] = line_of(BPF_ST | BPF_MEM | BPF_DW, 10, 0, (int16_t)at, 0,
					      text_of(c->r, "ST(DW, R10, %ld, 0)", at));
}

/* One less is let through: JGE for JGT. */
static void add_stricter(struct candidates *c)
{
	static const struct {
		uint8_t op, stricter;
		const char *name, *now;
	} ops[] = { { BPF_JGT, BPF_JGE, "JGT", "JGE" },
		    { BPF_JLE, BPF_JLT, "JLE", "JLT" },
		    { BPF_JSGT, BPF_JSGE, "JSGT", "JSGE" },
		    { BPF_JSLE, BPF_JSLT, "JSLE", "JSLT" } };

	for (size_t at = c->at; at-- > 0;)
		for (size_t i = 0; i < 4; i++) {
			struct asm_insn line = c->a->lines[at];
			struct edit *edit;

			if (line.kind != ASM_JUMP || BPF_OP(line.insn.code) != ops[i].op ||
			    !line.text || strncmp(line.text, ops[i].name, strlen(ops[i].name)))
				continue;
			line.insn.code = (uint8_t)((line.insn.code & ~0xf0) | ops[i].stricter);
			line.text =
				text_of(c->r, "%s%s", ops[i].now, line.text + strlen(ops[i].name));
			edit = add(c, at, "the limit itself is no longer let through");
			edit->removed = 1;
			edit->added[edit->nadded++] = line;
		}
}

/* What a call takes away, kept across it. */
static void add_kept(struct candidates *c)
{
	const int keep = unused_reg(c);
	size_t at = c->at;
	struct edit *edit;

	while (at &&
	       (c->a->lines[at - 1].kind == ASM_LABEL || c->a->lines[at - 1].kind == ASM_JUMP ||
		c->a->lines[at - 1].insn.code != (BPF_JMP | BPF_CALL)))
		at--;
	if (!at || keep == NOWHERE)
		return;
	edit = add(c, c->at, "R%d is kept in R%d across the call", c->reg, keep);
	edit->added[edit->nadded++] = mov_reg(c->r, c->reg, keep);
	edit->also.is = true;
	edit->also.at = at - 1;
	edit->also.line = mov_reg(c->r, keep, c->reg);
}

static void add_unread(struct candidates *c)
{
	const bool kept = c->reg >= 6;
	struct edit *edit;

	if (!kept && c->reg)
		add_kept(c);
	if (c->reg == 1)
		add_context(c);
	edit = add(c, kept ? begin_of(c, c->at) : c->at, "R%d is 0 where nothing has written it",
		   c->reg);
	edit->added[edit->nadded++] = mov(c->r, c->reg, 0);
	if (!kept)
		return;
	edit = add(c, begin_of(c, c->at), "R%d is what was passed in R1, from the beginning",
		   c->reg);
	edit->added[edit->nadded++] = mov_reg(c->r, c->reg, 1);
}

static bool says(const char *message, const char *words)
{
	return strstr(message, words) != NULL;
}

void repair_candidates(struct candidates *c)
{
	const char *m = c->a->refusal.message;
	const bool exits = c->insn.code == (BPF_JMP | BPF_EXIT);
	struct edit *edit;

	c->reg = m[0] == 'R' && m[1] >= '0' && m[1] <= '9' ? atoi(m + 1) : NOWHERE;
	c->reg = c->reg > 9 ? NOWHERE : c->reg;
	if (c->reg != NOWHERE && (says(m, "_or_null") || says(m, "null-check")))
		add_guard(c, BPF_JEQ, "JEQ", BPF_JNE, "JNE", c->reg, 0, "0");
	if (c->reg != NOWHERE && says(m, "!read_ok"))
		add_unread(c);
	if (says(m, "expected=ctx")) {
		add_swap(c);
		add_context(c);
	}
	if (c->reg != NOWHERE && says(m, "expected=map_ptr"))
		add_map(c);
	if (says(m, "math between"))
		add_bounds(c, c->insn.src_reg);
	else if (c->reg != NOWHERE && (says(m, "unbounded") || says(m, "min value is negative") ||
				       says(m, "makes pointer be out of bounds")))
		add_bounds(c, c->reg);
	if (says(m, "Unreleased reference"))
		add_discard(c);
	if (says(m, "expected=ringbuf_mem"))
		add_removal(c, c->at, "the record is given away once");
	if (says(m, "frame pointer is read only"))
		add_removal(c, c->at, "the frame is there without being made");
	if (says(m, "unreachable insn"))
		add_removal(c, c->at, "nothing: no path led there");
	if (says(m, "invalid access to map value") || says(m, "outside of the allowed memory"))
		add_stricter(c);
	if (says(m, "invalid read from stack") || says(m, "invalid indirect read from stack"))
		add_clearing(c, m);
	if (exits && says(m, "should have been in")) {
		edit = add(c, c->at, "it returns 0");
		edit->added[edit->nadded++] = mov(c->r, 0, 0);
	}
	if (says(m, "last insn is not an exit")) {
		edit = add(c, c->a->code.nlines, "it ends with 0 rather than going on");
		edit->added[edit->nadded++] = mov(c->r, 0, 0);
		edit->added[edit->nadded++] = leave();
	}
	if (says(m, "GPL-restricted"))
		add(c, c->at, "the program is offered under both licences")->license =
			"Dual BSD/GPL";
}
