/* SPDX-License-Identifier: BSD-2-Clause */
/* A stream that is compressed on its way out. */
#include <errno.h>
#include <limits.h>

#include "gzip.h"

enum { GZIP_WINDOW = 15 + 16, MEMORY_LEVEL = 8 }; /* zlib.h: 16 more asks for the gzip wrapper */

int report_gzip_begin(struct gzip *g, struct out *out)
{
	g->out = out;
	g->z = (z_stream){ 0 };
	if (deflateInit2(&g->z, Z_BEST_SPEED, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	return 0;
}

static void gzip_pump(struct gzip *g, int flush)
{
	int state;

	do {
		g->z.next_out = g->bytes;
		g->z.avail_out = sizeof(g->bytes);
		state = deflate(&g->z, flush);
		report_out_write(g->out, g->bytes, sizeof(g->bytes) - g->z.avail_out);
		if (state == Z_STREAM_ERROR && !g->out->err)
			g->out->err = -EIO;
	} while (!g->out->err && (flush == Z_FINISH ? state != Z_STREAM_END : !g->z.avail_out));
}

void report_gzip_write(struct gzip *g, const void *bytes, size_t n)
{
	const unsigned char *p = bytes;

	while (n && !g->out->err) {
		size_t some = n < UINT_MAX ? n : UINT_MAX;

		g->z.next_in = (unsigned char *)p;
		g->z.avail_in = (unsigned int)some;
		gzip_pump(g, Z_NO_FLUSH);
		p += some;
		n -= some;
	}
}

void report_gzip_end(struct gzip *g)
{
	if (!g->out->err)
		gzip_pump(g, Z_FINISH);
	deflateEnd(&g->z);
}
