/* SPDX-License-Identifier: BSD-2-Clause */
/* pprof of others, unpacked: refused, saying why, or a profile whose weights stay what they were
 * when it is written and read again. */
#include "report/read/read.h"
#include "fuzz_pprof.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	void *copy = fuzz_copy(data, size);
	struct report_file file = { 0 }, again;
	int err = report_read_pprof(copy, size, &file);
	char *bytes = NULL;
	size_t n;
	FILE *f;

	free(copy);
	fuzz_check(!err == (file.report != NULL) && !err == !*file.why);
	if (err) {
		fuzz_check_printable(file.why, strlen(file.why));
		return 0;
	}
	f = open_memstream(&bytes, &n);
	fuzz_check(!report_write_pprof(file.report, f, &file.show) && !fclose(f));
	fuzz_check_pprof(bytes, n);
	fuzz_check(!report_read(bytes, n, &again));
	if (report_total(file.report, 0) <= INT64_MAX)
		fuzz_check(report_total(again.report, 0) == report_total(file.report, 0));
	free(bytes);
	report_file_free(&again);
	report_free(file.report);
	return 0;
}
