/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * func: how long do calls of a function take, how many are there, from where?
 *
 *	entry	which thread, where is its stack?	-> the calls that it is in
 *	return	the time between			-> sums, by function: a histogram
 *
 * The time of an entry is taken last and that of a return first, so that what lies between is the
 * function, and not these programs.
 */
#include "func.h"
#include "base/machine.h"
#include "programs/shared/new_value.h"

static const struct asm_layout stats_layout = ASM_LAYOUT(
	struct func_stats, common, returned, shorter, left, thread_ended, threads_full, too_deep,
	too_nested, sums_full, values_full, calls_full, events_full, no_entry, stacks_lost, inside);
static const struct asm_layout page_key_layout = ASM_LAYOUT(struct func_page_key, thread, number);
static const struct asm_layout page_layout =
	ASM_LAYOUT(struct func_page, thread, ids, now, depth, pages, payer, at, left);
static const struct asm_layout key_layout = ASM_LAYOUT(struct func_key, function, who, comm);
static const struct asm_layout sum_layout =
	ASM_LAYOUT(struct func_sum, entered, left, untimed, inner_ns, hist.sum, hist.not_least,
		   hist.greatest, hist.slots);
static const struct asm_layout value_key_layout =
	ASM_LAYOUT(struct func_value_key, function, value, wide);
static const struct asm_layout value_layout = ASM_LAYOUT(struct func_value, count, ns);

const struct asm_map rp_func_maps[FUNC_MAPS] = {
	STACK_MAP_LIST(STACK_COUNTS_MAP(2), struct func_stats, stats_layout),
	[FUNC_MAP_CALLS] = { "calls", BPF_MAP_TYPE_HASH, sizeof(struct func_page_key),
			     FUNC_PAGE_BYTES(FUNC_SHORT_CALL), FUNC_PLACES, .key = &page_key_layout,
			     .value = &page_layout },
	[FUNC_MAP_SUMS] = { "sums", BPF_MAP_TYPE_PERCPU_ARRAY, FUNC_ARRAY_KEY,
			    sizeof(struct func_sum), 1, .value = &sum_layout },
	[FUNC_MAP_VALUES] = { "values", BPF_MAP_TYPE_HASH, sizeof(struct func_value_key),
			      sizeof(struct func_value), 1, .key = &value_key_layout,
			      .value = &value_layout },
	[FUNC_MAP_EVENTS] = { "calls_ring", BPF_MAP_TYPE_RINGBUF, 0, 0, 1 << 16 },
	[FUNC_MAP_SYSCALLS] = { "syscalls", BPF_MAP_TYPE_ARRAY, 4, 4, 1 },
	[FUNC_MAP_GATE] = { "gate", BPF_MAP_TYPE_ARRAY, 4, 8, 1 },
	[FUNC_MAP_NO_PAGE] = { "no_page", BPF_MAP_TYPE_ARRAY, 4, FUNC_PAGE_BYTES(FUNC_SHORT_CALL),
			       1, .value = &page_layout },
	[FUNC_MAP_NO_SUM] = { "no_sum", BPF_MAP_TYPE_ARRAY, 4, sizeof(struct func_sum), 1,
			      .value = &sum_layout },
	[FUNC_MAP_SHARES] = SHARE_MAP(FUNC_SHARES),
};

/* Offsets in a page, a call, a sum. */
enum {
	IDS = offsetof(struct func_page, ids),
	DEPTH = offsetof(struct func_page, depth),
	CALL_SP = offsetof(struct func_call, sp),
	CALL_START = offsetof(struct func_call, start),
	CALL_INNER = offsetof(struct func_call, inner_ns),
	CALL_FUNCTION = offsetof(struct func_call, function),
	CALL_LINK = offsetof(struct func_call, link)
};
enum {
	SUM_ENTERED = offsetof(struct func_sum, entered),
	SUM_UNTIMED = offsetof(struct func_sum, untimed),
	SUM_INNER = offsetof(struct func_sum, inner_ns),
	SUM_HIST = offsetof(struct func_sum, hist)
};
_Static_assert(sizeof(((struct func_sum *)0)->hist) ==
		       sizeof(struct asm_hist) + 8 * FUNC_HIST_SLOTS,
	       "the sum has a struct asm_hist");

/* ---- sums */

ASM_FRAME(sum_frame,
	(struct func_key, key, KEY, &key_layout),
	(key.function, KEY_FUNCTION),
	(key.who, KEY_WHO),
	(key.comm, KEY_COMM));

/* clang-format off */
static const struct asm_insn sum_lines[] = {
	/* func_sum(function, process << 32 | thread): what its calls come to; 0: no room. */
FUNC(func_sum),
	STX(W, R10, KEY_FUNCTION, R1),
	/* Nothing is found as fast as the element of an array of this CPU. */
	WHEN(struct func_config, by_function),
		MAP_LOOKUP(sums, KEY_FUNCTION),
		EXIT(),
	END,
	UNLESS(struct func_config, by_function),
		WHEN(struct func_config, by_process),
			RSH(R2, 32),
			STX(W, R10, KEY_WHO, R2),
		END,
		UNLESS(struct func_config, by_process),
			ST(W, R10, KEY_WHO, 0),
			WHEN(struct func_config, by_thread),
				STX(W, R10, KEY_WHO, R2),
			END,
		END,
		UNLESS(struct func_config, by_comm),
			ZERO(KEY_COMM, 16),
		END,
		WHEN(struct func_config, by_comm),
			READ_COMM(KEY_COMM),
		END,
		MAP_LOOKUP(sums, KEY),
		JNE(R0, 0, out),
		WHEN(struct func_config, by_comm), /* as by thread and process, too */
			SHARE_OR(FUNC_SHARE_SUMS,
				 LD_PARAM(R2, struct func_config, most_sums), out),
		END,
		MAP_NEW_VALUE(sums, KEY, no_sum),
LABEL(out),
		EXIT(),
	END,
};
/* clang-format on */
const struct asm_part rp_func_sum_part = { ASM_LINES(sum_lines),
					   ASM_FRAMES({ "func_sum", &sum_frame_layout }) };

/* clang-format off */
static const struct asm_insn count_lines[] = {
	/* func_count(function): the current thread begins a call, and that is all. */
FUNC(func_count),
	MOV_REG(R6, R1),
	COUNT(stats, struct func_stats, common.fired),
	WHEN(struct func_config, asks_who),
		CALL_FUNC(target_ids),
		JEQ(R0, -1, filtered),
		MOV_REG(R2, R0),
	END,
	MOV_REG(R1, R6),
	CALL_FUNC(func_sum),
	JEQ(R0, 0, no_room),
	MOV(R1, 1),
	ATOMIC_ADD(DW, R0, SUM_ENTERED, R1),
	EXIT(),
LABEL(no_room),
	COUNT(stats, struct func_stats, sums_full),
	MOV(R0, 0),
	EXIT(),
	WHEN(struct func_config, asks_who),
LABEL(filtered),
		COUNT(stats, struct func_stats, common.filtered),
		MOV(R0, 0),
		EXIT(),
		INCLUDE(&rp_target_part),
	END,
};
/* clang-format on */
const struct asm_part rp_func_count_part = { ASM_LINES(count_lines) };

/* ---- the entry */

ASM_FRAME(enter_frame,
	(uint64_t, context, ENTER_CONTEXT),
	(uint64_t, thread, ENTER_THREAD),
	(uint64_t, ids, ENTER_IDS),
	(uint64_t, link, LINK));

/* More a thread may not have at a time: MAX_URETPROBE_DEPTH of include/linux/uprobes.h. */
#define RETURN_PROBES 64

/* clang-format off */
/* R0 = the innermost call of the thread with this first page; to the label if it has none. */
#define LD_TOP(page, none)                                                                         \
	LDX(W, R2, page, DEPTH),                                                                   \
	JEQ(R2, 0, none),                                                                          \
	SUB(R2, 1),                                                                                \
	MOV_REG(R1, page),                                                                         \
	CALL_FUNC(func_slot),                                                                      \
	JEQ(R0, 0, none) /* never */
#define UNWIND_BEGUN(how)                                                                          \
	CALL(ktime_get_ns),                                                                        \
	MOV_REG(R5, R0),                                                                           \
	MOV_REG(R1, R6),                                                                           \
	MOV_REG(R2, R7),                                                                           \
	MOV(R3, 0),                                                                                \
	MOV(R4, how),                                                                              \
	CALL_FUNC(func_unwind)

static const struct asm_insn enter_lines[] = {
	/* func_enter(context, stack pointer, function, thread) */
FUNC(func_enter),
	STX(DW, R10, ENTER_CONTEXT, R1),
	STX(DW, R10, ENTER_THREAD, R4),
	MOV_REG(R7, R2),
	MOV_REG(R8, R3),
	COUNT(stats, struct func_stats, common.fired),
	CALL_FUNC(target_ids),
	JEQ(R0, -1, filtered),
	STX(DW, R10, ENTER_IDS, R0),

	/* R6 = the first page of the thread. */
	LDX(DW, R1, R10, ENTER_THREAD),
	CALL_FUNC(func_thread),
	JNE(R0, 0, known),
	LDX(DW, R1, R10, ENTER_THREAD),
	MOV(R2, 0),
	CALL_FUNC(func_page),
	JEQ(R0, 0, threads_full),
LABEL(known),
	MOV_REG(R6, R0),
	LDX(DW, R1, R10, ENTER_IDS),
	STX(DW, R6, IDS, R1),

	/* Whoever calls, its stack pointer is above: what is not has been left. */
	UNLESS(struct func_config, kernel),
		LD_TOP(R6, outermost),
		LDX(DW, R1, R0, CALL_SP),
		JGT_REG(R1, R7, outermost),
		JEQ_REG(R1, R7, equal),
		UNWIND_BEGUN(FUNC_UNWIND_ENTRY),
		LD_TOP(R6, outermost),
		LDX(DW, R1, R0, CALL_SP),
		JNE_REG(R1, R7, outermost),
LABEL(equal),
		/* Go begins it anew on a larger stack: the same call. */
		WHEN(struct func_config, probe.go),
			LDX(W, R1, R0, CALL_FUNCTION),
			JEQ_REG(R1, R8, again),
		END,
		MOV_REG(R1, R0),
		LDX(DW, R2, R10, ENTER_CONTEXT),
		MOV_REG(R3, R7),
		MOV_REG(R4, R8),
		CALL_FUNC(func_jumped),
		JNE(R0, 0, outermost),
		UNWIND_BEGUN(FUNC_UNWIND_ENTRY_EQUAL),
LABEL(outermost),
	END,

	/* R9 = its number, R0 = the call. */
	LDX(W, R9, R6, DEPTH),
	JGE_PARAM(R9, struct func_config, most_depth, too_deep),
	UNLESS(struct func_config, kernel),
	UNLESS(struct func_config, at_returns),
	WHEN(struct func_config, knows_task),
		JLT(R9, RETURN_PROBES, not_nested),
		CALL(get_current_task_btf),
		LD_FIELD(R1, R0, "task_struct", "utask.depth"),
		JSGE(R1, RETURN_PROBES, too_nested),
LABEL(not_nested),
	END,
	END,
	END,
	JLT(R9, FUNC_PAGE_CALLS, on_first_page),
	MOV_REG(R1, R6),
	MOV_REG(R2, R9),
	CALL_FUNC(func_next_page),
LABEL(on_first_page),
	MOV_REG(R1, R6),
	MOV_REG(R2, R9),
	CALL_FUNC(func_slot),
	JEQ(R0, 0, threads_full),

	/* An interrupt may come between these lines, and begin and end calls of its own behind. */
	ADD(R9, 1),
	STX(W, R6, DEPTH, R9),
	STX(W, R0, CALL_FUNCTION, R8),
	STX(DW, R0, CALL_SP, R7),
	ST(DW, R0, CALL_INNER, 0),
	WHEN(struct func_config, at_returns),
		MOV_REG(R6, R0),
		LDX(DW, R1, R10, ENTER_CONTEXT),
		READ_RETURN_ADDRESS(LINK, R1, R7),
		LDX(DW, R1, R10, LINK),
		STX(W, R6, CALL_LINK, R1),
		MOV_REG(R0, R6),
	END,
	EXIT(),

	UNLESS(struct func_config, kernel),
		WHEN(struct func_config, probe.go),
LABEL(again),
			LD_MAP_VALUE(R1, stats, offsetof(struct func_stats, common.fired)),
			MOV(R2, -1),
			ATOMIC_ADD(DW, R1, 0, R2),
			MOV(R0, 0),
			EXIT(),
		END,
	END,
LABEL(filtered),
	COUNT(stats, struct func_stats, common.filtered),
	MOV(R0, 0),
	EXIT(),
LABEL(too_deep),
	COUNT(stats, struct func_stats, too_deep),
	MOV(R0, 0),
	EXIT(),
LABEL(threads_full),
	COUNT(stats, struct func_stats, threads_full),
	MOV(R0, 0),
	EXIT(),
	UNLESS(struct func_config, kernel),
	UNLESS(struct func_config, at_returns),
	WHEN(struct func_config, knows_task),
LABEL(too_nested),
		COUNT(stats, struct func_stats, too_nested),
		WHEN(struct func_config, sums),
			MOV_REG(R1, R8),
			LDX(DW, R2, R6, IDS),
			CALL_FUNC(func_sum),
			JEQ(R0, 0, no_sum),
			MOV(R1, 1),
			ATOMIC_ADD(DW, R0, SUM_UNTIMED, R1),
LABEL(no_sum),
		END,
		MOV(R0, 0),
		EXIT(),
	END,
	END,
	END,
};
/* clang-format on */
const struct asm_part rp_func_enter_part = { ASM_LINES(enter_lines),
					     ASM_FRAMES({ "func_enter", &enter_frame_layout }) };

ASM_FRAME(jumped_frame,
	(uint64_t, link, JUMPED_LINK),
	(uint64_t, trampoline, TRAMPOLINE));

/* clang-format off */
static const struct asm_insn jumped_lines[] = {
	/*
	 * func_jumped(call, context, stack pointer, function): a call begins with the stack pointer
	 * of one that has not ended. 1 if the latter has jumped to it, and goes on as it (a tail
	 * call); 0 if it was left, and its caller has called anew.
	 */
FUNC(func_jumped),
	MOV_REG(R6, R1),
	MOV_REG(R7, R2),
	MOV_REG(R8, R3),
	LDX(W, R9, R6, CALL_FUNCTION),
	SUB_REG(R9, R4),
	WHEN(struct func_config, at_returns),
		JEQ(R9, 0, left),
		READ_RETURN_ADDRESS(JUMPED_LINK, R7, R8),
		LDX(W, R1, R10, JUMPED_LINK),
		LDX(W, R2, R6, CALL_LINK),
		JNE_REG(R1, R2, left),
	END,
	UNLESS(struct func_config, at_returns),
		WHEN(struct func_config, knows_task),
			/* Then its return probe has put its address in the caller's place. */
			READ_RETURN_ADDRESS(JUMPED_LINK, R7, R8),
			CALL(get_current_task_btf),
			LD_FIELD(R1, R0, "task_struct", "mm.uprobes_state.xol_area"),
			READ_FIELD(TRAMPOLINE, R1, "xol_area", "vaddr"),
			LDX(DW, R1, R10, JUMPED_LINK),
			LDX(DW, R2, R10, TRAMPOLINE),
			JNE_REG(R1, R2, left),
		END,
		UNLESS(struct func_config, knows_task),
			JEQ(R9, 0, left),
		END,
	END,
	MOV(R0, 1),
	EXIT(),
LABEL(left),
	MOV(R0, 0),
	EXIT(),
};
/* clang-format on */
const struct asm_part rp_func_jumped_part = { ASM_LINES(jumped_lines),
					      ASM_FRAMES({ "func_jumped", &jumped_frame_layout }) };
