/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A refusal in a person's words: which line, what the verifier complains of, where that came from,
 * and what to do. The verifier's own words always stay beside ours.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "refusal.h"

/* ---- messages against patterns */

static bool capture(struct matched *m, const char *at, const char *end)
{
	if (m->n == MAX_MATCHED)
		return false;
	m->at[m->n] = at;
	m->len[m->n++] = (size_t)(end - at);
	return true;
}

static bool match(const char *pattern, const char *text, struct matched *m);

/* The rest matches behind one of the ends that the captured text may have, the nearest. */
static bool match_any(const char *pattern, const char *text, struct matched *m, bool keep,
		      const char *stops)
{
	const char *end = text;

	for (;; end++) {
		struct matched tried = *m;

		if ((!keep || capture(&tried, text, end)) && match(pattern, end, &tried)) {
			*m = tried;
			return true;
		}
		if (!*end || *end == '\n' || strchr(stops, *end))
			return false;
	}
}

static bool match_number(const char *pattern, const char *text, struct matched *m, bool reg)
{
	const char *at = reg ? text + 1 : text;
	char *end;
	const long long number = strtoll(at, &end, 0);

	if (reg ? *text != 'R' || !isdigit((unsigned char)*at)
		: !isdigit((unsigned char)*at) && (*at != '-' || !isdigit((unsigned char)at[1])))
		return false;
	if (!capture(m, at, end))
		return false;
	if (!reg)
		m->number[m->numbers++] = number;
	else if (m->reg < 0)
		m->reg = number <= 10 ? (int)number : -1;
	return match(pattern, end, m);
}

/* Does the text begin with the pattern, up to the end of the line? */
static bool match(const char *pattern, const char *text, struct matched *m)
{
	for (; *pattern; pattern++, text++) {
		if (*pattern == '*')
			return match_any(pattern + 1, text, m, false, "");
		if (*pattern == '%') {
			switch (*++pattern) {
			case 'c':
				return *text == 'R' && text[1] >= '1' && text[1] <= '5' &&
				       match_number(pattern + 1, text, m, true);
			case 'r':
				return match_number(pattern + 1, text, m, true);
			case 'n':
				return match_number(pattern + 1, text, m, false);
			case 'w':
				return match_any(pattern + 1, text, m, true, " ,;)'");
			default:
				return match_any(pattern + 1, text, m, true, "");
			}
		}
		if (*pattern != *text)
			return false;
	}
	return true;
}

/* At the end of a pattern, what it captured last shall be all of the word or line. */
static void lengthen(const char *pattern, struct matched *m)
{
	const size_t n = strlen(pattern);
	const char *stops =
		n > 1 && pattern[n - 2] == '%' && pattern[n - 1] == 'w' ? " ,;)'\n" : "\n";

	if (m->n && n > 1 && pattern[n - 2] == '%' && strchr("w*", pattern[n - 1]))
		m->len[m->n - 1] = strcspn(m->at[m->n - 1], stops);
}

/* "(7b) *(u64 *)(r1 +0) = r2", "(db) lock *(u64 *)(r1 +0) += r2" */
static bool is_store(const char *text)
{
	return strlen(text) > 5 && (!strncmp(text + 5, "*(", 2) || !strncmp(text + 5, "lock ", 5) ||
				    !strncmp(text + 5, "store_", 6));
}

/*
 * "*(u64 *)(r2 +8)": the register that memory is reached through; where that is the stack, which
 * needs no explanation, the last one, and that of "r1 += r2".
 */
static int operand(const char *text)
{
	const char *at = text ? strstr(text, ")(r") : NULL;
	int reg = -1;

	if (at && atoi(at + 3) != 10)
		return atoi(at + 3);
	for (at = text; at && (at = strstr(at, " r")); at += 2)
		if (isdigit((unsigned char)at[2]))
			reg = atoi(at + 2);
	return reg;
}

/* Does what the row asks of the path hold? */
static bool applies(const struct explaining *e, enum when when, int reg)
{
	const struct asm_vlog *log = e->log;
	const char *text = NULL;

	if (log->npath)
		text = asm_refusal_insn_text(e, log->path[log->npath - 1].insn);
	switch (when) {
	case WHEN_ALWAYS:
		return true;
	case WHEN_AT_EXIT:
		return text && strstr(text, ") exit");
	case WHEN_STORE:
		return text && is_store(text);
	case WHEN_DESTROYED:
		return asm_refusal_is_destroyed(e, reg);
	case WHEN_LOADED:
		return asm_refusal_is_loaded(e, reg);
	case WHEN_CALL:
		return text && !strncmp(text, "(85)", 4);
	case WHEN_SUBTRACTS:
		return text && strstr(text, " -= r");
	case WHEN_INDEXED:
		return asm_refusal_is_indexed(e, operand(text));
	}
	return false;
}

static const struct known_message *find_message(const struct explaining *e, const char *message,
						struct matched *m)
{
	for (const char *line = message; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		for (const struct known_message *k = asm_refusal_messages; k->pattern; k++) {
			*m = (struct matched){ .reg = -1 };
			if (match(k->pattern, line, m) && applies(e, k->when, m->reg)) {
				lengthen(k->pattern, m);
				if (m->reg < 0 && line[0] == 'R' && isdigit((unsigned char)line[1]))
					m->reg = line[1] - '0';
				return k;
			}
		}
	}
	return NULL;
}

const char *asm_refusal_pattern(size_t i)
{
	for (const struct known_message *k = asm_refusal_messages; k->pattern; k++)
		if (!i--)
			return k->pattern;
	return NULL;
}

/* ---- names of things */

const char *asm_refusal_insn_text(const struct explaining *e, uint32_t insn)
{
	return insn < e->log->ninsns ? e->log->insns[insn].text : NULL;
}

const char *asm_refusal_name_insn(struct explaining *e, uint32_t insn)
{
	const struct asm_refused *r = e->refused;
	const struct asm_vlog_insn *met =
		insn < e->log->ninsns ? &e->log->insns[insn] : &(struct asm_vlog_insn){ 0 };
	const char *line = NULL, *name;

	if (r->line && insn < r->ninsns)
		line = r->line(r->line_ctx, insn);
	if (line)
		name = asm_arena_printf(&e->arena, "%s", line);
	else if (met->source && met->file)
		name = asm_arena_printf(&e->arena, "%s:%" PRIu32 ": %s", met->file, met->line,
					met->source);
	else if (met->text)
		name = asm_arena_printf(&e->arena, "instruction %" PRIu32 ": %s", insn, met->text);
	else
		name = asm_arena_printf(&e->arena, "instruction %" PRIu32, insn);
	return name ? name : "";
}

void asm_refusal_add_fact(struct explaining *e, const char *fmt, ...)
{
	const size_t capacity = sizeof(e->facts.at) - e->facts.used;
	va_list args;
	int n;

	if (capacity < 2)
		return;
	if (e->facts.used)
		e->facts.at[e->facts.used++] = '\n';
	va_start(args, fmt);
	n = vsnprintf(e->facts.at + e->facts.used, capacity - 1, fmt, args);
	va_end(args);
	if (n > 0)
		e->facts.used += (size_t)n < capacity - 1 ? (size_t)n : capacity - 2;
}

static const char *value_of(const struct explaining *e, int reg)
{
	for (uint32_t i = 0; i < e->log->nlast; i++)
		if (e->log->last[i].where == reg)
			return strcmp(e->log->last[i].text, "scalar") ? e->log->last[i].text
								      : "any number";
	return "not readable";
}

int asm_refusal_map_argument(const struct explaining *e)
{
	for (uint32_t i = 0; i < e->log->nlast; i++)
		if (e->log->last[i].where >= 1 && e->log->last[i].where <= 5 &&
		    !strncmp(e->log->last[i].text, "map_ptr", 7))
			return e->log->last[i].where;
	return -1;
}

/* ---- what was never written */

static bool byte_written(const struct explaining *e, int64_t byte)
{
	for (uint32_t i = 0; i < e->log->nlast; i++) {
		const struct asm_vlog_value *v = &e->log->last[i];
		/* Letters stand for the highest address first. */
		const int64_t letter = v->where + 7 - byte;

		if (v->where >= 0 || letter < 0 || letter > 7)
			continue;
		return letter >= (int64_t)strlen(v->text) || v->text[letter] != '?';
	}
	return false;
}

static void tell_unwritten(struct explaining *e, int64_t off, int64_t size)
{
	const int64_t end = off + size < 0 ? off + size : 0;

	if (off < -ASM_STACK_SIZE || size <= 0 || size > 2 * ASM_STACK_SIZE)
		return;
	if (off + size > 0)
		asm_refusal_add_fact(e,
				     "of the %" PRId64 " bytes from R10%+" PRId64 " on, %" PRId64
				     " are above the frame",
				     size, off, off + size - (off > 0 ? off : 0));
	for (int64_t byte = off; byte < end; byte++) {
		const int64_t first = byte;

		while (byte < end && !byte_written(e, byte))
			byte++;
		if (byte > first)
			asm_refusal_add_fact(
				e, "R10%+" PRId64 " to R10%+" PRId64 " were never written", first,
				byte - 1);
	}
}

/* ---- sentences */

/* "call bpf_get_stackid#27": the name. */
static const char *called(struct explaining *e, int64_t insn)
{
	const char *text = insn >= 0 ? asm_refusal_insn_text(e, (uint32_t)insn) : NULL;
	const char *name = text ? strstr(text, "call ") : NULL;
	const char *copy = NULL;

	if (name && strncmp(name + 5, "pc", 2) != 0)
		copy = asm_arena_printf(&e->arena, "%.*s", (int)strcspn(name + 5, "#"), name + 5);
	return copy ? copy : "the call";
}

/* "R2 (any number)"; of "r1 += 8" the number alone is there, and said by the message. */
static const char *name_operand(struct explaining *e, int64_t insn)
{
	const int reg = operand(insn >= 0 ? asm_refusal_insn_text(e, (uint32_t)insn) : NULL);

	if (reg < 0)
		return "a number";
	return asm_arena_printf(&e->arena, "R%d (%s)", reg, value_of(e, reg));
}

static const char *fill_in(struct explaining *e, const char *sentence, const struct matched *m,
			   int64_t insn)
{
	char text[1000];
	size_t used = 0;

	for (const char *at = sentence; *at && used < sizeof(text) - 1;) {
		const char *put = at;
		size_t len = 1;

		if (*at == '{' && at[1] && at[2] == '}') {
			put = "";
			if (at[1] == 'v')
				put = value_of(e, m->reg);
			else if (at[1] == 'o')
				put = name_operand(e, insn);
			else if (at[1] == 'f')
				put = called(e, insn);
			else if (at[1] == 'r' && m->reg >= 0)
				put = asm_arena_printf(&e->arena, "%d", m->reg);
			len = put ? strlen(put) : 0;
			if (isdigit((unsigned char)at[1]) && at[1] - '1' < m->n && at[1] > '0') {
				put = m->at[at[1] - '1'];
				len = m->len[at[1] - '1'];
			}
			at += 2;
		}
		at++;
		len = len < sizeof(text) - 1 - used ? len : sizeof(text) - 1 - used;
		if (len)
			memcpy(text + used, put, len);
		used += len;
	}
	text[used] = '\0';
	return asm_arena_printf(&e->arena, "%s", text);
}

/* By what, and by which comparison with 0 this path knows that it is there. */
static void tell_acquired(struct explaining *e, uint32_t insn)
{
	const struct asm_vlog_step *path = e->log->path;
	size_t at = e->log->npath;

	asm_refusal_add_fact(e, "it was acquired by %s", asm_refusal_name_insn(e, insn));
	while (at && path[at - 1].insn != insn)
		at--;
	for (; at && at < e->log->npath; at++) {
		const char *text = asm_refusal_insn_text(e, path[at].insn);

		if (text && (strstr(text, " == 0x0 goto") || strstr(text, " != 0x0 goto"))) {
			asm_refusal_add_fact(e, "it is held from %s on",
					     asm_refusal_name_insn(e, path[at].insn));
			return;
		}
	}
}

static void tell_past(struct explaining *e, const struct known_message *k, const struct matched *m,
		      const struct asm_refusal *out)
{
	switch (k->trace) {
	case TRACE_NONE:
	case TRACE_PLACE:
	case TRACE_NOWHERE:
	case TRACE_END:
	case TRACE_MIDDLE:
	case TRACE_UNREACHABLE:
	case TRACE_OPCODE:
	case TRACE_DESCRIPTOR:
	case TRACE_FRAMES:
		break;
	case TRACE_MAP:
		asm_refusal_trace_value(e, asm_refusal_map_argument(e));
		break;
	case TRACE_SIZE:
		asm_refusal_trace_value(e, m->reg);
		if (m->reg >= 1 && m->reg < 5)
			asm_refusal_trace_value(e, m->reg + 1);
		break;
	case TRACE_VALUE:
		if (m->reg >= 0)
			asm_refusal_trace_value(e, m->reg);
		break;
	case TRACE_OPERAND:
		if (out->insn >= 0)
			asm_refusal_trace_value(
				e, operand(asm_refusal_insn_text(e, (uint32_t)out->insn)));
		break;
	case TRACE_READ:
		if (m->reg >= 0)
			asm_refusal_trace_unreadable(e, m->reg);
		break;
	case TRACE_FRAME:
		if (m->numbers >= 2)
			tell_unwritten(e, m->number[0], m->number[m->numbers - 1]);
		if (m->reg >= 0)
			asm_refusal_trace_value(e, m->reg);
		break;
	case TRACE_ACQUIRED:
		if (m->numbers >= 2 && m->number[1] >= 0 && m->number[1] < UINT32_MAX)
			tell_acquired(e, (uint32_t)m->number[1]);
		break;
	}
}

static void explain(struct explaining *e, struct asm_refusal *out)
{
	struct matched m;
	const struct known_message *k = find_message(e, out->message, &m);
	const char *in_c;

	if (!k || strstr(out->message, "Verification failed:"))
		return;
	if (k->trace == TRACE_PLACE && m.numbers && m.number[0] >= 0 && m.number[0] < UINT32_MAX)
		out->insn = m.number[0];
	if (k->trace == TRACE_NOWHERE)
		out->insn = -1;
	if (k->trace >= TRACE_END)
		out->insn = asm_refusal_find_line(e, k, &m);
	tell_past(e, k, &m, out);
	out->why = fill_in(e, k->why, &m, out->insn);
	in_c = asm_refusal_in_c(e, k->pattern, out->insn);
	out->advice = fill_in(e, in_c ? in_c : k->advice, &m, out->insn);
	if (e->facts.used)
		out->history = asm_arena_printf(&e->arena, "%s", e->facts.at);
}

int asm_refusal_explain(const struct asm_refused *refused, struct asm_refusal *out)
{
	struct asm_vlog log;
	struct explaining e = { .refused = refused, .log = &log };
	struct asm_refusal refusal = { .insn = -1 };
	int err = asm_vlog_parse(refused->log, &log);

	if (err)
		return err;
	err = log.message ? 0 : -ENOENT;
	if (!err) {
		refusal.message = asm_arena_printf(&e.arena, "%s", log.message);
		if (!refusal.message)
			err = -ENOMEM;
	}
	if (!err) {
		if (log.npath)
			refusal.insn = log.path[log.npath - 1].insn;
		explain(&e, &refusal);
		if (refusal.insn >= 0)
			refusal.at = asm_refusal_name_insn(&e, (uint32_t)refusal.insn);
		refusal.arena = e.arena;
		*out = refusal;
	} else {
		asm_arena_free(e.arena);
	}
	asm_vlog_free(&log);
	return err;
}

void asm_refusal_free(struct asm_refusal *refusal)
{
	asm_arena_free(refusal->arena);
	*refusal = (struct asm_refusal){ 0 };
}
