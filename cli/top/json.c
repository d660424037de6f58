/* SPDX-License-Identifier: BSD-2-Clause */
/* A window as one line of JSON. */
#include <errno.h>
#include <inttypes.h>

#include "base/text.h"
#include "json.h"

static void print_text(FILE *out, const char *text)
{
	rp_text_print_json(out, text ? text : "");
}

static void print_row(FILE *out, const struct top_query *q, const struct top_row *row)
{
	const struct top_table_spec *spec = &top_tables[q->panel];
	const char *comma = "";

	fputc('{', out);
	for (unsigned int i = 0; i < spec->ncolumns; i++) {
		const struct top_column *c = &spec->column[i];

		if (!top_column_shown(q, i))
			continue;
		fprintf(out, "%s\"%s\":", comma, c->key);
		comma = ",";
		if (top_is_text(c->unit))
			print_text(out, row->cell[i].text);
		else
			fprintf(out, "%" PRIu64, top_value(q->panel, row, i));
	}
	fputc('}', out);
}

static int print_table(FILE *out, const struct top_window *w, enum top_panel panel, size_t most)
{
	const struct top_table_spec *spec = &top_tables[panel];
	const struct top_query q = { .panel = panel, .sort = spec->sort };
	struct top_rows rows;
	int err;

	fprintf(out, ",\"%s\":", spec->key);
	if (!w->running[panel] && !w->rows[panel].count) {
		fputs("null", out);
		return 0;
	}
	err = top_query(w, &q, &rows);
	if (err)
		return err;
	fputc('[', out);
	for (size_t i = 0; i < rows.n && i < most; i++) {
		if (i)
			fputc(',', out);
		print_row(out, &q, &rows.row[i]);
	}
	fputc(']', out);
	top_rows_free(&rows);
	return 0;
}

int top_json(const struct top_window *w, size_t rows, FILE *out)
{
	int err = 0;

	fprintf(out,
		"{\"time_ns\":%" PRIu64 ",\"interval_ns\":%" PRIu64 ",\"cpus\":%u,\"machine\":{",
		w->wall_ns, w->ns, w->cpus);
	for (int i = 0; i < TOP_FIGURES; i++)
		fprintf(out, "%s\"%s\":%" PRIu64, i ? "," : "", top_figure_keys[i], w->figure[i]);
	fputc('}', out);
	for (int i = 0; !err && i < TOP_PANELS; i++)
		err = print_table(out, w, (enum top_panel)i, rows);
	fputs("}\n", out);
	return err ? err : fflush(out) || ferror(out) ? -EIO : 0;
}
