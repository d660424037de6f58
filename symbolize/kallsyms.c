/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * /proc/kallsyms, read once and kept small: the kernel takes ten times longer to print it than this
 * takes to read it, so the work is done on the fly, in one pass over the bytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rawprof/symbolize.h>

#include "base/grow.h"

/*
 * Padding before a function (CONFIG_PREFIX_SYMBOLS) has a symbol of its own. Nothing runs there,
 * and it is half of the file; it only ends the symbol before it.
 */
#define PADDING "__pfx_"

enum {
	READ_SIZE = 65536,
	/* No function is longer; a longer gap is the end of a region whose end has no symbol. */
	MAX_SIZE = 65536,
	/* Regions begin on pages of their own. */
	PAGE = 4096,
	/* In place of a name while the file is read: no function, but the one before it ends. */
	NO_NAME = UINT32_MAX,
};

struct entry {
	uint64_t addr;
	uint32_t size; /* 0 until a symbol at a higher address was seen */
	uint32_t name; /* where in the texts: name, NUL, module (empty: the kernel image), NUL */
};

/*
 * Entries are in order of address and, at one address, in the order of the file: the kernel prints
 * its table in table order and names an address after the first of its aliases there
 * (get_symbol_pos() in kernel/kallsyms.c), and so do we.
 */
struct sym_kallsyms {
	struct entry *entries;
	size_t count, capacity;
	char *texts;
	size_t texts_used, texts_capacity;
	uint64_t stext; /* what lies below, outside modules, is the header; 0: not seen */
	uint64_t etext, einittext; /* nothing lies after these until the next region; 0: not seen */
	bool nonzero;		   /* an address other than 0 was seen */
};

struct line {
	uint64_t addr;
	char type;
	const char *name, *module;
	size_t name_len, module_len;
};

/* [p, end) is "ADDRESS TYPE NAME" or "ADDRESS TYPE NAME\t[MODULE]". */
static bool parse_line(const char *p, const char *end, struct line *out)
{
	struct line l = { 0 };
	const char *tab;
	int digits = 0;

	for (; p < end; p++, digits++) {
		unsigned char c = *p;

		if (c >= '0' && c <= '9')
			l.addr = l.addr << 4 | (c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			l.addr = l.addr << 4 | ((c | 0x20) - 'a' + 10);
		else
			break;
	}
	if (!digits || digits > 16 || end - p < 4 || p[0] != ' ' || p[2] != ' ')
		return false;
	l.type = p[1];
	l.name = p + 3;
	tab = memchr(l.name, '\t', end - l.name);
	l.name_len = (tab ? tab : end) - l.name;
	if (tab && end - tab > 3 && tab[1] == '[' && end[-1] == ']') {
		l.module = tab + 2;
		l.module_len = end - 1 - l.module;
	}
	if (!l.name_len || memchr(l.name, 0, end - l.name))
		return false;
	*out = l;
	return true;
}

static int keep_texts(struct sym_kallsyms *ks, const struct line *l)
{
	size_t need = l->name_len + l->module_len + 2;
	char *p;

	if (ks->texts_capacity - ks->texts_used < need) {
		size_t capacity = ks->texts_capacity ? 2 * ks->texts_capacity : 1 << 20;

		if (capacity - ks->texts_used < need || capacity > NO_NAME)
			return -ENOMEM;
		p = realloc(ks->texts, capacity);
		if (!p)
			return -ENOMEM;
		ks->texts = p;
		ks->texts_capacity = capacity;
	}
	p = ks->texts + ks->texts_used;
	memcpy(p, l->name, l->name_len);
	p[l->name_len] = '\0';
	if (l->module_len)
		memcpy(p + l->name_len + 1, l->module, l->module_len);
	p[need - 1] = '\0';
	ks->texts_used += need;
	return 0;
}

static int keep_entry(struct sym_kallsyms *ks, const struct line *l, bool is_named)
{
	size_t text = is_named ? ks->texts_used : NO_NAME;
	int err = is_named ? keep_texts(ks, l) : 0;

	return err ? err
		   : RP_PUSH(ks->entries, ks->count, ks->capacity,
			     (struct entry){ .addr = l->addr, .name = text });
}

/* Whatever comes next in the file ends the symbols before it, also what is not kept. */
static void end_previous(struct sym_kallsyms *ks, uint64_t addr)
{
	for (size_t i = ks->count; i-- > 0;) {
		struct entry *e = &ks->entries[i];

		if (e->size || e->addr >= addr)
			break;
		e->size = addr - e->addr > MAX_SIZE ? MAX_SIZE : addr - e->addr;
	}
}

static bool name_is(const struct line *l, const char *name)
{
	return l->name_len == strlen(name) && !memcmp(l->name, name, l->name_len);
}

static bool begins_with(const struct line *l, const char *start)
{
	return l->name_len > strlen(start) && !memcmp(l->name, start, strlen(start));
}

/*
 * What the assembler leaves in modules: where code ("$x") and data ("$d") begin on arm64, its own
 * labels. The kernel skips these too.
 */
static bool is_mark(const struct line *l)
{
	return l->module_len &&
	       (begins_with(l, "$") || begins_with(l, ".L") || begins_with(l, "L0"));
}

static bool is_function(const struct line *l)
{
	return l->type && strchr("tTwW", l->type) && !begins_with(l, PADDING);
}

static int take_line(struct sym_kallsyms *ks, const char *p, const char *end)
{
	struct line l;

	if (!parse_line(p, end, &l))
		return 0;
	if (l.addr)
		ks->nonzero = true;
	if (is_mark(&l))
		return 0;
	end_previous(ks, l.addr);
	if (!is_function(&l) && !l.module_len)
		return 0;
	if (!is_function(&l)) /* in a module, in no order: which function it ends is seen later */
		return keep_entry(ks, &l, false);
	if (name_is(&l, "_stext"))
		ks->stext = l.addr;
	else if (name_is(&l, "_etext"))
		ks->etext = l.addr;
	else if (name_is(&l, "_einittext"))
		ks->einittext = l.addr;
	return keep_entry(ks, &l, true);
}

static int read_lines(struct sym_kallsyms *ks, int fd)
{
	char *buf = malloc(READ_SIZE), *p, *end, *newline;
	size_t have = 0;
	ssize_t n;
	int err = 0;

	if (!buf)
		return -ENOMEM;
	while (!err && (n = read(fd, buf + have, READ_SIZE - have)) != 0) {
		if (n < 0) {
			err = errno == EINTR ? 0 : -errno;
			continue;
		}
		end = buf + have + n;
		for (p = buf; !err && (newline = memchr(p, '\n', end - p)); p = newline + 1)
			err = take_line(ks, p, newline);
		have = end - p;
		if (have == READ_SIZE)
			have = 0; /* a line of 64 KB is none */
		else
			memmove(buf, p, have);
	}
	free(buf);
	return err;
}

static int compare(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name; /* texts are in the order of the file */
}

/*
 * The image is in order and long; modules, BPF programs and trampolines follow in any order and are
 * few. So: sort what comes after the longest sorted beginning, then merge, from the back.
 */
static int sort(struct sym_kallsyms *ks)
{
	struct entry *e = ks->entries, *tail;
	size_t sorted = 1, n, i, k;

	while (sorted < ks->count && e[sorted - 1].addr <= e[sorted].addr)
		sorted++;
	n = ks->count - sorted;
	if (!n)
		return 0;
	tail = malloc(n * sizeof(*tail));
	if (!tail)
		return -ENOMEM;
	memcpy(tail, e + sorted, n * sizeof(*tail));
	qsort(tail, n, sizeof(*tail), compare);
	for (i = sorted, k = ks->count; n > 0;) {
		if (i > 0 && compare(&e[i - 1], &tail[n - 1]) > 0)
			e[--k] = e[--i];
		else
			e[--k] = tail[--n];
	}
	free(tail);
	return 0;
}

/* What the order of the file did not tell: where the last symbol of each sorted run ends. */
static void clamp_sizes(struct sym_kallsyms *ks)
{
	uint64_t end = UINT64_MAX;

	for (size_t i = ks->count; i-- > 0;) {
		struct entry *e = &ks->entries[i];

		if (i + 1 < ks->count && ks->entries[i + 1].addr != e->addr)
			end = ks->entries[i + 1].addr;
		if (!e->size)
			e->size = MAX_SIZE;
		if (e->size > end - e->addr)
			e->size = end - e->addr;
	}
}

/* What is no function has done its work. */
static void drop_nameless(struct sym_kallsyms *ks)
{
	size_t kept = 0;

	for (size_t i = 0; i < ks->count; i++)
		if (ks->entries[i].name != NO_NAME)
			ks->entries[kept++] = ks->entries[i];
	ks->count = kept;
}

static void shrink(struct sym_kallsyms *ks)
{
	void *p = realloc(ks->entries, ks->count * sizeof(*ks->entries));

	if (p)
		ks->entries = p;
	p = realloc(ks->texts, ks->texts_used);
	if (p)
		ks->texts = p;
}

int sym_kallsyms_open(struct sym_kallsyms **out, const char *path)
{
	struct sym_kallsyms *ks = NULL;
	int err = 0, fd;

	fd = open(path ? path : "/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ks = calloc(1, sizeof(*ks));
	if (!ks)
		err = -ENOMEM;
	else
		err = read_lines(ks, fd);
	close(fd);
	if (!err && !ks->texts_used)
		err = -ENODATA;
	if (!err && !ks->nonzero)
		err = -EACCES;
	if (!err)
		err = sort(ks);
	if (err) {
		sym_kallsyms_close(ks);
		return err;
	}
	clamp_sizes(ks);
	drop_nameless(ks);
	shrink(ks);
	*out = ks;
	return 0;
}

void sym_kallsyms_close(struct sym_kallsyms *ks)
{
	if (!ks)
		return;
	free(ks->entries);
	free(ks->texts);
	free(ks);
}

/* Where functions follow at once (those for exit on arm64), the mark is a name like any other. */
static bool is_region_end(const struct sym_kallsyms *ks, const struct entry *e)
{
	const struct entry *next = e, *end = ks->entries + ks->count;

	if (!e->addr || (e->addr != ks->etext && e->addr != ks->einittext))
		return false;
	while (next < end && next->addr == e->addr)
		next++;
	return next == end || next->addr - e->addr >= PAGE;
}

static struct sym_ksym describe(const struct sym_kallsyms *ks, const struct entry *e)
{
	const char *name = ks->texts + e->name, *module = name + strlen(name) + 1;
	const bool is_header = !*module && e->addr < ks->stext;

	return (struct sym_ksym){
		.name = name,
		.module = *module ? module : NULL,
		.addr = e->addr,
		.size = is_header || is_region_end(ks, e) ? 0 : e->size,
	};
}

int sym_kallsyms_lookup(const struct sym_kallsyms *ks, uint64_t addr, struct sym_ksym *out)
{
	size_t lo = 0, hi = ks->count; /* entries before lo are at or below addr */
	struct sym_ksym sym;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (ks->entries[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return -ENOENT;
	for (lo--; lo > 0 && ks->entries[lo - 1].addr == ks->entries[lo].addr;)
		lo--;
	sym = describe(ks, &ks->entries[lo]);
	if (addr - sym.addr >= sym.size)
		return -ENOENT;
	*out = sym;
	return 0;
}

size_t sym_kallsyms_find(const struct sym_kallsyms *ks, const char *name, struct sym_ksym *out,
			 size_t max)
{
	size_t found = 0;

	for (size_t i = 0; i < ks->count; i++) {
		if (strcmp(ks->texts + ks->entries[i].name, name))
			continue;
		if (found < max)
			out[found] = describe(ks, &ks->entries[i]);
		found++;
	}
	return found;
}

int sym_kallsyms_glob(const struct sym_kallsyms *ks, const char *pattern,
		      int (*fn)(void *ctx, const struct sym_ksym *sym), void *ctx)
{
	size_t literal = strcspn(pattern, "*?[\\"); /* most patterns begin with letters */
	int ret = 0;

	for (size_t i = 0; i < ks->count && !ret; i++) {
		const char *name = ks->texts + ks->entries[i].name;
		struct sym_ksym sym;

		if (strncmp(name, pattern, literal) || fnmatch(pattern, name, 0))
			continue;
		sym = describe(ks, &ks->entries[i]);
		ret = fn(ctx, &sym);
	}
	return ret;
}
