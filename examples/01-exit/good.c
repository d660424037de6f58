/* SPDX-License-Identifier: BSD-2-Clause */
/* The shortest program there is: it returns a number. */
#include "../lesson.h"

static const struct asm_insn answer_lines[] = {
	MOV(R0, 42), /* R0 is the result */
	EXIT(),
};

static const struct asm_program answer = {
	.name = "answer",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(answer_lines),
};

const struct lesson_program lesson_good[] = {
	{ &answer, NULL, 0, "returns 42" },
	{ 0 },
};

/* An instruction is eight bytes: operation, two registers, offset, immediate. A constant of 64 bits
 * does not fit in there and takes a second eight: these are slots. */
static void print_bytes(const struct asm_program *program)
{
	struct asm_image image;

	must(asm_assemble(program, NULL, &image, asm_diag_print, stdout), "assembling");
	for (uint32_t i = 0; i < image.ninsns; i++) {
		const unsigned char *byte = (const void *)&image.insns[i];

		printf("%u:", i);
		for (size_t j = 0; j < sizeof(struct bpf_insn); j++)
			printf(" %02x", byte[j]);
		printf("    %s\n", image.text_of[i] ? image.text_of[i] : "");
	}
	asm_image_free(&image);
}

int main(void)
{
	/* The kernel lets us run it by hand, on a network packet of our making. */
	unsigned char packet[64] = { 0 };
	struct rp_test_run run = { .data_in = packet,
				   .data_size_in = sizeof(packet),
				   .repeat = 1000000 };
	int fd;

	lesson_begin("What is the least that the kernel accepts as a program?");
	lesson_refused(NULL);

	print_bytes(&answer);
	fd = lesson_load(&lesson_good[0], NULL);
	must(rp_prog_test_run(fd, &run), "test run");
	printf("the kernel ran it 1000000 times: it returned %u, in %u ns each\n", run.retval,
	       run.duration_ns);
	close(fd);
	return 0;
}
