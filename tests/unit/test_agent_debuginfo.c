/* SPDX-License-Identifier: BSD-2-Clause */
/* Which debug data the agent's sender is to ask for. */
#include <check.h>
#include <stdlib.h>

#include "cli/agent/debuginfo.c"

static bool wants_nothing(void *ctx, const struct push_target *t, const char *build_id,
			  const char *path)
{
	(void)ctx, (void)t, (void)build_id, (void)path;
	return false;
}

static void name_of(unsigned int i, char name[32])
{
	snprintf(name, 32, "/bin/%u", i);
}

/* Meets so many files, numbered from @from on, in one window. */
static void meet(struct push_symbols *s, unsigned int from, unsigned int n)
{
	const struct report_value_type type = { "samples", "count" };
	struct report *r;

	ck_assert_int_eq(report_new(&type, 1, &r), 0);
	for (unsigned int i = from; i < from + n; i++) {
		char name[32];
		const struct report_frame f = { .module = name,
						.build_id = "aa11",
						.map_start = (i + 1) * 4096ull,
						.map_end = (i + 2) * 4096ull,
						.address = (i + 1) * 4096ull };
		uint32_t id;

		name_of(i, name);
		ck_assert_int_eq(report_frame_add(r, &f, &id), 0);
	}
	push_symbols_meet(s, r);
	report_free(r);
}

static void free_symbols(struct push_symbols *s)
{
	free(s->queue);
	rp_hash_free(&s->asked);
	free(s);
}

/* Windows come faster than the server answers: the queue is never empty. */
START_TEST(what_was_asked_is_forgotten)
{
	const struct push_target t = { .type = PUSH_PARCA };
	struct push_symbols *s = push_symbols_new(&t, NULL, wants_nothing, NULL);
	static bool seen[40 * 500];
	unsigned int met = 0, taken = 0;

	for (int window = 0; window < 40; window++) {
		meet(s, met, 500);
		met += 500;
		for (; taken < met - 1; taken++) { /* as push_symbols_go() does */
			bool *one = &seen[atoi(s->queue[s->first++].path + strlen("/bin/"))];

			ck_assert(!*one);
			*one = true;
		}
	}
	ck_assert_uint_eq(s->n - s->first, 1);
	ck_assert_uint_le(s->capacity, 2 * MAX_QUEUE);
	free_symbols(s);
}
END_TEST

/* More files than are asked about between two windows: none is always behind the others. */
START_TEST(none_is_always_last)
{
	const struct push_target t = { .type = PUSH_PARCA };
	struct push_symbols *s = push_symbols_new(&t, NULL, wants_nothing, NULL);
	bool others = false, found = false;

	for (unsigned int window = 0; window < 200 && !(found && others); window++) {
		meet(s, 0, MAX_QUEUE + 200);
		ck_assert_uint_eq(s->n, MAX_QUEUE);
		for (; s->first < s->n; s->first++) {
			const int number = atoi(s->queue[s->first].path + strlen("/bin/"));

			found |= number == MAX_QUEUE + 199;
			others |= number == 0;
		}
		rp_hash_free(&s->asked);
	}
	ck_assert(found && others);
	free_symbols(s);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("agent_debuginfo");
	TCase *tc = tcase_create("debuginfo");
	SRunner *runner;
	int failed;

	tcase_add_test(tc, what_was_asked_is_forgotten);
	tcase_add_test(tc, none_is_always_last);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
