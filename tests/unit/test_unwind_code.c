/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules computed from instructions. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "unwind/code.h"
#include "unwind/elf.h"

enum { ADDR = 0x1000, SIZE = 256 };

static struct unwind_rule rules[SIZE];

static int keep(void *ctx, uint64_t addr, uint32_t len, const struct unwind_code_state *state)
{
	(void)ctx;
	ck_assert_uint_ge(addr, ADDR);
	ck_assert_uint_le(addr + len, ADDR + SIZE);
	rules[addr - ADDR] = unwind_code_rule(state);
	return 0;
}

static void follow_from(const uint8_t *bytes, size_t n, const struct unwind_starts *starts)
{
	uint8_t code[SIZE];
	struct rp_work work = rp_work_for(SIZE, UNWIND_CODE_WORK);

	memset(code, 0xcc, sizeof(code));
	memcpy(code, bytes, n);
	memset(rules, 0, sizeof(rules));
	ck_assert_int_eq(unwind_code_follow(code, SIZE, ADDR, starts, &work, keep, NULL), 0);
}

static void follow(const uint8_t *bytes, size_t n)
{
	const struct unwind_starts none = { 0 };

	follow_from(bytes, n, &none);
}

static void expect(size_t at, enum unwind_kind kind, int cfa_off)
{
	ck_assert_uint_eq(rules[at].kind, kind);
	ck_assert_int_eq(rules[at].cfa_off, cfa_off);
}

START_TEST(frames_are_followed)
{
	static const uint8_t code[] = {
		0x55,			/* 0: push %rbp */
		0x48, 0x89, 0xe5,	/* 1: mov %rsp, %rbp */
		0x48, 0x83, 0xec, 0x20, /* 4: sub $32, %rsp */
		0x85, 0xff,		/* 8: test %edi, %edi */
		0x74, 0x04,		/* 10: je 16 */
		0x48, 0x83, 0xe4, 0xe0, /* 12: and $-32, %rsp */
		0xc9,			/* 16: leave */
		0xc3,			/* 17: ret */
	};

	follow(code, sizeof(code));
	expect(0, UNWIND_SP, 8);
	ck_assert_uint_eq(rules[0].flags, UNWIND_COMPUTED);
	expect(1, UNWIND_SP, 16);
	ck_assert_uint_eq(rules[1].flags, UNWIND_COMPUTED | UNWIND_FP_AT_CFA);
	ck_assert_int_eq(rules[1].fp_off, -16);
	expect(8, UNWIND_SP, 48);
	expect(16, UNWIND_FP, 16); /* where two ways meet rsp is one or the other */
	expect(17, UNWIND_SP, 8);
	ck_assert_uint_eq(rules[17].flags, UNWIND_COMPUTED);
	ck_assert_uint_eq(rules[18].kind, UNWIND_NO_ROW);
}
END_TEST

START_TEST(the_stack_pointer_is_stored)
{
	static const uint8_t code[] = {
		0x48, 0x89, 0xe0,	      /* 0: mov %rsp, %rax */
		0x48, 0x83, 0xe4, 0xc0,	      /* 3: and $-64, %rsp */
		0x48, 0x83, 0xec, 0x40,	      /* 7: sub $64, %rsp */
		0x48, 0x89, 0x44, 0x24, 0x20, /* 11: mov %rax, 32(%rsp) */
		0x31, 0xc0,		      /* 16: xor %eax, %eax */
		0x48, 0x8b, 0x64, 0x24, 0x20, /* 18: mov 32(%rsp), %rsp */
		0xc3,			      /* 23: ret */
	};

	follow(code, sizeof(code));
	expect(7, UNWIND_REG, 8);
	ck_assert_int_eq(rules[7].arg, 0);
	expect(18, UNWIND_DEREF_SP, 32);
	ck_assert_int_eq(rules[18].arg, 8);
	expect(23, UNWIND_SP, 8);
}
END_TEST

/* As Mono makes wrappers: rbp is stored and never changed, so nothing restores it. */
START_TEST(rbp_is_stored_and_left_alone)
{
	static const uint8_t code[] = {
		0x48, 0x83, 0xec, 0x18,	      /* 0: sub $24, %rsp */
		0x48, 0x89, 0x6c, 0x24, 0x08, /* 4: mov %rbp, 8(%rsp) */
		0x85, 0xff,		      /* 9: test %edi, %edi */
		0x74, 0x06,		      /* 11: je 19 */
		0x48, 0x8d, 0x6d, 0x00,	      /* 13: lea 0(%rbp), %rbp */
		0xff, 0xd0,		      /* 17: call *%rax */
		0x48, 0x8d, 0x64, 0x24, 0x00, /* 19: lea 0(%rsp), %rsp */
		0x48, 0x83, 0xc4, 0x18,	      /* 24: add $24, %rsp */
		0xc3,			      /* 28: ret */
	};

	follow(code, sizeof(code));
	expect(4, UNWIND_SP, 32);
	ck_assert_uint_eq(rules[4].flags, UNWIND_COMPUTED);
	for (size_t at = 9; at <= 24; at++) {
		if (rules[at].kind == UNWIND_NO_ROW)
			continue;
		expect(at, UNWIND_SP, 32);
		ck_assert_uint_eq(rules[at].flags, UNWIND_COMPUTED); /* it has it still */
	}
	expect(17, UNWIND_SP, 32);
	expect(28, UNWIND_SP, 8);
	ck_assert_uint_eq(rules[28].flags, UNWIND_COMPUTED);
}
END_TEST

/* On one way it is changed, and comes back from where it was stored. */
START_TEST(rbp_is_stored_and_changed)
{
	static const uint8_t code[] = {
		0x48, 0x83, 0xec, 0x18,	      /* 0: sub $24, %rsp */
		0x48, 0x89, 0x2c, 0x24,	      /* 4: mov %rbp, (%rsp) */
		0x85, 0xff,		      /* 8: test %edi, %edi */
		0x74, 0x02,		      /* 10: je 14 */
		0x31, 0xed,		      /* 12: xor %ebp, %ebp */
		0x31, 0xc0,		      /* 14: xor %eax, %eax */
		0x48, 0x8b, 0x2c, 0x24,	      /* 16: mov (%rsp), %rbp */
		0x48, 0x83, 0xc4, 0x18,	      /* 20: add $24, %rsp */
		0xc3,			      /* 24: ret */
	}, lost[] = {
		0x48, 0x83, 0xec, 0x18, 0x48, 0x89, 0x2c, 0x24, 0x31, 0xed, /* the same */
		0x48, 0x83, 0xc4, 0x18,	      /* 10: add $24, %rsp */
		0xc3,			      /* 14: ret */
	};

	follow(code, sizeof(code));
	expect(14, UNWIND_SP, 32);
	ck_assert_int_eq(rules[14].fp_off, -32);
	ck_assert_uint_eq(rules[14].flags, UNWIND_COMPUTED | UNWIND_FP_AT_CFA);
	expect(20, UNWIND_SP, 32);
	ck_assert_uint_eq(rules[20].flags, UNWIND_COMPUTED);
	expect(24, UNWIND_SP, 8);
	follow(lost, sizeof(lost));
	expect(0, UNWIND_NO_ROW, 0); /* no function loses it */
	expect(14, UNWIND_NO_ROW, 0);
}
END_TEST

/* Code of no file, with data between its functions that looks like calls. */
START_TEST(code_in_memory)
{
	static const uint8_t
		data[] = { 0xe8, 0x2c, 0, 0, 0, 0x08, 0xe8, 0x25, 0, 0, 0, 0x48, 0x8d },
		function[] = {
			0x48, 0x83, 0xec, 0x08,			  /* 0: sub $8, %rsp */
			0x49, 0xbb, 1,	  2,	3, 4, 5, 6, 7, 8, /* 4: mov $n, %r11 */
			0x41, 0xff, 0xd3,			  /* 14: call *%r11 */
			0x48, 0x83, 0xc4, 0x08,			  /* 17: add $8, %rsp */
			0xc3,					  /* 21: ret */
		};
	uint8_t code[SIZE] = { 0 };
	struct unwind_table *t;

	memcpy(code + 3, data, sizeof(data));
	memcpy(code + 0x20, function, sizeof(function));
	memcpy(code + 0x80, function, sizeof(function));
	ck_assert_int_eq(unwind_table_build_code(&t, EM_X86_64, code, sizeof(code)), 0);
	for (size_t at = 0x20; at <= 0x80; at += 0x60) {
		ck_assert_int_eq(unwind_table_rule(t, at)->cfa_off, 8);
		ck_assert_int_eq(unwind_table_rule(t, at + 17)->cfa_off, 16);
		ck_assert_int_eq(unwind_table_rule(t, at + 21)->cfa_off, 8);
		ck_assert_int_eq(unwind_table_rule(t, at + 17)->ra_off, -8);
		ck_assert_int_eq(unwind_table_rule(t, at + 22)->kind, UNWIND_NO_ROW);
		ck_assert_int_eq(unwind_table_rule(t, at + 22)->flags, UNWIND_COMPUTED);
	}
	unwind_table_free(t);
	ck_assert_int_eq(unwind_table_build_code(&t, EM_RISCV, code, sizeof(code)), -ENODATA);
}
END_TEST

/*
 * Many jumps by a table, each before many places that nothing leads to: each of those is tried with
 * the nearest. With all of them this takes minutes, which the test does not have.
 */
START_TEST(jumps_by_tables_everywhere)
{
	enum { SIZE_64K = 64 << 10, JUMPS = 4096 };
	static const uint8_t begins[] = { 0x48, 0x83, 0xec, 0x08, 0x48, 0x83, 0xc4, 0x08 };
	uint8_t *code = malloc(SIZE_64K);
	struct unwind_table *t;
	size_t at = sizeof(begins);

	memset(code, 0x06, SIZE_64K); /* no instruction */
	memcpy(code, begins, sizeof(begins));
	for (int i = 0; i < JUMPS; i++, at += 4)
		memcpy(code + at, "\x74\x02\xff\xe0", 4); /* je 1f; jmp *%rax; 1: */
	code[at] = 0xc3;
	for (int i = 0; i < 48; i++) {
		ck_assert_int_eq(unwind_table_build_code(&t, EM_X86_64, code, SIZE_64K), 0);
		ck_assert_int_eq(unwind_table_rule(t, 4)->cfa_off, 16);
		unwind_table_free(t);
	}
	free(code);
}
END_TEST

/* sub sp, sp, #32; str x30, [sp]; blr x0; ldr x30, [sp]; add sp, sp, #32; ret */
START_TEST(code_in_memory_of_arm64)
{
	static const uint32_t code[] = { 0xd10083ff, 0xf90003fe, 0xd63f0000,
					 0xf94003fe, 0x910083ff, 0xd65f03c0 };
	struct unwind_table *t;

	ck_assert_int_eq(unwind_table_build_code(&t, EM_AARCH64, code, sizeof(code)), 0);
	ck_assert_int_eq(unwind_table_rule(t, 0)->flags, UNWIND_RA_REG | UNWIND_COMPUTED);
	ck_assert_int_eq(unwind_table_rule(t, 8)->cfa_off, 32);
	ck_assert_int_eq(unwind_table_rule(t, 8)->ra_off, -32);
	ck_assert_int_eq(unwind_table_rule(t, 20)->cfa_off, 0);
	unwind_table_free(t);
}
END_TEST

/* The caller at 16 has its stack pointer in rcx while the helper at 0 runs. */
static const uint8_t helped[] = {
	0x85, 0xc0,		      /* 0: test %eax, %eax */
	0x74, 0x04,		      /* 2: je 8 */
	0x48, 0x01, 0xf0,	      /* 4: add %rsi, %rax */
	0x90,			      /* 7: nop */
	0xc3,			      /* 8: ret */
	0x90, 0x90, 0x90, 0x90,	      /* 9: nop */
	0x90, 0x90, 0x90,	      /* 13: nop */
	0x48, 0x89, 0xe1,	      /* 16: mov %rsp, %rcx */
	0x48, 0x83, 0xe4, 0xe0,	      /* 19: and $-32, %rsp */
	0x48, 0x83, 0xec, 0x60,	      /* 23: sub $96, %rsp */
	0x85, 0xff,		      /* 27: test %edi, %edi */
	0x74, 0x07,		      /* 29: je 38 */
	0xe8, 0xdc, 0xff, 0xff, 0xff, /* 31: call 0 */
	0x31, 0xc0,		      /* 36: xor %eax, %eax */
	0x48, 0x89, 0xcc,	      /* 38: mov %rcx, %rsp */
	0xc3,			      /* 41: ret */
};

START_TEST(a_helper_leaves_a_register_alone)
{
	follow(helped, sizeof(helped));
	expect(19, UNWIND_SP, 8);
	expect(31, UNWIND_REG, 8);
	ck_assert_int_eq(rules[31].arg, 2);
	expect(32, UNWIND_REG, 8); /* while the helper runs */
	ck_assert_int_eq(rules[32].arg, 2);
	expect(36, UNWIND_REG, 8);
	ck_assert_int_eq(rules[36].arg, 2);
	expect(41, UNWIND_SP, 8);
}
END_TEST

static const struct {
	const char *what;
	uint8_t code[4]; /* at 4 */
} changing[] = {
	{ "add %rsi, %rcx; nop", { 0x48, 0x01, 0xf1, 0x90 } },
	{ "call *%rax; nop; nop", { 0xff, 0xd0, 0x90, 0x90 } },
	{ "loop 4; nop; nop", { 0xe2, 0xfe, 0x90, 0x90 } },
	{ "rep movsb; nop; nop", { 0xf3, 0xa4, 0x90, 0x90 } },
	{ "rdtscp; nop", { 0x0f, 0x01, 0xf9, 0x90 } },
	{ "cpuid; nop; nop", { 0x0f, 0xa2, 0x90, 0x90 } },
	{ "syscall; nop; nop", { 0x0f, 0x05, 0x90, 0x90 } },
	{ "rdfsbase %ecx", { 0xf3, 0x0f, 0xae, 0xc1 } },
	{ "pop %rcx; nop; nop; nop", { 0x59, 0x90, 0x90, 0x90 } },
	{ "xchg %eax, %ecx; nop; nop; nop", { 0x91, 0x90, 0x90, 0x90 } },
	{ "jmp 7, within the next", { 0xeb, 0x01, 0xb8, 0x90 } },
};

/* What is behind the call is not followed, and the caller not found while the helper runs. */
START_TEST(a_helper_may_change_it)
{
	uint8_t code[sizeof(helped)], pointed[SIZE / 8] = { [2] = 1 };
	const struct unwind_starts starts = { .base = ADDR, .n = SIZE, .bit = pointed };

	memcpy(code, helped, sizeof(code));
	memcpy(code + 4, changing[_i].code, 4);
	follow_from(code, sizeof(code), &starts);
	expect(31, UNWIND_REG, 8);
	ck_assert_msg(rules[32].kind == UNWIND_UNSUP, "%s: kind %d", changing[_i].what,
		      rules[32].kind);
	ck_assert_msg(rules[36].kind != UNWIND_REG, "%s: behind it", changing[_i].what);
}
END_TEST

/* The helper and its caller, by a register that it has to restore; which it may change before. */
START_TEST(a_register_is_restored)
{
	static const uint8_t code[] = {
		0x41, 0x54,		/* 0: push %r12 */
		0x49, 0x89, 0xe4,	/* 2: mov %rsp, %r12 */
		0x48, 0x83, 0xe4, 0xe0, /* 5: and $-32, %rsp */
		0xff, 0xd0,		/* 9: call *%rax */
		0x4c, 0x89, 0xe4,	/* 11: mov %r12, %rsp */
		0x41, 0x5c,		/* 14: pop %r12 */
		0xc3,			/* 16: ret */
	};

	follow(code, sizeof(code));
	expect(9, UNWIND_REG, 16);
	ck_assert_uint_eq(rules[10].kind, UNWIND_UNSUP);
	expect(11, UNWIND_REG, 16);
}
END_TEST

/* -fstack-clash-protection: behind the loop the frame is as large as the register says. */
START_TEST(each_page_of_a_frame_is_touched)
{
	static const uint8_t code[] = {
		0x53,						/* 0: push %rbx */
		0x4c, 0x8d, 0x9c, 0x24, 0x00, 0xd0, 0xff, 0xff, /* 1: lea -0x3000(%rsp), %r11 */
		0x48, 0x81, 0xec, 0x00, 0x10, 0x00, 0x00,	/* 9: sub $0x1000, %rsp */
		0x48, 0x83, 0x0c, 0x24, 0x00,			/* 16: orq $0, (%rsp) */
		0x4c, 0x39, 0xdc,				/* 21: cmp %r11, %rsp */
		0x75, 0xef,					/* 24: jne 9 */
		0x31, 0xc0,					/* 26: xor %eax, %eax */
		0x48, 0x81, 0xc4, 0x00, 0x30, 0x00, 0x00,	/* 28: add $0x3000, %rsp */
		0x5b,						/* 35: pop %rbx */
		0xc3,						/* 36: ret */
	};

	follow(code, sizeof(code));
	expect(1, UNWIND_SP, 16);
	expect(26, UNWIND_SP, 16 + 0x3000);
	expect(35, UNWIND_SP, 16);
	expect(36, UNWIND_SP, 8);
}
END_TEST

/* It fills the one before up to where it begins, and nobody calls it that is seen. */
START_TEST(functions_without_padding_between)
{
	static const uint8_t code[] = {
		0x31, 0xc0, 0x31, 0xc0, 0x31, 0xc0, 0x31, 0xc0, /* 0: xor %eax, %eax */
		0x31, 0xc0, 0x31, 0xc0, 0x31, 0xc0, 0x90, 0xc3, /* 15: ret */
		0x53,						/* 16: push %rbx */
		0x85, 0xff,					/* 17: test %edi, %edi */
		0x74, 0x08,					/* 19: je 29 */
		0xe8, 0x00, 0x10, 0x00, 0x00,			/* 21: call elsewhere */
		0x31, 0xc0,					/* 26: xor %eax, %eax */
		0x90,						/* 28: nop */
		0x5b,						/* 29: pop %rbx */
		0xc3,						/* 30: ret */
	};

	follow(code, sizeof(code));
	expect(15, UNWIND_SP, 8);
	expect(21, UNWIND_SP, 16);
	expect(26, UNWIND_SP, 16);
	expect(30, UNWIND_SP, 8);
}
END_TEST

/* As what the C library calls main() from: it never returns, and what it calls does. */
START_TEST(functions_that_do_not_return)
{
	static const uint8_t code[] = {
		0x53,				    /* 0: push %rbx */
		0xe8, 0x00, 0x10, 0x00, 0x00,	    /* 1: call elsewhere */
		0x5b,				    /* 6: pop %rbx */
		0xc3,				    /* 7: ret */
		0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, /* padding */
		0xcc, 0xcc, 0x53,		    /* 16: push %rbx */
		0xe8, 0xea, 0xff, 0xff, 0xff,	    /* 17: call 0 */
		0xff, 0xd0,			    /* 22: call *%rax */
		0xe8, 0x00, 0x10, 0x00, 0x00,	    /* 24: call elsewhere */
	};

	follow(code, sizeof(code));
	expect(6, UNWIND_SP, 16);
	expect(22, UNWIND_SP, 16);
	expect(24, UNWIND_SP, 16);
}
END_TEST

START_TEST(contradictions_are_left_out)
{
	static const uint8_t returns_too_early[] = { 0x53, 0xc3 };	    /* push %rbx; ret */
	static const uint8_t no_instruction[] = { 0x53, 0x06, 0x5b, 0xc3 }; /* push; (bad) */

	follow(returns_too_early, sizeof(returns_too_early));
	ck_assert_uint_eq(rules[0].kind, UNWIND_NO_ROW);
	follow(no_instruction, sizeof(no_instruction));
	ck_assert_uint_eq(rules[0].kind, UNWIND_NO_ROW);
}
END_TEST

/*
 * It calls with the stack where no compiler has it, so by itself it may be anything; and what is
 * pointed to and does not return as it was entered is no function.
 */
START_TEST(functions_that_are_pointed_to)
{
	static const uint8_t code[] = {
		0xe8, 0x1b, 0x00, 0x00, 0x00, /* 0: call 32 */
		0x48, 0x89, 0xc7,	      /* 5: mov %rax, %rdi */
		0xe8, 0x13, 0x00, 0x00, 0x00, /* 8: call 32 */
		0xc3,			      /* 13: ret */
		0xcc, 0xcc, 0x31, 0xc0,	      /* 16: xor %eax, %eax */
		0x5b,			      /* 18: pop %rbx */
		0xc3,			      /* 19: ret */
		0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
		0xcc, 0xcc, 0xcc, 0xcc, 0x31, 0xc0,		/* 32: xor %eax, %eax */
		0xc3,						/* 34: ret */
		0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xff, 0xe2,	/* 40: jmp *%rdx */
		0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0x31, 0xc0, /* 48: xor %eax, %eax */
		0x31, 0xc0,					/* 50: xor %eax, %eax */
		0xff, 0xe2,					/* 52: jmp *%rdx */
	};
	uint8_t bits[SIZE / 8] = { 1, 0, 1, 0, 0, 1, 1 };
	const struct unwind_starts starts = { .base = ADDR, .n = SIZE, .bit = bits };

	follow(code, sizeof(code));
	expect(8, UNWIND_NO_ROW, 0);
	follow_from(code, sizeof(code), &starts);
	expect(0, UNWIND_SP, 8);
	expect(8, UNWIND_SP, 8);
	expect(13, UNWIND_SP, 8);
	expect(16, UNWIND_NO_ROW, 0);
	expect(32, UNWIND_SP, 8);
	expect(40, UNWIND_SP, 8); /* to what it was given */
	expect(48, UNWIND_NO_ROW, 0);
}
END_TEST

/* A switch at the beginning of a function, by a table of distances, whose cases nothing shows. */
START_TEST(functions_that_begin_with_a_switch)
{
	uint8_t code[] = {
		0x48, 0x8d, 0x0d, 0x00, 0x01, 0x00, 0x00, /* 0: lea 263(%rip), %rcx */
		0x48, 0x63, 0x04, 0x81,			  /* 7: movslq (%rcx, %rax, 4), %rax */
		0x48, 0x01, 0xc8,			  /* 11: add %rcx, %rax */
		0xff, 0xe0,				  /* 14: jmp *%rax */
	};
	uint8_t bits[SIZE / 8] = { 1 };
	const struct unwind_starts starts = { .base = ADDR, .n = SIZE, .bit = bits };

	follow(code, sizeof(code));
	expect(0, UNWIND_NO_ROW, 0);
	follow_from(code, sizeof(code), &starts);
	expect(0, UNWIND_SP, 8);
	expect(14, UNWIND_SP, 8);
	code[10] = 0xc1; /* movslq (%rcx, %rax, 8), %rax: of addresses, as interpreters have them */
	follow_from(code, sizeof(code), &starts);
	expect(0, UNWIND_NO_ROW, 0);
}
END_TEST

#ifdef __x86_64__
/* The helper changes rcx, in which its caller has its stack pointer. */
__asm__(".text; .balign 16; changes_rcx: add %rsi, %rcx; ret; .balign 16\n"
	".globl keeps_it_in_rcx; .type keeps_it_in_rcx, @function; keeps_it_in_rcx:\n"
	"mov %rsp, %rcx; and $-32, %rsp; sub $96, %rsp; test %edi, %edi; je 1f\n"
	"call changes_rcx; call changes_rcx; 1: mov %rcx, %rsp; ret; .balign 16\n");
void keeps_it_in_rcx(void);

/* The table has what was told, a call's caller apart from the call. */
START_TEST(calls_have_rows)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct unwind_source s = { .is_computed = true };
	struct unwind_table *t;
	uint64_t at;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(unwind_source_read(&s, fd, NULL, 0), 0);
	at = (uint64_t)(uintptr_t)keeps_it_in_rcx - (getauxval(AT_ENTRY) - s.image.entry);
	unwind_source_free(&s);
	ck_assert_int_eq(unwind_cache_table(NULL, &t, fd, true, NULL), 0);
	close(fd);
	ck_assert_uint_eq(unwind_table_rule(t, at)->kind, UNWIND_SP);
	ck_assert_uint_eq(unwind_table_rule(t, at + 15)->kind, UNWIND_REG); /* the call */
	ck_assert_uint_eq(unwind_table_rule(t, at + 19)->kind, UNWIND_UNSUP);
	unwind_table_free(t);
}
END_TEST
#endif

static __attribute__((noinline, unused)) int never_called(int n)
{
	return n + 3;
}

/* Of this program itself: what is taken the address of, and the symbols. */
START_TEST(starts_are_found)
{
	int (*volatile pointer)(int) = never_called;
	struct unwind_source s = { .is_computed = true };
	struct unwind_starts starts;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint64_t bias;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(unwind_source_read(&s, fd, NULL, 0), 0);
	if (s.machine == EM_X86_64) {
		bias = getauxval(AT_ENTRY) - s.image.entry;
		ck_assert_int_eq(unwind_starts_find(&starts, &s, NULL, 0), 0);
		ck_assert(unwind_is_start(&starts, (uint64_t)(uintptr_t)pointer - bias));
		ck_assert(!unwind_is_start(&starts, (uint64_t)(uintptr_t)pointer - bias + 1));
		ck_assert(!unwind_is_start(&starts, 0));
		ck_assert(!unwind_is_start(&starts, UINT64_MAX));
		unwind_starts_free(&starts);
	}
	unwind_source_free(&s);
	close(fd);
}
END_TEST

START_TEST(code_is_anything)
{
	uint8_t code[SIZE];

	srand(1);
	for (int round = 0; round < 20000; round++) {
		for (size_t i = 0; i < sizeof(code); i++)
			code[i] = (uint8_t)(rand() >> 7);
		for (int i = 0; i < 16; i++) /* jumps and calls, near ones */
			memcpy(code + rand() % (SIZE - 5),
			       rand() & 1 ? "\xe8\x10\0\0\0" : "\x75\xf0\x53\x5b\xc3", 5);
		follow(code, sizeof(code));
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("unwind_code");
	TCase *t = tcase_create("code");
	SRunner *r = srunner_create(s);
	int failed;

	tcase_add_test(t, frames_are_followed);
	tcase_add_test(t, rbp_is_stored_and_left_alone);
	tcase_add_test(t, rbp_is_stored_and_changed);
	tcase_add_test(t, code_in_memory);
	tcase_add_test(t, code_in_memory_of_arm64);
	tcase_add_test(t, jumps_by_tables_everywhere);
	tcase_add_test(t, the_stack_pointer_is_stored);
	tcase_add_test(t, a_helper_leaves_a_register_alone);
	tcase_add_loop_test(t, a_helper_may_change_it, 0, sizeof(changing) / sizeof(changing[0]));
	tcase_add_test(t, a_register_is_restored);
	tcase_add_test(t, each_page_of_a_frame_is_touched);
	tcase_add_test(t, functions_without_padding_between);
	tcase_add_test(t, functions_that_do_not_return);
	tcase_add_test(t, contradictions_are_left_out);
	tcase_add_test(t, functions_that_are_pointed_to);
	tcase_add_test(t, functions_that_begin_with_a_switch);
#ifdef __x86_64__
	tcase_add_test(t, calls_have_rows);
#endif
	tcase_add_test(t, starts_are_found);
	tcase_add_test(t, code_is_anything);
	tcase_set_timeout(t, 60);
	suite_add_tcase(s, t);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
