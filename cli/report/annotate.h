/* SPDX-License-Identifier: BSD-2-Clause */
/* What the two kinds of --annotate share: of files, and of BPF programs. */
#ifndef CLI_REPORT_ANNOTATE_H
#define CLI_REPORT_ANNOTATE_H

#include "report.h"

/* One function on its way from places to code. */
struct annotation {
	const struct report_place *places; /* of one function, by address */
	size_t n, next;
	uint64_t end; /* of the function, as the file counts */
	struct report_code *code;
	uint64_t *bytes; /* that lines of all functions take */
};

/* A line of text beside what was at addresses below this one and has not been shown. -ENOMEM;
 * -EFBIG after a message: all lines would take too much. */
int report_annotate_line(struct annotation *a, const char *line, uint64_t below);

bool report_is_bpf(const struct report_place *p);
/* 0 or a negative errno after a message. */
int report_annotate_bpf(struct annotation *a);

#endif
