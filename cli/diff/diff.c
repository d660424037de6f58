/* SPDX-License-Identifier: BSD-2-Clause */
/* rawprof diff: what changed between two profiles? */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <rawprof/loader.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/diff/side.h"
#include "cli/option_rows.h"
#include "cli/output.h"

struct diff_options {
	unsigned int scale;		      /* enum report_diff_scale */
	const char *fail_above, *min, *noise; /* percent; NULL: not given */
	unsigned int top;
	const char *weight, *title, *filter;
	bool all;
};

struct diff_files {
	struct diff_side side[2];
	struct report_diff_options options;
	struct report_diff *diff, *whole; /* whole: with --filter */
};

/* The writers of a difference, by the name of the format. */
static const struct diff_format {
	const char *name;
	report_diff_writer *write;
} formats[] = {
	{ "table", report_diff_write_table }, { "folded", report_diff_write_folded },
	{ "svg", report_diff_write_svg },     { "html", report_diff_write_html },
	{ "json", report_diff_write_json },
};

static report_diff_writer *writer_of(const struct options *opt)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (!strcmp(formats[i].name, opt->format->name))
			return formats[i].write;
	return NULL;
}

static double percent(const char *given, double otherwise)
{
	double value;

	return given && option_percent(given, &value) ? value : otherwise;
}

/* Of bytes and nanoseconds nothing can be said together; of a count and either, only the shares. */
static int check_units(const struct options *opt, const struct diff_files *f)
{
	const struct report_value_type a = report_value_type(f->side[0].runs[0], f->side[0].weight);
	const struct report_value_type b = report_value_type(f->side[1].runs[0], f->side[1].weight);

	if (!strcmp(a.unit, b.unit))
		return 0;
	if (strcmp(a.unit, "count") && strcmp(b.unit, "count"))
		return rp_fail(-EINVAL,
			       "%s is in %s (%s), %s in %s (%s): they cannot be compared; --weight "
			       "chooses another value",
			       opt->name, a.unit, a.type, opt->second, b.unit, b.type);
	rp_log(RP_WARN, "%s counts %s, %s is in %s (%s): only shares can be compared", opt->name,
	       a.type, opt->second, b.unit, b.type);
	return 0;
}

/* of_part: of what --filter left; then the whole ones have been compared. */
static int compare_runs(struct diff_files *f, bool of_part, struct report_diff **diff)
{
	const struct report_runs a = diff_side_runs(&f->side[0], of_part),
				 b = diff_side_runs(&f->side[1], of_part);
	int err = report_diff_new(&a, &b, &f->options, diff);

	if (err == -ENODATA)
		return rp_fail(err, "one of the two profiles has nothing of this weight");
	if (err == -ENOENT)
		return rp_fail(err, "the profiles do not say how long they were recorded: "
				    "choose another --normalize");
	return err;
}

static int compare(const struct options *opt, const struct output *out, struct diff_files *f)
{
	const struct diff_options *own = opt->own;
	int err = check_units(opt, f);

	if (err)
		return err;
	f->options = (struct report_diff_options){
		.name_a = opt->name,
		.name_b = opt->second,
		.weight_a = f->side[0].weight,
		.weight_b = f->side[1].weight,
		.scale = (enum report_diff_scale)own->scale,
		.noise = percent(own->noise, 0) / 100,
		.min = percent(own->min, 0),
		.all = own->all,
		.show = out->show,
	};
	f->options.show.top_functions = own->top;
	f->options.show.title = own->title;
	if (!own->filter)
		return compare_runs(f, false, &f->diff);
	/* A part is normalised as the whole is, where what stayed the same may be. */
	err = compare_runs(f, false, &f->whole);
	f->options.part_of = f->whole;
	return err ? err : compare_runs(f, true, &f->diff);
}

/* The line that a CI log ends with. */
static int judge(const struct options *opt, const struct report_diff *diff)
{
	const struct diff_options *own = opt->own;
	struct report_diff_growth g;
	char relative[32] = "new";

	if (!own->fail_above || !report_diff_worst(diff, percent(own->fail_above, 0), &g))
		return EXIT_DONE;
	if (g.relative > 0)
		snprintf(relative, sizeof(relative), "%+.0f %%", 100 * (g.relative - 1));
	rp_text_print(stderr, "rawprof diff: %s grew by %.2f %% of the total (%s)%s\n", g.name,
		      g.points, relative, g.with_calls ? ", with what it calls" : "");
	return EXIT_FAILED;
}

static int write_diff(struct output *out, const struct options *opt, const struct report_diff *diff)
{
	int err = output_begin(out);

	return err ? err : output_failed(out, writer_of(opt)(diff, out->stream));
}

/* *unfit: nothing fits --filter, or it is no condition. */
static int open_side(const struct options *opt, int side, struct diff_files *f, bool *unfit)
{
	const struct diff_options *own = opt->own;
	struct diff_side *s = &f->side[side];
	int err = diff_side_open(s, side ? opt->second : opt->name);

	if (!err)
		err = diff_side_choose_weight(s, own->weight);
	if (!err && own->filter)
		err = diff_side_filter(s, own->filter, unfit);
	return err;
}

static int run(const struct options *opt)
{
	const unsigned long errors = rp_log_errors();
	struct diff_files f = { .diff = NULL };
	struct output out;
	int err = output_open(&out, opt, RECORD_STACKS), status = EXIT_FAILED;

	if (err)
		return out.unfit ? EXIT_USAGE : command_failed(opt->command, err, errors);
	err = open_side(opt, 0, &f, &out.unfit);
	if (!err)
		err = open_side(opt, 1, &f, &out.unfit);
	if (!err)
		err = compare(opt, &out, &f);
	if (!err)
		err = write_diff(&out, opt, f.diff);
	err = output_close(&out, err);
	if (!err)
		status = judge(opt, f.diff);
	else if (err == -EPIPE)
		status = EXIT_SIGNAL + SIGPIPE;
	else if (out.unfit)
		status = EXIT_USAGE;
	else
		command_failed(opt->command, err, errors);
	report_diff_free(f.diff);
	report_diff_free(f.whole);
	diff_side_free(&f.side[0]);
	diff_side_free(&f.side[1]);
	return status;
}

static const char *check(const struct options *opt)
{
	if (!opt->second)
		return "it compares two profiles: name both";
	return writer_of(opt) ? NULL : "it has the formats table, folded, svg, html and json";
}

#define OPTION_STRUCT struct diff_options
static const struct option_row own[] = {
	OPTION("normalize", 0, VIEW, CHOICE, scale, "HOW",
	       "by what the weights of B are divided: so that most functions stay the same "
	       "(stable, the default), so that both are 100 % (total), by how long they were "
	       "recorded (time), or not at all (none)",
	       .words = "stable total time none"),
	OPTION("fail-above", 0, VIEW, PERCENT, fail_above, "PCT",
	       "exit with status 1 if a function grew by more than PCT percent of A's total, "
	       "beyond chance, and name the one that grew the most"),
	OPTION("min", 0, VIEW, PERCENT, min, "PCT",
	       "leave out what changed by less than PCT percent of A's total"),
	OPTION("noise", 0, VIEW, PERCENT, noise, "PCT",
	       "how much a function's weight may differ from run to run besides chance (2); of "
	       "several runs, besides what these show (0.5)"),
	OPTION("filter", 0, VIEW, TEXT, filter, "EXPRESSION",
	       "compare only the samples of both for which it holds: 'comm=nginx and not "
	       "dso=libssl*', as in rawprof report; scale and points stay those of the whole "
	       "profiles"),
	FLAG("all", 'a', VIEW, all, "what did not change beyond chance, too"),
	{ "format", 0, OPTION_OUTPUT, .help = "the form of the result",
	  .words = "table folded svg html json" },
	{ "output", 'o', OPTION_OUTPUT,
	  .help = "write to FILE; its ending chooses the format unless that is named: .svg .html "
		  ".folded .json" },
	OPTION("top", 'n', OUTPUT, UINT, top, "N", "rows of the table (20)", .least = 1,
	       .most = 1000000),
	OPTION("weight", 0, OUTPUT, TEXT, weight, "TYPE",
	       "which of the profiles' values is compared; by default the one that their maker "
	       "shows"),
	OPTION("title", 0, OUTPUT, TEXT, title, "TEXT", "title of the flame graph"),
	{ 0 },
};

const struct command diff_command = {
	.name = "diff",
	.summary = "what changed between two profiles?",
	.about = "What changed between two profiles? A and B are files: saved profiles, pprof, of "
		 "rawprof or of others, or folded stacks. B is compared with A: what grew, what "
		 "shrank, what is new and what is gone, by itself and with what it calls.\n\n"
		 "Each may be several runs of the same program: a directory stands for all files "
		 "in it, a pattern in quotes ('before-*.rawprof') for those that fit. Then their "
		 "sums are compared, and what the runs of one side differ by among each other is "
		 "no change. One run of each cannot tell: by where code and data lie, and by what "
		 "the machine does beside, functions of the same program differ by up to half. "
		 "Five runs of each are a good number; three leave some doubt.\n\n"
		 "Only what chance does not explain is reported: a function's weight is tested as "
		 "the number of samples that it is, with some percent of noise between runs "
		 "(--noise) allowed, and corrected for how many functions are tested, so that of a "
		 "hundred comparisons of the same program at most one reports anything: of single "
		 "runs if these differ by chance alone, else of several. Points are "
		 "percent of A's total, + is more in B.\n\n"
		 "Exit status: 0, also where something changed; 1 with --fail-above, if a function "
		 "grew by more than that, or if a file cannot be read.",
	.examples =
		"  rawprof diff before.pb.gz after.pb.gz            what changed beyond chance\n"
		"  rawprof diff -o diff.svg before.folded after.folded   red grew, blue shrank\n"
		"  rawprof diff before/ after/                      several runs of each\n"
		"  rawprof diff 'v1-*.rawprof' 'v2-*.rawprof'\n"
		"  rawprof diff --fail-above 2 main.pb.gz branch.pb.gz   for CI\n",
	.many = ": several runs of a side are a directory, or a pattern in quotes",
	.takes = TAKES_NAME | TAKES_SECOND | TAKES_FORMAT | TAKES_OUTPUT,
	.own = own,
	.own_size = sizeof(struct diff_options),
	.check = check,
	.only_reads = true,
	.run = run,
};
