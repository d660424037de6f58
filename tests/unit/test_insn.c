/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The decoders of instructions, beside objdump: every instruction of libc and libcrypto, random
 * bytes, and what the assemblers make of known lines.
 */
#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loader/uprobe/insn.h"

static char dir[] = "/tmp/test_insn.XXXXXX";

static bool have(const char *tool)
{
	char command[128];

	snprintf(command, sizeof(command), "command -v %s >/dev/null", tool);
	if (!system(command))
		return true;
	printf("skip: there is no %s\n", tool);
	return false;
}

/* ---- one instruction of objdump's output: "  address:\tbytes \ttext" */

struct line {
	uint64_t addr;
	uint8_t bytes[32];
	uint32_t n;
	char text[256];
};

static bool read_line(FILE *f, struct line *out)
{
	static char line[4096];
	unsigned value;

	while (fgets(line, sizeof(line), f)) {
		char *p = strstr(line, ":\t"), *text = p ? strchr(p + 2, '\t') : NULL;

		if (!text)
			continue;
		out->addr = strtoull(line, NULL, 16);
		p += 2;
		for (out->n = 0; out->n < 32 && *p != ' ' && sscanf(p, "%2x", &value) == 1; p += 3)
			out->bytes[out->n++] = (uint8_t)value;
		snprintf(out->text, sizeof(out->text), "%s", text + 1);
		return true;
	}
	return false;
}

/*
 * What is no instruction to us, or another one: data in code (tables of constants in libcrypto),
 * prefixes that objdump prints alone or before what forbids them, fwait, which it takes for a
 * prefix, and a jump with 66, which Intel's and AMD's processors take differently.
 */
static bool is_explained(const struct line *l)
{
	static const char *const prefixes[] = {
		"data16", "addr32", "lock", "repz", "repnz", "cs",
		"ds",	  "es",	    "ss",   "fs",   "gs",    "bnd"
	};
	const char *p = l->text;
	size_t word, i;

	if (strstr(p, "(bad)") || strstr(p, "rex") || p[0] == '.')
		return true;
	for (i = 0; i < l->n && i < 4; i++) {
		if (l->bytes[i] == 0x9b)
			return true;
	}
	/* Over the prefixes to what they stand before. */
	for (; *p && *p != '\n'; p += word + strspn(p + word, " ")) {
		word = strcspn(p, " \n");
		for (i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
			if (strlen(prefixes[i]) == word && !strncmp(p, prefixes[i], word))
				break;
		}
		if (i == sizeof(prefixes) / sizeof(prefixes[0]))
			break;
	}
	return !*p || *p == '\n' ||
	       (memchr(l->bytes, 0x66, l->n) &&
		(*p == 'j' || !strncmp(p, "loop", 4) || !strncmp(p, "callw", 5)));
}

struct tally {
	uint64_t all, explained;
};

/* Each has objdump's length. */
static struct tally compare_file(const char *path)
{
	char command[256];
	struct tally t = { 0 };
	struct insn i;
	struct line l;
	FILE *f;

	snprintf(command, sizeof(command), "objdump -d -z -w --insn-width=20 %s", path);
	f = popen(command, "r");
	ck_assert_ptr_nonnull(f);
	while (read_line(f, &l)) {
		const bool known = rp_insn_x86_decode(l.bytes, l.n, &i);

		t.all++;
		if (known && i.len == l.n)
			continue;
		ck_assert_msg(is_explained(&l), "%s %lx: %u bytes, objdump says %u: %s", path,
			      (unsigned long)l.addr, known ? i.len : 0, l.n, l.text);
		t.explained++;
	}
	ck_assert_int_eq(pclose(f), 0);
	return t;
}

START_TEST(test_libraries)
{
	const char *const libc = "/lib/x86_64-linux-gnu/libc.so.6";
	const char *const libcrypto = "/usr/lib/x86_64-linux-gnu/libcrypto.so.3";
	struct tally t;

	if (!have("objdump"))
		return;
	if (access(libc, R_OK)) {
		printf("skip: no %s\n", libc);
		return;
	}
	/* compiled C, and string functions with AVX-512 */
	t = compare_file(libc);
	ck_assert_uint_gt(t.all, 200000);
	ck_assert_uint_eq(t.explained, 0);
	if (access(libcrypto, R_OK))
		return;
	/* constants amidst the code of its ciphers, some 17 KB */
	t = compare_file(libcrypto);
	ck_assert_uint_gt(t.all, 300000);
	ck_assert_uint_lt(t.explained, t.all / 50);
}
END_TEST

/* ---- random bytes */

enum { SLOT = 32, SLOTS = 20000 };

static uint32_t seed = 1;

static uint8_t draw(void)
{
	seed = seed * 1664525 + 1013904223;
	return (uint8_t)(seed >> 24);
}

/* 15 random bytes and so many nops that objdump is back in step at the next slot. */
static void fill_slots(uint8_t *code)
{
	static const uint8_t starts[] = {
		0x0f, 0xc4, 0xc5, 0x62, 0x8f, 0x66, 0xf2, 0xf3, 0x48, 0x40
	};

	memset(code, 0x90, SLOT * SLOTS);
	for (int s = 0; s < SLOTS; s++) {
		uint8_t *p = code + s * SLOT;

		for (int i = 0; i < 15; i++)
			p[i] = draw();
		if (s & 1)
			p[0] = starts[draw() % sizeof(starts)];
	}
}

/*
 * Where both know an instruction they agree on its length. What is reserved in the middle of a map
 * (objdump: bad) has the length of its neighbours to us: it traps, and nobody runs into it.
 */
START_TEST(test_random_bytes)
{
	uint8_t *code = malloc(SLOT * SLOTS);
	char path[64], command[256];
	uint64_t same = 0, all = 0;
	struct insn i;
	struct line l;
	FILE *f;

	if (!have("objdump")) {
		free(code);
		return;
	}
	fill_slots(code);
	snprintf(path, sizeof(path), "%s/random", dir);
	f = fopen(path, "w");
	ck_assert_uint_eq(fwrite(code, SLOT, SLOTS, f), SLOTS);
	ck_assert_int_eq(fclose(f), 0);
	snprintf(command, sizeof(command),
		 "objdump -D -b binary -m i386:x86-64 -z -w --insn-width=20 %s", path);
	f = popen(command, "r");
	while (read_line(f, &l)) {
		const uint8_t *p = code + l.addr;

		if (l.addr % SLOT)
			continue;
		all++;
		if (!rp_insn_x86_decode(p, SLOT, &i)) {
			ck_assert_msg(is_explained(&l) || strstr(l.text, "insertq") ||
					      strstr(l.text, "extrq") || l.text[0] == 'j',
				      "%lx: %02x %02x %02x %02x is not known: %s",
				      (unsigned long)l.addr, p[0], p[1], p[2], p[3], l.text);
			continue;
		}
		same += i.len == l.n;
		ck_assert_msg(i.len == l.n || is_explained(&l),
			      "%lx: %02x %02x %02x %02x: %u bytes, objdump says %u: %s",
			      (unsigned long)l.addr, p[0], p[1], p[2], p[3], i.len, l.n, l.text);
	}
	ck_assert_int_eq(pclose(f), 0);
	ck_assert_uint_eq(all, SLOTS);
	ck_assert_uint_gt(same, SLOTS / 2);
	free(code);
}
END_TEST

/* What is cut short is unknown, and nothing behind the end is looked at. */
START_TEST(test_cut_short)
{
	bool (*const decode[])(const uint8_t *, size_t, struct insn *) = { rp_insn_x86_decode,
									   rp_insn_arm64_decode };

	for (int round = 0; round < 50000; round++) {
		uint8_t bytes[15];
		struct insn whole, part;

		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = draw();
		for (size_t d = 0; d < 2; d++) {
			if (!decode[d](bytes, sizeof(bytes), &whole))
				continue;
			ck_assert_uint_ge(whole.len, 1);
			ck_assert_uint_le(whole.len, 15);
			for (size_t n = 0; n <= whole.len; n++) {
				uint8_t *exact = malloc(n ? n : 1); /* for the address sanitizer */

				memcpy(exact, bytes, n);
				memset(&part, 0, sizeof(part));
				ck_assert_int_eq(decode[d](exact, n, &part), n == whole.len);
				ck_assert_uint_eq(part.len, n == whole.len ? whole.len : 0);
				free(exact);
			}
		}
	}
}
END_TEST

/* ---- what instructions mean */

/* arg(i): the i-th integer argument; R_: the registers' other names */
#define ARG(i) (1U << (i))

struct meaning {
	const char *line; /* of assembly */
	enum insn_flow flow;
	enum rp_step step;
	uint16_t changes;
	uint32_t grows;
	int64_t target;
	bool is_call, is_nop;
};

static const struct meaning x86[] = {
	{ "push %rbp", FLOW_NEXT, RP_STEP_EMULATED, INSN_OTHER },
	{ "push %r15", FLOW_NEXT, RP_STEP_EMULATED, INSN_OTHER },
	{ "pushw %bp", FLOW_NEXT, RP_STEP_SINGLE, INSN_OTHER },
	{ "push (%rax)", FLOW_NEXT, RP_STEP_SINGLE, INSN_OTHER },
	{ "push $1", FLOW_NEXT, RP_STEP_SINGLE, INSN_OTHER },
	{ "pop %rbp", FLOW_NEXT, RP_STEP_SINGLE, INSN_OTHER },
	{ "nop", FLOW_NEXT, RP_STEP_EMULATED, 0 },
	{ "pause", FLOW_NEXT, RP_STEP_SINGLE, 0 },
	{ "xchg %rax, %r8", FLOW_NEXT, RP_STEP_UNKNOWN, INSN_OTHER },
	{ "xchg %ax, %ax", FLOW_NEXT, RP_STEP_SINGLE, 0, .is_nop = true },
	{ "nopl (%rax)", FLOW_NEXT, RP_STEP_SINGLE, 0, .is_nop = true },
	{ ".byte 0x0f, 0x1f, 0x44, 0, 0", FLOW_NEXT, RP_STEP_SINGLE, 0, .is_nop = true },
	{ "nopw 0(%rax,%rax)", FLOW_NEXT, RP_STEP_SINGLE, 0 },
	{ "cs nopw 0(%rax,%rax)", FLOW_NEXT, RP_STEP_UNKNOWN, 0 },
	{ "endbr64", FLOW_NEXT, RP_STEP_SINGLE, 0 },
	{ "test %rdi, %rdi", FLOW_NEXT, RP_STEP_SINGLE, 0 },
	{ "test $1, %dil", FLOW_NEXT, RP_STEP_SINGLE, 0 },
	{ "test $1, %al", FLOW_NEXT, RP_STEP_SINGLE, 0 },
	{ "testl $1, (%rdi)", FLOW_NEXT, RP_STEP_SINGLE, INSN_OTHER },
	{ "not %eax", FLOW_NEXT, RP_STEP_SINGLE, INSN_OTHER },
	{ "cmp $5, %rsi", FLOW_NEXT, RP_STEP_SINGLE, 0 },
	{ "cmp %rsi, %rdi", FLOW_NEXT, RP_STEP_SINGLE, 0 },
	{ "cmpb $0, 1234(%rip)", FLOW_NEXT, RP_STEP_SINGLE, 0 },
	{ "cmpl $0, %fs:24", FLOW_NEXT, RP_STEP_SINGLE, 0 },
	{ "cmpl $0, 24(%rsp)", FLOW_NEXT, RP_STEP_SINGLE, 0 },
	{ "cmpl $0, 24(%rsp,%rax)", FLOW_NEXT, RP_STEP_SINGLE, INSN_OTHER },
	{ "cmpl $0, 24(%r12)", FLOW_NEXT, RP_STEP_SINGLE, INSN_OTHER },
	{ "cmpl $0, (%rdi)", FLOW_NEXT, RP_STEP_SINGLE, INSN_OTHER },
	{ "cmpl $0, %fs:(%rdi)", FLOW_NEXT, RP_STEP_SINGLE, INSN_OTHER },
	{ "mov %rdi, %rax", FLOW_NEXT, RP_STEP_SINGLE, 0 },
	{ "mov %rdi, %r11", FLOW_NEXT, RP_STEP_SINGLE, 0 },
	{ "mov %fs:40, %rax", FLOW_NEXT, RP_STEP_SINGLE, 0 },
	{ "mov 100(%rip), %r10", FLOW_NEXT, RP_STEP_SINGLE, 0 },
	{ "mov (%rdi), %rax", FLOW_NEXT, RP_STEP_SINGLE, INSN_OTHER },
	{ "mov %rax, 8(%rsp)", FLOW_NEXT, RP_STEP_SINGLE, INSN_OTHER },
	{ "mov %rdi, %rsi", FLOW_NEXT, RP_STEP_SINGLE, ARG(1) },
	{ "mov %rax, %rdi", FLOW_NEXT, RP_STEP_SINGLE, ARG(0) },
	{ "mov $1, %edx", FLOW_NEXT, RP_STEP_SINGLE, ARG(2) },
	{ "mov $1, %dh", FLOW_NEXT, RP_STEP_SINGLE, ARG(2) },
	{ "mov $1, %sil", FLOW_NEXT, RP_STEP_SINGLE, ARG(1) },
	{ "mov $1, %ah", FLOW_NEXT, RP_STEP_SINGLE, 0 },
	{ "mov $1, %ch", FLOW_NEXT, RP_STEP_SINGLE, ARG(3) },
	{ "mov $1, %bh", FLOW_NEXT, RP_STEP_SINGLE, INSN_OTHER },
	{ "mov %rsp, %rbp", FLOW_NEXT, RP_STEP_SINGLE, INSN_OTHER },
	{ "mov %rdi, %rbx", FLOW_NEXT, RP_STEP_SINGLE, INSN_OTHER },
	{ "movzbl %dil, %eax", FLOW_NEXT, RP_STEP_SINGLE, 0 },
	{ "movslq %edi, %r8", FLOW_NEXT, RP_STEP_SINGLE, ARG(4) },
	{ "movabs $0x123456789abcdef, %r9", FLOW_NEXT, RP_STEP_SINGLE, ARG(5) },
	{ "xor %eax, %eax", FLOW_NEXT, RP_STEP_SINGLE, 0 },
	{ "xor %ecx, %ecx", FLOW_NEXT, RP_STEP_SINGLE, ARG(3) },
	{ "add %rsi, %rax", FLOW_NEXT, RP_STEP_SINGLE, 0 },
	{ "add $1, %rax", FLOW_NEXT, RP_STEP_SINGLE, 0 },
	{ "lock addl $1, 100(%rip)", FLOW_NEXT, RP_STEP_UNKNOWN, INSN_OTHER },
	{ "lea 100(%rip), %rax", FLOW_NEXT, RP_STEP_SINGLE, 0 },
	{ "lea (%rdi,%rsi), %rax", FLOW_NEXT, RP_STEP_SINGLE, 0 },
	{ "lea 8(%rdi), %rdi", FLOW_NEXT, RP_STEP_SINGLE, ARG(0) },
	{ "lea -40(%rsp), %rsp", FLOW_NEXT, RP_STEP_SINGLE, 0, 40 },
	{ "lea 8(%rsp), %rsp", FLOW_NEXT, RP_STEP_SINGLE, INSN_OTHER, -8 },
	{ "lea 8(%rax), %rsp", FLOW_NEXT, RP_STEP_SINGLE, INSN_OTHER },
	{ "sub $24, %rsp", FLOW_NEXT, RP_STEP_SINGLE, 0, 24 },
	{ "sub $4096, %rsp", FLOW_NEXT, RP_STEP_SINGLE, 0, 4096 },
	{ "add $-128, %rsp", FLOW_NEXT, RP_STEP_SINGLE, 0, 128 },
	{ "add $24, %rsp", FLOW_NEXT, RP_STEP_SINGLE, INSN_OTHER, -24 },
	{ "sub $24, %esp", FLOW_NEXT, RP_STEP_SINGLE, INSN_OTHER },
	{ "and $-16, %rsp", FLOW_NEXT, RP_STEP_SINGLE, INSN_OTHER },
	{ "vpxor %xmm0, %xmm0, %xmm0", FLOW_NEXT, RP_STEP_SINGLE, INSN_OTHER },
	{ "rep movsb", FLOW_NEXT, RP_STEP_SINGLE, INSN_OTHER },
	{ "call .+100", FLOW_NEXT, RP_STEP_EMULATED, INSN_OTHER, .target = 100, .is_call = true },
	{ "call *%rax", FLOW_NEXT, RP_STEP_SINGLE, INSN_OTHER, .is_call = true },
	{ "jmp .+100", FLOW_JUMP, RP_STEP_EMULATED, INSN_OTHER, .target = 100 },
	{ "jmp .-1000", FLOW_JUMP, RP_STEP_EMULATED, INSN_OTHER, .target = -1000 },
	{ "bnd jmp .+100", FLOW_JUMP, RP_STEP_EMULATED, INSN_OTHER, .target = 100 },
	{ "je .+10", FLOW_BRANCH, RP_STEP_EMULATED, INSN_OTHER, .target = 10 },
	{ "ja .-70000", FLOW_BRANCH, RP_STEP_EMULATED, INSN_OTHER, .target = -70000 },
	{ "jrcxz .+10", FLOW_BRANCH, RP_STEP_SINGLE, INSN_OTHER, .target = 10 },
	{ "xbegin .+100", FLOW_BRANCH, RP_STEP_SINGLE, INSN_OTHER, .target = 100 },
	{ "jmp *%rax", FLOW_TABLE, RP_STEP_SINGLE, INSN_OTHER },
	{ "notrack jmp *%rax", FLOW_TABLE, RP_STEP_UNKNOWN, INSN_OTHER },
	{ "jmp *(%rax,%rdx,8)", FLOW_TABLE, RP_STEP_SINGLE, INSN_OTHER },
	{ "jmp *100(%rip)", FLOW_AWAY, RP_STEP_SINGLE, INSN_OTHER },
	{ "ret", FLOW_RETURN, RP_STEP_SINGLE, INSN_OTHER },
	{ "rep ret", FLOW_RETURN, RP_STEP_SINGLE, INSN_OTHER },
	{ "ret $8", FLOW_RETURN, RP_STEP_SINGLE, INSN_OTHER },
	{ "ud2", FLOW_STOP, RP_STEP_SINGLE, INSN_OTHER },
	{ "hlt", FLOW_STOP, RP_STEP_SINGLE, INSN_OTHER },
	{ "syscall", FLOW_NEXT, RP_STEP_SINGLE, INSN_OTHER },
};

static const struct meaning arm64[] = {
	{ "b .+100", FLOW_JUMP, RP_STEP_EMULATED, INSN_OTHER, .target = 100 },
	{ "b .-0x8000000", FLOW_JUMP, RP_STEP_EMULATED, INSN_OTHER, .target = -0x8000000 },
	{ "bl .+100", FLOW_NEXT, RP_STEP_EMULATED, INSN_OTHER, .target = 100, .is_call = true },
	{ "b.ne .-8", FLOW_BRANCH, RP_STEP_EMULATED, INSN_OTHER, .target = -8 },
	{ "bc.ne .-8", FLOW_BRANCH, RP_STEP_UNKNOWN, INSN_OTHER, .target = -8 },
	{ "cbz x0, .+16", FLOW_BRANCH, RP_STEP_EMULATED, INSN_OTHER, .target = 16 },
	{ "cbnz w3, .-1048576", FLOW_BRANCH, RP_STEP_EMULATED, INSN_OTHER, .target = -1048576 },
	{ "tbz x0, #33, .+20", FLOW_BRANCH, RP_STEP_EMULATED, INSN_OTHER, .target = 20 },
	{ "tbnz w0, #1, .-32768", FLOW_BRANCH, RP_STEP_EMULATED, INSN_OTHER, .target = -32768 },
	{ "adr x0, .", FLOW_NEXT, RP_STEP_EMULATED, ARG(0) },
	{ "adrp x16, .", FLOW_NEXT, RP_STEP_EMULATED, 0 },
	{ "br x16", FLOW_TABLE, RP_STEP_EMULATED, INSN_OTHER },
	{ "blr x1", FLOW_NEXT, RP_STEP_EMULATED, INSN_OTHER, .is_call = true },
	{ "ret", FLOW_RETURN, RP_STEP_EMULATED, INSN_OTHER },
	{ "ret x1", FLOW_RETURN, RP_STEP_EMULATED, INSN_OTHER },
	{ "retaa", FLOW_RETURN, RP_STEP_UNKNOWN, INSN_OTHER },
	{ "retab", FLOW_RETURN, RP_STEP_UNKNOWN, INSN_OTHER },
	{ "braa x1, x2", FLOW_TABLE, RP_STEP_UNKNOWN, INSN_OTHER },
	{ "braaz x1", FLOW_TABLE, RP_STEP_UNKNOWN, INSN_OTHER },
	{ "blraa x1, x2", FLOW_NEXT, RP_STEP_UNKNOWN, INSN_OTHER, .is_call = true },
	{ "eret", FLOW_TABLE, RP_STEP_UNKNOWN, INSN_OTHER },
	{ "nop", FLOW_NEXT, RP_STEP_EMULATED, 0 },
	{ "bti c", FLOW_NEXT, RP_STEP_SINGLE, 0 },
	{ "paciasp", FLOW_NEXT, RP_STEP_SINGLE, INSN_OTHER },
	{ "wfi", FLOW_NEXT, RP_STEP_UNKNOWN, INSN_OTHER },
	{ "cmp x0, #3", FLOW_NEXT, RP_STEP_SINGLE, 0 },
	{ "cmp x0, x1", FLOW_NEXT, RP_STEP_SINGLE, 0 },
	{ "cmp sp, x1", FLOW_NEXT, RP_STEP_SINGLE, 0 },
	{ "tst x0, #1", FLOW_NEXT, RP_STEP_SINGLE, 0 },
	{ "tst x0, x1", FLOW_NEXT, RP_STEP_SINGLE, 0 },
	{ "mov x9, x0", FLOW_NEXT, RP_STEP_SINGLE, 0 },
	{ "mov x17, #5", FLOW_NEXT, RP_STEP_SINGLE, 0 },
	{ "mov x7, x0", FLOW_NEXT, RP_STEP_SINGLE, ARG(7) },
	{ "mov x8, x0", FLOW_NEXT, RP_STEP_SINGLE, INSN_OTHER },
	{ "mov x18, x0", FLOW_NEXT, RP_STEP_SINGLE, INSN_OTHER },
	{ "mov x19, x0", FLOW_NEXT, RP_STEP_SINGLE, INSN_OTHER },
	{ "mov x29, sp", FLOW_NEXT, RP_STEP_SINGLE, INSN_OTHER },
	{ "mov sp, x9", FLOW_NEXT, RP_STEP_SINGLE, INSN_OTHER },
	{ "add x2, x2, #1", FLOW_NEXT, RP_STEP_SINGLE, ARG(2) },
	{ "add sp, sp, #16", FLOW_NEXT, RP_STEP_SINGLE, INSN_OTHER },
	{ "add sp, sp, x9", FLOW_NEXT, RP_STEP_SINGLE, INSN_OTHER },
	{ "and sp, x9, #-16", FLOW_NEXT, RP_STEP_SINGLE, INSN_OTHER },
	{ "sub sp, sp, #32", FLOW_NEXT, RP_STEP_SINGLE, 0, 32 },
	{ "sub sp, sp, #1, lsl #12", FLOW_NEXT, RP_STEP_SINGLE, 0, 4096 },
	{ "sub w0, w0, #1", FLOW_NEXT, RP_STEP_SINGLE, ARG(0) },
	{ "ubfx x10, x0, #3, #4", FLOW_NEXT, RP_STEP_SINGLE, 0 },
	{ "stp x29, x30, [sp, #-16]!", FLOW_NEXT, RP_STEP_SINGLE, INSN_OTHER },
	{ "ldr x9, [sp]", FLOW_NEXT, RP_STEP_SINGLE, INSN_OTHER },
	{ "ldr x0, .", FLOW_NEXT, RP_STEP_UNKNOWN, INSN_OTHER },
	{ "ldxr x0, [x1]", FLOW_NEXT, RP_STEP_UNKNOWN, INSN_OTHER },
	{ "svc #0", FLOW_NEXT, RP_STEP_UNKNOWN, INSN_OTHER },
	{ "brk #1", FLOW_STOP, RP_STEP_UNKNOWN, INSN_OTHER },
	{ "msr tpidr_el0, x0", FLOW_NEXT, RP_STEP_UNKNOWN, INSN_OTHER },
	{ "mrs x9, tpidr_el0", FLOW_NEXT, RP_STEP_SINGLE, INSN_OTHER },
	{ "fmov d0, #1.0", FLOW_NEXT, RP_STEP_SINGLE, INSN_OTHER },
};

static void shell(const char *format, ...)
{
	char command[512];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	ck_assert_msg(system(command) == 0, "%s", command);
}

/* Assembles each line at 32 bytes from the one before; returns the code. */
static uint8_t *assemble(const char *tools, const char *flags, const struct meaning *m, size_t n,
			 bool x86_64)
{
	uint8_t *code = calloc(n + 1, 32);
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/lines.s", dir);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	for (size_t i = 0; i < n; i++)
		fprintf(f, ".org %zu, %d\n%s\n", i * 32, x86_64 ? 0x90 : 0, m[i].line);
	fclose(f);
	shell("%sas %s -o %s/lines.o %s && %sobjcopy -O binary -j .text %s/lines.o %s/lines.bin",
	      tools, flags, dir, path, tools, dir, dir);
	snprintf(path, sizeof(path), "%s/lines.bin", dir);
	f = fopen(path, "r");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_gt(fread(code, 1, n * 32, f), (n - 1) * 32);
	fclose(f);
	return code;
}

static void check_meanings(const uint8_t *code, const struct meaning *m, size_t n,
			   bool (*decode)(const uint8_t *, size_t, struct insn *))
{
	for (size_t k = 0; k < n; k++) {
		struct insn i;

		ck_assert_msg(decode(code + k * 32, 32, &i), "%s is not known", m[k].line);
		ck_assert_msg(
			i.flow == m[k].flow && i.step == m[k].step && i.changes == m[k].changes &&
				i.grows == m[k].grows && i.target == m[k].target &&
				i.is_call == m[k].is_call && i.is_nop == m[k].is_nop && i.name,
			"%s: flow %d, step %d, changes %x, grows %d, target %ld, call %d, nop %d",
			m[k].line, i.flow, i.step, i.changes, (int)i.grows, (long)i.target,
			i.is_call, i.is_nop);
	}
}

START_TEST(test_x86_meanings)
{
	const size_t n = sizeof(x86) / sizeof(x86[0]);
	uint8_t *code;

	if (!have("objdump"))
		return;
#ifndef __x86_64__
	printf("skip: the assembler is of another machine\n");
	return;
#endif
	code = assemble("", "--64", x86, n, true);
	check_meanings(code, x86, n, rp_insn_x86_decode);
	free(code);
}
END_TEST

START_TEST(test_arm64_meanings)
{
	const size_t n = sizeof(arm64) / sizeof(arm64[0]);
	uint8_t *code;

	if (!have("aarch64-linux-gnu-as"))
		return;
	code = assemble("aarch64-linux-gnu-", "-march=armv8.8-a", arm64, n, false);
	check_meanings(code, arm64, n, rp_insn_arm64_decode);
	free(code);
}
END_TEST

/* Those by their words, where there is no assembler for them. */
START_TEST(test_arm64_words)
{
	static const struct {
		uint32_t word;
		enum rp_step step;
		enum insn_flow flow;
	} words[] = {
		{ 0xd503245f, RP_STEP_SINGLE, FLOW_NEXT },     /* bti c */
		{ 0xd503233f, RP_STEP_SINGLE, FLOW_NEXT },     /* paciasp */
		{ 0xd503201f, RP_STEP_EMULATED, FLOW_NEXT },   /* nop */
		{ 0xa9bf7bfd, RP_STEP_SINGLE, FLOW_NEXT },     /* stp x29, x30, [sp, #-16]! */
		{ 0xb4000040, RP_STEP_EMULATED, FLOW_BRANCH }, /* cbz x0, .+8 */
		{ 0xd65f03c0, RP_STEP_EMULATED, FLOW_RETURN }, /* ret */
		{ 0xd65f0bff, RP_STEP_UNKNOWN, FLOW_RETURN },  /* retaa */
	};
	struct insn i;

	for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++) {
		ck_assert(rp_insn_arm64_decode((const uint8_t *)&words[k].word, 4, &i));
		ck_assert_msg(i.step == words[k].step && i.flow == words[k].flow, "%08x",
			      words[k].word);
	}
	ck_assert(!rp_insn_arm64_decode((const uint8_t[4]){ 0 }, 4, &i)); /* udf #0 */
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
	Suite *s = suite_create("instructions");
	TCase *tc = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_unchecked_fixture(tc, make_dir, remove_dir);
	tcase_add_test(tc, test_libraries);
	tcase_add_test(tc, test_random_bytes);
	tcase_add_test(tc, test_cut_short);
	tcase_add_test(tc, test_x86_meanings);
	tcase_add_test(tc, test_arm64_meanings);
	tcase_add_test(tc, test_arm64_words);
	suite_add_tcase(s, tc);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
