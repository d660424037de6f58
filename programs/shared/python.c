/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * python_thread, python_walk: the frames of CPython that the current thread has.
 *
 *	thread pointer -> slot of the key autoTSSkey -> thread state -> frame -> frame ...
 *
 * The slot survives the release of the interpreter's lock, so a thread that waits shows its frames
 * too. A frame gives its code object and where in it the thread is; user space makes names of
 * them (record/python.c), of what python_code.c sends.
 *
 * They are written behind the native frames, and each run of them, which one call of the
 * interpreter's C function has executed, is placed: something of that call lies on the C stack, so
 * it belongs to the native frame around that address. Each round of the loop takes one Python
 * frame, or passes native ones.
 */
#include "python_step.h"
#include "thread_value.h"

ASM_FRAME(thread_frame,
	(uint64_t, task, THREAD_TASK));
ASM_FRAME(walk_frame,
	(uint64_t, task, WALK_TASK),
	(uint64_t, state, WALK_STATE));
ASM_FRAME(step_frame,
	(uint64_t, task, STEP_TASK));

enum {
	PCS = offsetof(struct stack_scratch, record.frames),
	STACK_POINTERS = PCS + STACK_SLACK, /* and room for the frames */
	N = offsetof(struct stack_scratch, walk.n),
	KNOWN_PID = offsetof(struct stack_scratch, walk.pid),
	WINDOW = offsetof(struct stack_scratch, walk.window),
	WINDOW_AT = offsetof(struct stack_scratch, walk.window_at),
	WINDOW_LAST = UNWIND_WINDOW - 112, /* there a frame is the last of a window */
	PAGE = 4096,
	ROUNDS = 2048,
	UNREAD = -1,
};

/* clang-format off */
/* R2 = hash of it and what the copy of the code object holds; R3 and R4 are lost. */
#define ADD_TO_CHECK(member)                                                                       \
	LD_COPIED(DW, R3, member, CODE_MASK, code_bytes),                                          \
	XOR_REG(R2, R3),                                                                           \
	MUL_REG(R2, R5),                                                                           \
	MOV_REG(R3, R2),                                                                           \
	RSH(R3, 32),                                                                               \
	XOR_REG(R2, R3)

/* The scratch has it of the frame whose copy R8 has the address of; R1 and R2 are lost. */
#define TAKE_MEMBER(size, member, mask)                                                            \
	LDX(H, R1, R9, LAYOUT(member)),                                                            \
	AND(R1, mask),                                                                             \
	ADD_REG(R1, R8),                                                                           \
	LDX(size, R2, R1, 0),                                                                      \
	STX(DW, R6, WALK(member), R2)

/* R1 = where the next words of the record are, n of them, or to the label: no room. */
#define NEXT_WORDS(n, full)                                                                        \
	LDX(W, R1, R6, N),                                                                         \
	MOV_REG(R2, R1),                                                                           \
	ADD(R2, n),                                                                                \
	LDX(W, R3, R6, WALK(max)),                                                                 \
	JGT_REG(R2, R3, full),                                                                     \
	LSH(R1, 3),                                                                                \
	JGE_PARAM(R1, struct program_config, all_bytes, full), /* never */                         \
	STX(W, R6, N, R2),                                                                         \
	ADD_REG(R1, R6)

static const struct asm_insn python_lines[] = {
	/* python_thread(scratch, task): the address of its thread state; 0: it has none. */
FUNC(python_thread),
	MOV_REG(R6, R1),
	WHEN(struct program_config, of_task),
		STX(DW, R10, THREAD_TASK, R2),
	END,
	ST(DW, R6, WALK(thread), 0),
	LDX(W, R1, R6, OF_PROCESS(layout)),
	JEQ(R1, 0, no_thread),
	LDX(W, R1, R6, KNOWN_PID),
	LDX(W, R2, R6, OF_RECORD(pid_tgid) + 4),
	JNE_REG(R1, R2, no_thread),
	LD_LAYOUT(R9, R1),

	/* R8 = the thread state: first of all, has the key been made? */
	LDX(DW, R3, R6, OF_PROCESS(runtime)),
	LDX(H, R1, R9, LAYOUT(tss)),
	ADD_REG(R3, R1),
	READ_USER_TO(WALK(words), 8, THREAD_TASK, no_thread),
	LDX(W, R1, R6, WALK(words)),
	JNE(R1, 1, no_thread),
	LDX(W, R7, R6, WALK(words) + 4),
	JGE(R7, THREAD_KEYS, no_thread),
	UNLESS(struct program_config, of_task),
		CALL(get_current_task_btf),
	END,
	WHEN(struct program_config, of_task),
		LDX(DW, R0, R10, THREAD_TASK),
	END,
	THREAD_POINTER(R8, R0),
	LD_THREAD_VALUE(LAYOUT(slots), LAYOUT(slot_blocks), WALK(words),
			READ_USER_TO(WALK(words), 8, THREAD_TASK, no_thread)),
	STX(DW, R6, WALK(thread), R8),

	/* Up to 3.11 that is the thread's first, also while it runs in another interpreter. */
	LDX(H, R3, R9, LAYOUT(runtime_current)),
	JEQ(R3, 0, only_one),
	LDX(DW, R1, R6, OF_PROCESS(runtime)),
	ADD_REG(R3, R1),
	READ_USER_TO(WALK(words), 8, THREAD_TASK, only_one),
	LDX(DW, R7, R6, WALK(words)),
	JEQ(R7, 0, only_one),
	JEQ_REG(R7, R8, only_one),
	LDX(H, R3, R9, LAYOUT(thread_id)),
	ADD_REG(R3, R8),
	READ_USER_TO(WALK(words), 8, THREAD_TASK, only_one),
	LDX(H, R3, R9, LAYOUT(thread_id)),
	ADD_REG(R3, R7),
	READ_USER_TO(WALK(words) + 8, 8, THREAD_TASK, only_one),
	LDX(DW, R1, R6, WALK(words)),
	LDX(DW, R2, R6, WALK(words) + 8),
	JNE_REG(R1, R2, only_one),
	STX(DW, R6, WALK(thread), R7),
LABEL(only_one),
	LDX(DW, R0, R6, WALK(thread)),
	EXIT(),
LABEL(no_thread),
	MOV(R0, 0),
	EXIT(),

	/* python_walk(scratch, thread state, task): how many words were written. */
FUNC(python_walk),
	MOV_REG(R6, R1),
	MOV_REG(R8, R2),
	STX(DW, R10, WALK_STATE, R6),
	WHEN(struct program_config, of_task),
		STX(DW, R10, WALK_TASK, R3),
	END,
	LD_LAYOUT(R9, R1),
	FETCH_SEEN,

	/* The innermost frame. A CFrame lies on the stack, or in the thread state: more follows. */
	ST(DW, R6, WALK(cframe), 0),
	ST(DW, R6, WALK(cframe_previous), UNREAD),
	LDX(H, R3, R9, LAYOUT(thread_cframe)),
	JEQ(R3, 0, no_cframe),
	ADD_REG(R3, R8),
	READ_USER_TO(WALK(cframe), 8, WALK_TASK, none),
LABEL(no_cframe),
	LDX(H, R7, R9, LAYOUT(cframe_frame)),
	JEQ(R7, 0, in_thread),
	LDX(DW, R3, R6, WALK(cframe)),
	READ_USER_TO(WALK(words), 24, WALK_TASK, none),
	SUB(R7, 1),
	AND(R7, CFRAME_MASK),
	ADD_REG(R7, R6),
	LDX(DW, R1, R7, WALK(words)),
	STX(DW, R6, WALK(frame), R1),
	LD_COPIED(DW, R1, cframe_previous, CFRAME_MASK, words),
	STX(DW, R6, WALK(cframe_previous), R1),
	JA(frame_known),
LABEL(in_thread),
	LDX(H, R3, R9, LAYOUT(thread_frame)),
	ADD_REG(R3, R8),
	READ_USER_TO(WALK(frame), 8, WALK_TASK, none),
LABEL(frame_known),

	/* Where the words go, and the native frames: those of a walk by tables have a place. */
	LDX(W, R1, R6, OF_RECORD(kernel_bytes)),
	RSH(R1, 3),
	STX(W, R6, WALK(base), R1),
	LDX(W, R2, R6, OF_RECORD(user_bytes)),
	RSH(R2, 3),
	STX(W, R6, WALK(count), R2),
	ADD_REG(R1, R2),
	STX(W, R6, N, R1),
	MOV_REG(R7, R1),
	LD_PARAM(R1, struct program_config, all_bytes), /* what native ones leave too */
	RSH(R1, 3),
	STX(W, R6, WALK(max), R1),
	LDX(W, R3, R6, OF_RECORD(user_end)),
	JGT(R3, UNWIND_GONE, by_frame_pointers),
	MOV(R2, 0),
LABEL(by_frame_pointers),
	STX(W, R6, WALK(native), R2),
	ST(W, R6, WALK(placing), 0),
	ST(W, R6, WALK(unread), 0),
	ST(DW, R6, WALK(code), 0),
	ST(DW, R6, WINDOW_AT, UNWIND_NO_WINDOW),

	MOV(R1, ROUNDS),
	LD_FUNC(R2, python_step),
	FRAME_PTR(R3, WALK_STATE),
	MOV(R4, 0),
	CALL(loop),
	LDX(W, R0, R6, N),
	SUB_REG(R0, R7),
	EXIT(),
LABEL(none),
	MOV(R0, 0),
	EXIT(),

	/* python_step(index, slot of the scratch): one frame of either kind; 1 at the end. */
FUNC(python_step),
	LDX(DW, R6, R2, 0),
	WHEN(struct program_config, of_task),
		LDX(DW, R1, R2, WALK_TASK - WALK_STATE),
		STX(DW, R10, STEP_TASK, R1),
	END,
	LD_LAYOUT(R9, R1),
	LDX(W, R1, R6, WALK(placing)),
	JNE(R1, 0, place),
	/*
	 * R8 = where its copy is. A thousand bytes are read about as fast as eight, and most frames
	 * lie behind those of their callers: so with some of them. Not beyond their page, for what
	 * is below may not be there.
	 */
	LDX(DW, R3, R6, WALK(frame)),
	JEQ(R3, 0, last),
	LDX(DW, R1, R6, WINDOW_AT),
	MOV_REG(R7, R3),
	SUB_REG(R7, R1),
	JLE(R7, WINDOW_LAST, in_window),
	MOV_REG(R7, R3),
	AND(R7, PAGE - 1),
	JLE(R7, WINDOW_LAST, within_page),
	MOV(R7, WINDOW_LAST),
LABEL(within_page),
	SUB_REG(R3, R7),
	STX(DW, R6, WINDOW_AT, R3),
	READ_USER_TO(WINDOW, UNWIND_WINDOW, STEP_TASK, no_window),
LABEL(in_window),
	MOV_REG(R8, R6),
	ADD_REG(R8, R7),
	ADD(R8, WINDOW),
	TAKE_MEMBER(DW, frame_previous, FRAME_MASK),
	TAKE_MEMBER(B, frame_mark, FRAME_BYTE_MASK),
	TAKE_MEMBER(DW, frame_position, FRAME_MASK),
	TAKE_MEMBER(DW, frame_code, FRAME_MASK),
	LDX(H, R1, R9, LAYOUT(boundary)),
	JNE(R1, PYTHON_BY_SHIM, function),
	LDX(DW, R2, R6, WALK(frame_mark)),
	LDX(H, R3, R9, LAYOUT(mark)),
	JLT_REG(R2, R3, function),
	LDX(DW, R1, R6, WALK(frame)),
	STX(DW, R6, WALK(boundary), R1),
	LDX(DW, R1, R6, WALK(frame_previous)),
	STX(DW, R6, WALK(frame), R1),
	ST(W, R6, WALK(placing), 1),
	MOV(R0, 0),
	EXIT(),

	/* Its code is that of the frame before, which both of them hold; or is read. */
LABEL(function),
	LD_IMM64(R5, GOLDEN_RATIO_64),
	LDX(DW, R7, R6, WALK(frame_code)),
	AND(R7, -8), /* 3.14 keeps flags in the lowest bits */
	LDX(DW, R1, R6, WALK(code)),
	JEQ_REG(R7, R1, code_known),
	ST(DW, R6, WALK(code), 0),
	MOV_REG(R3, R7),
	READ_USER_TO(WALK(code_bytes), 160, STEP_TASK, called),
	LDX(DW, R1, R6, WALK(code_bytes) + 8),
	LDX(DW, R2, R6, OF_PROCESS(code_type)),
	JNE_REG(R1, R2, called),

	/*
	 * From 3.12 on the interpreter has a frame of its own between a class and its __init__,
	 * which is called "__init__", as its file is, and begins at line 0.
	 */
	LD_IMM64(R5, GOLDEN_RATIO_64),
	LD_COPIED(W, R2, code_first_line, CODE_INT_MASK, code_bytes),
	JNE(R2, 0, of_program),
	LD_COPIED(DW, R3, code_file, CODE_MASK, code_bytes),
	LD_COPIED(DW, R4, code_name, CODE_MASK, code_bytes),
	JEQ_REG(R3, R4, called),
LABEL(of_program),

	/* What tells it from another at the same address. */
	ADD_TO_CHECK(code_file),
	ADD_TO_CHECK(code_name),
	ADD_TO_CHECK(code_lines),
	STX(W, R6, WALK(check), R2),
	STX(DW, R6, WALK(code), R7),
	ST(W, R6, WALK(sent), 0),
LABEL(code_known),

	/* R8 = where in it; negative before its first instruction. */
	LDX(DW, R8, R6, WALK(frame_position)),
	LDX(H, R1, R9, LAYOUT(code_bytes)),
	JEQ(R1, 0, a_number),
	ADD_REG(R1, R7),
	SUB_REG(R8, R1),
	JA(position_known),
LABEL(a_number), /* up to 3.10 a function is one of the thread's only once it is entered */
	LSH(R8, 32),
	ARSH(R8, 32),
	JSGE(R8, 0, position_known),
	MOV(R8, PYTHON_POSITION_ENTERED),
	JA(position_taken),
LABEL(position_known),
	JSLT(R8, 0, called),
	LDX(H, R1, R9, LAYOUT(position_shift)),
	AND(R1, 1),
	RSH_REG(R8, R1),
	JGE(R8, PYTHON_POSITION_ENTERED, called),
LABEL(position_taken),
	LDX(W, R2, R6, WALK(check)),
	LSH(R2, PYTHON_CHECK_SHIFT),
	OR_REG(R8, R2),
	LD_IMM64(R4, MANAGED_WORD),
	OR_REG(R8, R4),
	NEXT_WORDS(2, last),
	LD_IMM64(R3, PYTHON_CODE_MASK),
	MOV_REG(R2, R7),
	AND_REG(R2, R3),
	OR_REG(R2, R4),
	STX(DW, R1, PCS, R2),
	STX(DW, R1, PCS + 8, R8),

	/* Has it been sent? R7 = its hash. */
	LDX(W, R1, R6, WALK(sent)),
	JNE(R1, 0, called),
	LDX(W, R2, R6, WALK(check)),
	LSH(R2, 32),
	XOR_REG(R7, R2),
	MUL_REG(R7, R5),
	ST(W, R6, WALK(sent), 1),
	FIND_SEEN(called),
	STX(DW, R6, WALK(seen), R7),
	LDX(W, R1, R6, WALK(unread)),
	JGE(R1, PYTHON_UNREAD_MOST, called),
	MOV_REG(R1, R6),
	WHEN(struct program_config, of_task),
		LDX(DW, R2, R10, STEP_TASK),
	END,
	CALL_FUNC(python_code),

	/* On to its caller, or first to the native frame that the run was in. */
LABEL(called),
	LDX(DW, R1, R6, WALK(frame_previous)),
	STX(DW, R6, WALK(frame), R1),
	LDX(H, R8, R9, LAYOUT(boundary)),
	JEQ(R8, PYTHON_BY_SHIM, next),
	JNE(R8, PYTHON_BY_ENTRY, boundary),
	LDX(DW, R2, R6, WALK(frame_mark)),
	LDX(H, R3, R9, LAYOUT(mark)),
	JNE_REG(R2, R3, next),
LABEL(boundary),
	ST(W, R6, WALK(placing), 1),
	LDX(DW, R3, R6, WALK(cframe)),
	STX(DW, R6, WALK(boundary), R3),
	JEQ(R3, 0, next),
	LDX(DW, R1, R6, WALK(cframe_previous)),
	ST(DW, R6, WALK(cframe_previous), UNREAD),
	STX(DW, R6, WALK(cframe), R1),
	JNE(R1, UNREAD, next),
	LDX(H, R1, R9, LAYOUT(cframe_previous)),
	ADD_REG(R3, R1),
	READ_USER_TO(WALK(cframe), 8, STEP_TASK, no_more_cframes),
LABEL(next),
	MOV(R0, 0),
	EXIT(),
LABEL(no_more_cframes),
	ST(DW, R6, WALK(cframe), 0),
	MOV(R0, 0),
	EXIT(),
LABEL(no_window),
	ST(DW, R6, WINDOW_AT, UNWIND_NO_WINDOW),
LABEL(last),
	MOV(R0, 1),
	EXIT(),

	/* Is it this native frame? Its own end is where the next one begins. */
LABEL(place),
	LDX(W, R7, R6, WALK(native)),
	LDX(W, R8, R6, WALK(count)),
	JGE_REG(R7, R8, nowhere),
	LDX(W, R1, R6, WALK(base)),
	ADD_REG(R1, R7),
	LSH(R1, 3),
	JGE_PARAM(R1, struct program_config, both_bytes, nowhere), /* never */
	ADD_REG(R1, R6),
	MOV_REG(R2, R7),
	ADD(R2, 1),
	LDX(H, R3, R9, LAYOUT(boundary)),
	JEQ(R3, PYTHON_BY_PC, by_pc),
	LDX(DW, R3, R6, WALK(boundary)),
	JEQ(R3, 0, nowhere),
	JGE_REG(R2, R8, nowhere),
	LD_PARAM(R4, struct program_config, all_bytes),
	ADD_REG(R1, R4),
	LDX(DW, R4, R1, STACK_POINTERS + 8),
	JLT_REG(R3, R4, here),
LABEL(pass),
	STX(W, R6, WALK(native), R2),
	WHEN(struct program_config, may_goto),
		MAY_GOTO(next),
		JA(place),
	END,
	UNLESS(struct program_config, may_goto),
		MOV(R0, 0),
		EXIT(),
	END,
LABEL(by_pc),
	LDX(DW, R3, R1, PCS),
	LSH(R3, 1), /* UNWIND_PC_EXACT */
	RSH(R3, 1),
	LDX(DW, R4, R6, OF_PROCESS(eval)),
	SUB_REG(R3, R4),
	LDX(DW, R4, R6, OF_PROCESS(eval_bytes)),
	JGT_REG(R3, R4, pass),
LABEL(here),
	STX(W, R6, WALK(native), R2),
	JA(placed),
LABEL(nowhere),
	STX(W, R6, WALK(native), R8),
	MOV_REG(R7, R8),
LABEL(placed),
	ST(W, R6, WALK(placing), 0),
	LD_IMM64(R8, MANAGED_WORD | MANAGED_PLACE),
	OR_REG(R8, R7),
	NEXT_WORDS(1, last),
	STX(DW, R1, PCS, R8),
	MOV(R0, 0),
	EXIT(),

	INCLUDE(&rp_python_code_part),
};
/* clang-format on */

const struct asm_part rp_python_part = { ASM_LINES(python_lines),
					 ASM_FRAMES({ "python_thread", &thread_frame_layout },
						    { "python_walk", &walk_frame_layout },
						    { "python_step", &step_frame_layout }) };
