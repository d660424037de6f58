/* SPDX-License-Identifier: BSD-2-Clause */
/* `mem --processes`, of user space and of the kernel: stacks added up by process. */
#ifndef CLI_MEM_PROCESSES_H
#define CLI_MEM_PROCESSES_H

#include <rawprof/grid.h>

#include "cli/run.h"

/* What a stack has, in this order. */
enum { MEM_ROW_ALLOCS, MEM_ROW_BYTES, MEM_ROW_LIVE, MEM_ROW_LIVE_BYTES };

struct mem_row {
	uint32_t pid;
	const char *comm;
	uint64_t value[STACK_VALUES];
};

struct mem_processes {
	const char *title, *metric;
	struct report_column live, live_bytes; /* columns of what is not freed */
	bool by_live;			       /* the order, unless --sort says otherwise */
	/* Fills in the row of the stack's process. 1; 0: no row; or a negative errno. */
	int (*take)(struct recording *rec, const struct stack *stack, struct mem_row *row);
};

/* Its table, without rows. */
int mem_processes_empty(struct recording *rec, const struct mem_processes *view,
			struct report_grid **out);

/* With --interval: what the one before has shown. */
struct mem_series {
	struct mem_row *row;
	size_t n;
	uint64_t since; /* CLOCK_MONOTONIC, ns; 0: the beginning */
};
/* What is new since then, and what is in use now. 0 or a negative errno after a message. */
int mem_processes_part(struct recording *rec, const struct mem_processes *view,
		       struct mem_series *series);
/* The last of it, and the end of the output. */
int mem_processes_end(struct recording *rec, const struct mem_processes *view,
		      struct mem_series *series);

/* The whole output, as record_report(). */
int mem_processes_report(struct recording *rec, const struct mem_processes *view);

#endif
