/* SPDX-License-Identifier: BSD-2-Clause */
/* `rawprof explain --kernel-log`: a log that another wrote, in each shape. */
#include <rawprof/loader.h>

#include "cli/explain/explain.h"
#include "fuzz_json.h"

static void quiet(void *ctx, enum rp_level level, const char *message)
{
	(void)ctx;
	(void)level;
	(void)message;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct explain_options opt = { .state = size & 1, .bytes = size & 2 };
	int fd;

	/* A log is the kernel's, text without control characters; what it holds else is printed. */
	for (size_t i = 0; i < size; i++)
		if ((data[i] < 0x20 && data[i] != '\n' && data[i] != '\t') || data[i] > 0x7e)
			return 0;
	rp_log_setup(RP_ERROR, quiet, NULL);
	for (int shape = EXPLAIN_TEXT; shape <= EXPLAIN_DOT; shape++) {
		char *text = NULL;
		size_t length;
		FILE *out = open_memstream(&text, &length);

		fd = fuzz_file(data, size);
		opt.kernel_log = fuzz_path(fd);
		opt.shape = shape;
		if (!explain_log(out, &opt) && !fflush(out) && shape == EXPLAIN_JSON)
			fuzz_check_json(text);
		fclose(out);
		fuzz_check_printable(text, length);
		free(text);
		close(fd);
	}
	return 0;
}
