/* SPDX-License-Identifier: BSD-2-Clause */
/* Instructions at which calls of a function end (ends.c). */
#ifndef RECORD_PROBES_ENDS_H
#define RECORD_PROBES_ENDS_H

#include <rawprof/symbolize.h>
#include <rawprof/uprobe.h>

struct probe_ends {
	struct probe_end {
		uint64_t offset; /* in the file */
		bool elsewhere;	 /* in another function, which it has jumped to */
	} * end;
	uint32_t n, capacity;
	uint32_t elsewhere; /* of them */
	bool complete;	    /* no call ends in any other way, but by an exception or a longjmp */
};

/*
 * Those of @f. @all: the functions of the file, by offset; NULL: none are known, so that jumps are
 * not followed. @at_jumps: a jump to where nobody knows stands for the end. -EINVAL if the function
 * lies outside of @code, -ENOMEM, -EIO. Free with record_probes_ends_free().
 */
int record_probes_ends(struct rp_code *code, const struct sym_functions *all,
		       const struct rp_function *f, bool at_jumps, struct probe_ends *out);
void record_probes_ends_free(struct probe_ends *ends);

#endif
