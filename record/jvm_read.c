/* SPDX-License-Identifier: BSD-2-Clause */
/* Methods and compiled code in the memory of a process: what they are, where a pc is in them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/jvm.h"

#include "jvm.h"

enum {
	TEXT_BYTES = 1024, /* of a name; the rest is cut */
	LINES_BYTES = 65536,
	HAS_LINES = 1,	      /* ConstMethod: _has_linenumber_table */
	EXCLUDED_SINCE = 20,  /* the compression of numbers was another one before */
	COMPILED_BYTES = 512, /* of an nmethod: its members */
	MOST_PCS = 1 << 16,
	SCOPE_BYTES = 16, /* three numbers */
};

static unsigned int excluded_by(const struct jvm_layout *l)
{
	return l->version >= EXCLUDED_SINCE;
}

static bool read_word(const struct jvm_memory *m, uint64_t address, uint64_t *out)
{
	return record_jvm_read_all(m, address, out, sizeof(*out));
}

static uint64_t field(const void *bytes, uint64_t offset, size_t size)
{
	uint64_t value = 0;

	memcpy(&value, (const char *)bytes + offset, size);
	return value;
}

/* The characters of a Symbol; false: there are none. */
static bool read_symbol(const struct jvm_memory *m, const struct jvm_layout *l, uint64_t symbol,
			char out[TEXT_BYTES])
{
	uint16_t n;

	if (!symbol || !record_jvm_read_all(m, symbol + l->at[JVM_SYMBOL_LENGTH], &n, sizeof(n)) ||
	    !n)
		return false;
	if (n >= TEXT_BYTES)
		n = TEXT_BYTES - 1;
	if (!record_jvm_read_all(m, symbol + l->at[JVM_SYMBOL_TEXT], out, n))
		return false;
	out[n] = '\0';
	return true;
}

/* The Symbol that an entry of a constant pool is; its lowest bit is a mark. */
static bool read_entry(const struct jvm_memory *m, const struct jvm_layout *l, uint64_t pool,
		       uint64_t index, char out[TEXT_BYTES])
{
	uint32_t length;
	uint64_t symbol;

	return index && record_jvm_read_all(m, pool + l->at[JVM_POOL_LENGTH], &length, 4) &&
	       index < length && read_word(m, pool + l->pool_bytes + 8 * index, &symbol) &&
	       read_symbol(m, l, symbol & ~1ull, out);
}

static int read_lines(const struct jvm_memory *m, const struct jvm_layout *l, uint64_t const_method,
		      uint64_t all_bytes, struct jvm_method *out)
{
	const uint64_t before = l->const_bytes + out->code_bytes;
	size_t n = all_bytes > before ? all_bytes - before : 0;

	if (n > LINES_BYTES)
		n = LINES_BYTES;
	out->lines = calloc(1, n + 1);
	if (!out->lines)
		return -ENOMEM;
	out->nlines = (uint32_t)n;
	record_jvm_read(m, const_method + before, out->lines, n); /* zeroes end them */
	return 0;
}

int record_jvm_read_method(const struct jvm_memory *m, const struct jvm_layout *l, uint64_t method,
			   uint64_t const_method, struct jvm_method *out)
{
	char name[TEXT_BYTES], klass[TEXT_BYTES], source[TEXT_BYTES];
	uint8_t bytes[256 + 8];
	uint64_t pool, holder, symbol, now;
	uint16_t index;
	int err = 0;

	*out = (struct jvm_method){ .excluded = excluded_by(l) };
	if (!read_word(m, method + l->at[JVM_METHOD_CONST], &now))
		return -ESRCH;
	if (!const_method)
		const_method = now;
	if (now != const_method || l->at[JVM_CONST_NAME] > 254 || l->at[JVM_CONST_POOL] > 248 ||
	    l->at[JVM_CONST_BYTES] > 252 || l->at[JVM_CONST_CODE_BYTES] > 254 ||
	    l->at[JVM_CONST_FLAGS] > 254 ||
	    !record_jvm_read_all(m, const_method, bytes, l->const_bytes))
		return -ESRCH;
	pool = field(bytes, l->at[JVM_CONST_POOL], 8);
	if (!read_entry(m, l, pool, field(bytes, l->at[JVM_CONST_NAME], 2), name) ||
	    !read_word(m, pool + l->at[JVM_POOL_HOLDER], &holder) ||
	    !read_word(m, holder + l->at[JVM_KLASS_NAME], &symbol) ||
	    !read_symbol(m, l, symbol, klass))
		return -ESRCH;
	out->name = sym_jvm_name(klass, name);
	if (record_jvm_read_all(m, pool + l->at[JVM_POOL_SOURCE], &index, sizeof(index)) &&
	    read_entry(m, l, pool, index, source)) {
		out->file = sym_jvm_file(klass, source);
		err = out->file ? 0 : -ENOMEM;
	}
	out->code_bytes = (uint32_t)field(bytes, l->at[JVM_CONST_CODE_BYTES], 2);
	if (!err && field(bytes, l->at[JVM_CONST_FLAGS], 2) & HAS_LINES)
		err = read_lines(m, l, const_method, 8 * field(bytes, l->at[JVM_CONST_BYTES], 4),
				 out);
	return out->name ? err : -ENOMEM;
}

/* ---- compiled code */

/* The members of an nmethod that its debug information is found by. */
struct compiled {
	uint64_t method, code, scopes, metadata, pcs;
	size_t npcs;
};

/* Numbers that all lie in the bytes of an nmethod; with by_offset two of them are not asked for. */
static bool fits_compiled(const struct jvm_layout *l)
{
	static const enum jvm_field words[] = { JVM_COMPILED_METHOD,	JVM_COMPILED_SCOPES,
						JVM_COMPILED_METADATA,	JVM_COMPILED_PCS,
						JVM_COMPILED_PCS_END,	JVM_BLOB_MUTABLE,
						JVM_COMPILED_IMMUTABLE, JVM_BLOB_CODE };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (l->at[words[i]] != UINT64_MAX && l->at[words[i]] > COMPILED_BYTES - 8)
			return false;
	return true;
}

static bool read_compiled(const struct jvm_memory *m, const struct jvm_layout *l, uint64_t at,
			  uint32_t id, struct compiled *out)
{
	uint8_t bytes[COMPILED_BYTES] = { 0 };
	uint64_t pcs, end;

	if (!fits_compiled(l) || record_jvm_read(m, at, bytes, sizeof(bytes)) < JVM_BLOB_BYTES ||
	    (field(bytes, l->at[JVM_COMPILED_ID], 4) & JVM_ID_MASK) != id)
		return false;
	pcs = field(bytes, l->at[JVM_COMPILED_PCS], 4);
	if (l->by_offset) {
		const uint64_t kept = field(bytes, l->at[JVM_COMPILED_IMMUTABLE], 8);

		end = field(bytes, l->at[JVM_COMPILED_SCOPES], 4);
		out->code = at + field(bytes, l->at[JVM_BLOB_CODE], 4);
		out->scopes = kept + end;
		out->metadata = field(bytes, l->at[JVM_BLOB_MUTABLE], 8);
		out->pcs = kept + pcs;
	} else {
		end = field(bytes, l->at[JVM_COMPILED_PCS_END], 4);
		out->code = field(bytes, l->at[JVM_BLOB_CODE], 8);
		out->scopes = field(bytes, l->at[JVM_COMPILED_SCOPES], 8);
		out->metadata = at;
		out->pcs = at + pcs;
	}
	out->metadata += field(bytes, l->at[JVM_COMPILED_METADATA], 4);
	out->method = field(bytes, l->at[JVM_COMPILED_METHOD], 8);
	out->npcs = end > pcs ? (end - pcs) / sizeof(struct sym_jvm_pc) : 0;
	return out->npcs <= MOST_PCS && out->code > at;
}

/*
 * The scope that a pc is in; 0: none. It is that of a return address, or of the next row behind a
 * pc that has one, else before it. Rows ascend, and few of them are read; in no order they are any.
 */
static uint32_t find_scope(const struct jvm_memory *m, const struct compiled *c, int32_t offset,
			   bool is_return)
{
	const int32_t least = is_return ? offset : offset + 1;
	struct sym_jvm_pc row;
	int32_t before = 0, behind = 0;
	size_t first = 0, end = c->npcs;

	while (first < end) {
		const size_t middle = first + (end - first) / 2;

		if (!record_jvm_read_all(m, c->pcs + middle * sizeof(row), &row, sizeof(row)))
			return 0;
		if (row.offset < least) {
			first = middle + 1;
			before = row.scope;
		} else {
			end = middle;
			behind = row.scope;
		}
	}
	/* The last row, and the first, belong to no code. */
	if (behind <= 0)
		behind = is_return || before < 0 ? 0 : before;
	return (uint32_t)behind;
}

size_t record_jvm_read_scopes(const struct jvm_memory *m, const struct jvm_layout *l,
			      uint64_t compiled, uint32_t id, uint32_t offset, bool is_return,
			      struct jvm_place *out, size_t max)
{
	struct sym_jvm_scope scope;
	struct compiled c;
	size_t n = 0;

	if (!read_compiled(m, l, compiled, id, &c))
		return 0;
	scope.caller = find_scope(m, &c, (int32_t)(compiled + offset - c.code), is_return);
	while (n < max && scope.caller) {
		uint8_t bytes[SCOPE_BYTES];
		struct sym_jvm_stream s = { bytes, bytes, excluded_by(l) };

		s.end += record_jvm_read(m, c.scopes + scope.caller, bytes, sizeof(bytes));
		if (!sym_jvm_scope(&s, &scope) || !scope.method ||
		    !read_word(m, c.metadata + 8ull * (scope.method - 1), &out[n].method))
			break;
		out[n++].bci = scope.bci;
	}
	if (!n)
		out[n++] = (struct jvm_place){ .method = c.method, .bci = -1 };
	return n;
}
