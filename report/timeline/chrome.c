/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Chrome's Trace Event Format, JSON, which most viewers of time read: each thread as a chart of its
 * stacks. A function begins (B) where a stack first has it and ends (E) where one lacks it, with
 * what the samples that had it as their leaf weigh; a wait is a leaf of its own. What has no length
 * is an instant (i). Times are microseconds since the recording began.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/grow.h"
#include "columns.h"
#include "timeline.h"

/* Of more waits than these, which have nothing in common with what goes before and behind, stacks
 * would be gigabytes. */
#define MAX_STACKS_OF_WAITS 20000

/* A function that is going on. */
struct open_frame {
	uint32_t name;
	const struct span *wait; /* it is no function but this */
	uint64_t count, weight;	 /* of the samples whose leaf it is */
};

struct chrome {
	struct timeline t;
	struct frame_names names;
	struct out out;
	struct open_frame open[REPORT_MAX_STACK + 1];
	uint32_t depth;
	uint64_t until; /* what is open ends then */
	int32_t pid;
	int64_t tid; /* as written: lanes have their own */
	bool first;
	bool bare; /* waits have no stacks */
};

static void begin_event(struct chrome *c, char phase, uint64_t time)
{
	report_out_puts(&c->out, c->first ? "\n" : ",\n");
	c->first = false;
	report_out_printf(&c->out,
			  "{\"ph\":\"%c\",\"pid\":%" PRId32 ",\"tid\":%" PRId64 ",\"ts\":", phase,
			  c->pid, c->tid);
	report_out_us(&c->out, time);
}

static void put_name(struct chrome *c, const char *name, const char *category)
{
	report_out_puts(&c->out, ",\"name\":");
	report_out_json(&c->out, name);
	report_out_printf(&c->out, ",\"cat\":\"%s\"", category);
}

/* Members of args, by the names of the value types. */
static void put_weights(struct chrome *c, uint64_t count, uint64_t weight)
{
	const struct report *r = c->t.r;

	report_out_json(&c->out, text(r, r->types[0].type));
	report_out_putc(&c->out, ':');
	report_out_u64(&c->out, count);
	if (!c->t.value)
		return;
	report_out_putc(&c->out, ',');
	report_out_json(&c->out, text(r, r->types[c->t.value].type));
	report_out_putc(&c->out, ':');
	report_out_u64(&c->out, weight);
}

static void put_labels(struct chrome *c, const struct span *s)
{
	const struct report *r = c->t.r;
	const struct label_set *set = labels_of(r, sample_of(r, s->sample)->label_set);
	struct buf b = { 0 };

	report_out_puts(&c->out, ",\"args\":{");
	for (uint64_t i = 0; i < set->count; i++) {
		report_buf_reset(&b);
		report_add_label_value(&b, r, &set->labels[i], 0);
		c->out.err = c->out.err ? c->out.err : b.err;
		report_out_puts(&c->out, i ? "," : "");
		report_out_json(&c->out, text(r, set->labels[i].key));
		report_out_putc(&c->out, ':');
		report_out_json(&c->out, b.s);
	}
	report_out_puts(&c->out, "}");
	report_buf_free(&b);
}

static const char *name_of_leaf(const struct chrome *c, const struct span *s)
{
	const struct report *r = c->t.r;
	const uint32_t node = sample_of(r, s->sample)->node;

	return name_text(&c->names,
			 node ? c->names.of_frame[r->nodes[node].frame] : c->names.empty_stack);
}

/* ---- what goes on */

static void close_frames(struct chrome *c, uint32_t depth)
{
	while (c->depth > depth) {
		const struct open_frame *f = &c->open[--c->depth];

		begin_event(c, 'E', c->until);
		/* The format does without, Firefox Profiler does not. */
		report_out_puts(&c->out, ",\"name\":");
		report_out_json(&c->out, f->wait ? report_timeline_reason(&c->t, f->wait)
						 : name_text(&c->names, f->name));
		if (f->count || f->weight) {
			report_out_puts(&c->out, ",\"args\":{");
			put_weights(c, f->count, f->weight);
			report_out_putc(&c->out, '}');
		}
		report_out_putc(&c->out, '}');
	}
}

static void open_frame(struct chrome *c, uint64_t time, uint32_t name)
{
	static const char *const categories[KINDS] = {
		[REPORT_USER] = "user", [REPORT_KERNEL] = "kernel",
		[REPORT_JIT] = "jit",	[REPORT_INLINED] = "inlined",
		[REPORT_MARK] = "mark", [REPORT_PYTHON] = "python",
		[REPORT_JS] = "js",	[REPORT_JVM] = "jvm",
		[REPORT_PHP] = "php",	[REPORT_RUBY] = "ruby",
		[REPORT_PERL] = "perl"
	};

	c->open[c->depth++] = (struct open_frame){ .name = name };
	begin_event(c, 'B', time);
	put_name(c, name_text(&c->names, name), categories[name_get(&c->names, name)->kind]);
	report_out_putc(&c->out, '}');
}

static void open_wait(struct chrome *c, const struct span *s)
{
	c->open[c->depth++] = (struct open_frame){ .name = NONE, .wait = s };
	begin_event(c, 'B', s->start);
	put_name(c, report_timeline_reason(&c->t, s), "wait");
	put_labels(c, s);
	report_out_putc(&c->out, '}');
}

/* Names of the stack's frames, root first. */
static uint32_t names_of_stack(const struct chrome *c, const struct span *s,
			       uint32_t names[REPORT_MAX_STACK])
{
	const struct report *r = c->t.r;
	uint32_t n = report_timeline_path(r, sample_of(r, s->sample)->node, names);

	for (uint32_t i = 0; i < n; i++)
		names[i] = c->names.of_frame[r->nodes[names[i]].frame];
	if (!n)
		names[n++] = c->names.empty_stack;
	return n;
}

static void put_span(struct chrome *c, const struct span *s)
{
	uint32_t names[REPORT_MAX_STACK], same = 0;
	const uint32_t n = c->bare && s->kind == SPAN_WAIT ? 0 : names_of_stack(c, s, names);

	if (c->until < s->start)
		close_frames(c, 0);
	while (same < n && same < c->depth && c->open[same].name == names[same])
		same++;
	close_frames(c, same);
	while (c->depth < n)
		open_frame(c, s->start, names[c->depth]);
	if (s->kind == SPAN_WAIT)
		open_wait(c, s);
	c->open[c->depth - 1].count += s->count;
	c->open[c->depth - 1].weight += s->weight;
	c->until = s->end;
}

/* ---- what has no length */

static void put_instant(struct chrome *c, const struct span *s)
{
	const struct timeline_thread *by =
		s->kind == SPAN_WOKEN ? report_timeline_thread(&c->t, s->weight) : NULL;

	if (c->until < s->start)
		close_frames(c, 0);
	begin_event(c, 'i', s->start);
	put_name(c,
		 s->kind == SPAN_WOKEN	? "woken"
		 : s->kind == SPAN_WAIT ? report_timeline_reason(&c->t, s)
					: name_of_leaf(c, s),
		 s->kind == SPAN_WOKEN	? "woken"
		 : s->kind == SPAN_REST ? "without a time"
					: "sample");
	report_out_puts(&c->out, ",\"s\":\"t\",\"args\":{");
	if (s->kind == SPAN_WOKEN)
		report_out_printf(&c->out, "\"tid\":%" PRIu64, s->weight);
	else
		put_weights(c, s->count, s->weight);
	if (by) {
		report_out_puts(&c->out, ",\"by\":");
		report_out_json(&c->out, text(c->t.r, by->comm));
	}
	if (s->cpu != REPORT_NO_CPU)
		report_out_printf(&c->out, ",\"on_cpu\":%u", s->cpu);
	report_out_puts(&c->out, "}}");
}

/* ---- threads */

static void put_title(struct chrome *c, const char *what, const char *name)
{
	begin_event(c, 'M', 0);
	report_out_printf(&c->out, ",\"name\":\"%s\",\"args\":{\"name\":", what);
	report_out_json(&c->out, name);
	report_out_puts(&c->out, "}}");
}

/* Numbers of threads that there are not, one for each lane but the first: tids have 22 bits, and
 * some readers know no more than 32. */
#define LANE_TID(thread, lane) (((int64_t)(lane) << 22) + (thread)->tid)

static void put_lane(struct chrome *c, const struct timeline_thread *thread, uint32_t lane)
{
	c->tid = LANE_TID(thread, lane);
	c->until = 0;
	put_title(c, "thread_name", text(c->t.r, thread->comm));
	for (size_t i = thread->first; i < thread->first + thread->n; i++) {
		const struct span *s = &c->t.spans[i];

		if (s->lane != lane || c->out.err)
			continue;
		if (s->end > s->start)
			put_span(c, s);
		else
			put_instant(c, s);
	}
	close_frames(c, 0);
}

static void put_threads(struct chrome *c)
{
	for (uint32_t i = 0; i < c->t.nthreads; i++) {
		const struct timeline_thread *thread = &c->t.threads[i];

		c->pid = thread->pid;
		c->tid = thread->tid;
		if (!i || thread->pid != c->t.threads[i - 1].pid)
			put_title(c, "process_name", text(c->t.r, thread->comm));
		for (uint32_t lane = 0; lane < thread->lanes; lane++)
			put_lane(c, thread, lane);
	}
}

static size_t count_waits(const struct timeline *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->nspans; i++)
		n += t->spans[i].kind == SPAN_WAIT;
	return n;
}

static void put_head(struct chrome *c)
{
	struct buf title = { 0 };

	report_add_title(&title, &c->t.r->meta.info);
	report_out_puts(&c->out, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"title\":");
	report_out_json(&c->out, title.err ? "rawprof" : title.s);
	report_out_puts(&c->out, ",\"start_ns\":\"");
	report_out_u64(&c->out, c->t.r->meta.info.start_ns);
	report_out_puts(&c->out, "\"},\n\"traceEvents\":[");
	report_buf_free(&title);
}

int report_write_chrome(const struct report *r, FILE *file, const struct report_options *options)
{
	struct chrome *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	c->out.file = file;
	c->first = true;
	err = report_timeline_make(r, options, &c->t);
	if (!err)
		err = report_names_make(r, &c->t.options, false, &c->names);
	if (!err) {
		c->bare = count_waits(&c->t) > MAX_STACKS_OF_WAITS;
		put_head(c);
		put_threads(c);
		report_out_puts(&c->out, "]}\n");
		err = report_out_end(&c->out);
	}
	report_names_free(&c->names);
	report_timeline_free(&c->t);
	free(c);
	return err;
}
