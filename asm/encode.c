/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Second pass: writes the instructions. Every line knows its slot, so each label, map, parameter
 * and kernel member becomes a number; a number that does not fit its field is an error, never cut.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "internal.h"

struct encoder {
	struct assembly *a;
	uint32_t index; /* of the line */
	const struct asm_insn *line;
	const struct placed *placed;
	struct bpf_insn *out; /* its first slot */
};

static void write_imm64(struct encoder *e, uint32_t low, uint32_t high)
{
	e->out[0] = e->line->insn;
	e->out[0].code = BPF_LD | BPF_IMM | BPF_DW;
	e->out[0].imm = (int32_t)low;
	e->out[1] = (struct bpf_insn){ .imm = (int32_t)high };
}

static void jump_to_label(struct encoder *e)
{
	struct label *label = asm_find_label(e->a, e->index, e->line->sym);
	bool always = BPF_OP(e->line->insn.code) == BPF_JA;
	int64_t distance;

	if (!label) {
		asm_unknown_label(e->a, e->index);
		return;
	}
	label->used = true;
	distance = (int64_t)label->slot - e->placed->slot - 1;
	if (always &&
	    (BPF_CLASS(e->line->insn.code) == BPF_JMP32 || distance != (int16_t)distance)) {
		e->out->code = BPF_JMP32 | BPF_JA;
		e->out->imm = (int32_t)distance;
	} else if (distance == (int16_t)distance) {
		e->out->off = (int16_t)distance;
	} else {
		asm_fault(e->a, -EINVAL, e->index,
			  "label '%s' is %" PRId64
			  " instructions away, a conditional jump reaches 32767: turn the "
			  "condition round and JA, which has 32 bits",
			  label->name, distance);
	}
}

static void jump_on_param(struct encoder *e)
{
	int64_t value = e->placed->param;

	if (value != (int32_t)value)
		asm_fault(e->a, -EINVAL, e->index,
			  e->line->param_signed
				  ? "the parameter's value %" PRId64 " does not fit the immediate: "
				    "use LD_PARAM and the _REG form of the jump"
				  : "the parameter's value %" PRIu64 " does not fit the immediate: "
				    "use LD_PARAM and the _REG form of the jump",
			  value);
	*e->out = e->line->insn;
	e->out->imm = (int32_t)value;
	jump_to_label(e);
}

static void reach_func(struct encoder *e)
{
	const struct func *func = asm_find_func(e->a, e->line->sym);
	int32_t distance;

	if (!func) {
		asm_fault(e->a, -EINVAL, e->index,
			  asm_is_dropped(e->a, ASM_FUNC, e->line->sym)
				  ? "function '%s' is among the lines that WHEN or UNLESS dropped"
				  : "unknown function '%s'",
			  e->line->sym);
		return;
	}
	distance = (int32_t)func->slot - (int32_t)e->placed->slot - 1;
	if (e->line->kind == ASM_LD_FUNC)
		write_imm64(e, (uint32_t)distance, 0);
	else
		e->out->imm = distance;
}

static void load_map(struct encoder *e)
{
	const struct asm_bindings *b = e->a->bindings;
	int map = asm_find_map(e->a, e->line->sym);
	const int64_t offset = e->line->kind == ASM_LD_MAP_VALUE ? e->line->insn.imm : 0;

	if (map < 0) {
		asm_fault(e->a, -EINVAL, e->index, "unknown map '%s'", e->line->sym);
		return;
	}
	if (e->line->kind == ASM_LD_MAP_VALUE) {
		if (b->maps[map].max_entries != 1 || b->maps[map].type != BPF_MAP_TYPE_ARRAY)
			asm_fault(e->a, -EINVAL, e->index,
				  "only the value of an array map of one element has a constant "
				  "address");
		if (offset < 0 || offset >= b->maps[map].value_size)
			asm_fault(e->a, -EINVAL, e->index,
				  "byte %" PRId64 " of a value of %u bytes", offset,
				  b->maps[map].value_size);
	}
	write_imm64(e, (uint32_t)(b->map_fds ? b->map_fds[map] : map), (uint32_t)offset);
}

static void load_param(struct encoder *e)
{
	uint64_t value = (uint64_t)e->placed->param;

	if (e->placed->nslots == 2) {
		write_imm64(e, (uint32_t)value, (uint32_t)(value >> 32));
		return;
	}
	*e->out = e->line->insn;
	e->out->imm = (int32_t)value;
}

/* The BPF_SIZE() of a load of so many bytes, or -1. */
static int size_code(uint32_t bytes)
{
	switch (bytes) {
	case 1:
		return BPF_B;
	case 2:
		return BPF_H;
	case 4:
		return BPF_W;
	case 8:
		return BPF_DW;
	}
	return -1;
}

/* dst holds a number of so many bytes, extended with zeros: extend it with its sign. Two shifts,
 * since LDXS is there only since Linux 6.6. */
static void extend_sign(struct encoder *e, struct bpf_insn *out, uint32_t bytes)
{
	const struct bpf_insn left = { .code = BPF_ALU64 | BPF_LSH | BPF_K,
				       .dst_reg = e->line->insn.dst_reg,
				       .imm = 64 - 8 * (int32_t)bytes };

	out[0] = out[1] = left;
	out[1].code = BPF_ALU64 | BPF_ARSH | BPF_K;
}

/* One load for each hop; all but the first go through what the one before it fetched. */
static void load_through(struct encoder *e)
{
	const struct asm_access *access = &e->placed->access;

	if (extends_sign(access))
		extend_sign(e, e->out + access->nhops, access->hop[access->nhops - 1].size);
	for (uint32_t i = 0; i < access->nhops; i++) {
		const struct asm_hop *hop = &access->hop[i];
		int size = size_code(hop->size);

		if (size < 0) {
			asm_fault(e->a, -EINVAL, e->index,
				  "%u bytes, not a number: take its address with ADD_FIELD_OFFSET",
				  hop->size);
			return;
		}
		if (hop->offset > INT16_MAX) {
			asm_fault(e->a, -EINVAL, e->index,
				  "lies %u bytes into the type, a load reaches 32767: take its "
				  "address with ADD_FIELD_OFFSET",
				  hop->offset);
			return;
		}
		e->out[i] = e->line->insn;
		e->out[i].code = (uint8_t)(BPF_LDX | BPF_MEM | size);
		e->out[i].off = (int16_t)hop->offset;
		if (i)
			e->out[i].src_reg = e->line->insn.dst_reg;
	}
}

static void field_number(struct encoder *e)
{
	const struct asm_access *access = &e->placed->access;
	const struct asm_hop *last = &access->hop[access->nhops - 1];

	if (e->line->kind == ASM_FIELD_OFFSET && access->nhops > 1)
		asm_fault(e->a, -EINVAL, e->index,
			  "lies behind a pointer: read the pointer first, then its member");
	e->out->imm = (int32_t)(e->line->kind == ASM_FIELD_SIZE ? last->size : last->offset);
}

static void load_machine_reg(struct encoder *e)
{
	const struct asm_arch *arch = e->a->bindings->arch ? e->a->bindings->arch : asm_arch_host();

	if (!arch || e->line->value >= ASM_REG_COUNT || arch->reg[e->line->value] < 0)
		asm_fault(e->a, -EINVAL, e->index, "%s has no such register in its pt_regs",
			  arch ? arch->name : "this architecture");
	else
		e->out->off = arch->reg[e->line->value];
}

static void store_zeros(struct encoder *e)
{
	int off = e->line->insn.off, left = (int)e->line->value;

	for (int i = 0, size; left > 0; i++, off += size, left -= size) {
		size = asm_zero_size(off, left);
		e->out[i] = (struct bpf_insn){ .code = (uint8_t)(BPF_ST | BPF_MEM |
								 size_code((uint32_t)size)),
					       .dst_reg = BPF_REG_10,
					       .off = (int16_t)off };
	}
}

static void encode_line(struct encoder *e)
{
	if (e->placed->nslots == 1)
		*e->out = e->line->insn;

	switch ((enum asm_kind)e->line->kind) {
	case ASM_JUMP:
		jump_to_label(e);
		break;
	case ASM_JUMP_PARAM:
		jump_on_param(e);
		break;
	case ASM_CALL_FUNC:
	case ASM_LD_FUNC:
		reach_func(e);
		break;
	case ASM_CALL_KFUNC:
		e->out->imm = (int32_t)e->placed->param;
		break;
	case ASM_LD_IMM64:
		write_imm64(e, (uint32_t)e->line->value, (uint32_t)(e->line->value >> 32));
		break;
	case ASM_LD_MAP:
	case ASM_LD_MAP_VALUE:
		load_map(e);
		break;
	case ASM_LD_PARAM:
		load_param(e);
		break;
	case ASM_LD_FIELD:
	case ASM_LD_TP:
		load_through(e);
		break;
	case ASM_FIELD_OFFSET:
	case ASM_FIELD_SIZE:
		field_number(e);
		break;
	case ASM_LD_REG:
		load_machine_reg(e);
		break;
	case ASM_ZERO:
		store_zeros(e);
		break;
	case ASM_INSN:
	case ASM_LABEL:
	case ASM_FUNC:
	case ASM_SCOPE:
	case ASM_WHEN:
	case ASM_UNLESS:
	case ASM_END:
	case ASM_INCLUDE:
		break;
	}
}

void asm_encode(struct assembly *a, struct asm_image *image)
{
	for (uint32_t i = 0; i < a->program->nlines; i++) {
		struct encoder e = { .a = a,
				     .index = i,
				     .line = &a->program->lines[i],
				     .placed = &a->placed[i],
				     .out = image->insns + a->placed[i].slot };

		if (!e.placed->dropped && e.placed->nslots)
			encode_line(&e);
	}
	asm_check_unused_labels(a);
}
