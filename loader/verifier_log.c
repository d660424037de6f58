/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verifier_log.c: what matters of a verifier log, which may be megabytes of register states: its
 * last lines, which lead to the complaint, without the statistics behind it; and above them, where
 * asm/ knows the complaint, the line of the program, the reason, and what to do.
 */
#include "internal.h"

#include <ctype.h>
#include <rawprof/verifier.h>
#include <stdio.h>
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

char *rp_verifier_log_tail(const char *log, int max_lines, long *insn)
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

/* ---- with its explanation */

/* Text of several lines, each behind a newline and what it begins with. */
static void put_lines(FILE *out, const char *first, const char *others, const char *text)
{
	for (const char *begin = first; text && *text; begin = others) {
		const size_t len = strcspn(text, "\n");

		fprintf(out, "\n%s%.*s", begin, (int)len, text);
		text += len + (text[len] == '\n');
	}
}

static void put_refusal(FILE *out, const struct asm_refusal *refusal)
{
	put_lines(out, "why: ", "     ", refusal->why);
	if (refusal->why)
		put_lines(out, "     ", "     ", refusal->history);
	put_lines(out, "try: ", "     ", refusal->advice);
}

char *rp_verifier_log_explain(const struct rp_prog *prog, const char *log, int tail_lines,
			      bool *located)
{
	const struct asm_refused refused = { .log = log,
					     .insns = prog->insns,
					     .ninsns = prog->ninsns,
					     .line = prog->line,
					     .line_ctx = prog->line_ctx };
	struct asm_refusal refusal = { .insn = -1 };
	char *text = NULL, *tail;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	long insn;

	if (!out)
		return NULL;
	tail = rp_verifier_log_tail(log, tail_lines, &insn);
	*located = false;
	if (!asm_refusal_explain(&refused, &refusal)) {
		*located = refusal.at != NULL;
		put_lines(out, "at ", "", refusal.at);
		put_refusal(out, &refusal);
		asm_refusal_free(&refusal);
	}
	if (tail)
		fprintf(out, "\nthe verifier's last words:\n%s", tail);
	free(tail);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}
