/* SPDX-License-Identifier: BSD-2-Clause */
/* write.c: what several writers share. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "write.h"

int options_resolve(const struct report *r, const struct report_options *given,
		    struct report_options *options)
{
	struct report_options o = given ? *given : (struct report_options){ 0 };

	if (o.weight >= r->ntypes)
		return -EINVAL;
	if (!o.divisor)
		o.divisor = 1;
	if (!o.unit)
		o.unit = text(r, r->types[o.weight].unit);
	if (!o.top_functions)
		o.top_functions = 20;
	if (!o.top_stacks)
		o.top_stacks = 5;
	if (!o.image_width)
		o.image_width = 1200;
	if (!(o.min_width > 0))
		o.min_width = 0.1;
	*options = o;
	return 0;
}

int tree_by_name(const struct report *r, const struct names *names,
		 const struct report_options *options, struct tree *t)
{
	struct tree_view view = {
		.of_frame = names->of_frame,
		.of_comm = names->of_comm,
		.empty_stack = names->empty_stack,
		.delimiter = names->delimiter,
		.weight = options->weight,
		.reverse = options->reverse,
	};
	int err = tree_build(r, &view, t);

	return err ? err : tree_sort(t, names->rank, names->pool.count);
}

void add_title(struct buf *b, const struct report *r)
{
	buf_puts(b, "rawprof");
	if (r->info.command) {
		buf_puts(b, " ");
		buf_clean(b, r->info.command, 0, 0);
	}
	if (r->info.target) {
		buf_puts(b, ": ");
		buf_clean(b, r->info.target, 0, 0);
	}
}

void add_circumstances(struct buf *b, const struct report *r)
{
	const struct report_info *info = &r->info;
	char s[NUMBER_SIZE];

	buf_printf(b, "%s ", text_number(report_total(r, 0), s));
	buf_clean(b, text(r, r->types[0].type), 0, 0);
	if (info->event) {
		buf_puts(b, " of ");
		buf_clean(b, info->event, 0, 0);
	}
	if (info->rate_asked > 0) {
		buf_printf(b, " at %.6g Hz", info->rate_asked);
		if (info->rate_achieved > 0)
			buf_printf(b, " (%.1f achieved)", info->rate_achieved);
	}
	if (info->duration_ns)
		buf_printf(b, " in %s", text_duration(info->duration_ns, s));
	if (info->cpus)
		buf_printf(b, " on %u CPU%s", info->cpus, info->cpus == 1 ? "" : "s");
}
