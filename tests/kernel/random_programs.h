/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs made at random, but not blindly: most lines are such as a person writes, so that the
 * verifier takes a good part of the programs and has many different things to say of the others.
 */
#ifndef TESTS_KERNEL_RANDOM_PROGRAMS_H
#define TESTS_KERNEL_RANDOM_PROGRAMS_H

#include <linux/bpf.h>
#include <stdbool.h>

#include <rawprof/asm.h>

#define MAX_LINES 160

static uint64_t random_state = 1;

static inline uint32_t below(uint32_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 32) % n;
}

static inline bool chance(uint32_t percent)
{
	return below(100) < percent;
}

struct maker {
	struct asm_insn lines[MAX_LINES];
	char texts[MAX_LINES][ASM_DISASM_SIZE];
	uint32_t n;
};

static inline void add_line(struct maker *m, uint8_t kind, struct bpf_insn insn, const char *sym)
{
	if (m->n == MAX_LINES)
		return;
	m->lines[m->n] = (struct asm_insn){
		.kind = kind, .insn = insn, .sym = sym, .line = m->n + 1, .text = m->texts[m->n]
	};
	asm_disasm(NULL, &insn, 1, 0, m->texts[m->n], sizeof(m->texts[m->n]));
	m->n++;
}

static inline void add(struct maker *m, uint8_t code, int dst, int src, int off, int32_t imm)
{
	add_line(m, ASM_INSN,
		 (struct bpf_insn){ .code = code,
				    .dst_reg = (uint8_t)dst & 15,
				    .src_reg = (uint8_t)src & 15,
				    .off = (int16_t)off,
				    .imm = imm },
		 NULL);
}

static inline void load_map(struct maker *m, int dst, const char *map)
{
	add_line(m, ASM_LD_MAP,
		 (struct bpf_insn){ .code = BPF_LD | BPF_IMM | BPF_DW,
				    .dst_reg = (uint8_t)dst & 15,
				    .src_reg = BPF_PSEUDO_MAP_FD },
		 map);
}

static inline int32_t some_number(void)
{
	static const int32_t numbers[] = {
		0,   1,	  2,	 3,	4,	7,	    8,
		9,   15,  16,	 31,	32,	63,	    64,
		100, 255, 256,	 511,	4095,	4096,	    -1,
		-2,  -8,  -4095, -4096, 0xffff, 0x7fffffff, -2147483647 - 1
	};

	return numbers[below(sizeof(numbers) / sizeof(numbers[0]))];
}

/* Mostly a register that a sensible program would use. */
static inline int some_reg(void)
{
	return chance(70) ? BPF_REG_6 + (int)below(4) : (int)below(11);
}

static inline int some_dst(void)
{
	return chance(70) ? BPF_REG_6 + (int)below(4) : (int)below(10);
}

static inline int some_slot(void)
{
	return -8 * (1 + (int)below(4));
}

static inline void add_arithmetic(struct maker *m)
{
	static const uint8_t ops[] = { BPF_ADD,	 BPF_SUB, BPF_MUL, BPF_DIV, BPF_OR,
				       BPF_AND,	 BPF_LSH, BPF_RSH, BPF_MOD, BPF_XOR,
				       BPF_ARSH, BPF_ADD, BPF_AND, BPF_RSH };
	uint8_t op = ops[below(sizeof(ops))];
	uint8_t class = chance(75) ? BPF_ALU64 : BPF_ALU;
	int32_t imm = some_number();

	if (chance(5)) {
		add(m, class | BPF_NEG, some_dst(), 0, 0, 0);
	} else if (chance(8)) {
		add(m, class | BPF_MOV | BPF_X, some_dst(), some_reg(), chance(50) ? 8 : 16, 0);
	} else if (chance(5)) {
		add(m, BPF_ALU | BPF_END | (chance(50) ? BPF_TO_BE : BPF_TO_LE), some_dst(), 0, 0,
		    16 << below(3));
	} else if (chance(40)) {
		int off = (op == BPF_DIV || op == BPF_MOD) && chance(30);

		add(m, class | op | BPF_X, some_dst(), some_reg(), off, 0);
	} else {
		if (op == BPF_LSH || op == BPF_RSH || op == BPF_ARSH)
			imm = (int32_t)below(32);
		if ((op == BPF_DIV || op == BPF_MOD) && !imm)
			imm = 3;
		add(m, class | op | BPF_K, some_dst(), 0, 0, imm);
	}
}

static inline void add_move(struct maker *m)
{
	if (chance(40))
		add(m, BPF_ALU64 | BPF_MOV | BPF_K, some_dst(), 0, 0, some_number());
	else
		add(m, (chance(80) ? BPF_ALU64 : BPF_ALU) | BPF_MOV | BPF_X, some_dst(), some_reg(),
		    0, 0);
}

static inline void add_memory(struct maker *m)
{
	static const uint8_t sizes[] = { BPF_B, BPF_H, BPF_W, BPF_DW, BPF_DW, BPF_W };
	uint8_t size = sizes[below(sizeof(sizes))];
	int base = chance(60) ? BPF_REG_10 : some_reg();
	int off = base == BPF_REG_10 ? some_slot() + (chance(20) ? 4 : 0) : (int)below(10) * 4;

	switch (below(5)) {
	case 0:
		add(m, BPF_ST | BPF_MEM | size, base, 0, off, some_number());
		break;
	case 1:
	case 2:
		add(m, BPF_STX | BPF_MEM | size, base, some_reg(), off, 0);
		break;
	case 3:
		if (size != BPF_DW && chance(30))
			add(m, BPF_LDX | BPF_MEMSX | size, some_dst(), base, off, 0);
		else
			add(m, BPF_LDX | BPF_MEM | size, some_dst(), base, off, 0);
		break;
	default:
		if (chance(30))
			add(m, BPF_STX | BPF_ATOMIC | (chance(50) ? BPF_W : BPF_DW), base,
			    some_dst(), off, chance(50) ? BPF_ADD : BPF_ADD | BPF_FETCH);
		else
			add(m, BPF_LDX | BPF_MEM | BPF_DW, some_dst(), base, off, 0);
	}
}

/* The distance is put right when the program is complete. */
static inline void add_jump(struct maker *m)
{
	static const uint8_t ops[] = { BPF_JEQ,	 BPF_JNE,  BPF_JGT,  BPF_JGE,  BPF_JLT,	 BPF_JLE,
				       BPF_JSGT, BPF_JSGE, BPF_JSLT, BPF_JSLE, BPF_JSET, BPF_JEQ };
	uint8_t op = ops[below(sizeof(ops))], class = chance(75) ? BPF_JMP : BPF_JMP32;

	if (chance(25))
		add(m, class | op | BPF_X, some_reg(), some_reg(), 1 + (int)below(6), 0);
	else
		add(m, class | op | BPF_K, chance(30) ? (int)BPF_REG_0 : some_reg(), 0,
		    1 + (int)below(6), chance(40) ? 0 : some_number());
}

static inline void call(struct maker *m, int32_t helper)
{
	add(m, BPF_JMP | BPF_CALL, 0, 0, 0, helper);
	if (chance(60))
		add(m, BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_6 + (int)below(4), BPF_REG_0, 0, 0);
}

static inline void stack_address(struct maker *m, int dst)
{
	add(m, BPF_ALU64 | BPF_MOV | BPF_X, dst, BPF_REG_10, 0, 0);
	add(m, BPF_ALU64 | BPF_ADD | BPF_K, dst, 0, 0, some_slot());
}

static inline void add_map_call(struct maker *m)
{
	static const int32_t helpers[] = { BPF_FUNC_map_lookup_elem, BPF_FUNC_map_lookup_elem,
					   BPF_FUNC_map_lookup_elem, BPF_FUNC_map_update_elem,
					   BPF_FUNC_map_delete_elem };
	int32_t helper = helpers[below(sizeof(helpers) / sizeof(helpers[0]))];

	if (chance(80))
		add(m, BPF_ST | BPF_MEM | BPF_DW, BPF_REG_10, 0, some_slot(), (int32_t)below(3));
	load_map(m, BPF_REG_1, chance(50) ? "hash" : "array");
	stack_address(m, BPF_REG_2);
	if (helper == BPF_FUNC_map_update_elem) {
		stack_address(m, BPF_REG_3);
		add(m, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_4, 0, 0, (int32_t)below(3));
	}
	call(m, helper);
	if (helper == BPF_FUNC_map_lookup_elem && chance(80))
		add(m, BPF_JMP | BPF_JEQ | BPF_K, chance(80) ? (int)BPF_REG_0 : some_reg(), 0,
		    1 + (int)below(5), 0);
}

static inline void add_ring_call(struct maker *m)
{
	load_map(m, BPF_REG_1, "ring");
	add(m, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_2, 0, 0, 8 + 8 * (int32_t)below(3));
	add(m, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_3, 0, 0, 0);
	call(m, BPF_FUNC_ringbuf_reserve);
	add(m, BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, chance(80) ? 5 : 3, 0);
	add(m, BPF_STX | BPF_MEM | BPF_DW, BPF_REG_0, BPF_REG_10, (int)below(3) * 8, 0);
	add(m, BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_1, BPF_REG_0, 0, 0);
	add(m, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_2, 0, 0, 0);
	if (chance(85))
		add(m, BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_ringbuf_submit);
}

static inline void add_bytes_call(struct maker *m)
{
	stack_address(m, BPF_REG_1);
	if (chance(70))
		add(m, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_2, 0, 0, 1 + (int32_t)below(24));
	else
		add(m, BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_2, some_reg(), 0, 0);
	if (chance(50)) {
		call(m, BPF_FUNC_get_current_comm);
		return;
	}
	add(m, BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_3, some_reg(), 0, 0);
	call(m, chance(50) ? BPF_FUNC_probe_read_kernel : BPF_FUNC_probe_read_kernel_str);
}

static inline void add_number_call(struct maker *m)
{
	static const int32_t helpers[] = { BPF_FUNC_ktime_get_ns, BPF_FUNC_get_current_pid_tgid,
					   BPF_FUNC_get_smp_processor_id, BPF_FUNC_get_prandom_u32,
					   BPF_FUNC_get_current_task };

	call(m, helpers[below(sizeof(helpers) / sizeof(helpers[0]))]);
}

static inline void add_context(struct maker *m)
{
	add(m, BPF_LDX | BPF_MEM | BPF_DW, some_dst(), chance(70) ? (int)BPF_REG_1 : some_reg(),
	    8 * (int)below(21), 0);
}

static inline void add_something(struct maker *m)
{
	uint32_t dice = below(100);

	if (dice < 25)
		add_arithmetic(m);
	else if (dice < 40)
		add_move(m);
	else if (dice < 60)
		add_memory(m);
	else if (dice < 78)
		add_jump(m);
	else if (dice < 86)
		add_map_call(m);
	else if (dice < 92)
		add_number_call(m);
	else if (dice < 95)
		add_bytes_call(m);
	else if (dice < 97)
		add_ring_call(m);
	else
		add_context(m);
}

/* ---- whole programs */

/* Counts a register up to a limit; the jump goes back by so many lines. */
static inline void add_loop(struct maker *m)
{
	int counter = some_dst();
	uint32_t begin = m->n + 1;

	add(m, BPF_ALU64 | BPF_MOV | BPF_K, counter, 0, 0, 0);
	for (uint32_t i = below(4); i; i--)
		add_something(m);
	add(m, BPF_ALU64 | BPF_ADD | BPF_K, counter, 0, 0, 1);
	add(m, BPF_JMP | (chance(50) ? BPF_JLT : BPF_JNE) | BPF_K, counter, 0,
	    (int)begin - (int)m->n, 1 + (int32_t)below(12));
}

static inline uint32_t slots_of(const struct maker *m, uint32_t begin, uint32_t end)
{
	uint32_t slots = 0;

	for (uint32_t i = begin; i < end; i++)
		slots += m->lines[i].kind == ASM_FUNC ? 0 : m->lines[i].kind == ASM_LD_MAP ? 2 : 1;
	return slots;
}

/* Distances in lines become distances in slots. No jump leads out of the lines. */
static inline void repair_jumps(struct maker *m, uint32_t begin, uint32_t end)
{
	for (uint32_t i = begin; i < end; i++) {
		struct bpf_insn *insn = &m->lines[i].insn;
		uint8_t class = BPF_CLASS(insn->code);
		uint32_t target;

		if (m->lines[i].kind != ASM_INSN || (class != BPF_JMP && class != BPF_JMP32) ||
		    BPF_OP(insn->code) == BPF_CALL || BPF_OP(insn->code) == BPF_EXIT)
			continue;
		if (insn->off < 0) {
			target = (uint32_t)((int)i + insn->off);
			insn->off = (int16_t) - (int)slots_of(m, target, i + 1);
		} else {
			target = i + 1 + (uint32_t)insn->off;
			target = target < end - 1 ? target : end - 1;
			insn->off = (int16_t)slots_of(m, i + 1, target);
		}
		asm_disasm(NULL, insn, 1, 0, m->texts[i], sizeof(m->texts[i]));
	}
}

/* Lines that end: lines before are not cut when there is no more room. */
static inline void add_end(struct maker *m)
{
	if (m->n > MAX_LINES - 2)
		m->n = MAX_LINES - 2;
	if (chance(95))
		add(m, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0);
	add(m, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

static inline void add_function(struct maker *m)
{
	uint32_t begin = m->n;

	add_line(m, ASM_FUNC, (struct bpf_insn){ 0 }, "function");
	for (int r = BPF_REG_6; r <= BPF_REG_9; r++)
		if (chance(80))
			add(m, BPF_ALU64 | BPF_MOV | BPF_K, r, 0, 0, some_number());
	for (uint32_t i = 1 + below(6); i; i--)
		add_something(m);
	add_end(m);
	repair_jumps(m, begin + 1, m->n);
}

static inline void make_random(struct maker *m)
{
	uint32_t lines = 3 + below(28);
	bool function = chance(15);

	m->n = 0;
	if (chance(90)) {
		add(m, BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_6, BPF_REG_1, 0, 0);
		add(m, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_7, 0, 0, some_number());
		call(m, BPF_FUNC_get_prandom_u32);
		add(m, BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_8, BPF_REG_0, 0, 0);
		add(m, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_9, 0, 0, some_number());
	}
	for (int slot = -8; slot >= -32; slot -= 8)
		if (chance(80))
			add(m, BPF_ST | BPF_MEM | BPF_DW, BPF_REG_10, 0, slot, (int32_t)below(3));
	if (function) {
		stack_address(m, BPF_REG_1);
		add_line(
			m, ASM_CALL_FUNC,
			(struct bpf_insn){ .code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_CALL },
			"function");
	}
	while (m->n < lines)
		if (chance(6))
			add_loop(m);
		else
			add_something(m);
	if (m->n > MAX_LINES / 2)
		m->n = MAX_LINES / 2;
	add_end(m);
	repair_jumps(m, 0, m->n);
	if (function)
		add_function(m);
}

#endif
