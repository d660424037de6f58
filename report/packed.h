/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scripts and styles that documents carry. They are files of their own beside what writes them;
 * scripts/pack makes them small, compresses them and writes an array in C, when the library is
 * built.
 */
#ifndef REPORT_PACKED_H
#define REPORT_PACKED_H

#include <stddef.h>

struct report_packed {
	size_t packed, size; /* bytes, and bytes once unpacked */
	const unsigned char *bytes;
};

extern const struct report_packed report_packed_page;  /* report/html */
extern const struct report_packed report_packed_walk;  /* report/html/walk */
extern const struct report_packed report_packed_flame; /* report/flame */

/* A string, to be freed. 0, -ENOMEM, or -EIO: it is not what scripts/pack has made. */
int report_unpack(const struct report_packed *packed, char **text);

#endif
