/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * io_calls: how long do programs wait in read, write, fsync and open, by the file system that the
 * file is on?
 *
 * The time between sys_enter and sys_exit, whatever it went into: memory, locks, a disk, a process
 * at the other end of a pipe. The file system is that of the file which the thread's descriptor
 * stands for.
 *
 * A flush of a disk's cache is a request of its own, and often another thread asks for it: the
 * journal's. So fsync is joined with the flushes of its disk that ended while it ran.
 */
#include "io.h"
#include "programs/shared/compat.h"

#define CALL_MEMBER(member) offsetof(struct io_call, member)

/* The stack frame of the programs for system calls. */
ASM_FRAME(call_frame,
	(struct io_key, key, KEY, &rp_io_key_layout),
	(key.flags, KEY_FLAGS),
	(key.phase, KEY_PHASE),
	(key.bank, KEY_BANK),
	(key.process, KEY_PROCESS),
	(key.group, KEY_GROUP),
	(key.comm, KEY_COMM),
	(struct io_call, call, CALL_AT),
	(struct io_flushes, none, NO_FLUSHES),
	/* of the file system */
	(uint64_t, type_name, TYPE_NAME),
	(uint64_t[2], text, TEXT),
	(uint64_t, disk, DISK),
	(uint32_t, number, NUMBER),
	(uint32_t, tid, TID));

/* clang-format off */
/* reg = a pointer that lies in the kernel's object at reg; to: 8 bytes of the frame. 0: none. */
#define FOLLOW(reg, type, path, to)                                                                \
	SCOPE("FOLLOW(" #reg ", " #type ", " #path ", " #to ")"),                                  \
		READ_FIELD(to, reg, type, path),                                                   \
		LDX(DW, reg, R10, to),                                                             \
	END

/* R8 = enum io_call_kind of the system call with that number; to out if it is not one of ours. */
#define CALL_KIND(number, out)                                                                     \
	SCOPE("CALL_KIND(" #number ", " #out ")"),                                                 \
		STX(W, R10, NUMBER, number),                                                       \
		MAP_LOOKUP(calls, NUMBER),                                                         \
		JEQ(R0, 0, out),                                                                   \
		LDX(W, R8, R0, 0),                                                                 \
		JEQ(R8, 0, out),                                                                   \
	END
/* clang-format on */

/* The stack frame of io_super_block. */
ASM_FRAME(file_frame, (uint64_t, pointer, POINTER));

/* clang-format off */
static const struct asm_insn file_lines[] = {
	/*
	 * io_super_block(descriptor): the address of the super block that the current thread's file
	 * is on; 0 for none.
	 */
FUNC(io_super_block),
	MOV32_REG(R6, R1),
	CALL(get_current_task_btf),
	LD_FIELD(R1, R0, "task_struct", "files.fdt"),
	LD_FIELD(R2, R1, "fdtable", "max_fds"),
	JGE_REG(R6, R2, none),
	LD_FIELD(R7, R1, "fdtable", "fd"),
	LSH(R6, 3),
	ADD_REG(R7, R6),
	READ_KERNEL(POINTER, 8, R7),
	LDX(DW, R7, R10, POINTER),
	JEQ(R7, 0, none),
	FOLLOW(R7, "file", "f_inode", POINTER),
	JEQ(R7, 0, none),
	FOLLOW(R7, "inode", "i_sb", POINTER),
	MOV_REG(R0, R7),
	EXIT(),
LABEL(none),
	MOV(R0, 0),
	EXIT(),
};
/* clang-format on */
static const struct asm_part file_part = { ASM_LINES(file_lines),
					   ASM_FRAMES({ "io_super_block", &file_frame_layout }) };

/* clang-format off */

/* sys_enter(struct pt_regs *regs, long id) */
static const struct asm_insn enter_lines[] = {
	LDX(DW, R7, R1, 0),
	LDX(DW, R2, R1, 8),
	CALL_KIND(R2, out),
	LEAVE_COMPAT_CALL(DISK, out),
	CALL_FUNC(target_ids),
	JEQ(R0, -1, out),
	STX(W, R10, TID, R0),
	ZERO(CALL_AT, sizeof(struct io_call)),
	STX(W, R10, CALL_AT + CALL_MEMBER(kind), R8),
	LD_FIELD(R6, R7, "pt_regs", REG_ARG0),
	STX(W, R10, CALL_AT + CALL_MEMBER(fd), R6),

	/* How much the flushes of its disk have come to so far. */
	WHEN(struct io_config, flushes),
		MOV_REG(R1, R6),
		CALL_FUNC(io_super_block),
		JEQ(R0, 0, no_disk),
		MOV_REG(R6, R0),
		FOLLOW(R6, "super_block", "s_bdev", DISK),
		JEQ(R6, 0, no_disk), /* nfs, btrfs: there is not one disk */
		FOLLOW(R6, "block_device", "bd_disk", DISK),
		JEQ(R6, 0, no_disk),
		ST(DW, R10, DISK, 0),
		READ_FIELD(DISK, R6, "gendisk", "major"),
		LDX(W, R7, R10, DISK),
		READ_FIELD(DISK, R6, "gendisk", "first_minor"),
		LDX(W, R1, R10, DISK),
		LSH(R7, 20),
		OR_REG(R7, R1),
		STX(W, R10, CALL_AT + CALL_MEMBER(disk), R7),
		STX(W, R10, DISK, R7),
		MAP_LOOKUP(flushes, DISK),
		JEQ(R0, 0, no_disk),
		LDX(DW, R1, R0, offsetof(struct io_flushes, ns)),
		STX(DW, R10, CALL_AT + CALL_MEMBER(flush_ns), R1),
		LDX(DW, R1, R0, offsetof(struct io_flushes, count)),
		STX(DW, R10, CALL_AT + CALL_MEMBER(flushes), R1),
LABEL(no_disk),
	END,
	CALL(ktime_get_ns),
	STX(DW, R10, CALL_AT + CALL_MEMBER(start), R0),
	MAP_UPDATE(threads, TID, CALL_AT, BPF_ANY),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&rp_target_part),
	WHEN(struct io_config, flushes),
		INCLUDE(&file_part),
	END,
};

/* sys_exit(struct pt_regs *regs, long ret) */
static const struct asm_insn exit_lines[] = {
	LDX(DW, R7, R1, 0),
	LDX(DW, R9, R1, 8),
	LD_FIELD(R2, R7, "pt_regs", REG_NR),
	CALL_KIND(R2, out),
	LEAVE_COMPAT_CALL(DISK, out),
	CALL(ktime_get_ns),
	MOV_REG(R6, R0),
	COUNT(stats, struct io_stats, common.fired),
	CALL_FUNC(target_ids),
	JEQ(R0, -1, filtered),
	STX(W, R10, TID, R0),
	ZERO(KEY, sizeof(struct io_key)),
	WHEN(struct io_config, key_process),
		RSH(R0, 32),
		STX(W, R10, KEY_PROCESS, R0),
	END,
	MAP_LOOKUP(threads, TID),
	JEQ(R0, 0, unknown),
	LDX(W, R1, R0, CALL_MEMBER(kind)),
	JNE_REG(R1, R8, unknown),
	LDX(DW, R1, R0, CALL_MEMBER(start)),
	SUB_REG(R6, R1), /* R6 = for how long */
	/* Of open it is the descriptor that came back. */
	JEQ(R8, IO_CALL_OPEN, opened),
	LDX(W, R9, R0, CALL_MEMBER(fd)),
LABEL(opened),
	/* R7 = of that in flushes; negative: it has no disk that is flushed. */
	MOV(R7, -1),
	WHEN(struct io_config, flushes),
		LDX(W, R1, R0, CALL_MEMBER(disk)),
		STX(W, R10, DISK, R1),
		LDX(DW, R2, R0, CALL_MEMBER(flush_ns)),
		STX(DW, R10, CALL_AT + CALL_MEMBER(flush_ns), R2),
		LDX(DW, R2, R0, CALL_MEMBER(flushes)),
		STX(DW, R10, CALL_AT + CALL_MEMBER(flushes), R2),
		JEQ(R1, 0, no_flush),
		MAP_LOOKUP(flushes, DISK),
		JEQ(R0, 0, no_flush),
		LDX(DW, R1, R0, offsetof(struct io_flushes, count)),
		LDX(DW, R2, R10, CALL_AT + CALL_MEMBER(flushes)),
		JEQ_REG(R1, R2, no_flush),
		LDX(DW, R7, R0, offsetof(struct io_flushes, ns)),
		LDX(DW, R2, R10, CALL_AT + CALL_MEMBER(flush_ns)),
		SUB_REG(R7, R2),
		JLE_REG(R7, R6, no_flush), /* one call may wait for several */
		MOV_REG(R7, R6),
LABEL(no_flush),
	END,
	MAP_DELETE(threads, TID),
	WHEN(struct io_config, min_ns),
		LD_PARAM(R1, struct io_config, min_ns),
		JLT_REG(R6, R1, shorter),
	END,

	/* The key. */
	LD_MAP_VALUE(R1, bank, 0),
	LDX(B, R1, R1, 0),
	STX(B, R10, KEY_BANK, R1),
	WHEN(struct io_config, key_flags),
		STX(W, R10, KEY_FLAGS, R8),
	END,
	WHEN(struct io_config, key_comm),
		READ_COMM(KEY_COMM),
	END,
	WHEN(struct io_config, key_group),
		MOV_REG(R1, R9),
		CALL_FUNC(io_super_block),
		JEQ(R0, 0, no_file),
		MOV_REG(R9, R0),
		FOLLOW(R9, "super_block", "s_type", TYPE_NAME),
		JEQ(R9, 0, no_file),
		FOLLOW(R9, "file_system_type", "name", TYPE_NAME),
		STX(DW, R10, KEY_GROUP, R9),
		MAP_LOOKUP(types, TYPE_NAME),
		JNE(R0, 0, no_file),
		ZERO(TEXT, 16),
		FRAME_PTR(R1, TEXT),
		MOV(R2, 16),
		MOV_REG(R3, R9),
		CALL(probe_read_kernel_str),
		MAP_UPDATE(types, TYPE_NAME, TEXT, BPF_ANY),
LABEL(no_file),
	END,
	FRAME_PTR(R1, KEY),
	MOV_REG(R2, R6),
	CALL_FUNC(io_hist),
	WHEN(struct io_config, flushes),
		JEQ(R7, -1, out),
		ST(B, R10, KEY_PHASE, IO_FLUSH),
		FRAME_PTR(R1, KEY),
		MOV_REG(R2, R7),
		CALL_FUNC(io_hist),
		ST(B, R10, KEY_PHASE, IO_QUEUE),
		SUB_REG(R6, R7),
		FRAME_PTR(R1, KEY),
		MOV_REG(R2, R6),
		CALL_FUNC(io_hist),
	END,
	JA(out),

LABEL(filtered),
	COUNT(stats, struct io_stats, common.filtered),
	JA(out),
	WHEN(struct io_config, min_ns),
LABEL(shorter),
		COUNT(stats, struct io_stats, shorter),
		JA(out),
	END,
LABEL(unknown),
	COUNT(stats, struct io_stats, unknown),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&rp_target_part),
	INCLUDE(&rp_io_hist_part),
	WHEN(struct io_config, key_group),
		INCLUDE(&file_part),
	END,
};

/* block_io_done(struct request *rq), or block_rq_complete before 6.4: of flushes alone. */
static const struct asm_insn flush_lines[] = {
	LDX(DW, R6, R1, 0),
	LD_FIELD(R1, R6, "request", "cmd_flags"),
	AND(R1, IO_OP_MASK),
	JNE(R1, IO_OP_FLUSH, out),
	UNLESS(struct io_config, kernel.disk_in_request),
		LD_FIELD(R1, R6, "request", "q.disk"),
	END,
	WHEN(struct io_config, kernel.disk_in_request),
		LD_FIELD(R1, R6, "request", "rq_disk"),
	END,
	LD_FIELD(R2, R1, "gendisk", "major"),
	LSH(R2, 20),
	LD_FIELD(R1, R1, "gendisk", "first_minor"),
	OR_REG(R2, R1),
	STX(W, R10, DISK, R2),
	CALL(ktime_get_ns),
	LD_FIELD(R1, R6, "request", "start_time_ns"),
	MOV_REG(R7, R0),
	SUB_REG(R7, R1),
	JSLT(R7, 0, out),
	ZERO(NO_FLUSHES, sizeof(struct io_flushes)),
	MAP_LOOKUP_OR_INIT(flushes, DISK, NO_FLUSHES),
	JEQ(R0, 0, out), /* never: there are fewer disks */
	MOV(R1, 1),
	ATOMIC_ADD(DW, R0, offsetof(struct io_flushes, ns), R7),
	ATOMIC_ADD(DW, R0, offsetof(struct io_flushes, count), R1),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
/* clang-format on */

static const struct io_config usual_config = { .common = PROGRAM_USUAL_CONFIG,
					       .kernel = { .has_start = 1 },
					       .flushes = 1,
					       .hists = 1,
					       .key_flags = 1,
					       .key_group = 1,
					       .calls = 1,
					       .most = 128 };

#define CALL_PROGRAM(role_)                                                                        \
	.role = (role_), RP_MAPS(rp_io_maps, IO_MAPS), RP_CONFIG(usual_config),                    \
	.code.frame = &call_frame_layout

const struct rp_program rp_io_call_programs[] = {
	{ RP_CODE("io_call_enter", enter_lines), RP_ON_TP_BTF("sys_enter"),
	  CALL_PROGRAM(IO_CALL_BEGINS),
	  .summary = "notes when a thread enters read, write, fsync, open" },
	{ RP_CODE("io_flush", flush_lines), RP_ON_TP_BTF("block_io_done"), CALL_PROGRAM(IO_FLUSHES),
	  RP_NEEDS(RP_NEED_ARGUMENT("block_io_start", 0, "request")),
	  .summary = "adds up the flushes of disks" },
	{ RP_CODE("io_flush_old", flush_lines), RP_ON_TP_BTF("block_rq_complete"),
	  CALL_PROGRAM(IO_FLUSHES), .summary = "adds up the flushes of disks, before Linux 6.4" },
	{ RP_CODE("io_call_exit", exit_lines), RP_ON_TP_BTF("sys_exit"), CALL_PROGRAM(IO_CALL_ENDS),
	  .summary = "counts how long it was there, by file system" },
	RP_LIST_END,
};
