/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the last instruction of a path did. The kernel prints it in front of the next one; where the
 * path ends between the two, "safe", it prints nothing. What a call or a load from elsewhere gave
 * is of the kind that the log shows behind the same instruction on another path.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "walk.h"

static uint32_t intern(struct reader *r, const char *text, bool slot)
{
	const uint32_t n = asm_vlog_value_intern(&r->values, &r->arena, text, strlen(text), slot);

	r->no_memory |= !n;
	return n;
}

/* ---- operands */

/* The n-th register that the text names, from 0; -1. */
static int reg_in(const char *text, int n)
{
	for (const char *at = text + 4; *at; at++) {
		const bool begins = !isalnum((unsigned char)at[-1]) && (*at == 'r' || *at == 'w');

		if (begins && isdigit((unsigned char)at[1]) && n-- == 0) {
			const int reg = atoi(at + 1);

			return reg < FRAME_REGS ? reg : -1;
		}
	}
	return -1;
}

/* The number behind the last blank. */
static int64_t number_in(const char *text)
{
	const char *at = strrchr(text, ' ');

	return at ? (int64_t)strtoull(at + 1, NULL, 0) : 0;
}

/* "(r10 -16)": -16, if that is where R10 or the register's own distance leads; 0: elsewhere. */
static int64_t frame_place(const struct reader *r, const char *text)
{
	const char *open = strstr(text, "(r");
	const uint32_t *at = r->frames[r->frame].at;
	const struct value *base;
	int64_t place;
	int reg;

	if (!open)
		return 0;
	reg = atoi(open + 2);
	if (reg < 0 || reg >= FRAME_REGS || !at[reg])
		return 0;
	base = &r->values.all[at[reg]];
	if (strcmp(base->type, "fp") || base->least != base->most)
		return 0;
	open = strchr(open, ' ');
	return open && !__builtin_add_overflow(base->least, strtoll(open + 1, NULL, 10), &place)
		       ? place
		       : 0;
}

/* ---- what was printed on another path */

/* With an id of its own, where it has one. */
static uint32_t fresh(struct reader *r, uint32_t number)
{
	const struct value *v = &r->values.all[number];
	const char *at = strstr(v->text, "(id=");
	const char *ref = at ? strstr(at, "ref_obj_id=") : NULL;
	char text[2100];
	size_t used;

	if (!at || *v->bytes || strlen(v->text) > 2000)
		return number;
	at += 4;
	used = (size_t)snprintf(text, sizeof(text), "%.*s%u", (int)(at - v->text), v->text,
				++r->walk->made_ids);
	at += strspn(at, "0123456789");
	if (ref) {
		ref += strlen("ref_obj_id=");
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%.*s%u",
					 (int)(ref - at), at, r->walk->made_ids);
		at = ref + strspn(ref, "0123456789");
	}
	snprintf(text + used, sizeof(text) - used, "%s", at);
	return intern(r, text, false);
}

static uint32_t printed(const struct reader *r, uint32_t insn, int where)
{
	const struct joins *after = &r->met[insn].after;

	for (uint32_t i = 0; i < after->n; i++)
		if (after->all[i].where == where && after->all[i].nlisted)
			return after->all[i].listed[after->all[i].nlisted - 1];
	return 0;
}

/* A call: R0, and the slots that it filled. */
static void called(struct reader *r, uint32_t insn)
{
	const struct joins *after = &r->met[insn].after;
	uint32_t *at = r->frames[r->frame].at;
	const uint32_t r0 = printed(r, insn, 0);

	at[0] = r0 ? fresh(r, r0) : intern(r, "scalar()", false);
	for (uint32_t i = 0; i < after->n; i++) {
		const struct join *join = &after->all[i];

		if (join->where < 0 && join->nlisted &&
		    r->values.all[join->listed[0]].kind == VALUE_BYTES)
			at[FRAME_REGS + (uint32_t)(-join->where / 8) - 1] = join->listed[0];
	}
}

/* ---- numbers */

static struct value any_number(void)
{
	return (struct value){ .kind = VALUE_NUMBER,
			       .type = "",
			       .name = "",
			       .least = INT64_MIN,
			       .most = INT64_MAX,
			       .umost = UINT64_MAX,
			       .low = ANY_LOW,
			       .unknown = UINT64_MAX,
			       .var_unknown = UINT64_MAX };
}

static struct value constant(int64_t n)
{
	struct value v = any_number();

	v.uleast = v.umost = v.var_known = (uint64_t)n;
	v.var_unknown = 0;
	asm_walk_agree(&v);
	return v;
}

static struct value below(uint64_t most)
{
	struct value v = any_number();

	v.umost = v.var_unknown = most;
	asm_walk_agree(&v);
	return v;
}

/* Bits of a sum are known up to the lowest that is not known of either. */
static void add(struct value *v, const struct value *a, const struct value *b, bool subtract)
{
	const uint64_t least = subtract ? a->var_known - b->var_known : a->var_known + b->var_known;
	const uint64_t most = subtract ? a->var_known - (b->var_known | b->var_unknown)
				       : least + a->var_unknown + b->var_unknown;
	const uint64_t other = subtract ? least + a->var_unknown : least;
	int64_t low, high;
	uint64_t ulow, uhigh;

	v->var_unknown = (most ^ other) | a->var_unknown | b->var_unknown;
	v->var_known = least & ~v->var_unknown;
	if (subtract ? !__builtin_sub_overflow(a->least, b->most, &low) &&
			       !__builtin_sub_overflow(a->most, b->least, &high)
		     : !__builtin_add_overflow(a->least, b->least, &low) &&
			       !__builtin_add_overflow(a->most, b->most, &high)) {
		v->least = low;
		v->most = high;
	}
	if (subtract ? !__builtin_sub_overflow(a->uleast, b->umost, &ulow) &&
			       !__builtin_sub_overflow(a->umost, b->uleast, &uhigh)
		     : !__builtin_add_overflow(a->uleast, b->uleast, &ulow) &&
			       !__builtin_add_overflow(a->umost, b->umost, &uhigh)) {
		v->uleast = ulow;
		v->umost = uhigh;
	}
}

static struct value computed(uint8_t op, const struct value *a, const struct value *b)
{
	const bool by_constant = b->uleast == b->umost;
	const unsigned int shift = (unsigned int)(b->uleast & 63);
	struct value v = any_number();

	if (op == BPF_ADD || op == BPF_SUB) {
		add(&v, a, b, op == BPF_SUB);
	} else if (op == BPF_AND) {
		v.var_known = a->var_known & b->var_known;
		v.var_unknown = (a->var_known | a->var_unknown) & (b->var_known | b->var_unknown) &
				~v.var_known;
		v.umost = MIN(a->umost, b->umost);
	} else if (op == BPF_RSH && by_constant) {
		v.var_known = a->var_known >> shift;
		v.var_unknown = a->var_unknown >> shift;
		v.uleast = a->uleast >> shift;
		v.umost = a->umost >> shift;
	} else if (op == BPF_ARSH && by_constant) {
		v.var_known = (uint64_t)((int64_t)a->var_known >> shift);
		v.var_unknown = (uint64_t)((int64_t)a->var_unknown >> shift);
		v.least = a->least >> shift;
		v.most = a->most >> shift;
	}
	asm_walk_agree(&v);
	return v;
}

/* ---- instructions */

/* A number and its copy are equal from now on. */
static uint32_t copied(struct reader *r, int from)
{
	uint32_t *place = &r->frames[r->frame].at[from];
	struct value v = r->values.all[*place];

	if (!*place || v.kind != VALUE_NUMBER || v.id || v.uleast == v.umost)
		return *place;
	v.id = ++r->walk->made_ids;
	*place = asm_walk_number(r, &v);
	return *place;
}

static void arithmetic(struct reader *r, const char *text, uint8_t code)
{
	const int dst = reg_in(text, 0), src = reg_in(text, 1);
	uint32_t *at = r->frames[r->frame].at;
	const struct value *all = r->values.all;
	const uint8_t op = BPF_OP(code);
	struct value a, b, v;

	if (dst < 0)
		return;
	if (code == (BPF_ALU64 | BPF_MOV | BPF_X) && src >= 0) {
		at[dst] = copied(r, src);
		return;
	}
	if (op == BPF_MOV && BPF_SRC(code) == BPF_K) {
		v = constant(BPF_CLASS(code) == BPF_ALU64 ? number_in(text)
							  : (int64_t)(uint32_t)number_in(text));
		at[dst] = asm_walk_number(r, &v);
		return;
	}
	a = all[at[dst]];
	b = BPF_SRC(code) == BPF_X && src >= 0 ? all[at[src]] : constant(number_in(text));
	if (!at[dst] || a.kind != VALUE_NUMBER || b.kind != VALUE_NUMBER ||
	    BPF_CLASS(code) != BPF_ALU64) {
		const uint32_t seen = printed(r, (uint32_t)r->current, dst);

		v = below(UINT32_MAX);
		at[dst] = BPF_CLASS(code) == BPF_ALU ? asm_walk_number(r, &v)
			  : seen		     ? fresh(r, seen)
						     : 0;
		return;
	}
	v = computed(op, &a, &b);
	at[dst] = asm_walk_number(r, &v);
}

static void load(struct reader *r, const char *text, uint8_t code, uint32_t insn)
{
	static const uint64_t most[] = { UINT32_MAX, UINT16_MAX, UINT8_MAX, UINT64_MAX };
	const int64_t place = frame_place(r, text);
	uint32_t *at = r->frames[r->frame].at;
	const int dst = reg_in(text, 0);
	struct value v = below(most[BPF_SIZE(code) >> 3]);
	uint32_t seen;

	if (dst < 0)
		return;
	seen = printed(r, insn, dst);
	if (place < 0 && place >= -ASM_STACK_SIZE && place % 8 == 0 && BPF_SIZE(code) == BPF_DW) {
		const uint32_t slot = at[FRAME_REGS + (uint32_t)(-place / 8) - 1];

		if (slot && !*r->values.all[slot].bytes) {
			at[dst] = slot;
			return;
		}
	}
	/* Numbers differ from path to path, what kind of pointer it is does not. */
	at[dst] = seen && r->values.all[seen].kind == VALUE_POINTER ? fresh(r, seen)
								    : asm_walk_number(r, &v);
}

static void store(struct reader *r, const char *text, uint8_t code)
{
	static const int sizes[] = { 4, 2, 1, 8 };
	const int64_t place = frame_place(r, text);
	const int size = sizes[BPF_SIZE(code) >> 3], end = (int)(((place % 8) + 8) % 8) + size;
	const bool is_reg = BPF_CLASS(code) == BPF_STX;
	uint32_t *slot, from;
	char bytes[9] = "????????", now[2100];
	struct value v;

	if (place >= 0 || place < -ASM_STACK_SIZE || place + size > 0)
		return;
	slot = &r->frames[r->frame].at[FRAME_REGS + (uint32_t)((-place + 7) / 8) - 1];
	if (end > 8) { /* it is not aligned: in this slot, and in the one above */
		slot[0] = slot[-1] = 0;
		return;
	}
	if (is_reg) {
		const char *last = strrchr(text, ' ');
		const int reg = last && last[1] == 'r' ? atoi(last + 2) : -1;

		if (reg < 0 || reg >= FRAME_REGS)
			return;
		from = copied(r, reg);
	} else {
		v = constant(number_in(text));
		from = asm_walk_number(r, &v);
	}
	if (size == 8) {
		*slot = from;
		return;
	}
	if (*slot) {
		const char *was = r->values.all[*slot].bytes;

		memset(bytes, 'm', 8);
		memcpy(bytes, was, strlen(was));
	}
	v = r->values.all[from];
	if (size == 4 && place % 8 == 0 && v.kind == VALUE_NUMBER) {
		if (v.umost > UINT32_MAX)
			v = below(UINT32_MAX);
		snprintf(now, sizeof(now), "%.4s%s", bytes,
			 r->values.all[asm_walk_number(r, &v)].text);
	} else {
		/* The letters begin with the highest address. */
		memset(bytes + 8 - end, v.uleast == v.umost && !v.uleast ? '0' : 'm', (size_t)size);
		snprintf(now, sizeof(now), "%s", bytes);
	}
	*slot = intern(r, now, true);
}

void asm_walk_effect(struct reader *r, uint32_t next)
{
	const uint32_t insn = (uint32_t)r->current;
	const char *text = r->current >= 0 ? r->log->insns[insn].text : NULL;
	const uint8_t class = BPF_CLASS(r->code);

	if (!text || strlen(text) < 5)
		return;
	if (is_conditional(r->code))
		asm_walk_branch(r, insn, next);
	else if (r->code == (BPF_JMP | BPF_CALL))
		called(r, insn);
	else if (class == BPF_ALU || class == BPF_ALU64)
		arithmetic(r, text, r->code);
	else if (class == BPF_LDX)
		load(r, text, r->code, insn);
	else if (class == BPF_ST || (class == BPF_STX && BPF_MODE(r->code) == BPF_MEM))
		store(r, text, r->code);
	else if (class == BPF_STX && reg_in(text, 0) >= 0 && text[5] == 'r')
		r->frames[r->frame].at[reg_in(text, 0)] = intern(r, "scalar()", false);
	else if (class == BPF_LD && printed(r, insn, r->writes))
		r->frames[r->frame].at[r->writes] = printed(r, insn, r->writes);
}
