/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a register's value came from: back along the path that the verifier was on, in the frame of
 * the function where it stopped. What an instruction does to a register is read off its text in the
 * log, "r2 += -16", so that a log alone is enough.
 */
#include <ctype.h>
#include <string.h>

#include "refusal.h"

enum { MAX_FACTS = 5 };

enum effect {
	EFFECT_NONE,
	EFFECT_SET,	/* a new value */
	EFFECT_COPY,	/* that of another register */
	EFFECT_LOAD,	/* from memory */
	EFFECT_CHANGE,	/* the old one, and something done to it */
	EFFECT_RETURN,	/* R0 of a call */
	EFFECT_DESTROY, /* R1-R5 of a call */
};

/* The register that the text begins with ("r6", "w6"), or -1. */
static int register_at(const char *text)
{
	int reg;

	if ((text[0] != 'r' && text[0] != 'w') || !isdigit((unsigned char)text[1]))
		return -1;
	reg = text[1] - '0';
	if (isdigit((unsigned char)text[2]))
		reg = reg * 10 + text[2] - '0';
	return reg;
}

/* What "(bf) r6 = r1" does to a register. *from: of a copy, the other register. */
static enum effect effect_on(const char *text, int reg, int *from)
{
	const char *op;
	int dst;

	if (!text || strlen(text) < 6)
		return EFFECT_NONE;
	text += 5;
	if (!strncmp(text, "call ", 5))
		return reg == 0		      ? EFFECT_RETURN
		       : reg >= 1 && reg <= 5 ? EFFECT_DESTROY
					      : EFFECT_NONE;
	dst = register_at(text);
	op = strchr(text, ' ');
	if (dst != reg || !op)
		return EFFECT_NONE;
	op++;
	if (strncmp(op, "= ", 2) != 0)
		return EFFECT_CHANGE;
	op += 2;
	if (strstr(op, "*(") || strstr(op, "load_acquire(") || strstr(op, "atomic"))
		return EFFECT_LOAD;
	*from = register_at(op);
	if (*from >= 0 && !strchr(op, ' '))
		return EFFECT_COPY;
	/* "r1 = -r1", "r1 = be16 r1" */
	return (*op == '-' && register_at(op + 1) >= 0) || !strncmp(op, "be", 2) ||
			       !strncmp(op, "le", 2) || !strncmp(op, "bswap", 5)
		       ? EFFECT_CHANGE
		       : EFFECT_SET;
}

/*
 * The last step below `before`, in the function that the path is in there, which does something to
 * the register; -1: none since the function, or the program, began.
 */
static int64_t find_effect(const struct explaining *e, size_t before, int reg, enum effect *effect,
			   int *from)
{
	const struct asm_vlog_step *path = e->log->path;
	const uint32_t frame = path[before].frame;

	while (before-- > 0) {
		if (path[before].frame > frame)
			continue;
		if (path[before].frame < frame)
			break;
		*effect = effect_on(asm_refusal_insn_text(e, path[before].insn), reg, from);
		if (*effect != EFFECT_NONE)
			return (int64_t)before;
	}
	return -1;
}

/* What a register holds from the beginning. */
static void tell_entry(struct explaining *e, size_t step, int reg)
{
	if (reg == 10)
		return;
	if (e->log->path[step].frame) {
		if (reg >= 1 && reg <= 5)
			asm_refusal_add_fact(e, "R%d is what the caller of this function put there",
					     reg);
		else
			asm_refusal_add_fact(
				e,
				"nothing has written R%d since this function began: it does not "
				"see its caller's R0 and R6-R9",
				reg);
	} else if (reg == 1) {
		asm_refusal_add_fact(e, "R1 has held the context since the program began");
	} else {
		asm_refusal_add_fact(
			e, "nothing has written R%d on this path since the program began", reg);
	}
}

/* A record that was submitted or discarded is a number from then on. */
static void tell_given_away(struct explaining *e, size_t reserved)
{
	const char *text = asm_refusal_insn_text(e, e->log->path[reserved].insn);

	if (!text || !strstr(text, "bpf_ringbuf_reserve#"))
		return;
	for (size_t step = e->log->npath - 1; step-- > reserved;) {
		text = asm_refusal_insn_text(e, e->log->path[step].insn);
		if (text &&
		    (strstr(text, "bpf_ringbuf_submit#") || strstr(text, "bpf_ringbuf_discard#"))) {
			asm_refusal_add_fact(
				e, "it was given away by %s: since then it is a mere number",
				asm_refusal_name_insn(e, e->log->path[step].insn));
			return;
		}
	}
}

/* "(0f) r0 += r6": the register that is added; -1. */
static int added(const char *text)
{
	const char *at = text ? strstr(text, " += r") : NULL;

	return at ? register_at(at + 4) : -1;
}

/* What a number that was added last went through. */
static void tell_added(struct explaining *e, size_t step, int reg)
{
	enum effect effect = EFFECT_NONE;
	int from = -1;
	const int64_t found = reg < 0 ? -1 : find_effect(e, step, reg, &effect, &from);

	if (found < 0)
		return;
	asm_refusal_add_fact(e, "R%d was %s at %s", reg,
			     effect == EFFECT_CHANGE ? "changed"
			     : effect == EFFECT_LOAD ? "loaded"
						     : "set",
			     asm_refusal_name_insn(e, e->log->path[found].insn));
}

void asm_refusal_trace_value(struct explaining *e, int reg)
{
	size_t step = e->log->npath ? e->log->npath - 1 : 0;

	for (int facts = 0; facts < MAX_FACTS && e->log->npath && reg >= 0 && reg < 10; facts++) {
		enum effect effect = EFFECT_NONE;
		int from = -1;
		const int64_t found = find_effect(e, step, reg, &effect, &from);
		const char *line;

		if (found < 0) {
			tell_entry(e, step, reg);
			return;
		}
		step = (size_t)found;
		line = asm_refusal_name_insn(e, e->log->path[step].insn);
		switch (effect) {
		case EFFECT_SET:
			asm_refusal_add_fact(e, "R%d was set at %s", reg, line);
			return;
		case EFFECT_LOAD:
			asm_refusal_add_fact(e, "R%d was loaded at %s", reg, line);
			return;
		case EFFECT_RETURN:
			asm_refusal_add_fact(e, "R0 is what was returned by %s", line);
			tell_given_away(e, step);
			return;
		case EFFECT_DESTROY:
			asm_refusal_add_fact(e, "R%d was destroyed by %s", reg, line);
			return;
		case EFFECT_COPY:
			asm_refusal_add_fact(e, "R%d is a copy of R%d, made at %s", reg, from,
					     line);
			reg = from;
			break;
		case EFFECT_CHANGE:
			asm_refusal_add_fact(e, "R%d was changed at %s", reg, line);
			tell_added(e, step,
				   added(asm_refusal_insn_text(e, e->log->path[step].insn)));
			break;
		case EFFECT_NONE:
			return;
		}
	}
}

bool asm_refusal_is_loaded(const struct explaining *e, int reg)
{
	int64_t step = (int64_t)e->log->npath - 1;

	while (step >= 0 && reg >= 0) {
		enum effect effect = EFFECT_NONE;
		int from = -1;

		step = find_effect(e, (size_t)step, reg, &effect, &from);
		if (step >= 0 && effect == EFFECT_LOAD)
			return true;
		if (step < 0 || (effect != EFFECT_COPY && effect != EFFECT_CHANGE))
			return false;
		reg = effect == EFFECT_COPY ? from : reg;
	}
	return false;
}

bool asm_refusal_is_indexed(const struct explaining *e, int reg)
{
	int64_t step = (int64_t)e->log->npath - 1;

	while (step >= 0 && reg >= 0) {
		enum effect effect = EFFECT_NONE;
		int from = -1;

		step = find_effect(e, (size_t)step, reg, &effect, &from);
		if (step < 0 || (effect != EFFECT_COPY && effect != EFFECT_CHANGE))
			return false;
		if (added(asm_refusal_insn_text(e, e->log->path[step].insn)) >= 0)
			return true;
		reg = effect == EFFECT_COPY ? from : reg;
	}
	return false;
}

/* ---- registers that hold nothing */

bool asm_refusal_is_destroyed(const struct explaining *e, int reg)
{
	enum effect effect = EFFECT_NONE;
	int from;

	return e->log->npath && reg >= 0 &&
	       find_effect(e, e->log->npath - 1, reg, &effect, &from) >= 0 &&
	       effect == EFFECT_DESTROY;
}

static bool writes(const struct bpf_insn *insn, int reg)
{
	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
	case BPF_LD:
	case BPF_LDX:
		return insn->dst_reg == reg;
	case BPF_JMP:
		return reg == 0 && insn->code == (BPF_JMP | BPF_CALL);
	}
	return false;
}

/* The instruction that a call, or the address of a function, leads to; 0: it is neither. */
static uint32_t function_at(const struct bpf_insn *insn, uint32_t at)
{
	const bool call = insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == BPF_PSEUDO_CALL;
	const bool address =
		insn->code == (BPF_LD | BPF_IMM | BPF_DW) && insn->src_reg == BPF_PSEUDO_FUNC;

	return call || address ? at + 1 + (uint32_t)insn->imm : 0;
}

void asm_refusal_function(const struct asm_refused *r, uint32_t insn, uint32_t *begin,
			  uint32_t *end)
{
	*begin = 0;
	*end = r->ninsns;
	for (uint32_t i = 0; i < r->ninsns; i++) {
		const uint32_t target = function_at(&r->insns[i], i);

		if (target > *begin && target <= insn)
			*begin = target;
		if (target > insn && target < *end)
			*end = target;
	}
}

/* The register is written somewhere in the function, but the path went around it. */
static void tell_elsewhere(struct explaining *e, int reg)
{
	const struct asm_refused *r = e->refused;
	const struct asm_vlog_step *path = e->log->path;
	const uint32_t stopped = path[e->log->npath - 1].insn;
	uint32_t begin, end;

	if (!r->insns)
		return;
	asm_refusal_function(r, stopped, &begin, &end);
	for (uint32_t i = begin; i < end; i++) {
		if (r->insns[i].code == (BPF_LD | BPF_IMM | BPF_DW) && i + 1 < r->ninsns &&
		    r->insns[i].dst_reg != reg) {
			i++;
			continue;
		}
		if (!writes(&r->insns[i], reg))
			continue;
		for (size_t step = e->log->npath - 1; i < stopped && step-- > 0;)
			if (path[step].insn < i && path[step + 1].insn > i &&
			    path[step].frame == path[step + 1].frame) {
				asm_refusal_add_fact(e, "R%d is written at %s", reg,
						     asm_refusal_name_insn(e, i));
				asm_refusal_add_fact(e, "but this path goes around that, by %s",
						     asm_refusal_name_insn(e, path[step].insn));
				return;
			}
		asm_refusal_add_fact(e, "R%d is written at %s, which this path has not come to",
				     reg, asm_refusal_name_insn(e, i));
		return;
	}
}

void asm_refusal_trace_unreadable(struct explaining *e, int reg)
{
	size_t step = e->log->npath ? e->log->npath - 1 : 0;
	enum effect effect = EFFECT_NONE;
	int64_t found;
	int from;

	if (!e->log->npath)
		return;
	found = find_effect(e, step, reg, &effect, &from);
	if (found < 0) {
		tell_entry(e, step, reg);
		tell_elsewhere(e, reg);
		return;
	}
	step = (size_t)found;
	if (effect == EFFECT_RETURN) {
		asm_refusal_add_fact(e, "R0 was destroyed by %s, which returns nothing",
				     asm_refusal_name_insn(e, e->log->path[step].insn));
		return;
	}
	if (effect != EFFECT_DESTROY) {
		asm_refusal_add_fact(e, "R%d was written at %s", reg,
				     asm_refusal_name_insn(e, e->log->path[step].insn));
		return;
	}
	asm_refusal_add_fact(e, "R%d was destroyed by %s", reg,
			     asm_refusal_name_insn(e, e->log->path[step].insn));
	while (effect == EFFECT_DESTROY && found >= 0)
		found = find_effect(e, (size_t)found, reg, &effect, &from);
	if (found >= 0)
		asm_refusal_add_fact(e, "before that it was written at %s",
				     asm_refusal_name_insn(e, e->log->path[found].insn));
	else if (reg == 1 && !e->log->path[step].frame)
		asm_refusal_add_fact(e, "before that it held the context");
}
