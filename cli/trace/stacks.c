/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where an event happened. The program sends a stack when it sees it for the first time, and with
 * each event its hash; it is named then, and its text kept.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record/own_frames.h"
#include "trace.h"

/* Names are as long as their makers like, and stacks as many: beyond so much it begins anew. */
#define TEXTS_MOST (32u << 20)

struct stack_text {
	uint64_t hash;
	struct record_out text;
};

/* Its name, or its address; for people also where it is. */
static void put_name(const struct report_frame *frame, bool json, struct record_out *out)
{
	const char *slash = frame->module ? strrchr(frame->module, '/') : NULL;

	if (frame->name)
		record_out_str(out, frame->name);
	else
		record_out_hex(out, frame->address);
	if (!json && frame->module && frame->module != frame->file) /* a script is both */
		record_out_printf(out, " (%s)", slash ? slash + 1 : frame->module);
	if (frame->file && frame->line)
		record_out_printf(out, " %s:%u", frame->file, frame->line);
	else if (frame->file)
		record_out_printf(out, " %s", frame->file);
}

static void put_frame(const struct report_frame *frame, bool json, bool first,
		      struct record_out *out)
{
	struct record_out name = { 0 };

	put_name(frame, json, &name);
	if (json) {
		record_out_str(out, first ? "" : ",");
		record_out_json(out, name.text, name.n);
	} else {
		struct record_out quoted = { 0 };

		record_out_quoted(&quoted, name.text, name.n);
		record_out_str(out, "        ");
		if (quoted.n > 2)
			record_out_bytes(out, quoted.text + 1, quoted.n - 2);
		record_out_char(out, '\n');
		record_out_free(&quoted);
	}
	out->failed = out->failed || name.failed;
	record_out_free(&name);
}

static int make_text(struct recording *rec, const struct stack_record *r, bool json,
		     struct record_out *out)
{
	const size_t nkernel = r->kernel_bytes / 8;
	const size_t ours = record_own_frames(rec, r->frames, nkernel);
	struct name_frames frames = { 0 };
	int err = record_managed_alone(rec, r)
			  ? 0
			  : record_names_stack(rec, NULL, r->frames + ours, nkernel - ours,
					       ours ? NAMES_RETURN : NAMES_AT, &frames);

	if (!err)
		err = record_names_stack_user(rec, r, record_names_entered(rec, r->frames, nkernel),
					      &frames);
	record_out_str(out, json ? "[" : "");
	for (size_t i = 0; !err && i < frames.n; i++)
		put_frame(&frames.frame[i], json, i == 0, out);
	record_out_str(out, json ? "]" : "");
	free(frames.frame);
	return err ? err : out->failed ? -ENOMEM : 0;
}

int trace_put_stack(struct recording *rec, const struct trace_record *record, bool json,
		    struct record_out *out)
{
	const struct stack *stack = record_stacks_find(rec->stacks, record->stack);
	struct trace *trace = rec->ctx;
	struct stack_text *known;
	int err = 0;

	trace->stacks.key_size = sizeof(known->hash);
	trace->stacks.size = sizeof(*known);
	if (!record->stack || !stack) {
		record_out_str(out, json ? "null" : "        (no stack)\n");
		return 0;
	}
	if (trace->stack_bytes > TEXTS_MOST)
		trace_stacks_free(trace);
	known = rp_hash_add(&trace->stacks, &record->stack);
	if (!known)
		return -ENOMEM;
	if (!known->text.n) {
		err = make_text(rec, stack->record, json, &known->text);
		trace->stack_bytes += known->text.capacity;
	}
	record_out_bytes(out, known->text.text ? known->text.text : "", known->text.n);
	return err;
}

void trace_stacks_free(struct trace *trace)
{
	struct stack_text *texts = trace->stacks.items;

	for (size_t i = 0; i < trace->stacks.count; i++)
		record_out_free(&texts[i].text);
	rp_hash_free(&trace->stacks);
	trace->stack_bytes = 0;
}
