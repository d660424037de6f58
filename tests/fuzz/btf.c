/* SPDX-License-Identifier: BSD-2-Clause */
/* BTF: the kernel's is trusted, a file's is not, and cycles of types are easily made. */
#include <rawprof/asm.h>
#include <rawprof/loader.h>

#include "fuzz.h"

static int count(void *ctx, const char *name, int nargs)
{
	(void)nargs;
	*(size_t *)ctx += strlen(name);
	return 0;
}

static void quiet(void *ctx, enum rp_level level, const char *message)
{
	(void)ctx;
	(void)level;
	(void)message;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct asm_access access;
	struct rp_btf *btf;
	size_t bytes = 0;
	int64_t value;
	char why[160];

	rp_log_setup(RP_ERROR, quiet, NULL);
	if (rp_btf_parse(data, size, &btf))
		return 0;
	rp_btf_access(btf, "task", "parent.pid", &access, why);
	rp_btf_access(btf, "task", "comm", &access, why);
	rp_btf_access(btf, "task", "inner.b", &access, why);
	rp_btf_access(btf, "task", "bits", &access, why);
	rp_btf_size(btf, "task");
	rp_btf_size(btf, "alias");
	rp_btf_enum(btf, "color", "GREEN", &value);
	rp_btf_func_nargs(btf, "work");
	rp_btf_each_func(btf, "*", count, &bytes);
	rp_btf_free(btf);
	return 0;
}
