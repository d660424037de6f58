/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Facts of the machines. BPF programs are made where they run: what they need are constants of the
 * machine that is compiled for. What is said of files, which may be of another machine, is found
 * in machine.c by their ELF header. Beside these a machine has its registers in asm/arch.c and,
 * for probes inside of functions, a decoder in loader/uprobe/.
 */
#ifndef BASE_MACHINE_H
#define BASE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * UNWIND_REGS_BYTES	the registers that the kernel saved when entered (struct user_pt_regs)
 * UNWIND_MODE_*	how they tell that it was entered from 64-bit user code
 * MACHINE_THREAD_POINTER	the member of struct task_struct that has it; not defined: it is not
 *			used there
 * MACHINE_LANGUAGES	frames of managed languages, and labels of goroutines, are known there
 * UNWIND_RA_MASK	a return address without a signature; not defined: there are none
 * UNWIND_LINK_REG	where a call leaves the return address; not defined: on the stack
 * UNWIND_FP_RECORD	where the caller's fp and the return address are, from fp; not defined: 0
 * RETURN_SLOT		bytes that a call leaves on the stack for the return to take
 * REG_NR, REG_ARG0 to REG_ARG5	a system call's number and arguments, in the kernel's struct pt_regs
 * REG_CAUSE, SYSCALL_CAUSE	why the kernel was entered; not defined: REG_NR is negative if
 *				that was no system call (orig_ax in arch/x86/include/asm/ptrace.h,
 *				syscallno in that of arm64)
 * MACHINE_COMPUTED_RULES	there may be rules that were computed from code
 * MACHINE_SIGRETURN	how the code begins to which signal handlers return
 * COMPAT_*	what of struct task_struct tells that a system call is one of 32-bit programs:
 *		TS_COMPAT of x86, which is of this one call, for 64-bit programs may make such calls
 *		too; TIF_32BIT of arm64; not defined: there are none. COMPAT_EXECVE: the number
 *		under which a call ends that executed a 32-bit program, where it has one
 */
#if defined(__aarch64__)
#define UNWIND_REGS_BYTES 272
#define UNWIND_MODE_REG 264 /* pstate */
#define UNWIND_MODE_MASK 0x1f
#define UNWIND_MODE_USER64 0
#define UNWIND_RA_MASK 0xffffffffffff
#define UNWIND_LINK_REG 240
#define MACHINE_COMPUTED_RULES
#define MACHINE_SIGRETURN 0xd4000001d2801168 /* mov x8, #139; svc #0 */
#define RETURN_SLOT 0
#define REG_NR "syscallno"
#define REG_ARG0 "regs[0]"
#define REG_ARG1 "regs[1]"
#define REG_ARG2 "regs[2]"
#define REG_ARG3 "regs[3]"
#define REG_ARG4 "regs[4]"
#define REG_ARG5 "regs[5]"
#define MACHINE_THREAD_POINTER "thread.uw.tp_value" /* since it last left a CPU; or its clone(2) */
#define COMPAT_MEMBER "thread_info.flags"
#define COMPAT_BIT (1 << 22)
#elif defined(__riscv)
#define UNWIND_REGS_BYTES 264
#define UNWIND_MODE_REG 256 /* status, which the kernel keeps behind the registers that it shows */
#define UNWIND_MODE_MASK 0x100 /* SPP: what was interrupted was the kernel */
#define UNWIND_MODE_USER64 0
#define UNWIND_LINK_REG 8
#define UNWIND_FP_RECORD -16
#define RETURN_SLOT 0
#define REG_NR "a7"
#define REG_ARG0 "orig_a0"
#define REG_ARG1 "a1"
#define REG_ARG2 "a2"
#define REG_ARG3 "a3"
#define REG_ARG4 "a4"
#define REG_ARG5 "a5"
#define REG_CAUSE "cause"
#define SYSCALL_CAUSE 8
#else
#define MACHINE_THREAD_POINTER "thread.fsbase"
#define MACHINE_LANGUAGES
#define MACHINE_COMPUTED_RULES
#define MACHINE_SIGRETURN 0x0f0000000fc0c748 /* mov $15, %rax; and of the system call */
#define UNWIND_REGS_BYTES 168
#define MACHINE_SYSCALL_REG 120	   /* in these: the number of the system call, */
#define MACHINE_FIRST_ARGUMENT 112 /*   and its first argument */
#define UNWIND_MODE_REG 136	   /* cs */
#define UNWIND_MODE_MASK 0xffff
#define UNWIND_MODE_USER64 0x33
#define RETURN_SLOT 8
#define REG_NR "orig_ax"
#define REG_ARG0 "di"
#define REG_ARG1 "si"
#define REG_ARG2 "dx"
#define REG_ARG3 "r10"
#define REG_ARG4 "r8"
#define REG_ARG5 "r9"
#define COMPAT_MEMBER "thread_info.status"
#define COMPAT_BIT 2
#define COMPAT_EXECVE 11
#endif

struct machine_bytes {
	uint8_t size;
	uint8_t bytes[9];
};

struct machine {
	uint16_t elf;	     /* EM_* of elf.h */
	const char *objdump; /* as objdump -m calls it */
	/* DWARF numbers of registers: its psABI, "DWARF register number mapping" */
	uint32_t sp, fp, ra;
	bool has_link_register; /* a call leaves the return address in register ra */
	/*
	 * Where the kernel saves the registers of what a signal interrupted, from sp at the
	 * trampoline: struct sigcontext (arm64, riscv: behind the siginfo of 128 bytes) in struct
	 * ucontext, arch/.../include/uapi/asm/.
	 */
	struct {
		int16_t pc, sp, fp, link;
	} signal;
	struct machine_bytes syscall;
	/* rt_sigreturn's number into the register for it, and the system call; size 0: no more */
	struct machine_bytes trampolines[2];
};

/* By the e_machine of an ELF header; NULL for others than x86-64, AArch64 and RISC-V. */
const struct machine *rp_machine(uint16_t elf);
/* That which runs this. */
const struct machine *rp_machine_host(void);

#endif
