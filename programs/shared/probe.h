/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs that are put on what a person names: functions of the kernel and of programs, system
 * calls, tracepoints. record/probes/ finds those and attaches the programs; what a program has to
 * know of where it was attached is here.
 *
 * struct my_config { struct program_config common; struct probe_config probe; };
 *
 *	MOV_REG(R6, R1),
 *	LD_PROBE_ID(R7, R6, struct my_config, probe),	which of the probes was hit
 *	LD_CALL(ROOM, struct my_config, probe, out),
 *		R7 and R8 = in which call: both are equal at its entry and its return
 */
#ifndef PROGRAMS_PROBE_H
#define PROGRAMS_PROBE_H

#include <rawprof/asm.h>
#include "base/machine.h"

/*
 * Where in a call a program runs. PROBE_SESSION: at both ends, where the kernel has session links
 * (6.13), in place of two programs: see RP_UPROBE_SESSION in rawprof/uprobe.h.
 */
enum probe_point { PROBE_ENTRY, PROBE_RETURN, PROBE_SESSION, PROBE_POINTS };

/* What its context is. A program is written for one of them. */
enum probe_context {
	/* Registers, struct pt_regs: LD_ARG, LD_RET, LD_SP. Probes on functions of programs (the
	 * registers of user code), USDT probes, kprobes, kprobe_multi. Row: RP_ON_PROBE. */
	PROBE_ON_REGS,
	/* fentry and fexit: the arguments, 8 bytes each; at the return the result stands behind
	 * probe_config.nargs of them. The context of both is at one address of the kernel's stack,
	 * so R1 tells calls apart as the stack pointer does. Rows: RP_ON_FENTRY, RP_ON_FEXIT. */
	PROBE_ON_ARGS,
	/* The raw tracepoints sys_enter (struct pt_regs *, long id) and sys_exit (struct pt_regs *,
	 * long result): for all system calls; the program looks up by the number which probe it is,
	 * see record_probes_syscalls(). Rows: RP_ON_TP_BTF("sys_enter"), ("sys_exit"). */
	PROBE_ON_SYSCALL,
	/* The classic tracepoints raw_syscalls:sys_enter and sys_exit, where there is no BTF: LD_TP
	 * of "raw_syscalls". Rows: RP_ON_TP("raw_syscalls", "sys_enter"), ... */
	PROBE_ON_SYSCALL_RECORD,
	/* The record of a classic tracepoint, which differs from one to the next: its fields are
	 * behind the first 8 bytes. Row: RP_ON_RECORD. */
	PROBE_ON_RECORD,
	PROBE_CONTEXTS
};

/* As part of a program's configuration; filled in when it is loaded for its place. */
struct probe_config {
	uint32_t by_cookie; /* bpf_get_attach_cookie() tells which probe it is; else, */
	uint32_t id;	    /*   as before Linux 5.15 and for fentry, there is but this one */
	uint32_t nargs;	    /* of fentry and fexit: see PROBE_ON_ARGS */
	uint32_t sp_above;  /* on registers: how far the stack pointer is above that of the entry */
	uint32_t go;	    /* a function of Go, whose stacks move: LD_CALL sees to it */
	uint32_t at_returns; /* the return instructions are probed, not the return addresses */
};

/* The number of the probe, record_probe.id; what stands above the cookie's 32 bits is for programs
 * that read the arguments of USDT probes. ctx holds the context and is not R1. R0 to R5 are lost.
 */
#define LD_PROBE_ID(dst, ctx, type, member)                                                        \
	SCOPE("LD_PROBE_ID(" #dst ", " #ctx ")"), WHEN(type, member.by_cookie), MOV_REG(R1, ctx),  \
		CALL(get_attach_cookie), MOV32_REG(dst, R0), END, UNLESS(type, member.by_cookie),  \
		LD_PARAM(dst, type, member.id), END, END

/*
 * At the return instructions (probe_config.at_returns): the same, and PROBE_ELSEWHERE if the
 * instruction is one of another function, to which this one jumps. Others call that one too: then
 * the return address is not that of the call.
 */
#define PROBE_ELSEWHERE (1ull << 32)
#define LD_PROBE_END(dst, ctx, type, member)                                                       \
	SCOPE("LD_PROBE_END(" #dst ", " #ctx ")"), WHEN(type, member.by_cookie), MOV_REG(R1, ctx), \
		CALL(get_attach_cookie), MOV_REG(dst, R0), END, UNLESS(type, member.by_cookie),    \
		LD_PARAM(dst, type, member.id), END, END

/*
 * The call that the registers at R6 are of, equal at its entry and its return. R7: the thread's id,
 * or in Go a number of the goroutine, which may change its thread. R8: the stack pointer at the
 * entry, in Go counted from the end of the stack, as the stack may move; the deeper the call, the
 * lower it is. room: 8 bytes at a frame offset. On to the label out if it cannot be told. R0 to R5
 * are lost.
 */
#define LD_CALL(room, type, member, out)                                                           \
	SCOPE("LD_CALL(" #room ", " #out ")"), UNLESS(type, member.go),                            \
		CALL(get_current_pid_tgid), MOV32_REG(R7, R0), LD_SP(R8, R6),                      \
		LD_PARAM(R1, type, member.sp_above), SUB_REG(R8, R1), END, WHEN(type, member.go),  \
		FRAME_PTR(R1, room), INCLUDE(&rp_probe_go_part), JNE(R0, 0, out), END, END
extern const struct asm_part rp_probe_go_part;

/* The address that a call returns to, at the frame offset `to`; sp: the stack pointer at its entry
 * or its return instruction. */
#ifdef UNWIND_LINK_REG
#define READ_RETURN_ADDRESS(to, ctx, sp)                                                           \
	SCOPE("READ_RETURN_ADDRESS(" #to ", " #ctx ", " #sp ")"),                                  \
		LDX(DW, R1, ctx, UNWIND_LINK_REG), STX(DW, R10, to, R1), END
#else
#define READ_RETURN_ADDRESS(to, ctx, sp) READ_USER(to, 8, sp)
#endif

/* Where the register is that has the goroutine (struct g of Go's runtime, whose second word is the
 * end of its stack): r14 of x86-64, x28 of arm64. Source: cmd/compile/abi-internal.md of Go. */
#if defined(__aarch64__)
#define PROBE_GO_G 224
#elif defined(__riscv)
#define PROBE_GO_G 216 /* x27 */
#else
#define PROBE_GO_G 8
#endif

#endif
