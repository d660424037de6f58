/* SPDX-License-Identifier: BSD-2-Clause */
/* What several writers share. */
#include <errno.h>
#include <string.h>

#include "write.h"

int report_options_resolve(const struct report *r, const struct report_options *given,
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

int report_tree_by_name(const struct report *r, const struct frame_names *names,
			const struct report_options *options, struct tree *t)
{
	struct tree_view view = {
		.of_frame = names->of_frame,
		.of_comm = names->of_comm,
		.of_labels = names->of_labels,
		.empty_stack = names->empty_stack,
		.delimiter = names->delimiter,
		.weight = options->weight,
		.reverse = options->reverse,
	};
	int err = report_tree_build(r, &view, t);

	return err ? err : report_tree_sort(t, names->rank, names->pool.count);
}

void report_add_profile_circumstances(struct buf *b, const struct report *r)
{
	report_add_circumstances(b, &r->meta.info, report_total(r, 0), text(r, r->types[0].type));
}
