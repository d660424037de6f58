/* SPDX-License-Identifier: BSD-2-Clause */
/* Protobuf's wire format, read (protobuf.dev/programming-guides/encoding). */
#include "wire.h"

enum { WIRE_VARINT, WIRE_FIXED64, WIRE_BYTES, WIRE_FIXED32 = 5 };

bool report_wire_varint(struct wire *w, uint64_t *v)
{
	uint64_t value = 0;

	if (w->bad || w->at == w->end)
		return false;
	for (unsigned int shift = 0; shift < 70 && w->at < w->end; shift += 7) {
		const unsigned char byte = *w->at++;

		value |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
		if (!(byte & 0x80)) {
			*v = value;
			return true;
		}
	}
	w->bad = true;
	return false;
}

static bool take_fixed(struct wire *w, unsigned int bytes, uint64_t *v)
{
	*v = 0;
	if ((size_t)(w->end - w->at) < bytes) {
		w->bad = true;
		return false;
	}
	for (unsigned int i = 0; i < bytes; i++)
		*v |= (uint64_t)*w->at++ << 8 * i;
	return true;
}

static bool take_bytes(struct wire *w, struct wire *bytes)
{
	uint64_t n;

	if (!report_wire_varint(w, &n) || n > (uint64_t)(w->end - w->at)) {
		w->bad = true;
		return false;
	}
	*bytes = (struct wire){ .at = w->at, .end = w->at + n };
	w->at += n;
	return true;
}

bool report_wire_next(struct wire *w, struct wire_field *field)
{
	uint64_t tag;
	bool ok = false;

	if (!report_wire_varint(w, &tag))
		return false;
	*field = (struct wire_field){ .number = (uint32_t)(tag >> 3), .bytes = { w->at, w->at } };
	switch (tag & 7) {
	case WIRE_VARINT:
		ok = report_wire_varint(w, &field->value);
		break;
	case WIRE_FIXED64:
		ok = take_fixed(w, 8, &field->value);
		break;
	case WIRE_FIXED32:
		ok = take_fixed(w, 4, &field->value);
		break;
	case WIRE_BYTES:
		field->is_bytes = ok = take_bytes(w, &field->bytes);
		break;
	}
	/* Numbers have 29 bits, and begin with 1. */
	w->bad = w->bad || !ok || !field->number || tag >> 32;
	return !w->bad;
}
