/* SPDX-License-Identifier: BSD-2-Clause */
/* A line for each event, for people or as JSON. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "trace.h"

bool trace_is_taken(const char *name)
{
	static const char *const taken[] = { "time_ns", "event", "comm", "pid",	  "tid",
					     "cpu",	"stack", "ret",	 "error", "duration_ns" };

	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		if (!strcmp(taken[i], name))
			return true;
	return false;
}

static bool symbol(void *ctx, uint64_t address, struct record_out *out)
{
	struct recording *rec = ctx;
	struct sym_frame f;

	sym_kernel_lookup(rec->kernel, address, false, &f);
	if (f.name)
		record_out_str(out, f.name);
	if (f.name && f.offset)
		record_out_printf(out, "+0x%" PRIx64, f.offset);
	return f.name != NULL;
}

static void put_json(struct recording *rec, const struct trace_event *e,
		     const struct trace_record *r, struct record_out *out)
{
	const struct record_probe *usdt = trace_usdt_probe(rec->ctx, r->event);
	const struct record_symbols symbols = { symbol, rec };
	const struct record_event *event = e->record;

	record_out_str(out, "{\"time_ns\":");
	record_out_number(out, r->time + rec->wall_offset);
	record_out_str(out, ",\"event\":");
	record_out_json(out, e->name, strlen(e->name));
	record_out_str(out, ",\"comm\":");
	record_out_json(out, r->comm, sizeof(r->comm));
	record_out_str(out, ",\"pid\":");
	record_out_number(out, r->pid_tgid >> 32);
	record_out_str(out, ",\"tid\":");
	record_out_number(out, (uint32_t)r->pid_tgid);
	record_out_str(out, ",\"cpu\":");
	record_out_number(out, r->cpu);
	if (!event) {
		if (usdt)
			trace_usdt_put(rec->ctx, usdt, r, true, out);
		else
			trace_call_json(rec->ctx, r, out);
		return;
	}
	for (uint32_t i = 0; i < event->nfields; i++) {
		const struct record_field *f = &event->fields[i];

		record_out_str(out, trace_is_taken(f->name) ? ",\"field_" : ",\"");
		record_out_str(out, f->name);
		record_out_str(out, "\":");
		record_field_json(event, f, r->data, r->bytes, &symbols, out);
	}
}

static void put_text(struct recording *rec, const struct trace_event *e,
		     const struct trace_record *r, struct record_out *out)
{
	const struct record_symbols symbols = { symbol, rec };
	const struct record_event *event = e->record;
	const struct trace *trace = rec->ctx;
	const struct record_probe *usdt = trace_usdt_probe(trace, r->event);
	struct record_out comm = { 0 };

	record_out_quoted(&comm, r->comm, sizeof(r->comm));
	record_out_printf(out, "%12.6f %-15.*s %7u  %03u  %-*s",
			  (double)(int64_t)(r->time - rec->begin_ns) / NS_PER_SECOND,
			  comm.failed ? 0 : (int)comm.n - 2, comm.failed ? "" : comm.text + 1,
			  (uint32_t)r->pid_tgid, r->cpu, trace->name_width, e->name);
	record_out_free(&comm);
	if (usdt)
		trace_usdt_put(trace, usdt, r, false, out);
	else if (!event)
		trace_call_text(trace, r, out);
	for (uint32_t i = 0; event && i < event->nfields; i++) {
		const struct record_field *f = &event->fields[i];

		record_out_char(out, ' ');
		record_out_str(out, f->name);
		record_out_char(out, '=');
		record_field_text(event, f, r->data, r->bytes, &symbols, out);
	}
	record_out_char(out, '\n');
}

static int flush_line(struct recording *rec)
{
	struct trace *trace = rec->ctx;
	struct record_out *line = &trace->line;

	if (line->failed)
		return -ENOMEM;
	fwrite(line->text, 1, line->n, output_of(rec)->stream);
	line->n = 0;
	return ferror(output_of(rec)->stream) ? output_flush(output_of(rec)) : 0;
}

int trace_put_line(struct recording *rec, const struct trace_record *r)
{
	struct trace *trace = rec->ctx;
	const struct trace_event *event = &trace->events.event[r->event];
	const bool json = options_of(rec)->format->json;
	struct record_out *line = &trace->line;
	int err = 0;

	if (json)
		put_json(rec, event, r, line);
	else
		put_text(rec, event, r, line);
	if (trace->own->stacks) {
		record_out_str(line, json ? ",\"stack\":" : "");
		err = trace_put_stack(rec, r, json, line);
	}
	record_out_str(line, json ? "}\n" : "");
	return err ? err : flush_line(rec);
}

int trace_begin_lines(struct recording *rec)
{
	struct trace *trace = rec->ctx;

	for (size_t i = 0; i < trace->events.n; i++) {
		const int width = (int)strlen(trace->events.event[i].name);

		if (width > trace->name_width)
			trace->name_width = width;
	}
	if (!options_of(rec)->format->json)
		fprintf(output_of(rec)->stream, "%12s %-15s %7s  %3s  %-*s %s\n", "TIME(s)",
			"COMMAND", "TID", "CPU", trace->name_width, "EVENT", "FIELDS");
	return output_flush(output_of(rec));
}
