/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Probes on functions of the kernel, by one of three ways. fentry is the cheapest, but needs a
 * program for each function; where there are many of them, kprobe_multi takes all at once. What
 * neither takes has a perf event of its own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/machine.h"
#include "list.h"
#include "record/recording.h"

/* Most functions by a program for each: with kprobe_multi, which then takes all, and without. */
enum { FENTRY_FEW = 8, FENTRY_MOST = 64, FENTRY_ARGS = 6 };

static const char *const names[RECORD_PROBE_WAYS] = {
	[RECORD_PROBE_FENTRY] = "fentry",
	[RECORD_PROBE_KPROBE_MULTI] = "kprobe-multi",
	[RECORD_PROBE_KPROBE] = "kprobe",
};

const char *record_probe_way_name(enum record_probe_way way)
{
	return names[way];
}

int record_probe_way_parse(const char *name, enum record_probe_way *out)
{
	for (int way = RECORD_PROBE_BEST + 1; way < RECORD_PROBE_WAYS; way++)
		if (!strcmp(name, names[way])) {
			*out = (enum record_probe_way)way;
			return 0;
		}
	return rp_fail(-EINVAL, "'%s': a way to probe is one of fentry, kprobe-multi, kprobe",
		       name);
}

static bool has_way(enum record_probe_way way)
{
	switch (way) {
	case RECORD_PROBE_FENTRY:
		return rp_has(RP_HAS_FENTRY);
	case RECORD_PROBE_KPROBE_MULTI:
		return rp_has(RP_HAS_KPROBE_MULTI);
	default:
		return rp_has(RP_HAS_KPROBE);
	}
}

bool record_probes_can_kernel(const struct record_probe_scope *scope, const char **why)
{
	if (scope->way) {
		*why = "not by the way that was asked for, which this kernel has not, or does not "
		       "permit (see rawprof doctor)";
		return has_way(scope->way);
	}
	*why = "this kernel has, or permits, neither fentry nor kprobes (see rawprof doctor)";
	return has_way(RECORD_PROBE_FENTRY) || has_way(RECORD_PROBE_KPROBE_MULTI) ||
	       has_way(RECORD_PROBE_KPROBE);
}

/* ---- which way */

static bool has_programs(const struct record_probes *list, enum probe_context context)
{
	return list->programs.at[PROBE_ENTRY][context] || list->programs.at[PROBE_RETURN][context];
}

/* fentry goes by the name in the kernel's own BTF. The verifier refuses the last ones. */
static bool suits_fentry(const struct record_probe *p)
{
	static const char *const refused[] = { "migrate_disable",	 "migrate_enable",
					       "__rcu_read_lock",	 "__rcu_read_unlock",
					       "preempt_count_add",	 "preempt_count_sub",
					       "rcu_read_unlock_strict", "do_exit",
					       "do_group_exit" };

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (!strcmp(p->symbol, refused[i]))
			return false;
	return p->kernel.alone && !p->module && p->kernel.btf && p->kernel.nargs >= 0 &&
	       p->kernel.nargs <= FENTRY_ARGS;
}

static enum record_probe_way way_for(const struct record_probes *list, const struct record_probe *p,
				     size_t n)
{
	const bool multi = has_way(RECORD_PROBE_KPROBE_MULTI) && has_programs(list, PROBE_ON_REGS);
	const enum record_probe_way forced = list->scope.way;

	if ((forced == RECORD_PROBE_FENTRY ||
	     (!forced && n <= (multi ? FENTRY_FEW : FENTRY_MOST))) &&
	    suits_fentry(p) && has_programs(list, PROBE_ON_ARGS) && has_way(RECORD_PROBE_FENTRY))
		return RECORD_PROBE_FENTRY;
	if (forced == RECORD_PROBE_FENTRY)
		return RECORD_PROBE_BEST; /* not at all */
	return multi && forced != RECORD_PROBE_KPROBE ? RECORD_PROBE_KPROBE_MULTI
						      : RECORD_PROBE_KPROBE;
}

/* ---- attaching */

struct attaching {
	struct record_probes *list;
	struct record_probe **items; /* those of one way */
	size_t n;
};

static struct record_probe_use use_of(const struct record_probes *list, enum probe_point point,
				      const struct record_probe *p)
{
	const bool cookies = rp_has(RP_HAS_PERF_LINK);

	(void)list;
	return (struct record_probe_use){
		.point = point,
		.context = PROBE_ON_REGS,
		.kind = RECORD_PROBE_KERNEL,
		.probe = cookies ? NULL : p,
		.config = { .by_cookie = cookies,
			    .id = cookies ? 0 : p->id,
			    .sp_above = point == PROBE_RETURN ? RETURN_SLOT : 0 }
	};
}

static int attach_fentry(struct record_probes *list, struct record_probe *p, enum probe_point point)
{
	const struct record_probe_use use = { .point = point,
					      .context = PROBE_ON_ARGS,
					      .kind = RECORD_PROBE_KERNEL,
					      .probe = p,
					      .config = { .id = p->id,
							  .nargs = (uint32_t)p->kernel.nargs } };
	struct probe_link link = { .point = point };
	const int fd = record_probes_program(list, &use, 0, p->kernel.btf);
	int err = fd <= 0 ? fd : rp_attach_trace(fd, &link.link);

	return err || !fd ? err : record_probes_keep_link(list, &link);
}

static int attach_kprobe(struct record_probes *list, struct record_probe *p, enum probe_point point)
{
	const struct record_probe_use use = use_of(list, point, p);
	/* By name where that is clear: an address is refused by some kernels (lockdown). */
	const struct rp_kprobe probe = { .symbol = p->kernel.alone ? p->symbol : NULL,
					 .offset = p->kernel.alone ? 0 : p->kernel.addr,
					 .at_return = point == PROBE_RETURN,
					 .quiet = true,
					 .cookie = use.config.by_cookie ? p->id : 0 };
	struct probe_link link = { .point = point };
	const int fd = record_probes_program(list, &use, 0, NULL);
	int err = fd <= 0 ? fd : rp_attach_kprobe(fd, &probe, &link.link);

	return err || !fd ? err : record_probes_keep_link(list, &link);
}

static void refuse(struct record_probes *list, struct record_probe *p, int err)
{
	const char *why = record_probes_textf(list, "refused by the kernel: %s", strerror(-err));

	p->how = NULL;
	p->why_not = why ? why : "refused by the kernel";
}

/* Is this about the one function, and not about the kernel, or memory? */
static bool is_of_function(int err)
{
	return err == -ENOENT || err == -ESRCH || err == -EINVAL || err == -EILSEQ ||
	       err == -EADDRNOTAVAIL || err == -EBUSY || err == -EOPNOTSUPP || err == -ERANGE;
}

static int attach_each(struct attaching *a, enum probe_point point, const char *how,
		       int (*attach)(struct record_probes *, struct record_probe *,
				     enum probe_point))
{
	int err = 0;

	for (size_t i = 0; !err && i < a->n; i++) {
		if (a->items[i]->why_not)
			continue;
		err = attach(a->list, a->items[i], point);
		if (err && is_of_function(err)) {
			refuse(a->list, a->items[i], err);
			err = 0;
		} else {
			a->items[i]->how = how;
		}
	}
	return err;
}

/* All of them, or if the kernel takes one of them not, each half. */
static int attach_multi_part(struct record_probes *list, int fd, enum probe_point point,
			     struct record_probe **items, const uint64_t *addrs,
			     const uint64_t *cookies, size_t n)
{
	const struct rp_kprobe_multi probe = { .addrs = addrs,
					       .cookies = cookies,
					       .n = (uint32_t)n,
					       .at_return = point == PROBE_RETURN,
					       .quiet = true };
	struct probe_link link = { .point = point };
	int err = rp_attach_kprobe_multi(fd, &probe, &link.link);

	if (!err)
		return record_probes_keep_link(list, &link);
	if (!is_of_function(err))
		return rp_fail(err, "kprobe_multi on %zu functions: %s", n, strerror(-err));
	if (n == 1) {
		refuse(list, items[0], err);
		return 0;
	}
	err = attach_multi_part(list, fd, point, items, addrs, cookies, n / 2);
	return err ? err
		   : attach_multi_part(list, fd, point, items + n / 2, addrs + n / 2,
				       cookies + n / 2, n - n / 2);
}

static int attach_multi(struct attaching *a, enum probe_point point)
{
	struct record_probe_use use = use_of(a->list, point, a->items[0]);
	uint64_t *addrs = calloc(2 * a->n, sizeof(*addrs)), *cookies;
	size_t n = 0;
	int fd, err;

	if (!addrs)
		return -ENOMEM;
	cookies = addrs + a->n;
	use.probe = NULL;
	use.config.by_cookie = 1;
	use.config.id = 0;
	fd = record_probes_program(a->list, &use, BPF_TRACE_KPROBE_MULTI, NULL);
	err = fd < 0 ? fd : 0;
	for (size_t i = 0; fd > 0 && i < a->n; i++) {
		if (a->items[i]->why_not)
			continue;
		a->items[n] = a->items[i];
		a->items[n]->how = "kprobe_multi";
		addrs[n] = a->items[n]->kernel.addr;
		cookies[n] = a->items[n]->id;
		n++;
	}
	if (n && !err)
		err = attach_multi_part(a->list, fd, point, a->items, addrs, cookies, n);
	free(addrs);
	return err;
}

static int attach_way(struct attaching *a, enum record_probe_way way, enum probe_point point)
{
	switch (way) {
	case RECORD_PROBE_FENTRY:
		return attach_each(a, point, "fentry", attach_fentry);
	case RECORD_PROBE_KPROBE_MULTI:
		return attach_multi(a, point);
	default:
		return attach_each(a, point, "kprobe", attach_kprobe);
	}
}

static size_t collect(struct attaching *a, uint32_t from, enum record_probe_way way)
{
	struct record_probes *list = a->list;
	size_t all = 0;

	for (uint32_t i = from; i < list->count; i++)
		all += list->items[i]->kind == RECORD_PROBE_KERNEL && !list->items[i]->why_not;
	a->n = 0;
	for (uint32_t i = from; i < list->count; i++) {
		struct record_probe *p = list->items[i];

		if (p->kind == RECORD_PROBE_KERNEL && !p->why_not && way_for(list, p, all) == way)
			a->items[a->n++] = p;
	}
	return a->n;
}

int record_probes_attach_kernel(struct record_probes *list, uint32_t from)
{
	struct attaching a = { .list = list, .items = calloc(list->count + 1, sizeof(*a.items)) };
	int err = a.items ? 0 : -ENOMEM;

	/* Each way whole: what one of them refuses does not count for the others. */
	for (int way = RECORD_PROBE_WAYS - 1; !err && way > RECORD_PROBE_BEST; way--) {
		if (!collect(&a, from, (enum record_probe_way)way))
			continue;
		err = attach_way(&a, (enum record_probe_way)way, PROBE_RETURN);
		if (!err)
			err = attach_way(&a, (enum record_probe_way)way, PROBE_ENTRY);
	}
	if (!err && collect(&a, from, RECORD_PROBE_BEST))
		for (size_t i = 0; i < a.n; i++)
			a.items[i]->why_not = "fentry needs kernel BTF that knows it, one function "
					      "of the name, and at most 6 plain arguments";
	free(a.items);
	return err;
}
