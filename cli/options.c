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

#include "options.h"

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
	OPT_TITLE,
	OPT_REVERSE,
	OPT_INVERTED,
	OPT_ANNOTATIONS,
	OPT_DELIMITED,
};

static const char short_options[] = ":ap:t:L:C:d:F:c:e:UKIo:n:fEAvqh";

static const struct option long_options[] = {
	{ "all", no_argument, NULL, 'a' },
	{ "pid", required_argument, NULL, 'p' },
	{ "tid", required_argument, NULL, 't' },
	{ "cpu", required_argument, NULL, 'C' },
	{ "cgroup", required_argument, NULL, OPT_CGROUP },
	{ "comm", required_argument, NULL, OPT_COMM },
	{ "duration", required_argument, NULL, 'd' },
	{ "freq", required_argument, NULL, 'F' },
	{ "count", required_argument, NULL, 'c' },
	{ "event", required_argument, NULL, 'e' },
	{ "sw-event", no_argument, NULL, OPT_SW_EVENT },
	{ "user", no_argument, NULL, 'U' },
	{ "kernel", no_argument, NULL, 'K' },
	{ "include-idle", no_argument, NULL, 'I' },
	{ "max-stack", required_argument, NULL, OPT_MAX_STACK },
	{ "call-graph", required_argument, NULL, OPT_CALL_GRAPH },
	{ "format", required_argument, NULL, OPT_FORMAT },
	{ "folded", no_argument, NULL, 'f' },
	{ "output", required_argument, NULL, 'o' },
	{ "top", required_argument, NULL, 'n' },
	{ "sort", required_argument, NULL, OPT_SORT },
	{ "weight", required_argument, NULL, OPT_WEIGHT },
	{ "samples", no_argument, NULL, OPT_SAMPLES },
	{ "fold-extend", no_argument, NULL, 'E' },
	{ "address", no_argument, NULL, 'A' },
	{ "annotations", no_argument, NULL, OPT_ANNOTATIONS },
	{ "delimited", no_argument, NULL, OPT_DELIMITED },
	{ "title", required_argument, NULL, OPT_TITLE },
	{ "reverse", no_argument, NULL, OPT_REVERSE },
	{ "inverted", no_argument, NULL, OPT_INVERTED },
	{ "lines", no_argument, NULL, OPT_LINES },
	{ "inline", no_argument, NULL, OPT_INLINE },
	{ "no-demangle", no_argument, NULL, OPT_NO_DEMANGLE },
	{ "no-color", no_argument, NULL, OPT_NO_COLOR },
	{ "verbose", no_argument, NULL, 'v' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

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

static bool read_number(const char *text, uint64_t least, uint64_t most, uint64_t *out)
{
	char *end;
	unsigned long long value;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || *end || value < least || value > most)
		return false;
	*out = value;
	return true;
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

static bool add_ids(const char *text, struct id_list *list)
{
	char *copy = strdup(text), *rest = copy, *word;
	bool good = copy && *text;

	while (good && (word = strsep(&rest, ","))) {
		uint64_t id;
		uint32_t *grown = realloc(list->id, (list->n + 1) * sizeof(*grown));

		if (grown)
			list->id = grown;
		good = grown && read_number(word, 1, INT32_MAX, &id);
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
static int not_understood(const struct options *opt, char **argv, bool lacks_value)
{
	char letter[3] = { '-', (char)optopt, '\0' };
	const char *name = letter;

	if (!strncmp(argv[optind - 1], "--", 2))
		name = argv[optind - 1];
	else
		for (const struct option *o = long_options; o->name; o++)
			if (lacks_value && o->val == optopt)
				return misused(opt, "%s (--%s) wants a value", letter, o->name);
	return misused(opt, lacks_value ? "%s wants a value" : "there is no option %s", name);
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
		return add_ids(value, &opt->pids)
			       ? -1
			       : misused(opt, "'%s' is no list of process ids", value);
	case 't':
	case 'L':
		return add_ids(value, &opt->tids)
			       ? -1
			       : misused(opt, "'%s' is no list of thread ids", value);
	case 'C':
		opt->cpus = value;
		return cpu_list_is_good(value)
			       ? -1
			       : misused(opt, "'%s' is no list of CPUs: 0-3,7", value);
	case OPT_CGROUP:
		opt->cgroup = value;
		return -1;
	case OPT_COMM:
		opt->comm = value;
		return *value ? -1 : misused(opt, "--comm wants a name");
	case 'd':
		return read_seconds(value, &opt->duration)
			       ? -1
			       : misused(opt, "'%s' is no duration", value);
	case 'F':
		if (!read_number(value, 1, 10 * 1000 * 1000, &opt->freq))
			return misused(opt, "'%s' is no frequency: samples a second, from 1 on",
				       value);
		opt->period = 0;
		return -1;
	case 'c':
		if (!read_number(value, 1, INT64_MAX, &opt->period))
			return misused(opt, "'%s' is no count: one sample every so many events",
				       value);
		opt->freq = 0;
		return -1;
	case 'e':
		opt->event = value;
		return -1;
	case OPT_SW_EVENT:
		opt->software_event = true;
		return -1;
	case 'U':
		opt->user_only = true;
		return -1;
	case 'K':
		opt->kernel_only = true;
		return -1;
	case 'I':
		opt->idle = true;
		return -1;
	case OPT_MAX_STACK:
		if (!read_number(value, 1, 1023, &number))
			return misused(opt, "--max-stack is from 1 to 1023, not '%s'", value);
		opt->max_stack = (unsigned int)number;
		return -1;
	case OPT_CALL_GRAPH:
		if (strcmp(value, "fp") && strcmp(value, "eh"))
			return misused(
				opt,
				"--call-graph is fp (frame pointers) or eh (unwind tables), not '%s'",
				value);
		opt->call_graph = *value == 'e' ? CALL_GRAPH_EH : CALL_GRAPH_FP;
		return -1;
	case OPT_FORMAT:
		return choose_format(opt, value);
	case 'f':
		return choose_format(opt, "folded");
	case 'o':
		opt->output = value;
		return -1;
	case 'n':
		if (!read_number(value, 1, 1000000, &number))
			return misused(opt, "'%s' is no number of rows", value);
		opt->show.top_functions = (unsigned int)number;
		return -1;
	case OPT_SORT:
		if (strcmp(value, "self") && strcmp(value, "total"))
			return misused(opt, "--sort is self or total, not '%s'", value);
		opt->show.sort = *value == 't' ? REPORT_BY_TOTAL : REPORT_BY_SELF;
		return -1;
	case OPT_WEIGHT:
		opt->weight = value;
		return -1;
	case 'E':
		opt->folded_samples = true;
		opt->samples = true;
		return -1;
	case OPT_SAMPLES:
		opt->samples = true;
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
		opt->lines = true;
		return -1;
	case OPT_INLINE:
		opt->inlined = true;
		return -1;
	case OPT_NO_DEMANGLE:
		opt->keep_mangled = true;
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

/* What only shows when everything has been read. */
static int check_together(struct options *opt)
{
	if (opt->user_only && opt->kernel_only)
		return misused(opt, "--user and --kernel leave no stacks at all");
	if (opt->program && (opt->pids.n || opt->tids.n))
		return misused(opt, "either a program to run, or --pid and --tid");
	if (opt->pids.n && opt->tids.n)
		return misused(opt, "either --pid or --tid");
	if (opt->program && !*opt->program)
		return misused(opt, "there is no program after --");
	if (opt->event && opt->software_event)
		return misused(opt, "either --event or --sw-event");
	if ((opt->lines || opt->inlined) && !sym_can_find_source())
		return misused(opt, "%s: this rawprof was built without libdw, which that needs",
			       opt->lines ? "--lines" : "--inline");
	if (opt->samples && opt->format)
		return misused(opt, "--samples has its own form; --format is for a profile");
	if (!opt->format && opt->output && !opt->samples)
		opt->format = report_format_by_path(opt->output);
	if (!opt->format)
		opt->format = report_format_by_name("table");
	return -1;
}

int options_parse(struct options *opt, int argc, char **argv, const char *usage)
{
	int status = -1, letter;

	/* What stands behind "--" is not ours, whatever it looks like. */
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--")) {
			opt->program = argv + i + 1;
			argc = i;
		}
	optind = 0; /* for getopt to begin anew */
	while (status < 0 &&
	       (letter = getopt_long(argc, argv, short_options, long_options, NULL)) != -1) {
		if (letter == 'h') {
			fputs(usage, stdout);
			return EXIT_DONE;
		}
		status = letter == '?' || letter == ':' ? not_understood(opt, argv, letter == ':')
							: take(opt, letter, optarg);
	}
	for (; status < 0 && optind < argc; optind++) {
		if (opt->duration || !read_seconds(argv[optind], &opt->duration))
			status = misused(opt, "'%s' is no duration in seconds%s", argv[optind],
					 opt->program ? "" : "; a program to run stands behind --");
	}
	return status < 0 ? check_together(opt) : status;
}

void options_free(struct options *opt)
{
	free(opt->pids.id);
	free(opt->tids.id);
}
