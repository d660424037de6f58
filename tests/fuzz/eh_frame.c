/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * .eh_frame or .debug_frame, in an ELF file (elf-seeds) or bare, to a table; then look-ups and a
 * walk by that table over a stack that is the input itself. Bare: the first byte is the machine and
 * which of the two, the rest the section.
 */
#include <elf.h>
#include <errno.h>

#include "unwind/elf.h"
#include "unwind/table.h"
#include "fuzz.h"

enum { CODE = 0x1000, CODE_END = 0x80000, EH_FRAME = 0x100000, STACK = 0x7f000000 };

struct input {
	const uint8_t *data;
	size_t size;
};

static int read_stack(void *ctx, uint64_t addr, void *buf, size_t size)
{
	const struct input *in = ctx;

	if (addr < STACK || addr - STACK > in->size || size > in->size - (addr - STACK))
		return -EFAULT;
	memcpy(buf, in->data + (addr - STACK), size);
	return 0;
}

static void check(int holds)
{
	if (!holds)
		abort();
}

static void walk(const struct unwind_table *t, struct input *in, uint64_t pc)
{
	struct unwind_space_mapping s = { .start = 0, .end = 1ULL << 47, .table = t };
	struct unwind_space space = { .segments = &s, .count = 1 };
	struct unwind_regs regs = { .pc = pc, .sp = STACK, .fp = STACK + 64 };
	struct unwind_result result;
	uint64_t pcs[64];
	unsigned int n = unwind_walk(&space, &regs, read_stack, in, pcs, 64, &result);

	check(n >= 1 && n <= 64 && result.end < UNWIND_STOPS);
}

static void look_at(struct unwind_table *t, struct input *in)
{
	uint64_t start;

	check(unwind_table_is_sound(t));
	check(unwind_table_size(t) < (64 << 20));
	for (uint32_t i = 0; i < t->nparts; i++) {
		const struct unwind_part *p = &t->parts[i];
		uint64_t end = p->start + (uint64_t)p->npages * UNWIND_PAGE;

		for (uint64_t at = p->start - 1; at < end && at < p->start + 8192; at += 31)
			check(unwind_table_rule(t, at)->kind < UNWIND_KINDS);
	}
	for (uint32_t i = 0; i < t->nfdes && i < 64; i++) {
		uint64_t pc = t->parts->start + t->fdes[i];

		if (!unwind_table_fde_start(t, pc, &start))
			check(start == pc);
		walk(t, in, pc + 1);
	}
	unwind_table_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unwind_code code = { CODE, CODE_END };
	struct unwind_source s = { .code = &code, .ncode = 1, .addr = EH_FRAME };
	struct input in = { data, size };
	struct unwind_table *t;
	int fd;

	if (size > 4 && !memcmp(data, ELFMAG, SELFMAG)) {
		if (!unwind_table_build_image(&t, data, size))
			look_at(t, &in);
		fd = fuzz_file(data, size);
		if (!unwind_table_build(&t, fd))
			look_at(t, &in);
		close(fd);
		return 0;
	}
	if (!size)
		return 0;
	s.machine = data[0] & 8 ? EM_RISCV : data[0] & 1 ? EM_AARCH64 : EM_X86_64;
	s.is_debug_frame = data[0] & 4;
	if (data[0] & 16)
		s.trampolines[s.ntrampolines++] = CODE + data[0];
	s.size = size - 1;
	s.data = malloc(size);
	memcpy(s.data, data + 1, size - 1);
	if (!unwind_table_make(&s, data[0] & 2 ? 600 : UNWIND_PART_ROWS, &t))
		look_at(t, &in);
	free(s.data);
	return 0;
}
