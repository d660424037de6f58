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
#include "cli/rehearsal.h"

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
static uint32_t ring_bytes(const struct profiler *profiler)
{
	uint32_t bytes = (1 << 19) * (profiler->ring_factor ? profiler->ring_factor : 1);
	int cpus = rp_cpus_possible();

	for (int covered = 2; covered < cpus && bytes < 1u << 26; covered *= 2)
		bytes *= 2;
	return bytes;
}

/* Kernels before 5.17 walk by tables too, with limits. */
static void choose_walk(const struct profile *p, struct profile_config *c)
{
	const bool regs = rp_has(RP_HAS_TASK_REGS) && rp_has(RP_HAS_KERNEL_BTF);

	if (p->opt->kernel_only || p->opt->call_graph == CALL_GRAPH_FP)
		return;
	c->own_regs = !regs;
	c->bounded = !rp_has(RP_HAS_BPF_LOOP);
	c->eh = regs || p->profiler->has_regs;
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

static void choose_stacks(const struct profile *p, struct profile_config *c)
{
	const struct options *opt = p->opt;

	choose_walk(p, c);
	c->fp_bytes = opt->kernel_only ? 0 : kernel_walk_bytes(opt);
	c->user_bytes = c->eh ? 8 * wanted_frames(opt) : c->fp_bytes;
	c->user_frames = c->user_bytes / 8;
	c->kernel_bytes = opt->user_only ? 0 : kernel_walk_bytes(opt);
	/* riscv64's context does not tell: what says so lies behind the registers that it shows. */
	c->user_code = p->profiler->has_regs &&
		       UNWIND_MODE_REG < offsetof(struct bpf_perf_event_data, sample_period);
}

/* The first pid namespace of all (include/linux/proc_ns.h: PROC_PID_INIT_INO). */
#define FIRST_PID_NAMESPACE 0xeffffffcu

/* Where the pids that we see are not the machine's, the program has to count as we do. */
static void look_at_namespace(const struct options *opt, struct profile_config *c)
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

static int fill_config(struct profile *p)
{
	const struct options *opt = p->opt;
	struct profile_config *c = &p->config;
	int err = 0;

	if (!p->profiler->no_stacks)
		choose_stacks(p, c);
	c->by_pid = opt->pids.n || opt->program;
	c->by_tid = opt->tids.n != 0;
	c->each = opt->samples;
	c->identity = rp_has(RP_HAS_KERNEL_BTF) && rp_has(RP_HAS_TASK_BTF);
	if (opt->cgroup)
		err = record_cgroup_find(opt->cgroup, &c->cgroup_id, &c->cgroup_level);
	if (opt->comm && asm_comm_filter(opt->comm, &c->comm))
		p->comm_glob = opt->comm;
	look_at_namespace(opt, c);
	c->filtering = c->ns_inode || c->by_pid || c->by_tid || c->cgroup_id || c->comm.mask[0];
	if (!err && p->profiler->configure)
		err = p->profiler->configure(p);
	c->both_bytes = c->user_bytes + c->kernel_bytes;
	return err;
}

static int add_targets(struct profile *p)
{
	const struct options *opt = p->opt;
	int err = 0;

	for (uint32_t i = 0; !err && i < opt->pids.n; i++)
		err = record_stacks_add_id(p->stacks, STACK_MAP_PIDS, opt->pids.id[i]);
	for (uint32_t i = 0; !err && i < opt->tids.n; i++)
		err = record_stacks_add_id(p->stacks, STACK_MAP_TIDS, opt->tids.id[i]);
	if (!err && opt->program)
		err = record_stacks_add_id(p->stacks, STACK_MAP_PIDS,
					   (uint32_t)p->session.target.child);
	return err;
}

/* ---- programs --------------------------------------------------------------------------------------------- */

int record_load(struct profile *p, const struct asm_program *program, const void *config)
{
	int fd = record_stacks_load(p->stacks, program, config);

	if (fd >= 0)
		p->program[p->nprograms++] = fd;
	if (fd >= 0 && p->opt->rehearsal)
		rehearsal_note(p->opt->rehearsal, program);
	return fd;
}

int record_hold(struct profile *p, struct rp_link *link)
{
	p->link[p->nlinks++] = link;
	return 0;
}

int record_attach(struct profile *p, const struct asm_program *program, const void *config)
{
	struct rp_link *link;
	int err = record_load(p, program, config);

	if (err >= 0)
		err = rp_attach_raw_tracepoint(err, NULL, &link);
	return err < 0 ? err : record_hold(p, link);
}

static int follow_children(struct profile *p)
{
	struct rp_link *link;
	int err;

	if (!rp_has(RP_HAS_TP_BTF)) {
		rp_log(RP_INFO, "no BTF tracepoints: children are followed by a classic one");
		err = record_load(p, &rp_follow_fork_classic_program, NULL);
		if (err >= 0)
			err = rp_attach_tracepoint(err, "sched", "sched_process_fork", 0, &link);
		return err < 0 ? err : record_hold(p, link);
	}
	err = record_attach(p, &rp_follow_fork_program, NULL);
	return err ? err : record_attach(p, &rp_follow_exit_program, NULL);
}

static int follow_mappings(struct profile *p)
{
	int err = record_attach(p, &unwind_fork_program, NULL);

	if (!err)
		err = record_attach(p, &unwind_exec_program, &p->config);
	return err ? err : record_attach(p, &unwind_exit_program, NULL);
}

/* What the walker needs beside the program: who maps which tables. */
static int open_feed(struct profile *p)
{
	const struct unwind_feed_maps maps = {
		.procs = record_stacks_map(p->stacks, STACK_MAP_PROCS),
		.ranges = record_stacks_map(p->stacks, STACK_MAP_RANGES),
		.index = record_stacks_map(p->stacks, STACK_MAP_INDEX),
		.rules = record_stacks_map(p->stacks, STACK_MAP_RULES),
		.rows = record_stacks_map(p->stacks, STACK_MAP_ROWS)
	};
	int err = unwind_feed_open(&p->session.feed, &maps);

	if (!err && rp_has(RP_HAS_TP_BTF) && !p->config.ns_inode)
		err = follow_mappings(p);

	if (!err && p->opt->program)
		unwind_feed_expect(p->session.feed, p->session.target.program);
	for (uint32_t i = 0; !err && i < p->opt->pids.n; i++)
		unwind_feed_process(p->session.feed, p->opt->pids.id[i]);
	return err;
}

/* ---- while recording -------------------------------------------------------------------------------------- */

static int on_record(void *ctx, const struct stack_record *record)
{
	uint32_t pid = (uint32_t)(record->pid_tgid >> 32);
	struct profile *p = ctx;

	p->seen++;
	record_session_saw(&p->session, pid, (uint32_t)(record->start_time + record->exec_id));
	if (record->user_end == UNWIND_NO_SEGMENT || record->user_end == STACK_NO_TABLE) {
		record_session_lost_way(&p->session, pid);
		p->lost_way = true;
	}
	return p->opt->samples ? record_samples_keep(p, record) : 0;
}

static int start(void *ctx)
{
	struct profile *p = ctx;

	return p->profiler->start ? p->profiler->start(p) : 0;
}

static int drain(void *ctx)
{
	struct profile *p = ctx;
	int err = record_stacks_drain(p->stacks);

	return !err && p->profiler->drain ? p->profiler->drain(p) : err;
}

static int drained(void *ctx)
{
	struct profile *p = ctx;

	if (p->lost_way && p->profiler->walk_again) {
		int err = p->profiler->walk_again(p);

		if (err)
			return err;
	}
	p->lost_way = false;
	return p->opt->samples ? record_samples_print(p) : 0;
}

static int interval(void *ctx)
{
	struct profile *p = ctx;

	return p->profiler->interval(p);
}

static int tick(void *ctx)
{
	struct profile *p = ctx;

	rp_sideband_hotplug(p->session.side);
	return p->profiler->tick ? p->profiler->tick(p) : 0;
}

static int loaded(void *ctx, pid_t pid)
{
	struct profile *p = ctx;

	if (p->session.feed) /* before any of it runs, so that no walk comes too early */
		unwind_feed_process(p->session.feed, (uint32_t)pid);
	return p->profiler->loaded(p, pid);
}

static int mapped(void *ctx, const struct rp_side_event *e)
{
	struct profile *p = ctx;

	return p->profiler->mapped(p, e);
}

static uint64_t samples(const void *ctx)
{
	const struct profile *p = ctx;

	return p->seen;
}

static void close_links(struct profile *p)
{
	while (p->nlinks)
		rp_link_close(p->link[--p->nlinks]);
}

int record_run(struct profile *p)
{
	const struct session_work work = { .ctx = p,
					   .wake_fd =
						   record_stacks_map(p->stacks, STACK_MAP_EVENTS),
					   .start = start,
					   .drain = drain,
					   .drained = drained,
					   .tick = tick,
					   .interval = p->profiler->interval ? interval : NULL,
					   .often = p->profiler->often,
					   .samples = samples,
					   .loaded = p->profiler->loaded ? loaded : NULL,
					   .mapped = p->profiler->mapped ? mapped : NULL };
	int err = record_session_record(&p->session, &work);

	if (!err && p->profiler->stop)
		err = p->profiler->stop(p);
	if (!err) {
		close_links(p);
		rp_quiesce();
		err = record_stacks_finish(p->stacks);
	}
	if (!err)
		err = record_session_settle(&p->session);
	if (!err && p->profiler->collect)
		err = p->profiler->collect(p);
	return err;
}

/* ---- books ------------------------------------------------------------------------------------------------ */

struct name_owner record_owner(const struct stack_record *r)
{
	return (struct name_owner){ .pid = (uint32_t)(r->pid_tgid >> 32),
				    .time = r->time,
				    .generation = r->start_time + r->exec_id };
}

bool record_comm_wanted(const struct profile *p, const char *comm)
{
	return !p->comm_glob || !fnmatch(p->comm_glob, comm, 0);
}

static void bpf_cost(struct profile *p, struct report_cost *cost)
{
	if (p->session.stats < 0)
		return;
	for (size_t i = 0; i < p->nprograms; i++) {
		struct rp_prog_stats stats;

		if (rp_prog_stats(p->program[i], &stats))
			continue;
		cost->bpf_ns += stats.run_time_ns;
		cost->bpf_runs += stats.run_cnt;
	}
}

void record_ledger_add(struct books *b, const char *name, uint64_t count, enum report_fate fate)
{
	b->lines[b->ledger.nlines++] = (struct report_ledger_line){ name, count, fate };
}

/* The profiler's own struct of counters begins with these. */
union counters {
	struct profile_stats common;
	uint64_t room[64];
};

int record_ledger(struct profile *p, uint64_t kept, struct books *b)
{
	union counters stats = { 0 };
	int err = record_stacks_stats(p->stacks, &stats);

	if (err)
		return rp_fail(err, "reading the program's counters: %s", strerror(-err));
	*b = (struct books){ 0 };
	b->ledger = (struct report_ledger){ .fired = stats.common.fired,
					    .kept = kept,
					    .lines = b->lines };
	record_ledger_add(b, "idle", stats.common.idle, REPORT_FILTERED);
	record_ledger_add(b, "not asked for", stats.common.filtered + p->not_wanted,
			  REPORT_FILTERED);
	record_ledger_add(b, "ring full", stats.common.ring_full, REPORT_LOST);
	record_ledger_add(b, "busy", stats.common.busy, REPORT_LOST);
	if (stats.common.uncounted)
		rp_log(RP_INFO,
		       "%llu stacks found no room in the map and came through the ring each time",
		       (unsigned long long)stats.common.uncounted);
	if (stats.common.ring_full * 100 > stats.common.fired) /* seldom: told in the books */
		rp_log(RP_WARN,
		       "%llu of %llu are lost: stacks never seen before came faster than they could be read",
		       (unsigned long long)stats.common.ring_full,
		       (unsigned long long)stats.common.fired);
	if (stats.common.unfollowed)
		rp_log(RP_WARN, "%llu children were not followed: more than %d processes at once",
		       (unsigned long long)stats.common.unfollowed, FOLLOWED_PROCESSES);
	if (p->profiler->books)
		err = p->profiler->books(p, kept, b);
	record_own_cost(&b->cost);
	bpf_cost(p, &b->cost);
	return err;
}

/* ---- all together ----------------------------------------------------------------------------------------- */

void record_init(struct profile *p, const struct profiler *profiler, const struct options *opt,
		 void *ctx)
{
	*p = (struct profile){ .profiler = profiler, .ctx = ctx, .opt = opt };
	record_session_init(&p->session, opt);
}

static int open_stacks(struct profile *p)
{
	const struct stacks_options options = { .maps = p->profiler->maps,
						.nmaps = p->profiler->nmaps,
						.config = &p->config,
						.nids = p->opt->program
								? FOLLOWED_PROCESSES
								: p->opt->pids.n + p->opt->tids.n,
						.ring_bytes = ring_bytes(p->profiler) };

	return record_stacks_open(&options, on_record, p, &p->stacks);
}

int record_open(struct profile *p)
{
	int err = output_open(&p->output, p->opt, p->profiler->output);

	if (!err)
		err = record_session_open(&p->session);
	if (!err)
		err = fill_config(p);
	if (!err)
		err = open_stacks(p);
	if (!err && p->config.eh)
		err = open_feed(p);
	if (!err)
		err = add_targets(p);
	if (!err && p->opt->program && !p->config.ns_inode)
		err = follow_children(p);
	if (!err)
		err = p->profiler->attach(p);
	rp_btf_kernel_release();
	if (!err && p->opt->weight && p->profiler->types)
		err = record_choose_weight(p); /* before anybody waits for the end */
	if (!err && p->opt->samples)
		err = output_empty(&p->output);
	return err;
}

void record_close(struct profile *p)
{
	close_links(p);
	rp_fds_close(p->program, p->nprograms);
	unwind_feed_close(p->session.feed);
	record_session_close(&p->session);
	record_stacks_close(p->stacks);
}

static int report(struct profile *p)
{
	if (p->opt->samples)
		return record_samples_end(p);
	return p->profiler->report ? p->profiler->report(p) : record_report(p);
}

/* What waits for the target to run, such as probes in its files, is not tried. */
static int rehearse(struct profile *p)
{
	struct report_info info = { 0 };
	int err = record_open(p);

	if (!err && p->profiler->start)
		err = p->profiler->start(p);
	if (!err && p->profiler->describe)
		p->profiler->describe(p, &info);
	snprintf(p->opt->rehearsal->event, sizeof(p->opt->rehearsal->event), "%s",
		 info.event ? info.event : "");
	p->opt->rehearsal->err = err;
	record_close(p);
	return err ? EXIT_FAILED : EXIT_DONE;
}

int record_command(const struct profiler *profiler, const struct options *opt, void *ctx)
{
	struct profile p;
	int err, status;

	record_init(&p, profiler, opt, ctx);
	if (opt->rehearsal)
		return rehearse(&p);
	err = record_open(&p);
	if (!err)
		err = record_run(&p);
	if (!err)
		err = report(&p);
	err = output_close(&p.output, err);
	status = err ? EXIT_FAILED : record_session_finish(&p.session);
	if (err && p.output.unfit)
		status = EXIT_USAGE;
	if (err == -EINTR && p.session.caught)
		status = EXIT_SIGNAL + p.session.caught;
	if (err == -EPIPE)
		status = EXIT_SIGNAL + SIGPIPE;
	record_close(&p);
	return status;
}
