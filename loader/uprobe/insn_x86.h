/* SPDX-License-Identifier: BSD-2-Clause */
/* insn_x86.h: between the two halves of the x86-64 decoder. */
#ifndef LOADER_INSN_X86_H
#define LOADER_INSN_X86_H

#include <stdbool.h>
#include <stdint.h>

enum { X86_LONGEST = 15 }; /* bytes */

enum { REX_B = 1, REX_X = 2, REX_R = 4, REX_W = 8 };

/* How an instruction is put together. */
struct x86_parts {
	const uint8_t *code;
	uint32_t at, n; /* read so far, readable */
	bool p66, p67, f2, f3, lock, seg_fs_gs, seg_other;
	uint8_t rex; /* 0: none */
	bool vex;    /* VEX, EVEX or XOP */
	uint8_t map; /* 0: one byte; 1: 0f; 2: 0f 38; 3: 0f 3a; others unlike any of these */
	uint8_t opcode;
	bool has_modrm;
	uint8_t modrm, sib;
	uint32_t disp_at, imm_at, imm_len;
};

/*
 * Takes the instruction at p->code, of p->n bytes, apart; p->at is its length then. False if that
 * is not known for certain.
 */
bool rp_x86_take_apart(struct x86_parts *p);

#endif
