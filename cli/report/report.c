/* SPDX-License-Identifier: BSD-2-Clause */
/* rawprof report: from a file to the output. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <rawprof/grid.h>
#include <rawprof/hist.h>
#include <rawprof/loader.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/sort.h"
#include "report.h"

#define ROWS 20 /* of a table of figures in another order */

static enum record_output kind_of(const struct options *opt, const struct report_file *file)
{
	const struct report_own *own = opt->own;

	return file->report && own->by ? RECORD_GRID
	       : file->hists	       ? RECORD_HISTS
	       : file->grid	       ? RECORD_GRID
				       : RECORD_STACKS;
}

/* What the file says, but for what was asked for now, and for what the terminal can. */
static struct report_options shown(const struct report_options *saved,
				   const struct report_options *now)
{
	struct report_options o = *saved;

	o.annotate = o.annotate || now->annotate;
	o.delimiter = o.delimiter || now->delimiter;
	o.addresses = o.addresses || now->addresses;
	o.reverse = o.reverse || now->reverse;
	o.inverted = o.inverted || now->inverted;
	o.title = now->title ? now->title : o.title;
	o.top_functions = now->top_functions ? now->top_functions : o.top_functions;
	o.width = now->width;
	o.utf8 = now->utf8;
	o.color = now->color;
	return o;
}

/* Which value is shown: --weight, or what its command shows. */
static int choose_weight(const struct options *opt, const struct report *r,
			 struct report_options *show)
{
	char names[256] = "";

	if (opt->weight) {
		const int value = report_value_by_name(r, opt->weight);

		for (size_t i = 0; i < report_value_types(r); i++)
			snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
				 i ? ", " : "", report_value_type(r, i).type);
		if (value < 0)
			return rp_fail(-EINVAL, "no weight '%s': there are %s", opt->weight, names);
		show->weight = (unsigned int)value;
	}
	/* The unit is for times: saved ones have it whatever they show. */
	if (strcmp(report_value_type(r, show->weight).unit, "nanoseconds")) {
		show->divisor = 0;
		show->unit = NULL;
	}
	return 0;
}

/* Ledger and cost, where the format has no room for them; of histograms and grids without note. */
static int tell(struct output *out, const struct options *opt, const struct report_file *file)
{
	const struct report_ledger *ledger = report_file_ledger(file);
	const struct report_cost *cost = report_file_cost(file);
	struct options quiet = *opt;

	if (!ledger || !cost) {
		quiet.verbosity = -1;
		return output_tell(out, &quiet, NULL, ledger, cost);
	}
	return output_tell(out, opt, file->report ? report_file_info(file)->note : NULL, ledger,
			   cost);
}

/* Sums by keys, in place of stacks. */
static int show_by(struct output *out, const struct options *opt, const struct report *r)
{
	const struct report_own *own = opt->own;
	struct report_grid *grid;
	char why[REPORT_WHY];
	int err = report_group(r, own->by, out->show.weight, opt->show.top_functions, &grid, why);

	out->unfit = err == -EINVAL;
	if (err)
		return out->unfit ? rp_fail(err, "--by '%s': %s", own->by, why) : err;
	if (opt->sort)
		err = sort_grid(opt, grid, NULL, 0);
	out->unfit = err == -EINVAL;
	if (!err)
		err = output_grid(out, opt, grid);
	report_grid_free(grid);
	return err;
}

static int print_annotated(struct output *out, const struct report_annotated *a)
{
	int err = output_begin(out);

	if (!err)
		report_annotated_print(a, out->stream);
	return err;
}

/* Instructions, in place of the table or in the page. */
static int show_annotated(struct output *out, const struct options *opt, const struct report *r)
{
	const struct report_own *own = opt->own;
	struct report_annotated a;
	int err = report_annotate(r, own->annotate, out->show.weight, &a, &out->unfit);

	out->show.code = a.code;
	out->show.ncode = a.n;
	if (!err && opt->format->for_people)
		err = print_annotated(out, &a);
	else if (!err)
		err = output_report(out, opt, r);
	out->show.code = NULL;
	report_annotated_free(&a);
	return err;
}

/* The table may be a tree. */
static int show_stacks(struct output *out, const struct options *opt, const struct report *r)
{
	const struct report_own *own = opt->own;
	struct report_format tree = { .write = report_write_tree, .name = opt->format->name };
	struct options other = *opt;

	if (own->by)
		return show_by(out, opt, r);
	if (own->annotate)
		return show_annotated(out, opt, r);
	if (!opt->format->for_people || !(own->tree || own->callers || own->callees))
		return output_report(out, opt, r);
	/* What ends in a function is read from there. */
	out->show.reverse = out->show.reverse || (own->callers && !own->callees);
	other.format = &tree;
	return output_report(out, &other, r);
}

/* What --sort names is a column of what is shown. */
static int choose_sort(struct output *out, const struct options *opt,
		       const struct report_file *file)
{
	const struct report_own *own = opt->own;

	if (!opt->sort || (file->report && own->by))
		return 0;
	return file->report ? sort_stacks(opt, &out->show)
	       : file->grid ? sort_grid(opt, file->grid, NULL, ROWS)
			    : sort_nothing(opt);
}

static int show(struct output *out, const struct options *opt, const struct report_file *file)
{
	const struct report_options terminal = out->show;
	int err = 0;

	for (; !err && file; file = file->next) {
		out->show = shown(&file->show, &terminal);
		err = choose_sort(out, opt, file);
		if (!err && file->report)
			err = choose_weight(opt, file->report, &out->show);
		out->unfit = err;
		if (err)
			break;
		err = file->report  ? show_stacks(out, opt, file->report)
		      : file->hists ? output_hists(out, opt, file->hists)
				    : output_grid(out, opt, file->grid);
		if (!err && !file->next)
			err = tell(out, opt, file);
	}
	return err;
}

static int read_file(const char *path, struct report_file *file)
{
	int err = report_open(path, file);

	return err ? rp_fail(err, "cannot read %s: %s", path, file->why) : 0;
}

/* Of the formats that the site reads, the one that is named, or its own. */
static int serve(struct output *out, const struct options *opt, const struct report_file *file)
{
	struct options served = *opt;
	char *document = NULL;
	size_t size;
	int err;

	if (opt->format->for_people)
		served.format = report_format_by_name("firefox");
	out->unfit = kind_of(opt, file) != RECORD_STACKS || file->next;
	if (out->unfit)
		return rp_fail(-EINVAL, "--serve is for stacks, and these are figures");
	out->stream = open_memstream(&document, &size);
	if (!out->stream)
		return -ENOMEM;
	err = show(out, &served, file);
	if (fclose(out->stream) && !err)
		err = -ENOMEM;
	out->stream = NULL;
	if (!err)
		err = report_serve(document, size, opt->verbosity < 0);
	free(document);
	return err;
}

static int run(const struct options *opt)
{
	const struct report_own *own = opt->own;
	const unsigned long errors = rp_log_errors();
	struct report_file file = { 0 };
	struct output out = { 0 };
	struct options shown = *opt;
	bool usage = false;
	int err = read_file(opt->name ? opt->name : SAVED_PROFILE, &file), status;

	/* What was asked for takes most of what is left: that is no advice. */
	shown.advice_off |= own->callers || own->callees;
	opt = &shown;
	if (!err)
		err = report_change(opt, &file, &usage);
	if (!err && own->serve) {
		err = serve(&out, opt, &file);
	} else {
		if (!err)
			err = output_open(&out, opt, kind_of(opt, &file));
		if (!err)
			err = show(&out, opt, &file);
	}
	err = output_close(&out, err);
	status = err == -EPIPE	      ? EXIT_SIGNAL + SIGPIPE
		 : usage || out.unfit ? EXIT_USAGE
		 : err		      ? command_failed(opt->command, err, errors)
				      : EXIT_DONE;
	report_file_free(&file);
	return status;
}

static const char *check(const struct options *opt)
{
	const struct report_own *own = opt->own;

	if (opt->sort && (own->tree || own->callers || own->callees || own->annotate || own->serve))
		return "--sort is for the table: not with --tree, --callers, --callees, "
		       "--annotate, --serve";
	if (own->inlined && !own->resolve)
		return "--inline goes with --resolve, whose files say what was inlined";
	if (own->by && (own->tree || opt->show.reverse || opt->show.inverted))
		return "--by is a table of figures, not of stacks";
	if (own->by && !opt->format->write_grid)
		return "--by is a table of figures: its formats are table, json, prometheus and "
		       "rawprof";
	if (own->serve && (own->by || own->tree || opt->output))
		return "--serve hands the whole profile to a browser: without --by, --tree and -o";
	if (own->serve && !opt->format->for_people && strcmp(opt->format->name, "firefox") &&
	    strcmp(opt->format->name, "chrome"))
		return "--serve has the formats firefox, the default, and chrome";
	if (own->annotate && (own->by || own->tree))
		return "--annotate, --by and --tree are different views: one of them";
	if (own->annotate && !opt->format->for_people && strcmp(opt->format->name, "html"))
		return "--annotate is text, in place of the table, or in the page (html)";
	if (own->tree && !opt->format->for_people)
		return "--tree is text, in place of the table";
	return NULL;
}

#define OPTION_STRUCT struct report_own

static const struct option_row own[] = {
	FLAG("tree", 0, VIEW, tree, "who calls what, as a tree, in place of the table"),
	OPTION("callers", 0, VIEW, TEXT, callers, "FUNCTION",
	       "only stacks with this function (a name or a glob), from it to the outermost caller",
	       .least = 1, .wrong = "is no name of a function"),
	OPTION("callees", 0, VIEW, TEXT, callees, "FUNCTION",
	       "only stacks with this function, from it to the innermost", .least = 1,
	       .wrong = "is no name of a function"),
	FLAG("serve", 0, VIEW, serve,
	     "print an address of profiler.firefox.com that shows the profile in a browser on this "
	     "machine, and hand it out on a port of 127.0.0.1 until Ctrl-C"),
	OPTION("by", 0, VIEW, TEXT, by, "KEY,KEY",
	       "sums in place of stacks: of comm, pid, tid, dso, symbol (the function that "
	       "ran), cpu, and labels: state, cgroup",
	       .least = 1, .wrong = "is no list of keys"),
	OPTION("annotate", 0, VIEW, TEXT, annotate, "FUNCTION",
	       "instructions of this function (a name or a glob) with what was at each: by "
	       "objdump, of the file that was recorded, if it is still there; of a BPF program "
	       "while it is loaded; with --format html in the page",
	       .least = 1, .wrong = "is no name of a function"),
	OPTION("filter", 0, VIEW, TEXT, filter, "EXPRESSION",
	       "only samples for which it holds: 'comm=nginx,php* and not symbol~^malloc'; keys "
	       "are comm, pid, tid, symbol, dso, leaf and labels, = and != compare with globs, ~ "
	       "and !~ with regular expressions"),
	OPTION("between", 0, VIEW, TEXT, between, "T1,T2",
	       "only what was then: seconds since the beginning of the recording", .least = 1,
	       .wrong = "is no time: two numbers of seconds, 2,2.5"),
	OPTION("resolve", 0, VIEW, TEXT, resolve, "FILE,FILE",
	       "names for code that was stripped where it was recorded, and source lines: files "
	       "with its symbols and debug data, told by their build ids",
	       .least = 1, .wrong = "is no list of files"),
	FLAG("inline", 0, VIEW, inlined,
	     "with --resolve: functions that were inlined stand in stacks, as frames of their own"),
	{ 0 },
};

const struct command report_command = {
	.name = "report",
	.summary = "show a saved profile, in any format",
	.about = "rawprof report [FILE] shows what rawprof record, or -o FILE.rawprof, has saved; "
		 "without a FILE it is " SAVED_PROFILE
		 ". It needs neither root nor the machine that it "
		 "was recorded on. What it shows is what the command itself would have shown, byte "
		 "for byte, in every format. It also reads pprof and folded stacks, of rawprof or "
		 "of others.",
	.examples = "  rawprof report                             the table of " SAVED_PROFILE "\n"
		    "  rawprof report -o flame.svg a.rawprof\n",
	.takes = TAKES_NAME | TAKES_FORMAT | TAKES_OUTPUT | TAKES_SHOWN | TAKES_ROWS | TAKES_ADVICE,
	.own = own,
	.own_size = sizeof(struct report_own),
	.check = check,
	.only_reads = true,
	.run = run,
};
