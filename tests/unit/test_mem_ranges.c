/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Books of mappings: what goes in parts, what fails, and ten thousand random calls against a map of
 * single pages.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "cli/mem/ranges.h"

static struct mem_ranges *books;
static uint64_t now;

static void setup(void)
{
	books = mem_ranges_new();
	ck_assert_ptr_nonnull(books);
	now = 0;
}
static void teardown(void)
{
	mem_ranges_free(books);
}

static void tell(uint16_t what, uint16_t call, uint32_t thread, uint64_t hash, uint64_t space,
		 uint64_t start, uint64_t bytes)
{
	const struct mem_range_event e = { .time = ++now,
					   .space = space,
					   .hash = hash,
					   .start = start,
					   .bytes = bytes,
					   .thread = thread,
					   .what = what,
					   .call = call };

	ck_assert_int_eq(mem_ranges_event(books, &e), 0);
}
static void maps(uint64_t hash, uint64_t start, uint64_t bytes)
{
	tell(MEM_RANGE_COMES, MEM_MMAP, 1, hash, 1, start, bytes);
}
static void unmaps(uint64_t start, uint64_t bytes)
{
	tell(MEM_RANGE_GOES, MEM_MUNMAP, 1, 0, 1, start, bytes);
}

struct wanted {
	uint64_t hash, value[MEM_WEIGHTS];
};
static int find_site(void *ctx, uint64_t hash, const uint64_t value[MEM_WEIGHTS])
{
	struct wanted *w = ctx;

	if (hash != w->hash)
		return 0;
	memcpy(w->value, value, sizeof(w->value));
	return 1;
}
static void check_site(uint64_t hash, uint64_t objects, uint64_t bytes, uint64_t gone,
		       uint64_t gone_bytes)
{
	struct wanted w = { .hash = hash };

	ck_assert_int_eq(mem_ranges_sites(books, find_site, &w), 1);
	ck_assert_uint_eq(w.value[MEM_ALLOC_OBJECTS], objects);
	ck_assert_uint_eq(w.value[MEM_ALLOC_SPACE], bytes);
	ck_assert_uint_eq(w.value[MEM_GONE_OBJECTS], gone);
	ck_assert_uint_eq(w.value[MEM_GONE_SPACE], gone_bytes);
}
static struct mem_ranges_counts counts(void)
{
	struct mem_ranges_counts c;

	mem_ranges_count(books, &c);
	return c;
}

START_TEST(parts)
{
	maps(7, 1000, 100);
	unmaps(1090, 50);
	unmaps(900, 110);
	unmaps(1040, 20);
	check_site(7, 1, 100, 0, 40);
	ck_assert_uint_eq(counts().in_use, 60);
	unmaps(0, 5000);
	check_site(7, 1, 100, 1, 100);
	unmaps(0, 5000);
	ck_assert_uint_eq(counts().freed, 4);
	ck_assert_uint_eq(counts().unknown, 1);
	ck_assert_uint_eq(counts().in_use, 0);
	ck_assert_uint_eq(counts().peak, 100);
}
END_TEST

static void check_peak(uint64_t hash, uint64_t objects, uint64_t bytes)
{
	const struct mem_ranges_use use = mem_ranges_at_peak(books, hash);

	ck_assert_uint_eq(use.objects, objects);
	ck_assert_uint_eq(use.bytes, bytes);
}

/* What each site had when most was mapped, whatever comes and goes before and after. */
START_TEST(highest_moment)
{
	check_peak(7, 0, 0);
	maps(7, 1000, 100);
	maps(8, 2000, 50);
	check_peak(7, 1, 100);
	unmaps(1000, 30); /* not 150 any more */
	check_peak(7, 1, 100);
	check_peak(8, 1, 50);
	maps(9, 3000, 20);
	check_peak(9, 0, 0);
	maps(9, 4000, 20); /* 160 */
	check_peak(7, 1, 70);
	check_peak(8, 1, 50);
	check_peak(9, 2, 40);
	ck_assert_uint_eq(counts().peak_time, now);
	unmaps(0, 10000);
	maps(8, 5000, 160); /* no more than before */
	check_peak(8, 1, 50);
	check_peak(9, 2, 40);
	check_peak(6, 0, 0);

	/* A memory that ends takes its mappings with it. */
	tell(MEM_RANGE_COMES, MEM_MMAP, 1, 5, 2, 5000, 20);
	tell(MEM_RANGE_ENDS, 0, 0, 0, 1, 0, 0);
	ck_assert_uint_eq(counts().in_use, 20);
	check_peak(8, 1, 160);
	tell(MEM_RANGE_COMES, MEM_MMAP, 1, 5, 2, 6000, 200);
	check_peak(8, 0, 0);
	check_peak(5, 2, 220);
	ck_assert_uint_eq(counts().peak, 220);
}
END_TEST

START_TEST(failures)
{
	maps(7, 1000, 100);
	maps(8, 1100, 100);
	unmaps(1050, 100);
	tell(MEM_RANGE_STAYS, MEM_MUNMAP, 1, 0, 1, 0, 0);
	check_site(7, 1, 100, 0, 0);
	check_site(8, 1, 100, 0, 0);
	ck_assert_uint_eq(counts().failed, 1);
	ck_assert_uint_eq(counts().freed, 0);

	/* of two ranges, in either order */
	tell(MEM_RANGE_GOES, MEM_MREMAP, 1, 0, 1, 1150, 50);
	tell(MEM_RANGE_GOES_TOO, MEM_MREMAP, 1, 0, 1, 1000, 20);
	check_site(8, 1, 100, 0, 50);
	check_site(7, 1, 100, 0, 20);
	tell(MEM_RANGE_STAYS, MEM_MREMAP, 1, 0, 1, 0, 0);
	check_site(8, 1, 100, 0, 0);
	check_site(7, 1, 100, 0, 0);

	/* another thread's failure is not ours */
	unmaps(1000, 100);
	tell(MEM_RANGE_STAYS, MEM_MUNMAP, 2, 0, 1, 0, 0);
	check_site(7, 1, 100, 1, 100);

	/* what was under way at the end is still there, and what had returned before is not */
	tell(MEM_RANGE_GOES, MEM_MUNMAP, 3, 0, 1, 1100, 100);
	mem_ranges_under_way(books, 3, true);
	check_site(8, 1, 100, 0, 0);
	ck_assert_uint_eq(counts().under_way, 1);
	ck_assert_uint_eq(counts().in_use, 100);

	/* nor is what the call before one that takes nothing away has taken */
	unmaps(1100, 100);
	mem_ranges_under_way(books, 1, false);
	check_site(8, 1, 100, 1, 100);
	ck_assert_uint_eq(counts().under_way, 2);
	ck_assert_uint_eq(counts().in_use, 0);
}
END_TEST

START_TEST(replaced)
{
	maps(7, 1000, 100);
	tell(MEM_RANGE_GOES, MEM_MMAP, 1, 0, 1, 1020, 30);
	tell(MEM_RANGE_COMES, MEM_MMAP, 1, 8, 1, 1020, 30);
	check_site(7, 1, 100, 0, 30);
	check_site(8, 1, 30, 0, 0);
	ck_assert_uint_eq(counts().freed, 0); /* it is counted as what it has mapped */
	ck_assert_uint_eq(counts().peak, 100);

	/* and if that it goes was never told */
	maps(9, 1000, 60);
	check_site(7, 1, 100, 0, 60);
	check_site(8, 1, 30, 1, 30);
	check_site(9, 1, 60, 0, 0);
}
END_TEST

START_TEST(files)
{
	tell(MEM_RANGE_COMES, MEM_MMAP_FILE, 1, 0, 1, 1000, 100);
	unmaps(1000, 10);
	ck_assert_uint_eq(counts().unknown, 1);
	tell(MEM_RANGE_GOES, MEM_MREMAP, 1, 0, 1, 1010, 90);
	tell(MEM_RANGE_COMES, MEM_MREMAP, 1, 7, 1, 2000, 120);
	ck_assert_uint_eq(counts().files, 2);
	ck_assert_uint_eq(counts().in_use, 0);
	/* memory whose beginning we have not seen is memory */
	tell(MEM_RANGE_GOES, MEM_MREMAP, 1, 0, 1, 5000, 90);
	tell(MEM_RANGE_COMES, MEM_MREMAP, 1, 7, 1, 6000, 120);
	check_site(7, 1, 120, 0, 0);
	/*
	 * and what a mremap that takes nothing away maps is not of a file because the call before
	 * was of one
	 */
	tell(MEM_RANGE_COMES, MEM_MMAP_FILE, 1, 0, 1, 8000, 100);
	unmaps(8000, 100);
	tell(MEM_RANGE_COMES, MEM_MREMAP, 1, 8, 1, 9000, 50);
	check_site(8, 1, 50, 0, 0);
	ck_assert_uint_eq(counts().files, 3);
}
END_TEST

START_TEST(spaces)
{
	tell(MEM_RANGE_COMES, MEM_MMAP, 1, 7, 1, 1000, 100);
	tell(MEM_RANGE_COMES, MEM_MMAP, 2, 8, 2, 1000, 100);
	tell(MEM_RANGE_GOES, MEM_MUNMAP, 2, 0, 2, 0, UINT64_MAX);
	check_site(7, 1, 100, 0, 0);
	check_site(8, 1, 100, 1, 100);
}
END_TEST

/* ---- random calls, against a map of single pages */

enum { PAGES = 200, SITES = 10, CALLS = 10000, THREADS = 3 };
struct model {
	int block[PAGES]; /* number of the block that a page belongs to, + 1 */
	int site[CALLS];
	uint64_t left[CALLS];
	uint64_t value[SITES][MEM_WEIGHTS];
};

static void model_unmap(struct model *m, int start, int n)
{
	for (int i = start; i < start + n && i < PAGES; i++) {
		const int b = m->block[i] - 1;

		if (b < 0)
			continue;
		m->block[i] = 0;
		m->value[m->site[b]][MEM_GONE_SPACE]++;
		m->value[m->site[b]][MEM_GONE_OBJECTS] += !--m->left[b];
	}
}

static void model_map(struct model *m, int call, int site, int start, int n)
{
	m->site[call] = site;
	m->left[call] = (uint64_t)n;
	for (int i = start; i < start + n; i++)
		m->block[i] = call + 1;
	m->value[site][MEM_ALLOC_OBJECTS]++;
	m->value[site][MEM_ALLOC_SPACE] += (uint64_t)n;
}

static int add_left(void *ctx, const struct mem_block *block)
{
	uint64_t *left = ctx;

	left[block->hash - 1] += block->size;
	return 0;
}

START_TEST(random_calls)
{
	static struct model model;
	uint64_t left[SITES] = { 0 }, peak = 0;

	memset(&model, 0, sizeof(model));
	srand48(_i);
	for (int call = 0; call < CALLS; call++) {
		const int start = (int)(lrand48() % (PAGES - 20)), n = 1 + (int)(lrand48() % 20);
		const uint32_t thread = 1 + (uint32_t)(lrand48() % THREADS);
		const int site = (int)(lrand48() % SITES);

		tell(MEM_RANGE_GOES, MEM_MUNMAP, thread, 0, 1, (uint64_t)start, (uint64_t)n);
		switch (lrand48() % 3) {
		case 0:
			tell(MEM_RANGE_STAYS, MEM_MUNMAP, thread, 0, 1, 0, 0);
			break;
		case 1:
			model_unmap(&model, start, n);
			break;
		default:
			model_unmap(&model, start, n);
			tell(MEM_RANGE_COMES, MEM_MMAP, thread, (uint64_t)site + 1, 1,
			     (uint64_t)start, (uint64_t)n);
			model_map(&model, call, site, start, n);
		}
	}
	mem_ranges_blocks(books, add_left, left);
	for (int i = 0; i < SITES; i++)
		peak += mem_ranges_at_peak(books, (uint64_t)i + 1).bytes;
	ck_assert_uint_eq(peak, counts().peak);
	for (int i = 0; i < SITES; i++) {
		const uint64_t *v = model.value[i];

		check_site((uint64_t)i + 1, v[MEM_ALLOC_OBJECTS], v[MEM_ALLOC_SPACE],
			   v[MEM_GONE_OBJECTS], v[MEM_GONE_SPACE]);
		ck_assert_uint_eq(left[i], v[MEM_ALLOC_SPACE] - v[MEM_GONE_SPACE]);
	}
}
END_TEST

/*
 * The order of the tree must not be known: at these addresses a tree whose order began with this
 * number was a list, and took minutes.
 */
START_TEST(chosen_addresses)
{
	uint64_t random = GOLDEN_RATIO_64;

	for (int i = 0; i < 60000; i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		maps(1, (random >> 32) * 2, 1);
	}
	ck_assert_uint_eq(counts().failed, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("mem_ranges");
	TCase *tests = tcase_create("books");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, parts);
	tcase_add_test(tests, highest_moment);
	tcase_add_test(tests, failures);
	tcase_add_test(tests, replaced);
	tcase_add_test(tests, files);
	tcase_add_test(tests, spaces);
	tcase_add_loop_test(tests, random_calls, 0, 10);
	tcase_add_test(tests, chosen_addresses);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
