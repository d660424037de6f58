/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lint against the verifier, on programs made at random: of what the verifier takes the lint
 * must not say that it is wrong. (Stack bytes that nobody wrote are the exception: with
 * CAP_PERFMON kernels since 6.3 let them pass.) The seed is fixed; LINT_SEED and LINT_PROGRAMS in
 * the environment make other and longer runs.
 */
#include <check.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rawprof/asm.h>
#include <rawprof/loader.h>

/* ---- random programs */

#define MAX_LINES 96

static uint64_t random_state = 1;

static uint32_t below(uint32_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 32) % n;
}

static bool chance(uint32_t percent)
{
	return below(100) < percent;
}

struct maker {
	struct asm_insn lines[MAX_LINES];
	char texts[MAX_LINES][ASM_DISASM_SIZE];
	uint32_t n;
};

static void add_line(struct maker *m, uint8_t kind, struct bpf_insn insn, const char *sym)
{
	if (m->n == MAX_LINES)
		return;
	m->lines[m->n] = (struct asm_insn){ .kind = kind,
					    .insn = insn,
					    .sym = sym,
					    .file = "random.c",
					    .line = m->n + 1,
					    .text = m->texts[m->n] };
	asm_disasm(NULL, &insn, 1, 0, m->texts[m->n], sizeof(m->texts[m->n]));
	m->n++;
}

static void add(struct maker *m, uint8_t code, int dst, int src, int off, int32_t imm)
{
	add_line(m, ASM_INSN,
		 (struct bpf_insn){ .code = code,
				    .dst_reg = (uint8_t)dst & 15,
				    .src_reg = (uint8_t)src & 15,
				    .off = (int16_t)off,
				    .imm = imm },
		 NULL);
}

static void load_map(struct maker *m, int dst, const char *map)
{
	add_line(m, ASM_LD_MAP,
		 (struct bpf_insn){ .code = BPF_LD | BPF_IMM | BPF_DW,
				    .dst_reg = (uint8_t)dst & 15,
				    .src_reg = BPF_PSEUDO_MAP_FD },
		 map);
}

static int32_t some_number(void)
{
	static const int32_t numbers[] = {
		0,   1,	  2,	 3,	4,	7,	    8,
		9,   15,  16,	 31,	32,	63,	    64,
		100, 255, 256,	 511,	4095,	4096,	    -1,
		-2,  -8,  -4095, -4096, 0xffff, 0x7fffffff, -2147483647 - 1
	};

	return numbers[below(sizeof(numbers) / sizeof(numbers[0]))];
}

/* Mostly a register that a sensible program would use. */
static int some_reg(void)
{
	return chance(70) ? R6 + (int)below(4) : (int)below(11);
}

static int some_dst(void)
{
	return chance(70) ? R6 + (int)below(4) : (int)below(10);
}

static int some_slot(void)
{
	return -8 * (1 + (int)below(4));
}

static void add_arithmetic(struct maker *m)
{
	static const uint8_t ops[] = { BPF_ADD,	 BPF_SUB, BPF_MUL, BPF_DIV, BPF_OR,
				       BPF_AND,	 BPF_LSH, BPF_RSH, BPF_MOD, BPF_XOR,
				       BPF_ARSH, BPF_ADD, BPF_AND, BPF_RSH };
	uint8_t op = ops[below(sizeof(ops))];
	uint8_t class = chance(75) ? BPF_ALU64 : BPF_ALU;
	int32_t imm = some_number();

	if (chance(5)) {
		add(m, class | BPF_NEG, some_dst(), 0, 0, 0);
	} else if (chance(8)) {
		add(m, class | BPF_MOV | BPF_X, some_dst(), some_reg(), chance(50) ? 8 : 16, 0);
	} else if (chance(5)) {
		add(m, BPF_ALU | BPF_END | (chance(50) ? BPF_TO_BE : BPF_TO_LE), some_dst(), 0, 0,
		    16 << below(3));
	} else if (chance(40)) {
		int off = (op == BPF_DIV || op == BPF_MOD) && chance(30);

		add(m, class | op | BPF_X, some_dst(), some_reg(), off, 0);
	} else {
		if (op == BPF_LSH || op == BPF_RSH || op == BPF_ARSH)
			imm = (int32_t)below(32);
		if ((op == BPF_DIV || op == BPF_MOD) && !imm)
			imm = 3;
		add(m, class | op | BPF_K, some_dst(), 0, 0, imm);
	}
}

static void add_move(struct maker *m)
{
	if (chance(40))
		add(m, BPF_ALU64 | BPF_MOV | BPF_K, some_dst(), 0, 0, some_number());
	else
		add(m, (chance(80) ? BPF_ALU64 : BPF_ALU) | BPF_MOV | BPF_X, some_dst(), some_reg(),
		    0, 0);
}

static void add_memory(struct maker *m)
{
	static const uint8_t sizes[] = { BPF_B, BPF_H, BPF_W, BPF_DW, BPF_DW, BPF_W };
	uint8_t size = sizes[below(sizeof(sizes))];
	int base = chance(60) ? R10 : some_reg();
	int off = base == R10 ? some_slot() + (chance(20) ? 4 : 0) : (int)below(10) * 4;

	switch (below(5)) {
	case 0:
		add(m, BPF_ST | BPF_MEM | size, base, 0, off, some_number());
		break;
	case 1:
	case 2:
		add(m, BPF_STX | BPF_MEM | size, base, some_reg(), off, 0);
		break;
	case 3:
		if (size != BPF_DW && chance(30))
			add(m, BPF_LDX | BPF_MEMSX | size, some_dst(), base, off, 0);
		else
			add(m, BPF_LDX | BPF_MEM | size, some_dst(), base, off, 0);
		break;
	default:
		if (chance(30))
			add(m, BPF_STX | BPF_ATOMIC | (chance(50) ? BPF_W : BPF_DW), base,
			    some_dst(), off, chance(50) ? BPF_ADD : BPF_ADD | BPF_FETCH);
		else
			add(m, BPF_LDX | BPF_MEM | BPF_DW, some_dst(), base, off, 0);
	}
}

/* The distance is put right when the program is complete. */
static void add_jump(struct maker *m)
{
	static const uint8_t ops[] = { BPF_JEQ,	 BPF_JNE,  BPF_JGT,  BPF_JGE,  BPF_JLT,	 BPF_JLE,
				       BPF_JSGT, BPF_JSGE, BPF_JSLT, BPF_JSLE, BPF_JSET, BPF_JEQ };
	uint8_t op = ops[below(sizeof(ops))], class = chance(75) ? BPF_JMP : BPF_JMP32;

	if (chance(25))
		add(m, class | op | BPF_X, some_reg(), some_reg(), 1 + (int)below(6), 0);
	else
		add(m, class | op | BPF_K, chance(30) ? (int)R0 : some_reg(), 0, 1 + (int)below(6),
		    chance(40) ? 0 : some_number());
}

static void call(struct maker *m, int32_t helper)
{
	add(m, BPF_JMP | BPF_CALL, 0, 0, 0, helper);
	if (chance(60))
		add(m, BPF_ALU64 | BPF_MOV | BPF_X, R6 + (int)below(4), R0, 0, 0);
}

static void stack_address(struct maker *m, int dst)
{
	add(m, BPF_ALU64 | BPF_MOV | BPF_X, dst, R10, 0, 0);
	add(m, BPF_ALU64 | BPF_ADD | BPF_K, dst, 0, 0, some_slot());
}

static void add_map_call(struct maker *m)
{
	static const int32_t helpers[] = { BPF_FUNC_map_lookup_elem, BPF_FUNC_map_lookup_elem,
					   BPF_FUNC_map_lookup_elem, BPF_FUNC_map_update_elem,
					   BPF_FUNC_map_delete_elem };
	int32_t helper = helpers[below(sizeof(helpers) / sizeof(helpers[0]))];

	if (chance(80))
		add(m, BPF_ST | BPF_MEM | BPF_DW, R10, 0, some_slot(), (int32_t)below(3));
	load_map(m, R1, chance(50) ? "hash" : "array");
	stack_address(m, R2);
	if (helper == BPF_FUNC_map_update_elem) {
		stack_address(m, R3);
		add(m, BPF_ALU64 | BPF_MOV | BPF_K, R4, 0, 0, (int32_t)below(3));
	}
	call(m, helper);
	if (helper == BPF_FUNC_map_lookup_elem && chance(80))
		add(m, BPF_JMP | BPF_JEQ | BPF_K, chance(80) ? (int)R0 : some_reg(), 0,
		    1 + (int)below(5), 0);
}

static void add_ring_call(struct maker *m)
{
	load_map(m, R1, "ring");
	add(m, BPF_ALU64 | BPF_MOV | BPF_K, R2, 0, 0, 8 + 8 * (int32_t)below(3));
	add(m, BPF_ALU64 | BPF_MOV | BPF_K, R3, 0, 0, 0);
	call(m, BPF_FUNC_ringbuf_reserve);
	add(m, BPF_JMP | BPF_JEQ | BPF_K, R0, 0, chance(80) ? 5 : 3, 0);
	add(m, BPF_STX | BPF_MEM | BPF_DW, R0, R10, (int)below(3) * 8, 0);
	add(m, BPF_ALU64 | BPF_MOV | BPF_X, R1, R0, 0, 0);
	add(m, BPF_ALU64 | BPF_MOV | BPF_K, R2, 0, 0, 0);
	if (chance(85))
		add(m, BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_ringbuf_submit);
}

static void add_bytes_call(struct maker *m)
{
	stack_address(m, R1);
	if (chance(70))
		add(m, BPF_ALU64 | BPF_MOV | BPF_K, R2, 0, 0, 1 + (int32_t)below(24));
	else
		add(m, BPF_ALU64 | BPF_MOV | BPF_X, R2, some_reg(), 0, 0);
	if (chance(50)) {
		call(m, BPF_FUNC_get_current_comm);
		return;
	}
	add(m, BPF_ALU64 | BPF_MOV | BPF_X, R3, some_reg(), 0, 0);
	call(m, chance(50) ? BPF_FUNC_probe_read_kernel : BPF_FUNC_probe_read_kernel_str);
}

static void add_number_call(struct maker *m)
{
	static const int32_t helpers[] = { BPF_FUNC_ktime_get_ns, BPF_FUNC_get_current_pid_tgid,
					   BPF_FUNC_get_smp_processor_id, BPF_FUNC_get_prandom_u32,
					   BPF_FUNC_get_current_task };

	call(m, helpers[below(sizeof(helpers) / sizeof(helpers[0]))]);
}

static void add_context(struct maker *m)
{
	add(m, BPF_LDX | BPF_MEM | BPF_DW, some_dst(), chance(70) ? (int)R1 : some_reg(),
	    8 * (int)below(21), 0);
}

static void add_something(struct maker *m)
{
	uint32_t dice = below(100);

	if (dice < 25)
		add_arithmetic(m);
	else if (dice < 40)
		add_move(m);
	else if (dice < 60)
		add_memory(m);
	else if (dice < 78)
		add_jump(m);
	else if (dice < 86)
		add_map_call(m);
	else if (dice < 92)
		add_number_call(m);
	else if (dice < 95)
		add_bytes_call(m);
	else if (dice < 97)
		add_ring_call(m);
	else
		add_context(m);
}

/* No jump leads beyond the end, nor into the second slot of a constant. */
static void repair_jumps(struct maker *m)
{
	for (uint32_t i = 0; i < m->n; i++) {
		struct bpf_insn *insn = &m->lines[i].insn;
		uint8_t class = BPF_CLASS(insn->code);
		uint32_t target = i, slots = 0;

		if ((class != BPF_JMP && class != BPF_JMP32) || BPF_OP(insn->code) == BPF_CALL ||
		    BPF_OP(insn->code) == BPF_EXIT)
			continue;
		for (int lines = insn->off; lines >= 0 && target + 2 < m->n; lines--) {
			target++;
			if (lines)
				slots += m->lines[target].kind == ASM_LD_MAP ? 2 : 1;
		}
		insn->off = (int16_t)slots;
		asm_disasm(NULL, insn, 1, 0, m->texts[i], sizeof(m->texts[i]));
	}
}

static void make(struct maker *m)
{
	uint32_t lines = 3 + below(28);

	m->n = 0;
	if (chance(90)) {
		add(m, BPF_ALU64 | BPF_MOV | BPF_X, R6, R1, 0, 0);
		add(m, BPF_ALU64 | BPF_MOV | BPF_K, R7, 0, 0, some_number());
		call(m, BPF_FUNC_get_prandom_u32);
		add(m, BPF_ALU64 | BPF_MOV | BPF_X, R8, R0, 0, 0);
		add(m, BPF_ALU64 | BPF_MOV | BPF_K, R9, 0, 0, some_number());
	}
	for (int slot = -8; slot >= -32; slot -= 8)
		if (chance(80))
			add(m, BPF_ST | BPF_MEM | BPF_DW, R10, 0, slot, (int32_t)below(3));
	while (m->n < lines)
		add_something(m);
	m->n = m->n > MAX_LINES - 3 ? MAX_LINES - 3 : m->n;
	if (chance(95))
		add(m, BPF_ALU64 | BPF_MOV | BPF_K, R0, 0, 0, 0);
	add(m, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	repair_jumps(m);
}

/* ---- both opinions */

static const struct asm_map maps[] = {
	{ .name = "hash",
	  .type = BPF_MAP_TYPE_HASH,
	  .key_size = 8,
	  .value_size = 16,
	  .max_entries = 8 },
	{ .name = "array",
	  .type = BPF_MAP_TYPE_ARRAY,
	  .key_size = 4,
	  .value_size = 24,
	  .max_entries = 2 },
	{ .name = "ring", .type = BPF_MAP_TYPE_RINGBUF, .max_entries = 4096 },
};
static int fds[3];

static char log_text[1 << 20];

static int load(const struct asm_image *image, uint32_t level)
{
	union bpf_attr attr = { .prog_type = BPF_PROG_TYPE_KPROBE,
				.insns = (uintptr_t)image->insns,
				.insn_cnt = image->ninsns,
				.license = (uintptr_t) "GPL",
				.log_level = level,
				.log_buf = level ? (uintptr_t)log_text : 0,
				.log_size = level ? sizeof(log_text) : 0 };

	return (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

struct verdict {
	int errors;
	char text[4096];
};

static void note(void *ctx, const struct asm_diag *diag)
{
	struct verdict *v = ctx;
	size_t used = strlen(v->text);

	if (diag->severity != ASM_ERROR || strstr(diag->message, "never written"))
		return;
	v->errors++;
	snprintf(v->text + used, sizeof(v->text) - used, "%u: %s: %s\n", diag->line, diag->text,
		 diag->message);
}

static void show(const struct maker *m, const struct asm_image *image)
{
	for (uint32_t slot = 0; slot < image->ninsns; slot++)
		if (image->text_of[slot])
			printf("line %u, slot %u: %s\n", m->lines[image->line_of[slot]].line, slot,
			       image->text_of[slot]);
}

static uint32_t setting(const char *name, uint32_t otherwise)
{
	const char *value = getenv(name);

	return value ? (uint32_t)strtoul(value, NULL, 0) : otherwise;
}

START_TEST(says_nothing_of_what_the_verifier_takes)
{
	const struct asm_bindings bindings = { .maps = maps, .map_fds = fds, .nmaps = 3 };
	uint32_t programs = setting("LINT_PROGRAMS", 20000), taken = 0, agreed = 0;
	static struct maker m;

	random_state = setting("LINT_SEED", 1) * UINT64_C(0x9e3779b97f4a7c15) + 1;
	for (int i = 0; i < 3; i++) {
		fds[i] = rp_map_create(&maps[i]);
		ck_assert_int_ge(fds[i], 0);
	}
	for (uint32_t i = 0; i < programs; i++) {
		struct asm_program program = { .name = "random", .type = BPF_PROG_TYPE_KPROBE };
		struct verdict v = { 0 };
		struct asm_image image;
		int fd;

		make(&m);
		program.lines = m.lines;
		program.nlines = m.n;
		ck_assert_int_eq(asm_assemble(&program, &bindings, &image, asm_diag_print, NULL),
				 0);
		fd = load(&image, 0);
		ck_assert_int_ge(asm_lint(&image, &bindings, note, &v), 0);
		if (fd >= 0 && v.errors) {
			show(&m, &image);
			close(load(&image, 2));
			printf("%s", log_text);
		}
		ck_assert_msg(fd < 0 || !v.errors, "program %u is taken by the verifier, but: %s",
			      i, v.text);
		taken += fd >= 0;
		agreed += fd < 0 && v.errors;
		if (fd < 0 && !v.errors && setting("LINT_MISSED", 0)) {
			char *end, *at;

			load(&image, 1);
			end = strstr(log_text, "\nprocessed");
			if (end)
				*end = 0;
			at = strrchr(log_text, '\n');
			printf("missed: %s\n", at ? at + 1 : log_text);
		}
		if (fd >= 0)
			close(fd);
		asm_image_free(&image);
	}
	printf("%u programs: the verifier took %u, the lint saw what is wrong with %u of the other "
	       "%u\n",
	       programs, taken, agreed, programs - taken);
	/* Both happen, or the test tests nothing. */
	ck_assert_uint_gt(taken, programs / 50);
	ck_assert_uint_gt(agreed, (programs - taken) / 2);
	for (int i = 0; i < 3; i++)
		close(fds[i]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lint and verifier");
	TCase *tests = tcase_create("random programs");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tests, says_nothing_of_what_the_verifier_takes);
	tcase_set_timeout(tests, 0);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
