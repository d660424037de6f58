/* SPDX-License-Identifier: BSD-2-Clause */
/* What an ELF file says of the Perl in it: its version, how it was built, some functions. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/fdes.h"
#include "symbolize/object.h"
#include "symbolize/symtab.h"

#include "script.h"

unsigned int record_perl_version(const struct sym_object *o)
{
	struct sym_sought wanted[] = { { "PL_revision", STT_OBJECT, 1 },
				       { "PL_version", STT_OBJECT, 1 } };
	uint8_t revision = 0, version = 0;

	sym_symtab_find(o, wanted, 2);
	if (!wanted[0].found || !wanted[1].found)
		return 0;
	sym_object_read_at(o, wanted[0].address, &revision, 1);
	sym_object_read_at(o, wanted[1].address, &version, 1);
	return (unsigned int)revision << 8 | version;
}

#define DOCATCH_MOST 4096

/*
 * docatch() has no symbol where the file is stripped. It is what an eval leads to that needs an
 * environment of its own: pp_entertry calls or jumps to it and create_eval_scope, and nothing else.
 */
static void find_docatch(const struct sym_object *o, const struct sym_sought *eval,
			 const struct sym_sought *scope, struct script_file *out)
{
	struct sym_fdes *fdes = NULL;
	uint8_t code[1024];
	const size_t n = eval->size < sizeof(code) ? eval->size : sizeof(code);
	uint64_t n_to;

	if (!eval->found || !scope->found || sym_fdes_read(&fdes, o))
		return;
	if (sym_object_read_at(o, eval->address, code, n) != n) {
		sym_fdes_close(fdes);
		return;
	}
	for (size_t i = 0; i + 5 <= n && !out->again; i++) {
		int32_t step;
		uint64_t to, start;
		size_t index;

		if (code[i] != 0xe8 && code[i] != 0xe9)
			continue;
		memcpy(&step, code + i + 1, sizeof(step));
		to = eval->address + i + 5 + (uint64_t)(int64_t)step;
		if (to == scope->address || to == eval->address)
			continue;
		for (n_to = 0; n_to < DOCATCH_MOST &&
			       sym_fdes_find(fdes, to + n_to, &start, &index) && start == to;
		     n_to++)
			;
		out->again = n_to ? to : 0;
		out->again_bytes = n_to;
	}
	sym_fdes_close(fdes);
}

bool record_perl_places(const struct sym_object *o, struct script_file *out)
{
	enum { BYTES, PARSE, EVAL, SCOPE, WANTED };
	struct sym_sought wanted[WANTED] = { { "PL_interp_size", STT_OBJECT, 2 },
					     { "perl_parse", STT_FUNC, 1 },
					     { "Perl_pp_entertry", STT_FUNC, 1 },
					     { "Perl_create_eval_scope", STT_FUNC, 1 } };
	uint16_t bytes = 0;

	sym_symtab_find(o, wanted, WANTED);
	if (wanted[BYTES].found)
		sym_object_read_at(o, wanted[BYTES].address, &bytes, sizeof(bytes));
	if (bytes != out->layout->at[PERL_BYTES])
		return false;
	out->cold = wanted[PARSE].address;
	out->cold_bytes = wanted[PARSE].size;
	find_docatch(o, &wanted[EVAL], &wanted[SCOPE], out);
	return true;
}
