/* SPDX-License-Identifier: BSD-2-Clause */
/* A command that records, from its options to its exit status. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "dry_run.h"
#include "record/hurry.h"
#include "run.h"
#include "sort.h"

/* ---- while it records */

static void show_progress(void *ctx, double seconds, uint64_t stacks, bool last)
{
	struct run *run = ctx;

	if (!last) {
		fprintf(stderr, "\r\033[Krecording: %.0f s, %llu stacks; Ctrl-C ends", seconds,
			(unsigned long long)stacks);
		run->progress_shown = true;
	} else if (run->progress_shown) {
		fputs("\r\033[K", stderr);
	}
	fflush(stderr);
}

static int print_sample(void *ctx, const struct report_event *event)
{
	struct run *run = ctx;
	struct output *out = &run->output;
	int err;

	if (!event)
		return output_flush(out);
	err = run->opt->folded_samples ? report_write_event_folded(out->stream, event, &out->show)
				       : report_write_event(out->stream, event, &out->show);
	return output_failed(out, err);
}

/* ---- what it shows */

/*
 * Formats that print bare numbers show times in us, as people are used to; but CPU time as it is.
 */
static void choose_unit(struct run *run, const struct report_value_type *type)
{
	/* Which value is shown of a saved one is chosen again; the unit is for its times. */
	if (run->rec.profiler->micros &&
	    (run->opt->format->saved || !strcmp(type->unit, "nanoseconds"))) {
		run->output.show.divisor = 1000;
		run->output.show.unit = "us";
	}
}

/* Which value the options want shown. 0, or -EINVAL after a message: bad usage. */
static int choose_weight(struct run *run)
{
	const struct record_profiler *profiler = run->rec.profiler;
	const char *wanted = run->opt->weight;
	const struct report_value_type *types;
	char names[128] = "";
	size_t ntypes;

	if (!profiler->types)
		return 0;
	types = profiler->types(&run->rec, &ntypes);
	run->output.show.weight = profiler->weight;
	for (unsigned int i = 0; wanted && i < ntypes; i++) {
		if (!strcmp(wanted, types[i].type)) {
			run->output.show.weight = i;
			wanted = NULL;
		} else {
			snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
				 i ? ", " : "", types[i].type);
		}
	}
	if (!wanted) {
		choose_unit(run, &types[run->output.show.weight]);
		return 0;
	}
	run->output.unfit = true;
	return rp_fail(-EINVAL, "no weight '%s': there are %s", wanted, names);
}

/* Whether what it will show has the column of --sort: said before it is recorded. */
static int choose_sort(struct run *run)
{
	const struct record_profiler *profiler = run->rec.profiler;
	struct report_grid *grid = NULL;
	int err;

	if (!run->opt->sort)
		return 0;
	err = profiler->output == RECORD_STACKS ? sort_stacks(run->opt, &run->output.show)
	      : profiler->output != RECORD_GRID ? sort_nothing(run->opt)
	      : profiler->empty_grid		? profiler->empty_grid(&run->rec, &grid)
						: 0;
	report_grid_free(grid);
	run->output.unfit |= err == -EINVAL;
	return err;
}

int run_tell(struct recording *rec, const char *note, const struct record_ledger *ledger)
{
	return output_tell(output_of(rec), options_of(rec), note, &ledger->report, &ledger->cost);
}

static void choose_colors(struct run *run)
{
	const struct recording *rec = &run->rec;

	run->output.show.color_by_label = rec->profiler->color_by_label;
	run->output.show.label_order = rec->profiler->label_order;
	run->output.show.lines = rec->opt->lines;
}

int run_report(struct recording *rec)
{
	struct run *run = run_of(rec);
	struct report *report;
	int err = record_report(rec, &report);

	if (err)
		return err;
	choose_colors(run);
	err = output_report(&run->output, run->opt, report);
	if (!err)
		err = run_tell(rec, rec->note, &rec->ledger);
	report_free(report);
	return err;
}

static int report(struct run *run)
{
	struct recording *rec = &run->rec;
	int err;

	if (!run->opt->record.samples)
		return rec->profiler->report ? rec->profiler->report(rec) : run_report(rec);
	err = record_ledger(rec, rec->handed_over, &rec->ledger);
	return err ? err : run_tell(rec, NULL, &rec->ledger);
}

/* ---- in windows */

#define RING_FACTOR 4

static int hand_over(struct run *run, const struct report *report, uint64_t blind_ns)
{
	const struct run_windows *w = run->opt->windows;

	choose_colors(run);
	return w->take(w->ctx, &run->rec, report, &run->output.show, blind_ns);
}

static int end_window(struct recording *rec)
{
	struct run *run = run_of(rec);
	const uint64_t blind_ns = run->blind_ns; /* before the one that ends now */
	struct report *report;
	int err = record_window(rec, &report, &run->blind_ns);

	if (err)
		return err;
	err = hand_over(run, report, blind_ns);
	report_free(report);
	return err;
}

static int end_last_window(struct recording *rec)
{
	struct run *run = run_of(rec);
	struct report *report;
	int err = record_report(rec, &report);

	if (err)
		return err;
	err = hand_over(run, report, run->blind_ns);
	report_free(report);
	return err;
}

static void ask_for_end(void *ctx, double seconds, uint64_t stacks, bool last)
{
	struct run *run = ctx;
	const struct run_windows *w = run->opt->windows;

	(void)seconds;
	(void)stacks;
	if (!last && w->is_over(w->ctx))
		record_stop(&run->rec);
}

static bool has_windows(const struct options *opt)
{
	return opt->windows && opt->windows->take;
}

/* The same profiler, whose results are windows. */
static struct record_profiler in_windows(const struct record_profiler *profiler)
{
	struct record_profiler p = *profiler;

	p.interval = end_window;
	p.report = end_last_window;
	/* While a window is named nobody reads the ring, and after its turn all stacks are new. */
	p.ring_factor = p.ring_factor > RING_FACTOR ? p.ring_factor : RING_FACTOR;
	return p;
}

/* ---- from the beginning to the end */

/* What waits for the target to run, such as probes in its files, is not tried. */
static int dry_run(struct recording *rec, struct dry_run *out)
{
	struct report_info info = { 0 };
	int err = record_open(rec);

	if (!err)
		err = record_start_events(rec);
	if (!err && rec->profiler->describe)
		rec->profiler->describe(rec, &info);
	snprintf(out->event, sizeof(out->event), "%s", info.event ? info.event : "");
	for (size_t i = 0; i < rec->nprograms; i++)
		dry_run_note(out, rec->loaded[i], rec->attach_type[i]);
	out->err = err;
	record_close(rec);
	return err ? EXIT_FAILED : EXIT_DONE;
}

/* What a confined recording cannot do itself: its options say that it is to be one. */
static int start_keeper(struct run *run)
{
	static struct record_duty duties[OUTPUT_DUTY + 1];
	int err;

	duties[RECORD_DUTY_TABLES] = record_table_duty;
	duties[OUTPUT_DUTY] = output_duty;
	duties[OUTPUT_DUTY].ctx = &run->output.file;
	err = record_keeper_start(duties, OUTPUT_DUTY + 1, &run->rec.keeper);
	run->output.keeper = run->rec.keeper;
	return err;
}

static int record(struct run *run)
{
	int err;

	record_hurry();
	run->output = (struct output){ .show = run->opt->show, .file = { .dir = -1 } };
	err = has_windows(run->opt)
		      ? 0
		      : output_open(&run->output, run->opt, run->rec.profiler->output);
	if (!err)
		err = choose_sort(run);
	if (!err)
		err = start_keeper(run);
	if (!err)
		err = record_open(&run->rec);
	if (!err)
		err = choose_weight(run); /* before the recording, not after it */
	if (!err && run->opt->record.samples)
		err = output_empty(&run->output);
	if (!err)
		err = record_run(&run->rec);
	return err;
}

static int exit_status(struct run *run, int err)
{
	if (!err)
		return record_finish(&run->rec);
	if (err == -EINTR && run->rec.caught)
		return EXIT_SIGNAL + run->rec.caught;
	if (err == -EPIPE)
		return EXIT_SIGNAL + SIGPIPE;
	return run->output.unfit ? EXIT_USAGE : EXIT_FAILED;
}

int run_profiler(const struct record_profiler *profiler, const struct options *opt, void *ctx)
{
	const bool quiet = opt->verbosity < 0 || opt->record.samples || !isatty(STDERR_FILENO);
	struct record_options options = opt->record;
	struct run run = { .opt = opt };
	const unsigned long errors = rp_log_errors();
	struct record_profiler windowed;
	int err, status;

	options.signals = true;
	options.confine = true;
	options.sample = print_sample;
	options.progress = quiet ? NULL : show_progress;
	options.ctx = &run;
	options.lines_in_names = options.lines && opt->format->by_name;
	options.stream = opt->format->timed && !options.samples;
	if (has_windows(opt)) {
		windowed = in_windows(profiler);
		profiler = &windowed;
		options.interval = opt->windows->seconds;
	}
	if (opt->windows)
		options.progress = ask_for_end;
	record_init(&run.rec, profiler, &options, ctx);
	if (opt->windows) {
		run.rec.meet = opt->windows->meet;
		run.rec.label = opt->windows->label;
		run.rec.sparing = true;
	}
	if (opt->dry_run)
		return dry_run(&run.rec, opt->dry_run);
	err = record(&run);
	if (!err)
		err = report(&run);
	err = output_close(&run.output, err);
	status = exit_status(&run, err);
	if (err && status < EXIT_SIGNAL)
		command_failed(opt->command, err, errors);
	record_close(&run.rec);
	record_keeper_close(run.rec.keeper);
	return status;
}
