/* SPDX-License-Identifier: BSD-2-Clause */
/* /tmp/perf-PID.map, which the profiled process writes as it likes. */
#include <rawprof/symbolize.h>

#include "fake_proc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char maps[] = "00400000-00500000 rwxp 00000000 00:00 0 \n";
	struct sym_frame frame;
	struct sym_user *u;

	if (fake_make())
		fake_file("1/maps", maps, strlen(maps));
	fake_file("1/root/tmp/perf-1.map", data, size);
	if (sym_user_open(&u, fake_proc))
		return 0;
	if (!sym_user_snapshot(u, 1, 1000000000)) {
		sym_user_keep(u, 1);
		for (uint64_t at = 0x400000; at < 0x400000 + 4096; at += 16) {
			sym_user_lookup(u, 1, 1000000000, at, false, &frame);
			if (frame.name && frame.offset > at)
				abort();
		}
	}
	sym_user_close(u);
	return 0;
}
