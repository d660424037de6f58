/* SPDX-License-Identifier: BSD-2-Clause */
/* /proc/kallsyms. */
#include <rawprof/symbolize.h>

#include "fuzz.h"

static int count(void *ctx, const struct sym_ksym *sym)
{
	*(size_t *)ctx += strlen(sym->name) + (sym->module ? strlen(sym->module) : 0);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = fuzz_file(data, size);
	struct sym_ksym found[4];
	struct sym_kallsyms *ks;
	size_t bytes = 0;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!sym_kallsyms_open(&ks, path)) {
		sym_kallsyms_glob(ks, "*", count, &bytes);
		sym_kallsyms_find(ks, "schedule", found, 4);
		for (uint64_t at = 0xffffffff81000000; at < 0xffffffff81000000 + 4096; at += 64)
			if (!sym_kallsyms_lookup(ks, at, found) && found[0].addr > at)
				abort();
		sym_kallsyms_close(ks);
	}
	close(fd);
	return 0;
}
