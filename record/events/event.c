/* SPDX-License-Identifier: BSD-2-Clause */
/* From a format file to fields: what each is, by its type and by how the kernel prints it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event.h"

/* An enumerator that the format left as a name is in the kernel's BTF. */
static bool enum_value(void *ctx, const char *name, int64_t *out)
{
	const struct rp_btf *btf;

	(void)ctx;
	return !rp_btf_kernel(&btf) && !rp_btf_enum(btf, NULL, name, out);
}

static bool has_word(const char *type, const char *word)
{
	const char *at = strstr(type, word);

	return at && (at == type || at[-1] == ' ');
}

/* Bytes of a number in an array, by its type; 0: it is not one of numbers. */
static uint32_t unit_of(const char *type, const char *bracket)
{
	const size_t n = bracket ? (size_t)(bracket - type) : strlen(type);
	static const struct {
		const char *word;
		uint32_t size;
	} known[] = { { "long long", 8 }, { "64", 8 },	 { "32", 4 },	    { "16", 2 },
		      { "8", 1 },	  { "long", 8 }, { "short", 2 },    { "char", 1 },
		      { "bool", 1 },	  { "int", 4 },	 { "unsigned", 4 }, { "size_t", 8 } };

	if (has_word(type, "struct ") || has_word(type, "union "))
		return 0;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (memmem(type, n, known[i].word, strlen(known[i].word)))
			return known[i].size;
	return 0;
}

static bool is_chars(const char *type)
{
	const char *at = strstr(type, "char");

	return at && !strstr(type, "unsigned char") && !strstr(type, "signed char");
}

static bool is_number_size(uint32_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

static enum record_kind kind_of(const struct record_field *f, const char *bracket)
{
	if (f->data_loc || f->rel_loc || bracket) {
		if (f->hint >= PRINT_IP4)
			return RECORD_BYTES;
		if (is_chars(f->type) && f->unit == 1)
			return RECORD_TEXT;
		return f->unit ? RECORD_NUMBERS : RECORD_BYTES;
	}
	if (!is_number_size(f->size))
		return RECORD_BYTES;
	if (strchr(f->type, '*'))
		return RECORD_POINTER;
	if (!strcmp(f->type, "dev_t") && f->size == 4)
		return RECORD_DEVICE;
	return RECORD_NUMBER;
}

static void describe(const struct rp_tp_field *from, const struct print_field *print,
		     struct record_field *f)
{
	const char *bracket = strrchr(from->type, '[');

	*f = (struct record_field){ .name = from->name,
				    .type = from->type,
				    .hint = print->hint,
				    .offset = from->offset,
				    .size = from->size,
				    .unit = from->size,
				    .is_signed = from->is_signed,
				    .data_loc = from->data_loc,
				    .rel_loc = from->rel_loc,
				    .as_number = print->as_number,
				    .texts = print->texts,
				    .ntexts = print->ntexts };
	if (bracket || f->data_loc || f->rel_loc)
		f->unit = unit_of(from->type, bracket);
	/* The kernel says "signed" of arrays by their elements since 6.1, before that of none. */
	if (bracket && f->unit > 1 && !strchr(f->type, 'u'))
		f->is_signed = true;
	f->kind = kind_of(f, bracket);
}

static int read_fields(struct record_event *e, print_enum_fn value)
{
	const struct rp_tp_format *format = &e->format;
	int err;

	e->print = calloc(format->nfields, sizeof(*e->print));
	e->fields = calloc(format->nfields, sizeof(*e->fields));
	if (!e->print || !e->fields)
		return -ENOMEM;
	err = record_print_fmt_parse(format, value, NULL, e->print, &e->fmt);
	for (uint32_t i = 0; !err && i < format->nfields; i++) {
		const struct rp_tp_field *f = &format->fields[i];

		if (f->offset + f->size > e->bytes)
			e->bytes = f->offset + f->size;
		if (!f->common)
			describe(f, &e->print[i], &e->fields[e->nfields++]);
	}
	return err;
}

/* Takes over what the format holds. */
static int from_format(struct rp_tp_format *format, print_enum_fn value, struct record_event **out)
{
	struct record_event *e = calloc(1, sizeof(*e));
	int err;

	if (!e) {
		rp_tp_format_free(format);
		return -ENOMEM;
	}
	e->format = *format;
	if (asprintf(&e->name, "%s:%s", format->group ? format->group : "?",
		     format->event ? format->event : "?") < 0)
		e->name = NULL;
	err = e->name ? read_fields(e, value) : -ENOMEM;
	if (err)
		record_event_free(e);
	else
		*out = e;
	return err;
}

int record_event_open(const char *group, const char *name, struct record_event **out)
{
	struct rp_tp_format format;
	int err = rp_tp_format(group, name, &format);

	return err ? err : from_format(&format, enum_value, out);
}

int record_event_parse(const char *text, struct record_event **out)
{
	struct rp_tp_format format;
	int err = rp_tp_format_parse(text, &format);

	return err ? err : from_format(&format, NULL, out);
}

void record_event_free(struct record_event *e)
{
	if (!e)
		return;
	record_print_fmt_free(e->fmt);
	rp_tp_format_free(&e->format);
	free(e->print);
	free(e->fields);
	free(e->name);
	free(e);
}

const struct record_field *record_event_field(const struct record_event *e, const char *name)
{
	for (uint32_t i = 0; i < e->nfields; i++)
		if (!strcmp(e->fields[i].name, name))
			return &e->fields[i];
	return NULL;
}
