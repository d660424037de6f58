/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs as values: what is said of them in one place agrees, and how lists of them are read. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "programs/cpu.h"
#include "record/recording.h"

#include "test_loader.h"

static void check_hook(const struct rp_program *p)
{
	static const uint32_t types[] = {
		[RP_HOOK_TP_BTF] = BPF_PROG_TYPE_TRACING,
		[RP_HOOK_RAW_TP] = BPF_PROG_TYPE_RAW_TRACEPOINT,
		[RP_HOOK_TP] = BPF_PROG_TYPE_TRACEPOINT,
		[RP_HOOK_PERF] = BPF_PROG_TYPE_PERF_EVENT,
		[RP_HOOK_UPROBE] = BPF_PROG_TYPE_KPROBE,
		[RP_HOOK_ITER] = BPF_PROG_TYPE_TRACING,
		[RP_HOOK_PROBE] = BPF_PROG_TYPE_KPROBE,
		[RP_HOOK_FENTRY] = BPF_PROG_TYPE_TRACING,
		[RP_HOOK_FEXIT] = BPF_PROG_TYPE_TRACING,
		[RP_HOOK_RECORD] = BPF_PROG_TYPE_TRACEPOINT,
	};
	const enum rp_hook_kind kind = p->hook.kind;

	if (kind != RP_HOOK_TEST_RUN)
		ck_assert_msg(p->code.type == types[kind], "%s: type", p->code.name);
	ck_assert_msg((kind == RP_HOOK_TP) == (p->hook.group != NULL), "%s: group", p->code.name);
	if (p->code.target)
		ck_assert_str_eq(p->code.target, p->hook.name);
}

START_TEST(each_is_whole)
{
	const struct rp_program *p;
	size_t n = 0;

	while ((p = rp_program_number(n++))) {
		ck_assert_msg(strlen(p->code.name) < 16, "%s: the kernel cuts it", p->code.name);
		ck_assert_ptr_eq(rp_program_named(p->code.name), p);
		ck_assert_msg(p->summary && *p->summary, "%s: no summary", p->code.name);
		ck_assert_msg(p->nmaps && p->maps, "%s: no maps", p->code.name);
		ck_assert_msg(!p->config == !p->code.config_size, "%s: config", p->code.name);
		ck_assert_msg(!(p->role & (p->role - 1)), "%s: several roles", p->code.name);
		check_hook(p);
	}
	ck_assert_uint_gt(n, 100);
	ck_assert_ptr_null(rp_program_named("no_such_program"));
}
END_TEST

/* Variants stand side by side, and an optional role is optional for all of them. */
START_TEST(variants_follow_each_other)
{
	for (const struct rp_program *const *list = rp_program_lists; *list; list++) {
		uint32_t met = 0;

		for (const struct rp_program *p = *list; p->code.name; p++) {
			const struct rp_program *before = p - 1;

			if (p == *list || before->role != p->role)
				ck_assert_msg(!(met & p->role), "%s: apart from its variant",
					      p->code.name);
			else
				ck_assert_msg(before->ends == p->ends, "%s: ends", p->code.name);
			met |= p->role;
		}
		if (met) /* one of role 0 plays every role */
			ck_assert_ptr_null(rp_program_of(*list, ~met));
	}
}
END_TEST

static const struct asm_insn nothing[] = { MOV(R0, 0), EXIT() };
static const struct rp_program variants[] = {
	{ RP_CODE("never", nothing), RP_ON_PERF_EVENT, .role = 1,
	  RP_NEEDS(RP_NEED_FEATURE(RP_HAS_BPF), RP_NEED_LACK(RP_HAS_BPF)) },
	{ RP_CODE("second", nothing), RP_ON_PERF_EVENT, .role = 1 },
	{ RP_CODE("third", nothing), RP_ON_PERF_EVENT, .role = 1 },
	{ RP_CODE("absent", nothing), RP_ON_TP("no_such", "tracepoint"), .role = 2,
	  RP_NEEDS(RP_NEED_HOOK) },
	RP_LIST_END,
};

START_TEST(the_first_that_can_run_is_chosen)
{
	const struct rp_program *chosen = NULL;

	ck_assert_int_eq(record_lacks(&variants[0]), -EOPNOTSUPP);
	ck_assert_int_eq(record_choose(variants, 1, &chosen), 0);
	ck_assert_str_eq(chosen->code.name, "second");
	ck_assert_int_lt(record_choose(variants, 2, &chosen), 0);
	ck_assert_int_eq(record_choose(variants, 4, &chosen), -ENOENT);
}
END_TEST

/* The descriptors of a recording have room for so many, and no more are loaded. */
START_TEST(there_is_room_for_so_many)
{
	struct recording rec = { .nprograms = RECORD_PROGRAMS };
	char said[100];

	capture_log();
	ck_assert_int_eq(record_load(&rec, rp_cpu_programs, NULL), -E2BIG);
	snprintf(said, sizeof(said), "cpu_sample: more than %d programs in a recording",
		 RECORD_PROGRAMS);
	ck_assert_logged(said);
	ck_assert_uint_eq(rec.nprograms, RECORD_PROGRAMS);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("programs");
	TCase *tc = tcase_create("values");

	tcase_add_test(tc, each_is_whole);
	tcase_add_test(tc, variants_follow_each_other);
	tcase_add_test(tc, the_first_that_can_run_is_chosen);
	tcase_add_test(tc, there_is_room_for_so_many);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
