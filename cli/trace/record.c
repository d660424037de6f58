/* SPDX-License-Identifier: BSD-2-Clause */
/* The recording of events: a program for each, and what comes through the ring. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/views.h"
#include "trace.h"

/* ---- programs */

/* Where the words are that say where data of variable length lie. */
static int note_data(const struct record_event *event, struct trace_config *c)
{
	uint32_t n = 0;

	memset(c->loc, 0, sizeof(c->loc));
	for (uint32_t i = 0; i < event->nfields; i++) {
		const struct record_field *f = &event->fields[i];

		if (!f->data_loc && !f->rel_loc)
			continue;
		if (n == TRACE_LOCS)
			return rp_fail(-EOPNOTSUPP, "%s has more than %d fields of variable length",
				       event->name, TRACE_LOCS);
		c->loc[n] = f->offset;
		c->loc_base[n++] = f->rel_loc ? f->offset + 4 : 0;
	}
	return 0;
}

int trace_describe(const struct record_event *event, struct trace_config *c)
{
	if (event->bytes > TRACE_BYTES)
		return rp_fail(-E2BIG, "a record of %s has %u bytes: more than %d are not read",
			       event->name, event->bytes, TRACE_BYTES);
	c->bytes = event->bytes;
	c->reserve = (uint32_t)sizeof(struct trace_record) + event->bytes;
	return note_data(event, c);
}

static int load_event(struct recording *rec, uint32_t number)
{
	struct trace *trace = rec->ctx;
	const struct record_event *event = trace->events.event[number].record;
	struct rp_program *program = &trace->programs[trace->nprograms++];
	struct trace_config *c = &trace->config;
	int err;

	*program = rp_trace_event_programs[0];
	program->hook.group = event->format.group;
	program->hook.name = event->format.event;
	if (trace->filters)
		program->code.lines = trace->filters[number].lines;
	c->event = number;
	err = trace_describe(event, c);
	if (!err && trace_is_tally(trace))
		err = trace_tally_describe(trace, &trace->events.event[number], &c->tally);
	c->tally.comm |= c->tally.on && rec->comm_glob;
	if (!err)
		err = record_load(rec, program, c);
	return err < 0 ? err : 0;
}

static int choose_cpus(struct recording *rec)
{
	const struct trace *trace = rec->ctx;
	const int fd = record_stacks_map(rec->stacks, TRACE_MAP_CPUS);
	int err = 0;

	for (int i = 0; !err && i < trace->cpus.n; i++)
		err = rp_map_update(fd, &trace->cpus.cpu[i], &(uint32_t){ 1 }, BPF_ANY);
	return err;
}

static int attach(struct recording *rec)
{
	struct trace *trace = rec->ctx;
	struct trace_config *c = &trace->config;
	int err = record_open_ring(rec, TRACE_MAP_RING, &trace->ring);

	if (!err)
		err = choose_cpus(rec);
	c->common = rec->config;
	c->common.kept_bare = 1;
	c->wake_bytes = trace->maps[TRACE_MAP_RING].max_entries / 4;
	c->own[0] = (uint32_t)getpid();
	c->own[1] = rec->keeper ? (uint32_t)record_keeper_pid(rec->keeper) : c->own[0];
	c->by_cpu = trace->cpus.n != 0;
	c->stacks = trace->own->stacks;
	c->filter = trace->filters != NULL;
	for (uint32_t i = 0; !err && i < trace->events.n; i++)
		if (trace->events.event[i].kind == TRACE_TRACEPOINT)
			err = load_event(rec, i);
		else if (trace->events.event[i].kind == TRACE_USDT)
			err = trace_usdt_load(rec, i);
	if (!err && trace->events.ncalls && trace_is_tally(trace))
		err = trace_tally_calls(trace);
	c->tally.comm |= c->tally.on && rec->comm_glob;
	return !err && trace->events.ncalls ? trace_calls_attach(rec) : err;
}

/* ---- records */

/*
 * How long after its time a record may still come: a tracepoint's at once, a system call's when it
 * ends. One that takes longer is shown behind those that began after it.
 */
#define LATE_NS (NS_PER_SECOND / 1000)
#define LATE_CALL_NS (NS_PER_SECOND / 10)

static int take_record(void *ctx, const void *record, size_t size)
{
	const struct trace_record *r = record;
	struct recording *rec = ctx;
	struct trace *trace = rec->ctx;

	if (size < sizeof(*r) || r->bytes != size - sizeof(*r) || r->event >= trace->events.n)
		return -EBADMSG;
	return trace_hold(&trace->held, record, size);
}

static int show_record(void *ctx, const struct trace_record *r)
{
	struct recording *rec = ctx;
	struct trace *trace = rec->ctx;
	char comm[17] = "";

	memcpy(comm, r->comm, sizeof(r->comm));
	if (!record_comm_wanted(rec, comm)) {
		rec->not_wanted++;
		return 0;
	}
	if (trace->own->max_events && trace->printed == trace->own->max_events) {
		trace->beyond++;
		return 0;
	}
	if (++trace->printed == trace->own->max_events)
		record_stop(rec);
	return trace_put_line(rec, r);
}

/* More than this is not held: then the ring fills, and what finds no room is lost, and counted. */
#define MOST_HELD (64u << 20)

/* Lines take longer than events do in a burst, so the ring is emptied between them. */
static int take_more(void *ctx)
{
	struct recording *rec = ctx;
	struct trace *trace = rec->ctx;
	int n = 0;

	if (trace->held.nbytes < MOST_HELD &&
	    rp_ring_pending(trace->ring) > trace->config.wake_bytes)
		n = rp_ring_drain(trace->ring, take_record, rec);
	return n < 0 ? n : 0;
}

/* Of stacks that records refer to, those before `until` have been drained. */
static int drain_until(struct recording *rec, uint64_t until)
{
	struct trace *trace = rec->ctx;
	const struct trace_release_to lines = { show_record, take_more, rec };
	int err = rp_ring_drain(trace->ring, take_record, rec);

	if (err >= 0)
		err = trace_release(&trace->held, until, &lines);
	if (!err)
		err = output_flush(output_of(rec));
	return err < 0 ? output_failed(output_of(rec), err) : 0;
}

static int drain(struct recording *rec)
{
	struct trace *trace = rec->ctx;
	const uint64_t now = rp_monotonic_ns();
	uint64_t until = now - (trace->events.ncalls ? LATE_CALL_NS : LATE_NS);
	/* The ring of stacks has been drained a moment ago, but not up to now. */
	int err = rec->tables || rec->config.kernel_bytes ? record_stacks_drain(rec->stacks) : 0;

	/* What was mapped since the last time is not known before this drain is over. */
	if (trace->own->stacks) {
		if (trace->drained < until)
			until = trace->drained;
		trace->drained = now;
	}
	return err ? err : drain_until(rec, until);
}

static int begin(struct recording *rec)
{
	const struct trace *trace = rec->ctx;
	const bool shows_lines = !options_of(rec)->dry_run && !trace_is_tally(trace);
	int err = shows_lines ? output_empty(output_of(rec)) : 0;

	if (!err && shows_lines)
		trace_begin_lines(rec);
	if (!err && trace->nprograms)
		err = record_attach_list(rec, trace->programs);
	if (!err && trace->events.ncalls)
		err = record_attach_list(rec, rp_trace_call_programs);
	if (!err)
		err = trace_func_attach(rec);
	return err ? err : trace_usdt_attach(rec);
}

static int stop(struct recording *rec)
{
	struct trace *trace = rec->ctx;

	record_usdt_detach(&trace->usdt.links);
	if (trace->funcs.probes)
		record_probes_detach(trace->funcs.probes);
	record_detach_list(rec, NULL);
	return 0;
}

static int collect(struct recording *rec)
{
	struct trace *trace = rec->ctx;

	int err = trace->events.ncalls ? trace_calls_collect(rec) : 0;

	if (!err)
		err = trace_func_collect(rec);
	trace->missed = record_runs(rec, NULL, RECORD_ALL_ROLES).missed;
	if (err || trace_is_tally(trace))
		return err;
	err = drain_until(rec, UINT64_MAX);
	return err ? err : trace_end_lines(rec);
}

/* ---- the ledger */

static int ledger(struct recording *rec, uint64_t kept, struct record_ledger *b)
{
	const struct trace *trace = rec->ctx;
	struct trace_stats stats;
	int err = record_stacks_stats(rec->stacks, &stats);

	(void)kept;
	if (err)
		return err;
	b->report.events = "events";
	b->report.fired += trace->missed;
	record_ledger_add(b, "rawprof's own", stats.own, REPORT_FILTERED);
	record_ledger_add(b, "by --filter", stats.left_out, REPORT_FILTERED);
	record_ledger_add(b, "behind --max-events", trace->beyond, REPORT_FILTERED);
	record_ledger_add(b, "below 0", stats.below, REPORT_FILTERED);
	record_ledger_add(b, "under way at the end", trace->under_way, REPORT_FILTERED);
	record_ledger_add(b, "their thread ended inside", stats.ended, REPORT_FILTERED);
	record_ledger_add(b, "nested", trace->missed, REPORT_LOST);
	record_ledger_add(b, "map full", stats.map_full + stats.keys_full, REPORT_LOST);
	record_ledger_add(b, "end not seen", stats.no_end, REPORT_LOST);
	if (stats.stack_lost)
		rp_log(RP_WARN, "%llu events are without their stack: there was no room for it",
		       (unsigned long long)stats.stack_lost);
	return 0;
}

static int report(struct recording *rec)
{
	const struct trace *trace = rec->ctx;

	return ledger_print(rec, trace->printed, "events");
}

/* ---- all together */

static int make_filters(struct trace *trace)
{
	int err = 0;

	if (!trace->own->filter)
		return 0;
	trace->filters = calloc(trace->events.n + 1, sizeof(*trace->filters));
	if (!trace->filters)
		return -ENOMEM;
	trace->nfilters = trace->events.n;
	for (size_t i = 0; !err && i < trace->events.n; i++) {
		const struct trace_event *event = &trace->events.event[i];

		if (event->call)
			err = trace_calls_filter(trace, i);
		else if (event->kind == TRACE_FUNC)
			err = i == trace->funcs.first ? trace_func_filter(trace) : 0;
		else
			err = trace_filter_make(trace->own->filter, event->record,
						event->kind == TRACE_USDT
							? &rp_trace_usdt_programs[0]
							: &rp_trace_event_programs[0],
						&trace->filters[i]);
	}
	return err;
}

int trace_setup(struct trace *trace, const struct options *opt)
{
	int err;

	trace->config.text_bytes =
		trace->own->string_bytes ? (uint32_t)trace->own->string_bytes : TRACE_STRING_BYTES;
	err = make_filters(trace);
	if (err)
		return err;
	if (opt->record.cpus)
		err = rp_cpus_parse(opt->record.cpus, &trace->cpus);
	if (err)
		return rp_fail(err, "'%s' is no list of CPUs", opt->record.cpus);
	trace->programs =
		calloc(TRACE_CALL_PROGRAMS * trace->events.n + 1, sizeof(*trace->programs));
	if (!trace->programs)
		return -ENOMEM;
	memcpy(trace->maps, rp_trace_maps, sizeof(trace->maps));
	trace->maps[TRACE_MAP_TALLIES].value_size = trace->maps[TRACE_MAP_ZERO].value_size = 8;
	trace_calls_configure(trace);
	trace_func_configure(trace);
	if (!trace->own->stacks)
		trace->maps[STACK_MAP_COUNTS].max_entries = 1;
	if (trace->cpus.n)
		trace->maps[TRACE_MAP_CPUS].max_entries = (uint32_t)trace->cpus.n;
	trace->profiler = (struct record_profiler){ .command = "trace",
						    .maps = trace->maps,
						    .nmaps = TRACE_MAPS,
						    .no_stacks = !trace->own->stacks,
						    .often = true,
						    .runs_often = true,
						    .output = RECORD_LINES,
						    .attach = attach,
						    .start = begin,
						    .stop = stop,
						    .drain = drain,
						    .collect = collect,
						    .report = report,
						    .ledger = ledger };
	if (trace->funcs.probes) {
		trace->profiler.stop_at_loads = true;
		trace->profiler.loaded = trace_func_loaded;
		trace->profiler.mapped = trace_func_mapped;
	}
	return trace_is_tally(trace) ? trace_tally_setup(trace, opt) : 0;
}

void trace_free(struct trace *trace)
{
	rp_ring_close(trace->ring);
	trace_held_free(&trace->held);
	record_out_free(&trace->line);
	trace_stacks_free(trace);
	rp_id_set_free(&trace->named);
	trace_usdt_free(&trace->usdt);
	trace_func_free(&trace->funcs);
	for (size_t i = 0; i < trace->nfilters; i++)
		trace_filter_free(&trace->filters[i]);
	free(trace->filters);
	trace_tally_free(trace);
	trace_events_free(&trace->events);
	rp_cpus_free(&trace->cpus);
	free(trace->programs);
}
