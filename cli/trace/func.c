/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions as events, of programs and of the kernel: found and probed as for `rawprof func`. One
 * program is for all of them; the event's number is that of the first function and, on top, which
 * of the probes it is. So they are the last events of the list, and it grows as they do.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rawprof/loader.h>

#include "base/grow.h"
#include "trace.h"

#define CALLS_UNDER_WAY 16384

/* ---- which */

static bool is_group(const char *word, size_t n)
{
	char path[128];
	const int dir = rp_tracefs();

	snprintf(path, sizeof(path), "events/%.*s", (int)n, word);
	return dir >= 0 && !faccessat(dir, path, F_OK, 0);
}

struct near {
	const char *word;
	bool found;
};

static int try_event(void *ctx, const char *group, const char *event)
{
	struct near *near = ctx;
	char name[256];

	snprintf(name, sizeof(name), "%s:%s", group, event);
	near->found |= rp_name_distance(near->word, name) < 3;
	return 0;
}

/* An event with a slip in its group. */
static bool is_nearly_event(const char *word)
{
	struct near near = { .word = word };

	rp_tp_each("*", try_event, &near);
	return near.found;
}

/* FILE:F, :F, LIBRARY:F unless there is a group of events of that name, kernel:F. */
bool trace_is_func(const char *word)
{
	const size_t n = strcspn(word, ":");

	if (trace_is_usdt(word) || !word[n] || !strncmp(word, "syscall:", 8))
		return false;
	if (!n || memchr(word, '/', n))
		return true;
	return strcspn(word, "*?[") > n && !is_group(word, n) && !is_nearly_event(word);
}

static int find(const struct options *opt, const char *const *patterns, size_t n,
		struct record_probes **out)
{
	const struct trace_options *own = opt->own;
	const struct record_probe_scope scope = {
		.pids = opt->record.pids.id,
		.npids = opt->record.pids.n,
		.program = opt->record.program ? opt->record.program[0] : NULL,
		.kinds =
			RECORD_PROBE_BIT(RECORD_PROBE_USER) | RECORD_PROBE_BIT(RECORD_PROBE_KERNEL),
		.at_returns = own->stacks,
		.alone = own->alone,
	};

	return record_probes_open(&scope, patterns, n, out);
}

/* Fields for --filter, --count and --hist: struct trace_func. An int is the lower half of ret. */
static const struct record_field fields[] = {
#define NUMBER(name_, member, size_, signed_)                                                      \
	{                                                                                          \
		.name = (name_), .type = "", .kind = RECORD_NUMBER,                                \
		.offset = offsetof(struct trace_func, member), .size = (size_), .unit = (size_),   \
		.is_signed = (signed_)                                                             \
	}
	NUMBER("arg0", args[0], 8, false),
	NUMBER("arg1", args[1], 8, false),
	NUMBER("arg2", args[2], 8, false),
	NUMBER("arg3", args[3], 8, false),
	NUMBER("arg4", args[4], 8, false),
	NUMBER("arg5", args[5], 8, false),
	NUMBER("ret", ret, 8, true),
	NUMBER("ret32", ret, 4, true),
	NUMBER("duration", duration, 8, false),
};
#define FIELDS (sizeof(fields) / sizeof(fields[0]))

static int make_record(bool returns, const char *label, struct record_event **out)
{
	struct record_event *event = calloc(1, sizeof(*event));

	if (!event)
		return -ENOMEM;
	event->name = strdup(label);
	event->format.group = strdup("func");
	event->format.event = strdup(label);
	event->fields = malloc(sizeof(fields));
	if (!event->name || !event->format.group || !event->format.event || !event->fields) {
		record_event_free(event);
		return -ENOMEM;
	}
	memcpy(event->fields, fields, sizeof(fields));
	event->nfields = returns ? FIELDS : TRACE_FUNC_ARGS;
	event->bytes = sizeof(struct trace_func);
	*out = event;
	return 0;
}

static int add_event(struct trace *trace, const struct record_probe *p)
{
	struct trace_event event = { .kind = TRACE_FUNC };
	char label[512];
	size_t n = 0;
	int err;

	if (p->kind == RECORD_PROBE_KERNEL)
		n = (size_t)snprintf(label, sizeof(label), "kernel:");
	record_probes_label(p, label + n, sizeof(label) - n);
	err = make_record(trace->own->returns, label, &event.record);
	if (err)
		return err;
	event.name = strdup(label);
	err = event.name
		      ? RP_PUSH(trace->events.event, trace->events.n, trace->events.capacity, event)
		      : -ENOMEM;
	if (err) {
		free(event.name);
		record_event_free(event.record);
	}
	return err;
}

/* Those that have come by since. */
static int add_events(struct trace *trace)
{
	const struct trace_funcs *f = &trace->funcs;
	int err = 0;

	while (!err && trace->events.n - f->first < record_probes_count(f->probes))
		err = add_event(
			trace, record_probes_at(f->probes, (uint32_t)(trace->events.n - f->first)));
	return err;
}

int trace_func_select(struct trace *trace, const struct options *opt)
{
	const char **patterns = calloc(opt->nwords + 1, sizeof(*patterns));
	size_t n = 0;
	int err = patterns ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < opt->nwords; i++)
		if (trace_is_func(opt->words[i]))
			patterns[n++] = opt->words[i];
	trace->funcs.first = trace->events.n;
	if (!err && n)
		err = find(opt, patterns, n, &trace->funcs.probes);
	free(patterns);
	if (!err && trace->own->returns && !n)
		err = rp_fail(-EINVAL, "--ret is for functions: ./prog:name, libc:malloc, :name, "
				       "kernel:vfs_read");
	if (!err && trace->own->alone && n != opt->nwords)
		err = rp_fail(-EINVAL, "--no-children is for functions alone; of "
				       "other events: -p PID");
	return err || !n ? err : add_events(trace);
}

const struct record_probe *trace_func_probe(const struct trace *trace, size_t number)
{
	const struct trace_funcs *f = &trace->funcs;

	return f->probes && number >= f->first
		       ? record_probes_at(f->probes, (uint32_t)(number - f->first))
		       : NULL;
}

/* ---- programs */

static const struct rp_program *base_program(const struct trace *trace)
{
	return rp_program_of(rp_trace_func_programs,
			     trace->own->returns ? TRACE_FUNC_RETURNED : TRACE_FUNC_BEGINS);
}

/* All of them have the same record, and so one filter: that of the first. */
int trace_func_filter(struct trace *trace)
{
	const size_t first = trace->funcs.first;

	return trace_filter_make(trace->own->filter, trace->events.event[first].record,
				 base_program(trace), &trace->filters[first]);
}

static void configure(void *ctx, const struct record_probe_use *use, void *config)
{
	const bool user = use->kind == RECORD_PROBE_USER;
	struct trace_config *c = config;

	(void)ctx;
	c->probe = use->config;
	c->of_kernel = !user;
	if (user)
		c->common.kernel_bytes = 0; /* how the probe came about */
	c->common.probe = user && rp_has(RP_HAS_BPF_LOOP);
}

/* Before the maps are made. */
void trace_func_configure(struct trace *trace)
{
	if (trace->funcs.probes && trace->own->returns)
		trace->maps[TRACE_MAP_ENTERED].max_entries = CALLS_UNDER_WAY;
}

int trace_func_attach(struct recording *rec)
{
	struct trace *trace = rec->ctx;
	struct trace_funcs *f = &trace->funcs;
	struct trace_config *c = &trace->config;
	struct record_probe_programs programs = { .config = c,
						  .config_size = sizeof(*c),
						  .configure = configure,
						  .nargs = TRACE_FUNC_ARGS,
						  .elsewhere = true };
	int err = 0;

	if (!f->probes)
		return 0;
	c->event = (uint32_t)f->first;
	c->filter = trace->filters != NULL;
	if (trace_is_tally(trace))
		err = trace_tally_describe(trace, &trace->events.event[f->first], &c->tally);
	c->tally.comm |= c->tally.on && rec->comm_glob;
	f->program = *base_program(trace);
	if (trace->filters)
		f->program.code.lines = trace->filters[f->first].lines;
	programs.at[trace->own->returns ? PROBE_RETURN : PROBE_ENTRY][PROBE_ON_REGS] = &f->program;
	if (trace->own->returns)
		programs.at[PROBE_ENTRY][PROBE_ON_REGS] =
			rp_program_of(rp_trace_func_programs, TRACE_FUNC_ENTERED);
	if (!err)
		err = record_probes_attach(f->probes, rec, &programs);
	if (!err)
		record_probes_say_left_out(f->probes);
	return err;
}

int trace_func_loaded(struct recording *rec, pid_t pid)
{
	struct trace *trace = rec->ctx;
	int err = record_probes_process(trace->funcs.probes, (uint32_t)pid);

	return err ? err : add_events(trace);
}

int trace_func_mapped(struct recording *rec, const struct rp_side_event *e)
{
	struct trace *trace = rec->ctx;
	int err = record_probes_mapped(trace->funcs.probes, e);

	return err ? err : add_events(trace);
}

static int count_call(void *ctx, const void *key, const void *value)
{
	struct trace *trace = ctx;

	(void)key;
	(void)value;
	trace->under_way++;
	return 0;
}

/* Calls that have begun and not returned: they go on, or were left by longjmp. */
int trace_func_collect(struct recording *rec)
{
	struct trace *trace = rec->ctx;

	if (!trace->funcs.probes || !trace->own->returns)
		return 0;
	return record_stacks_each(rec->stacks, TRACE_MAP_ENTERED, count_call, trace);
}

/* ---- what a line says */

/* So many arguments as the kernel's types say, or the first three. */
static uint32_t args_of(const struct record_probe *p)
{
	if (p->kind != RECORD_PROBE_KERNEL || p->kernel.nargs < 0)
		return 3;
	return p->kernel.nargs < TRACE_FUNC_ARGS ? (uint32_t)p->kernel.nargs : TRACE_FUNC_ARGS;
}

/* Small numbers as they are, those below 0 too; what looks like an address or flags in hex. */
static void put_number(uint64_t n, struct record_out *out)
{
	const int64_t wide = (int64_t)n;
	const int32_t narrow = (int32_t)n;

	if (wide >= -4096 && wide < 1 << 16)
		record_out_signed(out, wide);
	else if (n >> 32 == 0 && narrow < 0 && narrow >= -4096)
		record_out_signed(out, narrow);
	else
		record_out_hex(out, n);
}

void trace_func_put(const struct trace *trace, const struct record_probe *p,
		    const struct trace_record *r, bool json, struct record_out *out)
{
	const struct trace_func *f = (const void *)r->data;

	if (r->bytes < sizeof(*f))
		return;
	for (uint32_t i = 0; i < args_of(p); i++) {
		record_out_printf(out, json ? ",\"arg%u\":" : " arg%u=", i);
		if (json)
			record_out_number(out, f->args[i]);
		else
			put_number(f->args[i], out);
	}
	if (!trace->own->returns)
		return;
	record_out_str(out, json ? ",\"ret\":" : " = ");
	if (json) {
		record_out_signed(out, (int64_t)f->ret);
		record_out_str(out, ",\"ret32\":"); /* what it returned if that is an int */
		record_out_signed(out, (int32_t)f->ret);
		record_out_printf(out, ",\"duration_ns\":%llu", (unsigned long long)f->duration);
	} else {
		put_number(f->ret, out);
		record_out_printf(out, " <%.6f>", (double)f->duration / 1e9);
	}
}

void trace_func_free(struct trace_funcs *funcs)
{
	record_probes_close(funcs->probes);
}
