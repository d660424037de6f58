/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One line a stack, "comm;frame;frame count", root first: what flamegraph.pl, inferno,
 * speedscope and Pyroscope read. Stacks of one text are one line; lines are sorted frame by frame.
 */
#include <errno.h>
#include <stdlib.h>

#include "names.h"
#include "tree.h"
#include "write.h"

static void write_line(struct out *o, const struct frame_names *names, const struct tree *t,
		       uint32_t leaf, uint64_t divisor)
{
	uint32_t path[2 * REPORT_MAX_STACK + 2], depth = 0;

	for (uint32_t at = leaf; at; at = t->nodes[at].parent)
		path[depth++] = t->nodes[at].key;
	while (depth--) {
		report_out_puts(o, name_text(names, path[depth]));
		report_out_putc(o, depth ? ';' : ' ');
	}
	report_out_u64(o, divide_rounded(t->nodes[leaf].self, divisor));
	report_out_putc(o, '\n');
}

int report_write_folded(const struct report *r, FILE *file, const struct report_options *given)
{
	struct report_options options;
	struct out o = { .file = file };
	struct frame_names names = { 0 };
	struct tree tree = { 0 };
	unsigned int depth = 0;
	int err = report_options_resolve(r, given, &options);

	if (err)
		return err;
	err = report_names_make(r, &options, true, &names);
	if (!err)
		err = report_tree_by_name(r, &names, &options, &tree);
	for (uint32_t at = 0; !err && (at = report_tree_next(&tree, at, &depth));)
		if (tree.nodes[at].self)
			write_line(&o, &names, &tree, at, options.divisor);
	report_tree_free(&tree);
	report_names_free(&names);
	return err ? err : report_out_end(&o);
}
