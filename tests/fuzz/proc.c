/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What procfs says of a process: stat, status and comm have the name that it gave itself in the
 * middle. The first byte says which file the rest is.
 */
#include "symbolize/proc.h"
#include "fake_proc.h"

static int check_map(void *ctx, const struct sym_proc_map *m)
{
	(void)ctx;
	fuzz_check(m->start < m->end && !(m->prot & ~7u) && strlen(m->path) < 1 << 20);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = { "1/stat", "1/status", "1/comm", "1/maps" };
	struct sym_proc_ids ids = { 0 };
	uint64_t start;
	char comm[16];

	if (!size)
		return 0;
	fake_make();
	fake_file(names[*data % 4], data + 1, size - 1);
	memset(comm, 'x', sizeof(comm));
	if (!sym_proc_comm(fake_proc, 1, comm))
		fuzz_check(memchr(comm, 0, sizeof(comm)));
	sym_proc_start(fake_proc, 1, &start);
	sym_proc_ids(fake_proc, 1, &ids);
	sym_proc_maps(fake_proc, 1, check_map, NULL);
	return 0;
}
