/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What x86-64 instructions mean to a probe: where they lead, what they change, and what
 * the kernel does to have them run (arch/x86/kernel/uprobes.c of Linux).
 */
#include "insn.h"
#include "base/x86.h"

#include <string.h>

/* Can a read of this operand not fault? Globals, the stack, the thread's own. */
static bool is_safe_memory(const struct x86_parts *p)
{
	const uint8_t mod = p->modrm >> 6, rm = p->modrm & 7;
	const bool no_index = (p->sib >> 3 & 7) == 4 && !(p->rex & REX_X);

	if (mod == 0 && rm == 5)
		return !p->seg_fs_gs;
	if (rm != 4 || !no_index)
		return false;
	if (mod == 0 && (p->sib & 7) == 5)
		return p->seg_fs_gs;
	return (p->sib & 7) == X86_SP && !(p->rex & REX_B) && !p->seg_fs_gs;
}

static uint16_t writes(uint8_t reg)
{
	static const uint16_t change[16] = {
		[X86_AX] = 0,
		[X86_CX] = 1 << 3,
		[X86_DX] = 1 << 2,
		[X86_BX] = INSN_OTHER,
		[X86_SP] = INSN_OTHER,
		[X86_BP] = INSN_OTHER,
		[X86_SI] = 1 << 1,
		[X86_DI] = 1 << 0,
		[8] = 1 << 4,
		[9] = 1 << 5,
		[10] = 0,
		[11] = 0,
		[12] = INSN_OTHER,
		[13] = INSN_OTHER,
		[14] = INSN_OTHER,
		[15] = INSN_OTHER,
	};

	return change[reg];
}

/* A byte register: without REX, 4 to 7 are the second bytes of the first four. */
static uint16_t writes_byte(const struct x86_parts *p, uint8_t reg)
{
	return writes(!p->rex && reg >= 4 ? reg - 4 : reg);
}

static uint16_t writes_rm(const struct x86_parts *p, bool byte)
{
	if (!rp_x86_rm_is_register(p))
		return INSN_OTHER;
	return byte ? writes_byte(p, rp_x86_rm(p)) : writes(rp_x86_rm(p));
}

static uint16_t writes_reg(const struct x86_parts *p, bool byte)
{
	if (!rp_x86_rm_is_register(p) && !is_safe_memory(p))
		return INSN_OTHER;
	return byte ? writes_byte(p, rp_x86_reg(p)) : writes(rp_x86_reg(p));
}

/* Reads its operands and changes nothing but the flags. */
static uint16_t reads_rm(const struct x86_parts *p)
{
	return rp_x86_rm_is_register(p) || is_safe_memory(p) ? 0 : INSN_OTHER;
}

/* add, or, adc, sbb, and, sub, xor, cmp: 00 to 3d, and 80, 81, 83. */
static uint16_t changes_arithmetic(const struct x86_parts *p, struct insn *out)
{
	const bool group = p->opcode >= 0x80;
	const uint8_t which = group ? p->modrm >> 3 & 7 : p->opcode >> 3;
	const bool byte = !(p->opcode & 1);

	out->name = which == 7 ? "cmp" : which == 5 ? "sub" : which == 6 ? "xor" : "arithmetic";
	if (group && rp_x86_rm_is_register(p) && rp_x86_rm(p) == X86_SP && p->rex & REX_W &&
	    (which == 5 || which == 0)) {
		const int64_t grows = rp_x86_number(p->code + p->imm_at, p->imm_len);

		out->grows = (uint32_t)(which == 5 ? grows : -grows);
		return (int32_t)out->grows > 0 ? 0 : INSN_OTHER;
	}
	if (which == 7)
		return p->has_modrm ? reads_rm(p) : 0;
	if (group)
		return writes_rm(p, byte);
	if (!p->has_modrm)
		return writes(X86_AX);
	return p->opcode & 2 ? writes_reg(p, byte) : writes_rm(p, byte);
}

static uint16_t changes_lea(const struct x86_parts *p, struct insn *out)
{
	const uint8_t mod = p->modrm >> 6;

	out->name = "lea";
	if (rp_x86_reg(p) != X86_SP)
		return writes(rp_x86_reg(p));
	/* lea -N(%rsp), %rsp */
	if (!(p->rex & REX_W) || !is_safe_memory(p) || (mod != 1 && mod != 2))
		return INSN_OTHER;
	out->grows = (uint32_t)-rp_x86_number(p->code + p->disp_at, mod == 1 ? 1 : 4);
	return (int32_t)out->grows > 0 ? 0 : INSN_OTHER;
}

static uint16_t changes_one_byte(const struct x86_parts *p, struct insn *out)
{
	const uint8_t op = p->opcode;

	if (op < 0x40 || op == 0x80 || op == 0x81 || op == 0x83)
		return changes_arithmetic(p, out);
	out->name = "mov";
	switch (op) {
	case 0x63:
	case 0x8b:
		return writes_reg(p, false);
	case 0x8a:
		return writes_reg(p, true);
	case 0x88:
	case 0xc6:
		return writes_rm(p, true);
	case 0x89:
	case 0xc7:
		return writes_rm(p, false);
	case 0xb0 ... 0xb7:
		return writes_byte(p, (op & 7) | (p->rex & REX_B ? 8 : 0));
	case 0xb8 ... 0xbf:
		return writes((op & 7) | (p->rex & REX_B ? 8 : 0));
	case 0x8d:
		return changes_lea(p, out);
	case 0x84:
	case 0x85:
		out->name = "test";
		return reads_rm(p);
	case 0xa8:
	case 0xa9:
		out->name = "test";
		return 0;
	case 0xf6:
	case 0xf7:
		out->name = (p->modrm & 0x30) ? "arithmetic" : "test";
		return (p->modrm & 0x30) ? INSN_OTHER : reads_rm(p);
	case 0x90:
		out->name = p->rex & REX_B ? "xchg" : p->f3 ? "pause" : "nop";
		return p->rex & REX_B ? INSN_OTHER : 0;
	}
	out->name = NULL;
	return INSN_OTHER;
}

static uint16_t changes_two_byte(const struct x86_parts *p, struct insn *out)
{
	switch (p->opcode) {
	case 0x1e:
		if (!p->f3 || p->modrm != 0xfa)
			break;
		out->name = "endbr64";
		return 0;
	case 0x1f:
		out->name = "nop";
		return 0;
	case 0xb6:
	case 0xb7:
	case 0xbe:
	case 0xbf:
		out->name = "mov";
		return writes_reg(p, false);
	}
	return INSN_OTHER;
}

/*
 * Instructions with prefixes that have no business in a prologue are not looked into, and change
 * everything.
 */
static uint16_t changes(const struct x86_parts *p, struct insn *out)
{
	const bool hint = p->map == 1 && (p->opcode == 0x1e || p->opcode == 0x1f);
	const bool nop = p->map == 0 && p->opcode == 0x90;

	if (p->vex || p->map > 1 || p->lock || p->f2 || (p->f3 && !hint && !nop) || p->p67 ||
	    (p->seg_other && !hint))
		return INSN_OTHER;
	return p->map == 1 ? changes_two_byte(p, out) : changes_one_byte(p, out);
}

/* The nops that compilers and assemblers write, of 2 to 8 bytes. */
static bool is_usual_nop(const uint8_t *code, uint32_t len)
{
	static const uint8_t nops[][8] = {
		{ 0x66, 0x90 },
		{ 0x0f, 0x1f, 0x00 },
		{ 0x0f, 0x1f, 0x40, 0 },
		{ 0x0f, 0x1f, 0x44, 0, 0 },
		{ 0x66, 0x0f, 0x1f, 0x44, 0, 0 },
		{ 0x0f, 0x1f, 0x80, 0, 0, 0, 0 },
		{ 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0 },
	};

	return len >= 2 && len <= 8 && !memcmp(code, nops[len - 2], len);
}

/* What the kernel emulates. It refuses lock and most segments. */
static enum rp_step step(const struct x86_parts *p)
{
	if (p->lock || p->seg_other)
		return RP_STEP_UNKNOWN;
	if (p->vex || p->map > 1)
		return RP_STEP_SINGLE;
	if (p->map == 1)
		return p->opcode >= 0x80 && p->opcode <= 0x8f ? RP_STEP_EMULATED : RP_STEP_SINGLE;
	switch (p->opcode) {
	case 0x50 ... 0x57: /* push, of r8 to r15 too */
		return !p->p66 && (!p->rex || p->rex == (0x40 | REX_B)) ? RP_STEP_EMULATED
									: RP_STEP_SINGLE;
	case 0x70 ... 0x7f:
	case 0xe8:
	case 0xe9:
	case 0xeb:
		return RP_STEP_EMULATED;
	case 0x90:
		if (p->rex & REX_B) /* an exchange, which kernels have taken for a nop */
			return RP_STEP_UNKNOWN;
		return p->at == 1 ? RP_STEP_EMULATED : RP_STEP_SINGLE;
	}
	return RP_STEP_SINGLE;
}

/*
 * With VEX, EVEX and XOP the opcode is of another table than without, which uprobes do not look at:
 * vxorps, of opcode 57, is done as push %rdi, vpbroadcastb, of 7a, as a jump.
 */
bool rp_insn_x86_is_mistaken(const uint8_t *code, size_t n)
{
	struct x86_parts p = { .code = code, .n = n < X86_LONGEST ? (uint32_t)n : X86_LONGEST };

	rp_x86_take_apart(&p); /* of a length that is not known it may still be one of them */
	return p.vex;
}

static const char *flow_name(const struct insn *i)
{
	switch (i->flow) {
	case FLOW_BRANCH:
		return "conditional jump";
	case FLOW_JUMP:
		return "jmp";
	case FLOW_TABLE:
	case FLOW_AWAY:
		return "indirect jmp";
	case FLOW_RETURN:
		return "ret";
	case FLOW_STOP:
		return "trap";
	default:
		return i->is_call ? "call" : "instruction";
	}
}

bool rp_insn_x86_decode(const uint8_t *code, size_t n, struct insn *out)
{
	struct x86_parts p = { .code = code, .n = n < X86_LONGEST ? (uint32_t)n : X86_LONGEST };
	struct insn i = { 0 };

	if (!rp_x86_take_apart(&p))
		return false;
	i.len = (uint8_t)p.at;
	i.flow = rp_x86_flow(&p, &i.is_call);
	i.changes = changes(&p, &i);
	if (i.flow != FLOW_NEXT || i.is_call)
		i.changes = INSN_OTHER;
	i.step = step(&p);
	i.is_nop = is_usual_nop(code, p.at);
	if (i.flow == FLOW_BRANCH || i.flow == FLOW_JUMP || (i.is_call && p.opcode == 0xe8))
		i.target = rp_x86_target(&p);
	if (!p.vex && p.map == 0 && p.opcode >= 0x50 && p.opcode <= 0x57)
		i.name = "push";
	if (!i.name)
		i.name = flow_name(&i);
	*out = i;
	return true;
}
