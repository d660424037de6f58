/* SPDX-License-Identifier: BSD-2-Clause */
/* Two times, one before and one after a call: which register keeps the first? */
#include "../lesson.h"

static const struct asm_insn between_calls_lines[] = {
	CALL(ktime_get_ns),
	MOV_REG(R6, R0), /* R6 to R9 survive calls */
	CALL(get_prandom_u32),
	CALL(ktime_get_ns),
	SUB_REG(R0, R6),
	EXIT(),
};

static const struct asm_program between_calls = {
	.name = "between_calls",
	.type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	ASM_LINES(between_calls_lines),
};

const struct lesson_program lesson_good[] = {
	{ &between_calls, NULL, 0, "how many ns a call takes" },
	{ 0 },
};

int main(void)
{
	uint32_t least = UINT32_MAX, most = 0;
	int fd;

	lesson_begin("Which registers keep their value over a call?");
	lesson_refused(NULL);

	fd = lesson_load(&lesson_good[0], NULL);
	for (int i = 0; i < 10000; i++) {
		struct rp_test_run run = { 0 };

		must(rp_prog_test_run(fd, &run), "test run");
		least = run.retval < least ? run.retval : least;
		most = run.retval > most ? run.retval : most;
	}
	close(fd);
	printf("ran 10000 times: reading the clock and a random number took %u to %u ns\n", least,
	       most);
	return 0;
}
