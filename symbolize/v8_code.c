/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where in its source V8's code is: bytecode, what the baseline compiler has made of it, and
 * optimized code, in which other functions are inlined. Sources: src/codegen/source-position.h,
 * source-position-table.cc, src/baseline/bytecode-offset-iterator.h, deoptimization-data.h.
 */
#include <string.h>

#include "v8.h"

enum { OBJECT = 1, DATA = 16, MOST_BYTES = 1 << 20, MOST_WORDS = 1 << 16 };

/* ---- bytes of an object, a window at a time */

struct bytes {
	const struct sym_v8_memory *m;
	uint64_t at, end; /* of what is not in the window yet */
	size_t next, n;
	uint8_t window[512];
};

static bool take_byte(struct bytes *b, uint8_t *out)
{
	if (b->next == b->n) {
		const uint64_t left = b->end - b->at;

		b->n = left < sizeof(b->window) ? (size_t)left : sizeof(b->window);
		b->next = 0;
		if (!b->n || !b->m->read(b->m->ctx, b->at, b->window, b->n)) {
			b->n = 0;
			b->end = b->at;
			return false;
		}
		b->at += b->n;
	}
	*out = b->window[b->next++];
	return true;
}

/* Seven bits a byte, the lowest first; false at the end. */
static bool take_number(struct bytes *b, uint64_t *out)
{
	uint64_t value = 0;
	uint8_t byte = 0;

	for (unsigned int shift = 0; take_byte(b, &byte); shift += 7) {
		if (shift < 64)
			value |= (uint64_t)(byte & 127) << shift;
		if (!(byte & 128)) {
			*out = value;
			return true;
		}
	}
	return false;
}

static bool take_signed(struct bytes *b, int64_t *out)
{
	uint64_t value;

	if (!take_number(b, &value))
		return false;
	*out = (int64_t)(value >> 1 ^ (0 - (value & 1)));
	return true;
}

static bool open_bytes(const struct sym_v8_memory *m, const struct sym_v8_layout *l,
		       uint64_t object, struct bytes *b)
{
	const int type = sym_v8_type(m, object);
	uint64_t length;

	if (type < 0 || (type != l->type_bytes && type != l->type_trusted_bytes) ||
	    !sym_v8_word(m, object - OBJECT + 8, &length) || length >> 32 > MOST_BYTES)
		return false;
	b->m = m;
	b->at = object - OBJECT + DATA;
	b->end = b->at + (length >> 32);
	b->next = b->n = 0;
	return true;
}

/* ---- positions */

/*
 * A position: a bit for another kind, 30 bits of 1 + the number of the character in the source, 16
 * of 1 + the number of the inlined call that it is in.
 */
static int32_t character(uint64_t position)
{
	return position & 1 ? -1 : (int32_t)(position >> 1 & 0x3fffffff) - 1;
}

static int32_t inlined_call(uint64_t position)
{
	return (int32_t)(position >> 31 & 0xffff) - 1;
}

/* The last position at or before the offset in the code; each differs from the one before. */
static bool position_at(const struct sym_v8_memory *m, const struct sym_v8_layout *l,
			uint64_t table, uint64_t offset, uint64_t *out)
{
	int64_t code = -1, position = 0, step, move; /* -1 is the entry of the function */
	bool found = false;
	struct bytes b;

	if (!open_bytes(m, l, table, &b))
		return false;
	while (take_signed(&b, &step) && take_signed(&b, &move)) {
		code = (int64_t)((uint64_t)code + (uint64_t)(step < 0 ? -(step + 1) : step));
		position = (int64_t)((uint64_t)position + (uint64_t)move);
		if (code > (int64_t)offset)
			break;
		*out = (uint64_t)position;
		found = true;
	}
	return found;
}

/* ---- bytecode */

static bool read_member(const struct sym_v8_memory *m, uint64_t object, uint16_t offset,
			uint64_t *out)
{
	return (object & 3) == OBJECT && sym_v8_word(m, object - OBJECT + offset, out);
}

/* From what a function's code is, or what that is of, to its bytecode. */
static uint64_t find_bytecode(const struct sym_v8_memory *m, const struct sym_v8_layout *l,
			      uint64_t object)
{
	for (int i = 0; i < 3; i++) {
		const int type = sym_v8_type(m, object);

		if (type < 0 || type == l->type_bytecode)
			return type < 0 ? 0 : object;
		if (!read_member(m, object, type == l->type_code ? l->code_deopt : 8, &object) ||
		    (type != l->type_code && type != l->type_interpreter_data))
			return 0;
	}
	return 0;
}

static int32_t bytecode_position(const struct sym_v8_memory *m, const struct sym_v8_layout *l,
				 uint64_t bytecode, uint64_t offset)
{
	uint64_t table, position;

	if (!read_member(m, bytecode, l->bytecode_positions, &table) ||
	    !position_at(m, l, table, offset, &position))
		return -1;
	return character(position);
}

struct sym_v8_place sym_v8_interpreted(const struct sym_v8_memory *m, const struct sym_v8_layout *l,
				       uint64_t shared, uint64_t offset)
{
	struct sym_v8_place place = { shared, -1 };
	const uint64_t first = l->bytecode_data - OBJECT; /* it counts from the tagged address */
	uint64_t data, bytecode;

	if (offset < first || !read_member(m, shared, l->shared_data, &data))
		return place;
	bytecode = find_bytecode(m, l, data);
	if (bytecode)
		place.position = bytecode_position(m, l, bytecode, offset - first);
	return place;
}

/* ---- baseline code: how many bytes of it each bytecode has become, the prologue first */

/* Goes over one bytecode. Wide and ExtraWide make the next one's operands wider. */
static bool take_bytecode(struct bytes *b, const struct sym_v8_layout *l, uint32_t *offset)
{
	enum { WIDE, EXTRA_WIDE, DEBUG_WIDE, DEBUG_EXTRA_WIDE };
	unsigned int width = 0, size;
	uint8_t op, unused;

	if (!take_byte(b, &op))
		return false;
	if (op <= DEBUG_EXTRA_WIDE) {
		width = op == WIDE || op == DEBUG_WIDE ? 1 : 2;
		++*offset;
		if (!take_byte(b, &op))
			return false;
	}
	if (op >= l->bytecodes)
		return false;
	size = l->bytecode_bytes[width][op];
	*offset += size;
	while (size-- > 1)
		if (!take_byte(b, &unused))
			return false;
	return true;
}

static bool open_bytecode(const struct sym_v8_memory *m, const struct sym_v8_layout *l,
			  uint64_t bytecode, struct bytes *b)
{
	uint64_t length;

	if (!read_member(m, bytecode, 8, &length) || length >> 32 > MOST_BYTES)
		return false;
	b->m = m;
	b->at = bytecode - OBJECT + l->bytecode_data;
	b->end = b->at + (length >> 32);
	b->next = b->n = 0;
	return true;
}

static int32_t baseline_position(const struct sym_v8_memory *m, const struct sym_v8_layout *l,
				 uint64_t bytecode, uint64_t table, uint64_t offset)
{
	uint64_t end = 0, more;
	uint32_t at = 0, next = 0;
	struct bytes sizes, code;

	if (!l->bytecodes || !open_bytes(m, l, table, &sizes) ||
	    !open_bytecode(m, l, bytecode, &code) || !take_number(&sizes, &end))
		return -1;
	while (end < offset) {
		at = next;
		if (!take_bytecode(&code, l, &next) || !take_number(&sizes, &more))
			return -1;
		end += more;
	}
	return bytecode_position(m, l, bytecode, at);
}

/* ---- compiled code */

struct code {
	uint64_t object, start;
	uint32_t size, flags;
};

/* Is what begins here the object that has the instructions at the address? */
static bool is_code(const struct sym_v8_memory *m, const struct sym_v8_layout *l, uint64_t begin,
		    struct code *c)
{
	c->object = begin + OBJECT;
	if (sym_v8_type(m, c->object) != l->type_stream)
		return false;
	if (l->stream_code && (!sym_v8_word(m, begin + l->stream_code, &c->object) ||
			       sym_v8_type(m, c->object) != l->type_code))
		return false;
	c->start = begin + l->code_inline;
	if (l->code_start && !read_member(m, c->object, l->code_start, &c->start))
		return false;
	return c->start >= begin && c->start - begin < 4096 &&
	       m->read(m->ctx, c->object - OBJECT + l->code_size, &c->size, sizeof(c->size)) &&
	       m->read(m->ctx, c->object - OBJECT + l->code_flags, &c->flags, sizeof(c->flags));
}

/* FEW: the address may be no code of V8 at all. */
enum { MOST_PAGES = 256, FEW_PAGES = 16 };

/*
 * Searches backwards for it: a pointer to a map of its type is where it begins. All code of a
 * process has one map: where the address may be anything no other is asked for, once it is known.
 */
static bool find_code(const struct sym_v8_memory *m, const struct sym_v8_layout *l,
		      uint64_t address, int pages, struct code *c)
{
	enum { PAGE = 4096 };
	uint64_t words[PAGE / 8], page = address & -(uint64_t)PAGE;
	uint64_t unkept = 0, *map = m->code_map ? m->code_map : &unkept;
	const uint64_t only = pages == FEW_PAGES ? *map : 0;
	size_t n = (address - page) / 8 + 1;

	if (m->no_code)
		return false;
	for (int i = 0; i < pages && m->read(m->ctx, page, words, 8 * n); i++, page -= PAGE) {
		for (size_t w = n; w-- > 0;) {
			if ((words[w] & 7) != OBJECT || words[w] >> 47 || words[w] < 1 << 20 ||
			    (only && words[w] != only) || !is_code(m, l, page + 8 * w, c))
				continue;
			if (address < c->start || address - c->start > c->size)
				return false;
			*map = words[w];
			return true;
		}
		n = PAGE / 8;
	}
	return false;
}

/* DeoptimizationData: an array, in which these are. */
enum { DEOPT_LITERALS = 2, DEOPT_SHARED = 6, DEOPT_INLINED = 7, DEOPT_LEAST = 8 };

/* Calls inlined in each other; a process that lies may say that they go round in a circle. */
#define MOST_DEPTH 64

/* Element i of an array; 0: it has none. */
static uint64_t element(const struct sym_v8_memory *m, uint64_t array, uint64_t i)
{
	uint64_t length, word;

	if (!read_member(m, array, 8, &length) || i >= length >> 32 || i > MOST_WORDS ||
	    !sym_v8_word(m, array - OBJECT + DATA + 8 * i, &word))
		return 0;
	return word;
}

/* An inlined call: where it is, itself perhaps in an inlined function, and what it calls. */
struct inlined {
	uint64_t position;
	int32_t function; /* a literal; -1: the one that was compiled */
	uint32_t unused;
};

static bool read_inlined(const struct sym_v8_memory *m, uint64_t array, int32_t i,
			 struct inlined *out)
{
	uint64_t length;

	return read_member(m, array, 8, &length) && (uint64_t)i < (length >> 32) / sizeof(*out) &&
	       m->read(m->ctx, array - OBJECT + DATA + (uint64_t)i * sizeof(*out), out,
		       sizeof(*out));
}

static size_t optimized(const struct sym_v8_memory *m, const struct sym_v8_layout *l,
			const struct code *c, uint64_t offset, struct sym_v8_place *out, size_t max)
{
	uint64_t deopt, table, position, literals, calls;
	struct inlined call;
	size_t n = 0;

	if (!read_member(m, c->object, l->code_deopt, &deopt))
		return 0;
	out[0] = (struct sym_v8_place){ element(m, deopt, DEOPT_SHARED), -1 };
	if (sym_v8_type(m, out[0].shared) != l->type_shared)
		return 0;
	if (!read_member(m, c->object, l->code_positions, &table) ||
	    !position_at(m, l, table, offset, &position))
		return 1;
	literals = element(m, deopt, DEOPT_LITERALS);
	calls = element(m, deopt, DEOPT_INLINED);
	for (int depth = 0; depth < MOST_DEPTH && n + 1 < max && inlined_call(position) >= 0 &&
			    read_inlined(m, calls, inlined_call(position), &call);
	     depth++) {
		const uint64_t shared =
			call.function < 0 ? 0 : element(m, literals, (uint32_t)call.function);

		if (sym_v8_type(m, shared) == l->type_shared)
			out[n++] = (struct sym_v8_place){ shared, character(position) };
		position = call.position;
	}
	out[n++] = (struct sym_v8_place){ element(m, deopt, DEOPT_SHARED), character(position) };
	return n;
}

size_t sym_v8_compiled(const struct sym_v8_memory *m, const struct sym_v8_layout *l,
		       uint64_t shared, uint64_t address, struct sym_v8_place *out, size_t max)
{
	uint64_t bytecode, table;
	struct code c;

	if (!max || !find_code(m, l, address - 1, MOST_PAGES, &c))
		return 0;
	if ((c.flags & l->code_kind_mask) != l->code_kind_baseline)
		return optimized(m, l, &c, address - 1 - c.start, out, max);
	if (!read_member(m, c.object, l->code_deopt, &bytecode) ||
	    !read_member(m, c.object, l->code_positions, &table))
		return 0;
	bytecode = find_bytecode(m, l, bytecode);
	out[0] = (struct sym_v8_place){ shared, -1 };
	if (bytecode)
		out[0].position = baseline_position(m, l, bytecode, table, address - c.start);
	return 1;
}

#define KIND_REGEXP 3 /* CodeKind::REGEXP of all three */

size_t sym_v8_innermost(const struct sym_v8_memory *m, const struct sym_v8_layout *l, uint64_t pc,
			struct sym_v8_place *out, size_t max, bool *is_regexp)
{
	struct code c;
	uint32_t kind;

	*is_regexp = false;
	if (!max || !find_code(m, l, pc, FEW_PAGES, &c))
		return 0;
	kind = c.flags & l->code_kind_mask;
	*is_regexp = kind == KIND_REGEXP;
	return *is_regexp || kind == l->code_kind_baseline
		       ? 0
		       : optimized(m, l, &c, pc - c.start, out, max);
}
