/* SPDX-License-Identifier: BSD-2-Clause */
/* Protobuf's wire format. */
#include "proto.h"

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2 };

size_t report_proto_varint(unsigned char out[VARINT_MAX], uint64_t v)
{
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		out[n++] = (unsigned char)(v | 0x80);
	out[n++] = (unsigned char)v;
	return n;
}

void report_proto_add_varint(struct buf *b, uint64_t v)
{
	unsigned char bytes[VARINT_MAX];

	report_buf_add(b, bytes, report_proto_varint(bytes, v));
}

void report_proto_add_value(struct buf *b, unsigned int field, uint64_t v)
{
	report_proto_add_varint(b, (uint64_t)field << 3 | WIRE_VARINT);
	report_proto_add_varint(b, v);
}

void report_proto_add_uint(struct buf *b, unsigned int field, uint64_t v)
{
	if (v)
		report_proto_add_value(b, field, v);
}

void report_proto_add_fixed64(struct buf *b, unsigned int field, uint64_t v)
{
	unsigned char bytes[8];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(v >> 8 * i);
	report_proto_add_varint(b, (uint64_t)field << 3 | WIRE_FIXED64);
	report_buf_add(b, bytes, sizeof(bytes));
}

void report_proto_add_bytes(struct buf *b, unsigned int field, const void *bytes, size_t n)
{
	report_proto_add_varint(b, (uint64_t)field << 3 | WIRE_BYTES);
	report_proto_add_varint(b, n);
	report_buf_add(b, bytes, n);
}

void report_proto_add_message(struct buf *b, unsigned int field, const struct buf *message)
{
	if (!b->err)
		b->err = message->err;
	report_proto_add_bytes(b, field, message->len ? message->s : "", message->len);
}
