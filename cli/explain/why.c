/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where what is known of a register at a line comes from: back along the path that led there, the
 * instructions that wrote it and what they took, and the branches that narrowed it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "step.h"

enum { MAX_PLACES = 32 };

struct wanted {
	uint32_t frame;
	int where;
};

struct chain {
	struct stepping *s;
	struct wanted places[MAX_PLACES];
	uint32_t n;
};

static bool wants(const struct chain *c, uint32_t frame, int where)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (c->places[i].frame == frame && c->places[i].where == where)
			return true;
	return false;
}

static void drop(struct chain *c, uint32_t frame, int where)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (c->places[i].frame == frame && c->places[i].where == where)
			c->places[i--] = c->places[--c->n];
}

static void want(struct chain *c, uint32_t frame, int where)
{
	if (where != 10 && !wants(c, frame, where) && c->n < MAX_PLACES)
		c->places[c->n++] = (struct wanted){ frame, where };
}

/* ---- operands, from the text of an instruction */

static int reg_at(const char *at)
{
	return (*at == 'r' || *at == 'w') && at[1] >= '0' && at[1] <= '9' ? atoi(at + 1) : -1;
}

/* Registers that are named behind `from`: what it takes. */
static void want_named(struct chain *c, uint32_t frame, const char *from)
{
	for (; from && *from; from++)
		if (reg_at(from) >= 0 && (from[-1] == ' ' || from[-1] == '(' || from[-1] == '-'))
			want(c, frame, reg_at(from));
}

/* "(r10 -8)" in the frame itself, which R10 or a copy of it shows; 0: elsewhere. */
static int slot_in(struct chain *c, uint32_t step, uint32_t frame, const char *text)
{
	const struct asm_walk_step *at = &c->s->walk.steps[step];
	const char *open = strstr(text, "(r"), *base;
	int64_t offset;

	if (!open)
		return 0;
	base = step_value(c->s, asm_walk_at(&c->s->walk, at->state, frame, atoi(open + 2)));
	if (strncmp(base, "fp", 2) || base[2] == '[')
		return 0;
	offset = atoi(base + 2);
	offset += strchr(open, ' ') ? atoi(strchr(open, ' ') + 1) : 0;
	return offset < 0 && offset >= -512 ? (int)-((-offset + 7) / 8 * 8) : 0;
}

/* ---- one step back */

/* Did the step change what is wanted? Then what it took is wanted from there on. */
static bool trace_step(struct chain *c, uint32_t step, const char *text)
{
	const struct asm_walk *w = &c->s->walk;
	const uint32_t before = w->steps[step].state, after = asm_walk_after(w, step);
	const uint32_t frame = asm_walk_frames(w, before) - 1;
	const uint8_t code = (uint8_t)strtoul(text + 1, NULL, 16);
	const uint8_t class = code & 7;
	const bool jumps = class == 5 || class == 6;
	const int slot = slot_in(c, step, frame, text), dst = reg_at(text + 5);
	const bool stores = class == 2 || class == 3;

	if (code == 0x85) {
		bool any = wants(c, frame, 0);

		drop(c, frame, 0);
		/* A function's arguments are its caller's. */
		for (int r = 1; r <= 5 && after != ASM_WALK_NONE; r++)
			if (asm_walk_frames(w, after) > frame + 1 && wants(c, frame + 1, r)) {
				drop(c, frame + 1, r);
				want(c, frame, r);
				any = true;
			}
		return any;
	}
	if (code == 0x95) {
		if (!frame || !wants(c, frame - 1, 0))
			return false;
		drop(c, frame - 1, 0);
		want(c, frame, 0);
		return true;
	}
	if (jumps) {
		bool any = false;

		for (uint32_t i = 0; i < c->n && after != ASM_WALK_NONE; i++) {
			const struct wanted *p = &c->places[i];

			any |= asm_walk_at(w, before, p->frame, p->where) !=
			       asm_walk_at(w, after, p->frame, p->where);
		}
		return any;
	}
	if (stores) {
		if (!slot || !wants(c, frame, slot))
			return false;
		drop(c, frame, slot);
		want_named(c, frame, strrchr(text, '='));
		return true;
	}
	if (dst < 0 || !wants(c, frame, dst))
		return false;
	if (strstr(text, " = "))
		drop(c, frame, dst);
	if (class == 1 && slot)
		want(c, frame, slot);
	else
		want_named(c, frame, strchr(text, '='));
	return true;
}

static void put_step(struct chain *c, uint32_t step)
{
	struct stepping *s = c->s;
	const struct asm_walk_step *at = &s->walk.steps[step];
	char text[ASM_DISASM_SIZE], name[600];

	explained_disasm(s->e, at->insn, text);
	explained_name(s->e, at->insn, name, sizeof(name));
	fprintf(s->out, "%s%s%s\n", s->c->source, name, s->c->off);
	step_text_step(s, step);
}

/* ---- which step is meant */

static bool is_meant(const struct stepping *s, uint32_t insn, const char *what)
{
	struct explained_line line;
	char name[600], *end;
	const unsigned long number = strtoul(what, &end, 10);

	if (*what && !*end)
		return number == insn;
	explained_name(s->e, insn, name, sizeof(name));
	if (!explained_line(s->e, insn, &line))
		return false;
	if (!strcmp(line.text, what) || strstr(name, what) == name)
		return true;
	snprintf(name, sizeof(name), "%s:%u", line.file ? line.file : "", line.line);
	return !strcmp(name, what) || (strrchr(name, '/') && !strcmp(strrchr(name, '/') + 1, what));
}

/* The last visit of it: of a refused program that is where it was refused. */
static uint32_t find_step(const struct stepping *s, const char *what)
{
	for (uint32_t i = s->walk.nsteps; i-- > 0;)
		if (!s->walk.steps[i].safe && is_meant(s, s->walk.steps[i].insn, what))
			return i;
	return ASM_WALK_NONE;
}

int step_why(struct stepping *s)
{
	const char *reg = s->e->opt->why_reg;
	const uint32_t step = find_step(s, s->e->opt->why);
	struct chain c = { .s = s };
	uint32_t steps[512], n = 0, value, frame;
	char place[32];
	int where;

	if (step == ASM_WALK_NONE)
		return rp_fail(-ENOENT,
			       "the verifier came to no instruction '%s': give its number, "
			       "FILE:LINE, or the line as it is written",
			       s->e->opt->why);
	where = reg[0] == 'R' || reg[0] == 'r' ? atoi(reg + 1)
		: !strncmp(reg, "fp-", 3)      ? atoi(reg + 2)
					       : 11;
	if (where > 10 || where < -512 || (where < 0 && where % 8))
		return rp_fail(-EINVAL, "%s is no register (R0 to R10) and no slot (fp-8)", reg);
	frame = asm_walk_frames(&s->walk, s->walk.steps[step].state) - 1;
	value = asm_walk_at(&s->walk, s->walk.steps[step].state, frame, where);
	step_place(place, frame, where);
	fprintf(s->out, "%s%s%s before instruction %u (step %u): %s\n", s->c->label, place,
		s->c->off, s->walk.steps[step].insn, step,
		value == ASM_WALK_NONE ? "nothing that may be read" : step_value(s, value));
	want(&c, frame, where);
	for (uint32_t at = s->walk.steps[step].prev; at != ASM_WALK_NONE && c.n;
	     at = s->walk.steps[at].prev) {
		const char *text = s->walk.log.insns[s->walk.steps[at].insn].text;

		if (text && strlen(text) > 5 && trace_step(&c, at, text) && n < 512)
			steps[n++] = at;
	}
	while (n-- > 0)
		put_step(&c, steps[n]);
	for (uint32_t i = 0; i < c.n; i++) {
		step_place(place, c.places[i].frame, c.places[i].where);
		fprintf(s->out, "%s is what it was at the beginning\n", place);
	}
	return 0;
}
