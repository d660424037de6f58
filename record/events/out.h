/* SPDX-License-Identifier: BSD-2-Clause */
/* A line that is put together: text that grows, and what strangers wrote made printable. */
#ifndef RECORD_OUT_H
#define RECORD_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All 0: empty. Once there is no memory nothing more is added, and failed is set. */
struct record_out {
	char *text;
	size_t n, capacity;
	bool failed;
};

void record_out_bytes(struct record_out *o, const char *s, size_t n);
void record_out_str(struct record_out *o, const char *s);
void record_out_char(struct record_out *o, char c);
void record_out_number(struct record_out *o, uint64_t v);
void record_out_signed(struct record_out *o, int64_t v);
void record_out_hex(struct record_out *o, uint64_t v); /* 0x1f */
void record_out_printf(struct record_out *o, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Up to a NUL, at most n bytes, in double quotes: for a terminal, and as a string of JSON. */
void record_out_quoted(struct record_out *o, const char *s, size_t n);
void record_out_json(struct record_out *o, const char *s, size_t n);
void record_out_free(struct record_out *o);

#endif
