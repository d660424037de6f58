/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines whose numbers are known only when a program is loaded: parameters, members of the running
 * kernel's types, fields of tracepoints, registers of the machine; and the stack frame, whose
 * numbers a C struct gives.
 */
#ifndef RAWPROF_BOUND_H
#define RAWPROF_BOUND_H

#include <rawprof/isa.h>

/* ---- bound at load time */

/*
 * A parameter is a member of the struct that is handed to asm_assemble() as the configuration. Its
 * value, sign-extended if its type is signed, is written into the instructions, so it costs nothing
 * when the program runs.
 */
#define ASM_PARAM(type, member)                                                                    \
	.param_offset = offsetof(type, member),                                                    \
	.param_size = sizeof(((type *)0)->member) +                                                \
		      ASM_CHECK(sizeof(((type *)0)->member) <= 8, "a parameter is a number") +     \
		      ASM_CHECK(sizeof(type) <= 65535, "a configuration has at most 65535 bytes"), \
	.param_signed = (__typeof__(((type *)0)->member))-1 < (__typeof__(((type *)0)->member))1,  \
	.config_size = sizeof(type)

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

/* ASM_EACH(f, x, a, b, ...) is f(x, a) f(x, b) ..., for at most 24. */
#define ASM_EACH(f, x, ...) ASM_JOIN(ASM_EACH_, ASM_COUNT(__VA_ARGS__))(f, x, __VA_ARGS__)
#define ASM_EACH_1(f, x, a) f(x, a)
#define ASM_EACH_2(f, x, a, ...) f(x, a) ASM_EACH_1(f, x, __VA_ARGS__)
#define ASM_EACH_3(f, x, a, ...) f(x, a) ASM_EACH_2(f, x, __VA_ARGS__)
#define ASM_EACH_4(f, x, a, ...) f(x, a) ASM_EACH_3(f, x, __VA_ARGS__)
#define ASM_EACH_5(f, x, a, ...) f(x, a) ASM_EACH_4(f, x, __VA_ARGS__)
#define ASM_EACH_6(f, x, a, ...) f(x, a) ASM_EACH_5(f, x, __VA_ARGS__)
#define ASM_EACH_7(f, x, a, ...) f(x, a) ASM_EACH_6(f, x, __VA_ARGS__)
#define ASM_EACH_8(f, x, a, ...) f(x, a) ASM_EACH_7(f, x, __VA_ARGS__)
#define ASM_EACH_9(f, x, a, ...) f(x, a) ASM_EACH_8(f, x, __VA_ARGS__)
#define ASM_EACH_10(f, x, a, ...) f(x, a) ASM_EACH_9(f, x, __VA_ARGS__)
#define ASM_EACH_11(f, x, a, ...) f(x, a) ASM_EACH_10(f, x, __VA_ARGS__)
#define ASM_EACH_12(f, x, a, ...) f(x, a) ASM_EACH_11(f, x, __VA_ARGS__)
#define ASM_EACH_13(f, x, a, ...) f(x, a) ASM_EACH_12(f, x, __VA_ARGS__)
#define ASM_EACH_14(f, x, a, ...) f(x, a) ASM_EACH_13(f, x, __VA_ARGS__)
#define ASM_EACH_15(f, x, a, ...) f(x, a) ASM_EACH_14(f, x, __VA_ARGS__)
#define ASM_EACH_16(f, x, a, ...) f(x, a) ASM_EACH_15(f, x, __VA_ARGS__)
#define ASM_EACH_17(f, x, a, ...) f(x, a) ASM_EACH_16(f, x, __VA_ARGS__)
#define ASM_EACH_18(f, x, a, ...) f(x, a) ASM_EACH_17(f, x, __VA_ARGS__)
#define ASM_EACH_19(f, x, a, ...) f(x, a) ASM_EACH_18(f, x, __VA_ARGS__)
#define ASM_EACH_20(f, x, a, ...) f(x, a) ASM_EACH_19(f, x, __VA_ARGS__)
#define ASM_EACH_21(f, x, a, ...) f(x, a) ASM_EACH_20(f, x, __VA_ARGS__)
#define ASM_EACH_22(f, x, a, ...) f(x, a) ASM_EACH_21(f, x, __VA_ARGS__)
#define ASM_EACH_23(f, x, a, ...) f(x, a) ASM_EACH_22(f, x, __VA_ARGS__)
#define ASM_EACH_24(f, x, a, ...) f(x, a) ASM_EACH_23(f, x, __VA_ARGS__)
#define ASM_COUNT(...)                                                                             \
	ASM_25TH(__VA_ARGS__, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, \
		 6, 5, 4, 3, 2, 1, ~)
#define ASM_25TH(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, ...) y
#define ASM_IS_LIST(entry) ASM_CALL(ASM_SECOND, ASM_LIST_PROBE entry, 0, ~)
#define ASM_LIST_PROBE(...) ~, 1
#define ASM_SECOND(a, b, ...) b
#define ASM_WORDS(...) __VA_ARGS__
#define ASM_CALL(f, ...) f(__VA_ARGS__)
#define ASM_JOIN(a, b) ASM_JOIN_(a, b)
#define ASM_JOIN_(a, b) a##b

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
		 ASM_CODE(BPF_ST | BPF_MEM | BPF_DW, R10, 0, ASM_MEM(10, off_, BPF_B), 0),         \
		 .value = (bytes) +                                                                \
			  ASM_CHECK((long long)(bytes) > 0 && (off_) + (long long)(bytes) <= 0,    \
				    "beyond the stack frame"))
#define ZERO(off, bytes) ASM_ZERO_LINE("ZERO(" #off ", " #bytes ")", off, bytes)
#define ZERO_FRAME(type) ASM_ZERO_LINE("ZERO_FRAME(" #type ")", -(int)sizeof(type), sizeof(type))

#endif
