/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of a verifier's log, for a message: lines of the log, at most so many, and no others. */
#include "loader/internal.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct bpf_insn insns[8] = { { .code = 0x95 } };
	const struct rp_prog prog = { .insns = insns, .ninsns = 8 };
	char *log = strndup((const char *)data, size), *text;
	bool located;
	long insn;

	for (int most = 1; most < 5; most++) {
		int lines = 1;

		text = rp_verifier_log_tail(log, most, &insn);
		if (!text)
			continue;
		for (const char *c = text; *c; c++)
			lines += *c == '\n';
		fuzz_check(strstr(log, text) && insn >= -1);
		fuzz_check(lines <= most + 1);
		free(text);
	}
	text = rp_verifier_log_explain(&prog, log, 3, &located);
	free(text);
	free(log);
	return 0;
}
