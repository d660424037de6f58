/* SPDX-License-Identifier: BSD-2-Clause */
/* Which options of a recording contradict each other, or are out of range. */
#include <errno.h>

#include "recording.h"

#define MAX_BOTH 1024 /* frames of each side, what a record has room for */

static const char *fault(const struct record_profiler *profiler, const struct record_options *o)
{
	if (o->program && !*o->program)
		return "program has no name to run";
	if (o->program && (o->pids.n || o->tids.n))
		return "either program, or pids and tids";
	if (o->pids.n && o->tids.n)
		return "either pids or tids";
	if (!(o->duration >= 0) || !(o->interval >= 0))
		return "duration and interval are not below 0";
	if (o->interval > 0 && !profiler->interval)
		return "interval: this profiler has no parts of a series";
	if (o->freq && o->period)
		return "either freq or period";
	if (o->event && o->software_event)
		return "either event or software_event";
	if (o->user_only && o->kernel_only)
		return "user_only and kernel_only leave no stacks at all";
	if (o->max_stack.innermost > STACK_DEEPEST)
		return "max_stack is at most 4096";
	if (o->max_stack.outermost && (o->max_stack.outermost > MAX_BOTH ||
				       o->max_stack.innermost + o->max_stack.outermost > MAX_BOTH))
		return "max_stack, with outermost frames, is at most 1024, both numbers together";
	if (o->max_stack.outermost && o->max_stack.innermost < 2)
		return "max_stack: outermost frames without two innermost ones";
	if (o->during && (!profiler->add_moment || o->samples))
		return "during: not by this profiler, and not with samples";
	if (o->samples && !o->sample)
		return "samples want a function sample()";
	if ((o->lines || o->inlined) && !sym_can_find_source())
		return "lines and inlined need libdw, without which this library was built";
	return NULL;
}

int record_check(const struct record_profiler *profiler, const struct record_options *opt)
{
	const char *wrong = fault(profiler, opt);

	return wrong ? rp_fail(-EINVAL, "options of the recording: %s", wrong) : 0;
}
