/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where each architecture keeps its registers in the pt_regs that a BPF program sees
 * (bpf_user_pt_regs_t: arch/ARCH/include/uapi/asm/ptrace.h), which of them carry arguments, and how
 * unwind tables number them (System V psABI, AAPCS64, RISC-V psABI). These are arguments of
 * functions: a system call on x86-64 has its fourth in r10 instead of rcx.
 */
#include "internal.h"

/* struct pt_regs: r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags
 * rsp ss */
const struct asm_arch asm_arch_x86_64 = {
	.name = "x86-64",
	.reg = { [ASM_REG_ARG1] = 14 * 8,
		 [ASM_REG_ARG2] = 13 * 8,
		 [ASM_REG_ARG3] = 12 * 8,
		 [ASM_REG_ARG4] = 11 * 8,
		 [ASM_REG_ARG5] = 9 * 8,
		 [ASM_REG_ARG6] = 8 * 8,
		 [ASM_REG_RET] = 10 * 8,
		 [ASM_REG_IP] = 16 * 8,
		 [ASM_REG_SP] = 19 * 8,
		 [ASM_REG_FP] = 4 * 8 },
	/* rax rdx rcx rbx rsi rdi rbp rsp r8-r15 */
	.dwarf = { 80, 96, 88, 40, 104, 112, 32, 152, 72, 64, 56, 48, 24, 16, 8, 0,
		   [16 ... 31] = -1 },
};

/* struct user_pt_regs: x0..x30 sp pc pstate */
const struct asm_arch asm_arch_arm64 = {
	.name = "arm64",
	.reg = { [ASM_REG_ARG1] = 0,
		 [ASM_REG_ARG2] = 1 * 8,
		 [ASM_REG_ARG3] = 2 * 8,
		 [ASM_REG_ARG4] = 3 * 8,
		 [ASM_REG_ARG5] = 4 * 8,
		 [ASM_REG_ARG6] = 5 * 8,
		 [ASM_REG_RET] = 0,
		 [ASM_REG_IP] = 32 * 8,
		 [ASM_REG_SP] = 31 * 8,
		 [ASM_REG_FP] = 29 * 8 },
	/* x0..x30 sp */
	.dwarf = { 0,	8,   16,  24,  32,  40,	 48,  56,  64,	72,  80,  88,  96,  104, 112, 120,
		   128, 136, 144, 152, 160, 168, 176, 184, 192, 200, 208, 216, 224, 232, 240, 248 },
};

/* struct user_regs_struct: pc ra sp gp tp t0-t2 s0 s1 a0-a7 ... */
const struct asm_arch asm_arch_riscv64 = {
	.name = "riscv64",
	.reg = { [ASM_REG_ARG1] = 10 * 8,
		 [ASM_REG_ARG2] = 11 * 8,
		 [ASM_REG_ARG3] = 12 * 8,
		 [ASM_REG_ARG4] = 13 * 8,
		 [ASM_REG_ARG5] = 14 * 8,
		 [ASM_REG_ARG6] = 15 * 8,
		 [ASM_REG_RET] = 10 * 8,
		 [ASM_REG_IP] = 0,
		 [ASM_REG_SP] = 2 * 8,
		 [ASM_REG_FP] = 8 * 8 },
	/* x0..x31, of which the first is always 0; where it would lie is pc */
	.dwarf = { -1,	8,   16,  24,  32,  40,	 48,  56,  64,	72,  80,  88,  96,  104, 112, 120,
		   128, 136, 144, 152, 160, 168, 176, 184, 192, 200, 208, 216, 224, 232, 240, 248 },
};

const struct asm_arch *asm_arch_host(void)
{
#if defined(__x86_64__)
	return &asm_arch_x86_64;
#elif defined(__aarch64__)
	return &asm_arch_arm64;
#elif defined(__riscv) && __riscv_xlen == 64
	return &asm_arch_riscv64;
#else
	return NULL;
#endif
}
