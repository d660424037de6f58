/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines that composed macros have in common. */
#include <rawprof/asm.h>

static const struct asm_insn log2_lines[] = { LOG2(R0, R4, R2, R3) };
const struct asm_part asm_log2_part = { ASM_LINES(log2_lines) };
