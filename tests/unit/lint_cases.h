/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs with one fault each, and programs without. The lint is tried on them with no kernel
 * (test_lint.c), and the verifier is asked whether it agrees (tests/kernel/test_lint_cases.c).
 */
#ifndef TESTS_UNIT_LINT_CASES_H
#define TESTS_UNIT_LINT_CASES_H

#include <stdbool.h>

#include <rawprof/asm.h>

struct lint_case {
	const char *name;
	const struct asm_insn *lines;
	size_t n;
	const char *at;	     /* the line that is named, as written */
	const char *message; /* NULL: nothing is to be said */
	uint32_t type;	     /* of program; 0: a kprobe */
	bool warning;
	bool taken; /* by the newest kernels with all capabilities */
};

struct lint_stats {
	uint64_t kept, lost;
};

static const struct asm_map lint_maps[] = {
	{ .name = "hash",
	  .type = BPF_MAP_TYPE_HASH,
	  .key_size = 8,
	  .value_size = 16,
	  .max_entries = 8 },
	{ .name = "array",
	  .type = BPF_MAP_TYPE_ARRAY,
	  .key_size = 4,
	  .value_size = 24,
	  .max_entries = 4 },
	{ .name = "stats",
	  .type = BPF_MAP_TYPE_ARRAY,
	  .key_size = 4,
	  .value_size = sizeof(struct lint_stats),
	  .max_entries = 1 },
	{ .name = "set",
	  .type = BPF_MAP_TYPE_HASH,
	  .key_size = 4,
	  .value_size = 1,
	  .max_entries = 8 },
	{ .name = "counts",
	  .type = BPF_MAP_TYPE_HASH,
	  .key_size = 8,
	  .value_size = 8,
	  .max_entries = 8 },
	{ .name = "ring", .type = BPF_MAP_TYPE_RINGBUF, .max_entries = 4096 },
	{ .name = "stacks",
	  .type = BPF_MAP_TYPE_STACK_TRACE,
	  .key_size = 4,
	  .value_size = 127 * 8,
	  .max_entries = 8 },
};
#define LINT_MAPS (sizeof(lint_maps) / sizeof(lint_maps[0]))

/* clang-format off */
#define DONE MOV(R0, 0), EXIT()

/* ---- registers */

static const struct asm_insn read_unwritten[] = { MOV_REG(R0, R6), EXIT() };
static const struct asm_insn read_argument_that_is_none[] = { ADD_REG(R1, R2), DONE };
static const struct asm_insn read_after_call[] = {
	CALL(get_current_pid_tgid), LDX(DW, R2, R1, 0), DONE
};
static const struct asm_insn argument_after_call[] = {
	MOV(R3, 0), LD_MAP(R2, stacks), CALL(get_stackid), MOV(R3, 0), LD_MAP(R2, stacks),
	CALL(get_stackid), DONE
};
static const struct asm_insn written_on_one_way[] = {
	CALL(get_prandom_u32), JGT(R0, 5, skip), MOV(R6, 1), LABEL(skip), MOV_REG(R0, R6),
	EXIT()
};
static const struct asm_insn second_way_first[] = {
	CALL(get_prandom_u32), JGT(R0, 5, set), JA(use), LABEL(set), MOV(R6, 1), LABEL(use),
	MOV_REG(R0, R6), EXIT()
};
static const struct asm_insn jump_on_unwritten[] = { JEQ(R8, 0, out), LABEL(out), DONE };
static const struct asm_insn store_unwritten[] = { STX(DW, R10, -8, R7), DONE };
static const struct asm_insn no_result[] = { MOV(R6, 0), EXIT() };
static const struct asm_insn no_result_on_one_way[] = {
	MOV(R6, 1), LDX(DW, R7, R1, 0), JEQ(R7, 0, out), MOV(R0, 1), LABEL(out), EXIT()
};
static const struct asm_insn result_of_nothing[] = {
	RING_RESERVE(ring, 8), JEQ(R0, 0, out), MOV_REG(R6, R0), ST(DW, R6, 0, 1),
	RING_SUBMIT(R6, 0), EXIT(), LABEL(out), DONE
};
static const struct asm_insn callback_without_result[] = {
	MOV(R1, 4), LD_FUNC(R2, step), MOV(R3, 0), MOV(R4, 0), CALL(loop), DONE, FUNC(step),
	MOV(R6, 0), EXIT()
};
static const struct asm_insn callee_saved_is_not_handed_down[] = {
	MOV(R6, 1), CALL_FUNC(step), DONE, FUNC(step), MOV_REG(R0, R6), EXIT()
};
static const struct asm_insn writes_frame_pointer[] = {
	INSN(BPF_ALU64 | BPF_ADD | BPF_K, R10, 0, 0, 8), DONE
};

/* ---- the stack */

static const struct asm_insn key_never_written[] = { MAP_LOOKUP(hash, -8), DONE };
static const struct asm_insn key_half_written[] = { ST(W, R10, -8, 1), MAP_LOOKUP(hash, -8), DONE };
static const struct asm_insn key_with_a_hole[] = {
	ST(W, R10, -8, 1), ST(H, R10, -4, 1), ST(B, R10, -1, 1), MAP_LOOKUP(hash, -8), DONE
};
static const struct asm_insn key_written_on_one_way[] = {
	CALL(get_prandom_u32), JEQ(R0, 7, skip), ST(DW, R10, -8, 1), LABEL(skip),
	MAP_LOOKUP(hash, -8), DONE
};
static const struct asm_insn value_never_written[] = {
	ST(DW, R10, -8, 1), MAP_UPDATE(hash, -8, -24, BPF_ANY), DONE
};
static const struct asm_insn output_half_written[] = {
	ST(DW, R10, -16, 1), LD_MAP(R1, ring), FRAME_PTR(R2, -16), MOV(R3, 16), MOV(R4, 0),
	CALL(ringbuf_output), DONE
};
static const struct asm_insn load_never_written[] = { LDX(W, R6, R10, -4), DONE };
static const struct asm_insn atomic_never_written[] = {
	MOV(R6, 1), ATOMIC_ADD(DW, R10, -8, R6), DONE
};
static const struct asm_insn key_over_the_top[] = { ST(W, R10, -4, 1), MAP_LOOKUP(hash, -4), DONE };
static const struct asm_insn below_the_frame[] = {
	MOV_REG(R6, R10), ADD(R6, -500), ST(DW, R6, -20, 1), DONE
};
static const struct asm_insn above_the_frame[] = { MOV_REG(R6, R10), ST(W, R6, 0, 1), DONE };
static const struct asm_insn buffer_over_the_top[] = {
	FRAME_PTR(R1, -8), MOV(R2, 16), CALL(get_current_comm), DONE
};
static const struct asm_insn misaligned[] = { MOV_REG(R6, R10), ST(DW, R6, -12, 1), DONE };
static const struct asm_insn half_an_address[] = { STX(W, R10, -8, R1), DONE };

/* ---- values */

static const struct asm_insn unchecked[] = {
	ST(DW, R10, -8, 1), MAP_LOOKUP(hash, -8), LDX(DW, R1, R0, 0), DONE
};
static const struct asm_insn unchecked_copy[] = {
	ST(DW, R10, -8, 1), MAP_LOOKUP(hash, -8), MOV_REG(R7, R0), ST(DW, R7, 8, 1), DONE
};
static const struct asm_insn unchecked_on_one_way[] = {
	ST(DW, R10, -8, 1), ST(DW, R10, -16, 0), ST(DW, R10, -24, 0),
	MAP_LOOKUP_OR_INIT(hash, -8, -24), ATOMIC_ADD(DW, R0, 0, R10), DONE
};
static const struct asm_insn checked_the_wrong_way[] = {
	ST(DW, R10, -8, 1), MAP_LOOKUP(hash, -8), JNE(R0, 0, out), LDX(DW, R1, R0, 0),
	LABEL(out), DONE
};
static const struct asm_insn unchecked_sum[] = {
	ST(DW, R10, -8, 1), MAP_LOOKUP(hash, -8), ADD(R0, 8), DONE
};
static const struct asm_insn unchecked_argument[] = {
	ST(DW, R10, -8, 1), MAP_LOOKUP(hash, -8), MOV_REG(R1, R0), MOV(R2, 16),
	CALL(get_current_comm), DONE
};
static const struct asm_insn unchecked_array[] = {
	ST(W, R10, -4, 0), MAP_LOOKUP(array, -4), LDX(DW, R1, R0, 0), DONE
};
static const struct asm_insn unchecked_array_random[] = {
	FRAME_PTR(R1, -8), MOV(R2, 8), MOV(R3, 0), CALL(probe_read_kernel),
	MAP_LOOKUP(array, -8), LDX(DW, R1, R0, 0), DONE
};
static const struct asm_insn beyond_value[] = {
	ST(DW, R10, -8, 1), MAP_LOOKUP(hash, -8), JEQ(R0, 0, out), ST(DW, R0, 16, 1),
	LABEL(out), DONE
};
static const struct asm_insn across_end_of_value[] = {
	LD_MAP_VALUE(R1, stats, 8), LDX(DW, R2, R1, 4), DONE
};
static const struct asm_insn before_value[] = {
	LD_MAP_VALUE(R1, stats, 8), SUB(R1, 16), LDX(DW, R2, R1, 0), DONE
};
static const struct asm_insn index_too_large[] = {
	CALL(get_prandom_u32), AND(R0, 31), LD_MAP_VALUE(R1, stats, 0), ADD_REG(R1, R0),
	LDX(B, R2, R1, 0), DONE
};
static const struct asm_insn index_without_limit[] = {
	LDX(W, R7, R1, 0), LD_MAP_VALUE(R1, stats, 0), ADD_REG(R1, R7), LDX(B, R2, R1, 0), DONE
};
static const struct asm_insn index_may_be_negative[] = {
	LDX(DW, R7, R1, 0), LD_MAP_VALUE(R1, stats, 0), ADD_REG(R1, R7), DONE
};
static const struct asm_insn argument_beyond_value[] = {
	LD_MAP_VALUE(R1, stats, 8), MOV(R2, 16), CALL(get_current_comm), DONE
};

/* ---- addresses */

static const struct asm_insn number_followed[] = { LDX(DW, R6, R1, 0), LDX(DW, R7, R6, 0), DONE };
static const struct asm_insn task_followed[] = { CALL(get_current_task), LDX(DW, R7, R0, 0), DONE };
static const struct asm_insn address_multiplied[] = { MUL(R1, 8), DONE };
static const struct asm_insn address_masked[] = { MOV_REG(R6, R10), AND(R6, -8), DONE };
static const struct asm_insn subtracted_from_stack[] = { MOV_REG(R6, R10), SUB(R6, 8), DONE };
static const struct asm_insn context_missing[] = {
	MOV(R1, 0), LD_MAP(R2, stacks), MOV(R3, 0), CALL(get_stackid), DONE
};
static const struct asm_insn map_for_context[] = {
	LD_MAP(R1, stacks), LD_MAP(R2, stacks), MOV(R3, 0), CALL(get_stackid), DONE
};
static const struct asm_insn map_missing[] = {
	ST(DW, R10, -8, 1), MOV(R1, 5), FRAME_PTR(R2, -8), CALL(map_lookup_elem), DONE
};
static const struct asm_insn key_by_value[] = {
	LD_MAP(R1, hash), MOV(R2, 7), CALL(map_lookup_elem), DONE
};
static const struct asm_insn wrong_type_of_map[] = {
	LD_MAP(R2, hash), MOV(R3, 0), CALL(get_stackid), DONE
};
static const struct asm_insn size_may_be_negative[] = {
	LDX(DW, R2, R1, 8), LDX(DW, R3, R1, 0), FRAME_PTR(R1, -8), CALL(probe_read_kernel), DONE
};
static const struct asm_insn size_too_large[] = {
	LDX(DW, R2, R1, 8), AND(R2, 63), LDX(DW, R3, R1, 0), FRAME_PTR(R1, -8),
	CALL(probe_read_kernel), DONE
};
static const struct asm_insn record_number[] = {
	LDX(DW, R9, R1, 0), TO_BE(R9, 16), ADD(R9, 1), JSGT(R9, 255, out), LDX(B, R0, R9, 0),
	LABEL(out), DONE
};

/* ---- ring records */

static const struct asm_insn record_kept[] = {
	RING_RESERVE(ring, 16), JEQ(R0, 0, out), ST(DW, R0, 0, 1), LABEL(out), DONE
};
static const struct asm_insn record_kept_on_one_way[] = {
	RING_RESERVE(ring, 16), JEQ(R0, 0, out), MOV_REG(R6, R0), CALL(get_prandom_u32),
	JGT(R0, 7, out), RING_SUBMIT(R6, 0), LABEL(out), DONE
};
static const struct asm_insn record_unchecked[] = {
	RING_RESERVE(ring, 16), MOV_REG(R6, R0), ST(DW, R6, 0, 1), RING_SUBMIT(R6, 0), DONE
};
static const struct asm_insn record_submitted_unchecked[] = {
	RING_RESERVE(ring, 16), RING_SUBMIT(R0, 0), DONE
};
static const struct asm_insn record_beyond[] = {
	RING_RESERVE(ring, 16), JEQ(R0, 0, out), MOV_REG(R6, R0), ST(DW, R6, 16, 1),
	RING_SUBMIT(R6, 0), LABEL(out), DONE
};
static const struct asm_insn record_after_submit[] = {
	RING_RESERVE(ring, 16), JEQ(R0, 0, out), MOV_REG(R6, R0), RING_SUBMIT(R6, 0),
	ST(DW, R6, 0, 1), LABEL(out), DONE
};
static const struct asm_insn record_twice[] = {
	RING_RESERVE(ring, 16), JEQ(R0, 0, out), MOV_REG(R6, R0), RING_SUBMIT(R6, 0),
	RING_DISCARD(R6), LABEL(out), DONE
};
static const struct asm_insn record_of_no_constant[] = {
	LDX(DW, R2, R1, 0), AND(R2, 63), LD_MAP(R1, ring), MOV(R3, 0), CALL(ringbuf_reserve),
	DONE
};

/* ---- the way through the program */

static const struct asm_insn no_exit[] = { MOV(R0, 0) };
static const struct asm_insn function_without_end[] = {
	CALL_FUNC(one), CALL_FUNC(two), DONE, FUNC(one), MOV(R0, 1), FUNC(two), DONE
};
static const struct asm_insn never_ends[] = { LABEL(again), MOV(R6, 0), JA(again) };
static const struct asm_insn unreachable_lines[] = { DONE, MOV(R0, 1), MOV(R6, 2), EXIT() };
static const struct asm_insn unreachable_label[] = {
	JA(out), LABEL(unused), MOV(R6, 1), LABEL(out), DONE
};
static const struct asm_insn calls_itself[] = {
	CALL_FUNC(f), DONE, FUNC(f), MOV(R1, 0), CALL_FUNC(f), DONE,
};
static const struct asm_insn call_each_other[] = {
	CALL_FUNC(f), DONE, FUNC(f), MOV(R1, 0), CALL_FUNC(g), DONE, FUNC(g), MOV(R1, 0), CALL_FUNC(f), DONE,
};
/* Two ways to one function are no recursion. */
static const struct asm_insn called_twice[] = {
	CALL_FUNC(f), CALL_FUNC(g), DONE, FUNC(f), CALL_FUNC(g), DONE, FUNC(g), DONE,
};
static const struct asm_insn function_never_called[] = { DONE, FUNC(step), DONE };
static const struct asm_insn call_in_turn[] = {
	CALL_FUNC(one),	 DONE,		 FUNC(one), CALL_FUNC(two), DONE,
	FUNC(two),	 MOV(R1, 0),	 CALL_FUNC(three), DONE, FUNC(three), CALL_FUNC(one), DONE
};
static const struct asm_insn into_a_constant[] = {
	LDX(DW, R0, R1, 0), INSN(BPF_JMP | BPF_JEQ | BPF_K, R0, 0, 1, 0), LD_IMM64(R6, 1), DONE
};
static const struct asm_insn out_of_program[] = {
	MOV(R0, 0), INSN(BPF_JMP | BPF_JEQ | BPF_K, R0, 0, 7, 0), EXIT()
};
static const struct asm_insn into_another_function[] = {
	CALL_FUNC(step), DONE, FUNC(step), MOV(R0, 0),
	INSN(BPF_JMP | BPF_JEQ | BPF_K, R0, 0, -4, 0), EXIT()
};
static const struct asm_insn reserved_field[] = {
	INSN(BPF_ALU64 | BPF_MOV | BPF_K, R0, R3, 0, 0), EXIT()
};
static const struct asm_insn unknown_opcode[] = { INSN(0xff, 0, 0, 0, 0), DONE };
static const struct asm_insn unknown_atomic[] = {
	ST(DW, R10, -8, 0), MOV(R1, 1), INSN(0xdb, R10, R1, -8, 0x10), DONE
};
static const struct asm_insn unknown_helper[] = { INSN(BPF_JMP | BPF_CALL, 0, 0, 0, 9999), DONE };

/* clang-format on */
#include "lint_clean.h"
/* clang-format off */

#define LINT_LINES(lines_) .name = #lines_, .lines = lines_, .n = sizeof(lines_) / sizeof(lines_[0])
#define FAULT(lines_, at_, message_, ...)                                                          \
	{                                                                                          \
		LINT_LINES(lines_), .at = at_, .message = message_, __VA_ARGS__                    \
	}
#define CLEAN(lines_)                                                                              \
	{                                                                                          \
		LINT_LINES(lines_)                                                                 \
	}

static const struct lint_case lint_cases[] = {
	FAULT(read_unwritten, "MOV_REG(R0, R6)",
	      "R6 is read here, but nothing was written to it before"),
	FAULT(read_argument_that_is_none, "ADD_REG(R1, R2)",
	      "R2 is read here, but nothing was written to it before"),
	FAULT(read_after_call, "LDX(DW, R2, R1, 0)",
	      "R1 is read here, but the call at line N (CALL(get_current_pid_tgid)) "
	      "destroyed R1-R5: keep it in R6-R9"),
	FAULT(argument_after_call, "CALL(get_stackid)",
	      "R1 is read here, but the call at line N (CALL(get_stackid)) destroyed R1-R5: "
	      "keep it in R6-R9"),
	FAULT(written_on_one_way, "MOV_REG(R0, R6)",
	      "R6 is read here, but nothing was written to it before (on the way where the "
	      "jump at line N is taken)"),
	FAULT(second_way_first, "MOV_REG(R0, R6)",
	      "R6 is read here, but nothing was written to it before (on the way where the "
	      "jump at line N is not taken)"),
	FAULT(jump_on_unwritten, "JEQ(R8, 0, out)",
	      "R8 is read here, but nothing was written to it before"),
	FAULT(store_unwritten, "STX(DW, R10, -8, R7)",
	      "R7 is read here, but nothing was written to it before"),
	FAULT(no_result, "EXIT()",
	      "R0 is not set when the program ends here: it is the result, MOV(R0, 0) before "
	      "EXIT()"),
	FAULT(no_result_on_one_way, "EXIT()",
	      "R0 is not set when the program ends here (on the way where the jump at line N "
	      "is taken): it is the result, MOV(R0, 0) before EXIT()"),
	FAULT(result_of_nothing, "EXIT()",
	      "R0 is not set when the program ends here (on the way where the jump at line N "
	      "is not taken): it is the result, MOV(R0, 0) before EXIT()"),
	FAULT(callback_without_result, "EXIT()",
	      "R0 is not set when the callback ends here: it is the result, MOV(R0, 0) "
	      "before EXIT()"),
	FAULT(callee_saved_is_not_handed_down, "MOV_REG(R0, R6)",
	      "R6 is read here, but nothing was written to it before"),
	FAULT(writes_frame_pointer, "INSN(BPF_ALU64 | BPF_ADD | BPF_K, R10, 0, 0, 8)",
	      "R10 is the frame pointer: it is read only. Copy it, and change the copy"),
	FAULT(key_never_written, "MAP_LOOKUP(hash, -8): CALL(map_lookup_elem)",
	      "the key of 'hash', R10-8 to R10-1, was never written", .taken = true),
	FAULT(key_half_written, "MAP_LOOKUP(hash, -8): CALL(map_lookup_elem)",
	      "bytes 4-7 of the key of 'hash', R10-4 to R10-1, were never written", .taken = true),
	FAULT(key_with_a_hole, "MAP_LOOKUP(hash, -8): CALL(map_lookup_elem)",
	      "byte 6 of the key of 'hash', R10-2, was never written", .taken = true),
	FAULT(key_written_on_one_way, "MAP_LOOKUP(hash, -8): CALL(map_lookup_elem)",
	      "the key of 'hash', R10-8 to R10-1, was never written (on the way where the "
	      "jump at line N is taken)", .taken = true),
	FAULT(value_never_written, "MAP_UPDATE(hash, -8, -24, BPF_ANY): CALL(map_update_elem)",
	      "the value of 'hash', R10-24 to R10-9, was never written", .taken = true),
	FAULT(output_half_written, "CALL(ringbuf_output)",
	      "bytes 8-15 of what is read, R10-8 to R10-1, were never written", .taken = true),
	FAULT(load_never_written, "LDX(W, R6, R10, -4)",
	      "what is read, R10-4 to R10-1, was never written", .taken = true),
	FAULT(atomic_never_written, "ATOMIC_ADD(DW, R10, -8, R6)",
	      "what is changed, R10-8 to R10-1, was never written", .taken = true),
	FAULT(key_over_the_top, "MAP_LOOKUP(hash, -4): CALL(map_lookup_elem)",
	      "the key of 'hash' of 8 bytes at R10-4: the stack frame reaches from R10-512 "
	      "to R10-1"),
	FAULT(below_the_frame, "ST(DW, R6, -20, 1)",
	      "a store of 8 bytes at R10-520: the stack frame reaches from R10-512 to R10-1"),
	FAULT(above_the_frame, "ST(W, R6, 0, 1)",
	      "a store of 4 bytes at R10+0: the stack frame reaches from R10-512 to R10-1"),
	FAULT(buffer_over_the_top, "CALL(get_current_comm)",
	      "a write of 16 bytes at R10-8: the stack frame reaches from R10-512 to R10-1"),
	FAULT(misaligned, "ST(DW, R6, -12, 1)",
	      "misaligned: 8 bytes of the stack at R10-12, which is no multiple of 8"),
	FAULT(half_an_address, "STX(W, R10, -8, R1)",
	      "invalid size of register spill: R1 holds an address, of which 4 bytes would "
	      "be kept: STX(DW, ...)"),
	FAULT(unchecked, "LDX(DW, R1, R0, 0)",
	      "R0 may be 0 here: it is what MAP_LOOKUP(hash, -8): CALL(map_lookup_elem) at "
	      "line N returned, and nothing has compared it with 0 since (JEQ(R0, 0, ...))"),
	FAULT(unchecked_copy, "ST(DW, R7, 8, 1)",
	      "R7 may be 0 here: it is what MAP_LOOKUP(hash, -8): CALL(map_lookup_elem) at "
	      "line N returned, and nothing has compared it with 0 since (JEQ(R7, 0, ...))"),
	FAULT(unchecked_on_one_way, "ATOMIC_ADD(DW, R0, 0, R10)",
	      "R0 may be 0 here: it is what MAP_LOOKUP_OR_INIT(hash, -8, -24): "
	      "CALL(map_lookup_elem) at line N returned, and nothing has compared it with 0 "
	      "since (JEQ(R0, 0, ...))"),
	FAULT(checked_the_wrong_way, "LDX(DW, R1, R0, 0)",
	      "R0 is 0 here: there is nothing to follow"),
	FAULT(unchecked_sum, "ADD(R0, 8)",
	      "R0 may be 0 here, and nothing may be added to it before it is compared with "
	      "0: it is what MAP_LOOKUP(hash, -8): CALL(map_lookup_elem) at line N returned"),
	FAULT(unchecked_argument, "CALL(get_current_comm)",
	      "R1 may be 0 here: it is what MAP_LOOKUP(hash, -8): CALL(map_lookup_elem) at "
	      "line N returned, and nothing has compared it with 0 since (JEQ(R1, 0, ...))"),
	FAULT(unchecked_array, "LDX(DW, R1, R0, 0)",
	      "R0 is not compared with 0 after MAP_LOOKUP(array, -4): CALL(map_lookup_elem) "
	      "at line N: that the element exists is known only to newer kernels, older ones "
	      "refuse this", .warning = true, .taken = true),
	FAULT(unchecked_array_random, "LDX(DW, R1, R0, 0)",
	      "R0 may be 0 here: it is what MAP_LOOKUP(array, -8): CALL(map_lookup_elem) at "
	      "line N returned, and nothing has compared it with 0 since (JEQ(R0, 0, ...))"),
	FAULT(beyond_value, "ST(DW, R0, 16, 1)",
	      "a store of 8 bytes at offset 16 of a value of 'hash', which has 16 bytes"),
	FAULT(across_end_of_value, "LDX(DW, R2, R1, 4)",
	      "a load of 8 bytes at offset 12 of a value of 'stats', which has 16 bytes"),
	FAULT(before_value, "LDX(DW, R2, R1, 0)",
	      "a load of 8 bytes at offset -8 of a value of 'stats', which has 16 bytes"),
	FAULT(index_too_large, "LDX(B, R2, R1, 0)",
	      "a load of 1 byte at offset up to 31 of a value of 'stats', which has 16 bytes"),
	FAULT(index_without_limit, "LDX(B, R2, R1, 0)",
	      "a load at an offset without limit of a value of 'stats', which has 16 bytes: "
	      "compare the number, or AND it with a mask, before it is added"),
	FAULT(index_may_be_negative, "ADD_REG(R1, R7)",
	      "R7 has no lower limit here: compare it, or AND it with a mask, before it "
	      "moves an address"),
	FAULT(argument_beyond_value, "CALL(get_current_comm)",
	      "a write of 16 bytes at offset 8 of a value of 'stats', which has 16 bytes"),
	FAULT(number_followed, "LDX(DW, R7, R6, 0)",
	      "R6 is a number, not an address that may be followed: read kernel or user "
	      "memory with READ_KERNEL() or READ_USER()"),
	FAULT(task_followed, "LDX(DW, R7, R0, 0)",
	      "R0 is a number, not an address that may be followed: read kernel or user "
	      "memory with READ_KERNEL() or READ_USER()"),
	FAULT(address_multiplied, "MUL(R1, 8)",
	      "R1 holds an address, which cannot be multiplied: numbers may be added to it "
	      "and subtracted from it"),
	FAULT(address_masked, "AND(R6, -8)",
	      "R6 holds an address, which cannot be changed bit by bit: numbers may be added "
	      "to it and subtracted from it"),
	FAULT(subtracted_from_stack, "SUB(R6, 8)",
	      "nothing may be subtracted from an address in the stack: add a negative number"),
	FAULT(context_missing, "CALL(get_stackid)",
	      "R1 of CALL(get_stackid) has to be the context, which is in R1 when the "
	      "program starts, here it is a number"),
	FAULT(map_for_context, "CALL(get_stackid)",
	      "R1 of CALL(get_stackid) has to be the context, which is in R1 when the "
	      "program starts, here it is a map"),
	FAULT(map_missing, "CALL(map_lookup_elem)",
	      "R1 of CALL(map_lookup_elem) has to be a map (LD_MAP), here it is a number"),
	FAULT(key_by_value, "CALL(map_lookup_elem)",
	      "R2 of CALL(map_lookup_elem) has to be the address of the key of 'hash', here "
	      "it is a number"),
	FAULT(wrong_type_of_map, "CALL(get_stackid)",
	      "CALL(get_stackid) wants a map of BPF_MAP_TYPE_STACK_TRACE, which 'hash' is not"),
	FAULT(size_may_be_negative, "CALL(probe_read_kernel)",
	      "R2 of CALL(probe_read_kernel) is a number of bytes and may be negative here: "
	      "compare it, or AND it with a mask"),
	FAULT(size_too_large, "CALL(probe_read_kernel)",
	      "a write of 63 bytes at R10-8: the stack frame reaches from R10-512 to R10-1"),
	FAULT(record_number, "LDX(B, R0, R9, 0)",
	      "R9 is a number, not an address that may be followed: read kernel or user "
	      "memory with READ_KERNEL() or READ_USER()"),
	FAULT(record_kept, "RING_RESERVE(ring, 16): CALL(ringbuf_reserve)",
	      "what is reserved here is neither submitted nor discarded on a path that ends "
	      "at line N (on the way where the jump at line N is not taken)"),
	FAULT(record_kept_on_one_way, "RING_RESERVE(ring, 16): CALL(ringbuf_reserve)",
	      "what is reserved here is neither submitted nor discarded on a path that ends "
	      "at line N (on the way where the jump at line N is taken)"),
	FAULT(record_unchecked, "ST(DW, R6, 0, 1)",
	      "R6 may be 0 here: it is what RING_RESERVE(ring, 16): CALL(ringbuf_reserve) at "
	      "line N returned, and nothing has compared it with 0 since (JEQ(R6, 0, ...))"),
	FAULT(record_submitted_unchecked, "RING_SUBMIT(R0, 0): CALL(ringbuf_submit)",
	      "R1 may be 0 here: it is what RING_RESERVE(ring, 16): CALL(ringbuf_reserve) at "
	      "line N returned, and nothing has compared it with 0 since (JEQ(R1, 0, ...))"),
	FAULT(record_beyond, "ST(DW, R6, 16, 1)",
	      "a store of 8 bytes at offset 16 of the 16 bytes that were reserved at line N"),
	FAULT(record_after_submit, "ST(DW, R6, 0, 1)",
	      "R6 points to a ring record that RING_SUBMIT(R6, 0): CALL(ringbuf_submit) at "
	      "line N has given back"),
	FAULT(record_twice, "RING_DISCARD(R6): CALL(ringbuf_discard)",
	      "the ring record in R1 was already given back by RING_SUBMIT(R6, 0): "
	      "CALL(ringbuf_submit) at line N"),
	FAULT(record_of_no_constant, "CALL(ringbuf_reserve)",
	      "R2 of CALL(ringbuf_reserve) has to be a constant"),
	FAULT(no_exit, "MOV(R0, 0)",
	      "the program runs off its end: EXIT() is missing"),
	FAULT(function_without_end, "MOV(R0, 1)",
	      "'one' runs from here into 'two': an EXIT() or a jump is missing"),
	FAULT(never_ends, "MOV(R6, 0)",
	      "the program never ends: no path leads to an EXIT()"),
	FAULT(unreachable_lines, "MOV(R0, 1)",
	      "unreachable: what stands above it does not go on, and there is no label to "
	      "jump to (3 instructions)"),
	FAULT(unreachable_label, "MOV(R6, 1)",
	      "unreachable: label 'unused' is never reached, nothing jumps to it and what "
	      "stands above it does not go on (1 instruction)"),
	FAULT(calls_itself, "CALL_FUNC(f)",
	      "f calls itself: a program may not call itself; loop by a jump or bpf_loop"),
	FAULT(call_each_other, "CALL_FUNC(g)",
	      "f calls g, which calls f: a program may not call itself; loop by a jump or bpf_loop"),
	CLEAN(called_twice),
	FAULT(function_never_called, "MOV(R0, 0)",
	      "unreachable: function 'step' is never called"),
	FAULT(call_in_turn, "CALL_FUNC(two)",
	      "one calls two, which calls three, which calls one: a program may not call itself; "
	      "loop by a jump or bpf_loop"),
	FAULT(into_a_constant, "INSN(BPF_JMP | BPF_JEQ | BPF_K, R0, 0, 1, 0)",
	      "the jump leads into the middle of a 64-bit constant: instruction 3 is the "
	      "second half of LD_IMM64(R6, 1)"),
	FAULT(out_of_program, "INSN(BPF_JMP | BPF_JEQ | BPF_K, R0, 0, 7, 0)",
	      "the jump leads out of the program, to instruction 9"),
	FAULT(into_another_function, "INSN(BPF_JMP | BPF_JEQ | BPF_K, R0, 0, -4, 0)",
	      "the jump leads into another function, to instruction 1"),
	FAULT(reserved_field, "INSN(BPF_ALU64 | BPF_MOV | BPF_K, R0, R3, 0, 0)",
	      "BPF_MOV uses reserved fields: one that it does not use is not 0"),
	FAULT(unknown_opcode, "INSN(0xff, 0, 0, 0, 0)",
	      "unknown opcode ff: there is no such instruction"),
	FAULT(unknown_atomic, "INSN(0xdb, R10, R1, -8, 0x10)",
	      "there is no such atomic operation"),
	FAULT(unknown_helper, "INSN(BPF_JMP | BPF_CALL, 0, 0, 0, 9999)",
	      "there is no helper of this number"),
	CLEAN(saved_context),
	CLEAN(same_condition_twice),
	CLEAN(flag_says_so),
	CLEAN(narrower_and_narrower),
	CLEAN(signed_and_unsigned),
	CLEAN(index_checked),
	CLEAN(index_of_a_copy_checked),
	CLEAN(spilled_and_filled),
	CLEAN(spilled_result_checked),
	CLEAN(written_by_helper),
	CLEAN(written_in_a_loop),
	CLEAN(after_a_loop),
	CLEAN(callback_writes_the_stack),
	CLEAN(function_writes_the_stack),
	CLEAN(for_each_element),
	CLEAN(record_submitted),
	CLEAN(variable_size),
	CLEAN(length_of_a_string),
	CLEAN(read_and_filters),
	CLEAN(histograms),
	CLEAN(lookup_or_init),
	CLEAN(atomics),
	CLEAN(task_by_type),
	CLEAN(halves),
	CLEAN(masks),
};
/* clang-format on */
#define LINT_CASES (sizeof(lint_cases) / sizeof(lint_cases[0]))

#endif
