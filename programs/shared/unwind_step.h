/* SPDX-License-Identifier: BSD-2-Clause */
/* What the lines of unwind.c are made of: where things lie, and steps of several instructions. */
#ifndef PROGRAMS_UNWIND_H
#define PROGRAMS_UNWIND_H

#include "stack.h"
#include <rawprof/unwind.h>

/* Offsets in the state, which R6 points to throughout. */
enum {
	PC = offsetof(struct unwind_state, pc),
	SP = offsetof(struct unwind_state, sp),
	FP = offsetof(struct unwind_state, fp),
	FP_AT = offsetof(struct unwind_state, fp_at),
	RBX_AT = offsetof(struct unwind_state, rbx_at),
	MARK = offsetof(struct unwind_state, mark),
	IS_RETURN = offsetof(struct unwind_state, is_return),
	N = offsetof(struct unwind_state, n),
	MAX = offsetof(struct unwind_state, max),
	BASE = offsetof(struct unwind_state, base),
	INNERMOST = offsetof(struct unwind_state, innermost),
	SKIP = offsetof(struct unwind_state, skip),
	PASSING = offsetof(struct unwind_state, passing),
	LEFT_OUT = offsetof(struct unwind_state, left_out),
	DEEP_AT = offsetof(struct unwind_state, deep_at),
	BEGAN = offsetof(struct unwind_state, began),
	LACKED = offsetof(struct unwind_state, lacked),
	WHY = offsetof(struct unwind_state, end),
	FIRST = offsetof(struct unwind_state, first),
	NRANGES = offsetof(struct unwind_state, count),
	KNOWN_PID = offsetof(struct unwind_state, pid),
	KNOWN_CHANGES = offsetof(struct unwind_state, changes),
	GENERATION = offsetof(struct unwind_state, generation),
	RULE = offsetof(struct unwind_state, rule),
	RANGE_START = offsetof(struct unwind_state, range_start),
	SEGMENT = offsetof(struct unwind_state, segment),
	VMA = offsetof(struct unwind_state, vma),
	VMA_CALLS = offsetof(struct unwind_state, vma_calls),
	ROW = offsetof(struct unwind_state, row),
	NROWS = offsetof(struct unwind_state, nrows),
	WORDS = offsetof(struct unwind_state, words),
	REGS = offsetof(struct unwind_state, regs),
	CACHE_AT = offsetof(struct unwind_state, cache_at),
	BLOCK = offsetof(struct unwind_state, block),
	PREFETCH = offsetof(struct unwind_state, prefetch),
	WINDOW_AT = offsetof(struct unwind_state, window_at),
	WINDOW = offsetof(struct unwind_state, window),
	WINDOWLESS = offsetof(struct unwind_state, windowless),
	PYTHON = offsetof(struct unwind_state, python_process),
	V8_PROCESS = offsetof(struct unwind_state, v8_process),
	SCRIPT_PROCESS = offsetof(struct unwind_state, script_process),
	PUBLISHED_PROCESS = offsetof(struct unwind_state, published),
	GENERATED = offsetof(struct unwind_state, generated),
	RETURN_INSTANCE = offsetof(struct unwind_state, return_instance),
	PCS = offsetof(struct stack_scratch, record.frames)
};

_Static_assert(offsetof(struct stack_scratch, walk) == 0, "R6 points to both");

/* In a segment and in a rule. */
enum {
	SEG_END = offsetof(struct unwind_mapping, end),
	SEG_BASE = offsetof(struct unwind_mapping, base),
	SEG_INDEX = offsetof(struct unwind_mapping, index),
	SEG_NPAGES = offsetof(struct unwind_mapping, npages),
	SEG_SHARD = offsetof(struct unwind_mapping, shard),
	SEG_RULES = offsetof(struct unwind_mapping, rules),
	SEG_KIND = offsetof(struct unwind_mapping, kind),
	SEG_GENERATION = offsetof(struct unwind_mapping, generation),
	SEG_BYTES = sizeof(struct unwind_mapping)
};
enum {
	CFA_OFF = offsetof(struct unwind_rule, cfa_off),
	FP_OFF = offsetof(struct unwind_rule, fp_off),
	RA_OFF = offsetof(struct unwind_rule, ra_off),
	ARG = offsetof(struct unwind_rule, arg),
	KIND = offsetof(struct unwind_rule, kind),
	FLAGS = offsetof(struct unwind_rule, flags),
	RULE_BYTES = sizeof(struct unwind_rule)
};
enum {
	CACHED_CHECK = offsetof(struct unwind_cache, check),
	CACHED_RULE = offsetof(struct unwind_cache, rule),
	CACHED_EXTENT = offsetof(struct unwind_cache, from),
	CACHED_BYTES = sizeof(struct unwind_cache),
	CACHED_PAIR_SHIFT = 6
};
_Static_assert(2 * CACHED_BYTES == 1 << CACHED_PAIR_SHIFT, "the program shifts");
enum {
	ROW_BYTES = sizeof(struct unwind_row),
	ROW_LOW = offsetof(struct unwind_row, pc_low),
	ROW_RULE = offsetof(struct unwind_row, rule)
};
enum {
	CHANGES = offsetof(struct unwind_mappings, changes),
	FRESH_WALKS = offsetof(struct unwind_mappings, fresh),
	STARTS = offsetof(struct unwind_mappings, start),
	RANGES = offsetof(struct unwind_mappings, range)
};

/* The stack frames of the functions. */
enum { STEP_TASK = -8, STEP_WHY = -16, STEP_WORD = -24 };		  /* of unwind_step */
enum { STATE_SLOT = -8, TGID = -12, TASK_SLOT = -24, MEMORY_SLOT = -32 }; /* of unwind_user */
enum { FP_TASK = -8 };							  /* of unwind_fp */

/* How a walk begins, programs/shared/unwind_begin.c. */
extern const struct asm_part rp_unwind_begin_part;
/* The search, programs/shared/unwind_find.c. */
extern const struct asm_part rp_unwind_find_part;
/* What it asks the kernel, programs/shared/unwind_vma.c. */
extern const struct asm_part rp_unwind_vma_part;
/* A walk of a process that has no generation has one with this bit, of its own. */
#define UNWIND_FRESH 0x80000000

/* include/linux/sched.h */
#define PF_EXITING 0x4
#define PF_KTHREAD 0x200000

/* Of the kernel's struct pt_regs; elsewhere no rule has UNWIND_RBX_AT_CFA. */
#define UNWIND_RBX_REG 40

/* Loads and sign-extends, on kernels that have no LDXS too. */
#define LD_S32(dst, src, off) LDX(W, dst, src, off), LSH(dst, 32), ARSH(dst, 32)
#define LD_S16(dst, src, off) LDX(H, dst, src, off), LSH(dst, 48), ARSH(dst, 48)

/* clang-format off */
/*
 * The frame that was put down last is the kernel's trampoline, to which a function with a return
 * probe returns: in its place goes the address that stood there before. The kernel has a list of
 * these, the innermost first (kernel/events/uprobes.c). On to the label if it is another one.
 */
#define RETURN_PROBE(other)                                                                        \
	SCOPE("RETURN_PROBE(" #other ")"),                                                         \
		CALL(get_current_task_btf),                                                        \
		MOV_REG(R7, R0),                                                                   \
		LD_FIELD(R1, R7, "task_struct", "mm.uprobes_state.xol_area"),                      \
		JEQ(R1, 0, other),                                                                 \
		READ_FIELD(STEP_WORD, R1, "xol_area", "vaddr"),                                    \
		LDX(DW, R1, R10, STEP_WORD),                                                       \
		LDX(DW, R2, R6, PC),                                                               \
		JNE_REG(R1, R2, other),                                                            \
		LDX(DW, R3, R6, RETURN_INSTANCE),                                                  \
		JNE(R3, 0, .next),                                                                 \
		LD_FIELD(R3, R7, "task_struct", "utask.return_instances"),                         \
		JA(.found),                                                                        \
		LABEL(.next),                                                                      \
		READ_FIELD(STEP_WORD, R3, "return_instance", "next"),                              \
		LDX(DW, R3, R10, STEP_WORD),                                                       \
		LABEL(.found),                                                                     \
		JEQ(R3, 0, other),                                                                 \
		STX(DW, R6, RETURN_INSTANCE, R3),                                                  \
		LDX(DW, R3, R6, RETURN_INSTANCE),                                                  \
		READ_FIELD(STEP_WORD, R3, "return_instance", "orig_ret_vaddr"),                    \
		JNE(R0, 0, other),                                                                 \
		LDX(DW, R1, R10, STEP_WORD),                                                       \
		JEQ(R1, 0, other),                                                                 \
		STX(DW, R6, PC, R1),                                                               \
		LDX(W, R1, R6, N),                                                                 \
		SUB(R1, 1),                                                                        \
		STX(W, R6, N, R1),                                                                 \
	END

/*
 * One halving: of n entries from at on, the last that is not above the key lies in the upper half
 * if the first of that half is not above it. load fetches that one into R0 from index R0; (key -
 * R0) >> 63 is -1 if it is above. When one entry is left it goes on to the label.
 */
#define HALVE(at, n, key, label, ...)                                                              \
	JEQ(n, 1, label),                                                                          \
	MOV_REG(R5, n),                                                                            \
	RSH(R5, 1),                                                                                \
	MOV_REG(R0, at),                                                                           \
	ADD_REG(R0, R5),                                                                           \
	__VA_ARGS__,                                                                               \
	MOV_REG(R1, key),                                                                          \
	SUB_REG(R1, R0),                                                                           \
	ARSH(R1, 63),                                                                              \
	XOR(R1, -1),                                                                               \
	AND_REG(R1, R5),                                                                           \
	ADD_REG(at, R1),                                                                           \
	SUB_REG(n, R5)

#define HALVE_SEGMENTS                                                                             \
	HALVE(R2, R3, R7, segment_found, AND(R0, UNWIND_MAPPINGS - 1), LSH(R0, 3),                 \
	      ADD_REG(R0, R4), LDX(DW, R0, R0, 0))
/* dst = the segment of that number, less than UNWIND_MAPPINGS, which is destroyed. */
#define LD_SEGMENT(dst, number)                                                                    \
	MUL(number, SEG_BYTES),                                                                    \
	LD_MAP_VALUE(dst, unwind_mappings, RANGES),                                                \
	ADD_REG(dst, number)
#define HALVE_ROWS                                                                                 \
	HALVE(R2, R3, R7, row_found, AND(R0, UNWIND_PART_ROWS - 1), LSH(R0, 2), ADD_REG(R0, R4),   \
	      LDX(H, R0, R0, 0))

/*
 * On to the label with the rule in the state, if what R9 points to is for the address R7, in the
 * block R3 of the mappings R8. R5 = GOLDEN_RATIO_64; R0, R1, R2 and R4 are lost. Other CPUs write
 * while we read, but what is half of one rule and half of another fits no address.
 */
#define RULE_OF_FOUND(to)                                                                          \
	SCOPE("RULE_OF_FOUND(" #to ")"),                                                           \
		LDX(DW, R2, R9, CACHED_RULE),                                                      \
		LDX(DW, R4, R9, CACHED_RULE + 8),                                                  \
		LDX(DW, R0, R9, CACHED_EXTENT),                                                    \
		STX(DW, R6, RULE, R2),                                                             \
		STX(DW, R6, RULE + 8, R4),                                                         \
		ADD_REG(R2, R4),                                                                   \
		MUL_REG(R2, R5),                                                                   \
		XOR_REG(R2, R3),                                                                   \
		XOR_REG(R2, R0),                                                                   \
		LDX(DW, R1, R9, CACHED_CHECK),                                                     \
		JNE_REG(R1, R2, .other),                                                           \
		RSH(R4, 32),                                                                       \
		JNE_REG(R4, R8, .other),                                                           \
		MOV_REG(R1, R7),                                                                   \
		AND(R1, UNWIND_BLOCK - 1),                                                         \
		MOV_REG(R2, R0),                                                                   \
		AND(R2, 0xffff),                                                                   \
		JLT_REG(R1, R2, .other),                                                           \
		RSH(R0, 16),                                                                       \
		JLT_REG(R1, R0, to),                                                               \
		LABEL(.other),                                                                     \
	END
/* Has the processor fetch the rules of frame n, of those at R4; R5 = unwind_cache. */
#define FETCH_RULE(n)                                                                              \
	LDX(DW, R1, R4, PREFETCH + 8 * (n)),                                                       \
	AND(R1, (UNWIND_CACHED / 2 - 1) << CACHED_PAIR_SHIFT),                                     \
	ADD_REG(R1, R5),                                                                           \
	LDX(DW, R1, R1, 0)
/* Makes the younger of the pair that R9 points to the older. */
#define MOVE_WORD(at) LDX(DW, R1, R9, at), STX(DW, R9, CACHED_BYTES + (at), R1)
#define MAKE_OLDER                                                                                 \
	MOVE_WORD(0),                                                                              \
	MOVE_WORD(8),                                                                              \
	MOVE_WORD(16),                                                                             \
	MOVE_WORD(24)

/* What is at the one address in unwind_mappings into the state. */
#define COPY_SEGMENT(from)                                                                         \
	COPY_SEGMENT_WORD(from, 0),                                                                \
	COPY_SEGMENT_WORD(from, 8),                                                                \
	COPY_SEGMENT_WORD(from, 16),                                                               \
	COPY_SEGMENT_WORD(from, 24),                                                               \
	COPY_SEGMENT_WORD(from, 32)
#define COPY_SEGMENT_WORD(from, at) LDX(DW, R1, from, at), STX(DW, R6, SEGMENT + (at), R1)
_Static_assert(sizeof(struct unwind_mapping) == 5 * 8, "COPY_SEGMENT() copies all of it");

/* What unwind_procs, at R0, says of the process's Python. */
#define COPY_PYTHON(at)                                                                            \
	LDX(DW, R3, R0, (int)offsetof(struct unwind_proc, python) + (at)),                         \
	STX(DW, R6, PYTHON + (at), R3)
_Static_assert(sizeof(struct python_process) == 5 * 8, "COPY_PYTHON() copies all of it");
#define COPY_GENERATED                                                                             \
	LDX(DW, R3, R0, (int)offsetof(struct unwind_proc, generated)),                             \
	STX(DW, R6, GENERATED, R3),                                                                \
	LDX(DW, R3, R0, (int)offsetof(struct unwind_proc, generated) + 8),                         \
	STX(DW, R6, GENERATED + 8, R3)
/* A process that is not known has no interpreter. */
#define FORGET_LANGUAGES                                                                           \
	ST(DW, R6, GENERATED, 0),                                                                  \
	WHEN(struct program_config, managed_bytes),                                                \
		ST(DW, R6, PYTHON, 0),                                                             \
		ST(DW, R6, PYTHON + 8, 0),                                                         \
		ST(DW, R6, PYTHON + 16, 0),                                                        \
		ST(DW, R6, PYTHON + 24, 0),                                                        \
		ST(DW, R6, PYTHON + 32, 0),                                                        \
		ST(DW, R6, V8_PROCESS, 0),                                                         \
	END,                                                                                       \
	WHEN(struct program_config, jvm),                                                          \
		ST(W, R6, offsetof(struct unwind_state, jvm_number), 0),                           \
	END,                                                                                       \
	WHEN(struct program_config, scripts),                                                      \
		ST(DW, R6, SCRIPT_PROCESS, 0), /* no language */                                   \
	END,                                                                                       \
	WHEN(struct program_config, published),                                                    \
		ST(DW, R6, PUBLISHED_PROCESS, 0),                                                  \
	END
#define COPY_V8                                                                                    \
	LDX(DW, R3, R0, (int)offsetof(struct unwind_proc, v8)), STX(DW, R6, V8_PROCESS, R3)
_Static_assert(sizeof(struct v8_process) == 8, "COPY_V8 copies all of it");
#define COPY_SCRIPT(at)                                                                            \
	LDX(DW, R3, R0, (int)offsetof(struct unwind_proc, script) + (at)),                         \
	STX(DW, R6, SCRIPT_PROCESS + (at), R3)
_Static_assert(sizeof(struct script_process) == 7 * 8, "COPY_SCRIPT() copies all of it");
#define COPY_PUBLISHED(at)                                                                         \
	LDX(DW, R3, R0, (int)offsetof(struct unwind_proc, published) + (at)),                      \
	STX(DW, R6, PUBLISHED_PROCESS + (at), R3)
_Static_assert(sizeof(struct published_process) == 2 * 8, "COPY_PUBLISHED() copies all of it");

/* Reads user memory at the address in R3 into the state; on failure the walk is over, or else. */
#define READ_STACK(to, bytes) READ_STACK_OR(to, bytes, unreadable)
#define READ_STACK_OR(to, bytes, failed)                                                           \
	MOV_REG(R1, R6),                                                                           \
	ADD(R1, to),                                                                               \
	MOV(R2, bytes),                                                                            \
	READ_MEMORY(STEP_TASK),                                                                    \
	JNE(R0, 0, failed)
/* Of the task that is walked: the current one, or the one that is kept in this slot. */
#define READ_MEMORY(slot)                                                                          \
	UNLESS(struct program_config, of_task),                                                    \
		CALL(probe_read_user),                                                             \
	END,                                                                                       \
	WHEN(struct program_config, of_task),                                                      \
		LDX(DW, R4, R10, slot),                                                            \
		MOV(R5, 0),                                                                        \
		CALL(copy_from_user_task),                                                         \
	END
/*
 * On to the one label, or behind this, if state->pc follows a call or if a signal handler returns
 * there; else to the other.
 */
#define IS_BEHIND_CALL(yes, no)                                                                    \
	LDX(DW, R3, R6, PC),                                                                       \
	WITHOUT_SIGNATURE(R3)                                                                      \
	SUB(R3, 8),                                                                                \
	MOV_REG(R1, R6),                                                                           \
	ADD(R1, WORDS),                                                                            \
	MOV(R2, 16),                                                                               \
	READ_MEMORY(STEP_TASK),                                                                    \
	JNE(R0, 0, no),                                                                            \
	LDX(DW, R1, R6, WORDS + 8),                                                                \
	LD_IMM64(R2, MACHINE_SIGRETURN),                                                           \
	JEQ_REG(R1, R2, yes),                                                                      \
	IS_CALL(yes, no)
#if defined(__aarch64__)
#define WITHOUT_SIGNATURE(reg) LD_IMM64(R1, UNWIND_RA_MASK), AND_REG(reg, R1),
/* bl: 100101 in the upper bits; blr: 1101011, z, 001, where z is 1 if it authenticates. */
#define IS_CALL(yes, no)                                                                           \
	LDX(W, R1, R6, WORDS + 4),                                                                 \
	MOV_REG(R2, R1),                                                                           \
	RSH(R2, 26),                                                                               \
	JEQ(R2, 0x25, yes),                                                                        \
	RSH(R1, 21),                                                                               \
	AND(R1, 0x7f7),                                                                            \
	JNE(R1, 0x6b1, no)
#else
#define WITHOUT_SIGNATURE(reg)
/*
 * Of a call by a register or memory the opcode is ff, and bits 3 to 5 of the byte behind are 2;
 * a - 1 is negative if the number a, of 16 bits, is 0.
 */
#define IS_CALL(yes, no)                                                                           \
	LDX(DW, R2, R6, WORDS),                                                                    \
	MOV_REG(R0, R2),                                                                           \
	RSH(R0, 8 * 3),                                                                            \
	AND(R0, 0xff),                                                                             \
	XOR(R0, 0xe8),                                                                             \
	SUB(R0, 1),                                                                                \
	IS_INDIRECT_CALL(1),                                                                       \
	IS_INDIRECT_CALL(2),                                                                       \
	IS_INDIRECT_CALL(4),                                                                       \
	IS_INDIRECT_CALL(5),                                                                       \
	IS_INDIRECT_CALL(6),                                                                       \
	JSGE(R0, 0, no)
#define IS_INDIRECT_CALL(byte)                                                                     \
	MOV_REG(R1, R2),                                                                           \
	RSH(R1, 8 * (byte)),                                                                       \
	AND(R1, 0x38ff),                                                                           \
	XOR(R1, 0x10ff),                                                                           \
	SUB(R1, 1),                                                                                \
	OR_REG(R0, R1)
#endif
/* R1 = the word at the user address in R3, if it is in the window; else to the label. */
#define READ_WINDOW(elsewhere)                                                                     \
	MOV_REG(R1, R3),                                                                           \
	LDX(DW, R2, R6, WINDOW_AT),                                                                \
	SUB_REG(R1, R2),                                                                           \
	JGT(R1, UNWIND_WINDOW - 8, elsewhere),                                                     \
	ADD_REG(R1, R6),                                                                           \
	LDX(DW, R1, R1, WINDOW)
/* What is kept with the last frame instead of its stack pointer: R1. */
#define KEEP_POINTER                                                                               \
	WHEN(struct program_config, managed_bytes),                                                \
		SCOPE("KEEP_POINTER"),                                                             \
			WHEN(struct program_config, outermost),                                    \
				LDX(W, R2, R6, PASSING),                                           \
				JNE(R2, 0, .kept),                                                 \
			END,                                                                       \
			LDX(W, R2, R6, N),                                                         \
			LSH(R2, 3),                                                                \
			JGT_PARAM(R2, struct program_config, both_bytes, .kept), /* never */       \
			ADD_REG(R2, R6),                                                           \
			LD_PARAM(R3, struct program_config, all_bytes),                            \
			ADD_REG(R2, R3),                                                           \
			STX(DW, R2, PCS + STACK_SLACK - 8, R1),                                    \
			LABEL(.kept),                                                              \
		END,                                                                               \
	END
/* Sees to it that state->fp is known. */
#define KNOW_FP                                                                                    \
	MOV_REG(R1, R6),                                                                           \
	WHEN(struct program_config, of_task),                                                      \
		LDX(DW, R2, R10, STEP_TASK),                                                       \
	END,                                                                                       \
	CALL_FUNC(unwind_fp),                                                                      \
	JNE(R0, 0, unreadable)

/* From the context, in R4, which no helper reads. */
#define COPY_REG(at) LDX(DW, R1, R4, at), STX(DW, R6, REGS + (at), R1)
#define COPY_8_REGS(at)                                                                            \
	COPY_REG(at),                                                                              \
	COPY_REG((at) + 8),                                                                        \
	COPY_REG((at) + 16),                                                                       \
	COPY_REG((at) + 24),                                                                       \
	COPY_REG((at) + 32),                                                                       \
	COPY_REG((at) + 40),                                                                       \
	COPY_REG((at) + 48),                                                                       \
	COPY_REG((at) + 56)
#if UNWIND_REGS_BYTES == 168
#define COPY_REST_OF_REGS                                                                          \
	COPY_REG(128),                                                                             \
	COPY_REG(136),                                                                             \
	COPY_REG(144),                                                                             \
	COPY_REG(152),                                                                             \
	COPY_REG(160)
#else
#define COPY_REST_OF_REGS                                                                          \
	COPY_8_REGS(128),                                                                          \
	COPY_8_REGS(192),                                                                          \
	COPY_REG(256),                                                                             \
	COPY_REG(UNWIND_REGS_BYTES - 8)
#endif

/* Of a sample that hit the program itself they are the user's; of another on to the label. */
#define READ_CONTEXT(entered)                                                                      \
	LDX(DW, R1, R4, UNWIND_MODE_REG),                                                          \
	AND(R1, UNWIND_MODE_MASK),                                                                 \
	JNE(R1, UNWIND_MODE_USER64, entered),                                                      \
	COPY_8_REGS(0),                                                                            \
	COPY_8_REGS(64),                                                                           \
	COPY_REST_OF_REGS

/* On to the label unless this is the innermost frame, whose registers are all known. */
#define ONLY_INNERMOST(elsewhere) ONLY_FRAME(1, elsewhere)
/* The same for frame n, the innermost one being the first. */
#define ONLY_FRAME(n, elsewhere)                                                                   \
	LDX(W, R2, R6, N),                                                                         \
	LDX(W, R3, R6, BEGAN),                                                                     \
	SUB_REG(R2, R3),                                                                           \
	JNE(R2, n, elsewhere)
/*
 * On to the label unless the frame has called the innermost one, and its rule was computed: then
 * the register that it names is left alone by what was called.
 */
#define BY_CALLEE(elsewhere)                                                                       \
	ONLY_FRAME(2, elsewhere),                                                                  \
	LDX(DW, R2, R6, IS_RETURN),                                                                \
	JEQ(R2, 0, elsewhere),                                                                     \
	LDX(B, R2, R9, FLAGS),                                                                     \
	AND(R2, UNWIND_COMPUTED),                                                                  \
	JEQ(R2, 0, elsewhere)
/* clang-format on */

/* Whether the first byte of code at the innermost frame can be read: R3 = where it was. */
#define PC_READABLE(yes, no)                                                                       \
	MOV_REG(R2, R6), ADD(R2, REGS), LD_IP(R3, R2), MOV_REG(R1, R6), ADD(R1, WORDS),            \
		MOV(R2, 1), CALL(probe_read_user), JEQ(R0, 0, yes), JA(no)

#define STOP_WALK(why) ST(W, R6, WHY, why), MOV(R0, 1), EXIT()

#endif
