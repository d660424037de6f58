/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tp_format.c: the text of a tracepoint's format file, which says where its fields lie on this very
 * kernel:
 *
 *	name: sched_switch
 *	ID: 316
 *	format:
 *		field:unsigned short common_type;	offset:0;	size:2;	signed:0;
 *
 *		field:char prev_comm[16];	offset:8;	size:16;	signed:0;
 *
 *	print fmt: "…"
 */
#include "internal.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* ";\toffset:8;" and so on: the number after a key, within one line. */
static int number_after(const char *line, const char *end, const char *key, uint32_t *out)
{
	const char *at = memmem(line, (size_t)(end - line), key, strlen(key));
	char *after;
	unsigned long n;

	if (!at || !isdigit((unsigned char)at[strlen(key)]))
		return -EINVAL;
	errno = 0;
	n = strtoul(at + strlen(key), &after, 10);
	if (errno || n > UINT32_MAX || *after != ';')
		return -EINVAL;
	*out = (uint32_t)n;
	return 0;
}

/* Bytes of one element, as far as the spelling of a C type tells; 0 if it does not. */
static uint32_t element_size(const char *type, size_t length)
{
	static const struct {
		const char *word;
		uint32_t size;
	} known[] = {
		{ "*", sizeof(void *) },
		{ "long long", 8 },
		{ "64", 8 },
		{ "32", 4 },
		{ "16", 2 },
		{ "8", 1 },
		{ "long", sizeof(long) },
		{ "short", 2 },
		{ "char", 1 },
		{ "bool", 1 },
		{ "int", 4 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (memmem(type, length, known[i].word, strlen(known[i].word)))
			return known[i].size;
	return 0;
}

/*
 * "unsigned long args[6]": the last name before the brackets is the field's, the rest its type.
 * "__data_loc char[] name" and "const char * name" come apart in the same way.
 */
static int parse_declaration(const char *from, const char *end, struct rp_tp_field *f)
{
	const char *name_end = end, *name, *bracket = NULL, *type_end;
	uint32_t element;

	if (end > from && end[-1] == ']') {
		bracket = memrchr(from, '[', (size_t)(end - from));
		if (!bracket)
			return -EINVAL;
		name_end = bracket;
	}
	for (name = name_end; name > from && is_name(name[-1]); name--)
		;
	for (type_end = name; type_end > from && isspace((unsigned char)type_end[-1]); type_end--)
		;
	if (name == name_end || type_end == from)
		return -EINVAL;
	f->name = strndup(name, (size_t)(name_end - name));
	if (asprintf(&f->type, "%.*s%.*s", (int)(type_end - from), from,
		     bracket ? (int)(end - bracket) : 0, bracket ? bracket : "") < 0)
		f->type = NULL;
	if (!f->name || !f->type)
		return -ENOMEM;
	f->data_loc = !strncmp(f->type, "__data_loc ", 11);
	f->rel_loc = !strncmp(f->type, "__rel_loc ", 10);
	f->common = !strncmp(f->name, "common_", 7);
	/* The number in the brackets may be a macro's name, so the count is taken from the
	 * sizes. */
	element = bracket ? element_size(from, (size_t)(type_end - from)) : 0;
	f->count = element && f->size >= element ? f->size / element : 1;
	return 0;
}

static int parse_field(const char *line, const char *end, struct rp_tp_field *f)
{
	const char *semicolon = memchr(line, ';', (size_t)(end - line));
	uint32_t sign = 0;

	if (!semicolon || number_after(semicolon, end, "offset:", &f->offset) ||
	    number_after(semicolon, end, "size:", &f->size))
		return -EINVAL;
	number_after(semicolon, end, "signed:", &sign);
	f->is_signed = sign;
	return parse_declaration(line, semicolon, f);
}

static int add_field(struct rp_tp_format *format, const char *line, const char *end)
{
	struct rp_tp_field *more = realloc(format->fields, (format->nfields + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	format->fields = more;
	more[format->nfields] = (struct rp_tp_field){ 0 };
	return parse_field(line, end, &more[format->nfields++]);
}

static int parse_line(struct rp_tp_format *format, const char *line, const char *end)
{
	const size_t size = (size_t)(end - line);

	if (size > 4 && !memcmp(line, "ID: ", 4))
		format->id = (uint32_t)strtoul(line + 4, NULL, 10);
	else if (size > 7 && !memcmp(line, "\tfield:", 7))
		return add_field(format, line + 7, end);
	return 0;
}

int rp_tp_format_parse(const char *text, struct rp_tp_format *out)
{
	struct rp_tp_format format = { 0 };
	const char *print = strstr(text, "print fmt: ");
	const char *stop = print ? print : text + strlen(text), *end;
	int err = 0;

	for (const char *line = text; !err && line < stop; line = end + 1) {
		end = memchr(line, '\n', (size_t)(stop - line));
		if (!end)
			end = stop;
		err = parse_line(&format, line, end);
	}
	if (!err && (!format.id || !format.nfields))
		err = -EINVAL;
	if (!err && print) {
		print += strlen("print fmt: ");
		format.print = strndup(print, strcspn(print, "\n"));
		err = format.print ? 0 : -ENOMEM;
	}
	if (err)
		rp_tp_format_free(&format);
	else
		*out = format;
	return err;
}

const struct rp_tp_field *rp_tp_format_field(const struct rp_tp_format *format, const char *field)
{
	for (uint32_t i = 0; i < format->nfields; i++)
		if (!strcmp(format->fields[i].name, field))
			return &format->fields[i];
	return NULL;
}

void rp_tp_format_free(struct rp_tp_format *format)
{
	for (uint32_t i = 0; i < format->nfields; i++) {
		free(format->fields[i].name);
		free(format->fields[i].type);
	}
	free(format->fields);
	free(format->group);
	free(format->event);
	free(format->print);
	*format = (struct rp_tp_format){ 0 };
}
