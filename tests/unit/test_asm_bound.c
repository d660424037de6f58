/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines that are bound to a configuration, to kernel types, tracepoints, maps and machines. */
#include "asm_said.h"

/* ---- what can be bound */

struct config {
	uint8_t u8;
	uint16_t u16;
	uint32_t u32;
	uint64_t u64;
	int8_t s8;
	int16_t s16;
	int32_t s32;
	int64_t s64;
	_Bool flag;
};

START_TEST(parameters)
{
	static const struct config config = { .u8 = 0xff,
					      .u16 = 0xffff,
					      .u32 = 0xffffffff,
					      .u64 = 0x8877665544332211,
					      .s8 = -1,
					      .s16 = -2,
					      .s32 = INT32_MIN,
					      .s64 = -3,
					      .flag = 1 };
	static const struct {
		struct asm_insn line;
		uint64_t want;
		uint32_t slots; /* one if 32 bits, sign-extended, are enough */
	} cases[] = {
		{ LD_PARAM(R5, struct config, u8), 0xff, 1 },
		{ LD_PARAM(R5, struct config, u16), 0xffff, 1 },
		{ LD_PARAM(R5, struct config, u32), 0xffffffff, 2 },
		{ LD_PARAM(R5, struct config, u64), 0x8877665544332211, 2 },
		{ LD_PARAM(R5, struct config, s8), 0xffffffffffffffff, 1 },
		{ LD_PARAM(R5, struct config, s16), 0xfffffffffffffffe, 1 },
		{ LD_PARAM(R5, struct config, s32), 0xffffffff80000000, 1 },
		{ LD_PARAM(R5, struct config, s64), 0xfffffffffffffffd, 1 },
		{ LD_PARAM(R5, struct config, flag), 1, 1 },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct asm_image image = good(&cases[i].line, 1, &config, sizeof(config));
		int32_t low = (int32_t)cases[i].want, high = (int32_t)(cases[i].want >> 32);

		ck_assert_uint_eq(image.ninsns, cases[i].slots);
		if (cases[i].slots == 1) {
			ck_insn(&image, 0, (struct bytes){ 0xb7, 5, 0, 0, low },
				cases[i].line.text);
			ck_assert_uint_eq((uint64_t)(int64_t)low, cases[i].want);
		} else {
			ck_insn(&image, 0, (struct bytes){ 0x18, 5, 0, 0, low },
				cases[i].line.text);
			ck_insn(&image, 1, (struct bytes){ 0, 0, 0, 0, high }, cases[i].line.text);
		}
		asm_image_free(&image);
	}
}
END_TEST

START_TEST(jumps_on_parameters)
{
	static const struct config config = { .s32 = -5 };
	static const struct asm_insn lines[] = {
		JEQ_PARAM(R1, struct config, s32, l),
		JNE_PARAM(R1, struct config, s32, l),
		JGT_PARAM(R1, struct config, s32, l),
		JGE_PARAM(R1, struct config, s32, l),
		JLT_PARAM(R1, struct config, s32, l),
		JLE_PARAM(R1, struct config, s32, l),
		LABEL(l),
		EXIT(),
	};
	static const uint8_t codes[] = { 0x15, 0x55, 0x25, 0x35, 0xa5, 0xb5 };
	struct asm_image image = good(lines, COUNT_OF(lines), &config, sizeof(config));

	for (uint32_t i = 0; i < 6; i++)
		ck_insn(&image, i, (struct bytes){ codes[i], 1, 0, (int16_t)(5 - i), -5 },
			lines[i].text);
	asm_image_free(&image);
}
END_TEST

/* Which lines stay, for both values of two parameters; a number in an immediate names a line. */
START_TEST(when_and_unless_nest)
{
	static const struct asm_insn lines[] = {
		MOV(R0, 0), WHEN(struct config, u8),
		MOV(R0, 1), WHEN(struct config, u16),
		MOV(R0, 2), END,
		MOV(R0, 3), UNLESS(struct config, u16),
		MOV(R0, 4), UNLESS(struct config, u32),
		MOV(R0, 5), END,
		END,	    END,
		MOV(R0, 6), UNLESS(struct config, u8),
		MOV(R0, 7), WHEN(struct config, u16),
		MOV(R0, 8), END,
		END,	    EXIT(),
	};
	static const struct {
		uint8_t u8;
		uint16_t u16;
		const char *left;
	} cases[] = { { 0, 0, "067" }, { 0, 1, "0678" }, { 1, 0, "013456" }, { 1, 1, "01236" } };

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const struct config config = { .u8 = cases[i].u8, .u16 = cases[i].u16 };
		struct asm_image image = good(lines, COUNT_OF(lines), &config, sizeof(config));
		char left[16] = "";

		ck_assert_uint_lt(image.ninsns, sizeof(left));
		for (uint32_t slot = 0; slot + 1 < image.ninsns; slot++)
			left[slot] = (char)('0' + image.insns[slot].imm);
		ck_assert_str_eq(left, cases[i].left);
		asm_image_free(&image);
	}
}
END_TEST

START_TEST(functions_come_and_go)
{
	static const struct asm_insn lines[] = {
		MOV(R0, 0),   WHEN(struct config, u8),
		CALL_FUNC(f), END,
		EXIT(),	      WHEN(struct config, u8),
		FUNC(f),      JEQ(R1, 0, out),
		MOV(R0, 1),   LABEL(out),
		EXIT(),	      END,
	};
	const struct config on = { .u8 = 1 }, off = { .u8 = 0 };
	struct asm_image image = good(lines, COUNT_OF(lines), &on, sizeof(on));

	ck_assert_uint_eq(image.ninsns, 6);
	ck_assert_uint_eq(image.nfuncs, 2);
	ck_assert_uint_eq(image.funcs[1].insn, 3);
	ck_assert_int_eq(image.insns[1].imm, 1);
	asm_image_free(&image);
	image = good(lines, COUNT_OF(lines), &off, sizeof(off));
	ck_assert_uint_eq(image.ninsns, 2);
	ck_assert_uint_eq(image.nfuncs, 1);
	ck_assert_uint_eq(image.nfunc_info, 1);
	ck_assert_uint_eq(image.nlabels, 0);
	asm_image_free(&image);
}
END_TEST

START_TEST(members_of_kernel_types)
{
	static const struct asm_insn lines[] = {
		LD_FIELD(R1, R6, "task_struct", "flags"),
		LD_FIELD(R2, R6, "task_struct", "mm.exe_file.f_inode.i_ino"),
		LD_FIELD(R3, R6, "task_struct", "real_parent.tgid"), /* signed */
		LD_FIELD(R4, R4, "task_struct", "nice"),
		LD_FIELD(R5, R6, "huge", "last_near"),
		FIELD_OFFSET(R1, "huge", "far"),
		ADD_FIELD_OFFSET(R1, "task_struct", "comm"),
		FIELD_SIZE(R2, "task_struct", "comm"),
		LD_TP(R7, R6, "signal", "signal_generate", "code"),
		EXIT(),
	};
	static const struct bytes want[] = {
		{ 0x61, 1, 6, 44, 0 },	  { 0x79, 2, 6, 1200, 0 },  { 0x79, 2, 2, 800, 0 },
		{ 0x79, 2, 2, 32, 0 },	  { 0x79, 2, 2, 64, 0 },    { 0x79, 3, 6, 1400, 0 },
		{ 0x61, 3, 3, 1384, 0 },  { 0x67, 3, 0, 0, 32 },    { 0xc7, 3, 0, 0, 32 },
		{ 0x71, 4, 4, 7, 0 },	  { 0x67, 4, 0, 0, 56 },    { 0xc7, 4, 0, 0, 56 },
		{ 0x71, 5, 6, 32767, 0 }, { 0xb7, 1, 0, 0, 32768 }, { 0x07, 1, 0, 0, 1912 },
		{ 0xb7, 2, 0, 0, 16 },	  { 0x61, 7, 6, 16, 0 },    { 0x67, 7, 0, 0, 32 },
		{ 0xc7, 7, 0, 0, 32 },	  { 0x95, 0, 0, 0, 0 },
	};
	struct asm_image image = GOOD(lines);

	ck_assert_uint_eq(image.ninsns, COUNT_OF(want));
	for (uint32_t slot = 0; slot < image.ninsns; slot++) {
		ck_assert_ptr_nonnull(image.text_of[slot]);
		ck_insn(&image, slot, want[slot], image.text_of[slot]);
	}
	asm_image_free(&image);
}
END_TEST

/* Offsets of struct user_regs_struct, user_pt_regs and user_regs_struct again, by the ABI. */
START_TEST(machine_registers)
{
	static const struct asm_insn lines[] = {
		LD_ARG(R1, R6, 1), LD_ARG(R1, R6, 2), LD_ARG(R1, R6, 3), LD_ARG(R1, R6, 4),
		LD_ARG(R1, R6, 5), LD_ARG(R1, R6, 6), LD_RET(R1, R6),	 LD_IP(R1, R6),
		LD_SP(R1, R6),	   LD_FP(R1, R6),
	};
	static const struct {
		const struct asm_arch *arch;
		int16_t off[10];
	} cases[] = {
		/* rdi rsi rdx rcx r8 r9, rax, rip, rsp, rbp */
		{ &asm_arch_x86_64, { 112, 104, 96, 88, 72, 64, 80, 128, 152, 32 } },
		/* x0-x5, x0, pc, sp, x29 */
		{ &asm_arch_arm64, { 0, 8, 16, 24, 32, 40, 0, 256, 248, 232 } },
		/* a0-a5, a0, pc, sp, s0 */
		{ &asm_arch_riscv64, { 80, 88, 96, 104, 112, 120, 80, 0, 16, 64 } },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct asm_bindings bindings = world(NULL, 0);
		struct asm_image image;

		bindings.arch = cases[i].arch;
		ck_assert_int_eq(assemble_in(lines, COUNT_OF(lines), &bindings, &image), 0);
		for (uint32_t slot = 0; slot < COUNT_OF(lines); slot++)
			ck_insn(&image, slot, (struct bytes){ 0x79, 1, 6, cases[i].off[slot], 0 },
				lines[slot].text);
		asm_image_free(&image);
	}
}
END_TEST

/* The same registers, found by the numbers that unwind tables have for them. */
START_TEST(machine_registers_by_dwarf_number)
{
	static const struct {
		const struct asm_arch *arch;
		enum asm_machine_reg reg;
		int number;
	} cases[] = {
		{ &asm_arch_x86_64, ASM_REG_RET, 0 },	 { &asm_arch_x86_64, ASM_REG_ARG3, 1 },
		{ &asm_arch_x86_64, ASM_REG_ARG4, 2 },	 { &asm_arch_x86_64, ASM_REG_ARG2, 4 },
		{ &asm_arch_x86_64, ASM_REG_ARG1, 5 },	 { &asm_arch_x86_64, ASM_REG_FP, 6 },
		{ &asm_arch_x86_64, ASM_REG_SP, 7 },	 { &asm_arch_x86_64, ASM_REG_ARG5, 8 },
		{ &asm_arch_x86_64, ASM_REG_ARG6, 9 },	 { &asm_arch_arm64, ASM_REG_ARG1, 0 },
		{ &asm_arch_arm64, ASM_REG_ARG6, 5 },	 { &asm_arch_arm64, ASM_REG_FP, 29 },
		{ &asm_arch_arm64, ASM_REG_SP, 31 },	 { &asm_arch_riscv64, ASM_REG_SP, 2 },
		{ &asm_arch_riscv64, ASM_REG_FP, 8 },	 { &asm_arch_riscv64, ASM_REG_ARG1, 10 },
		{ &asm_arch_riscv64, ASM_REG_ARG6, 15 },
	};
	const struct asm_arch *const all[] = { &asm_arch_x86_64, &asm_arch_arm64,
					       &asm_arch_riscv64 };

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		ck_assert_int_eq(cases[i].arch->dwarf[cases[i].number],
				 cases[i].arch->reg[cases[i].reg]);
	for (size_t i = 0; i < COUNT_OF(all); i++)
		for (int n = 0; n < 32; n++)
			for (int m = 0; m < n; m++)
				ck_assert(all[i]->dwarf[n] < 0 ||
					  all[i]->dwarf[n] != all[i]->dwarf[m]);
	/* Those that no function gets or returns, by their struct. */
	ck_assert_int_eq(asm_arch_x86_64.dwarf[3], 5 * 8);  /* rbx */
	ck_assert_int_eq(asm_arch_x86_64.dwarf[10], 7 * 8); /* r10 */
	ck_assert_int_eq(asm_arch_x86_64.dwarf[12], 3 * 8); /* r12 */
	ck_assert_int_eq(asm_arch_x86_64.dwarf[15], 0);	    /* r15 */
	ck_assert_int_eq(asm_arch_arm64.dwarf[30], 30 * 8); /* x30 */
	ck_assert_int_eq(asm_arch_riscv64.dwarf[1], 8);	    /* ra */
	/*
	 * None that is not saved: x86-64 numbers its vector registers from 17 on, x0 is no register
	 * of its own.
	 */
	ck_assert_int_eq(asm_arch_x86_64.dwarf[16], -1);
	ck_assert_int_eq(asm_arch_x86_64.dwarf[31], -1);
	ck_assert_int_eq(asm_arch_riscv64.dwarf[0], -1);
}
END_TEST

/* What FILTER_COMM can compare; all else is left to user space. */
START_TEST(patterns_for_user_space)
{
	static const struct {
		const char *pattern;
		int err;
	} cases[] = {
		{ "", -EINVAL },
		{ "*", -EINVAL },
		{ "*x", -EINVAL },
		{ "a*b", -EINVAL },
		{ "a**", -EINVAL },
		{ "a?", -EINVAL },
		{ "[ab]", -EINVAL },
		{ "sixteen letters!", -E2BIG },
		{ "sixteen letters!*", -E2BIG },
	};
	struct asm_comm_filter filter, untouched;
	unsigned char bytes[16];

	memset(&filter, 0x5a, sizeof(filter));
	untouched = filter;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		ck_assert_msg(asm_comm_filter(cases[i].pattern, &filter) == cases[i].err, "'%s'",
			      cases[i].pattern);
		ck_assert_mem_eq(&filter, &untouched, sizeof(filter));
	}

	/* A whole name with its end; a beginning without. */
	ck_assert_int_eq(asm_comm_filter("exactly8", &filter), 0);
	ck_assert_mem_eq(filter.want, "exactly8\0\0\0\0\0\0\0\0", 16);
	memcpy(bytes, filter.mask, sizeof(bytes));
	for (int i = 0; i < 16; i++)
		ck_assert_uint_eq(bytes[i], i <= 8 ? 0xff : 0);
	ck_assert_int_eq(asm_comm_filter("ab*", &filter), 0);
	memcpy(bytes, filter.mask, sizeof(bytes));
	for (int i = 0; i < 16; i++)
		ck_assert_uint_eq(bytes[i], i < 2 ? 0xff : 0);
}
END_TEST

/* ---- what cannot be bound */

/* clang-format off */

struct few {
	int64_t large;
	uint64_t ularge;
	uint8_t b;
};
static const struct few few = { .large = -5000000000, .ularge = 0x80000000, .b = 200 };
#define REFUSE_FEW(lines, at, text, message)                                                    \
	refuse(lines, COUNT_OF(lines), &few, sizeof(few), -EINVAL, at, text, message)

START_TEST(maps_that_are_not_there_or_not_fit)
{
	static const struct asm_insn unknown[] = { LD_MAP(R1, cuonts), EXIT() };
	static const struct asm_insn hash[] = { LD_MAP_VALUE(R1, counts, 0), EXIT() };
	static const struct asm_insn two[] = { LD_MAP_VALUE(R1, table, 0), EXIT() };
	static const struct asm_insn beyond[] = { LD_MAP_VALUE(R1, stats, sizeof(struct stats)), EXIT() };
	static const struct asm_insn negative[] = { LD_MAP_VALUE(R1, stats, -1), EXIT() };
	static const char constant[] =
		"only the value of an array map of one element has a constant address";

	REFUSE(unknown, 0, "LD_MAP(R1, cuonts)", "unknown map 'cuonts'");
	REFUSE(hash, 0, "LD_MAP_VALUE(R1, counts, 0)", constant);
	REFUSE(two, 0, "LD_MAP_VALUE(R1, table, 0)", constant);
	REFUSE(beyond, 0, "LD_MAP_VALUE(R1, stats, sizeof(struct stats))", "byte 16 of a value of 16 bytes");
	REFUSE(negative, 0, "LD_MAP_VALUE(R1, stats, -1)",
	       "byte -1 of a value of 16 bytes");
}
END_TEST

START_TEST(parameters_of_another_configuration)
{
	static const struct asm_insn load[] = { LD_PARAM(R1, struct stats, lost), EXIT() };
	static const struct asm_insn when[] = { WHEN(struct stats, lost), MOV(R0, 0), END, EXIT() };

	REFUSE_FEW(load, 0, "LD_PARAM(R1, struct stats, lost)",
		      "the program is assembled with a configuration of 24 bytes, this line means one of 16 bytes");
	REFUSE(load, 0, "LD_PARAM(R1, struct stats, lost)",
	       "the program is assembled with a configuration of 0 bytes, this line means one of 16 bytes");
	REFUSE(when, 0, "WHEN(struct stats, lost)",
	       "the program is assembled with a configuration of 0 bytes, this line means one of 16 bytes");
}
END_TEST

START_TEST(parameter_that_does_not_fit_a_jump)
{
	static const struct asm_insn is_signed[] = { JNE_PARAM(R0, struct few, large, out), LABEL(out), EXIT() };
	static const struct asm_insn is_unsigned[] = { JGT_PARAM(R0, struct few, ularge, out), LABEL(out), EXIT() };

	REFUSE_FEW(is_signed, 0, "JNE_PARAM(R0, struct few, large, out)",
		      "the parameter's value -5000000000 does not fit the immediate: "
		      "use LD_PARAM and the _REG form of the jump");
	REFUSE_FEW(is_unsigned, 0, "JGT_PARAM(R0, struct few, ularge, out)",
		      "the parameter's value 2147483648 does not fit the immediate: "
		      "use LD_PARAM and the _REG form of the jump");
}
END_TEST

START_TEST(members_that_cannot_be_loaded)
{
	static const struct asm_insn absent[] = { LD_FIELD(R1, R2, "task_struct", "tgdi"), EXIT() };
	static const struct asm_insn bits[] = { LD_FIELD(R1, R2, "task_struct", "bits"), EXIT() };
	static const struct asm_insn nonsense[] = { LD_FIELD(R1, R2, "task_struct", "nonsense"), EXIT() };
	static const struct asm_insn array[] = { LD_FIELD(R1, R2, "task_struct", "comm"), EXIT() };
	static const struct asm_insn far[] = { LD_FIELD(R1, R2, "huge", "far"), EXIT() };
	static const struct asm_insn next[] = { LD_FIELD(R1, R2, "huge", "next.far"), EXIT() };
	static const struct asm_insn behind[] = { FIELD_OFFSET(R1, "task_struct", "real_parent.tgid"), EXIT() };

	refuse(absent, 2, NULL, 0, -ENOENT, 0, "LD_FIELD(R1, R2, \"task_struct\", \"tgdi\")",
	       "kernel type task_struct, member tgdi: No such file or directory");
	refuse(bits, 2, NULL, 0, -EOPNOTSUPP, 0, "LD_FIELD(R1, R2, \"task_struct\", \"bits\")",
	       "kernel type task_struct, member bits: it is a bit field");
	REFUSE(nonsense, 0, "LD_FIELD(R1, R2, \"task_struct\", \"nonsense\")",
	       "kernel type task_struct, member nonsense: Invalid argument");
	REFUSE(array, 0, "LD_FIELD(R1, R2, \"task_struct\", \"comm\")",
	       "16 bytes, not a number: take its address with ADD_FIELD_OFFSET");
	REFUSE(far, 0, "LD_FIELD(R1, R2, \"huge\", \"far\")",
	       "lies 32768 bytes into the type, a load reaches 32767: take its address with ADD_FIELD_OFFSET");
	REFUSE(next, 0, "LD_FIELD(R1, R2, \"huge\", \"next.far\")",
	       "lies 40000 bytes into the type, a load reaches 32767: take its address with ADD_FIELD_OFFSET");
	REFUSE(behind, 0, "FIELD_OFFSET(R1, \"task_struct\", \"real_parent.tgid\")",
	       "lies behind a pointer: read the pointer first, then its member");
}
END_TEST

START_TEST(kernel_functions)
{
	static const struct asm_insn there[] = { CALL_KFUNC(bpf_task_release), EXIT() };
	static const struct asm_insn absent[] = { CALL_KFUNC(bpf_task_relaese), EXIT() };
	struct asm_bindings blind = world(NULL, 0);
	struct asm_image image = GOOD(there);
	struct asm_disasm_options options = asm_disasm_options(&image);
	char text[ASM_DISASM_SIZE];

	ck_insn(&image, 0, ((struct bytes){ 0x85, 0, 2, 0, 81234 }), "CALL_KFUNC");
	ck_assert_int_eq(asm_disasm(&options, image.insns, 2, 0, text, sizeof(text)), 1);
	ck_assert_str_eq(text, "(85) call bpf_task_release#81234");
	asm_image_free(&image);

	refuse(absent, 2, NULL, 0, -ENOENT, 0, "CALL_KFUNC(bpf_task_relaese)",
	       "kernel function bpf_task_relaese: this kernel has no such function");
	blind.kfunc = NULL;
	ck_assert_int_eq(assemble_in(there, 2, &blind, &image), -ENOENT);
}
END_TEST

START_TEST(tracepoint_fields_that_are_not_there)
{
	static const struct asm_insn event[] = { LD_TP(R1, R6, "signal", "signal_kill", "code"), EXIT() };
	static const struct asm_insn field[] = { LD_TP(R1, R6, "signal", "signal_generate", "colour"), EXIT() };

	refuse(event, 2, NULL, 0, -ENOENT, 0, "LD_TP(R1, R6, \"signal\", \"signal_kill\", \"code\")",
	       "tracepoint signal:signal_kill, field code: this kernel has no such tracepoint");
	refuse(field, 2, NULL, 0, -ENOENT, 0, "LD_TP(R1, R6, \"signal\", \"signal_generate\", \"colour\")",
	       "tracepoint signal:signal_generate, field colour: No such file or directory");
}
END_TEST

START_TEST(machine_registers_that_are_not_there)
{
	static const struct asm_insn lines[] = { LD_ARG(R1, R6, 6), EXIT() };
	static const struct asm_arch poor = { .name = "m68k", .reg = { [ASM_REG_ARG6] = -1 } };
	struct asm_bindings bindings = world(NULL, 0);
	struct asm_image image;

	bindings.arch = &poor;
	ck_assert_int_eq(assemble_in(lines, COUNT_OF(lines), &bindings, &image), -EINVAL);
	ck_assert_said(0, ASM_ERROR, __FILE__, lines[0].line, "LD_ARG(R1, R6, 6)", "m68k has no such register in its pt_regs");
}
END_TEST

/* clang-format on */

int main(void)
{
	Suite *suite = suite_create("asm: bound lines");
	TCase *tc = tcase_create("bound");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tc, parameters);
	tcase_add_test(tc, jumps_on_parameters);
	tcase_add_test(tc, when_and_unless_nest);
	tcase_add_test(tc, functions_come_and_go);
	tcase_add_test(tc, members_of_kernel_types);
	tcase_add_test(tc, machine_registers);
	tcase_add_test(tc, machine_registers_by_dwarf_number);
	tcase_add_test(tc, patterns_for_user_space);
	tcase_add_test(tc, maps_that_are_not_there_or_not_fit);
	tcase_add_test(tc, parameters_of_another_configuration);
	tcase_add_test(tc, parameter_that_does_not_fit_a_jump);
	tcase_add_test(tc, members_that_cannot_be_loaded);
	tcase_add_test(tc, kernel_functions);
	tcase_add_test(tc, tracepoint_fields_that_are_not_there);
	tcase_add_test(tc, machine_registers_that_are_not_there);
	suite_add_tcase(suite, tc);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
