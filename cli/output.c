/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <rawprof/loader.h>

#include "output.h"

static void look_at_terminal(struct output *out, const struct options *opt)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
	struct winsize size;

	if (out->path || !isatty(STDOUT_FILENO))
		return;
	out->show.width =
		!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col ? size.ws_col : 80;
	out->show.utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	out->show.color =
		!opt->color_off && !(no_color && *no_color) && term && strcmp(term, "dumb");
}

static FILE *open_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	FILE *stream = fd < 0 ? NULL : fdopen(fd, "w");

	if (fd >= 0 && !stream)
		close(fd);
	return stream;
}

/* Why the format cannot hold it; NULL: it can. */
static const char *unfit(const struct report_format *format, enum record_output kind)
{
	switch (kind) {
	case RECORD_HISTS:
		return format->write_hists ? NULL : "no histograms";
	case RECORD_GRID:
		return format->write_grid ? NULL : "no tables of figures";
	default:
		return format->write ? NULL : "figures and no stacks";
	}
}

int output_open(struct output *out, const struct options *opt, enum record_output kind)
{
	const char *why = opt->record.samples ? NULL : unfit(opt->format, kind);

	*out = (struct output){ .stream = stdout, .path = opt->output, .show = opt->show };
	look_at_terminal(out, opt);
	out->unfit = why != NULL;
	if (why)
		return rp_fail(-EINVAL, "%s holds %s: choose another --format", opt->format->name,
			       why);
	if (!out->path) {
		if (opt->format->binary && !opt->record.samples && isatty(STDOUT_FILENO))
			return rp_fail(-EINVAL, "%s is not for a terminal: name a file with -o",
				       opt->format->name);
		return 0;
	}
	out->stream = open_file(out->path);
	if (!out->stream)
		return rp_fail(-errno, "cannot write %s: %s", out->path, strerror(errno));
	return 0;
}

int output_failed(struct output *out, int err)
{
	if (err && err != -EPIPE && !out->failed)
		rp_log(RP_ERROR, "cannot write %s: %s", out->path ? out->path : "standard output",
		       strerror(-err));
	out->failed = out->failed || err;
	return err;
}

/* A print that failed keeps its bytes in the buffer, but not its reason: the next try has it. */
int output_flush(struct output *out)
{
	errno = 0;
	if (fflush(out->stream) || ferror(out->stream))
		return output_failed(out, errno ? -errno : -EIO);
	return 0;
}

int output_empty(struct output *out)
{
	if (out->path && ftruncate(fileno(out->stream), 0) && errno != EINVAL)
		return output_failed(out, -errno);
	return 0;
}

/* Only now: until there is something to write, the old contents are worth more. */
static int begin(struct output *out)
{
	int err = out->begun ? 0 : output_empty(out);

	out->begun = true;
	return err;
}

int output_report(struct output *out, const struct options *opt, const struct report *report)
{
	int err = begin(out);

	return err ? err : output_failed(out, opt->format->write(report, out->stream, &out->show));
}

int output_hists(struct output *out, const struct options *opt, const struct report_hists *set)
{
	int err = begin(out);

	return err ? err
		   : output_failed(out, opt->format->write_hists(set, out->stream, &out->show));
}

int output_grid(struct output *out, const struct options *opt, const struct report_grid *grid)
{
	int err = begin(out);

	return err ? err
		   : output_failed(out, opt->format->write_grid(grid, out->stream, &out->show));
}

int output_tell(const struct output *out, const struct options *opt, const char *note,
		const struct report_ledger *ledger, const struct report_cost *cost)
{
	int err = 0;

	if (opt->verbosity < 0)
		return 0;
	if (out->path && !opt->record.samples)
		fprintf(stderr, "wrote %s (%s)\n", out->path, opt->format->name);
	if (!opt->record.samples && opt->format->has_ledger)
		return 0;
	if (note)
		fprintf(stderr, "%s\n", note);
	err = report_print_ledger(stderr, ledger, "samples");
	return err ? err : report_print_cost(stderr, cost);
}

int output_close(struct output *out, int err)
{
	if (!out->stream)
		return err;
	if (out->path ? fclose(out->stream) : fflush(out->stream))
		err = err ? err : output_failed(out, -errno);
	out->stream = NULL;
	return err;
}
