/* SPDX-License-Identifier: BSD-2-Clause */
/* The verifier's walk: steps, paths, what covers what, precision; from logs of real kernels. */
#include "test_vlog.h"

static struct asm_walk walked(const char *text)
{
	struct asm_walk walk;

	ck_assert_int_eq(asm_walk_read(text, &walk), 0);
	return walk;
}

/* "R0=0 R1=0..1", raw as the kernel wrote it. */
static const char *raw_at(struct asm_walk *walk, uint32_t state, uint32_t frame, int where)
{
	struct asm_walk_value v;
	const uint32_t value = asm_walk_at(walk, state, frame, where);

	if (value == ASM_WALK_NONE)
		return "";
	ck_assert_int_eq(asm_walk_value(walk, value, &v), 0);
	return v.raw;
}

static void check_log(const char *name)
{
	char *text = data_file(name);
	struct asm_walk walk = walked(text);

	free(text);
	ck_assert_uint_eq(walk.nsteps, walk.log.processed);
	ck_assert_uint_eq(walk.left_out, 0);
	ck_assert_uint_eq(walk.surprises, 0);
	for (uint32_t i = 0; i < walk.nmatches; i++)
		ck_assert_uint_lt(walk.matches[i].step, walk.matches[i].safe);
	asm_walk_free(&walk);
}

START_TEST(whole_logs)
{
	check_log("follow_fork-6.18.log");
	check_log("nullcheck-6.18.log");
	check_log("subprog-6.18.log");
}
END_TEST

static const char branch[] = "0: R1=ctx() R10=fp0\n"
			     "0: (85) call bpf_ktime_get_ns#5       ; R0=scalar()\n"
			     "1: (b7) r2 = 7                        ; R2=7\n"
			     "2: (25) if r0 > 0x9 goto pc+1         ; R0=scalar(smin=smin32=0,"
			     "smax=umax=smax32=umax32=9,var_off=(0x0; 0xf))\n"
			     "3: (b7) r2 = 8                        ; R2=8\n"
			     "4: (95) exit\n"
			     "\n"
			     "from 2 to 4: safe\n"
			     "processed 6 insns (limit 1000000) max_states_per_insn 0\n";

/* The other branch has what the condition leaves to it, although the kernel prints nothing. */
START_TEST(other_branch)
{
	struct asm_walk walk = walked(branch);
	struct asm_walk_value v;
	const struct asm_walk_step *safe = &walk.steps[5];

	ck_assert_uint_eq(walk.npaths, 2);
	ck_assert_uint_eq(walk.paths[0].end, ASM_WALK_EXIT);
	ck_assert_uint_eq(walk.paths[1].end, ASM_WALK_SAFE);
	ck_assert_uint_eq(walk.paths[1].from, 2);
	ck_assert_uint_eq(walk.steps[2].pushed, 1);
	ck_assert(safe->safe);
	ck_assert_int_eq(asm_walk_value(&walk, asm_walk_at(&walk, safe->state, 0, 0), &v), 0);
	ck_assert_uint_eq(v.umin, 10);
	ck_assert_uint_eq(v.umax, UINT64_MAX);
	ck_assert_str_eq(raw_at(&walk, safe->state, 0, 2), "7");
	/* nothing depended on any of it */
	ck_assert_uint_eq(walk.matches[0].step, 4);
	asm_walk_free(&walk);
}
END_TEST

/* A number that something depended on has to be within what it was: here it is not. */
START_TEST(precise)
{
	char text[2000];
	struct asm_walk walk;
	const char *exit = strstr(branch, "4: (95) exit\n") + strlen("4: (95) exit\n");

	snprintf(text, sizeof(text),
		 "%.*smark_precise: frame0: last_idx 4 first_idx 0 subseq_idx -1 \n"
		 "mark_precise: frame0: regs=r2 stack= before 3: (b7) r2 = 8\n%s",
		 (int)(exit - branch), branch, exit);
	walk = walked(text);
	ck_assert_uint_eq(walk.nchains, 1);
	ck_assert_uint_eq(walk.nmarks, 1);
	ck_assert_uint_eq(walk.marks[0].step, 3);
	ck_assert_uint_eq(walk.marks[0].regs, 1 << 2);
	ck_assert_uint_eq(walk.nmatches, 1);
	ck_assert_uint_eq(walk.matches[0].step, ASM_WALK_NONE);
	asm_walk_free(&walk);
}
END_TEST

/* What the kernel shows of a branch and what its jump had to leave do not agree. */
START_TEST(surprise)
{
	char text[2000];
	const char *safe = strstr(branch, " safe\n");
	struct asm_walk walk;

	snprintf(text, sizeof(text), "%.*s R0=scalar() R1=ctx() R2=7 R10=fp0\n4: (95) exit\n",
		 (int)(safe - branch), branch);
	walk = walked(text);
	ck_assert_uint_eq(walk.surprises, 1);
	ck_assert_uint_eq(walk.npaths, 2);
	ck_assert_str_eq(raw_at(&walk, walk.steps[5].state, 0, 0), "scalar()");
	asm_walk_free(&walk);
}
END_TEST

START_TEST(nothing)
{
	struct asm_walk walk = walked("");

	ck_assert_uint_eq(walk.nsteps, 0);
	ck_assert_uint_eq(asm_walk_frames(&walk, ASM_WALK_NONE), 0);
	asm_walk_free(&walk);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("walk");
	TCase *all = tcase_create("walk");

	tcase_add_test(all, whole_logs);
	tcase_add_test(all, other_branch);
	tcase_add_test(all, precise);
	tcase_add_test(all, surprise);
	tcase_add_test(all, nothing);
	suite_add_tcase(suite, all);
	return run_suite(suite);
}
