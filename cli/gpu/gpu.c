/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rawprof gpu: who launches GPU work, copies, allocates, and waits for it? Probes on the functions
 * of the runtimes (table.c); the programs are those of func, which send each call as it ends, with
 * its arguments. What it comes to is added up here.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "gpu.h"

#define RING_BYTES (4u << 20)
#define PATTERN_BYTES 64
#define MAX_PATTERNS 96

/* ---- calls */

static uint64_t argument(const struct func_event *e, uint8_t number)
{
	return number && number <= FUNC_ARGS ? e->args[number - 1] : 0;
}

static uint64_t bytes_of(const struct gpu_call *c, const struct func_event *e)
{
	const uint64_t bytes = argument(e, c->bytes) * (c->unit ? c->unit : 1);

	return c->times ? bytes * argument(e, c->times) : bytes;
}

static bool waits(const struct gpu_call *c, const struct func_event *e)
{
	return c->class == GPU_WAIT || c->blocks == GPU_ALWAYS ||
	       (uint32_t)argument(e, c->blocks); /* a cl_bool has 4 bytes */
}

const struct gpu_call *gpu_call_at(struct gpu *g, uint32_t function)
{
	struct gpu_known *known = rp_hash_find(&g->known, &function);
	const struct record_probe *probe;
	const struct gpu_call *c;

	if (known)
		return known->call;
	probe = record_probes_at(g->func.probes, function);
	c = gpu_call_of(probe ? probe->symbol : "");
	known = rp_hash_add(&g->known, &function);
	if (known)
		known->call = c;
	return c;
}

static int add_call(struct recording *rec, const struct gpu_call *c, const struct func_event *e,
		    uint64_t kernel)
{
	struct gpu *g = rec->ctx;
	const struct gpu_key key = {
		.pid = (uint32_t)(e->ids >> 32),
		.function = g->by == GPU_BY_PROCESS ? 0 : e->function,
		.level = g->own->levels ? e->depth : 0,
		.kernel = g->by == GPU_BY_KERNEL ? kernel : 0,
	};
	struct gpu_row *row = rp_hash_find(&g->rows, &key);

	if (!row && !record_share_take(&g->row_share, record_whose(&rec->whose, key.pid), 1)) {
		g->no_room++;
		return 0;
	}
	if (!row)
		row = rp_hash_add(&g->rows, &key);
	if (!row)
		return -ENOMEM;
	row->calls++;
	row->class_calls[c->class]++;
	row->ns += e->ns;
	row->longest_ns = e->ns > row->longest_ns ? e->ns : row->longest_ns;
	row->bytes += bytes_of(c, e);
	row->wait_ns += waits(c, e) ? e->ns : 0;
	memcpy(row->comm, e->comm, sizeof(e->comm));
	return 0;
}

/* By kernel, the call that names it counts, at whichever level it is. */
static bool is_row(struct gpu *g, const struct func_event *e, uint64_t kernel)
{
	if (g->by == GPU_BY_KERNEL && !kernel) {
		g->not_launches++;
		return false;
	}
	if (e->depth && !g->own->levels) {
		g->nested++;
		return false;
	}
	return true;
}

static int take_call(void *ctx, const void *data, size_t size)
{
	struct recording *rec = ctx;
	struct gpu *g = rec->ctx;
	const struct gpu_call *c;
	struct func_event e;
	uint64_t kernel;
	int err = 0;

	if (size < sizeof(e))
		return 0;
	memcpy(&e, data, sizeof(e));
	c = gpu_call_at(g, e.kind == FUNC_RETURNS ? e.function : GPU_NO_FUNCTION);
	if (rec->comm_glob && !record_comm_wanted(rec, e.comm)) {
		rec->not_wanted++;
		return 0;
	}
	if (c->names)
		err = gpu_name_handle(rec, &e, argument(&e, c->names));
	kernel = argument(&e, c->address ? c->address : c->handle);
	if (!err && kernel)
		err = gpu_see_kernel(rec, &e, kernel, c->address != 0);
	return err || !is_row(g, &e, kernel) ? err : add_call(rec, c, &e, kernel);
}

static int drain(struct recording *rec)
{
	struct gpu *g = rec->ctx;
	int n = rp_ring_drain(g->func.ring, take_call, rec);

	return n < 0 ? n : 0;
}

/* Looking through a large file takes time, in which what calls name may go. */
static int mapped(struct recording *rec, const struct rp_side_event *e)
{
	int err = drain(rec);

	return err ? err : func_profiler.mapped(rec, e);
}

static int collect(struct recording *rec)
{
	int err = drain(rec);

	return err ? err : func_profiler.collect(rec);
}

static int ledger(struct recording *rec, uint64_t kept, struct record_ledger *l)
{
	const struct gpu *g = rec->ctx;
	int err = func_profiler.ledger(rec, kept, l);

	if (err)
		return err;
	if (g->own->stacks) /* which the kernel counts */
		return 0;
	l->report.kept -= g->nested + g->not_launches + g->no_room;
	record_ledger_add(l, "inside another call", g->nested, REPORT_FILTERED);
	record_ledger_add(l, "no launch", g->not_launches, REPORT_FILTERED);
	record_ledger_add(l, "no room for more rows", g->no_room, REPORT_LOST);
	return 0;
}

static void describe(struct recording *rec, struct report_info *info)
{
	const struct gpu *g = rec->ctx;

	info->event = g->own->stacks ? "GPU runtimes" : "calls of GPU runtimes";
}

/* With --stacks: what the call of a sample is for. */
static const char *class_of(const struct record_probe *p)
{
	return gpu_class_name(gpu_call_of(p->symbol)->class);
}

/* ---- functions */

/*
 * A target's own files, and the machine's libraries, which it may load later. A library that is not
 * there is not missed. Those of libraries come first: patterns beyond the 63rd share what the list
 * of probes remembers of a file, which holds for those of the target.
 */
static int find(const struct options *opt, struct record_probes **out)
{
	const struct gpu_options *own = opt->own;
	const bool has_target = opt->record.program || opt->record.pids.n;
	const struct record_probe_scope scope = {
		.pids = opt->record.pids.id,
		.npids = opt->record.pids.n,
		.program = opt->record.program ? opt->record.program[0] : NULL,
		.kinds = RECORD_PROBE_BIT(RECORD_PROBE_USER),
		.alone = own->alone,
		.at_returns = own->stacks, /* as func --stacks */
		.later = true,
	};
	static char text[MAX_PATTERNS][PATTERN_BYTES];
	const char *patterns[MAX_PATTERNS];
	size_t n = 0;

	/* What doctor says does not hang on the libraries that are installed. */
	for (const struct gpu_pattern *p = gpu_patterns; !opt->dry_run && p->glob; p++, n++)
		snprintf(text[n], PATTERN_BYTES, "%s:%s", p->library, p->glob);
	for (const struct gpu_pattern *p = gpu_patterns; has_target && p->glob; p++, n++)
		snprintf(text[n], PATTERN_BYTES, ":%s", p->glob);
	for (size_t i = 0; i < n; i++)
		patterns[i] = text[i];
	return record_probes_open(&scope, patterns, n, out);
}

static int check_found(const struct options *opt, const struct gpu *g)
{
	const bool has_target = opt->record.program || opt->record.pids.n;

	if (record_probes_count(g->func.probes))
		return 0;
	if (!has_target)
		return rp_fail(-ENOENT,
			       "no GPU runtime is installed here: none of libcuda, libcudart, "
			       "libamdhip64, libze_loader, libOpenCL; of a program that brings its "
			       "own, say -p PID or -- PROGRAM");
	rp_log(RP_INFO, "no GPU runtime is loaded yet");
	return 0;
}

/* ---- the command */

static void make_config(struct gpu *g)
{
	const bool stacks = g->own->stacks;
	struct func *f = &g->func;

	f->config = (struct func_config){ .slot_bytes = stacks ? FUNC_SHORT_CALL
							       : sizeof(struct func_call),
					  .most_depth = FUNC_DEPTH,
					  .stacks = stacks,
					  .outer = stacks,
					  .args = !stacks,
					  .log = !stacks,
					  .send = !stacks };
	memcpy(f->maps, rp_func_maps, sizeof(f->maps));
	f->maps[FUNC_MAP_CALLS].value_size = f->maps[FUNC_MAP_NO_PAGE].value_size =
		FUNC_PAGE_BYTES(f->config.slot_bytes);
	f->config.most_pages = f->maps[FUNC_MAP_CALLS].max_entries;
	if (!stacks)
		f->maps[FUNC_MAP_EVENTS].max_entries = RING_BYTES;
	if (rp_has(RP_HAS_UPROBE_MULTI)) /* memory when it is needed, also here */
		f->maps[FUNC_MAP_CALLS].flags = BPF_F_NO_PREALLOC;
}

static enum gpu_by by_of(const struct gpu_options *own)
{
	return !own->by || !strcmp(own->by, "function") ? GPU_BY_FUNCTION
	       : !strcmp(own->by, "process")		? GPU_BY_PROCESS
							: GPU_BY_KERNEL;
}

static void choose_view(const struct gpu *g, struct record_profiler *profiler)
{
	profiler->command = "gpu";
	profiler->maps = g->func.maps;
	profiler->ledger = ledger;
	profiler->describe = describe;
	profiler->no_stacks = !g->own->stacks;
	if (g->own->stacks) {
		profiler->samples = func_samples;
		profiler->color_by_label = "class";
		profiler->label_order = gpu_class_names;
		return;
	}
	profiler->output = RECORD_GRID;
	profiler->report = gpu_report;
	profiler->empty_grid = gpu_empty_grid;
	profiler->drain = drain;
	profiler->mapped = mapped;
	profiler->collect = collect;
}

static int run(const struct options *opt)
{
	struct record_profiler profiler = func_profiler;
	struct gpu g = { .func = { .class_of = class_of,
				   .going = HASH_MAP(struct func_going, function),
				   .seen = HASH_MAP(struct func_seen, key) },
			 .own = opt->own,
			 .rows = HASH_MAP(struct gpu_row, key),
			 .kernels = HASH_MAP(struct gpu_kernel, key),
			 .known = HASH_MAP(struct gpu_known, function),
			 .row_share = RECORD_SHARE(GPU_MOST, "rows"),
			 .kernel_share = RECORD_SHARE(GPU_MOST, "names of kernels"),
			 .costs = record_read_costs("time for names of kernels") };
	const unsigned long errors = rp_log_errors();
	int status, err = find(opt, &g.func.probes);

	g.func_own = (struct func_options){ .stacks = g.own->stacks, .alone = g.own->alone };
	g.func.own = &g.func_own;
	g.by = by_of(g.own);
	if (!err)
		err = check_found(opt, &g);
	if (err) {
		record_probes_close(g.func.probes);
		return command_failed(opt->command, err, errors);
	}
	make_config(&g);
	choose_view(&g, &profiler);
	status = run_profiler(&profiler, opt, &g);
	record_probes_close(g.func.probes);
	rp_ring_close(g.func.ring);
	rp_hash_free(&g.func.going);
	rp_hash_free(&g.func.seen);
	rp_hash_free(&g.rows);
	rp_hash_free(&g.known);
	record_share_free(&g.row_share);
	gpu_names_free(&g);
	return status;
}

static const char *check(const struct options *opt)
{
	const struct gpu_options *own = opt->own;

	if (own->alone && !opt->record.program && !opt->dry_run)
		return "--no-children is for -- PROGRAM";
	if (own->stacks)
		return own->by || own->levels
			       ? "--by and --levels are for the tables: without --stacks"
			       : NULL;
	if (opt->given & TAKES_FRAMES)
		return "options of stacks (--user, --call-graph, --weight, ...) are for --stacks";
	if (!opt->format->write_grid)
		return "a format of stacks: with --stacks";
	return NULL;
}

#define OPTION_STRUCT struct gpu_options
static const struct option_row own[] = {
	OPTION("by", 0, VIEW, WORD, by, "WHAT",
	       "a row for each function of each process, for each process, or for each kernel that "
	       "is launched",
	       .words = "function process kernel"),
	FLAG("levels", 0, VIEW, levels,
	     "calls inside of others too (the runtime calls the driver), with their level; else "
	     "the outer ones alone count"),
	FLAG("stacks", 0, VIEW, stacks,
	     "who calls: stacks, by calls and their time, with what the call is for (launch, copy, "
	     "wait, ...)"),
	FLAG("no-children", 0, TARGET, alone,
	     "of -- PROGRAM its own process alone, not what it starts"),
	{ "sort", 0, OPTION_OUTPUT, OPTION_SAYS, .arg = "KEY",
	  .help = "order of the table, by default time (or a column of words)",
	  .words = "calls time average max bytes waiting" },
	{ 0 },
};
#undef OPTION_STRUCT

const struct command gpu_command = {
	.name = "gpu",
	.summary = "who launches GPU work, copies, waits for it?",
	.about = "Who has the GPU work, and who waits for it? Counts and measures the calls of "
		 "programs into the runtimes: CUDA's driver and runtime, HIP, Level Zero, OpenCL. "
		 "Calls, time, bytes that are copied and allocated, and the time that the program "
		 "stands still until the GPU is done. Only names of exported functions are needed, "
		 "no source and no symbols of the driver.",
	.examples = "  rawprof gpu -- ./prog args               a program, from start to end\n"
		    "  rawprof gpu -p 1234 --by kernel 10       which kernels it launches\n"
		    "  rawprof gpu --by process 10              all processes, by what they wait\n"
		    "  rawprof gpu --stacks -o gpu.svg -- ./prog  who calls it, as a flame graph\n",
	.takes = TAKES_RESULT | TAKES_TARGET | TAKES_FRAMES | TAKES_ROWS,
	.own = own,
	.own_size = sizeof(struct gpu_options),
	.check = check,
	.run = run,
};
