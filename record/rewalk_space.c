/* SPDX-License-Identifier: BSD-2-Clause */
/* Files are those that give the names too; each has its table once, whoever maps it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/hash.h"
#include "recording.h"
#include "rewalk_space.h"
#include "symbolize/file.h"
#include "symbolize/object.h"

/* What a place of a file leads to, wherever it is mapped at this distance. */
struct place {
	uint64_t number; /* struct sym_mapped */
	bool is_known, is_nothing;
	enum unwind_mapping_kind kind;
	uint64_t bias;
	const struct unwind_table *table;
	const struct sym_object *object; /* with its code; NULL */
};

struct table {
	const void *of; /* the image; the space itself: the vdso's */
	struct unwind_table *table;
};

struct rewalk_space {
	struct recording *rec;
	bool with_computed;
	uint32_t pid;
	uint64_t time;
	struct hash_map places; /* of struct place */
	struct hash_map tables; /* of struct table */
	struct unwind_space_mapping last;
};

int record_rewalk_space_open(struct rewalk_space **out, struct recording *rec, bool with_computed)
{
	struct rewalk_space *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->rec = rec;
	s->with_computed = with_computed;
	s->places = HASH_MAP(struct place, number);
	s->tables = HASH_MAP(struct table, of);
	*out = s;
	return 0;
}

void record_rewalk_space_close(struct rewalk_space *s)
{
	const struct table *t = s ? s->tables.items : NULL;

	if (!s)
		return;
	for (uint32_t i = 0; i < s->tables.count; i++)
		unwind_table_free(t[i].table);
	rp_hash_free(&s->tables);
	rp_hash_free(&s->places);
	free(s);
}

void record_rewalk_space_of(struct rewalk_space *s, uint32_t pid, uint64_t time)
{
	s->pid = pid;
	s->time = time;
	s->last = (struct unwind_space_mapping){ 0 };
}

/* NULL: it has none, or there is no memory. */
static const struct unwind_table *table_of(struct rewalk_space *s, const struct sym_image *image)
{
	const void *of = image;
	struct table *t = rp_hash_find(&s->tables, &of);

	if (t)
		return t->table;
	t = rp_hash_add(&s->tables, &of);
	if (t && record_table_store_table(record_tables_store(s->rec->tables), image->object->fd,
					  s->with_computed, &t->table))
		t->table = NULL;
	return t ? t->table : NULL;
}

/* All processes have ours. */
static const struct unwind_table *vdso_table(struct rewalk_space *s, uint64_t size)
{
	const void *image = (const void *)(uintptr_t)getauxval(AT_SYSINFO_EHDR), *of = s;
	struct table *t = rp_hash_find(&s->tables, &of);

	if (t)
		return t->table;
	t = rp_hash_add(&s->tables, &of);
	if (t && (!image || unwind_table_build_image(&t->table, image, size)))
		t->table = NULL;
	return t ? t->table : NULL;
}

static void look_at(struct rewalk_space *s, const struct sym_mapped *at, uint64_t addr,
		    struct place *p)
{
	struct sym_frame f;
	uint64_t vaddr;

	p->is_known = true;
	p->kind = UNWIND_BY_FP;
	sym_user_name(s->rec->user, s->pid, s->time, addr, false, at, &f);
	if (f.kind == SYM_VDSO) {
		p->bias = at->start;
		p->table = vdso_table(s, at->end - at->start);
	} else if (f.image &&
		   !sym_object_vaddr(f.image->object, addr - at->start + at->offset, &vaddr)) {
		p->bias = addr - vaddr;
		p->object = f.image->object;
		p->table = table_of(s, f.image);
	} else if (f.module && !strcmp(f.module, "[uprobes]")) {
		p->kind = UNWIND_URETPROBE;
	} else if (f.kind == SYM_USER) { /* the file is not to be had any more */
		p->is_nothing = true;
	}
	if (p->table)
		p->kind = UNWIND_BY_TABLE;
}

static const struct place *place_of(struct rewalk_space *s, uint64_t addr, struct sym_mapped *at)
{
	struct place *p;

	sym_user_find(s->rec->user, s->pid, s->time, addr, at);
	p = at->number ? rp_hash_add(&s->places, &at->number) : NULL;
	if (p && !p->is_known)
		look_at(s, at, addr, p);
	return p && !p->is_nothing ? p : NULL;
}

const struct unwind_space_mapping *record_rewalk_space_find(void *space, uint64_t addr)
{
	struct rewalk_space *s = space;
	const struct place *p;
	struct sym_mapped at;

	if (addr >= s->last.start && addr < s->last.end)
		return &s->last;
	p = place_of(s, addr, &at);
	if (!p)
		return NULL;
	s->last = (struct unwind_space_mapping){ at.start, at.end, p->bias, p->table, p->kind };
	return &s->last;
}

int record_rewalk_space_read(struct rewalk_space *s, uint64_t addr, void *buf, size_t size)
{
	struct sym_mapped at;
	const struct place *p = place_of(s, addr, &at);

	return p && p->object && sym_object_read_at(p->object, addr - p->bias, buf, size) == size
		       ? 0
		       : -ENOENT;
}
