/* SPDX-License-Identifier: BSD-2-Clause */
/* Our disassembly against the two tools': the verifier's log and bpftool's dump of xlated code. */
#ifndef TESTS_KERNEL_DISASM_TOOLS_H
#define TESTS_KERNEL_DISASM_TOOLS_H

#include <check.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rawprof/asm.h>
#include <rawprof/loader.h>
#include <rawprof/symbolize.h>

#include "quiet.h"

/* ---- the log */

/*
 * A line that shows an instruction: "12: (bf) r6 = r1    ; R1=ctx() ...", in the table of live
 * registers with a column of them before the opcode. Returns its text, which ends at *end, and its
 * slot; NULL for other lines.
 */
static inline const char *logged(const char *line, size_t length, uint32_t *slot, const char **end)
{
	unsigned int number, code;
	char live[16], head[64];
	int at = -1;
	const char *stop = line + length, *state;

	/* sscanf() measures what it is given to its end, which may be megabytes away. */
	snprintf(head, sizeof(head), "%.*s",
		 length < sizeof(head) ? (int)length : (int)sizeof(head) - 1, line);
	if (sscanf(head, "%u: (%2x) %n", &number, &code, &at) != 2 || at < 0) {
		at = -1;
		if (sscanf(head, "%u: %10[.0-9] (%2x) %n", &number, live, &code, &at) != 3 ||
		    at < 0)
			return NULL;
	}
	if ((size_t)at > length)
		return NULL;
	state = memchr(line, ';', length);
	if (state)
		stop = state;
	while (stop > line && stop[-1] == ' ')
		stop--;
	*slot = number;
	*end = stop;
	return memchr(line, '(', length);
}

/* The kernel shows its own addresses there; ours is the descriptor that was handed to it. */
static inline bool holds_address(const struct bpf_insn *insn)
{
	return insn->code == (BPF_LD | BPF_IMM | BPF_DW) &&
	       (insn->src_reg == BPF_PSEUDO_MAP_FD || insn->src_reg == BPF_PSEUDO_MAP_VALUE);
}

/* Every line of the log that shows an instruction. Returns how many slots the log does not show. */
static inline uint32_t compare_with_log(const struct asm_image *image, const char *log)
{
	bool *seen = calloc(image->ninsns, sizeof(*seen));
	uint32_t missing = 0, compared = 0;

	for (const char *line = log; *line;) {
		size_t length = strcspn(line, "\n");
		const char *end, *text;
		char ours[ASM_DISASM_SIZE];
		uint32_t slot;

		text = logged(line, length, &slot, &end);
		line += length + (line[length] == '\n');
		if (!text)
			continue;
		ck_assert_uint_lt(slot, image->ninsns);
		ck_assert_int_gt(
			asm_disasm(NULL, image->insns, image->ninsns, slot, ours, sizeof(ours)), 0);
		if (holds_address(&image->insns[slot]))
			ck_assert_int_eq(strncmp(text, ours, sizeof("(18) r2 = 0x") - 1), 0);
		else
			ck_assert_msg(strlen(ours) == (size_t)(end - text) &&
					      !strncmp(text, ours, (size_t)(end - text)),
				      "slot %u: the log has '%.*s', we '%s'", slot,
				      (int)(end - text), text, ours);
		seen[slot] = true;
		compared++;
	}
	for (uint32_t slot = 0; slot < image->ninsns; slot++)
		missing += image->text_of[slot] && !seen[slot];
	printf("%s: log: %u lines of instructions equal, %u of %u slots not shown\n",
	       image->program->name, compared, missing, image->ninsns);
	free(seen);
	return missing;
}

/* ---- xlated */

struct xlated {
	struct bpf_insn *insns;
	uint32_t n;
	const char *call; /* name in bpftool's line that is being compared */
};

static struct sym_kallsyms *kallsyms; /* of this test, which has a process of its own */
static uint64_t call_base;

static inline void find_call_base(void)
{
	struct sym_ksym base;

	if (kallsyms)
		return;
	ck_assert_int_eq(sym_kallsyms_open(&kallsyms, NULL), 0);
	ck_assert_uint_eq(sym_kallsyms_find(kallsyms, "__bpf_call_base", &base, 1), 1);
	call_base = base.addr;
}

/*
 * Is the name one of those that the kernel has at this address? Most have one; of several any will
 * do.
 */
static inline bool kernel_has(uint64_t address, const char *name)
{
	struct sym_ksym found[64];
	size_t n;

	if (!sym_kallsyms_lookup(kallsyms, address, &found[0]) && found[0].addr == address &&
	    !strcmp(found[0].name, name))
		return true;
	n = sym_kallsyms_find(kallsyms, name, found, 64);
	for (size_t i = 0; i < n && i < 64; i++)
		if (found[i].addr == address)
			return true;
	return false;
}

static inline const char *name_of_call(void *ctx, uint32_t slot)
{
	(void)slot;
	return ((struct xlated *)ctx)->call;
}

static inline bool is_helper(int32_t number, const char *name)
{
	const char *helper = number > 0 ? asm_helper_name((uint32_t)number) : NULL;

	return helper && !strncmp(name, "bpf_", 4) && !strcmp(name + 4, helper);
}

/* Takes the name out of bpftool's "(85) call NAME#NUMBER" once it is known to be right. */
static inline void check_call(struct xlated *x, uint32_t slot, const char *theirs, char name[128])
{
	const struct bpf_insn *insn = &x->insns[slot];
	const char *hash = strchr(theirs, '#');

	ck_assert_ptr_nonnull(hash);
	if (insn->src_reg == BPF_PSEUDO_CALL) {
		ck_assert_int_eq(sscanf(hash, "#%127s", name), 1);
		ck_assert_int_eq(strncmp(name, "bpf_prog_", 9), 0);
	} else {
		ck_assert_int_eq(sscanf(theirs, "(85) call %127[^#]", name), 1);
		/* What the JIT compiler writes out itself keeps the helper's number. */
		ck_assert_msg(is_helper(insn->imm, name) ||
				      kernel_has(call_base + (uint64_t)(int64_t)insn->imm, name),
			      "no %s at __bpf_call_base%+d", name, insn->imm);
	}
	x->call = name;
}

/* What a bpftool older than Linux 6.6 prints wrongly: it has never heard of ISA v4. */
static inline bool is_v4(const struct bpf_insn *insn)
{
	uint8_t class = BPF_CLASS(insn->code), op = BPF_OP(insn->code);

	switch (class) {
	case BPF_LDX:
		return BPF_MODE(insn->code) == BPF_MEMSX;
	case BPF_STX:
		return BPF_MODE(insn->code) == BPF_ATOMIC &&
		       (insn->imm == BPF_LOAD_ACQ || insn->imm == BPF_STORE_REL);
	case BPF_ALU:
	case BPF_ALU64:
		return insn->off || (class == BPF_ALU64 && op == BPF_END);
	case BPF_JMP32:
		return op == BPF_JA;
	case BPF_JMP:
		return op == 0xe0;
	}
	return false;
}

static inline bool have_bpftool(const char *test)
{
	if (!system("bpftool version >/dev/null 2>&1"))
		return true;
	printf("skip %s (bpftool is not installed)\n", test);
	return false;
}

/* Every instruction of a loaded program. Returns how many are of ISA v4 and differ. */
static inline uint32_t compare_with_bpftool(int prog_fd)
{
	struct xlated x = { 0 };
	const struct asm_disasm_options options = { .dialect = ASM_DIALECT_XLATED,
						    .ctx = &x,
						    .call = name_of_call };
	struct rp_prog_stats stats;
	char command[64], line[512], ours[ASM_DISASM_SIZE];
	uint32_t compared = 0, old = 0, next = 0;
	FILE *bpftool;

	find_call_base();
	ck_assert_int_eq(rp_prog_stats(prog_fd, &stats), 0);
	ck_assert_int_eq(rp_prog_xlated(prog_fd, &x.insns, &x.n), 0);
	snprintf(command, sizeof(command), "bpftool prog dump xlated id %u 2>/dev/null", stats.id);
	bpftool = popen(command, "r");
	ck_assert_ptr_nonnull(bpftool);
	while (fgets(line, sizeof(line), bpftool)) {
		char name[128], *theirs = strchr(line, ':');
		uint32_t slot;
		int slots;

		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, " %u:", &slot) != 1 || !theirs)
			continue; /* a function's name, a line of the source */
		theirs += 2;
		ck_assert_uint_eq(slot, next);
		if (x.insns[slot].code == (BPF_JMP | BPF_CALL))
			check_call(&x, slot, theirs, name);
		slots = asm_disasm(&options, x.insns, x.n, slot, ours, sizeof(ours));
		ck_assert_int_gt(slots, 0);
		next = slot + (uint32_t)slots;
		if (is_v4(&x.insns[slot]) && strcmp(ours, theirs)) {
			old++;
			continue;
		}
		ck_assert_msg(!strcmp(ours, theirs), "slot %u: bpftool has '%s', we '%s'", slot,
			      theirs, ours);
		compared++;
	}
	ck_assert_int_eq(pclose(bpftool), 0);
	ck_assert_uint_eq(next, x.n);
	printf("%s: xlated: %u instructions equal, %u unknown to this bpftool\n", stats.name,
	       compared, old);
	free(x.insns);
	return old;
}

#endif
