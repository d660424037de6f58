/* SPDX-License-Identifier: BSD-2-Clause */
/* log.c: messages for the person, at four levels, to wherever the caller wants them. */
#include "internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static enum rp_level most = RP_WARN;
static rp_log_fn sink;
static void *sink_ctx;

void rp_log_setup(enum rp_level level, rp_log_fn fn, void *ctx)
{
	most = level;
	sink = fn;
	sink_ctx = ctx;
}

bool rp_log_wants(enum rp_level level)
{
	return level <= most;
}

static void emit(enum rp_level level, const char *message)
{
	if (sink)
		sink(sink_ctx, level, message);
	else
		fprintf(stderr, "rawprof: %s\n", message);
}

__attribute__((format(printf, 2, 0))) static void log_va(enum rp_level level, const char *fmt,
							 va_list ap)
{
	char *message;

	if (!rp_log_wants(level))
		return;
	if (vasprintf(&message, fmt, ap) < 0) {
		emit(level, "out of memory while writing a message");
		return;
	}
	emit(level, message);
	free(message);
}

void rp_log(enum rp_level level, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_va(level, fmt, ap);
	va_end(ap);
}

int rp_fail(int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_va(RP_ERROR, fmt, ap);
	va_end(ap);
	return err;
}
