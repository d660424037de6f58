/* SPDX-License-Identifier: BSD-2-Clause */
/* Style and script of a flame graph, for all that draw one. */
#include "flame.h"
#include "texts.h"

int report_flame_texts(struct flame_texts *texts)
{
	*texts = (struct flame_texts){ report_flame_style, report_flame_script, NULL };
	return 0;
}
