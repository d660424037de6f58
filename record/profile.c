/* SPDX-License-Identifier: BSD-2-Clause */
/* The recording: what the programs are told, how they are attached, and the way through a run. */
#include <errno.h>
#include <fnmatch.h>
#include <linux/bpf_perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "system.h"
#include "profile.h"
#include "cli/dry_run.h"
#include "programs/shared/follow.h"

#define DEFAULT_MAX_STACK 256
#define FOLLOWED_PROCESSES 16384

/* ---- what the programs are told --------------------------------------------------------------------------- */

static uint32_t wanted_frames(const struct options *opt)
{
	return opt->max_stack ? opt->max_stack : DEFAULT_MAX_STACK;
}

/* The kernel's own walk has a limit, and room for more would only be walked by the verifier. */
static uint32_t kernel_walk_bytes(const struct options *opt)
{
	char text[32];
	unsigned long limit = 127;

	if (rp_read_small_file("/proc/sys/kernel/perf_event_max_stack", text, sizeof(text)) > 0)
		limit = strtoul(text, NULL, 10);
	if (opt->max_stack > limit)
		rp_log(RP_WARN,
		       "kernel.perf_event_max_stack allows %lu frames: stacks of the kernel end there",
		       limit);
	return 8 * (wanted_frames(opt) < limit ? wanted_frames(opt) : (uint32_t)limit);
}

/* The ring grows with the number of CPUs that fill it. */
static uint32_t ring_bytes(const struct record_profiler *profiler)
{
	uint32_t bytes = (1 << 19) * (profiler->ring_factor ? profiler->ring_factor : 1);
	int cpus = rp_cpus_possible();

	for (int covered = 2; covered < cpus && bytes < 1u << 26; covered *= 2)
		bytes *= 2;
	return bytes;
}

/* Kernels before 5.17 walk by tables too, with limits. */
static void choose_walk(const struct recording *rec, struct program_config *c)
{
	const bool regs = rp_has(RP_HAS_TASK_REGS) && rp_has(RP_HAS_KERNEL_BTF);

	if (rec->opt->kernel_only || rec->opt->call_graph == CALL_GRAPH_FP)
		return;
	c->own_regs = !regs;
	c->bounded = !rp_has(RP_HAS_BPF_LOOP);
	c->eh = regs || rec->profiler->has_regs;
	if (!c->eh)
		rp_log(RP_WARN,
		       "no unwinding by tables here, which needs Linux 5.15 with BTF: user stacks by frame pointers");
	else if (c->own_regs)
		rp_log(RP_WARN,
		       "stacks of system calls go by frame pointers: Linux 5.15 with BTF shows their registers");
	if (c->eh && c->bounded)
		rp_log(RP_INFO, "before Linux 5.17 user stacks end after %d frames",
		       UNWIND_BOUNDED_FRAMES);
}

static void choose_stacks(const struct recording *rec, struct program_config *c)
{
	const struct options *opt = rec->opt;

	choose_walk(rec, c);
	c->fp_bytes = opt->kernel_only ? 0 : kernel_walk_bytes(opt);
	c->user_bytes = c->eh ? 8 * wanted_frames(opt) : c->fp_bytes;
	c->user_frames = c->user_bytes / 8;
	c->kernel_bytes = opt->user_only ? 0 : kernel_walk_bytes(opt);
	/* riscv64's context does not tell: what says so lies behind the registers that it shows. */
	c->user_code = rec->profiler->has_regs &&
		       UNWIND_MODE_REG < offsetof(struct bpf_perf_event_data, sample_period);
}

/* The first pid namespace of all (include/linux/proc_ns.h: PROC_PID_INIT_INO). */
#define FIRST_PID_NAMESPACE 0xeffffffcu

/* Where the pids that we see are not the machine's, the program has to count as we do. */
static void look_at_namespace(const struct options *opt, struct program_config *c)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) || st.st_ino == FIRST_PID_NAMESPACE)
		return;
	c->ns_device = st.st_dev;
	c->ns_inode = st.st_ino;
	rp_log(RP_INFO, "inside a pid namespace: only its own processes are seen");
	if (opt->program)
		rp_log(RP_WARN,
		       "inside a pid namespace the children of the program are not followed");
}

static int fill_config(struct recording *rec)
{
	const struct options *opt = rec->opt;
	struct program_config *c = &rec->config;
	int err = 0;

	if (!rec->profiler->no_stacks)
		choose_stacks(rec, c);
	c->by_pid = opt->pids.n || opt->program;
	c->by_tid = opt->tids.n != 0;
	c->each = opt->samples;
	c->identity = rp_has(RP_HAS_KERNEL_BTF) && rp_has(RP_HAS_TASK_BTF);
	if (opt->cgroup)
		err = record_cgroup_find(opt->cgroup, &c->cgroup_id, &c->cgroup_level);
	if (opt->comm && asm_comm_filter(opt->comm, &c->comm))
		rec->comm_glob = opt->comm;
	look_at_namespace(opt, c);
	c->filtering = c->ns_inode || c->by_pid || c->by_tid || c->cgroup_id || c->comm.mask[0];
	if (!err && rec->profiler->configure)
		err = rec->profiler->configure(rec);
	c->both_bytes = c->user_bytes + c->kernel_bytes;
	return err;
}

static int add_targets(struct recording *rec)
{
	const struct options *opt = rec->opt;
	int err = 0;

	for (uint32_t i = 0; !err && i < opt->pids.n; i++)
		err = record_stacks_add_id(rec->stacks, STACK_MAP_PIDS, opt->pids.id[i]);
	for (uint32_t i = 0; !err && i < opt->tids.n; i++)
		err = record_stacks_add_id(rec->stacks, STACK_MAP_TIDS, opt->tids.id[i]);
	if (!err && opt->program)
		err = record_stacks_add_id(rec->stacks, STACK_MAP_PIDS,
					   (uint32_t)rec->session.target.child);
	return err;
}

/* What the walker needs beside the program: who maps which tables. */
static int open_feed(struct recording *rec)
{
	const struct unwind_feed_maps maps = {
		.procs = record_stacks_map(rec->stacks, STACK_MAP_PROCS),
		.ranges = record_stacks_map(rec->stacks, STACK_MAP_MAPPINGS),
		.index = record_stacks_map(rec->stacks, STACK_MAP_INDEX),
		.rules = record_stacks_map(rec->stacks, STACK_MAP_RULES),
		.rows = record_stacks_map(rec->stacks, STACK_MAP_ROWS)
	};
	int err = unwind_feed_open(&rec->session.feed, &maps);

	if (!err && !rec->config.ns_inode)
		err = record_attach(rec, rp_unwind_follow_programs, RECORD_ALL_ROLES, &rec->config);

	if (!err && rec->opt->program)
		unwind_feed_expect(rec->session.feed, rec->session.target.program);
	for (uint32_t i = 0; !err && i < rec->opt->pids.n; i++)
		unwind_feed_process(rec->session.feed, rec->opt->pids.id[i]);
	return err;
}

/* ---- while recording -------------------------------------------------------------------------------------- */

static int on_record(void *ctx, const struct stack_record *record)
{
	uint32_t pid = (uint32_t)(record->pid_tgid >> 32);
	struct recording *rec = ctx;

	rec->seen++;
	record_session_saw(&rec->session, pid, (uint32_t)(record->start_time + record->exec_id));
	if (record->user_end == UNWIND_NO_MAPPING || record->user_end == STACK_NO_TABLE) {
		record_session_lost_way(&rec->session, pid);
		rec->lost_way = true;
	}
	return rec->opt->samples ? record_samples_keep(rec, record) : 0;
}

static int start(void *ctx)
{
	struct recording *rec = ctx;

	return rec->profiler->start ? rec->profiler->start(rec) : 0;
}

static int drain(void *ctx)
{
	struct recording *rec = ctx;
	int err = record_stacks_drain(rec->stacks);

	return !err && rec->profiler->drain ? rec->profiler->drain(rec) : err;
}

static int drained(void *ctx)
{
	struct recording *rec = ctx;

	if (rec->lost_way && rec->profiler->walk_again) {
		int err = rec->profiler->walk_again(rec);

		if (err)
			return err;
	}
	rec->lost_way = false;
	return rec->opt->samples ? record_samples_print(rec) : 0;
}

static int interval(void *ctx)
{
	struct recording *rec = ctx;

	return rec->profiler->interval(rec);
}

static int tick(void *ctx)
{
	struct recording *rec = ctx;

	rp_sideband_hotplug(rec->session.side);
	return rec->profiler->tick ? rec->profiler->tick(rec) : 0;
}

static int loaded(void *ctx, pid_t pid)
{
	struct recording *rec = ctx;

	if (rec->session.feed) /* before any of it runs, so that no walk comes too early */
		unwind_feed_process(rec->session.feed, (uint32_t)pid);
	return rec->profiler->loaded(rec, pid);
}

static int mapped(void *ctx, const struct rp_side_event *e)
{
	struct recording *rec = ctx;

	return rec->profiler->mapped(rec, e);
}

static uint64_t samples(const void *ctx)
{
	const struct recording *rec = ctx;

	return rec->seen;
}

int record_run(struct recording *rec)
{
	const struct session_work work = { .ctx = rec,
					   .wake_fd =
						   record_stacks_map(rec->stacks, STACK_MAP_EVENTS),
					   .start = start,
					   .drain = drain,
					   .drained = drained,
					   .tick = tick,
					   .interval = rec->profiler->interval ? interval : NULL,
					   .often = rec->profiler->often,
					   .samples = samples,
					   .loaded = rec->profiler->loaded ? loaded : NULL,
					   .mapped = rec->profiler->mapped ? mapped : NULL };
	int err = record_session_record(&rec->session, &work);

	if (!err && rec->profiler->stop)
		err = rec->profiler->stop(rec);
	if (!err) {
		record_detach_list(rec, NULL);
		rp_quiesce();
		err = record_stacks_finish(rec->stacks);
	}
	if (!err)
		err = record_session_settle(&rec->session);
	if (!err && rec->profiler->collect)
		err = rec->profiler->collect(rec);
	return err;
}

/* ---- ledger ------------------------------------------------------------------------------------------------ */

struct name_owner record_owner(const struct stack_record *r)
{
	return (struct name_owner){ .pid = (uint32_t)(r->pid_tgid >> 32),
				    .time = r->time,
				    .generation = r->start_time + r->exec_id };
}

bool record_comm_wanted(const struct recording *rec, const char *comm)
{
	return !rec->comm_glob || !fnmatch(rec->comm_glob, comm, 0);
}

static void bpf_cost(struct recording *rec, struct report_cost *cost)
{
	struct record_runs runs;

	if (rec->session.stats < 0)
		return;
	runs = record_runs(rec, NULL, RECORD_ALL_ROLES);
	cost->bpf_ns += runs.ns;
	cost->bpf_runs += runs.runs;
}

void record_ledger_add(struct record_ledger *b, const char *name, uint64_t count,
		       enum report_fate fate)
{
	b->lines[b->report.nlines++] = (struct report_ledger_line){ name, count, fate };
}

/* The profiler's own struct of counters begins with these. */
union counters {
	struct program_stats common;
	uint64_t capacity[64];
};

int record_ledger(struct recording *rec, uint64_t kept, struct record_ledger *b)
{
	union counters stats = { 0 };
	int err = record_stacks_stats(rec->stacks, &stats);

	if (err)
		return rp_fail(err, "reading the program's counters: %s", strerror(-err));
	*b = (struct record_ledger){ 0 };
	b->report = (struct report_ledger){ .fired = stats.common.fired,
					    .kept = kept,
					    .lines = b->lines };
	record_ledger_add(b, "idle", stats.common.idle, REPORT_FILTERED);
	record_ledger_add(b, "not asked for", stats.common.filtered + rec->not_wanted,
			  REPORT_FILTERED);
	record_ledger_add(b, "ring full", stats.common.ring_full, REPORT_LOST);
	record_ledger_add(b, "busy", stats.common.busy, REPORT_LOST);
	if (stats.common.uncounted)
		rp_log(RP_INFO,
		       "%llu stacks found no room in the map and came through the ring each time",
		       (unsigned long long)stats.common.uncounted);
	if (stats.common.ring_full * 100 > stats.common.fired) /* seldom: told in the ledger */
		rp_log(RP_WARN,
		       "%llu of %llu are lost: stacks never seen before came faster than they could be read",
		       (unsigned long long)stats.common.ring_full,
		       (unsigned long long)stats.common.fired);
	if (stats.common.unfollowed)
		rp_log(RP_WARN, "%llu children were not followed: more than %d processes at once",
		       (unsigned long long)stats.common.unfollowed, FOLLOWED_PROCESSES);
	if (rec->profiler->ledger)
		err = rec->profiler->ledger(rec, kept, b);
	record_own_cost(&b->cost);
	bpf_cost(rec, &b->cost);
	return err;
}

/* ---- all together ----------------------------------------------------------------------------------------- */

void record_init(struct recording *rec, const struct record_profiler *profiler,
		 const struct options *opt, void *ctx)
{
	*rec = (struct recording){ .profiler = profiler, .ctx = ctx, .opt = opt };
	record_session_init(&rec->session, opt);
}

static int open_stacks(struct recording *rec)
{
	const struct stacks_options options = { .maps = rec->profiler->maps,
						.nmaps = rec->profiler->nmaps,
						.config = &rec->config,
						.nids = rec->opt->program
								? FOLLOWED_PROCESSES
								: rec->opt->pids.n +
									  rec->opt->tids.n,
						.ring_bytes = ring_bytes(rec->profiler) };

	return record_stacks_open(&options, on_record, rec, &rec->stacks);
}

int record_open(struct recording *rec)
{
	int err = output_open(&rec->output, rec->opt, rec->profiler->output);

	if (!err)
		err = record_session_open(&rec->session);
	if (!err)
		err = fill_config(rec);
	if (!err)
		err = open_stacks(rec);
	if (!err && rec->config.eh)
		err = open_feed(rec);
	if (!err)
		err = add_targets(rec);
	if (!err && rec->opt->program && !rec->config.ns_inode)
		err = record_attach(rec, rp_follow_programs, RECORD_ALL_ROLES, NULL);
	if (!err)
		err = rec->profiler->attach(rec);
	rp_btf_kernel_release();
	if (!err && rec->opt->weight && rec->profiler->types)
		err = record_choose_weight(rec); /* before anybody waits for the end */
	if (!err && rec->opt->samples)
		err = output_empty(&rec->output);
	return err;
}

void record_close(struct recording *rec)
{
	record_detach_list(rec, NULL);
	rp_fds_close(rec->program, rec->nprograms);
	unwind_feed_close(rec->session.feed);
	record_session_close(&rec->session);
	record_stacks_close(rec->stacks);
}

static int report(struct recording *rec)
{
	if (rec->opt->samples)
		return record_samples_end(rec);
	return rec->profiler->report ? rec->profiler->report(rec) : record_report(rec);
}

/* What waits for the target to run, such as probes in its files, is not tried. */
static int dry_run(struct recording *rec)
{
	struct report_info info = { 0 };
	int err = record_open(rec);

	if (!err && rec->profiler->start)
		err = rec->profiler->start(rec);
	if (!err && rec->profiler->describe)
		rec->profiler->describe(rec, &info);
	snprintf(rec->opt->dry_run->event, sizeof(rec->opt->dry_run->event), "%s",
		 info.event ? info.event : "");
	for (size_t i = 0; i < rec->nprograms; i++)
		dry_run_note(rec->opt->dry_run, rec->loaded[i], rec->attach_type[i]);
	rec->opt->dry_run->err = err;
	record_close(rec);
	return err ? EXIT_FAILED : EXIT_DONE;
}

int record_command(const struct record_profiler *profiler, const struct options *opt, void *ctx)
{
	struct recording rec;
	int err, status;

	record_init(&rec, profiler, opt, ctx);
	if (opt->dry_run)
		return dry_run(&rec);
	err = record_open(&rec);
	if (!err)
		err = record_run(&rec);
	if (!err)
		err = report(&rec);
	err = output_close(&rec.output, err);
	status = err ? EXIT_FAILED : record_session_finish(&rec.session);
	if (err && rec.output.unfit)
		status = EXIT_USAGE;
	if (err == -EINTR && rec.session.caught)
		status = EXIT_SIGNAL + rec.session.caught;
	if (err == -EPIPE)
		status = EXIT_SIGNAL + SIGPIPE;
	record_close(&rec);
	return status;
}
