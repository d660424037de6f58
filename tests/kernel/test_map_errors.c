/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Before Linux 6.4 what changes a map returns an int: of -EEXIST in R0 only the lower half is sure.
 * So no program may compare all of it with anything but 0. In each program every way from such a
 * call is followed, for as long as a register holds what it returned.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rawprof/loader.h>
#include <rawprof/program.h>

#define MAX_INSNS 65536

static bool changes_a_map(const struct bpf_insn *insn)
{
	if (insn->code != (BPF_JMP | BPF_CALL) || insn->src_reg)
		return false;
	switch (insn->imm) {
	case BPF_FUNC_map_update_elem:
	case BPF_FUNC_map_delete_elem:
	case BPF_FUNC_map_push_elem:
	case BPF_FUNC_map_pop_elem:
	case BPF_FUNC_map_peek_elem:
		return true;
	}
	return false;
}

static bool is_jump(const struct bpf_insn *insn)
{
	const int class = BPF_CLASS(insn->code), op = BPF_OP(insn->code);

	return (class == BPF_JMP || class == BPF_JMP32) && op != BPF_CALL && op != BPF_EXIT;
}

static bool is_wrong(const struct bpf_insn *insn, uint32_t held)
{
	const int op = BPF_OP(insn->code);

	if (BPF_CLASS(insn->code) != BPF_JMP || !is_jump(insn) || op == BPF_JA)
		return false;
	if (!(held & 1u << insn->dst_reg) &&
	    !(BPF_SRC(insn->code) == BPF_X && (held & 1u << insn->src_reg)))
		return false;
	return BPF_SRC(insn->code) == BPF_X || insn->imm || (op != BPF_JEQ && op != BPF_JNE);
}

/* Which registers hold the result behind an instruction. */
static uint32_t held_after(const struct bpf_insn *insn, uint32_t held)
{
	const uint32_t dst = 1u << insn->dst_reg;

	switch (BPF_CLASS(insn->code)) {
	case BPF_JMP:
		return BPF_OP(insn->code) == BPF_CALL ? held & ~0x3fu : held;
	case BPF_ALU64:
		if (insn->code == (BPF_ALU64 | BPF_MOV | BPF_X) && held & 1u << insn->src_reg)
			return held | dst;
		return held & ~dst;
	case BPF_ALU:
	case BPF_LD:
	case BPF_LDX:
		return held & ~dst;
	}
	return held;
}

struct walk {
	const struct asm_image *image;
	uint32_t *held; /* before each instruction: registers of some way there */
	uint32_t wrong; /* the instruction + 1 */
};

static void follow(struct walk *w, uint32_t at, uint32_t held)
{
	while (at < w->image->ninsns) {
		const struct bpf_insn *insn = &w->image->insns[at];

		if (!(held & ~w->held[at]))
			return;
		w->held[at] |= held;
		if (is_wrong(insn, held)) {
			w->wrong = at + 1;
			return;
		}
		if (insn->code == (BPF_JMP | BPF_EXIT))
			return;
		held = held_after(insn, held);
		if (!held)
			return;
		if (is_jump(insn)) {
			const bool far = insn->code == (BPF_JMP32 | BPF_JA);
			const uint32_t to = at + 1 + (uint32_t)(far ? insn->imm : insn->off);

			if (BPF_OP(insn->code) == BPF_JA) {
				at = to;
				continue;
			}
			follow(w, to, held);
		}
		at += insn->code == (BPF_LD | BPF_IMM | BPF_DW) ? 2 : 1;
	}
}

/* The first comparison that must not be, + 1; 0: there is none. calls: how many change a map. */
static uint32_t find_wrong(const struct asm_image *image, unsigned int *calls)
{
	static uint32_t held[MAX_INSNS];
	struct walk w = { .image = image, .held = held };

	ck_assert_uint_le(image->ninsns, MAX_INSNS);
	memset(held, 0, sizeof(held));
	for (uint32_t i = 0; !w.wrong && i < image->ninsns; i++)
		if (changes_a_map(&image->insns[i])) {
			++*calls;
			follow(&w, i + 1, 1);
		}
	return w.wrong;
}

static bool assemble(const struct rp_program *entry, const void *config, struct asm_image *out)
{
	int fds[64] = { 0 };
	const struct asm_bindings bindings = { .maps = entry->maps,
					       .map_fds = fds,
					       .nmaps = entry->nmaps,
					       .config = config,
					       .config_size = config ? entry->code.config_size : 0,
					       .field = rp_bind_field,
					       .tp_field = rp_bind_tp_field };

	return !asm_assemble(&entry->code, &bindings, out, NULL, NULL);
}

START_TEST(programs_compare_32_bits)
{
	unsigned int programs = 0, calls = 0;
	const struct rp_program *entry;
	size_t i = 0;

	for (; (entry = rp_program_number(i)); i++) {
		uint32_t ones[1024];
		const void *configs[] = { entry->config, ones };

		for (size_t j = 0; j < 1024; j++)
			ones[j] = 8;
		if (!entry->code.config_size)
			configs[1] = NULL;
		for (int c = 0; c < 2; c++) {
			struct asm_image image;
			uint32_t wrong;

			if (!assemble(entry, configs[c], &image))
				continue;
			programs += !c;
			wrong = find_wrong(&image, &calls);
			ck_assert_msg(!wrong,
				      "%s: %s:%u: %s: an int before Linux 6.4: JEQ32, JNE32",
				      entry->code.name, image.file_of[wrong - 1],
				      image.line_of[wrong - 1], image.text_of[wrong - 1]);
			asm_image_free(&image);
		}
	}
	printf("%u of %zu programs, %u calls\n", programs, i, calls);
	ck_assert_uint_gt(programs, 0);
	ck_assert_uint_gt(calls, 0);
}
END_TEST

/* ---- and it would be seen */

static const struct asm_map one_map[] = { { "values", BPF_MAP_TYPE_HASH, 8, 8, 1 } };
/* clang-format off */
#define CHANGE                                                                                     \
	ST(DW, R10, -8, 0), LD_MAP(R1, values), FRAME_PTR(R2, -8), MOV_REG(R3, R2), MOV(R4, 0),    \
		CALL(map_update_elem)
#define END_HERE LABEL(out), MOV(R0, 0), EXIT()
static const struct asm_insn at_once[] = { CHANGE, JEQ(R0, -EEXIST, out), END_HERE };
static const struct asm_insn behind_a_jump[] = {
	CHANGE, JEQ(R0, 0, out), JEQ32(R0, -E2BIG, out), JNE(R0, -EEXIST, out), END_HERE };
static const struct asm_insn in_another[] = {
	CHANGE, MOV_REG(R6, R0), MOV(R0, 0), JSLT(R6, 0, out), END_HERE };
static const struct asm_insn harmless[] = {
	CHANGE, JEQ32(R0, -EEXIST, out), JNE(R0, 0, out), CALL(ktime_get_ns), JGT(R0, 5, out), END_HERE };
/* clang-format on */
#define CASE(lines_, wrong_)                                                                       \
	{                                                                                          \
		{ .name = #lines_,                                                                 \
		  .type = BPF_PROG_TYPE_TRACEPOINT,                                                \
		  .license = "GPL",                                                                \
		  ASM_LINES(lines_) },                                                             \
			wrong_                                                                     \
	}
static const struct {
	struct asm_program program;
	bool wrong;
} cases[] = { CASE(at_once, true), CASE(behind_a_jump, true), CASE(in_another, true),
	      CASE(harmless, false) };

START_TEST(what_is_wrong_is_found)
{
	const struct rp_program entry = { .code = cases[_i].program, RP_MAPS(one_map, 1) };
	struct asm_image image;
	unsigned int calls = 0;

	ck_assert(assemble(&entry, NULL, &image));
	ck_assert_int_eq(find_wrong(&image, &calls) != 0, cases[_i].wrong);
	ck_assert_uint_eq(calls, 1);
	asm_image_free(&image);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("errors of maps");
	TCase *tests = tcase_create("all");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tests, programs_compare_32_bits);
	tcase_add_loop_test(tests, what_is_wrong_is_found, 0, sizeof(cases) / sizeof(cases[0]));
	tcase_set_timeout(tests, 300);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
