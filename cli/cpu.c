/* SPDX-License-Identifier: BSD-2-Clause */
/* rawprof cpu: where is CPU time going? The recording; programs/cpu.c is what runs in the kernel. */
#include <errno.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands.h"
#include "cpu.h"
#include "machine.h"
#include "names.h"

#define DEFAULT_FREQ 99
#define DEFAULT_MAX_STACK 256
#define FOLLOWED_PROCESSES 16384

/* ---- what the program is told ----------------------------------------------------------------------------- */

static uint32_t wanted_frames(const struct options *opt)
{
	return opt->max_stack ? opt->max_stack : DEFAULT_MAX_STACK;
}

/* The kernel's own walk has a limit, and room for more would only be walked by the verifier. */
static uint32_t kernel_walk_bytes(const struct options *opt)
{
	char text[32];
	unsigned long limit = 127;

	if (read_small_file("/proc/sys/kernel/perf_event_max_stack", text, sizeof(text)) > 0)
		limit = strtoul(text, NULL, 10);
	if (opt->max_stack > limit)
		rp_log(RP_WARN,
		       "kernel.perf_event_max_stack allows %lu frames: stacks of the kernel end there",
		       limit);
	return 8 * (wanted_frames(opt) < limit ? wanted_frames(opt) : (uint32_t)limit);
}

/* The ring grows with the number of CPUs that fill it. */
static uint32_t ring_bytes(void)
{
	uint32_t bytes = 1 << 19;
	int cpus = rp_cpus_possible();

	for (int covered = 2; covered < cpus && bytes < 1u << 26; covered *= 2)
		bytes *= 2;
	return bytes;
}

static bool unwind_tables_wanted(const struct options *opt)
{
	if (opt->call_graph == CALL_GRAPH_FP)
		return false;
	if (rp_has(RP_HAS_BPF_LOOP) && rp_has(RP_HAS_KERNEL_BTF))
		return true;
	rp_log(RP_WARN,
	       "no unwinding by tables here, which needs Linux 5.17 with BTF: user stacks by frame "
	       "pointers");
	return false;
}

/* The first pid namespace of all (include/linux/proc_ns.h: PROC_PID_INIT_INO). */
#define FIRST_PID_NAMESPACE 0xeffffffcu

/* Where the pids that we see are not the machine's, the program has to count as we do. */
static void look_at_namespace(const struct options *opt, struct cpu_config *c)
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

static int fill_config(struct cpu_run *run, struct cpu_collect_options *out)
{
	const struct options *opt = run->opt;
	struct cpu_config *c = &out->config;
	int err = 0;

	c->eh = !opt->kernel_only && unwind_tables_wanted(opt);
	c->fp_bytes = opt->kernel_only ? 0 : kernel_walk_bytes(opt);
	c->user_bytes = c->eh ? 8 * wanted_frames(opt) : c->fp_bytes;
	c->user_frames = c->user_bytes / 8;
	c->kernel_bytes = opt->user_only ? 0 : kernel_walk_bytes(opt);
	c->both_bytes = c->user_bytes + c->kernel_bytes;
	c->by_pid = opt->pids.n || opt->program;
	c->by_tid = opt->tids.n != 0;
	c->keep_idle = opt->idle;
	c->each = opt->samples;
	c->identity = rp_has(RP_HAS_KERNEL_BTF) && rp_has(RP_HAS_TASK_BTF);
	out->nids = opt->program ? FOLLOWED_PROCESSES : opt->pids.n + opt->tids.n;
	out->ring_bytes = ring_bytes();
	if (opt->cgroup)
		err = cgroup_find(opt->cgroup, &c->cgroup_id, &c->cgroup_level);
	if (opt->comm && asm_comm_filter(opt->comm, &c->comm))
		run->comm_glob = opt->comm;
	look_at_namespace(run->opt, c);
	c->filtering = c->ns_inode || c->by_pid || c->by_tid || c->cgroup_id || c->comm.mask[0];
	return err;
}

static int add_targets(struct cpu_run *run)
{
	const struct options *opt = run->opt;
	int err = 0;

	for (uint32_t i = 0; !err && i < opt->pids.n; i++)
		err = cpu_collect_add_id(run->collect, CPU_MAP_PIDS, opt->pids.id[i]);
	for (uint32_t i = 0; !err && i < opt->tids.n; i++)
		err = cpu_collect_add_id(run->collect, CPU_MAP_TIDS, opt->tids.id[i]);
	if (!err && opt->program)
		err = cpu_collect_add_id(run->collect, CPU_MAP_PIDS,
					 (uint32_t)run->session.target.child);
	return err;
}

/* ---- attaching -------------------------------------------------------------------------------------------- */

static int load_follow(struct cpu_run *run, int i, const struct asm_program *program)
{
	const struct asm_bindings bind = { .maps = cpu_maps,
					   .map_fds = cpu_collect_fds(run->collect),
					   .nmaps = CPU_MAPS };

	run->follow[i] = rp_program_load(program, &bind);
	return run->follow[i] < 0 ? run->follow[i] : 0;
}

static int follow_children(struct cpu_run *run)
{
	int err;

	if (!rp_has(RP_HAS_TP_BTF)) {
		rp_log(RP_INFO, "no BTF tracepoints: children are followed by a classic one");
		err = load_follow(run, 0, &follow_fork_classic_program);
		return err ? err
			   : rp_attach_tracepoint(run->follow[0], "sched", "sched_process_fork", 0,
						  &run->follow_link[0]);
	}
	err = load_follow(run, 0, &follow_fork_program);
	if (!err)
		err = load_follow(run, 1, &follow_exit_program);
	for (int i = 0; !err && i < 2; i++)
		err = rp_attach_raw_tracepoint(run->follow[i], NULL, &run->follow_link[i]);
	return err;
}

static int choose_event(const struct options *opt, struct rp_perf_options *perf)
{
	const char *name = opt->event;

	if (!name && !opt->software_event && rp_has(RP_HAS_HW_EVENTS))
		name = "cycles";
	if (!name && !opt->software_event)
		rp_log(RP_INFO, "no hardware events here: using cpu-clock");
	return rp_event_parse(name ? name : "cpu-clock", &perf->event);
}

static int open_events(struct cpu_run *run)
{
	struct rp_perf_options perf = { .freq = run->freq,
					.period = run->period,
					.disabled = true };
	int err = choose_event(run->opt, &perf);

	if (!err && run->opt->cpus) {
		err = rp_cpus_parse(run->opt->cpus, &run->cpus);
		if (err)
			rp_log(RP_ERROR, "'%s' is no list of CPUs", run->opt->cpus);
		perf.cpus = &run->cpus;
	}
	if (!err)
		err = rp_perf_open(&perf, &run->perf);
	if (!err)
		err = rp_perf_attach(run->perf, cpu_collect_program(run->collect));
	return err;
}

/* ---- while recording -------------------------------------------------------------------------------------- */

static int on_record(void *ctx, const struct cpu_record *record)
{
	uint32_t pid = (uint32_t)(record->key.pid_tgid >> 32);
	struct cpu_run *run = ctx;

	run->seen++;
	session_saw(&run->session, pid, (uint32_t)(record->start_time + record->exec_id));
	if (record->user_end == UNWIND_NO_SEGMENT || record->user_end == CPU_NO_TABLE)
		session_lost_way(&run->session, pid);
	return run->opt->samples ? cpu_samples_keep(run, record) : 0;
}

static int start(void *ctx)
{
	struct cpu_run *run = ctx;

	return rp_perf_enable(run->perf);
}

static int drain(void *ctx)
{
	struct cpu_run *run = ctx;

	return cpu_collect_drain(run->collect);
}

static int drained(void *ctx)
{
	struct cpu_run *run = ctx;

	return run->opt->samples ? cpu_samples_print(run) : 0;
}

static int tick(void *ctx)
{
	struct cpu_run *run = ctx;
	int joined = run->opt->cpus ? 0 : rp_perf_hotplug(run->perf);

	rp_sideband_hotplug(run->session.side);
	return joined < 0 ? joined : 0;
}

static uint64_t samples(const void *ctx)
{
	const struct cpu_run *run = ctx;

	return run->seen;
}

static int record(struct cpu_run *run)
{
	const struct session_work work = { .ctx = run,
					   .wake_fd = cpu_collect_ring_fd(run->collect),
					   .start = start,
					   .drain = drain,
					   .drained = drained,
					   .tick = tick,
					   .samples = samples };
	int err = session_record(&run->session, &work);

	if (!err)
		err = rp_perf_disable(run->perf);
	if (!err)
		err = cpu_collect_finish(run->collect);
	if (!err)
		err = session_settle(&run->session);
	return err;
}

/* ---- books ------------------------------------------------------------------------------------------------ */

struct name_owner cpu_owner(const struct cpu_record *r)
{
	return (struct name_owner){ .pid = (uint32_t)(r->key.pid_tgid >> 32),
				    .time = r->time,
				    .generation = r->start_time + r->exec_id };
}

bool cpu_comm_wanted(const struct cpu_run *run, const char *comm)
{
	return !run->comm_glob || !fnmatch(run->comm_glob, comm, 0);
}

static void bpf_cost(struct cpu_run *run, struct report_cost *cost)
{
	const int programs[] = { cpu_collect_program(run->collect), run->follow[0],
				 run->follow[1] };

	if (run->session.stats < 0)
		return;
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		struct rp_prog_stats stats;

		if (programs[i] < 0 || rp_prog_stats(programs[i], &stats))
			continue;
		cost->bpf_ns += stats.run_time_ns;
		cost->bpf_runs += stats.run_cnt;
	}
}

int cpu_books(struct cpu_run *run, uint64_t kept, struct report_ledger_line *lines,
	      struct report_ledger *ledger, struct report_cost *cost)
{
	struct cpu_stats stats;
	int err = cpu_collect_stats(run->collect, &stats);

	if (err)
		return rp_fail(err, "reading the program's counters: %s", strerror(-err));
	lines[0] = (struct report_ledger_line){ "idle", stats.idle, REPORT_FILTERED };
	lines[1] = (struct report_ledger_line){ "not asked for", stats.filtered + run->not_wanted,
						REPORT_FILTERED };
	lines[2] = (struct report_ledger_line){ "ring full", stats.ring_full, REPORT_LOST };
	*ledger = (struct report_ledger){
		.fired = stats.fired, .kept = kept, .lines = lines, .nlines = 3
	};
	if (stats.uncounted)
		rp_log(RP_INFO,
		       "%llu stacks found the map full and came through the ring each time",
		       (unsigned long long)stats.uncounted);
	if (stats.unfollowed)
		rp_log(RP_WARN, "%llu children were not followed: more than %d processes at once",
		       (unsigned long long)stats.unfollowed, FOLLOWED_PROCESSES);
	own_cost(cost);
	bpf_cost(run, cost);
	return 0;
}

/* ---- the command ------------------------------------------------------------------------------------------ */

/* What the walker needs beside the program: who maps which tables. */
static int open_feed(struct cpu_run *run)
{
	const int *fds = cpu_collect_fds(run->collect);
	const struct unwind_feed_maps maps = { .procs = fds[CPU_MAP_PROCS],
					       .ranges = fds[CPU_MAP_RANGES],
					       .index = fds[CPU_MAP_INDEX],
					       .rules = fds[CPU_MAP_RULES],
					       .rows = fds[CPU_MAP_ROWS] };

	int err = unwind_feed_open(&run->session.feed, &maps);

	if (!err && run->opt->program)
		unwind_feed_expect(run->session.feed, run->opt->program[0]);
	for (uint32_t i = 0; !err && i < run->opt->pids.n; i++)
		unwind_feed_process(run->session.feed, run->opt->pids.id[i]);
	return err;
}

static int set_up(struct cpu_run *run)
{
	struct cpu_collect_options collect = { 0 };
	int err = output_open(&run->output, run->opt);

	if (!err)
		err = session_open(&run->session);
	if (!err)
		err = fill_config(run, &collect);
	if (!err)
		err = cpu_collect_open(&collect, on_record, run, &run->collect);
	if (!err && collect.config.eh)
		err = open_feed(run);
	if (!err)
		err = add_targets(run);
	if (!err && run->opt->program && !collect.config.ns_inode)
		err = follow_children(run);
	if (!err)
		err = open_events(run);
	rp_btf_kernel_release();
	if (!err && run->opt->samples)
		err = output_empty(&run->output);
	return err;
}

static void tear_down(struct cpu_run *run)
{
	for (int i = 0; i < 2; i++)
		rp_link_close(run->follow_link[i]);
	rp_fds_close(run->follow, 2);
	rp_perf_close(run->perf);
	rp_cpus_free(&run->cpus);
	unwind_feed_close(run->session.feed);
	session_close(&run->session);
	cpu_collect_close(run->collect);
}

int cpu_try(char *event, size_t size)
{
	char name[] = "true"; /* is made and taken away again, and never runs */
	char *program[] = { name, NULL };
	struct options opt = { .program = program,
			       .format = report_format_by_name("folded"),
			       .verbosity = -1 };
	struct cpu_run run = { .opt = &opt, .freq = DEFAULT_FREQ, .follow = { -1, -1 } };
	int err;

	session_init(&run.session, &opt);
	err = set_up(&run);

	if (!err)
		snprintf(event, size, "%s", rp_perf_event(run.perf)->name);
	tear_down(&run);
	return err;
}

int command_cpu(const struct options *opt)
{
	struct cpu_run run = { .opt = opt,
			       .freq = opt->freq || opt->period ? opt->freq : DEFAULT_FREQ,
			       .period = opt->period,
			       .follow = { -1, -1 } };
	int err, status;

	session_init(&run.session, opt);
	err = set_up(&run);

	if (!err)
		err = record(&run);
	if (!err)
		err = opt->samples ? cpu_samples_end(&run) : cpu_report(&run);
	err = output_close(&run.output, err);
	status = err ? EXIT_FAILED : session_finish(&run.session);
	if (err == -EINTR && run.session.caught)
		status = EXIT_SIGNAL + run.session.caught;
	if (err == -EPIPE)
		status = EXIT_SIGNAL + SIGPIPE;
	tear_down(&run);
	return status;
}
