/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The "print fmt" of a tracepoint's format file: how the kernel itself would print the record. What
 * it says of each field is taken from it: which numbers have names (__print_flags,
 * __print_symbolic), and which are addresses, of the kernel or the network.
 */
#ifndef RECORD_PRINT_FMT_H
#define RECORD_PRINT_FMT_H

#include <stdint.h>
#include <string.h>

#include <rawprof/loader.h>

#include "out.h"

/*
 * A number of 1, 2, 4 or 8 bytes of a record, in the machine's order of bytes; sign-extended if it
 * is signed.
 */
static inline uint64_t record_load_number(const unsigned char *at, uint32_t size, bool is_signed)
{
	uint64_t v = 0;

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	memcpy((char *)&v + 8 - size, at, size);
#else
	memcpy(&v, at, size);
#endif
	if (is_signed && size < 8 && v >> (8 * size - 1))
		v |= ~0ull << 8 * size;
	return v;
}

/* What a conversion says of a field that stands there alone. */
enum print_hint {
	PRINT_PLAIN,
	PRINT_HEX,     /* %x */
	PRINT_OCTAL,   /* %o */
	PRINT_CHAR,    /* %c */
	PRINT_SYMBOL,  /* %pS, %ps: the function there */
	PRINT_IP4,     /* %pI4 */
	PRINT_IP6,     /* %pI6c */
	PRINT_ADDRESS, /* %pISpc: a struct sockaddr */
	PRINT_MAC,     /* %pM */
	PRINT_UUID,    /* %pU */
};

struct print_fmt; /* expressions */
#define PRINT_TEXTS 2

/* Of one field; by its number in the format. */
struct print_field {
	enum print_hint hint;
	bool as_number; /* it is printed as a number too */
	/* Texts that stand for it, one behind the other; numbers of expressions. */
	uint32_t texts[PRINT_TEXTS], ntexts;
};

/* The value of a name that the format left as it is, an enumerator; false: not known. */
typedef bool (*print_enum_fn)(void *ctx, const char *name, int64_t *out);

/*
 * Reads format->print. What cannot be made sense of says nothing of its fields. fields has room for
 * format->nfields. 0 or -ENOMEM. Free with record_print_fmt_free().
 */
int record_print_fmt_parse(const struct rp_tp_format *format, print_enum_fn value, void *ctx,
			   struct print_field *fields, struct print_fmt **out);
void record_print_fmt_free(struct print_fmt *p);
/* Appends the text of an expression for this record; false: it cannot be told. */
bool record_print_fmt_text(const struct print_fmt *p, uint32_t expression,
			   const unsigned char *record, size_t bytes, struct record_out *out);

#endif
