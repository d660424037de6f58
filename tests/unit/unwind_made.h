/* SPDX-License-Identifier: BSD-2-Clause */
/* .eh_frame sections made record by record, and ELF files around them. */
#ifndef TESTS_UNWIND_MADE_H
#define TESTS_UNWIND_MADE_H

#include <check.h>
#include <elf.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rawprof/unwind.h>

#include "unwind/elf.h"
#include "unwind/table.h"

enum {
	MADE_SIZE = 1 << 20,
	MADE_EH_FRAME = 0x100000, /* its address */
	MADE_CODE = 0x1000,
	MADE_CODE_END = 0x80000,
};

struct made {
	uint8_t bytes[MADE_SIZE];
	size_t size;
	size_t record; /* where the open one's length is */
	size_t cie;    /* offset of the last CIE */
	bool is_debug_frame;
};

static inline void made_put(struct made *m, const void *data, size_t size)
{
	ck_assert_uint_le(m->size + size, sizeof(m->bytes));
	if (size)
		memcpy(m->bytes + m->size, data, size);
	m->size += size;
}

static inline void made_uint(struct made *m, uint64_t v, size_t size)
{
	made_put(m, &v, size);
}

static inline void made_begin(struct made *m)
{
	m->record = m->size;
	made_uint(m, 0, 4);
}

/* Pads with DW_CFA_nop, as assemblers do, and says how long it became. */
static inline void made_end(struct made *m)
{
	uint32_t len;

	while ((m->size - m->record) % 8)
		made_uint(m, 0, 1);
	len = m->size - m->record - 4;
	memcpy(m->bytes + m->record, &len, 4);
}

/* A CIE with addresses as absolute eight bytes. */
static inline void made_cie(struct made *m, const char *letters, int ra, const uint8_t *insns,
			    size_t n)
{
	made_begin(m);
	m->cie = m->record;
	made_uint(m, m->is_debug_frame ? UINT32_MAX : 0, 4);
	made_uint(m, 1, 1);
	made_put(m, letters, strlen(letters) + 1);
	made_uint(m, 1, 1);    /* code alignment */
	made_uint(m, 0x78, 1); /* data alignment, -8 */
	made_uint(m, ra, 1);
	if (*letters == 'z')
		made_uint(m, 0, 1);
	made_put(m, insns, n);
	made_end(m);
}

/* What begins every function of x86-64: CFA is rsp + 8, the return address at CFA - 8. */
static const uint8_t made_x86[] = { 0x0c, 7, 8, 0x90, 1 };
/* And of AArch64: CFA is sp, the return address in x30. */
static const uint8_t made_arm64[] = { 0x0c, 31, 0 };

static inline void made_fde(struct made *m, uint64_t start, uint64_t len, const void *insns,
			    size_t n)
{
	made_begin(m);
	made_uint(m, m->is_debug_frame ? m->cie : m->record + 4 - m->cie, 4);
	made_uint(m, start, 8);
	made_uint(m, len, 8);
	if (m->cie < m->size && m->bytes[m->cie + 9] == 'z')
		made_uint(m, 0, 1);
	made_put(m, insns, n);
	made_end(m);
}

static inline int made_table(const struct made *m, uint16_t machine, uint32_t part_rows,
			     struct unwind_table **out)
{
	struct unwind_code code = { MADE_CODE, MADE_CODE_END };
	struct unwind_source s = { .machine = machine,
				   .code = &code,
				   .ncode = 1,
				   .addr = m->is_debug_frame ? 0 : MADE_EH_FRAME,
				   .is_debug_frame = m->is_debug_frame,
				   .data = (uint8_t *)m->bytes,
				   .size = m->size };
	int err;

	/* To the byte, so that the sanitizer sees who reads beyond. */
	s.data = malloc(m->size ? m->size : 1);
	memcpy(s.data, m->bytes, m->size);
	err = unwind_table_make(&s, part_rows, out);
	free(s.data);
	if (!err)
		ck_assert(unwind_table_is_sound(*out));
	return err;
}

#endif
