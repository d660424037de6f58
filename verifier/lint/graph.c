/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where instructions lead, whatever they compute. The verifier demands this of all of them before
 * it looks at a single value: every instruction is reached, every jump stays in its function, no
 * function runs into the next.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lint.h"

static bool is_call_to(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == BPF_PSEUDO_CALL;
}

static bool is_address_of(const struct bpf_insn *insn)
{
	return asm_is_imm64(insn) && insn->src_reg == BPF_PSEUDO_FUNC;
}

uint32_t asm_jump_target(const struct bpf_insn *insn, uint32_t at)
{
	uint8_t class = BPF_CLASS(insn->code), op = BPF_OP(insn->code);
	int64_t distance = insn->off;

	if ((class != BPF_JMP && class != BPF_JMP32) ||
	    (class == BPF_JMP && (op == BPF_CALL || op == BPF_EXIT)))
		return NO_SLOT;
	if (class == BPF_JMP32 && op == BPF_JA)
		distance = insn->imm;
	distance += (int64_t)at + 1;
	return distance < 0 || distance >= NO_SLOT ? NO_SLOT - 1 : (uint32_t)distance;
}

static bool always_jumps(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_JA) || insn->code == (BPF_JMP32 | BPF_JA);
}

static bool ends(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_EXIT) || always_jumps(insn);
}

static uint32_t next_of(const struct lint *l, uint32_t at)
{
	return at + (asm_is_imm64(&l->insns[at]) ? 2 : 1);
}

/* The name of a function that begins at a slot. */
static const char *func_name(const struct lint *l, uint32_t slot)
{
	for (uint32_t i = 0; i < l->image->nfuncs; i++)
		if (l->image->funcs[i].insn == slot)
			return l->image->funcs[i].name;
	return "?";
}

static const char *label_name(const struct lint *l, uint32_t slot)
{
	for (uint32_t i = 0; i < l->image->nlabels; i++)
		if (l->image->labels[i].insn == slot)
			return l->image->labels[i].name;
	return NULL;
}

/* ---- functions and jumps */

static bool mark_entries(struct lint *l)
{
	bool right = true;

	l->slots[0] |= SLOT_ENTRY;
	for (uint32_t i = 0; i < l->image->nfuncs; i++)
		if (l->image->funcs[i].insn < l->n)
			l->slots[l->image->funcs[i].insn] |= SLOT_ENTRY;
	for (uint32_t at = 0; at < l->n; at = next_of(l, at)) {
		const struct bpf_insn *insn = &l->insns[at];
		int64_t target = (int64_t)at + 1 + insn->imm;

		if (!is_call_to(insn) && !is_address_of(insn))
			continue;
		if (target <= 0 || target >= l->n || l->slots[target] & SLOT_SECOND) {
			asm_lint_finding(l, at, RULE_FLOW, "no function begins at instruction %lld",
					 (long long)target);
			right = false;
		} else {
			l->slots[target] |= SLOT_ENTRY;
		}
	}
	return right;
}

static bool check_target(struct lint *l, uint32_t at, uint32_t begin, uint32_t end)
{
	uint32_t target = asm_jump_target(&l->insns[at], at);

	if (target == NO_SLOT)
		return true;
	if (target < begin || target >= end) {
		asm_lint_finding(
			l, at, RULE_FLOW,
			target >= l->n
				? "the jump leads out of the program, to instruction %lld"
				: "the jump leads into another function, to instruction %lld",
			(long long)at + 1 +
				(l->insns[at].code == (BPF_JMP32 | BPF_JA) ? l->insns[at].imm
									   : l->insns[at].off));
		return false;
	}
	if (l->slots[target] & SLOT_SECOND) {
		asm_lint_finding(
			l, at, RULE_FLOW,
			"the jump leads into the middle of a 64-bit constant: instruction %u is "
			"the second half of %s",
			target, asm_lint_text_at(l, target - 1));
		return false;
	}
	return true;
}

static bool check_function(struct lint *l, uint32_t begin, uint32_t end)
{
	uint32_t last = begin;
	bool right = true;

	for (uint32_t at = begin; at < end; at = next_of(l, at)) {
		right &= check_target(l, at, begin, end);
		last = at;
	}
	if (ends(&l->insns[last]))
		return right;
	if (end < l->n)
		asm_lint_finding(l, last, RULE_FLOW,
				 "'%s' runs from here into '%s': an EXIT() or a jump is missing",
				 func_name(l, begin), func_name(l, end));
	else
		asm_lint_finding(l, last, RULE_FLOW,
				 "the program runs off its end: EXIT() is missing");
	return false;
}

static bool check_functions(struct lint *l)
{
	bool right = true;

	for (uint32_t begin = 0, end; begin < l->n; begin = end) {
		for (end = begin + 1; end < l->n && !(l->slots[end] & SLOT_ENTRY); end++)
			;
		right &= check_function(l, begin, end);
	}
	return right;
}

/* ---- what is reached */

struct walk {
	uint32_t *stack; /* slots reached whose successors were not looked at: each once */
	uint32_t depth;
	bool ends; /* an EXIT was among them */
};

static void reach(struct lint *l, struct walk *w, uint32_t at)
{
	if (l->slots[at] & SLOT_REACHED) {
		l->slots[at] |= SLOT_JOIN;
		return;
	}
	l->slots[at] |= SLOT_REACHED;
	w->stack[w->depth++] = at;
}

static void walk(struct lint *l, struct walk *w, uint32_t from)
{
	reach(l, w, from);
	while (w->depth) {
		uint32_t at = w->stack[--w->depth];
		const struct bpf_insn *insn = &l->insns[at];

		if (is_call_to(insn) || is_address_of(insn))
			reach(l, w, at + 1 + (uint32_t)insn->imm);
		if (asm_jump_target(insn, at) != NO_SLOT)
			reach(l, w, asm_jump_target(insn, at));
		if (insn->code == (BPF_JMP | BPF_EXIT))
			w->ends = true;
		if (!ends(insn))
			reach(l, w, next_of(l, at));
	}
}

static void report_unreached(struct lint *l, uint32_t at, uint32_t n)
{
	const char *label = label_name(l, at);

	if (l->slots[at] & SLOT_ENTRY)
		asm_lint_finding(l, at, RULE_UNREACHABLE,
				 "unreachable: function '%s' is never called", func_name(l, at));
	else if (label)
		asm_lint_finding(
			l, at, RULE_UNREACHABLE,
			"unreachable: label '%s' is never reached, nothing jumps to it and what "
			"stands above it does not go on (%u instruction%s)",
			label, n, n == 1 ? "" : "s");
	else
		asm_lint_finding(
			l, at, RULE_UNREACHABLE,
			"unreachable: what stands above it does not go on, and there is no label "
			"to jump to (%u instruction%s)",
			n, n == 1 ? "" : "s");
}

/* One message for each run of lines that are not reached. */
static void report_unreachable(struct lint *l)
{
	for (uint32_t at = 0, begin, n; at < l->n;) {
		if (l->slots[at] & SLOT_REACHED) {
			at = next_of(l, at);
			continue;
		}
		begin = at;
		n = 0;
		do {
			n++;
			at = next_of(l, at);
		} while (at < l->n && !(l->slots[at] & (SLOT_REACHED | SLOT_ENTRY)));
		report_unreached(l, begin, n);
	}
}

/* ---- recursion */

/* Calls that lead from one function to the next, the first of them in the function at `root`. */
struct chain {
	const uint32_t *calls;
	uint32_t n, root;
};

static uint32_t called_by(const struct lint *l, uint32_t call)
{
	return call + 1 + (uint32_t)l->insns[call].imm;
}

/* The last call leads to a function that the chain came through: "f calls g, which calls f". */
static void report_recursion(struct lint *l, const struct chain *c)
{
	const uint32_t again = called_by(l, c->calls[c->n - 1]);
	uint32_t first = 0;
	char way[200] = "";
	size_t used = 0;

	for (uint32_t begin = c->root; begin != again; begin = called_by(l, c->calls[first++]))
		;
	for (uint32_t i = first; i + 1 < c->n && used < sizeof(way); i++)
		used += (size_t)snprintf(way + used, sizeof(way) - used, "%s, which calls ",
					 func_name(l, called_by(l, c->calls[i])));
	asm_lint_finding(l, c->calls[first], RULE_FLOW,
			 "%s calls %s%s: a program may not call itself; loop by a jump or bpf_loop",
			 func_name(l, again), way, *way ? func_name(l, again) : "itself");
}

/* Follows the calls of the function at `root`, with room for a call of each slot. */
static bool check_recursion_from(struct lint *l, uint32_t *calls, uint32_t root)
{
	uint32_t begin = root, n = 0;

	l->slots[root] |= SLOT_OPEN;
	for (uint32_t at = root;;) {
		uint32_t target;

		if (at >= l->n || (at != begin && l->slots[at] & SLOT_ENTRY)) {
			l->slots[begin] |= SLOT_DONE;
			if (!n)
				return true;
			at = next_of(l, calls[--n]);
			begin = n ? called_by(l, calls[n - 1]) : root;
			continue;
		}
		target = is_call_to(&l->insns[at]) ? called_by(l, at) : NO_SLOT;
		if (target == NO_SLOT || l->slots[target] & SLOT_DONE) {
			at = next_of(l, at);
			continue;
		}
		calls[n++] = at;
		if (l->slots[target] & SLOT_OPEN) {
			report_recursion(l, &(struct chain){ calls, n, root });
			return false;
		}
		l->slots[target] |= SLOT_OPEN;
		begin = at = target;
	}
}

static bool check_recursion(struct lint *l, uint32_t *calls)
{
	for (uint32_t at = 0; at < l->n; at = next_of(l, at))
		if (l->slots[at] & SLOT_ENTRY && !(l->slots[at] & SLOT_DONE) &&
		    !check_recursion_from(l, calls, at))
			return false;
	return true;
}

/* False if paths cannot be followed. */
bool asm_lint_graph(struct lint *l)
{
	struct walk w = { .stack = malloc(l->n * sizeof(*w.stack)) };
	bool right;

	if (!w.stack) {
		l->nomem = true;
		return false;
	}
	right = mark_entries(l) && check_functions(l);
	if (right) {
		walk(l, &w, 0);
		report_unreachable(l);
		if (!w.ends)
			asm_lint_finding(l, 0, RULE_FLOW,
					 "the program never ends: no path leads to an EXIT()");
		right = check_recursion(l, w.stack);
	}
	free(w.stack);
	return right;
}
