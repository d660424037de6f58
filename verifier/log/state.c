/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The frame as the verifier sees it, followed along its path and collected by instruction.
 *
 * After an instruction the kernel prints only what that read or wrote. What it changes without a
 * word is done here: a call takes R0-R5 away, a comparison of one register tells about all that are
 * known to be equal, giving a record away makes numbers of the pointers to it. Where a path begins
 * ("from 3 to 40: ...") the whole frame is printed, so nothing wrong is carried on for long.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "walk.h"

enum { MAX_INSNS = 1000000, LONGEST_VALUE = 2000 };
enum { SK_RELEASE = 86, RINGBUF_SUBMIT = 132, RINGBUF_DISCARD = 133 };

/* ---- growing */

static bool make_room(void **array, uint32_t *capacity, uint32_t need, size_t size)
{
	uint32_t more = *capacity ? *capacity : 8;
	void *bigger;

	if (need <= *capacity)
		return true;
	while (more < need)
		more *= 2;
	bigger = realloc(*array, more * size);
	if (!bigger)
		return false;
	memset((char *)bigger + *capacity * size, 0, (more - *capacity) * size);
	*array = bigger;
	*capacity = more;
	return true;
}

struct asm_vlog_insn *asm_vlog_reader_meet(struct reader *r, uint32_t insn)
{
	uint32_t met_capacity = r->capacity;

	if (insn >= MAX_INSNS || r->no_memory)
		return NULL;
	if (!make_room((void **)&r->met, &met_capacity, insn + 1, sizeof(*r->met)) ||
	    !make_room((void **)&r->log->insns, &r->capacity, insn + 1, sizeof(*r->log->insns))) {
		r->no_memory = true;
		return NULL;
	}
	if (insn >= r->log->ninsns)
		r->log->ninsns = insn + 1;
	return &r->log->insns[insn];
}

/* ---- collecting */

static void collect(struct reader *r, struct joins *joins, uint32_t place, uint32_t number)
{
	const int where = where_of(place);
	struct join *join = NULL;

	for (uint32_t i = 0; i < joins->n && !join; i++)
		if (joins->all[i].where == where)
			join = &joins->all[i];
	if (!join) {
		if (!make_room((void **)&joins->all, &joins->capacity, joins->n + 1,
			       sizeof(*joins->all))) {
			r->no_memory = true;
			return;
		}
		join = &joins->all[joins->n++];
		*join = (struct join){ .where = where };
	}
	asm_vlog_join_add(join, &r->values, number);
}

static void collect_before(struct reader *r, uint32_t insn)
{
	struct met *met = &r->met[insn];
	const struct frame *frame = &r->frames[r->frame];

	met->states++;
	for (uint32_t i = 0; i < FRAME_PLACES; i++)
		if (frame->at[i])
			collect(r, &met->before, i, frame->at[i]);
}

static void collect_edge(struct reader *r, struct edges *edges)
{
	const uint32_t from = (uint32_t)r->prev;
	uint32_t i;

	if (r->prev < 0)
		return;
	for (i = edges->n; i && edges->from[i - 1] > from; i--)
		;
	if (i && edges->from[i - 1] == from)
		return;
	if (!make_room((void **)&edges->from, &edges->capacity, edges->n + 1,
		       sizeof(*edges->from))) {
		r->no_memory = true;
		return;
	}
	memmove(edges->from + i + 1, edges->from + i, (edges->n - i) * sizeof(*edges->from));
	edges->from[i] = from;
	edges->n++;
}

static void collect_written(struct reader *r, uint32_t place, uint32_t number)
{
	const char *bytes = r->values.all[number].bytes;
	unsigned char *written = &r->log->written[8 * (place - FRAME_REGS)];
	const size_t letters = strlen(bytes);

	for (size_t i = 0; i < 8; i++)
		written[i] |= i >= letters || bytes[i] != '?';
}

/* ---- what instructions do to the frame */

/* The record or socket in R1 is given away: what else points to it is a number from now on. */
static void release(struct reader *r)
{
	struct frame *frame = &r->frames[r->frame];
	const uint32_t ref = r->values.all ? r->values.all[frame->at[1]].ref : 0;

	for (uint32_t i = 0; ref && i < FRAME_PLACES; i++)
		if (r->values.all[frame->at[i]].ref == ref)
			frame->at[i] =
				asm_vlog_value_intern(&r->values, &r->arena, "scalar()", 8, false);
}

/*
 * Every call takes its arguments away; what it returns is printed. Not before the next line has
 * come, which may say that the call is refused, for its arguments.
 */
static void settle_call(struct reader *r)
{
	if (!r->calling)
		return;
	if (r->helper == RINGBUF_SUBMIT || r->helper == RINGBUF_DISCARD || r->helper == SK_RELEASE)
		release(r);
	memset(r->frames[r->frame].at, 0, 6 * sizeof(uint32_t));
	r->calling = false;
}

/* The kernel does so with numbers in registers only where they are needed, if it says where. */
static bool learns(const struct reader *r, const struct value *v, uint32_t insn, uint32_t place)
{
	const char *live = insn < r->log->ninsns ? r->log->insns[insn].live : NULL;

	return v->kind != VALUE_NUMBER || place >= FRAME_REGS - 1 || !live || live[place] != '.';
}

void asm_vlog_reader_tell_equals(struct reader *r, uint32_t insn, uint32_t from, uint32_t to)
{
	const struct value *all = r->values.all;
	const uint32_t id = all[from].id;

	for (uint32_t f = 0; id && f <= r->frame; f++)
		for (uint32_t i = 0; i < FRAME_PLACES; i++) {
			uint32_t *place = &r->frames[f].at[i];
			const struct value *v = &all[*place];

			if (v->id == id && v->kind == all[from].kind &&
			    v->or_null == all[from].or_null && !*v->bytes &&
			    (f < r->frame || learns(r, v, insn, i)))
				*place = to;
		}
}

/* ---- texts of registers and slots */

struct token {
	const char *at, *value, *end;
	bool is_frame;
	uint32_t number; /* of the frame, or the place */
};

/* Words are separated by blanks outside of parentheses: "R1=ctx()", "fp-8=0", "frame1:". */
static bool next_word(const char **at, const char *end, struct token *t)
{
	const char *p = *at;
	int depth = 0;

	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	if (p >= end)
		return false;
	t->at = p;
	for (; p < end && (depth || (*p != ' ' && *p != '\t')); p++)
		depth += *p == '(' ? 1 : *p == ')' ? -1 : 0;
	t->end = p;
	*at = p;
	return true;
}

static bool read_digits(const char **at, const char *end, uint32_t *out)
{
	const char *p = *at;
	uint32_t n = 0;

	while (p < end && isdigit((unsigned char)*p) && n < 100000)
		n = n * 10 + (uint32_t)(*p++ - '0');
	if (p == *at)
		return false;
	*at = p;
	*out = n;
	return true;
}

/* Is the word one that says something of the frame? Between name and '=' older kernels write marks
 * of liveness: "R1_w=ctx". */
static bool read_word(struct token *t)
{
	const char *p = t->at;
	uint32_t n;
	bool slot = false;

	t->is_frame = t->end - p > 5 && !memcmp(p, "frame", 5);
	if (t->is_frame)
		p += 5;
	else if (t->end - p > 3 && !memcmp(p, "fp-", 3))
		slot = true, p += 3;
	else if (*p++ != 'R')
		return false;
	if (!read_digits(&p, t->end, &n))
		return false;
	if (t->is_frame) {
		t->number = n;
		return p < t->end && *p == ':' && n < MAX_FRAMES;
	}
	if (slot ? !n || n % 8 || n > ASM_STACK_SIZE : n >= FRAME_REGS)
		return false;
	t->number = slot ? FRAME_REGS + n / 8 - 1 : n;
	if (p < t->end && *p == '_')
		while (p < t->end && *p != '=')
			p++;
	t->value = p + 1;
	return p < t->end && *p == '=' && t->value < t->end && t->end - t->value < LONGEST_VALUE;
}

/* Written with what looks the same is still written. */
static bool is_written(const struct reader *r, uint32_t place)
{
	return r->writes >= 0 && (uint32_t)r->writes == place;
}

static void set_place(struct reader *r, const struct token *t, enum state_kind kind)
{
	uint32_t *place = &r->frames[r->frame].at[t->number];
	const uint32_t old = *place;
	const uint32_t new =
		asm_vlog_value_intern(&r->values, &r->arena, t->value, (size_t)(t->end - t->value),
				      t->number >= FRAME_REGS);

	if (!new) {
		r->no_memory = true;
		return;
	}
	*place = new;
	if (kind != STATE_WHOLE && is_conditional(r->code) && old != new)
		asm_vlog_reader_tell_equals(r, (uint32_t)r->current, old, new);
	if (r->speculative)
		return;
	if (t->number >= FRAME_REGS && !r->frame)
		collect_written(r, t->number, new);
	if (kind == STATE_USED ||
	    (kind == STATE_CHANGED &&
	     (is_written(r, t->number) || !old ||
	      !asm_vlog_value_same(&r->values.all[old], &r->values.all[new]))))
		if (r->current >= 0)
			collect(r, &r->met[r->current].after, t->number, new);
}

void asm_vlog_reader_state(struct reader *r, enum state_kind kind, const char *text,
			   const char *end)
{
	struct token t;
	bool cleared = kind != STATE_WHOLE;

	settle_call(r);
	r->shown = true;
	r->frame = 0;
	while (!r->no_memory && next_word(&text, end, &t)) {
		if (!read_word(&t))
			continue;
		if (t.is_frame) {
			r->frame = t.number;
			continue;
		}
		if (!cleared)
			memset(&r->frames[r->frame], 0, sizeof(r->frames[0]));
		cleared = true;
		set_place(r, &t, kind);
	}
}

/* ---- the path */

void asm_vlog_reader_visit(struct reader *r, uint32_t insn, uint8_t code, int writes,
			   int32_t helper)
{
	uint32_t step;

	settle_call(r);
	if (!asm_vlog_reader_meet(r, insn))
		return;
	if (r->npath == r->path_capacity) {
		const size_t capacity = r->path_capacity ? r->path_capacity * 2 : 256;
		struct step *path = realloc(r->path, capacity * sizeof(*path));

		if (!path) {
			r->no_memory = true;
			return;
		}
		r->path = path;
		r->path_capacity = capacity;
	}
	step = asm_walk_visit(r, insn);
	r->path[r->npath++] = (struct step){ .at = { insn, r->frame }, .step = step };
	if (r->speculative) {
		r->log->speculative++;
	} else {
		r->log->insns[insn].visits++;
		collect_before(r, insn);
		collect_edge(r, &r->met[insn].came);
	}
	r->prev = r->current = insn;
	r->code = code;
	r->shown = false;
	r->calling = code == (BPF_JMP | BPF_CALL);
	r->helper = helper;
	r->writes = writes;
}

static void end_path(struct reader *r)
{
	r->current = -1;
	r->code = 0;
	r->calling = false;
}

/* Its text begins with its opcode: "(15) if r0 == 0x0 goto pc+2". */
static bool came_by_jump(const struct reader *r)
{
	const char *text = r->prev >= 0 ? r->log->insns[r->prev].text : NULL;

	return text && is_conditional((uint8_t)strtoul(text + 1, NULL, 16));
}

void asm_vlog_reader_prune(struct reader *r, uint32_t insn, bool printed)
{
	settle_call(r);
	asm_walk_prune(r, insn);
	if (asm_vlog_reader_meet(r, insn) && !r->speculative) {
		r->log->insns[insn].pruned++;
		collect_edge(r, &r->met[insn].came);
		if (printed)
			collect_before(r, insn);
		else if (came_by_jump(r))
			collect_edge(r, &r->met[insn].ended);
	}
	end_path(r);
}

/*
 * Branches are taken up again last in, first out: of several visits of the same jump the latest
 * that still has one. Returns from functions are announced the same way, on the path as it is.
 */
void asm_vlog_reader_branch(struct reader *r, uint32_t from, uint32_t to, bool speculative)
{
	size_t n = r->npath;

	if (!n || r->path[n - 1].at.insn != from || r->path[n - 1].taken_up) {
		while (n && (r->path[n - 1].at.insn != from || r->path[n - 1].taken_up))
			n--;
		/* A log that has lost its beginning: keep what there is. */
		r->npath = n ? n : r->npath;
	}
	r->speculative = speculative;
	if (n && !asm_walk_returns(r, n - 1)) {
		r->path[n - 1].taken_up = true;
		asm_walk_take_up(r, r->path[n - 1].step, to);
	}
	r->prev = asm_vlog_reader_meet(r, from) ? (int64_t)from : -1;
	end_path(r);
	asm_vlog_reader_meet(r, to);
}

/* ---- the end */

static int by_where(const void *a, const void *b)
{
	const int x = ((const struct asm_vlog_value *)a)->where;
	const int y = ((const struct asm_vlog_value *)b)->where;

	/* Registers upwards, then slots from the lowest address up. */
	return (x < 0) != (y < 0) ? (x < 0) - (y < 0) : x < y ? -1 : x > y;
}

static const struct asm_vlog_value *write_joins(struct reader *r, const struct joins *joins,
						uint32_t states, uint32_t *n)
{
	struct asm_vlog_value *out = asm_arena_alloc(&r->arena, (joins->n + 1) * sizeof(*out));

	*n = 0;
	for (uint32_t i = 0; out && i < joins->n; i++) {
		if (joins->all[i].count < states)
			continue;
		out[*n].where = joins->all[i].where;
		out[*n].text = asm_vlog_join_text(&joins->all[i], &r->values, &r->arena);
		if (!out[(*n)++].text)
			r->no_memory = true;
	}
	if (out)
		qsort(out, *n, sizeof(*out), by_where);
	else
		r->no_memory = true;
	return out;
}

/*
 * A path that ended at an instruction in a state that was not printed: it is one of those that the
 * jump was met in. What cannot be read in all of them, perhaps cannot be read in this one.
 */
static bool merge_ended(struct reader *r, struct met *to, const struct met *from)
{
	bool more = false;

	for (uint32_t i = 0; i < to->before.n; i++) {
		struct join *join = &to->before.all[i];
		const struct join *other = NULL;

		for (uint32_t k = 0; k < from->before.n && !other; k++)
			if (from->before.all[k].where == join->where &&
			    from->before.all[k].count == from->states)
				other = &from->before.all[k];
		if (other) {
			more |= asm_vlog_join_merge(join, other, &r->values);
		} else {
			more |= join->count != 0;
			join->count = 0;
		}
	}
	return more;
}

/* One such jump may be behind another: until there is nothing to add. */
static void merge_all_ended(struct reader *r)
{
	bool more = true;

	while (more) {
		more = false;
		for (uint32_t i = 0; i < r->log->ninsns; i++)
			for (uint32_t k = 0; k < r->met[i].ended.n; k++)
				more |= merge_ended(r, &r->met[i],
						    &r->met[r->met[i].ended.from[k]]);
	}
}

static void finish_insn(struct reader *r, uint32_t i)
{
	struct asm_vlog_insn *insn = &r->log->insns[i];
	struct met *met = &r->met[i];
	uint32_t *from = asm_arena_alloc(&r->arena, (met->came.n + 1) * sizeof(*from));

	insn->before = write_joins(r, &met->before, met->states, &insn->nbefore);
	insn->after = write_joins(r, &met->after, 0, &insn->nafter);
	if (!from) {
		r->no_memory = true;
		return;
	}
	if (met->came.n)
		memcpy(from, met->came.from, met->came.n * sizeof(*from));
	insn->from = from;
	insn->nfrom = met->came.n;
}

static void finish_path(struct reader *r)
{
	struct asm_vlog_step *path = asm_arena_alloc(&r->arena, (r->npath + 1) * sizeof(*path));
	struct asm_vlog_value *last = asm_arena_alloc(&r->arena, FRAME_PLACES * sizeof(*last));

	if (!path || !last) {
		r->no_memory = true;
		return;
	}
	for (size_t i = 0; i < r->npath; i++)
		path[i] = r->path[i].at;
	for (uint32_t i = 0; i < FRAME_PLACES; i++) {
		const uint32_t number = r->frames[r->frame].at[i];

		if (!number)
			continue;
		last[r->log->nlast].where = where_of(i);
		last[r->log->nlast].text = asm_vlog_value_text(&r->values.all[number], &r->arena);
		if (!last[r->log->nlast++].text)
			r->no_memory = true;
	}
	r->log->path = path;
	r->log->npath = r->npath;
	r->log->last = last;
}

void asm_vlog_reader_finish(struct reader *r)
{
	if (!r->no_memory)
		merge_all_ended(r);
	for (uint32_t i = 0; i < r->log->ninsns && !r->no_memory; i++)
		finish_insn(r, i);
	finish_path(r);
}

void asm_vlog_reader_free(struct reader *r)
{
	for (uint32_t i = 0; i < r->log->ninsns; i++) {
		free(r->met[i].before.all);
		free(r->met[i].after.all);
		free(r->met[i].came.from);
		free(r->met[i].ended.from);
	}
	free(r->met);
	free(r->path);
}
