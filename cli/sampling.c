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

/* Of some that are absent, the perf events warn; here none of them can ever be there. */
static int check_cpus(const struct rp_cpus *cpus)
{
	const int possible = rp_cpus_possible();

	for (int i = 0; i < cpus->n; i++)
		if (possible < 1 || cpus->cpu[i] < possible)
			return 0;
	return cpus->n ? rp_fail(-ENODEV, "there is no CPU %d: this machine has 0-%d", cpus->cpu[0],
				 possible - 1)
		       : 0;
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
		else
			err = check_cpus(&cpus);
		perf.cpus = &cpus;
	}
	if (!err)
		err = rp_perf_open(&perf, out);
	rp_cpus_free(&cpus);
	return err ? err : rp_perf_attach(*out, program);
}
