/* SPDX-License-Identifier: BSD-2-Clause */
/* The flame graph as a file of its own. */
#include <errno.h>

#include "flame.h"

int report_write_svg(const struct report *r, FILE *file, const struct report_options *options)
{
	struct out o = { .file = file };
	int err;

	report_out_puts(&o, "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n");
	err = report_flame_write(r, &o, options);
	return err ? err : report_out_end(&o);
}
