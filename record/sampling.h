/* SPDX-License-Identifier: BSD-2-Clause */
/* The events that sample what runs. */
#ifndef RECORD_SAMPLING_H
#define RECORD_SAMPLING_H

#include <rawprof/loader.h>

#include <rawprof/record.h>

/* A list of CPUs, "0-3,8". -EINVAL, or -ENODEV if none of them is online, after a message. */
int record_cpus(const char *list, struct rp_cpus *out);

/*
 * Opens, disabled, the event that the options name, or the best there is, on the CPUs that they
 * name, and attaches the program: so many times a second (freq), or every so many events (period).
 * 0 or a negative errno after a message.
 */
int record_sampling_open(const struct record_options *opt, uint64_t freq, uint64_t period,
			 int program, struct rp_perf **out);

/* Whether it will be cpu-clock, for which a timer of the kernel's makes the samples. */
bool record_sampling_by_timer(const struct record_options *opt);

#endif
