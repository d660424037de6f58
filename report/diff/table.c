/* SPDX-License-Identifier: BSD-2-Clause */
/* The difference for a person: what changed beyond chance, by how much, and how certain that is. */
#include <errno.h>
#include <math.h>

#include "diff.h"
#include "report/table/table.h"

enum { PIPE_WIDTH = 100, ROWS = 20, MODULE_MAX = 24, FIXED = 53 };

/* From when on it is said what made the test less certain. */
#define SCATTER_SAID 1.5
#define NOISE_SAID 0.02

#define RUNS_DIFFER 0.5 /* functions of the same program, by up to so much */
#define RUNS_SAID 0.2	/* how large a change is missed, for more runs to be advised */

struct diff_table {
	struct out out;
	const struct report_diff *d;
	unsigned int names, modules;
	const char *dots;
	struct buf scratch;
};

static void put_color(struct diff_table *t, const char *code)
{
	report_out_puts(&t->out, color_code(&t->d->options.show, code));
}

/* Prints s in exactly so many columns. */
static void put_cell(struct diff_table *t, const char *s, unsigned int columns, bool ragged)
{
	report_buf_reset(&t->scratch);
	report_buf_shorten(&t->scratch, s, columns, t->dots);
	report_out_buf(&t->out, &t->scratch);
	if (!ragged && !t->scratch.err)
		report_out_fill(&t->out, ' ', columns - report_text_columns(t->scratch.s));
}

static void put_file(struct diff_table *t, int side)
{
	const char *name = side == SIDE_A ? t->d->options.name_a : t->d->options.name_b;
	const struct report *r = t->d->r[side];
	const uint64_t duration = diff_duration(t->d, side);
	char s[NUMBER_SIZE];

	report_out_printf(&t->out, "%c: ", 'A' + side);
	report_out_clean(&t->out, name ? name : "");
	if (diff_has_runs(t->d))
		report_out_printf(&t->out, ", %zu run%s", t->d->runs[side].n,
				  t->d->runs[side].n == 1 ? "" : "s");
	report_out_printf(&t->out, ", %s ",
			  report_text_weight(t->d->whole.of[side].w,
					     text(r, r->types[t->d->weight[side]].unit), s));
	report_out_clean(&t->out, text(r, r->types[t->d->weight[side]].type));
	if (duration)
		report_out_printf(&t->out, " in %s", report_text_duration(duration, s));
	report_out_putc(&t->out, '\n');
}

/* By what the two are compared. */
static void put_scale(struct diff_table *t)
{
	const struct report_diff *d = t->d;

	switch (d->options.scale) {
	case REPORT_DIFF_TOTAL:
		report_out_puts(&t->out, "compared as shares: both are 100 %");
		break;
	case REPORT_DIFF_TIME:
		report_out_puts(&t->out, "compared by time");
		break;
	case REPORT_DIFF_NONE:
		report_out_puts(&t->out, "compared as they are");
		break;
	default:
		if (d->nstable)
			report_out_printf(&t->out,
					  "compared by what stayed the same: %u functions, which "
					  "take %.3f times as much in B",
					  d->nstable, d->scale);
		else
			report_out_puts(&t->out, "compared as shares, both 100 %: too few "
						 "functions to see what stayed the same");
	}
	report_out_printf(&t->out, "; points are percent of A's %stotal\n",
			  d->options.part_of ? "whole " : "");
}

/* " +6.1  +20%": percent points, and relative. */
static void put_change(struct diff_table *t, const struct diff_pair *p)
{
	const double points = diff_points(t->d, p);
	const uint64_t a = p->of[SIDE_A].w, b = p->of[SIDE_B].w;
	double percent;

	if (!a && !b) {
		report_out_fill(&t->out, ' ', 15);
		return;
	}
	report_out_printf(&t->out, "%+7.2f ", points);
	percent = a ? 100 * ((double)b / t->d->scale / (double)a - 1) : 0;
	if (!a || !b)
		report_out_printf(&t->out, "%7s", a ? "gone" : "new");
	else if (percent < 99999)
		report_out_printf(&t->out, "%+6.0f%%", percent);
	else
		report_out_puts(&t->out, "      >");
}

/* " 98.7%"; never 100, which nothing is. */
static void put_confidence(struct diff_table *t, const struct diff_row *row)
{
	const double p = row->p_self < row->p_total ? row->p_self : row->p_total;

	if (row->verdict == DIFF_CARRIED && p >= DIFF_CERTAIN)
		report_out_puts(&t->out, "  by calls");
	else if (p < 0.00001)
		report_out_puts(&t->out, "  >99.999%");
	else if (p > 0.5)
		report_out_puts(&t->out, "         -");
	else
		report_out_printf(&t->out, "  %7.3f%%", 100 * (1 - p));
}

static const char *module_of(const struct diff_row *row)
{
	if (row->kind == KIND_COMM)
		return "(process)";
	if (row->module && *row->module)
		return report_text_base(row->module);
	return row->kind == REPORT_KERNEL ? "[kernel]" : "";
}

static void put_row(struct diff_table *t, uint32_t name)
{
	const struct diff_row *row = &t->d->rows[name];
	const struct diff_pair *shown = row->verdict == DIFF_SELF ? &row->self : &row->total;

	put_color(t, row->verdict == DIFF_SAME	    ? TABLE_DIM
		     : diff_points(t->d, shown) > 0 ? "\033[31m"
						    : "\033[34m");
	put_change(t, &row->self);
	report_out_putc(&t->out, ' ');
	put_change(t, &row->total);
	put_confidence(t, row);
	report_out_puts(&t->out, "  ");
	put_cell(t, diff_text(t->d, name), t->names, false);
	report_out_puts(&t->out, "  ");
	put_color(t, TABLE_RESET);
	put_color(t, TABLE_DIM);
	put_cell(t, module_of(row), t->modules, true);
	put_color(t, TABLE_RESET);
	report_out_putc(&t->out, '\n');
}

static void measure(struct diff_table *t, unsigned int most)
{
	unsigned int width = t->d->options.show.width ? t->d->options.show.width : PIPE_WIDTH;
	unsigned int shown = 0, columns;

	t->modules = 6;
	for (uint32_t i = 0; i < t->d->names.count && shown < most; i++) {
		const struct diff_row *row = &t->d->rows[t->d->order[i]];

		if (!diff_row_shown(t->d, row))
			continue;
		shown++;
		columns = report_text_columns(module_of(row));
		t->modules = columns > t->modules ? columns : t->modules;
	}
	if (t->modules > MODULE_MAX)
		t->modules = MODULE_MAX;
	t->names = width > FIXED + t->modules + 12 ? width - FIXED - t->modules : 12;
}

static void put_rows(struct diff_table *t)
{
	const struct report_diff *d = t->d;
	unsigned int most = d->options.show.top_functions ? d->options.show.top_functions : ROWS;
	unsigned int shown = 0, more = 0;

	measure(t, most);
	for (uint32_t i = 0; i < d->names.count; i++) {
		if (!diff_row_shown(d, &d->rows[d->order[i]]))
			continue;
		if (shown == most) {
			more++;
			continue;
		}
		if (!shown++) {
			put_color(t, TABLE_BOLD);
			report_out_printf(&t->out, "\n%15s %15s %9s  %-*s  MODULE\n",
					  "SELF, POINTS, %", "TOTAL, POINTS, %", "CERTAIN",
					  (int)t->names, "FUNCTION");
			put_color(t, TABLE_RESET);
		}
		put_row(t, d->order[i]);
	}
	if (more)
		report_out_printf(&t->out, "%43s%u more function%s\n", "", more,
				  more == 1 ? "" : "s");
}

/* How much there is to see with these profiles. */
static void put_least(struct diff_table *t)
{
	const double heavy = report_diff_least(t->d, 0.2), light = report_diff_least(t->d, 0.01);
	const bool runs = diff_has_runs(t->d);

	if (runs)
		report_out_printf(&t->out,
				  "Runs of one side differ, three of four heavy functions by up to "
				  "%.1f %%, beside chance.%s",
				  100 * t->d->between, heavy > 0 ? " " : "\n");
	if (!(heavy > 0))
		return;
	report_out_printf(&t->out,
			  "With %s a function that takes 20 %% of the time is found, nine "
			  "times of ten, if it grows by %.0f %%",
			  runs ? "so many of these" : "these samples", 100 * heavy);
	if (light > 0)
		report_out_printf(&t->out, "; one that takes 1 %%, by %.0f %%", 100 * light);
	report_out_puts(&t->out, heavy > RUNS_SAID && runs ? ". More runs show more.\n" : ".\n");
}

/* Some change that is reported is not larger than two runs of one program may differ. */
static bool may_be_runs(const struct report_diff *d)
{
	for (uint32_t i = 0; i < d->names.count; i++) {
		const struct diff_row *row = &d->rows[i];
		const struct diff_pair *p = row->verdict == DIFF_SELF ? &row->self : &row->total;
		const double a = (double)p->of[SIDE_A].w, b = (double)p->of[SIDE_B].w / d->scale;

		if ((row->verdict == DIFF_SELF || row->verdict == DIFF_TOTAL) &&
		    fabs(b - a) < RUNS_DIFFER * (a > b ? a : b))
			return true;
	}
	return false;
}

/* What came out, in one sentence. */
static void put_end(struct diff_table *t)
{
	const struct report_diff *d = t->d;
	const uint32_t changed = d->verdicts[DIFF_SELF] + d->verdicts[DIFF_TOTAL];

	if (!changed)
		report_out_printf(
			&t->out,
			"\nNothing changed beyond chance: no function of %u, at %.1f %%.\n",
			d->names.count, 100 * (1 - DIFF_CERTAIN));
	else
		report_out_printf(&t->out,
				  "\n%u function%s changed beyond chance, %u call%s them; %u did "
				  "not.\n",
				  changed, changed == 1 ? "" : "s", d->verdicts[DIFF_CARRIED],
				  d->verdicts[DIFF_CARRIED] == 1 ? "s" : "",
				  d->verdicts[DIFF_SAME]);
	put_least(t);
	if (changed && !diff_has_runs(d) && may_be_runs(d))
		report_out_puts(&t->out,
				"Runs of the same program can differ by as much, by where its code "
				"and data lie and by what the machine does beside: one of each "
				"cannot tell. Record each side several times, say five, into a "
				"directory, and compare the directories.\n");
	if (d->scatter[SIDE_A] > SCATTER_SAID || d->scatter[SIDE_B] > SCATTER_SAID)
		report_out_printf(&t->out,
				  "Samples come in bursts: A's vary %.1f times as much as "
				  "independent ones would, B's %.1f times, and count for so much "
				  "less.\n",
				  d->scatter[SIDE_A] > 1 ? d->scatter[SIDE_A] : 1,
				  d->scatter[SIDE_B] > 1 ? d->scatter[SIDE_B] : 1);
	if (d->noise > NOISE_SAID && d->noise > d->options.noise)
		report_out_printf(&t->out,
				  "The heavy functions differ by %.1f %% from run to run, as other "
				  "load or a warmer machine make them: what is no more than that "
				  "is not reported.\n",
				  100 * d->noise);
	if (d->inflation > 2)
		report_out_printf(
			&t->out,
			"The two runs differ everywhere, %.1f times as much as chance "
			"and noise explain; more runs, or longer ones, would show more.\n",
			sqrt(d->inflation));
}

int report_diff_write_table(const struct report_diff *d, FILE *file)
{
	struct diff_table t = { .out = { .file = file },
				.d = d,
				.dots = d->options.show.utf8 ? "…" : "..." };

	put_color(&t, TABLE_BOLD);
	report_out_puts(&t.out, "rawprof diff");
	put_color(&t, TABLE_RESET);
	report_out_putc(&t.out, '\n');
	put_file(&t, SIDE_A);
	put_file(&t, SIDE_B);
	put_scale(&t);
	put_rows(&t);
	put_end(&t);
	if (!t.out.err)
		t.out.err = t.scratch.err;
	report_buf_free(&t.scratch);
	return report_out_end(&t.out);
}
