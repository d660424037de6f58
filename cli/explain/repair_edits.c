/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes that may repair a program, by what the verifier says of it. */
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "repair.h"

/* ---- values and registers */

static void add_bounds(struct candidates *c, size_t at, int reg)
{
	static const int32_t limits[] = {
		4096, 1024, 512, 256, 128, 64, 63, 32, 16, 15, 8, 7, 4, 1
	};

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		char when[40];

		snprintf(when, sizeof(when), "above %" PRId32, limits[i]);
		repair_guard(c, at, BPF_JGT, "JGT", BPF_JLE, "JLE", reg, limits[i], when);
	}
}

/* The context, which comes in R1, kept and put back. */
static void add_context(struct candidates *c)
{
	const struct asm_insn *first = c->a->code.nlines ? &c->a->lines[0] : NULL;
	const int keep = repair_unused_reg(c);
	struct edit *edit;

	/* An earlier change may keep it already. */
	if (first && first->kind == ASM_INSN && first->insn.code == (BPF_ALU64 | BPF_MOV | BPF_X) &&
	    first->insn.src_reg == 1 && first->insn.dst_reg >= 6 &&
	    repair_begin_of(c, c->at) == 0) {
		edit = repair_add(c, c->at, "R1 is the context again here");
		edit->added[edit->nadded++] = repair_mov_reg(c->r, 1, first->insn.dst_reg);
	}
	if (keep == NOWHERE)
		return;
	edit = repair_add(c, c->at,
			  "the context is kept in R%d from the beginning, and R1 is it again here",
			  keep);
	edit->added[edit->nadded++] = repair_mov_reg(c->r, 1, keep);
	edit->also.is = true;
	edit->also.at = 0;
	edit->also.line = repair_mov_reg(c->r, keep, 1);
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
	edit = repair_add(c, one < two ? one : two, "argument 1 and argument 2 change places");
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
			line.text = repair_text(c->r, "%.*s(R%d%s", (int)(reg - line.text),
						line.text, was == 1 ? 2 : 1, reg + 3);
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
	const size_t begin = repair_begin_of(c, c->at);

	while (at > begin &&
	       (c->a->lines[at - 1].kind != ASM_INSN ||
		c->a->lines[at - 1].insn.dst_reg != c->reg ||
		BPF_CLASS(c->a->lines[at - 1].insn.code) != BPF_ALU64) &&
	       (c->a->lines[at - 1].kind != ASM_LD_MAP ||
		c->a->lines[at - 1].insn.dst_reg != c->reg))
		at--;
	for (size_t i = 0; at > begin && i < c->r->e->entry->nmaps; i++) {
		const char *name = c->r->e->entry->maps[i].name;
		struct edit *edit = repair_add(
			c, at - 1, "R%d is the map %s, the only one that goes here", c->reg, name);

		edit->removed = 1;
		edit->choice = true;
		edit->added[edit->nadded++] = (struct asm_insn){
			.kind = ASM_LD_MAP,
			.insn = { .code = BPF_LD | BPF_IMM | BPF_DW,
				  .dst_reg = (uint8_t)c->reg & 15,
				  .src_reg = BPF_PSEUDO_MAP_FD },
			.line = 1,
			.text = repair_text(c->r, "LD_MAP(R%d, %s)", c->reg, name),
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
				repair_add(c, c->at - back,
					   "the record in R%d is given back, unseen", holders[i]);

			edit->added[edit->nadded++] = repair_mov_reg(c->r, 1, holders[i]);
			edit->added[edit->nadded++] = repair_mov(c->r, 2, 0);
			edit->added[edit->nadded++] =
				repair_line(BPF_JMP | BPF_CALL, 0, 0, 0, RINGBUF_DISCARD,
					    "CALL(ringbuf_discard)");
			if (!back)
				edit->added[edit->nadded++] = repair_mov(c->r, 0, 0);
		}
}

/* "invalid read from stack R2 off -16+8 size 16", "off=-8": the slot that holds nothing. */
static void add_clearing(struct candidates *c, const char *message)
{
	const char *off = strstr(message, " off");
	struct edit *edit;
	char *end;
	long at, by;

	if (!off || !off[4])
		return;
	at = strtol(off + 5, &end, 10);
	by = *end == '+' ? strtol(end + 1, NULL, 10) : 0;
	if (__builtin_add_overflow(at, by, &at) || at >= 0 || at < -512)
		return;
	at = -((-at + 7) / 8 * 8);
	edit = repair_add(c, repair_begin_of(c, c->at),
			  "bytes %ld to %ld from R10 are 0 where nothing else is", at, at + 7);
	edit->added[edit->nadded++] = repair_line(BPF_ST | BPF_MEM | BPF_DW, 10, 0, (int16_t)at, 0,
						  repair_text(c->r, "ST(DW, R10, %ld, 0)", at));
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
			line.text = repair_text(c->r, "%s%s", ops[i].now,
						line.text + strlen(ops[i].name));
			edit = repair_add(c, at, "the limit itself is no longer let through");
			edit->removed = 1;
			edit->added[edit->nadded++] = line;
		}
}

/* What a call takes away, kept across it. */
static void add_kept(struct candidates *c)
{
	const int keep = repair_unused_reg(c);
	size_t at = c->at;
	struct edit *edit;

	while (at &&
	       (c->a->lines[at - 1].kind == ASM_LABEL || c->a->lines[at - 1].kind == ASM_JUMP ||
		c->a->lines[at - 1].insn.code != (BPF_JMP | BPF_CALL)))
		at--;
	if (!at || keep == NOWHERE)
		return;
	edit = repair_add(c, c->at, "R%d is kept in R%d across the call", c->reg, keep);
	edit->added[edit->nadded++] = repair_mov_reg(c->r, c->reg, keep);
	edit->also.is = true;
	edit->also.at = at - 1;
	edit->also.line = repair_mov_reg(c->r, keep, c->reg);
}

static void add_unread(struct candidates *c)
{
	const bool kept = c->reg >= 6;
	struct edit *edit;

	if (!kept && c->reg)
		add_kept(c);
	if (c->reg == 1)
		add_context(c);
	if (kept || !c->reg) {
		edit = repair_add(c, repair_begin_of(c, c->at),
				  "R%d is 0 where nothing else has written it", c->reg);
		edit->added[edit->nadded++] = repair_mov(c->r, c->reg, 0);
	}
	edit = repair_add(c, c->at, "R%d is 0 here, whatever it was on other paths", c->reg);
	edit->added[edit->nadded++] = repair_mov(c->r, c->reg, 0);
	if (!kept)
		return;
	edit = repair_add(c, repair_begin_of(c, c->at),
			  "R%d is what was passed in R1, from the beginning", c->reg);
	edit->added[edit->nadded++] = repair_mov_reg(c->r, c->reg, 1);
}

/* ---- numbers and widths */

/* An operation with a constant that it does not take, for which there is another one. */
static void add_plain(struct candidates *c)
{
	const struct bpf_insn *insn = &c->insn;
	const uint8_t op = BPF_OP(insn->code), source = BPF_SRC(insn->code);
	struct bpf_insn plain = *insn;
	struct edit *edit;

	if (repair_says(c->a->refusal.message, "uses reserved fields")) {
		plain.src_reg = source == BPF_X ? plain.src_reg : 0;
		plain.imm = source == BPF_X ? 0 : plain.imm;
		plain.off = 0;
		edit = repair_add(c, c->at, "a field that it does not use is 0");
		edit->removed = 1;
		edit->added[edit->nadded++] = repair_line(
			plain.code, plain.dst_reg, plain.src_reg, 0, plain.imm,
			repair_text(c->r, "INSN(0x%02x, R%d, R%d, 0, %" PRId32 ")", plain.code,
				    plain.dst_reg, plain.src_reg, plain.imm));
		return;
	}
	if (op == BPF_MOD) {
		repair_removal(c, c->at, "a remainder of 0 leaves the number as it is");
		return;
	}
	if (op == BPF_ARSH)
		return;
	edit = repair_add(c, c->at, "%s",
			  op == BPF_DIV ? "it is 0, which a division by 0 gives"
					: "it is 0, as nothing is left behind such a shift");
	edit->removed = 1;
	edit->added[edit->nadded++] = repair_mov(c->r, insn->dst_reg, 0);
}

/* A load of the context, of the first of its bytes only. */
static void add_narrower(struct candidates *c)
{
	static const struct {
		uint8_t size;
		const char *name;
		int bytes;
	} sizes[] = {
		{ BPF_DW, "DW", 8 }, { BPF_W, "W", 4 }, { BPF_H, "H", 2 }, { BPF_B, "B", 1 }
	};
	const uint8_t had = BPF_SIZE(c->insn.code);
	bool below = false;

	if (c->a->lines[c->at].kind != ASM_INSN || BPF_CLASS(c->insn.code) != BPF_LDX ||
	    c->insn.off % 4)
		return;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct edit *edit;

		if (below) {
			edit = repair_add(c, c->at, "the first %d bytes are read alone",
					  sizes[i].bytes);
			edit->removed = 1;
			edit->added[edit->nadded++] = repair_line(
				(uint8_t)(BPF_LDX | BPF_MEM | sizes[i].size), c->insn.dst_reg,
				c->insn.src_reg, c->insn.off, 0,
				repair_text(c->r, "LDX(%s, R%d, R%d, %d)", sizes[i].name,
					    c->insn.dst_reg, c->insn.src_reg, c->insn.off));
		}
		below |= sizes[i].size == had;
	}
}

/* "invalid write to stack R1 off=-8 size=16": of a call, whose size is in the next register. */
static void add_smaller(struct candidates *c, const char *message)
{
	const char *reg = strstr(message, "stack R"), *off = strstr(message, " off=");
	const int pointer = reg ? atoi(reg + 7) : 0, size = pointer < 5 ? pointer + 1 : 0;
	const int32_t place = off ? atoi(off + 5) : 0, room = place < -512 ? 0 : -place;
	size_t at = c->at;

	if (c->insn.code != (BPF_JMP | BPF_CALL) || size < 2 || size > 5 || room <= 0)
		return;
	while (at-- > repair_begin_of(c, c->at)) {
		const struct asm_insn *line = &c->a->lines[at];
		struct edit *edit;

		if (line->kind != ASM_INSN || line->insn.dst_reg != size ||
		    BPF_CLASS(line->insn.code) != BPF_ALU64)
			continue;
		if (line->insn.code != (BPF_ALU64 | BPF_MOV | BPF_K) || line->insn.imm <= room)
			return;
		edit = repair_add(c, at, "%" PRId32 " bytes are enough, those that are there",
				  room);
		edit->removed = 1;
		edit->added[edit->nadded++] = repair_mov(c->r, size, room);
		return;
	}
}

/* The number that was added to the pointer: bounded before that. */
static void add_index_bounds(struct candidates *c)
{
	const int reg = BPF_CLASS(c->insn.code) == BPF_LDX ? c->insn.src_reg : c->insn.dst_reg;

	for (size_t at = c->at; at-- > repair_begin_of(c, c->at);) {
		const struct asm_insn *line = &c->a->lines[at];

		if (line->kind == ASM_LABEL)
			return;
		if (line->kind == ASM_INSN && line->insn.code == (BPF_ALU64 | BPF_ADD | BPF_X) &&
		    line->insn.dst_reg == reg) {
			add_bounds(c, at, line->insn.src_reg);
			return;
		}
	}
}

static void add_map_argument(struct candidates *c)
{
	for (size_t at = c->at; at-- > repair_begin_of(c, c->at);)
		if (c->a->lines[at].kind == ASM_LD_MAP && c->a->lines[at].insn.dst_reg <= 5) {
			c->reg = c->a->lines[at].insn.dst_reg;
			add_map(c);
			return;
		}
}

/* The register that the verifier names; kfuncs count their arguments from 0. */
static int named_register(const char *message)
{
	static const char of_kfunc[] = "Possibly NULL pointer passed to trusted arg";
	const size_t length = sizeof(of_kfunc) - 1;
	int reg = NOWHERE, argument;

	if (message[0] == 'R' && isdigit((unsigned char)message[1])) {
		reg = atoi(message + 1);
	} else if (!strncmp(message, of_kfunc, length) && isdigit((unsigned char)message[length])) {
		argument = atoi(message + length);
		reg = argument < 9 ? argument + 1 : NOWHERE;
	}
	return reg < 0 || reg > 9 ? NOWHERE : reg;
}

void repair_candidates(struct candidates *c)
{
	const char *m = c->a->refusal.message;
	const bool exits = c->insn.code == (BPF_JMP | BPF_EXIT);
	struct edit *edit;

	c->reg = named_register(m);
	if (c->reg != NOWHERE && (repair_says(m, "_or_null") || repair_says(m, "null-check") ||
				  repair_says(m, "Possibly NULL")))
		repair_guard(c, c->at, BPF_JEQ, "JEQ", BPF_JNE, "JNE", c->reg, 0, "0");
	if (c->reg != NOWHERE && repair_says(m, "!read_ok"))
		add_unread(c);
	if (repair_says(m, "expected=ctx")) {
		add_swap(c);
		add_context(c);
	}
	if (c->reg != NOWHERE && repair_says(m, "expected=map_ptr"))
		add_map(c);
	if (repair_says(m, "math between"))
		add_bounds(c, c->at, c->insn.src_reg);
	else if (c->reg != NOWHERE &&
		 (repair_says(m, "unbounded") || repair_says(m, "min value is negative") ||
		  repair_says(m, "makes pointer be out of bounds")))
		add_bounds(c, c->at, c->reg);
	if (repair_says(m, "Unreleased reference"))
		add_discard(c);
	if (repair_says(m, "expected=ringbuf_mem"))
		repair_removal(c, c->at, "the record is given away once");
	if (repair_says(m, "frame pointer is read only"))
		repair_removal(c, c->at, "the frame is there without being made");
	if (repair_says(m, "unreachable insn"))
		repair_unreachable(c);
	if (repair_says(m, "jump out of range") || repair_says(m, "jump into the middle"))
		repair_jump_away(c);
	if (repair_says(m, "unknown opcode"))
		repair_removal(c, c->at, "what is no instruction is left out");
	if (repair_says(m, "infinite loop") || repair_says(m, "program is too large"))
		repair_loop(c);
	if (repair_says(m, "call stack of") || repair_says(m, "back-edge"))
		repair_recursion(c);
	if (repair_says(m, "invalid shift") || repair_says(m, "div by zero") ||
	    repair_says(m, "uses reserved fields"))
		add_plain(c);
	if (repair_says(m, "invalid bpf_context access"))
		add_narrower(c);
	if (repair_says(m, "to stack R") || repair_says(m, "from stack R"))
		add_smaller(c, m);
	if (repair_says(m, "outside of the allowed memory"))
		add_index_bounds(c);
	if (repair_says(m, "cannot pass map_type"))
		add_map_argument(c);
	if (repair_says(m, "invalid mem access 'scalar'") && c->a->refusal.history &&
	    repair_says(c->a->refusal.history, "given away"))
		repair_removal(c, c->at, "what came too late for the record is not written");
	if (repair_says(m, "dereference of modified ctx"))
		add_context(c);
	if (repair_says(m, "invalid access to map value") ||
	    repair_says(m, "outside of the allowed memory"))
		add_stricter(c);
	if (repair_says(m, "invalid read from stack") ||
	    repair_says(m, "invalid indirect read from stack"))
		add_clearing(c, m);
	if (exits && repair_says(m, "should have been in")) {
		edit = repair_add(c, c->at, "it returns 0");
		edit->added[edit->nadded++] = repair_mov(c->r, 0, 0);
	}
	if (repair_says(m, "last insn is not an exit"))
		repair_end(c);
	if (repair_says(m, "GPL-restricted"))
		repair_add(c, c->at, "the program is offered under both licences")->license =
			"Dual BSD/GPL";
}
