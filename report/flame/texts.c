/* SPDX-License-Identifier: BSD-2-Clause */
/* Style and script of a flame graph, for all that draw one: they lie packed together. */
#include <errno.h>
#include <string.h>

#include "report/packed.h"
#include "texts.h"

int report_flame_texts(struct flame_texts *texts)
{
	static const char between[] = "@SCRIPT@\n";
	int err = report_unpack(&report_packed_flame, &texts->style);
	char *end = err ? NULL : strstr(texts->style, between);

	if (!end)
		return err ? err : -EIO;
	*end = 0;
	texts->script = end + strlen(between);
	return 0;
}
