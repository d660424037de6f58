/* SPDX-License-Identifier: BSD-2-Clause */
/* What the CPUs did in the last seconds, as a flame graph or a page. */
#ifndef CLI_TOP_EXPORT_H
#define CLI_TOP_EXPORT_H

#include "model.h"

/*
 * Writes the samples of the windows from @back on that began in the last so many seconds before its
 * end, to a file in the working directory that was not there; format: "svg" or "html"; host may be
 * NULL. said: what became of it, for a person. 0 or a negative errno.
 */
int top_export(const struct top_model *m, size_t back, unsigned int seconds, const char *format,
	       const char *host, char said[200]);

#endif
