/* SPDX-License-Identifier: BSD-2-Clause */
/* Histograms in memory: buckets, sums, percentiles against sorted lists. */
#include <rawprof/hist.h>

#include "test_report.h"

static const struct report_hists_spec plain = {
	.title = "latency",
	.metric = "test_latency",
	.events = "requests",
	.unit = REPORT_UNIT_NS,
	.bits = REPORT_HIST_BITS,
};

static struct report_hists *new_set(const struct report_hists_spec *spec)
{
	struct report_hists *set = NULL;

	ck_assert_int_eq(report_hists_new(spec, &set), 0);
	return set;
}

static struct report_hist *get(struct report_hists *set, const char *a, const char *b)
{
	const char *values[] = { a, b, "", "" };
	struct report_hist *h = NULL;

	ck_assert_int_eq(report_hists_get(set, values, &h), 0);
	return h;
}

/* ---- buckets */

/* The first 2^(bits+1) are 1 wide, the next 2^bits are 2 wide, the next 4, and so on until 2^64. */
START_TEST(buckets_have_no_gaps)
{
	for (unsigned int bits = 0; bits <= REPORT_HIST_MAX_BITS; bits++) {
		unsigned int slots = report_hist_slots(bits);
		uint64_t first = 0, width = 1;

		ck_assert_uint_eq(slots, (64 - bits + 1) << bits);
		for (unsigned int i = 0; i < slots; i++) {
			uint64_t last;

			if (i >= 2u << bits && i % (1u << bits) == 0)
				width *= 2;
			last = first + (width - 1);
			ck_assert_uint_eq(report_hist_first(i, bits), first);
			ck_assert_uint_eq(report_hist_last(i, bits), last);
			ck_assert_uint_eq(report_hist_slot(first, bits), i);
			ck_assert_uint_eq(report_hist_slot(last, bits), i);
			ck_assert_uint_eq(report_hist_slot(first + width / 2, bits), i);
			ck_assert(width == 1 || width <= first >> bits);
			first = last + 1;
		}
		ck_assert_uint_eq(first, 0);
	}
}
END_TEST

START_TEST(edges)
{
	for (unsigned int bits = 0; bits <= REPORT_HIST_MAX_BITS; bits++) {
		ck_assert_uint_eq(report_hist_slot(0, bits), 0);
		ck_assert_uint_eq(report_hist_slot(1, bits), 1);
		ck_assert_uint_eq(report_hist_slot(UINT64_MAX, bits), report_hist_slots(bits) - 1);
		for (unsigned int k = 1; k < 64; k++) {
			uint64_t power = 1ULL << k;
			unsigned int slot = report_hist_slot(power, bits);

			ck_assert_uint_eq(report_hist_slot(power - 1, bits), slot - 1);
			ck_assert_uint_eq(report_hist_first(slot, bits), power);
		}
	}
	ck_assert_uint_eq(report_hist_slot(100, 0), 7);
	ck_assert_uint_eq(report_hist_slot(100, 3), 3 * 8 + 12);
}
END_TEST

/* ---- figures */

START_TEST(figures_are_exact)
{
	struct report_hists *set = new_set(&plain);
	struct report_hist *h = get(set, NULL, NULL);
	struct report_hist_summary s;

	report_hist_summary(h, &s);
	ck_assert_uint_eq(s.count | s.sum | s.least | s.greatest | s.p50 | s.p999, 0);
	ck_assert_uint_eq(report_hist_percentile(h, 50), 0);
	ck_assert_uint_eq(report_hists_count(set), 0);

	report_hist_add(h, 1000003, 2);
	report_hist_add(h, 77, 1);
	report_hist_add(h, 5, 0);
	report_hist_summary(h, &s);
	ck_assert_uint_eq(s.count, 3);
	ck_assert_uint_eq(s.sum, 2000083);
	ck_assert_uint_eq(s.least, 77);
	ck_assert_uint_eq(s.greatest, 1000003);
	ck_assert_uint_eq(s.p999, 1000003);
	ck_assert(s.mean > 666694 && s.mean < 666695);
	ck_assert_uint_eq(report_hists_count(set), 1);

	report_hists_clear(set);
	ck_assert_uint_eq(report_hists_count(set), 0);
	report_hist_add(h, 9, 1);
	report_hist_summary(h, &s);
	ck_assert_uint_eq(s.sum, 9);
	ck_assert_uint_eq(s.greatest, 9);
	report_hists_free(set);
}
END_TEST

START_TEST(sums_saturate)
{
	struct report_hists *set = new_set(&plain);
	struct report_hist *h = get(set, NULL, NULL);
	struct report_hist_summary s;

	report_hist_add(h, UINT64_MAX, 1);
	report_hist_add(h, 1ULL << 63, 3);
	report_hist_add(h, 0, 1);
	report_hist_summary(h, &s);
	ck_assert_uint_eq(s.sum, UINT64_MAX);
	ck_assert_uint_eq(s.count, 5);
	ck_assert_uint_eq(s.least, 0);
	ck_assert_uint_eq(s.greatest, UINT64_MAX);
	report_hist_add(h, 1, UINT64_MAX);
	report_hist_summary(h, &s);
	ck_assert_uint_eq(s.count, UINT64_MAX);
	ck_assert_uint_eq(s.p50, 1);
	report_hists_free(set);
}
END_TEST

/* ---- as many as others make up */

static const char *const by_two[] = { "comm", "op" };
static const struct report_hists_spec labelled = {
	.title = "latency",
	.metric = "test_latency",
	.events = "requests",
	.unit = REPORT_UNIT_NS,
	.bits = 0, /* small ones */
	.keys = by_two,
	.nkeys = 2,
};

static void add_so_many(struct report_hists *set, int n, bool are_spare)
{
	for (int i = 0; i < n; i++) {
		char comm[16];
		const char *const values[] = { comm, "read" };
		struct report_hist *h;

		snprintf(comm, sizeof(comm), "%s%d", are_spare ? "spare" : "one", i);
		ck_assert_int_eq(are_spare ? report_hists_get_spare(set, values, &h)
					   : report_hists_get(set, values, &h),
				 0);
		report_hist_add(h, 1000, 1);
	}
}

static uint64_t count_in(struct report_hists *set, const char *comm, const char *op)
{
	struct report_hist_summary s;

	report_hist_summary(get(set, comm, op), &s);
	return s.count;
}

START_TEST(what_has_no_room_is_one)
{
	struct report_hists *set = new_set(&labelled);

	add_so_many(set, 16384, false);
	ck_assert_uint_eq(report_hists_count(set), 16384);
	ck_assert_uint_eq(report_hists_folded(set), 0);
	add_so_many(set, 20000, false);
	ck_assert_uint_eq(report_hists_count(set), 16385);
	ck_assert_uint_eq(report_hists_folded(set), 20000 - 16384);
	ck_assert_uint_eq(count_in(set, "one7", "read"), 2);
	ck_assert_uint_eq(count_in(set, "[others]", "[others]"), 20000 - 16384);
	ck_assert_uint_eq(count_in(set, "one7", "write"), 20000 - 16384); /* is among them */

	/* The next interval has room for others, and what was without stays known. */
	report_hists_clear(set);
	ck_assert_uint_eq(report_hists_count(set), 0);
	add_so_many(set, 10, true);
	ck_assert_uint_eq(report_hists_count(set), 10);
	ck_assert_uint_eq(count_in(set, "spare7", "read"), 1);
	ck_assert_uint_eq(report_hists_folded(set), 20000 - 16384);
	report_hists_free(set);
}
END_TEST

START_TEST(half_of_them_are_spare)
{
	struct report_hists *set = new_set(&labelled);

	add_so_many(set, 20000, true);
	add_so_many(set, 8000, false);
	ck_assert_uint_eq(report_hists_count(set), 8192 + 1 + 8000);
	ck_assert_uint_eq(report_hists_folded(set), 20000 - 8192);
	ck_assert_uint_eq(count_in(set, "one7999", "read"), 1);
	report_hists_free(set);
}
END_TEST

/* ---- percentiles */

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t seed;

static uint64_t anything(void)
{
	uint64_t z = seed += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

enum shape { UNIFORM, ANY_LENGTH, TWO_PEAKS, BUCKET_TOPS, CONSTANT, SMALL, SHAPES };

static uint64_t value_of_shape(enum shape shape)
{
	uint64_t any = anything();

	switch (shape) {
	case UNIFORM:
		return 1000000 + any % 9000000;
	case ANY_LENGTH:
		return any >> (any & 63);
	case TWO_PEAKS: /* a fast device with slow exceptions */
		return any % 100 < 95 ? 80000 + any % 7919 : 12000000 + any % 104729;
	case BUCKET_TOPS: /* the worst for interpolation: all at one end of their buckets */
		return (1ULL << (10 + any % 20)) - 1;
	case CONSTANT:
		return 123456789;
	default:
		return any % 5;
	}
}

/* By nearest rank, in per mille: whole numbers on purpose. */
static uint64_t true_percentile(const uint64_t *sorted, uint64_t n, uint64_t permille)
{
	uint64_t rank = (permille * n + 999) / 1000;

	return sorted[rank ? rank - 1 : 0];
}

START_TEST(percentiles_are_those_of_a_sorted_list)
{
	static const uint64_t permilles[] = { 0, 1, 10, 100, 250, 500, 750, 900, 990, 999, 1000 };
	static const size_t sizes[] = { 1, 2, 3, 10, 100, 1000, 20000 };
	static uint64_t values[20000];

	for (enum shape shape = 0; shape < SHAPES; shape++)
		for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
			struct report_hists *set = new_set(&plain);
			struct report_hist *h = get(set, NULL, NULL);
			size_t n = sizes[k];

			seed = shape * 1000 + k;
			for (size_t i = 0; i < n; i++) {
				values[i] = value_of_shape(shape);
				report_hist_add(h, values[i], 1);
			}
			qsort(values, n, sizeof(*values), by_value);
			for (size_t i = 0; i < sizeof(permilles) / sizeof(*permilles); i++) {
				uint64_t want = true_percentile(values, n, permilles[i]);
				uint64_t is = report_hist_percentile(h, (double)permilles[i] / 10);
				uint64_t error = is > want ? is - want : want - is;

				ck_assert_msg(error <= want / 32,
					      "shape %d, %zu values, %g %%: %llu, not %llu", shape,
					      n, (double)permilles[i] / 10, (unsigned long long)is,
					      (unsigned long long)want);
				ck_assert_uint_ge(is, values[0]);
				ck_assert_uint_le(is, values[n - 1]);
			}
			ck_assert_uint_eq(report_hist_percentile(h, 0), values[0]);
			ck_assert_uint_eq(report_hist_percentile(h, 100), values[n - 1]);
			report_hists_free(set);
		}
}
END_TEST

/* ---- counts from elsewhere */

START_TEST(merging_is_adding)
{
	struct report_hists *one = new_set(&plain), *two = new_set(&plain);
	struct report_hist *whole = get(one, NULL, NULL), *merged = get(two, NULL, NULL);
	unsigned int n = report_hist_slots(plain.bits);
	uint64_t *slots = calloc(n, sizeof(*slots));
	struct report_hist_counts cpu[2] = { { .slots = slots, .nslots = n },
					     { .slots = slots, .nslots = n } };
	struct report_hist_summary a, b;

	seed = 7;
	for (int c = 0; c < 2; c++) {
		memset(slots, 0, n * sizeof(*slots));
		for (int i = 0; i < 1000; i++) {
			uint64_t v = anything() >> 30;

			report_hist_add(whole, v, 1);
			slots[report_hist_slot(v, plain.bits)]++;
			cpu[c].sum += v;
			if (~v > cpu[c].not_least)
				cpu[c].not_least = ~v;
			if (v > cpu[c].greatest)
				cpu[c].greatest = v;
		}
		ck_assert_int_eq(report_hist_merge(merged, &cpu[c]), 0);
	}
	/* A CPU that saw nothing changes nothing. */
	memset(slots, 0, n * sizeof(*slots));
	ck_assert_int_eq(report_hist_merge(merged, &(struct report_hist_counts){ .slots = slots,
										 .nslots = n }),
			 0);
	report_hist_summary(whole, &a);
	report_hist_summary(merged, &b);
	ck_assert_uint_eq(a.count, b.count);
	ck_assert_uint_eq(a.sum, b.sum);
	ck_assert_uint_eq(a.least, b.least);
	ck_assert_uint_eq(a.greatest, b.greatest);
	ck_assert_uint_eq(a.p50, b.p50);
	ck_assert_uint_eq(a.p999, b.p999);
	cpu[0].nslots = n + 1;
	ck_assert_int_eq(report_hist_merge(merged, &cpu[0]), -EINVAL);
	cpu[0].nslots = 0;
	ck_assert_int_eq(report_hist_merge(merged, &cpu[0]), -EINVAL);
	report_hists_free(one);
	report_hists_free(two);
	free(slots);
}
END_TEST

/* The last of fewer slots holds what is beyond it: percentiles know, up to the greatest value. */
START_TEST(fewer_slots)
{
	struct report_hists *set = new_set(&plain);
	struct report_hist *h = get(set, NULL, NULL);
	uint64_t slots[64] = { [10] = 50, [63] = 50 };
	struct report_hist_counts counts = { .sum = 50 * 10 + 50 * 100000,
					     .not_least = ~10ULL,
					     .greatest = 190000,
					     .slots = slots,
					     .nslots = 64 };
	struct report_hist_summary s;

	ck_assert_int_eq(report_hist_merge(h, &counts), 0);
	report_hist_summary(h, &s);
	ck_assert_uint_eq(s.least, 10);
	ck_assert_uint_eq(s.p50, 10);
	ck_assert_uint_eq(s.greatest, 190000);
	ck_assert_uint_gt(s.p90, 100000);
	ck_assert_uint_lt(s.p90, 190000);
	report_hists_free(set);
}
END_TEST

START_TEST(slot_by_slot)
{
	struct report_hists *set = new_set(&plain);
	struct report_hist *h = get(set, NULL, NULL);
	unsigned int low = report_hist_slot(1000, plain.bits);
	unsigned int high = report_hist_slot(50000, plain.bits);
	struct report_hist_summary s;

	ck_assert_int_eq(report_hist_add_slot(h, low, 10), 0);
	ck_assert_int_eq(report_hist_add_slot(h, high, 1), 0);
	ck_assert_int_eq(report_hist_add_slot(h, report_hist_slots(plain.bits), 1), -EINVAL);
	report_hist_summary(h, &s);
	ck_assert_uint_eq(s.count, 11);
	ck_assert_uint_eq(s.least, report_hist_first(low, plain.bits));
	ck_assert_uint_eq(s.greatest, report_hist_last(high, plain.bits));
	report_hist_add_sum(h, 60000, 1000, 50000);
	report_hist_summary(h, &s);
	ck_assert_uint_eq(s.sum, 60000);
	ck_assert_uint_eq(s.least, 1000);
	ck_assert_uint_eq(s.greatest, 50000);
	/* What was told before does not hold for what came after. */
	ck_assert_int_eq(report_hist_add_slot(h, 3, 1), 0);
	report_hist_summary(h, &s);
	ck_assert_uint_eq(s.least, 3);
	ck_assert_uint_eq(s.greatest, 50000);
	report_hist_add_sum(h, 1, 1, 0);
	report_hist_summary(h, &s);
	ck_assert_uint_eq(s.least, 3);
	report_hists_free(set);
}
END_TEST

/* ---- sets */

START_TEST(a_tuple_is_one_histogram)
{
	static const char *const keys[] = { "disk", "op" };
	struct report_hists_spec spec = plain;
	struct report_hists *set;
	char disk[] = "sda";

	spec.keys = keys;
	spec.nkeys = 2;
	set = new_set(&spec);
	ck_assert_ptr_eq(get(set, "sda", "read"), get(set, disk, "read"));
	ck_assert_ptr_ne(get(set, "sda", "read"), get(set, "sda", "write"));
	ck_assert_ptr_ne(get(set, "sda", "read"), get(set, "read", "sda"));
	ck_assert_ptr_eq(get(set, NULL, "x"), get(set, "", "x"));
	report_hists_free(set);
	report_hists_free(NULL);
}
END_TEST

START_TEST(what_makes_no_sense_is_refused)
{
	static const char *const le[] = { "le" }, *const twice[] = { "a", "a" };
	static const char *const bad[] = { "a-b" }, *const none[] = { NULL };
	static const char *const five[] = { "a", "b", "c", "d", "e" };
	struct report_hists_spec spec = plain;
	struct report_hists *set = NULL;

#define REFUSED(change)                                                                            \
	do {                                                                                       \
		spec = plain;                                                                      \
		change;                                                                            \
		ck_assert_int_eq(report_hists_new(&spec, &set), -EINVAL);                          \
	} while (0)
	REFUSED(spec.bits = REPORT_HIST_MAX_BITS + 1);
	REFUSED(spec.title = NULL);
	REFUSED(spec.events = NULL);
	REFUSED(spec.metric = NULL);
	REFUSED(spec.metric = "");
	REFUSED(spec.metric = "9lives");
	REFUSED(spec.metric = "a b");
	REFUSED(spec.unit = REPORT_UNIT_TEXT);
	REFUSED(spec.unit = REPORT_UNIT_PERCENT);
	REFUSED((spec.keys = le, spec.nkeys = 1));
	REFUSED((spec.keys = twice, spec.nkeys = 2));
	REFUSED((spec.keys = bad, spec.nkeys = 1));
	REFUSED((spec.keys = none, spec.nkeys = 1));
	REFUSED((spec.keys = five, spec.nkeys = 5));
	ck_assert_ptr_null(set);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, buckets_have_no_gaps);
	tcase_add_test(tests, edges);
	tcase_add_test(tests, figures_are_exact);
	tcase_add_test(tests, sums_saturate);
	tcase_add_test(tests, what_has_no_room_is_one);
	tcase_add_test(tests, half_of_them_are_spare);
	tcase_add_test(tests, percentiles_are_those_of_a_sorted_list);
	tcase_add_test(tests, merging_is_adding);
	tcase_add_test(tests, fewer_slots);
	tcase_add_test(tests, slot_by_slot);
	tcase_add_test(tests, a_tuple_is_one_histogram);
	tcase_add_test(tests, what_makes_no_sense_is_refused);
}

int main(void)
{
	return run_tests("report_hist", add);
}
