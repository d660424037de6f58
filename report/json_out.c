/* SPDX-License-Identifier: BSD-2-Clause */
/* json_out.c: the parts that every JSON document has. */
#include <inttypes.h>
#include <math.h>

#include "json_out.h"
#include "text.h"

void json_key(struct json_out *j, const char *name)
{
	if (!j->first)
		out_putc(&j->out, ',');
	j->first = false;
	out_json(&j->out, name);
	out_putc(&j->out, ':');
}

void json_open(struct json_out *j)
{
	out_putc(&j->out, '{');
	j->first = true;
}

void json_close(struct json_out *j)
{
	out_putc(&j->out, '}');
	j->first = false;
}

void json_text(struct json_out *j, const char *name, const char *s)
{
	if (!s)
		return;
	json_key(j, name);
	out_json(&j->out, s);
}

void json_number(struct json_out *j, const char *name, uint64_t v)
{
	json_key(j, name);
	out_u64(&j->out, v);
}

void json_known(struct json_out *j, const char *name, uint64_t v)
{
	if (v)
		json_number(j, name, v);
}

void json_double(struct json_out *j, const char *name, double v)
{
	if (!(v > 0) || isinf(v))
		return;
	json_key(j, name);
	out_printf(&j->out, "%.9g", v);
}

void json_address(struct json_out *j, const char *name, uint64_t v)
{
	json_key(j, name);
	out_printf(&j->out, "\"0x%" PRIx64 "\"", v);
}

void json_info(struct json_out *j, const struct report_info *i)
{
	json_key(j, "info");
	json_open(j);
	json_text(j, "command", i->command);
	json_text(j, "target", i->target);
	json_text(j, "event", i->event);
	json_text(j, "host", i->host);
	json_text(j, "kernel", i->kernel);
	json_text(j, "main_module", i->main_module);
	json_text(j, "kernel_build_id", i->kernel_build_id);
	json_text(j, "note", i->note);
	json_known(j, "start_ns", i->start_ns);
	json_known(j, "duration_ns", i->duration_ns);
	json_double(j, "rate_asked", i->rate_asked);
	json_double(j, "rate_achieved", i->rate_achieved);
	json_known(j, "cpus", i->cpus);
	if (i->period) {
		json_key(j, "period");
		json_open(j);
		json_text(j, "type", i->period_type.type);
		json_text(j, "unit", i->period_type.unit);
		json_number(j, "value", i->period);
		json_close(j);
	}
	json_close(j);
}

const char *json_unit(enum report_unit unit)
{
	static const char *const units[] = {
		[REPORT_UNIT_COUNT] = "count",	   [REPORT_UNIT_NS] = "nanoseconds",
		[REPORT_UNIT_US] = "microseconds", [REPORT_UNIT_BYTES] = "bytes",
		[REPORT_UNIT_PERCENT] = "percent", [REPORT_UNIT_ID] = NULL,
		[REPORT_UNIT_TEXT] = NULL,
	};

	return units[unit];
}

static void put_ledger(struct json_out *j, const struct report_ledger *ledger)
{
	int64_t gap;
	bool closes = report_ledger_closes(ledger, &gap);

	json_key(j, "ledger");
	json_open(j);
	json_number(j, "fired", ledger->fired);
	json_number(j, "kept", ledger->kept);
	json_key(j, "closes");
	out_puts(&j->out, closes ? "true" : "false");
	json_key(j, "gap");
	out_printf(&j->out, "%" PRId64, gap);
	json_key(j, "lines");
	out_putc(&j->out, '[');
	for (size_t i = 0; i < ledger->nlines; i++) {
		out_puts(&j->out, i ? "," : "");
		json_open(j);
		json_text(j, "name", ledger->lines[i].name);
		json_number(j, "count", ledger->lines[i].count);
		json_text(j, "fate", ledger->lines[i].fate == REPORT_LOST ? "lost" : "filtered");
		json_close(j);
	}
	out_putc(&j->out, ']');
	json_close(j);
}

static void put_cost(struct json_out *j, const struct report_cost *c)
{
	json_key(j, "cost");
	json_open(j);
	json_number(j, "bpf_ns", c->bpf_ns);
	json_number(j, "bpf_runs", c->bpf_runs);
	json_number(j, "user_cpu_ns", c->user_cpu_ns);
	json_number(j, "system_cpu_ns", c->system_cpu_ns);
	json_number(j, "peak_rss_bytes", c->peak_rss_bytes);
	json_close(j);
}

void json_books(struct json_out *j, const struct books *books)
{
	if (books->has_ledger)
		put_ledger(j, &books->ledger);
	if (books->has_cost)
		put_cost(j, &books->cost);
}
