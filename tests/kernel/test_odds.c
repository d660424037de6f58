/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waits that are taken for others (programs/threads/odds.h), in the kernel: each is drawn as often
 * as its odds say and counts for that many, so that sums of many waits are those of all of them,
 * whatever waits follow each other. Bounds are six standard errors, which chance passes once in
 * 500 million; a weight that is 1, or 1 in place of 2 odds, is ten times as far off.
 */
#include <math.h>

#include "programs/threads/odds.h"

#include "isa.h"

#define T 1000000 /* ns */
#define SIX 6.0

/* R7 = the last wait. R6 = as how many this one counts, 0: it is not drawn; R8 = the odds. */
static const struct asm_insn draw[] = {
	MOV_REG(R2, R7), LD_IMM64(R4, T),    ODDS_AFTER,	 STX(W, R9, MEM, R3),
	MOV_REG(R8, R3), MOV(R6, 0),	     ODDS_DRAW(R9, MEM), JNE(R0, 0, not_drawn),
	MOV(R6, 1),	 ODDS_WEIGH(R6, R8), LABEL(not_drawn),
};

static uint64_t draw_after(int fd, uint64_t last, uint64_t *odds)
{
	struct isa_cell cell = { .in = { [7] = last } };

	isa_run(fd, &cell);
	*odds = cell.out[8];
	return cell.out[6];
}

/* A wait as long as its last one: drawn with min(1, t/T), rounded down to a power of two. */
START_TEST(as_often_as_it_counts)
{
	static const struct {
		uint64_t ns, odds;
	} waits[] = {
		{ 0, 4 },	  { 1000, 4 },	     { T / 20, 4 },	     { T / 16, 4 },
		{ T / 8 - 1, 4 }, { T / 8, 3 },	     { T / 4 - 1, 3 },	     { T / 4, 2 },
		{ T / 3, 2 },	  { T / 2 - 1, 2 },  { T / 2, 1 },	     { T - 1, 1 },
		{ T, 0 },	  { 1ull << 40, 0 }, { UINT64_MAX / 32, 0 },
	};
	const int draws = 20000, fd = isa_load(draw, sizeof(draw) / sizeof(draw[0]), true, NULL, 0);

	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		const double weight = (double)(1 << waits[i].odds);
		uint64_t drawn = 0, counted = 0, odds;

		for (int n = 0; n < draws; n++) {
			const uint64_t times = draw_after(fd, waits[i].ns, &odds);

			ck_assert_uint_eq(odds, waits[i].odds);
			ck_assert(!times || times == 1ull << odds);
			drawn += times > 0;
			counted += times;
		}
		/* The number that is drawn is binomial, of chance 1 in weight. */
		ck_assert_msg(fabs((double)counted - draws) <= SIX * sqrt(draws * (weight - 1)),
			      "%d waits of %llu ns count as %llu", draws,
			      (unsigned long long)waits[i].ns, (unsigned long long)counted);
		ck_assert_uint_eq(counted, drawn << odds);
		if (waits[i].ns >= T / 16 && waits[i].ns < T)
			ck_assert(weight >= (double)T / (double)waits[i].ns &&
				  weight < 2.0001 * T / (double)waits[i].ns);
	}
	close(fd);
}
END_TEST

/* Whatever waits follow each other: of all lengths, in runs, a long one behind many short ones. */
START_TEST(sums_are_those_of_all)
{
	enum { WAITS = 100000, ORDERS = 3 };
	const int fd = isa_load(draw, sizeof(draw) / sizeof(draw[0]), true, NULL, 0);

	for (int order = 0; order < ORDERS; order++) {
		double all = 0, drawn = 0, variance = 0, count = 0, count_variance = 0;
		uint64_t state = 88172645463325252ull, last = T, odds;

		for (int i = 0; i < WAITS; i++) {
			const uint64_t r = state ^= state << 13, r2 = r ^ r >> 7;
			const bool longer = order == 0	 ? r2 & 1
					    : order == 1 ? i / 50 & 1
							 : !(i % 20);
			const uint64_t ns = (longer ? T / 2 : T / 100) * (100 + r2 % 100) / 100;
			const uint64_t times = draw_after(fd, last, &odds);

			state ^= state >> 7;
			state ^= state << 17;
			all += (double)ns;
			drawn += (double)ns * (double)times;
			count += (double)times;
			variance += (double)ns * (double)ns * (double)((1 << odds) - 1);
			count_variance += (double)((1 << odds) - 1);
			last = ns;
		}
		ck_assert_msg(fabs(drawn - all) <= SIX * sqrt(variance),
			      "order %d: %.0f ns for %.0f, standard error %.0f", order, drawn, all,
			      sqrt(variance));
		ck_assert_msg(fabs(count - WAITS) <= SIX * sqrt(count_variance),
			      "order %d: %.0f waits for %d", order, count, WAITS);
		/* What is to be seen with so many: a quarter. */
		ck_assert(SIX * sqrt(variance) < all / 4);
	}
	close(fd);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("waits that count for others");
	TCase *tcase = tcase_create("odds");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tcase, isa_setup, NULL);
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, as_often_as_it_counts);
	tcase_add_test(tcase, sums_are_those_of_all);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
