/* SPDX-License-Identifier: BSD-2-Clause */
/* formats.c: the shapes that a profile can leave in, by name and by the ending of a file's name. */
#include <string.h>

#include <rawprof/grid.h>
#include <rawprof/hist.h>

const struct report_format report_formats[] = {
	{ "table",
	  "for a person",
	  { ".txt" },
	  false,
	  report_write_table,
	  report_hists_write_table,
	  report_grid_write_table },
	{ "folded",
	  "one line a stack, for flamegraph.pl",
	  { ".folded" },
	  false,
	  report_write_folded },
	{ "svg", "an interactive flame graph", { ".svg" }, false, report_write_svg },
	{ "html", "the same in a page", { ".html", ".htm" }, false, report_write_html },
	{ "pprof",
	  "for go tool pprof, Pyroscope, Parca",
	  { ".pb.gz", ".pprof" },
	  true,
	  report_write_pprof },
	{ "perf", "text as perf script prints it", { ".perf" }, false, report_write_perf },
	{ "speedscope", "for speedscope", { ".speedscope.json" }, false, report_write_speedscope },
	{ "json",
	  "everything, as one JSON document",
	  { ".json" },
	  false,
	  report_write_json,
	  report_hists_write_json,
	  report_grid_write_json },
	{ "prometheus",
	  "text for Prometheus: figures, no stacks",
	  { ".prom" },
	  false,
	  NULL,
	  report_hists_write_prometheus,
	  report_grid_write_prometheus },
	{ NULL },
};

const struct report_format *report_format_by_name(const char *name)
{
	for (const struct report_format *f = report_formats; f->name; f++)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}

const struct report_format *report_format_by_path(const char *path)
{
	const struct report_format *best = NULL;
	size_t length = strlen(path), longest = 0;

	for (const struct report_format *f = report_formats; f->name; f++) {
		for (size_t i = 0; i < sizeof(f->endings) / sizeof(*f->endings) && f->endings[i];
		     i++) {
			size_t n = strlen(f->endings[i]);

			if (n > longest && n <= length &&
			    !strcmp(path + length - n, f->endings[i])) {
				best = f;
				longest = n;
			}
		}
	}
	return best;
}
