/* SPDX-License-Identifier: BSD-2-Clause */
/* What one arm64 instruction does to where the frame is. */
#include "code_arm64.h"

enum {
	UNKNOWN = UNWIND_ARM64_UNKNOWN,
	OFF_MAX = 1 << 28, /* frames are smaller; beyond this numbers are not followed */
	WORD = 8,
	NONE = 31,	/* as a register: the zero register */
	KEPT_FROM = 19, /* registers that a call keeps, by the ABI */
};

struct unwind_arm64_state unwind_arm64_entry(void)
{
	return (struct unwind_arm64_state){ .fp = UNKNOWN,
					    .fp_at = UNKNOWN,
					    .ra_at = UNKNOWN,
					    .copy = UNKNOWN,
					    .copy_reg = -1,
					    .ra_reg = ARM64_LR,
					    .ra_copy = -1,
					    .has_fp = true };
}

static int32_t plus(int32_t v, int64_t n)
{
	const int64_t sum = v + n;

	return v == UNKNOWN || sum > OFF_MAX || sum < -OFF_MAX ? UNKNOWN : (int32_t)sum;
}

/* ---- registers */

static int32_t get(const struct unwind_arm64_state *s, uint32_t reg)
{
	if (reg == ARM64_SP)
		return s->sp;
	if (reg == ARM64_FP)
		return s->fp;
	return (int8_t)reg == s->copy_reg ? s->copy : UNKNOWN;
}

/* The stack pointer is above what was stored there: it is not the program's any more. */
static bool set_sp(struct unwind_arm64_state *s, int32_t v)
{
	s->sp = v;
	if (v == UNKNOWN)
		return true;
	if (s->fp_at < v)
		s->fp_at = UNKNOWN;
	if (s->ra_at < v)
		s->ra_at = UNKNOWN;
	return v <= 0;
}

/* The return address is in the other register that has it, or in none: @why. */
static void lose_return(struct unwind_arm64_state *s, int8_t why)
{
	s->ra_reg = s->ra_copy >= 0 ? s->ra_copy : why;
	s->ra_copy = -1;
}

/* A pointer to what lies on the stack is no copy that a frame is found by. */
static bool is_of_frame(const struct unwind_arm64_state *s, int32_t v)
{
	return v >= 0 || (s->sp != UNKNOWN && v <= s->sp);
}

static bool set(struct unwind_arm64_state *s, uint32_t reg, int32_t v)
{
	if (reg == ARM64_SP)
		return set_sp(s, v);
	if ((int8_t)reg == s->ra_copy)
		s->ra_copy = -1;
	if ((int8_t)reg == s->ra_reg || (reg == ARM64_LR && s->ra_reg == UNWIND_ARM64_LEFT))
		lose_return(s, UNWIND_ARM64_NOWHERE);
	if (reg == ARM64_FP) {
		s->fp = v;
		s->has_fp = false;
		return true;
	}
	if (!is_of_frame(s, v))
		v = UNKNOWN;
	if ((int8_t)reg == s->copy_reg || v != UNKNOWN) {
		s->copy = v;
		s->copy_reg = v == UNKNOWN ? -1 : (int8_t)reg;
	}
	return true;
}

static bool forget(struct unwind_arm64_state *s, uint32_t regs)
{
	for (uint32_t reg = 0; reg < ARM64_REGS; reg++)
		if (regs >> reg & 1 && !set(s, reg, UNKNOWN))
			return false;
	return true;
}

static bool has_return(const struct unwind_arm64_state *s, uint32_t reg)
{
	return reg != NONE && ((int8_t)reg == s->ra_reg || (int8_t)reg == s->ra_copy);
}

/* ---- memory */

static bool overlaps(int32_t kept, int32_t at, int32_t bytes)
{
	return kept != UNKNOWN && kept < at + bytes && at < kept + WORD;
}

/* @bytes of register @reg, NONE: of something else. False: nobody would store that. */
static bool store(struct unwind_arm64_state *s, int32_t at, int32_t bytes, uint32_t reg)
{
	const bool is_own = bytes == WORD && at < 0, /* in its own frame */
		is_fp = is_own && reg == ARM64_FP && s->has_fp,
		   is_ra = is_own && has_return(s, reg);

	if (reg == ARM64_LR && s->ra_reg == UNWIND_ARM64_LEFT)
		return false;
	if (at == UNKNOWN)
		return true;
	if (overlaps(s->fp_at, at, bytes))
		s->fp_at = UNKNOWN;
	if (overlaps(s->ra_at, at, bytes))
		s->ra_at = UNKNOWN;
	if (is_fp && s->fp_at == UNKNOWN)
		s->fp_at = at;
	if (is_ra && s->ra_at == UNKNOWN)
		s->ra_at = at;
	return true;
}

static bool load(struct unwind_arm64_state *s, int32_t at, uint32_t reg)
{
	if (reg == NONE)
		return true;
	if (!set(s, reg, UNKNOWN))
		return false;
	if (at != UNKNOWN && at == s->ra_at) {
		s->ra_reg = (int8_t)reg;
		s->ra_copy = -1;
	}
	if (at != UNKNOWN && at == s->fp_at && reg == ARM64_FP)
		s->has_fp = true;
	return true;
}

/* A load or store whose address is a register and a number. */
struct access {
	int32_t off;   /* of the address from the register, before */
	int32_t moves; /* the register, by so much */
	int32_t bytes; /* of each register */
	bool is_load, is_vector;
	uint32_t n, reg[2];
};

static bool is_pair(uint32_t w)
{
	const bool is_vector = w >> 26 & 1, is_load = w >> 22 & 1;
	const uint32_t size = w >> 30;

	/* Not stgp, which has another scale, nor what is not allocated. */
	return (w & 0x3a000000) == 0x28000000 && size != 3 && (size != 1 || is_vector || is_load);
}

static struct access take_pair(uint32_t w)
{
	const bool is_vector = w >> 26 & 1;
	const int32_t bytes = is_vector ? 4 << (w >> 30) : w >> 31 ? WORD : 4;
	const int32_t by = rp_arm64_signed(w, 15, 7) * bytes;
	const uint32_t mode = w >> 23 & 3; /* 1: moved afterwards; 3: before */

	return (struct access){ .off = mode == 1 ? 0 : by,
				.moves = mode & 1 ? by : 0,
				.bytes = bytes,
				.is_load = w >> 22 & 1,
				.is_vector = is_vector,
				.n = 2,
				.reg = { w & 31, w >> 10 & 31 } };
}

/* With a number that is scaled, or one of nine bits. */
static bool is_single(uint32_t w)
{
	return (w & 0x3b000000) == 0x39000000 || (w & 0x3b200000) == 0x38000000;
}

static struct access take_single(uint32_t w)
{
	const bool is_vector = w >> 26 & 1, is_scaled = w >> 24 & 1;
	const int log = (int)(w >> 30) + (is_vector && w >> 23 & 1 ? 4 : 0);
	const int32_t bytes = 1 << log, by = is_scaled ? (int32_t)(w >> 10 & 0xfff) * bytes
						       : rp_arm64_signed(w, 12, 9);
	const uint32_t mode = is_scaled ? 0 : w >> 10 & 3; /* as above */

	return (struct access){ .off = mode == 1 ? 0 : by,
				.moves = mode & 1 ? by : 0,
				.bytes = bytes,
				.is_load = w >> 22 & (is_vector ? 1 : 3),
				.is_vector = is_vector,
				.n = 1,
				.reg = { w & 31 } };
}

static bool step_access(struct unwind_arm64_state *s, uint32_t w, const struct access *a)
{
	const uint32_t base = w >> 5 & 31;
	const int32_t from = get(s, base), at = plus(from, a->off);
	/* As it moves down the place is the program's before something is stored there. */
	const bool is_first = a->moves < 0;

	if (is_first && !set(s, base, plus(from, a->moves)))
		return false;
	for (uint32_t i = 0; i < a->n; i++) {
		const int32_t place = plus(at, (int64_t)i * a->bytes);
		const uint32_t reg = a->is_vector ? NONE : a->reg[i];

		if (!(a->is_load ? load(s, a->bytes == WORD ? place : UNKNOWN, reg)
				 : store(s, place, a->bytes, reg)))
			return false;
	}
	return !a->moves || is_first || set(s, base, plus(from, a->moves));
}

/* ld1, st1 and the like of whole vectors, behind which the address is moved by their size. */
static bool step_structure(struct unwind_arm64_state *s, uint32_t w)
{
	static const uint8_t vectors[16] = { 4, 0, 4, 0, 3, 0, 3, 1, 2, 0, 2 };
	const uint32_t base = w >> 5 & 31;
	const int32_t bytes = vectors[w >> 12 & 15] * (w >> 30 & 1 ? 16 : 8), from = get(s, base);
	const bool is_moved = w >> 23 & 1, by_size = (w >> 16 & 31) == 31;

	if (!(w >> 22 & 1))
		store(s, from, bytes, NONE);
	return !is_moved || set(s, base, by_size && bytes ? plus(from, bytes) : UNKNOWN);
}

/* ---- the others */

/* add and sub of a constant, as mov from and to sp is one. */
static bool step_constant(struct unwind_arm64_state *s, uint32_t w)
{
	const int32_t n = (int32_t)(w >> 10 & 0xfff) << (w >> 22 & 1 ? 12 : 0);
	const int32_t v = plus(get(s, w >> 5 & 31), w >> 30 & 1 ? -n : n);

	return set(s, w & 31, v);
}

/* mov of one register to another. */
static bool step_move(struct unwind_arm64_state *s, uint32_t w)
{
	const uint32_t to = w & 31, from = w >> 16 & 31;
	const bool is_ra = from != NONE && has_return(s, from);

	if (to == NONE || to == from)
		return true;
	set(s, to, from == NONE ? UNKNOWN : get(s, from));
	if (!is_ra)
		return true;
	/* Of two registers x30 is the one that is looked at first. */
	s->ra_reg = (int8_t)(to == ARM64_LR ? to : from);
	s->ra_copy = (int8_t)(to == ARM64_LR ? from : to);
	return true;
}

/* What signs a return address, or takes the signature from it, leaves it one. */
static bool is_signing(uint32_t w)
{
	return (w & 0xffff8000) == 0xdac10000 && ((w & 31) == ARM64_LR);
}

/* cmp of sp and the copy. */
static void note_compared(struct unwind_arm64_state *s, uint32_t w)
{
	if ((w & 0xffe0ffff) == 0xeb2063ff && s->copy_reg >= 0)
		s->is_compared = (int8_t)(w >> 16 & 31) == s->copy_reg;
}

bool unwind_arm64_step(struct unwind_arm64_state *s, uint32_t w)
{
	struct access a;

	s->is_compared = false;
	if ((w & 0xbf800000) == 0x91000000) /* of 64 bits, without flags */
		return step_constant(s, w);
	if ((w & 0xffe0ffe0) == 0xaa0003e0)
		return step_move(s, w);
	if (is_pair(w)) {
		a = take_pair(w);
		return step_access(s, w, &a);
	}
	if (is_single(w)) {
		a = take_single(w);
		return step_access(s, w, &a);
	}
	if ((w & 0xbf000000) == 0x0c000000)
		return step_structure(s, w);
	if (w == 0xd503233f) /* paciasp, at a function's start */
		return s->ra_reg >= 0;
	if (is_signing(w))
		return true;
	note_compared(s, w);
	return forget(s, rp_arm64_changes(w));
}

void unwind_arm64_called(struct unwind_arm64_state *s)
{
	s->is_compared = false;
	if (s->ra_copy == ARM64_LR)
		s->ra_copy = -1;
	if (s->ra_reg < 0 || s->ra_reg == ARM64_LR)
		lose_return(s, UNWIND_ARM64_LEFT);
	if (s->copy_reg == ARM64_LR || (s->copy_reg >= 0 && s->copy_reg < KEPT_FROM)) {
		s->copy = UNKNOWN;
		s->copy_reg = -1;
	}
}

bool unwind_arm64_may_return(const struct unwind_arm64_state *s, uint32_t reg)
{
	return s->sp == 0 && s->has_fp && has_return(s, reg);
}

/* ---- states */

static void note_return(struct unwind_arm64_state *s, int8_t reg)
{
	if (s->ra_reg < 0)
		s->ra_reg = reg;
	else if (s->ra_reg != reg)
		s->ra_copy = reg;
}

static int32_t meet(int32_t a, int32_t b)
{
	return a == b ? a : UNKNOWN;
}

struct unwind_arm64_state unwind_arm64_meet(const struct unwind_arm64_state *a,
					    const struct unwind_arm64_state *b)
{
	struct unwind_arm64_state m = {
		.sp = meet(a->sp, b->sp),
		.fp = meet(a->fp, b->fp),
		.fp_at = meet(a->fp_at, b->fp_at),
		.ra_at = meet(a->ra_at, b->ra_at),
		.copy = UNKNOWN,
		.copy_reg = -1,
		.ra_reg = a->ra_reg == b->ra_reg ? a->ra_reg : UNWIND_ARM64_NOWHERE,
		.ra_copy = -1,
		.has_fp = a->has_fp && b->has_fp,
	};

	if (a->ra_copy >= 0 && has_return(b, (uint32_t)a->ra_copy))
		note_return(&m, a->ra_copy);
	else if (b->ra_copy >= 0 && has_return(a, (uint32_t)b->ra_copy))
		note_return(&m, b->ra_copy);

	if (a->copy_reg == b->copy_reg && a->copy == b->copy) {
		m.copy = a->copy;
		m.copy_reg = a->copy_reg;
		m.is_compared = a->is_compared && b->is_compared;
	}
	return m;
}

/* ---- rules */

static bool fits16(int32_t v)
{
	return v == (int16_t)v;
}

static bool set_cfa(const struct unwind_arm64_state *s, struct unwind_rule *r)
{
	if (s->sp != UNKNOWN || s->fp != UNKNOWN) {
		r->kind = s->sp != UNKNOWN ? UNWIND_SP : UNWIND_FP;
		r->cfa_off = -(s->sp != UNKNOWN ? s->sp : s->fp);
		return true;
	}
	if (s->copy == UNKNOWN)
		return false;
	r->kind = UNWIND_REG;
	r->arg = s->copy_reg;
	r->cfa_off = -s->copy;
	return true;
}

static bool set_return(const struct unwind_arm64_state *s, struct unwind_rule *r)
{
	if (s->ra_at != UNKNOWN && fits16(s->ra_at)) {
		r->ra_off = (int16_t)s->ra_at;
		return true;
	}
	r->ra_off = s->ra_reg;
	r->flags |= UNWIND_RA_REG;
	return s->ra_reg >= 0;
}

static void set_saved(const struct unwind_arm64_state *s, struct unwind_rule *r)
{
	if (s->has_fp)
		return;
	if (s->fp_at != UNKNOWN && fits16(s->fp_at)) {
		r->fp_off = (int16_t)s->fp_at;
		r->flags |= UNWIND_FP_AT_CFA;
	} else {
		r->flags |= UNWIND_FP_LOST;
	}
}

struct unwind_rule unwind_arm64_rule(const struct unwind_arm64_state *s)
{
	struct unwind_rule r = { .flags = UNWIND_COMPUTED };

	if (!set_cfa(s, &r) || !set_return(s, &r))
		return (struct unwind_rule){ .kind = UNWIND_NO_ROW };
	set_saved(s, &r);
	return r;
}
