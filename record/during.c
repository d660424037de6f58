/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps what happens inside of long calls alone; see during.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/grow.h"
#include "probes/probes.h"
#include "recording.h"

/* Moments that are worth a look whether some of them can be dropped. */
#define MANY_MOMENTS (RECORD_MOMENTS / 4 * 3)

struct record_during {
	char *function;
	uint64_t limit_ns;
	struct during_config config;
	struct record_probes *probes;
	struct during_slow *calls;
	size_t ncalls, capacity;
	bool sorted;	  /* by thread and time */
	uint64_t unknown; /* long calls that there was no room for */

	/* calls that go on, as of the last look, by thread; and when that was */
	struct hash_map open;
	uint64_t looked_ns;

	size_t looked_at; /* moments there were after the last look */
	uint64_t end_ns;
	uint64_t cut;		/* calls that were still going on in the end, and short */
	uint64_t fast, untimed; /* what was not kept, for the ledger */
	struct during_stats stats;
};

struct open_call {
	uint64_t pid_tgid;
	uint64_t start;
};

/* ---- "F>10ms" */

static bool read_unit(const char *text, double *ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(text, units[i].name)) {
			*ns = units[i].ns;
			return true;
		}
	return false;
}

/* function: how many bytes of the text name it. */
static const char *parse(const char *text, size_t *function, uint64_t *limit_ns)
{
	static char fault[400];
	const char *limit = strrchr(text, '>');
	double number, unit;
	char *end;

	if (!limit || limit == text) {
		snprintf(fault, sizeof(fault),
			 "'%.100s' is no function and time: '%.100s>10ms' is what happens inside "
			 "calls of it that take longer (quoted: > is the shell's too)",
			 text, limit ? "libc:fsync" : text);
		return fault;
	}
	*function = (size_t)(limit - text);
	number = strtod(limit + 1, &end);
	if (end == limit + 1 || !(number >= 0) || !read_unit(end, &unit) || number * unit > 1e18) {
		snprintf(fault, sizeof(fault), "'%.100s' is no time: 10ms, 500us, 1.5s", limit + 1);
		return fault;
	}
	*limit_ns = (uint64_t)(number * unit);
	return NULL;
}

const char *record_during_fault(const char *text)
{
	uint64_t limit;
	size_t function;

	return parse(text, &function, &limit);
}

/* ---- the function */

/* What the programs can tell apart: one kind of calls, in threads. */
static int check_kinds(const struct record_during *d)
{
	const uint32_t kinds = record_probes_kinds(d->probes);

	if (kinds & (kinds - 1))
		return rp_fail(-EINVAL,
			       "'%s' names functions of several kinds: say which, as kernel:F, "
			       "LIBRARY:F, syscall:F",
			       d->function);
	for (uint32_t i = 0; i < record_probes_count(d->probes); i++) {
		const struct record_probe *p = record_probes_at(d->probes, i);

		if (p->kind == RECORD_PROBE_USER && !p->why_not && p->user.at_returns)
			return rp_fail(-EOPNOTSUPP,
				       "%s: of Go's functions it cannot be said what happens "
				       "inside, for their goroutines go from thread to thread",
				       p->name);
	}
	return 0;
}

/* Where the kernel keeps what return probes have taken from the stack. */
static bool knows_return_probes(void)
{
	static const struct {
		const char *type, *path;
	} fields[] = { { "task_struct", "utask.return_instances" },
		       { "task_struct", "mm.uprobes_state.xol_area" },
		       { "xol_area", "vaddr" },
		       { "return_instance", "next" },
		       { "return_instance", "orig_ret_vaddr" } };
	const struct rp_btf *btf;
	struct asm_access access;

	if (!rp_has(RP_HAS_TASK_BTF) || rp_btf_kernel(&btf))
		return false;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (rp_btf_access(btf, fields[i].type, fields[i].path, &access, NULL))
			return false;
	return true;
}

bool record_during_return_probes(const struct recording *rec)
{
	const struct record_during *d = rec->during;

	return d && record_probes_kinds(d->probes) & RECORD_PROBE_BIT(RECORD_PROBE_USER) &&
	       knows_return_probes();
}

int record_during_open(struct recording *rec)
{
	const struct record_probe_scope scope = { .pids = rec->opt->pids.id,
						  .npids = rec->opt->pids.n,
						  .program = rec->target.program,
						  .kinds = RECORD_PROBE_CALLS };
	struct record_during *d = calloc(1, sizeof(*d));
	const char *fault, *name;
	size_t function;
	int err;

	rec->during = d;
	if (!d)
		return rp_fail(-ENOMEM, "out of memory for a recording");
	d->open = HASH_MAP(struct open_call, pid_tgid);
	fault = parse(rec->opt->during, &function, &d->limit_ns);
	if (fault)
		return rp_fail(-EINVAL, "during: %s", fault);
	d->function = strndup(rec->opt->during, function);
	if (!d->function)
		return rp_fail(-ENOMEM, "out of memory for a recording");
	name = d->function;
	err = record_probes_open(&scope, &name, 1, &d->probes);
	return err ? err : check_kinds(d);
}

/* ---- attaching */

static void configure(void *ctx, const struct record_probe_use *use, void *config)
{
	struct during_config *c = config;

	(void)ctx;
	c->probe = use->config;
	c->user = use->kind == RECORD_PROBE_USER;
	c->nested = use->kind == RECORD_PROBE_KERNEL;
}

static int write_syscalls(struct recording *rec)
{
	const int map = record_stacks_map(rec->stacks, STACK_MAP_DURING_CALLS);
	uint32_t ids[RECORD_SYSCALLS];
	int err = 0;

	_Static_assert(RECORD_SYSCALLS <= DURING_SYSCALLS, "each has a place in the map");
	record_probes_syscalls(rec->during->probes, ids);
	for (uint32_t nr = 0; !err && nr < RECORD_SYSCALLS; nr++)
		if (ids[nr])
			err = rp_map_update(map, &nr, &ids[nr], BPF_ANY);
	return err;
}

static bool is_attached(const struct record_probes *probes)
{
	for (uint32_t i = 0; i < record_probes_count(probes); i++) {
		const struct record_probe *p = record_probes_at(probes, i);

		if (p->how && !p->why_not)
			return true;
	}
	return false;
}

int record_during_attach(struct recording *rec)
{
	static const uint32_t roles[PROBE_CONTEXTS] = {
		[PROBE_ON_REGS] = DURING_ENTRY,
		[PROBE_ON_ARGS] = DURING_ENTRY_ARGS,
		[PROBE_ON_SYSCALL] = DURING_ENTRY_CALL,
		[PROBE_ON_SYSCALL_RECORD] = DURING_ENTRY_CALL_TP,
		[PROBE_ON_RECORD] = DURING_ENTRY_TP,
	};
	struct record_during *d = rec->during;
	struct record_probe_programs programs = { .config = &d->config,
						  .config_size = sizeof(d->config),
						  .configure = configure,
						  .nargs = 1 };
	int err;

	for (int context = 0; context < PROBE_CONTEXTS; context++) {
		programs.at[PROBE_ENTRY][context] =
			rp_program_of(rp_during_programs, roles[context]);
		programs.at[PROBE_RETURN][context] =
			rp_program_of(rp_during_programs, roles[context] << 1);
	}
	d->config.common = rec->config;
	d->config.limit_ns = d->limit_ns;
	err = record_attach(rec, rp_during_gone_programs, RECORD_ALL_ROLES, NULL);
	if (!err)
		err = record_attach(rec, rp_during_exec_programs, RECORD_ALL_ROLES, NULL);
	if (!err)
		err = record_attach(rec, rp_during_freed_programs, RECORD_ALL_ROLES, NULL);
	if (!err)
		err = write_syscalls(rec);
	if (!err)
		err = record_probes_attach(d->probes, rec, &programs);
	if (!err)
		record_probes_say_left_out(d->probes);
	if (!err && !is_attached(d->probes))
		err = rp_fail(-EOPNOTSUPP, "%s: cannot be probed here", d->function);
	return err;
}

void record_during_stop(struct recording *rec)
{
	record_probes_detach(rec->during->probes);
	rec->during->end_ns = rp_monotonic_ns();
}

/* ---- calls */

int record_during_call(struct recording *rec, const struct during_slow *call)
{
	struct record_during *d = rec->during;

	if (d->ncalls == RECORD_DURING_CALLS) {
		d->unknown++;
		return 0;
	}
	if (RP_GROW(d->calls, d->ncalls, d->capacity))
		return -ENOMEM;
	d->calls[d->ncalls++] = *call;
	d->sorted = false;
	return 0;
}

static int by_thread(const void *a, const void *b)
{
	const struct during_slow *x = a, *y = b;

	if (x->pid_tgid != y->pid_tgid)
		return x->pid_tgid < y->pid_tgid ? -1 : 1;
	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static void sort(struct record_during *d)
{
	if (!d->sorted && d->ncalls)
		qsort(d->calls, d->ncalls, sizeof(*d->calls), by_thread);
	d->sorted = true;
}

/* The last call of the thread that has begun by then; NULL: there is none. Sorted before. */
static const struct during_slow *find(const struct record_during *d, uint64_t pid_tgid,
				      uint64_t time)
{
	size_t from = 0, to = d->ncalls;

	while (from < to) {
		const size_t mid = from + (to - from) / 2;
		const struct during_slow *c = &d->calls[mid];

		if (c->pid_tgid < pid_tgid || (c->pid_tgid == pid_tgid && c->begin <= time))
			from = mid + 1;
		else
			to = mid;
	}
	return from && d->calls[from - 1].pid_tgid == pid_tgid ? &d->calls[from - 1] : NULL;
}

static uint64_t from_of(const struct stack_moment *m)
{
	if (m->kind != STACK_MOMENT_UNTIL)
		return m->time;
	return m->weight < m->time ? m->time - m->weight : 0;
}

static bool is_inside(const struct record_during *d, uint64_t pid_tgid,
		      const struct stack_moment *m)
{
	const struct during_slow *call = find(d, pid_tgid, m->time);

	return call && call->end >= from_of(m);
}

/* ---- those that go on */

static int take_open(void *ctx, const void *key, const void *value)
{
	const struct during_call *call = value;
	struct record_during *d = ctx;
	struct open_call *open = rp_hash_add(&d->open, &call->pid_tgid);

	(void)key;
	if (!open)
		return -ENOMEM;
	open->start = call->start;
	return 0;
}

static int look(struct recording *rec)
{
	struct record_during *d = rec->during;

	rp_hash_free(&d->open);
	d->open = HASH_MAP(struct open_call, pid_tgid);
	d->looked_ns = rp_monotonic_ns();
	return record_stacks_each(rec->stacks, STACK_MAP_DURING, take_open, d);
}

/* Is it, or may it yet be, inside of a long call? */
static int may_count(void *ctx, uint64_t pid_tgid, struct stack_moment *m)
{
	const struct record_during *d = ctx;
	const struct open_call *open;

	if (!pid_tgid || m->time >= d->looked_ns || is_inside(d, pid_tgid, m))
		return 1;
	open = rp_hash_find(&d->open, &pid_tgid);
	return open && m->time >= open->start;
}

/*
 * Calls that go on are looked for before the ring is read: what has ended since was going on then,
 * and what had ended before has come by now if it was long.
 */
int record_during_tick(struct recording *rec)
{
	struct record_during *d = rec->during;
	const size_t n = record_stream_count(rec, NULL);
	int err;

	if (n < MANY_MOMENTS || n - d->looked_at < RECORD_MOMENTS / 16)
		return 0;
	err = look(rec);
	if (!err)
		err = record_stacks_drain(rec->stacks);
	if (err)
		return err;
	sort(d);
	err = record_stream_sift(rec, may_count, d);
	d->looked_at = record_stream_count(rec, NULL);
	return err;
}

/* ---- the end */

/* Which are long by now end now. */
static int end_calls(struct recording *rec)
{
	struct record_during *d = rec->during;
	int err = look(rec);

	for (uint32_t i = 0; !err && i < d->open.count; i++) {
		const struct open_call *open = (const struct open_call *)d->open.items + i;
		const struct during_slow call = { .pid_tgid = open->pid_tgid,
						  .begin = open->start,
						  .end = d->end_ns };

		if (d->end_ns > open->start && d->end_ns - open->start > d->limit_ns)
			err = record_during_call(rec, &call);
		else
			d->cut++;
	}
	return err;
}

struct keeping {
	struct recording *rec;
	uint64_t kept;
};

static int keep(void *ctx, uint64_t pid_tgid, struct stack_moment *m)
{
	struct keeping *k = ctx;
	struct recording *rec = k->rec;
	uint64_t value[STACK_VALUES] = { 0 };
	const struct during_slow *call;
	uint64_t from, to;

	if (!is_inside(rec->during, pid_tgid, m))
		return 0;
	if (m->kind == STACK_MOMENT_UNTIL) {
		call = find(rec->during, pid_tgid, m->time);
		from = from_of(m) > call->begin ? from_of(m) : call->begin;
		to = m->time < call->end ? m->time : call->end;
		to = to < rec->end_ns ? to : rec->end_ns;
		m->time = to;
		m->weight = to > from ? to - from : 0;
	}
	k->kept += m->count;
	rec->profiler->add_moment(m, value);
	return record_stacks_add(rec->stacks, m->hash, value) ? 0 : 1;
}

/* The first value of all stacks, as they would be shown. */
static uint64_t count_all(const struct recording *rec)
{
	const struct stack *stack = NULL;
	uint64_t n = 0;

	while ((stack = record_stacks_next(rec->stacks, stack))) {
		uint64_t values[REPORT_MAX_VALUES] = { 0 };

		memcpy(values, stack->value, sizeof(stack->value));
		if (rec->profiler->values(rec, stack, values))
			n += values[0];
	}
	return n;
}

int record_during_finish(struct recording *rec)
{
	const uint64_t all = count_all(rec);
	struct keeping k = { .rec = rec };
	struct record_during *d = rec->during;
	uint64_t counted;
	int err = end_calls(rec);

	if (!err)
		err = rp_map_lookup(record_stacks_map(rec->stacks, STACK_MAP_DURING_STATS),
				    &(uint32_t){ 0 }, &d->stats);
	if (err)
		return rp_fail(err, "reading the calls of %s: %s", d->function, strerror(-err));
	sort(d);
	record_stacks_weigh_anew(rec->stacks);
	record_stream_sift(rec, keep, &k);
	record_stream_count(rec, &counted);
	d->fast = counted - k.kept;
	d->untimed = all > counted ? all - counted : 0;
	for (size_t i = 0; i < d->ncalls; i++)
		if (d->calls[i].end > rec->end_ns)
			d->calls[i].end =
				rec->end_ns > d->calls[i].begin ? rec->end_ns : d->calls[i].begin;
	return 0;
}

const struct during_slow *record_during_calls(const struct recording *rec, size_t *n)
{
	*n = rec->during->ncalls;
	return rec->during->calls;
}

/* ---- what stands beside */

void record_during_ledger(const struct recording *rec, uint64_t outside, struct record_ledger *l)
{
	const struct record_during *d = rec->during;

	record_ledger_add(l, "outside of calls", outside, REPORT_FILTERED);
	record_ledger_add(l, "in fast calls", d->fast, REPORT_FILTERED);
	record_ledger_add(l, "time not known", d->untimed, REPORT_LOST);
	if (d->stats.left)
		rp_log(RP_WARN,
		       "%" PRIu64 " calls of %s were left without a return (longjmp, the "
		       "thread's end): what happened inside counts as that of fast calls",
		       d->stats.left, d->function);
	if (d->stats.unsent || d->unknown)
		rp_log(RP_WARN,
		       "%" PRIu64 " long calls of %s are lost, with what happened inside: there "
		       "are too many of them",
		       d->stats.unsent + d->unknown, d->function);
	if (d->stats.full)
		rp_log(RP_WARN, "%" PRIu64 " calls of %s were not seen: more than %d at once",
		       d->stats.full, d->function, DURING_THREADS);
}

char *record_during_note(const struct recording *rec)
{
	const struct record_during *d = rec->during;
	uint64_t ns = 0;
	char *text;

	for (size_t i = 0; i < d->ncalls; i++)
		ns += d->calls[i].end - d->calls[i].begin;
	if (asprintf(&text, "inside %zu of %" PRIu64 " calls: those of %s, %.3f s", d->ncalls,
		     d->stats.calls, rec->opt->during, (double)ns / NS_PER_SECOND) < 0)
		return NULL;
	return text;
}

void record_during_close(struct record_during *d)
{
	if (!d)
		return;
	record_probes_close(d->probes);
	rp_hash_free(&d->open);
	free(d->calls);
	free(d->function);
	free(d);
}
