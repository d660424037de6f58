/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which registers does a function leave alone that it need not? Hand-written code counts on that of
 * its own helpers: it has the old stack pointer in rcx, say, while one of them runs.
 */
#include "code_follow.h"

enum {
	CALLEE_MOST = 4096, /* bytes; helpers are small */
	ALL = 0xffff,
};

/* What changes registers that it does not name. */
static bool changes_others(const struct x86_parts *p)
{
	if (p->vex || p->map > 1)
		return false;
	if (p->map == 1) /* syscall, sysenter; wrmsr to rdpmc; cpuid; cmpxchg16b */
		return p->opcode == 0x05 || (p->opcode >= 0x30 && p->opcode <= 0x37) ||
		       p->opcode == 0xa2 || p->opcode == 0xc7;
	return (p->opcode >= 0x98 && p->opcode <= 0x99) || /* cdq and others */
	       (p->opcode >= 0xa4 && p->opcode <= 0xaf) || /* of strings */
	       (p->opcode >= 0xe0 && p->opcode <= 0xe3) || /* loop */
	       (p->opcode >= 0xf6 && p->opcode <= 0xf7);   /* mul, div */
}

/*
 * Instruction by instruction, to the return behind which no jump has led. A bit for each register
 * that it changes; all where it goes elsewhere.
 */
static uint16_t changes_of(const struct follow *f, uint32_t from)
{
	uint32_t at = from, furthest = from, to;
	uint16_t changed = 0;

	while (at < f->size && at - from < CALLEE_MOST && rp_work_spend(f->work, 1)) {
		struct x86_parts p;
		enum insn_flow flow;
		bool is_call;

		if (!unwind_code_decode(f, at, &p) || changes_others(&p))
			return ALL;
		flow = rp_x86_flow(&p, &is_call);
		if (is_call || flow == FLOW_TABLE || flow == FLOW_AWAY)
			return ALL;
		if (flow == FLOW_BRANCH || flow == FLOW_JUMP) {
			if (!unwind_code_target(f, at, &p, &to) || to < from)
				return ALL;
			furthest = to > furthest ? to : furthest;
		}
		changed |= rp_x86_changes(&p);
		at += p.at;
		if (flow != FLOW_NEXT && flow != FLOW_BRANCH && at > furthest)
			return changed;
	}
	return ALL;
}

uint16_t unwind_code_left_alone(const struct follow *f, uint32_t at, const struct x86_parts *p)
{
	uint32_t to;

	if (p->opcode != 0xe8 || p->vex || p->map || !unwind_code_target(f, at, p, &to))
		return 0;
	return (uint16_t)~changes_of(f, to);
}
