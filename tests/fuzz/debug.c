/* SPDX-License-Identifier: BSD-2-Clause */
/* What ELF files (elf-seeds) have beside symbols: .gnu_debugdata, FDEs, debug data. */
#include "symbolize/debug.h"
#include "symbolize/fdes.h"
#include "symbolize/lines.h"
#include "fuzz.h"

enum { PLACES = 64 }; /* looked at in each section */

static void find_start(const struct sym_fdes *f, uint64_t vaddr)
{
	uint64_t start;
	size_t index;

	if (sym_fdes_find(f, vaddr, &start, &index) && start > vaddr)
		abort();
}

static void find_source(struct sym_dwarf *d, uint64_t vaddr)
{
	struct sym_line lines[SYM_INLINE_MAX + 1];
	size_t n = sym_dwarf_find(d, vaddr, true, lines, SYM_INLINE_MAX + 1), read = 0;

	for (size_t i = 0; i < n; i++) {
		read += lines[i].file ? strlen(lines[i].file) : 0;
		read += lines[i].function ? strlen(lines[i].function) : 0;
	}
	if (n > SYM_INLINE_MAX + 1 || read > 1 << 30)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sym_object *o, *packed;
	struct sym_fdes *fdes = NULL;
	struct sym_dwarf *dwarf = NULL;

	if (sym_object_open(&o, fuzz_file(data, size)))
		return 0;
	if (!sym_debug_unpack(&packed, o))
		sym_object_close(packed);
	if (sym_fdes_read(&fdes, o))
		fdes = NULL;
	if (size & 1) /* of another user: in memory */
		o->owner = 65534;
	if (sym_dwarf_open(&dwarf, o, o, UINT64_MAX, NULL))
		dwarf = NULL;
	for (size_t i = 0; i < o->code_count; i++) {
		const struct sym_section *code = &o->code[i];

		for (int k = 0; k < PLACES; k++) {
			uint64_t vaddr = code->addr + code->size / PLACES * k;

			if (fdes)
				find_start(fdes, vaddr);
			if (dwarf)
				find_source(dwarf, vaddr);
		}
	}
	sym_fdes_close(fdes);
	sym_dwarf_close(dwarf);
	sym_object_close(o);
	return 0;
}
