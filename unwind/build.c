/* SPDX-License-Identifier: BSD-2-Clause */
/* From .eh_frame or .debug_frame to a table: finds the FDEs, orders them, runs each. */
#include <errno.h>
#include <stdlib.h>

#include "base/budget.h"
#include "base/grow.h"
#include "base/hash.h"
#include "cfi.h"
#include "elf.h"
#include "entry.h"
#include "gaps.h"
#include "rows.h"
#include "table.h"

enum {
	CIES_MAX = 4096, /* that are remembered; most files have fewer than ten */
	ROW_WORK = 16,	 /* what a row costs, in bytes */
	/* So many times the bytes of .eh_frame is taken for its rows: three times what is usual. */
	MEMORY_TIMES = 4,
	/* Shorter gaps are padding between functions: no sample is in them. */
	PADDING = 16,
	/* What a function that jumps to code of another language leaves room for on the stack. */
	JUMPING_FRAME = 4096,
	JUMPED_TO_CALLS = 8, /* such code calls with so many bytes more, */
	JUMPED_TO_SIZES = 5, /*   or with up to so many times as many, by the arguments */
};

struct parsed_cie {
	uint64_t offset;
	bool is_parsed, is_bad;
	struct unwind_cie cie;
	struct unwind_state initial;
};

struct found {
	uint64_t start;
	uint32_t offset; /* of the FDE in .eh_frame; or TRAMPOLINE */
	uint32_t size;	 /* bytes of code; as many or more: UINT32_MAX */
};

#define TRAMPOLINE UINT32_MAX
#define FOLLOW_RBX 1 /* no table yet: its rules need that */

struct build {
	const struct unwind_source *source;
	const struct machine *machine;
	struct unwind_frames frames;
	struct rp_work work;
	struct hash_map cies; /* struct parsed_cie, by offset */
	struct found *found;
	size_t nfound, capacity;
	bool is_sorted;
	bool is_listing;      /* what has to be filled is told of beforehand */
	bool counts_from_rbx; /* a rule does, of another frame than a leaf's maybe */
	struct unwind_rows rows;
	struct unwind_gaps gaps;
};

/* NULL if there is no CIE at @offset, or none that makes sense, or no memory or work left. */
static const struct parsed_cie *get_cie(struct build *b, uint64_t offset)
{
	struct parsed_cie *p;

	if (offset >= b->frames.size)
		return NULL;
	p = rp_hash_find(&b->cies, &offset);
	if (!p && b->cies.count == CIES_MAX)
		rp_hash_free(&b->cies);
	if (!p)
		p = rp_hash_add(&b->cies, &offset);
	if (p && !p->is_parsed) {
		p->is_parsed = true;
		p->is_bad = unwind_cie_parse(&b->frames, offset, &p->cie) ||
			    unwind_cfi_begin(&b->frames, b->machine, &p->cie, &p->initial);
	}
	return p && !p->is_bad ? p : NULL;
}

static int add_found(struct build *b, struct found found)
{
	if (b->nfound && found.start <= b->found[b->nfound - 1].start)
		b->is_sorted = false;
	return RP_PUSH(b->found, b->nfound, b->capacity, found);
}

/*
 * A byte early, as the C library does it where it has an FDE for it: a handler returns to the first
 * instruction, and a return address is looked up by the byte before it.
 */
static int find_trampolines(struct build *b)
{
	const struct unwind_source *s = b->source;
	int err = 0;

	for (size_t i = 0; i < s->ntrampolines && !err; i++)
		err = add_found(b, (struct found){ s->trampolines[i] - 1, TRAMPOLINE,
						   UNWIND_TRAMPOLINE_SIZE + 1 });
	return err;
}

static int take_jumped_to(void *ctx, uint64_t addr, const struct unwind_rule *rule)
{
	struct build *b = ctx;

	(void)addr;
	if (rule->kind == UNWIND_SP && rule->cfa_off >= JUMPING_FRAME) {
		b->rows.jumped_to = *rule;
		b->rows.jumped_to.arg = JUMPED_TO_CALLS;
		b->rows.jumped_to.ra_off = JUMPED_TO_SIZES;
	}
	return 0;
}

/*
 * StgRun() of GHC's run-time system leaves some room on the stack and jumps to what was compiled of
 * Haskell. That keeps the stack pointer, has a stack of its own, and jumps back in the end; it has
 * no FDEs. So what StgRun() says of its frame holds for all of it. It does so by the caller's stack
 * pointer, DW_CFA_val_expression, which those that only call have no use for.
 */
static void look_for_jump(struct build *b, const struct parsed_cie *cie,
			  const struct unwind_fde *fde)
{
	static const uint8_t val_expression_rsp[] = { 0x16, 7 };

	if (b->source->machine == EM_X86_64 && !cie->cie.is_signal && !b->rows.jumped_to.kind &&
	    memmem(fde->insns.at, unwind_left(&fde->insns), val_expression_rsp,
		   sizeof(val_expression_rsp)))
		unwind_cfi_run(&b->frames, b->machine, &cie->cie, &cie->initial, fde, fde->end,
			       take_jumped_to, b);
	b->gaps.is_jumped_to = b->rows.jumped_to.kind;
}

/* Linkers leave FDEs of functions that they dropped at address 0 or so: no code is there. */
static int find_fdes(struct build *b)
{
	struct unwind_record r;
	size_t offset = 0;
	int err = 0;

	while (!err && unwind_frames_next(&b->frames, &offset, &r)) {
		const struct parsed_cie *cie = r.is_cie ? NULL : get_cie(b, r.cie);
		struct unwind_fde fde;
		uint64_t size;

		if (r.is_cie)
			continue;
		if (!cie || unwind_fde_parse(&b->frames, &r, &cie->cie, &fde)) {
			b->rows.stats.bad_fdes++;
			continue;
		}
		size = fde.end - fde.start < UINT32_MAX ? fde.end - fde.start : UINT32_MAX;
		if (!unwind_source_code(b->source, fde.start))
			continue;
		look_for_jump(b, cie, &fde);
		err = add_found(b, (struct found){ fde.start, (uint32_t)r.offset, (uint32_t)size });
	}
	return err;
}

static int by_start(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

static int add_row(void *ctx, uint64_t addr, const struct unwind_rule *rule)
{
	struct build *b = ctx;

	b->counts_from_rbx |= b->source->machine == EM_X86_64 && rule->kind == UNWIND_REG &&
			      rule->arg == UNWIND_RBX;
	return rp_work_spend(&b->work, ROW_WORK) ? unwind_rows_add(&b->rows, addr, rule) : -EFBIG;
}

/*
 * A gap may have the program's entry in it, which walks stop at whatever its instructions are. What
 * would hold there is held back: it does behind it.
 */
struct gap {
	struct build *b;
	uint64_t entry, entry_end; /* equal: it has not */
	bool is_entered, is_left;
	struct unwind_rule held;
};

/* The rows of the entry that lie before @addr. */
static int add_entry(struct gap *g, uint64_t addr)
{
	const struct unwind_rule stop = { .kind = UNWIND_STOP };
	int err = 0;

	if (g->entry == g->entry_end)
		return 0;
	if (addr >= g->entry && !g->is_entered) {
		g->is_entered = true;
		err = unwind_rows_add(&g->b->rows, g->entry, &stop);
	}
	if (!err && addr > g->entry_end && !g->is_left) {
		g->is_left = true;
		err = unwind_rows_add(&g->b->rows, g->entry_end, &g->held);
	}
	return err;
}

static int add_computed(void *ctx, uint64_t addr, const struct unwind_rule *rule)
{
	struct gap *g = ctx;
	int err = add_entry(g, addr);

	if (!g->is_left)
		g->held = *rule;
	if (err || (g->is_entered && addr < g->entry_end))
		return err;
	g->is_left |= g->is_entered;
	return unwind_rows_add(&g->b->rows, addr, rule);
}

static int fill_by_code(struct build *b, uint64_t start, uint64_t end)
{
	struct gap g = { .b = b, .entry = b->source->image.entry };
	int err;

	if (start >= end)
		return 0;
	if (b->is_listing)
		return unwind_gaps_list(&b->gaps, b->source, start, end);
	g.entry_end = g.entry < start ? g.entry : unwind_entry_end(b->source, end);
	err = unwind_gaps_fill(&b->gaps, b->source, start, end, add_computed, &g);
	return err || g.entry == g.entry_end ? err : add_entry(&g, g.entry_end + 1);
}

static uint64_t within(uint64_t at, uint64_t start, uint64_t end)
{
	return at < start ? start : at > end ? end : at;
}

/* Go's table tells of Go's functions, which lie together; C without tables lies around them. */
static int fill_by_functions(struct build *b, uint64_t start, uint64_t end)
{
	uint64_t go_start = end, go_end = end;
	int err;

	if (unwind_go_range(&b->source->go, &go_start, &go_end)) {
		go_start = within(go_start, start, end);
		go_end = within(go_end, go_start, end);
	}
	err = fill_by_code(b, start, go_start);
	if (!err && go_start < go_end && !b->is_listing)
		err = unwind_go_fill(&b->source->go, go_start, go_end, &b->work, add_row, b);
	return err ? err : fill_by_code(b, go_end, end);
}

/* The first PLT that lies from @start to @end, all of it code; NULL: there is none. */
static const struct unwind_plt *next_plt(const struct build *b, uint64_t start, uint64_t end)
{
	const struct unwind_source *s = b->source;

	for (size_t i = 0; i < s->nplts; i++) {
		const struct unwind_plt *plt = &s->plts[i];
		const struct unwind_code *code = unwind_source_code(s, plt->start);

		if (plt->start >= start && plt->end <= end && code && plt->end <= code->end)
			return plt;
	}
	return NULL;
}

/* No FDE says anything of what is from @start to @end. */
static int fill(struct build *b, uint64_t start, uint64_t end)
{
	const struct unwind_plt *plt;
	int err = 0;

	while (!err && (plt = next_plt(b, start, end))) {
		err = fill_by_functions(b, start, plt->start);
		if (!err && !b->is_listing)
			err = unwind_rows_add(&b->rows, plt->start, &plt->rule);
		start = plt->end;
	}
	return err ? err : fill_by_functions(b, start, end);
}

/*
 * Where functions overlap, an address belongs to the one that begins last before it, as it does to
 * who looks it up in .eh_frame_hdr. @next is where the next one begins.
 */
static int run_fde(struct build *b, const struct found *found, uint64_t next)
{
	const struct unwind_code *code = unwind_source_code(b->source, found->start);
	size_t offset = found->offset;
	const struct parsed_cie *cie;
	struct unwind_record r;
	struct unwind_fde fde;
	uint64_t end;
	int err;

	if (!unwind_frames_next(&b->frames, &offset, &r) || !(cie = get_cie(b, r.cie)))
		return -EFBIG; /* it was there a moment ago: its work is used up */
	err = unwind_fde_parse(&b->frames, &r, &cie->cie, &fde);
	if (err)
		return err;
	end = fde.end < code->end ? fde.end : code->end;
	if (end > next)
		end = next;
	err = unwind_cfi_run(&b->frames, b->machine, &cie->cie, &cie->initial, &fde, end, add_row,
			     b);
	if (err == -EBADMSG) {
		b->rows.stats.bad_fdes++;
		err = 0;
	}
	if (!err)
		err = unwind_rows_add_fde(&b->rows, fde.start);
	if (!err && next - end >= PADDING)
		err = fill(b, end, next);
	return err;
}

static int run_trampoline(struct build *b, const struct found *found, uint64_t next)
{
	uint64_t end = found->start + 1 + UNWIND_TRAMPOLINE_SIZE;
	const struct unwind_rule signal = unwind_signal_rule(b->machine);
	int err = unwind_rows_add(&b->rows, found->start, &signal);

	return err || end >= next ? err : fill(b, end, next);
}

static uint64_t next_start(const struct build *b, size_t i)
{
	return i + 1 < b->nfound ? b->found[i + 1].start : UINT64_MAX;
}

/* Several of the same address: the first one counts. */
static bool counts(const struct build *b, size_t i)
{
	return !i || b->found[i].start != b->found[i - 1].start;
}

static int fill_first(struct build *b)
{
	return fill(b, 0, b->nfound ? b->found[0].start : UINT64_MAX);
}

/* What run_fde() and run_trampoline() will fill. */
static int list_gaps(struct build *b)
{
	int err;

	b->is_listing = true;
	err = fill_first(b);
	for (size_t i = 0; i < b->nfound && !err; i++) {
		const struct found *found = &b->found[i];
		const bool is_fde = found->offset != TRAMPOLINE;
		const struct unwind_code *code = unwind_source_code(b->source, found->start);
		const uint64_t next = next_start(b, i);
		uint64_t end = found->start + found->size;

		if (is_fde && end > code->end)
			end = code->end;
		if (counts(b, i) && end < next && (!is_fde || next - end >= PADDING))
			err = fill(b, end, next);
	}
	b->is_listing = false;
	return err;
}

static int run_all(struct build *b)
{
	int err;

	b->is_sorted = true;
	err = find_fdes(b);
	if (!err && !b->work.left)
		err = -EFBIG;
	if (!err)
		err = find_trampolines(b);
	if (!err && !b->is_sorted)
		qsort(b->found, b->nfound, sizeof(*b->found), by_start);
	if (!err && b->source->is_computed)
		err = list_gaps(b);
	if (!err)
		err = fill_first(b);
	for (size_t i = 0; i < b->nfound && !err; i++) {
		const uint64_t next = next_start(b, i);

		if (counts(b, i))
			err = b->found[i].offset == TRAMPOLINE
				      ? run_trampoline(b, &b->found[i], next)
				      : run_fde(b, &b->found[i], next);
	}
	return err;
}

static int make(const struct unwind_source *s, uint32_t part_rows, bool follow_rbx,
		struct unwind_table **out)
{
	const uint64_t memory = (uint64_t)MEMORY_TIMES * (s->size + s->go.size);
	struct build *b;
	int err;

	if (!rp_memory_take(memory))
		return -ENOMEM;
	b = calloc(1, sizeof(*b));
	err = b ? unwind_rows_init(&b->rows) : -ENOMEM;
	if (err)
		goto out;
	b->rows.part_rows = part_rows;
	b->rows.stats.eh_frame_size = s->size;
	b->source = s;
	b->machine = rp_machine(s->machine);
	b->work = rp_work_for(s->size + s->go.size, UNWIND_WORK_TIMES);
	b->frames = (struct unwind_frames){ s->data,	       s->size,	 s->addr,
					    s->is_debug_frame, &b->work, follow_rbx };
	b->cies = HASH_MAP(struct parsed_cie, offset);
	unwind_gaps_begin(&b->gaps, s);
	err = run_all(b);
	unwind_gaps_end(&b->gaps, s);
	/* The table comes beside what it is made of: what is not needed any more goes before. */
	free(b->found);
	unwind_starts_free(&b->gaps.starts);
	b->rows.gaps = b->gaps.at;
	b->rows.ngaps = b->gaps.count;
	if (!err && b->counts_from_rbx && !follow_rbx)
		err = FOLLOW_RBX;
	if (!err)
		err = unwind_rows_finish(&b->rows, s->machine, out);
	unwind_gaps_free(&b->gaps);
	rp_hash_free(&b->cies);
	unwind_rows_free(&b->rows);
out:
	free(b);
	rp_memory_give(memory);
	return err;
}

/* Few files need what is in rbx, glibc's dynamic linker among them: the others have fewer rows. */
int unwind_table_make(const struct unwind_source *s, uint32_t part_rows, struct unwind_table **out)
{
	int err = make(s, part_rows, false, out);

	return err == FOLLOW_RBX ? make(s, part_rows, true, out) : err;
}

static int build(struct unwind_table **out, int fd, const void *image, size_t size)
{
	struct unwind_source s = { .is_computed = true };
	int err = unwind_source_read(&s, fd, image, size);

	if (err)
		return err;
	err = unwind_table_make(&s, UNWIND_PART_ROWS, out);
	unwind_source_free(&s);
	return err;
}

int unwind_table_build(struct unwind_table **out, int fd)
{
	return fd < 0 ? -EBADF : build(out, fd, NULL, 0);
}

static bool any_rule(const struct unwind_table *t)
{
	for (uint32_t i = 0; i < t->nrules; i++)
		if (t->rules[i].kind != UNWIND_NO_ROW && t->rules[i].kind != UNWIND_UNSUP)
			return true;
	return false;
}

int unwind_table_build_code(struct unwind_table **out, uint16_t machine, const void *code,
			    size_t size)
{
	struct unwind_code all = { 0, size };
	Elf64_Phdr segment = { .p_type = PT_LOAD, .p_flags = PF_X, .p_filesz = size };
	const struct unwind_source s = { .machine = machine,
					 .code = &all,
					 .ncode = 1,
					 .is_computed = true,
					 .is_memory = true,
					 .image = { .fd = -1,
						    .bytes = code,
						    .size = size,
						    .machine = machine,
						    .entry = UINT64_MAX, /* it is no program */
						    .segments = &segment,
						    .nsegments = 1 } };
	struct unwind_table *t;
	int err = -ENODATA;

	if (unwind_gaps_are_filled(&s))
		err = unwind_table_make(&s, UNWIND_PART_ROWS, &t);
	if (err)
		return err;
	if (!any_rule(t)) {
		unwind_table_free(t);
		return -ENODATA;
	}
	*out = t;
	return 0;
}

int unwind_table_build_image(struct unwind_table **out, const void *image, size_t size)
{
	return build(out, -1, image, size);
}
