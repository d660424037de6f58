/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a register holds, as the verifier writes it: "5", "scalar(umax=7,var_off=(0x0; 0x7))",
 * "map_value(map=counts,ks=4,vs=8,off=4)", "fp-16", and since Linux 5.4 in several spellings.
 * Attributes are read by name, so that those which come with newer kernels do no harm.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "vlog.h"

/* ---- one attribute: "off=8", or "smin=smin32=0" */

struct attribute {
	const char *key, *value;
	size_t key_len, value_len; /* of all keys together, up to the last '=' */
};

static bool is_key(const struct attribute *a, const char *name)
{
	const size_t n = strlen(name);
	const char *at = a->key, *end = a->key + a->key_len;

	while (at < end) {
		const char *eq = memchr(at, '=', (size_t)(end - at));
		const char *stop = eq ? eq : end;
		size_t len = (size_t)(stop - at);

		/* Before Linux 5.18 "umax_value", and "u32_max_value" for "umax32". */
		if (len > 6 && !memcmp(stop - 6, "_value", 6) && memcmp(at, "map_", 4) != 0)
			len -= 6;
		if (len == 7 && n == 6 && !memcmp(at + 1, "32_", 3))
			if (*at == *name && !memcmp(at + 4, name + 1, 3) &&
			    !strncmp(name + 4, "32", 2))
				return true;
		if (len == n && !memcmp(at, name, n))
			return true;
		at = stop + 1;
	}
	return false;
}

/* The number that the text begins with, which is one of 64 bits, signed or not. */
static uint64_t number_at(const char *text, size_t len)
{
	char copy[32];

	len = len < sizeof(copy) - 1 ? len : sizeof(copy) - 1;
	memcpy(copy, text, len);
	copy[len] = '\0';
	return copy[0] == '-' ? (uint64_t)strtoll(copy, NULL, 0) : strtoull(copy, NULL, 0);
}

/* "(0x0; 0x3ff)": the bits that are known, and those that are not. */
static void take_bits(struct value *v, const struct attribute *a)
{
	const char *end = a->value + a->value_len, *known = a->value;
	const char *semicolon = memchr(a->value, ';', a->value_len);

	if (!semicolon)
		return;
	known += known < semicolon && *known == '(';
	v->var_known = number_at(known, (size_t)(semicolon - known));
	semicolon++;
	while (semicolon < end && *semicolon == ' ')
		semicolon++;
	v->unknown = v->var_unknown = number_at(semicolon, (size_t)(end - semicolon));
	v->var_known &= ~v->var_unknown;
}

/* Next attribute of the list that ends at `end`, parentheses kept together. */
static bool next_attribute(const char **at, const char *end, struct attribute *a)
{
	const char *p = *at, *last_eq = NULL;
	int depth = 0;

	while (p < end && (*p == ',' || *p == ' '))
		p++;
	if (p >= end)
		return false;
	a->key = p;
	for (; p < end && (depth || *p != ','); p++) {
		depth += *p == '(' ? 1 : *p == ')' ? -1 : 0;
		if (*p == '=' && !depth)
			last_eq = p;
	}
	a->key_len = (size_t)((last_eq ? last_eq : p) - a->key);
	a->value = last_eq ? last_eq + 1 : p;
	a->value_len = (size_t)(p - a->value);
	*at = p;
	return true;
}

/* ---- a value from its text */

struct described {
	int64_t off; /* the fixed part of a pointer's distance */
	char name[160];
	size_t name_len;
	bool has_map;
};

static void add_name(struct described *d, const char *text, size_t len)
{
	if (d->name_len + len + 2 > sizeof(d->name))
		return;
	if (d->name_len)
		d->name[d->name_len++] = ',';
	memcpy(d->name + d->name_len, text, len);
	d->name_len += len;
}

/* False: it is no bound. */
static bool take_bound(struct value *v, const struct attribute *a, uint64_t number)
{
	const bool bounds[] = {
		is_key(a, "smin"),   is_key(a, "smax"),	  is_key(a, "umin"),   is_key(a, "umax"),
		is_key(a, "smin32"), is_key(a, "smax32"), is_key(a, "umin32"), is_key(a, "umax32"),
	};
	bool any = false;

	v->least = bounds[0] ? (int64_t)number : v->least;
	v->most = bounds[1] ? (int64_t)number : v->most;
	v->uleast = bounds[2] ? number : v->uleast;
	v->umost = bounds[3] ? number : v->umost;
	v->low.least = bounds[4] ? (int32_t)number : v->low.least;
	v->low.most = bounds[5] ? (int32_t)number : v->low.most;
	v->low.uleast = bounds[6] ? (uint32_t)number : v->low.uleast;
	v->low.umost = bounds[7] ? (uint32_t)number : v->low.umost;
	for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++)
		any |= bounds[i];
	return any;
}

static void take_attribute(struct value *v, struct described *d, const struct attribute *a)
{
	const uint64_t number = number_at(a->value, a->value_len);

	if (is_key(a, "id")) {
		/* "id=3+8": not equal to its like, but 8 more. */
		if (a->value_len < 10 && !memchr(a->value, '+', a->value_len) &&
		    !memchr(a->value, '-', a->value_len))
			v->id = (uint32_t)number;
		return;
	}
	if (is_key(a, "off")) {
		d->off = (int64_t)number;
		return;
	}
	if (is_key(a, "map")) {
		d->has_map = true;
		add_name(d, a->value, a->value_len);
		return;
	}
	if (is_key(a, "var_off")) {
		take_bits(v, a);
		return;
	}
	if (take_bound(v, a, number) || is_key(a, "imm"))
		return;
	if (d->has_map && (is_key(a, "ks") || is_key(a, "vs")))
		return;
	if (is_key(a, "ref_obj_id"))
		v->ref = (uint32_t)number;
	add_name(d, a->key, (size_t)(a->value + a->value_len - a->key));
}

static bool is_number(const char *text, size_t len)
{
	if (len && *text == '-')
		text++, len--;
	return len && isdigit((unsigned char)*text);
}

static void set_constant(struct value *v, uint64_t number)
{
	v->kind = VALUE_NUMBER;
	v->least = v->most = (int64_t)number;
	v->uleast = v->umost = v->var_known = number;
	v->unknown = v->var_unknown = 0;
	v->low = (struct bounds32){ (int32_t)number, (int32_t)number, (uint32_t)number,
				    (uint32_t)number };
}

static bool starts(const char *text, size_t len, const char *with)
{
	return len >= strlen(with) && !memcmp(text, with, strlen(with));
}

/* What a number's signed bounds say of the unsigned ones, and the other way round. */
static void agree(struct value *v)
{
	struct bounds32 *low = &v->low;

	if (v->least >= 0) {
		v->uleast = MAX(v->uleast, (uint64_t)v->least);
		v->umost = MIN(v->umost, (uint64_t)v->most);
	}
	if (v->umost <= INT64_MAX) {
		v->least = (int64_t)v->uleast;
		v->most = (int64_t)v->umost;
	}
	/* A number that fits is its own lower half. */
	if (v->umost <= UINT32_MAX) {
		low->uleast = MAX(low->uleast, (uint32_t)v->uleast);
		low->umost = MIN(low->umost, (uint32_t)v->umost);
	}
	if (v->least >= INT32_MIN && v->most <= INT32_MAX) {
		low->least = MAX(low->least, (int32_t)v->least);
		low->most = MIN(low->most, (int32_t)v->most);
	}
	if (low->least >= 0) {
		low->uleast = MAX(low->uleast, (uint32_t)low->least);
		low->umost = MIN(low->umost, (uint32_t)low->most);
	}
	if (low->umost <= INT32_MAX) {
		low->least = (int32_t)low->uleast;
		low->most = (int32_t)low->umost;
	}
}

/*
 * The bounds that were read are those of what is added to the fixed part; without any it is 0.
 */
static void set_distance(struct value *v, int64_t fixed)
{
	const bool variable = v->least != INT64_MIN || v->most != INT64_MAX ||
			      v->umost != UINT64_MAX || v->unknown != UINT64_MAX;

	agree(v);
	fixed = fixed > -ANY_DISTANCE && fixed < ANY_DISTANCE ? fixed : 0;
	if (!variable)
		v->least = v->most = v->var_unknown = 0;
	v->least = v->least > -ANY_DISTANCE ? v->least + fixed : -ANY_DISTANCE;
	v->most = v->most < ANY_DISTANCE ? v->most + fixed : ANY_DISTANCE;
	v->unknown = v->uleast = v->umost = 0;
	v->low = ANY_LOW;
}

/* "type(attributes)"; without a type it is what is left of "invP(id=0)". False without memory. */
static bool read_typed(struct value *v, struct arena **arena, const char *text, size_t len)
{
	const char *open = memchr(text, '(', len), *end = text + len;
	size_t type_len = open ? (size_t)(open - text) : len;
	struct described d = { 0 };
	struct attribute a;

	v->least = INT64_MIN;
	v->most = INT64_MAX;
	v->umost = v->unknown = v->var_unknown = UINT64_MAX;
	v->low = ANY_LOW;
	v->kind = !type_len || starts(text, type_len, "scalar") || starts(text, type_len, "inv")
			  ? VALUE_NUMBER
			  : VALUE_POINTER;
	/* "fp-16", "fp[0]-8": the distance stands in the type. */
	if (v->kind == VALUE_POINTER && starts(text, type_len, "fp")) {
		size_t at = type_len;

		while (at > 2 && (isdigit((unsigned char)text[at - 1]) || text[at - 1] == '-'))
			at--;
		d.off = at < type_len ? (int64_t)number_at(text + at, type_len - at) : 0;
		type_len = at;
	}
	if (open && end[-1] == ')') {
		const char *at = open + 1;

		while (next_attribute(&at, end - 1, &a))
			take_attribute(v, &d, &a);
	}
	if (v->kind == VALUE_POINTER) {
		set_distance(v, d.off);
		v->or_null = type_len > 8 && !memcmp(text + type_len - 8, "_or_null", 8);
		v->type = asm_arena_printf(arena, "%.*s", (int)type_len, text);
	} else {
		agree(v);
		d.name_len = 0;
		v->type = "";
	}
	v->name = d.name_len ? asm_arena_printf(arena, "%.*s", (int)d.name_len, d.name) : "";
	return v->type && v->name;
}

/* How many letters of bytes a slot's text begins with: 8, or those above what is spilled. */
static size_t byte_letters(const char *text, size_t len)
{
	static const size_t counts[] = { 7, 6, 4 };
	const size_t letters = strspn(text, "?m0ridfpw");

	if (len == 8 && letters >= 8)
		return 8;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		if (letters >= counts[i] && len > counts[i])
			return counts[i];
	return 0;
}

/* False without memory. text ends with a NUL. */
static bool read_value(struct value *v, struct arena **arena, const char *text, bool slot)
{
	size_t len = strlen(text), n = slot ? byte_letters(text, len) : 0;

	memcpy(v->bytes, text, n);
	v->type = v->name = "";
	text += n;
	len -= n;
	if (n == 8) {
		v->kind = VALUE_BYTES;
		return true;
	}
	/* "P": precise; "inv": what a scalar was called before Linux 5.18. */
	if (starts(text, len, "P"))
		text++, len--;
	if (starts(text, len, "invP") || (starts(text, len, "inv") && is_number(text + 3, len - 3)))
		text += 3, len -= 3;
	if (starts(text, len, "P"))
		text++, len--;
	if (is_number(text, len)) {
		set_constant(v, number_at(text, len));
		return true;
	}
	return read_typed(v, arena, text, len);
}

/* ---- all values */

static uint32_t hash_of(const char *text, size_t len, bool slot)
{
	uint32_t h = slot ? 2166136261u : 2654435769u;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)text[i]) * 16777619u;
	return h ^ h >> 15;
}

static bool grow(struct values *values)
{
	uint32_t capacity = values->table_capacity ? values->table_capacity * 2 : 1024;
	uint32_t *table = calloc(capacity, sizeof(*table));
	struct value *all = realloc(values->all, capacity / 2 * sizeof(*all));

	if (all)
		values->all = all;
	if (!table || !all) {
		free(table);
		return false;
	}
	values->capacity = capacity / 2;
	if (!values->n) {
		values->all[0] = (struct value){ .text = "", .type = "", .name = "" };
		values->n = 1;
	}
	for (uint32_t i = 0; i < values->table_capacity; i++) {
		uint32_t number = values->table[i], at;
		const struct value *v = &values->all[number];

		if (!number)
			continue;
		at = v->hash & (capacity - 1);
		while (table[at])
			at = (at + 1) & (capacity - 1);
		table[at] = number;
	}
	free(values->table);
	values->table = table;
	values->table_capacity = capacity;
	return true;
}

bool asm_vlog_values_begin(struct values *values)
{
	return values->n || grow(values);
}

uint32_t asm_vlog_value_intern(struct values *values, struct arena **arena, const char *text,
			       size_t len, bool slot)
{
	const uint32_t h = hash_of(text, len, slot);
	struct value v = { .slot = slot, .hash = h };
	uint32_t at;

	if (values->n + 1 >= values->capacity && !grow(values))
		return 0;
	at = h & (values->table_capacity - 1);
	for (; values->table[at]; at = (at + 1) & (values->table_capacity - 1)) {
		const struct value *known = &values->all[values->table[at]];

		if (known->hash == h && known->slot == slot && strlen(known->text) == len &&
		    !memcmp(known->text, text, len))
			return values->table[at];
	}
	v.text = asm_arena_printf(arena, "%.*s", (int)len, text);
	if (!v.text || !read_value(&v, arena, v.text, slot))
		return 0;
	values->all[values->n] = v;
	values->table[at] = values->n;
	return values->n++;
}

void asm_vlog_values_free(struct values *values)
{
	free(values->all);
	free(values->table);
	*values = (struct values){ 0 };
}
