/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that others wrote, packed or not: which of the forms they have is seen by their bytes. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/grow.h"
#include "read.h"

/* A small file may unpack to a thousand times its size. */
#define LARGEST_UNPACKED (512u << 20)

static int damaged(struct report_file *out)
{
	return report_why(out, -EINVAL, "its compressed data are damaged, or end too early");
}

/* One member after the other; *bytes is to be freed, after an error too. */
static int inflate_all(z_stream *z, unsigned char **bytes, size_t *size, struct report_file *out)
{
	size_t capacity = 0;
	int state = Z_OK;

	while (state != Z_STREAM_END || z->avail_in) {
		if (state == Z_STREAM_END && inflateReset(z) != Z_OK)
			return -ENOMEM;
		if (*size >= LARGEST_UNPACKED)
			return report_why(out, -EFBIG, "unpacked it has more than %u MiB",
					  LARGEST_UNPACKED >> 20);
		if (RP_GROW_TO(*bytes, *size + 65536, capacity))
			return -ENOMEM;
		z->next_out = *bytes + *size;
		z->avail_out = (unsigned int)(capacity - *size);
		state = inflate(z, Z_NO_FLUSH);
		*size = capacity - z->avail_out;
		if (state == Z_MEM_ERROR)
			return -ENOMEM;
		if (state != Z_OK && state != Z_STREAM_END)
			return damaged(out);
	}
	return 0;
}

int report_read_gzip(const void *data, size_t size, struct report_file *out)
{
	enum { GZIP_WINDOW = 15 + 16 }; /* zlib.h: 16 more asks for the gzip wrapper */
	z_stream z = { .next_in = (unsigned char *)data, .avail_in = (unsigned int)size };
	unsigned char *unpacked = NULL;
	size_t n = 0;
	int err;

	if (size > UINT_MAX)
		return report_why(out, -EFBIG, "it is too large");
	if (inflateInit2(&z, GZIP_WINDOW) != Z_OK)
		return -ENOMEM;
	err = inflate_all(&z, &unpacked, &n, out);
	inflateEnd(&z);
	if (!err)
		err = report_read_others(unpacked, n, out);
	free(unpacked);
	return err;
}

/* Text has no bytes below a blank but line ends and tabs; a pprof profile has many. */
static bool is_text(const unsigned char *bytes, size_t n)
{
	for (size_t i = 0; i < n && i < 4096; i++)
		if (bytes[i] < ' ' && (!bytes[i] || !strchr("\n\r\t", bytes[i])))
			return false;
	return !memchr(bytes, '\0', n);
}

int report_read_others(const void *data, size_t size, struct report_file *out)
{
	if (!size)
		return report_why(out, -EINVAL, "it is empty");
	if (size > LARGEST_UNPACKED)
		return report_why(out, -EFBIG, "it is larger than %u MiB", LARGEST_UNPACKED >> 20);
	if (is_text(data, size))
		return report_read_folded(data, size, out);
	return report_read_pprof(data, size, out);
}
