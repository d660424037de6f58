/* SPDX-License-Identifier: BSD-2-Clause */
/* rawprof: finds the command, reads its options, runs it. */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rawprof/asm.h>
#include <rawprof/loader.h>

#include "base/rights.h"
#include "base/text.h"
#include "commands.h"
#include "option_rows.h"
#include "record/recording.h"

static void usage(FILE *out)
{
	fputs("Usage: rawprof COMMAND [OPTIONS] [-- PROGRAM ARGS...]\n\nCommands\n", out);
	for (const struct command *const *c = commands; *c; c++)
		fprintf(out, "  %-10s %s\n", (*c)->name, (*c)->summary);
	fputs("\n'rawprof help COMMAND' says more.\n", out);
}

static const struct command *find(const char *name)
{
	const struct command *found = command_by_name(name);
	const char *near = NULL;

	if (found)
		return found;
	for (const struct command *const *c = commands; *c; c++)
		nearest_of(name, (*c)->name, &near);
	rp_text_print(stderr, "rawprof: there is no command '%s'%s%s%s\n", name,
		      near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
	usage(stderr);
	return NULL;
}

/* words: [COMMAND], or --list [COMMAND]. */
static int help(char **words)
{
	const bool list = *words && !strcmp(*words, "--list");
	const char *name = words[list];
	const struct command *c = name ? find(name) : NULL;

	if (name && !c)
		return EXIT_USAGE;
	if (list)
		help_list(c, stdout);
	else if (c)
		help_print(c, stdout);
	else
		usage(stdout);
	return EXIT_DONE;
}

static enum rp_level level_of(int verbosity)
{
	return verbosity < 0	? RP_ERROR
	       : verbosity == 0 ? RP_WARN
	       : verbosity == 1 ? RP_INFO
				: RP_DEBUG;
}

static int run(const struct command *c, int argc, char **argv)
{
	struct options opt = { .command = c->name };
	const struct command *instead = c->instead ? c->instead(&opt, &argc, &argv) : NULL;
	unsigned long errors;
	int status;

	c = instead ? instead : c;
	/* Root keeps what root may read. */
	if (c->only_reads && geteuid())
		rp_keep_capabilities(0);
	status = options_parse(&opt, argc, argv, c);
	if (status < 0) {
		rp_log_setup(level_of(opt.verbosity), NULL, NULL);
		errors = rp_log_errors();
		status = c->run(&opt);
		record_report_lacks(errors);
	}
	options_free(&opt, c);
	return status;
}

/* What was printed last may not have been written. */
static int settle(int status)
{
	if (status != EXIT_DONE || !(fflush(stdout) || ferror(stdout)))
		return status;
	if (errno == EPIPE)
		return EXIT_SIGNAL + SIGPIPE;
	fprintf(stderr, "rawprof: cannot write standard output: %s\n", strerror(errno));
	return EXIT_FAILED;
}

/* The next file opened takes the place of a closed one, and gets what is meant for a person. */
static void open_standard_streams(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

/*
 * Large arrays grow where they are, by mremap(2), and go back when they are freed. The C library
 * would begin to keep them, and to copy one that grows to where it leaves its old place unused.
 */
static void map_large_arrays(void)
{
#ifdef __GLIBC__
	mallopt(M_MMAP_THRESHOLD, 256 << 10);
#endif
}

int main(int argc, char **argv)
{
	const struct command *c;

	open_standard_streams();
	map_large_arrays();
	setlocale(LC_CTYPE, "");
	/* SIGCHLD may be inherited ignored: then the status of a child is lost. */
	signal(SIGCHLD, SIG_DFL);
	signal(SIGPIPE, SIG_IGN); /* a reader that has gone is an error of a write, said once */
	signal(SIGXFSZ, SIG_IGN); /* and so is a file that may not grow (ulimit -f) */
	if (argc < 2) {
		usage(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "help") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return settle(help(argv + 2));
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V") ||
	    !strcmp(argv[1], "version")) {
		puts("rawprof " RAWPROF_VERSION);
		return settle(EXIT_DONE);
	}
	c = find(argv[1]);
	return c ? settle(run(c, argc - 1, argv + 1)) : EXIT_USAGE;
}
