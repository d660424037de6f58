/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * First pass: gives every line its place. It decides what WHEN and UNLESS drop, how many slots each
 * line takes (which for parameters and kernel members depends on their values), and where labels
 * and functions stand. After it nothing moves any more, so the second pass can resolve forward and
 * backward references alike.
 */
#include <errno.h>
#include <string.h>

#include "internal.h"

/* An open SCOPE, WHEN, UNLESS. Scopes of C macros nest a few deep. */
#define MAX_DEPTH 64

struct cursor {
	uint32_t slot;
	uint32_t scope;
	uint32_t func;
	bool dropped;
	uint32_t depth;
	struct {
		uint32_t line;
		uint32_t scope;
		bool dropped;
	} open[MAX_DEPTH];
};

static bool has_param(const struct asm_insn *line)
{
	return line->config_size != 0;
}

static uint64_t number_at(const unsigned char *at, uint32_t size)
{
	union {
		uint8_t b;
		uint16_t h;
		uint32_t w;
		uint64_t dw;
	} number = { 0 };

	memcpy(&number, at, size);
	return size == 1 ? number.b : size == 2 ? number.h : size == 4 ? number.w : number.dw;
}

/* The member of the configuration that a line names, sign- or zero-extended. */
static int64_t param_value(struct assembly *a, uint32_t index)
{
	const struct asm_insn *line = &a->program->lines[index];
	const unsigned char *config = a->bindings->config;
	size_t config_size = config ? a->bindings->config_size : 0;
	uint32_t size = line->param_size, unused = 64 - 8 * size;
	uint64_t value;

	if (line->config_size != config_size) {
		asm_fault(a, -EINVAL, index,
			  "the program is assembled with a configuration of %zu bytes, this line "
			  "means one of %u bytes",
			  config_size, line->config_size);
		return 0;
	}
	if (size != 1 && size != 2 && size != 4 && size != 8) {
		asm_fault(a, -EINVAL, index, "a parameter has 1, 2, 4 or 8 bytes, this one %u",
			  size);
		return 0;
	}
	if (line->param_offset + size > config_size) {
		asm_fault(a, -EINVAL, index, "the parameter lies outside of the configuration");
		return 0;
	}
	value = number_at(config + line->param_offset, size);
	if (line->param_signed)
		return (int64_t)(value << unused) >> unused;
	return (int64_t)value;
}

static void find_access(struct assembly *a, uint32_t index)
{
	const struct asm_insn *line = &a->program->lines[index];
	const struct asm_bindings *b = a->bindings;
	struct asm_access *access = &a->placed[index].access;
	const char *second = line->sym + strlen(line->sym) + 1, *third = NULL;
	char why[ASM_WHY_SIZE] = "";
	int err = -ENOENT;

	if (line->kind == ASM_LD_TP)
		third = second + strlen(second) + 1;
	if (third && b->tp_field)
		err = b->tp_field(b->ctx, line->sym, second, third, access, why);
	else if (!third && b->field)
		err = b->field(b->ctx, line->sym, second, access, why);
	if (!err && (access->nhops < 1 || access->nhops > ASM_MAX_HOPS))
		err = -EINVAL;
	if (!err)
		return;
	if (third)
		asm_fault(a, err, index, "tracepoint %s:%s, field %s: %s", line->sym, second, third,
			  *why ? why : strerror(-err));
	else
		asm_fault(a, err, index, "kernel type %s, member %s: %s", line->sym, second,
			  *why ? why : strerror(-err));
	*access = (struct asm_access){ .nhops = 1, .hop = { { .size = 8 } } };
}

/* The id of a kernel function. */
static int64_t find_kfunc(struct assembly *a, uint32_t index)
{
	const struct asm_insn *line = &a->program->lines[index];
	const struct asm_bindings *b = a->bindings;
	char why[ASM_WHY_SIZE] = "";
	const int id = b->kfunc ? b->kfunc(b->ctx, line->sym, why) : -ENOENT;

	if (id < 0)
		asm_fault(a, id, index, "kernel function %s: %s", line->sym,
			  *why ? why : strerror(-id));
	return id;
}

int asm_zero_size(int off, int left)
{
	int size = 8;

	while (off % size || size > left)
		size /= 2;
	return size;
}

static uint32_t zero_stores(struct assembly *a, uint32_t index)
{
	const struct asm_insn *line = &a->program->lines[index];
	int off = line->insn.off, left;
	uint32_t n = 0;

	if (off < -ASM_STACK_SIZE || off >= 0 || line->value > (uint64_t)-off) {
		asm_fault(a, -EINVAL, index, "beyond the stack frame");
		return 0;
	}
	left = (int)line->value;
	for (int size; left > 0; n++, off += size, left -= size)
		size = asm_zero_size(off, left);
	return n;
}

/* The slots of a load: one for each hop, and two to extend a sign. */
static uint32_t load_slots(const struct asm_access *access)
{
	return access->nhops + (extends_sign(access) ? 2 : 0);
}

static uint32_t slots_of(struct assembly *a, uint32_t index)
{
	struct placed *p = &a->placed[index];

	switch ((enum asm_kind)a->program->lines[index].kind) {
	case ASM_INSN:
	case ASM_JUMP:
	case ASM_JUMP_PARAM:
	case ASM_CALL_FUNC:
	case ASM_LD_REG:
		return 1;
	case ASM_CALL_KFUNC:
		p->param = find_kfunc(a, index);
		return 1;
	case ASM_LD_FUNC:
	case ASM_LD_IMM64:
	case ASM_LD_MAP:
	case ASM_LD_MAP_VALUE:
		return 2;
	case ASM_LD_PARAM:
		return p->param == (int32_t)p->param ? 1 : 2;
	case ASM_LD_FIELD:
	case ASM_LD_TP:
		find_access(a, index);
		return load_slots(&p->access);
	case ASM_FIELD_OFFSET:
	case ASM_FIELD_SIZE:
		find_access(a, index);
		return 1;
	case ASM_ZERO:
		return zero_stores(a, index);
	case ASM_LABEL:
	case ASM_FUNC:
	case ASM_SCOPE:
	case ASM_WHEN:
	case ASM_UNLESS:
	case ASM_END:
	case ASM_INCLUDE: /* spliced: none is left */
		return 0;
	}
	asm_fault(a, -EINVAL, index, "no such kind of line: %u", a->program->lines[index].kind);
	return 0;
}

static void add_func(struct assembly *a, struct cursor *c, uint32_t index)
{
	const char *name = a->program->lines[index].sym;
	const struct func *other = asm_find_func(a, name);

	if (c->scope != NO_SCOPE)
		asm_fault(a, -EINVAL, index, "a function cannot begin inside of %s",
			  a->program->lines[c->scope].text);
	if (other && other->line != index)
		asm_fault(a, -EINVAL, index, "function '%s' stands already at line %u", name,
			  a->program->lines[other->line].line);
	if (!c->slot)
		asm_fault(a, -EINVAL, index,
			  "the program itself comes first, its functions after it");
	c->func = a->nfuncs;
	a->funcs[a->nfuncs++] = (struct func){ .name = name, .line = index, .slot = c->slot };
}

static void open_block(struct assembly *a, struct cursor *c, uint32_t index)
{
	const struct asm_insn *line = &a->program->lines[index];

	if (c->depth == MAX_DEPTH) {
		asm_fault(a, -EINVAL, index, "nested deeper than %d", MAX_DEPTH);
		return;
	}
	c->open[c->depth].line = index;
	c->open[c->depth].scope = c->scope;
	c->open[c->depth].dropped = c->dropped;
	c->depth++;
	if (line->kind == ASM_SCOPE)
		c->scope = index;
	else if ((a->placed[index].param == 0) == (line->kind == ASM_WHEN))
		c->dropped = true;
}

static void close_block(struct assembly *a, struct cursor *c, uint32_t index)
{
	if (!c->depth) {
		asm_fault(a, -EINVAL, index, "END without SCOPE, WHEN or UNLESS");
		return;
	}
	c->depth--;
	c->scope = c->open[c->depth].scope;
	c->dropped = c->open[c->depth].dropped;
}

static void place(struct assembly *a, struct cursor *c, uint32_t index)
{
	const struct asm_insn *line = &a->program->lines[index];
	struct placed *p = &a->placed[index];

	p->slot = c->slot;
	p->scope = c->scope;
	p->func = c->func;
	p->dropped = c->dropped;
	if (has_param(line) && !c->dropped)
		p->param = param_value(a, index);

	if (line->kind == ASM_END) {
		close_block(a, c, index);
	} else if (line->kind == ASM_SCOPE || line->kind == ASM_WHEN || line->kind == ASM_UNLESS) {
		open_block(a, c, index);
	} else if (!c->dropped) {
		if (line->kind == ASM_LABEL)
			asm_add_label(a, index);
		else if (line->kind == ASM_FUNC)
			add_func(a, c, index);
		p->nslots = slots_of(a, index);
		c->slot += p->nslots;
	}
}

void asm_layout(struct assembly *a)
{
	const struct asm_program *program = a->program;
	struct cursor c = { .scope = NO_SCOPE };

	a->funcs[a->nfuncs++] = (struct func){ .name = program->name };
	for (uint32_t i = 0; i < program->nlines; i++)
		place(a, &c, i);
	if (c.depth)
		asm_fault(a, -EINVAL, c.open[c.depth - 1].line, "END is missing");
	for (uint32_t i = 1; i < a->nfuncs; i++)
		if (a->funcs[i].slot == (i + 1 < a->nfuncs ? a->funcs[i + 1].slot : c.slot))
			asm_fault(a, -EINVAL, a->funcs[i].line, "function '%s' is empty",
				  a->funcs[i].name);
	if (!c.slot && program->nlines)
		asm_fault(a, -EINVAL, 0, "the program has no instructions");
	a->nslots = c.slot;
	asm_check_labels(a);
}
