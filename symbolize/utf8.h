/* SPDX-License-Identifier: BSD-2-Clause */
/* Characters as UTF-8. */
#ifndef SYMBOLIZE_UTF8_H
#define SYMBOLIZE_UTF8_H

#include <stdint.h>

#define SYM_REPLACEMENT 0xfffd

/* Writes at most four bytes, no NUL; what is no character becomes U+FFFD. Returns the end. */
static inline char *sym_put_utf8(char *out, uint32_t c)
{
	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000) || !c)
		c = SYM_REPLACEMENT;
	if (c < 0x80) {
		*out++ = (char)c;
	} else if (c < 0x800) {
		*out++ = (char)(0xc0 | c >> 6);
		*out++ = (char)(0x80 | (c & 63));
	} else if (c < 0x10000) {
		*out++ = (char)(0xe0 | c >> 12);
		*out++ = (char)(0x80 | (c >> 6 & 63));
		*out++ = (char)(0x80 | (c & 63));
	} else {
		*out++ = (char)(0xf0 | c >> 18);
		*out++ = (char)(0x80 | (c >> 12 & 63));
		*out++ = (char)(0x80 | (c >> 6 & 63));
		*out++ = (char)(0x80 | (c & 63));
	}
	return out;
}

#endif
