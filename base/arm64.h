/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arm64 instructions: where control goes behind them, and what they may change. Encodings: Arm's
 * Architecture Reference Manual, C4. A word is an instruction as it lies in memory, little-endian.
 */
#ifndef BASE_ARM64_H
#define BASE_ARM64_H

#include <stdbool.h>
#include <stdint.h>

#include "flow.h"

enum {
	ARM64_BYTES = 4,
	ARM64_FP = 29,
	ARM64_LR = 30,
	ARM64_SP = 31, /* where it is not the zero register */
	ARM64_REGS = 32,
};

/* The field of @bits bits from bit @from on, as a signed number. */
static inline int32_t rp_arm64_signed(uint32_t word, int from, int bits)
{
	const uint32_t field = word >> from & ((1U << bits) - 1);
	const uint32_t sign = 1U << (bits - 1);

	return (int32_t)((field ^ sign) - sign);
}

/* *@is_call is set or cleared. */
enum insn_flow rp_arm64_flow(uint32_t word, bool *is_call);
/* Of a jump, branch or direct call: where it leads, from its own address; else 0. */
int32_t rp_arm64_target(uint32_t word);
/* What adrp at @addr makes: the start of a page. */
static inline uint64_t rp_arm64_page(uint32_t word, uint64_t addr)
{
	const int64_t pages = (int64_t)rp_arm64_signed(word, 5, 19) * 4 + (word >> 29 & 3);

	return (addr & ~0xfffULL) + (uint64_t)pages * 4096;
}

/*
 * General registers that it may change, bit 31 for the stack pointer. A call changes x30; what the
 * function changes that it leads to is not counted.
 */
uint32_t rp_arm64_changes(uint32_t word);

#endif
