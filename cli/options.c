/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the command line. Long names are the contract; short ones follow bcc where it has them. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rawprof/loader.h>
#include <rawprof/symbolize.h>

#include "options_own.h"

enum {
	OPT_CGROUP = 256,
	OPT_COMM,
	OPT_SW_EVENT,
	OPT_MAX_STACK,
	OPT_CALL_GRAPH,
	OPT_FORMAT,
	OPT_SORT,
	OPT_WEIGHT,
	OPT_SAMPLES,
	OPT_NO_COLOR,
	OPT_LINES,
	OPT_INLINE,
	OPT_NO_DEMANGLE,
	OPT_DEBUGINFOD,
	OPT_TITLE,
	OPT_REVERSE,
	OPT_INVERTED,
	OPT_ANNOTATIONS,
	OPT_DELIMITED,
};

/* The options that commands have in common, and which group of them each belongs to (0: everybody's). */
static const struct common_option {
	const char *name;
	int has_arg;
	int letter;
	unsigned int group;
} common_options[] = {
	{ "all", no_argument, 'a', TAKES_TARGET },
	{ "pid", required_argument, 'p', TAKES_TARGET },
	{ "tid", required_argument, 't', TAKES_TARGET },
	{ "cpu", required_argument, 'C', TAKES_CPUS },
	{ "cgroup", required_argument, OPT_CGROUP, TAKES_TARGET },
	{ "comm", required_argument, OPT_COMM, TAKES_TARGET },
	{ "duration", required_argument, 'd', 0 },
	{ "interval", required_argument, 'i', TAKES_INTERVAL },
	{ "freq", required_argument, 'F', TAKES_SAMPLING },
	{ "count", required_argument, 'c', TAKES_SAMPLING },
	{ "event", required_argument, 'e', TAKES_SAMPLING },
	{ "sw-event", no_argument, OPT_SW_EVENT, TAKES_SAMPLING },
	{ "user", no_argument, 'U', TAKES_STACKS },
	{ "kernel", no_argument, 'K', TAKES_STACKS },
	{ "include-idle", no_argument, 'I', TAKES_SAMPLING },
	{ "max-stack", required_argument, OPT_MAX_STACK, TAKES_STACKS },
	{ "call-graph", required_argument, OPT_CALL_GRAPH, TAKES_STACKS },
	{ "format", required_argument, OPT_FORMAT, 0 },
	{ "folded", no_argument, 'f', TAKES_STACKS },
	{ "output", required_argument, 'o', 0 },
	{ "top", required_argument, 'n', TAKES_ROWS },
	{ "sort", required_argument, OPT_SORT, TAKES_ROWS },
	{ "weight", required_argument, OPT_WEIGHT, TAKES_STACKS },
	{ "samples", no_argument, OPT_SAMPLES, TAKES_SAMPLES },
	{ "fold-extend", no_argument, 'E', TAKES_SAMPLES },
	{ "address", no_argument, 'A', TAKES_STACKS },
	{ "annotations", no_argument, OPT_ANNOTATIONS, TAKES_STACKS },
	{ "delimited", no_argument, OPT_DELIMITED, TAKES_STACKS },
	{ "title", required_argument, OPT_TITLE, TAKES_STACKS },
	{ "reverse", no_argument, OPT_REVERSE, TAKES_STACKS },
	{ "inverted", no_argument, OPT_INVERTED, TAKES_STACKS },
	{ "lines", no_argument, OPT_LINES, TAKES_STACKS },
	{ "inline", no_argument, OPT_INLINE, TAKES_STACKS },
	{ "no-demangle", no_argument, OPT_NO_DEMANGLE, TAKES_STACKS },
	{ "debuginfod", no_argument, OPT_DEBUGINFOD, TAKES_STACKS },
	{ "no-color", no_argument, OPT_NO_COLOR, 0 },
	{ "verbose", no_argument, 'v', 0 },
	{ "quiet", no_argument, 'q', 0 },
	{ "help", no_argument, 'h', 0 },
};
#define COMMON_OPTIONS (sizeof(common_options) / sizeof(common_options[0]))

/* Beyond all letters: the n-th of the command's own options. */
#define OWN_BASE 1000

/* The same as getopt_long() wants it: the command's own first, then the common ones that it takes. */
#define MAX_OPTIONS 100
struct getopt_tables {
	struct option longs[MAX_OPTIONS];
	char shorts[3 * MAX_OPTIONS];
};

static void add_option(struct getopt_tables *t, size_t *n, struct option option, int letter)
{
	size_t len = strlen(t->shorts);

	t->longs[(*n)++] = option;
	if (letter && letter < 256)
		snprintf(t->shorts + len, sizeof(t->shorts) - len, "%c%s", letter,
			 option.has_arg ? ":" : "");
}

static void make_tables(const struct options_spec *spec, struct getopt_tables *t)
{
	size_t n = 0;

	*t = (struct getopt_tables){ .shorts = ":" };
	for (const struct own_option *own = spec->own; own && own->name; own++)
		add_option(t, &n,
			   (struct option){ own->name, own->kind != OWN_FLAG, NULL,
					    OWN_BASE + (int)(own - spec->own) },
			   own->letter);
	for (size_t i = 0; i < COMMON_OPTIONS; i++) {
		const struct common_option *c = &common_options[i];

		if (c->group && !(c->group & spec->takes))
			continue;
		if (own_by_letter(spec->own, c->letter))
			continue;
		add_option(t, &n, (struct option){ c->name, c->has_arg, NULL, c->letter },
			   c->letter);
		if (c->letter == 't')
			strcat(t->shorts, "L:"); /* as some tools call it */
	}
}

/* Says what is wrong and returns the exit status for it. */
static int __attribute__((format(printf, 2, 3)))
misused(const struct options *opt, const char *fmt, ...)
{
	va_list args;

	fprintf(stderr, "rawprof %s: ", opt->command);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fprintf(stderr, "\nTry 'rawprof help %s'.\n", opt->command);
	return EXIT_USAGE;
}

/* Seconds: "5", "0.5", "5s", "2m", "1h". */
static bool read_seconds(const char *text, double *out)
{
	char *end;
	double value;

	errno = 0;
	value = strtod(text, &end);
	if (errno || end == text || !isfinite(value) || value <= 0)
		return false;
	if (*end && !end[1])
		value *= *end == 's' ? 1 : *end == 'm' ? 60 : *end == 'h' ? 3600 : 0;
	else if (*end)
		return false;
	if (value <= 0 || value > 365.0 * 86400)
		return false;
	*out = value;
	return true;
}

static bool add_ids(const char *text, struct record_ids *list)
{
	char *copy = strdup(text), *rest = copy, *word;
	bool good = copy && *text;

	while (good && (word = strsep(&rest, ","))) {
		uint64_t id;
		uint32_t *grown = realloc(list->id, (list->n + 1) * sizeof(*grown));

		if (grown)
			list->id = grown;
		good = grown && option_number(word, 1, INT32_MAX, &id);
		if (good)
			list->id[list->n++] = (uint32_t)id;
	}
	free(copy);
	return good;
}

static bool cpu_list_is_good(const char *text)
{
	struct rp_cpus cpus;

	if (rp_cpus_parse(text, &cpus))
		return false;
	rp_cpus_free(&cpus);
	return true;
}

/* What getopt could not make sense of; it points behind the word that it stopped at. */
static int not_understood(const struct options *opt, const struct getopt_tables *t, char **argv,
			  bool lacks_value)
{
	char letter[3] = { '-', (char)optopt, '\0' }, wrong[OPTION_WRONG];
	const char *name = letter;

	if (option_is_long(argv[optind - 1], lacks_value))
		name = argv[optind - 1];
	else
		for (const struct option *o = t->longs; o->name; o++)
			if (lacks_value && o->val == optopt)
				return misused(opt, "%s (--%s) wants a value", letter, o->name);
	if (lacks_value)
		return misused(opt, "%s wants a value", name);
	for (size_t i = 0; i < COMMON_OPTIONS; i++)
		if (name == letter ? common_options[i].letter == optopt
				   : !strcmp(common_options[i].name, name + 2))
			return misused(opt, "%s is of no use to %s", name, opt->command);
	if (name == letter)
		return misused(opt, "there is no option %s", name);
	option_wrong(wrong, name, t->longs);
	return misused(opt, "%s", wrong);
}

static int take_own(struct options *opt, const struct own_option *own, const char *value)
{
	if (own_take(opt->own, own, value))
		return -1;
	return misused(opt, "--%s wants %s, not '%s'", own->name, own_wants(own), value);
}

static int choose_format(struct options *opt, const char *name)
{
	opt->format = report_format_by_name(name);
	if (!opt->format) {
		fprintf(stderr, "rawprof %s: no format '%s'; there are:", opt->command, name);
		for (const struct report_format *f = report_formats; f->name; f++)
			fprintf(stderr, " %s", f->name);
		fputc('\n', stderr);
		return EXIT_USAGE;
	}
	return -1;
}

static int take(struct options *opt, int letter, const char *value)
{
	uint64_t number;

	switch (letter) {
	case 'a':
		return -1; /* the whole machine, which is the default */
	case 'p':
		return add_ids(value, &opt->record.pids)
			       ? -1
			       : misused(opt, "'%s' is no list of process ids", value);
	case 't':
	case 'L':
		return add_ids(value, &opt->record.tids)
			       ? -1
			       : misused(opt, "'%s' is no list of thread ids", value);
	case 'C':
		opt->record.cpus = value;
		return cpu_list_is_good(value)
			       ? -1
			       : misused(opt, "'%s' is no list of CPUs: 0-3,7", value);
	case OPT_CGROUP:
		opt->record.cgroup = value;
		return -1;
	case OPT_COMM:
		opt->record.comm = value;
		return *value ? -1 : misused(opt, "--comm wants a name");
	case 'd':
		return read_seconds(value, &opt->record.duration)
			       ? -1
			       : misused(opt, "'%s' is no duration", value);
	case 'i':
		return read_seconds(value, &opt->record.interval)
			       ? -1
			       : misused(opt, "'%s' is no interval in seconds", value);
	case 'F':
		if (!option_number(value, 1, 10 * 1000 * 1000, &opt->record.freq))
			return misused(opt, "'%s' is no frequency: samples a second, from 1 on",
				       value);
		return -1;
	case 'c':
		if (!option_number(value, 1, INT64_MAX, &opt->record.period))
			return misused(opt, "'%s' is no count: one sample every so many events",
				       value);
		return -1;
	case 'e':
		opt->record.event = value;
		return -1;
	case OPT_SW_EVENT:
		opt->record.software_event = true;
		return -1;
	case 'U':
		opt->record.user_only = true;
		return -1;
	case 'K':
		opt->record.kernel_only = true;
		return -1;
	case 'I':
		opt->record.idle = true;
		return -1;
	case OPT_MAX_STACK:
		if (!option_number(value, 1, 1023, &number))
			return misused(opt, "--max-stack is from 1 to 1023, not '%s'", value);
		opt->record.max_stack = (unsigned int)number;
		return -1;
	case OPT_CALL_GRAPH:
		if (strcmp(value, "fp") && strcmp(value, "eh"))
			return misused(
				opt,
				"--call-graph is fp (frame pointers) or eh (unwind tables), not '%s'",
				value);
		opt->record.call_graph =
			*value == 'e' ? RECORD_CALL_GRAPH_EH : RECORD_CALL_GRAPH_FP;
		return -1;
	case OPT_FORMAT:
		return choose_format(opt, value);
	case 'f':
		return choose_format(opt, "folded");
	case 'o':
		opt->output = value;
		return -1;
	case 'n':
		if (!option_number(value, 1, 1000000, &number))
			return misused(opt, "'%s' is no number of rows", value);
		opt->show.top_functions = (unsigned int)number;
		return -1;
	case OPT_SORT:
		opt->sort = value;
		return -1;
	case OPT_WEIGHT:
		opt->weight = value;
		return -1;
	case 'E':
		opt->folded_samples = true;
		opt->record.samples = true;
		return -1;
	case OPT_SAMPLES:
		opt->record.samples = true;
		return -1;
	case 'A':
		opt->show.addresses = true;
		return -1;
	case OPT_ANNOTATIONS:
		opt->show.annotate = true;
		return -1;
	case OPT_DELIMITED:
		opt->show.delimiter = true;
		return -1;
	case OPT_TITLE:
		opt->show.title = value;
		return -1;
	case OPT_REVERSE:
		opt->show.reverse = true;
		return -1;
	case OPT_INVERTED:
		opt->show.inverted = true;
		return -1;
	case OPT_LINES:
		opt->record.lines = true;
		return -1;
	case OPT_INLINE:
		opt->record.inlined = true;
		return -1;
	case OPT_DEBUGINFOD:
		opt->record.debuginfod = true;
		return -1;
	case OPT_NO_DEMANGLE:
		opt->record.keep_mangled = true;
		return -1;
	case OPT_NO_COLOR:
		opt->color_off = true;
		return -1;
	case 'v':
		opt->verbosity++;
		return -1;
	case 'q':
		opt->verbosity = -1;
		return -1;
	}
	return EXIT_USAGE; /* no letter is left: the table of options has one more than this */
}

/* A table of functions is ordered by self or total; commands with other tables know their columns. */
static int check_sort(struct options *opt, const struct options_spec *spec)
{
	if (!opt->sort || !(spec->takes & TAKES_STACKS))
		return -1;
	if (!strcmp(opt->sort, "total"))
		opt->show.sort = REPORT_BY_TOTAL;
	else if (!strcmp(opt->sort, "self"))
		opt->show.sort = REPORT_BY_SELF;
	else if (!spec->own)
		return misused(opt, "--sort is self or total, not '%s'", opt->sort);
	return -1;
}

/* What only shows when everything has been read. */
static int check_together(struct options *opt, const struct options_spec *spec)
{
	const char *wrong;

	if (opt->record.program && (opt->record.pids.n || opt->record.tids.n))
		return misused(opt, "either a program to run, or --pid and --tid");
	if (opt->record.pids.n && opt->record.tids.n)
		return misused(opt, "either --pid or --tid");
	if (opt->record.program && !*opt->record.program)
		return misused(opt, "there is no program after --");
	if (opt->record.freq && opt->record.period)
		return misused(opt, "either --freq or --count");
	if (opt->record.event && opt->record.software_event)
		return misused(opt, "either --event or --sw-event");
	if ((opt->record.lines || opt->record.inlined) && !sym_can_find_source())
		return misused(opt, "%s: this rawprof was built without libdw, which that needs",
			       opt->record.lines ? "--lines" : "--inline");
	if (opt->record.samples && opt->format)
		return misused(opt, "--samples has its own form; --format is for a profile");
	if (!opt->format && opt->output && !opt->record.samples)
		opt->format = report_format_by_path(opt->output);
	if (!opt->format)
		opt->format = report_format_by_name("table");
	wrong = spec->check ? spec->check(opt) : NULL;
	if (!wrong && opt->record.user_only && opt->record.kernel_only)
		wrong = "--user and --kernel leave no stacks at all";
	return wrong ? misused(opt, "%s", wrong) : check_sort(opt, spec);
}

static int take_any(struct options *opt, const struct options_spec *spec, int letter,
		    const char *value)
{
	const struct own_option *own = letter >= OWN_BASE ? &spec->own[letter - OWN_BASE]
							  : own_by_letter(spec->own, letter);

	return own ? take_own(opt, own, value) : take(opt, letter, value);
}

int options_parse(struct options *opt, int argc, char **argv, const struct options_spec *spec)
{
	struct getopt_tables tables;
	int status = -1, letter;

	if (spec->own_size) {
		opt->own = calloc(1, spec->own_size);
		if (!opt->own)
			return EXIT_FAILED;
	}
	/* What stands behind "--" is not ours, whatever it looks like. */
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--")) {
			opt->record.program = argv + i + 1;
			argc = i;
		}
	make_tables(spec, &tables);
	optind = 0; /* for getopt to begin anew */
	while (status < 0 &&
	       (letter = getopt_long(argc, argv, tables.shorts, tables.longs, NULL)) != -1) {
		if (letter == 'h') {
			fputs(spec->usage, stdout);
			return EXIT_DONE;
		}
		status = letter == '?' || letter == ':'
				 ? not_understood(opt, &tables, argv, letter == ':')
				 : take_any(opt, spec, letter, optarg);
	}
	for (; status < 0 && optind < argc; optind++) {
		double again;

		if (!(spec->takes & TAKES_TARGET))
			status = misused(opt, "'%s' is not for it: it takes options alone",
					 argv[optind]);
		else if (opt->record.duration && read_seconds(argv[optind], &again))
			status = misused(opt, "the duration is given twice: %g s and '%s'",
					 opt->record.duration, argv[optind]);
		else if (!read_seconds(argv[optind], &opt->record.duration))
			status = misused(
				opt, "'%s' is no duration in seconds%s", argv[optind],
				opt->record.program ? "" : "; a program to run stands behind --");
	}
	if (status < 0 && opt->record.program && !(spec->takes & TAKES_TARGET))
		status = misused(opt, "it does not run programs");
	return status < 0 ? check_together(opt, spec) : status;
}

void options_free(struct options *opt)
{
	free(opt->record.pids.id);
	free(opt->record.tids.id);
	free(opt->own);
}
