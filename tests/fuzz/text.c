/* SPDX-License-Identifier: BSD-2-Clause */
/* Names for a terminal: printable, as wide as they say, never wider than their column. */
#include "report/text.h"
#include "fuzz.h"

/* Of a text that is printable: each character has one column. */
static unsigned int width(const char *s)
{
	unsigned int n = 0;

	for (; *s; s += fuzz_utf8((const unsigned char *)s))
		n++;
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const dots[] = { "...", "\xe2\x80\xa6" };
	struct fuzz_input in = { data, data + size };
	const unsigned int columns = (unsigned int)fuzz_below(&in, 64);
	const char *dot = dots[fuzz_below(&in, 2)];
	char *name = strndup((const char *)in.at, (size_t)(in.end - in.at));
	struct buf b = { 0 };

	report_buf_clean(&b, name, ';', ':');
	fuzz_check_printable(b.s, b.len);
	fuzz_check(!strchr(b.s, ';') && !strchr(b.s, '\n') && !strchr(b.s, '\t'));

	report_buf_reset(&b);
	report_buf_elide(&b, name, columns, dot);
	fuzz_check_printable(b.s, b.len);
	fuzz_check(width(b.s) <= columns);

	report_buf_reset(&b);
	report_buf_shorten(&b, name, columns, dot);
	fuzz_check_printable(b.s, b.len);
	fuzz_check(width(b.s) <= columns);

	report_buf_reset(&b);
	report_add_events(&b, size % 3, name);
	fuzz_check_printable(b.s, b.len);
	report_buf_free(&b);
	free(name);
	return 0;
}
