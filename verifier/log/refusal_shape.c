/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines that the verifier does not name: of what it refuses before it follows any path, and of what
 * it says of the whole program. They are found in the instructions, where these are known.
 */
#include <stdlib.h>

#include "refusal.h"

static bool is_wide(const struct bpf_insn *insn)
{
	return insn->code == (BPF_LD | BPF_IMM | BPF_DW);
}

static bool is_jump(const struct bpf_insn *insn)
{
	const uint8_t class = BPF_CLASS(insn->code);

	return (class == BPF_JMP || class == BPF_JMP32) && BPF_OP(insn->code) != BPF_CALL &&
	       BPF_OP(insn->code) != BPF_EXIT;
}

static bool is_always(const struct bpf_insn *insn)
{
	return is_jump(insn) && BPF_OP(insn->code) == BPF_JA;
}

static int64_t target_of(const struct bpf_insn *insn, uint32_t at)
{
	return (int64_t)at + 1 + (insn->code == (BPF_JMP32 | BPF_JA) ? insn->imm : insn->off);
}

/* The first instruction of which it holds; -1. The second half of a constant is none. */
static int64_t find(const struct explaining *e,
		    bool (*is)(const struct explaining *e, uint32_t at, int64_t what), int64_t what)
{
	const struct asm_refused *r = e->refused;

	for (uint32_t i = 0; i < r->ninsns; i += is_wide(&r->insns[i]) ? 2 : 1)
		if (is(e, i, what))
			return i;
	return -1;
}

/* The last of the program or of a function, and control goes on behind it. */
static bool runs_off(const struct explaining *e, uint32_t at, int64_t what)
{
	const struct asm_refused *r = e->refused;
	const struct bpf_insn *insn = &r->insns[at];
	const uint32_t next = at + (is_wide(insn) ? 2 : 1);
	uint32_t begin, end;

	(void)what;
	asm_refusal_function(r, at, &begin, &end);
	return next >= end && insn->code != (BPF_JMP | BPF_EXIT) && !is_always(insn);
}

static bool jumps_to(const struct explaining *e, uint32_t at, int64_t what)
{
	const struct bpf_insn *insn = &e->refused->insns[at];

	return is_jump(insn) && target_of(insn, at) == what;
}

static bool has_opcode(const struct explaining *e, uint32_t at, int64_t what)
{
	return e->refused->insns[at].code == what;
}

static bool has_descriptor(const struct explaining *e, uint32_t at, int64_t what)
{
	const struct bpf_insn *insn = &e->refused->insns[at];

	return is_wide(insn) &&
	       (insn->src_reg == BPF_PSEUDO_MAP_FD || insn->src_reg == BPF_PSEUDO_MAP_VALUE) &&
	       insn->imm == what;
}

/* What keeps control from an instruction: a jump over it, or the loop that stands before it. */
static void tell_unreachable(struct explaining *e, int64_t insn)
{
	const struct asm_refused *r = e->refused;
	const int64_t into = find(e, jumps_to, insn + 1);

	if (insn < 0 || insn >= r->ninsns)
		return;
	if (is_wide(&r->insns[insn]) && into >= 0)
		asm_refusal_add_fact(e, "its second half is where a jump leads to: %s",
				     asm_refusal_name_insn(e, (uint32_t)into));
	if (insn && is_always(&r->insns[insn - 1]))
		asm_refusal_add_fact(e, "the line before it always jumps %s: %s",
				     target_of(&r->insns[insn - 1], (uint32_t)insn - 1) < insn
					     ? "back"
					     : "over it",
				     asm_refusal_name_insn(e, (uint32_t)insn - 1));
}

/* Of each function the store or load that is furthest below its R10. */
static void tell_frames(struct explaining *e)
{
	const struct asm_refused *r = e->refused;
	uint32_t begin, end;

	for (uint32_t at = 0; at < r->ninsns; at = end) {
		int64_t deepest = -1;

		asm_refusal_function(r, at, &begin, &end);
		for (uint32_t i = at; i < end; i += is_wide(&r->insns[i]) ? 2 : 1) {
			const struct bpf_insn *insn = &r->insns[i];
			const uint8_t class = BPF_CLASS(insn->code);
			const bool stores = (class == BPF_ST || class == BPF_STX) &&
					    insn->dst_reg == BPF_REG_10;

			if (stores && insn->off < (deepest < 0 ? 0 : r->insns[deepest].off))
				deepest = i;
		}
		if (deepest >= 0)
			asm_refusal_add_fact(e, "of one frame %d bytes are used, by %s",
					     -r->insns[deepest].off,
					     asm_refusal_name_insn(e, (uint32_t)deepest));
		if (end <= at)
			return;
	}
}

int64_t asm_refusal_find_line(struct explaining *e, const struct known_message *k,
			      const struct matched *m)
{
	const int64_t number = m->numbers ? m->number[0] : -1;

	if (!e->refused->insns)
		return k->trace == TRACE_MIDDLE || k->trace == TRACE_UNREACHABLE ? number : -1;
	switch (k->trace) {
	case TRACE_END:
		return find(e, runs_off, 0);
	case TRACE_MIDDLE: {
		const int64_t from = find(e, jumps_to, number + 1);

		return from >= 0 ? from : number;
	}
	case TRACE_UNREACHABLE:
		tell_unreachable(e, number);
		return number;
	case TRACE_OPCODE:
		return m->n ? find(e, has_opcode, strtol(m->at[0], NULL, 16)) : -1;
	case TRACE_DESCRIPTOR:
		return find(e, has_descriptor, number);
	case TRACE_FRAMES:
		tell_frames(e);
		return -1;
	default:
		return -1;
	}
}
