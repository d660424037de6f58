/* SPDX-License-Identifier: BSD-2-Clause */
/* record PROGRAM ARGS: where it spends its CPU time, as folded stacks, by librawprof alone. */
#include <rawprof/record.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	const struct record_options options = {
		.program = argc > 1 ? argv + 1 : NULL, /* and its children; NULL: all processes */
		.duration = 10,			       /* seconds, at the most */
		.freq = 999,			       /* samples a second on each CPU */
	};
	struct recording *rec;
	struct report *report;
	int status = 1;

	if (record_new(&record_cpu, &options, &rec))
		return 1; /* the library has said why */
	if (!record_run(rec) && !record_report(rec, &report)) {
		if (!report_write_folded(report, stdout, NULL))
			status = record_finish(rec);
		report_free(report);
	}
	record_free(rec);
	return status;
}
