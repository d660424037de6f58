/* SPDX-License-Identifier: BSD-2-Clause */
/* Walking and not walking: when does the verifier know that it has been here before? */
#include "../lesson.h"

static const struct asm_map maps[] = {
	{ "number", BPF_MAP_TYPE_ARRAY, 4, 8, 1 },
	{ "places", BPF_MAP_TYPE_ARRAY, 4, 4096, 1 },
};

/* A question: if the bit is set in R1, add it to R0. */
#define ASK(bit) SCOPE("ASK(" #bit ")"), MOV_REG(R2, R1), AND(R2, bit), \
		 JEQ(R2, 0, .no), ADD(R0, bit), LABEL(.no), END
#define TEN_QUESTIONS \
	ASK(1), ASK(2), ASK(4), ASK(8), ASK(16), ASK(32), ASK(64), ASK(128), ASK(256), ASK(512)
#define BEGIN LD_MAP_VALUE(R1, number, 0), LDX(DW, R1, R1, 0), MOV(R0, 0)

/* Lesson 6: each way out of the loop comes to the same place with another number in R0. */
static const struct asm_insn by_loop_lines[] = {
	BEGIN,
	LABEL(next),
	JLE(R1, 1, out),
	RSH(R1, 1),
	ADD(R0, 1),
	JLT(R0, 63, next),
	LABEL(out),
	EXIT(),
};
static const struct asm_program by_loop = {
	.name = "by_loop",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(by_loop_lines),
};

/* The same loop. What is behind it depends on the number. */
static const struct asm_insn as_index_lines[] = {
	BEGIN,
	LABEL(next),
	JLE(R1, 1, out),
	RSH(R1, 1),
	ADD(R0, 1),
	JLT(R0, 63, next),
	LABEL(out),
	LD_MAP_VALUE(R2, places, 0),
	ADD_REG(R2, R0),
	LDX(B, R0, R2, 0),
	EXIT(),
};
static const struct asm_program as_index = {
	.name = "as_index",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(as_index_lines),
};

/* Ten questions, 1024 ways through them, and nothing depends on the sum. */
static const struct asm_insn questions_lines[] = {
	BEGIN,
	TEN_QUESTIONS,
	EXIT(),
};
static const struct asm_program questions = {
	.name = "questions",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(questions_lines),
};

/* The sum is an index: each of the 1024 is another, and has to be looked at. */
static const struct asm_insn exact_sum_lines[] = {
	BEGIN,
	TEN_QUESTIONS,
	LD_MAP_VALUE(R2, places, 0),
	ADD_REG(R2, R0),
	LDX(B, R0, R2, 0),
	EXIT(),
};
static const struct asm_program exact_sum = {
	.name = "exact_sum",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(exact_sum_lines),
};

/* The sum goes through memory. Of what comes back only the mask is known, the same on all ways. */
static const struct asm_insn forgotten_lines[] = {
	BEGIN,
	TEN_QUESTIONS,
	LD_MAP_VALUE(R2, number, 0),
	STX(DW, R2, 0, R0), /* the verifier does not know what lies in a map */
	LDX(DW, R0, R2, 0),
	AND(R0, 1023), /* so this is all that it knows */
	LD_MAP_VALUE(R2, places, 0),
	ADD_REG(R2, R0),
	LDX(B, R0, R2, 0),
	EXIT(),
};
static const struct asm_program forgotten = {
	.name = "forgotten",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(forgotten_lines),
};

const struct lesson_program lesson_good[] = {
	{ &by_loop, maps, 2, "the highest bit, by a loop" },
	{ &as_index, maps, 2, "that, and then as an index" },
	{ &questions, maps, 2, "ten questions" },
	{ &exact_sum, maps, 2, "ten questions, and the sum as an index" },
	{ &forgotten, maps, 2, "ten questions, and the sum as an index, forgotten before" },
	{ 0 },
};

int main(void)
{
	int fds[2];

	lesson_begin("Ten questions can be answered in 1024 ways. How many does the verifier try?");
	must(rp_maps_create(maps, 2, fds), "maps");
	printf("%-12s %12s %10s\n", "", "instructions", "processed");
	for (const struct lesson_program *entry = lesson_good; entry->program; entry++) {
		struct rp_prog_stats stats;
		int fd = lesson_load(entry, fds);

		must(rp_prog_stats(fd, &stats), "statistics");
		printf("%-12s %12u %10u\n", stats.name,
		       stats.xlated_bytes / (uint32_t)sizeof(struct bpf_insn),
		       stats.verified_insns);
		close(fd);
	}
	printf("\n");
	lesson_refused(fds);
	rp_fds_close(fds, 2);
	return 0;
}
