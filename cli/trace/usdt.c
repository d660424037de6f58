/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * USDT probes as events: found by name, each with programs of its own, in which the lines that read
 * its arguments take the place of rp_trace_usdt_part.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "cli/views.h"
#include "trace.h"

/* ---- which */

static int find(const struct options *opt, const char *const *patterns, size_t n,
		struct record_probes **out)
{
	const struct record_probe_scope scope = {
		.pids = opt->record.pids.id,
		.npids = opt->record.pids.n,
		.program = opt->record.program ? opt->record.program[0] : NULL,
		.kinds = RECORD_PROBE_BIT(RECORD_PROBE_USDT),
		.limit = TRACE_MOST_EVENTS,
	};

	return record_probes_open(&scope, patterns, n, out);
}

void trace_usdt_label(const struct record_probe *p, char *text, size_t size)
{
	char label[500];

	record_probes_label(p, label, sizeof(label));
	snprintf(text, size, "usdt:%s", label);
}

/* As many as any place has. */
static uint32_t args_of(const struct record_usdt *usdt)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < usdt->nargs; i++)
		if (usdt->args[i].n > n)
			n = usdt->args[i].n;
	return n < RP_USDT_ARGS ? n : RP_USDT_ARGS;
}

/* The arguments as fields, for --filter and --count: as they lie in struct trace_usdt. */
static int make_fields(const struct record_usdt *usdt, uint32_t strings, struct record_event *event)
{
	static const char *const names[RP_USDT_ARGS] = { "arg1", "arg2",  "arg3",  "arg4",
							 "arg5", "arg6",  "arg7",  "arg8",
							 "arg9", "arg10", "arg11", "arg12" };
	const uint32_t n = args_of(usdt);

	event->fields = calloc(n + 1, sizeof(*event->fields));
	if (!event->fields)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		const struct rp_usdt_arg *arg = &usdt->args[0].arg[i];
		const bool is_text = strings >> i & 1;

		event->fields[i] = (struct record_field){
			.name = names[i],
			.type = is_text ? "const char *" : "",
			.kind = is_text		? RECORD_POINTER
				: arg->is_float ? RECORD_BYTES
						: RECORD_NUMBER,
			.offset = (uint32_t)offsetof(struct trace_usdt, value) + 8 * i,
			.size = 8,
			.unit = 8,
			.is_signed = arg->is_signed && !is_text
		};
	}
	event->nfields = n;
	event->bytes = (uint32_t)sizeof(struct trace_usdt) + 8 * n;
	return 0;
}

static int make_record(const struct trace *trace, const struct record_probe *p, const char *label,
		       struct record_event **out)
{
	struct record_event *event = calloc(1, sizeof(*event));
	int err = event ? make_fields(p->usdt, trace->usdt.strings, event) : -ENOMEM;

	if (!err) {
		event->name = strdup(label);
		event->format.group = strdup("usdt");
		event->format.event = strdup(p->name);
		err = event->name && event->format.group && event->format.event ? 0 : -ENOMEM;
	}
	if (err)
		record_event_free(event);
	else
		*out = event;
	return err;
}

/* What it says is in its arguments. */
static int add_event(struct trace *trace, const struct record_probe *p)
{
	struct trace_event event = { .kind = TRACE_USDT };
	char label[512];
	int err;

	trace_usdt_label(p, label, sizeof(label));
	err = make_record(trace, p, label, &event.record);
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

int trace_usdt_select(struct trace *trace, const struct options *opt)
{
	struct trace_usdts *usdt = &trace->usdt;
	const char **patterns = calloc(opt->nwords + 1, sizeof(*patterns));
	size_t n = 0;
	int err = patterns ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < opt->nwords; i++)
		if (trace_is_usdt(opt->words[i]))
			patterns[n++] = opt->words[i];
	if (trace->own->strings)
		trace_usdt_strings(trace->own->strings, &usdt->strings);
	if (!err && n)
		err = find(opt, patterns, n, &usdt->probes);
	free(patterns);
	usdt->first = trace->events.n;
	for (uint32_t i = 0; !err && usdt->probes && i < record_probes_count(usdt->probes); i++)
		err = add_event(trace, record_probes_at(usdt->probes, i));
	if (!err && trace->events.n - trace->events.ncalls > TRACE_MOST_EVENTS)
		err = rp_fail(-E2BIG, "these are more than %d events: name fewer",
			      TRACE_MOST_EVENTS);
	return err;
}

const struct record_probe *trace_usdt_probe(const struct trace *trace, size_t number)
{
	const struct trace_usdts *usdt = &trace->usdt;

	if (!usdt->probes || number < usdt->first)
		return NULL;
	return record_probes_at(usdt->probes, (uint32_t)(number - usdt->first));
}

/* ---- programs */

/* Once for each argument that cannot be read at some place: which, and why. */
static void say_unknown(const struct trace_event *event, const struct record_usdt *usdt)
{
	for (uint32_t i = 0; i < usdt->nargs; i++) {
		const struct rp_usdt_args *args = &usdt->args[i];

		for (uint32_t k = 0; k < args->n && k < RP_USDT_ARGS; k++)
			if (args->arg[k].kind == RP_USDT_UNKNOWN)
				rp_log(RP_WARN, "%s: argument %u (%.*s) is not read: %s",
				       event->name, k + 1, (int)args->arg[k].length,
				       args->arg[k].text, args->arg[k].why);
		if (args->n > RP_USDT_ARGS)
			rp_log(RP_WARN, "%s: of %u arguments %d are read", event->name, args->n,
			       RP_USDT_ARGS);
	}
}

/* A copy of the program's lines, with the parts in the places of those that stand for them. */
static struct asm_insn *place_parts(const struct asm_program *code, const struct asm_part *values,
				    const struct asm_part *texts)
{
	struct asm_insn *lines = malloc(code->nlines * sizeof(*lines));

	for (size_t i = 0; lines && i < code->nlines; i++) {
		lines[i] = code->lines[i];
		if (lines[i].kind == ASM_INCLUDE && lines[i].part == &rp_trace_usdt_part)
			lines[i].part = values;
		else if (lines[i].kind == ASM_INCLUDE && lines[i].part == &rp_trace_usdt_texts_part)
			lines[i].part = texts;
	}
	return lines;
}

static void free_program(struct trace_usdt_program *p)
{
	rp_usdt_code_free(p->values);
	rp_usdt_code_free(p->texts);
	free(p->lines);
}

static int compile_parts(const struct rp_usdt_args *args, uint32_t n, uint32_t nargs,
			 uint32_t strings, struct trace_usdt_program *out)
{
	const struct rp_usdt_reader values = {
		.places = args,
		.n = n,
		.nargs = nargs,
		.ctx = R6,
		.to = R10,
		.values = TRACE_USDT_AT + (int)offsetof(struct trace_usdt_data, value),
		.failed = TRACE_USDT_AT + (int)offsetof(struct trace_usdt_data, head.failed),
	};
	struct rp_usdt_reader texts = values;
	int err = rp_usdt_compile(&values, &out->values);

	texts.to = R8;
	texts.values = sizeof(struct trace_record) + offsetof(struct trace_usdt, value);
	texts.failed = sizeof(struct trace_record) + offsetof(struct trace_usdt, failed);
	texts.texts = (int16_t)(texts.values + 8 * nargs);
	texts.strings = strings;
	texts.text_size = TRACE_USDT_TEXT;
	texts.texts_only = true;
	return err ? err : rp_usdt_compile(&texts, &out->texts);
}

static int compile(struct trace *trace, const struct trace_event *event,
		   const struct rp_usdt_args *args, uint32_t n, uint32_t nargs,
		   struct asm_program *code)
{
	struct trace_usdts *usdt = &trace->usdt;
	struct trace_usdt_program program = { 0 };
	int err = compile_parts(args, n, nargs, usdt->strings & ((1U << nargs) - 1), &program);

	if (err)
		rp_log(RP_ERROR, "%s: its arguments cannot be read at its %u places: %s",
		       event->name, n, strerror(-err));
	if (!err) {
		program.lines = place_parts(code, rp_usdt_part(program.values),
					    rp_usdt_part(program.texts));
		err = program.lines ? RP_PUSH(usdt->programs, usdt->nprograms,
					      usdt->programs_capacity, program)
				    : -ENOMEM;
	}
	if (err) {
		free_program(&program);
		return err;
	}
	code->lines = program.lines;
	return 0;
}

/* One for all places; before there were cookies, one for each. */
static int load_for(struct recording *rec, uint32_t number, const struct rp_program *program,
		    enum rp_uprobe_way way, uint32_t place)
{
	struct trace *trace = rec->ctx;
	const struct trace_event *event = &trace->events.event[number];
	const struct record_usdt *usdt = trace_usdt_probe(trace, number)->usdt;
	const bool each = way == RP_UPROBE_PERF;
	const uint32_t nargs = args_of(usdt);
	const uint32_t strings = trace->usdt.strings & ((1U << nargs) - 1);
	struct asm_program code = rp_trace_usdt_programs[0].code;
	struct trace_config *c = &trace->config;
	int err = 0;

	c->event = number;
	c->usdt_bytes = (uint32_t)sizeof(struct trace_usdt) + 8 * nargs;
	c->bytes = c->usdt_bytes + TRACE_USDT_TEXT * (uint32_t)__builtin_popcount(strings);
	c->reserve = (uint32_t)sizeof(struct trace_record) + c->bytes;
	c->usdt_by_cookie = !each;
	c->usdt_args = each ? usdt->places[place].args : 0;
	if (trace->filters)
		code.lines = trace->filters[number].lines;
	if (trace_is_tally(trace))
		err = trace_tally_describe(trace, event, &c->tally);
	c->tally.comm |= c->tally.on && rec->comm_glob;
	if (err)
		return err;
	err = each ? compile(trace, event, &usdt->args[c->usdt_args], 1, nargs, &code)
		   : compile(trace, event, usdt->args, usdt->nargs, nargs, &code);
	if (err)
		return err;
	code.attach_type = rp_uprobe_attach_type(way);
	return record_load_as(rec, program, &code, c);
}

int trace_usdt_load(struct recording *rec, uint32_t number)
{
	struct trace *trace = rec->ctx;
	struct trace_usdts *usdts = &trace->usdt;
	const struct record_usdt *usdt = trace_usdt_probe(trace, number)->usdt;
	const enum rp_uprobe_way way = record_usdt_way(usdts->probes);
	const uint32_t n = way == RP_UPROBE_PERF ? usdt->nplaces : 1;
	struct rp_program *program;
	int fd = 0, err = 0;

	if (way == RP_UPROBE_NONE)
		return rp_fail(-EOPNOTSUPP, "USDT probes need uprobes, which this kernel has not, "
					    "or does not permit: see rawprof doctor");
	if (!usdts->first_fd)
		usdts->first_fd =
			calloc(trace->events.n - usdts->first + 1, sizeof(*usdts->first_fd));
	if (!usdts->first_fd)
		return -ENOMEM;
	usdts->first_fd[number - usdts->first] = usdts->nfds;
	program = &trace->programs[trace->nprograms++];
	*program = rp_trace_usdt_programs[0];
	say_unknown(&trace->events.event[number], usdt);
	for (uint32_t i = 0; !err && i < n; i++) {
		fd = load_for(rec, number, program, way, i);
		err = fd < 0 ? fd : RP_PUSH(usdts->fds, usdts->nfds, usdts->fds_capacity, fd);
	}
	return err;
}

int trace_usdt_attach(struct recording *rec)
{
	struct trace *trace = rec->ctx;
	struct trace_usdts *usdt = &trace->usdt;
	int err = 0;

	if (!usdt->probes)
		return 0;
	for (size_t i = usdt->first; !err && i < trace->events.n; i++) {
		const struct record_probe *p = trace_usdt_probe(trace, i);
		const enum rp_uprobe_way way = record_usdt_way(usdt->probes);

		err = record_usdt_attach(
			usdt->probes, p, way, &usdt->fds[usdt->first_fd[i - usdt->first]],
			way == RP_UPROBE_PERF ? p->usdt->nplaces : 1, &usdt->links);
	}
	return err;
}

void trace_usdt_free(struct trace_usdts *usdt)
{
	record_usdt_detach(&usdt->links);
	for (size_t i = 0; i < usdt->nprograms; i++)
		free_program(&usdt->programs[i]);
	free(usdt->programs);
	free(usdt->fds);
	free(usdt->first_fd);
	record_probes_close(usdt->probes);
}
