/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a result goes, and that it has arrived there. */
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <rawprof/loader.h>

#include "advice.h"
#include "base/text.h"
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

static int open_file(struct output *out)
{
	int err = output_file_open(out->path, &out->file);

	if (err)
		return err;
	out->stream = fdopen(out->file.fd, "w");
	if (out->stream)
		return 0;
	err = rp_fail(-errno, "cannot write %s: %s", out->path, strerror(errno));
	close(out->file.fd);
	output_file_close(&out->file);
	return err;
}

/* Why the format cannot hold it; NULL: it can. */
static const char *unfit(const struct report_format *format, enum record_output kind)
{
	switch (kind) {
	case RECORD_HISTS:
		return format->write_hists ? NULL : "no histograms";
	case RECORD_LINES:
		return NULL;
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
	return open_file(out);
}

int output_failed(struct output *out, int err)
{
	if (err && err != -EPIPE && !out->failed)
		rp_log(RP_ERROR, "cannot write %s: %s", out->path ? out->path : "standard output",
		       strerror(-err));
	out->failed = out->failed || err;
	return err;
}

/*
 * A print that failed has left no reason. Mostly it has left its bytes in the buffer, and the next
 * try has the reason; else the result is broken, and one byte more does it no harm.
 */
static int write_out(struct output *out)
{
	errno = 0;
	if (!fflush(out->stream) && !ferror(out->stream))
		return 0;
	if (!errno && write(fileno(out->stream), "\n", 1) == 1)
		errno = EIO;
	return output_failed(out, -errno);
}

static int keeper_commits(void *file, const void *data, size_t size, int fd)
{
	(void)data;
	(void)size;
	(void)fd;
	return output_commit(file);
}

static void keeper_closes(void *file)
{
	output_file_close(file);
}

const struct record_duty output_duty = { .run = keeper_commits, .end = keeper_closes };

/*
 * What was written has arrived, and the file gets its name. Some file systems (NFS, FUSE) say that
 * there is no room only when a descriptor is closed.
 */
static int publish(struct output *out)
{
	int err = write_out(out), fd;

	if (err || !out->path || out->named)
		return err;
	fd = fcntl(out->file.fd, F_DUPFD_CLOEXEC, 0);
	if (fd >= 0 && close(fd))
		err = -errno;
	if (!err)
		err = out->keeper ? record_keeper_ask(out->keeper, OUTPUT_DUTY, NULL, 0, -1)
				  : output_commit(&out->file);
	out->named = !err;
	return output_failed(out, err);
}

int output_flush(struct output *out)
{
	return out->grows && ftello(out->stream) > 0 ? publish(out) : write_out(out);
}

int output_empty(struct output *out)
{
	const bool in_place = out->path && out->file.dir < 0;

	out->begun = out->grows = true;
	if (in_place && ftruncate(out->file.fd, 0) && errno != EINVAL)
		return output_failed(out, -errno);
	return 0;
}

/* Only now: until there is something to write, the old contents are worth more. A series is seen
 * as it grows, anything else when it is whole. */
int output_begin(struct output *out)
{
	const bool series = out->show.part;

	if (out->begun)
		return 0;
	out->begun = true;
	return series || (out->path && out->file.dir < 0) ? output_empty(out) : 0;
}

int output_report(struct output *out, const struct options *opt, const struct report *report)
{
	int err = output_begin(out);

	if (!err)
		err = output_failed(out, opt->format->write(report, out->stream, &out->show));
	if (!err)
		advice_of_report(opt, report, &out->show, &out->advice);
	return err;
}

int output_hists(struct output *out, const struct options *opt, const struct report_hists *set)
{
	int err = output_begin(out);

	if (!err)
		err = output_failed(out, opt->format->write_hists(set, out->stream, &out->show));
	if (!err && out->show.part)
		return output_flush(out);
	if (!err)
		advice_of_hists(opt, set, &out->advice);
	return err;
}

int output_grid(struct output *out, const struct options *opt, const struct report_grid *grid)
{
	int err = output_begin(out);

	if (!err)
		err = output_failed(out, opt->format->write_grid(grid, out->stream, &out->show));
	if (!err && out->show.part)
		return output_flush(out);
	if (!err)
		advice_of_grid(opt, grid, &out->advice);
	return err;
}

int output_tell(struct output *out, const struct options *opt, const char *note,
		const struct report_ledger *ledger, const struct report_cost *cost)
{
	int err = publish(out);

	if (err || opt->verbosity < 0)
		return err;
	if (out->path && !opt->record.samples)
		rp_text_print(stderr, "wrote %s (%s)\n", out->path, opt->format->name);
	if (!opt->record.samples && opt->format->has_ledger)
		return 0;
	if (note)
		rp_text_print(stderr, "%s\n", note);
	err = report_print_ledger(stderr, ledger, "samples");
	return err ? err : report_print_cost(stderr, cost);
}

int output_close(struct output *out, int err)
{
	if (!out->stream)
		return err;
	if (!err && out->begun)
		err = publish(out);
	if (out->path ? fclose(out->stream) : fflush(out->stream))
		err = err ? err : output_failed(out, -errno);
	if (out->path)
		output_file_close(&out->file);
	out->stream = NULL;
	if (!err)
		advice_print(&out->advice);
	report_advice_free(&out->advice);
	return err;
}
