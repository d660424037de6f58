/* SPDX-License-Identifier: BSD-2-Clause */
/* The recordings below `rawprof top`: opened, drained, read. */
#include "sources.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/grow.h"
#include "record/system.h"

/* What nobody asks about any more is given back so often. */
#define REST_NS (10 * NS_PER_SECOND)

/* In the order in which they are opened: what takes longest comes last. */
static const struct top_source_kind *const kinds[TOP_SOURCES] = {
	&top_source_cpu,      &top_source_disks, &top_source_queue,  &top_source_waits,
	&top_source_syscalls, &top_source_locks, &top_source_memory,
};

/* ---- one of them */

static void forget_known(struct top_source *s)
{
	for (size_t i = 0; i < s->nknown; i++) {
		free(s->known[i].name);
		free(s->known[i].module);
	}
	free(s->known);
	s->known = NULL;
	s->nknown = s->known_capacity = 0;
}

void top_source_close(struct top_source *s)
{
	if (s->state == TOP_SOURCE_ON)
		record_close(&s->rec);
	if (s->kind->close && s->state_of_kind)
		s->kind->close(s);
	free(s->state_of_kind);
	s->state_of_kind = NULL;
	forget_known(s);
	top_slice_free(s);
	s->state = TOP_SOURCE_OFF;
}

static void keep_reason(void *ctx, enum rp_level level, const char *message)
{
	struct top_source *s = ctx;

	if (level == RP_ERROR && !*s->why)
		snprintf(s->why, sizeof(s->why), "%s", message);
}

static int open_recording(struct top_source *s)
{
	int err;

	s->options = s->all->opt->record;
	s->options.signals = s->options.confine = false;
	s->options.duration = s->options.interval = 0;
	s->state_of_kind = calloc(1, s->kind->size ? s->kind->size : 1);
	err = s->state_of_kind ? s->kind->open(s) : -ENOMEM;
	if (err)
		return err;
	record_init(&s->rec, &s->profiler, &s->options, s->ctx);
	err = record_open(&s->rec);
	if (!err)
		err = record_begin(&s->rec);
	if (err)
		record_close(&s->rec);
	return err;
}

/* It ends alone. Returns err. */
static int fail(struct top_source *s, int err)
{
	if (s->state == TOP_SOURCE_ON)
		top_source_close(s);
	s->state = TOP_SOURCE_FAILED;
	if (!*s->why)
		snprintf(s->why, sizeof(s->why), "%s", strerror(-err));
	return err;
}

/* While it opens, what it says is kept as the reason of its failure. */
int top_source_open(struct top_source *s, bool quiet)
{
	int err;

	*s->why = '\0';
	if (quiet)
		rp_log_setup(RP_ERROR, keep_reason, s);
	err = open_recording(s);
	if (quiet)
		rp_log_setup(RP_ERROR, keep_reason, &s->all->source[0]);
	s->ticked = rp_monotonic_ns();
	s->runs = (struct record_runs){ 0 };
	s->stats = (struct program_stats){ 0 };
	s->slice = (struct top_slice){ .edge = UINT64_MAX, .begun = s->ticked };
	memset(s->cost, 0, sizeof(s->cost));
	s->state = TOP_SOURCE_ON;
	if (err) {
		s->state = TOP_SOURCE_OFF;
		top_source_close(s);
		return fail(s, err);
	}
	err = top_slice_can(s) ? top_slice_first(s) : 0;
	return err ? fail(s, err) : 0;
}

/* One of them, so that what has come meanwhile can be taken. */
static bool open_waiting(struct top_sources *s)
{
	for (int i = 0; i < TOP_SOURCES; i++)
		if (s->source[i].state == TOP_SOURCE_WAITING) {
			top_source_open(&s->source[i], true);
			return true;
		}
	return false;
}

struct top_window *top_sources_window(struct top_sources *s)
{
	struct top_window *w = top_window_new();

	if (w)
		w->whose = &s->whose;
	return w;
}

/* The first has to open; of the others it is said in their panels why they do not. */
int top_sources_open(struct top_sources *s, const struct options *opt, bool bpf, bool always,
		     bool at_once)
{
	struct rlimit files;
	int err;

	*s = (struct top_sources){ .opt = opt, .since = rp_monotonic_ns() };
	s->stats = rp_stats_enable();
	if (!getrlimit(RLIMIT_NOFILE,
		       &files)) { /* before the first recording does, and undoes it */
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	s->window = top_sources_window(s);
	err = s->window ? top_machine_open(&s->machine) : -ENOMEM;
	if (!err && bpf)
		err = top_bpf_open(&s->bpf);
	for (int i = 0; i < TOP_SOURCES; i++) {
		s->source[i].kind = kinds[i];
		s->source[i].all = s;
		s->source[i].asked = always;
	}
	if (!err)
		err = top_source_open(&s->source[0], false);
	for (int i = 1; !err && i < TOP_SOURCES; i++)
		if (always || (kinds[i]->at_once && !bpf))
			s->source[i].state = TOP_SOURCE_WAITING;
	while (at_once && !err && open_waiting(s))
		;
	rp_log_setup(RP_ERROR, keep_reason, &s->source[0]);
	return err;
}

void top_sources_close(struct top_sources *s)
{
	for (int i = 0; i < TOP_SOURCES; i++)
		if (s->source[i].kind)
			top_source_close(&s->source[i]);
	top_bpf_close(s->bpf);
	top_machine_close(s->machine);
	top_window_free(s->window);
	record_whose_free(&s->whose);
	if (s->stats >= 0)
		close(s->stats);
}

void top_sources_want(struct top_sources *s, enum top_panel panel)
{
	if (panel == TOP_BPF && !s->bpf)
		top_bpf_open(&s->bpf);
	for (int i = 0; i < TOP_SOURCES; i++)
		if (s->source[i].kind->panel == panel && s->source[i].state == TOP_SOURCE_OFF)
			top_source_open(&s->source[i], true);
}

static void run_always(struct top_source *s)
{
	s->asked = true;
	if (s->state != TOP_SOURCE_ON)
		top_source_open(s, true);
	else if (s->slice.on && top_slice_none(s))
		fail(s, -EIO);
}

void top_sources_ask(struct top_sources *s, enum top_panel panel, bool wanted)
{
	for (int i = 0; i < TOP_SOURCES; i++) {
		struct top_source *source = &s->source[i];

		if (source->kind->panel != panel || source->kind->needed)
			continue;
		if (wanted) {
			run_always(source);
		} else if (source->state == TOP_SOURCE_ON) {
			top_source_close(source);
			source->state = TOP_SOURCE_REFUSED;
		}
	}
}

/* ---- draining */

static int drain(struct top_source *s, uint64_t now)
{
	int err = record_drain(&s->rec);

	record_forget_ended(&s->rec);
	if (!err && now - s->ticked >= NS_PER_SECOND) {
		s->ticked = now;
		err = record_tick(&s->rec);
	}
	return err;
}

static int drain_source(struct top_source *s)
{
	int err = drain(s, rp_monotonic_ns());

	if (!err)
		return 0;
	fail(s, err);
	return s->kind->needed ? err : 0;
}

static uint64_t urgent_ns(const struct top_sources *s)
{
	uint64_t first = UINT64_MAX;

	for (int i = 0; i < TOP_SOURCES; i++) {
		const struct top_source *source = &s->source[i];
		const uint64_t ns = source->state == TOP_SOURCE_ON && source->rec.tables
					    ? record_tables_urgent(source->rec.tables)
					    : UINT64_MAX;

		first = ns < first ? ns : first;
	}
	return first;
}

static uint64_t first_edge(const struct top_sources *s)
{
	uint64_t first = UINT64_MAX;

	for (int i = 0; i < TOP_SOURCES; i++)
		if (s->source[i].state == TOP_SOURCE_ON && s->source[i].slice.edge < first)
			first = s->source[i].slice.edge;
	return first;
}

static void turn_slices(struct top_sources *s)
{
	for (int i = 0; i < TOP_SOURCES; i++) {
		struct top_source *source = &s->source[i];
		int err = source->state == TOP_SOURCE_ON && source->slice.edge <= rp_monotonic_ns()
				  ? top_slice_turn(source)
				  : 0;

		if (err)
			fail(source, err);
	}
}

int top_sources_wait(struct top_sources *s, uint64_t then, int terminal, int signals)
{
	struct pollfd fds[2 + 3 * TOP_SOURCES] = { { terminal, POLLIN, 0 },
						   { signals, POLLIN, 0 } };
	const uint64_t urgent = urgent_ns(s), edge = first_edge(s),
		       next = edge < then ? edge : then, now = rp_monotonic_ns();
	uint64_t ns = next > now && !(s->windows && open_waiting(s)) ? next - now : 0;
	struct timespec t;
	int err = 0;

	ns = ns < urgent ? ns : urgent;
	t = (struct timespec){ (time_t)(ns / NS_PER_SECOND), (long)(ns % NS_PER_SECOND) };
	for (int i = 0; i < TOP_SOURCES; i++) {
		const struct recording *rec = &s->source[i].rec;
		const bool on = s->source[i].state == TOP_SOURCE_ON;

		struct pollfd *of = fds + 2 + 3 * i;

		of[0].fd = on ? record_stacks_map(rec->stacks, STACK_MAP_EVENTS) : -1;
		of[1].fd = on && rec->side ? rp_sideband_fd(rec->side) : -1;
		of[2].fd = on && rec->tables ? record_tables_fd(rec->tables) : -1;
		of[0].events = of[1].events = of[2].events = POLLIN;
	}
	if (ppoll(fds, 2 + 3 * TOP_SOURCES, &t, NULL) < 0)
		return errno == EINTR ? 0 : -errno;
	for (int i = 0; !err && i < TOP_SOURCES; i++)
		if (s->source[i].state == TOP_SOURCE_ON &&
		    (fds[2 + 3 * i].revents || fds[3 + 3 * i].revents || fds[4 + 3 * i].revents ||
		     (urgent != UINT64_MAX && s->source[i].rec.tables)))
			err = drain_source(&s->source[i]);
	turn_slices(s);
	return err;
}

/* ---- reading */

static int add_known(struct top_source *s, const struct top_stacks *how)
{
	const struct stack *stack;
	int err = 0;

	while (!err && (stack = record_stacks_at(s->rec.stacks, s->nknown))) {
		struct top_known_stack known = { 0 };

		err = how->name(s, stack, &known);
		if (!err)
			err = RP_PUSH(s->known, s->nknown, s->known_capacity, known);
	}
	return err;
}

int top_stacks_read(struct top_source *s, struct top_window *w, const struct top_stacks *how)
{
	struct stack_total *total;
	int err = add_known(s, how);

	if (!err)
		err = record_stacks_totals(s->rec.stacks, &total);
	if (err)
		return err;
	if (how->going_on)
		err = how->going_on(s, total, s->nknown);
	for (size_t i = 0; !err && i < s->nknown; i++) {
		struct top_known_stack *known = &s->known[i];
		uint64_t value[STACK_VALUES];
		bool more = false;

		for (int v = 0; v < STACK_VALUES; v++) {
			const uint64_t now = total[i].value[v], before = known->value[v];

			/* A wait that was lost takes what it had come to with it. */
			value[v] = now > before ? now - before : 0;
			more |= now > before;
			known->value[v] = now;
		}
		if (more)
			err = how->add(s, w, record_stacks_at(s->rec.stacks, i), known, value);
	}
	free(total);
	return err;
}

static const char *state_text(const struct top_source *s)
{
	static const char *const texts[] = {
		[TOP_SOURCE_OFF] = "not asked for", [TOP_SOURCE_WAITING] = "is being opened",
		[TOP_SOURCE_ON] = "runs",	    [TOP_SOURCE_FAILED] = "failed",
		[TOP_SOURCE_STOPPED] = "stopped",   [TOP_SOURCE_REFUSED] = "stopped",
	};

	if (s->state == TOP_SOURCE_ON && s->slice.on)
		return s->slice.kept ? "runs in slices" : "is being measured";
	return s->state != TOP_SOURCE_ON && *s->why ? s->why : texts[s->state];
}

/* What the programs of a source have cost, and what became of their events. */
static int account(struct top_source *s, struct top_window *w)
{
	union {
		struct program_stats common;
		uint64_t room[64];
	} now = { .common = s->stats };
	struct record_runs runs = s->runs;
	struct top_row *row;

	if (s->state == TOP_SOURCE_ON) {
		runs = record_runs(&s->rec, NULL, RECORD_ALL_ROLES);
		record_stacks_stats(s->rec.stacks, &now);
	}
	row = top_row(w, TOP_OWN, (union top_value[1]){ { .text = top_text(w, s->kind->name) } });
	if (!row)
		return -ENOMEM;
	row->cell[1].text = top_text(w, state_text(s));
	row->cell[2].number = runs.ns - s->runs.ns;
	row->cell[3].number = runs.runs - s->runs.runs;
	row->cell[4].number = now.common.fired - s->stats.fired;
	row->cell[5].number =
		now.common.filtered + now.common.idle - s->stats.filtered - s->stats.idle;
	row->cell[6].number =
		now.common.ring_full + now.common.busy - s->stats.ring_full - s->stats.busy;
	row->cell[7].number = s->state == TOP_SOURCE_ON
				      ? (uint64_t)(top_slice_part(s, w->ns) * (double)w->ns)
				      : 0;
	w->figure[TOP_OWN_BPF] += row->cell[2].number;
	w->figure[TOP_FIRED] += row->cell[4].number;
	w->figure[TOP_LOST] += row->cell[6].number;
	w->running[s->kind->panel] |= row->cell[7].number != 0;
	w->measured_ns[s->kind->panel] = row->cell[7].number;
	w->state[s->kind->panel] = row->cell[1].text;
	if (s->kind->panel == TOP_FUNCTIONS)
		w->running[TOP_PROCESSES] = w->running[TOP_THREADS] = true;
	w->running[TOP_OWN] = true;
	memmove(s->cost + 1, s->cost, 2 * sizeof(s->cost[0]));
	s->cost[0] = row->cell[2].number * NS_PER_SECOND / (w->ns + 1);
	s->runs = runs;
	s->stats = now.common;
	return 0;
}

/* Stacks are kept for as long as a recording lasts: one that has many begins anew. */
static void renew(struct top_source *s)
{
	const struct asm_map *counts = &record_stacks_maps(s->rec.stacks)[STACK_MAP_COUNTS];

	if (record_stacks_count(s->rec.stacks) <= counts->max_entries / 4 * 3)
		return;
	top_source_close(s);
	top_source_open(s, true);
}

/*
 * All stacks have their names, which were copied: what the symbolizer keeps of processes and files
 * that are gone is given back.
 */
static void rest(struct top_source *s)
{
	const uint64_t now = rp_monotonic_ns();

	if (s->slice.on || now - s->rested < REST_NS)
		return;
	s->rested = now;
	s->rec.used = s->options.samples ? record_stacks_count(s->rec.stacks) : s->nknown;
	sym_user_unuse(s->rec.user);
}

/* What has come since the last window, or what the last slice stands for. */
static int take(struct top_source *s, struct top_window *w)
{
	return s->slice.on ? top_slice_add(s, w) : s->kind->read(s, w);
}

static int read_source(struct top_source *s, struct top_window *w)
{
	int err;

	if (s->state != TOP_SOURCE_ON)
		return account(s, w);
	err = drain_source(s);
	if (!err && s->state == TOP_SOURCE_ON)
		err = take(s, w);
	if (!err)
		err = account(s, w);
	if (!err && s->state == TOP_SOURCE_ON)
		rest(s);
	if (!err && s->state == TOP_SOURCE_ON)
		renew(s);
	return err;
}

static int complete(struct top_sources *s, struct top_window *w)
{
	const uint64_t now = rp_monotonic_ns();
	int err = 0;

	w->ns = now - s->since;
	w->wall_ns = now + rp_wall_offset_ns();
	s->since = now;
	for (int i = 0; !err && i < TOP_SOURCES; i++)
		err = read_source(&s->source[i], w);
	if (!err && s->bpf)
		err = top_bpf_read(s->bpf, w);
	top_machine_read(s->machine, w);
	s->windows++;
	if (!err)
		top_budget_keep(s);
	return err;
}

int top_sources_read(struct top_sources *s, struct top_window **out)
{
	struct top_window *next = top_sources_window(s), *w = s->window;
	int err = next ? complete(s, w) : -ENOMEM;

	if (err) {
		top_window_free(next);
		return err;
	}
	s->window = next;
	*out = w;
	return 0;
}
