/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes that grow, and a stream that remembers its first error. */
#ifndef REPORT_BUF_H
#define REPORT_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* s[len] is always 0 once something was added. After a failed allocation nothing is added any more
 * and err stays -ENOMEM, so that a run of additions is checked once, at its end. */
struct buf {
	char *s;
	size_t len, cap;
	int err;
};

void report_buf_add(struct buf *b, const void *bytes, size_t n);
void report_buf_puts(struct buf *b, const char *s);
void report_buf_printf(struct buf *b, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Empties it; memory and error are kept; s is a string afterwards if !err. */
void report_buf_reset(struct buf *b);
void report_buf_free(struct buf *b);

/* err is the negative errno of the first write that failed; nothing is written after it. */
struct out {
	FILE *file;
	int err;
	uint64_t written; /* or given up */
	bool in_script;	  /* JSON within HTML: what could end its element is spelt out */
};

void report_out_write(struct out *o, const void *bytes, size_t n);
void report_out_puts(struct out *o, const char *s);
void report_out_putc(struct out *o, char c);
void report_out_u64(struct out *o, uint64_t v);
/* At least so many digits, padded. */
void report_out_hex(struct out *o, uint64_t v, unsigned int digits, char pad);
void report_out_hundredths(struct out *o, double v); /* v >= 0, with two decimals */
void report_out_fill(struct out *o, char c, size_t n);
void report_out_printf(struct out *o, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* An error of the buffer becomes the stream's. */
void report_out_buf(struct out *o, const struct buf *b);
int report_out_end(struct out *o); /* flushes; 0 or the first error */

#endif
