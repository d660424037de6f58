/* SPDX-License-Identifier: BSD-2-Clause */
/* Any bytes, also elf-seeds, can be code: places for probes stay in it, on an instruction. */
#include <elf.h>
#include <rawprof/uprobe.h>

#include "loader/uprobe/insn.h"
#include "fuzz.h"

/* Is the place where decoding from the entry arrives? */
static void check_place(const struct insn_arch *arch, const uint8_t *code, size_t size,
			const struct rp_place *place)
{
	struct insn i;
	uint32_t at = 0;

	while (at < place->offset && arch->decode(code + at, size - at, &i))
		at += i.len;
	if (at != place->offset || at >= size || !memchr(place->why, 0, sizeof(place->why)))
		abort();
}

static void look(const struct insn_arch *arch, int fd, const uint8_t *code, size_t size)
{
	const struct rp_function f = { .offset = size / 4, .size = size / 2 };
	struct rp_returns returns;
	struct rp_place place;
	struct rp_code *c;

	if (rp_code_open(fd, arch->machine, 0, size, &c))
		return;
	if (!rp_code_entry(c, &f, &place) && f.size)
		check_place(arch, code + f.offset, f.size, &place);
	if (!rp_code_returns(c, &f, &returns)) {
		for (uint32_t i = 0; i < returns.n; i++) {
			if (returns.offsets[i] >= f.size ||
			    (i && returns.offsets[i] <= returns.offsets[i - 1]))
				abort();
		}
		rp_returns_free(&returns);
	}
	rp_code_close(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const int fd = fuzz_file(data, size);

	look(rp_insn_arch(EM_X86_64), fd, data, size);
	look(rp_insn_arch(EM_AARCH64), fd, data, size & ~(size_t)15);
	close(fd);
	return 0;
}
