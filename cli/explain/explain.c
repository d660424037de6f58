/* SPDX-License-Identifier: BSD-2-Clause */
/* rawprof explain: what a program's bytecode is, and what the kernel knows of it. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "explain.h"
#include "cli/options_own.h"

/* ---- one program, or a log */

static int show(FILE *out, struct explained *e)
{
	int err;

	if (e->opt->broken)
		return explain_broken(out, e);
	err = explain_what_became(e);
	if (err)
		return err;
	if (e->opt->shape == EXPLAIN_JSON)
		return explain_json(out, e);
	if (e->opt->shape == EXPLAIN_DOT)
		return explain_dot(out, e);
	if (e->opt->shape == EXPLAIN_LOG) {
		fputs(e->log_text ? e->log_text : "", out);
		return 0;
	}
	explain_head(out, e);
	err = explain_text(out, e);
	/* Of a saved log nobody said whether it ended well; of our own, the kernel did. */
	if (!err && !(e->asked && e->loaded >= 0))
		explain_refusal(out, e);
	return err;
}

static int make_and_show(FILE *out, const struct rp_program *entry,
			 const struct explain_options *opt)
{
	struct explained e;
	int err = explained_make(&e, entry, opt);

	if (!err)
		err = show(out, &e);
	explained_free(&e);
	return err;
}

int explain_entry(FILE *out, const struct rp_program *entry, const struct explain_options *opt)
{
	return make_and_show(out, entry, opt);
}

int explain_log(FILE *out, const struct explain_options *opt)
{
	return make_and_show(out, NULL, opt);
}

const struct explain_colors *explain_colors(const struct explained *e)
{
	static const struct explain_colors none = { "", "", "", "", "", "" },
					   some = { "\033[1;33m", "\033[32m",	"\033[36m",
						    "\033[2m",	  "\033[1;31m", "\033[0m" };

	return e->opt->color ? &some : &none;
}

/* ---- where it goes */

/* A pager for a terminal: $PAGER, or less if there is one. NULL: none. */
static FILE *open_pager(void)
{
	const char *pager = getenv("PAGER");
	FILE *out;

	if (pager && !*pager)
		return NULL;
	fflush(stdout);
	/* -F: what fits the screen is just printed; -R: colours; -S: long lines are not folded */
	out = popen(pager ? pager : "command -v less >/dev/null && exec less -FRSX || exec cat",
		    "we");
	return out;
}

static bool wants_color(bool off)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	return !off && isatty(STDOUT_FILENO) && !(no_color && *no_color) && term &&
	       strcmp(term, "dumb") != 0;
}

static int write_it(const struct rp_program *entry, bool just_list,
		    const struct explain_options *opt, bool page)
{
	FILE *pager = page && isatty(STDOUT_FILENO) ? open_pager() : NULL, *out = pager;
	int err;

	if (!out)
		out = stdout;
	err = just_list ? explain_list(out)
	      : entry	? explain_entry(out, entry, opt)
			: explain_log(out, opt);
	if (!err && (fflush(out) || ferror(out)))
		err = errno ? -errno : -EIO;
	if (pager)
		pclose(pager); /* who leaves it early has seen enough */
	else if (err == -EPIPE)
		return EXIT_SIGNAL + SIGPIPE;
	else if (err && ferror(out))
		fprintf(stderr, "rawprof explain: cannot write standard output: %s\n",
			strerror(-err));
	return err && !(pager && err == -EPIPE) ? EXIT_FAILED : EXIT_DONE;
}

/* ---- the command line */

enum {
	OPT_BYTES = 256,
	OPT_XLATED,
	OPT_JIT,
	OPT_DOT,
	OPT_STATE,
	OPT_BREAK,
	OPT_FLIP,
	OPT_LOG,
	OPT_FORMAT,
	OPT_NO_COLOR,
	OPT_NO_PAGER
};

static const struct option long_options[] = {
	{ "bytes", no_argument, NULL, OPT_BYTES },
	{ "xlated", no_argument, NULL, OPT_XLATED },
	{ "jit", no_argument, NULL, OPT_JIT },
	{ "dot", no_argument, NULL, OPT_DOT },
	{ "state", no_argument, NULL, OPT_STATE },
	{ "break", required_argument, NULL, OPT_BREAK },
	{ "flip", no_argument, NULL, OPT_FLIP },
	{ "kernel-log", required_argument, NULL, OPT_LOG },
	{ "format", required_argument, NULL, OPT_FORMAT },
	{ "no-color", no_argument, NULL, OPT_NO_COLOR },
	{ "no-pager", no_argument, NULL, OPT_NO_PAGER },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

struct command_line {
	struct explain_options opt;
	bool no_color, no_pager, help;
	int verbosity;
	const char *name;
};

static int take_format(struct command_line *line, const char *name)
{
	if (!strcmp(name, "json"))
		line->opt.shape = EXPLAIN_JSON;
	else if (!strcmp(name, "dot"))
		line->opt.shape = EXPLAIN_DOT;
	else if (!strcmp(name, "log"))
		line->opt.shape = EXPLAIN_LOG;
	else if (strcmp(name, "text") != 0) {
		fprintf(stderr, "rawprof explain: '%s' is no format: text, json, dot, log\n", name);
		return -EINVAL;
	}
	return 0;
}

static int take_option(struct command_line *line, int option)
{
	switch (option) {
	case OPT_BYTES:
		line->opt.bytes = true;
		return 0;
	case OPT_XLATED:
		line->opt.xlated = true;
		return 0;
	case OPT_JIT:
		line->opt.jit = true;
		return 0;
	case OPT_STATE:
		line->opt.state = true;
		return 0;
	case OPT_DOT:
		line->opt.shape = EXPLAIN_DOT;
		return 0;
	case OPT_BREAK:
		line->opt.broken = optarg;
		return 0;
	case OPT_FLIP:
		line->opt.flip = true;
		return 0;
	case OPT_LOG:
		line->opt.kernel_log = optarg;
		return 0;
	case OPT_FORMAT:
		return take_format(line, optarg);
	case OPT_NO_COLOR:
		line->no_color = true;
		return 0;
	case OPT_NO_PAGER:
		line->no_pager = true;
		return 0;
	case 'v':
		line->verbosity++;
		return 0;
	case 'q':
		line->verbosity = -1;
		return 0;
	case 'h':
		line->help = true;
		return 0;
	}
	return -EINVAL; /* no letter is left */
}

static int complain(const char *what)
{
	fprintf(stderr, "rawprof explain: %s\n", what);
	return -EINVAL;
}

/* What getopt could not make sense of; it points behind the word that it stopped at. */
static int not_understood(const char *word, bool lacks_value)
{
	char wrong[OPTION_WRONG];

	if (lacks_value)
		snprintf(wrong, sizeof(wrong), "%s wants a value", word);
	else if (option_is_long(word, lacks_value))
		option_wrong(wrong, word, long_options);
	else
		snprintf(wrong, sizeof(wrong), "there is no option -%c", optopt);
	complain(wrong);
	fputs("Try 'rawprof help explain'.\n", stderr);
	return -EINVAL;
}

static int check(const struct command_line *line)
{
	const struct explain_options *opt = &line->opt;

	if (opt->flip && !opt->broken)
		return complain("--flip turns round what --break names");
	if (opt->broken && opt->kernel_log)
		return complain("--break asks the kernel, --kernel-log does not");
	if ((opt->xlated || opt->jit) && opt->kernel_log)
		return complain("a saved log does not say what the kernel made of the program");
	if (!line->name && !opt->kernel_log &&
	    (opt->broken || opt->bytes || opt->xlated || opt->jit || opt->state || opt->shape))
		return complain("which program? 'rawprof explain' lists them");
	return 0;
}

static int parse(struct command_line *line, int argc, char **argv)
{
	int option, err = 0;

	optind = 1;
	while (!err && (option = getopt_long(argc, argv, ":vqh", long_options, NULL)) != -1)
		err = option == '?' || option == ':'
			      ? not_understood(argv[optind - 1], option == ':')
			      : take_option(line, option);
	if (!err && argc - optind > 1)
		err = complain("one program at a time");
	if (!err && optind < argc)
		line->name = argv[optind];
	return err ? err : check(line);
}

int command_explain(int argc, char **argv, const char *usage)
{
	struct command_line line = { .verbosity = 0 };
	struct rp_program program;

	if (parse(&line, argc, argv))
		return EXIT_USAGE;
	if (line.help) {
		fputs(usage, stdout);
		return EXIT_DONE;
	}
	if (line.name && !explain_find(line.name, &program))
		return EXIT_USAGE;
	rp_log_setup(line.verbosity < 0	  ? RP_ERROR
		     : line.verbosity > 1 ? RP_DEBUG
		     : line.verbosity	  ? RP_INFO
					  : RP_WARN,
		     NULL, NULL);
	line.opt.color = wants_color(line.no_color) && line.opt.shape == EXPLAIN_TEXT;
	return write_it(line.name ? &program : NULL, !line.name && !line.opt.kernel_log, &line.opt,
			!line.no_pager && line.opt.shape == EXPLAIN_TEXT);
}
