/* SPDX-License-Identifier: BSD-2-Clause */
/* Scripts and styles, unpacked. */
#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#include "packed.h"

enum { GZIP_WINDOW = 15 + 16 }; /* zlib.h: 16 more is the gzip wrapper */

int report_unpack(const struct report_packed *packed, char **text)
{
	char *s = malloc(packed->size + 1);
	z_stream z = { .next_in = (unsigned char *)packed->bytes,
		       .avail_in = (unsigned int)packed->packed,
		       .next_out = (unsigned char *)s,
		       .avail_out = (unsigned int)packed->size };
	int state;

	if (!s || inflateInit2(&z, GZIP_WINDOW) != Z_OK) {
		free(s);
		return -ENOMEM;
	}
	state = inflate(&z, Z_FINISH);
	inflateEnd(&z);
	if (state != Z_STREAM_END || z.avail_out) {
		free(s);
		return state == Z_MEM_ERROR ? -ENOMEM : -EIO;
	}
	s[packed->size] = 0;
	*text = s;
	return 0;
}
