/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the parts of `rawprof io` share.
 *
 *	io.c		the command: which view is meant
 *	options.c	what can be asked for
 *	record.c	records: programs, maps, the ledger
 *	ends.c		requests whose end was not seen
 *	names.c	names of disks, operations, flags, control groups
 *	hists.c	histograms of latency, phases, sizes
 *	totals.c	by process; random or sequential
 *	log.c	a line for each request; log_chrome.c: a slice
 *	stacks.c	the stacks that start them
 *	calls.c	system calls instead
 */
#ifndef CLI_IO_H
#define CLI_IO_H

#include <rawprof/hist.h>
#include "programs/io/io.h"

#include "cli/run.h"

struct io_options {
	bool phases, sizes, pattern, processes, log, stacks, syscalls, fsync;
	const char *by;
	const char *disk;
	uint64_t min_ns;
};
int io_run(const struct options *opt); /* the command */
/* A table of processes: asked for, or a number of rows or an order without another view. */
bool io_wants_processes(const struct options *opt);

/* What histograms are told apart by; a list of them is --by. */
enum io_label {
	IO_BY_DISK,
	IO_BY_OP,
	IO_BY_FLAGS,
	IO_BY_PROCESS,
	IO_BY_COMM,
	IO_BY_CGROUP,
	IO_BY_PHASE,
	IO_BY_CALL, /* of system calls: which, */
	IO_BY_FS,   /* and of which type the file system is */
	IO_LABELS
};
extern const char *const io_label_names[IO_LABELS];
/* From "disk,op" to labels; returns how many. 0: a word is unknown or twice, or too many. */
size_t io_labels_parse(const char *text, enum io_label *out);

/* ---- names */

struct io_names {
	struct io_disk {
		uint32_t disk;		  /* major << 20 | minor */
		bool bios;		  /* it has no requests */
		bool used;		  /* it has a size */
		uint64_t under_way, left; /* ends.c: requests that it has, and entries */
		char name[32];
	} * disks;
	size_t ndisks, disks_capacity;
	struct io_group {
		uint64_t id;
		char *path;
	} * groups;
	size_t ngroups, groups_capacity, group_bytes;
	bool groups_read, groups_full;
};
/* Reads which disks there are; those that are gone by now stay known. -ENOMEM. */
int io_names_read_disks(struct io_names *names);
void io_names_free(struct io_names *names);
/* The disk of that name, or NULL. */
const struct io_disk *io_disk_find(const struct io_names *names, const char *name);
/* Room for any of the texts below. */
#define IO_TEXT 256
/* All return text, or something that lives longer. */
const char *io_disk_name(const struct io_names *names, uint32_t disk, char *text);
const char *io_op_name(uint32_t flags, char *text);
const char *io_flags_text(uint32_t flags, char *text);
const char *io_cgroup_path(struct io_names *names, uint64_t id, char *text);
/* The bits that io_flags_text() has names for. */
uint32_t io_flags_named(void);
extern const char *const io_phase_names[IO_PHASES];

/* ---- recording */

struct io {
	const struct io_options *own;
	struct asm_map maps[IO_MAPS];
	struct record_profiler profiler;
	struct io_config config;
	struct io_names names;
	struct io_stats stats;
	struct rp_ring *ring;
	bool classic; /* there are no BTF tracepoints */
	/* What it loads, and attaches when it starts: of requests or of calls, and of bios. */
	const struct rp_program *programs, *bios;
	uint64_t bank;		/* that the programs count in */
	bool turned;		/* the other one has not been taken yet */
	uint64_t kept;		/* requests, so far */
	uint64_t shown;		/* of them in intervals before */
	uint64_t missed_before; /* of the windows before this one */
	uint64_t missed;	/* events at which the kernel did not run the program */
	/* ends.c: when disks were asked, and requests that they do not have any more */
	uint64_t asked, unended;
	uint64_t since; /* CLOCK_MONOTONIC: when the interval began */

	struct io_totals *totals; /* totals.c */
	struct hash_map rows;	  /* log_chrome.c */

	/* histograms */
	struct report_hists *set;
	enum io_label label[REPORT_HISTS_MAX_KEYS];
	const char *label_name[REPORT_HISTS_MAX_KEYS];
	size_t nlabels;
	bool by_phase; /* IO_BY_PHASE is one of them */
};

/* It is about system calls, not requests. */
static inline bool io_of_calls(const struct io *io)
{
	return io->own->syscalls || io->own->fsync;
}

/* Fills what all views have in common. 0 or a negative errno after a message. */
int io_record_init(struct io *io);
void io_record_free(struct io *io);
/* What is under way, asked of the disks at the end, and then held against the map requests. */
int io_ends_ask(struct recording *rec);
int io_ends_count(struct recording *rec);
/* Makes room for so many entries in a map of values by CPU, as far as memory should go. */
void io_size_map(struct io *io, int map, uint32_t wanted);
/* Turns to the other bank, and waits until no program writes to the one before. */
int io_turn_bank(struct recording *rec);
/* Hands over what is in the bank before, or at the end in the one in use, and forgets it there. */
typedef int (*io_entry_fn)(struct recording *rec, const struct io_key *key, const void *value);
int io_take_bank(struct recording *rec, int map, io_entry_fn fn);
/* Attaches the programs: what profiler.start is, unless a view has something to do before. */
int io_record_start(struct recording *rec);

/* Views; each fills io->profiler and io->config. 0 or a negative errno after a message. */
int io_hists_setup(struct io *io);
void io_hists_free(struct io *io);
int io_totals_setup(struct io *io, const struct options *opt);
void io_totals_free(struct io *io);
int io_log_setup(struct io *io);
bool io_has_sector(const struct io_request *q); /* a flush is of the whole disk */
/* log_chrome.c: each request, and what stands before and behind all of them. */
int io_log_chrome(struct recording *rec, const struct io_record *r, const char *comm);
void io_log_chrome_begin(struct recording *rec);
void io_log_chrome_end(struct recording *rec);
int io_stacks_setup(struct io *io);

/* ---- system calls: another recording for the same histograms */

int io_calls_attach(struct recording *rec);
const char *io_call_name(uint32_t kind);
/* The type of a file system, "ext4", by the address of its name; "-": the call had no file. */
const char *io_type_name(struct recording *rec, uint64_t address, char *text);

#endif
