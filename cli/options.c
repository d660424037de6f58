/* SPDX-License-Identifier: BSD-2-Clause */
/* The common options and the command line. Letters are those of bcc where it has one. */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rawprof/loader.h>
#include <rawprof/symbolize.h>

#include "base/grow.h"
#include "base/text.h"
#include "commands.h"
#include "option_rows.h"
#include "record/during.h"

#define OPTION_STRUCT struct options
/* Options of the commands that have TAKES_set. */
#define COMMON(set, name, letter, group, kind, member, ...)                                        \
	OPTION(name, letter, group, kind, member, __VA_ARGS__, .takes = TAKES_##set)
#define SWITCH(set, name, letter, group, member, ...)                                              \
	COMMON(set, name, letter, group, FLAG, member, NULL, __VA_ARGS__)

const struct option_row common_options[] = {
	{ "all", 'a', OPTION_TARGET, OPTION_NOTHING, 0, NULL,
	  "the whole machine, which is the default", .takes = TAKES_TARGET },
	COMMON(TARGET, "pid", 'p', TARGET, IDS, record.pids, "LIST",
	       "these processes: numbers with commas between them",
	       .wrong = "is no list of process ids"),
	COMMON(TARGET, "tid", 't', TARGET, IDS, record.tids, "LIST", "these threads",
	       .wrong = "is no list of thread ids", .alias = 'L'),
	COMMON(CPUS, "cpu", 'C', TARGET, CPUS, record.cpus, "LIST", "these CPUs: 0-3,7",
	       .wrong = "is no list of CPUs: 0-3,7"),
	COMMON(TARGET, "cgroup", 0, TARGET, TEXT, record.cgroup, "PATH",
	       "processes of this version 2 control group and of those below it"),
	COMMON(TARGET, "comm", 0, TARGET, TEXT, record.comm, "GLOB",
	       "threads whose command name matches: 'nginx', 'worker*'", .least = 1,
	       .wrong = "is no command name"),
	{ "", 0, OPTION_TARGET, OPTION_NOTHING, 0, "PROGRAM ARGS",
	  "run this program, follow its children, stop when it ends, exit with its status",
	  .takes = TAKES_TARGET },

	COMMON(RESULT, "duration", 'd', SAMPLING, SECONDS, record.duration, "SECONDS",
	       "how long (also 2m, 1h, or just the number); default: until Ctrl-C or the "
	       "program's end; a second Ctrl-C abandons the report",
	       .wrong = "is no duration"),
	COMMON(INTERVAL, "interval", 'i', SAMPLING, SECONDS, record.interval, "SECONDS",
	       "print every so often", .wrong = "is no interval in seconds"),
	COMMON(DURING, "during", 0, SAMPLING, TEXT, record.during, "F>TIME",
	       "only what happens inside calls of F that take longer than this: "
	       "'./prog:request>10ms', 'libc:fsync>1ms', 'syscall:fsync>500us'; F is what "
	       "`rawprof func` takes",
	       .least = 1, .wrong = "is no function and time: 'libc:fsync>10ms'"),
	COMMON(SAMPLING, "freq", 'F', SAMPLING, NUMBER, record.freq, "HZ",
	       "samples a second on each CPU (99); the kernel's limit is in "
	       "/proc/sys/kernel/perf_event_max_sample_rate",
	       .wrong = "is no frequency: samples a second, from 1 on", .least = 1,
	       .most = 10 * 1000 * 1000),
	COMMON(SAMPLING, "count", 'c', SAMPLING, NUMBER, record.period, "N",
	       "a sample every N events instead",
	       .wrong = "is no count: one sample every so many events", .least = 1,
	       .most = INT64_MAX),
	COMMON(SAMPLING, "event", 'e', SAMPLING, TEXT, record.event, "NAME",
	       "the event to sample by, also raw (r01c2), by default cycles, or cpu-clock where "
	       "there is no hardware counter",
	       .words = "cpu-clock cycles instructions cache-misses branch-misses page-faults "
			"context-switches"),
	SWITCH(SAMPLING, "sw-event", 0, SAMPLING, record.software_event,
	       "the event cpu-clock, even where there are hardware counters"),
	SWITCH(STACKS, "user", 'U', SAMPLING, record.user_only,
	       "only the program's side of the stacks"),
	SWITCH(STACKS, "kernel", 'K', SAMPLING, record.kernel_only,
	       "only the kernel's side of the stacks"),
	SWITCH(SAMPLING, "include-idle", 'I', SAMPLING, record.idle, "count idle CPUs too"),
	COMMON(STACKS, "max-stack", 0, SAMPLING, DEPTH, record.max_stack, "N[+M]",
	       "the most frames of each side of a stack, at most 4096 of native code in cpu, else "
	       "1024 (the default; 256 before Linux 5.17, or where that takes much of the "
	       "memory); N+M: of user stacks that are deeper the N innermost and the M "
	       "outermost, with [...] between them",
	       .least = 1, .most = 4096),
	SWITCH(STACKS, "python-only", 0, SAMPLING, record.python_only,
	       "of stacks with functions of Python, JavaScript, Java, PHP, Ruby, Perl only these"),
	SWITCH(STACKS, "native", 0, SAMPLING, record.native_only,
	       "no functions of Python, JavaScript, Java, PHP, Ruby, Perl: what runs them, as "
	       "machine code"),
	SWITCH(STACKS, "go-labels", 0, SAMPLING, record.go_labels,
	       "labels that programs of Go give their goroutines (runtime/pprof), as labels of "
	       "samples: Go 1.17 to 1.26, x86-64"),
	SWITCH(STACKS, "goroutines", 0, SAMPLING, record.goroutines,
	       "the number of its goroutine, too, as a label of each sample"),
	SWITCH(STACKS, "thread-context", 0, SAMPLING, record.thread_context,
	       "what programs publish of their threads by OpenTelemetry's proposals (OTEP 4947, "
	       "4719), as labels of samples: attributes, and of the process service, "
	       "service_version, environment"),
	SWITCH(STACKS, "trace-ids", 0, SAMPLING, record.trace_ids,
	       "the trace and the span of its thread, too, as labels of each sample: trace_id, "
	       "span_id"),
	COMMON(STACKS, "call-graph", 0, SAMPLING, CHOICE, record.call_graph, "eh|fp",
	       "user stacks by unwind tables (eh, the default) or by frame pointers (fp)",
	       .words = "eh fp", .least = RECORD_CALL_GRAPH_EH),

	OPTION("format", 0, OUTPUT, FORMAT, format, "NAME", "the form of the result",
	       .words = "table folded svg html pprof perf speedscope json rawprof firefox "
			"perfetto chrome otlp",
	       .takes = TAKES_RESULT | TAKES_FORMAT),
	COMMON(SHOWN, "folded", 'f', OUTPUT, FORMAT, format, NULL, "means --format folded",
	       .value = "folded"),
	OPTION("output", 'o', OUTPUT, TEXT, output, "FILE",
	       "write to FILE; its ending chooses the format unless that is named: .svg .html "
	       ".folded .pb.gz .json .rawprof .firefox.json .perfetto-trace .chrome.json",
	       .takes = TAKES_RESULT | TAKES_OUTPUT),
	COMMON(ROWS, "top", 'n', OUTPUT, UINT, show.top_functions, "N", "rows of the table (20)",
	       .wrong = "is no number of rows", .least = 1, .most = 1000000),
	COMMON(ROWS, "sort", 0, OUTPUT, TEXT, sort, "self|total", "order of the table",
	       .words = "self total"),
	COMMON(SHOWN, "weight", 0, OUTPUT, TEXT, weight, "TYPE",
	       "which of the command's values is shown where there is room for one"),
	SWITCH(SAMPLES, "samples", 0, OUTPUT, record.samples, "print every sample as it comes"),
	SWITCH(SAMPLES, "fold-extend", 'E', OUTPUT, folded_samples,
	       "print every sample as it comes, each in one folded line"),
	SWITCH(SHOWN, "address", 'A', OUTPUT, show.addresses,
	       "addresses of frames that have no name"),
	SWITCH(SHOWN, "annotations", 0, OUTPUT, show.annotate,
	       "mark frames of the kernel with _[k], of just-in-time compilers with _[j]"),
	SWITCH(SHOWN, "delimited", 0, OUTPUT, show.delimiter,
	       "a frame '-' between the user and the kernel side"),
	COMMON(SHOWN, "title", 0, OUTPUT, TEXT, show.title, "TEXT", "title of the flame graph"),
	SWITCH(SHOWN, "reverse", 0, OUTPUT, show.reverse,
	       "merge the flame graph from the innermost function"),
	SWITCH(SHOWN, "inverted", 0, OUTPUT, show.inverted, "turn the flame graph upside down"),
	SWITCH(STACKS, "lines", 0, OUTPUT, record.lines,
	       "source lines, where there is debug information"),
	SWITCH(STACKS, "inline", 0, OUTPUT, record.inlined,
	       "functions that the compiler inlined as frames of their own"),
	SWITCH(STACKS, "no-demangle", 0, OUTPUT, record.keep_mangled,
	       "names of C++ and Rust functions as the linker has them"),
	SWITCH(STACKS, "debuginfod", 0, OUTPUT, record.debuginfod,
	       "fetch missing symbols and lines from the servers in DEBUGINFOD_URLS"),
	OPTION("no-advice", 0, OUTPUT, FLAG, advice_off, NULL,
	       "do not say, on standard error, what the result suggests",
	       .takes = TAKES_RESULT | TAKES_ADVICE),
	FLAG("no-color", 0, OUTPUT, color_off, "no colour; so does the variable NO_COLOR"),
	OPTION("verbose", 'v', OUTPUT, MORE, verbosity, NULL,
	       "say which mechanisms are in use; twice: more"),
	OPTION("quiet", 'q', OUTPUT, QUIET, verbosity, NULL,
	       "say nothing but the result and errors"),
	{ "help", 'h', OPTION_OUTPUT, OPTION_HELP, 0, NULL, "say what the command takes" },
	{ 0 },
};

_Static_assert(RECORD_CALL_GRAPH_FP == RECORD_CALL_GRAPH_EH + 1,
	       "the order of the words of --call-graph");

/* What getopt_long() wants: the value of the n-th option taken is OPTION_BASE + n. */
#define OPTION_BASE 1000
struct getopt_tables {
	struct taken_option taken[MAX_OPTIONS];
	size_t n;
	struct option longs[MAX_OPTIONS + 1];
	char shorts[4 * MAX_OPTIONS];
};

static void make_tables(const struct command *c, struct getopt_tables *t)
{
	struct option *next = t->longs;
	char *letters = t->shorts;

	t->n = options_taken(c, t->taken);
	*letters++ = ':';
	for (size_t i = 0; i < t->n; i++) {
		const struct option_row *row = t->taken[i].row;

		if (!t->taken[i].unnamed && *row->name)
			*next++ = (struct option){ row->name,
						   row->arg ? required_argument : no_argument, NULL,
						   OPTION_BASE + (int)i };
		for (int j = 0; j < 2; j++) {
			const char letter = j ? row->alias : row->letter;

			if (letter)
				letters += sprintf(letters, "%c%s", letter, row->arg ? ":" : "");
		}
	}
}

/* The option that getopt_long() has come to: by its value or its letter. NULL: none. */
static struct taken_option *option_met(struct getopt_tables *t, int value)
{
	if (value >= OPTION_BASE)
		return &t->taken[value - OPTION_BASE];
	for (size_t i = 0; i < t->n; i++)
		if (value && (value == t->taken[i].row->letter || value == t->taken[i].row->alias))
			return &t->taken[i];
	return NULL;
}

/* Says what is wrong and returns the exit status for it. */
static int __attribute__((format(printf, 2, 3)))
misused(const struct options *opt, const char *fmt, ...)
{
	va_list args;
	char *wrong;

	va_start(args, fmt);
	wrong = rp_text_format(fmt, args);
	va_end(args);
	fprintf(stderr, "rawprof %s: %s\nTry 'rawprof help %s'.\n", opt->command,
		wrong ? wrong : "out of memory", opt->command);
	free(wrong);
	return EXIT_USAGE;
}

/*
 * Whether it is the word before optind that getopt_long() refused, as a long option. In the middle
 * of letters (-vyq) optind has not gone on, and the word is one that it took before.
 */
static bool is_long(const char *word, bool lacks_value)
{
	return !strncmp(word, "--", 2) && (!optopt || lacks_value || strchr(word, '='));
}

/* A letter that getopt_long() refused, or that lacks its value. */
static int letter_refused(const struct options *opt, struct getopt_tables *t, bool lacks_value)
{
	const struct taken_option *met = option_met(t, optopt);

	if (lacks_value)
		return misused(opt, "-%c (--%s) wants a value", optopt, met->row->name);
	for (const struct option_row *row = common_options; row->name; row++)
		if (optopt && row->letter == optopt)
			return misused(opt, "-%c is of no use to %s", optopt, opt->command);
	return misused(opt, "there is no option -%c", optopt);
}

/* What getopt_long() could not make sense of; it points behind the word that it stopped at. */
static int not_understood(const struct options *opt, struct getopt_tables *t, char **argv,
			  bool lacks_value)
{
	char *word = argv[optind - 1];
	const char *near = NULL;

	if (!is_long(word, lacks_value))
		return letter_refused(opt, t, lacks_value);
	if (lacks_value)
		return misused(opt, "%s wants a value", word);
	word[strcspn(word, "=")] = '\0';
	if (optopt) /* getopt_long() knows the option: the value is what is wrong */
		return misused(opt, "%s takes no value", word);
	for (const struct option_row *row = common_options; row->name; row++)
		if (!strcmp(row->name, word + 2))
			return misused(opt, "%s is of no use to %s", word, opt->command);
	for (const struct option *o = t->longs; o->name; o++)
		nearest_of(word + 2, o->name, &near);
	return misused(opt, "there is no option %s%s%s%s", word, near ? "; did you mean --" : "",
		       near ? near : "", near ? "?" : "");
}

/* Those that the command has: the words of its row. */
static int no_such_format(const struct options *opt, const struct taken_option *taken,
			  const char *name)
{
	return misused(opt, "no format '%s'; there are: %s", name,
		       taken->says->words ? taken->says->words : taken->row->words);
}

/* A list so far; it lives as long as the options do. NULL: no memory. */
static const char *so_far(struct options *opt, const void *values, struct taken_option *taken,
			  const char *value)
{
	const char *const *before = (const void *)((const char *)values + taken->row->offset);
	char *both;

	if (!taken->is_given) {
		taken->is_given = true;
		return value;
	}
	if (asprintf(&both, "%s,%s", *before, value) < 0)
		return NULL;
	if (RP_PUSH(opt->lists, opt->nlists, opt->lists_capacity, both)) {
		free(both);
		return NULL;
	}
	return both;
}

static int take(struct options *opt, struct taken_option *taken, const char *value)
{
	const struct option_row *row = taken->row;
	void *values = taken->own ? opt->own : opt;
	char wants[OPTION_WANTS];

	opt->given |= row->takes;
	if (row->kind == OPTION_TEXT && row->arg && !strcmp(row->arg, "LIST") &&
	    !(value = so_far(opt, values, taken, value)))
		return command_failed(opt->command, -ENOMEM, rp_log_errors());
	errno = 0;
	if (option_take(values, row, row->value ? row->value : value))
		return -1;
	if (errno == ENOMEM)
		return command_failed(opt->command, -ENOMEM, rp_log_errors());
	if (row->kind == OPTION_FORMAT)
		return no_such_format(opt, taken, value);
	if (row->wrong)
		return misused(opt, "'%s' %s", value, row->wrong);
	option_wants(row, wants);
	return misused(opt, "--%s wants %s, not '%s'", row->name, wants, value);
}

/* What only shows when everything has been read. */
static int check_together(struct options *opt, const struct command *c)
{
	const struct report_format *by_ending;
	const char *wrong;

	opt->record.samples = opt->record.samples || opt->folded_samples;
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
	if (opt->keep && opt->format && !opt->format->saved)
		return misused(opt, "it saves a profile: --format is for the command itself, or "
				    "for report");
	if (opt->keep && opt->output && (by_ending = report_format_by_path(opt->output)) &&
	    !by_ending->saved)
		return misused(
			opt,
			"it saves a profile, and %s is the ending of %s: name it .rawprof, and "
			"have report write the other",
			strrchr(opt->output, '.'), by_ending->name);
	if (opt->keep && !opt->record.samples) {
		opt->format = report_format_by_name("rawprof");
		opt->output = opt->output ? opt->output : SAVED_PROFILE;
	}
	if (opt->record.samples && opt->format)
		return misused(opt, "--samples has its own form; --format is for a profile");
	if (!opt->format && opt->output && !opt->record.samples)
		opt->format = report_format_by_path(opt->output);
	if (!opt->format)
		opt->format = report_format_by_name("table");
	if (opt->record.during && opt->record.samples)
		return misused(opt, "--during is for a profile: no --samples");
	if (opt->record.during && (wrong = record_during_fault(opt->record.during)))
		return misused(opt, "--during: %s", wrong);
	wrong = c->check ? c->check(opt) : NULL;
	if (!wrong && opt->record.user_only && opt->record.kernel_only)
		wrong = "--user and --kernel leave no stacks at all";
	if (!wrong && opt->record.python_only && opt->record.native_only)
		wrong = "--python-only and --native leave no stacks at all";
	return wrong ? misused(opt, "%s", wrong) : -1;
}

/* A word that is no option: how long, or what it is about. */
static int take_word(struct options *opt, const struct command *c, const char *word)
{
	double again;

	if (c->takes & TAKES_NAME) {
		const char **place =
			opt->name && c->takes & TAKES_SECOND ? &opt->second : &opt->name;

		if (*place)
			return place == &opt->name
				       ? misused(opt, "one at a time: '%s' or '%s'", opt->name,
						 word)
				       : misused(opt, "two at a time: '%s' is a third%s", word,
						 c->many ? c->many : "");
		*place = word;
		return -1;
	}
	if (c->takes & TAKES_WORDS && !option_seconds(word, &again))
		return RP_PUSH(opt->words, opt->nwords, opt->words_capacity, word)
			       ? command_failed(opt->command, -ENOMEM, rp_log_errors())
			       : -1;
	if (!(c->takes & TAKES_TARGET))
		return misused(opt, "'%s' is not for it: it takes options alone", word);
	if (opt->record.duration && option_seconds(word, &again))
		return misused(opt, "the duration is given twice: %g s and '%s'",
			       opt->record.duration, word);
	if (!option_seconds(word, &opt->record.duration))
		return misused(opt, "'%s' is no duration in seconds%s", word,
			       opt->record.program ? "" : "; a program to run stands behind --");
	return -1;
}

int options_parse(struct options *opt, int argc, char **argv, const struct command *c)
{
	struct getopt_tables tables = { .n = 0 };
	int status = -1, met;

	if (c->own_size) {
		opt->own = calloc(1, c->own_size);
		if (!opt->own)
			return command_failed(opt->command, -ENOMEM, rp_log_errors());
	}
	/* What stands behind "--" is another command line, whatever it looks like. */
	for (int i = 1; i < argc && !(c->takes & TAKES_NAME); i++)
		if (!strcmp(argv[i], "--")) {
			opt->record.program = argv + i + 1;
			argc = i;
		}
	make_tables(c, &tables);
	optind = 0; /* for getopt to begin anew */
	while (status < 0 &&
	       (met = getopt_long(argc, argv, tables.shorts, tables.longs, NULL)) != -1) {
		if (met == '?' || met == ':') {
			status = not_understood(opt, &tables, argv, met == ':');
			continue;
		}
		struct taken_option *taken = option_met(&tables, met);

		if (taken->row->kind == OPTION_HELP) {
			help_print(c, stdout);
			return EXIT_DONE;
		}
		status = take(opt, taken, optarg);
	}
	for (; status < 0 && optind < argc; optind++)
		status = take_word(opt, c, argv[optind]);
	if (status < 0 && opt->record.program && !(c->takes & TAKES_TARGET))
		status = misused(opt, "it does not run programs");
	return status < 0 ? check_together(opt, c) : status;
}

void options_free(struct options *opt, const struct command *c)
{
	for (const struct option_row *row = c->own; opt->own && row && row->name; row++)
		if (row->kind == OPTION_IDS)
			free(((struct record_ids *)((char *)opt->own + row->offset))->id);
	free(opt->record.pids.id);
	free(opt->record.tids.id);
	free(opt->words);
	while (opt->nlists)
		free(opt->lists[--opt->nlists]);
	free(opt->lists);
	free(opt->own);
}

int command_failed(const char *name, int err, unsigned long errors)
{
	if (rp_log_errors() == errors)
		rp_fail(err, "%s failed: %s", name, strerror(-err));
	return EXIT_FAILED;
}
