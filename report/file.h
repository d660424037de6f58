/* SPDX-License-Identifier: BSD-2-Clause */
/* Forms of files that can be read, each by its own reader: a new one is one more row of file.c. */
#ifndef REPORT_FILE_H
#define REPORT_FILE_H

#include <rawprof/report.h>

/*
 * Takes the whole of a file and fills *out, which is all 0, as report_read() says. After an error
 * it has freed what it made, and has called report_why(), unless it is -ENOMEM.
 */
typedef int report_reader(const void *data, size_t size, struct report_file *out);

report_reader report_read_saved; /* what report_write_saved() writes; report/saved/ */

/* Says, printably, what is wrong with the file, and returns err. */
int report_why(struct report_file *file, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
