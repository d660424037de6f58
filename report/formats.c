/* SPDX-License-Identifier: BSD-2-Clause */
/* The shapes that a profile can leave in, by name and by the ending of a file's name. */
#include <string.h>

#include <rawprof/grid.h>
#include <rawprof/hist.h>

const struct report_format report_formats[] = {
	{ .name = "table", /* for a person */
	  .endings = { ".txt" },
	  .write = report_write_table,
	  .write_hists = report_hists_write_table,
	  .write_grid = report_grid_write_table,
	  .for_people = true,
	  .by_name = true,
	  .has_ledger = true },
	{ .name = "folded", /* one line a stack, for flamegraph.pl */
	  .endings = { ".folded" },
	  .write = report_write_folded,
	  .by_name = true },
	{ .name = "svg", /* an interactive flame graph */
	  .endings = { ".svg" },
	  .write = report_write_svg,
	  .by_name = true },
	{ .name = "html", /* flame graph, table, callers, heat map and threads in a page */
	  .endings = { ".html", ".htm" },
	  .write = report_write_html,
	  .timed = true },
	{ .name = "pprof", /* for go tool pprof, Pyroscope, Parca */
	  .endings = { ".pb.gz", ".pprof" },
	  .write = report_write_pprof,
	  .binary = true },
	{ .name = "perf", /* text as perf script prints it */
	  .endings = { ".perf" },
	  .write = report_write_perf,
	  .timed = true },
	{ .name = "speedscope", /* for speedscope.app */
	  .endings = { ".speedscope.json" },
	  .write = report_write_speedscope },
	{ .name = "firefox", /* for profiler.firefox.com */
	  .endings = { ".firefox.json" },
	  .write = report_write_firefox,
	  .timed = true },
	{ .name = "perfetto", /* for ui.perfetto.dev */
	  .endings = { ".perfetto-trace", ".pftrace" },
	  .write = report_write_perfetto,
	  .binary = true,
	  .timed = true },
	{ .name = "chrome", /* for everything else that shows time */
	  .endings = { ".chrome.json", ".trace.json" },
	  .write = report_write_chrome,
	  .timed = true },
	{ .name = "otlp", /* for OpenTelemetry's collector; its form is not final */
	  .endings = { ".otlp" },
	  .write = report_write_otlp,
	  .binary = true },
	{ .name = "json", /* everything, as one JSON document */
	  .endings = { ".json" },
	  .write = report_write_json,
	  .write_hists = report_hists_write_json,
	  .write_grid = report_grid_write_json,
	  .json = true,
	  .has_ledger = true },
	{ .name = "prometheus", /* text for Prometheus: figures, no stacks */
	  .endings = { ".prom" },
	  .write_hists = report_hists_write_prometheus,
	  .write_grid = report_grid_write_prometheus },
	{ .name = "rawprof", /* for rawprof report */
	  .endings = { ".rawprof" },
	  .write = report_write_saved,
	  .write_hists = report_hists_write_saved,
	  .write_grid = report_grid_write_saved,
	  .binary = true,
	  .saved = true,
	  .timed = true },
	{ .name = NULL },
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
