/* SPDX-License-Identifier: BSD-2-Clause */
/* x86-64 instructions: how they are put together, and where control goes behind them. */
#ifndef BASE_X86_H
#define BASE_X86_H

#include <stdbool.h>
#include <stdint.h>

#include "flow.h"

enum { X86_LONGEST = 15 }; /* bytes */

/* Registers as they are numbered; from 8 on they have numbers for names. */
enum { X86_AX, X86_CX, X86_DX, X86_BX, X86_SP, X86_BP, X86_SI, X86_DI, X86_REGS = 16 };

enum { REX_B = 1, REX_X = 2, REX_R = 4, REX_W = 8 };

/* How an instruction is put together. */
struct x86_parts {
	const uint8_t *code;
	uint32_t at, n; /* read so far, readable */
	bool p66, p67, f2, f3, lock, seg_fs_gs, seg_other;
	uint8_t rex;  /* 0: none */
	bool vex;     /* VEX, EVEX or XOP; rex has their bits but W */
	uint8_t vvvv; /* the third register of these */
	uint8_t map;  /* 0: one byte; 1: 0f; 2: 0f 38; 3: 0f 3a; others unlike any of these */
	uint8_t opcode;
	bool has_modrm;
	uint8_t modrm, sib;
	uint32_t disp_at, imm_at, imm_len;
};

/*
 * Takes the instruction at p->code, of p->n bytes, apart; p->at is its length then. False if that
 * is not known for certain; vex is right all the same.
 */
bool rp_x86_take_apart(struct x86_parts *p);

/* The registers that ModRM names, 0 to 15; rm only if it is one and no memory. */
static inline unsigned int rp_x86_reg(const struct x86_parts *p)
{
	return (p->modrm >> 3 & 7) | (p->rex & REX_R ? 8 : 0);
}

static inline unsigned int rp_x86_rm(const struct x86_parts *p)
{
	return (p->modrm & 7) | (p->rex & REX_B ? 8 : 0);
}

static inline bool rp_x86_rm_is_register(const struct x86_parts *p)
{
	return p->modrm >> 6 == 3;
}

/* Registers, bit i the i-th as x86-64 numbers them, that it may change by what it names. */
uint16_t rp_x86_changes(const struct x86_parts *p);

/* Of an instruction that was taken apart. *@is_call is set or cleared. */
enum insn_flow rp_x86_flow(const struct x86_parts *p, bool *is_call);
/* The number of @len bytes in an instruction: an operand, or 0 if it has none of 1 or 4. */
int64_t rp_x86_number(const uint8_t *at, uint32_t len);
/* Where a jump, branch or direct call leads, from the instruction's start. */
int64_t rp_x86_target(const struct x86_parts *p);

#endif
