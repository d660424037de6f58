/* SPDX-License-Identifier: BSD-2-Clause */
/* A byte of a saved file may become a cell of eight: what it may take of memory is counted. */
#include <rawprof/grid.h>

#include "report/saved/saved.h"
#include "test_report.h"

enum { ROWS = 100 };

static struct report_grid *numbers(void)
{
	static const struct report_column columns[] = {
		{ "N", "n", REPORT_UNIT_COUNT },
		{ "M", "m", REPORT_UNIT_COUNT },
	};
	const struct report_grid_spec spec = { "by name", "top", "requests", "names", columns, 2 };
	const struct report_cell row[2] = { 0 };
	struct report_grid *g = NULL;

	ck_assert_int_eq(report_grid_new(&spec, &g), 0);
	for (int i = 0; i < ROWS; i++)
		ck_assert_int_eq(report_grid_add(g, row), 0);
	return g;
}

static int read_back(const struct buf *section, uint64_t *room)
{
	const unsigned char *at = (const unsigned char *)section->s;
	struct saved_input in = { at, at + section->len, false };
	struct report_meta meta = { 0 };
	struct report_grid *g = NULL;
	int err = report_saved_get_grid(&in, &meta, room, &g);

	report_grid_free(g);
	return err;
}

START_TEST(cells_are_counted)
{
	const uint64_t cells = 2 * ROWS * sizeof(struct report_cell);
	struct saved_document d = { 0 };
	struct report_grid *g = numbers();
	uint64_t room = cells - 1;

	ck_assert_int_eq(report_saved_put_grid(&d, g), 0);
	ck_assert_int_eq(read_back(&d.section[SAVED_GRID], &room), -EINVAL);
	room = 2 * cells;
	ck_assert_int_eq(read_back(&d.section[SAVED_GRID], &room), 0);
	ck_assert_uint_le(room, cells);
	report_grid_free(g);
	for (int i = 0; i < SAVED_SECTIONS; i++)
		free(d.section[i].s);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, cells_are_counted);
}

int main(void)
{
	return run_tests("saved_room", add);
}
