/* SPDX-License-Identifier: BSD-2-Clause */
/* Protobuf's wire format, read: never behind the end, whatever the bytes are. */
#ifndef REPORT_READ_WIRE_H
#define REPORT_READ_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A message, or a list of varints, of which @at has been reached. */
struct wire {
	const unsigned char *at, *end;
	bool bad; /* it is none: nothing more comes out of it */
};

struct wire_field {
	uint32_t number;
	bool is_bytes;	   /* a text, a message, packed varints; else value */
	uint64_t value;	   /* fixed-width numbers too */
	struct wire bytes; /* empty unless is_bytes */
};

static inline struct wire wire_of(const void *bytes, size_t n)
{
	return (struct wire){ .at = bytes, .end = (const unsigned char *)bytes + n };
}

/* The next field, or number. False: that was the last one, or what follows makes no sense (bad). */
bool report_wire_next(struct wire *w, struct wire_field *field);
bool report_wire_varint(struct wire *w, uint64_t *v);

#endif
