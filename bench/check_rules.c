/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `make check-rules`: rules computed from instructions beside those that files have.
 *
 * Each file is looked at as if it had no .eh_frame, and what is then said of each
 * instruction is held against its .eh_frame. Where that contradicts the code, as it says that a
 * push leaves the stack where it was, it cannot be a measure: the function is counted apart.
 *
 *	check_rules [-v] FILE...
 *
 * Ends with 1 unless of all instructions at least 99.9 % are right or declined, and at most 0.01 %
 * wrong.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unwind/code.h"
#include "unwind/code_arm64.h"
#include "unwind/elf.h"
#include "unwind/image.h"

struct tally {
	uint64_t all; /* instructions that .eh_frame describes */
	uint64_t odd; /* of functions whose description contradicts their code: in none of these: */
	uint64_t right, fp_lost, unlike, wrong;
};

enum verdict { NOTHING, RIGHT, FP_LOST, UNLIKE, WRONG };

struct check {
	const struct unwind_table *table;
	struct unwind_starts starts;
	bool is_verbose, is_arm64;
	uint64_t addr; /* of the segment; */
	uint64_t size;
	uint8_t *code, *verdict; /*   a byte for each of its bytes */
	struct tally t;
};

/* As x86 numbers the register that DWARF has as @reg. */
static int number_of(int reg)
{
	static const int8_t x86[8] = { 0, 2, 1, 3, 6, 7, 5, 4 };

	return reg >= 0 && reg < 8 ? x86[reg] : reg;
}

/* Two rules may say the same by different registers. */
static enum verdict judge_cfa(const struct unwind_code_state *s, const struct unwind_rule *real,
			      const struct unwind_rule *ours)
{
	if (real->kind == UNWIND_SP && s->sp.from == KNOWN_CFA)
		return s->sp.off == -real->cfa_off ? RIGHT : WRONG;
	if (real->kind == UNWIND_FP && s->bp.from == KNOWN_CFA)
		return s->bp.off == -real->cfa_off ? RIGHT : WRONG;
	for (int i = 0; real->kind == UNWIND_REG && i < UNWIND_COPIES; i++)
		if (s->copy[i].from == KNOWN_CFA && s->copy_reg[i] == number_of(real->arg))
			return s->copy[i].off == -real->cfa_off ? RIGHT : WRONG;
	if (real->kind == UNWIND_DEREF_FP && s->slot.from == s->bp.from && s->slot.from)
		return s->slot.off - s->bp.off == real->cfa_off && -s->in_slot.off == real->arg
			       ? RIGHT
			       : UNLIKE;
	if (real->kind == UNWIND_DEREF_SP && s->slot.from == s->sp.from && s->slot.from)
		return s->slot.off - s->sp.off == real->cfa_off && -s->in_slot.off == real->arg
			       ? RIGHT
			       : UNLIKE;
	if (real->kind == UNWIND_STOP || ours->kind == UNWIND_STOP)
		return real->kind == ours->kind ? RIGHT : WRONG;
	if (real->kind != ours->kind)
		return UNLIKE;
	return real->cfa_off == ours->cfa_off && real->arg == ours->arg ? RIGHT : WRONG;
}

/* Where rbp was stored it may still be in rbp too: before it is changed, or since it came back. */
static enum verdict judge_fp(const struct unwind_rule *real, const struct unwind_rule *ours)
{
	const unsigned int saved = UNWIND_FP_AT_CFA | UNWIND_FP_AT_FP;

	if ((ours->flags | real->flags) & UNWIND_FP_LOST)
		return FP_LOST;
	if (!(ours->flags & saved))
		return RIGHT;
	if (!(real->flags & saved))
		return WRONG;
	if ((real->flags & saved) != (ours->flags & saved))
		return UNLIKE;
	return real->fp_off == ours->fp_off ? RIGHT : WRONG;
}

static bool is_compared(const struct unwind_rule *real)
{
	return real->kind != UNWIND_NO_ROW && !(real->flags & UNWIND_COMPUTED) &&
	       real->kind != UNWIND_PLT && real->kind != UNWIND_SIGNAL &&
	       real->kind != UNWIND_UNSUP;
}

static void note(struct check *c, uint64_t addr, const struct unwind_rule *real,
		 const struct unwind_rule *ours, enum verdict v)
{
	c->verdict[addr - c->addr] = v;
	if (c->is_verbose && v == WRONG)
		printf("  %#" PRIx64 ": kind %d %d %d fp %#x %d, computed %d %d %d fp %#x %d\n",
		       addr, real->kind, real->cfa_off, real->arg, real->flags, real->fp_off,
		       ours->kind, ours->cfa_off, ours->arg, ours->flags, ours->fp_off);
}

static int judge(void *ctx, uint64_t addr, uint32_t len, const struct unwind_code_state *s)
{
	struct check *c = ctx;
	const struct unwind_rule *real = unwind_table_rule(c->table, addr);
	const struct unwind_rule ours = unwind_code_rule(s);
	enum verdict v;

	(void)len;
	if (!is_compared(real) || ours.kind == UNWIND_NO_ROW)
		return 0;
	v = judge_cfa(s, real, &ours);
	if (v == RIGHT && real->kind != UNWIND_STOP)
		v = judge_fp(real, &ours);
	note(c, addr, real, &ours, v);
	return 0;
}

/* ---- arm64 */

static enum verdict compare(int32_t ours, int64_t real)
{
	return ours == UNWIND_ARM64_UNKNOWN ? UNLIKE : ours == real ? RIGHT : WRONG;
}

/* The return address may be both in a register and where it was stored, and x29 too. */
static enum verdict judge_return(const struct unwind_arm64_state *s, const struct unwind_rule *real)
{
	if (!(real->flags & UNWIND_RA_REG))
		return compare(s->ra_at, real->ra_off);
	return s->ra_reg == real->ra_off ? RIGHT : s->ra_reg < 0 ? WRONG : UNLIKE;
}

static enum verdict judge_arm64_rule(const struct unwind_arm64_state *s,
				     const struct unwind_rule *real, const struct unwind_rule *ours)
{
	enum verdict v = real->kind == UNWIND_SP     ? compare(s->sp, -(int64_t)real->cfa_off)
			 : real->kind == UNWIND_FP   ? compare(s->fp, -(int64_t)real->cfa_off)
			 : real->kind == UNWIND_STOP ? WRONG
						     : UNLIKE;

	if (v == RIGHT)
		v = judge_return(s, real);
	if (v == RIGHT && (ours->flags | real->flags) & UNWIND_FP_LOST)
		return FP_LOST;
	if (v == RIGHT && real->flags & UNWIND_FP_AT_CFA)
		v = compare(s->fp_at, real->fp_off);
	else if (v == RIGHT && !(real->flags & UNWIND_FP_AT_FP))
		v = s->has_fp ? RIGHT : WRONG;
	return v;
}

static int judge_arm64(void *ctx, uint64_t addr, uint32_t len, const struct unwind_arm64_state *s)
{
	struct check *c = ctx;
	const struct unwind_rule *real = unwind_table_rule(c->table, addr);
	const struct unwind_rule ours = unwind_arm64_rule(s);

	(void)len;
	if (is_compared(real) && ours.kind != UNWIND_NO_ROW && addr % ARM64_BYTES == 0)
		note(c, addr, real, &ours, judge_arm64_rule(s, real, &ours));
	return 0;
}

/* ---- one function */

/* How far an instruction moves rsp, if it says so by itself: pushes, pops, add and sub. */
static bool moves_by(const struct x86_parts *p, int64_t *by)
{
	struct unwind_code_state s = unwind_code_entry();
	const int32_t before = s.sp.off -= 1 << 20;
	bool is_call;

	if (rp_x86_flow(p, &is_call) != FLOW_NEXT || is_call || !unwind_code_step(&s, p) ||
	    s.sp.from != KNOWN_CFA || s.sp.off == before)
		return false;
	*by = s.sp.off - before;
	return true;
}

/* A rule by rsp that does not move as rsp does. */
static bool contradicts(const struct check *c, uint64_t at, const struct x86_parts *p)
{
	const struct unwind_rule *now = unwind_table_rule(c->table, at),
				 *then = unwind_table_rule(c->table, at + p->at);
	int64_t by;

	return now->kind == UNWIND_SP && then->kind == UNWIND_SP && moves_by(p, &by) &&
	       then->cfa_off != now->cfa_off - by;
}

/* rbp is changed, and as they have it the caller's is still in it. */
static bool loses_fp(const struct check *c, uint64_t at, const struct x86_parts *p)
{
	const struct unwind_rule *then = unwind_table_rule(c->table, at + p->at);

	return then->kind != UNWIND_FP && is_compared(then) && !then->flags &&
	       rp_x86_changes(p) >> X86_BP & 1 && !(p->map == 0 && p->opcode == 0x8b) &&
	       !(p->map == 0 && p->opcode == 0xc9);
}

/* Bytes of the instruction at @at; 0: none that is known. *@is_odd: see above. */
static uint32_t look_at(const struct check *c, uint64_t at, bool *is_odd)
{
	const uint64_t left = c->addr + c->size - at;
	struct x86_parts p = { .code = c->code + (at - c->addr),
			       .n = left < X86_LONGEST ? left : X86_LONGEST };

	if (c->is_arm64)
		return left < ARM64_BYTES ? 0 : ARM64_BYTES;
	if (!rp_x86_take_apart(&p))
		return 0;
	*is_odd |= is_compared(unwind_table_rule(c->table, at)) &&
		   (contradicts(c, at, &p) || loses_fp(c, at, &p));
	return p.at;
}

static void count_function(struct check *c, uint64_t start, uint64_t end)
{
	uint64_t n[WRONG + 1] = { 0 }, all = 0;
	bool is_odd = false;

	for (uint64_t at = start; at < end;) {
		const struct unwind_rule *real = unwind_table_rule(c->table, at);
		uint32_t len;

		if (real->kind == UNWIND_NO_ROW || real->flags & UNWIND_COMPUTED)
			break;
		len = look_at(c, at, &is_odd);
		if (!len)
			break;
		if (is_compared(real)) {
			all++;
			n[c->verdict[at - c->addr]]++;
		}
		at += len;
	}
	c->t.all += all;
	if (is_odd && n[WRONG]) {
		c->t.odd += all;
		if (c->is_verbose)
			printf("  %#" PRIx64 ": .eh_frame contradicts the code\n", start);
		return;
	}
	c->t.right += n[RIGHT];
	c->t.fp_lost += n[FP_LOST];
	c->t.unlike += n[UNLIKE];
	c->t.wrong += n[WRONG];
}

static void count_functions(struct check *c)
{
	const struct unwind_table *t = c->table;
	const uint64_t base = t->parts[0].start;

	for (uint32_t i = 0; i < t->nfdes; i++) {
		const uint64_t start = base + t->fdes[i],
			       next = i + 1 < t->nfdes ? base + t->fdes[i + 1] : UINT64_MAX,
			       end = c->addr + c->size;

		if (start >= c->addr && start < end)
			count_function(c, start, next < end ? next : end);
	}
}

static int check_segment(struct check *c, const struct unwind_image *m, const Elf64_Phdr *ph)
{
	int err = -ENOMEM;

	c->addr = ph->p_vaddr;
	c->code = malloc(ph->p_filesz);
	c->verdict = calloc(1, ph->p_filesz);
	if (c->code && c->verdict) {
		c->size = unwind_image_read(m, ph->p_offset, c->code, ph->p_filesz);
		err = 0;
	}
	for (size_t at = 0; at < c->size && !err; at += UNWIND_CODE_PIECE) {
		size_t n = c->size - at < UNWIND_CODE_PIECE ? c->size - at : UNWIND_CODE_PIECE;
		struct rp_work work = rp_work_for(n, UNWIND_CODE_WORK);

		err = c->is_arm64 ? unwind_arm64_follow(c->code + at, n, c->addr + at, &c->starts,
							&work, judge_arm64, c)
				  : unwind_code_follow(c->code + at, n, c->addr + at, &c->starts,
						       &work, judge, c);
		if (!work.left)
			printf("  %#" PRIx64 ": the work for it is used up\n", c->addr + at);
	}
	if (!err)
		count_functions(c);
	free(c->code);
	free(c->verdict);
	return err;
}

static double percent(uint64_t n, uint64_t all)
{
	return all ? 100.0 * (double)n / (double)all : 0;
}

static void print(const char *name, const struct tally *t)
{
	const uint64_t sure = t->right + t->fp_lost + t->unlike + t->wrong;

	printf("| %s | %" PRIu64 " | %.3f | %.3f | %.3f | %.3f | %.3f | %.4f |\n", name, t->all,
	       percent(t->right, t->all), percent(t->fp_lost, t->all),
	       percent(t->all - t->odd - sure, t->all), percent(t->odd, t->all),
	       percent(t->unlike, t->all), percent(t->wrong, t->all));
}

static int find_starts(struct unwind_starts *out, int fd)
{
	struct unwind_source s = { .is_computed = true };
	int err = unwind_source_read(&s, fd, NULL, 0);

	if (!err) {
		err = unwind_starts_find(out, &s, NULL, 0);
		unwind_source_free(&s);
	}
	return err;
}

static int check_file(const char *path, bool is_verbose, struct tally *all)
{
	struct check c = { .is_verbose = is_verbose };
	struct unwind_table *table = NULL;
	struct unwind_image m;
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = fd < 0 ? -errno : 0;

	if (!err)
		err = unwind_image_open(&m, fd, NULL, 0);
	if (!err) {
		err = unwind_table_build(&table, fd);
		err = err ? err : find_starts(&c.starts, fd);
		c.table = table;
		c.is_arm64 = !err && table->machine == EM_AARCH64;
		for (size_t i = 0; i < m.nsegments && !err; i++)
			if (m.segments[i].p_type == PT_LOAD && m.segments[i].p_flags & PF_X)
				err = check_segment(&c, &m, &m.segments[i]);
		unwind_image_close(&m);
	}
	unwind_table_free(table);
	unwind_starts_free(&c.starts);
	if (fd >= 0)
		close(fd);
	if (err) {
		fprintf(stderr, "%s: %s\n", path, strerror(-err));
		return err;
	}
	print(path, &c.t);
	all->all += c.t.all;
	all->odd += c.t.odd;
	all->right += c.t.right;
	all->fp_lost += c.t.fp_lost;
	all->unlike += c.t.unlike;
	all->wrong += c.t.wrong;
	return 0;
}

int main(int argc, char **argv)
{
	struct tally all = { 0 };
	bool is_verbose = argc > 1 && !strcmp(argv[1], "-v");
	int err = 0;

	puts("| file | instructions | right, % | but for rbp, % | declined, % | "
	     "contradictory .eh_frame, % | not to be compared, % | wrong, % |");
	puts("|---|---|---|---|---|---|---|---|");
	for (int i = 1 + is_verbose; i < argc; i++)
		if (check_file(argv[i], is_verbose, &all))
			err = 1;
	print("all", &all);
	return err || percent(all.wrong, all.all) > 0.01 ||
	       percent(all.wrong + all.unlike, all.all) > 0.1;
}
