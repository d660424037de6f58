/* SPDX-License-Identifier: BSD-2-Clause */
/* Sums of requests as tables: which process reads and writes how much, and in which order. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rawprof/grid.h>

#include "base/grow.h"
#include "io.h"
#include "base/clock.h"
#include "cli/views.h"

/* What all requests of a process to a disk come to. */
struct row {
	uint32_t process, disk;
	char comm[17];
	struct io_total all;
	uint64_t read_bytes, written_bytes;
};
struct io_totals {
	struct report_grid *grid;
	const struct io_table *table;
	struct row *rows;
	size_t n, capacity;
};

/* ---- rows */

static int by_owner(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->disk != y->disk)
		return x->disk < y->disk ? -1 : 1;
	return strcmp(x->comm, y->comm);
}

static void add_total(struct io_total *to, const struct io_total *t)
{
	to->count += t->count;
	to->bytes += t->bytes;
	to->ns += t->ns;
	to->device_ns += t->device_ns;
	to->sequential += t->sequential;
	if (t->max_ns > to->max_ns)
		to->max_ns = t->max_ns;
}

/* The programs count each operation by itself. */
static void merge_rows(struct io_totals *t)
{
	size_t n = 0;

	if (t->n)
		qsort(t->rows, t->n, sizeof(*t->rows), by_owner);
	for (size_t i = 0; i < t->n; i++) {
		if (n && !by_owner(&t->rows[n - 1], &t->rows[i])) {
			add_total(&t->rows[n - 1].all, &t->rows[i].all);
			t->rows[n - 1].read_bytes += t->rows[i].read_bytes;
			t->rows[n - 1].written_bytes += t->rows[i].written_bytes;
		} else {
			t->rows[n++] = t->rows[i];
		}
	}
	t->n = n;
}

static int take_total(struct recording *rec, const struct io_key *key, const void *value)
{
	struct io *io = rec->ctx;
	struct io_totals *t = io->totals;
	const struct asm_map *map = &record_stacks_maps(rec->stacks)[IO_MAP_TOTALS];
	size_t stride = rp_map_cpu_stride(map);
	struct row *row;

	if (RP_GROW(t->rows, t->n, t->capacity))
		return -ENOMEM;
	row = &t->rows[t->n];
	*row = (struct row){ .process = key->process, .disk = key->disk };
	memcpy(row->comm, key->comm, sizeof(key->comm));
	for (int cpu = 0; cpu < rp_cpus_possible(); cpu++)
		add_total(&row->all, (const void *)((const char *)value + (size_t)cpu * stride));
	if (!record_comm_wanted(rec, row->comm)) {
		rec->not_wanted += row->all.count;
		return 0;
	}
	io->kept += row->all.count;
	if ((key->flags & IO_OP_MASK) == 0)
		row->read_bytes = row->all.bytes;
	else if ((key->flags & IO_OP_MASK) == IO_OP_WRITE)
		row->written_bytes = row->all.bytes;
	t->n++;
	return 0;
}

/* ---- tables */

/* Which columns a view has, and how it is ordered at first. */
struct io_table {
	struct report_grid_spec spec;
	const char *sort;
	void (*cells)(const struct row *row, const char *disk, double seconds,
		      struct report_cell *cells);
};

static double per_second(uint64_t n, double seconds)
{
	return seconds > 0 ? (double)n / seconds : 0;
}

static uint64_t mean(uint64_t sum, uint64_t n)
{
	return n ? sum / n : 0;
}

enum {
	P_PID,
	P_COMM,
	P_DISK,
	P_REQUESTS,
	P_RATE,
	P_READ,
	P_WRITTEN,
	P_BYTES_RATE,
	P_MEAN,
	P_DEVICE,
	P_MAX,
	P_COLUMNS
};
static const struct report_column process_columns[P_COLUMNS] = {
	[P_PID] = { "PID", "pid", REPORT_UNIT_ID },
	[P_COMM] = { "COMMAND", "comm", REPORT_UNIT_TEXT },
	[P_DISK] = { "DISK", "disk", REPORT_UNIT_TEXT },
	[P_REQUESTS] = { "REQUESTS", "requests", REPORT_UNIT_COUNT, .adds = true },
	[P_RATE] = { "RATE", "request_rate", REPORT_UNIT_COUNT, .per_second = true, .adds = true },
	[P_READ] = { "READ", "read", REPORT_UNIT_BYTES, .adds = true },
	[P_WRITTEN] = { "WRITTEN", "written", REPORT_UNIT_BYTES, .adds = true },
	[P_BYTES_RATE] = { "THROUGHPUT", "throughput", REPORT_UNIT_BYTES, .per_second = true,
			   .adds = true },
	[P_MEAN] = { "MEAN", "mean", REPORT_UNIT_NS },
	[P_DEVICE] = { "IN DEVICE", "device", REPORT_UNIT_NS },
	[P_MAX] = { "MAX", "max", REPORT_UNIT_NS },
};

static void process_cells(const struct row *row, const char *disk, double seconds,
			  struct report_cell *cells)
{
	const struct io_total *t = &row->all;

	cells[P_PID].number = row->process;
	cells[P_COMM].text = row->comm;
	cells[P_DISK].text = disk;
	cells[P_REQUESTS].number = t->count;
	cells[P_RATE].real = per_second(t->count, seconds);
	cells[P_READ].number = row->read_bytes;
	cells[P_WRITTEN].number = row->written_bytes;
	cells[P_BYTES_RATE].real = per_second(row->read_bytes + row->written_bytes, seconds);
	cells[P_MEAN].number = mean(t->ns, t->count);
	cells[P_DEVICE].number = mean(t->device_ns, t->count);
	cells[P_MAX].number = t->max_ns;
}

enum { O_DISK, O_PID, O_COMM, O_REQUESTS, O_BYTES, O_SIZE, O_SEQUENTIAL, O_RANDOM, O_COLUMNS };
static const struct report_column pattern_columns[O_COLUMNS] = {
	[O_DISK] = { "DISK", "disk", REPORT_UNIT_TEXT },
	[O_PID] = { "PID", "pid", REPORT_UNIT_ID },
	[O_COMM] = { "COMMAND", "comm", REPORT_UNIT_TEXT },
	[O_REQUESTS] = { "REQUESTS", "requests", REPORT_UNIT_COUNT, .adds = true },
	[O_BYTES] = { "BYTES", "bytes", REPORT_UNIT_BYTES, .adds = true },
	[O_SIZE] = { "MEAN SIZE", "mean_size", REPORT_UNIT_BYTES },
	[O_SEQUENTIAL] = { "SEQUENTIAL", "sequential", REPORT_UNIT_PERCENT },
	[O_RANDOM] = { "RANDOM", "random", REPORT_UNIT_PERCENT },
};

static void pattern_cells(const struct row *row, const char *disk, double seconds,
			  struct report_cell *cells)
{
	const struct io_total *t = &row->all;
	double sequential = t->count ? 100.0 * (double)t->sequential / (double)t->count : 0;

	(void)seconds;
	cells[O_DISK].text = disk;
	cells[O_PID].number = row->process;
	cells[O_COMM].text = row->comm;
	cells[O_REQUESTS].number = t->count;
	cells[O_BYTES].number = t->bytes;
	cells[O_SIZE].number = mean(t->bytes, t->count);
	cells[O_SEQUENTIAL].real = sequential;
	cells[O_RANDOM].real = 100 - sequential;
}

static const struct io_table tables[] = {
	{ { .title = "block requests by process",
	    .metric = "io_process",
	    .events = "requests",
	    .rows = "processes",
	    .columns = process_columns,
	    .ncolumns = P_COLUMNS },
	  "throughput",
	  process_cells },
	{ { .title = "order of reads and writes",
	    .metric = "io_pattern",
	    .events = "requests",
	    .rows = "processes",
	    .columns = pattern_columns,
	    .ncolumns = O_COLUMNS },
	  "requests",
	  pattern_cells },
};

/* ---- the output */

static int fill(struct recording *rec)
{
	struct io *io = rec->ctx;
	struct io_totals *t = io->totals;
	struct record_info info;
	double seconds;
	int err = io_take_bank(rec, IO_MAP_TOTALS, take_total);

	if (!err)
		err = record_info_since(rec, &io->since, &info);
	if (err)
		return err;
	seconds = (double)info.info.duration_ns / NS_PER_SECOND;
	merge_rows(t);
	for (size_t i = 0; !err && i < t->n; i++) {
		struct report_cell cells[REPORT_GRID_MAX_COLUMNS] = { 0 };
		char text[IO_TEXT];

		t->table->cells(&t->rows[i], io_disk_name(&io->names, t->rows[i].disk, text),
				seconds, cells);
		err = report_grid_add(t->grid, cells);
	}
	t->n = 0;
	if (!err)
		err = report_grid_set_info(t->grid, &info.info);
	record_info_free(&info);
	return err;
}

/* With --top, on a terminal, a table takes the place of the one before. */
#define CLEAR_SCREEN "\033[H\033[2J"
static void clear_screen(struct recording *rec)
{
	if (options_of(rec)->show.top_functions && output_of(rec)->show.color &&
	    options_of(rec)->format->for_people)
		fputs(CLEAR_SCREEN, output_of(rec)->stream);
}

static int interval(struct recording *rec)
{
	struct io *io = rec->ctx;
	struct io_totals *t = io->totals;
	int err = io_turn_bank(rec);

	if (!err)
		err = io_names_read_disks(&io->names);
	if (!err)
		err = fill(rec);
	if (err)
		return err;
	clear_screen(rec);
	return grid_part(rec, t->grid);
}

static int report(struct recording *rec)
{
	struct io *io = rec->ctx;
	int err = fill(rec);

	return err ? err : grid_end(rec, io->kept, io->totals->grid);
}

/* ---- the view */

int io_totals_setup(struct io *io, const struct options *opt)
{
	struct io_config *c = &io->config;
	struct io_totals *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	io->totals = t;
	t->table = &tables[io->own->pattern];
	c->totals = c->timeline = c->extent = c->key_disk = c->key_process = c->key_comm = 1;
	c->key_flags = IO_OP_MASK;
	c->pattern = io->own->pattern;
	io_size_map(io, IO_MAP_TOTALS, io->maps[IO_MAP_TOTALS].max_entries);
	io->maps[IO_MAP_HISTS].max_entries = 1;
	if (!c->pattern)
		io->maps[IO_MAP_ENDS].max_entries = 1;
	io->profiler.output = RECORD_GRID;
	io->profiler.interval = interval;
	io->profiler.report = report;
	return grid_new(opt, &t->table->spec, t->table->sort, 0, &t->grid);
}

void io_totals_free(struct io *io)
{
	if (!io->totals)
		return;
	report_grid_free(io->totals->grid);
	free(io->totals->rows);
	free(io->totals);
}
