/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <linux/perf_event.h>

#include "sampling.h"

static int choose_event(const struct options *opt, struct rp_perf_options *perf)
{
	const char *name = opt->event;
	int err;

	if (!name && !opt->software_event && rp_has(RP_HAS_HW_EVENTS))
		name = "cycles";
	if (!name && !opt->software_event)
		rp_log(RP_INFO, "no hardware events here: using cpu-clock");
	err = rp_event_parse(name ? name : "cpu-clock", &perf->event);
	if (!err && perf->event.type == PERF_TYPE_TRACEPOINT)
		return rp_fail(-EINVAL,
			       "'%s' is a tracepoint: samples are taken of clocks and counters",
			       name);
	perf->no_fallback = opt->event != NULL;
	return err;
}

int sampling_open(const struct options *opt, uint64_t freq, uint64_t period, int program,
		  struct rp_perf **out)
{
	struct rp_perf_options perf = { .freq = freq, .period = period, .disabled = true };
	struct rp_cpus cpus = { 0 };
	int err = choose_event(opt, &perf);

	if (!err && opt->cpus) {
		err = rp_cpus_parse(opt->cpus, &cpus);
		if (err)
			rp_log(RP_ERROR, "'%s' is no list of CPUs", opt->cpus);
		perf.cpus = &cpus;
	}
	if (!err)
		err = rp_perf_open(&perf, out);
	rp_cpus_free(&cpus);
	return err ? err : rp_perf_attach(*out, program);
}
