/* SPDX-License-Identifier: BSD-2-Clause */
/* What the options make of a saved profile before it is shown. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include <rawprof/loader.h>

#include "report.h"

/* The new one takes the place of the old one. */
static int replace(struct report_file *file, struct report *r)
{
	report_free(file->report);
	file->report = r;
	return 0;
}

static int put_lines_in_names(const struct options *opt, struct report_file *file)
{
	struct report *r = NULL;
	int err;

	if (!file->show.lines || !opt->format->by_name)
		return 0;
	err = report_lines_in_names(file->report, &r);
	return err ? err : replace(file, r);
}

/* What the options ask for is not there: why says so. */
static int refused(int err, const char *option, const char *value, const char *why, bool *usage)
{
	if (err != -EINVAL)
		return err;
	*usage = true;
	return rp_fail(err, "--%s '%s': %s", option, value, why);
}

static int filter(const struct options *opt, struct report_file *file, bool *usage)
{
	const struct report_own *own = opt->own;
	char why[REPORT_WHY];
	struct report *r = NULL;
	int err = report_select(file->report, own->filter, &r, why);

	return err ? refused(err, "filter", own->filter, why, usage) : replace(file, r);
}

/* Seconds, or nothing for the end of the recording, and what stands behind them. */
static bool read_time(const char *text, uint64_t otherwise, uint64_t *ns, const char **rest)
{
	char *end;
	double seconds = strtod(text, &end);

	*rest = end;
	*ns = otherwise;
	if (end == text)
		return true;
	if (!(seconds >= 0 && seconds < 1e6) || !isdigit((unsigned char)*text))
		return false;
	*ns = (uint64_t)(seconds * 1e9 + 0.5);
	return true;
}

/* The stream has names of values of its own: which is shown has to be among them. */
static int choose_again(const struct report *before, struct report_file *file, bool *usage)
{
	const char *shown = report_value_type(before, file->show.weight).type;
	const int value = report_value_by_name(file->report, shown);

	if (value >= 0) {
		file->show.weight = (unsigned int)value;
		return 0;
	}
	*usage = true;
	return rp_fail(-EINVAL, "--between: there are no times of %s; --weight %s has them", shown,
		       report_value_type(file->report, 0).type);
}

static int between(const struct options *opt, struct report_file *file, bool *usage)
{
	const struct report_own *own = opt->own;
	const uint64_t without = report_without_time(file->report);
	struct report *before = file->report, *r = NULL;
	uint64_t from = 0, to = UINT64_MAX;
	char why[REPORT_WHY];
	const char *rest;
	int err;

	if (!read_time(own->between, 0, &from, &rest) || *rest != ',' ||
	    !read_time(rest + 1, UINT64_MAX, &to, &rest) || *rest || from >= to)
		return refused(-EINVAL, "between", own->between,
			       "it wants two times in seconds since the beginning, the first one "
			       "smaller: 2,2.5",
			       usage);
	err = report_between(before, from, to, &r, why);
	if (err)
		return refused(err, "between", own->between, why, usage);
	if (without)
		rp_log(RP_WARN, "--between: %llu of %llu %s have no time, and are left out",
		       (unsigned long long)without, (unsigned long long)report_total(before, 0),
		       report_value_type(before, 0).type);
	file->report = r;
	err = opt->weight ? 0 : choose_again(before, file, usage);
	report_free(before);
	return err;
}

static int around(struct report_file *file, const char *function, bool callers, bool *usage)
{
	char why[REPORT_WHY];
	struct report *r = NULL;
	int err = report_around(file->report, function, callers, &r, why);

	return err ? refused(err, callers ? "callers" : "callees", function, why, usage)
		   : replace(file, r);
}

static int change(const struct options *opt, struct report_file *file, bool *usage)
{
	const struct report_own *own = opt->own;
	struct report *named = NULL;
	int err = 0;

	if (own->resolve) {
		err = report_resolve(own->resolve, own->inlined, file->report, &named);
		err = err ? err : replace(file, named);
	}
	if (!err && own->between)
		err = between(opt, file, usage);
	if (!err && own->filter)
		err = filter(opt, file, usage);
	if (!err && own->callers)
		err = around(file, own->callers, true, usage);
	if (!err && own->callees)
		err = around(file, own->callees, false, usage);
	return err ? err : put_lines_in_names(opt, file);
}

int report_change(const struct options *opt, struct report_file *file, bool *usage)
{
	const struct report_own *own = opt->own;
	const char *option = own->by	     ? "by"
			     : own->filter   ? "filter"
			     : own->between  ? "between"
			     : own->callers  ? "callers"
			     : own->callees  ? "callees"
			     : own->tree     ? "tree"
			     : own->resolve  ? "resolve"
			     : own->annotate ? "annotate"
					     : NULL;
	int err = 0;

	*usage = false;
	for (; !err && file; file = file->next) {
		if (file->report) {
			err = change(opt, file, usage);
		} else if (option) {
			*usage = true;
			err = rp_fail(-EINVAL, "--%s is for stacks: this file has %s", option,
				      file->hists ? "histograms" : "a table of figures");
		}
	}
	return err;
}
