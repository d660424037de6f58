/* SPDX-License-Identifier: BSD-2-Clause */
/* rawprof func: how long do calls of functions take? The programs: programs/func/. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/views.h"
#include "func.h"
#include "record/system.h"

/* ---- functions */

int func_find(const struct options *opt, struct record_probes **out)
{
	const struct func_options *own = opt->own;
	struct record_probe_scope scope = {
		.pids = opt->record.pids.id,
		.npids = opt->record.pids.n,
		.program = opt->record.program ? opt->record.program[0] : NULL,
		.alone = own->alone,
		.kinds = own->count && !opt->record.user_only && !opt->record.kernel_only
				 ? RECORD_PROBE_ALL
			 : opt->record.user_only ? RECORD_PROBE_BIT(RECORD_PROBE_USER)
			 : opt->record.kernel_only
				 ? RECORD_PROBE_CALLS & ~RECORD_PROBE_BIT(RECORD_PROBE_USER)
				 : RECORD_PROBE_CALLS,
		.kinds_option = opt->record.user_only	  ? "--user"
				: opt->record.kernel_only ? "--kernel"
							  : NULL,
		.limit = own->limit,
		.limit_option = "--max-functions",
		/* A stack would end at the first return address that a probe has changed. */
		.at_returns = own->at_returns || own->stacks,
		.list_only = own->list,
	};
	int err = own->attach ? record_probe_way_parse(own->attach, &scope.way) : 0;

	/* What has no end can be counted. */
	if ((own->count || own->list) && !opt->record.kernel_only)
		scope.kinds |= RECORD_PROBE_BIT(RECORD_PROBE_USDT);
	return err ? err : record_probes_open(&scope, opt->words, opt->nwords, out);
}

/* Is there another one that is called the same? */
static bool is_ambiguous(const struct func *f, const struct record_probe *p)
{
	for (uint32_t i = 0; i < record_probes_count(f->probes); i++) {
		const struct record_probe *other = record_probes_at(f->probes, i);

		if (other != p && !other->why_not && !strcmp(other->name, p->name))
			return true;
	}
	return false;
}

const char *func_name(const struct func *f, uint32_t function)
{
	static char text[512];
	const struct record_probe *p = record_probes_at(f->probes, function);

	if (!p)
		return "?";
	if (!is_ambiguous(f, p))
		return p->name;
	record_probes_label(p, text, sizeof(text));
	return text;
}

/* ---- recording */

/* What of a task the programs read, where this kernel has it. */
static bool knows_task(const struct recording *rec)
{
	static const struct {
		const char *type, *path;
	} fields[] = { { "task_struct", "sas_ss_sp" },
		       { "task_struct", "sas_ss_size" },
		       { "task_struct", "utask.depth" },
		       { "task_struct", "mm.uprobes_state.xol_area" },
		       { "xol_area", "vaddr" } };
	const struct rp_btf *btf;
	struct asm_access access;

	if (!rec->config.identity || rp_btf_kernel(&btf))
		return false;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (rp_btf_access(btf, fields[i].type, fields[i].path, &access, NULL))
			return false;
	return true;
}

#define ARRAY_BYTES (64u << 20) /* at most: memory of all functions, called or not */

/* By function alone it is an array, unless that is too large. */
static void shape_sums(const struct recording *rec)
{
	struct func *f = rec->ctx;
	struct asm_map *sums = &f->maps[FUNC_MAP_SUMS];
	struct func_config *c = &f->config;

	if (f->own->count)
		sums->value_size = sizeof(((struct func_sum *)0)->entered);
	c->by_function = !c->by_comm && rp_map_value_bytes(sums) * sums->max_entries <= ARRAY_BYTES;
	if (c->by_function) {
		sums->type = BPF_MAP_TYPE_PERCPU_ARRAY;
		sums->flags = 0;
		sums->key_size = FUNC_ARRAY_KEY;
	} else {
		sums->type = BPF_MAP_TYPE_PERCPU_HASH;
		sums->key_size = c->by_comm ? sizeof(struct func_key) : FUNC_SHORT_KEY;
	}
	f->maps[FUNC_MAP_NO_SUM].value_size = sums->value_size;
	c->most_sums = sums->max_entries;
	c->asks_who = !c->by_function || rec->config.filtering;
}

static int configure(struct recording *rec)
{
	struct func *f = rec->ctx;
	struct func_config *c = &f->config;

	if (f->own->stacks && rec->config.eh && rec->config.bounded) {
		/* Unrolled, as before Linux 5.17, the walk is more than the verifier takes here. */
		rp_log(RP_WARN,
		       "no unwinding by tables before Linux 5.17: user stacks by frame pointers");
		rec->config.eh = 0;
	}
	c->bounded = !rp_has(RP_HAS_BPF_LOOP);
	c->knows_task = knows_task(rec);
	c->by_comm |= rec->comm_glob != NULL;
	shape_sums(rec);
	return 0;
}

static void configure_program(void *ctx, const struct record_probe_use *use, void *config)
{
	const bool user = use->kind == RECORD_PROBE_USER;
	struct func_config *c = config;

	(void)ctx;
	c->probe = use->config;
	/* How a probe came about, or a thread to its system call, is of no interest. */
	if (user || use->kind == RECORD_PROBE_SYSCALL)
		c->common.kernel_bytes = 0;
	c->kernel = !user;
	c->common.probe = user && rp_has(RP_HAS_BPF_LOOP); /* which its walk needs */
	c->at_returns = use->config.at_returns;
	c->knows_task &= user && !use->config.go;
}

/* The programs of a point, for every context. */
static void add_programs(struct record_probe_programs *programs, enum probe_point point,
			 uint32_t role)
{
	static const struct rp_program *const lists[PROBE_CONTEXTS] = {
		[PROBE_ON_REGS] = rp_func_programs,
		[PROBE_ON_ARGS] = rp_func_kernel_programs,
		[PROBE_ON_SYSCALL] = rp_func_syscall_programs,
		[PROBE_ON_SYSCALL_RECORD] = rp_func_classic_programs,
		[PROBE_ON_RECORD] = rp_func_event_programs,
	};

	for (int i = 0; i < PROBE_CONTEXTS; i++)
		if (lists[i])
			programs->at[point][i] = rp_program_of(lists[i], role);
}

static int set_syscalls(struct recording *rec)
{
	struct func *f = rec->ctx;
	uint32_t ids[RECORD_SYSCALLS];
	int err = 0;

	if (!record_probes_syscalls(f->probes, ids))
		return 0;
	for (uint32_t nr = 0; !err && nr < RECORD_SYSCALLS; nr++)
		if (ids[nr])
			err = rp_map_update(record_stacks_map(rec->stacks, FUNC_MAP_SYSCALLS), &nr,
					    &ids[nr], BPF_ANY);
	return err;
}

/* Without a function: what would be put on one of a program. */
static int load_only(struct recording *rec)
{
	const struct func *f = rec->ctx;
	const enum rp_uprobe_way way = rp_uprobe_way(-1, true);
	const uint32_t roles = way == RP_UPROBE_SESSION ? FUNC_CALLED : FUNC_ENTERED;
	struct func_config config = f->config;
	int err;

	if (way == RP_UPROBE_NONE)
		return rp_fail(-EOPNOTSUPP, "uprobes are missing or not permitted");
	configure_program(NULL, &(struct record_probe_use){ .kind = RECORD_PROBE_USER }, &config);
	err = record_load_probe(rec, rp_program_of(rp_func_programs, roles), way, &config);
	if (err >= 0 && roles != FUNC_CALLED)
		err = record_load_probe(rec, rp_program_of(rp_func_programs, FUNC_RETURNED), way,
					&config);
	return err < 0 ? err : 0;
}

static int ready_sums(struct recording *rec)
{
	const struct func *f = rec->ctx;

	return f->config.sums && !f->config.by_comm && !f->config.by_function ? func_ready_sums(rec)
									      : 0;
}

static int attach(struct recording *rec)
{
	struct func *f = rec->ctx;
	struct record_probe_programs programs = { .config = &f->config,
						  .config_size = sizeof(f->config),
						  .configure = configure_program,
						  .nargs = f->config.args ? 6 : 1,
						  .elsewhere = true,
						  .at_jumps =
							  !f->config.values && !f->config.send };
	int err;

	f->config.common = rec->config;
	f->config.wake_bytes = f->maps[FUNC_MAP_EVENTS].max_entries / 4;
	if (!f->probes)
		return load_only(rec);
	err = set_syscalls(rec);
	if (f->own->count) {
		add_programs(&programs, PROBE_ENTRY, FUNC_COUNTED);
	} else {
		add_programs(&programs, PROBE_ENTRY, FUNC_ENTERED);
		add_programs(&programs, PROBE_RETURN, FUNC_RETURNED);
		programs.at[PROBE_SESSION][PROBE_ON_REGS] =
			rp_program_of(rp_func_programs, FUNC_CALLED);
		if (!err)
			err = record_attach(rec, rp_func_thread_programs, RECORD_ALL_ROLES,
					    &f->config);
	}
	if (!err && f->config.send)
		err = record_open_ring(rec, FUNC_MAP_EVENTS, &f->ring);
	if (!err)
		err = ready_sums(rec);
	if (!err)
		err = record_probes_attach(f->probes, rec, &programs);
	if (!err)
		record_probes_say_left_out(f->probes);
	return err;
}

static int start(struct recording *rec)
{
	return record_stacks_gate(rec->stacks, FUNC_MAP_GATE, 1);
}

static int stop(struct recording *rec)
{
	struct func *f = rec->ctx;
	int err;

	f->end_ns = rp_monotonic_ns();
	err = record_stacks_gate(rec->stacks, FUNC_MAP_GATE, 0);
	record_probes_detach(f->probes);
	return err;
}

static int loaded(struct recording *rec, pid_t pid)
{
	struct func *f = rec->ctx;
	int err = record_probes_process(f->probes, (uint32_t)pid);

	return err ? err : ready_sums(rec);
}

static int mapped(struct recording *rec, const struct rp_side_event *e)
{
	struct func *f = rec->ctx;
	int err = record_probes_mapped(f->probes, e);

	return err ? err : ready_sums(rec);
}

static int collect(struct recording *rec)
{
	struct func *f = rec->ctx;

	return f->own->count ? 0 : func_count_under_way(rec);
}

/* ---- report */

static const struct report_value_type *types(const struct recording *rec, size_t *n)
{
	static const struct report_value_type values[] = { { "calls", "count" },
							   { "time", "nanoseconds" } };

	(void)rec;
	*n = 2;
	return values;
}

static void describe(struct recording *rec, struct report_info *info)
{
	static char text[160];
	const struct options *opt = options_of(rec);

	if (!opt->nwords)
		return;
	snprintf(text, sizeof(text), "%s%s%s%s", opt->words[0], opt->nwords > 1 ? ", " : "",
		 opt->nwords > 1 ? opt->words[1] : "", opt->nwords > 2 ? ", ..." : "");
	info->event = text;
}

static int ledger(struct recording *rec, uint64_t kept, struct record_ledger *b)
{
	const struct func *f = rec->ctx;
	struct func_stats s;
	uint64_t entered = 0;
	int err = record_stacks_stats(rec->stacks, &s);

	if (!err && f->own->count)
		err = func_entered(rec, &entered);
	if (err)
		return rp_fail(err, "reading the program's counters: %s", strerror(-err));
	if (s.no_entry)
		rp_log(RP_INFO, "%" PRIu64 " returns of calls that had begun before are left out",
		       s.no_entry);
	if (s.values_full)
		rp_log(RP_WARN, "%" PRIu64 " values that were returned found no room",
		       s.values_full);
	if (s.events_full)
		rp_log(RP_WARN, "%" PRIu64 " beginnings of calls found no room in the ring",
		       s.events_full);
	if (s.too_nested)
		rp_log(RP_WARN,
		       "%" PRIu64 " calls are counted, but not how long they were: the kernel "
		       "sees the return of no more than 64 calls inside each other; --at-returns "
		       "sees all",
		       s.too_nested);
	b->report.events = "calls";
	b->report.kept = f->config.stacks ? kept
					  : s.returned + entered - s.sums_full * !f->own->count -
						    s.calls_full - rec->not_wanted;
	record_ledger_add(b, "shorter", s.shorter, REPORT_FILTERED);
	if (f->config.outer)
		record_ledger_add(b, "inside another call", s.inside, REPORT_FILTERED);
	record_ledger_add(b, "under way at the end", f->under_way, REPORT_FILTERED);
	record_ledger_add(b, "left without a return", s.left, REPORT_FILTERED);
	record_ledger_add(b, "their thread ended inside", s.thread_ended, REPORT_FILTERED);
	record_ledger_add(b, "too many threads", s.threads_full, REPORT_LOST);
	record_ledger_add(b, "inside too many others", s.too_deep, REPORT_LOST);
	record_ledger_add(b, "too nested for return probes", s.too_nested, REPORT_LOST);
	record_ledger_add(b, "too many sums", s.sums_full, REPORT_LOST);
	record_ledger_add(b, "no room to show", s.calls_full, REPORT_LOST);
	return 0;
}

/* ---- the command */

const struct record_profiler func_profiler = {
	.no_java = true,
	.command = "func",
	.nmaps = FUNC_MAPS,
	.weight = 1,
	.micros = true,
	.at_return = true,
	.often = true,
	.runs_often = true,
	.configure = configure,
	.attach = attach,
	.start = start,
	.stop = stop,
	.stop_at_loads = true,
	.loaded = loaded,
	.mapped = mapped,
	.collect = collect,
	.types = types,
	.describe = describe,
	.ledger = ledger,
};

/* --slower alone: each call as it ends. */
static int start_log(struct recording *rec)
{
	int err = func_log_begin(rec);

	return err ? err : start(rec);
}

static int collect_log(struct recording *rec)
{
	int err = func_log_drain(rec);

	return err ? err : collect(rec);
}

static void choose_view(const struct options *opt, struct record_profiler *profiler)
{
	const struct func_options *own = opt->own;
	const bool series = opt->record.interval > 0;

	profiler->no_stacks = !own->stacks;
	if (own->stacks) {
		profiler->samples = func_samples;
	} else if (own->graph || func_is_log(own)) {
		profiler->output = RECORD_LINES;
		profiler->start = start_log;
		profiler->drain = func_log_drain;
		profiler->collect = collect_log;
		profiler->report = func_log_report;
	} else if (own->values) {
		profiler->report = func_report_values;
		profiler->empty_grid = func_empty_values;
		profiler->output = RECORD_GRID;
	} else if (own->hist) {
		profiler->report = func_report_hists;
		profiler->interval = series ? func_report_hists_interval : NULL;
		profiler->output = RECORD_HISTS;
	} else {
		profiler->report = func_report_grid;
		profiler->empty_grid = func_empty_grid;
		profiler->interval = series ? func_report_interval : NULL;
		profiler->output = RECORD_GRID;
	}
}

static enum func_by by_name(const char *name)
{
	return !name || !strcmp(name, "function") ? FUNC_BY_FUNCTION
	       : !strcmp(name, "thread")	  ? FUNC_BY_THREAD
	       : !strcmp(name, "process")	  ? FUNC_BY_PROCESS
						  : FUNC_BY_COMM;
}

/* More are found when a process maps another file. */
#define MORE_FUNCTIONS 256
#define ROWS_BY 8192 /* sums by thread, process, command */
#define RING_BYTES (1 << 24)
#define MOST_CALLS (1 << 17)

/* Memory is taken as threads come; by default a user may have half of all (RLIMIT_NPROC). */
static void grow_calls(struct asm_map *calls)
{
	const uint32_t threads = record_threads_most();

	calls->flags = BPF_F_NO_PREALLOC;
	if (threads > calls->max_entries)
		calls->max_entries = threads < MOST_CALLS ? threads : MOST_CALLS;
}

static void size_maps(struct func *f)
{
	const uint32_t found = f->probes ? record_probes_count(f->probes) : 0;
	const uint32_t functions = found + MORE_FUNCTIONS;
	const bool grows = rp_has(RP_HAS_UPROBE_MULTI); /* memory when it is needed, also here */

	memcpy(f->maps, rp_func_maps, sizeof(f->maps));
	f->maps[FUNC_MAP_CALLS].value_size = f->maps[FUNC_MAP_NO_PAGE].value_size =
		FUNC_PAGE_BYTES(f->config.slot_bytes);
	f->maps[FUNC_MAP_SUMS].max_entries = f->by == FUNC_BY_FUNCTION ? functions : ROWS_BY;
	if (grows) {
		grow_calls(&f->maps[FUNC_MAP_CALLS]);
		f->maps[FUNC_MAP_SUMS].flags = BPF_F_NO_PREALLOC;
	}
	if (f->own->count)
		f->maps[FUNC_MAP_CALLS].max_entries = 1;
	f->config.most_pages = f->maps[FUNC_MAP_CALLS].max_entries;
	if (!f->config.stacks)
		f->maps[STACK_MAP_COUNTS].max_entries = 1;
	if (!f->config.sums)
		f->maps[FUNC_MAP_SUMS].max_entries = 1;
	if (f->config.values)
		f->maps[FUNC_MAP_VALUES].max_entries = FUNC_VALUES;
	if (f->config.send)
		f->maps[FUNC_MAP_EVENTS].max_entries = RING_BYTES;
	if (f->probes && record_probes_kinds(f->probes) & RECORD_PROBE_BIT(RECORD_PROBE_SYSCALL))
		f->maps[FUNC_MAP_SYSCALLS].max_entries = RECORD_SYSCALLS;
}

static void make_config(struct func *f)
{
	const struct func_options *own = f->own;

	const bool log = func_is_log(own);

	f->by = by_name(own->by);
	f->config = (struct func_config){
		.slower_ns = own->slower_us * 1000,
		.slot_bytes = log || own->graph ? sizeof(struct func_call) : FUNC_SHORT_CALL,
		.most_depth = FUNC_DEPTH,
		.sums = !log && !own->graph && !own->values && !own->stacks,
		.values = own->values,
		.stacks = own->stacks,
		.log = log,
		.graph = own->graph,
		.send = log || own->graph,
		.args = log || own->graph,
		.by_thread = f->by == FUNC_BY_THREAD,
		.by_process = f->by == FUNC_BY_PROCESS,
		.by_comm = f->by != FUNC_BY_FUNCTION,
	};
}

static int record(const struct options *opt, struct func *f)
{
	struct record_profiler profiler = func_profiler;
	struct options both_sides = *opt;

	/* In this command -U and -K choose functions, not the side of the stacks. */
	both_sides.record.user_only = both_sides.record.kernel_only = false;
	make_config(f);
	size_maps(f);
	profiler.maps = f->maps;
	choose_view(opt, &profiler);
	return run_profiler(&profiler, &both_sides, f);
}

int func_run(const struct options *opt)
{
	struct func f = { .own = opt->own,
			  .going = HASH_MAP(struct func_going, function),
			  .seen = HASH_MAP(struct func_seen, key) };
	const unsigned long errors = rp_log_errors();
	int status, err;

	if (f.own->list)
		return func_list(opt);
	err = opt->nwords ? func_find(opt, &f.probes) : 0;
	if (err)
		return command_failed(opt->command, err, errors);
	status = record(opt, &f);
	record_probes_close(f.probes);
	rp_ring_close(f.ring);
	func_graph_free(f.graph);
	func_log_free(&f);
	rp_hash_free(&f.going);
	rp_hash_free(&f.seen);
	return status;
}
