/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames of a report: a user whose stacks are all different has a share of memory for them. */
#include <check.h>
#include <stdlib.h>
#include <unistd.h>

#include "record/recording.h"

enum { MOST = 1 << 20, NOBODY = 0x7ffffff0 }; /* a pid that no process has */

/* So many frames of an address each, as a stack's are. */
static void add_frames(struct report *r, uint64_t from, unsigned int n)
{
	struct report_frame f = { .kind = REPORT_USER, .name = "f" };
	uint32_t id;

	for (unsigned int i = 0; i < n; i++) {
		f.address = from + i;
		ck_assert_int_eq(report_frame_add(r, &f, &id), 0);
	}
}

START_TEST(one_user_leaves_half)
{
	static struct recording rec;
	const struct report_value_type type = { "samples", "count" };
	struct report *r;
	struct names *names;
	uint64_t at = 0;

	rec.report_memory = RECORD_SHARE(MOST, "memory for a report");
	ck_assert_int_eq(report_new(&type, 1, &r), 0);
	ck_assert_int_eq(record_names_open(&names, &rec, r), 0);
	while (record_names_have_room(names, NOBODY) && at < MOST)
		add_frames(r, at += 100, 100);
	ck_assert_uint_gt(report_memory(r), MOST / 8 + MOST / 2 - 20000);
	ck_assert_uint_lt(report_memory(r), MOST / 8 + MOST / 2 + 20000);
	for (int i = 0; i < 200; i++, at += 100) { /* our own do not pay */
		ck_assert(record_names_have_room(names, (uint32_t)getpid()));
		add_frames(r, at, 100);
	}
	ck_assert_uint_gt(report_memory(r), MOST);
	ck_assert(!record_names_have_room(names, NOBODY));
	record_names_close(names);

	ck_assert_int_eq(record_names_open(&names, &rec, r), 0); /* if it is free */
	rec.looks.is_free = true;
	ck_assert(record_names_have_room(names, NOBODY));
	record_names_close(names);
	report_free(r);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("names_room");
	TCase *t = tcase_create("memory");
	SRunner *runner = srunner_create(s);
	int failed;

	tcase_add_test(t, one_user_leaves_half);
	suite_add_tcase(s, t);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
