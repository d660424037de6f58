/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables of calls into GPU runtimes. */
#include <string.h>

#include <rawprof/grid.h>

#include "cli/views.h"
#include "gpu.h"

#define ROWS 30

enum {
	COMM,
	PID,
	LEVEL,
	FUNCTION,
	CLASS,
	KERNEL,
	CALLS,
	LAUNCHES,
	TIME,
	AVERAGE,
	MAX,
	BYTES,
	WAITING,
	COLUMNS
};
static const struct report_column columns[COLUMNS] = {
	[COMM] = { "COMMAND", "comm", REPORT_UNIT_TEXT },
	[PID] = { "PID", "pid", REPORT_UNIT_ID },
	[LEVEL] = { "LEVEL", "level", REPORT_UNIT_ID },
	[FUNCTION] = { "FUNCTION", "function", REPORT_UNIT_TEXT },
	[CLASS] = { "CLASS", "class", REPORT_UNIT_TEXT },
	[KERNEL] = { "KERNEL", "kernel", REPORT_UNIT_TEXT },
	[CALLS] = { "CALLS", "calls", REPORT_UNIT_COUNT, .adds = true },
	[LAUNCHES] = { "LAUNCHES", "launches", REPORT_UNIT_COUNT, .adds = true },
	[TIME] = { "TIME", "time", REPORT_UNIT_NS, .adds = true },
	[AVERAGE] = { "AVERAGE", "average", REPORT_UNIT_NS },
	[MAX] = { "MAX", "max", REPORT_UNIT_NS },
	[BYTES] = { "BYTES", "bytes", REPORT_UNIT_BYTES, .adds = true },
	[WAITING] = { "WAITING", "waiting", REPORT_UNIT_NS, .adds = true },
};

static bool is_shown(const struct gpu *g, int column)
{
	switch (column) {
	case LEVEL:
		return g->own->levels;
	case FUNCTION:
	case CLASS:
		return g->by != GPU_BY_PROCESS;
	case KERNEL:
		return g->by == GPU_BY_KERNEL;
	case LAUNCHES:
		return g->by == GPU_BY_PROCESS;
	case BYTES:
	case WAITING:
		return g->by != GPU_BY_KERNEL;
	default:
		return true;
	}
}

static int add_row(struct recording *rec, struct report_grid *grid, const struct gpu_row *row)
{
	struct gpu *g = rec->ctx;
	const struct record_probe *probe = record_probes_at(g->func.probes, row->key.function);
	struct report_cell all[COLUMNS] = { 0 }, shown[COLUMNS];
	char kernel[512];
	size_t n = 0;

	if (g->by == GPU_BY_KERNEL)
		gpu_kernel_name(rec, row->key.pid, row->key.kernel, kernel, sizeof(kernel));
	all[COMM].text = row->comm;
	all[PID].number = row->key.pid;
	all[LEVEL].number = row->key.level;
	all[FUNCTION].text = probe ? func_name(&g->func, row->key.function) : "?";
	all[CLASS].text = gpu_class_name(gpu_call_at(g, row->key.function)->class);
	all[KERNEL].text = kernel;
	all[CALLS].number = row->calls;
	all[LAUNCHES].number = row->class_calls[GPU_LAUNCH];
	all[TIME].number = row->ns;
	all[AVERAGE].number = row->ns / row->calls;
	all[MAX].number = row->longest_ns;
	all[BYTES].number = row->bytes;
	all[WAITING].number = row->wait_ns;
	for (int i = 0; i < COLUMNS; i++)
		if (is_shown(g, i))
			shown[n++] = all[i];
	return report_grid_add(grid, shown);
}

static int fill(struct recording *rec, struct report_grid *grid)
{
	const struct gpu *g = rec->ctx;
	int err = 0;

	for (uint32_t i = 0; i < g->rows.count && !err; i++)
		err = add_row(rec, grid, (const struct gpu_row *)g->rows.items + i);
	return err;
}

int gpu_empty_grid(struct recording *rec, struct report_grid **out)
{
	static const char *const titles[] = {
		[GPU_BY_FUNCTION] = "calls of GPU runtimes by process and function",
		[GPU_BY_PROCESS] = "calls of GPU runtimes by process",
		[GPU_BY_KERNEL] = "launches by kernel",
	};
	const struct gpu *g = rec->ctx;
	struct report_column shown[COLUMNS];
	struct report_grid_spec spec = {
		.title = titles[g->by], .metric = "gpu", .events = "calls", .columns = shown
	};

	for (int i = 0; i < COLUMNS; i++)
		if (is_shown(g, i))
			shown[spec.ncolumns++] = columns[i];
	return grid_new(options_of(rec), &spec, "time", ROWS, out);
}

int gpu_report(struct recording *rec)
{
	struct report_grid *grid;
	int err = gpu_empty_grid(rec, &grid);

	if (err)
		return err;
	err = fill(rec, grid);
	if (!err)
		err = grid_report(rec, grid);
	report_grid_free(grid);
	return err;
}
