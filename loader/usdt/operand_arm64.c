/* SPDX-License-Identifier: BSD-2-Clause */
/* Operands of arm64: x0, w3, sp, 5, [sp, 16], [x0], [x1, x2], [x1, w2, sxtw 3]. */
#include "loader/internal.h"
#include "usdt.h"

#include <rawprof/asm.h>

enum { ZERO = -2, SP = 31 };

struct reg {
	int16_t at; /* in pt_regs; ZERO: it is always 0 */
	uint8_t bits;
};

static bool is_word(const char *word, size_t n, const char *name)
{
	return strlen(name) == n && !memcmp(word, name, n);
}

static const struct {
	const char *name;
	struct reg reg;
} named[] = {
	{ "sp", { 248, 64 } },	 { "wsp", { 248, 32 } }, { "xzr", { ZERO, 64 } },
	{ "wzr", { ZERO, 32 } }, { "fp", { 232, 64 } },	 { "lr", { 240, 64 } },
};

static const char *take_reg(struct usdt_text *t, struct reg *out)
{
	struct usdt_text digits;
	uint64_t number;
	const char *word;
	const size_t n = rp_usdt_word(t, &word);

	for (size_t i = 0; i < ARRAY_SIZE(named); i++) {
		if (!is_word(word, n, named[i].name))
			continue;
		*out = named[i].reg;
		return NULL;
	}
	digits = (struct usdt_text){ word + 1, word + n, t->place };
	if (n < 2 || n > 3 || !rp_usdt_number(&digits, &number) || digits.at != digits.end ||
	    (n == 3 && word[1] == '0'))
		return USDT_NOT_UNDERSTOOD;
	if (strchr("bhsdqv", word[0]) && number < 32)
		return USDT_IN_VECTOR;
	if ((word[0] != 'x' && word[0] != 'w') || number >= SP)
		return USDT_NOT_UNDERSTOOD;
	out->at = asm_arch_arm64.dwarf[number];
	out->bits = word[0] == 'x' ? 64 : 32;
	return NULL;
}

static void skip_blanks(struct usdt_text *t)
{
	while (rp_usdt_take(t, ' '))
		;
}

/* With a # before it, or none. */
static bool take_number(struct usdt_text *t, int64_t *out)
{
	const char *from = t->at;
	uint64_t number;
	bool minus;

	rp_usdt_take(t, '#');
	minus = rp_usdt_take(t, '-');
	if (!rp_usdt_number(t, &number)) {
		t->at = from;
		return false;
	}
	*out = (int64_t)(minus ? -number : number);
	return true;
}

/* ---- memory: [BASE], [BASE, NUMBER], [BASE, INDEX], [BASE, INDEX, EXTEND SHIFT] */

/* How the index is widened and shifted, behind its comma. */
static bool take_extend(struct usdt_text *t, const struct reg *index, struct rp_usdt_arg *arg)
{
	const char *word;
	const size_t n = rp_usdt_word(t, &word);
	const bool is_shift = is_word(word, n, "lsl");
	int64_t shift = 0;

	arg->index_signed = is_word(word, n, "sxtw");
	if (index->bits == 64 ? !is_shift && !is_word(word, n, "sxtx")
			      : !arg->index_signed && !is_word(word, n, "uxtw"))
		return false;
	skip_blanks(t);
	if (t->at < t->end && *t->at != ']') {
		if (!take_number(t, &shift) || shift < 0 || shift > 4)
			return false;
	} else if (is_shift) {
		return false;
	}
	arg->scale = (uint8_t)shift;
	return true;
}

static const char *take_index(struct usdt_text *t, struct rp_usdt_arg *arg)
{
	struct reg index;
	const char *why = take_reg(t, &index);

	if (why)
		return why;
	arg->index = index.at;
	arg->index_bits = index.bits;
	skip_blanks(t);
	if (rp_usdt_take(t, ',')) {
		skip_blanks(t);
		if (!take_extend(t, &index, arg))
			return USDT_NOT_UNDERSTOOD;
	} else if (index.bits == 32) {
		return USDT_NOT_UNDERSTOOD; /* how it is widened has to be said */
	}
	if (index.at == ZERO)
		arg->index = -1;
	return NULL;
}

static const char *in_memory(struct usdt_text *t, struct rp_usdt_arg *arg)
{
	struct reg base;
	const char *why;

	skip_blanks(t);
	why = take_reg(t, &base);
	if (why)
		return why;
	if (base.bits != 64 || base.at == ZERO)
		return USDT_NOT_UNDERSTOOD;
	skip_blanks(t);
	if (rp_usdt_take(t, ',')) {
		skip_blanks(t);
		if (!take_number(t, &arg->value))
			why = take_index(t, arg);
		if (why)
			return why;
	}
	skip_blanks(t);
	if (!rp_usdt_take(t, ']') || t->at != t->end)
		return USDT_NOT_UNDERSTOOD;
	arg->kind = RP_USDT_MEMORY;
	arg->base = base.at;
	return NULL;
}

const char *rp_usdt_operand_arm64(struct usdt_text *t, struct rp_usdt_arg *arg)
{
	struct reg r;
	const char *why;

	if (rp_usdt_take(t, '['))
		return in_memory(t, arg);
	if (take_number(t, &arg->value)) {
		arg->kind = RP_USDT_CONSTANT;
		return t->at == t->end ? NULL : USDT_NOT_UNDERSTOOD;
	}
	why = take_reg(t, &r);
	if (why)
		return why;
	if (t->at != t->end)
		return USDT_NOT_UNDERSTOOD;
	arg->kind = r.at == ZERO ? RP_USDT_CONSTANT : RP_USDT_REGISTER;
	arg->base = r.at == ZERO ? -1 : r.at;
	return NULL;
}
