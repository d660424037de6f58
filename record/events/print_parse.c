/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An argument of a "print fmt" is an expression of C, with macros that are the kernel's own:
 *
 *	REC->vec, __print_symbolic(REC->vec, { 0, "HI" }, { 1, "TIMER" })
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "print_expr.h"

#define MAX_DEPTH 200  /* of parentheses and operators within each other */
#define MAX_NODES 4096 /* of one argument, which is evaluated by recursion */

struct parser {
	struct print_fmt *p;
	const char *at, *end;
	print_enum_fn value;
	void *ctx;
	uint32_t first; /* of its nodes */
	int depth;
	int err;     /* -ENOMEM */
	bool failed; /* what follows is not understood */
};

static uint32_t expression(struct parser *s);

static uint32_t add_node(struct parser *s, struct print_node node)
{
	struct print_fmt *p = s->p;

	if (p->nnodes - s->first > MAX_NODES)
		s->failed = true;
	if (s->failed)
		return 0;
	if (RP_PUSH(p->nodes, p->nnodes, p->nodes_capacity, node)) {
		s->err = -ENOMEM;
		s->failed = true;
		return 0;
	}
	return p->nnodes - 1;
}

static uint32_t give_up(struct parser *s)
{
	s->failed = true;
	return 0; /* the first node is opaque */
}

/* ---- words */

static void skip_blanks(struct parser *s)
{
	while (s->at < s->end && isspace((unsigned char)*s->at))
		s->at++;
}

static bool take(struct parser *s, const char *word)
{
	const size_t n = strlen(word);

	skip_blanks(s);
	if ((size_t)(s->end - s->at) < n || memcmp(s->at, word, n) != 0)
		return false;
	s->at += n;
	return true;
}

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* The name that stands here; 0 bytes: none. */
static size_t name_length(const struct parser *s)
{
	size_t n = 0;

	if (s->at < s->end && isdigit((unsigned char)*s->at))
		return 0;
	while (s->at + n < s->end && is_name(s->at[n]))
		n++;
	return n;
}

/* A copy that lives as long as the expressions. */
static char *keep(struct parser *s, const char *text, size_t n)
{
	struct print_fmt *p = s->p;
	char *copy = strndup(text, n);

	if (copy && RP_PUSH(p->strings, p->nstrings, p->strings_capacity, copy)) {
		free(copy);
		copy = NULL;
	}
	if (!copy) {
		s->err = -ENOMEM;
		s->failed = true;
	}
	return copy;
}

/* "..." and what is glued to it, without escapes but for quotes and backslashes. */
static char *take_string(struct parser *s)
{
	char *text = NULL, *to;

	if (!take(s, "\""))
		return NULL;
	text = keep(s, s->at, (size_t)(s->end - s->at));
	if (!text)
		return NULL;
	to = text;
	do {
		while (s->at < s->end && *s->at != '"') {
			if (*s->at == '\\' && s->at + 1 < s->end)
				s->at++;
			*to++ = *s->at++;
		}
		if (s->at++ >= s->end) {
			s->at = s->end;
			s->failed = true;
			break;
		}
	} while (take(s, "\""));
	*to = '\0';
	return text;
}

/* ---- types */

static bool is_type_word(const char *word, size_t n)
{
	static const char *const words[] = { "unsigned", "signed", "long",  "int",   "short",
					     "char",	 "void",   "bool",  "const", "struct",
					     "enum",	 "union",  "u8",    "u16",   "u32",
					     "u64",	 "s8",	   "s16",   "s32",   "s64",
					     "__u8",	 "__u16",  "__u32", "__u64", "__s8",
					     "__s16",	 "__s32",  "__s64" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i]) == n && !memcmp(words[i], word, n))
			return true;
	return n > 2 && !memcmp(word + n - 2, "_t", 2);
}

/* Bytes of a type, below 0 if it is signed; 0: not known, or a struct. */
static int64_t type_size(const char *type, size_t n)
{
	const bool is_unsigned = memmem(type, n, "unsigned", 8) || memmem(type, n, "u", 1);
	int64_t size = 0;

	if (memchr(type, '*', n))
		return 8;
	if (memmem(type, n, "64", 2) || memmem(type, n, "long", 4) || memmem(type, n, "size_t", 6))
		size = 8;
	else if (memmem(type, n, "32", 2) || memmem(type, n, "int", 3))
		size = 4;
	else if (memmem(type, n, "16", 2) || memmem(type, n, "short", 5))
		size = 2;
	else if (memmem(type, n, "8", 1) || memmem(type, n, "char", 4) ||
		 memmem(type, n, "bool", 4))
		size = 1;
	else if (memmem(type, n, "unsigned", 8))
		size = 4;
	return is_unsigned ? size : -size;
}

/* "(unsigned long)": behind an open parenthesis; the position is left alone if it is none. */
static bool take_type(struct parser *s, int64_t *size)
{
	const char *const begin = s->at;
	const char *close = memchr(begin, ')', (size_t)(s->end - begin));
	bool first = true;

	while (close && s->at < close) {
		skip_blanks(s);
		const size_t n = name_length(s);

		if (n && (!first || is_type_word(s->at, n)))
			s->at += n;
		else if (!first && *s->at == '*')
			s->at++;
		else if (s->at < close)
			break;
		first = false;
	}
	if (!close || s->at != close || first) {
		s->at = begin;
		return false;
	}
	*size = type_size(begin, (size_t)(close - begin));
	s->at++;
	return true;
}

/* ---- what operators stand between */

static uint32_t number(struct parser *s)
{
	char *end;
	int64_t value;

	errno = 0;
	value = (int64_t)strtoull(s->at, &end, 0);
	if (errno || end > s->end)
		return give_up(s);
	while (end < s->end && strchr("uUlL", *end))
		end++;
	s->at = end;
	return add_node(s, (struct print_node){ .op = PRINT_NUMBER, .value = value });
}

static uint32_t field(struct parser *s)
{
	const struct rp_tp_format *format = s->p->format;
	size_t n;

	if (!take(s, "->"))
		return give_up(s);
	n = name_length(s);
	for (uint32_t i = 0; n && i < format->nfields; i++)
		if (strlen(format->fields[i].name) == n &&
		    !memcmp(format->fields[i].name, s->at, n)) {
			s->at += n;
			skip_blanks(s);
			if (s->at < s->end && (*s->at == '[' || *s->at == '.' || *s->at == '-'))
				if (*s->at != '-' || (s->at + 1 < s->end && s->at[1] == '>'))
					return give_up(s);
			return add_node(s, (struct print_node){ .op = PRINT_FIELD, .value = i });
		}
	return give_up(s);
}

/* { value, "name" }; one whose value is not known is left out. */
static bool row(struct parser *s)
{
	struct print_fmt *p = s->p;
	struct print_row new = { 0 };
	const uint32_t nodes = s->p->nnodes;
	const int depth = s->depth;
	uint32_t node;
	bool known;

	if (!take(s, "{"))
		return false;
	node = expression(s);
	known = !s->failed && record_print_constant(p, node, &new.value);
	p->nnodes = nodes;	    /* the number is all that is left of it */
	if (s->failed && !s->err) { /* an enumerator that nobody knows */
		s->failed = false;
		s->depth = depth;
		while (s->at < s->end && *s->at != ',' && *s->at != '}')
			s->at++;
	}
	if (!take(s, ","))
		return false;
	new.name = take_string(s);
	if (!new.name && !s->failed) { /* NULL ends some tables */
		expression(s);
		known = false;
	}
	if (s->failed || !take(s, "}"))
		return false;
	return !known || !RP_PUSH(p->rows, p->nrows, p->rows_capacity, new);
}

/* Behind the parenthesis of __print_flags() or __print_symbolic(). */
static uint32_t table(struct parser *s, enum print_op op)
{
	struct print_node node = { .op = op, .str = "" };
	const uint32_t first = s->p->nrows;

	node.a = expression(s);
	if (op == PRINT_FLAGS && !s->failed) {
		node.str = take(s, ",") ? take_string(s) : NULL;
		if (!node.str)
			return give_up(s);
	}
	while (!s->failed && take(s, ","))
		if (!row(s))
			return give_up(s);
	if (s->failed || !take(s, ")"))
		return give_up(s);
	node.b = first;
	node.value = s->p->nrows - first;
	return add_node(s, node);
}

/* A name: REC, a macro of the kernel, an enumerator. */
static uint32_t word(struct parser *s, size_t n)
{
	static const struct {
		const char *name;
		enum print_op op;
	} macros[] = { { "__print_flags", PRINT_FLAGS },
		       { "__print_flags_u64", PRINT_FLAGS },
		       { "__print_symbolic", PRINT_SYMBOLIC },
		       { "__print_symbolic_u64", PRINT_SYMBOLIC } };
	char name[128];
	int64_t value;

	if (n >= sizeof(name))
		return give_up(s);
	memcpy(name, s->at, n);
	name[n] = '\0';
	s->at += n;
	if (!strcmp(name, "REC"))
		return field(s);
	if (!take(s, "("))
		return s->value && s->value(s->ctx, name, &value)
			       ? add_node(s,
					  (struct print_node){ .op = PRINT_NUMBER, .value = value })
			       : give_up(s);
	for (size_t i = 0; i < sizeof(macros) / sizeof(macros[0]); i++)
		if (!strcmp(name, macros[i].name))
			return table(s, macros[i].op);
	return give_up(s);
}

static uint32_t primary(struct parser *s)
{
	uint32_t inner;
	size_t n;

	skip_blanks(s);
	if (s->at >= s->end)
		return give_up(s);
	if (isdigit((unsigned char)*s->at))
		return number(s);
	if (*s->at == '"') {
		const char *text = take_string(s);

		return text ? add_node(s, (struct print_node){ .op = PRINT_STRING, .str = text })
			    : give_up(s);
	}
	if (*s->at == '\'' && s->end - s->at > 2 && s->at[1] != '\\' && s->at[2] == '\'') {
		s->at += 3;
		return add_node(s, (struct print_node){ .op = PRINT_NUMBER, .value = s->at[-2] });
	}
	if (take(s, "(")) {
		inner = expression(s);
		return take(s, ")") ? inner : give_up(s);
	}
	n = name_length(s);
	return n ? word(s, n) : give_up(s);
}

static uint32_t unary(struct parser *s)
{
	static const struct {
		const char *sign;
		enum print_op op;
	} signs[] = { { "-", PRINT_NEGATE }, { "!", PRINT_NOT }, { "~", PRINT_INVERT } };
	const char *const begin = s->at;
	int64_t size;

	if (s->depth++ > MAX_DEPTH)
		return give_up(s);
	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
		if (take(s, signs[i].sign)) {
			const uint32_t a = unary(s);

			s->depth--;
			return add_node(s, (struct print_node){ .op = signs[i].op, .a = a });
		}
	if (take(s, "(") && take_type(s, &size)) {
		const uint32_t a = unary(s);

		s->depth--;
		return add_node(s, (struct print_node){ .op = PRINT_CAST, .a = a, .value = size });
	}
	s->at = begin;
	s->depth--;
	return primary(s);
}

/* ---- operators between two, those that bind least first */

static const struct {
	const char *sign;
	int level;
} operators[] = { { "||", 0 }, { "&&", 1 }, { "==", 5 }, { "!=", 5 }, { "<=", 6 }, { ">=", 6 },
		  { "<<", 7 }, { ">>", 7 }, { "|", 2 },	 { "^", 3 },  { "&", 4 },  { "<", 6 },
		  { ">", 6 },  { "+", 8 },  { "-", 8 },	 { "*", 9 },  { "/", 9 },  { "%", 9 } };

static const char *take_operator(struct parser *s, int least, int *level)
{
	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
		if (!take(s, operators[i].sign))
			continue;
		if (operators[i].level >= least) {
			*level = operators[i].level;
			return operators[i].sign;
		}
		s->at -= strlen(operators[i].sign);
		return NULL;
	}
	return NULL;
}

static uint32_t binary(struct parser *s, int least)
{
	uint32_t left = unary(s);
	const char *sign;
	int level;

	while (!s->failed && (sign = take_operator(s, least, &level))) {
		struct print_node node = { .op = PRINT_BINARY,
					   .a = left,
					   .value = PRINT_BINARY_OP(sign[0], sign[1]) };

		if (s->depth++ > MAX_DEPTH)
			return give_up(s);
		node.b = binary(s, level + 1);
		s->depth--;
		left = add_node(s, node);
	}
	return left;
}

static uint32_t expression(struct parser *s)
{
	struct print_node node = { .op = PRINT_CHOICE };

	if (s->depth++ > MAX_DEPTH)
		return give_up(s);
	node.a = binary(s, 0);
	if (!s->failed && take(s, "?")) {
		node.b = expression(s);
		node.c = !s->failed && take(s, ":") ? expression(s) : give_up(s);
		node.a = add_node(s, node);
	}
	s->depth--;
	return node.a;
}

int record_print_parse(struct print_fmt *p, const char *text, size_t n, print_enum_fn value,
		       void *ctx)
{
	struct parser s = {
		.p = p, .at = text, .end = text + n, .value = value, .ctx = ctx, .first = p->nnodes
	};
	uint32_t node = expression(&s);

	skip_blanks(&s);
	if (s.err)
		return s.err;
	return s.failed || s.at != s.end ? 0 : (int)node;
}
