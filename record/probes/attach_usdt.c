/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs on USDT probes: all places of one, with the semaphores that it has. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "list.h"
#include "record/recording.h"

/* The places as rp_attach_uprobes() takes them. */
struct arrays {
	uint64_t *offsets, *semaphores, *cookies;
};

static void arrays_free(struct arrays *a)
{
	free(a->offsets);
	free(a->semaphores);
	free(a->cookies);
}

static int arrays_make(const struct record_usdt *usdt, uint32_t id, struct arrays *out)
{
	struct arrays a = { calloc(usdt->nplaces + 1, 8), calloc(usdt->nplaces + 1, 8),
			    calloc(usdt->nplaces + 1, 8) };

	if (!a.offsets || !a.semaphores || !a.cookies) {
		arrays_free(&a);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < usdt->nplaces; i++) {
		a.offsets[i] = usdt->places[i].offset;
		a.semaphores[i] = usdt->places[i].semaphore;
		a.cookies[i] = (uint64_t)usdt->places[i].args << 32 | id;
	}
	*out = a;
	return 0;
}

enum rp_uprobe_way record_usdt_way(const struct record_probes *list)
{
	return rp_uprobe_way(list->scope.npids ? 1 : -1, false);
}

static int attach_for(const struct rp_uprobe_set *set, pid_t pid, struct record_usdt_links *links)
{
	struct rp_uprobe_set one = *set;
	struct rp_uprobes *link;
	int err;

	one.pid = pid;
	err = rp_attach_uprobes(&one, &link);
	if (err)
		return err;
	err = RP_PUSH(links->link, links->n, links->capacity, link);
	if (err)
		rp_uprobes_close(link);
	return err;
}

static int attach_places(const struct record_probe_scope *scope, const struct record_usdt *usdt,
			 uint32_t id, enum rp_uprobe_way way, const int *progs, uint32_t nprogs,
			 struct record_usdt_links *links)
{
	struct arrays a;
	int err = arrays_make(usdt, id, &a);

	if (err)
		return err;
	const struct rp_uprobe_set set = { .way = way,
					   .fd = usdt->fd,
					   .offsets = a.offsets,
					   .cookies = way == RP_UPROBE_PERF ? NULL : a.cookies,
					   .semaphores = a.semaphores,
					   .n = usdt->nplaces,
					   .prog_fds = progs,
					   .nprogs = nprogs };

	if (!scope->npids)
		err = attach_for(&set, -1, links);
	for (size_t i = 0; !err && i < scope->npids; i++) {
		err = attach_for(&set, (pid_t)scope->pids[i], links);
		err = err == -ESRCH ? 0 : err; /* it has ended meanwhile */
	}
	arrays_free(&a);
	return err;
}

int record_usdt_attach(const struct record_probes *list, const struct record_probe *p,
		       enum rp_uprobe_way way, const int *progs, uint32_t nprogs,
		       struct record_usdt_links *links)
{
	return attach_places(&list->scope, p->usdt, p->id, way, progs, nprogs, links);
}

void record_usdt_detach(struct record_usdt_links *links)
{
	for (size_t i = 0; i < links->n; i++)
		rp_uprobes_close(links->link[i]);
	free(links->link);
	*links = (struct record_usdt_links){ 0 };
}

/* ---- the same program for all of a list */

static int keep(struct record_probes *list, enum probe_point point, struct record_usdt_links *links)
{
	int err = 0;

	for (size_t i = 0; i < links->n; i++) {
		const struct probe_link link = { .point = point, .uprobes = links->link[i] };
		const int kept = record_probes_keep_link(list, &link);

		err = err ? err : kept;
	}
	free(links->link);
	return err;
}

static int attach_at(struct record_probes *list, struct record_probe *p, enum probe_point point,
		     const struct record_usdt *usdt, enum rp_uprobe_way way)
{
	const bool by_cookie = way != RP_UPROBE_PERF;
	const struct record_probe_use use = { .point = point,
					      .context = PROBE_ON_REGS,
					      .kind = p->kind,
					      .config = { .by_cookie = by_cookie,
							  .id = by_cookie ? 0 : p->id } };
	const int fd = record_probes_program(list, &use, rp_uprobe_attach_type(way), NULL);
	struct record_usdt_links links = { 0 };
	int err;

	if (fd <= 0)
		return fd;
	err = attach_places(&list->scope, usdt, p->id, way, &fd, 1, &links);
	if (err) {
		record_usdt_detach(&links);
		return err;
	}
	p->how = rp_uprobe_way_name(way);
	return keep(list, point, &links);
}

int record_probes_attach_usdt(struct record_probes *list, uint32_t from)
{
	const enum rp_uprobe_way way = record_usdt_way(list);
	int err = 0;

	for (uint32_t i = from; !err && i < list->count; i++) {
		struct record_probe *p = list->items[i];

		if (!p->usdt || p->why_not)
			continue;
		if (way == RP_UPROBE_NONE)
			return rp_fail(-EOPNOTSUPP,
				       "USDT probes need uprobes, which this kernel has not, or "
				       "does not permit: see rawprof doctor");
		if (p->usdt_end)
			err = attach_at(list, p, PROBE_RETURN, p->usdt_end, way);
		if (!err)
			err = attach_at(list, p, PROBE_ENTRY, p->usdt, way);
	}
	return err;
}
