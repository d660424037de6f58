/* SPDX-License-Identifier: BSD-2-Clause */
/* What an expression of a "print fmt" comes to for a record: a number, or a text. */
#include <string.h>

#include "print_expr.h"

struct record_bytes {
	const unsigned char *record;
	size_t bytes;
};

static bool number_of(const struct print_fmt *p, uint32_t node, const struct record_bytes *r,
		      uint64_t *out);

/* False: there is no number of so many bytes. */
static bool load(const unsigned char *at, uint32_t size, bool is_signed, uint64_t *out)
{
	if (size != 1 && size != 2 && size != 4 && size != 8)
		return false;
	*out = record_load_number(at, size, is_signed);
	return true;
}

static bool binary(int64_t op, uint64_t a, uint64_t b, uint64_t *out)
{
	const int64_t sa = (int64_t)a, sb = (int64_t)b;

	switch (op) {
	case PRINT_BINARY_OP('|', '|'):
		*out = a || b;
		break;
	case PRINT_BINARY_OP('&', '&'):
		*out = a && b;
		break;
	case PRINT_BINARY_OP('=', '='):
		*out = a == b;
		break;
	case PRINT_BINARY_OP('!', '='):
		*out = a != b;
		break;
	case PRINT_BINARY_OP('<', '='):
		*out = sa <= sb;
		break;
	case PRINT_BINARY_OP('>', '='):
		*out = sa >= sb;
		break;
	case PRINT_BINARY_OP('<', 0):
		*out = sa < sb;
		break;
	case PRINT_BINARY_OP('>', 0):
		*out = sa > sb;
		break;
	case PRINT_BINARY_OP('<', '<'):
		*out = b < 64 ? a << b : 0;
		break;
	case PRINT_BINARY_OP('>', '>'):
		*out = b < 64 ? a >> b : 0;
		break;
	case PRINT_BINARY_OP('|', 0):
		*out = a | b;
		break;
	case PRINT_BINARY_OP('^', 0):
		*out = a ^ b;
		break;
	case PRINT_BINARY_OP('&', 0):
		*out = a & b;
		break;
	case PRINT_BINARY_OP('+', 0):
		*out = a + b;
		break;
	case PRINT_BINARY_OP('-', 0):
		*out = a - b;
		break;
	case PRINT_BINARY_OP('*', 0):
		*out = a * b;
		break;
	case PRINT_BINARY_OP('/', 0):
		*out = b ? a / b : 0;
		return b != 0;
	case PRINT_BINARY_OP('%', 0):
		*out = b ? a % b : 0;
		return b != 0;
	default:
		return false;
	}
	return true;
}

static uint64_t cast(uint64_t v, int64_t size)
{
	const uint64_t bits = (uint64_t)(size < 0 ? -size : size) * 8;

	if (!bits || bits == 64)
		return v;
	v &= ~0ull >> (64 - bits);
	return size < 0 && v >> (bits - 1) ? v | ~0ull << bits : v;
}

static bool field_of(const struct print_fmt *p, const struct print_node *n,
		     const struct record_bytes *r, uint64_t *out)
{
	const struct rp_tp_field *f = &p->format->fields[n->value];

	if (!r || (uint64_t)f->offset + f->size > r->bytes)
		return false;
	return load(r->record + f->offset, f->size, f->is_signed, out);
}

static bool choice_of(const struct print_fmt *p, const struct print_node *n,
		      const struct record_bytes *r, uint32_t *out)
{
	uint64_t condition;

	if (!number_of(p, n->a, r, &condition))
		return false;
	*out = condition ? n->b : n->c;
	return true;
}

static bool number_of(const struct print_fmt *p, uint32_t node, const struct record_bytes *r,
		      uint64_t *out)
{
	const struct print_node *n = &p->nodes[node];
	uint64_t a, b;
	uint32_t chosen;

	switch (n->op) {
	case PRINT_NUMBER:
		*out = (uint64_t)n->value;
		return true;
	case PRINT_FIELD:
		return field_of(p, n, r, out);
	case PRINT_CHOICE:
		return choice_of(p, n, r, &chosen) && number_of(p, chosen, r, out);
	case PRINT_BINARY:
		return number_of(p, n->a, r, &a) && number_of(p, n->b, r, &b) &&
		       binary(n->value, a, b, out);
	case PRINT_CAST:
	case PRINT_NEGATE:
	case PRINT_NOT:
	case PRINT_INVERT:
		if (!number_of(p, n->a, r, &a))
			return false;
		*out = n->op == PRINT_CAST     ? cast(a, n->value)
		       : n->op == PRINT_NEGATE ? -a
		       : n->op == PRINT_NOT    ? !a
					       : ~a;
		return true;
	default:
		return false;
	}
}

bool record_print_constant(const struct print_fmt *p, uint32_t node, uint64_t *out)
{
	return number_of(p, node, NULL, out);
}

bool record_print_is_text(const struct print_fmt *p, uint32_t node)
{
	const struct print_node *n = &p->nodes[node];

	if (n->op == PRINT_CHOICE)
		return record_print_is_text(p, n->b) && record_print_is_text(p, n->c);
	return n->op == PRINT_STRING || n->op == PRINT_FLAGS || n->op == PRINT_SYMBOLIC;
}

/*
 * As the kernel does it (trace_print_flags_seq): row by row, each takes its bits away; what is left
 * is a number.
 */
static void put_flags(const struct print_fmt *p, const struct print_node *n, uint64_t flags,
		      struct record_out *out)
{
	bool first = true;

	for (int64_t i = 0; i < n->value && flags; i++) {
		const struct print_row *row = &p->rows[n->b + i];

		if ((flags & row->value) != row->value)
			continue;
		flags &= ~row->value;
		if (!first)
			record_out_str(out, n->str);
		record_out_str(out, row->name);
		first = false;
	}
	if (flags || first) {
		if (!first)
			record_out_str(out, n->str);
		record_out_hex(out, flags);
	}
}

static void put_symbol(const struct print_fmt *p, const struct print_node *n, uint64_t v,
		       struct record_out *out)
{
	for (int64_t i = 0; i < n->value; i++)
		if (p->rows[n->b + i].value == v) {
			record_out_str(out, p->rows[n->b + i].name);
			return;
		}
	record_out_hex(out, v);
}

bool record_print_fmt_text(const struct print_fmt *p, uint32_t expression,
			   const unsigned char *record, size_t bytes, struct record_out *out)
{
	const struct record_bytes r = { record, bytes };
	const struct print_node *n = &p->nodes[expression];
	uint32_t chosen;
	uint64_t v;

	switch (n->op) {
	case PRINT_STRING:
		record_out_str(out, n->str);
		return true;
	case PRINT_CHOICE:
		return choice_of(p, n, &r, &chosen) &&
		       record_print_fmt_text(p, chosen, record, bytes, out);
	case PRINT_FLAGS:
	case PRINT_SYMBOLIC:
		if (!number_of(p, n->a, &r, &v))
			return false;
		if (n->op == PRINT_FLAGS)
			put_flags(p, n, v, out);
		else
			put_symbol(p, n, v, out);
		return true;
	default:
		return false;
	}
}
