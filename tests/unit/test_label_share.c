/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets of labels that programs publish: whoever makes ever new ones takes nobody else's. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "programs/shared/stack.h"
#include "record/published.h"

static struct record_published *p;

static void setup(void)
{
	const struct published_wanted wanted = { .go = true };

	ck_assert_int_eq(record_published_open(&p, -1, &wanted), 0);
}

static void teardown(void)
{
	record_published_close(p);
}

static void publish(uint32_t pid, uint64_t hash)
{
	static struct published_labels labels = { .tag = PUBLISHED_TAG, .n = 1 };

	labels.pid = pid;
	labels.hash = hash;
	labels.label[0] = (struct published_label){ 1, 1, "k", "v" };
	ck_assert_int_eq(record_published_take(p, &labels), 0);
}

static bool has_label(uint64_t hash)
{
	const struct stack_record record = { .published = hash };
	struct report_sample sample = { .nlabels = 0 };

	record_published_add(p, &record, &sample);
	return sample.nlabels == 1 && !strcmp(sample.labels[0].key, "k") &&
	       !strcmp(sample.labels[0].str, "v");
}

START_TEST(sets_of_one_user)
{
	const uint32_t own = (uint32_t)getpid(), nobody = UINT32_MAX;
	uint32_t n = 0;

	publish(own, 1);
	for (uint64_t i = 2; i < 50000; i++)
		publish(nobody, i);
	for (uint64_t i = 2; i < 50000; i++)
		n += has_label(i);
	ck_assert(n >= 19999 && n <= 20000);
	ck_assert(has_label(1) && has_label(2) && !has_label(49999));
	publish(own, 49999);
	ck_assert(has_label(49999));
	record_published_settle(p); /* there are many: all come again */
	ck_assert(!has_label(1) && !has_label(2));
	publish(nobody, 50000);
	ck_assert(has_label(50000));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sets of labels");
	TCase *tc = tcase_create("share");
	SRunner *r = srunner_create(s);
	int failed;

	suite_add_tcase(s, tc);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, sets_of_one_user);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
