/* SPDX-License-Identifier: BSD-2-Clause */
/* A stub jumps to an address in memory. Only while it has none it pushes its number before that. */
#include <string.h>

#include "plt.h"

enum {
	STUB = 16,   /* bytes, at least, */
	HEADER = 32, /*   and of what binds functions when they are called first, at most */
	LINK_REGISTER = 30,
};

/* How stubs begin: bytes in hexadecimal; of a digit that is "?", any. */
struct pattern {
	const char *code;
	uint16_t machine;
	uint8_t pushed; /* behind its push; 0: the stack is as it was, all the way */
};

static const struct pattern patterns[] = {
	/* jmp *n(%rip); push $n; jmp to the header */
	{ "ff25???????? 68???????? e9", EM_X86_64, 11 },
	/* endbr64; push $n; jmp to the header */
	{ "f30f1efa 68???????? e9", EM_X86_64, 9 },
	/* jmp *n(%rip), behind endbr64, with bnd, and behind mov $n, %r11d */
	{ "ff25", EM_X86_64, 0 },
	{ "f30f1efa ff25", EM_X86_64, 0 },
	{ "f30f1efa f2ff25", EM_X86_64, 0 },
	{ "f30f1efa 41bb???????? ff25", EM_X86_64, 0 },
	/* adrp x16; ldr x17, [x16, #n]; add x16, x16, #n; behind bti c */
	{ "?0?????? 11????f9 10????91", EM_AARCH64, 0 },
	{ "5f2403d5 ?0?????? 11????f9 10????91", EM_AARCH64, 0 },
};

static bool matches(const char *pattern, const uint8_t *code, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	size_t at = 0; /* in digits */

	for (; *pattern; pattern++) {
		if (*pattern == ' ')
			continue;
		if (at / 2 == n)
			return false;
		if (*pattern != '?' && *pattern != digits[code[at / 2] >> (at % 2 ? 0 : 4) & 15])
			return false;
		at++;
	}
	return true;
}

static const struct pattern *pattern_of(uint16_t machine, const uint8_t *code, size_t n)
{
	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++)
		if (patterns[i].machine == machine && matches(patterns[i].code, code, n))
			return &patterns[i];
	return NULL;
}

/* A stub is called, and changes nothing but what it pushes. */
static struct unwind_rule rule_of(const struct pattern *p)
{
	struct unwind_rule rule = { .kind = UNWIND_SP, .flags = UNWIND_COMPUTED };

	if (p->machine == EM_AARCH64) {
		rule.flags |= UNWIND_RA_REG;
		rule.ra_off = LINK_REGISTER;
		return rule;
	}
	rule.cfa_off = 8;
	rule.ra_off = -8;
	if (p->pushed) {
		rule.kind = UNWIND_PLT;
		rule.arg = p->pushed;
	}
	return rule;
}

/* The header of x86-64 is 16 bytes, mold's and arm64's 32; .plt.sec and .plt.got have none. */
static bool find_stubs(const struct unwind_image *m, const Elf64_Shdr *section,
		       struct unwind_plt *out)
{
	uint8_t code[HEADER + STUB];
	const size_t n = unwind_image_read(m, section->sh_offset, code,
					   section->sh_size < sizeof(code) ? section->sh_size
									   : sizeof(code));

	for (size_t at = 0; at < n; at += STUB) {
		const struct pattern *p = pattern_of(m->machine, code + at, n - at);

		if (!p)
			continue;
		*out = (struct unwind_plt){ .start = section->sh_addr + at,
					    .end = section->sh_addr + section->sh_size,
					    .rule = rule_of(p) };
		return out->end > out->start;
	}
	return false;
}

static bool is_plt(const struct unwind_image *m, const Elf64_Shdr *section)
{
	const char *name = unwind_image_name(m, section);

	return section->sh_type == SHT_PROGBITS && section->sh_flags & SHF_EXECINSTR &&
	       (!strncmp(name, ".plt", 4) || !strcmp(name, ".iplt"));
}

static void insert(struct unwind_plt *all, size_t n, struct unwind_plt plt)
{
	for (; n && all[n - 1].start > plt.start; n--)
		all[n] = all[n - 1];
	all[n] = plt;
}

size_t unwind_plts_find(struct unwind_plt out[UNWIND_PLTS], const struct unwind_image *m)
{
	struct unwind_plt plt;
	size_t n = 0;

	for (size_t i = 0; i < m->nsections && n < UNWIND_PLTS; i++)
		if (is_plt(m, &m->sections[i]) && find_stubs(m, &m->sections[i], &plt))
			insert(out, n++, plt);
	return n;
}
