/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the arguments of a USDT probe are: words of "[-]SIZE[f]@OPERAND", the operand as the
 * compiler wrote it for the assembler. The size before the @ says how much of it counts, a minus
 * that it is signed, an f that it is a floating-point number.
 */
#include "loader/internal.h"
#include "usdt.h"

#include <ctype.h>
#include <elf.h>
#include <stdlib.h>

/* ---- pieces of text */

bool rp_usdt_take(struct usdt_text *t, char c)
{
	if (t->at == t->end || *t->at != c)
		return false;
	t->at++;
	return true;
}

bool rp_usdt_number(struct usdt_text *t, uint64_t *out)
{
	char digits[32], *end;
	size_t n = 0;

	while (t->at + n < t->end && n < sizeof(digits) - 1 && isalnum((unsigned char)t->at[n])) {
		digits[n] = t->at[n];
		n++;
	}
	digits[n] = '\0';
	if (!n || !isdigit((unsigned char)digits[0]))
		return false;
	errno = 0;
	*out = strtoull(digits, &end, 0);
	if (*end || errno)
		return false;
	t->at += n;
	return true;
}

size_t rp_usdt_word(struct usdt_text *t, const char **word)
{
	*word = t->at;
	while (t->at < t->end && (isalnum((unsigned char)*t->at) || *t->at == '_' || *t->at == '.'))
		t->at++;
	return (size_t)(t->at - *word);
}

/* ---- one argument */

static const char *read_size(struct usdt_text *t, struct rp_usdt_arg *arg)
{
	uint64_t size = 0;

	arg->is_signed = rp_usdt_take(t, '-');
	while (t->at < t->end && isdigit((unsigned char)*t->at) && size < 1000)
		size = size * 10 + (uint64_t)(*t->at++ - '0');
	arg->is_float = rp_usdt_take(t, 'f');
	if (!size || !rp_usdt_take(t, '@'))
		return "it has no size";
	if (size != 1 && size != 2 && size != 4 && size != 8)
		return "its size is none of 1, 2, 4 and 8 bytes";
	if (arg->is_float && size < 4)
		return "no floating-point number is that small";
	arg->size = (uint8_t)size;
	return NULL;
}

/* A constant is as its type is: -1 of 4 bytes without a sign is 4294967295. */
static int64_t widen(uint64_t value, const struct rp_usdt_arg *arg)
{
	const uint32_t unused = 64 - 8 * arg->size;

	value <<= unused;
	return arg->is_signed ? (int64_t)value >> unused : (int64_t)(value >> unused);
}

static void read_arg(struct usdt_text t, struct rp_usdt_arg *out)
{
	struct rp_usdt_arg arg = { .base = -1, .index = -1, .index_bits = 64, .address_bits = 64 };

	arg.text = t.at;
	arg.length = (uint32_t)(t.end - t.at);
	arg.why = read_size(&t, &arg);
	if (!arg.why) {
		switch (t.place->machine) {
		case EM_X86_64:
		case EM_386:
			arg.why = rp_usdt_operand_x86(&t, &arg);
			break;
		case EM_AARCH64:
			arg.why = rp_usdt_operand_arm64(&t, &arg);
			break;
		default:
			arg.why = "nothing is known of this machine's registers";
		}
	}
	if (arg.why)
		arg.kind = RP_USDT_UNKNOWN;
	if (arg.kind == RP_USDT_CONSTANT && !arg.from_ip)
		arg.value = widen((uint64_t)arg.value, &arg);
	*out = arg;
}

/* ---- all of them */

/* Where the word at @p ends: at a blank that stands in no brackets. */
static const char *word_end(const char *p)
{
	int depth = 0;

	for (; *p && (depth || *p != ' '); p++) {
		if (*p == '(' || *p == '[')
			depth++;
		else if ((*p == ')' || *p == ']') && depth)
			depth--;
	}
	return p;
}

void rp_usdt_parse(const struct rp_usdt_place *place, struct rp_usdt_args *out)
{
	const char *p = place->args, *end;

	memset(out, 0, sizeof(*out));
	for (;; p = end) {
		while (*p == ' ')
			p++;
		if (!*p)
			break;
		end = word_end(p);
		if (out->n < RP_USDT_ARGS)
			read_arg((struct usdt_text){ p, end, place }, &out->arg[out->n]);
		out->n++;
	}
}

static bool is_same(const struct rp_usdt_arg *a, const struct rp_usdt_arg *b)
{
	return a->kind == b->kind && a->size == b->size && a->is_signed == b->is_signed &&
	       a->is_float == b->is_float && a->from_ip == b->from_ip && a->base == b->base &&
	       a->index == b->index && a->shift == b->shift && a->scale == b->scale &&
	       a->index_bits == b->index_bits && a->index_signed == b->index_signed &&
	       a->address_bits == b->address_bits && a->value == b->value;
}

bool rp_usdt_same(const struct rp_usdt_args *a, const struct rp_usdt_args *b)
{
	if (a->n != b->n)
		return false;
	for (uint32_t i = 0; i < a->n && i < RP_USDT_ARGS; i++) {
		if (!is_same(&a->arg[i], &b->arg[i]))
			return false;
	}
	return true;
}
