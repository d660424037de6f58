/* SPDX-License-Identifier: BSD-2-Clause */
/* Histograms of requests: how long they take, in which phase, how large they are. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "io.h"
#include "cli/views.h"

/* ---- what the programs count by */

static void count_by(struct io *io, enum io_label label)
{
	struct io_config *c = &io->config;

	switch (label) {
	case IO_BY_DISK:
		c->key_disk = 1;
		break;
	case IO_BY_OP:
		c->key_flags |= IO_OP_MASK;
		break;
	case IO_BY_FLAGS:
		c->key_flags |= io_flags_named();
		break;
	case IO_BY_PROCESS:
		c->key_process = c->key_comm = 1;
		break;
	case IO_BY_COMM:
		c->key_comm = 1;
		break;
	case IO_BY_CALL:
		c->key_flags = 1;
		break;
	case IO_BY_CGROUP:
	case IO_BY_FS:
		c->key_group = 1;
		break;
	default:
		break;
	}
}

static int make_set(struct io *io)
{
	const bool sizes = io->own->sizes, calls = io_of_calls(io);
	const struct report_hists_spec spec = {
		.title = sizes		   ? "sizes of block requests"
			 : calls	   ? "time in system calls"
			 : io->own->phases ? "time in phases of block requests"
					   : "latency of block requests",
		.metric = sizes	  ? "io_size"
			  : calls ? "io_call"
				  : "io_latency",
		.events = io->own->phases ? "phases"
			  : calls	  ? "calls"
					  : "requests",
		.unit = sizes ? REPORT_UNIT_BYTES : REPORT_UNIT_NS,
		.bits = IO_HIST_BITS,
		.keys = io->label_name,
		.nkeys = io->nlabels,
	};

	return report_hists_new(&spec, &io->set);
}

/* Keys that there may be: a disk sees three operations or so, many processes write. */
static uint32_t keys_wanted(const struct io *io)
{
	uint32_t n = 64 + 4 * (uint32_t)io->names.ndisks;

	if (io->config.phases)
		n *= 2; /* those that are rare */
	if (io->config.flushes)
		n *= IO_PHASES - 1;
	if (io->config.key_comm || io->config.key_group)
		n = io->config.phases ? 1024 : 4096; /* as many as half of a set, at most */
	return 2 * n;				     /* banks */
}

/* ---- what they counted */

/* Of fsync: all of it; while its disk was flushed; and not. */
static const char *phase_name(const struct io *io, uint8_t phase)
{
	if (io->own->fsync && phase != IO_FLUSH)
		return phase == IO_TOTAL ? "call" : "rest";
	return io_phase_names[phase % IO_PHASES];
}

static int hist_of(struct recording *rec, const struct io_key *key, bool is_spare,
		   struct report_hist **out)
{
	struct io *io = rec->ctx;
	char text[IO_LABELS][IO_TEXT];
	const char *value[REPORT_HISTS_MAX_KEYS];

	for (size_t i = 0; i < io->nlabels; i++) {
		char *capacity = text[i];

		switch (io->label[i]) {
		case IO_BY_DISK:
			value[i] = io_disk_name(&io->names, key->disk, capacity);
			break;
		case IO_BY_OP:
			value[i] = io_op_name(key->flags, capacity);
			break;
		case IO_BY_FLAGS:
			value[i] = io_flags_text(key->flags, capacity);
			break;
		case IO_BY_PROCESS:
			snprintf(capacity, IO_TEXT, "%.16s %u", key->comm, key->process);
			value[i] = capacity;
			break;
		case IO_BY_COMM:
			snprintf(capacity, IO_TEXT, "%.16s", key->comm);
			value[i] = capacity;
			break;
		case IO_BY_CGROUP:
			value[i] = io_cgroup_path(&io->names, key->group, capacity);
			break;
		case IO_BY_CALL:
			value[i] = io_call_name(key->flags);
			break;
		case IO_BY_FS:
			value[i] = io_type_name(rec, key->group, capacity);
			break;
		default:
			value[i] = phase_name(io, key->phase);
		}
	}
	return is_spare ? report_hists_get_spare(io->set, value, out)
			: report_hists_get(io->set, value, out);
}

/* Phases of which each request has exactly one. */
static bool is_whole(uint8_t phase)
{
	return phase == IO_TOTAL || phase == IO_DEVICE || phase == IO_FLUSH_ALONE;
}

/* Flush and rest of an fsync would be in one histogram with the call that they are parts of. */
static bool is_part(const struct io *io, const struct io_key *key)
{
	return io->own->fsync && !io->by_phase && key->phase != IO_TOTAL;
}

/* The kernel matches simple patterns of --comm; others are matched here. */
static bool wanted(struct recording *rec, const struct io_key *key, uint64_t n)
{
	struct io *io = rec->ctx;
	char comm[17];

	snprintf(comm, sizeof(comm), "%.16s", key->comm);
	if (!record_comm_wanted(rec, comm)) {
		rec->not_wanted += is_whole(key->phase) ? n : 0;
		return false;
	}
	io->kept += is_whole(key->phase) ? n : 0;
	return true;
}

static int take_one(struct recording *rec, const struct io_key *key, const void *value)
{
	const struct asm_map *map = &record_stacks_maps(rec->stacks)[IO_MAP_HISTS];
	size_t stride = rp_map_cpu_stride(map);
	struct report_hist *hist = NULL;
	uint64_t n = 0;
	int err;

	for (int cpu = 0; cpu < rp_cpus_possible(); cpu++) {
		const struct asm_hist *h =
			(const void *)((const char *)value + (size_t)cpu * stride);

		for (unsigned int slot = 0; slot < IO_HIST_SLOTS; slot++)
			n += h->slots[slot];
	}
	if (!n || !wanted(rec, key, n) || is_part(rec->ctx, key))
		return 0;
	err = hist_of(rec, key, false, &hist);
	return err ? err : hist_merge(hist, map, value, IO_HIST_SLOTS);
}

static int take_hist(struct recording *rec, const struct io_key *key, const void *value)
{
	static const uint8_t common[IO_COMMON_PHASES] = { IO_QUEUE, IO_SCHEDULER, IO_DEVICE };
	const struct io *io = rec->ctx;
	int err = 0;

	if (!io->config.phases || key->phase != IO_TOTAL)
		return take_one(rec, key, value);
	for (size_t i = 0; !err && i < IO_COMMON_PHASES; i++) {
		struct io_key one = *key;

		one.phase = common[i];
		err = take_one(rec, &one, (const char *)value + i * IO_HIST_BYTES);
	}
	return err;
}

/* A value for which the map had no room: it takes none from what the map has. */
static int take_sample(void *ctx, const void *record, size_t size)
{
	const struct io_sample *sample = record;
	struct recording *rec = ctx;
	struct report_hist *hist;
	int err;

	if (size != sizeof(*sample))
		return -EBADMSG;
	if (!wanted(rec, &sample->key, 1) || is_part(rec->ctx, &sample->key))
		return 0;
	err = hist_of(rec, &sample->key, true, &hist);
	if (!err)
		report_hist_add(hist, sample->value, 1);
	return err;
}

static int drain(struct recording *rec)
{
	struct io *io = rec->ctx;
	int n = rp_ring_drain(io->ring, take_sample, rec);

	return n < 0 ? n : 0;
}

/* ---- the output */

static int set_info(struct recording *rec)
{
	struct io *io = rec->ctx;
	struct record_info info;
	int err = record_info_since(rec, &io->since, &info);

	if (err)
		return err;
	info.info.has_events = io->own->fsync; /* of a call there are parts too */
	info.info.events = io->kept - io->shown;
	io->shown = io->kept;
	err = report_hists_set_info(io->set, &info.info);
	record_info_free(&info);
	return err;
}

static int write_part(struct recording *rec)
{
	struct io *io = rec->ctx;
	int err = set_info(rec);

	return err ? err : hists_part(rec, io->set);
}

static int interval(struct recording *rec)
{
	struct io *io = rec->ctx;
	int err = io_turn_bank(rec);

	if (!err)
		err = io_names_read_disks(&io->names);
	if (!err)
		err = drain(rec);
	if (!err)
		err = io_take_bank(rec, IO_MAP_HISTS, take_hist);
	return err ? err : write_part(rec);
}

static int report(struct recording *rec)
{
	struct io *io = rec->ctx;
	int err = io_take_bank(rec, IO_MAP_HISTS, take_hist);

	if (!err)
		err = set_info(rec);
	return err ? err : hists_end(rec, io->kept, io->set);
}

/* ---- the view */

int io_hists_setup(struct io *io)
{
	static const enum io_label of_requests[] = { IO_BY_DISK, IO_BY_OP, IO_BY_PHASE },
				   of_calls[] = { IO_BY_CALL, IO_BY_FS, IO_BY_PHASE };
	const struct io_options *own = io->own;

	io->nlabels = own->phases || own->fsync ? 3 : 2;
	memcpy(io->label, io_of_calls(io) ? of_calls : of_requests, sizeof(of_calls));
	if (own->by)
		io->nlabels = io_labels_parse(own->by, io->label);
	for (size_t i = 0; i < io->nlabels; i++) {
		io->label_name[i] = io_label_names[io->label[i]];
		io->by_phase |= io->label[i] == IO_BY_PHASE;
		count_by(io, io->label[i]);
	}
	io->config.hists = 1;
	io->config.calls = io_of_calls(io);
	io->config.flushes = own->fsync;
	io->config.phases = own->phases;
	io->config.sizes = own->sizes;
	io->config.latency = !own->phases && !own->sizes;
	io->config.timeline = own->phases || own->sizes;
	io->config.extent = own->sizes;
	if (own->phases)
		io->maps[IO_MAP_HISTS].value_size = io->maps[IO_MAP_ZERO].value_size =
			IO_COMMON_PHASES * IO_HIST_BYTES;
	io_size_map(io, IO_MAP_HISTS, keys_wanted(io));
	io->maps[IO_MAP_TOTALS].max_entries = io->maps[IO_MAP_ENDS].max_entries = 1;
	io->profiler.output = RECORD_HISTS;
	io->profiler.drain = drain;
	io->profiler.tick = drain;
	io->profiler.interval = interval;
	io->profiler.report = report;
	return make_set(io);
}

void io_hists_free(struct io *io)
{
	report_hists_free(io->set);
}
