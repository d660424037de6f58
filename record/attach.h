/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From a list of programs to programs that run: which variants this kernel can run, in which order
 * they are loaded and attached, what they cost.
 */
#ifndef RECORD_ATTACH_H
#define RECORD_ATTACH_H

#include <rawprof/program.h>
#include <rawprof/uprobe.h>

struct recording;

#define RECORD_ALL_ROLES UINT32_MAX

/*
 * Why this kernel cannot run a program: 0 if it can; -EOPNOTSUPP if it lacks a feature or a type;
 * -ENOENT if it has no such tracepoint; another errno if tracefs cannot be read.
 */
int record_lacks(const struct rp_program *program);
/*
 * The first variant that this kernel can run of what a list has for a role. 0, or what
 * record_lacks() said of the last one. A tracepoint that one variant did not find is not looked for
 * again.
 */
int record_choose(const struct rp_program *list, uint32_t role, const struct rp_program **out);

/*
 * Loads what a list has for these roles, those that see ends first. Left out is what the profiler
 * places itself: for samples, for probes, iterators. config begins with rec->config. 0, or a
 * negative errno after a message.
 */
int record_load_list(struct recording *rec, const struct rp_program *list, uint32_t roles,
		     const void *config);
/* Attaches what has been loaded of a list, in the order of loading. */
int record_attach_list(struct recording *rec, const struct rp_program *list);
/* Both, one after the other. */
int record_attach(struct recording *rec, const struct rp_program *list, uint32_t roles,
		  const void *config);
/* Detaches what has been attached of a list, the last one first; NULL: everything. */
void record_detach_list(struct recording *rec, const struct rp_program *list);

/* Loads one program, which the profiler places. The recording's descriptor, or a negative errno. */
int record_load(struct recording *rec, const struct rp_program *program, const void *config);
/* As record_load(), of a copy of its code: with another attach type or target, or once more. */
int record_load_as(struct recording *rec, const struct rp_program *program,
		   const struct asm_program *code, const void *config);
/* As record_load(), for probes of this way, which need an attach type of their own. */
int record_load_probe(struct recording *rec, const struct rp_program *program,
		      enum rp_uprobe_way way, const void *config);

/* What the kernel counted for programs of a list with one of these roles; list NULL: for all. */
struct record_runs {
	uint64_t ns, runs, missed; /* missed: events at which the kernel did not run them */
};
struct record_runs record_runs(const struct recording *rec, const struct rp_program *list,
			       uint32_t roles);

#endif
