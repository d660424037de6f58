/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of `rawprof cpu` share: cpu.c records, cpu_report.c and cpu_samples.c show. */
#ifndef CLI_CPU_H
#define CLI_CPU_H

#include <rawprof/programs.h>

#include "output.h"
#include "session.h"

struct cpu_run {
	const struct options *opt;
	struct session session;
	struct cpu_collect *collect;
	struct rp_perf *perf;
	struct rp_cpus cpus; /* of --cpu; empty: all */
	struct output output;
	uint64_t freq, period; /* one of them is 0 */
	const char *comm_glob; /* a --comm that the program cannot match by itself; NULL */

	/* programs that follow the children of -- PROGRAM */
	int follow[2];
	struct rp_link *follow_link[2];

	uint64_t seen; /* records so far */

	/* --samples: records that wait until their processes are known */
	struct cpu_sample_queue {
		struct cpu_record **records;
		size_t n, room;
	} queue;
	uint64_t printed, not_wanted; /* by comm_glob */
};

/* Names all that was collected and writes it in the format wanted. 0 or a negative errno after a message. */
int cpu_report(struct cpu_run *run);

/* Keeps a record for cpu_samples_print(), which prints and frees those that wait. */
int cpu_samples_keep(struct cpu_run *run, const struct cpu_record *record);
int cpu_samples_print(struct cpu_run *run);
/* The ledger and the cost, to standard error. */
int cpu_samples_end(struct cpu_run *run);

/* The books and the cost of a run; kept is what was shown. lines has room for CPU_LEDGER_LINES. */
#define CPU_LEDGER_LINES 8
int cpu_books(struct cpu_run *run, uint64_t kept, struct report_ledger_line *lines,
	      struct report_ledger *ledger, struct report_cost *cost);

/* Who a record is about, for the symbolizer. */
struct name_owner cpu_owner(const struct cpu_record *record);
/* False: --comm has a pattern that it does not match. */
bool cpu_comm_wanted(const struct cpu_run *run, const char *comm);

/*
 * For doctor: everything that `rawprof cpu -- PROGRAM` does before it records, taken back at once. 0, and the
 * event that it would sample by; else a negative errno after a message.
 */
int cpu_try(char *event, size_t size);

#endif
