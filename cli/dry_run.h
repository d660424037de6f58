/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether a command can record, and by which mechanisms: everything is set up as for a recording,
 * and taken down again. Nothing is waited for, and nothing is written.
 */
#ifndef CLI_DRY_RUN_H
#define CLI_DRY_RUN_H

#include <rawprof/program.h>

struct dry_run {
	int err;	 /* 0 or a negative errno */
	uint32_t ways;	 /* that its programs are run in, by enum dry_run_way */
	char event[64];	 /* that it samples by; "" */
	char counts[96]; /* of one that only counts: which; "" */
};

/* In the order in which they are printed. */
enum dry_run_way {
	WAY_SAMPLES,
	WAY_TP_BTF,
	WAY_RAW_TP,
	WAY_TRACEPOINT,
	WAY_UPROBE_SESSION,
	WAY_UPROBE_MULTI,
	WAY_UPROBE,
	WAY_TASK_ITER,
	WAY_FENTRY,
	WAY_KPROBE_MULTI,
	WAYS
};

/* One of the command's programs has been loaded, with this attach type. */
void dry_run_note(struct dry_run *r, const struct rp_program *program, uint32_t attach_type);
/* "samples by cpu-clock, tp_btf, task_iter": the names that doctor has for mechanisms. */
void dry_run_text(const struct dry_run *r, char *text, size_t size);

#endif
