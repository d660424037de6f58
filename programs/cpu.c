/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpu: where does CPU time go?
 *
 * A perf event fires on every CPU some hundred times a second and runs cpu_sample, in the context
 * of whatever it interrupted. The program writes down who that is and the two stacks, hashes all of
 * it to 64 bits, and counts. Only a stack that was never seen before travels to user space, through
 * the ring; it stands for one sample, and from then on its hash is found in the map and a counter
 * goes up. So stacks are exact (none is thrown out by another, as bpf_get_stackid does), and the
 * common case costs one look-up.
 *
 *	perf event -> who? -> filters -> stacks -> hash -> known? --yes--> count it in the kernel
 *							      \---no--> ring, then remember the hash
 *
 * When the map is full nothing is lost: what it cannot remember goes through the ring every time.
 */
#include <linux/bpf_perf_event.h>

#include <rawprof/programs.h>

#define KEY_FIELD(member) ASM_FIELD(struct cpu_key, member)
static const struct asm_layout key_layout =
	ASM_LAYOUT(struct cpu_key, KEY_FIELD(hash), KEY_FIELD(pid_tgid));
#define COUNT_FIELD(member) ASM_FIELD(struct cpu_count, member)
static const struct asm_layout count_layout =
	ASM_LAYOUT(struct cpu_count, COUNT_FIELD(samples), COUNT_FIELD(period));
#define STATS_FIELD(member) ASM_FIELD(struct cpu_stats, member)
static const struct asm_layout stats_layout =
	ASM_LAYOUT(struct cpu_stats, STATS_FIELD(fired), STATS_FIELD(idle), STATS_FIELD(filtered),
		   STATS_FIELD(ring_full), STATS_FIELD(uncounted), STATS_FIELD(unfollowed));
#define RECORD_FIELD(member) ASM_FIELD(struct cpu_record, member)
static const struct asm_layout record_layout =
	ASM_LAYOUT(struct cpu_record, RECORD_FIELD(key.hash), RECORD_FIELD(key.pid_tgid),
		   RECORD_FIELD(time), RECORD_FIELD(period), RECORD_FIELD(cpu),
		   RECORD_FIELD(kernel_bytes), RECORD_FIELD(user_bytes), RECORD_FIELD(user_end),
		   RECORD_FIELD(start_time), RECORD_FIELD(exec_id), RECORD_FIELD(comm));

const struct asm_map cpu_maps[CPU_MAPS] = {
	[CPU_MAP_PIDS] = { "pids", BPF_MAP_TYPE_HASH, 4, 8, 1 },
	[CPU_MAP_TIDS] = { "tids", BPF_MAP_TYPE_HASH, 4, 8, 1 },
	[CPU_MAP_SEEN] = { "seen", BPF_MAP_TYPE_LRU_HASH, 8, 1, 1024 },
	[CPU_MAP_COUNTS] = { "counts", BPF_MAP_TYPE_HASH, sizeof(struct cpu_key),
			     sizeof(struct cpu_count), 32768, .key = &key_layout,
			     .value = &count_layout },
	/* A stack of stacks is too large for the 512 bytes that a program has. */
	[CPU_MAP_SCRATCH] = { "scratch", BPF_MAP_TYPE_PERCPU_ARRAY, 4,
			      sizeof(struct cpu_record) + 2 * 256 * 8, 1, .value = &record_layout },
	[CPU_MAP_STATS] = { "stats", BPF_MAP_TYPE_ARRAY, 4, sizeof(struct cpu_stats), 1,
			    .value = &stats_layout },
	[CPU_MAP_EVENTS] = { "events", BPF_MAP_TYPE_RINGBUF, 0, 0, 1 << 20 },
	[CPU_MAP_UNWIND] = UNWIND_MAP_STATE(1),
	[CPU_MAP_PROCS] = UNWIND_MAP_PROCS(4096),
	[CPU_MAP_RANGES] = UNWIND_MAP_RANGES,
	[CPU_MAP_INDEX] = UNWIND_MAP_INDEX,
	[CPU_MAP_RULES] = UNWIND_MAP_RULES,
	[CPU_MAP_ROWS] = UNWIND_MAP_ROWS,
};

/* The stack frame of the program. */
struct cpu_frame {
	struct cpu_count none;	      /* what a new key starts with */
	struct bpf_pidns_info ns_ids; /* { thread, process } as our pid namespace counts */
	uint64_t state; /* address of the unwinder's state, which holds the user stack */
	uint32_t id;	/* a pid, a tid: key of the filter maps */
	uint32_t
		generation; /* which program it is: start time and exec id; both are the key of seen */
	uint32_t zero;	    /* key of the only element of scratch */
	uint32_t unused;
};
enum {
	NONE = FRAME(struct cpu_frame, none),
	NONE_PERIOD = FRAME(struct cpu_frame, none.period),
	NS_IDS = FRAME(struct cpu_frame, ns_ids),
	STATE = FRAME(struct cpu_frame, state),
	ID = FRAME(struct cpu_frame, id),
	ID_GENERATION = FRAME(struct cpu_frame, generation),
	ZERO_KEY = FRAME(struct cpu_frame, zero)
};
#define FRAME_FIELD(member) ASM_FIELD(struct cpu_frame, member)
static const struct asm_layout frame_layout =
	ASM_LAYOUT(struct cpu_frame, FRAME_FIELD(none.samples), FRAME_FIELD(none.period),
		   FRAME_FIELD(ns_ids.pid), FRAME_FIELD(ns_ids.tgid), FRAME_FIELD(state),
		   FRAME_FIELD(id), FRAME_FIELD(generation), FRAME_FIELD(zero));

/* Offsets in the record, which R8 points to. */
enum {
	HASH = offsetof(struct cpu_record, key.hash),
	PID_TGID = offsetof(struct cpu_record, key.pid_tgid),
	TIME = offsetof(struct cpu_record, time),
	PERIOD = offsetof(struct cpu_record, period),
	CPU = offsetof(struct cpu_record, cpu),
	KERNEL_BYTES = offsetof(struct cpu_record, kernel_bytes),
	USER_BYTES = offsetof(struct cpu_record, user_bytes),
	USER_END = offsetof(struct cpu_record, user_end),
	START_TIME = offsetof(struct cpu_record, start_time),
	EXEC_ID = offsetof(struct cpu_record, exec_id),
	COMM = offsetof(struct cpu_record, comm),
	FRAMES = offsetof(struct cpu_record, frames)
};
enum { HASHED_WORDS = (FRAMES - USER_BYTES) / 8 };

enum { SAMPLE_PERIOD = offsetof(struct bpf_perf_event_data, sample_period) };
enum {
	COUNT_SAMPLES = offsetof(struct cpu_count, samples),
	COUNT_PERIOD = offsetof(struct cpu_count, period)
};

/* 2^64 divided by the golden ratio, made odd: multiplying by it spreads every bit upwards. */
#define GOLDEN 0x9e3779b97f4a7c15

/*
 * hash = hash of `words` words, at least one, from the address at on: h = (h ^ word) * golden; h ^= h >> 32. at, i
 * and t are destroyed.
 */
#define HASH_WORDS(hash, at, words, golden, i, t)                                                  \
	SCOPE("HASH_WORDS(" #hash ", " #at ", " #words ", " #golden ", " #i ", " #t ")"),          \
		MOV(i, 0), LABEL(.next), LDX(DW, t, at, 0), XOR_REG(hash, t),                      \
		MUL_REG(hash, golden), MOV_REG(t, hash), RSH(t, 32), XOR_REG(hash, t), ADD(at, 8), \
		ADD(i, 1), JLT_REG(i, words, .next), END

/* clang-format off */
static const struct asm_insn cpu_sample[] = {
	MOV_REG(R6, R1), /* the context: calls destroy R1 */
	COUNT(stats, struct cpu_stats, fired),

	/* Who? The upper half of R7 is the process, the lower the thread; the idle task is 0. */
	CALL(get_current_pid_tgid),
	MOV_REG(R7, R0),
	UNLESS(struct cpu_config, keep_idle),
		JEQ(R7, 0, idle),
	END,

	/* In a container our pids are not the machine's: those that have none of ours are not for us. */
	WHEN(struct cpu_config, ns_inode),
		LD_PARAM(R1, struct cpu_config, ns_device),
		LD_PARAM(R2, struct cpu_config, ns_inode),
		FRAME_PTR(R3, NS_IDS),
		MOV(R4, sizeof(struct bpf_pidns_info)),
		CALL(get_ns_current_pid_tgid),
		JNE(R0, 0, filtered),
		LDX(W, R7, R10, NS_IDS + 4),
		LSH(R7, 32),
		LDX(W, R1, R10, NS_IDS),
		OR_REG(R7, R1),
	END,

	/* Is it wanted? */
	WHEN(struct cpu_config, by_pid),
		MOV_REG(R1, R7),
		RSH(R1, 32),
		STX(W, R10, ID, R1),
		FILTER_SET(pids, ID, filtered),
	END,
	WHEN(struct cpu_config, by_tid),
		STX(W, R10, ID, R7),
		FILTER_SET(tids, ID, filtered),
	END,
	FILTER_CGROUP(struct cpu_config, cgroup_id, cgroup_level, filtered),

	/* R8 = this CPU's record. */
	ST(W, R10, ZERO_KEY, 0),
	MAP_LOOKUP(scratch, ZERO_KEY),
	JEQ(R0, 0, out),
	MOV_REG(R8, R0),
	STX(DW, R8, PID_TGID, R7),
	MOV_REG(R1, R8),
	ADD(R1, COMM),
	MOV(R2, 16),
	CALL(get_current_comm),
	FILTER_COMM(struct cpu_config, comm, R8, COMM, filtered),

	/* A pid may be used again, and stays over exec: these two tell the programs apart. */
	UNLESS(struct cpu_config, identity),
		ST(DW, R8, START_TIME, 0),
		ST(DW, R8, EXEC_ID, 0),
	END,
	WHEN(struct cpu_config, identity),
		CALL(get_current_task_btf),
		LD_FIELD(R1, R0, "task_struct", "group_leader.start_time"),
		STX(DW, R8, START_TIME, R1),
		LD_FIELD(R1, R0, "task_struct", "self_exec_id"),
		STX(DW, R8, EXEC_ID, R1),
	END,

	/* R9 = bytes of kernel stack, at FRAMES; -EFAULT when user code was interrupted. */
	MOV(R9, 0),
	WHEN(struct cpu_config, kernel_bytes),
		MOV_REG(R1, R6),
		MOV_REG(R2, R8),
		ADD(R2, FRAMES),
		LD_PARAM(R3, struct cpu_config, kernel_bytes),
		MOV(R4, 0),
		CALL(get_stack),
		JSLT(R0, 0, no_kernel_stack),
		MOV_REG(R9, R0),
LABEL(no_kernel_stack),
	END,
	STX(W, R8, KERNEL_BYTES, R9),

	/*
	 * R7 = bytes of user stack, which waits in the unwinder's state: only the first of its kind
	 * will travel.
	 */
	MOV(R7, 0),
	ST(W, R8, USER_END, -1), /* CPU_BY_FP */
	WHEN(struct cpu_config, user_bytes),
		MAP_LOOKUP(unwind, ZERO_KEY),
		JEQ(R0, 0, out),
		STX(DW, R10, STATE, R0),
		WHEN(struct cpu_config, eh),
			MOV_REG(R1, R0),
			LD_PARAM(R2, struct cpu_config, user_frames),
			LDX(W, R3, R8, PID_TGID + 4),
			CALL_FUNC(unwind_user),
			JGT_PARAM(R0, struct cpu_config, user_frames, by_frame_pointer), /* never */
			JEQ(R0, 0, by_frame_pointer),
			MOV_REG(R7, R0),
			LSH(R7, 3),
			LDX(DW, R1, R10, STATE),
			LDX(W, R1, R1, offsetof(struct unwind_state, end)),
			STX(W, R8, USER_END, R1),
			/* Not one step: it has just been started, or has made code that nobody knows yet. */
			JNE(R1, UNWIND_NO_SEGMENT, user_stack),
			JNE(R7, 8, user_stack),
			ST(W, R8, USER_END, -2), /* CPU_NO_TABLE */
			MOV(R7, 0),
LABEL(by_frame_pointer),
		END,
		MOV_REG(R1, R6),
		LDX(DW, R2, R10, STATE),
		ADD(R2, offsetof(struct unwind_state, pcs)),
		LD_PARAM(R3, struct cpu_config, fp_bytes),
		MOV(R4, BPF_F_USER_STACK),
		CALL(get_stack),
		JSLT(R0, 0, user_stack), /* a thread of the kernel has none */
		MOV_REG(R7, R0),
LABEL(user_stack),
	END,
	STX(W, R8, USER_BYTES, R7),

	/*
	 * R0 = hash of who and where. Two stacks that differ in one frame never collide, for every step can be
	 * undone; any two do with a chance of 2^-64.
	 */
	LD_IMM64(R3, GOLDEN),
	MOV(R0, 0),
	MOV_REG(R2, R9),
	RSH(R2, 3),
	ADD(R2, HASHED_WORDS),
	MOV_REG(R1, R8),
	ADD(R1, USER_BYTES),
	HASH_WORDS(R0, R1, R2, R3, R4, R5),
	WHEN(struct cpu_config, user_bytes),
		MOV_REG(R2, R7),
		RSH(R2, 3),
		LDX(DW, R1, R10, STATE),
		ADD(R1, offsetof(struct unwind_state, pcs)),
		JEQ(R2, 0, hashed),
		HASH_WORDS(R0, R1, R2, R3, R4, R5),
LABEL(hashed),
	END,
	STX(DW, R8, HASH, R0),

	/* The common end: a stack that is known. The key is how the record begins. */
	UNLESS(struct cpu_config, each),
		LD_MAP(R1, counts),
		MOV_REG(R2, R8),
		CALL(map_lookup_elem),
		JEQ(R0, 0, first_sight),
		MOV(R1, 1),
		ATOMIC_ADD(DW, R0, COUNT_SAMPLES, R1),
		LDX(DW, R1, R6, SAMPLE_PERIOD),
		ATOMIC_ADD(DW, R0, COUNT_PERIOD, R1),
		JA(out),
LABEL(first_sight),
	END,

	/* It travels: the user stack goes behind the kernel stack, R7 = bytes of both. */
	WHEN(struct cpu_config, user_bytes),
		MOV_REG(R1, R8),
		ADD_REG(R1, R9),
		ADD(R1, FRAMES),
		MOV_REG(R2, R7),
		LDX(DW, R3, R10, STATE),
		ADD(R3, offsetof(struct unwind_state, pcs)),
		CALL(probe_read_kernel),
	END,
	ADD_REG(R7, R9),

	/* The rest of the record. */
	CALL(ktime_get_ns),
	STX(DW, R8, TIME, R0),
	CALL(get_smp_processor_id),
	STX(W, R8, CPU, R0),
	LDX(DW, R1, R6, SAMPLE_PERIOD),
	STX(DW, R8, PERIOD, R1),

	/*
	 * R9 = whether to wake user space. Waking costs it more than the sample cost us, so only
	 * when the ring fills up; for a program never seen before, which may be gone soon, and its
	 * files with it; or when the walk began in code that no table is known for.
	 */
	MOV(R9, BPF_RB_FORCE_WAKEUP),
	WHEN(struct cpu_config, eh),
		LDX(W, R1, R8, USER_END),
		JEQ32(R1, -2, output), /* CPU_NO_TABLE */
	END,
	LDX(W, R1, R8, PID_TGID + 4),
	STX(W, R10, ID, R1),
	LDX(DW, R1, R8, EXEC_ID),
	LDX(DW, R2, R8, START_TIME),
	ADD_REG(R1, R2),
	STX(W, R10, ID_GENERATION, R1),
	MAP_LOOKUP(seen, ID),
	JEQ(R0, 0, new_program),
	LD_MAP(R1, events),
	MOV(R2, BPF_RB_AVAIL_DATA),
	CALL(ringbuf_query),
	JGE_PARAM(R0, struct cpu_config, ring_mark, output),
	MOV(R9, BPF_RB_NO_WAKEUP),
	JA(output),
LABEL(new_program),
	ST(DW, R10, NONE, 0),
	MAP_UPDATE(seen, ID, NONE, BPF_ANY),

LABEL(output),
	LD_MAP(R1, events),
	MOV_REG(R2, R8),
	MOV_REG(R3, R7),
	JGT_PARAM(R3, struct cpu_config, both_bytes, out), /* never: tells the verifier the bound */
	ADD(R3, FRAMES),
	MOV_REG(R4, R9),
	CALL(ringbuf_output),
	JNE(R0, 0, ring_full),

	/* Only now: whatever is found in the map has come through the ring. */
	UNLESS(struct cpu_config, each),
		ST(DW, R10, NONE, 0),
		ST(DW, R10, NONE_PERIOD, 0),
		LD_MAP(R1, counts),
		MOV_REG(R2, R8),
		FRAME_PTR(R3, NONE),
		MOV(R4, BPF_NOEXIST),
		CALL(map_update_elem),
		JEQ(R0, 0, out),
		JEQ32(R0, -EEXIST, out), /* another CPU was faster; 32 bits: an int before 6.4 */
		COUNT(stats, struct cpu_stats, uncounted),
	END,
	JA(out),

LABEL(ring_full),
	COUNT(stats, struct cpu_stats, ring_full),
	JA(out),
	WHEN(struct cpu_config, filtering),
LABEL(filtered),
		COUNT(stats, struct cpu_stats, filtered),
		JA(out),
	END,
	UNLESS(struct cpu_config, keep_idle),
LABEL(idle),
		COUNT(stats, struct cpu_stats, idle),
	END,
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	WHEN(struct cpu_config, eh),
		INCLUDE(&unwind_part),
	END,
};
/* clang-format on */

const struct asm_program cpu_sample_program = {
	.name = "cpu_sample",
	.type = BPF_PROG_TYPE_PERF_EVENT,
	.license =
		"Dual BSD/GPL", /* get_stack and get_current_task_btf are for GPL programs only */
	ASM_LINES(cpu_sample),
	.config_size = sizeof(struct cpu_config),
	.frame = &frame_layout,
};

const struct cpu_config cpu_usual_config = {
	.user_bytes = 127 * 8,
	.fp_bytes = 127 * 8,
	.user_frames = 127,
	.kernel_bytes = 127 * 8,
	.both_bytes = 2 * 127 * 8,
	.eh = 1,
	.identity = 1,
	.ring_mark = 1 << 18,
};
