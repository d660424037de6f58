/* SPDX-License-Identifier: BSD-2-Clause */
/* Histograms of how long waits for locks are. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rawprof/hist.h>

#include "lock.h"
#include "cli/views.h"

struct fill {
	struct recording *rec;
	struct report_hists *set;
	bool by_lock;
	bool part; /* what is new alone */
	const struct lock_list *list;
};

static int find_hist(struct fill *f, const struct lock_hist_key *key, struct report_hist **out)
{
	const char *labels[3] = { lock_kernel_type(key->how) };
	char process[16] = "";

	if (!f->by_lock)
		return report_hists_get(f->set, labels, out);
	/* The map has the lock's address alone; a wait for it has the name. */
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
	return report_hists_get(f->set, labels, out);
}

/* Of all CPUs, what is new since the last report. Its extremes are only known as buckets. */
static int add_new(struct fill *f, const struct lock_hist_key *key, const void *value,
		   struct report_hist *hist)
{
	const size_t stride =
		rp_map_cpu_stride(&record_stacks_maps(f->rec->stacks)[LOCK_MAP_HISTS]);
	struct lock *l = f->rec->ctx;
	struct lock_hist_seen *seen = rp_hash_add(&l->hists_seen, key), now = { 0 };
	int err = seen ? 0 : -ENOMEM;

	for (int cpu = 0; cpu < rp_cpus_possible(); cpu++) {
		const struct asm_hist *h =
			(const void *)((const char *)value + (size_t)cpu * stride);

		now.sum += h->sum;
		for (unsigned int i = 0; i < LOCK_HIST_SLOTS; i++)
			now.slots[i] += h->slots[i];
	}
	for (unsigned int i = 0; !err && i < LOCK_HIST_SLOTS; i++)
		if (now.slots[i] != seen->slots[i])
			err = report_hist_add_slot(hist, i, now.slots[i] - seen->slots[i]);
	if (err)
		return err;
	if (now.sum != seen->sum)
		report_hist_add_sum(hist, now.sum - seen->sum, UINT64_MAX, 0);
	seen->sum = now.sum;
	memcpy(seen->slots, now.slots, sizeof(now.slots));
	return 0;
}

static int take_hist(void *ctx, const void *key, const void *value)
{
	struct fill *f = ctx;
	struct lock_hist_key k;
	struct report_hist *hist;
	int err;

	memcpy(&k, key, sizeof(k));
	err = find_hist(f, &k, &hist);
	if (!err && f->part)
		return add_new(f, &k, value, hist);
	return err ? err
		   : hist_merge(hist, &record_stacks_maps(f->rec->stacks)[LOCK_MAP_HISTS], value,
				LOCK_HIST_SLOTS);
}

/* Waits that go on are in no histogram: their length is not known yet. */
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
	int err = record_stacks_each(f->rec->stacks, LOCK_MAP_HISTS, take_hist, f);

	if (!err && !f->part)
		leave_out_waiting(f->list);
	return err;
}

/* What is in it, and out. */
static int write_part(struct recording *rec, struct report_hists *set)
{
	struct lock *l = rec->ctx;
	struct record_info info;
	int err = record_info_since(rec, &l->earlier_ns, &info);

	if (err)
		return err;
	err = report_hists_set_info(set, &info.info);
	record_info_free(&info);
	return err ? err : hists_part(rec, set);
}

static int report(struct recording *rec, bool part)
{
	static const char *const keys[] = { "type", "lock", "pid" };
	const struct lock *l = rec->ctx;
	struct lock_list list = { 0 };
	struct fill f = { .rec = rec, .by_lock = l->config.hist_lock, .part = part, .list = &list };
	const struct report_hists_spec spec = { .title = "waits for locks",
						.metric = "lock_wait",
						.events = "waits",
						.unit = REPORT_UNIT_NS,
						.bits = LOCK_HIST_BITS,
						.keys = keys,
						.nkeys = f.by_lock ? 3 : 1 };
	int err = report_hists_new(&spec, &f.set);

	if (!err)
		err = lock_waits(rec, false, &list);
	if (!err)
		err = fill_hists(&f);
	if (!err)
		err = part ? write_part(rec, f.set) : hists_report(rec, f.set);
	report_hists_free(f.set);
	lock_list_free(&list);
	return err;
}

int lock_report_hists(struct recording *rec)
{
	return report(rec, false);
}

int lock_report_hists_interval(struct recording *rec)
{
	int err = record_prepare_kernel(rec);

	return err ? err : report(rec, true);
}
