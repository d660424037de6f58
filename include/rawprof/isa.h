/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The instructions of the DSL: every one of RFC 9669 (BPF Instruction Set Architecture), and the
 * lines that are bound when a program is loaded. Each macro makes one struct asm_insn; asm.h says
 * what that is.
 *
 * What the compiler can know it checks here: a helper's name, an immediate that does not fit, a
 * write to R10, an access outside the 512-byte stack frame.
 */
#ifndef RAWPROF_ISA_H
#define RAWPROF_ISA_H

#include <rawprof/asm.h>

/* ---- checks made by the compiler
 * ------------------------------------------------------------------------ */

/* 0, or a compile-time error with a message; usable in static initialisers. */
#define ASM_CHECK(condition, message)                                                              \
	(0 * (int)sizeof(struct {                                                                  \
		 _Static_assert(condition, message);                                               \
		 int unused;                                                                       \
	 }))

#define ASM_BYTES(size_code)                                                                       \
	((size_code) == BPF_B ? 1 : (size_code) == BPF_H ? 2 : (size_code) == BPF_W ? 4 : 8)

#define ASM_DST(reg)                                                                               \
	((reg) + ASM_CHECK((reg) != 10, "R10 is the frame pointer: it is read only") +             \
	 ASM_CHECK((int)(reg) >= 0 && (reg) <= 10, "no such register"))
#define ASM_SRC(reg) ((reg) + ASM_CHECK((int)(reg) >= 0 && (reg) <= 10, "no such register"))

/* Immediates of 64-bit operations are 32 bits wide and sign-extended. */
#define ASM_S32(imm)                                                                               \
	((int32_t)(imm) +                                                                          \
	 ASM_CHECK((long long)(imm) >= -2147483648LL && (long long)(imm) <= 2147483647LL,          \
		   "immediate does not fit 32 bits, which are sign-extended to 64: "               \
		   "use LD_IMM64 and the _REG form"))
/* Immediates of 32-bit operations: any 32 bits, however they are spelled. */
#define ASM_I32(imm)                                                                               \
	((int32_t)(uint32_t)(imm) +                                                                \
	 ASM_CHECK((long long)(imm) >= -2147483648LL && (long long)(imm) <= 4294967295LL,          \
		   "immediate does not fit 32 bits"))
#define ASM_SHIFT(imm, width)                                                                      \
	((imm) +                                                                                   \
	 ASM_CHECK((imm) >= 0 && (imm) < (width), "shift by as many bits as there are, or more"))
#define ASM_DIVISOR(imm) (ASM_CHECK((imm) != 0, "division by zero: the verifier refuses it"))
#define ASM_OFF(off)                                                                               \
	((off) + ASM_CHECK((off) >= -32768 && (off) <= 32767, "offset does not fit 16 bits"))
#define ASM_MEM(reg, off, size_code)                                                               \
	(ASM_OFF(off) +                                                                            \
	 ASM_CHECK((reg) != 10 || ((off) >= -ASM_STACK_SIZE && (off) + ASM_BYTES(size_code) <= 0), \
		   "outside the stack frame: R10-512 up to R10-1") +                               \
	 ASM_CHECK((reg) != 10 || (off) % ASM_BYTES(size_code) == 0,                               \
		   "misaligned stack access: the offset must be a multiple of the size"))
#define ASM_STORED(imm, size_code)                                                                 \
	((int32_t)(uint32_t)(imm) +                                                                \
	 ASM_CHECK((size_code) == BPF_DW                                                           \
			   ? (long long)(imm) >= -2147483648LL && (long long)(imm) <= 2147483647LL \
			   : (long long)(imm) >= -(1LL << (8 * ASM_BYTES(size_code) - 1)) &&       \
				     (long long)(imm) < (1LL << (8 * ASM_BYTES(size_code) % 64)),  \
		   "immediate does not fit what is stored"))
#define ASM_BITS(bits, condition) ((bits) + ASM_CHECK(condition, "no such width"))
#define ASM_RMW(size_code)                                                                         \
	((size_code) + ASM_CHECK((size_code) == BPF_W || (size_code) == BPF_DW,                    \
				 "atomic operations are W or DW wide"))

/* ---- elements
 * ------------------------------------------------------------------------------------------- */

#define ASM_LINE(kind_, text_, ...)                                                                \
	{                                                                                          \
		.kind = (kind_), .text = (text_), .file = __FILE__, .line = __LINE__, __VA_ARGS__  \
	}
#define ASM_CODE(code_, dst_, src_, off_, imm_)                                                    \
	.insn = { .code = (code_),                                                                 \
		  .dst_reg = (dst_),                                                               \
		  .src_reg = (src_),                                                               \
		  .off = (off_),                                                                   \
		  .imm = (imm_) }
#define ASM_PARAM(type, member)                                                                    \
	.param_offset = offsetof(type, member), .param_size = sizeof(((type *)0)->member),         \
	.param_signed = (__typeof__(((type *)0)->member))-1 < (__typeof__(((type *)0)->member))1,  \
	.config_size = sizeof(type)

/* Any instruction, unchecked: for tests and for showing what the verifier says. */
#define INSN(code, dst, src, off, imm)                                                             \
	ASM_LINE(ASM_INSN, "INSN(" #code ", " #dst ", " #src ", " #off ", " #imm ")",              \
		 ASM_CODE(code, dst, src, off, imm))

/* ---- ALU, RFC 9669 section 4.1
 * --------------------------------------------------------------------------- OP(dst, imm): dst =
 * dst OP imm. OP_REG(dst, src): dst = dst OP src. OP32, OP32_REG: on the low 32 bits, the upper 32
 * bits of dst become 0. Division by zero in a register gives 0, modulo leaves dst.
 */
#define ASM_ALU_K(name, class_, op, dst, imm, value, off_)                                         \
	ASM_LINE(ASM_INSN, name "(" #dst ", " #imm ")",                                            \
		 ASM_CODE((class_) | (op) | BPF_K, ASM_DST(dst), 0, off_, value))
#define ASM_ALU_X(name, class_, op, dst, src, off_)                                                \
	ASM_LINE(ASM_INSN, name "(" #dst ", " #src ")",                                            \
		 ASM_CODE((class_) | (op) | BPF_X, ASM_DST(dst), ASM_SRC(src), off_, 0))

#define MOV(dst, imm) ASM_ALU_K("MOV", BPF_ALU64, BPF_MOV, dst, imm, ASM_S32(imm), 0)
#define ADD(dst, imm) ASM_ALU_K("ADD", BPF_ALU64, BPF_ADD, dst, imm, ASM_S32(imm), 0)
#define SUB(dst, imm) ASM_ALU_K("SUB", BPF_ALU64, BPF_SUB, dst, imm, ASM_S32(imm), 0)
#define MUL(dst, imm) ASM_ALU_K("MUL", BPF_ALU64, BPF_MUL, dst, imm, ASM_S32(imm), 0)
#define DIV(dst, imm)                                                                              \
	ASM_ALU_K("DIV", BPF_ALU64, BPF_DIV, dst, imm, ASM_S32(imm) + ASM_DIVISOR(imm), 0)
#define MOD(dst, imm)                                                                              \
	ASM_ALU_K("MOD", BPF_ALU64, BPF_MOD, dst, imm, ASM_S32(imm) + ASM_DIVISOR(imm), 0)
#define SDIV(dst, imm)                                                                             \
	ASM_ALU_K("SDIV", BPF_ALU64, BPF_DIV, dst, imm, ASM_S32(imm) + ASM_DIVISOR(imm), 1)
#define SMOD(dst, imm)                                                                             \
	ASM_ALU_K("SMOD", BPF_ALU64, BPF_MOD, dst, imm, ASM_S32(imm) + ASM_DIVISOR(imm), 1)
#define AND(dst, imm) ASM_ALU_K("AND", BPF_ALU64, BPF_AND, dst, imm, ASM_S32(imm), 0)
#define OR(dst, imm) ASM_ALU_K("OR", BPF_ALU64, BPF_OR, dst, imm, ASM_S32(imm), 0)
#define XOR(dst, imm) ASM_ALU_K("XOR", BPF_ALU64, BPF_XOR, dst, imm, ASM_S32(imm), 0)
#define LSH(dst, imm) ASM_ALU_K("LSH", BPF_ALU64, BPF_LSH, dst, imm, ASM_SHIFT(imm, 64), 0)
#define RSH(dst, imm) ASM_ALU_K("RSH", BPF_ALU64, BPF_RSH, dst, imm, ASM_SHIFT(imm, 64), 0)
#define ARSH(dst, imm) ASM_ALU_K("ARSH", BPF_ALU64, BPF_ARSH, dst, imm, ASM_SHIFT(imm, 64), 0)

#define MOV_REG(dst, src) ASM_ALU_X("MOV_REG", BPF_ALU64, BPF_MOV, dst, src, 0)
#define ADD_REG(dst, src) ASM_ALU_X("ADD_REG", BPF_ALU64, BPF_ADD, dst, src, 0)
#define SUB_REG(dst, src) ASM_ALU_X("SUB_REG", BPF_ALU64, BPF_SUB, dst, src, 0)
#define MUL_REG(dst, src) ASM_ALU_X("MUL_REG", BPF_ALU64, BPF_MUL, dst, src, 0)
#define DIV_REG(dst, src) ASM_ALU_X("DIV_REG", BPF_ALU64, BPF_DIV, dst, src, 0)
#define MOD_REG(dst, src) ASM_ALU_X("MOD_REG", BPF_ALU64, BPF_MOD, dst, src, 0)
#define SDIV_REG(dst, src) ASM_ALU_X("SDIV_REG", BPF_ALU64, BPF_DIV, dst, src, 1)
#define SMOD_REG(dst, src) ASM_ALU_X("SMOD_REG", BPF_ALU64, BPF_MOD, dst, src, 1)
#define AND_REG(dst, src) ASM_ALU_X("AND_REG", BPF_ALU64, BPF_AND, dst, src, 0)
#define OR_REG(dst, src) ASM_ALU_X("OR_REG", BPF_ALU64, BPF_OR, dst, src, 0)
#define XOR_REG(dst, src) ASM_ALU_X("XOR_REG", BPF_ALU64, BPF_XOR, dst, src, 0)
#define LSH_REG(dst, src) ASM_ALU_X("LSH_REG", BPF_ALU64, BPF_LSH, dst, src, 0)
#define RSH_REG(dst, src) ASM_ALU_X("RSH_REG", BPF_ALU64, BPF_RSH, dst, src, 0)
#define ARSH_REG(dst, src) ASM_ALU_X("ARSH_REG", BPF_ALU64, BPF_ARSH, dst, src, 0)

#define MOV32(dst, imm) ASM_ALU_K("MOV32", BPF_ALU, BPF_MOV, dst, imm, ASM_I32(imm), 0)
#define ADD32(dst, imm) ASM_ALU_K("ADD32", BPF_ALU, BPF_ADD, dst, imm, ASM_I32(imm), 0)
#define SUB32(dst, imm) ASM_ALU_K("SUB32", BPF_ALU, BPF_SUB, dst, imm, ASM_I32(imm), 0)
#define MUL32(dst, imm) ASM_ALU_K("MUL32", BPF_ALU, BPF_MUL, dst, imm, ASM_I32(imm), 0)
#define DIV32(dst, imm)                                                                            \
	ASM_ALU_K("DIV32", BPF_ALU, BPF_DIV, dst, imm, ASM_I32(imm) + ASM_DIVISOR(imm), 0)
#define MOD32(dst, imm)                                                                            \
	ASM_ALU_K("MOD32", BPF_ALU, BPF_MOD, dst, imm, ASM_I32(imm) + ASM_DIVISOR(imm), 0)
#define SDIV32(dst, imm)                                                                           \
	ASM_ALU_K("SDIV32", BPF_ALU, BPF_DIV, dst, imm, ASM_I32(imm) + ASM_DIVISOR(imm), 1)
#define SMOD32(dst, imm)                                                                           \
	ASM_ALU_K("SMOD32", BPF_ALU, BPF_MOD, dst, imm, ASM_I32(imm) + ASM_DIVISOR(imm), 1)
#define AND32(dst, imm) ASM_ALU_K("AND32", BPF_ALU, BPF_AND, dst, imm, ASM_I32(imm), 0)
#define OR32(dst, imm) ASM_ALU_K("OR32", BPF_ALU, BPF_OR, dst, imm, ASM_I32(imm), 0)
#define XOR32(dst, imm) ASM_ALU_K("XOR32", BPF_ALU, BPF_XOR, dst, imm, ASM_I32(imm), 0)
#define LSH32(dst, imm) ASM_ALU_K("LSH32", BPF_ALU, BPF_LSH, dst, imm, ASM_SHIFT(imm, 32), 0)
#define RSH32(dst, imm) ASM_ALU_K("RSH32", BPF_ALU, BPF_RSH, dst, imm, ASM_SHIFT(imm, 32), 0)
#define ARSH32(dst, imm) ASM_ALU_K("ARSH32", BPF_ALU, BPF_ARSH, dst, imm, ASM_SHIFT(imm, 32), 0)

#define MOV32_REG(dst, src) ASM_ALU_X("MOV32_REG", BPF_ALU, BPF_MOV, dst, src, 0)
#define ADD32_REG(dst, src) ASM_ALU_X("ADD32_REG", BPF_ALU, BPF_ADD, dst, src, 0)
#define SUB32_REG(dst, src) ASM_ALU_X("SUB32_REG", BPF_ALU, BPF_SUB, dst, src, 0)
#define MUL32_REG(dst, src) ASM_ALU_X("MUL32_REG", BPF_ALU, BPF_MUL, dst, src, 0)
#define DIV32_REG(dst, src) ASM_ALU_X("DIV32_REG", BPF_ALU, BPF_DIV, dst, src, 0)
#define MOD32_REG(dst, src) ASM_ALU_X("MOD32_REG", BPF_ALU, BPF_MOD, dst, src, 0)
#define SDIV32_REG(dst, src) ASM_ALU_X("SDIV32_REG", BPF_ALU, BPF_DIV, dst, src, 1)
#define SMOD32_REG(dst, src) ASM_ALU_X("SMOD32_REG", BPF_ALU, BPF_MOD, dst, src, 1)
#define AND32_REG(dst, src) ASM_ALU_X("AND32_REG", BPF_ALU, BPF_AND, dst, src, 0)
#define OR32_REG(dst, src) ASM_ALU_X("OR32_REG", BPF_ALU, BPF_OR, dst, src, 0)
#define XOR32_REG(dst, src) ASM_ALU_X("XOR32_REG", BPF_ALU, BPF_XOR, dst, src, 0)
#define LSH32_REG(dst, src) ASM_ALU_X("LSH32_REG", BPF_ALU, BPF_LSH, dst, src, 0)
#define RSH32_REG(dst, src) ASM_ALU_X("RSH32_REG", BPF_ALU, BPF_RSH, dst, src, 0)
#define ARSH32_REG(dst, src) ASM_ALU_X("ARSH32_REG", BPF_ALU, BPF_ARSH, dst, src, 0)

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
#define ASM_ENDIAN(name, class_, to, dst, bits)                                                    \
	ASM_LINE(ASM_INSN, name "(" #dst ", " #bits ")",                                           \
		 ASM_CODE((class_) | BPF_END | (to), ASM_DST(dst), 0, 0,                           \
			  ASM_BITS(bits, (bits) == 16 || (bits) == 32 || (bits) == 64)))
#define TO_LE(dst, bits) ASM_ENDIAN("TO_LE", BPF_ALU, BPF_TO_LE, dst, bits)
#define TO_BE(dst, bits) ASM_ENDIAN("TO_BE", BPF_ALU, BPF_TO_BE, dst, bits)
#define BSWAP(dst, bits) ASM_ENDIAN("BSWAP", BPF_ALU64, BPF_TO_LE, dst, bits)

/* ---- memory, RFC 9669 section 5
 * -------------------------------------------------------------------------- size is B, H, W or DW:
 * 1, 2, 4, 8 bytes. LDX zero-extends, LDXS (B, H, W; ISA v4) sign-extends.
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

/* ---- atomics, RFC 9669 section 5.3
 * ----------------------------------------------------------------------- On *(size *)(dst + off),
 * size W or DW. The FETCH forms and XCHG leave the old value in src; CMPXCHG compares with R0,
 * stores src if equal, and leaves the old value in R0. All but ATOMIC_ADD are ISA v3 (Linux 5.12).
 */
#define ASM_ATOMIC(name, op, size, dst, off, src)                                                  \
	ASM_LINE(ASM_INSN, name "(" #size ", " #dst ", " #off ", " #src ")",                       \
		 ASM_CODE(BPF_STX | BPF_ATOMIC | ASM_RMW(BPF_##size), ASM_SRC(dst), ASM_SRC(src),  \
			  ASM_MEM(dst, off, BPF_##size), op))
#define ATOMIC_ADD(size, dst, off, src) ASM_ATOMIC("ATOMIC_ADD", BPF_ADD, size, dst, off, src)
#define ATOMIC_AND(size, dst, off, src) ASM_ATOMIC("ATOMIC_AND", BPF_AND, size, dst, off, src)
#define ATOMIC_OR(size, dst, off, src) ASM_ATOMIC("ATOMIC_OR", BPF_OR, size, dst, off, src)
#define ATOMIC_XOR(size, dst, off, src) ASM_ATOMIC("ATOMIC_XOR", BPF_XOR, size, dst, off, src)
#define ATOMIC_FETCH_ADD(size, dst, off, src)                                                      \
	ASM_ATOMIC("ATOMIC_FETCH_ADD", BPF_ADD | BPF_FETCH, size, dst, off, ASM_DST(src))
#define ATOMIC_FETCH_AND(size, dst, off, src)                                                      \
	ASM_ATOMIC("ATOMIC_FETCH_AND", BPF_AND | BPF_FETCH, size, dst, off, ASM_DST(src))
#define ATOMIC_FETCH_OR(size, dst, off, src)                                                       \
	ASM_ATOMIC("ATOMIC_FETCH_OR", BPF_OR | BPF_FETCH, size, dst, off, ASM_DST(src))
#define ATOMIC_FETCH_XOR(size, dst, off, src)                                                      \
	ASM_ATOMIC("ATOMIC_FETCH_XOR", BPF_XOR | BPF_FETCH, size, dst, off, ASM_DST(src))
#define ATOMIC_XCHG(size, dst, off, src) ASM_ATOMIC("ATOMIC_XCHG", BPF_XCHG, size, dst, off, src)
#define ATOMIC_CMPXCHG(size, dst, off, src)                                                        \
	ASM_ATOMIC("ATOMIC_CMPXCHG", BPF_CMPXCHG, size, dst, off, src)

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

/* ---- jumps, RFC 9669 section 4.3
 * ------------------------------------------------------------------------- JXX(dst, imm, label),
 * JXX_REG(dst, src, label) compare 64 bits; JXX32, JXX32_REG (ISA v3) the low 32. G and L are
 * unsigned, SG and SL signed; JSET jumps when dst & imm is not 0.
 */
#define ASM_JMP_K(name, class_, op, dst, imm, value_, label)                                       \
	ASM_LINE(ASM_JUMP, name "(" #dst ", " #imm ", " #label ")",                                \
		 ASM_CODE((class_) | (op) | BPF_K, ASM_SRC(dst), 0, 0, value_), .sym = #label)
#define ASM_JMP_X(name, class_, op, dst, src, label)                                               \
	ASM_LINE(ASM_JUMP, name "(" #dst ", " #src ", " #label ")",                                \
		 ASM_CODE((class_) | (op) | BPF_X, ASM_SRC(dst), ASM_SRC(src), 0, 0),              \
		 .sym = #label)

#define JEQ(dst, imm, label) ASM_JMP_K("JEQ", BPF_JMP, BPF_JEQ, dst, imm, ASM_S32(imm), label)
#define JNE(dst, imm, label) ASM_JMP_K("JNE", BPF_JMP, BPF_JNE, dst, imm, ASM_S32(imm), label)
#define JGT(dst, imm, label) ASM_JMP_K("JGT", BPF_JMP, BPF_JGT, dst, imm, ASM_S32(imm), label)
#define JGE(dst, imm, label) ASM_JMP_K("JGE", BPF_JMP, BPF_JGE, dst, imm, ASM_S32(imm), label)
#define JLT(dst, imm, label) ASM_JMP_K("JLT", BPF_JMP, BPF_JLT, dst, imm, ASM_S32(imm), label)
#define JLE(dst, imm, label) ASM_JMP_K("JLE", BPF_JMP, BPF_JLE, dst, imm, ASM_S32(imm), label)
#define JSGT(dst, imm, label) ASM_JMP_K("JSGT", BPF_JMP, BPF_JSGT, dst, imm, ASM_S32(imm), label)
#define JSGE(dst, imm, label) ASM_JMP_K("JSGE", BPF_JMP, BPF_JSGE, dst, imm, ASM_S32(imm), label)
#define JSLT(dst, imm, label) ASM_JMP_K("JSLT", BPF_JMP, BPF_JSLT, dst, imm, ASM_S32(imm), label)
#define JSLE(dst, imm, label) ASM_JMP_K("JSLE", BPF_JMP, BPF_JSLE, dst, imm, ASM_S32(imm), label)
#define JSET(dst, imm, label) ASM_JMP_K("JSET", BPF_JMP, BPF_JSET, dst, imm, ASM_S32(imm), label)

#define JEQ_REG(dst, src, label) ASM_JMP_X("JEQ_REG", BPF_JMP, BPF_JEQ, dst, src, label)
#define JNE_REG(dst, src, label) ASM_JMP_X("JNE_REG", BPF_JMP, BPF_JNE, dst, src, label)
#define JGT_REG(dst, src, label) ASM_JMP_X("JGT_REG", BPF_JMP, BPF_JGT, dst, src, label)
#define JGE_REG(dst, src, label) ASM_JMP_X("JGE_REG", BPF_JMP, BPF_JGE, dst, src, label)
#define JLT_REG(dst, src, label) ASM_JMP_X("JLT_REG", BPF_JMP, BPF_JLT, dst, src, label)
#define JLE_REG(dst, src, label) ASM_JMP_X("JLE_REG", BPF_JMP, BPF_JLE, dst, src, label)
#define JSGT_REG(dst, src, label) ASM_JMP_X("JSGT_REG", BPF_JMP, BPF_JSGT, dst, src, label)
#define JSGE_REG(dst, src, label) ASM_JMP_X("JSGE_REG", BPF_JMP, BPF_JSGE, dst, src, label)
#define JSLT_REG(dst, src, label) ASM_JMP_X("JSLT_REG", BPF_JMP, BPF_JSLT, dst, src, label)
#define JSLE_REG(dst, src, label) ASM_JMP_X("JSLE_REG", BPF_JMP, BPF_JSLE, dst, src, label)
#define JSET_REG(dst, src, label) ASM_JMP_X("JSET_REG", BPF_JMP, BPF_JSET, dst, src, label)

#define JEQ32(dst, imm, label) ASM_JMP_K("JEQ32", BPF_JMP32, BPF_JEQ, dst, imm, ASM_I32(imm), label)
#define JNE32(dst, imm, label) ASM_JMP_K("JNE32", BPF_JMP32, BPF_JNE, dst, imm, ASM_I32(imm), label)
#define JGT32(dst, imm, label) ASM_JMP_K("JGT32", BPF_JMP32, BPF_JGT, dst, imm, ASM_I32(imm), label)
#define JGE32(dst, imm, label) ASM_JMP_K("JGE32", BPF_JMP32, BPF_JGE, dst, imm, ASM_I32(imm), label)
#define JLT32(dst, imm, label) ASM_JMP_K("JLT32", BPF_JMP32, BPF_JLT, dst, imm, ASM_I32(imm), label)
#define JLE32(dst, imm, label) ASM_JMP_K("JLE32", BPF_JMP32, BPF_JLE, dst, imm, ASM_I32(imm), label)
#define JSGT32(dst, imm, label)                                                                    \
	ASM_JMP_K("JSGT32", BPF_JMP32, BPF_JSGT, dst, imm, ASM_I32(imm), label)
#define JSGE32(dst, imm, label)                                                                    \
	ASM_JMP_K("JSGE32", BPF_JMP32, BPF_JSGE, dst, imm, ASM_I32(imm), label)
#define JSLT32(dst, imm, label)                                                                    \
	ASM_JMP_K("JSLT32", BPF_JMP32, BPF_JSLT, dst, imm, ASM_I32(imm), label)
#define JSLE32(dst, imm, label)                                                                    \
	ASM_JMP_K("JSLE32", BPF_JMP32, BPF_JSLE, dst, imm, ASM_I32(imm), label)
#define JSET32(dst, imm, label)                                                                    \
	ASM_JMP_K("JSET32", BPF_JMP32, BPF_JSET, dst, imm, ASM_I32(imm), label)

#define JEQ32_REG(dst, src, label) ASM_JMP_X("JEQ32_REG", BPF_JMP32, BPF_JEQ, dst, src, label)
#define JNE32_REG(dst, src, label) ASM_JMP_X("JNE32_REG", BPF_JMP32, BPF_JNE, dst, src, label)
#define JGT32_REG(dst, src, label) ASM_JMP_X("JGT32_REG", BPF_JMP32, BPF_JGT, dst, src, label)
#define JGE32_REG(dst, src, label) ASM_JMP_X("JGE32_REG", BPF_JMP32, BPF_JGE, dst, src, label)
#define JLT32_REG(dst, src, label) ASM_JMP_X("JLT32_REG", BPF_JMP32, BPF_JLT, dst, src, label)
#define JLE32_REG(dst, src, label) ASM_JMP_X("JLE32_REG", BPF_JMP32, BPF_JLE, dst, src, label)
#define JSGT32_REG(dst, src, label) ASM_JMP_X("JSGT32_REG", BPF_JMP32, BPF_JSGT, dst, src, label)
#define JSGE32_REG(dst, src, label) ASM_JMP_X("JSGE32_REG", BPF_JMP32, BPF_JSGE, dst, src, label)
#define JSLT32_REG(dst, src, label) ASM_JMP_X("JSLT32_REG", BPF_JMP32, BPF_JSLT, dst, src, label)
#define JSLE32_REG(dst, src, label) ASM_JMP_X("JSLE32_REG", BPF_JMP32, BPF_JSLE, dst, src, label)
#define JSET32_REG(dst, src, label) ASM_JMP_X("JSET32_REG", BPF_JMP32, BPF_JSET, dst, src, label)

/* Jump always. JA becomes gotol (ISA v4) by itself where 16 bits of offset do not reach; GOTOL
 * always is. */
#define JA(label)                                                                                  \
	ASM_LINE(ASM_JUMP, "JA(" #label ")", ASM_CODE(BPF_JMP | BPF_JA, 0, 0, 0, 0), .sym = #label)
#define GOTOL(label)                                                                               \
	ASM_LINE(ASM_JUMP, "GOTOL(" #label ")", ASM_CODE(BPF_JMP32 | BPF_JA, 0, 0, 0, 0),          \
		 .sym = #label)

/* ---- calls
 * -----------------------------------------------------------------------------------------------
 */

/* A helper by its name in bpf-helpers(7) without "bpf_". Destroys R1-R5, the result is in R0. */
#define CALL(helper)                                                                               \
	ASM_LINE(ASM_INSN, "CALL(" #helper ")",                                                    \
		 ASM_CODE(BPF_JMP | BPF_CALL, 0, 0, 0, ASM_HELPER_##helper))
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

/* ---- 64-bit constants: two slots each
 * ------------------------------------------------------------------- */

#define LD_IMM64(dst, imm)                                                                         \
	ASM_LINE(ASM_LD_IMM64, "LD_IMM64(" #dst ", " #imm ")",                                     \
		 ASM_CODE(BPF_LD | BPF_IMM | BPF_DW, ASM_DST(dst), 0, 0, 0),                       \
		 .value = (uint64_t)(imm))
#define LD_MAP(dst, map)                                                                           \
	ASM_LINE(ASM_LD_MAP, "LD_MAP(" #dst ", " #map ")",                                         \
		 ASM_CODE(BPF_LD | BPF_IMM | BPF_DW, ASM_DST(dst), BPF_PSEUDO_MAP_FD, 0, 0),       \
		 .sym = #map)
/* The address of byte off in the value of an array map of one element: no call, no NULL to check.
 * Linux 5.2. */
#define LD_MAP_VALUE(dst, map, off)                                                                \
	ASM_LINE(ASM_LD_MAP_VALUE, "LD_MAP_VALUE(" #dst ", " #map ", " #off ")",                   \
		 ASM_CODE(BPF_LD | BPF_IMM | BPF_DW, ASM_DST(dst), BPF_PSEUDO_MAP_VALUE, 0, 0),    \
		 .sym = #map, .value = (off))

/* ---- bound at load time
 * ---------------------------------------------------------------------------------- A parameter is
 * a member of the struct that is handed to asm_assemble() as the configuration. Its value is
 * written into the instructions, so it costs nothing when the program runs.
 */
#define LD_PARAM(dst, type, member)                                                                \
	ASM_LINE(ASM_LD_PARAM, "LD_PARAM(" #dst ", " #type ", " #member ")",                       \
		 ASM_CODE(BPF_ALU64 | BPF_MOV | BPF_K, ASM_DST(dst), 0, 0, 0),                     \
		 ASM_PARAM(type, member))
#define ASM_JMP_PARAM(op, dst, type, member, label)                                                \
	ASM_LINE(ASM_JUMP_PARAM, #op "_PARAM(" #dst ", " #type ", " #member ", " #label ")",       \
		 ASM_CODE(BPF_JMP | BPF_##op | BPF_K, ASM_SRC(dst), 0, 0, 0), .sym = #label,       \
		 ASM_PARAM(type, member))
#define JEQ_PARAM(dst, type, member, label) ASM_JMP_PARAM(JEQ, dst, type, member, label)
#define JNE_PARAM(dst, type, member, label) ASM_JMP_PARAM(JNE, dst, type, member, label)
#define JGT_PARAM(dst, type, member, label) ASM_JMP_PARAM(JGT, dst, type, member, label)
#define JGE_PARAM(dst, type, member, label) ASM_JMP_PARAM(JGE, dst, type, member, label)
#define JLT_PARAM(dst, type, member, label) ASM_JMP_PARAM(JLT, dst, type, member, label)
#define JLE_PARAM(dst, type, member, label) ASM_JMP_PARAM(JLE, dst, type, member, label)

/* The lines up to END stay only when the parameter is not 0 (WHEN) or is 0 (UNLESS). They nest. */
#define WHEN(type, member)                                                                         \
	ASM_LINE(ASM_WHEN, "WHEN(" #type ", " #member ")", ASM_PARAM(type, member))
#define UNLESS(type, member)                                                                       \
	ASM_LINE(ASM_UNLESS, "UNLESS(" #type ", " #member ")", ASM_PARAM(type, member))

/*
 * Members of the running kernel's types, found in its BTF: "real_parent.tgid", "comm",
 * "rq_disk.disk_name[0]". LD_FIELD loads through src, which must be a pointer that the verifier
 * knows by type (bpf_get_current_task_btf, arguments of a BTF tracepoint); a "." behind a pointer
 * member follows it with one more load. For other pointers: FIELD_OFFSET puts a member's offset in
 * dst, ADD_FIELD_OFFSET adds it, FIELD_SIZE puts its size there, and probe_read_kernel does the
 * rest.
 */
#define LD_FIELD(dst, src, type, path)                                                             \
	ASM_LINE(ASM_LD_FIELD, "LD_FIELD(" #dst ", " #src ", " #type ", " #path ")",               \
		 ASM_CODE(BPF_LDX | BPF_MEM | BPF_DW, ASM_DST(dst), ASM_SRC(src), 0, 0),           \
		 .sym = type, .sym2 = path)
#define ASM_FIELD_NUMBER(kind_, name, op, dst, type, path)                                         \
	ASM_LINE(kind_, name "(" #dst ", " #type ", " #path ")",                                   \
		 ASM_CODE(BPF_ALU64 | (op) | BPF_K, ASM_DST(dst), 0, 0, 0), .sym = type,           \
		 .sym2 = path)
#define FIELD_OFFSET(dst, type, path)                                                              \
	ASM_FIELD_NUMBER(ASM_FIELD_OFFSET, "FIELD_OFFSET", BPF_MOV, dst, type, path)
#define ADD_FIELD_OFFSET(dst, type, path)                                                          \
	ASM_FIELD_NUMBER(ASM_FIELD_OFFSET, "ADD_FIELD_OFFSET", BPF_ADD, dst, type, path)
#define FIELD_SIZE(dst, type, path)                                                                \
	ASM_FIELD_NUMBER(ASM_FIELD_SIZE, "FIELD_SIZE", BPF_MOV, dst, type, path)

/* A field of a classic tracepoint's record, src being the context; where it lies is asked of
 * tracefs. */
#define LD_TP(dst, src, group, event, field)                                                       \
	ASM_LINE(ASM_LD_TP, "LD_TP(" #dst ", " #src ", " #group ", " #event ", " #field ")",       \
		 ASM_CODE(BPF_LDX | BPF_MEM | BPF_DW, ASM_DST(dst), ASM_SRC(src), 0, 0),           \
		 .sym = group, .sym2 = event, .sym3 = field)

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

/* ---- labels and scopes
 * ----------------------------------------------------------------------------------- */

/*
 * A label is seen from its own scope and the scopes inside it; the innermost wins. Labels of
 * composed macros begin with a dot by convention, LABEL(.found), and lie in the macro's own SCOPE,
 * so that it can be used twice.
 */
#define LABEL(name) ASM_LINE(ASM_LABEL, "LABEL(" #name ")", .sym = #name)
#define SCOPE(text_) ASM_LINE(ASM_SCOPE, text_)
#define END ASM_LINE(ASM_END, "END")

/* ---- the stack frame as a C struct
 * ---------------------------------------------------------------------- The program describes its
 * stack as a struct that ends at R10; FRAME(type, member) is a member's offset.
 */
#define FRAME(type, member)                                                                        \
	((int)offsetof(type, member) - (int)sizeof(type) +                                         \
	 ASM_CHECK(sizeof(type) <= ASM_STACK_SIZE, "the stack frame holds 512 bytes") +            \
	 ASM_CHECK(sizeof(type) % 8 == 0, "the frame's size must be a multiple of 8"))

/* Clears `bytes` bytes at offset `off` from R10 with as few stores as it takes. */
#define ZERO(off_, bytes)                                                                          \
	ASM_LINE(ASM_ZERO, "ZERO(" #off_ ", " #bytes ")",                                          \
		 ASM_CODE(BPF_ST | BPF_MEM | BPF_DW, R10, 0, ASM_MEM(10, off_, BPF_B), 0),         \
		 .value = (bytes) +                                                                \
			  ASM_CHECK((off_) + (int)(bytes) <= 0, "beyond the stack frame"))
#define ZERO_FRAME(type) ZERO(-(int)sizeof(type), sizeof(type))

#endif
