/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where probes go, on functions assembled for it: each rule that keeps one at the entry, and each
 * that lets it move; and the returns. */
#include <check.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rawprof/loader.h>
#include <rawprof/symbolize.h>
#include <rawprof/uprobe.h>

static char dir[] = "/tmp/test_uprobe_place.XXXXXX";

/* A kernel that has nothing but what the test wants to hear of nops. */
static int no_bpf(int cmd, void *attr, uint32_t size)
{
	(void)cmd;
	(void)attr;
	(void)size;
	return -EPERM;
}

static int new_uprobe(void)
{
	return -ENXIO;
}

static void become(bool new)
{
	static const struct rp_sys old_kernel = { .bpf = no_bpf };
	static const struct rp_sys new_kernel = { .bpf = no_bpf, .uprobe = new_uprobe };

	rp_sys_replace(new ? &new_kernel : &old_kernel);
}

static void shell(const char *format, ...)
{
	char command[512];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	ck_assert_msg(system(command) == 0, "%s", command);
}

static bool have(const char *tool)
{
	char command[128];

	snprintf(command, sizeof(command), "command -v %s >/dev/null", tool);
	if (!system(command))
		return true;
	printf("skip: there is no %s\n", tool);
	return false;
}

struct expected {
	const char *name, *lines;
	uint32_t offset, sp_delta;
	enum rp_step step;
	const char *why; /* some words of it */
	uint32_t nreturns;
	bool complete;
	uint8_t nargs;
	bool with_return;
	uint32_t njumps; /* out of it */
	bool if_taken;	 /* the first of them is conditional */
	bool is_go;
};

/* clang-format off */
static const struct expected x86[] = {
	{ "push", "push %rbp; pop %rbp; ret", 0, 0, RP_STEP_EMULATED, "+0 push, emulated", 1, true },
	{ "endbr", "endbr64; push %rbp; pop %rbp; ret", 4, 0, RP_STEP_EMULATED, "+4 push, emulated, instead of +0 endbr64", 1, true },
	{ "free_like", "test %rdi, %rdi; je 1f; nop; 1: ret", 3, 0, RP_STEP_EMULATED, "+3 conditional jump", 1, true },
	{ "stack", "sub $24, %rsp; test %rdi, %rdi; je 1f; nop; 1: add $24, %rsp; ret", 7, 24, RP_STEP_EMULATED, "+7", 1, true },
	{ "stack_lea", "lea -200(%rsp), %rsp; je 1f; 1: lea 200(%rsp), %rsp; ret", 8, 200, RP_STEP_EMULATED, "+8", 1, true },
	{ "stack_return", "sub $24, %rsp; je 1f; 1: add $24, %rsp; ret", 0, 0, RP_STEP_SINGLE, "stack pointer", 1, true, .with_return = true },
	{ "argument", "mov $5, %esi; je 1f; 1: ret", 0, 0, RP_STEP_SINGLE, "changes an argument", 1, true },
	{ "argument_spare", "mov $5, %esi; je 1f; 1: ret", 5, 0, RP_STEP_EMULATED, "+5", 1, true, .nargs = 1 },
	{ "store", "mov %rdi, -8(%rsp); je 1f; 1: ret", 0, 0, RP_STEP_SINGLE, "changes more", 1, true },
	{ "kept", "mov %rsp, %r10; mov %rsp, %rbx; je 1f; 1: ret", 0, 0, RP_STEP_SINGLE, "changes more", 1, true },
	{ "fault", "cmpl $0, (%rdi); je 1f; 1: ret", 0, 0, RP_STEP_SINGLE, "changes more", 1, true },
	{ "loop_to_place", "test %rdi, %rdi; 1: je 2f; dec %rdi; jmp 1b; 2: ret", 0, 0, RP_STEP_SINGLE, "jumps to it", 1, true },
	{ "loop_between", "mov %rdi, %rax; 1: test %rax, %rax; je 2f; dec %rax; jmp 1b; 2: ret", 0, 0, RP_STEP_SINGLE, "jumps to it", 1, true },
	{ "loop_to_entry", "1: test %rdi, %rdi; je 2f; dec %rdi; jmp 1b; 2: ret", 3, 0, RP_STEP_EMULATED, "+3", 1, true },
	{ "loop_behind", "test %rdi, %rdi; je 2f; 1: dec %rdi; jne 1b; 2: ret", 3, 0, RP_STEP_EMULATED, "+3", 1, true },
	{ "into_the_middle", "xor %eax, %eax; test $0x90909090, %eax; je 2f; jmp .-5; 2: ret", 0, 0, RP_STEP_SINGLE, "jumps to it", 1, true },
	/* what follows the ret is a handler that comes back to the prologue */
	{ "unreachable", "test %rdi, %rdi; 1: je 2f; nop; 2: ret; inc %rax; jmp 1b", 0, 0, RP_STEP_SINGLE, "jumps to it", 1, true },
	{ "table", "test %rdi, %rdi; je 1f; jmp *%rax; 1: ret", 0, 0, RP_STEP_SINGLE, "computed address", 1, false },
	{ "tail_memory", "test %rdi, %rdi; je 1f; jmp *push(%rip); 1: ret", 3, 0, RP_STEP_EMULATED, "+3", 1, false, .njumps = 1 },
	{ "tail", "test %rdi, %rdi; je push; ret", 3, 0, RP_STEP_EMULATED, "+3", 1, false, .njumps = 1, .if_taken = true },
	{ "unknown", "test %rdi, %rdi; je 1f; .byte 0x06; 1: ret", 0, 0, RP_STEP_SINGLE, "not known", 1, false },
	{ "data_behind_jump", "test %rdi, %rdi; je 1f; jmp 1f; .byte 0x06, 0x06; 1: ret", 3, 0, RP_STEP_EMULATED, "+3", 1, true },
	{ "entered_near", "xor %eax, %eax; .Lnear: test %rdi, %rdi; je 1f; nop; 1: ret", 0, 0, RP_STEP_SINGLE, "jumps to it", 1, true },
	{ "enters_near", "mov $1, %eax; jmp .Lnear", 5, 0, RP_STEP_EMULATED, "+5 jmp", 0, false, .njumps = 1 },
	{ "entered_far", "xor %eax, %eax; .Lfar: test %rdi, %rdi; je 1f; nop; 1: ret", 0, 0, RP_STEP_SINGLE, "jumps to it", 1, true },
	{ "far_away", "push %rbp; .skip 3000, 0x90; pop %rbp; ret", 0, 0, RP_STEP_EMULATED, "+0 push", 1, true },
	{ "enters_far", "mov $1, %eax; jmp .Lfar", 5, 0, RP_STEP_EMULATED, "+5 jmp", 0, false, .njumps = 1 },
	/* another symbol, which is called by its address, begins between entry and place */
	{ "second_entry", "test %rdi, %rdi; .globl inner; .type inner, @function; inner: mov %rdi, %rax; je 1f; nop; 1: ret", 0, 0, RP_STEP_SINGLE, "another function", 1, true },
	{ "two_returns", "test %rdi, %rdi; je 1f; ret; 1: repz ret", 3, 0, RP_STEP_EMULATED, "+3", 2, true },
	{ "no_return", "push %rbp; 1: jmp 1b", 0, 0, RP_STEP_EMULATED, "+0 push", 0, false },
	{ "calls_abort", "test %rdi, %rdi; je 1f; ret; 1: push %rax; call push", 3, 0, RP_STEP_EMULATED, "+3", 1, true },
	{ "runs_on", "test %rdi, %rdi; je 1f; ret; 1: inc %eax", 3, 0, RP_STEP_EMULATED, "+3", 1, false },
#define X86_AGAIN "2: mov %rax, 8(%rsp); call push; mov 8(%rsp), %rax; jmp 1b"
	{ "go", "1: cmp 0x10(%r14), %rsp; jbe 2f; push %rbp; pop %rbp; ret; " X86_AGAIN, 6, 0, RP_STEP_EMULATED, "+6 push", 1, true, .with_return = true, .is_go = true },
	{ "go_large", "1: lea -0x80(%rsp), %r12; cmp 0x10(%r14), %r12; jbe 2f; push %rbp; pop %rbp; ret; " X86_AGAIN, 11, 0, RP_STEP_EMULATED, "+11 push", 1, true, .is_go = true },
	{ "go_huge", "1: mov %rsp, %r12; sub $0x8000, %r12; jb 2f; cmp 0x10(%r14), %r12; jbe 2f; push %rbp; pop %rbp; ret; " X86_AGAIN, 18, 0, RP_STEP_EMULATED, "+18 push", 1, true, .is_go = true },
	{ "go_small", "push %rbp; pop %rbp; ret", 0, 0, RP_STEP_EMULATED, "+0 push", 1, true, .is_go = true },
	{ "go_entered", "1: cmp 0x10(%r14), %rsp; jbe 2f; 3: push %rbp; pop %rbp; dec %rax; jne 3b; ret; " X86_AGAIN, 0, 0, RP_STEP_SINGLE, "", 1, true, .is_go = true },
	{ "not_go", "1: cmp 0x10(%r14), %rsp; jbe 2f; push %rbp; pop %rbp; ret; " X86_AGAIN, 0, 0, RP_STEP_SINGLE, "changes more", 1, true },
	{ "nothing_cheap", "mov %rdi, %rax; ret", 0, 0, RP_STEP_SINGLE, "ret is a jump", 1, true },
};

static const struct expected nops[] = {
	{ "nop5", ".byte 0x0f, 0x1f, 0x44, 0, 0; push %rbp; pop %rbp; ret", 0, 0, RP_STEP_CALL, "a call", 1, true },
	{ "endbr_nop5", "endbr64; .byte 0x0f, 0x1f, 0x44, 0, 0; push %rbp; pop %rbp; ret", 4, 0, RP_STEP_CALL, "+4 nop, a call", 1, true },
	{ "nop4", "nopl 0(%rax); push %rbp; pop %rbp; ret", 0, 0, RP_STEP_EMULATED, "+0 nop", 1, true },
};

/* Where the kernel steps nops, the probe goes past them. */
static const struct expected old_nops[] = {
	{ "nop5", NULL, 5, 0, RP_STEP_EMULATED, "+5 push", 1, true },
	{ "endbr_nop5", NULL, 9, 0, RP_STEP_EMULATED, "+9 push", 1, true },
	{ "nop4", NULL, 3, 0, RP_STEP_EMULATED, "+3 push", 1, true },
};

static const struct expected arm64[] = {
	{ "leaf", "cbz x0, 1f; add x0, x0, #1; 1: ret", 0, 0, RP_STEP_EMULATED, "+0", 1, true },
	{ "bti", "bti c; cbz x0, 1f; add x0, x0, #1; 1: ret", 4, 0, RP_STEP_EMULATED, "+4 conditional branch", 1, true },
	{ "frame", "stp x29, x30, [sp, #-16]!; ldp x29, x30, [sp], #16; ret", 0, 0, RP_STEP_SINGLE, "changes more", 1, true },
	{ "pac", "paciasp; cbz x0, 1f; 1: autiasp; ret", 0, 0, RP_STEP_SINGLE, "changes more", 1, true },
	{ "compare", "cmp x0, #3; b.hi 1f; 1: ret", 4, 0, RP_STEP_EMULATED, "+4", 1, true },
	{ "stack", "sub sp, sp, #48; adrp x9, leaf; add sp, sp, #48; ret", 4, 48, RP_STEP_EMULATED, "+4 adrp", 1, true },
	{ "result", "mov x8, x0; cbz x0, 1f; 1: ret", 0, 0, RP_STEP_SINGLE, "changes more", 1, true },
	{ "loop", "cmp x0, #3; 1: b.hi 2f; add x0, x0, #1; b 1b; 2: ret", 0, 0, RP_STEP_SINGLE, "jumps to it", 1, true },
	{ "entered", "mov x9, #1; .Lfar: cmp x0, #3; b.hi 2f; add x0, x0, x9; 2: ret", 0, 0, RP_STEP_SINGLE, "jumps to it", 1, true },
	{ "far_away", "nop; .skip 3000; ret", 0, 0, RP_STEP_EMULATED, "", 0, false },
	{ "enters", "mov x9, #2; b .Lfar", 4, 0, RP_STEP_EMULATED, "+4 b", 0, false, .njumps = 1 },
	{ "table", "cmp x0, #3; b.hi 1f; br x1; 1: ret", 0, 0, RP_STEP_SINGLE, "computed address", 1, false },
	{ "signed_return", "cmp x0, #3; b.hi 1f; 1: retaa", 4, 0, RP_STEP_EMULATED, "+4", 1, false },
	{ "go", "1: ldr x16, [x28, #16]; cmp sp, x16; b.ls 2f; mov x9, #1; ret; 2: str x0, [sp, #8]; mov x3, x30; bl leaf; ldr x0, [sp, #8]; b 1b", 12, 0, RP_STEP_SINGLE, "+12", 1, true, .is_go = true },
	{ "tail", "cmp x0, #3; b.hi leaf; ret", 4, 0, RP_STEP_EMULATED, "+4", 1, false, .njumps = 1, .if_taken = true },
};
/* clang-format on */

static int assemble(const char *tools, const char *flags, const struct expected *e, size_t n)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/code.s", dir);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	for (size_t i = 0; i < n; i++)
		fprintf(f,
			".text\n.p2align 4\n.globl %s\n.hidden %s\n.type %s, %%function\n%s: %s\n"
			".size %s, . - %s\n",
			e[i].name, e[i].name, e[i].name, e[i].name, e[i].lines, e[i].name,
			e[i].name);
	fclose(f);
	shell("%sas %s -o %s/code.o %s && %sld -shared -o %s/code.so %s/code.o", tools, flags, dir,
	      path, tools, dir, dir);
	snprintf(path, sizeof(path), "%s/code.so", dir);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static void check_one(int fd, const struct expected *e)
{
	struct sym_functions *found;
	struct rp_returns returns;
	struct rp_place place;
	struct rp_code *code;

	ck_assert_int_eq(sym_functions_find(fd, &e->name, 1, &found), 0);
	ck_assert_msg(found->count == 1, "%s: %zu", e->name, found->count);
	const struct rp_function f = { .offset = found->items[0].offset,
				       .size = found->items[0].size,
				       .alone = found->items[0].alone,
				       .nargs = e->nargs,
				       .with_return = e->with_return,
				       .is_go = e->is_go };

	ck_assert_int_eq(
		rp_code_open(fd, found->machine, found->text_offset, found->text_size, &code), 0);
	ck_assert_int_eq(rp_code_entry(code, &f, &place), 0);
	ck_assert_msg(place.offset == e->offset && place.sp_delta == e->sp_delta &&
			      place.step == e->step && strstr(place.why, e->why),
		      "%s: +%u, %u, step %d: %s", e->name, place.offset, place.sp_delta, place.step,
		      place.why);
	ck_assert_int_eq(rp_code_returns(code, &f, &returns), 0);
	ck_assert_msg(returns.n == e->nreturns && returns.complete == e->complete, "%s: %u, %d: %s",
		      e->name, returns.n, returns.complete, returns.why);
	for (uint32_t i = 1; i < returns.n; i++)
		ck_assert_uint_gt(returns.offsets[i], returns.offsets[i - 1]);
	ck_assert_msg(returns.njumps == e->njumps, "%s: %u jumps", e->name, returns.njumps);
	if (e->njumps)
		ck_assert(returns.only_jumps && returns.jumps[0].is_conditional == e->if_taken);
	rp_returns_free(&returns);
	rp_code_close(code);
	sym_functions_free(found);
}
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

START_TEST(test_x86)
{
	int fd;

#ifndef __x86_64__
	printf("skip: the assembler is of another machine\n");
	return;
#endif
	if (!have("ld"))
		return;
	become(true);
	fd = assemble("", "--64", x86, COUNT(x86));
	for (size_t i = 0; i < COUNT(x86); i++)
		check_one(fd, &x86[i]);
	close(fd);
}
END_TEST

START_TEST(test_nops)
{
	int fd;

#ifndef __x86_64__
	printf("skip: the assembler is of another machine\n");
	return;
#endif
	if (!have("ld"))
		return;
	fd = assemble("", "--64", nops, COUNT(nops));
	for (size_t i = 0; i < COUNT(nops); i++) {
		become(true);
		check_one(fd, &nops[i]);
		become(false);
		check_one(fd, &old_nops[i]);
	}
	close(fd);
}
END_TEST

START_TEST(test_arm64)
{
	int fd;

	if (!have("aarch64-linux-gnu-ld"))
		return;
	become(true);
	fd = assemble("aarch64-linux-gnu-", "-march=armv8.5-a", arm64, COUNT(arm64));
	for (size_t i = 0; i < COUNT(arm64); i++)
		check_one(fd, &arm64[i]);
	close(fd);
}
END_TEST

/* What cannot be looked into stays where it is; what makes no sense is refused. */
/*
 * The kernel looks at the opcode alone: with VEX or EVEX it is another instruction. Such a function
 * is not probed, with or without a size that is known.
 */
START_TEST(test_mistaken)
{
	static const struct {
		uint8_t code[8];
		int err;
	} rows[] = {
		/* clang-format off */
		{ { 0xc5, 0xf0, 0x57, 0xc9, 0xc3 }, -EOPNOTSUPP },		/* vxorps: push */
		{ { 0x62, 0xe2, 0x7d, 0x28, 0x7a, 0xce, 0xc3 }, -EOPNOTSUPP },	/* vpbroadcastb: jp */
		{ { 0xc4, 0xe1, 0x70, 0xc2, 0xc1, 0x00, 0xc3 }, -EOPNOTSUPP },	/* vcmpps: ret */
		{ { 0x8f, 0xe8, 0x78, 0xc2, 0xc1, 0x00, 0xc3 }, -EOPNOTSUPP },	/* XOP */
		{ { 0x8f, 0xc0, 0xff, 0xe0, 0xc3 }, 0 },			/* pop %rax */
		{ { 0x0f, 0x57, 0xc9, 0xc3 }, 0 },				/* xorps */
		{ { 0xf3, 0x0f, 0x1e, 0xfa, 0xc5, 0xf0, 0x57, 0xc9 }, 0 },	/* endbr64 first */
		/* clang-format on */
	};
	char path[64];

	snprintf(path, sizeof(path), "%s/mistaken", dir);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		struct rp_function f = { .offset = 0, .size = sizeof(rows[i].code) };
		struct rp_place place;
		struct rp_code *c = NULL;

		ck_assert_int_eq(pwrite(fd, rows[i].code, f.size, 0), f.size);
		ck_assert_int_eq(rp_code_open(fd, EM_X86_64, 0, f.size, &c), 0);
		ck_assert_int_eq(rp_code_entry(c, &f, &place), rows[i].err);
		f.size = 0;
		ck_assert_int_eq(rp_code_entry(c, &f, &place), rows[i].err);
		rp_code_close(c);
		close(fd);
	}
}
END_TEST

START_TEST(test_limits)
{
	static const uint8_t code[] = { 0x48, 0x85, 0xff, 0x74, 0x00, 0xc3 };
	struct rp_function f = { .offset = 100, .size = sizeof(code) };
	struct rp_returns returns = { 0 };
	struct rp_place place;
	struct rp_code *c = NULL;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "%s/limits", dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_eq(pwrite(fd, code, sizeof(code), 100), sizeof(code));
	ck_assert_int_eq(rp_code_open(fd, EM_X86_64, 0, 1ULL << 33, &c), -EINVAL);
	ck_assert_int_eq(rp_code_open(fd, EM_X86_64, UINT64_MAX - 5, 10, &c), -EINVAL);
	ck_assert_int_eq(rp_code_open(-1, EM_X86_64, 0, 10, &c), -EBADF);
	ck_assert_ptr_null(c);

	ck_assert_int_eq(rp_code_open(fd, EM_X86_64, 100, sizeof(code), &c), 0);
	ck_assert_int_eq(rp_code_entry(c, &f, &place), 0);
	ck_assert_uint_eq(place.offset, 3);
	f.size = 0;
	ck_assert_int_eq(rp_code_entry(c, &f, &place), 0);
	ck_assert_uint_eq(place.offset, 0);
	ck_assert_ptr_nonnull(strstr(place.why, "not known where the function ends"));
	f.size = sizeof(code) + 1; /* beyond the segment */
	ck_assert_int_eq(rp_code_entry(c, &f, &place), -EINVAL);
	f = (struct rp_function){ .offset = 99, .size = 2 };
	ck_assert_int_eq(rp_code_entry(c, &f, &place), -EINVAL);
	ck_assert_int_eq(rp_code_returns(c, &f, &returns), -EINVAL);
	ck_assert_ptr_null(returns.offsets);
	/* The file became shorter. */
	ck_assert_int_eq(ftruncate(fd, 102), 0);
	f = (struct rp_function){ .offset = 100, .size = sizeof(code) };
	ck_assert_int_eq(rp_code_entry(c, &f, &place), -EIO);
	rp_code_close(c);

	ck_assert_int_eq(rp_code_open(fd, EM_RISCV, 100, sizeof(code), &c), 0);
	ck_assert_int_eq(rp_code_entry(c, &f, &place), 0);
	ck_assert_uint_eq(place.offset, 0);
	ck_assert_int_eq(place.step, RP_STEP_UNKNOWN);
	rp_code_close(c);
	rp_code_close(NULL);
	close(fd);
}
END_TEST

static void make_dir(void)
{
	ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void remove_dir(void)
{
	shell("rm -r %s", dir);
}

int main(void)
{
	Suite *s = suite_create("places for probes");
	TCase *tc = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_add_unchecked_fixture(tc, make_dir, remove_dir);
	tcase_add_test(tc, test_x86);
	tcase_add_test(tc, test_nops);
	tcase_add_test(tc, test_arm64);
	tcase_add_test(tc, test_limits);
	tcase_add_test(tc, test_mistaken);
	suite_add_tcase(s, tc);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
