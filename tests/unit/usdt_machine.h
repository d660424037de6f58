/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs the lines that arguments of USDT probes become, on registers and memory that are made up:
 * each byte of memory is a function of its address, each register one of where it is in pt_regs.
 */
#ifndef TESTS_USDT_MACHINE_H
#define TESTS_USDT_MACHINE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rawprof/asm.h>
#include <rawprof/uprobe.h>

enum { USDT_TEXT = 24 };

struct usdt_result {
	uint64_t values[RP_USDT_ARGS];
	uint32_t failed;
	char texts[RP_USDT_ARGS][USDT_TEXT];
};

static bool usdt_no_memory __attribute__((unused));

static inline uint64_t usdt_reg(int at)
{
	return ((uint64_t)at + 3) * 0x9e3779b97f4a7c15;
}

static inline uint8_t usdt_memory(uint64_t address)
{
	return (uint8_t)((address * 0xff51afd7ed558ccd) >> 56);
}

/* A string: up to a byte that happens to be 0, or as far as there is room. */
static inline int usdt_text(uint64_t address, char out[USDT_TEXT])
{
	int n = 0;

	while (n < USDT_TEXT - 1 && usdt_memory(address + (uint64_t)n)) {
		out[n] = (char)usdt_memory(address + (uint64_t)n);
		n++;
	}
	out[n] = '\0';
	return n + 1;
}

static inline void usdt_must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "usdt_machine: %s\n", what);
	abort();
}

/* Where R7 points: at the result; where R6 does: at pt_regs, of 272 bytes. */
#define USDT_RESULT 0x700000000000
#define USDT_REGS 0x600000000000

static inline void *usdt_result_at(struct usdt_result *r, uint64_t address, uint64_t n)
{
	usdt_must(address >= USDT_RESULT && address - USDT_RESULT + n <= sizeof(*r),
		  "outside the result");
	return (char *)r + (address - USDT_RESULT);
}

static inline void usdt_call(int helper, uint64_t reg[11], struct usdt_result *r)
{
	char *to = usdt_result_at(r, reg[1], reg[2]);
	char text[USDT_TEXT];

	memset(to, 0, reg[2]);
	if (usdt_no_memory) {
		reg[0] = (uint64_t)-14;
	} else if (helper == ASM_HELPER_probe_read_user) {
		for (uint64_t i = 0; i < reg[2]; i++)
			to[i] = (char)usdt_memory(reg[3] + i);
		reg[0] = 0;
	} else {
		usdt_must(helper == ASM_HELPER_probe_read_user_str && reg[2] == USDT_TEXT,
			  "a call");
		reg[0] = (uint64_t)usdt_text(reg[3], text);
		memcpy(to, text, USDT_TEXT);
	}
	for (int i = 1; i <= 5; i++)
		reg[i] = 0xdeadbeefdeadbeef;
}

static inline void usdt_load(const struct bpf_insn *i, uint64_t reg[11], struct usdt_result *r)
{
	const uint64_t from = reg[i->src_reg] + (uint64_t)(int64_t)i->off;
	const int size = BPF_SIZE(i->code) == BPF_B   ? 1
			 : BPF_SIZE(i->code) == BPF_H ? 2
			 : BPF_SIZE(i->code) == BPF_W ? 4
						      : 8;
	uint64_t value = 0;

	if (from >= USDT_RESULT) {
		memcpy(&value, usdt_result_at(r, from, (uint64_t)size), (size_t)size);
	} else {
		const uint64_t at = from - USDT_REGS;

		/* as the kernel has it: aligned, and within */
		usdt_must(at + (uint64_t)size <= 272 && !(at % (uint64_t)size), "pt_regs");
		value = usdt_reg((int)(at & ~7ULL)) >> 8 * (at & 7);
		if (size < 8)
			value &= (1ULL << 8 * size) - 1;
	}
	reg[i->dst_reg] = value;
}

static inline void usdt_store(const struct bpf_insn *i, const uint64_t reg[11],
			      struct usdt_result *r)
{
	const uint64_t value =
		BPF_CLASS(i->code) == BPF_ST ? (uint64_t)(int64_t)i->imm : reg[i->src_reg];
	const int size = BPF_SIZE(i->code) == BPF_B ? 1 : BPF_SIZE(i->code) == BPF_W ? 4 : 8;

	usdt_must(BPF_SIZE(i->code) != BPF_H, "a store");
	memcpy(usdt_result_at(r, reg[i->dst_reg] + (uint64_t)(int64_t)i->off, (uint64_t)size),
	       &value, (size_t)size);
}

static inline void usdt_alu(const struct bpf_insn *i, uint64_t reg[11])
{
	const uint64_t v = BPF_SRC(i->code) == BPF_X ? reg[i->src_reg] : (uint64_t)(int64_t)i->imm;
	uint64_t *d = &reg[i->dst_reg];

	switch (BPF_OP(i->code)) {
	case BPF_MOV:
		*d = v;
		break;
	case BPF_ADD:
		*d += v;
		break;
	case BPF_OR:
		*d |= v;
		break;
	case BPF_LSH:
		*d <<= v;
		break;
	case BPF_RSH:
		*d >>= v;
		break;
	case BPF_ARSH:
		*d = (uint64_t)((int64_t)*d >> v);
		break;
	default:
		usdt_must(false, "arithmetic");
	}
	if (BPF_CLASS(i->code) == BPF_ALU)
		*d = (uint32_t)*d;
}

static inline bool usdt_jumps(const struct bpf_insn *i, const uint64_t reg[11])
{
	const uint64_t v = (uint64_t)(int64_t)i->imm;

	switch (BPF_OP(i->code)) {
	case BPF_JA:
		return true;
	case BPF_JEQ:
		return reg[i->dst_reg] == v;
	case BPF_JGE:
		return reg[i->dst_reg] >= v;
	case BPF_JSGT:
		return (int64_t)reg[i->dst_reg] > (int64_t)v;
	default:
		usdt_must(false, "a jump");
		return false;
	}
}

static inline void usdt_execute(const struct bpf_insn *insns, uint32_t n, uint64_t reg[11],
				struct usdt_result *r)
{
	for (uint32_t at = 0;; at++) {
		const struct bpf_insn *i = &insns[at];

		usdt_must(at < n, "beyond the end");
		if (i->code == (BPF_JMP | BPF_EXIT))
			return;
		if (i->code == (BPF_LD | BPF_IMM | BPF_DW)) {
			reg[i->dst_reg] = (uint32_t)i->imm | (uint64_t)(uint32_t)i[1].imm << 32;
			at++;
		} else if (i->code == (BPF_JMP | BPF_CALL)) {
			usdt_call(i->imm, reg, r);
		} else if (BPF_CLASS(i->code) == BPF_LDX) {
			usdt_load(i, reg, r);
		} else if (BPF_CLASS(i->code) == BPF_ST || BPF_CLASS(i->code) == BPF_STX) {
			usdt_store(i, reg, r);
		} else if (BPF_CLASS(i->code) == BPF_JMP) {
			at += usdt_jumps(i, reg) ? (uint32_t)i->off : 0;
		} else {
			usdt_alu(i, reg);
		}
	}
}

/* Compiles, assembles, and runs as place @which, upon what is in *out. */
static inline void usdt_run_reader(const struct rp_usdt_reader *reader, uint32_t which,
				   struct usdt_result *out)
{
	uint64_t reg[11] = { which, 0, 0, 0, 0, 0, USDT_REGS, USDT_RESULT };
	struct rp_usdt_code *code;
	struct asm_image image;

	usdt_must(!rp_usdt_compile(reader, &code), "rp_usdt_compile");
	const struct asm_insn lines[] = { INCLUDE(rp_usdt_part(code)), EXIT() };
	const struct asm_program program = { .name = "usdt", .lines = lines, .nlines = 2 };

	usdt_must(!asm_assemble(&program, NULL, &image, asm_diag_print, NULL), "asm_assemble");
	usdt_execute(image.insns, image.ninsns, reg, out);
	asm_image_free(&image);
	rp_usdt_code_free(code);
}

/* The arguments of @n places. */
static inline void usdt_run(const struct rp_usdt_args *places, uint32_t n, uint32_t which,
			    uint32_t strings, struct usdt_result *out)
{
	const struct rp_usdt_reader reader = { .places = places,
					       .n = n,
					       .nargs = places->n < RP_USDT_ARGS ? places->n
										 : RP_USDT_ARGS,
					       .ctx = R6,
					       .to = R7,
					       .values = offsetof(struct usdt_result, values),
					       .failed = offsetof(struct usdt_result, failed),
					       .texts = offsetof(struct usdt_result, texts),
					       .strings = strings,
					       .text_size = USDT_TEXT };

	memset(out, 0xee, sizeof(*out));
	usdt_run_reader(&reader, which, out);
}

#endif
