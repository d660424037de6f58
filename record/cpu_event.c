/* SPDX-License-Identifier: BSD-2-Clause */
/* Samples at a tracepoint. Program: programs/cpu_event.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "programs/cpu.h"
#include "recording.h"
#include "sampling.h"

struct cpu_event {
	struct rp_event event;
	char *group; /* and behind its NUL the name */
	const char *name;
	int program;
	struct rp_link *link;
	struct report_value_type types[CPU_WEIGHTS];
	uint64_t missed; /* while another program was at work on that CPU */
	unsigned int cpus;
};

static uint64_t every(const struct recording *rec)
{
	return rec->opt->period ? rec->opt->period : 1;
}

/* ---- the event */

static int name_event(struct recording *rec, struct cpu_event *e)
{
	const char *text = rec->opt->event;
	char *colon;

	text += strncmp(text, "tp:", 3) ? 0 : 3;
	e->group = strdup(text);
	colon = e->group ? strchr(e->group, ':') : NULL;
	if (!colon)
		return -ENOMEM;
	*colon = '\0';
	e->name = colon + 1;
	return strchr(e->name, ':')
		       ? rp_fail(-EINVAL,
				 "%s: a tracepoint is the kernel's, there is nothing to exclude; "
				 "--user and --kernel choose the side of the stacks",
				 rec->opt->event)
		       : 0;
}

/* CPUs that were not asked for say so themselves, in their element. */
static int choose_cpus(struct recording *rec, struct cpu_event *e)
{
	const struct asm_map *map = &rp_cpu_event_maps[CPU_EVENT_MAP_TURNS];
	const size_t stride = rp_map_cpu_stride(map);
	const int fd = record_stacks_map(rec->stacks, CPU_EVENT_MAP_TURNS);
	struct rp_cpus cpus;
	char *turns;
	int err;

	err = rec->opt->cpus ? record_cpus(rec->opt->cpus, &cpus) : rp_cpus_online(&cpus);
	if (err)
		return err;
	e->cpus = (unsigned int)cpus.n;
	turns = calloc((size_t)rp_cpus_possible(), stride);
	for (int i = 0; turns && rec->opt->cpus && i < rp_cpus_possible(); i++)
		((struct cpu_turn *)(void *)(turns + (size_t)i * stride))->skip =
			!rp_cpus_has(&cpus, i);
	err = turns ? rp_map_update(fd, &(uint32_t){ 0 }, turns, BPF_ANY) : -ENOMEM;
	free(turns);
	rp_cpus_free(&cpus);
	return err;
}

static int attach(struct recording *rec)
{
	const struct cpu_config config = { .common = rec->config,
					   .keep_idle = rec->opt->idle,
					   .every = every(rec) };
	struct cpu_event *e = rec->ctx;
	int err;

	if (rec->opt->freq)
		return rp_fail(-EINVAL,
			       "%s is a tracepoint: -c N samples every N-th, there is no "
			       "frequency",
			       rec->opt->event);
	err = rp_event_parse(rec->opt->event, &e->event);
	if (!err)
		err = name_event(rec, e);
	if (!err)
		err = choose_cpus(rec, e);
	if (err)
		return err;
	e->program = record_load(rec, rp_cpu_event_programs, &config);
	return e->program < 0 ? e->program : 0;
}

static int start(struct recording *rec)
{
	struct cpu_event *e = rec->ctx;

	return rp_attach_tracepoint(e->program, e->group, e->name, 0, &e->link);
}

static int stop(struct recording *rec)
{
	struct cpu_event *e = rec->ctx;

	rp_link_close(e->link);
	e->link = NULL;
	rp_quiesce();
	e->missed = record_runs(rec, rp_cpu_event_programs, RECORD_ALL_ROLES).missed;
	return 0;
}

/* ---- what a sample is worth */

static const char *event_name(const struct recording *rec)
{
	const struct cpu_event *e = rec->ctx;

	return e->event.name;
}

static const struct report_value_type *types(const struct recording *rec, size_t *n)
{
	struct cpu_event *e = rec->ctx;

	e->types[CPU_WEIGHT_SAMPLES] = (struct report_value_type){ "samples", "count" };
	e->types[CPU_WEIGHT_PERIOD] = (struct report_value_type){ event_name(rec), "count" };
	*n = CPU_WEIGHTS;
	return e->types;
}

static void describe(struct recording *rec, struct report_info *info)
{
	const struct cpu_event *e = rec->ctx;

	info->event = event_name(rec);
	info->period_type = (struct report_value_type){ event_name(rec), "count" };
	info->period = every(rec);
	info->cpus = e->cpus;
}

static int ledger(struct recording *rec, uint64_t kept, struct record_ledger *l)
{
	const struct cpu_event *e = rec->ctx;

	(void)kept;
	l->report.fired += e->missed;
	record_ledger_add(l, "nested", e->missed, REPORT_LOST);
	return 0;
}

static void close_event(struct recording *rec)
{
	struct cpu_event *e = rec->ctx;

	rp_link_close(e->link);
	free(e->group);
}

const struct record_profiler record_cpu_event = {
	.command = "cpu",
	.maps = rp_cpu_event_maps,
	.nmaps = CPU_EVENT_MAPS,
	.ctx_size = sizeof(struct cpu_event),
	.attach = attach,
	.start = start,
	.stop = stop,
	.close = close_event,
	.types = types,
	.event = event_name,
	.describe = describe,
	.ledger = ledger,
};
