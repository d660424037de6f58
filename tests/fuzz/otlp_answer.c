/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a server answers, of OTLP or of gRPC: any bytes; what is said of it is one line of printable
 * ASCII, and a message lies within it.
 */
#include "cli/agent/push.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *answer = fuzz_copy(data, size), reason[PUSH_REASON];
	uint64_t rejected = 1;
	struct push_message message;
	const bool said = push_partial(answer, size, &rejected, reason);

	fuzz_check(rejected <= INT64_MAX && said == (rejected || *reason));
	fuzz_check(strlen(reason) < PUSH_REASON);
	for (const char *c = reason; *c; c++)
		fuzz_check(*c >= ' ' && *c < 0x7f);
	push_reason(answer, size, reason);
	fuzz_check(strlen(reason) <= size && strlen(reason) < PUSH_REASON);
	if (push_call_answer(answer, size, &message))
		fuzz_check((const char *)message.at >= answer && message.at <= message.end &&
			   (const char *)message.end <= answer + size);
	free(answer);
	return 0;
}
