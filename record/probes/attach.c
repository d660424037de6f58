/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs for what is in the list: loaded for their places, put there, taken away. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "list.h"
#include "record/recording.h"

/* ---- programs */

static bool is_same(const struct probe_program *a, const struct probe_program *b)
{
	return a->use.point == b->use.point && a->use.context == b->use.context &&
	       a->use.kind == b->use.kind && a->attach_type == b->attach_type &&
	       !memcmp(&a->use.config, &b->use.config, sizeof(a->use.config));
}

static int load(struct record_probes *list, const struct rp_program *program,
		const struct record_probe_use *use, uint32_t attach_type, const char *target)
{
	struct asm_program code = program->code;
	void *config = malloc(list->programs.config_size);
	int fd;

	if (!config)
		return -ENOMEM;
	memcpy(config, list->programs.config, list->programs.config_size);
	list->programs.configure(list->programs.ctx, use, config);
	if (attach_type)
		code.attach_type = attach_type;
	if (target)
		code.target = target;
	fd = record_load_as(list->rec, program, &code, config);
	free(config);
	return fd;
}

/* A program with a target, or for one probe, is loaded for that alone. */
int record_probes_program(struct record_probes *list, const struct record_probe_use *use,
			  uint32_t attach_type, const char *target)
{
	const struct rp_program *program = list->programs.at[use->point][use->context];
	struct probe_program p = { .use = *use, .attach_type = attach_type };

	if (!program)
		return 0;
	p.use.probe = NULL;
	for (uint32_t i = 0; !target && i < list->nloaded; i++)
		if (is_same(&list->loaded[i], &p))
			return list->loaded[i].fd;
	p.fd = load(list, program, use, attach_type, target);
	if (p.fd >= 0 && !target && RP_PUSH(list->loaded, list->nloaded, list->loaded_capacity, p))
		return -ENOMEM; /* the recording closes it */
	return p.fd;
}

/* ---- links */

static void close_link(struct probe_link *link)
{
	rp_uprobes_close(link->uprobes);
	rp_link_close(link->link);
	link->uprobes = NULL;
	link->link = NULL;
}

int record_probes_keep_link(struct record_probes *list, const struct probe_link *link)
{
	struct probe_link copy = *link;
	int err = RP_PUSH(list->links, list->nlinks, list->links_capacity, copy);

	if (err)
		close_link(&copy);
	return err;
}

void record_probes_detach(struct record_probes *list)
{
	for (int point = 0; list && point < PROBE_POINTS; point++)
		for (uint32_t i = list->nlinks; i-- > 0;)
			if (list->links[i].point == (enum probe_point)point)
				close_link(&list->links[i]);
	if (list)
		list->nlinks = 0;
}

/* ---- all */

int record_probes_attach_new(struct record_probes *list)
{
	const uint32_t from = list->attached;
	int err = from < list->count ? record_probes_attach_kernel(list, from) : 0;

	if (!err)
		err = record_probes_attach_events(list, from);
	if (!err)
		err = record_probes_attach_user(list, from);
	if (!err && from < list->count)
		err = record_probes_attach_usdt(list, from);
	list->attached = list->count;
	return err;
}

/* The process that waits to execute the program: probes on it stay while it does. */
static void confine(struct record_probes *list, const struct recording *rec)
{
	if (!list->scope.alone || list->scope.npids || rec->target.child <= 0)
		return;
	((uint32_t *)list->scope.pids)[0] = (uint32_t)rec->target.child;
	list->scope.npids = 1;
}

int record_probes_attach(struct record_probes *list, struct recording *rec,
			 const struct record_probe_programs *programs)
{
	list->rec = rec;
	list->programs = *programs;
	confine(list, rec);
	return record_probes_attach_new(list);
}

int record_probes_process(struct record_probes *list, uint32_t pid)
{
	int err = record_probes_find_process(list, pid);

	return err || !list->rec ? err : record_probes_attach_new(list);
}

int record_probes_mapped(struct record_probes *list, const struct rp_side_event *e)
{
	const uint32_t key = e->pid;
	uint64_t born;

	if (!list->rec || !e->mmap.ino ||
	    rp_map_lookup(record_stacks_map(list->rec->stacks, STACK_MAP_PIDS), &key, &born))
		return 0; /* not asked for, or gone */
	return record_probes_process(list, e->pid);
}
