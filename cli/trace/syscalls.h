/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `rawprof trace --syscalls`, in parts:
 *
 *	syscalls.c		the recording
 *	syscalls_sums.c		what the calls come to, read from the kernel
 *	syscalls_view.c		tables of it
 */
#ifndef CLI_TRACE_SYSCALLS_H
#define CLI_TRACE_SYSCALLS_H

#include "base/hash.h"
#include "cli/run.h"
#include "programs/syscalls/syscalls.h"

struct trace_options;

/* What the calls of a row come to. */
struct syscalls_row {
	struct syscalls_key key;
	uint64_t count, errors, sum, least, greatest;
	uint64_t slots[SYSCALLS_HIST_SLOTS]; /* of those by error: none */
};
struct syscalls_rows {
	struct syscalls_row *row;
	size_t n, capacity;
};

struct syscalls {
	const struct trace_options *own;
	struct record_profiler profiler;
	struct asm_map maps[SYSCALLS_MAPS];
	struct syscalls_config config;
	struct rp_cpus cpus;  /* with --cpu */
	struct hash_map seen; /* --interval: struct syscalls_row, as of the last one */
	uint64_t earlier_ns;
	uint64_t kept;	    /* calls that have ended */
	uint64_t under_way; /* and that have not, at the end */
};
int syscalls_run(const struct options *opt);
/* Its parts: fills the profiler, from own and the common options. 0 or a negative errno. */
int syscalls_open(struct syscalls *sys, const struct options *opt);
void syscalls_close(struct syscalls *sys);

/*
 * The rows of the map sums, or errors; new_only: what is new since the last such call. Counts those
 * that --comm leaves out in rec->not_wanted.
 */
int syscalls_rows(struct recording *rec, int map, bool new_only, struct syscalls_rows *out);
/* At the end: calls that go on. */
int syscalls_count_under_way(struct recording *rec);

/* Ways out, as struct record_profiler has them. */
int syscalls_empty_grid(struct recording *rec, struct report_grid **out);
int syscalls_report(struct recording *rec);
int syscalls_report_interval(struct recording *rec);

#endif
