/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What it costs to look at a process: time, and memory for what it has mapped. One may have 65,530
 * mappings, of as many files, and a user any number of such processes. So whoever has them pays: a
 * look that takes long is a debt of its user, and ends before it is too much; so does one whose
 * mappings take more memory than is left to that user. Time is as in generated_time.h: 133 ms at
 * once for one user, and 2 % of it. Most looks cost nothing that is counted.
 */
#ifndef RECORD_LOOKS_H
#define RECORD_LOOKS_H

#include <stddef.h>

#include "generated_time.h"
#include "uid_share.h"

struct record_looks {
	struct generated_time owed;
	struct record_share memory;
	struct record_share late; /* to whom it was said that there is no time left */
	/* the look at hand */
	uint32_t pid;
	uid_t uid;
	bool is_asked;	   /* uid is known */
	bool is_large;	   /* so it is paid for however short it was */
	bool is_free;	   /* whatever is looked at: who named it answers for it */
	uint64_t began_ns; /* of the time spent in this thread: what came before is paid for */
};

void record_looks_init(struct record_looks *l);
void record_looks_free(struct record_looks *l);

/* False: its user has no time left, which is said once. Root always has. */
bool record_look_begin(struct record_looks *l, uint32_t pid);
/* Now and then (symbolize.h: sym_user_patience_fn). False: that is enough. */
bool record_look_goes_on(void *looks, size_t bytes);
void record_look_end(struct record_looks *l);
/* So much CPU time of the look at hand has another budget. */
void record_look_without(uint64_t ns);
/* What mappings took was given back. */
void record_looks_settle(struct record_looks *l);

#endif
