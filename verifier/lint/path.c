/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Follows the paths through a program, one after the other, the deepest first. Where paths meet, a
 * path that brings nothing new is given up: nothing that a rule looks at, or nothing at all. How
 * often a place is passed with the same registers and other numbers depends on the size of the
 * program, so that the work does not: loops of small programs are followed round by round.
 */
#include <stdlib.h>
#include <string.h>

#include "lint.h"

#define MAX_STEPS 8000000
#define MAX_PENDING (64 << 20) /* bytes of states put aside */
#define MAX_VISITS (4 << 20)   /* different states remembered */

/* A state that was seen at a place where paths meet. */
struct visit {
	struct state_hash hash; /* the numbers are those of the last */
	uint32_t count;
	uint32_t next; /* at the same place; 0 ends the list */
};

struct paths {
	unsigned char *pending; /* states, each followed by its size */
	size_t used, capacity;
	struct visit *visits; /* the first is not used */
	uint32_t nvisits, visit_capacity;
	uint32_t *first_visit; /* of each slot */
	uint32_t same, shapes; /* how often a shape, and how many shapes, are followed at a place */
	uint64_t steps;
};

static void *grow(struct lint *l, void *block, size_t bytes)
{
	void *larger = realloc(block, bytes);

	if (!larger)
		l->nomem = true;
	return larger;
}

/* Beyond the limit a way is not followed: it may hide a fault, it invents none. */
void asm_open_path(struct lint *l, const struct state *s)
{
	struct paths *p = l->paths;
	size_t size = asm_state_size(s), need = p->used + size + sizeof(size);

	if (need > MAX_PENDING || l->nomem)
		return;
	if (need > p->capacity) {
		size_t capacity = 2 * need;
		unsigned char *larger = grow(l, p->pending, capacity);

		if (!larger)
			return;
		p->pending = larger;
		p->capacity = capacity;
	}
	memcpy(p->pending + p->used, s, size);
	memcpy(p->pending + p->used + size, &size, sizeof(size));
	p->used = need;
}

static bool next_path(struct paths *p, struct state *s)
{
	size_t size;

	if (!p->used)
		return false;
	memcpy(&size, p->pending + p->used - sizeof(size), sizeof(size));
	p->used -= size + sizeof(size);
	memcpy(s, p->pending + p->used, size);
	return true;
}

/* Each function is followed once for each way of calling it. */
void asm_open_function(struct lint *l, const struct state *entry)
{
	l->slots[entry->at] |= SLOT_JOIN;
	asm_open_path(l, entry);
}

static bool remember(struct lint *l, uint32_t at, struct state_hash hash)
{
	struct paths *p = l->paths;

	if (p->nvisits == MAX_VISITS)
		return false;
	if (p->nvisits == p->visit_capacity) {
		uint32_t capacity = p->visit_capacity ? 2 * p->visit_capacity : 1024;
		struct visit *larger = grow(l, p->visits, capacity * sizeof(*larger));

		if (!larger)
			return false;
		p->visits = larger;
		p->visit_capacity = capacity;
		p->nvisits += !p->nvisits;
	}
	p->visits[p->nvisits] = (struct visit){ hash, 1, p->first_visit[at] };
	p->first_visit[at] = p->nvisits++;
	return true;
}

/* Is the path that arrives here with this state worth following? */
static bool is_news(struct lint *l, const struct state *s)
{
	struct paths *p = l->paths;
	struct state_hash hash = asm_state_hash(s);
	uint32_t n = 0;

	for (uint32_t i = p->first_visit[s->at]; i; i = p->visits[i].next, n++) {
		struct visit *v = &p->visits[i];

		if (v->hash.shape != hash.shape)
			continue;
		if (v->hash.numbers == hash.numbers || v->count >= p->same)
			return false;
		v->hash.numbers = hash.numbers;
		v->count++;
		return true;
	}
	return n < p->shapes && remember(l, s->at, hash);
}

/* False: the path ends with this instruction. */
static bool step(struct lint *l, struct state *s)
{
	const struct bpf_insn *insn = &l->insns[s->at];

	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		asm_step_alu(l, s, insn);
		break;
	case BPF_LD:
		if (asm_is_imm64(insn)) {
			asm_step_imm64(l, s, insn);
			s->at++;
		} else {
			asm_step_packet(l, s, insn);
		}
		break;
	case BPF_LDX:
		asm_step_load(l, s, insn);
		break;
	case BPF_ST:
	case BPF_STX:
		asm_step_store(l, s, insn);
		break;
	default:
		if (insn->code == (BPF_JMP | BPF_EXIT)) {
			asm_step_exit(l, s);
			return false;
		}
		if (BPF_OP(insn->code) == BPF_JA) {
			s->at = asm_jump_target(insn, s->at);
			return true;
		}
		if (insn->code != (BPF_JMP | BPF_CALL))
			return asm_step_branch(l, s, insn);
		asm_step_call(l, s, insn);
	}
	s->at++;
	return true;
}

static void follow(struct lint *l, struct state *s)
{
	struct paths *p = l->paths;

	while (p->steps < MAX_STEPS && !l->nomem) {
		p->steps++;
		if (l->slots[s->at] & SLOT_JOIN && !is_news(l, s))
			return;
		if (!step(l, s))
			return;
	}
}

static uint32_t between(uint32_t low, uint32_t value, uint32_t high)
{
	return value < low ? low : value > high ? high : value;
}

void asm_lint_paths(struct lint *l)
{
	struct paths p = { .same = between(2, 1000000 / l->n, 1024),
			   .shapes = between(4, 250000 / l->n, 64) };
	struct state s;

	l->paths = &p;
	p.first_visit = calloc(l->n, sizeof(*p.first_visit));
	if (!p.first_visit)
		l->nomem = true;
	asm_state_start(&s, 0, MAIN);
	if (!l->nomem)
		asm_open_path(l, &s);
	while (p.steps < MAX_STEPS && !l->nomem && next_path(&p, &s))
		follow(l, &s);
	free(p.first_visit);
	free(p.visits);
	free(p.pending);
	l->paths = NULL;
}
