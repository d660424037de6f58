/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack: which task, where is it, and has that stack been seen before?
 *
 * stack_take records the task and its two stacks, and hashes both to 64 bits. stack_value
 * (stack_value.c) finds the weights under that hash. Only a stack that was not seen before travels
 * to user space, through the ring; from then on its hash is found in the map and its weights go up.
 * So stacks are exact (none is thrown out by another, as bpf_get_stackid does), and the common case
 * costs one look-up.
 *
 *	task -> stacks -> hash -> known? --yes--> its weights, in the kernel
 *				      \---no--> ring, then remember the hash
 *
 * When the map is full nothing is lost: what it cannot remember goes through the ring every time.
 *
 * A CPU may be at work on several stacks at once: an interrupt wakes a thread while a task is being
 * switched, a task is preempted in the middle of a probe. So it has some records to write on, and
 * each is marked while in use.
 */
#include "stack_frame.h"

static const struct asm_layout record_layout = ASM_LAYOUT(
	struct stack_record, hash, time, value, cpu, kernel_bytes, busy, kernel_of, published, tag,
	pid_tgid, user_bytes, user_end, start_time, exec_id, comm, managed_bytes, fresh);
const struct asm_layout rp_stack_scratch_layout =
	ASM_LAYOUT(struct stack_scratch, (record, &record_layout));
const struct asm_layout rp_program_stats_layout =
	ASM_LAYOUT(struct program_stats, fired, idle, filtered, ring_full, busy, uncounted,
		   unfollowed, outside, untimed);

/* The stack frame of stack_begin. */
ASM_FRAME(begin_frame,
	/* the arguments */
	(uint64_t, context, BEGIN_CONTEXT),
	(uint64_t, pid_tgid, IDS),
	(uint64_t, tag, TAG_ARG),
	(uint32_t, slot, BEGIN_SLOT),
	(uint64_t, leader, LEADER));
/* The stack frame of stack_end. */
ASM_FRAME(end_frame, (uint64_t, context, CONTEXT));

/* clang-format off */
/*
 * R8 = this CPU's record of that number, now ours, and to the label taken; or on to the next line
 * if it is in use. A program that finds the record in use steps back; that both do is no harm.
 */
#define TRY_SLOT(number, taken, out)                                                               \
	SCOPE("TRY_SLOT(" #number ", " #taken ", " #out ")"),                                      \
		ST(W, R10, BEGIN_SLOT, number),                                                    \
		MAP_LOOKUP(scratch, BEGIN_SLOT),                                                   \
		JEQ(R0, 0, out),                                                                   \
		MOV_REG(R8, R0),                                                                   \
		ADD(R8, RECORD),                                                                   \
		MOV(R1, 1),                                                                        \
		ATOMIC_ADD(W, R8, BUSY, R1),                                                       \
		LDX(W, R1, R8, BUSY),                                                              \
		JEQ(R1, 1, taken),                                                                 \
		STACK_DONE(R8),                                                                    \
	END

/* The words of Java's frames go behind the native ones of the record at R8: see jvm.c. */
#define JAVA_BEHIND_NATIVE                                                                         \
	SCOPE("JAVA_BEHIND_NATIVE"),                                                               \
		LDX(W, R2, R8, JVM_WORDS),                                                         \
		JEQ(R2, 0, .none),                                                                 \
		LSH(R2, 3),                                                                        \
		/* Bounds for the verifier: none of these is ever reached. */                      \
		JGT_PARAM(R2, struct program_config, managed_bytes, .none),                        \
		LDX(W, R1, R8, KERNEL_BYTES),                                                      \
		JGT_PARAM(R1, struct program_config, kernel_bytes, .none),                         \
		LDX(W, R3, R8, USER_BYTES),                                                        \
		JGT_PARAM(R3, struct program_config, user_bytes, .none),                           \
		STX(W, R8, MANAGED_BYTES, R2),                                                     \
		ADD_REG(R1, R3),                                                                   \
		ADD_REG(R1, R8),                                                                   \
		ADD(R1, FRAMES),                                                                   \
		LD_PARAM(R3, struct program_config, both_bytes),                                   \
		ADD_REG(R3, R8),                                                                   \
		ADD(R3, FRAMES),                                                                   \
		CALL(probe_read_kernel), /* upwards, a word at a time: they may overlap */         \
		LABEL(.none),                                                                      \
	END

static const struct asm_insn kernel_lines[] = {
	UNLESS(struct program_config, kernel_bytes),
		MOV(R0, 0),
	END,
	WHEN(struct program_config, kernel_bytes),
		WHEN(struct program_config, user_code), /* then without the slow helper */
			LDX(DW, R0, R1, UNWIND_MODE_REG),
			AND(R0, UNWIND_MODE_MASK),
			JEQ(R0, UNWIND_MODE_USER64, no_kernel_stack),
		END,
		ADD(R2, FRAMES),
		LD_PARAM(R3, struct program_config, kernel_bytes),
		MOV(R4, 0),
		UNLESS(struct program_config, of_task),
			CALL(get_stack),
		END,
		WHEN(struct program_config, of_task),
			CALL(get_task_stack),
		END,
		JSGE(R0, 0, walked),
LABEL(no_kernel_stack),
		MOV(R0, 0),
LABEL(walked),
	END,
};
const struct asm_part rp_stack_kernel_part = { ASM_LINES(kernel_lines) };

static const struct asm_insn stack_lines[] = {
	/* stack_take(context, process << 32 | thread, tag): all of it. */
FUNC(stack_take),
	MOV_REG(R6, R1),
	CALL_FUNC(stack_begin),
	JEQ(R0, 0, out),
	MOV_REG(R8, R0),
	MOV_REG(R1, R6),
	MOV_REG(R2, R8),
	INCLUDE(&rp_stack_kernel_part),
	MOV_REG(R1, R8),
	MOV_REG(R2, R6),
	MOV_REG(R3, R0),
	CALL_FUNC(stack_end),
LABEL(out),
	EXIT(),

	INCLUDE(&rp_stack_pieces_part),
};
const struct asm_part rp_stack_part = { ASM_LINES(stack_lines) };

static const struct asm_insn stack_pieces[] = {
	/*
	 * stack_begin(context, process << 32 | thread, tag): a record of the current task without
	 * its stacks, 0 if none is to spare. With of_task the first argument is the task.
	 */
FUNC(stack_begin),
	STX(DW, R10, BEGIN_CONTEXT, R1),
	STX(DW, R10, IDS, R2),
	STX(DW, R10, TAG_ARG, R3),
	TRY_SLOT(0, taken, all_busy),
	TRY_SLOT(1, taken, all_busy),
	TRY_SLOT(2, taken, all_busy),
	TRY_SLOT(3, taken, all_busy),
LABEL(all_busy),
	UNLESS(struct program_config, kept_bare),
		COUNT(stats, struct program_stats, busy),
	END,
	MOV(R0, 0),
	EXIT(),

LABEL(taken),
	ST(DW, R8, KERNEL_OF, 0),
	ST(DW, R8, PUBLISHED_HASH, 0),
	ST(DW, R8, MANAGED_BYTES, 0),
	LDX(DW, R1, R10, TAG_ARG),
	STX(DW, R8, TAG, R1),
	LDX(DW, R1, R10, IDS),
	STX(DW, R8, PID_TGID, R1),
	/*
	 * Its name, and of its process what tells it from others that had the same pid, or it
	 * executed before. Straight from the task: a call of the kernel's code, which the processor
	 * has not seen since the last sample, would cost more than all of this. But a pointer is
	 * copied: of one that is loaded the verifier wants to know whether it may be trusted, and
	 * searches the kernel's types by name, one after the other, up to four times: 2 ms.
	 */
	WHEN(struct program_config, identity),
		UNLESS(struct program_config, of_task),
			CALL(get_current_task_btf),
		END,
		WHEN(struct program_config, of_task),
			LDX(DW, R0, R10, BEGIN_CONTEXT),
		END,
		MOV_REG(R2, R0),
		ADD_FIELD_OFFSET(R2, "task_struct", "comm"),
		LDX(DW, R1, R2, 0),
		STX(DW, R8, COMM, R1),
		LDX(DW, R1, R2, 8),
		STX(DW, R8, COMM + 8, R1),
		LD_FIELD(R1, R0, "task_struct", "self_exec_id"),
		STX(DW, R8, EXEC_ID, R1),
		/* A kernel that is locked down copies nothing; unwind_user needs it anyway. */
		UNLESS(struct program_config, eh),
			LD_FIELD(R1, R0, "task_struct", "group_leader.start_time"),
			STX(DW, R8, START_TIME, R1),
		END,
		WHEN(struct program_config, eh),
			LD_FIELD(R1, R0, "task_struct", "start_time"),
			STX(DW, R8, START_TIME, R1),
			LD_FIELD(R1, R0, "task_struct", "pid"),
			LD_FIELD(R2, R0, "task_struct", "tgid"),
			JEQ_REG(R1, R2, identified),
			MOV_REG(R3, R0),
			ADD_FIELD_OFFSET(R3, "task_struct", "group_leader"),
			FRAME_PTR(R1, LEADER),
			MOV(R2, 8),
			CALL(probe_read_kernel),
			LDX(DW, R3, R10, LEADER),
			ADD_FIELD_OFFSET(R3, "task_struct", "start_time"),
			MOV_REG(R1, R8),
			ADD(R1, START_TIME),
			MOV(R2, 8),
			CALL(probe_read_kernel),
LABEL(identified),
		END,
	END,
	UNLESS(struct program_config, identity),
		MOV_REG(R1, R8),
		ADD(R1, COMM),
		MOV(R2, 16),
		CALL(get_current_comm),
		ST(DW, R8, START_TIME, 0),
		ST(DW, R8, EXEC_ID, 0),
	END,

	MOV_REG(R0, R8),
	EXIT(),

	/* stack_end(record, context, bytes of kernel stack at FRAMES): adds the user stack. */
FUNC(stack_end),
	MOV_REG(R8, R1),
	STX(DW, R10, CONTEXT, R2),
	STX(W, R8, KERNEL_BYTES, R3),
	/* Read anew, so that the verifier takes no stack of the kernel and any for one case. */
	LDX(W, R9, R8, KERNEL_BYTES),

	/* R7 = bytes of user stack, which goes behind that of the kernel. */
	MOV(R7, 0),
	ST(W, R8, USER_END, STACK_BY_FP),
	/* Jumps marked "never" give the verifier a bound. */
	JGT_PARAM(R9, struct program_config, kernel_bytes, user_stack), /* never */
	WHEN(struct program_config, user_bytes),
		WHEN(struct program_config, some_kernel_only),
			LDX(DW, R1, R8, TAG),
			JSLT(R1, 0, user_stack),
		END,
		WHEN(struct program_config, eh),
			MOV_REG(R1, R8),
			SUB(R1, RECORD),
			LD_PARAM(R2, struct program_config, user_frames),
			LDX(W, R3, R8, PID_TGID + 4),
			LDX(DW, R4, R10, CONTEXT),
			MOV_REG(R5, R9),
			RSH(R5, 3),
			CALL_FUNC(unwind_user),
			/* never */
			JGT_PARAM(R0, struct program_config, user_frames, by_frame_pointer),
			MOV_REG(R7, R0),
			LSH(R7, 3),
			LDX(W, R1, R8, WALK_END),
			STX(W, R8, USER_END, R1),
			WHEN(struct program_config, vma),
				LDX(DW, R2, R8, WALK_VMA_CALLS),
				JEQ(R2, 0, not_fresh),
				ST(W, R8, RECORD_FRESH, STACK_FRESH),
LABEL(not_fresh),
			END,
#ifdef MACHINE_COMPUTED_RULES
			LDX(W, R2, R8, WALK_LACKED),
			JEQ(R2, 0, has_rules),
			LSH(R2, STACK_LACKED_SHIFT),
			LDX(W, R3, R8, RECORD_FRESH),
			OR_REG(R3, R2),
			STX(W, R8, RECORD_FRESH, R3),
LABEL(has_rules),
#endif
			WHEN(struct program_config, deep_bytes),
				LDX(W, R2, R8, WALK_DEEP_AT),
				JEQ(R2, 0, not_deep),
				LDX(W, R2, R8, RECORD_FRESH),
				OR(R2, STACK_DEEP),
				STX(W, R8, RECORD_FRESH, R2),
				JA(user_stack),
LABEL(not_deep),
			END,
			JGE(R1, UNWIND_OTHER_CODE, by_frame_pointer),
			/*
			 * Not one step: the process is new, or has made code that has no table yet.
			 */
			JNE(R1, UNWIND_NO_MAPPING, user_stack),
			JGT(R7, 8, user_stack),
			ST(W, R8, USER_END, STACK_NO_TABLE),
			WHEN(struct program_config, jvm),
				ST(W, R8, JVM_WORDS, 0),
			END,
			MOV(R7, 0),
LABEL(by_frame_pointer),
		END,
		/* By frame pointers: the kernel does not walk the user stack of another task. */
		UNLESS(struct program_config, of_task),
			WHEN(struct program_config, probe),
				MOV_REG(R1, R8),
				SUB(R1, RECORD),
				LDX(DW, R2, R10, CONTEXT),
				MOV_REG(R3, R9),
				RSH(R3, 3),
				CALL_FUNC(stack_fp),
				/* never */
				JGT_PARAM(R0, struct program_config, user_frames, user_stack),
				MOV_REG(R7, R0),
				LSH(R7, 3),
			END,
			UNLESS(struct program_config, probe),
				LDX(DW, R1, R10, CONTEXT),
				MOV_REG(R2, R8),
				ADD_REG(R2, R9),
				ADD(R2, FRAMES),
				LD_PARAM(R3, struct program_config, fp_bytes),
				MOV(R4, BPF_F_USER_STACK),
				CALL(get_stack),
				JSLT(R0, 0, user_stack), /* a thread of the kernel has none */
				MOV_REG(R7, R0),
			END,
		END,
	END,
LABEL(user_stack),
	STX(W, R8, USER_BYTES, R7),
	WHEN(struct program_config, managed_bytes),
		WHEN(struct program_config, some_kernel_only),
			LDX(DW, R1, R8, TAG),
			JSLT(R1, 0, no_python),
		END,
		WHEN(struct program_config, jvm),
			JAVA_BEHIND_NATIVE,
			LDX(W, R1, R8, MANAGED_BYTES),
			JNE(R1, 0, no_python), /* one language is enough for a stack */
		END,
		MOV_REG(R1, R8),
		SUB(R1, RECORD),
		WHEN(struct program_config, of_task),
			LDX(DW, R2, R10, CONTEXT),
		END,
		CALL_FUNC(v8_walk),
		LSH(R0, 3),
		STX(W, R8, MANAGED_BYTES, R0),
		JNE(R0, 0, no_python),
		MOV_REG(R1, R8),
		SUB(R1, RECORD),
		WHEN(struct program_config, of_task),
			LDX(DW, R2, R10, CONTEXT),
		END,
		CALL_FUNC(python_thread),
		JEQ(R0, 0, no_thread),
		MOV_REG(R1, R8),
		SUB(R1, RECORD),
		MOV_REG(R2, R0),
		WHEN(struct program_config, of_task),
			LDX(DW, R3, R10, CONTEXT),
		END,
		CALL_FUNC(python_walk),
		LSH(R0, 3),
		STX(W, R8, MANAGED_BYTES, R0),
LABEL(no_thread),
		WHEN(struct program_config, scripts),
			LDX(W, R1, R8, MANAGED_BYTES),
			JNE(R1, 0, no_python),
			MOV_REG(R1, R8),
			SUB(R1, RECORD),
			WHEN(struct program_config, of_task),
				LDX(DW, R2, R10, CONTEXT),
			END,
			CALL_FUNC(script_walk),
			LSH(R0, 3),
			STX(W, R8, MANAGED_BYTES, R0),
		END,
LABEL(no_python),
	END,
	WHEN(struct program_config, published),
		WHEN(struct program_config, some_kernel_only),
			LDX(DW, R1, R8, TAG),
			JSLT(R1, 0, not_its_own),
		END,
		MOV_REG(R1, R8),
		SUB(R1, RECORD),
		WHEN(struct program_config, of_task),
			LDX(DW, R2, R10, CONTEXT),
		END,
		CALL_FUNC(published),
		STX(DW, R8, PUBLISHED_HASH, R0),
LABEL(not_its_own),
	END,

	MOV_REG(R1, R8),
	CALL_FUNC(stack_hash),
	EXIT(),

	/* stack_hash(record): the same record, of which the hash is known now. */
FUNC(stack_hash),
	MOV_REG(R8, R1),
	/*
	 * R0 = hash of task and stacks. Two stacks that differ in one frame never collide, for
	 * every step can be undone; any two do with a chance of 2^-64. Who would choose frames so
	 * that they do with another process's does not know the secret.
	 */
	LDX(DW, R0, R8, PUBLISHED_HASH),
	WHEN(struct program_config, deep_bytes),
		LDX(W, R2, R8, RECORD_FRESH),
		AND(R2, STACK_DEEP),
		JEQ(R2, 0, shallow),
		CALL_FUNC(stack_deep_hash),
		LDX(DW, R1, R8, PUBLISHED_HASH),
		XOR_REG(R0, R1),
LABEL(shallow),
	END,
	WHEN(struct program_config, hash_secret),
		LD_PARAM(R1, struct program_config, hash_secret),
		XOR_REG(R0, R1),
	END,
	LD_IMM64(R3, GOLDEN_RATIO_64),
	/*
	 * The number of words is read anew: so all paths are one to the verifier here.
	 */
	LDX(W, R2, R8, KERNEL_BYTES),
	LDX(W, R7, R8, USER_BYTES),
	ADD_REG(R2, R7),
	WHEN(struct program_config, managed_bytes),
		LDX(W, R7, R8, MANAGED_BYTES),
		ADD_REG(R2, R7),
	END,
	MOV(R7, 0),
	MOV(R9, 0),
	NOT_ALL_BYTES(R2, hashed),
	MOV_REG(R1, R8),
	ADD_REG(R1, R2),
	ST(DW, R1, FRAMES, 0), /* the rest of the last four, if there are no more words */
	ST(DW, R1, FRAMES + 8, 0),
	ST(DW, R1, FRAMES + 16, 0),
	UNLESS(struct program_config, may_goto),
		RSH(R2, 3),
		ADD(R2, HASHED_WORDS + 3),
		RSH(R2, 2),
		MOV_REG(R1, R8),
		ADD(R1, TAG),
		HASH_FOURS(R0, R1, R2, R3, R4, R5),
	END,
	/*
	 * From the last four to the first: so the address is made anew from what is left, one round
	 * is like the other to the verifier, and it walks two where it would walk all.
	 */
	WHEN(struct program_config, may_goto),
		ADD(R2, 8 * (HASHED_WORDS + 3)),
		AND(R2, -32),
		LD_PARAM(R5, struct program_config, all_bytes),
		ADD(R5, 8 * HASHED_WORDS),
LABEL(next_four),
		MAY_GOTO(hashed),
		SUB(R2, 32),
		JGT_REG(R2, R5, hashed), /* also below 0 */
		MOV_REG(R1, R8),
		ADD_REG(R1, R2),
		HASH_FOUR(R0, R1, TAG, R3, R4),
		JA(next_four),
	END,
LABEL(hashed),
	STX(DW, R8, HASH, R0),
	MOV_REG(R0, R8),
	EXIT(),

	INCLUDE(&rp_stack_value_part),
	WHEN(struct program_config, deep_bytes),
		INCLUDE(&rp_stack_deep_part),
	END,
	WHEN(struct program_config, copies),
		INCLUDE(&rp_stack_copy_part),
	END,
	WHEN(struct program_config, user_bytes),
		WHEN(struct program_config, probe),
			INCLUDE(&rp_stack_fp_part),
		END,
	END,
	WHEN(struct program_config, eh),
		INCLUDE(&rp_unwind_part),
	END,
	WHEN(struct program_config, managed_bytes),
		INCLUDE(&rp_v8_part),
		WHEN(struct program_config, jvm),
			INCLUDE(&rp_jvm_part),
		END,
		INCLUDE(&rp_python_part),
		WHEN(struct program_config, scripts),
			INCLUDE(&rp_script_part),
		END,
	END,
	WHEN(struct program_config, published),
		INCLUDE(&rp_published_part),
		WHEN(struct program_config, context),
			INCLUDE(&rp_published_context_part),
		END,
	END,
};
/* clang-format on */
const struct asm_part rp_stack_pieces_part = { ASM_LINES(stack_pieces),
					       ASM_FRAMES({ "stack_begin", &begin_frame_layout },
							  { "stack_end", &end_frame_layout }) };
