/* SPDX-License-Identifier: BSD-2-Clause */
/* Folded stacks of others: refused, saying why, or a profile that is the same when written and read
 * again. */
#include "report/read/read.h"
#include "fuzz.h"

static char *folded_of(const struct report *r, size_t *size)
{
	const struct report_options options = { .annotate = true };
	char *text = NULL;
	FILE *f = open_memstream(&text, size);

	fuzz_check(!report_write_folded(r, f, &options) && !fclose(f));
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	void *copy = fuzz_copy(data, size);
	struct report_file file = { 0 }, again = { 0 };
	int err = report_read_folded(copy, size, &file);
	size_t first, second;
	char *one, *two;

	free(copy);
	fuzz_check(!err == (file.report != NULL) && !err == !*file.why);
	if (err) {
		fuzz_check_printable(file.why, strlen(file.why));
		return 0;
	}
	one = folded_of(file.report, &first);
	fuzz_check_printable(one, first);
	/* Only what has no weight at all leaves nothing. */
	fuzz_check(!report_total(file.report, 0) == !first);
	if (first && !report_read_folded(one, first, &again)) {
		two = folded_of(again.report, &second);
		fuzz_check(report_total(again.report, 0) == report_total(file.report, 0));
		fuzz_check(second <= first);
		free(two);
		report_free(again.report);
	}
	free(one);
	report_free(file.report);
	return 0;
}
