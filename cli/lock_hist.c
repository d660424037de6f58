/* SPDX-License-Identifier: BSD-2-Clause */
/* Histograms of how long waits for locks are. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rawprof/hist.h>

#include "lock.h"
#include "machine.h"
#include "profile_views.h"

struct fill {
	struct profile *p;
	struct report_hists *set;
	bool by_lock;
	const struct lock_list *list;
};

static int find_hist(struct fill *f, const struct lock_hist_key *key, struct report_hist **out)
{
	const char *labels[3] = { lock_kernel_type(key->how) };
	char process[16] = "";
	int err;

	if (!f->by_lock)
		return report_hists_get(f->set, labels, out);
	/* The map knows the lock alone; whoever has waited for it knows what it is called. */
	for (size_t i = 0; i < f->list->n; i++) {
		const struct lock_item *item = &f->list->item[i];
		const struct stack_record *r = item->waiter->record;

		if (r->tag != key->lock || (key->process && r->pid_tgid >> 32 != key->process))
			continue;
		labels[0] = item->word[LOCK_WORD_TYPE];
		labels[1] = item->word[LOCK_WORD_LOCK];
		break;
	}
	if (key->process)
		snprintf(process, sizeof(process), "%u", key->process);
	labels[2] = process;
	err = report_hists_get(f->set, labels, out);
	return err;
}

static int take_hist(void *ctx, const void *key, const void *value)
{
	struct fill *f = ctx;
	struct lock_hist_key k;
	struct report_hist *hist;
	int err;

	memcpy(&k, key, sizeof(k));
	err = find_hist(f, &k, &hist);
	return err ? err
		   : profile_hist_merge(hist, &stacks_maps(f->p->stacks)[LOCK_MAP_HISTS], value,
					LOCK_HIST_SLOTS);
}

/* Waits that go on are in no histogram: nobody knows how long they will be. */
static void leave_out_waiting(const struct lock_list *list)
{
	uint64_t waiting = 0;

	for (size_t i = 0; i < list->n; i++)
		if (list->item[i].outcome == LOCK_WAITING)
			waiting += list->item[i].count;
	if (waiting)
		rp_log(RP_INFO, "%llu waits that went on at the end are in no histogram",
		       (unsigned long long)waiting);
}

static int fill_hists(struct fill *f)
{
	struct profile *p = f->p;
	int n = rp_map_each(stacks_map(p->stacks, LOCK_MAP_HISTS),
			    &stacks_maps(p->stacks)[LOCK_MAP_HISTS], take_hist, f);

	if (n >= 0)
		leave_out_waiting(f->list);
	return n < 0 ? n : 0;
}

int lock_report_hists(struct profile *p)
{
	static const char *const keys[] = { "type", "lock", "pid" };
	const struct lock *l = p->ctx;
	struct lock_list list = { 0 };
	struct fill f = { .p = p, .by_lock = l->config.hist_lock, .list = &list };
	const struct report_hists_spec spec = { .title = "waits for locks",
						.metric = "lock_wait",
						.events = "waits",
						.unit = REPORT_UNIT_NS,
						.bits = LOCK_HIST_BITS,
						.keys = keys,
						.nkeys = f.by_lock ? 3 : 1 };
	int err = report_hists_new(&spec, &f.set);

	if (!err)
		err = lock_waits(p, false, &list);
	if (!err)
		err = fill_hists(&f);
	if (!err)
		err = profile_hists_report(p, f.set);
	report_hists_free(f.set);
	lock_list_free(&list);
	return err;
}
