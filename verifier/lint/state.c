/* SPDX-License-Identifier: BSD-2-Clause */
/* What is known at one point of one path: registers, the bytes of the stack, references. */
#include <stddef.h>
#include <string.h>

#include "lint.h"

struct reg asm_number_unknown(void)
{
	return (struct reg){ .kind = NUMBER };
}

struct reg asm_number_exact(uint64_t value)
{
	return (struct reg){
		.kind = NUMBER, .known = true, .exact = true, .can = { value, value }
	};
}

struct reg asm_number_any(unsigned int bytes, bool is_signed)
{
	uint64_t top = bytes == 8 ? UINT64_MAX : (UINT64_C(1) << (8 * bytes)) - 1;
	struct reg reg = { .kind = NUMBER, .known = true, .can = { 0, top } };

	if (is_signed)
		reg.can = (struct arc){ 0 - (top / 2) - 1, top / 2 };
	return reg;
}

struct reg asm_lint_other(void)
{
	return (struct reg){ .kind = OTHER };
}

bool asm_is_pointer(const struct reg *reg)
{
	switch ((enum kind)reg->kind) {
	case STACK:
	case CONTEXT:
	case FUNCTION:
	case MAP:
	case VALUE:
	case VALUE_OR_NULL:
	case RECORD:
	case RECORD_OR_NULL:
		return true;
	case UNWRITTEN:
	case DESTROYED:
	case NOTHING:
	case NUMBER:
	case RELEASED:
	case OTHER:
		break;
	}
	return false;
}

/* A subprogram's arguments can be anything; only the program itself is known to get a context. */
void asm_state_start(struct state *s, uint32_t at, enum frame frame)
{
	memset(s, 0, offsetof(struct state, spills));
	s->at = at;
	s->jump = NO_SLOT;
	s->frame = (uint8_t)frame;
	s->regs[BPF_REG_10] = (struct reg){ .kind = STACK, .known = true, .exact = true };
	if (frame == MAIN)
		s->regs[BPF_REG_1] = (struct reg){ .kind = CONTEXT, .known = true, .exact = true };
	else
		for (int r = BPF_REG_1; r <= BPF_REG_5; r++)
			s->regs[r] = asm_lint_other();
}

size_t asm_state_size(const struct state *s)
{
	return offsetof(struct state, spills) + s->nspills * sizeof(s->spills[0]);
}

void asm_state_copy(struct state *to, const struct state *from)
{
	memcpy(to, from, asm_state_size(from));
}

bool asm_state_release(struct state *s, uint32_t id)
{
	for (unsigned int i = 0; i < s->nrefs; i++)
		if (s->refs[i].id == id) {
			s->refs[i] = s->refs[--s->nrefs];
			return true;
		}
	return false;
}

uint32_t asm_state_new_id(struct state *s)
{
	return ++s->ids;
}

void asm_state_each_copy(struct state *s, uint32_t id, void (*fn)(struct reg *reg, void *ctx),
			 void *ctx)
{
	for (int r = BPF_REG_0; r <= BPF_REG_9; r++)
		if (s->regs[r].id == id)
			fn(&s->regs[r], ctx);
	for (unsigned int i = 0; i < s->nspills; i++)
		if (s->spills[i].reg.id == id)
			fn(&s->spills[i].reg, ctx);
}

bool asm_state_is_shared(const struct state *s, uint32_t id)
{
	int n = 0;

	if (!id)
		return false;
	for (int r = BPF_REG_0; r <= BPF_REG_9; r++)
		n += s->regs[r].id == id;
	for (unsigned int i = 0; i < s->nspills; i++)
		n += s->spills[i].reg.id == id;
	return n > 1;
}

/* ---- hashing: FNV-1a over 64-bit words */

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash ^= word;
	hash *= UINT64_C(0x100000001b3);
	return hash ^ hash >> 29;
}

static void mix_reg(struct state_hash *h, const struct reg *reg)
{
	h->shape = mix(h->shape, reg->kind | (uint64_t)reg->trusted << 8 |
					 (uint64_t)reg->known << 9 | (uint64_t)reg->map << 32);
	if (reg->kind != NUMBER)
		h->shape = mix(h->shape, (uint64_t)reg->offset);
	else
		h->numbers = mix(mix(h->numbers, reg->can.lo), reg->can.hi + reg->exact);
}

struct state_hash asm_state_hash(const struct state *s)
{
	struct state_hash h = { .shape = mix(UINT64_C(0xcbf29ce484222325),
					     s->frame | (uint64_t)s->nrefs << 8) };

	for (int r = BPF_REG_0; r <= BPF_REG_9; r++)
		mix_reg(&h, &s->regs[r]);
	for (size_t i = 0; i < ASM_STACK_SIZE / 64; i++)
		if (s->written[i])
			h.shape = mix(mix(h.shape, s->written[i] + i), s->random[i]);
	for (unsigned int i = 0; i < s->nspills; i++) {
		h.shape = mix(h.shape, (uint16_t)s->spills[i].offset);
		mix_reg(&h, &s->spills[i].reg);
	}
	for (unsigned int i = 0; i < s->nrefs; i++)
		h.shape = mix(h.shape, s->refs[i].where);
	return h;
}

/* ---- the stack */

static unsigned int bit_of(int offset)
{
	return (unsigned int)(offset + ASM_STACK_SIZE);
}

static bool get_bit(const uint64_t *bits, unsigned int i)
{
	return bits[i / 64] >> i % 64 & 1;
}

static void set_bit(uint64_t *bits, unsigned int i, bool value)
{
	if (value)
		bits[i / 64] |= UINT64_C(1) << i % 64;
	else
		bits[i / 64] &= ~(UINT64_C(1) << i % 64);
}

bool asm_stack_inside(int64_t offset, uint64_t size)
{
	return offset >= -ASM_STACK_SIZE && offset <= 0 && size <= (uint64_t)-offset;
}

/* Whatever was spilled there is no more. */
static void drop_spills(struct state *s, int offset, int size)
{
	for (unsigned int i = 0; i < s->nspills;) {
		const struct spill *spill = &s->spills[i];

		if (spill->offset < offset + size && offset < spill->offset + spill->size)
			s->spills[i] = s->spills[--s->nspills];
		else
			i++;
	}
}

void asm_stack_write(struct state *s, int offset, unsigned int size, bool random)
{
	drop_spills(s, offset, (int)size);
	for (unsigned int i = 0; i < size; i++) {
		set_bit(s->written, bit_of(offset) + i, true);
		set_bit(s->random, bit_of(offset) + i, random);
	}
}

/* Spills do not overlap and are 4 bytes or more: there is always room. */
void asm_stack_spill(struct state *s, int offset, unsigned int size, const struct reg *reg)
{
	asm_stack_write(s, offset, size, false);
	s->spills[s->nspills++] =
		(struct spill){ .offset = (int16_t)offset, .size = (uint16_t)size, .reg = *reg };
}

const struct reg *asm_stack_filled(const struct state *s, int offset, unsigned int size)
{
	for (unsigned int i = 0; i < s->nspills; i++)
		if (s->spills[i].offset == offset && s->spills[i].size == size)
			return &s->spills[i].reg;
	return NULL;
}

bool asm_stack_is_random(const struct state *s, int offset, unsigned int size)
{
	for (unsigned int i = 0; i < size; i++)
		if (!get_bit(s->random, bit_of(offset) + i))
			return false;
	return true;
}

bool asm_stack_unwritten(const struct state *s, int offset, unsigned int size, int *first, int *n)
{
	unsigned int i = 0;

	while (i < size && get_bit(s->written, bit_of(offset) + i))
		i++;
	if (i == size)
		return false;
	*first = offset + (int)i;
	*n = 0;
	while (i < size && !get_bit(s->written, bit_of(offset) + i++))
		(*n)++;
	return true;
}

void asm_stack_forget(struct state *s)
{
	s->nspills = 0;
	memset(s->written, 0xff, sizeof(s->written));
	memset(s->random, 0, sizeof(s->random));
}
