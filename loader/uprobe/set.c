/* SPDX-License-Identifier: BSD-2-Clause */
/* A program on many places of a file, by the best way that the kernel has. */
#include "loader/internal.h"

#include <rawprof/uprobe.h>
#include <stdio.h>
#include <stdlib.h>

/* One link for all places, or one for each. */
struct rp_uprobes {
	uint32_t n;
	struct rp_link *links[];
};

enum rp_uprobe_way rp_uprobe_way(pid_t pid, bool session)
{
	const bool multi =
		rp_has(RP_HAS_UPROBE_MULTI) && (pid <= 0 || rp_has(RP_HAS_UPROBE_MULTI_PID));

	if (session && multi && rp_has(RP_HAS_UPROBE_SESSION))
		return RP_UPROBE_SESSION;
	if (multi)
		return RP_UPROBE_MULTI;
	if (!rp_has(RP_HAS_UPROBE))
		return RP_UPROBE_NONE;
	return rp_has(RP_HAS_PERF_LINK) ? RP_UPROBE_PERF_LINK : RP_UPROBE_PERF;
}

uint32_t rp_uprobe_attach_type(enum rp_uprobe_way way)
{
	switch (way) {
	case RP_UPROBE_SESSION:
		return BPF_TRACE_UPROBE_SESSION;
	case RP_UPROBE_MULTI:
		return BPF_TRACE_UPROBE_MULTI;
	default:
		return 0;
	}
}

const char *rp_uprobe_way_name(enum rp_uprobe_way way)
{
	static const char *const names[] = {
		[RP_UPROBE_NONE] = "no uprobes",
		[RP_UPROBE_PERF] = "perf uprobes without cookies",
		[RP_UPROBE_PERF_LINK] = "perf uprobes",
		[RP_UPROBE_MULTI] = "uprobe_multi link",
		[RP_UPROBE_SESSION] = "uprobe session link",
	};

	return names[way];
}

static bool has_cookies(const struct rp_uprobe_set *set)
{
	bool any = false;

	for (uint32_t i = 0; set->cookies && i < set->n; i++)
		any |= set->cookies[i] != 0;
	return any;
}

static int check(const struct rp_uprobe_set *set, const char *path)
{
	if (!set->n || !set->offsets || (set->nprogs != 1 && set->nprogs != set->n))
		return rp_fail(-EINVAL, "uprobes on %s: no places, or not a program for each",
			       path);
	if (set->way == RP_UPROBE_NONE)
		return rp_fail(-EOPNOTSUPP,
			       "uprobes on %s: this kernel has none, or does not let us "
			       "(see rawprof doctor)",
			       path);
	if (set->way == RP_UPROBE_PERF && set->nprogs == 1 && has_cookies(set))
		return rp_fail(
			-EOPNOTSUPP,
			"uprobes on %s: before Linux 5.15 probes have no cookies, so each needs a "
			"program of its own",
			path);
	if (set->way >= RP_UPROBE_MULTI && set->nprogs != 1)
		return rp_fail(-EINVAL, "uprobes on %s: a %s takes one program", path,
			       rp_uprobe_way_name(set->way));
	for (uint32_t i = 0; i < set->nprogs; i++) {
		if (set->prog_fds[i] < 0)
			return set->prog_fds[i];
	}
	return 0;
}

static int attach_one(const struct rp_uprobe_set *set, const char *path, uint32_t i,
		      struct rp_link **out)
{
	const struct rp_uprobe probe = {
		.path = path,
		.offset = set->offsets[i],
		.pid = set->pid,
		.at_return = set->at_return,
		/* 0 is what a probe without a cookie answers, and costs no second descriptor */
		.cookie = set->way == RP_UPROBE_PERF_LINK && set->cookies ? set->cookies[i] : 0,
		.ref_ctr_offset = set->semaphores ? set->semaphores[i] : 0,
	};

	return rp_attach_uprobe(set->prog_fds[set->nprogs == 1 ? 0 : i], &probe, out);
}

static int attach_all(const struct rp_uprobe_set *set, const char *path, struct rp_link **out)
{
	const struct rp_uprobe_multi probe = {
		.path = path,
		.offsets = set->offsets,
		.cookies = set->cookies,
		.ref_ctr_offsets = set->semaphores,
		.n = set->n,
		.pid = set->pid,
		.at_return = set->at_return,
		.session = set->way == RP_UPROBE_SESSION,
	};

	return rp_attach_uprobe_multi(set->prog_fds[0], &probe, out);
}

int rp_attach_uprobes(const struct rp_uprobe_set *set, struct rp_uprobes **out)
{
	const bool multi = set->way >= RP_UPROBE_MULTI;
	const uint32_t n = multi ? 1 : set->n;
	const char *path = set->path;
	struct rp_uprobes *probes;
	char by_fd[32];
	int err;

	if (!path) {
		snprintf(by_fd, sizeof(by_fd), "/proc/self/fd/%d", set->fd);
		path = by_fd;
	}
	err = check(set, path);
	if (err)
		return err;
	probes = calloc(1, sizeof(*probes) + n * sizeof(probes->links[0]));
	if (!probes)
		return -ENOMEM;
	for (probes->n = 0; !err && probes->n < n;) {
		err = multi ? attach_all(set, path, &probes->links[0])
			    : attach_one(set, path, probes->n, &probes->links[probes->n]);
		if (!err)
			probes->n++;
	}
	if (err) {
		rp_uprobes_close(probes);
		return err;
	}
	rp_log(RP_INFO, "%u probes at %s of %s: %s", set->n,
	       set->way == RP_UPROBE_SESSION ? "entry and return"
	       : set->at_return		     ? "return"
					     : "entry",
	       path, rp_uprobe_way_name(set->way));
	*out = probes;
	return 0;
}

void rp_uprobes_close(struct rp_uprobes *probes)
{
	if (!probes)
		return;
	for (uint32_t i = 0; i < probes->n; i++)
		rp_link_close(probes->links[i]);
	free(probes);
}
