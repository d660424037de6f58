/* SPDX-License-Identifier: BSD-2-Clause */
/* A stream that is compressed on its way out (RFC 1952), with no time stamp or name in it.
 */
#ifndef REPORT_GZIP_H
#define REPORT_GZIP_H

#include <zlib.h>

#include "buf.h"

struct gzip {
	struct out *out; /* errors, of zlib too, end up here */
	z_stream z;
	unsigned char bytes[16384];
};

int report_gzip_begin(struct gzip *g, struct out *out); /* 0 or -ENOMEM */
void report_gzip_write(struct gzip *g, const void *bytes, size_t n);
void report_gzip_end(struct gzip *g); /* always, after a successful report_gzip_begin() */

#endif
