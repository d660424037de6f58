/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who called: stacks, with the function itself as the leaf. They are taken when a call returns, so
 * their first address is that of its caller; but at the function's return instructions it is one of
 * those.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "func.h"
#include "record/own_frames.h"

/* How the first user frame of a record is to be read; behind *skip frames that are left out. */
static enum names_first first_frame(struct recording *rec, const struct record_probe *p,
				    const struct stack_record *r, size_t nkernel, size_t *skip)
{
	*skip = p->kind == RECORD_PROBE_USER && p->user.at_returns;
	if (p->kind == RECORD_PROBE_USER)
		return NAMES_RETURN;
	return nkernel ? record_names_entered(rec, r->frames, nkernel) : NAMES_SYSCALL;
}

static int intern(struct recording *rec, struct names *names, const struct record_probe *p,
		  const struct stack_record *r, struct name_ids *out)
{
	const size_t nkernel = r->kernel_bytes / 8;
	size_t own = record_own_frames(rec, r->frames, nkernel), skip;
	const enum names_first first = first_frame(rec, p, r, nkernel, &skip);
	int err = record_managed_alone(rec, r)
			  ? 0
			  : record_names_intern(names, NULL, r->frames + own, nkernel - own,
						NAMES_RETURN, out);

	return err ? err : record_names_intern_callers(names, r, skip, first, out);
}

static int add_stack(struct recording *rec, struct names *names, struct report *report,
		     const struct stack *stack)
{
	const struct func *f = rec->ctx;
	const struct stack_record *r = stack->record;
	const struct record_probe *p = record_probes_at(f->probes, (uint32_t)r->tag);
	struct name_ids frames = { 0 };
	const struct report_label class = { .key = "class",
					    .str = p && f->class_of ? f->class_of(p) : NULL };
	struct report_sample sample = { .comm = r->comm,
					.labels = &class,
					.nlabels = f->class_of != NULL,
					.pid = (int32_t)(r->pid_tgid >> 32),
					.tid = (int32_t)r->pid_tgid,
					.values = stack->value };
	uint32_t id;
	int err;

	if (!p || !stack->value[0])
		return 0;
	if (!record_comm_wanted(rec, r->comm)) {
		rec->not_wanted += stack->value[0];
		return 0;
	}
	err = record_names_mark(report, func_name(f, p->id), &frames);
	if (!err)
		err = intern(rec, names, p, r, &frames);
	sample.frames = frames.id;
	sample.nframes = frames.n;
	if (!err)
		err = report_add_id(report, &sample, &id);
	if (!err)
		record_stream_sample(rec, r->hash, 0, id);
	free(frames.id);
	return err;
}

int func_samples(struct recording *rec, struct report *report, struct names *names)
{
	const struct stack *stack = NULL;
	int err = 0;

	rec->not_wanted = 0;
	while (!err && (stack = record_stacks_next(rec->stacks, stack)))
		err = add_stack(rec, names, report, stack);
	return err;
}
