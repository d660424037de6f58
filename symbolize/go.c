/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names, files, lines and inlined functions of Go, by the table that its own tracebacks go by
 * (src/runtime/symtab.go, symtabinl.go).
 */
#include "go.h"
#include "unwind/image.h"

enum {
	PCDATA_INLINE = 2, /* index in the tree of what was inlined where */
	FUNCDATA_INLINE = 3,
	FIXED_FLAGS = 4, /* bytes behind which the tables of a function are */
	NO_OFFSET = 0xffffffff,
};

/* A function, and what it is asked by. */
struct asked {
	struct sym_symtab *t;
	const struct unwind_go *go;
	struct unwind_go_layout l;
	struct unwind_go_function f;
};

static void read_table(struct sym_symtab *t)
{
	const struct sym_object *o = t->object;
	struct unwind_image m;

	t->go_read = true;
	if (unwind_image_open(&m, o->fd, o->image, o->image_size))
		return;
	unwind_go_read(&t->go, &m);
	unwind_image_close(&m);
}

static bool find_function(struct asked *a, struct sym_symtab *t, uint64_t vaddr)
{
	if (!t->go_read)
		read_table(t);
	a->t = t;
	a->go = &t->go;
	return unwind_go_layout(a->go, &a->l) && unwind_go_find(a->go, &a->l, vaddr, &a->f);
}

/* The string at @at of the table, kept. NULL: there is none. */
static const char *keep_string(const struct asked *a, uint64_t at)
{
	const char *text;
	size_t len;

	return unwind_go_string(a->go, at, &text, &len) ? sym_strings_add(a->t->strings, text, len)
							: NULL;
}

bool sym_symtab_go(struct sym_symtab *t, uint64_t vaddr, const char **name, uint64_t *start)
{
	const char *kept;
	struct asked a;

	if (!find_function(&a, t, vaddr))
		return false;
	kept = keep_string(&a, a.l.names + unwind_go_number(a.go, a.f.at + GO_NAME, 4));
	if (!kept)
		return false;
	*name = kept;
	*start = a.f.start;
	return true;
}

/* ---- what is told of an address */

static uint32_t word_at(const struct asked *a, uint64_t at)
{
	return (uint32_t)unwind_go_number(a->go, at, 4);
}

/* What the table at @table of pctab says of @pc; -1: nothing, or it takes too long to find out. */
static int32_t value_at(const struct asked *a, uint32_t table, uint64_t pc)
{
	struct unwind_go_steps s = unwind_go_steps(&a->l, &a->f, table);

	while (rp_work_spend(&a->t->work, 1) && unwind_go_step(a->go, &a->l, &s))
		if (pc < s.pc)
			return s.value;
	return -1;
}

static void read_line(const struct asked *a, uint64_t pc, struct sym_line *out)
{
	const int32_t file = value_at(a, word_at(a, a->f.at + GO_PCFILE), pc),
		      line = value_at(a, word_at(a, a->f.at + GO_PCLN), pc);
	const uint64_t of_unit = word_at(a, a->f.at + GO_UNIT);
	uint32_t at;

	if (file < 0)
		return;
	at = word_at(a, a->l.units + (of_unit + (uint32_t)file) * sizeof(at));
	if (at == NO_OFFSET)
		return;
	out->file = keep_string(a, a->l.files + at);
	out->line = line > 0 ? (uint32_t)line : 0;
}

/* ---- what was inlined */

/* A call that was inlined: its function's name, and a pc of the function that it was made from. */
struct call {
	const char *name;
	uint64_t made_at;
};

/* Reads @size bytes at @vaddr of the file, which must be of data that it has. */
static bool read_data(const struct asked *a, uint64_t vaddr, void *buf, size_t size)
{
	return sym_object_read_at(a->t->object, vaddr, buf, size) == size;
}

/* Element @i of the tree at @tree. Before 1.20 they were longer, and told other things too. */
static bool read_call(const struct asked *a, uint64_t tree, int32_t i, struct call *out)
{
	const bool is_old = a->l.magic != GO_1_20;
	const size_t size = is_old ? 20 : 16;
	uint32_t word[5];

	if (!read_data(a, tree + (uint64_t)(uint32_t)i * size, word, size))
		return false;
	out->name = keep_string(a, a->l.names + word[is_old ? 3 : 1]);
	out->made_at = a->f.start + word[is_old ? 4 : 2];
	return out->name != NULL;
}

/* Where the tree is that the table of indices belongs to; false: nothing was inlined. */
static bool find_tree(const struct asked *a, uint32_t *indices, uint64_t *tree)
{
	const uint64_t flags = unwind_go_flags(&a->l, &a->f), tables = flags + FIXED_FLAGS;
	const uint32_t npcdata = word_at(a, a->f.at + GO_NPCDATA);
	const uint64_t nfuncdata = unwind_go_number(a->go, flags + 3, 1);
	uint32_t offset;

	if (!a->go->funcdata || npcdata <= PCDATA_INLINE || nfuncdata <= FUNCDATA_INLINE)
		return false;
	*indices = word_at(a, tables + PCDATA_INLINE * sizeof(offset));
	offset = word_at(a, tables + ((uint64_t)npcdata + FUNCDATA_INLINE) * sizeof(offset));
	*tree = a->go->funcdata + offset;
	return *indices && offset != NO_OFFSET;
}

size_t sym_go_source(struct sym_symtab *t, uint64_t vaddr, bool inlined, struct sym_line *out,
		     size_t max)
{
	uint64_t pc = vaddr, tree;
	uint32_t indices;
	struct asked a;
	size_t n = 0;

	if (!max || !find_function(&a, t, vaddr))
		return 0;
	out[0] = (struct sym_line){ 0 };
	read_line(&a, pc, &out[0]);
	if (!inlined || !find_tree(&a, &indices, &tree))
		return out[0].file != NULL;
	while (n + 1 < max) {
		const int32_t i = value_at(&a, indices, pc);
		struct call call;

		if (i < 0 || !read_call(&a, tree, i, &call))
			break;
		out[n++].function = call.name;
		pc = call.made_at;
		out[n] = (struct sym_line){ 0 };
		read_line(&a, pc, &out[n]);
	}
	return n || out[0].file ? n + 1 : 0;
}
