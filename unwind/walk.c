/* SPDX-License-Identifier: BSD-2-Clause */
/* The walk up a user stack: the same steps, in the same order, as the BPF program's. */
#include <elf.h>
#include <string.h>

#include "cfi.h"
#include "table.h"

/*
 * One frame. The caller's fp is seldom needed: where it was saved is noted in fp_addr, and it is
 * read when a rule asks for it; most frames cost one read, of the return address.
 */
struct walk {
	const struct unwind_space *space;
	const struct unwind_regs *regs;
	unwind_read_fn *read;
	void *ctx;
	uint64_t pc, sp, fp;
	uint64_t fp_addr;	       /* where fp is to be read first, or 0 */
	uint64_t rbx_at;	       /* where rbx is, RBX_IN_REGISTER, or 0: it is not known */
	bool is_return;		       /* pc was left by a call */
	bool is_innermost;	       /* regs->reg are this frame's, */
	bool is_second;		       /*   or those of what it has called */
	uint64_t link;		       /* the link register of a frame that a signal interrupted, */
	int link_reg;		       /*   which has this number; -1: it is not known */
	const struct machine *machine; /* of the code at hand */
	struct unwind_result *result;
};

enum { RBX_IN_REGISTER = 1 };

/* What a step says: go on, or an end. */
enum { WALK_ON = UNWIND_STOPS };

static int read_word(const struct walk *w, uint64_t addr, uint64_t *out)
{
	return w->read(w->ctx, addr, out, sizeof(*out));
}

static int need_fp(struct walk *w)
{
	if (w->fp_addr && read_word(w, w->fp_addr, &w->fp))
		return UNWIND_READ;
	w->fp_addr = 0;
	return WALK_ON;
}

static int return_to(struct walk *w, uint64_t pc, uint64_t sp)
{
	w->pc = w->space->ra_mask ? pc & w->space->ra_mask : pc;
	w->sp = sp;
	w->is_return = true;
	w->is_second = w->is_innermost;
	w->is_innermost = false;
	w->link_reg = -1;
	return w->pc ? WALK_ON : UNWIND_RA_ZERO;
}

/* The frame that frame pointers are kept in: the caller's fp, and above it the return address. */
static int step_by_fp(struct walk *w, bool is_same_stack)
{
	uint64_t saved[2], fp;
	int end = need_fp(w);

	if (end != WALK_ON)
		return end;
	if (!w->fp)
		return UNWIND_FP_ZERO;
	fp = w->fp + (int64_t)w->space->fp_record;
	if (is_same_stack && fp < w->sp)
		return UNWIND_FP_BAD;
	if (w->read(w->ctx, fp, saved, sizeof(saved)))
		return UNWIND_READ;
	w->fp = saved[0];
	w->rbx_at = 0;
	w->result->fp_steps++;
	return return_to(w, saved[1], fp + 16);
}

static int step_over_signal(struct walk *w, const struct unwind_rule *r)
{
	uint64_t pc, sp, fp;

	if (read_word(w, w->sp + r->ra_off, &pc) ||
	    (r->arg && read_word(w, w->sp + r->arg, &w->link)) ||
	    read_word(w, w->sp + r->fp_off, &fp) || read_word(w, w->sp + r->cfa_off, &sp))
		return UNWIND_READ;
	w->link_reg = r->arg ? (int)w->machine->ra : -1;
	w->pc = pc;
	w->sp = sp;
	w->fp = fp;
	w->fp_addr = w->rbx_at = 0;
	w->is_return = w->is_innermost = w->is_second = false;
	w->result->signals++;
	return WALK_ON;
}

/* By the function that was called: then nothing else was, and the register is as it was. */
static bool is_left_alone(const struct walk *w, const struct unwind_rule *r)
{
	return r->flags & UNWIND_COMPUTED && w->is_second;
}

static int find_base(const struct walk *w, const struct unwind_rule *r, uint64_t *cfa)
{
	const bool is_rbx = w->machine->elf == EM_X86_64 && r->arg == UNWIND_RBX;
	uint64_t base = w->regs->reg[r->arg];

	if (!w->is_innermost && (is_rbx || !is_left_alone(w, r))) {
		if (!is_rbx || !w->rbx_at)
			return UNWIND_NOT_LEAF;
		if (w->rbx_at != RBX_IN_REGISTER && read_word(w, w->rbx_at, &base))
			return UNWIND_READ;
	}
	*cfa = base + r->cfa_off;
	return WALK_ON;
}

static int find_cfa(struct walk *w, const struct unwind_rule *r, uint64_t key, uint64_t *cfa)
{
	bool by_fp = r->kind == UNWIND_FP || r->kind == UNWIND_DEREF_FP;
	int end = by_fp ? need_fp(w) : WALK_ON;

	if (end != WALK_ON)
		return end;
	*cfa = (by_fp ? w->fp : w->sp) + r->cfa_off;
	switch (r->kind) {
	case UNWIND_PLT:
		*cfa += (key & 15) >= (uint16_t)r->arg ? 8 : 0;
		break;
	case UNWIND_DEREF_SP:
	case UNWIND_DEREF_FP:
		if (read_word(w, *cfa, cfa))
			return UNWIND_READ;
		*cfa += r->arg;
		break;
	case UNWIND_REG:
		return find_base(w, r, cfa);
	}
	return WALK_ON;
}

static int find_return(const struct walk *w, const struct unwind_rule *r, uint64_t cfa,
		       uint64_t *pc)
{
	if (!(r->flags & UNWIND_RA_REG)) {
		if (cfa <= w->sp)
			return UNWIND_NOT_UP;
		return read_word(w, cfa + r->ra_off, pc) ? UNWIND_READ : WALK_ON;
	}
	if (cfa < w->sp)
		return UNWIND_NOT_UP;
	if (w->is_innermost || (r->ra_off != (int)w->machine->ra && is_left_alone(w, r)))
		*pc = w->regs->reg[r->ra_off];
	else if (r->ra_off == w->link_reg)
		*pc = w->link;
	else
		return UNWIND_NOT_LEAF;
	return WALK_ON;
}

/* bl, blr, and those that authenticate. */
static bool is_arm64_call(const uint8_t code[4])
{
	uint32_t word;

	memcpy(&word, code, sizeof(word));
	return word >> 26 == 0x25 || (word >> 21 & 0x7f7) == 0x6b1;
}

/* A direct call, or one by a register or memory, whose length depends on the address's form. */
static bool is_behind_call(const struct walk *w, const uint8_t code[8])
{
	static const uint8_t indirect[] = { 1, 2, 4, 5, 6 };

	if (w->machine->elf == EM_AARCH64)
		return is_arm64_call(code + 4);
	for (size_t i = 0; i < sizeof(indirect); i++)
		if (code[indirect[i]] == 0xff && (code[indirect[i] + 1] & 0x38) == 0x10)
			return true;
	return code[3] == 0xe8;
}

/* What a computed rule found has to be such; or the end of a signal handler. */
static bool is_return_address(const struct walk *w, uint64_t pc)
{
	uint8_t code[16];

	if (w->space->ra_mask)
		pc &= w->space->ra_mask;
	if (w->read(w->ctx, pc - 8, code, sizeof(code)))
		return false;
	return is_behind_call(w, code) || !memcmp(code + 8, w->machine->trampolines[0].bytes, 8);
}

static int note_fp(struct walk *w, const struct unwind_rule *r, uint64_t cfa)
{
	if (r->flags & UNWIND_FP_AT_CFA) {
		w->fp_addr = cfa + r->fp_off;
	} else if (r->flags & UNWIND_FP_AT_FP) {
		int end = need_fp(w);

		if (end != WALK_ON)
			return end;
		w->fp_addr = w->fp + r->fp_off;
	} else if (r->flags & UNWIND_FP_LOST) {
		w->fp = w->fp_addr = 0;
	}
	return WALK_ON;
}

/* From code that was jumped to: struct unwind_table. */
static int step_back(struct walk *w, const struct unwind_rule *r)
{
	uint64_t cfa = w->sp + r->cfa_off, pc;

	for (int i = 0; i <= r->ra_off; i++, cfa += r->arg) {
		if (cfa & 15) /* it was not when the caller called */
			continue;
		if (read_word(w, cfa - 8, &pc))
			break;
		if (is_return_address(w, pc)) {
			w->rbx_at = 0;
			note_fp(w, r, cfa);
			return return_to(w, pc, cfa);
		}
	}
	return step_by_fp(w, true);
}

static int step_by_rule(struct walk *w, const struct unwind_rule *r, uint64_t key)
{
	uint64_t cfa, pc;
	int end;

	switch (r->kind) {
	case UNWIND_NO_ROW:
		return step_by_fp(w, true);
	case UNWIND_STOP:
		return UNWIND_COMPLETE;
	case UNWIND_SIGNAL:
		return step_over_signal(w, r);
	case UNWIND_OTHER_STACK:
		return step_by_fp(w, false);
	case UNWIND_UNSUP:
		return UNWIND_NO_RULE;
	}
	end = find_cfa(w, r, key, &cfa);
	if (end == WALK_ON)
		end = find_return(w, r, cfa, &pc);
	if (end == WALK_ON && r->flags & UNWIND_COMPUTED && !is_return_address(w, pc))
		return step_by_fp(w, true);
	if (end == WALK_ON)
		end = note_fp(w, r, cfa);
	if (r->flags & UNWIND_RBX_AT_CFA)
		w->rbx_at = cfa + r->arg;
	else if (!(r->flags & UNWIND_RBX_KEPT))
		w->rbx_at = 0;
	return end == WALK_ON ? return_to(w, pc, cfa) : end;
}

static const struct unwind_space_mapping *find_segment(const struct unwind_space *s, uint64_t addr)
{
	size_t lo = 0, hi = s->count;

	if (s->find)
		return s->find(s->ctx, addr);
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->segments[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && addr < s->segments[lo - 1].end ? &s->segments[lo - 1] : NULL;
}

static int step(struct walk *w)
{
	uint64_t key = w->pc - w->is_return;
	const struct unwind_space_mapping *s = find_segment(w->space, key);
	const struct unwind_rule *rule;

	if (!s)
		return UNWIND_NO_MAPPING;
	switch (s->kind) {
	case UNWIND_URETPROBE:
		return UNWIND_AT_URETPROBE;
	case UNWIND_BY_FP:
		return step_by_fp(w, true);
	case UNWIND_BY_TABLE:
		break;
	}
	key -= s->bias;
	w->machine = rp_machine(s->table->machine);
	rule = unwind_table_rule(s->table, key);
	if (rule->kind == UNWIND_NO_ROW && s->table->jumped_to.kind)
		return step_back(w, &s->table->jumped_to);
	return step_by_rule(w, rule, key);
}

unsigned int unwind_walk(const struct unwind_space *space, const struct unwind_regs *regs,
			 unwind_read_fn *read, void *ctx, uint64_t *pcs, unsigned int max,
			 struct unwind_result *result)
{
	struct walk w = { .space = space,
			  .regs = regs,
			  .read = read,
			  .ctx = ctx,
			  .pc = regs->pc,
			  .sp = regs->sp,
			  .fp = regs->fp,
			  .is_return = regs->pc_is_return,
			  .is_innermost = true,
			  .rbx_at = RBX_IN_REGISTER,
			  .link_reg = -1,
			  .result = result };
	unsigned int n = 0;
	int end = WALK_ON;

	*result = (struct unwind_result){ 0 };
	while (end == WALK_ON) {
		if (n == max) {
			end = UNWIND_DEEP;
			break;
		}
		pcs[n] = w.pc;
		if (n && !w.is_return)
			pcs[n] |= UNWIND_PC_EXACT;
		n++;
		end = step(&w);
	}
	result->end = end;
	result->sp = w.sp;
	return n;
}

const char *unwind_stop_text(enum unwind_stop end)
{
	static const char *const text[UNWIND_STOPS] = {
		[UNWIND_COMPLETE] = "complete",
		[UNWIND_RA_ZERO] = "return address 0",
		[UNWIND_FP_ZERO] = "frame pointer 0",
		[UNWIND_DEEP] = "too deep",
		[UNWIND_ELIDED] = "without their middle",
		[UNWIND_NO_MAPPING] = "no mapping",
		[UNWIND_FP_BAD] = "no frame pointer",
		[UNWIND_NOT_UP] = "not up the stack",
		[UNWIND_READ] = "stack unreadable",
		[UNWIND_NOT_LEAF] = "register not known",
		[UNWIND_NO_RULE] = "no rule",
		[UNWIND_AT_URETPROBE] = "in a return probe",
		[UNWIND_OTHER_CODE] = "of 32-bit programs by frame pointers",
		[UNWIND_GONE] = "no memory",
		[UNWIND_IN_KERNEL] = "in system calls by frame pointers",
	};

	return (unsigned int)end < UNWIND_STOPS ? text[end] : "unknown";
}
