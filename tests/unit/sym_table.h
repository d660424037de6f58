/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of ELF files share: one open file and its functions. */
#ifndef TESTS_SYM_TABLE_H
#define TESTS_SYM_TABLE_H

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbolize/symtab.h"

static struct sym_strings strings;
static struct sym_object *object;
static struct sym_symtab *symtab;

static inline void teardown(void)
{
	sym_symtab_close(symtab);
	sym_object_close(object);
	sym_strings_free(&strings);
	symtab = NULL;
	object = NULL;
}

static inline const char *name_at(uint64_t addr, uint64_t *offset)
{
	const char *name = NULL;
	uint64_t start = 0;

	if (!sym_symtab_lookup(symtab, addr, &name, &start))
		return NULL;
	*offset = addr - start;
	return name;
}

#define ck_name(addr, expected, expected_offset)                                                   \
	do {                                                                                       \
		uint64_t offset_ = 0;                                                              \
		const char *name_ = name_at(addr, &offset_);                                       \
		ck_assert_pstr_eq(name_, expected);                                                \
		ck_assert_uint_eq(offset_, expected_offset);                                       \
	} while (0)

#endif
