/* SPDX-License-Identifier: BSD-2-Clause */
/* "print fmt": its conversions, joined with their arguments, and from both what a field is. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "print_expr.h"

/* Behind the end of a string in quotes; `at` points behind its beginning. */
static const char *string_end(const char *at)
{
	while (*at && *at != '"')
		at += *at == '\\' && at[1] ? 2 : 1;
	return *at ? at + 1 : at;
}

/* The comma or the end behind an argument. */
static const char *argument_end(const char *at)
{
	int depth = 0;

	while (*at) {
		if (*at == '"') {
			at = string_end(at + 1);
			continue;
		}
		if (*at == '\'' && at[1] && at[2] == '\'')
			at += 2;
		else if (strchr("({[", *at))
			depth++;
		else if (strchr(")}]", *at))
			depth--;
		else if (*at == ',' && depth <= 0)
			break;
		at++;
	}
	return at;
}

/* ---- conversions */

struct conversion {
	char letter;
	enum print_hint hint;
	unsigned int stars; /* arguments before its own: widths */
	bool glued;	    /* nothing stands between it and the one before */
};

static enum print_hint pointer_hint(const char *behind)
{
	static const struct {
		const char *letters;
		enum print_hint hint;
	} kinds[] = { { "I4", PRINT_IP4 },   { "i4", PRINT_IP4 },     { "I6", PRINT_IP6 },
		      { "i6", PRINT_IP6 },   { "IS", PRINT_ADDRESS }, { "S", PRINT_SYMBOL },
		      { "s", PRINT_SYMBOL }, { "B", PRINT_SYMBOL },   { "M", PRINT_MAC },
		      { "U", PRINT_UUID } };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strncmp(behind, kinds[i].letters, strlen(kinds[i].letters)))
			return kinds[i].hint;
	return PRINT_HEX;
}

/* The next one from *at, which is moved behind it; false: there are no more. */
static bool next_conversion(const char **at, const char *end, struct conversion *out)
{
	const char *c = *at;

	*out = (struct conversion){ .glued = *c == '%' };
	for (;;) {
		while (c < end && *c != '%')
			c++;
		if (c + 1 >= end)
			return false;
		if (c[1] != '%')
			break;
		c += 2;
	}
	for (c++; c < end && strchr("-+ #0123456789.*hljztLq", *c); c++)
		out->stars += *c == '*';
	if (c >= end)
		return false;
	out->letter = *c++;
	*at = c;
	if (out->letter == 'x' || out->letter == 'X')
		out->hint = PRINT_HEX;
	else if (out->letter == 'o')
		out->hint = PRINT_OCTAL;
	else if (out->letter == 'c')
		out->hint = PRINT_CHAR;
	else if (out->letter == 'p')
		out->hint = pointer_hint(c);
	return true;
}

/* ---- what an argument says */

/* The field that it is about; -1: none, -2: several. */
static int only_field(const struct print_fmt *p, uint32_t first, uint32_t last)
{
	int found = -1;

	for (uint32_t i = first; i < last; i++)
		if (p->nodes[i].op == PRINT_FIELD) {
			if (found >= 0 && found != (int)p->nodes[i].value)
				return -2;
			found = (int)p->nodes[i].value;
		}
	return found;
}

/* It is the field itself, behind casts at most. */
static bool is_bare(const struct print_fmt *p, uint32_t node)
{
	while (p->nodes[node].op == PRINT_CAST)
		node = p->nodes[node].a;
	return p->nodes[node].op == PRINT_FIELD;
}

static int take_argument(struct print_fmt *p, const struct conversion *conversion, const char *text,
			 size_t n, print_enum_fn value, void *ctx, struct print_field *fields)
{
	const uint32_t first = p->nnodes;
	int node = record_print_parse(p, text, n, value, ctx);
	struct print_field *f;
	int number;

	if (node <= 0)
		return node;
	number = only_field(p, first, p->nnodes);
	if (number < 0)
		return 0;
	f = &fields[number];
	if (conversion->letter == 's') {
		/* Another text of the same field, that stands elsewhere, is of one bit in it. */
		if (record_print_is_text(p, (uint32_t)node) &&
		    (!f->ntexts || (conversion->glued && f->ntexts < PRINT_TEXTS)))
			f->texts[f->ntexts++] = (uint32_t)node;
	} else {
		f->as_number = true;
		if (is_bare(p, (uint32_t)node) && !f->hint)
			f->hint = conversion->hint;
	}
	return 0;
}

int record_print_fmt_parse(const struct rp_tp_format *format, print_enum_fn value, void *ctx,
			   struct print_field *fields, struct print_fmt **out)
{
	struct print_fmt *p = calloc(1, sizeof(*p));
	const char *at = format->print ? format->print : "", *text, *end;
	struct conversion conversion;
	int err;

	if (!p)
		return -ENOMEM;
	p->format = format;
	memset(fields, 0, format->nfields * sizeof(*fields));
	err = RP_PUSH(p->nodes, p->nnodes, p->nodes_capacity,
		      (struct print_node){ .op = PRINT_OPAQUE });
	while (isspace((unsigned char)*at))
		at++;
	text = end = at;
	if (*at == '"')
		end = at = argument_end(at);
	while (!err && next_conversion(&text, end, &conversion)) {
		for (unsigned int i = 0; i < conversion.stars && *at == ','; i++)
			at = argument_end(at + 1);
		if (*at != ',')
			break;
		const char *const begin = at + 1;

		at = argument_end(begin);
		err = take_argument(p, &conversion, begin, (size_t)(at - begin), value, ctx,
				    fields);
	}
	if (err)
		record_print_fmt_free(p);
	else
		*out = p;
	return err;
}

void record_print_fmt_free(struct print_fmt *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; i < p->nstrings; i++)
		free(p->strings[i]);
	free(p->strings);
	free(p->nodes);
	free(p->rows);
	free(p);
}
