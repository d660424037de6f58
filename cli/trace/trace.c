/* SPDX-License-Identifier: BSD-2-Clause */
/* rawprof trace: events as they happen. */
#include <errno.h>

#include "syscalls.h"
#include "trace.h"

/* "--hist FIELD by LIST": two words that are no events. */
static bool is_by(const struct options *opt, size_t word)
{
	const struct trace_options *own = opt->own;

	return own->hist && !own->by && word + 1 < opt->nwords && !strcmp(opt->words[word], "by");
}

static int setup(struct trace *trace, const struct options *opt)
{
	int err = 0;

	for (size_t i = 0; !err && i < opt->nwords; i++)
		if (is_by(opt, i))
			((struct trace_options *)opt->own)->by = opt->words[++i];
		else if (!trace_is_usdt(opt->words[i]) && !trace_is_func(opt->words[i]))
			err = trace_select(&trace->events, opt->words[i]);
	if (!err)
		err = trace_usdt_select(trace, opt);
	if (!err && opt->dry_run) /* one for all */
		err = trace_select(&trace->events, "sched:sched_switch");
	if (!err)
		err = trace_func_select(trace, opt);
	return err ? err : trace_setup(trace, opt);
}

int trace_run(const struct options *opt)
{
	struct trace trace = { .own = opt->own };
	const unsigned long errors = rp_log_errors();
	int err, status;

	if (trace.own->syscalls)
		return syscalls_run(opt);
	if (trace.own->list) {
		err = trace_is_usdt(trace.own->list) ? trace_usdt_list(opt, trace.own->list)
						     : trace_list(trace.own->list);
		return err ? command_failed(opt->command, err, errors) : EXIT_DONE;
	}
	err = setup(&trace, opt);
	if (err)
		status = command_failed(opt->command, err, errors);
	else
		status = run_profiler(&trace.profiler, opt, &trace);
	if (err == -EINVAL) /* what was asked for makes no sense */
		status = EXIT_USAGE;
	trace_free(&trace);
	return status;
}
