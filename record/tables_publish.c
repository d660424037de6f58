/* SPDX-License-Identifier: BSD-2-Clause */
/* Publishes a process whose mappings nobody else is reading. */
#include <stdio.h>

#include "base/lack.h"
#include "symbolize/proc.h"

#include "tables.h"

void record_tables_publish(struct record_tables *f, uint32_t pid)
{
	char path[32];
	int err;

	record_tables_begin(f, pid);
	err = sym_proc_maps("/proc", pid, record_tables_map, f);
	if (err >= 0) {
		record_tables_end(f);
		return;
	}
	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	rp_lack(err, path);
}
