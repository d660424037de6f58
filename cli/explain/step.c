/* SPDX-License-Identifier: BSD-2-Clause */
/* The verifier's walk: read from the log, and the words for its parts. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "step.h"

void step_place(char text[32], uint32_t frame, int where)
{
	char prefix[24] = "";

	if (frame)
		snprintf(prefix, sizeof(prefix), "frame%u.", frame);
	snprintf(text, 32, "%s%s%d", prefix, where < 0 ? "fp" : "R", where);
}

const char *step_value(struct stepping *s, uint32_t value)
{
	struct asm_walk_value v;

	if (value == ASM_WALK_NONE || asm_walk_value(&s->walk, value, &v))
		return "";
	return v.text;
}

bool step_bits(struct stepping *s, uint32_t value, char text[80])
{
	struct asm_walk_value v;
	size_t used = 0;

	if (value == ASM_WALK_NONE || asm_walk_value(&s->walk, value, &v) || !v.is_number ||
	    !v.unknown || v.unknown == UINT64_MAX || (!v.ones && !(v.unknown & (v.unknown + 1))))
		return false;
	for (int bit = 63; bit >= 0; bit--) {
		text[used++] = (char)(v.unknown >> bit & 1 ? 'x' : '0' + (int)(v.ones >> bit & 1));
		if (bit && bit % 8 == 0)
			text[used++] = ' ';
	}
	text[used] = '\0';
	return true;
}

/* Frames are compared from the first; one that is gone is said by the steps themselves. */
void step_changes(struct stepping *s, uint32_t from, uint32_t to, step_change_fn fn)
{
	const uint32_t n = asm_walk_frames(&s->walk, to), had = asm_walk_frames(&s->walk, from);

	for (uint32_t f = 0; f < n; f++) {
		struct asm_walk_frame was, is;

		asm_walk_frame(&s->walk, from, f, &was);
		asm_walk_frame(&s->walk, to, f, &is);
		if (f < had && was.number == is.number)
			continue;
		for (int where = 0; where >= -512; where = where < 0 ? where - 8 : where + 1) {
			const uint32_t a = asm_walk_at(&s->walk, from, f, where);
			const uint32_t b = asm_walk_at(&s->walk, to, f, where);

			if (a != b)
				fn(s, f, where, a, b);
			if (where == 9)
				where = -1;
		}
	}
}

const struct asm_walk_match *step_match(const struct stepping *s, uint32_t step)
{
	const struct asm_walk *w = &s->walk;
	const uint32_t i = w->paths[w->steps[step].path].match;

	if (!w->steps[step].safe || i == ASM_WALK_NONE || w->matches[i].step == ASM_WALK_NONE)
		return NULL;
	return &w->matches[i];
}

int explain_step(FILE *out, const struct explained *e)
{
	struct stepping s = { .out = out, .e = e, .c = explain_colors(e) };
	int err;

	if (!e->log_text || !*e->log_text)
		return rp_fail(-ENODATA, "there is no log of the verifier to step through");
	err = asm_walk_read(e->log_text, &s.walk);
	if (err)
		return err;
	if (!s.walk.nsteps)
		err = rp_fail(-ENODATA,
			      "the verifier refused it before the first step: the plain listing "
			      "says why");
	else if (e->opt->why)
		err = step_why(&s);
	else if (e->opt->html)
		err = step_html(&s);
	else if (e->opt->shape == EXPLAIN_JSON)
		err = step_json(&s);
	else if (e->opt->interactive)
		err = step_tui(&s);
	else
		step_text(&s);
	asm_walk_free(&s.walk);
	return err;
}
