/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * USDT probes of one ELF file: the notes that sys/sdt.h of SystemTap leaves in .note.stapsdt, one
 * for each place where a probe was compiled in ("User Space Probe Implementation" in SystemTap's
 * wiki). A note holds the address of a nop, that of .stapsdt.base when the note was made, that of
 * the semaphore, and three strings: provider, name, and where the arguments are.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/budget.h"
#include "base/grow.h"
#include "symtab.h"
#include <rawprof/symbolize.h>

enum {
	USDT_NOTE = 3,	       /* NT_STAPSDT */
	NOTES_MOST = 16 << 20, /* bytes: a program with thousands of probes has 0.3 MB */
	WORK_TIMES = 16,       /* the bytes of the file: looking for variables */
};

/* What is handed out, with what keeps its strings. */
struct found {
	struct sym_usdt usdt;
	struct sym_object *object;
	char *notes;
	size_t capacity;
	/* Names of variables, once one was looked for; what that may still cost. */
	char *names[SYM_TABLES];
	size_t names_size[SYM_TABLES];
	uint64_t taken; /* of the memory of all files, for them */
	struct rp_work work;
};

/* ---- where it is in the file */

static bool place(const struct sym_object *o, uint64_t vaddr, bool exec, uint64_t *offset)
{
	for (size_t i = 0; i < o->segment_count; i++) {
		const struct sym_segment *s = &o->segments[i];

		if (!(exec ? s->exec : s->write) || vaddr < s->vaddr || vaddr - s->vaddr >= s->size)
			continue;
		*offset = vaddr - s->vaddr + s->offset;
		return *offset < o->size;
	}
	return false;
}

/* ---- one note */

static uint64_t address(const struct sym_object *o, const char **at)
{
	uint64_t wide = 0;
	uint32_t narrow;

	if (o->is64) {
		memcpy(&wide, *at, sizeof(wide));
		*at += sizeof(wide);
		return wide;
	}
	memcpy(&narrow, *at, sizeof(narrow));
	*at += sizeof(narrow);
	return narrow;
}

/* The string at *@at, which ends before @end, or NULL; *@at is then what lies behind it. */
static const char *string(const char **at, const char *end)
{
	const char *s = *at, *nul = s < end ? memchr(s, '\0', (size_t)(end - s)) : NULL;

	if (nul)
		*at = nul + 1;
	return nul ? s : NULL;
}

/* False: nothing can be probed by it. */
static bool read_site(const struct sym_object *o, const char *desc, size_t size,
		      struct sym_usdt_site *out)
{
	const char *at = desc, *end = desc + size;
	struct sym_usdt_site s = { 0 };
	uint64_t base, semaphore, moved;

	if (size < (o->is64 ? 3 * sizeof(uint64_t) : 3 * sizeof(uint32_t)))
		return false;
	s.vaddr = address(o, &at);
	base = address(o, &at);
	semaphore = address(o, &at);
	/* prelink moves sections, and leaves the notes as they are */
	moved = o->usdt_base && base ? o->usdt_base - base : 0;
	s.vaddr += moved;
	s.provider = string(&at, end);
	s.name = s.provider ? string(&at, end) : NULL;
	s.args = s.name ? string(&at, end) : NULL;
	if (!s.args || !*s.provider || !*s.name || !place(o, s.vaddr, true, &s.offset))
		return false;
	if (semaphore && !place(o, semaphore + moved, false, &s.semaphore))
		return false;
	*out = s;
	return true;
}

/* ---- all of them */

static int take_notes(struct found *f, size_t size)
{
	struct sym_usdt *u = &f->usdt;
	const char *p = f->notes;
	Elf64_Nhdr h; /* the same in 32-bit files */
	int err = 0;

	while (!err && size >= sizeof(h)) {
		struct sym_usdt_site site;
		uint64_t desc, next;

		memcpy(&h, p, sizeof(h));
		desc = sizeof(h) + (((uint64_t)h.n_namesz + 3) & ~3ULL);
		next = desc + (((uint64_t)h.n_descsz + 3) & ~3ULL);
		if (desc + h.n_descsz > size) {
			u->unusable++;
			break;
		}
		if (h.n_type == USDT_NOTE && h.n_namesz == sizeof("stapsdt") &&
		    !memcmp(p + sizeof(h), "stapsdt", sizeof("stapsdt"))) {
			if (read_site(f->object, p + desc, h.n_descsz, &site))
				err = RP_PUSH(u->items, u->count, f->capacity, site);
			else
				u->unusable++;
		}
		if (next >= size)
			break;
		p += next;
		size -= next;
	}
	return err;
}

static int compare_sites(const void *a, const void *b)
{
	const struct sym_usdt_site *x = a, *y = b;
	int order = strcmp(x->provider, y->provider);

	if (!order)
		order = strcmp(x->name, y->name);
	if (!order && x->offset != y->offset)
		order = x->offset < y->offset ? -1 : 1;
	return order ? order : strcmp(x->args, y->args);
}

/* A place that two notes name is one: a probe set twice would count twice. */
static void sort(struct sym_usdt *u)
{
	size_t kept = 0;

	if (!u->count)
		return;
	qsort(u->items, u->count, sizeof(*u->items), compare_sites);
	for (size_t i = 0; i < u->count; i++) {
		const struct sym_usdt_site *last = kept ? &u->items[kept - 1] : NULL;

		if (last && last->offset == u->items[i].offset &&
		    !strcmp(last->name, u->items[i].name) &&
		    !strcmp(last->provider, u->items[i].provider))
			continue;
		u->items[kept++] = u->items[i];
	}
	u->count = kept;
}

static int read_all(struct found *f)
{
	const struct sym_object *o = f->object;
	uint64_t size = sym_object_there(o, o->usdt.offset, o->usdt.size);
	int err;

	f->usdt.machine = o->machine;
	if (size > NOTES_MOST)
		return -EFBIG;
	f->notes = malloc(size + 1);
	if (!f->notes)
		return -ENOMEM;
	size = size ? sym_object_read(o, o->usdt.offset, f->notes, size) : 0;
	err = take_notes(f, size);
	sort(&f->usdt);
	return err;
}

int sym_usdt_read(int fd, struct sym_usdt **out)
{
	struct found *f = calloc(1, sizeof(*f));
	int copy, err;

	if (!f)
		return -ENOMEM;
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	err = copy < 0 ? -errno : sym_object_open(&f->object, copy);
	if (!err)
		err = read_all(f);
	if (!err)
		f->work = rp_work_for(f->object->size, WORK_TIMES);
	if (err)
		sym_usdt_free(&f->usdt);
	else
		*out = &f->usdt;
	return err;
}

void sym_usdt_free(struct sym_usdt *usdt)
{
	struct found *f = (struct found *)usdt; /* its first member */

	if (!f)
		return;
	sym_object_close(f->object);
	free(f->usdt.items);
	free(f->notes);
	for (int which = 0; which < SYM_TABLES; which++)
		free(f->names[which]);
	rp_memory_give(f->taken);
	free(f);
}

/* ---- variables that arguments name */

struct search {
	const char *name, *text;
	uint64_t length, text_size;
	bool found;
	uint64_t vaddr;
};

/* -ENOTUNIQ: there are several. */
static int look_at(void *ctx, const void *elf64_sym)
{
	const Elf64_Sym *s = elf64_sym;
	struct search *search = ctx;
	const char *name = search->text + s->st_name;

	if (s->st_shndx == SHN_UNDEF || s->st_shndx == SHN_ABS || s->st_shndx == SHN_COMMON ||
	    ELF64_ST_TYPE(s->st_info) == STT_TLS || s->st_name >= search->text_size ||
	    search->text_size - s->st_name <= search->length ||
	    memcmp(name, search->name, search->length) ||
	    (name[search->length] && name[search->length] != '@'))
		return 0;
	if (search->found && search->vaddr != s->st_value)
		return -ENOTUNIQ;
	search->found = true;
	search->vaddr = s->st_value;
	return 0;
}

static int read_names(struct found *f, int which)
{
	const struct sym_symbols *table = &f->object->symbols[which];

	if (f->names[which])
		return 0;
	if (!rp_memory_take(table->strings_size))
		return -E2BIG;
	f->taken += table->strings_size;
	f->names[which] = malloc(table->strings_size + 1);
	if (!f->names[which])
		return -ENOMEM;
	f->names_size[which] =
		sym_object_read(f->object, table->strings, f->names[which], table->strings_size);
	return 0;
}

/* Each argument of each place may name another one. */
static int look_through(struct found *f, int which, struct search *s)
{
	const struct sym_symbols *table = &f->object->symbols[which];
	int err;

	if (!table->count)
		return 0;
	if (!rp_work_spend(&f->work, table->count * table->entsize))
		return -E2BIG;
	err = read_names(f, which);
	s->text = f->names[which];
	s->text_size = f->names_size[which];
	return err ? err : sym_symtab_each(f->object, which, look_at, s);
}

int sym_usdt_variable(struct sym_usdt *usdt, const char *name, uint64_t *vaddr)
{
	struct found *f = (struct found *)usdt;
	struct search s = { .name = name, .length = strlen(name) };
	int err = 0;

	for (int which = 0; !err && s.length && which < SYM_TABLES; which++)
		err = look_through(f, which, &s);
	if (err)
		return err;
	if (!s.found)
		return -ENOENT;
	*vaddr = s.vaddr;
	return 0;
}
