/* SPDX-License-Identifier: BSD-2-Clause */
/* btf_field.c: where a member of a kernel type lies, by its path, and the values of enumerators. */
#include "btf.h"

#include <ctype.h>
#include <rawprof/asm.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* More members than any path in a real kernel passes; made-up types may nest anonymous members
 * without end. */
enum { MAX_MEMBERS = 100000, NAME_SIZE = 64 };

/* Where the path has led to: `offset` bytes into what the last pointer pointed to, a thing of type
 * id. */
struct cursor {
	const struct rp_btf *btf;
	uint32_t id;
	uint64_t offset;
	struct asm_access access; /* the hops so far */
	int budget;
	char *why;
	const char *type, *path;
};

static int because(struct cursor *c, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static int because(struct cursor *c, int err, const char *fmt, ...)
{
	va_list ap;

	if (c->why) {
		va_start(ap, fmt);
		vsnprintf(c->why, ASM_WHY_SIZE, fmt, ap);
		va_end(ap);
	}
	return err;
}

/* ---- one step by name */

/* Bits before C11's rules: an int whose encoding says that it is less than its storage. */
static bool is_old_bit_field(const struct rp_btf *btf, uint32_t id)
{
	const struct btf_type *t = rp_btf_resolve(btf, id);
	uint32_t encoding;

	if (!t || btf_kind(t) != BTF_KIND_INT)
		return false;
	memcpy(&encoding, t + 1, sizeof(encoding));
	return BTF_INT_OFFSET(encoding) || BTF_INT_BITS(encoding) != t->size * 8;
}

static int enter_member(struct cursor *c, const struct btf_type *t, const struct btf_member *m)
{
	const uint32_t bits = btf_kflag(t) ? BTF_MEMBER_BIT_OFFSET(m->offset) : m->offset;
	const uint32_t width = btf_kflag(t) ? BTF_MEMBER_BITFIELD_SIZE(m->offset) : 0;

	if (width || bits % 8 || is_old_bit_field(c->btf, m->type))
		return because(c, -EOPNOTSUPP, "%s.%s is a bit field, which has no address",
			       c->type, c->path);
	c->offset += bits / 8;
	c->id = m->type;
	return 0;
}

/* -ENOENT if neither the type nor an anonymous member of it has the name. */
static int find_member(struct cursor *c, const struct btf_type *t, const char *name, int depth)
{
	const struct btf_member *m = (const struct btf_member *)(t + 1);
	const uint64_t base = c->offset;

	for (uint32_t i = 0; i < btf_vlen(t); i++, m++) {
		const char *member = btf_str(c->btf, m->name_off);
		const struct btf_type *inner;
		int err;

		if (c->budget-- <= 0)
			return because(c, -EINVAL, "the kernel's BTF nests %s without end",
				       c->type);
		if (*member) {
			if (!strcmp(member, name))
				return enter_member(c, t, m);
			continue;
		}
		inner = rp_btf_resolve(c->btf, m->type);
		if (!inner ||
		    (btf_kind(inner) != BTF_KIND_STRUCT && btf_kind(inner) != BTF_KIND_UNION) ||
		    depth > BTF_MAX_CHAIN)
			continue;
		c->offset =
			base + (btf_kflag(t) ? BTF_MEMBER_BIT_OFFSET(m->offset) : m->offset) / 8;
		err = find_member(c, inner, name, depth + 1);
		if (err != -ENOENT)
			return err;
		c->offset = base;
	}
	return -ENOENT;
}

static int add_hop(struct cursor *c, uint32_t size, bool is_signed)
{
	struct asm_hop *hop = &c->access.hop[c->access.nhops];

	if (c->access.nhops == ASM_MAX_HOPS)
		return because(c, -EINVAL, "%s.%s goes through more than %d pointers", c->type,
			       c->path, ASM_MAX_HOPS - 1);
	if (c->offset > INT32_MAX)
		return because(c, -EINVAL, "%s.%s lies out of reach", c->type, c->path);
	hop->offset = (uint32_t)c->offset;
	hop->size = size;
	hop->is_signed = is_signed;
	c->access.nhops++;
	return 0;
}

static int step_member(struct cursor *c, const char *name)
{
	const struct btf_type *t = rp_btf_resolve(c->btf, c->id);
	int err;

	if (t && btf_kind(t) == BTF_KIND_PTR) {
		err = add_hop(c, sizeof(void *), false);
		if (err)
			return err;
		c->offset = 0;
		t = rp_btf_resolve(c->btf, t->type);
	}
	if (!t || (btf_kind(t) != BTF_KIND_STRUCT && btf_kind(t) != BTF_KIND_UNION))
		return because(c, -EINVAL, "%s.%s: what has `%s' is no struct or union here",
			       c->type, c->path, name);
	err = find_member(c, t, name, 0);
	if (err == -ENOENT)
		return because(c, err, "this kernel's %s has no member `%s'",
			       *btf_str(c->btf, t->name_off) ? btf_str(c->btf, t->name_off)
							     : c->type,
			       name);
	return err;
}

static int step_element(struct cursor *c, unsigned long index)
{
	const struct btf_type *t = rp_btf_resolve(c->btf, c->id);
	const struct btf_array *array;
	int64_t size;

	if (!t || btf_kind(t) != BTF_KIND_ARRAY)
		return because(c, -EINVAL, "%s.%s: [%lu] of something that is no array", c->type,
			       c->path, index);
	array = (const struct btf_array *)(t + 1);
	/* nelems 0 is a flexible array at the end. */
	if (array->nelems && index >= array->nelems)
		return because(c, -EINVAL, "%s.%s: [%lu] of an array of %u", c->type, c->path,
			       index, array->nelems);
	size = rp_btf_size_of(c->btf, array->type);
	if (size < 0 || index > INT32_MAX)
		return because(c, -EINVAL, "%s.%s: elements without a size", c->type, c->path);
	c->offset += index * (uint64_t)size;
	c->id = array->type;
	return 0;
}

/* ---- the path */

static int take_name(const char **at, char name[NAME_SIZE])
{
	size_t n = 0;

	while ((isalnum((unsigned char)**at) || **at == '_') && n < NAME_SIZE - 1)
		name[n++] = *(*at)++;
	name[n] = '\0';
	return n ? 0 : -EINVAL;
}

static int take_index(const char **at, unsigned long *index)
{
	char *end;

	if (!isdigit((unsigned char)(*at)[1]))
		return -EINVAL;
	errno = 0;
	*index = strtoul(*at + 1, &end, 0);
	if (errno || *end != ']')
		return -EINVAL;
	*at = end + 1;
	return 0;
}

static int walk_path(struct cursor *c)
{
	const char *at = c->path;
	char name[NAME_SIZE];
	unsigned long index;
	int err;

	for (;;) {
		if (take_name(&at, name))
			return because(c, -EINVAL,
				       "`%s' is no path of members: a name is missing at `%s'",
				       c->path, at);
		err = step_member(c, name);
		while (!err && *at == '[') {
			if (take_index(&at, &index))
				return because(c, -EINVAL,
					       "`%s' is no path of members: not an index at `%s'",
					       c->path, at);
			err = step_element(c, index);
		}
		if (err || !*at)
			return err;
		if (*at++ != '.')
			return because(c, -EINVAL,
				       "`%s' is no path of members: `.' expected at `%s'", c->path,
				       at - 1);
	}
}

static bool is_signed(const struct btf_type *t)
{
	uint32_t encoding;

	if (!t)
		return false;
	if (btf_kind(t) == BTF_KIND_ENUM || btf_kind(t) == BTF_KIND_ENUM64)
		return btf_kflag(t);
	if (btf_kind(t) != BTF_KIND_INT)
		return false;
	memcpy(&encoding, t + 1, sizeof(encoding));
	return BTF_INT_ENCODING(encoding) & BTF_INT_SIGNED;
}

static int find_type(const struct rp_btf *btf, const char *type)
{
	static const uint32_t kinds[] = { BTF_KIND_STRUCT, BTF_KIND_UNION,  BTF_KIND_TYPEDEF,
					  BTF_KIND_ENUM,   BTF_KIND_ENUM64, BTF_KIND_INT };
	int id = -ENOENT;

	for (size_t i = 0; id < 0 && i < ARRAY_SIZE(kinds); i++)
		id = rp_btf_find(btf, type, kinds[i]);
	return id;
}

int rp_btf_access(const struct rp_btf *btf, const char *type, const char *path,
		  struct asm_access *out, char *why)
{
	struct cursor c = {
		.btf = btf, .budget = MAX_MEMBERS, .why = why, .type = type, .path = path
	};
	int64_t size;
	int id, err;

	id = find_type(btf, type);
	if (id < 0)
		return because(&c, id, "this kernel has no type `%s'", type);
	c.id = (uint32_t)id;
	err = walk_path(&c);
	if (err)
		return err;
	size = rp_btf_size_of(btf, c.id);
	if (size < 0)
		return because(&c, -EINVAL, "%s.%s has no size", type, path);
	err = add_hop(&c, (uint32_t)size, is_signed(rp_btf_resolve(btf, c.id)));
	if (!err)
		*out = c.access;
	return err;
}

int rp_btf_size(const struct rp_btf *btf, const char *type)
{
	const int id = find_type(btf, type);
	int64_t size;

	if (id < 0)
		return id;
	size = rp_btf_size_of(btf, (uint32_t)id);
	return size > INT32_MAX ? -EINVAL : (int)size;
}

/* ---- enumerators */

static bool enum_value(const struct rp_btf *btf, const struct btf_type *t, const char *name,
		       int64_t *out)
{
	const bool wide = btf_kind(t) == BTF_KIND_ENUM64;
	const uint32_t *word = (const uint32_t *)(t + 1); /* name, low half[, high half] */

	for (uint32_t i = 0; i < btf_vlen(t); i++, word += wide ? 3 : 2) {
		if (strcmp(btf_str(btf, word[0]), name))
			continue;
		if (wide)
			*out = (int64_t)((uint64_t)word[2] << 32 | word[1]);
		else
			*out = btf_kflag(t) ? (int32_t)word[1] : (int64_t)word[1];
		return true;
	}
	return false;
}

int rp_btf_enum(const struct rp_btf *btf, const char *type, const char *name, int64_t *out)
{
	uint32_t offset = 0;

	for (uint32_t id = 1; rp_btf_has(btf, id); id++) {
		const struct btf_type *t = btf_at_offset(btf, offset);

		offset += (uint32_t)rp_btf_record_size(t);
		if (btf_kind(t) != BTF_KIND_ENUM && btf_kind(t) != BTF_KIND_ENUM64)
			continue;
		if ((!type || !strcmp(btf_str(btf, t->name_off), type)) &&
		    enum_value(btf, t, name, out))
			return 0;
	}
	return -ENOENT;
}
