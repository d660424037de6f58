/* SPDX-License-Identifier: BSD-2-Clause */
/* rawprof trace --syscalls: all system calls, counted and timed in the kernel. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/views.h"
#include "record/probes/syscalls.h"
#include "record/system.h"
#include "syscalls.h"
#include "trace.h"

/* ---- programs */

static int choose_cpus(struct recording *rec)
{
	const struct syscalls *sys = rec->ctx;
	const int fd = record_stacks_map(rec->stacks, SYSCALLS_MAP_CPUS);
	int err = 0;

	for (int i = 0; !err && i < sys->cpus.n; i++)
		err = rp_map_update(fd, &sys->cpus.cpu[i], &(uint32_t){ 1 }, BPF_ANY);
	return err;
}

static int configure(struct recording *rec)
{
	struct syscalls *sys = rec->ctx;

	/* syscalls_open() knows no more than that there is a --comm. */
	sys->config.by_comm = sys->config.by_process || rec->comm_glob;
	return 0;
}

static int attach(struct recording *rec)
{
	struct syscalls *sys = rec->ctx;
	struct syscalls_config *c = &sys->config;
	int err = choose_cpus(rec);

	c->common = rec->config;
	c->own[0] = (uint32_t)getpid();
	c->own[1] = rec->keeper ? (uint32_t)record_keeper_pid(rec->keeper) : c->own[0];
	return err ? err : record_load_list(rec, rp_syscalls_programs, RECORD_ALL_ROLES, c);
}

static int begin(struct recording *rec)
{
	return record_attach_list(rec, rp_syscalls_programs);
}

/* ---- the ledger */

static int ledger(struct recording *rec, uint64_t kept, struct record_ledger *b)
{
	const struct syscalls *sys = rec->ctx;
	struct syscalls_stats s;
	int err = record_stacks_stats(rec->stacks, &s);

	if (err)
		return rp_fail(err, "reading the program's counters: %s", strerror(-err));
	if (s.errors_full)
		rp_log(RP_WARN, "of %" PRIu64 " calls that failed there was no room to keep how",
		       s.errors_full);
	b->report.events = "calls";
	b->report.kept = kept;
	record_ledger_add(b, "rawprof's own", s.own, REPORT_FILTERED);
	record_ledger_add(b, "exit, which never returns", s.exits, REPORT_FILTERED);
	record_ledger_add(b, "their thread ended inside", s.thread_ended, REPORT_FILTERED);
	record_ledger_add(b, "under way at the end", sys->under_way, REPORT_FILTERED);
	record_ledger_add(b, "end not seen", s.unended, REPORT_LOST);
	record_ledger_add(b, "too many threads", s.threads_full, REPORT_LOST);
	record_ledger_add(b, "too many sums", s.sums_full, REPORT_LOST);
	return 0;
}

/* ---- all together */

#define LEAST_THREADS 4096
#define MOST_THREADS (1u << 17)
#define ROWS_BY 8192 /* sums by process and command */

/* All memory is taken beforehand: what the kernel would find later comes too late for some. */
static void size_maps(struct syscalls *sys)
{
	struct asm_map *sums = &sys->maps[SYSCALLS_MAP_SUMS];
	const uint32_t threads = 2 * record_threads();

	memcpy(sys->maps, rp_syscalls_maps, sizeof(sys->maps));
	sys->maps[STACK_MAP_COUNTS].max_entries = 1; /* there are no stacks */
	sys->maps[SYSCALLS_MAP_STARTED].max_entries = threads < LEAST_THREADS  ? LEAST_THREADS
						      : threads > MOST_THREADS ? MOST_THREADS
									       : threads;
	if (sys->config.by_process || sys->config.by_comm) {
		sums->type = BPF_MAP_TYPE_HASH;
		sums->max_entries = ROWS_BY;
	}
	sys->config.most_sums = sums->max_entries;
	if (sys->config.errors)
		sys->maps[SYSCALLS_MAP_ERRORS].max_entries = SYSCALLS_ERRORS;
	if (sys->cpus.n)
		sys->maps[SYSCALLS_MAP_CPUS].max_entries = (uint32_t)sys->cpus.n;
}

int syscalls_open(struct syscalls *sys, const struct options *opt)
{
	int err = opt->record.cpus ? rp_cpus_parse(opt->record.cpus, &sys->cpus) : 0;

	if (err)
		return rp_fail(err, "'%s' is no list of CPUs", opt->record.cpus);
	sys->config = (struct syscalls_config){ .by_cpu = sys->cpus.n != 0,
						.by_process = sys->own->by != NULL,
						.by_comm = sys->own->by || opt->record.comm,
						.errors = sys->own->errors,
						.classic = !rp_has(RP_HAS_TP_BTF),
						.exit = SYS_exit,
						.exit_group = SYS_exit_group };
	size_maps(sys);
	sys->seen = HASH_MAP(struct syscalls_row, key);
	sys->profiler = (struct record_profiler){ .command = "trace",
						  .maps = sys->maps,
						  .nmaps = SYSCALLS_MAPS,
						  .no_stacks = true,
						  .runs_often = true,
						  .output = RECORD_GRID,
						  .configure = configure,
						  .attach = attach,
						  .start = begin,
						  .collect = syscalls_count_under_way,
						  .report = syscalls_report,
						  .empty_grid = syscalls_empty_grid,
						  .interval = opt->record.interval > 0
								      ? syscalls_report_interval
								      : NULL,
						  .ledger = ledger };
	return 0;
}

void syscalls_close(struct syscalls *sys)
{
	rp_hash_free(&sys->seen);
	rp_cpus_free(&sys->cpus);
}

int syscalls_run(const struct options *opt)
{
	struct syscalls sys = { .own = opt->own };
	const unsigned long errors = rp_log_errors();
	int err = syscalls_open(&sys, opt), status;

	status = err ? command_failed(opt->command, err, errors)
		     : run_profiler(&sys.profiler, opt, &sys);
	syscalls_close(&sys);
	return status;
}
