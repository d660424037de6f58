/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses in an ELF file to function names. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/lack.h"
#include "symtab.h"

enum {
	SHORT_NAME = 256,
	LONG_NAME = 65536, /* C++ gets to thousands; what is longer is cut */
	MANY_NAMES = 1000, /* take as long to read one by one as all strings of a large file */
	TEXT_MAX = 64 << 20,
	ALIASES_MAX = 4096, /* that a name is chosen from */
};

/* Of a file's names, read one by one: an honest file comes to some megabytes. */
#define WORK (1ULL << 30)

int sym_symtab_open(struct sym_symtab **out, const struct sym_object *object,
		    const struct sym_object *debug, struct sym_strings *strings)
{
	struct sym_symtab *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return -ENOMEM;
	t->object = object;
	t->from[SYM_SYMTAB] = debug ? debug : object;
	t->from[SYM_DYNSYM] = object;
	t->strings = strings;
	t->work = rp_work_for(WORK, 1);
	sym_plt_prepare(t);
	err = sym_symtab_read(t);
	if (err) {
		sym_symtab_close(t);
		return err;
	}
	*out = t;
	return 0;
}

void sym_symtab_close(struct sym_symtab *t)
{
	if (!t)
		return;
	free(t->functions);
	free(t->spans);
	sym_guide_free(&t->guide);
	free(t->ties);
	free(t->names);
	for (int which = 0; which < SYM_TABLES; which++)
		free(t->text[which]);
	rp_hash_free(&t->plt);
	sym_fdes_close(t->fdes);
	unwind_go_free(&t->go);
	free(t->places);
	rp_memory_give(t->taken);
	free(t);
}

bool sym_symtab_take(struct sym_symtab *t, uint64_t bytes)
{
	if (!rp_memory_take(bytes))
		return false;
	t->taken += bytes;
	return true;
}

/* Ends each name before its @VERSION, and at LONG_NAME bytes at most. @text[@size] is NUL. */
static void cut_names(char *text, size_t size)
{
	char *end = text + size, *p;

	for (p = text; (p = memchr(p, '@', end - p)); p++) {
		if (p > text && p[-1])
			*p = '\0';
	}
	/* A name begins in one half of that, and is over in the next. */
	for (p = text; end - p > LONG_NAME / 2; p += LONG_NAME / 2) {
		if (!memchr(p, '\0', LONG_NAME / 2))
			p[LONG_NAME / 2 - 1] = '\0';
	}
}

static void read_all_strings(struct sym_symtab *t, int which)
{
	const struct sym_symbols *s = &t->from[which]->symbols[which];
	char *text = NULL;
	size_t size;

	if (s->strings_size <= TEXT_MAX && sym_symtab_take(t, s->strings_size))
		text = malloc(s->strings_size + 1);
	if (!text)
		return;
	size = sym_object_read(t->from[which], s->strings, text, s->strings_size);
	text[size] = '\0';
	cut_names(text, size);
	t->text[which] = text;
	t->text_size[which] = size;
}

/* Reads one name, and keeps it with @suffix behind it. */
static const char *read_alone(struct sym_symtab *t, int which, uint64_t offset, const char *suffix)
{
	const struct sym_object *from = t->from[which];
	const struct sym_symbols *s = &from->symbols[which];
	size_t capacity = SHORT_NAME, extra = strlen(suffix), len;
	char short_name[SHORT_NAME], *buf = short_name, *version;
	const char *name = NULL;

	for (;;) {
		size_t left = s->strings_size - offset, want = capacity - extra;
		size_t n = 0;

		if (rp_work_spend(&t->work, want))
			n = sym_object_read(from, s->strings + offset, buf,
					    want < left ? want : left);
		len = strnlen(buf, n);
		if (len < n || n < want || capacity == LONG_NAME)
			break;
		capacity = LONG_NAME;
		buf = malloc(capacity);
		if (!buf) {
			rp_lack_file(-ENOMEM, from->fd);
			return NULL;
		}
	}
	version = len ? memchr(buf + 1, '@', len - 1) : NULL;
	if (version)
		len = version - buf;
	memcpy(buf + len, suffix, extra);
	if (len && sym_symtab_take(t, len))
		name = sym_strings_add(t->strings, buf, len + extra);
	if (buf != short_name)
		free(buf);
	return name;
}

const char *sym_symtab_name(struct sym_symtab *t, int which, uint64_t offset, const char *suffix)
{
	const char *name;

	if (offset >= t->from[which]->symbols[which].strings_size)
		return NULL;
	if (!t->text[which] && t->reads[which]++ == MANY_NAMES)
		read_all_strings(t, which);
	if (!t->text[which])
		return read_alone(t, which, offset, suffix);
	name = t->text[which] + offset;
	if (offset >= t->text_size[which] || !*name)
		return NULL;
	return *suffix ? sym_strings_join(t->strings, name, suffix) : name;
}

/* Aliases equal in all else: the fewest leading underscores, then the order of the alphabet. */
static const char *better(const char *a, const char *b)
{
	size_t x, y;

	if (!a || !b)
		return a ? a : b;
	x = strspn(a, "_");
	y = strspn(b, "_");
	if (x != y)
		return x < y ? a : b;
	return strcmp(a, b) <= 0 ? a : b;
}

static int table_of(uint32_t ref)
{
	return ref & SYM_NAME_DYNSYM ? SYM_DYNSYM : SYM_SYMTAB;
}

static const char *read_name(struct sym_symtab *t, uint32_t ref)
{
	return sym_symtab_name(t, table_of(ref), ref & SYM_NAME_OFFSET, "");
}

static const char *choose_name(struct sym_symtab *t, uint32_t ref)
{
	const char *name = NULL;
	const uint32_t *tie;

	if (!(ref & SYM_NAME_SPECIAL))
		return read_name(t, ref);
	tie = &t->ties[ref & ~SYM_NAME_SPECIAL];
	for (size_t i = 0; i < ALIASES_MAX; i++, tie++) {
		name = better(name, read_name(t, *tie));
		if (*tie & SYM_LAST)
			break;
	}
	return name;
}

static const char *name_of(struct sym_symtab *t, struct sym_function *f)
{
	const uint32_t settled = SYM_NAME_SPECIAL | SYM_NAME_SETTLED;
	const char *name;

	if ((f->name & settled) == settled)
		return t->names[f->name & ~settled];
	name = choose_name(t, f->name);
	if (!(f->name & SYM_NAME_SPECIAL) && t->text[table_of(f->name)])
		return name; /* it is found as fast the next time */
	if (!RP_PUSH(t->names, t->name_count, t->name_capacity, name))
		f->name = settled | (t->name_count - 1); /* otherwise it will be read again */
	return name;
}

bool sym_symtab_lookup(struct sym_symtab *t, uint64_t vaddr, const char **name, uint64_t *start)
{
	const struct sym_span *span = sym_guide_find(&t->guide, t->spans, t->span_count, vaddr);
	const struct sym_section *code;
	const char *found;

	if (!span) {
		code = sym_object_code(t->object, vaddr);
		return code && code->is_plt && sym_plt_lookup(t, code, vaddr, name, start);
	}
	found = name_of(t, &t->functions[span->id]);
	if (!found)
		return false;
	*name = found;
	*start = t->base + t->functions[span->id].addr;
	return true;
}
