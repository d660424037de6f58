/* SPDX-License-Identifier: BSD-2-Clause */
/* rawprof offcpu --runq: how long threads wait for a CPU, as histograms. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rawprof/hist.h>
#include <rawprof/loader.h>

#include "base/hash.h"
#include "offcpu.h"
#include "programs/threads/runq.h"
#include "cli/views.h"
#include "sched.h"

/* A histogram as it was at the last report: what the map holds only grows. */
struct seen {
	struct runq_key key;
	uint64_t sum, slots[RUNQ_HIST_SLOTS];
};

/* ---- recording */

static int configure(struct recording *rec)
{
	struct runq *r = rec->ctx;

	rec->config.eh = rec->config.user_bytes = rec->config.fp_bytes = rec->config.kernel_bytes =
		0;
	r->config.by_cpu = r->options->by && !strcmp(r->options->by, "cpu");
	r->config.by_process = r->options->by && !strcmp(r->options->by, "process");
	r->config.classic = !rp_has(RP_HAS_TP_BTF);
	if (!r->config.classic)
		sched_find_state(&r->config);
	return 0;
}

static int attach(struct recording *rec)
{
	struct runq *r = rec->ctx;

	r->config.common = rec->config;
	return record_attach(rec, rp_runq_programs, RECORD_ALL_ROLES, &r->config);
}

static int start(struct recording *rec)
{
	return record_stacks_gate(rec->stacks, RUNQ_MAP_GATE, 1);
}

/* ---- what was counted since the last report */

static int find_hist(struct runq *r, const struct runq_key *key, const struct runq_hist *h,
		     struct report_hist **out)
{
	char number[16], comm[17] = "";
	const char *labels[2] = { number, comm };

	memcpy(comm, h->comm, sizeof(h->comm));
	snprintf(number, sizeof(number), "%u", r->config.by_cpu ? key->cpu : key->process);
	return report_hists_get(r->set, labels, out);
}

static int take_hist(void *ctx, const void *key, const void *value)
{
	const struct runq_hist *h = value;
	struct runq *r = ctx;
	struct report_hist *hist;
	struct runq_key k;
	struct seen *seen;
	int err;

	memcpy(&k, key, sizeof(k));
	seen = rp_hash_add(&r->seen, &k);
	err = seen ? find_hist(r, &k, h, &hist) : -ENOMEM;
	for (unsigned int i = 0; !err && i < RUNQ_HIST_SLOTS; i++) {
		uint64_t n = h->slots[i] - seen->slots[i];

		if (n)
			err = report_hist_add_slot(hist, i, n);
		seen->slots[i] = h->slots[i];
		r->kept += n;
	}
	if (!err && h->sum != seen->sum)
		/* The extremes are those since the beginning: of an interval they are unknown. */
		report_hist_add_sum(hist, h->sum - seen->sum,
				    seen->sum ? UINT64_MAX : ~h->not_least,
				    seen->sum ? 0 : h->greatest);
	if (seen)
		seen->sum = h->sum;
	return err;
}

int runq_take(struct recording *rec)
{
	return record_stacks_each(rec->stacks, RUNQ_MAP_HISTS, take_hist, rec->ctx);
}

static int fill(struct recording *rec)
{
	struct runq *r = rec->ctx;
	struct record_info info;
	int err = runq_take(rec);

	if (!err)
		err = rec->opt->interval ? record_info_since(rec, &r->last_ns, &info)
					 : record_info(rec, NULL, &info);
	if (err)
		return err;
	err = report_hists_set_info(r->set, &info.info);
	record_info_free(&info);
	return err;
}

/* ---- report */

static int interval(struct recording *rec)
{
	struct runq *r = rec->ctx;
	int err = fill(rec);

	return err ? err : hists_part(rec, r->set);
}

static int report(struct recording *rec)
{
	struct runq *r = rec->ctx;
	int err = fill(rec);

	return err ? err : hists_end(rec, r->kept, r->set);
}

static const struct report_value_type *types(const struct recording *rec, size_t *n)
{
	static const struct report_value_type value = { "queued", "count" };

	(void)rec;
	*n = 1;
	return &value;
}

static void describe(struct recording *rec, struct report_info *info)
{
	(void)rec;
	info->event = "sched_switch";
}

static int add_ledger(struct recording *rec, uint64_t kept, struct record_ledger *b)
{
	struct runq_stats stats;
	int err = record_stacks_stats(rec->stacks, &stats);

	(void)kept;
	if (err)
		return rp_fail(err, "reading the program's counters: %s", strerror(-err));
	b->report.events = "times on a CPU";
	record_ledger_add(b, "queued before", stats.unknown, REPORT_FILTERED);
	record_ledger_add(b, "too many processes", stats.hists_full, REPORT_LOST);
	if (stats.threads_full)
		rp_log(RP_WARN,
		       "%llu times there was no room for another thread: its waits are "
		       "among those queued before",
		       (unsigned long long)stats.threads_full);
	return 0;
}

const struct record_profiler runq_profiler = {
	.command = "offcpu --runq",
	.maps = rp_runq_maps,
	.nmaps = RUNQ_MAPS,
	.output = RECORD_HISTS,
	.configure = configure,
	.attach = attach,
	.start = start,
	.interval = interval,
	.report = report,
	.types = types,
	.describe = describe,
	.ledger = add_ledger,
};

int runq_open(struct runq *r)
{
	static const char *const by_cpu[] = { "cpu" }, *const by_process[] = { "pid", "comm" };
	const char *by = r->options->by;
	const struct report_hists_spec spec = {
		.title = "waits for a CPU",
		.metric = "runq_latency",
		.events = "waits",
		.unit = REPORT_UNIT_NS,
		.bits = RUNQ_HIST_BITS,
		.keys = by && *by == 'c' ? by_cpu : by_process,
		.nkeys = !by	      ? 0
			 : *by == 'c' ? 1
				      : 2,
	};

	r->seen = HASH_MAP(struct seen, key);
	return report_hists_new(&spec, &r->set);
}

void runq_close(struct runq *r)
{
	report_hists_free(r->set);
	rp_hash_free(&r->seen);
}

int runq_run(const struct options *opt)
{
	struct runq r = { .options = opt->own };
	const unsigned long errors = rp_log_errors();
	const int err = runq_open(&r);
	int status;

	status = err ? command_failed(opt->command, err, errors)
		     : run_profiler(&runq_profiler, opt, &r);
	runq_close(&r);
	return status;
}
