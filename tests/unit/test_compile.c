/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the DSL has the C compiler find out. Mistakes have to be refused with the words that say
 * what is wrong, at the line they are in; the same line without the mistake has to pass, and every
 * macro without a warning. Run at the top of the source tree.
 */
#include <check.h>
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static const char *const compilers[] = { "gcc", "clang" };

static bool have(const char *compiler)
{
	char command[64];

	snprintf(command, sizeof(command), "command -v %s >/dev/null", compiler);
	return system(command) == 0;
}

/* Its exit status; all it prints is in *said (freed by the caller). */
static int run(const char *command, char **said)
{
	FILE *pipe = popen(command, "r");
	size_t size = 0, n;
	char chunk[4096];

	ck_assert_ptr_nonnull(pipe);
	*said = calloc(1, 1);
	while ((n = fread(chunk, 1, sizeof(chunk), pipe)) > 0) {
		*said = realloc(*said, size + n + 1);
		ck_assert_ptr_nonnull(*said);
		memcpy(*said + size, chunk, n);
		(*said)[size += n] = '\0';
	}
	n = (size_t)pclose(pipe);
	ck_assert(WIFEXITED((int)n));
	return WEXITSTATUS((int)n);
}

struct mistake {
	const char *wrong, *right, *words;
};
#define NO_REGISTER "no such register: one of R0 to R10 belongs here"
#define A_REGISTER "a register where a number belongs: the _REG form takes a register"
static const struct mistake mistakes[] = {
	/* registers */
	{ "MOV(R10, 1)", "MOV(R9, 1)", "R10 is the frame pointer: it is read only" },
	{ "ADD_REG(R10, R1)", "ADD_REG(R1, R10)", "R10 is the frame pointer: it is read only" },
	{ "LDX(DW, R10, R1, 0)", "LDX(DW, R1, R10, -8)",
	  "R10 is the frame pointer: it is read only" },
	{ "LD_IMM64(R10, 0)", "LD_IMM64(R0, 0)", "R10 is the frame pointer: it is read only" },
	{ "LD_MAP(R10, m)", "LD_MAP(R1, m)", "R10 is the frame pointer: it is read only" },
	{ "NEG(R10)", "NEG(R1)", "R10 is the frame pointer: it is read only" },
	{ "LD_PARAM(R10, struct c, u32)", "LD_PARAM(R1, struct c, u32)",
	  "R10 is the frame pointer: it is read only" },
	{ "ATOMIC_FETCH_ADD(DW, R1, 0, R10)", "ATOMIC_ADD(DW, R1, 0, R10)",
	  "R10 is the frame pointer: it is read only" },
	{ "ATOMIC_XCHG(DW, R1, 0, R10)", "ATOMIC_XCHG(DW, R1, 0, R9)",
	  "R10 is the frame pointer: it is read only" },
	{ "MOV((enum asm_reg)(R10 + 1), 0)", "MOV((enum asm_reg)(R8 + 1), 0)", NO_REGISTER },
	{ "JEQ(R0 - 1, 0, l)", "JEQ(R0 + 1, 0, l)", NO_REGISTER },
	{ "MOV(0, 0)", "MOV(R0, 0)", NO_REGISTER },
	{ "MOV_REG(R1, 5)", "MOV(R1, 5)", NO_REGISTER },
	{ "MOV32_REG(R1, 5)", "MOV32(R1, 5)", NO_REGISTER },
	{ "ADD_REG(R1, KEY)", "ADD(R1, KEY)", NO_REGISTER },
	{ "RSH_REG(R1, 32)", "RSH(R1, 32)", NO_REGISTER },
	{ "NEG(1)", "NEG(R1)", NO_REGISTER },
	{ "MOVSX(R1, 2, 8)", "MOVSX(R1, R2, 8)", NO_REGISTER },
	{ "STX(DW, R10, -8, 0)", "ST(DW, R10, -8, 0)", NO_REGISTER },
	{ "STX(DW, 10, -8, R0)", "STX(DW, R10, -8, R0)", NO_REGISTER },
	{ "LDX(DW, R0, 1, 0)", "LDX(DW, R0, R1, 0)", NO_REGISTER },
	{ "ATOMIC_ADD(DW, R1, 0, 1)", "ATOMIC_ADD(DW, R1, 0, R1)", NO_REGISTER },
	{ "JEQ_REG(R1, 0, l)", "JEQ(R1, 0, l)", NO_REGISTER },
	{ "JSGT32_REG(R1, 0, l)", "JSGT32(R1, 0, l)", NO_REGISTER },
	{ "LD_FIELD(R1, 2, \"t\", \"m\")", "LD_FIELD(R1, R2, \"t\", \"m\")", NO_REGISTER },
	/* a register where an immediate belongs */
	{ "MOV(R0, R7)", "MOV_REG(R0, R7)", A_REGISTER },
	{ "MOV32(R0, R7)", "MOV32_REG(R0, R7)", A_REGISTER },
	{ "ADD(R0, R10)", "ADD_REG(R0, R10)", A_REGISTER },
	{ "ADD(R2, R10 - 512)", "ADD(R2, -512)", A_REGISTER },
	{ "SUB(R0, (enum asm_reg)(R1 + 1))", "SUB_REG(R0, (enum asm_reg)(R1 + 1))", A_REGISTER },
	{ "DIV(R0, R1)", "DIV_REG(R0, R1)", A_REGISTER },
	{ "SMOD32(R0, R1)", "SMOD32_REG(R0, R1)", A_REGISTER },
	{ "AND(R0, R1)", "AND_REG(R0, R1)", A_REGISTER },
	{ "XOR32(R0, R0)", "XOR32_REG(R0, R0)", A_REGISTER },
	{ "LSH(R0, R1)", "LSH_REG(R0, R1)", A_REGISTER },
	{ "ARSH32(R0, R1)", "ARSH32_REG(R0, R1)", A_REGISTER },
	{ "JEQ(R0, R1, l)", "JEQ_REG(R0, R1, l)", A_REGISTER },
	{ "JSET(R0, R1, l)", "JSET_REG(R0, R1, l)", A_REGISTER },
	{ "JLT32(R0, R1, l)", "JLT32_REG(R0, R1, l)", A_REGISTER },
	{ "ST(DW, R10, -8, R1)", "STX(DW, R10, -8, R1)", A_REGISTER },
	{ "ST(B, R1, 0, R0)", "STX(B, R1, 0, R0)", A_REGISTER },
	{ "LD_IMM64(R0, R1)", "LD_IMM64(R0, 0x1b8df0001b8df000)", A_REGISTER },
	{ "MOV(R0, -R1)", "JEQ32(R0, 0x52656164, out), LABEL(out)", A_REGISTER },
	{ "LD_MAP_VALUE(R0, m, R1)", "LD_MAP_VALUE(R0, m, sizeof(struct c64))", A_REGISTER },
	{ "MAP_UPDATE(m, KEY, KEY, R1)", "MAP_UPDATE(m, KEY, KEY, BPF_ANY)", A_REGISTER },
	{ "RING_SUBMIT(0, 0)", "RING_SUBMIT(R0, 0)", NO_REGISTER },
	/* immediates */
	{ "AND(R0, 0xffffffff)", "AND32(R0, 0xffffffff)",
	  "immediate does not fit 32 bits, which are sign-extended to 64: use LD_IMM64 and the "
	  "_REG form" },
	{ "MOV(R0, 0x80000000)", "MOV(R0, 0x7fffffff)", "immediate does not fit 32 bits" },
	{ "MOV(R0, -2147483649LL)", "MOV(R0, -2147483648LL)", "immediate does not fit 32 bits" },
	{ "JGT(R0, 4294967295, l)", "JGT32(R0, 4294967295, l)", "immediate does not fit 32 bits" },
	{ "ADD32(R0, 4294967296)", "ADD32(R0, 4294967295)", "immediate does not fit 32 bits" },
	{ "MOV32(R0, -2147483649LL)", "MOV32(R0, -2147483648LL)",
	  "immediate does not fit 32 bits" },
	{ "JEQ32(R0, 0x100000000, l)", "JEQ32(R0, 0xffffffff, l)",
	  "immediate does not fit 32 bits" },
	{ "LSH(R0, 64)", "LSH(R0, 63)", "shift by as many bits as there are, or more" },
	{ "RSH32(R0, 32)", "RSH32(R0, 31)", "shift by as many bits as there are, or more" },
	{ "ARSH(R0, -1)", "ARSH(R0, 0)", "shift by as many bits as there are, or more" },
	{ "DIV(R0, 0)", "DIV(R0, 1)", "division by zero: the verifier refuses it" },
	{ "MOD(R0, 0)", "MOD(R0, 1)", "division by zero: the verifier refuses it" },
	{ "SDIV32(R0, 0)", "SDIV32(R0, -1)", "division by zero: the verifier refuses it" },
	{ "SMOD(R0, 0)", "SMOD(R0, -1)", "division by zero: the verifier refuses it" },
	{ "ST(B, R1, 0, 256)", "ST(B, R1, 0, 255)", "immediate does not fit what is stored" },
	{ "ST(B, R1, 0, -129)", "ST(B, R1, 0, -128)", "immediate does not fit what is stored" },
	{ "ST(H, R1, 0, 65536)", "ST(H, R1, 0, 65535)", "immediate does not fit what is stored" },
	{ "ST(W, R1, 0, 0x100000000)", "ST(W, R1, 0, 0xffffffff)",
	  "immediate does not fit what is stored" },
	{ "ST(DW, R1, 0, 0xffffffff)", "ST(DW, R1, 0, 0x7fffffff)",
	  "immediate does not fit what is stored" },
	/* memory */
	{ "LDX(W, R0, R1, R2)", "LDX(W, R0, R1, (long long)-8)", "offset does not fit 16 bits" },
	{ "LDX(W, R0, R1, 40000)", "LDX(W, R0, R1, 32767)", "offset does not fit 16 bits" },
	{ "LDX(W, R0, R1, offsetof(struct c, beyond))", "LDX(W, R0, R1, offsetof(struct c, u32))",
	  "offset does not fit 16 bits" },
	{ "STX(W, R1, -32769, R0)", "STX(W, R1, -32768, R0)", "offset does not fit 16 bits" },
	{ "STX(DW, R10, -520, R0)", "STX(DW, R10, -512, R0)",
	  "outside the stack frame: R10-512 up to R10-1" },
	{ "STX(DW, R10, 0, R0)", "STX(DW, R10, -8, R0)",
	  "outside the stack frame: R10-512 up to R10-1" },
	{ "LDX(DW, R0, R10, -4)", "LDX(W, R0, R10, -4)",
	  "outside the stack frame: R10-512 up to R10-1" },
	{ "STX(DW, R10, -12, R0)", "STX(W, R10, -12, R0)",
	  "misaligned stack access: the offset must be a multiple of the size" },
	{ "ST(H, R10, -3, 0)", "ST(B, R10, -3, 0)",
	  "misaligned stack access: the offset must be a multiple of the size" },
	{ "ATOMIC_ADD(W, R10, -6, R1)", "ATOMIC_ADD(W, R10, -8, R1)",
	  "misaligned stack access: the offset must be a multiple of the size" },
	{ "ATOMIC_ADD(B, R1, 0, R2)", "ATOMIC_ADD(W, R1, 0, R2)",
	  "atomic operations are W or DW wide" },
	{ "ATOMIC_CMPXCHG(H, R1, 0, R2)", "ATOMIC_CMPXCHG(DW, R1, 0, R2)",
	  "atomic operations are W or DW wide" },
	{ "LDXS(DW, R1, R2, 0)", "LDX(DW, R1, R2, 0)", "no such width" },
	{ "LDX(Q, R1, R2, 0)", "LDX(W, R1, R2, 0)", "BPF_Q" },
	{ "ZERO(-8, 9)", "ZERO(-8, 8)", "beyond the stack frame" },
	{ "ZERO(-8, 0)", "ZERO(-8, 1)", "beyond the stack frame" },
	{ "ZERO(-513, 8)", "ZERO(-512, 8)", "outside the stack frame: R10-512 up to R10-1" },
	{ "ZERO_FRAME(struct large)", "ZERO_FRAME(struct c64)", "outside the stack frame" },
	/* widths */
	{ "MOVSX32(R1, R2, 32)", "MOVSX(R1, R2, 32)", "no such width" },
	{ "MOVSX(R1, R2, 64)", "MOV_REG(R1, R2)", "no such width" },
	{ "BSWAP(R1, 8)", "BSWAP(R1, 16)", "no such width" },
	{ "TO_BE(R1, 24)", "TO_BE(R1, 32)", "no such width" },
	/* names */
	{ "CALL(get_stakid)", "CALL(get_stackid)", "ASM_HELPER_get_stakid" },
	{ "LD_PARAM(R1, struct c, u23)", "LD_PARAM(R1, struct c, u32)", "u23" },
	{ "LD_PARAM(R1, struct c, array[0])", "LD_PARAM(R1, struct c, array[0].x)",
	  "a parameter is a number" },
	{ "LD_ARG(R1, R6, 0)", "LD_ARG(R1, R6, 1)", "arguments 1 to 6" },
	{ "LD_ARG(R1, R6, 7)", "LD_ARG(R1, R6, 6)", "arguments 1 to 6" },
	{ "MOV(R1, FRAME(struct large, x))", "MOV(R1, FRAME(struct c64, x))",
	  "the stack frame holds 512 bytes" },
	{ "MOV(R1, FRAME(struct odd, x))", "MOV(R1, FRAME(struct c64, x))",
	  "the size of the frame must be a multiple of 8" },
};

/* Each on a line of its own of a file "mistakes", which is its number from 1. */
static void write_snippets(FILE *file, bool wrong)
{
	fputs("#include <rawprof/asm.h>\n"
	      "struct c { uint32_t u32; struct { uint32_t x, y, z; } array[3000]; int beyond; };\n"
	      "struct c64 { uint64_t x[64]; };\n"
	      "struct large { uint64_t x[65]; };\n"
	      "struct odd { uint32_t x; };\n"
	      "enum { KEY = -8 };\n"
	      "#line 1 \"mistakes\"\n",
	      file);
	for (size_t i = 0; i < COUNT_OF(mistakes); i++)
		fprintf(file,
			"extern const struct asm_insn l%zu[]; const struct asm_insn l%zu[] = { %s "
			"};\n",
			i, i, wrong ? mistakes[i].wrong : mistakes[i].right);
}

/* Compiles all snippets at once; the result as run(). */
static int compile(const char *compiler, bool wrong, char **said)
{
	char path[] = "/tmp/rawprof-compile-XXXXXX", command[512];
	int fd = mkstemp(path), status;
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

	ck_assert_ptr_nonnull(file);
	write_snippets(file, wrong);
	ck_assert_int_eq(fclose(file), 0);
	/* gcc names the place in the header first, unless told to forget how macros expand. */
	snprintf(command, sizeof(command),
		 "LC_ALL=C %s -std=gnu11 -Iinclude -Wall -Wextra -Werror -fsyntax-only %s -x c %s "
		 "2>&1",
		 compiler,
		 strcmp(compiler, "gcc") ? "-ferror-limit=0 -fno-caret-diagnostics"
					 : "-ftrack-macro-expansion=0 -fno-diagnostics-show-caret",
		 path);
	status = run(command, said);
	unlink(path);
	return status;
}

/* Is there a line "mistakes:NUMBER:…error:…words…"? */
static bool says(const char *said, size_t number, const char *words)
{
	char start[32];

	snprintf(start, sizeof(start), "mistakes:%zu:", number);
	for (const char *at = said; (at = strstr(at, start)) != NULL; at += strlen(start)) {
		size_t length = strcspn(at, "\n");
		char line[1024];

		snprintf(line, sizeof(line), "%.*s", (int)length, at);
		if ((at == said || at[-1] == '\n') && strstr(line, "error:") && strstr(line, words))
			return true;
	}
	return false;
}

START_TEST(mistakes_are_refused)
{
	char *said;

	if (!have(compilers[_i])) {
		printf("skip: no %s here\n", compilers[_i]);
		return;
	}
	ck_assert_int_ne(compile(compilers[_i], true, &said), 0);
	for (size_t i = 0; i < COUNT_OF(mistakes); i++)
		ck_assert_msg(says(said, i + 1, mistakes[i].words),
			      "%s, mistake %zu, %s: not \"%s\"", compilers[_i], i + 1,
			      mistakes[i].wrong, mistakes[i].words);
	free(said);
}
END_TEST

START_TEST(what_is_right_passes)
{
	char *said;
	int status;

	if (!have(compilers[_i])) {
		printf("skip: no %s here\n", compilers[_i]);
		return;
	}
	status = compile(compilers[_i], false, &said);
	ck_assert_msg(status == 0, "%s: %s", compilers[_i], said);
	ck_assert_str_eq(said, "");
	free(said);
}
END_TEST

/* ---- in few lines */

/* How many lines a compiler prints, by default, of a program with the snippet in its midst. */
static unsigned int lines_about(const char *compiler, const char *snippet, char **said)
{
	char path[] = "/tmp/rawprof-lines-XXXXXX", command[256];
	int fd = mkstemp(path);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	unsigned int lines = 0;

	ck_assert_ptr_nonnull(file);
	fprintf(file,
		"#include <rawprof/asm.h>\n"
		"struct c { uint32_t u32; };\n"
		"enum { KEY = -8 };\n"
		"const struct asm_insn l[] = {\n\tMOV(R0, 0),\n\t%s,\n\tMOV(R0, 0),\n\tEXIT(),\n"
		"};\n",
		snippet);
	ck_assert_int_eq(fclose(file), 0);
	snprintf(command, sizeof(command),
		 "LC_ALL=C %s -std=gnu11 -Iinclude -Wall -Wextra -fsyntax-only -x c %s 2>&1",
		 compiler, path);
	ck_assert_msg(run(command, said) != 0, "%s: %s is not refused", compiler, snippet);
	unlink(path);
	for (const char *at = *said; (at = strchr(at, '\n')) != NULL; at++)
		lines++;
	return lines;
}

START_TEST(a_mistake_costs_few_lines)
{
	/* A name that does not exist costs what one error costs, however often a macro uses it. */
	static const struct {
		const char *snippet;
		unsigned int lines[COUNT_OF(compilers)];
	} cases[] = {
		{ "CALL(get_stakid)", { 5, 13 } },
		{ "MOV(R11, 0)", { 5, 8 } },
		{ "MOV(R0, nokey)", { 5, 8 } },
		{ "MOV(R0, R1)", { 5, 24 } },
		{ "MOV_REG(R0, 1)", { 5, 24 } },
		{ "STX(DW, R10, nokey, R1)", { 5, 10 } },
		{ "STX(DW, R10, -8, 0)", { 5, 24 } },
		{ "STX(DW, R10, -520, R1)", { 5, 24 } },
		{ "LDX(Q, R0, R10, -8)", { 5, 100 } },
		{ "ADD(R10, 8)", { 5, 24 } },
		{ "MOVE(R0, 1)", { 12, 12 } },
		{ "MAP_LOKUP(counts, KEY)", { 10, 12 } },
		{ "MAP_ADD(counts, KEY)", { 11, 11 } },
		{ "MAP_ADD(counts, nokey, KEY)", { 5, 20 } },
		{ "LOG2(R11, R1, R2, R3)", { 5, 24 } },
		{ "MAP_UPDATE(counts, KEY, KEY, BPF_ALL)", { 5, 130 } },
		{ "LD_PARAM(R1, struct c, u23)", { 14, 60 } },
	};
	unsigned int lines;
	char *said;

	if (!have(compilers[_i])) {
		printf("skip: no %s here\n", compilers[_i]);
		return;
	}
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		lines = lines_about(compilers[_i], cases[i].snippet, &said);
		ck_assert_msg(lines <= cases[i].lines[_i], "%s, %s: %u lines:\n%s", compilers[_i],
			      cases[i].snippet, lines, said);
		free(said);
	}
}
END_TEST

/* ---- every macro */

static char *read_file(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = calloc(1, 1 << 17);

	ck_assert_msg(file != NULL, "%s: run this at the top of the source tree", path);
	ck_assert_ptr_nonnull(text);
	ck_assert_uint_lt(fread(text, 1, (1 << 17) - 1, file), (1 << 17) - 1);
	fclose(file);
	return text;
}

/* Is a line "\tNAME(…" or "\tNAME,…" in the text? */
static bool uses(const char *text, const char *name, size_t length)
{
	for (const char *at = text; (at = strstr(at, "\n\t")) != NULL; at++)
		if (!strncmp(at + 2, name, length) && strchr("(,", at[2 + length]))
			return true;
	return false;
}

START_TEST(no_macro_is_left_out)
{
	static const char *const headers[] = { "include/rawprof/isa.h",
					       "include/rawprof/macros.h" };
	char *text = read_file("tests/unit/every_macro.c");
	unsigned int macros = 0;

	for (size_t i = 0; i < COUNT_OF(headers); i++) {
		char *header = read_file(headers[i]);

		for (char *at = header; (at = strstr(at, "\n#define ")) != NULL; at++) {
			const char *name = at + strlen("\n#define ");
			size_t length = 0;

			while (isalnum((unsigned char)name[length]) || name[length] == '_')
				length++;
			/* Guards and helpers; and FRAME is a number, used in the numbers there. */
			if (!strncmp(name, "ASM_", 4) || !strncmp(name, "RAWPROF_", 8) ||
			    !strncmp(name, "FRAME(", 6))
				continue;
			ck_assert_msg(uses(text, name, length), "%.*s is not in every_macro.c",
				      (int)length, name);
			macros++;
		}
		free(header);
	}
	ck_assert_uint_gt(macros, 150);
	free(text);
}
END_TEST

START_TEST(no_macro_makes_a_warning)
{
	char command[512], *said;
	int status;

	if (!have(compilers[_i])) {
		printf("skip: no %s here\n", compilers[_i]);
		return;
	}
	snprintf(command, sizeof(command),
		 "%s -std=c11 -Iinclude -DASM_SHOW_EXPANSION -Wall -Wextra -Wpedantic -Wshadow "
		 "-Wconversion "
		 "-fsyntax-only tests/unit/every_macro.c 2>&1",
		 compilers[_i]);
	status = run(command, &said);
	ck_assert_msg(status == 0 && !*said, "%s: %s", compilers[_i], said);
	free(said);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("asm: what the compiler finds out");
	TCase *tc = tcase_create("compile");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, mistakes_are_refused, 0, COUNT_OF(compilers));
	tcase_add_loop_test(tc, what_is_right_passes, 0, COUNT_OF(compilers));
	tcase_add_loop_test(tc, a_mistake_costs_few_lines, 0, COUNT_OF(compilers));
	tcase_add_test(tc, no_macro_is_left_out);
	tcase_add_loop_test(tc, no_macro_makes_a_warning, 0, COUNT_OF(compilers));
	suite_add_tcase(suite, tc);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
