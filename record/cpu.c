/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CPU time: opens the events that sample, and says what a sample is worth. Program: programs/cpu.c.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "programs/cpu.h"
#include "recording.h"
#include "sampling.h"

#define DEFAULT_FREQ 99

struct cpu {
	struct rp_perf *perf;
	uint64_t freq, period; /* one of them is 0 */
	struct report_value_type types[CPU_WEIGHTS];
};

/* ---- events */

static int load_sampler(struct recording *rec, const struct program_config *common)
{
	const struct cpu_config config = { .common = *common, .keep_idle = rec->opt->idle };

	return record_load(rec, rp_cpu_programs, &config);
}

/* The one that is there already finishes what it has begun. */
static int take_over(struct recording *rec, int program)
{
	const uint32_t place = 0;
	int err = rp_map_update(record_stacks_map(rec->stacks, CPU_MAP_SAMPLER), &place, &program,
				BPF_ANY);

	return err ? rp_fail(err, "cannot exchange the program of the samples: %s", strerror(-err))
		   : 0;
}

static int load_without_languages(struct recording *rec)
{
	const struct cpu_config config = { .common = rec->config };
	struct program_config less = rec->config;
	int program, err;

	less.managed_bytes = 0;
	less.all_bytes = less.both_bytes;
	less.jvm = less.scripts = less.php = less.ruby = less.perl = 0;
	less.deep_bytes = 0;
	program = load_sampler(rec, &less);
	err = program < 0 ? program : take_over(rec, program);
	return err ? err : record_load(rec, rp_program_of(rp_cpu_programs, CPU_BEGIN), &config);
}

static int languages(struct recording *rec)
{
	int program = load_sampler(rec, &rec->config);

	return program < 0 ? program : take_over(rec, program);
}

static int attach(struct recording *rec)
{
	struct cpu *cpu = rec->ctx;
	int program =
		rec->languages_wait ? load_without_languages(rec) : load_sampler(rec, &rec->config);

	cpu->freq = rec->opt->freq || rec->opt->period ? rec->opt->freq : DEFAULT_FREQ;
	cpu->period = rec->opt->period;
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

/* All that it counts is in the maps of all profilers. */
static int restart(struct recording *rec)
{
	(void)rec;
	return 0;
}

static int tick(struct recording *rec)
{
	struct cpu *cpu = rec->ctx;
	int joined = rec->opt->cpus ? 0 : rp_perf_hotplug(cpu->perf);

	return joined < 0 ? joined : 0;
}

/* ---- what a sample is worth */

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
 * CPU time where the event can tell it: a clock counts nanoseconds itself; cycles are sampled so
 * many times a second. Anything else is worth what it counts.
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

/* ---- what stands beside the stacks */

/*
 * Samples a second of CPU time, 0 where it cannot be told: an idle CPU has no cycles and may have
 * no clock ticks. The kernel counts in hundredths of a second, so little work is no measure.
 */
static double achieved_rate(struct recording *rec)
{
	const struct cpu *cpu = rec->ctx;
	double busy = (double)rec->busy_ns / NS_PER_SECOND;
	struct program_stats stats;

	if (!cpu->freq || rec->opt->cpus || busy < 0.5 || record_stacks_stats(rec->stacks, &stats))
		return 0;
	return (double)(stats.fired - stats.idle) / busy;
}

/*
 * The ledger is about runs of the program. The kernel skips it while another BPF program, or a
 * change of a BPF map, is at work on that CPU, and stops events that fire too often: the rate
 * achieved tells (report/advice/rules.c).
 */
static void describe(struct recording *rec, struct report_info *info)
{
	const struct cpu *cpu = rec->ctx;
	double rate = achieved_rate(rec);

	info->event = event_name(rec);
	info->period_type = cpu->freq ? (struct report_value_type){ "cpu", "nanoseconds" }
				      : (struct report_value_type){ event_name(rec), "count" };
	info->period = cpu->freq ? NS_PER_SECOND / cpu->freq : cpu->period;
	info->rate_asked = (double)cpu->freq;
	info->rate_achieved = rate;
	info->cpus = (unsigned int)rp_perf_count(cpu->perf);
}

static void close_events(struct recording *rec)
{
	struct cpu *cpu = rec->ctx;

	rp_perf_close(cpu->perf);
}

static void add_moment(const struct stack_moment *m, uint64_t *value)
{
	value[CPU_WEIGHT_SAMPLES] += m->count;
	value[CPU_WEIGHT_PERIOD] += m->weight;
}

const struct record_profiler record_cpu = {
	.command = "cpu",
	.maps = rp_cpu_maps,
	.nmaps = CPU_MAPS,
	.ctx_size = sizeof(struct cpu),
	.sample_freq = DEFAULT_FREQ,
	.has_regs = true,
	.deep = true,
	.walks_later = true,
	.attach = attach,
	.languages = languages,
	.start = start,
	.stop = stop,
	.restart = restart,
	.tick = tick,
	.close = close_events,
	.types = types,
	.values = values,
	.add_moment = add_moment,
	.event = event_name,
	.describe = describe,
};
