/* SPDX-License-Identifier: BSD-2-Clause */
/* Style and script of a flame graph, which lie packed together with a line between them. */
#include <errno.h>
#include <string.h>

#include "report/packed.h"
#include "texts.h"

int report_flame_texts(struct flame_texts *texts)
{
	static const char between[] = "@SCRIPT@\n";
	char *style, *end;
	int err = report_unpack(&report_packed_flame, &style);

	if (err)
		return err;
	texts->style = style;
	end = strstr(style, between);
	if (!end)
		return -EIO;
	*end = 0;
	texts->script = end + strlen(between);
	return 0;
}
