/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads, stores and atomic operations on a path. */
#include <inttypes.h>
#include <linux/bpf.h>

#include "lint.h"

unsigned int access_bytes(const struct bpf_insn *insn)
{
	switch (BPF_SIZE(insn->code)) {
	case BPF_B:
		return 1;
	case BPF_H:
		return 2;
	case BPF_W:
		return 4;
	}
	return 8;
}

/* ---- is the access allowed? */

/* Programs whose context holds numbers only. */
static bool has_plain_context(const struct lint *l)
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
	if (stack_inside(offset, bytes))
		return true;
	finding(l, s->at, RULE_BOUNDS,
		"%s of %" PRIu64 " byte%s at R10%+" PRId64
		": the stack frame reaches from R10-512 to R10-1",
		what, bytes, bytes == 1 ? "" : "s", offset);
	return false;
}

static bool check_value(struct lint *l, struct state *s, const struct reg *base, int64_t offset,
			uint64_t bytes, const char *what)
{
	const struct asm_map *map = map_of(l, base);

	if (!map || (offset >= 0 && (uint64_t)offset + bytes <= map->value_size))
		return true;
	if (!base->exact && base->offset == MAX_OFFSET) {
		finding(l, s->at, RULE_BOUNDS,
			"%s at an offset without limit of a value of '%s', which has %u bytes: "
			"compare the number, or AND it with a mask, before it is added",
			what, map->name, map->value_size);
		return false;
	}
	finding(l, s->at, RULE_BOUNDS,
		"%s of %" PRIu64 " byte%s at offset %s%" PRId64
		" of a value of '%s', which has %u bytes",
		what, bytes, bytes == 1 ? "" : "s", base->exact ? "" : "up to ", offset, map->name,
		map->value_size);
	return false;
}

static bool check_record(struct lint *l, struct state *s, const struct reg *base, int64_t offset,
			 uint64_t bytes, const char *what)
{
	if (offset >= 0 && (uint64_t)offset + bytes <= base->size)
		return true;
	finding(l, s->at, RULE_BOUNDS,
		"%s of %" PRIu64 " byte%s at offset %" PRId64
		" of the %u bytes that were reserved at line %u",
		what, bytes, bytes == 1 ? "" : "s", offset, base->size, line_at(l, base->where));
	return false;
}

static void unchecked(struct lint *l, struct state *s, const struct reg *base, unsigned int number)
{
	finding(l, s->at, RULE_NULL,
		"R%u may be 0 here: it is what %s at line %u returned, and nothing has compared it "
		"with 0 since (JEQ(R%u, 0, ...))",
		number, text_at(l, base->where), line_at(l, base->where), number);
}

bool check_access(struct lint *l, struct state *s, const struct reg *base, unsigned int number,
		  int64_t offset, uint64_t bytes, const char *what)
{
	switch ((enum kind)base->kind) {
	case STACK:
		return !base->known || check_stack(l, s, base->offset + offset, bytes, what);
	case VALUE:
		if (base->trusted)
			caution(l, s->at, RULE_NULL,
				"R%u is not compared with 0 after %s at line %u: that the element "
				"exists is known only to newer kernels, older ones refuse this",
				number, text_at(l, base->where), line_at(l, base->where));
		return !base->known || check_value(l, s, base, base->offset + offset, bytes, what);
	case RECORD:
		return !base->known || check_record(l, s, base, base->offset + offset, bytes, what);
	case VALUE_OR_NULL:
	case RECORD_OR_NULL:
		unchecked(l, s, base, number);
		return false;
	case RELEASED:
		finding(l, s->at, RULE_ADDRESS,
			"R%u points to a ring record that %s at line %u has given back", number,
			text_at(l, base->where), line_at(l, base->where));
		return false;
	case NUMBER:
		finding(l, s->at, RULE_ADDRESS,
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
static bool check_context(struct lint *l, struct state *s, const struct reg *base, int64_t offset,
			  unsigned int bytes, bool writes)
{
	uint32_t type = l->image->program->type;

	if (!has_plain_context(l) || !base->known)
		return true;
	if (offset < 0 || offset % bytes || (type == BPF_PROG_TYPE_TRACEPOINT && offset < 8))
		finding(l, s->at, RULE_BOUNDS, "%u bytes of the context at offset %" PRId64 ": %s",
			bytes, offset,
			offset < 0	 ? "they lie before it"
			: offset % bytes ? "the offset must be a multiple of the size"
					 : "the first 8 bytes of a tracepoint's record are not for "
					   "programs");
	else if (writes && (type == BPF_PROG_TYPE_TRACEPOINT || type == BPF_PROG_TYPE_PERF_EVENT))
		finding(l, s->at, RULE_BOUNDS, "the context is read only");
	else
		return true;
	return false;
}

/* So that the same mistake is not reported at every use. */
static void repair(struct state *s, unsigned int number)
{
	switch (s->regs[number].kind) {
	case NUMBER:
	case RELEASED:
	case VALUE_OR_NULL:
	case RECORD_OR_NULL:
		s->regs[number] = other();
	}
}

/* "byte 12" or "bytes 12-15", counted from the beginning of what is read. */
bool check_written(struct lint *l, struct state *s, int offset, unsigned int bytes, uint32_t rule,
		   const char *what)
{
	int first, n;

	if (!stack_unwritten(s, offset, bytes, &first, &n))
		return true;
	if (bytes == (unsigned int)n)
		finding(l, s->at, rule, "%s at R10%+d (%u bytes) was never written", what, offset,
			bytes);
	else if (n == 1)
		finding(l, s->at, rule, "byte %d of %s at R10%+d was never written (R10%+d)",
			first - offset, what, offset, first);
	else
		finding(l, s->at, rule,
			"bytes %d-%d of %s at R10%+d were never written (R10%+d to R10%+d)",
			first - offset, first - offset + n - 1, what, offset, first, first + n - 1);
	stack_write(s, offset, bytes, false);
	return false;
}

/* The verifier asks this of the stack on every machine. */
static bool check_aligned(struct lint *l, struct state *s, int64_t offset, unsigned int bytes)
{
	if (offset % bytes == 0)
		return true;
	finding(l, s->at, RULE_ALIGNMENT,
		"misaligned: %u bytes of the stack at R10%+" PRId64 ", which is no multiple of %u",
		bytes, offset, bytes);
	return false;
}

/* Base register of an access. False if there is no use in going on with the instruction. */
static bool check_base(struct lint *l, struct state *s, unsigned int number, int offset,
		       unsigned int bytes, const char *what)
{
	const struct reg *base = &s->regs[number];

	if (!read_reg(l, s, number))
		return false;
	if (base->kind == CONTEXT)
		return check_context(l, s, base, base->offset + offset, bytes,
				     BPF_CLASS(l->insns[s->at].code) != BPF_LDX);
	if (!check_access(l, s, base, number, offset, bytes, what)) {
		repair(s, number);
		return false;
	}
	return base->kind != STACK || !base->known ||
	       check_aligned(l, s, base->offset + offset, bytes);
}

/* ---- what a load gives */

/* A packet's addresses are 4 bytes in its context; elsewhere less than 8 bytes are a number. */
static struct reg load_other(const struct lint *l, unsigned int bytes, bool is_signed)
{
	if (bytes < 8 && (has_plain_context(l) || l->image->program->type == BPF_PROG_TYPE_TRACING))
		return number_any(bytes, is_signed);
	return other();
}

static struct reg load_stack(struct lint *l, struct state *s, const struct reg *base, int offset,
			     unsigned int bytes, bool is_signed)
{
	const struct reg *filled;

	if (!base->known)
		return number_unknown();
	offset += (int)base->offset;
	check_written(l, s, offset, bytes, RULE_STACK, "what is read");
	filled = stack_filled(s, offset, bytes);
	if (filled && !is_signed)
		return *filled;
	if (stack_is_random(s, offset, bytes))
		return number_any(bytes, is_signed);
	return bytes == 8 ? other() : number_unknown();
}

static struct reg load_value(const struct lint *l, const struct reg *base, unsigned int bytes,
			     bool is_signed)
{
	const struct asm_map *map = map_of(l, base);

	/* What a program may not write the verifier may read and know. */
	if (!map || map->flags & BPF_F_RDONLY_PROG)
		return bytes < 8 ? number_unknown() : other();
	return number_any(bytes, is_signed);
}

static struct reg loaded(struct lint *l, struct state *s, unsigned int from, int offset,
			 unsigned int bytes, bool is_signed)
{
	const struct reg *base = &s->regs[from];

	switch ((enum kind)base->kind) {
	case STACK:
		return load_stack(l, s, base, offset, bytes, is_signed);
	case VALUE:
		return load_value(l, base, bytes, is_signed);
	case RECORD:
		return number_any(bytes, is_signed);
	case CONTEXT:
		return has_plain_context(l) ? number_any(bytes, is_signed) : other();
	case UNWRITTEN:
	case DESTROYED:
	case NOTHING:
	case NUMBER:
	case RELEASED:
	case FUNCTION:
	case MAP:
	case VALUE_OR_NULL:
	case RECORD_OR_NULL:
	case OTHER:
		break;
	}
	return load_other(l, bytes, is_signed);
}

/* ---- the steps */

void step_load(struct lint *l, struct state *s, const struct bpf_insn *insn)
{
	unsigned int bytes = access_bytes(insn);
	bool is_signed = BPF_MODE(insn->code) == BPF_MEMSX;

	if (check_base(l, s, insn->src_reg, insn->off, bytes, "a load"))
		s->regs[insn->dst_reg] = loaded(l, s, insn->src_reg, insn->off, bytes, is_signed);
	else
		s->regs[insn->dst_reg] = other();
}

/* Of 4 bytes only numbers are remembered, cut to size. */
static void store_stack(struct state *s, int offset, unsigned int bytes, const struct reg *value)
{
	struct reg kept = *value;

	if (bytes < 8 && kept.kind == NUMBER && kept.known &&
	    (kept.can.lo > kept.can.hi || kept.can.hi > UINT32_MAX)) {
		kept.can = arc_alu(BPF_MOV, false, false, kept.can, kept.can, false);
		kept.id = 0;
	}
	if (bytes == 8 || (bytes == 4 && kept.kind == NUMBER && kept.known))
		stack_spill(s, offset, bytes, &kept);
	else
		stack_write(s, offset, bytes, false);
}

/* What is stored has an id, so that it and its copies stay the same thing. */
static void name_number(struct state *s, unsigned int number)
{
	struct reg *reg = &s->regs[number];

	if (reg->kind == NUMBER && reg->known && !reg->id)
		reg->id = state_new_id(s);
}

static void store(struct lint *l, struct state *s, const struct bpf_insn *insn,
		  const struct reg *value)
{
	const struct reg *base = &s->regs[insn->dst_reg];
	unsigned int bytes = access_bytes(insn);

	if (base->kind == OTHER || (base->kind == STACK && !base->known)) {
		stack_forget(s);
	} else if (base->kind == STACK) {
		if (bytes < 8 && is_pointer(value))
			finding(l, s->at, RULE_ADDRESS,
				"invalid size of register spill: R%u holds an address, of which %u "
				"bytes would be kept: STX(DW, ...)",
				insn->src_reg, bytes);
		store_stack(s, (int)base->offset + insn->off, bytes, value);
	}
}

static void step_atomic(struct lint *l, struct state *s, const struct bpf_insn *insn)
{
	const struct reg *base = &s->regs[insn->dst_reg];
	unsigned int bytes = access_bytes(insn);
	struct reg old = number_unknown();

	if (base->kind == CONTEXT) {
		finding(l, s->at, RULE_ADDRESS, "R%u is the context: no atomic operations there",
			insn->dst_reg);
		return;
	}
	if (base->kind == STACK && base->known) {
		check_written(l, s, (int)base->offset + insn->off, bytes, RULE_STACK,
			      "what is changed");
		stack_write(s, (int)base->offset + insn->off, bytes, false);
	} else if (base->kind == VALUE) {
		old = load_value(l, base, bytes, false);
	} else if (base->kind == STACK || base->kind == OTHER) {
		stack_forget(s);
	}
	if (insn->imm == BPF_CMPXCHG)
		s->regs[R0] = old;
	else if (insn->imm & BPF_FETCH)
		s->regs[insn->src_reg] = old;
}

static void step_stx(struct lint *l, struct state *s, const struct bpf_insn *insn)
{
	bool atomic = BPF_MODE(insn->code) == BPF_ATOMIC && insn->imm != BPF_STORE_REL;

	if (!read_reg(l, s, insn->src_reg))
		return;
	if (atomic && insn->imm == BPF_CMPXCHG && !read_reg(l, s, R0))
		return;
	if (!check_base(l, s, insn->dst_reg, insn->off, access_bytes(insn),
			atomic ? "an atomic operation" : "a store"))
		return;
	if (atomic) {
		step_atomic(l, s, insn);
		return;
	}
	name_number(s, insn->src_reg);
	store(l, s, insn, &s->regs[insn->src_reg]);
}

void step_store(struct lint *l, struct state *s, const struct bpf_insn *insn)
{
	struct reg value;

	if (BPF_CLASS(insn->code) == BPF_STX && BPF_MODE(insn->code) == BPF_ATOMIC &&
	    insn->imm == BPF_LOAD_ACQ) {
		step_load(l, s, insn);
	} else if (BPF_CLASS(insn->code) == BPF_STX) {
		step_stx(l, s, insn);
	} else if (check_base(l, s, insn->dst_reg, insn->off, access_bytes(insn), "a store")) {
		value = number_exact((uint64_t)(int64_t)insn->imm);
		store(l, s, insn, &value);
	}
}

/* Classic BPF's loads from a packet: R6 is the context, and they end like calls. */
void step_packet(struct lint *l, struct state *s, const struct bpf_insn *insn)
{
	if (!read_reg(l, s, R6) ||
	    (BPF_MODE(insn->code) == BPF_IND && !read_reg(l, s, insn->src_reg)))
		return;
	s->regs[R0] = number_unknown();
	for (int r = R1; r <= R5; r++)
		s->regs[r] = (struct reg){ .kind = DESTROYED, .where = s->at };
}
