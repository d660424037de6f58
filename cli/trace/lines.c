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

/* What the event says, as members behind others. */
static void put_members(struct recording *rec, const struct trace_record *r, struct record_out *out)
{
	const struct trace *trace = rec->ctx;
	const struct record_probe *usdt = trace_usdt_probe(trace, r->event);
	const struct record_probe *func = trace_func_probe(trace, r->event);
	const struct record_event *event = trace->events.event[r->event].record;
	const struct record_symbols symbols = { symbol, rec };

	record_out_str(out, "\"cpu\":");
	record_out_number(out, r->cpu);
	if (usdt)
		trace_usdt_put(trace, usdt, r, true, out);
	else if (func)
		trace_func_put(trace, func, r, true, out);
	else if (!event)
		trace_call_json(trace, r, out);
	for (uint32_t i = 0; event && !usdt && !func && i < event->nfields; i++) {
		const struct record_field *f = &event->fields[i];

		record_out_str(out, trace_is_taken(f->name) ? ",\"field_" : ",\"");
		record_out_str(out, f->name);
		record_out_str(out, "\":");
		record_field_json(event, f, r->data, r->bytes, &symbols, out);
	}
}

static void put_json(struct recording *rec, const struct trace_event *e,
		     const struct trace_record *r, struct record_out *out)
{
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
	record_out_char(out, ',');
	put_members(rec, r, out);
}

/* ---- Chrome's trace events: an array, of which readers take what is there */

/* In microseconds, as the format wants it. */
static void put_time(const char *key, uint64_t ns, struct record_out *out)
{
	record_out_printf(out, ",\"%s\":%" PRIu64 ".%03u", key, ns / 1000,
			  (unsigned int)(ns % 1000));
}

static void put_ids(const struct trace_record *r, struct record_out *out)
{
	record_out_printf(out, ",\"pid\":%u,\"tid\":%u", (uint32_t)(r->pid_tgid >> 32),
			  (uint32_t)r->pid_tgid);
}

/* A thread has its name before its first event. */
static void name_thread(struct trace *trace, const struct trace_record *r, struct record_out *out)
{
	if (rp_id_set_has(&trace->named, (uint32_t)r->pid_tgid))
		return;
	rp_id_set_add(&trace->named, (uint32_t)r->pid_tgid);
	record_out_str(out, "{\"ph\":\"M\",\"name\":\"thread_name\"");
	put_ids(r, out);
	record_out_str(out, ",\"args\":{\"name\":");
	record_out_json(out, r->comm, sizeof(r->comm));
	record_out_str(out, "}},\n");
}

/* A system call that has ended is a slice, anything else a moment. */
static void put_chrome(struct recording *rec, const struct trace_event *e,
		       const struct trace_record *r, struct record_out *out)
{
	const struct trace_call *c =
		e->call && r->bytes >= sizeof(*c) ? (const void *)r->data : NULL;
	const struct trace_func *f =
		e->kind == TRACE_FUNC && r->bytes >= sizeof(*f) ? (const void *)r->data : NULL;
	const bool slice = (c && c->is_timed) || (f && f->start);

	name_thread(rec->ctx, r, out);
	record_out_str(out,
		       slice ? "{\"ph\":\"X\",\"name\":" : "{\"ph\":\"i\",\"s\":\"t\",\"name\":");
	record_out_json(out, e->name, strlen(e->name));
	put_ids(r, out);
	put_time("ts", f && f->start ? f->start : r->time, out);
	if (slice)
		put_time("dur", f ? f->duration : c->duration, out);
	record_out_str(out, ",\"args\":{");
	put_members(rec, r, out);
}

/* ---- for people */

static void put_text(struct recording *rec, const struct trace_event *e,
		     const struct trace_record *r, struct record_out *out)
{
	const struct record_symbols symbols = { symbol, rec };
	const struct record_event *event = e->record;
	const struct trace *trace = rec->ctx;
	const struct record_probe *usdt = trace_usdt_probe(trace, r->event);
	const struct record_probe *func = trace_func_probe(trace, r->event);
	struct record_out comm = { 0 };

	record_out_quoted(&comm, r->comm, sizeof(r->comm));
	record_out_printf(out, "%12.6f %-15.*s %7u  %03u  %-*s",
			  (double)(int64_t)(r->time - rec->begin_ns) / NS_PER_SECOND,
			  comm.failed ? 0 : (int)comm.n - 2, comm.failed ? "" : comm.text + 1,
			  (uint32_t)r->pid_tgid, r->cpu, trace->name_width, e->name);
	record_out_free(&comm);
	if (usdt)
		trace_usdt_put(trace, usdt, r, false, out);
	else if (func)
		trace_func_put(trace, func, r, false, out);
	else if (!event)
		trace_call_text(trace, r, out);
	for (uint32_t i = 0; event && !usdt && !func && i < event->nfields; i++) {
		const struct record_field *f = &event->fields[i];

		record_out_char(out, ' ');
		record_out_str(out, f->name);
		record_out_char(out, '=');
		record_field_text(event, f, r->data, r->bytes, &symbols, out);
	}
	record_out_char(out, '\n');
}

enum trace_shape { SHAPE_TEXT, SHAPE_JSON, SHAPE_CHROME };

static enum trace_shape shape_of(const struct recording *rec)
{
	const struct report_format *format = options_of(rec)->format;

	return format->json			 ? SHAPE_JSON
	       : !strcmp(format->name, "chrome") ? SHAPE_CHROME
						 : SHAPE_TEXT;
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
	const enum trace_shape shape = shape_of(rec);
	struct record_out *line = &trace->line;
	int err = 0;

	if (shape == SHAPE_JSON)
		put_json(rec, event, r, line);
	else if (shape == SHAPE_CHROME)
		put_chrome(rec, event, r, line);
	else
		put_text(rec, event, r, line);
	if (trace->own->stacks) {
		record_out_str(line, shape ? ",\"stack\":" : "");
		err = trace_put_stack(rec, r, shape != SHAPE_TEXT, line);
	}
	record_out_str(line, shape == SHAPE_JSON ? "}\n" : shape == SHAPE_CHROME ? "}},\n" : "");
	return err ? err : flush_line(rec);
}

void trace_begin_lines(struct recording *rec)
{
	struct trace *trace = rec->ctx;

	for (size_t i = 0; i < trace->events.n; i++) {
		const int width = (int)strlen(trace->events.event[i].name);

		if (width > trace->name_width)
			trace->name_width = width;
	}
	if (shape_of(rec) == SHAPE_CHROME)
		fputs("[\n", output_of(rec)->stream);
	else if (shape_of(rec) == SHAPE_TEXT)
		fprintf(output_of(rec)->stream, "%12s %-15s %7s  %3s  %-*s %s\n", "TIME(s)",
			"COMMAND", "TID", "CPU", trace->name_width, "EVENT", "FIELDS");
}

/* No comma may stand before the end. */
int trace_end_lines(struct recording *rec)
{
	if (shape_of(rec) == SHAPE_CHROME)
		fputs("{\"ph\":\"M\",\"name\":\"rawprof trace\",\"pid\":0,\"tid\":0,"
		      "\"args\":{}}\n]\n",
		      output_of(rec)->stream);
	return output_flush(output_of(rec));
}
