/* SPDX-License-Identifier: BSD-2-Clause */
/* The program that `trace` loads for an event, with its filter, for `rawprof explain trace`. */
#include <errno.h>
#include <stdlib.h>

#include "cli/explain/explain.h"
#include "trace.h"

/* As without options; what concerns the event is its own. */
static int configure(const struct record_event *event, bool filter, struct trace_config *c)
{
	*c = *(const struct trace_config *)rp_trace_event_programs[0].config;
	c->filter = filter;
	return trace_describe(event, c);
}

static int show(FILE *out, const struct record_event *event, const char *text,
		const struct explain_options *opt)
{
	struct rp_program program = rp_trace_event_programs[0];
	struct trace_filter filter = { 0 };
	struct trace_config config;
	int err = configure(event, text != NULL, &config);

	if (!err && text)
		err = trace_filter_make(text, event, &program, &filter);
	if (err)
		return err;
	if (filter.lines)
		program.code.lines = filter.lines;
	program.hook.group = event->format.group;
	program.hook.name = event->format.event;
	program.config = &config;
	err = explain_entry(out, &program, opt);
	trace_filter_free(&filter);
	return err;
}

int explain_event(FILE *out, const struct explain_options *opt)
{
	struct trace_events events = { 0 };
	int err = trace_select(&events, opt->event);

	if (!err && events.n > 1)
		err = rp_fail(-EINVAL, "'%s' is %zu events: one program is shown at a time",
			      opt->event, events.n);
	if (!err && events.event[0].kind != TRACE_TRACEPOINT)
		err = rp_fail(-EINVAL,
			      "%s is a system call, whose programs are trace_enter and trace_exit",
			      events.event[0].name);
	if (!err)
		err = show(out, events.event[0].record, opt->filter, opt);
	trace_events_free(&events);
	return err;
}
