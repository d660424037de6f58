/* SPDX-License-Identifier: BSD-2-Clause */
/* From the stacks of a recording to a report: named, weighed, with the ledger and the cost. */
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "system.h"
#include "own_frames.h"
#include "recording.h"

/* ---- names */

struct name_owner record_owner(const struct stack_record *r)
{
	return (struct name_owner){ .pid = (uint32_t)(r->pid_tgid >> 32),
				    .time = r->time,
				    .generation = r->start_time + r->exec_id };
}

bool record_comm_wanted(const struct recording *rec, const char *comm)
{
	return !rec->comm_glob || !fnmatch(rec->comm_glob, comm, 0);
}

/* All kernel addresses at once: the kernel names some dozens for the price of one system call. */
static int prepare_kernel(struct recording *rec, const struct id_set *addrs, bool are_returns)
{
	uint32_t n = rp_id_set_count(addrs);
	uint64_t *list = malloc(((size_t)n + 1) * sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		list[i] = rp_id_set_at(addrs, i);
	if (n)
		sym_kernel_prepare(rec->kernel, list, n, are_returns);
	free(list);
	return 0;
}

int record_prepare_kernel(struct recording *rec)
{
	const struct stack *stack = NULL;
	struct id_set leaves = { 0 }, returns = { 0 };
	int err;

	while ((stack = record_stacks_next(rec->stacks, stack)))
		for (uint32_t i = 0; i < stack->record->kernel_bytes / 8; i++)
			rp_id_set_add(i ? &returns : &leaves, stack->record->frames[i]);
	err = prepare_kernel(rec, &leaves, false);
	if (!err)
		err = prepare_kernel(rec, &returns, true);
	rp_id_set_free(&leaves);
	rp_id_set_free(&returns);
	return err;
}

const struct stack_record *record_kernel_record(const struct recording *rec,
						const struct stack_record *r)
{
	const struct stack *better =
		r->kernel_of ? record_stacks_find(rec->stacks, r->kernel_of) : NULL;

	return better && better->record->kernel_bytes ? better->record : r;
}

int record_frames(struct recording *rec, struct names *names, const struct stack_record *r,
		  struct name_ids *ids)
{
	const struct stack_record *kernel = record_kernel_record(rec, r);
	size_t nkernel = kernel->kernel_bytes / 8;
	/* A perf event interrupts; a tracepoint is called, from a return address. */
	size_t ours = record_own_frames(rec, kernel->frames, nkernel);
	int err;

	if (!record_names_have_room(names, (uint32_t)(r->pid_tgid >> 32)))
		return 0;
	err = record_managed_alone(rec, r)
		      ? 0
		      : record_names_intern(names, NULL, kernel->frames + ours, nkernel - ours,
					    ours ? NAMES_RETURN : NAMES_AT, ids);

	if (!err)
		err = record_names_intern_user(
			names, r,
			rec->profiler->at_return
				? NAMES_RETURN
				: record_names_entered(rec, kernel->frames, nkernel),
			ids);
	return err;
}

int record_label(struct recording *rec, const struct stack_record *r, struct report_sample *sample)
{
	const int err = rec->label ? rec->label(rec, r, sample) : 0;

	if (!err && rec->published)
		record_published_add(rec->published, r, sample);
	return err;
}

static int add_stack(struct recording *rec, struct names *names, struct report *report,
		     const struct stack *stack)
{
	const struct stack_record *r = stack->record;
	struct name_ids ids = { 0 };
	uint64_t values[REPORT_MAX_VALUES] = { 0 };
	struct report_sample sample = { .comm = r->comm,
					.pid = (int32_t)(r->pid_tgid >> 32),
					.tid = (int32_t)r->pid_tgid,
					.values = values };
	uint32_t id;
	int err;

	memcpy(values, stack->value, sizeof(stack->value));
	if (rec->profiler->values && !rec->profiler->values(rec, stack, values))
		return 0;
	if (!record_comm_wanted(rec, r->comm)) {
		rec->not_wanted += values[0];
		return 0;
	}
	err = record_frames(rec, names, r, &ids);
	sample.frames = ids.id;
	sample.nframes = ids.n;
	if (!err && rec->profiler->decorate)
		err = rec->profiler->decorate(rec, stack, &sample);
	if (!err)
		err = record_label(rec, r, &sample);
	if (!err)
		err = report_add_id(report, &sample, &id);
	if (!err)
		record_stream_sample(rec, r->hash, 0, id);
	free(ids.id);
	return err;
}

static int add_stacks(struct recording *rec, struct report *report)
{
	const struct stack *stack = NULL;
	struct names *names = NULL;
	int err = record_prepare_kernel(rec);

	if (!err)
		err = record_names_open(&names, rec, report);
	if (!err && rec->profiler->samples)
		err = rec->profiler->samples(rec, report, names);
	while (!err && !rec->profiler->samples && (stack = record_stacks_next(rec->stacks, stack)))
		err = add_stack(rec, names, report, stack);
	record_names_close(names);
	return err ? err : record_stream_fill(rec, report);
}

/* ---- what stands beside the stacks */

static char *join_ids(const char *what, const struct record_ids *list)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	fprintf(f, "%s%s ", what, list->n > 1 ? "s" : "");
	for (uint32_t i = 0; i < list->n; i++)
		fprintf(f, "%s%u", i ? "," : "", list->id[i]);
	return fclose(f) ? NULL : text;
}

/* A title has room for about so many characters; scripts handed over with -c have thousands. */
#define LONGEST_TARGET 60

static char *join_program(char **program)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	for (char **word = program; *word && ftell(f) < LONGEST_TARGET; word++)
		fprintf(f, "%s%.*s", word == program ? "" : " ", LONGEST_TARGET, *word);
	if (ftell(f) >= LONGEST_TARGET)
		fputs(" ...", f);
	return fclose(f) ? NULL : text;
}

static char *describe_target(const struct record_options *opt)
{
	if (opt->program)
		return join_program(opt->program);
	if (opt->pids.n)
		return join_ids("process", &opt->pids);
	if (opt->tids.n)
		return join_ids("thread", &opt->tids);
	return strdup(opt->cgroup ? opt->cgroup : "whole machine");
}

/*
 * How many samples ended how; NULL when there are none, or stacks were walked by frame pointers,
 * which never know.
 */
static char *describe_ends(struct recording *rec)
{
	uint64_t ends[UNWIND_STOPS + 1] = { 0 }, total = 0;
	const struct stack *stack = NULL;
	char *text = NULL;
	size_t size;
	FILE *f;

	if (!rec->tables)
		return NULL;
	while ((stack = record_stacks_next(rec->stacks, stack))) {
		uint32_t end = stack->record->user_end;
		uint64_t values[REPORT_MAX_VALUES] = { 0 };

		memcpy(values, stack->value, sizeof(stack->value));
		if (!stack->record->user_bytes ||
		    (rec->profiler->values && !rec->profiler->values(rec, stack, values)))
			continue;
		ends[end < UNWIND_STOPS ? end : UNWIND_STOPS] += values[0];
		total += values[0];
	}
	if (!total)
		return NULL;
	f = open_memstream(&text, &size);
	if (!f)
		return NULL;
	fprintf(f, "user stacks: %.1f %% whole",
		100.0 * (double)ends[UNWIND_COMPLETE] / (double)total);
	for (int end = 0; end <= UNWIND_STOPS; end++)
		if (end != UNWIND_COMPLETE && ends[end])
			fprintf(f, ", %" PRIu64 " %s", ends[end],
				end == UNWIND_STOPS ? "by frame pointers"
						    : unwind_stop_text((enum unwind_stop)end));
	return fclose(f) ? NULL : text;
}

/* What the profiler has to say, and how the walks ended. */
static char *describe(struct recording *rec)
{
	char *own = rec->during		  ? record_during_note(rec)
		    : rec->profiler->note ? rec->profiler->note(rec)
					  : NULL,
	     *ends = describe_ends(rec), *both;

	if (!own || !ends || asprintf(&both, "%s; %s", own, ends) < 0)
		both = NULL;
	if (!both && !own)
		return ends;
	free(ends);
	if (!both)
		return own;
	free(own);
	return both;
}

int record_info(struct recording *rec, const char *note, struct record_info *out)
{
	*out = (struct record_info){ .target = describe_target(rec->opt) };
	if (!out->target)
		return -ENOMEM;
	out->info = (struct report_info){
		.command = rec->profiler->command,
		.target = out->target,
		.note = note,
		.main_module = rec->target.program,
		.kernel_build_id = record_kernel_build_id(out->build_id),
		.start_ns = rec->begin_ns + rec->wall_offset,
		.duration_ns = rec->end_ns - rec->begin_ns,
	};
	if (!uname(&out->name)) {
		out->info.host = out->name.nodename;
		out->info.kernel = out->name.release;
	}
	if (rec->profiler->describe)
		rec->profiler->describe(rec, &out->info);
	return 0;
}

int record_info_since(struct recording *rec, uint64_t *since, struct record_info *out)
{
	const uint64_t now = rec->end_ns ? rec->end_ns : rp_monotonic_ns();
	const uint64_t before = *since ? *since : rec->begin_ns;
	int err = record_info(rec, NULL, out);

	if (err)
		return err;
	out->info.start_ns = before + rec->wall_offset;
	out->info.duration_ns = now - before;
	*since = now;
	return 0;
}

void record_info_free(struct record_info *info)
{
	free(info->target);
}

/* ---- all together */

static int fill(struct recording *rec, struct report *report)
{
	struct record_info info;
	int err = add_stacks(rec, report);

	if (err)
		return err;
	rec->note = describe(rec);
	err = record_info(rec, rec->note, &info);
	if (err)
		return err;
	err = report_set_info(report, &info.info);
	record_info_free(&info);
	if (!err)
		err = record_ledger(rec,
				    rec->opt->samples ? rec->handed_over : report_total(report, 0),
				    &rec->ledger);
	if (!err)
		err = report_set_ledger(report, &rec->ledger.report);
	if (!err)
		report_set_cost(report, &rec->ledger.cost);
	return err;
}

int record_report_stacks(struct recording *rec, struct report **out)
{
	const struct report_value_type *types;
	struct report *report = NULL;
	size_t ntypes;
	int err;

	types = rec->profiler->types(rec, &ntypes);
	err = report_new(types, ntypes, &report);
	if (!err)
		err = fill(rec, report);
	if (err == -ENOMEM)
		rp_log(RP_ERROR, "out of memory while naming %zu stacks",
		       record_stacks_count(rec->stacks));
	record_stacks_forget(rec->stacks);
	if (rec->published)
		record_published_settle(rec->published);
	if (rec->name_share && record_name_share_settle(rec->name_share)) {
		record_v8_forget(rec->v8);
		record_jvm_forget(rec->jvm);
	}
	if (err) {
		report_free(report);
		return err;
	}
	report_settle(report);
	*out = report;
	return 0;
}

int record_report(struct recording *rec, struct report **out)
{
	if (!rec->begun || rec->reported)
		return rp_fail(rec->begun ? -EALREADY : -EINVAL,
			       "a recording is reported once, after it has run");
	rec->reported = true;
	return record_report_stacks(rec, out);
}
