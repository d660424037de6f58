/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a program says of itself and of the contexts of its threads: the payload of a process
 * context of OpenTelemetry (OTEP 4719), a ProcessContext of protocol buffers
 * (opentelemetry/proto/processcontext/v1development/process_context.proto).
 */
#ifndef RECORD_OTEL_CONTEXT_H
#define RECORD_OTEL_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OTEL_KEYS 256	     /* a key has a number of a byte */
#define OTEL_KEY_BYTES 64    /* with the 0 behind it; what is longer is cut */
#define OTEL_TEXT_BYTES 96   /* the same */
#define OTEL_SCHEMA_BYTES 32 /* the same */

/* Attributes of the resource that become labels. */
enum otel_text { OTEL_SERVICE, OTEL_VERSION, OTEL_ENVIRONMENT, OTEL_TEXTS };

struct otel_context {
	char schema[OTEL_SCHEMA_BYTES]; /* of the records of threads; "": it says nothing of them */
	char text[OTEL_TEXTS][OTEL_TEXT_BYTES];
	uint32_t nkeys;
	char key[OTEL_KEYS][OTEL_KEY_BYTES];
};

/* False: these bytes are no such message; *out is what was read of it until then. */
bool record_otel_decode(const void *bytes, size_t n, struct otel_context *out);

/* Copies n characters without one that was cut, and without a 0 in them, to @room bytes. */
void record_otel_copy(const void *from, size_t n, char *to, size_t room);

#endif
