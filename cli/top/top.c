/* SPDX-License-Identifier: BSD-2-Clause */
/* rawprof top: the machine live, in a terminal, or as lines of JSON. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/commands.h"
#include "cli/run.h"
#include "export.h"
#include "json.h"
#include "sources.h"
#include "terminal.h"
#include "view.h"

#define NICE -10

struct top_options {
	bool bpf, always;
};

struct top {
	const struct options *opt;
	struct top_sources sources;
	struct top_model model;
	struct top_view view;
	struct top_screen screen;
	struct top_terminal terminal;
	struct top_input input;
	uint64_t begin, next, step; /* CLOCK_MONOTONIC, ns */
	bool is_open;		    /* the sources are */
	bool quit;
	int caught;
	char host[65];
};

/* ---- time */

static uint64_t step_of(const struct options *opt)
{
	const double interval = opt->record.interval;

	return (uint64_t)((interval > 0 ? interval : 1) * NS_PER_SECOND);
}

static void begin_time(struct top *t)
{
	t->begin = rp_monotonic_ns();
	t->next = t->begin + t->step;
}

static bool is_over(const struct top *t)
{
	const double seconds = t->opt->record.duration;

	return seconds > 0 && rp_monotonic_ns() - t->begin >= (uint64_t)(seconds * NS_PER_SECOND);
}

/* What is due: a window, or the end. */
static uint64_t next_time(const struct top *t)
{
	const uint64_t end =
		t->opt->record.duration > 0
			? t->begin + (uint64_t)(t->opt->record.duration * NS_PER_SECOND)
			: UINT64_MAX;

	return t->next < end ? t->next : end;
}

static int take_window(struct top *t, struct top_window **out)
{
	int err = top_sources_read(&t->sources, out);

	while (t->next <= rp_monotonic_ns())
		t->next += t->step;
	return err;
}

/* ---- lines of JSON */

static int make_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static bool signal_came(int fd)
{
	struct signalfd_siginfo info;

	return read(fd, &info, sizeof(info)) == sizeof(info);
}

static int print_lines(struct top *t, int signals)
{
	const size_t rows = t->opt->show.top_functions ? t->opt->show.top_functions : 20;
	bool over = false;
	int err = 0;

	while (!err && !over) {
		struct top_window *w;

		err = top_sources_wait(&t->sources, next_time(t), -1, signals);
		over = signal_came(signals) || is_over(t);
		/* What is left at the end is shorter than the others. */
		if (err || (!over && rp_monotonic_ns() < t->next))
			continue;
		err = take_window(t, &w);
		if (err)
			break;
		err = top_json(w, rows, stdout);
		top_window_free(w);
	}
	return err;
}

static int run_lines(struct top *t)
{
	const struct top_options *own = t->opt->own;
	int signals = make_signals(), err = signals < 0 ? -errno : 0;

	if (!err)
		err = top_sources_open(&t->sources, t->opt, own->bpf, own->always, true);
	t->is_open = !err;
	begin_time(t);
	t->sources.since = t->begin;
	if (!err)
		err = print_lines(t, signals);
	if (signals >= 0)
		close(signals);
	return err;
}

/* ---- the terminal */

static int draw(struct top *t)
{
	unsigned int columns, rows;
	size_t size;
	char *bytes;
	int err = 0;

	top_terminal_size(&t->terminal, &columns, &rows);
	if (columns > TOP_MAX_COLUMNS)
		columns = TOP_MAX_COLUMNS;
	if (rows > TOP_MAX_ROWS)
		rows = TOP_MAX_ROWS;
	if (columns != t->screen.columns || rows != t->screen.rows)
		err = top_screen_resize(&t->screen, columns, rows);
	if (err)
		return err;
	top_draw(&t->view, &t->model, &t->screen);
	bytes = top_screen_update(&t->screen, t->terminal.color, &size);
	if (!bytes)
		return -ENOMEM;
	err = top_terminal_write(&t->terminal, bytes, size);
	free(bytes);
	return err;
}

static void write_profile(struct top *t, const char *format)
{
	top_export(&t->model, top_view_back(&t->view, &t->model), t->view.seconds, format, t->host,
		   t->view.message);
}

static bool fills(const struct top *t, enum top_panel panel)
{
	for (int i = 0; i < TOP_SOURCES; i++)
		if (t->sources.source[i].kind->panel == panel)
			return t->sources.source[i].state == TOP_SOURCE_ON &&
			       !t->sources.source[i].slice.on;
	return true;
}

static void act(struct top *t, enum top_action action)
{
	switch (action) {
	case TOP_QUIT:
		t->quit = true;
		break;
	case TOP_WANT:
		top_sources_want(&t->sources, t->view.panel);
		break;
	case TOP_SWITCH:
		top_sources_ask(&t->sources, t->view.panel, !fills(t, t->view.panel));
		snprintf(t->view.message, sizeof(t->view.message), "%s: %s",
			 top_tables[t->view.panel].title,
			 fills(t, t->view.panel) ? "runs all the time, whatever it costs"
						 : "stopped");
		break;
	case TOP_WRITE_SVG:
		write_profile(t, "svg");
		break;
	case TOP_WRITE_HTML:
		write_profile(t, "html");
		break;
	default:
		break;
	}
}

/* An escape that nothing follows so long is the key. */
#define ESCAPE_NS (NS_PER_SECOND / 20)

static int read_keys(struct top *t, bool *drawn)
{
	char bytes[32];
	ssize_t n = read(t->terminal.in, bytes, sizeof(bytes));
	int key;

	if (n < 0 && errno != EAGAIN && errno != EINTR)
		return -errno;
	if (n > 0)
		top_input_add(&t->input, bytes, (size_t)n);
	while (!t->quit && (key = top_input_key(&t->input, n > 0))) {
		act(t, top_view_key(&t->view, &t->model, key));
		*drawn = false;
	}
	return 0;
}

static int take_signals(struct top *t, bool *drawn)
{
	int signal, err = 0;

	while (!err && !t->quit && (signal = top_terminal_signal(&t->terminal))) {
		*drawn = false;
		if (signal == SIGTSTP) {
			err = top_terminal_stop(&t->terminal);
			t->screen.anew = true;
		} else if (signal == SIGCONT || signal == SIGWINCH) {
			/* After a SIGSTOP somebody else may have had the terminal. */
			err = signal == SIGCONT ? top_terminal_take(&t->terminal) : 0;
			t->screen.anew = true;
		} else {
			t->quit = true;
			t->caught = signal == SIGINT ? 0 : signal;
		}
	}
	return err;
}

/* A terminal that is gone is the end, and no fault. */
static bool is_gone(int err)
{
	return err == -EIO || err == -EPIPE || err == -ENXIO || err == -EBADF;
}

static int show(struct top *t)
{
	bool drawn = false;
	int err = 0;

	while (!err && !t->quit && !is_over(t)) {
		uint64_t until = next_time(t);

		if (!drawn)
			err = draw(t);
		drawn = true;
		if (t->input.n && until > rp_monotonic_ns() + ESCAPE_NS)
			until = rp_monotonic_ns() + ESCAPE_NS;
		if (!err)
			err = top_sources_wait(&t->sources, until, t->terminal.in,
					       t->terminal.signals);
		if (!err)
			err = take_signals(t, &drawn);
		if (!err)
			err = read_keys(t, &drawn);
		if (!err && rp_monotonic_ns() >= t->next) {
			struct top_window *w;

			err = take_window(t, &w);
			if (!err)
				top_model_push(&t->model, w);
			drawn = false;
		}
	}
	return err;
}

static int run_terminal(struct top *t)
{
	const struct top_options *own = t->opt->own;
	int err = top_terminal_open(&t->terminal, t->opt->color_off);

	t->view.overview = !own->bpf;
	t->view.panel = own->bpf ? TOP_BPF : TOP_PROCESSES;
	t->view.host = t->host;
	t->screen.utf8 = t->terminal.utf8;
	if (!err)
		err = top_sources_open(&t->sources, t->opt, own->bpf, own->always, false);
	t->is_open = !err;
	begin_time(t);
	t->sources.since = t->begin;
	if (!err)
		err = top_terminal_take(&t->terminal);
	if (!err)
		err = show(t);
	top_terminal_close(&t->terminal);
	return is_gone(err) && t->model.seen ? 0 : err;
}

/* ---- the command */

/* What fails once the sources are open has told its reason to them, and not to the person. */
static int failed(const struct top *t, int err, unsigned long errors)
{
	return command_failed(t->opt->command, err, t->is_open ? rp_log_errors() : errors);
}

static int top_run(const struct options *opt)
{
	const unsigned long errors = rp_log_errors();
	struct top *t;
	int err, status;

	if (opt->dry_run) /* what it cannot do without */
		return run_profiler(&record_cpu, opt, NULL);
	t = calloc(1, sizeof(*t));
	if (!t)
		return command_failed(opt->command, -ENOMEM, errors);
	t->opt = opt;
	t->step = step_of(opt);
	t->terminal.signals = -1;
	/* It is for machines that are too busy to answer: it comes first, and takes little. */
	setpriority(PRIO_PROCESS, 0, NICE);
	gethostname(t->host, sizeof(t->host) - 1);
	err = isatty(STDOUT_FILENO) && !opt->format->json ? run_terminal(t) : run_lines(t);
	rp_log_setup(RP_WARN, NULL, NULL);
	status = !err		 ? t->caught ? EXIT_SIGNAL + t->caught : EXIT_DONE
		 : err == -EPIPE ? EXIT_SIGNAL + SIGPIPE
				 : failed(t, err, errors);
	top_sources_close(&t->sources);
	top_model_free(&t->model);
	top_screen_free(&t->screen);
	free(t);
	return status;
}

static const char *check(const struct options *opt)
{
	if (opt->record.program)
		return "top looks at what runs: -p, --comm or --cgroup, and no program";
	if (opt->record.period || opt->record.event)
		return "top samples time: -F alone";
	if (opt->sort)
		return "top is sorted by its keys < and >";
	if (opt->output)
		return "top writes no file: its lines of JSON go to standard output, > FILE; key h "
		       "writes a page";
	if (opt->format && opt->format->write && !opt->format->for_people && !opt->format->json)
		return "top is shown in a terminal, or as lines of JSON: --format json";
	return NULL;
}

#define OPTION_STRUCT struct top_options
static const struct option_row own[] = {
	FLAG("bpf", 0, VIEW, bpf,
	     "every BPF program of the machine: time of a run, runs, part of a CPU, and the source "
	     "line where most samples are; nothing else runs until its table is opened"),
	FLAG("always", 0, VIEW, always,
	     "all tables are filled from the beginning and all the time, memory's too: nothing is "
	     "measured in slices, whatever it costs"),
	{ "interval", 'i', OPTION_OUTPUT, OPTION_SAYS,
	  .help = "how long a window is (1); the last sixty are kept" },
	{ "duration", 'd', OPTION_TARGET, OPTION_SAYS, .help = "how long; otherwise until q" },
	{ "top", 'n', OPTION_OUTPUT, OPTION_SAYS, .help = "rows of each table in JSON (20)" },
	{ "format", 0, OPTION_OUTPUT, OPTION_SAYS,
	  .help = "json: lines of JSON in a terminal too, as a pipe gets them",
	  .words = "table json" },
	{ 0 },
};
#undef OPTION_STRUCT

const struct command top_command = {
	.name = "top",
	.summary = "what is this machine doing, live?",
	.about =
		"What is this machine doing? A screen that is brought up to date every second: "
		"CPU by process and function, the run queue, waits by reason, disks with "
		"percentiles, locks, system calls, and what watching costs. Keys go into a table "
		"or a process, sort, filter, stand still, step through the last sixty windows, "
		"and write a flame graph or a page of them; ? lists them.\n\n"
		"What runs is what cpu, offcpu -K and --runq, io, lock and trace --syscalls run. "
		"mem --faults begins when its table is opened. What would cost more than 1 % of a "
		"CPU together is measured in slices, a few hundredths of the time, which stand for "
		"all of it: ~2% in the head of its table; x measures always, whatever it costs. "
		"The program runs at nice -10, so that a machine which is too busy to answer is "
		"shown.\n\n"
		"Where standard output is no terminal, each interval is a line of JSON.",
	.examples = "  rawprof top                                the whole machine; q leaves\n"
		    "  rawprof top -p 1234 -i 5                   one process, every five seconds\n"
		    "  rawprof top --bpf                          what BPF programs cost\n"
		    "  rawprof top -d 60 | jq .machine            a line of JSON a second\n",
	.takes = TAKES_RESULT | TAKES_TARGET | TAKES_SAMPLING | TAKES_INTERVAL | TAKES_ROWS,
	.own = own,
	.own_size = sizeof(struct top_options),
	.check = check,
	.run = top_run,
};
