/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The disassembler against the tools it imitates, on programs that hold every opcode the kernel
 * loads: the verifier's log of what was loaded, and `bpftool prog dump xlated` of what the kernel
 * made of it.
 */
#include "disasm_tools.h"
#include "isa.h"

/* ---- the program */

/* What not every kernel knows: 1 where this one does. */
struct known {
	uint32_t v4, acq_rel, may_goto;
};

/* R7 is a number that the verifier knows nothing of, R6 the context; nothing else is kept. */
#define RANDOM(dst) CALL(get_prandom_u32), MOV_REG(dst, R0)
#define ALU_ONE(OP, imm) OP(R3, imm), OP##_REG(R3, R7), OP##32(R3, imm), OP##32_REG(R3, R7)
/* Either way the next line is reached, so that the verifier can drop none of the jumps. */
#define JUMP_ONE(OP)                                                                               \
	SCOPE("JUMP_ONE(" #OP ")"), RANDOM(R3), OP(R3, 77, .a), MOV(R5, 1), LABEL(.a), RANDOM(R3), \
		OP(R3, -77, .b), MOV(R5, 1), LABEL(.b), RANDOM(R3), OP##_REG(R3, R7, .c),          \
		MOV(R5, 1), LABEL(.c), RANDOM(R3), OP##32(R3, 77, .d), MOV(R5, 1), LABEL(.d),      \
		RANDOM(R3), OP##32(R3, -77, .e), MOV(R5, 1), LABEL(.e), RANDOM(R3),                \
		OP##32_REG(R3, R7, .f), MOV(R5, 1), LABEL(.f), END
#define MEMORY_ONE(size)                                                                           \
	ST(size, R10, -16, -3), STX(size, R10, -16, R7), LDX(size, R3, R10, -16),                  \
		WHEN(struct known, acq_rel), LOAD_ACQ(size, R3, R10, -16),                         \
		STORE_REL(size, R10, -16, R7), END
#define ATOMIC_ONE(size)                                                                           \
	ATOMIC_ADD(size, R10, -16, R7), ATOMIC_AND(size, R10, -16, R7),                            \
		ATOMIC_OR(size, R10, -16, R7), ATOMIC_XOR(size, R10, -16, R7),                     \
		ATOMIC_FETCH_ADD(size, R10, -16, R7), ATOMIC_FETCH_AND(size, R10, -16, R7),        \
		ATOMIC_FETCH_OR(size, R10, -16, R7), ATOMIC_FETCH_XOR(size, R10, -16, R7),         \
		ATOMIC_XCHG(size, R10, -16, R7), ATOMIC_CMPXCHG(size, R10, -16, R7)

static const struct asm_insn lines[] = {
	MOV_REG(R6, R1),
	RANDOM(R7),
	RANDOM(R3),
	ST(DW, R10, -16, 0),
	ALU_ONE(ADD, 7),
	ALU_ONE(SUB, -7),
	ALU_ONE(MUL, 7),
	ALU_ONE(DIV, 7),
	ALU_ONE(OR, 7),
	ALU_ONE(AND, -7),
	ALU_ONE(LSH, 5),
	ALU_ONE(RSH, 5),
	ALU_ONE(MOD, 7),
	ALU_ONE(XOR, -2147483647 - 1),
	ALU_ONE(MOV, -1),
	ALU_ONE(ARSH, 5),
	NEG(R3),
	NEG32(R3),
	WHEN(struct known, v4),
	ALU_ONE(SDIV, -7),
	ALU_ONE(SMOD, -7),
	MOVSX(R3, R7, 8),
	MOVSX(R3, R7, 16),
	MOVSX(R3, R7, 32),
	MOVSX32(R3, R7, 8),
	MOVSX32(R3, R7, 16),
	BSWAP(R3, 16),
	BSWAP(R3, 32),
	BSWAP(R3, 64),
	LDXS(B, R3, R10, -16),
	LDXS(H, R3, R10, -16),
	LDXS(W, R3, R10, -16),
	RANDOM(R3),
	JGT(R3, 5, near2),
	GOTOL(far2),
	LABEL(near2),
	MOV(R0, 1),
	LABEL(far2),
	END,
	TO_LE(R3, 16),
	TO_LE(R3, 32),
	TO_LE(R3, 64),
	TO_BE(R3, 16),
	TO_BE(R3, 32),
	TO_BE(R3, 64),
	MEMORY_ONE(B),
	MEMORY_ONE(H),
	MEMORY_ONE(W),
	MEMORY_ONE(DW),
	ATOMIC_ONE(W),
	ATOMIC_ONE(DW),
	RANDOM(R7),
	JUMP_ONE(JEQ),
	JUMP_ONE(JGT),
	JUMP_ONE(JGE),
	JUMP_ONE(JSET),
	JUMP_ONE(JNE),
	JUMP_ONE(JSGT),
	JUMP_ONE(JSGE),
	JUMP_ONE(JLT),
	JUMP_ONE(JLE),
	JUMP_ONE(JSLT),
	JUMP_ONE(JSLE),
	RANDOM(R3),
	JGT(R3, 5, near),
	JA(far),
	LABEL(near),
	MOV(R0, 1),
	LABEL(far),
	WHEN(struct known, may_goto),
	MAY_GOTO(near3),
	MOV(R5, 2),
	LABEL(near3),
	END,
	LD_IMM64(R2, 0x5566778811223344),
	LD_IMM64(R2, -1),
	LD_MAP_VALUE(R2, state, 0),
	LD_MAP_VALUE(R2, state, 16),
	ST(W, R10, -8, 0),
	MAP_LOOKUP(counts, -8),
	MAP_LOOKUP(state, -8),
	MAP_DELETE(counts, -8),
	INSN(0x20, 0, 0, 0, 4), /* packet loads of classic BPF */
	INSN(0x28, 0, 0, 0, 4),
	INSN(0x30, 0, 0, 0, -4),
	INSN(0x40, 0, 7, 0, 4),
	INSN(0x48, 0, 7, 0, 4),
	INSN(0x50, 0, 7, 0, -4),
	MOV(R1, 3),
	LD_FUNC(R2, callback),
	MOV(R3, 0),
	MOV(R4, 0),
	CALL(loop),
	CALL_FUNC(subprogram),
	CALL(ktime_get_ns),
	MOV(R0, 0),
	EXIT(),
	FUNC(subprogram),
	MOV(R0, 1),
	EXIT(),
	FUNC(callback),
	MOV(R0, 0),
	EXIT(),
};

static const struct asm_map maps[] = {
	{ .name = "counts",
	  .type = BPF_MAP_TYPE_HASH,
	  .key_size = 4,
	  .value_size = 64,
	  .max_entries = 8 },
	{ .name = "state",
	  .type = BPF_MAP_TYPE_ARRAY,
	  .key_size = 4,
	  .value_size = 64,
	  .max_entries = 1 },
};

static struct asm_image image;
static char *verifier_log;
static int prog_fd = -1;
static bool knows_all;

static void setup(void)
{
	static const struct asm_program program = { .name = "every_opcode",
						    .type = BPF_PROG_TYPE_SOCKET_FILTER,
						    .license = "GPL",
						    ASM_LINES(lines),
						    .config_size = sizeof(struct known) };
	const struct known known = { isa_knows(ISA_V4), isa_knows(ISA_ACQ_REL),
				     isa_knows(ISA_MAY_GOTO) };
	int fds[2];
	const struct asm_bindings bindings = { .maps = maps,
					       .map_fds = fds,
					       .nmaps = 2,
					       .config = &known,
					       .config_size = sizeof(known) };

	knows_all = known.v4 && known.acq_rel && known.may_goto;
	fds[0] = rp_map_create(&maps[0]);
	fds[1] = rp_map_create(&maps[1]);
	ck_assert_int_ge(fds[0], 0);
	ck_assert_int_ge(fds[1], 0);
	ck_assert_int_eq(asm_assemble(&program, &bindings, &image, asm_diag_print, NULL), 0);
	const struct rp_prog prog = { .name = program.name,
				      .type = program.type,
				      .license = program.license,
				      .insns = image.insns,
				      .ninsns = image.ninsns,
				      .btf = image.btf,
				      .btf_size = image.btf_size,
				      .func_info = image.func_info,
				      .line_info = image.line_info,
				      .nfunc_info = image.nfunc_info,
				      .nline_info = image.nline_info };
	prog_fd = rp_prog_load_verbose(&prog, 2, &verifier_log);
	ck_assert_msg(prog_fd >= 0, "%s: ...%s", strerror(-prog_fd),
		      verifier_log && strlen(verifier_log) > 2000
			      ? verifier_log + strlen(verifier_log) - 2000
			      : verifier_log);
	close(fds[0]);
	close(fds[1]);
}

static void teardown(void)
{
	close(prog_fd);
	free(verifier_log);
	asm_image_free(&image);
}

/* ---- the tests */

START_TEST(reads_as_the_verifiers_log)
{
	ck_assert_uint_eq(compare_with_log(&image, verifier_log), 0);
}
END_TEST

START_TEST(reads_as_bpftools_xlated)
{
	uint32_t old;

	if (!have_bpftool("reads_as_bpftools_xlated"))
		return;
	old = compare_with_bpftool(prog_fd);
	/* ISA v4 in part would be a difference of ours, not an old bpftool. */
	ck_assert_msg(old == 0 || old >= 20, "%u instructions of ISA v4 differ", old);
}
END_TEST

/* Of what is not held the test would know nothing. */
START_TEST(the_program_holds_every_opcode)
{
	bool held[256] = { false };
	char text[ASM_DISASM_SIZE];

	if (!knows_all) {
		printf("skip the_program_holds_every_opcode (this kernel does not know all of "
		       "them)\n");
		return;
	}
	for (uint32_t slot = 0; slot < image.ninsns; slot++)
		if (image.text_of[slot])
			held[image.insns[slot].code] = true;
	for (int code = 0; code < 256; code++) {
		const struct bpf_insn insn[2] = { { .code = (uint8_t)code } };

		asm_disasm(NULL, insn, 2, 0, text, sizeof(text));
		/* Atomics of 1 and 2 bytes exist as load-acquire and store-release, held above. */
		ck_assert_msg(held[code] == !!strncmp(text, "unknown", 7), "opcode %02x: %s", code,
			      text);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("disasm in the kernel");
	TCase *tests = tcase_create("every opcode");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_unchecked_fixture(tests, setup, teardown);
	tcase_add_test(tests, the_program_holds_every_opcode);
	tcase_add_test(tests, reads_as_the_verifiers_log);
	tcase_add_test(tests, reads_as_bpftools_xlated);
	tcase_set_timeout(tests, 60);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
