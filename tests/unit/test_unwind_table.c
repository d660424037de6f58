/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows, pages and parts: every address of made-up functions against the obvious slow way. */
#include "unwind_made.h"

static struct made made;
static struct unwind_table *table;
static uint32_t seed;

static uint32_t draw(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (uint64_t)seed * below >> 32;
}

static void setup(void)
{
	made.size = 0;
	table = NULL;
	seed = 1;
	made_cie(&made, "", 16, made_x86, sizeof(made_x86));
}

static void teardown(void)
{
	unwind_table_free(table);
}

/* ---- functions that tell their CFA at every few bytes */

enum { FUNCTIONS = 150, ROWS = 8 };

struct function {
	uint64_t start, end;
	int nrows;
	struct {
		uint32_t at;
		int cfa;
	} rows[ROWS];
};

static struct function functions[FUNCTIONS];

static void put_function(const struct function *f)
{
	uint8_t insns[8 * ROWS];
	size_t n = 0;

	for (int i = 0; i < f->nrows; i++) {
		uint32_t by = i ? f->rows[i].at - f->rows[i - 1].at : 0;

		insns[n++] = 0x03; /* advance_loc2 */
		insns[n++] = by;
		insns[n++] = by >> 8;
		insns[n++] = 0x0e; /* def_cfa_offset */
		insns[n++] = f->rows[i].cfa;
	}
	made_fde(&made, f->start, f->end - f->start, insns, n);
}

static void draw_function(struct function *f, uint64_t start, uint32_t len)
{
	*f = (struct function){ start, start + len, 1 + draw(ROWS), { { 0 } } };
	for (int i = 0; i < f->nrows; i++) {
		f->rows[i].at = i ? f->rows[i - 1].at + 1 + draw(len / 4 + 1) : 0;
		f->rows[i].cfa = 8 * (1 + draw(4));
	}
}

/* The CFA's offset at each address, 0 in no function. */
static uint8_t expected[MADE_CODE_END];

/* An address is of the function that begins last before it; of equals, of the first in the file. */
static int by_start(const void *a, const void *b)
{
	const struct function *const *x = a, *const *y = b;

	if ((*x)->start != (*y)->start)
		return (*x)->start < (*y)->start ? -1 : 1;
	return (*x > *y) - (*x < *y);
}

static void expect(const struct function *f, uint64_t next)
{
	uint64_t end = f->end < MADE_CODE_END ? f->end : MADE_CODE_END;
	int row = 0;

	if (end > next)
		end = next;
	for (uint64_t addr = f->start; addr < end; addr++) {
		while (row + 1 < f->nrows && f->rows[row + 1].at <= addr - f->start)
			row++;
		expected[addr] = f->rows[row].cfa;
	}
	if (next - end < 16) /* padding */
		memset(expected + end, f->rows[row].cfa, next - end);
}

static void expect_all(void)
{
	const struct function *order[FUNCTIONS];

	for (int i = 0; i < FUNCTIONS; i++)
		order[i] = &functions[i];
	qsort(order, FUNCTIONS, sizeof(order[0]), by_start);
	memset(expected, 0, sizeof(expected));
	for (int i = 0; i < FUNCTIONS; i++) {
		if (!i || order[i]->start != order[i - 1]->start) {
			int next = i + 1;

			while (next < FUNCTIONS && order[next]->start == order[i]->start)
				next++;
			expect(order[i], next < FUNCTIONS ? order[next]->start : UINT64_MAX);
		}
	}
}

static void check_all(void)
{
	expect_all();
	for (uint64_t addr = 0; addr < MADE_CODE_END + 2048; addr++) {
		const struct unwind_rule *r = unwind_table_rule(table, addr);
		int cfa = addr < MADE_CODE_END ? expected[addr] : 0;

		if (cfa != r->cfa_off || r->kind != (cfa ? UNWIND_SP : UNWIND_NO_ROW))
			ck_abort_msg("%lx: %d, not %d", addr, r->cfa_off, cfa);
	}
}

static const struct {
	const char *what;
	uint32_t longest, gap; /* a gap of up to this, or, if 0, anywhere */
	uint32_t part_rows;
} shapes[] = {
	{ "one after another", 3000, 1, UNWIND_PART_ROWS },
	{ "with padding, and with more than padding", 500, 40, UNWIND_PART_ROWS },
	{ "short ones far apart", 40, 3400, UNWIND_PART_ROWS },
	{ "in any order, over one another", 6000, 0, UNWIND_PART_ROWS },
	{ "in small parts", 3000, 1, 600 },
	{ "in small parts, with gaps", 500, 1500, 600 },
	{ "over one another in small parts", 6000, 0, 600 },
};

START_TEST(test_functions)
{
	uint64_t at = MADE_CODE + draw(1000);

	seed = 100 * _i + 1;
	for (int i = 0; i < FUNCTIONS; i++) {
		uint32_t len = 1 + draw(shapes[_i].longest);

		if (!shapes[_i].gap)
			at = MADE_CODE + draw(MADE_CODE_END - MADE_CODE);
		draw_function(&functions[i], at, len);
		at += len + draw(shapes[_i].gap ? shapes[_i].gap : 1);
		/* Those that begin beyond the code are not in the file. */
		if (at >= MADE_CODE_END)
			at = MADE_CODE;
		put_function(&functions[i]);
	}
	ck_assert_int_eq(made_table(&made, EM_X86_64, shapes[_i].part_rows, &table), 0);
	ck_assert_int_eq(table->nparts > 1, shapes[_i].part_rows < UNWIND_PART_ROWS);
	ck_assert_uint_eq(table->stats.bad_fdes, 0);
	check_all();
}
END_TEST

START_TEST(test_fde_starts)
{
	static const uint64_t starts[] = { 0x5000, 0x2000, 0x2100, 0x9000, 0x2040, 0x2100 };
	uint64_t start;

	for (int i = 0; i < 6; i++)
		made_fde(&made, starts[i], 0x40, NULL, 0);
	made_fde(&made, 0, 0x100, NULL, 0);		/* dropped by the linker */
	made_fde(&made, MADE_CODE_END, 0x100, NULL, 0); /* no code there */
	ck_assert_int_eq(made_table(&made, EM_X86_64, UNWIND_PART_ROWS, &table), 0);
	ck_assert_uint_eq(table->nfdes, 5);
	ck_assert_uint_eq(table->stats.fdes, 5);
	for (int i = 0; i < 6; i++) {
		ck_assert_int_eq(unwind_table_fde_start(table, starts[i], &start), 0);
		ck_assert_uint_eq(start, starts[i]);
		ck_assert_int_eq(unwind_table_fde_start(table, starts[i] + 0x3f, &start), 0);
		ck_assert_uint_eq(start, starts[i]);
	}
	start = 7;
	ck_assert_int_eq(unwind_table_fde_start(table, 0x2080, &start), -ENOENT);
	ck_assert_int_eq(unwind_table_fde_start(table, 0x1fff, &start), -ENOENT);
	ck_assert_int_eq(unwind_table_fde_start(table, 0x9040, &start), -ENOENT);
	ck_assert_int_eq(unwind_table_fde_start(table, 0, &start), -ENOENT);
	ck_assert_int_eq(unwind_table_fde_start(table, UINT64_MAX, &start), -ENOENT);
	ck_assert_uint_eq(start, 7);
}
END_TEST

/* What a page has no room for is unknown, not wrong. */
START_TEST(test_dense_page)
{
	uint8_t insns[3 * 900];
	int right = 0;

	for (int i = 0; i < 900; i++) {
		insns[3 * i] = 0x0e;
		insns[3 * i + 1] = 8 + i % 64;
		insns[3 * i + 2] = 0x41;
	}
	made_fde(&made, MADE_CODE, 900, insns, sizeof(insns));
	ck_assert_int_eq(made_table(&made, EM_X86_64, UNWIND_PART_ROWS, &table), 0);
	for (int i = 0; i < 900; i++) {
		const struct unwind_rule *r = unwind_table_rule(table, MADE_CODE + i);

		if (r->kind == UNWIND_UNSUP)
			continue;
		ck_assert_int_eq(r->cfa_off, 8 + i % 64);
		right++;
	}
	ck_assert_int_eq(right, (1 << UNWIND_SEARCH_STEPS) - 2);
}
END_TEST

/* ---- files larger than the rest of these tests like */

static int wide_table(uint64_t code_end)
{
	struct unwind_code code = { MADE_CODE, code_end };
	struct unwind_source s = { .machine = EM_X86_64,
				   .code = &code,
				   .ncode = 1,
				   .addr = MADE_EH_FRAME,
				   .data = made.bytes,
				   .size = made.size };

	return unwind_table_make(&s, UNWIND_PART_ROWS, &table);
}

/* Code far apart takes two parts rather than an index of the way between. */
START_TEST(test_far_apart)
{
	uint64_t far = MADE_CODE + (1ULL << 30), start;

	made_fde(&made, MADE_CODE, 0x100, NULL, 0);
	made_fde(&made, far, 0x100, NULL, 0);
	ck_assert_int_eq(wide_table(1ULL << 40), 0);
	ck_assert(unwind_table_is_sound(table));
	ck_assert_uint_eq(table->nparts, 2);
	ck_assert_uint_lt(unwind_table_size(table), 200);
	ck_assert_int_eq(unwind_table_rule(table, MADE_CODE + 0xff)->kind, UNWIND_SP);
	ck_assert_int_eq(unwind_table_rule(table, MADE_CODE + 0x100)->kind, UNWIND_NO_ROW);
	ck_assert_int_eq(unwind_table_rule(table, far / 2)->kind, UNWIND_NO_ROW);
	ck_assert_int_eq(unwind_table_rule(table, far - 1)->kind, UNWIND_NO_ROW);
	ck_assert_int_eq(unwind_table_rule(table, far)->kind, UNWIND_SP);
	ck_assert_int_eq(unwind_table_fde_start(table, far + 3, &start), 0);
	ck_assert_uint_eq(start, far);
	ck_assert_ptr_null(unwind_table_part(table, far / 2));
	ck_assert_ptr_eq(unwind_table_part(table, far + 3), &table->parts[1]);
	unwind_table_free(table);
	table = NULL;

	made_fde(&made, MADE_CODE + (1ULL << 33), 0x100, NULL, 0);
	ck_assert_int_eq(wide_table(1ULL << 40), -EFBIG);
	ck_assert_ptr_null(table);
}
END_TEST

/* One function that is everywhere: its index is bounded, whatever its length says. */
START_TEST(test_endless_function)
{
	static const uint8_t insns[] = { 0x04, 0, 0, 0, 0x70, 0x0e, 16 }; /* advance_loc4 */

	made_fde(&made, MADE_CODE, 1ULL << 39, insns, sizeof(insns));
	ck_assert_int_eq(wide_table(1ULL << 40), -EFBIG);
	ck_assert_ptr_null(table);
}
END_TEST

/* Rules beyond what 16 bits count are unknown. */
START_TEST(test_many_rules)
{
	uint64_t addr;

	made_begin(&made);
	made_uint(&made, made.record + 4 - made.cie, 4);
	made_uint(&made, MADE_CODE, 8);
	made_uint(&made, 16 * 70000, 8);
	for (int i = 0; i < 70000; i++) {
		made_uint(&made, 0x0e, 1); /* def_cfa_offset 8 (i + 1) */
		for (int v = 8 * (i + 1), k = 0; k < 3; k++, v >>= 7)
			made_uint(&made, (v & 0x7f) | (k < 2 ? 0x80 : 0), 1);
		made_uint(&made, 0x50, 1); /* advance 16 */
	}
	made_end(&made);
	ck_assert_int_eq(wide_table(MADE_CODE + 16 * 70000), 0);
	ck_assert(unwind_table_is_sound(table));
	ck_assert_uint_eq(table->nrules, 65536);
	for (int i = 0; i < 70000; i++) {
		const struct unwind_rule *r;

		addr = MADE_CODE + 16ULL * i + 5;
		r = unwind_table_rule(table, addr);
		if (i < 65534 ? r->cfa_off != 8 * (i + 1) : r->kind != UNWIND_UNSUP)
			ck_abort_msg("%lx: kind %d, %d", addr, r->kind, r->cfa_off);
	}
}
END_TEST

/* ---- damage */

/* Whatever the bytes, a table is sound, and every address has a rule. */
START_TEST(test_spoiled)
{
	static struct made whole;
	unsigned int kinds;
	int tables = 0;

	for (int i = 0; i < 20; i++) {
		draw_function(&functions[i], MADE_CODE + 0x200 * i, 0x200);
		put_function(&functions[i]);
	}
	whole = made;
	seed = _i + 1;
	for (int round = 0; round < 500; round++) {
		made.size = whole.size;
		memcpy(made.bytes, whole.bytes, whole.size);
		for (int k = draw(6); k >= 0; k--)
			made.bytes[draw(made.size)] = draw(2) ? draw(256) : 0xff;
		if (draw(4) == 0)
			made.size = draw(made.size);
		unwind_table_free(table);
		table = NULL;
		if (made_table(&made, draw(8) ? EM_X86_64 : EM_AARCH64, 600, &table))
			continue;
		tables++;
		kinds = 0;
		for (uint64_t addr = 0; addr < MADE_CODE_END; addr += 1 + draw(900))
			kinds |= 1u << unwind_table_rule(table, addr)->kind;
		ck_assert_uint_lt(kinds, 1u << UNWIND_KINDS);
	}
	ck_assert_int_gt(tables, 250);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("unwind tables");
	TCase *t = tcase_create("tables");
	SRunner *r = srunner_create(s);
	int failed;

	suite_add_tcase(s, t);
	tcase_set_timeout(t, 120);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, test_functions, 0, sizeof(shapes) / sizeof(shapes[0]));
	tcase_add_test(t, test_fde_starts);
	tcase_add_test(t, test_dense_page);
	tcase_add_test(t, test_far_apart);
	tcase_add_test(t, test_endless_function);
	tcase_add_test(t, test_many_rules);
	tcase_add_loop_test(t, test_spoiled, 0, 4);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
