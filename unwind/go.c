/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For each function the table says how far the stack pointer is below where the function was
 * entered, as pairs of steps: of that number and of the address. Frames that are not empty have the
 * caller's rbp at their upper end.
 *
 * The first function of a goroutine or of a thread ends a walk, and so do those that go over to
 * another stack, where nothing but struct g says what is on the one before.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/budget.h"
#include "elf.h"
#include "go.h"

enum {
	GO_1_16 = 0xfffffffa,
	GO_1_18 = 0xfffffff0,
	GO_1_20 = 0xfffffff1,
	FLAG_SP_WRITE = 2, /* it moves the stack pointer in ways that the table does not know */
	RETURN_BYTES = 8,
};

/* Where things lie in it; all offsets are below the size. */
struct layout {
	uint32_t magic;
	uint64_t nfunc, names, pctab, functions;
	uint32_t min_insn;
};

/* 0 beyond the end. */
static uint64_t number_at(const struct unwind_go *go, uint64_t at, size_t len)
{
	uint64_t n = 0;

	if (at <= go->size && len <= go->size - at)
		memcpy(&n, go->data + at, len); /* little-endian, as all machines here */
	return n;
}

static bool read_layout(const struct unwind_go *go, struct layout *l)
{
	const uint64_t first = go->size ? number_at(go, 0, 4) : 0;
	/* A word more, which was the start of the text, from 1.18 on. */
	const uint64_t words = 8 * (first == GO_1_16 ? 3 : 4);

	*l = (struct layout){ .magic = (uint32_t)first,
			      .min_insn = (uint32_t)number_at(go, 6, 1),
			      .nfunc = number_at(go, 8, 8),
			      .names = number_at(go, words, 8),
			      .pctab = number_at(go, words + 24, 8),
			      .functions = number_at(go, words + 32, 8) };
	return (first == GO_1_16 || first == GO_1_18 || first == GO_1_20) &&
	       number_at(go, 7, 1) == 8 && l->min_insn && l->names < go->size &&
	       l->pctab < go->size && l->functions < go->size &&
	       l->nfunc < (go->size - l->functions) / (first == GO_1_16 ? 16 : 8);
}

/* Address of function @i, or where the last one ends; and where it is described. */
static uint64_t function_at(const struct unwind_go *go, const struct layout *l, uint64_t i,
			    uint64_t *described)
{
	const size_t len = l->magic == GO_1_16 ? 8 : 4;
	const uint64_t at = l->functions + 2 * len * i;

	*described = l->functions + number_at(go, at + len, len);
	return number_at(go, at, len) + (len == 4 ? go->text : 0);
}

static uint32_t read_varint(const struct unwind_go *go, uint64_t *at)
{
	uint32_t n = 0;

	for (int shift = 0; shift < 32 && *at < go->size; shift += 7) {
		const uint8_t byte = go->data[(*at)++];

		n |= (uint32_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			break;
	}
	return n;
}

static bool is_named(const struct unwind_go *go, uint64_t at, const char *name)
{
	const size_t len = strlen(name) + 1;

	return at < go->size && len <= go->size - at && !memcmp(go->data + at, name, len);
}

static bool ends_walks(const struct unwind_go *go, uint64_t name)
{
	static const char *const ends[] = {
		"runtime.goexit",    "runtime.mstart",	    "runtime.rt0_go",	"runtime.mcall",
		"runtime.morestack", "runtime.systemstack", "_rt0_amd64_linux", "_rt0_amd64",
	};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (is_named(go, name, ends[i]))
			return true;
	return false;
}

static struct unwind_rule rule_of(int32_t below, bool is_sp_known)
{
	struct unwind_rule r = { .kind = UNWIND_SP, .cfa_off = below + RETURN_BYTES, .ra_off = -8 };

	if (below > 0) {
		r.flags = UNWIND_FP_AT_CFA;
		r.fp_off = -2 * RETURN_BYTES;
		if (!is_sp_known) {
			r.kind = UNWIND_FP;
			r.cfa_off = 2 * RETURN_BYTES;
		}
	}
	return r;
}

static const struct unwind_rule nothing = { .kind = UNWIND_NO_ROW };

struct filling {
	const struct unwind_go *go;
	const struct layout *l;
	uint64_t at, end; /* rows are told from one to the other */
	unwind_go_row_fn *row;
	void *ctx;
};

/* @rule holds from @start to @end, of which some may not be asked for. */
static int tell(struct filling *f, uint64_t start, uint64_t end, const struct unwind_rule *rule)
{
	int err = 0;

	if (start < f->at)
		start = f->at;
	if (end > f->end)
		end = f->end;
	if (start >= end)
		return 0;
	if (start > f->at) /* behind what was told before, which may have ended early */
		err = f->row(f->ctx, f->at, &nothing);
	if (!err)
		err = f->row(f->ctx, start, rule);
	f->at = end;
	return err;
}

static int run_function(struct filling *f, uint64_t start, uint64_t end, uint64_t described)
{
	static const struct unwind_rule stop = { .kind = UNWIND_STOP };
	/* What it begins with is an address before 1.18, and an offset since. */
	const uint64_t name = described + (f->l->magic == GO_1_16 ? 8 : 4);
	const uint64_t flag = name + (f->l->magic == GO_1_20 ? 37 : 33);
	const bool is_sp_known = !(number_at(f->go, flag, 1) & FLAG_SP_WRITE);
	uint64_t table = f->l->pctab + number_at(f->go, name + 12, 4), pc = start;
	int32_t below = -1;
	int err = 0;

	if (ends_walks(f->go, f->l->names + number_at(f->go, name, 4)))
		return tell(f, start, end, &stop);
	while (!err && pc < end && table < f->go->size) {
		const uint32_t step = read_varint(f->go, &table);
		const uint64_t next = pc + (uint64_t)f->l->min_insn * read_varint(f->go, &table);
		struct unwind_rule rule;

		if ((!step && pc != start) || next <= pc)
			break;
		below = (int32_t)((uint32_t)below + (step & 1 ? ~(step >> 1) : step >> 1));
		rule = below < 0 || below > INT32_MAX - RETURN_BYTES ? nothing
								     : rule_of(below, is_sp_known);
		err = tell(f, pc, next < end ? next : end, &rule);
		pc = next;
	}
	return err;
}

int unwind_go_fill(const struct unwind_go *go, uint64_t start, uint64_t end, unwind_go_row_fn *row,
		   void *ctx)
{
	struct layout l;
	struct filling f = { go, &l, start, end, row, ctx };
	int err = 0;

	if (!read_layout(go, &l))
		return row(ctx, start, &nothing);
	for (uint64_t i = 0; i < l.nfunc && !err; i++) {
		uint64_t described, unused;
		const uint64_t from = function_at(go, &l, i, &described),
			       to = function_at(go, &l, i + 1, &unused);

		if (from >= to || to <= f.at || from >= end)
			continue;
		err = run_function(&f, from, to, described);
	}
	return err || f.at >= end ? err : row(ctx, f.at, &nothing);
}

/* A longer one is none: all functions may say that they have the same, as long as the table. */
#define LONGEST_NAME 8192

/* The name of what is described there, *len bytes before its NUL; NULL: it has none. */
static const char *name_of(const struct unwind_go *go, const struct layout *l, uint64_t described,
			   size_t *len)
{
	const uint64_t at = l->names + number_at(go, described + (l->magic == GO_1_16 ? 8 : 4), 4);
	size_t most;

	if (at >= go->size)
		return NULL;
	most = go->size - at < LONGEST_NAME ? go->size - at : LONGEST_NAME;
	*len = strnlen((const char *)go->data + at, most);
	return *len && *len < most ? (const char *)go->data + at : NULL;
}

int unwind_go_each(const struct unwind_go *go, unwind_go_function_fn *fn, void *ctx)
{
	struct layout l;
	int err = 0;

	if (!go->data || !read_layout(go, &l))
		return 0;
	for (uint64_t i = 0; i < l.nfunc && !err; i++) {
		uint64_t described, unused;
		const uint64_t from = function_at(go, &l, i, &described),
			       to = function_at(go, &l, i + 1, &unused);
		size_t len;
		const char *name = name_of(go, &l, described, &len);

		if (name && from < to)
			err = fn(ctx, name, from, to);
	}
	return err;
}

bool unwind_go_find(const struct unwind_go *go, uint64_t vaddr, const char **name, size_t *len,
		    uint64_t *start)
{
	uint64_t lo = 0, hi, described, unused;
	struct layout l;

	if (!go->data || !read_layout(go, &l))
		return false;
	for (hi = l.nfunc; lo < hi;) {
		const uint64_t mid = lo + (hi - lo) / 2;

		if (function_at(go, &l, mid, &unused) <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || vaddr >= function_at(go, &l, lo, &unused))
		return false;
	*start = function_at(go, &l, lo - 1, &described);
	*name = name_of(go, &l, described, len);
	return *name != NULL;
}

/* ---- reading */

/*
 * The header says where the text begins, in some versions; else it is where .text does, unless C
 * was linked in front of it: then no function is where the program begins.
 */
static bool find_text(struct unwind_go *go, const struct unwind_image *m)
{
	uint64_t described;
	struct layout l;

	if (!read_layout(go, &l))
		return false;
	go->text = l.magic == GO_1_16 ? 0 : number_at(go, 24, 8);
	for (size_t i = 0; !go->text && i < m->nsections; i++)
		if (!strcmp(unwind_image_name(m, &m->sections[i]), ".text"))
			go->text = m->sections[i].sh_addr;
	for (uint64_t i = 0; i < l.nfunc; i++)
		if (function_at(go, &l, i, &described) == m->entry)
			return true;
	return false;
}

int unwind_go_read(struct unwind_go *go, const struct unwind_image *m)
{
	const Elf64_Shdr *sh = NULL;
	struct unwind_go g = { 0 };

	for (size_t i = 0; m->machine == EM_X86_64 && i < m->nsections && !sh; i++)
		if (!strcmp(unwind_image_name(m, &m->sections[i]), ".gopclntab") ||
		    !strcmp(unwind_image_name(m, &m->sections[i]), ".data.rel.ro.gopclntab"))
			sh = &m->sections[i];
	if (!sh || !sh->sh_size || sh->sh_offset >= m->size ||
	    sh->sh_size > m->size - sh->sh_offset)
		return -ENODATA;
	if (sh->sh_size > UNWIND_FRAMES_MAX)
		return -EFBIG;
	if (!rp_memory_take(sh->sh_size))
		return -ENOMEM;
	g.size = sh->sh_size;
	g.data = malloc(g.size);
	if (!g.data) {
		rp_memory_give(g.size);
		return -ENOMEM;
	}
	if (unwind_image_read(m, sh->sh_offset, g.data, g.size) != g.size || !find_text(&g, m)) {
		unwind_go_free(&g);
		return -ENODATA;
	}
	*go = g;
	return 0;
}

void unwind_go_free(struct unwind_go *go)
{
	if (go->data)
		rp_memory_give(go->size);
	free(go->data);
	*go = (struct unwind_go){ 0 };
}
