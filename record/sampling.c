/* SPDX-License-Identifier: BSD-2-Clause */
/* The perf events of a recording that samples: which event, on which CPUs. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#include "sampling.h"

static const char *choose_name(const struct record_options *opt)
{
	if (opt->event)
		return opt->event;
	return !opt->software_event && rp_has(RP_HAS_HW_EVENTS) ? "cycles" : "cpu-clock";
}

bool record_sampling_by_timer(const struct record_options *opt)
{
	return !strcmp(choose_name(opt), "cpu-clock");
}

static int choose_event(const struct record_options *opt, struct rp_perf_options *perf)
{
	const char *name = choose_name(opt);
	int err;

	if (!opt->event && !opt->software_event && !strcmp(name, "cpu-clock"))
		rp_log(RP_INFO, "no hardware events here: using cpu-clock");
	err = rp_event_parse(name, &perf->event);
	if (!err && perf->event.type == PERF_TYPE_TRACEPOINT)
		return rp_fail(-EINVAL,
			       "'%s' is a tracepoint: samples are taken of clocks and counters, "
			       "except by rawprof cpu",
			       name);
	perf->no_fallback = opt->event != NULL;
	return err;
}

/* "0-3,8", as far as there is room. */
static void list_cpus(const struct rp_cpus *cpus, char *text, size_t size)
{
	size_t at = 0;

	*text = 0;
	for (int i = 0, last; i < cpus->n && at + 16 < size; i = last + 1) {
		for (last = i; last + 1 < cpus->n && cpus->cpu[last + 1] == cpus->cpu[last] + 1;)
			last++;
		at += (size_t)snprintf(text + at, size - at, "%s%d", i ? "," : "", cpus->cpu[i]);
		if (last > i)
			at += (size_t)snprintf(text + at, size - at, "-%d", cpus->cpu[last]);
	}
}

/* Of some that are absent, the perf events warn; here none of them is there. */
static int check_cpus(const struct rp_cpus *cpus)
{
	struct rp_cpus online;
	int err = rp_cpus_online(&online);
	char text[256];

	if (err || !cpus->n)
		return err;
	err = -ENODEV;
	for (int i = 0; err && i < cpus->n; i++)
		if (rp_cpus_has(&online, cpus->cpu[i]))
			err = 0;
	list_cpus(&online, text, sizeof(text));
	rp_cpus_free(&online);
	if (!err)
		return 0;
	return cpus->cpu[0] >= rp_cpus_possible()
		       ? rp_fail(err, "there is no CPU %d: online are %s", cpus->cpu[0], text)
		       : rp_fail(err, "CPU %d is not online: online are %s", cpus->cpu[0], text);
}

int record_cpus(const char *list, struct rp_cpus *out)
{
	struct rp_cpus cpus;
	int err = rp_cpus_parse(list, &cpus);

	if (err)
		return rp_fail(err, "'%s' is no list of CPUs", list);
	err = check_cpus(&cpus);
	if (err)
		rp_cpus_free(&cpus);
	else
		*out = cpus;
	return err;
}

int record_sampling_open(const struct record_options *opt, uint64_t freq, uint64_t period,
			 int program, struct rp_perf **out)
{
	struct rp_perf_options perf = { .freq = freq, .period = period, .disabled = true };
	struct rp_cpus cpus = { 0 };
	int err = choose_event(opt, &perf);

	if (!err && opt->cpus) {
		err = record_cpus(opt->cpus, &cpus);
		perf.cpus = &cpus;
	}
	if (!err)
		err = rp_perf_open(&perf, out);
	rp_cpus_free(&cpus);
	return err ? err : rp_perf_attach(*out, program);
}
