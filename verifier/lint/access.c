/* SPDX-License-Identifier: BSD-2-Clause */
/* May a path read this register, these bytes; may it follow this address so far? */
#include <inttypes.h>
#include <stdio.h>

#include "lint.h"

/* ---- registers that hold nothing */

const char *asm_lint_way_text(const struct lint *l, const struct state *s, char text[WAY_SIZE])
{
	text[0] = '\0';
	if (s->jump != NO_SLOT)
		snprintf(text, WAY_SIZE, " (on the way where the jump at line %u is %staken)",
			 asm_lint_line_at(l, s->jump), s->taken ? "" : "not ");
	return text;
}

bool asm_read_reg(struct lint *l, struct state *s, unsigned int number)
{
	struct reg *reg = &s->regs[number];
	char way[WAY_SIZE];

	switch ((enum kind)reg->kind) {
	case UNWRITTEN:
		asm_lint_finding(l, s->at, RULE_REGISTER + number,
				 "R%u is read here, but nothing was written to it before%s", number,
				 asm_lint_way_text(l, s, way));
		break;
	case DESTROYED:
		asm_lint_finding(
			l, s->at, RULE_REGISTER + number,
			"R%u is read here, but the call at line %u (%s) destroyed R1-R5: keep it "
			"in R6-R9",
			number, asm_lint_line_at(l, reg->where), asm_lint_text_at(l, reg->where));
		break;
	case NOTHING:
		asm_lint_finding(l, s->at, RULE_REGISTER + number,
				 "R%u is read here, but the call at line %u (%s) returns nothing",
				 number, asm_lint_line_at(l, reg->where),
				 asm_lint_text_at(l, reg->where));
		break;
	case NUMBER:
	case RELEASED:
	case STACK:
	case CONTEXT:
	case FUNCTION:
	case MAP:
	case VALUE:
	case VALUE_OR_NULL:
	case RECORD:
	case RECORD_OR_NULL:
	case OTHER:
		return true;
	}
	*reg = asm_lint_other();
	return false;
}

/* ---- is the access allowed? */

bool asm_has_plain_context(const struct lint *l)
{
	switch (l->image->program->type) {
	case BPF_PROG_TYPE_KPROBE:
	case BPF_PROG_TYPE_TRACEPOINT:
	case BPF_PROG_TYPE_PERF_EVENT:
	case BPF_PROG_TYPE_RAW_TRACEPOINT:
	case BPF_PROG_TYPE_RAW_TRACEPOINT_WRITABLE:
		return true;
	}
	return false;
}

static bool check_stack(struct lint *l, struct state *s, int64_t offset, uint64_t bytes,
			const char *what)
{
	if (asm_stack_inside(offset, bytes))
		return true;
	asm_lint_finding(l, s->at, RULE_BOUNDS,
			 "%s of %" PRIu64 " byte%s at R10%+" PRId64
			 ": the stack frame reaches from R10-512 to R10-1",
			 what, bytes, bytes == 1 ? "" : "s", offset);
	return false;
}

static bool check_value(struct lint *l, struct state *s, const struct reg *base, int64_t offset,
			uint64_t bytes, const char *what)
{
	const struct asm_map *map = asm_lint_map_of(l, base);

	if (!map || (offset >= 0 && (uint64_t)offset + bytes <= map->value_size))
		return true;
	if (!base->exact && base->offset == MAX_OFFSET) {
		asm_lint_finding(
			l, s->at, RULE_BOUNDS,
			"%s at an offset without limit of a value of '%s', which has %u bytes: "
			"compare the number, or AND it with a mask, before it is added",
			what, map->name, map->value_size);
		return false;
	}
	asm_lint_finding(l, s->at, RULE_BOUNDS,
			 "%s of %" PRIu64 " byte%s at offset %s%" PRId64
			 " of a value of '%s', which has %u bytes",
			 what, bytes, bytes == 1 ? "" : "s", base->exact ? "" : "up to ", offset,
			 map->name, map->value_size);
	return false;
}

static bool check_record(struct lint *l, struct state *s, const struct reg *base, int64_t offset,
			 uint64_t bytes, const char *what)
{
	if (offset >= 0 && (uint64_t)offset + bytes <= base->size)
		return true;
	asm_lint_finding(l, s->at, RULE_BOUNDS,
			 "%s of %" PRIu64 " byte%s at offset %" PRId64
			 " of the %u bytes that were reserved at line %u",
			 what, bytes, bytes == 1 ? "" : "s", offset, base->size,
			 asm_lint_line_at(l, base->where));
	return false;
}

static void unchecked(struct lint *l, struct state *s, const struct reg *base, unsigned int number)
{
	asm_lint_finding(
		l, s->at, RULE_NULL,
		"R%u may be 0 here: it is what %s at line %u returned, and nothing has compared it "
		"with 0 since (JEQ(R%u, 0, ...))",
		number, asm_lint_text_at(l, base->where), asm_lint_line_at(l, base->where), number);
}

bool asm_check_access(struct lint *l, struct state *s, const struct reg *base, unsigned int number,
		      int64_t offset, uint64_t bytes, const char *what)
{
	switch ((enum kind)base->kind) {
	case STACK:
		return !base->known || check_stack(l, s, base->offset + offset, bytes, what);
	case VALUE:
		if (base->trusted)
			asm_lint_caution(
				l, s->at, RULE_NULL,
				"R%u is not compared with 0 after %s at line %u: that the element "
				"exists is known only to newer kernels, older ones refuse this",
				number, asm_lint_text_at(l, base->where),
				asm_lint_line_at(l, base->where));
		return !base->known || check_value(l, s, base, base->offset + offset, bytes, what);
	case RECORD:
		return !base->known || check_record(l, s, base, base->offset + offset, bytes, what);
	case VALUE_OR_NULL:
	case RECORD_OR_NULL:
		unchecked(l, s, base, number);
		return false;
	case RELEASED:
		asm_lint_finding(l, s->at, RULE_ADDRESS,
				 "R%u points to a ring record that %s at line %u has given back",
				 number, asm_lint_text_at(l, base->where),
				 asm_lint_line_at(l, base->where));
		return false;
	case NUMBER:
		if (base->exact && !base->can.lo) {
			asm_lint_finding(l, s->at, RULE_NULL,
					 "R%u is 0 here: there is nothing to follow", number);
			return false;
		}
		asm_lint_finding(
			l, s->at, RULE_ADDRESS,
			"R%u is a number, not an address that may be followed: read kernel or user "
			"memory with READ_KERNEL() or READ_USER()",
			number);
		return false;
	case UNWRITTEN:
	case DESTROYED:
	case NOTHING:
	case CONTEXT:
	case FUNCTION:
	case MAP:
	case OTHER:
		break;
	}
	return true;
}

/* Where the context is registers or a record, its first 8 bytes are the kernel's own in a
 * tracepoint's; registers a uprobe may change. */
bool asm_check_context(struct lint *l, struct state *s, const struct reg *base, int64_t offset,
		       unsigned int bytes, bool writes)
{
	uint32_t type = l->image->program->type;

	if (!asm_has_plain_context(l) || !base->known)
		return true;
	if (offset < 0 || offset % bytes || (type == BPF_PROG_TYPE_TRACEPOINT && offset < 8))
		asm_lint_finding(l, s->at, RULE_BOUNDS,
				 "%u bytes of the context at offset %" PRId64 ": %s", bytes, offset,
				 offset < 0 ? "they lie before it"
				 : offset % bytes
					 ? "the offset must be a multiple of the size"
					 : "the first 8 bytes of a tracepoint's record are not for "
					   "programs");
	else if (writes && (type == BPF_PROG_TYPE_TRACEPOINT || type == BPF_PROG_TYPE_PERF_EVENT))
		asm_lint_finding(l, s->at, RULE_BOUNDS, "the context is read only");
	else
		return true;
	return false;
}

void asm_check_written(struct lint *l, struct state *s, int offset, unsigned int bytes,
		       const char *what)
{
	char way[WAY_SIZE], part[40] = "", to[32] = "";
	int first, n;

	if (!asm_stack_unwritten(s, offset, bytes, &first, &n))
		return;
	if (n == 1 && bytes > 1)
		snprintf(part, sizeof(part), "byte %d of ", first - offset);
	else if (n < (int)bytes)
		snprintf(part, sizeof(part), "bytes %d-%d of ", first - offset,
			 first - offset + n - 1);
	if (n > 1)
		snprintf(to, sizeof(to), " to R10%+d", first + n - 1);
	asm_lint_finding(l, s->at, RULE_STACK, "%s%s, R10%+d%s, %s never written%s", part, what,
			 first, to, n == 1 || n == (int)bytes ? "was" : "were",
			 asm_lint_way_text(l, s, way));
	asm_stack_write(s, offset, bytes, false);
}

bool asm_check_aligned(struct lint *l, struct state *s, int64_t offset, unsigned int bytes)
{
	if (offset % bytes == 0)
		return true;
	asm_lint_finding(l, s->at, RULE_ALIGNMENT,
			 "misaligned: %u bytes of the stack at R10%+" PRId64
			 ", which is no multiple of %u",
			 bytes, offset, bytes);
	return false;
}
