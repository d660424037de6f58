/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The verifier's log, line by line. What it looks like was taken down from Linux 5.4 to 6.18:
 *
 *	0: R1=ctx() R10=fp0			the frame at the start
 *	; MOV_REG(R6, R1) @ cpu.c:79		the source of what follows
 *	0: (bf) r6 = r1   ; R1=ctx() R6=ctx()	an instruction, and what it used or changed
 *	5: R0=scalar()				the same when something was printed in between
 *	3: (15) if r0 == 0x0 goto pc+2 6: R0=0	level 1, where the path is cut out between the two
 *	from 3 to 6: R0=0 R10=fp0		the other branch, its whole frame
 *	6: safe, from 3 to 6: safe		a state that was seen before
 *	caller:, callee:, to caller at 4:	frames follow, each on a line behind a blank
 *
 * Behind the last of them stands what is wrong, if something is, and then the statistics.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "walk.h"

struct parser {
	struct reader reader;
	/* The lines that were not understood, since the last that was. */
	const char *odd, *odd_end;
	bool explained;	 /* what follows are the kernel's reasons */
	bool whole_next; /* the next frame is all of it */
	const char *source, *file;
	uint32_t source_line;
	const char *source_at; /* the line that these were copied from, NULL: none yet */
	const char *source_end;
};

/* ---- pieces of a line */

static bool begins(const char *line, const char *end, const char *with)
{
	const size_t n = strlen(with);

	return (size_t)(end - line) >= n && !memcmp(line, with, n);
}

static bool take_number(const char **at, const char *end, uint32_t *out)
{
	const char *p = *at;
	uint64_t n = 0;

	while (p < end && isdigit((unsigned char)*p) && n <= UINT32_MAX)
		n = n * 10 + (uint64_t)(*p++ - '0');
	if (p == *at || n > UINT32_MAX)
		return false;
	*out = (uint32_t)n;
	*at = p;
	return true;
}

static bool take(const char **at, const char *end, const char *what)
{
	if (!begins(*at, end, what))
		return false;
	*at += strlen(what);
	return true;
}

static const char *find(const char *at, const char *end, const char *what)
{
	const size_t n = strlen(what);

	for (; (size_t)(end - at) >= n && at < end; at++)
		if (!memcmp(at, what, n))
			return at;
	return NULL;
}

static const char *trim(const char *at, const char *end)
{
	while (end > at && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	return end;
}

/* "R3", "R3_w", "fp-8", "frame1:": a frame may follow. */
static bool is_frame(const char *at, const char *end)
{
	while (at < end && *at == ' ')
		at++;
	return begins(at, end, "frame") || begins(at, end, "fp-") ||
	       (end - at > 2 && *at == 'R' && isdigit((unsigned char)at[1]) &&
		find(at, end - at > 12 ? at + 12 : end, "="));
}

static char *copy(struct parser *p, const char *at, const char *end)
{
	const size_t len = (size_t)(end - at);
	char *text = asm_arena_alloc(&p->reader.arena, len + 1);

	if (!text)
		p->reader.no_memory = true;
	else if (len)
		memcpy(text, at, len);
	return text;
}

/* ---- instructions */

/* "; MOV_REG(R6, R1) @ cpu.c:79"; before Linux 6.10 without what stands behind the text. */
static void take_source(struct parser *p, const char *line, const char *end)
{
	p->source_at = line + 1;
	p->source_end = trim(line, end);
}

static void read_source(struct parser *p)
{
	const char *at = p->source_at, *end = p->source_end, *place = NULL, *colon;

	while (at < end && *at == ' ')
		at++;
	for (const char *next = at; (next = find(next, end, " @ ")); next += 3)
		place = next;
	p->source = copy(p, at, place ? place : end);
	p->file = NULL;
	p->source_line = 0;
	p->source_at = NULL;
	if (!place)
		return;
	place += 3;
	for (colon = end; colon > place && colon[-1] != ':'; colon--)
		;
	if (colon > place && take_number(&colon, end, &p->source_line)) {
		while (colon > place && isdigit((unsigned char)colon[-1]))
			colon--;
		p->file = copy(p, place, colon - 1);
	}
}

/* "(85) call bpf_loop#181": the number, or -1. */
static int32_t helper_of(const char *text, const char *end)
{
	const char *number = find(text, end, "#");
	uint32_t helper;

	if (!number)
		return -1;
	number++;
	if (!take_number(&number, end, &helper) || helper > INT32_MAX)
		return -1;
	return (int32_t)helper;
}

/* The opcode of "(bf) r6 = r1", or -1. */
static int code_of(const char *text, const char *end)
{
	unsigned int code = 0;

	if (end - text < 4 || text[0] != '(' || text[3] != ')')
		return -1;
	for (int i = 1; i < 3; i++) {
		if (!isxdigit((unsigned char)text[i]))
			return -1;
		code = code * 16 + (isdigit((unsigned char)text[i])
					    ? (unsigned int)(text[i] - '0')
					    : (unsigned int)((text[i] | 32) - 'a' + 10));
	}
	return (int)code;
}

/* The register that "(bf) r6 = r1" or "(85) call bpf_loop#181" writes, or -1. */
static int written_by(const char *text, const char *end)
{
	const char *at = text + 5;
	uint32_t reg;

	if (end - text < 8 || code_of(text, end) < 0)
		return -1;
	if (code_of(text, end) == (BPF_JMP | BPF_CALL))
		return 0;
	if ((*at != 'r' && *at != 'w') || !isdigit((unsigned char)at[1]))
		return -1;
	at++;
	return take_number(&at, end, &reg) && reg < FRAME_REGS ? (int)reg : -1;
}

/* Where the frame begins that level 1 leaves behind an instruction: " 3: R1=ctx()", or NULL. */
static const char *cut_out(const char *text, const char *end)
{
	for (const char *at = text; (at = find(at, end, ": ")); at += 2) {
		const char *number = at;

		while (number > text && isdigit((unsigned char)number[-1]))
			number--;
		if (number < at && number > text && number[-1] == ' ' && is_frame(at + 2, end))
			return number;
	}
	return NULL;
}

static void insn_line(struct parser *p, uint32_t insn, const char *text, const char *end)
{
	struct asm_vlog_insn *met = asm_vlog_reader_meet(&p->reader, insn);
	const char *state = find(text, end, ";"), *cut = state ? NULL : cut_out(text, end);
	const char *text_end = trim(text, state ? state : cut ? cut : end);

	if (!met)
		return;
	asm_vlog_reader_visit(&p->reader, insn, (uint8_t)code_of(text, end),
			      written_by(text, text_end), helper_of(text, text_end));
	met = asm_vlog_reader_meet(&p->reader, insn);
	if (met && !met->text)
		met->text = copy(p, text, text_end);
	if (p->source_at)
		read_source(p);
	if (met && !met->source) {
		met->source = p->source;
		met->file = p->file;
		met->line = p->source_line;
	}
	if (state)
		asm_vlog_reader_state(&p->reader, STATE_USED, state + 1, end);
	if (cut)
		asm_vlog_reader_state(&p->reader, STATE_WHOLE, find(cut, end, ":") + 1, end);
}

/* "12: R0=scalar()": what the last instruction changed, or where level 1 goes on with a branch. */
static void state_line(struct parser *p, uint32_t insn, const char *text, const char *end)
{
	struct reader *r = &p->reader;
	const bool other_branch = is_conditional(r->code) && r->current >= 0 &&
				  (int64_t)insn != r->current && (int64_t)insn != r->current + 1;
	const bool whole = p->whole_next || r->prev < 0 || other_branch;

	if (asm_vlog_reader_meet(r, insn))
		asm_vlog_reader_state(r, whole ? STATE_WHOLE : STATE_CHANGED, text, end);
	p->whole_next = false;
}

/* "     12: .1....6... (bf) r6 = r1" in the table of live registers. */
static bool live_line(struct parser *p, uint32_t insn, const char *text, const char *end)
{
	struct asm_vlog_insn *met;

	if (end - text < 12 || text[FRAME_REGS - 1] != ' ' || code_of(text + FRAME_REGS, end) < 0)
		return false;
	for (int i = 0; i < FRAME_REGS - 1; i++)
		if (text[i] != '.' && text[i] != '0' + i)
			return false;
	met = asm_vlog_reader_meet(&p->reader, insn);
	if (met && !met->live)
		met->live = copy(p, text, text + FRAME_REGS - 1);
	if (met && !met->text)
		met->text = copy(p, text + FRAME_REGS, trim(text, end));
	return true;
}

/* Lines that begin with a number and a colon. */
static bool numbered_line(struct parser *p, const char *line, const char *end)
{
	const char *at = line;
	uint32_t insn;

	while (at < end && *at == ' ')
		at++;
	if (!take_number(&at, end, &insn))
		return false;
	/* In the table of live registers the number of a loop may stand in front. */
	if (*line == ' ' && at < end && *at == ' ') {
		while (at < end && *at == ' ')
			at++;
		if (!take_number(&at, end, &insn))
			return false;
	}
	if (!take(&at, end, ":"))
		return false;
	while (at < end && *at == ' ')
		at++;
	if (*line == ' ')
		return live_line(p, insn, at, end);
	if (code_of(at, end) >= 0)
		insn_line(p, insn, at, end);
	else if (is_frame(at, end))
		state_line(p, insn, at, end);
	else if (begins(at, end, "safe"))
		asm_vlog_reader_prune(&p->reader, insn, true);
	else
		return false;
	return true;
}

/* ---- other lines */

/* "from 3 to 40: R0=0", "from 3 to 40 (speculative execution): safe" */
static bool branch_line(struct parser *p, const char *line, const char *end)
{
	const char *at = line;
	uint32_t from, to;
	bool speculative;

	if (!take(&at, end, "from ") || !take_number(&at, end, &from) || !take(&at, end, " to ") ||
	    !take_number(&at, end, &to))
		return false;
	speculative = take(&at, end, " (speculative execution)");
	if (!take(&at, end, ":"))
		return false;
	asm_vlog_reader_branch(&p->reader, from, to, speculative);
	if (begins(at, end, " safe"))
		asm_vlog_reader_prune(&p->reader, to, false);
	else if (is_frame(at, end))
		asm_vlog_reader_state(&p->reader, STATE_WHOLE, at, end);
	else
		p->whole_next = true;
	return true;
}

static void statistics(struct parser *p, const char *line, const char *end)
{
	struct asm_vlog *log = p->reader.log;
	const struct {
		const char *word;
		uint64_t *number;
	} words[] = {
		{ "processed ", &log->processed },
		{ "max_states_per_insn ", &log->max_states_per_insn },
		{ "total_states ", &log->total_states },
		{ "peak_states ", &log->peak_states },
		{ "verification time ", &log->usec },
	};
	const char *depth = line;
	uint32_t number;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const char *at = find(line, end, words[i].word);

		if (at && (at += strlen(words[i].word)) && take_number(&at, end, &number))
			*words[i].number = number;
	}
	if (take(&depth, end, "stack depth ") && !log->stack_depth)
		log->stack_depth = copy(p, depth, trim(depth, end));
}

/* Lines that tell how the verifier works, not what it found; and those that open others. */
static bool is_talk(const char *line, const char *end)
{
	static const char *const talk[] = { "func#",	 "Live regs before", "mark_precise:",
					    "SCC ",	 "propagating ",     "last_idx ",
					    "regs=",	 "parent ",	     "func '",
					    "Func#",	 "Validating ",	     "cur state:",
					    "old state:" };
	const char *at = line;
	uint32_t n;

	for (size_t i = 0; i < sizeof(talk) / sizeof(talk[0]); i++)
		if (begins(line, end, talk[i]))
			return true;
	if (take(&at, end, "frame") && (take(&at, end, " "), take_number(&at, end, &n)))
		return true;
	/* "(0) frame 0 insn 24 +live -8", "(12,18) live stack update done" */
	at = line;
	return take(&at, end, "(") && take_number(&at, end, &n) &&
	       (take(&at, end, ",") || take(&at, end, ")"));
}

/* Frames of subprograms stand below these words. */
static bool frame_heading(struct parser *p, const char *line, const char *end)
{
	if (begins(line, end, "caller:") || begins(line, end, "returning from callee:")) {
		p->whole_next = false;
		return true;
	}
	if (begins(line, end, "callee:") || begins(line, end, "to caller at ")) {
		p->whole_next = true;
		return true;
	}
	return false;
}

/* A message may lack its end of line: "expected prog array map for tail callprocessed 3 insns". */
static const char *cut_statistics(struct parser *p, const char *line, const char *end)
{
	for (const char *at = line; (at = find(at, end, "processed ")); at++) {
		const char *number = at + strlen("processed ");
		uint32_t n;

		if (at > line && take_number(&number, end, &n) && begins(number, end, " insns (")) {
			statistics(p, at, end);
			return at;
		}
	}
	return end;
}

static void odd_line(struct parser *p, const char *line, const char *end)
{
	end = cut_statistics(p, line, end);
	if (!p->odd)
		p->odd = line;
	p->odd_end = end;
}

static void parse_line(struct parser *p, const char *line, const char *end)
{
	const char *was = p->odd;

	/* Linux 7.3 and later: reasons, which may quote lines of the log. */
	p->explained |= begins(line, end, "Verification failed:");
	if (p->explained && line != end && !begins(line, end, "processed ")) {
		odd_line(p, line, end);
		return;
	}
	p->odd = NULL;
	if (line == end || numbered_line(p, line, end) || branch_line(p, line, end) ||
	    frame_heading(p, line, end)) {
		/* A blank line may stand within a message. */
		if (line == end)
			p->odd = was;
	} else if (*line == ';') {
		take_source(p, line, end);
		p->odd = was;
	} else if (*line == ' ' && is_frame(line, end)) {
		asm_vlog_reader_state(&p->reader, p->whole_next ? STATE_WHOLE : STATE_CHANGED, line,
				      end);
		p->whole_next = false;
	} else {
		p->odd = was;
		if (begins(line, end, "processed ") || begins(line, end, "verification time ") ||
		    begins(line, end, "stack depth "))
			statistics(p, line, end);
		else if (!is_talk(line, end))
			odd_line(p, line, end);
		else if (p->reader.walk)
			asm_walk_talk(&p->reader, line, end);
	}
}

/* What libbpf and bpftool write around a log is none of it: *beyond, from its end to the next. */
static bool is_loaders(const char *line, const char *end, bool *beyond)
{
	static const char last[] = "-- END PROG LOAD LOG --", first[] = "-- BEGIN PROG LOAD LOG --";

	if (begins(line, end, last))
		*beyond = true;
	if (!begins(line, end, "libbpf: ") && !begins(line, end, first))
		return *beyond;
	if (memmem(line, (size_t)(end - line), first, sizeof(first) - 1))
		*beyond = false;
	return true;
}

void asm_vlog_read(struct reader *reader, const char *text)
{
	struct parser p = { .reader = *reader };
	bool beyond = false;

	while (*text && !p.reader.no_memory) {
		const char *end = strchrnul(text, '\n');

		if (!is_loaders(text, end, &beyond))
			parse_line(&p, text, end);
		text = *end ? end + 1 : end;
	}
	if (p.odd)
		p.reader.log->message = copy(&p, p.odd, p.odd_end);
	*reader = p.reader;
}

int asm_vlog_parse(const char *text, struct asm_vlog *out)
{
	struct asm_vlog log = { 0 };
	struct reader reader = { .log = &log, .prev = -1, .current = -1 };

	asm_vlog_read(&reader, text);
	if (!reader.no_memory)
		asm_vlog_reader_finish(&reader);
	asm_vlog_reader_free(&reader);
	asm_vlog_values_free(&reader.values);
	log.arena = reader.arena;
	if (reader.no_memory) {
		asm_vlog_free(&log);
		return -ENOMEM;
	}
	*out = log;
	return 0;
}

void asm_vlog_free(struct asm_vlog *log)
{
	free(log->insns);
	asm_arena_free(log->arena);
	*log = (struct asm_vlog){ 0 };
}
