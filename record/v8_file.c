/* SPDX-License-Identifier: BSD-2-Clause */
/* Is there a V8 in an ELF file, which one, and what do its symbols for debuggers say? */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include <rawprof/loader.h>
#include "symbolize/symtab.h"

#include "languages.h"
#include "v8.h"

/* Numbers of four bytes: the version; members of the layout, by their offset. */
struct wanted {
	const char *name;
	size_t offset;
};
#define IN(member) offsetof(struct sym_v8_layout, member)
static const struct wanted members[] = {
	{ "v8dbg_type_BytecodeArray__BYTECODE_ARRAY_TYPE", IN(type_bytecode) },
	{ "v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE", IN(type_shared) },
	{ "v8dbg_type_Script__SCRIPT_TYPE", IN(type_script) },
	{ "v8dbg_type_ScopeInfo__SCOPE_INFO_TYPE", IN(type_scope) },
	{ "v8dbg_type_Code__CODE_TYPE", IN(type_code) },
	{ "v8dbg_type_InstructionStream__INSTRUCTION_STREAM_TYPE", IN(type_stream) },
	{ "v8dbg_type_ByteArray__BYTE_ARRAY_TYPE", IN(type_bytes) },
	{ "v8dbg_type_TrustedByteArray__TRUSTED_BYTE_ARRAY_TYPE", IN(type_trusted_bytes) },
	{ "v8dbg_type_InterpreterData__INTERPRETER_DATA_TYPE", IN(type_interpreter_data) },
	{ "v8dbg_class_JSFunction__shared__SharedFunctionInfo", IN(function_shared) },
	{ "v8dbg_class_Script__source__Object", IN(script_source) },
	{ "v8dbg_class_Script__name__Object", IN(script_name) },
	{ "v8dbg_class_BytecodeArray__data__uintptr_t", IN(bytecode_data) },
	{ "v8dbg_CodeKindFieldMask", IN(code_kind_mask) },
	{ "v8dbg_CodeKindBaseline", IN(code_kind_baseline) },
};
enum { MEMBERS = sizeof(members) / sizeof(members[0]), MOST_OFFSET = 4095 };

#define MAJOR "_ZN2v88internal7Version6major_E"
#define MINOR "_ZN2v88internal7Version6minor_E"
#define TAGGED_SIZE "v8dbg_TaggedSize"
#define SIZES "_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE"

struct search {
	const struct sym_object *object;
	int table;
	uint32_t version[2], tagged_size;
	uint64_t member[MEMBERS]; /* value + 1; 0: not found */
	uint64_t sizes, sizes_bytes;
	uint32_t looked;
};

/* Of names, which Node has 2,000 of that look like it, that makes 16,384. */
enum { NAME_COUNTS = SYM_MOST_SOUGHT >> 14 };

static void take_number(struct search *s, const char *name, uint64_t address)
{
	uint32_t value;

	if (sym_object_read_at(s->object, address, &value, sizeof(value)) != sizeof(value))
		return;
	if (!strcmp(name, MAJOR))
		s->version[0] = value;
	else if (!strcmp(name, MINOR))
		s->version[1] = value;
	else if (!strcmp(name, TAGGED_SIZE))
		s->tagged_size = value;
	for (size_t i = 0; i < MEMBERS; i++)
		if (!strcmp(name, members[i].name) && value <= MOST_OFFSET)
			s->member[i] = value + 1ull;
}

static int look_at(void *ctx, const void *elf64_sym)
{
	const Elf64_Sym *symbol = elf64_sym;
	struct search *s = ctx;
	char name[80] = "";

	if (++s->looked > SYM_MOST_SOUGHT)
		return 1;
	if (ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT || !symbol->st_value ||
	    (symbol->st_size != 4 && (symbol->st_size < 400 || symbol->st_size > 1000)))
		return 0;
	s->looked += NAME_COUNTS;
	sym_object_read(s->object, s->object->symbols[s->table].strings + symbol->st_name, name,
			sizeof(name) - 1);
	if (symbol->st_size == 4) {
		take_number(s, name, symbol->st_value);
	} else if (!strcmp(name, SIZES)) {
		s->sizes = symbol->st_value;
		s->sizes_bytes = symbol->st_size;
	}
	return 0;
}

/* A row for each width. */
static void read_sizes(const struct search *s, struct sym_v8_layout *l)
{
	const size_t n = s->sizes_bytes / 3;

	if (!n || n > SYM_V8_BYTECODES)
		return;
	for (size_t width = 0; width < 3; width++)
		if (sym_object_read_at(s->object, s->sizes + width * n, l->bytecode_bytes[width],
				       n) != n)
			return;
	l->bytecodes = (uint16_t)n;
}

static bool read_layout(const struct search *s, const char *path, struct sym_v8_layout *out)
{
	if (!s->object->is64 || (s->tagged_size && s->tagged_size != 8) || s->version[0] > 255 ||
	    s->version[1] > 255 || !record_v8_layout(s->version[0] << 8 | s->version[1], out)) {
		rp_log(record_unknown_level(),
		       "%s: V8 %u.%u%s is not known (10.2, 11.3 and 12.4 are, of Node 18, 20 and "
		       "22): its stacks are native",
		       path, s->version[0], s->version[1],
		       s->tagged_size == 4 ? " with compressed pointers" : "");
		return false;
	}
	for (size_t i = 0; i < MEMBERS; i++)
		if (s->member[i])
			*(uint16_t *)((char *)out + members[i].offset) =
				(uint16_t)(s->member[i] - 1);
	if (!out->stream_code)
		out->type_stream = out->type_code;
	read_sizes(s, out);
	return true;
}

bool record_v8_read_file(int fd, const char *path, struct sym_v8_layout *out)
{
	struct search s = { .version = { 0, 0 } };
	struct sym_object *object;
	bool known = false;

	if (sym_object_open(&object, fd))
		return false;
	s.object = object;
	for (s.table = SYM_DYNSYM; s.table >= SYM_SYMTAB; s.table--)
		if (!s.version[0] && object->symbols[s.table].count)
			sym_symtab_each(object, s.table, look_at, &s);
	if (s.version[0]) /* else it starts one, or has nothing to do with it */
		known = read_layout(&s, path, out);
	sym_object_close(object);
	return known;
}
