/* SPDX-License-Identifier: BSD-2-Clause */
/* Samples of some windows as a profile, in a file. */
#include "export.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rawprof/report.h>

#include "base/clock.h"

static int add_window(struct report *r, const struct top_window *w)
{
	const struct top_frame *frames = w->frames.items;
	uint32_t *ids = calloc(w->nstacks + 1, sizeof(*ids));
	int err = ids ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < w->nstacks; i++) {
		const struct top_frame *f = &frames[w->stacks[i]];
		const struct report_frame frame = { .name = f->name,
						    .module = f->module,
						    .kind = (enum report_frame_kind)f->kind };

		err = report_frame_add(r, &frame, &ids[i]);
	}
	for (size_t i = 0; !err && i < w->nsamples; i++) {
		const struct top_sample *s = &w->samples[i];
		const uint64_t values[] = { 1, w->sample_ns };
		const struct report_sample sample = { .comm = s->comm,
						      .pid = (int32_t)s->pid,
						      .tid = (int32_t)s->tid,
						      .frames = ids + s->first,
						      .nframes = s->n,
						      .values = values };

		err = report_add(r, &sample);
	}
	free(ids);
	return err;
}

static int make_report(const struct top_model *m, size_t back, unsigned int seconds,
		       const char *host, struct report **out)
{
	static const struct report_value_type types[] = { { "samples", "count" },
							  { "cpu", "nanoseconds" } };
	struct report_info info = { .command = "cpu", .target = "whole machine", .host = host };
	const struct top_window *w;
	int err = report_new(types, 2, out);

	while (!err && (w = top_model_at(m, back++)) &&
	       info.duration_ns < (uint64_t)seconds * NS_PER_SECOND) {
		err = add_window(*out, w);
		info.duration_ns += w->ns;
		info.start_ns = w->wall_ns - w->ns;
		info.cpus = w->cpus;
		info.period = w->sample_ns;
		info.period_type = types[1];
	}
	return err ? err : report_set_info(*out, &info);
}

static int write_file(const struct report *r, const struct report_format *format, const char *name)
{
	/* Only its owner may read it, and nothing that is there, nor a link, is in its way. */
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600), err;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

	if (!f)
		return -errno;
	err = format->write(r, f, NULL);
	if (fclose(f) && !err)
		err = -errno;
	if (err)
		unlink(name);
	return err;
}

int top_export(const struct top_model *m, size_t back, unsigned int seconds, const char *format,
	       const char *host, char said[200])
{
	const struct top_window *w = top_model_at(m, back);
	char name[64] = "", clock[REPORT_CLOCK_TEXT];
	struct report *r = NULL;
	int err = w ? make_report(m, back, seconds, host, &r) : -ENODATA;

	report_clock(w ? w->wall_ns : 0, clock);
	for (int i = 0; !err && i < 100; i++) {
		if (i)
			snprintf(name, sizeof(name), "rawprof-top-%.2s%.2s%.2s-%d.%s", clock,
				 clock + 3, clock + 6, i, format);
		else
			snprintf(name, sizeof(name), "rawprof-top-%.2s%.2s%.2s.%s", clock,
				 clock + 3, clock + 6, format);
		err = write_file(r, report_format_by_name(format), name);
		if (err != -EEXIST)
			break;
		err = i < 99 ? 0 : err;
	}
	if (err)
		snprintf(said, 200, "not written: %s", strerror(-err));
	else
		snprintf(said, 200, "%s: %" PRIu64 " samples", name, report_total(r, 0));
	report_free(r);
	return err;
}
