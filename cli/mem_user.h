/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of `rawprof mem` for allocations in user space share. */
#ifndef CLI_MEM_USER_H
#define CLI_MEM_USER_H

#include <rawprof/mem.h>
#include <rawprof/uprobe.h>

#include "mem.h"
#include "profile.h"

/* ---- the allocator's functions (mem_user_places.c) */

struct mem_probes;

/*
 * Makes ready to probe: programs are loaded as they are needed. config is copied, without what differs by program.
 * pid: the only process to be probed; -1: whoever maps the same files.
 */
int mem_probes_open(struct profile *p, const struct mem_user_config *config,
		    struct mem_probes **out);
/*
 * Probes what the files that a process executes from have of an allocator; each file once. 0, also if there is
 * nothing; or a negative errno after a message.
 */
int mem_probes_process(struct mem_probes *m, uint32_t pid);
/* Probes this file, of --obj, and from then on no other. */
int mem_probes_object(struct mem_probes *m, const char *path);
/* A file was mapped, by a process that is profiled: the same, if it is a new one. */
int mem_probes_mapped(struct mem_probes *m, const struct rp_side_event *e);
/* How many places are probed. */
size_t mem_probes_count(const struct mem_probes *m);
/* The programs see nothing any more. */
void mem_probes_detach(struct mem_probes *m);
void mem_probes_close(struct mem_probes *m);

#endif
