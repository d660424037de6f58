/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which general registers an x86-64 instruction may change by what it names: by ModRM, by its
 * opcode, or by VEX's third register. Not what some change besides, as cpuid and string
 * instructions do: who has to know all passes those over (unwind/code_callee.c).
 */
#include "x86.h"

enum { REG = 1, RM = 2, OPCODE = 4, THIRD = 8 }; /* which of the three it changes */

static unsigned int one_byte(const struct x86_parts *p)
{
	const uint8_t which = p->modrm >> 3 & 7;

	switch (p->opcode) {
	case 0x00 ... 0x3f:
		if (p->opcode >= 0x38 || (p->opcode & 7) > 3)
			return 0; /* cmp; those of rax */
		return p->opcode & 2 ? REG : RM;
	case 0x58 ... 0x5f:
	case 0x90 ... 0x97:
	case 0xb0 ... 0xbf:
		return OPCODE;
	case 0x62 ... 0x6b:
	case 0x8a:
	case 0x8b:
	case 0x8d:
		return REG;
	case 0x80 ... 0x83:
		return which == 7 ? 0 : RM;
	case 0x86:
	case 0x87:
		return REG | RM;
	case 0x88:
	case 0x89:
	case 0x8f:
	case 0xc0:
	case 0xc1:
	case 0xc6:
	case 0xc7:
	case 0xd0 ... 0xd3:
		return RM;
	case 0xf6:
	case 0xf7:
		return which == 2 || which == 3 ? RM : 0;
	case 0xfe:
	case 0xff:
		return which < 2 ? RM : 0;
	}
	return 0;
}

static unsigned int two_byte(const struct x86_parts *p)
{
	const uint8_t which = p->modrm >> 3 & 7;

	switch (p->opcode) {
	case 0x00 ... 0x03:
	case 0x20 ... 0x21:
	case 0xc7:
		return REG | RM;
	case 0x2c: /* from a vector register */
	case 0x2d:
	case 0x40 ... 0x4f:
	case 0x50:
	case 0x78 ... 0x79:
	case 0xaf:
	case 0xb2:
	case 0xb4 ... 0xb8:
	case 0xbc ... 0xbf:
	case 0xc5:
	case 0xd7:
		return REG;
	case 0x7e:
	case 0x90 ... 0x9f:
	case 0xa4:
	case 0xa5:
	case 0xab ... 0xad:
	case 0xb0:
	case 0xb1:
	case 0xb3:
	case 0xbb:
		return RM;
	case 0xba:
		return which == 4 ? 0 : RM;
	case 0xc0:
	case 0xc1:
		return REG | RM;
	case 0xc8 ... 0xcf:
		return OPCODE;
	}
	return 0;
}

/* The maps of 0f 38 and 0f 3a, with VEX or without, and those of XOP. */
static unsigned int higher(const struct x86_parts *p)
{
	switch (p->map) {
	case 2:
		return p->opcode >= 0xf0 ? REG | RM | (p->vex ? THIRD : 0) : 0;
	case 3:
		return p->opcode == 0xf0 ? REG : (p->opcode & 0xfc) == 0x14 ? RM : 0;
	case 9:
	case 10:
		return REG | RM | THIRD;
	}
	return 0;
}

/* With VEX these are of mask registers. */
static bool is_of_masks(const struct x86_parts *p)
{
	return p->vex && ((p->opcode >= 0x41 && p->opcode <= 0x4b) ||
			  (p->opcode >= 0x90 && p->opcode <= 0x92) || p->opcode >= 0x98);
}

static unsigned int changed(const struct x86_parts *p)
{
	if (p->map == 0)
		return one_byte(p);
	if (p->map != 1)
		return higher(p);
	if (p->vex && p->opcode == 0x93) /* kmov */
		return REG;
	if (is_of_masks(p) && p->opcode != 0xc5 && p->opcode != 0xd7)
		return 0;
	return two_byte(p);
}

/* Opcodes of bytes: without REX, 4 to 7 are second bytes of the first four. */
static bool is_of_bytes(const struct x86_parts *p)
{
	if (p->vex || p->map > 1)
		return false;
	if (p->map == 1)
		return p->opcode == 0xb0 || p->opcode == 0xc0 ||
		       (p->opcode >= 0x90 && p->opcode <= 0x9f);
	return (p->opcode < 0x40 && !(p->opcode & 1)) || (p->opcode >= 0xb0 && p->opcode <= 0xb7) ||
	       (p->opcode >= 0x80 && !(p->opcode & 1) && p->opcode < 0x8d) || p->opcode == 0xc0 ||
	       p->opcode == 0xc6 || p->opcode == 0xd0 || p->opcode == 0xd2 || p->opcode == 0xf6 ||
	       p->opcode == 0xfe;
}

static uint16_t bit(const struct x86_parts *p, unsigned int reg)
{
	return 1U << (is_of_bytes(p) && !p->rex && reg >= 4 && reg < 8 ? reg - 4 : reg);
}

/* Short forms name it by their opcode alone; so do xchg and cmpxchg. */
static bool changes_ax(const struct x86_parts *p)
{
	if (p->vex)
		return false;
	if (p->map == 1)
		return p->opcode == 0xb0 || p->opcode == 0xb1;
	if (p->map)
		return false;
	return (p->opcode < 0x38 && ((p->opcode & 7) == 4 || (p->opcode & 7) == 5)) ||
	       (p->opcode >= 0x90 && p->opcode <= 0x97) || p->opcode == 0xa0 || p->opcode == 0xa1;
}

uint16_t rp_x86_changes(const struct x86_parts *p)
{
	const unsigned int what = changed(p);
	uint16_t mask = 0;

	if (what & REG)
		mask |= bit(p, rp_x86_reg(p));
	if ((what & RM) && rp_x86_rm_is_register(p))
		mask |= bit(p, rp_x86_rm(p));
	if (what & OPCODE)
		mask |= bit(p, (p->opcode & 7) | (p->rex & REX_B ? 8 : 0));
	if (what & THIRD)
		mask |= 1U << p->vvvv;
	if (changes_ax(p))
		mask |= 1U << X86_AX;
	return mask;
}
