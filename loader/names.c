/* SPDX-License-Identifier: BSD-2-Clause */
/* names.c: names of types for messages, and names that the kernel accepts. */
#include "internal.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>

static const char *const map_types[] = {
	[BPF_MAP_TYPE_HASH] = "hash",
	[BPF_MAP_TYPE_ARRAY] = "array",
	[BPF_MAP_TYPE_PROG_ARRAY] = "program array",
	[BPF_MAP_TYPE_PERF_EVENT_ARRAY] = "perf event array",
	[BPF_MAP_TYPE_PERCPU_HASH] = "per-CPU hash",
	[BPF_MAP_TYPE_PERCPU_ARRAY] = "per-CPU array",
	[BPF_MAP_TYPE_STACK_TRACE] = "stack trace",
	[BPF_MAP_TYPE_CGROUP_ARRAY] = "cgroup array",
	[BPF_MAP_TYPE_LRU_HASH] = "LRU hash",
	[BPF_MAP_TYPE_LRU_PERCPU_HASH] = "per-CPU LRU hash",
	[BPF_MAP_TYPE_LPM_TRIE] = "prefix trie",
	[BPF_MAP_TYPE_ARRAY_OF_MAPS] = "array of maps",
	[BPF_MAP_TYPE_HASH_OF_MAPS] = "hash of maps",
	[BPF_MAP_TYPE_QUEUE] = "queue",
	[BPF_MAP_TYPE_STACK] = "stack",
	[BPF_MAP_TYPE_RINGBUF] = "ring buffer",
};

static const char *const prog_types[] = {
	[BPF_PROG_TYPE_SOCKET_FILTER] = "socket filter",
	[BPF_PROG_TYPE_KPROBE] = "kprobe",
	[BPF_PROG_TYPE_TRACEPOINT] = "tracepoint",
	[BPF_PROG_TYPE_PERF_EVENT] = "perf event",
	[BPF_PROG_TYPE_RAW_TRACEPOINT] = "raw tracepoint",
	[BPF_PROG_TYPE_TRACING] = "tracing (BTF)",
	[BPF_PROG_TYPE_SYSCALL] = "syscall",
};

static const char *name_of(const char *const *names, size_t n, uint32_t type)
{
	static char number[24];

	if (type < n && names[type])
		return names[type];
	snprintf(number, sizeof(number), "type %u", type);
	return number;
}

const char *rp_map_type_name(uint32_t type)
{
	return name_of(map_types, ARRAY_SIZE(map_types), type);
}

const char *rp_prog_type_name(uint32_t type)
{
	return name_of(prog_types, ARRAY_SIZE(prog_types), type);
}

void rp_kernel_name(char out[16], const char *name)
{
	size_t i = 0;

	for (; name && name[i] && i < 15; i++) {
		const unsigned char c = (unsigned char)name[i];

		out[i] = isascii(c) && (isalnum(c) || c == '_' || c == '.') ? (char)c : '_';
	}
	memset(out + i, 0, 16 - i);
}

unsigned rp_name_distance(const char *a, const char *b)
{
	enum { MOST = 63 };
	const size_t na = strlen(a), nb = strlen(b);
	unsigned row[MOST + 1];

	if (na > MOST || nb > MOST)
		return UINT_MAX / 2;
	for (size_t j = 0; j <= nb; j++)
		row[j] = (unsigned)j;
	for (size_t i = 1; i <= na; i++) {
		unsigned corner = row[0];

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= nb; j++) {
			const unsigned above = row[j];
			const unsigned change = corner + (a[i - 1] != b[j - 1]);
			const unsigned shift = (above < row[j - 1] ? above : row[j - 1]) + 1;

			row[j] = change < shift ? change : shift;
			corner = above;
		}
	}
	return row[nb];
}
