/* SPDX-License-Identifier: BSD-2-Clause */
/* rawprof explain: what a program's bytecode is, and what the kernel knows of it. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "explain.h"

/* ---- one program, or a log */

static int show(FILE *out, struct explained *e)
{
	int err;

	if (e->opt->lint)
		return explain_lint(out, e);
	if (e->opt->across)
		return explain_across(out, e);
	if (e->opt->broken) {
		err = explain_broken(out, e);
		return !err && e->opt->repair ? explain_repair(out, e) : err;
	}
	if (e->opt->repair) {
		explain_refusal(out, e);
		return explain_repair(out, e);
	}
	err = explain_what_became(e);
	if (err)
		return err;
	if (e->opt->step)
		return explain_step(out, e);
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
	/* Whether it ended well a saved log does not say; of our own the kernel said it. */
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
	const unsigned long errors = rp_log_errors();
	int err;

	if (!out)
		out = stdout;
	err = just_list	   ? explain_list(out)
	      : opt->event ? explain_event(out, opt)
	      : entry	   ? explain_entry(out, entry, opt)
			   : explain_log(out, opt);
	if (!err && (fflush(out) || ferror(out)))
		err = errno ? -errno : -EIO;
	if (pager)
		pclose(pager); /* it may be left early */
	else if (err == -EPIPE)
		return EXIT_SIGNAL + SIGPIPE;
	else if (err && ferror(out))
		fprintf(stderr, "rawprof explain: cannot write standard output: %s\n",
			strerror(-err));
	else if (err && !opt->lint) /* whose findings are the result */
		command_failed("explain", err, errors);
	return err && !(pager && err == -EPIPE) ? EXIT_FAILED : EXIT_DONE;
}

/* ---- the command line */

struct command_line {
	struct explain_options opt;
	bool no_pager;
};

static const char *check(const struct options *options)
{
	const struct command_line *line = options->own;
	const struct explain_options *opt = &line->opt;

	if (opt->repair && (opt->lint || opt->step || opt->why || opt->shape || opt->kernel_log))
		return "--repair asks the kernel, and goes with --break alone";
	if (opt->across && (!options->name || opt->repair || opt->broken || opt->lint ||
			    opt->step || opt->why || opt->shape || opt->kernel_log))
		return "--across DIRECTORY goes with the name of a program alone";
	if (opt->html && !opt->step)
		return "--html is for --step";
	if (opt->step && (opt->broken || opt->lint || opt->shape > EXPLAIN_JSON))
		return "--step is text, JSON or --html, of a program as it is";
	if (opt->why && (!options->second || opt->step || opt->broken || opt->lint || opt->shape))
		return "--why LINE takes a register behind it and goes alone: rawprof explain cpu "
		       "--why 12 R6";
	if (opt->flip && !opt->broken)
		return "--flip turns round what --break names";
	if (opt->lint && (opt->broken || opt->kernel_log || opt->bytes || opt->xlated || opt->jit ||
			  opt->state || opt->shape))
		return "--lint goes alone: it looks at the program as it is written";
	if (opt->broken && opt->kernel_log)
		return "--break asks the kernel, --kernel-log does not";
	if ((opt->xlated || opt->jit) && opt->kernel_log)
		return "a saved log does not say what the kernel made of the program";
	if (options->second && !opt->why && strcmp(options->name, "trace"))
		return "one program at a time; an EVENT belongs behind 'trace'";
	if (opt->filter && !options->second)
		return "--filter is for the program of an event: rawprof explain trace EVENT";
	if (!options->name && !opt->kernel_log &&
	    (opt->lint || opt->broken || opt->repair || opt->step || opt->why || opt->bytes ||
	     opt->xlated || opt->jit || opt->state || opt->shape))
		return "which program? 'rawprof explain' lists them";
	return NULL;
}

static int run(const struct options *options)
{
	struct command_line *line = options->own;
	struct explain_options *opt = &line->opt;
	struct rp_program program;

	opt->event = opt->why ? NULL : options->second;
	opt->why_reg = opt->why ? options->second : NULL;
	opt->xlated |= opt->html && !opt->kernel_log;
	opt->jit |= opt->html && !opt->kernel_log;
	opt->interactive = opt->step && !opt->html && opt->shape == EXPLAIN_TEXT &&
			   isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	opt->step |= opt->why != NULL;
	if (options->name && !opt->event && !explain_find(options->name, &program))
		return EXIT_USAGE;
	opt->color = wants_color(options->color_off) && opt->shape == EXPLAIN_TEXT;
	return write_it(options->name ? &program : NULL, !options->name && !opt->kernel_log, opt,
			!line->no_pager && opt->shape == EXPLAIN_TEXT && !opt->html &&
				!opt->interactive);
}

#define OPTION_STRUCT struct command_line

static const struct option_row own[] = {
	FLAG("bytes", 0, VIEW, opt.bytes, "open each instruction's bit fields"),
	FLAG("state", 0, VIEW, opt.state, "before each instruction, all registers and the stack"),
	FLAG("xlated", 0, VIEW, opt.xlated,
	     "below each, what the kernel rewrote it to (the lines with a ')"),
	FLAG("jit", 0, VIEW, opt.jit, "below each, its machine code (with objdump)"),
	OPTION("break", 0, VIEW, TEXT, opt.broken, "WHAT",
	       "take out an instruction and see the program refused: its number, FILE:LINE, or its "
	       "text"),
	FLAG("flip", 0, VIEW, opt.flip, "with --break: turn the condition round instead"),
	FLAG("repair", 0, VIEW, opt.repair,
	     "of a program that is refused, or that --break has spoilt: the smallest change that "
	     "loads, found by trying; status 1 if there is none"),
	FLAG("step", 0, VIEW, opt.step,
	     "the verifier's walk step by step: forward and back in a terminal, all of it as text "
	     "otherwise"),
	FLAG("html", 0, OUTPUT, opt.html, "with --step: the walk as a page, all in one file"),
	OPTION("why", 0, VIEW, TEXT, opt.why, "LINE",
	       "where what is known of a register at this line comes from: --why LINE REG; a "
	       "line is an instruction's number, FILE:LINE, or its text"),
	OPTION("across", 0, VIEW, TEXT, opt.across, "DIRECTORY",
	       "what other kernels said of it, recorded there, and where they differ (`make "
	       "across`)"),
	FLAG("lint", 0, VIEW, opt.lint,
	     "what is wrong with it, found without the kernel; status 1 if something is"),
	OPTION("kernel-log", 0, TARGET, TEXT, opt.kernel_log, "FILE",
	       "use a saved verifier log (level 2), not the kernel; needs no root and no PROGRAM: "
	       "then it shows what the log says alone; - is standard input"),
	OPTION("format", 0, OUTPUT, CHOICE, opt.shape, "NAME",
	       "the form of the result (log is the verifier's own, for --kernel-log)",
	       .words = "text json dot log"),
	OPTION("dot", 0, OUTPUT, CHOICE, opt.shape, NULL, "the control-flow graph, for graphviz",
	       .words = "text json dot log", .value = "dot"),
	OPTION("filter", 0, TARGET, TEXT, opt.filter, "EXPRESSION",
	       "with trace EVENT: the program as `rawprof trace --filter` loads it", .least = 1),
	FLAG("no-pager", 0, OUTPUT, no_pager, "no pager"),
	{ 0 },
};

const struct command explain_command = {
	.name = "explain",
	.summary = "what is a program's bytecode, and what does the verifier see?",
	.about = "The bytecode of rawprof's programs, instruction by instruction: its source line, "
		 "its bytes, what the verifier knows behind it, joined over all paths that it "
		 "took. Without a program: the list of programs; 'trace EVENT' is the program that "
		 "`rawprof trace` loads for a tracepoint. How to read it: docs/explain.md.",
	.examples =
		"  rawprof explain cpu                        the program that samples stacks\n"
		"  rawprof explain cpu --break 'MOV_REG(R6, R1)'  what the line is there for\n"
		"  rawprof explain 06/by_loop --step           how the verifier went through it\n"
		"  rawprof explain cpu --step --html >cpu.html    the same, as a page\n"
		"  rawprof explain cpu --why 'CALL(ringbuf_output)' R3   what is known, and why\n"
		"  rawprof explain trace sched_switch --filter 'next_pid == 1'\n"
		"  rawprof explain follow_fork --dot | dot -Tsvg -o graph.svg\n"
		"  rawprof explain --kernel-log refused.log   the log of any program, explained\n",
	.takes = TAKES_NAME | TAKES_SECOND,
	.words = "[PROGRAM | trace EVENT]",
	.own = own,
	.own_size = sizeof(struct command_line),
	.check = check,
	.run = run,
};
