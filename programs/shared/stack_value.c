/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack_value: has this stack been seen before?
 *
 * Then its weights lie in the map counts, under its hash, and the answer is where. Else its record
 * travels to user space through the ring, and the hash is remembered. Two kinds of map can do that:
 *
 *	a hash map	where other programs look up the weights of a hash too
 *	our own table	where none does: a bit for what was seen once, a place for what comes again
 *
 * Most of what a sampler sees at some hundred samples a second it sees for the first time, and the
 * processor has forgotten what it knew at the sample before. So what counts is how many lines of
 * memory it takes to say "new", and to remember: a hash map's look-up and update together took 1.1
 * us there, the bit takes one line.
 */
#include <errno.h>

#include "stack_frame.h"
#include "stream.h"

/* The stack frame of stack_value. */
ASM_FRAME(value_frame,
	(uint64_t[STACK_VALUES], none, NONE), /* what a new key starts with */
	(uint32_t, id, SEEN_KEY), /* a pid and */
	/* which program it is, start time and exec id: the key of seen */
	(uint32_t, generation, SEEN_GENERATION));

/*
 * Ends of walks that rules which are not there yet may be the cause of. In seen is who had them
 * and where: a process, marked so that it is no key of a program, and a megabyte of its code.
 */
enum {
	ENDS_EARLY = 1 << UNWIND_RA_ZERO | 1 << UNWIND_FP_ZERO | 1 << UNWIND_NO_MAPPING |
		     1 << UNWIND_FP_BAD | 1 << UNWIND_NOT_UP | 1 << UNWIND_READ,
	NO_PID = 1 << 30,
	LOST_SHIFT = 20
};

/* Offsets in a place of the table. */
enum {
	COUNT_HASH = offsetof(struct stack_count, hash),
	COUNT_OWNERS = offsetof(struct stack_count, owners),
	COUNT_VALUES = offsetof(struct stack_count, value),
	COUNT_BYTES = sizeof(struct stack_count),
	BUCKET_SHIFT = 8
};
/* Where in the table a place is. */
enum { NO_PLACE = -1, PLACE_MASK = (STACK_PLACES - 1) * COUNT_BYTES };
_Static_assert(STACK_WAYS *COUNT_BYTES == 1 << BUCKET_SHIFT, "stack_value shifts");

/* Offsets in an element of the map times. */
enum {
	TIMES_WRITTEN = offsetof(struct stack_times, written),
	TIMES_HASH = offsetof(struct stack_times, sample[0].hash),
	TIMES_TIME = offsetof(struct stack_times, sample[0].time),
	TIMES_WEIGHT = offsetof(struct stack_times, sample[0].weight)
};

/* clang-format off */
/* To the label if the place at R6 is that of hash R1, or free; else on to the next one. */
#define TRY_PLACE(known, nobodys)                                                                  \
	LDX(DW, R2, R6, COUNT_HASH),                                                               \
	JEQ_REG(R2, R1, known),                                                                    \
	JEQ(R2, 0, nobodys),                                                                       \
	ADD(R6, COUNT_BYTES)

/*
 * In this CPU's row of the map times, of the stack of the record at R8; R1 to R5 are lost.
 * written is stored last, which another processor may see first: who reads waits (record/times.c).
 */
#define WRITE_TIME(out)                                                                            \
	CALL(get_smp_processor_id),                                                                \
	STX(W, R10, SEEN_KEY, R0),                                                                 \
	MAP_LOOKUP(times, SEEN_KEY),                                                               \
	JEQ(R0, 0, out), /* never */                                                               \
	LDX(DW, R1, R0, TIMES_WRITTEN),                                                            \
	LD_PARAM(R2, struct program_config, times_mask),                                           \
	AND_REG(R2, R1),                                                                           \
	MUL(R2, sizeof(struct stack_time)),                                                        \
	ADD_REG(R2, R0),                                                                           \
	LDX(DW, R3, R8, HASH),                                                                     \
	STX(DW, R2, TIMES_HASH, R3),                                                               \
	LDX(DW, R3, R8, TIME),                                                                     \
	STX(DW, R2, TIMES_TIME, R3),                                                               \
	LDX(DW, R3, R8, VALUE + 8),                                                                \
	STX(DW, R2, TIMES_WEIGHT, R3),                                                             \
	ADD(R1, 1),                                                                                \
	STX(DW, R0, TIMES_WRITTEN, R1)
/*
 * Sends the time of a stack that is known, with the values of its record at R8, and leaves R0 as it
 * is. Most values are not there yet: those of a wait are added when it is over.
 */
#define SEND_TIME                                                                                  \
	WHEN(struct program_config, stream),                                                       \
		SCOPE("SEND_TIME"),                                                                \
			LDX(DW, R5, R8, VALUE),                                                    \
			JEQ(R5, 0, .nothing),                                                      \
			MOV_REG(R7, R0),                                                           \
			WHEN(struct program_config, times_mask),                                   \
				WRITE_TIME(.written),                                              \
				LABEL(.written),                                                   \
			END,                                                                       \
			UNLESS(struct program_config, times_mask),                                 \
				LDX(DW, R1, R8, HASH),                                             \
				MOV(R2, 0),                                                        \
				MOV(R3, 0),                                                        \
				LDX(DW, R4, R8, VALUE + 8),                                        \
				MOV32_REG(R5, R5),                                                 \
				CALL_FUNC(stream_moment),                                          \
			END,                                                                       \
			MOV_REG(R0, R7),                                                           \
			LABEL(.nothing),                                                           \
		END,                                                                               \
	END

static const struct asm_insn value_lines[] = {
	/* stack_value(record): its values in the map, or 0 when the record was sent instead. */
FUNC(stack_value),
	MOV_REG(R8, R1),
	/*
	 * What no table or no rule was known for is not counted here: it is another stack when it
	 * has been walked again.
	 */
	WHEN(struct program_config, copies),
		LDX(W, R1, R8, USER_END),
		MOV(R2, STACK_COPY_TABLE),
		JEQ(R1, UNWIND_NO_MAPPING, unwalked),
		JEQ32(R1, STACK_NO_TABLE, unwalked),
		MOV(R2, STACK_COPY_RULE),
		JGT(R1, UNWIND_READ, as_it_is),
		MOV(R3, 1),
		LSH_REG(R3, R1),
		AND(R3, ENDS_EARLY),
		JNE(R3, 0, unwalked),
		LDX(W, R1, R8, RECORD_FRESH),
		RSH(R1, STACK_LACKED_SHIFT),
		JNE(R1, 0, unwalked),
LABEL(as_it_is),
	END,
	UNLESS(struct program_config, each),
		UNLESS(struct program_config, table),
			LD_MAP(R1, counts),
			MOV_REG(R2, R8),
			CALL(map_lookup_elem),
			JEQ(R0, 0, first_sight),
			SEND_TIME,
			EXIT(),
		END,
		WHEN(struct program_config, table),
			/* R2 = the word of its bit, R3 = the bit, R6 = no place. */
			LDX(DW, R1, R8, HASH),
			MOV_REG(R4, R1),
			RSH(R4, 64 - STACK_ONCE_SHIFT),
			MOV(R3, 1),
			LSH_REG(R3, R4), /* by the lowest 6 bits of it */
			RSH(R4, 6),
			LSH(R4, 3),
			LD_MAP_VALUE(R5, counts, offsetof(struct stack_table, once)),
			ADD_REG(R5, R4),
			LDX(DW, R2, R5, 0),
			MOV(R6, NO_PLACE),
			JSET_REG(R2, R3, seen_before),
			OR_REG(R2, R3),
			STX(DW, R5, 0, R2),
			JA(first_sight),
LABEL(seen_before), /* R6 = its place, or the one it may have */
			LD_MAP_VALUE(R6, counts, 0),
			MOV_REG(R2, R1),
			AND(R2, (1 << STACK_BUCKETS_SHIFT) - 1),
			LSH(R2, BUCKET_SHIFT),
			ADD_REG(R6, R2),
			TRY_PLACE(known, may_have),
			TRY_PLACE(known, may_have),
			TRY_PLACE(known, may_have),
			TRY_PLACE(known, may_have),
			TRY_PLACE(known, may_have),
			TRY_PLACE(known, may_have),
			TRY_PLACE(known, may_have),
			LDX(DW, R2, R6, COUNT_HASH),
			JNE_REG(R2, R1, may_have), /* it may be another hash's: see below */
LABEL(known),
			MOV_REG(R0, R6),
			ADD(R0, COUNT_VALUES),
			SEND_TIME,
			EXIT(),
			/*
			 * A distance, no pointer: so the verifier walks what follows once, not
			 * once for each of eight places.
			 */
LABEL(may_have),
			LD_MAP_VALUE(R5, counts, 0),
			SUB_REG(R6, R5),
		END,
LABEL(first_sight),
	END,

	/* It travels: R7 = bytes of its frames. */
	LDX(W, R7, R8, KERNEL_BYTES),
	LDX(W, R1, R8, USER_BYTES),
	ADD_REG(R7, R1),
	LDX(W, R1, R8, MANAGED_BYTES),
	ADD_REG(R7, R1),

	/* The rest of the record. */
	UNLESS(struct program_config, times_mask),
		CALL(ktime_get_ns),
		STX(DW, R8, TIME, R0),
	END,
	CALL(get_smp_processor_id),
	STX(W, R8, CPU, R0),

	/*
	 * R9 = whether to wake user space. Waking costs it more than the sample cost us, so only
	 * when the ring fills up; for a program never seen before, which may be gone soon, and its
	 * files with it; or when the walk began in code that no table is known for, or ended early
	 * and was in a part of the program where none has before.
	 */
	MOV(R9, BPF_RB_FORCE_WAKEUP),
	WHEN(struct program_config, eh),
		LDX(W, R1, R8, USER_END),
		JEQ32(R1, STACK_NO_TABLE, output),
		JGT(R1, UNWIND_READ, not_lost),
		MOV(R2, 1),
		LSH_REG(R2, R1),
		AND(R2, ENDS_EARLY),
		JEQ(R2, 0, not_lost),
		LDX(W, R1, R8, PID_TGID + 4),
		OR(R1, NO_PID),
		STX(W, R10, SEEN_KEY, R1),
		MOV_REG(R2, R8),
		ADD(R2, WALK_REGS),
		LD_IP(R1, R2),
		RSH(R1, LOST_SHIFT),
		STX(W, R10, SEEN_GENERATION, R1),
		MAP_LOOKUP(seen, SEEN_KEY),
		JEQ(R0, 0, new_program),
LABEL(not_lost),
	END,
	WHEN(struct program_config, managed_bytes), /* the collector of V8 may move what names it */
		LDX(W, R1, R8, V8_FRESH),
		JNE(R1, 0, output),
	END,
	WHEN(struct program_config, jvm), /* nor may code of Java be there for long */
		LDX(W, R1, R8, JVM_FRESH),
		JNE(R1, 0, output),
	END,
	LDX(W, R1, R8, PID_TGID + 4),
	STX(W, R10, SEEN_KEY, R1),
	LDX(DW, R1, R8, EXEC_ID),
	LDX(DW, R2, R8, START_TIME),
	ADD_REG(R1, R2),
	STX(W, R10, SEEN_GENERATION, R1),
	LDX(DW, R1, R10, SEEN_KEY),
	LDX(DW, R2, R8, LAST_SEEN),
	JEQ_REG(R1, R2, known_program),
	STX(DW, R8, LAST_SEEN, R1),
	MAP_LOOKUP(seen, SEEN_KEY),
	JEQ(R0, 0, new_program),
LABEL(known_program),
	JGT(R7, 4096, how_full),
	LDX(W, R1, R8, SENT),
	ADD(R1, 1),
	STX(W, R8, SENT, R1),
	AND(R1, 7), /* to ask every time would cost a third of the sending */
	JNE(R1, 0, no_hurry),
LABEL(how_full),
	LD_MAP(R1, events),
	MOV(R2, BPF_RB_AVAIL_DATA),
	CALL(ringbuf_query),
	JGE_PARAM(R0, struct program_config, ring_mark, output),
LABEL(no_hurry),
	MOV(R9, BPF_RB_NO_WAKEUP),
	JA(output),
LABEL(new_program),
	ST(DW, R10, NONE, 0),
	MAP_UPDATE(seen, SEEN_KEY, NONE, BPF_ANY),

LABEL(output),
	WHEN(struct program_config, deep_bytes), /* what there is of it elsewhere is before it */
		LDX(W, R1, R8, RECORD_FRESH),
		AND(R1, STACK_DEEP),
		JEQ(R1, 0, in_one),
		MOV_REG(R1, R8),
		CALL_FUNC(stack_deep_send),
		JNE(R0, 0, ring_full),
LABEL(in_one),
	END,
	LD_MAP(R1, events),
	MOV_REG(R2, R8),
	MOV_REG(R3, R7),
	NOT_ALL_BYTES(R3, out),
	ADD(R3, FRAMES),
	MOV_REG(R4, R9),
	CALL(ringbuf_output),
	JNE(R0, 0, ring_full),

	/* Only now: whatever is found in the map has come through the ring. */
	UNLESS(struct program_config, each),
		WHEN(struct program_config, table),
			JEQ(R6, NO_PLACE, out), /* it wants none yet */
			AND(R6, PLACE_MASK),
			LD_MAP_VALUE(R1, counts, 0),
			ADD_REG(R6, R1),
			MOV(R1, 1),
			ATOMIC_ADD(W, R6, COUNT_OWNERS, R1),
			LDX(W, R2, R6, COUNT_OWNERS),
			LDX(DW, R1, R8, HASH),
			JNE(R2, 1, not_ours),
			STX(DW, R6, COUNT_HASH, R1),
			JA(out),
LABEL(not_ours), /* another hash was first, or another CPU was faster */
			MOV(R2, -1),
			ATOMIC_ADD(W, R6, COUNT_OWNERS, R2),
			LDX(DW, R2, R6, COUNT_HASH),
			JEQ(R2, 0, out),
			JEQ_REG(R2, R1, out),
		END,
		UNLESS(struct program_config, table),
			ZERO(NONE, 8 * STACK_VALUES),
			LD_MAP(R1, counts),
			MOV_REG(R2, R8),
			FRAME_PTR(R3, NONE),
			MOV(R4, BPF_NOEXIST),
			CALL(map_update_elem),
			JEQ(R0, 0, out),
			JEQ32(R0, -EEXIST, out), /* another CPU was faster; an int before 6.4 */
		END,
		COUNT(stats, struct program_stats, uncounted),
	END,
	JA(out),
	WHEN(struct program_config, copies),
LABEL(unwalked), /* by native frames alone */
		LDX(W, R1, R8, MANAGED_BYTES),
		JNE(R1, 0, as_it_is),
		LDX(W, R1, R8, RECORD_FRESH),
		AND(R1, (1 << STACK_LACKED_SHIFT) - 1),
		JGT(R1, STACK_FRESH, as_it_is),
		MOV_REG(R1, R8),
		CALL_FUNC(stack_copy),
		JNE(R0, 0, as_it_is),
		LDX(W, R1, R8, RECORD_FRESH),
		OR(R1, STACK_COPIED),
		STX(W, R8, RECORD_FRESH, R1),
		MOV(R6, NO_PLACE),
		JA(first_sight),
	END,
LABEL(ring_full),
	UNLESS(struct program_config, kept_bare),
		COUNT(stats, struct program_stats, ring_full),
	END,
	ST(DW, R8, HASH, 0),
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	WHEN(struct program_config, stream),
		UNLESS(struct program_config, times_mask),
			INCLUDE(&rp_stream_part),
		END,
	END,
};
/* clang-format on */
const struct asm_part rp_stack_value_part = { ASM_LINES(value_lines),
					      ASM_FRAMES({ "stack_value", &value_frame_layout }) };
