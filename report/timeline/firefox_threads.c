/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The threads of a Firefox profile. A sample is a row where it was taken, a wait where it began, of
 * a category of its own. Where nothing else is known to go on, a row without a stack follows: else
 * the viewer would draw what came before until whatever comes next. Waits and wake-ups are markers
 * as well.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/grow.h"
#include "firefox.h"

/* Rows of integers, that grow. */
struct rows {
	int64_t *cells;
	size_t n, capacity;
};

#define SAMPLE_COLUMNS 4
#define MARKER_COLUMNS 5
enum { PHASE_INSTANT, PHASE_INTERVAL };

static void push(struct firefox *f, struct rows *rows, size_t width, const int64_t *cells)
{
	for (size_t i = 0; i < width && !f->err; i++)
		f->err = RP_PUSH(rows->cells, rows->n, rows->capacity, cells[i]);
}

static int64_t cell(uint64_t v)
{
	return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

static enum firefox_category category_of(const struct firefox *f, const struct span *s,
					 uint32_t *subcategory)
{
	uint32_t reason = 0;

	*subcategory = 0;
	if (s->kind != SPAN_WAIT)
		return CATEGORY_OTHER;
	if (report_timeline_is_runnable(&f->t, s))
		return CATEGORY_RUNNABLE;
	/* It is there: list_waits(). */
	report_strings_add((struct strings *)&f->reasons, report_timeline_reason(&f->t, s),
			   &reason);
	*subcategory = reason;
	return CATEGORY_BLOCKED;
}

static int64_t stack_of(struct firefox *f, const struct span *s)
{
	uint32_t subcategory;
	const enum firefox_category category = category_of(f, s, &subcategory);

	return report_firefox_stack(f, sample_of(f->t.r, s->sample)->node,
				    s->kind == SPAN_WAIT ? category : CATEGORY_USER, subcategory);
}

/* ---- samples */

static int64_t weight_of(const struct firefox *f, const struct span *s)
{
	return cell(f->t.options.weight ? s->weight : s->count);
}

/* A thread's rows, as they are added in the order of time. */
struct filling {
	struct rows rows;
	uint64_t before; /* the last row */
	uint64_t until;	 /* what the rows show ends, 0: it has ended */
	uint64_t waited; /* the last wait ended */
};

/* What a row without a stack has for a sample: nothing. */
static void add_row(struct firefox *f, struct filling *x, uint64_t time, const struct span *s)
{
	const uint64_t idle = x->waited > x->before ? x->waited : x->before;
	int64_t stack = CELL_NULL, weight = 0, cpu = 0;

	if (s) {
		stack = stack_of(f, s);
		weight = weight_of(f, s);
	}
	/* CPU time since the row before: what is known of all waits is better than samples. */
	if (report_timeline_has_states(&f->t))
		cpu = x->rows.n && time > idle && (!s || s->kind != SPAN_REST) ? cell(time - idle)
									       : 0;
	else if (s && s->kind == SPAN_AT)
		cpu = cell(is_time(f->t.r, f->t.value) ? s->weight : s->count * f->t.interval);
	push(f, &x->rows, SAMPLE_COLUMNS, (int64_t[]){ stack, cell(time), weight, cpu });
	x->before = time;
}

/* So that the row before a sample is as near as the sample before it would be. */
static void add_gap_before(struct firefox *f, struct filling *x, const struct span *s)
{
	const uint64_t from = s->start > f->t.interval ? s->start - f->t.interval : 0;

	if (s->kind == SPAN_AT && !x->until && f->t.interval && from >= x->before &&
	    from < s->start && !report_timeline_has_states(&f->t))
		add_row(f, x, from, NULL);
}

static void add_samples(struct firefox *f, const struct timeline_thread *thread, struct filling *x)
{
	for (size_t i = 0; i < thread->n; i++) {
		const struct span *s = &f->t.spans[thread->first + i];

		if (s->kind == SPAN_WOKEN)
			continue;
		if (x->until && s->start > x->until) {
			add_row(f, x, x->until, NULL);
			x->until = 0;
		}
		add_gap_before(f, x, s);
		add_row(f, x, s->start, s);
		if (s->end > s->start && s->end > x->until)
			x->until = s->end;
		if (s->kind == SPAN_WAIT && s->end > x->waited)
			x->waited = s->end;
	}
	if (x->until)
		add_row(f, x, x->until, NULL);
}

static void put_samples(struct firefox *f, const struct timeline_thread *thread)
{
	const struct report *r = f->t.r;
	const unsigned int weight = f->t.options.weight;
	const bool ms = is_time(r, weight),
		   bytes = !strcmp(text(r, r->types[weight].unit), "bytes");
	const bool cpu = f->t.interval || report_timeline_has_states(&f->t);
	const char *columns = cpu  ? ms ? "stack ~time ~weight threadCPUDelta"
					: "stack ~time weight threadCPUDelta"
			      : ms ? "stack ~time ~weight -"
				   : "stack ~time weight -";
	struct filling x = { 0 };

	add_samples(f, thread, &x);
	report_out_printf(&f->out, "\n\"samples\":{\"weightType\":\"%s\",",
			  ms	  ? "tracing-ms"
			  : bytes ? "bytes"
				  : "samples");
	report_columns_put(&f->out, columns, x.rows.cells, x.rows.n / SAMPLE_COLUMNS);
	report_out_puts(&f->out, "},\n");
	free(x.rows.cells);
}

/* ---- markers */

void report_firefox_put_key(struct firefox *f, const char *key)
{
	struct buf b = { 0 };

	/* The viewer has its own use for some keys: "type" is the schema, "cause" a stack. */
	report_buf_puts(&b, "label_");
	report_buf_puts(&b, key);
	if (b.err)
		f->err = b.err;
	else
		report_out_json(&f->out, b.s);
	report_buf_free(&b);
}

static void put_wait_data(struct firefox *f, const struct span *s)
{
	const struct report *r = f->t.r;
	const struct label_set *set = labels_of(r, sample_of(r, s->sample)->label_set);
	struct buf b = { 0 };

	report_out_puts(&f->out, "{\"type\":\"wait\"");
	for (uint64_t i = 0; i < set->count; i++) {
		report_out_putc(&f->out, ',');
		report_firefox_put_key(f, text(r, set->labels[i].key));
		report_out_putc(&f->out, ':');
		report_buf_reset(&b);
		report_add_label_value(&b, r, &set->labels[i], 0);
		f->err = f->err ? f->err : b.err;
		report_out_json(&f->out, b.s);
	}
	report_out_printf(&f->out, ",\"cause\":{\"stack\":%" PRId64 "}}", stack_of(f, s));
	report_buf_free(&b);
}

static void put_woken_data(struct firefox *f, const struct span *s)
{
	const struct timeline_thread *by = report_timeline_thread(&f->t, s->weight);

	report_out_puts(&f->out, "{\"type\":\"woken\"");
	if (by) {
		report_out_puts(&f->out, ",\"by\":");
		report_out_json(&f->out, text(f->t.r, by->comm));
	}
	report_out_puts(&f->out, ",\"tid\":");
	report_out_u64(&f->out, s->weight);
	if (s->cpu != REPORT_NO_CPU)
		report_out_printf(&f->out, ",\"cpu\":%u", s->cpu);
	report_out_putc(&f->out, '}');
}

static void add_marker(struct firefox *f, const struct span *s, struct rows *rows)
{
	uint32_t subcategory;

	if (s->kind == SPAN_WAIT)
		push(f, rows, MARKER_COLUMNS,
		     (int64_t[]){ report_firefox_string(f, report_timeline_reason(&f->t, s)),
				  cell(s->start), cell(s->end), PHASE_INTERVAL,
				  category_of(f, s, &subcategory) });
	else
		push(f, rows, MARKER_COLUMNS,
		     (int64_t[]){ report_firefox_string(f, "woken"), cell(s->start), CELL_NULL,
				  PHASE_INSTANT, CATEGORY_OTHER });
}

static void put_markers(struct firefox *f, const struct timeline_thread *thread)
{
	const char *comma = "";
	struct rows rows = { 0 };

	report_out_puts(&f->out, "\"markers\":{\"data\":[");
	for (size_t i = 0; i < thread->n; i++) {
		const struct span *s = &f->t.spans[thread->first + i];

		if (s->kind != SPAN_WAIT && s->kind != SPAN_WOKEN)
			continue;
		add_marker(f, s, &rows);
		report_out_puts(&f->out, comma);
		if (s->kind == SPAN_WAIT)
			put_wait_data(f, s);
		else
			put_woken_data(f, s);
		comma = ",\n";
	}
	report_out_puts(&f->out, "],");
	report_columns_put(&f->out, "name ~startTime ~endTime phase category", rows.cells,
			   rows.n / MARKER_COLUMNS);
	report_out_putc(&f->out, '}');
	free(rows.cells);
}

/* ---- threads */

static void put_thread(struct firefox *f, const struct timeline_thread *thread,
		       const struct timeline_thread *process)
{
	struct json_out j = { .out = f->out };

	report_json_open(&j);
	report_json_text(&j, "name", text(f->t.r, thread->comm));
	report_json_text(&j, "processName", text(f->t.r, process->comm));
	report_json_text(&j, "processType", "default");
	report_out_printf(
		&j.out,
		",\"pid\":\"%" PRId32 "\",\"tid\":%" PRId32 ",\"isMainThread\":%s,"
		"\"processStartupTime\":0,\"processShutdownTime\":null,\"registerTime\":0,"
		"\"unregisterTime\":null,\"pausedRanges\":[],\"showMarkersInTimeline\":true,",
		thread->pid, thread->tid, thread == process ? "true" : "false");
	f->out = j.out;
	put_samples(f, thread);
	put_markers(f, thread);
	report_out_putc(&f->out, '}');
}

void report_firefox_put_threads(struct firefox *f)
{
	const struct timeline_thread *process = f->t.threads;

	report_out_puts(&f->out, "\"threads\":[");
	for (uint32_t i = 0; i < f->t.nthreads && !f->err; i++) {
		const struct timeline_thread *thread = &f->t.threads[i];

		if (thread->pid != process->pid)
			process = thread;
		report_out_puts(&f->out, i ? ",\n" : "\n");
		put_thread(f, thread, process);
	}
	report_out_puts(&f->out, "],\n");
}
