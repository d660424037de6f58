/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions of one ELF file by name. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "debug.h"
#include "strings.h"
#include "symtab.h"
#include "unwind/go_table.h"
#include <rawprof/symbolize.h>

#define NO_PATTERN SIZE_MAX

/* A symbol of code, wanted or not: the others tell where functions end, and their other names. */
struct candidate {
	uint64_t vaddr, size;
	const char *name; /* in the file's strings */
	size_t pattern;	  /* the first that it matches, or NO_PATTERN */
	bool is_ifunc;
};

/* A pattern without wildcards. */
struct plain {
	const char *name;
	size_t pattern;
};

/*
 * plain is sorted by name and, where a name is there twice, by pattern; glob holds the numbers of
 * the other patterns, in order.
 */
struct wanted {
	const char *const *patterns;
	struct plain *plain;
	size_t plain_count;
	size_t *glob;
	size_t glob_count;
};

struct reader {
	const struct sym_object *object; /* whose segments count */
	size_t (*match)(void *ctx, const char *name);
	void *ctx;
	char *text; /* the strings of the table that is being read */
	size_t text_size;
	struct candidate *items;
	size_t count, capacity;
};

/* What is handed out, with what keeps its names. */
struct found {
	struct sym_functions functions;
	struct sym_strings strings;
	const char **names; /* of all items, one after the other */
};

/* ---- patterns */

static int compare_plain(const void *a, const void *b)
{
	const struct plain *x = a, *y = b;
	const int names = strcmp(x->name, y->name);

	return names ? names : x->pattern < y->pattern ? -1 : x->pattern > y->pattern;
}

static int read_patterns(struct wanted *w, const char *const *patterns, size_t n)
{
	w->patterns = patterns;
	w->plain = malloc((n + 1) * sizeof(*w->plain));
	w->glob = malloc((n + 1) * sizeof(*w->glob));
	if (!w->plain || !w->glob)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (strpbrk(patterns[i], "*?[\\"))
			w->glob[w->glob_count++] = i;
		else
			w->plain[w->plain_count++] = (struct plain){ patterns[i], i };
	}
	qsort(w->plain, w->plain_count, sizeof(*w->plain), compare_plain);
	return 0;
}

static size_t match_patterns(void *ctx, const char *name)
{
	const struct wanted *w = ctx;
	size_t lo = 0, hi = w->plain_count, best = NO_PATTERN;

	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;

		if (strcmp(w->plain[mid].name, name) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < w->plain_count && !strcmp(w->plain[lo].name, name))
		best = w->plain[lo].pattern;
	for (size_t i = 0; i < w->glob_count && w->glob[i] < best; i++) {
		if (!fnmatch(w->patterns[w->glob[i]], name, 0))
			best = w->glob[i];
	}
	return best;
}

/* ---- symbols */

static const struct sym_segment *segment_of(const struct sym_object *o, uint64_t vaddr)
{
	for (size_t i = 0; i < o->segment_count; i++) {
		const struct sym_segment *s = &o->segments[i];

		if (s->exec && vaddr >= s->vaddr && vaddr - s->vaddr < s->size)
			return s;
	}
	return NULL;
}

/* The name without its @VERSION, which is cut off where it lies. NULL if it does not end there. */
static const char *name_at(struct reader *r, uint64_t offset)
{
	char *name = r->text + offset, *version;
	size_t len;

	if (offset >= r->text_size)
		return NULL;
	len = strnlen(name, r->text_size - offset);
	if (!len || len == r->text_size - offset)
		return NULL;
	version = memchr(name + 1, '@', len - 1);
	if (version)
		*version = '\0';
	return name;
}

static int take(void *ctx, const void *elf64_sym)
{
	const Elf64_Sym *s = elf64_sym;
	struct reader *r = ctx;
	const int type = ELF64_ST_TYPE(s->st_info);
	const bool is_label = type == STT_NOTYPE && ELF64_ST_BIND(s->st_info) == STB_LOCAL;
	struct candidate c = { .vaddr = s->st_value, .size = s->st_size, .pattern = NO_PATTERN };

	if ((type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) ||
	    s->st_shndx == SHN_UNDEF || s->st_shndx == SHN_ABS || s->st_shndx == SHN_COMMON)
		return 0;
	if (r->object->machine == EM_ARM)
		c.vaddr &= ~1ULL; /* Thumb */
	c.name = name_at(r, s->st_name);
	/* $x and $d tell code from data, and are no functions */
	if (!c.name || !segment_of(r->object, c.vaddr) || (is_label && c.name[0] == '$'))
		return 0;
	c.is_ifunc = type == STT_GNU_IFUNC;
	if (!is_label)
		c.pattern = r->match(r->ctx, c.name);
	return RP_PUSH(r->items, r->count, r->capacity, c);
}

static int take_go(void *ctx, const char *name, const struct unwind_go_function *f)
{
	struct reader *r = ctx;
	const struct candidate c = { .vaddr = f->start,
				     .size = f->end - f->start,
				     .name = name,
				     .pattern = r->match(r->ctx, name) };

	return segment_of(r->object, f->start) ? RP_PUSH(r->items, r->count, r->capacity, c) : 0;
}

/* Go's own table, which strip leaves alone; *go, which has the names, is the caller's to free. */
static int read_go(struct reader *r, struct unwind_go *go)
{
	struct unwind_image m;
	int err = unwind_image_open(&m, r->object->fd, r->object->image, r->object->image_size);

	if (err)
		return err == -ENOMEM ? err : 0;
	err = unwind_go_read(go, &m);
	unwind_image_close(&m);
	if (err)
		return err == -ENOMEM ? err : 0;
	return unwind_go_each(go, take_go, r);
}

/* The strings of a table, no more of them than the file holds. */
static int read_text(struct reader *r, const struct sym_object *from,
		     const struct sym_symbols *table)
{
	uint64_t size = table->strings_size;
	struct stat st;

	if (table->strings < SYM_UNPACKED && from->fd >= 0 && !fstat(from->fd, &st) &&
	    size > (uint64_t)st.st_size)
		size = (uint64_t)st.st_size;
	r->text = malloc(size ? size : 1);
	if (!r->text)
		return -ENOMEM;
	r->text_size = sym_object_read(from, table->strings, r->text, size);
	return 0;
}

static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->vaddr != y->vaddr)
		return x->vaddr < y->vaddr ? -1 : 1;
	if (x->pattern != y->pattern)
		return x->pattern < y->pattern ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* ---- what is handed out */

static int add_name(struct found *f, const char *name, size_t *count, size_t *capacity)
{
	const char *kept = sym_strings_add(&f->strings, name, strlen(name));

	return kept ? RP_PUSH(f->names, *count, *capacity, kept) : -ENOMEM;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names of the candidates [c, c + n), of which the first is to come first. */
static int add_names(struct found *f, const struct candidate *c, size_t n, size_t *count,
		     size_t *capacity, size_t *added)
{
	const size_t first = *count;
	size_t kept = first + 1;
	int err = 0;

	for (size_t i = 0; !err && i < n; i++)
		err = add_name(f, c[i].name, count, capacity);
	if (err)
		return err;
	/* Equal strings are one, so they are neighbours now and have equal addresses. */
	qsort(f->names + first + 1, n - 1, sizeof(*f->names), compare_names);
	for (size_t i = first + 1; i < *count; i++) {
		if (f->names[i] != f->names[kept - 1] && f->names[i] != f->names[first])
			f->names[kept++] = f->names[i];
	}
	*count = kept;
	*added = kept - first;
	return 0;
}

static struct sym_function_found describe(const struct reader *r, size_t at, size_t n)
{
	const struct candidate *c = &r->items[at];
	const struct sym_segment *s = segment_of(r->object, c->vaddr);
	const uint64_t left = s->vaddr + s->size - c->vaddr;
	struct sym_function_found out = { .offset = c->vaddr - s->vaddr + s->offset,
					  .vaddr = c->vaddr,
					  .alone = left,
					  .pattern = c->pattern };

	for (size_t i = 0; i < n; i++) {
		if (c[i].size > out.size)
			out.size = c[i].size;
		out.is_ifunc |= c[i].is_ifunc;
	}
	if (out.size > left)
		out.size = left;
	if (at + n < r->count && c[n].vaddr - c->vaddr < left)
		out.alone = c[n].vaddr - c->vaddr;
	return out;
}

/* Names are counted first and pointed to when all are there, as they may move until then. */
static int hand_out(struct reader *r, struct found *f)
{
	size_t capacity = 0, names = 0, names_capacity = 0, n;
	struct sym_function_found *p;
	int err = 0;

	if (r->count)
		qsort(r->items, r->count, sizeof(*r->items), compare_candidates);
	for (size_t i = 0; !err && i < r->count; i += n) {
		for (n = 1; i + n < r->count && r->items[i + n].vaddr == r->items[i].vaddr;)
			n++;
		if (r->items[i].pattern == NO_PATTERN)
			continue;
		err = RP_PUSH(f->functions.items, f->functions.count, capacity, describe(r, i, n));
		if (err)
			return err;
		p = &f->functions.items[f->functions.count - 1];
		err = add_names(f, &r->items[i], n, &names, &names_capacity, &p->name_count);
	}
	names = 0;
	for (size_t i = 0; i < f->functions.count; i++) {
		f->functions.items[i].names = f->names + names;
		names += f->functions.items[i].name_count;
	}
	return err;
}

static int compare_offsets(const void *a, const void *b)
{
	const struct sym_function_found *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static void choose_text(const struct sym_object *o, struct sym_functions *f)
{
	size_t most = 0;

	for (size_t i = 0; i < o->segment_count; i++) {
		const struct sym_segment *s = &o->segments[i];
		size_t here = 1;

		for (size_t k = 0; s->exec && k < f->count; k++)
			here += segment_of(o, f->items[k].vaddr) == s;
		if (s->exec && here > most) {
			most = here;
			f->text_offset = s->offset;
			f->text_size = s->size;
		}
	}
}

/* from: whose .symtab and whose .dynsym are read; either may be NULL. Without the first, Go's. */
static int find(struct reader *r, const struct sym_object *const from[SYM_TABLES], struct found *f)
{
	char *text[SYM_TABLES] = { NULL };
	struct unwind_go go = { 0 };
	int err = 0;

	for (int which = 0; !err && which < SYM_TABLES; which++) {
		if (!from[which] || !from[which]->symbols[which].count)
			continue;
		err = read_text(r, from[which], &from[which]->symbols[which]);
		text[which] = r->text;
		if (!err)
			err = sym_symtab_each(from[which], which, take, r);
	}
	if (!err && (!from[SYM_SYMTAB] || !from[SYM_SYMTAB]->symbols[SYM_SYMTAB].count))
		err = read_go(r, &go);
	if (!err)
		err = hand_out(r, f);
	if (!err) {
		if (f->functions.count)
			qsort(f->functions.items, f->functions.count, sizeof(*f->functions.items),
			      compare_offsets);
		f->functions.machine = r->object->machine;
		choose_text(r->object, &f->functions);
	}
	for (int which = 0; which < SYM_TABLES; which++)
		free(text[which]);
	unwind_go_free(&go);
	free(r->items);
	return err;
}

static int open_object(int fd, struct sym_object **out)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	return copy < 0 ? -errno : sym_object_open(out, copy);
}

static int search(struct reader *r, const struct sym_object *symbols, struct sym_functions **out)
{
	const struct sym_object *const from[SYM_TABLES] = {
		[SYM_SYMTAB] = symbols, [SYM_DYNSYM] = r->object
	};
	struct found *f = calloc(1, sizeof(*f));
	int err = f ? find(r, from, f) : -ENOMEM;

	if (err)
		sym_functions_free(f ? &f->functions : NULL);
	else
		*out = &f->functions;
	return err;
}

int sym_functions_find(int fd, const char *const *patterns, size_t n, struct sym_functions **out)
{
	struct wanted wanted = { 0 };
	struct reader r = { .match = match_patterns, .ctx = &wanted };
	struct sym_object *object;
	int err = open_object(fd, &object);

	if (err)
		return err;
	r.object = object;
	err = read_patterns(&wanted, patterns, n);
	if (!err)
		err = search(&r, object, out);
	free(wanted.plain);
	free(wanted.glob);
	sym_object_close(object);
	return err;
}

int sym_functions_match(const struct sym_functions_query *q, struct sym_functions **out)
{
	const struct sym_debug_place place = { .proc = q->proc ? q->proc : "/proc",
					       .pid = q->pid,
					       .path = q->path };
	struct sym_object *object, *debug = NULL, *packed = NULL, *symbols;
	struct reader r = { .match = q->match, .ctx = q->ctx };
	int err = open_object(q->fd, &object);

	if (err)
		return err;
	symbols = object;
	if (!object->symbols[SYM_SYMTAB].count && !sym_debug_open(&debug, object, &place) &&
	    debug->symbols[SYM_SYMTAB].count)
		symbols = debug;
	if (!symbols->symbols[SYM_SYMTAB].count && !sym_debug_unpack(&packed, object))
		symbols = packed;
	r.object = object;
	err = search(&r, symbols, out);
	sym_object_close(packed);
	sym_object_close(debug);
	sym_object_close(object);
	return err;
}

void sym_functions_free(struct sym_functions *functions)
{
	struct found *f = (struct found *)functions; /* its first member */

	if (!f)
		return;
	free(f->functions.items);
	free(f->names);
	sym_strings_free(&f->strings);
	free(f);
}
