/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verifier_log.c: what matters of a verifier log, which may be megabytes of register states: its
 * last lines, which lead to the complaint, without the statistics behind it. Nothing is concluded
 * from the complaint's wording, which changes between kernels.
 */
#include "internal.h"

#include <ctype.h>
#include <stdlib.h>

/* "12: (85) call …" is an instruction; the number comes back, or -1. */
static long insn_of(const char *line, const char *end)
{
	char *after;
	long insn;

	if (line == end || !isdigit((unsigned char)*line))
		return -1;
	insn = strtol(line, &after, 10);
	return after + 3 < end && after[0] == ':' && after[1] == ' ' && after[2] == '(' ? insn : -1;
}

static bool starts_with(const char *line, const char *end, const char *what)
{
	const size_t n = strlen(what);

	return (size_t)(end - line) >= n && !memcmp(line, what, n);
}

/* Counters of the verifier's work, or an empty line: not part of the complaint. */
static bool is_statistics(const char *line, const char *end)
{
	return line == end || starts_with(line, end, "processed ") ||
	       starts_with(line, end, "verification time ") ||
	       starts_with(line, end, "stack depth ");
}

static const char *line_start(const char *log, const char *end)
{
	while (end > log && end[-1] != '\n')
		end--;
	return end;
}

char *verifier_log_tail(const char *log, int max_lines, long *insn)
{
	const char *end = log + strlen(log), *start, *from;
	bool complaint = false;
	int lines = 0;

	*insn = -1;
	while (end > log && end[-1] == '\n')
		end--;
	from = end;
	for (const char *at = end; lines < max_lines; at = start - 1) {
		start = line_start(log, at);
		if (!complaint && is_statistics(start, at)) {
			end = start > log ? start - 1 : start;
		} else {
			complaint = true;
			lines++;
			if (*insn < 0)
				*insn = insn_of(start, at);
		}
		from = start;
		if (start == log)
			break;
	}
	return from < end ? strndup(from, (size_t)(end - from)) : NULL;
}
