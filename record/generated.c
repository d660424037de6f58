/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames of generated code on x86-64. That they are right is seen at each: they follow a call. */
#include <string.h>

#include "programs/shared/unwind.h"

#include "generated.h"

static const struct {
	const char *name; /* how its file's begins */
	struct unwind_rule rule;
} known[] = {
	/*
	 * Guile 3.0: its code is entered by one trampoline, which saves three registers and never
	 * touches rbp; calls within it are jumps, on a stack of their own (libguile/jit.c). What a
	 * call of its own helpers pushes is popped by their first instruction, which takes longest.
	 */
	{ "libguile-3.0.so", { .cfa_off = 32, .arg = 8, .ra_off = 1 } },
/*
	 * Chez Scheme, and Racket on it: a stack of their own too. setjmp() has kept the
	 * registers before, so all that is on C's is a word below the return address.
	 */
#define CHEZ                                                                                       \
	{                                                                                          \
		.cfa_off = 16, .flags = UNWIND_FP_LOST                                             \
	}
	{ "chezscheme", CHEZ },
	{ "scheme", CHEZ },
	{ "petite", CHEZ },
	{ "racket", CHEZ },
	/*
	 * QEMU's TCG: FRAME_SIZE (tcg/i386/tcg-target.c.inc), the caller's rbp first. In its code
	 * rbp is the state of the guest's CPU.
	 */
	{ "qemu-", { .cfa_off = 1216, .flags = UNWIND_FP_AT_CFA, .fp_off = -16 } },
/*
	 * PyPy: FRAME_FIXED_SIZE words in each loop, the caller's rbp behind PASS_ON_MY_FRAME of
	 * them (rpython/jit/backend/x86/arch.py); in stubs that call a return address and one more.
	 * What is looked at there first was written for vmprof.
	 */
#define PYPY                                                                                       \
	{                                                                                          \
		.cfa_off = 192, .arg = 16, .ra_off = 1, .flags = UNWIND_FP_AT_CFA, .fp_off = -96   \
	}
	{ "libpypy3", PYPY },
	{ "pypy3", PYPY },
/*
	 * LuaJIT 2.1: traces run in the frame of the interpreter, CFRAME_SIZE (src/lj_frame.h), and
	 * spill registers above it, two in 16 bytes. As many as fit into that frame: one size too
	 * low is then looked at in it, where all is written, never in what was not written yet.
	 */
#define LUAJIT                                                                                     \
	{                                                                                          \
		.cfa_off = 96, .arg = 16, .ra_off = UNWIND_GENERATED_SIZES,                        \
		.flags = UNWIND_FP_AT_CFA, .fp_off = -16                                           \
	}
	{ "luajit", LUAJIT },
	{ "libluajit", LUAJIT },
};

struct unwind_rule record_generated_by(const char *path)
{
#if defined(__x86_64__)
	const char *slash = strrchr(path, '/');

	path = slash ? slash + 1 : path;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strncmp(path, known[i].name, strlen(known[i].name))) {
			struct unwind_rule rule = known[i].rule;

			rule.kind = UNWIND_SP;
			return rule;
		}
#endif
	return (struct unwind_rule){ 0 };
}

enum {
	SEEN = 48,   /* bytes that a function is known by */
	ALIGNED = 8, /* PCRE's are by 8, all others by more */
};

/* endbr64 */
static size_t skip_endbr(const uint8_t *code, size_t n)
{
	return n >= 4 && !memcmp(code, "\xf3\x0f\x1e\xfa", 4) ? 4 : 0;
}

/* push of a register of 64 bits: how many there are, and what they make of the frame. */
static size_t take_pushes(const uint8_t *code, size_t n, size_t *at, struct unwind_rule *rule)
{
	size_t count = 0;

	for (;; count++) {
		const size_t wide = *at < n && code[*at] == 0x41; /* of r8 to r15 */

		if (*at + wide >= n || (code[*at + wide] & 0xf8) != 0x50)
			return count;
		rule->cfa_off += 8;
		if (!wide && code[*at] == 0x55) {
			rule->flags = UNWIND_FP_AT_CFA;
			rule->fp_off = (int16_t)-rule->cfa_off;
		}
		*at += 1 + wide;
	}
}

/* mov of a register of 64 bits to another one: arguments, to where they are kept. */
static size_t skip_moves(const uint8_t *code, size_t n, size_t at)
{
	while (at + 3 <= n && (code[at] & 0xf8) == 0x48 && code[at + 1] == 0x89 &&
	       code[at + 2] >= 0xc0)
		at += 3;
	return at;
}

/* sub $imm32, %rsp; sub $imm8, %rsp. 0: it is neither. */
static int32_t room_made(const uint8_t *code, size_t n, size_t at)
{
	int32_t bytes = 0;

	if (at + 7 <= n && !memcmp(code + at, "\x48\x81\xec", 3))
		memcpy(&bytes, code + at + 3, sizeof(bytes));
	else if (at + 4 <= n && !memcmp(code + at, "\x48\x83\xec", 3))
		bytes = (int8_t)code[at + 3];
	return bytes > 0 && bytes < 1 << 16 ? bytes : 0;
}

struct unwind_rule record_generated_in(const uint8_t *code, size_t n)
{
	struct unwind_rule rule = { .cfa_off = 8, .kind = UNWIND_SP, .flags = UNWIND_FP_LOST };
	size_t at = skip_endbr(code, n);
	int32_t bytes;

#if !defined(__x86_64__)
	return (struct unwind_rule){ 0 };
#endif
	take_pushes(code, n, &at, &rule);
	bytes = room_made(code, n, at);
	rule.cfa_off += bytes;
	return bytes ? rule : (struct unwind_rule){ 0 };
}

/* push %rbp; mov %rsp, %rbp, in both encodings: it is left by the frame pointer. */
static bool keeps_frame_pointer(const uint8_t *code, size_t n)
{
	return n >= 4 &&
	       (!memcmp(code, "\x55\x48\x89\xe5", 4) || !memcmp(code, "\x55\x48\x8b\xec", 4));
}

/* Who calls has the stack aligned, and so has who is called then. */
static bool is_function(const uint8_t *code, size_t n, struct unwind_rule *rule)
{
	size_t at = skip_endbr(code, n), pushes;
	int32_t bytes;

	*rule = (struct unwind_rule){ .kind = UNWIND_NO_ROW };
	if (keeps_frame_pointer(code + at, n - at))
		return true;
	*rule = (struct unwind_rule){ .cfa_off = 8, .kind = UNWIND_SP };
	pushes = take_pushes(code, n, &at, rule);
	bytes = room_made(code, n, skip_moves(code, n, at));
	rule->cfa_off += bytes;
	return pushes > 1 && bytes && rule->cfa_off % 16 == 0;
}

bool record_generated_is_known(void)
{
#if defined(__x86_64__)
	return true;
#else
	return false;
#endif
}

/*
 * PCRE calls parts of its functions, and within the frame: the first instruction of such a part
 * pops the return address to the stack, pop d(%rsp), and it returns by push %rax; ret. How many
 * bytes at @code run with 8 bytes more on the stack; *@at: from where on.
 */
static size_t with_return_address(const uint8_t *code, size_t n, size_t *at)
{
	size_t bytes = 0;

	*at = n >= 2 && code[0] == 0x50 && code[1] == 0xc3;
	if (*at)
		return 1;
	if (n < 3 || code[0] != 0x8f || code[2] != 0x24)
		return 0;
	if (code[1] == 0x04)
		bytes = 3;
	else if (code[1] == 0x44)
		bytes = 4;
	else if (code[1] == 0x84)
		bytes = 7;
	return bytes <= n ? bytes : 0;
}

struct rows {
	struct generated_row *row;
	size_t n;
};

static void add(struct rows *r, size_t at, const struct unwind_rule *rule)
{
	if (r->n && r->row[r->n - 1].at == at)
		r->n--; /* that one held for nothing */
	r->row[r->n++] = (struct generated_row){ .at = (uint32_t)at, .rule = *rule };
}

size_t record_generated_rows(const uint8_t *code, size_t n, struct generated_row *out, size_t most)
{
	struct rows rows = { .row = out };
	struct unwind_rule rule = { 0 }, more;
	size_t at, len = 1;

	for (size_t i = 0; record_generated_is_known() && i < n && rows.n + 2 <= most; i += len) {
		len = 1;
		if (i % ALIGNED == 0 && is_function(code + i, n - i < SEEN ? n - i : SEEN, &more)) {
			rule = more;
			add(&rows, i, &rule);
		} else if (rule.kind == UNWIND_SP) {
			const size_t special = with_return_address(code + i, n - i, &at);

			if (!special)
				continue;
			len = at + special;
			more = rule;
			more.cfa_off += 8;
			add(&rows, i + at, &more);
			if (i + len < n)
				add(&rows, i + len, &rule);
		}
	}
	return rows.n;
}
