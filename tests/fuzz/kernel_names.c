/* SPDX-License-Identifier: BSD-2-Clause */
/* What the kernel calls its addresses ("%pS"): each line of the input is the text of one. */
#include <rawprof/symbolize.h>

#include "fuzz.h"

static int name(void *ctx, const uint64_t *addrs, size_t n, char *texts, size_t stride)
{
	struct fuzz_input *in = ctx;

	(void)addrs;
	for (size_t i = 0; i < n; i++) {
		char *text = fuzz_text(in);

		memset(texts + i * stride, 'x', stride); /* without an end, when it is long */
		memcpy(texts + i * stride, text, strlen(text) < stride ? strlen(text) + 1 : stride);
		free(text);
	}
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, data + size };
	const struct sym_kernel_source source = { .name = name, .ctx = &in };
	uint64_t addrs[40];
	struct sym_kernel *k;
	struct sym_frame f;

	if (sym_kernel_open(&k, &source))
		return 0;
	for (uint64_t i = 0; i < 40; i++)
		addrs[i] = 0xffffffff81000000 + i * i * 4096;
	sym_kernel_prepare(k, addrs, 40, size & 1);
	for (uint64_t i = 0; i < 40; i++) {
		sym_kernel_lookup(k, addrs[i], size & 1, &f);
		fuzz_check(!f.name || (f.offset <= addrs[i] && strlen(f.name) < SYM_KERNEL_TEXT));
		fuzz_check(f.kind >= SYM_KERNEL && f.kind <= SYM_BPF);
	}
	sym_kernel_close(k);
	return 0;
}
