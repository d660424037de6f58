/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a server of OTLP says of a request that it has taken: nothing, or which part of it not.
 *
 *	ExportProfilesServiceResponse	1: partial_success
 *	ExportProfilesPartialSuccess	1: rejected_profiles, 2: error_message
 */
#include <string.h>

#include "push.h"

static bool take_varint(struct push_message *m, uint64_t *out)
{
	*out = 0;
	for (unsigned int shift = 0; m->at < m->end && shift < 64; shift += 7) {
		const unsigned char byte = *m->at++;

		*out |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

bool push_next_field(struct push_message *m, uint64_t *number, uint64_t *value,
		     struct push_message *in)
{
	enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };
	uint64_t tag, size = 0;

	*value = 0;
	*in = (struct push_message){ m->end, m->end };
	if (!take_varint(m, &tag))
		return false;
	*number = tag >> 3;
	switch (tag & 7) {
	case VARINT:
		return take_varint(m, value);
	case FIXED64:
		size = 8;
		break;
	case FIXED32:
		size = 4;
		break;
	case BYTES:
		if (take_varint(m, &size))
			break;
		return false;
	default:
		return false;
	}
	if (size > (uint64_t)(m->end - m->at))
		return false;
	*in = (struct push_message){ m->at, m->at + size };
	m->at += size;
	return true;
}

void push_reason(const void *text, size_t n, char out[PUSH_REASON])
{
	const unsigned char *c = text;

	n = n < PUSH_REASON - 1 ? n : PUSH_REASON - 1;
	for (size_t i = 0; i < n; i++)
		out[i] = c[i] >= ' ' && c[i] < 0x7f ? (char)c[i] : ' ';
	out[n] = '\0';
}

static void take_partial(struct push_message partial, uint64_t *rejected, char reason[PUSH_REASON])
{
	uint64_t number, value;
	struct push_message in;

	while (push_next_field(&partial, &number, &value, &in)) {
		if (number == 1 && value <= INT64_MAX) /* no fewer than none */
			*rejected = value;
		if (number == 2)
			push_reason(in.at, (size_t)(in.end - in.at), reason);
	}
}

bool push_partial(const void *answer, size_t size, uint64_t *rejected, char reason[PUSH_REASON])
{
	struct push_message all = { answer, (const unsigned char *)answer + size }, in;
	uint64_t number, value;

	*rejected = 0;
	*reason = '\0';
	while (push_next_field(&all, &number, &value, &in))
		if (number == 1)
			take_partial(in, rejected, reason);
	return *rejected || *reason;
}
