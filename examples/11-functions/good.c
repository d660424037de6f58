/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pi by throwing darts: points of a square, both coordinates random numbers of 16 bits; the part of
 * them that lies in the quarter circle is pi / 4. A thousand darts in a loop, and a million with
 * bpf_loop.
 */
#include "../lesson.h"

/* R0 = 1 if a random point lies in the circle, else 0. */
#define FUNC_DART                                                                                \
	FUNC(dart), CALL(get_prandom_u32), MOV_REG(R6, R0), AND(R6, 0xffff), RSH(R0, 16),        \
		AND(R0, 0xffff), MUL_REG(R0, R0), MUL_REG(R6, R6), ADD_REG(R0, R6), RSH(R0, 32), \
		XOR(R0, 1), EXIT()

/* Every round is verified, one after the other. */
static const struct asm_insn by_jumps_lines[] = {
	MOV(R6, 0), /* darts thrown */
	MOV(R7, 0), /* darts in the circle */
	LABEL(next),
	CALL_FUNC(dart),
	ADD_REG(R7, R0),
	ADD(R6, 1),
	JLT(R6, 1000, next),
	MOV_REG(R0, R7),
	EXIT(),

	FUNC_DART,
};
static const struct asm_program by_jumps = {
	.name = "by_jumps",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(by_jumps_lines),
};

/* bpf_loop(rounds, callback, data, 0): the callback is verified once, for any round. */
static const struct asm_insn by_bpf_loop_lines[] = {
	ST(DW, R10, -8, 0), /* darts in the circle */
	MOV(R1, 1000000),
	LD_FUNC(R2, round),
	FRAME_PTR(R3, -8),
	MOV(R4, 0),
	CALL(loop),
	LDX(DW, R0, R10, -8),
	EXIT(),

	FUNC(round), /* R1: the number of the round, R2: the data */
	MOV_REG(R7, R2),
	CALL_FUNC(dart),
	LDX(DW, R1, R7, 0),
	ADD_REG(R1, R0),
	STX(DW, R7, 0, R1),
	MOV(R0, 0), /* go on */
	EXIT(),

	FUNC_DART,
};
static const struct asm_program by_bpf_loop = {
	.name = "by_bpf_loop",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(by_bpf_loop_lines),
};

const struct lesson_program lesson_good[] = {
	{ &by_jumps, NULL, 0, "a thousand darts, in a loop of jumps" },
	{ &by_bpf_loop, NULL, 0, "a million darts, by bpf_loop" },
	{ 0 },
};

static void throw(const struct lesson_program *entry, double darts)
{
	unsigned char packet[64] = { 0 };
	struct rp_test_run run = { .data_in = packet, .data_size_in = sizeof(packet) };
	int fd = lesson_load(entry, NULL);
	struct rp_prog_stats stats;

	must(rp_prog_stats(fd, &stats), "statistics");
	must(rp_prog_test_run(fd, &run), "test run");
	printf("%-12s %8.0f darts: pi is about %.4f; %5u instructions processed, %.1f ns a dart\n",
	       entry->program->name, darts, 4 * run.retval / darts, stats.verified_insns,
	       run.duration_ns / darts);
	close(fd);
}

int main(void)
{
	lesson_begin("A loop of a thousand rounds, a loop of a million: which takes longer to verify?");
	lesson_refused(NULL);
	throw(&lesson_good[0], 1000);
	throw(&lesson_good[1], 1000000);
	return 0;
}
