/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A grid as one JSON document in one line, so that a series of them is JSON Lines.
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
	report_json_key(j, "columns");
	report_out_putc(&j->out, '[');
	for (size_t i = 0; i < g->spec.ncolumns; i++) {
		const struct report_column *c = &g->columns[i];

		report_out_puts(&j->out, i ? "," : "");
		report_json_open(j);
		report_json_text(j, "key", c->key);
		report_json_text(j, "title", c->title);
		report_json_text(j, "unit", report_json_unit(c->unit));
		if (c->per_second) {
			report_json_key(j, "per_second");
			report_out_puts(&j->out, "true");
		}
		report_json_close(j);
	}
	report_out_putc(&j->out, ']');
}

static void put_row(struct json_out *j, const struct report_grid *g, uint32_t row)
{
	report_json_open(j);
	for (size_t i = 0; i < g->spec.ncolumns; i++) {
		const struct report_column *c = &g->columns[i];
		const struct cell *cell = grid_cell(g, row, i);

		if (c->unit == REPORT_UNIT_TEXT) {
			report_json_text(j, c->key, grid_text(g, row, i));
		} else if (!column_is_real(c)) {
			report_json_number(j, c->key, cell->number);
		} else if (isfinite(cell->real)) {
			report_json_key(j, c->key);
			report_out_printf(&j->out, "%.9g", cell->real);
		}
	}
	report_json_close(j);
}

int report_grid_write_json(const struct report_grid *g, FILE *file,
			   const struct report_options *options)
{
	struct json_out j = { .out = { .file = file } };
	uint32_t *rows = grid_sorted(g);

	(void)options;
	if (!rows)
		return -ENOMEM;
	report_json_open(&j);
	report_json_text(&j, "schema", "rawprof-grid");
	report_json_number(&j, "version", 1);
	report_json_info(&j, &g->meta.info);
	report_json_text(&j, "title", g->spec.title);
	report_json_text(&j, "events", g->spec.events);
	put_columns(&j, g);
	report_json_key(&j, "rows");
	report_out_putc(&j.out, '[');
	for (uint32_t i = 0; i < g->rows; i++) {
		report_out_puts(&j.out, i ? "," : "");
		put_row(&j, g, rows[i]);
	}
	report_out_putc(&j.out, ']');
	report_json_meta(&j, &g->meta);
	report_json_close(&j);
	report_out_putc(&j.out, '\n');
	free(rows);
	return report_out_end(&j.out);
}
