/* SPDX-License-Identifier: BSD-2-Clause */
/* How long disks take, and system calls: as `rawprof io` and `rawprof trace --syscalls`. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rawprof/hist.h>
#include <rawprof/loader.h>

#include "cli/io/io.h"
#include "cli/trace/syscalls.h"
#include "cli/trace/trace.h"
#include "cli/views.h"
#include "record/probes/syscalls.h"
#include "sources.h"

/* ---- disks */

static int open_disks(struct top_source *s)
{
	static const struct io_options no_options;
	struct io *io = s->state_of_kind;
	int err;

	io->own = &no_options;
	err = io_record_init(io);
	if (!err)
		err = io_hists_setup(io);
	s->profiler = io->profiler;
	s->profiler.no_names = true;
	s->ctx = io;
	return err;
}

static struct top_hist *hist_of(struct top_window *w, const char *disk)
{
	for (size_t i = 0; i < w->nhists; i++)
		if (w->hist[i].disk == disk)
			return &w->hist[i];
	if (w->nhists == TOP_HISTS)
		return NULL;
	w->hist[w->nhists].disk = disk;
	return &w->hist[w->nhists++];
}

static unsigned int slot_of(uint64_t ns)
{
	unsigned int slot = 0;

	while (ns >= 2000 && slot < TOP_HIST_SLOTS - 1) {
		ns /= 2;
		slot++;
	}
	return slot;
}

/* @sum: of all that has the labels by which the row is known, so far. */
static void set_disk(struct top_window *w, const char *const *labels,
		     const struct report_hist_summary *sum)
{
	const union top_value keys[2] = { { .text = labels[0] }, { .text = labels[1] } };
	struct top_row *row = top_row(w, TOP_DISKS, keys);

	if (!row)
		return;
	row->cell[2].number = sum->count;
	row->cell[3].number = sum->sum;
	row->cell[5].number = sum->p50;
	row->cell[6].number = sum->p90;
	row->cell[7].number = sum->p99;
	row->cell[8].number = sum->greatest;
}

static void add_slots(struct top_hist *to, const struct asm_map *map, const void *value)
{
	const size_t stride = rp_map_cpu_stride(map);

	for (int cpu = 0; cpu < rp_cpus_possible(); cpu++) {
		const struct asm_hist *h =
			(const void *)((const char *)value + (size_t)cpu * stride);

		for (unsigned int i = 0; i < IO_HIST_SLOTS; i++)
			to->slot[slot_of(report_hist_first(i, IO_HIST_BITS))] += h->slots[i];
	}
}

static int take_disk(struct recording *rec, const struct io_key *key, const void *value)
{
	const struct asm_map *map = &record_stacks_maps(rec->stacks)[IO_MAP_HISTS];
	struct io *io = rec->ctx;
	struct top_source *s = rec->options.ctx;
	struct top_window *w = s->all->window;
	char disk_text[IO_TEXT], op_text[IO_TEXT];
	/* As the window has them: what is one row there is one histogram. */
	const char *labels[] = { top_text(w, io_disk_name(&io->names, key->disk, disk_text)),
				 top_text(w, io_op_name(key->flags, op_text)) };
	struct report_hist_summary sum;
	struct report_hist *hist;
	struct top_hist *drawn;
	int err = labels[0] && labels[1] ? report_hists_get(io->set, labels, &hist) : -ENOMEM;

	if (!err)
		err = hist_merge(hist, map, value, IO_HIST_SLOTS);
	if (err)
		return err;
	report_hist_summary(hist, &sum);
	if (!sum.count)
		return 0;
	set_disk(w, labels, &sum);
	drawn = hist_of(w, labels[0]);
	if (drawn)
		add_slots(drawn, map, value);
	return 0;
}

static int read_disks(struct top_source *s, struct top_window *w)
{
	struct io *io = s->state_of_kind;
	int err = io_turn_bank(&s->rec);

	(void)w; /* is the one being filled */
	if (!err)
		err = io_names_read_disks(&io->names);
	if (!err)
		err = io_take_bank(&s->rec, IO_MAP_HISTS, take_disk);
	report_hists_clear(io->set);
	return err;
}

static void close_disks(struct top_source *s)
{
	struct io *io = s->state_of_kind;

	io_hists_free(io);
	io_record_free(io);
}

static int open_disks_with(struct top_source *s)
{
	s->options.ctx = s; /* for take_disk() */
	return open_disks(s);
}

const struct top_source_kind top_source_disks = {
	.name = "disks",
	.panel = TOP_DISKS,
	.at_once = true,
	.size = sizeof(struct io),
	.open = open_disks_with,
	.read = read_disks,
	.close = close_disks,
};

/* ---- system calls */

static int open_calls(struct top_source *s)
{
	static const struct trace_options no_options;
	struct syscalls *sys = s->state_of_kind;
	struct options opt = *s->all->opt;
	int err;

	sys->own = &no_options;
	opt.record = s->options;
	err = syscalls_open(sys, &opt);
	s->profiler = sys->profiler;
	s->profiler.no_names = true;
	s->ctx = sys;
	return err;
}

static uint64_t percentile(const struct syscalls_row *r, unsigned int percent)
{
	uint64_t sum = 0, all = 0;

	for (unsigned int i = 0; i < SYSCALLS_HIST_SLOTS; i++)
		all += r->slots[i];
	for (unsigned int i = 0; i < SYSCALLS_HIST_SLOTS; i++) {
		sum += r->slots[i];
		if (sum * 100 >= all * percent)
			return report_hist_last(i, SYSCALLS_HIST_BITS);
	}
	return 0;
}

static int add_call(struct top_window *w, const struct syscalls_row *r)
{
	const char *name = record_syscall_name(r->key.number);
	char number[24];
	const uint64_t p99 = percentile(r, 99);
	union top_value key;
	struct top_row *row;

	snprintf(number, sizeof(number), "%u", r->key.number);
	key.text = top_text(w, name ? name : number);
	row = key.text ? top_row(w, TOP_SYSCALLS, &key) : NULL;

	if (!key.text)
		return -ENOMEM;
	if (row) {
		row->cell[1].number += r->count;
		row->cell[2].number += r->errors;
		row->cell[3].number += r->sum;
		row->cell[5].number = p99 > row->cell[5].number ? p99 : row->cell[5].number;
	}
	return 0;
}

static int read_calls(struct top_source *s, struct top_window *w)
{
	struct syscalls_rows rows;
	int err = syscalls_rows(&s->rec, SYSCALLS_MAP_SUMS, true, &rows);

	if (err)
		return err;
	for (size_t i = 0; !err && i < rows.n; i++)
		err = add_call(w, &rows.row[i]);
	free(rows.row);
	return err;
}

static int forget_calls(struct top_source *s)
{
	return record_stacks_clear(s->rec.stacks, SYSCALLS_MAP_STARTED);
}

static void close_calls(struct top_source *s)
{
	syscalls_close(s->state_of_kind);
}

const struct top_source_kind top_source_syscalls = {
	.name = "system calls",
	.panel = TOP_SYSCALLS,
	.at_once = true,
	.size = sizeof(struct syscalls),
	.open = open_calls,
	.read = read_calls,
	.forget = forget_calls,
	.close = close_calls,
};
