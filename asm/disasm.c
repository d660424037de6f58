/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Instructions -> text, in the syntax of the verifier's log and of `bpftool prog dump xlated`.
 *
 * Opcodes and fields are those of RFC 9669; the wording was taken down from what Linux 6.18 and
 * bpftool 7.1 print for every opcode there is (tests/kernel/test_disasm.c compares again). It
 * quotes: an instruction that the verifier refuses for its reserved fields reads as the verifier
 * prints it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include <rawprof/asm.h>

#define CAST_PERCPU (-1)  /* offset of a MOV: address of this CPU's copy */
#define CAST_ADDR_SPACE 1 /* offset of a MOV: immediate = to << 16 | from */

/* What is being written, and with what. */
struct writer {
	const struct asm_disasm_options *options;
	char *out;
	size_t size, used; /* used may grow beyond size: then the text did not fit */
	const struct bpf_insn *insn;
	uint32_t at; /* its slot */
};

__attribute__((format(printf, 2, 3))) static void put(struct writer *w, const char *fmt, ...)
{
	bool capacity = w->used < w->size;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(capacity ? w->out + w->used : NULL, capacity ? w->size - w->used : 0, fmt,
		      args);
	va_end(args);
	w->used += n > 0 ? (size_t)n : 0;
}

static void put_code(struct writer *w)
{
	put(w, "(%02x) ", w->insn->code);
}

static void put_bug(struct writer *w)
{
	put(w, "BUG_%02x", w->insn->code);
}

static void put_unknown(struct writer *w)
{
	put(w, "unknown opcode %02x", w->insn->code);
}

/* " <name>" behind the slot that a jump, call or pointer leads to. */
static void put_target(struct writer *w, const char *(*name_of)(void *ctx, uint32_t slot),
		       int64_t distance)
{
	int64_t target = (int64_t)w->at + 1 + distance;
	const char *name = NULL;

	if (name_of && target >= 0 && target <= UINT32_MAX)
		name = name_of(w->options->ctx, (uint32_t)target);
	if (name)
		put(w, " <%s>", name);
}

static const char *size_name(uint8_t code)
{
	switch (BPF_SIZE(code)) {
	case BPF_B:
		return "u8";
	case BPF_H:
		return "u16";
	case BPF_W:
		return "u32";
	}
	return "u64";
}

/* ---- arithmetic */

static void put_endian(struct writer *w)
{
	const char *to = BPF_CLASS(w->insn->code) == BPF_ALU64 ? "bswap"
			 : BPF_SRC(w->insn->code) == BPF_TO_BE ? "be"
							       : "le";

	put_code(w);
	put(w, "r%d = %s%d r%d", w->insn->dst_reg, to, w->insn->imm, w->insn->dst_reg);
}

/* The offset of a MOV makes it a sign extension or a change of address space. */
static void put_mov_reg(struct writer *w, char reg)
{
	const struct bpf_insn *insn = w->insn;

	put(w, "%c%d = ", reg, insn->dst_reg);
	if (reg == 'r' && insn->off == CAST_ADDR_SPACE)
		put(w, "addr_space_cast(r%d, %u, %u)", insn->src_reg, (uint32_t)insn->imm >> 16,
		    (uint32_t)insn->imm & 0xffff);
	else if (reg == 'r' && insn->off == CAST_PERCPU)
		put(w, "&(void __percpu *)(r%d)", insn->src_reg);
	else if (insn->off == 8 || insn->off == 16 || insn->off == 32)
		put(w, "(s%d)%c%d", insn->off, reg, insn->src_reg);
	else
		put(w, "%c%d", reg, insn->src_reg);
}

static void put_alu(struct writer *w)
{
	static const char *const operators[16] = {
		[BPF_ADD >> 4] = "+=",	[BPF_SUB >> 4] = "-=",	  [BPF_MUL >> 4] = "*=",
		[BPF_DIV >> 4] = "/=",	[BPF_OR >> 4] = "|=",	  [BPF_AND >> 4] = "&=",
		[BPF_LSH >> 4] = "<<=", [BPF_RSH >> 4] = ">>=",	  [BPF_MOD >> 4] = "%=",
		[BPF_XOR >> 4] = "^=",	[BPF_ARSH >> 4] = "s>>=", [BPF_MOV >> 4] = "=",
	};
	const struct bpf_insn *insn = w->insn;
	uint8_t op = BPF_OP(insn->code);
	char reg = BPF_CLASS(insn->code) == BPF_ALU64 ? 'r' : 'w';
	bool from_reg = BPF_SRC(insn->code) == BPF_X;
	bool is_signed = insn->off == 1 && (op == BPF_DIV || op == BPF_MOD);

	if (op == BPF_END && !(BPF_CLASS(insn->code) == BPF_ALU64 && from_reg)) {
		put_endian(w);
		return;
	}
	if (op == BPF_NEG && !from_reg) {
		put_code(w);
		put(w, "%c%d = -%c%d", reg, insn->dst_reg, reg, insn->dst_reg);
		return;
	}
	if (!operators[op >> 4]) {
		put_unknown(w);
		return;
	}
	put_code(w);
	if (op == BPF_MOV && from_reg) {
		put_mov_reg(w, reg);
		return;
	}
	put(w, "%c%d %s%s ", reg, insn->dst_reg, is_signed ? "s" : "", operators[op >> 4]);
	if (from_reg)
		put(w, "%c%d", reg, insn->src_reg);
	else
		put(w, "%d", insn->imm);
}

/* ---- memory */

static void put_load(struct writer *w)
{
	const struct bpf_insn *insn = w->insn;
	uint8_t mode = BPF_MODE(insn->code);

	if (mode != BPF_MEM && (mode != BPF_MEMSX || BPF_SIZE(insn->code) == BPF_DW)) {
		put_unknown(w);
		return;
	}
	put_code(w);
	put(w, "r%d = *(%c%s *)(r%d %+d)", insn->dst_reg, mode == BPF_MEM ? 'u' : 's',
	    size_name(insn->code) + 1, insn->src_reg, insn->off);
}

/* Forms that leave a value in a register: "r1 = atomic64_fetch_add((u64 *)(r2 +0), r1)". */
static bool put_fetch(struct writer *w)
{
	const struct bpf_insn *insn = w->insn;
	const char *wide = BPF_SIZE(insn->code) == BPF_DW ? "64" : "", *name;

	switch (insn->imm) {
	case BPF_ADD | BPF_FETCH:
		name = "fetch_add";
		break;
	case BPF_AND | BPF_FETCH:
		name = "fetch_and";
		break;
	case BPF_OR | BPF_FETCH:
		name = "fetch_or";
		break;
	case BPF_XOR | BPF_FETCH:
		name = "fetch_xor";
		break;
	case BPF_XCHG:
		name = "xchg";
		break;
	case BPF_CMPXCHG:
		put_code(w);
		put(w, "r0 = atomic%s_cmpxchg((%s *)(r%d %+d), r0, r%d)", wide,
		    size_name(insn->code), insn->dst_reg, insn->off, insn->src_reg);
		return true;
	default:
		return false;
	}
	put_code(w);
	put(w, "r%d = atomic%s_%s((%s *)(r%d %+d), r%d)", insn->src_reg, wide, name,
	    size_name(insn->code), insn->dst_reg, insn->off, insn->src_reg);
	return true;
}

static void put_atomic(struct writer *w)
{
	const struct bpf_insn *insn = w->insn;
	const char *size = size_name(insn->code), *sign;

	if (put_fetch(w))
		return;
	switch (insn->imm) {
	case BPF_LOAD_ACQ:
		put_code(w);
		put(w, "r%d = load_acquire((%s *)(r%d %+d))", insn->dst_reg, size, insn->src_reg,
		    insn->off);
		return;
	case BPF_STORE_REL:
		put_code(w);
		put(w, "store_release((%s *)(r%d %+d), r%d)", size, insn->dst_reg, insn->off,
		    insn->src_reg);
		return;
	case BPF_ADD:
		sign = "+=";
		break;
	case BPF_AND:
		sign = "&=";
		break;
	case BPF_OR:
		sign = "|=";
		break;
	case BPF_XOR:
		sign = "^=";
		break;
	default:
		put_bug(w);
		return;
	}
	put_code(w);
	put(w, "lock *(%s *)(r%d %+d) %s r%d", size, insn->dst_reg, insn->off, sign, insn->src_reg);
}

static void put_store(struct writer *w)
{
	const struct bpf_insn *insn = w->insn;
	bool from_reg = BPF_CLASS(insn->code) == BPF_STX;

	if (from_reg && BPF_MODE(insn->code) == BPF_ATOMIC) {
		put_atomic(w);
		return;
	}
	if (BPF_MODE(insn->code) != BPF_MEM) {
		put_unknown(w);
		return;
	}
	put_code(w);
	put(w, "*(%s *)(r%d %+d) = ", size_name(insn->code), insn->dst_reg, insn->off);
	if (from_reg)
		put(w, "r%d", insn->src_reg);
	else
		put(w, "%d", insn->imm);
}

/* ---- 64-bit constants and the packet loads of classic BPF */

static void put_map(struct writer *w, bool value, uint64_t imm)
{
	const char *name = w->options->map ? w->options->map(w->options->ctx, w->at) : NULL;

	if (name)
		put(w, "map[name:%s]", name);
	else if (w->options->dialect == ASM_DIALECT_XLATED)
		put(w, "map[id:%u]", (uint32_t)imm);
	else
		put(w, "0x%" PRIx64, imm);
	if (value && (name || w->options->dialect == ASM_DIALECT_XLATED))
		put(w, "[0]+%u", (uint32_t)(imm >> 32));
}

static void put_imm64(struct writer *w)
{
	const struct bpf_insn *insn = w->insn;
	uint64_t imm = (uint64_t)(uint32_t)insn[1].imm << 32 | (uint32_t)insn->imm;

	put_code(w);
	put(w, "r%d = ", insn->dst_reg);
	switch (insn->src_reg) {
	case BPF_PSEUDO_MAP_FD:
		put_map(w, false, imm);
		return;
	case BPF_PSEUDO_MAP_VALUE:
		put_map(w, true, imm);
		return;
	case BPF_PSEUDO_FUNC:
		if (w->options->dialect == ASM_DIALECT_XLATED)
			put(w, "subprog[%+d]", insn->imm);
		else
			put(w, "0x%" PRIx64, imm);
		put_target(w, w->options->func, insn->imm);
		return;
	}
	put(w, "0x%" PRIx64, imm);
}

/* Returns how many slots it took. */
static int put_ld(struct writer *w, uint32_t left)
{
	const struct bpf_insn *insn = w->insn;
	uint8_t mode = BPF_MODE(insn->code);

	if (insn->code == (BPF_LD | BPF_IMM | BPF_DW)) {
		/* The second slot holds the upper half of the constant and nothing else. */
		if (left < 2 || insn[1].code || insn[1].dst_reg || insn[1].src_reg || insn[1].off) {
			put(w, "invalid bpf_ld_imm64 insn");
			return 1;
		}
		put_imm64(w);
		return 2;
	}
	if ((mode != BPF_ABS && mode != BPF_IND) || BPF_SIZE(insn->code) == BPF_DW) {
		put_unknown(w);
		return 1;
	}
	put_code(w);
	put(w, "r0 = *(%s *)skb[", size_name(insn->code));
	if (mode == BPF_IND)
		put(w, "r%d + ", insn->src_reg);
	put(w, "%d]", insn->imm);
	return 1;
}

/* ---- jumps and calls */

/* In xlated code imm is the number of the subprogram, and the distance stands in off. */
static void put_pcrel_call(struct writer *w)
{
	bool xlated = w->options->dialect == ASM_DIALECT_XLATED;
	int32_t distance = xlated ? w->insn->off : w->insn->imm;
	const char *name = NULL;

	put(w, "call pc%+d", distance);
	if (xlated) {
		if (w->options->call)
			name = w->options->call(w->options->ctx, w->at);
		put(w, "#%s", name ? name : "0x0");
	}
	put_target(w, w->options->func, distance);
}

static void put_call(struct writer *w)
{
	const struct bpf_insn *insn = w->insn;
	const char *helper = insn->imm < 0 ? NULL : asm_helper_name((uint32_t)insn->imm);
	const char *name = NULL;

	put_code(w);
	if (insn->src_reg == BPF_PSEUDO_CALL) {
		put_pcrel_call(w);
		return;
	}
	if (w->options->call)
		name = w->options->call(w->options->ctx, w->at);
	if (name)
		put(w, "call %s#%d", name, insn->imm);
	else if (insn->src_reg == 0 && helper)
		put(w, "call bpf_%s#%d", helper, insn->imm);
	else if (w->options->dialect == ASM_DIALECT_XLATED)
		put(w, "call 0x%" PRIx64 "#%d", (uint64_t)(int64_t)insn->imm, insn->imm);
	else
		put(w, "call %s#%d", insn->src_reg == BPF_PSEUDO_KFUNC_CALL ? "" : "unknown",
		    insn->imm);
}

static void put_goto(struct writer *w, const char *word, int64_t distance)
{
	put(w, "%s pc%+" PRId64, word, distance);
	put_target(w, w->options->label, distance);
}

static void put_condition(struct writer *w)
{
	static const char *const operators[16] = {
		[BPF_JEQ >> 4] = "==",	 [BPF_JGT >> 4] = ">",	  [BPF_JGE >> 4] = ">=",
		[BPF_JSET >> 4] = "&",	 [BPF_JNE >> 4] = "!=",	  [BPF_JSGT >> 4] = "s>",
		[BPF_JSGE >> 4] = "s>=", [BPF_JLT >> 4] = "<",	  [BPF_JLE >> 4] = "<=",
		[BPF_JSLT >> 4] = "s<",	 [BPF_JSLE >> 4] = "s<=",
	};
	const struct bpf_insn *insn = w->insn;
	char reg = BPF_CLASS(insn->code) == BPF_JMP ? 'r' : 'w';
	const char *sign = operators[BPF_OP(insn->code) >> 4];

	if (!sign) {
		put_unknown(w);
		return;
	}
	put_code(w);
	put(w, "if %c%d %s ", reg, insn->dst_reg, sign);
	if (BPF_SRC(insn->code) == BPF_X)
		put(w, "%c%d ", reg, insn->src_reg);
	else
		put(w, "0x%x ", (uint32_t)insn->imm);
	put_goto(w, "goto", insn->off);
}

static void put_jump(struct writer *w)
{
	switch (w->insn->code) {
	case BPF_JMP | BPF_JA:
		put_code(w);
		put_goto(w, "goto", w->insn->off);
		return;
	case BPF_JMP32 | BPF_JA:
		put_code(w);
		put_goto(w, "gotol", w->insn->imm);
		return;
	case BPF_JMP | BPF_JCOND:
		put_code(w);
		put_goto(w, "may_goto", w->insn->off);
		return;
	case BPF_JMP | BPF_CALL:
		put_call(w);
		return;
	case BPF_JMP | BPF_EXIT:
		put_code(w);
		put(w, "exit");
		return;
	}
	put_condition(w);
}

int asm_disasm(const struct asm_disasm_options *options, const struct bpf_insn *insns, uint32_t n,
	       uint32_t at, char *out, size_t size)
{
	static const struct asm_disasm_options plain;
	struct writer w = { .options = options ? options : &plain, .out = out, .size = size };
	int slots = 1;

	if (size)
		*out = '\0';
	if (at >= n)
		return -EINVAL;
	w.insn = &insns[at];
	w.at = at;
	switch (BPF_CLASS(w.insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		put_alu(&w);
		break;
	case BPF_LD:
		slots = put_ld(&w, n - at);
		break;
	case BPF_LDX:
		put_load(&w);
		break;
	case BPF_ST:
	case BPF_STX:
		put_store(&w);
		break;
	default:
		put_jump(&w);
		break;
	}
	return w.used < size ? slots : -ENOSPC;
}
