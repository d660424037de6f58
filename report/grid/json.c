/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * grid_json.c: a grid as one JSON document in one line, so that a series of them is JSON Lines.
 * Members that are not known are left out. Version 1:
 *
 *   schema: "rawprof-grid", version: 1
 *   info: as in json.c
 *   title, events
 *   columns: [{ key, title, unit: "nanoseconds", "microseconds", "bytes", "count" or "percent",
 *               per_second: true }]
 *   rows: [{ key of a column: text or number }]
 *   ledger, cost: as in json.c
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "grids.h"
#include "report/json_out.h"
#include "report/text.h"

static void put_columns(struct json_out *j, const struct report_grid *g)
{
	json_key(j, "columns");
	out_putc(&j->out, '[');
	for (size_t i = 0; i < g->spec.ncolumns; i++) {
		const struct report_column *c = &g->columns[i];

		out_puts(&j->out, i ? "," : "");
		json_open(j);
		json_text(j, "key", c->key);
		json_text(j, "title", c->title);
		json_text(j, "unit", json_unit(c->unit));
		if (c->per_second) {
			json_key(j, "per_second");
			out_puts(&j->out, "true");
		}
		json_close(j);
	}
	out_putc(&j->out, ']');
}

static void put_row(struct json_out *j, const struct report_grid *g, uint32_t row)
{
	json_open(j);
	for (size_t i = 0; i < g->spec.ncolumns; i++) {
		const struct report_column *c = &g->columns[i];
		const struct cell *cell = grid_cell(g, row, i);

		if (c->unit == REPORT_UNIT_TEXT) {
			json_text(j, c->key, grid_text(g, row, i));
		} else if (!column_is_real(c)) {
			json_number(j, c->key, cell->number);
		} else if (isfinite(cell->real)) {
			json_key(j, c->key);
			out_printf(&j->out, "%.9g", cell->real);
		}
	}
	json_close(j);
}

int report_grid_write_json(const struct report_grid *g, FILE *file,
			   const struct report_options *options)
{
	struct json_out j = { .out = { .file = file } };
	uint32_t *rows = grid_sorted(g);

	(void)options;
	if (!rows)
		return -ENOMEM;
	json_open(&j);
	json_text(&j, "schema", "rawprof-grid");
	json_number(&j, "version", 1);
	json_info(&j, &g->books.info);
	json_text(&j, "title", g->spec.title);
	json_text(&j, "events", g->spec.events);
	put_columns(&j, g);
	json_key(&j, "rows");
	out_putc(&j.out, '[');
	for (uint32_t i = 0; i < g->rows; i++) {
		out_puts(&j.out, i ? "," : "");
		put_row(&j, g, rows[i]);
	}
	out_putc(&j.out, ']');
	json_books(&j, &g->books);
	json_close(&j);
	out_putc(&j.out, '\n');
	free(rows);
	return out_end(&j.out);
}
