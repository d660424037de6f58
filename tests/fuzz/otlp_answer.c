/* SPDX-License-Identifier: BSD-2-Clause */
/* What a server of OTLP answers: any bytes; what is said of it is one line of printable ASCII. */
#include "cli/agent/push.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *answer = fuzz_copy(data, size), reason[PUSH_REASON];
	uint64_t rejected = 1;
	const bool said = push_partial(answer, size, &rejected, reason);

	fuzz_check(rejected <= INT64_MAX && said == (rejected || *reason));
	fuzz_check(strlen(reason) < PUSH_REASON);
	for (const char *c = reason; *c; c++)
		fuzz_check(*c >= ' ' && *c < 0x7f);
	push_reason(answer, size, reason);
	fuzz_check(strlen(reason) <= size && strlen(reason) < PUSH_REASON);
	free(answer);
	return 0;
}
