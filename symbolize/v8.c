/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * V8's strings, functions and scripts. Sources: src/objects/string.h, shared-function-info.tq,
 * scope-info.tq, script.tq of V8 10.2, 11.3 and 12.4.
 */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

#include "utf8.h"
#include "v8.h"

enum { OBJECT = 1, MAP_TYPE = 12, NOT_A_STRING = 128 };

static bool is_object(uint64_t word)
{
	return (word & 3) == OBJECT;
}

bool sym_v8_word(const struct sym_v8_memory *m, uint64_t address, uint64_t *out)
{
	return m->read(m->ctx, address, out, sizeof(*out));
}

/*
 * Of an object that the collector has moved, the first word is where it is now, without a tag;
 * until all are moved, the others stand where they stood.
 */
int sym_v8_type(const struct sym_v8_memory *m, uint64_t object)
{
	uint16_t type;
	uint64_t map;

	if (!is_object(object) || !sym_v8_word(m, object - OBJECT, &map) ||
	    (map && !(map & 3) && !sym_v8_word(m, map, &map)) || !is_object(map) ||
	    !m->read(m->ctx, map - OBJECT + MAP_TYPE, &type, sizeof(type)))
		return -1;
	return type;
}

static bool member(const struct sym_v8_memory *m, uint64_t object, uint16_t offset, uint64_t *out)
{
	return is_object(object) && sym_v8_word(m, object - OBJECT + offset, out);
}

/* ---- strings */

/* Where the characters of a string go, some at a time. */
struct sink {
	const struct sym_v8_memory *m;
	/* n characters of so many bytes; false: that is enough */
	bool (*take)(struct sink *s, const uint8_t *characters, size_t n, unsigned int width);
	unsigned int steps; /* that are left */
};

enum { SEQUENCE, CONS, EXTERNAL, SLICED, THIN = 5, FORM = 7, ONE_BYTE = 8, UNCACHED = 16 };
enum { MOST_STEPS = 1 << 16, MOST_DEPTH = 64, CHUNK = 4096 };

/* The head of a string: its map, hash and length, and two words of which its form says what. */
struct string_head {
	uint64_t map;
	uint32_t hash;
	int32_t length;
	uint64_t words[2];
};

static bool take_flat(struct sink *s, uint64_t address, uint32_t n, unsigned int width)
{
	uint8_t chunk[CHUNK];

	while (n) {
		const uint32_t some = n < CHUNK / width ? n : CHUNK / width;

		if (!s->m->read(s->m->ctx, address, chunk, (size_t)some * width) ||
		    !s->take(s, chunk, some, width))
			return false;
		address += (uint64_t)some * width;
		n -= some;
	}
	return true;
}

static bool take_string(struct sink *s, uint64_t string, uint32_t from, uint32_t n,
			unsigned int depth);

static bool take_cons(struct sink *s, const struct string_head *h, uint32_t from, uint32_t n,
		      unsigned int depth)
{
	struct string_head first;
	uint32_t length, some;

	if (!is_object(h->words[0]) || !s->m->read(s->m->ctx, h->words[0] - OBJECT, &first, 16) ||
	    first.length < 0)
		return false;
	length = (uint32_t)first.length;
	some = from >= length ? 0 : n < length - from ? n : length - from;
	if (some && !take_string(s, h->words[0], from, some, depth + 1))
		return false;
	return n == some || take_string(s, h->words[1], from + some - length, n - some, depth + 1);
}

/* n characters of it from one on; false: it is no string, or enough. */
static bool take_string(struct sink *s, uint64_t string, uint32_t from, uint32_t n,
			unsigned int depth)
{
	const int type = sym_v8_type(s->m, string);
	const unsigned int width = type & ONE_BYTE ? 1 : 2;
	struct string_head h;

	if (type < 0 || type >= NOT_A_STRING || depth > MOST_DEPTH || !s->steps ||
	    !s->m->read(s->m->ctx, string - OBJECT, &h, sizeof(h)) || h.length < 0 ||
	    from > (uint32_t)h.length || n > (uint32_t)h.length - from)
		return false;
	s->steps--;
	switch (type & FORM) {
	case SEQUENCE:
		return take_flat(s, string - OBJECT + 16 + (uint64_t)from * width, n, width);
	case EXTERNAL:
		return !(type & UNCACHED) &&
		       take_flat(s, h.words[1] + (uint64_t)from * width, n, width);
	case CONS:
		return take_cons(s, &h, from, n, depth);
	case SLICED:
		return take_string(s, h.words[0], from + (uint32_t)(h.words[1] >> 32), n,
				   depth + 1);
	case THIN:
		return take_string(s, h.words[0], from, n, depth + 1);
	default:
		return false;
	}
}

static bool string_length(const struct sym_v8_memory *m, uint64_t string, uint32_t *out)
{
	const int type = sym_v8_type(m, string);
	int32_t length;

	if (type < 0 || type >= NOT_A_STRING ||
	    !m->read(m->ctx, string - OBJECT + offsetof(struct string_head, length), &length,
		     sizeof(length)) ||
	    length < 0)
		return false;
	*out = (uint32_t)length;
	return true;
}

struct text {
	struct sink sink;
	char *at, *end; /* the NUL has its place behind the end */
	uint32_t high;	/* a first half of a character, which waits for the second */
};

static bool put(struct text *t, uint32_t c)
{
	if (t->end - t->at < 4)
		return false;
	t->at = sym_put_utf8(t->at, c);
	return true;
}

static bool take_text(struct sink *s, const uint8_t *characters, size_t n, unsigned int width)
{
	struct text *t = (struct text *)s;

	for (size_t i = 0; i < n; i++) {
		uint32_t c = characters[i * width] |
			     (width == 2 ? (uint32_t)characters[2 * i + 1] << 8 : 0);

		if (t->high && (c & 0xfc00) == 0xdc00)
			c = 0x10000 + ((t->high & 0x3ff) << 10) + (c & 0x3ff);
		else if (t->high && !put(t, t->high))
			return false;
		t->high = (c & 0x1ffc00) == 0xd800 ? c : 0;
		if (!t->high && !put(t, c))
			return false;
	}
	return true;
}

static bool read_text(const struct sym_v8_memory *m, uint64_t string, char *out, size_t size)
{
	struct text t = { { m, take_text, MOST_STEPS }, out, out + size - 1, 0 };
	uint32_t n;

	*out = '\0';
	if (!string_length(m, string, &n))
		return false;
	take_string(&t.sink, string, 0, n, 0); /* what does not fit is cut */
	*t.at = '\0';
	return true;
}

/* ---- functions */

/* As programs/shared/v8.c does. */
bool sym_v8_check(const struct sym_v8_memory *m, uint64_t shared, uint32_t *check)
{
	uint64_t hash = 0, words[5], three[3];

	if (!is_object(shared) || !m->read(m->ctx, shared - OBJECT + 16, words, sizeof(words)))
		return false;
	three[0] = words[0];
	three[1] = words[2];
	three[2] = words[4] >> 32;
	for (int i = 0; i < 3; i++) {
		hash = (hash ^ three[i]) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 32;
	}
	*check = (uint32_t)(hash & ((1u << 26) - 1));
	return true;
}

/* ScopeInfo: flags (a number), parameters, n local variables, and what the flags say. */
enum {
	SCOPE_TYPE = 15,
	SCOPE_MODULE = 3,
	SAVED_CLASS_VARIABLE = 1 << 10,
	FUNCTION_VARIABLE = 3 << 12,
	INFERRED_NAME = 1 << 14,
	MOST_LOCALS_INLINE = 75,
	SCOPE_FLAGS = 8,
	SCOPE_LOCALS = 24,
	SCOPE_REST = 32
};

/* The offsets of its function's name and of the one that was inferred; 0: it has none. */
static void find_names(uint64_t flags, uint64_t locals, uint64_t *name, uint64_t *inferred)
{
	uint64_t at = SCOPE_REST + ((flags & SCOPE_TYPE) == SCOPE_MODULE ? 8 : 0);

	at += 8 * (locals < MOST_LOCALS_INLINE ? locals : 1) + 8 * locals;
	at += flags & SAVED_CLASS_VARIABLE ? 8 : 0;
	*name = flags & FUNCTION_VARIABLE ? at : 0;
	at += *name ? 16 : 0;
	*inferred = flags & INFERRED_NAME ? at : 0;
}

bool sym_v8_name(const struct sym_v8_memory *m, const struct sym_v8_layout *l, uint64_t shared,
		 char *out, size_t size)
{
	uint64_t info, flags, locals, at[2], string;
	int type;

	*out = '\0';
	if (sym_v8_type(m, shared) != l->type_shared || !member(m, shared, l->shared_name, &info))
		return false;
	type = sym_v8_type(m, info);
	if (type != l->type_scope) {
		read_text(m, info, out, size);
		return true;
	}
	if (!member(m, info, SCOPE_FLAGS, &flags) || !member(m, info, SCOPE_LOCALS, &locals))
		return true;
	find_names(flags >> 32, locals >> 32, &at[0], &at[1]);
	for (int i = 0; i < 2 && !*out; i++)
		if (at[i] && sym_v8_word(m, info - OBJECT + at[i], &string))
			read_text(m, string, out, size);
	return true;
}

/* ---- scripts */

uint64_t sym_v8_script(const struct sym_v8_memory *m, const struct sym_v8_layout *l,
		       uint64_t shared, uint64_t *source)
{
	uint64_t script;

	if (!member(m, shared, l->shared_script, &script) ||
	    sym_v8_type(m, script) != l->type_script ||
	    !member(m, script, l->script_source, source))
		return 0;
	return script;
}

bool sym_v8_script_name(const struct sym_v8_memory *m, const struct sym_v8_layout *l,
			uint64_t script, char *out, size_t size)
{
	uint64_t name;

	*out = '\0';
	return member(m, script, l->script_name, &name) && read_text(m, name, out, size);
}

struct line_ends {
	struct sink sink;
	uint32_t *ends;
	size_t n, capacity;
	uint32_t at;
	bool after_cr; /* which a line feed may follow */
};

/* Of 16 characters each, in the largest source that is read. */
enum { MOST_LINES = 4 << 20 };

static bool end_line(struct line_ends *e, uint32_t at)
{
	return e->n < MOST_LINES && !RP_PUSH(e->ends, e->n, e->capacity, at);
}

/* What ends a line: ECMA-262, LineTerminatorSequence. */
static bool take_lines(struct sink *s, const uint8_t *characters, size_t n, unsigned int width)
{
	struct line_ends *e = (struct line_ends *)s;

	for (size_t i = 0; i < n; i++, e->at++) {
		const uint32_t c = characters[i * width] |
				   (width == 2 ? (uint32_t)characters[2 * i + 1] << 8 : 0);

		if (e->after_cr && c != '\n' && !end_line(e, e->at - 1))
			return false;
		e->after_cr = c == '\r';
		if ((c == '\n' || c == 0x2028 || c == 0x2029) && !end_line(e, e->at))
			return false;
	}
	return true;
}

#define MOST_SOURCE (64u << 20)

bool sym_v8_lines(const struct sym_v8_memory *m, const struct sym_v8_layout *l, uint64_t script,
		  struct sym_v8_lines *out)
{
	struct line_ends e = { .sink = { m, take_lines, MOST_STEPS } };
	uint64_t source, first;
	uint32_t length;

	if (!member(m, script, l->script_source, &source) ||
	    !member(m, script, l->script_line_offset, &first) ||
	    !string_length(m, source, &length) || length > MOST_SOURCE ||
	    !take_string(&e.sink, source, 0, length, 0) || !end_line(&e, length)) {
		free(e.ends);
		return false;
	}
	*out = (struct sym_v8_lines){ e.ends, (uint32_t)e.n, 1 + (uint32_t)(first >> 32) };
	return true;
}

uint32_t sym_v8_line(const struct sym_v8_lines *lines, int32_t position)
{
	uint32_t low = 0, high = lines->n;

	if (position < 0)
		return 0;
	while (low < high) { /* the first line that does not end before it */
		const uint32_t middle = low + (high - low) / 2;

		if (lines->ends[middle] < (uint32_t)position)
			low = middle + 1;
		else
			high = middle;
	}
	return low < lines->n ? lines->first + low : 0;
}
