/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts that every JSON document has. */
#include <inttypes.h>
#include <math.h>

#include "json_out.h"
#include "text.h"

void report_json_key(struct json_out *j, const char *name)
{
	if (!j->first)
		report_out_putc(&j->out, ',');
	j->first = false;
	report_out_json(&j->out, name);
	report_out_putc(&j->out, ':');
}

void report_json_open(struct json_out *j)
{
	report_out_putc(&j->out, '{');
	j->first = true;
}

void report_json_close(struct json_out *j)
{
	report_out_putc(&j->out, '}');
	j->first = false;
}

void report_json_text(struct json_out *j, const char *name, const char *s)
{
	if (!s)
		return;
	report_json_key(j, name);
	report_out_json(&j->out, s);
}

void report_json_number(struct json_out *j, const char *name, uint64_t v)
{
	report_json_key(j, name);
	report_out_u64(&j->out, v);
}

void report_json_known(struct json_out *j, const char *name, uint64_t v)
{
	if (v)
		report_json_number(j, name, v);
}

void report_json_double(struct json_out *j, const char *name, double v)
{
	if (!(v > 0) || isinf(v))
		return;
	report_json_key(j, name);
	report_out_printf(&j->out, "%.9g", v);
}

void report_json_address(struct json_out *j, const char *name, uint64_t v)
{
	report_json_key(j, name);
	report_out_printf(&j->out, "\"0x%" PRIx64 "\"", v);
}

void report_json_info(struct json_out *j, const struct report_info *i)
{
	report_json_key(j, "info");
	report_json_open(j);
	report_json_text(j, "command", i->command);
	report_json_text(j, "target", i->target);
	report_json_text(j, "event", i->event);
	report_json_text(j, "host", i->host);
	report_json_text(j, "kernel", i->kernel);
	report_json_text(j, "main_module", i->main_module);
	report_json_text(j, "kernel_build_id", i->kernel_build_id);
	report_json_text(j, "note", i->note);
	report_json_known(j, "start_ns", i->start_ns);
	report_json_known(j, "duration_ns", i->duration_ns);
	report_json_double(j, "rate_asked", i->rate_asked);
	report_json_double(j, "rate_achieved", i->rate_achieved);
	report_json_known(j, "cpus", i->cpus);
	if (i->period) {
		report_json_key(j, "period");
		report_json_open(j);
		report_json_text(j, "type", i->period_type.type);
		report_json_text(j, "unit", i->period_type.unit);
		report_json_number(j, "value", i->period);
		report_json_close(j);
	}
	report_json_close(j);
}

const char *report_json_unit(enum report_unit unit)
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

	report_json_key(j, "ledger");
	report_json_open(j);
	report_json_number(j, "fired", ledger->fired);
	report_json_number(j, "kept", ledger->kept);
	report_json_key(j, "closes");
	report_out_puts(&j->out, closes ? "true" : "false");
	report_json_key(j, "gap");
	report_out_printf(&j->out, "%" PRId64, gap);
	report_json_key(j, "lines");
	report_out_putc(&j->out, '[');
	for (size_t i = 0; i < ledger->nlines; i++) {
		report_out_puts(&j->out, i ? "," : "");
		report_json_open(j);
		report_json_text(j, "name", ledger->lines[i].name);
		report_json_number(j, "count", ledger->lines[i].count);
		report_json_text(j, "fate",
				 ledger->lines[i].fate == REPORT_LOST ? "lost" : "filtered");
		report_json_close(j);
	}
	report_out_putc(&j->out, ']');
	report_json_close(j);
}

static void put_cost(struct json_out *j, const struct report_cost *c)
{
	report_json_key(j, "cost");
	report_json_open(j);
	report_json_number(j, "bpf_ns", c->bpf_ns);
	report_json_number(j, "bpf_runs", c->bpf_runs);
	if (c->bpf_estimated) {
		report_json_key(j, "bpf_estimated");
		report_out_puts(&j->out, "true");
	}
	report_json_number(j, "user_cpu_ns", c->user_cpu_ns);
	report_json_number(j, "system_cpu_ns", c->system_cpu_ns);
	report_json_number(j, "peak_rss_bytes", c->peak_rss_bytes);
	report_json_close(j);
}

void report_json_meta(struct json_out *j, const struct report_meta *meta)
{
	if (meta->has_ledger)
		put_ledger(j, &meta->ledger);
	if (meta->has_cost)
		put_cost(j, &meta->cost);
}
