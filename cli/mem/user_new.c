/* SPDX-License-Identifier: BSD-2-Clause */
/* When may operator new have a probe at its return? An exception that meets it ends the program. */
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>

#include "base/file.h"
#include "user.h"

static bool overcommit_is_strict(void)
{
	char text[8];

	return rp_read_small_file("/proc/sys/vm/overcommit_memory", text, sizeof(text)) > 0 &&
	       text[0] == '2';
}

static bool has_limit(pid_t pid, int resource)
{
	struct rlimit limit;

	return prlimit(pid, resource, NULL, &limit) || limit.rlim_cur != RLIM_INFINITY;
}

/* The most that a call may ask for and is sure to get; 0: nothing is. */
static uint64_t largest_new(const struct recording *rec)
{
	const struct record_ids *pids = &rec->opt->pids;
	const bool all = rec->opt->program;
	struct sysinfo info;

	if (!rec->config.identity || overcommit_is_strict() || sysinfo(&info))
		return 0;
	for (uint32_t i = 0; i < (all ? 1 : pids->n); i++) {
		const pid_t pid = all ? 0 : (pid_t)pids->id[i];

		if (has_limit(pid, RLIMIT_AS) || has_limit(pid, RLIMIT_DATA))
			return 0;
	}
	return (uint64_t)info.totalram * info.mem_unit / 2;
}

/* An allocator may want some at once. */
#define SPARE_MAPPINGS 64
#define USUAL_MAPPINGS 65530
static uint32_t most_mappings(void)
{
	char text[32];
	long most = USUAL_MAPPINGS;

	if (rp_read_small_file("/proc/sys/vm/max_map_count", text, sizeof(text)) > 0)
		most = strtol(text, NULL, 10);
	return most < SPARE_MAPPINGS ? 0
	       : most > INT32_MAX    ? INT32_MAX
				     : (uint32_t)most - SPARE_MAPPINGS;
}

void mem_new_limits(const struct recording *rec, struct mem_user_config *config)
{
	config->largest_new = largest_new(rec);
	config->most_mappings = most_mappings();
}
