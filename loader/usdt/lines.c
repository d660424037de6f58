/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Arguments of USDT probes to lines of a program. Where places have them in different registers or
 * at different addresses, each has lines of its own, found by halving: no loop, no table to look up
 * when the probe is hit.
 */
#include "base/grow.h"
#include "loader/internal.h"
#include "usdt.h"

#include <rawprof/asm.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* So that a 16-bit jump reaches over all of them, and those of the program around them. */
enum { LINES_MOST = 20000 };

struct rp_usdt_code {
	struct asm_part part;
	const struct rp_usdt_reader *want; /* while lines are made */
	struct asm_insn *lines;
	size_t n, capacity;
	char **texts; /* of the lines */
	size_t ntexts, texts_capacity;
	uint32_t labels;
	int ctx, to; /* numbers of the registers */
	int err;
};

/* ---- lines */

static const char *say(struct rp_usdt_code *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static const char *say(struct rp_usdt_code *c, const char *fmt, ...)
{
	va_list args;
	char *text;
	int n;

	va_start(args, fmt);
	n = vasprintf(&text, fmt, args);
	va_end(args);
	if (n < 0 || RP_PUSH(c->texts, c->ntexts, c->texts_capacity, text)) {
		if (n >= 0)
			free(text);
		c->err = -ENOMEM;
		return "";
	}
	return text;
}

static void put(struct rp_usdt_code *c, struct asm_insn line)
{
	line.line = (uint32_t)c->n + 1;
	if (!c->err)
		c->err = RP_PUSH(c->lines, c->n, c->capacity, line);
}

static void insn(struct rp_usdt_code *c, const char *text, uint8_t code, int dst, int src,
		 int16_t off, int32_t imm)
{
	put(c, (struct asm_insn){ .insn = { .code = code,
					    .dst_reg = (uint8_t)(dst & 15),
					    .src_reg = (uint8_t)(src & 15),
					    .off = off,
					    .imm = imm },
				  .kind = ASM_INSN,
				  .text = text });
}

static const struct {
	uint8_t code;
	const char *name;
} sizes[] = {
	[1] = { BPF_B, "B" }, [2] = { BPF_H, "H" }, [4] = { BPF_W, "W" }, [8] = { BPF_DW, "DW" }
};

static void load(struct rp_usdt_code *c, uint32_t size, int dst, int src, int off)
{
	insn(c, say(c, "LDX(%s, R%d, R%d, %d)", sizes[size].name, dst, src, off),
	     BPF_LDX | BPF_MEM | sizes[size].code, dst, src, (int16_t)off, 0);
}

static void store(struct rp_usdt_code *c, uint32_t size, int off, int src)
{
	insn(c, say(c, "STX(%s, R%d, %d, R%d)", sizes[size].name, c->to, off, src),
	     BPF_STX | BPF_MEM | sizes[size].code, c->to, src, (int16_t)off, 0);
}

static void store_number(struct rp_usdt_code *c, uint32_t size, int off, int32_t imm)
{
	insn(c, say(c, "ST(%s, R%d, %d, %d)", sizes[size].name, c->to, off, imm),
	     BPF_ST | BPF_MEM | sizes[size].code, c->to, 0, (int16_t)off, imm);
}

static void alu(struct rp_usdt_code *c, const char *name, uint8_t op, int dst, int32_t imm)
{
	insn(c, say(c, "%s(R%d, %d)", name, dst, imm), BPF_ALU64 | BPF_K | op, dst, 0, 0, imm);
}

static void alu_reg(struct rp_usdt_code *c, const char *name, uint8_t op, int dst, int src)
{
	insn(c, say(c, "%s_REG(R%d, R%d)", name, dst, src), BPF_ALU64 | BPF_X | op, dst, src, 0, 0);
}

static void set(struct rp_usdt_code *c, int dst, int64_t value)
{
	if (value >= INT32_MIN && value <= INT32_MAX) {
		alu(c, "MOV", BPF_MOV, dst, (int32_t)value);
		return;
	}
	put(c,
	    (struct asm_insn){
		    .insn = { .code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = (uint8_t)(dst & 15) },
		    .kind = ASM_LD_IMM64,
		    .text = say(c, "LD_IMM64(R%d, %#llx)", dst, (unsigned long long)value),
		    .value = (uint64_t)value });
}

static void call(struct rp_usdt_code *c, const char *name, int32_t helper)
{
	insn(c, say(c, "CALL(%s)", name), BPF_JMP | BPF_CALL, 0, 0, 0, helper);
}

static void jump(struct rp_usdt_code *c, const char *name, uint8_t op, int dst, int32_t imm,
		 const char *label)
{
	put(c, (struct asm_insn){
		       .insn = { .code = BPF_JMP | BPF_K | op,
				 .dst_reg = (uint8_t)(dst & 15),
				 .imm = imm },
		       .kind = ASM_JUMP,
		       .text = op == BPF_JA ? say(c, "JA(%s)", label)
					    : say(c, "%s(R%d, %d, %s)", name, dst, imm, label),
		       .sym = label });
}

static const char *new_label(struct rp_usdt_code *c)
{
	return say(c, ".usdt_%u", c->labels++);
}

static void label(struct rp_usdt_code *c, const char *name)
{
	put(c,
	    (struct asm_insn){ .kind = ASM_LABEL, .text = say(c, "LABEL(%s)", name), .sym = name });
}

static void open_scope(struct rp_usdt_code *c, const char *text)
{
	put(c, (struct asm_insn){ .kind = ASM_SCOPE, .text = text });
}

static void close_scope(struct rp_usdt_code *c)
{
	put(c, (struct asm_insn){ .kind = ASM_END, .text = "END" });
}

/* ---- one argument */

static int slot_of(const struct rp_usdt_code *c, uint32_t i)
{
	return c->want->values + 8 * (int)i;
}

/* R1 as it is in @arg's type, of which the low bytes are there. */
static void widen_and_store(struct rp_usdt_code *c, const struct rp_usdt_arg *arg, int slot)
{
	const int32_t unused = 64 - 8 * arg->size;

	if (arg->is_signed && unused) {
		alu(c, "LSH", BPF_LSH, 1, unused);
		alu(c, "ARSH", BPF_ARSH, 1, unused);
	}
	store(c, 8, slot, 1);
}

static void from_register(struct rp_usdt_code *c, const struct rp_usdt_arg *arg, int slot)
{
	load(c, arg->size, 1, c->ctx, arg->base + arg->shift / 8);
	widen_and_store(c, arg, slot);
}

/* R1 is added to @dst. */
static void add(struct rp_usdt_code *c, int dst, int64_t value)
{
	if (!value)
		return;
	if (value >= INT32_MIN && value <= INT32_MAX) {
		alu(c, "ADD", BPF_ADD, dst, (int32_t)value);
		return;
	}
	set(c, 1, value);
	alu_reg(c, "ADD", BPF_ADD, dst, 1);
}

static void load_ip(struct rp_usdt_code *c, int dst)
{
	load(c, 8, dst, c->ctx, asm_arch_x86_64.reg[ASM_REG_IP]);
}

static void constant(struct rp_usdt_code *c, const struct rp_usdt_arg *arg, int slot)
{
	const int32_t unused = 64 - 8 * arg->size;

	if (arg->from_ip) {
		load_ip(c, 2);
		add(c, 2, arg->value);
		alu_reg(c, "MOV", BPF_MOV, 1, 2);
		if (unused) {
			alu(c, "LSH", BPF_LSH, 1, unused);
			alu(c, "RSH", BPF_RSH, 1, unused);
		}
		widen_and_store(c, arg, slot);
	} else if (arg->value >= INT32_MIN && arg->value <= INT32_MAX) {
		store_number(c, 8, slot, (int32_t)arg->value);
	} else {
		set(c, 1, arg->value);
		store(c, 8, slot, 1);
	}
}

/* R3 = where it lies. */
static void address(struct rp_usdt_code *c, const struct rp_usdt_arg *arg)
{
	if (arg->base >= 0)
		load(c, 8, 3, c->ctx, arg->base);
	else if (arg->from_ip)
		load_ip(c, 3);
	else
		set(c, 3, 0);
	if (arg->base >= 0 && arg->from_ip) {
		load_ip(c, 1);
		alu_reg(c, "ADD", BPF_ADD, 3, 1);
	}
	if (arg->index >= 0) {
		load(c, arg->index_bits / 8, 1, c->ctx, arg->index);
		if (arg->index_bits == 32 && arg->index_signed) {
			alu(c, "LSH", BPF_LSH, 1, 32);
			alu(c, "ARSH", BPF_ARSH, 1, 32);
		}
		if (arg->scale)
			alu(c, "LSH", BPF_LSH, 1, arg->scale);
		alu_reg(c, "ADD", BPF_ADD, 3, 1);
	}
	add(c, 3, arg->value);
	if (arg->address_bits == 32)
		insn(c, "MOV32_REG(R3, R3)", BPF_ALU | BPF_MOV | BPF_X, 3, 3, 0, 0);
}

/* Bits of the word of what failed. */
static void add_failed(struct rp_usdt_code *c, uint32_t bit)
{
	load(c, 4, 1, c->to, c->want->failed);
	alu(c, "OR", BPF_OR, 1, (int32_t)(1U << bit));
	store(c, 4, c->want->failed, 1);
}

static void to_pointer(struct rp_usdt_code *c, int off, uint32_t size)
{
	alu_reg(c, "MOV", BPF_MOV, 1, c->to);
	alu(c, "ADD", BPF_ADD, 1, off);
	alu(c, "MOV", BPF_MOV, 2, (int32_t)size);
}

/* A page that is not there cannot be waited for here: it has failed, and the helper leaves 0. */
static void from_memory(struct rp_usdt_code *c, const struct rp_usdt_arg *arg, int slot, uint32_t i)
{
	const char *good = new_label(c);

	address(c, arg);
	if (arg->size < 8)
		store_number(c, 8, slot, 0);
	to_pointer(c, slot, arg->size);
	call(c, "probe_read_user", ASM_HELPER_probe_read_user);
	jump(c, "JEQ", BPF_JEQ, 0, 0, good);
	add_failed(c, i);
	label(c, good);
	if (arg->is_signed && arg->size < 8) {
		load(c, arg->size, 1, c->to, slot);
		widen_and_store(c, arg, slot);
	}
}

static void text_of(struct rp_usdt_code *c, uint32_t i)
{
	const struct rp_usdt_reader *want = c->want;
	const int before = __builtin_popcount(want->strings & ((1U << i) - 1));
	const int text = want->texts + before * want->text_size;
	const char *good = new_label(c);

	to_pointer(c, text, want->text_size);
	load(c, 8, 3, c->to, slot_of(c, i));
	call(c, "probe_read_user_str", ASM_HELPER_probe_read_user_str);
	jump(c, "JSGT", BPF_JSGT, 0, 0, good);
	add_failed(c, 16 + i);
	store_number(c, 1, text, 0);
	label(c, good);
}

/* @arg is NULL where the place has none. */
static void argument(struct rp_usdt_code *c, const struct rp_usdt_arg *arg, uint32_t i)
{
	const int slot = slot_of(c, i);

	open_scope(c, arg ? say(c, "argument %u, %.*s", i + 1, (int)arg->length, arg->text)
			  : say(c, "argument %u, which is none", i + 1));
	if (!arg || arg->kind == RP_USDT_UNKNOWN)
		store_number(c, 8, slot, 0);
	else if (arg->kind == RP_USDT_CONSTANT)
		constant(c, arg, slot);
	else if (arg->kind == RP_USDT_REGISTER)
		from_register(c, arg, slot);
	else
		from_memory(c, arg, slot, i);
	if (c->want->strings >> i & 1)
		text_of(c, i);
	close_scope(c);
}

/* ---- places */

static void place(struct rp_usdt_code *c, const struct rp_usdt_args *args)
{
	uint32_t failed = 0;

	for (uint32_t i = 0; i < c->want->nargs; i++) {
		if (i >= args->n || args->arg[i].kind == RP_USDT_UNKNOWN)
			failed |= 1U << i;
	}
	store_number(c, 4, c->want->failed, (int32_t)failed);
	for (uint32_t i = 0; i < c->want->nargs; i++)
		argument(c, i < args->n ? &args->arg[i] : NULL, i);
}

/* R0 is one of [from, from + n). */
static void choose(struct rp_usdt_code *c, uint32_t from, uint32_t n, const char *done)
{
	const char *above;

	if (c->err || c->n > LINES_MOST)
		return;
	if (n == 1) {
		place(c, &c->want->places[from]);
		return;
	}
	above = new_label(c);
	jump(c, "JGE", BPF_JGE, 0, (int32_t)(from + n / 2), above);
	choose(c, from, n / 2, done);
	jump(c, "JA", BPF_JA, 0, 0, done);
	label(c, above);
	choose(c, from + n / 2, n - n / 2, done);
}

/* Behind values that were read before. */
static void make_texts(struct rp_usdt_code *c)
{
	for (uint32_t i = 0; i < c->want->nargs; i++) {
		if (!(c->want->strings >> i & 1))
			continue;
		open_scope(c, say(c, "argument %u, a string", i + 1));
		text_of(c, i);
		close_scope(c);
	}
}

/* A label is the last line, so that there is something to jump to whatever follows the part. */
static void make(struct rp_usdt_code *c)
{
	const char *done = new_label(c);

	open_scope(c, "arguments of the probe");
	choose(c, 0, c->want->n, done);
	if (c->want->n > 1)
		label(c, done);
	close_scope(c);
}

static bool makes_sense(const struct rp_usdt_reader *r)
{
	return r->n && r->places && r->nargs <= RP_USDT_ARGS && r->ctx >= R6 && r->ctx <= R9 &&
	       r->to >= R6 && r->to <= R10 && r->to != r->ctx && (!r->strings || r->text_size > 1);
}

int rp_usdt_compile(const struct rp_usdt_reader *reader, struct rp_usdt_code **out)
{
	struct rp_usdt_code *c;
	int err;

	if (!makes_sense(reader))
		return -EINVAL;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->want = reader;
	c->ctx = ASM_REG_NUMBER(reader->ctx);
	c->to = ASM_REG_NUMBER(reader->to);
	if (reader->texts_only)
		make_texts(c);
	else
		make(c);
	err = c->err ? c->err : c->n > LINES_MOST ? -E2BIG : 0;
	c->want = NULL;
	c->part = (struct asm_part){ .lines = c->lines, .nlines = c->n, .file = "usdt" };
	if (err)
		rp_usdt_code_free(c);
	else
		*out = c;
	return err;
}

const struct asm_part *rp_usdt_part(const struct rp_usdt_code *code)
{
	return &code->part;
}

void rp_usdt_code_free(struct rp_usdt_code *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->ntexts; i++)
		free(c->texts[i]);
	free(c->texts);
	free(c->lines);
	free(c);
}
