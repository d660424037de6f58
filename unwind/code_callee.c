/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which registers does a function not change? The ABI lets it change most, but hand-written code
 * knows its own helpers: it has the old stack pointer in rcx, say, while one of them runs.
 */
#include "code_follow.h"

enum {
	CALLEE_MOST = 2048, /* bytes; helpers are small */
	ALL = 0xffff,
};

/* A bit for each byte of the function. */
struct bytes {
	uint64_t bits[CALLEE_MOST / 64];
};

static void mark(struct bytes *b, uint32_t i)
{
	b->bits[i / 64] |= 1ULL << i % 64;
}

/* Of one byte. */
static bool is_simple(const struct x86_parts *p)
{
	const uint8_t which = p->modrm >> 3 & 7;

	switch (p->opcode) {
	case 0x00 ... 0x3f:
		return (p->opcode & 7) <= 5;
	case 0x50 ... 0x5f: /* push, pop */
	case 0x63:	    /* movsxd */
	case 0x68 ... 0x6b: /* push, imul */
	case 0x70 ... 0x8b: /* jumps; add and others, test, xchg, mov */
	case 0x8d:	    /* lea */
	case 0x90 ... 0x97: /* nop, xchg */
	case 0xa8:	    /* test */
	case 0xa9:
	case 0xb0 ... 0xc1: /* mov, shifts */
	case 0xc2:	    /* ret */
	case 0xc3:
	case 0xc6: /* mov */
	case 0xc7:
	case 0xcc:
	case 0xd0 ... 0xd3: /* shifts */
	case 0xe9:	    /* jmp */
	case 0xeb:
		return true;
	case 0xf6:
	case 0xf7:
		return which < 4; /* test, not, neg */
	case 0xfe:
	case 0xff:
		return which < 2; /* inc, dec */
	}
	return false;
}

/* Behind 0f: those of vector registers and of flags, and some that name what they change. */
static bool is_simple_0f(const struct x86_parts *p)
{
	switch (p->opcode) {
	case 0x0b: /* ud2 */
	case 0x10 ... 0x17:
	case 0x18 ... 0x1d: /* prefetch, nop */
	case 0x1f:
	case 0x28 ... 0x2f:
	case 0x40 ... 0x9f:
	case 0xa3 ... 0xa5: /* bt, shld */
	case 0xab ... 0xad:
	case 0xaf: /* imul */
	case 0xb3:
	case 0xb6 ... 0xbf:
	case 0xc2:
	case 0xc4 ... 0xc6:
	case 0xc8 ... 0xff:
		return true;
	case 0x1e:
		return !p->f3 || p->modrm == 0xfa; /* endbr64, not rdssp */
	case 0xae:
		return !p->f3; /* fences, not rdfsbase */
	}
	return false;
}

/* It changes no register but those that rp_x86_changes() says. */
static bool is_known(const struct x86_parts *p)
{
	switch (p->map) {
	case 0:
		return !p->vex && is_simple(p);
	case 1:
		return p->vex ? p->opcode != 0xae : is_simple_0f(p);
	case 2:
		return (p->opcode & 0xf0) != 0xe0; /* cmpccxadd */
	case 3:
		return (p->opcode & 0xfc) != 0x60; /* pcmpestri and others: rcx */
	}
	return false;
}

/*
 * Instruction by instruction, to the return behind which no jump has led. A bit for each register
 * that it changes; all where it goes elsewhere, or into the middle of what was read.
 */
static uint16_t changes_of(const struct follow *f, uint32_t from)
{
	struct bytes begins = { 0 }, targets = { 0 };
	uint32_t at = from, furthest = from, to;
	uint16_t changed = 0;

	while (at < f->size && at - from < CALLEE_MOST && rp_work_spend(f->work, 1)) {
		struct x86_parts p;
		enum insn_flow flow;
		bool is_call;

		if (!unwind_code_decode(f, at, &p) || !is_known(&p))
			return ALL;
		flow = rp_x86_flow(&p, &is_call);
		if (is_call || flow == FLOW_TABLE || flow == FLOW_AWAY)
			return ALL;
		if (flow == FLOW_BRANCH || flow == FLOW_JUMP) {
			if (!unwind_code_target(f, at, &p, &to) || to < from ||
			    to - from >= CALLEE_MOST)
				return ALL;
			mark(&targets, to - from);
			furthest = to > furthest ? to : furthest;
		}
		mark(&begins, at - from);
		changed |= rp_x86_changes(&p);
		at += p.at;
		if (flow == FLOW_NEXT || flow == FLOW_BRANCH || at <= furthest)
			continue;
		for (size_t i = 0; i < CALLEE_MOST / 64; i++)
			if (targets.bits[i] & ~begins.bits[i])
				return ALL;
		return changed;
	}
	return ALL;
}

/* What lies on the stack is found by rsp or rbp: no copy is needed. */
static bool is_found(const struct unwind_code_state *s)
{
	return s->copy_reg[0] < 0 || s->sp.from == KNOWN_CFA || s->bp.from == KNOWN_CFA;
}

uint16_t unwind_code_left_alone(const struct follow *f, uint32_t at, const struct x86_parts *p,
				const struct unwind_code_state *s)
{
	uint32_t to;

	if (is_found(s) || p->opcode != 0xe8 || p->vex || p->map ||
	    !unwind_code_target(f, at, p, &to))
		return 0;
	return (uint16_t)~changes_of(f, to);
}
