/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The instructions of the DSL: every one of RFC 9669 (BPF Instruction Set Architecture). Each
 * macro makes one struct asm_insn; asm.h says what that is. macros.h has the lines whose numbers
 * are known only when a program is loaded, and those that stand for several.
 *
 *	LDX(W, R0, R1, 8), AND(R0, 0xff), JEQ(R0, 0, out),
 *
 * What the compiler can know it checks here: a helper's name, an immediate that does not fit, a
 * write to R10, an access outside the 512-byte stack frame.
 */
#ifndef RAWPROF_ISA_H
#define RAWPROF_ISA_H

/* A mistake is reported at the program's own line, without the macros that it went through; this
 * shows them. */
#ifndef ASM_SHOW_EXPANSION
#pragma GCC system_header
#endif

#include <rawprof/asm.h>

/* ---- checks made by the compiler */

/*
 * 0, or a compile-time error with a message; usable in static initialisers. A condition that names
 * what does not exist passes: the compiler has said so by then, and sizeof() of a struct with such
 * a member makes no second error of it.
 */
#define ASM_CHECK(condition, message)                                                              \
	(0 * (int)sizeof(struct {                                                                  \
		 _Static_assert(sizeof(struct { char no[(condition) ? 1 : 2]; }) != 2, message);   \
		 int unused;                                                                       \
	 }))

#define ASM_BYTES(size_code)                                                                       \
	((size_code) == BPF_B ? 1 : (size_code) == BPF_H ? 2 : (size_code) == BPF_W ? 4 : 8)

/* A register where a number belongs, or one with a number added, or with a minus before it. */
#define ASM_LOOKS_LIKE_REG(number)                                                                 \
	((long long)(number) >> 13 == R0 >> 13 ||                                                  \
	 (0 - (unsigned long long)(number)) >> 13 == R0 >> 13)
#define ASM_NUMBER(number)                                                                         \
	ASM_CHECK(!ASM_LOOKS_LIKE_REG(number),                                                     \
		  "a register where a number belongs: the _REG form takes a register")
#define ASM_SRC(reg)                                                                               \
	(((int)(reg)&15) + ASM_CHECK((long long)(reg) >= R0 && (long long)(reg) <= R10,            \
				     "no such register: one of R0 to R10 belongs here"))
#define ASM_DST(reg)                                                                               \
	(ASM_SRC(reg) + ASM_CHECK((reg) != R10, "R10 is the frame pointer: it is read only"))

/* Immediates of 64-bit operations are 32 bits wide and sign-extended. */
#define ASM_S32(imm)                                                                               \
	((int32_t)(imm) + ASM_NUMBER(imm) +                                                        \
	 ASM_CHECK((long long)(imm) >= -2147483648LL && (long long)(imm) <= 2147483647LL,          \
		   "immediate does not fit 32 bits, which are sign-extended to 64: "               \
		   "use LD_IMM64 and the _REG form"))
/* Immediates of 32-bit operations: any 32 bits, however they are spelled. */
#define ASM_I32(imm)                                                                               \
	((int32_t)(uint32_t)(imm) + ASM_NUMBER(imm) +                                              \
	 ASM_CHECK((long long)(imm) >= -2147483648LL && (long long)(imm) <= 4294967295LL,          \
		   "immediate does not fit 32 bits"))
#define ASM_SHIFT(imm, width)                                                                      \
	((int32_t)(imm) + ASM_NUMBER(imm) +                                                        \
	 ASM_CHECK(ASM_LOOKS_LIKE_REG(imm) ||                                                      \
			   ((long long)(imm) >= 0 && (long long)(imm) < (width)),                  \
		   "shift by as many bits as there are, or more"))
#define ASM_DIVISOR(imm) (ASM_CHECK((imm) != 0, "division by zero: the verifier refuses it"))
/* Offsets may be of any type: offsetof() is unsigned. */
#define ASM_OFF(off)                                                                               \
	((int16_t)(off) + ASM_CHECK((long long)(off) >= -32768 && (long long)(off) <= 32767,       \
				    "offset does not fit 16 bits"))
#define ASM_MEM(reg, off, size_code)                                                               \
	(ASM_OFF(off) +                                                                            \
	 ASM_CHECK((reg) != R10 || ((long long)(off) >= -ASM_STACK_SIZE &&                         \
				    (long long)(off) <= -ASM_BYTES(size_code)),                    \
		   "outside the stack frame: R10-512 up to R10-1") +                               \
	 ASM_CHECK((reg) != R10 || (long long)(off) % ASM_BYTES(size_code) == 0,                   \
		   "misaligned stack access: the offset must be a multiple of the size"))
#define ASM_STORED(imm, size_code)                                                                 \
	((int32_t)(uint32_t)(imm) + ASM_NUMBER(imm) +                                              \
	 ASM_CHECK(ASM_LOOKS_LIKE_REG(imm) || (size_code) == BPF_DW                                \
			   ? (long long)(imm) >= -2147483648LL && (long long)(imm) <= 2147483647LL \
			   : (long long)(imm) >= -(1LL << (8 * ASM_BYTES(size_code) - 1)) &&       \
				     (long long)(imm) < (1LL << (8 * ASM_BYTES(size_code) % 64)),  \
		   "immediate does not fit what is stored"))
#define ASM_BITS(bits, condition) ((bits) + ASM_CHECK(condition, "no such width"))
#define ASM_RMW(size_code)                                                                         \
	((size_code) + ASM_CHECK((size_code) == BPF_W || (size_code) == BPF_DW,                    \
				 "atomic operations are W or DW wide"))

/* ---- elements */

#define ASM_LINE(kind_, text_, ...)                                                                \
	{                                                                                          \
		.kind = (kind_), .text = (text_), .line = __LINE__, __VA_ARGS__                    \
	}
#define ASM_CODE(code_, dst_, src_, off_, imm_)                                                    \
	.insn = { .code = (code_),                                                                 \
		  .dst_reg = (dst_),                                                               \
		  .src_reg = (src_),                                                               \
		  .off = (off_),                                                                   \
		  .imm = (imm_) }

/* Any instruction, unchecked: for tests and for showing what the verifier says. */
#define INSN(code, dst, src, off, imm)                                                             \
	ASM_LINE(ASM_INSN, "INSN(" #code ", " #dst ", " #src ", " #off ", " #imm ")",              \
		 ASM_CODE(code, (dst)&15, (src)&15, off, imm))

/* ---- arithmetic, RFC 9669 section 4.1 */

/*
 * OP(dst, imm): dst = dst OP imm. OP_REG(dst, src): dst = dst OP src. OP32, OP32_REG: on the low 32
 * bits, and the upper 32 bits of dst become 0. The immediates of the 64-bit forms are
 * sign-extended. DIV and MOD are unsigned, SDIV and SMOD (ISA v4, Linux 6.6) signed, rounding
 * towards 0. Division by a register that is 0 gives 0, modulo leaves dst (of the 32-bit forms, its
 * low half); the least number divided by -1 gives itself, modulo 0. A register shifts by its low 6
 * (32-bit forms: 5) bits.
 */
#define ASM_ALU_K(text_, class_, op, dst, imm_, off_)                                              \
	ASM_LINE(ASM_INSN, text_, ASM_CODE((class_) | (op) | BPF_K, ASM_DST(dst), 0, off_, imm_))
#define ASM_ALU_X(text_, class_, op, dst, src, off_)                                               \
	ASM_LINE(ASM_INSN, text_,                                                                  \
		 ASM_CODE((class_) | (op) | BPF_X, ASM_DST(dst), ASM_SRC(src), off_, 0))

#define MOV(dst, imm) ASM_ALU_K("MOV(" #dst ", " #imm ")", BPF_ALU64, BPF_MOV, dst, ASM_S32(imm), 0)
#define ADD(dst, imm) ASM_ALU_K("ADD(" #dst ", " #imm ")", BPF_ALU64, BPF_ADD, dst, ASM_S32(imm), 0)
#define SUB(dst, imm) ASM_ALU_K("SUB(" #dst ", " #imm ")", BPF_ALU64, BPF_SUB, dst, ASM_S32(imm), 0)
#define MUL(dst, imm) ASM_ALU_K("MUL(" #dst ", " #imm ")", BPF_ALU64, BPF_MUL, dst, ASM_S32(imm), 0)
#define DIV(dst, imm)                                                                              \
	ASM_ALU_K("DIV(" #dst ", " #imm ")", BPF_ALU64, BPF_DIV, dst,                              \
		  ASM_S32(imm) + ASM_DIVISOR(imm), 0)
#define MOD(dst, imm)                                                                              \
	ASM_ALU_K("MOD(" #dst ", " #imm ")", BPF_ALU64, BPF_MOD, dst,                              \
		  ASM_S32(imm) + ASM_DIVISOR(imm), 0)
#define SDIV(dst, imm)                                                                             \
	ASM_ALU_K("SDIV(" #dst ", " #imm ")", BPF_ALU64, BPF_DIV, dst,                             \
		  ASM_S32(imm) + ASM_DIVISOR(imm), 1)
#define SMOD(dst, imm)                                                                             \
	ASM_ALU_K("SMOD(" #dst ", " #imm ")", BPF_ALU64, BPF_MOD, dst,                             \
		  ASM_S32(imm) + ASM_DIVISOR(imm), 1)
#define AND(dst, imm) ASM_ALU_K("AND(" #dst ", " #imm ")", BPF_ALU64, BPF_AND, dst, ASM_S32(imm), 0)
#define OR(dst, imm) ASM_ALU_K("OR(" #dst ", " #imm ")", BPF_ALU64, BPF_OR, dst, ASM_S32(imm), 0)
#define XOR(dst, imm) ASM_ALU_K("XOR(" #dst ", " #imm ")", BPF_ALU64, BPF_XOR, dst, ASM_S32(imm), 0)
#define LSH(dst, imm)                                                                              \
	ASM_ALU_K("LSH(" #dst ", " #imm ")", BPF_ALU64, BPF_LSH, dst, ASM_SHIFT(imm, 64), 0)
#define RSH(dst, imm)                                                                              \
	ASM_ALU_K("RSH(" #dst ", " #imm ")", BPF_ALU64, BPF_RSH, dst, ASM_SHIFT(imm, 64), 0)
#define ARSH(dst, imm)                                                                             \
	ASM_ALU_K("ARSH(" #dst ", " #imm ")", BPF_ALU64, BPF_ARSH, dst, ASM_SHIFT(imm, 64), 0)

#define MOV_REG(dst, src) ASM_ALU_X("MOV_REG(" #dst ", " #src ")", BPF_ALU64, BPF_MOV, dst, src, 0)
#define ADD_REG(dst, src) ASM_ALU_X("ADD_REG(" #dst ", " #src ")", BPF_ALU64, BPF_ADD, dst, src, 0)
#define SUB_REG(dst, src) ASM_ALU_X("SUB_REG(" #dst ", " #src ")", BPF_ALU64, BPF_SUB, dst, src, 0)
#define MUL_REG(dst, src) ASM_ALU_X("MUL_REG(" #dst ", " #src ")", BPF_ALU64, BPF_MUL, dst, src, 0)
#define DIV_REG(dst, src) ASM_ALU_X("DIV_REG(" #dst ", " #src ")", BPF_ALU64, BPF_DIV, dst, src, 0)
#define MOD_REG(dst, src) ASM_ALU_X("MOD_REG(" #dst ", " #src ")", BPF_ALU64, BPF_MOD, dst, src, 0)
#define SDIV_REG(dst, src)                                                                         \
	ASM_ALU_X("SDIV_REG(" #dst ", " #src ")", BPF_ALU64, BPF_DIV, dst, src, 1)
#define SMOD_REG(dst, src)                                                                         \
	ASM_ALU_X("SMOD_REG(" #dst ", " #src ")", BPF_ALU64, BPF_MOD, dst, src, 1)
#define AND_REG(dst, src) ASM_ALU_X("AND_REG(" #dst ", " #src ")", BPF_ALU64, BPF_AND, dst, src, 0)
#define OR_REG(dst, src) ASM_ALU_X("OR_REG(" #dst ", " #src ")", BPF_ALU64, BPF_OR, dst, src, 0)
#define XOR_REG(dst, src) ASM_ALU_X("XOR_REG(" #dst ", " #src ")", BPF_ALU64, BPF_XOR, dst, src, 0)
#define LSH_REG(dst, src) ASM_ALU_X("LSH_REG(" #dst ", " #src ")", BPF_ALU64, BPF_LSH, dst, src, 0)
#define RSH_REG(dst, src) ASM_ALU_X("RSH_REG(" #dst ", " #src ")", BPF_ALU64, BPF_RSH, dst, src, 0)
#define ARSH_REG(dst, src)                                                                         \
	ASM_ALU_X("ARSH_REG(" #dst ", " #src ")", BPF_ALU64, BPF_ARSH, dst, src, 0)

#define MOV32(dst, imm)                                                                            \
	ASM_ALU_K("MOV32(" #dst ", " #imm ")", BPF_ALU, BPF_MOV, dst, ASM_I32(imm), 0)
#define ADD32(dst, imm)                                                                            \
	ASM_ALU_K("ADD32(" #dst ", " #imm ")", BPF_ALU, BPF_ADD, dst, ASM_I32(imm), 0)
#define SUB32(dst, imm)                                                                            \
	ASM_ALU_K("SUB32(" #dst ", " #imm ")", BPF_ALU, BPF_SUB, dst, ASM_I32(imm), 0)
#define MUL32(dst, imm)                                                                            \
	ASM_ALU_K("MUL32(" #dst ", " #imm ")", BPF_ALU, BPF_MUL, dst, ASM_I32(imm), 0)
#define DIV32(dst, imm)                                                                            \
	ASM_ALU_K("DIV32(" #dst ", " #imm ")", BPF_ALU, BPF_DIV, dst,                              \
		  ASM_I32(imm) + ASM_DIVISOR(imm), 0)
#define MOD32(dst, imm)                                                                            \
	ASM_ALU_K("MOD32(" #dst ", " #imm ")", BPF_ALU, BPF_MOD, dst,                              \
		  ASM_I32(imm) + ASM_DIVISOR(imm), 0)
#define SDIV32(dst, imm)                                                                           \
	ASM_ALU_K("SDIV32(" #dst ", " #imm ")", BPF_ALU, BPF_DIV, dst,                             \
		  ASM_I32(imm) + ASM_DIVISOR(imm), 1)
#define SMOD32(dst, imm)                                                                           \
	ASM_ALU_K("SMOD32(" #dst ", " #imm ")", BPF_ALU, BPF_MOD, dst,                             \
		  ASM_I32(imm) + ASM_DIVISOR(imm), 1)
#define AND32(dst, imm)                                                                            \
	ASM_ALU_K("AND32(" #dst ", " #imm ")", BPF_ALU, BPF_AND, dst, ASM_I32(imm), 0)
#define OR32(dst, imm) ASM_ALU_K("OR32(" #dst ", " #imm ")", BPF_ALU, BPF_OR, dst, ASM_I32(imm), 0)
#define XOR32(dst, imm)                                                                            \
	ASM_ALU_K("XOR32(" #dst ", " #imm ")", BPF_ALU, BPF_XOR, dst, ASM_I32(imm), 0)
#define LSH32(dst, imm)                                                                            \
	ASM_ALU_K("LSH32(" #dst ", " #imm ")", BPF_ALU, BPF_LSH, dst, ASM_SHIFT(imm, 32), 0)
#define RSH32(dst, imm)                                                                            \
	ASM_ALU_K("RSH32(" #dst ", " #imm ")", BPF_ALU, BPF_RSH, dst, ASM_SHIFT(imm, 32), 0)
#define ARSH32(dst, imm)                                                                           \
	ASM_ALU_K("ARSH32(" #dst ", " #imm ")", BPF_ALU, BPF_ARSH, dst, ASM_SHIFT(imm, 32), 0)

#define MOV32_REG(dst, src)                                                                        \
	ASM_ALU_X("MOV32_REG(" #dst ", " #src ")", BPF_ALU, BPF_MOV, dst, src, 0)
#define ADD32_REG(dst, src)                                                                        \
	ASM_ALU_X("ADD32_REG(" #dst ", " #src ")", BPF_ALU, BPF_ADD, dst, src, 0)
#define SUB32_REG(dst, src)                                                                        \
	ASM_ALU_X("SUB32_REG(" #dst ", " #src ")", BPF_ALU, BPF_SUB, dst, src, 0)
#define MUL32_REG(dst, src)                                                                        \
	ASM_ALU_X("MUL32_REG(" #dst ", " #src ")", BPF_ALU, BPF_MUL, dst, src, 0)
#define DIV32_REG(dst, src)                                                                        \
	ASM_ALU_X("DIV32_REG(" #dst ", " #src ")", BPF_ALU, BPF_DIV, dst, src, 0)
#define MOD32_REG(dst, src)                                                                        \
	ASM_ALU_X("MOD32_REG(" #dst ", " #src ")", BPF_ALU, BPF_MOD, dst, src, 0)
#define SDIV32_REG(dst, src)                                                                       \
	ASM_ALU_X("SDIV32_REG(" #dst ", " #src ")", BPF_ALU, BPF_DIV, dst, src, 1)
#define SMOD32_REG(dst, src)                                                                       \
	ASM_ALU_X("SMOD32_REG(" #dst ", " #src ")", BPF_ALU, BPF_MOD, dst, src, 1)
#define AND32_REG(dst, src)                                                                        \
	ASM_ALU_X("AND32_REG(" #dst ", " #src ")", BPF_ALU, BPF_AND, dst, src, 0)
#define OR32_REG(dst, src) ASM_ALU_X("OR32_REG(" #dst ", " #src ")", BPF_ALU, BPF_OR, dst, src, 0)
#define XOR32_REG(dst, src)                                                                        \
	ASM_ALU_X("XOR32_REG(" #dst ", " #src ")", BPF_ALU, BPF_XOR, dst, src, 0)
#define LSH32_REG(dst, src)                                                                        \
	ASM_ALU_X("LSH32_REG(" #dst ", " #src ")", BPF_ALU, BPF_LSH, dst, src, 0)
#define RSH32_REG(dst, src)                                                                        \
	ASM_ALU_X("RSH32_REG(" #dst ", " #src ")", BPF_ALU, BPF_RSH, dst, src, 0)
#define ARSH32_REG(dst, src)                                                                       \
	ASM_ALU_X("ARSH32_REG(" #dst ", " #src ")", BPF_ALU, BPF_ARSH, dst, src, 0)

#define NEG(dst)                                                                                   \
	ASM_LINE(ASM_INSN, "NEG(" #dst ")", ASM_CODE(BPF_ALU64 | BPF_NEG, ASM_DST(dst), 0, 0, 0))
#define NEG32(dst)                                                                                 \
	ASM_LINE(ASM_INSN, "NEG32(" #dst ")", ASM_CODE(BPF_ALU | BPF_NEG, ASM_DST(dst), 0, 0, 0))

/* dst = the low bits (8, 16; 32 only in MOVSX) of src, sign-extended to 64 (MOVSX32: to 32) bits.
 * ISA v4. */
#define MOVSX(dst, src, bits)                                                                      \
	ASM_LINE(ASM_INSN, "MOVSX(" #dst ", " #src ", " #bits ")",                                 \
		 ASM_CODE(BPF_ALU64 | BPF_MOV | BPF_X, ASM_DST(dst), ASM_SRC(src),                 \
			  ASM_BITS(bits, (bits) == 8 || (bits) == 16 || (bits) == 32), 0))
#define MOVSX32(dst, src, bits)                                                                    \
	ASM_LINE(ASM_INSN, "MOVSX32(" #dst ", " #src ", " #bits ")",                               \
		 ASM_CODE(BPF_ALU | BPF_MOV | BPF_X, ASM_DST(dst), ASM_SRC(src),                   \
			  ASM_BITS(bits, (bits) == 8 || (bits) == 16), 0))

/* The low 16, 32 or 64 bits of dst, converted; the bits above become 0. BSWAP is ISA v4. */
#define ASM_ENDIAN(text_, class_, to, dst, bits)                                                   \
	ASM_LINE(ASM_INSN, text_,                                                                  \
		 ASM_CODE((class_) | BPF_END | (to), ASM_DST(dst), 0, 0,                           \
			  ASM_BITS(bits, (bits) == 16 || (bits) == 32 || (bits) == 64)))
#define TO_LE(dst, bits) ASM_ENDIAN("TO_LE(" #dst ", " #bits ")", BPF_ALU, BPF_TO_LE, dst, bits)
#define TO_BE(dst, bits) ASM_ENDIAN("TO_BE(" #dst ", " #bits ")", BPF_ALU, BPF_TO_BE, dst, bits)
#define BSWAP(dst, bits) ASM_ENDIAN("BSWAP(" #dst ", " #bits ")", BPF_ALU64, BPF_TO_LE, dst, bits)

/* ---- memory, RFC 9669 section 5 */

/*
 * size is B, H, W or DW: 1, 2, 4, 8 bytes. LDX zero-extends, LDXS (B, H, W; ISA v4, Linux 6.6)
 * sign-extends; STX stores the low bytes of src, ST a constant (for DW, sign-extended from 32
 * bits).
 */
#define LDX(size, dst, src, off)                                                                   \
	ASM_LINE(ASM_INSN, "LDX(" #size ", " #dst ", " #src ", " #off ")",                         \
		 ASM_CODE(BPF_LDX | BPF_MEM | BPF_##size, ASM_DST(dst), ASM_SRC(src),              \
			  ASM_MEM(src, off, BPF_##size), 0))
#define LDXS(size, dst, src, off)                                                                  \
	ASM_LINE(ASM_INSN, "LDXS(" #size ", " #dst ", " #src ", " #off ")",                        \
		 ASM_CODE(BPF_LDX | BPF_MEMSX | ASM_BITS(BPF_##size, BPF_##size != BPF_DW),        \
			  ASM_DST(dst), ASM_SRC(src), ASM_MEM(src, off, BPF_##size), 0))
#define STX(size, dst, off, src)                                                                   \
	ASM_LINE(ASM_INSN, "STX(" #size ", " #dst ", " #off ", " #src ")",                         \
		 ASM_CODE(BPF_STX | BPF_MEM | BPF_##size, ASM_SRC(dst), ASM_SRC(src),              \
			  ASM_MEM(dst, off, BPF_##size), 0))
#define ST(size, dst, off, imm)                                                                    \
	ASM_LINE(ASM_INSN, "ST(" #size ", " #dst ", " #off ", " #imm ")",                          \
		 ASM_CODE(BPF_ST | BPF_MEM | BPF_##size, ASM_SRC(dst), 0,                          \
			  ASM_MEM(dst, off, BPF_##size), ASM_STORED(imm, BPF_##size)))

/* ---- atomics, RFC 9669 section 5.3 */

/*
 * On *(size *)(dst + off), size W or DW. The FETCH forms and XCHG leave the old value in src;
 * CMPXCHG compares with R0, stores src if equal, and leaves the old value in R0. W forms zero the
 * upper half of the register that gets the old value. All but ATOMIC_ADD are ISA v3 (Linux 5.12).
 */
#define ASM_ATOMIC(text_, op, size_code, dst, off, src)                                            \
	ASM_LINE(ASM_INSN, text_,                                                                  \
		 ASM_CODE(BPF_STX | BPF_ATOMIC | ASM_RMW(size_code), ASM_SRC(dst), src,            \
			  ASM_MEM(dst, off, size_code), op))
#define ATOMIC_ADD(size, dst, off, src)                                                            \
	ASM_ATOMIC("ATOMIC_ADD(" #size ", " #dst ", " #off ", " #src ")", BPF_ADD, BPF_##size,     \
		   dst, off, ASM_SRC(src))
#define ATOMIC_AND(size, dst, off, src)                                                            \
	ASM_ATOMIC("ATOMIC_AND(" #size ", " #dst ", " #off ", " #src ")", BPF_AND, BPF_##size,     \
		   dst, off, ASM_SRC(src))
#define ATOMIC_OR(size, dst, off, src)                                                             \
	ASM_ATOMIC("ATOMIC_OR(" #size ", " #dst ", " #off ", " #src ")", BPF_OR, BPF_##size, dst,  \
		   off, ASM_SRC(src))
#define ATOMIC_XOR(size, dst, off, src)                                                            \
	ASM_ATOMIC("ATOMIC_XOR(" #size ", " #dst ", " #off ", " #src ")", BPF_XOR, BPF_##size,     \
		   dst, off, ASM_SRC(src))
#define ATOMIC_FETCH_ADD(size, dst, off, src)                                                      \
	ASM_ATOMIC("ATOMIC_FETCH_ADD(" #size ", " #dst ", " #off ", " #src ")",                    \
		   BPF_ADD | BPF_FETCH, BPF_##size, dst, off, ASM_DST(src))
#define ATOMIC_FETCH_AND(size, dst, off, src)                                                      \
	ASM_ATOMIC("ATOMIC_FETCH_AND(" #size ", " #dst ", " #off ", " #src ")",                    \
		   BPF_AND | BPF_FETCH, BPF_##size, dst, off, ASM_DST(src))
#define ATOMIC_FETCH_OR(size, dst, off, src)                                                       \
	ASM_ATOMIC("ATOMIC_FETCH_OR(" #size ", " #dst ", " #off ", " #src ")", BPF_OR | BPF_FETCH, \
		   BPF_##size, dst, off, ASM_DST(src))
#define ATOMIC_FETCH_XOR(size, dst, off, src)                                                      \
	ASM_ATOMIC("ATOMIC_FETCH_XOR(" #size ", " #dst ", " #off ", " #src ")",                    \
		   BPF_XOR | BPF_FETCH, BPF_##size, dst, off, ASM_DST(src))
#define ATOMIC_XCHG(size, dst, off, src)                                                           \
	ASM_ATOMIC("ATOMIC_XCHG(" #size ", " #dst ", " #off ", " #src ")", BPF_XCHG, BPF_##size,   \
		   dst, off, ASM_DST(src))
#define ATOMIC_CMPXCHG(size, dst, off, src)                                                        \
	ASM_ATOMIC("ATOMIC_CMPXCHG(" #size ", " #dst ", " #off ", " #src ")", BPF_CMPXCHG,         \
		   BPF_##size, dst, off, ASM_SRC(src))

/* dst = load-acquire of *(size *)(src + off); store-release of src to *(size *)(dst + off).
 * Linux 6.15. */
#define LOAD_ACQ(size, dst, src, off)                                                              \
	ASM_LINE(ASM_INSN, "LOAD_ACQ(" #size ", " #dst ", " #src ", " #off ")",                    \
		 ASM_CODE(BPF_STX | BPF_ATOMIC | BPF_##size, ASM_DST(dst), ASM_SRC(src),           \
			  ASM_MEM(src, off, BPF_##size), BPF_LOAD_ACQ))
#define STORE_REL(size, dst, off, src)                                                             \
	ASM_LINE(ASM_INSN, "STORE_REL(" #size ", " #dst ", " #off ", " #src ")",                   \
		 ASM_CODE(BPF_STX | BPF_ATOMIC | BPF_##size, ASM_SRC(dst), ASM_SRC(src),           \
			  ASM_MEM(dst, off, BPF_##size), BPF_STORE_REL))

/* ---- jumps, RFC 9669 section 4.3 */

/*
 * JXX(dst, imm, label), JXX_REG(dst, src, label) compare 64 bits, the immediate being
 * sign-extended; JXX32, JXX32_REG (ISA v3, Linux 5.1) the low 32. G and L are unsigned, SG and SL
 * signed; JSET jumps when dst & imm is not 0.
 */
#define ASM_JMP_K(text_, class_, op, dst, imm_, label_)                                            \
	ASM_LINE(ASM_JUMP, text_, ASM_CODE((class_) | (op) | BPF_K, ASM_SRC(dst), 0, 0, imm_),     \
		 .sym = label_)
#define ASM_JMP_X(text_, class_, op, dst, src, label_)                                             \
	ASM_LINE(ASM_JUMP, text_,                                                                  \
		 ASM_CODE((class_) | (op) | BPF_X, ASM_SRC(dst), ASM_SRC(src), 0, 0),              \
		 .sym = label_)

#define JEQ(dst, imm, label)                                                                       \
	ASM_JMP_K("JEQ(" #dst ", " #imm ", " #label ")", BPF_JMP, BPF_JEQ, dst, ASM_S32(imm),      \
		  #label)
#define JNE(dst, imm, label)                                                                       \
	ASM_JMP_K("JNE(" #dst ", " #imm ", " #label ")", BPF_JMP, BPF_JNE, dst, ASM_S32(imm),      \
		  #label)
#define JGT(dst, imm, label)                                                                       \
	ASM_JMP_K("JGT(" #dst ", " #imm ", " #label ")", BPF_JMP, BPF_JGT, dst, ASM_S32(imm),      \
		  #label)
#define JGE(dst, imm, label)                                                                       \
	ASM_JMP_K("JGE(" #dst ", " #imm ", " #label ")", BPF_JMP, BPF_JGE, dst, ASM_S32(imm),      \
		  #label)
#define JLT(dst, imm, label)                                                                       \
	ASM_JMP_K("JLT(" #dst ", " #imm ", " #label ")", BPF_JMP, BPF_JLT, dst, ASM_S32(imm),      \
		  #label)
#define JLE(dst, imm, label)                                                                       \
	ASM_JMP_K("JLE(" #dst ", " #imm ", " #label ")", BPF_JMP, BPF_JLE, dst, ASM_S32(imm),      \
		  #label)
#define JSGT(dst, imm, label)                                                                      \
	ASM_JMP_K("JSGT(" #dst ", " #imm ", " #label ")", BPF_JMP, BPF_JSGT, dst, ASM_S32(imm),    \
		  #label)
#define JSGE(dst, imm, label)                                                                      \
	ASM_JMP_K("JSGE(" #dst ", " #imm ", " #label ")", BPF_JMP, BPF_JSGE, dst, ASM_S32(imm),    \
		  #label)
#define JSLT(dst, imm, label)                                                                      \
	ASM_JMP_K("JSLT(" #dst ", " #imm ", " #label ")", BPF_JMP, BPF_JSLT, dst, ASM_S32(imm),    \
		  #label)
#define JSLE(dst, imm, label)                                                                      \
	ASM_JMP_K("JSLE(" #dst ", " #imm ", " #label ")", BPF_JMP, BPF_JSLE, dst, ASM_S32(imm),    \
		  #label)
#define JSET(dst, imm, label)                                                                      \
	ASM_JMP_K("JSET(" #dst ", " #imm ", " #label ")", BPF_JMP, BPF_JSET, dst, ASM_S32(imm),    \
		  #label)

#define JEQ_REG(dst, src, label)                                                                   \
	ASM_JMP_X("JEQ_REG(" #dst ", " #src ", " #label ")", BPF_JMP, BPF_JEQ, dst, src, #label)
#define JNE_REG(dst, src, label)                                                                   \
	ASM_JMP_X("JNE_REG(" #dst ", " #src ", " #label ")", BPF_JMP, BPF_JNE, dst, src, #label)
#define JGT_REG(dst, src, label)                                                                   \
	ASM_JMP_X("JGT_REG(" #dst ", " #src ", " #label ")", BPF_JMP, BPF_JGT, dst, src, #label)
#define JGE_REG(dst, src, label)                                                                   \
	ASM_JMP_X("JGE_REG(" #dst ", " #src ", " #label ")", BPF_JMP, BPF_JGE, dst, src, #label)
#define JLT_REG(dst, src, label)                                                                   \
	ASM_JMP_X("JLT_REG(" #dst ", " #src ", " #label ")", BPF_JMP, BPF_JLT, dst, src, #label)
#define JLE_REG(dst, src, label)                                                                   \
	ASM_JMP_X("JLE_REG(" #dst ", " #src ", " #label ")", BPF_JMP, BPF_JLE, dst, src, #label)
#define JSGT_REG(dst, src, label)                                                                  \
	ASM_JMP_X("JSGT_REG(" #dst ", " #src ", " #label ")", BPF_JMP, BPF_JSGT, dst, src, #label)
#define JSGE_REG(dst, src, label)                                                                  \
	ASM_JMP_X("JSGE_REG(" #dst ", " #src ", " #label ")", BPF_JMP, BPF_JSGE, dst, src, #label)
#define JSLT_REG(dst, src, label)                                                                  \
	ASM_JMP_X("JSLT_REG(" #dst ", " #src ", " #label ")", BPF_JMP, BPF_JSLT, dst, src, #label)
#define JSLE_REG(dst, src, label)                                                                  \
	ASM_JMP_X("JSLE_REG(" #dst ", " #src ", " #label ")", BPF_JMP, BPF_JSLE, dst, src, #label)
#define JSET_REG(dst, src, label)                                                                  \
	ASM_JMP_X("JSET_REG(" #dst ", " #src ", " #label ")", BPF_JMP, BPF_JSET, dst, src, #label)

#define JEQ32(dst, imm, label)                                                                     \
	ASM_JMP_K("JEQ32(" #dst ", " #imm ", " #label ")", BPF_JMP32, BPF_JEQ, dst, ASM_I32(imm),  \
		  #label)
#define JNE32(dst, imm, label)                                                                     \
	ASM_JMP_K("JNE32(" #dst ", " #imm ", " #label ")", BPF_JMP32, BPF_JNE, dst, ASM_I32(imm),  \
		  #label)
#define JGT32(dst, imm, label)                                                                     \
	ASM_JMP_K("JGT32(" #dst ", " #imm ", " #label ")", BPF_JMP32, BPF_JGT, dst, ASM_I32(imm),  \
		  #label)
#define JGE32(dst, imm, label)                                                                     \
	ASM_JMP_K("JGE32(" #dst ", " #imm ", " #label ")", BPF_JMP32, BPF_JGE, dst, ASM_I32(imm),  \
		  #label)
#define JLT32(dst, imm, label)                                                                     \
	ASM_JMP_K("JLT32(" #dst ", " #imm ", " #label ")", BPF_JMP32, BPF_JLT, dst, ASM_I32(imm),  \
		  #label)
#define JLE32(dst, imm, label)                                                                     \
	ASM_JMP_K("JLE32(" #dst ", " #imm ", " #label ")", BPF_JMP32, BPF_JLE, dst, ASM_I32(imm),  \
		  #label)
#define JSGT32(dst, imm, label)                                                                    \
	ASM_JMP_K("JSGT32(" #dst ", " #imm ", " #label ")", BPF_JMP32, BPF_JSGT, dst,              \
		  ASM_I32(imm), #label)
#define JSGE32(dst, imm, label)                                                                    \
	ASM_JMP_K("JSGE32(" #dst ", " #imm ", " #label ")", BPF_JMP32, BPF_JSGE, dst,              \
		  ASM_I32(imm), #label)
#define JSLT32(dst, imm, label)                                                                    \
	ASM_JMP_K("JSLT32(" #dst ", " #imm ", " #label ")", BPF_JMP32, BPF_JSLT, dst,              \
		  ASM_I32(imm), #label)
#define JSLE32(dst, imm, label)                                                                    \
	ASM_JMP_K("JSLE32(" #dst ", " #imm ", " #label ")", BPF_JMP32, BPF_JSLE, dst,              \
		  ASM_I32(imm), #label)
#define JSET32(dst, imm, label)                                                                    \
	ASM_JMP_K("JSET32(" #dst ", " #imm ", " #label ")", BPF_JMP32, BPF_JSET, dst,              \
		  ASM_I32(imm), #label)

#define JEQ32_REG(dst, src, label)                                                                 \
	ASM_JMP_X("JEQ32_REG(" #dst ", " #src ", " #label ")", BPF_JMP32, BPF_JEQ, dst, src, #label)
#define JNE32_REG(dst, src, label)                                                                 \
	ASM_JMP_X("JNE32_REG(" #dst ", " #src ", " #label ")", BPF_JMP32, BPF_JNE, dst, src, #label)
#define JGT32_REG(dst, src, label)                                                                 \
	ASM_JMP_X("JGT32_REG(" #dst ", " #src ", " #label ")", BPF_JMP32, BPF_JGT, dst, src, #label)
#define JGE32_REG(dst, src, label)                                                                 \
	ASM_JMP_X("JGE32_REG(" #dst ", " #src ", " #label ")", BPF_JMP32, BPF_JGE, dst, src, #label)
#define JLT32_REG(dst, src, label)                                                                 \
	ASM_JMP_X("JLT32_REG(" #dst ", " #src ", " #label ")", BPF_JMP32, BPF_JLT, dst, src, #label)
#define JLE32_REG(dst, src, label)                                                                 \
	ASM_JMP_X("JLE32_REG(" #dst ", " #src ", " #label ")", BPF_JMP32, BPF_JLE, dst, src, #label)
#define JSGT32_REG(dst, src, label)                                                                \
	ASM_JMP_X("JSGT32_REG(" #dst ", " #src ", " #label ")", BPF_JMP32, BPF_JSGT, dst, src,     \
		  #label)
#define JSGE32_REG(dst, src, label)                                                                \
	ASM_JMP_X("JSGE32_REG(" #dst ", " #src ", " #label ")", BPF_JMP32, BPF_JSGE, dst, src,     \
		  #label)
#define JSLT32_REG(dst, src, label)                                                                \
	ASM_JMP_X("JSLT32_REG(" #dst ", " #src ", " #label ")", BPF_JMP32, BPF_JSLT, dst, src,     \
		  #label)
#define JSLE32_REG(dst, src, label)                                                                \
	ASM_JMP_X("JSLE32_REG(" #dst ", " #src ", " #label ")", BPF_JMP32, BPF_JSLE, dst, src,     \
		  #label)
#define JSET32_REG(dst, src, label)                                                                \
	ASM_JMP_X("JSET32_REG(" #dst ", " #src ", " #label ")", BPF_JMP32, BPF_JSET, dst, src,     \
		  #label)

/* Jump always. JA becomes gotol (ISA v4) by itself where 16 bits of offset do not reach; GOTOL
 * always is. */
#define JA(label)                                                                                  \
	ASM_LINE(ASM_JUMP, "JA(" #label ")", ASM_CODE(BPF_JMP | BPF_JA, 0, 0, 0, 0), .sym = #label)
#define GOTOL(label)                                                                               \
	ASM_LINE(ASM_JUMP, "GOTOL(" #label ")", ASM_CODE(BPF_JMP32 | BPF_JA, 0, 0, 0, 0),          \
		 .sym = #label)
/*
 * Goes on, or jumps to the label if the program has come by 8 million times (Linux 6.10; JCOND in
 * uapi/linux/bpf.h). So a loop with it ends, whatever else it does, and the verifier need not walk
 * all its rounds: it stops once a round begins with nothing that is new.
 */
#define MAY_GOTO(label)                                                                            \
	ASM_LINE(ASM_JUMP, "MAY_GOTO(" #label ")", ASM_CODE(BPF_JMP | BPF_JCOND, 0, 0, 0, 0),      \
		 .sym = #label)

/* ---- labels and scopes */

/*
 * A label is seen from its own scope and the scopes inside it; the innermost wins. Labels of
 * composed macros begin with a dot by convention, LABEL(.found), and lie in the macro's own SCOPE,
 * so that it can be used twice.
 */
#define LABEL(name) ASM_LINE(ASM_LABEL, "LABEL(" #name ")", .sym = #name)
#define SCOPE(text_) ASM_LINE(ASM_SCOPE, text_, .sym = NULL)
/* Lines of another array, as if they were written here; see struct asm_part. */
#define INCLUDE(part_) ASM_LINE(ASM_INCLUDE, "INCLUDE(" #part_ ")", .part = (part_))
#define END ASM_LINE(ASM_END, "END", .sym = NULL)

/* ---- calls */

/* A helper by its name in bpf-helpers(7) without "bpf_". Destroys R1-R5, the result is in R0 (an
 * errno of map_update_elem and map_delete_elem in its low half only, before Linux 6.4). */
#define CALL(helper)                                                                               \
	ASM_LINE(ASM_INSN, "CALL(" #helper ")",                                                    \
		 ASM_CODE(BPF_JMP | BPF_CALL, 0, 0, 0, ASM_HELPER_##helper))
/*
 * A kernel function that programs may call though it is no helper (a kfunc, 5.13): by its name in
 * the running kernel's BTF, "bpf_task_from_pid". Arguments and result are as with CALL. For GPL
 * programs; functions of modules are not found.
 */
#define CALL_KFUNC(name)                                                                           \
	ASM_LINE(ASM_CALL_KFUNC, "CALL_KFUNC(" #name ")",                                          \
		 ASM_CODE(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 0, 0), .sym = #name)
/* A subprogram of this program, opened by FUNC(name). It gets R1-R5, has a stack frame of its own.
 */
#define CALL_FUNC(name)                                                                            \
	ASM_LINE(ASM_CALL_FUNC, "CALL_FUNC(" #name ")",                                            \
		 ASM_CODE(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, 0), .sym = #name)
/* dst = the address of a subprogram, for helpers that call back (bpf_loop, bpf_for_each_map_elem).
 */
#define LD_FUNC(dst, name)                                                                         \
	ASM_LINE(ASM_LD_FUNC, "LD_FUNC(" #dst ", " #name ")",                                      \
		 ASM_CODE(BPF_LD | BPF_IMM | BPF_DW, ASM_DST(dst), BPF_PSEUDO_FUNC, 0, 0),         \
		 .sym = #name)
#define FUNC(name) ASM_LINE(ASM_FUNC, "FUNC(" #name ")", .sym = #name)
#define EXIT() ASM_LINE(ASM_INSN, "EXIT()", ASM_CODE(BPF_JMP | BPF_EXIT, 0, 0, 0, 0))

/* ---- 64-bit constants: two slots each */

#define LD_IMM64(dst, imm)                                                                         \
	ASM_LINE(ASM_LD_IMM64, "LD_IMM64(" #dst ", " #imm ")",                                     \
		 ASM_CODE(BPF_LD | BPF_IMM | BPF_DW, ASM_DST(dst), 0, 0, 0),                       \
		 .value = (uint64_t)(imm) + ASM_NUMBER(imm))
#define LD_MAP(dst, map)                                                                           \
	ASM_LINE(ASM_LD_MAP, "LD_MAP(" #dst ", " #map ")",                                         \
		 ASM_CODE(BPF_LD | BPF_IMM | BPF_DW, ASM_DST(dst), BPF_PSEUDO_MAP_FD, 0, 0),       \
		 .sym = #map)
/* The address of byte off in the value of an array map of one element: no call, no NULL to check.
 * Linux 5.2. */
#define LD_MAP_VALUE(dst, map, off)                                                                \
	ASM_LINE(ASM_LD_MAP_VALUE, "LD_MAP_VALUE(" #dst ", " #map ", " #off ")",                   \
		 ASM_CODE(BPF_LD | BPF_IMM | BPF_DW, ASM_DST(dst), BPF_PSEUDO_MAP_VALUE, 0,        \
			  ASM_S32(off)),                                                           \
		 .sym = #map)

#endif
