/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records of the side-band: the kernel lays them out, names and paths in them are any user's. Each
 * begins with a header of its own making, and is told its true size every other time.
 */
#include "loader/internal.h"
#include "fuzz.h"

static void check_inside(const char *text, const uint8_t *rec, size_t size)
{
	const uint8_t *at = (const uint8_t *)text;

	fuzz_check(at >= rec && at < rec + size && memchr(at, 0, (size_t)(rec + size - at)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct perf_event_header h;
	struct rp_side_event e = { .pid = 77 };
	uint8_t *rec = fuzz_copy(data, size);
	int err;

	if (size >= sizeof(h)) {
		memcpy(&h, rec, sizeof(h));
		h.type = 1 + h.type % 16;
		if (!(h.misc & 1))
			h.size = (uint16_t)size;
		memcpy(rec, &h, sizeof(h));
	}
	err = rp_side_parse(rec, size, &e);
	if (err)
		fuzz_check(e.pid == 77 && (err == -EINVAL || err == -ENOMSG));
	else
		fuzz_check(h.size == size && e.time == rp_side_time(rec, size));
	if (!err && e.type == RP_SIDE_MMAP) {
		check_inside(e.mmap.path, rec, size);
		fuzz_check(e.mmap.build_id_size <= sizeof(e.mmap.build_id));
	}
	if (!err && e.type == RP_SIDE_COMM)
		check_inside(e.comm.comm, rec, size);
	free(rec);
	return 0;
}
