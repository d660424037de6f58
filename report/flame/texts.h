/* SPDX-License-Identifier: BSD-2-Clause */
/* Style and script of a flame graph, for all that draw one. */
#ifndef REPORT_FLAME_TEXTS_H
#define REPORT_FLAME_TEXTS_H

struct flame_texts {
	char *style;  /* CSS; to be freed, also after an error */
	char *script; /* ECMAScript 5 without "]]>"; in the memory of style */
};

int report_flame_texts(struct flame_texts *texts); /* 0 or a negative errno */

#endif
