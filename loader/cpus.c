/* SPDX-License-Identifier: BSD-2-Clause */
/* cpus.c: which CPUs there are. Their numbers may have holes, and need not start with 0. */
#include "internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_CPU = 65535 };

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static int add_range(struct rp_cpus *cpus, long first, long last)
{
	int *more =
		realloc(cpus->cpu, ((size_t)cpus->n + (size_t)(last - first) + 1) * sizeof(int));

	if (!more)
		return -ENOMEM;
	cpus->cpu = more;
	for (long cpu = first; cpu <= last; cpu++)
		cpus->cpu[cpus->n++] = (int)cpu;
	return 0;
}

static int parse_number(const char **at, long *out)
{
	char *end;

	if (!isdigit((unsigned char)**at))
		return -EINVAL;
	*out = strtol(*at, &end, 10);
	if (*out > MAX_CPU)
		return -EINVAL;
	*at = end;
	return 0;
}

static int parse_range(const char **at, struct rp_cpus *cpus)
{
	long first, last;

	if (parse_number(at, &first))
		return -EINVAL;
	last = first;
	if (**at == '-') {
		(*at)++;
		if (parse_number(at, &last) || last < first)
			return -EINVAL;
	}
	/* Repeated ranges may not add up to more memory than there can be CPUs. */
	if (cpus->n + (last - first) > 2 * MAX_CPU)
		return -EINVAL;
	return add_range(cpus, first, last);
}

static void sort_unique(struct rp_cpus *cpus)
{
	int n = 0;

	qsort(cpus->cpu, (size_t)cpus->n, sizeof(int), compare);
	for (int i = 0; i < cpus->n; i++)
		if (!n || cpus->cpu[i] != cpus->cpu[n - 1])
			cpus->cpu[n++] = cpus->cpu[i];
	cpus->n = n;
}

int rp_cpus_parse(const char *text, struct rp_cpus *out)
{
	struct rp_cpus cpus = { 0 };
	int err;

	do
		err = parse_range(&text, &cpus);
	while (!err && *text == ',' && text++);
	if (!err && *text == '\n')
		text++;
	if (!err && *text)
		err = -EINVAL;
	if (err) {
		rp_cpus_free(&cpus);
		return err;
	}
	sort_unique(&cpus);
	*out = cpus;
	return 0;
}

/* Without sysfs (an early initramfs): as many as libc counts, from 0 on. */
static int count_online(struct rp_cpus *out)
{
	struct rp_cpus cpus = { 0 };
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	int err = add_range(&cpus, 0, n > 0 ? n - 1 : 0);

	if (!err)
		*out = cpus;
	return err;
}

int rp_cpus_online(struct rp_cpus *out)
{
	char *text;
	int err;

	err = rp_read_file("/sys/devices/system/cpu/online", &text);
	if (err == -ENOENT)
		return count_online(out);
	if (err)
		return rp_fail(err, "cannot read /sys/devices/system/cpu/online: %s",
			       strerror(-err));
	err = rp_cpus_parse(text, out);
	if (err)
		rp_log(RP_ERROR,
		       "/sys/devices/system/cpu/online says `%s', which is no list of CPUs", text);
	free(text);
	return err;
}

bool rp_cpus_has(const struct rp_cpus *cpus, int cpu)
{
	return cpus->n && bsearch(&cpu, cpus->cpu, (size_t)cpus->n, sizeof(int), compare);
}

void rp_cpus_free(struct rp_cpus *cpus)
{
	free(cpus->cpu);
	*cpus = (struct rp_cpus){ 0 };
}

static int read_possible(void)
{
	struct rp_cpus cpus;
	char *text;
	long n;

	/* The kernel's per-CPU values have a slot for each number up to the last possible one's
	 * count; it prints the mask of those, which has no holes on any known machine, and counts
	 * its bits (num_possible_cpus). */
	if (!rp_read_file("/sys/devices/system/cpu/possible", &text)) {
		n = rp_cpus_parse(text, &cpus) ? 0 : cpus.n;
		if (n)
			rp_cpus_free(&cpus);
		free(text);
		if (n)
			return (int)n;
	}
	n = sysconf(_SC_NPROCESSORS_CONF);
	return n > 0 ? (int)n : 1;
}

int rp_cpus_possible(void)
{
	static int possible;

	if (!possible)
		possible = read_possible();
	return possible;
}

int rp_first_online_cpu(void)
{
	struct rp_cpus cpus;
	int cpu;

	if (rp_cpus_online(&cpus) < 0)
		return 0;
	cpu = cpus.n ? cpus.cpu[0] : 0;
	rp_cpus_free(&cpus);
	return cpu;
}
