/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which macros of the DSL have been run. The headers themselves are part of the test: every
 * #define of a section has to occur in the tables of the test that the section is assigned to, so
 * that a macro without a test fails, and a section without a test too.
 */
#ifndef TESTS_KERNEL_COVERAGE_H
#define TESTS_KERNEL_COVERAGE_H

#include <check.h>
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <rawprof/loader.h>

#include "quiet.h"

/* The text of a header as it was when this was compiled, at the top of the source tree. Hidden: by
 * the GOT, arm64's assembler and linker take labels of one section for one. */
#define COVERAGE_HEADER(name, path)                                                                \
	__asm__(".pushsection .rodata\n" #name ": .incbin \"" path "\"\n.byte 0\n.popsection\n");  \
	extern const char name[] __attribute__((visibility("hidden")))
COVERAGE_HEADER(coverage_isa_h, "include/rawprof/isa.h");
COVERAGE_HEADER(coverage_macros_h, "include/rawprof/macros.h");

static const struct {
	const char *header, *section, *test;
} coverage_sections[] = {
	{ coverage_isa_h, "checks made by the compiler", "compile" },
	{ coverage_isa_h, "elements", "call" },
	{ coverage_isa_h, "arithmetic, RFC 9669 section 4.1", "alu" },
	{ coverage_isa_h, "memory, RFC 9669 section 5", "memory" },
	{ coverage_isa_h, "atomics, RFC 9669 section 5.3", "atomic" },
	{ coverage_isa_h, "jumps, RFC 9669 section 4.3", "jump" },
	{ coverage_isa_h, "labels and scopes", "jump" },
	{ coverage_isa_h, "calls", "call" },
	{ coverage_isa_h, "64-bit constants: two slots each", "call" },
	{ coverage_macros_h, "bound at load time", "bound" },
	{ coverage_macros_h, "structs by the names of their members",
	  "bound" }, /* no lines of it */
	{ coverage_macros_h, "the stack frame as a C struct", "macros" },
	{ coverage_macros_h, "maps", "macros" },
	{ coverage_macros_h, "ring buffer", "macros" },
	{ coverage_macros_h, "reading memory", "macros" },
	{ coverage_macros_h, "the thread that runs, at a frame offset", "macros" },
	{ coverage_macros_h, "filters: go on, or jump to the label out", "filters" },
	{ coverage_macros_h, "histograms", "histograms" },
};
#define COVERAGE_NSECTIONS (sizeof(coverage_sections) / sizeof(coverage_sections[0]))

#define COVERAGE_MAX 512
static struct {
	char name[COVERAGE_MAX][32];
	size_t n;
} coverage_seen;

static inline bool coverage_has(const char *name)
{
	for (size_t i = 0; i < coverage_seen.n; i++)
		if (!strcmp(coverage_seen.name[i], name))
			return true;
	return false;
}

/* The text of a line that has been run: "ADD(R0, 1)". */
static inline void coverage_saw(const char *text)
{
	char name[32] = "";

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(text, "("), text);
	if (coverage_has(name))
		return;
	ck_assert_uint_lt(coverage_seen.n, COVERAGE_MAX);
	strcpy(coverage_seen.name[coverage_seen.n++], name);
}

static inline void coverage_mute(void *ctx, enum rp_level level, const char *message)
{
	(void)ctx;
	(void)level;
	(void)message;
}

/* The test a section is assigned to, or NULL. */
static inline const char *coverage_test_of(const char *header, const char *section, size_t length)
{
	for (size_t i = 0; i < COVERAGE_NSECTIONS; i++)
		if (coverage_sections[i].header == header &&
		    strlen(coverage_sections[i].section) == length &&
		    !strncmp(coverage_sections[i].section, section, length))
			return coverage_sections[i].test;
	return NULL;
}

/* Every public macro in the sections of a header that are `test`'s has been seen. */
static inline unsigned int coverage_check_header(const char *test, const char *header)
{
	const char *owner = NULL;
	unsigned int macros = 0;

	for (const char *at = header, *next; *at; at = next) {
		char name[64];

		next = at + strcspn(at, "\n");
		next += *next != 0;
		if (!strncmp(at, "/* ---- ", 8)) {
			size_t length = strcspn(at + 8, "*\n");

			while (length && at[8 + length - 1] == ' ')
				length--;
			owner = coverage_test_of(header, at + 8, length);
			ck_assert_msg(owner != NULL, "section '%.*s' is assigned to no test",
				      (int)length, at + 8);
		}
		if (!owner || strcmp(owner, test) ||
		    sscanf(at, "#define %63[A-Z0-9_a-z]", name) != 1 || !strncmp(name, "ASM_", 4))
			continue;
		ck_assert_msg(coverage_has(name), "no case runs the macro %s", name);
		macros++;
	}
	return macros;
}

static inline void coverage_check(const char *test)
{
	unsigned int macros = coverage_check_header(test, coverage_isa_h) +
			      coverage_check_header(test, coverage_macros_h) +
			      coverage_check_header(test, coverage_macros_h);

	ck_assert_uint_gt(macros, 0);
	printf("%s: all %u macros have been run\n", test, macros);
}

#endif
