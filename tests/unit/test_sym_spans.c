/* SPDX-License-Identifier: BSD-2-Clause */
/* Overlapping spans flattened, and mappings over time, against the obvious slow way. */
#include <check.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/guide.h"
#include "symbolize/radix.h"
#include "symbolize/space.h"
#include "symbolize/spans.h"
#include "symbolize/strings.h"

static uint32_t seed;

static uint32_t draw(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (uint64_t)seed * below >> 32;
}

static const struct {
	const char *what;
	struct sym_span in[4];
	size_t n;
	struct sym_span out[6];
	size_t m;
} cases[] = {
	{ "nested: the outer one comes back",
	  { { 0, 100, 0 }, { 40, 10, 1 } },
	  2,
	  { { 0, 40, 0 }, { 40, 10, 1 }, { 50, 50, 0 } },
	  3 },
	{ "overlapping: the greater id has the common part",
	  { { 0, 50, 0 }, { 40, 60, 1 } },
	  2,
	  { { 0, 40, 0 }, { 40, 60, 1 } },
	  2 },
	{ "the one that starts first may have the greater id",
	  { { 0, 50, 9 }, { 40, 60, 1 } },
	  2,
	  { { 0, 50, 9 }, { 50, 50, 1 } },
	  2 },
	{ "hidden wholly", { { 0, 50, 9 }, { 10, 10, 1 } }, 2, { { 0, 50, 9 } }, 1 },
	{ "the same place", { { 5, 5, 1 }, { 5, 5, 2 }, { 5, 5, 0 } }, 3, { { 5, 5, 2 } }, 1 },
	{ "a gap, and no length",
	  { { 0, 5, 0 }, { 7, 0, 1 }, { 9, 1, 2 } },
	  3,
	  { { 0, 5, 0 }, { 9, 1, 2 } },
	  2 },
	{ "up to the last address",
	  { { UINT64_MAX - 10, 10, 0 }, { UINT64_MAX - 5, 5, 1 } },
	  2,
	  { { UINT64_MAX - 10, 5, 0 }, { UINT64_MAX - 5, 5, 1 } },
	  2 },
	{ "nothing", { { 0 } }, 0, { { 0 } }, 0 },
};

START_TEST(test_flatten)
{
	struct sym_span *out = NULL;
	size_t n = 99;

	ck_assert_int_eq(sym_spans_flatten(cases[_i].in, cases[_i].n, &out, &n), 0);
	ck_assert_msg(n == cases[_i].m, "%s: %zu spans", cases[_i].what, n);
	for (size_t i = 0; i < n; i++) {
		ck_assert_msg(out[i].start == cases[_i].out[i].start &&
				      out[i].len == cases[_i].out[i].len &&
				      out[i].id == cases[_i].out[i].id,
			      "%s: span %zu", cases[_i].what, i);
	}
	free(out);
}
END_TEST

static int compare(const void *a, const void *b)
{
	const struct sym_span *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

START_TEST(test_flatten_random)
{
	enum { N = 60, SPACE = 300 };
	struct sym_span in[N], *out;
	size_t n;

	seed = _i + 1;
	for (int i = 0; i < N; i++)
		in[i] = (struct sym_span){ 1000 + draw(SPACE), draw(40), i };
	qsort(in, N, sizeof(in[0]), compare);
	ck_assert_int_eq(sym_spans_flatten(in, N, &out, &n), 0);
	for (uint64_t addr = 990; addr < 1000 + SPACE + 50; addr++) {
		const struct sym_span *s = sym_spans_find(out, n, addr);
		int64_t best = -1;

		for (int i = 0; i < N; i++) {
			if (addr - in[i].start < in[i].len && in[i].id > best)
				best = in[i].id;
		}
		ck_assert_int_eq(s ? (int64_t)s->id : -1, best);
	}
	free(out);
}
END_TEST

static void ck_guide(const struct sym_span *spans, size_t n, uint64_t addr)
{
	struct sym_guide g;

	sym_guide_make(&g, spans, n);
	for (uint64_t at = addr - 300; at < addr + 5000; at++)
		ck_assert_ptr_eq(sym_guide_find(&g, spans, n, at), sym_spans_find(spans, n, at));
	ck_assert_ptr_eq(sym_guide_find(&g, spans, n, UINT64_MAX),
			 sym_spans_find(spans, n, UINT64_MAX));
	ck_assert_ptr_null(sym_guide_find(&g, spans, n, 0));
	sym_guide_free(&g);
}

/* Spans threads_full and far apart; a guide changes nothing but how long it takes. */
START_TEST(test_guide)
{
	struct sym_span spans[300];
	uint64_t at = 0x400000;
	size_t n;

	seed = _i + 1;
	n = 1 + draw(300);
	for (size_t i = 0; i < n; i++) {
		spans[i] = (struct sym_span){ at, 1 + draw(20), i };
		at += spans[i].len + (draw(4) ? draw(3) : draw(1 << draw(24)));
	}
	ck_guide(spans, n, spans[0].start);
	ck_guide(spans, n, spans[n / 2].start);
	ck_guide(spans, n, spans[n - 1].start);
	ck_guide(spans, 1, spans[0].start);
	spans[0].start = 1;
	spans[n - 1].start = UINT64_MAX - 100;
	ck_guide(spans, n, spans[n / 2].start);
	ck_assert_ptr_null(sym_guide_find(&(struct sym_guide){ 0 }, NULL, 0, 5));
}
END_TEST

START_TEST(test_radix)
{
	enum { N = 3000 };
	struct sym_span *spans = calloc(N, sizeof(*spans));
	void *items = spans;

	seed = _i + 1;
	for (uint32_t i = 0; i < N; i++)
		spans[i] = (struct sym_span){ .start = i, .id = _i ? draw(UINT32_MAX) : draw(5) };
	ck_assert_int_eq(sym_radix_sort(&items, N, offsetof(struct sym_span, id)), 0);
	spans = items;
	for (size_t i = 1; i < N; i++) {
		ck_assert_uint_le(spans[i - 1].id, spans[i].id);
		ck_assert(spans[i - 1].id != spans[i].id || spans[i - 1].start < spans[i].start);
	}
	free(items);
}
END_TEST

/* Enough mappings for the index and a tail beyond it, asked about at all times. */
START_TEST(test_space_random)
{
	enum { N = 400, SPACE = 200 };
	struct sym_mapping all[N];
	struct sym_space s = { 0 };

	seed = _i + 1;
	for (int i = 0; i < N; i++) {
		uint64_t start = draw(SPACE);

		all[i] = (struct sym_mapping){ .time = 10 + i / 2,
					       .start = start,
					       .end = start + 1 + draw(50) };
		ck_assert_int_eq(sym_space_add(&s, i), 0);
		if (i % 97)
			continue;
		for (int k = 0; k < 300; k++) { /* while it grows */
			uint64_t time = draw(12 + i / 2), addr = draw(SPACE + 60);
			uint32_t found = UINT32_MAX, best = UINT32_MAX;
			int err = sym_space_find(&s, all, time, addr, &found);

			for (int j = 0; j <= i; j++) {
				if (all[j].time <= time && all[j].start <= addr &&
				    addr < all[j].end)
					best = j;
			}
			ck_assert_int_eq(err, best == UINT32_MAX ? -ENOENT : 0);
			ck_assert_uint_eq(found, best);
		}
	}
	sym_space_clear(&s);
}
END_TEST

/*
 * A hundred thousand mappings of the same few places, as a JIT makes them, and as many questions.
 */
START_TEST(test_space_many)
{
	enum { N = 100000 };
	struct sym_mapping *all = calloc(N, sizeof(*all));
	struct sym_space s = { 0 };
	uint32_t map;

	for (int i = 0; i < N; i++) {
		uint64_t start = 4096 * (i % 7);

		all[i] = (struct sym_mapping){ .time = i, .start = start, .end = start + 8192 };
		ck_assert_int_eq(sym_space_add(&s, i), 0);
	}
	for (uint32_t i = 7; i < N; i++) {
		/* The last one made at or before time i that covers its own second page. */
		ck_assert_int_eq(sym_space_find(&s, all, i, all[i].start + 5000, &map), 0);
		ck_assert_uint_eq(map, i);
	}
	sym_space_clear(&s);
	free(all);
}
END_TEST

START_TEST(test_strings)
{
	struct sym_strings set = { 0 };
	const char *kept[3000];
	static char big[20000];
	char text[16];

	for (int i = 0; i < 3000; i++) {
		int len = sprintf(text, "name%d", i);

		kept[i] = sym_strings_add(&set, text, len);
		ck_assert_str_eq(kept[i], text);
	}
	for (int i = 0; i < 3000; i++) {
		int len = sprintf(text, "name%d", i);

		ck_assert_ptr_eq(sym_strings_add(&set, text, len), kept[i]);
	}
	ck_assert_str_eq(sym_strings_add(&set, "name12345", 5), "name1");
	memset(big, 'x', sizeof(big));
	ck_assert_uint_eq(strlen(sym_strings_add(&set, big, sizeof(big))), sizeof(big));
	ck_assert_str_eq(sym_strings_add(&set, "", 0), "");
	ck_assert_ptr_eq(sym_strings_join(&set, "na", "me7"), kept[7]);
	sym_strings_free(&set);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("spans");
	TCase *t = tcase_create("spans");
	SRunner *r = srunner_create(s);
	int failed;

	suite_add_tcase(s, t);
	tcase_set_timeout(t, 30);
	tcase_add_loop_test(t, test_flatten, 0, sizeof(cases) / sizeof(cases[0]));
	tcase_add_loop_test(t, test_flatten_random, 0, 50);
	tcase_add_loop_test(t, test_guide, 0, 30);
	tcase_add_loop_test(t, test_radix, 0, 3);
	tcase_add_loop_test(t, test_space_random, 0, 10);
	tcase_add_test(t, test_space_many);
	tcase_add_test(t, test_strings);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
