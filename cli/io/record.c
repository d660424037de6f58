/* SPDX-License-Identifier: BSD-2-Clause */
/* The recording of requests: configuration, programs, maps and ledger. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/budget.h"
#include "base/grow.h"
#include "io.h"
#include "base/clock.h"
#include "base/file.h"

/* ---- what the running kernel has */

/* Bit 4 until 6.9, when the bits became an enum. */
#define OLD_FLUSH_SEQ (1u << 4)

static int letters_at(const char *event, uint32_t *out)
{
	struct rp_tp_format format;
	const struct rp_tp_field *rwbs;
	int err = rp_tp_format("block", event, &format);

	if (err)
		return err;
	rwbs = rp_tp_format_field(&format, "rwbs");
	if (rwbs)
		*out = rwbs->offset;
	else
		err = rp_fail(-ENOENT, "block:%s has no field rwbs", event);
	rp_tp_format_free(&format);
	return err;
}

static int look_at_tracepoints(struct io *io)
{
	int err = letters_at("block_rq_issue", &io->config.rwbs_issue);

	io->classic = true;
	if (io->own->syscalls || io->own->fsync)
		return rp_fail(-EOPNOTSUPP, "which file a system call is about is seen by BTF "
					    "tracepoints alone, and this kernel has none");
	if (rp_has(RP_HAS_BPF)) /* else nothing works, as will be said */
		rp_log(RP_WARN,
		       "no BTF tracepoints: requests count from where they are issued, by the task "
		       "that issues them, and go by disk and sector; disks without requests are "
		       "not seen");
	return err ? err : letters_at("block_rq_complete", &io->config.rwbs_complete);
}

static int look_at_kernel(struct io *io)
{
	struct io_kernel *k = &io->config.kernel;
	const struct rp_btf *btf;
	struct asm_access access;
	int64_t bit;

	if (!rp_has(RP_HAS_TP_BTF) || rp_btf_kernel(&btf))
		return look_at_tracepoints(io);
	k->has_start = rp_btf_tracepoint_takes(btf, "block_io_start", 0, "request") == 1;
	k->queue_argument = rp_btf_tracepoint_takes(btf, "block_rq_issue", 1, "request") == 1;
	k->has_merge = rp_btf_tracepoint_takes(btf, "block_rq_merge", 0, "request") == 1;
	k->disk_in_request = !rp_btf_access(btf, "request", "rq_disk", &access, NULL);
	k->flush_seq = rp_btf_enum(btf, NULL, "__RQF_FLUSH_SEQ", &bit) ? OLD_FLUSH_SEQ : 1u << bit;
	if (!k->has_start)
		rp_log(RP_INFO,
		       "no block_io_start, which came with Linux 6.4: a request starts "
		       "where it is inserted or issued, at the time that the kernel noted");
	return 0;
}

/* Commands, processes and control groups are what anybody makes. */
static uint32_t most_of_bank(const struct recording *rec)
{
	const struct io *io = rec->ctx;
	const struct io_config *c = &io->config;

	if (!c->key_comm && !c->key_process && (!c->key_group || c->calls))
		return 0;
	return io->maps[c->hists ? IO_MAP_HISTS : IO_MAP_TOTALS].max_entries /
	       (rec->opt->interval > 0 ? 2 : 1);
}

static int configure(struct recording *rec)
{
	struct io *io = rec->ctx;
	struct program_config *c = &rec->config;
	struct io_config *config = &io->config;

	config->key_comm |= rec->comm_glob && config->hists;
	config->cgroup |= config->key_group;
	config->owner = c->filtering || rec->comm_glob || config->key_process || config->key_comm ||
			config->cgroup || config->records || config->totals || config->stacks;
	if (!config->key_comm && !config->key_group)
		io->maps[IO_MAP_HISTS].key_size = io->maps[IO_MAP_TOTALS].key_size = IO_SHORT_KEY;
	if (config->hists || config->totals)
		config->most = most_of_bank(rec);
	/* A part that is done has a length. */
	config->timeline |= io->classic;
	config->extent |= io->classic;
	config->noted = config->by_disk || config->pattern || config->stacks;
	config->only_time = !config->owner && !config->timeline;
	config->common = *c;
	return 0;
}

/* ---- programs */

/* Disks in use without requests: most systems have none, and events of bios come for all disks. */
static bool want_bios(const struct io *io)
{
	for (size_t i = 0; i < io->names.ndisks; i++) {
		const struct io_disk *d = &io->names.disks[i];

		if (d->bios && d->used && (!io->config.by_disk || io->config.disk == d->disk))
			return true;
	}
	return false;
}

static int load_bios(struct recording *rec)
{
	struct io *io = rec->ctx;
	const struct rp_program *starts;

	if (record_choose(rp_io_bio_programs, IO_STARTS, &starts)) {
		rp_log(RP_WARN, "disks without requests (device mapper, md, zram) are not seen: "
				"that needs Linux 5.12");
		return 0;
	}
	io->bios = rp_io_bio_programs;
	return record_load_list(rec, io->bios, RECORD_ALL_ROLES, &io->config);
}

/* What has to be seen of a request for what is asked. */
static uint32_t roles_of(const struct io_config *c)
{
	const bool starts = c->kernel.has_start;
	uint32_t roles = IO_ENDS;

	if (starts)
		roles |= IO_STARTS;
	if (c->phases || (!starts && c->owner))
		roles |= IO_INSERTS;
	if (c->timeline || c->owner)
		roles |= IO_ISSUES;
	if (c->extent)
		roles |= IO_REQUEUES;
	if (c->kernel.has_merge && (starts || c->timeline || c->owner))
		roles |= IO_MERGES;
	return roles;
}

static int attach(struct recording *rec)
{
	struct io *io = rec->ctx;
	int err;

	io->config.common = rec->config;
	err = rp_ring_open(record_stacks_map(rec->stacks, IO_MAP_RING),
			   io->maps[IO_MAP_RING].max_entries, &io->ring);
	if (err || io_of_calls(io))
		return err ? err : io_calls_attach(rec);
	err = record_load_list(rec, io->programs,
			       io->classic ? IO_ISSUES | IO_ENDS : roles_of(&io->config),
			       &io->config);
	if (!err && !io->classic && want_bios(io))
		err = load_bios(rec);
	return err;
}

int io_record_start(struct recording *rec)
{
	struct io *io = rec->ctx;
	int err = record_attach_list(rec, io->programs);

	if (!err && io->bios)
		err = record_attach_list(rec, io->bios);
	return err;
}

static int stop(struct recording *rec)
{
	struct io *io = rec->ctx;

	if (io->classic)
		return io_ends_ask(rec);
	record_detach_list(rec, io->programs);
	if (io->bios)
		record_detach_list(rec, io->bios);
	return 0;
}

static int hold_stack(void *ctx, const void *key, const void *value)
{
	const struct io_request *r = value;

	(void)key;
	if (r->start)
		record_stacks_hold(ctx, r->hash);
	return 0;
}

/* Requests that are under way end in the next window, with the stack that started them. */
static int restart(struct recording *rec)
{
	struct io *io = rec->ctx;

	if (io->classic)
		return -EOPNOTSUPP;
	io->missed_before += io->missed;
	return record_stacks_each(rec->stacks, IO_MAP_REQUESTS, hold_stack, rec->stacks);
}

/* Ends at which the kernel did not run the program. Classic ones do not count that. */
static uint64_t missed(const struct recording *rec)
{
	const struct io *io = rec->ctx;
	uint64_t n = record_runs(rec, io->programs,
				 io_of_calls(io) ? (uint32_t)IO_CALL_ENDS : (uint32_t)IO_ENDS)
			     .missed;

	return io->classic ? 0 : io->bios ? n + record_runs(rec, io->bios, IO_ENDS).missed : n;
}

static int collect(struct recording *rec)
{
	struct io *io = rec->ctx;
	int err = rec->profiler->drain ? rec->profiler->drain(rec) : 0;

	if (!err)
		err = io_names_read_disks(&io->names);
	if (!err)
		err = record_stacks_stats(rec->stacks, &io->stats);
	io->missed = missed(rec) - io->missed_before;
	if (!err && io->classic)
		err = io_ends_count(rec);
	return err;
}

/* ---- maps */

/* Of the memory that there is, maps of values by CPU may take this part. */
#define MEMORY_SHARE 64
#define MIN_ENTRIES 16

void io_size_map(struct io *io, int map, uint32_t wanted)
{
	const size_t each = rp_map_value_bytes(&io->maps[map]);
	const uint64_t most = rp_memory_part(MEMORY_SHARE, UINT64_MAX) / each;

	io->maps[map].max_entries = most < MIN_ENTRIES ? MIN_ENTRIES
				    : most < wanted    ? (uint32_t)most
						       : wanted;
}

int io_turn_bank(struct recording *rec)
{
	struct io *io = rec->ctx;
	uint64_t now = !io->bank;
	int err = rp_map_update(record_stacks_map(rec->stacks, IO_MAP_BANK), &(uint32_t){ 0 }, &now,
				BPF_ANY);

	if (err)
		return rp_fail(err, "turning to the other bank of counters: %s", strerror(-err));
	io->bank = now;
	io->turned = true;
	rp_quiesce();
	return 0;
}

struct take {
	struct recording *rec;
	int map;
	uint8_t bank;
	io_entry_fn fn;
	struct io_key *taken;
	size_t n, capacity;
};

static int take_entry(void *ctx, const void *key, const void *value)
{
	struct take *t = ctx;
	const struct asm_map *map = &record_stacks_maps(t->rec->stacks)[t->map];
	struct io_key whole = { 0 };

	memcpy(&whole, key, map->key_size);
	if (whole.bank != t->bank)
		return 0;
	if (RP_PUSH(t->taken, t->n, t->capacity, whole))
		return -ENOMEM;
	return t->fn(t->rec, &whole, value);
}

/*
 * Whoever takes a place in the other bank meanwhile may have it for nothing. That bank is the next
 * to be emptied.
 */
static int forget_share(int fd, uint8_t bank)
{
	static struct share of_banks[2];
	const uint32_t only = 0;
	int err = rp_map_lookup(fd, &only, of_banks);

	of_banks[bank] = (struct share){ 0 };
	return err ? err : rp_map_update(fd, &only, of_banks, BPF_ANY);
}

int io_take_bank(struct recording *rec, int map, io_entry_fn fn)
{
	struct io *io = rec->ctx;
	struct take t = { .rec = rec,
			  .map = map,
			  .bank = (uint8_t)(io->turned ? !io->bank : io->bank),
			  .fn = fn };
	const int fd = record_stacks_map(rec->stacks, map);
	int err = record_stacks_each(rec->stacks, map, take_entry, &t);

	for (size_t i = 0; !err && i < t.n; i++)
		rp_map_delete(fd, &t.taken[i]);
	if (!err && io->config.most)
		err = forget_share(record_stacks_map(rec->stacks, IO_MAP_SHARES), t.bank);
	free(t.taken);
	io->turned = false;
	return err;
}

/* ---- the ledger */

static int ledger(struct recording *rec, uint64_t kept, struct record_ledger *b)
{
	const struct io *io = rec->ctx;
	const struct io_stats *s = &io->stats;
	/* A request whose end was nested is found out again when another one takes its place. */
	const uint64_t nested = io->missed > s->no_end ? io->missed - s->no_end : 0;

	b->report.events = io_of_calls(io) ? "calls" : "requests";
	b->report.fired += nested + io->unended;
	b->report.kept = io->config.stacks ? kept : io->kept;
	record_ledger_add(b, "other disks", s->other_disk, REPORT_FILTERED);
	record_ledger_add(b, "shorter", s->shorter, REPORT_FILTERED);
	record_ledger_add(b, io->config.stacks ? "flushes" : "neither read nor written", s->no_data,
			  REPORT_FILTERED);
	record_ledger_add(b, "started before", s->unknown, REPORT_LOST);
	record_ledger_add(b, "issue not seen", s->not_seen, REPORT_LOST);
	record_ledger_add(b, "end not seen", s->no_end + io->unended, REPORT_LOST);
	record_ledger_add(b, "map full", s->map_full, REPORT_LOST);
	record_ledger_add(b, "nested", nested, REPORT_LOST);
	if (s->requests_full)
		rp_log(RP_WARN,
		       "%" PRIu64 " requests found no room when they started: they are among those "
		       "that started before, in the ledger",
		       s->requests_full);
	if (s->phases_lost)
		rp_log(RP_WARN, "%" PRIu64 " phases of requests were lost: the ring was full",
		       s->phases_lost);
	if (s->backwards)
		rp_log(RP_INFO, "%" PRIu64 " times ended before they began, by the clock: 0 ns",
		       s->backwards);
	return 0;
}

/* ---- all together */

/* Requests that all disks together may have under way: their pools are made beforehand. */
static uint32_t requests_possible(const struct io_names *names)
{
	uint64_t n = 4096;

	for (size_t i = 0; i < names->ndisks; i++) {
		char path[128], text[32];

		snprintf(path, sizeof(path), "/sys/block/%s/queue/nr_requests",
			 names->disks[i].name);
		if (rp_read_small_file(path, text, sizeof(text)) > 0)
			n += strtoul(text, NULL, 10) * (uint64_t)rp_cpus_possible() * 2;
	}
	return n > 1u << 18 ? 1u << 18 : (uint32_t)n;
}

int io_record_init(struct io *io)
{
	int err = io_names_read_disks(&io->names);

	if (!err)
		err = look_at_kernel(io);
	if (err)
		return err;
	if (io->own->disk) {
		const struct io_disk *disk = io_disk_find(&io->names, io->own->disk);

		if (!disk)
			return rp_fail(-ENODEV,
				       "there is no disk '%s' (a partition has none of its own): "
				       "see /sys/block",
				       io->own->disk);
		io->config.by_disk = 1;
		io->config.disk = disk->disk;
	}
	io->config.min_ns = io->own->min_ns;
	io->programs = io_of_calls(io) ? rp_io_call_programs
		       : io->classic   ? rp_io_classic_programs
				       : rp_io_programs;
	memcpy(io->maps, rp_io_maps, sizeof(io->maps));
	io->maps[IO_MAP_REQUESTS].max_entries = requests_possible(&io->names);
	io->profiler = (struct record_profiler){ .command = "io",
						 .maps = io->maps,
						 .nmaps = IO_MAPS,
						 .no_stacks = true,
						 .configure = configure,
						 .attach = attach,
						 .start = io_record_start,
						 .stop = stop,
						 .restart = restart,
						 .attaches_again = !io->classic,
						 .collect = collect,
						 .ledger = ledger };
	return 0;
}

void io_record_free(struct io *io)
{
	rp_ring_close(io->ring);
	io_names_free(&io->names);
	rp_hash_free(&io->rows);
}
