/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * jvm_step: from a frame of Java to its caller.
 *
 *	pc -> heap -> segment -> block, a CodeBlob -> size of the frame
 *
 * Compiled code uses the frame pointer as any other register, but saves it below the return
 * address; so the interpreter's frames, which need theirs, are found behind it. Interpreted frames
 * have the method and the bytecode in them. Only the innermost frame may be incomplete: that is
 * seen by the instructions around the pc; or it is larger for a moment, as registers are pushed in
 * the middle of a method too: the return address is searched from where it should be upwards, and
 * is one if it lies in code of Java behind a call.
 *
 * What names the frame is written down for user space, behind the room for native frames; stack_end
 * moves it.
 */
#include "jvm_step.h"

ASM_FRAME(step_frame, (uint64_t, task, JVM_STEP_TASK));
_Static_assert((int)JVM_STEP_TASK == (int)JVM_TASK, "macros use it");

enum {
	FREE = 255,	   /* in the map of segments */
	MOST_HOPS = 10,	   /* over 254 segments of 128 bytes each: 320 KB */
	BLOB_MASK = 0x1f8, /* of an offset in bytes[] */
	BLOB_INT_MASK = 0x1fc,
	BLOB_SHORT_MASK = 0x1fe,
	MOST_FRAME_WORDS = 1 << 16,
	MOST_PUSHED = 16,  /* words; */
	IN_PART = 17,	   /*   of a frame that is not whole, none */
	LOST_BYTES = 4096, /* below a frame pointer */
	/* Of an interpreter's frame, from the frame pointer on (frame_x86.hpp). */
	FRAME_BELOW = 72,
	FRAME_BYTES = FRAME_BELOW + 16,
	FRAME_BCP = FRAME_BELOW - 64,
	FRAME_METHOD = FRAME_BELOW - 24,
	FRAME_SENDER_SP = FRAME_BELOW - 8,
	FRAME_FP = FRAME_BELOW,
	FRAME_RETURN = FRAME_BELOW + 8,
	REG_BCP = 16,		 /* r13 in pt_regs; */
	REG_SENDER_SP = REG_BCP, /*   before it begins */
	MOST_MOVED = 255 * 8,	 /* as many arguments as there may be */
	/* Instructions. */
	PUSH_FP = 0x55,
	POP_FP = 0x5d,
	RET = 0xc3,
	POLL = 0xa73b49, /* cmp disp32(%r15), %rsp: is there a safepoint? */
	POLL_BYTES = 7,
	JA_FAR = 0x870f,     /* ja behind it */
	SUB_SP_8 = 0xec8348, /* sub $imm8, %rsp */
	SUB_SP_8_BYTES = 4,
	SUB_SP_32 = 0xec8148, /* sub $imm32, %rsp */
	SUB_SP_32_BYTES = 7,
	SAVE_FP_8 = 0x6c8948, /* mov %rbp, disp8(%rsp) */
	SAVE_FP_32 = 0xac8948,
};
/* "nmethod", "native nmethod": how the names of compiled methods begin. */
#define NAME_NMETHOD 0x00646f6874656d6eull
#define NAME_NATIVE 0x6e2065766974616eull

#define PLACE_WORD (MANAGED_WORD | MANAGED_PLACE | (uint64_t)MANAGED_JVM << MANAGED_LANGUAGE_SHIFT)

/* clang-format off */
/* To the label if R7 is in that heap: R2 = where in it, R8 = where it begins, R5 = its segments. */
#define TRY_HEAP(n, found)                                                                         \
	LDX(DW, R8, R9, JVM_OF(heap[n].low)),                                                      \
	LDX(DW, R5, R9, JVM_OF(heap[n].segments)),                                                 \
	MOV_REG(R2, R7),                                                                           \
	SUB_REG(R2, R8),                                                                           \
	LDX(DW, R3, R9, JVM_OF(heap[n].bytes)),                                                    \
	JLT_REG(R2, R3, found)

/* dst = a member of the CodeBlob that was copied. */
#define LD_BLOB(size, dst, member, mask)                                                           \
	LDX(H, dst, R9, JVM_OF(member)),                                                           \
	AND(dst, mask),                                                                            \
	ADD_REG(dst, R6),                                                                          \
	LDX(size, dst, dst, JVM(bytes))

#define LD_BLOB_S32(dst, member)                                                                   \
	LD_BLOB(W, dst, member, BLOB_INT_MASK),                                                    \
	LSH(dst, 32),                                                                              \
	ARSH(dst, 32)
/* Some have two bytes, some four: it is less than 32,768, or -1. */
#define LD_BLOB_S16(dst, member)                                                                   \
	LD_BLOB(H, dst, member, BLOB_SHORT_MASK),                                                  \
	LSH(dst, 48),                                                                              \
	ARSH(dst, 48)

/* The same of an address, which may be an offset from where the CodeBlob begins; t is destroyed. */
#define LD_BLOB_ADDRESS(dst, member, t)                                                            \
	SCOPE("LD_BLOB_ADDRESS(" #dst ", " #member ")"),                                           \
		LDX(H, t, R9, JVM_OF(by_offset)),                                                  \
		JNE(t, 0, .by_offset),                                                             \
		LD_BLOB(DW, dst, member, BLOB_MASK),                                               \
		JA(.known),                                                                        \
		LABEL(.by_offset),                                                                 \
		LD_BLOB(W, dst, member, BLOB_INT_MASK),                                            \
		LDX(DW, t, R6, JVM(blob)),                                                         \
		ADD_REG(dst, t),                                                                   \
		LABEL(.known),                                                                     \
	END

/* On to the label if these three bytes of code are at that offset from the pc. */
#define IF_BYTES(at, bytes, to)                                                                    \
	LDX(W, R1, R6, JVM(code[1]) + (at)),                                                       \
	AND(R1, 0xffffff),                                                                         \
	JEQ(R1, bytes, to)

static const struct asm_insn jvm_lines[] = {
FUNC(jvm_step),
	MOV_REG(R6, R1),
	WHEN(struct program_config, of_task),
		STX(DW, R10, JVM_TASK, R2),
	END,
	LD_PROCESS(R9, R1),
	LDX(DW, R7, R6, PC),
	LDX(DW, R1, R6, IS_RETURN),
	SUB_REG(R7, R1),
	MOV_REG(R2, R7),
	IF_INTERPRETER(R2, interpreted),
	TRY_HEAP(0, in_heap),
	TRY_HEAP(1, in_heap),
	TRY_HEAP(2, in_heap),
LABEL(elsewhere),
	MOV(R0, JVM_ELSEWHERE),
	EXIT(),

	/* Its segment, and from there back to the first of the block. */
LABEL(in_heap),
	STX(DW, R6, JVM(low), R8),
	STX(DW, R6, JVM(segments), R5),
	LDX(H, R1, R9, JVM_OF(segment_shift)),
	AND(R1, 31),
	RSH_REG(R2, R1),
	STX(DW, R6, JVM(segment), R2),
	MOV(R8, 0),
LABEL(next_segment),
	LDX(DW, R3, R6, JVM(segments)),
	LDX(DW, R2, R6, JVM(segment)),
	ADD_REG(R3, R2),
	TRY_TO_READ(JVM(word), 1),
	LDX(B, R1, R6, JVM(word)),
	SUB(R1, 1),
	JGE(R1, FREE - 1, last_segment), /* 0 too */
	LDX(DW, R2, R6, JVM(segment)),
	SUB_REG(R2, R1),
	SUB(R2, 1),
	STX(DW, R6, JVM(segment), R2),
	ADD(R8, 1),
	JLT(R8, MOST_HOPS, next_segment),
LABEL(last_segment),
	LDX(B, R1, R6, JVM(word)),
	JNE(R1, 0, elsewhere),

	LDX(DW, R3, R6, JVM(segment)),
	LDX(H, R1, R9, JVM_OF(segment_shift)),
	AND(R1, 31),
	LSH_REG(R3, R1),
	LDX(DW, R1, R6, JVM(low)),
	ADD_REG(R3, R1),
	LDX(H, R1, R9, JVM_OF(block_bytes)),
	ADD_REG(R3, R1),
	STX(DW, R6, JVM(blob), R3),
	READ_TO(JVM(bytes), JVM_BLOB_BYTES, small_block),
	JA(block_known),
LABEL(small_block),
	LDX(DW, R3, R6, JVM(blob)),
	READ_TO(JVM(bytes), JVM_BLOB_LEAST, elsewhere),
LABEL(block_known),

	/* What names it: R7 = its pc. */
	LDX(DW, R7, R6, PC),
	LD_BLOB(DW, R3, blob_name, BLOB_MASK),
	TRY_TO_READ(JVM(word), 8),
	LDX(DW, R2, R6, JVM(word)),
	MOV(R8, 0),
	LD_IMM64(R1, NAME_NMETHOD),
	JEQ_REG(R2, R1, compiled),
	LD_IMM64(R1, NAME_NATIVE),
	JEQ_REG(R2, R1, compiled),
	LD_IMM64(R5, (uint64_t)JVM_STUB << JVM_KIND_SHIFT),
	JA(kind_known),
LABEL(compiled),
	/* Code that is not valid any more: where it was to return to is kept in the frame. */
	LD_BLOB_ADDRESS(R1, method_deopt, R2),
	JNE_REG(R1, R7, not_deoptimized),
	LD_BLOB(W, R3, method_orig_pc, BLOB_INT_MASK),
	LDX(DW, R1, R6, SP),
	ADD_REG(R3, R1),
	TRY_TO_READ(JVM(word), 8),
	LDX(DW, R7, R6, JVM(word)),
LABEL(not_deoptimized),
	LD_BLOB(W, R8, method_id, BLOB_INT_MASK),
	AND(R8, JVM_ID_MASK),
	LSH(R8, JVM_ID_SHIFT),
	LDX(DW, R1, R6, IS_RETURN),
	LSH(R1, 54),
	OR_REG(R8, R1),
	LD_IMM64(R5, (uint64_t)JVM_COMPILED << JVM_KIND_SHIFT),
LABEL(kind_known),
	LDX(DW, R2, R6, JVM(blob)),
	SUB_REG(R7, R2),
	AND(R7, JVM_OFFSET_MASK),
	OR_REG(R7, R8),
	OR_REG(R2, R5),
	MOV_REG(R4, R8), /* tells it from others at its address */
	MOV_REG(R3, R7),
	MOV_REG(R1, R6),
	CALL_FUNC(jvm_frame),

	/* How large is its frame? Before its end, or behind its beginning, only a part is there. */
	LD_BLOB_S32(R8, blob_frame_words),
	JSGT(R8, MOST_FRAME_WORDS, by_fp),
	LDX(DW, R1, R6, IS_RETURN),
	JNE(R1, 0, complete),
	LDX(DW, R3, R6, PC),
	SUB(R3, 8),
	TRY_TO_READ(JVM(code), 16),
	LDX(DW, R3, R6, SP),
	TRY_TO_READ(JVM(top), 16),
	LDX(B, R1, R6, JVM(code[1])),
	JEQ(R1, POP_FP, fp_saved),
	JEQ(R1, RET, no_frame),
	LDX(B, R1, R6, JVM(code[1]) - 1),
	JNE(R1, PUSH_FP, not_pushed), /* it may be the last byte of another instruction */
	LDX(DW, R1, R6, JVM(top[1])),
	IF_CODE(fp_saved),
LABEL(not_pushed),
	JSLE(R8, 0, look_at_top),
	IF_BYTES(0, POLL, no_frame),
	LDX(H, R1, R6, JVM(code[1])),
	JNE(R1, JA_FAR, not_polled),
	IF_BYTES(-POLL_BYTES, POLL, no_frame),
LABEL(not_polled),
	LDX(DW, R1, R6, PC),
	LD_BLOB_ADDRESS(R2, blob_code, R3),
	SUB_REG(R1, R2),
	LD_BLOB_S16(R2, blob_frame_complete),
	JSLT(R2, 0, look_at_top), /* a stub does not say */
	JGE_REG(R1, R2, complete),
	IF_BYTES(-SUB_SP_8_BYTES, SUB_SP_8, made),
	IF_BYTES(-SUB_SP_32_BYTES, SUB_SP_32, made),
LABEL(look_at_top),
	LDX(DW, R1, R6, JVM(top[0])),
	IF_CODE(no_frame),
LABEL(no_part),
	JSLE(R8, 0, stub),
	LD_BLOB_S16(R2, blob_frame_complete),
	JSGE(R2, 0, complete),
	/* A stub has a frame pointer until it calls. */
	GO_BY_FP(complete, MOV_REG(R2, R8), LSH(R2, 3)),

	/* R7 = where the caller's stack begins; below it is the return address. */
LABEL(complete),
	JSLE(R8, 0, stub),
	LSH(R8, 3),
	LDX(DW, R7, R6, SP),
	ADD_REG(R7, R8),
	MOV(R8, 0),
	JA(fp_below),
LABEL(fp_saved),
	LDX(DW, R7, R6, SP),
	ADD(R7, 16),
	MOV(R8, IN_PART),
LABEL(fp_below),
	MOV_REG(R3, R7),
	SUB(R3, 16),
	JA(return_address),
LABEL(made), /* the frame pointer is saved behind that, or was before */
	IF_BYTES(0, SAVE_FP_8, unsaved),
	IF_BYTES(0, SAVE_FP_32, unsaved),
	JA(complete),
LABEL(unsaved),
	LDX(DW, R7, R6, SP),
	JSLE(R8, 0, stub),
	LSH(R8, 3),
	ADD_REG(R7, R8),
	JA(fp_kept),
LABEL(no_frame),
	LDX(DW, R7, R6, SP),
	ADD(R7, 8),
LABEL(fp_kept),
	LDX(DW, R3, R6, FP_AT),
	MOV(R8, IN_PART),
LABEL(return_address),
	STX(DW, R6, JVM(fp_at), R3),
	ST(DW, R6, JVM(invalid), 0),

	/*
	 * In the middle of a method registers may be pushed, for some instructions or around a call
	 * that no other code sees: then the return address is R8 words higher.
	 */
LABEL(try_word),
	MOV_REG(R3, R7),
	SUB(R3, 8),
	READ_WINDOW(beyond),
	JA(word_known),
LABEL(beyond),
	LDX(W, R1, R6, WINDOWLESS),
	JNE(R1, 0, one_word),
	SUB(R3, UNWIND_WINDOW_BELOW),
	STX(DW, R6, WINDOW_AT, R3),
	TRY_TO_READ(WINDOW, UNWIND_WINDOW),
	LDX(DW, R1, R6, WINDOW + UNWIND_WINDOW_BELOW),
	JEQ(R0, 0, word_known),
	ST(DW, R6, WINDOW_AT, UNWIND_NO_WINDOW),
	ST(W, R6, WINDOWLESS, 1),
LABEL(one_word),
	MOV_REG(R3, R7),
	SUB(R3, 8),
	READ_TO(JVM(word), 8, lost),
	LDX(DW, R1, R6, JVM(word)),
LABEL(word_known),
	STX(DW, R6, PC, R1),
	MOV_REG(R2, R1),
	IF_CODE(in_code),
	JA(no_return_address),
LABEL(in_code),
	JNE(R8, 0, not_certain),
	LDX(DW, R1, R6, IS_RETURN),
	JNE(R1, 0, return_is_right), /* it has called */
LABEL(not_certain),
	IF_INTERPRETER(R2, return_is_right),
	IF_BEHIND_CALL(return_is_right, not_called),
LABEL(not_called),
	JNE(R8, 0, no_return_address),
	LDX(DW, R1, R6, PC),
	STX(DW, R6, JVM(invalid), R1),
LABEL(no_return_address),
	JGE(R8, MOST_PUSHED, none_found),
	ADD(R8, 1),
	ADD(R7, 8),
	LDX(DW, R1, R6, JVM(fp_at)),
	ADD(R1, 8),
	STX(DW, R6, JVM(fp_at), R1),
	JA(try_word),
LABEL(none_found),
	JNE(R8, IN_PART, all_tried),
	LD_BLOB_S32(R8, blob_frame_words),
	JA(no_part),
LABEL(all_tried), /* the caller's code is not valid any more: it returns to where that is seen */
	LDX(DW, R1, R6, JVM(invalid)),
	JEQ(R1, 0, lost),
	STX(DW, R6, PC, R1),
	SUB(R7, 8 * MOST_PUSHED),
	LDX(DW, R1, R6, JVM(fp_at)),
	SUB(R1, 8 * MOST_PUSHED),
	STX(DW, R6, JVM(fp_at), R1),
LABEL(return_is_right),
	LDX(DW, R1, R6, JVM(fp_at)),
	STX(DW, R6, FP_AT, R1),
	JA(arrived),

LABEL(stub),
	MOV(R0, JVM_IN_STUB),
	EXIT(),

LABEL(interpreted),
	MOV_REG(R1, R6),
	PASS_TASK(R2),
	CALL_FUNC(unwind_fp),
	JNE(R0, 0, being_entered),
	LDX(DW, R3, R6, FP),
	LDX(DW, R1, R6, SP),
	JLT_REG(R3, R1, being_entered),
	SUB(R3, FRAME_BELOW),
	READ_TO(JVM(bytes), FRAME_BYTES, being_entered),
	LDX(DW, R3, R6, JVM(bytes) + FRAME_METHOD),
	LDX(H, R1, R9, JVM_OF(method_const)),
	ADD_REG(R3, R1),
	READ_TO(JVM(word), 8, being_entered),

	/* R7 = where in its bytecode; of the innermost frame a register says it. */
	LDX(DW, R4, R6, JVM(word)),
	LDX(H, R5, R9, JVM_OF(const_bytes)),
	ADD_REG(R5, R4),
	LDX(DW, R1, R6, IS_RETURN),
	JNE(R1, 0, bcp_saved),
	ONLY_INNERMOST(bcp_saved),
	LDX(DW, R7, R6, REGS + REG_BCP),
	SUB_REG(R7, R5),
	JLT(R7, JVM_NO_BCI, bci_known),
LABEL(bcp_saved),
	LDX(DW, R7, R6, JVM(bytes) + FRAME_BCP),
	SUB_REG(R7, R5),
	JLT(R7, JVM_NO_BCI, bci_known),
	MOV(R7, JVM_NO_BCI),
	LDX(DW, R1, R6, IS_RETURN),
	JNE(R1, 0, bci_known),
	LDX(DW, R1, R6, JVM(bytes) + FRAME_BCP), /* of a native method it is 0 */
	JNE(R1, 0, being_entered),
LABEL(bci_known),
	RSH(R4, 3),
	LD_IMM64(R1, JVM_CONST_MASK),
	AND_REG(R4, R1),
	LSH(R4, JVM_CONST_SHIFT),
	OR_REG(R7, R4),
	MOV_REG(R3, R7),
	LDX(DW, R2, R6, JVM(bytes) + FRAME_METHOD),
	MOV_REG(R1, R6),
	CALL_FUNC(jvm_frame),

	LDX(DW, R1, R6, JVM(bytes) + FRAME_RETURN),
	STX(DW, R6, PC, R1),
	LDX(DW, R3, R6, FP),
	LDX(DW, R1, R6, JVM(bytes) + FRAME_FP),
	STX(DW, R6, FP, R1),
	/* Not where the frame ends: an adapter has moved the stack pointer of a compiled caller. */
	LDX(DW, R7, R6, JVM(bytes) + FRAME_SENDER_SP),
	JGT_REG(R7, R3, arrived),
	MOV_REG(R7, R3),
	ADD(R7, 16),
LABEL(arrived),
	STX(DW, R6, SP, R7),
	ST(DW, R6, RBX_AT, 0),
	ST(DW, R6, IS_RETURN, 1),
	ST(DW, R6, MARK, 0),
	MOV(R0, JVM_CALLER),
	EXIT(),

	/* Of the interpreter too the innermost frame may not be there yet, or any more. */
LABEL(being_entered),
	LDX(DW, R2, R9, JVM_OF(interpreter)),
	LDX(DW, R3, R6, PC),
	SUB_REG(R3, R2),
	AND(R3, JVM_OFFSET_MASK),
	LD_IMM64(R1, (uint64_t)JVM_STUB << JVM_KIND_SHIFT),
	OR_REG(R2, R1),
	MOV(R4, 0),
	MOV_REG(R1, R6),
	CALL_FUNC(jvm_frame),
	LDX(DW, R1, R6, IS_RETURN),
	JNE(R1, 0, by_fp),
	LDX(DW, R3, R6, SP),
	TRY_TO_READ(JVM(top), 8),
	LDX(DW, R1, R6, JVM(top[0])),
	STX(DW, R6, PC, R1),
	IF_CODE(entered),
LABEL(by_fp),
	MOV(R0, JVM_BY_FP),
	EXIT(),
LABEL(entered), /* an adapter has moved the stack pointer, and says where it was */
	LDX(DW, R7, R6, SP),
	ADD(R7, 8),
	LDX(DW, R1, R6, REGS + REG_SENDER_SP),
	MOV_REG(R2, R1),
	SUB_REG(R2, R7),
	JGT(R2, MOST_MOVED, arrived),
	MOV_REG(R7, R1),
	JA(arrived),
LABEL(lost), /* what the virtual machine says is wrong, or it is none */
	GO_BY_FP(gone, MOV(R2, LOST_BYTES)),
LABEL(gone),
	MOV(R0, JVM_LOST),
	EXIT(),

	/*
	 * jvm_frame(state, first word, second word, identity): writes them down, as of the last
	 * native frame; the identity, with the first word, is that of the code.
	 */
FUNC(jvm_frame),
	LDX(DW, R5, R1, OF_RECORD(start_time)),
	XOR_REG(R5, R2),
	LD_IMM64(R0, GOLDEN_RATIO_64),
	MUL_REG(R5, R0),
	XOR_REG(R5, R4),
	MUL_REG(R5, R0),
	MOV_REG(R6, R5),
	RSH(R6, 64 - JVM_SEEN_SHIFT),
	LSH(R6, 3),
	LD_MAP_VALUE(R4, jvm_seen, 0),
	ADD_REG(R4, R6),
	LDX(DW, R6, R4, 0),
	JEQ_REG(R6, R5, seen),
	STX(DW, R4, 0, R5),
	ST(W, R1, JVM(fresh), 1),
LABEL(seen),
	WHEN(struct program_config, outermost),
		LDX(W, R4, R1, PASSING),
		JNE(R4, 0, full),
	END,
	LDX(W, R4, R1, JVM(words)),
	MOV_REG(R5, R4),
	ADD(R5, 3),
	LSH(R4, 3),
	LSH(R5, 3),
	JGT_PARAM(R5, struct program_config, managed_bytes, full),
	JGE_PARAM(R4, struct program_config, managed_bytes, full), /* never */
	RSH(R5, 3),
	STX(W, R1, JVM(words), R5),
	LD_PARAM(R6, struct program_config, both_bytes),
	ADD_REG(R4, R6),
	ADD_REG(R4, R1),
	LD_IMM64(R5, MANAGED_WORD),
	LD_IMM64(R6, MANAGED_PLACE - 1),
	AND_REG(R2, R6),
	AND_REG(R3, R6),
	OR_REG(R2, R5),
	OR_REG(R3, R5),
	STX(DW, R4, PCS, R2),
	STX(DW, R4, PCS + 8, R3),
	LDX(W, R2, R1, N),
	LDX(W, R3, R1, BASE),
	SUB_REG(R2, R3),
	SUB(R2, 1),
	LD_IMM64(R5, PLACE_WORD),
	OR_REG(R2, R5),
	STX(DW, R4, PCS + 16, R2),
LABEL(full),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&rp_jvm_stub_part),
};
/* clang-format on */

const struct asm_part rp_jvm_part = { ASM_LINES(jvm_lines),
				      ASM_FRAMES({ "jvm_step", &step_frame_layout }) };
