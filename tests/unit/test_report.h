/* SPDX-License-Identifier: BSD-2-Clause */
/* test_report.h: profiles to test with, and what a writer made of them as a text. */
#ifndef TEST_REPORT_H
#define TEST_REPORT_H

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rawprof/report.h>

static const struct report_value_type cpu_types[] = { { "samples", "count" },
						      { "cpu", "nanoseconds" } };

static inline struct report *new_cpu_report(void)
{
	struct report *r = NULL;

	ck_assert_int_eq(report_new(cpu_types, 2, &r), 0);
	return r;
}

static inline uint32_t add_frame(struct report *r, struct report_frame f)
{
	uint32_t id = UINT32_MAX;

	ck_assert_int_eq(report_frame_add(r, &f, &id), 0);
	return id;
}

/* A user function of /bin/app whose address follows from its name. */
static inline uint32_t user(struct report *r, const char *name)
{
	return add_frame(r,
			 (struct report_frame){ .name = name,
						.module = "/bin/app",
						.address = 0x401000 + 0x100 * (unsigned char)*name,
						.map_start = 0x400000,
						.map_end = 0x500000 });
}

static inline uint32_t kernel(struct report *r, const char *name)
{
	return add_frame(r, (struct report_frame){ .name = name,
						   .address = 0xffffffff81000000 +
							      0x100 * (unsigned char)*name,
						   .kind = REPORT_KERNEL });
}

/* Frames leaf first; a count and its nanoseconds, 10 a sample. */
static inline void add_n(struct report *r, const char *comm, int32_t pid, const uint32_t *frames,
			 size_t nframes, uint64_t count)
{
	uint64_t values[] = { count, count * 10 };
	struct report_sample s = { .comm = comm,
				   .pid = pid,
				   .tid = pid,
				   .frames = frames,
				   .nframes = nframes,
				   .values = values };

	ck_assert_int_eq(report_add(r, &s), 0);
}

#define ADD(r, comm, pid, count, ...)                                                              \
	do {                                                                                       \
		const uint32_t frames_[] = { __VA_ARGS__ };                                        \
		add_n(r, comm, pid, frames_, sizeof(frames_) / sizeof(*frames_), count);           \
	} while (0)

/* What a writer makes of it; to be freed. *size, if wanted, is its length. */
static inline char *written_bytes(const struct report *r, report_writer *write,
				  const struct report_options *options, size_t *size)
{
	char *text = NULL;
	size_t length = 0;
	FILE *f = open_memstream(&text, &length);

	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(write(r, f, options), 0);
	ck_assert_int_eq(fclose(f), 0);
	if (size)
		*size = length;
	return text;
}

static inline char *written(const struct report *r, report_writer *write,
			    const struct report_options *options)
{
	return written_bytes(r, write, options, NULL);
}

/* Every byte but 0, as a name. */
static inline const char *every_byte(void)
{
	static char s[256];

	for (int i = 0; i < 255; i++)
		s[i] = (char)(i + 1);
	return s;
}

/* A name of every kind that breaks formats. */
static const char *const hostile_names[] = {
	"a;b;c",
	"line\nfeed\r\ttab",
	"\"quoted\\\"",
	"<b>&amp;</b>]]>",
	"</title></svg><script>alert(1)</script>",
	"\033[31mred\033[0m",
	"\xff\xfe not utf-8 \xc3",
	"\xed\xa0\x80 surrogate \xf4\x90\x80\x80",
	"\xc2\x9b"
	"c1 and \xe2\x80\xae override",
	"%s%n%d",
	"name (with parentheses) 12",
	" leading and trailing ",
	"\xce\xbb\xe2\x82\xac\xf0\x9f\x94\xa5",
	"",
};
#define HOSTILE_NAMES (sizeof(hostile_names) / sizeof(*hostile_names))

/* A profile in which everything that has a name has a hostile one. */
static inline struct report *hostile_report(void)
{
	struct report *r = new_cpu_report();

	for (size_t i = 0; i <= HOSTILE_NAMES; i++) {
		const char *bad = i < HOSTILE_NAMES ? hostile_names[i] : every_byte();
		struct report_label label = { .key = *bad ? bad : "k", .str = bad };
		struct report_info info = { .command = bad,
					    .target = bad,
					    .event = bad,
					    .main_module = bad,
					    .kernel_build_id = bad,
					    .host = bad,
					    .kernel = bad,
					    .note = bad,
					    .counted = bad,
					    .period_type = { bad, bad },
					    .period = 1 };
		struct report_ledger_line line = { bad, 1, REPORT_LOST };
		struct report_ledger ledger = { 2, 1, &line, 1 };
		uint64_t values[] = { 1, 2 };
		uint32_t frames[REPORT_FRAME_KINDS];
		struct report_sample s = { bad,	  -1, -2, &label, 1, frames, REPORT_FRAME_KINDS,
					   values };

		for (int kind = REPORT_USER; kind < REPORT_FRAME_KINDS; kind++)
			frames[kind] = add_frame(
				r, (struct report_frame){ .name = bad,
							  .module = bad,
							  .build_id = bad,
							  .file = bad,
							  .line = 3,
							  .address = i,
							  .kind = (enum report_frame_kind)kind });
		ck_assert_int_eq(report_add(r, &s), 0);
		ck_assert_int_eq(report_set_info(r, &info), 0);
		ck_assert_int_eq(report_set_ledger(r, &ledger), 0);
	}
	return r;
}

static inline int run_tests(const char *name, void (*add)(TCase *))
{
	Suite *suite = suite_create(name);
	TCase *tests = tcase_create(name);
	SRunner *runner;
	int failed;

	add(tests);
	tcase_set_timeout(tests, 60);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}

#endif
