/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls of gRPC as servers take them over HTTP/1.1 (grpc-web, PROTOCOL-WEB.md of gRPC): messages in
 * frames, and behind the answer's the status, in a frame of its own. Messages are bytes of
 * protobuf.
 *
 *	frame	1 byte: 0, or 0x80 for what HTTP/2 has as trailers; 4 bytes: length, the highest
 *		first; what it has
 */
#include <stdlib.h>
#include <string.h>

#include "push.h"

void push_put_varint(FILE *f, uint64_t value)
{
	for (; value > 0x7f; value >>= 7)
		fputc((int)(value & 0x7f) | 0x80, f);
	fputc((int)value, f);
}

void push_put_text(FILE *f, unsigned int field, const char *text)
{
	const size_t n = strlen(text);

	push_put_varint(f, field << 3 | 2);
	push_put_varint(f, n);
	fwrite(text, 1, n, f);
}

void push_frame_head(char head[PUSH_FRAME_HEAD], size_t bytes)
{
	const uint32_t n = (uint32_t)bytes;

	head[0] = 0;
	head[1] = (char)(n >> 24);
	head[2] = (char)(n >> 16);
	head[3] = (char)(n >> 8);
	head[4] = (char)n;
}

/* What a frame has; false: it is not whole. */
static bool next_frame(struct push_message *m, unsigned char *kind, struct push_message *in)
{
	uint64_t n;

	if (m->end - m->at < PUSH_FRAME_HEAD)
		return false;
	*kind = m->at[0];
	n = (uint64_t)m->at[1] << 24 | (uint64_t)m->at[2] << 16 | (uint64_t)m->at[3] << 8 |
	    m->at[4];
	m->at += PUSH_FRAME_HEAD;
	if (n > (uint64_t)(m->end - m->at))
		return false;
	*in = (struct push_message){ m->at, m->at + n };
	m->at += n;
	return true;
}

/* "grpc-status: 0", in lines as HTTP has them; 2, unknown, if there is none. */
static unsigned int status_of(struct push_message lines)
{
	static const char name[] = "grpc-status:";
	const size_t n = sizeof(name) - 1;

	for (const unsigned char *at = lines.at; (size_t)(lines.end - at) > n; at++) {
		unsigned int status = 0;

		if (strncasecmp((const char *)at, name, n))
			continue;
		for (at += n; at < lines.end && *at == ' '; at++)
			;
		if (at == lines.end || *at < '0' || *at > '9')
			return 2;
		for (; at < lines.end && *at >= '0' && *at <= '9' && status < 1000; at++)
			status = status * 10 + (unsigned int)(*at - '0');
		return status;
	}
	return 2;
}

bool push_call_answer(const void *answer, size_t size, struct push_message *out)
{
	struct push_message all = { answer, (const unsigned char *)answer + size }, in;
	bool found = false;
	unsigned char kind;

	while (next_frame(&all, &kind, &in)) {
		if (kind & 0x80)
			return found && !status_of(in);
		if (!found)
			*out = in;
		found = true;
	}
	return false;
}
