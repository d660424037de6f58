/* SPDX-License-Identifier: BSD-2-Clause */
/* log.c: messages for the person, at four levels, to wherever the caller wants them. */
#include "internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/text.h"

static enum rp_level most = RP_WARN;
static rp_log_fn sink;
static void *sink_ctx;
static unsigned long errors;

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

unsigned long rp_log_errors(void)
{
	return errors;
}

static void emit(enum rp_level level, const char *message, const char *lines)
{
	char *both = NULL;

	if (*lines && asprintf(&both, "%s%s", message, lines) < 0)
		both = NULL;
	if (both)
		message = both;
	if (sink)
		sink(sink_ctx, level, message);
	else
		fprintf(stderr, "rawprof: %s\n", message);
	free(both);
}

/* What a limit that was reached wants, wherever that was; unless the message has said it. */
static const char *advice(int err, const char *message)
{
	struct rlimit space;

	if (strstr(message, "ulimit"))
		return "";
	if (err == -EMFILE)
		return ": raise `ulimit -n`";
	if (err == -ENOMEM && !getrlimit(RLIMIT_AS, &space) && space.rlim_cur != RLIM_INFINITY)
		return ": raise `ulimit -v`";
	return "";
}

/* What the arguments say may be of anybody's making: names of files, words of a tracepoint. */
__attribute__((format(printf, 4, 0))) static void log_va(enum rp_level level, int err,
							 const char *lines, const char *fmt,
							 va_list ap)
{
	char *message, *clean;

	errors += level == RP_ERROR;
	if (!rp_log_wants(level))
		return;
	message = rp_text_format(fmt, ap);
	clean = rp_text_lines(message && !*lines ? advice(err, message) : lines);
	if (message && clean)
		emit(level, message, clean);
	else
		emit(level, "out of memory while writing a message", "");
	free(message);
	free(clean);
}

void rp_log(enum rp_level level, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_va(level, 0, "", fmt, ap);
	va_end(ap);
}

void rp_log_lines(enum rp_level level, const char *lines, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_va(level, 0, lines ? lines : "", fmt, ap);
	va_end(ap);
}

int rp_fail(int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_va(RP_ERROR, err, "", fmt, ap);
	va_end(ap);
	return err;
}
