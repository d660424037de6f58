/* SPDX-License-Identifier: BSD-2-Clause */
/* /proc/PID/maps: file names in it are whatever a process chose. */
#include <rawprof/symbolize.h>

#include "fake_proc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sym_frame frame;
	struct sym_user *u;

	fake_make();
	fake_file("1/maps", data, size);
	if (sym_user_open(&u, fake_proc))
		return 0;
	if (!sym_user_snapshot(u, 1, 1000000000)) {
		sym_user_keep(u, 1);
		for (uint64_t at = 1; at; at <<= 1)
			sym_user_lookup(u, 1, 1000000000, at | 0x400000, true, &frame);
	}
	sym_user_close(u);
	return 0;
}
