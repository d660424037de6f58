/* SPDX-License-Identifier: BSD-2-Clause */
/* What was profiled, whether every event is accounted for, and what the recording cost. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "text.h"

const char **report_info_text(struct report_info *info, size_t i)
{
	const char **const texts[] = { &info->command,
				       &info->target,
				       &info->event,
				       &info->main_module,
				       &info->kernel_build_id,
				       &info->note,
				       &info->host,
				       &info->kernel,
				       &info->period_type.type,
				       &info->period_type.unit,
				       &info->counted };

	return i < sizeof(texts) / sizeof(*texts) ? texts[i] : NULL;
}

static void info_free(struct report_info *info)
{
	const char **s;

	for (size_t i = 0; (s = report_info_text(info, i)); i++)
		free((char *)*s);
	*info = (struct report_info){ 0 };
}

int report_meta_set_info(struct report_meta *meta, const struct report_info *info)
{
	struct report_info copy = *info;
	const char **s;
	int err = 0;

	for (size_t i = 0; (s = report_info_text(&copy, i)); i++) {
		if (!*s)
			continue;
		*s = strdup(*s);
		if (!*s)
			err = -ENOMEM;
	}
	if (err) {
		info_free(&copy);
		return err;
	}
	info_free(&meta->info);
	meta->info = copy;
	return 0;
}

static void ledger_free(struct report_ledger *ledger)
{
	for (size_t i = 0; i < ledger->nlines; i++)
		free((char *)ledger->lines[i].name);
	free((void *)ledger->lines);
	free((char *)ledger->events);
	*ledger = (struct report_ledger){ 0 };
}

int report_meta_set_ledger(struct report_meta *meta, const struct report_ledger *ledger)
{
	struct report_ledger copy = *ledger;
	struct report_ledger_line *lines = calloc(ledger->nlines + 1, sizeof(*lines));

	if (!lines)
		return -ENOMEM;
	copy.lines = lines;
	copy.nlines = 0;
	copy.events = ledger->events ? strdup(ledger->events) : NULL;
	if (ledger->events && !copy.events) {
		ledger_free(&copy);
		return -ENOMEM;
	}
	for (size_t i = 0; i < ledger->nlines; i++) {
		lines[i] = ledger->lines[i];
		lines[i].name = strdup(ledger->lines[i].name ? ledger->lines[i].name : "?");
		if (!lines[i].name) {
			ledger_free(&copy);
			return -ENOMEM;
		}
		copy.nlines++;
	}
	ledger_free(&meta->ledger);
	meta->ledger = copy;
	meta->has_ledger = true;
	return 0;
}

void report_meta_set_cost(struct report_meta *meta, const struct report_cost *cost)
{
	meta->cost = *cost;
	meta->has_cost = true;
}

void report_meta_free(struct report_meta *meta)
{
	info_free(&meta->info);
	ledger_free(&meta->ledger);
}

int report_set_info(struct report *r, const struct report_info *info)
{
	return report_meta_set_info(&r->meta, info);
}

int report_set_ledger(struct report *r, const struct report_ledger *ledger)
{
	return report_meta_set_ledger(&r->meta, ledger);
}

void report_set_cost(struct report *r, const struct report_cost *cost)
{
	report_meta_set_cost(&r->meta, cost);
}

const struct report_info *report_get_info(const struct report *r)
{
	return &r->meta.info;
}

const struct report_ledger *report_get_ledger(const struct report *r)
{
	return r->meta.has_ledger ? &r->meta.ledger : NULL;
}

/* The sum needs more than 64 bits: counters read while they run may be anything. */
static unsigned __int128 ledger_sum(const struct report_ledger *ledger, enum report_fate fate)
{
	unsigned __int128 sum = 0;

	for (size_t i = 0; i < ledger->nlines; i++)
		if (ledger->lines[i].fate == fate)
			sum += ledger->lines[i].count;
	return sum;
}

static uint64_t clamp_u64(unsigned __int128 v)
{
	return v > UINT64_MAX ? UINT64_MAX : (uint64_t)v;
}

bool report_ledger_closes(const struct report_ledger *ledger, int64_t *gap)
{
	__int128 rest = (__int128)ledger->fired - ledger->kept -
			(__int128)ledger_sum(ledger, REPORT_FILTERED) -
			(__int128)ledger_sum(ledger, REPORT_LOST);

	if (gap)
		*gap = rest > INT64_MAX ? INT64_MAX : rest < INT64_MIN ? INT64_MIN : (int64_t)rest;
	return rest == 0;
}

/* " + 12 filtered (idle 10, other process 2)"; the causes only if they add something. */
static void add_fate(struct buf *b, const struct report_ledger *ledger, enum report_fate fate)
{
	char number[NUMBER_SIZE];
	bool first = true;

	report_buf_printf(b, " + %s %s",
			  report_text_number(clamp_u64(ledger_sum(ledger, fate)), number),
			  fate == REPORT_LOST ? "lost" : "filtered");
	for (size_t i = 0; i < ledger->nlines; i++) {
		const struct report_ledger_line *line = &ledger->lines[i];

		if (line->fate != fate || !line->count)
			continue;
		report_buf_puts(b, first ? " (" : ", ");
		report_buf_clean(b, line->name ? line->name : "?", 0, 0);
		report_buf_printf(b, " %s", report_text_number(line->count, number));
		first = false;
	}
	if (!first)
		report_buf_puts(b, ")");
}

void report_add_ledger(struct buf *b, const struct report_ledger *ledger, const char *events)
{
	char kept[NUMBER_SIZE];
	int64_t gap;
	uint64_t rest;

	if (ledger->events)
		events = ledger->events;
	report_buf_puts(b, "ledger: ");
	report_add_events(b, ledger->fired, events);
	report_buf_printf(b, " fired = %s kept", report_text_number(ledger->kept, kept));
	add_fate(b, ledger, REPORT_FILTERED);
	add_fate(b, ledger, REPORT_LOST);
	report_buf_puts(b, "\n");
	if (report_ledger_closes(ledger, &gap))
		return;
	rest = gap < 0 ? -(uint64_t)gap : (uint64_t)gap;
	report_buf_puts(b, "ledger: does not close: ");
	report_add_events(b, rest, events);
	report_buf_printf(b, " %s %s\n", rest == 1 ? "is" : "are",
			  gap < 0 ? "counted twice" : "not accounted for");
}

int report_print_ledger(FILE *file, const struct report_ledger *ledger, const char *events)
{
	struct out o = { .file = file };
	struct buf b = { 0 };

	report_add_ledger(&b, ledger, events);
	report_out_buf(&o, &b);
	report_buf_free(&b);
	return report_out_end(&o);
}

int report_print_cost(FILE *file, const struct report_cost *cost)
{
	char a[NUMBER_SIZE], b[NUMBER_SIZE], c[NUMBER_SIZE];
	struct out o = { .file = file };

	report_out_puts(&o, "own cost: ");
	if (cost->bpf_runs)
		report_out_printf(
			&o, "BPF %s%s in %s run%s (%s each), ", cost->bpf_estimated ? "about " : "",
			report_text_duration(cost->bpf_ns, a),
			report_text_number(cost->bpf_runs, b), cost->bpf_runs == 1 ? "" : "s",
			report_text_duration(cost->bpf_ns / cost->bpf_runs, c));
	report_out_printf(&o, "CPU %s user + %s system", report_text_duration(cost->user_cpu_ns, a),
			  report_text_duration(cost->system_cpu_ns, b));
	if (cost->peak_rss_bytes)
		report_out_printf(&o, ", memory %s", report_text_bytes(cost->peak_rss_bytes, a));
	report_out_putc(&o, '\n');
	return report_out_end(&o);
}

void report_meta_print(struct out *out, const struct report_meta *meta, const char *events)
{
	struct buf note = { 0 };

	if (meta->has_ledger || meta->has_cost)
		report_out_putc(out, '\n');
	if (meta->info.note) {
		report_buf_clean(&note, meta->info.note, 0, 0);
		report_buf_puts(&note, "\n");
		report_out_buf(out, &note);
	}
	if (meta->has_ledger && !out->err)
		out->err = report_print_ledger(out->file, &meta->ledger, events);
	if (meta->has_cost && !out->err)
		out->err = report_print_cost(out->file, &meta->cost);
	report_buf_free(&note);
}

void report_add_title(struct buf *b, const struct report_info *info)
{
	report_buf_puts(b, "rawprof");
	if (info->command) {
		report_buf_puts(b, " ");
		report_buf_clean(b, info->command, 0, 0);
	}
	if (info->target) {
		report_buf_puts(b, ": ");
		report_buf_clean(b, info->target, 0, 0);
	}
}

void report_add_circumstances(struct buf *b, const struct report_info *info, uint64_t count,
			      const char *events)
{
	char s[NUMBER_SIZE];

	if (info->counted)
		report_buf_clean(b, info->counted, 0, 0);
	else
		report_add_events(b, info->has_events ? info->events : count, events);
	if (info->event) {
		report_buf_puts(b, " of ");
		report_buf_clean(b, info->event, 0, 0);
	}
	if (info->rate_asked > 0) {
		report_buf_printf(b, " at %.6g Hz", info->rate_asked);
		if (info->rate_achieved > 0)
			report_buf_printf(b, " (%.1f achieved)", info->rate_achieved);
	}
	if (info->duration_ns)
		report_buf_printf(b, " in %s", report_text_duration(info->duration_ns, s));
	if (info->cpus) {
		report_buf_puts(b, " on ");
		report_add_events(b, info->cpus, "CPUs");
	}
}
