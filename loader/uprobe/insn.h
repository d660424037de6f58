/* SPDX-License-Identifier: BSD-2-Clause */
/* As much of machine instructions as it takes to choose one for a probe. */
#ifndef LOADER_INSN_H
#define LOADER_INSN_H

#include <rawprof/uprobe.h>

#include "base/flow.h"

/* What it must not change if a probe behind it shall see what one before it would: bit i is the
 * i-th integer argument. */
enum {
	INSN_ARGS = 8, /* at most; x86-64 has 6 */
	/* memory, a register that callers keep, the stack by an unknown amount; or it may fault */
	INSN_OTHER = 1U << 15,
};

struct insn {
	uint8_t len; /* in bytes, never 0 */
	bool is_call;
	bool is_nop; /* of the forms that new kernels of x86-64 emulate, which old ones step */
	enum insn_flow flow;
	int64_t target; /* of a branch, jump or direct call, from the instruction's start; else 0 */
	enum rp_step step;
	uint16_t changes; /* INSN_OTHER, arguments */
	uint32_t grows;	  /* bytes that the stack grows by */
	const char *name; /* for messages: its kind, not quite its mnemonic */
};

/*
 * Decodes the instruction at @code, of which @n bytes may be read. False if it is not known for
 * certain how long it is, or that is more than @n; *out is untouched then.
 */
bool rp_insn_x86_decode(const uint8_t *code, size_t n, struct insn *out);
bool rp_insn_x86_is_mistaken(const uint8_t *code, size_t n);
bool rp_insn_arm64_decode(const uint8_t *code, size_t n, struct insn *out);

/* One architecture. */
struct insn_arch {
	uint16_t machine; /* EM_* */
	uint8_t align;	  /* of instructions */
	uint8_t longest;  /* in bytes */
	uint8_t nargs;	  /* integer arguments in registers */
	bool (*decode)(const uint8_t *code, size_t n, struct insn *out);
	/* The kernel takes it for another one, and does that one's work in its place. NULL: it
	 * takes none so. */
	bool (*is_mistaken)(const uint8_t *code, size_t n);
};

/* NULL: not one of ours. */
const struct insn_arch *rp_insn_arch(uint16_t machine);

#endif
