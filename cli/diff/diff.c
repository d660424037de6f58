/* SPDX-License-Identifier: BSD-2-Clause */
/* rawprof diff: what changed between two profiles? */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <rawprof/loader.h>

#include "base/text.h"
#include "cli/commands.h"
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
	struct report_file file[2];
	struct report_diff_options options;
	struct report_diff *diff;
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

static int open_profile(const char *path, struct report_file *file)
{
	int err = report_open(path, file);

	if (err)
		return rp_fail(err, "%s: %s", path, *file->why ? file->why : strerror(-err));
	if (file->report)
		return 0;
	return rp_fail(-EINVAL, "%s: it holds figures and no stacks", path);
}

/* Leaves of both what --filter says; *unfit if that is no condition, or nothing fits it. */
static int filter(const struct options *opt, const char *path, struct report_file *file,
		  bool *unfit)
{
	const char *condition = ((const struct diff_options *)opt->own)->filter;
	struct report *r = NULL;
	char why[REPORT_WHY];
	int err = condition ? report_select(file->report, condition, &r, why) : 0;

	*unfit = err == -EINVAL;
	if (*unfit)
		return rp_fail(err, "%s: --filter '%s': %s", path, condition, why);
	if (r) {
		report_free(file->report);
		file->report = r;
	}
	return err;
}

static double percent(const char *given, double otherwise)
{
	double value;

	return given && option_percent(given, &value) ? value : otherwise;
}

/* Which value type of a profile is compared: that of --weight, or the one that its maker shows. */
static int choose_weight(const struct options *opt, const char *path,
			 const struct report_file *file, unsigned int *weight)
{
	const char *wanted = ((const struct diff_options *)opt->own)->weight;
	int found = wanted ? report_value_by_name(file->report, wanted) : 0;

	*weight = wanted ? (unsigned int)found : file->show.weight;
	return found < 0 ? rp_fail(found, "%s has no weight '%s'", path, wanted) : 0;
}

/* Of bytes and nanoseconds nothing can be said together; of a count and either, only the shares. */
static int check_units(const struct options *opt, const struct diff_files *f)
{
	const struct report_value_type a =
		report_value_type(f->file[0].report, f->options.weight_a);
	const struct report_value_type b =
		report_value_type(f->file[1].report, f->options.weight_b);

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

static int compare(const struct options *opt, const struct output *out, struct diff_files *f)
{
	const struct diff_options *own = opt->own;
	int err;

	f->options = (struct report_diff_options){
		.name_a = opt->name,
		.name_b = opt->second,
		.scale = (enum report_diff_scale)own->scale,
		.noise = percent(own->noise, 0) / 100,
		.min = percent(own->min, 0),
		.all = own->all,
		.show = out->show,
	};
	f->options.show.top_functions = own->top;
	f->options.show.title = own->title;
	err = choose_weight(opt, opt->name, &f->file[0], &f->options.weight_a);
	if (!err)
		err = choose_weight(opt, opt->second, &f->file[1], &f->options.weight_b);
	if (!err)
		err = check_units(opt, f);
	if (err)
		return err;
	err = report_diff_new(f->file[0].report, f->file[1].report, &f->options, &f->diff);
	if (err == -ENODATA)
		return rp_fail(err, "one of the two profiles has nothing of this weight");
	if (err == -ENOENT)
		return rp_fail(err, "the profiles do not say how long they were recorded: "
				    "choose another --normalize");
	return err;
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

static int run(const struct options *opt)
{
	const unsigned long errors = rp_log_errors();
	struct diff_files f = { .diff = NULL };
	struct output out;
	int err = output_open(&out, opt, RECORD_STACKS), status = EXIT_FAILED;

	if (err)
		return out.unfit ? EXIT_USAGE : command_failed(opt->command, err, errors);
	err = open_profile(opt->name, &f.file[0]);
	if (!err)
		err = open_profile(opt->second, &f.file[1]);
	if (!err)
		err = filter(opt, opt->name, &f.file[0], &out.unfit);
	if (!err)
		err = filter(opt, opt->second, &f.file[1], &out.unfit);
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
	report_file_free(&f.file[0]);
	report_file_free(&f.file[1]);
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
	       "how much a function's weight may differ from run to run besides chance (2)"),
	OPTION("filter", 0, VIEW, TEXT, filter, "EXPRESSION",
	       "compare only the samples of both for which it holds: 'comm=nginx and not "
	       "dso=libssl*', as in rawprof report"),
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
	.about = "What changed between two profiles? A and B are files: pprof, of rawprof or of "
		 "others, or folded stacks. B is compared with A: what grew, what shrank, what is "
		 "new and what is gone, by itself and with what it calls.\n\n"
		 "Only what chance does not explain is reported: a function's weight is tested as "
		 "the number of samples that it is, with some percent of noise between runs "
		 "(--noise) allowed, and corrected for how many functions are tested, so that of a "
		 "hundred comparisons of the same program at most one reports anything. Points are "
		 "percent of A's total, + is more in B.\n\n"
		 "Exit status: 0, also where something changed; 1 with --fail-above, if a function "
		 "grew by more than that, or if a file cannot be read.",
	.examples =
		"  rawprof diff before.pb.gz after.pb.gz            what changed beyond chance\n"
		"  rawprof diff -o diff.svg before.folded after.folded   red grew, blue shrank\n"
		"  rawprof diff --fail-above 2 main.pb.gz branch.pb.gz   for CI\n",
	.takes = TAKES_NAME | TAKES_SECOND | TAKES_FORMAT | TAKES_OUTPUT,
	.own = own,
	.own_size = sizeof(struct diff_options),
	.check = check,
	.only_reads = true,
	.run = run,
};
