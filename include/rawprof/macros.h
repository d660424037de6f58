/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines that are more than one instruction as it stands. First those whose numbers are known only
 * when a program is loaded (parameters, members of the running kernel's types, fields of
 * tracepoints, registers of the machine), and the stack frame, whose numbers a C struct gives. Then
 * composed macros: what every profiler does, as lists of instructions. Each stands in a SCOPE, so
 * that its labels are its own and the verifier quotes the macro as it was written.
 *
 *	MAP_ADD(counts, FRAME(struct frame, key), FRAME(struct frame, one)), JNE(R0, 0, full),
 *
 * Composed macros may destroy R0-R5 (they call helpers) and leave R6-R9 alone. Where they take a
 * frame offset it is one made by FRAME().
 */
#ifndef RAWPROF_MACROS_H
#define RAWPROF_MACROS_H

/* See isa.h. */
#ifndef ASM_SHOW_EXPANSION
#pragma GCC system_header
#endif

#include <errno.h>

#include <rawprof/isa.h>

/* ---- bound at load time */

/*
 * A parameter is a member of the struct that is handed to asm_assemble() as the configuration. Its
 * value, sign-extended if its type is signed, is written into the instructions, so it costs nothing
 * when the program runs.
 */
#define ASM_SIGNED(number)                                                                         \
	_Generic((number), char                                                                    \
		 : (char)-1 < (char)1, signed char : 1, short : 1, int : 1, long : 1,              \
		   long long : 1, default : 0)
#define ASM_PARAM(type, member)                                                                    \
	.param_offset = offsetof(type, member),                                                    \
	.param_size = sizeof(((type *)0)->member) +                                                \
		      ASM_CHECK(sizeof(((type *)0)->member) <= 8, "a parameter is a number") +     \
		      ASM_CHECK(sizeof(type) <= 65535, "a configuration has at most 65535 bytes"), \
	.param_signed = ASM_SIGNED(((type *)0)->member), .config_size = sizeof(type)

#define LD_PARAM(dst, type, member)                                                                \
	ASM_LINE(ASM_LD_PARAM, "LD_PARAM(" #dst ", " #type ", " #member ")",                       \
		 ASM_CODE(BPF_ALU64 | BPF_MOV | BPF_K, ASM_DST(dst), 0, 0, 0),                     \
		 ASM_PARAM(type, member))

/* Like JEQ and its kind; a value that does not fit the immediate, 32 bits sign-extended, is an
 * error of assembly: then LD_PARAM and JEQ_REG. */
#define ASM_JMP_PARAM(text_, op, dst, type, member, label_)                                        \
	ASM_LINE(ASM_JUMP_PARAM, text_, ASM_CODE(BPF_JMP | (op) | BPF_K, ASM_SRC(dst), 0, 0, 0),   \
		 .sym = label_, ASM_PARAM(type, member))
#define JEQ_PARAM(dst, type, member, label)                                                        \
	ASM_JMP_PARAM("JEQ_PARAM(" #dst ", " #type ", " #member ", " #label ")", BPF_JEQ, dst,     \
		      type, member, #label)
#define JNE_PARAM(dst, type, member, label)                                                        \
	ASM_JMP_PARAM("JNE_PARAM(" #dst ", " #type ", " #member ", " #label ")", BPF_JNE, dst,     \
		      type, member, #label)
#define JGT_PARAM(dst, type, member, label)                                                        \
	ASM_JMP_PARAM("JGT_PARAM(" #dst ", " #type ", " #member ", " #label ")", BPF_JGT, dst,     \
		      type, member, #label)
#define JGE_PARAM(dst, type, member, label)                                                        \
	ASM_JMP_PARAM("JGE_PARAM(" #dst ", " #type ", " #member ", " #label ")", BPF_JGE, dst,     \
		      type, member, #label)
#define JLT_PARAM(dst, type, member, label)                                                        \
	ASM_JMP_PARAM("JLT_PARAM(" #dst ", " #type ", " #member ", " #label ")", BPF_JLT, dst,     \
		      type, member, #label)
#define JLE_PARAM(dst, type, member, label)                                                        \
	ASM_JMP_PARAM("JLE_PARAM(" #dst ", " #type ", " #member ", " #label ")", BPF_JLE, dst,     \
		      type, member, #label)

/* The lines up to END stay only when the parameter is not 0 (WHEN) or is 0 (UNLESS). They nest. */
#define WHEN(type, member)                                                                         \
	ASM_LINE(ASM_WHEN, "WHEN(" #type ", " #member ")", ASM_PARAM(type, member))
#define UNLESS(type, member)                                                                       \
	ASM_LINE(ASM_UNLESS, "UNLESS(" #type ", " #member ")", ASM_PARAM(type, member))

/*
 * Members of the running kernel's types, found in its BTF: "real_parent.tgid", "comm",
 * "rq_disk.disk_name[0]". LD_FIELD loads through src, which must be a pointer that the verifier
 * knows by type (bpf_get_current_task_btf, arguments of a BTF tracepoint); a "." behind a pointer
 * member follows it with one more load, all into dst. A signed number is sign-extended. For other
 * pointers: FIELD_OFFSET puts a member's offset in dst, ADD_FIELD_OFFSET adds it, FIELD_SIZE puts
 * its size there, and probe_read_kernel does the rest.
 */
#define LD_FIELD(dst, src, type, path)                                                             \
	ASM_LINE(ASM_LD_FIELD, "LD_FIELD(" #dst ", " #src ", " #type ", " #path ")",               \
		 ASM_CODE(BPF_LDX | BPF_MEM | BPF_DW, ASM_DST(dst), ASM_SRC(src), 0, 0),           \
		 .sym = type "\0" path)
#define ASM_FIELD_NUMBER(kind_, text_, op, dst, type, path)                                        \
	ASM_LINE(kind_, text_, ASM_CODE(BPF_ALU64 | (op) | BPF_K, ASM_DST(dst), 0, 0, 0),          \
		 .sym = type "\0" path)
#define FIELD_OFFSET(dst, type, path)                                                              \
	ASM_FIELD_NUMBER(ASM_FIELD_OFFSET, "FIELD_OFFSET(" #dst ", " #type ", " #path ")",         \
			 BPF_MOV, dst, type, path)
#define ADD_FIELD_OFFSET(dst, type, path)                                                          \
	ASM_FIELD_NUMBER(ASM_FIELD_OFFSET, "ADD_FIELD_OFFSET(" #dst ", " #type ", " #path ")",     \
			 BPF_ADD, dst, type, path)
#define FIELD_SIZE(dst, type, path)                                                                \
	ASM_FIELD_NUMBER(ASM_FIELD_SIZE, "FIELD_SIZE(" #dst ", " #type ", " #path ")", BPF_MOV,    \
			 dst, type, path)

/* A field of a classic tracepoint's record, src being the context; where it lies is asked of
 * tracefs. The three names are literals. */
#define LD_TP(dst, src, group, event, field)                                                       \
	ASM_LINE(ASM_LD_TP, "LD_TP(" #dst ", " #src ", " #group ", " #event ", " #field ")",       \
		 ASM_CODE(BPF_LDX | BPF_MEM | BPF_DW, ASM_DST(dst), ASM_SRC(src), 0, 0),           \
		 .sym = group "\0" event "\0" field)

/* Machine registers in a pt_regs (kprobes, uprobes, perf events), src pointing to it; see asm_arch.
 */
#define ASM_LD_MACHINE(text_, dst, src, number)                                                    \
	ASM_LINE(ASM_LD_REG, text_,                                                                \
		 ASM_CODE(BPF_LDX | BPF_MEM | BPF_DW, ASM_DST(dst), ASM_SRC(src), 0, 0),           \
		 .value = (number))
/* The n-th argument (from 1 to 6) of the probed function, by the function-call ABI of the
 * architecture. */
#define LD_ARG(dst, src, n)                                                                        \
	ASM_LD_MACHINE("LD_ARG(" #dst ", " #src ", " #n ")", dst, src,                             \
		       ASM_REG_ARG1 + (n)-1 + ASM_CHECK((n) >= 1 && (n) <= 6, "arguments 1 to 6"))
#define LD_RET(dst, src) ASM_LD_MACHINE("LD_RET(" #dst ", " #src ")", dst, src, ASM_REG_RET)
#define LD_IP(dst, src) ASM_LD_MACHINE("LD_IP(" #dst ", " #src ")", dst, src, ASM_REG_IP)
#define LD_SP(dst, src) ASM_LD_MACHINE("LD_SP(" #dst ", " #src ")", dst, src, ASM_REG_SP)
#define LD_FP(dst, src) ASM_LD_MACHINE("LD_FP(" #dst ", " #src ")", dst, src, ASM_REG_FP)

/* ---- structs by the names of their members */

/*
 * A struct asm_layout for those who show memory, of the stack frame or of a map's keys and values:
 *
 *	ASM_LAYOUT(struct cpu_key, hash, (thread, &thread_layout), count)
 *
 * Members in the order in which they lie; what is left out counts as padding. In parentheses: a
 * member that is a struct, with the layout by which its own members are shown.
 */
#define ASM_LAYOUT(type, ...) ASM_LAYOUT_FROM(ASM_LAYOUT_FIELD, type, __VA_ARGS__)

/*
 * The stack frame of a program or function, described once:
 *
 *	ASM_FRAME(leave_frame,
 *		(uint64_t, now, NOW),
 *		(struct pair, pair, PAIR, &pair_layout),
 *		(pair.sleeper, PAIR_SLEEPER));
 *
 * makes the struct leave_frame, padded to a multiple of 8 bytes; the offsets NOW, PAIR and
 * PAIR_SLEEPER from R10, at which it ends; and leave_frame_layout, which names its bytes. An array
 * is (char[16], comm, COMM). An entry of two words names a part of a member that stands above it.
 */
#define ASM_FRAME(tag, ...)                                                                        \
	struct tag {                                                                               \
		ASM_EACH(ASM_FRAME_MEMBER, tag, __VA_ARGS__)                                       \
	} __attribute__((aligned(8)));                                                             \
	enum { ASM_EACH(ASM_FRAME_OFFSET, struct tag, __VA_ARGS__) };                              \
	static const struct asm_layout tag##_layout __attribute__((unused)) =                      \
		ASM_LAYOUT_FROM(ASM_FRAME_FIELD, struct tag, __VA_ARGS__)

/* What the functions of a part call their bytes: ASM_FRAMES({ "leave", &leave_frame_layout }). */
#define ASM_FRAMES(...)                                                                            \
	.frames = (const struct asm_func_frame[]){ __VA_ARGS__ },                                  \
	.nframes = sizeof((const struct asm_func_frame[]){ __VA_ARGS__ }) /                        \
		   sizeof(struct asm_func_frame)

/* How they are made of their lists. An entry in parentheses has a macro for each count of words. */
#define ASM_LAYOUT_FROM(field, type, ...)                                                          \
	{                                                                                          \
		.name = #type, .size = sizeof(type),                                               \
		.fields = (const struct asm_field[]){ ASM_EACH(field, type, __VA_ARGS__) },        \
		.nfields =                                                                         \
			sizeof((const struct asm_field[]){ ASM_EACH(field, type, __VA_ARGS__) }) / \
			sizeof(struct asm_field)                                                   \
	}
#define ASM_FIELD(type, member, layout)                                                            \
	{ #member, offsetof(type, member), sizeof(((type *)0)->member), layout },
#define ASM_LAYOUT_FIELD(type, entry) ASM_JOIN(ASM_LAYOUT_FIELD_, ASM_IS_LIST(entry))(type, entry)
#define ASM_LAYOUT_FIELD_0(type, member) ASM_FIELD(type, member, 0)
#define ASM_LAYOUT_FIELD_1(type, entry) ASM_CALL(ASM_FIELD, type, ASM_WORDS entry)

#define ASM_FRAME_MEMBER(tag, entry)                                                               \
	ASM_CALL(ASM_JOIN(ASM_MEMBER_, ASM_COUNT entry), ASM_WORDS entry)
#define ASM_MEMBER_2(part, offset)
#define ASM_MEMBER_3(type, member, offset) __typeof__(type) member;
#define ASM_MEMBER_4(type, member, offset, layout) __typeof__(type) member;
#define ASM_FRAME_OFFSET(frame, entry)                                                             \
	ASM_CALL(ASM_JOIN(ASM_OFFSET_, ASM_COUNT entry), frame, ASM_WORDS entry)
#define ASM_OFFSET_2(frame, part, offset) offset = FRAME(frame, part),
#define ASM_OFFSET_3(frame, type, member, offset) offset = FRAME(frame, member),
#define ASM_OFFSET_4(frame, type, member, offset, layout) offset = FRAME(frame, member),
#define ASM_FRAME_FIELD(frame, entry)                                                              \
	ASM_CALL(ASM_JOIN(ASM_FIELD_, ASM_COUNT entry), frame, ASM_WORDS entry)
#define ASM_FIELD_2(frame, part, offset)
#define ASM_FIELD_3(frame, type, member, offset) ASM_FIELD(frame, member, 0)
#define ASM_FIELD_4(frame, type, member, offset, layout) ASM_FIELD(frame, member, layout)

/* ---- the stack frame as a C struct */

/* The program describes its stack as a struct that ends at R10: FRAME(type, member) is the offset
 * of a member. */
#define FRAME(type, member)                                                                        \
	((int)offsetof(type, member) - (int)sizeof(type) +                                         \
	 ASM_CHECK(sizeof(type) <= ASM_STACK_SIZE, "the stack frame holds 512 bytes") +            \
	 ASM_CHECK(sizeof(type) % 8 == 0, "the size of the frame must be a multiple of 8"))

/* Clears `bytes` bytes at offset `off` from R10 with as few stores as it takes. */
#define ASM_ZERO_LINE(text_, off_, bytes)                                                          \
	ASM_LINE(ASM_ZERO, text_,                                                                  \
		 ASM_CODE(BPF_ST | BPF_MEM | BPF_DW, BPF_REG_10, 0, ASM_MEM(R10, off_, BPF_B), 0), \
		 .value = (bytes) +                                                                \
			  ASM_CHECK((long long)(bytes) > 0 && (off_) + (long long)(bytes) <= 0,    \
				    "beyond the stack frame"))
#define ZERO(off, bytes) ASM_ZERO_LINE("ZERO(" #off ", " #bytes ")", off, bytes)
#define ZERO_FRAME(type)                                                                           \
	ASM_LINE(ASM_ZERO, "ZERO_FRAME(" #type ")",                                                \
		 ASM_CODE(BPF_ST | BPF_MEM | BPF_DW, BPF_REG_10, 0,                                \
			  -(int)sizeof(type) +                                                     \
				  ASM_CHECK(sizeof(type) <= ASM_STACK_SIZE,                        \
					    "outside the stack frame: R10-512 up to R10-1"),       \
			  0),                                                                      \
		 .value = sizeof(type))

/* clang-format off */

/* dst = address of the frame offset off. */
#define FRAME_PTR(dst, off) MOV_REG(dst, R10), ADD(dst, off)

/* ---- maps */

/* R0 = address of the value under the key at frame offset key, or 0. */
#define MAP_LOOKUP(map, key)                                                               \
	SCOPE("MAP_LOOKUP(" #map ", " #key ")"),                                           \
		LD_MAP(R1, map),                                                           \
		FRAME_PTR(R2, key),                                                        \
		CALL(map_lookup_elem),                                                     \
	END

/* Before Linux 6.4 these two helpers end in functions that return an int, which the verifier calls
 * directly: the upper half of R0 is 0 there, and -EEXIST not the 64-bit number that JEQ means. */
#define ASM_RESULT_INT LSH(R0, 32), ARSH(R0, 32)

/* R0 = 0 or a negative errno. flags: BPF_ANY, BPF_NOEXIST, BPF_EXIST. */
#define MAP_UPDATE(map, key, value, flags)                                                 \
	SCOPE("MAP_UPDATE(" #map ", " #key ", " #value ", " #flags ")"),                   \
		LD_MAP(R1, map),                                                           \
		FRAME_PTR(R2, key),                                                        \
		FRAME_PTR(R3, value),                                                      \
		MOV(R4, flags),                                                            \
		CALL(map_update_elem),                                                     \
		ASM_RESULT_INT,                                                            \
	END

/* R0 = 0 or a negative errno. */
#define MAP_DELETE(map, key)                                                               \
	SCOPE("MAP_DELETE(" #map ", " #key ")"),                                           \
		LD_MAP(R1, map),                                                           \
		FRAME_PTR(R2, key),                                                        \
		CALL(map_delete_elem),                                                     \
		ASM_RESULT_INT,                                                            \
	END

/*
 * R0 = address of the value under the key; a key that is new gets the value at frame offset init
 * first. 0 when the map is full. NOEXIST and the second look: two CPUs may both miss, one of them
 * inserts.
 */
#define MAP_LOOKUP_OR_INIT(map, key, init)                                                 \
	SCOPE("MAP_LOOKUP_OR_INIT(" #map ", " #key ", " #init ")"),                        \
		MAP_LOOKUP(map, key),                                                      \
		JNE(R0, 0, .found),                                                        \
		MAP_UPDATE(map, key, init, BPF_NOEXIST),                                   \
		MAP_LOOKUP(map, key),                                                      \
	LABEL(.found),                                                                     \
	END

/*
 * Adds the 64-bit number at frame offset addend to the one under the key, exactly, whatever other
 * CPUs do; a key that is new starts with it. R0 = 0, or the negative errno of the insertion: -E2BIG
 * when the map is full, -EBUSY when this sample interrupted a change of the same bucket.
 */
#define MAP_ADD(map, key, addend)                                                          \
	SCOPE("MAP_ADD(" #map ", " #key ", " #addend ")"),                                 \
		MAP_LOOKUP(map, key),                                                      \
		JNE(R0, 0, .found),                                                        \
		MAP_UPDATE(map, key, addend, BPF_NOEXIST),                                 \
		JNE(R0, -EEXIST, .done),                                                   \
		MAP_LOOKUP(map, key),                                                      \
		JNE(R0, 0, .found),                                                        \
		MOV(R0, -ENOENT),                                                          \
		JA(.done),                                                                 \
	LABEL(.found),                                                                     \
		LDX(DW, R1, R10, addend),                                                  \
		ATOMIC_ADD(DW, R0, 0, R1),                                                 \
		MOV(R0, 0),                                                                \
	LABEL(.done),                                                                      \
	END

/*
 * Counts one in a member (uint64_t) of the struct that is the only element of an array map. No
 * look-up: the member's address is a constant of the program. Destroys R1 and R2 only.
 */
#define COUNT(map, type, member)                                                           \
	SCOPE("COUNT(" #map ", " #type ", " #member ")"),                                  \
		LD_MAP_VALUE(R1, map, offsetof(type, member)),                             \
		MOV(R2, 1),                                                                \
		ATOMIC_ADD(DW, R1, 0, R2),                                                 \
	END

/* ---- ring buffer */

/* R0 = address of `bytes` (a constant) reserved bytes, or 0. What is reserved must be submitted or
 * discarded. */
#define RING_RESERVE(ring, bytes)                                                          \
	SCOPE("RING_RESERVE(" #ring ", " #bytes ")"),                                      \
		LD_MAP(R1, ring),                                                          \
		MOV(R2, bytes),                                                            \
		MOV(R3, 0),                                                                \
		CALL(ringbuf_reserve),                                                     \
	END
/* record: the register with the address that RING_RESERVE gave. flags: 0, BPF_RB_NO_WAKEUP,
 * BPF_RB_FORCE_WAKEUP. */
#define RING_SUBMIT(record, flags)                                                         \
	SCOPE("RING_SUBMIT(" #record ", " #flags ")"),                                     \
		MOV_REG(R1, record),                                                       \
		MOV(R2, flags),                                                            \
		CALL(ringbuf_submit),                                                      \
	END
#define RING_DISCARD(record)                                                               \
	SCOPE("RING_DISCARD(" #record ")"),                                                \
		MOV_REG(R1, record),                                                       \
		MOV(R2, BPF_RB_NO_WAKEUP),                                                 \
		CALL(ringbuf_discard),                                                     \
	END
/* Copies as many bytes as register `bytes` says from the address in register data, which must not
 * be R3. R0 = 0 or -EAGAIN: full. */
#define RING_OUTPUT(ring, data, bytes, flags)                                              \
	SCOPE("RING_OUTPUT(" #ring ", " #data ", " #bytes ", " #flags ")"),                \
		MOV_REG(R3, bytes),                                                        \
		MOV_REG(R2, data),                                                         \
		LD_MAP(R1, ring),                                                          \
		MOV(R4, flags),                                                            \
		CALL(ringbuf_output),                                                      \
	END

/* ---- reading memory */

/* Copies a constant number of bytes from the address in register src to a frame offset. R0 = 0, or
 * negative if there is nothing to read (-EFAULT; -ERANGE: an address of the other side), and then
 * the bytes are 0. */
#define READ_KERNEL(to, bytes, src)                                                        \
	SCOPE("READ_KERNEL(" #to ", " #bytes ", " #src ")"),                               \
		MOV_REG(R3, src),                                                          \
		FRAME_PTR(R1, to),                                                         \
		MOV(R2, bytes),                                                            \
		CALL(probe_read_kernel),                                                   \
	END
#define READ_USER(to, bytes, src)                                                          \
	SCOPE("READ_USER(" #to ", " #bytes ", " #src ")"),                                 \
		MOV_REG(R3, src),                                                          \
		FRAME_PTR(R1, to),                                                         \
		MOV(R2, bytes),                                                            \
		CALL(probe_read_user),                                                     \
	END
/* READ_KERNEL of a member of a kernel type, all of it; src holds the address of an object of that
 * type. */
#define READ_FIELD(to, src, type, path)                                                    \
	SCOPE("READ_FIELD(" #to ", " #src ", " #type ", " #path ")"),                      \
		MOV_REG(R3, src),                                                          \
		ADD_FIELD_OFFSET(R3, type, path),                                          \
		FRAME_PTR(R1, to),                                                         \
		FIELD_SIZE(R2, type, path),                                                \
		CALL(probe_read_kernel),                                                   \
	END

/* Copies a string with its NUL, cut to `bytes` (a constant). R0 = how many with the NUL, or
 * -EFAULT. */
#define READ_KERNEL_STR(to, bytes, src)                                                    \
	SCOPE("READ_KERNEL_STR(" #to ", " #bytes ", " #src ")"),                           \
		MOV_REG(R3, src),                                                          \
		FRAME_PTR(R1, to),                                                         \
		MOV(R2, bytes),                                                            \
		CALL(probe_read_kernel_str),                                               \
	END
#define READ_USER_STR(to, bytes, src)                                                      \
	SCOPE("READ_USER_STR(" #to ", " #bytes ", " #src ")"),                             \
		MOV_REG(R3, src),                                                          \
		FRAME_PTR(R1, to),                                                         \
		MOV(R2, bytes),                                                            \
		CALL(probe_read_user_str),                                                 \
	END

/* ---- the thread that runs, at a frame offset */

/* Its process id, 4 bytes; R0 = that id too. */
#define READ_PID(to)                                                                       \
	SCOPE("READ_PID(" #to ")"),                                                        \
		CALL(get_current_pid_tgid),                                                \
		RSH(R0, 32),                                                               \
		STX(W, R10, to, R0),                                                       \
	END
/* Its thread id, 4 bytes; R0 = process id << 32 | thread id. */
#define READ_TID(to)                                                                       \
	SCOPE("READ_TID(" #to ")"),                                                        \
		CALL(get_current_pid_tgid),                                                \
		STX(W, R10, to, R0),                                                       \
	END
/* Where the kernel has its struct task_struct, 8 bytes, which stays through an exec. */
#define READ_OWN_TASK(to) SCOPE("READ_OWN_TASK"), CALL(get_current_task), STX(DW, R10, to, R0), END
/* Its command name, 16 bytes. */
#define READ_COMM(to)                                                                      \
	SCOPE("READ_COMM(" #to ")"),                                                       \
		FRAME_PTR(R1, to),                                                         \
		MOV(R2, 16),                                                               \
		CALL(get_current_comm),                                                    \
	END

/* ---- filters: go on, or jump to the label out */

/* Only the process, or thread, whose id is the parameter; 0 lets everyone pass. */
#define FILTER_PID(type, member, out)                                                      \
	SCOPE("FILTER_PID(" #type ", " #member ", " #out ")"),                             \
		WHEN(type, member),                                                        \
			CALL(get_current_pid_tgid),                                        \
			RSH(R0, 32),                                                       \
			JNE_PARAM(R0, type, member, out),                                  \
		END,                                                                       \
	END
#define FILTER_TID(type, member, out)                                                      \
	SCOPE("FILTER_TID(" #type ", " #member ", " #out ")"),                             \
		WHEN(type, member),                                                        \
			CALL(get_current_pid_tgid),                                        \
			MOV32_REG(R0, R0),                                                 \
			JNE_PARAM(R0, type, member, out),                                  \
		END,                                                                       \
	END

/* Only a key (at a frame offset) that is in the map. */
#define FILTER_SET(map, key, out)                                                          \
	SCOPE("FILTER_SET(" #map ", " #key ", " #out ")"),                                 \
		MAP_LOOKUP(map, key),                                                      \
		JEQ(R0, 0, out),                                                           \
	END

/* Only CPUs whose number is a key of the map; scratch: a frame offset of 4 bytes. */
#define FILTER_CPU(map, scratch, out)                                                      \
	SCOPE("FILTER_CPU(" #map ", " #scratch ", " #out ")"),                             \
		CALL(get_smp_processor_id),                                                \
		STX(W, R10, scratch, R0),                                                  \
		FILTER_SET(map, scratch, out),                                             \
	END

/*
 * Only the version 2 control group whose id (inode number of its directory) is the parameter id,
 * and the groups below it; level is how deep it lies under the root. id 0 lets everyone pass.
 */
#define FILTER_CGROUP(type, id, level, out)                                                \
	SCOPE("FILTER_CGROUP(" #type ", " #id ", " #level ", " #out ")"),                  \
		WHEN(type, id),                                                            \
			LD_PARAM(R1, type, level),                                         \
			CALL(get_current_ancestor_cgroup_id),                              \
			LD_PARAM(R1, type, id),                                            \
			JNE_REG(R0, R1, out),                                              \
		END,                                                                       \
	END

/*
 * Only command names that begin as the parameter says, or equal it; the 16 bytes that
 * get_current_comm wrote lie off bytes from register base. They are compared as two numbers,
 * masked; asm_comm_filter() fills the parameter.
 */
struct asm_comm_filter {
	uint64_t mask[2];
	uint64_t want[2];
};
#define FILTER_COMM(type, member, base, off, out)                                          \
	SCOPE("FILTER_COMM(" #type ", " #member ", " #base ", " #off ", " #out ")"),       \
		WHEN(type, member.mask[0]),                                                \
			LDX(DW, R1, base, off),                                            \
			LD_PARAM(R2, type, member.mask[0]),                                \
			AND_REG(R1, R2),                                                   \
			LD_PARAM(R2, type, member.want[0]),                                \
			JNE_REG(R1, R2, out),                                              \
			LDX(DW, R1, base, (off) + 8),                                      \
			LD_PARAM(R2, type, member.mask[1]),                                \
			AND_REG(R1, R2),                                                   \
			LD_PARAM(R2, type, member.want[1]),                                \
			JNE_REG(R1, R2, out),                                              \
		END,                                                                       \
	END
/*
 * pattern: a name of at most 15 bytes, or its beginning and a '*'. Returns 0; -EINVAL for any other
 * pattern (empty, "*" in another place, "?" or "["), which user space has to match; -E2BIG when it
 * is longer than a command name can be.
 */
int asm_comm_filter(const char *pattern, struct asm_comm_filter *out);

/* ---- histograms */

/*
 * One halving of LOG2: if value has a bit at or above `bits`, shift it down by them and add them to
 * dst. Without a branch, so that the verifier has one state to follow and not 64: (t | -t) >> 63 is
 * 1 unless t is 0.
 */
#define ASM_LOG2_HALF(dst, value, t, u, bits, log2_bits)                                   \
	MOV_REG(t, value),                                                                 \
	RSH(t, bits),                                                                      \
	MOV_REG(u, t),                                                                     \
	NEG(u),                                                                            \
	OR_REG(t, u),                                                                      \
	RSH(t, 63),                                                                        \
	LSH(t, log2_bits),                                                                 \
	RSH_REG(value, t),                                                                 \
	ADD_REG(dst, t)

/* dst = the number of the highest bit set in value (0 for 0 and 1); value, t and u are destroyed.
 */
#define LOG2(dst, value, t, u)                                                             \
	SCOPE("LOG2(" #dst ", " #value ", " #t ", " #u ")"),                               \
		MOV(dst, 0),                                                               \
		ASM_LOG2_HALF(dst, value, t, u, 32, 5),                                    \
		ASM_LOG2_HALF(dst, value, t, u, 16, 4),                                    \
		ASM_LOG2_HALF(dst, value, t, u, 8, 3),                                     \
		ASM_LOG2_HALF(dst, value, t, u, 4, 2),                                     \
		ASM_LOG2_HALF(dst, value, t, u, 2, 1),                                     \
		ASM_LOG2_HALF(dst, value, t, u, 1, 0),                                     \
	END

/*
 * dst = the log-linear bucket of value: each power of two is cut into 2^bits equal parts. With
 * s = max(log2(value) - bits, 0): (s << bits) + (value >> s). Values below 2^(bits+1) have a bucket
 * each, above that a bucket is 2^s wide, at most value >> bits. ASM_LOGLIN_BUCKETS says how many
 * there are. t, u, v and value are destroyed.
 */
#define LOG_LINEAR(dst, value, bits, t, u, v)                                              \
	SCOPE("LOG_LINEAR(" #dst ", " #value ", " #bits ", " #t ", " #u ", " #v ")"),      \
		MOV_REG(v, value),                                                         \
		LOG2(dst, v, t, u),                                                        \
		ASM_LOGLIN_REST(dst, value, bits),                                         \
	END
/* The same, once its logarithm is in dst. */
#define ASM_LOGLIN_REST(dst, value, bits)                                                  \
		SUB(dst, bits),                                                            \
		JSGE(dst, 0, .shift),                                                      \
		MOV(dst, 0),                                                               \
	LABEL(.shift),                                                                     \
		RSH_REG(value, dst),                                                       \
		LSH(dst, bits),                                                            \
		ADD_REG(dst, value)
#define ASM_LOGLIN_BUCKETS(bits) (((64 - (bits)) + 1) << (bits))

/*
 * A histogram in a map's value, which is empty when all of it is 0: the slots count, so there is no
 * count beside them. report_hist_merge() in hist.h takes it over.
 */
struct asm_hist {
	uint64_t sum;
	uint64_t not_least; /* ~(least value), so that 0 is "nothing yet" and it only grows */
	uint64_t greatest;
	uint64_t slots[]; /* ASM_LOGLIN_BUCKETS(bits), or fewer */
};

/* Raises the member to the value. */
#define ASM_HIST_RAISE(hist, member, value, t, known)                                      \
	LDX(DW, t, hist, offsetof(struct asm_hist, member)),                               \
	JGE_REG(t, value, known),                                                          \
	STX(DW, hist, offsetof(struct asm_hist, member), value),                           \
	LABEL(known)

/* LOG2(R0, R4, R2, R3): 55 lines, which are the same in every HIST_ADD. */
extern const struct asm_part asm_log2_part;

/*
 * Counts a value. hist holds the address of a struct asm_hist with nslots slots, of which the last
 * one also holds what is beyond it; both registers, of R6-R9, are left as they are. Slots and sum
 * are exact whatever other CPUs do; least and greatest are if no other CPU counts here at the same
 * time, so in a per-CPU map.
 */
#define HIST_ADD(hist, value, bits, nslots)                                                \
	SCOPE("HIST_ADD(" #hist ", " #value ", " #bits ", " #nslots ")"),                  \
		MOV_REG(R1, value),                                                        \
		MOV_REG(R4, R1),                                                           \
		INCLUDE(&asm_log2_part),                                                   \
		ASM_LOGLIN_REST(R0, R1, bits),                                             \
		JLT(R0, nslots, .inside),                                                  \
		MOV(R0, (nslots)-1),                                                       \
	LABEL(.inside),                                                                    \
		LSH(R0, 3),                                                                \
		ADD_REG(R0, hist),                                                         \
		MOV(R1, 1),                                                                \
		ATOMIC_ADD(DW, R0, offsetof(struct asm_hist, slots), R1),                  \
		ATOMIC_ADD(DW, hist, offsetof(struct asm_hist, sum), value),               \
		ASM_HIST_RAISE(hist, greatest, value, R1, .no_greater),                    \
		MOV_REG(R2, value),                                                        \
		XOR(R2, -1),                                                               \
		ASM_HIST_RAISE(hist, not_least, R2, R1, .no_less),                         \
	END

/* clang-format on */

#endif
