/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs of a recording: loaded with its maps, attached, held until the events are to stop. */
#include "recording.h"

int record_load(struct recording *rec, const struct asm_program *program, const void *config)
{
	int fd = record_stacks_load(rec->stacks, program, config);

	if (fd >= 0) {
		rec->code[rec->nprograms] = program;
		rec->program[rec->nprograms++] = fd;
	}
	return fd;
}

int record_hold(struct recording *rec, struct rp_link *link)
{
	rec->link[rec->nlinks++] = link;
	return 0;
}

int record_attach(struct recording *rec, const struct asm_program *program, const void *config)
{
	struct rp_link *link;
	int err = record_load(rec, program, config);

	if (err >= 0)
		err = rp_attach_raw_tracepoint(err, NULL, &link);
	return err < 0 ? err : record_hold(rec, link);
}

int record_follow_children(struct recording *rec)
{
	struct rp_link *link;
	int err;

	if (!rp_has(RP_HAS_TP_BTF)) {
		rp_log(RP_INFO, "no BTF tracepoints: children are followed by a classic one");
		err = record_load(rec, &rp_follow_fork_classic_program, NULL);
		if (err >= 0)
			err = rp_attach_tracepoint(err, "sched", "sched_process_fork", 0, &link);
		return err < 0 ? err : record_hold(rec, link);
	}
	err = record_attach(rec, &rp_follow_fork_program, NULL);
	return err ? err : record_attach(rec, &rp_follow_exit_program, NULL);
}

int record_follow_mappings(struct recording *rec)
{
	int err = record_attach(rec, &unwind_fork_program, NULL);

	if (!err)
		err = record_attach(rec, &unwind_exec_program, &rec->config);
	return err ? err : record_attach(rec, &unwind_exit_program, NULL);
}

void record_detach(struct recording *rec)
{
	while (rec->nlinks)
		rp_link_close(rec->link[--rec->nlinks]);
}
