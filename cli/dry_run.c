/* SPDX-License-Identifier: BSD-2-Clause */
/* Which mechanisms a command has come to use. */
#include <stdio.h>
#include <string.h>

#include "dry_run.h"

static const char *const names[WAYS] = {
	[WAY_SAMPLES] = "perf_event",
	[WAY_TP_BTF] = "tp_btf",
	[WAY_RAW_TP] = "raw_tp",
	[WAY_TRACEPOINT] = "tracepoint",
	[WAY_UPROBE_SESSION] = "uprobe_session",
	[WAY_UPROBE_MULTI] = "uprobe_multi",
	[WAY_UPROBE] = "uprobe",
	[WAY_TASK_ITER] = "task_iter",
};

static enum dry_run_way way_of(const struct asm_program *program)
{
	switch (program->type) {
	case BPF_PROG_TYPE_PERF_EVENT:
		return WAY_SAMPLES;
	case BPF_PROG_TYPE_TRACING:
		return program->attach_type == BPF_TRACE_ITER ? WAY_TASK_ITER : WAY_TP_BTF;
	case BPF_PROG_TYPE_RAW_TRACEPOINT:
		return WAY_RAW_TP;
	case BPF_PROG_TYPE_TRACEPOINT:
		return WAY_TRACEPOINT;
	case BPF_PROG_TYPE_KPROBE:
		return program->attach_type == BPF_TRACE_UPROBE_SESSION ? WAY_UPROBE_SESSION
		       : program->attach_type == BPF_TRACE_UPROBE_MULTI ? WAY_UPROBE_MULTI
									: WAY_UPROBE;
	}
	return WAYS;
}

void dry_run_note(struct dry_run *r, const struct asm_program *program)
{
	const enum dry_run_way way = way_of(program);

	if (way < WAYS)
		r->ways |= 1u << way;
}

void dry_run_text(const struct dry_run *r, char *text, size_t size)
{
	size_t used = 0;

	*text = '\0';
	for (int way = 0; way < WAYS && used < size; way++) {
		if (!(r->ways >> way & 1))
			continue;
		if (way == WAY_SAMPLES && *r->event)
			used += (size_t)snprintf(text, size, "samples by %s", r->event);
		else
			used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
						 names[way]);
	}
}
