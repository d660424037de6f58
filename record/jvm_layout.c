/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where HotSpot keeps what: it says so itself, in tables that its serviceability agent reads
 * (src/hotspot/share/runtime/vmStructs.cpp). A new version is right by itself as long as it has
 * these members.
 */
#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbolize/symtab.h"

#include "jvm.h"

/* ---- the tables in the file */

bool record_jvm_find_tables(int fd, struct jvm_tables *out)
{
	struct sym_sought wanted[] = { { "gHotSpotVMStructs", STT_OBJECT, 8 },
				       { "gHotSpotVMTypes", STT_OBJECT, 8 } };
	struct sym_object *object;

	*out = (struct jvm_tables){ 0 };
	if (sym_object_open(&object, fd))
		return false;
	if (object->is64)
		sym_symtab_find(object, wanted, 2);
	sym_object_close(object);
	out->structs = wanted[0].address;
	out->types = wanted[1].address;
	return out->structs && out->types;
}

/* ---- what they say */

/* VMStructEntry and VMTypeEntry, which have not changed since JDK 7. */
struct entry {
	uint64_t type, field, field_type;
	int32_t is_static, unused;
	uint64_t offset, address;
};
struct type_entry {
	uint64_t name, super;
	int32_t is_oop, is_integer, is_unsigned, unused;
	uint64_t size;
};
enum { MOST_ENTRIES = 16384, AT_ONCE = 64, NAME_BYTES = 64 };

/* Which versions have a member: all of them, or those with addresses, or with offsets (jvm.h). */
enum style { BOTH, BY_ADDRESS, BY_OFFSET };

/* The members that are asked for, by the type that has them; also names that they had. */
static const struct wanted {
	const char *type, *field;
	enum jvm_field what;
	enum style style;
} wanted[] = {
	{ "CodeCache", "_heaps", JVM_CODE_HEAPS },
	{ "AbstractInterpreter", "_code", JVM_INTERPRETER },
	{ "StubRoutines", "_call_stub_return_address", JVM_CALL_STUB },
	{ "Abstract_VM_Version", "_vm_major_version", JVM_VERSION },
	{ "GrowableArrayBase", "_len", JVM_ARRAY_LENGTH },
	{ "GrowableArray<int>", "_data", JVM_ARRAY_DATA },
	{ "CodeHeap", "_memory", JVM_HEAP_MEMORY },
	{ "CodeHeap", "_segmap", JVM_HEAP_SEGMENTS },
	{ "CodeHeap", "_log2_segment_size", JVM_HEAP_SHIFT },
	{ "VirtualSpace", "_low_boundary", JVM_SPACE_LOW },
	{ "VirtualSpace", "_high_boundary", JVM_SPACE_HIGH },
	{ "StubQueue", "_stub_buffer", JVM_QUEUE_BUFFER },
	{ "StubQueue", "_buffer_limit", JVM_QUEUE_LIMIT },
	{ "CodeBlob", "_name", JVM_BLOB_NAME },
	{ "CodeBlob", "_code_begin", JVM_BLOB_CODE, BY_ADDRESS },
	{ "CodeBlob", "_frame_complete_offset", JVM_BLOB_COMPLETE },
	{ "CodeBlob", "_frame_size", JVM_BLOB_FRAME },
	{ "CompiledMethod", "_method", JVM_COMPILED_METHOD, BY_ADDRESS },
	{ "CompiledMethod", "_scopes_data_begin", JVM_COMPILED_SCOPES, BY_ADDRESS },
	{ "CompiledMethod", "_deopt_handler_begin", JVM_COMPILED_DEOPT, BY_ADDRESS },
	{ "nmethod", "_metadata_offset", JVM_COMPILED_METADATA, BY_ADDRESS },
	{ "CodeBlob", "_code_offset", JVM_BLOB_CODE, BY_OFFSET },
	{ "CodeBlob", "_mutable_data", JVM_BLOB_MUTABLE, BY_OFFSET },
	{ "CodeBlob", "_relocation_size", JVM_COMPILED_METADATA, BY_OFFSET },
	{ "nmethod", "_method", JVM_COMPILED_METHOD, BY_OFFSET },
	{ "nmethod", "_immutable_data", JVM_COMPILED_IMMUTABLE, BY_OFFSET },
	{ "nmethod", "_scopes_data_offset", JVM_COMPILED_SCOPES, BY_OFFSET },
	{ "nmethod", "_deopt_handler_offset", JVM_COMPILED_DEOPT, BY_OFFSET },
	{ "nmethod", "_deopt_handler_entry_offset", JVM_COMPILED_DEOPT, BY_OFFSET },
	{ "nmethod", "_scopes_pcs_offset", JVM_COMPILED_PCS },
	{ "nmethod", "_dependencies_offset", JVM_COMPILED_PCS_END, BY_ADDRESS },
	{ "nmethod", "_orig_pc_offset", JVM_COMPILED_ORIG_PC },
	{ "nmethod", "_compile_id", JVM_COMPILED_ID },
	{ "Method", "_constMethod", JVM_METHOD_CONST },
	{ "ConstMethod", "_constants", JVM_CONST_POOL },
	{ "ConstMethod", "_constMethod_size", JVM_CONST_BYTES },
	{ "ConstMethod", "_flags", JVM_CONST_FLAGS },
	{ "ConstMethod", "_flags._flags", JVM_CONST_FLAGS },
	{ "ConstMethod", "_code_size", JVM_CONST_CODE_BYTES },
	{ "ConstMethod", "_name_index", JVM_CONST_NAME },
	{ "ConstantPool", "_pool_holder", JVM_POOL_HOLDER },
	{ "ConstantPool", "_length", JVM_POOL_LENGTH },
	{ "ConstantPool", "_source_file_name_index", JVM_POOL_SOURCE },
	{ "Klass", "_name", JVM_KLASS_NAME },
	{ "Symbol", "_length", JVM_SYMBOL_LENGTH },
	{ "Symbol", "_body[0]", JVM_SYMBOL_TEXT },
};
#define WANTED (sizeof(wanted) / sizeof(wanted[0]))
#define NOT_FOUND UINT64_MAX

struct reader {
	const struct jvm_memory *memory;
	struct jvm_layout *layout;
	uint64_t found[WANTED];
	uint64_t type; /* the address of the last type's name, */
	char name[NAME_BYTES];
	bool of_interest; /*   and whether any member of it is wanted */
};

static void take_entry(struct reader *r, const struct entry *e)
{
	char field[NAME_BYTES];

	if (e->type != r->type) {
		record_jvm_read_text(r->memory, e->type, r->name, sizeof(r->name));
		r->type = e->type;
		r->of_interest = false;
		for (size_t i = 0; i < WANTED; i++)
			r->of_interest |= !strcmp(wanted[i].type, r->name);
	}
	if (!r->of_interest)
		return;
	if (e->is_static && e->address < r->memory->bias)
		return; /* not relocated yet */
	record_jvm_read_text(r->memory, e->field, field, sizeof(field));
	for (size_t i = 0; i < WANTED; i++)
		if (!strcmp(wanted[i].type, r->name) && !strcmp(wanted[i].field, field))
			r->found[i] = e->is_static ? e->address - r->memory->bias : e->offset;
}

static void take_type(struct reader *r, const struct type_entry *e)
{
	char name[NAME_BYTES];

	record_jvm_read_text(r->memory, e->name, name, sizeof(name));
	if (!strcmp(name, "HeapBlock"))
		r->layout->block_bytes = e->size;
	else if (!strcmp(name, "ConstMethod"))
		r->layout->const_bytes = e->size;
	else if (!strcmp(name, "ConstantPool"))
		r->layout->pool_bytes = e->size;
}

/* Entries up to the one without a name. */
static void read_structs(struct reader *r, uint64_t table)
{
	struct entry entries[AT_ONCE];

	for (unsigned int i = 0; i < MOST_ENTRIES; i += AT_ONCE, table += sizeof(entries)) {
		const size_t n = record_jvm_read(r->memory, table, entries, sizeof(entries)) /
				 sizeof(*entries);

		for (size_t k = 0; k < n; k++) {
			if (!entries[k].type)
				return;
			take_entry(r, &entries[k]);
		}
		if (n < AT_ONCE)
			return;
	}
}

static void read_types(struct reader *r, uint64_t table)
{
	struct type_entry entries[AT_ONCE];

	for (unsigned int i = 0; i < MOST_ENTRIES; i += AT_ONCE, table += sizeof(entries)) {
		const size_t n = record_jvm_read(r->memory, table, entries, sizeof(entries)) /
				 sizeof(*entries);

		for (size_t k = 0; k < n; k++) {
			if (!entries[k].name)
				return;
			take_type(r, &entries[k]);
		}
		if (n < AT_ONCE)
			return;
	}
}

static bool is_of(const struct wanted *w, const struct jvm_layout *l)
{
	return w->style == BOTH || w->style == (l->by_offset ? BY_OFFSET : BY_ADDRESS);
}

/* It is of one style as a whole. */
static void take_found(const uint64_t found[WANTED], struct jvm_layout *l)
{
	l->by_offset = true;
	for (size_t i = 0; i < WANTED; i++)
		if (wanted[i].what == JVM_BLOB_CODE && wanted[i].style == BY_ADDRESS)
			l->by_offset = found[i] == NOT_FOUND;
	for (size_t i = 0; i < WANTED; i++)
		if (found[i] != NOT_FOUND && is_of(&wanted[i], l))
			l->at[wanted[i].what] = found[i];
}

/* Offsets that the programs mask have to be below what is copied there, and aligned. */
static const char *find_fault(const struct jvm_layout *l)
{
	const uint64_t step = l->by_offset ? 4 : 8;
	const struct {
		enum jvm_field what;
		uint64_t below, step;
	} bounds[] = {
		{ JVM_BLOB_NAME, JVM_BLOB_LEAST, 8 },
		{ JVM_BLOB_CODE, JVM_BLOB_LEAST, step },
		{ JVM_BLOB_COMPLETE, JVM_BLOB_LEAST, 2 },
		{ JVM_BLOB_FRAME, JVM_BLOB_LEAST, 4 },
		{ JVM_COMPILED_DEOPT, JVM_BLOB_BYTES, step },
		{ JVM_COMPILED_ORIG_PC, JVM_BLOB_BYTES, 4 },
		{ JVM_COMPILED_ID, JVM_BLOB_BYTES, 4 },
	};

	for (size_t i = 0; i < WANTED; i++) {
		if (!is_of(&wanted[i], l))
			continue;
		if (l->at[wanted[i].what] == NOT_FOUND)
			return wanted[i].field;
		if (wanted[i].what >= JVM_ARRAY_LENGTH && l->at[wanted[i].what] > 4096)
			return "members within 4 KB";
	}
	for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++)
		if (l->at[bounds[i].what] >= bounds[i].below ||
		    l->at[bounds[i].what] % bounds[i].step)
			return "_name";
	if (!l->block_bytes || l->block_bytes > 64 || !l->const_bytes || l->const_bytes > 256 ||
	    !l->pool_bytes || l->pool_bytes > 256)
		return "sizes";
	return NULL;
}

int record_jvm_read_layout(const struct jvm_memory *m, const struct jvm_tables *tables,
			   struct jvm_layout *out, const char **missing)
{
	struct reader r = { .memory = m, .layout = out };
	uint64_t structs, types;
	int32_t version;

	memset(out, 0xff, sizeof(*out));
	if (!record_jvm_read_all(m, tables->structs + m->bias, &structs, sizeof(structs)) ||
	    !record_jvm_read_all(m, tables->types + m->bias, &types, sizeof(types)) ||
	    structs < m->bias || types < m->bias)
		return -EAGAIN;
	memset(r.found, 0xff, sizeof(r.found));
	read_structs(&r, structs);
	read_types(&r, types);
	take_found(r.found, out);
	out->version = 0;
	if (out->at[JVM_VERSION] != NOT_FOUND &&
	    record_jvm_read_all(m, out->at[JVM_VERSION] + m->bias, &version, sizeof(version)))
		out->version = (uint32_t)version;
	*missing = find_fault(out);
	return *missing ? -ENOENT : 0;
}
