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
	{ "MOV(11, 0)", "MOV(0, 0)", "no such register" },
	{ "MOV_REG(R0, 11)", "MOV_REG(R0, 9)", "no such register" },
	{ "JEQ(-1, 0, l)", "JEQ(1, 0, l)", "no such register" },
	/* immediates */
	{ "AND(R0, 0xffffffff)", "AND32(R0, 0xffffffff)",
	  "immediate does not fit 32 bits, which are sign-extended to 64: use LD_IMM64 and the _REG form" },
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
	      "#line 1 \"mistakes\"\n",
	      file);
	for (size_t i = 0; i < COUNT_OF(mistakes); i++)
		fprintf(file,
			"extern const struct asm_insn l%zu[]; const struct asm_insn l%zu[] = { %s };\n",
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
	snprintf(
		command, sizeof(command),
		"LC_ALL=C %s -std=gnu11 -Iinclude -Wall -Wextra -Werror -fsyntax-only %s -x c %s 2>&1",
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
	static const char *const headers[] = { "include/rawprof/isa.h", "include/rawprof/bound.h",
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
		 "%s -std=c11 -Iinclude -Wall -Wextra -Wpedantic -Wshadow -Wconversion "
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
	tcase_add_test(tc, no_macro_is_left_out);
	tcase_add_loop_test(tc, no_macro_makes_a_warning, 0, COUNT_OF(compilers));
	suite_add_tcase(suite, tc);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
