/* SPDX-License-Identifier: BSD-2-Clause */
/* rawprof mem --sample-bytes: when a block is a sample, and what it stands for. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "user.h"

/*
 * Draws from an exponential distribution of this mean: it is cut into MEM_DRAWS equally likely
 * parts, and each draw is the mean of its part, so that all together have that mean exactly.
 */
static void make_draws(uint64_t mean, uint64_t draws[MEM_DRAWS])
{
	double lower = 0; /* x (1 - log x), the integral of -log x, at the lower end of a part */

	for (int i = 0; i < MEM_DRAWS; i++) {
		const double x = (i + 1.0) / MEM_DRAWS, upper = x * (1 - log(x));

		draws[i] = (uint64_t)llround((upper - lower) * MEM_DRAWS * (double)mean);
		draws[i] += !draws[i];
		lower = upper;
	}
}

static int fill_left(struct stacks *stacks, const uint64_t draws[MEM_DRAWS])
{
	const int cpus = rp_cpus_possible();
	uint64_t *left = calloc((size_t)cpus, sizeof(*left));
	uint16_t random;
	int err = 0;

	if (!left)
		return -ENOMEM;
	for (int cpu = 0; !err && cpu < cpus; cpu++) {
		if (getrandom(&random, sizeof(random), 0) != sizeof(random))
			err = -errno;
		else
			left[cpu] = draws[random % MEM_DRAWS];
	}
	if (!err)
		err = rp_map_update(record_stacks_map(stacks, MEM_MAP_LEFT), &(uint32_t){ 0 }, left,
				    BPF_ANY);
	free(left);
	return err;
}

int mem_sample_fill(struct stacks *stacks, uint64_t mean)
{
	static uint64_t draws[MEM_DRAWS];
	int err;

	make_draws(mean, draws);
	err = rp_map_update(record_stacks_map(stacks, MEM_MAP_DRAWS), &(uint32_t){ 0 }, draws,
			    BPF_ANY);
	if (!err)
		err = fill_left(stacks, draws);
	return err ? rp_fail(err, "making ready to sample: %s", strerror(-err)) : 0;
}

void mem_sample_weigh(const struct stack_record *record, uint64_t mean, uint64_t value[MEM_WEIGHTS])
{
	const double size = (double)record->tag;
	const double stands_for = record->tag ? -1 / expm1(-size / (double)mean) : 1;

	for (int i = 0; i < MEM_WEIGHTS; i++)
		value[i] = (uint64_t)llround((double)value[i] * stands_for);
}
