/* SPDX-License-Identifier: BSD-2-Clause */
/* Parameters of the filter macros that need more than a number. */
#include <errno.h>
#include <string.h>

#include <rawprof/macros.h>

int asm_comm_filter(const char *pattern, struct asm_comm_filter *out)
{
	size_t length = strcspn(pattern, "*?[");
	unsigned char mask[16] = { 0 }, want[16] = { 0 };

	if (!*pattern || (pattern[length] && strcmp(pattern + length, "*")) || !length)
		return -EINVAL;
	if (length > 15)
		return -E2BIG;
	memcpy(want, pattern, length);
	/* A whole name is compared with the NUL that ends it; the bytes behind it may be anything.
	 */
	memset(mask, 0xff, pattern[length] ? length : length + 1);
	memcpy(out->mask, mask, sizeof(mask));
	memcpy(out->want, want, sizeof(want));
	return 0;
}
