/* SPDX-License-Identifier: BSD-2-Clause */
/* flame.h: what the flame graph's drawing, its script and its page share. */
#ifndef REPORT_FLAME_H
#define REPORT_FLAME_H

#include "write.h"

extern const char flame_style[];  /* CSS */
extern const char flame_script[]; /* ECMAScript 5 without "]]>" */

/* Writes the <svg> element, without the XML declaration; does not flush. 0 or -errno. */
int flame_write(const struct report *r, struct out *o, const struct report_options *given);

/* "#rrggbb" of a frame: a function of its name and kind alone, so that it is the same in every
 * graph. */
void flame_color(const char *name, uint32_t kind, char color[8]);

void flame_title(const struct report *r, const struct report_options *options, struct buf *b);

#endif
