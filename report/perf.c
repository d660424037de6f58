/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Samples as `perf script` prints them, which stackcollapse-perf.pl, speedscope, the Firefox
 * Profiler and flamescope read, an empty line after each:
 *
 *	comm pid/tid [cpu] seconds.microseconds: period event:
 *		address symbol+0xoffset (module)
 *	  file:line	if that is known, as with -F +srcline
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "timeline/timeline.h"
#include "write.h"

/* What separates the pid from the comm is the first space with digits behind it, so a comm has none
 * of those. */
static void put_comm(struct out *o, const char *comm)
{
	char unit[RP_TEXT_UNIT];

	if (!comm || !*comm)
		comm = "[unknown]";
	if (*comm == ' ')
		report_out_putc(o, '_');
	while (*comm == ' ')
		comm++;
	while (*comm) {
		bool space = *comm == ' ' && comm[1] >= '0' && comm[1] <= '9';
		size_t n = rp_text_unit(&comm, unit, NULL);

		if (space)
			*unit = '_';
		report_out_write(o, unit, n);
	}
}

/* A printable text of which no character is in `not`; those become '_'. */
static void put_word(struct out *o, const char *s, const char * not )
{
	char unit[RP_TEXT_UNIT];

	while (*s) {
		size_t n = rp_text_plain(s), before = strcspn(s, not );

		n = n < before ? n : before;
		report_out_write(o, s, n);
		s += n;
		if (!*s)
			break;
		n = rp_text_unit(&s, unit, NULL);
		if (n == 1 && strchr(not, *unit))
			*unit = '_';
		report_out_write(o, unit, n);
	}
}

/* In parentheses, without spaces and parentheses of its own: readers look for the last pair.
 * Modules of the kernel stand in brackets. */
static void put_module(struct out *o, const struct report_frame *f)
{
	const char *s = f->module && *f->module ? f->module : NULL;
	bool kernel = f->kind == REPORT_KERNEL, brackets = kernel && s && *s != '[';

	if (kernel && (!s || !strcmp(s, "[kernel]")))
		s = "[kernel.kallsyms]";
	report_out_puts(o, brackets ? " ([" : " (");
	put_word(o, s ? s : "[unknown]", " ()");
	report_out_puts(o, brackets ? "])" : ")");
}

static void put_frame(struct out *o, const struct report_frame *f)
{
	report_out_putc(o, '\t');
	report_out_hex(o, f->address, 16, ' ');
	report_out_putc(o, ' ');
	if (!f->name || !*f->name)
		report_out_puts(o, "[unknown]");
	else
		report_out_clean(o, f->name);
	if (f->kind == REPORT_INLINED) {
		report_out_puts(o, " (inlined)");
	} else {
		if (f->name && *f->name && f->kind != REPORT_MARK) {
			report_out_puts(o, "+0x");
			report_out_hex(o, f->symbol_offset, 1, '0');
		}
		put_module(o, f);
	}
	report_out_putc(o, '\n');
	if (f->file && *f->file) { /* never in the shape of a frame */
		report_out_puts(o, "  ");
		put_word(o, f->file, " ()");
		report_out_printf(o, ":%" PRIu32 "\n", f->line);
	}
}

static void put_head(struct out *o, const struct report_event *e)
{
	put_comm(o, e->comm);
	report_out_printf(o, " %" PRId32 "/%" PRId32 " ", e->pid, e->tid);
	if (e->cpu >= 0)
		report_out_printf(o, "[%03" PRId32 "] ", e->cpu);
	report_out_printf(o, "%" PRIu64 ".%06" PRIu64 ": %10" PRIu64 " ", e->mono_ns / 1000000000,
			  e->mono_ns / 1000 % 1000000, e->value ? e->value : 1);
	put_word(o, e->event && *e->event ? e->event : "samples", " ");
	report_out_puts(o, ":\n");
}

int report_write_perf_sample(FILE *file, const struct report_event *event)
{
	struct out o = { .file = file, .err = ferror(file) ? -EIO : 0 };

	put_head(&o, event);
	for (size_t i = 0; i < event->nframes; i++)
		put_frame(&o, &event->frames[i]);
	report_out_putc(&o, '\n');
	return o.err;
}

/* ---- a profile */

struct perf {
	struct out out;
	const struct report *r;
	unsigned int weight;
	uint64_t most_bytes; /* 0: any number */
};

static void put_sample(struct perf *p, uint32_t sample, uint64_t ns, uint16_t cpu, uint64_t value)
{
	const struct report *r = p->r;
	const struct sample *s = sample_of(r, sample);
	const struct report_event e = { .mono_ns = ns,
					.comm = text(r, s->comm),
					.event = r->meta.info.event
							 ? r->meta.info.event
							 : text(r, r->types[p->weight].type),
					.pid = s->pid,
					.tid = s->tid ? s->tid : s->pid,
					.cpu = cpu == REPORT_NO_CPU ? -1 : cpu,
					.value = value };

	put_head(&p->out, &e);
	for (uint32_t node = s->node; node; node = r->nodes[node].parent) {
		struct report_frame f = report_frame_public(r, r->nodes[node].frame);

		put_frame(&p->out, &f);
	}
	report_out_putc(&p->out, '\n');
	if (p->most_bytes && p->out.written > p->most_bytes && !p->out.err)
		p->out.err = -EFBIG;
}

/* How many ns a weight takes on the time line. */
static uint64_t time_of(const struct report *r, unsigned int type, uint64_t weight)
{
	const char *unit = text(r, r->types[type].unit), *period = r->meta.info.period_type.unit;
	uint64_t each = 1000, ns;

	if (!strcmp(unit, "nanoseconds"))
		return weight;
	if (!strcmp(unit, "count") && period && !strcmp(period, "nanoseconds") &&
	    r->meta.info.period)
		each = r->meta.info.period;
	return __builtin_mul_overflow(weight, each, &ns) ? UINT64_MAX : ns;
}

/*
 * The aggregated form: one entry for each distinct sample, its weight as the period. When each was
 * taken is not known any more, so they lie one after the other, each as long as its weight: readers
 * that draw a time line then give them their due.
 */
static int put_sums(struct perf *p)
{
	struct order order = { 0 };
	uint64_t now = 0;
	int err = report_order_make(p->r, true, &order);

	for (uint32_t i = 0; !err && i < p->r->samples.count && !p->out.err; i++) {
		const uint32_t sample = order.samples[i];
		const uint64_t value = value_of(p->r, sample, p->weight);

		if (!value)
			continue;
		put_sample(p, sample, now, REPORT_NO_CPU, value);
		now = add_saturating(now, time_of(p->r, p->weight, value));
	}
	report_order_free(&order);
	return err;
}

/* When a span is over: that is when perf would have seen it. A sample has no length. */
static uint64_t seen(const struct span *s)
{
	return s->kind == SPAN_AT ? s->start : s->end;
}

static int by_time(const void *a, const void *b, void *spans)
{
	const uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct span *all = spans;

	COMPARE(seen(&all[i]), seen(&all[j]));
	COMPARE(i, j);
	return 0;
}

/* One entry for each time that a sample was taken, in the order of time. */
static int put_moments(struct perf *p, const struct timeline *t)
{
	uint32_t *order = malloc((t->nspans + 1) * sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->nspans; i++)
		order[i] = i;
	qsort_r(order, t->nspans, sizeof(*order), by_time, t->spans);
	for (size_t i = 0; i < t->nspans && !p->out.err; i++) {
		const struct span *s = &t->spans[order[i]];
		const uint64_t value = t->options.weight ? s->weight : s->count;

		if (s->kind != SPAN_WOKEN && value)
			put_sample(p, s->sample, seen(s), s->cpu, value);
	}
	free(order);
	return 0;
}

int report_write_perf(const struct report *r, FILE *file, const struct report_options *given)
{
	struct perf p = { .out = { .file = file }, .r = r };
	struct timeline t = { .r = r };
	int err;

	if (r->stream->n) {
		err = report_timeline_make(r, given, &t);
		p.weight = t.options.weight;
		p.most_bytes = t.options.most_bytes;
		err = err ? err : put_moments(&p, &t);
		report_timeline_free(&t);
	} else {
		struct report_options options;

		err = report_options_resolve(r, given, &options);
		p.weight = options.weight;
		p.most_bytes = options.most_bytes;
		err = err ? err : put_sums(&p);
	}
	return err ? err : report_out_end(&p.out);
}
