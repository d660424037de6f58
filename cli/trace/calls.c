/* SPDX-License-Identifier: BSD-2-Clause */
/* System calls: what the programs are to see of which, and how a call reads. */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/machine.h"
#include "record/system.h"
#include "trace.h"

/* Which arguments of a call are texts; returns how many. */
static uint32_t texts_of(const struct record_call *call, uint32_t args[TRACE_TEXTS])
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < call->nargs && n < TRACE_TEXTS; i++)
		if (call->arg[i].kind == RECORD_ARG_TEXT || call->arg[i].kind == RECORD_ARG_BYTES)
			args[n++] = i;
	return n;
}

#define LEAST_STARTED 4096
#define MOST_STARTED (1u << 17)

void trace_calls_configure(struct trace *trace)
{
	struct trace_config *c = &trace->config;
	struct asm_map *started = &trace->maps[TRACE_MAP_STARTED];
	uint32_t args[TRACE_TEXTS], texts = 0, threads;

	for (size_t i = 0; i < trace->events.n; i++) {
		const struct trace_event *e = &trace->events.event[i];
		const uint32_t n = e->call && e->kind != TRACE_EXIT ? texts_of(e->call, args) : 0;

		texts = n > texts ? n : texts;
	}
	for (uint32_t i = 0; i < TRACE_TEXTS; i++)
		c->texts[i] = i < texts;
	c->call_bytes = texts * c->text_bytes;
	c->classic = !rp_has(RP_HAS_TP_BTF);
#ifdef __riscv
	c->any_end = 1; /* of the registers that it restores, one is the number */
#endif
	c->execve[0] = c->execve[1] = SYS_execve;
#ifdef COMPAT_EXECVE
	c->execve[1] = COMPAT_EXECVE;
#endif
	if (!trace->events.ncalls)
		return;
	threads = 2 * record_threads();
	started->max_entries = threads < LEAST_STARTED	? LEAST_STARTED
			       : threads > MOST_STARTED ? MOST_STARTED
							: threads;
	started->value_size = TRACE_STARTED_BYTES(c->call_bytes);
}

/* ---- programs */

/* What it is executed with is gone when it returns. */
static bool replaces_memory(const struct record_call *call)
{
	return !strncmp(call->name, "execve", 6);
}

/* See TRACE_CALL_ANY_END. */
static bool may_end_as_another(const struct record_call *call)
{
	return replaces_memory(call) || !strcmp(call->name, "rt_sigreturn");
}

static void add_spec(const struct trace_event *e, uint32_t number, struct trace_call_spec *spec)
{
	uint32_t args[TRACE_TEXTS];
	const uint32_t n = texts_of(e->call, args);

	if (e->kind == TRACE_EXIT) {
		spec->parts |= TRACE_CALL_EXIT;
		spec->exit = number;
		return;
	}
	/* A whole call has its beginning in it. */
	if (e->kind == TRACE_ENTER && spec->parts & TRACE_CALL_WHOLE)
		return;
	spec->parts &= ~(uint32_t)TRACE_CALL_ENTER;
	spec->parts |= e->kind == TRACE_WHOLE ? TRACE_CALL_WHOLE : TRACE_CALL_ENTER;
	spec->enter = number;
	if (may_end_as_another(e->call))
		spec->parts |= TRACE_CALL_ANY_END;
	if (n && !replaces_memory(e->call))
		spec->parts |= TRACE_CALL_AGAIN;
	for (uint32_t i = 0; i < n; i++) {
		spec->text[i] = (uint8_t)(args[i] + 1);
		spec->counted[i] = e->call->arg[args[i]].kind == RECORD_ARG_BYTES;
	}
}

static int choose_calls(struct recording *rec)
{
	const struct trace *trace = rec->ctx;
	const int fd = record_stacks_map(rec->stacks, TRACE_MAP_CALLS);
	int err = 0;

	for (uint32_t i = 0; !err && i < trace->events.n; i++) {
		const struct trace_event *e = &trace->events.event[i];
		struct trace_call_spec spec;

		if (!e->call)
			continue;
		err = rp_map_lookup(fd, &e->call->number, &spec);
		if (err)
			break;
		add_spec(e, i, &spec);
		err = rp_map_update(fd, &e->call->number, &spec, BPF_ANY);
	}
	return err ? rp_fail(err, "choosing system calls: %s", strerror(-err)) : 0;
}

/* The programs that this kernel can run, in the order in which they begin. */
static int choose_programs(const struct rp_program *out[TRACE_CALL_PROGRAMS])
{
	static const uint32_t roles[TRACE_CALL_PROGRAMS] = { TRACE_EXITS, TRACE_THREAD_ENDS,
							     TRACE_ENTERS };
	int err = 0;

	for (size_t i = 0; !err && i < TRACE_CALL_PROGRAMS; i++)
		err = record_choose(rp_trace_call_programs, roles[i], &out[i]);
	return err ? rp_fail(err, "system calls cannot be traced here: %s", strerror(-err)) : 0;
}

int trace_calls_filter(struct trace *trace, size_t number)
{
	const struct rp_program *programs[TRACE_CALL_PROGRAMS];
	int err = choose_programs(programs);

	return err ? err
		   : trace_filter_make_call(trace->own->filter, &trace->events.event[number],
					    trace->config.text_bytes, programs,
					    &trace->filters[number]);
}

/* Its beginning, its end and all of it have the same fields, and the same programs. */
static bool is_loaded(const struct trace *trace, size_t number)
{
	const struct trace_event *e = trace->events.event;

	for (size_t i = 0; i < number; i++)
		if (e[i].call && e[i].call->number == e[number].call->number)
			return true;
	return false;
}

/* Each call has programs of its own, which know where in it the fields are. */
static int load_filtered(struct recording *rec)
{
	struct trace *trace = rec->ctx;
	const bool of_result = trace->config.of_result;
	const struct rp_program *programs[TRACE_CALL_PROGRAMS];
	int err = choose_programs(programs);

	for (size_t i = 0; err >= 0 && i < trace->events.n; i++) {
		const struct trace_event *e = &trace->events.event[i];

		if (!e->call || is_loaded(trace, i))
			continue;
		trace->config.only_call = e->call->number;
		trace->config.of_result = of_result || trace->filters[i].of_result;
		for (size_t p = 0; err >= 0 && p < TRACE_CALL_PROGRAMS; p++) {
			struct rp_program *program = &trace->programs[trace->nprograms++];

			*program = *programs[p];
			program->code.lines = trace->filters[i].call_lines[p];
			err = record_load(rec, program, &trace->config);
		}
	}
	return err < 0 ? err : 0;
}

int trace_calls_attach(struct recording *rec)
{
	const struct trace *trace = rec->ctx;
	int err = choose_calls(rec);

	if (!err && trace->filters)
		return load_filtered(rec);
	return err ? err
		   : record_load_list(rec, rp_trace_call_programs, RECORD_ALL_ROLES,
				      &trace->config);
}

/* A value of the map started is a record with its texts, whose length it has. */
static int take_started(void *ctx, const void *key, const void *value)
{
	struct trace *trace = ctx;
	union {
		struct trace_assembly assembly;
		struct trace_record record;
	} copy;
	const struct trace_record *r = value;

	(void)key;
	if (trace_is_tally(trace) ||
	    trace->filters) { /* it has no result that could be looked at */
		trace->under_way++;
		return 0;
	}
	if (r->bytes > trace->config.call_bytes || r->event >= trace->events.n)
		return -EBADMSG;
	memcpy(&copy, value, TRACE_STARTED_BYTES(r->bytes));
	copy.record.bytes = (uint32_t)sizeof(struct trace_call) + r->bytes;
	return trace_hold(&trace->held, &copy, sizeof(copy.record) + copy.record.bytes);
}

int trace_calls_collect(struct recording *rec)
{
	return record_stacks_each(rec->stacks, TRACE_MAP_STARTED, take_started, rec->ctx);
}

/* ---- lines */

/* The n-th argument's text, where it has one. */
static const struct record_call_text *text_of(const struct trace *trace,
					      const struct trace_event *e,
					      const struct trace_record *r, uint32_t arg,
					      struct record_call_text *out)
{
	const struct trace_call *c = (const void *)r->data;
	const uint32_t room = trace->config.text_bytes, have = r->bytes - (uint32_t)sizeof(*c);
	uint32_t args[TRACE_TEXTS];
	const uint32_t n = texts_of(e->call, args);

	for (uint32_t i = 0; i < n; i++) {
		if (args[i] != arg)
			continue;
		*out = (struct record_call_text){
			.text = (const char *)(r->data + sizeof(*c) + (size_t)i * room),
			.bytes = c->text[i],
			.room = (int)room,
			.whole = arg + 1 < RECORD_CALL_ARGS ? c->args[arg + 1] : 0
		};
		if (out->bytes >= 0 && i * room + (uint32_t)out->bytes > have)
			out->bytes = -2;
		return out;
	}
	return NULL;
}

static const struct trace_call *call_of(const struct trace_record *r)
{
	return r->bytes >= sizeof(struct trace_call) ? (const void *)r->data : NULL;
}

static void put_result(const struct record_call *call, const struct trace_call *c,
		       struct record_out *out)
{
	const char *error = record_call_error(c->ret);

	if (error)
		record_out_printf(out, " = -1 %s", error);
	else if (call->returns_address)
		record_out_printf(out, " = 0x%llx", (unsigned long long)c->ret);
	else
		record_out_printf(out, " = %lld", (long long)c->ret);
}

void trace_call_text(const struct trace *trace, const struct trace_record *r,
		     struct record_out *out)
{
	const struct trace_event *e = &trace->events.event[r->event];
	const struct trace_call *c = call_of(r);

	if (!c)
		return;
	for (uint32_t i = 0; e->kind != TRACE_EXIT && i < e->call->nargs; i++) {
		struct record_call_text text;

		if (record_arg_is_idle(e->call, i, c->args))
			continue;
		record_out_char(out, ' ');
		record_out_str(out, e->call->arg[i].name);
		record_out_char(out, '=');
		record_arg_text(&e->call->arg[i], c->args[i], text_of(trace, e, r, i, &text), out);
	}
	if (c->is_over)
		put_result(e->call, c, out);
	else if (e->kind == TRACE_WHOLE)
		record_out_str(out, " = ?");
	if (c->is_timed)
		record_out_printf(out, " <%.6f>", (double)c->duration / 1e9);
}

void trace_call_json(const struct trace *trace, const struct trace_record *r,
		     struct record_out *out)
{
	const struct trace_event *e = &trace->events.event[r->event];
	const struct trace_call *c = call_of(r);
	const char *error;

	if (!c)
		return;
	for (uint32_t i = 0; e->kind != TRACE_EXIT && i < e->call->nargs; i++) {
		const char *name = e->call->arg[i].name;
		struct record_call_text text;

		record_out_str(out, trace_is_taken(name) ? ",\"field_" : ",\"");
		record_out_str(out, name);
		record_out_str(out, "\":");
		record_arg_json(&e->call->arg[i], c->args[i], text_of(trace, e, r, i, &text), out);
		if (text_of(trace, e, r, i, &text) && text.bytes == text.room)
			record_out_printf(out, ",\"%s_cut\":true", name);
		if (text_of(trace, e, r, i, &text) && text.bytes == TRACE_TEXT_UNREADABLE &&
		    c->args[i])
			record_out_printf(out, ",\"%s_at\":\"0x%llx\"", name,
					  (unsigned long long)c->args[i]);
	}
	if (c->is_over) {
		record_out_printf(out, ",\"ret\":%lld", (long long)c->ret);
		error = record_call_error(c->ret);
		if (error)
			record_out_printf(out, ",\"error\":\"%s\"", error);
	}
	if (c->is_timed)
		record_out_printf(out, ",\"duration_ns\":%llu", (unsigned long long)c->duration);
}
