/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers and texts in a saved file, to and fro. */
#include <string.h>

#include "saved.h"

/* Small numbers of either sign are short. */
void report_put_signed(struct buf *b, int64_t v)
{
	report_proto_add_varint(b, (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0));
}

/* All bits of it: 99.9 comes back as the same number. */
void report_put_double(struct buf *b, double v)
{
	unsigned char bytes[8];
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	for (int i = 0; i < 8; i++)
		bytes[i] = (unsigned char)(bits >> 8 * i);
	report_buf_add(b, bytes, sizeof(bytes));
}

/* Its length + 1, 0 for NULL; the NUL is there so that a reader need not copy it. */
void report_put_text(struct buf *b, const char *text)
{
	size_t n = text ? strlen(text) + 1 : 0;

	report_proto_add_varint(b, n);
	if (n)
		report_buf_add(b, text, n);
}

static uint64_t bad(struct saved_input *in)
{
	in->bad = true;
	in->at = in->end;
	return 0;
}

uint64_t report_get_number(struct saved_input *in)
{
	uint64_t v = 0;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		unsigned char byte;

		if (in->at == in->end)
			return bad(in);
		byte = *in->at++;
		v |= (uint64_t)(byte & 0x7f) << shift;
		/* One number has one form: no zeroes in front, and no bits beyond the 64th. */
		if (!(byte & 0x80))
			return (!byte && shift) || (shift == 63 && byte > 1) ? bad(in) : v;
	}
	return bad(in);
}

uint64_t report_get_below_wide(struct saved_input *in, uint64_t limit)
{
	uint64_t v = report_get_number(in);

	return v < limit ? v : bad(in);
}

uint32_t report_get_below(struct saved_input *in, uint64_t limit)
{
	return (uint32_t)report_get_below_wide(in, limit);
}

int64_t report_get_signed(struct saved_input *in)
{
	uint64_t v = report_get_number(in);

	return (int64_t)(v >> 1 ^ (v & 1 ? UINT64_MAX : 0));
}

double report_get_double(struct saved_input *in)
{
	uint64_t bits = 0;
	double v;

	if (in->end - in->at < 8) {
		bad(in);
		return 0;
	}
	for (int i = 0; i < 8; i++)
		bits |= (uint64_t)*in->at++ << 8 * i;
	memcpy(&v, &bits, sizeof(v));
	return v;
}

bool report_get_flag(struct saved_input *in)
{
	return report_get_below(in, 2);
}

const char *report_get_text(struct saved_input *in)
{
	uint64_t n = report_get_number(in);
	const char *text = (const char *)in->at;

	if (!n)
		return NULL;
	if (n > (uint64_t)(in->end - in->at) || memchr(text, 0, n) != text + n - 1) {
		bad(in);
		return NULL;
	}
	in->at += n;
	return text;
}
