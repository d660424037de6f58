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
	[WAY_FENTRY] = "fentry",
	[WAY_KPROBE_MULTI] = "kprobe_multi",
};

static enum dry_run_way way_of(enum rp_hook_kind kind, uint32_t attach_type)
{
	switch (kind) {
	case RP_HOOK_PERF:
		return WAY_SAMPLES;
	case RP_HOOK_ITER:
		return WAY_TASK_ITER;
	case RP_HOOK_TP_BTF:
		return WAY_TP_BTF;
	case RP_HOOK_RAW_TP:
		return WAY_RAW_TP;
	case RP_HOOK_TP:
		return WAY_TRACEPOINT;
	case RP_HOOK_UPROBE:
		return attach_type == BPF_TRACE_UPROBE_SESSION ? WAY_UPROBE_SESSION
		       : attach_type == BPF_TRACE_UPROBE_MULTI ? WAY_UPROBE_MULTI
							       : WAY_UPROBE;
	case RP_HOOK_FENTRY:
	case RP_HOOK_FEXIT:
		return WAY_FENTRY;
	case RP_HOOK_PROBE:
		return attach_type == BPF_TRACE_KPROBE_MULTI	 ? WAY_KPROBE_MULTI
		       : attach_type == BPF_TRACE_UPROBE_SESSION ? WAY_UPROBE_SESSION
		       : attach_type == BPF_TRACE_UPROBE_MULTI	 ? WAY_UPROBE_MULTI
								 : WAY_UPROBE;
	case RP_HOOK_RECORD:
		return WAY_TRACEPOINT;
	case RP_HOOK_TEST_RUN:
		break;
	}
	return WAYS;
}

void dry_run_note(struct dry_run *r, const struct rp_program *program, uint32_t attach_type)
{
	const enum dry_run_way way = way_of(program->hook.kind, attach_type);

	if (way < WAYS)
		r->ways |= 1u << way;
}

void dry_run_text(const struct dry_run *r, char *text, size_t size)
{
	size_t used = 0;

	snprintf(text, size, "%s", r->counts);
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
