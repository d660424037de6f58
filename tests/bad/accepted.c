/* SPDX-License-Identifier: BSD-2-Clause */
/* What the verifier does not check: programs that it accepts, run to show the harm. */
#include "bad.h"

/* Counts to ten, so that most of the time is spent between a load and its store. */
enum { TEN = 10 };
static const struct asm_insn plain_count[] = {
	LD_MAP_VALUE(R1, cell, 0),
	MOV(R3, 0),
	LABEL(next),
	LDX(DW, R2, R1, 0),
	ADD(R2, 1),
	STX(DW, R1, 0, R2),
	ADD(R3, 1),
	JLT(R3, TEN, next),
	MOV(R0, 0),
	EXIT(),
};

/* Two CPUs that both miss, their steps in the worst order, on one CPU. */
#define UPDATE_TINY(flags) MAP_UPDATE(tiny, -8, -16, flags)
static const struct asm_insn both_miss[] = {
	ST(DW, R10, -8, 1),   /* the key */
	ST(DW, R10, -16, 1),  /* the count that a new key begins with */
	MAP_LOOKUP(tiny, -8), /* CPU 0 misses, */
	MAP_LOOKUP(tiny, -8), /* CPU 1 misses, */
	UPDATE_TINY(BPF_ANY), /* CPU 0 writes 1, */
	UPDATE_TINY(BPF_ANY), /* CPU 1 writes 1 over it. */
	MAP_LOOKUP(tiny, -8),
	JEQ(R0, 0, out),
	LDX(DW, R0, R0, 0),
	LABEL(out),
	EXIT(),
};
static const struct asm_insn full_map[] = {
	ST(DW, R10, -8, 2),
	ST(DW, R10, -16, 1),
	UPDATE_TINY(BPF_ANY),
	NEG(R0),
	EXIT(),
};

/* The key's second half is what function before() has left on the stack. */
static const struct asm_insn residue_in_key[] = {
	CALL_FUNC(before),
	CALL_FUNC(after),
	EXIT(),
	FUNC(before),
	MOV(R1, 0x5eed),
	STX(DW, R10, -8, R1),
	MOV(R0, 0),
	EXIT(),
	FUNC(after),
	ST(DW, R10, -24, 1),
	ST(DW, R10, -16, 1),
	MAP_UPDATE(m, -16, -24, BPF_ANY),
	EXIT(),
};
/* Its only round ends at once: R6 is 0. */
static const struct asm_insn published_endless_loop[] = {
	MOV(R6, 0),
	LABEL(again),
	JEQ(R6, 0, out),
	JA(again),
	LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
/* The upper word of the last 8 bytes is missing, the lower is there. */
static const struct asm_insn high_word_missing[] = {
	ST(DW, R10, -16, 1),
	CALL(get_prandom_u32),
	STX(W, R10, -8, R0),
	MAP_LOOKUP(m, -16),
	MOV(R0, 0),
	EXIT(),
};
/* What a tutorial calls to_be and to_le are the codes of each other. */
static const struct asm_insn called_to_be[] = {
	MOV(R0, 0x1234),
	INSN(BPF_ALU | BPF_END | BPF_TO_LE, R0, 0, 0, 16),
	EXIT(),
};
static const struct asm_insn called_to_le[] = {
	MOV(R0, 0x1234),
	INSN(BPF_ALU | BPF_END | BPF_TO_BE, R0, 0, 0, 16),
	EXIT(),
};
/* The immediate -1, extended to 64 bits, keeps every bit. */
static const struct asm_insn mask_of_no_use[] = {
	LD_IMM64(R0, 0x1122334400000000),
	AND(R0, -1),
	RSH(R0, 32),
	EXIT(),
};

static int lost_counts(int prog_fd, const int *map_fds, char *seen)
{
	enum { RUNS = 1000000 };
	const uint64_t all = 2ULL * RUNS * TEN;
	uint64_t counted = all;

	/* On a busy machine the two may not meet: then once more. */
	for (int tries = 0; counted == all && tries < 10; tries++) {
		rp_map_update(map_fds[MAP_CELL], &(uint32_t){ 0 }, &(uint64_t){ 0 }, BPF_ANY);
		if (!bad_run_on_two_cpus(prog_fd, RUNS)) {
			BAD_SAW("only one CPU: nothing can be lost");
			return 1;
		}
		counted = bad_cell(map_fds);
	}
	BAD_SAW("two CPUs count to %llu: %llu counted", (unsigned long long)all,
		(unsigned long long)counted);
	return counted < all ? 0 : -1;
}

static int one_of_two(int prog_fd, const int *map_fds, char *seen)
{
	int64_t count = bad_run(prog_fd);

	(void)map_fds;
	BAD_SAW("two CPUs counted one each: the sum is %ld", (long)count);
	return count == 1 ? 0 : -1;
}

static int nobody_told(int prog_fd, const int *map_fds, char *seen)
{
	const uint64_t key = 1, value = 1;
	int64_t result;

	rp_map_update(map_fds[MAP_TINY], &key, &value, BPF_ANY);
	result = bad_run(prog_fd);
	BAD_SAW("the map is full, the update returned %s", strerror((int)result));
	return result == E2BIG ? 0 : -1;
}

static int key_with_residue(int prog_fd, const int *map_fds, char *seen)
{
	struct {
		uint64_t written, unwritten;
	} key = { 1, 0 };
	uint64_t value;
	bool with_zero, with_residue;

	if (bad_run(prog_fd) != 0)
		BAD_MISS("the update failed");
	with_zero = !rp_map_lookup(map_fds[MAP_M], &key, &value);
	key.unwritten = 0x5eed;
	with_residue = !rp_map_lookup(map_fds[MAP_M], &key, &value);
	rp_map_delete(map_fds[MAP_M], &key);
	BAD_SAW("the key {1, 0} is %sthere, the key {1, 0x5eed} is %sthere",
		with_zero ? "" : "not ", with_residue ? "" : "not ");
	return with_residue && !with_zero ? 0 : -1;
}

static int returns(int prog_fd, int64_t want, char *seen)
{
	int64_t result = bad_run(prog_fd);

	BAD_SAW("it returned %#lx", (long)result);
	return result == want ? 0 : -1;
}
static int returns_0(int prog_fd, const int *map_fds, char *seen)
{
	(void)map_fds;
	return returns(prog_fd, 0, seen);
}
static int host_order(int prog_fd, const int *map_fds, char *seen)
{
	(void)map_fds;
	return returns(prog_fd, 0x1234, seen);
}
static int swapped(int prog_fd, const int *map_fds, char *seen)
{
	(void)map_fds;
	return returns(prog_fd, 0x3412, seen);
}
static int unmasked(int prog_fd, const int *map_fds, char *seen)
{
	(void)map_fds;
	return returns(prog_fd, 0x11223344, seen);
}

const struct bad_case bad_accepted[] = {
	{ "C9", "a counter without an atomic add", BAD_PROGRAM(SOCKET_FILTER, plain_count),
	  .silent = lost_counts },
	{ "C10", "BPF_ANY where two CPUs may both insert", BAD_PROGRAM(SOCKET_FILTER, both_miss),
	  .silent = one_of_two },
	{ "C10b", "the errno of an update is not looked at", BAD_PROGRAM(SOCKET_FILTER, full_map),
	  .silent = nobody_told },
	{ "C11b", "half of a key is never written", BAD_PROGRAM(SOCKET_FILTER, residue_in_key),
	  .silent = key_with_residue,
	  .says = { { EACCES, "invalid indirect read from stack" } },
	  .refused_before = KERNEL(5, 10), .accepted_since = KERNEL(6, 1) },
	{ "U2", "four bytes of a key are never written; CAP_BPF only",
	  BAD_PROGRAM(SOCKET_FILTER, high_word_missing), .unprivileged = true,
	  .silent = returns_0, .accepted_since = KERNEL(6, 18), .refused_before = KERNEL(6, 13),
	  .says = { { EACCES, "invalid indirect read from stack R2 off -16+12 size 16" } } },
	{ "X3", "\"infinite loop\": the published example of it",
	  BAD_PROGRAM(SOCKET_FILTER, published_endless_loop), .silent = returns_0 },
	{ "Y1", "to_be with the code of to_le", BAD_PROGRAM(SOCKET_FILTER, called_to_be),
	  .silent = host_order },
	{ "Y2", "to_le with the code of to_be", BAD_PROGRAM(SOCKET_FILTER, called_to_le),
	  .silent = swapped },
	{ "Y3", "the mask 0xffffffff as an immediate", BAD_PROGRAM(SOCKET_FILTER, mask_of_no_use),
	  .silent = unmasked },
	{ 0 },
};
