/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory of processes with a virtual machine of HotSpot. */
#include "jvm.h"
#include "remote.h"

size_t record_jvm_read(const struct jvm_memory *m, uint64_t address, void *out, size_t n)
{
	record_costs_add(m->costs, n);
	return record_remote_read_some(m->remote, address, out, n);
}

bool record_jvm_read_all(const struct jvm_memory *m, uint64_t address, void *out, size_t n)
{
	return record_jvm_read(m, address, out, n) == n;
}

void record_jvm_read_text(const struct jvm_memory *m, uint64_t address, char *out, size_t n)
{
	out[record_jvm_read(m, address, out, n - 1)] = '\0';
}
