/* SPDX-License-Identifier: BSD-2-Clause */
/* From the stacks of a recording to a report, and out. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cpu.h"
#include "machine.h"
#include "names.h"

/* What a sample is worth beside one. */
struct worth {
	struct report_value_type type;
	uint64_t per_sample; /* 0: its period */
};

/*
 * CPU time where the event can tell it: a clock counts nanoseconds itself; cycles are sampled so many times a
 * second. Anything else is worth what it counts.
 */
static struct worth worth_of(const struct rp_event *event, uint64_t freq)
{
	if (!strcmp(event->name, "cpu-clock") || !strcmp(event->name, "task-clock"))
		return (struct worth){ { "cpu", "nanoseconds" }, 0 };
	if (freq && !strcmp(event->name, "cycles"))
		return (struct worth){ { "cpu", "nanoseconds" }, NS_PER_SECOND / freq };
	return (struct worth){ { event->name, "count" }, 0 };
}

/* ---- names ------------------------------------------------------------------------------------------------ */

static const uint64_t *user_frames(const struct cpu_record *r)
{
	return r->frames + r->kernel_bytes / 8;
}

/* All kernel addresses at once: the kernel names some dozens for the price of one system call. */
static int prepare_kernel_names(struct cpu_run *run)
{
	const struct cpu_stack *stack = NULL;
	uint64_t *returns, *leaves;
	size_t n = 0, nleaves = 0, nreturns = 0;

	while ((stack = cpu_collect_next(run->collect, stack)))
		n += stack->record->kernel_bytes / 8;
	returns = calloc(n + 1, sizeof(*returns));
	leaves = calloc(n + 1, sizeof(*leaves));
	while (returns && leaves && (stack = cpu_collect_next(run->collect, stack)))
		for (uint32_t i = 0; i < stack->record->kernel_bytes / 8; i++)
			if (i)
				returns[nreturns++] = stack->record->frames[i];
			else
				leaves[nleaves++] = stack->record->frames[i];
	if (returns && leaves && n) {
		sym_kernel_prepare(run->session.kernel, leaves, nleaves, false);
		sym_kernel_prepare(run->session.kernel, returns, nreturns, true);
	}
	n = returns && leaves;
	free(returns);
	free(leaves);
	return n ? 0 : -ENOMEM;
}

static int add_stack(struct cpu_run *run, struct names *names, struct report *report,
		     const struct cpu_stack *stack, uint64_t per_sample)
{
	const struct cpu_record *r = stack->record;
	size_t nkernel = r->kernel_bytes / 8, nuser = r->user_bytes / 8;
	struct name_owner owner = cpu_owner(r);
	struct name_ids ids = { 0 };
	uint64_t values[] = { stack->samples,
			      per_sample ? stack->samples * per_sample : stack->period };
	struct report_sample sample = { .comm = r->comm,
					.pid = (int32_t)(r->key.pid_tgid >> 32),
					.tid = (int32_t)r->key.pid_tgid,
					.values = values };
	int err;

	if (!cpu_comm_wanted(run, r->comm)) {
		run->not_wanted += stack->samples;
		return 0;
	}
	err = names_intern(names, NULL, r->frames, nkernel, true, &ids);
	if (!err)
		err = names_intern(names, &owner, user_frames(r), nuser, true, &ids);
	sample.frames = ids.id;
	sample.nframes = ids.n;
	if (!err)
		err = report_add(report, &sample);
	free(ids.id);
	return err;
}

static int add_stacks(struct cpu_run *run, struct report *report, uint64_t per_sample)
{
	const struct cpu_stack *stack = NULL;
	struct names *names = NULL;
	int err = prepare_kernel_names(run);

	if (!err)
		err = names_open(&names, &run->session, report);
	while (!err && (stack = cpu_collect_next(run->collect, stack)))
		err = add_stack(run, names, report, stack, per_sample);
	names_close(names);
	return err;
}

/* ---- what the reader is told beside ----------------------------------------------------------------------- */

static char *join_ids(const char *what, const struct id_list *list)
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

static char *describe_target(const struct options *opt)
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
 * Samples a second of CPU time, 0 where it cannot be told: an idle CPU has no cycles and may have no clock ticks.
 * The kernel counts in hundredths of a second, so little work is no measure.
 */
static double achieved_rate(struct cpu_run *run)
{
	double busy = (double)run->session.busy_ns / NS_PER_SECOND;
	struct cpu_stats stats;

	if (!run->freq || run->opt->cpus || busy < 0.5 || cpu_collect_stats(run->collect, &stats))
		return 0;
	return (double)(stats.fired - stats.idle) / busy;
}

/* How many samples ended how; NULL when stacks were walked by frame pointers, which never know. */
static char *describe_ends(struct cpu_run *run)
{
	uint64_t ends[UNWIND_ENDS + 1] = { 0 }, total = 0;
	const struct cpu_stack *stack = NULL;
	char *text = NULL;
	size_t size;
	FILE *f;

	if (!run->session.feed)
		return NULL;
	while ((stack = cpu_collect_next(run->collect, stack))) {
		uint32_t end = stack->record->user_end;

		if (!stack->record->user_bytes)
			continue;
		ends[end < UNWIND_ENDS ? end : UNWIND_ENDS] += stack->samples;
		total += stack->samples;
	}
	f = open_memstream(&text, &size);
	if (!f)
		return NULL;
	fprintf(f, "user stacks: %.1f %% whole",
		total ? 100.0 * (double)ends[UNWIND_COMPLETE] / (double)total : 0);
	for (int end = 0; end <= UNWIND_ENDS; end++)
		if (end != UNWIND_COMPLETE && ends[end])
			fprintf(f, ", %" PRIu64 " %s", ends[end],
				end == UNWIND_ENDS ? "by frame pointers"
						   : unwind_end_text((enum unwind_end)end));
	return fclose(f) ? NULL : text;
}

/*
 * The books are about runs of the program. The kernel skips it while another BPF program, or a change of a BPF map,
 * is at work on that CPU, and stops events that fire too often.
 */
static void tell_of_missing(struct cpu_run *run)
{
	double rate = achieved_rate(run);

	if (rate > 0 && rate < 0.9 * (double)run->freq)
		rp_log(RP_WARN,
		       "%.0f samples a second of CPU time instead of %.0f: the kernel skipped or throttled them",
		       rate, (double)run->freq);
}

static int set_info(struct cpu_run *run, struct report *report, const char *note)
{
	const struct session *s = &run->session;
	const struct rp_event *event = rp_perf_event(run->perf);
	uint64_t freq = run->freq;
	char build_id[41], *target = describe_target(run->opt);
	struct utsname name;
	struct report_info info = {
		.command = "cpu",
		.target = target,
		.note = note,
		.event = event->name,
		.main_module = run->opt->program ? run->opt->program[0] : NULL,
		.kernel_build_id = kernel_build_id(build_id),
		.period_type = freq ? (struct report_value_type){ "cpu", "nanoseconds" }
				    : (struct report_value_type){ event->name, "count" },
		.period = freq ? NS_PER_SECOND / freq : run->period,
		.start_ns = s->begin_ns + s->wall_offset,
		.duration_ns = s->end_ns - s->begin_ns,
		.rate_asked = (double)freq,
		.cpus = (unsigned int)rp_perf_count(run->perf),
	};
	int err;

	if (!uname(&name)) {
		info.host = name.nodename;
		info.kernel = name.release;
	}
	info.rate_achieved = achieved_rate(run);
	err = target ? report_set_info(report, &info) : -ENOMEM;
	free(target);
	return err;
}

/* ---- all together ----------------------------------------------------------------------------------------- */

static int choose_weight(struct cpu_run *run, const struct report_value_type types[2])
{
	if (!run->opt->weight)
		return 0;
	for (unsigned int i = 0; i < 2; i++)
		if (!strcmp(run->opt->weight, types[i].type)) {
			run->output.show.weight = i;
			return 0;
		}
	return rp_fail(-EINVAL, "no weight '%s': there are %s and %s", run->opt->weight,
		       types[0].type, types[1].type);
}

int cpu_report(struct cpu_run *run)
{
	const struct worth worth = worth_of(rp_perf_event(run->perf), run->freq);
	const struct report_value_type types[2] = { { "samples", "count" }, worth.type };
	struct report_ledger_line lines[CPU_LEDGER_LINES];
	struct report_ledger ledger;
	struct report_cost cost = { 0 };
	struct report *report = NULL;
	char *note = NULL;
	int err = choose_weight(run, types);

	if (err)
		return err;
	note = describe_ends(run);
	tell_of_missing(run);
	err = report_new(types, 2, &report);
	if (!err)
		err = add_stacks(run, report, worth.per_sample);
	if (!err)
		err = set_info(run, report, note);
	if (!err)
		err = cpu_books(run, report_total(report, 0), lines, &ledger, &cost);
	if (!err)
		err = report_set_ledger(report, &ledger);
	if (err == -ENOMEM)
		rp_log(RP_ERROR, "out of memory while naming %zu stacks",
		       cpu_collect_count(run->collect));
	if (!err) {
		report_set_cost(report, &cost);
		err = output_report(&run->output, run->opt, report);
	}
	if (!err)
		err = output_tell(&run->output, run->opt, note, &ledger, &cost);
	report_free(report);
	free(note);
	return err;
}
