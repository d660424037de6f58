/* SPDX-License-Identifier: BSD-2-Clause */
/* The stream of a profile: moments, in the order of time. */
#include "test_report.h"

static const struct report_value_type stream_types[] = { { "samples", "count" },
							 { "cpu", "nanoseconds" } };

static uint32_t add(struct report *r, int32_t tid, uint64_t n)
{
	const uint64_t values[] = { n, n * 10 };
	const struct report_sample s = { .comm = "app", .pid = 1, .tid = tid, .values = values };
	uint32_t id = 99;

	ck_assert_int_eq(report_add_id(r, &s, &id), 0);
	return id;
}

START_TEST(moments_are_sorted)
{
	const uint64_t times[] = { 5, 1, 9, 3, 3, REPORT_MOMENT_LAST };
	const struct report_moment *m;
	struct report *r = NULL;
	uint32_t a, b;
	size_t n = 1;

	ck_assert_int_eq(report_new(stream_types, 2, &r), 0);
	ck_assert_ptr_null(report_moments(r, &n));
	ck_assert_uint_eq(n, 0);
	a = add(r, 1, 4);
	b = add(r, 2, 2);
	ck_assert_uint_eq(add(r, 1, 1), a);
	ck_assert_int_eq(report_set_stream(r, 2, 0), -EINVAL);
	ck_assert_int_eq(report_set_stream(r, 1, 0), 0);
	for (size_t i = 0; i < 6; i++)
		ck_assert_int_eq(report_add_moment(r,
						   &(struct report_moment){
							   .time_ns = times[i],
							   .cpu = i == 3 ? 7 : 2,
							   .weight = 10,
							   .sample = i % 2 ? a : b,
							   .count = 1,
						   }),
				 0);
	ck_assert_int_eq(report_add_moment(r, &(struct report_moment){ .sample = 2 }), -EINVAL);
	ck_assert_int_eq(report_add_moment(r, &(struct report_moment){ .kind = 3 }), -EINVAL);
	m = report_moments(r, &n);
	ck_assert_uint_eq(n, 6);
	ck_assert_uint_eq(m[0].time_ns, 1);
	ck_assert_uint_eq(m[0].sample, a);
	ck_assert_uint_eq(m[1].cpu, 2);
	ck_assert_uint_eq(m[1].sample, b);
	ck_assert_uint_eq(m[2].cpu, 7);
	ck_assert_uint_eq(m[5].time_ns, REPORT_MOMENT_LAST);
	/* What comes later is sorted in. */
	ck_assert_int_eq(report_add_moment(r, &(struct report_moment){ .time_ns = 2 }), 0);
	m = report_moments(r, &n);
	ck_assert_uint_eq(n, 7);
	ck_assert_uint_eq(m[1].time_ns, 2);
	report_free(r);
}
END_TEST

/* A stack is written for each moment, which a file may have in a byte. */
START_TEST(text_of_perf_has_an_end)
{
	struct report_options options = { .most_bytes = 100000 };
	struct report *r = new_cpu_report();
	const uint32_t f[] = { user(r, "a"), user(r, "b"), user(r, "c") };
	struct report_file file;
	size_t size;
	char *bytes;
	FILE *out = fopen("/dev/null", "w");

	add_n(r, "app", 1, f, 3, 1);
	ck_assert_int_eq(report_set_stream(r, 0, 0), 0);
	for (uint64_t i = 0; i < 10000; i++)
		ck_assert_int_eq(report_add_moment(r, &(struct report_moment){ .time_ns = i,
									       .weight = 1,
									       .count = 1 }),
				 0);
	ck_assert_int_eq(report_write_perf(r, out, NULL), 0);
	ck_assert_int_eq(report_write_perf(r, out, &options), -EFBIG);
	/* What is read has such a limit. */
	bytes = written_bytes(r, report_write_saved, NULL, &size);
	ck_assert_int_eq(report_read(bytes, size, &file), 0);
	ck_assert_uint_eq(file.show.most_bytes, (1 << 30) + 16384 * size);
	ck_assert_int_eq(report_write_perf(file.report, out, &file.show), 0);
	report_file_free(&file);
	free(bytes);
	fclose(out);
	report_free(r);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, moments_are_sorted);
	tcase_add_test(tests, text_of_perf_has_an_end);
}

int main(void)
{
	return run_tests("report_stream", add_tests);
}
