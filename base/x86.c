/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long x86-64 instructions are, and of what parts. After the opcode maps of
 * Intel's manual (volume 2, appendix A) and AMD's (volume 3, appendix A, which has XOP). What the
 * two see differently, and what a map does not have, is unknown rather than guessed; an opcode that
 * is reserved amidst its kind has their length, and traps.
 */
#include "x86.h"

#include <string.h>

/*
 * What follows each opcode:
 *	.  reserved in 64-bit mode, or a prefix that changes everything (APX)
 *	p  a prefix		r  REX			x  treated apart
 *	-  nothing		m  ModRM		c  ModRM that only names registers
 *	b  8 bits		w  16 bits		e  16 and 8 bits
 *	z  32 bits, 16 after 66	v  the same, 64 with REX.W
 *	M  ModRM and b		Z  ModRM and z		D  ModRM and 32 bits
 *	g  M if it is a test, else m			G  Z if it is a test, else m
 *	j  a jump by 8 bits	J  a jump by 32 bits	o  an address
 */
static const char one_byte[] = "mmmmbz..mmmmbz.x" /* 00 */
			       "mmmmbz..mmmmbz.."
			       "mmmmbzp.mmmmbzp."
			       "mmmmbzp.mmmmbzp."
			       "rrrrrrrrrrrrrrrr" /* 40 */
			       "----------------"
			       "..xmppppzZbM----"
			       "jjjjjjjjjjjjjjjj"
			       "MZ.Mmmmmmmmmmmmx" /* 80 */
			       "----------.-----"
			       "oooo----bz------"
			       "bbbbbbbbvvvvvvvv"
			       "MMw-xxMZe-w--b.-" /* c0 */
			       "mmmm...-mmmmmmmm"
			       "jjjjbbbbJJ.j----"
			       "p-pp--gG------mm";

static const char two_byte[] = "mmmm.-----.-.m-M" /* 0f 00 */
			       "mmmmmmmmmmmmmmmm"
			       "cccc....mmmmmmmm"
			       "------.-x.x....."
			       "mmmmmmmmmmmmmmmm" /* 0f 40 */
			       "mmmmmmmmmmmmmmmm"
			       "mmmmmmmmmmmmmmmm"
			       "MMMMmmm-xm..mmmm"
			       "JJJJJJJJJJJJJJJJ" /* 0f 80 */
			       "mmmmmmmmmmmmmmmm"
			       "---mMmcc---mMmmm"
			       "mmmmmmmmmmMmmmmm"
			       "mmMmMMMm--------" /* 0f c0 */
			       "mmmmmmmmmmmmmmmm"
			       "mmmmmmmmmmmmmmmm"
			       "mmmmmmmmmmmmmmmm";

/* VEX and EVEX in the map of 0f. */
static const char vex_0f[] = "................" /* 00 */
			     "mmmmmmmm........"
			     "........mmmmmmmm"
			     "................"
			     "mmmmmmmmmmmmmmmm" /* 40: of mask registers */
			     "mmmmmmmmmmmmmmmm"
			     "mmmmmmmmmmmmmmmm"
			     "MMMMmmm-mmmmmmmm"
			     "................" /* 80 */
			     "mmmm....mm......"
			     "..............m."
			     "................"
			     "..M.MMM........." /* c0 */
			     "mmmmmmmmmmmmmmmm"
			     "mmmmmmmmmmmmmmmm"
			     "mmmmmmmmmmmmmmmm";

static bool next(struct x86_parts *p, uint8_t *byte)
{
	if (p->at >= p->n)
		return false;
	*byte = p->code[p->at++];
	return true;
}

/* Up to the opcode's first byte. REX counts only if nothing comes between it and the opcode; the
 * processor ignores one that is misplaced, and compilers write none. */
static bool take_prefixes(struct x86_parts *p)
{
	while (next(p, &p->opcode)) {
		switch (p->opcode) {
		case 0x66:
			p->p66 = true;
			break;
		case 0x67:
			p->p67 = true;
			break;
		case 0xf2:
			p->f2 = true;
			break;
		case 0xf3:
			p->f3 = true;
			break;
		case 0xf0:
			p->lock = true;
			break;
		case 0x64:
		case 0x65:
			p->seg_fs_gs = true;
			break;
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
			p->seg_other = true;
			break;
		default:
			if (one_byte[p->opcode] != 'r')
				return true;
			p->rex = p->opcode;
			if (!next(p, &p->opcode))
				return false;
			return one_byte[p->opcode] != 'p' && one_byte[p->opcode] != 'r';
		}
	}
	return false;
}

/* What follows opcodes of the maps where it is the same for all. */
static char follows_in_map(uint8_t map, bool xop)
{
	if (xop)
		return map == 8 ? 'M' : map == 9 ? 'm' : map == 10 ? 'D' : '.';
	switch (map) {
	case 2:
	case 5: /* EVEX: half precision */
	case 6:
		return 'm';
	case 3:
		return 'M';
	}
	return '.';
}

/* c5, c4, 62, or 8f where it is no pop. Leaves the opcode in p. */
static char take_vex(struct x86_parts *p)
{
	const uint8_t kind = p->opcode;
	uint8_t b[3] = { 0 };
	const int n = kind == 0xc5 ? 1 : kind == 0x62 ? 3 : 2;

	p->vex = true;
	for (int i = 0; i < n; i++) {
		if (!next(p, &b[i]))
			return '.';
	}
	if (!next(p, &p->opcode) || p->p66 || p->f2 || p->f3 || p->lock || p->rex)
		return '.';
	p->map = kind == 0xc5 ? 1 : b[0] & (kind == 0x62 ? 0x07 : 0x1f);
	if (kind == 0x62 && (b[0] & 8 || !(b[1] & 4)))
		return '.'; /* APX */
	if (p->map == 1)
		return kind == 0x8f ? '.' : vex_0f[p->opcode];
	if (kind == 0xc4 && p->map > 3)
		return '.';
	return follows_in_map(p->map, kind == 0x8f);
}

/* The rest of the opcode, and what follows it. */
static char take_opcode(struct x86_parts *p)
{
	switch (p->opcode) {
	case 0x0f:
		break;
	case 0x8f:
		/* pop has 0 where XOP has a map from 8 on */
		if (p->at < p->n && (p->code[p->at] & 0x38) == 0)
			return 'm';
		return take_vex(p);
	case 0x62:
	case 0xc4:
	case 0xc5:
		return take_vex(p);
	default:
		return one_byte[p->opcode];
	}
	if (!next(p, &p->opcode))
		return '.';
	p->map = 1;
	if (p->opcode == 0x38 || p->opcode == 0x3a) {
		p->map = p->opcode == 0x38 ? 2 : 3;
		return next(p, &p->opcode) ? follows_in_map(p->map, false) : '.';
	}
	if (p->opcode == 0x78) /* extrq and insertq of SSE4a have two bytes, vmread has none */
		return p->f2 || p->p66 ? '.' : 'm';
	return two_byte[p->opcode];
}

static bool take_modrm(struct x86_parts *p, bool registers_only)
{
	uint8_t mod, rm;
	uint32_t disp;

	p->has_modrm = true;
	if (!next(p, &p->modrm))
		return false;
	mod = p->modrm >> 6;
	rm = p->modrm & 7;
	if (mod == 3 || registers_only)
		return true;
	disp = mod == 1 ? 1 : mod == 2 ? 4 : 0;
	if (rm == 4) {
		if (!next(p, &p->sib))
			return false;
		if (mod == 0 && (p->sib & 7) == 5)
			disp = 4;
	} else if (mod == 0 && rm == 5) {
		disp = 4; /* from the instruction's end */
	}
	p->disp_at = p->at;
	p->at += disp;
	return true;
}

static uint32_t imm_size(const struct x86_parts *p, char follows)
{
	const bool wide = p->rex & REX_W, narrow = p->p66 && !wide;
	const bool is_test = (p->modrm & 0x30) == 0;

	switch (follows) {
	case 'b':
	case 'M':
	case 'j':
		return 1;
	case 'w':
		return 2;
	case 'e':
		return 3;
	case 'J':
	case 'D':
		return 4;
	case 'z':
	case 'Z':
		return narrow ? 2 : 4;
	case 'v':
		return wide ? 8 : narrow ? 2 : 4;
	case 'g':
		return is_test ? 1 : 0;
	case 'G':
		return is_test ? narrow ? 2 : 4 : 0;
	case 'o':
		return p->p67 ? 4 : 8;
	}
	return 0;
}

/* No search in a string: files are taken apart by the million instructions. */
static bool has_modrm(char follows)
{
	switch (follows) {
	case 'm':
	case 'c':
	case 'M':
	case 'Z':
	case 'D':
	case 'g':
	case 'G':
		return true;
	}
	return false;
}

bool rp_x86_take_apart(struct x86_parts *p)
{
	char follows;

	if (!take_prefixes(p))
		return false;
	follows = take_opcode(p);
	if (follows == '.' || follows == 'x')
		return false;
	/* A jump with 66 is 16 bits long on one maker's processors and 32 on the other's. */
	if ((follows == 'J' || follows == 'j') && p->p66 && !(p->rex & REX_W))
		return false;
	if (has_modrm(follows) && !take_modrm(p, follows == 'c'))
		return false;
	p->imm_at = p->at;
	p->imm_len = imm_size(p, follows);
	p->at += p->imm_len;
	return p->at <= p->n;
}

int64_t rp_x86_number(const uint8_t *at, uint32_t len)
{
	int32_t word;

	if (len == 1)
		return (int8_t)at[0];
	if (len != 4)
		return 0;
	memcpy(&word, at, 4); /* x86 is little-endian, and so is every machine of ours */
	return word;
}

int64_t rp_x86_target(const struct x86_parts *p)
{
	return (int64_t)p->at + rp_x86_number(p->code + p->imm_at, p->imm_len);
}

static enum insn_flow flow_one_byte(const struct x86_parts *p, bool *is_call)
{
	switch (p->opcode) {
	case 0x70 ... 0x7f:
	case 0xe0 ... 0xe3: /* loop, jrcxz */
		return FLOW_BRANCH;
	case 0xe8:
		*is_call = true;
		return FLOW_NEXT;
	case 0xe9:
	case 0xeb:
		return FLOW_JUMP;
	case 0xc7: /* xbegin: there, if the transaction fails */
		return p->modrm == 0xf8 ? FLOW_BRANCH : FLOW_NEXT;
	case 0xc2:
	case 0xc3:
		return FLOW_RETURN;
	case 0xca: /* to another segment, or out of an interrupt */
	case 0xcb:
	case 0xcf:
		return FLOW_TABLE;
	case 0xcc:
	case 0xf1:
	case 0xf4:
		return FLOW_STOP;
	case 0xff:
		switch (p->modrm >> 3 & 7) {
		case 2:
		case 3:
			*is_call = true;
			return FLOW_NEXT;
		case 4:
		case 5:
			return (p->modrm & 0xc7) == 5 ? FLOW_AWAY : FLOW_TABLE;
		}
	}
	return FLOW_NEXT;
}

enum insn_flow rp_x86_flow(const struct x86_parts *p, bool *is_call)
{
	*is_call = false;
	if (p->vex || p->map > 1)
		return FLOW_NEXT;
	if (p->map == 0)
		return flow_one_byte(p, is_call);
	if (p->opcode >= 0x80 && p->opcode <= 0x8f)
		return FLOW_BRANCH;
	return p->opcode == 0x0b || p->opcode == 0xb9 || p->opcode == 0xff ? FLOW_STOP : FLOW_NEXT;
}
