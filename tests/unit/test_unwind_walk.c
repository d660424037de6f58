/* SPDX-License-Identifier: BSD-2-Clause */
/* Walks over recorded registers and a recorded stack: every rule, and every way to end. */
#include "unwind_made.h"

enum {
	BIAS = 0x7f0000000000, /* where the file is mapped */
	STACK = 0x7ffe0000,    /* the lowest address of the recorded stack */
	WORDS = 128,
};

/* One function for each rule, 0x100 apart. */
enum {
	F_PLAIN = MADE_CODE,	  /* CFA = sp + 16, rbp at CFA - 16 */
	F_FP = MADE_CODE + 0x100, /* CFA = rbp + 16, rbp at CFA - 16 */
	F_STOP = MADE_CODE + 0x200,
	F_PLT = MADE_CODE + 0x300,
	F_DEREF_SP = MADE_CODE + 0x400, /* CFA = *(rsp + 8) + 8 */
	F_DEREF_FP = MADE_CODE + 0x500, /* CFA = *(rbp - 8), rbp at rbp + 0 */
	F_R10 = MADE_CODE + 0x600,	/* CFA = r10 + 0 */
	F_RDI = MADE_CODE + 0x700,	/* CFA = rsp, return address in rdi */
	F_UNSUP = MADE_CODE + 0x800,
	F_LOST = MADE_CODE + 0x900,	 /* CFA = sp + 8, rbp lost */
	F_LEAF = MADE_CODE + 0xa00,	 /* CFA = sp + 8, rbp as it is */
	F_NONE = MADE_CODE + 0xb08,	 /* no FDE */
	F_RBX = MADE_CODE + 0xc00,	 /* CFA = rbx + 16 */
	F_SAVES_RBX = MADE_CODE + 0xd00, /* CFA = sp + 16, rbx at CFA - 16 */
	F_BEYOND = MADE_CODE_END + 0x1000,
	F_SIGNAL = MADE_CODE + 0x2000,
	F_TRAMPOLINE = 0x100000, /* a segment of its own */
	F_JIT = 0x200000,
};

static const struct {
	uint64_t start;
	uint8_t insns[16], n;
} functions[] = {
	{ F_PLAIN, { 0x0e, 16, 0x86, 2 }, 4 },
	{ F_FP, { 0x0c, 6, 16, 0x86, 2 }, 5 },
	{ F_STOP, { 0x07, 16 }, 2 },
	{ F_PLT, { 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22 }, 13 },
	{ F_DEREF_SP, { 0x0f, 5, 0x77, 8, 0x06, 0x23, 8 }, 7 },
	{ F_DEREF_FP, { 0x10, 6, 2, 0x76, 0, 0x0f, 3, 0x76, 0x78, 0x06 }, 10 },
	{ F_R10, { 0x0c, 10, 0 }, 3 },
	{ F_RDI, { 0x0e, 0, 0x09, 16, 5 }, 5 },
	{ F_UNSUP, { 0x0f, 1, 0x30 }, 3 },
	{ F_LOST, { 0x07, 6 }, 2 },
	{ F_LEAF, { 0 }, 0 },
	{ F_RBX, { 0x0c, 3, 16 }, 3 },
	{ F_SAVES_RBX, { 0x0e, 16, 0x83, 2 }, 4 },
};

static struct made made;
static struct unwind_table *table;
static uint64_t stack[WORDS];
static unsigned int reads;

#define AT(word) (STACK + 8 * (uint64_t)(word))

static int read_stack(void *ctx, uint64_t addr, void *buf, size_t size)
{
	(void)ctx;
	reads++;
	if (addr < STACK || addr + size > STACK + sizeof(stack))
		return -EFAULT;
	memcpy(buf, (char *)stack + (addr - STACK), size);
	return 0;
}

static void setup(void)
{
	static const uint8_t signal[] = { 0x0f, 4,    0x77, 0xa0, 0x01, 0x06, 0x10, 16,	  3,
					  0x77, 0xa8, 0x01, 0x10, 6,	3,    0x77, 0xf8, 0x00 };

	memset(&made, 0, sizeof(made));
	memset(stack, 0, sizeof(stack));
	reads = 0;
	made_cie(&made, "", 16, made_x86, sizeof(made_x86));
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		made_fde(&made, functions[i].start, 0x100, functions[i].insns, functions[i].n);
	made_cie(&made, "zS", 16, made_x86, sizeof(made_x86));
	made_fde(&made, F_SIGNAL - 1, 0x10, signal, sizeof(signal));
	ck_assert_int_eq(made_table(&made, EM_X86_64, UNWIND_PART_ROWS, &table), 0);
}

static void teardown(void)
{
	unwind_table_free(table);
}

/*
 * A case: registers, the stack's words, and what is to come of them. Addresses of functions are the
 * file's; those on the stack are return addresses, so that one of 0x10 belongs to the byte before.
 */
struct walk_case {
	const char *what;
	uint64_t pc, sp, fp, rbx, r10, rdi;
	struct {
		int word;
		uint64_t value; /* less than 0x1000000: an address in the file */
	} stack[12];
	enum unwind_stop end;
	uint64_t pcs[8];
	unsigned int fp_steps, signals, reads;
	unsigned int max; /* 0: enough */
	bool pc_is_return;
};

static const struct walk_case cases[] = {
	{ "one read for each frame, and the last one's rule", .pc = F_LEAF + 4, .sp = AT(0),
	  .fp = 99,
	  .stack = { { 0, F_PLAIN + 8 },
		     { 1, 77 },
		     { 2, F_PLAIN + 9 },
		     { 3, 88 },
		     { 4, F_STOP + 7 } },
	  .end = UNWIND_COMPLETE, .reads = 3,
	  .pcs = { F_LEAF + 4, F_PLAIN + 8, F_PLAIN + 9, F_STOP + 7 } },
	{ "the frame pointer is read when it is needed", .pc = F_PLAIN + 4, .sp = AT(0), .fp = 99,
	  .stack = { { 0, AT(6) },
		     { 1, F_LEAF + 8 },
		     { 2, F_FP + 9 },
		     { 6, 0 },
		     { 7, F_STOP + 7 } },
	  .end = UNWIND_COMPLETE, .reads = 4,
	  .pcs = { F_PLAIN + 4, F_LEAF + 8, F_FP + 9, F_STOP + 7 } },
	{ "a call at the end of a function returns to the next one", .pc = F_LEAF, .sp = AT(0),
	  .stack = { { 0, F_PLAIN + 0x100 }, { 2, F_STOP + 1 } }, .end = UNWIND_COMPLETE,
	  .reads = 2, .pcs = { F_LEAF, F_PLAIN + 0x100, F_STOP + 1 } },
	{ "rbx of a frame that was left by a call, which nobody saved", .pc = F_LEAF, .sp = AT(0),
	  .rbx = AT(3), .stack = { { 0, F_RBX + 9 }, { 4, F_STOP + 1 } }, .end = UNWIND_COMPLETE,
	  .reads = 2, .pcs = { F_LEAF, F_RBX + 9, F_STOP + 1 } },
	{ "and where it was saved", .pc = F_LEAF, .sp = AT(0), .rbx = 77,
	  .stack = { { 0, F_SAVES_RBX + 9 }, { 1, AT(3) }, { 2, F_RBX + 9 }, { 4, F_STOP + 1 } },
	  .end = UNWIND_COMPLETE, .reads = 4,
	  .pcs = { F_LEAF, F_SAVES_RBX + 9, F_RBX + 9, F_STOP + 1 } },
	{ "behind a frame that says nothing of it, it is not known", .pc = F_DEREF_SP + 4,
	  .sp = AT(0), .rbx = AT(3), .stack = { { 1, AT(2) }, { 2, F_RBX + 9 } },
	  .end = UNWIND_NOT_LEAF, .reads = 2, .pcs = { F_DEREF_SP + 4, F_RBX + 9 } },
	{ "the innermost address is no return address", .pc = F_STOP, .sp = AT(0),
	  .end = UNWIND_COMPLETE, .pcs = { F_STOP } },
	{ "unless it is, as in a system call", .pc = F_STOP, .sp = AT(0), .fp = AT(2),
	  .pc_is_return = true, .stack = { { 2, 0 }, { 3, F_STOP + 1 } }, .end = UNWIND_COMPLETE,
	  .reads = 1, .pcs = { F_STOP, F_STOP + 1 } },
	{ "a stub of the linker, before its push", .pc = F_PLT + 0x1a, .sp = AT(0),
	  .stack = { { 0, F_STOP + 1 }, { 1, F_NONE } }, .end = UNWIND_COMPLETE, .reads = 1,
	  .pcs = { F_PLT + 0x1a, F_STOP + 1 } },
	{ "and after it", .pc = F_PLT + 0x1b, .sp = AT(0), .stack = { { 0, 5 }, { 1, F_STOP + 1 } },
	  .end = UNWIND_COMPLETE, .reads = 1, .pcs = { F_PLT + 0x1b, F_STOP + 1 } },
	{ "a CFA kept on the stack", .pc = F_DEREF_SP + 4, .sp = AT(0),
	  .stack = { { 1, AT(9) }, { 9, F_STOP + 1 } }, .end = UNWIND_COMPLETE, .reads = 2,
	  .pcs = { F_DEREF_SP + 4, F_STOP + 1 } },
	{ "a realigned frame, and its caller's frame pointer", .pc = F_DEREF_FP + 4, .sp = AT(0),
	  .fp = AT(5),
	  .stack = { { 4, AT(8) }, { 5, AT(20) }, { 7, F_FP + 1 }, { 20, 0 }, { 21, F_STOP + 1 } },
	  .end = UNWIND_COMPLETE, .reads = 4, .pcs = { F_DEREF_FP + 4, F_FP + 1, F_STOP + 1 } },
	{ "any register of the innermost frame", .pc = F_R10 + 4, .sp = AT(0), .r10 = AT(4),
	  .stack = { { 3, F_STOP + 1 } }, .end = UNWIND_COMPLETE, .reads = 1,
	  .pcs = { F_R10 + 4, F_STOP + 1 } },
	{ "and of no other", .pc = F_LEAF, .sp = AT(0), .r10 = AT(4),
	  .stack = { { 0, F_R10 + 4 }, { 3, F_STOP + 1 } }, .end = UNWIND_NOT_LEAF, .reads = 1,
	  .pcs = { F_LEAF, F_R10 + 4 } },
	{ "a return address in a register", .pc = F_RDI + 4, .sp = AT(0),
	  .rdi = F_LEAF + 5 + (uint64_t)BIAS, .stack = { { 0, F_STOP + 1 } },
	  .end = UNWIND_COMPLETE, .reads = 1, .pcs = { F_RDI + 4, F_LEAF + 5, F_STOP + 1 } },
	{ "a signal: where it struck is no return address", .pc = F_LEAF, .sp = AT(0),
	  .stack = { { 0, F_SIGNAL }, { 1 + 21, F_STOP }, { 1 + 20, AT(60) }, { 1 + 15, 3 } },
	  .end = UNWIND_COMPLETE, .signals = 1, .reads = 4,
	  .pcs = { F_LEAF, F_SIGNAL, UNWIND_PC_EXACT | F_STOP } },
	{ "a signal: the frame pointer it found", .pc = F_PLAIN, .sp = AT(0), .fp = 1,
	  .stack = { { 0, 7 },
		     { 1, F_SIGNAL },
		     { 2 + 21, F_FP },
		     { 2 + 20, AT(40) },
		     { 2 + 15, AT(50) },
		     { 50, 0 },
		     { 51, F_STOP + 1 } },
	  .end = UNWIND_COMPLETE, .signals = 1, .reads = 5,
	  .pcs = { F_PLAIN, F_SIGNAL, UNWIND_PC_EXACT | F_FP, F_STOP + 1 } },
	{ "no rule: by the frame pointer", .pc = F_NONE, .sp = AT(0), .fp = AT(2),
	  .stack = { { 2, AT(4) },
		     { 3, F_BEYOND },
		     { 4, AT(9) },
		     { 5, F_FP + 1 },
		     { 9, 0 },
		     { 10, F_STOP + 1 } },
	  .end = UNWIND_COMPLETE, .fp_steps = 2, .reads = 3,
	  .pcs = { F_NONE, F_BEYOND, F_FP + 1, F_STOP + 1 } },
	{ "code of a JIT", .pc = F_JIT + 5, .sp = AT(0), .fp = AT(2),
	  .stack = { { 2, 0 }, { 3, F_STOP + 1 } }, .end = UNWIND_COMPLETE, .fp_steps = 1,
	  .reads = 1, .pcs = { F_JIT + 5, F_STOP + 1 } },
	{ "no frame pointer either: it is 0", .pc = F_LEAF, .sp = AT(0), .stack = { { 0, F_NONE } },
	  .end = UNWIND_FP_ZERO, .reads = 1, .pcs = { F_LEAF, F_NONE } },
	{ "it points down", .pc = F_LEAF, .sp = AT(1), .fp = AT(0), .stack = { { 1, F_NONE } },
	  .end = UNWIND_FP_BAD, .reads = 1, .pcs = { F_LEAF, F_NONE } },
	{ "it points to nothing", .pc = F_NONE, .sp = AT(1), .fp = 1ULL << 60, .end = UNWIND_READ,
	  .reads = 1, .pcs = { F_NONE } },
	{ "it is lost", .pc = F_LOST, .sp = AT(0), .fp = AT(5), .stack = { { 0, F_NONE } },
	  .end = UNWIND_FP_ZERO, .reads = 1, .pcs = { F_LOST, F_NONE } },
	{ "it was kept where nothing can be read", .pc = F_FP, .sp = AT(0), .fp = AT(WORDS - 2),
	  .stack = { { WORDS - 2, AT(WORDS) }, { WORDS - 1, F_FP + 1 } }, .end = UNWIND_READ,
	  .reads = 3, .pcs = { F_FP, F_FP + 1 } },
	{ "the stack ends before the frames do", .pc = F_PLAIN, .sp = AT(WORDS - 1),
	  .end = UNWIND_READ, .reads = 1, .pcs = { F_PLAIN } },
	{ "a CFA below the frame", .pc = F_FP, .sp = AT(9), .fp = AT(0), .end = UNWIND_NOT_UP,
	  .pcs = { F_FP } },
	{ "a CFA at the frame: it would go on forever", .pc = F_FP, .sp = AT(9), .fp = AT(7),
	  .end = UNWIND_NOT_UP, .pcs = { F_FP } },
	{ "return address 0", .pc = F_LEAF, .sp = AT(0), .end = UNWIND_RA_ZERO, .reads = 1,
	  .pcs = { F_LEAF } },
	{ "an address of nobody", .pc = F_LEAF, .sp = AT(0), .stack = { { 0, 0x7000000 } },
	  .end = UNWIND_NO_MAPPING, .reads = 1, .pcs = { F_LEAF, 0x7000000 - (uint64_t)BIAS } },
	{ "what no rule says", .pc = F_UNSUP, .sp = AT(0), .end = UNWIND_NO_RULE,
	  .pcs = { F_UNSUP } },
	{ "the kernel's own return address", .pc = F_LEAF, .sp = AT(0),
	  .stack = { { 0, F_TRAMPOLINE } }, .end = UNWIND_AT_URETPROBE, .reads = 1,
	  .pcs = { F_LEAF, F_TRAMPOLINE } },
	{ "no room", .pc = F_LEAF, .sp = AT(0), .max = 2,
	  .stack = { { 0, F_PLAIN + 8 }, { 2, F_STOP + 1 } }, .end = UNWIND_DEEP, .reads = 2,
	  .pcs = { F_LEAF, F_PLAIN + 8 } },
	{ "just room enough", .pc = F_LEAF, .sp = AT(0), .max = 2, .stack = { { 0, F_STOP + 8 } },
	  .end = UNWIND_COMPLETE, .reads = 1, .pcs = { F_LEAF, F_STOP + 8 } },
};

static const struct unwind_space_mapping *segments(size_t *n)
{
	static struct unwind_space_mapping s[3];

	s[0] = (struct unwind_space_mapping){ BIAS + MADE_CODE, BIAS + MADE_CODE_END + 0x2000, BIAS,
					      table, UNWIND_BY_TABLE };
	s[1] = (struct unwind_space_mapping){ BIAS + F_TRAMPOLINE - 1, BIAS + F_TRAMPOLINE + 4096,
					      0, NULL, UNWIND_URETPROBE };
	s[2] = (struct unwind_space_mapping){ BIAS + F_JIT, BIAS + F_JIT + 4096, 0, NULL,
					      UNWIND_BY_FP };
	*n = 3;
	return s;
}

START_TEST(test_walks)
{
	const struct walk_case *c = &cases[_i];
	struct unwind_regs regs = {
		.pc = BIAS + c->pc, .sp = c->sp, .fp = c->fp, .pc_is_return = c->pc_is_return
	};
	struct unwind_space space = { 0 };
	struct unwind_result result;
	uint64_t pcs[16];
	unsigned int n, expected = 0;

	regs.reg[3] = c->rbx;
	regs.reg[10] = c->r10;
	regs.reg[5] = c->rdi;
	for (int i = 0; i < 12; i++) {
		uint64_t v = c->stack[i].value;

		if (v)
			stack[c->stack[i].word] = v >= MADE_CODE && v < 0x1000000 ? BIAS + v : v;
	}
	space.segments = segments(&space.count);
	n = unwind_walk(&space, &regs, read_stack, NULL, pcs, c->max ? c->max : 16, &result);
	ck_assert_msg(result.end == c->end, "%s: %s", c->what, unwind_stop_text(result.end));
	while (expected < 8 && c->pcs[expected])
		expected++;
	ck_assert_msg(n == expected, "%s: %u frames", c->what, n);
	for (unsigned int i = 0; i < n; i++)
		ck_assert_msg(pcs[i] == c->pcs[i] + BIAS, "%s: frame %u is %lx", c->what, i,
			      pcs[i]);
	ck_assert_msg(reads == c->reads, "%s: %u reads", c->what, reads);
	ck_assert_uint_eq(result.fp_steps, c->fp_steps);
	ck_assert_uint_eq(result.signals, c->signals);
}
END_TEST

START_TEST(test_no_frames)
{
	struct unwind_regs regs = { .pc = BIAS + F_LEAF, .sp = AT(0) };
	struct unwind_space space = { 0 };
	struct unwind_result result;
	uint64_t pc = 1;

	ck_assert_uint_eq(unwind_walk(&space, &regs, read_stack, NULL, &pc, 0, &result), 0);
	ck_assert_int_eq(result.end, UNWIND_DEEP);
	ck_assert_uint_eq(unwind_walk(&space, &regs, read_stack, NULL, &pc, 1, &result), 1);
	ck_assert_int_eq(result.end, UNWIND_NO_MAPPING);
}
END_TEST

/* Return addresses with a signature in their upper bits, as arm64 has them. */
START_TEST(test_signed_addresses)
{
	struct unwind_regs regs = { .pc = BIAS + F_LEAF, .sp = AT(0) };
	struct unwind_space space = { .ra_mask = (1ULL << 48) - 1 };
	struct unwind_result result;
	uint64_t pcs[4];

	stack[0] = (BIAS + F_STOP + 4) | 0x00bd000000000000;
	space.segments = segments(&space.count);
	ck_assert_uint_eq(unwind_walk(&space, &regs, read_stack, NULL, pcs, 4, &result), 2);
	ck_assert_int_eq(result.end, UNWIND_COMPLETE);
	ck_assert_uint_eq(pcs[1], BIAS + F_STOP + 4);
}
END_TEST

/*
 * AArch64: a signal interrupts a leaf, whose return address is in x30, and the kernel has saved
 * that. The leaf's own caller is left by a call, where it would be of no use.
 */
START_TEST(test_arm64_signal)
{
	static const uint8_t stop[] = { 0x07, 30 };
	struct unwind_regs regs = { .pc = MADE_CODE + 0x208, .sp = AT(0) };
	struct unwind_space_mapping s = { MADE_CODE, MADE_CODE_END, 0, NULL, UNWIND_BY_TABLE };
	struct unwind_space space = { .segments = &s, .count = 1 };
	struct unwind_result result;
	uint64_t pcs[8];

	unwind_table_free(table);
	made.size = 0;
	made_cie(&made, "", 30, made_arm64, sizeof(made_arm64));
	made_fde(&made, MADE_CODE, 0x100, NULL, 0); /* leaves */
	made_fde(&made, MADE_CODE + 0x100, 0x100, stop, sizeof(stop));
	made_cie(&made, "zS", 30, made_arm64, sizeof(made_arm64));
	made_fde(&made, MADE_CODE + 0x1ff, 0x20, NULL, 0);
	ck_assert_int_eq(made_table(&made, EM_AARCH64, UNWIND_PART_ROWS, &table), 0);
	s.table = table;
	stack[544 / 8] = 1234;		    /* x29 */
	stack[552 / 8] = MADE_CODE + 0x108; /* x30 */
	stack[560 / 8] = AT(100);	    /* sp */
	stack[568 / 8] = MADE_CODE;	    /* pc, at its first instruction */
	ck_assert_uint_eq(unwind_walk(&space, &regs, read_stack, NULL, pcs, 8, &result), 3);
	ck_assert_int_eq(result.end, UNWIND_COMPLETE);
	ck_assert_uint_eq(pcs[0], MADE_CODE + 0x208);
	ck_assert_uint_eq(pcs[1], UNWIND_PC_EXACT | MADE_CODE);
	ck_assert_uint_eq(pcs[2], MADE_CODE + 0x108);
	ck_assert_uint_eq(result.sp, AT(100));
	ck_assert_uint_eq(result.signals, 1);

	stack[552 / 8] = MADE_CODE + 8;
	ck_assert_uint_eq(unwind_walk(&space, &regs, read_stack, NULL, pcs, 8, &result), 3);
	ck_assert_int_eq(result.end, UNWIND_NOT_LEAF);
}
END_TEST

/* AArch64: the return address of a leaf is in x30, and its CFA is where the stack pointer is. */
START_TEST(test_arm64)
{
	static const uint8_t frame[] = { 0x0e, 32, 0x9d, 4, 0x9e, 3 }, stop[] = { 0x07, 30 };
	struct unwind_regs regs = { .pc = MADE_CODE + 8, .sp = AT(0) };
	struct unwind_space_mapping s = { MADE_CODE, MADE_CODE_END, 0, NULL, UNWIND_BY_TABLE };
	struct unwind_space space = { .segments = &s, .count = 1 };
	struct unwind_result result;
	uint64_t pcs[4];

	unwind_table_free(table);
	made.size = 0;
	made_cie(&made, "", 30, made_arm64, sizeof(made_arm64));
	made_fde(&made, MADE_CODE, 0x100, NULL, 0);
	made_fde(&made, MADE_CODE + 0x100, 0x100, frame, sizeof(frame));
	made_fde(&made, MADE_CODE + 0x200, 0x100, stop, sizeof(stop));
	ck_assert_int_eq(made_table(&made, EM_AARCH64, UNWIND_PART_ROWS, &table), 0);
	s.table = table;
	regs.reg[30] = MADE_CODE + 0x108;
	stack[1] = MADE_CODE + 0x204;
	ck_assert_uint_eq(unwind_walk(&space, &regs, read_stack, NULL, pcs, 4, &result), 3);
	ck_assert_int_eq(result.end, UNWIND_COMPLETE);
	ck_assert_uint_eq(pcs[1], MADE_CODE + 0x108);
	ck_assert_uint_eq(pcs[2], MADE_CODE + 0x204);
	ck_assert_uint_eq(result.sp, AT(4));

	/* Further up, nobody knows x30: a leaf's rule there is a mistake, and no endless way. */
	stack[1] = MADE_CODE + 0x10;
	ck_assert_uint_eq(unwind_walk(&space, &regs, read_stack, NULL, pcs, 4, &result), 3);
	ck_assert_int_eq(result.end, UNWIND_NOT_LEAF);
}
END_TEST

/* riscv64: the frame pointer is the caller's stack pointer, and what it is for lies below. */
START_TEST(test_riscv64)
{
	static const uint8_t begin[] = { 0x0c, 2, 0 }; /* CFA = sp */
	static const uint8_t frame[] = { 0x0e, 32, 0x81, 1, 0x88, 2 }, stop[] = { 0x07, 1 };
	struct unwind_regs regs = { .pc = MADE_CODE + 8, .sp = AT(0), .fp = AT(8) };
	struct unwind_space_mapping s = { MADE_CODE, MADE_CODE_END, 0, NULL, UNWIND_BY_TABLE };
	struct unwind_space space = { .segments = &s, .count = 1, .fp_record = -16 };
	struct unwind_result result;
	uint64_t pcs[5];

	unwind_table_free(table);
	made.size = 0;
	made_cie(&made, "", 1, begin, sizeof(begin));
	made_fde(&made, MADE_CODE, 0x100, NULL, 0);
	made_fde(&made, MADE_CODE + 0x100, 0x100, frame, sizeof(frame));
	made_fde(&made, MADE_CODE + 0x200, 0x100, stop, sizeof(stop));
	ck_assert_int_eq(made_table(&made, EM_RISCV, UNWIND_PART_ROWS, &table), 0);
	s.table = table;

	/* A leaf, a frame, code without a rule, the outermost. */
	regs.reg[1] = MADE_CODE + 0x108;
	stack[3] = MADE_CODE + 0x304;
	stack[2] = AT(12);
	stack[11] = MADE_CODE + 0x204;
	stack[10] = AT(20);
	ck_assert_uint_eq(unwind_walk(&space, &regs, read_stack, NULL, pcs, 5, &result), 4);
	ck_assert_int_eq(result.end, UNWIND_COMPLETE);
	ck_assert_uint_eq(pcs[1], MADE_CODE + 0x108);
	ck_assert_uint_eq(pcs[2], MADE_CODE + 0x304);
	ck_assert_uint_eq(pcs[3], MADE_CODE + 0x204);
	ck_assert_uint_eq(result.fp_steps, 1);
	ck_assert_uint_eq(result.sp, AT(12));

	/* One whose words would lie below the stack pointer is none. */
	stack[2] = AT(5);
	ck_assert_uint_eq(unwind_walk(&space, &regs, read_stack, NULL, pcs, 5, &result), 3);
	ck_assert_int_eq(result.end, UNWIND_FP_BAD);
}
END_TEST

START_TEST(test_texts)
{
	for (int i = 0; i < UNWIND_STOPS; i++) {
		ck_assert_ptr_nonnull(unwind_stop_text(i));
		for (int k = 0; k < i; k++)
			ck_assert_str_ne(unwind_stop_text(i), unwind_stop_text(k));
	}
	ck_assert_str_eq(unwind_stop_text(UNWIND_STOPS), "unknown");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("unwinding recorded stacks");
	TCase *t = tcase_create("walk");
	SRunner *r = srunner_create(s);
	int failed;

	suite_add_tcase(s, t);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, test_walks, 0, sizeof(cases) / sizeof(cases[0]));
	tcase_add_test(t, test_no_frames);
	tcase_add_test(t, test_signed_addresses);
	tcase_add_test(t, test_arm64);
	tcase_add_test(t, test_arm64_signal);
	tcase_add_test(t, test_riscv64);
	tcase_add_test(t, test_texts);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
