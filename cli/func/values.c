/* SPDX-License-Identifier: BSD-2-Clause */
/* What functions returned, how often. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "func.h"
#include "cli/views.h"

#define ROWS 40

const char *func_error(const struct func *f, uint32_t function, int64_t value)
{
	const struct record_probe *p = record_probes_at(f->probes, function);

	if (value >= 0 || value < -4095 || !p || p->kind == RECORD_PROBE_USER)
		return NULL;
	return strerrorname_np((int)-value);
}

struct value_row {
	struct func_value_key key;
	struct func_value value;
};
struct value_rows {
	struct value_row *row;
	size_t n, capacity;
};

static int take_value(void *ctx, const void *key, const void *value)
{
	struct value_rows *rows = ctx;
	struct value_row row;

	memcpy(&row.key, key, sizeof(row.key));
	memcpy(&row.value, value, sizeof(row.value));
	return RP_PUSH(rows->row, rows->n, rows->capacity, row);
}

/* "0", "-2 ENOENT", "1,024 to 2,047", "0x100000000 to 0x1ffffffff". */
static void value_text(const struct func *f, const struct func_value_key *key, char *text,
		       size_t size)
{
	const int32_t number = (int32_t)key->value;
	const uint64_t from = 1ull << (key->value & 63), to = from - 1 + from;

	if (key->wide && key->value >= 32)
		snprintf(text, size, "%#" PRIx64 " to %#" PRIx64, from, to);
	else if (key->wide)
		snprintf(text, size, "%" PRIu64 " to %" PRIu64, from, to);
	else if (func_error(f, key->function, number))
		snprintf(text, size, "%d %s", number, func_error(f, key->function, number));
	else
		snprintf(text, size, "%d", number);
}

enum { FUNCTION, VALUE, CALLS, SHARE, TOTAL, AVERAGE, COLUMNS };
static const struct report_column columns[COLUMNS] = {
	[FUNCTION] = { "FUNCTION", "function", REPORT_UNIT_TEXT },
	[VALUE] = { "RETURNED", "value", REPORT_UNIT_TEXT },
	[CALLS] = { "CALLS", "calls", REPORT_UNIT_COUNT, .adds = true },
	[SHARE] = { "SHARE", "share", REPORT_UNIT_PERCENT },
	[TOTAL] = { "TOTAL", "total", REPORT_UNIT_NS, .adds = true },
	[AVERAGE] = { "AVERAGE", "average", REPORT_UNIT_NS },
};

static uint64_t calls_of(const struct value_rows *rows, uint32_t function)
{
	uint64_t n = 0;

	for (size_t i = 0; i < rows->n; i++)
		if (rows->row[i].key.function == function)
			n += rows->row[i].value.count;
	return n;
}

static int fill(struct recording *rec, const struct value_rows *rows, struct report_grid *g)
{
	struct record_info info;
	int err = record_info(rec, NULL, &info);

	if (err)
		return err;
	err = report_grid_set_info(g, &info.info);
	record_info_free(&info);
	for (size_t i = 0; !err && i < rows->n; i++) {
		const struct value_row *row = &rows->row[i];
		const uint64_t n = row->value.count, all = calls_of(rows, row->key.function);
		struct report_cell cells[COLUMNS] = { 0 };
		char text[64];

		value_text(rec->ctx, &row->key, text, sizeof(text));
		cells[FUNCTION].text = func_name(rec->ctx, row->key.function);
		cells[VALUE].text = text;
		cells[CALLS].number = n;
		cells[SHARE].real = all ? 100.0 * (double)n / (double)all : 0;
		cells[TOTAL].number = row->value.ns;
		cells[AVERAGE].number = n ? row->value.ns / n : 0;
		err = report_grid_add(g, cells);
	}
	return err;
}

int func_empty_values(struct recording *rec, struct report_grid **out)
{
	static const struct report_grid_spec spec = { .title = "what was returned",
						      .metric = "func_value",
						      .events = "calls",
						      .rows = "values",
						      .columns = columns,
						      .ncolumns = COLUMNS };

	return grid_new(options_of(rec), &spec, "calls", ROWS, out);
}

int func_report_values(struct recording *rec)
{
	struct value_rows rows = { 0 };
	struct report_grid *g = NULL;
	int err = record_stacks_each(rec->stacks, FUNC_MAP_VALUES, take_value, &rows);

	if (!err)
		err = func_empty_values(rec, &g);
	if (!err)
		err = fill(rec, &rows, g);
	if (!err)
		err = grid_end(rec, 0, g);
	report_grid_free(g);
	free(rows.row);
	return err;
}
