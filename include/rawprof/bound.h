/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines whose numbers are known only when a program is loaded: parameters, members of the running
 * kernel's types, fields of tracepoints, registers of the machine; and the stack frame, whose
 * numbers a C struct gives.
 */
#ifndef RAWPROF_BOUND_H
#define RAWPROF_BOUND_H
#ifndef ASM_SHOW_EXPANSION
#pragma GCC system_header
#endif

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
 * A struct asm_layout for whoever shows memory, of the stack frame or of a map's keys and values:
 *
 *	ASM_LAYOUT(struct cpu_key, ASM_FIELD(struct cpu_key, hash), ...)
 *
 * Members in the order in which they lie; what is left out counts as padding.
 */
#define ASM_LAYOUT(type, ...)                                                                      \
	{                                                                                          \
		.name = #type, .size = sizeof(type),                                               \
		.fields = (const struct asm_field[]){ __VA_ARGS__ },                               \
		.nfields = sizeof((const struct asm_field[]){ __VA_ARGS__ }) /                     \
			   sizeof(struct asm_field)                                                \
	}
#define ASM_FIELD(type, member)                                                                    \
	{                                                                                          \
		.name = #member, .offset = offsetof(type, member),                                 \
		.size = sizeof(((type *)0)->member)                                                \
	}

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

#endif
