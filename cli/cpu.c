/* SPDX-License-Identifier: BSD-2-Clause */
/* rawprof cpu: where is CPU time going? Opens the events that sample; programs/cpu.c is what runs in the kernel. */
#include <stdio.h>
#include <string.h>

#include "programs/programs.h"

#include "commands.h"
#include "base/clock.h"
#include "record/profile.h"
#include "record/sampling.h"

#define DEFAULT_FREQ 99

struct cpu {
	struct rp_perf *perf;
	uint64_t freq, period; /* one of them is 0 */
	struct report_value_type types[CPU_WEIGHTS];
};

/* ---- events ----------------------------------------------------------------------------------------------- */

static int attach(struct recording *rec)
{
	const struct cpu_config config = { .common = rec->config, .keep_idle = rec->opt->idle };
	struct cpu *cpu = rec->ctx;
	int program = record_load(rec, &rp_cpu_sample_program, &config);

	return program < 0 ? program
			   : record_sampling_open(rec->opt, cpu->freq, cpu->period, program,
						  &cpu->perf);
}

static int start(struct recording *rec)
{
	struct cpu *cpu = rec->ctx;

	return rp_perf_enable(cpu->perf);
}

static int stop(struct recording *rec)
{
	struct cpu *cpu = rec->ctx;

	return rp_perf_disable(cpu->perf);
}

static int tick(struct recording *rec)
{
	struct cpu *cpu = rec->ctx;
	int joined = rec->opt->cpus ? 0 : rp_perf_hotplug(cpu->perf);

	return joined < 0 ? joined : 0;
}

/* ---- what a sample is worth ------------------------------------------------------------------------------- */

static const char *event_name(const struct recording *rec)
{
	const struct cpu *cpu = rec->ctx;

	return rp_perf_event(cpu->perf)->name;
}

static bool is_clock(const char *event)
{
	return !strcmp(event, "cpu-clock") || !strcmp(event, "task-clock");
}

/*
 * CPU time where the event can tell it: a clock counts nanoseconds itself; cycles are sampled so many times a
 * second. Anything else is worth what it counts.
 */
static bool worth_time(const struct recording *rec)
{
	const struct cpu *cpu = rec->ctx;

	return is_clock(event_name(rec)) || (cpu->freq && !strcmp(event_name(rec), "cycles"));
}

static const struct report_value_type *types(const struct recording *rec, size_t *n)
{
	struct cpu *cpu = rec->ctx;

	cpu->types[CPU_WEIGHT_SAMPLES] = (struct report_value_type){ "samples", "count" };
	cpu->types[CPU_WEIGHT_PERIOD] =
		worth_time(rec) ? (struct report_value_type){ "cpu", "nanoseconds" }
				: (struct report_value_type){ event_name(rec), "count" };
	*n = CPU_WEIGHTS;
	return cpu->types;
}

static bool values(const struct recording *rec, const struct stack *stack, uint64_t *value)
{
	const struct cpu *cpu = rec->ctx;

	if (worth_time(rec) && !is_clock(event_name(rec)))
		value[CPU_WEIGHT_PERIOD] =
			stack->value[CPU_WEIGHT_SAMPLES] * (NS_PER_SECOND / cpu->freq);
	return true;
}

/* ---- what the reader is told beside ----------------------------------------------------------------------- */

/*
 * Samples a second of CPU time, 0 where it cannot be told: an idle CPU has no cycles and may have no clock ticks.
 * The kernel counts in hundredths of a second, so little work is no measure.
 */
static double achieved_rate(struct recording *rec)
{
	const struct cpu *cpu = rec->ctx;
	double busy = (double)rec->session.busy_ns / NS_PER_SECOND;
	struct program_stats stats;

	if (!cpu->freq || rec->opt->cpus || busy < 0.5 || record_stacks_stats(rec->stacks, &stats))
		return 0;
	return (double)(stats.fired - stats.idle) / busy;
}

/*
 * The ledger are about runs of the program. The kernel skips it while another BPF program, or a change of a BPF map,
 * is at work on that CPU, and stops events that fire too often.
 */
static void describe(struct recording *rec, struct report_info *info)
{
	const struct cpu *cpu = rec->ctx;
	double rate = achieved_rate(rec);

	if (rate > 0 && rate < 0.9 * (double)cpu->freq)
		rp_log(RP_WARN,
		       "%.0f samples a second of CPU time instead of %.0f: the kernel skipped or throttled them",
		       rate, (double)cpu->freq);
	info->event = event_name(rec);
	info->period_type = cpu->freq ? (struct report_value_type){ "cpu", "nanoseconds" }
				      : (struct report_value_type){ event_name(rec), "count" };
	info->period = cpu->freq ? NS_PER_SECOND / cpu->freq : cpu->period;
	info->rate_asked = (double)cpu->freq;
	info->rate_achieved = rate;
	info->cpus = (unsigned int)rp_perf_count(cpu->perf);
}

/* ---- the command ------------------------------------------------------------------------------------------ */

static const struct record_profiler cpu_profiler = {
	.command = "cpu",
	.maps = rp_cpu_maps,
	.nmaps = STACK_MAPS,
	.has_regs = true,
	.attach = attach,
	.start = start,
	.stop = stop,
	.tick = tick,
	.types = types,
	.values = values,
	.event = event_name,
	.describe = describe,
};

static void release(struct cpu *cpu)
{
	rp_perf_close(cpu->perf);
}

static int run(const struct options *opt)
{
	struct cpu cpu = { .freq = opt->freq || opt->period ? opt->freq : DEFAULT_FREQ,
			   .period = opt->period };
	int status = record_command(&cpu_profiler, opt, &cpu);

	release(&cpu);
	return status;
}

static const struct option_row own[] = {
	{ "weight", 0, OPTION_OUTPUT, .help = "what the numbers are, by default samples",
	  .words = "samples cpu" },
	{ 0 },
};

const struct command cpu_command = {
	.name = "cpu",
	.summary = "where is CPU time going?",
	.about = "Where is CPU time going? Samples the stack of what runs, 99 times a second on "
		 "every CPU.",
	.examples =
		"  rawprof cpu 5                              the whole machine, for five seconds\n"
		"  rawprof cpu -p 1234 -o flame.svg 10        one process, as a flame graph\n"
		"  rawprof cpu -F 999 --format folded -- ./prog args\n",
	.takes = TAKES_RESULT | TAKES_TARGET | TAKES_CPUS | TAKES_SAMPLING | TAKES_STACKS |
		 TAKES_SAMPLES | TAKES_ROWS,
	.own = own,
	.run = run,
};
