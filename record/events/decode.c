/* SPDX-License-Identifier: BSD-2-Clause */
/* The value of a field, for people and as JSON. */
#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>

#include "event.h"

bool record_field_data(const struct record_field *f, const unsigned char *record, size_t bytes,
		       const unsigned char **data, size_t *size)
{
	const bool elsewhere = f->data_loc || f->rel_loc; /* and here a word that says where */
	size_t offset = f->offset, length = f->size;

	if (offset > bytes || bytes - offset < length || (elsewhere && length < 4))
		return false;
	if (elsewhere) {
		const uint64_t word = record_load_number(record + offset, 4, false);

		offset = (word & 0xffff) + (f->rel_loc ? offset + 4 : 0);
		length = word >> 16;
		if (offset > bytes)
			return false;
		if (length > bytes - offset) /* cut */
			length = bytes - offset;
	}
	*data = record + offset;
	*size = length;
	return true;
}

bool record_field_number(const struct record_field *f, const unsigned char *record, size_t bytes,
			 uint64_t *out)
{
	if (f->kind != RECORD_NUMBER && f->kind != RECORD_POINTER && f->kind != RECORD_DEVICE)
		return false;
	if (f->offset > bytes || bytes - f->offset < f->size)
		return false;
	*out = record_load_number(record + f->offset, f->size, f->is_signed);
	return true;
}

/* ---- bytes */

static void put_bytes(const unsigned char *data, size_t size, const char *between,
		      struct record_out *out)
{
	for (size_t i = 0; i < size; i++)
		record_out_printf(out, "%s%02x", i ? between : "", data[i]);
}

static void put_uuid(const unsigned char *d, struct record_out *out)
{
	static const unsigned char dash[16] = { [4] = 1, [6] = 1, [8] = 1, [10] = 1 };

	for (int i = 0; i < 16; i++)
		record_out_printf(out, "%s%02x", dash[i] ? "-" : "", d[i]);
}

static void put_ip(int family, const unsigned char *data, struct record_out *out)
{
	char text[INET6_ADDRSTRLEN];

	record_out_str(out, inet_ntop(family, data, text, sizeof(text)) ? text : "?");
}

/* A struct sockaddr, of which the kernel prints address and port. */
static bool put_address(const unsigned char *data, size_t size, struct record_out *out)
{
	const uint16_t family =
		size >= 2 ? (uint16_t)record_load_number(data, 2, false) : AF_UNSPEC;
	const bool six = family == AF_INET6;

	if (!(family == AF_INET && size >= 8) && !(six && size >= 24))
		return false;
	record_out_str(out, six ? "[" : "");
	put_ip(family, data + (six ? 8 : 4), out);
	record_out_printf(out, "%s:%u", six ? "]" : "", data[2] << 8 | data[3]);
	return true;
}

/* Without quotes; of what has no form of its own pairs of hexadecimal digits. */
static void put_special(const struct record_field *f, const unsigned char *data, size_t size,
			struct record_out *out)
{
	if (f->hint == PRINT_IP4 && size == 4)
		put_ip(AF_INET, data, out);
	else if (f->hint == PRINT_IP6 && size == 16)
		put_ip(AF_INET6, data, out);
	else if (f->hint == PRINT_UUID && size == 16)
		put_uuid(data, out);
	else if (f->hint == PRINT_MAC)
		put_bytes(data, size, ":", out);
	else if (f->hint != PRINT_ADDRESS || !put_address(data, size, out))
		put_bytes(data, size, "", out);
}

/* ---- numbers */

static void put_number(const struct record_field *f, uint64_t v, struct record_out *out)
{
	if (f->is_signed)
		record_out_signed(out, (int64_t)v);
	else
		record_out_number(out, v);
}

/* Its names, without quotes; false: it has none. */
static bool put_names(const struct record_event *e, const struct record_field *f,
		      const unsigned char *record, size_t bytes, struct record_out *out)
{
	const size_t before = out->n;

	for (uint32_t i = 0; i < f->ntexts; i++)
		if (!record_print_fmt_text(e->fmt, f->texts[i], record, bytes, out)) {
			out->n = before;
			return false;
		}
	return out->n > before;
}

static bool put_symbol(const struct record_field *f, uint64_t v,
		       const struct record_symbols *symbols, struct record_out *out)
{
	return f->hint == PRINT_SYMBOL && symbols && symbols->name &&
	       symbols->name(symbols->ctx, v, out);
}

static void put_array(const struct record_field *f, const unsigned char *data, size_t size,
		      bool json, struct record_out *out)
{
	const bool hex = f->hint == PRINT_HEX && !json;

	record_out_char(out, '[');
	for (size_t at = 0; at + f->unit <= size; at += f->unit) {
		const uint64_t v = record_load_number(data + at, f->unit, f->is_signed);

		if (at)
			record_out_char(out, ',');
		if (hex)
			record_out_hex(out, v);
		else
			put_number(f, v, out);
	}
	record_out_char(out, ']');
}

/* ---- all of them */

static void number_text(const struct record_event *e, const struct record_field *f,
			const unsigned char *record, size_t bytes,
			const struct record_symbols *symbols, struct record_out *out)
{
	const uint64_t v = record_load_number(record + f->offset, f->size, f->is_signed);
	const uint64_t bits = f->size < 8 ? v & ((1ull << 8 * f->size) - 1) : v;

	if (put_names(e, f, record, bytes, out)) {
		if (f->as_number) {
			record_out_char(out, '(');
			put_number(f, v, out);
			record_out_char(out, ')');
		}
	} else if (f->kind == RECORD_DEVICE) {
		record_out_printf(out, "%u:%u", (unsigned int)(v >> 20),
				  (unsigned int)(v & 0xfffff));
	} else if (put_symbol(f, v, symbols, out)) {
		return;
	} else if (f->hint == PRINT_CHAR && v >= ' ' && v < 0x7f) {
		record_out_printf(out, "'%c'", (int)v);
	} else if (f->hint == PRINT_OCTAL) {
		record_out_printf(out, "0%llo", (unsigned long long)bits);
	} else if (f->kind == RECORD_POINTER || f->hint == PRINT_HEX) {
		record_out_hex(out, bits);
	} else if (f->hint == PRINT_IP4 && f->size == 4) {
		put_ip(AF_INET, record + f->offset, out);
	} else {
		put_number(f, v, out);
	}
}

void record_field_text(const struct record_event *e, const struct record_field *f,
		       const unsigned char *record, size_t bytes,
		       const struct record_symbols *symbols, struct record_out *out)
{
	const unsigned char *data;
	size_t size;

	if (!record_field_data(f, record, bytes, &data, &size)) {
		record_out_char(out, '?');
		return;
	}
	switch (f->kind) {
	case RECORD_TEXT:
		record_out_quoted(out, (const char *)data, size);
		break;
	case RECORD_NUMBERS:
		put_array(f, data, size, false, out);
		break;
	case RECORD_BYTES:
		put_special(f, data, size, out);
		break;
	default:
		number_text(e, f, record, bytes, symbols, out);
	}
}

/* What number_text() says in words, in quotes. */
static void json_number(const struct record_event *e, const struct record_field *f,
			const unsigned char *record, size_t bytes,
			const struct record_symbols *symbols, struct record_out *out)
{
	const uint64_t v = record_load_number(record + f->offset, f->size, f->is_signed);
	struct record_out text = { 0 };

	if (f->kind == RECORD_DEVICE)
		record_out_printf(&text, "%u:%u", (unsigned int)(v >> 20),
				  (unsigned int)(v & 0xfffff));
	else if (!put_names(e, f, record, bytes, &text) && !put_symbol(f, v, symbols, &text)) {
		if (f->kind == RECORD_POINTER)
			record_out_hex(&text, v);
		else if (f->hint == PRINT_IP4 && f->size == 4)
			put_ip(AF_INET, record + f->offset, &text);
	}
	out->failed = out->failed || text.failed;
	if (text.n)
		record_out_json(out, text.text, text.n);
	else
		put_number(f, v, out);
	record_out_free(&text);
}

void record_field_json(const struct record_event *e, const struct record_field *f,
		       const unsigned char *record, size_t bytes,
		       const struct record_symbols *symbols, struct record_out *out)
{
	const unsigned char *data;
	size_t size;

	if (!record_field_data(f, record, bytes, &data, &size)) {
		record_out_str(out, "null");
		return;
	}
	switch (f->kind) {
	case RECORD_TEXT:
		record_out_json(out, (const char *)data, size);
		break;
	case RECORD_NUMBERS:
		put_array(f, data, size, true, out);
		break;
	case RECORD_BYTES:
		record_out_char(out, '"');
		put_special(f, data, size, out);
		record_out_char(out, '"');
		break;
	default:
		json_number(e, f, record, bytes, symbols, out);
	}
}
