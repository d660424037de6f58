/* SPDX-License-Identifier: BSD-2-Clause */
/* A grid as gauges: one for each column of figures, labelled by the others; all rows, as JSON. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "grids.h"
#include "report/prometheus.h"

static void put_labels(struct out *o, const struct report_grid *g, uint32_t row)
{
	bool first = true;
	char id[24];

	report_out_putc(o, '{');
	for (size_t i = 0; i < g->spec.ncolumns; i++) {
		const struct report_column *c = &g->columns[i];

		if (!column_is_label(c))
			continue;
		if (c->unit == REPORT_UNIT_ID) {
			snprintf(id, sizeof(id), "%" PRIu64, grid_cell(g, row, i)->number);
			report_prometheus_label(o, &first, c->key, id);
		} else if (grid_text(g, row, i)) {
			report_prometheus_label(o, &first, c->key, grid_text(g, row, i));
		}
	}
	report_out_puts(o, "} ");
}

static void put_gauge(struct out *o, const struct report_grid *g, const uint32_t *rows, size_t i)
{
	const struct report_column *c = &g->columns[i];
	struct buf name = { 0 }, help = { 0 };

	report_buf_printf(&name, "rawprof_%s_%s%s%s", g->spec.metric, c->key,
			  report_prometheus_suffix(c->unit), c->per_second ? "_per_second" : "");
	report_buf_printf(&help, "%s: %s", g->spec.title, c->title);
	if (name.err || help.err) {
		o->err = -ENOMEM;
	} else {
		report_prometheus_head(o, name.s, help.s, "gauge");
		for (uint32_t k = 0; k < g->rows; k++) {
			const struct cell *cell = grid_cell(g, rows[k], i);

			if (column_is_real(c) && !isfinite(cell->real))
				continue;
			report_out_puts(o, name.s);
			put_labels(o, g, rows[k]);
			if (column_is_real(c))
				report_prometheus_real(o, cell->real, c->unit);
			else
				report_prometheus_value(o, cell->number, c->unit);
			report_out_putc(o, '\n');
		}
	}
	report_buf_free(&name);
	report_buf_free(&help);
}

int report_grid_write_prometheus(const struct report_grid *g, FILE *file,
				 const struct report_options *options)
{
	uint32_t *rows = grid_sorted(g);
	struct out o = { .file = file };

	(void)options;
	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < g->spec.ncolumns && !o.err; i++)
		if (!column_is_label(&g->columns[i]))
			put_gauge(&o, g, rows, i);
	free(rows);
	return report_out_end(&o);
}
