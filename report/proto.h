/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Protobuf's wire format, as far as pprof, Perfetto and OTLP need it
 * (protobuf.dev/programming-guides/encoding): a message is a run of (field number, value); a value
 * is a varint or bytes with their length in front.
 */
#ifndef REPORT_PROTO_H
#define REPORT_PROTO_H

#include "buf.h"

#define VARINT_MAX 10

size_t report_proto_varint(unsigned char out[VARINT_MAX], uint64_t v); /* its length */

void report_proto_add_varint(struct buf *b, uint64_t v);
void report_proto_add_uint(struct buf *b, unsigned int field,
			   uint64_t v); /* 0 is the default: left out */
void report_proto_add_value(struct buf *b, unsigned int field, uint64_t v); /* 0 as well */
void report_proto_add_fixed64(struct buf *b, unsigned int field, uint64_t v);
void report_proto_add_bytes(struct buf *b, unsigned int field, const void *bytes, size_t n);
void report_proto_add_message(struct buf *b, unsigned int field, const struct buf *message);

#endif
