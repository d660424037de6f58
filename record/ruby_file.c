/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What of Ruby is not among the symbols of its library: the function that executes, how a thread
 * finds its state, the list of names.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/symtab.h"

#include "script.h"

/* "3.1.2": 0x0301. */
unsigned int record_ruby_version(const struct sym_object *o)
{
	struct sym_sought version = { "ruby_version", STT_OBJECT, 4 };
	char text[16] = "", *end;
	unsigned long major, minor = 0;

	sym_symtab_find(o, &version, 1);
	if (!version.found || version.size >= sizeof(text))
		return 0;
	sym_object_read_at(o, version.address, text, version.size);
	major = strtoul(text, &end, 10);
	if (*end == '.')
		minor = strtoul(end + 1, NULL, 10);
	return major < 256 && minor < 256 ? (unsigned int)(major << 8 | minor) : 0;
}

/* ---- thread-locals */

enum { AT_ONCE = 256, MOST_RELOCS = 1 << 20, MOST_MODULES = 256 };

/*
 * Where the dynamic linker puts the number of the library's block of thread-locals and, behind it,
 * where in it the variable is (x86-64 psABI, "general dynamic"): the relocation has its symbol.
 */
static uint64_t find_slot(const struct sym_object *o, const struct sym_relocs *table,
			  const char *name)
{
	Elf64_Rela r[AT_ONCE];
	const uint64_t all = table->size / sizeof(r[0]);
	char found[32] = "";
	unsigned int modules = 0;
	Elf64_Sym symbol;
	size_t n;

	for (uint64_t at = 0; at < all && at < MOST_RELOCS; at += n) {
		n = sym_object_read(o, table->offset + at * sizeof(r[0]), r, sizeof(r)) /
		    sizeof(r[0]);
		if (!n)
			break;
		for (size_t i = 0; i < n && at + i < all; i++) {
			if (ELF64_R_TYPE(r[i].r_info) != R_X86_64_DTPMOD64 ||
			    !sym_symtab_symbol(o, SYM_DYNSYM, ELF64_R_SYM(r[i].r_info), &symbol))
				continue;
			if (modules++ == MOST_MODULES)
				return 0;
			sym_object_read(o, o->symbols[SYM_DYNSYM].strings + symbol.st_name, found,
					sizeof(found) - 1);
			if (!strcmp(found, name))
				return r[i].r_offset;
		}
	}
	return 0;
}

/* ---- the loop */

enum { MOST_CODE = 1 << 18, MOST_CALLS = 256, LOOP_LEAST = 4096, STEP = 64 };

static uint8_t *read_code(const struct sym_object *o, uint64_t at, uint64_t bytes)
{
	uint8_t *code = bytes <= MOST_CODE ? malloc(bytes) : NULL;

	if (code && sym_object_read_at(o, at, code, bytes) != bytes) {
		free(code);
		return NULL;
	}
	return code;
}

static bool is_in(const struct sym_fdes *fdes, uint64_t function, uint64_t address)
{
	uint64_t start;
	size_t index;

	return sym_fdes_find(fdes, address, &start, &index) && start == function;
}

/* Of a function that begins there; 0: none does. */
static uint64_t bytes_of(const struct sym_fdes *fdes, uint64_t function)
{
	uint64_t n = 0;

	while (n < MOST_CODE && is_in(fdes, function, function + n))
		n += STEP;
	while (n && !is_in(fdes, function, function + n - 1))
		n--;
	return n;
}

static uint64_t target_of(const uint8_t *code, uint64_t address)
{
	int32_t step;

	memcpy(&step, code + 1, sizeof(step));
	return address + 5 + (uint64_t)(int64_t)step;
}

/*
 * rb_vm_exec() calls vm_exec_core(), by far the largest of those that it calls, unless the compiler
 * has made it a part of it.
 */
static void find_loop(const struct sym_object *o, const struct sym_fdes *fdes,
		      struct script_file *out)
{
	const uint64_t caller = out->loop, n = out->loop_bytes;
	uint8_t *code = read_code(o, caller, n);
	uint64_t most = LOOP_LEAST;
	unsigned int calls = 0;

	for (uint64_t i = 0; code && i + 5 <= n; i++) {
		const uint64_t to = target_of(code + i, caller + i);
		uint64_t bytes;

		if (code[i] != 0xe8 || to - caller < n || !is_in(fdes, to, to))
			continue;
		if (calls++ == MOST_CALLS)
			break;
		bytes = bytes_of(fdes, to);
		if (bytes <= most)
			continue;
		most = bytes;
		out->loop = to;
		out->loop_bytes = bytes;
		out->cold = caller; /* before and after it is there itself */
		out->cold_bytes = n;
	}
	free(code);
}

/* ---- the list of names */

enum { LOOKUP_BYTES = 256, LAST = 0, LIST = 16 };

/* The address in an instruction, "op disp32(%rip)", that ends behind it. */
static uint64_t address_in(const uint8_t *disp, uint64_t end)
{
	int32_t step;

	memcpy(&step, disp, sizeof(step));
	return end + (uint64_t)(int64_t)step;
}

static bool by_rip(uint8_t modrm)
{
	return (modrm & 0xc7) == 0x05;
}

/*
 * struct rb_symbols_t: what the last name's number is compared with, and 16 bytes behind it the
 * list; a function that looks a name up has both, "cmp" and "mov" by the instruction's address.
 */
static uint64_t find_list(const uint8_t *code, size_t n, uint64_t address)
{
	for (size_t i = 0; i + 6 <= n; i++) {
		uint64_t last;

		if ((code[i] != 0x39 && code[i] != 0x3b) || !by_rip(code[i + 1]))
			continue;
		last = address_in(code + i + 2, address + i + 6);
		for (size_t j = i + 6; j + 7 <= n; j++)
			if ((code[j] & 0xfb) == 0x48 && code[j + 1] == 0x8b &&
			    by_rip(code[j + 2]) &&
			    address_in(code + j + 3, address + j + 7) == last - LAST + LIST)
				return last - LAST + LIST;
	}
	return 0;
}

/* rb_id2str() does, or the function that it ends with a jump to. */
static uint64_t find_names(const struct sym_object *o)
{
	struct sym_sought lookup = { "rb_id2str", STT_FUNC, 1 };
	uint8_t code[LOOKUP_BYTES];
	uint64_t at, list;
	size_t n;

	sym_symtab_find(o, &lookup, 1);
	if (!lookup.found)
		return 0;
	n = lookup.size < sizeof(code) ? lookup.size : sizeof(code);
	at = lookup.address;
	if (sym_object_read_at(o, at, code, n) != n)
		return 0;
	list = find_list(code, n, at);
	for (size_t i = 0; !list && i + 5 <= n; i++) {
		uint8_t next[LOOKUP_BYTES];

		if (code[i] == 0xe9 && sym_object_read_at(o, target_of(code + i, at + i), next,
							  sizeof(next)) == sizeof(next))
			list = find_list(next, sizeof(next), target_of(code + i, at + i));
	}
	return list;
}

/* ---- all */

bool record_ruby_places(const struct sym_object *o, struct script_file *out)
{
	struct sym_fdes *fdes = NULL;

	out->root = 0;
	for (size_t i = 0; i < o->reloc_count && !out->root; i++)
		out->root = find_slot(o, &o->relocs[i], "ruby_current_ec");
	if (!out->root)
		return false;
	if (!sym_fdes_read(&fdes, o))
		find_loop(o, fdes, out);
	sym_fdes_close(fdes);
	out->again = find_names(o);
	return true;
}
