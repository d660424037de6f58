/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operands of x86 in AT&T's notation: %eax, $-5, -16(%rbp), (%rdi,%rsi,4), counter+8(%rip). Signs
 * and sums of numbers, and one symbol.
 */
#include "loader/internal.h"
#include "usdt.h"

#include <rawprof/asm.h>

#include <ctype.h>
#include <elf.h>
#include <stdlib.h>

/* ---- registers */

/* By the numbers of the psABI, as asm_arch_x86_64.dwarf has them: rax rdx rcx rbx rsi rdi rbp rsp.
 * A name is that of 64, 32, 16 or 8 bits, or of the second 8. */
static const char *const names[8][5] = {
	{ "rax", "eax", "ax", "al", "ah" },  { "rdx", "edx", "dx", "dl", "dh" },
	{ "rcx", "ecx", "cx", "cl", "ch" },  { "rbx", "ebx", "bx", "bl", "bh" },
	{ "rsi", "esi", "si", "sil", NULL }, { "rdi", "edi", "di", "dil", NULL },
	{ "rbp", "ebp", "bp", "bpl", NULL }, { "rsp", "esp", "sp", "spl", NULL },
};
static const uint8_t widths[5] = { 64, 32, 16, 8, 8 };

struct reg {
	int16_t at; /* in pt_regs */
	uint8_t bits, shift;
	bool is_ip;
};

static bool is_word(const char *word, size_t n, const char *name)
{
	return name && strlen(name) == n && !memcmp(word, name, n);
}

/* r8 to r15, with d, w, b or l behind it. */
static bool find_numbered(const char *word, size_t n, struct reg *out)
{
	char digits[3] = "";
	unsigned long number;
	char suffix = '\0';

	if (n < 2 || n > 4 || word[0] != 'r' || word[1] < '1' || word[1] > '9')
		return false;
	digits[0] = word[1];
	if (n > 2 && word[2] >= '0' && word[2] <= '9')
		digits[1] = word[2];
	else if (n > 2)
		suffix = word[2];
	if (n == 4 && (suffix || !digits[1]))
		return false;
	if (n == 4)
		suffix = word[3];
	number = strtoul(digits, NULL, 10);
	if (number < 8 || number > 15 || (suffix && !strchr("dwbl", suffix)))
		return false;
	out->at = asm_arch_x86_64.dwarf[number];
	out->bits = !suffix ? 64 : suffix == 'd' ? 32 : suffix == 'w' ? 16 : 8;
	return true;
}

/* Behind the %. */
static bool find_reg(const char *word, size_t n, struct reg *out)
{
	*out = (struct reg){ .at = -1 };
	if (is_word(word, n, "rip")) {
		out->is_ip = true;
		out->bits = 64;
		return true;
	}
	for (int r = 0; r < 8; r++) {
		for (int k = 0; k < 5; k++) {
			if (!is_word(word, n, names[r][k]))
				continue;
			out->at = asm_arch_x86_64.dwarf[r];
			out->bits = widths[k];
			out->shift = k == 4 ? 8 : 0;
			return true;
		}
	}
	return find_numbered(word, n, out);
}

static const char *unknown_reg(const char *word, size_t n)
{
	static const char *const vector[] = { "xmm", "ymm", "zmm", "mm" };

	for (size_t i = 0; i < ARRAY_SIZE(vector); i++) {
		const size_t length = strlen(vector[i]);

		if (n > length && !memcmp(word, vector[i], length))
			return USDT_IN_VECTOR;
	}
	if (is_word(word, n, "st"))
		return "it is in a floating-point register, and probes see none of those";
	if (n == 2 && word[1] == 's')
		return "it is in a segment (a variable of the thread), which probes do not find";
	return USDT_NOT_UNDERSTOOD;
}

static const char *take_reg(struct usdt_text *t, struct reg *out)
{
	const char *word;
	const size_t n = rp_usdt_word(t, &word);

	return find_reg(word, n, out) ? NULL : unknown_reg(word, n);
}

static const char *in_register(struct usdt_text *t, struct rp_usdt_arg *arg)
{
	struct reg r;
	const char *why = take_reg(t, &r);

	if (why)
		return why;
	if (r.is_ip || t->at != t->end || (r.shift && arg->size > 1))
		return USDT_NOT_UNDERSTOOD;
	if (t->place->machine == EM_386 && arg->size == 8)
		return "it is in two registers, of which one is named";
	arg->kind = RP_USDT_REGISTER;
	arg->base = r.at;
	arg->shift = r.shift;
	return NULL;
}

/* ---- sums */

struct sum {
	bool any, has_symbol;
	uint64_t number, symbol;
};

static const char *add_symbol(struct usdt_text *t, bool minus, struct sum *sum)
{
	char name[256];
	const char *word;
	const size_t n = rp_usdt_word(t, &word);
	int err;

	if (!n || isdigit((unsigned char)*word) || minus || sum->has_symbol || n >= sizeof(name))
		return USDT_NOT_UNDERSTOOD;
	if (t->at < t->end && *t->at == '@')
		return "it is found through a table of the dynamic linker";
	memcpy(name, word, n);
	name[n] = '\0';
	err = t->place->variable ? t->place->variable(t->place->ctx, name, &sum->symbol) : -ENOENT;
	if (err == -ENOTUNIQ)
		return "several variables have the name of the one that it is in";
	if (err)
		return "the file has no symbol for the variable that it is in";
	sum->has_symbol = true;
	return NULL;
}

/* Up to a bracket or the end. */
static const char *take_sum(struct usdt_text *t, struct sum *sum)
{
	const char *why;

	*sum = (struct sum){ 0 };
	while (t->at < t->end && *t->at != '(') {
		const bool minus = rp_usdt_take(t, '-');
		uint64_t number;

		if (!minus && !rp_usdt_take(t, '+') && sum->any)
			return USDT_NOT_UNDERSTOOD;
		sum->any = true;
		if (rp_usdt_number(t, &number)) {
			sum->number += minus ? -number : number;
			continue;
		}
		why = add_symbol(t, minus, sum);
		if (why)
			return why;
	}
	return NULL;
}

/* The probe is at place->vaddr, so the variable is as far from it wherever the file is mapped. */
static void set_value(const struct usdt_text *t, const struct sum *sum, struct rp_usdt_arg *arg)
{
	arg->value = (int64_t)sum->number;
	arg->from_ip = sum->has_symbol;
	if (sum->has_symbol)
		arg->value += (int64_t)(sum->symbol - t->place->vaddr);
}

static const char *constant(struct usdt_text *t, struct rp_usdt_arg *arg)
{
	struct sum sum;
	const char *why = take_sum(t, &sum);

	if (why)
		return why;
	if (!sum.any || t->at != t->end)
		return USDT_NOT_UNDERSTOOD;
	arg->kind = RP_USDT_CONSTANT;
	set_value(t, &sum, arg);
	return NULL;
}

/* ---- memory: DISPLACEMENT(BASE,INDEX,SCALE) */

static const char *take_index(struct usdt_text *t, struct rp_usdt_arg *arg, struct reg *index)
{
	uint64_t scale = 1;
	const char *why;

	if (!rp_usdt_take(t, '%'))
		return USDT_NOT_UNDERSTOOD;
	why = take_reg(t, index);
	if (why)
		return why;
	if (rp_usdt_take(t, ',') && !rp_usdt_number(t, &scale))
		return USDT_NOT_UNDERSTOOD;
	if (index->is_ip || scale > 8 || !scale || scale & (scale - 1))
		return USDT_NOT_UNDERSTOOD;
	arg->index = index->at;
	arg->scale = (uint8_t)__builtin_ctzll(scale);
	return NULL;
}

static const char *take_address(struct usdt_text *t, const struct sum *sum, struct rp_usdt_arg *arg)
{
	struct reg base = { .at = -1 }, index = { .at = -1 };
	const char *why;

	if (rp_usdt_take(t, '%')) {
		why = take_reg(t, &base);
		if (why)
			return why;
	}
	if (rp_usdt_take(t, ',')) {
		why = take_index(t, arg, &index);
		if (why)
			return why;
	}
	if (!rp_usdt_take(t, ')') || t->at != t->end || (!base.bits && !index.bits) ||
	    (base.bits && base.bits < 32) || (index.bits && index.bits < 32) ||
	    (base.bits && index.bits && base.bits != index.bits))
		return USDT_NOT_UNDERSTOOD;
	/* A number alone would be counted from the end of an instruction, and there is none. */
	if (base.is_ip && (!sum->has_symbol || index.bits))
		return USDT_NOT_UNDERSTOOD;
	arg->base = base.at;
	if (base.bits == 32 || index.bits == 32)
		arg->address_bits = 32;
	return NULL;
}

static const char *in_memory(struct usdt_text *t, struct rp_usdt_arg *arg)
{
	struct sum sum;
	const char *why = take_sum(t, &sum);

	if (why)
		return why;
	if (rp_usdt_take(t, '('))
		why = take_address(t, &sum, arg);
	else if (!sum.has_symbol)
		why = USDT_NOT_UNDERSTOOD; /* a number: no variable lies there */
	if (why)
		return why;
	if (t->place->machine == EM_386)
		arg->address_bits = 32;
	arg->kind = RP_USDT_MEMORY;
	set_value(t, &sum, arg);
	return NULL;
}

const char *rp_usdt_operand_x86(struct usdt_text *t, struct rp_usdt_arg *arg)
{
	if (rp_usdt_take(t, '%'))
		return in_register(t, arg);
	if (rp_usdt_take(t, '$'))
		return constant(t, arg);
	return in_memory(t, arg);
}
