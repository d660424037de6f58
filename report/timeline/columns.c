/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables of Firefox Profiler. */
#include <inttypes.h>
#include <string.h>

#include "columns.h"

/* A divisor of ten: digits behind the point, as few as it takes. */
static void put_decimals(struct out *o, uint64_t v, uint64_t unit)
{
	report_out_u64(o, v / unit);
	v %= unit;
	if (v)
		report_out_putc(o, '.');
	for (; v; v %= unit) {
		unit /= 10;
		report_out_putc(o, (char)('0' + v / unit));
	}
}

void report_out_ms(struct out *o, uint64_t ns)
{
	put_decimals(o, ns, 1000000);
}

void report_out_us(struct out *o, uint64_t ns)
{
	put_decimals(o, ns, 1000);
}

static void put_cell(struct out *o, int64_t cell, bool is_time)
{
	if (cell == CELL_NULL)
		report_out_puts(o, "null");
	else if (cell == CELL_FALSE)
		report_out_puts(o, "false");
	else if (is_time)
		report_out_ms(o, (uint64_t)cell);
	else
		report_out_printf(o, "%" PRId64, cell);
}

void report_columns_put(struct out *o, const char *names, const int64_t *cells, size_t nrows)
{
	size_t width = 1, column = 0;

	for (const char *s = names; *s; s++)
		width += *s == ' ';
	report_out_puts(o, "\"length\":");
	report_out_u64(o, nrows);
	for (const char *name = names; *name; column++) {
		const bool is_time = *name == '~';
		const bool is_shown = *name != '-';
		const size_t n = strcspn(name += is_time, " ");

		if (is_shown)
			report_out_printf(o, ",\n\"%.*s\":[", (int)n, name);
		for (size_t i = 0; i < nrows && is_shown; i++) {
			if (i)
				report_out_putc(o, ',');
			put_cell(o, cells[i * width + column], is_time);
		}
		report_out_puts(o, is_shown ? "]" : "");
		name += n + (name[n] == ' ');
	}
}
